/* y (T_l, T_m, T_k): the states of T_m rows over T_l steps of an LSTM (T_lstm), a GRU (T_gru) or an Elman network, with relu
 * where T_relu is 1, else tanh; from the last step back where T_reverse is 1. A step adds w (T_gates * T_h, T_k) . state + bias
 * to what the input adds to the gates, x (T_l, T_m, T_gates * T_h), and makes the next state of that.
 *
 * Steps of x lie T_xl apart, their rows T_xm; those of y T_yl and T_ym. T_panels: w lies in panels [ceil(T_h / T_P)][T_k][T_P]
 * for each gate, zero padded, bias padded alike; a register tile of rows and units has all gates of its units, so that these
 * never go to memory. T_wide: vectors of units of a tile of one row, T_across: of taller ones. Otherwise w and bias lie as
 * PyTorch has them, and the gates are dot products.
 *
 * T_KEPT, T_GIVEN: the parameters of what follows, where it is there. cell (T_m, T_h), rows T_cellm apart: the
 * cell states, in the end those of the last step. last (T_m, T_k), rows T_lastm apart: with T_lengths, of which a row has so
 * many steps, its state, in the end that of its last step; behind that y is 0. T_state: those before the first
 * step are in h and c, else they are 0. T_projects: what a step puts out, in v, is multiplied by project (T_k, T_h); otherwise
 * T_k is T_h. */

#if T_gates > 1
MODC_INLINE T_vec T_NAME_sigmoid(T_vec a)
{
#if T_vector_math
    return 1 / (1 + T_V(exp)(-a));
#else
    T_real part[T_LANES];

    T_V(store)(part, a);
    for (int l = 0; l < T_LANES; l++)
        part[l] = 1 / (1 + T_S(exp)(-part[l]));
    return T_V(load)(part);
#endif
}

#endif
#if !T_relu
MODC_INLINE T_vec T_NAME_tanh(T_vec a)
{
#if T_vector_math
    return T_V(tanh)(a);
#else
    T_real part[T_LANES];

    T_V(store)(part, a);
    for (int l = 0; l < T_LANES; l++)
        part[l] = T_S(tanh)(part[l]);
    return T_V(load)(part);
#endif
}

#endif
/* Of a vector, of which `rest` lanes are there. */
MODC_INLINE T_vec T_NAME_load(const T_real *p, const int rest)
{
    return rest >= T_LANES ? T_V(load)(p) : T_V(load_part)(p, rest);
}

MODC_INLINE void T_NAME_store(T_real *p, T_vec a, const int rest)
{
    if (rest >= T_LANES)
        T_V(store)(p, a);
    else
        T_V(store_part)(p, a, rest);
}

/* Of a tile of rows x units: what the state adds to their gates is in sum, gate after gate, a row's vectors together. state:
 * NULL is 0. A function of its own, whose constants would take the registers of a tile. */
static MODC_KERNEL MODC_ALONE void T_NAME_next(T_real *restrict y, const int ldy, T_real *restrict cell, const T_real *restrict x,
                                               const T_real *restrict state, const int ldstate, const T_vec *restrict sum,
                                               const int64_t *restrict lengths, const int t, const int rows, const int units T_ARGS)
{
    const int vectors = (units + T_LANES - 1) / T_LANES;
#if T_gates > 1
    const int tile = rows * vectors;
#endif

    for (int r = 0; r < rows; r++) {
        for (int j = 0; j < vectors; j++, sum++) {
            const int u = j * T_LANES, rest = units - u;

#if T_lengths
            if (t >= lengths[r]) {
                T_NAME_store(y + u, T_V(set)(0), rest);
                continue;
            }
#endif
#if T_lstm
            const T_vec i = T_NAME_sigmoid(T_NAME_load(x + u, rest) + sum[0]);
            const T_vec f = T_NAME_sigmoid(T_NAME_load(x + T_h + u, rest) + sum[tile]);
            const T_vec g = T_NAME_tanh(T_NAME_load(x + 2 * T_h + u, rest) + sum[2 * tile]);
            const T_vec o = T_NAME_sigmoid(T_NAME_load(x + 3 * T_h + u, rest) + sum[3 * tile]);
            const T_vec c = f * T_NAME_load(cell + u, rest) + i * g;

            T_NAME_store(cell + u, c, rest);
            T_NAME_store(y + u, o * T_NAME_tanh(c), rest);
#elif T_gru
            const T_vec i = T_NAME_sigmoid(T_NAME_load(x + u, rest) + sum[0]);
            const T_vec z = T_NAME_sigmoid(T_NAME_load(x + T_h + u, rest) + sum[tile]);
            const T_vec n = T_NAME_tanh(T_NAME_load(x + 2 * T_h + u, rest) + i * sum[2 * tile]);
            const T_vec h = state ? T_NAME_load(state + u, rest) : T_V(set)(0);

            T_NAME_store(y + u, (h - n) * z + n, rest);
#elif T_relu
            const T_vec a = T_NAME_load(x + u, rest) + sum[0], zero = T_V(set)(0);

            T_NAME_store(y + u, T_V(select)(T_V(le)(a, zero), zero, a), rest); /* NaN stays */
#else
            T_NAME_store(y + u, T_NAME_tanh(T_NAME_load(x + u, rest) + sum[0]), rest);
#endif
        }
        y += ldy;
        x += T_xm;
#if T_lstm
        cell += T_cellm;
#elif T_gru
        if (state)
            state += ldstate;
#endif
    }
}

