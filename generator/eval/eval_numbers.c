/* eval_numbers.c - operators over numbers that are known, and over sizes. */
#include "eval/evaluator.h"

#include <math.h>
#include <string.h>

struct ev eval_depends_on_sizes(struct eval *eval, struct loc loc, const struct ev *value)
{
    diag_error(eval->cx, loc, "'%s' depends on sizes that are only known at run time", ev_text(eval, value));
    diag_hint(eval->cx, "conditions must be known while generating; make the size a constant");
    return ev_bad(loc);
}

/* Sums and products of known integers that leave 64 bits. */
static bool overflows(enum expr_op op, int64_t a, int64_t b)
{
    int64_t out;

    return (op == OP_ADD && __builtin_add_overflow(a, b, &out)) ||
           (op == OP_SUB && __builtin_sub_overflow(a, b, &out)) ||
           (op == OP_MUL && __builtin_mul_overflow(a, b, &out)) ||
           (op == OP_FLOORDIV && a == INT64_MIN && b == -1);
}

static const char *operand_text(struct eval *eval, const struct ev *value)
{
    const char *text = ev_text(eval, value);

    return strchr(text, ' ') ? arena_format(&eval->cx->arena, "(%s)", text) : text;
}

/* Of two numbers of which sizes decide one, or both. */
static struct ev sized_number(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                              const struct ev *b)
{
    return ev_float_dag(loc, build_number_binary(eval, operator_rows[op].prim, a, b),
                        arena_format(&eval->cx->arena, "%s %s %s", operand_text(eval, a), expr_op_text(op),
                                     operand_text(eval, b)));
}

/* x == y, x < y and the like, where they hold for all sizes or for none; EV_NONE: sizes decide it. */
static struct ev compare_dims(struct arena *arena, struct loc loc, enum expr_op op, const struct dim *x,
                              const struct dim *y)
{
    const struct dim *gap = dim_sub(arena, x, y); /* x op y  <=>  gap op 0 */
    int64_t low = dim_lower(gap), high = dim_upper(gap);
    bool always, never;

    switch (op) {
    case OP_EQ:
    case OP_NE:
        always = dim_equal(x, y);
        never = low > 0 || high < 0;
        if (always || never)
            return ev_bool(loc, always == (op == OP_EQ));
        return ev_none(loc);
    case OP_LT:
        always = high < 0;
        never = low >= 0;
        break;
    case OP_LE:
        always = high <= 0;
        never = low > 0;
        break;
    case OP_GT:
        always = low > 0;
        never = high <= 0;
        break;
    default: /* OP_GE */
        always = low >= 0;
        never = high < 0;
    }
    return always || never ? ev_bool(loc, always) : ev_none(loc);
}

static struct ev integer_power(struct eval *eval, struct loc loc, int64_t base, int64_t exponent)
{
    int64_t power = 1;

    if (base == 0 && exponent < 0) {
        diag_error(eval->cx, loc, "division by zero: 0 to a negative power");
        return ev_bad(loc);
    }
    if (exponent < 0)
        return ev_float(loc, pow((double)base, (double)exponent));
    if (base == -1)
        return ev_int(eval, loc, exponent % 2 ? -1 : 1);
    for (int64_t k = 0; k < exponent; k++) {
        if (__builtin_mul_overflow(power, base, &power)) {
            diag_error(eval->cx, loc, "%lld ** %lld does not fit 64 bits", (long long)base,
                       (long long)exponent);
            return ev_bad(loc);
        }
        if (power == 0 || power == 1)
            break;
    }
    return ev_int(eval, loc, power);
}

/* x ** y of which sizes decide x, to an exponent that is known and small; EV_NONE: another one. */
static struct ev dim_power(struct arena *arena, struct loc loc, const struct dim *x, const struct dim *y)
{
    const struct dim *power = dim_const(arena, 1);
    int64_t exponent;

    if (!dim_is_const(y, &exponent) || exponent < 0 || exponent > MAX_DIMS)
        return ev_none(loc);
    for (int64_t k = 0; k < exponent; k++)
        power = dim_mul(arena, power, x);
    return ev_dim(loc, power);
}

/* Of two integers that are both known. `bits`: they are bools, and so is what & | ^ make of them. */
static struct ev integer_binary(struct eval *eval, struct loc loc, enum expr_op op, int64_t i, int64_t j,
                                bool bits)
{
    int64_t out;

    switch (op) {
    case OP_BITAND:
        out = i & j;
        break;
    case OP_BITOR:
        out = i | j;
        break;
    case OP_BITXOR:
        out = i ^ j;
        break;
    case OP_POW:
        return integer_power(eval, loc, i, j);
    case OP_DIV:
        return ev_float(loc, (double)i / (double)j);
    default:
        return ev_none(loc);
    }
    return bits ? ev_bool(loc, out != 0) : ev_int(eval, loc, out);
}

