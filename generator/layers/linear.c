/* linear.c - rows of torch/nn/modules/linear.py. */
#include "layers/layers.h"

extern const struct layer_row linear_rows[];

/* `more`, `more_checks`: a further argument and a check, behind commas of their own. */
#define LINEAR(title, more, more_checks, weights, ...)                                                       \
    {                                                                                                        \
        .name = title,                                                                                       \
        .args = {{"in_features", ARG_INT, NULL},                                                             \
                 {"out_features", ARG_INT, NULL},                                                            \
                 {"bias", ARG_BOOL, "True"} more},                                                           \
        .params = {{.name = "weight",                                                                        \
                    .shape = "out_features, in_features",                                                    \
                    .init = "kaiming_uniform_(a=5 ** 0.5)"},                                                 \
                   {.name = "bias",                                                                          \
                    .shape = "out_features",                                                                 \
                    .init = "uniform_(-bound, bound)",                                                       \
                    .when = "bias",                                                                          \
                    .with = "bound = 1 / sqrt(in_features) if in_features > 0 else 0"}},                     \
        .checks = {{"in_features >= 0", "in_features must not be negative, found {in_features}"},            \
                   {"out_features >= 0",                                                                     \
                    "out_features must not be negative, found {out_features}"} more_checks},                 \
        .forward = "forward(input): return linear(input, " weights ", bias)",                                \
        .extra_repr = "in_features={in_features}, out_features={out_features}, bias={bias}", __VA_ARGS__     \
    }

const struct layer_row linear_rows[] = {
    {
        .name = "Identity",
        .forward = "forward(input): return input",
        .doc = "the input itself",
    },
    LINEAR("Linear", , , "weight", .doc = "y = x . weight^T + bias"),
    LINEAR("qat.Linear", LAYER_QCONFIG, LAYER_QCONFIG_CHECK, "weight_fake_quant(weight)",
           .children = {LAYER_WEIGHT_FAKE_QUANT},
           .doc = "Linear, whose weight a fake quantizer of the qconfig rounds"),
    {
        .name = "Bilinear",
        .args = {{"in1_features", ARG_INT, NULL},
                 {"in2_features", ARG_INT, NULL},
                 {"out_features", ARG_INT, NULL},
                 {"bias", ARG_BOOL, "True"}},
        .params = {{.name = "weight",
                    .shape = "out_features, in1_features, in2_features",
                    .init = "uniform_(-bound, bound)",
                    .with = "bound = 1 / sqrt(in1_features)"},
                   {.name = "bias",
                    .shape = "out_features",
                    .init = "uniform_(-bound, bound)",
                    .when = "bias",
                    .with = "bound = 1 / sqrt(in1_features)"}},
        .checks = {{"in1_features > 0", "in1_features must be > 0, but got {in1_features}"},
                   {"in2_features >= 0", "in2_features must not be negative, found {in2_features}"},
                   {"out_features >= 0", "out_features must not be negative, found {out_features}"}},
        .forward = "forward(input1, input2): return bilinear(input1, input2, weight, bias)",
        .extra_repr =
            "in1_features={in1_features}, in2_features={in2_features}, out_features={out_features}, bias={bias}",
        .doc = "y_o = x1 . weight_o . x2 + bias_o",
    },
    {.name = NULL},
};
