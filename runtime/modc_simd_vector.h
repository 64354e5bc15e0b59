/* modc_simd_vector.h - moving, choosing and rounding of vectors of several lanes. Part of modc_simd.h. */
#ifndef MODC_SIMD_PASS
#include "modc_simd.h"
#else

MODC_INLINE MODC_T MODC_F(set)(float a)
{
    const MODC_T zero = {0};

    return zero + a;
}

MODC_INLINE MODC_T MODC_F(load)(const float *p)
{
    return *(const modc_f32_memory *)p;
}

MODC_INLINE void MODC_F(store)(float *p, MODC_T v)
{
    *(modc_f32_memory *)p = v;
}

MODC_INLINE MODC_U MODC_F(bits)(MODC_T a)
{
    return (MODC_U)a;
}

MODC_INLINE MODC_T MODC_F(of_bits)(MODC_U a)
{
    return (MODC_T)a;
}

MODC_INLINE MODC_T MODC_F(of_int)(MODC_I a)
{
    return __builtin_convertvector(a, MODC_T);
}

#define MODC_COMPARE(name, operator)                                                                         \
    MODC_INLINE MODC_M MODC_F(name)(MODC_T a, MODC_T b)                                                      \
    {                                                                                                        \
        return (MODC_M)(a operator b);                                                                       \
    }                                                                                                        \
    MODC_INLINE MODC_M64 MODC_D(name)(MODC_T64 a, MODC_T64 b)                                                \
    {                                                                                                        \
        return (MODC_M64)(a operator b);                                                                     \
    }

MODC_INLINE MODC_T MODC_F(select)(MODC_M mask, MODC_T a, MODC_T b)
{
    return (MODC_T)(((MODC_M)a & mask) | ((MODC_M)b & ~mask));
}

MODC_INLINE bool MODC_F(any)(MODC_M mask)
{
    int64_t part[MODC_LANES / 2];
    int64_t all = 0;

    memcpy(part, &mask, sizeof part);
    MODC_UNROLL
    for (int i = 0; i < MODC_LANES / 2; i++)
        all |= part[i];
    return all != 0;
}

MODC_INLINE MODC_T64 MODC_D(set)(double a)
{
    const MODC_T64 zero = {0};

    return zero + a;
}

MODC_INLINE MODC_T64 MODC_D(load)(const double *p)
{
    return *(const modc_f64_memory *)p;
}

MODC_INLINE void MODC_D(store)(double *p, MODC_T64 v)
{
    *(modc_f64_memory *)p = v;
}

MODC_INLINE MODC_T64 MODC_D(select)(MODC_M64 mask, MODC_T64 a, MODC_T64 b)
{
    return (MODC_T64)(((MODC_M64)a & mask) | ((MODC_M64)b & ~mask));
}

/* The greater and the lesser of a and c, where only a may be NaN: then the result is. gcc does not find the
 * instruction by itself; clang does. */
#if defined __x86_64__ && !defined __clang__ && MODC_LANES == 16
#define MODC_MAXPS(a, b) __builtin_ia32_maxps512_mask(a, b, a, -1, 4)
#define MODC_MINPS(a, b) __builtin_ia32_minps512_mask(a, b, a, -1, 4)
#define MODC_MAXPD(a, b) __builtin_ia32_maxpd512_mask(a, b, a, 255, 4)
#define MODC_MINPD(a, b) __builtin_ia32_minpd512_mask(a, b, a, 255, 4)
#elif defined __x86_64__ && !defined __clang__ && MODC_LANES == 8
#define MODC_MAXPS(a, b) __builtin_ia32_maxps256(a, b)
#define MODC_MINPS(a, b) __builtin_ia32_minps256(a, b)
#define MODC_MAXPD(a, b) __builtin_ia32_maxpd256(a, b)
#define MODC_MINPD(a, b) __builtin_ia32_minpd256(a, b)
#elif defined __x86_64__ && !defined __clang__
#define MODC_MAXPS(a, b) __builtin_ia32_maxps(a, b)
#define MODC_MINPS(a, b) __builtin_ia32_minps(a, b)
#define MODC_MAXPD(a, b) __builtin_ia32_maxpd(a, b)
#define MODC_MINPD(a, b) __builtin_ia32_minpd(a, b)
#else
#define MODC_MAXPS(c, a) MODC_F(select)((MODC_M)(a < c), c, a)
#define MODC_MINPS(c, a) MODC_F(select)((MODC_M)(a > c), c, a)
#define MODC_MAXPD(c, a) MODC_D(select)((MODC_M64)(a < c), c, a)
#define MODC_MINPD(c, a) MODC_D(select)((MODC_M64)(a > c), c, a)
#endif

