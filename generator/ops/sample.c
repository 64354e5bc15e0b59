/* sample.c - images at places between their elements: note [samples]. */
#include "base/text.h"
#include "ops/rows.h"

static const struct value *images_of(const struct op *op)
{
    return op->sample.part == SAMPLE_TO_IMAGES ? op->outputs[0] : op->inputs[0];
}

static const char *sample_broken(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0], *places;

    (void)cx;
    if (op->input_count != 2 + (op->sample.part == SAMPLE_TO_PLACES))
        return "it takes images and places";
    places = op->inputs[1];
    if (!dtype_is_float(x->dtype) || places->dtype != x->dtype ||
        op->inputs[op->input_count - 1]->dtype != x->dtype)
        return "it samples another type than places are of";
    if (op->sample.of == SAMPLE_GRID)
        return places->ndim == 3 && dim_equal(places->dims[0], x->dims[0])
                   ? NULL
                   : "its grid is not one for each image";
    return places->ndim == 2 && dim_equals(places->dims[1], 5) && op->sample.part != SAMPLE_TO_PLACES
               ? NULL
               : "its boxes are not five numbers each";
}

static const char *sample_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0], *places = op->inputs[1];
    const struct dim *dims[MAX_DIMS] = {x->dims[0], x->dims[1], places->dims[1]};
    int axes = op->sample.of == SAMPLE_BOXES || dim_equals(places->dims[places->ndim - 1], 2) ? 2 : 3;

    if (op->sample.part == SAMPLE_TO_IMAGES)
        return set_output(cx, op, x->dtype, 2 + axes, op->sample.dims);
    if (op->sample.part == SAMPLE_TO_PLACES)
        return set_output(cx, op, x->dtype, places->ndim, places->dims);
    if (op->sample.of == SAMPLE_GRID)
        return set_output(cx, op, x->dtype, 3, dims);
    dims[0] = places->dims[0];
    dims[2] = dim_const(&cx->arena, op->sample.high);
    dims[3] = dim_const(&cx->arena, op->sample.wide);
    return set_output(cx, op, x->dtype, 4, dims);
}

static void sample_dump(struct text *text, const struct op *op)
{
    static const char *const parts[] = {"", " to images", " to places"},
                             *const modes[] = {"nearest", "linear", "cubic"},
                             *const paddings[] = {"zeros", "border", "reflection"};

    if (op->sample.of == SAMPLE_GRID)
        text_printf(text, " %s %s%s", modes[op->sample.mode], paddings[op->sample.padding],
                    op->sample.corners ? " corners" : "");
    else
        text_printf(text, " %dx%d points %d%s", op->sample.high, op->sample.wide, op->sample.points,
                    op->sample.aligned ? " aligned" : "");
    text_add(text, parts[op->sample.part]);
}

/* Those that are summed up, and by place some fifty operations for each axis of a vector of them. Nobody knows the size of boxes: two
 * points each way. */
static void sample_work(const struct op *op, struct op_work *work)
{
    static const double along[] = {1, 2, 4};
    const struct value *x = images_of(op), *places = op->inputs[1];
    double count = dims_upper(2, places->dims), channels = (double)dim_upper(x->dims[1]);
    double points = op->sample.points > 0 ? op->sample.points : 2, taps = 1;

    if (op->sample.of == SAMPLE_BOXES) {
        work->values = (double)dim_upper(places->dims[0]) * op->sample.high * op->sample.wide * points *
                       points * (channels * 4 + 20) * 4;
        return;
    }
    for (int axis = 2; axis < x->ndim; axis++)
        taps *= along[op->sample.mode];
    work->values = count * (channels * taps * 4 + taps * 4 + 50 * (x->ndim - 2));
}

const struct op_row op_row_sample = {
    .name = "sample",
    .broken = sample_broken,
    .infer = sample_infer,
    .accepts = dense_accepts,
    .dump = sample_dump,
    .pure = true,
    .work = sample_work,
};
