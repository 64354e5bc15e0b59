/* cached_scan.c - kernels of recurrences over the rows of sequences. */
#include "plan/kernels/draft.h"

static const char *cached_scan_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[CACHED_SCAN_TERM];
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, x->ndim, x->dims);
    return text.data;
}

static void holes_cached_scan(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct value *x = draft->op->inputs[CACHED_SCAN_TERM];
    const char *shape = shape_text(&cx->arena, x->ndim, x->dims);

    add_parameter(draft, element_of(draft, x->dtype), false, "x");
    add_parameter(draft, element_of(draft, x->dtype), false, "factor");
    add_parameter(draft, element_of(draft, x->dtype), false, "state");
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "sequence");
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "position");
    guard_reads(draft);
    hole_dim(draft, "T_m", x->dims[0]);
    hole_dim(draft, "T_n", dims_product(cx, x, 1, x->ndim));
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s: factor %s times the row of the sequence before, plus x %s", shape, shape, shape);
}

static void cached_scan_operands(struct making *making, struct kernel_call *call)
{
    static const enum cached_scan_input order[] = {CACHED_SCAN_TERM, CACHED_SCAN_FACTOR, CACHED_SCAN_STATE,
                                                   CACHED_SCAN_SEQUENCE, CACHED_SCAN_POSITION};

    for (int i = 0; i < COUNT(order); i++)
        add_value(making, call, making->step->op->inputs[order[i]]);
}

const struct kernel_row cached_scan_kernels = {.stem = cached_scan_stem,
                                               .make = make_template,
                                               .holes = holes_cached_scan,
                                               .operands = cached_scan_operands,
                                               .own_inputs = CACHED_SCAN_INPUTS};
