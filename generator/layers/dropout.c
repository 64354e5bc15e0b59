/* dropout.c - rows of torch/nn/modules/dropout.py. */
#include "layers.h"

extern const struct layer_row dropout_rows[];

const struct layer_row dropout_rows[] = {
    {
        .name = "Dropout",
        .args = {{"p", ARG_FLOAT, "0.5"}, {"inplace", ARG_BOOL, "False"}},
        .checks = {{"p >= 0 and p <= 1", "dropout probability has to be between 0 and 1, but got {p}"}},
        .forward = "forward(input): return dropout(input, p, self.training)",
        .extra_repr = "p={p}, inplace={inplace}",
        .doc = "in training, zeroes elements with probability p",
    },
    {.name = NULL},
};