MODC_INLINE MODC_T MODC_F(atleast)(MODC_T a, MODC_T c)
{
    return MODC_MAXPS(c, a);
}

MODC_INLINE MODC_T MODC_F(atmost)(MODC_T a, MODC_T c)
{
    return MODC_MINPS(c, a);
}

MODC_INLINE MODC_T64 MODC_D(atleast)(MODC_T64 a, MODC_T64 c)
{
    return MODC_MAXPD(c, a);
}

MODC_INLINE MODC_T64 MODC_D(atmost)(MODC_T64 a, MODC_T64 c)
{
    return MODC_MINPD(c, a);
}

#undef MODC_MAXPS
#undef MODC_MINPS
#undef MODC_MAXPD
#undef MODC_MINPD

MODC_INLINE MODC_T MODC_F(sqrt)(MODC_T a)
{
    MODC_T result;

#ifdef MODC_SQRT_ASM
    MODC_SQRT_ASM("ps", "4s", result, a);
#else
    for (int i = 0; i < MODC_LANES; i++)
        result[i] = modc_f32s_sqrt(a[i]);
#endif
    return result;
}

MODC_INLINE MODC_T64 MODC_D(sqrt)(MODC_T64 a)
{
    MODC_T64 result;

#ifdef MODC_SQRT_ASM
    MODC_SQRT_ASM("pd", "2d", result, a);
#else
    for (int i = 0; i < MODC_LANES64; i++)
        result[i] = modc_f64s_sqrt(a[i]);
#endif
    return result;
}

MODC_INLINE MODC_T64 MODC_D(abs)(MODC_T64 a)
{
    return (MODC_T64)((MODC_M64)a & INT64_MAX);
}

MODC_INLINE MODC_T64 MODC_D(copysign)(MODC_T64 a, MODC_T64 sign)
{
    return (MODC_T64)(((MODC_M64)a & INT64_MAX) | ((MODC_M64)sign & INT64_MIN));
}

/* n of the lanes, 0 <= n < MODC_LANES; the others read as 0 and are not written. */
#if defined __AVX512F__ && MODC_LANES == 16
MODC_INLINE MODC_T MODC_F(load_part)(const float *p, int n)
{
    const MODC_T zero = {0};

    return __builtin_ia32_loadups512_mask(p, zero, (unsigned short)((1u << n) - 1));
}

MODC_INLINE void MODC_F(store_part)(float *p, MODC_T v, int n)
{
    __builtin_ia32_storeups512_mask(p, v, (unsigned short)((1u << n) - 1));
}

MODC_INLINE MODC_T64 MODC_D(load_part)(const double *p, int n)
{
    const MODC_T64 zero = {0};

    return __builtin_ia32_loadupd512_mask(p, zero, (unsigned char)((1u << n) - 1));
}

MODC_INLINE void MODC_D(store_part)(double *p, MODC_T64 v, int n)
{
    __builtin_ia32_storeupd512_mask(p, v, (unsigned char)((1u << n) - 1));
}
#elif defined __AVX2__ && MODC_LANES == 8
typedef long long modc_m64_builtin __attribute__((vector_size(32)));
static const int32_t modc_part_mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

MODC_INLINE MODC_I modc_part(int n, int width)
{
    MODC_I mask;

    memcpy(&mask, modc_part_mask + (8 - n * width), sizeof mask);
    return mask;
}

MODC_INLINE MODC_T MODC_F(load_part)(const float *p, int n)
{
    return __builtin_ia32_maskloadps256((const MODC_T *)(const void *)p, modc_part(n, 1));
}

MODC_INLINE void MODC_F(store_part)(float *p, MODC_T v, int n)
{
    __builtin_ia32_maskstoreps256((MODC_T *)(void *)p, modc_part(n, 1), v);
}

MODC_INLINE MODC_T64 MODC_D(load_part)(const double *p, int n)
{
    return __builtin_ia32_maskloadpd256((const MODC_T64 *)(const void *)p, (modc_m64_builtin)modc_part(n, 2));
}

