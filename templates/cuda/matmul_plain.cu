/* y[b] (T_m, T_n) = x[b] (T_m, T_k) . w[b] (T_k, T_n) + bias (T_n), and the tail, for b in (T_batch0, T_batch1).
 *
 * A thread an output. Element (i, j) of y lies at i * T_ym + j, (i, k) of x at i * T_xm + k * T_xk, (k, j) of w at
 * k * T_wk + j * T_wn, batches T_y0, T_y1, T_x0, T_x1, T_w0, T_w1 apart; the tail counts the rows of all batches, which are T_total.
 * T_batched: how many axes of batches there are. Fits: always; all of them may be sizes, which is why places are counted without a
 * sign: a step behind the last one still fits. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const unsigned places = T_total * T_n;

    for (unsigned at = MODC_THREAD(256); at < places; at += MODC_THREADS(256)) {
        const int row = at / T_n, j = at % T_n;
#if T_batched
        const int batch = row / T_m, i = row % T_m;
#if T_batched == 2
        const int batch0 = batch / T_batch1, batch1 = batch % T_batch1;
        const T_of_x *const from = x + batch0 * T_x0 + batch1 * T_x1 + i * T_xm;
        const T_of_w *const by = w + batch0 * T_w0 + batch1 * T_w1 + j * T_wn;
        T_of_y *const to = y + batch0 * T_y0 + batch1 * T_y1 + i * T_ym;
#else
        const T_of_x *const from = x + batch * T_x1 + i * T_xm;
        const T_of_w *const by = w + batch * T_w1 + j * T_wn;
        T_of_y *const to = y + batch * T_y1 + i * T_ym;
#endif
#else
        const T_of_x *const from = x + row * T_xm;
        const T_of_w *const by = w + j * T_wn;
        T_of_y *const to = y + row * T_ym;
#endif
        T_real sum = T_IF(T_bias, T_GET(bias, bias[j]), 0);

        for (int k = 0; k < T_k; k++)
            sum += T_GET(x, from[k * T_xk]) * T_GET(w, by[k * T_wk]);
        to[j] = T_PUT(y, T_EPILOGUE(sum, row, j));
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, T_total * T_n, 256, T_STREAM, T_ARGUMENTS);
}
