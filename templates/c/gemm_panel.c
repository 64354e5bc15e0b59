/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy. w lies in panels [ceil(T_n / T_P)][T_k][T_P], zero padded; bias too is
 * padded to whole panels. Fits: w is packed, T_n and T_k are constants, T_k > 0; T_m may be a size. Register tiles of
 * rows x columns over all of K (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008),
 * which read as many neighbouring panels as the registers of the target hold. Split by columns a slice has whole bands, by
 * rows whole tiles.
 *
 * A w of at most T_stay_kb KiB stays in cache while x passes by once. Of a larger one each band does while all tiles use it; with
 * more than T_stream_kb the next band is fetched meanwhile. T_some_stay, T_some_pass, T_some_stream: there are such calls. */

#if T_some_stream
/* One tile at (row, column); rows and columns are constants of the call. Where share > 0 the tile, as the turn-th of its
 * band, prefetches its part of the next band: share values with each step in K. */
#else
/* One tile at (row, column); rows and columns are constants of the call. */
#endif
MODC_INLINE void T_NAME_tile(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                             const T_real *restrict bias, const int rows, const int columns, const int row,
                             const int column T_MORE(T_some_stream, const int share, const int turn) T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors;
    const int sets = MODC_TILE_SETS(tile, T_k); /* of accumulators, which share K */
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_FENCE;
    x += row * T_ldx;
    w += column / T_P * (T_k * T_P) + column % T_P;
    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = T_bias && i < tile ? T_V(load)(bias + column + i % vectors * T_LANES) : T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < T_k / sets * sets; k += sets) {
#if T_some_stream
        if (share > 0)
            MODC_PREFETCH(w + vectors * T_LANES * T_k + (turn * T_k + k) * share);
#endif
        MODC_UNROLL
        for (int s = 0; s < sets; s++) {
            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                b[j] = T_W(load)(w + j * T_LANES / T_P * (T_k * T_P) + j * T_LANES % T_P + (k + s) * T_P);
            MODC_UNROLL
            for (int i = 0; i < rows; i++) {
                const T_real a = x[i * T_ldx + k + s];

                MODC_UNROLL
                for (int j = 0; j < vectors; j++)
                    sum[s * tile + i * vectors + j] += a * b[j];
            }
        }
    }
    for (int k = T_k / sets * sets; k < T_k; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            b[j] = T_W(load)(w + j * T_LANES / T_P * (T_k * T_P) + j * T_LANES % T_P + k * T_P);
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * vectors + j] += x[i * T_ldx + k] * b[j];
        }
    }
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int rest = columns - i % vectors * T_LANES;

#if T_vector_tail
        if (rest >= T_LANES) {
            T_V(store)(y + r * T_ldy + c, T_EPILOGUE_V(sum[i], r, c));
            continue;
        }
#endif
#if T_pure_tail
        T_V(store_part)(y + r * T_ldy + c, T_EPILOGUE_V(sum[i], r, c), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[i]);
        for (int l = 0; l < T_LANES && l < rest; l++)
            y[r * T_ldy + c + l] = T_EPILOGUE(part[l], r, c + l);
#endif
    }
}

#if T_some_stay
/* Tiles of rows rows at `row` over all columns, a band at a time. */
MODC_INLINE void T_NAME_across(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                               const T_real *restrict bias, const int rows, const int band,
                               const int row T_ARGS)
{
    const int bands = T_n / band, rest = T_n % band;
#if T_by_columns
    const int all = bands + (rest > 0);
    const int from = modc_share(all, slice, T_slices), to = modc_share(all, slice + 1, T_slices);
#endif

    for (int n = T_IF(T_by_columns, from, 0); n < T_IF(T_by_columns, modc_min(to, bands), bands); n++)
        T_NAME_tile(y, x, w, bias, rows, band, row, n * band T_MORE(T_some_stream, 0, 0) T_PASS);
    if (T_IF(T_by_columns, rest > 0 && to > bands, rest > 0))
        T_NAME_tile(y, x, w, bias, rows, rest, row, bands * band T_MORE(T_some_stream, 0, 0) T_PASS);
}

