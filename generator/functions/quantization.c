/* quantization.c - what quantisation-aware training computes: numbers as they come back from integers, with the gradients of what went
 * in; and the scales and zero points that observers choose. */
#include "functions/rows.h"

#include <string.h>

#include "graph/graph.h"

/* note [fake quantisation]
 * PyTorch divides by multiplying with the float32 1 / scale, whatever type the input has, and rounds to the nearest, ties to even,
 * before the zero point is added. NaN is quant_min. Of a tensor with one scale the result is a product of float32, in float64
 * too. With a scale for each channel it goes by way of int64, in which x86 makes quant_min of all that is 2^63 or more; that is
 * what is done here, on every machine. Gradients go through where the integer is in range, and are multiplied with 0
 * elsewhere; scale and zero point have none. */

/* note [nudged zero points]
 * The fused function has the scales and zero points of FBGEMM: of a range that is symmetric when asked for, in double, at least 6.1e-5,
 * with the zero point that the nearer end of the range gives. It takes them anew from the averages whenever it rounds. */

static bool need_range(struct eval *eval, const struct ev *least, const struct ev *most)
{
    int64_t low, high;

    if (!need_int(eval, "quant_min", least, &low) || !need_int(eval, "quant_max", most, &high))
        return false;
    if (low <= high)
        return true;
    diag_error(eval->cx, most->loc,
               "%s: quant_min should be less than or equal to quant_max, found %lld and %lld",
               outer(eval, "this"), (long long)low, (long long)high);
    return false;
}

