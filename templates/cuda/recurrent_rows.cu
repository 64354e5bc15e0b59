/* y (T_l, T_m, T_k): the states of T_m rows over T_l steps of an LSTM (T_lstm), a GRU (T_gru) or an Elman network, with relu
 * where T_relu is 1, else tanh; from step T_start on, each T_along behind the one before: 1, or -1 from the end. A step adds
 * w (T_gates * T_h, T_k) . state + bias to what the input adds to the gates, x (T_l, T_m, T_gates * T_h), and makes the next state
 * of that.
 *
 * A block makes T_rows rows, step by step. Eight of its threads make a unit of all of them: each adds up every eighth term of its gates'
 * dot products, then one for each row makes the state of the sums; so what a thread leaves in cell is its own. States lie in y, where
 * the next step reads them behind a barrier.
 *
 * Steps of x lie T_xl apart, their rows T_xm; those of y T_yl and T_ym; w and bias (T_bias) lie as PyTorch has them. cell (T_m, T_h),
 * rows T_cellm apart: the cell states, in the end those of the last step. T_saves: kept (T_l, T_m, T_keptm) gets what the gradient
 * reads, see note [recurrent] in ops.h. last (T_m, T_k), rows T_lastm apart: with T_lengths, of which a row has so many steps, the
 * state of its last one; behind that y is 0. T_state: those before the first step are in h and c, else they are 0. T_projects: what a
 * step puts out, in v, is multiplied by project (T_k, T_h); otherwise T_k is T_h. */
enum {
    T_NAME_threads = T_threads,
    T_NAME_units = T_threads / 8 /* at a time */
};

/* Of the eight threads of a unit; all get it. */
MODC_DEVICE T_real T_NAME_sum(T_real part)
{
    MODC_UNROLL
    for (int d = 4; d > 0; d /= 2)
        part += __shfl_xor_sync(MODC_WARP, part, d);
    return part;
}

#if T_gates > 1
MODC_DEVICE T_real T_NAME_sigmoid(T_real a)
{
    return 1 / (1 + T_S(exp)(-a));
}

#endif
/* A row's state in front of step t, which is number s; NULL: 0. */
MODC_DEVICE const T_of_state *T_NAME_before(const T_of_y *y T_MORE(T_state, const T_of_state *h)
                                                T_MORE(T_lengths, const int64_t *lengths),
                                            int s, int t, int row T_ARGS)
{
    if (row >= T_m)
        return NULL;
#if T_lengths
    if (s == 0 || t - T_along >= lengths[row])
#else
    if (s == 0)
#endif
        return T_IF(T_state, h + row * T_k, NULL);
    return y + (t - T_along) * T_yl + row * T_ym;
}

