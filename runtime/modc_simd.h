/* modc_simd.h - vectors under one set of names at every width, their mathematics, and the arithmetic of kernels.
 *
 * MODC_LANES is the number of floats in a vector: 16 (AVX-512F), 8 (AVX2), 4 (SSE2, NEON of aarch64), 1 (everything
 * else, or as the user says with -DMODC_LANES=1). MODC_WIDTHS leaves widths out: it is the sum of those over 1 that may be
 * chosen (modc generate --isa). Doubles have MODC_LANES64. Types are modc_f32 and modc_f64, plain
 * float and double where there is one lane; masks modc_m32 and modc_m64 have all bits of a lane set or none, so that
 * & | ^ ~ work. + - * / are operators, everything else a function: modc_f32_exp(v). Its scalar twin is
 * modc_f32s_exp(x), with the same polynomial; float code never needs libm. modc_f64s_exp(x) is libm's exp.
 *
 * note [primitives]
 * Every primitive is right at 0, -0, infinities, NaN and denormals, but that results below 1.2e-38 may be 0. Errors
 * against double, in units in the last place: exp 1, expm1 1.5, log 1.2, log1p 1.6, tanh 5.6, erf 5.9, without fused
 * multiply-add 7 and 7.1, sin and cos 2.6, pow 0.6. tests/unit/test_simd.c holds them to it.
 *
 * note [contraction]
 * gcc -std=c99 does not fuse a * b + c, which halves the speed of a kernel; MODC_KERNELS_BEGIN ... MODC_KERNELS_END
 * around kernels switch that on, whatever the flags, and predictive commoning off, which keeps what the next pixels will
 * read in registers that a tile needs. They allow unused parameters too, since the parts of a kernel share one list. */
#ifndef MODC_SIMD_PASS
#ifndef MODC_SIMD_H
#define MODC_SIMD_H

#ifdef __FAST_MATH__
#error "-ffast-math breaks the polynomials of modc_simd.h; kernels are fast without it"
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef MODC_WIDTHS
#define MODC_WIDTHS (16 + 8 + 4)
#endif
#if !defined __GNUC__
#undef MODC_LANES
#define MODC_LANES 1
#elif !defined MODC_LANES
#if defined __AVX512F__ && (MODC_WIDTHS & 16)
#define MODC_LANES 16
#elif defined __AVX2__ && (MODC_WIDTHS & 8) /* AVX alone has no 256-bit integers */
#define MODC_LANES 8
#elif (defined __SSE2__ || (defined __aarch64__ && defined __ARM_NEON)) && (MODC_WIDTHS & 4)
#define MODC_LANES 4
#else
#define MODC_LANES 1
#endif
#endif

#if MODC_LANES == 1
#define MODC_LANES64 1
#else
#define MODC_LANES64 (MODC_LANES / 2)
#endif

/* note [panels]
 * Packed weights lie in panels of 64 bytes of columns, [ceil(N / P)][K][P]: the same bytes for every width. */
#define MODC_PANEL32 16
#define MODC_PANEL64 8

/* Register tiles of a matrix product. MODC_TILE_ROWS: the most rows of a tile; MODC_TILE_VECTORS(rows): how many vectors
 * of columns a tile of so many rows takes, which fit the register file with room for the operands and hide the latency
 * of the multiply-add; MODC_LINE_ROWS: the most pixels of a convolution's tile (clang runs out of registers at the ends
 * of a line before gcc does); MODC_TILE_SETS(tile, k): over how many accumulators a tile of few vectors splits K. */
#if MODC_LANES == 16
#define MODC_TILE_ROWS 14
#define MODC_TILE_VECTORS(rows) ((rows) >= 8 ? 2 : (rows) > 1 ? 4 : 8)
#elif MODC_LANES == 4 && defined __aarch64__
#define MODC_TILE_ROWS 6
#define MODC_TILE_VECTORS(rows) ((rows) > 1 ? 4 : 8)
#elif MODC_LANES > 1
#define MODC_TILE_ROWS 6
#define MODC_TILE_VECTORS(rows) ((rows) > 2 ? 2 : (rows) == 2 ? 4 : 8)
#else
#define MODC_TILE_ROWS 1
#define MODC_TILE_VECTORS(rows) 8
#endif
#if MODC_LANES == 16 && defined __clang__
#define MODC_LINE_ROWS 10
#else
#define MODC_LINE_ROWS MODC_TILE_ROWS
#endif
#if MODC_LANES == 16
#define MODC_TILE_SETS(tile, k) ((tile) >= 6 || (k) < 8 ? 1 : 4)
#else
#define MODC_TILE_SETS(tile, k) ((tile) >= 6 || (k) < 8 ? 1 : (tile) >= 3 ? 2 : 4)
#endif
#define MODC_TILE_REGISTERS 28 /* the most accumulators of a tile */

/* A line of pixels in tiles, as even as it goes: how many, and the pixels of the tallest. 56 are 4 tiles of 14. */
#define MODC_LINE_TILES(pixels) (((pixels) + MODC_LINE_ROWS - 1) / MODC_LINE_ROWS)
#define MODC_LINE_TALLEST(pixels) (((pixels) + MODC_LINE_TILES(pixels) - 1) / MODC_LINE_TILES(pixels))

