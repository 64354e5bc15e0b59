/* nms.c - kernels of the suppression of boxes. */
#include "plan/kernels/draft.h"

static const char *nms_stem(struct cx *cx, const struct op *op)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, 1, op->inputs[0]->dims);
    text_printf(&text, "_to_%lld", (long long)op->nms.most);
    return text.data;
}

static void holes_nms(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct value *boxes = draft->op->inputs[0];

    add_input(draft);
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "p");
    add_parameter(draft, draft->input, false, "threshold");
    hole_type(draft, "T_boxes", draft->input.computed);
    hole_dim(draft, "T_n", boxes->dims[0]);
    hole_shape(draft, "T_k", draft->op->nms.most);
    draft->kernel->comment = arena_format(
        &cx->arena, "y: of boxes x %s at most %lld that overlap none before, then -1, and how many",
        shape_text(&cx->arena, boxes->ndim, boxes->dims), (long long)draft->op->nms.most);
}

static void nms_operands(struct making *making, struct kernel_call *call)
{
    for (int i = 0; i < 3; i++)
        add_value(making, call, making->step->op->inputs[i]);
}

const struct kernel_row nms_kernels = {
    .stem = nms_stem, .make = make_template, .holes = holes_nms, .operands = nms_operands};
