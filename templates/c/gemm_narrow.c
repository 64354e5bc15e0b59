/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; w in fewer bits than it is computed with.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy. w lies in panels of T_P columns, one each T_panel of its elements, zero padded; bias too
 * is padded to whole panels. T_bits 16: floats [T_k][T_P]. T_scaled: integers, note [scaled panels] in modc_simd_scalar.h: T_head bytes
 * of scales, then integers of T_bits; T_grouped: T_group of a column share a scale, else all of it. Fits: w is packed, T_n and
 * T_k are constants, T_k > 0; T_m may be a size.
 *
 * One row reads w panel by panel, as one stream; T_ahead: from memory, of which what comes a page later is fetched. More rows go in
 * register tiles over two panels at a time. T_widens: where they are many, the first tile over these panels puts what it made of
 * w into v, and the others read that. Split by columns a slice has whole pairs of panels. v: T_scratch elements. */

/* Of columns `column` on of the panels at w: their values in step k of K, which `nibble` is k % 8. */
MODC_INLINE T_vec T_NAME_some(const T_of_w *restrict w, const int column, const int k T_MORE(T_packs, const int nibble) T_ARGS)
{
    w += column / T_P * T_panel + T_head;
    return T_IF(T_packs, modc_int4_load(w + ((k - nibble) / 8 * T_P + column % T_P) * 4, nibble), T_OF(w, load)(w + k * T_P + column % T_P));
}

#if T_scaled
/* What these are multiples of in group g. */
MODC_INLINE T_vec T_NAME_scale(const T_of_w *restrict w, const int column, const int g T_ARGS)
{
    const T_of_s *const s = (const T_of_s *)(const void *)(w + column / T_P * T_panel);

    return T_OF(s, load)(s + g * T_P + column % T_P);
}

#endif
/* Adds the products of step k to rows x vectors sums. */
MODC_INLINE void T_NAME_step(T_vec *sum, const T_of_x *restrict x, const T_of_w *restrict w T_MORE(T_widens, T_real *restrict v, const int width),
                             const int rows, const int vectors, const int column T_MORE(T_grouped, const T_vec *scale),
                             const int k T_MORE(T_packs, const int nibble) T_ARGS)
{
    T_vec value[8];

    MODC_UNROLL
    for (int j = 0; j < vectors; j++) {
#if T_widens
        const int at = MODC_PANEL_AT(j * T_LANES, T_k, T_P) + k * T_P;

        if (width == MODC_WIDE) {
            value[j] = T_V(load)(v + at);
            continue;
        }
#endif
        value[j] = T_NAME_some(w, column + j * T_LANES, k T_MORE(T_packs, nibble) T_PASS);
#if T_grouped
        if (scale)
            value[j] *= scale[j];
#endif
#if T_widens
        if (width == MODC_WIDENS)
            T_V(store)(v + at, value[j]);
#endif
    }
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        sum[i] += T_GET(x, x[i / vectors * T_ldx + k]) * value[i % vectors];
}

/* Adds the products of steps from ... to - 1 to sets of rows x vectors sums; T_packs: from is a multiple of 8. */
MODC_INLINE void T_NAME_steps(T_vec *sum, const T_of_x *restrict x, const T_of_w *restrict w T_MORE(T_widens, T_real *restrict v, const int width),
                              const int rows, const int vectors, const int sets, const int column T_MORE(T_grouped, const T_vec *scale), const int from, const int to T_ARGS)
{
    const int tile = rows * vectors;
#if T_packs && T_widens
    const int steps = sets > 1 && width == MODC_NARROW ? 8 : sets; /* a word of w */
#elif T_packs
    const int steps = sets > 1 ? 8 : sets; /* a word of w */
#else
    const int steps = sets;
#endif
    const int whole = from + (to - from) / steps * steps;

    MODC_ROLL
    for (int k = from; k < whole; k += steps) {
#if T_ahead && !T_grouped
        if (k * T_bits / 8 * T_P % 64 == 0 && T_IF(T_widens, width != MODC_WIDE, 1)) {
            MODC_UNROLL
            for (int p = 0; p < vectors * T_LANES; p += T_P) {
                MODC_UNROLL
                for (int line = 0; line < steps * T_bits / 8 * T_P; line += 64)
                    MODC_PREFETCH_NEAR((const char *)(w + (column + p) / T_P * T_panel + T_head) + k * T_bits / 8 * T_P + line + 4096);
            }
        }
#endif
        MODC_UNROLL
        for (int s = 0; s < steps; s++)
            T_NAME_step(sum + s % sets * tile, x, w T_MORE(T_widens, v, width), rows, vectors, column T_MORE(T_grouped, scale), k + s T_MORE(T_packs, steps < 8 ? (k + s) % 8 : s) T_PASS);
    }
    for (int k = whole; k < to; k++)
        T_NAME_step(sum, x, w T_MORE(T_widens, v, width), rows, vectors, column T_MORE(T_grouped, scale), k T_MORE(T_packs, k % 8) T_PASS);
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
}

