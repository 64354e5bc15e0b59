/* quantization.c - rows of torch/ao/quantization/observer.py and fake_quantize.py: what records the range of a tensor, and what rounds
 * tensors as integers of that range would, so that a model learns to do with them. */
#include "layers/layers.h"

extern const struct layer_row quantization_rows[];

/* note [observers]
 * `_observe` is what they record where `on` says so: a bool, or a tensor where a buffer decides it. A range that was never seen is
 * (inf, -inf), of channels too, whose buffers have no elements in PyTorch then. */
#define RANGE_ARGS(scheme)                                                                                   \
    {"dtype", ARG_ANY, "torch.quint8"}, {"qscheme", ARG_ANY, scheme}, {"reduce_range", ARG_BOOL, "False"},   \
        {"quant_min", ARG_OPTION, "None"}, {"quant_max", ARG_OPTION, "None"},                                \
        {"eps", ARG_FLOAT, "1.1920928955078125e-07", .keyword = true},                                       \
    {                                                                                                        \
        "is_dynamic", ARG_BOOL, "False"                                                                      \
    }
#define AVERAGING_ARG                                                                                        \
    {                                                                                                        \
        "averaging_constant", ARG_FLOAT, "0.01"                                                              \
    }
#define AXIS_ARG                                                                                             \
    {                                                                                                        \
        "ch_axis", ARG_INT, "0"                                                                              \
    }

#define RANGE_BUFFERS(shape)                                                                                 \
    {                                                                                                        \
        {"eps", "1", "constant_(eps)"}, {"min_val", shape, "constant_(inf)"},                                \
        {                                                                                                    \
            "max_val", shape, "constant_(-inf)"                                                              \
        }                                                                                                    \
    }

#define SCHEME_CHECK(kind)                                                                                   \
    {                                                                                                        \
        "qscheme == 'torch." kind "_affine' or qscheme == 'torch." kind "_symmetric'",                       \
            "qscheme must be torch." kind "_affine or torch." kind "_symmetric, found {qscheme}"             \
    }
#define RANGE_CHECKS                                                                                         \
    {"_is_quantized(dtype)",                                                                                 \
     "dtype must be torch.qint8, torch.quint8, torch.int8 or torch.uint8, found {dtype}"},                   \
        {"_is_range(quant_min, quant_max)",                                                                  \
         "quant_min and quant_max must be integers around 0, found {quant_min} and {quant_max}"},            \
        {"_holds_range(quant_min, quant_max, dtype)",                                                        \
         "{dtype} does not hold all from quant_min={quant_min} to quant_max={quant_max}"},                   \
    {                                                                                                        \
        "not (reduce_range and _is_symmetric(qscheme) and dtype == 'torch.quint8')",                         \
            "a symmetric range of torch.quint8 cannot be reduced"                                            \
    }

#define OBSERVE_TENSOR(least, most) OBSERVE("low, high = x.amin(), x.amax()", least, most)
#define OBSERVE_CHANNELS(least, most)                                                                        \
    OBSERVE("axes = _other_axes(x, ch_axis)\n"                                                               \
            "        low, high = x.amin(axes), x.amax(axes)",                                                \
            least, most)
#define OBSERVE(extremes, least, most)                                                                       \
    "_observe(x, on):\n"                                                                                     \
    "    x = x.detach().to(min_val.dtype)\n"                                                                 \
    "    if not _has_none(x):\n"                                                                             \
    "        " extremes "\n"                                                                                 \
    "        least, most = " least ", " most "\n"                                                            \
    "        self.min_val = _unless_empty(x, min_val, _pick(on, least, min_val))\n"                          \
    "        self.max_val = _unless_empty(x, max_val, _pick(on, most, max_val))"
#define EXTREMES "minimum(low, min_val)", "maximum(high, max_val)"
#define AVERAGES                                                                                             \
    "_averaged(low, min_val, max_val, min_val, averaging_constant)",                                         \
        "_averaged(high, min_val, max_val, max_val, averaging_constant)"
#define APPLY(macro, ...) macro(__VA_ARGS__)

#define OBSERVER_METHODS(observe)                                                                            \
    {                                                                                                        \
        observe,                                                                                             \
            "calculate_qparams(): return _calculate_qparams(min_val, max_val, eps, quant_min, quant_max, "   \
            "dtype, qscheme, reduce_range)"                                                                  \
    }
#define OBSERVER_FORWARD                                                                                     \
    "forward(x_orig):\n"                                                                                     \
    "    self._observe(x_orig, True)\n"                                                                      \
    "    return x_orig"
#define TENSOR_REPR "min_val=inf, max_val=-inf"
#define CHANNELS_REPR "min_val={_no_numbers()}, max_val={_no_numbers()}"

