/* cached_attention.c - attention of rows over what is kept of their sequences: note [cached attention] in ops.h. */
#include <string.h>

#include "base/narrow.h"
#include "base/text.h"
#include "ops/rows.h"

static int scale_count(const struct op *op)
{
    return dtype_is_int(op->inputs[CACHED_KEYS]->dtype) ? 2 : 0;
}

struct value *cached_scales(const struct op *op, enum cached_input of)
{
    return scale_count(op) > 0 ? op->inputs[CACHED_PAGES + 1 + (of == CACHED_VALUES)] : NULL;
}

struct value *cached_bias(const struct op *op)
{
    const int at = CACHED_PAGES + 1 + scale_count(op);

    return at < op->input_count ? op->inputs[at] : NULL;
}

/* Keys and values may be narrow. */
static bool is_kept(const struct value *kept, enum dtype dtype)
{
    return kept->dtype == dtype || (dtype == DTYPE_FLOAT32 && narrow_of(kept->dtype));
}

/* One for each row of a token. */
static bool are_scales(const struct value *scales, const struct value *of)
{
    return scales->dtype == DTYPE_FLOAT32 && scales->ndim == 2 && dim_equal(scales->dims[0], of->dims[0]) &&
           dim_equal(scales->dims[1], of->dims[1]);
}

/* What is wrong with its types and shapes: the function that makes it says so before, in the user's words. */
static const char *cached_attention_broken(struct cx *cx, const struct op *op)
{
    struct value *const *in = op->inputs;
    const struct value *q, *k, *v, *bias;
    const struct dim *share;
    int least;

    if (op->input_count <= CACHED_PAGES)
        return "it takes queries, keys, values and what is known of their rows";
    least = CACHED_PAGES + 1 + scale_count(op);
    if (op->input_count < least || op->input_count > least + 1)
        return "it takes scales of what is kept in integers, and a bias";
    q = in[CACHED_QUERIES];
    k = in[CACHED_KEYS];
    v = in[CACHED_VALUES];
    bias = cached_bias(op);
    if (q->ndim != 3 || k->ndim != 3 || v->ndim != 3 || !dtype_is_float(q->dtype) || !is_kept(k, q->dtype) ||
        v->dtype != k->dtype || !dim_equal(k->dims[0], v->dims[0]) || !dim_equal(k->dims[1], v->dims[1]) ||
        !dim_equal(q->dims[2], k->dims[2]) || !dim_divides(&cx->arena, q->dims[1], k->dims[1], &share))
        return "its queries, keys and values do not fit together";
    if (scale_count(op) > 0 &&
        (!are_scales(cached_scales(op, CACHED_KEYS), k) || !are_scales(cached_scales(op, CACHED_VALUES), v)))
        return "its scales do not fit";
    if (!is_of_rows(in[CACHED_SEQUENCE], q->dims[0]) || !is_of_rows(in[CACHED_POSITION], q->dims[0]) ||
        in[CACHED_PAGES]->dtype != DTYPE_INT64 || in[CACHED_PAGES]->ndim != 2)
        return "what says whose tokens its rows are does not fit";
    if (bias && (bias->ndim != 2 || bias->dtype != q->dtype || !dim_equal(bias->dims[0], q->dims[1])))
        return "its bias does not fit";
    return op->cached.page > 0 && op->cached.window >= 0 && op->cached.softcap >= 0
               ? NULL
               : "its settings are wrong";
}

static const char *cached_attention_infer(struct cx *cx, struct op *op)
{
    const struct value *q = op->inputs[CACHED_QUERIES], *v = op->inputs[CACHED_VALUES];
    const struct dim *dims[] = {q->dims[0], q->dims[1], v->dims[2]};

    return set_output(cx, op, q->dtype, 3, dims);
}

static void cached_attention_dump(struct text *text, const struct op *op)
{
    text_printf(text, " scale %.9g page %lld", op->cached.scale, (long long)op->cached.page);
    if (op->cached.window)
        text_printf(text, " window %lld", (long long)op->cached.window);
    if (op->cached.softcap > 0)
        text_printf(text, " softcap %.9g", op->cached.softcap);
}

static enum op_accepts cached_attention_accepts(const struct op *op, int input)
{
    (void)op;
    return input == CACHED_QUERIES ? ACCEPT_LAST : ACCEPT_DENSE;
}

/* How many keys a row sees at most. */
static double most_seen(const struct op *op)
{
    double context = (double)dim_upper(op->inputs[CACHED_PAGES]->dims[1]) * (double)op->cached.page;

    return op->cached.window && (double)op->cached.window < context ? (double)op->cached.window : context;
}

/* Rows as they come along while a sequence grows: half of what is there at most. */
static double cached_attention_macs(const struct op *op)
{
    const struct value *q = op->inputs[CACHED_QUERIES], *v = op->inputs[CACHED_VALUES];
    double rows = (double)dim_upper(q->dims[0]) * (double)dim_upper(q->dims[1]);

    return rows * most_seen(op) / 2 * (double)(dim_upper(q->dims[2]) + dim_upper(v->dims[2]));
}

static void cached_attention_work(const struct op *op, struct op_work *work)
{
    const struct value *q = op->inputs[CACHED_QUERIES];

    work->macs = cached_attention_macs(op);
    work->functions = (double)dim_upper(q->dims[0]) * (double)dim_upper(q->dims[1]) * most_seen(op) / 2;
}

/* One sequence's keys and values: rows of a prompt share them. */
static double cached_attention_bytes(const struct op *op)
{
    const struct value *k = op->inputs[CACHED_KEYS], *v = op->inputs[CACHED_VALUES];
    double of_slot = (value_bytes(k) + value_bytes(v)) / (double)dim_upper(k->dims[0]) +
                     (double)scale_count(op) * dim_upper(k->dims[1]) * dtype_rows[DTYPE_FLOAT32].bytes;

    return value_bytes(op->inputs[CACHED_QUERIES]) + most_seen(op) / 2 * of_slot +
           value_bytes(op->outputs[0]);
}

/* None yet: what is kept has no gradient. */
static bool cached_attention_carries(const struct op *op, int input)
{
    return input <= CACHED_VALUES || op->inputs[input] == cached_bias(op);
}

const struct op_row op_row_cached_attention = {
    .name = "cached_attention",
    .broken = cached_attention_broken,
    .infer = cached_attention_infer,
    .accepts = cached_attention_accepts,
    .macs = cached_attention_macs,
    .dump = cached_attention_dump,
    .order = OP_ORDER_DENSE,
    .pure = true,
    .carries = cached_attention_carries,
    .work = cached_attention_work,
    .bytes = cached_attention_bytes,
};