MODC_INLINE void MODC_D(store_part)(double *p, MODC_T64 v, int n)
{
    __builtin_ia32_maskstorepd256((MODC_T64 *)(void *)p, (modc_m64_builtin)modc_part(n, 2), v);
}
#else
MODC_INLINE MODC_T MODC_F(load_part)(const float *p, int n)
{
    MODC_T v = {0};

    MODC_UNROLL
    for (int i = 0; i < MODC_LANES - 1; i++) {
        if (i < n)
            v[i] = p[i];
    }
    return v;
}

MODC_INLINE void MODC_F(store_part)(float *p, MODC_T v, int n)
{
    MODC_UNROLL
    for (int i = 0; i < MODC_LANES - 1; i++) {
        if (i < n)
            p[i] = v[i];
    }
}

MODC_INLINE MODC_T64 MODC_D(load_part)(const double *p, int n)
{
    MODC_T64 v = {0};

    MODC_UNROLL
    for (int i = 0; i < MODC_LANES64 - 1; i++) {
        if (i < n)
            v[i] = p[i];
    }
    return v;
}

MODC_INLINE void MODC_D(store_part)(double *p, MODC_T64 v, int n)
{
    MODC_UNROLL
    for (int i = 0; i < MODC_LANES64 - 1; i++) {
        if (i < n)
            p[i] = v[i];
    }
}
#endif

/* The first n lanes of v, the others of `rest`. */
#if MODC_LANES == 16
#define MODC_LANE_NUMBERS                                                                                    \
    {                                                                                                        \
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15                                                 \
    }
#define MODC_LANE64_NUMBERS                                                                                  \
    {                                                                                                        \
        0, 1, 2, 3, 4, 5, 6, 7                                                                               \
    }
#elif MODC_LANES == 8
#define MODC_LANE_NUMBERS                                                                                    \
    {                                                                                                        \
        0, 1, 2, 3, 4, 5, 6, 7                                                                               \
    }
#define MODC_LANE64_NUMBERS                                                                                  \
    {                                                                                                        \
        0, 1, 2, 3                                                                                           \
    }
#else
#define MODC_LANE_NUMBERS                                                                                    \
    {                                                                                                        \
        0, 1, 2, 3                                                                                           \
    }
#define MODC_LANE64_NUMBERS                                                                                  \
    {                                                                                                        \
        0, 1                                                                                                 \
    }
#endif

MODC_INLINE MODC_T MODC_F(first)(MODC_T v, int n, MODC_T rest)
{
    const MODC_M lane = MODC_LANE_NUMBERS, zero = {0};

    return MODC_F(select)((MODC_M)(lane < zero + n), v, rest);
}

MODC_INLINE MODC_T64 MODC_D(first)(MODC_T64 v, int n, MODC_T64 rest)
{
    const MODC_M64 lane = MODC_LANE64_NUMBERS, zero = {0};

    return MODC_D(select)((MODC_M64)(lane < zero + n), v, rest);
}

#undef MODC_LANE_NUMBERS
#undef MODC_LANE64_NUMBERS

/* Every second lane of two vectors, from the first on. */
#if !defined __clang__ && __GNUC__ < 12
MODC_INLINE MODC_T MODC_F(evens)(MODC_T a, MODC_T b)
{
    MODC_T v;

    for (int i = 0; i < MODC_LANES; i++)
        v[i] = i < MODC_LANES / 2 ? a[2 * i] : b[2 * i - MODC_LANES];
    return v;
}

MODC_INLINE MODC_T64 MODC_D(evens)(MODC_T64 a, MODC_T64 b)
{
    MODC_T64 v;

    for (int i = 0; i < MODC_LANES64; i++)
        v[i] = i < MODC_LANES64 / 2 ? a[2 * i] : b[2 * i - MODC_LANES64];
    return v;
}

