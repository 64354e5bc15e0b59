/* dtype.c - the table of element types. Apart, because every room reads it and none owns it. */
#include "base/dtype.h"

#include <string.h>

const struct dtype_row dtype_rows[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {"bool", NULL, "bool", "MODC_BOOL", "BOOL", 1},
    [DTYPE_UINT8] = {"uint8", NULL, "uint8_t", "MODC_UINT8", "U8", 1},
    [DTYPE_INT8] = {"int8", NULL, "int8_t", "MODC_INT8", "I8", 1},
    [DTYPE_INT16] = {"int16", "short", "int16_t", "MODC_INT16", "I16", 2},
    [DTYPE_INT32] = {"int32", "int", "int32_t", "MODC_INT32", "I32", 4},
    [DTYPE_INT64] = {"int64", "long", "int64_t", "MODC_INT64", "I64", 8},
    [DTYPE_FLOAT16] = {"float16", "half", "modc_half", "MODC_FLOAT16", "F16", 2},
    [DTYPE_BFLOAT16] = {"bfloat16", NULL, "modc_bfloat16", "MODC_BFLOAT16", "BF16", 2},
    [DTYPE_FLOAT32] = {"float32", "float", "float", "MODC_FLOAT32", "F32", 4},
    [DTYPE_FLOAT64] = {"float64", "double", "double", "MODC_FLOAT64", "F64", 8},
    [DTYPE_COMPLEX64] = {"complex64", "cfloat", "float", "MODC_COMPLEX64", "C64", 8},
    [DTYPE_COMPLEX128] = {"complex128", "cdouble", "double", "MODC_COMPLEX128", "F64", 16},
};

bool dtype_find(const char *name, enum dtype *out)
{
    if (strncmp(name, "torch.", 6) == 0)
        name += 6;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const struct dtype_row *row = &dtype_rows[i];

        if (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0)) {
            *out = (enum dtype)i;
            return true;
        }
    }
    return false;
}

int dtype_category(enum dtype dtype)
{
    if (dtype == DTYPE_BOOL)
        return 0;
    if (dtype_is_int(dtype))
        return 1;
    return dtype_is_float(dtype) ? 2 : 3;
}

enum dtype dtype_promote(enum dtype a, enum dtype b)
{
    enum dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == DTYPE_UINT8 && high == DTYPE_INT8)
        return DTYPE_INT16;
    if (low == DTYPE_FLOAT16 && high == DTYPE_BFLOAT16)
        return DTYPE_FLOAT32;
    return high; /* uint8 with int16 and wider, and everything across categories, is the higher one */
}
