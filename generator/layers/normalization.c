/* normalization.c - rows of torch/nn/modules/batchnorm.py and normalization.py. */
#include "layers.h"

extern const struct layer_row norm_rows[];

const struct layer_row norm_rows[] = {
    {
        .name = "BatchNorm2d",
        .args = {{"num_features", ARG_INT, NULL},
                 {"eps", ARG_FLOAT, "1e-5"},
                 {"momentum", ARG_OPTION, "0.1"},
                 {"affine", ARG_BOOL, "True"},
                 {"track_running_stats", ARG_BOOL, "True"}},
        .params = {{"weight", "num_features", "ones_()", .when = "affine"},
                   {"bias", "num_features", "zeros_()", .when = "affine"}},
        .buffers = {{"running_mean", "num_features", "zeros_()", .when = "track_running_stats"},
                    {"running_var", "num_features", "ones_()", .when = "track_running_stats"},
                    {"num_batches_tracked", "", "zeros_()", .when = "track_running_stats", .dtype = "int64",
                     .optional = true}},
        .checks = {{"num_features > 0", "num_features must be positive, found {num_features}"}},
        .forward =
            "forward(input): _check_ndim(input, 4, num_features)\n"
            "use_batch = self.training or not track_running_stats\n"
            "mean = input.mean(dim=(0, 2, 3)) if use_batch else running_mean\n"
            "gap = input - mean[:, None, None] if use_batch else None\n"
            "var = (gap * gap).mean(dim=(0, 2, 3)) if use_batch else running_var\n"
            "update = self.training and track_running_stats\n"
            "self.num_batches_tracked = num_batches_tracked + 1 if update else None\n"
            "factor = (1.0 / num_batches_tracked.to(input.dtype) if momentum == None else momentum) if update else 0\n"
            "count = input.shape[0] * input.shape[2] * input.shape[3]\n"
            "self.running_mean = (1 - factor) * running_mean + factor * mean if update else None\n"
            "self.running_var = (1 - factor) * running_var + factor * (var * (count / (count - 1))) if update else None\n"
            "scale = rsqrt(var + eps) * weight if affine else rsqrt(var + eps)\n"
            "shift = bias - mean * scale if affine else -mean * scale\n"
            "return input * scale[:, None, None] + shift[:, None, None]",
        .extra_repr = "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={affine}, "
                      "track_running_stats={track_running_stats}",
        .doc = "normalises each channel of (N, C, H, W) over the batch",
    },
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
    {.name = NULL},
};
