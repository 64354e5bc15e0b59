/* modc_simd_pass.h - the primitives of floats and doubles: MODC_SIMD_PASS is 1 for scalars, MODC_LANES + 1 for
 * vectors. Part of modc_simd.h. */
#ifndef MODC_SIMD_PASS
#include "modc_simd.h"
#else

#if MODC_SIMD_PASS == 1
#define MODC_F(name) modc_f32s_##name
#define MODC_D(name) modc_f64s_##name
#define MODC_T float
#define MODC_M int32_t
#define MODC_I int32_t
#define MODC_U uint32_t
#define MODC_T64 double
#define MODC_M64 int64_t
#else
#define MODC_F(name) modc_f32_##name
#define MODC_D(name) modc_f64_##name
#define MODC_T modc_f32
#define MODC_M modc_m32
#define MODC_I modc_i32
#define MODC_U modc_u32
#define MODC_T64 modc_f64
#define MODC_M64 modc_m64
#endif

#if MODC_SIMD_PASS == 1 || MODC_LANES == 1

MODC_INLINE MODC_T MODC_F(set)(float a)
{
    return a;
}

MODC_INLINE MODC_T MODC_F(load)(const float *p)
{
    return *p;
}

MODC_INLINE void MODC_F(store)(float *p, MODC_T v)
{
    *p = v;
}

MODC_INLINE MODC_T MODC_F(load_part)(const float *p, int n)
{
    return n > 0 ? *p : 0.0f;
}

MODC_INLINE MODC_T MODC_F(load_rest)(const float *p, int n, float other)
{
    return n > 0 ? *p : other;
}

MODC_INLINE void MODC_F(store_part)(float *p, MODC_T v, int n)
{
    if (n > 0)
        *p = v;
}

MODC_INLINE MODC_T MODC_F(first)(MODC_T v, int n, MODC_T rest)
{
    return n > 0 ? v : rest;
}

MODC_INLINE MODC_T MODC_F(evens)(MODC_T a, MODC_T b)
{
    (void)b;
    return a;
}

MODC_INLINE MODC_T MODC_F(zip_low)(MODC_T a, MODC_T b)
{
    (void)b;
    return a;
}

MODC_INLINE MODC_T MODC_F(zip_high)(MODC_T a, MODC_T b)
{
    (void)a;
    return b;
}

MODC_INLINE MODC_T MODC_F(reverse)(MODC_T a)
{
    return a;
}

MODC_INLINE MODC_T MODC_F(lane)(MODC_T v, const int i)
{
    (void)i;
    return v;
}

MODC_INLINE MODC_U MODC_F(bits)(MODC_T a)
{
    return modc_f32_to_bits(a);
}

MODC_INLINE MODC_T MODC_F(of_bits)(MODC_U a)
{
    return modc_f32_from_bits(a);
}

MODC_INLINE MODC_T MODC_F(of_int)(MODC_I a)
{
    return (float)a;
}

#define MODC_COMPARE(name, operator)                                                                         \
    MODC_INLINE MODC_M MODC_F(name)(MODC_T a, MODC_T b)                                                      \
    {                                                                                                        \
        return -(int32_t)(a operator b);                                                                     \
    }                                                                                                        \
    MODC_INLINE MODC_M64 MODC_D(name)(MODC_T64 a, MODC_T64 b)                                                \
    {                                                                                                        \
        return -(int64_t)(a operator b);                                                                     \
    }

MODC_INLINE MODC_T MODC_F(select)(MODC_M mask, MODC_T a, MODC_T b)
{
    return mask ? a : b;
}

MODC_INLINE bool MODC_F(any)(MODC_M mask)
{
    return mask != 0;
}

/* The greater and the lesser of a and c, where only a may be NaN: then the result is. */
MODC_INLINE MODC_T MODC_F(atleast)(MODC_T a, MODC_T c)
{
    return a < c ? c : a;
}

MODC_INLINE MODC_T MODC_F(atmost)(MODC_T a, MODC_T c)
{
    return a > c ? c : a;
}

MODC_INLINE float MODC_F(sum)(MODC_T a)
{
    return a;
}

MODC_INLINE void MODC_F(sum4)(const MODC_T *v, float *sums)
{
    memcpy(sums, v, 4 * sizeof *v);
}

MODC_INLINE void MODC_D(sum4)(const MODC_T64 *v, double *sums)
{
    memcpy(sums, v, 4 * sizeof *v);
}

#if MODC_SIMD_PASS != 1
/* Transposes: y (rows, columns), its rows ldy apart, from x (columns, rows), its rows ldx apart. */
MODC_INLINE void MODC_F(transpose)(float *y, const int ldy, const float *x, const int ldx, const int rows,
                                   const int columns)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            y[i * ldy + j] = x[j * ldx + i];
}
#endif

MODC_INLINE float MODC_F(hmax)(MODC_T a)
{
    return a;
}

MODC_INLINE float MODC_F(hmin)(MODC_T a)
{
    return a;
}

MODC_INLINE MODC_T64 MODC_D(set)(double a)
{
    return a;
}

