/* attention.c - softmax(q . k) . v, of which no more than some rows of scores are ever there. */
#include "base/text.h"
#include "ops/rows.h"

/* Shapes are those of the two products that it is made of. */
static const char *attention_infer(struct cx *cx, struct op *op)
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

static double attention_macs(const struct op *op)
{
    const struct value *q = op->inputs[0], *v = op->inputs[2], *y = op->outputs[0];
    double keys = (double)dim_upper(v->dims[v->ndim - 2]), rows = dims_upper(y->ndim - 1, y->dims);

    return rows * keys * (double)(dim_upper(q->dims[q->ndim - 1]) + dim_upper(y->dims[y->ndim - 1]));
}

/* A score is weighed by exp. */
static void attention_work(const struct op *op, struct op_work *work)
{
    const struct value *k = op->inputs[1], *y = op->outputs[0];

    work->macs = attention_macs(op);
    work->functions = (double)dim_upper(k->dims[k->ndim - 1]) * dims_upper(y->ndim - 1, y->dims);
}

static const char *attention_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->tail_first >= 3 && op->inputs[0]->ndim >= 2 && op->inputs[2]->ndim >= 2
               ? NULL
               : "it has not the operands of two products";
}

/* Operands of its tails are read from where a row of a head starts. */
static enum op_accepts attention_accepts(const struct op *op, int input)
{
    (void)op;
    return input < 3 ? ACCEPT_ANY : ACCEPT_REPEATED;
}

static void attention_dump(struct text *text, const struct op *op)
{
    text_add(text, op->attention.safe ? " safe" : "");
    if (op->attention.causal)
        text_printf(text, " causal, %lld ahead", (long long)op->attention.ahead);
}

const struct op_row op_row_attention = {
    .name = "attention",
    .broken = attention_broken,
    .infer = attention_infer,
    .accepts = attention_accepts,
    .macs = attention_macs,
    .dump = attention_dump,
    .tail = TAIL_OWN,
    .between = true,
    .pure = true,
    .work = attention_work,
    .tiled = true,
};
