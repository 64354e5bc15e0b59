/* rnn.c - rows of torch/nn/modules/rnn.py. */
#include "layers.h"

extern const struct layer_row rnn_rows[];

#define BOUND "bound = 1 / sqrt(hidden_size) if hidden_size > 0 else 0"
#define UNIFORM .init = "uniform_(-bound, bound)", .with = BOUND

#define CELL_ARGS {"input_size", ARG_INT, NULL}, {"hidden_size", ARG_INT, NULL}, {"bias", ARG_BOOL, "True"}

/* rows: of each weight, how many for all gates */
#define CELL(rows)                                                                                           \
    .params = {{.name = "weight_ih", .shape = rows ", input_size", UNIFORM},                                 \
               {.name = "weight_hh", .shape = rows ", hidden_size", UNIFORM},                                \
               {.name = "bias_ih", .shape = rows, UNIFORM, .when = "bias"},                                  \
               {.name = "bias_hh", .shape = rows, UNIFORM, .when = "bias"}}

#define CELL_CHECKS                                                                                          \
    {"input_size >= 0", "input_size must not be negative, found {input_size}"},                              \
    {                                                                                                        \
        "hidden_size >= 0", "hidden_size must not be negative, found {hidden_size}"                          \
    }

const struct layer_row rnn_rows[] = {
    {
        .name = "RNNCell",
        .args = {CELL_ARGS, {"nonlinearity", ARG_STRING, "'tanh'"}},
        CELL("hidden_size"),
        .checks = {CELL_CHECKS, {"nonlinearity in ('tanh', 'relu')", "Unknown nonlinearity: {nonlinearity}"}},
        .forward = "forward(input, hx=None):\n"
                   "    _check_cell('RNNCell', input, hx, weight_ih, weight_hh)\n"
                   "    gates = linear(input, weight_ih, bias_ih)\n"
                   "    hidden = _hidden_gates(hx, weight_hh, bias_hh)\n"
                   "    y = gates if hidden is None else gates + hidden\n"
                   "    return tanh(y) if nonlinearity == 'tanh' else relu(y)",
        .extra_repr = "{input_size}, {hidden_size}[not bias?, bias=False]"
                      "[nonlinearity != 'tanh'?, nonlinearity={nonlinearity}]",
        .doc = "one step of an Elman network",
    },
    {
        .name = "LSTMCell",
        .args = {CELL_ARGS},
        CELL("4 * hidden_size"),
        .checks = {CELL_CHECKS},
        .forward = "forward(input, hx=None):\n"
                   "    _check_cell('LSTMCell', input, hx, weight_ih, weight_hh)\n"
                   "    h, c = (None, 0.0) if hx is None else hx\n"
                   "    gates = linear(input, weight_ih, bias_ih)\n"
                   "    hidden = _hidden_gates(h, weight_hh, bias_hh)\n"
                   "    i, f, g, o = (gates if hidden is None else gates + hidden).chunk(4, -1)\n"
                   "    c = sigmoid(f) * c + sigmoid(i) * tanh(g)\n"
                   "    return sigmoid(o) * tanh(c), c",
        .extra_repr = "{input_size}, {hidden_size}[not bias?, bias=False]",
        .doc = "one step of a long short-term memory: the hidden and the cell state",
    },
    {
        .name = "GRUCell",
        .args = {CELL_ARGS},
        CELL("3 * hidden_size"),
        .checks = {CELL_CHECKS},
        .forward = "forward(input, hx=None):\n"
                   "    _check_cell('GRUCell', input, hx, weight_ih, weight_hh)\n"
                   "    hidden = _hidden_gates(hx, weight_hh, bias_hh)\n"
                   "    r, z, n = linear(input, weight_ih, bias_ih).chunk(3, -1)\n"
                   "    hr, hz, hn = (0.0, 0.0, 0.0) if hidden is None else hidden.chunk(3, -1)\n"
                   "    n = tanh(n + sigmoid(r + hr) * hn)\n"
                   "    return ((0.0 if hx is None else hx) - n) * sigmoid(z + hz) + n",
        .extra_repr = "{input_size}, {hidden_size}[not bias?, bias=False]",
        .doc = "one step of a gated recurrent unit",
    },
    {.name = NULL},
};
