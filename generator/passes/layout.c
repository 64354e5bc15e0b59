/* layout.c - convolutional parts run channels-last. Convolutions, and pools between them, become ops over (n, h, w, c) with
 * permute views around them; maps, concatenations and other views, as those of 1-D and 3-D convolutions, move behind the view of
 * their operand, so that the views of neighbours meet and cancel; a flatten before a Linear permutes the columns of the weight instead of the activations. What is left is resolved by
 * legalise: copies at inputs, outputs, boundaries and true views. See note [memory order] in ops.h. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* Output axis i of the view from (n, c, ...) to (n, ..., c), and back. */
static void to_last(int ndim, int *perm)
{
    perm[0] = 0;
    for (int i = 1; i < ndim; i++)
        perm[i] = i == ndim - 1 ? 1 : i + 1;
}

static void to_first(int ndim, int *perm)
{
    perm[0] = 0;
    for (int i = 1; i < ndim; i++)
        perm[i] = i == 1 ? ndim - 1 : i - 1;
}

static struct value *put_last(struct graph *graph, int *at, struct value *value)
{
    int perm[MAX_DIMS];

    to_last(value->ndim, perm);
    return make_permute(site_by(graph, at, value->op), value, perm);
}

/* Four dimensions in this order are an image wherever they come from, others where a convolution or pool made them. */
static bool is_channels_first_view(const struct value *value)
{
    int perm[MAX_DIMS];

    if (value->op->code != GRAPH_OP_VIEW || value->op->view.kind != VIEW_PERMUTE || value->ndim < 3 ||
        (value->ndim != 4 && !value->op->inputs[0]->image))
        return false;
    to_first(value->ndim, perm);
    return memcmp(value->op->view.perm, perm, (size_t)value->ndim * sizeof *perm) == 0;
}

/* The dims of a value in that order. */
static void dims_last(const struct value *value, const struct dim **dims)
{
    int perm[MAX_DIMS];

    to_last(value->ndim, perm);
    for (int i = 0; i < value->ndim; i++)
        dims[i] = value->dims[perm[i]];
}

/* Puts `copy`, whose inputs are channels-last, at the op's place, and a view in PyTorch's order where it was used. */
static void replace_op(struct graph *graph, int *at, struct op *old, struct op *copy)
{
    struct value *value = old->outputs[0], *last, *first;
    const struct dim *dims[MAX_DIMS];
    int perm[MAX_DIMS];

    dims_last(value, dims);
    last = graph_value(graph, copy, value->dtype, value->ndim, dims);
    value_take_name(last, value);
    last->image = true;
    graph_insert(graph, (*at)++, copy);
    to_first(value->ndim, perm);
    first = make_permute(site_by(graph, at, last->op), last, perm);
    graph_replace(graph, value, first);
    graph_remove(graph, (*at)--);
}

static void window_last(struct graph *graph, int *at, struct op *op)
{
    struct op *copy = make_like(graph, op);

    copy->window.channels_last = true;
    copy->inputs[0] = put_last(graph, at, op->inputs[0]);
    if (op->code == GRAPH_OP_CONV)
        copy->inputs[1] = put_last(graph, at, op->inputs[1]);
    replace_op(graph, at, op, copy);
}

/* Whether a CALL brings its input `index` channels-last: an input of the region, or a result that its backward reads. */
static bool input_is_last(const struct op *call, int index)
{
    const struct graph *region = call->invoke.region->graph;
    const int asked = region->input_count + region->result_count;
    int at = call->input_count;

    if (call->invoke.part == CALL_COMMIT)
        return false;
    if (call->invoke.part != CALL_BACKWARD)
        return region->inputs_last[index];
    for (int i = asked - 1; i >= 0; i--)
        if (call->invoke.reads[i] && --at == index)
            return i < region->input_count ? region->inputs_last[i]
                                           : region->outputs_last[i - region->input_count];
    for (int i = 0, at_result = 1; i < region->result_count; i++) /* behind the block: gradients of results */
        if (region->region->given[i] && at_result++ == index)
            return region->outputs_last[i];
    return false;
}

/* The same of what a CALL gives: a result of the region, or the gradient of an input. */
static bool output_is_last(const struct op *call, int index)
{
    const struct graph *region = call->invoke.region->graph;
    int before = index;

    if (call->invoke.part != CALL_BACKWARD)
        return index < region->result_count && region->outputs_last[index];
    for (int i = region->result_count; i < region->output_count; i++)
        if (!region->gradient_of[i - region->result_count] && before-- == 0)
            return region->outputs_last[i];
    return false;
}

