/* y[b] (T_m, T_n) = x[b] (T_m, T_k) . w[b] (T_k, T_n) + bias (T_n), and the tail, for b in (T_batch0, T_batch1).
 *
 * Element (i, j) of y lies at i * T_ym + j, (i, k) of x at i * T_xm + k * T_xk, (k, j) of w at k * T_wk + j * T_wn,
 * batches T_y0, T_y1, T_x0, T_x1, T_w0, T_w1 apart; the tail counts the rows of all batches. Fits: always; all of them
 * may be sizes. T_form 1: T_wn is 1, vectors along the columns; 2: T_xk and T_wk are 1, dot products; 0: one by one.
 * 3: as 1, where y is turned: x, w, T_m and T_n are those of y^T = w^T . x^T, whose element (i, j) lies at j * T_ym + i.
 *
 * What does not lie so is packed into v first. T_packs_w: with form 1 T_block columns of w at a time, whose rows are T_ldv apart
 * there, with form 2 its columns as rows (T_n, T_k). T_packs_x: T_rows rows of x at a time (T_rows, T_k), T_room behind v, which are
 * in the first cache then. v: T_scratch elements. */

#if T_packs
/* A matrix (rows, columns), whose neighbours lie `row` and `column` apart, becomes lines `ld` apart. */
MODC_INLINE void T_NAME_lines(T_real *restrict to, const int ld, const T_of_x *restrict from, const int rows,
                              const int columns, const int row, const int column)
{
#if T_copies && !T_converts_x
    if (row == 1 && rows * columns > 512) { /* constant loops are faster than a call for fewer */
        T_V(transpose)(to, ld, from, column, rows, columns);
        return;
    }
#endif
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[i * ld + j] = T_GET(x, from[i * row + j * column]);
}