#if !T_panels || T_projects
MODC_INLINE T_real T_NAME_dot(const T_real *restrict a, const T_real *restrict b, const int count)
{
    const int whole = count / T_LANES * T_LANES;
    T_vec sum = T_V(set)(0);

    for (int k = 0; k < whole; k += T_LANES)
        sum += T_V(load)(a + k) * T_V(load)(b + k);
    if (whole < count)
        sum += T_V(load_part)(a + whole, count - whole) * T_V(load_part)(b + whole, count - whole);
    return T_V(sum)(sum);
}

#endif
/* One tile at (row, unit); rows and units are constants of the call. state: that of the first row, rows ldstate apart; NULL:
 * all are 0. Rows of y lie ldy apart. back: the weights are read from their end, where the last step left them in the cache. */
MODC_INLINE void T_NAME_tile(T_real *restrict y, const int ldy, T_real *restrict cell, const T_real *restrict x,
                             const T_real *restrict state, const int ldstate, const T_stored *restrict w,
                             const T_real *restrict bias, const int64_t *restrict lengths, const int t, const bool back,
                             const int rows, const int units, const int row, const int unit T_ARGS)
{
#if T_panels
    const int vectors = (units + T_LANES - 1) / T_LANES, tile = rows * vectors, depth = state ? T_k : 0;
    T_vec sum[MODC_TILE_REGISTERS], made[MODC_TILE_REGISTERS], b[T_gates * T_wide];

    MODC_FENCE;
    w += unit / T_P * (T_k * T_P) + unit % T_P;
    MODC_UNROLL
    for (int i = 0; i < T_gates * tile; i++)
        sum[i] = T_IF(T_bias, T_V(load)(bias + i / tile * T_pitch + unit + i % vectors * T_LANES), T_V(set)(0));
    MODC_ROLL
    for (int s = 0, k = back ? depth - 1 : 0; s < depth; s++, k += back ? -1 : 1) {
        MODC_UNROLL
        for (int j = 0; j < T_gates * vectors; j++) {
            const int c = j % vectors * T_LANES;

            b[j] = T_W(load)(w + (j / vectors * T_pitch + c / T_P * T_P) * T_k + c % T_P + k * T_P);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const T_real a = state[(row + i) * ldstate + k];

            MODC_UNROLL
            for (int j = 0; j < T_gates * vectors; j++)
                sum[j / vectors * tile + i * vectors + j % vectors] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < T_gates * tile; i++)
        made[i] = sum[i]; /* so that sum itself needs no memory */
    T_NAME_next(y + row * ldy + unit, ldy, T_IF(T_lstm, cell + row * T_cellm + unit, NULL), x + row * T_xm + unit,
                state ? state + row * ldstate + unit : NULL, ldstate, made, T_IF(T_lengths, lengths + row, NULL), t, rows,
                units T_PASS);
#else
    for (int i = 0; i < rows; i++) {
        for (int u = 0; u < units; u += T_LANES) {
            const int count = modc_min(units - u, T_LANES);
            T_vec made[T_gates];

            for (int g = 0; g < T_gates; g++) {
                T_real part[T_LANES] = {0};

                for (int l = 0; l < count; l++) {
                    const int o = g * T_h + u + l;

                    part[l] = T_IF(T_bias, bias[o], 0);
                    if (state)
                        part[l] += T_NAME_dot(w + o * T_k, state + i * ldstate, T_k);
                }
                made[g] = T_V(load)(part);
            }
            T_NAME_next(y + i * ldy + u, ldy, T_IF(T_lstm, cell + i * T_cellm + u, NULL), x + i * T_xm + u,
                        state ? state + i * ldstate + u : NULL, ldstate, made, T_IF(T_lengths, lengths + i, NULL), t, 1,
                        count T_PASS);
        }
    }
#endif
}

#if T_panels
/* All units of `tall` tiles of rows + 1 rows, then `flat` of rows rows: weights of a band are read by one tile after the other. */
MODC_INLINE void T_NAME_strip(T_real *restrict y, const int ldy, T_real *restrict cell, const T_real *restrict x,
                              const T_real *restrict state, const int ldstate, const T_stored *restrict w,
                              const T_real *restrict bias, const int64_t *restrict lengths, const int t, const bool back, const int rows,
                              const int row, const int tall, const int flat T_ARGS)
{
    const int band = (rows + (tall > 0) > 1 ? T_across : T_wide) * T_LANES, rest = T_h % band;
    const int flat_row = row + tall * (rows + 1);

    for (int j = 0; j < T_h - rest; j += band) {
        const int unit = back ? T_h - rest - band - j : j;

        for (int i = 0; i < tall; i++)
            T_NAME_tile(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, rows + 1, band, row + i * (rows + 1), unit T_PASS);
        for (int i = 0; i < flat; i++)
            T_NAME_tile(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, rows, band, flat_row + i * rows, unit T_PASS);
    }
    if (rest > 0) {
        for (int i = 0; i < tall; i++)
            T_NAME_tile(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, rows + 1, rest, row + i * (rows + 1), T_h - rest T_PASS);
        for (int i = 0; i < flat; i++)
            T_NAME_tile(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, rows, rest, flat_row + i * rows, T_h - rest T_PASS);
    }
}

#endif
/* The states of one step. */
MODC_INLINE void T_NAME_step(T_real *restrict y, const int ldy, T_real *restrict cell, const T_real *restrict x,
                             const T_real *restrict state, const int ldstate, const T_stored *restrict w,
                             const T_real *restrict bias, const int64_t *restrict lengths, const int t, const bool back T_ARGS)
{
#if !T_panels
    T_NAME_tile(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, T_m, T_h, 0, 0 T_PASS);
#else
    enum { tallest = MODC_TILE_ROWS * MODC_TILE_VECTORS(MODC_TILE_ROWS) / (T_gates * T_across) };
#if T_fixed_m
    enum { tiles = (T_m + tallest - 1) / tallest, rows = T_m / tiles, tall = T_m % tiles };

    T_NAME_strip(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, rows, 0, tall, tiles - tall T_PASS);
#else
    const int whole = T_m / tallest, pairs = tallest > 2 ? T_m % tallest / 2 : 0, row = whole * tallest + pairs * 2;

    if (whole > 0)
        T_NAME_strip(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, tallest, 0, 0, whole T_PASS);
    if (pairs > 0)
        T_NAME_strip(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, 2, whole * tallest, 0, pairs T_PASS);
    if (row < T_m)
        T_NAME_strip(y, ldy, cell, x, state, ldstate, w, bias, lengths, t, back, 1, row, 0, T_m - row T_PASS);
#endif
#endif
}

static MODC_KERNEL void T_NAME(T_real *restrict y T_KEPT, const T_real *restrict x, const T_stored *restrict w T_GIVEN T_ARGS)
{
    const T_real *state = T_IF(T_lengths, last, T_IF(T_state, h, NULL));
    int ldstate = T_IF(T_lengths, T_lastm, T_k);

#if T_lengths
    for (int r = 0; r < T_m; r++)
        for (int k = 0; k < T_k; k++)
            last[r * T_lastm + k] = T_IF(T_state, h[r * T_k + k], 0);
#endif
#if T_lstm
    for (int r = 0; r < T_m; r++)
        for (int u = 0; u < T_h; u++)
            cell[r * T_cellm + u] = T_IF(T_state, c[r * T_h + u], 0);
#endif
    for (int s = 0; s < T_l; s++) {
        const int t = T_IF(T_reverse, T_l - 1 - s, s);
        T_real *const now = y + t * T_yl;

        T_NAME_step(T_IF(T_projects, v, now), T_IF(T_projects, T_h, T_ym), T_IF(T_lstm, cell, NULL), x + t * T_xl, state, ldstate, w,
                    T_IF(T_bias, bias, NULL), T_IF(T_lengths, lengths, NULL), t, s % 2 == 1 T_PASS);
#if T_projects
        for (int r = 0; r < T_m; r++)
            for (int k = 0; k < T_k; k++)
                now[r * T_ym + k] = T_NAME_dot(v + r * T_h, project + k * T_h, T_h);
#endif
#if T_lengths
        for (int r = 0; r < T_m; r++)
            for (int k = 0; k < T_k && t < lengths[r]; k++)
                last[r * T_lastm + k] = now[r * T_ym + k];
#else
        state = now;
        ldstate = T_ym;
#endif
    }
}
