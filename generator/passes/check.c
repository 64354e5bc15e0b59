/* check.c - brings checks to the front of a graph, with what they depend on, so that a call that fails has written no
 * output yet. Writes may come along: the plan lets those before a check work in a copy (struct variant's shadows). A check
 * that depends on a hook, a region or random numbers stays behind it. */
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

static bool may_move(const struct op *op)
{
    return op_rows[op->code]->source || op->code == GRAPH_OP_WRITE || op_rows[op->code]->pure;
}

/* Marks what op `at` depends on. False: something of that has to stay. */
static bool mark(const struct graph *graph, int at, bool *needed)
{
    const struct op *op = graph->ops[at];

    needed[at] = true;
    for (int i = 0; i < op->input_count; i++) {
        const struct op *maker = op->inputs[i]->op;
        int from = graph_position(graph, maker);

        if (!may_move(maker) || (!needed[from] && !mark(graph, from, needed)))
            return false;
    }
    return true;
}

/* What stays behind reads no slot as it was before a write that would overtake it. */
static bool overtakes(const struct graph *graph, int first, int last, const bool *needed)
{
    for (int w = first; w < last; w++) {
        if (!needed[w] || graph->ops[w]->code != GRAPH_OP_WRITE)
            continue;
        for (int i = first; i < w; i++)
            for (int j = 0; !needed[i] && j < graph->ops[i]->input_count; j++)
                if (value_root(graph->ops[i]->inputs[j]) == graph->ops[w]->inputs[0])
                    return true;
    }
    return false;
}

void pass_check(struct graph *graph)
{
    bool *needed = ARENA_ARRAY(&graph->cx->arena, graph->op_count + 1, bool);
    int front = 0; /* ops before it stay */

    for (int i = 0; i < graph->op_count; i++) {
        if (graph->ops[i]->code != GRAPH_OP_CHECK)
            continue;
        memset(needed, 0, (size_t)graph->op_count * sizeof *needed);
        if (!mark(graph, i, needed) || overtakes(graph, front, i, needed))
            continue;
        for (int j = front; j <= i; j++) {
            if (needed[j])
                graph_move(graph, j, front++);
        }
    }
}
