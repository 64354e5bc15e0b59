/* modc_simd_half.h - values of 16 and of 8 bits: as many as a vector of floats has. Part of modc_simd.h. */
#ifndef MODC_SIMD_PASS
#include "modc_simd.h"
#else

/* ---- as many as a vector of floats has ------------------------------------------------------------------- */

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

MODC_INLINE MODC_T modc_int8_load(const modc_int8 *p)
{
    return modc_int8_to_f32(*p);
}

MODC_INLINE MODC_T modc_int4_load(const modc_int8 *p, const int nibble)
{
    return (float)modc_int4_get(p, nibble);
}

typedef struct {
    const modc_int8 *panel;
} modc_coded;

MODC_INLINE modc_coded modc_coded_of(const modc_int8 *panel)
{
    const modc_coded coded = {panel};

    return coded;
}

#define MODC_LOOKS_UP 0

MODC_INLINE void modc_coded_load(const modc_coded coded, const int head, const int k, const int row,
                                 MODC_T value[8])
{
    for (int i = 0; i < 8; i++)
        value[i] = modc_coded_get(coded.panel, head, k + i, row);
}

MODC_INLINE MODC_T modc_f32_as_bfloat16(MODC_T a)
{
    return modc_f32s_as_bfloat16(a);
}

MODC_INLINE MODC_T modc_f32_as_float16(MODC_T a)
{
    return modc_f32s_as_float16(a);
}

MODC_INLINE void modc_bfloat16_store(modc_bfloat16 *p, MODC_T v)
{
    *p = modc_f32_to_bfloat16(v);
}

MODC_INLINE void modc_half_store(modc_half *p, MODC_T v)
{
    *p = modc_f32_to_half(v);
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

/* The nearest values of the type, as modc_f32s_as_bfloat16. */
MODC_INLINE MODC_T modc_f32_as_bfloat16(MODC_T a)
{
    const MODC_U bits = MODC_F(bits)(a), rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;

    return MODC_F(select)(MODC_F(ne)(a, a), MODC_F(set)(modc_f32_nan()), MODC_F(of_bits)(rounded));
}

/* Rounded to nearest, ties to even. */
MODC_INLINE void modc_bfloat16_store(modc_bfloat16 *p, MODC_T v)
{
    const modc_u16 words = __builtin_convertvector(MODC_F(bits)(modc_f32_as_bfloat16(v)) >> 16, modc_u16);

    memcpy(p, &words, sizeof words);
}

#if MODC_LANES == 16 && defined __AVX512F__
MODC_INLINE modc_u16 modc_half_words(MODC_T a)
{
    const modc_i16 zero = {0};

    return (modc_u16)__builtin_ia32_vcvtps2ph512_mask(a, 0, zero, 0xffff);
}
#elif MODC_LANES == 8 && defined __F16C__
MODC_INLINE modc_u16 modc_half_words(MODC_T a)
{
    return (modc_u16)__builtin_ia32_vcvtps2ph256(a, 0);
}
#elif MODC_LANES == 4 && defined __aarch64__
MODC_INLINE modc_u16 modc_half_words(MODC_T a)
{
    modc_u16 words;

    __asm__("fcvtn %0.4h, %1.4s" : "=w"(words) : "w"(a));
    return words;
}
#else
/* Of a denormal the sum with 0.5 has the bits, rounded, at the end of its own. */
MODC_INLINE modc_u16 modc_half_words(MODC_T a)
{
    const MODC_U bits = MODC_F(bits)(a), sign = bits >> 16 & 0x8000u;
    const MODC_I size = (MODC_I)(bits & 0x7fffffffu);
    const MODC_U denormal = MODC_F(bits)(MODC_F(of_bits)((MODC_U)size) + 0.5f) - 0x3f000000u;
    const MODC_U normal = (((MODC_U)size + 0xfffu + ((bits >> 13) & 1u)) >> 13) - 0x1c000u;
    const MODC_U tiny = (MODC_U)(size < 0x38800000), huge = (MODC_U)(size >= 0x47800000),
                 nan = (MODC_U)(size > 0x7f800000);
    const MODC_U words = (denormal & tiny) | (normal & ~tiny & ~huge) | (huge & 0x7c00u) |
                         (nan & (0x200u | ((MODC_U)size >> 13 & 0x1ffu)));

    return __builtin_convertvector(sign | words, modc_u16);
}
#endif

MODC_INLINE void modc_half_store(modc_half *p, MODC_T v)
{
    const modc_u16 words = modc_half_words(v);

    memcpy(p, &words, sizeof words);
}

/* As modc_f32s_as_float16. */
MODC_INLINE MODC_T modc_f32_as_float16(MODC_T a)
{
    modc_half words[MODC_LANES];

    modc_half_store(words, a);
    return modc_half_load(words);
}

/* Integers of 8 bits, a lane each. */
MODC_INLINE MODC_I modc_int8_widen(const modc_int8 *p)
{
#if MODC_LANES == 4 && defined __aarch64__
    typedef uint32_t words __attribute__((vector_size(8)));
    words v = {0};
    MODC_I wide;

    memcpy(&v, p, MODC_LANES);
    __asm__("sshll %0.8h, %1.8b, #0\n\tsshll %0.4s, %0.4h, #0" : "=w"(wide) : "w"(v));
    return wide;
#elif !defined __clang__
    typedef char bytes __attribute__((vector_size(16)));
#if MODC_LANES == 16
    const MODC_I zero = {0};
    bytes v;

    memcpy(&v, p, sizeof v);
    return (MODC_I)__builtin_ia32_pmovsxbd512_mask(v, zero, 0xffff);
#elif MODC_LANES == 8 /* a part of a vector that is copied would go through memory */
    typedef int64_t pair __attribute__((vector_size(16)));
    int64_t eight;

    memcpy(&eight, p, sizeof eight);

    const pair v = {eight, 0};

    return (MODC_I)__builtin_ia32_pmovsxbd256((bytes)v);
#else
    int32_t four;

    memcpy(&four, p, sizeof four);

    const MODC_I lowest = {four, 0, 0, 0};
    const bytes v = (bytes)lowest;
#ifdef __SSE4_1__
    return (MODC_I)__builtin_ia32_pmovsxbd128(v);
#else /* each byte to the top of a lane, and down with its sign */
    typedef int16_t words __attribute__((vector_size(16)));
    const words w = (words)__builtin_ia32_punpcklbw128(v, v);

    return (MODC_I)__builtin_ia32_punpcklwd128(w, w) >> 24;
#endif
#endif
#else
    typedef int8_t bytes __attribute__((vector_size(MODC_LANES)));
    bytes v;

    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, MODC_I);
#endif
}

