/* norm.c - kernels of layer norms, softmaxes and the CTC loss. */
#include "plan/kernels/draft.h"

#include <math.h>

#include "passes/toolkit.h"
#include "plan/cuda_rows.h"

static const char *rows_stem(struct cx *cx, const struct op *op, const char *base)
{
    const struct value *x = op->inputs[0];
    struct text text = text_new(&cx->arena);

    text_add(&text, base);
    name_dims(cx, &text, x->ndim, x->dims);
    text_add(&text, tail_name(op, base));
    return text.data;
}

/* ---- layer norm ----------------------------------------------------------------------------------------------- */

static const char *norm_stem(struct cx *cx, const struct op *op)
{
    return rows_stem(cx, op, "layer_norm");
}

static void holes_norm(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const char *eps = expr_number(cx, draft->kernel->computed, op->norm.eps, 0);

    add_weighted(draft);
    hole_extent(draft, "T_m", dims_product(cx, x, 0, x->ndim - op->norm.axes));
    hole_extent(draft, "T_k", dims_product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_divisor(draft, "T_over_k", dims_product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_dim(draft, "T_ldx",
             op->norm.axes == 1 ? row_stride(cx, x) : dims_product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_dim(draft, "T_ldy",
             op->norm.axes == 1 ? row_stride(cx, y) : dims_product(cx, x, x->ndim - op->norm.axes, x->ndim));
    hole_int(draft, "T_weight", op->norm.weight);
    hole_int(draft, "T_bias", op->norm.bias);
    hole_int(draft, "T_scale", op->norm.weight);
    hole_int(draft, "T_shift", op->norm.bias);
    hole_number(draft, "T_eps", x->dtype, op->norm.eps);
    hole_int(draft, "T_each",
             row_values_at_once(dim_upper(dims_product(cx, x, x->ndim - op->norm.axes, x->ndim))));
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = (x - mean) / sqrt(variance + %s)%s%s by rows of the last %s",
        shape_text(&cx->arena, x->ndim, x->dims), eps, op->norm.weight ? " * weight" : "",
        op->norm.bias ? " + bias" : "",
        op->norm.axes == 1 ? "dimension" : arena_format(&cx->arena, "%d dimensions", op->norm.axes));
}

/* x, then scale and shift, where there are any. */
static void norm_operands(struct making *making, struct kernel_call *call)
{
    const struct op *op = making->step->op;
    bool has[] = {op->norm.weight, op->norm.bias};
    int next = 1;

    input_operand(making, call);
    for (int i = 0; i < 2; i++) {
        if (has[i])
            add_value(making, call, op->inputs[next++]);
        else
            add_null(making, call);
    }
}

static bool norm_writes(struct arena *arena, const struct step *step, const struct value *y)
{
    return step->op->norm.axes == 1 ? value_is_rows(arena, y) : value_is_dense(arena, y);
}

const struct kernel_row norm_kernels = {.writes = norm_writes,
                                        .stem = norm_stem,
                                        .make = make_template,
                                        .holes = holes_norm,
                                        .operands = norm_operands};

/* ---- softmax -------------------------------------------------------------------------------------------------- */

static const char *softmax_stem(struct cx *cx, const struct op *op)
{
    return rows_stem(cx, op, op->softmax.log ? "log_softmax" : "softmax");
}

/* x * scale, of which the maximum is that of x? */
static bool head_is_scale(const struct dag *head, double *scale)
{
    const struct dag_node *product = head ? &head->nodes[head->result] : NULL, *a, *b;

    if (!product || product->prim != PRIM_MUL)
        return false;
    a = &head->nodes[product->args[0]];
    b = &head->nodes[product->args[1]];
    if (a->prim != PRIM_LOAD || b->prim != PRIM_CONST || !(b->number > 0) || isinf(b->number))
        return false;
    *scale = b->number;
    return true;
}

/* What x goes through before, where that is more than a factor; else what the result does. */
static const struct dag *softmax_tail(const struct op *op)
{
    double scale;

    return op->head && !head_is_scale(op->head, &scale) ? op->head : op->tail;
}

static void holes_softmax(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0];
    const struct dag *tail = draft->kernel->tail;
    bool first = tail && tail == op->head;
    int axis = op->softmax.axis;
    const char *along = "the last dimension";
    const char *inner = op->outputs[0] == x ? "y" : "x";
    double scale = 1;

    if (op->outputs[0] != x)
        add_input(draft);
    else
        name_pointer(draft, "x", draft->result);
    add_scratch(draft, "v");
    hole_extent(draft, "T_m", dims_product(cx, x, 0, axis));
    if (draft->causal) {
        hole_word(draft, "T_k", "reached");
        hole_dim(draft, "T_all", x->dims[axis]);
        hole_dim(draft, "T_reach", dim_size(&cx->arena, &draft->block[BLOCK_REACH]));
        along = "the last dimension, row r over reach + r values";
    } else {
        hole_extent(draft, "T_k", x->dims[axis]);
    }
    if (softmax_is_last(op)) {
        hole_int(draft, "T_causal", draft->causal);
        hole_int(draft, "T_head", first);
        hole_int(draft, "T_first", first && draft->kernel->lanes == DTYPE_FLOAT32);
        hole_int(draft, "T_scaled", head_is_scale(op->head, &scale));
        hole_number(draft, "T_scale", x->dtype, scale);
        hole_dim(draft, "T_ldx", row_stride(cx, x));
        hole_dim(draft, "T_ldy", row_stride(cx, op->outputs[0]));
        hole_int(draft, "T_wide", dim_upper(x->dims[axis]) >= 128);
        hole_int(draft, "T_in_place", op->outputs[0] == x);
        hole_int(draft, "T_each", row_values_at_once(dim_upper(x->dims[axis])));
    } else {
        const struct dim *columns = dims_product(cx, x, axis + 1, x->ndim);

        hole_dim(draft, "T_n", columns);
        hole_int(draft, "T_rest", !is_whole(draft, columns));
        hole_int(draft, "T_empty", dim_equals(columns, 0));
        along = arena_format(&cx->arena, "dimension %d", axis);
    }
    hole_int(draft, "T_log", op->softmax.log);
    hole_int(draft, "T_safe", op->softmax.safe);
    hole_int(draft, "T_vector_math", draft->kernel->computed == DTYPE_FLOAT32);
    if (scale < 1 || scale > 1)
        inner = arena_format(&cx->arena, "%s * %s", inner,
                             expr_number(cx, draft->kernel->computed, scale, 0));
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = %ssoftmax(%s) along %s%s", shape_text(&cx->arena, x->ndim, x->dims),
        op->softmax.log ? "log " : "", inner, along, op->softmax.safe ? ", 0 where all is -inf" : "");
}

