/* recurrent.c - a recurrent layer in one direction: see note [recurrent] in ops.h. */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "ops/rows.h"

int recurrent_gates(enum recurrent_kind kind)
{
    return kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1;
}

int recurrent_saved(enum recurrent_kind kind)
{
    return kind == RECURRENT_LSTM ? 5 : kind == RECURRENT_GRU ? 4 : 0;
}

int recurrent_at(const struct op *op, enum recurrent_input role)
{
    int at = 0;

    for (int i = 0; i < (int)role; i++)
        at += op->recurrent.has[i];
    return op->recurrent.has[role] ? at : -1;
}

struct value *recurrent_input(const struct op *op, enum recurrent_input role)
{
    int at = recurrent_at(op, role);

    return at < 0 ? NULL : op->inputs[at];
}

bool op_is_recurrent(const struct op *op)
{
    return op->code == GRAPH_OP_RECURRENT || op->code == GRAPH_OP_RECURRENT_GRADIENT;
}

bool recurrent_by_rows(const struct op *op, int input)
{
    return input == recurrent_at(op, RECURRENT_GATES) || input == recurrent_at(op, RECURRENT_STATES) ||
           input == recurrent_at(op, RECURRENT_D_STATES);
}

const struct dim *recurrent_width(struct arena *arena, const struct op *op)
{
    return dim_floordiv(arena, recurrent_input(op, RECURRENT_WEIGHT)->dims[0],
                        dim_const(arena, recurrent_gates(op->recurrent.kind)));
}

static void set_dims(struct value *value, enum dtype dtype, int ndim, const struct dim *const *dims)
{
    value->dtype = dtype;
    value->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        value->dims[i] = dims[i];
}

/* Whoever builds it has checked the shapes. */
static const char *recurrent_infer(struct cx *cx, struct op *op)
{
    const struct value *gates = op->inputs[RECURRENT_GATES], *weight = op->inputs[RECURRENT_WEIGHT];
    const struct dim *dims[] = {gates->dims[0], gates->dims[1], weight->dims[1]};
    const struct dim *cell[] = {gates->dims[1], recurrent_width(&cx->arena, op)};
    int made = 0;

    set_dims(op->outputs[made++], gates->dtype, 3, dims);
    if (op->recurrent.has[RECURRENT_LENGTHS])
        set_dims(op->outputs[made++], gates->dtype, 2, dims + 1);
    if (op->recurrent.kind == RECURRENT_LSTM)
        set_dims(op->outputs[made++], gates->dtype, 2, cell);
    return NULL;
}

static const char *recurrent_gradient_infer(struct cx *cx, struct op *op)
{
    const struct value *given = recurrent_input(op, RECURRENT_D_STATES),
                       *weight = recurrent_input(op, RECURRENT_WEIGHT);
    const struct dim *gates[] = {given->dims[0], given->dims[1], weight->dims[0]};
    const struct dim *cell[] = {given->dims[1], recurrent_width(&cx->arena, op)};
    int made = 0;

    set_dims(op->outputs[made++], given->dtype, 3, gates);
    if (op->recurrent.kind == RECURRENT_GRU)
        set_dims(op->outputs[made++], given->dtype, 3, gates);
    set_dims(op->outputs[made++], given->dtype, 2, given->dims + 1);
    if (op->recurrent.kind == RECURRENT_LSTM)
        set_dims(op->outputs[made++], given->dtype, 2, cell);
    if (op->recurrent.has[RECURRENT_PROJECTION])
        set_dims(op->outputs[made++], given->dtype, 3, given->dims);
    return NULL;
}

