/* pool.c - pooling: windows of an image, of which one number is left.
 *
 * Largest values and means are the op `pool`, over two axes of space at a time; both of three axes are those along the
 * first of those along the others. Windows of different lengths are pool_uneven.c's.
 *
 * note [places]
 * Where the place of the largest element is asked for, and where windows are of different lengths, the windows are a
 * tensor: (lead, o..., k...), for `lead` planes, o... windows along each axis of space and k... cells in each. With it go the
 * cells: for each axis the int64 place in the image of cell k of window o. A cell that is none of the window's own stands
 * for one that is, so that it can be looked at twice but never found where there is nothing. */
#include "functions/pool.h"

#include <math.h>
#include <string.h>

static const char *const batched_text[MAX_RANK] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                                   "(N, C, D, H, W) or (C, D, H, W)"};

bool pool_check_image(struct eval *eval, struct loc loc, const char *what, const struct ev *arg, int rank,
                      enum pool_integers integers, bool channels)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = arg->tensor;

    if (!need_tensor(eval, what, arg))
        return false;
    if (x->ndim != rank + 1 && x->ndim != rank + 2) {
        diag_error(eval->cx, loc, "%s takes %s, found %s", outer(eval, what), batched_text[rank - 1],
                   shape_text(arena, x->ndim, x->dims));
        return false;
    }
    if (!dtype_is_float(x->dtype) && !(integers == POOL_INTEGERS && dtype_is_int(x->dtype)) &&
        !(integers == POOL_INT64 && x->dtype == DTYPE_INT64)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, what), dtype_rows[x->dtype].name);
        return false;
    }
    for (int i = x->ndim - rank - 1 + channels; i < x->ndim; i++) {
        if (dim_equals(x->dims[i], 0)) {
            diag_error(
                eval->cx, loc,
                "%s: expected input to have non-zero size for non-batch dimensions, but input has sizes %s with "
                "dimension %d being empty",
                outer(eval, what), shape_text(arena, x->ndim, x->dims), i);
            return false;
        }
        build_need(eval, dim_sub(arena, x->dims[i], dim_const(arena, 1)));
    }
    return true;
}

bool pool_read_sizes(struct eval *eval, const struct pool *pool, const char *name, const struct ev *arg,
                     int least, int *out)
{
    if (!need_ints(eval, name, arg, pool->rank, out))
        return false;
    for (int i = 0; i < pool->rank; i++) {
        if (out[i] >= least)
            continue;
        diag_error(eval->cx, arg->loc, "%s: %s must be greater than zero, but got %d",
                   outer(eval, pool->what), name, out[i]);
        return false;
    }
    return true;
}

/* From the first cell of a window to its last. */
static int64_t reach(const struct pool *pool, int i)
{
    return (int64_t)pool->dilation[i] * (pool->kernel[i] - 1) + 1;
}

/* kernel_size, stride and padding of a pool over x; the dilation was read. */
static bool read_windows(struct eval *eval, struct loc loc, struct pool *pool, const struct value *x,
                         const struct ev *kernel, const struct ev *stride, const struct ev *padding)
{
    struct arena *arena = &eval->cx->arena;

    if (stride->kind == EV_NONE || (stride->kind == EV_TUPLE && stride->count == 0))
        stride = kernel;
    if (!pool_read_sizes(eval, pool, "kernel_size", kernel, 1, pool->kernel) ||
        !pool_read_sizes(eval, pool, "stride", stride, 1, pool->stride) ||
        !pool_read_sizes(eval, pool, "padding", padding, 0, pool->padding))
        return false;
    for (int i = 0; i < pool->rank; i++) {
        const struct dim *whole = dim_add(arena, x->dims[x->ndim - pool->rank + i],
                                          dim_const(arena, 2 * pool->padding[i]));

        if (2 * pool->padding[i] > pool->kernel[i]) {
            diag_error(eval->cx, padding->loc,
                       "%s: padding should be at most half of kernel_size, found %d for %d",
                       outer(eval, pool->what), pool->padding[i], pool->kernel[i]);
            return false;
        }
        if (dim_upper(whole) + (pool->ceil_mode ? pool->stride[i] - 1 : 0) < reach(pool, i)) {
            diag_error(eval->cx, loc, "%s: %s: the window of %lld is larger than the padded image of %s",
                       outer(eval, pool->what), shape_text(arena, x->ndim, x->dims),
                       (long long)reach(pool, i), dim_text(arena, whole));
            return false;
        }
    }
    return true;
}

/* ---- by the op ----------------------------------------------------------------------------------------------- */

bool pool_takes_first(const struct eval *eval, const struct pool *pool)
{
    return pool->kind == POOL_MAX && eval->graph && eval->graph->saves;
}

