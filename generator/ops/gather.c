/* gather.c - gather and scatter: elements at places that a tensor of integers names. */
#include <string.h>

#include "base/text.h"
#include "ops/rows.h"

/* With `along`, the index has a place for each element: axes of x other than `axis` must be as long, or longer. */
static const char *along_dims(struct cx *cx, const struct op *op, const struct value *x,
                              const struct value *index, int axis)
{
    struct arena *arena = &cx->arena;

    if (x->ndim != index->ndim)
        return arena_format(arena, "%s: %s and its index %s have not the same number of dimensions",
                            op->label, value_shape(arena, x), value_shape(arena, index));
    for (int i = 0; i < x->ndim; i++) {
        const struct dim *rest = dim_sub(arena, x->dims[i], index->dims[i]);

        if (i == axis || dim_lower(rest) >= 0)
            continue;
        return arena_format(arena, "%s: the index %s does not fit in %s: the sizes %s at dimension %d",
                            op->label, value_shape(arena, index), value_shape(arena, x),
                            dims_differ(arena, index->dims[i], x->dims[i]), i);
    }
    return NULL;
}

/* The dims of x at the index, in dims[]; NULL, or what is wrong. */
static const char *indexed_dims(struct cx *cx, const struct op *op, int axis, bool along,
                                const struct dim **dims, int *ndim)
{
    const struct value *x = op->inputs[0], *index = op->inputs[1];

    *ndim = along ? index->ndim : x->ndim - 1 + index->ndim;
    if (*ndim > MAX_DIMS)
        return arena_format(&cx->arena, "%s: the result would have %d dimensions, more than %d", op->label,
                            *ndim, MAX_DIMS);
    if (along) {
        memcpy(dims, index->dims, (size_t)index->ndim * sizeof *dims);
        return along_dims(cx, op, x, index, axis);
    }
    memcpy(dims, x->dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis, index->dims, (size_t)index->ndim * sizeof *dims);
    memcpy(dims + axis + index->ndim, x->dims + axis + 1, (size_t)(x->ndim - axis - 1) * sizeof *dims);
    return NULL;
}

static const char *index_broken(const struct op *op, int axis, bool along)
{
    const struct value *x = op->inputs[0], *index = op->inputs[1];

    if (dtype_is_float(index->dtype) || index->dtype == DTYPE_BOOL)
        return "its index is no integer";
    return axis >= 0 && (axis < x->ndim || (along && x->ndim == 0)) ? NULL : "its axis is not there";
}

static const char *gather_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->input_count == 2 ? index_broken(op, op->gather.axis, op->gather.along) : "it has two inputs";
}

static const char *gather_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[2 * MAX_DIMS];
    int ndim;
    const char *fault = indexed_dims(cx, op, op->gather.axis, op->gather.along, dims, &ndim);

    return fault ? fault : set_output(cx, op, op->inputs[0]->dtype, ndim, dims);
}

/* Walks over what is indexed: stream 0 is x at index 0, stream 1 the index. Returns the step of x along the axis. */
static int64_t walk_indexed(struct walk *walk, const struct tensor *x, const struct tensor *index, int axis,
                            bool along, int ndim, const int64_t *dims)
{
    int64_t step = 1, at = 0;
    int places = along ? 1 : index->ndim;

    walk_start(walk, ndim, dims);
    walk->streams = 2;
    memset(walk->strides[0], 0, sizeof walk->strides[0]);
    memset(walk->strides[1], 0, sizeof walk->strides[1]);
    walk->at[0] = walk->at[1] = 0;
    for (int i = x->ndim - 1; i >= 0; i--) {
        if (i == axis)
            at = step;
        else
            walk->strides[0][along || i < axis ? i : i - 1 + places] = step;
        step *= x->dims[i];
    }
    step = 1;
    for (int i = index->ndim - 1; i >= 0; i--) {
        walk->strides[1][along ? i : axis + i] = step;
        step *= index->dims[i];
    }
    return at;
}

/* Indices were checked when the op was built. */
static void gather_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0], *index = inputs[1];
    int64_t count = tensor_count(output), step;
    struct walk walk;

    step = walk_indexed(&walk, x, index, op->gather.axis, op->gather.along, output->ndim, output->dims);
    for (int64_t e = 0; e < count; e++, walk_next(&walk))
        output->data[e] = x->data[walk.at[0] + index->data[walk.at[1]].i * step];
}

static void gather_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s %d", op->gather.along ? "along" : "axis", op->gather.axis);
}

/* Of a table, the rows that are looked up. */
static double gather_bytes(const struct op *op)
{
    return value_bytes(op->outputs[0]) + value_bytes(op->inputs[1]) + value_bytes(op->outputs[0]);
}

