/* lookup.c - embeddings whose table is packed in fewer bits are looked up where it is packed: a table that is tied to a product's
 * weight lies there once, and one that a pattern of `storage` names takes as few bytes as that says. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

/* The parameter is read by rows, and no operand of anything else that would need it as it is. */
static bool is_packed_table(const struct graph *graph, const struct op *op)
{
    struct value *table = op->inputs[0];
    const struct module_tensor *tensor;

    if (op->gather.axis != 0 || op->gather.along || table->ndim != 2 || !dtype_is_int(op->inputs[1]->dtype) ||
        table->op->code != GRAPH_OP_TENSOR || table->dtype != DTYPE_FLOAT32 ||
        !value_is_static(graph, table) || dim_equals(table->dims[0], 0) || dim_equals(table->dims[1], 0))
        return false;
    tensor = table->op->tensor.tensor;
    return tensor->kind == MODULE_PARAMETER && tensor->storage && tensor->stored;
}

void pass_lookup(struct graph *graph)
{
    static const int turn[] = {1, 0};

    if (!graph->program->tree->narrow || !graph->program->settings.pack)
        return;
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        struct value *index, *turned;
        int at = i;

        if (op->code != GRAPH_OP_GATHER || !is_packed_table(graph, op))
            continue;
        index = op->inputs[1];
        turned = make_permute(site_by(graph, &at, op), op->inputs[0], turn);
        op->code = GRAPH_OP_LOOKUP;
        graph_input(graph, op, 0, index);
        graph_input(graph, op, 1, turned);
        i = graph_position(graph, op);
    }
}
