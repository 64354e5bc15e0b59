/* extern.c - a module whose body is the user's, which is no class of torch.nn. What it is: struct extern_body in tree.h. */
#include "layers/layers.h"

extern const struct layer_row extern_rows[];

const struct layer_row extern_rows[] = {
    {
        .name = "Extern",
        .args = {{"name", ARG_STRING, NULL},
                 {"shape", ARG_SIZES, NULL},
                 {"dtype", ARG_OPTION, "None"},
                 {"backward", ARG_BOOL, "False"}},
        .forward = "forward(*inputs): return _extern(inputs, shape, dtype)",
        .extra_repr = "{name!r}",
        .external = true,
        .doc = "a body of your own, in C",
    },
    {.name = NULL},
};
