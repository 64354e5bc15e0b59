/* pooling.c - rows of torch/nn/modules/pooling.py. */
#include "layers/layers.h"

#define WINDOWS_REPR                                                                                         \
    "kernel_size={kernel_size}, stride={kernel_size if stride == None else stride}, padding={padding}"

/* clang-format off */
#define MAX_POOL(d, windows)                                                                                 \
    {                                                                                                        \
        .name = "MaxPool" d,                                                                                 \
        .args = {{"kernel_size", ARG_OPTION, NULL},                                                          \
                 {"stride", ARG_OPTION, "None"},                                                             \
                 {"padding", ARG_OPTION, "0"},                                                               \
                 {"dilation", ARG_OPTION, "1"},                                                              \
                 {"return_indices", ARG_BOOL, "False"},                                                      \
                 {"ceil_mode", ARG_BOOL, "False"}},                                                          \
        .forward = "forward(input): return max_pool" d "(input, kernel_size, stride, padding, dilation, "    \
                   "ceil_mode, return_indices)",                                                             \
        .extra_repr = WINDOWS_REPR ", dilation={dilation}, ceil_mode={ceil_mode}",                           \
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
        .extra_repr = WINDOWS_REPR,                                                                          \
        .doc = "mean of each " windows,                                                                      \
    }

#define ADAPTIVE_MAX_POOL(d, parts)                                                                          \
    {                                                                                                        \
        .name = "AdaptiveMaxPool" d,                                                                         \
        .args = {{"output_size", ARG_OPTION, NULL},                                                          \
                 {"return_indices", ARG_BOOL, "False"}},                                                     \
        .forward = "forward(input): return adaptive_max_pool" d "(input, output_size, return_indices)",      \
        .extra_repr = "output_size={output_size}",                                                           \
        .doc = "largest values of so many " parts,                                                           \
    }

#define ADAPTIVE_AVG_POOL(d, parts)                                                                          \
    {                                                                                                        \
        .name = "AdaptiveAvgPool" d,                                                                         \
        .args = {{"output_size", ARG_OPTION, NULL}},                                                         \
        .forward = "forward(input): return adaptive_avg_pool" d "(input, output_size)",                      \
        .extra_repr = "output_size={output_size}",                                                           \
        .doc = "means of so many " parts,                                                                    \
    }

#define LP_POOL(d, windows)                                                                                  \
    {                                                                                                        \
        .name = "LPPool" d,                                                                                  \
        .args = {{"norm_type", ARG_OPTION, NULL},                                                            \
                 {"kernel_size", ARG_OPTION, NULL},                                                          \
                 {"stride", ARG_OPTION, "None"},                                                             \
                 {"ceil_mode", ARG_BOOL, "False"}},                                                          \
        .checks = {{"norm_type != 0", "norm_type must be a non-zero value, but got {norm_type}"}},           \
        .forward = "forward(input): return lp_pool" d "(input, norm_type, kernel_size, stride, ceil_mode)",  \
        .extra_repr = "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, "                  \
                      "ceil_mode={ceil_mode}",                                                               \
        .doc = "root of the sum of powers of each " windows,                                                 \
    }

#define MAX_UNPOOL(d, tuple)                                                                                 \
    {                                                                                                        \
        .name = "MaxUnpool" d,                                                                               \
        .args = {{"kernel_size", tuple, NULL},                                                               \
                 {"stride", tuple, "None"},                                                                  \
                 {"padding", tuple, "0"}},                                                                   \
        .forward = "forward(input, indices, output_size=None): "                                             \
                   "return max_unpool" d "(input, indices, kernel_size, stride, padding, output_size)",      \
        .extra_repr = WINDOWS_REPR,                                                                          \
        .doc = "what MaxPool" d " left, back at its places, with 0 between",                                 \
    }

#define FRACTIONAL_MAX_POOL(d, windows)                                                                      \
    {                                                                                                        \
        .name = "FractionalMaxPool" d,                                                                       \
        .args = {{"kernel_size", ARG_OPTION, NULL},                                                          \
                 {"output_size", ARG_OPTION, "None"},                                                        \
                 {"output_ratio", ARG_FLOATS, "None"},                                                       \
                 {"return_indices", ARG_BOOL, "False"},                                                      \
                 {"_random_samples", ARG_OPTION, "None"}},                                                   \
        .buffers = {{"_random_samples", .value = "torch.tensor(_random_samples)",                            \
                     .when = "_random_samples != None"}},                                                    \
        .checks = {{"output_size != None or output_ratio != None",                                           \
                    "requires specifying either an output size, or a pooling ratio"},  \
                   {"output_size == None or output_ratio == None",                                           \
                    "only one of output_size and output_ratio may be specified"}},                           \
        .forward = "forward(input): return fractional_max_pool" d "(input, kernel_size, output_size, "       \
                   "output_ratio, return_indices, _random_samples)",                                         \
        .doc = "largest value of each of so many " windows ", drawn in each call",                           \
    }
/* clang-format on */

extern const struct layer_row pooling_rows[];

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
        .forward = "forward(input): return avg_pool1d(input, kernel_size, stride, padding, ceil_mode, "
                   "count_include_pad)",
        .extra_repr = WINDOWS_REPR,
        .doc = "mean of each window of a sequence",
    },
    AVG_POOL("2d", "window"),
    AVG_POOL("3d", "window of a volume"),
    ADAPTIVE_MAX_POOL("1d", "parts of a sequence"),
    ADAPTIVE_MAX_POOL("2d", "parts"),
    ADAPTIVE_MAX_POOL("3d", "parts of a volume"),
    ADAPTIVE_AVG_POOL("1d", "parts of a sequence"),
    ADAPTIVE_AVG_POOL("2d", "parts"),
    ADAPTIVE_AVG_POOL("3d", "parts of a volume"),
    LP_POOL("1d", "window of a sequence"),
    LP_POOL("2d", "window"),
    LP_POOL("3d", "window of a volume"),
    MAX_UNPOOL("1d", ARG_SINGLE),
    MAX_UNPOOL("2d", ARG_PAIR),
    MAX_UNPOOL("3d", ARG_TRIPLE),
    FRACTIONAL_MAX_POOL("2d", "windows"),
    FRACTIONAL_MAX_POOL("3d", "windows of a volume"),
    {.name = NULL},
};
