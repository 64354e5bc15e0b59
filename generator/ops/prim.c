/* prim.c - the primitives of the elementwise language and their values: rounding, wrapping, conversion, arithmetic as emitted code
 * computes it (note [defined arithmetic] in dag.h). Apart from dag.c, since it knows numbers and no nodes. */
#include "ops/dag.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "modc_special.h"
#include "ops/dag_parts.h"

const struct prim_row prim_rows[PRIM_COUNT] = {
#define X(id, name, arity) [PRIM_##id] = {name, arity},
    PRIM_LIST(X)
#undef X
};

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* To `bits` of mantissa with exponents from `least` (of the last bit of a denormal) and values up to `most`, ties to
 * even. */
static double round_to(double number, int bits, int least, double most)
{
    int exponent;

    if (number == 0 || !isfinite(number))
        return number;
    frexp(number, &exponent);
    exponent -= bits;
    if (exponent < least)
        exponent = least;

    double rounded = ldexp(nearbyint(ldexp(number, -exponent)), exponent);

    return fabs(rounded) > most ? copysign(INFINITY, number) : rounded;
}

double dtype_round(enum dtype dtype, double number)
{
    switch (dtype) {
    case DTYPE_FLOAT64:
        return number;
    case DTYPE_FLOAT32:
        return (double)(float)number;
    case DTYPE_FLOAT16:
        return round_to(number, 11, -24, 65504.0);
    case DTYPE_BFLOAT16:
        return round_to(number, 8, -133, ldexp(255.0, 120));
    case DTYPE_BOOL:
        return number != 0;
    default: {
        union scalar value = {.f = number};

        return (double)dtype_convert(DTYPE_FLOAT64, dtype, value).i;
    }
    }
}

int64_t dtype_wrap(enum dtype dtype, int64_t integer)
{
    uint64_t bits = (uint64_t)integer;

    switch (dtype) {
    case DTYPE_BOOL:
        return integer != 0;
    case DTYPE_UINT8:
        return (int64_t)(bits & 0xff);
    case DTYPE_INT8:
        return (int64_t)((bits & 0xff) ^ 0x80) - 0x80;
    case DTYPE_INT16:
        return (int64_t)((bits & 0xffff) ^ 0x8000) - 0x8000;
    case DTYPE_INT32:
        return (int64_t)((bits & 0xffffffff) ^ 0x80000000) - 0x80000000LL;
    default:
        return integer;
    }
}

static int64_t truncate(double number)
{
    if (isnan(number))
        return 0;
    if (number >= 0x1p63)
        return INT64_MAX;
    if (number < -0x1p63)
        return INT64_MIN;
    return (int64_t)number;
}

union scalar dtype_convert(enum dtype from, enum dtype to, union scalar value)
{
    union scalar result;

    assert(!dtype_is_complex(from) && !dtype_is_complex(to));
    if (dtype_is_float(from)) {
        if (dtype_is_float(to))
            result.f = dtype_round(to, value.f);
        else if (to == DTYPE_BOOL)
            result.i = value.f != 0;
        else
            result.i = dtype_wrap(to, truncate(value.f));
    } else if (dtype_is_float(to)) {
        /* int64 to float32 rounds once, and to the 16-bit types by way of float32, as in PyTorch. */
        result.f = to == DTYPE_FLOAT64 ? (double)value.i : dtype_round(to, (double)(float)value.i);
    } else {
        result.i = dtype_wrap(to, value.i);
    }
    return result;
}

/* ---- values of the primitives -------------------------------------------------------------------------------- */

static double floor_divide(double a, double b)
{
    if (b == 0)
        return a / b;

    double rest = fmod(a, b), quotient = (a - rest) / b;

    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0.0, a / b);

    double floored = floor(quotient);

    return quotient - floored > 0.5 ? floored + 1 : floored;
}

