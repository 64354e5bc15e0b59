/* recurrent.c - kernels of recurrent layers and of their gradients. */
#include "plan/kernels/draft.h"

static const char *recurrent_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, 2, y->dims);
    text_add(&text, "x");
    name_dim(cx, &text, recurrent_width(&cx->arena, op));
    if (op->recurrent.has[RECURRENT_PROJECTION]) {
        text_add(&text, "_to_");
        name_dim(cx, &text, recurrent_input(op, RECURRENT_WEIGHT)->dims[1]);
    }
    if (op->recurrent.has[RECURRENT_INPUT_WEIGHT]) {
        text_add(&text, "_of_");
        name_dim(cx, &text, x->dims[2]);
    }
    text_printf(&text, "%s%s", op->recurrent.reverse ? "_reverse" : "", op->recurrent.saves ? "_saving" : "");
    return text.data;
}

/* The same for all layers of a kind. */
static const char *gates_stem(const struct op *op)
{
    static const char *const stems[] = {"tanh_units", "relu_units", "gates", "gates"};

    return stems[op->recurrent.kind];
}

/* The parameters of a recurrent kernel behind y: the other outputs, then the inputs in their order and what it works in, those
 * from the role `given` on in T_GIVEN. */
static void add_operands(struct draft *draft, const char *const *outputs, enum recurrent_input given)
{
    static const char *const names[RECURRENT_INPUTS] = {"x",       "w",       "bias",    "h",          "c",
                                                        "project", "lengths", "w_input", "bias_input", "kept",
                                                        "states",  "dy",      "dlast",   "dcell_last"};
    const struct op *op = draft->op;
    int first = draft->kernel->parameter_count;

    for (int i = 1; i < op->output_count; i++)
        add_parameter(draft, element_of(draft, op->outputs[i]->dtype), true, outputs[i]);
    hole_parameters(draft, "T_KEPT", first);
    for (int i = 0; i < RECURRENT_INPUTS; i++) {
        if (i == (int)given)
            first = draft->kernel->parameter_count;
        if (op->recurrent.has[i])
            add_parameter(draft,
                          i == RECURRENT_WEIGHT && draft->narrow
                              ? draft->weights
                              : element_of(draft, recurrent_input(op, i)->dtype),
                          false, names[i]);
        else
            name_pointer(draft, names[i], draft->result);
    }
    add_scratch(draft, "v");
    hole_parameters(draft, "T_GIVEN", first);
}

/* How much of a row a step keeps for its gradient. */
static const struct dim *kept_width(struct cx *cx, const struct op *op)
{
    return dim_mul(&cx->arena, dim_const(&cx->arena, recurrent_saved(op->recurrent.kind)),
                   recurrent_width(&cx->arena, op));
}

/* What both directions of time are told alike. y: the states, or their gradient. */
static void holes_steps(struct draft *draft, const struct value *y)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    enum recurrent_kind kind = op->recurrent.kind;
    const struct dim *units = recurrent_width(&cx->arena, op);

    hole_int(draft, "T_lstm", kind == RECURRENT_LSTM);
    hole_int(draft, "T_gru", kind == RECURRENT_GRU);
    hole_int(draft, "T_relu", kind == RECURRENT_RELU);
    hole_int(draft, "T_gates", recurrent_gates(kind));
    hole_int(draft, "T_sigmoid", recurrent_gates(kind) > 1);
    hole_dim(draft, "T_start",
             op->recurrent.reverse ? dim_sub(&cx->arena, y->dims[0], dim_const(&cx->arena, 1))
                                   : dim_const(&cx->arena, 0));
    hole_dim(draft, "T_along", dim_const(&cx->arena, op->recurrent.reverse ? -1 : 1));
    hole_int(draft, "T_projects", op->recurrent.has[RECURRENT_PROJECTION]);
    hole_int(draft, "T_lengths", op->recurrent.has[RECURRENT_LENGTHS]);
    hole_int(draft, "T_vector_math", draft->kernel->computed == DTYPE_FLOAT32);
    hole_int(draft, "T_rounds", draft->result.stored != draft->result.computed);
    hole_dim(draft, "T_h", units);
    hole_dim(draft, "T_k", y->dims[2]);
    hole_dim(draft, "T_l", y->dims[0]);
    hole_extent(draft, "T_m", y->dims[1]);
}

/* Of a kernel that calls none for its parts: rows and threads of a block. Several rows read the weights once; so few that blocks of one
 * leave no part of a GPU idle are done sooner by these. */
