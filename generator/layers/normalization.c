/* normalization.c - rows of torch/nn/modules/batchnorm.py, instancenorm.py and normalization.py. */
#include "layers/layers.h"

extern const struct layer_row norm_rows[];

/* What the batch norms and the instance norms share; they differ in defaults. */
#define CHANNEL_ARGS(affine_default, track_default)                                                          \
    {"num_features", ARG_INT, NULL}, {"eps", ARG_FLOAT, "1e-5"}, {"momentum", ARG_OPTION, "0.1"},            \
        {"affine", ARG_BOOL, affine_default},                                                                \
    {                                                                                                        \
        "track_running_stats", ARG_BOOL, track_default                                                       \
    }
#define BIAS_ARG                                                                                             \
    {                                                                                                        \
        "bias", ARG_BOOL, "True", .keyword = true                                                            \
    }
#define CHANNEL_PARAMS                                                                                       \
    {                                                                                                        \
        {"weight", "num_features", "ones_()", .when = "affine"},                                             \
        {                                                                                                    \
            "bias", "num_features", "zeros_()", .when = "affine and bias"                                    \
        }                                                                                                    \
    }
#define CHANNEL_BUFFERS                                                                                      \
    {                                                                                                        \
        {"running_mean", "num_features", "zeros_()", .when = "track_running_stats"},                         \
            {"running_var", "num_features", "ones_()", .when = "track_running_stats"},                       \
        {                                                                                                    \
            "num_batches_tracked", "", "zeros_()", .when = "track_running_stats", .dtype = "int64",          \
                                                   .optional = true                                          \
        }                                                                                                    \
    }
#define CHANNEL_CHECK                                                                                        \
    {                                                                                                        \
        "num_features >= 0", "num_features must not be negative, found {num_features}"                       \
    }
#define CHANNEL_REPR                                                                                         \
    "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={affine and bias}, "              \
    "track_running_stats={track_running_stats}"

#define BATCH_NORM_FORWARD(least, most)                                                                            \
    "forward(input): _check_ndim(input, " #least ", " #most ")\n"                                                  \
    "update = self.training and track_running_stats\n"                                                             \
    "self.num_batches_tracked = num_batches_tracked + 1 if update else None\n"                                     \
    "factor = (1.0 / num_batches_tracked.to(input.dtype) if momentum is None else momentum) if update else 0\n"    \
    "return batch_norm(input, running_mean, running_var, weight, bias, self.training or not track_running_stats, " \
    "factor, eps)"
#define BATCH_NORM(rank, least, most, shapes)                                                                \
    {                                                                                                        \
        .name = "BatchNorm" rank, .args = {CHANNEL_ARGS("True", "True"), BIAS_ARG},                          \
        .params = CHANNEL_PARAMS, .buffers = CHANNEL_BUFFERS, .checks = {CHANNEL_CHECK},                     \
        .forward = BATCH_NORM_FORWARD(least, most), .extra_repr = CHANNEL_REPR,                              \
        .doc = "normalises each channel of " shapes " over the batch"                                        \
    }

/* A single sample is a batch of one. */
#define INSTANCE_NORM(rank, single, batched, shapes)                                                         \
    {                                                                                                        \
        .name = "InstanceNorm" rank, .args = {CHANNEL_ARGS("False", "False"), BIAS_ARG},                     \
        .params = CHANNEL_PARAMS, .buffers = CHANNEL_BUFFERS, .checks = {CHANNEL_CHECK},                     \
        .forward = "forward(input): _check_ndim(input, " #single ", " #batched ")\n"                         \
                   "_check_features(input, input.ndim - " #single ", num_features, affine)\n"                \
                   "x = input.unsqueeze(0) if input.ndim == " #single " else input\n"                        \
                   "y = instance_norm(x, running_mean, running_var, weight, bias, "                          \
                   "self.training or not track_running_stats, 0 if momentum is None else momentum, eps)\n"   \
                   "return y.squeeze(0) if input.ndim == " #single " else y",                                \
        .extra_repr = CHANNEL_REPR, .doc = "normalises each channel of each sample of " shapes               \
    }

