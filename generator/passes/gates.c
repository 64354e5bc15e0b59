/* gates.c - the product of a recurrent layer's input becomes part of the layer, where a step has one row and so waits for the
 * weights of its state: what the input adds to the gates of later steps is made beside. See templates/c/recurrent.c. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* The product that makes what adds to the gates, with a single reader; through a view that only moves axes of one element. */
static struct op *find_product(struct graph *graph, const struct op *op)
{
    const struct value *gates = op->inputs[RECURRENT_GATES];
    const struct op *view = gates->op;
    struct op *product;

    if (view->code == GRAPH_OP_VIEW && view->view.kind == VIEW_PERMUTE && view->view.perm[2] == 2) {
        if (graph_uses(gates) != 1)
            return NULL;
        gates = view->inputs[0];
    }
    product = gates->op;
    if (product->code != GRAPH_OP_CONTRACT || product->tail || gates->ndim != 3 || graph_uses(gates) != 1 ||
        !pass_may_join(graph, product, op) ||
        pass_write_between(graph, product, graph_position(graph, product), graph_position(graph, op)))
        return NULL;
    return product;
}

/* A layer whose weights are all packed, in whole tiles of units, over so many steps that some are ahead of others. */
static bool is_layer(struct graph *graph, const struct op *op)
{
    static const enum recurrent_input others[] = {RECURRENT_PROJECTION, RECURRENT_LENGTHS,
                                                  RECURRENT_INPUT_WEIGHT};
    const struct settings *settings = &graph->program->settings;
    const struct value *gates = op->inputs[RECURRENT_GATES];
    int64_t steps, units;
    bool alone = op->recurrent.kind == RECURRENT_LSTM || op->recurrent.kind == RECURRENT_GRU;

    for (int i = 0; i < 3; i++)
        alone &= !op->recurrent.has[others[i]];
    return alone && !op->recurrent.saves && settings->threads < 2 && !graph->program->tree->narrow &&
           dim_equals(gates->dims[1], 1) && dim_is_const(gates->dims[0], &steps) && steps >= 16 &&
           dim_is_const(op->inputs[RECURRENT_WEIGHT]->dims[1], &units) &&
           units % (2 * backend_lanes(settings->backend, gates->dtype)) == 0;
}

static void join(struct graph *graph, int *at, const struct op *product)
{
    struct op *op = graph->ops[*at], *joined;
    const struct value *gates = op->inputs[RECURRENT_GATES];
    struct value *x = product->inputs[0];
    const struct dim *dims[3] = {gates->dims[0], gates->dims[1], x->dims[2]};

    if (gates->op != product)
        x = make_reshape(site_by(graph, at, x->op), x, 3, dims);
    joined = make_like(graph, op);
    joined->inputs = ARENA_ARRAY(&graph->cx->arena, op->input_count + 2, struct value *);
    joined->inputs[0] = x;
    for (int i = 1; i < op->input_count; i++)
        joined->inputs[i] = op->inputs[i];
    joined->inputs[joined->input_count++] = product->inputs[1];
    joined->recurrent.has[RECURRENT_INPUT_WEIGHT] = true;
    if (product->contract.bias) {
        joined->inputs[joined->input_count++] = product->inputs[2];
        joined->recurrent.has[RECURRENT_INPUT_BIAS] = true;
    }
    joined->outputs = op->outputs;
    joined->output_count = op->output_count;
    joined->tail_first = joined->input_count;
    for (int i = 0; i < joined->output_count; i++)
        joined->outputs[i]->op = joined;
    graph_put(graph, *at, joined);
}

void pass_gates(struct graph *graph)
{
    const char *wish = op_forced(graph->cx, GRAPH_OP_RECURRENT);

    if ((wish && strcmp(wish, "recurrent_ahead") != 0) || !graph->program->settings.backend->vectors)
        return;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i], *product;

        if (op->code != GRAPH_OP_RECURRENT || !is_layer(graph, op) || !op_is_packed(graph, op))
            continue;
        product = find_product(graph, op);
        if (product && op_is_packed(graph, product) && product->inputs[1]->ndim == 2 &&
            dim_upper(product->inputs[1]->dims[0]) <= dim_upper(op->inputs[RECURRENT_WEIGHT]->dims[1]))
            join(graph, &i, product);
    }
    graph_sweep_unused(graph);
}
