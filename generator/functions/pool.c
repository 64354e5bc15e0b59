/* pool.c - pooling: windows of an image, of which one number is left.
 *
 * Largest values and means are the op `pool`, over two axes of space at a time; both of three axes are those along the
 * first of those along the others.
 *
 * note [places]
 * Where the place of the largest element is asked for, and where windows are of different lengths, the windows are a
 * tensor: (lead, o..., k...), for `lead` planes, o... windows along each axis of space and k... cells in each. With it go the
 * cells: for each axis the int64 place in the image of cell k of window o. A cell that is none of the window's own stands
 * for one that is, so that it can be looked at twice but never found where there is nothing. */
#include <math.h>
#include <string.h>

#include "functions/space.h"
#include "graph/graph.h"

struct pool {
    const char *what; /* in messages */
    int rank;         /* axes of space */
    enum pool_kind kind;
    int kernel[MAX_RANK], stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK];
    bool ceil_mode, count_include_pad;
    int divisor; /* avg: 0 is the window */
};

static const char *const batched_text[MAX_RANK] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                                   "(N, C, D, H, W) or (C, D, H, W)"};

/* An image, or several: floating, or with `integers` of these too. There may be 0 images, with `channels` of 0 channels. */
static bool check_image(struct eval *eval, struct loc loc, const char *what, const struct ev *arg, int rank,
                        bool integers, bool channels)
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
    if (!dtype_is_float(x->dtype) && !(integers && dtype_is_int(x->dtype))) {
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

/* Whole numbers for each axis, at least `least`. */
static bool read_sizes(struct eval *eval, const struct pool *pool, const char *name, const struct ev *arg,
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
    if (!read_sizes(eval, pool, "kernel_size", kernel, 1, pool->kernel) ||
        !read_sizes(eval, pool, "stride", stride, 1, pool->stride) ||
        !read_sizes(eval, pool, "padding", padding, 0, pool->padding))
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

/* Of those elements of a window that are as large, the first gets the gradient. */
static bool takes_first(const struct eval *eval, const struct pool *pool)
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

static struct value *zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
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

/* The numbers of all windows. With `planes` each channel is an image of its own, so that elements keep their order in
 * memory; else channels come last there, as neighbours want it. */
static struct value *pool_values(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                                 bool planes)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *dims[MAX_DIMS], *four[4];
    int rank = pool->rank, channels = x->ndim - rank - 1, last = x->ndim - 1;
    struct value *y = x;

    memcpy(dims, x->dims, sizeof dims);
    four[0] = channels > 0 ? x->dims[0] : one;
    four[1] = x->dims[channels];
    if (rank == 3 && takes_first(eval, pool))
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
        return zeros(eval, loc, y->dtype, x->ndim, dims);
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
    struct ev least = lowest(eval, loc, x->dtype);
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

/* The largest element of each window. */
static struct value *reduce_windows(struct eval *eval, struct loc loc, struct value *windows, int rank)
{
    bool axes[MAX_DIMS] = {false};

    for (int i = 0; i < rank; i++)
        axes[1 + rank + i] = true;
    return build_reduce(eval, loc, windows, REDUCE_MAX, axes, false);
}

/* Where the largest element of each window is, counted in its plane: `most` (lead, o...), cells[i] (lead or 1, o, k). The
 * first of them, but of NaNs the last one. That is the largest score: of NaNs count + place, of the largest elements
 * count - 1 - place, of others -1. */
static struct value *places(struct eval *eval, struct loc loc, int rank, struct value *windows,
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
    score = score ? reduce_windows(eval, loc, score, rank) : NULL;
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

static struct ev with_indices(struct eval *eval, struct loc loc, struct value *values, struct value *indices)
{
    struct ev items[2] = {ev_tensor(loc, values), ev_tensor(loc, indices)};

    return values && indices ? ev_tuple(eval, loc, items, 2) : BAD;
}

/* ---- pools of one size ---------------------------------------------------------------------------------------- */

/* Integers, which the op does not know, and places. */
static struct ev max_pool_by_windows(struct eval *eval, struct loc loc, const struct pool *pool,
                                     struct value *x, bool with_places)
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
        most = reduce_windows(eval, loc, windows, pool->rank);
    else if ((most = pool_values(eval, loc, pool, x, true)))
        most = as_planes(eval, loc, most, pool->rank);
    if (!with_places || !most)
        return ev_tensor(loc, as_images(eval, loc, most, x, pool->rank));
    for (int i = 0; i < pool->rank; i++)
        if (!(cells[i] = pool_cells(eval, loc, pool, i, planes->dims[1 + i], out[i])))
            return BAD;
    indices = places(eval, loc, pool->rank, windows, most, cells, planes->dims + 1);
    return with_indices(eval, loc, as_images(eval, loc, most, x, pool->rank),
                        as_images(eval, loc, indices, x, pool->rank));
}

/* max_poolNd(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) */
static struct ev max_pool(struct eval *eval, struct ev *args, struct loc loc, const char *what, int rank)
{
    struct pool pool = {.what = what, .rank = rank, .kind = POOL_MAX};
    bool indices;

    if (!need_bool(eval, "ceil_mode", &args[5], &pool.ceil_mode) ||
        !need_bool(eval, "return_indices", &args[6], &indices) ||
        !check_image(eval, loc, what, &args[0], rank, rank > 1 || indices, false) ||
        !read_sizes(eval, &pool, "dilation", &args[4], 1, pool.dilation) ||
        !read_windows(eval, loc, &pool, args[0].tensor, &args[1], &args[2], &args[3]))
        return BAD;
    if (indices || !dtype_is_float(args[0].tensor->dtype))
        return max_pool_by_windows(eval, loc, &pool, args[0].tensor, indices);
    return ev_tensor(loc, pool_values(eval, loc, &pool, args[0].tensor, false));
}

/* avg_poolNd(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
static struct ev avg_pool(struct eval *eval, struct ev *args, int count, struct loc loc, const char *what,
                          int rank)
{
    struct pool pool = {.what = what, .rank = rank, .kind = POOL_AVG, .dilation = {1, 1, 1}};
    int64_t divisor = 0;

    if (!need_bool(eval, "ceil_mode", &args[4], &pool.ceil_mode) ||
        !need_bool(eval, "count_include_pad", &args[5], &pool.count_include_pad) ||
        !check_image(eval, loc, what, &args[0], rank, false, false) ||
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

/* ---- adaptive pools: windows as long as needed for so many ---------------------------------------------------- */

/* The lengths asked for; None keeps that of x. */
static bool read_output_size(struct eval *eval, const char *what, const struct ev *arg, int rank,
                             const struct value *x, const struct dim **out)
{
    for (int i = 0; i < rank; i++) {
        const struct ev *item = arg->kind == EV_TUPLE && arg->count == rank ? &arg->items[i] : arg;

        if (item->kind == EV_NONE && item != arg && rank > 1) {
            out[i] = x->dims[x->ndim - rank + i];
            continue;
        }
        if (item->kind != EV_INT) {
            diag_error(eval->cx, arg->loc, "%s: output_size must be an integer or a tuple of %d, found %s",
                       outer(eval, what), rank, ev_text(eval, arg));
            return false;
        }
        if (dim_upper(item->dim) < 0) {
            diag_error(eval->cx, item->loc,
                       "%s: elements of output_size must be greater than or equal to 0, found %s",
                       outer(eval, what), dim_text(&eval->cx->arena, item->dim));
            return false;
        }
        build_need(eval, item->dim);
        out[i] = item->dim;
    }
    return true;
}

/* ⌊i in / out⌋ ... ⌈(i + 1) in / out⌉: the first cell of window i, and the one behind its last. */
static int64_t first_cell(int64_t i, int64_t in, int64_t out)
{
    return i * in / out;
}

static int64_t end_cell(int64_t i, int64_t in, int64_t out)
{
    return ((i + 1) * in + out - 1) / out;
}

/* The cells of the longest window; with sizes, no fewer. */
static const struct dim *most_cells(struct arena *arena, const struct dim *in, const struct dim *out)
{
    int64_t from, to, most = 0;

    if (!dim_is_const(in, &from) || !dim_is_const(out, &to))
        return dim_add(arena, dim_floordiv(arena, in, out), dim_const(arena, 2));
    for (int64_t i = 0; i < to && i < 1 << 20; i++)
        if (end_cell(i, from, to) - first_cell(i, from, to) > most)
            most = end_cell(i, from, to) - first_cell(i, from, to);
    return dim_const(arena, most);
}

/* The cells of an adaptive pool along an axis, the last one again where the window is shorter than others. With `lengths`
 * those of the windows instead. */
static struct value *adaptive_cells(struct eval *eval, struct loc loc, const struct dim *in,
                                    const struct dim *out, bool lengths)
{
    struct arena *a = &eval->cx->arena;
    struct dag *dag = dag_new(a, 2);
    int window = dag_load(a, dag, 0, DTYPE_INT64), cell = dag_load(a, dag, 1, DTYPE_INT64), next, first, last;
    int one = dag_integer(a, dag, DTYPE_INT64, 1), from = dag_dim(a, dag, in), to = dag_dim(a, dag, out);

    first = dag_int64(a, dag, PRIM_FLOORDIV, dag_int64(a, dag, PRIM_MUL, window, from), to);
    next = dag_int64(a, dag, PRIM_MUL, dag_int64(a, dag, PRIM_ADD, window, one), from);
    last = dag_int64(a, dag, PRIM_FLOORDIV, dag_int64(a, dag, PRIM_SUB, next, one), to);
    dag->result = lengths ? dag_int64(a, dag, PRIM_ADD, dag_int64(a, dag, PRIM_SUB, last, first), one)
                          : dag_int64(a, dag, PRIM_MIN, dag_int64(a, dag, PRIM_ADD, first, cell), last);
    return map_cells(eval, loc, lengths ? "lengths" : "cells", dag, out,
                     lengths ? dim_const(a, 1) : most_cells(a, in, out), NULL);
}

/* x with the axes (q, in / q) for one of `in` elements. */
static struct value *split_axis(struct eval *eval, struct loc loc, struct value *x, int axis,
                                const struct dim *out, const struct dim *each)
{
    const struct dim *dims[MAX_DIMS + 1];

    memcpy(dims, x->dims, sizeof x->dims);
    memmove(dims + axis + 2, dims + axis + 1, (size_t)(x->ndim - axis - 1) * sizeof *dims);
    dims[axis] = out;
    dims[axis + 1] = each;
    return build_reshape(eval, loc, x, x->ndim + 1, dims);
}

/* The sum of windows x (..., o, k, ...) over `lengths` (1, o, 1) of them: what is behind is no part. */
static struct value *mean_of_lengths(struct eval *eval, struct loc loc, struct value *x, int axis,
                                     struct value *lengths)
{
    struct arena *a = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *one = dim_const(a, 1);
    struct value *inputs[3] = {x, lengths, arange_of(eval, loc, x->dims[axis + 1])};
    struct dag *dag = dag_new(a, 3);
    bool axes[MAX_DIMS] = {false};

    for (int i = 0; i < x->ndim; i++)
        dims[i] = one;
    dims[axis] = x->dims[axis];
    inputs[1] = build_reshape(eval, loc, lengths, x->ndim, dims);
    dims[axis] = one;
    dims[axis + 1] = x->dims[axis + 1];
    inputs[2] = inputs[2] ? build_reshape(eval, loc, inputs[2], x->ndim, dims) : NULL;
    if (!inputs[1] || !inputs[2])
        return NULL;
    dag->result = dag_where(a, dag, PRIM_LT, dag_load(a, dag, 2, DTYPE_INT64),
                            dag_load(a, dag, 1, DTYPE_INT64), dag_load(a, dag, 0, x->dtype),
                            dag_const(a, dag, x->dtype, 0));
    x = build_map(eval, loc, "inside", dag, inputs, 3);
    axes[axis + 1] = true;
    inputs[0] = x ? build_reduce(eval, loc, x, REDUCE_SUM, axes, false) : NULL;
    if (!inputs[0])
        return NULL;
    memcpy(dims, inputs[0]->dims, sizeof inputs[0]->dims);
    for (int i = 0; i < inputs[0]->ndim; i++)
        dims[i] = i == axis ? inputs[0]->dims[i] : one;
    inputs[1] = build_reshape(eval, loc, lengths, inputs[0]->ndim, dims);
    if (!inputs[1])
        return NULL;
    dag = dag_new(a, 2);
    dag->result = dag_prim(a, dag, PRIM_DIV, inputs[0]->dtype, dag_load(a, dag, 0, inputs[0]->dtype),
                           dag_cast(a, dag, dag_load(a, dag, 1, DTYPE_INT64), inputs[0]->dtype), -1);
    return build_map(eval, loc, "mean", dag, inputs, 2);
}

/* The largest element, or the mean, over axes of which each window has as much as all others: `count` of them in all. */
static struct value *reduce_all(struct eval *eval, struct loc loc, struct value *x, enum pool_kind kind,
                                const bool *axes, bool keepdim, const struct dim *count)
{
    struct ev sum = ev_tensor(
        loc, build_reduce(eval, loc, x, kind == POOL_MAX ? REDUCE_MAX : REDUCE_SUM, axes, keepdim));
    struct ev divisor = ev_dim(loc, count);

    if (kind == POOL_MAX || sum.kind == EV_BAD)
        return sum.tensor;
    sum = build_binary(eval, loc, PRIM_DIV, "mean", &sum, &divisor);
    return sum.tensor;
}

/* Along one axis, from `in` to `out` elements. */
static struct value *adaptive_axis(struct eval *eval, struct loc loc, const char *what, struct value *x,
                                   int axis, enum pool_kind kind, const struct dim *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *in = x->dims[axis], *each;
    struct value *lengths;
    bool axes[MAX_DIMS] = {false};

    if (dim_equal(in, out))
        return x;
    axes[axis + 1] = true;
    if (dim_divides(arena, in, out, &each)) {
        x = split_axis(eval, loc, x, axis, out, each);
        return x ? reduce_all(eval, loc, x, kind, axes, false, each) : NULL;
    }
    x = gather_cells(eval, loc, what, x, axis, adaptive_cells(eval, loc, in, out, false));
    if (!x || kind == POOL_MAX)
        return x ? reduce_all(eval, loc, x, kind, axes, false, NULL) : NULL;
    lengths = adaptive_cells(eval, loc, in, out, true);
    return lengths ? mean_of_lengths(eval, loc, x, axis, lengths) : NULL;
}

/* Where every window is as long as the others, it is a pool of that kernel. */
static bool is_plain_pool(const struct value *x, const struct dim *const *out, struct pool *pool)
{
    bool plain = true;

    for (int i = 0; i < pool->rank; i++) {
        int64_t in, to;

        plain = plain && dim_is_const(x->dims[x->ndim - pool->rank + i], &in) && dim_is_const(out[i], &to) &&
                to > 0 && in % to == 0;
        pool->kernel[i] = pool->stride[i] = plain ? (int)(in / to) : 0;
        pool->dilation[i] = 1;
    }
    return plain;
}

/* No elements, or as many as there are channels: nothing is gathered for these. */
static struct value *adaptive_values(struct eval *eval, struct loc loc, struct pool *pool, struct value *x,
                                     const struct dim *const *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *count = dim_const(arena, 1);
    bool whole = true, axes[MAX_DIMS] = {false};
    struct value *y;

    for (int i = 0; i < pool->rank; i++) {
        int axis = x->ndim - pool->rank + i;

        axes[axis] = true;
        whole &= dim_equals(out[i], 1);
        count = dim_mul(arena, count, x->dims[axis]);
    }
    if (whole && !takes_first(eval, pool))
        return reduce_all(eval, loc, x, pool->kind, axes, true, count);
    if (is_plain_pool(x, out, pool))
        return pool_values(eval, loc, pool, x, false);
    y = as_planes(eval, loc, x, pool->rank);
    for (int i = 0; y && i < pool->rank; i++)
        y = adaptive_axis(eval, loc, pool->what, y, 1 + i, pool->kind, out[i]);
    return as_images(eval, loc, y, x, pool->rank);
}

struct value *adaptive_mean(struct eval *eval, struct loc loc, const char *what, int rank, struct value *x,
                            const struct dim *const *out)
{
    struct pool pool = {.what = what, .rank = rank, .kind = POOL_AVG};

    return adaptive_values(eval, loc, &pool, x, out);
}

/* The elements of planes (lead, space...) at `indices` (lead, o...). */
static struct value *at_places(struct eval *eval, struct loc loc, int rank, struct value *planes,
                               struct value *indices)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *from[2] = {planes->dims[0], dim_const(arena, 1)}, *to[2] = {indices->dims[0], from[1]};
    struct value *y, *index;

    for (int i = 1; i <= rank; i++) {
        from[1] = dim_mul(arena, from[1], planes->dims[i]);
        to[1] = dim_mul(arena, to[1], indices->dims[i]);
    }
    y = build_reshape(eval, loc, planes, 2, from);
    index = build_reshape(eval, loc, indices, 2, to);
    y = y && index ? build_gather_inside(eval, loc, "places", y, 1, index, true) : NULL;
    return y ? build_reshape(eval, loc, y, indices->ndim, indices->dims) : NULL;
}

/* (lead, ..., o, k, ...) with the cells of a window behind all else. */
static struct value *cells_last(struct eval *eval, struct loc loc, struct value *x, int axis)
{
    int perm[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        perm[i] = i < axis ? i : i + 1 < x->ndim ? i + 1 : axis;
    return build_permute(eval, loc, x, perm);
}

/* The largest elements of windows of x, whose cells come last, and their places. */
static struct ev most_and_places(struct eval *eval, struct loc loc, const struct pool *pool, struct value *x,
                                 struct value *planes, struct value *windows, struct value *const *cells)
{
    struct value *most = windows ? reduce_windows(eval, loc, windows, pool->rank) : NULL, *indices;

    if (!most)
        return BAD;
    indices = places(eval, loc, pool->rank, windows, most, cells, planes->dims + 1);
    if (indices && takes_first(eval, pool))
        most = at_places(eval, loc, pool->rank, planes, indices);
    return with_indices(eval, loc, as_images(eval, loc, most, x, pool->rank),
                        as_images(eval, loc, indices, x, pool->rank));
}

static struct ev adaptive_places(struct eval *eval, struct loc loc, struct pool *pool, struct value *x,
                                 const struct dim *const *out)
{
    struct value *planes = as_planes(eval, loc, x, pool->rank), *windows = planes, *cells[MAX_RANK];

    if (is_plain_pool(x, out, pool))
        return max_pool_by_windows(eval, loc, pool, x, true);
    for (int i = 0; i < pool->rank; i++) {
        cells[i] = adaptive_cells(eval, loc, planes->dims[1 + i], out[i], false);
        windows = windows ? gather_cells(eval, loc, pool->what, windows, 1 + i, cells[i]) : NULL;
        windows = windows ? cells_last(eval, loc, windows, 2 + i) : NULL;
    }
    return most_and_places(eval, loc, pool, x, planes, windows, cells);
}

/* The images of x with a space of which a length is 0. */
static struct value *no_space(struct eval *eval, struct loc loc, const struct value *x, int rank,
                              const struct dim *const *out, enum dtype dtype)
{
    const struct dim *dims[MAX_DIMS];

    memcpy(dims, x->dims, sizeof dims);
    memcpy(dims + x->ndim - rank, out, (size_t)rank * sizeof *dims);
    return zeros(eval, loc, dtype, x->ndim, dims);
}

static bool is_empty(const struct dim *const *out, int rank)
{
    bool empty = false;

    for (int i = 0; i < rank; i++)
        empty |= dim_equals(out[i], 0);
    return empty;
}

/* adaptive_max_poolNd(input, output_size, return_indices), adaptive_avg_poolNd(input, output_size) */
static struct ev adaptive_pool(struct eval *eval, struct ev *args, struct loc loc, const char *what, int rank,
                               enum pool_kind kind)
{
    struct pool pool = {.what = what, .rank = rank, .kind = kind};
    const struct dim *out[MAX_RANK];
    struct value *x = args[0].tensor;
    struct ev found;
    bool indices = false, one = x && x->ndim == rank + 1; /* whose channels PyTorch takes for images */

    if ((kind == POOL_MAX && !need_bool(eval, "return_indices", &args[2], &indices)) ||
        !check_image(eval, loc, what, &args[0], rank, false, kind == POOL_AVG || one) ||
        !read_output_size(eval, what, &args[1], rank, x, out))
        return BAD;
    if (is_empty(out, rank)) {
        struct value *values = no_space(eval, loc, x, rank, out, x->dtype);

        return indices ? with_indices(eval, loc, values, no_space(eval, loc, x, rank, out, DTYPE_INT64))
                       : ev_tensor(loc, values);
    }
    if (!indices && (!takes_first(eval, &pool) || is_plain_pool(x, out, &pool)))
        return ev_tensor(loc, adaptive_values(eval, loc, &pool, x, out));
    found = adaptive_places(eval, loc, &pool, x, out);
    return indices || found.kind == EV_BAD ? found : found.items[0];
}

#define ADAPTIVE_POOLS(rank)                                                                                 \
    static struct ev fn_adaptive_max_pool##rank##d(struct eval *eval, struct ev *args, int count,            \
                                                   struct loc loc)                                           \
    {                                                                                                        \
        (void)count;                                                                                         \
        return adaptive_pool(eval, args, loc, "adaptive_max_pool" #rank "d", rank, POOL_MAX);                \
    }                                                                                                        \
    static struct ev fn_adaptive_avg_pool##rank##d(struct eval *eval, struct ev *args, int count,            \
                                                   struct loc loc)                                           \
    {                                                                                                        \
        (void)count;                                                                                         \
        return adaptive_pool(eval, args, loc, "adaptive_avg_pool" #rank "d", rank, POOL_AVG);                \
    }
ADAPTIVE_POOLS(1)
ADAPTIVE_POOLS(2)
ADAPTIVE_POOLS(3)

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

    if (!check_image(eval, loc, what, &args[0], rank, false, false) ||
        !need_index(eval, what, &args[1], false) ||
        !read_sizes(eval, &pool, "kernel_size", &args[2], 1, pool.kernel) ||
        !read_sizes(eval, &pool, "stride", stride, rank == 3, pool.stride) ||
        !read_sizes(eval, &pool, "padding", &args[4], 0, pool.padding))
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
    y = zeros(eval, loc, x->dtype, 2, (const struct dim *[]){lead, plane});
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

/* ---- windows at random places ---------------------------------------------------------------------------------- */

/* The cells of a fractional pool: window i begins at ⌊(i + u) a⌋ - ⌊u a⌋ for a = (in - k) / (out - 1), the last one at
 * in - k; `samples` (lead, 1, 1) are the u. */
static struct value *fractional_cells(struct eval *eval, struct loc loc, const struct pool *pool, int axis,
                                      const struct dim *in, const struct dim *out, struct value *samples)
{
    struct arena *a = &eval->cx->arena;
    enum dtype dtype = samples->dtype;
    const struct dim *kernel = dim_const(a, pool->kernel[axis]), *one = dim_const(a, 1);
    struct dag *dag = dag_new(a, 3);
    int place = dag_load(a, dag, 0, DTYPE_INT64), u = dag_load(a, dag, 2, dtype);
    int room = dag_dim(a, dag, dim_sub(a, in, kernel)), last = dag_dim(a, dag, dim_sub(a, out, one)), step,
        at, start;

    step = dag_prim(a, dag, PRIM_DIV, dtype, dag_cast(a, dag, room, dtype), dag_cast(a, dag, last, dtype),
                    -1);
    at = dag_prim(a, dag, PRIM_ADD, dtype, dag_cast(a, dag, place, dtype), u, -1);
    at = dag_cast(a, dag, dag_prim(a, dag, PRIM_MUL, dtype, at, step, -1), DTYPE_INT64);
    start = dag_cast(a, dag, dag_prim(a, dag, PRIM_MUL, dtype, u, step, -1), DTYPE_INT64);
    start = dag_where(a, dag, PRIM_LT, place, last, dag_int64(a, dag, PRIM_SUB, at, start), room);
    dag->result = dag_int64(a, dag, PRIM_ADD, start, dag_load(a, dag, 1, DTYPE_INT64));
    return map_cells(eval, loc, "cells", dag, out, kernel, samples);
}

/* x (lead, ..., in, ...) with (o, k) for an axis: cells (lead, o, k), which differ by plane. */
static struct value *gather_own_cells(struct eval *eval, struct loc loc, const char *what, struct value *x,
                                      int axis, struct value *cells)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *out = cells->dims[1], *each = cells->dims[2];

    for (int i = 0; i < x->ndim; i++)
        dims[i] = i == 0 ? x->dims[0] : i == axis ? dim_mul(arena, out, each) : dim_const(arena, 1);
    cells = build_reshape(eval, loc, cells, x->ndim, dims);
    memcpy(dims + 1, x->dims + 1, (size_t)(x->ndim - 1) * sizeof *dims);
    dims[axis] = dim_mul(arena, out, each);
    cells = cells ? build_expand(eval, loc, cells, x->ndim, dims) : NULL;
    x = cells ? build_gather(eval, loc, what, x, axis, cells, true, false) : NULL;
    return x ? split_axis(eval, loc, x, axis, out, each) : NULL;
}

/* samples (n, c, rank): those of an axis as (lead, 1, 1). For images the first is of the last axis. */
static struct value *samples_of(struct eval *eval, struct loc loc, struct value *samples, int rank, int axis)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1),
                     *dims[3] = {dim_mul(arena, samples->dims[0], samples->dims[1]), one, one};
    int at = rank == 2 ? 1 - axis : axis;

    samples = build_slice(eval, loc, samples, 2, dim_const(arena, at), one, one);
    return samples ? build_reshape(eval, loc, samples, 3, dims) : NULL;
}

