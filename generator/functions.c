/* functions.c - torch, torch.nn.functional and torch.Tensor's methods: rows of the function table.
 *
 * A row is a body in the spec's statements where that says it; else a builder that checks its arguments and makes ops. */
#include <math.h>
#include <string.h>

#include "eval.h"
#include "graph.h"
#include "layers.h"

#define BAD ev_bad(loc)

enum { ARANGE_MAX = 1 << 24 };

/* ---- arguments -------------------------------------------------------------------------------------------- */

/* What the user called: the function of the spec or of the tables. */
static const char *outer(const struct eval *eval, const char *what)
{
    return eval->within ? eval->within : what;
}

static bool need_tensor(struct eval *eval, const char *what, const struct ev *arg)
{
    if (arg->kind == EV_TENSOR)
        return true;
    diag_error(eval->cx, arg->loc, "%s takes a tensor, found %s", outer(eval, what), ev_kind_text(arg));
    return false;
}

static bool need_int(struct eval *eval, const char *what, const struct ev *arg, int64_t *out)
{
    if (arg->kind != EV_BOOL && ev_get_int(arg, out))
        return true;
    diag_error(eval->cx, arg->loc, "%s takes an integer that is known while generating, found %s", outer(eval, what),
               ev_text(eval, arg));
    return false;
}

