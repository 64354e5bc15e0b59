/* random.c - what draws random numbers. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* [0, 1) in float32. */
static struct ev fn_uniform(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct op *op;
    int ndim;
    (void)count;

    if (!need_shape(eval, "this", &args[0], NULL, dims, &ndim))
        return BAD;
    if (!eval->graph || eval->building) {
        diag_error(eval->cx, loc, "random numbers are not known while generating");
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_RANDOM, "random", NULL, 0);
    op->random.module = eval->call ? eval->call->module : eval->graph->region ? eval->graph->root : NULL;
    op->random.draw = graph_draws(eval->graph, op->random.module);
    op->loc = loc;
    graph_value(eval->graph, op, DTYPE_FLOAT32, ndim, dims);
    graph_append(eval->graph, op);
    return ev_tensor(loc, op->outputs[0]);
}

/* What random numbers are made in: as asked for, as those of a tensor, or the default. */
static struct ev fn_float_type(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = args[1].kind == EV_TENSOR ? args[1].tensor->dtype : eval->default_dtype;
    (void)count;

    if (!need_dtype(eval, &args[0], dtype, &dtype))
        return BAD;
    if (dtype_is_float(dtype))
        return ev_dtype(loc, dtype);
    diag_error(eval->cx, loc, "%s gives floating numbers, not %s", outer(eval, "this"),
               dtype_rows[dtype].name);
    return BAD;
}

/* high - low, which are known. */
static struct ev fn_check_span(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t low, high;
    (void)count;

    if (!need_int(eval, "randint", &args[0], &low) || !need_int(eval, "randint", &args[1], &high))
        return BAD;
    if (high > low && low >= -((int64_t)1 << 46) && high <= (int64_t)1 << 46)
        return ev_float(loc, (double)(high - low));
    diag_error(eval->cx, loc, "%s expects low < high, both within 2 ** 46 of 0, but got %lld and %lld",
               outer(eval, "randint"), (long long)low, (long long)high);
    return BAD;
}

/* randint(high, size) and randint(low, high, size). */
static struct ev fn_randint(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool one = args[1].kind == EV_TUPLE && args[2].kind == EV_NONE;
    bool alone = one || args[1].kind == EV_NONE;
    const char *within = eval->within;
    struct scope scope = {0};
    enum dtype dtype;
    struct ev out;
    (void)count;

    if (!need_dtype(eval, &args[3], DTYPE_INT64, &dtype))
        return BAD;
    scope_bind(eval, &scope, "low", alone ? ev_int(eval, loc, 0) : args[0]);
    scope_bind(eval, &scope, "high", alone ? args[0] : args[1]);
    scope_bind(eval, &scope, "shape", one ? args[1] : args[2]);
    scope_bind(eval, &scope, "dtype", ev_dtype(loc, dtype));
    eval->at = loc;
    eval->within = within ? within : "randint";
    out = eval_body(eval, &scope, "return _whole(low, high, shape).to(dtype)");
    eval->within = within;
    return out;
}

/* A tensor of the shape of what normal draws. */
static struct ev fn_spread_of(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    int ndim = 0;
    struct ev zero = ev_float(loc, 0), shape;
    struct value *x;
    (void)count;

    if (args[2].kind != EV_NONE) {
        if (!need_shape(eval, "normal", &args[2], NULL, dims, &ndim))
            return BAD;
    } else if (args[0].kind != EV_TENSOR && args[1].kind != EV_TENSOR) {
        diag_error(eval->cx, loc, "normal of two numbers takes a size");
        return BAD;
    }
    for (int i = 0; i < 2; i++) {
        if (args[i].kind != EV_TENSOR && !ev_is_number(&args[i])) {
            diag_error(eval->cx, args[i].loc, "normal takes tensors and numbers, found %s",
                       ev_text(eval, &args[i]));
            return BAD;
        }
        if (args[i].kind != EV_TENSOR || dims_broadcast(eval->cx, dims, &ndim, args[i].tensor))
            continue;
        diag_error(eval->cx, loc, "normal: mean and std do not broadcast");
        return BAD;
    }
    shape = args[0].kind == EV_TENSOR ? args[0] : args[1].kind == EV_TENSOR ? args[1] : zero;
    x = build_scalar(eval, loc, &zero);
    x = x && shape.kind == EV_TENSOR ? build_cast(eval, loc, x, shape.tensor->dtype) : x;
    return ev_tensor(loc, x ? build_expand(eval, loc, x, ndim, dims) : NULL);
}

