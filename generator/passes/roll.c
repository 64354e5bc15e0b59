/* roll.c - a run of calls of one region, each on what the call before it gave, becomes one op with a count: a loop over
 * the instances of an `N x Call` list. */
#include "passes/pass.h"

static bool follows(const struct op *first, const struct op *last, const struct op *next)
{
    const struct module *a = last->invoke.instance, *b = next->invoke.instance;

    if (next->code != GRAPH_OP_CALL || next->invoke.region != first->invoke.region || !a->array ||
        !b->array || a->parent != b->parent || b->index != a->index + a->subtree + 1 ||
        next->output_count != 1 || next->input_count < 1 || next->inputs[0] != last->outputs[0] ||
        graph_uses(last->outputs[0]) != 1 || !dims_equal(next->inputs[0], next->outputs[0]) ||
        next->inputs[0]->dtype != next->outputs[0]->dtype)
        return false;
    for (int i = 1; i < next->input_count; i++)
        if (next->inputs[i] != first->inputs[i] || next->inputs[i] == first->inputs[0])
            return false;
    return true;
}

void pass_roll(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *first = graph->ops[i];

        if (first->code != GRAPH_OP_CALL)
            continue;

        struct op *last = first;

        while (i + 1 < graph->op_count && graph->ops[i + 1]->code == GRAPH_OP_CALL &&
               follows(first, last, graph->ops[i + 1])) {
            last = graph->ops[i + 1];
            first->invoke.count++;
            graph_remove(graph, i + 1);
        }
        if (last != first) {
            first->outputs[0] = last->outputs[0];
            first->outputs[0]->op = first;
        }
    }
}
