/* L, y (T_batch, T_n, T_n), of matrices x = L . L^T, which are read on and below the diagonal. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

#endif
    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        T_real *const l = y + b * T_n * T_n;
        const T_real *const a = x + b * T_n * T_n;

        for (int i = 0; i < T_n; i++) {
            for (int j = 0; j < T_n; j++) {
                T_real sum = j <= i ? a[i * T_n + j] : 0;

                for (int k = 0; k < j && j <= i; k++)
                    sum -= l[i * T_n + k] * l[j * T_n + k];
                if (j < i)
                    sum /= l[j * T_n + j];
                else if (j == i)
                    sum = sum > 0 ? T_S(sqrt)(sum) : T_V(nan)();
                l[i * T_n + j] = sum;
            }
        }
    }
}
