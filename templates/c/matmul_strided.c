/* y[b] (T_m, T_n) = x[b] (T_m, T_k) . w[b] (T_k, T_n) + bias (T_n), and the tail, for b in (T_batch0, T_batch1).
 *
 * Element (i, j) of y lies at i * T_ym + j, (i, k) of x at i * T_xm + k * T_xk, (k, j) of w at k * T_wk + j * T_wn,
 * batches T_y0, T_y1, T_x0, T_x1, T_w0, T_w1 apart; the tail counts the rows of all batches. Fits: always; all of them
 * may be sizes. T_form 1: T_wn is 1, vectors along the columns; 2: T_xk and T_wk are 1, dot products; 0: one by one. */

#if T_form == 1
/* rows x vectors of y at (row, column) of one batch, whose first row is `first`; the last vector has only `part`
 * columns, unless that is 0. rows, vectors and whether part is 0 are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int vectors, const int part,
                             const int first, const int row, const int column T_ARGS)
{
    const int tile = rows * vectors;
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_FENCE;
    x += row * T_xm;
    w += column;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int c = column + i % vectors * T_LANES;

        if (T_bias)
            sum[i] = part && i % vectors == vectors - 1 ? T_OF(bias, load_part)(bias + c, part) : T_OF(bias, load)(bias + c);
        else
            sum[i] = T_V(set)(0);
    }
    MODC_ROLL
    for (int k = 0; k < T_k; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const T_of_w *const start = w + k * T_wk + j * T_LANES;

            b[j] = part && j == vectors - 1 ? T_OF(w, load_part)(start, part) : T_OF(w, load)(start);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const T_real a = T_GET(x, x[i * T_xm + k * T_xk]);

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * T_LANES;
        const int count = part && i % vectors == vectors - 1 ? part : T_LANES;

#if T_vector_tail
        if (count == T_LANES) {
            T_OF(y, store)(y + r * T_ym + c, T_EPILOGUE_V(sum[i], first + r, c));
            continue;
        }
#endif
#if T_pure_tail
        T_OF(y, store_part)(y + r * T_ym + c, T_EPILOGUE_V(sum[i], first + r, c), count);
#else
        T_real lanes[T_LANES];

        T_V(store)(lanes, sum[i]);
        for (int l = 0; l < count; l++)
            y[r * T_ym + c + l] = T_PUT(y, T_EPILOGUE(lanes[l], first + r, c + l));
#endif
    }
}

/* `count` times `rows` rows from `row` on; rows is a constant of the call. */
MODC_INLINE void T_NAME_strip(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int rows, const int first, const int row,
                              const int count T_ARGS)
{
    const int band = MODC_TILE_VECTORS(rows) * T_LANES, full = T_n / band * band;
#if !T_fixed_n
    const int whole = T_n / T_LANES * T_LANES;
#endif

    for (int t = T_IF(T_by_rows, modc_share(count, slice, T_slices), 0);
         t < T_IF(T_by_rows, modc_share(count, slice + 1, T_slices), count); t++) {
        for (int c = 0; c < full; c += band)
            T_NAME_tile(y, x, w, bias, rows, band / T_LANES, 0, first, row + t * rows, c T_PASS);
#if T_fixed_n
        if (T_n > full)
            T_NAME_tile(y, x, w, bias, rows, (T_n - full + T_LANES - 1) / T_LANES, T_n % T_LANES, first, row + t * rows, full T_PASS);
#else
        for (int c = full; c < whole; c += T_LANES)
            T_NAME_tile(y, x, w, bias, rows, 1, 0, first, row + t * rows, c T_PASS);
        if (T_n > whole)
            T_NAME_tile(y, x, w, bias, rows, 1, T_n - whole, first, row + t * rows, whole T_PASS);
#endif
    }
}
#elif T_form == 2
/* rows x outputs dot products at (row, column); both are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int outputs, const int first,
                             const int row, const int column T_ARGS)
{
    const int full = T_k / T_LANES * T_LANES;
    T_vec sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];

    x += row * T_xm;
    w += column * T_wn;
    MODC_UNROLL
    for (int i = 0; i < rows * outputs; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < full; k += T_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = T_OF(x, load)(x + i * T_xm + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            T_vec b = T_OF(w, load)(w + j * T_wn + k);

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
            a[i] = T_OF(x, load_part)(x + i * T_xm + full, T_k - full);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const T_vec b = T_OF(w, load_part)(w + j * T_wn + full, T_k - full);

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
MODC_INLINE void T_NAME_strip(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int rows, const int first, const int row,
                              const int count T_ARGS)
{
    const int full = T_n / MODC_DOT_OUTPUTS * MODC_DOT_OUTPUTS;

    for (int t = T_IF(T_by_rows, modc_share(count, slice, T_slices), 0);
         t < T_IF(T_by_rows, modc_share(count, slice + 1, T_slices), count); t++) {
        for (int c = 0; c < full; c += MODC_DOT_OUTPUTS)
            T_NAME_tile(y, x, w, bias, rows, MODC_DOT_OUTPUTS, first, row + t * rows, c T_PASS);
        for (int c = full; c < T_n; c++)
            T_NAME_tile(y, x, w, bias, rows, 1, first, row + t * rows, c T_PASS);
    }
}
#endif

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch0 * T_batch1, slice, T_slices);
    const int to = modc_share(T_batch0 * T_batch1, slice + 1, T_slices);

#elif T_by_rows && T_form == 0
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);

#endif
    for (int batch0 = 0; batch0 < T_batch0; batch0++) {
        for (int batch1 = T_IF(T_by_batches, modc_max(from - batch0 * T_batch1, 0), 0);
             batch1 < T_IF(T_by_batches, modc_min(to - batch0 * T_batch1, T_batch1), T_batch1); batch1++) {
            T_of_y *const yb = y + batch0 * T_y0 + batch1 * T_y1;
            const T_of_x *const xb = x + batch0 * T_x0 + batch1 * T_x1;
            const T_of_w *const wb = w + batch0 * T_w0 + batch1 * T_w1;
            const int first = (batch0 * T_batch1 + batch1) * T_m;
#if T_form == 1
#if T_fixed_m
            const int tiles = (T_m + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = T_m / tiles, tall = T_m % tiles;

            if (tall > 0)
                T_NAME_strip(yb, xb, wb, bias, rows + 1, first, 0, tall T_PASS);
            T_NAME_strip(yb, xb, wb, bias, rows, first, tall * (rows + 1), tiles - tall T_PASS);
#else
            const int most = T_m / MODC_TILE_ROWS * MODC_TILE_ROWS;

            T_NAME_strip(yb, xb, wb, bias, MODC_TILE_ROWS, first, 0, most / MODC_TILE_ROWS T_PASS);
#if MODC_LANES > 1
            T_NAME_strip(yb, xb, wb, bias, 4, first, most, (T_m - most) / 4 T_PASS);
            T_NAME_strip(yb, xb, wb, bias, 1, first, T_m - (T_m - most) % 4, (T_m - most) % 4 T_PASS);
#endif
#endif
#elif T_form == 2
            const int most = T_m / MODC_DOT_ROWS * MODC_DOT_ROWS;

            T_NAME_strip(yb, xb, wb, bias, MODC_DOT_ROWS, first, 0, most / MODC_DOT_ROWS T_PASS);
            T_NAME_strip(yb, xb, wb, bias, 1, first, most, T_m - most T_PASS);
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
