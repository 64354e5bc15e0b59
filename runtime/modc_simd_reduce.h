/* modc_simd_reduce.h - over the lanes of a vector: sums, minima, maxima; and transposes. Part of modc_simd.h. */
#ifndef MODC_SIMD_PASS
#include "modc_simd.h"
#else

/* Over the lanes: halves onto each other. NaN propagates. */
#if MODC_LANES >= 8
typedef float modc_f32x4 __attribute__((vector_size(16)));
typedef double modc_f64x2 __attribute__((vector_size(16)));
#if MODC_LANES == 16
typedef float modc_f32x8 __attribute__((vector_size(32)));
typedef double modc_f64x4 __attribute__((vector_size(32)));
#endif
#endif

MODC_INLINE float MODC_F(sum)(MODC_T a)
{
#if MODC_LANES == 16
    modc_f32x8 half8[2];
    modc_f32x4 half[2], sum;

    memcpy(half8, &a, sizeof half8);
    half8[0] += half8[1];
    memcpy(half, &half8[0], sizeof half);
    sum = half[0] + half[1];
#elif MODC_LANES == 8
    modc_f32x4 half[2], sum;

    memcpy(half, &a, sizeof half);
    sum = half[0] + half[1];
#else
    const MODC_T sum = a;
#endif
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

MODC_INLINE double MODC_D(sum)(MODC_T64 a)
{
#if MODC_LANES == 16
    modc_f64x4 half4[2];
    modc_f64x2 half[2], sum;

    memcpy(half4, &a, sizeof half4);
    half4[0] += half4[1];
    memcpy(half, &half4[0], sizeof half);
    sum = half[0] + half[1];
#elif MODC_LANES == 8
    modc_f64x2 half[2], sum;

    memcpy(half, &a, sizeof half);
    sum = half[0] + half[1];
#else
    const MODC_T64 sum = a;
#endif
    return sum[0] + sum[1];
}

/* Four sums at once, for a fraction of the shuffles: pairs within 128 bits first, at full width. */
#if defined __clang__ || __GNUC__ >= 12
#if MODC_LANES == 16
#define MODC_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define MODC_HIGH(a, b)                                                                                      \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define MODC_FIRST(a, b)                                                                                     \
    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define MODC_SECOND(a, b)                                                                                    \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#elif MODC_LANES == 8
#define MODC_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define MODC_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define MODC_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define MODC_SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define MODC_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define MODC_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define MODC_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define MODC_SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif
MODC_INLINE void MODC_F(sum4)(const MODC_T *v, float *sums)
{
    const MODC_T ab = MODC_LOW(v[0], v[1]) + MODC_HIGH(v[0], v[1]),
                 cd = MODC_LOW(v[2], v[3]) + MODC_HIGH(v[2], v[3]);
    const MODC_T all = MODC_FIRST(ab, cd) + MODC_SECOND(ab, cd);
#if MODC_LANES == 16
    modc_f32x8 half8[2];
    modc_f32x4 half[2];

    memcpy(half8, &all, sizeof half8);
    half8[0] += half8[1];
    memcpy(half, &half8[0], sizeof half);
    half[0] += half[1];
#elif MODC_LANES == 8
    modc_f32x4 half[2];

    memcpy(half, &all, sizeof half);
    half[0] += half[1];
#else
    const MODC_T half[1] = {all};
#endif
    memcpy(sums, &half[0], sizeof half[0]);
}
#undef MODC_LOW
#undef MODC_HIGH
#undef MODC_FIRST
#undef MODC_SECOND

/* Blocks of two vectors side by side change places, off the diagonal. */
#if MODC_LANES == 16
#define MODC_UP1(a, b)                                                                                       \
    __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
#define MODC_DOWN1(a, b)                                                                                     \
    __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
#define MODC_UP2(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define MODC_DOWN2(a, b)                                                                                     \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define MODC_UP4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27)
#define MODC_DOWN4(a, b)                                                                                     \
    __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31)
#define MODC_UP8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define MODC_DOWN8(a, b)                                                                                     \
    __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#elif MODC_LANES == 8
