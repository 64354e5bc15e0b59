/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail, with w by rows as PyTorch has it.
 *
 * Rows of x are T_ldx apart, rows of y T_ldy, rows of w T_ldw. Fits: always (T_m, T_n and T_k may be sizes); best for
 * some ten outputs, and what is left where weights are not packed. Dot products along K in vectors, a few rows by a
 * few outputs at a time, summed over the lanes at the end. */

/* rows x outputs of y at (row, column); both are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int outputs, const int row,
                             const int column T_ARGS)
{
    const int tile = rows * outputs, whole = T_k / T_LANES * T_LANES;
    T_vec sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];

    x += row * T_ldx;
    w += column * T_ldw;
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += T_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = T_OF(x, load)(x + i * T_ldx + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            T_vec b = T_OF(w, load)(w + j * T_ldw + k);

            MODC_KEEP(b);
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * outputs + j] += a[i] * b;
        }
    }
    if (whole < T_k) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += T_OF(x, load_part)(x + i / outputs * T_ldx + whole, T_k - whole) *
                      T_OF(w, load_part)(w + i % outputs * T_ldw + whole, T_k - whole);
    }
    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
        T_real total[MODC_DOT_OUTPUTS];

        T_V(sums)(sum + i * outputs, total, outputs);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const T_real value = T_bias ? total[j] + T_GET(bias, bias[column + j]) : total[j];

            y[(row + i) * T_ldy + column + j] = T_PUT(y, T_EPILOGUE(value, row + i, column + j));
        }
    }
}

/* Rows from ... to - 1, `rows` at a time, a constant of the call. */
MODC_INLINE void T_NAME_block(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int rows, const int from, const int to T_ARGS)
{
    for (int r = from; r < to; r += rows) {
        int c = 0;

        for (; c <= T_n - MODC_DOT_OUTPUTS; c += MODC_DOT_OUTPUTS)
            T_NAME_tile(y, x, w, bias, rows, MODC_DOT_OUTPUTS, r, c T_PASS);
#if T_fixed_n
        if (c < T_n)
            T_NAME_tile(y, x, w, bias, rows, T_n % MODC_DOT_OUTPUTS, r, c T_PASS);
#else
        for (; c < T_n; c++)
            T_NAME_tile(y, x, w, bias, rows, 1, r, c T_PASS);
#endif
    }
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if T_by_rows
    const int all = (T_m + MODC_DOT_ROWS - 1) / MODC_DOT_ROWS;
    const int from = modc_share(all, slice, T_slices) * MODC_DOT_ROWS;
    const int to = modc_min(modc_share(all, slice + 1, T_slices) * MODC_DOT_ROWS, T_m);
    const int whole = to / MODC_DOT_ROWS * MODC_DOT_ROWS;
#else
    const int whole = T_m / MODC_DOT_ROWS * MODC_DOT_ROWS;
#endif

    T_NAME_block(y, x, w, bias, MODC_DOT_ROWS, T_IF(T_by_rows, from, 0), whole T_PASS);
    T_NAME_block(y, x, w, bias, 1, whole, T_IF(T_by_rows, to, T_m) T_PASS);
}
