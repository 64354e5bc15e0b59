/* arguments.c - what functions take: checks of their arguments. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

const char *outer(const struct eval *eval, const char *what)
{
    return eval->within ? eval->within : what;
}

bool need_tensor(struct eval *eval, const char *what, const struct ev *arg)
{
    if (arg->kind == EV_TENSOR)
        return true;
    diag_error(eval->cx, arg->loc, "%s takes a tensor, found %s", outer(eval, what), ev_kind_text(arg));
    return false;
}

bool need_int(struct eval *eval, const char *what, const struct ev *arg, int64_t *out)
{
    if (arg->kind != EV_BOOL && ev_get_int(arg, out))
        return true;
    diag_error(eval->cx, arg->loc, "%s takes an integer that is known while generating, found %s",
               outer(eval, what), ev_text(eval, arg));
    eval_hint_integer(eval, arg);
    return false;
}

bool need_axis(struct eval *eval, const char *what, const struct ev *arg, int ndim, int *out)
{
    int64_t axis;
    int range = ndim > 0 ? ndim : 1;

    if (!need_int(eval, what, arg, &axis))
        return false;
    if (axis < -range || axis >= range) {
        diag_error(eval->cx, arg->loc,
                   "%s: dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   outer(eval, what), -range, range - 1, (long long)axis);
        return false;
    }
    *out = (int)(axis < 0 ? axis + range : axis);
    return true;
}

bool need_axes(struct eval *eval, const char *what, const struct ev *arg, int ndim, bool *axes)
{
    int axis;

    memset(axes, 0, MAX_DIMS * sizeof *axes);
    if (arg->kind == EV_NONE || (arg->kind == EV_TUPLE && arg->count == 0)) {
        for (int i = 0; i < ndim; i++)
            axes[i] = true;
        return true;
    }
    if (arg->kind != EV_TUPLE) {
        if (!need_axis(eval, what, arg, ndim, &axis))
            return false;
        axes[axis] = ndim > 0;
        return true;
    }
    for (int i = 0; i < arg->count; i++) {
        if (!need_axis(eval, what, &arg->items[i], ndim, &axis))
            return false;
        if (axes[axis]) {
            diag_error(eval->cx, arg->items[i].loc, "%s: dimension %d appears twice", outer(eval, what),
                       axis);
            return false;
        }
        axes[axis] = ndim > 0;
    }
    return true;
}

bool need_ints(struct eval *eval, const char *what, const struct ev *arg, int count, int *out)
{
    for (int i = 0; i < count; i++) {
        int64_t value;
        const struct ev *item = arg;

        if (arg->kind == EV_TUPLE) {
            if (arg->count != count && arg->count != 1) {
                diag_error(eval->cx, arg->loc, "%s takes an integer or a tuple of %d, found %s", what, count,
                           ev_text(eval, arg));
                return false;
            }
            item = &arg->items[arg->count == count ? i : 0];
        }
        if (!need_int(eval, what, item, &value))
            return false;
        if (value < 0 || value > 1 << 20) {
            diag_error(eval->cx, item->loc, "%s must not be negative or huge, found %lld", what,
                       (long long)value);
            return false;
        }
        out[i] = (int)value;
    }
    return true;
}

static bool does_not_fit(struct eval *eval, const char *what, const struct ev *arg, const struct value *x)
{
    struct arena *arena = &eval->cx->arena;

    diag_error(eval->cx, arg->loc, "%s: the shape %s does not fit %s, which has %s elements", what,
               ev_text(eval, arg), shape_text(arena, x->ndim, x->dims),
               dim_text(arena, dims_count(arena, x)));
    return false;
}

bool need_shape(struct eval *eval, const char *what, const struct ev *arg, const struct value *x,
                const struct dim **dims, int *ndim)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *product = dim_const(arena, 1), *quotient, *count = x ? dims_count(arena, x) : NULL;
    const struct ev *items = arg->kind == EV_TUPLE ? arg->items : arg;
    int n = arg->kind == EV_TUPLE ? arg->count : 1, free = -1;

    if (n > MAX_DIMS) {
        diag_error(eval->cx, arg->loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (items[i].kind != EV_INT) {
            diag_error(eval->cx, items[i].loc, "%s takes integers, found %s", what, ev_text(eval, &items[i]));
            eval_hint_integer(eval, &items[i]);
            return false;
        }
        if (count && dim_equals(items[i].dim, -1)) {
            if (free >= 0) {
                diag_error(eval->cx, items[i].loc, "%s: only one dimension can be inferred", what);
                return false;
            }
            free = i;
            continue;
        }
        if (dim_lower(items[i].dim) < 0 && dim_is_const(items[i].dim, NULL)) {
            diag_error(eval->cx, items[i].loc, "%s: negative dimension %s", what,
                       dim_text(arena, items[i].dim));
            return false;
        }
        dims[i] = items[i].dim;
        product = dim_mul(arena, product, dims[i]);
    }
    if (free >= 0) {
        if (!dim_divides(arena, count, product, &quotient))
            return does_not_fit(eval, what, arg, x);
        dims[free] = quotient;
    } else if (count && !dim_equal(product, count)) {
        return does_not_fit(eval, what, arg, x);
    }
    *ndim = n;
    return true;
}

bool need_bool(struct eval *eval, const char *what, const struct ev *arg, bool *out)
{
    if ((arg->kind == EV_BOOL || arg->kind == EV_INT || arg->kind == EV_NONE) && ev_get_bool(arg, out))
        return true;
    diag_error(eval->cx, arg->loc, "%s takes True or False, found %s", outer(eval, what), ev_kind_text(arg));
    return false;
}

bool need_dtype(struct eval *eval, const struct ev *arg, enum dtype absent, enum dtype *out)
{
    *out = absent;
    if (arg->kind == EV_NONE)
        return true;
    if (arg->kind == EV_DTYPE) {
        /* Python's float, int and bool mean these as dtypes */
        *out = strcmp(arg->text, "float") == 0 && absent == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : arg->dtype;
        return true;
    }
    diag_error(eval->cx, arg->loc, "a dtype is needed here, found %s", ev_text(eval, arg));
    if (arg->kind == EV_STRING && dtype_find(arg->text, out))
        diag_hint(eval->cx, "write torch.%s", arg->text);
    return false;
}

bool need_one_axis(struct eval *eval, const char *what, const struct ev *arg)
{
    if (arg->kind != EV_TUPLE)
        return true;
    diag_error(eval->cx, arg->loc, "%s takes one dimension, found %s", outer(eval, what), ev_text(eval, arg));
    return false;
}

bool need_index(struct eval *eval, const char *what, const struct ev *arg, bool any_width)
{
    if (!need_tensor(eval, what, arg))
        return false;
    if (arg->tensor->dtype == DTYPE_INT64 || (any_width && arg->tensor->dtype == DTYPE_INT32))
        return true;
    diag_error(eval->cx, arg->loc, "%s: the index must be int64%s, found %s", outer(eval, what),
               any_width ? " or int32" : "", dtype_rows[arg->tensor->dtype].name);
    if (arg->tensor->op->code == GRAPH_OP_INPUT)
        diag_hint(eval->cx, "declare the input as {shape: ..., dtype: int64}");
    else
        diag_hint(eval->cx, "convert it with .long()");
    return false;
}
