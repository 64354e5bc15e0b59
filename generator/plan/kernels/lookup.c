/* lookup.c - kernels of embeddings whose table is packed. */
#include "plan/kernels/draft.h"

static const char *lookup_stem(struct cx *cx, const struct op *op)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, op->outputs[0]->ndim, op->outputs[0]->dims);
    return text.data;
}

static void holes_lookup(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *index = op->inputs[0], *table = op->inputs[1], *y = op->outputs[0];

    add_parameter(draft, element_of(draft, index->dtype), false, "x");
    add_parameter(draft, draft->weights, false, "w");
    hole_dim(draft, "T_m", dims_product(cx, index, 0, index->ndim));
    hole_dim(draft, "T_k", table->dims[0]);
    if (draft->plan->backend->apart)
        holes_rows(draft, table->dims[0]);
    else
        holes_narrow(draft, table->dims[0]);
    guard_reads(draft);
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s: the rows of w (%s, %s) that x %s names, w in %s",
        shape_text(&cx->arena, y->ndim, y->dims), dim_text(&cx->arena, table->dims[1]),
        dim_text(&cx->arena, table->dims[0]), shape_text(&cx->arena, index->ndim, index->dims),
        storage_text(&cx->arena, draft->narrow));
}

static void lookup_operands(struct making *making, struct kernel_call *call)
{
    input_operand(making, call);
    add_op_input(making, call, 1);
}

const struct kernel_row lookup_kernels = {.stem = lookup_stem,
                                          .make = make_template,
                                          .holes = holes_lookup,
                                          .operands = lookup_operands,
                                          .own_inputs = 2};
