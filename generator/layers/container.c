/* container.c - rows of torch/nn/modules/container.py. What calling a list does is in lower/lower_call.c. */
#include "layers/layers.h"

extern const struct layer_row container_rows[];

const struct layer_row container_rows[] = {
    {.name = "Sequential", .container = LAYER_SEQUENTIAL, .doc = "modules called in turn; a list in a spec"},
    {.name = "ModuleList", .container = LAYER_MODULE_LIST, .doc = "modules by index"},
    {.name = "ModuleDict", .container = LAYER_MODULE_DICT, .doc = "modules by name; a mapping in a spec"},
    {.name = "ParameterList", .container = LAYER_PARAMETER_LIST, .doc = "parameters by index"},
    {.name = "ParameterDict", .container = LAYER_PARAMETER_DICT, .doc = "parameters by name"},
    {.name = NULL},
};
