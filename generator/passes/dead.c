/* dead.c - removes what nothing uses. Apart, because every pass may leave such ops behind. */
#include "passes/pass.h"

/* It does something beside its results, itself or in a region that it calls: which part does what is not asked. */
static bool has_effects(const struct op *op)
{
    const struct graph *region;

    switch (op->code) {
    case GRAPH_OP_WRITE:
    case GRAPH_OP_FENCE:
    case GRAPH_OP_CHECK:
    case GRAPH_OP_UPDATE:
    case GRAPH_OP_GRADIENT:
        return true;
    case GRAPH_OP_CALL:
        region = op->invoke.region->graph;
        for (int i = 0; i < region->op_count; i++)
            if (has_effects(region->ops[i]))
                return true;
        return false;
    default:
        return false;
    }
}

/* Inputs stay, since the caller passes them; YIELD and COMMIT part calls. */
static bool is_needed(const struct op *op, const bool *used)
{
    if (op->code == GRAPH_OP_INPUT || op->code == GRAPH_OP_YIELD || op->code == GRAPH_OP_COMMIT ||
        (op->code != GRAPH_OP_GRADIENT && op->code != GRAPH_OP_UPDATE && has_effects(op)))
        return true;
    for (int i = 0; i < op->output_count; i++)
        if (used[op->outputs[i]->id])
            return true;
    return false;
}

void pass_dead(struct graph *graph)
{
    bool *used = ARENA_ARRAY(&graph->cx->arena, graph->value_count + 1, bool);
    int kept;

    for (int i = 0; i < graph->output_count; i++)
        used[graph->outputs[i]->id] = true;
    for (int i = 0; i < graph->unread_count; i++)
        used[graph->unread[i]->id] = true;
    for (int i = graph->op_count - 1; i >= 0; i--) {
        struct op *op = graph->ops[i];

        if (!is_needed(op, used)) {
            graph->ops[i] = NULL;
            continue;
        }
        for (int j = 0; j < op->input_count; j++)
            used[op->inputs[j]->id] = true;
    }
    kept = 0;
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i])
            graph->ops[kept++] = graph->ops[i];
    graph->op_count = kept;
}
