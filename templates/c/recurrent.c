/* y (T_l, T_m, T_k): the states of T_m rows over T_l steps of an LSTM (T_lstm), a GRU (T_gru) or an Elman network, with relu
 * where T_relu is 1, else tanh; from step T_start on, each T_along behind the one before: 1, or -1 from the end. A step adds
 * w (T_gates * T_h, T_k) . state + bias to what the input adds to the gates, x (T_l, T_m, T_gates * T_h), and makes the next state
 * of that.
 *
 * Steps of x lie T_xl apart, their rows T_xm; those of y T_yl and T_ym. T_panels: w lies in panels
 * [ceil(T_h / T_P)][T_k][T_gates][T_P], zero padded, bias for each gate alike; a register tile of rows and units has all
 * gates of its units, so that these never go to memory, and reads one stream of weights. T_wide: vectors of units of a tile
 * of one row, T_across: of taller ones. Otherwise w and bias lie as PyTorch has them, and the gates are dot products.
 *
 * T_KEPT, T_GIVEN: the parameters of what follows, where it is there. cell (T_m, T_h), rows T_cellm apart: the
 * cell states, in the end those of the last step. T_saves: kept (T_l, T_m, T_keptm) gets what the gradient reads, see note
 * [recurrent] in ops.h. last (T_m, T_k), rows T_lastm apart: with T_lengths, of which a row has so many steps, its state, in
 * the end that of its last step; behind that y is 0. T_state: those before the first step are in h and c, else they are 0.
 * T_ahead: T_m is 1, and x (T_l, 1, T_in), steps T_inl apart, what w_input (T_gates * T_h, T_in), in panels, makes what adds to
 * the gates of; that goes to v (T_l, T_gates * T_h), some steps ahead of that which reads it: beside each tile of a step one of
 * theirs is made, for whose products there is time while the weights of the state come from their cache.
 * T_projects: what a step puts out, in v, is multiplied by project (T_k, T_h); otherwise T_k is T_h. */

#if T_gates > 1
/* Of a tile of rows x units, of `all`: what the state adds to their gates is in sum, gate after gate, a row's vectors together. A
 * function of its own, whose constants would take the registers of a tile. */
#else
/* Of a tile of rows x units: what the state adds to them is in sum. A function of its own, whose constants would take the registers
 * of a tile. */
#endif
static MODC_ALONE MODC_KERNEL void T_NAME_next(
    T_of_y *T_RESTRICT y, const int ldy T_MORE(T_saves, T_of_kept *restrict kept, const int ldkept),
    const T_of_inputs *restrict x, const int ldx T_MORE(T_lstm, T_of_cell *restrict cell, const int ldcell),
    const T_vec *restrict sum T_MORE(T_gru, const T_of_state *restrict state, const int ldstate),
    const int rows T_MORE(T_lengths, const int64_t *restrict lengths, const int t),
    const int units T_MORE(T_gates > 1, const int all))
{
    const int vectors = (units + T_LANES - 1) / T_LANES;
#if T_gates > 1
    const int tile = rows * vectors;
#endif

    for (int row = 0; row < rows; row++) {
        for (int j = 0; j < vectors; j++, sum++) {
            const int u = j * T_LANES, rest = units - u;

#if T_lengths
            if (t >= lengths[row]) {
                T_MOST(y, store)(y + u, T_V(set)(0), rest);
#if T_saves
                for (int part = 0; part < ldkept; part += all)
                    T_MOST(kept, store)(kept + part + u, T_V(set)(0), rest);
#endif
                continue;
            }
#endif
#if T_lstm
            const T_vec i = T_PARTS_sigmoid(T_MOST(inputs, load)(x + u, rest) + sum[0]);
            const T_vec f = T_PARTS_sigmoid(T_MOST(inputs, load)(x + all + u, rest) + sum[tile]);
            const T_vec g = T_PARTS_tanh(T_MOST(inputs, load)(x + 2 * all + u, rest) + sum[2 * tile]);
            const T_vec o = T_PARTS_sigmoid(T_MOST(inputs, load)(x + 3 * all + u, rest) + sum[3 * tile]);
            const T_vec c = f * T_MOST(cell, load)(cell + u, rest) + i * g;

            T_MOST(cell, store)(cell + u, c, rest);
            T_MOST(y, store)(y + u, o * T_PARTS_tanh(c), rest);
#if T_saves
            T_MOST(kept, store)(kept + u, i, rest);
            T_MOST(kept, store)(kept + all + u, f, rest);
            T_MOST(kept, store)(kept + 2 * all + u, g, rest);
            T_MOST(kept, store)(kept + 3 * all + u, o, rest);
            T_MOST(kept, store)(kept + 4 * all + u, c, rest);
#endif
#elif T_gru
            const T_vec r = T_PARTS_sigmoid(T_MOST(inputs, load)(x + u, rest) + sum[0]);
            const T_vec z = T_PARTS_sigmoid(T_MOST(inputs, load)(x + all + u, rest) + sum[tile]);
            const T_vec n = T_PARTS_tanh(T_MOST(inputs, load)(x + 2 * all + u, rest) + r * sum[2 * tile]);
            const T_vec h = state ? T_MOST(state, load)(state + u, rest) : T_V(set)(0);

            T_MOST(y, store)(y + u, (h - n) * z + n, rest);
#if T_saves
            T_MOST(kept, store)(kept + u, r, rest);
            T_MOST(kept, store)(kept + all + u, z, rest);
            T_MOST(kept, store)(kept + 2 * all + u, n, rest);
            T_MOST(kept, store)(kept + 3 * all + u, sum[2 * tile], rest);
#endif
#elif T_relu
            const T_vec a = T_MOST(inputs, load)(x + u, rest) + sum[0], zero = T_V(set)(0);

            T_MOST(y, store)(y + u, T_V(select)(T_V(le)(a, zero), zero, a), rest); /* NaN stays */
#else
            T_MOST(y, store)(y + u, T_PARTS_tanh(T_MOST(inputs, load)(x + u, rest) + sum[0]), rest);
#endif
        }
        y += ldy;
        x += ldx;
#if T_saves
        kept += ldkept;
#endif
#if T_lstm
        cell += ldcell;
#elif T_gru
        if (state)
            state += ldstate;
#endif
    }
}

