/* The part of conv_winograd.c that bias and tail come behind, so that all convolutions of one shape share it. Holes and
 * layouts are those of conv_winograd.c; T_some_stream: of some the weights are more than T_stream_kb KiB, and fetched
 * ahead; T_some_rest: of some T_oc is not a number of T_chunk. */

/* B^T d B of one tile, whose lines and pixels are so far apart, into the planes of v. */
MODC_INLINE void T_NAME_input(T_real *restrict v, const T_of_x *restrict x, const int line,
                              const int pixel T_ARGS)
{
    for (int c = 0; c < T_c; c += T_LANES) {
        T_vec d[T_planes];

        MODC_UNROLL
        for (int i = 0; i < T_planes; i++)
            d[i] = T_OF(x, load)(x + i / T_side * line + i % T_side * pixel + c);
        MODC_UNROLL
        for (int i = 0; i < T_side; i++)
            T_V(winograd_input)(d + T_side * i, 1, T_side);
        MODC_UNROLL
        for (int i = 0; i < T_side; i++)
            T_V(winograd_input)(d + i, T_side, T_side);
        MODC_UNROLL
        for (int i = 0; i < T_planes; i++)
            T_V(store)(v + i * (T_block * T_c + T_P) + c, d[i]);
    }
}

/* B^T d B of `count` tiles, T_block at the most, from tile `first` on, counted over lines and images of x, into the planes of
 * v. What is outside of an image is 0, by way of `halo`. */
MODC_INLINE void T_NAME_inputs(T_real *restrict v, const T_of_x *restrict x, T_of_x *restrict halo, const int first,
                               const int count T_ARGS)
{
    const int down = (T_oh + T_out - 1) / T_out, across = (T_ow + T_out - 1) / T_out;

    for (int t = 0; t < count; t++) {
        const int n = (first + t) / (down * across);
        const int h = (first + t) / across % down * T_out - T_ph, w = (first + t) % across * T_out - T_pw;
        const T_of_x *const xn = x + n * (T_h * T_w * T_ldx);
        const int inside = h >= 0 && h + T_side <= T_h && w >= 0 && w + T_side <= T_w;

        for (int i = 0; !inside && i < T_planes; i++) {
            const int line = h + i / T_side, pixel = w + i % T_side;

            if (line >= 0 && line < T_h && pixel >= 0 && pixel < T_w)
                memcpy(halo + i * T_c, xn + (line * T_w + pixel) * T_ldx, (size_t)T_c * sizeof *x);
            else
                memset(halo + i * T_c, 0, (size_t)T_c * sizeof *x);
        }
        T_NAME_input(v + t * T_c, inside ? xn + (h * T_w + w) * T_ldx : halo, inside ? T_w * T_ldx : T_side * T_c,
                     inside ? T_ldx : T_c T_PASS);
    }
#if T_fixed_tiles
    for (int i = 0; count < T_block && i < T_planes; i++) /* the products take whole blocks */
        memset(v + i * (T_block * T_c + T_P) + count * T_c, 0, (size_t)((T_block - count) * T_c) * sizeof *v);
#endif
}

#if T_some_stream
/* The products of tiles tile ... tile + rows - 1 in one plane, `columns` channels of m. rows and columns are constants. Where
 * share > 0 it prefetches share values of the next plane with each step in K, as the turn-th of its plane. */
