/* create.c - tensors made of numbers. */
#include <math.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* start + i * step for 0 <= i < length. */
static struct ev counted(struct eval *eval, struct loc loc, const struct dim *start, int64_t step,
                         const struct dim *length, enum dtype dtype)
{
    struct value *numbers = build_arange(eval, loc, length);
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
    if (!build_arange_fits(eval, loc, span))
        return BAD;
    if (!dtype_is_float(
            dtype)) { /* PyTorch counts with the numbers as they are given, and goes from and by these */
        bounds[0] = trunc(bounds[0]);
        bounds[2] = trunc(bounds[2]);
    }
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
    if (!scalar || !need_dtype(eval, type, scalar->dtype, &dtype) || !build_number_fits(eval, value, dtype))
        return BAD;
    if (scalar->constant && value->kind != EV_TENSOR) /* not by way of the default dtype */
        scalar = build_tensor(eval, loc, value, &dtype).tensor;
    else
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

/* data itself where it is a tensor of the type. */
static struct ev fn_as_tensor(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype;

    if (args[0].kind != EV_TENSOR)
        return fn_tensor(eval, args, count, loc);
    if (!need_dtype(eval, &args[1], args[0].tensor->dtype, &dtype))
        return BAD;
    return ev_tensor(loc, build_cast(eval, loc, args[0].tensor, dtype));
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

static struct ev fn_eye(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct tensor *out = ARENA_NEW(&eval->cx->arena, struct tensor);
    (void)count;

    out->ndim = 2;
    for (int i = 0; i < 2; i++) {
        const struct ev *arg = i == 1 && args[1].kind == EV_NONE ? &args[0] : &args[i];

        if (!need_int(eval, "eye", arg, &out->dims[i]))
            return BAD;
        if (out->dims[i] < 0 || out->dims[i] > 1 << 12) {
            diag_error(eval->cx, arg->loc, "eye: a dimension must not be negative or huge, got %lld",
                       (long long)out->dims[i]);
            return BAD;
        }
    }
    if (!need_dtype(eval, &args[2], eval->default_dtype, &out->dtype))
        return BAD;
    out->data = ARENA_ARRAY(&eval->cx->arena, tensor_count(out) + 1, union scalar);
    for (int64_t i = 0; i < out->dims[0] && i < out->dims[1]; i++) {
        if (dtype_is_float(out->dtype))
            out->data[i * out->dims[1] + i].f = 1;
        else
            out->data[i * out->dims[1] + i].i = 1;
    }
    return ev_tensor(loc, build_const(eval, loc, out));
}

/* As PyTorch: from either end to the middle. */
static struct ev spaced(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                        const double *base)
{
    struct tensor *out = ARENA_NEW(&eval->cx->arena, struct tensor);
    const struct ev *dtype = &args[base ? 4 : 3];
    double start, end, step;
    int64_t steps;

    for (int i = 0; i < 2; i++) {
        if (ev_get_number(&args[i], i ? &end : &start))
            continue;
        diag_error(eval->cx, args[i].loc, "%s takes numbers that are known while generating, found %s", what,
                   ev_text(eval, &args[i]));
        return BAD;
    }
    if (!need_int(eval, what, &args[2], &steps) || !need_dtype(eval, dtype, eval->default_dtype, &out->dtype))
        return BAD;
    if (steps < 0 || steps > EVAL_MAX_ARANGE) {
        diag_error(eval->cx, args[2].loc, "%s: number of steps must be non-negative and not huge, got %lld",
                   what, (long long)steps);
        return BAD;
    }
    step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    out->ndim = 1;
    out->dims[0] = steps;
    out->data = ARENA_ARRAY(&eval->cx->arena, steps + 1, union scalar);
    for (int64_t i = 0; i < steps; i++) {
        union scalar x = {.f = i < steps / 2 || steps == 1 ? start + step * (double)i
                                                           : end - step * (double)(steps - i - 1)};

        if (base)
            x.f = pow(*base, x.f);
        out->data[i] = dtype_convert(DTYPE_FLOAT64, out->dtype, x);
    }
    return ev_tensor(loc, build_const(eval, loc, out));
}

static struct ev fn_linspace(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return spaced(eval, args, loc, "linspace", NULL);
}

static struct ev fn_logspace(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double base;
    (void)count;

    if (ev_get_number(&args[3], &base))
        return spaced(eval, args, loc, "logspace", &base);
    diag_error(eval->cx, args[3].loc, "logspace takes numbers that are known while generating, found %s",
               ev_text(eval, &args[3]));
    return BAD;
}

/* A number, or an element, for every element of a shape: in the type of input, or that asked for. */
static struct ev fn_full_as(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev dtype = args[3];
    enum dtype known;
    (void)count;

    if (!need_tensor(eval, "full_like", &args[0]) || !need_dtype(eval, &dtype, args[0].tensor->dtype, &known))
        return BAD;
    dtype = ev_dtype(loc, known);
    if (!build_number_fits(eval, &args[2], known))
        return BAD;
    return filled(eval, outer(eval, "full_like"), &args[1], &args[2], &dtype, loc);
}

extern const struct function_row create_functions[];

const struct function_row create_functions[] = {
    {"arange(start, end=None, step=None, dtype=None)", TORCH, .build = fn_arange},
    {"tensor(data, dtype=None)", TORCH, .build = fn_tensor},
    {"as_tensor(data, dtype=None)", TORCH | VIEW, .build = fn_as_tensor},
    {"full(size, fill_value, dtype=None)", TORCH, .build = fn_full},
    {"zeros(size, dtype=None)", TORCH | FUNCTION_SIZES, .build = fn_zeros},
    {"ones(size, dtype=None)", TORCH | FUNCTION_SIZES, .build = fn_ones},
    {"empty(size, dtype=None)", TORCH | FUNCTION_SIZES, .build = fn_zeros}, /* whose elements are any */
    {"eye(n, m=None, dtype=None)", TORCH, .build = fn_eye},
    {"linspace(start, end, steps, dtype=None)", TORCH, .build = fn_linspace},
    {"logspace(start, end, steps, base=10.0, dtype=None)", TORCH, .build = fn_logspace},
    {"zeros_like(input, dtype=None)", TORCH, .body = "return _full_as(input, input.shape, 0, dtype)"},
    {"ones_like(input, dtype=None)", TORCH, .body = "return _full_as(input, input.shape, 1, dtype)"},
    {"empty_like(input, dtype=None)", TORCH, .body = "return _full_as(input, input.shape, 0, dtype)"},
    {"full_like(input, fill_value, dtype=None)", TORCH,
     .body = "return _full_as(input, input.shape, fill_value, dtype)"},
    {"new_zeros(input, size, dtype=None)", METHOD | VARARGS,
     .body = "return _full_as(input, size, 0, dtype)"},
    {"new_ones(input, size, dtype=None)", METHOD | VARARGS, .body = "return _full_as(input, size, 1, dtype)"},
    {"new_empty(input, size, dtype=None)", METHOD | VARARGS,
     .body = "return _full_as(input, size, 0, dtype)"},
    {"new_full(input, size, fill_value, dtype=None)", METHOD,
     .body = "return _full_as(input, size, fill_value, dtype)"},
    {"new_tensor(input, data, dtype=None)", METHOD,
     .body = "return torch.tensor(data, dtype=input.dtype if dtype == None else dtype)"},
    {"_full_as(input, size, fill_value, dtype)", HIDDEN, .build = fn_full_as},
    {.signature = NULL},
};
