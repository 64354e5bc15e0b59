/* flatten.c - rows of torch/nn/modules/flatten.py. */
#include "layers/layers.h"

extern const struct layer_row flatten_rows[];

const struct layer_row flatten_rows[] = {
    {
        .name = "Flatten",
        .args = {{"start_dim", ARG_INT, "1"}, {"end_dim", ARG_INT, "-1"}},
        .forward = "forward(input): return flatten(input, start_dim, end_dim)",
        .extra_repr = "start_dim={start_dim}, end_dim={end_dim}",
        .doc = "merges dimensions start_dim to end_dim",
    },
    {
        .name = "Unflatten",
        .args = {{"dim", ARG_INT, NULL}, {"unflattened_size", ARG_TUPLE, NULL}},
        .forward = "forward(input): return unflatten(input, dim, unflattened_size)",
        .extra_repr = "dim={dim}, unflattened_size={unflattened_size}",
        .doc = "gives one dimension several",
    },
    {.name = NULL},
};
