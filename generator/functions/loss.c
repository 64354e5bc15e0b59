/* loss.c - losses: a value for each element or sample, and how they become one. */
#include <math.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* What `reduction` says: "none", "mean", "sum", or "batchmean" where a loss has that; the legacy arguments overrule it. */
static struct ev fn_reduction(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const names[] = {"none", "mean", "sum", "batchmean"}; /* the last of some */
    bool average = true, reduce = true, batch;
    (void)count;

    if ((args[1].kind != EV_NONE && !need_bool(eval, "size_average", &args[1], &average)) ||
        (args[2].kind != EV_NONE && !need_bool(eval, "reduce", &args[2], &reduce)) ||
        !need_bool(eval, "this", &args[3], &batch))
        return BAD;
    if (args[1].kind != EV_NONE || args[2].kind != EV_NONE)
        return ev_string(loc, !reduce ? "none" : average ? "mean" : "sum");
    for (int i = 0; i < COUNT(names) - !batch; i++)
        if (args[0].kind == EV_STRING && strcmp(args[0].text, names[i]) == 0)
            return args[0];
    diag_error(eval->cx, args[0].loc, "%s: %s is not a valid value for reduction", outer(eval, "this"),
               ev_text(eval, &args[0]));
    diag_hint(eval->cx, "it is 'mean', 'sum'%s", batch ? ", 'none' or 'batchmean'" : " or 'none'");
    return BAD;
}

static const char *shape_of(struct eval *eval, const struct value *x)
{
    return shape_text(&eval->cx->arena, x->ndim, x->dims);
}

/* A target, or what args[2] calls it, has the input's shape; where it need not, PyTorch broadcasts and warns. */
static struct ev fn_check_shape(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *name = args[2].text;
    bool strict;
    (void)count;

    if (!need_tensor(eval, "input", &args[0]) || !need_tensor(eval, name, &args[1]) ||
        !need_bool(eval, "this", &args[3], &strict))
        return BAD;
    if (dims_equal(args[0].tensor, args[1].tensor))
        return ev_none(loc);
    if (strict) {
        diag_error(eval->cx, loc, "%s: the %s must have the shape of the input, %s, found %s",
                   outer(eval, "this"), name, shape_of(eval, args[0].tensor), shape_of(eval, args[1].tensor));
        return BAD;
    }
    diag_warning(eval->cx, loc, "%s: the %s %s does not have the shape of the input, %s: both are broadcast",
                 outer(eval, "this"), name, shape_of(eval, args[1].tensor), shape_of(eval, args[0].tensor));
    return ev_none(loc);
}

static struct ev fn_check_slope(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double number;
    bool zero;
    (void)count;

    if (!ev_get_number(&args[0], &number) || !need_bool(eval, "this", &args[2], &zero)) {
        diag_error(eval->cx, args[0].loc, "%s: %s must be a number that is known while generating, found %s",
                   outer(eval, "this"), args[1].text, ev_text(eval, &args[0]));
        return BAD;
    }
    if (number > 0 || (zero && number == 0))
        return ev_none(loc);
    diag_error(eval->cx, args[0].loc, "%s does not support %s values for %s, found %s", outer(eval, "this"),
               zero ? "negative" : "non-positive", args[1].text, ev_text(eval, &args[0]));
    return BAD;
}

static bool same_dims(const struct value *a, const struct dim *const *dims, int ndim)
{
    for (int i = 0; i < ndim && i < a->ndim; i++)
        if (!dim_equal(a->dims[i], dims[i]))
            return false;
    return a->ndim == ndim;
}

/* Tensors of one shape: class probabilities, where the target is one. */
static struct ev fn_same_shape(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "input", &args[0]) || !need_tensor(eval, "target", &args[1]))
        return BAD;
    return ev_bool(loc, dims_equal(args[0].tensor, args[1].tensor));
}

/* A weight for each class, of the type of the input; or None. */
static bool check_class_weight(struct eval *eval, struct loc loc, const struct ev *weight,
                               const struct value *x, const struct dim *classes)
{
    if (weight->kind == EV_NONE)
        return true;
    if (!need_tensor(eval, "weight", weight))
        return false;
    if (!same_dims(weight->tensor, &classes, 1)) {
        diag_error(eval->cx, loc, "%s: the weight must have one element for each of %s classes, found %s",
                   outer(eval, "this"), dim_text(&eval->cx->arena, classes), shape_of(eval, weight->tensor));
        return false;
    }
    if (weight->tensor->dtype == x->dtype)
        return true;
    diag_error(eval->cx, loc, "%s: the weight is %s, the input %s", outer(eval, "this"),
               dtype_rows[weight->tensor->dtype].name, dtype_rows[x->dtype].name);
    return false;
}

