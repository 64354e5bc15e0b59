/* modc_simd_dot.h - dot products of integers of 8 bits: rows of floats as such, and four products a lane. Part of modc_simd.h. */
#ifndef MODC_SIMD_H
#include "modc_simd.h"
#else

/* note [rows in int8]
 * A row of floats (K) as integers from -128 to 127 that are multiples of one scale, which modc_scale_of gives, as of weights. They are
 * multiplied with words of scaled panels, of four or eight steps in K, whose bytes hold `zero` more than the integers that they
 * stand for; so a sum of products is `zero` times the sum of the row too large. A row is the scale, for each part of K that is
 * summed up by itself minus `zero` times its sum, and at a multiple of 64 bytes the integers, zeros behind the last of eight: in the order
 * of the bytes that they meet, where there is an instruction for four products of bytes; else as int16, of two neighbours in the bytes
 * of a word 0 and 2 first, then 1 and 3, as they meet the words' even and odd bytes. Of the eight steps of a word the even ones lie in
 * the lower halves of bytes, and come first. A part has at most MODC_DOT_MOST integers: then no sum leaves int32. */
#define MODC_DOT_MOST 65536
#define MODC_DOT_FIRST(parts) MODC_LINES(((parts) + 1) * 4)
#define MODC_DOT_ROW(k, parts)                                                                               \
    (MODC_DOT_FIRST(parts) + MODC_LINES(((k) + 15) / 8 * 16)) /* parts may begin at an 8 */

/* MODC_DOT_BYTES: what an integer of a row takes. MODC_DOT_ZERO: what bytes of 8 bits hold more where sums are taken. */
#define MODC_DOT_BYTES 2
#define MODC_DOT_ZERO 128
#if MODC_LANES == 1
#ifdef MODC_DSP
#define MODC_DOT_PAIRS /* two products of halves of words, added */
#endif
#elif defined __aarch64__
#if defined __ARM_FEATURE_DOTPROD
#undef MODC_DOT_BYTES
#undef MODC_DOT_ZERO
#define MODC_DOT_BYTES 1
#define MODC_DOT_ZERO 0 /* both sides are signed */
#endif
#elif (MODC_LANES == 16 && defined __AVX512VNNI__) || (MODC_LANES <= 8 && defined __AVXVNNI__) ||            \
    (MODC_LANES <= 8 && defined __AVX512VNNI__ && defined __AVX512VL__)
#undef MODC_DOT_BYTES
#define MODC_DOT_BYTES 1
#elif MODC_LANES < 16 || defined __AVX512BW__
#define MODC_DOT_PAIRS
#endif

#if MODC_LANES > 1
typedef uint32_t modc_word __attribute__((may_alias, aligned(1)));
#endif

MODC_INLINE modc_i32 modc_dot_none(void)
{
    modc_i32 zero;

    memset(&zero, 0, sizeof zero);
    return zero;
}

/* The 32 bits at p, in all lanes. */
MODC_INLINE modc_i32 modc_dot_all(const modc_int8 *p)
{
    int32_t value;

    memcpy(&value, p, sizeof value);
    return modc_dot_none() + value;
}

/* The scale of a row. */
MODC_INLINE modc_f32 modc_dot_scale_of(const modc_int8 *row)
{
    float scale;

    memcpy(&scale, row, sizeof scale);
    return modc_f32_set(scale);
}

/* MODC_DOT_VECTORS(rows): how many vectors of columns a tile of so many rows takes; MODC_DOT_SETS(tile): over how many sets of sums a
 * tile of few splits K; MODC_DOT_STEPS(sets): how many words a turn takes. */
#if MODC_LANES == 1 /* a word at a time, of as many columns as 13 registers hold */
#define MODC_DOT_FENCE MODC_FENCE
#define MODC_DOT_VECTORS(rows) 4
#define MODC_DOT_SETS(tile) 1
#define MODC_DOT_STEPS(sets) 2
#else
#define MODC_DOT_VECTORS(rows) MODC_TILE_VECTORS(rows)
#define MODC_DOT_SETS(tile) ((tile) >= 6 ? 1 : (tile) > 2 ? 2 : 4)
#define MODC_DOT_STEPS(sets) (sets)
#define MODC_DOT_FENCE ((void)0)
#endif

