/* split.c - takes what MODEL_pack runs out of the graph: prepared maps, with the tensors and views that they read. */
#include "passes/pass.h"

void pass_split(struct graph *graph)
{
    struct arena *arena = &graph->cx->arena;
    int kept = 0;

    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        bool source = op->code == GRAPH_OP_TENSOR || op->code == GRAPH_OP_CONST || op->code == GRAPH_OP_VIEW;

        if (op->output_count == 1 &&
            (op->outputs[0]->prepared || (source && value_is_static(graph, op->outputs[0]))))
            ARENA_PUSH(arena, graph->pack_ops, graph->pack_count, op);
        else
            graph->ops[kept++] = op;
    }
    graph->op_count = kept;
}
