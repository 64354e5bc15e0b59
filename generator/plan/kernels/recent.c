/* recent.c - kernels of the last rows of sequences. */
#include "plan/kernels/draft.h"

static const char *recent_stem(struct cx *cx, const struct op *op)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, op->outputs[0]->ndim, op->outputs[0]->dims);
    return text.data;
}

static void holes_recent(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct value *x = draft->op->inputs[RECENT_ROWS], *state = draft->op->inputs[RECENT_STATE],
                       *y = draft->op->outputs[0];

    add_parameter(draft, element_of(draft, x->dtype), false, "x");
    add_parameter(draft, element_of(draft, x->dtype), false, "state");
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "sequence");
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "position");
    guard_reads(draft);
    hole_dim(draft, "T_m", x->dims[0]);
    hole_dim(draft, "T_k", state->dims[1]);
    hole_dim(draft, "T_n", dims_product(cx, x, 1, x->ndim));
    draft->kernel->comment = arena_format(&cx->arena, "y %s: the last rows of each one's sequence, of x %s",
                                          shape_text(&cx->arena, y->ndim, y->dims),
                                          shape_text(&cx->arena, x->ndim, x->dims));
}

static void recent_operands(struct making *making, struct kernel_call *call)
{
    for (int i = 0; i < RECENT_INPUTS; i++)
        add_value(making, call, making->step->op->inputs[i]);
}

const struct kernel_row recent_kernels = {.stem = recent_stem,
                                          .make = make_template,
                                          .holes = holes_recent,
                                          .operands = recent_operands,
                                          .own_inputs = RECENT_INPUTS};
