/* activation.c - rows of torch/nn/modules/activation.py that are more than a line of elementwise.c. */
#include "layers.h"

extern const struct layer_row activation_rows[];

const struct layer_row activation_rows[] = {
    {
        .name = "GELU",
        .args = {{"approximate", ARG_STRING, "'none'"}},
        .checks = {{"approximate == 'none' or approximate == 'tanh'",
                    "approximate argument must be either none or tanh, found {approximate!r}"}},
        .forward = "forward(input): return gelu(input, approximate)",
        .extra_repr = "approximate={approximate!r}",
        .doc = "x * Phi(x)",
    },
    {
        .name = "Softmax",
        .args = {{"dim", ARG_OPTION, "None"}},
        .forward = "forward(input): return softmax(input, dim)",
        .extra_repr = "dim={dim}",
        .doc = "exp(x) / sum(exp(x)) along dim",
    },
    {
        .name = "LogSoftmax",
        .args = {{"dim", ARG_OPTION, "None"}},
        .forward = "forward(input): return log_softmax(input, dim)",
        .extra_repr = "dim={dim}",
        .doc = "log of Softmax",
    },
    {.name = NULL},
};