/* The same as the numbers that they are. */
MODC_INLINE MODC_T modc_int8_load(const modc_int8 *p)
{
    return MODC_F(of_int)(modc_int8_widen(p));
}

/* Integers from -8 to 7, eight in the word of each lane, of which number `nibble`. */
MODC_INLINE MODC_T modc_int4_load(const modc_int8 *p, const int nibble)
{
    MODC_U v;

    memcpy(&v, p, sizeof v);
#if MODC_LANES == 16 && defined __AVX512F__
    const MODC_T numbers = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

    v >>= 4 * nibble;
#ifdef __clang__
    return __builtin_ia32_permvarsf512(numbers, (MODC_I)v);
#else
    return (MODC_T)__builtin_ia32_permvarsf512_mask(numbers, (MODC_I)v, numbers, 0xffff);
#endif
#else
    return MODC_F(of_int)((MODC_I)(v >> 4 * nibble & 15u) - 8);
#endif
}

/* note [coded panels] in modc_simd_scalar.h. Where there is no instruction that looks bytes up, each by itself. */
#if (MODC_LANES == 16 && defined __AVX512BW__) || (MODC_LANES == 8 && defined __AVX2__) ||                   \
    (MODC_LANES == 4 && (defined __SSSE3__ || defined __aarch64__))
#define MODC_LOOKS_UP 1
typedef uint8_t modc_codes __attribute__((vector_size(MODC_LANES * 4)));
typedef int8_t modc_coded_bytes __attribute__((vector_size(MODC_LANES * 4)));
typedef struct {
    const modc_int8 *panel;
    modc_codes upper; /* the sixteen of the panel, in each 16 bytes */
    bool plain;
} modc_coded;
#else
#define MODC_LOOKS_UP 0
typedef struct {
    const modc_int8 *panel;
    bool plain;
} modc_coded;
#endif