/* x (n, c, h, w), where h and w are these axes of the pool, or -1: no axis. */
static struct value *pool_axes(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                               int h, int w, int divisor)
{
    struct op *op = op_new(eval, GRAPH_OP_POOL, pool->what, &x, 1);
    int axes[2] = {h, w};

    op->window.kind = pool->kind;
    op->window.groups = 1;
    op->window.ceil_mode = pool->ceil_mode;
    op->window.count_include_pad = pool->count_include_pad;
    op->window.divisor = divisor;
    for (int i = 0; i < 2; i++) {
        op->window.kernel[i] = axes[i] < 0 ? 1 : pool->kernel[axes[i]];
        op->window.stride[i] = axes[i] < 0 ? 1 : pool->stride[axes[i]];
        op->window.padding[i] = axes[i] < 0 ? 0 : pool->padding[axes[i]];
        op->window.dilation[i] = axes[i] < 0 ? 1 : pool->dilation[axes[i]];
    }
    return build_op(eval, loc, op);
}

/* (lead, d, h, w) along d: the other two are channels then, which lie next to each other as they are. */
static struct value *pool_depth(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[4] = {x->dims[0], x->dims[1], dim_const(arena, 1),
                                 dim_mul(arena, x->dims[2], x->dims[3])};
    struct value *y = build_reshape(eval, loc, x, 4, dims);

    y = y ? build_permute(eval, loc, y, (const int[]){0, 3, 1, 2}) : NULL;
    y = y ? pool_axes(eval, loc, pool, y, 0, -1, pool->divisor ? 1 : 0) : NULL;
    y = y ? build_permute(eval, loc, y, (const int[]){0, 2, 3, 1}) : NULL;
    if (!y)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    dims[1] = y->dims[1];
    return build_reshape(eval, loc, y, 4, dims);
}

struct value *pool_zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
                         const struct dim *const *dims)
{
    struct ev number = ev_int(eval, loc, 0);
    struct value *zero = build_scalar(eval, loc, &number);

    zero = zero ? build_cast(eval, loc, zero, dtype) : NULL;
    return zero ? build_expand(eval, loc, zero, ndim, dims) : NULL;
}

/* Of three axes, the first along the others: so the first of those elements that are as large is found first, which gets the
 * gradient. */
static struct value *max_pool_depth_last(struct eval *eval, struct loc loc, const struct pool *pool,
                                         struct value *x)
{
    struct arena *arena = &eval->cx->arena;
    struct value *planes = as_planes(eval, loc, x, 3), *y;
    const struct dim *dims[4] = {NULL, dim_const(arena, 1), planes ? planes->dims[2] : NULL,
                                 planes ? planes->dims[3] : NULL};

    if (!planes)
        return NULL;
    dims[0] = dim_mul(arena, planes->dims[0], planes->dims[1]);
    y = build_reshape(eval, loc, planes, 4, dims);
    y = y ? pool_axes(eval, loc, pool, y, 1, 2, 0) : NULL;
    if (!y)
        return NULL;
    memcpy(dims, y->dims, sizeof dims);
    dims[0] = planes->dims[0];
    dims[1] = planes->dims[1];
    y = build_reshape(eval, loc, y, 4, dims);
    y = y ? pool_depth(eval, loc, pool, y) : NULL;
    return as_images(eval, loc, y, x, 3);
}

struct value *pool_values(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                          bool planes)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *dims[MAX_DIMS], *four[4];
    int rank = pool->rank, channels = x->ndim - rank - 1, last = x->ndim - 1;
    struct value *y = x;

    memcpy(dims, x->dims, sizeof dims);
    four[0] = channels > 0 ? x->dims[0] : one;
    four[1] = x->dims[channels];
    if (rank == 3 && pool_takes_first(eval, pool))
        return max_pool_depth_last(eval, loc, pool, x);
    if (rank == 3) {
        y = as_planes(eval, loc, x, rank);
        y = y ? pool_depth(eval, loc, pool, y) : NULL;
        if (!y)
            return NULL;
        dims[last - 2] = four[1] = y->dims[1];
        four[0] = y->dims[0];
    }
    if (planes || rank == 3) {
        four[0] = dim_mul(arena, four[0], four[1]);
        four[1] = one;
    }
    four[2] = rank == 1 ? one : x->dims[last - 1];
    four[3] = x->dims[last];
    y = build_reshape(eval, loc, y, 4, four);
    y = y ? pool_axes(eval, loc, pool, y, rank - 2, rank - 1, pool->divisor) : NULL;
    if (!y)
        return NULL;
    if (rank > 1)
        dims[last - 1] = y->dims[2];
    dims[last] = y->dims[3];
    if (dim_equals(dims_count(arena, y), 0)) /* then nothing runs */
        return pool_zeros(eval, loc, y->dtype, x->ndim, dims);
    return build_reshape(eval, loc, y, x->ndim, dims);
}

