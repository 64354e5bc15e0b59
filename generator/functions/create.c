/* create.c - tensors made of numbers. */
#include <math.h>

#include "../graph.h"
#include "rows.h"

enum { ARANGE_MAX = 1 << 24 };

static bool check_span(struct eval *eval, struct loc loc, double span)
{
    if (span > ARANGE_MAX)
        diag_error(eval->cx, loc, "arange gives at most %d elements", ARANGE_MAX);
    else if (!(span >= 0))
        diag_error(eval->cx, loc, "arange: upper bound and lower bound inconsistent with step sign");
    return span >= 0 && span <= ARANGE_MAX;
}

struct value *arange_of(struct eval *eval, struct loc loc, const struct dim *length)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *numbers = ARENA_NEW(arena, struct tensor);
    int64_t most = dim_upper(length);

    if (!check_span(eval, loc, (double)most))
        return NULL;
    numbers->dtype = DTYPE_INT64;
    numbers->ndim = 1;
    numbers->dims[0] = most;
    numbers->data = ARENA_ARRAY(arena, most + 1, union scalar);
    for (int64_t i = 0; i < most; i++)
        numbers->data[i].i = i;
    return build_slice(eval, loc, build_const(eval, loc, numbers), 0, dim_const(arena, 0), dim_const(arena, 1), length);
}

/* start + i * step for 0 <= i < length. */
static struct ev counted(struct eval *eval, struct loc loc, const struct dim *start, int64_t step,
                         const struct dim *length, enum dtype dtype)
{
    struct value *numbers = arange_of(eval, loc, length);
    struct ev out = ev_tensor(loc, numbers), by = ev_int(eval, loc, step), from = ev_dim(loc, start);

    if (step != 1 && out.kind != EV_BAD)
        out = build_binary(eval, loc, PRIM_MUL, "arange", &out, &by);
    if (!dim_equals(start, 0) && out.kind != EV_BAD)
        out = build_binary(eval, loc, PRIM_ADD, "arange", &out, &from);
    return out.kind == EV_BAD ? out : ev_tensor(loc, build_cast(eval, loc, out.tensor, dtype));
}

/* arange over sizes: the step must be known. */
static struct ev arange_of_sizes(struct eval *eval, struct ev *args, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *start = args[1].kind == EV_NONE ? dim_const(arena, 0) : args[0].dim;
    const struct dim *end = args[1].kind == EV_NONE ? args[0].dim : args[1].dim, *length;
    enum dtype dtype;
    int64_t step = 1;

    if (args[2].kind != EV_NONE && (!ev_get_int(&args[2], &step) || step < 1 || step > INT32_MAX)) {
        diag_error(eval->cx, args[2].loc,
                   "arange over sizes needs a positive step that is known while generating, found %s",
                   ev_text(eval, &args[2]));
        return BAD;
    }
    if (!need_dtype(eval, &args[3], DTYPE_INT64, &dtype))
        return BAD;
    length = dim_floordiv(arena, dim_add(arena, dim_sub(arena, end, start), dim_const(arena, step - 1)),
                          dim_const(arena, step));
    return counted(eval, loc, start, step, length, dtype);
}

static bool is_size(const struct ev *arg)
{
    return arg->kind == EV_INT && !dim_is_const(arg->dim, NULL);
}

