/* modc_simd_scalar.h - integers, casts, 16-bit floats, random words, and what of float and double is no vector's. Part of modc_simd.h. */
#ifndef MODC_SIMD_H
#include "modc_simd.h"
#else

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

MODC_INLINE int64_t modc_gcd_i64(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;

    while (y != 0) {
        const uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return (int64_t)x;
}

/* a + b, which wraps, as PyTorch's integers do. */
MODC_INLINE int32_t modc_sum_of(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* What gemmlowp and TensorFlow Lite make fixed-point numbers with: a b / 2^31 and a / 2^(bits modulo 32), both to nearest. Ties of the
 * product go up, those of the quotient away from 0; the one product beyond int32, -2^31 by itself, is 2^31 - 1. */
MODC_INLINE int32_t modc_mul_high(int32_t a, int32_t b)
{
    const int64_t high = ((int64_t)a * b + (1 << 30)) >> 31;

    return a == INT32_MIN && b == a ? INT32_MAX : (int32_t)high;
}

MODC_INLINE int32_t modc_shift_near(int32_t a, int32_t bits)
{
    const int32_t mask = (int32_t)((1u << (bits & 31)) - 1), half = (mask >> 1) + (a < 0);

    return (a >> (bits & 31)) + ((a & mask) > half);
}

/* One behind the other. note [fixed point on chips]
 * Where halves of words are multiplied in one instruction there is one for the upper half of a product, too, rounded: that of 2 a and
 * the multiplier. 2 a that leaves int32 is 2^32 too small, or too large, and so that half by the multiplier; the instruction that adds
 * it saturates, which gives the product of -2^31 by itself as it is to be. Of the quotient the last bit that is shifted out is the
 * carry, which rounds it up; 1 less of what is below 0 first turns its ties down, and where nothing is shifted the sign as the carry
 * gives it back. */
MODC_INLINE int32_t modc_requantize(int32_t a, int32_t multiplier, int32_t bits)
{
#ifdef MODC_DSP
    int32_t twice, high, sign;

    if (__builtin_add_overflow(a, a, &twice)) {
        __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(twice), "r"(multiplier));
        if (a < 0)
            __asm__("qsub %0, %1, %2" : "=r"(high) : "r"(high), "r"(multiplier));
        else
            __asm__("qadd %0, %1, %2" : "=r"(high) : "r"(high), "r"(multiplier));
    } else {
        __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(twice), "r"(multiplier));
    }
    __asm__("movs %1, %0, lsl #1\n\t"
            "sub %0, %0, %0, lsr #31\n\t"
            "movs %0, %0, asr %2\n\t"
            "adc %0, %0, #0"
            : "+r"(high), "=&r"(sign)
            : "r"(bits & 31)
            : "cc");
    return high;
#else
    return modc_shift_near(modc_mul_high(a, multiplier), bits);
#endif
}

/* note [rescaling]
 * A multiplier from 2^30 on and a shift from 1 on take an instruction each in this form: a is twice the multiplier less 2^32, b is
 * -2^(32 - shift), below 0. The multiplier's product / 2^31 is x + x a / 2^32, and there is an instruction that adds the upper half of
 * a product, rounded, to a third number; another one subtracts it, which makes zero plus the quotient. Other pairs are multiplier and
 * shift as they are: b is not below 0. */
MODC_OUTLINE int32_t modc_rescale_by(int32_t x, int32_t multiplier, int32_t bits, int32_t zero)
{
    return modc_sum_of(modc_requantize(x, multiplier, bits), zero);
}

/* modc_requantize, and `zero` more. below: whether results below zero are told apart; a constant of the call. */
MODC_INLINE int32_t modc_rescale(int32_t x, int32_t a, int32_t b, int32_t zero, const int below)
{
    int32_t high;

    if (b >= 0)
        return modc_rescale_by(x, a, b, zero);
#ifdef MODC_DSP
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(x), "r"(a));
#else
    high = (int32_t)(((int64_t)x * a + (int64_t)x * ((int64_t)1 << 32) + ((int64_t)1 << 31)) >> 32);
