/* scan.c - scan: sums, products and the like of what stands before; sort: the order of elements; ctc: alignments. All along one axis. */
#include <assert.h>
#include <math.h>

#include "ops/rows.h"

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
    const struct value *x = op->inputs[op->scan.given];

    assert(op->scan.axis >= 0 && op->scan.axis < x->ndim &&
           (dtype_is_float(x->dtype) || x->dtype == DTYPE_INT64));
    return set_output(cx, op, x->dtype, x->ndim, x->dims);
}

/* Where an input that broadcasts to the output has what the output's element e reads. */
static int64_t read_at(const struct tensor *input, const struct tensor *output, int64_t e)
{
    int64_t at = 0, step = 1;

    for (int i = output->ndim - 1; i >= 0; e /= output->dims[i--]) {
        int axis = i - (output->ndim - input->ndim);

        if (axis < 0)
            break;
        at += input->dims[axis] == 1 ? 0 : e % output->dims[i] * step;
        step *= input->dims[axis];
    }
    return at;
}

void scan_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int64_t n = row_length(output, op->scan.axis), rows = n > 0 ? tensor_count(output) / n : 0, step;
    bool one = op->scan.kind == SCAN_PRODUCT;
    struct dag_run run;

    dag_run_start(&run, op->dag);
    for (int64_t r = 0; r < rows; r++) {
        int64_t start = row_start(output, op->scan.axis, r, &step);

        run.inputs[0] = op->scan.given                  ? inputs[0]->data[r]
                        : dtype_is_float(output->dtype) ? (union scalar){.f = one}
                                                        : (union scalar){.i = one};
        for (int64_t i = 0; i < n; i++) {
            int64_t e = start + (op->scan.reverse ? n - 1 - i : i) * step;

            for (int k = op->scan.given; k < op->input_count; k++)
                run.inputs[1 + k - op->scan.given] = inputs[k]->data[read_at(inputs[k], output, e)];
            run.inputs[0] = output->data[e] = dag_run_once(&run);
        }
    }
    dag_run_end(&run);
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
    return op->ctc.gradient ? set_output(cx, op, x->dtype, 3, x->dims)
                            : set_output(cx, op, x->dtype, 1, x->dims + 1);
}
