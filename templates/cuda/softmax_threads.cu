/* y = softmax(x) along the middle axis, or its logarithm (T_log): y, x (T_m, T_k, T_n).
 *
 * As softmax_warps.cu computes it, a thread a column: neighbouring threads read neighbours. The exponentials are computed twice, and
 * y need not hold them. T_safe: nothing but -inf becomes 0; T_empty: there is no output. Fits: contiguous values; all may be sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const unsigned columns = T_m * T_n;

    for (unsigned i = MODC_THREAD(256); i < columns; i += MODC_THREADS(256)) {
        const int at = T_IF(T_empty, 0, i / T_n * (T_k * T_n) + i % T_n);
        T_real most = -T_V(inf)(), sum = 0, last;

        for (int k = 0; k < T_k; k++)
            most = T_S(max)(most, T_GET(x, x[at + k * T_n]));
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        for (int k = 0; k < T_k; k++)
            sum += T_S(exp)(T_GET(x, x[at + k * T_n]) - most);
        last = T_IF(T_log, T_S(log)(sum), T_IF(T_safe, sum <= 0 ? 0 : 1 / sum, 1 / sum));
        for (int k = 0; k < T_k; k++) {
            const T_real away = T_GET(x, x[at + k * T_n]) - most;

            y[at + k * T_n] = T_PUT(y, T_IF(T_log, away - last, T_S(exp)(away) * last));
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, T_m * T_n, 256, T_STREAM, T_ARGUMENTS);
}