static bool need_floats(struct eval *eval, struct loc loc, const char *name, const struct ev *arg)
{
    if (!need_tensor(eval, name, arg))
        return false;
    if (dtype_is_float(arg->tensor->dtype))
        return true;
    diag_error(eval->cx, loc, "%s: the %s must be a floating tensor, found %s", outer(eval, "this"), name,
               dtype_rows[arg->tensor->dtype].name);
    diag_hint(eval->cx, "convert it with .float()");
    return false;
}

/* Which dimension of the input has the classes, of targets that are class probabilities or, where args[3] is false, their
 * indices. */
static struct ev fn_class_axis(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    const struct value *x, *target;
    int axis, n = 0;
    bool soft;
    (void)count;

    if (!need_bool(eval, "this", &args[3], &soft) || !need_floats(eval, loc, "input", &args[0]))
        return BAD;
    x = args[0].tensor;
    axis = x->ndim > 1 ? 1 : 0;
    if (x->ndim == 0) {
        diag_error(eval->cx, loc, "%s: the input must have a dimension of classes, found ()",
                   outer(eval, "this"));
        return BAD;
    }
    if (!(soft ? need_floats(eval, loc, "target", &args[1]) : need_tensor(eval, "target", &args[1])) ||
        !check_class_weight(eval, loc, &args[2], x, x->dims[axis]))
        return BAD;
    target = args[1].tensor;
    if (soft)
        return ev_int(eval, loc, axis);
    if (target->dtype != DTYPE_INT64 && (target->dtype != DTYPE_UINT8 || x->ndim > 2)) {
        diag_error(eval->cx, loc, "%s: the target must be int64%s, found %s", outer(eval, "this"),
                   x->ndim > 2 ? "" : " or uint8", dtype_rows[target->dtype].name);
        diag_hint(eval->cx, "class indices are declared as {shape: ..., dtype: int64}");
        return BAD;
    }
    for (int i = 0; i < x->ndim; i++)
        if (i != axis)
            dims[n++] = x->dims[i];
    if (same_dims(target, dims, n) || (x->ndim == 1 && target->ndim == 1 && dim_equals(target->dims[0], 1)))
        return ev_int(eval, loc, axis);
    diag_error(eval->cx, loc, "%s: the target must have shape %s for an input of shape %s, found %s",
               outer(eval, "this"), shape_text(&eval->cx->arena, n, dims), shape_of(eval, x),
               shape_of(eval, target));
    return BAD;
}

static struct ev fn_check_smoothing(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t ignored;
    double smoothing;
    bool soft;
    (void)count;

    if (!need_int(eval, "ignore_index", &args[1], &ignored) || !need_bool(eval, "this", &args[2], &soft))
        return BAD;
    if (!ev_get_number(&args[0], &smoothing) || smoothing > 1) {
        diag_error(eval->cx, args[0].loc, "%s: label_smoothing must be between 0.0 and 1.0, found %s",
                   outer(eval, "this"), ev_text(eval, &args[0]));
        return BAD;
    }
    if (!soft || ignored < 0)
        return ev_none(loc);
    diag_error(eval->cx, args[1].loc,
               "%s: ignore_index is not supported for floating point target, found %lld", outer(eval, "this"),
               (long long)ignored);
    return BAD;
}

/* A weight that broadcasts against the input without making it larger. */
static struct ev fn_check_within(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    const struct value *x = args[0].tensor;
    int ndim = 0;
    (void)count;

    if (args[1].kind == EV_NONE)
        return ev_none(loc);
    if (!need_tensor(eval, args[2].text, &args[1]))
        return BAD;
    if (dims_broadcast(eval->cx, dims, &ndim, x) && dims_broadcast(eval->cx, dims, &ndim, args[1].tensor) &&
        same_dims(x, dims, ndim))
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: the %s %s does not broadcast to the shape of the input, %s",
               outer(eval, "this"), args[2].text, shape_of(eval, args[1].tensor), shape_of(eval, x));
    return BAD;
}

/* Tensors of one type. */
static struct ev fn_check_types(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_floats(eval, loc, "input", &args[0]) || !need_tensor(eval, "target", &args[1]))
        return BAD;
    if (args[0].tensor->dtype == args[1].tensor->dtype)
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: the target is %s, the input %s", outer(eval, "this"),
               dtype_rows[args[1].tensor->dtype].name, dtype_rows[args[0].tensor->dtype].name);
    return BAD;
}

/* The call ends where a mask is false: where it is known to be, that is an error. */
static struct ev fn_check_holds(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (build_holds(eval, loc, args[0].tensor))
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: all elements of %s must be %s", outer(eval, "this"), args[1].text,
               args[2].text);
    return BAD;
}

