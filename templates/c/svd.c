/* y (T_batch, T_m + T_n + 1, T_k) of matrices x (T_batch, T_m, T_n) that are no wider than high: U (T_m, T_k) over the singular values,
 * the largest first, over V (T_n, T_n). Rotations turn columns of x against each other until all are orthogonal; their lengths are the
 * values. Columns of U that have no length, or are more than x has, complete the others. NaN is above all. v: the columns in rows, V in
 * rows, lengths. */
MODC_INLINE T_real T_NAME_dot(const T_real *one, const T_real *next, const int n)
{
    T_real sum = 0;

    for (int j = 0; j < n; j++)
        sum += one[j] * next[j];
    return sum;
}

T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    T_real *const rows = v + T_n * T_m, *const lengths = rows + T_n * T_n;

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        const T_real *const a = x + b * T_m * T_n;
        T_real *const u = y + b * (T_m + T_n + 1) * T_k, *const values = u + T_m * T_k, *const vectors = values + T_k;
        T_real most = 0;

        for (int i = 0; i < T_m * T_n; i++)
            most = T_S(max)(most, T_S(abs)(a[i]));
        if (!(most > 0 && most - most == 0))
            most = 1;
        for (int j = 0; j < T_n; j++) {
            for (int i = 0; i < T_m; i++)
                v[j * T_m + i] = a[i * T_n + j] / most;
            for (int i = 0; i < T_n; i++)
                rows[j * T_n + i] = i == j;
        }
        for (int step = 0; step < 40; step++) {
            int some = 0;

            for (int p = 0; p < T_n; p++) {
                for (int q = p + 1; q < T_n; q++) {
                    const T_real first = T_NAME_dot(v + p * T_m, v + p * T_m, T_m);
                    const T_real last = T_NAME_dot(v + q * T_m, v + q * T_m, T_m);
                    const T_real off = T_NAME_dot(v + p * T_m, v + q * T_m, T_m);
                    const T_real size = T_S(sqrt)(first) * T_S(sqrt)(last);
                    T_real c, s;

                    if (!(size + T_S(abs)(off) / 8 > size))
                        continue;
                    some = 1;
                    T_PARTS_angle(first, last, off, &c, &s);
                    T_PARTS_turn(v + p * T_m, v + q * T_m, T_m, c, s);
                    T_PARTS_turn(rows + p * T_n, rows + q * T_n, T_n, c, s);
                }
            }
            if (!some)
                break;
        }
        for (int j = 0; j < T_n; j++)
            lengths[j] = T_S(sqrt)(T_NAME_dot(v + j * T_m, v + j * T_m, T_m));
        memset(u, 0, sizeof *u * (size_t)((T_m + T_n + 1) * T_k));
        for (int j = 0; j < T_n; j++) {
            int at = 0;

            for (int i = 0; i < T_n; i++)
                at += T_PARTS_above(lengths[i], lengths[j]) || (i < j && !T_PARTS_above(lengths[j], lengths[i]));
            values[at] = lengths[j] * most;
            for (int i = 0; i < T_n; i++)
                vectors[i * T_k + at] = rows[j * T_n + i];
            for (int i = 0; i < T_m; i++)
                u[i * T_k + at] = lengths[j] == 0 ? 0 : v[j * T_m + i] / lengths[j];
        }
        for (int j = 0; j < T_k; j++) {
            if (j < T_n && values[j] != 0)
                continue;
            for (int e = 0; e < T_m; e++) {
                T_real sum;

                for (int i = 0; i < T_m; i++)
                    v[i] = i == e;
                for (int h = 0; h < 2 * j; h++) { /* each twice, for what rounding left of the others */
                    const T_real *const other = u + h % j;

                    sum = 0;
                    for (int i = 0; i < T_m; i++)
                        sum += v[i] * other[i * T_k];
                    for (int i = 0; i < T_m; i++)
                        v[i] -= sum * other[i * T_k];
                }
                sum = T_NAME_dot(v, v, T_m);
                if (sum * (T_real)(2 * T_m) < 1)
                    continue;
                for (int i = 0; i < T_m; i++)
                    u[i * T_k + j] = v[i] / T_S(sqrt)(sum);
                break;
            }
        }
    }
}
