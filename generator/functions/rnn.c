/* rnn.c - what the bodies of recurrent layers are made of: the checks of cells; sequences, layer by layer, in one op for each
 * direction (note [recurrent] in ops.h). */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* ---- cells --------------------------------------------------------------------------------------------------- */

/* Of a cell: name, input (N, input_size) or (input_size), hx None, a tensor or of an LSTM two, weight_ih, weight_hh. */
static struct ev fn_check_cell(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const char *name = args[0].text;
    bool lstm = strcmp(name, "LSTMCell") == 0;
    const struct value *input = args[1].tensor, *weight_ih = args[3].tensor, *weight_hh = args[4].tensor;
    const struct ev *states = lstm ? args[2].items : &args[2];
    (void)count;

    if (!need_tensor(eval, name, &args[1]))
        return BAD;
    if (input->ndim != 1 && input->ndim != 2) {
        diag_error(eval->cx, loc, "%s: Expected input to be 1D or 2D, got %dD instead", name, input->ndim);
        return BAD;
    }
    if (!dim_equal(input->dims[input->ndim - 1], weight_ih->dims[1])) {
        diag_error(eval->cx, loc, "%s: input has inconsistent input_size: got %s expected %s", name,
                   dim_text(arena, input->dims[input->ndim - 1]), dim_text(arena, weight_ih->dims[1]));
        return BAD;
    }
    if (args[2].kind == EV_NONE && eval->casts) {
        diag_error(eval->cx, loc, "%s: under 'autocast' the states have to be given", name);
        diag_hint(eval->cx,
                  "their type is one of those that decide the result's: zeros(..., dtype=torch.float32)");
        return BAD;
    }
    if (args[2].kind == EV_NONE)
        return ev_none(loc);
    if (lstm && (args[2].kind != EV_TUPLE || args[2].count != 2)) {
        diag_error(eval->cx, args[2].loc, "%s takes the states as (h, c), found %s", name,
                   ev_text(eval, &args[2]));
        return BAD;
    }
    for (int i = 0; i < 1 + lstm; i++) {
        const char *what = lstm ? arena_format(arena, "hx[%d]", i) : "hidden";
        const struct value *state = states[i].tensor;

        if (!need_tensor(eval, name, &states[i]))
            return BAD;
        if (state->ndim != input->ndim) {
            diag_error(eval->cx, loc, "%s: Expected %s to be %dD, as the input is, got %dD instead", name,
                       what, input->ndim, state->ndim);
            return BAD;
        }
        if (state->ndim == 2 && !dim_equal(state->dims[0], input->dims[0])) {
            diag_error(eval->cx, loc, "%s: Input batch size %s doesn't match hidden%d batch size %s", name,
                       dim_text(arena, input->dims[0]), i, dim_text(arena, state->dims[0]));
            return BAD;
        }
        if (!dim_equal(state->dims[state->ndim - 1], weight_hh->dims[1])) {
            diag_error(eval->cx, loc, "%s: hidden%d has inconsistent hidden_size: got %s, expected %s", name,
                       i, dim_text(arena, state->dims[state->ndim - 1]), dim_text(arena, weight_hh->dims[1]));
            return BAD;
        }
        if (state->dtype != input->dtype && !eval->casts) {
            diag_error(eval->cx, loc, "%s: the input is %s, %s is %s", name, dtype_rows[input->dtype].name,
                       what, dtype_rows[state->dtype].name);
            return BAD;
        }
    }
    return ev_none(loc);
}

/* ---- sequences ----------------------------------------------------------------------------------------------- */

/* A call of RNN, LSTM or GRU. */
struct sequence {
    const char *name;
    const struct module *module;
    struct loc loc;
    enum recurrent_kind kind;
    struct value *input, *lengths; /* as given; NULL: none */
    struct value *states[2];       /* h, and of an LSTM c: (layers * directions, N, P or H); NULL: zeros */
    int64_t hidden, layers;
    int directions;
    bool batched, batch_first;
};

