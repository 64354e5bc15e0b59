/* y (T_m, T_heads, T_c): each row attends to what is kept of its sequence, up to its own position (note [cached attention] in
 * generator/ops/ops.h).
 *
 * Neighbours of one sequence at neighbouring positions are a band: their queries of one group of heads meet its keys together, page by
 * page. A row alone meets key after key, each with all heads: in the order in which they lie in memory. Scores stand in s, T_room
 * of them for each query: first as dot products, then as weights that sum up to 1, 0 where a query does not see the key; last they
 * weigh the values. Rows of q lie T_qm apart, its heads T_qh; keys and values of a token lie
 * together, T_groups of them. T_windowed: a row sees the last T_window positions alone. T_capped: scores are T_cap * tanh(T_scale * x).
 * T_bias: bias (T_heads, T_n) is added, by how far back a key lies. T_scaled: keys and values are multiples of what k_scale and v_scale
 * have of them, a number for each token and group. T_vector_math: there is a vector exp for the type. Fits: always. */
enum {
    T_NAME_rows = 4,                        /* of a band, at most */
    T_NAME_sums = MODC_LANES == 16 ? 16 : 8 /* vectors of a tile of y */
};

/* s (queries, count), rows T_room apart, = q . k, of queries ldq apart; how many they are is a constant of the call. */
MODC_INLINE void T_NAME_dots(T_real *restrict s, const T_of_q *restrict q, const int ldq,
                             const T_of_k *restrict k, const int queries, const int count T_ARGS)
{
    enum { keys = 4 };
    const int whole = T_d / T_LANES * T_LANES, step = T_groups * T_d;

    for (int at = 0; at < count; at += keys) {
        const int some = modc_min(count - at, keys); /* what is missing is computed for the last one, and not kept */
        const T_of_k *const of[keys] = {k + at * step, k + (at + modc_min(1, some - 1)) * step,
                                        k + (at + modc_min(2, some - 1)) * step, k + (at + some - 1) * step};
        T_vec sum[4 * keys];

        MODC_UNROLL
        for (int i = 0; i < queries * keys; i++)
            sum[i] = T_V(set)(0);
        MODC_ROLL
        for (int e = 0; e < whole; e += T_LANES) {
            T_vec a[4];

            MODC_UNROLL
            for (int i = 0; i < queries; i++)
                a[i] = T_OF(q, load)(q + i * ldq + e);
            MODC_UNROLL
            for (int j = 0; j < keys; j++) {
                const T_vec b = T_OF(k, load)(of[j] + e);

                MODC_UNROLL
                for (int i = 0; i < queries; i++)
                    sum[i * keys + j] += a[i] * b;
            }
        }
        if (whole < T_d) {
            MODC_UNROLL
            for (int i = 0; i < queries * keys; i++)
                sum[i] += T_OF(q, load_part)(q + i / keys * ldq + whole, T_d - whole) *
                          T_OF(k, load_part)(of[i % keys] + whole, T_d - whole);
        }
        MODC_UNROLL
        for (int i = 0; i < queries; i++) {
            T_real total[keys];

            T_V(sums)(sum + i * keys, total, keys);
            for (int j = 0; j < some; j++)
                s[i * T_room + at + j] = total[j];
        }
    }
}

