/* regions.c - of a region's inputs and results its second part gets those that it reads. Apart from backward.c, which has
 * to say all of them, because only what the passes between have made of a region shows it. */
#include "passes/pass.h"
#include "passes/toolkit.h"

/* By input, then by result: whether it is read behind the YIELD. */
static bool *find_reads(const struct graph *graph)
{
    bool *reads = ARENA_ARRAY(&graph->cx->arena, graph->input_count + graph->result_count + 1, bool);
    bool behind = false;

    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];

        for (int j = 0; j < op->input_count && behind; j++) {
            const struct value *root = value_root(op->inputs[j]);

            if (root->op->code == GRAPH_OP_INPUT)
                reads[root->op->input.index] = true;
            for (int k = 0; k < graph->result_count; k++)
                reads[graph->input_count + k] |= value_root(graph->outputs[k]) == root;
        }
        behind |= op->code == GRAPH_OP_YIELD;
    }
    return reads;
}

static void drop_unread(struct graph *graph, struct op *op)
{
    const struct graph *region = op->invoke.region->graph;
    const bool *reads = find_reads(region);
    const int asked = region->input_count + region->result_count, first = op->input_count - asked;
    struct value **inputs = ARENA_ARRAY(&graph->cx->arena, op->input_count + 1, struct value *);
    int count = 0;

    for (int i = 0; i < op->input_count; i++)
        if (i < first || reads[i - first])
            inputs[count++] = op->inputs[i];
    op->invoke.reads = reads;
    graph_inputs(graph, op, inputs, count);
    op->tail_first = count;
}

void pass_regions(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL && graph->ops[i]->invoke.part == CALL_BACKWARD)
            drop_unread(graph, graph->ops[i]);
}
