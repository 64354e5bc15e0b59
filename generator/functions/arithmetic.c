/* arithmetic.c - the operators by their names, and what is made of them. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static bool need_operands(struct eval *eval, const char *what, const struct ev *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (args[i].kind == EV_TENSOR || ev_is_number(&args[i]))
            continue;
        diag_error(eval->cx, args[i].loc, "%s takes tensors and numbers, found %s", outer(eval, what),
                   ev_kind_text(&args[i]));
        return false;
    }
    return true;
}

static enum dtype common_dtype(struct eval *eval, const struct ev *args)
{
    return build_dtype(eval, (const struct ev *const[]){&args[0], &args[1]}, 2);
}

/* alpha * other in the type in which input and other meet, as input + alpha * other needs it. */
static struct ev fn_scaled(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype;
    int64_t integer;
    struct ev other = args[1];
    (void)count;

    if (!need_operands(eval, "add", args, 2))
        return BAD;
    if (!ev_is_number(&args[2])) {
        diag_error(eval->cx, args[2].loc, "%s: alpha must be a number, found %s", outer(eval, "add"),
                   ev_kind_text(&args[2]));
        return BAD;
    }
    dtype = common_dtype(eval, args);
    if (!dtype_is_float(dtype) && args[2].kind == EV_FLOAT) {
        diag_error(eval->cx, args[2].loc,
                   "for integral input tensors, argument alpha must not be a floating point number");
        return BAD;
    }
    if (dtype != DTYPE_BOOL && args[2].kind == EV_BOOL) {
        diag_error(eval->cx, args[2].loc, "boolean alpha is only supported for boolean results");
        return BAD;
    }
    if (ev_get_int(&args[2], &integer) && integer == 1)
        return other;
    if (other.kind == EV_TENSOR)
        other = ev_tensor(loc, build_cast(eval, loc, other.tensor, dtype));
    if (other.kind != EV_BAD && dtype == DTYPE_BOOL)
        args[2] = ev_bool(args[2].loc, !ev_get_int(&args[2], &integer) || integer != 0);
    return other.kind == EV_BAD ? other : build_binary(eval, loc, PRIM_MUL, "mul", &other, &args[2]);
}

/* input in the type in which it and other meet. */
static struct ev fn_met(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x;
    (void)count;

    if (!need_operands(eval, "this", args, 2))
        return BAD;
    x = build_scalar(eval, loc, &args[0]);
    return ev_tensor(loc, x ? build_cast(eval, loc, x, common_dtype(eval, args)) : NULL);
}

static struct ev fn_result_type(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_operands(eval, "result_type", args, 2))
        return BAD;
    return ev_dtype(loc, common_dtype(eval, args));
}

static struct ev fn_promote_types(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype a, b;
    (void)count;

    if (!need_dtype(eval, &args[0], DTYPE_FLOAT32, &a) || !need_dtype(eval, &args[1], DTYPE_FLOAT32, &b))
        return BAD;
    return ev_dtype(loc, dtype_promote(a, b));
}

/* note [shifts]
 * x << n is x * 2 ** n and x >> n is x // 2 ** n, which is an arithmetic shift, as long as 2 ** n is positive in the type;
 * beyond that all bits are gone, or are those of the sign. So it is below 0. */
static struct ev shift(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool left)
{
    struct arena *arena = &eval->cx->arena;
    struct ev parts[2];
    struct value *tensors[2];
    struct dag *dag = dag_new(arena, 2);
    enum dtype dtype;
    int bits, x, n, zero, outside, power, inside, rest;

