/* recent.c - the last rows of each row's sequence: note [recent] in ops.h. */
#include "base/text.h"
#include "ops/rows.h"

static const char *recent_broken(struct cx *cx, const struct op *op)
{
    const struct value *x, *state;

    (void)cx;
    if (op->input_count != RECENT_INPUTS)
        return "it takes rows, a state and what is known of the rows";
    x = op->inputs[RECENT_ROWS];
    state = op->inputs[RECENT_STATE];
    if (x->ndim < 1 || state->ndim != x->ndim + 1 || x->dtype != state->dtype ||
        !dim_is_const(state->dims[1], NULL))
        return "its state does not fit its rows";
    for (int i = 1; i < x->ndim; i++)
        if (!dim_equal(x->dims[i], state->dims[i + 1]))
            return "its state does not fit its rows";
    for (int i = RECENT_SEQUENCE; i < RECENT_INPUTS; i++)
        if (!is_of_rows(op->inputs[i], x->dims[0]))
            return "what says whose tokens its rows are does not fit";
    return NULL;
}

static const char *recent_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[RECENT_ROWS], *state = op->inputs[RECENT_STATE];
    const struct dim *dims[MAX_DIMS];

    dims[0] = x->dims[0];
    dims[1] = dim_add(&cx->arena, state->dims[1], dim_const(&cx->arena, 1));
    for (int i = 1; i < x->ndim; i++)
        dims[i + 1] = x->dims[i];
    return set_output(cx, op, x->dtype, x->ndim + 1, dims);
}

static bool recent_carries(const struct op *op, int input)
{
    (void)op;
    return input <= RECENT_STATE;
}

const struct op_row op_row_recent = {
    .name = "recent",
    .broken = recent_broken,
    .infer = recent_infer,
    .accepts = dense_accepts,
    .order = OP_ORDER_DENSE,
    .pure = true,
    .carries = recent_carries,
};
