/* norm.c - normalisation. */
#include "functions/rows.h"
#include "graph/graph.h"

/* `shape` is what the input ends in. */
static bool need_normalized(struct eval *eval, const struct value *x, const struct ev *arg, struct loc loc,
                            const struct dim **dims, int *count)
{
    struct arena *arena = &eval->cx->arena;

    if (!need_shape(eval, "normalized_shape", arg, NULL, dims, count))
        return false;
    if (*count == 0) {
        diag_error(eval->cx, arg->loc, "%s: normalized_shape must have at least one dimension",
                   outer(eval, "layer_norm"));
        return false;
    }
    for (int i = 0; i < *count; i++) {
        if (*count > x->ndim || !dim_equal(dims[i], x->dims[x->ndim - *count + i])) {
            diag_error(eval->cx, loc, "%s: the last dimensions of %s must be normalized_shape=%s",
                       outer(eval, "layer_norm"), shape_text(arena, x->ndim, x->dims),
                       shape_text(arena, *count, dims));
            return false;
        }
    }
    return true;
}

static struct ev fn_layer_norm(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[3];
    const struct dim *dims[MAX_DIMS];
    int n, used = 1;
    double eps;
    struct op *op;
    (void)count;

    if (!need_tensor(eval, "layer_norm", &args[0]) ||
        !need_normalized(eval, args[0].tensor, &args[1], loc, dims, &n))
        return BAD;
    inputs[0] = args[0].tensor;
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

/* normalized_shape as a tuple. */
static struct ev fn_check_normalized(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct ev items[MAX_DIMS];
    int n;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) ||
        !need_normalized(eval, args[0].tensor, &args[1], loc, dims, &n) ||
        (args[2].kind != EV_NONE && !need_tensor(eval, "weight", &args[2])))
        return BAD;
    for (int i = 0; i < n; i++) {
        const struct value *weight = args[2].tensor;

        if (weight && (weight->ndim != n || !dim_equal(weight->dims[i], dims[i]))) {
            diag_error(eval->cx, loc, "%s: the weight must have the shape %s, found %s", outer(eval, "this"),
                       shape_text(&eval->cx->arena, n, dims),
                       shape_text(&eval->cx->arena, weight->ndim, weight->dims));
            return BAD;
        }
        items[i] = ev_dim(loc, dims[i]);
    }
    return ev_tuple(eval, loc, items, n);
}

/* "(4, 3, 8, 8)" */
static const char *shape_of(const struct eval *eval, const struct value *x)
{
    return shape_text(&eval->cx->arena, x->ndim, x->dims);
}

/* least .. most dimensions; most may be so large that it stands for no bound. */
static struct ev fn_check_ndim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t least, most;
    const char *expected;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_int(eval, "least", &args[1], &least) ||
        !need_int(eval, "most", &args[2], &most))
        return BAD;
    if (args[0].tensor->ndim >= least && args[0].tensor->ndim <= most)
        return ev_none(loc);
    expected = arena_format(&eval->cx->arena,
                            most > MAX_DIMS ? "at least %dD"
                            : most > least  ? "%dD or %dD"
                                            : "%dD",
                            (int)least, (int)most);
    diag_error(eval->cx, loc, "expected %s input (got %dD input)", expected, args[0].tensor->ndim);
    return BAD;
}