static bool conv_feeds(const struct op *op, int input)
{
    return input == 0 && !op->window.channels_last;
}

static bool pool_feeds(const struct op *op, int input)
{
    (void)input;
    return op->outputs[0]->feeds_conv;
}

static bool map_feeds(const struct op *op, int input)
{
    return op->outputs[0]->feeds_conv && dims_equal(op->inputs[input], op->outputs[0]);
}

/* Whether a convolution reads the op's input, directly or behind pools and maps: what its result feeds is known. */
static bool (*const feeders[GRAPH_OP_COUNT])(const struct op *op, int input) = {
    [GRAPH_OP_CONV] = conv_feeds,
    [GRAPH_OP_CALL] = input_is_last,
    [GRAPH_OP_POOL] = pool_feeds,
    [GRAPH_OP_MAP] = map_feeds,
};

/* Of all values, from the last one on. What moves later stands in front of those whose readers are asked for. */
static void find_feeds(struct graph *graph)
{
    for (int i = graph->op_count - 1; i >= 0; i--) {
        const struct op *op = graph->ops[i];

        for (int j = 0; feeders[op->code] && j < op->input_count; j++)
            op->inputs[j]->feeds_conv |= feeders[op->code](op, j);
    }
}

/* What is added to the gradient of a parameter is read as it comes and written as the gradient lies, without a copy behind it. */
static bool adds_gradient(const struct op *op)
{
    for (int i = 0; i < op->input_count; i++)
        if (op->inputs[i]->op->code == GRAPH_OP_GRADIENT)
            return true;
    return false;
}

static void conv_last(struct graph *graph, int *at, struct op *op)
{
    if (!op->window.channels_last)
        window_last(graph, at, op);
}

/* Far from convolutions planes stay as they are. */
static void pool_last(struct graph *graph, int *at, struct op *op)
{
    if (!op->window.channels_last && (is_channels_first_view(op->inputs[0]) || op->outputs[0]->feeds_conv))
        window_last(graph, at, op);
}

static void map_last(struct graph *graph, int *at, struct op *op)
{
    const struct value *out = op->outputs[0];
    struct op *copy;
    bool moved = false;

    if (out->prepared || adds_gradient(op))
        return;
    for (int i = 0; i < op->input_count; i++)
        moved |= is_channels_first_view(op->inputs[i]) && dims_equal(op->inputs[i], out);
    if (!moved)
        return;
    copy = make_like(graph, op);
    for (int i = 0; i < op->input_count; i++) {
        struct value *input = op->inputs[i];
        const struct dim *dims[MAX_DIMS];
        int missing = out->ndim - input->ndim;

        for (int d = 0; d < out->ndim; d++)
            dims[d] = d < missing ? dim_const(&graph->cx->arena, 1) : input->dims[d - missing];
        copy->inputs[i] = put_last(graph, at,
                                   make_reshape(site_by(graph, at, input->op), input, out->ndim, dims));
    }
    replace_op(graph, at, op, copy);
}

static void concat_last(struct graph *graph, int *at, struct op *op)
{
    struct op *copy;
    int perm[MAX_DIMS];
    bool moved = false;

    for (int i = 0; i < op->input_count; i++)
        moved |= is_channels_first_view(op->inputs[i]);
    if (!moved)
        return;
    copy = make_like(graph, op);
    for (int i = 0; i < op->input_count; i++)
        copy->inputs[i] = put_last(graph, at, op->inputs[i]);
    to_first(op->outputs[0]->ndim, perm);
    copy->concat.axis = perm[op->concat.axis];
    replace_op(graph, at, op, copy);
}

/* Which axes [first, first + count) of `out` axis i of `value` is split into, ones coming and going; false: the reshape
 * joins some. */
static bool find_parts(struct arena *arena, const struct value *value, const struct value *out, int *first,
                       int *count)
{
    int at = 0;

    for (int i = 0; i < value->ndim; i++) {
        const struct dim *size = dim_const(arena, 1);

        first[i] = at;
        if (dim_equals(value->dims[i], 1))
            at += at < out->ndim && dim_equals(out->dims[at], 1);
        else
            while (!dim_equal(size, value->dims[i])) {
                if (at == out->ndim)
                    return false;
                size = dim_mul(arena, size, out->dims[at++]);
            }
        if (i == value->ndim - 1)
            while (at < out->ndim && dim_equals(out->dims[at], 1))
                at++;
        count[i] = at - first[i];
    }
    return at == out->ndim;
}

