/* math.c - elementwise functions that are made of others, and second names of lines of elementwise.c. */
#include <float.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* The fields of torch.finfo and torch.iinfo. */
static struct ev fn_finfo(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const fields[] = {"bits",      "eps", "max", "min", "tiny", "smallest_normal",
                                         "resolution"};
    static const struct {
        double eps, max, tiny, resolution;
    } limits[DTYPE_COUNT] = {
        [DTYPE_FLOAT16] = {0x1p-10, 65504, 0x1p-14, 1e-3},
        [DTYPE_BFLOAT16] = {0x1p-7, 0x1.fep127, 0x1p-126, 1e-2},
        [DTYPE_FLOAT32] = {(double)FLT_EPSILON, (double)FLT_MAX, (double)FLT_MIN, 1e-6},
        [DTYPE_FLOAT64] = {DBL_EPSILON, DBL_MAX, DBL_MIN, 1e-15},
    };
    enum dtype dtype;
    struct ev out, items[7];
    (void)count;

    if (!need_dtype(eval, &args[0], eval->default_dtype, &dtype))
        return BAD;
    if (!dtype_is_float(dtype)) {
        diag_error(eval->cx, args[0].loc, "finfo takes a floating type, found %s", dtype_rows[dtype].name);
        return BAD;
    }
    items[0] = ev_int(eval, loc, 8 * dtype_rows[dtype].bytes);
    items[1] = ev_float(loc, limits[dtype].eps);
    items[2] = ev_float(loc, limits[dtype].max);
    items[3] = ev_float(loc, -limits[dtype].max);
    items[4] = items[5] = ev_float(loc, limits[dtype].tiny);
    items[6] = ev_float(loc, limits[dtype].resolution);
    out = ev_tuple(eval, loc, items, 7);
    out.fields = fields;
    return out;
}

static struct ev fn_iinfo(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const fields[] = {"bits", "max", "min"};
    enum dtype dtype;
    struct ev out, items[3];
    int64_t most;
    (void)count;

    if (!need_dtype(eval, &args[0], DTYPE_INT64, &dtype))
        return BAD;
    if (!dtype_is_int(dtype)) {
        diag_error(eval->cx, args[0].loc, "iinfo takes an integer type, found %s", dtype_rows[dtype].name);
        return BAD;
    }
    most = dtype == DTYPE_UINT8 ? 255 : INT64_MAX >> (64 - 8 * dtype_rows[dtype].bytes);
    items[0] = ev_int(eval, loc, 8 * dtype_rows[dtype].bytes);
    items[1] = ev_int(eval, loc, most);
    items[2] = ev_int(eval, loc, dtype == DTYPE_UINT8 ? 0 : -most - 1);
    out = ev_tuple(eval, loc, items, 3);
    out.fields = fields;
    return out;
}

/* The line of elementwise.c, which has no decimals. */
static struct ev fn_rounded(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    return build_elementwise(eval, loc, elementwise_find("round"), args, count);
}

/* where(condition, input, other), of a condition that is known one of the two. */
static struct ev fn_pick(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool truth;
    (void)count;

    if (args[0].kind == EV_TENSOR)
        return build_where(eval, loc, args[0].tensor, &args[1], &args[2]);
    return args[ev_get_bool(&args[0], &truth) && truth ? 1 : 2];
}

static struct ev fn_check_alike(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "this", &args[0]) || !need_tensor(eval, "this", &args[1]))
        return BAD;
    if (args[0].tensor->dtype == args[1].tensor->dtype)
        return ev_none(loc);
    diag_error(eval->cx, args[1].loc, "%s takes tensors of one type, found %s and %s", outer(eval, "this"),
               dtype_rows[args[0].tensor->dtype].name, dtype_rows[args[1].tensor->dtype].name);
    return BAD;
}

static struct ev fn_positive(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "positive", &args[0]))
        return BAD;
    if (args[0].tensor->dtype != DTYPE_BOOL)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s is not defined for bool", outer(eval, "positive"));
    diag_hint(eval->cx, "convert first, as x.float()");
    return BAD;
}

