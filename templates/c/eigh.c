/* y (T_batch, T_n + 1, T_n): eigenvalues, in order, over eigenvectors in columns, of symmetric matrices x (T_batch, T_n, T_n), which are
 * read on and below the diagonal. Rotations turn one element after another to 0 until those off the diagonal are nothing beside the
 * others. NaN is above all. v: the matrix, and its vectors in rows; it is written to both sides of the diagonal, since what gcc 12 makes
 * for AVX-512 of a copy that reads both is wrong. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    T_real *const rows = v + T_n * T_n;

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        const T_real *const a = x + b * T_n * T_n;
        T_real *const outputs = y + b * (T_n + 1) * T_n, *const vectors = outputs + T_n;

        for (int i = 0; i < T_n; i++) {
            for (int j = 0; j <= i; j++) {
                v[i * T_n + j] = a[i * T_n + j];
                v[j * T_n + i] = a[i * T_n + j];
            }
            for (int j = 0; j < T_n; j++)
                rows[i * T_n + j] = i == j;
        }
        for (int step = 0; step < 40; step++) {
            int some = 0;

            for (int p = 0; p < T_n; p++) {
                for (int q = p + 1; q < T_n; q++) {
                    const T_real off = v[p * T_n + q], first = v[p * T_n + p], last = v[q * T_n + q];
                    T_real t, c, s;

                    if (T_S(abs)(first) + T_S(abs)(off) / 8 == T_S(abs)(first) &&
                        T_S(abs)(last) + T_S(abs)(off) / 8 == T_S(abs)(last))
                        continue;
                    some = 1;
                    t = T_PARTS_angle(first, last, off, &c, &s);
                    T_PARTS_turn(v + p * T_n, v + q * T_n, T_n, c, s);
                    T_PARTS_turn(rows + p * T_n, rows + q * T_n, T_n, c, s);
                    for (int i = 0; i < T_n; i++) {
                        v[i * T_n + p] = v[p * T_n + i];
                        v[i * T_n + q] = v[q * T_n + i];
                    }
                    v[p * T_n + p] = first - t * off;
                    v[q * T_n + q] = last + t * off;
                    v[p * T_n + q] = 0;
                    v[q * T_n + p] = 0;
                }
            }
            if (!some)
                break;
        }
        for (int j = 0; j < T_n; j++) {
            int at = 0;

            for (int i = 0; i < T_n; i++)
                at += T_PARTS_above(v[j * T_n + j], v[i * T_n + i]) ||
                      (i < j && !T_PARTS_above(v[i * T_n + i], v[j * T_n + j]));
            outputs[at] = v[j * T_n + j];
            for (int i = 0; i < T_n; i++)
                vectors[i * T_n + at] = rows[j * T_n + i];
        }
    }
}