static struct value *parameter(struct eval *eval, const struct sequence *sequence, const char *name,
                               int64_t layer, bool reverse)
{
    const char *full = arena_format(&eval->cx->arena, "%s_l%lld%s", name, (long long)layer,
                                    reverse ? "_reverse" : "");
    struct module_tensor *tensor = module_find_tensor(sequence->module, full);
    struct ev value = tensor ? eval_tensor(eval, tensor, sequence->loc) : ev_none(sequence->loc);

    return value.kind == EV_TENSOR ? eval_lowered(eval, sequence->loc, value.tensor) : NULL;
}

static bool check_input(struct eval *eval, const struct sequence *sequence)
{
    const struct value *input = sequence->input, *weight = parameter(eval, sequence, "weight_ih", 0, false);
    const char *name = sequence->name;

    if (!weight) /* of what computes it something was said */
        return false;
    if (input->ndim != 2 && input->ndim != 3) {
        diag_error(eval->cx, sequence->loc, "%s: Expected input to be 2D or 3D, got %dD instead", name,
                   input->ndim);
        return false;
    }
    if (input->dtype != weight->dtype) {
        diag_error(eval->cx, sequence->loc, "%s: RNN input dtype (%s) does not match weight dtype (%s)", name,
                   dtype_rows[input->dtype].name, dtype_rows[weight->dtype].name);
        diag_hint(eval->cx, "convert the input first, with .to(torch.%s)", dtype_rows[weight->dtype].name);
        return false;
    }
    if (!dim_equal(input->dims[input->ndim - 1], weight->dims[1])) {
        diag_error(eval->cx, sequence->loc,
                   "%s: input.size(-1) must be equal to input_size. Expected %s, got %s", name,
                   dim_text(&eval->cx->arena, weight->dims[1]),
                   dim_text(&eval->cx->arena, input->dims[input->ndim - 1]));
        return false;
    }
    return true;
}

static int time_axis(const struct sequence *sequence)
{
    return sequence->batched && sequence->batch_first;
}

static const struct dim *batch_of(struct eval *eval, const struct sequence *sequence)
{
    return sequence->batched ? sequence->input->dims[1 - time_axis(sequence)]
                             : dim_const(&eval->cx->arena, 1);
}

/* Takes states[i] from its argument, with a batch of 1 where the input has none. */
static bool take_state(struct eval *eval, struct sequence *sequence, int i, const struct ev *arg)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *input = sequence->input;
    const struct dim *width = i == 1 ? dim_const(arena, sequence->hidden)
                                     : parameter(eval, sequence, "weight_hh", 0, false)->dims[1];
    const struct dim *expected[] = {dim_const(arena, sequence->layers * sequence->directions),
                                    batch_of(eval, sequence), width};
    const char *what = sequence->kind == RECURRENT_LSTM ? arena_format(arena, "hidden[%d]", i) : "hidden";
    struct value *state;
    bool fits = true;

    if (!need_tensor(eval, sequence->name, arg))
        return false;
    state = eval_lowered(eval, sequence->loc, arg->tensor);
    if (state->ndim != input->ndim) {
        diag_error(eval->cx, sequence->loc,
                   "%s: For %s %d-D input, %s should also be %d-D but got %d-D tensor", sequence->name,
                   sequence->batched ? "batched" : "unbatched", input->ndim, i == 1 ? "cx" : "hx",
                   input->ndim, state->ndim);
        return false;
    }
    if (state->dtype != input->dtype) {
        diag_error(eval->cx, sequence->loc, "%s: the input is %s, %s is %s", sequence->name,
                   dtype_rows[input->dtype].name, what, dtype_rows[state->dtype].name);
        return false;
    }
    if (!sequence->batched)
        state = insert_axis(eval, sequence->loc, state, 1);
    for (int d = 0; d < 3; d++)
        fits &= dim_equal(state->dims[d], expected[d]);
    if (!fits)
        diag_error(eval->cx, sequence->loc, "%s: Expected %s size %s, got %s", sequence->name, what,
                   shape_text(arena, 3, expected), shape_text(arena, 3, state->dims));
    sequence->states[i] = state;
    return fits;
}

