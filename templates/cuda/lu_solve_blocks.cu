/* y (T_batch, T_n, T_k + 1): in its first T_k columns what matrices x (T_batch, T_n, T_n) take to e0 (T_batch, T_n, T_k), in the last the
 * pivots. A block a matrix: the first warp looks for the largest pivot of a column, then its row is taken from all that are left. v:
 * T_n * T_n elements for each of at most T_blocks blocks. Fits: contiguous values; all may be sizes. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const int thread = (int)threadIdx.x, ldy = T_k + 1;
    T_real *const a = v + (int64_t)blockIdx.x * (T_n * T_n);
    __shared__ int pivot;

    for (int b = (int)blockIdx.x; b < T_batch; b += (int)gridDim.x) {
        const T_real *const from = x + (int64_t)b * (T_n * T_n), *const given = e0 + (int64_t)b * (T_n * T_k);
        T_real *const r = y + (int64_t)b * (T_n * ldy);

        for (int at = thread; at < T_n * T_n; at += 256)
            a[at] = from[at];
        for (int at = thread; at < T_n * T_k; at += 256)
            r[at / T_over_k * ldy + at % T_over_k] = given[at];
        __syncthreads();
        for (int k = 0; k < T_n; k++) {
            T_real *const top = a + k * T_n, *const row = r + k * ldy;
            const int left = T_n - 1 - k;
            int most;

            if (thread < 32) { /* of equal ones the first; NaN is chosen where it stands in the row itself alone */
                T_real size = -1;
                int at = T_n;

                for (int i = k + thread; i < T_n; i += 32) {
                    const T_real own = T_S(abs)(a[i * T_n + k]), real = own == own ? own : i == k ? T_V(inf)()
                                                                                                  : -1;

                    at = real > size ? i : at;
                    size = real > size ? real : size;
                }
                for (int d = 16; d > 0; d /= 2) {
                    const T_real other = __shfl_xor_sync(MODC_WARP, size, d);
                    const int place = __shfl_xor_sync(MODC_WARP, at, d);
                    const bool better = other > size || (other == size && place < at);

                    size = better ? other : size;
                    at = better ? place : at;
                }
                if (thread == 0)
                    pivot = at;
            }
            __syncthreads();
            most = pivot;
            for (int j = thread; j < T_n - k + T_k && most != k; j += 256) {
                T_real *const p = j < T_n - k ? top + k + j : row + (j - T_n + k);
                T_real *const q = j < T_n - k ? a + most * T_n + k + j : r + most * ldy + (j - T_n + k);
                const T_real kept = *p;

                *p = *q;
                *q = kept;
            }
            __syncthreads();
            if (thread == 0)
                row[T_k] = top[k];
            for (int at = thread; at < left * (left + T_k); at += 256) {
                const int i = k + 1 + at / (left + T_k), j = at % (left + T_k);
                const T_real scale = a[i * T_n + k] / top[k];

                if (j < left)
                    a[i * T_n + k + 1 + j] -= scale * top[k + 1 + j];
                else
                    r[i * ldy + j - left] -= scale * row[j - left];
            }
            __syncthreads();
        }
        for (int i = T_n - 1; i >= 0; i--) {
            for (int j = thread; j < T_k; j += 256)
                r[i * ldy + j] /= a[i * T_n + i];
            __syncthreads();
            for (int at = thread; at < i * T_k; at += 256) {
                const int m = at / T_over_k, j = at % T_over_k;

                r[m * ldy + j] -= a[m * T_n + i] * r[i * ldy + j];
            }
            __syncthreads();
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_EACH(T_NAME, T_batch, T_blocks, 256, T_STREAM, T_ARGUMENTS);
}
