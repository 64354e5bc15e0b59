/* y (T_batch, T_n + 1, T_n): eigenvalues, in order, over eigenvectors in columns, of symmetric matrices x (T_batch, T_n, T_n), which are
 * read on and below the diagonal. Rotations turn one element after another to 0 until those off the diagonal are nothing beside the
 * others. NaN is above all. v: the matrix, and its vectors in rows. */
MODC_INLINE void T_NAME_turn(T_real *restrict one, T_real *restrict other, const int n, const T_real c, const T_real s)
{
    for (int j = 0; j < n; j++) {
        const T_real first = one[j], second = other[j];

        one[j] = c * first - s * second;
        other[j] = s * first + c * second;
    }
}

MODC_INLINE bool T_NAME_before(const T_real a, const T_real b)
{
    return a < b || (b != b && a == a);
}

T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
    T_real *const rows = v + T_n * T_n;

    for (int b = 0; b < T_batch; b++) {
        const T_real *const a = x + b * T_n * T_n;
        T_real *const values = y + b * (T_n + 1) * T_n, *const vectors = values + T_n;

        for (int i = 0; i < T_n; i++) {
            for (int j = 0; j <= i; j++) {
                v[i * T_n + j] = a[i * T_n + j];
                v[j * T_n + i] = a[i * T_n + j];
            }
            for (int j = 0; j < T_n; j++)
                rows[i * T_n + j] = i == j;
        }
        for (int sweep = 0; sweep < 40; sweep++) {
            bool turned = false;

            for (int p = 0; p < T_n; p++) {
                for (int q = p + 1; q < T_n; q++) {
                    const T_real off = v[p * T_n + q], first = v[p * T_n + p], second = v[q * T_n + q];
                    const T_real half = (second - first) / 2;
                    T_real t, c, s;

                    if (T_S(abs)(first) + T_S(abs)(off) / 8 == T_S(abs)(first) &&
                        T_S(abs)(second) + T_S(abs)(off) / 8 == T_S(abs)(second))
                        continue;
                    turned = true;
                    t = off / (half + T_S(copysign)(T_S(sqrt)(half * half + off * off), half));
                    c = 1 / T_S(sqrt)(t * t + 1);
                    s = t * c;
                    T_NAME_turn(v + p * T_n, v + q * T_n, T_n, c, s);
                    T_NAME_turn(rows + p * T_n, rows + q * T_n, T_n, c, s);
                    for (int i = 0; i < T_n; i++) {
                        v[i * T_n + p] = v[p * T_n + i];
                        v[i * T_n + q] = v[q * T_n + i];
                    }
                    v[p * T_n + p] = first - t * off;
                    v[q * T_n + q] = second + t * off;
                    v[p * T_n + q] = 0;
                    v[q * T_n + p] = 0;
                }
            }
            if (!turned)
                break;
        }
        for (int j = 0; j < T_n; j++) {
            int rank = 0;

            for (int i = 0; i < T_n; i++)
                rank += T_NAME_before(v[i * T_n + i], v[j * T_n + j]) ||
                        (i < j && !T_NAME_before(v[j * T_n + j], v[i * T_n + i]));
            values[rank] = v[j * T_n + j];
            for (int i = 0; i < T_n; i++)
                vectors[i * T_n + rank] = rows[j * T_n + i];
        }
    }
}
