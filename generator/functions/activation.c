/* activation.c - activations that are more than a line of elementwise.c. */
#include <string.h>

#include "../graph.h"
#include "rows.h"

static struct ev fn_gelu(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *approximate = args[1].kind == EV_STRING ? args[1].text : "";
    (void)count;

    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        diag_error(eval->cx, args[1].loc, "approximate argument must be either none or tanh, found %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    return build_elementwise(eval, loc, elementwise_find(approximate[0] == 'n' ? "gelu" : "gelu_tanh"), args,
                             1);
}

static struct ev fn_check_float(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "input", &args[0]))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, "this"),
                   dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    return ev_none(loc);
}

/* Along any axis, which goes last and back: where a channels-last convolution stands before, nothing is copied. */
static struct ev softmax(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool log)
{
    struct ev automatic = ev_int(eval, loc, 1), *dim = &args[1];
    int perm[MAX_DIMS], axis, ndim, last;
    struct value *x;
    struct op *op;
    enum dtype dtype;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    x = args[0].tensor;
    ndim = x->ndim;
    if (dim->kind == EV_NONE) { /* as _get_softmax_dim of torch.nn.functional chooses it */
        if (ndim == 0 || ndim == 1 || ndim == 3)
            automatic = ev_int(eval, loc, 0);
        dim = &automatic;
    }
    if (!need_axis(eval, what, dim, ndim, &axis) || !need_dtype(eval, &args[2], x->dtype, &dtype))
        return BAD;
    if (!dtype_is_float(dtype)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, what), dtype_rows[dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    x = build_cast(eval, loc, x, dtype);
    if (x && ndim == 0)
        x = build_reshape(eval, loc, x, 1, (const struct dim *[]){dim_const(&eval->cx->arena, 1)});
    if (!x)
        return BAD;
    last = x->ndim - 1;
    for (int i = 0; i <= last; i++)
        perm[i] = i == axis ? last : i == last ? axis : i;
    x = build_permute(eval, loc, x, perm);
    op = op_new(eval, GRAPH_OP_SOFTMAX, what, &x, 1);
    op->softmax.log = log;
    x = build_op(eval, loc, op);
    x = x ? build_permute(eval, loc, x, perm) : NULL;
    return ev_tensor(loc, x && ndim == 0 ? build_reshape(eval, loc, x, 0, NULL) : x);
}

static struct ev fn_softmax(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return softmax(eval, args, loc, "softmax", false);
}

static struct ev fn_log_softmax(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return softmax(eval, args, loc, "log_softmax", true);
}

extern const struct function_row activation_functions[];

const struct function_row activation_functions[] = {
    {"gelu(input, approximate='none')", F, .build = fn_gelu},
    {"softmax(input, dim=None, dtype=None)", F | T | M, .build = fn_softmax},
    {"log_softmax(input, dim=None, dtype=None)", F | T | M, .build = fn_log_softmax},
    {"_check_float(input)", H, .build = fn_check_float},
    {.signature = NULL},
};
