/* activation.c - rows of torch/nn/modules/activation.py that are more than a line of elementwise.c. */
#include "layers/layers.h"

extern const struct layer_row activation_rows[];

/* Under either name. */
#define HARDTANH_MIN "(min_val if min_value is None else min_value)"
#define HARDTANH_MAX "(max_val if max_value is None else max_value)"

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
        .name = "PReLU",
        .args = {{"num_parameters", ARG_INT, "1"}, {"init", ARG_FLOAT, "0.25"}},
        .params = {{"weight", "num_parameters", "constant_(init)"}},
        .checks = {{"num_parameters >= 0", "num_parameters must not be negative, found {num_parameters}"}},
        .forward = "forward(input): return prelu(input, weight)",
        .extra_repr = "num_parameters={num_parameters}",
        .doc = "x where it is above 0, else weight * x, by channel",
    },
    {
        .name = "RReLU",
        .args = {{"lower", ARG_FLOAT, "1.0 / 8"},
                 {"upper", ARG_FLOAT, "1.0 / 3"},
                 {"inplace", ARG_BOOL, "False"}},
        .forward = "forward(input): return rrelu(input, lower, upper, self.training, inplace)",
        .extra_repr = "lower={lower}, upper={upper}[inplace?, inplace=True]",
        .doc = "in training, leaky_relu with a random slope for each element",
    },
    {
        .name = "Hardtanh",
        .args = {{"min_val", ARG_FLOAT, "-1.0"},
                 {"max_val", ARG_FLOAT, "1.0"},
                 {"inplace", ARG_BOOL, "False"},
                 {"min_value", ARG_OPTION, "None"},
                 {"max_value", ARG_OPTION, "None"}},
        .checks = {{HARDTANH_MAX " > " HARDTANH_MIN, "max_val must be greater than min_val"}},
        .forward = "forward(input): return hardtanh(input, " HARDTANH_MIN ", " HARDTANH_MAX ", inplace)",
        .extra_repr = "min_val={" HARDTANH_MIN "}, max_val={" HARDTANH_MAX "}[inplace?, inplace=True]",
        .doc = "x, but no less than min_val and no more than max_val",
    },
    {
        .name = "GLU",
        .args = {{"dim", ARG_INT, "-1"}},
        .forward = "forward(input): return glu(input, dim)",
        .extra_repr = "dim={dim}",
        .doc = "one half of x times the sigmoid of the other",
    },
    {
        .name = "Softmax",
        .args = {{"dim", ARG_OPTION, "None"}},
        .forward = "forward(input): return softmax(input, dim)",
        .extra_repr = "dim={dim}",
        .doc = "exp(x) / sum(exp(x)) along dim",
    },
    {
        .name = "Softmin",
        .args = {{"dim", ARG_OPTION, "None"}},
        .forward = "forward(input): return softmin(input, dim)",
        .extra_repr = "dim={dim}",
        .doc = "Softmax of -x",
    },
    {
        .name = "Softmax2d",
        .forward = "forward(input): _check_ndim(input, 3, 4)\nreturn softmax(input, -3)",
        .doc = "Softmax over the channels of (N, C, H, W) or (C, H, W)",
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