/* A dimension number, -ndim .. ndim - 1 (at least -1 .. 0). */
static bool need_axis(struct eval *eval, const char *what, const struct ev *arg, int ndim, int *out)
{
    int64_t axis;
    int range = ndim > 0 ? ndim : 1;

    if (!need_int(eval, what, arg, &axis))
        return false;
    if (axis < -range || axis >= range) {
        diag_error(eval->cx, arg->loc, "%s: dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   outer(eval, what), -range, range - 1, (long long)axis);
        return false;
    }
    *out = (int)(axis < 0 ? axis + range : axis);
    return true;
}

/* None, a number or a tuple of numbers, as a set of axes. Empty tuple and None: all. */
static bool need_axes(struct eval *eval, const char *what, const struct ev *arg, int ndim, bool *axes)
{
    int axis;

    memset(axes, 0, MAX_DIMS * sizeof *axes);
    if (arg->kind == EV_NONE || (arg->kind == EV_TUPLE && arg->count == 0)) {
        for (int i = 0; i < ndim; i++)
            axes[i] = true;
        return true;
    }
    if (arg->kind != EV_TUPLE) {
        if (!need_axis(eval, what, arg, ndim, &axis))
            return false;
        axes[axis] = ndim > 0;
        return true;
    }
    for (int i = 0; i < arg->count; i++) {
        if (!need_axis(eval, what, &arg->items[i], ndim, &axis))
            return false;
        if (axes[axis]) {
            diag_error(eval->cx, arg->items[i].loc, "%s: dimension %d appears twice", outer(eval, what), axis);
            return false;
        }
        axes[axis] = ndim > 0;
    }
    return true;
}

/* An int or a tuple of two. */
static bool need_pair(struct eval *eval, const char *what, const struct ev *arg, int *out)
{
    for (int i = 0; i < 2; i++) {
        int64_t value;
        const struct ev *item = arg;

        if (arg->kind == EV_TUPLE) {
            if (arg->count != 2 && arg->count != 1) {
                diag_error(eval->cx, arg->loc, "%s takes one or two integers, found %s", what, ev_text(eval, arg));
                return false;
            }
            item = &arg->items[arg->count == 2 ? i : 0];
        }
        if (!need_int(eval, what, item, &value))
            return false;
        if (value < 0 || value > 1 << 20) {
            diag_error(eval->cx, item->loc, "%s must not be negative or huge, found %lld", what, (long long)value);
            return false;
        }
        out[i] = (int)value;
    }
    return true;
}

static bool does_not_fit(struct eval *eval, const char *what, const struct ev *arg, const struct value *x)
{
    struct arena *arena = &eval->cx->arena;

    diag_error(eval->cx, arg->loc, "%s: the shape %s does not fit %s, which has %s elements", what, ev_text(eval, arg),
               shape_text(arena, x->ndim, x->dims), dim_text(arena, dims_count(arena, x)));
    return false;
}

/* A shape: a tuple of integers over sizes; of `x`, where that is given: then one -1 is worked out. */
static bool need_shape(struct eval *eval, const char *what, const struct ev *arg, const struct value *x,
                       const struct dim **dims, int *ndim)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *product = dim_const(arena, 1), *quotient, *count = x ? dims_count(arena, x) : NULL;
    const struct ev *items = arg->kind == EV_TUPLE ? arg->items : arg;
    int n = arg->kind == EV_TUPLE ? arg->count : 1, free = -1;

    if (n > MAX_DIMS) {
        diag_error(eval->cx, arg->loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (items[i].kind != EV_INT) {
            diag_error(eval->cx, items[i].loc, "%s takes integers, found %s", what, ev_text(eval, &items[i]));
            return false;
        }
        if (count && dim_equals(items[i].dim, -1)) {
            if (free >= 0) {
                diag_error(eval->cx, items[i].loc, "%s: only one dimension can be inferred", what);
                return false;
            }
            free = i;
            continue;
        }
        if (dim_lower(items[i].dim) < 0 && dim_is_const(items[i].dim, NULL)) {
            diag_error(eval->cx, items[i].loc, "%s: negative dimension %s", what, dim_text(arena, items[i].dim));
            return false;
        }
        dims[i] = items[i].dim;
        product = dim_mul(arena, product, dims[i]);
    }
    if (free >= 0) {
        if (!dim_divides(arena, count, product, &quotient))
            return does_not_fit(eval, what, arg, x);
        dims[free] = quotient;
    } else if (count && !dim_equal(product, count)) {
        return does_not_fit(eval, what, arg, x);
    }
    *ndim = n;
    return true;
}

static bool need_bool(struct eval *eval, const char *what, const struct ev *arg, bool *out)
{
    if ((arg->kind == EV_BOOL || arg->kind == EV_INT || arg->kind == EV_NONE) && ev_get_bool(arg, out))
        return true;
    diag_error(eval->cx, arg->loc, "%s takes True or False, found %s", outer(eval, what), ev_kind_text(arg));
    return false;
}

static bool need_dtype(struct eval *eval, const struct ev *arg, enum dtype absent, enum dtype *out)
{
    *out = absent;
    if (arg->kind == EV_NONE)
        return true;
    if (arg->kind == EV_DTYPE) {
        /* Python's float, int and bool mean these as dtypes */
        *out = strcmp(arg->text, "float") == 0 && absent == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : arg->dtype;
        return true;
    }
    diag_error(eval->cx, arg->loc, "a dtype is needed here, found %s", ev_text(eval, arg));
    if (arg->kind == EV_STRING && dtype_find(arg->text, out))
        diag_hint(eval->cx, "write torch.%s", arg->text);
    return false;
}

/* ---- products --------------------------------------------------------------------------------------------- */

static struct ev fn_linear(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int swap[MAX_DIMS] = {1, 0};
    struct value *weight, *input;
    (void)count;

    if (!need_tensor(eval, "linear", &args[0]) || !need_tensor(eval, "linear", &args[1]))
        return BAD;
    input = args[0].tensor;
    weight = args[1].tensor;
    if (weight->ndim != 2) {
        diag_error(eval->cx, args[1].loc, "linear: the weight must have two dimensions, found %s",
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
        return BAD;
    }
    if (input->ndim == 0 || !dim_equal(input->dims[input->ndim - 1], weight->dims[1])) {
        diag_error(eval->cx, loc, "linear: the last dimension of %s must be %s, as the weight is %s",
                   shape_text(&eval->cx->arena, input->ndim, input->dims),
                   dim_text(&eval->cx->arena, weight->dims[1]),
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
        return BAD;
    }
    if (args[2].kind != EV_NONE && !need_tensor(eval, "linear", &args[2]))
        return BAD;
    if (input->dtype != weight->dtype) {
        diag_error(eval->cx, loc, "linear: the input is %s, the weight is %s", dtype_rows[input->dtype].name,
                   dtype_rows[weight->dtype].name);
        diag_hint(eval->cx, "convert the input first, with .to(torch.%s)", dtype_rows[weight->dtype].name);
        return BAD;
    }
    weight = build_permute(eval, loc, weight, swap);
    return ev_tensor(loc, build_matmul(eval, loc, input, weight, args[2].kind == EV_NONE ? NULL : args[2].tensor));
}

static struct ev fn_matmul(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "matmul", &args[0]) || !need_tensor(eval, "matmul", &args[1]))
        return BAD;
    return ev_tensor(loc, build_matmul(eval, loc, args[0].tensor, args[1].tensor, NULL));
}

/* ---- windows ---------------------------------------------------------------------------------------------- */

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
static bool check_window(struct eval *eval, struct loc loc, const char *what, const struct op *op, const struct ev *kernel,
                         const struct ev *stride, const struct ev *dilation)
{
    const struct {
        const char *name;
        const int *values;
        const struct ev *arg;
    } parts[] = {{"kernel_size", op->window.kernel, kernel}, {"stride", op->window.stride, stride},
                 {"dilation", op->window.dilation, dilation}};

    for (int i = 0; i < 3; i++) {
        if (parts[i].values[0] > 0 && parts[i].values[1] > 0)
            continue;
        diag_error(eval->cx, parts[i].arg ? parts[i].arg->loc : loc, "%s: %s must be positive, found (%d, %d)", what,
                   parts[i].name, parts[i].values[0], parts[i].values[1]);
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
        diag_error(eval->cx, loc, "conv2d takes a weight of four dimensions that are known while generating, found %s",
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
            diag_error(eval->cx, loc,
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
        diag_error(eval->cx, args[4].loc, "padding takes integers, 'valid' or 'same', found '%s'", args[4].text);
        return BAD;
    }
    if (args[4].kind == EV_STRING)
        args[4] = ev_int(eval, args[4].loc, 0);
    if (!need_pair(eval, "stride", &args[3], op->window.stride) ||
        !need_pair(eval, "padding", &args[4], op->window.padding) ||
        !need_pair(eval, "dilation", &args[5], op->window.dilation) ||
        !check_weight(eval, args[1].loc, inputs[1], op->window.kernel) ||
        (same && !pad_same(eval, loc, op)) ||
        !check_window(eval, args[1].loc, "conv2d", op, NULL, &args[3], &args[5]))
        return BAD;
    return unbatched(eval, loc, build_op(eval, loc, op), ndim);
}

static struct ev pool2d(struct eval *eval, struct loc loc, const char *what, enum pool_kind kind, struct ev *args,
                        const struct ev *dilation, bool ceil_mode, bool include_pad, int divisor)
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
    if (!need_pair(eval, "kernel_size", &args[1], op->window.kernel) ||
        !need_pair(eval, "stride", stride, op->window.stride) ||
        !need_pair(eval, "padding", &args[3], op->window.padding) ||
        (dilation && !need_pair(eval, "dilation", dilation, op->window.dilation)))
        return BAD;
    if (!check_window(eval, loc, what, op, &args[1], stride, dilation))
        return BAD;
    for (int i = 0; i < 2; i++) {
        if (2 * op->window.padding[i] > op->window.kernel[i]) {
            diag_error(eval->cx, args[3].loc, "%s: padding should be at most half of kernel_size, found %d for %d", what,
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

    if (!need_bool(eval, "ceil_mode", &args[5], &ceil_mode) || !need_bool(eval, "return_indices", &args[6], &indices))
        return BAD;
    if (indices) {
        diag_error(eval->cx, args[6].loc, "max_pool2d: return_indices=True is not supported yet by this version of modc");
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

/* ---- normalisation, activations that are no lines --------------------------------------------------------- */

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
            diag_error(eval->cx, loc, "layer_norm: the input is %s, the %s is %s", dtype_rows[inputs[0]->dtype].name,
                       i == 2 ? "weight" : "bias", dtype_rows[args[i].tensor->dtype].name);
            return BAD;
        }
    }
    if (!ev_get_number(&args[4], &eps)) {
        diag_error(eval->cx, args[4].loc, "layer_norm: eps must be a number, found %s", ev_kind_text(&args[4]));
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_NORM, "layer_norm", inputs, used);
    op->norm.axes = n;
    op->norm.eps = eps;
    op->norm.weight = args[2].kind != EV_NONE;
    op->norm.bias = args[3].kind != EV_NONE;
    return ev_tensor(loc, build_op(eval, loc, op));
}

static struct ev fn_gelu(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *approximate = args[1].kind == EV_STRING ? args[1].text : "";
    (void)count;

    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        diag_error(eval->cx, args[1].loc, "approximate argument must be either none or tanh, found %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    return build_elementwise(eval, loc, elementwise_find(approximate[0] == 'n' ? "gelu" : "gelu_tanh"), args, 1);
}

static struct ev fn_dropout(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    bool training;
    double p;
    struct value *x, *uniform;
    struct op *op;
    struct dag *dag;
    (void)count;

    if (!need_tensor(eval, "dropout", &args[0]) || !need_bool(eval, "training", &args[2], &training))
        return BAD;
    if (!ev_get_number(&args[1], &p) || !(p >= 0 && p <= 1)) {
        diag_error(eval->cx, args[1].loc, "dropout probability has to be between 0 and 1, but got %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    x = args[0].tensor;
    if (!training || p == 0)
        return args[0];
    if (!eval->graph) {
        diag_error(eval->cx, loc, "random numbers are not known while generating");
        return BAD;
    }
    if (!dtype_is_float(x->dtype)) {
        diag_error(eval->cx, loc, "dropout takes a floating tensor, not %s", dtype_rows[x->dtype].name);
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_RANDOM, "random", NULL, 0);
    op->random.module = eval->call ? eval->call->module : NULL;
    op->loc = loc;
    op->outputs[0] = ARENA_NEW(arena, struct value);
    *op->outputs[0] = (struct value){.id = eval->graph->value_count++, .dtype = DTYPE_FLOAT32, .op = op, .loc = loc,
                                     .ndim = x->ndim};
    memcpy(op->outputs[0]->dims, x->dims, sizeof x->dims);
    op->output_count = 1;
    ARENA_PUSH(arena, eval->graph->ops, eval->graph->op_count, op);
    uniform = op->outputs[0];

    /* where(u < p, 0, x * 1 / (1 - p)) */
    dag = dag_new(arena, 2);
    int drop = dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, dag_load(arena, dag, 1, DTYPE_FLOAT32),
                        dag_const(arena, dag, DTYPE_FLOAT32, p), -1);
    int kept = dag_prim(arena, dag, PRIM_MUL, x->dtype, dag_load(arena, dag, 0, x->dtype),
                        dag_const(arena, dag, x->dtype, p == 1 ? 0 : dtype_round(x->dtype, 1 / (1 - p))), -1);

    dag->result = dag_prim(arena, dag, PRIM_SELECT, x->dtype, drop, dag_const(arena, dag, x->dtype, 0), kept);
    return ev_tensor(loc, build_map(eval, loc, "dropout", dag, (struct value *[]){x, uniform}, 2));
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

static struct ev fn_check_float(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "input", &args[0]))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, "this"), dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    return ev_none(loc);
}

/* ---- choosing --------------------------------------------------------------------------------------------- */

static struct ev fn_where(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "where", &args[0]))
        return BAD;
    if (args[0].tensor->dtype != DTYPE_BOOL) {
        diag_error(eval->cx, args[0].loc, "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                   dtype_rows[args[0].tensor->dtype].name);
        return BAD;
    }
    for (int i = 1; i <= 2; i++) {
        if (args[i].kind != EV_TENSOR && !ev_is_number(&args[i])) {
            diag_error(eval->cx, args[i].loc, "where takes tensors and numbers, found %s", ev_kind_text(&args[i]));
            return BAD;
        }
    }
    return build_where(eval, loc, args[0].tensor, &args[1], &args[2]);
}

/* ---- joining ---------------------------------------------------------------------------------------------- */

static struct ev fn_cat(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value **inputs;
    struct op *op;
    int axis;
    enum dtype dtype = DTYPE_BOOL;
    (void)count;

    if (args[0].kind != EV_TUPLE || args[0].count == 0) {
        diag_error(eval->cx, args[0].loc, "cat takes a list of tensors, found %s", ev_kind_text(&args[0]));
        return BAD;
    }
    inputs = ARENA_ARRAY(&eval->cx->arena, args[0].count, struct value *);
    for (int i = 0; i < args[0].count; i++) {
        if (!need_tensor(eval, "cat", &args[0].items[i]))
            return BAD;
        inputs[i] = args[0].items[i].tensor;
        if (inputs[i]->ndim == 0) {
            diag_error(eval->cx, args[0].items[i].loc, "cat takes tensors with dimensions, found a single number");
            diag_hint(eval->cx, "give it one first, as x.reshape(1)");
            return BAD;
        }
        dtype = i == 0 ? inputs[0]->dtype : dtype_promote(dtype, inputs[i]->dtype);
    }
    if (!need_axis(eval, "cat", &args[1], inputs[0]->ndim, &axis))
        return BAD;
    for (int i = 0; i < args[0].count; i++)
        if (!(inputs[i] = build_cast(eval, loc, inputs[i], dtype)))
            return BAD;
    if (args[0].count == 1)
        return ev_tensor(loc, inputs[0]);
    op = op_new(eval, GRAPH_OP_CONCAT, "cat", inputs, args[0].count);
    op->concat.axis = axis;
    return ev_tensor(loc, build_op(eval, loc, op));
}

/* ---- shapes ----------------------------------------------------------------------------------------------- */

static struct ev fn_reshape(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    int ndim;
    (void)count;

    if (!need_tensor(eval, "reshape", &args[0]) ||
        !need_shape(eval, "reshape", &args[1], args[0].tensor, dims, &ndim))
        return BAD;
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, ndim, dims));
}

static struct ev fn_flatten(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *product = dim_const(arena, 1);
    int first, last, n = 0;
    const struct value *x;
    (void)count;

    if (!need_tensor(eval, "flatten", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (!need_axis(eval, "flatten", &args[1], x->ndim, &first) || !need_axis(eval, "flatten", &args[2], x->ndim, &last))
        return BAD;
    if (first > last) {
        diag_error(eval->cx, loc, "flatten() has invalid args: start_dim cannot come after end_dim");
        return BAD;
    }
    if (x->ndim == 0) {
        dims[n++] = product;
        return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
    }
    for (int i = 0; i < x->ndim; i++) {
        if (i >= first && i <= last)
            product = dim_mul(arena, product, x->dims[i]);
        if (i < first || i > last)
            dims[n++] = x->dims[i];
        else if (i == last)
            dims[n++] = product;
    }
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
}

static struct ev fn_permute(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], n = args[1].kind == EV_TUPLE ? args[1].count : -1;
    bool seen[MAX_DIMS] = {false};
    (void)count;

    if (!need_tensor(eval, "permute", &args[0]))
        return BAD;
    if (n != args[0].tensor->ndim) {
        diag_error(eval->cx, args[1].loc, "permute takes %d dimensions for a tensor of shape %s, found %s",
                   args[0].tensor->ndim, shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims),
                   ev_text(eval, &args[1]));
        return BAD;
    }
    for (int i = 0; i < n; i++) {
        if (!need_axis(eval, "permute", &args[1].items[i], n, &perm[i]))
            return BAD;
        if (seen[perm[i]]) {
            diag_error(eval->cx, args[1].items[i].loc, "permute: dimension %d appears twice", perm[i]);
            return BAD;
        }
        seen[perm[i]] = true;
    }
    return ev_tensor(loc, build_permute(eval, loc, args[0].tensor, perm));
}

static struct ev fn_transpose(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], a, b;
    (void)count;

    if (!need_tensor(eval, "transpose", &args[0]) ||
        !need_axis(eval, "transpose", &args[1], args[0].tensor->ndim, &a) ||
        !need_axis(eval, "transpose", &args[2], args[0].tensor->ndim, &b))
        return BAD;
    for (int i = 0; i < MAX_DIMS; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    return ev_tensor(loc, build_permute(eval, loc, args[0].tensor, perm));
}

static struct ev fn_t(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int swap[MAX_DIMS] = {1, 0};
    (void)count;

    if (!need_tensor(eval, "t", &args[0]))
        return BAD;
    if (args[0].tensor->ndim > 2) {
        diag_error(eval->cx, loc, "t takes a tensor of at most two dimensions, found %s",
                   shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims));
        return BAD;
    }
    return args[0].tensor->ndim < 2 ? args[0] : ev_tensor(loc, build_permute(eval, loc, args[0].tensor, swap));
}

