/* y = softmax(x) over rows of T_k, or its logarithm (T_log), and the tail: y, x (T_m, T_k).
 *
 * As softmax_warps.cu computes it, a block a row, which it reads three times: from a cache the second and the third time. So the
 * exponentials are computed twice, and y need not hold them. Fits: rows as there, of any length. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ T_real cells[8];

    for (int r = (int)blockIdx.x; r < T_m; r += (int)gridDim.x) {
        const T_of_x *const row = x + r * T_ldx;
        T_real most = -T_V(inf)(), sum = 0, last;

        for (int k = (int)threadIdx.x; k < T_k; k += 256)
            most = T_S(max)(most, T_GET(x, row[k]));
        most = modc_block_max(most, cells, 8);
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        for (int k = (int)threadIdx.x; k < T_k; k += 256)
            sum += T_S(exp)(T_GET(x, row[k]) - most);
        sum = modc_block_sum(sum, cells, 8);
        last = T_IF(T_log, T_S(log)(sum), T_IF(T_safe, sum <= 0 ? 0 : 1 / sum, 1 / sum));
        for (int k = (int)threadIdx.x; k < T_k; k += 256) {
            const T_real value = T_IF(T_log, (T_GET(x, row[k]) - most) - last, T_S(exp)(T_GET(x, row[k]) - most) * last);

            y[r * T_ldy + k] = T_PUT(y, T_EPILOGUE(value, r, k));
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)256 * T_m, 256, T_STREAM, T_ARGUMENTS);
}