/* ---- by windows: see note [places] --------------------------------------------------------------------------- */

/* The cells of a pool along an axis of `in` elements. What lies in the padding stands for the next cell of its window
 * that does not; where none does, for the first behind the image. */
static struct value *pool_cells(struct eval *eval, struct loc loc, const struct pool *pool, int axis,
                                const struct dim *in, const struct dim *out)
{
    struct arena *a = &eval->cx->arena;
    struct dag *dag = dag_new(a, 2);
    int zero = dag_integer(a, dag, DTYPE_INT64, 0),
        dilation = dag_integer(a, dag, DTYPE_INT64, pool->dilation[axis]);
    int last = dag_dim(a, dag, dim_sub(a, in, dim_const(a, 1))), cell, back;

    cell = dag_int64(a, dag, PRIM_MUL, dag_load(a, dag, 0, DTYPE_INT64),
                     dag_integer(a, dag, DTYPE_INT64, pool->stride[axis]));
    cell = dag_int64(a, dag, PRIM_SUB, cell, dag_integer(a, dag, DTYPE_INT64, pool->padding[axis]));
    cell = dag_int64(a, dag, PRIM_ADD, cell,
                     dag_int64(a, dag, PRIM_MUL, dag_load(a, dag, 1, DTYPE_INT64), dilation));
    if (pool->padding[axis] > 0)
        cell = dag_where(a, dag, PRIM_LT, cell, zero, dag_int64(a, dag, PRIM_MOD, cell, dilation), cell);
    if (pool->padding[axis] > 0 || pool->ceil_mode) {
        back = dag_int64(a, dag, PRIM_MOD, dag_int64(a, dag, PRIM_SUB, last, cell), dilation);
        back = dag_int64(a, dag, PRIM_SUB, last, back);
        if (dim_lower(in) < pool->dilation[axis])
            back = dag_where(a, dag, PRIM_LT, back, zero, dag_int64(a, dag, PRIM_MOD, cell, dilation), back);
        cell = dag_where(a, dag, PRIM_GT, cell, last, back, cell);
    }
    dag->result = cell;
    return map_cells(eval, loc, "cells", dag, out, dim_const(a, pool->kernel[axis]), NULL);
}

/* What is less than, or as little as, all others. */
static struct ev lowest(struct eval *eval, struct loc loc, enum dtype dtype)
{
    if (dtype_is_float(dtype))
        return ev_float(loc, -INFINITY);
    return ev_int(eval, loc, dtype == DTYPE_UINT8 ? 0 : INT64_MIN >> (64 - 8 * dtype_rows[dtype].bytes));
}

/* x (lead, space...) as windows, with the lengths of `out` along each axis. */
static struct value *pool_windows(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                                  const struct dim *const *out)
{
    struct arena *arena = &eval->cx->arena;
    struct ev least = pool->kind == POOL_MAX ? lowest(eval, loc, x->dtype) : ev_int(eval, loc, 0);
    struct value *fill = build_scalar(eval, loc, &least);

    fill = fill ? build_cast(eval, loc, fill, x->dtype) : NULL;
    for (int i = 0; x && fill && i < pool->rank; i++) {
        int padding = pool->padding[i];

        x = pad_axis(eval, loc, PAD_CONSTANT, x, 1 + i, dim_const(arena, padding),
                     dim_const(arena, padding + (pool->ceil_mode ? pool->stride[i] - 1 : 0)), fill);
        x = x ? build_window(eval, loc, pool->what, x, 1 + i, pool->kernel[i], pool->stride[i],
                             pool->dilation[i])
              : NULL;
        x = x ? build_slice(eval, loc, x, 1 + i, dim_const(arena, 0), dim_const(arena, 1), out[i]) : NULL;
    }
    return x;
}

static struct value *reduce_windows(struct eval *eval, struct loc loc, struct value *windows, int rank,
                                    enum reduce_kind kind)
{
    bool axes[MAX_DIMS] = {false};

    for (int i = 0; i < rank; i++)
        axes[1 + rank + i] = true;
    return build_reduce(eval, loc, windows, kind, axes, false);
}

struct value *pool_reduce_windows(struct eval *eval, struct loc loc, struct value *windows, int rank)
{
    return reduce_windows(eval, loc, windows, rank, REDUCE_MAX);
}

struct value *pool_places(struct eval *eval, struct loc loc, int rank, struct value *windows,
                          struct value *most, struct value *const *cells, const struct dim *const *space)
{
    struct arena *a = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *one = dim_const(a, 1), *step = one;
    struct value *inputs[2 + MAX_RANK] = {windows}, *score;
    bool floating = dtype_is_float(windows->dtype);
    struct dag *dag = dag_new(a, 2 + rank);
    int x = dag_load(a, dag, 0, windows->dtype), y = dag_load(a, dag, 1, windows->dtype);
    int place = dag_integer(a, dag, DTYPE_INT64, 0), none = dag_integer(a, dag, DTYPE_INT64, -1), end, first,
        nan;

