/* y = the discrete Fourier transform of x along the middle axis, times *scale: (T_m, length, T_c), complex values as pairs.
 *
 * T_n complex values are transformed by Stockham's passes between two pairs of planes, real parts and imaginary ones: a pass
 * of radix r makes of m * r values, `s` of them side by side, m sums of r each, so that the results come out in order. What
 * lies side by side are columns: the T_P of a block, which are neighbours along the last axis or (T_gathers) T_P rows. With
 * T_split a row is a matrix of T_n1 x T_n2 whose rows lie T_ld2 apart: its columns are transformed, multiplied by twiddle
 * factors, transposed, rows T_ld1 apart, and transformed again (Bailey's four steps).
 *
 * T_from_real: x is real, y has the T_n + 1 (T_odd: T_n / 2 + 1) pairs of the first half; T_to_real: the reverse. An even
 * length of 2 * T_n is transformed as T_n pairs of neighbours; T_odd: as it is. T_inverse: with the other sign, which changes
 * the roles of the two planes. p: of each transform how many passes it has, then their radices. w: for each pass of radix r
 * and each of its m sums r - 1 factors, in front of them for 7, 11 and 13 the roots of 1; then by planes the factors between
 * the two transforms; then, for half spectra, the factors of the halves. v: T_scratch elements. Fits: contiguous values; T_m, T_c may be sizes. */
#if !T_from_real || (!T_odd && (T_split || T_gathers))
/* `count` pairs apart into planes. */
MODC_INLINE void T_NAME_apart(T_real *restrict re, T_real *restrict im, const T_of_x *restrict x, const int count)
{
    int i = 0;

    for (; i + T_LANES < count; i += T_LANES) {
        T_V(store)(re + i, T_V(evens)(T_OF(x, load)(x + 2 * i), T_OF(x, load)(x + 2 * i + T_LANES)));
        T_V(store)(im + i, T_V(evens)(T_OF(x, load)(x + 2 * i + 1), T_OF(x, load)(x + 2 * i + 1 + T_LANES)));
    }
    for (; i < count; i++) {
        re[i] = T_GET(x, x[2 * i]);
        im[i] = T_GET(x, x[2 * i + 1]);
    }
}
#endif

#if !T_to_real || (!T_odd && (T_split || T_gathers))
/* And together again, times `scale`. */
MODC_INLINE void T_NAME_together(T_of_y *restrict y, const T_real *restrict re, const T_real *restrict im, const int count,
                                 const T_real scale)
{
    int i = 0;

    for (; i + T_LANES <= count; i += T_LANES) {
        const T_vec a = T_V(load)(re + i) * scale, b = T_V(load)(im + i) * scale;

        T_OF(y, store)(y + 2 * i, T_V(zip_low)(a, b));
        if (T_LANES > 1)
            T_OF(y, store)(y + 2 * i + T_LANES, T_V(zip_high)(a, b));
        else
            y[2 * i + 1] = T_PUT(y, im[i] * scale);
    }
    for (; i < count; i++) {
        y[2 * i] = T_PUT(y, re[i] * scale);
        y[2 * i + 1] = T_PUT(y, im[i] * scale);
    }
}
#endif

#if T_halves
/* What the transform z of pairs of neighbours says of the transform of all, at k from z[k] and z[T_n - k]; and back. */
MODC_INLINE void T_NAME_half(T_vec *re, T_vec *im, const T_vec a, const T_vec b, const T_vec c, const T_vec d, const T_vec cosine,
                             const T_vec sine)
{
#if T_from_real
    const T_vec off = a - c, sum = b + d;

    *re = (a + c + cosine * sum + sine * off) * (T_real)0.5;
    *im = (b - d + sine * sum - cosine * off) * (T_real)0.5;
#else
    const T_vec off = a - c, sum = b + d;

    *re = a + c - (cosine * sum - sine * off);
    *im = b - d + (cosine * off + sine * sum);
#endif
}
#endif

