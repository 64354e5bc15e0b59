/* pool_uneven.c - pools whose windows are not all alike: adaptive ones, as long as it takes for so many, and those at random
 * places. Apart from pool.c, since their cells are tensors, and few are the op `pool`. */
#include "functions/pool.h"

#include <math.h>
#include <string.h>

/* ---- adaptive pools ---- */

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
    struct value *inputs[3] = {x, lengths, build_arange(eval, loc, x->dims[axis + 1])};
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
    if (whole && !pool_takes_first(eval, pool))
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
    struct value *most = windows ? pool_reduce_windows(eval, loc, windows, pool->rank) : NULL, *indices;

    if (!most)
        return BAD;
    indices = pool_places(eval, loc, pool->rank, windows, most, cells, planes->dims + 1);
    if (indices && pool_takes_first(eval, pool))
        most = at_places(eval, loc, pool->rank, planes, indices);
    return pool_with_indices(eval, loc, as_images(eval, loc, most, x, pool->rank),
                             as_images(eval, loc, indices, x, pool->rank));
}

static struct ev adaptive_places(struct eval *eval, struct loc loc, struct pool *pool, struct value *x,
                                 const struct dim *const *out)
{
    struct value *planes = as_planes(eval, loc, x, pool->rank), *windows = planes, *cells[MAX_RANK];

    if (is_plain_pool(x, out, pool))
        return pool_max_by_windows(eval, loc, pool, x, true);
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
    return pool_zeros(eval, loc, dtype, x->ndim, dims);
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
        !pool_check_image(eval, loc, what, &args[0], rank, false, kind == POOL_AVG || one) ||
        !read_output_size(eval, what, &args[1], rank, x, out))
        return BAD;
    if (is_empty(out, rank)) {
        struct value *values = no_space(eval, loc, x, rank, out, x->dtype);

        return indices ? pool_with_indices(eval, loc, values, no_space(eval, loc, x, rank, out, DTYPE_INT64))
                       : ev_tensor(loc, values);
    }
    if (!indices && (!pool_takes_first(eval, &pool) || is_plain_pool(x, out, &pool)))
        return ev_tensor(loc, adaptive_values(eval, loc, &pool, x, out));
    found = adaptive_places(eval, loc, &pool, x, out);
    return indices || found.kind == EV_BAD ? found : found.items[0];
}

#define ADAPTIVE_POOLS(rank)                                                                                 \
    struct ev fn_adaptive_max_pool##rank##d(struct eval *eval, struct ev *args, int count, struct loc loc)   \
    {                                                                                                        \
        (void)count;                                                                                         \
        return adaptive_pool(eval, args, loc, "adaptive_max_pool" #rank "d", rank, POOL_MAX);                \
    }                                                                                                        \
    struct ev fn_adaptive_avg_pool##rank##d(struct eval *eval, struct ev *args, int count, struct loc loc)   \
    {                                                                                                        \
        (void)count;                                                                                         \
        return adaptive_pool(eval, args, loc, "adaptive_avg_pool" #rank "d", rank, POOL_AVG);                \
    }
ADAPTIVE_POOLS(1)
ADAPTIVE_POOLS(2)
ADAPTIVE_POOLS(3)

/* ---- windows at random places ---- */

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
struct ev fn_fractional_max_pool(struct eval *eval, struct ev *args, int count, struct loc loc)
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
    if (!pool_read_sizes(eval, &pool, "kernel_size", &args[1], 1, pool.kernel) ||
        !fractional_size(eval, loc, &pool, x, &args[2], &args[3], out) ||
        !(samples = read_samples(eval, loc, &pool, x, &args[5])))
        return BAD;
    if (is_empty(out, pool.rank)) {
        struct value *values = no_space(eval, loc, x, pool.rank, out, x->dtype);

        return with_places
                   ? pool_with_indices(eval, loc, values, no_space(eval, loc, x, pool.rank, out, DTYPE_INT64))
                   : ev_tensor(loc, values);
    }
    by_places = with_places || pool_takes_first(eval, &pool);
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
