/* y = (x - mean) / sqrt(variance + T_eps) * w + bias over rows of T_k, and the tail: y, x (T_m, T_k), w and bias (T_k).
 *
 * As templates/c/layer_norm.c computes it (the variance around the mean, and with it the rounding error of the mean), a warp a row,
 * T_each of its values a lane in registers: they are read once. Fits: rows are contiguous, T_ldx apart, those of y T_ldy, of at most
 * 32 * T_each values; T_m and T_k may be sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const int lane = (int)threadIdx.x % 32;

    for (int r = MODC_THREAD(256) / 32; r < T_m; r += MODC_THREADS(256) / 32) {
        const T_of_x *const row = x + r * T_ldx;
        T_real v[T_each], sum = 0, squares = 0, mean, error, scale;

        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            const int k = i * 32 + lane;

            v[i] = k < T_k ? T_GET(x, row[k]) : 0;
            sum += v[i];
        }
        mean = modc_warp_sum(sum) / (T_real)T_over_k;
        sum = 0;
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            v[i] = i * 32 + lane < T_k ? v[i] - mean : 0;
            squares += v[i] * v[i];
            sum += v[i];
        }
        error = modc_warp_sum(sum) / (T_real)T_over_k;
        scale = T_S(rsqrt)(T_S(max)(modc_warp_sum(squares) / (T_real)T_over_k - error * error, 0) + T_eps);
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            const int k = i * 32 + lane;

            if (k < T_k) {
                T_real value = (v[i] - error) * scale;

#if T_weight
                value *= T_GET(w, w[k]);
#endif
#if T_bias
                value += T_GET(bias, bias[k]);
#endif
                y[r * T_ldy + k] = T_PUT(y, T_EPILOGUE(value, r, k));
            }
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)32 * T_m, 256, T_STREAM, T_ARGUMENTS);
}