    for (int d = 0; d < 1 + 2 * rank; d++)
        dims[d] = d <= rank ? most->dims[d] : one;
    inputs[1] = build_reshape(eval, loc, most, 1 + 2 * rank, dims);
    for (int i = rank - 1; i >= 0; i--) {
        for (int d = 0; d < 1 + 2 * rank; d++) {
            dims[d] = d == 0 ? cells[i]->dims[0] : one;
        }
        dims[1 + i] = cells[i]->dims[1];
        dims[1 + rank + i] = cells[i]->dims[2];
        inputs[2 + i] = build_reshape(eval, loc, cells[i], 1 + 2 * rank, dims);
        place = dag_int64(
            a, dag, PRIM_ADD, place,
            dag_int64(a, dag, PRIM_MUL, dag_load(a, dag, 2 + i, DTYPE_INT64), dag_dim(a, dag, step)));
        step = dim_mul(a, step, space[i]);
    }
    end = dag_dim(a, dag, dim_sub(a, step, one));
    first = dag_where(a, dag, PRIM_EQ, x, y, dag_int64(a, dag, PRIM_SUB, end, place), none);
    nan = dag_int64(a, dag, PRIM_ADD, dag_dim(a, dag, step), place);
    dag->result = floating ? dag_where(a, dag, PRIM_NE, x, x, nan, first) : first;
    score = build_map(eval, loc, "score", dag, inputs, 2 + rank);
    score = score ? pool_reduce_windows(eval, loc, score, rank) : NULL;
    if (!score)
        return NULL;
    dag = dag_new(a, 1);
    place = dag_load(a, dag, 0, DTYPE_INT64);
    end = dag_dim(a, dag, dim_sub(a, step, one));
    first = dag_int64(a, dag, PRIM_SUB, end, place);
    nan = dag_int64(a, dag, PRIM_SUB, place, dag_dim(a, dag, step));
    dag->result = floating ? dag_where(a, dag, PRIM_GT, place, end, nan, first) : first;
    return build_map(eval, loc, "place", dag, &score, 1);
}

struct ev pool_with_indices(struct eval *eval, struct loc loc, struct value *values, struct value *indices)
{
    struct ev items[2] = {ev_tensor(loc, values), ev_tensor(loc, indices)};

    return values && indices ? ev_tuple(eval, loc, items, 2) : BAD;
}

/* ---- pools of one size ---------------------------------------------------------------------------------------- */

struct ev pool_max_by_windows(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                              bool with_places)
{
    struct value *planes = as_planes(eval, loc, x, pool->rank), *most, *windows, *cells[MAX_RANK], *indices;
    const struct dim *out[MAX_RANK];

    if (!planes)
        return BAD;
    for (int i = 0; i < pool->rank; i++)
        out[i] = window_count(&eval->cx->arena, planes->dims[1 + i], reach(pool, i), pool->stride[i],
                              pool->padding[i], pool->ceil_mode);
    windows = pool_windows(eval, loc, pool, planes, out);
    if (!windows)
        return BAD;
    if (!dtype_is_float(x->dtype))
        most = pool_reduce_windows(eval, loc, windows, pool->rank);
    else if ((most = pool_values(eval, loc, pool, x, true)))
        most = as_planes(eval, loc, most, pool->rank);
    if (!with_places || !most)
        return ev_tensor(loc, as_images(eval, loc, most, x, pool->rank));
    for (int i = 0; i < pool->rank; i++)
        if (!(cells[i] = pool_cells(eval, loc, pool, i, planes->dims[1 + i], out[i])))
            return BAD;
    indices = pool_places(eval, loc, pool->rank, windows, most, cells, planes->dims + 1);
    return pool_with_indices(eval, loc, as_images(eval, loc, most, x, pool->rank),
                             as_images(eval, loc, indices, x, pool->rank));
}

/* max_poolNd(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) */
static struct ev max_pool(struct eval *eval, struct ev *args, struct loc loc, const char *what, int rank)
{
    struct pool pool = {.what = what, .rank = rank, .kind = POOL_MAX};
    bool indices;

    if (!need_bool(eval, "ceil_mode", &args[5], &pool.ceil_mode) ||
        !need_bool(eval, "return_indices", &args[6], &indices) ||
        !pool_check_image(eval, loc, what, &args[0], rank,
                          rank > 1 || indices ? POOL_INTEGERS : POOL_NO_INTEGERS, false) ||
        !pool_read_sizes(eval, &pool, "dilation", &args[4], 1, pool.dilation) ||
        !read_windows(eval, loc, &pool, args[0].tensor, &args[1], &args[2], &args[3]))
        return BAD;
    if (indices || !dtype_is_float(args[0].tensor->dtype))
        return pool_max_by_windows(eval, loc, &pool, args[0].tensor, indices);
    return ev_tensor(loc, pool_values(eval, loc, &pool, args[0].tensor, false));
}