/* What both functions take; a zero point that is a number is in the range. */
static struct ev fn_check_fake_quantize(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *x = &args[0], *zero_point = &args[1];
    int64_t low, high, zero;
    (void)count;

    if (!need_tensor(eval, "this", x) || !need_range(eval, &args[2], &args[3]))
        return BAD;
    if (!dtype_is_float(x->tensor->dtype)) {
        diag_error(eval->cx, x->loc, "%s is not defined for %s", outer(eval, "this"),
                   dtype_rows[x->tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    if (zero_point->kind == EV_TENSOR)
        return ev_none(loc);
    if (!need_int(eval, "zero_point", zero_point, &zero))
        return BAD;
    ev_get_int(&args[2], &low);
    ev_get_int(&args[3], &high);
    if (low <= zero && zero <= high)
        return ev_none(loc);
    diag_error(eval->cx, zero_point->loc,
               "%s: zero_point must be between quant_min and quant_max, found %lld", outer(eval, "this"),
               (long long)zero);
    return BAD;
}

/* A number, or a tensor of one element, as a 0-dim tensor of that type. */
static struct ev fn_one_number(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *one;
    (void)count;

    if (args[0].kind == EV_TENSOR) {
        one = args[0].tensor;
        for (int i = 0; i < one->ndim; i++) {
            if (dim_equals(one->dims[i], 1))
                continue;
            diag_error(eval->cx, args[0].loc, "%s: %s must be one number, found %s", outer(eval, "this"),
                       args[2].text, shape_text(&eval->cx->arena, one->ndim, one->dims));
            diag_hint(eval->cx, "torch.fake_quantize_per_channel_affine takes one for each channel");
            return BAD;
        }
        one = build_reshaped(eval, loc, one, 0, NULL, false);
    } else {
        double number;

        if (!ev_get_number(&args[0], &number)) {
            diag_error(eval->cx, args[0].loc, "%s: %s must be a number or a tensor, found %s",
                       outer(eval, "this"), args[2].text, ev_kind_text(&args[0]));
            return BAD;
        }
        return build_tensor(eval, loc, &args[0], &args[1].dtype);
    }
    return one ? ev_tensor(loc, build_cast(eval, loc, one, args[1].dtype)) : BAD;
}

/* The axis of the channels, of which scale and zero_point have one number each. */
static struct ev fn_check_channel_numbers(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const names[] = {NULL, "scale", "zero_point"};
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor;
    int64_t axis;
    (void)count;

    if (!need_int(eval, "axis", &args[3], &axis))
        return BAD;
    if (axis < 0 || axis >= x->ndim) {
        diag_error(eval->cx, args[3].loc,
                   "%s: axis must be between 0 and the number of dimensions of the input, %d, found %lld",
                   outer(eval, "this"), x->ndim, (long long)axis);
        return BAD;
    }
    for (int i = 1; i < 3; i++) {
        const struct value *numbers = args[i].tensor;

        if (!need_tensor(eval, names[i], &args[i]))
            return BAD;
        if (numbers->ndim != 1 || !dim_equal(numbers->dims[0], x->dims[axis])) {
            diag_error(eval->cx, args[i].loc,
                       "%s: %s must have %s elements, one for each channel of %s, not %s",
                       outer(eval, "this"), names[i], dim_text(arena, x->dims[axis]),
                       shape_text(arena, x->ndim, x->dims), shape_text(arena, numbers->ndim, numbers->dims));
            return BAD;
        }
    }
    if (args[1].tensor->dtype != DTYPE_FLOAT32 && args[1].tensor->dtype != DTYPE_BFLOAT16) {
        diag_error(eval->cx, args[1].loc, "%s: scale must be float32 or bfloat16, found %s",
                   outer(eval, "this"), dtype_rows[args[1].tensor->dtype].name);
        diag_hint(eval->cx, "convert it, as scale.float()");
        return BAD;
    }
    if (args[2].tensor->dtype != DTYPE_INT32) {
        diag_error(eval->cx, args[2].loc, "%s: zero_point must be int32, found %s", outer(eval, "this"),
                   dtype_rows[args[2].tensor->dtype].name);
        diag_hint(eval->cx, "convert it, as zero_point.int()");
        return BAD;
    }
    return ev_none(loc);
}

static struct ev fn_check_fused(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t axis;
    bool channels;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_int(eval, "ch_axis", &args[1], &axis) ||
        !need_bool(eval, "per_row_fake_quant", &args[2], &channels))
        return BAD;
    if (args[0].tensor->dtype != DTYPE_FLOAT32) {
        diag_error(eval->cx, args[0].loc, "%s takes float32, found %s", outer(eval, "this"),
                   dtype_rows[args[0].tensor->dtype].name);
        return BAD;
    }
    if (!channels || axis == 0)
        return ev_none(loc);
    diag_error(eval->cx, args[1].loc, "%s has channels along axis 0 alone, found %lld", outer(eval, "this"),
               (long long)axis);
    return BAD;
}

/* A class of observers, whose name begins so. */
static struct ev fn_is_observer(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *name = args[0].kind == EV_CLASS ? args[0].text : "";
    const struct layer_row *row = layer_find(name);
    (void)eval;
    (void)count;

    return ev_bool(loc, row && row->factory && !row->children[0].name &&
                            strncmp(name, args[1].text, strlen(args[1].text)) == 0);
}

/* What Python prints of an empty tensor of the model's type. */
static struct ev fn_no_numbers(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)args;
    (void)count;
    return ev_string(loc, eval->default_dtype == DTYPE_FLOAT32
                              ? "tensor([])"
                              : arena_format(&eval->cx->arena, "tensor([], dtype=torch.%s)",
                                             dtype_rows[eval->default_dtype].name));
}

extern const struct function_row quantization_functions[];

const struct function_row quantization_functions[] = {
    {"fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)", TORCH,
     .body =
         "_check_fake_quantize(input, zero_point, quant_min, quant_max)\n"
         "scale = _one_number(scale, torch.float32, 'scale')\n"
         "zero_point = _one_number(zero_point, torch.int32, 'zero_point')\n"
         "x = input.float() if input.itemsize == 2 else input\n"
         "y = _fake_quantize(x, scale.to(x.dtype), (1 / scale).to(x.dtype), zero_point.to(x.dtype), quant_min,"
         " quant_max)\n"
         "return _instead(y, y.float().double()) if input.dtype == torch.float64 else y.to(input.dtype)"},
    {"fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)", TORCH,
     .body =
         "_check_fake_quantize(input, zero_point, quant_min, quant_max)\n"
         "_check_channel_numbers(input, scale, zero_point, axis)\n"
         "scale = scale.float()\n"
         "each = (-1,) + (1,) * (input.ndim - axis - 1)\n"
         "x = input.float() if input.itemsize == 2 else input\n"
         "y = _fake_quantize_channels(x, scale.to(x.dtype).view(each), (1 / scale).to(x.dtype).view(each),"
         " zero_point.to(x.dtype).view(each), quant_min, quant_max)\n"
         "return y.to(input.dtype)"},
    {"_check_fake_quantize(input, zero_point, quant_min, quant_max)", HIDDEN,
     .build = fn_check_fake_quantize},
    {"_check_channel_numbers(input, scale, zero_point, axis)", HIDDEN, .build = fn_check_channel_numbers},
    {"_no_numbers()", HIDDEN, .build = fn_no_numbers},
    {"_one_number(value, dtype, name)", HIDDEN, .build = fn_one_number},
    {"fused_moving_avg_obs_fake_quant(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,"
     " averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant=False, symmetric_quant=False)",
     TORCH,
     .body =
         "_check_fused(input, ch_axis, per_row_fake_quant)\n"
         "axes = tuple(range(1 if per_row_fake_quant else 0, input.ndim))\n"
         "x = input.detach()\n"
         "seen, rounds = observer_on.reshape(()) != 0, fake_quant_on.reshape(()) != 0\n"
         "step, zero = scale, zero_point\n"
         "if not _has_none(x):\n"
         "    low = _fused_moved(x, running_min, x.amin(axes), averaging_const, seen)\n"
         "    high = _fused_moved(x, running_max, x.amax(axes), averaging_const, seen)\n"
         "    _assign(running_min, low, 'running_min')\n"
         "    _assign(running_max, high, 'running_max')\n"
         "    step, zero = _fused_qparams(low, high, quant_min, quant_max, symmetric_quant)\n"
         "    step = _unless_empty(x, scale, where(rounds, step.view(scale.shape), scale))\n"
         "    zero = _unless_empty(x, zero_point, where(rounds, zero.view(scale.shape).to(zero_point.dtype), zero_point))\n"
         "    _assign(scale, step, 'scale')\n"
         "    _assign(zero_point, zero, 'zero_point')\n"
         "y = (fake_quantize_per_channel_affine(input, step, zero, ch_axis, quant_min, quant_max) if"
         " per_row_fake_quant else fake_quantize_per_tensor_affine(input, step, zero, quant_min, quant_max))\n"
         "return where(rounds, y, input)"},
    {"QConfig(activation, weight)", QUANTIZATION,
     .body = "return SimpleNamespace(activation=activation, weight=weight)"},
    {"get_default_qat_qconfig(backend='x86', version=1)", QUANTIZATION,
     .body =
         "if backend not in ('x86', 'fbgemm', 'qnnpack', 'onednn') or version not in (0, 1):\n"
         "    raise AssertionError(f'get_default_qat_qconfig does not know backend={backend}, version={version}')\n"
         "weight = ((default_per_channel_weight_fake_quant if version == 0 else default_fused_per_channel_wt_fake_quant)"
         " if backend != 'qnnpack' else default_weight_fake_quant if version == 0 else default_fused_wt_fake_quant)\n"
         "fake = FakeQuantize if version == 0 else FusedMovingAvgObsFakeQuantize\n"
         "reduced = backend in ('x86', 'fbgemm')\n"
         "activation = fake.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,"
         " reduce_range=reduced)\n"
         "return QConfig(activation=activation, weight=weight)"},
    {"_check_fused(input, ch_axis, per_row_fake_quant)", HIDDEN, .build = fn_check_fused},
    {"_fused_moved(x, running, current, constant, seen)", HIDDEN,
     .body = "moved = where(running.isinf(), current, running + constant * (current - running))\n"
             "return _unless_empty(x, running, where(seen, moved, running))"},
    /* note [nudged zero points] */
    {"_fused_qparams(low, high, quant_min, quant_max, symmetric)", HIDDEN,
     .body = "span, half = quant_max - quant_min, (quant_max - quant_min) // 2\n"
             "size = maximum((low / -(half + 1)).abs(), (high / half).abs()).double()\n"
             "both = (low < 0) & (high > 0)\n"
             "low = where(both, (size * -(half + 1)).float(), low) if symmetric else low\n"
             "high = where(both, (size * half).float(), high) if symmetric else high\n"
             "low, high = _fmin0(low), _fmax0(high)\n"
             "scale = (high.double() - low.double()) / span\n"
             "scale = where((scale.float() == 0) | (1 / scale.float()).isinf(), 0.1, scale)\n"
             "least = torch.tensor(6.1e-5, dtype=torch.float32)\n"
             "small = scale < least.double()\n"
             "more = least / scale.float()\n"
             "wide = least * span\n"
             "new_low = where(low == 0, low, where(high == 0, -wide, low * more))\n"
             "new_high = where(low == 0, wide, where(high == 0, high, high * more))\n"
             "low, high = where(small, new_low, low).double(), where(small, new_high, high).double()\n"
             "scale = where(small, least.double(), scale)\n"
             "at_low, at_high = low / scale, high / scale\n"
             "nearer = abs(quant_min) + at_low.abs() < abs(quant_max) + at_high.abs()\n"
             "zero = where(nearer, quant_min - at_low, quant_max - at_high)\n"
             "middle = (quant_min + quant_max) / 2\n"
             "zero = where((low < 0) & (high > 0), middle, zero) if symmetric else zero\n"
             "return scale.float(), zero.round().clamp(quant_min, quant_max).int()"},
    {"_fmin0(x)", HIDDEN, .body = "return where(x < 0, x, 0.0)"},
    {"_fmax0(x)", HIDDEN, .body = "return where(x < 0, 0.0, x)"},
    /* observers: note [observers] in layers/quantization.c */
    {"_is_observer(observer, start='')", HIDDEN, .build = fn_is_observer},
    {"_is_symmetric(qscheme)", HIDDEN,
     .body = "return qscheme in ('torch.per_tensor_symmetric', 'torch.per_channel_symmetric')"},
    {"_is_signed(dtype)", HIDDEN, .body = "return dtype in ('torch.qint8', torch.int8)"},
    {"_is_quantized(dtype)", HIDDEN,
     .body = "return dtype in ('torch.qint8', 'torch.quint8', torch.int8, torch.uint8)"},
    {"_quant_range(quant_min, quant_max, dtype, reduce_range)", HIDDEN,
     .body = "half = 2 if reduce_range else 1\n"
             "least, most = (-128, 127) if _is_signed(dtype) else (0, 255)\n"
             "given = quant_min is not None and quant_max is not None\n"
             "return (quant_min if given else least) // half, (quant_max if given else most) // half"},
    {"_holds_range(quant_min, quant_max, dtype)", HIDDEN,
     .body = "least, most = (-128, 127) if _is_signed(dtype) else (0, 255)\n"
             "return quant_min is None or quant_max is None or (least <= quant_min and quant_max <= most)"},
    {"_is_range(quant_min, quant_max)", HIDDEN,
     .body = "return (quant_min is None or quant_max is None or (isinstance(quant_min, int) and"
             " isinstance(quant_max, int) and quant_min <= 0 and 0 <= quant_max and quant_min < quant_max))"},
    {"_observer_options(quant_min, quant_max, options)", HIDDEN,
     .body = "given = {k: v for k, v in options.items() if v is not None}\n"
             "ranged = quant_min is not None and quant_max is not None\n"
             "return dict(given, quant_min=quant_min, quant_max=quant_max) if ranged else given"},
    {"_channel_axis(observer)", HIDDEN,
     .body = "return observer.ch_axis if hasattr(observer, 'ch_axis') else None"},
    {"_other_axes(x, axis)", HIDDEN,
     .body = "return tuple([d for d in range(x.ndim) if d != axis % x.ndim])"},
    {"_averaged(current, min_val, max_val, running, constant)", HIDDEN,
     .body = "fresh = (min_val == inf) & (max_val == -inf)\n"
             "return where(fresh, current, running + constant * (current - running))"},
    {"_calculate_qparams(min_val, max_val, eps, quant_min, quant_max, dtype, qscheme, reduce_range)", HIDDEN,
     .body = "given = quant_min is not None and quant_max is not None\n"
             "low, high = _quant_range(quant_min, quant_max, dtype, reduce_range)\n"
             "seen = ~((min_val == inf) & (max_val == -inf))\n"
             "least, most = min_val.clamp(max=0), max_val.clamp(min=0)\n"
             "if _is_symmetric(qscheme):\n"
             "    scale = maximum(maximum(-least, most) / ((high - low) / 2), eps)\n"
             "    zero = 0 if _is_signed(dtype) else (low + high) // 2 if given else 128\n"
             "    zero_point = torch.full_like(scale, zero, dtype=torch.int64)\n"
             "else:\n"
             "    scale = maximum((most - least) / float(high - low), eps)\n"
             "    zero_point = (low - torch.round(least / scale).int()).clamp(low, high)\n"
             "return where(seen, scale, 1.0), where(seen, zero_point, 0)"},
    {.signature = NULL},
};
