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
    if (!eval->graph) {
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
    {"_uniform(shape)", HIDDEN, .build = fn_uniform},
    {"_check_probability(input, p)", HIDDEN, .build = fn_check_probability},
    {"_check_dropout(input, least, most)", HIDDEN, .build = fn_check_dropout},
    {"_dropout(input, p, parts)", HIDDEN,
     .body = "_check_dropout(input, 0, 99)\n"
             "return input * (_dropped(_uniform(parts).to(input.dtype), p, 1 / (1 - p)) if p < 1 else 0)"},
    /* keeps mean 0 and variance 1: what is dropped becomes -scale * alpha of SELU */
    {"_alpha_dropout(input, p, parts)", HIDDEN,
     .body =
         "_check_dropout(input, 0, 99)\n"
         "alpha = 1.7580993408473766\n"
         "a = ((alpha * alpha * p + 1) * (1 - p)) ** -0.5 if p < 1 else 0\n"
         "kept = _dropped(_uniform(parts).to(input.dtype), p, 1) if p < 1 else 0\n"
         "return input * (kept * a) + ((kept - 1) * (alpha * a) + alpha * a * p) if p < 1 else input * 0"},
    {.signature = NULL},
};