/* What belongs to the channels of (N, C, *): vectors of C elements of the input's type, or None. */
static struct ev fn_check_channels(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const names[] = {NULL, "running_mean", "running_var", "weight", "bias"};
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor;

    if (!need_tensor(eval, "this", &args[0]))
        return BAD;
    if (x->ndim < 2) {
        diag_error(eval->cx, loc, "%s takes (N, C) and what may follow, found %s", outer(eval, "this"),
                   shape_of(eval, x));
        return BAD;
    }
    if (!dtype_is_float(x->dtype)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, "this"), dtype_rows[x->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    for (int i = 1; i < count; i++) {
        const struct value *vector = args[i].tensor;

        if (args[i].kind == EV_NONE)
            continue;
        if (!need_tensor(eval, names[i], &args[i]))
            return BAD;
        if (vector->ndim != 1 || !dim_equal(vector->dims[0], x->dims[1])) {
            diag_error(eval->cx, loc, "%s should contain %s elements, one for each channel of %s, not %s",
                       names[i], dim_text(arena, x->dims[1]), shape_of(eval, x),
                       vector->ndim == 1 ? dim_text(arena, vector->dims[0]) : shape_of(eval, vector));
            return BAD;
        }
        if (vector->dtype != x->dtype) {
            diag_error(eval->cx, loc, "%s: the input is %s, the %s is %s", outer(eval, "this"),
                       dtype_rows[x->dtype].name, names[i], dtype_rows[vector->dtype].name);
            return BAD;
        }
    }
    return ev_none(loc);
}

/* The variance of one value is no estimate: an error, or where sizes or the mode decide it a status of the call. */
static struct ev fn_check_several(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *product = dim_const(arena, 1);
    const struct value *x = args[0].tensor;
    bool axes[MAX_DIMS] = {false};
    (void)count;

    if (args[1].count > 0 && !need_axes(eval, "this", &args[1], x->ndim, axes))
        return BAD;
    for (int i = 0; i < x->ndim; i++) {
        if (axes[i] && dim_lower(x->dims[i]) > 1)
            return ev_none(loc);
        product = axes[i] ? dim_mul(arena, product, x->dims[i]) : product;
    }
    if (dim_equals(product, 1) && (args[1].count == 0 || !eval->graph || !eval_in_training(eval))) {
        diag_error(eval->cx, loc, "Expected more than 1 %s when training, got input size %s", args[2].text,
                   shape_of(eval, x));
        return BAD;
    }
    build_need_several(eval, product);
    return ev_none(loc);
}

/* How many are more than one: 2 for 1, of which no call comes to use it. */
static struct ev fn_several(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t number;
    (void)count;

    return ev_get_int(&args[0], &number) && number == 1 ? ev_int(eval, loc, 2) : args[0];
}

static struct ev fn_check_features(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    int64_t axis, features;
    bool affine;
    (void)count;

    if (!need_int(eval, "axis", &args[1], &axis) || !need_int(eval, "num_features", &args[2], &features) ||
        !need_bool(eval, "affine", &args[3], &affine))
        return BAD;
    if (dim_equals(x->dims[axis], features))
        return ev_none(loc);
    if (affine) {
        diag_error(eval->cx, loc,
                   "expected input's size at dim=%lld to match num_features (%lld), but got: %s",
                   (long long)axis, (long long)features, dim_text(&eval->cx->arena, x->dims[axis]));
        return BAD;
    }
    diag_warning(
        eval->cx, loc,
        "the input's size at dim=%lld, %s, is not num_features (%lld), which affine=False does not use",
        (long long)axis, dim_text(&eval->cx->arena, x->dims[axis]), (long long)features);
    return ev_none(loc);
}

/* Both or none; in evaluation mode both. */
static struct ev fn_check_running(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const names[] = {"running_mean", "running_var"};
    const bool training = args[2].integer != 0;
    const int missing = args[0].kind == EV_NONE ? 0 : 1;
    (void)count;

    if (args[missing].kind != EV_NONE || (training && args[1 - missing].kind == EV_NONE))
        return ev_none(loc);
    if (training) {
        diag_error(eval->cx, loc, "%s: %s is missing, which goes with %s", outer(eval, "this"),
                   names[missing], names[1 - missing]);
        diag_hint(eval->cx, "give both or neither, as PyTorch wants it");
    } else {
        diag_error(eval->cx, loc, "%s: %s must be given in evaluation mode", outer(eval, "this"),
                   names[missing]);
    }
    return BAD;
}

static struct ev fn_check_groups(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor;
    const struct dim *quotient;
    int64_t groups;
    (void)count;

    if (!need_int(eval, "num_groups", &args[1], &groups))
        return BAD;
    if (groups > 0 && dim_divides(arena, x->dims[1], dim_const(arena, groups), &quotient))
        return ev_none(loc);
    diag_error(
        eval->cx, args[1].loc,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%lld",
        shape_of(eval, x), (long long)groups);
    return BAD;
}

static struct ev fn_check_window(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t size;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_int(eval, "size", &args[1], &size))
        return BAD;
    if (args[0].tensor->ndim < 3) {
        diag_error(eval->cx, loc, "Expected 3D or higher dimensionality input (got %d dimensions)",
                   args[0].tensor->ndim);
        return BAD;
    }
    if (size < 1) {
        diag_error(eval->cx, args[1].loc, "size must be positive, found %lld", (long long)size);
        return BAD;
    }
    return ev_none(loc);
}

