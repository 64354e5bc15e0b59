/* activation.c - activations that are more than a line of elementwise.c. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

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

static struct ev softmax(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool log)
{
    struct ev automatic = ev_int(eval, loc, 1), *dim = &args[1];
    struct value *x;
    int axis, ndim;
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
    op = op_new(eval, GRAPH_OP_SOFTMAX, what, &x, 1);
    op->softmax.axis = axis;
    op->softmax.log = log;
    x = build_op(eval, loc, op);
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

static struct ev fn_check_bounds(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double lower, upper;
    (void)count;

    if (!ev_get_number(&args[0], &lower) || !ev_get_number(&args[1], &upper)) {
        diag_error(eval->cx, loc, "%s: lower and upper must be numbers, found %s and %s", outer(eval, "this"),
                   ev_text(eval, &args[0]), ev_text(eval, &args[1]));
        return BAD;
    }
    if (lower <= upper)
        return ev_none(loc);
    diag_error(eval->cx, loc, "Lower bound should be less than or equal to the upper bound, found %s and %s",
               ev_text(eval, &args[0]), ev_text(eval, &args[1]));
    return BAD;
}

/* The two halves along a dimension. */
static struct ev fn_halves(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *half, *one = dim_const(arena, 1);
    struct value *x = args[0].tensor;
    struct ev halves[2];
    int axis;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_axis(eval, "dim", &args[1], x->ndim, &axis))
        return BAD;
    if (x->ndim == 0 || !dim_divides(arena, x->dims[axis], dim_const(arena, 2), &half)) {
        diag_error(eval->cx, loc,
                   x->ndim == 0 ? "%s does not support a single number"
                                : "%s: Halving dimension must be even, but dimension %d is size %s",
                   outer(eval, "this"), axis, x->ndim == 0 ? "" : dim_text(arena, x->dims[axis]));
        return BAD;
    }
    halves[0] = ev_tensor(loc, build_slice(eval, loc, x, axis, dim_const(arena, 0), one, half));
    halves[1] = ev_tensor(loc, build_slice(eval, loc, x, axis, half, one, half));
    return ev_tuple(eval, loc, halves, 2);
}

/* The weight of prelu brought to where the channels of the input are. */
static struct ev fn_prelu_weight(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *channels = one, *parameters, *dims[MAX_DIMS];
    const struct value *x = args[0].tensor, *weight = args[1].tensor;
    int n = 0;
    (void)count;

    if (!need_tensor(eval, "input", &args[0]) || !need_tensor(eval, "weight", &args[1]))
        return BAD;
    if (weight->ndim > 1) {
        diag_error(eval->cx, loc, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                   weight->ndim);
        return BAD;
    }
    if (weight->dtype != x->dtype) {
        diag_error(eval->cx, loc, "prelu: Type promoting not supported. Got %s and %s",
                   dtype_rows[x->dtype].name, dtype_rows[weight->dtype].name);
        return BAD;
    }
    parameters = dims_count(arena, weight);
    if (x->ndim >= 2)
        channels = x->dims[1];
    if (!dim_equals(parameters, 1) && x->ndim == 0) {
        diag_error(eval->cx, loc, "prelu: Not allow zero-dim input tensor");
        return BAD;
    }
    if (!dim_equals(parameters, 1) && !dim_equal(parameters, channels)) {
        diag_error(
            eval->cx, loc,
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = %s and channel "
            "size = %s",
            dim_text(arena, parameters), dim_text(arena, channels));
        return BAD;
    }
    if (x->ndim >= 2)
        dims[n++] = parameters;
    else if (x->ndim == 1)
        dims[n++] = one;
    while (n > 0 && n < x->ndim - 1)
        dims[n++] = one;
    return ev_tensor(loc, build_reshape(eval, loc, args[1].tensor, n, dims));
}

extern const struct function_row activation_functions[];

const struct function_row activation_functions[] = {
    {"gelu(input, approximate='none')", FUNCTIONAL, .build = fn_gelu},
    {"softmax(input, dim=None, dtype=None)", FUNCTIONAL | TORCH | METHOD, .build = fn_softmax},
    {"log_softmax(input, dim=None, dtype=None)", FUNCTIONAL | TORCH | METHOD, .build = fn_log_softmax},
    {"softmin(input, dim=None, dtype=None)", FUNCTIONAL, .body = "return softmax(-input, dim, dtype)"},
    {"glu(input, dim=-1)", FUNCTIONAL,
     .body = "_check_float(input)\n"
             "a, b = _halves(input, dim)\n"
             "return a * sigmoid(b)"},
    {"prelu(input, weight)", FUNCTIONAL | TORCH | METHOD,
     .body = "return _prelu_kernel(input, _prelu_weight(input, weight))"},
    {"rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False)", FUNCTIONAL | TORCH,
     .body =
         "_check_float(input)\n"
         "_check_bounds(lower, upper)\n"
         "return _rrelu(input, _uniform(input.shape).to(input.dtype) * (upper - lower) + lower) if training "
         "else leaky_relu(input, (lower + upper) / 2)"},
    {"_halves(input, dim)", HIDDEN, .build = fn_halves},
    {"_prelu_weight(input, weight)", HIDDEN, .build = fn_prelu_weight},
    {"_check_bounds(lower, upper)", HIDDEN, .build = fn_check_bounds},
    {"_check_float(input)", HIDDEN, .build = fn_check_float},
    {.signature = NULL},
};
