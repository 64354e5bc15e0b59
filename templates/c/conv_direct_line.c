/* The part of conv_direct.c that computes a line of y, `columns` of its channels: as many as fill the register tiles, or those
 * that are left of T_oc. Neighbouring pixels are the rows of a tile (Georganas et al., "Anatomy of high-performance deep
 * learning convolutions", 2018), so that a weight is read once for all of them. Nothing is padded: the tiles at the ends of
 * the line leave out the rows of a tap that lie outside, which is known while compiling. lines[kh] is the line of x under line
 * kh of the windows, NULL where it is outside; pixels of y are ldy apart. T_apart: the core of a kernel of its own, which
 * convolutions that differ in bias (NULL: none) and tail share; otherwise the tail is in it. T_some_clipped: some windows
 * reach over the ends of a line; T_some_loose: of some the taps do not lie side by side in x. Holes and layouts are those of conv_direct.c. */

/* `channels` values of x for pixels from ... to - 1 of the tile, times their weights. */
MODC_INLINE void T_NAME_taps(T_vec *sum, const T_of_lines *restrict x, const T_of_w *restrict w,
                             const int channels, const int from, const int to, const int vectors T_ARGS)
{
    T_vec b[MODC_TILE_VECTORS(1)];

    MODC_ROLL_SHORT
    for (int k = 0; k < channels; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = T_OF(w, load)(w + j * T_LANES / T_P * (T_kh * T_kw * T_c * T_P) + j * T_LANES % T_P + k * T_P);
        MODC_UNROLL
        for (int i = from; i < to; i++) {
            const T_real a = T_GET(lines, x[i * (T_sw * T_ldx) + k]);

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
}

#if T_some_clipped && T_fixed_ow
/* The pixels pixel ... pixel + rows - 1 of the line. `left` and `right`: the tile begins and ends it; `clip`: a single pixel
 * anywhere. rows, columns and these are constants. */
#elif T_some_clipped
/* The pixels pixel ... pixel + rows - 1 of the line. `clip`: a single pixel anywhere. rows, columns and this are
 * constants. */
#else
/* The pixels pixel ... pixel + rows - 1 of the line. rows and columns are constants. */
#endif
MODC_INLINE void T_NAME_tile(T_of_out *T_RESTRICT y, const int ldy, const T_of_lines *const *lines, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int rows, const int columns,
                             const int pixel T_MORE(T_some_clipped, const int clip)
                                 T_MORE(T_some_clipped && T_fixed_ow, const int left, const int right) T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES, tile = rows * vectors, x0 = pixel * T_sw - T_pw;
#if T_some_loose
    /* the taps of a line of the window lie side by side in x as in w: they are one sum */
    const bool joined = T_dw == 1 && T_ldx == T_c;
    const int pieces = joined ? 1 : T_kw, piece = joined ? T_kw * T_c : T_c;
#endif
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    MODC_UNROLL
    for (int j = 0; j < vectors; j++)
        b[j] = T_IF(T_apart, bias, T_bias) ? T_OF(bias, load)(bias + j * T_LANES) : T_V(set)(0);
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = b[i % vectors];
    for (int kh = 0; kh < T_kh; kh++) {
#if T_converts_lines || T_converts_w
        const T_of_lines *const xh = lines[kh];
        const T_of_w *const wh = w + kh * (T_kw * T_c * T_P);
#else
        const T_of_lines *const xh = lines[kh], *const wh = w + kh * (T_kw * T_c * T_P);
#endif

        if (!xh)
            continue;
#if T_some_clipped
        if (clip) {
            for (int kw = 0; kw < T_kw; kw++) {
                if (x0 + kw * T_dw >= 0 && x0 + kw * T_dw < T_w)
                    T_NAME_taps(sum, xh + (x0 + kw * T_dw) * T_ldx, wh + kw * (T_c * T_P), T_c, 0, rows, vectors T_PASS);
            }
            continue;
        }
#endif
#if T_some_clipped && T_fixed_ow
        if (left || right) {
            /* taps whole ... end - 1, which no row leaves out, are one sum where they lie side by side */
            const int reach = T_w + T_pw - (T_ow - 1) * T_sw;
#if T_some_loose
            const int whole = joined ? (left ? T_pw : 0) : T_kw;
            const int end = joined && right && reach < T_kw ? reach : T_kw;
#else
            const int whole = left ? T_pw : 0, end = right && reach < T_kw ? reach : T_kw;
#endif

            MODC_UNROLL
            for (int kw = 0; kw < T_kw; kw++) {
                const int from = left ? -modc_floordiv(kw * T_dw - T_pw, T_sw) : 0;
                const int to = right ? modc_floordiv(T_w - 1 + T_pw - kw * T_dw, T_sw) + 1 - (T_ow - rows) : rows;

                if (kw <= whole || kw >= end)
                    T_NAME_taps(sum, xh + (x0 + kw * T_dw) * T_ldx, wh + kw * (T_c * T_P),
                                kw == whole && whole < end ? (end - whole) * T_c : T_c, modc_max(from, 0),
                                modc_min(to, rows), vectors T_PASS);
            }
            continue;
        }
#endif
#if T_some_loose
        MODC_UNROLL
        for (int kw = 0; kw < pieces; kw++)
            T_NAME_taps(sum, xh + (x0 + kw * T_dw) * T_ldx, wh + kw * (T_c * T_P), piece, 0, rows,
                        vectors T_PASS);
#else
        T_NAME_taps(sum, xh + x0 * T_ldx, wh, T_kw * T_c, 0, rows, vectors T_PASS);
#endif
    }

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int rest = columns - i % vectors * T_LANES;
        T_of_out *const out = y + (pixel + i / vectors) * ldy + i % vectors * T_LANES;

#if T_apart || T_vector_tail
        if (rest >= T_LANES) {
            T_OF(out, store)(out, T_EPILOGUE_V(sum[i], row + pixel + i / vectors, channel + i % vectors * T_LANES));
            continue;
        }
        T_OF(out, store_part)(
            out, T_EPILOGUE_PART(sum[i], row + pixel + i / vectors, channel + i % vectors * T_LANES, rest), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[i]);
        for (int l = 0; l < T_LANES && l < rest; l++)
            out[l] = T_PUT(out, T_EPILOGUE(part[l], row + pixel + i / vectors, channel + i % vectors * T_LANES + l));
#endif
    }
}

/* The line in tiles. `columns` is a constant. */
MODC_INLINE void T_NAME_tiles(T_of_out *T_RESTRICT y, const int ldy, const T_of_lines *const *lines, const T_of_w *restrict w,
                              const T_of_bias *restrict bias, const int columns T_ARGS)
{
#if T_fixed_ow
    /* the taller tiles first: 32 pixels are 11 + 11 + 10 */
    const int tiles = MODC_LINE_TILES(T_ow), rows = T_ow / tiles, tall = T_ow % tiles;
#if T_some_clipped
    const int first = MODC_LINE_TALLEST(T_ow), reach = (T_kw - 1) * T_dw - T_pw;
    const bool left = T_pw > 0, right = (T_ow - 1) * T_sw + reach >= T_w;
    const int end = tiles - right;

    if (tiles > 1 && (first * T_sw < T_pw || (T_ow - rows - 1) * T_sw + reach >= T_w)) {
        for (int p = 0; p < T_ow; p++) /* the padding reaches beyond one tile */
            T_NAME_tile(y, ldy, lines, w, bias, 1, columns, p, 1, 0, 0 T_PASS);
        return;
    }
    if (left)
        T_NAME_tile(y, ldy, lines, w, bias, first, columns, 0, 0, 1, tiles == 1 && right T_PASS);
    for (int t = left; t < tall && t < end; t++)
        T_NAME_tile(y, ldy, lines, w, bias, rows + 1, columns, t * (rows + 1), 0, 0, 0 T_PASS);
    for (int t = tall > left ? tall : left; t < end; t++)
        T_NAME_tile(y, ldy, lines, w, bias, rows, columns, t * rows + tall, 0, 0, 0 T_PASS);
    if (right && (tiles > 1 || !left))
        T_NAME_tile(y, ldy, lines, w, bias, rows, columns, T_ow - rows, 0, 0, 1 T_PASS);
#else

    for (int t = 0; t < tall; t++)
        T_NAME_tile(y, ldy, lines, w, bias, rows + 1, columns, t * (rows + 1) T_PASS);
    for (int t = tall; t < tiles; t++)
        T_NAME_tile(y, ldy, lines, w, bias, rows, columns, t * rows + tall T_PASS);
#endif
#else
    const int inside = modc_floordiv(T_w - 1 + T_pw - (T_kw - 1) * T_dw, T_sw) + 1;
    int p = 0;

    for (; p < (T_pw + T_sw - 1) / T_sw && p < T_ow; p++)
        T_NAME_tile(y, ldy, lines, w, bias, 1, columns, p, 1 T_PASS);
    for (; p + MODC_LINE_ROWS <= inside && p + MODC_LINE_ROWS <= T_ow; p += MODC_LINE_ROWS)
        T_NAME_tile(y, ldy, lines, w, bias, MODC_LINE_ROWS, columns, p, 0 T_PASS);
    for (; p < T_ow; p++)
        T_NAME_tile(y, ldy, lines, w, bias, 1, columns, p, 1 T_PASS);
#endif
}

#if T_apart
/* A line of y, T_kh x T_kw windows over T_c channels, times `columns` of T_oc: a band, or those that are left. In register
 * tiles of neighbouring pixels, so that a weight is read once for all of them; taps that lie outside are left out.
 * lines[kh] is the line of x under line kh of the windows, NULL outside; pixels of y are ldy apart; bias may be NULL. */
#else
/* A line of y, `columns` of its channels. */
#endif
MODC_INLINE void T_NAME(T_of_out *T_RESTRICT y, const int ldy, const T_of_lines *const *lines,
                        const T_of_w *restrict w, const T_of_bias *restrict bias, const int columns T_ARGS)
{
    const int band = MODC_TILE_VECTORS(T_IF(T_fixed_ow, MODC_LINE_TALLEST(T_ow), MODC_LINE_ROWS)) * T_LANES;
    const int rest = T_oc % band;

    if (rest == 0 || (rest < T_oc && columns > rest))
        T_NAME_tiles(y, ldy, lines, w, bias, band T_PASS);
    else
        T_NAME_tiles(y, ldy, lines, w, bias, rest T_PASS);
}
