/* join.c - tensors joined to one, and one taken apart. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* ---- joining ------------------------------------------------------------------------------------------------ */

static bool need_tensors(struct eval *eval, const char *what, const struct ev *list)
{
    if (list->kind != EV_TUPLE || list->count == 0) {
        diag_error(eval->cx, list->loc, "%s takes a list of tensors, found %s", outer(eval, what),
                   list->kind == EV_TUPLE ? "an empty one" : ev_kind_text(list));
        return false;
    }
    for (int i = 0; i < list->count; i++)
        if (!need_tensor(eval, what, &list->items[i]))
            return false;
    return true;
}

/* cat leaves out (0), whatever the others are. */
static bool is_nothing(const struct value *x)
{
    return x->ndim == 1 && dim_equals(x->dims[0], 0);
}

static struct value *concat(struct eval *eval, struct loc loc, struct value **inputs, int count, int axis)
{
    enum dtype dtype = inputs[0]->dtype;

    for (int i = 1; i < count; i++)
        dtype = dtype_promote(dtype, inputs[i]->dtype);
    for (int i = 0; i < count; i++)
        if (!(inputs[i] = build_cast(eval, loc, inputs[i], dtype)))
            return NULL;
    return build_concat(eval, loc, "cat", inputs, count, axis);
}

static struct ev fn_cat(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value **inputs, *out;
    enum dtype dtype = DTYPE_BOOL;
    int axis, used = 0;
    (void)count;

    if (!need_tensors(eval, "cat", &args[0]))
        return BAD;
    inputs = ARENA_ARRAY(&eval->cx->arena, args[0].count, struct value *);
    for (int i = 0; i < args[0].count; i++) {
        struct value *x = args[0].items[i].tensor;

        if (x->ndim == 0) {
            diag_error(eval->cx, args[0].items[i].loc,
                       "cat takes tensors with dimensions, found a single number");
            diag_hint(eval->cx, "give it one first, as x.reshape(1)");
            return BAD;
        }
        dtype = i == 0 ? x->dtype : dtype_promote(dtype, x->dtype);
        if (!is_nothing(x))
            inputs[used++] = x;
    }
    if (used == 0)
        inputs[used++] = args[0].items[0].tensor;
    if (!need_axis(eval, "cat", &args[1], inputs[0]->ndim, &axis))
        return BAD;
    out = concat(eval, loc, inputs, used, axis);
    return ev_tensor(loc, out ? build_cast(eval, loc, out, dtype) : NULL);
}

static struct ev fn_stack(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value **inputs;
    int axis;
    (void)count;

    if (!need_tensors(eval, "stack", &args[0]) ||
        !need_axis(eval, "stack", &args[1], args[0].items[0].tensor->ndim + 1, &axis))
        return BAD;
    inputs = ARENA_ARRAY(&eval->cx->arena, args[0].count, struct value *);
    for (int i = 0; i < args[0].count; i++) {
        struct value *first = args[0].items[0].tensor, *x = args[0].items[i].tensor;

        if (!dims_equal(first, x)) {
            diag_error(eval->cx, args[0].items[i].loc,
                       "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
                       shape_text(&eval->cx->arena, first->ndim, first->dims),
                       shape_text(&eval->cx->arena, x->ndim, x->dims), i);
            return BAD;
        }
        inputs[i] = insert_axis(eval, loc, x, axis);
        if (!inputs[i])
            return BAD;
    }
    return ev_tensor(loc, concat(eval, loc, inputs, args[0].count, axis));
}

/* note [at least]
 * With `ndim` dimensions: further ones come before, for three of them one comes behind, so that (n) is (1, n, 1). */
static struct value *at_least(struct eval *eval, struct loc loc, struct value *x, int ndim)
{
    while (x && x->ndim < ndim)
        x = insert_axis(eval, loc, x, x->ndim == 2 ? 2 : 0);
    return x;
}

