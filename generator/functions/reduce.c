/* reduce.c - reductions. */
#include <math.h>

#include "../graph.h"
#include "rows.h"

static struct ev reduce(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                        enum reduce_kind kind)
{
    bool axes[MAX_DIMS], keepdim;
    struct value *y;

    if ((kind == REDUCE_PROD || kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN) &&
        !need_one_axis(eval, what, &args[1]))
        return BAD;
    if (!need_tensor(eval, what, &args[0]) || !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes) ||
        !need_bool(eval, "keepdim", &args[2], &keepdim))
        return BAD;
    y = build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim);
    if (y && args[0].tensor->dtype == DTYPE_UINT8 && (kind == REDUCE_ANY || kind == REDUCE_ALL)) /* once PyTorch's bool */
        y = build_cast(eval, loc, y, DTYPE_UINT8);
    return ev_tensor(loc, y);
}

#define REDUCE(name, text, kind)                                                                             \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return reduce(eval, args, loc, text, kind);                                                          \
    }
REDUCE(sum, "sum", REDUCE_SUM)
REDUCE(prod, "prod", REDUCE_PROD)
REDUCE(amax, "amax", REDUCE_MAX)
REDUCE(amin, "amin", REDUCE_MIN)
REDUCE(any, "any", REDUCE_ANY)
REDUCE(all, "all", REDUCE_ALL)
REDUCE(argmax, "argmax", REDUCE_ARGMAX)
REDUCE(argmin, "argmin", REDUCE_ARGMIN)

/* The number of elements that a mean is over, as a value of the evaluator. */
static struct ev fn_reduced_count(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *product = dim_const(arena, 1);
    bool axes[MAX_DIMS];
    (void)count;

    if (!need_tensor(eval, "mean", &args[0]) ||
        !need_axes(eval, "mean", &args[1], args[0].tensor->ndim, axes))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "%s takes a floating tensor, found %s", outer(eval, "mean"),
                   dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float().%s()", outer(eval, "mean"));
        return BAD;
    }
    for (int i = 0; i < args[0].tensor->ndim; i++)
        if (axes[i])
            product = dim_mul(arena, product, args[0].tensor->dims[i]);
    if (dim_equals(product, 0)) /* the mean of nothing */
        return ev_float(loc, NAN);
    return ev_dim(loc, product);
}

/* max(x), max(x, dim) -> (values, indices), max(x, y). */
static struct ev extreme(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool max)
{
    static const char *const fields[] = {"values", "indices"};
    enum reduce_kind kind = max ? REDUCE_MAX : REDUCE_MIN;
    bool axes[MAX_DIMS], keepdim;
    struct ev items[2], out;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (args[1].kind == EV_TENSOR)
        return build_binary(eval, loc, max ? PRIM_MAX : PRIM_MIN, max ? "maximum" : "minimum", &args[0],
                            &args[1]);
    if (!need_bool(eval, "keepdim", &args[2], &keepdim) || !need_one_axis(eval, what, &args[1]) ||
        !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes))
        return BAD;
    items[0] = ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
    if (args[1].kind == EV_NONE || items[0].kind == EV_BAD)
        return items[0];
    items[1] = ev_tensor(
        loc, build_reduce(eval, loc, args[0].tensor, max ? REDUCE_ARGMAX : REDUCE_ARGMIN, axes, keepdim));
    out = ev_tuple(eval, loc, items, 2);
    out.fields = fields;
    return out;
}

static struct ev fn_max(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return extreme(eval, args, loc, "max", true);
}

static struct ev fn_min(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return extreme(eval, args, loc, "min", false);
}

/* ---- along one axis ------------------------------------------------------------------------------------------ */

static struct ev scan(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool product)
{
    struct value *x;
    enum dtype dtype;
    int axis;

