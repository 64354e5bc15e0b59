/* The gradients of what recurrent_rows.cu computes, from that of its states, dy (T_l, T_m, T_k), by time: y (T_l, T_m, T_gates * T_h), of
 * what the input adds to the gates; T_gru: dhidden, as y, of what the state adds, which else is the same. A step's own are products
 * of what it kept, kept (T_l, T_m, T_keptm) or its state, states (T_l, T_m, T_k), and of the gradient of its state: of dy and what the
 * step behind it gave. That is in dstate (T_m, T_k), with T_lstm for the cell state in dcell (T_m, T_h). In the end these are the
 * gradients of the states before the first step, dstate only with T_to_state.
 *
 * A block computes T_rows rows, step by step, from the last one computed back: first all threads the gates, then by 32 elements of the
 * state what the gates give it: each warp adds up some of the gates, and the warps' sums are added in their order.
 *
 * Steps of dy lie T_dyl apart, their rows T_dym; those of states T_sl and T_sm; all else is dense. dlast, dcell_last: T_last,
 * T_cell: the gradients of each row's last state, of its last cell state; else 0. h, c: T_h0, T_c0: the states before the first
 * step; else 0. lengths: with T_lengths, how many steps a row has; behind them all gradients are 0. T_projects: dsum gets the
 * gradient of all of a step's state, of which project (T_k, T_h) makes that of what was projected. T_start, T_along: as in
 * recurrent_rows.cu, so that what is computed last comes first. */
enum {
    T_NAME_warps = 8,
    T_NAME_threads = T_NAME_warps * 32
};

