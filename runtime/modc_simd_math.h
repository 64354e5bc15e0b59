/* modc_simd_math.h - polynomials and what else is the same for scalars and vectors. Part of modc_simd.h. */
#ifndef MODC_SIMD_PASS
#include "modc_simd.h"
#else

/* ---- mathematics -------------------------------------------------------------------------------------- */

#define MODC_ROUND 12582912.0f /* 1.5 * 2^23: a float of at most 2^22 plus this is rounded to an integer */

MODC_INLINE MODC_T MODC_F(abs)(MODC_T a)
{
    return MODC_F(of_bits)(MODC_F(bits)(a) & 0x7fffffffu);
}

/* `a` with the sign bit of `sign` set where that has it; a is not negative, or is wherever sign is. */
MODC_INLINE MODC_T MODC_F(with_sign)(MODC_T a, MODC_T sign)
{
    return MODC_F(of_bits)(MODC_F(bits)(a) | (MODC_F(bits)(sign) & 0x80000000u));
}

MODC_INLINE MODC_T MODC_F(copysign)(MODC_T a, MODC_T sign)
{
    return MODC_F(with_sign)(MODC_F(abs)(a), sign);
}

MODC_INLINE MODC_T MODC_F(rsqrt)(MODC_T a)
{
    return 1.0f / MODC_F(sqrt)(a);
}

MODC_INLINE MODC_T MODC_F(floor)(MODC_T a)
{
    const MODC_T size = MODC_F(abs)(a);
    const MODC_T near = MODC_F(with_sign)((size + 8388608.0f) - 8388608.0f, a);
    const MODC_T down = MODC_F(select)(MODC_F(gt)(near, a), near - 1.0f, near);

    return MODC_F(select)(MODC_F(lt)(size, MODC_F(set)(8388608.0f)), down, a);
}

/* e^r - 1 - r over r^2 for |r| <= ln 2 / 2 */
MODC_INLINE MODC_T MODC_F(exp_rest)(MODC_T r)
{
    MODC_T p = MODC_F(set)(0.0013814517f);

    p = p * r + 0.008368756f;
    p = p * r + 0.041668393f;
    p = p * r + 0.1666652f;
    return p * r + 0.49999994f;
}

/* a = n ln 2 + r: returns r; *t is n + bias + MODC_ROUND, whose low bits are n + bias. */
MODC_INLINE MODC_T MODC_F(exp_reduce)(MODC_T a, const float bias, MODC_T *t)
{
    MODC_T n, r;

    *t = a * 1.44269504f + (MODC_ROUND + bias);
    n = *t - (MODC_ROUND + bias);
    r = a - n * 0.693359375f;
    return r + n * 2.12194440e-4f;
}

/* 2^by e^a where 2^(n + by) is a normal number; where n + by is -127 it is 0, where it is 128, infinite. */
MODC_INLINE MODC_T MODC_F(exp_scaled)(MODC_T a, const float by)
{
    MODC_T t;
    const MODC_T r = MODC_F(exp_reduce)(a, 127.0f + by, &t), p = MODC_F(exp_rest)(r) * (r * r) + r + 1.0f;

    return p * MODC_F(of_bits)(MODC_F(bits)(t) << 23);
}

/* 2^32 e^a, which is no denormal: it is 0 below -109.8, and at least 2^95 beyond 66; and 2^-32 e^a, at least 2^-126 and infinite
 * beyond 110.5. */
MODC_INLINE MODC_T MODC_F(exp_up)(MODC_T a)
{
    return MODC_F(exp_scaled)(MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-110.3f)), MODC_F(set)(66.6f)),
                              32.0f);
}

MODC_INLINE MODC_T MODC_F(exp_down)(MODC_T a)
{
    return MODC_F(exp_scaled)(MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-65.0f)), MODC_F(set)(111.0f)),
                              -32.0f);
}

#if MODC_SIMD_PASS == 17 && defined __AVX512F__