#endif
#if T_fixed_m
/* `tall` tiles of rows + 1 rows, then `flat` tiles of rows rows. */
#else
/* `flat` tiles of rows rows. */
#endif
MODC_INLINE void T_NAME_strip(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                              const T_real *restrict bias, const int rows,
                              const int row T_MORE(T_fixed_m, const int tall), const int flat T_ARGS)
{
    const int band = MODC_TILE_VECTORS(T_IF(T_fixed_m, rows + (tall > 0), rows)) * T_LANES;
#if T_fixed_m
    const int flat_row = row + tall * (rows + 1);
#endif
#if T_by_rows && T_fixed_m
    /* tall tiles that do not divide go to the last slices, flat ones to the first */
    const int tall_from = modc_share(tall, slice, T_slices), tall_to = modc_share(tall, slice + 1, T_slices);
#endif
#if T_by_rows
    const int flat_from = modc_share(flat, T_slices - 1 - slice, T_slices);
    const int flat_to = modc_share(flat, T_slices - slice, T_slices);
#endif
#if T_some_pass
    const int bands = T_n / band, rest = T_n % band;
#endif
#if T_some_pass && T_by_columns
    const int all = bands + (rest > 0);
    const int from = modc_share(all, slice, T_slices), to = modc_share(all, slice + 1, T_slices);
#endif
#if T_some_stream
    const int tiles = T_IF(T_fixed_m, tall + flat, flat), part = (band + tiles - 1) / tiles;
    const int share = T_n * T_k * (int)sizeof(T_stored) > T_stream_kb * 1024 && part <= T_line ? part : 0;
#endif
#if T_some_stay && T_some_pass
    const bool stays = T_n * T_k * (int)sizeof(T_stored) <= T_stay_kb * 1024;
#endif

#if T_some_stay && T_fixed_m
    for (int t = T_IF(T_by_rows, tall_from, 0); T_IF(T_some_pass, stays && , )t < T_IF(T_by_rows, tall_to, tall); t++)
        T_NAME_across(y, x, w, bias, rows + 1, band, row + t * (rows + 1) T_PASS);
#endif
#if T_some_stay
    for (int t = T_IF(T_by_rows, flat_from, 0); T_IF(T_some_pass, stays && , )t < T_IF(T_by_rows, flat_to, flat); t++)
        T_NAME_across(y, x, w, bias, rows, band, T_IF(T_fixed_m, flat_row, row) + t * rows T_PASS);
#endif
#if T_some_pass
    for (int n = T_IF(T_by_columns, from, 0);
         T_IF(T_some_stay, !stays && , )n < T_IF(T_by_columns, modc_min(to, bands), bands); n++) {
#if T_fixed_m
        for (int t = T_IF(T_by_rows, tall_from, 0); t < T_IF(T_by_rows, tall_to, tall); t++)
            T_NAME_tile(y, x, w, bias, rows + 1, band, row + t * (rows + 1),
                        n * band T_MORE(T_some_stream, share, t) T_PASS);
#endif
        for (int t = T_IF(T_by_rows, flat_from, 0); t < T_IF(T_by_rows, flat_to, flat); t++)
            T_NAME_tile(y, x, w, bias, rows, band, T_IF(T_fixed_m, flat_row, row) + t * rows,
                        n * band T_MORE(T_some_stream, share, T_IF(T_fixed_m, tall + t, t)) T_PASS);
    }
    if (T_IF(T_some_stay, !stays && , )T_IF(T_by_columns, rest > 0 && to > bands, rest > 0)) {
#if T_fixed_m
        for (int t = T_IF(T_by_rows, tall_from, 0); t < T_IF(T_by_rows, tall_to, tall); t++)
            T_NAME_tile(y, x, w, bias, rows + 1, rest, row + t * (rows + 1),
                        bands * band T_MORE(T_some_stream, 0, 0) T_PASS);
#endif
        for (int t = T_IF(T_by_rows, flat_from, 0); t < T_IF(T_by_rows, flat_to, flat); t++)
            T_NAME_tile(y, x, w, bias, rows, rest, T_IF(T_fixed_m, flat_row, row) + t * rows,
                        bands * band T_MORE(T_some_stream, 0, 0) T_PASS);
    }
#endif
}

T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                               const T_real *restrict bias T_ARGS)
{
#if T_fixed_m
    /* as even as it goes: 32 rows are 11 + 11 + 10 */
    const int tiles = (T_m + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = T_m / tiles, tall = T_m % tiles;

    T_NAME_strip(y, x, w, bias, rows, 0, tall, tiles - tall T_PASS);
#else
    int row = T_m / MODC_TILE_ROWS * MODC_TILE_ROWS;

    if (row > 0)
        T_NAME_strip(y, x, w, bias, MODC_TILE_ROWS, 0, row / MODC_TILE_ROWS T_PASS);
#if MODC_TILE_ROWS > 8
    if ((T_m - row) & 8) {
        T_NAME_strip(y, x, w, bias, 8, row, 1 T_PASS);
        row += 8;
    }
#endif
#if MODC_TILE_ROWS > 4
    if ((T_m - row) & 4) {
        T_NAME_strip(y, x, w, bias, 4, row, 1 T_PASS);
        row += 4;
    }
#endif
#if MODC_TILE_ROWS > 2
    if ((T_m - row) & 2) {
        T_NAME_strip(y, x, w, bias, 2, row, 1 T_PASS);
        row += 2;
    }
#endif
#if MODC_TILE_ROWS > 1
    if (T_m - row)
        T_NAME_strip(y, x, w, bias, 1, row, 1 T_PASS);
#endif
#endif
}
