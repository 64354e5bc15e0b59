/* What the kernels of Jacobi's rotations share. */

/* Cosine and sine of the angle that takes what lies between two rows to 0: lengths `first` and `last`, `off` between them. The
 * tangent is returned. */
MODC_INLINE T_real T_NAME_angle(const T_real first, const T_real last, const T_real off, T_real *restrict c, T_real *restrict s)
{
    const T_real half = (last - first) / 2 / off;
    const T_real t = T_S(copysign)(1 / (T_S(abs)(half) + T_S(sqrt)(half * half + 1)), half);

    *c = 1 / T_S(sqrt)(t * t + 1);
    *s = t * *c;
    return t;
}

MODC_INLINE void T_NAME_turn(T_real *restrict one, T_real *restrict next, const int n, const T_real c, const T_real s)
{
    for (int j = 0; j < n; j++) {
        const T_real high = one[j], low = next[j];

        one[j] = c * high - s * low;
        next[j] = s * high + c * low;
    }
}

/* Whether a comes first in falling order. NaN is above all. */
MODC_INLINE bool T_NAME_above(const T_real a, const T_real b)
{
    return a > b || (a != a && b == b);
}
