/* What the kernels of Fourier transforms share: passes over planes of real and of imaginary parts, and ways in and out.
 *
 * T_some_RADIX: 1 where some transform has passes of it. */

/* Sums of an odd number of values, each times the powers of another root of 1. */
MODC_INLINE void T_NAME_sums(T_vec *restrict re, T_vec *restrict im, const T_real *restrict roots, const int radix)
{
    T_vec sum_re[6], sum_im[6], off_re[6], off_im[6], all_re = re[0], all_im = im[0];

    MODC_UNROLL
    for (int j = 0; j < radix / 2; j++) {
        sum_re[j] = re[1 + j] + re[radix - 1 - j];
        sum_im[j] = im[1 + j] + im[radix - 1 - j];
        off_re[j] = re[1 + j] - re[radix - 1 - j];
        off_im[j] = im[1 + j] - im[radix - 1 - j];
        all_re += sum_re[j];
        all_im += sum_im[j];
    }
    MODC_UNROLL
    for (int k = 1; k <= radix / 2; k++) {
        T_vec a = re[0], b = im[0], c = T_V(set)(0), d = T_V(set)(0);

        MODC_UNROLL
        for (int j = 0; j < radix / 2; j++) {
            const T_real *const root = roots + (1 + j) * k % radix * 2;

            a += sum_re[j] * root[0];
            b += sum_im[j] * root[0];
            c += off_re[j] * root[1];
            d += off_im[j] * root[1];
        }
        re[k] = a - d;
        im[k] = b + c;
        re[radix - k] = a + d;
        im[radix - k] = b - c;
    }
    re[0] = all_re;
    im[0] = all_im;
}

/* One pass over m sums of values that are s elements: those of sum p lie m * s apart. */
MODC_INLINE void T_NAME_pass(T_real *restrict to_re, T_real *restrict to_im, const T_real *restrict re, const T_real *restrict im,
                             const T_real *restrict w, const int radix, const int m, const int s)
{
    static const T_real roots3[] = {1, 0, (T_real)-0.5, (T_real)-0.86602540378443864676, (T_real)-0.5, (T_real)0.86602540378443864676};
    static const T_real roots5[] = {1, 0, (T_real)0.30901699437494742410, (T_real)-0.95105651629515357212,
                                    (T_real)-0.80901699437494742410, (T_real)-0.58778525229247312917,
                                    (T_real)-0.80901699437494742410, (T_real)0.58778525229247312917,
                                    (T_real)0.30901699437494742410, (T_real)0.95105651629515357212};
    const T_real *const roots = radix == 3 ? roots3 : radix == 5 ? roots5
                                                                 : w;

    w += radix > 5 ? 2 * radix : 0;
    for (int p = 0; p < m; p++, w += 2 * (radix - 1)) {
        const int from = p * s, to = p * radix * s, step = m * s;

        for (int q = 0; q < s; q += T_LANES) {
            T_vec a[13], b[13];

            MODC_UNROLL
            for (int j = 0; j < radix; j++) {
                a[j] = T_V(load)(re + from + j * step + q);
                b[j] = T_V(load)(im + from + j * step + q);
            }
            if (radix == 2) {
                const T_vec c = a[0] - a[1], d = b[0] - b[1];

                a[0] += a[1];
                b[0] += b[1];
                a[1] = c;
                b[1] = d;
            } else if (radix == 4) {
                const T_vec sum = a[0] + a[2], off = a[0] - a[2], sum_im = b[0] + b[2], off_im = b[0] - b[2];
                const T_vec other = a[1] + a[3], turn = a[1] - a[3], other_im = b[1] + b[3], turn_im = b[1] - b[3];

                a[0] = sum + other;
                b[0] = sum_im + other_im;
                a[1] = off + turn_im;
                b[1] = off_im - turn;
                a[2] = sum - other;
                b[2] = sum_im - other_im;
                a[3] = off - turn_im;
                b[3] = off_im + turn;
            } else {
                T_NAME_sums(a, b, roots, radix);
            }
            T_V(store)(to_re + to + q, a[0]);
            T_V(store)(to_im + to + q, b[0]);
            MODC_UNROLL
            for (int j = 1; j < radix; j++) {
                const T_real *const factor = w + 2 * (j - 1);

                T_V(store)(to_re + to + j * s + q, m == 1 ? a[j] : a[j] * factor[0] - b[j] * factor[1]);
                T_V(store)(to_im + to + j * s + q, m == 1 ? b[j] : a[j] * factor[1] + b[j] * factor[0]);
            }
        }
    }
}

/* All passes over n values of s elements, of the planes at `from`, `plane` apart, between these and those at `to`. Returns where the
 * result is. */
MODC_OUTLINE T_real *T_NAME_passes(T_real *from, T_real *to, const int plane, const T_real *w, const int64_t *p, int n, int s)
{
    T_real *other;

    for (int i = 1; i <= (int)p[0]; i++) {
        const int radix = (int)p[i], m = n / radix;

        switch (radix) {
#if T_some_2
        case 2:
            T_NAME_pass(to, to + plane, from, from + plane, w, 2, m, s);
            break;
#endif
#if T_some_3
        case 3:
            T_NAME_pass(to, to + plane, from, from + plane, w, 3, m, s);
            break;
#endif
#if T_some_5
        case 5:
            T_NAME_pass(to, to + plane, from, from + plane, w, 5, m, s);
            break;
#endif
#if T_some_7
        case 7:
            T_NAME_pass(to, to + plane, from, from + plane, w, 7, m, s);
            break;
#endif
#if T_some_11
        case 11:
            T_NAME_pass(to, to + plane, from, from + plane, w, 11, m, s);
            break;
#endif
#if T_some_13
        case 13:
            T_NAME_pass(to, to + plane, from, from + plane, w, 13, m, s);
            break;
#endif
        default:
            T_NAME_pass(to, to + plane, from, from + plane, w, 4, m, s);
        }
        w += 2 * m * (radix - 1) + (radix > 5 ? 2 * radix : 0);
        n = m;
        s *= radix;
        other = from;
        from = to;
        to = other;
    }
    return from;
}

/* y (rows, columns), its rows ldy apart, is x (columns, rows), its rows ldx apart, transposed. */
MODC_INLINE void T_NAME_turned(T_real *restrict y, const int ldy, const T_real *restrict x, const int ldx, const int rows,
                               const int columns)
{
#if T_single
    T_V(transpose)(y, ldy, x, ldx, rows, columns);
#else
    MODC_ROLL
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            y[i * ldy + j] = x[j * ldx + i];
#endif
}