#if !T_panels || T_projects
MODC_INLINE T_real T_NAME_dot(const T_of_y *restrict a, const T_of_state *restrict b, const int count)
{
    const int whole = count / T_LANES * T_LANES;
    T_vec sum = T_V(set)(0);

    for (int k = 0; k < whole; k += T_LANES)
        sum += T_OF(y, load)(a + k) * T_OF(state, load)(b + k);
    if (whole < count)
        sum += T_OF(y, load_part)(a + whole, count - whole) * T_OF(state, load_part)(b + whole, count - whole);
    return T_V(sum)(sum);
}

#endif
#if T_ahead
/* ahead: registers hold a tile of a step and one of the gates of `chunk` steps, which as many steps make. Else the gates of all
 * steps are made before the first. */
enum {
    T_NAME_chunk = T_gates * T_wide,
    T_NAME_ahead = MODC_TILE_ROWS * MODC_TILE_VECTORS(MODC_TILE_ROWS) >= 2 * T_NAME_chunk
};

#endif
/* One step: where its operands are, and how far apart their rows: m x k states, of h units. state: NULL is 0. back: the weights are
 * read from their end, where the last step left them in the cache. */
struct T_NAME_now {
#if T_converts_x || T_converts_y
    T_of_y *y;
#if T_lstm
    T_of_cell *cell;
#endif
#if T_saves
    T_of_kept *kept;
#endif
    const T_of_inputs *x;
    const T_of_state *state;
#if T_bias
    const T_of_bias *bias;
#endif
#else
    T_real *y T_MORE(T_lstm, *cell) T_MORE(T_saves, *kept);
    const T_real *x, *state T_MORE(T_bias, *bias);
#endif
    const T_of_w *w;
#if T_lengths
    const int64_t *lengths;
#endif
#if T_ahead
    const T_of_x *x_ahead; /* of the steps whose gates are made now; NULL: none are left */
#if T_converts_y
    const T_of_w_input *w_input;
#if T_input_bias
    const T_of_bias_input *bias_input;
#endif
#else
    const T_real *w_input T_MORE(T_input_bias, *bias_input);
#endif
    T_real *ahead; /* their gates */
    int in, ldin;  /* elements of a step of x_ahead, and from one to the next */
    int turn;      /* so many steps have made tiles of them */
#endif
    int m, k, h;
    int ldy, ldx, ldstate T_MORE(T_lstm, ldcell) T_MORE(T_saves, ldkept) T_MORE(T_lengths, t);
    bool back;
};