/* Of all steps forward, and as many backwards. */
static double recurrent_macs(const struct op *op)
{
    static const enum recurrent_input weights[] = {RECURRENT_WEIGHT, RECURRENT_PROJECTION,
                                                   RECURRENT_INPUT_WEIGHT};
    double each = 0;

    for (int i = 0; i < 3; i++)
        if (op->recurrent.has[weights[i]])
            each += dims_upper(2, recurrent_input(op, weights[i])->dims);
    return dims_upper(2, op->outputs[0]->dims) * each;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What one row is computed from and into. */
struct row {
    double *gates; /* room for those of a step */
    double *state, *next, *cell;
    int64_t hidden, width; /* of the cell state, of the state */
};

/* The state of the next step, from what the input adds to its gates. */
static void step(const struct op *op, const struct tensor *const *inputs, const struct row *row,
                 const union scalar *x)
{
    enum recurrent_kind kind = op->recurrent.kind;
    const union scalar *weight = inputs[1]->data;
    const union scalar *bias = op->recurrent.has[RECURRENT_BIAS]
                                   ? inputs[recurrent_at(op, RECURRENT_BIAS)]->data
                                   : NULL;
    int64_t hidden = row->hidden, count = hidden * recurrent_gates(kind);

    for (int64_t g = 0; g < count; g++) {
        row->gates[g] = bias ? bias[g].f : 0;
        for (int64_t k = 0; k < row->width; k++)
            row->gates[g] += weight[g * row->width + k].f * row->state[k];
    }
    for (int64_t u = 0; u < hidden; u++) {
        const double *own = row->gates + u;
        double r, z, n;

        switch (kind) {
        case RECURRENT_TANH:
            row->next[u] = tanh(x[u].f + own[0]);
            break;
        case RECURRENT_RELU:
            row->next[u] = x[u].f + own[0] <= 0 ? 0 : x[u].f + own[0]; /* NaN stays */
            break;
        case RECURRENT_LSTM:
            row->cell[u] = sigmoid(x[hidden + u].f + own[hidden]) * row->cell[u] +
                           sigmoid(x[u].f + own[0]) * tanh(x[2 * hidden + u].f + own[2 * hidden]);
            row->next[u] = sigmoid(x[3 * hidden + u].f + own[3 * hidden]) * tanh(row->cell[u]);
            break;
        case RECURRENT_GRU:
            r = sigmoid(x[u].f + own[0]);
            z = sigmoid(x[hidden + u].f + own[hidden]);
            n = tanh(x[2 * hidden + u].f + r * own[2 * hidden]);
            row->next[u] = (row->state[u] - n) * z + n;
            break;
        }
    }
}

static void project(const struct tensor *weight, const struct row *row)
{
    for (int64_t p = 0; p < row->width; p++) {
        row->state[p] = 0;
        for (int64_t u = 0; u < row->hidden; u++)
            row->state[p] += weight->data[p * row->hidden + u].f * row->next[u];
    }
}

static double *room(int64_t count)
{
    double *made = malloc((size_t)(count + 1) * sizeof *made);

    if (!made)
        arena_out_of_memory();
    return made;
}

static void recurrent_interpret(const struct op *op, const struct tensor *const *inputs,
                                struct tensor *outputs)
{
    const bool *has = op->recurrent.has;
    bool lstm = op->recurrent.kind == RECURRENT_LSTM;
    const struct tensor *x = inputs[0], *projection = has[RECURRENT_PROJECTION]
                                                          ? inputs[recurrent_at(op, RECURRENT_PROJECTION)]
                                                          : NULL;
    int64_t steps = x->dims[0], rows = x->dims[1], gates = x->dims[2],
            hidden = gates / recurrent_gates(op->recurrent.kind);
    struct row row = {room(gates), room(hidden), room(hidden), room(hidden), hidden, inputs[1]->dims[1]};

    for (int64_t n = 0; n < rows; n++) {
        int64_t own = has[RECURRENT_LENGTHS] ? inputs[recurrent_at(op, RECURRENT_LENGTHS)]->data[n].i : steps;

        for (int64_t k = 0; k < row.width; k++)
            row.state[k] = has[RECURRENT_STATE]
                               ? inputs[recurrent_at(op, RECURRENT_STATE)]->data[n * row.width + k].f
                               : 0;
        for (int64_t u = 0; u < hidden; u++)
            row.cell[u] = has[RECURRENT_CELL]
                              ? inputs[recurrent_at(op, RECURRENT_CELL)]->data[n * hidden + u].f
                              : 0;
        for (int64_t s = 0; s < steps; s++) {
            int64_t t = op->recurrent.reverse ? own - 1 - s : s;
            bool inside = s < own;

            if (inside) {
                step(op, inputs, &row, x->data + (t * rows + n) * gates);
                if (projection)
                    project(projection, &row);
                for (int64_t k = 0; k < row.width && !projection; k++)
                    row.state[k] = row.next[k];
            }
            for (int64_t k = 0; k < row.width; k++)
                outputs[0].data[((inside ? t : s) * rows + n) * row.width + k].f = inside ? row.state[k] : 0;
        }
        for (int64_t k = 0; k < row.width && has[RECURRENT_LENGTHS]; k++)
            outputs[1].data[n * row.width + k].f = row.state[k];
        for (int64_t u = 0; u < hidden && lstm; u++)
            outputs[1 + has[RECURRENT_LENGTHS]].data[n * hidden + u].f = row.cell[u];
    }
    for (int i = 0; i < op->output_count; i++)
        round_output(&outputs[i], outputs[i].dtype);
    free(row.gates);
    free(row.state);
    free(row.next);
    free(row.cell);
}

static const char *recurrent_broken(struct cx *cx, const struct op *op)
{
    int count = 0;

    (void)cx;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        count += op->recurrent.has[i];
    return count == op->input_count && op->recurrent.has[RECURRENT_WEIGHT]
               ? NULL
               : "it has not the inputs that it names";
}

/* Of what lies by steps and rows the last axis alone has to be contiguous. */
static enum op_accepts recurrent_accepts(const struct op *op, int input)
{
    return recurrent_by_rows(op, input) ? ACCEPT_LAST : ACCEPT_DENSE;
}

static int recurrent_bias(const struct op *op)
{
    return recurrent_at(op, RECURRENT_BIAS);
}

static bool recurrent_packs(const struct op *op, int input)
{
    return input == RECURRENT_WEIGHT || input == recurrent_bias(op) ||
           input == recurrent_at(op, RECURRENT_INPUT_WEIGHT) ||
           input == recurrent_at(op, RECURRENT_INPUT_BIAS);
}

static void dump_roles(struct text *text, const struct op *op, int first)
{
    static const char *const roles[RECURRENT_INPUTS] = {
        "gates",        "weight",     "bias",  "state",  "cell",    "projected", "lengths",
        "input_weight", "input_bias", "saved", "states", "dstates", "dlast",     "dcell"};

    text_printf(text, "%s%s", op->recurrent.reverse ? " reverse" : "", op->recurrent.saves ? " saves" : "");
    for (int i = first; i < RECURRENT_INPUTS; i++)
        text_printf(text, "%s%s", op->recurrent.has[i] ? " " : "", op->recurrent.has[i] ? roles[i] : "");
}

static void recurrent_dump(struct text *text, const struct op *op)
{
    dump_roles(text, op, RECURRENT_BIAS);
}

static void recurrent_gradient_dump(struct text *text, const struct op *op)
{
    dump_roles(text, op, 0);
}

/* A function for each gate. */
static void recurrent_work(const struct op *op, struct op_work *work)
{
    work->macs = recurrent_macs(op);
    work->functions = dims_upper(op->inputs[0]->ndim, op->inputs[0]->dims);
}

static int recurrent_groups(const struct op *op)
{
    return recurrent_gates(op->recurrent.kind);
}

/* That of the input, where its product is left to this op. */
static int recurrent_second(const struct op *op, int *bias)
{
    *bias = recurrent_at(op, RECURRENT_INPUT_BIAS);
    return recurrent_at(op, RECURRENT_INPUT_WEIGHT);
}

const struct op_row op_row_recurrent = {
    .name = "recurrent",
    .broken = recurrent_broken,
    .infer = recurrent_infer,
    .interpret = recurrent_interpret,
    .accepts = recurrent_accepts,
    .packs = recurrent_packs,
    .bias = recurrent_bias,
    .macs = recurrent_macs,
    .dump = recurrent_dump,
    .pure = true,
    .work = recurrent_work,
    .varied = true,
    .woven = true,
    .groups = recurrent_groups,
    .second = recurrent_second,
};

const struct op_row op_row_recurrent_gradient = {
    .name = "recurrent_gradient",
    .broken = recurrent_broken,
    .infer = recurrent_gradient_infer,
    .accepts = recurrent_accepts,
    .macs = recurrent_macs,
    .dump = recurrent_gradient_dump,
    .pure = true,
    .work = recurrent_work,
    .varied = true,
};
