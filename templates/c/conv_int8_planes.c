/* Depthwise 2-D convolution of int8 by windows of 3 x 3, channels last: y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), bias, tail:
 * sums of (x - T_zero) w, exact in int32; taps outside add nothing.
 *
 * Pixels of x are T_ldx apart, of y T_ldy. w is (3, 3, T_c). Stride T_sh, T_sw (1 or 2), padding T_ph, T_pw, no dilation. Fits: groups are
 * the channels, one output for each; w is packed; T_n, T_h, T_w, T_oh, T_ow may be sizes. For chips: a channel of x becomes a plane of
 * int16 in v, T_zero around it, so that neighbours of a line are multiplied together, as note [windows in int8] has it. v: the plane. */

/* `windows` pixels of a line of channel `channel` from pixel number `row` of y on, whose windows begin at x; `start`: what sums begin
 * with. windows is a constant of the call. */
MODC_INLINE void T_NAME_pixels(T_of_y *T_RESTRICT y, const int16_t *restrict x, const int wide,
                               const struct modc_int8_taps *taps, const int32_t start, const int windows, const int row,
                               const int channel T_ARGS)
{
    int32_t sum[MODC_INT8_WINDOWS];
    T_of_y out[MODC_INT8_WINDOWS];
#if T_factored
    int32_t factors = -1; /* below 0 where all are: each has its instruction */
#endif

    MODC_UNROLL
    for (int i = 0; i < windows; i++)
        sum[i] = start;
    modc_int8_windows(sum, x, wide, T_sw, taps, windows);
#if T_factored
    MODC_UNROLL
    for (int i = 0; i < windows; i++)
        factors &= T_FACTOR(row + i, channel);
    if (factors >= 0) { /* seldom */
        MODC_UNROLL
        for (int i = 0; i < windows; i++) {
            const int32_t value = sum[i];

            y[(row + i) * T_ldy + channel] = T_PUT(y, T_EPILOGUE(value, row + i, channel));
        }
        return;
    }
#endif
    MODC_UNROLL
    for (int i = 0; i < windows; i++) {
        const int32_t value = sum[i];

#if T_factored
        MODC_ASSUME(T_FACTOR(row + i, channel) < 0);
#endif
        out[i] = T_PUT(y, T_EPILOGUE(value, row + i, channel));
    }
    MODC_UNROLL
    for (int i = 0; i < windows; i++)
        y[(row + i) * T_ldy + channel] = out[i];
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias, T_real *restrict v T_ARGS)
{
    const int high = (T_oh - 1) * T_sh + 3, wide = MODC_INT8_WIDE(T_ow, T_sw), most = MODC_INT8_WINDOWS / T_sw;
    int16_t *const plane = (int16_t *)(void *)v;

    for (int i = 0; i < high * wide; i++)
        plane[i] = (int16_t)T_zero;
    for (int nc = 0; nc < T_n * T_c; nc++) {
        const int n = nc / T_c, c = nc % T_c;
        struct modc_int8_taps taps;
        const int32_t start = modc_sum_of(T_bias ? bias[c] : 0, -T_zero * modc_int8_taps_of(&taps, w + c, T_c));

        modc_int8_plane(plane + T_ph * wide + T_pw, wide, x + n * (T_h * T_w * T_ldx) + c, T_ldx, T_w,
                        modc_min(T_h, high - T_ph), modc_min(T_w, wide - T_pw));
        for (int line = 0; line < T_oh; line++) {
            const int row = (n * T_oh + line) * T_ow;
            const int16_t *const from = plane + line * T_sh * wide;

            int p = 0;

            for (; p + most <= T_ow; p += most)
                T_NAME_pixels(y, from + p * T_sw, wide, &taps, start, most, row + p, c T_PASS);
            if (p + 2 <= T_ow) {
                T_NAME_pixels(y, from + p * T_sw, wide, &taps, start, 2, row + p, c T_PASS);
                p += 2;
            }
            if (p < T_ow)
                T_NAME_pixels(y, from + p * T_sw, wide, &taps, start, 1, row + p, c T_PASS);
        }
    }
}
