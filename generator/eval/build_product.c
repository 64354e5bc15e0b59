/* build_product.c - matmul, of any dims and types, as the product of matrices that the op is. */
#include <string.h>

#include "eval/eval.h"

static struct value *drop_axis(struct eval *eval, struct loc loc, struct value *value, int axis)
{
    const struct dim *dims[MAX_DIMS];
    int n = 0;

    for (int i = 0; i < value->ndim; i++)
        if (i != axis)
            dims[n++] = value->dims[i];
    return build_reshape(eval, loc, value, n, dims);
}

/* note [products of many dimensions]
 * The op has room for two batch dimensions. More of them become one: of rows where b is a matrix, else of a and b expanded to
 * what they broadcast to. */
static struct value *flat_product(struct eval *eval, struct loc loc, const char *label, struct value *a,
                                  struct value *b, struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *wide[MAX_DIMS], *flat[3];
    struct value parts[2] = {*a, *b}, *pair[2] = {a, b}, *out;
    int ndim = 0, matrix = b->ndim == 2;

    for (int i = 0; i < 2; i++) {
        parts[i].ndim -= i == 0 && matrix ? 1 : 2;
        if (!(matrix && i == 1) && !dims_broadcast(eval->cx, dims, &ndim, &parts[i]))
            return NULL;
    }
    for (int i = 0; i < (matrix ? 1 : 2); i++) {
        int kept = pair[i]->ndim - parts[i].ndim;

        memcpy(wide, dims, sizeof *dims * (size_t)ndim);
        memcpy(wide + ndim, pair[i]->dims + parts[i].ndim, sizeof *dims * (size_t)kept);
        pair[i] = build_expand(eval, loc, pair[i], ndim + kept, wide);
        flat[0] = dim_const(arena, 1);
        for (int k = 0; k < ndim; k++)
            flat[0] = dim_mul(arena, flat[0], dims[k]);
        memcpy(flat + 1, wide + ndim, sizeof *flat * (size_t)kept);
        pair[i] = pair[i] ? build_reshape(eval, loc, pair[i], kept + 1, flat) : NULL;
        if (!pair[i])
            return NULL;
    }
    out = build_matmul(eval, loc, label, pair[0], pair[1], bias);
    if (!out)
        return NULL;
    memcpy(dims + ndim, out->dims + 1, sizeof *dims * (size_t)(out->ndim - 1));
    return build_reshape(eval, loc, out, ndim + out->ndim - 1, dims);
}

/* Batch dimensions broadcast, and there are more than two. */
static bool has_many(struct eval *eval, const struct value *a, const struct value *b)
{
    const struct dim *dims[MAX_DIMS];
    struct value x = *a, y = *b;
    int ndim = 0;

    x.ndim -= 2;
    y.ndim -= 2;
    return dims_broadcast(eval->cx, dims, &ndim, &x) && dims_broadcast(eval->cx, dims, &ndim, &y) && ndim > 2;
}

/* a (..., m, k) @ b (..., k, n) of integers, which wrap: the products (..., m, k, n), summed. */
static struct value *integer_product(struct eval *eval, struct loc loc, struct value *a, struct value *b,
                                     struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS + 1];
    bool axes[MAX_DIMS] = {false};
    struct ev x, y;
    struct value *out;
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;

    if (ndim == MAX_DIMS || !dim_equal(a->dims[a->ndim - 1], b->dims[b->ndim - 2])) {
        diag_error(eval->cx, loc, "matmul: %s and %s do not fit", shape_text(arena, a->ndim, a->dims),
                   shape_text(arena, b->ndim, b->dims));
        return NULL;
    }
    memcpy(dims, a->dims, sizeof *dims * (size_t)a->ndim);
    dims[a->ndim] = dim_const(arena, 1);
    x = ev_tensor(loc, build_reshape(eval, loc, a, a->ndim + 1, dims));
    memcpy(dims, b->dims, sizeof *dims * (size_t)b->ndim);
    dims[b->ndim] = b->dims[b->ndim - 1];
    dims[b->ndim - 1] = b->dims[b->ndim - 2];
    dims[b->ndim - 2] = dim_const(arena, 1);
    y = ev_tensor(loc, build_reshape(eval, loc, b, b->ndim + 1, dims));
    if (x.kind == EV_BAD || y.kind == EV_BAD)
        return NULL;
    x = build_binary(eval, loc, PRIM_MUL, "matmul", &x, &y);
    if (x.kind == EV_BAD)
        return NULL;
    axes[x.tensor->ndim - 2] = true;
    out = build_reduce(eval, loc, x.tensor, REDUCE_SUM, axes, false);
    out = out ? build_cast(eval, loc, out, a->dtype) : NULL;
    if (!out || !bias)
        return out;
    x = ev_tensor(loc, out);
    y = ev_tensor(loc, bias);
    x = build_binary(eval, loc, PRIM_ADD, "matmul", &x, &y);
    return x.kind == EV_BAD ? NULL : x.tensor;
}

struct value *build_matmul(struct eval *eval, struct loc loc, const char *label, struct value *a,
                           struct value *b, struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    bool a_vector = a->ndim == 1, b_vector = b->ndim == 1;

    if (a->ndim == 0 || b->ndim == 0) {
        diag_error(eval->cx, loc, "matmul takes tensors of at least one dimension, found %s and %s",
                   shape_text(arena, a->ndim, a->dims), shape_text(arena, b->ndim, b->dims));
        return NULL;
    }
    if (a->dtype != b->dtype) {
        diag_error(eval->cx, loc, "matmul takes tensors of one dtype, found %s and %s",
                   dtype_rows[a->dtype].name, dtype_rows[b->dtype].name);
        return NULL;
    }
    if (a->dtype == DTYPE_BOOL) {
        diag_error(eval->cx, loc, "matmul is not defined for bool");
        diag_hint(eval->cx, "convert first, as x.float()");
        return NULL;
    }
    if (a_vector) {
        dims[0] = dim_const(arena, 1);
        dims[1] = a->dims[0];
        a = build_reshape(eval, loc, a, 2, dims);
    }
    if (b_vector) {
        dims[0] = b->dims[0];
        dims[1] = dim_const(arena, 1);
        b = build_reshape(eval, loc, b, 2, dims);
    }
    if (!a || !b)
        return NULL;

    struct value *inputs[3] = {a, b, bias}, *out;

    if (dtype_is_float(a->dtype) && has_many(eval, a, b)) {
        out = flat_product(eval, loc, label, a, b, bias);
    } else if (dtype_is_float(a->dtype)) {
        struct op *op = op_new(eval, GRAPH_OP_CONTRACT, label, inputs, bias ? 3 : 2);

        op->contract.bias = bias != NULL;
        out = build_op(eval, loc, op);
    } else {
        out = integer_product(eval, loc, a, b, bias);
    }
    if (out && b_vector)
        out = drop_axis(eval, loc, out, out->ndim - 1);
    if (out && a_vector)
        out = drop_axis(eval, loc, out, out->ndim - (b_vector ? 1 : 2));
    return out;
}
