/* keep.c - what forward keeps for backward, and backward does not read since it is made again there, is not kept. Apart from
 * backward.c, because it looks at regions that several graphs call. */
#include "passes/pass.h"
#include "passes/toolkit.h"

/* The block of a region's parts, or what a recurrent layer saves: the last result. */
static bool last_is_unread(const struct op *op)
{
    return graph_uses(op->outputs[op->output_count - 1]) == 0;
}

void pass_keep(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (op->code == GRAPH_OP_RECURRENT && op->recurrent.saves && last_is_unread(op)) {
            op->recurrent.saves = false;
            op->output_count--;
        }
        if (op->code == GRAPH_OP_CALL && op->invoke.part == CALL_FORWARD && last_is_unread(op)) {
            op->invoke.region = op->invoke.region->plain;
            op->invoke.part = CALL_WHOLE;
            op->output_count--;
        }
    }
}