MODC_INLINE modc_coded modc_coded_of(const modc_int8 *panel)
{
    modc_coded coded;

    coded.panel = panel;
    coded.plain = modc_coded_count(panel) < 0;
#if MODC_LOOKS_UP
    for (int i = 0; i < MODC_LANES / 4; i++)
        memcpy((char *)&coded.upper + 16 * i, panel, 16);
#endif
    return coded;
}

#if MODC_LOOKS_UP
MODC_INLINE modc_codes modc_codes_load(const modc_int8 *p)
{
    modc_codes v;

    memcpy(&v, p, sizeof v);
    return v;
}

MODC_INLINE modc_codes modc_codes_look_up(modc_codes table, modc_codes at)
{
#if defined __aarch64__
    modc_codes v;

    __asm__("tbl %0.16b, {%1.16b}, %2.16b" : "=w"(v) : "w"(table), "w"(at));
    return v;
#else
    typedef char chars __attribute__((vector_size(MODC_LANES * 4)));

#if MODC_LANES == 4
    return (modc_codes)__builtin_ia32_pshufb128((chars)table, (chars)at);
#elif MODC_LANES == 8
    return (modc_codes)__builtin_ia32_pshufb256((chars)table, (chars)at);
#elif defined __clang__
    return (modc_codes)__builtin_ia32_pshufb512((chars)table, (chars)at);
#else
    return (modc_codes)__builtin_ia32_pshufb512_mask((chars)table, (chars)at, (chars)at, ~0ull);
#endif
#endif
}

/* Of each 16 bytes the first, or the last eight, as words whose upper halves are of b. */
#if MODC_LANES == 4
#define MODC_CODED_WORDS(i, j, k, l) i, 16 + i, j, 16 + j, k, 16 + k, l, 16 + l
#define MODC_CODED_FIRST MODC_CODED_WORDS(0, 1, 2, 3), MODC_CODED_WORDS(4, 5, 6, 7)
#define MODC_CODED_LAST MODC_CODED_WORDS(8, 9, 10, 11), MODC_CODED_WORDS(12, 13, 14, 15)
#elif MODC_LANES == 8
#define MODC_CODED_WORDS(i, j, k, l) i, 32 + i, j, 32 + j, k, 32 + k, l, 32 + l
#define MODC_CODED_FIRST                                                                                     \
    MODC_CODED_WORDS(0, 1, 2, 3), MODC_CODED_WORDS(4, 5, 6, 7), MODC_CODED_WORDS(16, 17, 18, 19),            \
        MODC_CODED_WORDS(20, 21, 22, 23)
#define MODC_CODED_LAST                                                                                      \
    MODC_CODED_WORDS(8, 9, 10, 11), MODC_CODED_WORDS(12, 13, 14, 15), MODC_CODED_WORDS(24, 25, 26, 27),      \
        MODC_CODED_WORDS(28, 29, 30, 31)
#else
#define MODC_CODED_WORDS(i, j, k, l) i, 64 + i, j, 64 + j, k, 64 + k, l, 64 + l
#define MODC_CODED_FIRST                                                                                     \
    MODC_CODED_WORDS(0, 1, 2, 3), MODC_CODED_WORDS(4, 5, 6, 7), MODC_CODED_WORDS(16, 17, 18, 19),            \
        MODC_CODED_WORDS(20, 21, 22, 23), MODC_CODED_WORDS(32, 33, 34, 35),                                  \
        MODC_CODED_WORDS(36, 37, 38, 39), MODC_CODED_WORDS(48, 49, 50, 51), MODC_CODED_WORDS(52, 53, 54, 55)
#define MODC_CODED_LAST                                                                                      \
    MODC_CODED_WORDS(8, 9, 10, 11), MODC_CODED_WORDS(12, 13, 14, 15), MODC_CODED_WORDS(24, 25, 26, 27),      \
        MODC_CODED_WORDS(28, 29, 30, 31), MODC_CODED_WORDS(40, 41, 42, 43),                                  \
        MODC_CODED_WORDS(44, 45, 46, 47), MODC_CODED_WORDS(56, 57, 58, 59), MODC_CODED_WORDS(60, 61, 62, 63)
