/* pooling.c - rows of torch/nn/modules/pooling.py. */
#include "layers.h"

extern const struct layer_row pooling_rows[];

#define MAX_POOL(d, windows)                                                                                 \
    {                                                                                                        \
        .name = "MaxPool" d,                                                                                 \
        .args = {{"kernel_size", ARG_OPTION, NULL},     {"stride", ARG_OPTION, "None"},                      \
                 {"padding", ARG_OPTION, "0"},          {"dilation", ARG_OPTION, "1"},                       \
                 {"return_indices", ARG_BOOL, "False"}, {"ceil_mode", ARG_BOOL, "False"}},                   \
        .forward = "forward(input): return max_pool" d                                                       \
                   "(input, kernel_size, stride, padding, dilation, ceil_mode, "                             \
                   "return_indices)",                                                                        \
        .extra_repr = "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, "      \
                      "padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}",                       \
        .doc = "largest value of each " windows,                                                             \
    }

#define AVG_POOL(d, windows)                                                                                 \
    {                                                                                                        \
        .name = "AvgPool" d,                                                                                 \
        .args = {{"kernel_size", ARG_OPTION, NULL},                                                          \
                 {"stride", ARG_OPTION, "None"},                                                             \
                 {"padding", ARG_OPTION, "0"},                                                               \
                 {"ceil_mode", ARG_BOOL, "False"},                                                           \
                 {"count_include_pad", ARG_BOOL, "True"},                                                    \
                 {"divisor_override", ARG_OPTION, "None"}},                                                  \
        .forward = "forward(input): return avg_pool" d "(input, kernel_size, stride, padding, ceil_mode, "   \
                   "count_include_pad, divisor_override)",                                                   \
        .extra_repr = "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, "      \
                      "padding={padding}",                                                                   \
        .doc = "mean of each " windows,                                                                      \
    }

const struct layer_row pooling_rows[] = {
    MAX_POOL("1d", "window of a sequence"),
    MAX_POOL("2d", "window"),
    MAX_POOL("3d", "window of a volume"),
    {
        .name = "AvgPool1d",
        .args = {{"kernel_size", ARG_SINGLE, NULL},
                 {"stride", ARG_SINGLE, "None"},
                 {"padding", ARG_SINGLE, "0"},
                 {"ceil_mode", ARG_BOOL, "False"},
                 {"count_include_pad", ARG_BOOL, "True"}},
        .forward =
            "forward(input): return avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)",
        .extra_repr = "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, "
                      "padding={padding}",
        .doc = "mean of each window of a sequence",
    },
    AVG_POOL("2d", "window"),
    AVG_POOL("3d", "window of a volume"),
    {.name = NULL},
};
