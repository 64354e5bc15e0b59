/* The gradients of what templates/c/recurrent.c computes, from that of its states, dy (T_l, T_m, T_k), by time: y (T_l, T_m,
 * T_gates * T_h), of what the input adds to the gates; T_gru: dhidden, as y, of what the state adds, which else is the same. A
 * step's own are products of what it kept, kept (T_l, T_m, T_keptm) or its state, states (T_l, T_m, T_k), and of the gradient of its
 * state: of dy and what the step behind it gave. That is in dstate (T_m, T_k), with T_lstm for the cell state in dcell (T_m, T_h).
 * In the end these are the gradients of the states before the first step, dstate only with T_to_state.
 *
 * Steps of dy lie T_dyl apart, their rows T_dym; those of states T_sl and T_sm; all else is dense. dlast, dcell_last: T_last,
 * T_cell: the gradients of each row's last state, of its last cell state; else 0. h, c: T_h0, T_c0: the states before the first
 * step; else 0. lengths: with T_lengths, how many steps a row has; behind them all gradients are 0. T_projects: dsum gets the
 * gradient of all of a step's state, of which T_PROJECT makes, in v, that of what was projected. T_CARRY adds to dstate what the
 * gates' gradients give the state before them. T_start, T_along: as in recurrent.c, so that what is computed last comes first. */

/* Adds a to what is at p, where there are `rest` of its lanes, and clears that. */
MODC_INLINE T_vec T_NAME_take(T_of_dstate *p, const T_vec a, const int rest)
{
    const T_vec sum = a + T_MOST(dstate, load)(p, rest);

    T_MOST(dstate, store)(p, T_V(set)(0), rest);
    return sum;
}

/* A row's gates of a step, of h units. before: of an LSTM the cell state, of a GRU the state that came before it; NULL: 0. */
MODC_INLINE void T_NAME_gates(T_of_y *T_RESTRICT y, T_of_dhidden *restrict dhidden, T_of_dstate *restrict dstate, T_of_dcell *restrict dcell,
                              const T_of_slopes *restrict dy, const T_of_kept *restrict kept, const T_of_states *restrict state,
                              const T_of_before *restrict before, const int h)
{
    for (int u = 0; u < h; u += T_LANES) {
        const int rest = h - u;
        const T_vec d = T_IF(T_projects, T_MOST(slopes, load)(dy + u, rest), T_NAME_take(dstate + u, T_MOST(slopes, load)(dy + u, rest), rest));
#if T_lstm
        const T_vec i = T_MOST(kept, load)(kept + u, rest), f = T_MOST(kept, load)(kept + h + u, rest);
        const T_vec g = T_MOST(kept, load)(kept + 2 * h + u, rest), o = T_MOST(kept, load)(kept + 3 * h + u, rest);
        const T_vec c = T_PARTS_tanh(T_MOST(kept, load)(kept + 4 * h + u, rest));
        const T_vec dc = T_MOST(dcell, load)(dcell + u, rest) + d * o * (1 - c * c);
        const T_vec b = before ? T_MOST(before, load)(before + u, rest) : T_V(set)(0);

        T_MOST(y, store)(y + u, dc * g * i * (1 - i), rest);
        T_MOST(y, store)(y + h + u, dc * b * f * (1 - f), rest);
        T_MOST(y, store)(y + 2 * h + u, dc * i * (1 - g * g), rest);
        T_MOST(y, store)(y + 3 * h + u, d * c * o * (1 - o), rest);
        T_MOST(dcell, store)(dcell + u, dc * f, rest);
#elif T_gru
        const T_vec r = T_MOST(kept, load)(kept + u, rest), z = T_MOST(kept, load)(kept + h + u, rest);
        const T_vec n = T_MOST(kept, load)(kept + 2 * h + u, rest), hidden = T_MOST(kept, load)(kept + 3 * h + u, rest);
        const T_vec b = before ? T_MOST(before, load)(before + u, rest) : T_V(set)(0);
        const T_vec dn = d * (1 - z) * (1 - n * n), dr = dn * hidden * r * (1 - r), dz = d * (b - n) * z * (1 - z);

        T_MOST(y, store)(y + u, dr, rest);
        T_MOST(y, store)(y + h + u, dz, rest);
        T_MOST(y, store)(y + 2 * h + u, dn, rest);
        T_MOST(dhidden, store)(dhidden + u, dr, rest);
        T_MOST(dhidden, store)(dhidden + h + u, dz, rest);
        T_MOST(dhidden, store)(dhidden + 2 * h + u, dn * r, rest);
        T_MOST(dstate, store)(dstate + u, d * z, rest);
#elif T_relu
        const T_vec zero = T_V(set)(0);

        T_MOST(y, store)(y + u, T_V(select)(T_V(le)(T_MOST(states, load)(state + u, rest), zero), zero, d), rest);
#else
        const T_vec s = T_MOST(states, load)(state + u, rest);

        T_MOST(y, store)(y + u, d * (1 - s * s), rest);
#endif
    }
}

