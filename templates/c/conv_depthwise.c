/* Depthwise 2-D convolution, channels last: y (T_n, T_oh, T_ow, T_c) from x (T_n, T_h, T_w, T_c), bias, tail.
 *
 * Pixels of x are T_ldx apart, of y T_ldy. w is (T_kh, T_kw, T_c), bias (T_c), neither padded. Stride T_sh, T_sw, zero
 * padding T_ph, T_pw, dilation T_dh, T_dw; padding below 0 crops. Fits: groups are the channels, one output for each;
 * the kernel is constant, T_n, T_h, T_w, T_oh, T_ow may be sizes. By line, tile of pixels, vector of channels: the order
 * in which memory is read once; taps outside are left out as in conv_direct. T_head and T_turned are as there: lines of x
 * are converted into v, and where y is (T_n, T_c, T_oh, T_ow), T_ldv channels of a line are made behind them and transposed. */

/* One vector of `lanes` channels of the pixels pixel ... pixel + rows - 1 of a line, y0 its first line of x. `left` and
 * `right`: the tile begins and ends the line; `clip`: a single pixel anywhere. rows and these are constants. */
MODC_INLINE void T_NAME_tile(T_of_out *T_RESTRICT y, const T_of_lines *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int left, const int right,
                             const int clip, const int lanes, const int line, const int y0, const int pixel,
                             const int channel T_ARGS)
{
    const int x0 = pixel * T_sw - T_pw;
    T_vec sum[MODC_DEPTHWISE_ROWS];

    MODC_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = !T_bias           ? T_V(set)(0)
                 : lanes < T_LANES ? T_OF(bias, load_part)(bias + channel, lanes)
                                   : T_OF(bias, load)(bias + channel);
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;
        const T_of_lines *const xh = x + (T_IF(T_head, (h + T_ph) % T_ring, h) * T_w + x0) * T_ldx + channel;
        const T_of_w *const wh = w + kh * (T_kw * T_c) + channel;

        if (h < 0 || h >= T_h)
            continue;
        MODC_UNROLL
        for (int kw = 0; kw < T_kw; kw++) {
#if T_converts_lines || T_converts_w
            const T_of_lines *const xw = xh + kw * (T_dw * T_ldx);
            const T_of_w *const ww = wh + kw * T_c;
#else
            const T_of_lines *const xw = xh + kw * (T_dw * T_ldx), *const ww = wh + kw * T_c;
#endif
            const int from = left ? -modc_floordiv(kw * T_dw - T_pw, T_sw) : 0;
            const int to = right ? modc_floordiv(T_w - 1 + T_pw - kw * T_dw, T_sw) + 1 - (T_ow - rows) : rows;

            if (!clip || (x0 + kw * T_dw >= 0 && x0 + kw * T_dw < T_w)) {
                const T_vec b = lanes < T_LANES ? T_OF(w, load_part)(ww, lanes) : T_OF(w, load)(ww);

                MODC_UNROLL
                for (int i = from < 0 ? 0 : from; i < (to > rows ? rows : to); i++) {
                    const T_of_lines *const a = xw + i * (T_sw * T_ldx);

                    sum[i] += (lanes < T_LANES ? T_OF(lines, load_part)(a, lanes) : T_OF(lines, load)(a)) * b;
                }
            }
        }
    }

    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
#if T_turned
        T_of_out *const out = y + (pixel + i) * T_ldv + channel % T_ldv;
#else
        const int r = line * T_ow + pixel + i;
        T_of_out *const out = y + r * T_ldy + channel;
#endif

#if T_vector_tail
        if (lanes == T_LANES) {
            T_OF(out, store)(out, T_EPILOGUE_V(sum[i], T_IF(T_turned, 0, r), channel));
            continue;
        }
        T_OF(out, store_part)(out, T_EPILOGUE_PART(sum[i], T_IF(T_turned, 0, r), channel, lanes), lanes);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[i]);
        for (int l = 0; l < lanes; l++)
            out[l] = T_PUT(out, T_EPILOGUE(part[l], T_IF(T_turned, 0, r), channel + l));
#endif
    }
}

/* Channels channel ... end - 1 of such a tile. */
MODC_INLINE void T_NAME_pixels(T_of_out *T_RESTRICT y, const T_of_lines *restrict x, const T_of_w *restrict w,
                               const T_of_bias *restrict bias, const int rows, const int left, const int right,
                               const int clip, const int channel, const int end, const int line, const int y0,
                               const int pixel T_ARGS)
{
    int c = channel;

    for (; c + T_LANES <= end; c += T_LANES)
        T_NAME_tile(y, x, w, bias, rows, left, right, clip, T_LANES, line, y0, pixel, c T_PASS);
    if (T_c % T_LANES > 0 && c < end)
        T_NAME_tile(y, x, w, bias, rows, left, right, clip, T_c % T_LANES, line, y0, pixel, c T_PASS);
}

