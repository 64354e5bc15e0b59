/* nms.c - which boxes stay where those that overlap a better one go. */
#include "base/text.h"
#include "ops/rows.h"

/* Inputs: boxes (n, 4), the order in which they are looked at (n), the overlap from which on they go. */
static const char *nms_broken(struct cx *cx, const struct op *op)
{
    const struct value *boxes = op->inputs[0];

    (void)cx;
    return op->input_count == 3 && boxes->ndim == 2 && dim_equals(boxes->dims[1], 4) &&
                   dtype_is_float(boxes->dtype) && op->inputs[1]->dtype == DTYPE_INT64 &&
                   op->inputs[2]->dtype == boxes->dtype && op->nms.most >= 0
               ? NULL
               : "it takes boxes, their order and a threshold";
}

/* The boxes that stay, then -1, and last how many they are. */
static const char *nms_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[] = {dim_const(&cx->arena, op->nms.most + 1)};

    return set_output(cx, op, DTYPE_INT64, 1, dims);
}

static void nms_dump(struct text *text, const struct op *op)
{
    text_printf(text, " most %lld", (long long)op->nms.most);
}

static bool nms_carries(const struct op *op, int input)
{
    (void)op;
    (void)input;
    return false;
}

/* Each box is held against those that stay: some ten operations. */
static void nms_work(const struct op *op, struct op_work *work)
{
    work->values = (double)dim_upper(op->inputs[0]->dims[0]) * ((double)op->nms.most + 1) * 10;
}

const struct op_row op_row_nms = {
    .name = "nms",
    .broken = nms_broken,
    .infer = nms_infer,
    .accepts = dense_accepts,
    .dump = nms_dump,
    .carries = nms_carries,
    .pure = true,
    .work = nms_work,
};
