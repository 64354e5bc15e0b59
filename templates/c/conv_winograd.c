/* 2-D convolution of 3 x 3 by Winograd's F(4x4, 3x3), channels last: y (T_n, T_oh, T_ow, T_oc) from x (T_n, T_h, T_w, T_c),
 * bias, tail.
 *
 * A tile of 4 x 4 outputs is A^T [(G g G^T) * (B^T d B)] A of its 6 x 6 inputs d: 36 products for each pair of channels
 * instead of 144 (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016). w holds G g G^T in 36
 * planes of panels [T_oc / T_P][T_c][T_P]. Tiles are taken T_block at a time, over lines and images: B^T d B of them
 * goes to the planes of v; then, T_chunk channels of y at a time, 36 matrix products fill m, and A^T m A, bias and tail
 * make y. Zero padding T_ph, T_pw; below 0 it crops. v has room for 36 planes of v, 36 of m and one tile of x. Fits:
 * w is packed, stride, dilation and groups are 1, T_c and T_oc multiples of T_P; T_n, T_h, T_w may be sizes. Split by rows
 * (blocks of tiles) or by columns (chunks of channels, for each of which B^T d B is computed again); a slice has a v of its
 * own behind that of the one before. Pixels of x are T_ldx apart, of y T_ldy. */

/* B^T d B of one tile, whose lines and pixels are so far apart, into the planes of v. */
MODC_INLINE void T_NAME_input(T_real *restrict v, const T_real *restrict x, const int line, const int pixel)
{
    for (int c = 0; c < T_c; c += T_LANES) {
        T_vec d[36];

        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            d[i] = T_V(load)(x + i / 6 * line + i % 6 * pixel + c);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            T_V(winograd_input)(d + 6 * i, 1);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            T_V(winograd_input)(d + i, 6);
        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            T_V(store)(v + i * (T_block * T_c + T_P) + c, d[i]);
    }
}

/* The same where the tile begins at line h and pixel w of the image x; what is outside is 0, by way of `halo`. */
MODC_INLINE void T_NAME_edge(T_real *restrict v, const T_real *restrict x, T_real *restrict halo, const int h,
                             const int w T_ARGS)
{
    for (int i = 0; i < 36; i++) {
        const int line = h + i / 6, pixel = w + i % 6;

        if (line >= 0 && line < T_h && pixel >= 0 && pixel < T_w)
            memcpy(halo + i * T_c, x + (line * T_w + pixel) * T_ldx, T_c * sizeof *x);
        else
            memset(halo + i * T_c, 0, T_c * sizeof *x);
    }
    T_NAME_input(v, halo, 6 * T_c, T_c);
}

/* Tiles tile ... tile + rows - 1 of one plane, `columns` channels of m. rows and columns are constants. Where share > 0
 * it prefetches share values of the next plane with each step in K, as the turn-th of its plane. */
MODC_INLINE void T_NAME_product(T_real *restrict m, const T_real *restrict v, const T_real *restrict w, const int rows,
                                const int columns, const int tile, const int share, const int turn)
{
    const int vectors = columns / T_LANES;
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_FENCE;
    v += tile * T_c;
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < T_c; k++) {
        if (share > 0)
            MODC_PREFETCH(w + T_oc * T_c + (turn * T_c + k) * share);
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = T_V(load)(w + j * T_LANES / T_P * (T_c * T_P) + j * T_LANES % T_P + k * T_P);
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const T_real a = v[i * T_c + k];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        T_V(store)(m + (tile + i / vectors) * T_chunk + i % vectors * T_LANES, sum[i]);
}

/* `tall` tiles of rows + 1 rows, then `flat` ones of rows, in all planes; `columns` channels, of the panels from w on. */
MODC_INLINE void T_NAME_planes(T_real *restrict m, const T_real *restrict v, const T_real *restrict w, const int rows,
                               const int tile, const int tall, const int flat, const int columns)
{
    const int most = MODC_TILE_VECTORS(rows + (tall > 0)) * T_LANES, band = most < columns ? most : columns;
    const int rest = columns % band, tiles = tall + flat, share = T_stream ? (band + tiles - 1) / tiles : 0;

    for (int p = 0; p < 36; p++) {
        T_real *const mp = m + p * (T_block * T_chunk + T_P);
        const T_real *const vp = v + p * (T_block * T_c + T_P), *const wp = w + p * (T_oc * T_c);

        for (int n = 0; n < columns; n += band) {
            const T_real *const wn = wp + n / T_P * (T_c * T_P) + n % T_P;

            if (n + band > columns) {
                for (int t = 0; rest > 0 && t < tall; t++)
                    T_NAME_product(mp + n, vp, wn, rows + 1, rest, tile + t * (rows + 1), 0, 0);
                for (int t = 0; rest > 0 && t < flat; t++)
                    T_NAME_product(mp + n, vp, wn, rows, rest, tile + tall + (tall + t) * rows, 0, 0);
                break;
            }
            for (int t = 0; t < tall; t++)
                T_NAME_product(mp + n, vp, wn, rows + 1, band, tile + t * (rows + 1), share, t);
            for (int t = 0; t < flat; t++)
                T_NAME_product(mp + n, vp, wn, rows, band, tile + tall + (tall + t) * rows, share, tall + t);
        }
    }
}

