/* y (T_n) = -log of what x, log-probabilities (T_m, T_n, T_k), give the labels of each sample in all their alignments: Graves
 * et al., Connectionist Temporal Classification, 2006. With T_gradient the slope of it, y as x, as PyTorch has it: for x that
 * log_softmax made.
 *
 * e0: labels, those of sample n from e1[n] on; e2, e3: how many steps, and labels, it has. State s is label s / 2, or for even s
 * the blank before it; from a state leads a way to itself, to the next, and past a blank between two labels that differ. v:
 * by state, in logarithms, the ways that end in it; with T_gradient for each step, and behind them those that begin there, then, where y is stored in a narrower
 * type, the slopes of a step.
 * T_states of them at most. Fits: contiguous values; T_m, T_n, T_k, T_states may be sizes. v: T_scratch elements. */
MODC_INLINE int T_NAME_label(const int64_t *const labels, const int s, const int blank)
{
    return s % 2 == 0 ? blank : (int)labels[s / 2];
}

MODC_INLINE T_real T_NAME_sum(const T_real a, const T_real b, const T_real c)
{
    const T_real most = T_S(max)(T_S(max)(a, b), c), top = most == -T_V(inf)() ? 0 : most;

    return T_S(log)(T_S(exp)(a - top) + T_S(exp)(b - top) + T_S(exp)(c - top)) + top;
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, T_real *restrict v T_ARGS)
{
    const T_real none = -T_V(inf)();
#if T_by_rows
    const int begin = modc_share(T_n, slice, T_slices), end = modc_share(T_n, slice + 1, T_slices);

    v += slice * T_scratch;
#endif

    for (int n = T_IF(T_by_rows, begin, 0); n < T_IF(T_by_rows, end, T_n); n++) {
        const int64_t *const labels = e0 + e1[n];
        const int steps = (int)e2[n], count = (int)e3[n], states = 2 * count + 1;
        T_real total = count > 0 ? none : 0, *at = v;

        for (int s = 0; s < states && steps > 0; s++)
            v[s] = s < 2 ? T_GET(x, x[n * T_k + T_NAME_label(labels, s, T_blank)]) : none;
        for (int t = 1; t < steps; t++) {
#if T_converts_x
            const T_real *const from = at;
            const T_of_x *const row = x + (t * T_n + n) * T_k;
#else
            const T_real *const from = at, *const row = x + (t * T_n + n) * T_k;
#endif

#if T_gradient
            at += T_states;
#endif
            for (int s = states - 1; s >= 0; s--) {
                const int label = T_NAME_label(labels, s, T_blank);
                const T_real next = s > 0 ? from[s - 1] : none;
                const T_real skip = s > 1 && T_NAME_label(labels, s - 2, T_blank) != label ? from[s - 2] : none;

                at[s] = T_NAME_sum(from[s], next, skip) + T_GET(x, row[label]);
            }
        }
        if (steps > 0)
            total = T_NAME_sum(at[states - 1], count > 0 ? at[states - 2] : none, none);
#if T_gradient
        T_real *const behind = v + T_m * T_states;

        for (int t = T_m - 1; t >= 0; t--) {
#if T_converts_x
            const T_of_x *const row = x + (t * T_n + n) * T_k;
            const T_real *const before = v + t * T_states;
#else
            const T_real *const row = x + (t * T_n + n) * T_k, *const before = v + t * T_states;
#endif
            T_real *const slope = T_IF(T_converts_y, behind + T_states, y + (t * T_n + n) * T_k);

            for (int k = 0; k < T_k; k++)
                slope[k] = t < steps ? T_S(exp)(T_GET(x, row[k])) : 0;
            for (int s = 0; s < states && t < steps; s++) {
                const int label = T_NAME_label(labels, s, T_blank);

                if (t == steps - 1) {
                    behind[s] = s >= states - 2 ? T_GET(x, row[label]) : none;
                } else {
                    const T_real next = s + 1 < states ? behind[s + 1] : none;
                    const T_real skip = s + 2 < states && T_NAME_label(labels, s + 2, T_blank) != label ? behind[s + 2] : none;

                    behind[s] = T_NAME_sum(behind[s], next, skip) + T_GET(x, row[label]);
                }
                slope[label] -= T_S(exp)(before[s] + behind[s] - total - T_GET(x, row[label]));
            }
#if T_converts_y
            for (int k = 0; k < T_k; k++)
                y[(t * T_n + n) * T_k + k] = T_PUT(y, slope[k]);
#endif
        }
#else
        y[n] = T_PUT(y, -total);
#endif
    }
}
