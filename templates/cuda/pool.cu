/* Pooling over windows, of images whose channels lie side by side, y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), or,
 * where they are T_planes, y (T_n, T_c, T_oh, T_ow) from x (T_n, T_c, T_h, T_w); and the tail. A thread an output, neighbours
 * in memory side by side.
 *
 * Pixels of x are T_ldx apart, of y T_ldy; planes are dense. Window (T_kh, T_kw), stride T_sh, T_sw, padding T_ph, T_pw, and
 * where it is T_dilated T_dh, T_dw. T_is_max: the maximum of what lies inside, NaN if any is. Otherwise the mean: the sum over
 * T_area or, where means are T_uneven, over the size of the window, cut off at the padding (T_count_include_pad) or at the
 * border (torch.nn.functional.avg_pool2d). ceil_mode shows in T_oh, T_ow alone. T_clipped_h, T_clipped_w: some windows reach
 * over the border. Fits: always; all but the window may be sizes. Outputs are counted without a sign:
 * a step behind the last one fits, too. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const unsigned outputs = T_n * T_c * T_oh * T_ow;

    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
#if T_planes
        const int line = at / T_ow, ow = at % T_ow, image = line / T_oh * (T_h * T_w);
#else
        const int r = at / T_c, c = at % T_c, line = r / T_ow, ow = r % T_ow;
        const int image = line / T_oh * (T_h * T_w * T_ldx);
#endif
        const int top = line % T_oh * T_sh - T_ph, west = ow * T_sw - T_pw;
#if T_uneven && T_count_include_pad
        const int high = modc_min(T_kh, T_h + T_ph - top), wide = modc_min(T_kw, T_w + T_pw - west);
#elif T_uneven
        const int high = modc_min(top + T_kh, T_h) - modc_max(top, 0);
        const int wide = modc_min(west + T_kw, T_w) - modc_max(west, 0);
#endif
        T_real value = T_IF(T_is_max, -T_V(inf)(), 0);

        for (int kh = 0; kh < T_kh; kh++) {
            const int h = top + T_IF(T_dilated, kh * T_dh, kh);

#if T_clipped_h
            if (h < 0 || h >= T_h)
                continue;
#endif
            for (int kw = 0; kw < T_kw; kw++) {
                const int q = west + T_IF(T_dilated, kw * T_dw, kw);
#if T_planes
                const int from = image + h * T_w + q;
#else
                const int from = image + (h * T_w + q) * T_ldx + c;
#endif

#if T_clipped_w
                if (q < 0 || q >= T_w)
                    continue;
#endif
                value = T_IF(T_is_max, T_S(max)(value, T_GET(x, x[from])), value + T_GET(x, x[from]));
            }
        }
#if T_uneven
        value /= (T_real)(high * wide);
#elif !T_is_max
        value /= T_area;
#endif
#if T_planes
        y[at] = T_PUT(y, T_EPILOGUE(value, line, ow));
#else
        y[r * T_ldy + c] = T_PUT(y, T_EPILOGUE(value, r, c));
#endif
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, T_n * T_c * T_oh * T_ow, 256, T_STREAM, T_ARGUMENTS);
}
