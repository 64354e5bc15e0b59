/* y = softmax(x) over rows of T_k, or its logarithm (T_log), and the tail: y, x (T_m, T_k).
 *
 * exp(x - max) / sum(exp(x - max)), a warp a row, T_each of its values a lane in registers: they are read once. A row that holds NaN
 * or +inf, or nothing but -inf, becomes NaN, as in torch; T_safe: the last of these becomes 0. Fits: rows are contiguous, T_ldx
 * apart, those of y T_ldy, of at most 32 * T_each values; T_m and T_k may be sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const int lane = (int)threadIdx.x % 32;

    for (int r = MODC_THREAD(256) / 32; r < T_m; r += MODC_THREADS(256) / 32) {
        const T_of_x *const row = x + r * T_ldx;
        T_real v[T_each], most = -T_V(inf)(), sum = 0, last;

        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            const int k = i * 32 + lane;

            v[i] = k < T_k ? T_GET(x, row[k]) : -T_V(inf)();
            most = T_S(max)(most, v[i]);
        }
        most = modc_warp_max(most);
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
#if T_log
            v[i] -= most;
            sum += T_S(exp)(v[i]);
#else
            v[i] = T_S(exp)(v[i] - most);
            sum += v[i];
#endif
        }
        sum = modc_warp_sum(sum);
        last = T_IF(T_log, T_S(log)(sum), T_IF(T_safe, sum <= 0 ? 0 : 1 / sum, 1 / sum));
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            const int k = i * 32 + lane;

            if (k < T_k) {
                const T_real value = T_IF(T_log, v[i] - last, v[i] * last);

                y[r * T_ldy + k] = T_PUT(y, T_EPILOGUE(value, r, k));
            }
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)32 * T_m, 256, T_STREAM, T_ARGUMENTS);
}