static struct ev fn_unsqueeze(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS + 1];
    const struct value *x;
    int axis;
    (void)count;

    if (!need_tensor(eval, "unsqueeze", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (!need_axis(eval, "unsqueeze", &args[1], x->ndim + 1, &axis))
        return BAD;
    if (x->ndim == MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return BAD;
    }
    memcpy(dims, x->dims, sizeof(dims[0]) * (size_t)axis);
    dims[axis] = dim_const(&eval->cx->arena, 1);
    memcpy(dims + axis + 1, x->dims + axis, sizeof(dims[0]) * (size_t)(x->ndim - axis));
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, x->ndim + 1, dims));
}

static struct ev fn_squeeze(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    const struct value *x;
    bool axes[MAX_DIMS];
    int n = 0;
    (void)count;

    if (!need_tensor(eval, "squeeze", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (!need_axes(eval, "squeeze", &args[1], x->ndim, axes))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        if (axes[i] && !dim_is_const(x->dims[i], NULL) && dim_lower(x->dims[i]) <= 1 && dim_upper(x->dims[i]) >= 1) {
            diag_error(eval->cx, loc, "squeeze: dimension %d is %s, which is 1 for some sizes only", i,
                       dim_text(&eval->cx->arena, x->dims[i]));
            diag_hint(eval->cx, "name the dimension that is always 1, as x.squeeze(-1)");
            return BAD;
        }
        if (!axes[i] || !dim_equals(x->dims[i], 1))
            dims[n++] = x->dims[i];
    }
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
}

static struct ev fn_expand(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct ev sizes = args[1];
    const struct value *x;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "expand", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (sizes.kind == EV_TUPLE) { /* -1 keeps a dimension */
        int gap = sizes.count - x->ndim;

        sizes = ev_tuple(eval, sizes.loc, sizes.items, sizes.count);
        for (int i = gap < 0 ? 0 : gap; i < sizes.count; i++)
            if (sizes.items[i].kind == EV_INT && dim_equals(sizes.items[i].dim, -1))
                sizes.items[i].dim = x->dims[i - gap];
    }
    if (!need_shape(eval, "expand", &sizes, NULL, dims, &ndim))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        int at = ndim - x->ndim + i;

        if (at < 0 || (!dim_equals(x->dims[i], 1) && !dim_equal(x->dims[i], dims[at]))) {
            diag_error(eval->cx, loc, "expand: %s cannot become %s", shape_text(&eval->cx->arena, x->ndim, x->dims),
                       shape_text(&eval->cx->arena, ndim, dims));
            return BAD;
        }
    }
    return ev_tensor(loc, build_expand(eval, loc, args[0].tensor, ndim, dims));
}

