/* y (T_m, T_n): row r = factor[r] * before + x[r], before being the row of its sequence that stands in front of it in this call, else
 * what state (sequences, T_n) keeps of the sequence, or nothing where it begins (note [cached scan] in generator/ops/ops.h). Fits: contiguous
 * values. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_factor *restrict factor,
                        const T_of_state *restrict state, const int64_t *restrict sequence,
                        const int64_t *restrict position T_ARGS)
{
    const int from = T_IF(T_by_rows, modc_share(T_n, slice, T_slices), 0);
    const int to = T_IF(T_by_rows, modc_share(T_n, slice + 1, T_slices), T_n), full = from + (to - from) / T_LANES * T_LANES;

    for (int r = 0; r < T_m; r++) {
        T_of_y *const out = y + r * T_n;
        const T_of_x *const in = x + r * T_n;
        const T_of_factor *const times = factor + r * T_n;
        int last = r - 1;

        while (last >= 0 && sequence[last] != sequence[r])
            last--;
        if (position[r] == 0) {
            for (int e = from; e < to; e++)
                out[e] = T_PUT(y, T_GET(x, in[e]));
        } else if (last >= 0) {
            const T_of_y *const before = y + last * T_n;

            for (int e = from; e < full; e += T_LANES)
                T_OF(y, store)(out + e, T_OF(factor, load)(times + e) * T_OF(y, load)(before + e) + T_OF(x, load)(in + e));
            for (int e = full; e < to; e++)
                out[e] = T_PUT(y, T_GET(factor, times[e]) * T_GET(y, before[e]) + T_GET(x, in[e]));
        } else {
            const T_of_state *const before = state + (ptrdiff_t)sequence[r] * T_n;

            for (int e = from; e < full; e += T_LANES)
                T_OF(y, store)(out + e, T_OF(factor, load)(times + e) * T_OF(state, load)(before + e) + T_OF(x, load)(in + e));
            for (int e = full; e < to; e++)
                out[e] = T_PUT(y, T_GET(factor, times[e]) * T_GET(state, before[e]) + T_GET(x, in[e]));
        }
    }
}
