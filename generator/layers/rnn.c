/* rnn.c - rows of torch/nn/modules/rnn.py. */
#include "layers/layers.h"

extern const struct layer_row rnn_rows[];

#define BOUND "bound = 1 / sqrt(hidden_size) if hidden_size > 0 else 0"
#define UNIFORM .init = "uniform_(-bound, bound)", .with = BOUND

#define CELL_ARGS                                                                                            \
    {"input_size", ARG_INT, NULL}, {"hidden_size", ARG_INT, NULL},                                           \
    {                                                                                                        \
        "bias", ARG_BOOL, "True"                                                                             \
    }

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

#define SEQUENCE_ARGS                                                                                        \
    {"bias", ARG_BOOL, "True"}, {"batch_first", ARG_BOOL, "False"}, {"dropout", ARG_FLOAT, "0.0"},           \
    {                                                                                                        \
        "bidirectional", ARG_BOOL, "False"                                                                   \
    }

#define NAME(stem) .name = stem "_l{layer}{suffix}"

/* rows: of each weight, how many for all gates; state: what a step hands on */
#define SEQUENCE(rows, state, more)                                                                          \
    .params = {{NAME("weight_ih"), .shape = rows ", input_size if layer == 0 else directions * " state,      \
                UNIFORM},                                                                                    \
               {NAME("weight_hh"), .shape = rows ", " state, UNIFORM},                                       \
               {NAME("bias_ih"), .shape = rows, UNIFORM, .when = "bias"},                                    \
               {NAME("bias_hh"), .shape = rows, UNIFORM, .when = "bias"},                                    \
               more},                                                                                        \
    .repeat = "num_layers * (2 if bidirectional else 1)",                                                    \
    .each = "directions = 2 if bidirectional else 1\n"                                                       \
            "layer = index // directions\n"                                                                  \
            "suffix = '' if index % directions == 0 else '_reverse'"

#define PROJECTION                                                                                           \
    {                                                                                                        \
        NAME("weight_hr"), .shape = "proj_size, hidden_size", UNIFORM, .when = "proj_size > 0"               \
    }

#define SEQUENCE_CHECKS                                                                                      \
    {"dropout >= 0 and dropout <= 1",                                                                        \
     "dropout should be a number between 0 and 1 representing the probability of an element being zeroed"},  \
        {"input_size > 0", "input_size must be greater than zero, found {input_size}"},                      \
        {"hidden_size > 0", "hidden_size must be greater than zero, found {hidden_size}"},                   \
        {"num_layers > 0", "num_layers must be greater than zero, found {num_layers}"},                      \
    {                                                                                                        \
        "num_layers <= 1000", "num_layers must be at most 1000, found {num_layers}"                          \
    }

#define SEQUENCE_REPR                                                                                        \
    "[num_layers != 1?, num_layers={num_layers}][not bias?, bias=False][batch_first?, batch_first=True]"     \
    "[dropout != 0?, dropout={dropout * 1.0}][bidirectional?, bidirectional=True]"

const struct layer_row rnn_rows[] = {
    {
        .name = "RNN",
        .args = {{"input_size", ARG_INT, NULL},
                 {"hidden_size", ARG_INT, NULL},
                 {"num_layers", ARG_INT, "1"},
                 {"nonlinearity", ARG_STRING, "'tanh'"},
                 SEQUENCE_ARGS},
        SEQUENCE("hidden_size", "hidden_size", {.name = NULL}),
        .checks = {{"nonlinearity in ('tanh', 'relu')",
                    "Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."},
                   SEQUENCE_CHECKS},
        .forward =
            "forward(input, hx=None, lengths=None):\n"
            "    y, h, c = _recurrent('RNN', input, hx, lengths, hidden_size, num_layers, bidirectional, batch_first, "
            "dropout, nonlinearity)\n"
            "    return y, h",
        .extra_repr = "{input_size}, {hidden_size}" SEQUENCE_REPR,
        .doc = "an Elman network over a sequence: all states, and the last",
    },
    {
        .name = "LSTM",
        .args = {{"input_size", ARG_INT, NULL},
                 {"hidden_size", ARG_INT, NULL},
                 {"num_layers", ARG_INT, "1"},
                 SEQUENCE_ARGS,
                 {"proj_size", ARG_INT, "0"}},
        SEQUENCE("4 * hidden_size", "(proj_size if proj_size > 0 else hidden_size)", PROJECTION),
        .checks =
            {SEQUENCE_CHECKS,
             {"proj_size >= 0",
              "proj_size should be a positive integer or zero to disable projections, found {proj_size}"},
             {"proj_size < hidden_size",
              "proj_size has to be smaller than hidden_size, found {proj_size} and {hidden_size}"}},
        .forward =
            "forward(input, hx=None, lengths=None):\n"
            "    y, h, c = _recurrent('LSTM', input, hx, lengths, hidden_size, num_layers, bidirectional, batch_first, "
            "dropout)\n"
            "    return y, (h, c)",
        .extra_repr = "{input_size}, {hidden_size}[proj_size != 0?, proj_size={proj_size}]" SEQUENCE_REPR,
        .doc = "a long short-term memory over a sequence: all states, and the last ones",
    },
    {
        .name = "GRU",
        .args = {{"input_size", ARG_INT, NULL},
                 {"hidden_size", ARG_INT, NULL},
                 {"num_layers", ARG_INT, "1"},
                 SEQUENCE_ARGS},
        SEQUENCE("3 * hidden_size", "hidden_size", {.name = NULL}),
        .checks = {SEQUENCE_CHECKS},
        .forward =
            "forward(input, hx=None, lengths=None):\n"
            "    y, h, c = _recurrent('GRU', input, hx, lengths, hidden_size, num_layers, bidirectional, batch_first, "
            "dropout)\n"
            "    return y, h",
        .extra_repr = "{input_size}, {hidden_size}" SEQUENCE_REPR,
        .doc = "a gated recurrent unit over a sequence: all states, and the last",
    },
    {
        .name = "RNNCell",
        .args = {CELL_ARGS, {"nonlinearity", ARG_STRING, "'tanh'"}},
        CELL("hidden_size"),
        .checks = {CELL_CHECKS, {"nonlinearity in ('tanh', 'relu')", "Unknown nonlinearity: {nonlinearity}"}},
        .forward = "forward(input, hx=None):\n"
                   "    _check_cell('RNNCell', input, hx, weight_ih, weight_hh)\n"
                   "    gates = _cell_gates(input, weight_ih, bias_ih, hx, weight_hh)\n"
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
                   "    gates = _cell_gates(input, weight_ih, bias_ih, h, weight_hh)\n"
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
                   "    r, z, n = _cell_gates(input, weight_ih, bias_ih, hx, weight_hh).chunk(3, -1)\n"
                   "    hr, hz, hn = (0.0, 0.0, 0.0) if hidden is None else hidden.chunk(3, -1)\n"
                   "    n = tanh(n + sigmoid(r + hr) * hn)\n"
                   "    return ((0.0 if hx is None else hx) - n) * sigmoid(z + hz) + n",
        .extra_repr = "{input_size}, {hidden_size}[not bias?, bias=False]",
        .doc = "one step of a gated recurrent unit",
    },
    {.name = NULL},
};
