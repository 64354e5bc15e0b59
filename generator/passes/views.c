/* views.c - shortens chains of views: permutations of permutations, reshapes of reshapes, and views that change
 * nothing; maps move in front of views and joins to what makes their operands. Apart from layout, since user code makes such chains too. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* The input that the view may read instead, or NULL. */
static struct value *shorter(struct graph *graph, int *at, struct op *op)
{
    struct value *input = op->inputs[0], *out = op->outputs[0];
    struct op *inner = input->op;

    if (op->view.kind == VIEW_PERMUTE) {
        bool same = true;

        for (int i = 0; i < out->ndim; i++)
            same &= op->view.perm[i] == i;
        if (same)
            return input;
    } else if (op->view.kind != VIEW_SLICE && dims_equal(input, out)) {
        return input;
    }
    if (inner->code != GRAPH_OP_VIEW || inner->view.kind != op->view.kind)
        return NULL;
    if (op->view.kind == VIEW_PERMUTE)
        return make_permute(site_by(graph, at, input->op), input, op->view.perm);
    if (op->view.kind == VIEW_RESHAPE)
        return make_reshape(site_by(graph, at, inner->inputs[0]->op), inner->inputs[0], out->ndim, out->dims);
    return NULL;
}

/* The same dims but for ones. */
static bool differs_by_ones(const struct value *a, const struct value *b)
{
    int i = 0, j = 0;

    while (i < a->ndim || j < b->ndim) {
        if (i < a->ndim && j < b->ndim && dim_equal(a->dims[i], b->dims[j]))
            i++, j++;
        else if (i < a->ndim && dim_equals(a->dims[i], 1))
            i++;
        else if (j < b->ndim && dim_equals(b->dims[j], 1))
            j++;
        else
            return false;
    }
    return true;
}

static bool is_reshape(const struct value *value)
{
    return value->op->code == GRAPH_OP_VIEW && value->op->view.kind == VIEW_RESHAPE;
}

/* It is there when the call starts: a map joins nothing in front of it. A gradient that is added to is, but takes the map's dims. */
static bool is_brought(const struct op *op)
{
    return op_rows[op->code]->source && !op_rows[op->code]->acts;
}

static bool may_join(const struct value *value)
{
    return value->op->code != GRAPH_OP_VIEW || value->op->view.kind == VIEW_PERMUTE;
}

/* map(reshape(x)) becomes reshape(map(x)), so that the map can join what makes x, or make the copy that the reshape of a
 * permutation may need: where only ones come or go, or where all that it reads was reshaped alike. */
static bool sink_reshape(struct graph *graph, int *at, struct op *map)
{
    struct value *out = map->outputs[0], *inner = NULL, *made;
    struct op *copy;

    for (int i = 0; i < map->input_count; i++) {
        struct value *input = map->inputs[i];

        if (is_reshape(input) && dims_equal(input, out) && may_join(input->op->inputs[0]))
            inner = input->op->inputs[0];
        else if (!dims_equal(input, out) && input->ndim > 0)
            return false;
    }
    if (!inner || out->prepared || is_brought(inner->op))
        return false;
    for (int i = 0; i < map->input_count && !differs_by_ones(inner, out); i++)
        if (map->inputs[i]->ndim > 0 &&
            !(is_reshape(map->inputs[i]) && dims_equal(map->inputs[i]->op->inputs[0], inner)))
            return false;
    copy = make_like(graph, map);
    for (int i = 0; i < copy->input_count; i++)
        if (copy->inputs[i]->ndim > 0)
            copy->inputs[i] = make_reshape(site_by(graph, at, copy->inputs[i]->op), copy->inputs[i],
                                           inner->ndim, inner->dims);
    made = graph_value(graph, copy, out->dtype, inner->ndim, inner->dims);
    value_take_name(made, out);
    graph_insert(graph, (*at)++, copy);
    graph_replace(graph, out, make_reshape(site_by(graph, at, made->op), made, out->ndim, out->dims));
    graph_remove(graph, (*at)--);
    return true;
}

/* A map of the value can join what makes it, through views and joins, all of which nothing else reads. */
static bool makes_tail(const struct value *value)
{
    const struct op *op = value->op;

    if (graph_uses(value) != 1 || value->prepared)
        return false;
    if (op->code == GRAPH_OP_CONCAT) {
        for (int i = 0; i < op->input_count; i++)
            if (!makes_tail(op->inputs[i]))
                return false;
        return true;
    }
    if (op->code == GRAPH_OP_VIEW)
        return op->view.kind == VIEW_RESHAPE && makes_tail(op->inputs[0]);
    return op_rows[op->code]->weighted;
}

/* map(concat(x, ...)) becomes concat(map(x), ...) where each of them can join what makes its x: the phases of a transposed
 * convolution, say. */
static bool split_map(struct graph *graph, int *at, struct op *map)
{
    struct value *out = map->outputs[0], *made, *joined = NULL;
    struct op *concat, *copy;

    for (int i = 0; i < map->input_count; i++) {
        if (map->inputs[i]->ndim == 0)
            continue;
        if (joined || map->inputs[i]->op->code != GRAPH_OP_CONCAT)
            return false;
        joined = map->inputs[i];
    }
    if (!joined || graph->fenced || out->prepared || out->dtype != joined->dtype || !makes_tail(joined))
        return false;
    concat = make_like(graph, joined->op);
    for (int i = 0; i < concat->input_count; i++) {
        const struct value *part = concat->inputs[i];

        copy = make_like(graph, map);
        for (int j = 0; j < copy->input_count; j++)
            if (copy->inputs[j] == joined)
                copy->inputs[j] = concat->inputs[i];
        made = graph_value(graph, copy, out->dtype, part->ndim, part->dims);
        graph_insert(graph, (*at)++, copy);
        concat->inputs[i] = made;
    }
    made = graph_value(graph, concat, out->dtype, out->ndim, out->dims);
    value_take_name(made, out);
    graph_insert(graph, (*at)++, concat);
    graph_replace(graph, out, made);
    graph_remove(graph, (*at)--);
    graph_remove(graph, graph_position(graph, joined->op)); /* else it would read its inputs, too */
    (*at)--;
    return true;
}

static void shorten_all(struct graph *graph)
{
    struct graph_walk walk;
    struct op *op;

    graph_walk(graph, &walk);
    while ((op = graph_next(graph, &walk))) {
        int at = graph->op_count - 1;
        struct value *to;

        if (op->code == GRAPH_OP_VIEW && (to = shorter(graph, &at, op))) {
            graph_replace(graph, op->outputs[0], to);
            graph_remove(graph, at);
        } else if (op->code == GRAPH_OP_MAP) {
            sink_reshape(graph, &at, op);
        }
    }
    graph_sweep_unused(graph);
}

/* Whether a map became several: each may move on. */
static bool split_maps(struct graph *graph)
{
    bool moved = false;

    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_MAP)
            moved |= split_map(graph, &i, graph->ops[i]);
    return moved;
}

void pass_views(struct graph *graph)
{
    do
        shorten_all(graph);
    while (split_maps(graph));
}