/* s: scores of `count` keys, of which those from `low` to `high` - 1 are seen; the last of these is the query's own. */
MODC_INLINE void T_NAME_weigh(T_real *restrict s, const T_of_bias *restrict bias, const int low, const int high,
                              const int count T_ARGS)
{
#if T_vector_math
    const int full = low + (high - low) / T_LANES * T_LANES;
    T_vec total = T_V(set)(0);
#endif
    T_real most = -T_V(inf)(), sum = 0, last;

#if T_vector_math && !T_bias
    T_vec most_v = T_V(set)(most); /* may lose a NaN, which exp brings back */

    for (int j = low; j < full; j += T_LANES) {
        T_vec score = T_V(load)(s + j) * T_scale;

#if T_capped
        score = T_cap * T_V(tanh)(score);
#endif
        T_V(store)(s + j, score);
        most_v = T_V(atleast)(score, most_v);
    }
    most = T_V(hmax)(most_v);
#endif
    for (int j = T_IF(T_vector_math && !T_bias, full, low); j < high; j++) {
        T_real score = s[j] * T_scale;

#if T_capped
        score = T_cap * T_S(tanh)(score);
#endif
#if T_bias
        score += T_GET(bias, bias[modc_min(high - 1 - j, T_n - 1)]);
#endif
        s[j] = score;
        most = T_S(max)(most, score);
    }
#if T_vector_math
    for (int j = low; j < full; j += T_LANES) {
        const T_vec e = T_V(exp_negative)(T_V(load)(s + j) - most);

        T_V(store)(s + j, e);
        total += e;
    }
    sum = T_V(sum)(total);
#endif
    for (int j = T_IF(T_vector_math, full, low); j < high; j++) {
        s[j] = T_S(exp)(s[j] - most);
        sum += s[j];
    }
    last = 1 / sum;
    for (int j = low; j < high; j++)
        s[j] *= last;
    for (int j = 0; j < low; j++)
        s[j] = 0;
    for (int j = high; j < count; j++)
        s[j] = 0;
}

/* Of rows of y, ldy apart, `columns` from c on += s (queries, count) . v; how many both are is a constant of the call. */
MODC_INLINE void T_NAME_columns(T_of_y *restrict y, const int ldy, const T_real *restrict s,
                                const T_of_v *restrict v, const int queries, const int columns, const int count T_ARGS)
{
    const int vectors = (columns + T_LANES - 1) / T_LANES;
    const int rest = columns - (vectors - 1) * T_LANES; /* columns of the last */
    T_vec sum[T_NAME_sums];

    MODC_UNROLL
    for (int i = 0; i < queries * vectors; i++) {
        const T_of_y *const from = y + i / vectors * ldy + i % vectors * T_LANES;
        const bool is_whole = i % vectors < vectors - 1 || rest == T_LANES;

        sum[i] = is_whole ? T_OF(y, load)(from) : T_OF(y, load_part)(from, rest);
    }
    MODC_ROLL
    for (int j = 0; j < count; j++) {
        MODC_UNROLL
        for (int c = 0; c < vectors; c++) {
            const T_of_v *const from = v + j * (T_groups * T_c) + c * T_LANES;
            const bool is_whole = c < vectors - 1 || rest == T_LANES;
            const T_vec value = is_whole ? T_OF(v, load)(from) : T_OF(v, load_part)(from, rest);

            MODC_UNROLL
            for (int i = 0; i < queries; i++)
                sum[i * vectors + c] += s[i * T_room + j] * value;
        }
    }
    MODC_UNROLL
    for (int i = 0; i < queries * vectors; i++) {
        T_of_y *const to = y + i / vectors * ldy + i % vectors * T_LANES;

        if (i % vectors < vectors - 1 || rest == T_LANES)
            T_OF(y, store)(to, sum[i]);
        else
            T_OF(y, store_part)(to, sum[i], rest);
    }
}

/* Rows of y, ldy apart, += s (queries, count) . v; how many they are is a constant of the call. */
MODC_INLINE void T_NAME_mean(T_of_y *restrict y, const int ldy, const T_real *restrict s,
                             const T_of_v *restrict v, const int queries, const int count T_ARGS)
{
    const int columns = T_NAME_sums / queries * T_LANES, whole = T_c / columns * columns;

    for (int c = 0; c < whole; c += columns)
        T_NAME_columns(y + c, ldy, s, v + c, queries, columns, count T_PASS);
    if (whole < T_c)
        T_NAME_columns(y + whole, ldy, s, v + whole, queries, T_c - whole, count T_PASS);
}

