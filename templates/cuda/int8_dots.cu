/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; both rounded to integers, which products are taken of.
 *
 * Where what lies: see scaled_dots.cu. First a launch rounds rows of x into v, T_row bytes each: note [scaled rows] in
 * modc_simd_scalar.h. Then a warp takes T_columns columns of w and T_each rows, of which a lane reads T_chunk steps at a time, and adds
 * up products in int32: exact, so that no order changes a bit. T_grouped: of T_part steps, which divide a lane's and a group, sums are
 * multiplied with their scale; T_parted: those of all lanes together would not fit. For few rows. Fits: w is packed as integers, T_n
 * and T_k are constants; T_m may be a size. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const modc_int8 *const rows = (const modc_int8 *)(const void *)v;
    const T_of_s *const s = (const T_of_s *)(const void *)(w + T_scales);
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(T_m, T_each), bands = MODC_PARTS(T_n, T_columns);

    (void)x;
    for (int at = MODC_THREAD(256) / 32; at < strips * bands; at += MODC_THREADS(256) / 32) {
        const int row = at / bands * T_each, column = at % bands * T_columns;
#if T_grouped
        T_real sum[T_each][T_columns] = {};
#else
        int sum[T_each][T_columns] = {};
#endif

        for (int chunk = lane; chunk < MODC_PARTS(T_k, T_chunk); chunk += 32) {
            unsigned words[T_columns][4], ahead[T_each][T_chunk / 4];

            MODC_UNROLL
            for (int j = 0; j < T_columns; j++)
                modc_words(words[j], w + modc_min(column + j, T_n - 1) * T_ldw + chunk * 16, 4);
            MODC_UNROLL
            for (int i = 0; i < T_each; i++)
                modc_words(ahead[i], rows + modc_min(row + i, T_m - 1) * T_row + 16 + chunk * T_chunk, T_chunk / 4);
            MODC_UNROLL
            for (int part = 0; part < T_chunk; part += T_part) {
#if T_grouped
                int own[T_each][T_columns] = {};
#else
                int(*const own)[T_columns] = sum;
#endif

                MODC_UNROLL
                for (int p = part; p < part + T_part; p += 4) {
                    MODC_UNROLL
                    for (int j = 0; j < T_columns; j++) {
                        const int four = modc_row_signed(words[j], p, T_bits);

                        MODC_UNROLL
                        for (int i = 0; i < T_each; i++)
                            own[i][j] = __dp4a(four, (int)ahead[i][p / 4], own[i][j]);
                    }
                }
#if T_grouped
                MODC_UNROLL
                for (int j = 0; j < T_columns; j++) {
                    const int group = modc_min((chunk * T_chunk + part) / T_group, T_groups - 1);
                    const T_real scale = T_GET(s, s[modc_min(column + j, T_n - 1) * T_groups + group]);

                    MODC_UNROLL
                    for (int i = 0; i < T_each; i++)
                        sum[i][j] += (T_real)own[i][j] * scale;
                }
#endif
            }
        }
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            MODC_UNROLL
            for (int j = 0; j < T_columns; j++) {
#if T_grouped
                const T_real total = modc_warp_sum(sum[i][j]);
#elif T_parted
                const T_real total = modc_warp_sum((T_real)sum[i][j]);
#else
                const T_real total = (T_real)modc_warp_sum(sum[i][j]);
#endif

                if (lane == i * T_columns + j && row + i < T_m && column + j < T_n) {
                    const T_real scale = *(const T_real *)(const void *)(rows + (row + i) * T_row);
                    const T_real product = T_IF(T_grouped, total * scale, total * scale * T_GET(s, s[column + j]));
                    const T_real value = T_IF(T_bias, product + T_GET(bias, bias[column + j]), product);

                    y[(row + i) * T_ym + column + j] = T_PUT(y, T_EPILOGUE(value, row + i, column + j));
                }
            }
        }
    }
}

T_LAUNCHER
{
    const int strips = MODC_PARTS(T_m, T_each), bands = MODC_PARTS(T_n, T_columns);
    const int rounded = modc_cuda_round_rows(T_STREAM, v, x, T_m, T_k, T_xm, T_xk);

    return rounded ? rounded : (int)MODC_LAUNCH_OVER(T_NAME, (int64_t)32 * strips * bands, 256, T_STREAM, T_ARGUMENTS);
}
