/* contract.c - matrix products. */
#include <string.h>

#include "ops/rows.h"

static const char *contract_broken(struct cx *cx, const struct op *op)
{
    const struct value *a = op->inputs[0], *b = op->inputs[1];

    (void)cx;
    if (op->tail_first != 2 + op->contract.bias || a->ndim < 1 || b->ndim < 2 || (b->ndim > 2 && a->ndim < 2))
        return "it has not the operands of a product";
    return a->dtype == b->dtype && (dtype_is_float(a->dtype) || dtype_is_int(a->dtype))
               ? NULL
               : "it multiplies types that it cannot";
}

static const char *shapes_text(struct arena *arena, const struct op *op)
{
    return arena_format(arena, "%s x %s", value_shape(arena, op->inputs[0]),
                        value_shape(arena, op->inputs[1]));
}

const char *contract_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *a = op->inputs[0], *b = op->inputs[1];
    const struct dim *dims[MAX_DIMS], *columns;
    int ndim = a->ndim - 1;

    if (!dim_equal(a->dims[a->ndim - 1], b->dims[b->ndim - 2]))
        return arena_format(arena, "%s: %s: the inner dimensions %s", op->label, shapes_text(arena, op),
                            dims_differ(arena, a->dims[a->ndim - 1], b->dims[b->ndim - 2]));
    columns = b->dims[b->ndim - 1];
    memcpy(dims, a->dims, sizeof dims);
    if (b->ndim > 2) {
        struct value batch = {.ndim = b->ndim - 2};
        int count = a->ndim - 2;

        memcpy(batch.dims, b->dims, sizeof batch.dims);
        if (!dims_broadcast(cx, dims, &count, &batch))
            return arena_format(arena, "%s: %s: the leading dimensions do not broadcast", op->label,
                                shapes_text(arena, op));
        dims[count] = a->dims[a->ndim - 2];
        ndim = count + 1;
    }
    dims[ndim++] = columns;
    if (op->contract.bias) {
        const struct value *bias = op->inputs[2];

        if (bias->ndim != 1 || !dim_equal(bias->dims[0], columns) || bias->dtype != a->dtype)
            return arena_format(arena, "%s: %s + bias %s: the bias needs %s elements of type %s", op->label,
                                shapes_text(arena, op), value_shape(arena, bias), dim_text(arena, columns),
                                dtype_rows[a->dtype].name);
    }
    return set_output(cx, op, a->dtype, ndim, dims);
}

static void multiply_rows(bool floating, const union scalar *a, const union scalar *b, union scalar *y,
                          int64_t k, int64_t n)
{
    for (int64_t i = 0; i < k; i++) {
        const union scalar *row = b + i * n;

        if (floating) {
            double factor = a[i].f;

            for (int64_t o = 0; o < n; o++)
                y[o].f += factor * row[o].f;
        } else {
            uint64_t factor = (uint64_t)a[i].i;

            for (int64_t o = 0; o < n; o++)
                y[o].i = (int64_t)((uint64_t)y[o].i + factor * (uint64_t)row[o].i);
        }
    }
}

/* The leading dimensions of a tensor without its last `matrix` axes; NULL data. */
static struct tensor leading(const struct tensor *tensor, int matrix)
{
    struct tensor result = *tensor;

    result.ndim = tensor->ndim - matrix;
    return result;
}

