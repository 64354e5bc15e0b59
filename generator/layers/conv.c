/* conv.c - rows of torch/nn/modules/conv.py. */
#include "layers.h"

extern const struct layer_row conv_rows[];

const struct layer_row conv_rows[] = {
    {
        .name = "Conv2d",
        .args = {{"in_channels", ARG_INT, NULL},
                 {"out_channels", ARG_INT, NULL},
                 {"kernel_size", ARG_PAIR, NULL},
                 {"stride", ARG_PAIR, "1"},
                 {"padding", ARG_PAIR, "0"},
                 {"dilation", ARG_PAIR, "1"},
                 {"groups", ARG_INT, "1"},
                 {"bias", ARG_BOOL, "True"},
                 {"padding_mode", ARG_STRING, "'zeros'"}},
        .params = {{.name = "weight", .shape = "out_channels, in_channels // groups, kernel_size[0], kernel_size[1]", .init = "kaiming_uniform_(a=5 ** 0.5)"},
                   {.name = "bias", .shape = "out_channels", .init = "uniform_(-bound, bound)", .when = "bias",
                    .with = "bound = 1 / sqrt(in_channels // groups * kernel_size[0] * kernel_size[1])"}},
        .checks = {{"groups > 0", "groups must be positive, found {groups}"},
                   {"in_channels % groups == 0", "in_channels must be divisible by groups, found {in_channels} and {groups}"},
                   {"out_channels % groups == 0", "out_channels must be divisible by groups, found {out_channels} and {groups}"},
                   {"in_channels > 0", "in_channels must be positive, found {in_channels}"},
                   {"out_channels > 0", "out_channels must be positive, found {out_channels}"},
                   {"kernel_size[0] > 0 and kernel_size[1] > 0", "kernel_size must be positive, found {kernel_size}"},
                   {"stride[0] > 0 and stride[1] > 0", "stride must be positive, found {stride}"},
                   {"dilation[0] > 0 and dilation[1] > 0", "dilation must be positive, found {dilation}"},
                   {"padding != 'same' or stride == (1, 1)", "padding='same' is not supported for strided convolutions"},
                   {"padding_mode == 'zeros'",
                    "padding_mode {padding_mode!r} is not supported yet by this version of modc; it has 'zeros'"}},
        .forward = "forward(input): return conv2d(input, weight, bias, stride, padding, dilation, groups)",
        .extra_repr = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
                      "[padding != (0, 0)?, padding={padding}][dilation != (1, 1)?, dilation={dilation}]"
                      "[groups != 1?, groups={groups}][not bias?, bias=False]",
        .doc = "2-D cross-correlation over (N, C, H, W)",
    },
    {.name = NULL},
};
