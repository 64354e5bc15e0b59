/* Depthwise 2-D convolution of int8, channels last: y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), bias, tail: sums of
 * (x - T_zero) w, exact in int32; taps outside add nothing.
 *
 * Pixels of x are T_ldx apart, of y T_ldy. w is (T_kh, T_kw, T_c). Stride T_sh, T_sw, padding T_ph, T_pw, dilation T_dh, T_dw. Fits:
 * groups are the channels, one output for each; w is packed, the kernel is constant, T_n, T_h, T_w, T_oh, T_ow may be sizes. By pixel,
 * a few channels at a time, over all taps. */

/* `lanes` channels from `channel` on of a pixel of line `line`, whose window begins at (y0, x0) of x. lanes is a constant of the call. */
MODC_INLINE void T_NAME_lanes(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int lanes, const int row, const int y0, const int x0,
                              const int channel T_ARGS)
{
    int32_t sum[MODC_INT8_LANES];

    MODC_UNROLL
    for (int l = 0; l < lanes; l++)
        sum[l] = 0;
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;

        if (h < 0 || h >= T_h)
            continue;
        for (int kw = 0; kw < T_kw; kw++) {
            const int at = x0 + kw * T_dw;
            const T_of_x *const a = x + (h * T_w + at) * T_ldx + channel;
            const T_of_w *const b = w + (kh * T_kw + kw) * T_c + channel;

            if (at < 0 || at >= T_w)
                continue;
            MODC_UNROLL
            for (int l = 0; l < lanes; l++)
                sum[l] += (a[l] - T_zero) * b[l];
        }
    }
    MODC_UNROLL
    for (int l = 0; l < lanes; l++) {
        const int32_t value = modc_sum_of(sum[l], T_bias ? bias[channel + l] : 0);

        y[row * T_ldy + channel + l] = T_PUT(y, T_EPILOGUE(value, row, channel + l));
    }
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
    const int full = T_c / MODC_INT8_LANES * MODC_INT8_LANES;
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
#endif

    for (int line = T_IF(T_by_rows, from, 0); line < T_IF(T_by_rows, to, T_n * T_oh); line++) {
        const T_of_x *const xn = x + line / T_oh * (T_h * T_w * T_ldx);

        for (int p = 0; p < T_ow; p++) {
            const int y0 = line % T_oh * T_sh - T_ph, x0 = p * T_sw - T_pw;

            for (int c = 0; c < full; c += MODC_INT8_LANES)
                T_NAME_lanes(y, xn, w, bias, MODC_INT8_LANES, line * T_ow + p, y0, x0, c T_PASS);
            for (int c = full; c < T_c; c++)
                T_NAME_lanes(y, xn, w, bias, 1, line * T_ow + p, y0, x0, c T_PASS);
        }
    }
}