#if T_split
#if T_halves
/* All of them along a line, in vectors that run against each other. */
MODC_INLINE void T_NAME_line(T_real *restrict to_re, T_real *restrict to_im, const T_real *restrict re, const T_real *restrict im,
                             const T_real *restrict w, const int n)
{
    const T_real *const sine = w + n + 1;
    int k = 1;

    for (; k + T_LANES <= n; k += T_LANES) {
        T_vec a, b;

        T_NAME_half(&a, &b, T_V(load)(re + k), T_V(load)(im + k), T_V(reverse)(T_V(load)(re + n - k - T_LANES + 1)),
                    T_V(reverse)(T_V(load)(im + n - k - T_LANES + 1)), T_V(load)(w + k), T_V(load)(sine + k));
        T_V(store)(to_re + k, a);
        T_V(store)(to_im + k, b);
    }
    for (int i = 0; i <= n; i = i == 0 ? k : i + 1) {
        const int at = T_IF(T_from_real, i % n, i), other = T_IF(T_from_real, (n - i) % n, n - i);
        T_vec a, b;

        T_NAME_half(&a, &b, T_V(set)(re[at]), T_V(set)(im[at]), T_V(set)(re[other]), T_V(set)(im[other]), T_V(set)(w[i]),
                    T_V(set)(sine[i]));
        T_V(store_part)(to_re + i, a, 1);
        T_V(store_part)(to_im + i, b, 1);
    }
}
#endif

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_real *restrict w, const int64_t *restrict p,
                        const T_real *restrict scale, T_real *restrict v T_ARGS)
{
    const int x_row = 2 * T_IF(T_to_real, (T_n + 1), T_n), y_row = 2 * T_IF(T_from_real, (T_n + 1), T_n);
#if !T_from_real
    const int real = T_IF(T_inverse, T_plane, 0), imaginary = T_IF(T_inverse, 0, T_plane);
#endif
#if T_by_rows
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    if (T_n2 < T_ld2 || T_n1 < T_ld1) /* what fills up vectors is computed with, too */
        memset(v, 0, 4 * (size_t)T_plane * sizeof *v);
    for (int row = T_IF(T_by_rows, from, 0); row < T_IF(T_by_rows, to, T_m); row++) {
        T_real *at = v, *other;
        const T_of_x *from_x = x + row * x_row;
        T_of_y *to_y = y + row * y_row;

#if T_to_real
        other = v + 2 * T_plane;
        T_NAME_apart(other, other + T_plane, from_x, T_n + 1);
        other[T_plane] = 0;
        other[T_plane + T_n] = 0;
        T_NAME_line(other + 2 * T_plane, other + 3 * T_plane, other, other + T_plane, w + T_halves_at, T_n);
        for (int i = 0; i < T_n1; i++) {
            memcpy(at + real + i * T_ld2, other + 2 * T_plane + i * T_n2, (size_t)T_n2 * sizeof *at);
            memcpy(at + imaginary + i * T_ld2, other + 3 * T_plane + i * T_n2, (size_t)T_n2 * sizeof *at);
        }
#else
        for (int i = 0; i < T_n1; i++)
            T_NAME_apart(at + T_IF(T_from_real, 0, real) + i * T_ld2, at + T_IF(T_from_real, T_plane, imaginary) + i * T_ld2, from_x + 2 * i * T_n2, T_n2);
#endif
        at = T_PARTS_passes(v, v + 2 * T_plane, T_plane, w, p, T_n1, T_ld2);
        other = at == v ? v + 2 * T_plane : v;
        for (int i = 0; i < T_n1 * T_ld2; i += T_LANES) {
            const T_vec a = T_V(load)(at + i), b = T_V(load)(at + T_plane + i);
            const T_vec cosine = T_V(load)(w + T_turns_at + i), sine = T_V(load)(w + T_turns_at + T_n1 * T_ld2 + i);

            T_V(store)(at + i, a * cosine - b * sine);
            T_V(store)(at + T_plane + i, a * sine + b * cosine);
        }
        T_PARTS_turned(other, T_ld1, at, T_ld2, T_n2, T_n1);
        T_PARTS_turned(other + T_plane, T_ld1, at + T_plane, T_ld2, T_n2, T_n1);
        at = T_PARTS_passes(other, at, T_plane, w + T_second_at, p + 1 + p[0], T_n2, T_ld1);
#if T_from_real
        other = at == v ? v + 2 * T_plane : v;
        for (int i = 0; i < T_n2; i++) {
            memmove(at + i * T_n1, at + i * T_ld1, (size_t)T_n1 * sizeof *at);
            memmove(at + T_plane + i * T_n1, at + T_plane + i * T_ld1, (size_t)T_n1 * sizeof *at);
        }
        T_NAME_line(other, other + T_plane, at, at + T_plane, w + T_halves_at, T_n);
        T_NAME_together(to_y, other, other + T_plane, T_n + 1, scale[0]);
#else
        for (int i = 0; i < T_n2; i++)
            T_NAME_together(to_y + 2 * i * T_n1, at + real + i * T_ld1, at + imaginary + i * T_ld1, T_n1, scale[0]);
#endif
    }
}
#else
#if !T_from_real || (!T_odd && T_gathers)
/* Pairs of a block, `count` along the axis, into planes of columns; rows that are gathered go through t. */
MODC_INLINE void T_NAME_load(T_real *restrict re, T_real *restrict im, T_real *restrict t, const T_of_x *restrict x,
                             const int count, const int width, const int stride)
{
#if T_gathers
    for (int i = 0; i < width; i++)
        T_NAME_apart(t + i * count, t + (T_P + i) * count, x + i * 2 * count, count);
    T_PARTS_turned(re, T_P, t, count, count, width);
    T_PARTS_turned(im, T_P, t + T_P * count, count, count, width);
#else
    for (int k = 0; k < count; k++)
        T_NAME_apart(re + k * T_P, im + k * T_P, x + k * 2 * stride, width);
#endif
}
#endif