static struct ev fn_select(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    (void)count;

    if (!need_tensor(eval, "select", &args[0]) || !need_axis(eval, "select", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    if (args[2].kind != EV_INT || args[0].tensor->ndim == 0) {
        diag_error(eval->cx, args[2].loc, "select takes an integer index into a dimension");
        return BAD;
    }
    return ev_tensor(loc, eval_select(eval, args[0].tensor, axis, &args[2]));
}

static struct ev fn_chunk(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    int64_t chunks, extent, step;
    struct ev *items = NULL;
    int axis, n = 0;
    (void)count;

    if (!need_tensor(eval, "chunk", &args[0]) || !need_int(eval, "chunk", &args[1], &chunks) ||
        !need_axis(eval, "chunk", &args[2], args[0].tensor->ndim, &axis))
        return BAD;
    if (args[0].tensor->ndim == 0) {
        diag_error(eval->cx, loc, "chunk: the tensor has no dimensions");
        return BAD;
    }
    if (chunks <= 0) {
        diag_error(eval->cx, args[1].loc, "chunk needs a positive number of chunks, found %lld", (long long)chunks);
        return BAD;
    }
    if (!dim_is_const(args[0].tensor->dims[axis], &extent)) {
        diag_error(eval->cx, loc, "chunk: dimension %d is %s, and how many chunks there are must be known while generating",
                   axis, dim_text(arena, args[0].tensor->dims[axis]));
        return BAD;
    }
    step = chunks >= extent ? extent > 0 : (extent + chunks - 1) / chunks;
    for (int64_t at = 0; at < extent || n == 0; at += step) {
        int64_t length = extent - at < step ? extent - at : step;
        struct value *part = build_slice(eval, loc, args[0].tensor, axis, dim_const(arena, at), dim_const(arena, 1),
                                         dim_const(arena, length));

        ARENA_PUSH(arena, items, n, ev_tensor(loc, part));
        if (step == 0)
            break;
    }
    return ev_tuple(eval, loc, items, n);
}

static struct ev fn_size(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev items[MAX_DIMS];
    int axis;
    (void)count;

    if (!need_tensor(eval, "size", &args[0]))
        return BAD;
    if (args[1].kind == EV_NONE) {
        for (int i = 0; i < args[0].tensor->ndim; i++)
            items[i] = ev_dim(loc, args[0].tensor->dims[i]);
        return ev_tuple(eval, loc, items, args[0].tensor->ndim);
    }
    if (!need_axis(eval, "size", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    if (args[0].tensor->ndim == 0) {
        diag_error(eval->cx, loc, "size: the tensor has no dimensions");
        return BAD;
    }
    return ev_dim(loc, args[0].tensor->dims[axis]);
}

static struct ev fn_numel(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "numel", &args[0]))
        return BAD;
    return ev_dim(loc, dims_count(&eval->cx->arena, args[0].tensor));
}

static struct ev fn_clone(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "clone", &args[0]) ? ev_tensor(loc, build_copy(eval, loc, args[0].tensor)) : BAD;
}

static struct ev fn_contiguous(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count; /* values have no strides that a spec can see */
    return need_tensor(eval, "contiguous", &args[0]) ? args[0] : BAD;
}

/* ---- types ------------------------------------------------------------------------------------------------ */

static struct ev cast_to(struct eval *eval, struct ev *args, struct loc loc, enum dtype dtype)
{
    if (!need_tensor(eval, "a conversion", &args[0]))
        return BAD;
    return ev_tensor(loc, build_cast(eval, loc, args[0].tensor, dtype));
}

#define CAST(name, type)                                                                                     \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return cast_to(eval, args, loc, type);                                                               \
    }
