/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; w as bfloat16 of 12 bits, note [coded panels] in
 * modc_simd_scalar.h.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy. w lies in panels of T_P columns, which have T_head bytes in front of their units; bias
 * is padded to whole panels. Fits: w is packed so, T_n and T_k are constants, T_k > 0; T_m may be a size.
 *
 * One row reads w panel by panel, as one stream; T_ahead: from memory, of which what comes a page later is fetched. A few rows go in
 * register tiles over two panels at a time. T_widens: where they are many, v gets two panels as floats, and the tiles read that.
 * Split by columns a slice has whole pairs of panels. v: T_scratch elements. */

/* Adds the products of steps k ... k + count - 1, at most eight, of a unit to sets of rows x vectors sums. */
MODC_INLINE void T_NAME_unit(T_vec *sum, const T_of_x *restrict x, const modc_coded *panel, const int rows,
                             const int vectors, const int sets, const int column, const int k, const int count T_ARGS)
{
    MODC_UNROLL
    for (int j = 0; j < vectors; j++) {
        const int at = column % T_P + j * T_LANES;
        T_vec value[8];

        modc_coded_load(panel[at / T_P], T_head, k, at % T_P, value);
        MODC_UNROLL
        for (int s = 0; s < count; s++) {
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[(s % sets * rows + i) * vectors + j] += T_GET(x, x[i * T_ldx + k + s]) * value[s];
        }
    }
}

/* Adds to `vectors` sums of rows that begin at column `skip` of a panel what its head has; of a row all lie `width` sums apart. */
MODC_INLINE void T_NAME_rest(T_vec *sum, const T_of_x *restrict x, const T_of_w *restrict panel, const int rows,
                             const int vectors, const int width, const int skip T_ARGS)
{
    const int count = modc_coded_count(panel);

    for (int e = 0; e < count; e++) {
        const struct modc_coded_rest rest = modc_coded_rest_of(panel, e);
        const int lane = rest.at % T_P - skip;

        MODC_UNROLL
        for (int i = 0; i < rows * vectors; i++) {
            T_real part[T_LANES] = {0};

            if (lane < 0 || lane / T_LANES != i % vectors)
                continue;
            part[lane % T_LANES] = T_GET(x, x[i / vectors * T_ldx + rest.at / T_P]) * rest.value;
            sum[i / vectors * width + i % vectors] += T_V(load)(part);
        }
    }
}

/* The sums of a tile, of w as it lies, but for what heads have. */
MODC_INLINE void T_NAME_sums(T_vec *sum, const T_of_x *restrict x, const T_of_w *restrict w, const int rows,
                             const int vectors, const int column T_ARGS)
{
    const int tile = rows * vectors, sets = MODC_TILE_SETS(tile, T_k);
    modc_coded panel[2];

    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i] = T_V(set)(0);
    panel[0] = modc_coded_of(modc_coded_panel(w, column / T_P));
    panel[1] = vectors * T_LANES > T_P ? modc_coded_of(modc_coded_panel(w, column / T_P + 1)) : panel[0];
    MODC_ROLL
    for (int k = 0; k < T_k / 8 * 8; k += 8) {
#if T_ahead
        MODC_UNROLL
        for (int p = 0; p * T_P < vectors * T_LANES; p++) {
            MODC_UNROLL
            for (int line = 0; line < MODC_CODED_UNIT; line += 64) { /* again where it is nearer: some that wait are dropped */
                const char *const at = (const char *)panel[p].panel + T_head + k / 8 * MODC_CODED_UNIT + line;

                MODC_PREFETCH(at + 8192);
                MODC_PREFETCH(at + 4096);
                MODC_PREFETCH_NEAR(at + 1024);
            }
        }
#endif
        T_NAME_unit(sum, x, panel, rows, vectors, sets, column, k, 8 T_PASS);
    }
    if (T_k % 8 != 0)
        T_NAME_unit(sum, x, panel, rows, vectors, sets, column, T_k / 8 * 8, T_k % 8 T_PASS);
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
}

#if T_widens
/* The same of panels as floats; v begins at the column. */
MODC_INLINE void T_NAME_wide(T_vec *sum, const T_of_x *restrict x, const T_real *restrict v, const int rows,
                             const int vectors T_ARGS)
{
    MODC_ROLL
    for (int k = 0; k < T_k; k++) {
        T_vec value[8];

        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            value[j] = T_V(load)(v + MODC_PANEL_AT(j * T_LANES, T_k, T_P) + k * T_P);
        MODC_UNROLL
        for (int i = 0; i < rows * vectors; i++)
            sum[i] += T_GET(x, x[i / vectors * T_ldx + k]) * value[i % vectors];
    }
}

/* Columns left ... left + columns - 1, of at most two panels, as floats, but for what heads have. */
MODC_INLINE void T_NAME_widen(T_real *restrict v, const T_of_w *restrict w, const int columns, const int left T_ARGS)
{
    for (int c = 0; c < columns; c += T_P) {
        const T_of_w *const panel = modc_coded_panel(w, (left + c) / T_P);
        T_real *const to = v + MODC_PANEL_AT(c, T_k, T_P);
        const modc_coded coded = modc_coded_of(panel);

        for (int k = 0; k < T_k; k += 8) {
            MODC_UNROLL
            for (int j = 0; j < T_P; j += T_LANES) {
                T_vec value[8];

                modc_coded_load(coded, T_head, k, j, value);
                MODC_UNROLL
                for (int s = 0; s < 8; s++) {
                    if (T_k % 8 == 0 || k + s < T_k)
                        T_V(store)(to + (k + s) * T_P + j, value[s]);
                }
            }
        }
    }
}