/* The next states of rows x units at (row, unit), from what the state adds to their gates. */
MODC_INLINE void T_NAME_put(const struct T_NAME_now *const now, const T_vec *const sum, const int rows, const int units,
                            const int row, const int unit)
{
    T_NAME_next(now->y + row * now->ldy + unit,
                now->ldy T_MORE(T_saves, now->kept + row * now->ldkept + unit, now->ldkept),
                now->x + row * now->ldx + unit,
                now->ldx T_MORE(T_lstm, now->cell + row * now->ldcell + unit, now->ldcell),
                sum T_MORE(T_gru, now->state ? now->state + row * now->ldstate + unit : NULL, now->ldstate),
                rows T_MORE(T_lengths, now->lengths + row, now->t), units T_MORE(T_gates > 1, now->h));
}

#if T_ahead
/* What the input adds to the gates of rows steps, vectors of them from `vector` on; rows and vectors are constants of the call. */
MODC_INLINE void T_NAME_inputs(T_real *restrict gates, const T_of_x *restrict x, const T_of_w_input *restrict w,
                               const T_of_bias_input *restrict bias, const int in, const int ldin, const int h, const int rows,
                               const int vectors, const int vector)
{
    T_vec sum[MODC_TILE_REGISTERS], b[T_gates * T_wide];

    MODC_TILE_FENCE;
    gates += vector * T_LANES;
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = T_IF(T_input_bias, T_OF(bias_input, load)(bias + (vector + i % vectors) * T_LANES), T_V(set)(0));
    MODC_ROLL
    for (int k = 0; k < in; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const int c = (vector + j) * T_LANES;

            b[j] = T_OF(w_input, load)(w + (c / T_P * in + k) * T_P + c % T_P);
        }
        MODC_UNROLL
        for (int i = 0; i < rows * vectors; i++)
            sum[i] += T_GET(x, x[i / vectors * ldin + k]) * b[i % vectors];
    }
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        T_V(store)(gates + i / vectors * (T_gates * h) + i % vectors * T_LANES, sum[i]);
}

#endif
#if T_ahead
/* One tile at (row, unit) and, where rows_ahead is not 0, beside it vector `vector` of so many steps' gates; rows, units and
 * rows_ahead are constants of the call. */
#else
/* One tile at (row, unit); rows and units are constants of the call. */
#endif
#if T_ahead
MODC_INLINE void T_NAME_tile(const struct T_NAME_now *const now, const int rows, const int units, const int row,
                             const int unit, const int rows_ahead, const int vector)
#else
MODC_INLINE void T_NAME_tile(const struct T_NAME_now *const now, const int rows, const int units, const int row,
                             const int unit)
#endif
{
#if T_panels
    const int vectors = (units + T_LANES - 1) / T_LANES, tile = rows * vectors, depth = now->state ? now->k : 0;
    const T_of_w *const w = now->w + unit / T_P * (now->k * T_gates * T_P) + unit % T_P;
#if T_bias
    const int pitch = (now->h + T_P - 1) / T_P * T_P; /* of the gates in bias */
#endif
    T_vec sum[MODC_TILE_REGISTERS], made[MODC_TILE_REGISTERS], b[T_gates * T_wide];
#if T_ahead
    const T_of_w_input *const w_input = now->w_input + vector * T_LANES / T_P * (now->in * T_P) + vector * T_LANES % T_P;
    T_vec gates[T_gates * T_wide];
#endif

    MODC_TILE_FENCE;
    MODC_UNROLL
    for (int i = 0; i < T_gates * tile; i++)
        sum[i] = T_IF(T_bias, T_OF(bias, load)(now->bias + i / tile * pitch + unit + i % vectors * T_LANES), T_V(set)(0));
#if T_ahead
    MODC_UNROLL
    for (int i = 0; i < rows_ahead; i++)
        gates[i] = T_IF(T_input_bias, T_OF(bias_input, load)(now->bias_input + vector * T_LANES), T_V(set)(0));
#endif
    MODC_ROLL
    for (int s = 0, k = now->back ? depth - 1 : 0; s < depth; s++, k += now->back ? -1 : 1) {
        MODC_UNROLL
        for (int j = 0; j < T_gates * vectors; j++) {
            const int c = j % vectors * T_LANES;

            b[j] = T_OF(w, load)(w + (c / T_P * now->k + k) * (T_gates * T_P) + j / vectors * T_P + c % T_P);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const T_real a = T_GET(state, now->state[(row + i) * now->ldstate + k]);

            MODC_UNROLL
            for (int j = 0; j < T_gates * vectors; j++)
                sum[j / vectors * tile + i * vectors + j % vectors] += a * b[j];
        }
#if T_ahead
        if (rows_ahead > 0 && k < now->in) {
            const T_vec c = T_OF(w_input, load)(w_input + k * T_P);

            MODC_UNROLL
            for (int i = 0; i < rows_ahead; i++)
                gates[i] += T_GET(x, now->x_ahead[i * now->ldin + k]) * c;
        }
#endif
    }
    MODC_UNROLL
    for (int i = 0; i < T_gates * tile; i++)
        made[i] = sum[i]; /* so that sum itself needs no memory */
#if T_ahead
    MODC_UNROLL
    for (int i = 0; i < rows_ahead; i++)
        T_V(store)(now->ahead + i * (T_gates * now->h) + vector * T_LANES, gates[i]);
#endif
    T_NAME_put(now, made, rows, units, row, unit);
#else
    for (int i = 0; i < rows; i++) {
        for (int u = 0; u < units; u += T_LANES) {
            const int count = modc_min(units - u, T_LANES);
            T_vec made[T_gates];

            for (int g = 0; g < T_gates; g++) {
                T_real part[T_LANES] = {0};

                for (int l = 0; l < count; l++) {
                    const int o = g * now->h + unit + u + l;

                    part[l] = T_IF(T_bias, T_GET(bias, now->bias[o]), 0);
                    if (now->state)
                        part[l] += T_NAME_dot(now->w + o * now->k, now->state + (row + i) * now->ldstate, now->k);
                }
                made[g] = T_V(load)(part);
            }
            T_NAME_put(now, made, 1, count, row + i, unit + u);
        }
    }
#endif
}

