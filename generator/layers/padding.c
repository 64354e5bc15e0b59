/* padding.c - rows of torch/nn/modules/padding.py. */
#include "layers/layers.h"

extern const struct layer_row padding_rows[];

#define PAD(class, kind, mode, what)                                                                         \
    {                                                                                                        \
        .name = class, .args = {{"padding", kind, NULL}},                                                    \
        .forward = "forward(input): return pad(input, padding, '" mode "')", .extra_repr = "{padding}",      \
        .doc = what,                                                                                         \
    }

#define PAD_WITH_VALUE(class, kind)                                                                          \
    {                                                                                                        \
        .name = class, .args = {{"padding", kind, NULL}, {"value", ARG_FLOAT, NULL}},                        \
        .forward = "forward(input): return pad(input, padding, 'constant', value)",                          \
        .extra_repr = "padding={padding}, value={value}", .doc = "a number around (left, right, top, ...)",  \
    }

#define REFLECTED "what stands inside the edge, mirrored (left, right, top, ...)"
#define REPLICATED "the edge, repeated (left, right, top, ...)"
#define CIRCULAR "what stands at the other end (left, right, top, ...)"

const struct layer_row padding_rows[] = {
    PAD("ZeroPad1d", ARG_PAIR, "constant", "zeros in front and behind"),
    PAD("ZeroPad2d", ARG_FOUR, "constant", "zeros around (left, right, top, bottom)"),
    PAD("ZeroPad3d", ARG_SIX, "constant", "zeros around (left, right, top, bottom, front, back)"),
    PAD_WITH_VALUE("ConstantPad1d", ARG_PAIR),
    PAD_WITH_VALUE("ConstantPad2d", ARG_FOUR),
    PAD_WITH_VALUE("ConstantPad3d", ARG_SIX),
    PAD("ReflectionPad1d", ARG_PAIR, "reflect", REFLECTED),
    PAD("ReflectionPad2d", ARG_FOUR, "reflect", REFLECTED),
    PAD("ReflectionPad3d", ARG_SIX, "reflect", REFLECTED),
    PAD("ReplicationPad1d", ARG_PAIR, "replicate", REPLICATED),
    PAD("ReplicationPad2d", ARG_FOUR, "replicate", REPLICATED),
    PAD("ReplicationPad3d", ARG_SIX, "replicate", REPLICATED),
    PAD("CircularPad1d", ARG_PAIR, "circular", CIRCULAR),
    PAD("CircularPad2d", ARG_FOUR, "circular", CIRCULAR),
    PAD("CircularPad3d", ARG_SIX, "circular", CIRCULAR),
    {.name = NULL},
};
