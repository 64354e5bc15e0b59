/* shape.c - other views of the same elements. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_reshape(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    int ndim;
    (void)count;

    if (!need_tensor(eval, "reshape", &args[0]) ||
        !need_shape(eval, "reshape", &args[1], args[0].tensor, dims, &ndim))
        return BAD;
    return ev_tensor(loc, build_reshaped(eval, loc, args[0].tensor, ndim, dims, false));
}

static struct ev fn_flatten(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *product = dim_const(arena, 1);
    int first, last, n = 0;
    const struct value *x;
    (void)count;

    if (!need_tensor(eval, "flatten", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (!need_axis(eval, "flatten", &args[1], x->ndim, &first) ||
        !need_axis(eval, "flatten", &args[2], x->ndim, &last))
        return BAD;
    if (first > last) {
        diag_error(eval->cx, loc, "flatten() has invalid args: start_dim cannot come after end_dim");
        return BAD;
    }
    if (x->ndim == 0) {
        dims[n++] = product;
        return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
    }
    for (int i = 0; i < x->ndim; i++) {
        if (i >= first && i <= last)
            product = dim_mul(arena, product, x->dims[i]);
        if (i < first || i > last)
            dims[n++] = x->dims[i];
        else if (i == last)
            dims[n++] = product;
    }
    return ev_tensor(loc, build_reshaped(eval, loc, args[0].tensor, n, dims, false));
}

static struct ev fn_permute(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], n = args[1].kind == EV_TUPLE ? args[1].count : -1;
    bool seen[MAX_DIMS] = {false};
    (void)count;

    if (!need_tensor(eval, "permute", &args[0]))
        return BAD;
    if (n != args[0].tensor->ndim) {
        diag_error(eval->cx, args[1].loc, "permute takes %d dimensions for a tensor of shape %s, found %s",
                   args[0].tensor->ndim,
                   shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims),
                   ev_text(eval, &args[1]));
        return BAD;
    }
    for (int i = 0; i < n; i++) {
        if (!need_axis(eval, "permute", &args[1].items[i], n, &perm[i]))
            return BAD;
        if (seen[perm[i]]) {
            diag_error(eval->cx, args[1].items[i].loc, "permute: dimension %d appears twice", perm[i]);
            return BAD;
        }
        seen[perm[i]] = true;
    }
    return ev_tensor(loc, build_permute(eval, loc, args[0].tensor, perm));
}

/* Dimensions `source` go to the places `destination`, the others stay in order. */
static struct ev fn_movedim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], ndim, next = 0, n = args[1].kind == EV_TUPLE ? args[1].count : 1;
    bool moved[MAX_DIMS] = {false}, taken[MAX_DIMS] = {false};
    (void)count;

    if (!need_tensor(eval, "movedim", &args[0]))
        return BAD;
    ndim = args[0].tensor->ndim;
    if (n != (args[2].kind == EV_TUPLE ? args[2].count : 1)) {
        diag_error(eval->cx, loc, "%s: source %s should contain the same number of dims as destination %s",
                   outer(eval, "movedim"), ev_text(eval, &args[1]), ev_text(eval, &args[2]));
        return BAD;
    }
    for (int i = 0; i < n; i++) {
        int from, to;

        if (!need_axis(eval, "movedim", args[1].kind == EV_TUPLE ? &args[1].items[i] : &args[1], ndim,
                       &from) ||
            !need_axis(eval, "movedim", args[2].kind == EV_TUPLE ? &args[2].items[i] : &args[2], ndim, &to))
            return BAD;
        if (moved[from] || taken[to]) {
            diag_error(eval->cx, loc, "%s: repeated dim in source %s or destination %s",
                       outer(eval, "movedim"), ev_text(eval, &args[1]), ev_text(eval, &args[2]));
            return BAD;
        }
        moved[from] = taken[to] = true;
        perm[to] = from;
    }
    for (int to = 0; to < ndim; to++) {
        if (taken[to])
            continue;
        while (moved[next])
            next++;
        perm[to] = next++;
    }
    return ev_tensor(loc, build_permute(eval, loc, args[0].tensor, perm));
}

static struct ev fn_unflatten(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[2 * MAX_DIMS];
    struct value part;
    const struct value *x;
    int axis, n;
    (void)count;

    if (!need_tensor(eval, "unflatten", &args[0]) ||
        !need_axis(eval, "unflatten", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    if (x->ndim == 0 || (args[2].kind == EV_TUPLE && args[2].count == 0)) {
        diag_error(eval->cx, loc, "unflatten takes a tensor with dimensions, and sizes");
        return BAD;
    }
    part = *x;
    part.ndim = 1;
    part.dims[0] = x->dims[axis];
    if (!need_shape(eval, "unflatten", &args[2], &part, dims + axis, &n))
        return BAD;
    if (x->ndim - 1 + n > MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return BAD;
    }
    memcpy(dims, x->dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis + n, x->dims + axis + 1, (size_t)(x->ndim - axis - 1) * sizeof *dims);
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, x->ndim - 1 + n, dims));
}

