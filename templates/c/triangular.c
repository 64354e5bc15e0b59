/* y (T_batch, T_n, T_k): what matrices x (T_batch, T_n, T_n), read above the diagonal or with T_lower below it, take to e0 as y. T_unit:
 * the diagonal is 1. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

#endif
    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        const T_real *const a = x + b * T_n * T_n;
        T_real *const r = y + b * T_n * T_k;

        memcpy(r, e0 + b * T_n * T_k, sizeof *r * (size_t)(T_n * T_k));
        for (int s = 0; s < T_n; s++) {
            const int i = T_IF(T_lower, s, T_n - 1 - s);

            for (int k = T_IF(T_lower, 0, i + 1); k < T_IF(T_lower, i, T_n); k++)
                for (int j = 0; j < T_k; j++)
                    r[i * T_k + j] -= a[i * T_n + k] * r[k * T_k + j];
#if !T_unit
            for (int j = 0; j < T_k; j++)
                r[i * T_k + j] /= a[i * T_n + i];
#endif
        }
    }
}
