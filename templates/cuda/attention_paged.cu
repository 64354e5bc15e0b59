/* y (T_m, T_heads, T_c): each row attends to what is kept of its sequence, up to its own position (note [cached attention] in
 * generator/ops/ops.h).
 *
 * A block makes T_parts x 32 columns of T_queries heads of a row, neighbours in one group of heads: a place. Its warps take turns over
 * the keys, T_NAME_keys at a time: lanes along the inner length make the dot products of all heads with these keys, of which
 * each then gets one; then they have columns 32 apart of what v adds. most and all: of a head in this warp so far the largest score and
 * the sum of what the lane's own weigh against that; a larger one shrinks all that was added before. Last the warps' sums are joined
 * in shared memory.
 *
 * Rows of q lie T_qm apart, its heads T_qh; keys and values of a token lie together, T_groups of them. T_aligned: keys that are taken
 * together are neighbours in a page. T_windowed: a row sees the last T_window positions alone. T_capped: scores are
 * T_cap * tanh(T_scale * x). T_bias: bias (T_heads, T_n) is added, by how far back a key lies. T_scaled: keys and values are multiples of
 * what k_scale and v_scale have of them, a number for each token and group. Fits: always. */
enum {
    T_NAME_warps = 8,
    T_NAME_threads = T_NAME_warps * 32,
    T_NAME_keys = 32 / T_queries,
    T_NAME_columns = T_parts * 32
};

/* Of 2 d values this lane adds its partner's to d, and the other way around: lanes with the bit d to the upper half, which comes down. */
MODC_DEVICE void T_NAME_halve(T_real value[32], const int d)
{
    const bool upper = ((int)threadIdx.x & d) != 0;

    MODC_UNROLL
    for (int i = 0; i < d; i++) {
        const T_real mine = upper ? value[i + d] : value[i], given = upper ? value[i] : value[i + d];

        value[i] = mine + __shfl_xor_sync(MODC_WARP, given, d);
    }
}

/* Lane i gets the sum over all lanes of value[i], and what is there is lost. */
MODC_DEVICE T_real T_NAME_turn(T_real value[32])
{
    T_NAME_halve(value, 16);
    T_NAME_halve(value, 8);
    T_NAME_halve(value, 4);
    T_NAME_halve(value, 2);
    T_NAME_halve(value, 1);
    return value[0];
}

/* Over the lanes of one head. */
MODC_DEVICE T_real T_NAME_max(T_real x)
{
    MODC_UNROLL
    for (int d = T_NAME_keys / 2; d > 0; d /= 2)
        x = modc_nan_max(x, __shfl_xor_sync(MODC_WARP, x, d));
    return x;
}