static struct ev fn_transpose(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], a, b;
    (void)count;

    if (!need_tensor(eval, "transpose", &args[0]) ||
        !need_axis(eval, "transpose", &args[1], args[0].tensor->ndim, &a) ||
        !need_axis(eval, "transpose", &args[2], args[0].tensor->ndim, &b))
        return BAD;
    for (int i = 0; i < MAX_DIMS; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    return ev_tensor(loc, build_permute(eval, loc, args[0].tensor, perm));
}

static struct ev fn_t(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int swap[MAX_DIMS] = {1, 0};
    (void)count;

    if (!need_tensor(eval, "t", &args[0]))
        return BAD;
    if (args[0].tensor->ndim > 2) {
        diag_error(eval->cx, loc, "t takes a tensor of at most two dimensions, found %s",
                   shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims));
        return BAD;
    }
    return args[0].tensor->ndim < 2 ? args[0]
                                    : ev_tensor(loc, build_permute(eval, loc, args[0].tensor, swap));
}

struct value *insert_axis(struct eval *eval, struct loc loc, struct value *x, int axis)
{
    const struct dim *dims[MAX_DIMS];

    if (x->ndim == MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return NULL;
    }
    memcpy(dims, x->dims, sizeof(dims[0]) * (size_t)axis);
    dims[axis] = dim_const(&eval->cx->arena, 1);
    memcpy(dims + axis + 1, x->dims + axis, sizeof(dims[0]) * (size_t)(x->ndim - axis));
    return build_reshape(eval, loc, x, x->ndim + 1, dims);
}

static struct ev fn_unsqueeze(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    (void)count;

    if (!need_tensor(eval, "unsqueeze", &args[0]) ||
        !need_axis(eval, "unsqueeze", &args[1], args[0].tensor->ndim + 1, &axis))
        return BAD;
    return ev_tensor(loc, insert_axis(eval, loc, args[0].tensor, axis));
}

static struct ev fn_squeeze(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    const struct value *x;
    bool axes[MAX_DIMS];
    int n = 0;
    (void)count;

    if (!need_tensor(eval, "squeeze", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (args[1].kind == EV_TUPLE && args[1].count == 0)
        return args[0];
    if (!need_axes(eval, "squeeze", &args[1], x->ndim, axes))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        if (axes[i] && !dim_is_const(x->dims[i], NULL) && dim_lower(x->dims[i]) <= 1 &&
            dim_upper(x->dims[i]) >= 1) {
            diag_error(eval->cx, loc, "squeeze: dimension %d is %s, which is 1 for some sizes only", i,
                       dim_text(&eval->cx->arena, x->dims[i]));
            diag_hint(eval->cx, "name the dimension that is always 1, as x.squeeze(-1)");
            return BAD;
        }
        if (!axes[i] || !dim_equals(x->dims[i], 1))
            dims[n++] = x->dims[i];
    }
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
}

static struct ev fn_expand(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct ev sizes = args[1];
    const struct value *x;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "expand", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (sizes.kind == EV_TUPLE) { /* -1 keeps a dimension */
        int gap = sizes.count - x->ndim;

        sizes = ev_tuple(eval, sizes.loc, sizes.items, sizes.count);
        for (int i = gap < 0 ? 0 : gap; i < sizes.count; i++)
            if (sizes.items[i].kind == EV_INT && dim_equals(sizes.items[i].dim, -1))
                sizes.items[i].dim = x->dims[i - gap];
    }
    if (!need_shape(eval, "expand", &sizes, NULL, dims, &ndim))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        int at = ndim - x->ndim + i;

        if (at < 0 || (!dim_equals(x->dims[i], 1) && !dim_equal(x->dims[i], dims[at]))) {
            diag_error(eval->cx, loc, "expand: %s cannot become %s",
                       shape_text(&eval->cx->arena, x->ndim, x->dims),
                       shape_text(&eval->cx->arena, ndim, dims));
            return BAD;
        }
    }
    return ev_tensor(loc, build_expand(eval, loc, args[0].tensor, ndim, dims));
}

