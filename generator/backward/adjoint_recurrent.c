/* adjoint_recurrent.c - gradients of recurrent layers: the same steps backwards. */
#include "backward/adjoint_rows.h"

/* What each step's gates, whose gradients are d (L, N, G), add up to with what they were multiplied by: the state before the step,
 * which is that of the step beside it or, at a row's first step, the one that was given. */
static struct value *state_weight_gradient(const struct adjoint *a, struct op *op, struct value *d)
{
    static const char *const sums[2] = {"return d[1:].flatten(0, 1).t() @ y[:-1].flatten(0, 1)",
                                        "return d[:-1].flatten(0, 1).t() @ y[1:].flatten(0, 1)"};
    static const char *const firsts[3] = {
        "return sum + d[0].t() @ h", "return sum + d[-1].t() @ h",
        "return sum + d.gather(0, (lengths - 1)[None, :, None].expand(1, d.shape[1], d.shape[2]))[0].t() @ h"};
    struct value *state = recurrent_input(op, RECURRENT_STATE),
                 *lengths = recurrent_input(op, RECURRENT_LENGTHS);
    bool reverse = op->recurrent.reverse;
    struct value *sum = adjoint_run(
        a, op, sums[reverse],
        (struct adjoint_name[]){{"d", d, NULL}, {"y", op->outputs[0], NULL}, {NULL, NULL, NULL}});

    if (!state)
        return sum;
    return adjoint_run(a, op, firsts[reverse + (reverse && lengths)],
                       (struct adjoint_name[]){{"sum", sum, NULL},
                                               {"d", d, NULL},
                                               {"h", state, NULL},
                                               {lengths ? "lengths" : NULL, lengths, NULL},
                                               {NULL, NULL, NULL}});
}

/* The op that goes back through time; g: what came for the results of op. */
static struct op *through_time(const struct adjoint *a, struct op *op, struct value *const *g)
{
    static const enum recurrent_input given[] = {RECURRENT_WEIGHT, RECURRENT_CELL, RECURRENT_PROJECTION,
                                                 RECURRENT_LENGTHS};
    struct arena *arena = &a->eval->cx->arena;
    struct value *y = op->outputs[0], *roles[RECURRENT_INPUTS] = {NULL}, *inputs[RECURRENT_INPUTS];
    const struct dim *saved[] = {
        y->dims[0], y->dims[1],
        dim_mul(arena, adjoint_number(a, recurrent_saved(op->recurrent.kind)), recurrent_width(arena, op))};
    enum recurrent_kind kind = op->recurrent.kind;
    bool has_last = op->recurrent.has[RECURRENT_LENGTHS], lstm = kind == RECURRENT_LSTM,
         gru = kind == RECURRENT_GRU;
    int count = 0, made = 2 + gru + lstm + op->recurrent.has[RECURRENT_PROJECTION];
    struct op *back;

    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        roles[given[i]] = recurrent_input(op, given[i]);
    roles[RECURRENT_STATE] = gru ? recurrent_input(op, RECURRENT_STATE) : NULL;
    roles[RECURRENT_D_STATES] = g[0] ? g[0] : adjoint_zeros_like(a, y);
    roles[RECURRENT_D_LAST] = has_last ? g[1] : NULL;
    roles[RECURRENT_D_CELL] = lstm ? g[1 + has_last] : NULL;
    roles[RECURRENT_STATES] = lstm ? NULL : y;
    op->recurrent.saves = recurrent_saved(kind) > 0;
    roles[RECURRENT_SAVED] = op->recurrent.saves ? graph_value(a->eval->graph, op, y->dtype, 3, saved) : NULL;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        if (roles[i])
            inputs[count++] = roles[i];
    back = op_new(a->eval, GRAPH_OP_RECURRENT_GRADIENT, arena_format(arena, "d%s", op->label), inputs, count);
    back->recurrent.kind = kind;
    back->recurrent.reverse = op->recurrent.reverse;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        back->recurrent.has[i] = roles[i] != NULL;
    back->recurrent.to_state = op->recurrent.has[RECURRENT_STATE] &&
                               a->wants(a, recurrent_input(op, RECURRENT_STATE));
    build_outputs(a->eval, op->loc, back, made);
    return back;
}

static void give_recurrent(const struct adjoint *a, struct op *op, struct value *const *g)
{
    struct op *back = through_time(a, op, g);
    enum recurrent_kind kind = op->recurrent.kind;
    struct value *weight = recurrent_input(op, RECURRENT_WEIGHT), *bias = recurrent_input(op, RECURRENT_BIAS);
    struct value *state = recurrent_input(op, RECURRENT_STATE), *cell = recurrent_input(op, RECURRENT_CELL);
    struct value *projection = recurrent_input(op, RECURRENT_PROJECTION);
    struct value *hidden = back->outputs[kind == RECURRENT_GRU]; /* of what the state adds to the gates */

    a->give(a, op->inputs[RECURRENT_GATES], back->outputs[0]);
    if (a->wants(a, weight))
        a->give(a, weight, state_weight_gradient(a, op, hidden));
    if (bias && a->wants(a, bias))
        a->give(a, bias, adjoint_sum_to(a, bias, adjoint_matrix(a, hidden)));
    if (state && a->wants(a, state))
        a->give(a, state, back->outputs[1 + (kind == RECURRENT_GRU)]);
    if (cell && a->wants(a, cell))
        a->give(a, cell, back->outputs[2]);
    if (projection && a->wants(a, projection))
        a->give(a, projection,
                adjoint_run(a, op,
                            "put = kept[..., 3 * h:4 * h] * torch.tanh(kept[..., 4 * h:])\n"
                            "return d.flatten(0, 1).t() @ put.flatten(0, 1)",
                            (struct adjoint_name[]){{"kept", op->outputs[op->output_count - 1], NULL},
                                                    {"d", back->outputs[3], NULL},
                                                    {"h", NULL, recurrent_width(&a->eval->cx->arena, op)},
                                                    {NULL, NULL, NULL}}));
}

const struct adjoint_row recurrent_adjoint = {.all = give_recurrent};

/* No slope of a slope. */
const struct adjoint_row recurrent_gradient_adjoint = {0};
