/* y (T_batch, T_n, 1): which row stands in each place when row after row was exchanged with the one that x (T_batch, T_n, 1) says. What is
 * no row is left alone. */
T_COMMENT
MODC_INLINE void T_NAME(T_real *T_RESTRICT y, const T_real *restrict x T_ARGS)
{
#if T_by_batches
    const int from = modc_share(T_batch, slice, T_slices), to = modc_share(T_batch, slice + 1, T_slices);

#endif
    for (int b = T_IF(T_by_batches, from, 0); b < T_IF(T_by_batches, to, T_batch); b++) {
        T_real *const order = y + b * T_n;

        for (int i = 0; i < T_n; i++)
            order[i] = (T_real)i;
        for (int i = 0; i < T_n; i++) {
            const T_real kept = order[i], at = x[b * T_n + i];

            if (at >= 0 && at < (T_real)T_n) {
                order[i] = order[(int)at];
                order[(int)at] = kept;
            }
        }
    }
}