/* What each window along an axis of `in` elements has of what means divide by, (1, out, 1). */
static struct value *window_lengths(struct eval *eval, struct loc loc, const struct pool *pool, int axis,
                                    const struct dim *in, const struct dim *out)
{
    struct arena *a = &eval->cx->arena;
    struct dag *dag = dag_new(a, 2);
    int64_t padding = pool->padding[axis], before = pool->count_include_pad ? padding : 0;
    int first = dag_int64(a, dag, PRIM_MUL, dag_load(a, dag, 0, DTYPE_INT64),
                          dag_integer(a, dag, DTYPE_INT64, pool->stride[axis]));
    int end;

    first = dag_int64(a, dag, PRIM_SUB, first, dag_integer(a, dag, DTYPE_INT64, padding));
    end = dag_int64(a, dag, PRIM_ADD, first, dag_integer(a, dag, DTYPE_INT64, pool->kernel[axis]));
    end = dag_int64(a, dag, PRIM_MIN, end, dag_dim(a, dag, dim_add(a, in, dim_const(a, before))));
    first = dag_int64(a, dag, PRIM_MAX, first, dag_integer(a, dag, DTYPE_INT64, -before));
    dag->result = dag_int64(a, dag, PRIM_SUB, end, first);
    return map_cells(eval, loc, "lengths", dag, out, dim_const(a, 1), NULL);
}

/* Of int64: sums, which wrap, divided and cut off towards 0. */
static struct ev integer_means(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x)
{
    struct arena *a = &eval->cx->arena;
    struct value *planes = as_planes(eval, loc, x, pool->rank), *inputs[1 + MAX_RANK], *windows;
    const struct dim *out[MAX_RANK], *dims[1 + MAX_RANK];
    struct dag *dag = dag_new(a, 1 + pool->rank);
    int sum = dag_load(a, dag, 0, DTYPE_INT64), none = dag_integer(a, dag, DTYPE_INT64, 0), area, down, up,
        rest;
    int count = 1;

    if (!planes)
        return BAD;
    for (int i = 0; i < pool->rank; i++)
        out[i] = window_count(a, planes->dims[1 + i], reach(pool, i), pool->stride[i], pool->padding[i],
                              pool->ceil_mode);
    windows = pool_windows(eval, loc, pool, planes, out);
    inputs[0] = windows ? reduce_windows(eval, loc, windows, pool->rank, REDUCE_SUM) : NULL;
    area = dag_integer(a, dag, DTYPE_INT64, pool->divisor ? pool->divisor : 1);
    for (int i = 0; i < pool->rank && !pool->divisor; i++, count++) {
        for (int d = 0; d < 1 + pool->rank; d++)
            dims[d] = d == 1 + i ? out[i] : dim_const(a, 1);
        inputs[count] = window_lengths(eval, loc, pool, i, planes->dims[1 + i], out[i]);
        inputs[count] = inputs[count] ? build_reshape(eval, loc, inputs[count], 1 + pool->rank, dims) : NULL;
        if (!inputs[count])
            return BAD;
        area = dag_int64(a, dag, PRIM_MUL, area, dag_load(a, dag, count, DTYPE_INT64));
    }
    down = dag_int64(a, dag, PRIM_FLOORDIV, sum, area);
    rest = dag_int64(a, dag, PRIM_MOD, sum, area);
    up = dag_int64(a, dag, PRIM_ADD, down, dag_integer(a, dag, DTYPE_INT64, 1));
    up = dag_where(a, dag, PRIM_EQ, rest, none, down, up);
    dag->result = dag_where(a, dag, PRIM_LT, down, none, up, down);
    if (!inputs[0])
        return BAD;
    return ev_tensor(loc,
                     as_images(eval, loc, build_map(eval, loc, "mean", dag, inputs, count), x, pool->rank));
}