/* What a list, or one tensor, is with at least `ndim` dimensions. */
static struct ev fn_at_least(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev out = args[0];
    int64_t ndim;
    (void)count;

    if (out.kind == EV_TUPLE && out.count == 1 && out.items[0].kind == EV_TUPLE)
        out = out.items[0];
    if (!need_int(eval, "this", &args[1], &ndim) || !need_tensors(eval, "this", &out))
        return BAD;
    out = ev_tuple(eval, loc, out.items, out.count);
    for (int i = 0; i < out.count; i++) {
        out.items[i] = ev_tensor(loc, at_least(eval, loc, out.items[i].tensor, (int)ndim));
        if (out.items[i].kind == EV_BAD)
            return BAD;
    }
    return out;
}

/* 1-D tensors of a list as columns. */
static struct ev fn_columns(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev out;
    (void)count;

    if (!need_tensors(eval, "column_stack", &args[0]))
        return BAD;
    out = ev_tuple(eval, loc, args[0].items, args[0].count);
    for (int i = 0; i < out.count; i++) {
        struct value *x = at_least(eval, loc, out.items[i].tensor, 1);

        out.items[i] = ev_tensor(loc, x && x->ndim == 1 ? insert_axis(eval, loc, x, 1) : x);
        if (out.items[i].kind == EV_BAD)
            return BAD;
    }
    return out;
}

/* torch.atleast_2d(x) is a tensor, of several tensors a tuple. */
static struct ev fn_only(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count, (void)loc;
    return args[0].kind == EV_TUPLE && args[0].count == 1 ? args[0].items[0] : args[0];
}

