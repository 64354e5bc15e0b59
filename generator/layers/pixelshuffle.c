/* pixelshuffle.c - rows of torch/nn/modules/pixelshuffle.py and channelshuffle.py. */
#include "layers/layers.h"

extern const struct layer_row shuffle_rows[];

const struct layer_row shuffle_rows[] = {
    {
        .name = "PixelShuffle",
        .args = {{"upscale_factor", ARG_INT, NULL}},
        .forward = "forward(input): return pixel_shuffle(input, upscale_factor)",
        .extra_repr = "upscale_factor={upscale_factor}",
        .doc = "(*, C * r * r, H, W) to (*, C, H * r, W * r)",
    },
    {
        .name = "PixelUnshuffle",
        .args = {{"downscale_factor", ARG_INT, NULL}},
        .forward = "forward(input): return pixel_unshuffle(input, downscale_factor)",
        .extra_repr = "downscale_factor={downscale_factor}",
        .doc = "(*, C, H * r, W * r) to (*, C * r * r, H, W)",
    },
    {
        .name = "ChannelShuffle",
        .args = {{"groups", ARG_INT, NULL}},
        .forward = "forward(input): return channel_shuffle(input, groups)",
        .extra_repr = "groups={groups}",
        .doc = "deals the channels of (N, C, *) out: one of each group in turn",
    },
    {.name = NULL},
};