T_COMMENT
static __global__ void __launch_bounds__(T_NAME_threads, 1)
    T_NAME(T_PARAMETERS)
{
    const int lane = (int)threadIdx.x % 8, group = (int)threadIdx.x / 8;

    for (int top = (int)blockIdx.x * T_rows; top < T_m; top += (int)gridDim.x * T_rows) {
        const int own = top + lane; /* the row that this thread makes states of */
        const bool makes = lane < T_rows && own < T_m;

#if T_lengths
        for (int unit = group; unit < T_k && makes; unit += T_NAME_units)
            last[own * T_lastm + unit] = T_PUT(last, T_IF(T_state, T_GET(h, h[own * T_k + unit]), 0));
#endif
#if T_lstm
        for (int unit = group; unit < T_h && makes; unit += T_NAME_units)
            cell[own * T_cellm + unit] = T_PUT(cell, T_IF(T_state, T_GET(c, c[own * T_h + unit]), 0));
#endif
        for (int s = 0; s < T_l; s++) {
            const int t = s * T_along + T_start;
            const T_of_state *from[T_rows];
#if T_gru
            const T_of_state *const before =
                T_NAME_before(y T_MORE(T_state, h) T_MORE(T_lengths, lengths), s, t, own T_PASS);
#endif
#if T_lengths
            const bool inside = makes && t < lengths[own];
            const bool ends = makes && t == modc_min(T_l - 1 - T_start, (int)lengths[own] - 1);
#endif

            MODC_UNROLL
            for (int r = 0; r < T_rows; r++)
                from[r] = T_NAME_before(y T_MORE(T_state, h) T_MORE(T_lengths, lengths), s, t, top + r T_PASS);
            for (int first = 0; first < T_h; first += T_NAME_units) {
                const int unit = first + group;
                T_real sum[T_rows][T_gates], gate[T_gates];

                MODC_UNROLL
                for (int g = 0; g < T_gates; g++) {
                    gate[g] = 0;
                    MODC_UNROLL
                    for (int r = 0; r < T_rows; r++)
                        sum[r][g] = 0;
                }
                for (int k = lane; k < T_k && unit < T_h; k += 8) {
                    T_real a[T_rows];

                    MODC_UNROLL
                    for (int r = 0; r < T_rows; r++)
                        a[r] = from[r] ? T_GET(state, from[r][k]) : 0;
                    MODC_UNROLL
                    for (int g = 0; g < T_gates; g++) {
                        const T_real b = T_GET(w, w[(g * T_h + unit) * T_k + k]);

                        MODC_UNROLL
                        for (int r = 0; r < T_rows; r++)
                            sum[r][g] += a[r] * b;
                    }
                }
                MODC_UNROLL
                for (int g = 0; g < T_gates; g++) {
                    MODC_UNROLL
                    for (int r = 0; r < T_rows; r++) {
                        const T_real all = T_NAME_sum(sum[r][g]);

                        if (lane == r)
                            gate[g] = all;
                    }
                }
                if (makes && unit < T_h) {
                    const T_of_x *const added = x + t * T_xl + own * T_xm + unit;
#if T_saves
                    T_of_kept *const keeps = kept + (t * T_m + own) * T_keptm + unit;
#endif
                    T_real next;

#if T_bias
                    MODC_UNROLL
                    for (int g = 0; g < T_gates; g++)
                        gate[g] += T_GET(bias, bias[g * T_h + unit]);
#endif
#if T_lstm
                    const T_real i = T_NAME_sigmoid(T_GET(x, added[0]) + gate[0]);
                    const T_real f = T_NAME_sigmoid(T_GET(x, added[T_h]) + gate[1]);
                    const T_real g = T_S(tanh)(T_GET(x, added[2 * T_h]) + gate[2]);
                    const T_real o = T_NAME_sigmoid(T_GET(x, added[3 * T_h]) + gate[3]);
                    const T_real all = f * T_GET(cell, cell[own * T_cellm + unit]) + i * g;

                    next = o * T_S(tanh)(all);
#if T_lengths
                    if (inside)
#endif
                        cell[own * T_cellm + unit] = T_PUT(cell, all);
#if T_saves
                    keeps[0] = T_PUT(kept, T_IF(T_lengths, inside ? i : 0, i));
                    keeps[T_h] = T_PUT(kept, T_IF(T_lengths, inside ? f : 0, f));
                    keeps[2 * T_h] = T_PUT(kept, T_IF(T_lengths, inside ? g : 0, g));
                    keeps[3 * T_h] = T_PUT(kept, T_IF(T_lengths, inside ? o : 0, o));
                    keeps[4 * T_h] = T_PUT(kept, T_IF(T_lengths, inside ? all : 0, all));
#endif
#elif T_gru
                    const T_real r = T_NAME_sigmoid(T_GET(x, added[0]) + gate[0]);
                    const T_real z = T_NAME_sigmoid(T_GET(x, added[T_h]) + gate[1]);
                    const T_real n = T_S(tanh)(T_GET(x, added[2 * T_h]) + r * gate[2]);

                    next = ((before ? T_GET(state, before[unit]) : 0) - n) * z + n;
#if T_saves
                    keeps[0] = T_PUT(kept, T_IF(T_lengths, inside ? r : 0, r));
                    keeps[T_h] = T_PUT(kept, T_IF(T_lengths, inside ? z : 0, z));
                    keeps[2 * T_h] = T_PUT(kept, T_IF(T_lengths, inside ? n : 0, n));
                    keeps[3 * T_h] = T_PUT(kept, T_IF(T_lengths, inside ? gate[2] : 0, gate[2]));
#endif
#elif T_relu
                    next = T_GET(x, added[0]) + gate[0];
                    next = next <= 0 ? 0 : next; /* NaN stays */
#else
                    next = T_S(tanh)(T_GET(x, added[0]) + gate[0]);
#endif
#if T_projects
                    v[own * T_h + unit] = next;
#elif T_lengths
                    y[t * T_yl + own * T_ym + unit] = T_PUT(y, inside ? next : 0);
                    if (ends)
                        last[own * T_lastm + unit] = T_PUT(last, next);
#else
                    y[t * T_yl + own * T_ym + unit] = T_PUT(y, next);
#endif
                }
            }
            __syncthreads(); /* what the step put out is there */
#if T_projects
            for (int first = 0; first < T_k; first += T_NAME_units) {
                const int unit = first + group;
                T_real state = 0;

                MODC_UNROLL
                for (int r = 0; r < T_rows; r++) {
                    T_real sum = 0;

                    for (int u = lane; u < T_h && unit < T_k && top + r < T_m; u += 8)
                        sum += v[(top + r) * T_h + u] * T_GET(project, project[unit * T_h + u]);
                    sum = T_NAME_sum(sum);
                    if (lane == r)
                        state = sum;
                }
                if (makes && unit < T_k) {
                    y[t * T_yl + own * T_ym + unit] = T_PUT(y, T_IF(T_lengths, inside ? state : 0, state));
#if T_lengths
                    if (ends)
                        last[own * T_lastm + unit] = T_PUT(last, state);
#endif
                }
            }
            __syncthreads(); /* the next step reads y, and writes v */
#endif
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)((T_m + T_rows - 1) / T_rows) * T_NAME_threads, T_NAME_threads, T_STREAM,
                            T_ARGUMENTS);
}