static bool take_states(struct eval *eval, struct sequence *sequence, const struct ev *hx)
{
    bool lstm = sequence->kind == RECURRENT_LSTM;

    if (hx->kind == EV_NONE)
        return true;
    if (lstm && (hx->kind != EV_TUPLE || hx->count != 2)) {
        diag_error(eval->cx, hx->loc, "%s takes the states as (h, c), found %s", sequence->name,
                   ev_text(eval, hx));
        return false;
    }
    for (int i = 0; i < 1 + lstm; i++)
        if (!take_state(eval, sequence, i, lstm ? &hx->items[i] : hx))
            return false;
    return true;
}

/* How many steps each row has: 1 to all, or the call ends. */
static bool take_lengths(struct eval *eval, struct sequence *sequence, const struct ev *lengths)
{
    struct ev one = ev_int(eval, sequence->loc, 1), last;

    if (lengths->kind == EV_NONE)
        return true;
    if (!need_tensor(eval, sequence->name, lengths))
        return false;
    if (!sequence->batched || lengths->tensor->ndim != 1 || lengths->tensor->dtype != DTYPE_INT64 ||
        !dim_equal(lengths->tensor->dims[0], batch_of(eval, sequence))) {
        diag_error(eval->cx, sequence->loc,
                   "%s: lengths must be int64, one for each row of a batched input, found %s %s",
                   sequence->name, dtype_rows[lengths->tensor->dtype].name, ev_text(eval, lengths));
        return false;
    }
    sequence->lengths = lengths->tensor;
    last = build_binary(eval, sequence->loc, PRIM_SUB, "sub", lengths, &one);
    return last.kind == EV_TENSOR && build_in_range(eval, sequence->loc, "lengths", last.tensor,
                                                    sequence->input->dims[time_axis(sequence)], false);
}

static struct value *run(struct eval *eval, struct scope *scope, const char *text)
{
    struct ev value = eval_text(eval, scope, text);

    return value.kind == EV_TENSOR ? value.tensor : NULL;
}

/* What the input x, of the layer, adds to the gates of all steps. A product of rows that lie apart would copy them: the view
 * that swaps batch and time goes behind it. */
static struct value *input_gates(struct eval *eval, const struct sequence *sequence, struct value *x,
                                 int64_t layer, bool reverse)
{
    struct scope scope = {0};
    struct value *bias = parameter(eval, sequence, "bias_ih", layer, reverse),
                 *weight = parameter(eval, sequence, "weight_ih", layer, reverse);
    const struct loc loc = sequence->loc;

    if (!weight) /* of what computes it something was said */
        return NULL;
    scope_bind(eval, &scope, "x", ev_tensor(loc, x));
    scope_bind(eval, &scope, "weight", ev_tensor(loc, weight));
    scope_bind(eval, &scope, "bias", bias ? ev_tensor(loc, bias) : ev_none(loc));
    return run(eval, &scope,
               layer == 0 && time_axis(sequence) == 1 ? "linear(x, weight, bias).transpose(0, 1)"
                                                      : "linear(x, weight, bias)");
}