/* `value`; or `kept`, where the input has no elements. */
static struct ev fn_unless_empty(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *sizes = dim_const(&eval->cx->arena, 1);
    const struct value *x = args[0].tensor;
    const struct ev zero = ev_int(eval, loc, 0);
    struct ev number, empty;
    (void)count;

    for (int i = 0; i < x->ndim; i++) {
        if (dim_equals(x->dims[i], 0))
            return args[1];
        sizes = dim_is_const(x->dims[i], NULL) ? sizes : dim_mul(&eval->cx->arena, sizes, x->dims[i]);
    }
    if (dim_is_const(sizes, NULL))
        return args[2];
    number = ev_dim(loc, sizes);
    number = ev_tensor(loc, build_scalar(eval, loc, &number));
    empty = build_binary(eval, loc, PRIM_EQ, "eq", &number, &zero);
    return empty.kind == EV_BAD ? empty : build_where(eval, loc, empty.tensor, &args[1], &args[2]);
}

/* target = value, where the target is a tensor of the model: what a function writes of its arguments. */
static struct ev fn_assign(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *root = value_root(args[0].tensor);
    const struct module_tensor *tensor;
    (void)count;

    if (!value_is_slot(root)) {
        diag_error(eval->cx, loc, "%s writes its %s, which must be a tensor of the model",
                   outer(eval, "this"), args[2].text);
        diag_hint(eval->cx, "declare it under 'buffers:'");
        return BAD;
    }
    tensor = root->op->code == GRAPH_OP_TENSOR ? root->op->tensor.tensor : root->op->write.tensor;
    return eval->write(eval, tensor->owner, tensor->name, loc, args[0].tensor, &args[1]) ? ev_none(loc) : BAD;
}

extern const struct function_row norm_functions[];

