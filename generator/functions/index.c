/* index.c - elements at places that a tensor names. */
#include "../graph.h"
#include "rows.h"

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
    if (args[3].kind != EV_NONE) {
        diag_error(eval->cx, args[3].loc, "max_norm is not supported yet by this version of modc");
        return BAD;
    }
    return ev_tensor(loc, build_gather(eval, loc, "embedding", weight, 0, args[0].tensor, false, false));
}

static struct ev fn_gather(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    (void)count;

    if (!need_tensor(eval, "gather", &args[0]) || !need_index(eval, "gather", &args[2], false) ||
        !need_axis(eval, "gather", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    return ev_tensor(loc,
                     build_gather(eval, loc, "gather", args[0].tensor, axis, args[2].tensor, true, false));
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
    if (index->ndim == 0)
        index = build_reshape(eval, loc, index, 1, one);
    if (x->ndim == 0)
        x = build_reshape(eval, loc, x, 1, one);
    if (!x || !index)
        return BAD;
    return ev_tensor(loc, build_gather(eval, loc, "index_select", x, axis, index, false, false));
}

/* scatter, scatter_add, index_add and index_copy: `along` as torch.scatter's, else the index names whole slices. */
static struct ev place(struct eval *eval, struct ev *args, struct loc loc, const char *what, enum prim prim, bool along)
{
    const struct dim *one[1] = {dim_const(&eval->cx->arena, 1)};
    struct value *x, *index, *source;
    int axis;

    if (!need_tensor(eval, what, &args[0]) || !need_index(eval, what, &args[2], !along) ||
        !need_axis(eval, what, &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    index = args[2].tensor;
    if (args[3].kind != EV_TENSOR && !(along && prim != PRIM_ADD && ev_is_number(&args[3]))) {
        diag_error(eval->cx, args[3].loc, "%s takes a tensor, found %s", outer(eval, what), ev_kind_text(&args[3]));
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
        diag_error(eval->cx, args[2].loc, "%s: the index must have one dimension, found %s", outer(eval, what),
                   shape_text(&eval->cx->arena, index->ndim, index->dims));
        return BAD;
    }
    if (!along && index->ndim == 0)
        index = build_reshape(eval, loc, index, 1, one);
    if (!source || !index)
        return BAD;
    return ev_tensor(loc, build_scatter(eval, loc, outer(eval, what), x, axis, index, source, prim, along));
}

static struct ev fn_scatter(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "scatter", PRIM_LOAD, true);
}

static struct ev fn_scatter_add(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "scatter_add", PRIM_ADD, true);
}

static struct ev fn_index_add(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "index_add", PRIM_ADD, false);
}

static struct ev fn_index_copy(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return place(eval, args, loc, "index_copy", PRIM_LOAD, false);
}

extern const struct function_row index_functions[];

const struct function_row index_functions[] = {
    {"embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)",
     F, .build = fn_embedding},
    {"gather(input, dim, index, sparse_grad=False)", T | M, .build = fn_gather},
    {"index_select(input, dim, index)", T | M, .build = fn_index_select},
    {"scatter(input, dim, index, src)", T | M, .build = fn_scatter},
    {"scatter_add(input, dim, index, src)", T | M, .build = fn_scatter_add},
    {"index_add(input, dim, index, source)", T | M, .build = fn_index_add},
    {"index_copy(input, dim, index, source)", T | M, .build = fn_index_copy},
    {.signature = NULL},
};
