/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy. w lies in panels [ceil(T_n / T_P)][T_k][T_P], zero padded; bias too is
 * padded to whole panels. Fits: w is packed, T_n and T_k are constants, T_k > 0; T_m may be a size. Register tiles of
 * rows x columns over all of K (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008),
 * which read as many neighbouring panels as the registers of the target hold. Split by columns a slice has whole bands, by
 * rows whole tiles.
 *
 * A w of at most T_stay_kb KiB stays in cache while x passes by once. Of a larger one each band does while all tiles use it; with
 * more than T_stream_kb the next band is fetched meanwhile. T_some_pass, T_some_stream: there are such calls. */

#if T_some_stream
#if T_converts_w && !T_fixed_m
/* One tile at (row, column); rows and columns are constants of the call. Where share > 0 the tile, as the turn-th of its
 * band, prefetches its part of the next band: share values with each step in K. share < 0: of a panel, which it reads alone,
 * what comes a page later. */
#else
/* One tile at (row, column); rows and columns are constants of the call. Where share > 0 the tile, as the turn-th of its
 * band, prefetches its part of the next band: share values with each step in K. */
#endif
#else
/* One tile at (row, column); rows and columns are constants of the call. */
#endif
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int columns, const int row,
                             const int column T_MORE(T_some_stream, const int share, const int turn) T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors;
    const int sets = MODC_TILE_SETS(tile, T_k), whole = T_k / sets * sets; /* sets of sums share K */
    T_vec sum[MODC_TILE_REGISTERS];

    MODC_TILE_FENCE;
    x += row * T_ldx;
    w += MODC_PANEL_AT(column, T_k, T_P);
    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = T_bias && i < tile ? T_OF(bias, load)(bias + column + i % vectors * T_LANES) : T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += sets) {
#if T_some_stream
        if (share > 0)
            MODC_PREFETCH(w + vectors * T_LANES * T_k + (turn * T_k + k) * share);
#if T_converts_w && !T_fixed_m
        if (share < 0) {
            MODC_UNROLL
            for (int line = 0; line < sets * T_P * (int)sizeof *w; line += 64)
                MODC_PREFETCH_NEAR((const char *)(w + k * T_P) + line + 4096);
        }
#endif
#endif
        MODC_UNROLL
        for (int i = 0; i < tile * sets; i++)
            sum[i] += T_GET(x, x[i / vectors % rows * T_ldx + k + i / tile]) *
                      T_OF(w, load)(w + MODC_PANEL_AT(i % vectors * T_LANES, T_k, T_P) + (k + i / tile) * T_P);
    }
    for (int k = whole; k < T_k; k++) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += T_GET(x, x[i / vectors * T_ldx + k]) *
                      T_OF(w, load)(w + MODC_PANEL_AT(i % vectors * T_LANES, T_k, T_P) + k * T_P);
    }
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int rest = columns - i % vectors * T_LANES;

#if T_pure_tail
        T_OF(y, store_most)(y + r * T_ldy + c, T_EPILOGUE_V(sum[i], r, c), rest);
#elif T_vector_tail
        if (rest >= T_LANES)
            T_OF(y, store)(y + r * T_ldy + c, T_EPILOGUE_V(sum[i], r, c));
        else
            T_OF(y, store_part)(y + r * T_ldy + c, T_EPILOGUE_PART(sum[i], r, c, rest), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[i]);
        for (int l = 0; l < T_LANES && l < rest; l++)
            y[r * T_ldy + c + l] = T_PUT(y, T_EPILOGUE(part[l], r, c + l));
#endif
    }
}

/* Rows from ... to - 1 and columns left ... right - 1 in tiles of `rows` rows, a constant of the call. */
MODC_INLINE void T_NAME_block(const int rows, const int from, const int to, const int left,
                              const int right T_MORE(T_some_stream, const int share, const int turn),
                              T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias T_ARGS)
{
    const int band = MODC_TILE_VECTORS(rows) * T_LANES;

    for (int r = from; r < to; r += rows) {
        int c = left;

        for (; c <= right - band; c += band)
            T_NAME_tile(y, x, w, bias, rows, band, r, c T_MORE(T_some_stream, share, turn + (r - from) / rows) T_PASS);
        if (c < right)
            T_NAME_tile(y, x, w, bias, rows, T_n % band, r, c T_MORE(T_some_stream, 0, 0) T_PASS);
    }
}

#if T_some_stream && !T_fixed_m
/* One row: panel after panel, so that w is one stream through memory. */
MODC_INLINE void T_NAME_row(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                            const T_of_bias *restrict bias T_ARGS)
{
    const int whole = T_n / T_P;
#if T_by_columns
    const int panels = (T_n + T_P - 1) / T_P, from = modc_share(panels, slice, T_slices);
    const int to = modc_share(panels, slice + 1, T_slices);
#endif

#if T_by_rows
    if (slice > 0)
        return;
#endif
    for (int p = T_IF(T_by_columns, from, 0); p < T_IF(T_by_columns, modc_min(to, whole), whole); p++)
        T_NAME_tile(y, x, w, bias, 1, T_P, 0, p * T_P, T_IF(T_converts_w, -1, 0), 0 T_PASS);
    if (T_IF(T_by_columns, to > whole, whole * T_P < T_n))
        T_NAME_tile(y, x, w, bias, 1, T_n % T_P, 0, whole * T_P, 0, 0 T_PASS);
}