static struct ev fn_gcd(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    for (int i = 0; i < 2; i++) {
        if (!need_tensor(eval, "gcd", &args[i]))
            return BAD;
        if (dtype_is_int(args[i].tensor->dtype))
            continue;
        diag_error(eval->cx, args[i].loc, "%s takes integers, found %s", outer(eval, "gcd"),
                   dtype_rows[args[i].tensor->dtype].name);
        return BAD;
    }
    return build_binary(eval, loc, PRIM_GCD, "gcd", &args[0], &args[1]);
}

extern const struct function_row math_functions[];

const struct function_row math_functions[] = {
    {"absolute(input)", TORCH | METHOD, .body = "return abs(input)"},
    {"negative(input)", TORCH | METHOD, .body = "return neg(input)"},
    {"fix(input)", TORCH | METHOD, .body = "return trunc(input)"},
    {"sgn(input)", TORCH | METHOD, .body = "return sign(input)"},
    {"arcsin(input)", TORCH | METHOD, .body = "return asin(input)"},
    {"arccos(input)", TORCH | METHOD, .body = "return acos(input)"},
    {"arctan(input)", TORCH | METHOD, .body = "return atan(input)"},
    {"arctan2(input, other)", TORCH | METHOD, .body = "return atan2(input, other)"},
    {"arcsinh(input)", TORCH | METHOD, .body = "return asinh(input)"},
    {"arccosh(input)", TORCH | METHOD, .body = "return acosh(input)"},
    {"arctanh(input)", TORCH | METHOD, .body = "return atanh(input)"},
    {"deg2rad(input)", TORCH | METHOD, .body = "return input * (pi / 180)"},
    {"rad2deg(input)", TORCH | METHOD, .body = "return input * (180 / pi)"},
    {"round(input, decimals=0)", TORCH | METHOD,
     .body =
         "return _rounded(input) if decimals == 0 else _round_decimals(input, 10.0 ** abs(decimals), decimals > 0)"},
    {"_rounded(input)", HIDDEN, .build = fn_rounded},
    {"_round_decimals(input, scale, fraction)", HIDDEN, /* with a scale that is no fraction */
     .body = "_check_float(input)\n"
             "return _rounded(input * scale) / scale if fraction else _rounded(input / scale) * scale"},
    {"lerp(input, end, weight)", TORCH | METHOD,
     .body = "_check_float(input)\n"
             "near = input + weight * (end - input)\n"
             "far = end - (end - input) * (1 - weight)\n"
             "return _pick(abs(weight) < 0.5, near, far)"},
    {"_pick(condition, input, other)", HIDDEN, .build = fn_pick},
    {"signbit(input)", TORCH | METHOD,
     .body = "return (input < 0) | (reciprocal(input) < 0) if input.is_floating_point() else input < 0"},
    {"copysign(input, other)", TORCH | METHOD,
     .body = "return _with_sign(input, signbit(_met(other, input * 1.0)))"},
    {"logaddexp2(input, other)", TORCH | METHOD,
     .body = "return logaddexp(input * log(2.0), other * log(2.0)) * (1 / log(2.0))"},
    {"xlogy(input, other)", TORCH | METHOD, .body = "return _xlogy(_met(input, other), _met(other, input))"},
    {"sinc(input)", TORCH | METHOD, .body = "return _sinc(input)"},
    {"logit(input, eps=None)", TORCH | METHOD,
     .body = "return _logit(input) if eps == None else _logit_within(input, eps)"},
    {"isposinf(input)", TORCH | METHOD, .body = "return input == inf"},
    {"isneginf(input)", TORCH | METHOD, .body = "return input == -inf"},
    {"nan_to_num(input, nan=0.0, posinf=None, neginf=None)", TORCH | METHOD,
     .body = "return _nan_to_num(input, nan, posinf, neginf) if input.is_floating_point() else input"},
    {"_nan_to_num(input, nan, posinf, neginf)", HIDDEN,
     .body = "most = finfo(input.dtype).max\n"
             "x = where(isnan(input), nan, input)\n"
             "y = where(x == inf, most if posinf == None else posinf, x)\n"
             "return where(y == -inf, -most if neginf == None else neginf, y)"},
    {"float_power(input, exponent)", TORCH | METHOD,
     .body = "return (input.double() if _is_tensor(input) else torch.full((), input, dtype=torch.float64)) **"
             " (exponent.double() if _is_tensor(exponent) else exponent)"},
    {"heaviside(input, values)", TORCH | METHOD,
     .body = "_check_alike(input, values)\n"
             "return where(input > 0, 1, where(input == 0, values, 0)).to(input.dtype)"},
    {"_check_alike(input, values)", HIDDEN, .build = fn_check_alike},
    {"ldexp(input, other)", TORCH | METHOD, .body = "return input * 2.0 ** other"},
    {"positive(input)", TORCH | METHOD | VIEW, .build = fn_positive},
    {"real(input)", TORCH | VIEW, .body = "return input"},
    {"conj(input)", TORCH | METHOD | VIEW, .body = "return input"},
    {"conj_physical(input)", TORCH | METHOD | VIEW, .body = "return input"},
    {"conj_physical_(input)", METHOD | IN_PLACE, .body = "return input"},
    {"resolve_conj(input)", TORCH | METHOD | VIEW, .body = "return input"},
    {"resolve_neg(input)", TORCH | METHOD | VIEW, .body = "return input"},
    {"isreal(input)", TORCH | METHOD, .body = "return torch.ones_like(input, dtype=torch.bool)"},
    {"angle(input)", TORCH | METHOD,
     .body =
         "return where(input < 0, pi, where(isnan(input), input, 0.0)) if input.is_floating_point() else where(input < 0, pi, 0.0)"},
    {"gcd(input, other)", TORCH | METHOD, .build = fn_gcd},
    /* which divides before it multiplies, and wraps last, as PyTorch does */
    {"lcm(input, other)", TORCH | METHOD,
     .body =
         "divisor = gcd(input, other)\n"
         "wide = torch.promote_types(divisor.dtype, torch.int32)\n"
         "return (input.to(wide) // where(divisor == 0, 1, divisor) * other.to(wide)).abs().to(divisor.dtype)"},
    /* by one of the integers that the bits are: these count up away from 0 */
    {"nextafter(input, other)", TORCH | METHOD,
     .body = "_check_float(input)\n"
             "_check_float(other)\n"
             "return _nextafter(_met(input, other), _met(other, input).detach())"},
    {"_nextafter(x, y)", HIDDEN,
     .body = "own = _integers_of(x.dtype)\n"
             "bits = _same_bits(x.detach(), own)\n"
             "next = _same_bits(where((x.detach() < y) == (x.detach() > 0), bits + 1, bits - 1), x.dtype)\n"
             "least = _with_sign(_same_bits(torch.ones_like(bits), x.dtype), y < 0)\n"
             "moved = where(x.detach() == 0, least, next)\n"
             "other = where(isnan(x.detach()) | isnan(y), nan, where(x.detach() == y, y, moved))\n"
             "return _instead(_graded(x, (x.detach() != y).to(x.dtype)), other)"},
    {"frexp(input)", TORCH | METHOD,
     .body =
         "_check_float(input)\n"
         "wide = input.dtype == torch.float64\n"
         "size = input.detach().abs()\n"
         "normal = size >= finfo(input.dtype).tiny\n"
         "raised = where(normal, size, size * 2.0 ** 60)\n"
         "bits = _same_bits(raised, _integers_of(input.dtype))\n"
         "field = torch.bitwise_right_shift(bits, 52 if wide else 23)\n"
         "exponent = field - (1022 if wide else 126) - where(normal, 0, 60)\n"
         "exponent = where((size == 0) | ~(size < inf), 0, exponent)\n"
         "half = -exponent // 2\n"
         "mantissa = input * _power_of_two(half, input.dtype) * _power_of_two(-exponent - half, input.dtype)\n"
         "return _named(mantissa, 'mantissa', exponent.int(), 'exponent')"},
    {"_power_of_two(exponent, dtype)", HIDDEN,
     .body = "wide = dtype == torch.float64\n"
             "return _same_bits(torch.bitwise_left_shift(exponent.to(_integers_of(dtype)) +"
             " (1023 if wide else 127), 52 if wide else 23), dtype)"},
    {"finfo(type=None)", TORCH, .build = fn_finfo},
    {"iinfo(type)", TORCH, .build = fn_iinfo},
    {.signature = NULL},
};
