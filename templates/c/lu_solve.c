/* y (T_batch, T_n, T_k + 1): in its first T_k columns what matrices x (T_batch, T_n, T_n) take to e0 (T_batch, T_n, T_k), in the last the
 * pivots. v: T_n * T_n elements. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    const int ldy = T_k + 1;

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        T_real *const r = y + b * T_n * ldy;

        memcpy(v, x + b * T_n * T_n, sizeof *v * (size_t)(T_n * T_n));
        for (int i = 0; i < T_n; i++)
            memcpy(r + i * ldy, e0 + (b * T_n + i) * T_k, sizeof *r * (size_t)T_k);
        for (int k = 0; k < T_n; k++) {
            T_real *const top = v + k * T_n, *const row = r + k * ldy;
            int most = k;

            for (int i = k + 1; i < T_n; i++)
                if (T_S(abs)(v[i * T_n + k]) > T_S(abs)(v[most * T_n + k]))
                    most = i;
            if (most != k) {
                for (int j = k; j < T_n; j++) {
                    const T_real kept = top[j];

                    top[j] = v[most * T_n + j];
                    v[most * T_n + j] = kept;
                }
                for (int j = 0; j < T_k; j++) {
                    const T_real kept = row[j];

                    row[j] = r[most * ldy + j];
                    r[most * ldy + j] = kept;
                }
            }
            row[T_k] = top[k];
            for (int i = k + 1; i < T_n; i++) {
                const T_real scale = v[i * T_n + k] / top[k];

                for (int j = k + 1; j < T_n; j++)
                    v[i * T_n + j] -= scale * top[j];
                for (int j = 0; j < T_k; j++)
                    r[i * ldy + j] -= scale * row[j];
            }
        }
        for (int i = T_n - 1; i >= 0; i--) {
            for (int k = i + 1; k < T_n; k++)
                for (int j = 0; j < T_k; j++)
                    r[i * ldy + j] -= v[i * T_n + k] * r[k * ldy + j];
            for (int j = 0; j < T_k; j++)
                r[i * ldy + j] /= v[i * T_n + i];
        }
    }
}
