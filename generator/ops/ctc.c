/* ctc.c - how likely log-probabilities make labels, over all alignments. */
#include "base/text.h"
#include "ops/rows.h"

static const char *ctc_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->input_count == 5 && op->inputs[0]->ndim == 3 && dtype_is_float(op->inputs[0]->dtype)
               ? NULL
               : "it takes log-probabilities of three dimensions, labels, and three numbers a sample";
}

/* The caller has seen to the shapes. */
static const char *ctc_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];

    return op->ctc.gradient ? set_output(cx, op, x->dtype, 3, x->dims)
                            : set_output(cx, op, x->dtype, 1, x->dims + 1);
}

static void ctc_dump(struct text *text, const struct op *op)
{
    text_printf(text, " blank %lld%s", (long long)op->ctc.blank, op->ctc.gradient ? " gradient" : "");
}

/* By step, sample, and label or blank between labels: so many of exp and log. */
static void ctc_work(const struct op *op, struct op_work *work)
{
    const struct value *x = op->inputs[0];

    work->functions = (double)dim_upper(x->dims[0]) * (double)dim_upper(x->dims[1]) *
                      (2 * (double)dim_upper(op->ctc.labels) + 1) * (op->ctc.gradient ? 9 : 4);
}

const struct op_row op_row_ctc = {
    .name = "ctc",
    .broken = ctc_broken,
    .infer = ctc_infer,
    .accepts = dense_accepts,
    .dump = ctc_dump,
    .pure = true,
    .work = ctc_work,
};
