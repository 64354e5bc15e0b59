/* fold.c - rows of torch/nn/modules/fold.py. */
#include "layers/layers.h"

extern const struct layer_row fold_rows[];

const struct layer_row fold_rows[] = {
    {
        .name = "Fold",
        .args = {{"output_size", ARG_OPTION, NULL},
                 {"kernel_size", ARG_OPTION, NULL},
                 {"dilation", ARG_OPTION, "1"},
                 {"padding", ARG_OPTION, "0"},
                 {"stride", ARG_OPTION, "1"}},
        .forward = "forward(input): return fold(input, output_size, kernel_size, dilation, padding, stride)",
        .extra_repr =
            "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, "
            "stride={stride}",
        .doc = "columns (N, C * KH * KW, L), added up where they were windows of an image",
    },
    {
        .name = "Unfold",
        .args = {{"kernel_size", ARG_OPTION, NULL},
                 {"dilation", ARG_OPTION, "1"},
                 {"padding", ARG_OPTION, "0"},
                 {"stride", ARG_OPTION, "1"}},
        .forward = "forward(input): return unfold(input, kernel_size, dilation, padding, stride)",
        .extra_repr = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
        .doc = "windows of an image as columns (N, C * KH * KW, L)",
    },
    {.name = NULL},
};
