/* 2-D convolution, channels last, with weights as they lie: y (T_n, T_oh, T_ow, T_groups * T_oc) from x
 * (T_n, T_h, T_w, T_groups * T_c), bias, tail.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. Weight (o, kh, kw, c) lies at o *
 * T_wo + kh * T_wh + kw * T_ww + c * T_wc. Stride T_sh, T_sw, zero padding T_ph, T_pw, dilation T_dh, T_dw. Fits:
 * always; T_n, T_h, T_w, T_oh, T_ow may be sizes. T_across 1: T_wo is 1, vectors along the outputs of tiles of pixels;
 * else four outputs of a pixel at a time. Taps outside are left out: single pixels at the ends of a line ask for each,
 * tiles lie between. */

#if T_across
/* rows x vectors of y: pixels of line `line` from `pixel` on, outputs from `channel` on, of which the last vector has only
 * `part`, unless that is 0. y0 is the line's first in x; x begins at the image and group, w at `channel`. rows, vectors and
 * whether part is 0 are constants. */
MODC_INLINE void T_NAME_tile(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int vectors, const int part,
                             const int line, const int y0, const int pixel, const int channel T_ARGS)
{
    const int tile = rows * vectors, x0 = pixel * T_sw - T_pw;
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int c = channel + i % vectors * T_LANES;

        sum[i] = !T_bias                              ? T_V(set)(0)
                 : part && i % vectors == vectors - 1 ? T_OF(bias, load_part)(bias + c, part)
                                                      : T_OF(bias, load)(bias + c);
    }
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;

        if (h < 0 || h >= T_h)
            continue;
        for (int kw = 0; kw < T_kw; kw++) {
            const T_of_x *const xk = x + (h * T_w + x0 + kw * T_dw) * T_ldx;
            const T_of_w *const wk = w + kh * T_wh + kw * T_ww;

            if (rows == 1 && (x0 + kw * T_dw < 0 || x0 + kw * T_dw >= T_w))
                continue;
            MODC_ROLL
            for (int k = 0; k < T_c; k++) {
                MODC_UNROLL
                for (int j = 0; j < vectors; j++) {
                    const T_of_w *const start = wk + k * T_wc + j * T_LANES;

                    b[j] = part && j == vectors - 1 ? T_OF(w, load_part)(start, part) : T_OF(w, load)(start);
                }
                MODC_UNROLL
                for (int i = 0; i < rows; i++) {
                    const T_real a = T_GET(x, xk[i * (T_sw * T_ldx) + k]);

                    MODC_UNROLL
                    for (int j = 0; j < vectors; j++)
                        sum[i * vectors + j] += a * b[j];
                }
            }
        }
    }
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = line * T_ow + pixel + i / vectors, c = channel + i % vectors * T_LANES;
        const int count = part && i % vectors == vectors - 1 ? part : T_LANES;

#if T_vector_tail
        if (count == T_LANES) {
            T_OF(y, store)(y + r * T_ldy + c, T_EPILOGUE_V(sum[i], r, c));
            continue;
        }
        T_OF(y, store_part)(y + r * T_ldy + c, T_EPILOGUE_PART(sum[i], r, c, count), count);
#else
        T_real some[T_LANES];

        T_V(store)(some, sum[i]);
        for (int l = 0; l < count; l++)
            y[r * T_ldy + c + l] = T_PUT(y, T_EPILOGUE(some[l], r, c + l));
#endif
    }
}

/* Such outputs of one line. */
MODC_INLINE void T_NAME_line(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int vectors, const int part, const int line,
                             const int y0, const int channel T_ARGS)
{
    const int inside = modc_floordiv(T_w - 1 + T_pw - (T_kw - 1) * T_dw, T_sw) + 1;
    int p = 0;

    for (; p < (T_pw + T_sw - 1) / T_sw && p < T_ow; p++)
        T_NAME_tile(y, x, w, bias, 1, vectors, part, line, y0, p, channel T_PASS);
    for (; p + MODC_LINE_ROWS <= inside && p + MODC_LINE_ROWS <= T_ow; p += MODC_LINE_ROWS)
        T_NAME_tile(y, x, w, bias, MODC_LINE_ROWS, vectors, part, line, y0, p, channel T_PASS);
    for (; p < T_ow; p++)
        T_NAME_tile(y, x, w, bias, 1, vectors, part, line, y0, p, channel T_PASS);
}
#else
/* `outputs` channels of y at a pixel, from `channel` on; the rest as above. */
MODC_INLINE void T_NAME_pixel(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int outputs, const int line, const int y0,
                              const int pixel, const int channel T_ARGS)
{
    const int x0 = pixel * T_sw - T_pw, r = line * T_ow + pixel;
    T_real sum[4];

    for (int o = 0; o < outputs; o++)
        sum[o] = T_bias ? T_GET(bias, bias[channel + o]) : 0;
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;

        if (h < 0 || h >= T_h)
            continue;
        for (int kw = 0; kw < T_kw; kw++) {
            const T_of_x *const xk = x + (h * T_w + x0 + kw * T_dw) * T_ldx;
            const T_of_w *const wk = w + kh * T_wh + kw * T_ww;

            if (x0 + kw * T_dw < 0 || x0 + kw * T_dw >= T_w)
                continue;
            for (int k = 0; k < T_c; k++) {
                MODC_UNROLL
                for (int o = 0; o < outputs; o++)
                    sum[o] += T_GET(x, xk[k]) * T_GET(w, wk[o * T_wo + k * T_wc]);
            }
        }
    }
    for (int o = 0; o < outputs; o++)
        y[r * T_ldy + channel + o] = T_PUT(y, T_EPILOGUE(sum[o], r, channel + o));
}
#endif

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if T_across
    const int vectors = MODC_TILE_VECTORS(MODC_LINE_ROWS), band = vectors * T_LANES, full = T_oc / band * band;
#else
    const int band = 4, full = T_oc / band * band;
#endif
#if T_by_rows
    const int from = modc_share(T_n * T_oh, slice, T_slices);
    const int to = modc_share(T_n * T_oh, slice + 1, T_slices);
#endif

    for (int g = 0; g < T_groups; g++) {
        for (int line = T_IF(T_by_rows, from, 0); line < T_IF(T_by_rows, to, T_n * T_oh); line++) {
            const T_of_x *const xn = x + line / T_oh * (T_h * T_w * T_ldx) + g * T_c;
            const int y0 = line % T_oh * T_sh - T_ph;

            for (int c = 0; c < T_oc; c += band) {
                const T_of_w *const wc = w + (g * T_oc + c) * T_wo;
                const int channel = g * T_oc + c;

#if T_across
                if (c < full) {
                    T_NAME_line(y, xn, wc, bias, vectors, 0, line, y0, channel T_PASS);
                } else {
                    for (int l = c; l < T_oc; l += T_LANES) {
                        if (l + T_LANES <= T_oc)
                            T_NAME_line(y, xn, wc + (l - c), bias, 1, 0, line, y0, channel + l - c T_PASS);
                        else
                            T_NAME_line(y, xn, wc + (l - c), bias, 1, T_oc - l, line, y0, channel + l - c T_PASS);
                    }
                }
#else
                for (int p = 0; p < T_ow; p++) {
                    if (c < full) {
                        T_NAME_pixel(y, xn, wc, bias, band, line, y0, p, channel T_PASS);
                    } else {
                        for (int o = 0; c + o < T_oc; o++)
                            T_NAME_pixel(y, xn, wc + o * T_wo, bias, 1, line, y0, p, channel + o T_PASS);
                    }
                }
#endif
            }
        }
    }
}