/* The variances of gaussian_nll_loss in the dimensions of its input, against which they broadcast. */
static struct ev fn_variances(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x, *var;
    double number;
    int apart = 0;
    (void)count;

    if (!need_floats(eval, loc, "input", &args[0]))
        return BAD;
    x = args[0].tensor;
    if (ev_get_number(&args[1], &number)) {
        if (number >= 0) {
            var = build_scalar(eval, loc, &args[1]);
            var = var ? build_cast(eval, loc, var, x->dtype) : NULL;
            return ev_tensor(loc, var ? build_expand(eval, loc, var, x->ndim, x->dims) : NULL);
        }
        diag_error(eval->cx, args[1].loc, "%s: var must not be negative, found %s", outer(eval, "this"),
                   ev_text(eval, &args[1]));
        return BAD;
    }
    if (!need_floats(eval, loc, "var", &args[1]))
        return BAD;
    var = args[1].tensor;
    if (var->ndim + 1 == x->ndim && same_dims(var, x->dims, var->ndim))
        return ev_tensor(loc, insert_axis(eval, loc, var, var->ndim));
    for (int i = 0; i < x->ndim && var->ndim == x->ndim; i++)
        apart += !dim_equal(x->dims[i], var->dims[i]);
    if (var->ndim == x->ndim && apart <= 1)
        return args[1];
    diag_error(
        eval->cx, loc,
        "%s: var must have the shape of the input, %s, with a dimension of 1 or without the last, found %s",
        outer(eval, "this"), shape_of(eval, x), shape_of(eval, var));
    return BAD;
}

/* Tensors with as many dimensions as the first. */
static struct ev fn_check_ranks(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    for (int i = 0; i < count; i++)
        if (!need_tensor(eval, "this", &args[i]))
            return BAD;
    if (args[1].tensor->ndim == args[0].tensor->ndim && args[2].tensor->ndim == args[0].tensor->ndim)
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: all tensors must have the same number of dimensions, found %s, %s and %s",
               outer(eval, "this"), shape_of(eval, args[0].tensor), shape_of(eval, args[1].tensor),
               shape_of(eval, args[2].tensor));
    return BAD;
}

/* cosine_embedding_loss: (N, D), (N, D) and (N), or (D), (D) and (). */
static struct ev fn_check_pairs(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *target;

    for (int i = 0; i < count; i++)
        if (!need_tensor(eval, "this", &args[i]))
            return BAD;
    target = args[2].tensor;
    if (target->ndim <= 1 && args[0].tensor->ndim == target->ndim + 1 &&
        args[1].tensor->ndim == target->ndim + 1)
        return ev_none(loc);
    diag_error(eval->cx, loc,
               "%s takes (N, D), (N, D) and a target (N), or (D), (D) and (), found %s, %s and %s",
               outer(eval, "this"), shape_of(eval, args[0].tensor), shape_of(eval, args[1].tensor),
               shape_of(eval, target));
    return BAD;
}

/* multi_margin_loss: classes in (N, C) or (C), a target for each sample. */
static struct ev fn_check_margin(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x, *target;
    const struct dim *samples;
    int64_t p;
    (void)count;

    if (!need_floats(eval, loc, "input", &args[0]) || !need_index(eval, "target", &args[1], false) ||
        !need_int(eval, "p", &args[3], &p))
        return BAD;
    x = args[0].tensor;
    target = args[1].tensor;
    if (p != 1 && p != 2) {
        diag_error(eval->cx, args[3].loc, "%s: only p == 1 and p == 2 supported, found %lld",
                   outer(eval, "this"), (long long)p);
        return BAD;
    }
    samples = x->ndim == 2 ? x->dims[0] : dim_const(&eval->cx->arena, 1);
    if (x->ndim < 1 || x->ndim > 2 || target->ndim > 1 ||
        !dim_equal(dims_count(&eval->cx->arena, target), samples)) {
        diag_error(eval->cx, loc, "%s takes (N, C) and a target (N), or (C) and (), found %s and %s",
                   outer(eval, "this"), shape_of(eval, x), shape_of(eval, target));
        return BAD;
    }
    return check_class_weight(eval, loc, &args[2], x, x->dims[x->ndim - 1]) ? ev_none(loc) : BAD;
}

static struct ev fn_check_labels(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_floats(eval, loc, "input", &args[0]) || !need_index(eval, "target", &args[1], false))
        return BAD;
    if (args[0].tensor->ndim <= 2)
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s takes (N, C) or (C), found %s", outer(eval, "this"),
               shape_of(eval, args[0].tensor));
    return BAD;
}

