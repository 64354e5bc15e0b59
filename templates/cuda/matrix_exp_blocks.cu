/* y (T_batch, T_n, T_n): the exponentials of matrices x: of one that is halved until its rows are no longer than 1, by 18 terms of the
 * series, then squared as often. A block a matrix, a thread some elements of each product. v: that matrix, and a product, for each of at
 * most T_blocks blocks. Fits: contiguous values; all may be sizes. */
MODC_DEVICE T_real T_NAME_dot(const T_real *a, const T_real *b, const int n)
{
    T_real sum = 0;

    for (int k = 0; k < n; k++)
        sum += a[k] * b[k * n];
    return sum;
}

T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    T_real *const scaled = v + (int64_t)blockIdx.x * (2 * T_n * T_n), *const product = scaled + T_n * T_n;

    for (int b = (int)blockIdx.x; b < T_batch; b += (int)gridDim.x) {
        const T_real *const a = x + (int64_t)b * (T_n * T_n);
        T_real *const result = y + (int64_t)b * (T_n * T_n), most = 0, scale = 1;
        int halved = 0;

        for (int i = (int)threadIdx.x; i < T_n; i += 256) {
            T_real sum = 0;

            for (int j = 0; j < T_n; j++)
                sum += T_S(abs)(a[i * T_n + j]);
            product[i] = sum;
        }
        __syncthreads();
        for (int i = 0; i < T_n; i++)
            most = T_S(max)(most, product[i]);
        for (; most * scale > 1 && halved < 1100; halved++)
            scale /= 2;
        for (int at = (int)threadIdx.x; at < T_n * T_n; at += 256) {
            scaled[at] = a[at] * scale;
            result[at] = at / T_n == at % T_n;
        }
        __syncthreads();
        for (int term = 18; term > 0; term--) {
            for (int at = (int)threadIdx.x; at < T_n * T_n; at += 256)
                product[at] = T_NAME_dot(scaled + at / T_n * T_n, result + at % T_n, T_n);
            __syncthreads();
            for (int at = (int)threadIdx.x; at < T_n * T_n; at += 256)
                result[at] = product[at] / (T_real)term + (T_real)(at / T_n == at % T_n);
            __syncthreads();
        }
        for (; halved > 0; halved--) {
            for (int at = (int)threadIdx.x; at < T_n * T_n; at += 256)
                product[at] = T_NAME_dot(result + at / T_n * T_n, result + at % T_n, T_n);
            __syncthreads();
            for (int at = (int)threadIdx.x; at < T_n * T_n; at += 256)
                result[at] = product[at];
            __syncthreads();
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_EACH(T_NAME, T_batch, T_blocks, 256, T_STREAM, T_ARGUMENTS);
}