static struct ev fn_check_probability(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double p;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]))
        return BAD;
    if (!ev_get_number(&args[1], &p) || !(p >= 0 && p <= 1)) {
        diag_error(eval->cx, loc, "dropout probability has to be between 0 and 1, but got %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    return ev_none(loc);
}

static struct ev fn_check_dropout(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    int64_t least, most;
    (void)count;

    if (!need_int(eval, "least", &args[1], &least) || !need_int(eval, "most", &args[2], &most))
        return BAD;
    if (x->ndim < least || x->ndim > most) {
        diag_error(eval->cx, loc,
                   most > MAX_DIMS
                       ? "%s: Feature dropout requires at least 2 dimensions in the input, found %s"
                       : "%s: Expected 2D or 3D input, but received %s",
                   outer(eval, "this"), shape_text(&eval->cx->arena, x->ndim, x->dims));
        return BAD;
    }
    if (!dtype_is_float(x->dtype)) {
        diag_error(eval->cx, loc, "%s takes a floating tensor, not %s", outer(eval, "this"),
                   dtype_rows[x->dtype].name);
        return BAD;
    }
    return ev_none(loc);
}

extern const struct function_row random_functions[];

/* A part of the input that is one in all the dimensions behind the channels: a channel of a sample. */
#define CHANNELS(x) x ".shape[:2] + (1,) * (" x ".ndim - 2)"

const struct function_row random_functions[] = {
    {"dropout(input, p=0.5, training=True, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "return _dropout(input, p, input.shape) if training and p > 0 else input"},
    {"dropout1d(input, p=0.5, training=True, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "_check_dropout(input, 2, 3)\n"
             "x = input if input.ndim == 3 else input.unsqueeze(0)\n"
             "y = _dropout(x, p, " CHANNELS("x") ") if training and p > 0 else x\n"
                                                 "return y if input.ndim == 3 else y.squeeze(0)"},
    {"dropout2d(input, p=0.5, training=True, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "_check_dropout(input, 2, 99)\n"
             "return _dropout(input, p, " CHANNELS("input") ") if training and p > 0 else input"},
    {"dropout3d(input, p=0.5, training=True, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "x = input if input.ndim == 5 else input.unsqueeze(0)\n"
             "_check_dropout(x, 2, 99)\n"
             "y = _dropout(x, p, " CHANNELS("x") ") if training and p > 0 else x\n"
                                                 "return y if input.ndim == 5 else y.squeeze(0)"},
    {"alpha_dropout(input, p=0.5, training=False, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "return _alpha_dropout(input, p, input.shape) if training and p > 0 else input"},
    {"feature_alpha_dropout(input, p=0.5, training=False, inplace=False)", FUNCTIONAL | VIEW,
     .body = "_check_probability(input, p)\n"
             "_check_dropout(input, 2, 99) if training and p > 0 else None\n"
             "return _alpha_dropout(input, p, " CHANNELS("input") ") if training and p > 0 else input"},
    {"dropout(input, p, train)", TORCH | VIEW, .body = "return dropout(input, p, train)"},
    {"feature_dropout(input, p, train)", TORCH | VIEW, .body = "return dropout2d(input, p, train)"},
    {"alpha_dropout(input, p, train)", TORCH | VIEW, .body = "return alpha_dropout(input, p, train)"},
    {"feature_alpha_dropout(input, p, train)", TORCH | VIEW,
     .body = "return feature_alpha_dropout(input, p, train)"},
    {"rand(size, dtype=None)", TORCH | FUNCTION_SIZES,
     .body = "return _uniform_as(size, _float_type(dtype, None))"},
    {"randn(size, dtype=None)", TORCH | FUNCTION_SIZES,
     .body = "return _normal(size).to(_float_type(dtype, None))"},
    {"rand_like(input, dtype=None)", TORCH,
     .body = "return _uniform_as(input.shape, _float_type(dtype, input))"},
    {"randn_like(input, dtype=None)", TORCH,
     .body = "return _normal(input.shape).to(_float_type(dtype, input))"},
    /* by the polar angle and the length of a pair; of a uniform number u, 1 - u is none of 0 */
    {"_normal(shape)", HIDDEN,
     .body =
         "return torch.sqrt(-2.0 * log(1.0 - _uniform(shape))) * torch.cos(6.283185307179586 * _uniform(shape))"},
    {"_float_type(dtype, input)", HIDDEN, .build = fn_float_type},
    {"randperm(n, dtype=None)", TORCH,
     .body = "return argsort(_uniform((n,)), stable=True).to(torch.int64 if dtype is None else dtype)"},
    /* -log of what is exponentially distributed; where that would be 0, the least that can be drawn */
    {"gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1)", FUNCTIONAL,
     .body = "_check_float(logits)\n"
             "waits = -torch.log1p(-_uniform(logits.shape)).clamp(max=-6e-8)\n"
             "soft = softmax((logits - torch.log(waits).to(logits.dtype)) / tau, dim)\n"
             "return _one_hot_of(soft, dim) if hard else soft"},
    /* 1 at the largest, with the gradient of what is soft */
    {"_one_hot_of(soft, dim)", HIDDEN,
     .body = "best = soft.detach().argmax(dim, keepdim=True)\n"
             "return zeros_like(soft).scatter(dim, best, 1.0) - soft.detach() + soft"},
    {"randint(low, high=None, size=None, dtype=None)", TORCH, .build = fn_randint},
    {"randint_like(input, low, high=None, dtype=None)", TORCH,
     .body = "return _whole(0 if high is None else low, low if high is None else high, input.shape).to("
             "input.dtype if dtype is None else dtype)"},
    /* of 48 random bits, which is enough for what integers are drawn of */
    {"_whole(low, high, shape)", HIDDEN,
     .body = "span = _check_span(low, high)\n"
             "u = _uniform(shape).double()\n"
             "wide = u if span <= 65536 else u + _uniform(shape).double() / 16777216.0\n"
             "return floor(wide * span).long() + low"},
    {"_check_span(low, high)", HIDDEN, .build = fn_check_span},
    {"uniform_(input, a=0.0, b=1.0)", METHOD | IN_PLACE,
     .body = "return (_uniform_as(input.shape, _float_type(None, input)) * (b - a) + a)"},
    {"normal_(input, mean=0.0, std=1.0)", METHOD | IN_PLACE,
     .body = "return _normal(input.shape).to(_float_type(None, input)) * std + mean"},
    {"bernoulli_(input, p=0.5)", METHOD | IN_PLACE,
     .body = "return (_uniform(input.shape) < p).to(input.dtype)"},
    {"exponential_(input, lambd=1.0)", METHOD | IN_PLACE,
     .body = "return log(1.0 - _uniform_as(input.shape, _float_type(None, input))) / -lambd"},
    {"log_normal_(input, mean=1.0, std=2.0)", METHOD | IN_PLACE,
     .body = "return torch.exp(_normal(input.shape).to(_float_type(None, input)) * std + mean)"},
    {"cauchy_(input, median=0.0, sigma=1.0)", METHOD | IN_PLACE,
     .body = "u = _uniform_as(input.shape, _float_type(None, input))\n"
             "return torch.tan((u - 0.5) * pi) * sigma + median"},
    /* how often is tried, until what has the chance p happens */
    {"geometric_(input, p)", METHOD | IN_PLACE,
     .body = "if p <= 0 or p >= 1:\n"
             "    raise ValueError(f'geometric_ expects p to be in (0, 1), but got p={p}')\n"
             "u = 1.0 - _uniform(input.shape)\n"
             "return ceil(log(u) / math.log(1 - p)).clamp(min=1).to(input.dtype)"},
    /* random_(), random_(to), random_(start, to): whole numbers below `to`, or those that the type holds, of at most 24 bits */
    {"random_(input, start=None, to=None)", METHOD | IN_PLACE,
     .body = "bytes = input.dtype.itemsize\n"
             "all = (2 if input.dtype == torch.bool else 256 if input.dtype == torch.uint8 else 16777216 if"
             " input.is_floating_point() or bytes > 2 else 2 ** (8 * bytes - 1))\n"
             "low, high = (0, all if start is None else start) if to is None else (start, to)\n"
             "return _whole(low, high, input.shape).to(input.dtype)"},
    /* the largest of chances over what is exponentially distributed */
    {"multinomial(input, num_samples, replacement=False)", TORCH | METHOD,
     .body =
         "_check_float(input)\n"
         "p = _check_dims(input, 1, 2).detach()\n"
         "_check_holds((p >= 0) & (p < inf), 'input', 'finite, and not below 0')\n"
         "_check_holds(p.sum(-1) > 0, 'sums of input', 'above 0')\n"
         "again = replacement and num_samples != 1\n"
         "shape = p.shape[:-1] + (num_samples,) + p.shape[-1:] if again else p.shape\n"
         "waits = -torch.log1p(-_uniform(shape)).clamp(max=-6e-8)\n"
         "return (p[..., None, :] / waits).argmax(-1) if again else (p / waits).topk(num_samples).indices"},
    {"bernoulli(input, p=None)", TORCH | METHOD,
     .body = "chance = _check_chance(input) if p is None else p\n"
             "return (_uniform(input.shape) < chance).to(input.dtype)"},
    {"_check_chance(p)", HIDDEN,
     .body = "x = _check_float(p)\n_check_holds((p >= 0) & (p <= 1), 'p', 'within 0 and 1')\nreturn p"},
    {"normal(mean, std=1.0, size=None, dtype=None)", TORCH,
     .body = "x = _spread_of(mean, std, size)\n"
             "return (_normal(x.shape) * std + mean).to(_float_type(dtype, x))"},
    {"_spread_of(mean, std, size)", HIDDEN, .build = fn_spread_of},
    {"_uniform(shape)", HIDDEN, .build = fn_uniform},
    /* of as many bits as the type has, so that it is below 1 */
    {"_uniform_as(shape, dtype)", HIDDEN,
     .body = "steps = 2048 if dtype == torch.float16 else 256 if dtype == torch.bfloat16 else 0\n"
             "return (floor(_uniform(shape) * steps) / steps if steps else _uniform(shape)).to(dtype)"},
    /* what is compared with a chance: of a half type in float32 */
    {"_uniform_for(input, shape)", HIDDEN,
     .body = "return _uniform(shape).to(torch.float64 if input.dtype == torch.float64 else torch.float32)"},
    {"_check_probability(input, p)", HIDDEN, .build = fn_check_probability},
    {"_check_dropout(input, least, most)", HIDDEN, .build = fn_check_dropout},
    {"_dropout(input, p, parts)", HIDDEN,
     .body =
         "_check_dropout(input, 0, 99)\n"
         "return input * (_dropped(_uniform_for(input, parts), p, 1 / (1 - p)).to(input.dtype) if p < 1 else 0)"},
    /* keeps mean 0 and variance 1: what is dropped becomes -scale * alpha of SELU */
    {"_alpha_dropout(input, p, parts)", HIDDEN,
     .body =
         "_check_dropout(input, 0, 99)\n"
         "alpha = 1.7580993408473766\n"
         "a = ((alpha * alpha * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0\n"
         "kept = _dropped(_uniform_for(input, parts), p, 1).to(input.dtype) if p < 1 else 0\n"
         "return input * (kept * a) + ((kept - 1) * (alpha * a) + alpha * a * p) if p < 1 else input * 0"},
    {.signature = NULL},
};
