/* 2-D convolution as a product: y (pixels, channels) = windows of x (pixels, taps) . w (taps, channels), bias, tail. A block
 * makes a tile of T_tm pixels and T_tn channels of a group, each of its T_threads threads 4 x 4 of them. 16 taps at a time
 * lie in shared memory, on two pages: while one is read, a thread fetches T_xs values of x and T_ws of w for the other.
 *
 * All else is as in conv.cu. Taps are (kh, kw, c) in that order; T_even: in the weight each lies T_wc behind the one before
 * it. T_across 1: T_wo is 1, and threads side by side read channels, else taps. T_bands: tiles of the channels of a group.
 * T_pieced: the taps are dealt out to T_pieces blocks, which leave their sums (T_pieces, pixels, channels) in v; a second
 * launch `adds` them in their order. Fits: always, and pays where channels are many. */
T_COMMENT
static __global__ void __launch_bounds__(T_threads, 1) T_NAME(T_PARAMETERS T_MORE(T_pieced, const bool adds))
{
    __shared__ __align__(16) T_real a[2][16][T_tm + 4], b[2][16][T_tn + 4];
    const int taps = T_kh * T_kw * T_c, steps = (taps + 15) / 16, pixels = T_n * T_oh * T_ow;
    const int thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = T_IF(T_across, thread / T_tn, xk), wc = T_IF(T_across, thread % T_tn, xr);
    const int row = thread / (T_tn / 4) * 4, column = thread % (T_tn / 4) * 4;
    const int first = (int)blockIdx.x * T_tm, band = T_IF(T_banded, (int)blockIdx.y % T_bands * T_tn, 0);
#if T_grouped
    const int group = T_IF(T_banded, (int)blockIdx.y / T_bands, (int)blockIdx.y);
#endif
#if T_pieced
    const int from = modc_share(steps, (int)blockIdx.z, T_pieces);
    const int to = modc_share(steps, (int)blockIdx.z + 1, T_pieces);
#else
    const int from = 0, to = steps;
#endif
    int top[T_xs], west[T_xs], image[T_xs]; /* of the windows of which this thread fetches */
    T_real left[T_xs], right[T_ws], sum[4][4] = {};

#if !T_bias
    (void)bias;
#endif
#if T_pieced
    if (adds) {
        const int outputs = pixels * T_channels; /* few, or their sums were not in pieces */

        for (int at = MODC_THREAD(T_threads); at < outputs; at += MODC_THREADS(T_threads)) {
            const int r = at / T_channels, o = at % T_channels;
            T_real value = T_IF(T_bias, T_GET(bias, bias[o]), 0);

            for (int piece = 0; piece < T_pieces; piece++)
                value += v[piece * outputs + at];
#if T_turned
            const int place = r / (T_oh * T_ow) * T_yn + o * T_yc + r / T_ow % T_oh * T_yh + r % T_ow;

            y[place] = T_PUT(y, T_EPILOGUE(value, 0, o));
#else
            y[r * T_ldy + o] = T_PUT(y, T_EPILOGUE(value, r, o));
#endif
        }
        return;
    }
#endif
    MODC_UNROLL
    for (int i = 0; i < T_xs; i++) {
        const int r = first + xr + i * (T_threads / 16), line = r / T_ow;

        top[i] = line % T_oh * T_sh - T_ph;
        west[i] = r % T_ow * T_sw - T_pw;
        if (r >= pixels)
            top[i] = -T_reach; /* all of it lies outside */
        image[i] = T_IF(T_grouped, line / T_oh * (T_h * T_w * T_ldx) + group * T_c, line / T_oh * (T_h * T_w * T_ldx));
    }
    for (int step = from; step <= to; step++) {
        if (step < to) {
            const int k = step * 16 + xk, kh = k / (T_kw * T_c), kw = k / T_c % T_kw, c = k % T_c;

            MODC_UNROLL
            for (int i = 0; i < T_xs; i++) {
                const int h = top[i] + kh * T_dh, q = west[i] + kw * T_dw;
                const bool seen = k < taps && h >= 0 && h < T_h && q >= 0 && q < T_w;

                left[i] = seen ? T_GET(x, x[image[i] + (h * T_w + q) * T_ldx + c]) : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < T_ws; i++) {
                const int p = step * 16 + T_IF(T_across, wk + i * (T_tm / 16), wk);
                const int o = band + T_IF(T_across, wc, wc + i * (T_threads / 16));
#if T_even
                const int tap = p * T_wc;
#else
                const int tap = p / (T_kw * T_c) * T_wh + p / T_c % T_kw * T_ww + p % T_c * T_wc;
#endif

                right[i] = o < T_oc && p < taps ? T_GET(w, w[T_IF(T_grouped, (group * T_oc + o), o) * T_wo + tap]) : 0;
            }
        }
        if (step > from) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                T_real p[4], q[4];

                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    p[i] = a[(step - 1) % 2][k][row + i];
                    q[i] = b[(step - 1) % 2][k][column + i];
                }
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += p[i / 4] * q[i % 4];
            }
        }
        if (step < to) {
            MODC_UNROLL
            for (int i = 0; i < T_xs; i++)
                a[step % 2][xk][xr + i * (T_threads / 16)] = left[i];
            MODC_UNROLL
            for (int i = 0; i < T_ws; i++)
                b[step % 2][T_IF(T_across, wk + i * (T_tm / 16), wk)][T_IF(T_across, wc, wc + i * (T_threads / 16))] = right[i];
        }
        __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = band + column + i % 4;

        if (r < pixels && c < T_oc) {
            const int o = T_IF(T_grouped, group * T_oc + c, c);
#if T_pieced

            v[((int)blockIdx.z * pixels + r) * T_channels + o] = sum[i / 4][i % 4];
#else
            const T_real value = T_IF(T_bias, sum[i / 4][i % 4] + T_GET(bias, bias[o]), sum[i / 4][i % 4]);
#if T_turned
            const int place = r / (T_oh * T_ow) * T_yn + o * T_yc + r / T_ow % T_oh * T_yh + r % T_ow;

            y[place] = T_PUT(y, T_EPILOGUE(value, 0, o));
#else

            y[r * T_ldy + o] = T_PUT(y, T_EPILOGUE(value, r, o));
#endif
#endif
        }
    }
}

T_LAUNCHER
{
    const int pixels = T_n * T_oh * T_ow;
    const dim3 blocks((pixels + T_tm - 1) / T_tm, T_bands * T_groups, T_pieces);
#if T_pieced
    const int failed = pixels == 0 ? cudaSuccess : MODC_LAUNCH(T_NAME, blocks, T_threads, 0, T_STREAM, T_ARGUMENTS, false);

    return failed ? failed : MODC_LAUNCH_OVER(T_NAME, pixels * T_channels, T_threads, T_STREAM, T_ARGUMENTS, true);
#else

    return pixels == 0 ? cudaSuccess : MODC_LAUNCH(T_NAME, blocks, T_threads, 0, T_STREAM, T_ARGUMENTS);
#endif
}