/* One tile at (row, column); rows, columns and width are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v, const int width),
                             const int rows, const int columns, const int row, const int column T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors;
    const int sets = T_IF(T_grouped, modc_min(MODC_TILE_SETS(tile, T_k), 4), MODC_TILE_SETS(tile, T_k));
    T_vec sum[MODC_TILE_REGISTERS];
#if T_grouped
    const int apart = T_IF(T_widens, width == MODC_NARROW && MODC_SUMS_GROUPS(rows), MODC_SUMS_GROUPS(rows));
    T_vec all[MODC_TILE_REGISTERS], scale[MODC_TILE_REGISTERS];
#endif

    MODC_TILE_FENCE;
    x += row * T_ldx;
    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = T_V(set)(0);
#if T_grouped
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        all[i] = sum[i];
    MODC_ROLL
    for (int from = 0; from < T_k; from += T_group) { /* one row: each group's sum times its scale; more: the weights */
        const int to = modc_min(from + T_group, T_k);

        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            scale[j] = T_NAME_scale(w, column + j * T_LANES, from / T_group T_PASS);
#if T_ahead
        if (T_IF(T_widens, width != MODC_WIDE, 1)) {
            const int part = T_panel / ((T_k + T_group - 1) / T_group);

            for (int c = column / T_P; c < (column + columns + T_P - 1) / T_P; c++) {
                MODC_UNROLL
                for (int line = 0; line < part; line += 64)
                    MODC_PREFETCH_NEAR((const char *)(w + c * T_panel) + from / T_group * part + line + 4096);
            }
        }
#endif
        T_NAME_steps(sum, x, w T_MORE(T_widens, v, width), rows, vectors, sets, column,
                     T_IF(T_widens, apart || width == MODC_WIDE, apart) ? NULL : scale, from, to T_PASS);
        if (apart) {
            MODC_UNROLL
            for (int i = 0; i < tile; i++) {
                all[i] += sum[i] * scale[i % vectors];
                sum[i] = T_V(set)(0);
            }
        }
        MODC_UNROLL
        for (int i = tile; i < tile * sets; i++)
            sum[i] = T_V(set)(0);
    }
#else
    T_NAME_steps(sum, x, w T_MORE(T_widens, v, width), rows, vectors, sets, column, 0, T_k T_PASS);
#endif
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int rest = columns - i % vectors * T_LANES;
#if T_grouped
        const T_vec product = apart ? all[i] : sum[i];
#elif T_scaled
        const T_vec product = sum[i] * T_NAME_scale(w, c, 0 T_PASS);
#else
        const T_vec product = sum[i];
#endif
        const T_vec value = T_bias ? product + T_OF(bias, load)(bias + c) : product;

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
/* One row of tiles of `rows` rows, and columns left ... left + columns - 1 of at most two panels; rows, columns and width are
 * constants of the call. */
MODC_INLINE void T_NAME_row(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                            const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v, const int width),
                            const int rows, const int columns, const int row, const int left T_ARGS)
{
    const int most = rows > 1 ? 2 * T_P : T_P; /* one row reads w as one stream */
    const int band = modc_min(MODC_TILE_VECTORS(rows) * T_LANES, most), whole = columns / band * band;

    for (int c = 0; c < whole; c += band)
        T_NAME_tile(y, x, w, bias T_MORE(T_widens, v + MODC_PANEL_AT(c, T_k, T_P), width), rows, band, row, left + c T_PASS);
    if (whole < columns)
        T_NAME_tile(y, x, w, bias T_MORE(T_widens, v + MODC_PANEL_AT(whole, T_k, T_P), width), rows, columns % band, row, left + whole T_PASS);
}

/* Rows from ... to - 1 in such rows of tiles. */
MODC_INLINE void T_NAME_block(const int rows, const int from, const int to, const int columns, const int left T_MORE(T_widens, const int width), T_of_y *T_RESTRICT y, const T_of_x *restrict x,
                              const T_of_w *restrict w, const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v) T_ARGS)
{
    int r = from;

#if T_widens
    if (width == MODC_WIDE && rows == MODC_TILE_ROWS) {
        T_NAME_row(y, x, w, bias, v, MODC_WIDENS, rows, columns, r, left T_PASS);
        r += rows;
    }
#endif
    for (; r < to; r += rows)
        T_NAME_row(y, x, w, bias T_MORE(T_widens, v, width), rows, columns, r, left T_PASS);
}

/* Columns left ... left + columns - 1, of at most two panels: a constant of the call. */
MODC_INLINE void T_NAME_pair(const int columns, const int left, T_of_y *T_RESTRICT y, const T_of_x *restrict x,
                             const T_of_w *restrict w, const T_of_bias *restrict bias T_MORE(T_widens, T_real *restrict v) T_ARGS)
{
#if T_widens
    if (T_m > MODC_WIDENS_FROM) {
        MODC_EACH_HEIGHT(T_NAME_block, T_m, columns, left, MODC_WIDE, y, x, w, bias, v T_PASS);
        return;
    }
#endif
    MODC_EACH_HEIGHT(T_NAME_block, T_m, columns, left T_MORE(T_widens, MODC_NARROW), y, x, w, bias T_MORE(T_widens, v) T_PASS);
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
