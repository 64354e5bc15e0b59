/* 2-D convolution of int8, channels last: y (T_n, T_oh, T_ow, T_groups * T_oc) from x (T_n, T_h, T_w, T_groups * T_c), bias, tail:
 * sums of (x - T_zero) w, exact in int32; taps outside add nothing.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. w is [T_groups * T_oc][T_kh][T_kw][T_c]. Stride
 * T_sh, T_sw, padding T_ph, T_pw, dilation T_dh, T_dw. Fits: w is packed, kernel and channels are constants; T_n, T_h, T_w, T_oh, T_ow
 * may be sizes. What the windows of a few neighbouring pixels see becomes rows in v, as modc_int8_row has them, which meet a few outputs
 * at a time. v: T_scratch elements. */

/* What the window at (y0, x0) sees, in order, with T_zero for what lies outside: where it lies in x as one piece, there; else in `to`. */
MODC_INLINE const modc_int8 *T_NAME_seen(modc_int8 *restrict to, const T_of_x *restrict x, const int y0, const int x0 T_ARGS)
{
    const int whole = x0 >= 0 && x0 + (T_kw - 1) * T_dw < T_w && T_dw == 1 && T_ldx == T_c;

    if (T_kh == 1 && (whole || (T_kw == 1 && x0 >= 0 && x0 < T_w)) && y0 >= 0 && y0 < T_h)
        return x + (y0 * T_w + x0) * T_ldx;
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;
        modc_int8 *const line = to + kh * (T_kw * T_c);

        if (h < 0 || h >= T_h) {
            memset(line, T_zero & 255, (size_t)(T_kw * T_c));
        } else if (whole) {
            memcpy(line, x + (h * T_w + x0) * T_ldx, (size_t)(T_kw * T_c));
        } else {
            for (int kw = 0; kw < T_kw; kw++) {
                const int at = x0 + kw * T_dw;

                if (at < 0 || at >= T_w)
                    memset(line + kw * T_c, T_zero & 255, (size_t)T_c);
                else
                    memcpy(line + kw * T_c, x + (h * T_w + at) * T_ldx, (size_t)T_c);
            }
        }
    }
    return to;
}

/* `rows` pixels of y from number `row` on, of all images: outputs from `channel` on. rows and columns are constants of the call. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const int16_t *restrict v, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int columns, const int row,
                             const int channel T_ARGS)
{
    const int depth = T_kh * T_kw * T_c;
    T_of_y *const to = y + row * T_ldy + channel;
    int32_t sum[MODC_INT8_TILE];
    T_of_y out[MODC_INT8_TILE];
#if T_factored
    int32_t factors = -1; /* below 0 where all are: each has its instruction */
#endif

    MODC_UNROLL
    for (int i = 0; i < rows * columns; i++)
        sum[i] = T_bias ? bias[channel + i % columns] : 0;
    modc_int8_products(sum, v, w + channel * depth, depth, depth, rows, columns);
#if T_factored
    MODC_UNROLL
    for (int i = 0; i < rows * columns; i++)
        factors &= T_FACTOR(row + i % rows, channel + i / rows);
    if (factors >= 0) { /* seldom */
        MODC_UNROLL
        for (int i = 0; i < rows * columns; i++) {
            const int32_t value = sum[i % rows * columns + i / rows];

            to[i % rows * T_ldy + i / rows] = T_PUT(y, T_EPILOGUE(value, row + i % rows, channel + i / rows));
        }
        return;
    }
#endif
    MODC_UNROLL
    for (int i = 0; i < rows * columns; i++) { /* all of a channel: what its tail reads is read once */
        const int32_t value = sum[i % rows * columns + i / rows];

#if T_factored
        MODC_ASSUME(T_FACTOR(row + i % rows, channel + i / rows) < 0);
#endif
        out[i] = T_PUT(y, T_EPILOGUE(value, row + i % rows, channel + i / rows));
    }
    MODC_UNROLL
    for (int i = 0; i < rows * columns; i++)
        to[i % rows * T_ldy + i / rows] = out[i];
}

/* The same of all outputs of group g. */
MODC_INLINE void T_NAME_pixels(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                               const T_of_bias *restrict bias, int16_t *restrict v, const int rows, const int row,
                               const int g T_ARGS)
{
    const int depth = T_kh * T_kw * T_c, wide = MODC_INT8_COLUMNS(rows), full = T_oc / wide * wide;
    const int many = depth <= MODC_INT8_SHORT ? 2 * wide : wide, most = T_oc / many * many;
    modc_int8 *const bytes = (modc_int8 *)(void *)(v + rows * MODC_INT8_ROW(depth));

    for (int i = 0; i < rows; i++) {
        const int line = (row + i) / T_ow, pixel = (row + i) % T_ow;
        const T_of_x *const xn = x + line / T_oh * (T_h * T_w * T_ldx) + g * T_c;

        modc_int8_row(v, T_NAME_seen(bytes, xn, line % T_oh * T_sh - T_ph, pixel * T_sw - T_pw T_PASS), depth, T_zero, i, rows);
    }
    for (int c = 0; c < most; c += many) {
        MODC_UNROLL
        for (int i = 0; i < many; i += wide)
            T_NAME_tile(y, v, w, bias, rows, wide, row, g * T_oc + c + i T_PASS);
    }
    if (most < full)
        T_NAME_tile(y, v, w, bias, rows, wide, row, g * T_oc + most T_PASS);
    for (int c = full; c < T_oc; c++)
        T_NAME_tile(y, v, w, bias, rows, 1, row, g * T_oc + c T_PASS);
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias, T_real *restrict v T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
    int16_t *const rows = (int16_t *)(void *)(v + slice * T_scratch);
#else
    int16_t *const rows = (int16_t *)(void *)v;
#endif
    const int end = T_IF(T_by_rows, to, T_n * T_oh) * T_ow;

    for (int g = 0; g < T_groups; g++) {
        int p = T_IF(T_by_rows, from, 0) * T_ow;

        for (; p + MODC_INT8_ROWS <= end; p += MODC_INT8_ROWS)
            T_NAME_pixels(y, x, w, bias, rows, MODC_INT8_ROWS, p, g T_PASS);
        for (; p < end; p++)
            T_NAME_pixels(y, x, w, bias, rows, 1, p, g T_PASS);
    }
}
