/* fft.c - kernels of Fourier transforms. */
#include "ops/fft.h"

#include "plan/kernels/draft.h"

static const char *fft_stem(struct cx *cx, const struct op *op)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, op->outputs[0]->ndim, op->outputs[0]->dims);
    text_printf(&text, "_along_%d", op->fft.axis);
    return text.data;
}

static void holes_fft(struct draft *draft)
{
    static const int radices[] = {2, 3, 5, 7, 11, 13};
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *y = op->outputs[0];
    const struct fft_plan plan = fft_layout(op);
    const bool from_real = op->fft.kind == FFT_FROM_REAL, to_real = op->fft.kind == FFT_TO_REAL;
    union scalar *passes = ARENA_ARRAY(&cx->arena, plan.passes, union scalar);

    draft->apart = true;
    add_input(draft);
    add_parameter(draft, element_of(draft, draft->kernel->computed), false, "w");
    add_parameter(draft, element_of(draft, DTYPE_INT64), false, "p");
    add_parameter(draft, element_of(draft, draft->kernel->computed), false, "scale");
    add_scratch(draft, "v");
    hole_dim(draft, "T_m", dims_product(cx, y, 0, op->fft.axis));
    hole_dim(draft, "T_c", dims_product(cx, y, op->fft.axis + 1, y->ndim - !to_real));
    hole_shape(draft, "T_n", plan.values);
    hole_shape(draft, "T_n1", plan.n1);
    hole_shape(draft, "T_n2", plan.n2);
    hole_shape(draft, "T_ld1", plan.ld1);
    hole_shape(draft, "T_ld2", plan.ld2);
    hole_shape(draft, "T_plane", fft_plane(op));
    hole_shape(draft, "T_second_at", plan.second_at);
    hole_shape(draft, "T_turns_at", plan.turns_at);
    hole_shape(draft, "T_halves_at", plan.halves_at);
    hole_int(draft, "T_split", plan.n1 > 0);
    hole_int(draft, "T_gathers", plan.n1 == 0 && fft_inner(op) == 1);
    hole_int(draft, "T_from_real", from_real);
    hole_int(draft, "T_to_real", to_real);
    hole_int(draft, "T_halves", plan.halves);
    hole_int(draft, "T_odd", (from_real || to_real) && !plan.halves);
    hole_int(draft, "T_inverse", op->fft.inverse);
    hole_int(draft, "T_single", draft->kernel->computed == DTYPE_FLOAT32);
    fft_passes(&plan, passes);
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        bool some = false;

        for (int64_t j = 0; j < plan.passes; j++) /* counts are no radices: one too many is no harm */
            some |= passes[j].i == radices[i];
        hole_some(draft, arena_format(&cx->arena, "T_some_%d", radices[i]), some);
    }
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = %sFourier transform of x %s along axis %d",
        shape_text(&cx->arena, y->ndim, y->dims), op->fft.inverse ? "inverse " : "",
        shape_text(&cx->arena, op->inputs[0]->ndim, op->inputs[0]->dims), op->fft.axis);
}

static const char *planes_stem(const struct op *op)
{
    (void)op;
    return "planes";
}

static void fft_operands(struct making *making, struct kernel_call *call)
{
    for (int i = 0; i < 4; i++)
        add_value(making, call, making->step->op->inputs[i]);
}

const struct kernel_row fft_kernels = {.stem = fft_stem,
                                       .make = make_template,
                                       .holes = holes_fft,
                                       .operands = fft_operands,
                                       .parts_stem = planes_stem};