/* linear_cross_entropy: input (N, F) or (F), weight (C, ..., F), bias (C, ...). */
static struct ev fn_check_linear(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x, *weight;
    (void)count;

    if (!need_tensor(eval, "input", &args[0]) || !need_tensor(eval, "linear_weight", &args[1]) ||
        (args[2].kind != EV_NONE && !need_tensor(eval, "linear_bias", &args[2])))
        return BAD;
    x = args[0].tensor;
    weight = args[1].tensor;
    if (x->ndim < 1 || x->ndim > 2 || weight->ndim < 2 || (weight->ndim > 2 && x->ndim == 1) ||
        !dim_equal(x->dims[x->ndim - 1], weight->dims[weight->ndim - 1])) {
        diag_error(eval->cx, loc,
                   "%s takes (N, F) and a linear_weight (C, ..., F), or (F) and (C, F), found %s and %s",
                   outer(eval, "this"), shape_of(eval, x), shape_of(eval, weight));
        return BAD;
    }
    if (args[2].kind != EV_NONE && !same_dims(args[2].tensor, weight->dims, weight->ndim - 1)) {
        diag_error(eval->cx, loc, "%s: linear_bias must have shape %s, found %s", outer(eval, "this"),
                   shape_text(&eval->cx->arena, weight->ndim - 1, weight->dims),
                   shape_of(eval, args[2].tensor));
        return BAD;
    }
    if (args[3].kind == EV_NONE)
        return ev_none(loc);
    diag_error(eval->cx, args[3].loc, "%s: options choose how PyTorch evaluates it, found %s",
               outer(eval, "this"), ev_text(eval, &args[3]));
    return BAD;
}

static struct ev fn_check_unignored(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "target", &args[1]))
        return BAD;
    if (args[2].kind == EV_NONE || !dims_equal(args[0].tensor, args[1].tensor))
        return ev_none(loc);
    diag_error(eval->cx, args[2].loc,
               "%s: ignore_index cannot be specified when target contains probabilities",
               outer(eval, "this"));
    return BAD;
}

/* AdaptiveLogSoftmaxWithLoss: (N, F) and (N), or (F) and (), of classes below n_classes. */
static struct ev fn_check_adaptive(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *what = "AdaptiveLogSoftmaxWithLoss";
    const struct value *x, *target;
    (void)count;

    if (!need_tensor(eval, what, &args[0]) || !need_index(eval, what, &args[1], false))
        return BAD;
    x = args[0].tensor;
    target = args[1].tensor;
    if (target->ndim <= 1 && x->ndim == target->ndim + 1 && same_dims(target, x->dims, target->ndim))
        return build_in_range(eval, loc, what, args[1].tensor, args[2].dim, false) ? ev_none(loc) : BAD;
    diag_error(eval->cx, loc, "%s takes (N, F) and a target (N), or (F) and (), found %s and %s", what,
               shape_of(eval, x), shape_of(eval, target));
    return BAD;
}

/* Width and size of each cluster behind the head. */
static struct ev fn_clusters(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *cutoffs = &args[2];
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, cutoffs->count + 1, struct ev);
    double width = 0, div_value = 1;
    (void)count;

    ev_get_number(&args[0], &width);
    ev_get_number(&args[3], &div_value);
    for (int i = 0; i < cutoffs->count; i++) {
        struct ev pair[2];
        int64_t low = 0, high = 0;

        ev_get_int(&cutoffs->items[i], &low);
        ev_get_int(i + 1 < cutoffs->count ? &cutoffs->items[i + 1] : &args[1], &high);
        pair[0] = ev_int(eval, loc, (int64_t)fmin(floor(width / pow(div_value, i + 1)), 1e9));
        pair[1] = ev_int(eval, loc, high - low);
        items[i] = ev_tuple(eval, loc, pair, 2);
    }
    return ev_tuple(eval, loc, items, cutoffs->count);
}

static struct ev fn_is_rising(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t last = 0, end = 0, next = 0;
    bool rises = args[0].count > 0;
    (void)eval, (void)count;

    ev_get_int(&args[1], &end);
    for (int i = 0; i < args[0].count; i++) {
        rises &= ev_get_int(&args[0].items[i], &next) && next > last && next < end;
        last = next;
    }
    return ev_bool(loc, rises);
}