MODC_DEVICE T_real T_NAME_sum(T_real x)
{
    MODC_UNROLL
    for (int d = T_NAME_keys / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(MODC_WARP, x, d);
    return x;
}

T_COMMENT
static __global__ void __launch_bounds__(T_NAME_threads, 1) T_NAME(T_PARAMETERS)
{
    __shared__ T_real sums[T_NAME_warps][T_queries][T_NAME_columns];
    __shared__ T_real weights[T_NAME_warps][32];
#if !T_aligned
    __shared__ int64_t slots[T_NAME_warps][T_NAME_keys];
#endif
    __shared__ T_real peaks[T_NAME_warps][T_queries], totals[T_NAME_warps][T_queries];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int own = lane / T_NAME_keys, mine = lane % T_NAME_keys; /* the head and the key whose score the lane has */
    const int share = T_heads / T_groups, bunches = (share + T_queries - 1) / T_queries;
    const int wide = (T_c + T_NAME_columns - 1) / T_NAME_columns;
#if T_guarded

    if (modc_faulty(T_fault))
        return;
#endif

    for (int place = (int)blockIdx.x; place < T_m * T_groups * bunches * wide; place += (int)gridDim.x) {
        const int left = place % wide * T_NAME_columns;
        const int bunch = place / wide % bunches, group = place / wide / bunches % T_groups;
        const int row = place / wide / bunches / T_groups, head = group * share + bunch * T_queries;
        const int heads = modc_min(share - bunch * T_queries, T_queries);
        const int64_t *const table = pages + sequence[row] * T_per;
        const int at = (int)position[row], low = T_IF(T_windowed, modc_max(at - T_window + 1, 0), 0);
        T_real sum[T_queries][T_parts], most = -(T_real)INFINITY, all = 0;

        MODC_UNROLL
        for (int h = 0; h < T_queries; h++) {
            MODC_UNROLL
            for (int c = 0; c < T_parts; c++)
                sum[h][c] = 0;
        }
        for (int from = T_IF(T_aligned, low / T_NAME_keys * T_NAME_keys, low) + warp * T_NAME_keys; from <= at;
             from += T_NAME_warps * T_NAME_keys) {
            const int key = from + mine;
            T_real value[32], score, larger, shrunk, weight;
#if T_aligned
            const int64_t slot = table[from / T_page] * T_page + from % T_page;
#else
            const int seen = modc_min(key, at);

            __syncwarp(); /* all have read what was there before */
            if (own == 0)
                slots[warp][mine] = table[seen / T_page] * T_page + seen % T_page;
            __syncwarp();
#endif

            MODC_UNROLL
            for (int i = 0; i < 32; i++)
                value[i] = 0;
            for (int inner = 0; inner < T_d; inner += 32) {
                const int e = inner + lane;
                T_real query[T_queries];

                MODC_UNROLL
                for (int h = 0; h < T_queries; h++)
                    query[h] = e < T_d && h < heads ? T_GET(q, q[row * T_qm + (head + h) * T_qh + e]) : 0;
                MODC_UNROLL
                for (int j = 0; j < T_NAME_keys; j++) {
                    const int64_t of = T_IF(T_aligned, slot + j, slots[warp][j]);
                    const T_real x = e < T_d ? T_GET(k, k[(of * T_groups + group) * T_d + e]) : 0;

                    MODC_UNROLL
                    for (int h = 0; h < T_queries; h++)
                        value[h * T_NAME_keys + j] += query[h] * x;
                }
            }
            score = T_NAME_turn(value) * T_scale;
#if T_scaled
            const int64_t scaled = T_IF(T_aligned, slot + mine, slots[warp][mine]) * T_groups + group;

            score *= k_scale[scaled];
#endif
#if T_capped
            score = T_cap * T_S(tanh)(score);
#endif
            if (key < low || key > at)
                score = -(T_real)INFINITY;
#if T_bias
            else if (own < heads)
                score += T_GET(bias, bias[(head + own) * T_n + modc_min(at - key, T_n - 1)]);
#endif
            larger = T_NAME_max(modc_nan_max(score, most));
            shrunk = larger == most ? 1 : T_S(exp)(most - larger);
            weight = score == -(T_real)INFINITY ? 0 : T_S(exp)(score - larger);
            __syncwarp(); /* all have read what was there before */
            weights[warp][lane] = T_IF(T_scaled, weight * v_scale[scaled], weight);
            __syncwarp();
            all = all * shrunk + weight;
            most = larger;
            MODC_UNROLL
            for (int h = 0; h < T_queries; h++) {
                const T_real part = __shfl_sync(MODC_WARP, shrunk, h * T_NAME_keys);

                MODC_UNROLL
                for (int c = 0; c < T_parts; c++)
                    sum[h][c] *= part;
            }
            MODC_UNROLL_BY(4)
            for (int j = modc_max(low - from, 0); j < modc_min(at + 1 - from, T_NAME_keys); j++) {
                const int64_t of = T_IF(T_aligned, slot + j, slots[warp][j]);

                MODC_UNROLL
                for (int c = 0; c < T_parts; c++) {
                    const int column = left + c * 32 + lane;
                    const T_real x = column < T_c ? T_GET(v, v[(of * T_groups + group) * T_c + column]) : 0;

                    MODC_UNROLL
                    for (int h = 0; h < T_queries; h++)
                        sum[h][c] += weights[warp][h * T_NAME_keys + j] * x;
                }
            }
        }
        all = T_NAME_sum(all);
        __syncthreads(); /* all have read what was there before */
        if (mine == 0) {
            peaks[warp][own] = most;
            totals[warp][own] = all;
        }
        MODC_UNROLL
        for (int h = 0; h < T_queries; h++) {
            MODC_UNROLL
            for (int c = 0; c < T_parts; c++)
                sums[warp][h][c * 32 + lane] = sum[h][c];
        }
        __syncthreads();
        for (int i = (int)threadIdx.x; i < heads * T_NAME_columns; i += T_NAME_threads) {
            const int h = i / T_NAME_columns, column = i % T_NAME_columns;
            T_real peak = peaks[0][h], total = 0, value = 0;

            for (int w = 1; w < T_NAME_warps; w++)
                peak = modc_nan_max(peak, peaks[w][h]);
            for (int w = 0; w < T_NAME_warps; w++) {
                const T_real part = peaks[w][h] == peak ? 1 : T_S(exp)(peaks[w][h] - peak);

                total += totals[w][h] * part;
                value += sums[w][h][column] * part;
            }
            if (left + column < T_c)
                y[(row * T_heads + head + h) * T_c + left + column] = T_PUT(y, value / total);
        }
    }
}

T_LAUNCHER
{
    const int64_t bunches = (T_heads / T_groups + T_queries - 1) / T_queries;
    const int64_t places = bunches * T_m * T_groups * ((T_c + T_NAME_columns - 1) / T_NAME_columns);

    return MODC_LAUNCH_OVER(T_NAME, places * T_NAME_threads, T_NAME_threads, T_STREAM, T_ARGUMENTS);
}
