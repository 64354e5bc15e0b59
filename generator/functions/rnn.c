/* rnn.c - what the bodies of recurrent layers are made of. */
#include <string.h>

#include "../graph.h"
#include "rows.h"

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
    if (args[2].kind == EV_NONE)
        return ev_none(loc);
    if (lstm && (args[2].kind != EV_TUPLE || args[2].count != 2)) {
        diag_error(eval->cx, args[2].loc, "%s takes the states as (h, c), found %s", name, ev_text(eval, &args[2]));
        return BAD;
    }
    for (int i = 0; i < 1 + lstm; i++) {
        const char *what = lstm ? arena_format(arena, "hx[%d]", i) : "hidden";
        const struct value *state = states[i].tensor;

        if (!need_tensor(eval, name, &states[i]))
            return BAD;
        if (state->ndim != input->ndim) {
            diag_error(eval->cx, loc, "%s: Expected %s to be %dD, as the input is, got %dD instead", name, what, input->ndim,
                       state->ndim);
            return BAD;
        }
        if (state->ndim == 2 && !dim_equal(state->dims[0], input->dims[0])) {
            diag_error(eval->cx, loc, "%s: Input batch size %s doesn't match hidden%d batch size %s", name,
                       dim_text(arena, input->dims[0]), i, dim_text(arena, state->dims[0]));
            return BAD;
        }
        if (!dim_equal(state->dims[state->ndim - 1], weight_hh->dims[1])) {
            diag_error(eval->cx, loc, "%s: hidden%d has inconsistent hidden_size: got %s, expected %s", name, i,
                       dim_text(arena, state->dims[state->ndim - 1]), dim_text(arena, weight_hh->dims[1]));
            return BAD;
        }
        if (state->dtype != input->dtype) {
            diag_error(eval->cx, loc, "%s: the input is %s, %s is %s", name, dtype_rows[input->dtype].name, what,
                       dtype_rows[state->dtype].name);
            return BAD;
        }
    }
    return ev_none(loc);
}

extern const struct function_row rnn_functions[];

const struct function_row rnn_functions[] = {
    {"_check_cell(name, input, hx, weight_ih, weight_hh)", H, .build = fn_check_cell},
    /* of the first step, without a state, the bias alone; None: nothing */
    {"_hidden_gates(h, weight, bias)", H, .body = "return bias if h is None else linear(h, weight, bias)"},
    {.signature = NULL},
};
