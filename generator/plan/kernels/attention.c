/* attention.c - kernels of attention: one over blocks of queries, and those that it calls for a block of one head. */
#include "plan/kernels/draft.h"

#include <string.h>

static const char *attention_stem(struct cx *cx, const struct op *op)
{
    const struct value *q = op->inputs[0], *k = op->inputs[1];
    struct text text = text_new(&cx->arena);

    text_add(&text, "attention");
    name_dims(cx, &text, q->ndim, q->dims);
    text_add(&text, "_over_");
    name_dim(cx, &text, k->dims[k->ndim - 1]);
    text_add(&text, tail_name(op, "attention"));
    return text.data;
}

static const struct size *block_sizes(const struct draft *draft, int64_t queries, int64_t keys)
{
    const struct module_tree *tree = draft->plan->program->tree;
    static const char *const names[BLOCK_SIZES] = {"queries", "seen", "reach"};
    struct size *sizes = ARENA_ARRAY(&draft->cx->arena, BLOCK_SIZES, struct size);

    for (int i = 0; i < BLOCK_SIZES; i++) {
        const char *name = size_name(draft->cx, tree, names[i]);

        sizes[i] = (struct size){name, i == BLOCK_QUERIES ? queries : keys, tree->size_count + i, name};
    }
    return sizes;
}

/* Operands from `first` on, as arguments of a kernel over a block: where its first row is. */
static struct passed *pass_operands(struct draft *draft, int first, int end)
{
    static const char *const indices[] = {"batch0", "batch1", "row"};
    struct cx *cx = draft->cx;
    struct passed *list = NULL;
    int count = 0;

    for (int i = first; i < end; i++) {
        struct passed passed = {.name = arena_format(&cx->arena, "e%d", i - 3)};

        for (int axis = 0; axis < 3; axis++) {
            const struct dim *stride = batch_stride(cx, draft->op->inputs[i], axis);

            passed.steps[passed.step_count++] = (struct passed_step){.index = indices[axis],
                                                                     .stride = stride};
            dim_mark_sizes(stride, draft->kernel->used);
        }
        ARENA_PUSH(&cx->arena, list, count, passed);
    }
    return list;
}

/* What transposes the keys of a head into y. */
static void keys_kernel(struct draft *draft, struct value *y, struct value *keys)
{
    struct cx *cx = draft->cx;
    struct kernel *nest = map_nest(cx, draft->plan, y, dag_identity(&cx->arena, y->dtype), &keys, 1);
    struct text stem = text_new(&cx->arena);
    struct passed *passed = NULL;
    const struct kernel *kept;
    int count = 0;

    nest->role = "keys";
    text_add(&stem, "keys");
    name_dims(cx, &stem, y->ndim, y->dims);
    kept = keep_nest(cx, draft->plan, nest, stem.data);
    hole_kernel(draft, "T_KEYS", kept);
    pass_sizes(draft, &passed, &count, kept->used, NULL);
    hole_passed(draft, "T_KEYS_PASS", passed, count);
}

/* What the kernels of a block have as their operands. */
struct block {
    const struct size *sizes;         /* by BLOCK_QUERIES, BLOCK_SEEN, BLOCK_REACH */
    const struct dim *queries, *seen; /* of a block: its rows, and the keys that any of them sees */
    struct value *key, *scores;       /* keys of a head, and what its queries make of them, in scratch */
};

static void attention_strides(struct draft *draft, const struct op *op)
{
    static const char *const batches[] = {"T_batch0", "T_batch1"}, *const ys[] = {"T_y0", "T_y1", "T_ym"};
    static const char *const qs[] = {"T_q0", "T_q1", "T_qm"}, *const ks[] = {"T_k0", "T_k1"},
                             *const vs[] = {"T_v0", "T_v1"};
    const struct value *y = op->outputs[0];
    struct cx *cx = draft->cx;

    for (int i = 0; i < 2; i++) {
        int axis = y->ndim - 4 + i;

        hole_dim(draft, batches[i], axis >= 0 ? y->dims[axis] : dim_const(&cx->arena, 1));
        hole_dim(draft, ks[i], batch_stride(cx, op->inputs[1], i));
        hole_dim(draft, vs[i], batch_stride(cx, op->inputs[2], i));
    }
    for (int i = 0; i < 3; i++) {
        hole_dim(draft, ys[i], batch_stride(cx, y, i));
        hole_dim(draft, qs[i], batch_stride(cx, op->inputs[0], i));
    }
    hole_dim(draft, "T_m", y->dims[y->ndim - 2]);
}

