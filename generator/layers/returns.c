/* returns.c - n-step returns: torchrl's MultiStep as a module of the tree, with its state. Its transform belongs to the
 * rollout section. */
#include "layers/layers.h"

extern const struct layer_row return_rows[];

const struct layer_row return_rows[] = {
    {
        .name = "MultiStep",
        .args = {{"gamma", ARG_FLOAT, NULL}, {"n_steps", ARG_INT, NULL}},
        .buffers = {{"gammas",
                     .value = "(gamma ** arange(0, n_steps + 1, dtype=torch.float64)).float()[None, None]",
                     .dtype = "float32"}},
        .checks = {{"gamma > 0 and gamma <= 1", "gamma must be in (0, 1], found {gamma}"},
                   {"n_steps >= 0", "n_steps must not be negative, found {n_steps}"}},
        .extra_repr = "",
        .doc = "n-step return settings; used by rollout, never called",
    },
    {.name = NULL},
};
