/* y = softmax(x) over rows of T_k, or its logarithm (T_log), and the tail: y, x (T_m, T_k).
 *
 * exp(x - max) / sum(exp(x - max)), in three passes over a row in cache: the maximum, the exponentials and their sum,
 * the division. A row that holds NaN or +inf, or nothing but -inf, becomes NaN, as in torch. Fits: rows are contiguous,
 * T_ldx apart, those of y T_ldy; T_m and T_k may be sizes. T_wide: rows are so long that a single maximum would wait for
 * itself. T_vector_math: there is a vector exp for the type (float32). */
static MODC_KERNEL void T_NAME(T_real *restrict y, const T_real *restrict x T_ARGS)
{
#if T_by_rows
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);

#endif
    for (int r = T_IF(T_by_rows, from, 0); r < T_IF(T_by_rows, to, T_m); r++) {
        const T_real *const row = x + r * T_ldx;
        T_real *const out = y + r * T_ldy;
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
                highs[i] = T_V(atleast)(T_V(load)(row + k + i * T_LANES), highs[i]);
        }
        high = T_V(atleast)(T_V(atleast)(highs[0], highs[1]), T_V(atleast)(highs[2], highs[3]));
#endif

        for (int k = T_IF(T_wide, blocks, 0); k < full; k += T_LANES)
            high = T_V(atleast)(T_V(load)(row + k), high);
        if (rest > 0)
            high = T_V(atleast)(T_V(load_rest)(row + full, rest, -T_V(inf)()), high);
        most = T_V(hmax)(high);
        for (int k = 0; k < full; k += T_LANES) {
            const T_vec e = T_V(exp_negative)(T_V(load)(row + k) - most);

            total += e;
#if !T_log
            T_V(store)(out + k, e);
#endif
        }
        if (rest > 0) {
            const T_vec e = T_V(exp_negative)(T_V(load_rest)(row + full, rest, -T_V(inf)()) - most);

            total += e;
#if !T_log
            T_V(store_part)(out + full, e, rest);
#endif
        }
#if T_log
        last = T_S(log)(T_V(sum)(total));
#else
        last = 1 / T_V(sum)(total);
#endif
#else
        const int full = 0;
        T_real most = -T_V(inf)(), sum = 0, last;

        for (int k = 0; k < T_k; k++)
            most = T_S(max)(most, row[k]);
        for (int k = 0; k < T_k; k++) {
            const T_real e = T_S(exp)(row[k] - most);

            sum += e;
#if !T_log
            out[k] = e;
#endif
        }
#if T_log
        last = T_S(log)(sum);
#else
        last = 1 / sum;
#endif
#endif

#if T_vector_math
        for (int k = 0; k < full; k += T_LANES) {
#if T_log
            const T_vec value = (T_V(load)(row + k) - most) - last;
#else
            const T_vec value = T_V(load)(out + k) * last;
#endif

#if T_vector_tail
            T_V(store)(out + k, T_EPILOGUE_V(value, r, k));
#else
            T_real lanes[T_LANES];

            T_V(store)(lanes, value);
            for (int l = 0; l < T_LANES; l++)
                out[k + l] = T_EPILOGUE(lanes[l], r, k + l);
#endif
        }
#endif
        for (int k = full; k < T_k; k++) {
#if T_log
            const T_real value = (row[k] - most) - last;
#else
            const T_real value = out[k] * last;
#endif

            out[k] = T_EPILOGUE(value, r, k);
        }
    }
}
