/* dropout.c - rows of torch/nn/modules/dropout.py. */
#include "layers/layers.h"

extern const struct layer_row dropout_rows[];

#define DROPOUT(class, function, inplace, what)                                                              \
    {                                                                                                        \
        .name = class, .args = {{"p", ARG_FLOAT, "0.5"}, {"inplace", ARG_BOOL, "False"}},                    \
        .checks = {{"p >= 0 and p <= 1", "dropout probability has to be between 0 and 1, but got {p}"}},     \
        .forward = "forward(input): return " function "(input, p, self.training" inplace ")",                \
        .extra_repr = "p={p}, inplace={inplace}", .doc = "in training, " what " with probability p"          \
    }

const struct layer_row dropout_rows[] = {
    DROPOUT("Dropout", "dropout", ", inplace", "zeroes elements"),
    DROPOUT("Dropout1d", "dropout1d", ", inplace", "zeroes channels of (N, C, L) or (C, L)"),
    DROPOUT("Dropout2d", "dropout2d", ", inplace", "zeroes channels of (N, C, H, W)"),
    DROPOUT("Dropout3d", "dropout3d", ", inplace", "zeroes channels of (N, C, D, H, W) or (C, D, H, W)"),
    DROPOUT("AlphaDropout", "alpha_dropout", "", "replaces elements, keeping mean and variance,"),
    DROPOUT("FeatureAlphaDropout", "feature_alpha_dropout", "",
            "replaces channels, keeping mean and variance,"),
    {.name = NULL},
};
