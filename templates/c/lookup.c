/* y (T_m, T_k) = those rows of w (n, T_k) whose numbers x (T_m) has, each within w. w lies in panels as gemm_narrow has it. Fits: w is
 * packed in fewer bits, T_k is a constant; contiguous values; T_m may be a size. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w T_ARGS)
{
    const int from = T_IF(T_by_rows, modc_share(T_m, slice, T_slices), 0);
    const int to = T_IF(T_by_rows, modc_share(T_m, slice + 1, T_slices), T_m);

    for (int i = from; i < to; i++) {
        const int row = (int)x[i], lane = row % T_P;
        const T_of_w *const panel = T_IF(T_coded, modc_coded_panel(w, row / T_P), w + (ptrdiff_t)(row / T_P) * T_panel);
#if T_scaled
        const T_of_s *const s = (const T_of_s *)(const void *)panel;
#endif

        for (int k = 0; k < T_k; k++) {
#if T_packs
            const T_real value = (T_real)modc_int4_get(panel + T_head + (k / 8 * T_P + lane) * 4, k % 8);
#elif T_coded
            const T_real value = (T_real)modc_coded_get(panel, T_head, k, lane);
#elif T_together
            const T_real value = (T_real)modc_byte_get(panel + T_head + (k / 4 * T_P + lane) * 4, k % 4);
#else
            const T_real value = T_GET(w, panel[T_head + k * T_P + lane]);
#endif

#if T_grouped
            y[i * T_k + k] = T_PUT(y, value * T_GET(s, s[k / T_group * T_P + lane]));
#elif T_scaled
            y[i * T_k + k] = T_PUT(y, value * T_GET(s, s[lane]));
#else
            y[i * T_k + k] = T_PUT(y, value);
#endif
        }
#if T_coded
        for (int e = 0; e < modc_coded_count(panel); e++) {
            const struct modc_coded_rest rest = modc_coded_rest_of(panel, e);

            if (rest.at % T_P == lane)
                y[i * T_k + rest.at / T_P] = T_PUT(y, rest.value);
        }
#endif
    }
}