#define MODC_UP1(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define MODC_DOWN1(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define MODC_UP2(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define MODC_DOWN2(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define MODC_UP4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define MODC_DOWN4(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#else
#define MODC_UP1(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define MODC_DOWN1(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define MODC_UP2(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define MODC_DOWN2(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif

#define MODC_TURN_STEP(size, up, down)                                                                       \
    MODC_UNROLL                                                                                              \
    for (int i = 0; i < MODC_LANES; i++) {                                                                   \
        if (i / size % 2 == 0) {                                                                             \
            const MODC_T above = v[i], below = v[i + size];                                                  \
                                                                                                             \
            v[i] = up(above, below);                                                                         \
            v[i + size] = down(above, below);                                                                \
        }                                                                                                    \
    }

/* A square of values: rows become columns; of a part, where `part` is set, rows x columns of y. */
MODC_INLINE void MODC_F(transpose_tile)(float *y, const int ldy, const float *x, const int ldx,
                                        const bool part, const int rows, const int columns)
{
    MODC_T v[MODC_LANES];

    MODC_UNROLL
    for (int i = 0; i < MODC_LANES; i++)
        v[i] = !part ? MODC_F(load)(x + i * ldx)
                     : MODC_F(load_part)(x + modc_min(i, columns - 1) * ldx, rows);
    MODC_TURN_STEP(1, MODC_UP1, MODC_DOWN1)
    MODC_TURN_STEP(2, MODC_UP2, MODC_DOWN2)
#if MODC_LANES > 4
    MODC_TURN_STEP(4, MODC_UP4, MODC_DOWN4)
#endif
#if MODC_LANES > 8
    MODC_TURN_STEP(8, MODC_UP8, MODC_DOWN8)
#endif
    MODC_UNROLL
    for (int i = 0; i < MODC_LANES; i++) {
        if (!part)
            MODC_F(store)(y + i * ldy, v[i]);
        else if (i < rows)
            MODC_F(store_part)(y + i * ldy, v[i], columns);
    }
}
#undef MODC_TURN_STEP
#undef MODC_UP1
#undef MODC_UP2
#undef MODC_UP4
#undef MODC_UP8
#undef MODC_DOWN1
#undef MODC_DOWN2
#undef MODC_DOWN4
#undef MODC_DOWN8
#else
MODC_INLINE void MODC_F(transpose_tile)(float *y, const int ldy, const float *x, const int ldx,
                                        const bool part, const int rows, const int columns)
{
    for (int i = 0; i < (part ? rows : MODC_LANES); i++)
        for (int j = 0; j < (part ? columns : MODC_LANES); j++)
            y[i * ldy + j] = x[j * ldx + i];
}

MODC_INLINE void MODC_F(sum4)(const MODC_T *v, float *sums)
{
    for (int i = 0; i < 4; i++)
        sums[i] = MODC_F(sum)(v[i]);
}
#endif

/* Transposes, in whole tiles and of few rows or columns in tiles of high x wide. The last tiles of a row or column overlap
 * those before. */
MODC_OUTLINE void MODC_F(transpose_whole)(float *y, const int ldy, const float *x, const int ldx,
                                          const int rows, const int columns)
{
    for (int r = 0; r < rows; r += MODC_LANES) {
        const int i = r + MODC_LANES <= rows ? r : rows - MODC_LANES;

        for (int c = 0; c < columns; c += MODC_LANES) {
            const int j = c + MODC_LANES <= columns ? c : columns - MODC_LANES;

            MODC_F(transpose_tile)(y + i * ldy + j, ldy, x + j * ldx + i, ldx, false, 0, 0);
        }
    }
}

MODC_OUTLINE void MODC_F(transpose_parts)(float *y, const int ldy, const float *x, const int ldx,
                                          const int rows, const int columns, const int high, const int wide)
{
    for (int r = 0; r < rows; r += high) {
        const int i = r + high <= rows ? r : rows - high;

        for (int c = 0; c < columns; c += wide) {
            const int j = c + wide <= columns ? c : columns - wide;

            MODC_F(transpose_tile)(y + i * ldy + j, ldy, x + j * ldx + i, ldx, true, high, wide);
        }
    }
}

/* Transposes: y (rows, columns), its rows ldy apart, from x (columns, rows), its rows ldx apart. Parts of vectors are slow
 * to store but with 16 lanes. */