/* avg_poolNd(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
static struct ev avg_pool(struct eval *eval, struct ev *args, int count, struct loc loc, const char *what,
                          int rank)
{
    struct pool pool = {.what = what, .rank = rank, .kind = POOL_AVG, .dilation = {1, 1, 1}};
    int64_t divisor = 0;

    if (!need_bool(eval, "ceil_mode", &args[4], &pool.ceil_mode) ||
        !need_bool(eval, "count_include_pad", &args[5], &pool.count_include_pad) ||
        !pool_check_image(eval, loc, what, &args[0], rank, POOL_INT64, false) ||
        !read_windows(eval, loc, &pool, args[0].tensor, &args[1], &args[2], &args[3]))
        return BAD;
    if (count > 6 && args[6].kind != EV_NONE) {
        if (!need_int(eval, "divisor_override", &args[6], &divisor))
            return BAD;
        if (divisor == 0 || divisor > INT32_MAX || divisor < -INT32_MAX) {
            diag_error(eval->cx, args[6].loc, "%s: divisor_override must be a nonzero 32-bit integer",
                       outer(eval, what));
            return BAD;
        }
    }
    pool.divisor = (int)divisor;
    for (int i = 0; rank == 3 && i < rank; i++) {
        const struct value *x = args[0].tensor;
        const struct dim *rest = dim_sub(&eval->cx->arena, x->dims[x->ndim - rank + i],
                                         dim_const(&eval->cx->arena, pool.kernel[i]));

        if (dim_upper(rest) < 0) {
            diag_error(eval->cx, loc, "%s: input image %s smaller than kernel size %d", outer(eval, what),
                       shape_text(&eval->cx->arena, rank, x->dims + x->ndim - rank), pool.kernel[i]);
            return BAD;
        }
        build_need(eval, rest);
    }
    if (!dtype_is_float(args[0].tensor->dtype))
        return integer_means(eval, loc, &pool, args[0].tensor);
    return ev_tensor(loc, pool_values(eval, loc, &pool, args[0].tensor, false));
}

#define POOLS(rank)                                                                                          \
    static struct ev fn_max_pool##rank##d(struct eval *eval, struct ev *args, int count, struct loc loc)     \
    {                                                                                                        \
        (void)count;                                                                                         \
        return max_pool(eval, args, loc, "max_pool" #rank "d", rank);                                        \
    }                                                                                                        \
    static struct ev fn_avg_pool##rank##d(struct eval *eval, struct ev *args, int count, struct loc loc)     \
    {                                                                                                        \
        return avg_pool(eval, args, count, loc, "avg_pool" #rank "d", rank);                                 \
    }
POOLS(1)
POOLS(2)
POOLS(3)

/* ---- power averages ------------------------------------------------------------------------------------------ */

/* The cells of a window: what the sum of powers is of. */
static struct ev fn_lp_cells(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int kernel[MAX_RANK], cells = 1;
    int64_t rank;
    double power;
    (void)count;

    if (!ev_get_number(&args[0], &power) || power == 0) {
        diag_error(eval->cx, args[0].loc, "%s: norm_type must be a non-zero value, but got %s",
                   outer(eval, "lp_pool"), ev_text(eval, &args[0]));
        return BAD;
    }
    if (!need_int(eval, "rank", &args[2], &rank) ||
        !need_ints(eval, "kernel_size", &args[1], (int)rank, kernel))
        return BAD;
    for (int i = 0; i < rank; i++)
        cells *= kernel[i];
    return ev_int(eval, loc, cells);
}

/* ---- maxima back to their places ----------------------------------------------------------------------------- */

/* The space that the call wants: of all that a pool would make `x` of, that without what it leaves out, or as given. */
static bool unpool_size(struct eval *eval, struct loc loc, const struct pool *pool, const struct value *x,
                        const struct ev *arg, const struct dim **out)
{
    struct arena *arena = &eval->cx->arena;
    int rank = pool->rank, skip = arg->count == rank + 2 ? 2 : 0;

    if (arg->kind != EV_NONE && (arg->kind != EV_TUPLE || arg->count - skip != rank)) {
        diag_error(eval->cx, arg->loc,
                   "%s: output_size should be a sequence containing %d or %d elements, found %s",
                   outer(eval, pool->what), rank, rank + 2, ev_text(eval, arg));
        return false;
    }
    for (int i = 0; i < rank; i++) {
        const struct dim *in = x->dims[x->ndim - rank + i], *one = dim_const(arena, 1), *below, *above;
        const struct dim *stride = dim_const(arena, pool->stride[i]);
        const struct dim *own = dim_add(arena, dim_mul(arena, dim_sub(arena, in, one), stride),
                                        dim_const(arena, pool->kernel[i] - 2 * pool->padding[i]));

        out[i] = own;
        if (arg->kind == EV_TUPLE) {
            const struct ev *item = &arg->items[i + skip];

            if (item->kind != EV_INT) {
                diag_error(eval->cx, item->loc, "%s: output_size takes integers, found %s",
                           outer(eval, pool->what), ev_text(eval, item));
                return false;
            }
            out[i] = item->dim;
            below = dim_sub(arena, out[i], dim_add(arena, dim_sub(arena, own, stride), one));
            above = dim_sub(arena, dim_sub(arena, dim_add(arena, own, stride), one), out[i]);
            if (dim_upper(below) < 0 || dim_upper(above) < 0) {
                diag_error(eval->cx, item->loc,
                           "%s: invalid output_size %s (dim %d must be between %s and %s)",
                           outer(eval, pool->what), ev_text(eval, arg), i,
                           dim_text(arena, dim_sub(arena, own, stride)),
                           dim_text(arena, dim_add(arena, own, stride)));
                return false;
            }
            build_need(eval, below);
            build_need(eval, above);
        }
        if (dim_upper(out[i]) < 0) {
            diag_error(eval->cx, loc,
                       "%s: output_size must contain non-negative spatial dimensions, but got %s",
                       outer(eval, pool->what), dim_text(arena, out[i]));
            return false;
        }
        build_need(eval, out[i]);
    }
    return true;
}