MODC_INLINE MODC_T64 MODC_D(load)(const double *p)
{
    return *p;
}

MODC_INLINE void MODC_D(store)(double *p, MODC_T64 v)
{
    *p = v;
}

MODC_INLINE MODC_T64 MODC_D(load_part)(const double *p, int n)
{
    return n > 0 ? *p : 0.0;
}

MODC_INLINE void MODC_D(store_part)(double *p, MODC_T64 v, int n)
{
    if (n > 0)
        *p = v;
}

MODC_INLINE MODC_T64 MODC_D(first)(MODC_T64 v, int n, MODC_T64 rest)
{
    return n > 0 ? v : rest;
}

MODC_INLINE MODC_T64 MODC_D(evens)(MODC_T64 a, MODC_T64 b)
{
    (void)b;
    return a;
}

MODC_INLINE MODC_T64 MODC_D(zip_low)(MODC_T64 a, MODC_T64 b)
{
    (void)b;
    return a;
}

MODC_INLINE MODC_T64 MODC_D(zip_high)(MODC_T64 a, MODC_T64 b)
{
    (void)a;
    return b;
}

MODC_INLINE MODC_T64 MODC_D(reverse)(MODC_T64 a)
{
    return a;
}

MODC_INLINE MODC_T64 MODC_D(lane)(MODC_T64 v, const int i)
{
    (void)i;
    return v;
}

MODC_INLINE MODC_T64 MODC_D(select)(MODC_M64 mask, MODC_T64 a, MODC_T64 b)
{
    return mask ? a : b;
}

MODC_INLINE double MODC_D(sum)(MODC_T64 a)
{
    return a;
}

MODC_INLINE double MODC_D(hmax)(MODC_T64 a)
{
    return a;
}

MODC_INLINE double MODC_D(hmin)(MODC_T64 a)
{
    return a;
}

#if MODC_SIMD_PASS != 1
MODC_INLINE MODC_T MODC_F(sqrt)(MODC_T a)
{
    return modc_f32s_sqrt(a);
}

MODC_INLINE MODC_T64 MODC_D(sqrt)(MODC_T64 a)
{
    return modc_f64s_sqrt(a);
}

MODC_INLINE MODC_T64 MODC_D(abs)(MODC_T64 a)
{
    return modc_f64s_abs(a);
}

MODC_INLINE MODC_T64 MODC_D(copysign)(MODC_T64 a, MODC_T64 sign)
{
    return modc_f64s_copysign(a, sign);
}
#endif

#else
#include "modc_simd_vector.h"

#include "modc_simd_reduce.h"
#endif

/* ---- panels --------------------------------------------------------------------------------------------- */

#if MODC_SIMD_PASS != 1
/* Weights (n, pixels, channels) in panels of 16: y [n / 16][pixels][channels][16], 0 where there is no n. row, channel and pixel
 * are the distances of neighbours in w. */
MODC_OUTLINE void MODC_F(pack_pixels)(float *y, const float *w, const int n, const int channels,
                                      const int pixels, const int row, const int channel, const int pixel)
{
    const int depth = 16 * channels; /* of a pixel in a panel */

    for (int i = 0; i < n; i += 16, y += pixels * depth) {
        const int wide = modc_min(n - i, 16);

        if (wide < 16)
            memset(y, 0, sizeof *y * (size_t)(pixels * depth));
        for (int c = 0; c < channels; c++) {
            float *to = y + c * 16;
            const float *from = w + i * row + c * channel;

            if (pixel == 1 && row != 1) {
                MODC_F(transpose)(to, depth, from, row, pixels, wide);
            } else if (row == 1 && wide == 16) {
                for (int p = 0; p < pixels; p++, to += depth, from += pixel)
                    memcpy(to, from, sizeof *to * 16);
            } else {
                for (int p = 0; p < pixels; p++, to += depth, from += pixel)
                    for (int j = 0; j < wide; j++)
                        to[j] = from[j * row];
            }
        }
    }
}

/* The same of weights (n, k): y [n / 16][k][16]. */
MODC_INLINE void MODC_F(pack)(float *y, const float *w, const int n, const int k, const int row,
                              const int column)
{
    enum { SMALL = 512 }; /* constant loops are several times as fast then as a call */

    if (n * k > SMALL || n % 16 != 0) {
        MODC_F(pack_pixels)(y, w, n, 1, k, row, 0, column);
        return;
    }
    for (int i = 0; i < n; i += 16)
        for (int j = 0; j < k; j++)
            for (int l = 0; l < 16; l++)
                y[i * k + j * 16 + l] = w[(i + l) * row + j * column];
}
#endif

/* ---- comparisons, minimum and maximum ----------------------------------------------------------------- */

MODC_COMPARE(lt, <)
MODC_COMPARE(le, <=)
MODC_COMPARE(gt, >)
MODC_COMPARE(ge, >=)
MODC_COMPARE(eq, ==)
MODC_COMPARE(ne, !=)
#undef MODC_COMPARE

#if MODC_SIMD_PASS != 1
/* ---- tiles: whole vectors and the part that is left ----------------------------------------------------- */

