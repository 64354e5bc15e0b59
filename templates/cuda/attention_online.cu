/* y[b] (T_m, T_c) = softmax(q[b] (T_m, T_k) . k[b] (T_k, T_n)) . v[b] (T_n, T_c), for b in (T_batch0, T_batch1).
 *
 * A block makes T_NAME_rows rows of each of its warps, all of one head, T_parts x 32 columns of them: a place. It goes over the keys, 32
 * at a time: a lane makes the scores of one key, of all rows of its warp, from what all warps have copied of q and k, 32 elements of
 * the inner length at a time; then it has 32 columns apart of what v adds to the rows. most and all: of a row so far the largest score
 * and the sum of what the lane's own weigh against that; a larger one shrinks all that was added before. T_SCORE is what a score
 * goes through, T_EPILOGUE the result. T_causal: no row sees more than T_ahead keys behind its own number. T_safe: a row whose scores
 * are nothing but -inf is 0, not NaN; so is one of no keys in any case. T_turned: elements of k lie side by side along the keys.
 *
 * Elements lie where the strides say: T_q0, T_q1, T_qm, T_qk; T_k0, T_k1, T_kk, T_kn; T_v0, T_v1, T_vn, T_vc; T_y0, T_y1, T_ym; so do
 * operands of the tails, which know batch0 and batch1. Fits: always. */
enum {
    T_NAME_warps = 4,
    T_NAME_rows = 4,
    T_NAME_threads = T_NAME_warps * 32,
    T_NAME_block = T_NAME_warps * T_NAME_rows,
    T_NAME_columns = T_parts * 32
};

/* Of a row's own lanes. */
MODC_DEVICE T_real T_NAME_max(T_real x)
{
    MODC_UNROLL
    for (int d = 16; d > 0; d /= 2) {
        const T_real other = __shfl_xor_sync(MODC_WARP, x, d);

        x = x > other || x != x ? x : other; /* NaN wins */
    }
    return x;
}

MODC_DEVICE T_real T_NAME_sum(T_real x)
{
    MODC_UNROLL
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(MODC_WARP, x, d);
    return x;
}

