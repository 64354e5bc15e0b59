/* window.c - ops over windows of an image: convolution and pooling, in both memory orders. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "ops/rows.h"

/* Axes of batch, channel and the two of space. */
struct axes {
    int n, c, s[2];
};

static struct axes image_axes(const struct op *op)
{
    return op->window.channels_last ? (struct axes){0, 3, {1, 2}} : (struct axes){0, 1, {2, 3}};
}

static const struct dim *plus(struct arena *arena, const struct dim *dim, int64_t value)
{
    return dim_add(arena, dim, dim_const(arena, value));
}

/* Cells from the first to the last that a window touches. */
static int64_t reach(const struct op *op, int i)
{
    return (int64_t)op->window.dilation[i] * (op->window.kernel[i] - 1) + 1;
}

bool window_is_clipped(const struct op *op, int i, bool padded)
{
    int axis = image_axes(op).s[i];
    int64_t in, out, padding = op->window.padding[i];

    if (!padded && padding > 0)
        return true;
    return op->window.ceil_mode && (!dim_is_const(op->inputs[0]->dims[axis], &in) ||
                                    !dim_is_const(op->outputs[0]->dims[axis], &out) ||
                                    (out - 1) * op->window.stride[i] - padding + reach(op, i) > in + padding);
}

bool pool_is_uneven(const struct op *op)
{
    bool padded = op->window.count_include_pad;

    return op->window.kind != POOL_MAX && !op->window.divisor &&
           (window_is_clipped(op, 0, padded) || window_is_clipped(op, 1, padded));
}

/* floor((in + 2 p - reach) / s) + 1. With ceil_mode the division rounds up, unless the last window would begin behind
 * the image and its left padding: o <= ceil((in + p) / s). Both bounds are floor((in + c) / s) for a constant c, so
 * the smaller c says it for every size. */
const struct dim *window_count(struct arena *arena, const struct dim *in, int64_t reach, int64_t stride,
                               int64_t padding, bool ceil_mode)
{
    int64_t add = 2 * padding - reach + stride;

    if (ceil_mode) {
        add += stride - 1;
        if (add > padding + stride - 1)
            add = padding + stride - 1;
    }
    return dim_floordiv(arena, plus(arena, in, add), dim_const(arena, stride));
}

/* Sets dims[] of the two axes of space; NULL, or what is wrong. */
static const char *window_dims(struct cx *cx, const struct op *op, const struct dim **dims)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0];
    struct axes axes = image_axes(op);

    for (int i = 0; i < 2; i++) {
        const struct dim *in = x->dims[axes.s[i]];

        in = plus(arena, in, op->window.extra[i]);
        dims[axes.s[i]] = window_count(arena, in, reach(op, i), op->window.stride[i], op->window.padding[i],
                                       op->window.ceil_mode);
        if (dim_upper(dims[axes.s[i]]) < 1)
            return arena_format(arena, "%s: %s: the window of %lld is larger than the padded image of %s",
                                op->label, value_shape(arena, x), (long long)reach(op, i),
                                dim_text(arena, plus(arena, in, 2 * op->window.padding[i])));
    }
    return NULL;
}

/* ---- conv ---------------------------------------------------------------------------------------------------- */

static bool has_windows(const struct op *op)
{
    for (int i = 0; i < 2; i++)
        if (op->window.kernel[i] <= 0 || op->window.stride[i] <= 0 || op->window.dilation[i] <= 0)
            return false;
    return op->inputs[0]->ndim == 4;
}

/* note [int8]
 * A convolution of int8 with a weight of int8 adds (x - zero) w up in int32, in which it is exact for up to CONV_MOST_TERMS of a window;
 * what lies outside of x adds nothing. */
bool conv_is_int8(const struct op *op)
{
    return op->inputs[0]->dtype == DTYPE_INT8 && op->inputs[1]->dtype == DTYPE_INT8;
}

bool op_tail_narrows(const struct op *op)
{
    return op->code == GRAPH_OP_CONV && conv_is_int8(op);
}