/* reshape(permute(x)) becomes permute(reshape(x)) where the reshape splits axes. */
static struct value *reshape_below(struct graph *graph, int *at, const struct op *op)
{
    const struct value *turned = op->inputs[0], *out = op->outputs[0];
    const int *perm = turned->op->view.perm;
    const struct dim *dims[MAX_DIMS];
    int first[MAX_DIMS], count[MAX_DIMS], back[MAX_DIMS], n = 0;
    struct value *below;

    if (!find_parts(&graph->cx->arena, turned, out, first, count))
        return NULL;
    for (int axis = 0; axis < turned->ndim; axis++) {
        int i = 0;

        while (perm[i] != axis)
            i++;
        for (int part = first[i]; part < first[i] + count[i]; part++) {
            back[part] = n;
            dims[n++] = out->dims[part];
        }
    }
    below = make_reshape(site_by(graph, at, turned->op->inputs[0]->op), turned->op->inputs[0], n, dims);
    below->image = turned->op->inputs[0]->image;
    return make_permute(site_by(graph, at, below->op), below, back);
}

/* The same for a slice, and for an expand that adds no axes. */
static struct value *part_below(struct graph *graph, int *at, const struct op *op)
{
    struct value *turned = op->inputs[0], *below;
    const int *perm = turned->op->view.perm;
    struct op *copy = make_like(graph, op);
    const struct dim *dims[MAX_DIMS];

    if (op->outputs[0]->ndim != turned->ndim)
        return NULL;
    for (int i = 0; i < turned->ndim; i++)
        dims[perm[i]] = op->outputs[0]->dims[i];
    copy->inputs[0] = turned->op->inputs[0];
    if (op->view.kind == VIEW_SLICE)
        copy->view.axis = perm[op->view.axis];
    below = graph_value(graph, copy, turned->dtype, turned->ndim, dims);
    below->image = turned->op->inputs[0]->image;
    graph_insert(graph, (*at)++, copy);
    return make_permute(site_by(graph, at, below->op), below, perm);
}

/* A permutation moves behind the views of what it shows of a convolutional part, so that it meets the next one. */
static void view_last(struct graph *graph, int *at, struct op *op)
{
    struct value *turned = op->inputs[0], *to = NULL;

    if (turned->op->code != GRAPH_OP_VIEW || turned->op->view.kind != VIEW_PERMUTE ||
        (!turned->op->inputs[0]->image && !is_channels_first_view(turned)))
        return;
    if (op->view.kind == VIEW_PERMUTE)
        to = make_permute(site_by(graph, at, turned->op), turned, op->view.perm);
    else if (op->view.kind == VIEW_RESHAPE)
        to = reshape_below(graph, at, op);
    else if (op->view.kind == VIEW_SLICE || op->view.kind == VIEW_EXPAND)
        to = part_below(graph, at, op);
    if (!to)
        return;
    graph_replace(graph, op->outputs[0], to);
    graph_remove(graph, (*at)--);
}

/* reduce(view of y) becomes reduce(y), so that what makes y can join it as its head. */
static void reduce_last(struct graph *graph, int *at, struct op *op)
{
    struct value *out = op->outputs[0], *made;
    int kept[MAX_DIMS], count = 0, ndim = op->inputs[0]->ndim, perm[MAX_DIMS], back[MAX_DIMS];
    const struct dim *dims[MAX_DIMS];
    struct op *copy;

    if (!is_channels_first_view(op->inputs[0]) || op->head || op->tail || op->reduce.kind == REDUCE_ARGMAX ||
        op->reduce.kind == REDUCE_ARGMIN)
        return;
    to_last(ndim, perm);
    to_first(ndim, back);
    for (int i = 0; i < ndim; i++)
        if (!op->reduce.axes[perm[i]])
            kept[count++] = perm[i];
    for (int i = 1; i < count && !op->reduce.keepdim; i++)
        if (kept[i] < kept[i - 1])
            return; /* the result would be in another order */
    copy = make_like(graph, op);
    copy->inputs[0] = op->inputs[0]->op->inputs[0];
    for (int i = 0; i < ndim; i++) {
        copy->reduce.axes[i] = op->reduce.axes[perm[i]];
        dims[i] = op->reduce.keepdim ? out->dims[perm[i]] : NULL;
    }
    made = graph_value(graph, copy, out->dtype, out->ndim, op->reduce.keepdim ? dims : out->dims);
    value_take_name(made, out);
    made->image = op->reduce.keepdim;
    graph_insert(graph, (*at)++, copy);
    graph_replace(graph, out,
                  op->reduce.keepdim ? make_permute(site_by(graph, at, made->op), made, back) : made);
    graph_remove(graph, (*at)--);
}

