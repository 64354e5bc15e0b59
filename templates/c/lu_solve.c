/* y (T_batch, T_n, T_k + 1): in its first T_k columns what matrices x (T_batch, T_n, T_n) take to e0 (T_batch, T_n, T_k), in the last the
 * pivots. v: T_n * T_n elements. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
    const int ld = T_k + 1;

    for (int b = 0; b < T_batch; b++) {
        T_real *const r = y + b * T_n * ld;

        memcpy(v, x + b * T_n * T_n, sizeof *v * (size_t)(T_n * T_n));
        for (int i = 0; i < T_n; i++)
            memcpy(r + i * ld, e0 + (b * T_n + i) * T_k, sizeof *r * (size_t)T_k);
        for (int k = 0; k < T_n; k++) {
            T_real *const top = v + k * T_n, *const known = r + k * ld;
            int best = k;

            for (int i = k + 1; i < T_n; i++)
                if (T_S(abs)(v[i * T_n + k]) > T_S(abs)(v[best * T_n + k]))
                    best = i;
            if (best != k) {
                for (int j = k; j < T_n; j++) {
                    const T_real held = top[j];

                    top[j] = v[best * T_n + j];
                    v[best * T_n + j] = held;
                }
                for (int j = 0; j < T_k; j++) {
                    const T_real held = known[j];

                    known[j] = r[best * ld + j];
                    r[best * ld + j] = held;
                }
            }
            known[T_k] = top[k];
            for (int i = k + 1; i < T_n; i++) {
                const T_real factor = v[i * T_n + k] / top[k];

                for (int j = k + 1; j < T_n; j++)
                    v[i * T_n + j] -= factor * top[j];
                for (int j = 0; j < T_k; j++)
                    r[i * ld + j] -= factor * known[j];
            }
        }
        for (int i = T_n - 1; i >= 0; i--) {
            for (int k = i + 1; k < T_n; k++)
                for (int j = 0; j < T_k; j++)
                    r[i * ld + j] -= v[i * T_n + k] * r[k * ld + j];
            for (int j = 0; j < T_k; j++)
                r[i * ld + j] /= v[i * T_n + i];
        }
    }
}