/* Words of four bytes, a lane each. */
MODC_INLINE modc_u32 modc_dot_load(const modc_int8 *p)
{
    modc_u32 w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* The same, to be multiplied: where both sides are signed, bytes of 8 bits as what they stand for. */
MODC_INLINE modc_u32 modc_dot_load8(const modc_int8 *p)
{
    return MODC_DOT_ZERO ? modc_dot_load(p) : modc_dot_load(p) ^ 0x80808080u;
}

#if MODC_DOT_BYTES == 1
/* sum + the products of the bytes of w and of the word at x. */
MODC_INLINE modc_i32 modc_dot(modc_i32 sum, const modc_u32 w, const modc_int8 *x)
{
#if defined __aarch64__
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(modc_dot_all(x)));
#elif MODC_LANES == 16
    __asm__("vpdpbusd {%2%{1to16%}, %1, %0|%0, %1, %2%{1to16%}}"
            : "+v"(sum)
            : "v"(w), "m"(*(const modc_word *)(const void *)x));
#elif MODC_LANES == 8 && defined __AVX512VNNI__
    __asm__("vpdpbusd {%2%{1to8%}, %1, %0|%0, %1, %2%{1to8%}}"
            : "+v"(sum)
            : "v"(w), "m"(*(const modc_word *)(const void *)x));
#elif defined __AVX512VNNI__
    __asm__("vpdpbusd {%2%{1to4%}, %1, %0|%0, %1, %2%{1to4%}}"
            : "+v"(sum)
            : "v"(w), "m"(*(const modc_word *)(const void *)x));
#else
    __asm__("%{vex%} vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(w), "x"(modc_dot_all(x)));
#endif
    return sum;
}
#elif defined MODC_DOT_PAIRS
/* sum + the products of halves of a and b. */
MODC_INLINE modc_i32 modc_dot_pairs(modc_i32 sum, const modc_u32 a, const modc_i32 b)
{
#if MODC_LANES == 1
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    modc_i32 both;

#ifdef __AVX__
    __asm__("vpmaddwd {%2, %1, %0|%0, %1, %2}" : "=v"(both) : "v"(a), "v"(b));
#else
    both = (modc_i32)a;
    __asm__("pmaddwd {%1, %0|%0, %1}" : "+x"(both) : "x"(b));
#endif
    return sum + both;
#endif
}

MODC_INLINE modc_i32 modc_dot(modc_i32 sum, const modc_u32 w, const modc_int8 *x)
{
#if MODC_LANES == 1
    modc_u32 even, odd;

    __asm__("uxtb16 %0, %1" : "=r"(even) : "r"(w));
    __asm__("uxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(w));
    sum = modc_dot_pairs(sum, even, modc_dot_all(x));
    return modc_dot_pairs(sum, odd, modc_dot_all(x + 4));
#else
    sum = modc_dot_pairs(sum, w & 0x00ff00ffu, modc_dot_all(x));
    return modc_dot_pairs(sum, w >> 8 & 0x00ff00ffu, modc_dot_all(x + 4));
#endif
}
#else
MODC_INLINE modc_i32 modc_dot(modc_i32 sum, const modc_u32 w, const modc_int8 *x)
{
    int16_t pairs[4];

    memcpy(pairs, x, sizeof pairs);
    sum += (modc_i32)(w & 255u) * pairs[0] + (modc_i32)(w >> 16 & 255u) * pairs[1];
    return sum + ((modc_i32)(w >> 8 & 255u) * pairs[2] + (modc_i32)(w >> 24) * pairs[3]);
}
#endif

/* The scale of a row of k floats: see modc_scale_of. */
MODC_INLINE float modc_dot_scale(const float *x, const int k)
{
    uint32_t all = 0; /* sizes are in order as the integers of their bits, and NaN is above all */
    int i = 0;
    float scale;

#if MODC_LANES > 1
    modc_i32 most = {0};
    int32_t lanes[MODC_LANES];

    for (; i + MODC_LANES <= k; i += MODC_LANES) {
        const modc_i32 size = (modc_i32)(modc_f32_bits(modc_f32_load(x + i)) & 0x7fffffffu);
        const modc_i32 above = size > most;

        most = (size & above) | (most & ~above);
    }
    memcpy(lanes, &most, sizeof lanes);
    MODC_UNROLL
    for (int l = 0; l < MODC_LANES; l++)
        all = (uint32_t)lanes[l] > all ? (uint32_t)lanes[l] : all;
#endif
    for (; i < k; i++) {
        const uint32_t size = modc_f32_to_bits(x[i]) & 0x7fffffffu;

        all = size > all ? size : all;
    }
    scale = modc_f32_from_bits(all) / 127.5f;
    return scale <= 1.1920929e-7f ? 1.1920929e-7f : scale;
}

/* Integers of a row that are made at a time. */
#define MODC_DOT_BLOCK 16

/* Puts them at y, in the order of words of `steps` steps. */
MODC_INLINE void modc_dot_put(modc_int8 *y, const int32_t *whole, const int steps)
{
#if MODC_LANES > 1
    MODC_UNROLL
#endif
    for (int i = 0; i < MODC_DOT_BLOCK; i++) {
        const int at = steps == 8 ? i / 8 * 8 + i % 2 * 4 + i % 8 / 2 : i;
#if MODC_DOT_BYTES == 1
        y[at] = (modc_int8)whole[i];
#else
        const int16_t value = (int16_t)whole[i];

        memcpy(y + (at / 4 * 4 + at % 2 * 2 + at % 4 / 2) * 2, &value, sizeof value);
#endif
    }
}

/* Rounds a block of x times `times`, and adds it to sums, of which each lane has one. */
MODC_INLINE void modc_dot_block(modc_int8 *y, modc_i32 *sums, const float *x, const float times,
                                const int steps)
{
    int32_t whole[MODC_DOT_BLOCK];

#if MODC_LANES > 1
    MODC_UNROLL
#endif
    for (int i = 0; i < MODC_DOT_BLOCK;
         i += MODC_LANES) { /* 1.5 * 2^23 leaves no bits for fractions; NaN may be anything */
        const modc_f32 value = modc_f32_load(x + i) * times;
        const modc_f32 within = modc_f32_atmost(modc_f32_atleast(value, modc_f32_set(-128.0f)),
                                                modc_f32_set(127.0f));
        const modc_i32 lowest = (modc_i32)(modc_f32_bits(within + 12582912.0f) << 24) >> 24;

        *sums += lowest;
        memcpy(whole + i, &lowest, sizeof lowest);
    }
    if (steps == 8)
        modc_dot_put(y, whole, 8);
    else
        modc_dot_put(y, whole, 4);
}

/* A row as note [rows in int8] has it. part: so many integers are summed up by themselves, a multiple of 8 or k; steps: 4 or 8. */
MODC_OUTLINE void modc_dot_row(modc_int8 *y, const float *x, const int k, const int part, const int zero,
                               const int steps)
{
    const float scale = modc_dot_scale(x, k), times = 1.0f / scale;
    modc_int8 *const first = y + MODC_DOT_FIRST((k + part - 1) / part);

    memcpy(y, &scale, sizeof scale);
    for (int from = 0; from < k; from += part) {
        const int to = modc_min(from + part, k);
        int32_t lanes[MODC_LANES], sum = 0;
        modc_i32 sums = modc_dot_none();

        for (int i = from; i < to; i += MODC_DOT_BLOCK) {
            float rest[MODC_DOT_BLOCK] = {0};
            const float *block = x + i;

            if (to - i < MODC_DOT_BLOCK) {
                memcpy(rest, block, (size_t)(to - i) * sizeof *rest);
                block = rest;
            }
            modc_dot_block(first + i * MODC_DOT_BYTES, &sums, block, times, steps);
        }
        memcpy(lanes, &sums, sizeof lanes);
        for (int l = 0; l < MODC_LANES; l++)
            sum -= zero * lanes[l];
        memcpy(y + (from / part + 1) * 4, &sum, sizeof sum);
    }
}
/* note [windows in int8]
 * Integers of 8 bits less a zero, as int16, that are multiplied with rows of int8. On chips with two products in an instruction of four
 * the first and the third come first, as the instruction finds them that widens two bytes of a word, and rows that are multiplied
 * together lie in one: four of the first, four of the second. The last four of K are then multiplied once more where K is no multiple
 * of 4, with 0 for those that have been. MODC_INT8_ROWS: rows that are multiplied at a time, with MODC_INT8_COLUMNS(rows) others, and
 * MODC_INT8_TILE sums; MODC_INT8_LANES: channels of a depthwise convolution. */
#define MODC_INT8_ROW(k) (((k) + 3) / 4 * 4)
#define MODC_INT8_ROWS 2
#if MODC_LANES == 1
#define MODC_INT8_COLUMNS(rows) ((rows) == 1 ? 4 : 2)
#define MODC_INT8_TILE 4
#define MODC_INT8_LANES 8
#define MODC_INT8_SHORT 32
#else
#define MODC_INT8_COLUMNS(rows) 4
#define MODC_INT8_TILE 8
#define MODC_INT8_LANES 16
#define MODC_INT8_SHORT 0
#endif

#ifdef MODC_DSP
#define MODC_INT8_STEPS 32 /* of a turn */

typedef uint64_t modc_two_words __attribute__((may_alias));

/* Bytes as two pairs, less those of `zero`. */
MODC_INLINE void modc_int8_put(int16_t *to, const uint32_t bytes, const uint32_t zero)
{
    uint32_t even, odd;

    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(bytes));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(bytes));
    __asm__("ssub16 %0, %1, %2" : "=r"(even) : "r"(even), "r"(zero));
    __asm__("ssub16 %0, %1, %2" : "=r"(odd) : "r"(odd), "r"(zero));
    memcpy(to, &even, sizeof even);
    memcpy(to + 2, &odd, sizeof odd);
}

