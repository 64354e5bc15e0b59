/* attention.c - softmax(q . k) . v, of which no more than some rows of scores are ever there. */
#include "ops/rows.h"

/* Shapes are those of the two products that it is made of. */
const char *attention_infer(struct cx *cx, struct op *op)
{
    struct value scores = {.dtype = op->inputs[0]->dtype}, y = scores, *made[] = {&scores, &y};
    struct value *operands[] = {&scores, op->inputs[2]};
    struct op product = {.code = GRAPH_OP_CONTRACT,
                         .inputs = op->inputs,
                         .input_count = 2,
                         .tail_first = 2,
                         .outputs = made,
                         .output_count = 1,
                         .label = op->label};
    const char *fault = contract_infer(cx, &product);

    if (fault)
        return fault;
    product.inputs = operands;
    product.outputs = made + 1;
    fault = contract_infer(cx, &product);
    return fault ? fault : set_output(cx, op, y.dtype, y.ndim, y.dims);
}

double attention_macs(const struct op *op)
{
    const struct value *q = op->inputs[0], *v = op->inputs[2], *y = op->outputs[0];
    double keys = (double)dim_upper(v->dims[v->ndim - 2]), rows = dims_upper(y->ndim - 1, y->dims);

    return rows * keys * (double)(dim_upper(q->dims[q->ndim - 1]) + dim_upper(y->dims[y->ndim - 1]));
}