/* For a >= -104, or NaN: with the instruction that has denormals. */
MODC_INLINE MODC_T MODC_F(exp_within)(MODC_T a)
{
    MODC_T t;
    const MODC_T r = MODC_F(exp_reduce)(a, 0.0f, &t), p = MODC_F(exp_rest)(r) * (r * r) + r + 1.0f;

    return __builtin_ia32_scalefps512_mask(p, t - MODC_ROUND, p, MODC_ALL_LANES, 4);
}

#endif

MODC_INLINE MODC_T MODC_F(exp)(MODC_T a)
{
    const MODC_T x = MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-104.0f)), MODC_F(set)(89.0f));
#if MODC_SIMD_PASS == 17 && defined __AVX512F__

    return MODC_F(exp_within)(x);
#else
    MODC_T t, scale; /* 2^n in two steps, each of which is a normal float: so the result is rounded once */
    const MODC_T r = MODC_F(exp_reduce)(x, 254.0f, &t), p = MODC_F(exp_rest)(r) * (r * r) + r;
    const MODC_U n = MODC_F(bits)(t), half = n >> 1;

    scale = MODC_F(of_bits)(half << 23);
    return (p * scale + scale) * MODC_F(of_bits)((n - half) << 23);
#endif
}

/* For a <= 0, or NaN. */
MODC_INLINE MODC_T MODC_F(exp_negative)(MODC_T a)
{
    const MODC_T x = MODC_F(atleast)(a, MODC_F(set)(-104.0f));
#if MODC_SIMD_PASS == 17 && defined __AVX512F__

    return MODC_F(exp_within)(x);
#else
    return MODC_F(exp_scaled)(x, 32.0f) * 2.32830644e-10f; /* 2^-32 */
#endif
}

/* 2^n (e^r - 1) + (2^n - 1), halved until the end, since 2^128 is no float */
MODC_INLINE MODC_T MODC_F(expm1)(MODC_T a)
{
    const MODC_T x = MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-30.0f)), MODC_F(set)(89.0f));
    MODC_T t, r, p, s;

    r = MODC_F(exp_reduce)(x, 126.0f, &t);
    p = MODC_F(exp_rest)(r) * (r * r) + r;
    s = MODC_F(of_bits)(MODC_F(bits)(t) << 23);
    return MODC_F(with_sign)(2.0f * (s * p + (s - 0.5f)), a);
}

MODC_INLINE MODC_T MODC_F(log)(MODC_T a)
{
    const MODC_M denormal = MODC_F(lt)(a, MODC_F(set)(1.17549435e-38f));
    const MODC_T x = MODC_F(select)(denormal, a * 8388608.0f, a);
    const MODC_U bits = MODC_F(bits)(x);
    const MODC_I e = (MODC_I)(bits - 0x3f3504f3u) >> 23; /* x = 2^e (1 + f), 1 + f in [0.707, 1.414) */
    const MODC_T f = MODC_F(of_bits)(bits - ((MODC_U)e << 23)) - 1.0f, s = f * f;
    const MODC_T k = MODC_F(of_int)(e) - MODC_F(select)(denormal, MODC_F(set)(23.0f), MODC_F(set)(0.0f));
    MODC_T p = MODC_F(set)(0.087004356f);

    p = p * f - 0.14267486f;
    p = p * f + 0.14914767f;
    p = p * f - 0.16577585f;
    p = p * f + 0.19963063f;
    p = p * f - 0.25001338f;
    p = p * f + 0.3333391f;
    p = f * s * p;
    p = p - k * 2.12194440e-4f;
    p = p - 0.5f * s;
    p = f + p;
    p = p + k * 0.693359375f;
    p = MODC_F(select)(MODC_F(lt)(a, MODC_F(set)(modc_f32_inf())), p, a);
    return MODC_F(select)(MODC_F(gt)(a, MODC_F(set)(0.0f)), p,
                          MODC_F(select)(MODC_F(eq)(a, MODC_F(set)(0.0f)), MODC_F(set)(-modc_f32_inf()),
                                         MODC_F(set)(modc_f32_nan())));
}

