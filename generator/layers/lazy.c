/* lazy.c - the lazy forms, as torch/nn/modules/lazy.py has them: their first call gives what stands first among the
 * arguments of the class that they become. The others are those of that class. */
#include "layers.h"

extern const struct layer_row lazy_rows[];

#define CONV_ARGS(kind)                                                                                               \
    {                                                                                                                 \
        {"out_channels", ARG_INT, NULL}, {"kernel_size", kind, NULL}, {"stride", kind, "1"}, {"padding", kind, "0"},  \
            {"dilation", kind, "1"}, {"groups", ARG_INT, "1"}, {"bias", ARG_BOOL, "True"},                            \
            {"padding_mode", ARG_STRING, "'zeros'"}                                                                   \
    }

/* `learned`: whether affine and track_running_stats are the default. */
#define NORM_ARGS(learned)                                                                                            \
    {                                                                                                                 \
        {"eps", ARG_FLOAT, "1e-5"}, {"momentum", ARG_OPTION, "0.1"}, {"affine", ARG_BOOL, learned},                   \
            {"track_running_stats", ARG_BOOL, learned}                                                                \
    }

const struct layer_row lazy_rows[] = {
    {
        .name = "LazyLinear",
        .args = {{"out_features", ARG_INT, NULL}, {"bias", ARG_BOOL, "True"}},
        .becomes = "Linear",
        .axis = -1,
        .doc = "Linear, whose in_features its first call gives",
    },
    {
        .name = "LazyConv2d",
        .args = CONV_ARGS(ARG_PAIR),
        .becomes = "Conv2d",
        .axis = -3,
        .doc = "Conv2d, whose in_channels its first call gives",
    },
    {
        .name = "LazyBatchNorm2d",
        .args = NORM_ARGS("True"),
        .becomes = "BatchNorm2d",
        .axis = 1,
        .doc = "BatchNorm2d, whose num_features its first call gives",
    },
    {.name = NULL},
};