/* The products of `count` tiles and `columns` channels. */
MODC_INLINE void T_NAME_products(T_real *restrict m, const T_real *restrict v, const T_real *restrict w,
                                 const int count, const int columns)
{
    enum {
        tiles = (T_block + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS,
        rows = T_block / tiles,
        tall = T_block % tiles
    };
#if !T_fixed_tiles
    int t = 0;

    if (count < T_block) {
        for (; t + MODC_TILE_ROWS <= count; t += MODC_TILE_ROWS)
            T_NAME_planes(m, v, w, MODC_TILE_ROWS, t, 0, 1, columns);
#if MODC_TILE_ROWS > 4
        for (; t + 4 <= count; t += 4)
            T_NAME_planes(m, v, w, 4, t, 0, 1, columns);
#endif
#if MODC_TILE_ROWS > 1
        for (; t < count; t++)
            T_NAME_planes(m, v, w, 1, t, 0, 1, columns);
#endif
        return;
    }
#endif
    T_NAME_planes(m, v, w, rows, 0, tall, tiles - tall, columns); /* as even as it goes */
}

/* A^T m A, bias and tail: `lines` x `pixels` of the outputs of one tile from pixel `first` of y on, `columns` channels
 * from `channel` on. */
MODC_INLINE void T_NAME_output(T_real *restrict y, const T_real *restrict m, const T_real *restrict bias,
                               const int first, const int lines, const int pixels, const int channel,
                               const int columns T_ARGS)
{
    for (int c = 0; c < columns; c += T_LANES) {
        T_vec o[36];
#if T_bias
        const T_vec b = T_V(load)(bias + channel + c);
#endif

        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            o[i] = T_V(load)(m + i * (T_block * T_chunk + T_P) + c);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            T_V(winograd_output)(o + i, 6);
        MODC_UNROLL
        for (int i = 0; i < 4; i++)
            T_V(winograd_output)(o + 6 * i, 1);
        MODC_UNROLL
        for (int i = 0; i < 16; i++) {
            if (i / 4 < lines && i % 4 < pixels) {
                const int r = first + i / 4 * T_ow + i % 4;
#if T_bias
                const T_vec sum = o[i / 4 * 6 + i % 4] + b;
#else
                const T_vec sum = o[i / 4 * 6 + i % 4];
#endif

#if T_vector_tail
                T_V(store)(y + r * T_ldy + channel + c, T_EPILOGUE_V(sum, r, channel + c));
#else
                T_real part[T_LANES];

                T_V(store)(part, sum);
                for (int l = 0; l < T_LANES; l++)
                    y[r * T_ldy + channel + c + l] = T_EPILOGUE(part[l], r, channel + c + l);
#endif
            }
        }
    }
}

static MODC_KERNEL MODC_ALONE void T_NAME(T_real *restrict y, const T_real *restrict x, const T_real *restrict w,
                               const T_real *restrict bias, T_real *restrict v T_ARGS)
{
#if T_slices > 1
    v += slice * (36 * (T_block * T_c + T_P) + 36 * (T_block * T_chunk + T_P) + 36 * T_c);

#endif
    T_real *const m = v + 36 * (T_block * T_c + T_P), *const halo = m + 36 * (T_block * T_chunk + T_P);
    const int down = (T_oh + 3) / 4, across = (T_ow + 3) / 4, tiles = T_n * down * across;
#if T_by_rows
    const int all = (tiles + T_block - 1) / T_block, from = modc_share(all, slice, T_slices) * T_block;
    const int to = modc_min(modc_share(all, slice + 1, T_slices) * T_block, tiles);
#elif T_by_columns
    enum { all = (T_oc + T_chunk - 1) / T_chunk };
    const int from = modc_share(all, slice, T_slices) * T_chunk;
    const int to = modc_min(modc_share(all, slice + 1, T_slices) * T_chunk, T_oc);
#endif

    for (int first = T_IF(T_by_rows, from, 0); first < T_IF(T_by_rows, to, tiles); first += T_block) {
        const int count = tiles - first < T_block ? tiles - first : T_block;

        for (int t = 0; t < count; t++) {
            const int n = (first + t) / (down * across);
            const int h = (first + t) / across % down * 4 - T_ph, p = (first + t) % across * 4 - T_pw;
            const T_real *const xn = x + n * (T_h * T_w * T_ldx);

            if (h >= 0 && h + 6 <= T_h && p >= 0 && p + 6 <= T_w)
                T_NAME_input(v + t * T_c, xn + (h * T_w + p) * T_ldx, T_w * T_ldx, T_ldx);
            else
                T_NAME_edge(v + t * T_c, xn, halo, h, p T_PASS);
        }
#if T_fixed_tiles
        for (int i = 0; count < T_block && i < 36; i++) /* the products take whole blocks */
            memset(v + i * (T_block * T_c + T_P) + count * T_c, 0, (size_t)((T_block - count) * T_c) * sizeof *v);
#endif
        for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, to, T_oc); c += T_chunk) {
            const int columns = T_oc - c < T_chunk ? T_oc - c : T_chunk;

#if T_oc % T_chunk > 0
            if (columns < T_chunk)
                T_NAME_products(m, v, w + c / T_P * (T_c * T_P), count, T_oc % T_chunk);
            else
#endif
                T_NAME_products(m, v, w + c / T_P * (T_c * T_P), count, T_chunk);
            for (int t = 0; t < count; t++) {
                const int n = (first + t) / (down * across);
                const int h = (first + t) / across % down * 4, p = (first + t) % across * 4;

                T_NAME_output(y, m + t * T_chunk, bias, (n * T_oh + h) * T_ow + p, T_oh - h, T_ow - p, c,
                              columns T_PASS);
            }
        }
    }
}
