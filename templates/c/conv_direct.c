/* 2-D convolution, channels last: y (T_n, T_oh, T_ow, T_groups * T_oc) from x (T_n, T_h, T_w, T_groups * T_c), bias, tail.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. w lies in panels
 * [T_groups][ceil(T_oc / T_P)][T_kh][T_kw][T_c][T_P], zero padded; bias is [T_groups][ceil(T_oc / T_P) * T_P]. Stride
 * T_sh, T_sw, zero padding T_ph, T_pw, dilation T_dh, T_dw; below 0 it crops. Fits: w is packed, kernel and channels are
 * constants; T_n, T_h, T_w, T_oh, T_ow may be sizes. Neighbouring pixels of a line are the rows of a register tile
 * (Georganas et al., "Anatomy of high-performance deep learning convolutions", 2018). Nothing is padded: the tiles at
 * the ends of a line leave out the rows of a tap that lie outside, which is known while compiling, and lines outside are
 * skipped. Split by rows (lines of all images), by columns (bands of channels), or by groups. T_head: x is of another
 * type or order; T_CONVERT makes a line of it what is computed with, and v holds as many lines as a line of windows
 * sees, so that each is converted once. T_turned: y is (T_n, T_groups * T_oc, T_oh, T_ow), its axes T_yn, T_yc, T_yh, 1
 * apart: a band of a line is made in v from T_out_at on, (T_ow, T_ldv), and transposed from there. v: T_scratch elements. */

/* `channels` values of x for pixels from ... to - 1 of the tile, times their weights. */
MODC_INLINE void T_NAME_taps(T_vec *sum, const T_real *restrict x, const T_real *restrict w,
                             const int channels, const int from, const int to, const int vectors)
{
    T_vec b[MODC_TILE_VECTORS(1)];

    MODC_ROLL
    for (int k = 0; k < channels; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = T_V(load)(w + j * T_LANES / T_P * (T_kh * T_kw * T_c * T_P) + j * T_LANES % T_P + k * T_P);
        MODC_UNROLL
        for (int i = from; i < to; i++) {
            const T_real a = x[i * (T_sw * T_ldx) + k];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
}

/* The pixels pixel ... pixel + rows - 1 of line `line` of y, counted over all images, of which y0 is the first line in x.
 * x begins at the image and group, w and bias at `column` of that group, which is column `channel` of y. `left` and
 * `right`: the tile begins and ends the line; `clip`: a single pixel anywhere. rows, columns and these are constants. */
MODC_INLINE void T_NAME_tile(T_real *restrict y, const T_real *restrict x, const T_real *restrict w,
                             const T_real *restrict bias, const int rows, const int columns, const int left,
                             const int right, const int clip, const int line, const int y0, const int pixel,
                             const int channel T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors, x0 = pixel * T_sw - T_pw;
    T_vec sum[MODC_TILE_REGISTERS];

    MODC_FENCE;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
#if T_bias
        sum[i] = T_V(load)(bias + i % vectors * T_LANES);
#else
        sum[i] = T_V(set)(0);
#endif
    }
    for (int kh = 0; kh < T_kh; kh++) {
        const int h = y0 + kh * T_dh;
        const T_real *const xh = x + (T_IF(T_head, (h + T_ph) % T_ring, h) * T_w + x0) * T_ldx, *const wh = w +
                                                                                    kh * (T_kw * T_c * T_P);

        if (h < 0 || h >= T_h)
            continue;
        if (clip) {
            for (int kw = 0; kw < T_kw; kw++) {
                if (x0 + kw * T_dw >= 0 && x0 + kw * T_dw < T_w)
                    T_NAME_taps(sum, xh + kw * (T_dw * T_ldx), wh + kw * (T_c * T_P), T_c, 0, rows,
                                vectors);
            }
        } else if (left || right || T_dw > 1 || T_ldx > T_c) {
#if T_dw > 1 || T_ldx > T_c
            const int whole = T_kw, end = T_kw;
#else
            /* taps whole ... end - 1, which no row leaves out, lie side by side in x and in w: they are one sum */
            const int whole = left ? T_pw : 0, reach = T_w + T_pw - (T_ow - 1) * T_sw;
            const int end = right && reach < T_kw ? reach : T_kw;
#endif

            MODC_UNROLL
            for (int kw = 0; kw < T_kw; kw++) {
                const int from = left ? -modc_floordiv(kw * T_dw - T_pw, T_sw) : 0;
                const int to = right ? modc_floordiv(T_w - 1 + T_pw - kw * T_dw, T_sw) + 1 - (T_ow - rows)
                                     : rows;

                if (kw <= whole || kw >= end)
                    T_NAME_taps(sum, xh + kw * (T_dw * T_ldx), wh + kw * (T_c * T_P),
                                kw == whole && whole < end ? (end - whole) * T_c : T_c, from < 0 ? 0 : from,
                                to > rows ? rows : to, vectors);
            }
        } else {
            T_NAME_taps(sum, xh, wh, T_kw * T_c, 0, rows, vectors);
        }
    }

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int rest = columns - i % vectors * T_LANES;
#if T_turned
        T_real *const out = y + (pixel + i / vectors) * T_ldv + i % vectors * T_LANES;
#else
        const int r = line * T_ow + pixel + i / vectors, c = channel + i % vectors * T_LANES;
        T_real *const out = y + r * T_ldy + c;
#endif

#if T_vector_tail
        if (rest >= T_LANES) {
            T_V(store)(out, T_EPILOGUE_V(sum[i], T_IF(T_turned, 0, r), T_IF(T_turned, 0, c)));
            continue;
        }
#endif
#if T_pure_tail
        T_V(store_part)(out, T_EPILOGUE_V(sum[i], T_IF(T_turned, 0, r), T_IF(T_turned, 0, c)), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[i]);
        for (int l = 0; l < T_LANES && l < rest; l++)
            out[l] = T_EPILOGUE(part[l], T_IF(T_turned, 0, r), T_IF(T_turned, 0, c) + l);
#endif
    }
}

