/* y (T_m, T_n) = x (T_m, T_k) . w (T_n, T_k)^T + bias (T_n), and the tail; both rounded to integers, which products are taken of.
 *
 * Where what lies: see scaled_dots.cu. First a launch rounds rows of x into v: see int8_dots.cu. Then a block makes tiles of 64 x 64
 * outputs, 4 x 4 a thread, from pages of 64 steps along k in shared memory, as words of four steps: of both a thread fetches 16 steps.
 * While one page is read the other one is filled. Sums are exact in int32; T_parted: over T_span steps, each of which sums is multiplied
 * with its scale. Fits: w is packed as integers, T_n and T_k are constants; T_m may be a size. */
#if T_parted

/* Multiplies what was summed up with the scales of group `group` of four columns, and begins anew. */
MODC_DEVICE void T_NAME_scale(T_real all[4][4], int sum[4][4], const T_of_s *restrict s, const int column, const int group)
{
    MODC_UNROLL
    for (int j = 0; j < 4; j++) {
        const T_real scale = T_GET(s, s[modc_min(column + j, T_n - 1) * T_groups + modc_min(group, T_groups - 1)]);

        MODC_UNROLL
        for (int i = 0; i < 4; i++) {
            all[i][j] += (T_real)sum[i][j] * scale;
            sum[i][j] = 0;
        }
    }
}

#endif
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ __align__(16) int a[2][16][64 + 4], b[2][16][64 + 4];
    const modc_int8 *const from = (const modc_int8 *)(const void *)v;
    const T_of_s *const s = (const T_of_s *)(const void *)(w + T_scales);
    const int thread = (int)threadIdx.x, down = thread / 16 * 4, over = thread % 16 * 4;
    const int own = thread / 4, ahead = thread % 4 * 16;
    const int rows = MODC_PARTS(T_m, 64), columns = MODC_PARTS(T_n, 64);
    int page = 0;

    (void)x;
    for (int at = (int)blockIdx.x; at < rows * columns; at += (int)gridDim.x) {
        const int row = at / columns * 64, column = at % columns * 64;
        const modc_int8 *const left = from + modc_min(row + own, T_m - 1) * T_row + 16;
        const modc_int8 *const right = w + modc_min(column + own, T_n - 1) * T_ldw;
        int sum[4][4] = {};
#if T_parted
        T_real all[4][4] = {};
#endif

        for (int step = 0; step < T_k; step += 64) {
            const int k = step + ahead;
            unsigned p[4] = {}, q[T_bits / 2] = {};

            if (k < T_k) {
                modc_words(p, left + k, 4);
                modc_words(q, right + k * T_bits / 8, T_bits / 2);
            }
            MODC_UNROLL
            for (int i = 0; i < 4; i++) {
                a[page][ahead / 4 + i][own] = (int)p[i];
                b[page][ahead / 4 + i][own] = modc_row_signed(q, i * 4, T_bits);
            }
            __syncthreads();
            MODC_UNROLL_BY(8)
            for (int word = 0; word < 16; word++) {
                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    MODC_UNROLL
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = __dp4a(a[page][word][down + i], b[page][word][over + j], sum[i][j]);
                }
#if T_parted
                if ((step + word * 4 + 4) % T_span == 0)
                    T_NAME_scale(all, sum, s, column + over, (step + word * 4) / T_span);
#endif
            }
            page ^= 1;
        }
#if T_parted
        T_NAME_scale(all, sum, s, column + over, T_groups - 1);
#endif
        MODC_UNROLL
        for (int i = 0; i < 4; i++) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++) {
                const int r = row + down + i, c = column + over + j;

                if (r < T_m && c < T_n) {
                    const T_real scale = *(const T_real *)(const void *)(from + r * T_row);
                    const T_real product = T_IF(T_parted, all[i][j] * scale, (T_real)sum[i][j] * scale * T_GET(s, s[c]));
                    const T_real value = T_IF(T_bias, product + T_GET(bias, bias[c]), product);

                    y[r * T_ym + c] = T_PUT(y, T_EPILOGUE(value, r, c));
                }
            }
        }
    }
}

T_LAUNCHER
{
    const int rows = MODC_PARTS(T_m, 64), columns = MODC_PARTS(T_n, 64);
    const int rounded = modc_cuda_round_rows(T_STREAM, v, x, T_m, T_k, T_xm, T_xk);

    return rounded ? rounded : (int)MODC_LAUNCH_OVER(T_NAME, (int64_t)256 * rows * columns, 256, T_STREAM, T_ARGUMENTS);
}
