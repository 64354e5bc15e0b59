/* conv.c - rows of torch/nn/modules/conv.py. */
#include "layers/layers.h"

extern const struct layer_row conv_rows[];

#define TAPS_1 "kernel_size[0]"
#define TAPS_2 TAPS_1 ", kernel_size[1]"
#define TAPS_3 TAPS_2 ", kernel_size[2]"
#define AREA_1 "kernel_size[0]"
#define AREA_2 AREA_1 " * kernel_size[1]"
#define AREA_3 AREA_2 " * kernel_size[2]"

#define CHECKS                                                                                               \
    {"groups > 0", "groups must be positive, found {groups}"},                                               \
        {"in_channels % groups == 0",                                                                        \
         "in_channels must be divisible by groups, found {in_channels} and {groups}"},                       \
        {"out_channels % groups == 0",                                                                       \
         "out_channels must be divisible by groups, found {out_channels} and {groups}"},                     \
        {"in_channels > 0", "in_channels must be positive, found {in_channels}"},                            \
        {"out_channels > 0", "out_channels must be positive, found {out_channels}"},                         \
        {"min(kernel_size) > 0", "kernel_size must be positive, found {kernel_size}"},                       \
        {"min(stride) > 0", "stride must be positive, found {stride}"},                                      \
    {                                                                                                        \
        "min(dilation) > 0", "dilation must be positive, found {dilation}"                                   \
    }

/* zeros and ones: the defaults as tuples, which are not printed; `more`, `more_checks`: a further argument
 * and a check, behind commas of their own. */