/* The pixels of a depthwise convolution's tile. */
#if MODC_LANES > 1
#define MODC_DEPTHWISE_ROWS 8
#else
#define MODC_DEPTHWISE_ROWS 1
#endif

/* Tiles of dot products, in rows and outputs. */
#if MODC_LANES == 16 || defined __aarch64__
#define MODC_DOT_ROWS 4
#define MODC_DOT_OUTPUTS 4
#elif MODC_LANES > 1
#define MODC_DOT_ROWS 2
#define MODC_DOT_OUTPUTS 4
#else
#define MODC_DOT_ROWS 1
#define MODC_DOT_OUTPUTS 4
#endif

#if defined __GNUC__ && !defined __clang__
#define MODC_NOT_INLINE noinline, noclone /* gcc would compile copies for constant arguments */
#else
#define MODC_NOT_INLINE noinline
#endif
#if defined __GNUC__
#ifdef __OPTIMIZE__
#define MODC_INLINE static inline __attribute__((always_inline))
#else /* -O0 shall be compiled soon and be stepped through: inlined, the text is five times as long, and no faster */
#define MODC_INLINE static inline
#endif
#define MODC_OUTLINE static __attribute__((MODC_NOT_INLINE, unused))
#define MODC_ALONE                                                                                           \
    __attribute__((MODC_NOT_INLINE)) /* a kernel so large that it takes time to compile it into its caller */
#else
#define MODC_INLINE static inline
#define MODC_OUTLINE static inline
#define MODC_ALONE
#endif

/* MODC_UNROLL before a loop of the register tile, whose bounds are constants once it is inlined: all of it, early.
 * With a count, or without the word full, clang unrolls too late, and the tile stays in memory.
 * MODC_ROLL before the loop around it, which clang would unroll into more than the registers hold; MODC_ROLL_SHORT where gcc
 * would, too, since that loop may have a few steps of a large tile. */
#if defined __clang__
#define MODC_UNROLL _Pragma("clang loop unroll(full)")
#define MODC_ROLL _Pragma("clang loop unroll(disable)")
#define MODC_ROLL_SHORT MODC_ROLL
#define MODC_KERNELS_BEGIN                                                                                   \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wunused-parameter\"")              \
        _Pragma("clang diagnostic ignored \"-Wtautological-compare\"") _Pragma("STDC FP_CONTRACT ON")
#define MODC_KERNELS_END _Pragma("clang diagnostic pop")
#elif defined __GNUC__
#define MODC_UNROLL _Pragma("GCC unroll 64")
#define MODC_ROLL
#define MODC_ROLL_SHORT _Pragma("GCC unroll 1")
#define MODC_KERNELS_BEGIN                                                                                   \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")                  \
        _Pragma("GCC push_options") _Pragma(                                                                 \
            "GCC optimize(\"fp-contract=fast,no-math-errno,no-trapping-math,no-predictive-commoning\")")
#define MODC_KERNELS_END _Pragma("GCC pop_options") _Pragma("GCC diagnostic pop")
#else
#define MODC_UNROLL
#define MODC_ROLL
#define MODC_ROLL_SHORT
#define MODC_KERNELS_BEGIN
#define MODC_KERNELS_END
#endif

/* clang splits 512-bit vectors on -march=native unless the function says that it wants them. */
#if defined __clang__ && MODC_LANES == 16
#define MODC_KERNEL __attribute__((min_vector_width(512)))
#else
#define MODC_KERNEL
#endif

/* Keeps a vector in its register, where gcc would rather read it from memory again for each use. */
#if defined __GNUC__ && !defined __clang__ && defined __x86_64__ && MODC_LANES > 1
#define MODC_KEEP(vector) __asm__("" : "+v"(vector))
#else
#define MODC_KEEP(vector) ((void)0)
#endif

/* Before a tile: keeps what it loads from being hoisted out of the loops around, where it would take registers. */
#if defined __GNUC__
#define MODC_FENCE __asm__ volatile("" : : : "memory")
#else
#define MODC_FENCE ((void)0)
#endif

#if defined __GNUC__
#define MODC_PREFETCH(pointer) __builtin_prefetch(pointer, 0, 2)
#else
#define MODC_PREFETCH(pointer) ((void)(pointer))
#endif

#if defined __clang__ /* what its builtins take for all lanes, without a warning */
#define MODC_ALL_LANES 0xffff
#else
#define MODC_ALL_LANES (-1)
#endif

MODC_KERNELS_BEGIN

/* ---- types ------------------------------------------------------------------------------------------- */

#if MODC_LANES == 1
typedef float modc_f32;
typedef double modc_f64;
typedef int32_t modc_m32;
typedef int64_t modc_m64;
typedef int32_t modc_i32;
typedef uint32_t modc_u32;
#else
typedef float modc_f32 __attribute__((vector_size(MODC_LANES * 4)));
typedef double modc_f64 __attribute__((vector_size(MODC_LANES * 4)));
typedef int32_t modc_m32 __attribute__((vector_size(MODC_LANES * 4)));
typedef int64_t modc_m64 __attribute__((vector_size(MODC_LANES * 4)));
typedef int32_t modc_i32 __attribute__((vector_size(MODC_LANES * 4)));
typedef uint32_t modc_u32 __attribute__((vector_size(MODC_LANES * 4)));
typedef float modc_f32_memory __attribute__((vector_size(MODC_LANES * 4), aligned(4), may_alias));
typedef double modc_f64_memory __attribute__((vector_size(MODC_LANES * 4), aligned(8), may_alias));
#endif

