/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; both rounded to integers, which products are taken of.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy. w lies in scaled panels of T_P columns, one each T_panel bytes, T_head of them scales; its
 * integers in words of 4 steps in K, or 8 of four bits, T_packs. bias is padded to whole panels. T_grouped: T_group of a column share a
 * scale. Fits: w is packed, T_n and T_k are constants, T_k > 0; T_m may be a size.
 *
 * Each row of x is rounded into v by itself, to T_row bytes, of which T_first come in front of its integers: note [rows in int8] in
 * modc_simd_dot.h. Then register tiles over one panel or two add up products in int32: exact, so that neither the order nor other rows
 * change a bit. T_parted: in parts of T_part, each multiplied with its scale. T_ahead: of w, which is not in a cache, what comes a
 * page later is fetched to the second cache, since the first waits for few lines at a time. T_packs: two pages, and once
 * more on the way, since a processor that waits for many lines drops further ones; at last to the first cache, for so much is done with
 * a line that loads do not run ahead by themselves. Split by columns a slice has whole pairs of panels, and rounds x for itself. v: T_scratch elements. */

/* Adds the products of word `word` to rows x vectors sums: of rows from x on, of columns from that of w on. */
MODC_INLINE void T_NAME_word(modc_i32 *sum, const modc_int8 *restrict x, const T_of_w *restrict w, const int rows,
                             const int vectors, const int word T_ARGS)
{
    MODC_DOT_FENCE;
    w += T_head + word * T_P * 4;
    x += T_first + word * T_IF(T_packs, 8, 4) * MODC_DOT_BYTES;
    MODC_UNROLL
    for (int j = 0; j < vectors; j++) {
        const modc_int8 *const from = w + j * T_LANES / T_P * T_panel + j * T_LANES % T_P * 4;
#if T_packs
        const modc_u32 all = modc_dot_load(from), value = all & 0x0f0f0f0fu, odd = all >> 4 & 0x0f0f0f0fu;
#else
        const modc_u32 value = modc_dot_load8(from);
#endif

        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            modc_i32 *const own = sum + i * vectors + j;

            *own = modc_dot(*own, value, x + i * T_row);
#if T_packs
            *own = modc_dot(*own, odd, x + i * T_row + 4 * MODC_DOT_BYTES);
#endif
        }
    }
}

/* The sums of steps from ... to - 1, which are part `part` of K, of rows x vectors: in so many sets, which come together in the first. */
MODC_INLINE void T_NAME_part(modc_i32 *sum, const modc_int8 *restrict x, const T_of_w *restrict w, const int rows,
                             const int vectors, const int sets, const int part, const int from, const int to T_ARGS)
{
    const int tile = rows * vectors, steps = MODC_DOT_STEPS(sets), first = from / T_IF(T_packs, 8, 4);
    const int end = (to + T_IF(T_packs, 7, 3)) / T_IF(T_packs, 8, 4), whole = first + (end - first) / steps * steps;

    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = i < tile && T_IF(T_packs, 1, MODC_DOT_ZERO != 0) ? modc_dot_all(x + i / vectors * T_row + (part + 1) * 4) : modc_dot_none();
    MODC_ROLL
    for (int word = first; word < whole; word += steps) {
        MODC_UNROLL
        for (int s = 0; s < steps; s++) {
#if T_ahead
            MODC_UNROLL
            for (int p = 0; p < vectors * T_LANES; p += T_P) {
                const char *const line = (const char *)(w + p / T_P * T_panel + T_head) + (word + s) * T_P * 4;

#if T_packs
                MODC_UNROLL
                for (int ahead = 8192; ahead >= 4096; ahead -= 2048)
                    MODC_PREFETCH(line + ahead);
                MODC_PREFETCH_NEAR(line + 1024);
#else
                MODC_PREFETCH(line + T_IF(T_grouped, 8192, 4096));
#endif
            }
#endif
            T_NAME_word(sum + s % sets * tile, x, w, rows, vectors, word + s T_PASS);
        }
    }
    for (int word = whole; word < end; word++)
        T_NAME_word(sum, x, w, rows, vectors, word T_PASS);
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
}

/* The scales of group g of columns from `at` on of the panel at w. */
MODC_INLINE T_vec T_NAME_scale(const T_of_w *restrict w, const int at, const int g T_ARGS)
{
    const T_of_s *const s = (const T_of_s *)(const void *)(w + at / T_P * T_panel);

    return T_OF(s, load)(s + g * T_P + at % T_P);
}

