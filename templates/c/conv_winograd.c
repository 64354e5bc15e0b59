/* 2-D convolution of 3 x 3 by Winograd's F(m x m, 3 x 3), channels last: y (T_n, T_oh, T_ow, T_oc) from x (T_n, T_h, T_w, T_c),
 * bias, tail. m is T_out: 4, or 2.
 *
 * A tile of m x m outputs is A^T [(G g G^T) * (B^T d B)] A of its inputs d, T_side = m + 2 of them by as many: T_planes
 * = 36 products for each pair of channels instead of 144, or 16 instead of 36 (Lavin and Gray, "Fast algorithms for
 * convolutional neural networks", 2016); the points are those of note [points] in modc_simd_scalar.h. w holds G g G^T
 * in T_planes planes of panels [T_oc / T_P][T_c][T_P]. Tiles are taken T_block at a time, over lines and images: B^T d
 * B of them goes to the planes of v; then, T_chunk channels of y at a time, a matrix product for each plane fills m
 * (both in conv_winograd_tiles.c), and A^T m A, bias and tail make y. Zero padding T_ph, T_pw; below 0 it crops. v has
 * room for the planes of v, those of m and one tile of x. Fits: w is packed, stride, dilation and groups are 1, T_c and
 * T_oc multiples of T_P; T_n, T_h, T_w may be sizes. Split by rows (blocks of tiles) or by columns (chunks of channels,
 * for each of which B^T d B is computed again); a slice has a v of its own behind that of the one before. Pixels of x
 * are T_ldx apart, of y T_ldy. */

/* A^T m A, bias and tail: `lines` x `pixels` of the outputs of one tile from pixel `first` of y on, `columns` channels
 * from `channel` on. */
MODC_INLINE void T_NAME_output(T_of_y *T_RESTRICT y, const T_real *restrict m, const T_of_bias *restrict bias,
                               const int first, const int lines, const int pixels, const int channel,
                               const int columns T_ARGS)
{
    for (int c = 0; c < columns; c += T_LANES) {
        T_vec o[T_planes];
        const T_vec b = T_bias ? T_OF(bias, load)(bias + channel + c) : T_V(set)(0);

        MODC_UNROLL
        for (int i = 0; i < T_planes; i++)
            o[i] = T_V(load)(m + i * (T_block * T_chunk + T_P) + c);
        MODC_UNROLL
        for (int i = 0; i < T_side; i++)
            T_V(winograd_output)(o + i, T_side, T_side);
        MODC_UNROLL
        for (int i = 0; i < T_out; i++)
            T_V(winograd_output)(o + T_side * i, 1, T_side);
        MODC_UNROLL
        for (int i = 0; i < T_out * T_out; i++) {
            if (i / T_out < lines && i % T_out < pixels) {
                const int r = first + i / T_out * T_ow + i % T_out;
                const T_vec sum = T_bias ? o[i / T_out * T_side + i % T_out] + b : o[i / T_out * T_side + i % T_out];

#if T_vector_tail
                T_OF(y, store)(y + r * T_ldy + channel + c, T_EPILOGUE_V(sum, r, channel + c));
#else
                T_real part[T_LANES];

                T_V(store)(part, sum);
                for (int l = 0; l < T_LANES; l++)
                    y[r * T_ldy + channel + c + l] = T_PUT(y, T_EPILOGUE(part[l], r, channel + c + l));
#endif
            }
        }
    }
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias, T_real *restrict v T_ARGS)
{
#if T_slices > 1
    v += slice * (T_planes * (T_block * T_c + T_P) + T_planes * (T_block * T_chunk + T_P) + T_planes * T_c);

#endif
    T_real *const m = v + T_planes * (T_block * T_c + T_P);
    const int down = (T_oh + T_out - 1) / T_out, across = (T_ow + T_out - 1) / T_out, tiles = T_n * down * across;
#if T_by_rows
    const int all = (tiles + T_block - 1) / T_block, from = modc_share(all, slice, T_slices) * T_block;
    const int to = modc_min(modc_share(all, slice + 1, T_slices) * T_block, tiles);
#elif T_by_columns
    const int all = (T_oc + T_chunk - 1) / T_chunk, from = modc_share(all, slice, T_slices) * T_chunk;
    const int to = modc_min(modc_share(all, slice + 1, T_slices) * T_chunk, T_oc);
#endif

    for (int first = T_IF(T_by_rows, from, 0); first < T_IF(T_by_rows, to, tiles); first += T_block) {
        const int count = tiles - first < T_block ? tiles - first : T_block;
        const T_of_x *fresh = x;

        for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, to, T_oc); c += T_chunk) {
            const int columns = T_oc - c < T_chunk ? T_oc - c : T_chunk;

            T_PARTS(m, v, fresh, w + c / T_P * (T_c * T_P), first, count, columns T_TO_PARTS);
            fresh = NULL;
            for (int t = 0; t < count; t++) {
                const int n = (first + t) / (down * across);
                const int h = (first + t) / across % down * T_out, p = (first + t) % across * T_out;

                T_NAME_output(y, m + t * T_chunk, bias, (n * T_oh + h) * T_ow + p, T_oh - h, T_ow - p, c,
                              columns T_PASS);
            }
        }
    }
}
