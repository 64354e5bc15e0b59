/* y (T_batch, T_m + T_n, T_k): Q (T_m, T_k) over the transposed R (T_k, T_n) of matrices x (T_batch, T_m, T_n), by reflections H = 1 -
 * tau u u^T with u_k = 1 that make -copysign(length, x_k) of a column, as LAPACK has them: none where nothing lies below the diagonal.
 * v: what is left of x, with u below the diagonal; tau of each column, `scale`; a row. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    T_real *const scale = v + T_m * T_n, *const row = scale + T_n;
    const int steps = T_m < T_n ? T_m : T_n;

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        T_real *const q = y + b * (T_m + T_n) * T_k, *const r = q + T_m * T_k;

        memcpy(v, x + b * T_m * T_n, sizeof *v * (size_t)(T_m * T_n));
        for (int k = 0; k < steps; k++) {
            const T_real first = v[k * T_n + k];
            T_real most = 0, sum = 0, made;

            for (int i = k + 1; i < T_m; i++)
                most = T_S(max)(most, T_S(abs)(v[i * T_n + k]));
            scale[k] = 0;
            if (most == 0)
                continue;
            most = T_S(max)(most, T_S(abs)(first));
            for (int i = k; i < T_m; i++)
                sum += v[i * T_n + k] / most * (v[i * T_n + k] / most);
            made = -T_S(copysign)(most * T_S(sqrt)(sum), first);
            scale[k] = (made - first) / made;
            v[k * T_n + k] = made;
            for (int i = k + 1; i < T_m; i++)
                v[i * T_n + k] /= first - made;
            for (int j = k + 1; j < T_n; j++)
                row[j] = v[k * T_n + j];
            for (int i = k + 1; i < T_m; i++)
                for (int j = k + 1; j < T_n; j++)
                    row[j] += v[i * T_n + k] * v[i * T_n + j];
            for (int j = k + 1; j < T_n; j++)
                v[k * T_n + j] -= scale[k] * row[j];
            for (int i = k + 1; i < T_m; i++)
                for (int j = k + 1; j < T_n; j++)
                    v[i * T_n + j] -= scale[k] * v[i * T_n + k] * row[j];
        }
        for (int i = 0; i < T_n; i++)
            for (int j = 0; j < T_k; j++)
                r[i * T_k + j] = j <= i && j < T_m ? v[j * T_n + i] : 0;
        for (int i = 0; i < T_m; i++)
            for (int j = 0; j < T_k; j++)
                q[i * T_k + j] = i == j;
        for (int k = steps - 1; k >= 0; k--) {
            for (int j = k; j < T_k; j++)
                row[j] = q[k * T_k + j];
            for (int i = k + 1; i < T_m; i++)
                for (int j = k; j < T_k; j++)
                    row[j] += v[i * T_n + k] * q[i * T_k + j];
            for (int j = k; j < T_k; j++)
                q[k * T_k + j] -= scale[k] * row[j];
            for (int i = k + 1; i < T_m; i++)
                for (int j = k; j < T_k; j++)
                    q[i * T_k + j] -= scale[k] * v[i * T_n + k] * row[j];
        }
    }
}