/* max_unpoolNd(input, indices, kernel_size, stride, padding, output_size) */
static struct ev max_unpool(struct eval *eval, struct ev *args, struct loc loc, const char *what, int rank)
{
    struct arena *arena = &eval->cx->arena;
    struct pool pool = {.what = what, .rank = rank};
    const struct ev *stride = args[3].kind == EV_NONE ? &args[2] : &args[3];
    const struct dim *out[MAX_RANK], *dims[MAX_DIMS], *lead, *plane, *cells;
    struct value *x, *index, *y, *flat[2];

    if (!pool_check_image(eval, loc, what, &args[0], rank, false, false) ||
        !need_index(eval, what, &args[1], false) ||
        !pool_read_sizes(eval, &pool, "kernel_size", &args[2], 1, pool.kernel) ||
        !pool_read_sizes(eval, &pool, "stride", stride, rank == 3, pool.stride) ||
        !pool_read_sizes(eval, &pool, "padding", &args[4], 0, pool.padding))
        return BAD;
    x = args[0].tensor;
    index = args[1].tensor;
    if (!dims_equal(x, index)) {
        diag_error(
            eval->cx, args[1].loc,
            "%s: expected shape of indices to be same as that of the input tensor %s but got indices with shape %s",
            outer(eval, what), shape_text(arena, x->ndim, x->dims),
            shape_text(arena, index->ndim, index->dims));
        return BAD;
    }
    if (!unpool_size(eval, loc, &pool, x, &args[5], out))
        return BAD;
    memcpy(dims, x->dims, sizeof dims);
    lead = plane = cells = dim_const(arena, 1);
    for (int i = 0; i < x->ndim - rank; i++)
        lead = dim_mul(arena, lead, x->dims[i]);
    for (int i = 0; i < rank; i++) {
        cells = dim_mul(arena, cells, x->dims[x->ndim - rank + i]);
        plane = dim_mul(arena, plane, out[i]);
        dims[x->ndim - rank + i] = out[i];
    }
    y = pool_zeros(eval, loc, x->dtype, 2, (const struct dim *[]){lead, plane});
    flat[0] = build_reshape(eval, loc, index, 2, (const struct dim *[]){lead, cells});
    flat[1] = build_reshape(eval, loc, x, 2, (const struct dim *[]){lead, cells});
    if (!y || !flat[0] || !flat[1])
        return BAD;
    y = build_scatter(eval, loc, what, y, 1, flat[0], flat[1], PRIM_LOAD, true);
    return ev_tensor(loc, y ? build_reshape(eval, loc, y, x->ndim, dims) : NULL);
}

