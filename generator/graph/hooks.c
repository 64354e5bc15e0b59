/* hooks.c - where hooks may write. Apart from graph.c, because this is what a boundary means, not how graphs are edited. */
#include <limits.h>

#include "graph/graph.h"

bool value_is_lent(struct value *value)
{
    const struct value *root = value_root(value);

    return op_rows[root->op->code]->lent || root->prepared;
}

/* Through views, and boundaries in front of which nothing is copied. */
static struct value *memory_root(struct value *value)
{
    for (value = value_root(value); value->op->code == GRAPH_OP_FENCE;) {
        struct value *given = value->op->inputs[value->result];

        if (value_is_lent(given))
            break;
        value = value_root(given);
    }
    return value;
}

/* The first boundary behind `from` that lets hooks write where the value lies: through views, and boundaries. */
static int next_hook(const struct graph *graph, const struct value *value, int from)
{
    int first = INT_MAX;

    for (int u = 0; u < value->user_count; u++) {
        const struct op *op = value->users[u];
        bool fence = op->code == GRAPH_OP_FENCE;

        for (int j = 0; (fence || op->code == GRAPH_OP_VIEW) && j < op->input_count; j++) {
            int at = fence && j >= op->fence.seen ? graph_position(graph, op) : -1;

            if (op->inputs[j] != value)
                continue;
            if (at <= from)
                at = next_hook(graph, op->outputs[j], from);
            first = at < first ? at : first;
        }
    }
    return first;
}

int graph_next_hook(const struct graph *graph, struct value *value, int from)
{
    value = memory_root(value);
    return graph->fenced && !value_is_lent(value) ? next_hook(graph, value, from) : INT_MAX;
}
