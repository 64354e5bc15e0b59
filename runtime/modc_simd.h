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
 * Every primitive is right at 0, -0, infinities, NaN and denormals. Errors against double, in units in the last place:
 * exp 1, expm1 1.5, log 1.2, log1p 1.6, tanh 2.5, erf 3.4, sin and cos 2.6, pow 0.6.
 * tests/unit/test_simd.c holds them to it, and tests/api/elementwise.c what is made of them.
 *
 * note [contraction]
 * gcc -std=c99 does not fuse a * b + c, which halves the speed of a kernel; MODC_KERNELS_BEGIN ... MODC_KERNELS_END
 * around kernels switch that on, whatever the flags, and predictive commoning off, which keeps what the next pixels will
 * read in registers that a tile needs. They allow unused parameters too, since the parts of a kernel share one list.
 *
 * note [files of vectors]
 * This file says how wide a vector is and what the compiler can do. modc_simd_scalar.h has what no vector is needed for;
 * then modc_simd_pass.h is read twice, for scalars and for vectors, which differ in what MODC_F, MODC_T and the like are.
 * Of it modc_simd_vector.h and modc_simd_reduce.h are what a vector of several lanes has of its own, modc_simd_math.h the
 * polynomials, modc_simd_half.h what is kept in 16 or 8 bits; modc_simd_dot.h multiplies integers. All are parts of this one: who
 * includes one of them gets it.
 *
 * note [kernels of GPUs]
 * modc_cuda.h includes this file, too: each thread then computes numbers of its own as one lane does, by functions that are the
 * device's (MODC_INLINE), so that a model computes the same on both. */
#ifndef MODC_SIMD_H
#define MODC_SIMD_H

#ifdef __FAST_MATH__
#error "-ffast-math breaks the polynomials of modc_simd.h; kernels are fast without it"
#endif
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "embedded weights and safetensors files are little-endian, and so must be the machine"
#endif
#if defined __SIZEOF_INT__ && __SIZEOF_INT__ < 4
#error "kernels compute places in int, which must have 32 bits"
#endif

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "modc_scales.h"

#ifndef MODC_WIDTHS
#define MODC_WIDTHS (16 + 8 + 4)
#endif
#if !defined __GNUC__ || defined MODC_CUDA_H
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

/* MODC_DSP: instructions of Arm's chips (Cortex-M4 and up) for integers in a register, two halves of a word at a time among them. */
#if MODC_LANES == 1 && defined __GNUC__ && !defined __cplusplus && defined __ARM_FEATURE_DSP &&              \
    defined __arm__
#define MODC_DSP
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

/* Where the panels have column c of their first row, c being a multiple of a vector: K rows, P columns a panel. */
#define MODC_PANEL_AT(c, K, P) ((c) / (P) * ((K) * (P)) + (c) % (P))

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
#if defined MODC_INVARIANT /* one, so that a row is summed up in one order whatever rows are beside it */
#define MODC_TILE_SETS(tile, k) ((void)(tile), (void)(k), 1)
#elif MODC_LANES == 16
#define MODC_TILE_SETS(tile, k) ((tile) >= 6 || (k) < 8 ? 1 : (tile) > 1 ? 4 : 8)
#else
#define MODC_TILE_SETS(tile, k) ((tile) >= 6 || (k) < 8 ? 1 : (tile) >= 3 ? 2 : 4)
#endif
/* So many rows are multiplied with narrow weights as these are read; of more the first tile writes down what it made of them
 * (MODC_WIDENS), and the others read that (MODC_WIDE). */
enum { MODC_NARROW, MODC_WIDENS, MODC_WIDE };
#if MODC_LANES == 16
#define MODC_WIDENS_FROM (3 * MODC_TILE_ROWS)
#else
#define MODC_WIDENS_FROM (2 * MODC_TILE_ROWS)
#endif
#if defined MODC_INVARIANT
#define MODC_SUMS_GROUPS(rows) 0
#else /* a tile's sums of weights that share a scale are multiplied with it, not the weights */
#define MODC_SUMS_GROUPS(rows) ((rows) == 1)
#endif
#define MODC_TILE_REGISTERS 28 /* the most accumulators of a tile */

/* note [heights]
 * MODC_EACH_HEIGHT(block, rows, ...): so many rows, known when the code runs, in tiles whose height is a constant. It calls
 * block(height, from, to, ...) for heights of MODC_TILE_ROWS, 8, 4, 2 and 1, each with the rows from ... to - 1 that are whole tiles
 * of it: of 31 rows 14 are the first tile, 14 the next, then 2, then 1. */
#define MODC_EACH_HEIGHT(block, rows, ...)                                                                   \
    do {                                                                                                     \
        int row_ = (rows) / MODC_TILE_ROWS * MODC_TILE_ROWS;                                                 \
                                                                                                             \
        if (row_ > 0)                                                                                        \
            block(MODC_TILE_ROWS, 0, row_, __VA_ARGS__);                                                     \
        MODC_HEIGHT(8, block, rows, __VA_ARGS__)                                                             \
        MODC_HEIGHT(4, block, rows, __VA_ARGS__)                                                             \
        MODC_HEIGHT(2, block, rows, __VA_ARGS__)                                                             \
        MODC_HEIGHT(1, block, rows, __VA_ARGS__)                                                             \
    } while (0)
