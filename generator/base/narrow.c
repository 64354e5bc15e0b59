/* narrow.c - see narrow.h. */
#include "base/narrow.h"

#include <stddef.h>

const struct narrow narrows[NARROW_COUNT] = {
    {"bfloat16", DTYPE_BFLOAT16, 0},
    {"float16", DTYPE_FLOAT16, 0},
    {"int8", DTYPE_INT8, 127},
};

const struct narrow *narrow_find(const char *name)
{
    enum dtype dtype;

    if (!dtype_find(name, &dtype))
        return NULL;
    for (int i = 0; i < NARROW_COUNT; i++)
        if (narrows[i].dtype == dtype)
            return &narrows[i];
    return NULL;
}

bool dtype_is_narrow(enum dtype dtype)
{
    return narrow_find(dtype_rows[dtype].name) != NULL;
}
