/* From PyTorch's layout to panels: y [T_groups][ceil(T_n / T_P)][T_k0 * T_k1 * T_k2][T_P], padded with zeros.
 *
 * Element (g, n, k0, k1, k2) of x lies at g * T_sg + n * T_sn + k0 * T_s0 + k1 * T_s1 + k2 * T_s2, so that k may be
 * (kh, kw, c) of a convolution, or the columns of a Linear behind a flattened one. The tail sees row g * T_n + n and
 * column k. With T_k0 = T_k1 = T_k2 = 1 it pads a bias. Fits: everything is constant. */
static void T_NAME(T_real *restrict y, const T_real *restrict x T_ARGS)
{
    for (int g = 0; g < T_groups; g++) {
        for (int first = 0; first < T_n; first += T_P) {
            for (int k = 0; k < T_k0 * T_k1 * T_k2; k++) {
                const int from = g * T_sg + k / (T_k1 * T_k2) * T_s0 + k / T_k2 % T_k1 * T_s1 +
                                 k % T_k2 * T_s2;

                for (int n = first; n < first + T_P; n++) {
                    T_real value = 0;

                    if (n < T_n) {
                        value = x[from + n * T_sn];
                        value = T_EPILOGUE(value, g * T_n + n, k);
                    }
                    *y++ = value;
                }
            }
        }
    }
}