/* One line of y, `columns` of its channels. */
MODC_INLINE void T_NAME_line(T_real *restrict y, const T_real *restrict x, const T_real *restrict w,
                             const T_real *restrict bias, const int columns, const int line, const int y0,
                             const int channel T_ARGS)
{
#if T_fixed_ow
    /* as even as it goes, the taller tiles first: 56 pixels are 4 tiles of 14, 32 are 11 + 11 + 10 */
    enum {
        tiles = (T_ow + MODC_LINE_ROWS - 1) / MODC_LINE_ROWS,
        rows = T_ow / tiles,
        tall = T_ow % tiles,
        first = rows + (tall > 0),
        reach = (T_kw - 1) * T_dw - T_pw,
        left = T_pw > 0,
        right = (T_ow - 1) * T_sw + reach >= T_w,
        end = tiles - right,
        narrow = tiles > 1 && (first * T_sw < T_pw || (T_ow - rows - 1) * T_sw + reach >= T_w)
    };

    if (narrow) { /* the padding reaches beyond one tile */
        for (int p = 0; p < T_ow; p++)
            T_NAME_tile(y, x, w, bias, 1, columns, 0, 0, 1, line, y0, p, channel T_PASS);
        return;
    }
    if (left)
        T_NAME_tile(y, x, w, bias, first, columns, 1, tiles == 1 && right, 0, line, y0, 0, channel T_PASS);
    for (int t = left; t < tall && t < end; t++)
        T_NAME_tile(y, x, w, bias, rows + 1, columns, 0, 0, 0, line, y0, t * (rows + 1), channel T_PASS);
    for (int t = tall > left ? tall : left; t < end; t++)
        T_NAME_tile(y, x, w, bias, rows, columns, 0, 0, 0, line, y0, t * rows + tall, channel T_PASS);
    if (right && (tiles > 1 || !left))
        T_NAME_tile(y, x, w, bias, rows, columns, 0, 1, 0, line, y0, T_ow - rows, channel T_PASS);
#else
    const int inside = modc_floordiv(T_w - 1 + T_pw - (T_kw - 1) * T_dw, T_sw) + 1;
    int p = 0;

    for (; p < (T_pw + T_sw - 1) / T_sw && p < T_ow; p++)
        T_NAME_tile(y, x, w, bias, 1, columns, 0, 0, 1, line, y0, p, channel T_PASS);
    for (; p + MODC_LINE_ROWS <= inside && p + MODC_LINE_ROWS <= T_ow; p += MODC_LINE_ROWS)
        T_NAME_tile(y, x, w, bias, MODC_LINE_ROWS, columns, 0, 0, 0, line, y0, p, channel T_PASS);
    for (; p < T_ow; p++)
        T_NAME_tile(y, x, w, bias, 1, columns, 0, 0, 1, line, y0, p, channel T_PASS);
#endif
}

