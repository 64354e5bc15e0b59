/* Pooling over windows, channels last: y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), and the tail.
 *
 * Pixels of x are T_ldx apart, of y T_ldy. Window (T_kh, T_kw), stride T_sh, T_sw, padding T_ph, T_pw, and where it is
 * T_dilated T_dh, T_dw. T_is_max: the maximum of what lies inside, NaN if any is. Otherwise the mean: the sum over T_area or,
 * where means are T_uneven, over the size of the window, cut off at the padding (T_count_include_pad) or at the border
 * (torch.nn.functional.avg_pool2d). ceil_mode shows in T_oh, T_ow alone. T_clipped_h, T_clipped_w: some windows reach over the
 * border. T_rest: the channels do not fill vectors. Fits: channels last; all but the window may be sizes. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);

#endif
    for (int line = T_IF(T_by_rows, from, 0); line < T_IF(T_by_rows, to, T_n * T_oh); line++) {
        const int top = line % T_oh * T_sh - T_ph;
#if T_clipped_h && !T_dilated
        const int kh0 = modc_max(-top, 0), kh1 = modc_min(T_kh, T_h - top); /* taps kh0 ... kh1 - 1 lie inside */
#elif T_clipped_h
        const int kh0 = modc_max((T_dh - 1 - top) / T_dh, 0), kh1 = modc_min(T_kh, (T_h - 1 - top) / T_dh + 1);
#endif

        for (int ow = 0; ow < T_ow; ow++) {
            const int west = ow * T_sw - T_pw, r = line * T_ow + ow;
#if T_clipped_w && !T_dilated
            const int kw0 = modc_max(-west, 0), kw1 = modc_min(T_kw, T_w - west);
#elif T_clipped_w
            const int kw0 = modc_max((T_dw - 1 - west) / T_dw, 0), kw1 = modc_min(T_kw, (T_w - 1 - west) / T_dw + 1);
#endif
            const int corner = (line / T_oh * T_h + top) * T_w + west; /* may lie outside */
#if T_uneven
#if T_count_include_pad
            const int high = modc_min(T_kh, T_h + T_ph - top), wide = modc_min(T_kw, T_w + T_pw - west);
#else
            const int high = T_IF(T_clipped_h, kh1 - kh0, T_kh), wide = T_IF(T_clipped_w, kw1 - kw0, T_kw);
#endif
#endif
#if !T_is_max
            const T_real scale = (T_real)1 / T_IF(T_uneven, (T_real)(high * wide), (T_real)T_area);
#endif
#if T_rest
            const int full = T_c / T_LANES * T_LANES, rest = T_c - full;
#endif

            for (int c = 0; c < T_IF(T_rest, full, T_c); c += T_LANES) {
                T_vec value = T_V(set)(T_IF(T_is_max, -T_V(inf)(), 0));

                for (int kh = T_IF(T_clipped_h, kh0, 0); kh < T_IF(T_clipped_h, kh1, T_kh); kh++) {
                    for (int kw = T_IF(T_clipped_w, kw0, 0); kw < T_IF(T_clipped_w, kw1, T_kw); kw++) {
                        const int tap = corner + T_IF(T_dilated, kh * T_dh * T_w + kw * T_dw, kh * T_w + kw);
                        const T_vec a = T_OF(x, load)(x + tap * T_ldx + c);

                        value = T_IF(T_is_max, T_V(max)(value, a), value + a);
                    }
                }
#if !T_is_max
                value *= scale;
#endif
#if T_vector_tail
                T_OF(y, store)(y + r * T_ldy + c, T_EPILOGUE_V(value, r, c));
#else
                T_real part[T_LANES];

                T_V(store)(part, value);
                for (int l = 0; l < T_LANES; l++)
                    y[r * T_ldy + c + l] = T_PUT(y, T_EPILOGUE(part[l], r, c + l));
#endif
            }
#if T_rest
            if (rest > 0) {
                T_vec value = T_V(set)(T_IF(T_is_max, -T_V(inf)(), 0));

                for (int kh = T_IF(T_clipped_h, kh0, 0); kh < T_IF(T_clipped_h, kh1, T_kh); kh++) {
                    for (int kw = T_IF(T_clipped_w, kw0, 0); kw < T_IF(T_clipped_w, kw1, T_kw); kw++) {
                        const int tap = corner + T_IF(T_dilated, kh * T_dh * T_w + kw * T_dw, kh * T_w + kw);
                        const T_vec a = T_OF(x, load_part)(x + tap * T_ldx + full, rest);

                        value = T_IF(T_is_max, T_V(max)(value, a), value + a);
                    }
                }
#if !T_is_max
                value *= scale;
#endif
#if T_vector_tail
                T_OF(y, store_part)(y + r * T_ldy + full, T_EPILOGUE_PART(value, r, full, rest), rest);
#else
                T_real part[T_LANES];

                T_V(store)(part, value);
                for (int l = 0; l < rest; l++)
                    y[r * T_ldy + full + l] = T_PUT(y, T_EPILOGUE(part[l], r, full + l));
#endif
            }
#endif
        }
    }
}