T_COMMENT
static __global__ void __launch_bounds__(T_NAME_threads, 1)
    T_NAME(T_PARAMETERS)
{
    __shared__ T_real keys[32][33], queries[T_NAME_block][32];
    const int lane = (int)threadIdx.x % 32, first = (int)threadIdx.x / 32 * T_NAME_rows;
    const int tall = (T_m + T_NAME_block - 1) / T_NAME_block;
    const int wide = (T_c + T_NAME_columns - 1) / T_NAME_columns;

    for (int place = (int)blockIdx.x; place < T_batch0 * T_batch1 * tall * wide; place += (int)gridDim.x) {
        const int left = place % wide * T_NAME_columns;
        const int top = place / wide % tall * T_NAME_block;
        [[maybe_unused]] const int batch1 = place / wide / tall % T_batch1, batch0 = place / wide / tall / T_batch1;
#if T_causal
        const int seen = modc_min(modc_min(top + T_NAME_block, T_m) + T_ahead, T_n);
#else
        const int seen = T_n;
#endif
        T_real sum[T_NAME_rows][T_parts], most[T_NAME_rows], all[T_NAME_rows];

        MODC_UNROLL
        for (int r = 0; r < T_NAME_rows; r++) {
            most[r] = -(T_real)INFINITY;
            all[r] = 0;
            MODC_UNROLL
            for (int c = 0; c < T_parts; c++)
                sum[r][c] = 0;
        }
        for (int from = 0; from < seen; from += 32) {
            const int key = from + lane;
            T_real weight[T_NAME_rows];

            MODC_UNROLL
            for (int r = 0; r < T_NAME_rows; r++)
                weight[r] = 0;
            for (int inner = 0; inner < T_k; inner += 32) {
                const int depth = modc_min(T_k - inner, 32);

                __syncthreads(); /* all have read what was there before */
                for (int i = (int)threadIdx.x; i < 32 * 32; i += T_NAME_threads) {
                    const int at = T_IF(T_turned, i % 32, i / 32), e = T_IF(T_turned, i / 32, i % 32);

                    if (e < depth)
                        keys[at][e] = from + at < seen
                                          ? T_GET(k, k[batch0 * T_k0 + batch1 * T_k1 + (inner + e) * T_kk + (from + at) * T_kn])
                                          : 0;
                }
                for (int i = (int)threadIdx.x; i < T_NAME_block * 32; i += T_NAME_threads) {
                    const int at = top + i / 32, e = i % 32;

                    if (e < depth)
                        queries[i / 32][e] =
                            at < T_m ? T_GET(q, q[batch0 * T_q0 + batch1 * T_q1 + at * T_qm + (inner + e) * T_qk]) : 0;
                }
                __syncthreads();
                for (int e = 0; e < depth; e++) {
                    MODC_UNROLL
                    for (int r = 0; r < T_NAME_rows; r++)
                        weight[r] += queries[first + r][e] * keys[lane][e];
                }
            }
            MODC_UNROLL
            for (int r = 0; r < T_NAME_rows; r++) {
                const int row = top + first + r;
                T_real score = -(T_real)INFINITY, larger, shrunk;

                if (row < T_m && key < T_IF(T_causal, modc_min(seen, row + 1 + T_ahead), seen))
                    score = T_SCORE(weight[r], row, key);
                larger = T_NAME_max(score > most[r] || score != score ? score : most[r]);
                shrunk = larger == most[r] ? 1 : T_S(exp)(most[r] - larger);
                weight[r] = score == -(T_real)INFINITY ? 0 : T_S(exp)(score - larger);
                all[r] = all[r] * shrunk + weight[r];
                most[r] = larger;
                MODC_UNROLL
                for (int c = 0; c < T_parts; c++)
                    sum[r][c] *= shrunk;
            }
            for (int j = 0; j < modc_min(seen - from, 32); j++) {
                T_real each[T_NAME_rows];

                MODC_UNROLL
                for (int r = 0; r < T_NAME_rows; r++)
                    each[r] = __shfl_sync(MODC_WARP, weight[r], j);
                MODC_UNROLL
                for (int c = 0; c < T_parts; c++) {
                    const int column = left + c * 32 + lane;
                    const T_real value =
                        column < T_c ? T_GET(v, v[batch0 * T_v0 + batch1 * T_v1 + (from + j) * T_vn + column * T_vc]) : 0;

                    MODC_UNROLL
                    for (int r = 0; r < T_NAME_rows; r++)
                        sum[r][c] += each[r] * value;
                }
            }
        }
        MODC_UNROLL
        for (int r = 0; r < T_NAME_rows; r++) {
            const int row = top + first + r;
            const T_real total = T_NAME_sum(all[r]);
            const T_real part = total == 0 && T_IF(T_safe, true, seen == 0) ? 0 : 1 / total;

            MODC_UNROLL
            for (int c = 0; c < T_parts; c++) {
                const int column = left + c * 32 + lane;

                if (row < T_m && column < T_c) {
                    const T_real value = sum[r][c] * part;

                    y[batch0 * T_y0 + batch1 * T_y1 + row * T_ym + column] = T_PUT(y, T_EPILOGUE(value, row, column));
                }
            }
        }
    }
}

T_LAUNCHER
{
    const int64_t places = (int64_t)(T_batch0 * T_batch1) * ((T_m + T_NAME_block - 1) / T_NAME_block) *
                           ((T_c + T_NAME_columns - 1) / T_NAME_columns);

    return MODC_LAUNCH_OVER(T_NAME, places * T_NAME_threads, T_NAME_threads, T_STREAM, T_ARGUMENTS);
}
