/* y (T_batch, T_m, T_n + 2) of matrices x (T_batch, T_m, T_n): in row i of y L and U of the row of x that column T_n says, L below the
 * diagonal; column T_n + 1 says with which row each was exchanged in its turn. Of equal pivots the first is taken, and a column of zeros
 * stays. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x T_ARGS)
{
    const int ldy = T_n + 2, steps = T_m < T_n ? T_m : T_n;
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);
#endif

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        T_real *const a = y + b * T_m * ldy;

        for (int i = 0; i < T_m; i++) {
            memcpy(a + i * ldy, x + (b * T_m + i) * T_n, sizeof *a * (size_t)T_n);
            a[i * ldy + T_n] = (T_real)i;
            a[i * ldy + T_n + 1] = (T_real)i;
        }
        for (int k = 0; k < steps; k++) {
            T_real *const top = a + k * ldy;
            int most = k;

            for (int i = k + 1; i < T_m; i++)
                if (T_S(abs)(a[i * ldy + k]) > T_S(abs)(a[most * ldy + k]))
                    most = i;
            if (most != k) {
                for (int j = 0; j <= T_n; j++) {
                    const T_real kept = top[j];

                    top[j] = a[most * ldy + j];
                    a[most * ldy + j] = kept;
                }
                top[T_n + 1] = (T_real)most;
            }
            for (int i = k + 1; i < T_m && top[k] != 0; i++) {
                T_real *const row = a + i * ldy;
                const T_real scale = row[k] / top[k];

                row[k] = scale;
                for (int j = k + 1; j < T_n; j++)
                    row[j] -= scale * top[j];
            }
        }
    }
}