#else
/* The products of tiles tile ... tile + rows - 1 in one plane, `columns` channels of m. rows and columns are constants. */
#endif
MODC_INLINE void T_NAME_tile(T_real *restrict m, const T_real *restrict v, const T_of_w *restrict w, const int rows,
                             const int columns,
                             const int tile T_MORE(T_some_stream, const int share, const int turn) T_ARGS)
{
    const int vectors = columns / T_LANES;
    T_vec sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    v += tile * T_c;
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = T_V(set)(0);
    MODC_ROLL
    for (int k = 0; k < T_c; k++) {
#if T_some_stream
        if (share > 0)
            MODC_PREFETCH(w + T_oc * T_c + (turn * T_c + k) * share);
#endif
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = T_OF(w, load)(w + j * T_LANES / T_P * (T_c * T_P) + j * T_LANES % T_P + k * T_P);
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
MODC_INLINE void T_NAME_planes(T_real *restrict m, const T_real *restrict v, const T_of_w *restrict w, const int rows,
                               const int tile, const int tall, const int flat, const int columns T_ARGS)
{
    const int most = MODC_TILE_VECTORS(rows + (tall > 0)) * T_LANES, band = most < columns ? most : columns;
    const int rest = columns % band;
#if T_some_stream
    const bool large = T_planes * T_c * T_oc * (int)sizeof(T_of_w) > T_stream_kb * 1024;
    const int tiles = tall + flat, share = large ? (band + tiles - 1) / tiles : 0;
#endif

    for (int p = 0; p < T_planes; p++) {
        T_real *const mp = m + p * (T_block * T_chunk + T_P);
#if T_converts_w
        const T_real *const vp = v + p * (T_block * T_c + T_P);
        const T_of_w *const wp = w + p * (T_oc * T_c);
#else
        const T_real *const vp = v + p * (T_block * T_c + T_P), *const wp = w + p * (T_oc * T_c);
#endif

        for (int n = 0; n < columns; n += band) {
            const T_of_w *const wn = wp + n / T_P * (T_c * T_P) + n % T_P;

            if (n + band > columns) {
                for (int t = 0; rest > 0 && t < tall; t++)
                    T_NAME_tile(mp + n, vp, wn, rows + 1, rest, tile + t * (rows + 1) T_MORE(T_some_stream, 0, 0) T_PASS);
                for (int t = 0; rest > 0 && t < flat; t++)
                    T_NAME_tile(mp + n, vp, wn, rows, rest,
                                tile + tall + (tall + t) * rows T_MORE(T_some_stream, 0, 0) T_PASS);
                break;
            }
            for (int t = 0; t < tall; t++)
                T_NAME_tile(mp + n, vp, wn, rows + 1, band, tile + t * (rows + 1) T_MORE(T_some_stream, share, t) T_PASS);
            for (int t = 0; t < flat; t++)
                T_NAME_tile(mp + n, vp, wn, rows, band,
                            tile + tall + (tall + t) * rows T_MORE(T_some_stream, share, tall + t) T_PASS);
        }
    }
}

/* The same for `count` tiles. `columns` is a constant. */
MODC_INLINE void T_NAME_block(T_real *restrict m, const T_real *restrict v, const T_of_w *restrict w, const int count,
                              const int columns T_ARGS)
{
    const int tiles = (T_block + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = T_block / tiles, tall = T_block % tiles;
#if !T_fixed_tiles
    int t = 0;

    if (count < T_block) {
        for (; t + MODC_TILE_ROWS <= count; t += MODC_TILE_ROWS)
            T_NAME_planes(m, v, w, MODC_TILE_ROWS, t, 0, 1, columns T_PASS);
#if MODC_TILE_ROWS > 4
        for (; t + 4 <= count; t += 4)
            T_NAME_planes(m, v, w, 4, t, 0, 1, columns T_PASS);
#endif
#if MODC_TILE_ROWS > 1
        for (; t < count; t++)
            T_NAME_planes(m, v, w, 1, t, 0, 1, columns T_PASS);
#endif
        return;
    }
#endif
    T_NAME_planes(m, v, w, rows, 0, tall, tiles - tall, columns T_PASS); /* as even as it goes */
}

/* Of `count` tiles, T_block at the most, from tile `first` on, counted over lines and images of x: B^T d B into the planes of v,
 * unless x is NULL, since they are there; then the products with the weights from w on in all planes, into m: T_chunk
 * channels, or those that are left of T_oc. In register tiles, for as many channels at a time as keep the products of the
 * tiles in the cache. Behind v and m there is room for a tile of x. */
MODC_INLINE void T_NAME(T_real *restrict m, T_real *restrict v, const T_of_x *restrict x, const T_of_w *restrict w,
                        const int first, const int count, const int columns T_ARGS)
{
    if (x)
        T_NAME_inputs(v, x, T_IF(T_converts_x, (void *)(m + T_planes * (T_block * T_chunk + T_P)), m + T_planes * (T_block * T_chunk + T_P)), first, count T_PASS);
#if T_some_rest
    if (T_oc % T_chunk > 0 && columns < T_chunk)
        T_NAME_block(m, v, w, count, T_oc % T_chunk T_PASS);
    else
        T_NAME_block(m, v, w, count, T_chunk T_PASS);
#else
    T_NAME_block(m, v, w, count, T_chunk T_PASS);
#endif
}
