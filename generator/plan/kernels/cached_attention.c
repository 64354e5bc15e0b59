/* cached_attention.c - kernels of attention over what is kept of sequences. */
#include "plan/kernels/draft.h"

static const char *cached_attention_stem(struct cx *cx, const struct op *op)
{
    const struct value *q = op->inputs[CACHED_QUERIES], *k = op->inputs[CACHED_KEYS];
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, q->ndim, q->dims);
    text_add(&text, "_over_");
    name_dim(cx, &text, k->dims[0]);
    return text.data;
}

/* On CUDA: how many heads of a group a warp takes at a time, a power of 2, and columns. */
static void holes_block(struct draft *draft, const struct op *op)
{
    enum { MOST_QUERIES = 4, MOST_PARTS = 4, LANES = 32 };
    const struct value *q = op->inputs[CACHED_QUERIES], *v = op->inputs[CACHED_VALUES];
    const int64_t share = dim_upper(q->dims[1]) / dim_upper(v->dims[1]);
    const int64_t parts = (dim_upper(v->dims[2]) + LANES - 1) / LANES;
    int queries = 1;

    while (queries < share && queries < MOST_QUERIES)
        queries *= 2;
    hole_int(draft, "T_queries", queries);
    hole_int(draft, "T_aligned", op->cached.page % (LANES / queries) == 0);
    hole_int(draft, "T_parts", parts < 1 ? 1 : parts < MOST_PARTS ? parts : MOST_PARTS);
}

/* What a score is multiplied with, and what bounds it. */
static void holes_score(struct draft *draft, const struct op *op)
{
    const bool capped = op->cached.softcap > 0;
    const enum dtype dtype = draft->kernel->computed;

    hole_int(draft, "T_capped", capped);
    hole_number(draft, "T_scale", dtype, capped ? op->cached.scale / op->cached.softcap : op->cached.scale);
    if (capped)
        hole_number(draft, "T_cap", dtype, op->cached.softcap);
}

static const char *cached_attention_comment(struct cx *cx, const struct op *op)
{
    const struct value *q = op->inputs[CACHED_QUERIES], *k = op->inputs[CACHED_KEYS],
                       *v = op->inputs[CACHED_VALUES], *y = op->outputs[0];
    struct text text = text_new(&cx->arena);

    text_printf(&text, "y %s = softmax(s) . v %s, s = %.9g * q %s . k %s",
                shape_text(&cx->arena, y->ndim, y->dims), shape_text(&cx->arena, v->ndim, v->dims),
                op->cached.scale, shape_text(&cx->arena, q->ndim, q->dims),
                shape_text(&cx->arena, k->ndim, k->dims));
    if (op->cached.softcap > 0)
        text_printf(&text, ";\n * s is then %.9g * tanh(s / %.9g)", op->cached.softcap, op->cached.softcap);
    if (cached_scales(op, CACHED_KEYS))
        text_add(&text, ";\n * k and v are multiples of their scales");
    if (cached_bias(op))
        text_add(&text, ";\n * bias is added, by how far back a key lies");
    text_add(&text, ";\n * over what is kept of each row's sequence, up to its position");
    if (op->cached.window)
        text_printf(&text, ", the last %lld", (long long)op->cached.window);
    return text.data;
}

/* Keys or values, which may be kept in another type than is computed with. */
static void add_kept(struct draft *draft, const char *name, const struct value *kept)
{
    const struct element element = element_of(draft, kept->dtype);

    add_parameter(draft, (struct element){element.stored, draft->kernel->computed}, false, name);
}

static void holes_cached_attention(struct draft *draft)
{
    static const char *const names[] = {"sequence", "position", "pages"};
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *q = op->inputs[CACHED_QUERIES], *k = op->inputs[CACHED_KEYS],
                       *v = op->inputs[CACHED_VALUES], *pages = op->inputs[CACHED_PAGES];
    const struct value *bias = cached_bias(op), *scales = cached_scales(op, CACHED_KEYS);

    add_parameter(draft, element_of(draft, q->dtype), false, "q");
    add_kept(draft, "k", k);
    add_kept(draft, "v", v);
    for (int i = 0; i < COUNT(names); i++)
        add_parameter(draft, element_of(draft, DTYPE_INT64), false, names[i]);
    add_parameter(draft, element_of(draft, q->dtype), false, "bias");
    if (scales) {
        add_parameter(draft, element_of(draft, scales->dtype), false, "k_scale");
        add_parameter(draft, element_of(draft, scales->dtype), false, "v_scale");
    }
    hole_int(draft, "T_scaled", scales != NULL);
    add_scratch(draft, "s");
    guard_reads(draft);
    hole_dim(draft, "T_m", q->dims[0]);
    hole_dim(draft, "T_heads", q->dims[1]);
    hole_dim(draft, "T_groups", k->dims[1]);
    hole_dim(draft, "T_d", q->dims[2]);
    hole_dim(draft, "T_c", v->dims[2]);
    hole_dim(draft, "T_qm", q->strides[0]);
    hole_dim(draft, "T_qh", q->strides[1]);
    hole_dim(draft, "T_per", pages->dims[1]);
    hole_dim(draft, "T_page", dim_const(&cx->arena, op->cached.page));
    hole_dim(draft, "T_room", dim_const(&cx->arena, cached_attention_room(op)));
    hole_int(draft, "T_windowed", op->cached.window > 0);
    if (op->cached.window)
        hole_dim(draft, "T_window", dim_const(&cx->arena, op->cached.window));
    hole_int(draft, "T_bias", bias != NULL);
    if (bias)
        hole_dim(draft, "T_n", bias->dims[1]);
    hole_int(draft, "T_vector_math", draft->kernel->computed == DTYPE_FLOAT32);
    holes_score(draft, op);
    holes_block(draft, op);
    draft->kernel->comment = cached_attention_comment(cx, op);
}

static void cached_attention_operands(struct making *making, struct kernel_call *call)
{
    const struct op *op = making->step->op;

    for (int i = 0; i <= CACHED_PAGES; i++)
        add_value(making, call, op->inputs[i]);
    if (cached_bias(op))
        add_value(making, call, cached_bias(op));
    else
        add_null(making, call);
    for (int of = CACHED_KEYS; of <= CACHED_VALUES && cached_scales(op, of); of++)
        add_value(making, call, cached_scales(op, of));
}

const struct kernel_row cached_attention_kernels = {.stem = cached_attention_stem,
                                                    .make = make_template,
                                                    .holes = holes_cached_attention,
                                                    .operands = cached_attention_operands,
                                                    .own_inputs = CACHED_MOST};