static void holes_block(struct draft *draft, const struct dim *rows)
{
    enum { ROWS = 4, MANY = 192, THREADS = 512, OF_UNIT = 8 };
    const int64_t threads = (dim_upper(recurrent_width(&draft->cx->arena, draft->op)) * OF_UNIT + 31) / 32 *
                            32;

    hole_int(draft, "T_rows", dim_upper(rows) < MANY ? 1 : ROWS);
    hole_int(draft, "T_threads", threads < THREADS ? threads : THREADS);
}

static const char *recurrent_text(struct cx *cx, const struct op *op)
{
    static const char *const kinds[] = {"an Elman network", "an Elman network of relu", "an LSTM", "a GRU"};

    return arena_format(&cx->arena, "%s%s", kinds[op->recurrent.kind],
                        op->recurrent.reverse ? " from the end back" : "");
}

static void holes_recurrent(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const bool *has = op->recurrent.has;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct dim *gate_count = op->inputs[1]->dims[0];
    bool ahead = has[RECURRENT_INPUT_WEIGHT];
    bool lstm = op->recurrent.kind == RECURRENT_LSTM,
         panels = draft->step->algorithm->weight == PACKED_PANELS;
    int made = 1, gates = recurrent_gates(op->recurrent.kind);
    const char *outputs[4];

    if (has[RECURRENT_LENGTHS]) {
        hole_dim(draft, "T_lastm", op->outputs[made]->strides[0]);
        outputs[made++] = "last";
    }
    if (lstm) {
        hole_dim(draft, "T_cellm", op->outputs[made]->strides[0]);
        outputs[made++] = "cell";
    }
    if (op->recurrent.saves)
        hole_dim(draft, "T_keptm", kept_width(cx, op));
    outputs[made] = "kept";
    draft->apart = draft->step->algorithm->parts != NULL;
    add_operands(draft, outputs, RECURRENT_BIAS);
    name_pointer(draft, "inputs", ahead ? element_of(draft, draft->kernel->computed) : draft->input);
    name_pointer(draft, "state", draft->result);
    holes_steps(draft, y);
    holes_block(draft, y->dims[1]);
    hole_int(draft, "T_saves", op->recurrent.saves);
    hole_int(draft, "T_wide", gates == 1 ? 8 : 2);
    hole_int(draft, "T_across", gates == 1 ? 2 : 1);
    hole_int(draft, "T_bias", has[RECURRENT_BIAS]);
    hole_int(draft, "T_state", has[RECURRENT_STATE]);
    hole_int(draft, "T_panels", panels);
    hole_int(draft, "T_ahead", ahead);
    hole_int(draft, "T_input_bias", has[RECURRENT_INPUT_BIAS]);
    if (ahead) {
        hole_dim(draft, "T_in", x->dims[2]);
        hole_dim(draft, "T_inl", x->strides[0]);
    }
    hole_dim(draft, "T_xl", ahead ? gate_count : x->strides[0]);
    hole_dim(draft, "T_xm", ahead ? gate_count : x->strides[1]);
    hole_dim(draft, "T_yl", y->strides[0]);
    hole_dim(draft, "T_ym", y->strides[1]);
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = the states of %s over %s%s%s%s, weight (%s, %s)%s",
        shape_text(&cx->arena, 3, y->dims), recurrent_text(cx, op),
        arena_format(&cx->arena, "x %s%s%s", shape_text(&cx->arena, 3, x->dims), ahead ? " . w_input^T" : "",
                     has[RECURRENT_INPUT_BIAS] ? " + bias_input" : ""),
        has[RECURRENT_STATE] ? ", from a state" : "",
        has[RECURRENT_LENGTHS] ? ", rows of their own lengths" : "",
        has[RECURRENT_PROJECTION] ? ", projected" : "", dim_text(&cx->arena, op->inputs[1]->dims[0]),
        dim_text(&cx->arena, y->dims[2]),
        draft->narrow
            ? arena_format(&cx->arena, " in %s", dtype_rows[step_packed(draft->step, 1)->dtype].name)
            : "");
}

