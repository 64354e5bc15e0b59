/* layout.c - convolutional parts run channels-last. Convolutions and pools become ops over (n, h, w, c) with permute
 * views around them; maps move behind the view of their operand, so that the views of neighbours meet and cancel; a
 * flatten before a Linear permutes the columns of the weight instead of the activations. What is left is resolved by
 * legalise: copies at inputs, outputs, boundaries and true views. See note [memory order] in ops.h. */
#include "pass.h"

#include <string.h>

static const int to_last[4] = {0, 2, 3, 1}, to_first[4] = {0, 3, 1, 2};

static bool is_channels_first_view(const struct value *value)
{
    return value->op->code == GRAPH_OP_VIEW && value->op->view.kind == VIEW_PERMUTE && value->ndim == 4 &&
           memcmp(value->op->view.perm, to_first, sizeof to_first) == 0;
}

/* Puts `copy`, whose inputs are channels-last, at the op's place, and a view in PyTorch's order where it was used. */
static void replace_op(struct graph *graph, int *at, struct op *old, struct op *copy)
{
    struct value *value = old->outputs[0], *last, *first;
    const struct dim *dims[4];

    for (int i = 0; i < 4; i++)
        dims[i] = value->dims[to_last[i]];
    last = graph_value(graph, copy, value->dtype, 4, dims);
    last->name = value->name;
    graph_insert(graph, (*at)++, copy);
    first = edit_permute(graph, at, last, to_first);
    graph_replace(graph, value, first);
    graph_remove(graph, (*at)--);
}

static void window_last(struct graph *graph, int *at, struct op *op)
{
    struct op *copy = edit_op(graph, op);

    copy->window.channels_last = true;
    copy->inputs[0] = edit_permute(graph, at, op->inputs[0], to_last);
    if (op->code == GRAPH_OP_CONV)
        copy->inputs[1] = edit_permute(graph, at, op->inputs[1], to_last);
    replace_op(graph, at, op, copy);
}

static void map_last(struct graph *graph, int *at, struct op *op)
{
    const struct value *out = op->outputs[0];
    struct op *copy;
    bool moved = false;

    if (out->ndim != 4 || out->prepared)
        return;
    for (int i = 0; i < op->input_count; i++)
        moved |= is_channels_first_view(op->inputs[i]) && dims_equal(op->inputs[i], out);
    if (!moved)
        return;
    copy = edit_op(graph, op);
    for (int i = 0; i < op->input_count; i++) {
        struct value *input = op->inputs[i];
        const struct dim *dims[4];
        int missing = 4 - input->ndim;

        for (int d = 0; d < 4; d++)
            dims[d] = d < missing ? dim_const(&graph->cx->arena, 1) : input->dims[d - missing];
        input = edit_reshape(graph, at, input, 4, dims);
        copy->inputs[i] = edit_permute(graph, at, input, to_last);
    }
    replace_op(graph, at, op, copy);
}

/* reduce(view of y) becomes reduce(y), so that what makes y can join it as its head. */
static void reduce_last(struct graph *graph, int *at, struct op *op)
{
    struct value *out = op->outputs[0], *made;
    const struct dim *dims[4];
    struct op *copy;
    int kept[4], count = 0;

    if (!is_channels_first_view(op->inputs[0]) || op->head || op->tail || op->reduce.kind == REDUCE_ARGMAX ||
        op->reduce.kind == REDUCE_ARGMIN)
        return;
    for (int i = 0; i < 4; i++)
        if (!op->reduce.axes[to_last[i]])
            kept[count++] = to_last[i];
    for (int i = 1; i < count && !op->reduce.keepdim; i++)
        if (kept[i] < kept[i - 1])
            return; /* the result would be in another order */
    copy = edit_op(graph, op);
    copy->inputs[0] = op->inputs[0]->op->inputs[0];
    for (int i = 0; i < 4; i++) {
        copy->reduce.axes[i] = op->reduce.axes[to_last[i]];
        dims[i] = op->reduce.keepdim ? out->dims[to_last[i]] : NULL;
    }
    made = graph_value(graph, copy, out->dtype, out->ndim, op->reduce.keepdim ? dims : out->dims);
    made->name = out->name;
    graph_insert(graph, (*at)++, copy);
    graph_replace(graph, out, op->reduce.keepdim ? edit_permute(graph, at, made, to_first) : made);
    graph_remove(graph, (*at)--);
}

/* linear(flatten(x)) with x a view of channels-last y: linear(flatten(y)) with the weight's rows in y's order. */
static void flatten_last(struct graph *graph, int *at, struct op *op)
{
    struct value *flat = op->inputs[0], *weight = op->inputs[1], *image, *last;
    const struct dim *dims[4], *rows[2], *count;

    if (flat->op->code != GRAPH_OP_VIEW || flat->op->view.kind != VIEW_RESHAPE || flat->ndim != 2 ||
        weight->ndim != 2 || !value_is_static(graph, weight))
        return;
    image = flat->op->inputs[0];
    if (!is_channels_first_view(image) || !dim_equal(image->dims[0], flat->dims[0]))
        return;
    last = image->op->inputs[0];
    count = flat->dims[1];
    rows[0] = flat->dims[0];
    rows[1] = count;
    op->inputs[0] = edit_reshape(graph, at, last, 2, rows);
    for (int i = 0; i < 3; i++)
        dims[i] = image->dims[1 + i];
    dims[3] = weight->dims[1];
    weight = edit_reshape(graph, at, weight, 4, dims); /* (c, h, w, n) */
    weight = edit_permute(graph, at, weight, (const int[]){1, 2, 0, 3});
    rows[0] = count;
    rows[1] = dims[3];
    op->inputs[1] = edit_reshape(graph, at, weight, 2, rows);
}

void pass_layout(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        switch (op->code) {
        case GRAPH_OP_CONV:
        case GRAPH_OP_POOL:
            if (!op->window.channels_last)
                window_last(graph, &i, op);
            break;
        case GRAPH_OP_MAP:
            map_last(graph, &i, op);
            break;
        case GRAPH_OP_REDUCE:
            reduce_last(graph, &i, op);
            break;
        case GRAPH_OP_CONTRACT:
            flatten_last(graph, &i, op);
            break;
        default:
            break;
        }
    }
}
