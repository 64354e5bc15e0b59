/* scan.c - scan: sums, products and the like of what stands before; sort: the order of elements. Both along one axis. */
#include <math.h>

#include "base/text.h"
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

/* The dims that its inputs have together, but for what stands before the first element. */
static bool scanned_dims(struct cx *cx, const struct op *op, const struct dim **dims, int *ndim)
{
    *ndim = 0;
    for (int i = op->scan.given; i < op->input_count; i++)
        if (!dims_broadcast(cx, dims, ndim, op->inputs[i]))
            return false;
    return true;
}

static const char *scan_broken(struct cx *cx, const struct op *op)
{
    const struct dim *dims[MAX_DIMS];
    enum dtype dtype = op->dag ? op->dag->nodes[op->dag->result].dtype : DTYPE_BOOL;
    int ndim;

    if (!dtype_is_float(dtype) && dtype != DTYPE_INT64)
        return "it scans another type than it can";
    if (op->scan.given && (op->input_count == 0 || op->inputs[0]->dtype != dtype))
        return "it begins with another type";
    return scanned_dims(cx, op, dims, &ndim) && op->scan.axis >= 0 && op->scan.axis < MAX_DIMS
               ? NULL
               : "its axis is not there";
}

/* The dag's result is floating or int64. */
static const char *scan_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[MAX_DIMS];
    int ndim;

    scanned_dims(cx, op, dims, &ndim);
    return set_output(cx, op, op->dag->nodes[op->dag->result].dtype, ndim, dims);
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

static void scan_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
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

static void scan_dump(struct text *text, const struct op *op)
{
    text_printf(text, " axis %d%s%s", op->scan.axis, op->scan.reverse ? " reverse" : "",
                op->scan.given ? " from" : "");
}

static bool scan_body(struct op *op, struct op_body *body)
{
    *body = (struct op_body){
        .dag = &op->dag, .base = op->scan.given, .first = 1, .whole = op->outputs[0], .serial = true};
    return true;
}

const struct op_row op_row_scan = {
    .name = "scan",
    .broken = scan_broken,
    .infer = scan_infer,
    .interpret = scan_interpret,
    .dump = scan_dump,
    .body = scan_body,
    .pure = true,
    .fills = true,
};

static const char *sort_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->sort.axis >= 0 && op->sort.axis < op->inputs[0]->ndim ? NULL : "its axis is not there";
}

static const char *sort_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

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

static void sort_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
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

static void sort_dump(struct text *text, const struct op *op)
{
    text_printf(text, " axis %d%s", op->sort.axis, op->sort.descending ? " descending" : "");
}

const struct op_row op_row_sort = {
    .name = "sort",
    .broken = sort_broken,
    .infer = sort_infer,
    .interpret = sort_interpret,
    .dump = sort_dump,
    .pure = true,
};