#if T_turned
/* The same where channels of y are planes: made in v. */
MODC_INLINE void T_NAME_planes(T_real *restrict y, const T_real *restrict x, const T_real *restrict w,
                               const T_real *restrict bias, T_real *restrict v, const int columns, const int line,
                               const int y0, const int channel T_ARGS)
{
    T_NAME_line(v, x, w, bias, columns, line, y0, channel T_PASS);
    T_V(transpose)(y + line / T_oh * T_yn + channel * T_yc + line % T_oh * T_yh, T_yc, v, T_ldv, columns, T_ow);
}

#endif
#if T_head
static MODC_KERNEL MODC_ALONE void T_NAME(T_real *restrict y, const T_raw *restrict x, const T_real *restrict w,
                               const T_real *restrict bias, T_real *restrict v T_HEAD_ARGS T_ARGS)
#else
static MODC_KERNEL MODC_ALONE void T_NAME(T_real *restrict y, const T_real *restrict x, const T_real *restrict w,
                               const T_real *restrict bias T_WORK T_ARGS)
#endif
{
    enum {
        panel = T_kh * T_kw * T_c * T_P,
        panels = (T_oc + T_P - 1) / T_P,
#if T_fixed_ow
        most = (T_ow + (T_ow + MODC_LINE_ROWS - 1) / MODC_LINE_ROWS - 1) /
               ((T_ow + MODC_LINE_ROWS - 1) / MODC_LINE_ROWS),
#else
        most = MODC_LINE_ROWS,
#endif
        band = MODC_TILE_VECTORS(most) * T_LANES,
        full = T_oc / band * band,
        small = panel * panels * T_groups * (int)sizeof(T_real) <= 256 * 1024
    };
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
            for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, full), full); c += band)
                T_IF(T_turned, T_NAME_planes, T_NAME_line)(y, v, w + c / T_P * panel + c % T_P,
                                                           T_IF(T_bias, bias + c, bias) T_OUT, band, line, y0, c T_PASS);
            if (T_IF(T_by_columns, T_oc > full && to > full, T_oc > full))
                T_IF(T_turned, T_NAME_planes, T_NAME_line)(y, v, w + full / T_P * panel + full % T_P,
                                                           T_IF(T_bias, bias + full, bias) T_OUT, T_oc - full, line, y0,
                                                           full T_PASS);
        }
    }
#else
    /* A small w stays in cache while the images pass by; otherwise each band of it stays while all images use it. */
    for (int outer = T_IF(T_by_rows, image, 0);
         outer < (small ? T_IF(T_by_rows, images, T_n) : T_IF(T_by_rows, image + 1, 1)); outer++) {
        for (int g = T_IF(T_by_groups, from, 0); g < T_IF(T_by_groups, to, T_groups); g++) {
            const T_real *const wg = w + g * panels * panel, *const bg = T_IF(T_bias, bias + g * (panels * T_P), bias);

            for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, modc_min(to, full), full); c += band) {
                for (int n = outer; n < (small ? outer + 1 : T_IF(T_by_rows, images, T_n)); n++) {
                    const T_real *const xn = x + n * (T_h * T_w * T_ldx) + g * T_c;

                    for (int oh = T_IF(T_by_rows, modc_max(from - n * T_oh, 0), 0);
                         oh < T_IF(T_by_rows, modc_min(to - n * T_oh, T_oh), T_oh); oh++)
                        T_IF(T_turned, T_NAME_planes, T_NAME_line)(y, xn, wg + c / T_P * panel + c % T_P,
                                                                   T_IF(T_bias, bg + c, bg) T_OUT, band, n * T_oh + oh,
                                                                   oh * T_sh - T_ph, g * T_oc + c T_PASS);
                }
            }
            for (int n = outer; T_IF(T_by_columns, T_oc > full && to > full, T_oc > full) &&
                                n < (small ? outer + 1 : T_IF(T_by_rows, images, T_n));
                 n++) {
                const T_real *const xn = x + n * (T_h * T_w * T_ldx) + g * T_c;

                for (int oh = T_IF(T_by_rows, modc_max(from - n * T_oh, 0), 0);
                     oh < T_IF(T_by_rows, modc_min(to - n * T_oh, T_oh), T_oh); oh++)
                    T_IF(T_turned, T_NAME_planes, T_NAME_line)(y, xn, wg + full / T_P * panel + full % T_P,
                                                               T_IF(T_bias, bg + full, bg) T_OUT, T_oc - full,
                                                               n * T_oh + oh, oh * T_sh - T_ph, g * T_oc + full T_PASS);
            }
        }
    }
#endif
}