CAST(float, DTYPE_FLOAT32)
CAST(double, DTYPE_FLOAT64)
CAST(long, DTYPE_INT64)
CAST(int, DTYPE_INT32)
CAST(bool, DTYPE_BOOL)

static struct ev fn_to(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = DTYPE_FLOAT32;
    (void)count;

    if (args[1].kind == EV_TENSOR)
        dtype = args[1].tensor->dtype;
    else if (!need_dtype(eval, &args[1], args[0].kind == EV_TENSOR ? args[0].tensor->dtype : dtype, &dtype))
        return BAD;
    return cast_to(eval, args, loc, dtype);
}

/* ---- reductions ------------------------------------------------------------------------------------------- */

static bool need_one_axis(struct eval *eval, const char *what, const struct ev *arg)
{
    if (arg->kind != EV_TUPLE)
        return true;
    diag_error(eval->cx, arg->loc, "%s takes one dimension, found %s", outer(eval, what), ev_text(eval, arg));
    return false;
}

static struct ev reduce(struct eval *eval, struct ev *args, struct loc loc, const char *what, enum reduce_kind kind)
{
    bool axes[MAX_DIMS], keepdim;

    if ((kind == REDUCE_PROD || kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN) && !need_one_axis(eval, what, &args[1]))
        return BAD;
    if (!need_tensor(eval, what, &args[0]) || !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes) ||
        !need_bool(eval, "keepdim", &args[2], &keepdim))
        return BAD;
    return ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
}

#define REDUCE(name, text, kind)                                                                             \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return reduce(eval, args, loc, text, kind);                                                          \
    }