/* Channels from ... to - 1 of one line of y. */
MODC_INLINE void T_NAME_line(T_of_out *T_RESTRICT y, const T_of_lines *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int from, const int to, const int line,
                             const int y0 T_ARGS)
{
#if T_fixed_ow
    const int tiles = (T_ow + MODC_DEPTHWISE_ROWS - 1) / MODC_DEPTHWISE_ROWS, rows = T_ow / tiles, tall = T_ow % tiles;
    const int first = rows + (tall > 0), reach = (T_kw - 1) * T_dw - T_pw;
    const bool left = T_pw > 0, right = (T_ow - 1) * T_sw + reach >= T_w;
    const int end = tiles - right;

    if (tiles > 1 && (first * T_sw < T_pw || (T_ow - rows - 1) * T_sw + reach >= T_w)) {
        for (int p = 0; p < T_ow; p++) /* the padding reaches beyond one tile */
            T_NAME_pixels(y, x, w, bias, 1, 0, 0, 1, from, to, line, y0, p T_PASS);
        return;
    }
    if (left)
        T_NAME_pixels(y, x, w, bias, first, 1, tiles == 1 && right, 0, from, to, line, y0, 0 T_PASS);
    for (int t = left; t < tall && t < end; t++)
        T_NAME_pixels(y, x, w, bias, rows + 1, 0, 0, 0, from, to, line, y0, t * (rows + 1) T_PASS);
    for (int t = tall > left ? tall : left; t < end; t++)
        T_NAME_pixels(y, x, w, bias, rows, 0, 0, 0, from, to, line, y0, t * rows + tall T_PASS);
    if (right && (tiles > 1 || !left))
        T_NAME_pixels(y, x, w, bias, rows, 0, 1, 0, from, to, line, y0, T_ow - rows T_PASS);
#else
    const int inside = modc_floordiv(T_w - 1 + T_pw - (T_kw - 1) * T_dw, T_sw) + 1;
    int p = 0;

    for (; p < (T_pw + T_sw - 1) / T_sw && p < T_ow; p++)
        T_NAME_pixels(y, x, w, bias, 1, 0, 0, 1, from, to, line, y0, p T_PASS);
    for (; p + MODC_DEPTHWISE_ROWS <= inside && p + MODC_DEPTHWISE_ROWS <= T_ow; p += MODC_DEPTHWISE_ROWS)
        T_NAME_pixels(y, x, w, bias, MODC_DEPTHWISE_ROWS, 0, 0, 0, from, to, line, y0, p T_PASS);
    for (; p < T_ow; p++)
        T_NAME_pixels(y, x, w, bias, 1, 0, 0, 1, from, to, line, y0, p T_PASS);
#endif
}

#if T_turned
/* All of a line, where channels of y are planes: some at a time are made in v. */
MODC_INLINE void T_NAME_planes(T_of_y *T_RESTRICT y, const T_of_lines *restrict x, const T_of_w *restrict w,
                               const T_of_bias *restrict bias, T_real *restrict v, const int line, const int y0 T_ARGS)
{
    for (int c = 0; c < T_c; c += T_ldv) {
        const int end = modc_min(c + T_ldv, T_c);

        T_NAME_line(v, x, w, bias, c, end, line, y0 T_PASS);
        T_V(transpose)(y + line / T_oh * T_yn + c * T_yc + line % T_oh * T_yh, T_yc, v, T_ldv, end - c, T_ow);
    }
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_MORE(T_head || T_turned, T_real *restrict v) T_HEAD_ARGS T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
#endif
#if T_head
    int image = -1, next = 0; /* the first line of that image that is not in v yet */
#endif

#if (T_head || T_turned) && T_slices > 1
    v += slice * T_scratch;
#endif
    for (int line = T_IF(T_by_rows, from, 0); line < T_IF(T_by_rows, to, T_n * T_oh); line++) {
        const int n = line / T_oh, y0 = line % T_oh * T_sh - T_ph;
#if T_head

        /* v holds the lines of x that a line of windows sees, line h in place (h + T_ph) % T_ring */
        next = modc_max(n > image ? 0 : next, y0);
        image = n;
        for (; next < modc_min(y0 + T_ring, T_h); next++)
            T_CONVERT(v + (next + T_ph) % T_ring * (T_w * T_c), x + n * T_xn + next * T_xh T_HEAD_PASS);
#endif
#if T_turned
        T_NAME_planes(y, T_IF(T_head, v, x + n * (T_h * T_w * T_ldx)), w, bias, v + T_behind, line, y0 T_PASS);
#else
        T_NAME_line(y, T_IF(T_head, v, x + n * (T_h * T_w * T_ldx)), w, bias, 0, T_c, line, y0 T_PASS);
#endif
    }
}
