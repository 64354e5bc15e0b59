/* y (T_m, T_k) = those rows of w (n, T_k) whose numbers x (T_m) has, each within w; a thread an element.
 *
 * Rows of w are T_ldw of its elements apart: floats of 16 bits; T_scaled: integers, note [scaled rows] in modc_simd_scalar.h, whose
 * scales, T_groups of a row, begin T_scales bytes behind w; T_grouped: each is of T_group steps. Fits: w is packed in fewer bits, T_k is
 * a constant; contiguous values; T_m may be a size. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
#if T_scaled
    const T_of_s *const s = (const T_of_s *)(const void *)(w + T_scales);
#endif
#if T_guarded

    if (modc_faulty(T_fault))
        return;
#endif

    for (int at = MODC_THREAD(256); at < T_m * T_k; at += MODC_THREADS(256)) {
        const int row = (int)x[at / T_k], k = at % T_k;
#if T_scaled
        const T_real scale = T_GET(s, s[T_IF(T_grouped, row * T_groups + k / T_group, row)]);

        y[at] = T_PUT(y, (T_real)modc_row_get(w + (ptrdiff_t)row * T_ldw, k, T_bits) * scale);
#else
        y[at] = T_PUT(y, T_GET(w, w[(ptrdiff_t)row * T_ldw + k]));
#endif
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, T_m * T_k, 256, T_STREAM, T_ARGUMENTS);
}