/* Two pairs. */
MODC_INLINE void modc_int8_get(const int16_t *from, uint32_t *first, uint32_t *second)
{
#ifdef __thumb2__
    __asm__("ldrd %0, %1, %2"
            : "=r"(*first), "=r"(*second)
            : "m"(*(const modc_two_words *)(const void *)from));
#else
    memcpy(first, from, sizeof *first);
    memcpy(second, from + 2, sizeof *second);
#endif
}
#endif

/* Puts row number `row` of `rows` at `to`. */
MODC_INLINE void modc_int8_row(int16_t *to, const modc_int8 *from, const int k, const int zero, const int row,
                               const int rows)
{
#ifdef MODC_DSP
    const uint32_t all = (uint32_t)(zero & 0xffff) * 0x10001u;
    const modc_int8 *const end = from + k / 4 * 4, *const many = from + k / 16 * 16;

    to += 4 * row;
    if (from < many) {
        MODC_ROLL
        do {
            MODC_UNROLL
            for (int i = 0; i < 16; i += 4)
                modc_int8_put(to + i * rows, modc_dot_load(from + i), all);
            from += 16;
            to += 16 * rows;
        } while (from < many);
    }
    MODC_UNROLL
    for (int i = 0; i < k % 16 / 4; i++, to += 4 * rows)
        modc_int8_put(to, modc_dot_load(from + 4 * i), all);
    if (k % 4 != 0) {
        const int past = 4 - k % 4;
        int16_t last[4] = {0, 0, 0, 0};

        for (int i = past; i < 4; i++)
            last[i] = (int16_t)(end[i - past] - zero);
        to[0] = last[0];
        to[1] = last[2];
        to[2] = last[1];
        to[3] = last[3];
    }
#else
    to += row * MODC_INT8_ROW(k);
    for (int i = 0; i < k; i++)
        to[i] = (int16_t)(from[i] - zero);
#endif
}