/* The output's lengths, of output_size or output_ratio. */
static bool fractional_size(struct eval *eval, struct loc loc, const struct pool *pool, const struct value *x,
                            const struct ev *size, const struct ev *ratio, const struct dim **out)
{
    struct arena *arena = &eval->cx->arena;
    int rank = pool->rank;

    if (size->kind == EV_NONE && ratio->kind == EV_NONE) {
        diag_error(eval->cx, loc, "%s requires specifying either an output_size or an output_ratio",
                   outer(eval, pool->what));
        return false;
    }
    if (size->kind != EV_NONE && !read_output_size(eval, pool->what, size, rank, x, out))
        return false;
    for (int i = 0; i < rank; i++) {
        const struct ev *item = ratio->kind == EV_TUPLE && ratio->count == rank ? &ratio->items[i] : ratio;
        const struct dim *in = x->dims[x->ndim - rank + i], *rest;
        double factor;

        if (size->kind == EV_NONE && (!ev_get_number(item, &factor) || !(factor > 0 && factor < 1))) {
            diag_error(eval->cx, ratio->loc, "%s: output_ratio must be between 0 and 1 (got %s)",
                       outer(eval, pool->what), ev_text(eval, ratio));
            return false;
        }
        if (size->kind == EV_NONE && !scaled_dim(eval, ratio->loc, pool->what, in, factor, &out[i]))
            return false;
        rest = dim_sub(arena, dim_sub(arena, in, out[i]), dim_const(arena, pool->kernel[i] - 1));
        if (dim_upper(rest) < 0) {
            diag_error(eval->cx, loc, "%s: %s windows of %d are too large for an input of %s",
                       outer(eval, pool->what), dim_text(arena, out[i]), pool->kernel[i],
                       dim_text(arena, in));
            return false;
        }
        build_need(eval, rest);
    }
    return true;
}