/* note [fake quantizers]
 * Their observer is the child `activation_post_process`, made of those of its arguments that are given. Buffers say whether it records
 * and whether anything is rounded: both are computed, and `where` chooses. */
#define OBSERVER_ARGS                                                                                        \
    {"averaging_constant", ARG_OPTION, "None", .keyword = true}, {"ch_axis", ARG_OPTION, "None"},            \
        {"dtype", ARG_ANY, "None"}, {"qscheme", ARG_ANY, "None"}, {"reduce_range", ARG_OPTION, "None"},      \
    {                                                                                                        \
        "eps", ARG_OPTION, "None"                                                                            \
    }
#define OBSERVER_CHILD                                                                                       \
    {                                                                                                        \
        {                                                                                                    \
            "activation_post_process",                                                                       \
                "observer(**_observer_options(quant_min, quant_max, dict(is_dynamic=is_dynamic, "            \
                "averaging_constant=averaging_constant, ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, "     \
                "reduce_range=reduce_range, eps=eps)))"                                                      \
        }                                                                                                    \
    }
#define FAKE_CHECKS                                                                                          \
    {                                                                                                        \
        {                                                                                                    \
            "_is_observer(observer)",                                                                        \
                "observer must be a class that observes, as MovingAverageMinMaxObserver, found {observer}"   \
        }                                                                                                    \
    }
#define FAKE_BUFFERS(flag)                                                                                   \
    {                                                                                                        \
        {"fake_quant_enabled", "1", "ones_()", .dtype = flag},                                               \
            {"observer_enabled", "1", "ones_()", .dtype = flag},                                             \
            {"scale", "channels", "ones_()", .dtype = "float32"},                                            \
        {                                                                                                    \
            "zero_point", "channels", "zeros_()", .dtype = "int32"                                           \
        }                                                                                                    \
    }
#define OBSERVED "activation_post_process"
#define OBSERVED_RANGE                                                                                       \
    "_quant_range(" OBSERVED ".quant_min, " OBSERVED ".quant_max, " OBSERVED ".dtype, " OBSERVED             \
    ".reduce_range)"
#define OBSERVED_AXIS "_channel_axis(" OBSERVED ")"
#define FAKE_FORWARD                                                                                         \
    "forward(X):\n"                                                                                          \
    "    on = observer_enabled[0] == 1\n"                                                                    \
    "    " OBSERVED "._observe(X, on)\n"                                                                     \
    "    new_scale, new_zero_point = " OBSERVED ".calculate_qparams()\n"                                     \
    "    self.scale = where(on, new_scale.to(scale.dtype), scale)\n"                                         \
    "    self.zero_point = where(on, new_zero_point.to(zero_point.dtype), zero_point)\n"                     \
    "    low, high = " OBSERVED_RANGE "\n"                                                                   \
    "    axis = " OBSERVED_AXIS "\n"                                                                         \
    "    y = (fake_quantize_per_tensor_affine(X, scale, zero_point, low, high) if axis is None else"         \
    " fake_quantize_per_channel_affine(X, scale, zero_point, axis, low, high))\n"                            \
    "    return where(fake_quant_enabled[0] == 1, y, X)"
#define FUSED_FORWARD                                                                                        \
    "forward(X):\n"                                                                                          \
    "    low, high = " OBSERVED_RANGE "\n"                                                                   \
    "    axis = " OBSERVED_AXIS "\n"                                                                         \
    "    return fused_moving_avg_obs_fake_quant(X, observer_enabled, fake_quant_enabled, " OBSERVED          \
    ".min_val, " OBSERVED ".max_val, scale, zero_point, " OBSERVED ".averaging_constant, low, high,"         \
    " -1 if axis is None else axis, axis is not None, _is_symmetric(" OBSERVED ".qscheme))"