#endif
#if T_form == 1 || T_form == 3
/* rows x vectors of y at (row, column) of one batch, whose first row is `first`; the last vector has only `part`
 * columns, unless that is 0. rows, vectors and whether part is 0 are constants of the call. q: w from this column on. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_p *restrict p, const T_of_q *restrict q,
                             const T_of_bias *restrict bias, const int rows, const int vectors, const int part,
                             const int first, const int row, const int column T_ARGS)
{
    const int tile = rows * vectors;
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    p += row * T_xm;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
#if T_form == 3
        sum[i] = T_V(set)(T_bias ? T_GET(bias, bias[row + i / vectors]) : 0);
#else
        const int c = column + i % vectors * T_LANES;

        if (T_bias)
            sum[i] = part && i % vectors == vectors - 1 ? T_OF(bias, load_part)(bias + c, part) : T_OF(bias, load)(bias + c);
        else
            sum[i] = T_V(set)(0);
#endif
    }
    MODC_ROLL
    for (int k = 0; k < T_k; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const T_of_q *const start = q + k * T_IF(T_packs_w, T_ldv, T_wk) + j * T_LANES;

            b[j] = part && j == vectors - 1 ? T_OF(q, load_part)(start, part) : T_OF(q, load)(start);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const T_real a = T_GET(p, p[i * T_xm + k * T_xk]);

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int count = part && i % vectors == vectors - 1 ? part : T_LANES;
#if T_form == 3
        const int r = column + i % vectors * T_LANES, c = row + i / vectors;
        T_real lanes[T_LANES];

#if T_pure_tail
        if (T_ym == 1) {
            T_OF(y, store_most)(y + r + c, T_EPILOGUE_V(sum[i], first + r, c), count);
            continue;
        }
        T_V(store)(lanes, T_EPILOGUE_V(sum[i], first + r, c));
        for (int l = 0; l < count; l++)
            y[(r + l) * T_ym + c] = T_PUT(y, lanes[l]);
#else
        T_V(store)(lanes, sum[i]);
        for (int l = 0; l < count; l++)
            y[(r + l) * T_ym + c] = T_PUT(y, T_EPILOGUE(lanes[l], first + r + l, c));
#endif
#else
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;

#if T_vector_tail
        if (count == T_LANES) {
            T_OF(y, store)(y + r * T_ym + c, T_EPILOGUE_V(sum[i], first + r, c));
            continue;
        }
        T_OF(y, store_part)(y + r * T_ym + c, T_EPILOGUE_PART(sum[i], first + r, c, count), count);
#else
        T_real lanes[T_LANES];

        T_V(store)(lanes, sum[i]);
        for (int l = 0; l < count; l++)
            y[r * T_ym + c + l] = T_PUT(y, T_EPILOGUE(lanes[l], first + r, c + l));
#endif
#endif
    }
}

/* `count` times `rows` rows from `row` on, of them `columns` columns from `left` on, where q is; rows is a constant of the call. */
MODC_INLINE void T_NAME_strip(T_of_y *T_RESTRICT y, const T_of_p *restrict p, const T_of_q *restrict q,
                              const T_of_bias *restrict bias, const int rows, const int first, const int row,
                              const int count, const int left, const int columns T_ARGS)
{
    const int band = MODC_TILE_VECTORS(rows) * T_LANES, full = columns / band * band;
#if !T_fixed_n
    const int whole = columns / T_LANES * T_LANES;
#endif

    for (int t = T_IF(T_by_rows, modc_share(count, slice, T_slices), 0);
         t < T_IF(T_by_rows, modc_share(count, slice + 1, T_slices), count); t++) {
        for (int c = 0; c < full; c += band)
            T_NAME_tile(y, p, q + c, bias, rows, band / T_LANES, 0, first,
                        row + t * rows, left + c T_PASS);
#if T_fixed_n
        if (columns > full)
            T_NAME_tile(y, p, q + full, bias, rows,
                        (columns - full + T_LANES - 1) / T_LANES, columns % T_LANES, first, row + t * rows, left + full T_PASS);
#else
        for (int c = full; c < whole; c += T_LANES)
            T_NAME_tile(y, p, q + c, bias, rows, 1, 0, first, row + t * rows,
                        left + c T_PASS);
        if (columns > whole)
            T_NAME_tile(y, p, q + whole, bias, rows, 1, columns - whole, first,
                        row + t * rows, left + whole T_PASS);
#endif
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void T_NAME_band(T_of_y *T_RESTRICT y, const T_of_p *restrict p, const T_of_q *restrict q,
                             const T_of_bias *restrict bias, const int first, const int left,
                             const int columns T_ARGS)
{
#if T_fixed_m
    const int tiles = (T_m + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = T_m / tiles, tall = T_m % tiles;

    if (tall > 0)
        T_NAME_strip(y, p, q, bias, rows + 1, first, 0, tall, left, columns T_PASS);
    T_NAME_strip(y, p, q, bias, rows, first, tall * (rows + 1), tiles - tall, left, columns T_PASS);
#else
    const int most = T_m / MODC_TILE_ROWS * MODC_TILE_ROWS;

    T_NAME_strip(y, p, q, bias, MODC_TILE_ROWS, first, 0, most / MODC_TILE_ROWS, left, columns T_PASS);
#if MODC_LANES > 1
    T_NAME_strip(y, p, q, bias, 4, first, most, (T_m - most) / 4, left, columns T_PASS);
    T_NAME_strip(y, p, q, bias, 1, first, T_m - (T_m - most) % 4, (T_m - most) % 4, left, columns T_PASS);
#endif
#endif
}
#elif T_form == 2
/* rows x outputs dot products at (row, column); both are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_p *restrict p, const T_of_q *restrict q,
                             const T_of_bias *restrict bias, const int rows, const int outputs, const int first,
                             const int row, const int column T_ARGS)
{
    const int full = T_k / T_LANES * T_LANES;
    T_vec sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];

    p += row * T_IF(T_packs_x, T_k, T_xm);
    q += column * T_IF(T_packs_w, T_k, T_wn);
    MODC_UNROLL
    for (int i = 0; i < rows * outputs; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < full; k += T_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = T_OF(p, load)(p + i * T_IF(T_packs_x, T_k, T_xm) + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            T_vec b = T_OF(q, load)(q + j * T_IF(T_packs_w, T_k, T_wn) + k);

            MODC_KEEP(b);
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * outputs + j] += a[i] * b;
        }
    }
#if MODC_LANES > 1
    if (full < T_k) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++)
            a[i] = T_OF(p, load_part)(p + i * T_IF(T_packs_x, T_k, T_xm) + full, T_k - full);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const T_vec b = T_OF(q, load_part)(q + j * T_IF(T_packs_w, T_k, T_wn) + full, T_k - full);

            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * outputs + j] += a[i] * b;
        }
    }
#endif
    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
        T_real total[MODC_DOT_OUTPUTS];
        const int r = row + i;

        if (outputs == 4) {
            T_V(sum4)(sum + i * 4, total);
        } else {
            MODC_UNROLL
            for (int j = 0; j < outputs; j++)
                total[j] = T_V(sum)(sum[i * outputs + j]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const T_real value = T_bias ? total[j] + T_GET(bias, bias[column + j]) : total[j];

            y[r * T_ym + column + j] = T_PUT(y, T_EPILOGUE(value, first + r, column + j));
        }
    }
}

/* `count` times `rows` rows from `row` on; rows is a constant of the call. */
MODC_INLINE void T_NAME_strip(T_of_y *T_RESTRICT y, const T_of_p *restrict p, const T_of_q *restrict q,
                              const T_of_bias *restrict bias, const int rows, const int first, const int row,
                              const int count T_ARGS)
{
    const int full = T_n / MODC_DOT_OUTPUTS * MODC_DOT_OUTPUTS;
#if T_by_rows && !T_packs_x
    const int from = modc_share(count, slice, T_slices), to = modc_share(count, slice + 1, T_slices);
#else
    const int from = 0, to = count;
#endif

    for (int t = from; t < to; t++) {
        for (int c = 0; c < full; c += MODC_DOT_OUTPUTS)
            T_NAME_tile(y, p, q, bias, rows, MODC_DOT_OUTPUTS, first, row + t * rows, c T_PASS);
        for (int c = full; c < T_n; c++)
            T_NAME_tile(y, p, q, bias, rows, 1, first, row + t * rows, c T_PASS);
    }
}
#endif

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_MORE(T_packs, T_real *restrict v) T_ARGS)
{
#if T_packs_w
    const T_of_w *packed = NULL; /* of which batch w is in v */

#endif
#if T_by_batches
    const int from = modc_share(T_batch0 * T_batch1, slice, T_slices);
    const int to = modc_share(T_batch0 * T_batch1, slice + 1, T_slices);

#elif T_by_rows && (T_form == 0 || T_packs_x)
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);

#endif
#if T_packs && T_slices > 1
    v += slice * T_scratch;
#endif
    for (int batch0 = 0; batch0 < T_batch0; batch0++) {
        for (int batch1 = T_IF(T_by_batches, modc_max(from - batch0 * T_batch1, 0), 0);
             batch1 < T_IF(T_by_batches, modc_min(to - batch0 * T_batch1, T_batch1), T_batch1); batch1++) {
            T_of_y *const yb = y + batch0 * T_y0 + batch1 * T_y1;
            const T_of_x *const xb = x + batch0 * T_x0 + batch1 * T_x1;
            const T_of_w *const wb = w + batch0 * T_w0 + batch1 * T_w1;
            const int first = (batch0 * T_batch1 + batch1) * T_IF(T_turns, T_n, T_m);
#if T_form == 3
            T_NAME_band(yb, wb, xb, bias, first, 0, T_n T_PASS);
#elif T_form == 1 && !T_packs_w
            T_NAME_band(yb, xb, wb, bias, first, 0, T_n T_PASS);
#elif T_form == 1
            const int whole = T_n / T_block * T_block;

            for (int c = 0; c < whole; c += T_block) {
                if (T_n > T_block || packed != wb)
                    T_NAME_lines(v, T_ldv, wb + c * T_wn, T_k, T_block, T_wk, T_wn);
                T_NAME_band(yb, xb, v, bias, first, c, T_block T_PASS);
            }
            if (T_n > whole) {
                if (T_n > T_block || packed != wb)
                    T_NAME_lines(v, T_ldv, wb + whole * T_wn, T_k, T_n - whole, T_wk, T_wn);
                T_NAME_band(yb, xb, v, bias, first, whole, T_n - whole T_PASS);
            }
            packed = wb;
#elif T_form == 2
            const T_of_q *const q = T_IF(T_packs_w, v, wb);
#if !T_packs_x
            const int most = T_m / MODC_DOT_ROWS * MODC_DOT_ROWS;
#endif

#if T_packs_w
            if (packed != wb)
                T_NAME_lines(v, T_k, wb, T_n, T_k, T_wn, T_wk);
            packed = wb;
#endif
#if T_packs_x
            for (int row = T_IF(T_by_rows, from, 0); row < T_IF(T_by_rows, to, T_m); row += T_rows) {
                const int count = modc_min(T_rows, T_IF(T_by_rows, to, T_m) - row), most = count / MODC_DOT_ROWS * MODC_DOT_ROWS;

                T_NAME_lines(v + T_room, T_k, xb + row * T_xm, count, T_k, T_xm, T_xk);
                T_NAME_strip(yb + row * T_ym, v + T_room, q, bias, MODC_DOT_ROWS, first + row, 0, most / MODC_DOT_ROWS T_PASS);
                T_NAME_strip(yb + row * T_ym, v + T_room, q, bias, 1, first + row, most, count - most T_PASS);
            }
#else
            T_NAME_strip(yb, xb, q, bias, MODC_DOT_ROWS, first, 0, most / MODC_DOT_ROWS T_PASS);
            T_NAME_strip(yb, xb, q, bias, 1, first, most, T_m - most T_PASS);
#endif
#else
            (void)first;
            for (int i = T_IF(T_by_rows, from, 0); i < T_IF(T_by_rows, to, T_m); i++) {
                for (int j = 0; j < T_n; j++) {
                    T_real sum = T_bias ? T_GET(bias, bias[j]) : 0;

                    for (int k = 0; k < T_k; k++)
                        sum += T_GET(x, xb[i * T_xm + k * T_xk]) * T_GET(w, wb[k * T_wk + j * T_wn]);
                    yb[i * T_ym + j] = T_PUT(y, T_EPILOGUE(sum, first + i, j));
                }
            }
#endif
        }
    }
}
