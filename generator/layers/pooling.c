/* pooling.c - rows of torch/nn/modules/pooling.py. */
#include "layers.h"

extern const struct layer_row pooling_rows[];

const struct layer_row pooling_rows[] = {
    {
        .name = "MaxPool2d",
        .args = {{"kernel_size", ARG_OPTION, NULL},
                 {"stride", ARG_OPTION, "None"},
                 {"padding", ARG_OPTION, "0"},
                 {"dilation", ARG_OPTION, "1"},
                 {"return_indices", ARG_BOOL, "False"},
                 {"ceil_mode", ARG_BOOL, "False"}},
        .forward = "forward(input): return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, "
                   "return_indices)",
        .extra_repr = "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, "
                      "padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}",
        .doc = "largest value of each window",
    },
    {
        .name = "AvgPool2d",
        .args = {{"kernel_size", ARG_OPTION, NULL},
                 {"stride", ARG_OPTION, "None"},
                 {"padding", ARG_OPTION, "0"},
                 {"ceil_mode", ARG_BOOL, "False"},
                 {"count_include_pad", ARG_BOOL, "True"},
                 {"divisor_override", ARG_OPTION, "None"}},
        .forward = "forward(input): return avg_pool2d(input, kernel_size, stride, padding, ceil_mode, "
                   "count_include_pad, divisor_override)",
        .extra_repr = "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, "
                      "padding={padding}",
        .doc = "mean of each window",
    },
    {.name = NULL},
};
