/* dead.c - removes what nothing uses. Apart, because every pass may leave such ops behind. */
#include "graph/graph.h"

/* It does something beside its results, itself or in a region that it calls: which part does what is not asked. */
static bool has_effects(const struct op *op)
{
    const struct graph *region = op->code == GRAPH_OP_CALL ? op->invoke.region->graph : NULL;

    for (int i = 0; region && i < region->op_count; i++)
        if (has_effects(region->ops[i]))
            return true;
    return op_rows[op->code]->acts;
}

static bool stays(const struct op *op)
{
    return op_rows[op->code]->stays || (op->code == GRAPH_OP_CALL && has_effects(op));
}

void graph_sweep_unused(struct graph *graph)
{
    bool *used, *kept, calls = false;

    if (graph->swept)
        return;
    used = ARENA_ARRAY(&graph->cx->arena, graph->value_count + 1, bool);
    kept = ARENA_ARRAY(&graph->cx->arena, graph->op_count + 1, bool);
    for (int i = 0; i < graph->output_count; i++)
        used[graph->outputs[i]->id] = true;
    for (int i = 0; i < graph->unread_count; i++)
        used[graph->unread[i]->id] = true;
    for (int i = graph->op_count - 1; i >= 0; i--) {
        const struct op *op = graph->ops[i];

        if (!op->placed) /* retired */
            continue;
        kept[i] = stays(op);
        calls |= op->code == GRAPH_OP_CALL;
        for (int j = 0; j < op->output_count; j++)
            kept[i] |= used[op->outputs[j]->id];
        for (int j = 0; kept[i] && j < op->input_count; j++)
            used[op->inputs[j]->id] = true;
    }
    graph_sweep(graph, kept, NULL, NULL);
    graph->swept = !calls; /* what they do may change with their regions */
}

static bool is_needed(const struct graph *graph, const struct op *op)
{
    if (stays(op))
        return true;
    for (int i = 0; i < op->output_count; i++) {
        if (graph_uses(op->outputs[i]) > 0)
            return true;
        for (int j = 0; j < graph->unread_count; j++)
            if (graph->unread[j] == op->outputs[i])
                return true;
    }
    return false;
}

static void drop(struct graph *graph, struct op *op, bool later)
{
    if (!op->placed || is_needed(graph, op))
        return;
    if (later)
        graph_retire(graph, op);
    else
        graph_remove(graph, graph_position(graph, op));
    for (int i = 0; i < op->input_count; i++)
        drop(graph, op->inputs[i]->op, later);
}

void graph_drop(struct graph *graph, struct op *op)
{
    drop(graph, op, false);
}

void graph_drop_later(struct graph *graph, struct op *op)
{
    drop(graph, op, true);
}