#if T_panels && !T_ahead
/* All units of `tall` tiles of rows + 1 rows, then `flat` of rows rows: weights of a band are read by one tile after the other. */
MODC_INLINE void T_NAME_strip(const struct T_NAME_now *const now, const int rows, const int row, const int tall,
                              const int flat)
{
    const int band = (rows + (tall > 0) > 1 ? T_across : T_wide) * T_LANES, rest = now->h % band;
    const int flat_row = row + tall * (rows + 1);

    for (int j = 0; j < now->h - rest; j += band) {
        const int unit = now->back ? now->h - rest - band - j : j;

        for (int i = 0; i < tall; i++)
            T_NAME_tile(now, rows + 1, band, row + i * (rows + 1), unit);
        for (int i = 0; i < flat; i++)
            T_NAME_tile(now, rows, band, flat_row + i * rows, unit);
    }
    if (rest > 0) {
        for (int i = 0; i < tall; i++)
            T_NAME_tile(now, rows + 1, rest, row + i * (rows + 1), now->h - rest);
        for (int i = 0; i < flat; i++)
            T_NAME_tile(now, rows, rest, flat_row + i * rows, now->h - rest);
    }
}

#endif
/* The states of one step. */
MODC_INLINE void T_NAME_step(const struct T_NAME_now *const now)
{
#if !T_panels
    T_NAME_tile(now, now->m, now->h, 0, 0);
#elif T_ahead
    enum { band = T_wide * T_LANES };

    for (int j = 0; j < now->h; j += band) {
        const int unit = now->back ? now->h - band - j : j, vector = now->turn * (now->h / band) + j / band;

        if (T_NAME_ahead && now->x_ahead && now->state) {
            T_NAME_tile(now, 1, band, 0, unit, T_NAME_chunk, vector);
            continue;
        }
        if (T_NAME_ahead && now->x_ahead)
            T_NAME_inputs(now->ahead, now->x_ahead, now->w_input, T_IF(T_input_bias, now->bias_input, NULL), now->in, now->ldin,
                          now->h, T_NAME_chunk, 1, vector);
        T_NAME_tile(now, 1, band, 0, unit, 0, 0);
    }
#else
    enum { tallest = MODC_TILE_ROWS * MODC_TILE_VECTORS(MODC_TILE_ROWS) / (T_gates * T_across) };
#if T_fixed_m
    const int tiles = modc_max((now->m + tallest - 1) / tallest, 1), rows = now->m / tiles, tall = now->m % tiles;

    T_NAME_strip(now, rows, 0, tall, tiles - tall);
#else
    const int whole = now->m / tallest, pairs = tallest > 2 ? now->m % tallest / 2 : 0, row = whole * tallest + pairs * 2;

    if (whole > 0)
        T_NAME_strip(now, tallest, 0, 0, whole);
    if (pairs > 0)
        T_NAME_strip(now, 2, whole * tallest, 0, pairs);
    if (row < now->m)
        T_NAME_strip(now, 1, row, 0, now->m - row);
#endif
#endif
}