REDUCE(sum, "sum", REDUCE_SUM)
REDUCE(prod, "prod", REDUCE_PROD)
REDUCE(amax, "amax", REDUCE_MAX)
REDUCE(amin, "amin", REDUCE_MIN)
REDUCE(any, "any", REDUCE_ANY)
REDUCE(all, "all", REDUCE_ALL)
REDUCE(argmax, "argmax", REDUCE_ARGMAX)
REDUCE(argmin, "argmin", REDUCE_ARGMIN)

/* The number of elements that a mean is over, as a value of the evaluator. */
static struct ev fn_reduced_count(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *product = dim_const(arena, 1);
    bool axes[MAX_DIMS];
    (void)count;

    if (!need_tensor(eval, "mean", &args[0]) || !need_axes(eval, "mean", &args[1], args[0].tensor->ndim, axes))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "%s takes a floating tensor, found %s", outer(eval, "mean"),
                   dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float().%s()", outer(eval, "mean"));
        return BAD;
    }
    for (int i = 0; i < args[0].tensor->ndim; i++)
        if (axes[i])
            product = dim_mul(arena, product, args[0].tensor->dims[i]);
    if (dim_equals(product, 0)) /* the mean of nothing */
        return ev_float(loc, NAN);
    return ev_dim(loc, product);
}

/* max(x), max(x, dim) -> (values, indices), max(x, y). */
static struct ev extreme(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool max)
{
    static const char *const fields[] = {"values", "indices"};
    enum reduce_kind kind = max ? REDUCE_MAX : REDUCE_MIN;
    bool axes[MAX_DIMS], keepdim;
    struct ev items[2], out;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (args[1].kind == EV_TENSOR)
        return build_binary(eval, loc, max ? PRIM_MAX : PRIM_MIN, max ? "maximum" : "minimum", &args[0], &args[1]);
    if (!need_bool(eval, "keepdim", &args[2], &keepdim) || !need_one_axis(eval, what, &args[1]) ||
        !need_axes(eval, what, &args[1], args[0].tensor->ndim, axes))
        return BAD;
    items[0] = ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, kind, axes, keepdim));
    if (args[1].kind == EV_NONE || items[0].kind == EV_BAD)
        return items[0];
    items[1] = ev_tensor(loc, build_reduce(eval, loc, args[0].tensor, max ? REDUCE_ARGMAX : REDUCE_ARGMIN, axes, keepdim));
    out = ev_tuple(eval, loc, items, 2);
    out.fields = fields;
    return out;
}

static struct ev fn_max(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return extreme(eval, args, loc, "max", true);
}

static struct ev fn_min(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return extreme(eval, args, loc, "min", false);
}

/* ---- makers ----------------------------------------------------------------------------------------------- */

/* start + i * step for 0 <= i < length, as far as `most` says that lengths go: a slice of a constant. */
static struct ev counted(struct eval *eval, struct loc loc, const struct dim *start, int64_t step, const struct dim *length,
                         int64_t most, enum dtype dtype)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *numbers = ARENA_NEW(arena, struct tensor);
    struct ev out, by = ev_int(eval, loc, step), from = ev_dim(loc, start);

    numbers->dtype = DTYPE_INT64;
    numbers->ndim = 1;
    numbers->dims[0] = most;
    numbers->data = ARENA_ARRAY(arena, most + 1, union scalar);
    for (int64_t i = 0; i < most; i++)
        numbers->data[i].i = i;
    out = ev_tensor(loc, build_slice(eval, loc, build_const(eval, loc, numbers), 0, dim_const(arena, 0), dim_const(arena, 1),
                                     length));
    if (step != 1 && out.kind != EV_BAD)
        out = build_binary(eval, loc, PRIM_MUL, "arange", &out, &by);
    if (!dim_equals(start, 0) && out.kind != EV_BAD)
        out = build_binary(eval, loc, PRIM_ADD, "arange", &out, &from);
    return out.kind == EV_BAD ? out : ev_tensor(loc, build_cast(eval, loc, out.tensor, dtype));
}

static bool check_span(struct eval *eval, struct loc loc, double span)
{
    if (span > ARANGE_MAX)
        diag_error(eval->cx, loc, "arange gives at most %d elements", ARANGE_MAX);
    else if (!(span >= 0))
        diag_error(eval->cx, loc, "arange: upper bound and lower bound inconsistent with step sign");
    return span >= 0 && span <= ARANGE_MAX;
}

/* arange over sizes: the step must be known. */
static struct ev arange_of_sizes(struct eval *eval, struct ev *args, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *start = args[1].kind == EV_NONE ? dim_const(arena, 0) : args[0].dim;
    const struct dim *end = args[1].kind == EV_NONE ? args[0].dim : args[1].dim, *length;
    enum dtype dtype;
    int64_t step = 1;

    if (args[2].kind != EV_NONE && (!ev_get_int(&args[2], &step) || step < 1 || step > INT32_MAX)) {
        diag_error(eval->cx, args[2].loc, "arange over sizes needs a positive step that is known while generating, found %s",
                   ev_text(eval, &args[2]));
        return BAD;
    }
    if (!need_dtype(eval, &args[3], DTYPE_INT64, &dtype))
        return BAD;
    length = dim_floordiv(arena, dim_add(arena, dim_sub(arena, end, start), dim_const(arena, step - 1)), dim_const(arena, step));
    if (!check_span(eval, loc, (double)dim_upper(length)))
        return BAD;
    return counted(eval, loc, start, step, length, dim_upper(length), dtype);
}

static bool is_size(const struct ev *arg)
{
    return arg->kind == EV_INT && !dim_is_const(arg->dim, NULL);
}