/* (n, c, rank) numbers of the input's type; n may be more than there are images. NULL after an error. */
static struct value *read_samples(struct eval *eval, struct loc loc, const struct pool *pool,
                                  const struct value *x, const struct ev *arg)
{
    struct arena *arena = &eval->cx->arena;
    int rank = pool->rank, channels = x->ndim - rank - 1;
    const struct dim *images = channels > 0 ? x->dims[0] : dim_const(arena, 1), *wanted[3];
    struct value *samples = arg->tensor;

    if (!need_tensor(eval, pool->what, arg))
        return NULL;
    if (samples->dtype == x->dtype && samples->ndim == 3 && dim_equals(samples->dims[2], rank) &&
        dim_equal(samples->dims[1], x->dims[channels]) &&
        dim_lower(dim_sub(arena, samples->dims[0], images)) >= 0)
        return build_slice(eval, loc, samples, 0, dim_const(arena, 0), dim_const(arena, 1), images);
    wanted[0] = images;
    wanted[1] = x->dims[channels];
    wanted[2] = dim_const(arena, rank);
    diag_error(eval->cx, arg->loc, "%s: _random_samples must be %s %s, found %s %s", outer(eval, pool->what),
               dtype_rows[x->dtype].name, shape_text(arena, 3, wanted), dtype_rows[samples->dtype].name,
               shape_text(arena, samples->ndim, samples->dims));
    return NULL;
}