const struct layer_row quantization_rows[] = {
    {
        .name = "MinMaxObserver",
        .args = {RANGE_ARGS("torch.per_tensor_affine")},
        .buffers = RANGE_BUFFERS(""),
        .checks = {SCHEME_CHECK("per_tensor"), RANGE_CHECKS},
        .forward = OBSERVER_FORWARD,
        .methods = OBSERVER_METHODS(APPLY(OBSERVE_TENSOR, EXTREMES)),
        .extra_repr = TENSOR_REPR,
        .factory = true,
        .doc = "gives its input, and records the least and the largest number that it saw",
    },
    {
        .name = "MovingAverageMinMaxObserver",
        .args = {AVERAGING_ARG, RANGE_ARGS("torch.per_tensor_affine")},
        .buffers = RANGE_BUFFERS(""),
        .checks = {SCHEME_CHECK("per_tensor"),
                   RANGE_CHECKS,
                   {"not is_dynamic or averaging_constant == 1",
                    "is_dynamic=True goes with averaging_constant=1, found {averaging_constant}"}},
        .forward = OBSERVER_FORWARD,
        .methods = OBSERVER_METHODS(APPLY(OBSERVE_TENSOR, AVERAGES)),
        .extra_repr = TENSOR_REPR,
        .factory = true,
        .doc = "gives its input, and records averages of the least and the largest number of each call",
    },
    {
        .name = "PerChannelMinMaxObserver",
        .args = {AXIS_ARG, RANGE_ARGS("torch.per_channel_affine")},
        .buffers = RANGE_BUFFERS("channels"),
        .checks = {SCHEME_CHECK("per_channel"),
                   RANGE_CHECKS,
                   {"not is_dynamic", "a range for each channel is not dynamic: is_dynamic must be False"}},
        .forward = OBSERVER_FORWARD,
        .methods = OBSERVER_METHODS(APPLY(OBSERVE_CHANNELS, EXTREMES)),
        .extra_repr = CHANNELS_REPR,
        .channels = "ch_axis",
        .factory = true,
        .doc =
            "MinMaxObserver with a range for each channel, of which its first call says how many there are",
    },
    {
        .name = "MovingAveragePerChannelMinMaxObserver",
        .args = {AVERAGING_ARG, AXIS_ARG, RANGE_ARGS("torch.per_channel_affine")},
        .buffers = RANGE_BUFFERS("channels"),
        .checks = {SCHEME_CHECK("per_channel"),
                   RANGE_CHECKS,
                   {"not is_dynamic", "a range for each channel is not dynamic: is_dynamic must be False"}},
        .forward = OBSERVER_FORWARD,
        .methods = OBSERVER_METHODS(APPLY(OBSERVE_CHANNELS, AVERAGES)),
        .extra_repr = CHANNELS_REPR,
        .channels = "ch_axis",
        .factory = true,
        .doc = "MovingAverageMinMaxObserver with a range for each channel",
    },
    {
        .name = "FakeQuantize",
        .args = {{"observer", ARG_ANY, "MovingAverageMinMaxObserver"},
                 {"quant_min", ARG_OPTION, "None"},
                 {"quant_max", ARG_OPTION, "None"},
                 {"is_dynamic", ARG_BOOL, "False"},
                 OBSERVER_ARGS},
        .buffers = FAKE_BUFFERS("uint8"),
        .children = OBSERVER_CHILD,
        .checks = FAKE_CHECKS,
        .forward = FAKE_FORWARD,
        .methods = {"calculate_qparams(): return " OBSERVED ".calculate_qparams()"},
        .extra_repr =
            "fake_quant_enabled=tensor([1], dtype=torch.uint8), observer_enabled=tensor([1], dtype=torch.uint8), "
            "quant_min={" OBSERVED_RANGE "[0]}, quant_max={" OBSERVED_RANGE "[1]}, "
            "dtype={" OBSERVED ".dtype}, qscheme={" OBSERVED ".qscheme}, "
            "ch_axis={-1 if " OBSERVED_AXIS " is None else " OBSERVED_AXIS "}, "
            "scale=tensor([1.]), zero_point=tensor([0], dtype=torch.int32)",
        .channels = OBSERVED_AXIS,
        .factory = true,
        .doc =
            "rounds as integers of the range that its observer recorded would, with gradients straight through",
    },
    {
        .name = "FusedMovingAvgObsFakeQuantize",
        .args = {{"observer", ARG_ANY, "MovingAverageMinMaxObserver"},
                 {"quant_min", ARG_OPTION, "0"},
                 {"quant_max", ARG_OPTION, "255"},
                 {"is_dynamic", ARG_BOOL, "False"},
                 OBSERVER_ARGS},
        .buffers = FAKE_BUFFERS("int64"),
        .children = OBSERVER_CHILD,
        .checks =
            {{"_is_observer(observer, 'Moving')",
              "observer must be a class of moving averages, as MovingAverageMinMaxObserver, found {observer}"}},
        .forward = FUSED_FORWARD,
        .methods = {"calculate_qparams(): return " OBSERVED ".calculate_qparams()"},
        .extra_repr = "fake_quant_enabled=tensor([1]), observer_enabled=tensor([1]), scale=tensor([1.]), "
                      "zero_point=tensor([0], dtype=torch.int32), dtype={" OBSERVED ".dtype}, "
                      "quant_min={" OBSERVED_RANGE "[0]}, quant_max={" OBSERVED_RANGE "[1]}, "
                      "qscheme={" OBSERVED ".qscheme}, reduce_range={" OBSERVED ".reduce_range}",
        .channels = OBSERVED_AXIS,
        .factory = true,
        .doc = "FakeQuantize as torch.fused_moving_avg_obs_fake_quant has it, with zero points nudged",
    },
    {.name = NULL},
};