/* ctc_loss: log_probs (T, N, C) or (T, C), targets (N, S) or all labels in one row, lengths by sample. */
static struct ev fn_check_ctc(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x, *targets;
    int64_t blank, classes;
    (void)count;

    if (!need_floats(eval, loc, "log_probs", &args[0]) || !need_index(eval, "targets", &args[1], true) ||
        !need_int(eval, "blank", &args[2], &blank))
        return BAD;
    x = args[0].tensor;
    targets = args[1].tensor;
    if (x->ndim < 2 || x->ndim > 3 || targets->ndim < 1 || targets->ndim > x->ndim - 1 ||
        (targets->ndim == 2 && !dim_equal(targets->dims[0], x->dims[1]))) {
        diag_error(eval->cx, loc,
                   "%s takes log_probs (T, N, C) and targets (N, S) or one row of labels, or (T, C) and (S), "
                   "found %s and %s",
                   outer(eval, "this"), shape_of(eval, x), shape_of(eval, targets));
        return BAD;
    }
    if (blank >= 0 && (!dim_is_const(x->dims[x->ndim - 1], &classes) || blank < classes))
        return ev_none(loc);
    diag_error(eval->cx, args[2].loc, "%s: blank must be in label range, found %lld", outer(eval, "this"),
               (long long)blank);
    return BAD;
}

/* Lengths of the samples of x, (T, N, C), as int64 (N), of which none is above `most`. */
static struct ev fn_ctc_lengths(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const enum dtype dtype = DTYPE_INT64;
    const struct value *x = args[1].tensor;
    struct ev made = args[0].kind == EV_TENSOR ? args[0] : build_tensor(eval, loc, &args[0], &dtype);
    struct value *lengths = made.tensor;
    (void)count;

    if (made.kind != EV_TENSOR || !dtype_is_int(lengths->dtype) || lengths->ndim > 1 ||
        (lengths->ndim == 0 ? !dim_equals(x->dims[1], 1) : !dim_equal(lengths->dims[0], x->dims[1]))) {
        diag_error(eval->cx, loc, "%s: %s must be %s integers, found %s", outer(eval, "this"), args[2].text,
                   dim_text(&eval->cx->arena, x->dims[1]), ev_text(eval, &args[0]));
        return BAD;
    }
    lengths = build_cast(eval, loc, lengths, DTYPE_INT64);
    lengths = lengths ? build_reshape(eval, loc, lengths, 1, &x->dims[1]) : NULL;
    if (!lengths ||
        !build_in_range(eval, loc, args[2].text, lengths,
                        dim_add(&eval->cx->arena, args[3].dim, dim_const(&eval->cx->arena, 1)), false))
        return BAD;
    return ev_tensor(loc, lengths);
}

static struct ev fn_check_below(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return build_in_range(eval, loc, outer(eval, "this"), args[0].tensor, args[1].dim, false) ? ev_none(loc)
                                                                                              : BAD;
}

static struct ev fn_ctc(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[5];
    struct op *op;
    (void)count;

    for (int i = 0; i < 5; i++)
        inputs[i] = args[i].tensor;
    op = op_new(eval, GRAPH_OP_CTC, "ctc", inputs, 5);
    ev_get_int(&args[5], &op->ctc.blank);
    op->ctc.labels = args[6].dim;
    return ev_tensor(loc, build_op(eval, loc, op));
}

extern const struct function_row loss_functions[];

