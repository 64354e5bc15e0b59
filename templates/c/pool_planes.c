/* Pooling over windows of planes: y (T_n, T_c, T_oh, T_ow) from x (T_n, T_c, T_h, T_w), and the tail.
 *
 * Window (T_kh, T_kw), stride T_sh, T_sw, padding T_ph, T_pw, dilation as in pool.c, where it is said what comes out. For
 * a line of windows the rows of x that they cover are joined in v, vectors of columns at a time; there stands padding before
 * and behind, so that the columns of each window are joined without a look at the border. T_lines of them at a time, so
 * that no vector is read right behind the stores that it overlaps. T_compact: lines follow each other there so that their
 * windows do: they are joined as those of one long line. T_clipped_h: some windows reach over the upper or lower
 * border. T_uneven: means do not all divide by the same count. T_few: windows are small. T_step: 1, 2, or 3 for any T_sw
 * above. T_rest, T_part: a line of v, of y ends in a part of a vector. T_most_kh: the largest T_kh. Fits: images
 * whose channels are planes; all but the window may be sizes. v: T_scratch elements. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, T_real *restrict v T_ARGS)
{
#if T_rest
    const int full = T_wide / T_LANES * T_LANES, rest = T_wide - full;
#endif
#if !T_compact || T_uneven
    const int blocks = (T_ow + T_LANES - 1) / T_LANES * T_LANES;
#endif
    const int span = T_IF(T_compact, T_ow * T_sw, modc_max(T_pw + T_w, blocks * T_sw + (T_kw - 1) * T_IF(T_dilated, T_dw, 1)));
#if T_by_rows
    const int from = modc_share(T_n * T_c * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_c * T_oh, slice + 1, T_slices);
#endif
#if T_slices > 1

    v += slice * T_scratch;
#endif
#if T_clipped_h
    T_of_x *const outside = T_IF(T_converts_x, (void *)(v + T_room), v + T_room);
#endif
#if T_uneven
    T_real *const columns = v + T_room + T_w; /* of each window */
#endif

    for (int w = 0; w < T_room; w++)
        v[w] = T_IF(T_is_max, -T_V(inf)(), 0);
#if T_clipped_h
    for (int w = 0; w < T_w; w++)
        outside[w] = T_PUT(x, T_IF(T_is_max, -T_V(inf)(), 0));
#endif
#if T_uneven
    for (int ow = 0; ow < blocks; ow++) {
        const int west = ow * T_sw - T_pw;
#if T_count_include_pad
        const int count = modc_min(west + T_kw, T_w + T_pw) - west;
#else
        const int count = modc_min(west + T_kw, T_w) - modc_max(west, 0);
#endif

        columns[ow] = (T_real)modc_max(count, 1);
    }
#endif
    for (int first = T_IF(T_by_rows, from, 0); first < T_IF(T_by_rows, to, T_n * T_c * T_oh); first += T_lines) {
        const int end = modc_min(first + T_lines, T_IF(T_by_rows, to, T_n * T_c * T_oh));

        for (int line = first; line < end; line++) {
            const T_of_x *const plane = x + line / T_oh * (T_h * T_w), *rows[T_most_kh];
            T_real *const joined = v + (line - first) * span + T_pw;
            const int top = line % T_oh * T_sh - T_ph;

            for (int kh = 0; kh < T_kh; kh++) {
#if T_clipped_h
                const int h = top + T_IF(T_dilated, kh * T_dh, kh);

                rows[kh] = h >= 0 && h < T_h ? plane + h * T_w : outside;
#else
                rows[kh] = plane + (top + T_IF(T_dilated, kh * T_dh, kh)) * T_w;
#endif
            }
            for (int w = 0; w < T_IF(T_rest, full, T_wide); w += T_LANES) {
                T_vec value = T_OF(x, load)(rows[0] + w);

#if T_few
                MODC_UNROLL
#endif
                for (int kh = 1; kh < T_kh; kh++) {
                    const T_vec a = T_OF(x, load)(rows[kh] + w);

                    value = T_IF(T_is_max, T_V(max)(value, a), value + a);
                }
                T_V(store)(joined + w, value);
            }
#if T_rest
            if (rest > 0) {
                T_vec value = T_OF(x, load_part)(rows[0] + full, rest);

#if T_few
                MODC_UNROLL
#endif
                for (int kh = 1; kh < T_kh; kh++) {
                    const T_vec a = T_OF(x, load_part)(rows[kh] + full, rest);

                    value = T_IF(T_is_max, T_V(max)(value, a), value + a);
                }
                T_V(store_part)(joined + full, value, rest);
            }
#endif
        }
        for (int line = first; line < end; line += T_IF(T_compact, T_lines, 1)) {
            const T_real *const joined = v + (line - first) * span;
#if T_uneven
            const int top = line % T_oh * T_sh - T_ph;
#if T_count_include_pad
            const int high = modc_min(top + T_kh, T_h + T_ph) - top;
#else
            const int high = modc_min(top + T_kh, T_h) - modc_max(top, 0);
#endif
#endif
            const int across = T_IF(T_compact, (end - first) * T_ow, T_ow);

            for (int ow = 0; ow < across; ow += T_LANES) {
                T_vec value = T_V(set)(0);

#if T_few
                MODC_UNROLL
#endif
                for (int kw = 0; kw < T_kw; kw++) {
                    const T_real *const at = joined + ow * T_sw + T_IF(T_dilated, kw * T_dw, kw);
#if T_step == 1
                    const T_vec a = T_V(load)(at);
#elif T_step == 2
                    const T_vec a = T_V(evens)(T_V(load)(at), T_V(load)(at + T_LANES));
#else
                    T_vec a;
                    T_real lanes[T_LANES];

                    for (int l = 0; l < T_LANES; l++)
                        lanes[l] = at[l * T_sw];
                    a = T_V(load)(lanes);
#endif

                    value = T_IF(T_is_max, kw == 0 ? a : T_V(max)(value, a), value + a);
                }
#if !T_is_max
#if T_uneven
                value /= T_V(load)(columns + ow) * (T_real)high;
#else
                value *= (T_real)1 / (T_real)T_area;
#endif
#endif
#if !T_part && T_vector_tail
                T_OF(y, store)(y + line * T_ow + ow, T_EPILOGUE_V(value, line, ow));
#else
#if T_vector_tail
                if (T_IF(T_compact, ow + T_LANES <= across, T_ow % T_LANES == 0 || ow + T_LANES <= across)) {
                    T_OF(y, store)(y + line * T_ow + ow, T_EPILOGUE_V(value, line, ow));
                    continue;
                }
#endif
#if T_pure_tail
                T_OF(y, store_part)(y + line * T_ow + ow, T_EPILOGUE_V(value, line, ow), across - ow);
#else
                T_real part[T_LANES];

                T_V(store)(part, value);
                for (int l = 0; l < modc_min(T_LANES, across - ow); l++)
                    y[line * T_ow + ow + l] = T_PUT(y, T_EPILOGUE(part[l], line, ow + l));
#endif
#endif
            }
        }
    }
}
