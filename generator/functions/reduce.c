/* reduce.c - reductions. */
#include <math.h>

#include "functions/rows.h"
#include "graph/graph.h"

static bool takes_one_axis(enum reduce_kind kind)
{
    return kind == REDUCE_PROD || kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
}

static struct ev reduce(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                        enum reduce_kind kind)
{
    bool axes[MAX_DIMS], keepdim;

    if (takes_one_axis(kind) && !need_one_axis(eval, what, &args[1]))
        return BAD;
    if (!need_tensor(eval, what, &args[0]) || !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes) ||
        !need_bool(eval, "keepdim", &args[2], &keepdim))
        return BAD;
    if (args[0].tensor->dtype == DTYPE_BOOL && (kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN)) {
        diag_error(eval->cx, loc, "%s does not take bool", outer(eval, what));
        diag_hint(eval->cx, "convert first, as x.byte().%s()", what);
        return BAD;
    }
    return ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
}

/* sum and prod: dtype is the type of the elements, and of the result. */
static struct ev reduce_in(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                           enum reduce_kind kind)
{
    enum dtype dtype;
    struct ev own[3] = {args[0], args[1], args[2]}, out;

    if (!need_tensor(eval, what, &args[0]) || !need_dtype(eval, &args[3], args[0].tensor->dtype, &dtype))
        return BAD;
    if (args[3].kind != EV_NONE)
        own[0] = ev_tensor(args[0].loc, build_cast(eval, loc, args[0].tensor, dtype));
    out = own[0].kind == EV_BAD ? BAD : reduce(eval, own, loc, what, kind);
    if (out.kind == EV_BAD || args[3].kind == EV_NONE)
        return out;
    return ev_tensor(loc, build_cast(eval, loc, out.tensor, dtype));
}

/* any and all: of uint8 a uint8, and without a dimension to go along what they are given. */
static struct ev reduce_truth(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                              enum reduce_kind kind)
{
    struct ev out;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (args[1].kind == EV_TUPLE && args[1].count == 0)
        out = ev_tensor(loc, build_cast(eval, loc, args[0].tensor, DTYPE_BOOL));
    else
        out = reduce(eval, args, loc, what, kind);
    if (out.kind == EV_BAD || args[0].tensor->dtype != DTYPE_UINT8)
        return out;
    return ev_tensor(loc, build_cast(eval, loc, out.tensor, DTYPE_UINT8));
}

#define REDUCE(name, text, by, kind)                                                                         \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return by(eval, args, loc, text, kind);                                                              \
    }
REDUCE(sum, "sum", reduce_in, REDUCE_SUM)
REDUCE(prod, "prod", reduce_in, REDUCE_PROD)
REDUCE(amax, "amax", reduce, REDUCE_MAX)
REDUCE(amin, "amin", reduce, REDUCE_MIN)
REDUCE(any, "any", reduce_truth, REDUCE_ANY)
REDUCE(all, "all", reduce_truth, REDUCE_ALL)
REDUCE(argmax, "argmax", reduce, REDUCE_ARGMAX)
REDUCE(argmin, "argmin", reduce, REDUCE_ARGMIN)

/* What came of a REDUCE_MAX or REDUCE_MIN whose gradient NaNs share, where the result is one. */
static struct ev equal_nans(struct ev out)
{
    if (out.kind == EV_TENSOR && out.tensor->op->code == GRAPH_OP_REDUCE)
        out.tensor->op->reduce.equal_nans = true;
    return out;
}

static struct ev fn_largest(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    return equal_nans(fn_amax(eval, args, count, loc));
}

static struct ev fn_smallest(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    return equal_nans(fn_amin(eval, args, count, loc));
}

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

/* The first element of each of the sets that are reduced over these axes; where a set may have none it is 0 then. */
static struct ev fn_first(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1);
    struct value *x = args[0].tensor;
    bool axes[MAX_DIMS], some = true;
    (void)count;

    if (!need_axes(eval, "var", &args[1], x->ndim, axes))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        if (axes[i]) {
            const struct dim *length = dim_min(arena, x->dims[i], one);

            some = some && dim_equals(length, 1);
            x = build_slice(eval, loc, x, i, dim_const(arena, 0), one, length);
        }
    }
    return ev_tensor(loc, some ? x : build_reduce(eval, loc, x, REDUCE_SUM, axes, true));
}