static struct ev fn_meshgrid(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev list = args[0], out;
    const struct dim *dims[MAX_DIMS];
    bool swapped = args[1].kind == EV_STRING && strcmp(args[1].text, "xy") == 0;
    (void)count;

    if (list.kind == EV_TUPLE && list.count == 1 && list.items[0].kind == EV_TUPLE)
        list = list.items[0];
    if (!need_tensors(eval, "meshgrid", &list))
        return BAD;
    if (args[1].kind != EV_NONE && !swapped &&
        !(args[1].kind == EV_STRING && strcmp(args[1].text, "ij") == 0)) {
        diag_error(eval->cx, args[1].loc, "meshgrid: indexing must be one of 'xy' or 'ij', but received %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    if (list.count > MAX_DIMS) {
        diag_error(eval->cx, list.loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return BAD;
    }
    swapped &= list.count >= 2;
    for (int i = 0; i < list.count; i++) {
        const struct value *x = list.items[i].tensor;

        if (x->ndim > 1 || x->dtype != list.items[0].tensor->dtype) {
            diag_error(eval->cx, list.items[i].loc,
                       "meshgrid takes tensors of one dtype with one dimension, found %s of %s",
                       shape_text(&eval->cx->arena, x->ndim, x->dims), dtype_rows[x->dtype].name);
            return BAD;
        }
        dims[swapped && i < 2 ? 1 - i : i] = x->ndim == 1 ? x->dims[0] : dim_const(&eval->cx->arena, 1);
    }
    out = ev_tuple(eval, loc, list.items, list.count);
    for (int i = 0; i < list.count; i++) {
        const struct dim *ones[MAX_DIMS];
        int at = swapped && i < 2 ? 1 - i : i;
        struct value *x;

        for (int d = 0; d < list.count; d++)
            ones[d] = d == at ? dims[d] : dim_const(&eval->cx->arena, 1);
        x = build_reshape(eval, loc, list.items[i].tensor, list.count, ones);
        out.items[i] = ev_tensor(loc, x ? build_expand(eval, loc, x, list.count, dims) : NULL);
        if (out.items[i].kind == EV_BAD)
            return BAD;
    }
    return out;
}

static struct ev fn_broadcast_tensors(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    struct ev list = args[0], out;
    int ndim = 0;
    (void)count;

    if (list.kind == EV_TUPLE && list.count == 1 && list.items[0].kind == EV_TUPLE)
        list = list.items[0];
    if (!need_tensors(eval, "broadcast_tensors", &list))
        return BAD;
    for (int i = 0; i < list.count; i++) {
        const struct value *x = list.items[i].tensor;

        if (!dims_broadcast(eval->cx, dims, &ndim, x)) {
            diag_error(eval->cx, list.items[i].loc, "broadcast_tensors: %s and %s do not broadcast",
                       shape_text(arena, ndim, dims), shape_text(arena, x->ndim, x->dims));
            return BAD;
        }
    }
    out = ev_tuple(eval, loc, list.items, list.count);
    for (int i = 0; i < list.count; i++)
        out.items[i] = ev_tensor(loc, build_expand(eval, loc, list.items[i].tensor, ndim, dims));
    return out;
}

/* ---- taking apart ------------------------------------------------------------------------------------------- */

/* Whether the axis is there, of a tensor with dimensions. */
static bool need_extent(struct eval *eval, const char *what, const struct ev *x, const struct ev *dim,
                        int *axis)
{
    if (!need_tensor(eval, what, x) || !need_axis(eval, what, dim, x->tensor->ndim, axis))
        return false;
    if (x->tensor->ndim > 0)
        return true;
    diag_error(eval->cx, x->loc, "%s: the tensor has no dimensions", outer(eval, what));
    return false;
}

/* How many parts there are must be known. */
static struct ev unknown_count(struct eval *eval, struct loc loc, const char *what, int axis,
                               const struct dim *extent)
{
    diag_error(eval->cx, loc,
               "%s: dimension %d is %s, and how many parts there are must be known while generating",
               outer(eval, what), axis, dim_text(&eval->cx->arena, extent));
    return BAD;
}

static struct value *part(struct eval *eval, struct loc loc, struct value *x, int axis,
                          const struct dim *start, const struct dim *length)
{
    return build_slice(eval, loc, x, axis, start, dim_const(&eval->cx->arena, 1), length);
}

/* Parts of `size`, of which the last may be smaller. */
static struct ev in_equal_parts(struct eval *eval, struct loc loc, const char *what, struct value *x,
                                int axis, const struct dim *size)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = x->dims[axis], *quotient;
    struct ev *items = NULL;
    int64_t parts, all, each;
    int n = 0;

    if (dim_is_const(extent, &all) && dim_is_const(size, &each))
        parts = all == 0 ? 1 : (all + each - 1) / each;
    else if (!dim_divides(arena, extent, size, &quotient) || !dim_is_const(quotient, &parts))
        return unknown_count(eval, loc, what, axis, extent);
    if (parts > EVAL_MAX_ITEMS)
        return unknown_count(eval, loc, what, axis, extent);
    for (int64_t i = 0; i < parts; i++) {
        const struct dim *start = dim_mul(arena, size, dim_const(arena, i)),
                         *rest = dim_sub(arena, extent, start);
        const struct dim *length = i + 1 < parts ? size : rest;

        ARENA_PUSH(arena, items, n, ev_tensor(loc, part(eval, loc, x, axis, start, length)));
    }
    return ev_tuple(eval, loc, items, n);
}

static struct ev fn_chunk(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent, *quotient;
    int64_t chunks, all;
    int axis;
    (void)count;

    if (!need_extent(eval, "chunk", &args[0], &args[2], &axis) || !need_int(eval, "chunk", &args[1], &chunks))
        return BAD;
    if (chunks <= 0) {
        diag_error(eval->cx, args[1].loc, "chunk needs a positive number of chunks, found %lld",
                   (long long)chunks);
        return BAD;
    }
    extent = args[0].tensor->dims[axis];
    if (dim_equals(extent, 0) && chunks <= EVAL_MAX_ITEMS) { /* as many of nothing */
        struct ev *items = ARENA_ARRAY(arena, chunks, struct ev);

        for (int64_t i = 0; i < chunks; i++)
            items[i] = args[0];
        return ev_tuple(eval, loc, items, (int)chunks);
    }
    if (dim_is_const(extent, &all))
        return in_equal_parts(eval, loc, "chunk", args[0].tensor, axis,
                              dim_const(arena, all / chunks + (all % chunks != 0)));
    if (!dim_divides(arena, extent, dim_const(arena, chunks), &quotient))
        return unknown_count(eval, loc, "chunk", axis, extent);
    return in_equal_parts(eval, loc, "chunk", args[0].tensor, axis, quotient);
}

/* Sizes that together are the dimension. */
static struct ev in_given_parts(struct eval *eval, struct loc loc, struct value *x, int axis,
                                const struct ev *sizes)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *at = dim_const(arena, 0);
    struct ev out = ev_tuple(eval, loc, sizes->items, sizes->count);

    for (int i = 0; i < sizes->count; i++) {
        const struct dim *length = sizes->items[i].dim;

        if (sizes->items[i].kind != EV_INT || dim_upper(length) < 0) {
            diag_error(eval->cx, sizes->items[i].loc, "split takes sizes that are not negative, found %s",
                       ev_text(eval, &sizes->items[i]));
            return BAD;
        }
        at = dim_add(arena, at, length);
    }
    if (!dim_equal(at, x->dims[axis])) {
        diag_error(
            eval->cx, sizes->loc,
            "split expects split_sizes to sum exactly to %s (input tensor's size at dimension %d), but got %s",
            dim_text(arena, x->dims[axis]), axis, ev_text(eval, sizes));
        return BAD;
    }
    at = dim_const(arena, 0);
    for (int i = 0; i < sizes->count; i++) {
        out.items[i] = ev_tensor(loc, part(eval, loc, x, axis, at, sizes->items[i].dim));
        at = dim_add(arena, at, sizes->items[i].dim);
    }
    return out;
}

