/* y = (x - mean) / sqrt(variance + T_eps) * w + bias over rows of T_k, and the tail: y, x (T_m, T_k), w and bias (T_k).
 *
 * As layer_norm_warps.cu computes it, a block a row, which it reads three times: from a cache the second and the third time. Fits:
 * rows as there, of any length. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ T_real cells[8];

    for (int r = (int)blockIdx.x; r < T_m; r += (int)gridDim.x) {
        const T_of_x *const row = x + r * T_ldx;
        T_real sum = 0, squares = 0, mean, error, scale;

        for (int k = (int)threadIdx.x; k < T_k; k += 256)
            sum += T_GET(x, row[k]);
        mean = modc_block_sum(sum, cells, 8) / (T_real)T_over_k;
        sum = 0;
        for (int k = (int)threadIdx.x; k < T_k; k += 256) {
            const T_real d = T_GET(x, row[k]) - mean;

            squares += d * d;
            sum += d;
        }
        error = modc_block_sum(sum, cells, 8) / (T_real)T_over_k;
        scale = T_S(rsqrt)(T_S(max)(modc_block_sum(squares, cells, 8) / (T_real)T_over_k - error * error, 0) + T_eps);
        for (int k = (int)threadIdx.x; k < T_k; k += 256) {
            T_real value = (T_GET(x, row[k]) - mean - error) * scale;

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

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)256 * T_m, 256, T_STREAM, T_ARGUMENTS);
}
