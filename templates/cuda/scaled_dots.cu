/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; w is integers with scales.
 *
 * Element (i, k) of x lies at i * T_xm + k * T_xk, (i, j) of y at i * T_ym + j. w lies in rows of T_ldw bytes: note [scaled rows] in
 * modc_simd_scalar.h; its scales, T_groups of a row, begin T_scales bytes behind w; T_grouped: each is of T_group steps. For few rows: a
 * warp takes T_columns columns of w, of which a lane reads 16 bytes at a time, T_chunk steps, and T_each rows of x, which the warps of
 * a block share: T_page steps of them at a time lie in shared memory, with 4 cells free behind a lane's, so that lanes read other
 * banks. Of T_part steps, which divide a lane's and a group, sums are multiplied with their scale. Fits: w is packed as integers, T_n
 * and T_k are constants; T_m may be a size. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ __align__(16) T_real rows[T_each][T_page / T_chunk * (T_chunk + 4)];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int strips = MODC_PARTS(T_m, T_each), bands = MODC_PARTS(T_n, 8 * T_columns);
    const T_of_s *const s = (const T_of_s *)(const void *)(w + T_scales);

    for (int at = (int)blockIdx.x; at < strips * bands; at += (int)gridDim.x) {
        const int row = at / bands * T_each, column = (at % bands * 8 + warp) * T_columns;
        T_real sum[T_each][T_columns] = {};

        for (int first = 0; first < T_k; first += T_page) {
            const int steps = modc_min(T_k - first, T_page), chunks = MODC_PARTS(steps, T_chunk);

            __syncthreads(); /* nobody reads what was there any more */
            MODC_UNROLL
            for (int i = 0; i < T_each; i++)
                for (int k = (int)threadIdx.x; k < chunks * T_chunk; k += 256)
                    rows[i][k + k / T_chunk * 4] = k < steps && row + i < T_m ? T_GET(x, x[(row + i) * T_xm + (first + k) * T_xk]) : 0;
            __syncthreads();
            MODC_UNROLL_BY(T_IF(T_bits == 8, 2, 1))
            for (int chunk = lane; chunk < chunks; chunk += 32) {
                const int k = first + chunk * T_chunk;
                unsigned words[T_columns][4];

                MODC_UNROLL
                for (int j = 0; j < T_columns; j++)
                    modc_words(words[j], w + modc_min(column + j, T_n - 1) * T_ldw + k / T_chunk * 16, 4);
                MODC_UNROLL
                for (int part = 0; part < T_chunk; part += T_part) {
                    T_real own[T_each][T_columns] = {};

                    MODC_UNROLL
                    for (int p = part; p < part + T_part; p += 4) {
                        float4 value[T_each];

                        MODC_UNROLL
                        for (int i = 0; i < T_each; i++)
                            value[i] = *(const float4 *)(const void *)&rows[i][chunk * (T_chunk + 4) + p];
                        MODC_UNROLL
                        for (int j = 0; j < T_columns; j++) {
                            const unsigned word = modc_row_four(words[j], p, T_bits);
                            const T_real b0 = modc_row_value(word, 0, T_bits), b1 = modc_row_value(word, 1, T_bits);
                            const T_real b2 = modc_row_value(word, 2, T_bits), b3 = modc_row_value(word, 3, T_bits);

                            MODC_UNROLL
                            for (int i = 0; i < T_each; i++)
                                own[i][j] += value[i].x * b0 + value[i].y * b1 + value[i].z * b2 + value[i].w * b3;
                        }
                    }
                    MODC_UNROLL
                    for (int j = 0; j < T_columns; j++) {
#if T_grouped
                        const int group = modc_min((k + part) / T_group, T_groups - 1);
                        const T_real scale = T_GET(s, s[modc_min(column + j, T_n - 1) * T_groups + group]);
#endif

                        MODC_UNROLL
                        for (int i = 0; i < T_each; i++)
                            sum[i][j] += T_IF(T_grouped, own[i][j] * scale, own[i][j]);
                    }
                }
            }
        }
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            MODC_UNROLL
            for (int j = 0; j < T_columns; j++) {
                const T_real total = modc_warp_sum(sum[i][j]);

                if (lane == i * T_columns + j && row + i < T_m && column + j < T_n) {
                    const T_real product = T_IF(T_grouped, total, total * T_GET(s, s[column + j]));
                    const T_real value = T_IF(T_bias, product + T_GET(bias, bias[column + j]), product);

                    y[(row + i) * T_ym + column + j] = T_PUT(y, T_EPILOGUE(value, row + i, column + j));
                }
            }
        }
    }
}

T_LAUNCHER
{
    const int strips = MODC_PARTS(T_m, T_each), bands = MODC_PARTS(T_n, 8 * T_columns);

    return MODC_LAUNCH_OVER(T_NAME, (int64_t)256 * strips * bands, 256, T_STREAM, T_ARGUMENTS);
}
