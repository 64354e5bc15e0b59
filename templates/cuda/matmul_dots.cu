/* y[b] (T_m, T_n) = x[b] (T_m, T_k) . w[b] (T_k, T_n) + bias (T_n), and the tail, for b in (T_batch0, T_batch1).
 *
 * A warp takes a column of w, which its lanes read along k, and T_each rows of x, so that w is read once for all of them: for few
 * rows, whose tiles would leave most of the device idle. T_fours: rows of x and columns of w lie in one piece and start, like the
 * next ones, at multiples of four elements, if the first ones do; then lanes read four at once. T_ahead: how many rounds are read
 * before their values are needed, as many as registers are there for. Where what lies: see matmul_plain.cu. Fits: floats; fast where
 * T_xk and T_wk are 1. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(T_m, T_each);

    for (int at = MODC_THREAD(256) / 32; at < T_IF(T_batched, T_batch0 * T_batch1 * strips, strips) * T_n;
         at += MODC_THREADS(256) / 32) {
        const int j = at % T_n;
#if T_batched
        const int batch = at / T_n / strips, row = at / T_n % strips * T_each;
#if T_batched == 2
        const int batch0 = batch / T_batch1, batch1 = batch % T_batch1;
        const T_of_x *const from = x + batch0 * T_x0 + batch1 * T_x1 + row * T_xm;
        const T_of_w *const by = w + batch0 * T_w0 + batch1 * T_w1 + j * T_wn;
        T_of_y *const to = y + batch0 * T_y0 + batch1 * T_y1 + row * T_ym;
#else
        const T_of_x *const from = x + batch * T_x1 + row * T_xm;
        const T_of_w *const by = w + batch * T_w1 + j * T_wn;
        T_of_y *const to = y + batch * T_y1 + row * T_ym;
#endif
#else
        const int row = at / T_n * T_each;
        const T_of_x *const from = x + row * T_xm;
        const T_of_w *const by = w + j * T_wn;
        T_of_y *const to = y + row * T_ym;
#endif
        T_real sum[T_each] = {};
        int k = lane;

#if T_fours
        if (modc_starts_four(x) && modc_starts_four(w)) {
            const T_of_x *row_fours = from + 4 * lane;
            const T_of_w *fours = by + 4 * lane;

            MODC_UNROLL_BY(T_ahead)
            for (int round = 0; round < T_k; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                T_of_w b[4];

                if (T_k % (4 * 32) != 0 && round + 4 * lane >= T_k)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < T_each; i++) {
                    T_of_x a[4];

                    modc_read_four(a, row_fours + T_IF(T_even, i, modc_min(i, T_m - 1 - row)) * T_xm);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += T_GET(x, a[c]) * T_GET(w, b[c]);
                }
            }
            k = T_k;
        }
#endif
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < T_k; k += 32) {
            const T_real b = T_GET(w, by[k * T_wk]);

            MODC_UNROLL
            for (int i = 0; i < T_each; i++)
                sum[i] += T_IF(T_even, T_GET(x, from[i * T_xm + k * T_xk]) * b, row + i < T_m ? T_GET(x, from[i * T_xm + k * T_xk]) * b : 0);
        }
        MODC_UNROLL
        for (int i = 0; i < T_each; i++) {
            const T_real total = modc_warp_sum(sum[i]);

            if (T_IF(T_even, lane == i, lane == i && row + i < T_m)) {
                const T_real value = T_IF(T_bias, total + T_GET(bias, bias[j]), total);

                to[i * T_ym + j] = T_PUT(y, T_EPILOGUE(value, T_IF(T_batched, batch * T_m + row + i, row + i), j));
            }
        }
    }
}

T_LAUNCHER
{
    const int strips = MODC_PARTS(T_m, T_each);

    return MODC_LAUNCH_OVER(T_NAME, (int64_t)32 * T_IF(T_batched, T_batch0 * T_batch1 * strips, strips) * T_n, 256,
                            T_STREAM, T_ARGUMENTS);
}