#if T_lengths
MODC_INLINE void T_NAME_clear(T_of_y *restrict p, const int count)
{
    for (int i = 0; i < count; i++)
        p[i] = T_PUT(y, 0);
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y T_KEPT T_GIVEN T_ARGS)
{
    for (int r = 0; r < T_m; r++) {
        for (int k = 0; k < T_k; k++)
            dstate[r * T_k + k] = T_PUT(dstate, T_IF(T_last, T_GET(dlast, dlast[r * T_k + k]), 0));
#if T_lstm
        for (int u = 0; u < T_h; u++)
            dcell[r * T_h + u] = T_PUT(dcell, T_IF(T_cell, T_GET(dcell_last, dcell_last[r * T_h + u]), 0));
#endif
    }
    for (int s = 0; s < T_l; s++) {
        const int t = T_l - 1 - T_start - s * T_along, width = T_gates * T_h, at = t * T_m;

#if T_projects
        for (int r = 0; r < T_m; r++) {
            T_of_dsum *const sum = dsum + (at + r) * T_k;

#if T_lengths
            if (t >= lengths[r]) {
                T_NAME_clear(sum, T_k);
                continue;
            }
#endif
            for (int k = 0; k < T_k; k += T_LANES) {
                const T_vec d = T_MOST(dy, load)(dy + t * T_dyl + r * T_dym + k, T_k - k);

                T_MOST(dsum, store)(sum + k, T_NAME_take(dstate + r * T_k + k, d, T_k - k), T_k - k);
            }
        }
        T_PROJECT(v, dsum + at * T_k, project, NULL T_PROJECT_PASS);
#endif
        for (int r = 0; r < T_m; r++) {
#if T_lengths
            if (t >= lengths[r]) {
                T_NAME_clear(y + (at + r) * width, width);
#if T_gru
                T_NAME_clear(dhidden + (at + r) * width, width);
#endif
                continue;
            }
#endif
#if T_lstm || T_gru
            const bool first = t == T_IF(T_lengths, modc_min(T_start, (int)lengths[r] - 1), T_start);
#endif
#if T_lstm
            const T_of_before *const before =
                first ? T_IF(T_c0, c + r * T_h, NULL) : kept + (at - T_along * T_m + r) * T_keptm + 4 * T_h;
#elif T_gru
            const T_of_before *const before =
                first ? T_IF(T_h0, h + r * T_k, NULL) : states + (t - T_along) * T_sl + r * T_sm;
#endif

            T_NAME_gates(y + (at + r) * width, T_IF(T_gru, dhidden + (at + r) * width, NULL), dstate + r * T_k,
                         T_IF(T_lstm, dcell + r * T_h, NULL), T_IF(T_projects, v + r * T_h, dy + t * T_dyl + r * T_dym),
                         T_IF(T_keeps, kept + (at + r) * T_keptm, NULL),
                         T_IF(T_keeps, NULL, states + t * T_sl + r * T_sm), T_IF(T_keeps, before, NULL), T_h);
        }
        if (T_IF(T_to_state, true, s + 1 < T_l))
            T_CARRY(dstate, T_IF(T_gru, dhidden, y) + at * width, w, NULL T_CARRY_PASS);
    }
}