/* The first n lanes, n > 0; all of them where there are not so many. n is a constant of the call. */
MODC_INLINE void MODC_F(store_most)(float *p, MODC_T v, const int n)
{
    if (n >= MODC_LANES)
        MODC_F(store)(p, v);
    else
        MODC_F(store_part)(p, v, n);
}

MODC_INLINE void MODC_D(store_most)(double *p, MODC_T64 v, const int n)
{
    if (n >= MODC_LANES64)
        MODC_D(store)(p, v);
    else
        MODC_D(store_part)(p, v, n);
}

/* The lanes of each of n vectors, summed; n is a constant of the call. */
MODC_INLINE void MODC_F(sums)(const MODC_T *v, float *sums, const int n)
{
    if (n == 4) {
        MODC_F(sum4)(v, sums);
    } else {
        MODC_UNROLL
        for (int i = 0; i < n; i++)
            sums[i] = MODC_F(sum)(v[i]);
    }
}

MODC_INLINE void MODC_D(sums)(const MODC_T64 *v, double *sums, const int n)
{
    if (n == 4) {
        MODC_D(sum4)(v, sums);
    } else {
        MODC_UNROLL
        for (int i = 0; i < n; i++)
            sums[i] = MODC_D(sum)(v[i]);
    }
}
#endif

/* As torch.maximum and torch.minimum: NaN if either is. */
MODC_INLINE MODC_T MODC_F(max)(MODC_T a, MODC_T b)
{
    return MODC_F(select)(MODC_F(ne)(b, b), b, MODC_F(atleast)(a, b));
}

MODC_INLINE MODC_T MODC_F(min)(MODC_T a, MODC_T b)
{
    return MODC_F(select)(MODC_F(ne)(b, b), b, MODC_F(atmost)(a, b));
}

#if MODC_SIMD_PASS != 1
#if MODC_LANES == 1
MODC_INLINE MODC_T64 MODC_D(max)(MODC_T64 a, MODC_T64 b)
{
    return modc_f64s_max(a, b);
}

MODC_INLINE MODC_T64 MODC_D(min)(MODC_T64 a, MODC_T64 b)
{
    return modc_f64s_min(a, b);
}
#else
MODC_INLINE MODC_T64 MODC_D(max)(MODC_T64 a, MODC_T64 b)
{
    return MODC_D(select)(MODC_D(ne)(b, b), b, MODC_D(atleast)(a, b));
}

MODC_INLINE MODC_T64 MODC_D(min)(MODC_T64 a, MODC_T64 b)
{
    return MODC_D(select)(MODC_D(ne)(b, b), b, MODC_D(atmost)(a, b));
}
#endif

MODC_INLINE MODC_T64 MODC_D(rsqrt)(MODC_T64 a)
{
    return 1.0 / MODC_D(sqrt)(a);
}
#endif

#include "modc_simd_math.h"

#include "modc_simd_half.h"

/* For kernels that take a function of what they store, and are to store it as it is. */
MODC_INLINE MODC_T MODC_F(as_is)(MODC_T a)
{
    return a;
}

MODC_INLINE MODC_T64 MODC_D(as_is)(MODC_T64 a)
{
    return a;
}

#if MODC_SIMD_PASS == 1
/* torch.remainder: the sign of the divisor; NaN for a divisor of 0. */
MODC_INLINE float modc_f32s_mod(float a, float b)
{
    const float r = modc_f32s_fmod(a, b);

    return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

/* torch.floor_divide: a / b for a divisor of 0, otherwise consistent with modc_f32s_mod. */
MODC_INLINE float modc_f32s_floordiv(float a, float b)
{
    const float r = modc_f32s_fmod(a, b);
    const float quotient = (a - r) / b - (r != 0.0f && (r < 0.0f) != (b < 0.0f) ? 1.0f : 0.0f);
    const float down = modc_f32s_floor(quotient);

    if (b == 0.0f)
        return a / b;
    if (quotient == 0.0f)
        return modc_f32s_with_sign(0.0f, a / b);
    return quotient - down > 0.5f ? down + 1.0f : down;
}
#else /* lane by lane */
#define MODC_LANEWISE(name)                                                                                  \
    MODC_INLINE MODC_T MODC_F(name)(MODC_T a, MODC_T b)                                                      \
    {                                                                                                        \
        float x[MODC_LANES], y[MODC_LANES];                                                                  \
                                                                                                             \
        MODC_F(store)(x, a);                                                                                 \
        MODC_F(store)(y, b);                                                                                 \
        for (int i = 0; i < MODC_LANES; i++)                                                                 \
            x[i] = modc_f32s_##name(x[i], y[i]);                                                             \
        return MODC_F(load)(x);                                                                              \
    }

MODC_LANEWISE(pow)
MODC_LANEWISE(mod)
MODC_LANEWISE(floordiv)
#undef MODC_LANEWISE
#endif

#undef MODC_ROUND
#undef MODC_F
#undef MODC_D
#undef MODC_T
#undef MODC_M
#undef MODC_I
#undef MODC_U
#undef MODC_T64
#undef MODC_M64

#endif