const struct layer_row norm_rows[] = {
    BATCH_NORM("1d", 2, 3, "(N, C) and (N, C, L)"),
    BATCH_NORM("2d", 4, 4, "(N, C, H, W)"),
    BATCH_NORM("3d", 5, 5, "(N, C, D, H, W)"),
    {
        .name = "SyncBatchNorm",
        .args = {CHANNEL_ARGS("True", "True"), {"process_group", ARG_OPTION, "None"}, BIAS_ARG},
        .params = CHANNEL_PARAMS,
        .buffers = CHANNEL_BUFFERS,
        .checks = {CHANNEL_CHECK,
                   {"process_group is None", "there is one process here: process_group is None"}},
        .forward = BATCH_NORM_FORWARD(2, 99),
        .extra_repr = CHANNEL_REPR,
        .doc = "BatchNorm of (N, C, ...), as one process computes it",
    },
    INSTANCE_NORM("1d", 2, 3, "(N, C, L) and (C, L)"),
    INSTANCE_NORM("2d", 3, 4, "(N, C, H, W) and (C, H, W)"),
    INSTANCE_NORM("3d", 4, 5, "(N, C, D, H, W) and (C, D, H, W)"),
    {
        .name = "LayerNorm",
        .args = {{"normalized_shape", ARG_INTS, NULL},
                 {"eps", ARG_FLOAT, "1e-5"},
                 {"elementwise_affine", ARG_BOOL, "True"},
                 {"bias", ARG_BOOL, "True"}},
        .params = {{"weight", "*normalized_shape", "ones_()", .when = "elementwise_affine"},
                   {"bias", "*normalized_shape", "zeros_()", .when = "elementwise_affine and bias"}},
        .forward = "forward(input): return layer_norm(input, normalized_shape, weight, bias, eps)",
        .extra_repr = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}, "
                      "bias={elementwise_affine and bias}",
        .doc = "normalises over the last dimensions",
    },
    {
        .name = "RMSNorm",
        .args = {{"normalized_shape", ARG_INTS, NULL},
                 {"eps", ARG_OPTION, "None"},
                 {"elementwise_affine", ARG_BOOL, "True"}},
        .params = {{"weight", "*normalized_shape", "ones_()", .when = "elementwise_affine"}},
        .forward = "forward(input): return rms_norm(input, normalized_shape, weight, eps)",
        .extra_repr = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}",
        .doc = "divides by the root mean square of the last dimensions",
    },
    {
        .name = "GroupNorm",
        .args = {{"num_groups", ARG_INT, NULL},
                 {"num_channels", ARG_INT, NULL},
                 {"eps", ARG_FLOAT, "1e-5"},
                 {"affine", ARG_BOOL, "True"},
                 BIAS_ARG},
        .params = {{"weight", "num_channels", "ones_()", .when = "affine"},
                   {"bias", "num_channels", "zeros_()", .when = "affine and bias"}},
        .checks = {{"num_channels >= 0", "num_channels must not be negative, found {num_channels}"},
                   {"num_groups > 0", "num_groups must be positive, found {num_groups}"},
                   {"num_channels % num_groups == 0",
                    "num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"}},
        .forward = "forward(input): return group_norm(input, num_groups, weight, bias, eps)",
        .extra_repr = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={affine and bias}",
        .doc = "normalises groups of channels of each sample of (N, C, ...)",
    },
    {
        .name = "LocalResponseNorm",
        .args = {{"size", ARG_INT, NULL},
                 {"alpha", ARG_FLOAT, "1e-4"},
                 {"beta", ARG_FLOAT, "0.75"},
                 {"k", ARG_FLOAT, "1.0"}},
        .checks = {{"size > 0", "size must be positive, found {size}"}},
        .forward = "forward(input): return local_response_norm(input, size, alpha, beta, k)",
        .extra_repr = "{size}, alpha={alpha}, beta={beta}, k={k}",
        .doc = "divides by a power of the mean square of neighbouring channels of (N, C, ...)",
    },
    {
        .name = "CrossMapLRN2d",
        .args = {{"size", ARG_INT, NULL},
                 {"alpha", ARG_FLOAT, "1e-4"},
                 {"beta", ARG_FLOAT, "0.75"},
                 {"k", ARG_FLOAT, "1"}},
        .checks = {{"size > 0", "size must be positive, found {size}"}},
        /* The running sum of PyTorch never subtracts channel 0; the others are those of a window. */
        .forward =
            "forward(input): _check_ndim(input, 4, 4)\n"
            "reach = (size - 1) // 2\n"
            "square = (input * input).flatten(2)\n"
            "others = pad(square[:, 1:], (0, 0, reach + 1, reach)).unfold(1, 2 * reach + 1, 1).sum(-1)\n"
            "total = (others + square[:, :1]).reshape(input.shape)\n"
            "return input * (total * (alpha / size) + k) ** -beta",
        .extra_repr = "{size}, alpha={alpha}, beta={beta}, k={k}",
        .doc = "LocalResponseNorm as Caffe sums it",
    },
    {.name = NULL},
};