/* A vector of columns of which fewer are filled costs more than bringing the axis to the end. */
#define SOFTMAX_COLUMNS 8

/* softmax(view of y) becomes softmax(y). What is no such view is brought in order by copies where its axis is not the last
 * one and what stands behind that is too narrow. */
static void softmax_last(struct graph *graph, int *at, struct op *op)
{
    struct value *x = op->inputs[0];
    int64_t columns = 1;
    int perm[MAX_DIMS];
    struct op *copy;

    for (int i = op->softmax.axis + 1; i < x->ndim; i++)
        columns *= dim_upper(x->dims[i]);

    if (is_channels_first_view(x)) {
        to_first(x->ndim, perm);
        copy = make_like(graph, op);
        copy->softmax.axis = perm[op->softmax.axis];
        copy->inputs[0] = put_last(graph, at, x);
        replace_op(graph, at, op, copy);
    } else if (!softmax_is_last(op) && columns < SOFTMAX_COLUMNS) {
        struct value *made;

        for (int i = 0; i < x->ndim; i++)
            perm[i] = i;
        perm[op->softmax.axis] = x->ndim - 1;
        perm[x->ndim - 1] = op->softmax.axis;
        copy = make_like(graph, op);
        copy->softmax.axis = x->ndim - 1;
        copy->inputs[0] = make_permute(site_by(graph, at, x->op), x, perm);
        made = graph_value(graph, copy, x->dtype, x->ndim, copy->inputs[0]->dims);
        value_take_name(made, op->outputs[0]);
        graph_insert(graph, (*at)++, copy);
        graph_replace(graph, op->outputs[0], make_permute(site_by(graph, at, made->op), made, perm));
        graph_remove(graph, (*at)--);
    }
}

/* linear(flatten(x)) with x a view of channels-last y: linear(flatten(y)) with the weight's rows in y's order. Behind Dropout and
 * between hooks x is no such view, and the weight is read as it is: where each is packed once, x is turned instead. */
static void flatten_last(struct graph *graph, int *at, struct op *op)
{
    struct value *flat = op->inputs[0], *weight = op->inputs[1], *image, *last;
    const struct dim *dims[MAX_DIMS], *rows[2], *count;
    int perm[MAX_DIMS];

    if (flat->op->code != GRAPH_OP_VIEW || flat->op->view.kind != VIEW_RESHAPE || flat->ndim != 2 ||
        weight->ndim != 2 || !value_is_static(graph, weight) || graph->program->settings.packs_once)
        return;
    if (op_storage(graph, op) && op_storage(graph, op)->group > 0)
        return; /* weights that share a scale are neighbours in the spec's order */
    image = flat->op->inputs[0];
    if (!is_channels_first_view(image) || !dim_equal(image->dims[0], flat->dims[0]))
        return;
    last = image->op->inputs[0];
    count = flat->dims[1];
    rows[0] = flat->dims[0];
    rows[1] = count;
    graph_input(graph, op, 0, make_reshape(site_by(graph, at, last->op), last, 2, rows));
    for (int i = 0; i < image->ndim - 1; i++) {
        dims[i] = image->dims[1 + i];
        perm[i] = (i + 1) % (image->ndim - 1);
    }
    dims[image->ndim - 1] = weight->dims[1];
    perm[image->ndim - 1] = image->ndim - 1;
    weight = make_reshape(site_by(graph, at, weight->op), weight, image->ndim, dims); /* (c, h, w, n) */
    weight = make_permute(site_by(graph, at, weight->op), weight, perm);
    rows[0] = count;
    rows[1] = dims[image->ndim - 1];
    graph_input(graph, op, 1, make_reshape(site_by(graph, at, weight->op), weight, 2, rows));
}

/* ---- borders of regions ----------------------------------------------------------------------------------- */

/* What a region is given comes channels-last: its callers bring it so. Behind op `at` - 1 it is seen in PyTorch's order. */
static void bring_last(struct graph *graph, int *at, struct value *value)
{
    const struct dim *dims[MAX_DIMS];
    struct value *first;
    int perm[MAX_DIMS];

    value->image = true;
    dims_last(value, dims);
    memcpy(value->dims, dims, (size_t)value->ndim * sizeof *dims);
    to_first(value->ndim, perm);
    first = make_permute(site_by(graph, at, value->op), value, perm);
    graph_replace(graph, value, first);
    graph_input(graph, first->op, 0, value);
}