/* log(u) + (a - (u - 1)) / u with u = 1 + a rounded */
MODC_INLINE MODC_T MODC_F(log1p)(MODC_T a)
{
    const MODC_T u = a + 1.0f;
    const MODC_M inside = MODC_F(gt)(u, MODC_F(set)(0.0f)) & MODC_F(lt)(u, MODC_F(set)(modc_f32_inf()));
    const MODC_T rest = MODC_F(select)(inside, (a - (u - 1.0f)) / u, MODC_F(set)(0.0f));

    return MODC_F(with_sign)(MODC_F(log)(u) + rest, a);
}

/* |a| = n ln 2 / 2 + h, s = 2^n, u = tanh(h): (s (1 + u) - (1 - u)) / (s (1 + u) + (1 - u)), which is 1 before the bound
 * of |a|. A float is nearer to ln 2 / 2 than 1e-9, so that h needs no second part. */
MODC_INLINE MODC_T MODC_F(tanh)(MODC_T a)
{
    const MODC_T size = MODC_F(atmost)(MODC_F(abs)(a), MODC_F(set)(9.7f));
    const MODC_T t = size * 2.88539008f + (MODC_ROUND + 127.0f), n = t - (MODC_ROUND + 127.0f);
    const MODC_T s = MODC_F(of_bits)(MODC_F(bits)(t) << 23);
    const MODC_T h = size - n * 0.346573591f;
    MODC_T u = MODC_F(set)(0.131088644f);

    u = u * (h * h) - 0.33331239f;
    u = u * (h * h) * h + h;
    return MODC_F(with_sign)(((s + 1.0f) * u + (s - 1.0f)) / ((s - 1.0f) * u + (s + 1.0f)), a);
}

/* The greater of a series, which falls behind beyond 0.86, and of 1 - q^8, which is the lesser before it and 1 at the bound:
 * two short sums beside each other, and no division. */
MODC_INLINE MODC_T MODC_F(erf)(MODC_T a)
{
    const MODC_T c = MODC_F(atmost)(MODC_F(abs)(a), MODC_F(set)(3.95f)), t = c * c;
    MODC_T p = MODC_F(set)(-0.00061430444f), q = MODC_F(set)(0.000131844921f);

    p = p * t + 0.0050194580f;
    p = p * t - 0.026781892f;
    p = p * t + 0.11282153f;
    p = p * t - 0.37612516f;
    p = p * t + 0.12837915f;
    p = p * c + c;
    q = q * c - 0.00228628516f;
    q = q * t + (0.0121672219f * c - 0.00974273123f);
    q = q * t + (-0.0633497089f * c - 0.143879563f);
    q = q * c + 1.00053942f;
    q = q * q;
    q = q * q;
    return MODC_F(with_sign)(MODC_F(atleast)(p, 1.0f - q * q), a);
}

/* a = n pi / 2 + r with |r| <= pi / 4: returns r and the low bits of n. */
MODC_INLINE MODC_T MODC_F(turn)(MODC_T a, MODC_U *quadrant)
{
    const MODC_T t = a * 0.636619772f + MODC_ROUND, n = t - MODC_ROUND, size = MODC_F(abs)(a);
    const MODC_M large = MODC_F(ge)(size, MODC_F(set)(8192.0f)) &
                         MODC_F(lt)(size, MODC_F(set)(modc_f32_inf()));
    MODC_T r = a - n * 1.5703125f;

    r = r - n * 0.000483751297f;
    r = r - n * 7.54953362e-08f;
    r = r - n * 2.56334407e-12f;
    *quadrant = MODC_F(bits)(t);
    if (MODC_F(any)(large)) {
        float lane[sizeof a / 4], rest[sizeof a / 4];
        int32_t quarters[sizeof a / 4];

        memcpy(lane, &a, sizeof a);
        memcpy(rest, &r, sizeof a);
        memcpy(quarters, quadrant, sizeof a);
        for (unsigned i = 0; i < sizeof a / 4; i++) {
            if (modc_f32s_abs(lane[i]) >= 8192.0f && modc_f32s_abs(lane[i]) < modc_f32_inf()) {
                const struct modc_turns turns = modc_f32s_reduce(lane[i]);

                rest[i] = turns.rest;
                quarters[i] = turns.quarters;
            }
        }
        memcpy(&r, rest, sizeof a);
        memcpy(quadrant, quarters, sizeof a);
    }
    return r;
}