/* One layer in one direction over x (L, N, F): its outputs (L, N, P), and the last states (1, N, P) and (1, N, H) in `last`. */
static struct value *run_direction(struct eval *eval, const struct sequence *sequence, struct value *x,
                                   int64_t layer, bool reverse, struct value **last)
{
    static const char *const labels[] = {"rnn_tanh", "rnn_relu", "lstm", "gru"};
    const struct loc loc = sequence->loc;
    struct arena *arena = &eval->cx->arena;
    bool lstm = sequence->kind == RECURRENT_LSTM;
    struct ev index = ev_int(eval, loc, layer * sequence->directions + reverse);
    struct value *roles[RECURRENT_INPUTS] = {
        [RECURRENT_GATES] = input_gates(eval, sequence, x, layer, reverse),
        [RECURRENT_WEIGHT] = parameter(eval, sequence, "weight_hh", layer, reverse),
        [RECURRENT_BIAS] = parameter(eval, sequence, "bias_hh", layer, reverse),
        [RECURRENT_STATE] = sequence->states[0] ? eval_select(eval, sequence->states[0], 0, &index) : NULL,
        [RECURRENT_CELL] = sequence->states[1] ? eval_select(eval, sequence->states[1], 0, &index) : NULL,
        [RECURRENT_PROJECTION] = parameter(eval, sequence, "weight_hr", layer, reverse),
        [RECURRENT_LENGTHS] = sequence->lengths,
    };
    struct value *inputs[RECURRENT_INPUTS], *y;
    const struct dim *one = dim_const(arena, 1);
    struct op *op;
    int count = 0;

    if (!roles[RECURRENT_GATES] || !roles[RECURRENT_WEIGHT])
        return NULL;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        if (roles[i])
            inputs[count++] = roles[i];
    op = op_new(eval, GRAPH_OP_RECURRENT, labels[sequence->kind], inputs, count);
    op->recurrent.kind = sequence->kind;
    op->recurrent.reverse = reverse;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        op->recurrent.has[i] = roles[i] != NULL;
    build_outputs(eval, loc, op, 1 + (sequence->lengths != NULL) + lstm);
    y = op->outputs[0];
    last[0] = sequence->lengths
                  ? insert_axis(eval, loc, op->outputs[1], 0)
                  : build_slice(eval, loc, y, 0,
                                reverse ? dim_const(arena, 0) : dim_sub(arena, y->dims[0], one), one, one);
    last[1] = lstm ? insert_axis(eval, loc, op->outputs[op->output_count - 1], 0) : NULL;
    return y;
}

/* All layers over x (L, N, F): (outputs, h, c or None), as PyTorch has them for a batch. */
static struct ev run_layers(struct eval *eval, const struct sequence *sequence, struct value *x,
                            const struct ev *dropout)
{
    int64_t count = sequence->layers * sequence->directions;
    struct value **last[2] = {ARENA_ARRAY(&eval->cx->arena, count, struct value *),
                              ARENA_ARRAY(&eval->cx->arena, count, struct value *)};
    const struct loc loc = sequence->loc;
    struct ev out[3] = {{0}, {0}, ev_none(loc)};
    bool lstm = sequence->kind == RECURRENT_LSTM;

    for (int64_t layer = 0, at = 0; layer < sequence->layers; layer++) {
        struct value *made[2], *states[2];
        double p = 0;

        for (int d = 0; d < sequence->directions; d++, at++) {
            made[d] = run_direction(eval, sequence, x, layer, d == 1, states);
            if (!made[d] || build_is_full(eval, loc))
                return BAD;
            for (int i = 0; i < 1 + lstm; i++)
                last[i][at] = states[i];
        }
        x = build_concat(eval, loc, "cat", made, sequence->directions, 2);
        ev_get_number(dropout, &p);
        if (p > 0 && layer + 1 < sequence->layers && eval_in_training(eval)) {
            struct scope scope = {0};

            scope_bind(eval, &scope, "x", ev_tensor(loc, x));
            scope_bind(eval, &scope, "p", *dropout);
            x = run(eval, &scope, "F.dropout(x, p)");
        }
        if (!x)
            return BAD;
    }
    out[0] = ev_tensor(loc, x);
    for (int i = 0; i < 1 + lstm; i++)
        out[1 + i] = ev_tensor(loc, build_concat(eval, loc, "cat", last[i], (int)count, 0));
    return ev_tuple(eval, loc, out, 3);
}

