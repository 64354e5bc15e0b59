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

#define NORM(kind)                                                                                                    \
    {                                                                                                                 \
        .name = "Lazy" kind,                                                                                          \
        .args = {{"eps", ARG_FLOAT, "1e-5"},                                                                          \
                 {"momentum", ARG_OPTION, "0.1"},                                                                     \
                 {"affine", ARG_BOOL, "True"}, /* of instance norms too, unlike theirs */                             \
                 {"track_running_stats", ARG_BOOL, "True"},                                                           \
                 {"bias", ARG_BOOL, "True", .keyword = true}},                                                        \
        .becomes = kind, .axis = 1, .doc = kind ", whose num_features its first call gives"                           \
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
    NORM("BatchNorm1d"),
    NORM("BatchNorm2d"),
    NORM("BatchNorm3d"),
    NORM("InstanceNorm1d"),
    NORM("InstanceNorm2d"),
    NORM("InstanceNorm3d"),
    {.name = NULL},
};
