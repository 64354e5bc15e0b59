/* 2-D convolution of int8, channels last, with weights as they lie: y (T_n, T_oh, T_ow, T_groups * T_oc) from x
 * (T_n, T_h, T_w, T_groups * T_c), bias, tail: sums of (x - T_zero) w, exact in int32; taps outside add nothing.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. Weight (o, kh, kw, c) lies at o * T_wo + kh *
 * T_wh + kw * T_ww + c * T_wc. Stride T_sh, T_sw, padding T_ph, T_pw, dilation T_dh, T_dw. Fits: always; T_n, T_h, T_w, T_oh, T_ow may
 * be sizes. An output at a time. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
#endif

    for (int line = T_IF(T_by_rows, from, 0); line < T_IF(T_by_rows, to, T_n * T_oh); line++) {
        for (int pixel = 0; pixel < T_ow; pixel++) {
            const int y0 = line % T_oh * T_sh - T_ph, x0 = pixel * T_sw - T_pw, r = line * T_ow + pixel;

            for (int o = 0; o < T_groups * T_oc; o++) {
                const T_of_x *const xn = x + line / T_oh * (T_h * T_w * T_ldx) + o / T_oc * T_c;
                int32_t sum = 0;

                for (int kh = 0; kh < T_kh; kh++) {
                    for (int kw = 0; kw < T_kw; kw++) {
                        const int h = y0 + kh * T_dh, at = x0 + kw * T_dw;
                        const int inside = h >= 0 && h < T_h && at >= 0 && at < T_w ? T_c : 0;

                        for (int c = 0; c < inside; c++)
                            sum += (xn[(h * T_w + at) * T_ldx + c] - T_zero) * w[o * T_wo + kh * T_wh + kw * T_ww + c * T_wc];
                    }
                }
                sum = modc_sum_of(sum, T_bias ? bias[o] : 0);
                y[r * T_ldy + o] = T_PUT(y, T_EPILOGUE(sum, r, o));
            }
        }
    }
}