static bool softmax_writes(struct arena *arena, const struct step *step, const struct value *y)
{
    return softmax_is_last(step->op) ? value_is_rows(arena, y) : value_is_dense(arena, y);
}

const struct kernel_row softmax_kernels = {.writes = softmax_writes,
                                           .stem = softmax_stem,
                                           .make = make_template,
                                           .holes = holes_softmax,
                                           .operands = input_operand,
                                           .tail = softmax_tail};

/* ---- CTC ------------------------------------------------------------------------------------------------------ */

static const char *ctc_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];
    struct text text = text_new(&cx->arena);

    text_add(&text, op->label);
    name_dims(cx, &text, x->ndim, x->dims);
    text_add(&text, "_to_");
    name_dim(cx, &text, op->ctc.labels);
    if (op->ctc.blank != 0)
        text_printf(&text, "_blank_%lld", (long long)op->ctc.blank);
    return text.data;
}

static void holes_ctc(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0];
    const struct dim *states = dim_add(
        &cx->arena, dim_mul(&cx->arena, dim_const(&cx->arena, 2), op->ctc.labels), dim_const(&cx->arena, 1));

    add_input(draft);
    add_scratch(draft, "v");
    hole_dim(draft, "T_n", x->dims[1]);
    hole_dim(draft, "T_k", x->dims[2]);
    hole_int(draft, "T_gradient", op->ctc.gradient);
    hole_dim(draft, "T_blank", dim_const(&cx->arena, op->ctc.blank));
    if (op->ctc.gradient)
        hole_dim(draft, "T_m", x->dims[0]);
    if (op->ctc.gradient || draft->plan->backend->apart)
        hole_dim(draft, "T_states", states);
    guard_reads(draft);
    draft->kernel->comment = arena_format(&cx->arena, "y %s = %s of labels under x %s",
                                          shape_text(&cx->arena, op->outputs[0]->ndim, op->outputs[0]->dims),
                                          op->ctc.gradient ? "slope of -log of the probability"
                                                           : "-log of the probability",
                                          shape_text(&cx->arena, x->ndim, x->dims));
}

const struct kernel_row ctc_kernels = {
    .stem = ctc_stem, .make = make_template, .holes = holes_ctc, .operands = input_operand, .own_inputs = 1};