static double floor_rest(double a, double b)
{
    double rest = fmod(a, b);

    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

static double (*const of_one[PRIM_COUNT])(double) = {
    [PRIM_LGAMMA] = modc_f64s_lgamma,
    [PRIM_DIGAMMA] = modc_f64s_digamma,
    [PRIM_ERFCX] = modc_f64s_erfcx,
    [PRIM_ERFINV] = modc_f64s_erfinv,
    [PRIM_NDTR] = modc_f64s_ndtr,
    [PRIM_NDTRI] = modc_f64s_ndtri,
    [PRIM_LOG_NDTR] = modc_f64s_log_ndtr,
    [PRIM_I0E] = modc_f64s_i0e,
    [PRIM_I1E] = modc_f64s_i1e,
    [PRIM_K0E] = modc_f64s_k0e,
    [PRIM_K1E] = modc_f64s_k1e,
    [PRIM_BESSEL_J0] = modc_f64s_bessel_j0,
    [PRIM_BESSEL_J1] = modc_f64s_bessel_j1,
    [PRIM_BESSEL_Y0] = modc_f64s_bessel_y0,
    [PRIM_BESSEL_Y1] = modc_f64s_bessel_y1,
    [PRIM_AIRY_AI] = modc_f64s_airy_ai,
    [PRIM_FIXED] = modc_f64s_fixed,
    [PRIM_FIXED_POWER] = modc_f64s_fixed_power,
};

static double (*const of_two[PRIM_COUNT])(double, double) = {
    [PRIM_ZETA] = modc_f64s_zeta,
    [PRIM_GAMMAINC] = modc_f64s_gammainc,
    [PRIM_GAMMAINCC] = modc_f64s_gammaincc,
};

static double float_result(enum prim prim, double a, double b)
{
    if (prim_is_special(prim))
        return of_one[prim] ? of_one[prim](a) : of_two[prim](a, b);
    switch (prim) {
    case PRIM_ADD:
        return a + b;
    case PRIM_SUB:
        return a - b;
    case PRIM_MUL:
        return a * b;
    case PRIM_DIV:
        return a / b;
    case PRIM_FLOORDIV:
        return floor_divide(a, b);
    case PRIM_MOD:
        return floor_rest(a, b);
    case PRIM_POW:
        return pow(a, b);
    case PRIM_MIN:
        return isnan(a) || a < b ? a : b;
    case PRIM_MAX:
        return isnan(a) || a > b ? a : b;
    case PRIM_NEG:
        return -a;
    case PRIM_ABS:
        return fabs(a);
    case PRIM_EXP:
        return exp(a);
    case PRIM_EXP_UP:
        return modc_f64s_exp_up(a);
    case PRIM_EXP_DOWN:
        return modc_f64s_exp_down(a);
    case PRIM_EXPM1:
        return expm1(a);
    case PRIM_LOG:
        return log(a);
    case PRIM_LOG1P:
        return log1p(a);
    case PRIM_TANH:
        return tanh(a);
    case PRIM_ERF:
        return erf(a);
    case PRIM_SQRT:
        return sqrt(a);
    case PRIM_RSQRT:
        return 1 / sqrt(a);
    case PRIM_COPYSIGN:
        return copysign(a, b);
    case PRIM_SIN:
        return sin(a);
    case PRIM_COS:
        return cos(a);
    case PRIM_FLOOR:
        return floor(a);
    case PRIM_AS_FLOAT16:
        return dtype_round(DTYPE_FLOAT16, a);
    case PRIM_AS_BFLOAT16:
        return dtype_round(DTYPE_BFLOAT16, a);
    default:
        assert(!"a primitive without floating result");
        return 0;
    }
}

static int64_t integer_power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static int64_t integer_divide(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;

    while (y != 0) {
        uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return (int64_t)x;
}

/* Of 4 or 8 bytes, of which one type is floating, or both are one. */
static union scalar same_bits(enum dtype from, enum dtype to, union scalar value)
{
    union scalar result = value;
    int32_t narrow;
    float number;

    if (from == DTYPE_FLOAT32 && to != from) {
        number = (float)value.f;
        memcpy(&narrow, &number, sizeof narrow);
        result.i = narrow;
    } else if (to == DTYPE_FLOAT32 && to != from) {
        narrow = (int32_t)value.i;
        memcpy(&number, &narrow, sizeof number);
        result.f = (double)number;
    }
    return result; /* of 8 bytes the union has both */
}

/* Wraps in 64 bits; the caller wraps further. */
static int64_t integer_result(enum prim prim, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;

    switch (prim) {
    case PRIM_ADD:
        return (int64_t)(ua + ub);
    case PRIM_SUB:
        return (int64_t)(ua - ub);
    case PRIM_MUL:
        return (int64_t)(ua * ub);
    case PRIM_FLOORDIV:
        return integer_divide(a, b);
    case PRIM_MOD:
        return b == 0 ? 0 : (int64_t)(ua - (uint64_t)integer_divide(a, b) * ub);
    case PRIM_POW:
        return integer_power(a, b);
    case PRIM_MIN:
        return a < b ? a : b;
    case PRIM_MAX:
        return a > b ? a : b;
    case PRIM_NEG:
        return (int64_t)(0 - ua);
    case PRIM_ABS:
        return a < 0 ? (int64_t)(0 - ua) : a;
    case PRIM_FLOOR:
        return a;
    case PRIM_AND:
        return a & b;
    case PRIM_OR:
        return a | b;
    case PRIM_XOR:
        return a ^ b;
    case PRIM_GCD:
        return greatest_divisor(a, b);
    case PRIM_MUL_HIGH:
        a = integer_divide(a * b + (INT64_C(1) << 30), INT64_C(1)
                                                           << 31); /* of int32: no product leaves 64 bits */
        return a > INT32_MAX ? INT32_MAX : a;
    case PRIM_SHIFT_NEAR:
        b = INT64_C(1) << (b & 31);
        return (a < 0 ? -1 : 1) * (((a < 0 ? -a : a) + b / 2) / b);
    default:
        assert(!"a primitive without integer result");
        return 0;
    }
}

bool prim_is_comparison(enum prim prim)
{
    return prim >= PRIM_EQ && prim <= PRIM_GE;
}

#define COMPARE(prim, a, b)                                                                                  \
    ((prim) == PRIM_EQ   ? (a) == (b)                                                                        \
     : (prim) == PRIM_NE ? (a) != (b)                                                                        \
     : (prim) == PRIM_LT ? (a) < (b)                                                                         \
     : (prim) == PRIM_LE ? (a) <= (b)                                                                        \
     : (prim) == PRIM_GT ? (a) > (b)                                                                         \
                         : (a) >= (b))

/* note [rescaling] in runtime/modc_simd_scalar.h */
static int64_t rescaled(int64_t x, int64_t a, int64_t b)
{
    if (b < 0) {
        a = (a + (INT64_C(1) << 32)) / 2;
        b = 32 - __builtin_ctzll((uint64_t)b);
    }
    return integer_result(PRIM_SHIFT_NEAR, integer_result(PRIM_MUL_HIGH, x, a), b);
}

union scalar prim_eval(enum prim prim, enum dtype result, enum dtype operands, const union scalar *args)
{
    union scalar value = {.i = 0};
    bool floating = dtype_is_float(operands);

    if (prim == PRIM_SELECT)
        return args[args[0].i ? 1 : 2];
    if (prim == PRIM_CAST)
        return dtype_convert(operands, result, args[0]);
    if (prim == PRIM_BITS)
        return same_bits(operands, result, args[0]);
    if (prim == PRIM_ISNAN)
        value.i = floating && isnan(args[0].f);
    else if (prim_is_comparison(prim))
        value.i = floating ? COMPARE(prim, args[0].f, args[1].f) : COMPARE(prim, args[0].i, args[1].i);
    else if (prim == PRIM_NOT)
        value.i = result == DTYPE_BOOL ? !args[0].i : dtype_wrap(result, ~args[0].i);
    else if (prim == PRIM_RESCALE)
        value.i = rescaled(args[0].i, args[1].i, args[2].i);
    else if (floating)
        value.f = dtype_round(result,
                              float_result(prim, args[0].f, prim_rows[prim].arity > 1 ? args[1].f : 0));
    else
        value.i = dtype_wrap(result,
                             integer_result(prim, args[0].i, prim_rows[prim].arity > 1 ? args[1].i : 0));
    return value;
}

bool prim_is_special(enum prim prim)
{
    return prim >= PRIM_LGAMMA && prim <= PRIM_GAMMAINCC;
}

bool prim_is_long(enum prim prim)
{
    if (prim_is_special(prim))
        return true;
    switch (prim) {
    case PRIM_GCD:
    case PRIM_POW:
    case PRIM_EXP:
    case PRIM_EXP_UP:
    case PRIM_EXP_DOWN:
    case PRIM_EXPM1:
    case PRIM_LOG:
    case PRIM_LOG1P:
    case PRIM_TANH:
    case PRIM_ERF:
    case PRIM_SIN:
    case PRIM_COS:
        return true;
    default:
        return false;
    }
}
