/* y = softmax(x) over rows of T_k, or its logarithm (T_log), and the tail: y, x (T_m, T_k).
 *
 * exp(x - max) / sum(exp(x - max)), in three passes over a row in cache: the maximum, the exponentials and their sum,
 * the division. Where y would round the exponentials they are computed again. A row that holds NaN or +inf, or nothing but -inf, becomes NaN, as in torch. Fits: rows are contiguous,
 * T_ldx apart, those of y T_ldy; T_m and T_k may be sizes. T_wide: rows are so long that a single maximum would wait for
 * itself. T_vector_math: there is a vector exp for the type (float32). T_safe: a row of nothing but -inf becomes 0.
 * T_in_place: x is y. T_head: T_EPILOGUE is what x goes through before, not what the result does: in vectors (T_first) with
 * the first pass, else in one more. T_scaled: x is multiplied by T_scale, above 0, before. T_causal: row r ends with its
 * element T_reach + r - 1, T_k being its length and T_all that of the others; 0 follows. */
#if T_first
/* What goes through, at column k of row r. */
MODC_INLINE T_vec T_NAME_first(T_of_y *restrict row, const int r, const int k T_ARGS)
{
    const T_vec a = T_OF(y, load)(row + k), value = T_EPILOGUE_V(a, r, k);

    T_OF(y, store)(row + k, value);
    return value;
}

#endif
T_COMMENT
#if T_in_place
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y T_ARGS)
#else
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x T_ARGS)
#endif
{
#if T_by_rows
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);

#endif
    for (int r = T_IF(T_by_rows, from, 0); r < T_IF(T_by_rows, to, T_m); r++) {
#if T_in_place
        T_of_y *const out = y + r * T_ldy;
        const T_of_x *const row = out;
#else
        const T_of_x *const row = x + r * T_ldx;
        T_of_y *const out = y + r * T_ldy;
#endif
#if T_causal
        const int reached = modc_min(T_reach + r, T_all);
#endif
#if T_head && !T_first
        for (int k = 0; k < T_k; k++)
            out[k] = T_PUT(y, T_EPILOGUE(T_GET(y, out[k]), r, k));
#endif
#if T_vector_math
        const int full = T_k / T_LANES * T_LANES, rest = T_k - full;
        T_vec high = T_V(set)(-T_V(inf)()), total = T_V(set)(0); /* high may lose a NaN, which exp brings back */
        T_real most, last;
#if T_wide
        const int blocks = full / (4 * T_LANES) * (4 * T_LANES);
        T_vec highs[4] = {high, high, high, high};

        for (int k = 0; k < blocks; k += 4 * T_LANES) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++)
                highs[i] = T_V(atleast)(T_IF(T_first, T_NAME_first(out, r, k + i * T_LANES T_PASS), T_OF(x, load)(row + k + i * T_LANES)), highs[i]);
        }
        high = T_V(atleast)(T_V(atleast)(highs[0], highs[1]), T_V(atleast)(highs[2], highs[3]));
#endif

        for (int k = T_IF(T_wide, blocks, 0); k < full; k += T_LANES)
            high = T_V(atleast)(T_IF(T_first, T_NAME_first(out, r, k T_PASS), T_OF(x, load)(row + k)), high);
#if T_first
        for (int k = full; k < T_k; k++)
            out[k] = T_PUT(y, T_EPILOGUE(T_GET(y, out[k]), r, k));
#endif
        if (rest > 0)
            high = T_V(atleast)(T_OF(x, load_rest)(row + full, rest, -T_V(inf)()), high);
        most = T_V(hmax)(high);
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        for (int k = 0; k < full; k += T_LANES) {
            const T_vec e = T_V(exp_negative)(T_IF(T_scaled, (T_OF(x, load)(row + k) - most) * T_scale, T_OF(x, load)(row + k) - most));

            total += e;
#if !T_log && !T_converts_y
            T_OF(y, store)(out + k, e);
#endif
        }
        if (rest > 0) {
#if T_scaled
            const T_vec a = T_OF(x, load_rest)(row + full, rest, -T_V(inf)()) - most, e = T_V(exp_negative)(a * T_scale);
#else
            const T_vec e = T_V(exp_negative)(T_OF(x, load_rest)(row + full, rest, -T_V(inf)()) - most);
#endif

            total += e;
#if !T_log && !T_converts_y
            T_OF(y, store_part)(out + full, e, rest);
#endif
        }
#if T_log
        last = T_S(log)(T_V(sum)(total));
#elif T_safe
        last = T_V(sum)(total);
        last = last <= 0 ? 0 : 1 / last;
#else
        last = 1 / T_V(sum)(total);
#endif
#else
        const int full = 0;
        T_real most = -T_V(inf)(), sum = 0, last;

        for (int k = 0; k < T_k; k++)
            most = T_S(max)(most, T_GET(x, row[k]));
#if T_safe
        most = most > -T_V(inf)() ? most : 0;
#endif
        for (int k = 0; k < T_k; k++) {
            const T_real e = T_S(exp)(T_IF(T_scaled, (T_GET(x, row[k]) - most) * T_scale, T_GET(x, row[k]) - most));

            sum += e;
#if !T_log && !T_converts_y
            out[k] = T_PUT(y, e);
#endif
        }
#if T_log
        last = T_S(log)(sum);
#else
        last = T_IF(T_safe, sum <= 0 ? 0 : 1 / sum, 1 / sum);
#endif
#endif

#if T_vector_math
        for (int k = 0; k < full; k += T_LANES) {
#if T_log
            const T_vec value = (T_OF(x, load)(row + k) - most) - last;
#elif T_converts_y
            const T_vec value = T_V(exp_negative)(T_IF(T_scaled, (T_OF(x, load)(row + k) - most) * T_scale, T_OF(x, load)(row + k) - most)) * last;
#else
            const T_vec value = T_OF(y, load)(out + k) * last;
#endif

#if T_head
            T_OF(y, store)(out + k, value);
#elif T_vector_tail
            T_OF(y, store)(out + k, T_EPILOGUE_V(value, r, k));
#else
            T_real lanes[T_LANES];

            T_V(store)(lanes, value);
            for (int l = 0; l < T_LANES; l++)
                out[k + l] = T_PUT(y, T_EPILOGUE(lanes[l], r, k + l));
#endif
        }
#endif
        for (int k = full; k < T_k; k++) {
#if T_log
            const T_real value = (T_GET(x, row[k]) - most) - last;
#elif T_converts_y
            const T_real value = T_S(exp)(T_IF(T_scaled, (T_GET(x, row[k]) - most) * T_scale, T_GET(x, row[k]) - most)) * last;
#else
            const T_real value = T_GET(y, out[k]) * last;
#endif

            out[k] = T_PUT(y, T_IF(T_head, value, T_EPILOGUE(value, r, k)));
        }
#if T_causal
        for (int k = T_k; k < T_all; k++)
            out[k] = T_PUT(y, 0);
#endif
    }
}