#define MAX_UNPOOL(rank)                                                                                     \
    static struct ev fn_max_unpool##rank##d(struct eval *eval, struct ev *args, int count, struct loc loc)   \
    {                                                                                                        \
        (void)count;                                                                                         \
        return max_unpool(eval, args, loc, "max_unpool" #rank "d", rank);                                    \
    }
MAX_UNPOOL(1)
MAX_UNPOOL(2)
MAX_UNPOOL(3)

/* ---- rows ---- */

/* Before numbers are drawn for it. */
static struct ev fn_check_image(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t rank;
    (void)count;

    if (!need_int(eval, "rank", &args[1], &rank) ||
        !pool_check_image(eval, loc, "fractional_max_pool", &args[0], (int)rank, false, false))
        return BAD;
    return ev_none(loc);
}

extern const struct function_row pool_functions[];

#define MAX_POOL_ARGS                                                                                        \
    "(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)"
#define TORCH_MAX_POOL_ARGS "(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)"
#define AVG_POOL_ARGS "(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"

#define ADAPTIVE_ARGS "(input, output_size, return_indices=False)"
#define LP_POOL_ARGS "(input, norm_type, kernel_size, stride=None, ceil_mode=False)"
#define LP_POOL(rank)                                                                                        \
    "cells = _lp_cells(norm_type, kernel_size, " rank ")\n"                                                  \
    "return (max_pool" rank "d(abs(input), kernel_size, stride, 0, 1, ceil_mode) if norm_type == inf "       \
    "else -max_pool" rank "d(-abs(input), kernel_size, stride, 0, 1, ceil_mode) if norm_type == -inf "       \
    "else _lp_root(avg_pool" rank                                                                            \
    "d(input ** norm_type, kernel_size, stride, 0, ceil_mode), cells, norm_type))"
#define FRACTIONAL_ARGS                                                                                      \
    "(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None)"
#define FRACTIONAL_MAX_POOL(rank)                                                                               \
    "_check_image(input, " rank ")\n"                                                                           \
    "n = 1 if input.ndim == 1 + " rank " else input.shape[0]\n"                                                 \
    "drawn = _random_samples == None\n"                                                                         \
    "samples = _uniform((n, input.shape[-1 - " rank "], " rank                                                  \
    ")).to(input.dtype) if drawn else _random_samples\n"                                                        \
    "return _fractional_max_pool(input, kernel_size, output_size, output_ratio, return_indices, samples, " rank \
    ")"
#define MAX_UNPOOL_ARGS "(input, indices, kernel_size, stride=None, padding=0, output_size=None)"

const struct function_row pool_functions[] = {
    {"max_pool1d" MAX_POOL_ARGS, FUNCTIONAL, .build = fn_max_pool1d},
    {"max_pool2d" MAX_POOL_ARGS, FUNCTIONAL, .build = fn_max_pool2d},
    {"max_pool3d" MAX_POOL_ARGS, FUNCTIONAL, .build = fn_max_pool3d},
    {"max_pool1d" TORCH_MAX_POOL_ARGS, TORCH,
     .body = "return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)"},
    {"max_pool2d" TORCH_MAX_POOL_ARGS, TORCH,
     .body = "return F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)"},
    {"max_pool3d" TORCH_MAX_POOL_ARGS, TORCH,
     .body = "return F.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)"},
    {"avg_pool1d" AVG_POOL_ARGS ")", FUNCTIONAL | TORCH, .build = fn_avg_pool1d},
    {"avg_pool2d" AVG_POOL_ARGS ", divisor_override=None)", FUNCTIONAL, .build = fn_avg_pool2d},
    {"avg_pool3d" AVG_POOL_ARGS ", divisor_override=None)", FUNCTIONAL, .build = fn_avg_pool3d},
    {"adaptive_max_pool1d" ADAPTIVE_ARGS, FUNCTIONAL, .build = fn_adaptive_max_pool1d},
    {"adaptive_max_pool2d" ADAPTIVE_ARGS, FUNCTIONAL, .build = fn_adaptive_max_pool2d},
    {"adaptive_max_pool3d" ADAPTIVE_ARGS, FUNCTIONAL, .build = fn_adaptive_max_pool3d},
    {"adaptive_max_pool1d(input, output_size)", TORCH,
     .body = "return F.adaptive_max_pool1d(input, output_size, True)"},
    {"adaptive_avg_pool1d(input, output_size)", FUNCTIONAL | TORCH, .build = fn_adaptive_avg_pool1d},
    {"adaptive_avg_pool2d(input, output_size)", FUNCTIONAL, .build = fn_adaptive_avg_pool2d},
    {"adaptive_avg_pool3d(input, output_size)", FUNCTIONAL, .build = fn_adaptive_avg_pool3d},
    {"lp_pool1d" LP_POOL_ARGS, FUNCTIONAL, .body = LP_POOL("1")},
    {"lp_pool2d" LP_POOL_ARGS, FUNCTIONAL, .body = LP_POOL("2")},
    {"lp_pool3d" LP_POOL_ARGS, FUNCTIONAL, .body = LP_POOL("3")},
    {"_lp_cells(norm_type, kernel_size, rank)", HIDDEN, .build = fn_lp_cells},
    {"_lp_root(x, cells, norm_type)", HIDDEN,
     .body = "return (sign(x) * relu(abs(x)) * cells) ** (1.0 / norm_type)"},
    {"max_unpool1d" MAX_UNPOOL_ARGS, FUNCTIONAL, .build = fn_max_unpool1d},
    {"max_unpool2d" MAX_UNPOOL_ARGS, FUNCTIONAL, .build = fn_max_unpool2d},
    {"max_unpool3d" MAX_UNPOOL_ARGS, FUNCTIONAL, .build = fn_max_unpool3d},
    {"fractional_max_pool2d" FRACTIONAL_ARGS, FUNCTIONAL, .body = FRACTIONAL_MAX_POOL("2")},
    {"fractional_max_pool3d" FRACTIONAL_ARGS, FUNCTIONAL, .body = FRACTIONAL_MAX_POOL("3")},
    {"_fractional_max_pool(input, kernel_size, output_size, output_ratio, return_indices, samples, rank)",
     HIDDEN, .build = fn_fractional_max_pool},
    {"_check_image(input, rank)", HIDDEN, .build = fn_check_image},
    {.signature = NULL},
};
