/* reduce.c - reductions. */
#include <math.h>

#include "../graph.h"
#include "rows.h"

static struct ev reduce(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                        enum reduce_kind kind)
{
    bool axes[MAX_DIMS], keepdim;

    if ((kind == REDUCE_PROD || kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN) &&
        !need_one_axis(eval, what, &args[1]))
        return BAD;
    if (!need_tensor(eval, what, &args[0]) || !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes) ||
        !need_bool(eval, "keepdim", &args[2], &keepdim))
        return BAD;
    return ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
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
    {.signature = NULL},
};
