/* cached_scan.c - a linear recurrence over the rows of each sequence: note [cached scan] in ops.h. */
#include "base/text.h"
#include "ops/rows.h"

static const char *cached_scan_broken(struct cx *cx, const struct op *op)
{
    struct value *const *in = op->inputs;

    (void)cx;
    if (op->input_count != CACHED_SCAN_INPUTS)
        return "it takes a factor, a term, a state and what is known of their rows";
    if (!dims_equal(in[CACHED_SCAN_FACTOR], in[CACHED_SCAN_TERM]) || in[CACHED_SCAN_TERM]->ndim < 1 ||
        !dtype_is_float(in[CACHED_SCAN_TERM]->dtype) ||
        in[CACHED_SCAN_FACTOR]->dtype != in[CACHED_SCAN_TERM]->dtype ||
        in[CACHED_SCAN_STATE]->dtype != in[CACHED_SCAN_TERM]->dtype ||
        in[CACHED_SCAN_STATE]->ndim != in[CACHED_SCAN_TERM]->ndim)
        return "its factor, term and state do not fit together";
    for (int i = 1; i < in[CACHED_SCAN_TERM]->ndim; i++)
        if (!dim_equal(in[CACHED_SCAN_TERM]->dims[i], in[CACHED_SCAN_STATE]->dims[i]))
            return "its factor, term and state do not fit together";
    for (int i = CACHED_SCAN_SEQUENCE; i < CACHED_SCAN_INPUTS; i++)
        if (!is_of_rows(in[i], in[CACHED_SCAN_TERM]->dims[0]))
            return "what says whose tokens its rows are does not fit";
    return NULL;
}

static const char *cached_scan_infer(struct cx *cx, struct op *op)
{
    const struct value *term = op->inputs[CACHED_SCAN_TERM];

    return set_output(cx, op, term->dtype, term->ndim, term->dims);
}

static void cached_scan_work(const struct op *op, struct op_work *work)
{
    const struct value *term = op->inputs[CACHED_SCAN_TERM];

    work->values = dims_upper(term->ndim, term->dims);
}

static bool cached_scan_carries(const struct op *op, int input)
{
    (void)op;
    return input <= CACHED_SCAN_STATE;
}

const struct op_row op_row_cached_scan = {
    .name = "cached_scan",
    .broken = cached_scan_broken,
    .infer = cached_scan_infer,
    .accepts = dense_accepts,
    .order = OP_ORDER_DENSE,
    .pure = true,
    .carries = cached_scan_carries,
    .work = cached_scan_work,
};