static struct ev fn_arange(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double bounds[3] = {0, 0, 1};
    bool whole = true;
    struct tensor *out;
    enum dtype dtype;
    double span;
    int given = args[1].kind == EV_NONE ? 1 : 2;
    (void)count;

    if (args[0].kind == EV_INT && (given == 1 || args[1].kind == EV_INT) && (is_size(&args[0]) || is_size(&args[1])))
        return arange_of_sizes(eval, args, loc);
    for (int i = 0; i < 3; i++) {
        const struct ev *arg = &args[i];

        if (arg->kind == EV_NONE && i > 0)
            continue;
        if (!ev_get_number(arg, &bounds[i])) {
            diag_error(eval->cx, arg->loc, "arange takes numbers that are known while generating, found %s",
                       ev_text(eval, arg));
            return BAD;
        }
        whole &= arg->kind != EV_FLOAT;
    }
    if (given == 1) {
        bounds[1] = bounds[0];
        bounds[0] = 0;
    }
    if (!need_dtype(eval, &args[3], whole ? DTYPE_INT64 : eval->default_dtype, &dtype))
        return BAD;
    if (bounds[2] == 0) {
        diag_error(eval->cx, args[2].loc, "arange: step must be nonzero");
        return BAD;
    }
    span = ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (!check_span(eval, loc, span))
        return BAD;
    out = ARENA_NEW(&eval->cx->arena, struct tensor);
    out->dtype = dtype;
    out->ndim = 1;
    out->dims[0] = (int64_t)span;
    out->data = ARENA_ARRAY(&eval->cx->arena, span + 1, union scalar);
    for (int64_t i = 0; i < out->dims[0]; i++) {
        double x = bounds[0] + (double)i * bounds[2];

        if (dtype_is_float(dtype))
            out->data[i].f = dtype_round(dtype, x);
        else if (fabs(x) < 0x1p63)
            out->data[i].i = dtype_wrap(dtype, (int64_t)x);
        else
            out->data[i].i = INT64_MIN;
    }
    return ev_tensor(loc, build_const(eval, loc, out));
}

static struct ev filled(struct eval *eval, const char *what, struct ev *shape, struct ev *value, struct ev *type,
                        struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct value *scalar;
    enum dtype dtype;
    int ndim;

    if (!need_shape(eval, what, shape, NULL, dims, &ndim))
        return BAD;
    if ((value->kind != EV_TENSOR || value->tensor->ndim > 0) && !ev_is_number(value)) {
        diag_error(eval->cx, value->loc, "%s takes a number, found %s", what, ev_text(eval, value));
        return BAD;
    }
    scalar = build_scalar(eval, loc, value);
    if (!scalar || !need_dtype(eval, type, scalar->dtype, &dtype))
        return BAD;
    scalar = build_cast(eval, loc, scalar, dtype);
    return ev_tensor(loc, scalar ? build_expand(eval, loc, scalar, ndim, dims) : NULL);
}

static struct ev fn_tensor(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = eval->default_dtype;
    struct ev out;
    (void)count;

    if (!need_dtype(eval, &args[1], dtype, &dtype))
        return BAD;
    out = build_tensor(eval, loc, &args[0], args[1].kind == EV_NONE ? NULL : &dtype);
    if (out.kind != EV_NONE)
        return out;
    diag_error(eval->cx, args[0].loc, "tensor takes a number, or lists of numbers that are all of one length, found %s",
               ev_text(eval, &args[0]));
    if (args[0].kind == EV_TENSOR)
        diag_hint(eval->cx, "x.clone() copies a tensor");
    return BAD;
}

static struct ev fn_ndim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "dim", &args[0]) ? ev_int(eval, loc, args[0].tensor->ndim) : BAD;
}

static struct ev fn_is_floating_point(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "is_floating_point", &args[0]))
        return BAD;
    return ev_bool(loc, dtype_is_float(args[0].tensor->dtype));
}

static struct ev fn_full(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return filled(eval, "full", &args[0], &args[1], &args[2], loc);
}

static struct ev fn_zeros(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev zero = ev_float(loc, 0);
    (void)count;
    return filled(eval, "zeros", &args[0], &zero, &args[1], loc);
}

static struct ev fn_ones(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev one = ev_float(loc, 1);
    (void)count;
    return filled(eval, "ones", &args[0], &one, &args[1], loc);
}

/* ---- gathering -------------------------------------------------------------------------------------------- */

static bool need_index(struct eval *eval, const char *what, const struct ev *arg, bool any_width)
{
    if (!need_tensor(eval, what, arg))
        return false;
    if (arg->tensor->dtype == DTYPE_INT64 || (any_width && arg->tensor->dtype == DTYPE_INT32))
        return true;
    diag_error(eval->cx, arg->loc, "%s: the index must be int64%s, found %s", outer(eval, what), any_width ? " or int32" : "",
               dtype_rows[arg->tensor->dtype].name);
    if (arg->tensor->op->code == GRAPH_OP_INPUT)
        diag_hint(eval->cx, "declare the input as {shape: ..., dtype: int64}");
    else
        diag_hint(eval->cx, "convert it with .long()");
    return false;
}

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
    return ev_tensor(loc, build_gather(eval, loc, "gather", args[0].tensor, axis, args[2].tensor, true, false));
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

/* ---- the table -------------------------------------------------------------------------------------------- */

#define T FUNCTION_TORCH
#define F FUNCTION_FUNCTIONAL
#define M FUNCTION_METHOD
#define V FUNCTION_VARARGS

