/* split.c - takes what MODEL_pack runs out of the graph: prepared maps, with the tensors and views that they read. */
#include "passes/pass.h"
#include "passes/toolkit.h"

void pass_split(struct graph *graph)
{
    bool *kept = ARENA_ARRAY(&graph->cx->arena, graph->op_count + 1, bool);

    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];

        kept[i] = op->output_count != 1 ||
                  (!op->outputs[0]->prepared && !(!op_is_step(op) && value_is_static(graph, op->outputs[0])));
    }
    graph_sweep(graph, kept, &graph->pack_ops, &graph->pack_count);
}