#ifdef MODC_DSP
/* The next four steps of each row at x, which moves on. An instruction that reads four words wants registers in their order. */
MODC_INLINE const int16_t *modc_int8_next(const int16_t *x, uint32_t *first, uint32_t *second, const int rows)
{
    if (rows == 2) {
        register uint32_t a __asm__("r4"), b __asm__("r5"), c __asm__("r6"), d __asm__("r8");

        __asm__ volatile("ldmia %0!, {r4, r5, r6, r8}" : "+r"(x), "=r"(a), "=r"(b), "=r"(c), "=r"(d));
        first[0] = a;
        second[0] = b;
        first[1] = c;
        second[1] = d;
    } else {
        modc_int8_get(x, first, second);
        x += 4;
    }
    return x;
}

/* The products of four steps of each row at x, and of each at w; gives where x goes on. */
MODC_INLINE const int16_t *modc_int8_four(int32_t *sum, const int16_t *x, const modc_int8 *w, const int ldw,
                                          const int rows, const int columns)
{
    uint32_t first[MODC_INT8_ROWS], second[MODC_INT8_ROWS];

    MODC_FENCE;
    x = modc_int8_next(x, first, second, rows);
    MODC_UNROLL
    for (int c = 0; c < columns; c++) {
        const uint32_t bytes = modc_dot_load(w + c * ldw);
        uint32_t even, odd;

        __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(bytes));
        __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(bytes));
        MODC_UNROLL
        for (int r = 0; r < rows; r++) {
            sum[r * columns + c] = modc_dot_pairs(sum[r * columns + c], even, (modc_i32)first[r]);
            sum[r * columns + c] = modc_dot_pairs(sum[r * columns + c], odd, (modc_i32)second[r]);
        }
    }
    return x;
}
#endif