/* A part that is a product: y = x . w, or y + x . w, `over` being where y is in the template. */
static void product_kernel(struct draft *draft, struct value *y, struct value *x, struct value *w,
                           const char *name, const char *over)
{
    struct arena *arena = &draft->cx->arena;
    struct value *operands[] = {x, w, y};
    struct passed *passed = NULL;
    int count = 0;
    struct op part = {.code = GRAPH_OP_CONTRACT,
                      .label = "matmul",
                      .inputs = operands,
                      .input_count = over ? 3 : 2,
                      .tail_first = 2,
                      .outputs = &y};

    if (over) {
        part.label = "matmul_add";
        part.tail = dag_new(arena, 2);
        part.tail->result = dag_prim(arena, part.tail, PRIM_ADD, y->dtype,
                                     dag_load(arena, part.tail, 0, y->dtype),
                                     dag_load(arena, part.tail, 1, y->dtype), 0);
        ARENA_PUSH(arena, passed, count, (struct passed){.name = over});
    }
    part_kernel(draft, &part, "matmul_strided", NULL, name, over ? "carry" : "project", passed, count);
}

static void holes_recurrent_gradient(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const bool *has = op->recurrent.has;
    const struct value *dy = recurrent_input(op, RECURRENT_D_STATES),
                       *states = recurrent_input(op, RECURRENT_STATES);
    struct value *weight = recurrent_input(op, RECURRENT_WEIGHT),
                 *projection = recurrent_input(op, RECURRENT_PROJECTION);
    bool gru = op->recurrent.kind == RECURRENT_GRU;
    const char *outputs[5];
    int made = 1;

    if (gru)
        outputs[made++] = "dhidden";
    outputs[made++] = "dstate";
    if (op->recurrent.kind == RECURRENT_LSTM)
        outputs[made++] = "dcell";
    outputs[made] = "dsum";
    draft->apart = draft->step->algorithm->parts != NULL;
    add_operands(draft, outputs, RECURRENT_GATES);
    name_pointer(draft, "dhidden", draft->result); /* where they are no outputs */
    name_pointer(draft, "dcell", draft->result);
    name_pointer(draft, "before", draft->result);
    name_pointer(draft, "slopes",
                 projection ? element_of(draft, draft->kernel->computed) : element_of(draft, dy->dtype));
    holes_steps(draft, dy);
    holes_block(draft, dy->dims[1]);
    hole_int(draft, "T_to_state", op->recurrent.to_state);
    hole_int(draft, "T_last", has[RECURRENT_D_LAST]);
    hole_int(draft, "T_cell", has[RECURRENT_D_CELL]);
    hole_int(draft, "T_h0", has[RECURRENT_STATE]);
    hole_int(draft, "T_c0", has[RECURRENT_CELL]);
    hole_int(draft, "T_keeps", has[RECURRENT_SAVED]);
    if (has[RECURRENT_SAVED])
        hole_dim(draft, "T_keptm", kept_width(cx, op));
    hole_dim(draft, "T_dyl", dy->strides[0]);
    hole_dim(draft, "T_dym", dy->strides[1]);
    if (states) {
        hole_dim(draft, "T_sl", states->strides[0]);
        hole_dim(draft, "T_sm", states->strides[1]);
    }
    if (draft->apart)
        product_kernel(draft, op->outputs[1 + gru], of_head(cx, op->outputs[0], NULL, NULL), weight,
                       "T_CARRY", "dstate");
    if (draft->apart && projection)
        product_kernel(draft,
                       in_scratch(cx, draft->kernel->computed, dy->dims[1], projection->dims[1],
                                  dim_upper(projection->dims[1])),
                       of_head(cx, op->outputs[op->output_count - 1], NULL, NULL), projection, "T_PROJECT",
                       NULL);
    draft->kernel->comment = arena_format(
        &cx->arena,
        "y %s = the gradients of what the input adds to the gates of %s, from dy %s, those of its states",
        shape_text(&cx->arena, 3, op->outputs[0]->dims), recurrent_text(cx, op),
        shape_text(&cx->arena, 3, dy->dims));
}

/* The other outputs, then all inputs: see add_operands. */
static void recurrent_operands(struct making *making, struct kernel_call *call)
{
    const struct op *op = making->step->op;

    for (int i = 1; i < op->output_count; i++)
        add_value(making, call, op->outputs[i]);
    for (int i = 0; i < op->input_count; i++)
        add_op_input(making, call, i);
}

const struct kernel_row recurrent_kernels = {.stem = recurrent_stem,
                                             .make = make_template,
                                             .holes = holes_recurrent,
                                             .operands = recurrent_operands,
                                             .parts_stem = gates_stem,
                                             .writes = writes_last};
const struct kernel_row recurrent_gradient_kernels = {.stem = recurrent_stem,
                                                      .make = make_template,
                                                      .holes = holes_recurrent_gradient,
                                                      .operands = recurrent_operands,
                                                      .parts_stem = gates_stem};
