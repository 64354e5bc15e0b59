/* y = softmax(x) along the middle axis, or its logarithm (T_log): y, x (T_m, T_k, T_n).
 *
 * As softmax.c computes it, for a vector of columns at a time, whose values stand together in v: rows that lie a power of
 * two apart would drive each other from the cache. Without a vector exp a column at a time. T_rest: the last vector of some
 * calls has fewer columns. T_safe: nothing but -inf becomes 0. Fits: contiguous values; all may be sizes. v: T_scratch elements. */
#if T_vector_math
/* A vector of columns, or the first `width` of one. */
MODC_INLINE void T_NAME_block(T_of_y *T_RESTRICT y, const T_of_x *restrict x, T_real *restrict v, const int width T_ARGS)
{
    T_vec high = T_V(set)(-T_V(inf)()), total = T_V(set)(0), last; /* high may lose a NaN, which exp brings back */

    for (int k = 0; k < T_k; k++) {
        const T_vec a = width == T_LANES ? T_OF(x, load)(x + k * T_n) : T_OF(x, load_part)(x + k * T_n, width);

        T_V(store)(v + k * T_LANES, a);
        high = T_V(atleast)(a, high);
    }
#if T_safe
    high = T_V(select)(T_V(gt)(high, T_V(set)(-T_V(inf)())), high, T_V(set)(0));
#endif
    for (int k = 0; k < T_k; k++) {
        const T_vec e = T_V(exp_negative)(T_V(load)(v + k * T_LANES) - high);

        total += e;
#if !T_log
        T_V(store)(v + k * T_LANES, e);
#endif
    }
#if T_safe
    total = T_V(select)(T_V(le)(total, T_V(set)(0)), T_V(set)(1), total);
#endif
    last = T_IF(T_log, T_V(log)(total), 1 / total);
    for (int k = 0; k < T_k; k++) {
        const T_vec a = T_V(load)(v + k * T_LANES), value = T_IF(T_log, (a - high) - last, a * last);

        if (width == T_LANES)
            T_OF(y, store)(y + k * T_n, value);
        else
            T_OF(y, store_part)(y + k * T_n, value, width);
    }
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, T_real *restrict v T_ARGS)
{
    const int blocks = (T_n + T_LANES - 1) / T_LANES;
#if T_by_rows
    const int from = modc_share(T_m * blocks, slice, T_slices), to = modc_share(T_m * blocks, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    for (int i = T_IF(T_by_rows, from, 0); i < T_IF(T_by_rows, to, T_m * blocks); i++) {
        const int column = i % blocks * T_LANES, at = i / blocks * (T_k * T_n) + column;

#if T_rest
        if (T_n % T_LANES > 0 && column + T_LANES > T_n)
            T_NAME_block(y + at, x + at, v, T_n - column T_PASS);
        else
            T_NAME_block(y + at, x + at, v, T_LANES T_PASS);
#else
        T_NAME_block(y + at, x + at, v, T_LANES T_PASS);
#endif
    }
}
#else
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, T_real *restrict v T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_m * T_n, slice, T_slices), to = modc_share(T_m * T_n, slice + 1, T_slices);

    v += slice * T_scratch;
#endif
    for (int i = T_IF(T_by_rows, from, 0); i < T_IF(T_by_rows, to, T_m * T_n); i++) {
        const int at = i / T_n * (T_k * T_n) + i % T_n;
        T_real most = -T_V(inf)(), sum = 0, last;

        for (int k = 0; k < T_k; k++)
            most = T_S(max)(most, T_GET(x, x[at + k * T_n]));
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        for (int k = 0; k < T_k; k++) {
            v[k] = T_S(exp)(T_GET(x, x[at + k * T_n]) - most);
            sum += v[k];
        }
#if T_safe
        sum = sum <= 0 ? 1 : sum;
#endif
        last = T_IF(T_log, T_S(log)(sum), 1 / sum);
        for (int k = 0; k < T_k; k++)
            y[at + k * T_n] = T_PUT(y, T_IF(T_log, (T_GET(x, x[at + k * T_n]) - most) - last, v[k] * last));
    }
}
#endif