/* _fractional_max_pool(input, kernel_size, output_size, output_ratio, return_indices, samples, rank) */
static struct ev fn_fractional_max_pool(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct pool pool = {.what = "fractional_max_pool", .kind = POOL_MAX};
    const struct dim *out[MAX_RANK];
    struct value *x = args[0].tensor, *planes, *windows, *cells[MAX_RANK], *own, *samples;
    struct ev found;
    int64_t rank;
    bool with_places, by_places;
    (void)count;

    if (!need_int(eval, "rank", &args[6], &rank) ||
        !need_bool(eval, "return_indices", &args[4], &with_places))
        return BAD;
    pool.rank = (int)rank;
    if (!read_sizes(eval, &pool, "kernel_size", &args[1], 1, pool.kernel) ||
        !fractional_size(eval, loc, &pool, x, &args[2], &args[3], out) ||
        !(samples = read_samples(eval, loc, &pool, x, &args[5])))
        return BAD;
    if (is_empty(out, pool.rank)) {
        struct value *values = no_space(eval, loc, x, pool.rank, out, x->dtype);

        return with_places
                   ? with_indices(eval, loc, values, no_space(eval, loc, x, pool.rank, out, DTYPE_INT64))
                   : ev_tensor(loc, values);
    }
    by_places = with_places || takes_first(eval, &pool);
    planes = windows = as_planes(eval, loc, x, pool.rank);
    for (int i = 0; i < pool.rank; i++) {
        bool axes[MAX_DIMS] = {[2] = i == 0, [3] = i == 1, [4] = i == 2};

        own = samples_of(eval, loc, samples, pool.rank, i);
        cells[i] = windows && own ? fractional_cells(eval, loc, &pool, i, planes->dims[1 + i], out[i], own)
                                  : NULL;
        windows = cells[i] ? gather_own_cells(eval, loc, pool.what, windows, 1 + i, cells[i]) : NULL;
        if (!windows)
            return BAD;
        windows = by_places ? cells_last(eval, loc, windows, 2 + i)
                            : build_reduce(eval, loc, windows, REDUCE_MAX, axes, false);
    }
    if (!by_places)
        return ev_tensor(loc, as_images(eval, loc, windows, x, pool.rank));
    found = most_and_places(eval, loc, &pool, x, planes, windows, cells);
    return with_places || found.kind == EV_BAD ? found : found.items[0];
}

/* Before numbers are drawn for it. */
static struct ev fn_check_image(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t rank;
    (void)count;

    if (!need_int(eval, "rank", &args[1], &rank) ||
        !check_image(eval, loc, "fractional_max_pool", &args[0], (int)rank, false, false))
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
