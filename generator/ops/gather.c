/* gather.c - gather: elements at places that a tensor of integers names; check: what those must be. */
#include <assert.h>
#include <string.h>

#include "rows.h"

/* Index has a place for each element of the output: axes of the data other than `axis` must be as long. */
static const char *along_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0], *index = op->inputs[1];

    if (x->ndim != index->ndim)
        return arena_format(arena, "%s: %s and its index %s have not the same number of dimensions", op->label,
                            value_shape(arena, x), value_shape(arena, index));
    for (int i = 0; i < x->ndim; i++) {
        const struct dim *rest = dim_sub(arena, x->dims[i], index->dims[i]);

        if (i == op->gather.axis || dim_lower(rest) >= 0)
            continue;
        return arena_format(arena, "%s: the index %s does not fit in %s: the sizes %s at dimension %d", op->label,
                            value_shape(arena, index), value_shape(arena, x),
                            dims_differ(arena, index->dims[i], x->dims[i]), i);
    }
    return set_output(cx, op, x->dtype, index->ndim, index->dims);
}

const char *gather_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0], *index = op->inputs[1];
    const struct dim *dims[2 * MAX_DIMS];
    int axis = op->gather.axis, ndim = x->ndim - 1 + index->ndim;

    assert(!dtype_is_float(index->dtype) && index->dtype != DTYPE_BOOL);
    assert(axis >= 0 && (axis < x->ndim || (op->gather.along && x->ndim == 0)));
    if (op->gather.along)
        return along_infer(cx, op);
    if (ndim > MAX_DIMS)
        return arena_format(arena, "%s: the result would have %d dimensions, more than %d", op->label, ndim, MAX_DIMS);
    memcpy(dims, x->dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis, index->dims, (size_t)index->ndim * sizeof *dims);
    memcpy(dims + axis + index->ndim, x->dims + axis + 1, (size_t)(x->ndim - axis - 1) * sizeof *dims);
    return set_output(cx, op, x->dtype, ndim, dims);
}

/* Indices were checked when the op was built. */
void gather_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0], *index = inputs[1];
    int64_t count = tensor_count(output), step = 1, at = 0;
    int axis = op->gather.axis, places = op->gather.along ? 1 : index->ndim;
    struct walk walk;

    walk_start(&walk, output->ndim, output->dims);
    walk.streams = 2; /* the data at index 0, and the index */
    memset(walk.strides[0], 0, sizeof walk.strides[0]);
    memset(walk.strides[1], 0, sizeof walk.strides[1]);
    walk.at[0] = walk.at[1] = 0;
    for (int i = x->ndim - 1; i >= 0; i--) {
        if (i == axis)
            at = step;
        else
            walk.strides[0][op->gather.along || i < axis ? i : i - 1 + places] = step;
        step *= x->dims[i];
    }
    step = 1;
    for (int i = index->ndim - 1; i >= 0; i--) {
        walk.strides[1][op->gather.along ? i : axis + i] = step;
        step *= index->dims[i];
    }
    for (int64_t e = 0; e < count; e++, walk_next(&walk))
        output->data[e] = x->data[walk.at[0] + index->data[walk.at[1]].i * at];
}