#if T_ahead
/* What the input adds to the gates of the first steps, in tiles as even as it goes. */
MODC_INLINE void T_NAME_begin(T_real *restrict gates, const T_of_x *restrict x, const T_of_w_input *restrict w,
                              const T_of_bias_input *restrict bias T_ARGS)
{
    enum { vectors = MODC_TILE_ROWS > 1 ? 2 : T_NAME_chunk };
    const int first = T_NAME_ahead ? T_NAME_chunk : T_l;
    const int tiles = (first + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = first / tiles, tall = first % tiles;

    gates += modc_min(T_start, T_l - first) * (T_gates * T_h);
    x += modc_min(T_start, T_l - first) * T_inl;
    for (int j = 0; j < T_gates * T_h / T_LANES; j += vectors) {
        for (int i = 0; i < tall; i++)
            T_NAME_inputs(gates + i * (rows + 1) * (T_gates * T_h), x + i * (rows + 1) * T_inl, w, bias, T_in, T_inl, T_h,
                          rows + 1, vectors, j);
        for (int i = 0; i < tiles - tall; i++)
            T_NAME_inputs(gates + (tall * (rows + 1) + i * rows) * (T_gates * T_h), x + (tall * (rows + 1) + i * rows) * T_inl, w,
                          bias, T_in, T_inl, T_h, rows, vectors, j);
    }
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y T_KEPT, const T_of_x *restrict x, const T_of_w *restrict w T_GIVEN T_ARGS)
{
    const T_of_state *state = T_IF(T_lengths, last, T_IF(T_state, h, NULL));
    int ldstate = T_IF(T_lengths, T_lastm, T_k);

#if T_lengths
    for (int r = 0; r < T_m; r++)
        for (int k = 0; k < T_k; k++)
            last[r * T_lastm + k] = T_PUT(last, T_IF(T_state, T_GET(h, h[r * T_k + k]), 0));
#endif
#if T_lstm
    for (int r = 0; r < T_m; r++)
        for (int u = 0; u < T_h; u++)
            cell[r * T_cellm + u] = T_PUT(cell, T_IF(T_state, T_GET(c, c[r * T_h + u]), 0));
#endif
#if T_ahead
    T_NAME_begin(v, x, w_input, T_IF(T_input_bias, bias_input, NULL) T_PASS);
#endif
    for (int s = 0; s < T_l; s++) {
        const int t = T_start + s * T_along;
#if T_ahead
        const int next = s - s % T_NAME_chunk + T_NAME_chunk;
        /* the last ones may be some that were made before */
        const int from = modc_min(T_start, T_l - T_NAME_chunk) + modc_min(next, T_l - T_NAME_chunk) * T_along;
#endif
        T_of_y *const made = y + t * T_yl;
        const struct T_NAME_now now = {
            .y = T_IF(T_projects, T_IF(T_converts_y, (void *)v, v), made),
            .ldy = T_IF(T_projects, T_h, T_ym),
            .x = T_IF(T_ahead, v, x) + t * T_xl,
            .ldx = T_xm,
#if T_lstm
            .cell = cell,
            .ldcell = T_cellm,
#endif
#if T_saves
            .kept = kept + t * (T_m * T_keptm),
            .ldkept = T_keptm,
#endif
#if T_ahead
            .x_ahead = T_NAME_ahead && next < T_l ? x + from * T_inl : NULL,
            .w_input = w_input,
#if T_input_bias
            .bias_input = bias_input,
#endif
            .ahead = v + from * (T_gates * T_h),
            .in = T_in,
            .ldin = T_inl,
            .turn = s % T_NAME_chunk,
#endif
            .state = state,
            .ldstate = ldstate,
            .m = T_m,
            .k = T_k,
            .h = T_h,
            .w = w,
#if T_bias
            .bias = bias,
#endif
#if T_lengths
            .lengths = lengths,
            .t = t,
#endif
            .back = s % 2 == 1,
        };

        T_NAME_step(&now);
#if T_projects
        for (int r = 0; r < T_m; r++)
            for (int k = 0; k < T_k; k++)
                made[r * T_ym + k] = T_PUT(y, T_NAME_dot(T_IF(T_converts_y, now.y + r * T_h, v + r * T_h), project + k * T_h, T_h));
#endif
#if T_lengths
        for (int r = 0; r < T_m; r++)
            for (int k = 0; k < T_k && t < lengths[r]; k++)
                last[r * T_lastm + k] = T_PUT(last, T_GET(y, made[r * T_ym + k]));
#else
        state = made;
        ldstate = T_ym;
#endif
    }
}
