/* sample.c - kernels of what samples images: a template for grids, one for boxes. */
#include "plan/kernels/draft.h"

static const struct value *images_of(const struct op *op)
{
    return op->sample.part == SAMPLE_TO_IMAGES ? op->outputs[0] : op->inputs[0];
}

static const char *sample_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = images_of(op), *places = op->inputs[1];
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, x->ndim, x->dims);
    text_add(&text, "_at_");
    name_dim(cx, &text, places->dims[places->ndim - 2]);
    return text.data;
}

/* A type that holds all places of its values, and a step of a launch behind the last. */
static void hole_index(struct draft *draft)
{
    const struct value *const values[] = {draft->op->inputs[0], draft->op->inputs[1], draft->op->outputs[0]};
    bool wide = false;

    for (int i = 0; i < COUNT(values); i++)
        wide |= dim_upper(dims_product(draft->cx, values[i], 0, values[i]->ndim)) > INT32_MAX / 2;
    hole_int(draft, "T_wide", wide);
    hole_word(draft, "T_index", wide ? "int64_t" : "int");
}

/* What threads of a GPU are numbered by: places, planes, groups of channels. */
static void holes_planes(struct draft *draft)
{
    hole_index(draft);
    hole_divisor(draft, "T_over_c", images_of(draft->op)->dims[1]);
}

static void holes_threads(struct draft *draft, int group)
{
    struct arena *arena = &draft->cx->arena;
    const struct dim *channels = images_of(draft->op)->dims[1];
    const struct dim *groups = dim_floordiv(arena, dim_add(arena, channels, dim_const(arena, group - 1)),
                                            dim_const(arena, group));

    holes_planes(draft);
    hole_divisor(draft, "T_over_k", draft->op->inputs[1]->dims[1]);
    hole_divisor(draft, "T_groups", groups);
}

static const char *grid_comment(struct cx *cx, const struct op *op)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"},
                             *const paddings[] = {"zeros", "the border", "its reflection"},
                             *const words[] = {"samples of images x %s",
                                               "slopes of images, from those x %s of samples",
                                               "slopes of places, from those of samples of images x %s"};
    const struct value *x = op->inputs[0], *y = op->outputs[0];

    return arena_format(
        &cx->arena, "y %s = %s, %s, with %s outside", shape_text(&cx->arena, y->ndim, y->dims),
        arena_format(&cx->arena, words[op->sample.part], shape_text(&cx->arena, x->ndim, x->dims)),
        modes[op->sample.mode], paddings[op->sample.padding]);
}

static void holes_grid(struct draft *draft)
{
    static const int taps[] = {1, 2, 4};
    const struct op *op = draft->op;
    const struct value *x = images_of(op), *places = op->inputs[1];
    const int axes = x->ndim - 2, group = op->sample.mode == SAMPLE_NEAREST ? 8 : 4;
    int all = 1;

    for (int i = 0; i < axes; i++)
        all *= taps[op->sample.mode];

    hole_int(draft, "T_axes", axes);
    hole_int(draft, "T_deep", axes == 3);
    hole_int(draft, "T_mode", op->sample.mode);
    hole_int(draft, "T_taps", taps[op->sample.mode]);
    hole_int(draft, "T_all", all);
    hole_int(draft, "T_group", group);
    hole_int(draft, "T_padding", op->sample.padding);
    hole_int(draft, "T_corners", op->sample.corners);
    hole_int(draft, "T_to_places", op->sample.part == SAMPLE_TO_PLACES);
    hole_int(draft, "T_single", draft->kernel->computed == DTYPE_FLOAT32);
    hole_dim(draft, "T_n", x->dims[0]);
    if (axes == 3)
        hole_dim(draft, "T_d", x->dims[2]);
    hole_dim(draft, "T_k", places->dims[1]);
    if (draft->plan->backend->apart)
        holes_threads(draft, group);
    draft->kernel->comment = grid_comment(draft->cx, op);
}

static void holes_boxes(struct draft *draft)
{
    struct arena *arena = &draft->cx->arena;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *places = op->inputs[1], *y = op->outputs[0];

    hole_int(draft, "T_aligned", op->sample.aligned);
    hole_int(draft, "T_adapts", op->sample.points == 0);
    hole_shape(draft, "T_points", op->sample.points);
    hole_shape(draft, "T_oh", op->sample.high);
    hole_shape(draft, "T_ow", op->sample.wide);
    hole_dim(draft, "T_n", images_of(op)->dims[0]);
    hole_dim(draft, "T_k", places->dims[0]);
    if (draft->plan->backend->apart)
        holes_planes(draft);
    guard_reads(draft);
    draft->kernel->comment = arena_format(
        arena,
        op->sample.part == SAMPLE_VALUES
            ? "y %s = means of %dx%d parts of boxes of images x %s"
            : "y %s = slopes of images, %dx%d parts of whose boxes have those x %s",
        shape_text(arena, y->ndim, y->dims), op->sample.high, op->sample.wide,
        shape_text(arena, x->ndim, x->dims));
}

static void holes_sample(struct draft *draft)
{
    const struct op *op = draft->op;
    const struct value *x = images_of(op);

    add_input(draft);
    add_parameter(draft, element_of(draft, op->inputs[1]->dtype), false, "p");
    if (op->sample.part == SAMPLE_TO_PLACES)
        add_parameter(draft, element_of(draft, op->inputs[2]->dtype), false, "g");
    hole_int(draft, "T_to_x", op->sample.part == SAMPLE_TO_IMAGES);
    hole_dim(draft, "T_c", x->dims[1]);
    hole_dim(draft, "T_h", x->dims[x->ndim - 2]);
    hole_dim(draft, "T_w", x->dims[x->ndim - 1]);
    if (op->sample.of == SAMPLE_GRID)
        holes_grid(draft);
    else
        holes_boxes(draft);
}

static void sample_operands(struct making *making, struct kernel_call *call)
{
    const struct op *op = making->step->op;

    for (int i = 0; i < op->input_count; i++)
        add_value(making, call, op->inputs[i]);
}

const struct kernel_row sample_kernels = {
    .stem = sample_stem, .make = make_template, .holes = holes_sample, .operands = sample_operands};