const struct op_row op_row_gather = {
    .order = OP_ORDER_DENSE,
    .name = "gather",
    .broken = gather_broken,
    .infer = gather_infer,
    .interpret = gather_interpret,
    .dump = gather_dump,
    .pure = true,
    .bytes = gather_bytes,
};

/* ---- of a packed matrix ---- */

static const char *lookup_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (op->input_count != 2 || op->inputs[1]->ndim != 2)
        return "it has two inputs";
    return dtype_is_int(op->inputs[0]->dtype) ? NULL : "its index is no integer";
}

static const char *lookup_infer(struct cx *cx, struct op *op)
{
    const struct value *index = op->inputs[0], *matrix = op->inputs[1];
    const struct dim *dims[MAX_DIMS];

    memcpy(dims, index->dims, (size_t)index->ndim * sizeof *dims);
    dims[index->ndim] = matrix->dims[0];
    return set_output(cx, op, matrix->dtype, index->ndim + 1, dims);
}

static void lookup_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *index = inputs[0], *matrix = inputs[1];
    const int64_t depth = matrix->dims[0], rows = matrix->dims[1];

    (void)op;
    for (int64_t i = 0; i < tensor_count(index); i++)
        for (int64_t k = 0; k < depth; k++)
            output->data[i * depth + k] = matrix->data[k * rows + index->data[i].i];
}

static enum op_accepts lookup_accepts(const struct op *op, int input)
{
    (void)op;
    return input == 0 ? ACCEPT_DENSE : ACCEPT_ANY;
}

static bool lookup_packs(const struct op *op, int input)
{
    (void)op;
    return input == 1;
}

static double lookup_bytes(const struct op *op)
{
    return value_bytes(op->inputs[0]) + 2 * value_bytes(op->outputs[0]);
}

const struct op_row op_row_lookup = {
    .order = OP_ORDER_DENSE,
    .name = "lookup",
    .broken = lookup_broken,
    .infer = lookup_infer,
    .interpret = lookup_interpret,
    .accepts = lookup_accepts,
    .packs = lookup_packs,
    .pure = true,
    .bytes = lookup_bytes,
    .narrow = true,
    .outputs_axis = 1,
};

/* ---- scatter ---- */

static const char *scatter_broken(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];

    (void)cx;
    if (op->input_count != 3 || !op->dag || op->inputs[2]->dtype != x->dtype ||
        op->dag->nodes[op->dag->result].dtype != x->dtype)
        return "it puts another type than is there";
    return index_broken(op, op->scatter.axis, op->scatter.along);
}

static const char *scatter_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0], *src = op->inputs[2];
    const struct dim *dims[2 * MAX_DIMS];
    int ndim;
    const char *fault = indexed_dims(cx, op, op->scatter.axis, op->scatter.along, dims, &ndim);
    bool fits = !fault && ndim == src->ndim;

    for (int i = 0; fits && i < ndim; i++)
        fits = op->scatter.along ? dim_lower(dim_sub(arena, src->dims[i], dims[i])) >= 0
                                 : dim_equal(src->dims[i], dims[i]);
    if (!fault && !fits)
        return arena_format(arena, "%s: the source %s does not fit the index %s", op->label,
                            value_shape(arena, src), value_shape(arena, op->inputs[1]));
    return fault ? fault : set_output(cx, op, x->dtype, x->ndim, x->dims);
}

static void scatter_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *index = inputs[1], *src = inputs[2];
    const int64_t *dims = op->scatter.along ? index->dims : src->dims;
    int64_t count = op->scatter.along ? tensor_count(index) : tensor_count(src), step, stride = 1;
    struct dag_run run;
    struct walk walk;

    memcpy(output->data, inputs[0]->data, (size_t)tensor_count(output) * sizeof *output->data);
    step = walk_indexed(&walk, output, index, op->scatter.axis, op->scatter.along, src->ndim, dims);
    walk.streams = 3;
    walk.at[2] = 0;
    for (int i = src->ndim - 1; i >= 0; i--) {
        walk.strides[2][i] = stride;
        stride *= src->dims[i];
    }
    dag_run_start(&run, op->dag);
    for (int64_t e = 0; e < count; e++, walk_next(&walk)) {
        union scalar *to = &output->data[walk.at[0] + index->data[walk.at[1]].i * step];

        run.inputs[0] = *to;
        run.inputs[1] = src->data[walk.at[2]];
        *to = dag_run_once(&run);
    }
    dag_run_end(&run);
}

static void scatter_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s %d", op->scatter.along ? "along" : "axis", op->scatter.axis);
}

/* What stands there is copied first. */
static bool scatter_mapped(const struct op *op, int input)
{
    (void)op;
    return input == 0;
}

const struct op_row op_row_scatter = {
    .name = "scatter",
    .broken = scatter_broken,
    .infer = scatter_infer,
    .interpret = scatter_interpret,
    .dump = scatter_dump,
    .pure = true,
    .mapped = scatter_mapped,
};
