/* y[b] (T_m, columns) = softmax(q[b] (T_m, inner) . k[b] (inner, T_n)) . v[b] (T_n, columns), for b in (T_batch0, T_batch1).
 *
 * A block of T_rows queries of one head at a time, whose scores stand in s: T_SCORES makes them, T_SOFTMAX does what their tail
 * says and runs in place, T_VALUES makes rows of y, with its own tail. Each is a kernel over one block, of T_queries rows
 * unless all blocks are of one height (T_even). T_causal: no query sees more than T_ahead keys behind its own number, the
 * first of a block T_reach of them, and all of it T_seen. T_turned: T_KEYS transposes the keys of a head first, into what lies
 * T_room behind s, so that the scores can be made in vectors of them.
 *
 * Rows, batches and operands of the tails lie where the strides say: T_ym, T_y0, T_y1, T_qm, T_q0, T_q1, T_k0, T_k1, T_v0,
 * T_v1, and in T_SOFTMAX_PASS and T_VALUES_PASS. Fits: always. s: T_scratch elements. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_q *restrict q, const T_of_k *restrict k,
                        const T_of_v *restrict v, T_real *restrict s T_ARGS)
{
#if T_by_rows
    const int blocks = (T_m + T_rows - 1) / T_rows; /* of a head */
    const int from = modc_share(T_batch0 * T_batch1 * blocks, slice, T_slices);
    const int to = modc_share(T_batch0 * T_batch1 * blocks, slice + 1, T_slices);

    s += slice * T_scratch;
#endif
    for (int batch0 = 0; batch0 < T_batch0; batch0++) {
        for (int batch1 = 0; batch1 < T_batch1; batch1++) {
#if T_by_rows
            const int before = (batch0 * T_batch1 + batch1) * blocks;
            const int first = modc_max(from - before, 0) * T_rows, end = modc_min((to - before) * T_rows, T_m);

            if (first >= end)
                continue;
#endif
#if T_turned
            T_KEYS(s + T_room, k + batch0 * T_k0 + batch1 * T_k1 T_KEYS_PASS);
#endif
            for (int row = T_IF(T_by_rows, first, 0); row < T_IF(T_by_rows, end, T_m); row += T_rows) {
#if !T_even
                const int T_queries = modc_min(T_rows, T_m - row);
#endif
#if T_causal
                const int T_reach = row + 1 + T_ahead, T_seen = modc_min(row + T_IF(T_even, T_rows, T_queries) + T_ahead, T_n);
#endif
#if T_causal || !T_even

#endif
                T_SCORES(s, q + batch0 * T_q0 + batch1 * T_q1 + row * T_qm,
                         T_IF(T_turned, s + T_room, k + batch0 * T_k0 + batch1 * T_k1), NULL T_SCORES_PASS);
                T_SOFTMAX(s T_SOFTMAX_PASS);
                T_VALUES(y + batch0 * T_y0 + batch1 * T_y1 + row * T_ym, s, v + batch0 * T_v0 + batch1 * T_v1,
                         NULL T_VALUES_PASS);
            }
        }
    }
}
