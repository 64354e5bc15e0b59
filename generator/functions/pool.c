/* pool.c - pooling: windows of an image, of which one number is left. */
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

static struct ev pool2d(struct eval *eval, struct loc loc, const char *what, enum pool_kind kind,
                        struct ev *args, const struct ev *dilation, bool ceil_mode, bool include_pad,
                        int divisor)
{
    const struct ev *stride = args[2].kind == EV_NONE ? &args[1] : &args[2];
    struct value *input;
    struct op *op;
    int ndim;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    ndim = args[0].tensor->ndim;
    if (ndim != 3 && ndim != 4) {
        diag_error(eval->cx, loc, "%s takes (N, C, H, W) or (C, H, W), found %s", what,
                   shape_text(&eval->cx->arena, ndim, args[0].tensor->dims));
        return BAD;
    }
    input = batched(eval, loc, args[0].tensor);
    op = op_new(eval, GRAPH_OP_POOL, what, &input, 1);
    op->window.kind = kind;
    op->window.groups = 1;
    op->window.ceil_mode = ceil_mode;
    op->window.count_include_pad = include_pad;
    op->window.divisor = divisor;
    op->window.dilation[0] = op->window.dilation[1] = 1;
    if (!need_ints(eval, "kernel_size", &args[1], 2, op->window.kernel) ||
        !need_ints(eval, "stride", stride, 2, op->window.stride) ||
        !need_ints(eval, "padding", &args[3], 2, op->window.padding) ||
        (dilation && !need_ints(eval, "dilation", dilation, 2, op->window.dilation)))
        return BAD;
    if (!check_window(eval, loc, what, op, &args[1], stride, dilation))
        return BAD;
    for (int i = 0; i < 2; i++) {
        if (2 * op->window.padding[i] > op->window.kernel[i]) {
            diag_error(eval->cx, args[3].loc,
                       "%s: padding should be at most half of kernel_size, found %d for %d", what,
                       op->window.padding[i], op->window.kernel[i]);
            return BAD;
        }
    }
    return unbatched(eval, loc, build_op(eval, loc, op), ndim);
}

static struct ev fn_max_pool2d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool ceil_mode, indices;
    (void)count;

    if (!need_bool(eval, "ceil_mode", &args[5], &ceil_mode) ||
        !need_bool(eval, "return_indices", &args[6], &indices))
        return BAD;
    if (indices) {
        diag_error(eval->cx, args[6].loc,
                   "max_pool2d: return_indices=True is not supported yet by this version of modc");
        return BAD;
    }
    return pool2d(eval, loc, "max_pool2d", POOL_MAX, args, &args[4], ceil_mode, false, 0);
}

static struct ev fn_avg_pool2d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool ceil_mode, include_pad;
    int64_t divisor = 0;
    (void)count;

    if (!need_bool(eval, "ceil_mode", &args[4], &ceil_mode) ||
        !need_bool(eval, "count_include_pad", &args[5], &include_pad) ||
        (args[6].kind != EV_NONE && !need_int(eval, "divisor_override", &args[6], &divisor)))
        return BAD;
    if (args[6].kind != EV_NONE && (divisor == 0 || divisor > INT32_MAX || divisor < -INT32_MAX)) {
        diag_error(eval->cx, args[6].loc, "avg_pool2d: divisor_override must be a nonzero 32-bit integer");
        return BAD;
    }
    return pool2d(eval, loc, "avg_pool2d", POOL_AVG, args, NULL, ceil_mode, include_pad, (int)divisor);
}

extern const struct function_row pool_functions[];

const struct function_row pool_functions[] = {
    {"max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)",
     F, .build = fn_max_pool2d},
    {"avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
     "divisor_override=None)",
     F, .build = fn_avg_pool2d},
    {.signature = NULL},
};