#if !T_to_real || (!T_odd && T_gathers)
/* And back, times `scale`. */
MODC_INLINE void T_NAME_store(T_of_y *restrict y, T_real *restrict t, const T_real *restrict re, const T_real *restrict im,
                              const int count, const int width, const int stride, const T_real scale)
{
#if T_gathers
    T_PARTS_turned(t, count, re, T_P, width, count);
    T_PARTS_turned(t + T_P * count, count, im, T_P, width, count);
    for (int i = 0; i < width; i++)
        T_NAME_together(y + i * 2 * count, t + i * count, t + (T_P + i) * count, count, scale);
#else
    for (int k = 0; k < count; k++)
        T_NAME_together(y + k * 2 * stride, re + k * T_P, im + k * T_P, width, scale);
#endif
}
#endif

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_real *restrict w, const int64_t *restrict p,
                        const T_real *restrict scale, T_real *restrict v T_ARGS)
{
    const int plane = (T_n + 1) * T_P;
#if T_from_real || T_to_real
    const int bins = T_IF(T_odd, T_n / 2 + 1, T_n + 1), whole = T_IF(T_odd, T_n, 2 * T_n);
#endif
#if !T_from_real
    const int real = T_IF(T_inverse, plane, 0), imaginary = T_IF(T_inverse, 0, plane);
#endif
#if T_gathers
    const int blocks = (T_m + T_P - 1) / T_P;
#else
    const int columns = (T_c + T_P - 1) / T_P, blocks = T_m * columns;
#endif
#if T_by_rows
    const int from = modc_share(blocks, slice, T_slices), to = modc_share(blocks, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    for (int block = T_IF(T_by_rows, from, 0); block < T_IF(T_by_rows, to, blocks); block++) {
#if T_gathers
        const int row = block * T_P, column = 0, width = modc_min(T_P, T_m - row);
#else
        const int row = block / columns, column = block % columns * T_P, width = modc_min(T_P, T_c - column);
#endif
        T_real *at = v, *const t = v + 4 * plane;

        if (width < T_P) /* what fills up vectors is computed with, too */
            memset(v, 0, 4 * (size_t)plane * sizeof *v);
#if T_from_real
        const T_of_x *const from_x = x + row * whole * T_c + column;
        T_of_y *const to_y = y + (row * bins * T_c + column) * 2;

#if T_odd
        for (int k = 0; k < T_n; k++)
            for (int q = 0; q < width; q++)
                at[k * T_P + q] = T_GET(x, from_x[T_IF(T_gathers, q * T_n + k, k * T_c + q)]);
        memset(at + plane, 0, (size_t)plane * sizeof *at);
#elif T_gathers
        T_NAME_load(at, at + plane, t, from_x, T_n, width, T_c);
#else
        for (int k = 0; k < T_n; k++) {
            for (int q = 0; q < width; q++) {
                at[k * T_P + q] = T_GET(x, from_x[2 * k * T_c + q]);
                at[plane + k * T_P + q] = T_GET(x, from_x[(2 * k + 1) * T_c + q]);
            }
        }
#endif
#elif T_to_real
        const T_of_x *const from_x = x + (row * bins * T_c + column) * 2;
        T_of_y *const to_y = y + row * whole * T_c + column;

#if T_odd
        T_NAME_load(at + real, at + imaginary, t, from_x, bins, width, T_c);
        memset(at + imaginary, 0, T_P * sizeof *at);
        for (int k = 1; k < bins; k++) {
            for (int q = 0; q < T_P; q++) {
                at[real + (T_n - k) * T_P + q] = at[real + k * T_P + q];
                at[imaginary + (T_n - k) * T_P + q] = -at[imaginary + k * T_P + q];
            }
        }
#else
        T_real *const half = v + 2 * plane;

        T_NAME_load(half, half + plane, t, from_x, bins, width, T_c);
        memset(half + plane, 0, T_P * sizeof *at);
        memset(half + plane + T_n * T_P, 0, T_P * sizeof *at);
        for (int k = 0; k < T_n; k++) {
            const T_vec cosine = T_V(set)(w[T_halves_at + k]), sine = T_V(set)(w[T_halves_at + T_n + 1 + k]);

            for (int q = 0; q < T_P; q += T_LANES) {
                const T_real *const a = half + k * T_P + q, *const b = half + (T_n - k) * T_P + q;
                T_vec re, im;

                T_NAME_half(&re, &im, T_V(load)(a), T_V(load)(a + plane), T_V(load)(b), T_V(load)(b + plane), cosine, sine);
                T_V(store)(at + real + k * T_P + q, re);
                T_V(store)(at + imaginary + k * T_P + q, im);
            }
        }
#endif
#else
        const T_of_x *const from_x = x + (row * T_n * T_c + column) * 2;
        T_of_y *const to_y = y + (row * T_n * T_c + column) * 2;

        T_NAME_load(at + real, at + imaginary, t, from_x, T_n, width, T_c);
#endif
        at = T_PARTS_passes(v, v + 2 * plane, plane, w, p, T_n, T_P);
#if T_from_real && !T_odd
        T_real *const half = at == v ? v + 2 * plane : v;

        for (int k = 0; k <= T_n; k++) {
            const T_vec cosine = T_V(set)(w[T_halves_at + k]), sine = T_V(set)(w[T_halves_at + T_n + 1 + k]);

            for (int q = 0; q < T_P; q += T_LANES) {
                const T_real *const a = at + k % T_n * T_P + q, *const b = at + (T_n - k) % T_n * T_P + q;
                T_vec re, im;

                T_NAME_half(&re, &im, T_V(load)(a), T_V(load)(a + plane), T_V(load)(b), T_V(load)(b + plane), cosine, sine);
                T_V(store)(half + k * T_P + q, re);
                T_V(store)(half + plane + k * T_P + q, im);
            }
        }
        T_NAME_store(to_y, t, half, half + plane, bins, width, T_c, scale[0]);
#elif T_from_real
        T_NAME_store(to_y, t, at, at + plane, bins, width, T_c, scale[0]);
#elif T_to_real && T_odd
#if T_gathers
        T_PARTS_turned(t, T_n, at + real, T_P, width, T_n);
        for (int i = 0; i < width * T_n; i++)
            to_y[i] = T_PUT(y, t[i] * scale[0]);
#else
        for (int k = 0; k < T_n; k++)
            for (int q = 0; q < width; q++)
                to_y[k * T_c + q] = T_PUT(y, at[real + k * T_P + q] * scale[0]);
#endif
#elif T_to_real && !T_gathers
        for (int k = 0; k < T_n; k++) {
            for (int q = 0; q < width; q++) {
                to_y[2 * k * T_c + q] = T_PUT(y, at[real + k * T_P + q] * scale[0]);
                to_y[(2 * k + 1) * T_c + q] = T_PUT(y, at[imaginary + k * T_P + q] * scale[0]);
            }
        }
#else
        T_NAME_store(to_y, t, at + real, at + imaginary, T_n, width, T_c, scale[0]);
#endif
    }
}
#endif