/* s (rows, heads of a group, count) = q . k of a group's heads in rows of a band. */
MODC_INLINE void T_NAME_keys(T_real *restrict s, const T_of_q *restrict q, const T_of_k *restrict k, const int rows,
                             const int count T_ARGS)
{
    const int share = T_heads / T_groups;

    if (share == 1 && rows == T_NAME_rows) {
        T_NAME_dots(s, q, T_qm, k, T_NAME_rows, count T_PASS);
        return;
    }
    for (int r = 0; r < rows; r++) {
        const T_of_q *const query = q + r * T_qm;
        T_real *const score = s + r * share * T_room;
        int h = 0;

        for (; h <= share - 4; h += 4)
            T_NAME_dots(score + h * T_room, query + h * T_qh, T_qh, k, 4, count T_PASS);
        for (; h <= share - 2; h += 2)
            T_NAME_dots(score + h * T_room, query + h * T_qh, T_qh, k, 2, count T_PASS);
        for (; h < share; h++)
            T_NAME_dots(score + h * T_room, query + h * T_qh, T_qh, k, 1, count T_PASS);
    }
}

/* y += s . v, likewise. */
MODC_INLINE void T_NAME_values(T_of_y *restrict y, const T_real *restrict s, const T_of_v *restrict v, const int rows,
                               const int count T_ARGS)
{
    const int share = T_heads / T_groups;

    if (share == 1 && rows == T_NAME_rows) {
        T_NAME_mean(y, T_heads * T_c, s, v, T_NAME_rows, count T_PASS);
        return;
    }
    for (int r = 0; r < rows; r++) {
        T_of_y *const out = y + r * T_heads * T_c;
        const T_real *const weight = s + r * share * T_room;
        int h = 0;

        for (; h <= share - 4; h += 4)
            T_NAME_mean(out + h * T_c, T_c, weight + h * T_room, v, 4, count T_PASS);
        for (; h <= share - 2; h += 2)
            T_NAME_mean(out + h * T_c, T_c, weight + h * T_room, v, 2, count T_PASS);
        for (; h < share; h++)
            T_NAME_mean(out + h * T_c, T_c, weight + h * T_room, v, 1, count T_PASS);
    }
}

/* s (heads, count) = q . k of one row: key after key. */
MODC_INLINE void T_NAME_row_keys(T_real *restrict s, const T_of_q *restrict q, const T_of_k *restrict k, const int heads,
                                 const int count T_ARGS)
{
    enum { some = 4 };
    const int share = T_heads / T_groups, whole = T_d / T_LANES * T_LANES;

    for (int j = 0; j < count; j++) {
        const T_of_k *const key = k + j * (T_groups * T_d);

        for (int h = 0; h < heads; h += some) {
            const int rest = modc_min(heads - h, some) - 1; /* what is missing is computed for the last one, and not kept */
            T_vec sum[some];
            T_real total[some];

            MODC_UNROLL
            for (int i = 0; i < some; i++) { /* one by one, so that memory is read as it lies */
                const T_of_q *const one = q + (h + modc_min(i, rest)) * T_qh;
                const T_of_k *const own = key + (h + modc_min(i, rest)) / share * T_d;

                sum[i] = T_V(set)(0);
                for (int e = 0; e < whole; e += T_LANES)
                    sum[i] += T_OF(q, load)(one + e) * T_OF(k, load)(own + e);
                if (whole < T_d)
                    sum[i] += T_OF(q, load_part)(one + whole, T_d - whole) *
                              T_OF(k, load_part)(own + whole, T_d - whole);
            }
            T_V(sums)(sum, total, some);
            for (int i = 0; i <= rest; i++)
                s[(h + i) * T_room + j] = total[i];
        }
    }
}

/* y (heads, T_c) += s . v, likewise. */
MODC_INLINE void T_NAME_row_values(T_of_y *restrict y, const T_real *restrict s, const T_of_v *restrict v, const int heads,
                                   const int count T_ARGS)
{
    const int share = T_heads / T_groups;

    for (int j = 0; j < count; j++) {
        MODC_FENCE; /* a compiler would take two keys at a time, and memory is read half as fast */
        for (int h = 0; h < heads; h++)
            T_NAME_mean(y + h * T_c, T_c, s + h * T_room + j, v + (j * T_groups + h / share) * T_c, 1, 1 T_PASS);
    }
}

