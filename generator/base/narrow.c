/* narrow.c - see narrow.h. */
#include "base/narrow.h"

#include <stddef.h>

const struct narrow narrows[NARROW_COUNT] = {
    {"bfloat16", DTYPE_BFLOAT16, 0, "modc_bfloat16"},
    {"float16", DTYPE_FLOAT16, 0, "modc_half"},
    {"int8", DTYPE_INT8, 127, "modc_int8"},
};

const struct narrow *narrow_of(enum dtype dtype)
{
    for (int i = 0; i < NARROW_COUNT; i++)
        if (narrows[i].dtype == dtype)
            return &narrows[i];
    return NULL;
}

const struct narrow *narrow_find(const char *name)
{
    enum dtype dtype;

    return dtype_find(name, &dtype) ? narrow_of(dtype) : NULL;
}