#define CONVOLUTION(title, more, more_checks, weights, rank, kind, zeros, ones, ...)                                   \
    {                                                                                                                  \
        .name = title "Conv" #rank "d",                                                                                \
        .args = {{"in_channels", ARG_INT, NULL},                                                                       \
                 {"out_channels", ARG_INT, NULL},                                                                      \
                 {"kernel_size", kind, NULL},                                                                          \
                 {"stride", kind, "1"},                                                                                \
                 {"padding", kind, "0"},                                                                               \
                 {"dilation", kind, "1"},                                                                              \
                 {"groups", ARG_INT, "1"},                                                                             \
                 {"bias", ARG_BOOL, "True"},                                                                           \
                 {"padding_mode", ARG_STRING, "'zeros'"} more},                                                        \
        .params = {{.name = "weight",                                                                                  \
                    .shape = "out_channels, in_channels // groups, " TAPS_##rank,                                      \
                    .init = "kaiming_uniform_(a=5 ** 0.5)"},                                                           \
                   {.name = "bias",                                                                                    \
                    .shape = "out_channels",                                                                           \
                    .init = "uniform_(-bound, bound)",                                                                 \
                    .when = "bias",                                                                                    \
                    .with = "bound = 1 / sqrt(in_channels // groups * " AREA_##rank ")"}},                             \
        .checks =                                                                                                      \
            {CHECKS,                                                                                                   \
             {"padding != 'same' or stride == " ones,                                                                  \
              "padding='same' is not supported for strided convolutions"},                                             \
             {"padding_mode in ('zeros', 'reflect', 'replicate', 'circular')",                                         \
              "padding_mode must be one of zeros, reflect, replicate, circular, found {padding_mode!r}"} more_checks}, \
        .forward = "forward(input):\n"                                                                                 \
                   "    explicit = padding_mode != 'zeros'\n"                                                          \
                   "    return conv" #rank                                                                             \
                   "d(pad(input, _conv_padding(padding, kernel_size, dilation), padding_mode) if "                     \
                   "explicit else input, " weights                                                                     \
                   ", bias, stride, 0 if explicit else padding, dilation, groups)",                                    \
        .extra_repr = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"                      \
                      "[padding != " zeros "?, padding={padding}][dilation != " ones                                   \
                      "?, dilation={dilation}]"                                                                        \
                      "[groups != 1?, groups={groups}][not bias?, bias=False]"                                         \
                      "[padding_mode != 'zeros'?, padding_mode={padding_mode}]",                                       \
        __VA_ARGS__                                                                                                    \
    }
#define PLAIN(rank, kind, zeros, ones, axes)                                                                 \
    CONVOLUTION("", , , "weight", rank, kind, zeros, ones,                                                   \
                .doc = #rank "-D cross-correlation over (N, C, " axes ")")
#define QAT(rank, kind, zeros, ones)                                                                         \
    CONVOLUTION("qat.", LAYER_QCONFIG, LAYER_QCONFIG_CHECK, "weight_fake_quant(weight)", rank, kind, zeros,  \
                ones, .children = {LAYER_WEIGHT_FAKE_QUANT},                                                 \
                .doc = "Conv" #rank "d, whose weight a fake quantizer of the qconfig rounds")

#define TRANSPOSED(rank, kind, zeros, ones, axes)                                                            \
    {                                                                                                        \
        .name = "ConvTranspose" #rank "d",                                                                   \
        .args = {{"in_channels", ARG_INT, NULL}, {"out_channels", ARG_INT, NULL},                            \
                 {"kernel_size", kind, NULL},    {"stride", kind, "1"},                                      \
                 {"padding", kind, "0"},         {"output_padding", kind, "0"},                              \
                 {"groups", ARG_INT, "1"},       {"bias", ARG_BOOL, "True"},                                 \
                 {"dilation", kind, "1"},        {"padding_mode", ARG_STRING, "'zeros'"}},                   \
        .params = {{.name = "weight",                                                                        \
                    .shape = "in_channels, out_channels // groups, " TAPS_##rank,                            \
                    .init = "kaiming_uniform_(a=5 ** 0.5)"},                                                 \
                   {.name = "bias",                                                                          \
                    .shape = "out_channels",                                                                 \
                    .init = "uniform_(-bound, bound)",                                                       \
                    .when = "bias",                                                                          \
                    .with = "bound = 1 / sqrt(out_channels // groups * " AREA_##rank ")"}},                  \
        .checks = {CHECKS,                                                                                   \
                   {"padding_mode == 'zeros'",                                                               \
                    "only zeros is supported for transposed convolutions, found {padding_mode!r}"}},         \
        .forward = "forward(input, output_size=None):\n"                                                     \
                   "    extra = output_padding if output_size == None else "                                 \
                   "_output_padding(input, output_size, kernel_size, stride, padding, dilation)\n"           \
                   "    return conv_transpose" #rank                                                         \
                   "d(input, weight, bias, stride, padding, extra, groups, dilation)",                       \
        .extra_repr = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"            \
                      "[padding != " zeros "?, padding={padding}][dilation != " ones                         \
                      "?, dilation={dilation}]"                                                              \
                      "[output_padding != " zeros "?, output_padding={output_padding}]"                      \
                      "[groups != 1?, groups={groups}][not bias?, bias=False]",                              \
        .doc = "the transpose (gradient) of Conv" #rank "d, over (N, C, " axes ")",                          \
    }

const struct layer_row conv_rows[] = {
    PLAIN(1, ARG_SINGLE, "(0,)", "(1,)", "L"),
    PLAIN(2, ARG_PAIR, "(0, 0)", "(1, 1)", "H, W"),
    PLAIN(3, ARG_TRIPLE, "(0, 0, 0)", "(1, 1, 1)", "D, H, W"),
    TRANSPOSED(1, ARG_SINGLE, "(0,)", "(1,)", "L"),
    TRANSPOSED(2, ARG_PAIR, "(0, 0)", "(1, 1)", "H, W"),
    TRANSPOSED(3, ARG_TRIPLE, "(0, 0, 0)", "(1, 1, 1)", "D, H, W"),
    QAT(1, ARG_SINGLE, "(0,)", "(1,)"),
    QAT(2, ARG_PAIR, "(0, 0)", "(1, 1)"),
    QAT(3, ARG_TRIPLE, "(0, 0, 0)", "(1, 1, 1)"),
    {.name = NULL},
};
