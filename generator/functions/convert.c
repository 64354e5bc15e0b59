/* convert.c - element types. */
#include "functions/rows.h"
#include "graph/graph.h"

static struct ev cast_to(struct eval *eval, struct ev *args, struct loc loc, enum dtype dtype)
{
    if (!need_tensor(eval, "a conversion", &args[0]))
        return BAD;
    return ev_tensor(loc, build_cast(eval, loc, args[0].tensor, dtype));
}

#define CAST(name, type)                                                                                     \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return cast_to(eval, args, loc, type);                                                               \
    }
CAST(float, DTYPE_FLOAT32)
CAST(double, DTYPE_FLOAT64)
CAST(long, DTYPE_INT64)
CAST(int, DTYPE_INT32)
CAST(short, DTYPE_INT16)
CAST(char, DTYPE_INT8)
CAST(byte, DTYPE_UINT8)
CAST(bool, DTYPE_BOOL)

static struct ev fn_to(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = DTYPE_FLOAT32;
    (void)count;

    if (args[1].kind == EV_TENSOR)
        dtype = args[1].tensor->dtype;
    else if (!need_dtype(eval, &args[1], args[0].kind == EV_TENSOR ? args[0].tensor->dtype : dtype, &dtype))
        return BAD;
    return cast_to(eval, args, loc, dtype);
}

static struct ev fn_is_floating_point(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "is_floating_point", &args[0]))
        return BAD;
    return ev_bool(loc, dtype_is_float(args[0].tensor->dtype));
}

extern const struct function_row convert_functions[];

const struct function_row convert_functions[] = {
    {"is_floating_point(input)", TORCH | METHOD, .build = fn_is_floating_point},
    {"float(input)", METHOD | VIEW, .build = fn_float},
    {"double(input)", METHOD | VIEW, .build = fn_double},
    {"long(input)", METHOD | VIEW, .build = fn_long},
    {"int(input)", METHOD | VIEW, .build = fn_int},
    {"short(input)", METHOD | VIEW, .build = fn_short},
    {"char(input)", METHOD | VIEW, .build = fn_char},
    {"byte(input)", METHOD | VIEW, .build = fn_byte},
    {"bool(input)", METHOD | VIEW, .build = fn_bool},
    {"to(input, dtype, non_blocking=False, copy=False)", METHOD | VIEW, .build = fn_to},
    {"type(input, dtype)", METHOD | VIEW, .build = fn_to},
    {"type_as(input, other)", METHOD | VIEW, .body = "return input.to(other.dtype)"},
    {.signature = NULL},
};