const struct function_row loss_functions[] = {
    {"l1_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)", FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_shape(input, target, 'target', False)\n"
             "return _weighted(abs(input - target), input, weight, how)"},
    {"mse_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)", FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_shape(input, target, 'target', False)\n"
             "_check_float(_met(input, target))\n"
             "return _weighted(_mse_loss(input, target), input, weight, how)"},
    {"smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1.0)", FUNCTIONAL,
     .body =
         "how = _reduction(reduction, size_average, reduce)\n"
         "_check_shape(input, target, 'target', False)\n"
         "_check_slope(beta, 'beta', True)\n"
         "_check_float(_met(input, target))\n"
         "return _reduce(abs(input - target) if beta == 0 else _smooth_l1_loss(input, target, beta), how)"},
    {"huber_loss(input, target, reduction='mean', delta=1.0, weight=None)", FUNCTIONAL,
     .body = "how = _reduction(reduction)\n"
             "_check_shape(input, target, 'target', False)\n"
             "_check_slope(delta, 'delta', False)\n"
             "_check_float(input)\n"
             "loss = _huber_loss(input, target, delta).to(input.dtype)\n"
             "_check_shape(input, weight, 'weight', True) if weight is not None else None\n"
             "return _reduce(loss if weight is None else loss * weight, how)"},
    {"soft_margin_loss(input, target, size_average=None, reduce=None, reduction='mean')", FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "return _reduce(_soft_margin_loss(input, target.to(input.dtype)), how)"},
    {"binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_types(input, target)\n"
             "_check_shape(input, target, 'target', True)\n"
             "_check_within(input, weight, 'weight')\n"
             "_check_holds((input >= 0) & (input <= 1), 'input', 'between 0 and 1')\n"
             "_check_holds((target >= 0) & (target <= 1), 'target', 'between 0 and 1')\n"
             "loss = _bce_loss(input, target)\n"
             "return _reduce(loss if weight is None else loss * weight, how)"},
    {"binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction='mean', "
     "pos_weight=None)",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_float(_met(input, target))\n"
             "_check_shape(input, target, 'target', True)\n"
             "_check_within(input, weight, 'weight')\n"
             "_check_within(input, pos_weight, 'pos_weight')\n"
             "loss = (_logits_loss(input, target) if pos_weight is None else"
             " _weighted_logits_loss(input, target, pos_weight))\n"
             "return _reduce(loss if weight is None else loss * weight, how)"},
    /* 'batchmean' divides whatever the legacy arguments say */
    {"kl_div(input, target, size_average=None, reduce=None, reduction='mean', log_target=False)", FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce, True)\n"
             "_check_float(input)\n"
             "_check_float(target)\n"
             "loss = exp(target) * (target - input) if log_target else _kl_div(input, target)\n"
             "total = _reduce(loss, 'sum' if how == 'batchmean' else how)\n"
             "return total / input.shape[0] if reduction == 'batchmean' and input.ndim > 0 else total"},
    {"poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, "
     "reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "loss = exp(input) - target * input if log_input else input - target * log(input + eps)\n"
             "return _reduce(loss + _stirling(target) if full else loss, how)"},
    {"_stirling(target)", HIDDEN,
     .body = "terms = target * log(target) - target + 0.5 * log(2 * pi * target)\n"
             "return terms.masked_fill(target <= 1, 0)"},
    {"gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction='mean')", FUNCTIONAL,
     .body = "how = _reduction(reduction)\n"
             "all = _variances(input, var)\n"
             "_check_holds(~(all < 0), 'var', 'at least 0')\n"
             "least = _no_less(all, eps)\n"
             "loss = 0.5 * (log(least) + (input - target) ** 2 / least)\n"
             "return _reduce(loss + 0.5 * log(2 * pi) if full else loss, how)"},
    {"hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body =
         "how = _reduction(reduction, size_average, reduce)\n"
         "return _reduce(where(target != 1, (margin - input).clamp_min(0), 0) + where(target != -1, input, 0), how)"},
    {"margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_ranks(input1, input2, target)\n"
             "return _reduce((-target * (input1 - input2) + margin).clamp_min(0), how)"},
    {"cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body =
         "how = _reduction(reduction, size_average, reduce)\n"
         "_check_pairs(input1, input2, target)\n"
         "lengths = _square_length(input1, target.ndim) * _square_length(input2, target.ndim)\n"
         "cosine = (input1 * input2).sum(target.ndim) / sqrt(lengths)\n"
         "return _reduce(where(target == 1, 1 - cosine, 0) + where(target == -1, (cosine - margin).clamp_min(0), 0), how)"},
    {"_square_length(x, dim)", HIDDEN, .body = "return (x * x).sum(dim) + 1e-12"},
    {"multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_margin(input, target, weight, p)\n"
             "x = input if input.ndim == 2 else input[None]\n"
             "y = target.reshape((x.shape[0], 1))\n"
             "terms = where(arange(x.shape[1]) == y, 0, _margin_loss(margin - x.gather(1, y) + x, p))\n"
             "scaled = terms if weight is None else terms * weight[y]\n"
             "return _reduce(scaled.mean(1).reshape(target.shape), how)"},
    /* `at`: labels, of which those before the first -1 count */
    {"multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction='mean')", FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_labels(input, target)\n"
             "_check_shape(input, target, 'target', True)\n"
             "x = input if input.ndim == 2 else input.reshape((1, input.numel()))\n"
             "y = target.reshape(x.shape)\n"
             "at = where(y == -1, 0, y)\n"
             "counts = (y != -1).long().cumprod(1)\n"
             "labels = zeros_like(y).scatter_add(1, at, counts)\n"
             "pairs = (counts[:, :, None] != 0) & (labels[:, None] == 0)\n"
             "gaps = _margin_loss(1 - x.gather(1, at)[:, :, None] + x[:, None], 1)\n"
             "loss = where(pairs, gaps, 0).sum((1, 2)) / x.shape[1]\n"
             "return _reduce(loss.reshape(input.shape[:-1]), how)"},
    {"multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_ndim(input, 1, 99)\n"
             "loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))\n"
             "return _reduce((loss if weight is None else loss * weight).mean(-1), how)"},
    {"triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, "
     "reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_slope(margin, 'margin', False)\n"
             "_check_ranks(anchor, positive, negative)\n"
             "near = pairwise_distance(anchor, positive, p, eps)\n"
             "far = pairwise_distance(anchor, negative, p, eps)\n"
             "least = torch.minimum(far, pairwise_distance(positive, negative, p, eps)) if swap else far\n"
             "return _reduce((margin + near - least).clamp_min(0), how)"},
    {"triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, "
     "reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction)\n"
             "_check_slope(margin, 'margin', False)\n"
             "_check_ranks(anchor, positive, negative)\n"
             "distance = pairwise_distance if distance_function is None else distance_function\n"
             "near = distance(anchor, positive)\n"
             "far = distance(anchor, negative)\n"
             "least = torch.minimum(far, distance(positive, negative)) if swap else far\n"
             "return _reduce((margin + near - least).clamp_min(0), how)"},
    {"nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "_check_smoothing(0, ignore_index, False)\n"
             "return _class_loss(input, target, weight, ignore_index, 0, how)"},
    {"cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
     "label_smoothing=0.0)",
     FUNCTIONAL,
     .body = "how = _reduction(reduction, size_average, reduce)\n"
             "soft = _same_shape(input, target)\n"
             "_check_smoothing(label_smoothing, ignore_index, soft)\n"
             "axis = _class_axis(input, target, weight, soft)\n"
             "x = log_softmax(input, axis)\n"
             "return (_soft_loss(x, target, weight, axis, label_smoothing, how) if soft else"
             " _class_loss(x, target, weight, ignore_index, label_smoothing, how))"},
    /* of log-probabilities x: the mean over the places of weights that count */
    {"_class_loss(x, target, weight, ignore_index, smoothing, how)", HIDDEN,
     .body = "axis = _class_axis(x, target, weight, False)\n"
             "y = target.reshape(x.shape[:axis] + x.shape[axis + 1:]).long()\n"
             "counts = y != ignore_index\n"
             "at = where(counts, y, 0)\n"
             "shares = None if weight is None else where(counts, weight[at], 0)\n"
             "chosen = -x.gather(axis, at.unsqueeze(axis)).squeeze(axis)\n"
             "hard = chosen if weight is None else chosen * weight[at]\n"
             "loss = _smoothed(x, hard, weight, axis, smoothing) if smoothing > 0 else hard\n"
             "kept = where(counts, loss, 0)\n"
             "return (_reduce(kept, how) if how != 'mean' else"
             " kept.sum() / (counts.sum() if weight is None else shares.sum()))"},
    {"_smoothed(x, hard, weight, axis, smoothing)", HIDDEN,
     .body =
         "return (1 - smoothing) * hard - _by_class(x, weight, axis).sum(axis) * (smoothing / x.shape[axis])"},
    {"_soft_loss(x, target, weight, axis, smoothing, how)", HIDDEN,
     .body = "smooth = target * (1 - smoothing) + smoothing / x.shape[axis] if smoothing > 0 else target\n"
             "return _reduce(-_by_class(x * smooth, weight, axis).sum(axis), how)"},
    {"_by_class(x, weight, axis)", HIDDEN,
     .body = "return x if weight is None else x * weight.reshape((-1,) + (1,) * (x.ndim - axis - 1))"},
    {"linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction='mean', "
     "ignore_index=None, label_smoothing=0.0, options=None)",
     FUNCTIONAL,
     .body =
         "_check_linear(input, linear_weight, linear_bias, options)\n"
         "shape = input.shape[:-1] + linear_weight.shape[:-1]\n"
         "rows = linear_weight.reshape((_product(linear_weight.shape[:-1]), input.shape[-1]))\n"
         "bias = None if linear_bias is None else linear_bias.flatten()\n"
         "logits = linear(input, rows, bias).reshape(shape)\n"
         "_check_unignored(logits, target, ignore_index)\n"
         "return cross_entropy(logits, target, weight, label_smoothing=label_smoothing, reduction=reduction,"
         " ignore_index=-100 if ignore_index is None else ignore_index)"},
    /* The log-probability of each target: bounds of clusters, of which the first is the head's own, and how many others. */
    {"_adaptive_output(x, y, first, tail, bounds, count)", HIDDEN,
     .body = "return (first.gather(1, where(y < bounds[1], y, 0)[:, None])[:, 0] if count == 0 else"
             " _cluster_output(x, y, first, tail, bounds, count))"},
    {"_cluster_output(x, y, first, tail, bounds, count)", HIDDEN,
     .body =
         "low, high = bounds[count], bounds[count + 1]\n"
         "inside = (y >= low) & (y < high)\n"
         "at = where(inside, y - low, 0)\n"
         "own = log_softmax(tail[count - 1](x), 1).gather(1, at[:, None])[:, 0] + first[:, bounds[1] + count - 1]\n"
         "return where(inside, own, _adaptive_output(x, y, first, tail, bounds, count - 1))"},
    {"_adaptive_log_prob(x, scores, tail, cut)", HIDDEN,
     .body = "first = log_softmax(scores, 1)\n"
             "return cat((first[:, :cut],) + _cluster_log_probs(x, first[:, cut:], tail, len(tail)), dim=1)"},
    {"_cluster_log_probs(x, first, tail, count)", HIDDEN,
     .body = "return (() if count == 0 else _cluster_log_probs(x, first, tail, count - 1) +"
             " (log_softmax(tail[count - 1](x), 1) + first[:, count - 1, None],))"},
    {"_product(numbers)", HIDDEN,
     .body = "return 1 if len(numbers) == 0 else numbers[0] * _product(numbers[1:])"},
    /* Labels of a row of all samples begin where those of the one before end. */
    {"ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False)",
     FUNCTIONAL,
     .body =
         "how = _reduction(reduction)\n"
         "_check_ctc(log_probs, targets, blank)\n"
         "x = log_probs if log_probs.ndim == 3 else log_probs[:, None]\n"
         "steps = _ctc_lengths(input_lengths, x, 'input_lengths', x.shape[0])\n"
         "counts = _ctc_lengths(target_lengths, x, 'target_lengths', targets.shape[-1])\n"
         "labels = targets.long()\n"
         "begin = counts.cumsum(0) - counts if targets.ndim == 1 else arange(x.shape[1]) * targets.shape[1]\n"
         "_check_below(begin + counts, targets.shape[0] + 1) if targets.ndim == 1 else None\n"
         "used = labels if targets.ndim == 1 else where(arange(targets.shape[1]) < counts[:, None], labels, 0)\n"
         "_check_below(used, x.shape[2])\n"
         "loss = _ctc(x, labels.flatten(), begin, steps, counts, blank, targets.shape[-1])\n"
         "kept = where(loss == inf, 0, loss) if zero_infinity else loss\n"
         "total = (kept / counts.clamp(1)).mean() if how == 'mean' else _reduce(kept, how)\n"
         "return total[0] if how == 'none' and log_probs.ndim == 2 else total"},
    {"_check_ctc(log_probs, targets, blank)", HIDDEN, .build = fn_check_ctc},
    {"_ctc_lengths(lengths, x, name, most)", HIDDEN, .build = fn_ctc_lengths},
    {"_check_below(index, extent)", HIDDEN, .build = fn_check_below},
    {"_ctc(x, labels, begin, steps, counts, blank, most)", HIDDEN, .build = fn_ctc},
    {"_check_linear(input, weight, bias, options)", HIDDEN, .build = fn_check_linear},
    {"_check_unignored(logits, target, ignore_index)", HIDDEN, .build = fn_check_unignored},
    {"_check_adaptive(input, target, n_classes)", HIDDEN, .build = fn_check_adaptive},
    {"_clusters(in_features, n_classes, cutoffs, div_value)", HIDDEN, .build = fn_clusters},
    {"_is_rising(cutoffs, n_classes)", HIDDEN, .build = fn_is_rising},
    {"_reduction(reduction, size_average=None, reduce=None, batchmean=False)", HIDDEN, .build = fn_reduction},
    {"_reduce(loss, how)", HIDDEN,
     .body = "return loss if how == 'none' else loss.sum() if how == 'sum' else loss.mean()"},
    /* the mean is one of weights */
    {"_weighted(loss, input, weight, how)", HIDDEN,
     .body =
         "_check_shape(input, weight, 'weight', True) if weight is not None else None\n"
         "scaled = loss if weight is None else loss * weight\n"
         "return scaled.sum() / weight.sum() if weight is not None and how == 'mean' else _reduce(scaled, how)"},
    {"_check_shape(input, other, name, strict)", HIDDEN, .build = fn_check_shape},
    {"_check_slope(value, name, zero)", HIDDEN, .build = fn_check_slope},
    {"_same_shape(input, target)", HIDDEN, .build = fn_same_shape},
    {"_class_axis(input, target, weight, soft)", HIDDEN, .build = fn_class_axis},
    {"_check_smoothing(label_smoothing, ignore_index, soft)", HIDDEN, .build = fn_check_smoothing},
    {"_check_within(input, weight, name)", HIDDEN, .build = fn_check_within},
    {"_check_types(input, target)", HIDDEN, .build = fn_check_types},
    {"_check_holds(mask, name, range)", HIDDEN, .build = fn_check_holds},
    {"_variances(input, var)", HIDDEN, .build = fn_variances},
    {"_check_ranks(first, second, third)", HIDDEN, .build = fn_check_ranks},
    {"_check_pairs(input1, input2, target)", HIDDEN, .build = fn_check_pairs},
    {"_check_margin(input, target, weight, p)", HIDDEN, .build = fn_check_margin},
    {"_check_labels(input, target)", HIDDEN, .build = fn_check_labels},
    {.signature = NULL},
};