/* What var takes as one of three: dim that is a bool, unbiased, correction. */
static struct ev fn_correction(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool truth;
    double number;
    (void)count;

    for (int i = 0; i < 2; i++) {
        if (args[i].kind == EV_NONE || (i == 0 && args[i].kind != EV_BOOL))
            continue;
        return need_bool(eval, "unbiased", &args[i], &truth) ? ev_int(eval, loc, truth) : BAD;
    }
    if (args[2].kind == EV_NONE)
        return ev_int(eval, loc, 1);
    if (ev_get_number(&args[2], &number))
        return args[2];
    diag_error(eval->cx, args[2].loc,
               "%s: correction must be a number that is known while generating, found %s", outer(eval, "var"),
               ev_text(eval, &args[2]));
    return BAD;
}

/* count - correction, but not below 0. */
static struct ev fn_degrees(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct ev zero = ev_int(eval, loc, 0), left;
    double n, correction = 0;
    (void)count;

    ev_get_number(&args[1], &correction);
    if (args[0].kind == EV_INT && args[1].kind == EV_INT)
        return ev_dim(loc, dim_max(arena, dim_sub(arena, args[0].dim, args[1].dim), zero.dim));
    if (ev_get_number(&args[0], &n))
        return ev_float(loc, isnan(n) || n > correction ? n - correction : 0);
    left = ev_float_dag(loc, build_number_binary(eval, PRIM_SUB, &args[0], &args[1]),
                        "the degrees of freedom");
    return ev_float_dag(loc, build_number_binary(eval, PRIM_MAX, &left, &zero), "the degrees of freedom");
}

/* A bool, and no number. */
static struct ev fn_is_bool(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc, args[0].kind == EV_BOOL);
}

/* Integers that are known to be the same, where == would refuse those of sizes. */
static struct ev fn_equal(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc,
                   args[0].kind == EV_INT && args[1].kind == EV_INT && dim_equal(args[0].dim, args[1].dim));
}

/* Whether there is surely nothing along the dimensions; or, where `sizes` is true, whether there may be nothing. */
static struct ev fn_is_empty(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool axes[MAX_DIMS], empty = false, sizes;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) ||
        !need_axes(eval, "this", &args[1], args[0].tensor->ndim, axes) ||
        !need_bool(eval, "this", &args[2], &sizes))
        return BAD;
    for (int i = 0; i < args[0].tensor->ndim; i++) {
        const struct dim *dim = args[0].tensor->dims[i];

        empty |= axes[i] && (dim_equals(dim, 0) || (sizes && !dim_is_const(dim, NULL)));
    }
    return ev_bool(loc, empty);
}

/* Integers and bool in the default type. */
static struct ev fn_as_float(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "this", &args[0]))
        return BAD;
    if (dtype_is_float(args[0].tensor->dtype))
        return args[0];
    return ev_tensor(loc, build_cast(eval, loc, args[0].tensor, eval->default_dtype));
}

/* Items of a tuple under their names in PyTorch. */
static struct ev fn_named(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev items[4], out;
    const char **fields = ARENA_ARRAY(&eval->cx->arena, 4, const char *);
    int n = 0;

    for (; 2 * n < count && args[2 * n + 1].kind == EV_STRING; n++) {
        items[n] = args[2 * n];
        fields[n] = args[2 * n + 1].text;
    }
    out = ev_tuple(eval, loc, items, n);
    out.fields = fields;
    return out;
}

/* max(x), max(x, dim) -> (values, indices), max(x, y). */
/* x at the index along the one of the axes that was reduced. */
static struct value *taken_at(struct eval *eval, struct loc loc, struct value *x, const bool *axes,
                              struct value *index, bool keepdim)
{
    const struct value *shape = index;
    int axis = 0;