/* Adds to sum[rows][columns] the products of rows at x and rows at w, which are ldw apart; they wrap. rows and columns are constants of
 * the call. */
MODC_INLINE void modc_int8_products(int32_t *sum, const int16_t *x, const modc_int8 *w, const int ldw,
                                    const int k, const int rows, const int columns)
{
#ifdef MODC_DSP
    const int16_t *const many = x + k / MODC_INT8_STEPS * MODC_INT8_STEPS * rows;
    const int rest = k % MODC_INT8_STEPS / 4 * 4;

    if (x < many) {
        MODC_ROLL
        do {
            MODC_UNROLL
            for (int i = 0; i < MODC_INT8_STEPS; i += 4)
                x = modc_int8_four(sum, x, w + i, ldw, rows, columns);
            w += MODC_INT8_STEPS;
        } while (x < many);
    }
    MODC_UNROLL
    for (int i = 0; i < rest; i += 4)
        x = modc_int8_four(sum, x, w + i, ldw, rows, columns);
    if (k % 4 != 0 && k > 4)
        modc_int8_four(sum, x, w + k % MODC_INT8_STEPS - 4, ldw, rows, columns);
    for (int i = 0; i < k && k < 4; i++) {
        const int at = 4 - k + i, place = at % 2 * 2 + at / 2;

        MODC_UNROLL
        for (int s = 0; s < rows * columns; s++)
            sum[s] = modc_sum_of(sum[s], x[s / columns * 4 + place] * w[s % columns * ldw + i]);
    }
#else
    MODC_UNROLL
    for (int s = 0; s < rows * columns; s++) {
        const int16_t *const a = x + s / columns * MODC_INT8_ROW(k);
        const modc_int8 *const b = w + s % columns * ldw;
        int32_t own = 0;

        for (int i = 0; i < k; i++)
            own += a[i] * (int16_t)b[i];
        sum[s] = modc_sum_of(sum[s], own);
    }
#endif
}

/* The taps of a window of 3 x 3: of each line the first and the second, then the second and the third, as words of two int16. */
struct modc_int8_taps {
    uint32_t pairs[3][2];
};

/* int16 of a line of which `count` windows of three, `stride` apart, are taken two at a time. */
#define MODC_INT8_WIDE(count, stride) (((count) + 1) / 2 * 2 * (stride) + 2)