#endif
#if (T_some_pass || T_slices > 1) && !T_fixed_m
#if T_by_columns
/* Rows from ... to - 1 over a slice's columns. */
#else
/* Rows from ... to - 1 over columns left ... right - 1. */
#endif
MODC_INLINE void T_NAME_rows(const int rows, const int from, const int to T_MORE(!T_by_columns, const int left, const int right),
                             T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias T_ARGS)
{
#if T_some_pass || T_by_columns
    const int band = MODC_TILE_VECTORS(rows) * T_LANES;
#endif
#if T_by_rows || T_some_stream
    const int tiles = (to - from) / rows;
#endif
#if T_by_rows
    const int begin = modc_share(tiles, T_slices - 1 - slice, T_slices);
    const int first = from + begin * rows, last = from + modc_share(tiles, T_slices - slice, T_slices) * rows;
#endif
#if T_by_columns
    const int bands = (T_n + band - 1) / band, left = modc_share(bands, slice, T_slices) * band;
    const int right = modc_min(modc_share(bands, slice + 1, T_slices) * band, T_n);
#endif
#if T_some_stream
    const int part = (band + tiles - 1) / tiles;
    const int share = T_n * T_k * (int)sizeof(T_of_w) > T_stream_kb * 1024 && part <= T_line ? part : 0;
#endif
#if T_some_pass
    const int wide = T_n * T_k * (int)sizeof(T_of_w) <= T_stay_kb * 1024 ? T_n : band;

    for (int c = left; c < right; c += wide)
        T_NAME_block(rows, T_IF(T_by_rows, first, from), T_IF(T_by_rows, last, to), c,
                     modc_min(c + wide, right) T_MORE(T_some_stream, share, T_IF(T_by_rows, begin, 0)), y, x, w, bias T_PASS);
#else

    T_NAME_block(rows, T_IF(T_by_rows, first, from), T_IF(T_by_rows, last, to), left, right, y, x, w, bias T_PASS);
#endif
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if !T_fixed_m && T_some_stream
    if (T_m == 1 && T_n * T_k * (int)sizeof(T_of_w) > T_stream_kb * 1024) {
        T_NAME_row(y, x, w, bias T_PASS);
        return;
    }
#endif
#if !T_fixed_m && T_by_columns
    MODC_EACH_HEIGHT(T_NAME_rows, T_m, y, x, w, bias T_PASS);
#elif !T_fixed_m && T_some_pass
    /* as many columns as the flattest tiles take, by tiles of all heights: the others find them in the cache */
    const int wide = T_n * T_k * (int)sizeof(T_of_w) <= T_stay_kb * 1024 ? T_n : MODC_TILE_VECTORS(1) * T_LANES;

    for (int c = 0; c < T_n; c += wide)
        MODC_EACH_HEIGHT(T_NAME_rows, T_m, c, modc_min(c + wide, T_n), y, x, w, bias T_PASS);
#elif !T_fixed_m && T_slices > 1
    MODC_EACH_HEIGHT(T_NAME_rows, T_m, 0, T_n, y, x, w, bias T_PASS);
#elif !T_fixed_m
    MODC_EACH_HEIGHT(T_NAME_block, T_m, 0, T_n, y, x, w, bias T_PASS);
#else
    /* as even as it goes: 32 rows are 11 + 11 + 10 */
    const int tiles = (T_m + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = T_m / tiles, tall = T_m % tiles;
    const int low = tall * (rows + 1); /* from here on tiles have one row less */
#if T_some_pass || T_by_columns
    const int band = MODC_TILE_VECTORS(rows) * T_LANES;
#endif
#if T_by_rows
    /* tall tiles that do not divide go to the last slices, flat ones to the first */
    const int tall_from = modc_share(tall, slice, T_slices), tall_to = modc_share(tall, slice + 1, T_slices);
    const int flat_from = modc_share(tiles - tall, T_slices - 1 - slice, T_slices);
    const int flat_to = modc_share(tiles - tall, T_slices - slice, T_slices);
#endif
#if T_by_columns
    const int bands = (T_n + band - 1) / band, left = modc_share(bands, slice, T_slices) * band;
    const int right = modc_min(modc_share(bands, slice + 1, T_slices) * band, T_n);
#endif
#if T_some_stream
    const int part = (band + tiles - 1) / tiles;
    const int share = T_n * T_k * (int)sizeof(T_of_w) > T_stream_kb * 1024 && part <= T_line ? part : 0;
#endif
#if T_some_pass
    const int wide = T_n * T_k * (int)sizeof(T_of_w) <= T_stay_kb * 1024 ? T_n : band;

    for (int c = T_IF(T_by_columns, left, 0); c < T_IF(T_by_columns, right, T_n); c += wide) {
        const int end = modc_min(c + wide, T_IF(T_by_columns, right, T_n));

        T_NAME_block(rows + 1, T_IF(T_by_rows, tall_from * (rows + 1), 0),
                     T_IF(T_by_rows, tall_to * (rows + 1), low), c,
                     end T_MORE(T_some_stream, share, T_IF(T_by_rows, tall_from, 0)), y, x, w, bias T_PASS);
        T_NAME_block(rows, T_IF(T_by_rows, low + flat_from * rows, low), T_IF(T_by_rows, low + flat_to * rows, T_m),
                     c, end T_MORE(T_some_stream, share, T_IF(T_by_rows, tall + flat_from, tall)), y, x, w, bias T_PASS);
    }
#else

    T_NAME_block(rows + 1, T_IF(T_by_rows, tall_from * (rows + 1), 0), T_IF(T_by_rows, tall_to * (rows + 1), low),
                 T_IF(T_by_columns, left, 0), T_IF(T_by_columns, right, T_n), y, x, w, bias T_PASS);
    T_NAME_block(rows, T_IF(T_by_rows, low + flat_from * rows, low), T_IF(T_by_rows, low + flat_to * rows, T_m),
                 T_IF(T_by_columns, left, 0), T_IF(T_by_columns, right, T_n), y, x, w, bias T_PASS);
#endif
#endif
}
