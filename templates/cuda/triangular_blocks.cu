/* y (T_batch, T_n, T_k): what matrices x (T_batch, T_n, T_n), read above the diagonal or with T_lower below it, take to e0 as y. T_unit:
 * the diagonal is 1. A block a matrix, row by row, each of which is taken from all that are left. Fits: contiguous values; all may be
 * sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    for (int b = (int)blockIdx.x; b < T_batch; b += (int)gridDim.x) {
        const T_real *const a = x + (int64_t)b * (T_n * T_n), *const given = e0 + (int64_t)b * (T_n * T_k);
        T_real *const r = y + (int64_t)b * (T_n * T_k);

        for (int at = (int)threadIdx.x; at < T_n * T_k; at += 256)
            r[at] = given[at];
        __syncthreads();
        for (int s = 0; s < T_n; s++) {
            const int i = T_IF(T_lower, s, T_n - 1 - s), first = T_IF(T_lower, s + 1, 0);

#if !T_unit
            for (int j = (int)threadIdx.x; j < T_k; j += 256)
                r[i * T_k + j] /= a[i * T_n + i];
            __syncthreads();
#endif
            for (int at = (int)threadIdx.x; at < (T_n - 1 - s) * T_k; at += 256) {
                const int m = first + at / T_over_k, j = at % T_over_k;

                r[m * T_k + j] -= a[m * T_n + i] * r[i * T_k + j];
            }
            __syncthreads();
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_EACH(T_NAME, T_batch, 65535, 256, T_STREAM, T_ARGUMENTS);
}