static struct ev fn_select(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    (void)count;

    if (!need_tensor(eval, "select", &args[0]) ||
        !need_axis(eval, "select", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    if (args[2].kind != EV_INT || args[0].tensor->ndim == 0) {
        diag_error(eval->cx, args[2].loc, "select takes an integer index into a dimension");
        return BAD;
    }
    return ev_tensor(loc, eval_select(eval, args[0].tensor, axis, &args[2]));
}

static struct ev fn_size(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev items[MAX_DIMS];
    int axis;
    (void)count;

    if (!need_tensor(eval, "size", &args[0]))
        return BAD;
    if (args[1].kind == EV_NONE) {
        for (int i = 0; i < args[0].tensor->ndim; i++)
            items[i] = ev_dim(loc, args[0].tensor->dims[i]);
        return ev_tuple(eval, loc, items, args[0].tensor->ndim);
    }
    if (!need_axis(eval, "size", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    if (args[0].tensor->ndim == 0) {
        diag_error(eval->cx, loc, "size: the tensor has no dimensions");
        return BAD;
    }
    return ev_dim(loc, args[0].tensor->dims[axis]);
}

/* How PyTorch would lay it out; false after an error: that is not known. */
static bool need_strides(struct eval *eval, const struct ev *x, struct value *strides)
{
    if (!need_tensor(eval, "stride", x))
        return false;
    if (build_strides(eval, x->tensor, strides))
        return true;
    diag_error(eval->cx, x->loc, "%s: how this tensor lies in memory is not known while generating",
               outer(eval, "stride"));
    diag_hint(eval->cx, "x.contiguous() lies row-major");
    return false;
}

static struct ev fn_stride(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value strides;
    struct ev items[MAX_DIMS];
    int axis;
    (void)count;

    if (!need_strides(eval, &args[0], &strides))
        return BAD;
    for (int i = 0; i < strides.ndim; i++)
        items[i] = ev_dim(loc, strides.strides[i]);
    if (args[1].kind == EV_NONE)
        return ev_tuple(eval, loc, items, strides.ndim);
    return need_axis(eval, "stride", &args[1], strides.ndim, &axis) ? items[axis] : BAD;
}

static struct ev fn_is_contiguous(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *stride = dim_const(&eval->cx->arena, 1);
    struct value x;
    bool dense = true;
    (void)count;

    if (!need_strides(eval, &args[0], &x))
        return BAD;
    for (int i = x.ndim - 1; i >= 0 && dense; i--) {
        dense = dim_equals(x.dims[i], 1) || dim_equal(x.strides[i], stride);
        if (!dense && !dim_is_const(x.dims[i], NULL)) { /* with one element along it the axis has no say */
            diag_error(eval->cx, args[0].loc, "whether this tensor is contiguous depends on sizes");
            diag_hint(eval->cx, "x.contiguous() always is");
            return BAD;
        }
        stride = dim_mul(&eval->cx->arena, stride, x.dims[i]);
    }
    return ev_bool(loc, dense || dim_equals(dims_count(&eval->cx->arena, &x), 0));
}

static struct ev fn_numel(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "numel", &args[0]))
        return BAD;
    return ev_dim(loc, dims_count(&eval->cx->arena, args[0].tensor));
}

static struct ev fn_clone(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "clone", &args[0]) ? ev_tensor(loc, build_copy(eval, loc, args[0].tensor)) : BAD;
}

static struct ev fn_contiguous(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "contiguous", &args[0])
               ? ev_tensor(loc, build_contiguous(eval, loc, args[0].tensor))
               : BAD;
}

/* The same elements, through which no gradient flows back. */
static struct ev fn_detach(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x = args[0].tensor;
    struct op *op;
    (void)count;

    if (!need_tensor(eval, "detach", &args[0]))
        return BAD;
    if (!eval->graph || !eval->graph->saves)
        return args[0];
    op = op_new(eval, GRAPH_OP_VIEW, "detach", &x, 1);
    op->loc = loc;
    op->view.kind = VIEW_RESHAPE;
    op->view.detached = true;
    graph_value(eval->graph, op, x->dtype, x->ndim, x->dims);
    graph_append(eval->graph, op);
    return ev_tensor(loc, op->outputs[0]);
}

static struct ev fn_ndim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "dim", &args[0]) ? ev_int(eval, loc, args[0].tensor->ndim) : BAD;
}