    while (axis < x->ndim - 1 && !axes[axis])
        axis++;
    if (!keepdim && x->ndim > 0)
        index = insert_axis(eval, loc, index, axis);
    x = index ? build_gather_inside(eval, loc, "taken", x, axis, index, true) : NULL;
    return x ? build_reshape(eval, loc, x, shape->ndim, shape->dims) : NULL;
}

static struct ev extreme(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool max)
{
    static const char *const fields[] = {"values", "indices"};
    enum reduce_kind kind = max ? REDUCE_MAX : REDUCE_MIN;
    bool axes[MAX_DIMS], keepdim;
    struct ev items[2], out;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (args[3].kind == EV_TENSOR)
        args[1] = args[3];
    if (args[1].kind == EV_TENSOR)
        return build_binary(eval, loc, max ? PRIM_MAX : PRIM_MIN, max ? "maximum" : "minimum", &args[0],
                            &args[1]);
    if (!need_bool(eval, "keepdim", &args[2], &keepdim) || !need_one_axis(eval, what, &args[1]) ||
        !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes))
        return BAD;
    items[0] = ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
    if (args[1].kind == EV_NONE || items[0].kind == EV_BAD)
        return equal_nans(items[0]);
    items[1] = ev_tensor(
        loc, build_reduce(eval, loc, args[0].tensor, max ? REDUCE_ARGMAX : REDUCE_ARGMIN, axes, keepdim));
    if (eval->graph && eval->graph->saves &&
        items[1].kind == EV_TENSOR) /* its gradient goes to that place alone */
        items[0] = ev_tensor(loc, taken_at(eval, loc, args[0].tensor, axes, items[1].tensor, keepdim));
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

static struct ev scan(struct eval *eval, struct ev *args, struct loc loc, const char *what,
                      enum scan_kind kind)
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
    x = x ? build_scan(eval, loc, x, axis, kind, false) : NULL;
    if (x && args[2].kind != EV_NONE)
        x = build_cast(eval, loc, x, dtype);
    return ev_tensor(loc, x);
}

static struct ev fn_cumsum(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return scan(eval, args, loc, "cumsum", SCAN_SUM);
}

