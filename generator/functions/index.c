/* index.c - elements at places that a tensor names. */
#include <math.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_embedding(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *weight;
    (void)count;

    if (!need_index(eval, "embedding", &args[0], true) || !need_tensor(eval, "embedding", &args[1]))
        return BAD;
    weight = args[1].tensor;
    if (weight->ndim != 2) {
        diag_error(eval->cx, args[1].loc, "embedding: the weight must have two dimensions, found %s",
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
        return BAD;
    }
    return ev_tensor(loc, build_gather(eval, loc, "embedding", weight, 0, args[0].tensor, false, false));
}

/* Whether the graph is one that gradients are made of: what differs for these alone costs others nothing. */
static struct ev fn_saves(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)args;
    (void)count;
    return ev_bool(loc, eval->graph && eval->graph->saves);
}

static struct ev fn_gather(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *one[1] = {dim_const(&eval->cx->arena, 1)};
    struct value *x, *index, *out;
    int axis;
    (void)count;

    if (!need_tensor(eval, "gather", &args[0]) || !need_index(eval, "gather", &args[2], true) ||
        !need_axis(eval, "gather", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    index = args[2].tensor;
    if (x->ndim > 1 || index->ndim > 1 || x->ndim == index->ndim)
        return ev_tensor(loc, build_gather(eval, loc, "gather", x, axis, index, true, false));
    x = build_reshape(eval, loc, x, 1, x->ndim == 0 ? one : x->dims);
    index = build_reshape(eval, loc, index, 1, index->ndim == 0 ? one : index->dims);
    out = x && index ? build_gather(eval, loc, "gather", x, axis, index, true, false) : NULL;
    return ev_tensor(loc,
                     out ? build_reshape(eval, loc, out, args[2].tensor->ndim, args[2].tensor->dims) : NULL);
}

static struct ev fn_index_select(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *one[1] = {dim_const(&eval->cx->arena, 1)};
    struct value *x, *index;
    int axis;
    (void)count;

    if (!need_tensor(eval, "index_select", &args[0]) || !need_index(eval, "index_select", &args[2], true) ||
        !need_axis(eval, "index_select", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    index = args[2].tensor;
    if (index->ndim > 1) {
        diag_error(eval->cx, args[2].loc, "index_select: the index must have one dimension, found %s",
                   shape_text(&eval->cx->arena, index->ndim, index->dims));
        return BAD;
    }
    if (x->ndim == 0 && !dim_equals(dims_count(&eval->cx->arena, index), 1)) {
        diag_error(eval->cx, args[2].loc,
                   "index_select: of a tensor without dimensions the index has one element, found %s",
                   shape_text(&eval->cx->arena, index->ndim, index->dims));
        return BAD;
    }
    if (index->ndim == 0)
        index = build_reshape(eval, loc, index, 1, one);
    if (x->ndim == 0)
        x = build_reshape(eval, loc, x, 1, one);
    x = x && index ? build_gather(eval, loc, "index_select", x, axis, index, false, false) : NULL;
    return ev_tensor(loc, x && args[0].tensor->ndim == 0 ? build_reshape(eval, loc, x, 0, NULL) : x);
}

/* scatter, scatter_add, index_add and index_copy: `along` as torch.scatter's, else the index names whole slices. With
 * `number` the source may be one. */
static struct ev place(struct eval *eval, struct ev *args, struct loc loc, const char *what, enum prim prim,
                       bool along, bool number)
{
    const struct dim *one[1] = {dim_const(&eval->cx->arena, 1)};
    struct value *x, *index, *source;
    int axis;

    if (!need_tensor(eval, what, &args[0]) || !need_index(eval, what, &args[2], true) ||
        !need_axis(eval, what, &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    index = args[2].tensor;
    if (args[3].kind != EV_TENSOR && !(number && ev_is_number(&args[3]))) {
        diag_error(eval->cx, args[3].loc, "%s takes a tensor, found %s", outer(eval, what),
                   ev_kind_text(&args[3]));
        return BAD;
    }
    if (args[3].kind == EV_TENSOR) {
        source = args[3].tensor;
        if (source->dtype != x->dtype) {
            diag_error(eval->cx, args[3].loc, "%s: the source is %s, the tensor %s", outer(eval, what),
                       dtype_rows[source->dtype].name, dtype_rows[x->dtype].name);
            return BAD;
        }
    } else {
        source = build_scalar(eval, loc, &args[3]);
        source = source ? build_cast(eval, loc, source, x->dtype) : NULL;
        source = source ? build_expand(eval, loc, source, index->ndim, index->dims) : NULL;
    }
    if (!along && index->ndim > 1) {
        diag_error(eval->cx, args[2].loc, "%s: the index must have one dimension, found %s",
                   outer(eval, what), shape_text(&eval->cx->arena, index->ndim, index->dims));
        return BAD;
    }
    if (!along && index->ndim == 0)
        index = build_reshape(eval, loc, index, 1, one);
    if (!source || !index)
        return BAD;
    return ev_tensor(loc, build_scatter(eval, loc, outer(eval, what), x, axis, index, source, prim, along));
}

/* How scatter and scatter_reduce join; false after an error. */
static bool need_reduction(struct eval *eval, const struct ev *arg, bool words, enum prim *out)
{
    static const struct {
        const char *name;
        bool word;
        enum prim prim;
    } rows[] = {{"add", false, PRIM_ADD}, {"multiply", false, PRIM_MUL}, {"sum", true, PRIM_ADD},
                {"prod", true, PRIM_MUL}, {"amax", true, PRIM_MAX},      {"amin", true, PRIM_MIN}};

    for (int i = 0; i < COUNT(rows); i++) {
        if (arg->kind != EV_STRING || rows[i].word != words || strcmp(arg->text, rows[i].name) != 0)
            continue;
        *out = rows[i].prim;
        return true;
    }
    diag_error(eval->cx, arg->loc, "%s: reduce argument must be %s, found %s", outer(eval, "scatter"),
               words ? "sum, prod, mean, amax or amin" : "add or multiply", ev_text(eval, arg));
    return false;
}

/* scatter(dim, index, src), of a tensor or a number, which may be called value. */
static struct ev fn_scatter(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev own[4] = {args[0], args[1], args[2], args[3].kind == EV_NONE ? args[4] : args[3]};
    enum prim prim = PRIM_LOAD;
    (void)count;

    if (args[5].kind != EV_NONE && !need_reduction(eval, &args[5], false, &prim))
        return BAD;
    if (own[3].kind == EV_NONE)
        own[3].loc = loc;
    return place(eval, own, loc, "scatter", prim, true, true);
}

static struct ev fn_scatter_joined(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum prim prim;
    (void)count;

    if (!need_reduction(eval, &args[4], true, &prim))
        return BAD;
    return place(eval, args, loc, "scatter_reduce", prim, true, false);
}

/* What joined to x by scatter_reduce leaves x. */
static struct ev fn_neutral(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool most = args[1].kind == EV_STRING && strcmp(args[1].text, "amax") == 0;
    bool least = args[1].kind == EV_STRING && strcmp(args[1].text, "amin") == 0;
    enum dtype dtype;
    int64_t high;
    (void)count;

    if (!need_tensor(eval, "scatter_reduce", &args[0]))
        return BAD;
    dtype = args[0].tensor->dtype;
    high = dtype == DTYPE_BOOL    ? 1
           : dtype == DTYPE_UINT8 ? 255
                                  : INT64_MAX >> (64 - 8 * dtype_rows[dtype].bytes);
    if (!most && !least)
        return ev_int(eval, loc, args[1].kind == EV_STRING && strcmp(args[1].text, "prod") == 0);
    if (dtype_is_float(dtype))
        return ev_float(loc, most ? -(double)INFINITY : (double)INFINITY);
    return ev_int(eval, loc, least ? high : dtype == DTYPE_BOOL || dtype == DTYPE_UINT8 ? 0 : -high - 1);
}

static struct ev fn_scatter_add(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "scatter_add", PRIM_ADD, true, false);
}

static struct ev fn_index_add(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double alpha;
    (void)count;

    if (args[3].kind == EV_TENSOR && !(ev_get_number(&args[4], &alpha) && alpha == 1))
        args[3] = build_binary(eval, loc, PRIM_MUL, "mul", &args[3], &args[4]);
    return args[3].kind == EV_BAD ? BAD : place(eval, args, loc, "index_add", PRIM_ADD, false, false);
}

/* index_copy that keeps what is larger. */
static struct ev fn_index_most(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "this", PRIM_MAX, false, false);
}

static struct ev fn_check_padding(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *weight = args[1].tensor;
    int64_t at;
    (void)count;

    if (!need_tensor(eval, "weight", &args[1]))
        return BAD;
    if (args[0].kind == EV_NONE)
        return ev_none(loc);
    if (!need_int(eval, "padding_idx", &args[0], &at))
        return BAD;
    if (weight->ndim == 0 || (at >= -dim_lower(weight->dims[0]) && at < dim_lower(weight->dims[0])))
        return ev_none(loc);
    diag_error(eval->cx, loc, "padding_idx must be within num_embeddings, which is %s, found %lld",
               dim_text(&eval->cx->arena, weight->dims[0]), (long long)at);
    return BAD;
}

static struct ev fn_check_bags(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor, *weights = args[4].tensor;
    const char *mode = args[3].kind == EV_STRING ? args[3].text : "";
    bool most = strcmp(mode, "max") == 0, scale, sparse;
    (void)count;

    if (!need_index(eval, "this", &args[0], true) || !need_tensor(eval, "weight", &args[1]) ||
        (args[2].kind != EV_NONE && !need_index(eval, "offsets", &args[2], true)) ||
        (args[4].kind != EV_NONE && !need_tensor(eval, "per_sample_weights", &args[4])) ||
        !need_bool(eval, "scale_grad_by_freq", &args[5], &scale) ||
        !need_bool(eval, "sparse", &args[6], &sparse))
        return BAD;
    if (x->ndim != 1 && x->ndim != 2)
        diag_error(eval->cx, loc, "input has to be 1D or 2D Tensor, but got Tensor of dimension %d", x->ndim);
    else if (x->ndim == 2 && args[2].kind != EV_NONE)
        diag_error(eval->cx, loc, "if input is 2D, then offsets has to be None, as each row of it is a bag");
    else if (x->ndim == 1 && (args[2].kind == EV_NONE || args[2].tensor->ndim != 1))
        diag_error(eval->cx, loc, "offsets has to be a 1D Tensor, found %s", ev_text(eval, &args[2]));
    else if (!most && strcmp(mode, "sum") != 0 && strcmp(mode, "mean") != 0)
        diag_error(eval->cx, loc, "mode has to be one of sum, mean or max, found %s",
                   ev_text(eval, &args[3]));
    else if (most && (scale || sparse))
        diag_error(eval->cx, loc, "max mode does not support %s",
                   scale ? "scale_grad_by_freq" : "sparse weights");
    else if (weights && strcmp(mode, "sum") != 0)
        diag_error(eval->cx, loc, "per_sample_weights is only supported for mode='sum' (got mode='%s')",
                   mode);
    else if (weights && !dims_equal(weights, x))
        diag_error(eval->cx, loc, "per_sample_weights %s must have the same shape as the input %s",
                   shape_text(arena, weights->ndim, weights->dims), shape_text(arena, x->ndim, x->dims));
    else if (weights && weights->dtype != args[1].tensor->dtype)
        diag_error(eval->cx, loc, "per_sample_weights is %s, the weight is %s",
                   dtype_rows[weights->dtype].name, dtype_rows[args[1].tensor->dtype].name);
    else
        return ev_none(loc);
    return BAD;
}

static struct ev fn_index_copy(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "index_copy", PRIM_LOAD, false, false);
}

static struct ev fn_take(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[1];
    struct value *x;
    (void)count;

    if (!need_tensor(eval, "take", &args[0]) || !need_index(eval, "take", &args[1], false))
        return BAD;
    dims[0] = dims_count(&eval->cx->arena, args[0].tensor);
    x = build_reshape(eval, loc, args[0].tensor, 1, dims);
    return ev_tensor(loc, x ? build_gather(eval, loc, "take", x, 0, args[1].tensor, false, true) : NULL);
}

/* Tensors that broadcast but along the axis, where each keeps its own. */
static struct ev fn_take_along_dim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct value *x, *index;
    int axis, ndim = 0;
    (void)count;

    if (!need_tensor(eval, "take_along_dim", &args[0]) ||
        !need_index(eval, "take_along_dim", &args[1], false) ||
        !need_axis(eval, "take_along_dim", &args[2], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    index = args[1].tensor;
    if (x->ndim != index->ndim || x->ndim == 0) {
        diag_error(
            eval->cx, loc,
            "take_along_dim: input and indices should have the same number of dimensions, but got %d dimensions "
            "for input, and %d dimensions for indices",
            x->ndim, index->ndim);
        return BAD;
    }
    for (int i = 0; i < 2; i++) {
        struct value part = i ? *index : *x;

        part.dims[axis] = dim_const(&eval->cx->arena, 1);
        if (!dims_broadcast(eval->cx, dims, &ndim, &part)) {
            diag_error(eval->cx, loc, "take_along_dim: %s and %s do not broadcast",
                       shape_text(&eval->cx->arena, x->ndim, x->dims),
                       shape_text(&eval->cx->arena, index->ndim, index->dims));
            return BAD;
        }
    }
    dims[axis] = x->dims[axis];
    x = build_expand(eval, loc, x, ndim, dims);
    dims[axis] = index->dims[axis];
    index = build_expand(eval, loc, index, ndim, dims);
    return ev_tensor(loc, x && index ? build_gather(eval, loc, "take_along_dim", x, axis, index, true, true)
                                     : NULL);
}

/* Indices of which those below 0 count from the end. */
static struct ev fn_from_the_end(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    struct value *x;
    (void)count;

    if (!need_tensor(eval, "index_fill", &args[0]) || !need_index(eval, "index_fill", &args[2], false) ||
        !need_axis(eval, "index_fill", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    return ev_tensor(loc, build_from_the_end(eval, loc, "index_fill", args[2].tensor,
                                             x->ndim > 0 ? x->dims[axis] : dim_const(&eval->cx->arena, 1)));
}

extern const struct function_row index_functions[];

const struct function_row index_functions[] = {
    {"embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)",
     FUNCTIONAL,
     .body = "_check_padding(padding_idx, weight)\n"
             "return _row_gradients(_embedding(input, weight) if max_norm is None else"
             " _shorten(input, weight, _embedding(input, weight), max_norm, norm_type),"
             " input, weight, padding_idx, scale_grad_by_freq)"},
    {"_embedding(input, weight)", HIDDEN, .build = fn_embedding},
    /* Padding gives no gradient; scale_grad_by_freq divides it by how often the row stands in the input. */
    {"_row_gradients(rows, input, weight, padding_idx, scale_grad_by_freq)", HIDDEN,
     .body = "return (_graded(rows, _row_scale(input, weight, padding_idx, scale_grad_by_freq)[..., None])"
             " if _saves() and (scale_grad_by_freq or padding_idx is not None) else rows)"},
    {"_row_scale(input, weight, padding_idx, scale_grad_by_freq)", HIDDEN,
     .body =
         "flat = input.flatten().long()\n"
         "often = (zeros(weight.shape[0], dtype=torch.int64).index_add(0, flat, torch.ones_like(flat))[input]"
         " if scale_grad_by_freq else torch.ones_like(input)).to(weight.dtype)\n"
         "return 1 / often if padding_idx is None else (input != padding_idx % weight.shape[0]) / often"},
    {"_saves()", HIDDEN, .build = fn_saves},
    /* `input`, which `weight` is part of as PyTorch sees it: the gradient of that is 0, and there */
    {"_with(input, weight)", HIDDEN,
     .body = "return _beside(input, weight.flatten()[0]) if _saves() and weight.numel() > 0 else input"},
    {"_check_padding(padding_idx, weight)", HIDDEN, .build = fn_check_padding},
    /* rows of the weight that are longer than max_norm become as long, in the weight too */
    {"_shorten(input, weight, rows, max_norm, norm_type)", HIDDEN,
     .body = "length = rows.norm(norm_type, -1, keepdim=True)\n"
             "short = where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)\n"
             "flat = short.reshape((input.numel(), weight.shape[1]))\n"
             "_assign(weight, weight.index_copy(0, input.flatten(), flat), 'weight')\n"
             "return _instead(rows, short) if _saves() else short"},
    /* Rows of bags: those of (B, N), or of (L) from offsets on. Padding is in no bag. */
    {"embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', "
     "sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None)",
     FUNCTIONAL,
     .body = "_check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)\n"
             "rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)\n"
             "held = input == input if padding_idx is None else input != padding_idx % weight.shape[0]\n"
             "scaled = rows if per_sample_weights is None else rows * per_sample_weights[..., None]\n"
             "bag = None if offsets is None else _bag_of(input, offsets)\n"
             "bags = 0 if offsets is None else offsets.shape[0]\n"
             "used = (held.long().sum(1) if bag is None else"
             " zeros(bags, dtype=torch.int64).index_add(0, bag, held.long()))[:, None]\n"
             "y = (_most_of_bags(rows, held, used, bag, bags) if mode == 'max' else"
             " _sum_of_bags(scaled, held, bag, bags))\n"
             "y = y / used.clamp(min=1).to(y.dtype) if mode == 'mean' else y\n"
             "return y[:-1] if include_last_offset and offsets is not None else y"},
    /* Offsets begin at 0 and do not fall; one that does otherwise is as wrong an index as one behind the end. */
    {"_bag_of(input, offsets)", HIDDEN,
     .body = "past = input.shape[0] + 1\n"
             "wrong = where(arange(offsets.shape[0]) == 0, offsets != 0, offsets < offsets.roll(1))\n"
             "first = zeros(past, dtype=torch.int64).index_add(0, where(wrong, past, offsets),"
             " ones_like(offsets).long())\n"
             "return first.cumsum(0)[:-1] - 1"},
    {"_sum_of_bags(rows, held, bag, bags)", HIDDEN,
     .body = "kept = where(held[..., None], rows, zeros_like(rows))\n"
             "return (kept.sum(1) if bag is None else"
             " zeros((bags, rows.shape[-1]), dtype=rows.dtype).index_add(0, bag, kept))"},
    {"_most_of_bags(rows, held, used, bag, bags)", HIDDEN,
     .body = "kept = where(held[..., None], rows, full_like(rows, -inf))\n"
             "y = (kept.amax(1) if bag is None else"
             " _index_most(full((bags, rows.shape[-1]), -inf, dtype=rows.dtype), 0, bag, kept))\n"
             "return where(used > 0, y, zeros_like(y))"},
    {"_index_most(input, dim, index, source)", HIDDEN, .build = fn_index_most},
    {"_check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)", HIDDEN,
     .build = fn_check_bags},
    {"gather(input, dim, index, sparse_grad=False)", TORCH | METHOD, .build = fn_gather},
    {"index_select(input, dim, index)", TORCH | METHOD, .build = fn_index_select},
    {"scatter(input, dim, index, src=None, value=None, reduce=None)", TORCH | METHOD, .build = fn_scatter},
    {"scatter_add(input, dim, index, src)", TORCH | METHOD, .build = fn_scatter_add},
    {"scatter_reduce(input, dim, index, src, reduce, include_self=True)", TORCH | METHOD,
     .body = "base = input if include_self else input.scatter(dim, index, _neutral(input, reduce))\n"
             "return (_scatter_mean(base, dim, index, src, include_self) if reduce == 'mean' else"
             " _scatter_joined(base, dim, index, src, reduce))"},
    {"_scatter_mean(input, dim, index, src, include_self)", HIDDEN,
     .body = "one = ones_like(input) if include_self else ones_like(input).scatter(dim, index, 0)\n"
             "count = one.scatter_add(dim, index, ones_like(src)).clamp(min=1)\n"
             "total = input.scatter_add(dim, index, src)\n"
             "return total / count if input.is_floating_point() else total // count"},
    {"_scatter_joined(input, dim, index, src, reduce)", HIDDEN, .build = fn_scatter_joined},
    {"_neutral(input, reduce)", HIDDEN, .build = fn_neutral},
    {"index_add(input, dim, index, source, alpha=1)", TORCH | METHOD, .build = fn_index_add},
    {"index_copy(input, dim, index, source)", TORCH | METHOD, .build = fn_index_copy},
    {"index_fill(input, dim, index, value)", TORCH | METHOD,
     .body = "at = _from_the_end(input, dim, index)\n"
             "return input.index_copy(dim, at, full_like(input.index_select(dim, at), value))"},
    {"_from_the_end(input, dim, index)", HIDDEN, .build = fn_from_the_end},
    {"take(input, index)", TORCH | METHOD, .build = fn_take},
    {"take_along_dim(input, indices, dim=None)", TORCH | METHOD,
     .body = "return (_take_along_dim(input.flatten(), indices.flatten(), 0) if dim == None else"
             " _take_along_dim(input, indices, dim))"},
    {"_take_along_dim(input, indices, dim)", HIDDEN, .build = fn_take_along_dim},
    {.signature = NULL},
};