static struct ev fn_flip(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool axes[MAX_DIMS];
    struct value *x;
    (void)count;

    if (!need_tensor(eval, "flip", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (args[1].kind == EV_TUPLE && args[1].count == 0)
        return args[0];
    if (!need_axes(eval, "flip", &args[1], x->ndim, axes))
        return BAD;
    for (int i = 0; i < x->ndim; i++)
        if (axes[i])
            x = build_flip(eval, loc, x, i);
    return ev_tensor(loc, x);
}

static struct ev fn_unfold(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t numbers[3] = {0, 0, 1}; /* size, step, dilation */
    struct value *x;
    int axis;

    if (!need_tensor(eval, "unfold", &args[0]) ||
        !need_axis(eval, "unfold", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    for (int i = 2; i < count; i++) {
        if (!need_int(eval, "unfold", &args[i], &numbers[i - 2]))
            return BAD;
        if (numbers[i - 2] >= (i > 2) && numbers[i - 2] <= INT32_MAX)
            continue;
        diag_error(eval->cx, args[i].loc, "%s: %s must be %s, found %lld", outer(eval, "unfold"),
                   i == 2 ? "size" : "step", i == 2 ? "0 or more" : "positive", (long long)numbers[i - 2]);
        return BAD;
    }
    x = args[0].tensor;
    if (x->ndim == 0)
        x = build_reshape(eval, loc, x, 1, (const struct dim *[]){dim_const(&eval->cx->arena, 1)});
    return ev_tensor(
        loc, x ? build_window(eval, loc, outer(eval, "unfold"), x, axis, numbers[0], numbers[1], numbers[2])
               : NULL);
}

extern const struct function_row shape_functions[];

const struct function_row shape_functions[] = {
    {"reshape(input, shape)", TORCH | METHOD | VARARGS | VIEW, .build = fn_reshape},
    {"flatten(input, start_dim=0, end_dim=-1)", TORCH | METHOD | VIEW, .build = fn_flatten},
    {"permute(input, dims)", TORCH | METHOD | VARARGS | VIEW, .build = fn_permute},
    {"transpose(input, dim0, dim1)", TORCH | METHOD | VIEW, .build = fn_transpose},
    {"swapaxes(input, axis0, axis1)", TORCH | METHOD | VIEW, .build = fn_transpose},
    {"swapdims(input, dim0, dim1)", TORCH | METHOD | VIEW, .build = fn_transpose},
    {"movedim(input, source, destination)", TORCH | METHOD | VIEW, .build = fn_movedim},
    {"moveaxis(input, source, destination)", TORCH | METHOD | VIEW, .build = fn_movedim},
    {"t(input)", TORCH | METHOD | VIEW, .build = fn_t},
    {"adjoint(input)", TORCH | METHOD | VIEW, .body = "return input.mT"},
    {"ravel(input)", TORCH | METHOD | VIEW, .body = "return input.flatten()"},
    {"unflatten(input, dim, sizes)", TORCH | METHOD | VIEW, .build = fn_unflatten},
    {"view_as(input, other)", METHOD | VIEW, .body = "return input.view(other.shape)"},
    {"reshape_as(input, other)", METHOD | VIEW, .body = "return input.reshape(other.shape)"},
    {"expand_as(input, other)", METHOD | VIEW, .body = "return input.expand(other.shape)"},
    {"broadcast_to(input, size)", TORCH | METHOD | VIEW, .build = fn_expand},
    {"fliplr(input)", TORCH | METHOD, .body = "return _check_dims(input, 2, 8).flip(1)"},
    {"flipud(input)", TORCH | METHOD, .body = "return _check_dims(input, 1, 8).flip(0)"},
    {"unsqueeze(input, dim)", TORCH | METHOD | VIEW, .build = fn_unsqueeze},
    {"squeeze(input, dim=None)", TORCH | METHOD | VIEW, .build = fn_squeeze},
    {"expand(input, size)", METHOD | VARARGS | VIEW, .build = fn_expand},
    {"select(input, dim, index)", TORCH | METHOD | VIEW, .build = fn_select},
    {"flip(input, dims)", TORCH | METHOD | VARARGS, .build = fn_flip},
    {"unfold(input, dimension, size, step)", METHOD | VIEW, .build = fn_unfold},
    {"_windows(input, dimension, size, step, dilation)", HIDDEN | METHOD, .build = fn_unfold},
    {"size(input, dim=None)", METHOD, .build = fn_size},
    {"stride(input, dim=None)", METHOD, .build = fn_stride},
    {"is_contiguous(input)", METHOD, .build = fn_is_contiguous},
    {"element_size(input)", METHOD, .body = "return input.dtype.itemsize"},
    {"is_tensor(obj)", TORCH | FUNCTION_COMPLEX, .body = "return isinstance(obj, Tensor)"},
    {"numel(input)", TORCH | METHOD, .build = fn_numel},
    {"nelement(input)", METHOD, .build = fn_numel},
    {"dim(input)", METHOD, .build = fn_ndim},
    {"ndimension(input)", METHOD, .build = fn_ndim},
    {"clone(input)", TORCH | METHOD, .build = fn_clone},
    {"contiguous(input)", METHOD | VIEW, .build = fn_contiguous},
    {"detach(input)", TORCH | METHOD | VIEW, .build = fn_detach},
    {.signature = NULL},
};