static struct ev fn_cumprod(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return scan(eval, args, loc, "cumprod", SCAN_PRODUCT);
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

    if (!need_tensor(eval, "argsort", &args[0]) ||
        !need_axis(eval, "argsort", &args[1], args[0].tensor->ndim, &axis) ||
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
            order = build_slice(eval, loc, order, axis, dim_const(&eval->cx->arena, 0),
                                dim_const(&eval->cx->arena, 1), count);
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

    if (!need_tensor(eval, "sort", &args[0]) ||
        !need_axis(eval, "sort", &args[1], args[0].tensor->ndim, &axis) ||
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

    if (!need_tensor(eval, "topk", &args[0]) ||
        !need_axis(eval, "topk", &args[2], args[0].tensor->ndim, &axis) ||
        !need_bool(eval, "largest", &args[3], &largest))
        return BAD;
    if (args[1].kind != EV_INT) {
        diag_error(eval->cx, args[1].loc, "%s: k must be an integer, found %s", outer(eval, "topk"),
                   ev_text(eval, &args[1]));
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

/* k, which counts from 1, as an index into the dimension. */
static struct ev fn_kth(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *length, *rest;
    int axis;
    (void)count;

    if (!need_tensor(eval, "kthvalue", &args[0]) ||
        !need_axis(eval, "kthvalue", &args[2], args[0].tensor->ndim, &axis))
        return BAD;
    length = args[0].tensor->ndim > 0 ? args[0].tensor->dims[axis] : dim_const(&eval->cx->arena, 1);
    if (args[1].kind == EV_INT) {
        rest = dim_sub(&eval->cx->arena, length, args[1].dim);
        if (dim_upper(rest) >= 0 && dim_upper(args[1].dim) >= 1)
            return ev_dim(loc, dim_sub(&eval->cx->arena, args[1].dim, dim_const(&eval->cx->arena, 1)));
    }
    diag_error(eval->cx, args[1].loc, "kthvalue: selected number k out of range for dimension %d: %s", axis,
               ev_text(eval, &args[1]));
    return BAD;
}

/* The p of a norm that is none of the special ones. */
static struct ev fn_order(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double p;
    (void)count;

    if (args[0].kind != EV_BOOL && ev_get_number(&args[0], &p) && !isnan(p))
        return args[0];
    diag_error(eval->cx, args[0].loc,
               "%s: the order must be a number that is known while generating, found %s", outer(eval, "norm"),
               ev_text(eval, &args[0]));
    return BAD;
}

static struct ev fn_is_tuple(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc, args[0].kind == EV_TUPLE);
}

/* Which of the two dimensions of a matrix is summed along. */
static struct ev fn_matrix_order(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double p;
    (void)count;

    if (args[0].kind != EV_BOOL && ev_get_number(&args[0], &p) && (fabs(p) == 1 || isinf(p)))
        return ev_int(eval, loc, isinf(p) ? 1 : 0);
    diag_error(eval->cx, args[0].loc,
               "matrix_norm: order %s is not one of 'fro', 'nuc', 1, -1, 2, -2, inf and -inf",
               ev_text(eval, &args[0]));
    return BAD;
}

extern const struct function_row reduce_functions[];

const struct function_row reduce_functions[] = {
    {"sum(input, dim=None, keepdim=False, dtype=None)", TORCH | METHOD, .build = fn_sum},
    {"prod(input, dim=None, keepdim=False, dtype=None)", TORCH | METHOD, .build = fn_prod},
    {"nansum(input, dim=None, keepdim=False, dtype=None)", TORCH | METHOD,
     .body = "return where(isnan(input), 0, input).sum(dim, keepdim, dtype)"},
    {"amax(input, dim=(), keepdim=False)", TORCH | METHOD, .build = fn_amax},
    {"amin(input, dim=(), keepdim=False)", TORCH | METHOD, .build = fn_amin},
    {"_largest(input, dim, keepdim)", HIDDEN, .build = fn_largest},
    {"_smallest(input, dim, keepdim)", HIDDEN, .build = fn_smallest},
    {"aminmax(input, dim=None, keepdim=False)", TORCH | METHOD,
     .body = "return _named(input.amin(() if dim == None else dim, keepdim), 'min',"
             " input.amax(() if dim == None else dim, keepdim), 'max')"},
    {"any(input, dim=None, keepdim=False)", TORCH | METHOD, .build = fn_any},
    {"all(input, dim=None, keepdim=False)", TORCH | METHOD, .build = fn_all},
    {"count_nonzero(input, dim=None)", TORCH | METHOD, .body = "return (input != 0).sum(dim)"},
    {"argmax(input, dim=None, keepdim=False)", TORCH | METHOD, .build = fn_argmax},
    {"argmin(input, dim=None, keepdim=False)", TORCH | METHOD, .build = fn_argmin},
    {"max(input, dim=None, keepdim=False, other=None)", TORCH | METHOD, .build = fn_max},
    {"min(input, dim=None, keepdim=False, other=None)", TORCH | METHOD, .build = fn_min},
    {"_reduced_count(input, dim)", HIDDEN, .build = fn_reduced_count},
    {"_is_empty(input, dim, sizes=False)", HIDDEN, .build = fn_is_empty},
    {"_is_bool(value)", HIDDEN, .build = fn_is_bool},
    {"_equal(a, b)", HIDDEN, .build = fn_equal},
    {"_as_float(input)", HIDDEN, .build = fn_as_float},
    {"_named(first, name, second, other_name, third=None, third_name=None, fourth=None, fourth_name=None)",
     HIDDEN, .build = fn_named},
    {"mean(input, dim=None, keepdim=False, dtype=None)", TORCH | METHOD,
     .body = "x = input if dtype == None else input.to(dtype)\n"
             "return x.sum(dim, keepdim) / _reduced_count(x, dim)"},
    {"nanmean(input, dim=None, keepdim=False, dtype=None)", TORCH | METHOD,
     .body = "x = input if dtype == None else input.to(dtype)\n"
             "_check_float(x)\n"
             "return x.nansum(dim, keepdim) / (~isnan(x)).sum(dim, keepdim)"},
    {"var(input, dim=None, unbiased=None, keepdim=False, correction=None)", TORCH | METHOD,
     .body = "return _var_mean(input, dim, unbiased, keepdim, correction)[0]"},
    {"std(input, dim=None, unbiased=None, keepdim=False, correction=None)", TORCH | METHOD,
     .body = "return _sqrt(_var_mean(input, dim, unbiased, keepdim, correction)[0])"},
    {"var_mean(input, dim=None, unbiased=None, keepdim=False, correction=None)", TORCH,
     .body = "return _var_mean(input, dim, unbiased, keepdim, correction)"},
    {"std_mean(input, dim=None, unbiased=None, keepdim=False, correction=None)", TORCH,
     .body = "var, mean = _var_mean(input, dim, unbiased, keepdim, correction)\n"
             "return _sqrt(var), mean"},
    {"_var_mean(input, dim, unbiased, keepdim, correction)", HIDDEN,
     .body = "less = _correction(dim, unbiased, correction)\n"
             "axes = None if _is_bool(dim) else dim\n"
             "var, mean = _moments(input, axes, less)[:2]\n"
             "shape = input.sum(axes, keepdim).shape\n"
             "return var.reshape(shape), mean.reshape(shape)"},
    /* The variance, the mean, what the mean was rounded by, which is not small beside the spread of numbers with an offset, and
     * what differs from the mean.
     * Gradients flow through the mean of what is left of the first element; through the gaps they would add up to 0. */
    {"_moments(input, axes, less)", HIDDEN,
     .body = "count = _reduced_count(input, axes)\n"
             "first = _still(_first(input, axes))\n"
             "rest = (input - first).mean(axes)\n"
             "mean = first.reshape(rest.shape) + rest\n"
             "off = first.reshape(rest.shape) - _still(mean) + rest\n"
             "gap = input - _still(mean).reshape(first.shape)\n"
             "return ((gap * gap).sum(axes) - count * off * off) / _degrees(count, less), mean, off, gap"},
    {"_first(input, axes)", HIDDEN, .build = fn_first},
    /* what no gradient flows through */
    {"_still(input)", HIDDEN, .body = "return input.detach() if _saves() else input"},
    {"_correction(dim, unbiased, correction)", HIDDEN, .build = fn_correction},
    {"_degrees(count, correction)", HIDDEN, .build = fn_degrees},
    {"renorm(input, p, dim, maxnorm)", TORCH | METHOD,
     .body = "x = _check_dims(input, 2, 8)\n"
             "if p <= 0 or maxnorm < 0:\n"
             "    raise RuntimeError('renorm: p must be positive, and maxnorm not negative')\n"
             "others = [i for i in range(x.ndim) if i != (dim + x.ndim if dim < 0 else dim)]\n"
             "if len(others) == x.ndim:\n"
             "    raise IndexError(f'renorm: there is no dimension {dim}')\n"
             "size = torch.linalg.vector_norm(x, p, others, True)\n"
             "return x * torch.where(size > maxnorm, maxnorm / (size + 1e-7), 1)"},
    {"norm(input, p='fro', dim=None, keepdim=False, dtype=None)", TORCH | METHOD,
     .body =
         "return (torch.linalg.matrix_norm(input, 'nuc', (-2, -1) if dim is None else dim, keepdim, dtype)"
         " if p == 'nuc' else _vector_norm(input, 2.0 if p == 'fro' or p == None else p, dim, keepdim, dtype))"},
    {"linalg.vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None)", TORCH,
     .body = "return _vector_norm(x, ord, dim, keepdim, dtype)"},
    {"linalg.norm(A, ord=None, dim=None, keepdim=False, dtype=None)", TORCH,
     .body = "one = dim != None and not _is_tuple(dim) or ord == None or A.ndim == 1\n"
             "return (_vector_norm(A, 2 if ord == None else ord, dim, keepdim, dtype) if one else"
             " torch.linalg.matrix_norm(A, ord, (-2, -1) if dim == None else dim, keepdim, dtype))"},
    {"linalg.matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, dtype=None)", TORCH,
     .body = "x = A if dtype == None else A.to(dtype)\n"
             "_check_float(x)\n"
             "return (_vector_norm(x, 2, dim, keepdim, None) if ord == 'fro' else"
             " _spectral_norm(x, ord, dim, keepdim) if ord == 'nuc' or ord == 2 or ord == -2 else"
             " _matrix_norm(x, ord, dim, keepdim))"},
    {"nuclear_norm(input, dim=(-2, -1), keepdim=False)", TORCH,
     .body = "return torch.linalg.matrix_norm(input, 'nuc', dim, keepdim)"},
    /* of the singular values */
    {"_spectral_norm(x, ord, dim, keepdim)", HIDDEN,
     .body = "S = torch.linalg.svdvals(x.movedim(dim, (-2, -1)))\n"
             "norm = S.sum(-1) if ord == 'nuc' else S.amax(-1) if ord == 2 else S.amin(-1)\n"
             "return norm.reshape(x.sum(dim, keepdim).shape)"},
    /* the largest, or smallest, sum of a column or of a row; the largest of none is 0 */
    {"_matrix_norm(x, ord, dim, keepdim)", HIDDEN,
     .body =
         "sums = abs(x).sum(dim[_matrix_order(ord)], keepdim=True)\n"
         "return (sums.amin(dim, keepdim) if ord < 0 else sums.sum(dim, keepdim) if _is_empty(sums, dim) else"
         " sums.amax(dim, keepdim).clamp(0) if _is_empty(sums, dim, True) else sums.amax(dim, keepdim))"},
    {"_matrix_order(ord)", HIDDEN, .build = fn_matrix_order},
    {"_vector_norm(input, p, dim, keepdim, dtype)", HIDDEN,
     .body = "x = input if dtype == None else input.to(dtype)\n"
             "_check_float(x)\n"
             "return (_sqrt((x * x).sum(dim, keepdim)) if p == 2 else abs(x).sum(dim, keepdim) if p == 1 else"
             " (x != 0).sum(dim, keepdim).to(x.dtype) if p == 0 else"
             " _largest(abs(x), () if dim == None else dim, keepdim) if p == inf else"
             " _smallest(abs(x), () if dim == None else dim, keepdim) if p == -inf else"
             " _power_norm(x, p, dim, keepdim))"},
    {"_power_norm(x, p, dim, keepdim)", HIDDEN,
     .body = "q = _order(p)\n"
             "return (_from_order(_to_order(x, q).sum(dim, keepdim), q) if _saves() else"
             " (abs(x) ** q).sum(dim, keepdim) ** (1.0 / q))"},
    {"_order(p)", HIDDEN, .build = fn_order},
    {"_is_tuple(value)", HIDDEN, .build = fn_is_tuple},
    {"dist(input, other, p=2)", TORCH | METHOD, .body = "return (input - other).norm(p)"},
    /* a largest element that is infinite is no number to subtract */
    {"logsumexp(input, dim, keepdim=False)", TORCH | METHOD,
     .body = "x = _as_float(input)\n"
             "return log(exp(x).sum(dim, keepdim)) if _is_empty(x, dim) else _logsumexp(x, dim, keepdim)"},
    {"_logsumexp(x, dim, keepdim)", HIDDEN,
     .body = "most = x.amax(dim, keepdim=True)\n"
             "top = where(abs(most) == inf, 0.0, most)\n"
             "total = log(exp(x - top).sum(dim, keepdim))\n"
             "return total + top.reshape(total.shape)"},
    {"median(input, dim=None, keepdim=False)", TORCH | METHOD,
     .body =
         "x = input.flatten() if dim == None or input.ndim == 0 else input\n"
         "found = _median(x, 0, False) if dim == None else _median(x, dim, keepdim and input.ndim > 0)\n"
         "return found if dim != None else _shared(x, found.values) if _saves() and x.is_floating_point() else found.values"},
    /* 1 where x is y, as numbers of x's type; NaN is NaN */
    {"_same(x, y)", HIDDEN, .body = "return ((x == y) | (isnan(x) & isnan(y))).to(x.dtype)"},
    /* y, an element of x, whose gradient all that are the same share */
    {"_shared(x, y)", HIDDEN,
     .body = "same = _same(x, y)\n"
             "return _instead((x * (same / same.sum())).sum(), y)"},
    /* the lower one of two; NaN, where there is any */
    {"_median(input, dim, keepdim)", HIDDEN,
     .body = "order = input.sort(dim)\n"
             "middle = _half(input, dim)\n"
             "bad = isnan(input).any(dim, keepdim=True)\n"
             "values = where(bad, order.values.narrow(dim, -1, 1), order.values.narrow(dim, middle, 1))\n"
             "indices = where(bad, isnan(input).to(torch.int8).argmax(dim, keepdim=True),"
             " order.indices.narrow(dim, middle, 1))\n"
             "values = input.gather(dim, indices) if _saves() and input.is_floating_point() else values\n"
             "return _named(values if keepdim else values.squeeze(dim), 'values',"
             " indices if keepdim else indices.squeeze(dim), 'indices')"},
    {"_half(input, dim)", HIDDEN, .body = "return (input.shape[dim] - 1) // 2"},
    {"kthvalue(input, k, dim=-1, keepdim=False)", TORCH | METHOD,
     .body =
         "return _kthvalue(input.flatten() if input.ndim == 0 else input, k, dim, keepdim and input.ndim > 0)"},
    {"_kthvalue(input, k, dim, keepdim)", HIDDEN,
     .body = "order = input.sort(dim)\n"
             "at = _kth(input, k, dim)\n"
             "values = order.values.narrow(dim, at, 1)\n"
             "indices = order.indices.narrow(dim, at, 1)\n"
             "return _named(values if keepdim else values.squeeze(dim), 'values',"
             " indices if keepdim else indices.squeeze(dim), 'indices')"},
    {"_kth(input, k, dim)", HIDDEN, .build = fn_kth},
    {"msort(input)", TORCH | METHOD, .body = "return input.sort(0).values"},
    {"diff(input, n=1, dim=-1, prepend=None, append=None)", TORCH | METHOD,
     .body = "x = input if prepend is None else cat((prepend, input), dim)\n"
             "return _differences(x if append is None else cat((x, append), dim), n, dim)"},
    {"_differences(input, n, dim)", HIDDEN,
     .body = "return input if n <= 0 or _is_empty(input, dim) else _diff(input, n, dim)"},
    {"_diff(input, n, dim)", HIDDEN,
     .body =
         "length = input.shape[dim] - 1\n"
         "x = (input.narrow(dim, 1, length) ^ input.narrow(dim, 0, length) if input.dtype == torch.bool else"
         " input.narrow(dim, 1, length) - input.narrow(dim, 0, length))\n"
         "return _differences(x, n - 1, dim)"},
    {"isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False)", TORCH | METHOD,
     .body = "gap = abs(input - other)\n"
             "close = (input == other) | (gap < inf) & (gap <= abs(other) * rtol + atol)\n"
             "return close | isnan(input) & isnan(other) if equal_nan else close"},
    {"sort(input, dim=-1, descending=False, stable=False)", TORCH | METHOD, .build = fn_sort},
    {"topk(input, k, dim=-1, largest=True, sorted=True)", TORCH | METHOD, .build = fn_topk},
    {"cumsum(input, dim, dtype=None)", TORCH | METHOD, .build = fn_cumsum},
    {"cumprod(input, dim, dtype=None)", TORCH | METHOD, .build = fn_cumprod},
    {"argsort(input, dim=-1, descending=False, stable=False)", TORCH | METHOD, .build = fn_argsort},
    {.signature = NULL},
};
