/* 2-D convolution of 3 x 3 by Winograd's F(4x4, 3x3), channels last: y (T_n, T_oh, T_ow, T_oc) from x (T_n, T_h, T_w, T_c),
 * bias, tail.
 *
 * A tile of 4 x 4 outputs is A^T [(G g G^T) * (B^T d B)] A of its 6 x 6 inputs d: 36 products for each pair of channels
 * instead of 144 (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016). w holds G g G^T in 36
 * planes of panels [T_oc / T_P][T_c][T_P]. Tiles are taken T_block at a time, over lines and images: B^T d B of them
 * goes to the planes of v; then, T_chunk channels of y at a time, 36 matrix products fill m (both in
 * conv_winograd_tiles.c), and A^T m A, bias and tail make y. Zero padding T_ph, T_pw; below 0 it crops. v has room for 36 planes of v, 36 of m and one tile of x. Fits:
 * w is packed, stride, dilation and groups are 1, T_c and T_oc multiples of T_P; T_n, T_h, T_w may be sizes. Split by rows
 * (blocks of tiles) or by columns (chunks of channels, for each of which B^T d B is computed again); a slice has a v of its
 * own behind that of the one before. Pixels of x are T_ldx apart, of y T_ldy. */

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

        T_PARTS_inputs(v, x, halo, first, count T_TO_PARTS);
        for (int c = T_IF(T_by_columns, from, 0); c < T_IF(T_by_columns, to, T_oc); c += T_chunk) {
            const int columns = T_oc - c < T_chunk ? T_oc - c : T_chunk;

            T_PARTS_products(m, v, w + c / T_P * (T_c * T_P), count, columns);
            for (int t = 0; t < count; t++) {
                const int n = (first + t) / (down * across);
                const int h = (first + t) / across % down * 4, p = (first + t) % across * 4;

                T_NAME_output(y, m + t * T_chunk, bias, (n * T_oh + h) * T_ow + p, T_oh - h, T_ow - p, c,
                              columns T_PASS);
            }
        }
    }
}
