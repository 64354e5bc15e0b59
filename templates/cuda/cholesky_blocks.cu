/* L, y (T_batch, T_n, T_n), of matrices x = L . L^T, which are read on and below the diagonal. A block a matrix, column by column, a
 * thread a row of it. Fits: contiguous values; all may be sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ T_real diagonal;

    for (int b = (int)blockIdx.x; b < T_batch; b += (int)gridDim.x) {
        T_real *const l = y + (int64_t)b * (T_n * T_n);
        const T_real *const a = x + (int64_t)b * (T_n * T_n);

        for (int j = 0; j < T_n; j++) {
            for (int i = (int)threadIdx.x; i < T_n; i += 256) {
                T_real sum = i >= j ? a[i * T_n + j] : 0;

                for (int k = 0; k < j && i >= j; k++)
                    sum -= l[i * T_n + k] * l[j * T_n + k];
                l[i * T_n + j] = sum;
                if (i == j)
                    diagonal = sum > 0 ? T_S(sqrt)(sum) : T_V(nan)();
            }
            __syncthreads();
            for (int i = (int)threadIdx.x; i < T_n; i += 256) {
                if (i > j)
                    l[i * T_n + j] /= diagonal;
                else if (i == j)
                    l[i * T_n + j] = diagonal;
            }
            __syncthreads();
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_EACH(T_NAME, T_batch, 65535, 256, T_STREAM, T_ARGUMENTS);
}