/* sine of r plus `quadrant` quarter turns */
MODC_INLINE MODC_T MODC_F(wave)(MODC_T r, MODC_U quadrant)
{
    const MODC_T t = r * r;
    const MODC_M odd = -(MODC_M)(quadrant & 1u);
    MODC_T s = MODC_F(set)(-1.9515295891e-4f), c = MODC_F(set)(2.443315711809948e-5f);

    s = s * t + 8.3321608736e-3f;
    s = s * t - 1.6666654611e-1f;
    s = MODC_F(with_sign)(s * (t * r) + r, r);
    c = c * t - 1.388731625493765e-3f;
    c = c * t + 4.166664568298827e-2f;
    c = c * (t * t) + (1.0f - 0.5f * t);
    s = MODC_F(select)(odd, c, s);
    return MODC_F(of_bits)(MODC_F(bits)(s) ^ ((quadrant & 2u) << 30));
}

MODC_INLINE MODC_T MODC_F(sin)(MODC_T a)
{
    MODC_U quadrant;
    const MODC_T r = MODC_F(turn)(a, &quadrant);

    return MODC_F(wave)(r, quadrant);
}

MODC_INLINE MODC_T MODC_F(cos)(MODC_T a)
{
    MODC_U quadrant;
    const MODC_T r = MODC_F(turn)(a, &quadrant);

    return MODC_F(wave)(r, quadrant + 1u);
}

/* The `side` values of d, `step` apart, times B^T; and times A^T, of which the first side - 2 are left: Winograd's F(4, 3) with
 * the points of note [points], where side is 6, and F(2, 3) with 0, 1, -1 and infinity, where it is 4. */
MODC_INLINE void MODC_F(winograd_input)(MODC_T *d, const int step, const int side)
{
    if (side == 4) {
        const MODC_T first = d[0] - d[2 * step], sum = d[step] + d[2 * step],
                     difference = d[2 * step] - d[step];

        d[3 * step] = d[step] - d[3 * step];
        d[0] = first;
        d[step] = sum;
        d[2 * step] = difference;
    } else {
        const float p = MODC_POINT_P, q = MODC_POINT_Q, pp = p * p, qq = q * q;
        const MODC_T a = d[4 * step] - qq * d[2 * step], b = d[3 * step] - qq * d[step];
        const MODC_T c = d[4 * step] - pp * d[2 * step], e = d[3 * step] - pp * d[step];
        const MODC_T first = pp * qq * d[0] - (pp + qq) * d[2 * step] + d[4 * step];
        const MODC_T last = pp * qq * d[step] - (pp + qq) * d[3 * step] + d[5 * step];

        d[0] = first;
        d[step] = a + p * b;
        d[2 * step] = a - p * b;
        d[3 * step] = c + q * e;
        d[4 * step] = c - q * e;
        d[5 * step] = last;
    }
}

MODC_INLINE void MODC_F(winograd_output)(MODC_T *m, const int step, const int side)
{
    const MODC_T a = m[step] + m[2 * step], b = m[step] - m[2 * step];

    if (side == 4) {
        m[0] = m[0] + a;
        m[step] = b - m[3 * step];
    } else {
        const float p = MODC_POINT_P, q = MODC_POINT_Q, pp = p * p, qq = q * q;
        const MODC_T c = m[3 * step] + m[4 * step], e = m[3 * step] - m[4 * step];

        m[0] = m[0] + a + c;
        m[step] = p * b + q * e;
        m[2 * step] = pp * a + qq * c;
        m[3 * step] = p * pp * b + q * qq * e + m[5 * step];
    }
}

#endif
