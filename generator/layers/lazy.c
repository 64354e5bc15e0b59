/* lazy.c - the lazy forms, as torch/nn/modules/lazy.py has them: their first call gives what stands first among the
 * arguments of the class that they become. The others are those of that class. */
#include "layers/layers.h"

extern const struct layer_row lazy_rows[];

/* `kind` of what is by dimension; `channels`: the channels of an image with or without a batch. */
#define CONV(rank, kind, channels)                                                                           \
    {                                                                                                        \
        .name = "LazyConv" rank,                                                                             \
        .args = {{"out_channels", ARG_INT, NULL}, {"kernel_size", kind, NULL},                               \
                 {"stride", kind, "1"},           {"padding", kind, "0"},                                    \
                 {"dilation", kind, "1"},         {"groups", ARG_INT, "1"},                                  \
                 {"bias", ARG_BOOL, "True"},      {"padding_mode", ARG_STRING, "'zeros'"}},                  \
        .becomes = "Conv" rank, .axis = channels,                                                            \
        .doc = "Conv" rank ", whose in_channels its first call gives"                                        \
    }
#define TRANSPOSED(rank, kind, channels)                                                                     \
    {                                                                                                        \
        .name = "LazyConvTranspose" rank, .args = {{"out_channels", ARG_INT, NULL},                          \
                                                   {"kernel_size", kind, NULL},                              \
                                                   {"stride", kind, "1"},                                    \
                                                   {"padding", kind, "0"},                                   \
                                                   {"output_padding", kind, "0"},                            \
                                                   {"groups", ARG_INT, "1"},                                 \
                                                   {"bias", ARG_BOOL, "True"},                               \
                                                   {"dilation", kind, "1"},                                  \
                                                   {"padding_mode", ARG_STRING, "'zeros'"}},                 \
        .becomes = "ConvTranspose" rank, .axis = channels,                                                   \
        .doc = "ConvTranspose" rank ", whose in_channels its first call gives"                               \
    }
#define NORM(kind)                                                                                           \
    {                                                                                                        \
        .name = "Lazy" kind,                                                                                 \
        .args = {{"eps", ARG_FLOAT, "1e-5"},                                                                 \
                 {"momentum", ARG_OPTION, "0.1"},                                                            \
                 {"affine", ARG_BOOL, "True"}, /* of instance norms too, unlike theirs */                    \
                 {"track_running_stats", ARG_BOOL, "True"},                                                  \
                 {"bias", ARG_BOOL, "True", .keyword = true}},                                               \
        .becomes = kind, .axis = 1, .doc = kind ", whose num_features its first call gives"                  \
    }

const struct layer_row lazy_rows[] = {
    {
        .name = "LazyLinear",
        .args = {{"out_features", ARG_INT, NULL}, {"bias", ARG_BOOL, "True"}},
        .becomes = "Linear",
        .axis = -1,
        .doc = "Linear, whose in_features its first call gives",
    },
    CONV("1d", ARG_SINGLE, -2),
    CONV("2d", ARG_PAIR, -3),
    CONV("3d", ARG_TRIPLE, -4),
    TRANSPOSED("1d", ARG_SINGLE, -2),
    TRANSPOSED("2d", ARG_PAIR, -3),
    TRANSPOSED("3d", ARG_TRIPLE, -4),
    NORM("BatchNorm1d"),
    NORM("BatchNorm2d"),
    NORM("BatchNorm3d"),
    NORM("InstanceNorm1d"),
    NORM("InstanceNorm2d"),
    NORM("InstanceNorm3d"),
    {.name = NULL},
};