#if T_scaled
/* What a row of s has of each position from low on is multiplied by what `scale` has of it. */
MODC_INLINE void T_NAME_scale(T_real *restrict s, const T_of_k_scale *restrict scale,
                              const int64_t *restrict table, const int low, const int end T_ARGS)
{
    int next;

    for (int at = low; at < end; at = next) {
        const int in = at % T_page;
        const T_of_k_scale *const of = scale + ((ptrdiff_t)table[at / T_page] * T_page + in) * T_groups;

        next = modc_min(at - in + T_page, end);
        for (int j = 0; j < next - at; j++)
            s[at - low + j] *= of[j * T_groups];
    }
}

#endif
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *restrict y, const T_of_q *restrict q, const T_of_k *restrict k,
                        const T_of_v *restrict v, const int64_t *restrict sequence,
                        const int64_t *restrict position, const int64_t *restrict pages,
                        const T_of_bias *restrict bias
                            T_MORE(T_scaled, const T_of_k_scale *restrict k_scale, const T_of_v_scale *restrict v_scale),
                        T_real *restrict s T_ARGS)
{
    const int share = T_heads / T_groups; /* query heads of a group */
    int rows;

#if T_by_rows
    const int first_group = modc_share(T_groups, slice, T_slices);
    const int last_group = modc_share(T_groups, slice + 1, T_slices);

    s += slice * T_scratch;
#endif
    for (int row = 0; row < T_m; row += rows) {
        const int64_t *const table = pages + sequence[row] * T_per;
        const int first = (int)position[row];
        int many; /* groups that are met together */

        rows = 1;
        while (rows < T_NAME_rows && row + rows < T_m && sequence[row + rows] == sequence[row] &&
               position[row + rows] == first + rows)
            rows++;

        const int low = T_IF(T_windowed, modc_max(first - T_window + 1, 0), 0), end = first + rows;

        many = rows > 1 ? 1 : T_IF(T_by_rows, last_group - first_group, T_groups);
        for (int g0 = T_IF(T_by_rows, first_group, 0); g0 < T_IF(T_by_rows, last_group, T_groups); g0 += many) {
            int next;

            for (int at = low; at < end; at = next) {
                const int in = at % T_page;
                const ptrdiff_t slot = (ptrdiff_t)table[at / T_page] * T_page + in;

                next = modc_min(at - in + T_page, end);
                if (rows > 1)
                    T_NAME_keys(s + at - low, q + row * T_qm + g0 * share * T_qh, k + (slot * T_groups + g0) * T_d,
                                rows, next - at T_PASS);
                else
                    T_NAME_row_keys(s + at - low, q + row * T_qm + g0 * share * T_qh,
                                    k + (slot * T_groups + g0) * T_d, many * share, next - at T_PASS);
            }
            for (int i = 0; i < rows * many * share; i++) {
                const int r = i / (many * share), h = g0 * share + i % (many * share);
                const int from = T_IF(T_windowed, modc_max(first + r - T_window + 1, 0), 0);

#if T_scaled
                T_NAME_scale(s + i * T_room, k_scale + h / share, table, low, first + r + 1 T_PASS);
#endif
                T_NAME_weigh(s + i * T_room, T_IF(T_bias, bias + h * T_n, bias), from - low, first + r + 1 - low,
                             end - low T_PASS);
#if T_scaled
                T_NAME_scale(s + i * T_room, v_scale + h / share, table, low, first + r + 1 T_PASS);
#endif
                for (int c = 0; c < T_c; c++)
                    y[((row + r) * T_heads + h) * T_c + c] = T_PUT(y, 0);
            }
            for (int at = low; at < end; at = next) {
                const int in = at % T_page;
                const ptrdiff_t slot = (ptrdiff_t)table[at / T_page] * T_page + in;

                next = modc_min(at - in + T_page, end);
                if (rows > 1)
                    T_NAME_values(y + (row * T_heads + g0 * share) * T_c, s + at - low,
                                  v + (slot * T_groups + g0) * T_c, rows, next - at T_PASS);
                else
                    T_NAME_row_values(y + (row * T_heads + g0 * share) * T_c, s + at - low,
                                      v + (slot * T_groups + g0) * T_c, many * share, next - at T_PASS);
            }
        }
    }
}