#define MODC_HEIGHT(height, block, rows, ...)                                                                \
    if (MODC_TILE_ROWS > (height) && (((rows)-row_) & (height))) {                                           \
        block(height, row_, row_ + (height), __VA_ARGS__);                                                   \
        row_ += (height);                                                                                    \
    }

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
#if defined MODC_CUDA_H
#define MODC_INLINE static __host__ __device__ __forceinline__
#define MODC_OUTLINE static __host__ __device__ __attribute__((unused)) __noinline__
#define MODC_ALONE
#elif defined __GNUC__ || defined __clang__ /* which is MSVC beside it, with Windows' headers */
#ifdef __OPTIMIZE__
#define MODC_INLINE static inline __attribute__((always_inline))
#else /* -O0 shall be compiled soon and be stepped through: inlined, the text is five times as long, and no faster */
#define MODC_INLINE static inline
#endif
#define MODC_OUTLINE static __attribute__((MODC_NOT_INLINE, unused))
#define MODC_UNUSED __attribute__((unused)) /* a local that some functions do not read */
#define MODC_ALONE                                                                                           \
    __attribute__((MODC_NOT_INLINE)) /* a kernel so large that it takes time to compile it into its caller */
#elif defined _MSC_VER
#ifdef _DEBUG
#define MODC_INLINE static __inline
#else
#define MODC_INLINE static __forceinline
#endif
#define MODC_OUTLINE static __declspec(noinline)
#define MODC_UNUSED
#define MODC_ALONE __declspec(noinline)
#else
#define MODC_INLINE static inline
#define MODC_OUTLINE static inline
#define MODC_UNUSED
#define MODC_ALONE
#endif

/* An element of a tensor of bools, whose bytes may come from elsewhere: as in PyTorch, what is not 0 is true. */
#define MODC_TRUE(element) (*(const unsigned char *)&(element) != 0)

/* memcpy of bools: each is 0 or 1 behind it. */
MODC_INLINE void modc_copy_bools(void *to, const void *from, const size_t bytes)
{
    const unsigned char *const in = (const unsigned char *)from;
    bool *const out = (bool *)to;

    for (size_t i = 0; i < bytes; i++)
        out[i] = in[i] != 0;
}

/* MODC_UNROLL before a loop of the register tile, whose bounds are constants once it is inlined: all of it, early.
 * With a count, or without the word full, clang unrolls too late, and the tile stays in memory.
 * MODC_ROLL before the loop around it, which clang and nvcc would unroll into more than the registers hold; MODC_ROLL_SHORT where gcc
 * would, too, since that loop may have a few steps of a large tile. */
#if defined __CUDACC__
#define MODC_UNROLL _Pragma("unroll")
#define MODC_ROLL _Pragma("unroll 1")
#define MODC_ROLL_SHORT
#define MODC_KERNELS_BEGIN
#define MODC_KERNELS_END
#elif defined __clang__
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
#if defined _MSC_VER /* unused parameters, conditions that are constant, functions that nobody calls */
#define MODC_KERNELS_BEGIN __pragma(warning(push)) __pragma(warning(disable : 4100 4127 4505))
#define MODC_KERNELS_END __pragma(warning(pop))
#else
#define MODC_KERNELS_BEGIN
#define MODC_KERNELS_END
#endif
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

/* Keeps what is loaded behind it from being hoisted out of the loops around. */
#if defined __GNUC__ && !defined __CUDACC__
#define MODC_FENCE __asm__ volatile("" : : : "memory")
#else
#define MODC_FENCE ((void)0)
#endif

/* Before a tile: MODC_FENCE, and no register of vectors holds anything across it. Else compilers keep the constants of a tail
 * in registers from tile to tile, and the sums of a tile in memory. */
#if MODC_LANES == 16 && defined __GNUC__ && defined __x86_64__ && !defined __CUDACC__
#define MODC_TILE_FENCE                                                                                      \
    __asm__ volatile(""                                                                                      \
                     :                                                                                       \
                     :                                                                                       \
                     : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17",       \
                       "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",      \
                       "xmm27", "xmm28", "xmm29", "xmm30", "xmm31")
#elif MODC_LANES > 1 && defined __GNUC__ && defined __x86_64__ && !defined __CUDACC__
#define MODC_TILE_FENCE                                                                                      \
    __asm__ volatile(""                                                                                      \
                     :                                                                                       \
                     :                                                                                       \
                     : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
#else
#define MODC_TILE_FENCE MODC_FENCE
#endif

/* What holds here, which a compiler could not know. */
#if defined __GNUC__
#define MODC_ASSUME(holds)                                                                                   \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            __builtin_unreachable();                                                                         \
    } while (0)
#else
#define MODC_ASSUME(holds) ((void)0)
#endif

/* What is read soon, into the cache behind the nearest; of what is read once, into the nearest: from memory, cores of AMD take
 * half as long again where that is left out. */
#if defined __GNUC__ && !defined __CUDACC__
#define MODC_PREFETCH(pointer) __builtin_prefetch(pointer, 0, 2)
#define MODC_PREFETCH_NEAR(pointer) __builtin_prefetch(pointer, 0, 3)
#else
#define MODC_PREFETCH(pointer) ((void)(pointer))
#define MODC_PREFETCH_NEAR(pointer) ((void)(pointer))
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

#include "modc_simd_scalar.h"

/* ---- scalars, then vectors ------------------------------------------------------------------------------ */

#define MODC_SIMD_PASS 1
#include "modc_simd_pass.h"
#undef MODC_SIMD_PASS
#define MODC_SIMD_PASS MODC_LANES + 1
#include "modc_simd_pass.h"
#undef MODC_SIMD_PASS

#include "modc_simd_dot.h"

MODC_KERNELS_END

#endif
