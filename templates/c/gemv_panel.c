/* y (T_n) = x (T_k) . w (T_n, T_k)^T + bias (T_n), and the tail: one row, which reads every weight once.
 *
 * w lies in panels [ceil(T_n / T_P)][T_k][T_P], zero padded; bias too is padded to whole panels. Fits: w is packed,
 * one row, T_n and T_k are constants, T_k > 0. Eight vectors of neighbouring panels at a time hide the latency of the
 * multiply-add; where fewer are left, or a single panel is read at a time, K is split over several sets of accumulators.
 * Split by columns: whole such bands. */

/* Columns column ... column + columns - 1; columns and sets are constants of the call. */
MODC_INLINE void T_NAME_band(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                             const T_of_bias *restrict bias, const int columns, const int sets,
                             const int column T_ARGS)
{
#if T_cached
    const int vectors = (columns + T_LANES - 1) / T_LANES, whole = MODC_LANES < 8 ? 0 : T_k / T_LANES * T_LANES;
#else
    const int vectors = (columns + T_LANES - 1) / T_LANES, whole = 0;
#endif
    T_vec sum[MODC_TILE_REGISTERS];

    w += column / T_P * (T_k * T_P) + column % T_P;
    MODC_UNROLL
    for (int j = 0; j < vectors * sets; j++)
        sum[j] = T_bias && j < vectors ? T_OF(bias, load)(bias + column + j * T_LANES) : T_V(set)(0);
#if T_cached
    MODC_ROLL
    for (int k = 0; k < whole; k += T_LANES) { /* a load of one value of x would take the place of one of weights */
        const T_vec some = T_OF(x, load)(x + k);

        MODC_UNROLL
        for (int i = 0; i < T_LANES; i++) {
            const T_vec one = T_V(lane)(some, i);

            MODC_UNROLL
            for (int j = 0; j < vectors; j++) {
                const int c = j * T_LANES;

                sum[i % sets * vectors + j] += one * T_OF(w, load)(w + c / T_P * (T_k * T_P) + c % T_P + (k + i) * T_P);
            }
        }
    }
#endif
    MODC_ROLL
    for (int k = whole; k + sets <= T_k; k += sets) {
#if T_ahead
        /* a page and more ahead: where a line holds twice the values, the processor's own prefetch falls behind */
        MODC_UNROLL
        for (int line = 0; line < sets * T_P * (int)sizeof *w; line += 64)
            MODC_PREFETCH_NEAR((const char *)(w + k * T_P) + line + 4096);
#endif
        MODC_UNROLL
        for (int j = 0; j < vectors * sets; j++) {
            const int s = j / vectors, c = j % vectors * T_LANES;

            sum[j] += T_GET(x, x[k + s]) * T_OF(w, load)(w + c / T_P * (T_k * T_P) + c % T_P + (k + s) * T_P);
        }
    }
    for (int k = T_k - (T_k - whole) % sets; k < T_k; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const int c = j * T_LANES;

            sum[j] += T_GET(x, x[k]) * T_OF(w, load)(w + c / T_P * (T_k * T_P) + c % T_P + k * T_P);
        }
    }
    MODC_UNROLL
    for (int j = vectors; j < vectors * sets; j++)
        sum[j % vectors] += sum[j];

    MODC_UNROLL
    for (int j = 0; j < vectors; j++) {
        const int c = column + j * T_LANES, rest = columns - j * T_LANES;

#if T_vector_tail
        if (rest >= T_LANES) {
            T_OF(y, store)(y + c, T_EPILOGUE_V(sum[j], 0, c));
            continue;
        }
        T_OF(y, store_part)(y + c, T_EPILOGUE_PART(sum[j], 0, c, rest), rest);
#else
        T_real part[T_LANES];

        T_V(store)(part, sum[j]);
        for (int l = 0; l < T_LANES && l < rest; l++)
            y[c + l] = T_PUT(y, T_EPILOGUE(part[l], 0, c + l));
#endif
    }
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_w *restrict w,
                        const T_of_bias *restrict bias T_ARGS)
{
#if T_streams
    /* More than L2 holds: panel after panel, which is one stream through memory; K is split over the accumulators. */
    enum { band = MODC_LANES > 1 ? T_P : MODC_TILE_VECTORS(1) };
    enum { sets = MODC_TILE_VECTORS(1) * T_LANES / band };
#else
    enum { band = MODC_TILE_VECTORS(1) * T_LANES };
    enum { sets = 1 };
#endif
    const int bands = T_n / band, rest = T_n % band;
#if T_by_columns
    const int all = bands + (rest > 0);
    const int from = modc_share(all, slice, T_slices), to = modc_share(all, slice + 1, T_slices);
#endif

    for (int n = T_IF(T_by_columns, from, 0); n < T_IF(T_by_columns, modc_min(to, bands), bands); n++)
        T_NAME_band(y, x, w, bias, band, sets, n * band T_PASS);
    if (T_IF(T_by_columns, rest > 0 && to > bands, rest > 0))
        T_NAME_band(y, x, w, bias, rest, MODC_TILE_SETS((rest + T_LANES - 1) / T_LANES, T_k),
                    bands * band T_PASS);
}
