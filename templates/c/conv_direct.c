/* 2-D convolution, channels last: y (T_n, T_oh, T_ow, T_groups * T_oc) from x (T_n, T_h, T_w, T_groups * T_c), bias, tail.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. w lies in panels
 * [T_groups][ceil(T_oc / T_P)][T_kh][T_kw][T_c][T_P], zero padded; bias is [T_groups][ceil(T_oc / T_P) * T_P]. Stride
 * T_sh, T_sw, zero padding T_ph, T_pw, dilation T_dh, T_dw; below 0 it crops. Fits: w is packed, kernel and channels are
 * constants; T_n, T_h, T_w, T_oh, T_ow may be sizes. conv_direct_line.c makes lines of y, a band of channels at a time;
 * T_apart: without the tail, which is applied while the line is in the cache. T_after: there may be one, which T_taken says that TAIL_V is, if it is not NULL. Split by rows (lines
 * of all images), by columns (bands of channels), or by groups. T_head: x is of another type or order; T_CONVERT makes a
 * line of it what is computed with, and v holds as many lines as a line of windows sees, so that each is converted once.
 * T_turned: y is (T_n, T_groups * T_oc, T_oh, T_ow), its axes T_yn, T_yc, T_yh, 1 apart: a band of a line is made in v,
 * (T_ow, T_ldv), and transposed from there. v: T_scratch elements. T_most_kh: the most lines of a window. */

/* The lines of x under the windows of one line of y, from line y0 on; NULL where they are outside. */
MODC_INLINE void T_NAME_under(const T_of_lines **lines, const T_of_lines *x, const int y0 T_ARGS)
{
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;

        lines[kh] = h >= 0 && h < T_h ? x + T_IF(T_head, (h + T_ph) % T_ring, h) * (T_w * T_ldx) : NULL;
    }
}

/* Line `line` of y, counted over all images: `columns` of its channels from `channel` on, where w and bias begin. */
MODC_INLINE void T_NAME_band(T_of_y *T_RESTRICT y, const T_of_lines *const *lines, const T_of_w *restrict w,
                             const T_of_bias *restrict bias T_MORE(T_turned, T_real *restrict v), const int columns,
                             const int line, const int channel T_ARGS)
{
#if T_turned
    const int ldy = T_ldv;
#if !T_apart
    const int row = 0; /* no tail of planes reads by row */
#endif
    T_of_out *const out = v + T_behind;
#else
    const int ldy = T_ldy, row = line * T_ow;
    T_of_out *const out = y + row * ldy + channel;
#endif

    T_PARTS(out, ldy, lines, w, bias, columns T_TO_PARTS);
#if T_after
    for (int i = 0; T_IF(T_taken, TAIL_V && i < T_ow, i < T_ow); i++) {
        int c = 0;

#if T_vector_tail
        for (; c + T_LANES <= columns; c += T_LANES)
            T_OF(out, store)(out + i * ldy + c,
                             T_EPILOGUE_V(T_OF(out, load)(out + i * ldy + c), T_IF(T_turned, 0, row) + i, channel + c));
        if (c < columns)
            T_OF(out, store_part)(out + i * ldy + c,
                                  T_EPILOGUE_PART(T_OF(out, load_part)(out + i * ldy + c, columns - c), T_IF(T_turned, 0, row) + i, channel + c, columns - c),
                                  columns - c);
#else
        for (; c < columns; c++)
            out[i * ldy + c] = T_PUT(out, T_EPILOGUE(T_GET(out, out[i * ldy + c]), T_IF(T_turned, 0, row) + i, channel + c));
#endif
    }
#endif
#if T_turned
    T_V(transpose)(y + line / T_oh * T_yn + channel * T_yc + line % T_oh * T_yh, T_yc, out, ldy, columns, T_ow);
#endif
}

