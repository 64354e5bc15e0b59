/* Pooling over windows, channels last: y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), and the tail.
 *
 * Window (T_kh, T_kw), stride T_sh, T_sw, padding T_ph, T_pw, dilation T_dh, T_dw. T_is_max: the maximum of what lies
 * inside, NaN if any is. Otherwise the mean: the sum over T_divisor or, where that is 0, over the size of the window,
 * cut off at the padding (T_count_include_pad) or at the border (torch.nn.functional.avg_pool2d). ceil_mode shows in
 * T_oh, T_ow alone. Fits: always; all but the window may be sizes; T_c = 1 serves (n * c, h, w). */
static MODC_KERNEL void T_NAME(T_real *restrict y, const T_real *restrict x T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);

#endif
    for (int line = T_BY(rows, from, 0); line < T_BY(rows, to, T_n * T_oh); line++) {
        const T_real *const xn = x + line / T_oh * (T_h * T_w * T_c);
        const int top = line % T_oh * T_sh - T_ph;
        const int kh0 = top < 0 ? (T_dh - 1 - top) / T_dh : 0; /* taps kh0 ... kh1 - 1 lie inside */
        const int kh1 = top + (T_kh - 1) * T_dh < T_h ? T_kh : (T_h - 1 - top) / T_dh + 1;

        for (int ow = 0; ow < T_ow; ow++) {
            const int west = ow * T_sw - T_pw, r = line * T_ow + ow;
            const int kw0 = west < 0 ? (T_dw - 1 - west) / T_dw : 0;
            const int kw1 = west + (T_kw - 1) * T_dw < T_w ? T_kw : (T_w - 1 - west) / T_dw + 1;
            const T_real *const first = xn + ((top + kh0 * T_dh) * T_w + west + kw0 * T_dw) * T_c;
#if !T_is_max
#if T_divisor
            const T_real scale = (T_real)1 / T_divisor;
#elif T_count_include_pad
            const int high = top + T_kh < T_h + T_ph ? T_kh : T_h + T_ph - top;
            const int wide = west + T_kw < T_w + T_pw ? T_kw : T_w + T_pw - west;
            const T_real scale = (T_real)1 / (T_real)(high * wide);
#else
            const T_real scale = (T_real)1 / (T_real)((kh1 - kh0) * (kw1 - kw0));
#endif
#endif
            const int full = T_c / T_LANES * T_LANES;

            for (int c = 0; c < full; c += T_LANES) {
                T_vec value = T_V(set)(T_is_max ? -T_V(inf)() : 0);

                for (int kh = 0; kh < kh1 - kh0; kh++) {
                    for (int kw = 0; kw < kw1 - kw0; kw++) {
                        const T_vec a = T_V(load)(first + (kh * (T_dh * T_w) + kw * T_dw) * T_c + c);

#if T_is_max
                        value = T_V(max)(value, a);
#else
                        value += a;
#endif
                    }
                }
#if !T_is_max
                value *= scale;
#endif
#if T_vector_tail
                T_V(store)(y + r * T_c + c, T_EPILOGUE_V(value, r, c));
#else
                T_real part[T_LANES];

                T_V(store)(part, value);
                for (int l = 0; l < T_LANES; l++)
                    y[r * T_c + c + l] = T_EPILOGUE(part[l], r, c + l);
#endif
            }
            for (int c = full; c < T_c; c++) {
                T_real value = T_is_max ? -T_V(inf)() : 0;

                for (int kh = 0; kh < kh1 - kh0; kh++) {
                    for (int kw = 0; kw < kw1 - kw0; kw++) {
                        const T_real a = first[(kh * (T_dh * T_w) + kw * T_dw) * T_c + c];

#if T_is_max
                        value = T_S(max)(value, a);
#else
                        value += a;
#endif
                    }
                }
#if !T_is_max
                value *= scale;
#endif
                y[r * T_c + c] = T_EPILOGUE(value, r, c);
            }
        }
    }
}