#endif

MODC_INLINE void modc_coded_words(modc_codes lower, modc_codes upper, MODC_T value[4])
{
    const MODC_U first = (MODC_U)__builtin_shufflevector(lower, upper, MODC_CODED_FIRST);
    const MODC_U last = (MODC_U)__builtin_shufflevector(lower, upper, MODC_CODED_LAST);

    value[0] = MODC_F(of_bits)(first << 16);
    value[1] = MODC_F(of_bits)(first & 0xffff0000u);
    value[2] = MODC_F(of_bits)(last << 16);
    value[3] = MODC_F(of_bits)(last & 0xffff0000u);
}

#undef MODC_CODED_WORDS
#undef MODC_CODED_FIRST
#undef MODC_CODED_LAST
#endif

/* Steps k ... k + 7 of rows `row` on, k being a multiple of 8. */
MODC_INLINE void modc_coded_load(const modc_coded coded, const int head, const int k, const int row,
                                 MODC_T value[8])
{
    const modc_bfloat16 *const plain = (const modc_bfloat16 *)(const void *)(coded.panel + head) +
                                       k * MODC_PANEL32;
#if MODC_LOOKS_UP
    const modc_int8 *const unit = coded.panel + head + (ptrdiff_t)(k / 8) * MODC_CODED_UNIT + row * 4;
    modc_codes codes;
#endif

    if (coded.plain) {
        for (int i = 0; i < 8; i++)
            value[i] = modc_bfloat16_load(plain + i * MODC_PANEL32 + row);
        return;
    }
#if MODC_LOOKS_UP
    codes = modc_codes_load(unit + 128);
    modc_coded_words(modc_codes_load(unit), modc_codes_look_up(coded.upper, codes & 15), value);
    modc_coded_words(modc_codes_load(unit + 64), modc_codes_look_up(coded.upper, codes >> 4), value + 4);
#else
    for (int i = 0; i < 8; i++) {
        float lanes[MODC_LANES];

        for (int l = 0; l < MODC_LANES; l++)
            lanes[l] = modc_coded_get(coded.panel, head, k + i, row + l);
        value[i] = MODC_F(load)(lanes);
    }
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
MODC_LOAD_PART(modc_int8)
#undef MODC_LOAD_PART

/* The first n, or all where there are not so many. */
#define MODC_LOAD_MOST(type)                                                                                 \
    MODC_INLINE MODC_T type##_load_most(const type *p, const int n)                                          \
    {                                                                                                        \
        return n >= MODC_LANES ? type##_load(p) : type##_load_part(p, n);                                    \
    }

MODC_LOAD_MOST(modc_bfloat16)
MODC_LOAD_MOST(modc_half)
#undef MODC_LOAD_MOST

/* As load_part, but the other lanes read as `other`. */
#define MODC_LOAD_REST(type)                                                                                 \
    MODC_INLINE MODC_T type##_load_rest(const type *p, int n, float other)                                   \
    {                                                                                                        \
        return MODC_F(first)(type##_load_part(p, n), n, MODC_F(set)(other));                                 \
    }

MODC_LOAD_REST(modc_bfloat16)
MODC_LOAD_REST(modc_half)
#undef MODC_LOAD_REST

/* Rounded to nearest, ties to even: n of them, 0 <= n <= MODC_LANES; the first n, or all where there are not so many. */
#define MODC_STORE(type)                                                                                     \
    MODC_INLINE void type##_store_part(type *p, MODC_T v, int n)                                             \
    {                                                                                                        \
        type words[MODC_LANES];                                                                              \
                                                                                                             \
        type##_store(words, v);                                                                              \
        for (int i = 0; i < n; i++)                                                                          \
            p[i] = words[i];                                                                                 \
    }                                                                                                        \
    MODC_INLINE void type##_store_most(type *p, MODC_T v, const int n)                                       \
    {                                                                                                        \
        if (n >= MODC_LANES)                                                                                 \
            type##_store(p, v);                                                                              \
        else                                                                                                 \
            type##_store_part(p, v, n);                                                                      \
    }

MODC_STORE(modc_bfloat16)
MODC_STORE(modc_half)
#undef MODC_STORE
#endif

#endif