    if (!need_operands(eval, what, args, 2))
        return BAD;
    dtype = common_dtype(eval, args);
    if (!dtype_is_int(dtype)) {
        diag_error(eval->cx, loc, "%s takes integers, found %s", what, dtype_rows[dtype].name);
        return BAD;
    }
    bits = 8 * dtype_rows[dtype].bytes;
    for (int i = 0; i < 2; i++) {
        parts[i] = ev_tensor(loc, build_scalar(eval, loc, &args[i]));
        tensors[i] = parts[i].kind == EV_TENSOR ? build_cast(eval, loc, parts[i].tensor, dtype) : NULL;
        if (!tensors[i])
            return BAD;
    }
    x = dag_load(arena, dag, 0, dtype);
    n = dag_load(arena, dag, 1, dtype);
    zero = dag_integer(arena, dag, dtype, 0);
    rest = left || dtype == DTYPE_UINT8 ? zero
                                        : dag_prim(arena, dag, PRIM_SELECT, dtype,
                                                   dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, x, zero, -1),
                                                   dag_integer(arena, dag, dtype, -1), zero);
    outside = dag_prim(arena, dag, PRIM_GE, DTYPE_BOOL, n,
                       dag_integer(arena, dag, dtype, left || dtype == DTYPE_UINT8 ? bits : bits - 1), -1);
    if (dtype != DTYPE_UINT8)
        outside = dag_prim(arena, dag, PRIM_OR, DTYPE_BOOL,
                           dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, n, zero, -1), outside, -1);
    power = dag_prim(arena, dag, PRIM_POW, dtype, dag_integer(arena, dag, dtype, 2), n, -1);
    inside = dag_prim(arena, dag, left ? PRIM_MUL : PRIM_FLOORDIV, dtype, x, power, -1);
    dag->result = dag_prim(arena, dag, PRIM_SELECT, dtype, outside, rest, inside);
    return ev_tensor(loc, build_map(eval, loc, what, dag, tensors, 2));
}

static struct ev fn_left_shift(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return shift(eval, args, loc, "bitwise_left_shift", true);
}

static struct ev fn_right_shift(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return shift(eval, args, loc, "bitwise_right_shift", false);
}

/* note [requantize]
 * The fixed-point arithmetic of TensorFlow Lite's integer kernels (MultiplyByQuantizedMultiplier), which rounds twice. */
static struct ev fn_requantize(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct dag *dag = dag_new(arena, 3);
    struct value *tensors[3];
    int high;
    (void)count;

    if (!need_operands(eval, "requantize", args, 3))
        return BAD;
    for (int i = 0; i < 3; i++) {
        struct ev one = ev_tensor(loc, build_scalar(eval, loc, &args[i]));

        if (one.kind != EV_TENSOR)
            return BAD;
        if (!dtype_is_int(one.tensor->dtype) ||
            (args[i].kind == EV_TENSOR && one.tensor->dtype == DTYPE_INT64)) {
            diag_error(eval->cx, args[i].loc, "requantize takes integers of at most 32 bits, found %s",
                       dtype_rows[one.tensor->dtype].name);
            return BAD;
        }
        tensors[i] = build_cast(eval, loc, one.tensor, DTYPE_INT32);
        if (!tensors[i])
            return BAD;
    }
    high = dag_prim(arena, dag, PRIM_MUL_HIGH, DTYPE_INT32, dag_load(arena, dag, 0, DTYPE_INT32),
                    dag_load(arena, dag, 1, DTYPE_INT32), -1);
    dag->result = dag_prim(arena, dag, PRIM_SHIFT_NEAR, DTYPE_INT32, high,
                           dag_load(arena, dag, 2, DTYPE_INT32), -1);
    return ev_tensor(loc, build_map(eval, loc, "requantize", dag, tensors, 3));
}

static struct ev fn_check_rounding(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind == EV_NONE || (args[0].kind == EV_STRING && (strcmp(args[0].text, "trunc") == 0 ||
                                                                  strcmp(args[0].text, "floor") == 0)))
        return ev_none(loc);
    diag_error(eval->cx, args[0].loc,
               "%s expected rounding_mode to be one of None, 'trunc', or 'floor' but found %s",
               outer(eval, "div"), ev_text(eval, &args[0]));
    return BAD;
}

#define ADD "return input + _scaled(input, other, alpha)"
#define SUB "return input - _scaled(input, other, alpha)"
#define DIV                                                                                                  \
    "_check_rounding(rounding_mode)\n"                                                                       \
    "return (input / other if rounding_mode == None else input // other if rounding_mode == 'floor' else "   \
    "_div_trunc(input, other))"

extern const struct function_row arithmetic_functions[];