const struct function_row norm_functions[] = {
    {"layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)", FUNCTIONAL,
     .build = fn_layer_norm},
    {"rms_norm(input, normalized_shape, weight=None, eps=None)", FUNCTIONAL | TORCH,
     .body = "shape = _check_normalized(input, normalized_shape, weight)\n"
             "axes = tuple(range(-len(shape), 0))\n"
             "least = (2.0 ** -52 if input.dtype == torch.float64 else 2.0 ** -23) if eps is None else eps\n"
             "y = input * rsqrt((input * input).mean(dim=axes, keepdim=True) + least)\n"
             "return y if weight is None else y * weight"},
    {"batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5)",
     FUNCTIONAL,
     .body =
         "_check_channels(input, running_mean, running_var, weight, bias)\n"
         "_check_running(running_mean, running_var, training)\n"
         "axes = (0,) + tuple(range(2, input.ndim))\n"
         "each = (-1,) + (1,) * (input.ndim - 2)\n"
         "_check_several(input, axes, 'value per channel') if training else None\n"
         "return (_normalised(input, running_mean, running_var, weight, bias, axes, each, momentum, eps) if training"
         " else _scaled_and_shifted(input, running_mean, running_var, weight, bias, each, eps))"},
    /* by what is known while packing */
    {"_scaled_and_shifted(input, mean, var, weight, bias, each, eps)", HIDDEN,
     .body = "scale = rsqrt(var + eps) if weight is None else rsqrt(var + eps) * weight\n"
             "shift = -mean * scale if bias is None else bias - mean * scale\n"
             "return input * scale.reshape(each) + shift.reshape(each)"},
    /* What differs from the mean is scaled, not the input, so that an offset costs neither results nor gradients their digits. */
    {"_normalised(input, running_mean, running_var, weight, bias, axes, each, momentum, eps)", HIDDEN,
     .body =
         "var, mean, off, gap = _moments(input, axes, 0)\n"
         "_update_running(input, axes, running_mean, running_var, mean, var, momentum)\n"
         "off, var = (_or_zero(input, off), _or_zero(input, var)) if _saves() else (off, var)\n"
         "scale = rsqrt(var + eps) if weight is None else rsqrt(var + eps) * weight\n"
         "shift = -off * scale if bias is None else bias - off * scale\n"
         "gap = gap if _saves() else input - mean.reshape(each)\n" /* kept for backward anyhow, or fused here too */
         "return gap * scale.reshape(each) + shift.reshape(each)"},
    {"instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
     "momentum=0.1, eps=1e-5)",
     FUNCTIONAL,
     .body = "_check_channels(input, running_mean, running_var, weight, bias)\n"
             "_check_running(running_mean, running_var, use_input_stats)\n"
             "axes = tuple(range(2, input.ndim))\n"
             "_check_several(input, axes, 'spatial element') if use_input_stats else None\n"
             "update = use_input_stats and running_mean is not None\n"
             "var, mean = _var_mean(input, axes, False, False, None) if update else (None, None)\n"
             "_update_running(input, axes, running_mean, running_var, mean.mean(dim=0), var.mean(dim=0), "
             "momentum) if update else None\n"
             "return _scale_shift(layer_norm(input, input.shape[2:], eps=eps), weight, bias, "
             "(-1,) + (1,) * (input.ndim - 2)) if use_input_stats "
             "else batch_norm(input, running_mean, running_var, weight, bias, eps=eps)"},
    {"group_norm(input, num_groups, weight=None, bias=None, eps=1e-5)", FUNCTIONAL,
     .body =
         "_check_channels(input, None, None, weight, bias)\n"
         "_check_groups(input, num_groups)\n"
         "x = input.reshape((input.shape[0], num_groups, input.shape[1] // num_groups) + input.shape[2:])\n"
         "_check_several(x, (0,) + tuple(range(2, x.ndim)), 'value per channel')\n"
         "each = (num_groups, input.shape[1] // num_groups) + (1,) * (input.ndim - 2)\n"
         "return _scale_shift(layer_norm(x, x.shape[2:], eps=eps), weight, bias, each).reshape(input.shape)"},
    {"local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0)", FUNCTIONAL,
     .body = "_check_window(input, size)\n"
             "square = pad((input * input).flatten(2), (0, 0, size // 2, (size - 1) // 2))\n"
             "mean = square.unfold(1, size, 1).mean(-1).reshape(input.shape)\n"
             "return input / (mean * alpha + k) ** beta"},
    {"_check_normalized(input, normalized_shape, weight)", HIDDEN, .build = fn_check_normalized},
    {"_check_ndim(input, least, most)", HIDDEN, .build = fn_check_ndim},
    {"_check_channels(input, running_mean, running_var, weight, bias)", HIDDEN, .build = fn_check_channels},
    {"_check_running(running_mean, running_var, training)", HIDDEN, .build = fn_check_running},
    {"_check_several(input, axes, what)", HIDDEN, .build = fn_check_several},
    {"_several(count)", HIDDEN, .build = fn_several},
    {"_check_features(input, axis, num_features, affine)", HIDDEN, .build = fn_check_features},
    {"_check_groups(input, num_groups)", HIDDEN, .build = fn_check_groups},
    {"_check_window(input, size)", HIDDEN, .build = fn_check_window},
    {"_unless_empty(input, kept, value)", HIDDEN, .build = fn_unless_empty},
    {"_assign(target, value, name)", HIDDEN, .build = fn_assign},
    /* toward the mean and the unbiased variance of what is reduced over `axes` */
    {"_update_running(input, axes, running_mean, running_var, mean, var, momentum)", HIDDEN,
     .body = "count = _several(_reduced_count(input, axes))\n"
             "_move_running(input, running_mean, mean, momentum, 'running_mean')\n"
             "_move_running(input, running_var, var * (count / (count - 1)), momentum, 'running_var')"},
    {"_move_running(input, running, value, momentum, name)", HIDDEN,
     .body =
         "_assign(running, _unless_empty(input, running, (1 - momentum) * running + momentum * value), name) "
         "if running is not None else None"},
    /* the mean of nothing is NaN, which gradients must not meet */
    {"_or_zero(input, value)", HIDDEN, .body = "return _unless_empty(input, 0.0, value)"},
    {"_scale_shift(input, weight, bias, each)", HIDDEN,
     .body = "y = input if weight is None else input * weight.reshape(each)\n"
             "return y if bias is None else y + bias.reshape(each)"},
    {.signature = NULL},
};
