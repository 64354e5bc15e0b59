/* source.c - ops that bring values into a graph: inputs, tensors, constants, random numbers, gradients of before. */
#include "base/text.h"
#include "ops/rows.h"
#include "tree/tree.h"

/* The maker has set the output. */
static const char *given_infer(struct cx *cx, struct op *op)
{
    (void)cx, (void)op;
    return NULL;
}

static const char *source_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->input_count == 0 && op->output_count == 1 ? NULL : "it reads nothing, and makes one value";
}

const struct op_row op_row_input = {.name = "input",
                                    .broken = source_broken,
                                    .infer = given_infer,
                                    .source = true,
                                    .lent = true,
                                    .stays = true};

static const char *tensor_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[MAX_DIMS];
    enum dtype dtype;
    const int ndim = module_tensor_shown(&cx->arena, op->tensor.tensor, &dtype, dims);

    return set_output(cx, op, dtype, ndim, dims);
}

static void tensor_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s", op->tensor.tensor->path);
}

const struct op_row op_row_tensor = {.order = OP_ORDER_DENSE,
                                     .name = "tensor",
                                     .broken = source_broken,
                                     .infer = tensor_infer,
                                     .dump = tensor_dump,
                                     .pure = true,
                                     .source = true,
                                     .lent = true};

static const char *const_broken(struct cx *cx, const struct op *op)
{
    return op->output_count == 1 && !op->outputs[0]->constant ? "it has no elements" : source_broken(cx, op);
}

static const char *const_infer(struct cx *cx, struct op *op)
{
    const struct tensor *tensor = op->outputs[0]->constant;
    const struct dim *dims[MAX_DIMS];

    for (int i = 0; i < tensor->ndim; i++)
        dims[i] = dim_const(&cx->arena, tensor->dims[i]);
    return set_output(cx, op, tensor->dtype, tensor->ndim, dims);
}

const struct op_row op_row_const = {.order = OP_ORDER_DENSE,
                                    .name = "const",
                                    .broken = const_broken,
                                    .infer = const_infer,
                                    .pure = true,
                                    .source = true,
                                    .lent = true};

static const char *random_infer(struct cx *cx, struct op *op)
{
    return set_output(cx, op, DTYPE_FLOAT32, op->outputs[0]->ndim, op->outputs[0]->dims);
}

const struct op_row op_row_random = {
    .order = OP_ORDER_DENSE, .name = "random", .infer = random_infer, .tail = TAIL_ANYWHERE, .draws = true};

static void gradient_dump(struct text *text, const struct op *op)
{
    text_printf(text, " of %s%s", op->gradient.tensor->path, op->gradient.present ? ": is there one" : "");
}

const struct op_row op_row_gradient = {.name = "gradient",
                                       .broken = source_broken,
                                       .infer = given_infer,
                                       .dump = gradient_dump,
                                       .source = true,
                                       .lent = true,
                                       .acts = true};