static void attention_blocks(struct draft *draft, const struct op *op, const struct attention *plan,
                             const struct block *block)
{
    struct cx *cx = draft->cx;
    const struct value *k = op->inputs[1];

    hole_dim(draft, "T_rows", dim_const(&cx->arena, plan->rows));
    hole_int(draft, "T_even", plan->even);
    hole_int(draft, "T_turned", plan->turned);
    if (plan->turned)
        hole_dim(draft, "T_room", dim_const(&cx->arena, plan->room));
    hole_int(draft, "T_causal", op->attention.causal);
    if (op->attention.causal) {
        hole_dim(draft, "T_ahead", dim_const(&cx->arena, op->attention.ahead));
        hole_dim(draft, "T_n", k->dims[k->ndim - 1]);
    }
    hole_word(draft, "T_queries", block->sizes[BLOCK_QUERIES].c_name);
    hole_word(draft, "T_seen", block->sizes[BLOCK_SEEN].c_name);
    hole_word(draft, "T_reach", block->sizes[BLOCK_REACH].c_name);
}

static void scores_kernel(struct draft *draft, const struct op *op, const struct block *block)
{
    struct value *parts[] = {of_head(draft->cx, op->inputs[0], block->queries, NULL),
                             of_head(draft->cx, block->key, NULL, block->seen)};
    struct value *scores = block->scores;
    struct op part = {.code = GRAPH_OP_CONTRACT,
                      .label = "matmul",
                      .inputs = parts,
                      .input_count = 2,
                      .tail_first = 2,
                      .outputs = &scores};

    part_kernel(draft, &part, "matmul_strided", block->sizes, "T_SCORES", "scores", NULL, 0);
}

/* The weights, in the place of the scores. */
static void softmax_kernel(struct draft *draft, const struct op *op, const struct block *block)
{
    struct value *parts[32], *scores = block->scores;
    struct op part = {.code = GRAPH_OP_SOFTMAX,
                      .label = "softmax",
                      .inputs = parts,
                      .input_count = op->tail_first - 2,
                      .tail_first = 1,
                      .outputs = &scores,
                      .head = dag_is_identity(op->head) ? NULL : op->head};

    parts[0] = scores;
    for (int i = 3; i < op->tail_first; i++)
        parts[i - 2] = of_head(draft->cx, op->inputs[i], block->queries, block->seen);
    part.softmax.axis = 1;
    part.softmax.safe = op->attention.safe;
    part_kernel(draft, &part, "softmax", block->sizes, "T_SOFTMAX", "softmax",
                pass_operands(draft, 3, op->tail_first), op->tail_first - 3);
}

static void values_kernel(struct draft *draft, const struct op *op, const struct block *block)
{
    struct cx *cx = draft->cx;
    struct value *parts[32], *result = of_head(cx, op->outputs[0], block->queries, NULL);
    struct op part = {.code = GRAPH_OP_CONTRACT,
                      .label = arena_format(&cx->arena, "matmul%s", op->label + strlen("attention")),
                      .inputs = parts,
                      .input_count = 2 + op->input_count - op->tail_first,
                      .tail_first = 2,
                      .tail = op->tail,
                      .outputs = &result};

    parts[0] = block->scores;
    parts[1] = of_head(cx, op->inputs[2], block->seen, NULL);
    for (int i = op->tail_first; i < op->input_count; i++)
        parts[2 + i - op->tail_first] = of_head(cx, op->inputs[i], block->queries, NULL);
    part_kernel(draft, &part, "matmul_strided", block->sizes, "T_VALUES", "values",
                pass_operands(draft, op->tail_first, op->input_count), op->input_count - op->tail_first);
}

/* tail: it is said here, else by finish_comment. */
static const char *attention_comment(struct cx *cx, const struct op *op, bool tail)
{
    const struct value *q = op->inputs[0], *k = op->inputs[1], *v = op->inputs[2], *y = op->outputs[0];
    struct text text = text_new(&cx->arena);

    text_printf(&text, "y %s = softmax(s) . v %s, s = q %s . k %s", shape_text(&cx->arena, y->ndim, y->dims),
                shape_text(&cx->arena, v->ndim, v->dims), shape_text(&cx->arena, q->ndim, q->dims),
                shape_text(&cx->arena, k->ndim, k->dims));
    if (!dag_is_identity(op->head))
        text_printf(&text, ";\n * s is then %s", dag_text(cx, op->head));
    if (op->attention.causal)
        text_printf(&text, ";\n * query i sees keys 0 to %s",
                    op->attention.ahead ? arena_format(&cx->arena, "i + %lld", (long long)op->attention.ahead)
                                        : "i");
    if (op->tail && tail)
        text_printf(&text, ";\n * y is then %s", dag_text(cx, op->tail));
    return text.data;
}

/* ---- one kernel ----------------------------------------------------------------------------------------------- */

/* The strides of an input's last two axes behind those of the batches. */
static void strides_of(struct draft *draft, const struct value *value, const char *const names[4])
{
    for (int i = 0; i < 4; i++)
        hole_dim(draft, names[i], batch_stride(draft->cx, value, i));
}