static struct ev fn_split(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *size = &args[1];
    int axis;
    (void)count;

    if (!need_extent(eval, "split", &args[0], &args[2], &axis))
        return BAD;
    if (size->kind == EV_TUPLE)
        return in_given_parts(eval, loc, args[0].tensor, axis, size);
    if (size->kind != EV_INT || dim_upper(size->dim) < 0) {
        diag_error(eval->cx, size->loc, "split expects split_size be non-negative, but got split_size=%s",
                   ev_text(eval, size));
        return BAD;
    }
    if (dim_equals(size->dim, 0) && !dim_equals(args[0].tensor->dims[axis], 0)) {
        diag_error(eval->cx, size->loc,
                   "split: split_size can only be 0 if dimension size is 0, but got dimension size of %s",
                   dim_text(&eval->cx->arena, args[0].tensor->dims[axis]));
        return BAD;
    }
    return in_equal_parts(eval, loc, "split", args[0].tensor, axis, size->dim);
}

/* As many parts as asked for, of which the first ones may be larger by one; or parts that end at given places. */
static struct ev fn_tensor_split(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent, *at = dim_const(arena, 0), *zero = at;
    struct ev *items;
    int64_t parts;
    int axis;
    (void)count;

    if (!need_extent(eval, "tensor_split", &args[0], &args[2], &axis))
        return BAD;
    extent = args[0].tensor->dims[axis];
    if (args[1].kind == EV_TUPLE) {
        parts = args[1].count + 1;
    } else if (!need_int(eval, "tensor_split", &args[1], &parts)) {
        return BAD;
    } else if (parts <= 0 || parts > EVAL_MAX_ITEMS) {
        diag_error(eval->cx, args[1].loc, "tensor_split: number of sections must be larger than 0, got %lld",
                   (long long)parts);
        return BAD;
    }
    items = ARENA_ARRAY(arena, parts, struct ev);
    for (int64_t i = 0; i < parts; i++) {
        const struct dim *end = extent, *length;

        if (args[1].kind != EV_TUPLE) {
            length = dim_floordiv(arena, dim_add(arena, extent, dim_const(arena, parts - 1 - i)),
                                  dim_const(arena, parts));
            end = dim_add(arena, at, length);
        } else if (i + 1 < parts) {
            if (args[1].items[i].kind != EV_INT) {
                diag_error(eval->cx, args[1].items[i].loc, "tensor_split takes integers, found %s",
                           ev_text(eval, &args[1].items[i]));
                return BAD;
            }
            end = args[1].items[i].dim;
            if (dim_upper(end) < 0)
                end = dim_add(arena, end, extent);
            end = dim_min(arena, dim_max(arena, end, zero), extent);
        }
        length = dim_max(arena, dim_sub(arena, end, at), zero);
        items[i] = ev_tensor(loc, part(eval, loc, args[0].tensor, axis, at, length));
        at = end;
    }
    return ev_tuple(eval, loc, items, (int)parts);
}