#if !T_head
/* Images first ... last - 1 of y: `columns` channels from c of group g on. */
MODC_INLINE void T_NAME_images(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                               const T_of_bias *restrict bias T_MORE(T_turned, T_real *restrict v), const int columns,
                               const int first, const int last, const int g, const int c T_ARGS)
{
    const int panel = T_kh * T_kw * T_c * T_P, panels = (T_oc + T_P - 1) / T_P;
    const T_of_w *const wc = w + (g * panels + c / T_P) * panel + c % T_P;
    const T_of_bias *const bc = T_bias ? bias + g * (panels * T_P) + c : NULL;
    const T_of_lines *lines[T_most_kh];
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
#endif

    for (int n = first; n < last; n++) {
        const T_of_x *const xn = x + n * (T_h * T_w * T_ldx) + g * T_c;

        for (int oh = T_IF(T_by_rows, modc_max(from - n * T_oh, 0), 0);
             oh < T_IF(T_by_rows, modc_min(to - n * T_oh, T_oh), T_oh); oh++) {
            T_NAME_under(lines, xn, oh * T_sh - T_ph T_PASS);
            T_NAME_band(y, lines, wc, bc T_MORE(T_turned, v), columns, n * T_oh + oh, g * T_oc + c T_PASS);
        }
    }
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_MORE(T_head || T_turned, T_real *restrict v) T_HEAD_ARGS T_ARGS)
{
    const int band = MODC_TILE_VECTORS(T_IF(T_fixed_ow, MODC_LINE_TALLEST(T_ow), MODC_LINE_ROWS)) * T_LANES;
    const int full = T_oc / band * band, panel = T_kh * T_kw * T_c * T_P;
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
    const int image = from < to ? from / T_oh : 0, images = from < to ? (to - 1) / T_oh + 1 : 0;
#elif T_by_columns
    const int from = modc_share((T_oc + band - 1) / band, slice, T_slices) * band;
    const int to = modc_share((T_oc + band - 1) / band, slice + 1, T_slices) * band;
#elif T_by_groups
    const int from = modc_share(T_groups, slice, T_slices), to = modc_share(T_groups, slice + 1, T_slices);
#endif
#if T_head
    const T_of_lines *lines[T_most_kh];
#else
    /* A small w stays in cache while the images pass by; otherwise each band of it stays while all images use it. */
    const bool small = (T_oc + T_P - 1) / T_P * panel * T_groups * (int)sizeof(T_of_w) <= 256 * 1024;
    const int step = small ? 1 : T_IF(T_by_rows, images - image, T_n);
#endif

#if (T_head || T_turned) && T_slices > 1
    v += slice * T_scratch;
#endif
#if T_head
    /* v holds the lines of x that a line of windows sees, line h in place (h + T_ph) % T_ring. */
    for (int n = T_IF(T_by_rows, image, 0); n < T_IF(T_by_rows, images, T_n); n++) {
        int next = 0; /* the first line that is not there yet */

        for (int oh = T_IF(T_by_rows, modc_max(from - n * T_oh, 0), 0);
             oh < T_IF(T_by_rows, modc_min(to - n * T_oh, T_oh), T_oh); oh++) {
            const int y0 = oh * T_sh - T_ph, line = n * T_oh + oh;

            for (next = modc_max(next, y0); next < modc_min(y0 + T_ring, T_h); next++)
                T_CONVERT(v + (next + T_ph) % T_ring * (T_w * T_c), x + n * T_xn + next * T_xh T_HEAD_PASS);
            T_NAME_under(lines, v, y0 T_PASS);
            for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, full), full); c += band)
                T_NAME_band(y, lines, w + c / T_P * panel + c % T_P, T_bias ? bias + c : NULL T_MORE(T_turned, v), band,
                            line, c T_PASS);
            if (T_IF(T_by_columns, T_oc > full && to > full, T_oc > full))
                T_NAME_band(y, lines, w + full / T_P * panel + full % T_P,
                            T_bias ? bias + full : NULL T_MORE(T_turned, v), T_oc - full, line, full T_PASS);
        }
    }
#else
    for (int first = T_IF(T_by_rows, image, 0); first < T_IF(T_by_rows, images, T_n); first += step) {
        for (int g = T_IF(T_by_groups, from, 0); g < T_IF(T_by_groups, to, T_groups); g++) {
            for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, full), full); c += band)
                T_NAME_images(y, x, w, bias T_MORE(T_turned, v), band, first, first + step, g, c T_PASS);
            if (T_IF(T_by_columns, T_oc > full && to > full, T_oc > full))
                T_NAME_images(y, x, w, bias T_MORE(T_turned, v), T_oc - full, first, first + step, g, full T_PASS);
        }
    }
#endif
}
