/* upsampling.c - rows of torch/nn/modules/upsampling.py. */
#include "layers/layers.h"

#define UPSAMPLE_REPR                                                                                        \
    "[scale_factor != None?scale_factor={scale_factor}][scale_factor == None?size={size}], mode="

extern const struct layer_row upsampling_rows[];

const struct layer_row upsampling_rows[] = {
    {
        .name = "Upsample",
        .args = {{"size", ARG_OPTION, "None"},
                 {"scale_factor", ARG_FLOATS, "None"},
                 {"mode", ARG_STRING, "'nearest'"},
                 {"align_corners", ARG_OPTION, "None"},
                 {"recompute_scale_factor", ARG_OPTION, "None"}},
        .forward = "forward(input): return interpolate(input, size, scale_factor, mode, align_corners, "
                   "recompute_scale_factor)",
        .extra_repr = UPSAMPLE_REPR "{mode!r}",
        .doc = "the same of another size",
    },
    {
        .name = "UpsamplingNearest2d",
        .args = {{"size", ARG_OPTION, "None"}, {"scale_factor", ARG_FLOATS, "None"}},
        .forward = "forward(input): return interpolate(input, size, scale_factor)",
        .extra_repr = UPSAMPLE_REPR "'nearest'",
        .doc = "an image of another size, of the elements that it has",
    },
    {
        .name = "UpsamplingBilinear2d",
        .args = {{"size", ARG_OPTION, "None"}, {"scale_factor", ARG_FLOATS, "None"}},
        .forward = "forward(input): return interpolate(input, size, scale_factor, 'bilinear', True)",
        .extra_repr = UPSAMPLE_REPR "'bilinear'",
        .doc = "an image of another size, linear between its corners",
    },
    {.name = NULL},
};