static struct ev fn_unbind(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev *items;
    int64_t extent;
    int axis;
    (void)count;

    if (!need_extent(eval, "unbind", &args[0], &args[1], &axis))
        return BAD;
    if (!dim_is_const(args[0].tensor->dims[axis], &extent) || extent > EVAL_MAX_ITEMS)
        return unknown_count(eval, loc, "unbind", axis, args[0].tensor->dims[axis]);
    items = ARENA_ARRAY(&eval->cx->arena, extent + 1, struct ev);
    for (int64_t i = 0; i < extent; i++) {
        struct ev at = ev_int(eval, loc, i);

        items[i] = ev_tensor(loc, eval_select(eval, args[0].tensor, axis, &at));
    }
    return ev_tuple(eval, loc, items, (int)extent);
}

static struct ev fn_narrow(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent, *start, *length, *rest;
    int axis;
    (void)count;

    if (!need_extent(eval, "narrow", &args[0], &args[1], &axis))
        return BAD;
    for (int i = 2; i <= 3; i++) {
        const struct tensor *known = i == 2 && args[i].kind == EV_TENSOR ? args[i].tensor->constant : NULL;

        if (known && known->ndim == 0 && dtype_is_int(known->dtype))
            args[i] = ev_int(eval, args[i].loc, known->data[0].i);
        if (args[i].kind == EV_INT)
            continue;
        diag_error(eval->cx, args[i].loc, "narrow takes an integer as %s, found %s",
                   i == 2 ? "start" : "length", ev_text(eval, &args[i]));
        return BAD;
    }
    extent = args[0].tensor->dims[axis];
    start = args[2].dim;
    length = args[3].dim;
    if (dim_upper(start) < 0)
        start = dim_add(arena, start, extent);
    rest = dim_sub(arena, extent, dim_add(arena, start, length));
    if (dim_upper(length) < 0 || dim_upper(start) < 0 || dim_upper(rest) < 0) {
        diag_error(eval->cx, loc, "%s: start (%s) + length (%s) exceeds dimension size (%s)",
                   outer(eval, "narrow"), ev_text(eval, &args[2]), ev_text(eval, &args[3]),
                   dim_text(arena, extent));
        return BAD;
    }
    build_need(eval, start);
    build_need(eval, length);
    build_need(eval, rest);
    return ev_tensor(loc, part(eval, loc, args[0].tensor, axis, start, length));
}

/* input, of which dimension dim is cut at given places or into equal parts. */
static struct ev fn_check_split(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *quotient, *extent;
    const char *what = outer(eval, "hsplit");
    int64_t axis = 0, parts;
    (void)count;

    if (!need_tensor(eval, what, &args[0]) || !need_int(eval, what, &args[2], &axis))
        return BAD;
    if (args[1].kind == EV_TUPLE)
        return args[0];
    if (!need_int(eval, what, &args[1], &parts))
        return BAD;
    extent = args[0].tensor->dims[axis];
    if (parts > 0 && dim_divides(&eval->cx->arena, extent, dim_const(&eval->cx->arena, parts), &quotient))
        return args[0];
    diag_error(
        eval->cx, args[1].loc,
        "torch.%s attempted to split along dimension %d, but the size of the dimension %s is not divisible by the split_size %lld!",
        what, (int)axis, dim_text(&eval->cx->arena, extent), (long long)parts);
    return BAD;
}

extern const struct function_row join_functions[];

