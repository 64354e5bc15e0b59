/* norm.c - normalisation. */
#include "../graph.h"
#include "rows.h"

static struct ev fn_layer_norm(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[3];
    const struct dim *dims[MAX_DIMS];
    int n, used = 1;
    double eps;
    struct op *op;
    (void)count;

    if (!need_tensor(eval, "layer_norm", &args[0]) ||
        !need_shape(eval, "normalized_shape", &args[1], NULL, dims, &n))
        return BAD;
    inputs[0] = args[0].tensor;
    if (n == 0) {
        diag_error(eval->cx, args[1].loc, "layer_norm: normalized_shape must have at least one dimension");
        return BAD;
    }
    for (int i = 0; i < n; i++) {
        if (n > inputs[0]->ndim || !dim_equal(dims[i], inputs[0]->dims[inputs[0]->ndim - n + i])) {
            diag_error(eval->cx, loc, "layer_norm: the last dimensions of %s must be normalized_shape=%s",
                       shape_text(&eval->cx->arena, inputs[0]->ndim, inputs[0]->dims),
                       shape_text(&eval->cx->arena, n, dims));
            return BAD;
        }
    }
    for (int i = 2; i <= 3; i++) {
        if (args[i].kind == EV_NONE)
            continue;
        if (!need_tensor(eval, "layer_norm", &args[i]))
            return BAD;
        inputs[used++] = args[i].tensor;
        if (dtype_is_float(inputs[0]->dtype) && args[i].tensor->dtype != inputs[0]->dtype) {
            diag_error(eval->cx, loc, "layer_norm: the input is %s, the %s is %s",
                       dtype_rows[inputs[0]->dtype].name, i == 2 ? "weight" : "bias",
                       dtype_rows[args[i].tensor->dtype].name);
            return BAD;
        }
    }
    if (!ev_get_number(&args[4], &eps)) {
        diag_error(eval->cx, args[4].loc, "layer_norm: eps must be a number, found %s",
                   ev_kind_text(&args[4]));
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_NORM, "layer_norm", inputs, used);
    op->norm.axes = n;
    op->norm.eps = eps;
    op->norm.weight = args[2].kind != EV_NONE;
    op->norm.bias = args[3].kind != EV_NONE;
    return ev_tensor(loc, build_op(eval, loc, op));
}

static struct ev fn_check_ndim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t ndim, channels;
    const struct value *x = args[0].tensor;
    (void)count;

    if (!need_tensor(eval, "BatchNorm2d", &args[0]) || !need_int(eval, "ndim", &args[1], &ndim) ||
        !need_int(eval, "num_features", &args[2], &channels))
        return BAD;
    if (x->ndim != ndim || !dim_equals(x->dims[1], channels)) {
        diag_error(eval->cx, loc, "BatchNorm2d takes (N, %lld, H, W), found %s", (long long)channels,
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return BAD;
    }
    return ev_none(loc);
}

extern const struct function_row norm_functions[];

const struct function_row norm_functions[] = {
    {"layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)", F, .build = fn_layer_norm},
    {"_check_ndim(input, ndim, channels)", H, .build = fn_check_ndim},
    {.signature = NULL},
};