static void contract_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *a = inputs[0], *b = inputs[1];
    int64_t k = a->dims[a->ndim - 1], n = b->dims[b->ndim - 1];
    int64_t m = b->ndim > 2 ? a->dims[a->ndim - 2] : tensor_count(output) / (n > 0 ? n : 1);
    bool batched = b->ndim > 2, floating = dtype_is_float(a->dtype);
    struct tensor a_lead = leading(a, 2), b_lead = leading(b, 2);
    int64_t count = tensor_count(output), batches = m * n > 0 ? count / (m * n) : 0;
    union scalar zero = {.i = 0};
    struct walk walk;

    if (floating)
        zero.f = 0;
    walk_start(&walk, batched ? output->ndim - 2 : 0, output->dims);
    if (batched) {
        walk_add(&walk, &a_lead);
        walk_add(&walk, &b_lead);
    } else {
        walk.at[0] = walk.at[1] = 0;
    }
    for (int64_t batch = 0; batch < batches; batch++, walk_next(&walk)) {
        for (int64_t r = 0; r < m; r++) {
            union scalar *y = output->data + (batch * m + r) * n;

            for (int64_t o = 0; o < n; o++)
                y[o] = op->contract.bias ? inputs[2]->data[o] : zero;
            multiply_rows(floating, a->data + (walk.at[0] * m + r) * k, b->data + walk.at[1] * k * n, y, k,
                          n);
        }
    }
    for (int64_t e = 0; !floating && e < count; e++)
        output->data[e].i = dtype_wrap(a->dtype, output->data[e].i);
    if (floating)
        round_output(output, a->dtype);
    run_tail(op, inputs, output);
}

static double contract_macs(const struct op *op)
{
    const struct value *a = op->inputs[0], *y = op->outputs[0];

    return dims_upper(y->ndim, y->dims) * (double)dim_upper(a->dims[a->ndim - 1]);
}

static enum op_accepts contract_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    return input == 0 ? ACCEPT_ROWS : input == 1 ? ACCEPT_ANY : ACCEPT_DENSE;
}

static bool contract_packs(const struct op *op, int input)
{
    return input >= 1 && input < op->tail_first;
}

static int contract_bias(const struct op *op)
{
    return op->contract.bias ? 2 : -1;
}

/* No elements, or sums of none. */
static int contract_nothing(const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    bool empty = !op->contract.bias && dim_equals(x->dims[x->ndim - 1], 0);

    for (int i = 0; i < y->ndim; i++)
        empty |= dim_equals(y->dims[i], 0);
    return empty ? 0 : -1;
}

static bool contract_once(const struct op *op)
{
    return !op->contract.bias && !op->tail && dtype_is_float(op->outputs[0]->dtype) &&
           op->outputs[0]->ndim <= 4 && contract_nothing(op) < 0;
}

/* Of many small matrices whose rows do not lie side by side: a copy makes vectors of several at a time. */
static bool contract_gathers(const struct op *op, int input)
{
    enum { FEW = 8, SHORT = 16, SMALL = 64 };
    const struct value *w = op->inputs[1];
    int last = w->ndim - 1;
    int64_t k, n, batches = 1;

    if (input != 1 || w->ndim < 3 || dim_equals(w->strides[last], 1) || !dim_is_const(w->dims[last], &n) ||
        !dim_is_const(w->dims[last - 1], &k))
        return false;
    for (int i = 0; i < last - 1; i++)
        batches *= dim_equals(w->strides[i], 0) ? 1 : dim_upper(w->dims[i]);
    return batches >= FEW && n > 1 && k < SHORT && n * k <= SMALL;
}

static void contract_work(const struct op *op, struct op_work *work)
{
    work->macs = contract_macs(op);
}

const struct op_row op_row_contract = {
    .order = OP_ORDER_DENSE,
    .name = "contract",
    .broken = contract_broken,
    .infer = contract_infer,
    .interpret = contract_interpret,
    .once = contract_once,
    .accepts = contract_accepts,
    .packs = contract_packs,
    .bias = contract_bias,
    .macs = contract_macs,
    .nothing = contract_nothing,
    .tail = TAIL_BY_ROWS,
    .pure = true,
    .work = contract_work,
    .varied = true,
    .tiled = true,
    .weighted = true,
    .narrow = true,
    .strided = true,
    .gathers = contract_gathers,
    .unpacked = true,
    .outputs_axis = 1,
};
