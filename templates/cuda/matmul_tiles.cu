/* y[b] (T_m, T_n) = x[b] (T_m, T_k) . w[b] (T_k, T_n) + bias (T_n), and the tail, for b in (T_batch0, T_batch1).
 *
 * A block makes tiles of 64 x 64 outputs, 4 x 4 a thread, from pages of 16 steps along k in shared memory: rows of x and columns of
 * w, both turned so that a thread reads neighbours. While one page is read the other one is filled, so that a step has one barrier,
 * behind which nobody reads the page that is filled next. T_along_m, T_along_n: neighbours of x lie along its rows, those of w along
 * its columns, and so neighbouring threads read them. Where what lies: see matmul_plain.cu. T_scaled: w is integers in rows as
 * scaled_dots.cu has them, of which a thread fetches four, and b has the floats that they stand for. Fits: floats. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    __shared__ __align__(16) T_real a[2][16][64 + 4], b[2][16][64 + 4];
    const int thread = (int)threadIdx.x, down = thread / 16 * 4, over = thread % 16 * 4;
    const int rows = MODC_PARTS(T_m, 64), columns = MODC_PARTS(T_n, 64);
#if T_scaled
    const T_of_s *const s = (const T_of_s *)(const void *)(w + T_scales);
    const int own = thread / 4, ahead = thread % 4 * 4;
#endif
    int page = 0;

    for (int at = (int)blockIdx.x; at < T_IF(T_batched, T_batch0 * T_batch1 * rows, rows) * columns; at += (int)gridDim.x) {
        const int column = at % columns * 64;
#if T_batched
        const int batch = at / columns / rows, row = at / columns % rows * 64;
#if T_batched == 2
        const int batch0 = batch / T_batch1, batch1 = batch % T_batch1;
        const T_of_x *const from = x + batch0 * T_x0 + batch1 * T_x1;
        const T_of_w *const by = w + batch0 * T_w0 + batch1 * T_w1;
        T_of_y *const to = y + batch0 * T_y0 + batch1 * T_y1;
#else
        const T_of_x *const from = x + batch * T_x1;
        const T_of_w *const by = w + batch * T_w1;
        T_of_y *const to = y + batch * T_y1;
#endif
#else
        const int row = at / columns * 64;
        const T_of_x *const from = x;
        T_of_y *const to = y;
#if T_scaled
        const int output = modc_min(column + own, T_n - 1);
        const T_of_w *const by = w + output * T_ldw;
#else
        const T_of_w *const by = w;
#endif
#endif
        T_real sum[4][4] = {};

        for (int step = 0; step < T_k; step += 16) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int r = T_IF(T_along_m, thread % 64, thread / 16 + i * 16), p = T_IF(T_along_m, thread / 64 + i * 4, thread % 16);
#if !T_scaled
                const int c = T_IF(T_along_n, thread % 64, thread / 16 + i * 16), q = T_IF(T_along_n, thread / 64 + i * 4, thread % 16);
#endif

                a[page][p][r] = row + r < T_m && step + p < T_k ? T_GET(x, from[(row + r) * T_xm + (step + p) * T_xk]) : 0;
#if !T_scaled
                b[page][q][c] = column + c < T_n && step + q < T_k ? T_GET(w, by[(step + q) * T_wk + (column + c) * T_wn]) : 0;
#endif
            }
#if T_scaled
            {
                const int k = modc_min(step + ahead, T_k - 1) / 4 * 4; /* behind the last step x is 0 */
                const unsigned word = modc_row_four((const unsigned *)(const void *)by, k, T_bits);
                const T_real scale = T_GET(s, s[T_IF(T_grouped, output * T_groups + k / T_group, output)]);

                MODC_UNROLL
                for (int i = 0; i < 4; i++)
                    b[page][ahead + i][own] = modc_row_value(word, i, T_bits) * scale;
            }
#endif
            __syncthreads();
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    MODC_UNROLL
                    for (int j = 0; j < 4; j++)
                        sum[i][j] += a[page][k][down + i] * b[page][k][over + j];
                }
            }
            page ^= 1;
        }
        MODC_UNROLL
        for (int i = 0; i < 4; i++) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++) {
                const int r = row + down + i, c = column + over + j;

                if (r < T_m && c < T_n) {
                    const T_real value = T_IF(T_bias, sum[i][j] + T_GET(bias, bias[c]), sum[i][j]);

                    to[r * T_ym + c] = T_PUT(y, T_EPILOGUE(value, T_IF(T_batched, batch * T_m + r, r), c));
                }
            }
        }
    }
}

T_LAUNCHER
{
    const int rows = MODC_PARTS(T_m, 64), columns = MODC_PARTS(T_n, 64);

    return MODC_LAUNCH_OVER(T_NAME, (int64_t)256 * T_IF(T_batched, T_batch0 * T_batch1 * rows, rows) * columns, 256,
                            T_STREAM, T_ARGUMENTS);
}
