/* modc_dtype.c - the types of elements: how large they are, one of them as a number, and tensors in another type.
 *
 * Apart from modc_safetensors.c because a model whose weights are embedded needs this alone. */
#include "modc.h"

#include <string.h>

size_t modc_dtype_bytes(enum modc_dtype dtype)
{
    static const unsigned char bytes[] = {
        [MODC_BOOL] = 1,    [MODC_UINT8] = 1,   [MODC_INT8] = 1,      [MODC_INT16] = 2,
        [MODC_INT32] = 4,   [MODC_INT64] = 8,   [MODC_FLOAT16] = 2,   [MODC_BFLOAT16] = 2,
        [MODC_FLOAT32] = 4, [MODC_FLOAT64] = 8, [MODC_COMPLEX64] = 8, [MODC_COMPLEX128] = 16,
    };

    return (unsigned)dtype < sizeof bytes ? bytes[dtype] : 0;
}

enum modc_dtype modc_dtype_part(enum modc_dtype dtype)
{
    return dtype == MODC_COMPLEX64 ? MODC_FLOAT32 : dtype == MODC_COMPLEX128 ? MODC_FLOAT64 : dtype;
}

size_t modc_dtype_align(enum modc_dtype dtype)
{
    const size_t bytes = modc_dtype_bytes(modc_dtype_part(dtype));

    return bytes == 8 ? MODC_ALIGN_WIDE : bytes;
}

size_t modc_tensor_bytes(const struct modc_tensor *tensor)
{
    size_t bytes = modc_dtype_bytes(tensor->dtype);

    for (int i = 0; i < tensor->ndim; i++)
        bytes *= (size_t)tensor->dims[i];
    return bytes;
}

/* ---- conversion ---------------------------------------------------------------------------------------- */

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ffu;

    if (exponent == 31)
        return float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent > 0)
        return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);

    float small = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */

    return sign != 0 ? -small : small;
}

/* Shifts right, rounding to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t value, uint32_t shift)
{
    uint32_t half = 1u << (shift - 1), rest = value & ((half << 1) - 1), result = value >> shift;

    return result + (rest > half || (rest == half && (result & 1) != 0));
}

static uint32_t half_of_float(float value)
{
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;

    if (rest > 0x7f800000u)
        return sign | 0x7e00u;
    if (rest >= 0x47800000u) /* 65536 and infinity */
        return sign | 0x7c00u;
    if (rest >= 0x38800000u) /* normal; rounding may carry into the exponent, up to infinity */
        return sign | shift_rounded(rest - 0x38000000u, 13);

    uint32_t shift = 126 - (rest >> 23);

    if (shift > 25)
        return sign;
    return sign | shift_rounded((rest & 0x7fffffu) | 0x800000u, shift);
}

static uint32_t bfloat_of_float(float value)
{
    uint32_t bits = bits_of_float(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0u;
    return shift_rounded(bits, 16) & 0xffffu;
}

double modc_number(const void *from, enum modc_dtype dtype)
{
    uint16_t half;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    float single;
    double real;

    switch (dtype) {
    case MODC_BOOL: /* whose bytes may come from elsewhere: as in PyTorch, what is not 0 is true */
        return *(const unsigned char *)from != 0;
    case MODC_UINT8:
        return *(const unsigned char *)from;
    case MODC_INT8:
        return *(const signed char *)from;
    case MODC_INT16:
        memcpy(&int16, from, sizeof int16);
        return int16;
    case MODC_INT32:
        memcpy(&int32, from, sizeof int32);
        return int32;
    case MODC_INT64:
        memcpy(&int64, from, sizeof int64);
        return (double)int64;
    case MODC_FLOAT16:
        memcpy(&half, from, sizeof half);
        return (double)float_of_half(half);
    case MODC_BFLOAT16:
        memcpy(&half, from, sizeof half);
        return (double)float_of_bits((uint32_t)half << 16);
    case MODC_FLOAT32:
    case MODC_COMPLEX64:
        memcpy(&single, from, sizeof single);
        return (double)single;
    case MODC_FLOAT64:
    case MODC_COMPLEX128:
        break;
    }
    memcpy(&real, from, sizeof real);
    return real;
}

void modc_store(void *to, enum modc_dtype dtype, double value)
{
    static const double largest = 9223372036854774784.0; /* below 2^63 */
    bool is_integer = dtype == MODC_UINT8 || (dtype >= MODC_INT8 && dtype <= MODC_INT64);
    int64_t integer = is_integer && value >= -largest && value <= largest ? (int64_t)value : 0;
    const double pair[2] = {value, 0.0};
    const float single_pair[2] = {(float)value, 0.0f};
    uint16_t half;

    if (dtype == MODC_FLOAT64 || dtype == MODC_COMPLEX128) {
        memcpy(to, pair, modc_dtype_bytes(dtype));
    } else if (dtype == MODC_FLOAT32 || dtype == MODC_COMPLEX64) {
        memcpy(to, single_pair, modc_dtype_bytes(dtype));
    } else if (dtype == MODC_FLOAT16 || dtype == MODC_BFLOAT16) {
        half = (uint16_t)(dtype == MODC_FLOAT16 ? half_of_float((float)value)
                                                : bfloat_of_float((float)value));
        memcpy(to, &half, sizeof half);
    } else if (dtype == MODC_BOOL) {
        *(unsigned char *)to = value != 0.0;
    } else {
        memcpy(to, &integer, modc_dtype_bytes(dtype)); /* little-endian: the low bytes */
    }
}

static bool is_float(enum modc_dtype dtype)
{
    return dtype == MODC_FLOAT16 || dtype == MODC_BFLOAT16 || dtype == MODC_FLOAT32 || dtype == MODC_FLOAT64;
}

static bool is_complex(enum modc_dtype dtype)
{
    return dtype == MODC_COMPLEX64 || dtype == MODC_COMPLEX128;
}

bool modc_converts(enum modc_dtype to, enum modc_dtype from)
{
    return to == from || (is_float(to) && is_float(from)) || (is_complex(to) && is_complex(from));
}

enum modc_status modc_convert(void *out, enum modc_dtype out_dtype, const void *in, enum modc_dtype in_dtype,
                              size_t count)
{
    size_t out_bytes = modc_dtype_bytes(out_dtype), in_bytes = modc_dtype_bytes(in_dtype);
    unsigned char *to = out;
    const unsigned char *from = in;

    if (!modc_converts(out_dtype, in_dtype))
        return MODC_ARGUMENT;
    if (in_dtype == out_dtype && in_dtype != MODC_BOOL) {
        if (count > 0)
            memcpy(to, from, count * in_bytes);
        return MODC_OK;
    }
    if (is_complex(out_dtype))
        return modc_convert(out, modc_dtype_part(out_dtype), in, modc_dtype_part(in_dtype), 2 * count);
    for (size_t i = 0; i < count; i++)
        modc_store(to + i * out_bytes, out_dtype, modc_number(from + i * in_bytes, in_dtype));
    return MODC_OK;
}
