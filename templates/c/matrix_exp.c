/* y (T_batch, T_n, T_n): the exponentials of matrices x: of one that is halved until its rows are no longer than 1, by 18 terms of the
 * series, then squared as often. v: that matrix, and a product. */
MODC_INLINE void T_NAME_product(T_real *restrict y, const T_real *a, const T_real *b, const int n)
{
    memset(y, 0, sizeof *y * (size_t)(n * n));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                y[i * n + j] += a[i * n + k] * b[k * n + j];
}

T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    T_real *const product = v + T_n * T_n;

    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        const T_real *const a = x + b * T_n * T_n;
        T_real *const result = y + b * T_n * T_n, most = 0, scale = 1;
        int halved = 0;

        for (int i = 0; i < T_n; i++) {
            T_real sum = 0;

            for (int j = 0; j < T_n; j++)
                sum += T_S(abs)(a[i * T_n + j]);
            most = T_S(max)(most, sum);
        }
        for (; most * scale > 1 && halved < 1100; halved++)
            scale /= 2;
        for (int i = 0; i < T_n; i++) {
            for (int j = 0; j < T_n; j++) {
                v[i * T_n + j] = a[i * T_n + j] * scale;
                result[i * T_n + j] = i == j;
            }
        }
        for (int term = 18; term > 0; term--) {
            T_NAME_product(product, v, result, T_n);
            for (int i = 0; i < T_n; i++)
                for (int j = 0; j < T_n; j++)
                    result[i * T_n + j] = product[i * T_n + j] / (T_real)term + (T_real)(i == j);
        }
        for (; halved > 0; halved--) {
            T_NAME_product(product, result, result, T_n);
            memcpy(result, product, sizeof *result * (size_t)(T_n * T_n));
        }
    }
}