const struct function_row join_functions[] = {
    {"cat(tensors, dim=0)", TORCH, .build = fn_cat},
    {"concat(tensors, dim=0)", TORCH, .build = fn_cat},
    {"concatenate(tensors, dim=0)", TORCH, .build = fn_cat},
    {"stack(tensors, dim=0)", TORCH, .build = fn_stack},
    {"hstack(tensors)", TORCH,
     .body = "x = _at_least(tensors, 1)\n"
             "return cat(x, 0 if x[0].ndim == 1 else 1)"},
    {"vstack(tensors)", TORCH, .body = "return cat(_at_least(tensors, 2), 0)"},
    {"row_stack(tensors)", TORCH, .body = "return cat(_at_least(tensors, 2), 0)"},
    {"dstack(tensors)", TORCH, .body = "return cat(_at_least(tensors, 3), 2)"},
    {"column_stack(tensors)", TORCH, .body = "return cat(_columns(tensors), 1)"},
    {"_at_least(tensors, ndim)", HIDDEN, .build = fn_at_least},
    {"_columns(tensors)", HIDDEN, .build = fn_columns},
    {"_only(tensors)", HIDDEN, .build = fn_only},
    {"atleast_1d(tensors)", TORCH | FUNCTION_SIZES | VIEW, .body = "return _only(_at_least(tensors, 1))"},
    {"atleast_2d(tensors)", TORCH | FUNCTION_SIZES | VIEW, .body = "return _only(_at_least(tensors, 2))"},
    {"atleast_3d(tensors)", TORCH | FUNCTION_SIZES | VIEW, .body = "return _only(_at_least(tensors, 3))"},
    {"meshgrid(tensors, indexing=None)", TORCH | FUNCTION_SIZES | VIEW, .build = fn_meshgrid},
    {"broadcast_tensors(tensors)", TORCH | FUNCTION_SIZES | VIEW, .build = fn_broadcast_tensors},
    {"chunk(input, chunks, dim=0)", TORCH | METHOD | VIEW, .build = fn_chunk},
    {"split(tensor, split_size_or_sections, dim=0)", TORCH | VIEW, .build = fn_split},
    {"split(tensor, split_size, dim=0)", METHOD | VIEW, .build = fn_split},
    {"split_with_sizes(input, split_sizes, dim=0)", TORCH | METHOD | VIEW, .build = fn_split},
    {"tensor_split(input, indices_or_sections, dim=0)", TORCH | METHOD | VIEW, .build = fn_tensor_split},
    {"hsplit(input, indices_or_sections)", TORCH | VIEW,
     .body = "return _hsplit(input, indices_or_sections)"},
    {"hsplit(input, indices)", METHOD | VIEW, .body = "return _hsplit(input, indices)"},
    {"_hsplit(input, indices)", HIDDEN,
     .body = "return _split_at(_check_dims(input, 1, 8), indices, 0 if input.ndim == 1 else 1)"},
    {"vsplit(input, indices_or_sections)", TORCH | VIEW,
     .body = "return _split_at(_check_dims(input, 2, 8), indices_or_sections, 0)"},
    {"vsplit(input, indices)", METHOD | VIEW,
     .body = "return _split_at(_check_dims(input, 2, 8), indices, 0)"},
    {"dsplit(input, indices_or_sections)", TORCH | VIEW,
     .body = "return _split_at(_check_dims(input, 3, 8), indices_or_sections, 2)"},
    {"dsplit(input, indices)", METHOD | VIEW,
     .body = "return _split_at(_check_dims(input, 3, 8), indices, 2)"},
    {"_split_at(input, indices, dim)", HIDDEN,
     .body = "return _check_split(input, indices, dim).tensor_split(indices, dim)"},
    {"_check_split(input, indices, dim)", HIDDEN, .build = fn_check_split},
    {"unbind(input, dim=0)", TORCH | METHOD | VIEW, .build = fn_unbind},
    {"narrow(input, dim, start, length)", TORCH | METHOD | VIEW, .build = fn_narrow},
    {.signature = NULL},
};