    if (!need_tensor(eval, what, &args[0]) || !need_axis(eval, what, &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    if (!need_dtype(eval, &args[2], x->dtype, &dtype))
        return BAD;
    x = build_cast(eval, loc, x, dtype);
    x = x ? build_scan(eval, loc, x, axis, product) : NULL;
    if (x && args[2].kind != EV_NONE)
        x = build_cast(eval, loc, x, dtype);
    return ev_tensor(loc, x);
}

static struct ev fn_cumsum(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return scan(eval, args, loc, "cumsum", false);
}

static struct ev fn_cumprod(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return scan(eval, args, loc, "cumprod", true);
}

static const struct tensor *zero_of(struct eval *eval)
{
    struct tensor *zero = ARENA_NEW(&eval->cx->arena, struct tensor);

    zero->dtype = DTYPE_INT64;
    zero->data = ARENA_ARRAY(&eval->cx->arena, 1, union scalar);
    return zero;
}

static struct ev fn_argsort(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x;
    bool descending;
    int axis;
    (void)count;

    if (!need_tensor(eval, "argsort", &args[0]) || !need_axis(eval, "argsort", &args[1], args[0].tensor->ndim, &axis) ||
        !need_bool(eval, "descending", &args[2], &descending))
        return BAD;
    x = args[0].tensor;
    if (x->ndim == 0) /* one element is in order */
        return ev_tensor(loc, build_const(eval, loc, zero_of(eval)));
    return ev_tensor(loc, build_argsort(eval, loc, x, axis, descending));
}

/* The first `count` (NULL: all) in order, as (values, indices). */
static struct ev in_order(struct eval *eval, struct loc loc, struct value *x, int axis, bool descending,
                          const struct dim *count)
{
    static const char *const fields[] = {"values", "indices"};
    struct ev items[2], out;
    struct value *order;

    if (x->ndim == 0) {
        items[0] = ev_tensor(loc, x);
        items[1] = ev_tensor(loc, build_const(eval, loc, zero_of(eval)));
    } else {
        order = build_argsort(eval, loc, x, axis, descending);
        if (order && count)
            order = build_slice(eval, loc, order, axis, dim_const(&eval->cx->arena, 0), dim_const(&eval->cx->arena, 1), count);
        if (!order)
            return BAD;
        items[0] = ev_tensor(loc, build_gather(eval, loc, "sort", x, axis, order, true, false));
        items[1] = ev_tensor(loc, order);
    }
    out = ev_tuple(eval, loc, items, 2);
    out.fields = fields;
    return out;
}

static struct ev fn_sort(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool descending;
    int axis;
    (void)count;

    if (!need_tensor(eval, "sort", &args[0]) || !need_axis(eval, "sort", &args[1], args[0].tensor->ndim, &axis) ||
        !need_bool(eval, "descending", &args[2], &descending))
        return BAD;
    return in_order(eval, loc, args[0].tensor, axis, descending, NULL);
}

static struct ev fn_topk(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *length, *rest;
    bool largest;
    int axis;
    (void)count;

    if (!need_tensor(eval, "topk", &args[0]) || !need_axis(eval, "topk", &args[2], args[0].tensor->ndim, &axis) ||
        !need_bool(eval, "largest", &args[3], &largest))
        return BAD;
    if (args[1].kind != EV_INT) {
        diag_error(eval->cx, args[1].loc, "%s: k must be an integer, found %s", outer(eval, "topk"), ev_text(eval, &args[1]));
        return BAD;
    }
    length = args[0].tensor->ndim > 0 ? args[0].tensor->dims[axis] : dim_const(&eval->cx->arena, 1);
    rest = dim_sub(&eval->cx->arena, length, args[1].dim);
    if (dim_upper(rest) < 0 || dim_upper(args[1].dim) < 0) {
        diag_error(eval->cx, args[1].loc, "%s: k is %s, dimension %d has %s elements", outer(eval, "topk"),
                   dim_text(&eval->cx->arena, args[1].dim), axis, dim_text(&eval->cx->arena, length));
        return BAD;
    }
    build_need(eval, rest);
    build_need(eval, args[1].dim);
    return in_order(eval, loc, args[0].tensor, axis, largest, args[1].dim);
}

extern const struct function_row reduce_functions[];

const struct function_row reduce_functions[] = {
    {"sum(input, dim=None, keepdim=False)", T | M, .build = fn_sum},
    {"prod(input, dim=None, keepdim=False)", T | M, .build = fn_prod},
    {"amax(input, dim=(), keepdim=False)", T | M, .build = fn_amax},
    {"amin(input, dim=(), keepdim=False)", T | M, .build = fn_amin},
    {"any(input, dim=None, keepdim=False)", T | M, .build = fn_any},
    {"all(input, dim=None, keepdim=False)", T | M, .build = fn_all},
    {"argmax(input, dim=None, keepdim=False)", T | M, .build = fn_argmax},
    {"argmin(input, dim=None, keepdim=False)", T | M, .build = fn_argmin},
    {"max(input, dim=None, keepdim=False)", T | M, .build = fn_max},
    {"min(input, dim=None, keepdim=False)", T | M, .build = fn_min},
    {"_reduced_count(input, dim)", H, .build = fn_reduced_count},
    {"mean(input, dim=None, keepdim=False)", T | M,
     .body = "return input.sum(dim, keepdim) * (1.0 / _reduced_count(input, dim))"},
    {"var(input, dim=None, correction=1, keepdim=False)", T | M,
     .body = "count = _reduced_count(input, dim)\n"
             "gap = input - input.mean(dim, keepdim=True)\n"
             "return (gap * gap).sum(dim, keepdim) / (count - correction)"},
    {"std(input, dim=None, correction=1, keepdim=False)", T | M,
     .body = "return sqrt(input.var(dim, correction, keepdim))"},
    {"sort(input, dim=-1, descending=False, stable=False)", T | M, .build = fn_sort},
    {"topk(input, k, dim=-1, largest=True, sorted=True)", T | M, .build = fn_topk},
    {"cumsum(input, dim, dtype=None)", T | M, .build = fn_cumsum},
    {"cumprod(input, dim, dtype=None)", T | M, .build = fn_cumprod},
    {"argsort(input, dim=-1, descending=False, stable=False)", T | M, .build = fn_argsort},
    {.signature = NULL},
};
