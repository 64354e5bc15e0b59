/* From panels back to PyTorch's layout: the inverse of pack_panels, of the same holes, where that has no tail.
 *
 * Element (g, n, k0, k1, k2) of y lies at g * T_sg + n * T_sn + k0 * T_s0 + k1 * T_s1 + k2 * T_s2; x is
 * [T_groups][ceil(T_n / T_P)][T_k0 * T_k1 * T_k2][T_P]. Fits: everything is constant. */
static void T_NAME(T_real *restrict y, const T_real *restrict x T_ARGS)
{
    for (int g = 0; g < T_groups; g++) {
        for (int first = 0; first < T_n; first += T_P) {
            for (int k = 0; k < T_k0 * T_k1 * T_k2; k++) {
                const int to = g * T_sg + k / (T_k1 * T_k2) * T_s0 + k / T_k2 % T_k1 * T_s1 + k % T_k2 * T_s2;

                for (int n = first; n < first + T_P; n++, x++) {
                    if (n < T_n)
                        y[to + n * T_sn] = *x;
                }
            }
        }
    }
}
