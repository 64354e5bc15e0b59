/* scan.c - scan: sums and products of what stands before; sort: the order of elements; ctc: alignments. All along one axis. */
#include <assert.h>
#include <math.h>

#include "rows.h"

/* Places of a row along an axis: row r starts at row_start(), neighbours are `step` apart. */
static int64_t row_start(const struct tensor *tensor, int axis, int64_t row, int64_t *step)
{
    *step = 1;
    for (int i = axis + 1; i < tensor->ndim; i++)
        *step *= tensor->dims[i];
    return row / *step * *step * tensor->dims[axis] + row % *step;
}

static int64_t row_length(const struct tensor *tensor, int axis)
{
    return tensor->ndim > 0 ? tensor->dims[axis] : 1;
}

/* The input is floating or int64. */
const char *scan_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

    assert(op->scan.axis >= 0 && op->scan.axis < x->ndim && (dtype_is_float(x->dtype) || x->dtype == DTYPE_INT64));
    return set_output(cx, op, x->dtype, x->ndim, x->dims);
}

void scan_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int64_t n = row_length(output, op->scan.axis), rows = n > 0 ? tensor_count(output) / n : 0, step;
    bool floating = dtype_is_float(output->dtype);

    for (int64_t r = 0; r < rows; r++) {
        int64_t start = row_start(output, op->scan.axis, r, &step);
        double sum = op->scan.product;
        uint64_t whole = op->scan.product;

        for (int64_t i = 0; i < n; i++) {
            union scalar x = inputs[0]->data[start + i * step], *y = &output->data[start + i * step];

            if (floating) {
                sum = op->scan.product ? sum * x.f : sum + x.f;
                y->f = dtype_round(output->dtype, sum);
            } else {
                whole = op->scan.product ? whole * (uint64_t)x.i : whole + (uint64_t)x.i;
                y->i = (int64_t)whole;
            }
        }
    }
}

const char *sort_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

    assert(op->sort.axis >= 0 && op->sort.axis < x->ndim);
    return set_output(cx, op, DTYPE_INT64, x->ndim, x->dims);
}

/* Whether a stands before b, where they are not the same: NaN is above all. */
static bool before(const struct op *op, bool floating, union scalar a, union scalar b)
{
    if (op->sort.descending) {
        union scalar other = a;

        a = b;
        b = other;
    }
    return floating ? a.f < b.f || (isnan(b.f) && !isnan(a.f)) : a.i < b.i;
}

void sort_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0];
    int64_t n = row_length(x, op->sort.axis), rows = n > 0 ? tensor_count(x) / n : 0, step;
    bool floating = dtype_is_float(x->dtype);

    for (int64_t r = 0; r < rows; r++) {
        int64_t start = row_start(x, op->sort.axis, r, &step);

        for (int64_t i = 0; i < n; i++) { /* by insertion: constants are small */
            int64_t at = i;

            for (; at > 0; at--) {
                int64_t held = output->data[start + (at - 1) * step].i;

                if (!before(op, floating, x->data[start + i * step], x->data[start + held * step]))
                    break;
                output->data[start + at * step].i = held;
            }
            output->data[start + at * step].i = i;
        }
    }
}

/* The caller has seen to the shapes. */
const char *ctc_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

    assert(x->ndim == 3 && op->input_count == 5 && dtype_is_float(x->dtype));
    return op->ctc.gradient ? set_output(cx, op, x->dtype, 3, x->dims) : set_output(cx, op, x->dtype, 1, x->dims + 1);
}