/* Of two integers, known or decided by sizes; EV_NONE: sizes decide what must be known. */
static struct ev dim_values(struct eval *eval, struct loc loc, enum expr_op op, const struct dim *x,
                            const struct dim *y)
{
    struct arena *arena = &eval->cx->arena;

    switch (op) {
    case OP_ADD:
        return ev_dim(loc, dim_add(arena, x, y));
    case OP_SUB:
        return ev_dim(loc, dim_sub(arena, x, y));
    case OP_MUL:
        return ev_dim(loc, dim_mul(arena, x, y));
    case OP_FLOORDIV:
        return ev_dim(loc, dim_floordiv(arena, x, y));
    case OP_MOD:
        return ev_dim(loc, dim_mod(arena, x, y));
    case OP_POW:
        return dim_power(arena, loc, x, y);
    default:
        return op >= OP_EQ && op <= OP_GE ? compare_dims(arena, loc, op, x, y) : ev_none(loc);
    }
}

static struct ev dim_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                            const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *x = a->kind == EV_BOOL ? dim_const(arena, a->integer) : a->dim;
    const struct dim *y = b->kind == EV_BOOL ? dim_const(arena, b->integer) : b->dim;
    struct ev out = ev_none(loc);
    int64_t i, j;
    bool known = dim_is_const(x, &i) && dim_is_const(y, &j);

    if ((op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD) && dim_equals(y, 0)) {
        eval_raises(eval, "ZeroDivisionError");
        diag_error(eval->cx, b->loc, "division by zero");
        return ev_bad(loc);
    }
    if (known && overflows(op, i, j)) {
        diag_error(eval->cx, loc, "%lld %s %lld does not fit 64 bits", (long long)i, expr_op_text(op),
                   (long long)j);
        return ev_bad(loc);
    }
    if (known)
        out = integer_binary(eval, loc, op, i, j, a->kind == EV_BOOL && b->kind == EV_BOOL);
    else if (op == OP_DIV)
        out = sized_number(eval, loc, op, a, b);
    if (out.kind == EV_NONE)
        out = dim_values(eval, loc, op, x, y);
    if (out.kind != EV_NONE)
        return out;
    diag_error(eval->cx, loc, "'%s %s %s' depends on sizes that are only known at run time",
               dim_text(arena, x), expr_op_text(op), dim_text(arena, y));
    diag_hint(eval->cx, "conditions must be known while generating; make the size a constant");
    return ev_bad(loc);
}

/* Python's x % y of floats. */
static double float_rest(double x, double y)
{
    double rest = fmod(x, y);

    return rest == 0 ? copysign(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Of two numbers, of which one is a float. `b` is the right one. */
static struct ev number_binary(struct eval *eval, struct loc loc, enum expr_op op, double x, double y,
                               const struct ev *b)
{
    double power;

    switch (op) {
    case OP_ADD:
        return ev_float(loc, x + y);
    case OP_SUB:
        return ev_float(loc, x - y);
    case OP_MUL:
        return ev_float(loc, x * y);
    case OP_DIV:
    case OP_FLOORDIV:
    case OP_MOD:
        if (y == 0) {
            eval_raises(eval, "ZeroDivisionError");
            diag_error(eval->cx, b->loc, "division by zero");
            return ev_bad(loc);
        }
        if (op == OP_MOD)
            return ev_float(loc, float_rest(x, y));
        if (op == OP_FLOORDIV)
            return ev_float(loc, prim_eval(PRIM_FLOORDIV, DTYPE_FLOAT64, DTYPE_FLOAT64,
                                           (union scalar[2]){{.f = x}, {.f = y}})
                                     .f);
        return ev_float(loc, x / y);
    case OP_POW:
        power = pow(x, y);
        if (x == 0 && y < 0)
            diag_error(eval->cx, loc, "division by zero: 0 to a negative power");
        else if (isnan(power) && !isnan(x) && !isnan(y))
            diag_error(eval->cx, loc, "(%g) ** %g is a complex number", x, y);
        else if (isinf(power) && isfinite(x) && isfinite(y))
            diag_error(eval->cx, loc, "%g ** %g is too large", x, y);
        else
            return ev_float(loc, power);
        return ev_bad(loc);
    case OP_EQ:
        return ev_bool(loc, x == y);
    case OP_NE:
        return ev_bool(loc, x != y);
    case OP_LT:
        return ev_bool(loc, x < y);
    case OP_LE:
        return ev_bool(loc, x <= y);
    case OP_GT:
        return ev_bool(loc, x > y);
    case OP_GE:
        return ev_bool(loc, x >= y);
    default:
        return ev_bad(loc);
    }
}

struct ev eval_numbers(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                       const struct ev *b)
{
    double x, y;

    if (a->kind != EV_FLOAT && b->kind != EV_FLOAT && op != OP_MATMUL)
        return dim_binary(eval, loc, op, a, b);
    if (op == OP_MATMUL || op >= OP_BITAND)
        return eval_operand_fault(eval, loc, op, a, b);
    if (ev_get_number(a, &x) && ev_get_number(b, &y))
        return number_binary(eval, loc, op, x, y, b);
    if (op >= OP_EQ && op <= OP_GE)
        return eval_depends_on_sizes(eval, loc, ev_get_number(a, &x) ? b : a);
    return sized_number(eval, loc, op, a, b);
}