T_COMMENT
static __global__ void __launch_bounds__(T_NAME_threads, 1)
    T_NAME(T_PARAMETERS)
{
    __shared__ T_real cells[T_NAME_warps][T_rows][32];
    const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;

    for (int top = (int)blockIdx.x * T_rows; top < T_m; top += (int)gridDim.x * T_rows) {
        const int rows = modc_min(T_rows, T_m - top);

        for (int i = thread; i < rows * T_k; i += T_NAME_threads)
            dstate[top * T_k + i] = T_PUT(dstate, T_IF(T_last, T_GET(dlast, dlast[top * T_k + i]), 0));
#if T_lstm
        for (int i = thread; i < rows * T_h; i += T_NAME_threads)
            dcell[top * T_h + i] = T_PUT(dcell, T_IF(T_cell, T_GET(dcell_last, dcell_last[top * T_h + i]), 0));
#endif
        __syncthreads();
        for (int s = 0; s < T_l; s++) {
            const int t = T_l - 1 - T_start - s * T_along;

#if T_projects
            for (int i = thread; i < rows * T_k; i += T_NAME_threads) {
                const int row = top + i / T_k, k = i % T_k;
                T_real d = 0;

#if T_lengths
                if (t < lengths[row])
#endif
                {
                    d = T_GET(dy, dy[t * T_dyl + row * T_dym + k]) + T_GET(dstate, dstate[row * T_k + k]);
                    dstate[row * T_k + k] = T_PUT(dstate, 0);
                }
                dsum[(t * T_m + row) * T_k + k] = T_PUT(dsum, d);
            }
            __syncthreads();
#endif
            for (int i = thread; i < rows * T_h; i += T_NAME_threads) {
                const int row = top + i / T_h, u = i % T_h;
                T_of_y *const made = y + (t * T_m + row) * (T_gates * T_h) + u;
#if T_gru
                T_of_dhidden *const hidden = dhidden + (t * T_m + row) * (T_gates * T_h) + u;
#endif
#if T_keeps
                const T_of_kept *const keeps = kept + (t * T_m + row) * T_keptm + u;
#endif
#if T_lengths
                if (t >= lengths[row]) {
                    MODC_UNROLL
                    for (int g = 0; g < T_gates; g++) {
                        made[g * T_h] = T_PUT(y, 0);
#if T_gru
                        hidden[g * T_h] = T_PUT(dhidden, 0);
#endif
                    }
                    continue;
                }
#endif
#if T_lstm || T_gru
                const bool first = t == T_IF(T_lengths, modc_min(T_start, (int)lengths[row] - 1), T_start);
#endif
#if T_projects
                T_real d = 0;

                for (int k = 0; k < T_k; k++)
                    d += T_GET(dsum, dsum[(t * T_m + row) * T_k + k]) * T_GET(project, project[k * T_h + u]);
#else
                const T_real d = T_GET(dy, dy[t * T_dyl + row * T_dym + u]) + T_GET(dstate, dstate[row * T_k + u]);
#endif
#if T_lstm
                const T_real in = T_GET(kept, keeps[0]), f = T_GET(kept, keeps[T_h]);
                const T_real g = T_GET(kept, keeps[2 * T_h]), o = T_GET(kept, keeps[3 * T_h]);
                const T_real th = T_S(tanh)(T_GET(kept, keeps[4 * T_h]));
                const T_real dc = T_GET(dcell, dcell[row * T_h + u]) + d * o * (1 - th * th);
                const T_real before = first ? T_IF(T_c0, T_GET(c, c[row * T_h + u]), 0)
                                            : T_GET(kept, keeps[4 * T_h - T_along * (T_m * T_keptm)]);

                made[0] = T_PUT(y, dc * g * in * (1 - in));
                made[T_h] = T_PUT(y, dc * before * f * (1 - f));
                made[2 * T_h] = T_PUT(y, dc * in * (1 - g * g));
                made[3 * T_h] = T_PUT(y, d * th * o * (1 - o));
                dcell[row * T_h + u] = T_PUT(dcell, dc * f);
#elif T_gru
                const T_real r = T_GET(kept, keeps[0]), z = T_GET(kept, keeps[T_h]);
                const T_real n = T_GET(kept, keeps[2 * T_h]), given = T_GET(kept, keeps[3 * T_h]);
                const T_real before = first ? T_IF(T_h0, T_GET(h, h[row * T_k + u]), 0)
                                            : T_GET(states, states[(t - T_along) * T_sl + row * T_sm + u]);
                const T_real dn = d * (1 - z) * (1 - n * n), dr = dn * given * r * (1 - r), dz = d * (before - n) * z * (1 - z);

                made[0] = T_PUT(y, dr);
                made[T_h] = T_PUT(y, dz);
                made[2 * T_h] = T_PUT(y, dn);
                hidden[0] = T_PUT(dhidden, dr);
                hidden[T_h] = T_PUT(dhidden, dz);
                hidden[2 * T_h] = T_PUT(dhidden, dn * r);
#elif T_relu
                made[0] = T_PUT(y, T_GET(states, states[t * T_sl + row * T_sm + u]) <= 0 ? 0 : d);
#else
                const T_real state = T_GET(states, states[t * T_sl + row * T_sm + u]);

                made[0] = T_PUT(y, d * (1 - state * state));
#endif
#if !T_projects
                dstate[row * T_k + u] = T_PUT(dstate, T_IF(T_gru, d * z, 0));
#endif
            }
            __syncthreads();
#if !T_to_state
            if (s + 1 == T_l)
                break;
#endif
            for (int from = 0; from < T_k; from += 32) {
                const int k = from + lane;
                T_real sum[T_rows];

                MODC_UNROLL
                for (int r = 0; r < T_rows; r++)
                    sum[r] = 0;
                for (int g = warp; g < T_gates * T_h; g += T_NAME_warps) {
                    const T_real b = k < T_k ? T_GET(w, w[g * T_k + k]) : 0;

                    MODC_UNROLL
                    for (int r = 0; r < T_rows; r++)
                        if (r < rows)
                            sum[r] += T_GET(T_IF(T_gru, dhidden, y), T_IF(T_gru, dhidden, y)[(t * T_m + top + r) * (T_gates * T_h) + g]) * b;
                }
                MODC_UNROLL
                for (int r = 0; r < T_rows; r++)
                    cells[warp][r][lane] = sum[r];
                __syncthreads();
                if (warp < rows && k < T_k) {
                    T_of_dstate *const to = dstate + (top + warp) * T_k + k;
                    T_real all = 0;

                    MODC_UNROLL
                    for (int i = 0; i < T_NAME_warps; i++)
                        all += cells[i][warp][lane];
                    *to = T_PUT(dstate, T_GET(dstate, *to) + all);
                }
                __syncthreads();
            }
        }
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)((T_m + T_rows - 1) / T_rows) * T_NAME_threads, T_NAME_threads, T_STREAM,
                            T_ARGUMENTS);
}