/* ---- integers: Python's // and %, division by zero gives 0 ------------------------------------------- */

MODC_INLINE int64_t modc_floordiv_i64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a); /* wraps at the least integer */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

MODC_INLINE int64_t modc_mod_i64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

MODC_INLINE int32_t modc_floordiv_i32(int32_t a, int32_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int32_t)(0 - (uint32_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

MODC_INLINE int32_t modc_mod_i32(int32_t a, int32_t b)
{
    if (b == 0 || b == -1)
        return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

/* torch.pow: wraps; a negative exponent gives 0 but for bases 1 and -1. */
MODC_INLINE int64_t modc_pow_i64(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0)
        return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

MODC_INLINE int modc_floordiv(int a, int b)
{
    return (int)modc_floordiv_i32(a, b);
}

MODC_INLINE int modc_mod(int a, int b)
{
    return (int)modc_mod_i32(a, b);
}

MODC_INLINE int modc_min(int a, int b)
{
    return a < b ? a : b;
}

MODC_INLINE int modc_max(int a, int b)
{
    return a > b ? a : b;
}

/* Where slice number `slice` begins, of units that are dealt out to so many slices; the next one begins where it ends. */
MODC_INLINE int modc_share(int units, int slice, int slices)
{
    return (int)((int64_t)units * slice / slices);
}

/* ---- casts that are defined everywhere: NaN and what does not fit become the least integer, as x86 does - */

MODC_INLINE int64_t modc_f32_to_i64(float a)
{
    return a >= -9223372036854775808.0f && a < 9223372036854775808.0f ? (int64_t)a : INT64_MIN;
}

MODC_INLINE int64_t modc_f64_to_i64(double a)
{
    return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (int64_t)a : INT64_MIN;
}

MODC_INLINE int32_t modc_f32_to_i32(float a)
{
    return a >= -2147483648.0f && a < 2147483648.0f ? (int32_t)a : INT32_MIN;
}

MODC_INLINE int32_t modc_f64_to_i32(double a)
{
    return a > -2147483649.0 && a < 2147483648.0 ? (int32_t)a : INT32_MIN;
}

/* ---- numbers without a literal ----------------------------------------------------------------------- */

MODC_INLINE float modc_f32_from_bits(uint32_t bits)
{
    float a;

    memcpy(&a, &bits, sizeof a);
    return a;
}

MODC_INLINE uint32_t modc_f32_to_bits(float a)
{
    uint32_t bits;

    memcpy(&bits, &a, sizeof bits);
    return bits;
}

MODC_INLINE float modc_f32_inf(void)
{
    return modc_f32_from_bits(0x7f800000u);
}

MODC_INLINE float modc_f32_nan(void)
{
    return modc_f32_from_bits(0x7fc00000u);
}

MODC_INLINE double modc_f64_inf(void)
{
    return (double)modc_f32_inf();
}

MODC_INLINE double modc_f64_nan(void)
{
    return (double)modc_f32_nan();
}

/* ---- 16-bit floats, in which weights are packed: rounded to nearest, ties to even -------------------- */

typedef uint16_t modc_bfloat16;
typedef uint16_t modc_half;

MODC_INLINE modc_bfloat16 modc_f32_to_bfloat16(float a)
{
    const uint32_t bits = modc_f32_to_bits(a);

    if (a != a)
        return 0x7fc0u;
    return (modc_bfloat16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16); /* may carry up to infinity */
}

MODC_INLINE float modc_bfloat16_to_f32(modc_bfloat16 a)
{
    return modc_f32_from_bits((uint32_t)a << 16);
}

MODC_INLINE modc_half modc_f32_to_half(float a)
{
    const uint32_t bits = modc_f32_to_bits(a), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    uint32_t low = size - 0x38000000u, dropped = 13; /* the exponent's bias is 112 less */

    if (size >= 0x47800000u) /* 65536, infinity, NaN */
        return (modc_half)(sign | (size > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (size < 0x38800000u) { /* a denormal of the half; the bits that 2^-24 has below are dropped */
        dropped = 126 - (size >> 23);
        if (dropped > 25)
            return (modc_half)sign;
        low = (size & 0x7fffffu) | 0x800000u;
    }
    low += (1u << (dropped - 1)) - 1 + (low >> dropped & 1u);
    return (modc_half)(sign | low >> dropped);
}

/* Without arithmetic on denormals, so that flushing them does no harm. */
MODC_INLINE float modc_half_to_f32(modc_half a)
{
    const uint32_t sign = (a & 0x8000u) << 16, size = a & 0x7fffu;

    if (size < 0x400u)
        return modc_f32_from_bits(sign | modc_f32_to_bits((float)(int32_t)size * 5.96046448e-8f));
    return modc_f32_from_bits(sign | ((size << 13) + (size < 0x7c00u ? 0x38000000u : 0x70000000u)));
}

/* ---- random words: Philox 4x32-10 (Salmon et al., 2011) ---------------------------------------------- */

MODC_INLINE void modc_philox(uint64_t key, uint64_t block, uint64_t stream, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);

    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* ---- square roots: one instruction, or the digits by hand -------------------------------------------- */

#if defined __GNUC__ && defined __x86_64__ && defined __AVX__
#define MODC_SQRT_ASM(type, suffix, result, a)                                                               \
    __asm__("vsqrt" type " {%1, %0|%0, %1}" : "=v"(result) : "v"(a))
#elif defined __GNUC__ && defined __SSE2__
#define MODC_SQRT_ASM(type, suffix, result, a) __asm__("sqrt" type " {%1, %0|%0, %1}" : "=x"(result) : "x"(a))
#elif defined __GNUC__ && defined __aarch64__ && defined __ARM_NEON
#define MODC_SQRT_ASM(type, suffix, result, a)                                                               \
    __asm__("fsqrt %0." suffix ", %1." suffix : "=w"(result) : "w"(a))
#endif

MODC_INLINE float modc_f32s_sqrt(float a)
{
    float result;
#if defined __GNUC__ && defined __x86_64__ && defined __AVX__
    __asm__("vsqrtss {%1, %1, %0|%0, %1, %1}" : "=v"(result) : "v"(a));
#elif defined __GNUC__ && defined __SSE2__
    __asm__("sqrtss {%1, %0|%0, %1}" : "=x"(result) : "x"(a));
#elif defined __GNUC__ && defined __aarch64__
    __asm__("fsqrt %s0, %s1" : "=w"(result) : "w"(a));
#elif defined __GNUC__ && defined __arm__ && defined __ARM_FP && (__ARM_FP & 4)
    __asm__("vsqrt.f32 %0, %1" : "=t"(result) : "t"(a));
#else
    /* One bit of the root at a time: q is the root so far, rest what is left of the number, scaled alike. */
    uint32_t bits = modc_f32_to_bits(a), q = 0, sum = 0, rest;
    int exponent = (int)(bits >> 23) - 127;

    if (a == 0.0f || a != a || bits == 0x7f800000u)
        return a;
    if (a < 0.0f)
        return modc_f32_nan();
    rest = bits & 0x7fffffu;
    if (exponent == -127) { /* denormal */
        exponent++;
        while (!(rest & 0x800000u)) {
            rest <<= 1;
            exponent--;
        }
    }
    rest |= 0x800000u;
    if (exponent & 1)
        rest <<= 1;
    rest <<= 1;
    for (uint32_t bit = 0x1000000u; bit != 0; bit >>= 1) {
        if (sum + bit <= rest) {
            sum += 2 * bit;
            rest -= sum - bit;
            q += bit;
        }
        rest <<= 1;
    }
    q += q & 1 & (uint32_t)(rest != 0); /* a tie cannot happen */
    exponent = (exponent - (exponent & 1)) / 2;
    result = modc_f32_from_bits((q >> 1) + 0x3f000000u + ((uint32_t)exponent << 23));
#endif
    return result;
}

/* ---- parts of float functions that are not worth a vector -------------------------------------------- */

/* C's fmod: exact. */
MODC_OUTLINE float modc_f32s_fmod(float a, float b)
{
    const uint32_t sign = modc_f32_to_bits(a) & 0x80000000u;
    uint32_t x = modc_f32_to_bits(a) & 0x7fffffffu, y = modc_f32_to_bits(b) & 0x7fffffffu;
    int ex, ey;

    if (y == 0 || y > 0x7f800000u || x >= 0x7f800000u)
        return modc_f32_nan();
    if (x < y)
        return a;
    ex = (int)(x >> 23);
    ey = (int)(y >> 23);
    x = ex ? (x & 0x7fffffu) | 0x800000u : x << 1;
    y = ey ? (y & 0x7fffffu) | 0x800000u : y << 1;
    for (; !(x & 0x800000u); ex--)
        x <<= 1;
    for (; !(y & 0x800000u); ey--)
        y <<= 1;
    for (; ex > ey; ex--) {
        x = x >= y ? x - y : x;
        x <<= 1;
    }
    x = x >= y ? x - y : x;
    if (x == 0)
        return modc_f32_from_bits(sign);
    for (; !(x & 0x800000u); ex--)
        x <<= 1;
    x = ex > 0 ? (x & 0x7fffffu) | ((uint32_t)ex << 23) : x >> (1 - ex);
    return modc_f32_from_bits(sign | x);
}

/* x to the power y; C99's special cases. In double, since the logarithm needs seven more bits than a float has. */
MODC_OUTLINE float modc_f32s_pow(float x, float y)
{
    const uint32_t ax = modc_f32_to_bits(x) & 0x7fffffffu, ay = modc_f32_to_bits(y) & 0x7fffffffu;
    uint32_t sign = 0; /* of the result, for a negative base */
    double m, f, s, log2x, e, r, p;
    uint64_t bits;

    if (ay == 0 || x == 1.0f)
        return 1.0f;
    if (x != x || y != y)
        return x + y;
    if (modc_f32_to_bits(x) >> 31) {
        bool integer = ay >= 0x4b800000u; /* 2^24 and above: even */

        if (!integer && ay >= 0x3f800000u) {
            const uint32_t fraction = 150 - (ay >> 23); /* bits below the point, 0 .. 23 */
            const uint32_t mantissa = (ay & 0x7fffffu) | 0x800000u;

            integer = (mantissa & ((1u << fraction) - 1)) == 0;
            if (integer && ((mantissa >> fraction) & 1))
                sign = 0x80000000u;
        }
        if (!integer && ax != 0 && ax < 0x7f800000u && ay != 0x7f800000u)
            return modc_f32_nan();
    }
    if (ax == 0x3f800000u) /* -1 */
        return modc_f32_from_bits(0x3f800000u | sign);
    if (ay == 0x7f800000u)
        return (ax > 0x3f800000u) == (y > 0.0f) ? modc_f32_inf() : 0.0f;
    if (ax == 0 || ax == 0x7f800000u)
        return modc_f32_from_bits(sign | ((ax == 0) == (y > 0.0f) ? 0 : 0x7f800000u));

    /* log2: |x| = 2^e m with m in [0.707, 1.414); the series of 2 atanh((m - 1) / (m + 1)) / ln 2 */
    m = (double)modc_f32_from_bits(ax);
    memcpy(&bits, &m, sizeof bits);
    e = (double)((int)((bits - 0x3fe6a09e667f3bcdu) >> 52) - (bits < 0x3fe6a09e667f3bcdu ? 4096 : 0));
    bits -= (uint64_t)(int64_t)e << 52;
    memcpy(&m, &bits, sizeof m);
    f = (m - 1.0) / (m + 1.0);
    s = f * f;
    log2x = 1.0 / 15.0;
    log2x = log2x * s + 1.0 / 13.0;
    log2x = log2x * s + 1.0 / 11.0;
    log2x = log2x * s + 1.0 / 9.0;
    log2x = log2x * s + 1.0 / 7.0;
    log2x = log2x * s + 1.0 / 5.0;
    log2x = log2x * s + 1.0 / 3.0;
    log2x = (log2x * s + 1.0) * f * 2.8853900817779268 + e;

    r = (double)y * log2x;
    if (r >= 128.0)
        return modc_f32_from_bits(sign | 0x7f800000u);
    if (r < -150.0)
        return modc_f32_from_bits(sign);
    e = (double)(int)(r + (r < 0 ? -0.5 : 0.5));
    r = (r - e) * 0.69314718055994531;
    p = 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r + 1.0) * r + 1.0;
    memcpy(&bits, &p, sizeof bits);
    bits += (uint64_t)(int64_t)e << 52;
    memcpy(&p, &bits, sizeof p);
    return modc_f32_from_bits(modc_f32_to_bits((float)p) | sign);
}

/* Quadrant and rest of x / (pi / 2) for |x| >= 2^12, finite: 2 / pi to 224 bits, of which the product keeps the 96
 * that matter. The rest is in [-pi / 4, pi / 4]. */
MODC_OUTLINE float modc_f32s_reduce(float x, int32_t *quadrant)
{
    static const uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const uint32_t bits = modc_f32_to_bits(x) & 0x7fffffffu;
    const int shift = (int)(bits >> 23) - 150 +
                      32; /* x = mantissa 2^(shift - 32); two_over_pi has 32 zero bits ahead */
    const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    uint32_t word[4];
    uint64_t high, low;
    int64_t rest;
    float r;

    for (int i = 0; i < 4;
         i++) { /* the bits of 2 / pi from `shift` on; what is above them gives multiples of 4 */
        const int at = (shift >> 5) + i - 1, by = shift & 31;
        const uint64_t pair = ((uint64_t)(at >= 0 && at < 8 ? two_over_pi[at] : 0) << 32) |
                              (at >= -1 && at < 7 ? two_over_pi[at + 1] : 0);

        word[i] = (uint32_t)((pair << by) >> 32);
    }
    /* product = mantissa * 0.word0 word1 word2 word3 at a scale where bit 2^32 of `high` is one quarter turn */
    low = mantissa * word[2] + ((mantissa * word[3]) >> 32);
    high = ((mantissa * word[0]) << 32) + mantissa * word[1] + (low >> 32);
    /* high: quarter turns in its upper 32 bits, their fraction in the lower 32; low: 32 more bits of it */
    {
        uint64_t fraction = (high << 32) | (low & 0xffffffffu);
        uint32_t quarters = (uint32_t)(high >> 32);

        rest = (int64_t)fraction;
        if (rest < 0) /* more than half a quarter: the next one */
            quarters++;
        *quadrant = (int32_t)(quarters & 3);
    }
    r = (float)rest * 8.5153040e-20f; /* pi / 2 / 2^64 */
    if (modc_f32_to_bits(x) >> 31) {
        *quadrant = -*quadrant & 3;
        r = -r;
    }
    return r;
}

/* ---- double: scalars are libm's ---------------------------------------------------------------------- */

MODC_INLINE double modc_f64s_min(double a, double b)
{
    return a < b || a != a ? a : b;
}

MODC_INLINE double modc_f64s_max(double a, double b)
{
    return a > b || a != a ? a : b;
}

MODC_INLINE double modc_f64s_abs(double a)
{
    return fabs(a);
}

MODC_INLINE double modc_f64s_floor(double a)
{
    return floor(a);
}

MODC_INLINE double modc_f64s_sqrt(double a)
{
    return sqrt(a);
}

MODC_INLINE double modc_f64s_rsqrt(double a)
{
    return 1.0 / sqrt(a);
}

MODC_INLINE double modc_f64s_exp(double a)
{
    return exp(a);
}

MODC_INLINE double modc_f64s_expm1(double a)
{
    return expm1(a);
}

MODC_INLINE double modc_f64s_log(double a)
{
    return log(a);
}

MODC_INLINE double modc_f64s_log1p(double a)
{
    return log1p(a);
}

MODC_INLINE double modc_f64s_tanh(double a)
{
    return tanh(a);
}

MODC_INLINE double modc_f64s_erf(double a)
{
    return erf(a);
}

MODC_INLINE double modc_f64s_sin(double a)
{
    return sin(a);
}

MODC_INLINE double modc_f64s_cos(double a)
{
    return cos(a);
}

MODC_INLINE double modc_f64s_pow(double a, double b)
{
    return pow(a, b);
}

/* torch.remainder: the sign of the divisor; NaN for a divisor of 0. */
MODC_INLINE double modc_f64s_mod(double a, double b)
{
    const double r = fmod(a, b);

    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

/* torch.floor_divide: a / b for a divisor of 0, otherwise consistent with modc_f64s_mod. */
MODC_INLINE double modc_f64s_floordiv(double a, double b)
{
    const double r = fmod(a, b), quotient = (a - r) / b - (r != 0.0 && (r < 0.0) != (b < 0.0) ? 1.0 : 0.0);
    const double down = floor(quotient);

    if (b == 0.0)
        return a / b;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    return quotient - down > 0.5 ? down + 1.0 : down;
}

/* The weights of conv_winograd.c in place: `w` is side * side planes of `plane` floats, the last 9 of which hold the taps g
 * of 3 x 3 kernels; all become U = G g G^T. side is 6, of F(4 x 4, 3 x 3), or 4, of F(2 x 2, 3 x 3). */
MODC_OUTLINE void modc_winograd_weights(float *w, const int side, size_t plane)
{
    static const double four[6][3] = {{1.0 / 4, 0, 0},
                                      {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                      {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                      {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                      {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                      {0, 0, 1}};
    static const double two[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    const double(*const G)[3] = side == 6 ? four : two;
    const float *const taps = w + (size_t)(side * side - 9) * plane;

    enum { most = 16 }; /* kernels at a time, so that their planes are written in lines */

    for (size_t i = 0; i < plane; i += most) {
        const int count = plane - i < most ? (int)(plane - i) : most;
        double half[6][3][most];

        for (int r = 0; r < side; r++) {
            for (int c = 0; c < 3; c++) {
                const float *top = taps + (size_t)c * plane + i, *middle = top + 3 * plane,
                            *bottom = top + 6 * plane;

                for (int j = 0; j < count; j++)
                    half[r][c][j] = G[r][0] * top[j] + G[r][1] * middle[j] + G[r][2] * bottom[j];
            }
        }
        for (int r = 0; r < side; r++) {
            for (int c = 0; c < side; c++) {
                float *out = w + (size_t)(side * r + c) * plane + i;

                for (int j = 0; j < count; j++)
                    out[j] = (float)(half[r][0][j] * G[c][0] + half[r][1][j] * G[c][1] +
                                     half[r][2][j] * G[c][2]);
            }
        }
    }
}

/* ---- the two passes over the rest of this file: scalars, then vectors --------------------------------- */

#define MODC_SIMD_PASS 1
#include "modc_simd.h"
#undef MODC_SIMD_PASS
#define MODC_SIMD_PASS MODC_LANES + 1
#include "modc_simd.h"
#undef MODC_SIMD_PASS

MODC_KERNELS_END

#endif /* MODC_SIMD_H */
#else  /* MODC_SIMD_PASS: 1 for scalars, MODC_LANES + 1 for vectors */

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
#endif

#else /* vectors */

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
#else
#if MODC_LANES == 16
#define MODC_EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define MODC_EVENS64 0, 2, 4, 6, 8, 10, 12, 14
#elif MODC_LANES == 8
#define MODC_EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define MODC_EVENS64 0, 2, 4, 6
#else
#define MODC_EVENS 0, 2, 4, 6
#define MODC_EVENS64 0, 2
#endif

MODC_INLINE MODC_T MODC_F(evens)(MODC_T a, MODC_T b)
{
    return __builtin_shufflevector(a, b, MODC_EVENS);
}

MODC_INLINE MODC_T64 MODC_D(evens)(MODC_T64 a, MODC_T64 b)
{
    return __builtin_shufflevector(a, b, MODC_EVENS64);
}
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

/* ---- comparisons, minimum and maximum ----------------------------------------------------------------- */

MODC_COMPARE(lt, <)
MODC_COMPARE(le, <=)
MODC_COMPARE(gt, >)
MODC_COMPARE(ge, >=)
MODC_COMPARE(eq, ==)
MODC_COMPARE(ne, !=)
#undef MODC_COMPARE

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

/* a = n ln 2 + r: returns r; *t is n + MODC_ROUND, whose low bits are n. */
MODC_INLINE MODC_T MODC_F(exp_reduce)(MODC_T a, MODC_T *t)
{
    MODC_T n, r;

    *t = a * 1.44269504f + MODC_ROUND;
    n = *t - MODC_ROUND;
    r = a - n * 0.693359375f;
    return r + n * 2.12194440e-4f;
}

/* 2^n e^r; where 2^n is no normal float only AVX-512 has it. */
MODC_INLINE MODC_T MODC_F(exp_within)(MODC_T a)
{
    MODC_T t, r, p;

    r = MODC_F(exp_reduce)(a, &t);
    p = MODC_F(exp_rest)(r) * (r * r) + r + 1.0f;
#if MODC_SIMD_PASS == 17 && defined __AVX512F__
    return __builtin_ia32_scalefps512_mask(p, t - MODC_ROUND, p, MODC_ALL_LANES, 4);
#else
    return MODC_F(of_bits)(MODC_F(bits)(p) + (MODC_F(bits)(t) << 23));
#endif
}

MODC_INLINE MODC_T MODC_F(exp)(MODC_T a)
{
#if MODC_SIMD_PASS == 17 && defined __AVX512F__
    return MODC_F(exp_within)(MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-104.0f)), MODC_F(set)(89.0f)));
#else
    const MODC_T p = MODC_F(select)(MODC_F(lt)(a, MODC_F(set)(-87.33654f)), MODC_F(set)(0.0f),
                                    MODC_F(exp_within)(a));

    return MODC_F(select)(MODC_F(le)(a, MODC_F(set)(88.7228317f)), p, a + modc_f32_inf()); /* NaN too */
#endif
}

/* For a <= 0, or NaN. */
MODC_INLINE MODC_T MODC_F(exp_negative)(MODC_T a)
{
#if MODC_SIMD_PASS == 17 && defined __AVX512F__
    return MODC_F(exp_within)(MODC_F(atleast)(a, MODC_F(set)(-104.0f)));
#else
    return MODC_F(select)(MODC_F(ge)(a, MODC_F(set)(-87.33654f)), MODC_F(exp_within)(a),
                          MODC_F(atleast)(a, MODC_F(set)(0.0f))); /* 0, NaN */
#endif
}

/* 2^n (e^r - 1) + (2^n - 1), halved until the end, since 2^128 is no float */
MODC_INLINE MODC_T MODC_F(expm1)(MODC_T a)
{
    const MODC_T x = MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-30.0f)), MODC_F(set)(89.0f));
    MODC_T t, r, p, s;

    r = MODC_F(exp_reduce)(x, &t);
    p = MODC_F(exp_rest)(r) * (r * r) + r;
    s = MODC_F(of_bits)((MODC_F(bits)(t) << 23) + 0x3f000000u);
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

/* The quotients pass 1 before the bound of c, so that infinity gives 1 exactly. */
MODC_INLINE MODC_T MODC_F(tanh)(MODC_T a)
{
    const MODC_T c = MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-9.7f)), MODC_F(set)(9.7f)), t = c * c;
    MODC_T p = MODC_F(set)(1.3319315e-08f), q = MODC_F(set)(7.762125e-07f);

    p = p * t + 2.0583677e-05f;
    p = p * t + 0.0034940473f;
    p = p * t + 0.13379729f;
    p = p * t + 1.0f;
    q = q * t + 0.00032831132f;
    q = q * t + 0.025871122f;
    q = q * t + 0.46713045f;
    q = q * t + 1.0f;
    p = MODC_F(atmost)(MODC_F(atleast)(c * p / q, MODC_F(set)(-1.0f)), MODC_F(set)(1.0f));
    return p;
}

MODC_INLINE MODC_T MODC_F(erf)(MODC_T a)
{
    const MODC_T c = MODC_F(atmost)(MODC_F(atleast)(a, MODC_F(set)(-4.15f)), MODC_F(set)(4.15f)), t = c * c;
    MODC_T p = MODC_F(set)(2.0259256e-06f), q = MODC_F(set)(3.783187e-05f);

    p = p * t + 0.0002846856f;
    p = p * t + 0.003808067f;
    p = p * t + 0.052875157f;
    p = p * t + 0.19154811f;
    p = p * t + 1.1283791f;
    q = q * t + 0.0011707027f;
    q = q * t + 0.015054901f;
    q = q * t + 0.11455871f;
    q = q * t + 0.50308776f;
    q = q * t + 1.0f;
    p = MODC_F(atmost)(MODC_F(atleast)(c * p / q, MODC_F(set)(-1.0f)), MODC_F(set)(1.0f));
    return p;
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
            if (modc_f32s_abs(lane[i]) >= 8192.0f && modc_f32s_abs(lane[i]) < modc_f32_inf())
                rest[i] = modc_f32s_reduce(lane[i], &quarters[i]);
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
 * the points 0, 1, -1, 2, -2 and infinity, where side is 6, and F(2, 3) with 0, 1, -1 and infinity, where it is 4. */
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
        const MODC_T a = d[4 * step] - 4.0f * d[2 * step], b = d[3 * step] - 4.0f * d[step];
        const MODC_T c = d[4 * step] - d[2 * step], e = 2.0f * (d[3 * step] - d[step]);
        const MODC_T first = 4.0f * d[0] - 5.0f * d[2 * step] + d[4 * step];
        const MODC_T last = 4.0f * d[step] - 5.0f * d[3 * step] + d[5 * step];

        d[0] = first;
        d[step] = a + b;
        d[2 * step] = a - b;
        d[3 * step] = c + e;
        d[4 * step] = c - e;
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
        const MODC_T c = m[3 * step] + m[4 * step], e = m[3 * step] - m[4 * step];

        m[0] = m[0] + a + c;
        m[step] = b + 2.0f * e;
        m[2 * step] = a + 4.0f * c;
        m[3 * step] = b + 8.0f * e + m[5 * step];
    }
}

/* ---- weights of 16 bits: as many as a vector of floats has -------------------------------------------- */

#if MODC_SIMD_PASS != 1
#if MODC_LANES == 1
MODC_INLINE MODC_T modc_bfloat16_load(const modc_bfloat16 *p)
{
    return modc_bfloat16_to_f32(*p);
}

MODC_INLINE MODC_T modc_half_load(const modc_half *p)
{
    return modc_half_to_f32(*p);
}
#else
typedef uint16_t modc_u16 __attribute__((vector_size(MODC_LANES * 2)));
typedef int16_t modc_i16 __attribute__((vector_size(MODC_LANES * 2)));

MODC_INLINE modc_u16 modc_u16_load(const uint16_t *p)
{
    modc_u16 v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* gcc takes the vector apart where it is not told the instruction. */
MODC_INLINE MODC_U modc_u16_widen(modc_u16 v)
{
#if MODC_LANES == 16 && !defined __clang__
    const MODC_I zero = {0};

    return (MODC_U)__builtin_ia32_pmovzxwd512_mask((modc_i16)v, zero, 0xffff);
#elif MODC_LANES == 8 && defined __AVX2__ && !defined __clang__
    return (MODC_U)__builtin_ia32_pmovzxwd256((modc_i16)v);
#else
    return __builtin_convertvector(v, MODC_U);
#endif
}

/* Each word becomes the upper half of a lane, by one shuffle with zeros where gcc has it. */
MODC_INLINE MODC_T modc_bfloat16_load(const modc_bfloat16 *p)
{
    const modc_u16 v = modc_u16_load(p);
#if MODC_LANES == 16 && defined __AVX512BW__ && !defined __clang__
    typedef int16_t words __attribute__((vector_size(64)));
    typedef int32_t half __attribute__((vector_size(32)));
    const words upper = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                         0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
    const words zero = {0}, w = (words)__builtin_ia32_si512_256si((half)v);

    return (MODC_T)__builtin_ia32_permvarhi512_mask(w, upper, zero, 0xaaaaaaaau);
#elif MODC_LANES == 4 && defined __SSE2__ && !defined __clang__
    typedef int16_t words __attribute__((vector_size(16)));
    typedef int64_t pair __attribute__((vector_size(16)));
    const words zero = {0};
    const pair w = {(int64_t)v, 0};

    return (MODC_T)__builtin_ia32_punpcklwd128(zero, (words)w);
#elif MODC_LANES == 4 && defined __aarch64__
    MODC_T result;

    __asm__("shll %0.4s, %1.4h, #16" : "=w"(result) : "w"(v));
    return result;
#else
    return MODC_F(of_bits)(modc_u16_widen(v) << 16);
#endif
}

MODC_INLINE MODC_T modc_half_load(const modc_half *p)
{
#if MODC_LANES == 16 && defined __AVX512F__
    const MODC_T zero = {0};

    return __builtin_ia32_vcvtph2ps512_mask((modc_i16)modc_u16_load(p), zero, MODC_ALL_LANES, 4);
#elif MODC_LANES == 8 && defined __F16C__
    return __builtin_ia32_vcvtph2ps256((modc_i16)modc_u16_load(p));
#elif MODC_LANES == 4 && defined __aarch64__
    const modc_u16 v = modc_u16_load(p);
    MODC_T result;

    __asm__("fcvtl %0.4s, %1.4h" : "=w"(result) : "w"(v));
    return result;
#else /* as modc_half_to_f32 */
    const MODC_U a = modc_u16_widen(modc_u16_load(p));
    const MODC_I size = (MODC_I)(a &
                                 0x7fffu); /* compared as it is signed, for which there are instructions */
    const MODC_U infinite = (MODC_U)(size > 0x7bff) & 0x38000000u;
    const MODC_T normal = MODC_F(of_bits)(((MODC_U)size << 13) + 0x38000000u + infinite);
    const MODC_T denormal = MODC_F(of_int)(size) * 5.96046448e-8f;

    return MODC_F(of_bits)(MODC_F(bits)(MODC_F(select)((MODC_M)(size < 0x400), denormal, normal)) |
                           ((a & 0x8000u) << 16));
#endif
}
#endif

/* n of them, 0 <= n < MODC_LANES; the other lanes read as 0. */
#define MODC_LOAD_PART(type)                                                                                 \
    MODC_INLINE MODC_T type##_load_part(const type *p, int n)                                                \
    {                                                                                                        \
        type part[MODC_LANES] = {0};                                                                         \
                                                                                                             \
        for (int i = 0; i < n; i++)                                                                          \
            part[i] = p[i];                                                                                  \
        return type##_load(part);                                                                            \
    }

MODC_LOAD_PART(modc_bfloat16)
MODC_LOAD_PART(modc_half)
#undef MODC_LOAD_PART
#endif

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
#endif /* MODC_SIMD_PASS */
