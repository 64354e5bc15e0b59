/* y = (x - mean) / sqrt(variance + T_eps) * w + bias over rows of T_k, and the tail: y, x (T_m, T_k), w and bias (T_k).
 *
 * The biased variance, from a second pass around the mean: two passes over a row in cache are as fast as one, and safe
 * (torch.nn.functional.layer_norm). That pass adds up the differences too, which are the rounding error of the mean, and is
 * taken away after it: a row of one value becomes 0, however small T_eps is, and large ones keep what tells them apart. Fits: rows are contiguous, T_ldx apart, those of y T_ldy; T_m and T_k
 * may be sizes. */
T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
    const int four = T_k / (4 * T_LANES) * (4 * T_LANES), full = T_k / T_LANES * T_LANES;
#if T_by_rows
    const int from = modc_share(T_m, slice, T_slices), to = modc_share(T_m, slice + 1, T_slices);
#endif

    for (int r = T_IF(T_by_rows, from, 0); r < T_IF(T_by_rows, to, T_m); r++) {
        const T_of_x *const row = x + r * T_ldx;
        T_vec part[4] = {T_V(set)(0), T_V(set)(0), T_V(set)(0), T_V(set)(0)}, off[2] = {T_V(set)(0), T_V(set)(0)}, middle;
        T_real sum, mean, error, scale;

        for (int k = 0; k < four; k += 4 * T_LANES) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++)
                part[j] += T_OF(x, load)(row + k + j * T_LANES);
        }
        for (int k = four; k < full; k += T_LANES)
            part[0] += T_OF(x, load)(row + k);
        sum = T_V(sum)((part[0] + part[1]) + (part[2] + part[3]));
        for (int k = full; k < T_k; k++)
            sum += T_GET(x, row[k]);
        mean = sum / (T_real)T_k;

        middle = T_V(set)(mean);
        MODC_UNROLL
        for (int j = 0; j < 4; j++)
            part[j] = T_V(set)(0);
        for (int k = 0; k < four; k += 4 * T_LANES) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++) {
                const T_vec d = T_OF(x, load)(row + k + j * T_LANES) - middle;

                part[j] += d * d;
                off[j % 2] += d;
            }
        }
        for (int k = four; k < full; k += T_LANES) {
            const T_vec d = T_OF(x, load)(row + k) - middle;

            part[0] += d * d;
            off[0] += d;
        }
        sum = T_V(sum)((part[0] + part[1]) + (part[2] + part[3]));
        error = T_V(sum)(off[0] + off[1]);
        for (int k = full; k < T_k; k++) {
            sum += (T_GET(x, row[k]) - mean) * (T_GET(x, row[k]) - mean);
            error += T_GET(x, row[k]) - mean;
        }
        error /= (T_real)T_k;
        scale = T_S(rsqrt)(T_S(max)(sum / (T_real)T_k - error * error, 0) + T_eps);

        for (int k = 0; k < full; k += T_LANES) {
            T_vec value = (T_OF(x, load)(row + k) - middle - error) * scale;

#if T_weight
            value *= T_OF(w, load)(w + k);
#endif
#if T_bias
            value += T_OF(bias, load)(bias + k);
#endif
#if T_vector_tail
            T_OF(y, store)(y + r * T_ldy + k, T_EPILOGUE_V(value, r, k));
#else
            {
                T_real lanes[T_LANES];

                T_V(store)(lanes, value);
                for (int l = 0; l < T_LANES; l++)
                    y[r * T_ldy + k + l] = T_PUT(y, T_EPILOGUE(lanes[l], r, k + l));
            }
#endif
        }
        for (int k = full; k < T_k; k++) {
            T_real value = (T_GET(x, row[k]) - mean - error) * scale;

#if T_weight
            value *= T_GET(w, w[k]);
#endif
#if T_bias
            value += T_GET(bias, bias[k]);
#endif
            y[r * T_ldy + k] = T_PUT(y, T_EPILOGUE(value, r, k));
        }
    }
}