/* One tile at (row, column); rows and columns are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const modc_int8 *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int columns, const int row,
                             const int column T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors, sets = MODC_DOT_SETS(tile);
    const int at = column % T_P;
    modc_i32 sum[MODC_TILE_REGISTERS];
#if T_parted
    T_vec all[MODC_TILE_REGISTERS];
#endif

    MODC_TILE_FENCE;
    x += row * T_row;
    w += column / T_P * T_panel;
#if T_parted
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        all[i] = T_V(set)(0);
    MODC_ROLL
    for (int from = 0; from < T_k; from += T_part) {
        T_NAME_part(sum, x, w + at * 4, rows, vectors, sets, from / T_part, from, modc_min(from + T_part, T_k) T_PASS);
#if T_ahead && T_grouped
        MODC_UNROLL
        for (int p = 0; p < vectors * T_LANES; p += T_P) /* of the next panel what its own scales lie in front of */
            MODC_PREFETCH((const char *)(w + (p / T_P + 1) * T_panel) + from / T_part * T_P * (int)sizeof(T_of_s) + 8192);
#endif
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            all[i] += modc_f32_of_int(sum[i]) * T_NAME_scale(w, at + i % vectors * T_LANES, T_IF(T_grouped, from / T_part, 0) T_PASS);
    }
#else
    T_NAME_part(sum, x, w + at * 4, rows, vectors, sets, 0, 0, T_k T_PASS);
#endif
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int rest = columns - i % vectors * T_LANES;
        const T_vec scale = modc_dot_scale_of(x + i / vectors * T_row);
#if T_parted
        const T_vec product = all[i] * scale;
#else
        const T_vec product = modc_f32_of_int(sum[i]) * scale * T_NAME_scale(w, at + i % vectors * T_LANES, 0 T_PASS);
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
        T_real one[T_LANES];

        T_V(store)(one, value);
        for (int l = 0; l < T_LANES && l < rest; l++)
            y[r * T_ldy + c + l] = T_PUT(y, T_EPILOGUE(one[l], r, c + l));
#endif
    }
}

#if !T_single
/* Rows from ... to - 1 in tiles of `rows` rows, and columns left ... left + columns - 1 of at most two panels; rows and columns are
 * constants of the call. */
MODC_INLINE void T_NAME_block(const int rows, const int from, const int to, const int columns, const int left, T_of_y *T_RESTRICT y, const modc_int8 *restrict x,
                              const T_of_w *restrict w, const T_of_bias *restrict bias T_ARGS)
{
    const int most = rows > 8 ? 2 * T_P : T_P; /* few rows read w as one stream */
    const int band = modc_min(MODC_DOT_VECTORS(rows) * T_LANES, most), whole = columns / band * band;

    for (int r = from; r < to; r += rows) {
        for (int c = 0; c < whole; c += band)
            T_NAME_tile(y, x, w, bias, rows, band, r, left + c T_PASS);
        if (whole < columns)
            T_NAME_tile(y, x, w, bias, rows, columns % band, r, left + whole T_PASS);
    }
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias, T_real *restrict v T_ARGS)
{
#if T_by_columns
    const int pairs = (T_n + 2 * T_P - 1) / (2 * T_P), first = modc_share(pairs, slice, T_slices) * (2 * T_P);
    const int end = modc_min(modc_share(pairs, slice + 1, T_slices) * (2 * T_P), T_n);
    modc_int8 *const rows = (modc_int8 *)(void *)(v + slice * T_scratch);
#else
    modc_int8 *const rows = (modc_int8 *)(void *)v;
#endif
    const int from = T_IF(T_by_columns, first, 0), to = T_IF(T_by_columns, end, T_n);
    const int wide = T_IF(T_single, modc_min(MODC_DOT_VECTORS(1) * T_LANES, T_P), 2 * T_P), whole = T_n / wide * wide;

    for (int i = 0; i < T_IF(T_single, 1, T_m); i++)
        modc_dot_row(rows + i * T_row, x + i * T_ldx, T_k, T_IF(T_parted, T_part, T_k), T_IF(T_packs, 8, 128), T_IF(T_packs, 8, 4));
#if T_single
    for (int c = from; c < modc_min(to, whole); c += wide)
        T_NAME_tile(y, rows, w, bias, 1, wide, 0, c T_PASS);
    if (to > whole)
        T_NAME_tile(y, rows, w, bias, 1, T_n % wide, 0, whole T_PASS);
#else
    for (int c = from; c < modc_min(to, whole); c += wide)
        MODC_EACH_HEIGHT(T_NAME_block, T_m, 2 * T_P, c, y, rows, w, bias T_PASS);
    if (to > whole)
        MODC_EACH_HEIGHT(T_NAME_block, T_m, T_n % (2 * T_P), whole, y, rows, w, bias T_PASS);
#endif
}