/* What it computes in. */
static enum dtype conv_dtype(const struct op *op)
{
    return conv_is_int8(op) ? DTYPE_INT32
           : op->head       ? op->head->nodes[op->head->result].dtype
                            : op->inputs[0]->dtype;
}

/* functions/conv.c has said what the spec can do wrong. */
static const char *conv_broken(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0], *weight = op->inputs[1];
    struct axes axes = image_axes(op);
    const struct dim *groups;
    enum dtype dtype = conv_dtype(op);

    if (!has_windows(op) || op->window.groups <= 0 || weight->ndim != 4 ||
        op->tail_first < 2 + op->window.bias)
        return "it has not the operands of a convolution";
    if (!conv_is_int8(op) && (dtype != weight->dtype || !dtype_is_float(dtype)))
        return "it multiplies types that it cannot";
    if (conv_is_int8(op) && (op->head || op->window.zero < INT8_MIN || op->window.zero > INT8_MAX))
        return "it takes a number from x that is none of int8";
    groups = dim_const(&cx->arena, op->window.groups);
    if (!dim_is_const(weight->dims[0], NULL) ||
        !dim_equals(dim_mod(&cx->arena, weight->dims[0], groups), 0) ||
        !dim_equal(x->dims[axes.c], dim_mul(&cx->arena, weight->dims[axes.c], groups)))
        return "its channels do not fit its groups";
    for (int i = 0; i < 2; i++)
        if (!dim_equals(weight->dims[axes.s[i]], op->window.kernel[i]))
            return "its weight is not as large as its windows";
    if (op->window.bias && (op->inputs[2]->ndim != 1 || !dim_equal(op->inputs[2]->dims[0], weight->dims[0]) ||
                            op->inputs[2]->dtype != dtype))
        return "its bias is not one number a channel";
    return NULL;
}

static const char *conv_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0], *weight = op->inputs[1];
    struct axes axes = image_axes(op);
    const struct dim *dims[4];
    const char *fault;

    fault = window_dims(cx, op, dims);
    if (fault)
        return fault;
    dims[axes.n] = x->dims[axes.n];
    dims[axes.c] = weight->dims[0];
    return set_output(cx, op, conv_dtype(op), 4, dims);
}

static void dense_strides(const struct tensor *tensor, int64_t strides[4])
{
    int64_t stride = 1;

    for (int i = 3; i >= 0; i--) {
        strides[i] = stride;
        stride *= tensor->dims[i];
    }
}

/* The kernel cells [*first, *end) whose input cell lies in the image, for window `at` along space axis i. */
static void inside(const struct op *op, int64_t in, int64_t at, int i, int64_t *first, int64_t *end)
{
    int64_t origin = at * op->window.stride[i] - op->window.padding[i], dilation = op->window.dilation[i];

    *first = 0;
    *end = op->window.kernel[i];
    while (*first < *end && origin + *first * dilation < 0)
        ++*first;
    while (*end > *first && origin + (*end - 1) * dilation >= in)
        --*end;
}

/* What a window at (oh, ow) sees: its first cell, which may lie outside, and the cells inside. */
struct sight {
    int64_t origin[2], first[2], end[2];
};

static struct sight look(const struct op *op, const struct tensor *x, const struct axes *axes,
                         const int64_t at[2])
{
    struct sight sight;

    for (int i = 0; i < 2; i++) {
        sight.origin[i] = at[i] * op->window.stride[i] - op->window.padding[i];
        inside(op, x->dims[axes->s[i]], at[i], i, &sight.first[i], &sight.end[i]);
    }
    return sight;
}