const struct function_row function_rows[] = {
    {"linear(input, weight, bias=None)", F, .build = fn_linear},
    {"matmul(input, other)", T | M, .build = fn_matmul},
    {"bmm(input, mat2)", T | M, .build = fn_matmul},
    {"mm(input, mat2)", T | M, .build = fn_matmul},
    {"conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", T | F, .build = fn_conv2d},
    {"max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)", F,
     .build = fn_max_pool2d},
    {"avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
     "divisor_override=None)", F, .build = fn_avg_pool2d},
    {"layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)", F, .build = fn_layer_norm},
    {"gelu(input, approximate='none')", F, .build = fn_gelu},
    {"dropout(input, p=0.5, training=True, inplace=False)", F, .build = fn_dropout},
    /* without dim: as _get_softmax_dim of torch.nn.functional chooses it */
    {"softmax(input, dim=None, dtype=None)", F | T | M,
     .body = "axis = (0 if input.ndim == 0 or input.ndim == 1 or input.ndim == 3 else 1) if dim == None else dim\n"
             "x = input if dtype == None else input.to(dtype)\n"
             "_check_float(x)\n"
             "e = exp(x - x.amax(axis, keepdim=True))\n"
             "return e / e.sum(axis, keepdim=True)"},
    {"log_softmax(input, dim=None, dtype=None)", F | T | M,
     .body = "axis = (0 if input.ndim == 0 or input.ndim == 1 or input.ndim == 3 else 1) if dim == None else dim\n"
             "z = input if dtype == None else input.to(dtype)\n"
             "_check_float(z)\n"
             "x = z - z.amax(axis, keepdim=True)\n"
             "return x - log(exp(x).sum(axis, keepdim=True))"},
    {"_check_ndim(input, ndim, channels)", FUNCTION_HIDDEN, .build = fn_check_ndim},
    {"_check_float(input)", FUNCTION_HIDDEN, .build = fn_check_float},
    {"_reduced_count(input, dim)", FUNCTION_HIDDEN, .build = fn_reduced_count},

    {"where(condition, input, other)", T, .build = fn_where},
    {"masked_fill(input, mask, value)", T | M, .body = "return where(mask, value, input)"},
    {"clamp(input, min=None, max=None)", T | M,
     .body = "x = input if min == None else maximum(input, min)\n"
             "return x if max == None else minimum(x, max)"},
    {"cat(tensors, dim=0)", T, .build = fn_cat},
    {"concat(tensors, dim=0)", T, .build = fn_cat},

    {"embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)", F,
     .build = fn_embedding},
    {"gather(input, dim, index, sparse_grad=False)", T | M, .build = fn_gather},
    {"index_select(input, dim, index)", T | M, .build = fn_index_select},

    {"reshape(input, shape)", T | M | V, .build = fn_reshape},
    {"view(input, shape)", M | V, .build = fn_reshape},
    {"flatten(input, start_dim=0, end_dim=-1)", T | M, .build = fn_flatten},
    {"permute(input, dims)", T | M | V, .build = fn_permute},
    {"transpose(input, dim0, dim1)", T | M, .build = fn_transpose},
    {"t(input)", T | M, .build = fn_t},
    {"unsqueeze(input, dim)", T | M, .build = fn_unsqueeze},
    {"squeeze(input, dim=None)", T | M, .build = fn_squeeze},
    {"expand(input, size)", M | V, .build = fn_expand},
    {"select(input, dim, index)", T | M, .build = fn_select},
    {"chunk(input, chunks, dim=0)", T | M, .build = fn_chunk},
    {"size(input, dim=None)", M, .build = fn_size},
    {"numel(input)", T | M, .build = fn_numel},
    {"nelement(input)", M, .build = fn_numel},
    {"dim(input)", M, .build = fn_ndim},
    {"ndimension(input)", M, .build = fn_ndim},
    {"is_floating_point(input)", T | M, .build = fn_is_floating_point},
    {"clone(input)", T | M, .build = fn_clone},
    {"contiguous(input)", M, .build = fn_contiguous},
    {"detach(input)", T | M, .build = fn_contiguous},

    {"float(input)", M, .build = fn_float},
    {"double(input)", M, .build = fn_double},
    {"long(input)", M, .build = fn_long},
    {"int(input)", M, .build = fn_int},
    {"bool(input)", M, .build = fn_bool},
    {"to(input, dtype)", M, .build = fn_to},

    {"sum(input, dim=None, keepdim=False)", T | M, .build = fn_sum},
    {"prod(input, dim=None, keepdim=False)", T | M, .build = fn_prod},
    {"amax(input, dim=(), keepdim=False)", T | M, .build = fn_amax},
    {"amin(input, dim=(), keepdim=False)", T | M, .build = fn_amin},
    {"any(input, dim=None, keepdim=False)", T | M, .build = fn_any},
    {"all(input, dim=None, keepdim=False)", T | M, .build = fn_all},
    {"argmax(input, dim=None, keepdim=False)", T | M, .build = fn_argmax},
    {"argmin(input, dim=None, keepdim=False)", T | M, .build = fn_argmin},
    {"max(input, dim=None, keepdim=False)", T | M, .build = fn_max},
    {"min(input, dim=None, keepdim=False)", T | M, .build = fn_min},
    {"mean(input, dim=None, keepdim=False)", T | M,
     .body = "return input.sum(dim, keepdim) * (1.0 / _reduced_count(input, dim))"},
    {"var(input, dim=None, correction=1, keepdim=False)", T | M,
     .body = "count = _reduced_count(input, dim)\n"
             "gap = input - input.mean(dim, keepdim=True)\n"
             "return (gap * gap).sum(dim, keepdim) / (count - correction)"},
    {"std(input, dim=None, correction=1, keepdim=False)", T | M,
     .body = "return sqrt(input.var(dim, correction, keepdim))"},

    {"arange(start, end=None, step=None, dtype=None)", T, .build = fn_arange},
    {"tensor(data, dtype=None)", T, .build = fn_tensor},
    {"full(size, fill_value, dtype=None)", T, .build = fn_full},
    {"zeros(size, dtype=None)", T | FUNCTION_SIZES, .build = fn_zeros},
    {"ones(size, dtype=None)", T | FUNCTION_SIZES, .build = fn_ones},
    {"zeros_like(input)", T, .body = "return zeros(input.shape, dtype=input.dtype)"},
    {"ones_like(input)", T, .body = "return ones(input.shape, dtype=input.dtype)"},
};

const int function_row_count = (int)(sizeof function_rows / sizeof *function_rows);