#endif
/* One tile at (row, column); rows and columns are constants of the call, and whether v has its panels as floats. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias T_MORE(T_widens, const T_real *restrict v, const bool wide),
                             const int rows, const int columns, const int row, const int column T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors;
    const int each = T_P / T_LANES; /* of a panel */
    T_vec sum[MODC_TILE_REGISTERS];

    MODC_TILE_FENCE;
    x += row * T_ldx;
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = T_V(set)(0);
#if T_widens
    if (wide)
        T_NAME_wide(sum, x, v, rows, vectors T_PASS);
    else
        T_NAME_sums(sum, x, w, rows, vectors, column T_PASS);
#else
    T_NAME_sums(sum, x, w, rows, vectors, column T_PASS);
#endif
    MODC_UNROLL
    for (int p = 0; p * each < vectors; p++)
        T_NAME_rest(sum + p * each, x, modc_coded_panel(w, column / T_P + p), rows, modc_min(each, vectors - p * each), vectors, column % T_P T_PASS);
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int rest = columns - i % vectors * T_LANES;
        const T_vec value = T_bias ? sum[i] + T_OF(bias, load)(bias + c) : sum[i];

#if T_pure_tail
        T_OF(y, store_most)(y + r * T_ldy + c, T_EPILOGUE_V(value, r, c), rest);
#elif T_vector_tail
        if (rest >= T_LANES)
            T_OF(y, store)(y + r * T_ldy + c, T_EPILOGUE_V(value, r, c));
        else
            T_OF(y, store_part)(y + r * T_ldy + c, T_EPILOGUE_PART(value, r, c, rest), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, value);
        for (int l = 0; l < T_LANES && l < rest; l++)
            y[r * T_ldy + c + l] = T_PUT(y, T_EPILOGUE(part[l], r, c + l));
#endif
    }
}

#if !T_single
/* One row of tiles of `rows` rows, and columns left ... left + columns - 1 of at most two panels; rows, columns and `wide` are
 * constants of the call. */
MODC_INLINE void T_NAME_row(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                            const T_of_bias *restrict bias T_MORE(T_widens, const T_real *restrict v, const bool wide),
                            const int rows, const int columns, const int row, const int left T_ARGS)
{
    const int most = rows > 1 ? 2 * T_P : T_P; /* one row reads w as one stream */
    const int band = modc_min(MODC_TILE_VECTORS(rows) * T_LANES, most), whole = columns / band * band;

    for (int c = 0; c < whole; c += band)
        T_NAME_tile(y, x, w, bias T_MORE(T_widens, v + MODC_PANEL_AT(c, T_k, T_P), wide), rows, band, row, left + c T_PASS);
    if (whole < columns)
        T_NAME_tile(y, x, w, bias T_MORE(T_widens, v + MODC_PANEL_AT(whole, T_k, T_P), wide), rows, columns % band, row, left + whole T_PASS);
}

/* Rows from ... to - 1 in such rows of tiles. */
MODC_INLINE void T_NAME_block(const int rows, const int from, const int to, const int columns, const int left T_MORE(T_widens, const bool wide),
                              T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias T_MORE(T_widens, const T_real *restrict v) T_ARGS)
{
    for (int r = from; r < to; r += rows)
        T_NAME_row(y, x, w, bias T_MORE(T_widens, v, wide), rows, columns, r, left T_PASS);
}

/* Columns left ... left + columns - 1, of at most two panels: a constant of the call. */
MODC_INLINE void T_NAME_pair(const int columns, const int left, T_of_y *T_RESTRICT y, const T_of_x *restrict x,
                             const T_of_w *restrict w, const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v) T_ARGS)
{
#if T_widens
    if (T_m > MODC_TILE_ROWS / 2) { /* codes cost more than reading floats again */
        T_NAME_widen(v, w, columns, left T_PASS);
        MODC_EACH_HEIGHT(T_NAME_block, T_m, columns, left, true, y, x, w, bias, v T_PASS);
        return;
    }
#endif
    MODC_EACH_HEIGHT(T_NAME_block, T_m, columns, left T_MORE(T_widens, false), y, x, w, bias T_MORE(T_widens, v) T_PASS);
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v) T_ARGS)
{
#if T_by_columns
    const int pairs = (T_n + 2 * T_P - 1) / (2 * T_P), from = modc_share(pairs, slice, T_slices) * (2 * T_P);
    const int to = modc_min(modc_share(pairs, slice + 1, T_slices) * (2 * T_P), T_n);
#endif
    const int whole = T_IF(T_single, T_n / T_P * T_P, T_n / (2 * T_P) * (2 * T_P));

#if T_by_columns && T_widens
    v += slice * T_scratch;
#endif
#if T_single
    for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, whole), whole); c += T_P)
        T_NAME_tile(y, x, w, bias, 1, T_P, 0, c T_PASS);
    if (T_IF(T_by_columns, to > whole, whole < T_n))
        T_NAME_tile(y, x, w, bias, 1, T_n % T_P, 0, whole T_PASS);
#else
    for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, whole), whole); c += 2 * T_P)
        T_NAME_pair(2 * T_P, c, y, x, w, bias T_MORE(T_widens, v) T_PASS);
    if (T_IF(T_by_columns, to > whole, whole < T_n))
        T_NAME_pair(T_n % (2 * T_P), whole, y, x, w, bias T_MORE(T_widens, v) T_PASS);
#endif
}