/* Inputs of a region that convolutions read. */
static void inputs_last(struct graph *graph)
{
    for (int i = 0; i < graph->input_count; i++) {
        struct value *input = graph->inputs[i];
        int at = 0;

        if (input->ndim != 4 || !input->feeds_conv)
            continue;
        while (graph->ops[at++] != input->op)
            ;
        graph->inputs_last[i] = true;
        bring_last(graph, &at, input);
    }
}

/* Outputs [first, end) of a region that are views of channels-last values are those values: its callers view them. */
static void outputs_last(struct graph *graph, int first, int end)
{
    for (int i = first; i < end; i++) {
        struct value *output = graph->outputs[i];

        graph->outputs_last[i] = output->ndim == 4 && is_channels_first_view(output) &&
                                 (i < graph->result_count || !graph->gradient_of[i - graph->result_count]);
        if (graph->outputs_last[i])
            graph_output(graph, i, output->op->inputs[0]);
    }
}

/* The gradients of such results come channels-last too. */
static void yield_last(struct graph *graph, int *at, struct op *yield)
{
    int behind = *at + 1, before = 0;

    if (!graph->region)
        return;
    outputs_last(graph, 0, graph->result_count);
    for (int i = 0; i < graph->result_count; i++) {
        struct value *gradient = graph->region->given[i] ? yield->outputs[before++] : NULL;

        if (gradient && graph->outputs_last[i])
            bring_last(graph, &behind, gradient);
    }
}

static bool has_last(const struct op *call)
{
    for (int i = 0; i < call->input_count; i++)
        if (input_is_last(call, i))
            return true;
    for (int i = 0; i < call->output_count; i++)
        if (output_is_last(call, i))
            return true;
    return false;
}

/* A call of a region whose borders are channels-last. */
static void call_last(struct graph *graph, int *at, struct op *op)
{
    struct op *copy;

    if (!has_last(op))
        return;
    copy = make_like(graph, op);
    for (int i = 0; i < op->input_count; i++)
        if (input_is_last(op, i))
            copy->inputs[i] = put_last(graph, at, op->inputs[i]);
    for (int i = 0; i < op->output_count; i++) {
        const struct value *old = op->outputs[i];
        const struct dim *dims[MAX_DIMS];
        const bool last = output_is_last(op, i);

        if (last)
            dims_last(old, dims);
        graph_value(graph, copy, old->dtype, old->ndim, last ? dims : old->dims);
        value_take_name(copy->outputs[i], old);
        copy->outputs[i]->image = last;
    }
    graph_insert(graph, (*at)++, copy);
    for (int i = 0; i < op->output_count; i++) {
        struct value *own = copy->outputs[i];
        int perm[MAX_DIMS];

        to_first(own->ndim, perm);
        graph_replace(graph, op->outputs[i],
                      output_is_last(op, i) ? make_permute(site_by(graph, at, own->op), own, perm) : own);
    }
    graph_remove(graph, (*at)--);
}

/* What each op does about the order of its operands; NULL: it reads PyTorch's. */
static void (*const movers[GRAPH_OP_COUNT])(struct graph *graph, int *at, struct op *op) = {
    [GRAPH_OP_CONV] = conv_last,       [GRAPH_OP_POOL] = pool_last,        [GRAPH_OP_MAP] = map_last,
    [GRAPH_OP_CONCAT] = concat_last,   [GRAPH_OP_VIEW] = view_last,        [GRAPH_OP_REDUCE] = reduce_last,
    [GRAPH_OP_SOFTMAX] = softmax_last, [GRAPH_OP_CONTRACT] = flatten_last, [GRAPH_OP_CALL] = call_last,
    [GRAPH_OP_YIELD] = yield_last,
};

void pass_layout(struct graph *graph)
{
    struct graph_walk walk;
    struct op *op;

    if (graph->inputs_last) /* a caller's pass was here */
        return;
    graph->inputs_last = ARENA_ARRAY(&graph->cx->arena, graph->input_count + 1, bool);
    graph->outputs_last = ARENA_ARRAY(&graph->cx->arena, graph->output_count + 1, bool);
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL)
            pass_layout(graph->ops[i]->invoke.region->graph);
    find_feeds(graph);
    if (graph->region)
        inputs_last(graph);
    graph_walk(graph, &walk);
    while ((op = graph_next(graph, &walk)) != NULL) {
        int at = graph->op_count - 1;

        if (movers[op->code])
            movers[op->code](graph, &at, op);
    }
    if (graph->region) /* the results of one with backward at its YIELD */
        outputs_last(graph, graph->region->given ? graph->result_count : 0, graph->output_count);
}