static struct ev fn_recurrent(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const int by_time[MAX_DIMS] = {1, 0, 2};
    struct sequence sequence = {
        .name = args[0].text, .module = eval->call->module, .loc = loc, .input = args[1].tensor};
    bool bidirectional = false, lstm = strcmp(sequence.name, "LSTM") == 0,
         relu = strcmp(args[9].text, "relu") == 0;
    struct value *x;
    struct ev out;
    (void)count;

    if (!need_tensor(eval, sequence.name, &args[1]))
        return BAD;
    sequence.kind = lstm                                ? RECURRENT_LSTM
                    : strcmp(sequence.name, "GRU") == 0 ? RECURRENT_GRU
                    : relu                              ? RECURRENT_RELU
                                                        : RECURRENT_TANH;
    ev_get_int(&args[4], &sequence.hidden);
    ev_get_int(&args[5], &sequence.layers);
    ev_get_bool(&args[6], &bidirectional);
    ev_get_bool(&args[7], &sequence.batch_first);
    sequence.directions = 1 + bidirectional;
    sequence.batched = sequence.input->ndim == 3;
    sequence.input = eval_lowered(eval, loc, sequence.input);
    if (eval->casts && (sequence.kind == RECURRENT_GRU || args[3].kind != EV_NONE ||
                        parameter(eval, &sequence, "weight_hr", 0, false))) {
        diag_error(
            eval->cx, loc,
            "%s: under 'autocast' modc has RNN and LSTM, without a projection and of sequences of one length",
            sequence.name);
        diag_hint(eval->cx, "PyTorch computes others in types that change from step to step");
        return BAD;
    }
    if (!check_input(eval, &sequence) || !take_states(eval, &sequence, &args[2]) ||
        !take_lengths(eval, &sequence, &args[3]))
        return BAD;
    x = sequence.input;
    if (dim_equals(x->dims[time_axis(&sequence)], 0)) {
        diag_error(eval->cx, loc, "%s: Expected sequence length to be larger than 0 in RNN", sequence.name);
        return BAD;
    }
    build_need(eval,
               dim_sub(&eval->cx->arena, x->dims[time_axis(&sequence)], dim_const(&eval->cx->arena, 1)));
    if (!sequence.batched)
        x = insert_axis(eval, loc, x, 1);
    out = run_layers(eval, &sequence, x, &args[8]);
    if (out.kind == EV_BAD)
        return BAD;
    for (int i = 0; i < 3 && !sequence.batched; i++) {
        struct ev zero = ev_int(eval, loc, 0);

        if (out.items[i].kind == EV_TENSOR)
            out.items[i] = ev_tensor(loc, eval_select(eval, out.items[i].tensor, 1, &zero));
    }
    if (time_axis(&sequence) == 1)
        out.items[0] = ev_tensor(loc, build_permute(eval, loc, out.items[0].tensor, by_time));
    return out;
}

extern const struct function_row rnn_functions[];

const struct function_row rnn_functions[] = {
    {"_check_cell(name, input, hx, weight_ih, weight_hh)", HIDDEN, .build = fn_check_cell},
    /* without a state no gradient comes to the weight of states: it has one, which is 0 */
    {"_cell_gates(input, weight, bias, h, other)", HIDDEN,
     .body = "gates = linear(input, weight, bias)\n"
             "return _with(gates, other) if h is None else gates"},
    /* of the first step, without a state, the bias alone; None: nothing */
    {"_hidden_gates(h, weight, bias)", HIDDEN,
     .body = "return bias if h is None else linear(h, weight, bias)"},
    /* (outputs, h, c or None) */
    {"_recurrent(name, input, hx, lengths, hidden_size, num_layers, bidirectional, batch_first, dropout, nonlinearity='tanh')",
     HIDDEN, .build = fn_recurrent},
    {.signature = NULL},
};
