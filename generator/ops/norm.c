/* norm.c - layer normalisation: each row of the last `axes` dimensions to mean 0 and variance 1, scaled and shifted;
 * softmax: each row to sum 1. */
#include <math.h>

#include "base/text.h"
#include "ops/rows.h"

static const char *norm_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->norm.axes >= 1 && op->norm.axes <= op->inputs[0]->ndim &&
                   op->tail_first == 1 + op->norm.weight + op->norm.bias
               ? NULL
               : "its axes are not there";
}

static const char *norm_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0];
    int lead = x->ndim - op->norm.axes, affine = op->norm.weight + op->norm.bias;

    if (!dtype_is_float(x->dtype))
        return arena_format(arena, "%s is not defined for %s", op->label, dtype_rows[x->dtype].name);
    for (int i = 1; i <= affine; i++) {
        const struct value *scale = op->inputs[i];
        bool fits = scale->ndim == op->norm.axes && scale->dtype == x->dtype;

        for (int k = 0; fits && k < scale->ndim; k++)
            fits = dim_equal(scale->dims[k], x->dims[lead + k]);
        if (!fits)
            return arena_format(arena, "%s: %s does not end in the normalized shape %s", op->label,
                                value_shape(arena, x), value_shape(arena, scale));
    }
    return set_output(cx, op, x->dtype, x->ndim, x->dims);
}

static void norm_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0];
    const union scalar *weight = op->norm.weight ? inputs[1]->data : NULL;
    const union scalar *bias = op->norm.bias ? inputs[op->norm.weight ? 2 : 1]->data : NULL;
    int64_t count = tensor_count(x), width = 1;

    for (int i = x->ndim - op->norm.axes; i < x->ndim; i++)
        width *= x->dims[i];
    for (int64_t at = 0; at < count; at += width) {
        const union scalar *from = x->data + at;
        union scalar *to = output->data + at;
        double mean = 0, variance = 0, scale;

        for (int64_t i = 0; i < width; i++)
            mean += from[i].f;
        mean /= (double)width;
        for (int64_t i = 0; i < width; i++)
            variance += (from[i].f - mean) * (from[i].f - mean);
        scale = 1 / sqrt(variance / (double)width + op->norm.eps);
        for (int64_t i = 0; i < width; i++)
            to[i].f = (from[i].f - mean) * scale * (weight ? weight[i].f : 1) + (bias ? bias[i].f : 0);
    }
    round_output(output, x->dtype);
    run_tail(op, inputs, output);
}

static enum op_accepts norm_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    return input == 0 && op->norm.axes == 1 ? ACCEPT_ROWS : ACCEPT_DENSE;
}

static int norm_columns(const struct op *op)
{
    return op->norm.axes;
}

static void norm_work(const struct op *op, struct op_work *work)
{
    const struct value *y = op->outputs[0];

    work->values = 2 * dims_upper(y->ndim, y->dims);
    work->rows = dims_upper(y->ndim - norm_columns(op), y->dims);
}

const struct op_row op_row_norm = {
    .order = OP_ORDER_KEPT,
    .name = "norm",
    .broken = norm_broken,
    .infer = norm_infer,
    .interpret = norm_interpret,
    .accepts = norm_accepts,
    .tail = TAIL_BY_ROWS,
    .columns = norm_columns,
    .pure = true,
    .work = norm_work,
};

static const char *softmax_broken(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];

    (void)cx;
    return op->softmax.axis >= 0 && op->softmax.axis < x->ndim && dtype_is_float(x->dtype)
               ? NULL
               : "its axis is not there";
}

static const char *softmax_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

    return set_output(cx, op, x->dtype, x->ndim, x->dims);
}

bool softmax_is_last(const struct op *op)
{
    return op->softmax.axis == op->inputs[0]->ndim - 1;
}

/* A line with NaN, +inf or nothing but -inf gives NaN, as in torch; `safe` makes the last of these 0. */
static void softmax_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0];
    int64_t count = tensor_count(x), width = x->dims[op->softmax.axis], step = 1;

    for (int i = op->softmax.axis + 1; i < x->ndim; i++)
        step *= x->dims[i];
    for (int64_t line = 0; count > 0 && line < count / width; line++) {
        int64_t at = line / step * width * step + line % step;
        const union scalar *from = x->data + at;
        union scalar *to = output->data + at;
        double most = -(double)INFINITY, sum = 0;

        for (int64_t i = 0; i < width; i++)
            most = from[i * step].f > most ? from[i * step].f : most;
        if (op->softmax.safe && most == -(double)INFINITY)
            most = 0;
        for (int64_t i = 0; i < width; i++)
            sum += exp(from[i * step].f - most);
        if (op->softmax.safe && sum == 0)
            sum = 1;
        for (int64_t i = 0; i < width; i++)
            to[i * step].f = op->softmax.log ? from[i * step].f - most - log(sum)
                                             : exp(from[i * step].f - most) / sum;
    }
    round_output(output, x->dtype);
    run_tail(op, inputs, output);
}

static enum op_accepts softmax_accepts(const struct op *op, int input)
{
    return in_tail(op, input) ? ACCEPT_ANY : softmax_is_last(op) ? ACCEPT_ROWS : ACCEPT_DENSE;
}

static void softmax_dump(struct text *text, const struct op *op)
{
    text_add(text, op->softmax.safe ? " safe" : "");
}

static void softmax_work(const struct op *op, struct op_work *work)
{
    const struct value *y = op->outputs[0];

    work->functions = dims_upper(y->ndim, y->dims);
    work->rows = softmax_is_last(op) ? dims_upper(y->ndim - 1, y->dims) : 0;
}

const struct op_row op_row_softmax = {
    .order = OP_ORDER_KEPT,
    .name = "softmax",
    .broken = softmax_broken,
    .infer = softmax_infer,
    .interpret = softmax_interpret,
    .accepts = softmax_accepts,
    .dump = softmax_dump,
    .tail = TAIL_BY_ROWS,
    .tails = softmax_is_last,
    .pure = true,
    .work = softmax_work,
};
