/* view.c - permute, slice, expand, reshape, window: the same elements under other dims. */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "ops/rows.h"

static bool can_expand(const struct value *input, const struct value *output)
{
    int more = output->ndim - input->ndim;

    for (int i = 0; more >= 0 && i < input->ndim; i++)
        if (!dim_equals(input->dims[i], 1) && !dim_equal(input->dims[i], output->dims[i + more]))
            return false;
    return more >= 0;
}

static bool is_permutation(const int *perm, int ndim)
{
    bool seen[MAX_DIMS] = {false};

    for (int i = 0; i < ndim; i++) {
        if (perm[i] < 0 || perm[i] >= ndim || seen[perm[i]])
            return false;
        seen[perm[i]] = true;
    }
    return true;
}

/* Of `length` elements `step` apart from `start` on; as far as these are numbers. */
static bool lies_inside(const struct dim *extent, const struct dim *start, const struct dim *step,
                        const struct dim *length)
{
    int64_t whole, from, apart, count;

    if (!dim_is_const(extent, &whole) || !dim_is_const(start, &from) || !dim_is_const(step, &apart) ||
        !dim_is_const(length, &count) || count <= 0)
        return true;
    return from >= 0 && from < whole && from + (count - 1) * apart >= 0 && from + (count - 1) * apart < whole;
}

static const char *view_broken(struct cx *cx, const struct op *op)
{
    const struct value *input = op->inputs[0], *output = op->outputs[0];
    int axis = op->view.axis;

    if (op->input_count != 1)
        return "a view is of one value";
    switch (op->view.kind) {
    case VIEW_PERMUTE:
        return is_permutation(op->view.perm, input->ndim) ? NULL : "its axes are no permutation";
    case VIEW_SLICE:
        if (axis < 0 || axis >= input->ndim || !op->view.start || !op->view.step ||
            output->ndim != input->ndim)
            return "its axis is not there";
        return lies_inside(input->dims[axis], op->view.start, op->view.step, output->dims[axis])
                   ? NULL
                   : "it shows what is not there";
    case VIEW_EXPAND:
        return can_expand(input, output) ? NULL : "its dims are no broadcast of those it shows";
    case VIEW_RESHAPE:
        return dim_equal(dims_count(&cx->arena, input), dims_count(&cx->arena, output))
                   ? NULL
                   : "it has not as many elements as it shows";
    case VIEW_WINDOW:
        return axis >= 0 && axis < input->ndim && output->ndim == input->ndim + 1 && op->view.step &&
                       op->view.dilation
                   ? NULL
                   : "its axis is not there";
    }
    return "it is no kind of view";
}

static bool view_known(const struct op *op)
{
    return (!op->view.start || dim_is_const(op->view.start, NULL)) &&
           (!op->view.step || dim_is_const(op->view.step, NULL)) &&
           (!op->view.dilation || dim_is_const(op->view.dilation, NULL));
}

static void view_dump(struct text *text, const struct op *op)
{
    if (op->view.kind == VIEW_PERMUTE)
        for (int i = 0; i < op->inputs[0]->ndim; i++)
            text_printf(text, "%s%d", i ? ", " : " perm ", op->view.perm[i]);
    if (op->view.kind == VIEW_SLICE) {
        text_printf(text, " axis %d from ", op->view.axis);
        dim_print(text, op->view.start);
        text_add(text, " step ");
        dim_print(text, op->view.step);
    }
    if (op->view.kind == VIEW_WINDOW) {
        text_printf(text, " axis %d step ", op->view.axis);
        dim_print(text, op->view.step);
        text_add(text, " dilation ");
        dim_print(text, op->view.dilation);
    }
}

/* The maker has set the output's dims, where they do not follow (slice: of its axis; expand, reshape, window: all). */
static const char *view_infer(struct cx *cx, struct op *op)
{
    const struct value *input = op->inputs[0];
    struct value *output = op->outputs[0];

    (void)cx;
    output->dtype = input->dtype;
    switch (op->view.kind) {
    case VIEW_PERMUTE:
        output->ndim = input->ndim;
        for (int i = 0; i < input->ndim; i++)
            output->dims[i] = input->dims[op->view.perm[i]];
        return NULL;
    case VIEW_SLICE:
        output->ndim = input->ndim;
        for (int i = 0; i < input->ndim; i++)
            if (i != op->view.axis)
                output->dims[i] = input->dims[i];
        return NULL;
    case VIEW_EXPAND:
    case VIEW_RESHAPE:
    case VIEW_WINDOW:
        break;
    }
    return NULL;
}

static int64_t known(const struct dim *dim)
{
    int64_t value = 0;
    bool constant = dim_is_const(dim, &value);

    assert(constant);
    (void)constant;
    return value;
}