static void conv_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0], *weight = inputs[1];
    struct axes axes = image_axes(op);
    int64_t xs[4], ws[4], ys[4], at[2];
    int64_t channels = weight->dims[axes.c], per_group = output->dims[axes.c] / op->window.groups;
    int64_t dh = op->window.dilation[0], dw = op->window.dilation[1];
    const bool ints = conv_is_int8(op);
    union scalar *to;

    dense_strides(x, xs);
    dense_strides(weight, ws);
    dense_strides(output, ys);
    for (int64_t n = 0; n < output->dims[axes.n]; n++)
        for (at[0] = 0; at[0] < output->dims[axes.s[0]]; at[0]++)
            for (at[1] = 0; at[1] < output->dims[axes.s[1]]; at[1]++) {
                struct sight see = look(op, x, &axes, at);

                for (int64_t o = 0; o < output->dims[axes.c]; o++) {
                    double sum = op->window.bias && !ints ? inputs[2]->data[o].f : 0;
                    int64_t whole = op->window.bias && ints ? inputs[2]->data[o].i : 0;
                    int64_t group = o / per_group * channels;

                    for (int64_t h = see.first[0]; h < see.end[0]; h++)
                        for (int64_t w = see.first[1]; w < see.end[1]; w++) {
                            const union scalar *from = x->data + n * xs[axes.n] + group * xs[axes.c] +
                                                       (see.origin[0] + h * dh) * xs[axes.s[0]] +
                                                       (see.origin[1] + w * dw) * xs[axes.s[1]];
                            const union scalar *by = weight->data + o * ws[0] + h * ws[axes.s[0]] +
                                                     w * ws[axes.s[1]];

                            for (int64_t c = 0; c < channels && !ints; c++)
                                sum += from[c * xs[axes.c]].f * by[c * ws[axes.c]].f;
                            for (int64_t c = 0; c < channels && ints; c++)
                                whole += (from[c * xs[axes.c]].i - op->window.zero) * by[c * ws[axes.c]].i;
                        }
                    to = output->data + n * ys[axes.n] + o * ys[axes.c] + at[0] * ys[axes.s[0]] +
                         at[1] * ys[axes.s[1]];
                    if (ints)
                        to->i = dtype_wrap(DTYPE_INT32, whole);
                    else
                        to->f = sum;
                }
            }
    if (!ints)
        round_output(output, x->dtype);
    run_tail(op, inputs, output);
}

static double conv_macs(const struct op *op)
{
    const struct value *weight = op->inputs[1], *y = op->outputs[0];

    return dims_upper(y->ndim, y->dims) * dims_upper(3, weight->dims + 1);
}

int conv_head_first(const struct op *op)
{
    return 2 + op->window.bias;
}

static enum op_accepts window_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    if (op->head && (input == 0 || input >= conv_head_first(op)))
        return ACCEPT_ANY; /* lines of it are converted one by one */
    return input == 0 && op->window.channels_last ? ACCEPT_ROWS : ACCEPT_DENSE;
}

/* A weight that is not packed lies as `across` says. */
static enum op_accepts conv_accepts(const struct op *op, int input)
{
    return input == 1 ? ACCEPT_ANY : window_accepts(op, input);
}

static bool conv_packs(const struct op *op, int input)
{
    return input >= 1 && input < op->tail_first;
}

static int conv_bias(const struct op *op)
{
    return op->window.bias ? 2 : -1;
}

static void window_dump(struct text *text, const struct op *op)
{
    text_printf(text, " kernel %dx%d stride %d,%d padding %d,%d%s", op->window.kernel[0],
                op->window.kernel[1], op->window.stride[0], op->window.stride[1], op->window.padding[0],
                op->window.padding[1], op->window.channels_last ? " channels last" : "");
    if (op->window.extra[0] != 0 || op->window.extra[1] != 0)
        text_printf(text, " behind %+d,%+d", op->window.extra[0], op->window.extra[1]);
    if (op->window.zero != 0)
        text_printf(text, " zero %d", op->window.zero);
}

static int conv_groups(const struct op *op)
{
    return op->window.groups;
}

static void conv_work(const struct op *op, struct op_work *work)
{
    work->macs = conv_macs(op);
}

const struct op_row op_row_conv = {
    .order = OP_ORDER_KEPT,
    .name = "conv",
    .broken = conv_broken,
    .infer = conv_infer,
    .interpret = conv_interpret,
    .accepts = conv_accepts,
    .packs = conv_packs,
    .bias = conv_bias,
    .macs = conv_macs,
    .dump = window_dump,
    .tail = TAIL_BY_ROWS,
    .pure = true,
    .windows = true,
    .work = conv_work,
    .varied = true,
    .tiled = true,
    .weighted = true,
    .across = true,
    .groups = conv_groups,
};