const struct function_row arithmetic_functions[] = {
    {"add(input, other, alpha=1)", TORCH | METHOD, .body = ADD},
    {"sub(input, other, alpha=1)", TORCH | METHOD, .body = SUB},
    {"subtract(input, other, alpha=1)", TORCH | METHOD, .body = SUB},
    {"rsub(input, other, alpha=1)", TORCH, .body = "return other - _scaled(other, input, alpha)"},
    {"mul(input, other)", TORCH | METHOD, .body = "return input * other"},
    {"multiply(input, other)", TORCH | METHOD, .body = "return input * other"},
    {"div(input, other, rounding_mode=None)", TORCH | METHOD, .body = DIV},
    {"divide(input, other, rounding_mode=None)", TORCH | METHOD, .body = DIV},
    {"true_divide(input, other)", TORCH | METHOD, .body = "return input / other"},
    {"floor_divide(input, other)", TORCH | METHOD, .body = "return input // other"},
    {"remainder(input, other)", TORCH | METHOD, .body = "return input % other"},
    {"_scaled(input, other, alpha)", HIDDEN, .build = fn_scaled},
    {"_check_rounding(rounding_mode)", HIDDEN, .build = fn_check_rounding},
    {"_met(input, other)", HIDDEN, .build = fn_met},
    {"_div_trunc(input, other)", HIDDEN,
     .body =
         "x = _met(input, other)\n"
         "return _trunc_div(x, _met(other, input)) if x.is_floating_point() else _div_trunc_int(x, x // other, x % other)"},
    /* the quotient falls: it is one too low where the rest, which has the sign of the divisor, has not that of x */
    {"_div_trunc_int(x, quotient, rest)", HIDDEN,
     .body = "return where((rest != 0) & ((x < 0) != (rest < 0)), quotient + 1, quotient)"},
    {"fmod(input, other)", TORCH | METHOD,
     .body = "x = _met(input, other)\n"
             "y = _met(other, input)\n"
             "return _fmod(x, y) if x.is_floating_point() else _fmod_int(x, y, x % y)"},
    {"_fmod_int(x, y, rest)", HIDDEN,
     .body = "return where((rest != 0) & ((x < 0) != (rest < 0)), rest - y, rest)"},
    {"addcmul(input, tensor1, tensor2, value=1)", TORCH | METHOD,
     .body = "return input + _scaled(input, tensor1 * tensor2, value)"},
    {"addcdiv(input, tensor1, tensor2, value=1)", TORCH | METHOD,
     .body = "return input + value * (tensor1 / tensor2)"},
    {"eq(input, other)", TORCH | METHOD, .body = "return input == other"},
    {"ne(input, other)", TORCH | METHOD, .body = "return input != other"},
    {"lt(input, other)", TORCH | METHOD, .body = "return input < other"},
    {"le(input, other)", TORCH | METHOD, .body = "return input <= other"},
    {"gt(input, other)", TORCH | METHOD, .body = "return input > other"},
    {"ge(input, other)", TORCH | METHOD, .body = "return input >= other"},
    {"not_equal(input, other)", TORCH | METHOD, .body = "return input != other"},
    {"less(input, other)", TORCH | METHOD, .body = "return input < other"},
    {"less_equal(input, other)", TORCH | METHOD, .body = "return input <= other"},
    {"greater(input, other)", TORCH | METHOD, .body = "return input > other"},
    {"greater_equal(input, other)", TORCH | METHOD, .body = "return input >= other"},
    {"logical_and(input, other)", TORCH | METHOD, .body = "return (input != 0) & (other != 0)"},
    {"logical_or(input, other)", TORCH | METHOD, .body = "return (input != 0) | (other != 0)"},
    {"logical_xor(input, other)", TORCH | METHOD, .body = "return (input != 0) ^ (other != 0)"},
    {"bitwise_and(input, other)", TORCH | METHOD, .body = "return input & other"},
    {"bitwise_or(input, other)", TORCH | METHOD, .body = "return input | other"},
    {"bitwise_xor(input, other)", TORCH | METHOD, .body = "return input ^ other"},
    {"bitwise_not(input)", TORCH | METHOD, .body = "return ~input"},
    {"bitwise_left_shift(input, other)", TORCH | METHOD, .build = fn_left_shift},
    {"bitwise_right_shift(input, other)", TORCH | METHOD, .build = fn_right_shift},
    {"requantize(input, multiplier, shift)", OWN, .build = fn_requantize},
    {"result_type(tensor1, tensor2)", TORCH, .build = fn_result_type},
    {"promote_types(type1, type2)", TORCH, .build = fn_promote_types},
    {.signature = NULL},
};
