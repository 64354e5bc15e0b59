/* window.c - convolution. */
#include <string.h>

#include "../graph.h"
#include "rows.h"

/* (C, H, W) becomes (1, C, H, W) and back. */
static struct value *batched(struct eval *eval, struct loc loc, struct value *value)
{
    const struct dim *dims[4] = {dim_const(&eval->cx->arena, 1)};

    if (value->ndim != 3)
        return value;
    memcpy(dims + 1, value->dims, 3 * sizeof *dims);
    return build_reshape(eval, loc, value, 4, dims);
}

static struct ev unbatched(struct eval *eval, struct loc loc, struct value *value, int ndim)
{
    return ev_tensor(loc, value && ndim == 3 ? build_reshape(eval, loc, value, 3, value->dims + 1) : value);
}

/* kernel_size comes from an argument, or (NULL) from the weight. */
static bool check_window(struct eval *eval, struct loc loc, const char *what, const struct op *op,
                         const struct ev *kernel, const struct ev *stride, const struct ev *dilation)
{
    const struct {
        const char *name;
        const int *values;
        const struct ev *arg;
    } parts[] = {{"kernel_size", op->window.kernel, kernel},
                 {"stride", op->window.stride, stride},
                 {"dilation", op->window.dilation, dilation}};

    for (int i = 0; i < 3; i++) {
        if (parts[i].values[0] > 0 && parts[i].values[1] > 0)
            continue;
        diag_error(eval->cx, parts[i].arg ? parts[i].arg->loc : loc,
                   "%s: %s must be positive, found (%d, %d)", what, parts[i].name, parts[i].values[0],
                   parts[i].values[1]);
        return false;
    }
    return true;
}

/* Its dimensions are constants: parameters have such, inputs may not. */
static bool check_weight(struct eval *eval, struct loc loc, const struct value *weight, int *kernel)
{
    int64_t dim = 0;
    bool fine = weight->ndim == 4;

    for (int i = 0; fine && i < 4; i++) {
        fine = dim_is_const(weight->dims[i], &dim);
        if (i >= 2)
            kernel[i - 2] = (int)dim;
    }
    if (!fine)
        diag_error(eval->cx, loc,
                   "conv2d takes a weight of four dimensions that are known while generating, found %s",
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
    return fine;
}

/* padding='same': the output has the input's size. */
static bool pad_same(struct eval *eval, struct loc loc, struct op *op)
{
    for (int i = 0; i < 2; i++) {
        int64_t whole = (int64_t)op->window.dilation[i] * (op->window.kernel[i] - 1);

        if (op->window.stride[i] != 1) {
            diag_error(eval->cx, loc, "conv2d: padding='same' is not supported for strided convolutions");
            return false;
        }
        if (whole % 2 != 0 || whole > INT32_MAX) {
            diag_error(
                eval->cx, loc,
                "conv2d: padding='same' with an even kernel is not supported yet by this version of modc");
            return false;
        }
        op->window.padding[i] = (int)(whole / 2);
    }
    return true;
}

static struct ev fn_conv2d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[3];
    struct op *op;
    int64_t groups;
    int ndim;
    bool bias = args[2].kind != EV_NONE, same;
    (void)count;

    if (!need_tensor(eval, "conv2d", &args[0]) || !need_tensor(eval, "conv2d", &args[1]) ||
        (bias && !need_tensor(eval, "conv2d", &args[2])) || !need_int(eval, "groups", &args[6], &groups))
        return BAD;
    ndim = args[0].tensor->ndim;
    if (ndim != 3 && ndim != 4) {
        diag_error(eval->cx, loc, "conv2d takes (N, C, H, W) or (C, H, W), found %s",
                   shape_text(&eval->cx->arena, ndim, args[0].tensor->dims));
        return BAD;
    }
    inputs[0] = batched(eval, loc, args[0].tensor);
    inputs[1] = args[1].tensor;
    inputs[2] = bias ? args[2].tensor : NULL;
    op = op_new(eval, GRAPH_OP_CONV, "conv2d", inputs, bias ? 3 : 2);
    op->window.bias = bias;
    op->window.groups = (int)groups;
    if (groups < 1 || groups > INT32_MAX) {
        diag_error(eval->cx, args[6].loc, "conv2d: groups must be positive, found %lld", (long long)groups);
        return BAD;
    }
    same = args[4].kind == EV_STRING && strcmp(args[4].text, "same") == 0;
    if (args[4].kind == EV_STRING && !same && strcmp(args[4].text, "valid") != 0) {
        diag_error(eval->cx, args[4].loc, "padding takes integers, 'valid' or 'same', found '%s'",
                   args[4].text);
        return BAD;
    }
    if (args[4].kind == EV_STRING)
        args[4] = ev_int(eval, args[4].loc, 0);
    if (!need_ints(eval, "stride", &args[3], 2, op->window.stride) ||
        !need_ints(eval, "padding", &args[4], 2, op->window.padding) ||
        !need_ints(eval, "dilation", &args[5], 2, op->window.dilation) ||
        !check_weight(eval, args[1].loc, inputs[1], op->window.kernel) ||
        (same && !pad_same(eval, loc, op)) ||
        !check_window(eval, args[1].loc, "conv2d", op, NULL, &args[3], &args[5]))
        return BAD;
    return unbatched(eval, loc, build_op(eval, loc, op), ndim);
}

extern const struct function_row window_functions[];

const struct function_row window_functions[] = {
    {"conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", T | F,
     .build = fn_conv2d},
    {.signature = NULL},
};
