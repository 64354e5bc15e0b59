/* y (T_n) = -log of what x, log-probabilities (T_m, T_n, T_k), give the labels of each sample in all their alignments: Graves
 * et al., Connectionist Temporal Classification, 2006. With T_gradient the slope of it, y as x, as PyTorch has it: for x that
 * log_softmax made. A block a sample, whose threads share its states, step by step.
 *
 * e0: labels, those of sample n from e1[n] on; e2, e3: how many steps, and labels, it has. State s is label s / 2, or for even s
 * the blank before it; from a state leads a way to itself, to the next, and past a blank between two labels that differ. v, for each
 * sample: by state, in logarithms, the ways that end in it, of two steps in turn; with T_gradient of every step, and behind them those
 * that begin there, of two steps in turn. T_states of them at most. Fits: contiguous values; T_m, T_n, T_k, T_states may be sizes. */
MODC_DEVICE int T_NAME_label(const int64_t *const labels, const int s)
{
    return s % 2 == 0 ? T_blank : (int)labels[s / 2];
}

MODC_DEVICE T_real T_NAME_sum(const T_real a, const T_real b, const T_real c)
{
    const T_real most = T_S(max)(T_S(max)(a, b), c), top = most == -T_V(inf)() ? 0 : most;

    return T_S(log)(T_S(exp)(a - top) + T_S(exp)(b - top) + T_S(exp)(c - top)) + top;
}

T_COMMENT
static __global__ void __launch_bounds__(128, 1) T_NAME(T_PARAMETERS)
{
    const T_real none = -T_V(inf)();
    const int thread = (int)threadIdx.x;
#if T_guarded

    if (modc_faulty(T_fault))
        return;
#endif

    for (int n = (int)blockIdx.x; n < T_n; n += (int)gridDim.x) {
        const int64_t *const labels = e0 + e1[n];
        const int steps = (int)e2[n], count = (int)e3[n], states = 2 * count + 1;
        T_real *const work = v + (int64_t)n * ((T_IF(T_gradient, T_m, 0) + 2) * T_states);
        T_real *at = work, total = count > 0 ? none : 0;

        for (int t = 0; t < steps; t++) {
            const T_real *const from = at;
            const T_of_x *const row = x + ((int64_t)t * T_n + n) * T_k;

            at = work + T_IF(T_gradient, t, t % 2) * T_states;
            for (int s = thread; s < states; s += 128) {
                const int label = T_NAME_label(labels, s);
                T_real ways = 0;

                if (t > 0) {
                    const T_real next = s > 0 ? from[s - 1] : none;
                    const T_real skip = s > 1 && T_NAME_label(labels, s - 2) != label ? from[s - 2] : none;

                    ways = T_NAME_sum(from[s], next, skip);
                }
                at[s] = t == 0 && s > 1 ? none : ways + T_GET(x, row[label]);
            }
            __syncthreads();
        }
        if (steps > 0)
            total = T_NAME_sum(at[states - 1], count > 0 ? at[states - 2] : none, none);
#if T_gradient
        for (int t = T_m - 1; t >= 0; t--) {
            const T_of_x *const row = x + ((int64_t)t * T_n + n) * T_k;
            const T_real *const before = work + t * T_states, *const after = work + (T_m + (t + 1) % 2) * T_states;
            T_real *const behind = work + (T_m + t % 2) * T_states;
            T_of_y *const slopes = y + ((int64_t)t * T_n + n) * T_k;

            for (int k = thread; k < T_k; k += 128)
                slopes[k] = T_PUT(y, t < steps ? T_S(exp)(T_GET(x, row[k])) : 0);
            if (t >= steps)
                continue;
            for (int s = thread; s < states; s += 128) {
                const int label = T_NAME_label(labels, s);
                T_real ways = 0;

                if (t < steps - 1) {
                    const T_real next = s + 1 < states ? after[s + 1] : none;
                    const T_real skip = s + 2 < states && T_NAME_label(labels, s + 2) != label ? after[s + 2] : none;

                    ways = T_NAME_sum(after[s], next, skip);
                }
                behind[s] = t == steps - 1 && s < states - 2 ? none : ways + T_GET(x, row[label]);
            }
            __syncthreads();
            /* The first warp sums up the states that are blank, other threads those of a label, whose first state is theirs. */
            if (thread < 32) {
                const T_real log = T_GET(x, row[T_blank]);
                T_real sum = 0;

                for (int s = thread; s < states; s += 32)
                    sum += T_NAME_label(labels, s) == T_blank ? T_S(exp)(before[s] + behind[s] - total - log) : 0;
                for (int d = 16; d > 0; d /= 2)
                    sum += __shfl_xor_sync(MODC_WARP, sum, d);
                if (thread == 0)
                    slopes[T_blank] = T_PUT(y, T_S(exp)(log) - sum);
            }
            for (int l = thread < 32 ? count : thread - 32; l < count; l += 96) {
                const int label = (int)labels[l];
                bool first = label != T_blank;
                T_real sum = 0;

                for (int i = 0; i < l && first; i++)
                    first = labels[i] != label;
                if (!first)
                    continue;
                for (int i = l; i < count; i++) {
                    if (labels[i] == label)
                        sum += T_S(exp)(before[2 * i + 1] + behind[2 * i + 1] - total - T_GET(x, row[label]));
                }
                slopes[label] = T_PUT(y, T_S(exp)(T_GET(x, row[label])) - sum);
            }
        }
#else
        if (thread == 0)
            y[n] = T_PUT(y, -total);
#endif
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_EACH(T_NAME, T_n, 65535, 128, T_STREAM, T_ARGUMENTS);
}