/* ---- pool ---------------------------------------------------------------------------------------------------- */

static const char *pool_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (!has_windows(op) || op->tail_first != 1)
        return "it has not the operands of a pool";
    for (int i = 0; i < 2; i++)
        if (op->window.padding[i] > op->window.kernel[i] / 2)
            return "its padding is over half of its window";
    return NULL;
}

static const char *pool_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];
    struct axes axes = image_axes(op);
    const struct dim *dims[4];
    const char *fault;

    if (!dtype_is_float(x->dtype))
        return arena_format(&cx->arena, "%s is not defined for %s", op->label, dtype_rows[x->dtype].name);
    fault = window_dims(cx, op, dims);
    if (fault)
        return fault;
    dims[axes.n] = x->dims[axes.n];
    dims[axes.c] = x->dims[axes.c];
    return set_output(cx, op, x->dtype, 4, dims);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What a mean divides by: the cells of the window inside the image, or inside the padded image. */
static int64_t window_area(const struct op *op, const struct tensor *x, const struct axes *axes,
                           const struct sight *see)
{
    int64_t area = 1;

    if (op->window.divisor != 0)
        return op->window.divisor;
    for (int i = 0; i < 2; i++) {
        int64_t end = least(see->origin[i] + op->window.kernel[i],
                            x->dims[axes->s[i]] + op->window.padding[i]);

        area *= op->window.count_include_pad ? end - see->origin[i] : see->end[i] - see->first[i];
    }
    return area;
}

static double pool_window(const struct op *op, const struct tensor *x, const struct axes *axes,
                          const struct sight *see, const union scalar *plane, const int64_t xs[4])
{
    bool max = op->window.kind == POOL_MAX;
    double result = max ? -(double)INFINITY : 0;

    for (int64_t h = see->first[0]; h < see->end[0]; h++)
        for (int64_t w = see->first[1]; w < see->end[1]; w++) {
            double cell = plane[(see->origin[0] + h * op->window.dilation[0]) * xs[axes->s[0]] +
                                (see->origin[1] + w * op->window.dilation[1]) * xs[axes->s[1]]]
                              .f;

            if (!max)
                result += cell;
            else if (cell > result || isnan(cell))
                result = cell;
        }
    return max ? result : result / (double)window_area(op, x, axes, see);
}

static void pool_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0];
    struct axes axes = image_axes(op);
    int64_t xs[4], ys[4], at[2];

    dense_strides(x, xs);
    dense_strides(output, ys);
    for (int64_t n = 0; n < output->dims[axes.n]; n++)
        for (at[0] = 0; at[0] < output->dims[axes.s[0]]; at[0]++)
            for (at[1] = 0; at[1] < output->dims[axes.s[1]]; at[1]++) {
                struct sight see = look(op, x, &axes, at);
                int64_t to = n * ys[axes.n] + at[0] * ys[axes.s[0]] + at[1] * ys[axes.s[1]];

                for (int64_t c = 0; c < output->dims[axes.c]; c++)
                    output->data[to + c * ys[axes.c]].f = pool_window(
                        op, x, &axes, &see, x->data + n * xs[axes.n] + c * xs[axes.c], xs);
            }
    round_output(output, x->dtype);
    run_tail(op, inputs, output);
}

static double pool_macs(const struct op *op)
{
    const struct value *y = op->outputs[0];

    return dims_upper(y->ndim, y->dims) * op->window.kernel[0] * op->window.kernel[1];
}

static void pool_work(const struct op *op, struct op_work *work)
{
    work->values = pool_macs(op);
}

const struct op_row op_row_pool = {
    .order = OP_ORDER_KEPT,
    .name = "pool",
    .broken = pool_broken,
    .infer = pool_infer,
    .interpret = pool_interpret,
    .accepts = window_accepts,
    .macs = pool_macs,
    .dump = window_dump,
    .tail = TAIL_BY_ROWS,
    .pure = true,
    .windows = true,
    .work = pool_work,
};
