/* y (T_m, T_k + 1, T_n): of each row the last T_k + 1 rows of its sequence, itself the last: those that stand in front of it in this call, in
 * front of these what state (sequences, T_k, T_n) keeps of the sequence, 0 where it has not begun (note [recent] in generator/ops/ops.h).
 * Fits: contiguous values. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_x *restrict state,
                        const int64_t *restrict sequence, const int64_t *restrict position T_ARGS)
{
    const int from = T_IF(T_by_rows, modc_share(T_n, slice, T_slices), 0);
    const int to = T_IF(T_by_rows, modc_share(T_n, slice + 1, T_slices), T_n);

    for (int r = 0; r < T_m; r++) {
        T_of_y *const out = y + r * (T_k + 1) * T_n + from;
        int at = r, first = r; /* the row that is copied; the first one of the sequence in this call, as far as it matters */

        for (int i = T_k; i >= 0; i--) {
            if (at >= 0) {
                memcpy(out + i * T_n, x + at * T_n + from, sizeof *x * (size_t)(to - from));
                first = at;
                at--;
                while (at >= 0 && sequence[at] != sequence[r])
                    at--;
            } else if (position[r] - (T_k - i) >= 0) { /* of the state the last is that in front of `first` */
                const int back = (int)(position[first] - (position[r] - (T_k - i)));

                memcpy(out + i * T_n, state + ((ptrdiff_t)sequence[r] * T_k + T_k - back) * T_n + from, sizeof *x * (size_t)(to - from));
            } else {
                memset(out + i * T_n, 0, sizeof *x * (size_t)(to - from));
            }
        }
    }
}