static void view_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *input = inputs[0];
    int64_t count = tensor_count(output), strides[MAX_DIMS], stride = 1, first = 0;
    int more = output->ndim - input->ndim;
    struct walk walk;

    if (op->view.kind == VIEW_RESHAPE) {
        memcpy(output->data, input->data, (size_t)count * sizeof *output->data);
        return;
    }
    for (int i = input->ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= input->dims[i];
    }
    walk_start(&walk, output->ndim, output->dims);
    walk.streams = 1;
    for (int i = 0; i < output->ndim; i++) {
        int from = op->view.kind == VIEW_PERMUTE  ? op->view.perm[i]
                   : op->view.kind == VIEW_WINDOW ? i
                                                  : i - more;

        if (from == input->ndim) { /* inside the window */
            walk.strides[0][i] = strides[op->view.axis] * known(op->view.dilation);
            continue;
        }
        walk.strides[0][i] = from < 0 || (op->view.kind == VIEW_EXPAND && input->dims[from] == 1)
                                 ? 0
                                 : strides[from];
        if (op->view.kind == VIEW_SLICE && i == op->view.axis) {
            first = known(op->view.start) * strides[i];
            walk.strides[0][i] *= known(op->view.step);
        }
        if (op->view.kind == VIEW_WINDOW && i == op->view.axis)
            walk.strides[0][i] *= known(op->view.step);
    }
    walk.at[0] = first;
    for (int64_t e = 0; e < count; e++, walk_next(&walk))
        output->data[e] = input->data[walk.at[0]];
}

/* ---- strides ------------------------------------------------------------------------------------------------- */

static void dense_strides(struct arena *arena, struct value *value)
{
    const struct dim *stride = dim_const(arena, 1);

    for (int i = value->ndim - 1; i >= 0; i--) {
        value->strides[i] = stride;
        stride = dim_mul(arena, stride, value->dims[i]);
    }
}

static bool is_empty(const struct value *value)
{
    for (int i = 0; i < value->ndim; i++)
        if (dim_equals(value->dims[i], 0))
            return true;
    return false;
}

/* PyTorch's rule (computeStride): the input's axes are joined, from the last, into chunks without gaps; the output's
 * axes must fill one chunk after the other exactly. Axes of size 1 have no say. */
static bool reshape_strides(struct arena *arena, const struct value *input, struct value *output)
{
    int out = output->ndim - 1;

    dense_strides(arena, output);
    if (is_empty(output))
        return true;
    for (int in = input->ndim - 1; in >= 0;) {
        const struct dim *base, *size, *filled = dim_const(arena, 1);

        if (dim_equals(input->dims[in], 1)) {
            in--;
            continue;
        }
        base = input->strides[in];
        size = input->dims[in--];
        for (; in >= 0; in--) {
            if (dim_equals(input->dims[in], 1))
                continue;
            if (!dim_equal(input->strides[in], dim_mul(arena, size, base)))
                break;
            size = dim_mul(arena, size, input->dims[in]);
        }
        for (; out >= 0 && !dim_equal(filled, size); out--) {
            output->strides[out] = dim_mul(arena, filled, base);
            filled = dim_mul(arena, filled, output->dims[out]);
        }
        if (!dim_equal(filled, size))
            return false;
    }
    for (; out >= 0; out--)
        if (!dim_equals(output->dims[out], 1))
            return false;
    return true;
}

bool view_resolve(struct arena *arena, const struct op *op, const struct value *input, struct value *output)
{
    int more = output->ndim - input->ndim;

    output->base = input->base;
    output->offset = input->offset;
    switch (op->view.kind) {
    case VIEW_PERMUTE:
        for (int i = 0; i < output->ndim; i++)
            output->strides[i] = input->strides[op->view.perm[i]];
        return true;
    case VIEW_SLICE: {
        int axis = op->view.axis;

        memcpy(output->strides, input->strides, sizeof output->strides);
        output->offset = dim_add(arena, input->offset, dim_mul(arena, op->view.start, input->strides[axis]));
        output->strides[axis] = dim_mul(arena, op->view.step, input->strides[axis]);
        return true;
    }
    case VIEW_EXPAND:
        for (int i = 0; i < output->ndim; i++) {
            bool repeated = i < more ||
                            (dim_equals(input->dims[i - more], 1) && !dim_equals(output->dims[i], 1));

            output->strides[i] = repeated ? dim_const(arena, 0) : input->strides[i - more];
        }
        return true;
    case VIEW_RESHAPE:
        return reshape_strides(arena, input, output);
    case VIEW_WINDOW: {
        int axis = op->view.axis;

        memcpy(output->strides, input->strides, sizeof output->strides);
        output->strides[axis] = dim_mul(arena, op->view.step, input->strides[axis]);
        output->strides[input->ndim] = dim_mul(arena, op->view.dilation, input->strides[axis]);
        return true;
    }
    }
    return false;
}

bool view_same(const struct value *a, const struct value *b)
{
    const struct op *x = a->op, *y = b->op;

    if (a == b)
        return true;
    if (x->code != GRAPH_OP_VIEW || y->code != GRAPH_OP_VIEW || x->view.kind != y->view.kind ||
        !dims_equal(a, b))
        return false;
    if (x->view.kind == VIEW_SLICE &&
        (x->view.axis != y->view.axis || !dim_equal(x->view.start, y->view.start) ||
         !dim_equal(x->view.step, y->view.step)))
        return false;
    if (x->view.kind == VIEW_WINDOW)
        return false;
    if (x->view.kind == VIEW_PERMUTE && memcmp(x->view.perm, y->view.perm, sizeof x->view.perm) != 0)
        return false;
    return view_same(x->inputs[0], y->inputs[0]);
}

static bool view_carries(const struct op *op, int input)
{
    (void)input;
    return !op->view.detached;
}

const struct op_row op_row_view = {
    .name = "view",
    .broken = view_broken,
    .infer = view_infer,
    .interpret = view_interpret,
    .known = view_known,
    .dump = view_dump,
    .pure = true,
    .carries = view_carries,
};
