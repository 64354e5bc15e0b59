/* chip.c - firmware for a chip: a model with embedded weights, linked into the chip's RAM and flash (chip.sh), whose
 * outputs are PyTorch's and whose stack is as deep as STACK, `summary --measure`, says. The emulator that runs it has no
 * chip around the processor but Linux, which takes its status. */
#include <string.h>

#include HEADER

#include "chip_start.h"
#include "modc_simd.h"

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)

extern const char inputs[], inputs_end[], expected[], expected_end[];

static struct JOIN(MODEL, _params) params;
static struct MODEL net;
static MODC_ALIGNED char workspace[JOIN(CAPITALS, _WORKSPACE_BYTES)];
static float results[2][16];

/* Rows of a tensor of float32 or int8. */
struct rows {
    const char *data; /* NULL: there is none such */
    int count, bytes; /* bytes of a row */
    bool whole;       /* integers */
};

static struct rows rows_of(const char *begin, const char *end, const char *name)
{
    struct modc_reader reader;
    struct modc_item item;
    struct rows rows = {NULL, 0, 0, false};

    if (modc_reader_open(&reader, begin, (size_t)(end - begin), NULL) != MODC_OK ||
        !modc_reader_find(&reader, name, &item) || (item.dtype != MODC_FLOAT32 && item.dtype != MODC_INT8) ||
        item.ndim < 2)
        return rows;
    rows.data = item.data;
    rows.count = (int)item.dims[0];
    rows.bytes = (int)(item.bytes / item.dims[0]);
    rows.whole = item.dtype == MODC_INT8;
    return rows;
}

/* Bytes below the caller's frame that are painted, but for those that painting itself may take. */
enum { PAINTED = 8192, OWN = 64, PAINT = 0x5a };

static __attribute__((noinline)) void paint(char *stack)
{
    for (volatile char *p = stack - PAINTED; p < stack - OWN; p++)
        *p = PAINT;
}

static __attribute__((noinline)) int touched(const char *stack)
{
    const volatile char *p = stack - PAINTED;

    while (p < stack && *p == PAINT)
        p++;
    return (int)(stack - p);
}

/* The deepest path may be one that this call does not take, and functions of libraries are not measured. */
static bool stack_is_measured(const struct modc_entry *entry, const int *sizes, const void *const *in,
                              void *const *out)
{
    char *stack = __builtin_frame_address(0);
    int used;

    paint(stack);
    entry->call(&net.base, sizes, in, out);
    used = touched(stack);
    return used <= STACK + STACK / 4 + 64 && used >= STACK / 2;
}

static bool is_close(const float *found, const float *wanted, int count, float largest)
{
    for (int i = 0; i < count; i++) {
        float error = found[i] > wanted[i] ? found[i] - wanted[i] : wanted[i] - found[i];

        if (!(error <= 1e-5f * largest))
            return false;
    }
    return true;
}

/* Whether the chip's own instructions give what fixed point is defined by, at the ends of its numbers and between them. */
static bool requantizes(void)
{
    static const int32_t ends[] = {INT32_MIN,
                                   INT32_MIN + 1,
                                   -(1 << 30) - 1,
                                   -(1 << 30),
                                   1 - (1 << 30),
                                   -65536,
                                   -3,
                                   -2,
                                   -1,
                                   0,
                                   1,
                                   2,
                                   3,
                                   40000,
                                   (1 << 30) - 1,
                                   1 << 30,
                                   (1 << 30) + 1,
                                   INT32_MAX - 1,
                                   INT32_MAX};
    const int count = (int)(sizeof ends / sizeof *ends);
    uint32_t random = 1;

    for (int i = 0; i < 40000; i++) {
        const int32_t a = i < count * count * 32 ? ends[i / 32 % count] : (int32_t)(random >> random % 31);
        const int32_t m = i < count * count * 32 ? ends[i / 32 / count] : (int32_t)(random * 2654435769u);
        const int32_t high = modc_mul_high(a, m), found = modc_requantize(a, m, i % 32);

        if (found != modc_shift_near(high, i % 32) || modc_int8_of(found) != (found < -128  ? -128
                                                                              : found > 127 ? 127
                                                                                            : found))
            return false;
        if (modc_rescale(a, m, i % 32, -7, 1) != found - 7)
            return false;
        if (m >= 1 << 30 && i % 32 >= 1) {
            const int32_t twice = (int32_t)(2u * (uint32_t)m), power = (int32_t)(0u - (1u << (32 - i % 32)));
            const int32_t cut = modc_rescale(a, twice, power, 9, 0);

            if (modc_rescale(a, twice, power, 9, 1) != found + 9 ||
                (cut > 9 ? cut : 9) != (found > 0 ? found + 9 : 9))
                return false;
        }
        random = random * 1664525u + 1013904223u;
    }
    return true;
}

static __attribute__((noinline)) int run(void)
{
    const struct modc_entry *entry = &JOIN(MODEL, _model).entries[0];
    const int sizes[] = {1};
    const struct rows x = rows_of(inputs, inputs_end, INPUT);

    if (!requantizes())
        return 6;
    if (x.data == NULL || JOIN(MODEL, _bind_embedded)(&params) != MODC_OK ||
        JOIN(MODEL, _init)(&net, &params, workspace, sizeof workspace) != MODC_OK)
        return 1;
    for (int row = 0; row < x.count; row++) {
        const void *in[] = {x.data + row * x.bytes};
        void *out[] = {results[0], results[1]};

        if (entry->call(&net.base, sizes, in, out) != MODC_OK)
            return 2;
        if (row == 0 && !stack_is_measured(entry, sizes, in, out))
            return 5;
        for (int i = 0; i < entry->output_count; i++) {
            const char *name = entry->output_count == 1 ? EXPECT : entry->outputs[i].name;
            const struct rows y = rows_of(expected, expected_end, name);
            const float *wanted = (const float *)(const void *)y.data;
            const int columns = y.bytes / 4;
            float largest = 0;

            if (y.data == NULL || y.count != x.count)
                return 3;
            if (y.whole) {
                if (memcmp(results[i], y.data + row * y.bytes, (size_t)y.bytes) != 0)
                    return 4;
                continue;
            }
            for (int k = 0; k < y.count * columns; k++)
                largest = wanted[k] > largest ? wanted[k] : -wanted[k] > largest ? -wanted[k] : largest;
            if (!is_close(results[i], wanted + row * columns, columns, largest))
                return 4;
        }
    }
    return 0;
}
