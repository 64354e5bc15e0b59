/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail, with w by rows as PyTorch has it.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy, rows of w T_ldw. Fits: always (T_m, T_n and T_k may be sizes); best for
 * some ten outputs, and what is left where weights are not packed. Dot products along K in vectors, a few rows by a
 * few outputs at a time, summed over the lanes at the end. */

/* rows x outputs of y at (row, column); both are constants of the call. */
MODC_INLINE void T_NAME_tile(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                             const T_real *restrict bias, const int rows, const int outputs, const int row,
                             const int column T_ARGS)
{
    T_vec sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];
    const int full = T_k / T_LANES * T_LANES;

    x += row * T_ldx;
    w += column * T_ldw;
    MODC_UNROLL
    for (int i = 0; i < rows * outputs; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < full; k += T_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = T_V(load)(x + i * T_ldx + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            T_vec b = T_W(load)(w + j * T_ldw + k);

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
            a[i] = T_V(load_part)(x + i * T_ldx + full, T_k - full);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const T_vec b = T_W(load_part)(w + j * T_ldw + full, T_k - full);

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
            const T_real value = T_bias ? total[j] + bias[column + j] : total[j];

            y[r * T_ldy + column + j] = T_EPILOGUE(value, r, column + j);
        }
    }
}

/* rows rows of y from `row` on; rows is a constant of the call. */
MODC_INLINE void T_NAME_rows(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                             const T_real *restrict bias, const int rows, const int row T_ARGS)
{
    const int tiles = T_n / MODC_DOT_OUTPUTS, full = tiles * MODC_DOT_OUTPUTS;

    for (int t = 0; t < tiles; t++)
        T_NAME_tile(y, x, w, bias, rows, MODC_DOT_OUTPUTS, row, t * MODC_DOT_OUTPUTS T_PASS);
#if T_fixed_n
    if (T_n > full)
        T_NAME_tile(y, x, w, bias, rows, T_n - full, row, full T_PASS);
#else
    for (int c = full; c < T_n; c++)
        T_NAME_tile(y, x, w, bias, rows, 1, row, c T_PASS);
#endif
}

T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, const T_stored *restrict w,
                               const T_real *restrict bias T_ARGS)
{
    const int tiles = T_m / MODC_DOT_ROWS;
#if T_by_rows
    const int all = (T_m + MODC_DOT_ROWS - 1) / MODC_DOT_ROWS;
    const int from = modc_share(all, slice, T_slices), to = modc_share(all, slice + 1, T_slices);
#endif

    for (int t = T_IF(T_by_rows, from, 0); t < T_IF(T_by_rows, modc_min(to, tiles), tiles); t++)
        T_NAME_rows(y, x, w, bias, MODC_DOT_ROWS, t * MODC_DOT_ROWS T_PASS);
    for (int row = tiles * MODC_DOT_ROWS; T_IF(T_by_rows, to > tiles && row < T_m, row < T_m); row++)
        T_NAME_rows(y, x, w, bias, 1, row T_PASS);
}