/* What its tails read, those of the scores first. */
static void take_tails(struct draft *draft, const struct op *op)
{
    struct arena *arena = &draft->cx->arena;
    struct kernel *kernel = draft->kernel;

    kernel->tail = op->tail;
    kernel->tail_shared = op->tail && dag_is_shared(op->tail);
    kernel->scores = dag_is_identity(op->head) ? NULL : op->head;
    kernel->score_count = op->tail_first - 3;
    for (int i = 3; i < op->input_count; i++) {
        const struct value *value = op->inputs[i];
        struct tail_operand own = {
            element_of(draft, value->dtype), .row = batch_stride(draft->cx, value, 2),
            .column = batch_stride(draft->cx, value, 3),
            .batch = {batch_stride(draft->cx, value, 0), batch_stride(draft->cx, value, 1)}};

        dim_mark_sizes(own.row, kernel->used);
        dim_mark_sizes(own.batch[0], kernel->used);
        dim_mark_sizes(own.batch[1], kernel->used);
        ARENA_PUSH(arena, kernel->extras, kernel->extra_count, own);
    }
    if (kernel->scores)
        dag_mark_sizes(kernel->scores, kernel->used);
    if (kernel->tail)
        dag_mark_sizes(kernel->tail, kernel->used);
}

/* Of a kernel that calls none: its scores stay with it. */
static void holes_online(struct draft *draft, const struct op *op)
{
    enum { WIDEST = 8 }; /* parts of 32 columns that a warp has in its registers */
    struct cx *cx = draft->cx;
    const struct value *q = op->inputs[0], *k = op->inputs[1], *v = op->inputs[2];
    const struct dim *columns = v->dims[v->ndim - 1];
    const int64_t parts = (dim_upper(columns) + 31) / 32;

    attention_strides(draft, op);
    strides_of(draft, q, (const char *const[]){"T_q0", "T_q1", "T_qm", "T_qk"});
    strides_of(draft, k, (const char *const[]){"T_k0", "T_k1", "T_kk", "T_kn"});
    strides_of(draft, v, (const char *const[]){"T_v0", "T_v1", "T_vn", "T_vc"});
    hole_dim(draft, "T_n", k->dims[k->ndim - 1]);
    hole_dim(draft, "T_k", q->dims[q->ndim - 1]);
    hole_dim(draft, "T_c", columns);
    hole_int(draft, "T_parts", parts < 1 ? 1 : parts < WIDEST ? parts : WIDEST);
    hole_int(draft, "T_turned", dim_equals(k->strides[k->ndim - 1], 1));
    hole_int(draft, "T_safe", op->attention.safe);
    hole_int(draft, "T_causal", op->attention.causal);
    hole_dim(draft, "T_ahead", dim_const(&cx->arena, op->attention.ahead));
    take_tails(draft, op);
    draft->kernel->comment = attention_comment(cx, op, false);
}

/* ---- the row ------------------------------------------------------------------------------------------------- */

/* Of a kernel that calls others for its blocks. */
static void holes_blocks(struct draft *draft, const struct op *op)
{
    struct cx *cx = draft->cx;
    const struct value *q = op->inputs[0], *k = op->inputs[1];
    const struct attention plan = attention_of(op, draft->step->algorithm->whole);
    const struct dim *keys = k->dims[k->ndim - 1];
    struct block block = {.sizes = block_sizes(draft, plan.rows, dim_upper(keys)),
                          .key = of_head(cx, k, NULL, NULL)};

    add_scratch(draft, "s");
    block.queries = plan.even ? dim_const(&cx->arena, plan.rows)
                              : dim_size(&cx->arena, &block.sizes[BLOCK_QUERIES]);
    block.seen = op->attention.causal ? dim_size(&cx->arena, &block.sizes[BLOCK_SEEN]) : keys;
    attention_strides(draft, op);
    attention_blocks(draft, op, &plan, &block);
    block.scores = in_scratch(cx, draft->kernel->computed, block.queries, block.seen, plan.stride);
    if (plan.turned) {
        struct value *turned = in_scratch(cx, draft->kernel->computed, q->dims[q->ndim - 1], keys,
                                          plan.stride);

        keys_kernel(draft, turned, block.key);
        block.key = turned;
    }
    scores_kernel(draft, op, &block);
    softmax_kernel(draft, op, &block);
    values_kernel(draft, op, &block);
    draft->kernel->comment = attention_comment(cx, op, true);
}

static void holes_attention(struct draft *draft)
{
    static const char *const names[] = {"q", "k", "v"};

    for (int i = 0; i < 3; i++)
        add_parameter(draft, draft->result, false, names[i]);
    if (draft->step->algorithm->core)
        holes_blocks(draft, draft->op);
    else
        holes_online(draft, draft->op);
}

/* The tail is that of the product with the values. */
static const struct dag *attention_tail(const struct op *op)
{
    (void)op;
    return NULL;
}

static void attention_operands(struct making *making, struct kernel_call *call)
{
    for (int i = 0; i < 3; i++)
        add_value(making, call, making->step->op->inputs[i]);
}

const struct kernel_row attention_kernels = {.stem = attention_stem,
                                             .make = make_template,
                                             .holes = holes_attention,
                                             .operands = attention_operands,
                                             .tail = attention_tail,
                                             .own_inputs = 3,
                                             .writes = writes_last};