MODC_INLINE void MODC_F(transpose)(float *y, const int ldy, const float *x, const int ldx, const int rows,
                                   const int columns)
{
    const int high = modc_min(rows, MODC_LANES), wide = modc_min(columns, MODC_LANES),
              least = modc_min(high, wide);

    if (least == MODC_LANES) {
        MODC_F(transpose_whole)(y, ldy, x, ldx, rows, columns);
    } else if (MODC_LANES == 16 && least >= 4) {
        MODC_F(transpose_parts)(y, ldy, x, ldx, rows, columns, high, wide);
    } else {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                y[i * ldy + j] = x[j * ldx + i];
    }
}

MODC_INLINE void MODC_D(sum4)(const MODC_T64 *v, double *sums)
{
    MODC_UNROLL
    for (int i = 0; i < 4; i++)
        sums[i] = MODC_D(sum)(v[i]);
}

#if MODC_LANES == 4
typedef modc_f32 modc_f32x4;
typedef modc_f64 modc_f64x2;
#endif
typedef int32_t modc_m32x4 __attribute__((vector_size(16)));
typedef int64_t modc_m64x2 __attribute__((vector_size(16)));

/* No branches: what is greatest cannot be foreseen. */
#define MODC_BETTER(type, mask, better, b)                                                                   \
    keep = (mask)(part[0] better b) | (mask)(part[0] != part[0]);                                            \
    part[0] = (type)(((mask)part[0] & keep) | ((mask)b & ~keep))

#define MODC_HORIZONTAL(type, mask, better)                                                                  \
    type part[MODC_LANES / 4], other;                                                                        \
    mask keep;                                                                                               \
                                                                                                             \
    memcpy(part, &a, sizeof part);                                                                           \
    MODC_UNROLL                                                                                              \
    for (int i = 1; i < MODC_LANES / 4; i++) {                                                               \
        MODC_BETTER(type, mask, better, part[i]);                                                            \
    }

MODC_INLINE float MODC_F(hmax)(MODC_T a)
{
    MODC_HORIZONTAL(modc_f32x4, modc_m32x4, >)
    { /* a compound literal is no C++ */
        const modc_f32x4 swapped = {part[0][2], part[0][3], part[0][0], part[0][1]};

        other = swapped;
    }
    MODC_BETTER(modc_f32x4, modc_m32x4, >, other);
    { /* a compound literal is no C++ */
        const modc_f32x4 swapped = {part[0][1], part[0][0], part[0][3], part[0][2]};

        other = swapped;
    }
    MODC_BETTER(modc_f32x4, modc_m32x4, >, other);
    return part[0][0];
}

MODC_INLINE float MODC_F(hmin)(MODC_T a)
{
    MODC_HORIZONTAL(modc_f32x4, modc_m32x4, <)
    { /* a compound literal is no C++ */
        const modc_f32x4 swapped = {part[0][2], part[0][3], part[0][0], part[0][1]};

        other = swapped;
    }
    MODC_BETTER(modc_f32x4, modc_m32x4, <, other);
    { /* a compound literal is no C++ */
        const modc_f32x4 swapped = {part[0][1], part[0][0], part[0][3], part[0][2]};

        other = swapped;
    }
    MODC_BETTER(modc_f32x4, modc_m32x4, <, other);
    return part[0][0];
}

MODC_INLINE double MODC_D(hmax)(MODC_T64 a)
{
    MODC_HORIZONTAL(modc_f64x2, modc_m64x2, >)
    { /* a compound literal is no C++ */
        const modc_f64x2 swapped = {part[0][1], part[0][0]};

        other = swapped;
    }
    MODC_BETTER(modc_f64x2, modc_m64x2, >, other);
    return part[0][0];
}

MODC_INLINE double MODC_D(hmin)(MODC_T64 a)
{
    MODC_HORIZONTAL(modc_f64x2, modc_m64x2, <)
    { /* a compound literal is no C++ */
        const modc_f64x2 swapped = {part[0][1], part[0][0]};

        other = swapped;
    }
    MODC_BETTER(modc_f64x2, modc_m64x2, <, other);
    return part[0][0];
}

#undef MODC_BETTER
#undef MODC_HORIZONTAL

#endif