#endif
    if (below) /* a tie becomes less than one */
        high -= (int32_t)((uint32_t)high >> 31);
#ifdef MODC_DSP
    __asm__("smmlsr %0, %1, %2, %3" : "=r"(high) : "r"(high), "r"(b), "r"(zero));
    return high;
#else
    return modc_sum_of((int32_t)(((int64_t)high * -(int64_t)b + ((int64_t)1 << 31)) >> 32), zero);
#endif
}

/* The nearest integer of 8 bits. */
MODC_INLINE int8_t modc_int8_of(int32_t a)
{
#ifdef MODC_DSP
    int32_t near;

    __asm__("ssat %0, #8, %1" : "=r"(near) : "r"(a));
    return (int8_t)near;
#else
    return (int8_t)(a < -128 ? -128 : a > 127 ? 127 : a);
#endif
}

/* ---- the same bits as another type --------------------------------------------------------------------- */

MODC_INLINE int32_t modc_f32_as_i32(float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

MODC_INLINE float modc_i32_as_f32(int32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

MODC_INLINE int64_t modc_f64_as_i64(double x)
{
    int64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

MODC_INLINE double modc_i64_as_f64(int64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
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

/* ---- 16-bit floats: rounded to nearest, ties to even ------------------------------------------------- */

#ifndef MODC_HALVES /* modc.h has them too */
#define MODC_HALVES
typedef uint16_t modc_half;
typedef uint16_t modc_bfloat16;
#endif
typedef int8_t modc_int8;

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

    if (size >= 0x47800000u) /* 65536, infinity, NaN with the bits that there is room for */
        return (modc_half)(sign | (size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x1ffu) : 0x7c00u));
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

/* The float32 copy of a number, or the number where it is no longer what the copy rounds to. */
MODC_INLINE float modc_bfloat16_kept(float copy, modc_bfloat16 own)
{
    return modc_f32_to_bfloat16(copy) == own ? copy : modc_bfloat16_to_f32(own);
}

MODC_INLINE float modc_half_kept(float copy, modc_half own)
{
    return modc_f32_to_half(copy) == own ? copy : modc_half_to_f32(own);
}

/* The nearest value of the type, as a float. */
MODC_INLINE float modc_f32s_as_bfloat16(float a)
{
    return modc_bfloat16_to_f32(modc_f32_to_bfloat16(a));
}

MODC_INLINE float modc_f32s_as_float16(float a)
{
    return modc_half_to_f32(modc_f32_to_half(a));
}

/* The nearest integer, of two the even one: 1.5 * 2^23 leaves a sum no bits for fractions. Within 127 of 0, which NaN becomes. */
MODC_INLINE modc_int8 modc_f32_to_int8(float a)
{
    const float above = a > -127.0f ? a : -127.0f, within = above < 127.0f ? above : 127.0f;

    return (modc_int8)(a == a ? (int32_t)(modc_f32_to_bits(within + 12582912.0f) - 0x4b400000u) : 0);
}

MODC_INLINE float modc_int8_to_f32(modc_int8 a)
{
    return (float)a;
}

/* ---- weights in 8 or 4 bits -------------------------------------------------------------------------- */

/* note [scaled panels]
 * Weights (N, K) as integers, of which `group` of a row, one behind the other along K, are multiples of one scale; the last of a
 * row may be fewer. A panel holds those of P rows: the scales [groups][P], behind them at a multiple of 64 bytes the integers: bytes
 * [K][P]; or words, the first of their steps in K in the lowest bits: [ceil(K / 8)][P] of eight, of four bits each, plus 8; of what is
 * multiplied with rows in int8 [ceil(K / 4)][P] of four bytes, each plus 128. The next panel begins at a multiple of 64 bytes, too.
 * What has no row has the scale 0. */
enum modc_scale { MODC_SCALE_F32, MODC_SCALE_F16, MODC_SCALE_BF16 };

enum modc_scaling {
    MODC_SYMMETRIC, /* torchao's: the scale is the largest size over 127.5 or 7.5, and at least float32's epsilon */
    MODC_GGUF       /* of Q8_0 and Q4_0: the largest size over 127; what is largest over -8 */
};

/* Bytes of the scales, and of a panel. bytes: of a scale. */
#define MODC_LINES(bytes) (((bytes) + 63) / 64 * 64)
#define MODC_PANEL_SCALES(k, group, bytes) MODC_LINES(((k) + (group)-1) / (group) * (MODC_PANEL32 * (bytes)))
#define MODC_PANEL_BYTES(k, group, bytes, bits)                                                              \
    (MODC_PANEL_SCALES(k, group, bytes) + MODC_LINES(((k) * (bits) + 7) / 8 * MODC_PANEL32))

/* One of eight in a word, from -8 to 7: in four bits as many more than -8. */
MODC_INLINE int modc_int4_get(const modc_int8 *word, int nibble)
{
    uint32_t v;

    memcpy(&v, word, sizeof v);
    return (int)(v >> 4 * nibble & 15u) - 8;
}

MODC_INLINE void modc_int4_set(modc_int8 *word, int nibble, int whole)
{
    uint32_t v;

    memcpy(&v, word, sizeof v);
    v = (v & ~(15u << 4 * nibble)) | (uint32_t)(whole + 8) << 4 * nibble;
    memcpy(word, &v, sizeof v);
}

/* One of four in a word, from -128 to 127: in eight bits as many more than -128. */
MODC_INLINE int modc_byte_get(const modc_int8 *word, int byte)
{
    return (int)(uint8_t)word[byte] - 128;
}

MODC_INLINE void modc_set_scale(modc_int8 *scales, int at, enum modc_scale type, float scale)
{
    const uint16_t two = type == MODC_SCALE_F16 ? modc_f32_to_half(scale) : modc_f32_to_bfloat16(scale);

    if (type == MODC_SCALE_F32)
        memcpy(scales + at * 4, &scale, sizeof scale);
    else
        memcpy(scales + at * 2, &two, sizeof two);
}

/* The scale of `count` weights that are `step` apart: NaN where one of them is. */
MODC_INLINE float modc_scale_of(const float *w, int count, int step, int bits, enum modc_scaling scaling)
{
    float most = 0.0f, with_sign = 0.0f;

    for (int i = 0; i < count; i++) {
        const float value = w[i * step], size = value < 0.0f ? -value : value;

        if (value != value)
            return value;
        if (size > most) {
            most = size;
            with_sign = value;
        }
    }
    if (scaling == MODC_GGUF)
        return bits == 4 ? with_sign / -8.0f : most / 127.0f;
    most = bits == 4 ? most / 7.5f : most / 127.5f;
    return most > 1.1920929e-7f ? most : 1.1920929e-7f;
}

/* The integer of a weight, `times` being 1 over its scale; 0 for what is no number. */
MODC_INLINE int modc_scaled_int(float w, float times, int bits, enum modc_scaling scaling)
{
    const float value = w * times, lowest = bits == 4 ? -8.0f : -128.0f, highest = -1.0f - lowest;
    const float above = value > lowest ? value : lowest, within = above < highest ? above : highest;
    int whole = (int)within;

    if (value != value)
        return 0;
    if (scaling !=
        MODC_GGUF) /* 1.5 * 2^23 leaves a sum no bits for fractions: of two integers the even one */
        return (int)(modc_f32_to_bits(within + 12582912.0f) - 0x4b400000u);
    if (bits == 4)
        return modc_min((int)(within + 8.5f), 15) - 8;
    return within - (float)whole >= 0.5f ? whole + 1 : within - (float)whole <= -0.5f ? whole - 1 : whole;
}

/* The integer that times this scale is w, to the bit; of a scale 0 all are 0. False: there is none, or the scale is NaN. */
MODC_INLINE bool modc_multiple(float w, float scale, int bits, int *whole)
{
    const float value = scale != 0.0f ? w / scale : 0.0f, lowest = bits == 4 ? -8.0f : -128.0f;
    const float above = value > lowest ? value : lowest,
                within = above < -1.0f - lowest ? above : -1.0f - lowest;

    *whole = (int)(modc_f32_to_bits(within + 12582912.0f) - 0x4b400000u);
    return scale == scale &&
           modc_f32_to_bits(w) == modc_f32_to_bits((float)*whole * scale + 0.0f); /* 0 is no -0 */
}

/* The scale with which a weight came whose element lies so many behind its first; NaN: with none. */
MODC_INLINE float modc_scale_at(const struct modc_scales *scales, int64_t element, enum modc_scale type)
{
    const int64_t at = scales->at + element, line = at / scales->width, place = at % scales->width;
    const int64_t row = scales->transposed ? place : line, step = scales->transposed ? line : place;
    const char *from = (const char *)scales->first +
                       (row * scales->groups + step / scales->group) * (type == MODC_SCALE_F32 ? 4 : 2);
    uint16_t two;
    float four;

    if (type == MODC_SCALE_F32) {
        memcpy(&four, from, sizeof four);
        return four;
    }
    memcpy(&two, from, sizeof two);
    return type == MODC_SCALE_F16 ? modc_half_to_f32(two) : modc_bfloat16_to_f32(two);
}

/* Whether so many weights of a row, `column` apart, are multiples of the scale that they came with, which *own is then. */
MODC_INLINE bool modc_came_scaled(const float *w, const struct modc_scales *scales, int64_t element,
                                  int count, int column, int bits, enum modc_scale type, float *own)
{
    int whole;

    if (scales->first == NULL)
        return false;
    *own = modc_scale_at(scales, element, type);
    for (int i = 0; i < count; i++)
        if (!modc_multiple(w[(ptrdiff_t)i * column], *own, bits, &whole))
            return false;
    return true;
}

/* An integer of step k and of a lane, among the integers of a panel; steps: of K in a word, 8, 4 or 1. */
MODC_INLINE void modc_panel_set(modc_int8 *integers, int k, int lane, int steps, int whole)
{
    if (steps == 8)
        modc_int4_set(integers + (k / 8 * MODC_PANEL32 + lane) * 4, k % 8, whole);
    else if (steps == 4)
        integers[(k / 4 * MODC_PANEL32 + lane) * 4 + k % 4] = (modc_int8)(whole + (whole < 0 ? 128 : -128));
    else
        integers[k * MODC_PANEL32 + lane] = (modc_int8)whole;
}

/* note [scaled rows]
 * The same weights as a GPU has them: the integers of a row lie side by side, at a multiple of 16 bytes: bytes; or, of four bits, words
 * of eight steps in K, each plus 8, of which byte j has step j in its lower half and step j + 4 in the upper, so that either half of a
 * word is four steps in their order. Integers behind the last step are 0. The scales [N][groups] follow behind all rows. What they are
 * multiplied with, rounded to int8 as note [rows in int8] in modc_simd_dot.h has it, is the scale of the row, 16 bytes behind it the
 * integers, and 0 behind these up to a multiple of 32. */
#define MODC_ROW_BYTES(k, bits) (((k) * (bits) + 127) / 128 * 16)
#define MODC_ROUNDED_BYTES(k) (16 + ((k) + 31) / 32 * 32)

/* w (n, k) as scaled panels: rows of w are `row` apart, steps in K `column`; bits: 8 or 4; steps: of K in a word of a row, 8 of four
 * bits; 4, or 1 for bytes alone. What came with a scale, and still is a multiple of it, keeps it. */
MODC_OUTLINE void modc_f32_pack_scaled(modc_int8 *y, const float *w, const int n, const int k, const int row,
                                       const int column, const int bits, const int steps, const int group,
                                       const enum modc_scale scale, const enum modc_scaling scaling,
                                       const struct modc_scales came)
{
    const int size = scale == MODC_SCALE_F32 ? 4 : 2;
    const int head = MODC_PANEL_SCALES(k, group, size), panel = MODC_PANEL_BYTES(k, group, size, bits);

    for (int i = 0; i < (n + MODC_PANEL32 - 1) / MODC_PANEL32 * MODC_PANEL32; i++) {
        modc_int8 *to = y + (size_t)(i / MODC_PANEL32) * (size_t)panel;
        const float *from = w + (ptrdiff_t)i * row;
        const int lane = i % MODC_PANEL32;

        if (lane == 0)
            memset(to, 0, (size_t)panel);
        for (int g = 0; g < k && i < n; g += group) {
            const int count = modc_min(group, k - g);
            const float *const first = from + (ptrdiff_t)g * column;
            float own = 0.0f, times = 0.0f;
            const bool kept = modc_came_scaled(first, &came, first - w, count, column, bits, scale, &own);

            if (!kept) {
                own = modc_scale_of(first, count, column, bits, scaling);
                times = own != 0.0f ? 1.0f / own : 0.0f;
            }
            modc_set_scale(to, g / group * MODC_PANEL32 + lane, scale, own);
            for (int j = g; j < g + count; j++) {
                int whole;

                if (kept)
                    modc_multiple(from[(ptrdiff_t)j * column], own, bits, &whole);
                else
                    whole = modc_scaled_int(from[(ptrdiff_t)j * column], times, bits, scaling);
                modc_panel_set(to + head, j, lane, steps, whole);
            }
        }
    }
}

/* note [coded panels]
 * Weights (N, K) as the bfloat16 that they round to, in 12 bits: sixteen upper halves (sign and seven bits of the exponent) are most
 * of those of a panel, so that four bits say which one it is; the lower half (a bit of the exponent, seven of the mantissa) lies there
 * as it is. First comes of each panel, of P rows, where it lies, in lines of 64 bytes from the start; then one behind the other the
 * panels: MODC_CODED_HEAD bytes, and units of 192 bytes for eight steps in K each. Of a unit the first 64 bytes are lower halves of
 * its steps 0 to 3, the second of 4 to 7; in the third each byte has the codes of what lies in the first and, above them, in the
 * second. Sixteen bytes are four rows: pairs of steps 0 and 1 of each, then of 2 and 3, so that they become words where they are
 * interleaved with their upper halves.
 *
 * A head has the sixteen upper halves, of which the first is 0; how many weights have others, in whose places there is 0; then of each
 * where it is, k * P + row, and what. Where those are too many, and where nothing looks up, the count is -1, and the units are of 16 bits:
 * [8][P] as they are. There is room for all of them so; what the others leave lies behind all and is not touched. */
struct modc_coded_rest {
    int32_t at;
    float value;
};

enum {
    MODC_CODED_UNIT = 192,
    MODC_CODED_PLAIN = 256, /* of 16 bits */
    MODC_CODED_COUNT = 16,
    MODC_CODED_REST = 20
};

/* The most weights of a panel that have other upper halves; bytes of the head, the most of a panel, and of n rows. */
#define MODC_CODED_MOST(k) ((k) / 32 + 5)
#define MODC_CODED_HEAD(k) MODC_LINES(MODC_CODED_REST + MODC_CODED_MOST(k) * 8)
#define MODC_CODED_PANEL(k) (MODC_CODED_HEAD(k) + ((k) + 7) / 8 * MODC_CODED_PLAIN)
#define MODC_CODED_PANELS(n) (((n) + MODC_PANEL32 - 1) / MODC_PANEL32)
#define MODC_CODED_BYTES(n, k)                                                                               \
    (MODC_LINES(MODC_CODED_PANELS(n) * 4) + MODC_CODED_PANELS(n) * MODC_CODED_PANEL(k))

MODC_INLINE const modc_int8 *modc_coded_panel(const modc_int8 *w, const int number)
{
    uint32_t lines;

    memcpy(&lines, w + (ptrdiff_t)number * 4, sizeof lines);
    return w + (size_t)lines * 64;
}

/* The byte of a lower half in its unit; the codes of all are 128 behind those of steps 0 to 3. */
MODC_INLINE int modc_coded_at(const int step, const int row)
{
    return step / 4 * 64 + row / 4 * 16 + step % 4 / 2 * 8 + row % 4 * 2 + step % 2;
}

/* What a panel's head has of weights with other upper halves: how many, and which. */
MODC_INLINE int modc_coded_count(const modc_int8 *panel)
{
    int32_t count;

    memcpy(&count, panel + MODC_CODED_COUNT, sizeof count);
    return count;
}

MODC_INLINE struct modc_coded_rest modc_coded_rest_of(const modc_int8 *panel, const int number)
{
    struct modc_coded_rest rest;

    memcpy(&rest, panel + MODC_CODED_REST + number * 8, sizeof rest);
    return rest;
}

/* Element k of a row of a panel, but for what the head has. */
MODC_INLINE float modc_coded_get(const modc_int8 *panel, const int head, const int k, const int row)
{
    const int at = modc_coded_at(k % 8, row);
    const uint8_t *unit = (const uint8_t *)panel + head + (ptrdiff_t)(k / 8) * MODC_CODED_UNIT;
    modc_bfloat16 word;

    if (modc_coded_count(panel) < 0)
        memcpy(&word, panel + head + ((ptrdiff_t)k * MODC_PANEL32 + row) * 2, sizeof word);
    else
        word = (modc_bfloat16)((uint8_t)panel[unit[128 + at % 64] >> at / 64 * 4 & 15] << 8 | unit[at]);
    return modc_bfloat16_to_f32(word);
}

/* 0 and the fifteen commonest other upper halves. Returns how many weights have others. */
MODC_INLINE int modc_coded_choose(int counts[256], uint8_t upper[16])
{
    int rest = 0;

    upper[0] = 0;
    counts[0] = -1;
    for (int i = 1; i < 16; i++) {
        int best = 0;

        for (int h = 1; h < 256; h++)
            best = counts[h] > counts[best] ? h : best;
        upper[i] = (uint8_t)best;
        counts[best] = -1;
    }
    for (int h = 0; h < 256; h++)
        rest += counts[h] > 0 ? counts[h] : 0;
    return rest;
}

/* w (n, k) as coded panels: rows of w are `row` apart, steps in K `column`. codes: whether there are any, not 16 bits alone. */
MODC_OUTLINE void modc_f32_pack_coded(modc_int8 *y, const float *w, const int n, const int k, const int row,
                                      const int column, const bool codes)
{
    const int head = MODC_CODED_HEAD(k), units = (k + 7) / 8;
    uint32_t line = (uint32_t)MODC_LINES(MODC_CODED_PANELS(n) * 4) / 64;

    memset(y, 0, (size_t)line * 64);
    for (int first = 0; first < n; first += MODC_PANEL32) {
        uint8_t *const to = (uint8_t *)y + (size_t)line * 64;
        const int rows = modc_min(MODC_PANEL32, n - first);
        int counts[256] = {0}, code_of[256];
        int32_t filled = 0;
        struct modc_coded_rest one;
        size_t bytes;
        bool plain;

        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < k; j++)
                counts[modc_f32_to_bfloat16(w[(ptrdiff_t)(first + i) * row + (ptrdiff_t)j * column]) >> 8]++;
        }
        plain = modc_coded_choose(counts, to) > MODC_CODED_MOST(k) || !codes;
        bytes = (size_t)head + (size_t)units * (plain ? MODC_CODED_PLAIN : MODC_CODED_UNIT);
        memset(to + 16, 0, bytes - 16);
        memcpy(y + first / MODC_PANEL32 * 4, &line, sizeof line);
        line += (uint32_t)(bytes / 64);
        memset(code_of, -1, sizeof code_of);
        for (int i = 15; i >= 0; i--)
            code_of[to[i]] = i;
        for (int i = 0; i < MODC_PANEL32; i++) {
            for (int j = 0; j < k; j++) {
                uint8_t *const unit = to + head + (ptrdiff_t)(j / 8) * MODC_CODED_UNIT;
                const int at = modc_coded_at(j % 8, i);
                modc_bfloat16 word = 0; /* of a row that pads */

                if (i < rows)
                    word = modc_f32_to_bfloat16(w[(ptrdiff_t)(first + i) * row + (ptrdiff_t)j * column]);
                if (plain) {
                    memcpy(to + head + ((ptrdiff_t)j * MODC_PANEL32 + i) * 2, &word, sizeof word);
                    continue;
                }
                if (code_of[word >> 8] < 0) {
                    one.at = j * MODC_PANEL32 + i;
                    one.value = modc_bfloat16_to_f32(word);
                    memcpy(to + MODC_CODED_REST + 8 * filled++, &one, sizeof one);
                    word = 0;
                }
                unit[at] = (uint8_t)word;
                unit[128 + at % 64] = (uint8_t)(unit[128 + at % 64] | code_of[word >> 8] << at / 64 * 4);
            }
        }
        filled = plain ? -1 : filled;
        memcpy(to + MODC_CODED_COUNT, &filled, sizeof filled);
    }
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

#if defined __CUDACC__
#elif defined __GNUC__ && defined __x86_64__ && defined __AVX__
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
#if defined __CUDACC__ || defined _MSC_VER
    result = sqrtf(a);
#elif defined __GNUC__ && defined __x86_64__ && defined __AVX__
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

/* An angle as quarter turns, 0 .. 3, and the rest in [-pi / 4, pi / 4]. */
struct modc_turns {
    float rest;
    int32_t quarters;
};

/* Of x with |x| >= 2^12, finite: 2 / pi to 224 bits, of which the product keeps the 96 that matter. By value, since a GPU would keep
 * in memory what a pointer is made of. */
MODC_OUTLINE struct modc_turns modc_f32s_reduce(float x)
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
    struct modc_turns turns;

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
        turns.quarters = (int32_t)(quarters & 3);
    }
    turns.rest = (float)((double)rest * 8.5153039502163861e-20); /* pi / 2 / 2^64 */
    if (modc_f32_to_bits(x) >> 31) {
        turns.quarters = -turns.quarters & 3;
        turns.rest = -turns.rest;
    }
    return turns;
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

/* Where exp(a) is denormal or infinite, by that of a number that is 64 from it, times e^64: both are exact. */
MODC_INLINE double modc_f64s_exp_up(double a)
{
    return a < -700.0 ? exp(a + 64.0) * 6.88831532387503508e-19 : exp(a) * 4294967296.0;
}

MODC_INLINE double modc_f64s_exp_down(double a)
{
    return a > 700.0 ? exp(a - 64.0) * 1.45173377376320234e18 : exp(a) / 4294967296.0;
}

MODC_INLINE double modc_f64s_copysign(double a, double sign)
{
    return copysign(a, sign);
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
    /* a^b <= exp(-b (1 - a)), and exp(-746) is less than half of the least double: libm's pow takes long to say so, and optimisers
     * ask for powers of their betas in each step. */
    return a > 0 && a < 1 && b * (1 - a) > 746 ? 0 : pow(a, b);
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

/* note [points]
 * Winograd's F(4, 3) evaluates polynomials at 0, P, -P, Q, -Q and infinity, P being 11/16 and Q 3/2: their squares, cubes and
 * products are floats, and results have less than half the rounding error that they have with 1 and 2 (a quarter, of the largest
 * errors), since no row of the transforms is far larger than another. */
#define MODC_POINT_P 0.6875f
#define MODC_POINT_Q 1.5f

/* The weights of conv_winograd.c in place: `w` is side * side planes of `plane` floats, the last 9 of which hold the taps g
 * of 3 x 3 kernels; all become U = G g G^T. side is 6, of F(4 x 4, 3 x 3), or 4, of F(2 x 2, 3 x 3). */
MODC_OUTLINE void modc_winograd_weights(float *w, const int side, size_t plane)
{
    const double p = (double)MODC_POINT_P, q = (double)MODC_POINT_Q, gap = p * p - q * q;
    const double at_p = 1 / (2 * p * p * gap), at_q = -1 / (2 * q * q * gap);
    const double four[6][3] = {{1 / (p * p * q * q), 0, 0},     {at_p, at_p * p, at_p * p * p},
                               {at_p, -at_p * p, at_p * p * p}, {at_q, at_q * q, at_q * q * q},
                               {at_q, -at_q * q, at_q * q * q}, {0, 0, 1}};
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

#endif