static struct ev fn_arange(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double bounds[3] = {0, 0, 1};
    bool whole = true;
    struct tensor *out;
    enum dtype dtype;
    double span;
    int given = args[1].kind == EV_NONE ? 1 : 2;
    (void)count;

    if (args[0].kind == EV_INT && (given == 1 || args[1].kind == EV_INT) &&
        (is_size(&args[0]) || is_size(&args[1])))
        return arange_of_sizes(eval, args, loc);
    for (int i = 0; i < 3; i++) {
        const struct ev *arg = &args[i];

        if (arg->kind == EV_NONE && i > 0)
            continue;
        if (!ev_get_number(arg, &bounds[i])) {
            diag_error(eval->cx, arg->loc, "arange takes numbers that are known while generating, found %s",
                       ev_text(eval, arg));
            return BAD;
        }
        whole &= arg->kind != EV_FLOAT;
    }
    if (given == 1) {
        bounds[1] = bounds[0];
        bounds[0] = 0;
    }
    if (!need_dtype(eval, &args[3], whole ? DTYPE_INT64 : eval->default_dtype, &dtype))
        return BAD;
    if (bounds[2] == 0) {
        diag_error(eval->cx, args[2].loc, "arange: step must be nonzero");
        return BAD;
    }
    span = ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (!check_span(eval, loc, span))
        return BAD;
    out = ARENA_NEW(&eval->cx->arena, struct tensor);
    out->dtype = dtype;
    out->ndim = 1;
    out->dims[0] = (int64_t)span;
    out->data = ARENA_ARRAY(&eval->cx->arena, span + 1, union scalar);
    for (int64_t i = 0; i < out->dims[0]; i++) {
        double x = bounds[0] + (double)i * bounds[2];

        if (dtype_is_float(dtype))
            out->data[i].f = dtype_round(dtype, x);
        else if (fabs(x) < 0x1p63)
            out->data[i].i = dtype_wrap(dtype, (int64_t)x);
        else
            out->data[i].i = INT64_MIN;
    }
    return ev_tensor(loc, build_const(eval, loc, out));
}

static struct ev filled(struct eval *eval, const char *what, struct ev *shape, struct ev *value,
                        struct ev *type, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct value *scalar;
    enum dtype dtype;
    int ndim;

    if (!need_shape(eval, what, shape, NULL, dims, &ndim))
        return BAD;
    if ((value->kind != EV_TENSOR || value->tensor->ndim > 0) && !ev_is_number(value)) {
        diag_error(eval->cx, value->loc, "%s takes a number, found %s", what, ev_text(eval, value));
        return BAD;
    }
    scalar = build_scalar(eval, loc, value);
    if (!scalar || !need_dtype(eval, type, scalar->dtype, &dtype))
        return BAD;
    scalar = build_cast(eval, loc, scalar, dtype);
    return ev_tensor(loc, scalar ? build_expand(eval, loc, scalar, ndim, dims) : NULL);
}

static struct ev fn_tensor(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = eval->default_dtype;
    struct ev out;
    (void)count;

    if (!need_dtype(eval, &args[1], dtype, &dtype))
        return BAD;
    out = build_tensor(eval, loc, &args[0], args[1].kind == EV_NONE ? NULL : &dtype);
    if (out.kind != EV_NONE)
        return out;
    diag_error(eval->cx, args[0].loc,
               "tensor takes a number, or lists of numbers that are all of one length, found %s",
               ev_text(eval, &args[0]));
    if (args[0].kind == EV_TENSOR)
        diag_hint(eval->cx, "x.clone() copies a tensor");
    return BAD;
}

static struct ev fn_full(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return filled(eval, "full", &args[0], &args[1], &args[2], loc);
}

static struct ev fn_zeros(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev zero = ev_float(loc, 0);
    (void)count;
    return filled(eval, "zeros", &args[0], &zero, &args[1], loc);
}

static struct ev fn_ones(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev one = ev_float(loc, 1);
    (void)count;
    return filled(eval, "ones", &args[0], &one, &args[1], loc);
}

extern const struct function_row create_functions[];

const struct function_row create_functions[] = {
    {"arange(start, end=None, step=None, dtype=None)", T, .build = fn_arange},
    {"tensor(data, dtype=None)", T, .build = fn_tensor},
    {"full(size, fill_value, dtype=None)", T, .build = fn_full},
    {"zeros(size, dtype=None)", T | FUNCTION_SIZES, .build = fn_zeros},
    {"ones(size, dtype=None)", T | FUNCTION_SIZES, .build = fn_ones},
    {"zeros_like(input)", T, .body = "return zeros(input.shape, dtype=input.dtype)"},
    {"ones_like(input)", T, .body = "return ones(input.shape, dtype=input.dtype)"},
    {.signature = NULL},
};
