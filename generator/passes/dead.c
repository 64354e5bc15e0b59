/* dead.c - removes what nothing uses. Apart, because every pass may leave such ops behind. */
#include "passes/pass.h"

/* Inputs stay, since the caller passes them; writes, boundaries and checks have effects, and a YIELD parts two calls. */
static bool is_needed(const struct op *op, const bool *used)
{
    if (op->code == GRAPH_OP_INPUT || op->code == GRAPH_OP_WRITE || op->code == GRAPH_OP_FENCE ||
        op->code == GRAPH_OP_CHECK || op->code == GRAPH_OP_YIELD)
        return true;
    if (op->code == GRAPH_OP_CALL) { /* a region may write buffers or state */
        const struct graph *region = op->invoke.region->graph;

        for (int i = 0; i < region->op_count; i++)
            if (region->ops[i]->code == GRAPH_OP_WRITE || region->ops[i]->code == GRAPH_OP_CALL)
                return true;
    }
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