/* Lanes of a and b in turn: the lower half of both, the upper half. */
MODC_INLINE MODC_T MODC_F(zip_low)(MODC_T a, MODC_T b)
{
    MODC_T v;

    for (int i = 0; i < MODC_LANES; i++)
        v[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
    return v;
}

MODC_INLINE MODC_T64 MODC_D(zip_low)(MODC_T64 a, MODC_T64 b)
{
    MODC_T64 v;

    for (int i = 0; i < MODC_LANES64; i++)
        v[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
    return v;
}

MODC_INLINE MODC_T MODC_F(zip_high)(MODC_T a, MODC_T b)
{
    MODC_T v;

    for (int i = 0; i < MODC_LANES; i++)
        v[i] = i % 2 == 0 ? a[MODC_LANES / 2 + i / 2] : b[MODC_LANES / 2 + i / 2];
    return v;
}

MODC_INLINE MODC_T64 MODC_D(zip_high)(MODC_T64 a, MODC_T64 b)
{
    MODC_T64 v;

    for (int i = 0; i < MODC_LANES64; i++)
        v[i] = i % 2 == 0 ? a[MODC_LANES64 / 2 + i / 2] : b[MODC_LANES64 / 2 + i / 2];
    return v;
}

/* The last lane first. */
MODC_INLINE MODC_T MODC_F(reverse)(MODC_T a)
{
    MODC_T v;

    for (int i = 0; i < MODC_LANES; i++)
        v[i] = a[MODC_LANES - 1 - i];
    return v;
}

MODC_INLINE MODC_T64 MODC_D(reverse)(MODC_T64 a)
{
    MODC_T64 v;

    for (int i = 0; i < MODC_LANES64; i++)
        v[i] = a[MODC_LANES64 - 1 - i];
    return v;
}
#else
#if MODC_LANES == 16
#define MODC_EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define MODC_EVENS64 0, 2, 4, 6, 8, 10, 12, 14
#define MODC_ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define MODC_ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define MODC_ZIP_LOW64 0, 8, 1, 9, 2, 10, 3, 11
#define MODC_ZIP_HIGH64 4, 12, 5, 13, 6, 14, 7, 15
#define MODC_REVERSE 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#define MODC_REVERSE64 7, 6, 5, 4, 3, 2, 1, 0
#elif MODC_LANES == 8
#define MODC_EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define MODC_EVENS64 0, 2, 4, 6
#define MODC_ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define MODC_ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define MODC_ZIP_LOW64 0, 4, 1, 5
#define MODC_ZIP_HIGH64 2, 6, 3, 7
#define MODC_REVERSE 7, 6, 5, 4, 3, 2, 1, 0
#define MODC_REVERSE64 3, 2, 1, 0
#else
#define MODC_EVENS 0, 2, 4, 6
#define MODC_EVENS64 0, 2
#define MODC_ZIP_LOW 0, 4, 1, 5
#define MODC_ZIP_HIGH 2, 6, 3, 7
#define MODC_ZIP_LOW64 0, 2
#define MODC_ZIP_HIGH64 1, 3
#define MODC_REVERSE 3, 2, 1, 0
#define MODC_REVERSE64 1, 0
#endif

MODC_INLINE MODC_T MODC_F(evens)(MODC_T a, MODC_T b)
{
    return __builtin_shufflevector(a, b, MODC_EVENS);
}

MODC_INLINE MODC_T64 MODC_D(evens)(MODC_T64 a, MODC_T64 b)
{
    return __builtin_shufflevector(a, b, MODC_EVENS64);
}

/* Lanes of a and b in turn: the lower half of both, the upper half. */
MODC_INLINE MODC_T MODC_F(zip_low)(MODC_T a, MODC_T b)
{
    return __builtin_shufflevector(a, b, MODC_ZIP_LOW);
}

MODC_INLINE MODC_T64 MODC_D(zip_low)(MODC_T64 a, MODC_T64 b)
{
    return __builtin_shufflevector(a, b, MODC_ZIP_LOW64);
}

MODC_INLINE MODC_T MODC_F(zip_high)(MODC_T a, MODC_T b)
{
    return __builtin_shufflevector(a, b, MODC_ZIP_HIGH);
}

MODC_INLINE MODC_T64 MODC_D(zip_high)(MODC_T64 a, MODC_T64 b)
{
    return __builtin_shufflevector(a, b, MODC_ZIP_HIGH64);
}

/* The last lane first. */
MODC_INLINE MODC_T MODC_F(reverse)(MODC_T a)
{
    return __builtin_shufflevector(a, a, MODC_REVERSE);
}

MODC_INLINE MODC_T64 MODC_D(reverse)(MODC_T64 a)
{
    return __builtin_shufflevector(a, a, MODC_REVERSE64);
}
#undef MODC_ZIP_LOW
#undef MODC_ZIP_HIGH
#undef MODC_ZIP_LOW64
#undef MODC_ZIP_HIGH64
#undef MODC_REVERSE
#undef MODC_REVERSE64
#undef MODC_EVENS
#undef MODC_EVENS64
#endif

/* Lane i of v in all lanes; i is a constant. Wide vectors take two steps, 128 bits first, that compilers would join to one
 * which reads the order of lanes from memory. */
#if defined __x86_64__ && MODC_LANES >= 8 && (defined __clang__ || __GNUC__ >= 12)
#define MODC_FOUR(i) (i), (i) + 1, (i) + 2, (i) + 3
#define MODC_FOUR_TIMES(i) (i), (i), (i), (i)
#define MODC_TWO(i) (i), (i) + 1
#define MODC_TWICE(i) (i), (i)
#if MODC_LANES == 16
#define MODC_PART(v, i) __builtin_shufflevector(v, v, MODC_FOUR(i), MODC_FOUR(i), MODC_FOUR(i), MODC_FOUR(i))
#define MODC_LANE(v, i)                                                                                      \
    __builtin_shufflevector(v, v, MODC_FOUR_TIMES(i), MODC_FOUR_TIMES((i) + 4), MODC_FOUR_TIMES((i) + 8),    \
                            MODC_FOUR_TIMES((i) + 12))
#define MODC_PART64(v, i) __builtin_shufflevector(v, v, MODC_TWO(i), MODC_TWO(i), MODC_TWO(i), MODC_TWO(i))
#define MODC_LANE64(v, i)                                                                                    \
    __builtin_shufflevector(v, v, MODC_TWICE(i), MODC_TWICE((i) + 2), MODC_TWICE((i) + 4),                   \
                            MODC_TWICE((i) + 6))
#else
#define MODC_PART(v, i) __builtin_shufflevector(v, v, MODC_FOUR((i) % 8), MODC_FOUR((i) % 8))
#define MODC_LANE(v, i) __builtin_shufflevector(v, v, MODC_FOUR_TIMES(i), MODC_FOUR_TIMES((i) + 4))
#define MODC_PART64(v, i) __builtin_shufflevector(v, v, MODC_TWO((i) % 4), MODC_TWO((i) % 4))
#define MODC_LANE64(v, i) __builtin_shufflevector(v, v, MODC_TWICE(i), MODC_TWICE((i) + 2))
#endif
MODC_INLINE MODC_T MODC_F(lane)(MODC_T v, const int i)
{
    MODC_T part = i / 4 == 0   ? MODC_PART(v, 0)
                  : i / 4 == 1 ? MODC_PART(v, 4)
                  : i / 4 == 2 ? MODC_PART(v, 8)
                               : MODC_PART(v, 12);

    __asm__("" : "+v"(part));
    return i % 4 == 0   ? MODC_LANE(part, 0)
           : i % 4 == 1 ? MODC_LANE(part, 1)
           : i % 4 == 2 ? MODC_LANE(part, 2)
                        : MODC_LANE(part, 3);
}

MODC_INLINE MODC_T64 MODC_D(lane)(MODC_T64 v, const int i)
{
    MODC_T64 part = i / 2 == 0   ? MODC_PART64(v, 0)
                    : i / 2 == 1 ? MODC_PART64(v, 2)
                    : i / 2 == 2 ? MODC_PART64(v, 4)
                                 : MODC_PART64(v, 6);

    __asm__("" : "+v"(part));
    return i % 2 == 0 ? MODC_LANE64(part, 0) : MODC_LANE64(part, 1);
}
#undef MODC_FOUR
#undef MODC_FOUR_TIMES
#undef MODC_TWO
#undef MODC_TWICE
#undef MODC_PART
#undef MODC_LANE
#undef MODC_PART64
#undef MODC_LANE64
#else
MODC_INLINE MODC_T MODC_F(lane)(MODC_T v, const int i)
{
    return MODC_F(set)(v[i]);
}

MODC_INLINE MODC_T64 MODC_D(lane)(MODC_T64 v, const int i)
{
    return MODC_D(set)(v[i]);
}
#endif

/* As load_part, but the other lanes read as `other`. */
MODC_INLINE MODC_T MODC_F(load_rest)(const float *p, int n, float other)
{
#if MODC_LANES == 16
    const MODC_I lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif MODC_LANES == 8
    const MODC_I lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const MODC_I lane = {0, 1, 2, 3};
#endif

    return MODC_F(select)((MODC_M)(lane < n), MODC_F(load_part)(p, n), MODC_F(set)(other));
}

#endif