/* Taps that are `step` apart at w; gives their sum. */
MODC_INLINE int modc_int8_taps_of(struct modc_int8_taps *taps, const modc_int8 *w, const int step)
{
    int all = 0;

    MODC_UNROLL
    for (int line = 0; line < 3; line++) {
        const int a = w[3 * line * step], b = w[(3 * line + 1) * step], c = w[(3 * line + 2) * step];

        taps->pairs[line][0] = ((uint32_t)a & 0xffffu) | (uint32_t)b << 16;
        taps->pairs[line][1] = ((uint32_t)b & 0xffffu) | (uint32_t)c << 16;
        all += a + b + c;
    }
    return all;
}

/* One channel of `high` lines of `columns` pixels, each `ldx` behind the other and lines of `w` of them, as lines of int16 that are
 * `wide` apart. */
MODC_INLINE void modc_int8_plane(int16_t *to, const int wide, const modc_int8 *from, const int ldx,
                                 const int w, const int high, const int columns)
{
    for (int line = 0; line < high; line++) {
        const modc_int8 *at = from + line * w * ldx;
        int16_t *out = to + line * wide;
        int16_t *const end = out + columns / 4 * 4;

        for (; out < end; out += 4, at += 4 * ldx) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++)
                out[i] = at[i * ldx];
        }
        for (int i = 0; i < columns % 4; i++)
            out[i] = at[i * ldx];
    }
}

/* So many windows of a line are multiplied at a time, or two, or one: as many as sums and what they see have registers. */
#define MODC_INT8_WINDOWS 4

/* Adds to sums what so many windows see, of lines that are `wide` apart, each `stride` (1 or 2) behind the one before; sums wrap. x is a
 * multiple of two elements; windows and stride are constants of the call. */
MODC_INLINE void modc_int8_windows(int32_t *sum, const int16_t *x, const int wide, const int stride,
                                   const struct modc_int8_taps *taps, const int windows)
{
    MODC_UNROLL
    for (int line = 0; line < 3; line++) {
        const int16_t *const at = x + line * wide;
        const uint32_t *const pairs = taps->pairs[line];
#ifdef MODC_DSP
        uint32_t first[MODC_INT8_WINDOWS], second[MODC_INT8_WINDOWS]; /* words with the ends of a window */

        MODC_UNROLL
        for (int i = 0; i < windows; i++) {
            if (stride == 2 || i == 0) {
                modc_int8_get(at + i * stride, &first[i], &second[i]);
            } else { /* of two in the same words the second begins in the upper half of the first */
                first[i] = i % 2 != 0 ? first[i - 1] : second[i - 1];
                second[i] = i % 2 != 0 ? second[i - 1]
                                       : modc_dot_load((const modc_int8 *)(const void *)(at + i + 2));
            }
        }
        MODC_UNROLL
        for (int i = 0; i < windows; i++) {
            if (stride == 1 && i % 2 != 0)
                __asm__("smlatb %0, %1, %2, %0" : "+r"(sum[i]) : "r"(first[i]), "r"(pairs[0]));
            else
                sum[i] = modc_dot_pairs(sum[i], pairs[0], (modc_i32)first[i]);
        }
        MODC_UNROLL
        for (int i = 0; i < windows; i++) {
            if (stride == 1 && i % 2 != 0)
                sum[i] = modc_dot_pairs(sum[i], pairs[1], (modc_i32)second[i]);
            else
                __asm__("smlabt %0, %1, %2, %0" : "+r"(sum[i]) : "r"(second[i]), "r"(pairs[1]));
        }
#else
        MODC_UNROLL
        for (int i = 0; i < windows; i++) {
            const int16_t *const from = at + i * stride;
            const int32_t ends = from[0] * (int16_t)pairs[0] + from[2] * (int16_t)(pairs[1] >> 16);

            sum[i] = modc_sum_of(sum[i], ends + from[1] * (int16_t)pairs[1]);
        }
#endif
    }
}

#endif
