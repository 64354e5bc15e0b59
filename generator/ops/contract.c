/* contract.c - matrix products, and the packing of a right operand into panels. */
#include <assert.h>
#include <string.h>

#include "ops/rows.h"

#define PANEL_BYTES 64

/* ---- contract ------------------------------------------------------------------------------------------------ */

const char *contract_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *a = op->inputs[0], *b = op->inputs[1];
    const char *shapes = arena_format(arena, "%s x %s", value_shape(arena, a), value_shape(arena, b));
    const struct dim *dims[MAX_DIMS], *columns;
    int ndim = a->ndim - 1;

    assert(a->ndim >= 1 && b->ndim >= 2);
    assert(a->dtype == b->dtype && (dtype_is_float(a->dtype) || dtype_is_int(a->dtype)));
    if (!dim_equal(a->dims[a->ndim - 1], b->dims[b->ndim - 2]))
        return arena_format(arena, "%s: %s: the inner dimensions %s", op->label, shapes,
                            dims_differ(arena, a->dims[a->ndim - 1], b->dims[b->ndim - 2]));
    columns = b->dims[b->ndim - 1];
    memcpy(dims, a->dims, sizeof dims);
    if (b->ndim > 2) {
        struct value batch = {.ndim = b->ndim - 2};
        int count = a->ndim - 2;

        assert(a->ndim >= 2);
        memcpy(batch.dims, b->dims, sizeof batch.dims);
        if (!dims_broadcast(cx, dims, &count, &batch))
            return arena_format(arena, "%s: %s: the leading dimensions do not broadcast", op->label, shapes);
        dims[count] = a->dims[a->ndim - 2];
        ndim = count + 1;
    }
    dims[ndim++] = columns;
    if (op->contract.bias) {
        const struct value *bias = op->inputs[2];

        if (bias->ndim != 1 || !dim_equal(bias->dims[0], columns) || bias->dtype != a->dtype)
            return arena_format(arena, "%s: %s + bias %s: the bias needs %s elements of type %s", op->label,
                                shapes, value_shape(arena, bias), dim_text(arena, columns),
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

void contract_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
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

double contract_macs(const struct op *op)
{
    const struct value *a = op->inputs[0], *y = op->outputs[0];

    return dims_upper(y->ndim, y->dims) * (double)dim_upper(a->dims[a->ndim - 1]);
}

/* ---- panels -------------------------------------------------------------------------------------------------- */

/* (k, n) becomes (ceil(n / P), k, P), the last panel filled up with zeros. transposed: the input is (n, k). */
const char *panels_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *input = op->inputs[0];
    bool transposed = op->panels.transposed;
    int64_t width = PANEL_BYTES / dtype_rows[input->dtype].bytes;

    assert(input->ndim == 2);

    const struct dim *k = input->dims[transposed ? 1 : 0], *n = input->dims[transposed ? 0 : 1];
    const struct dim *dims[3] = {
        dim_floordiv(arena, dim_add(arena, n, dim_const(arena, width - 1)), dim_const(arena, width)), k,
        dim_const(arena, width)};

    return set_output(cx, op, input->dtype, 3, dims);
}

void panels_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *input = inputs[0];
    bool transposed = op->panels.transposed, floating = dtype_is_float(input->dtype);
    int64_t panels = output->dims[0], k = output->dims[1], width = output->dims[2];
    int64_t n = input->dims[transposed ? 0 : 1];
    union scalar *y = output->data, zero = {.i = 0};

    if (floating)
        zero.f = 0;
    for (int64_t p = 0; p < panels; p++)
        for (int64_t r = 0; r < k; r++)
            for (int64_t lane = 0; lane < width; lane++) {
                int64_t c = p * width + lane;

                *y++ = c >= n ? zero : input->data[transposed ? c * k + r : r * n + c];
            }
}
