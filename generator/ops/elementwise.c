/* elementwise.c - elementwise expressions: building, exact simplification, reference values; and the table of lines.
 * Apart, because ops, passes and the printers of kernels all speak this one language.
 *
 * note [exact simplification]
 * A node is replaced by a simpler one only where no value can tell: not NaN, not an infinity, not the sign of a zero.
 * x + 0.0 stays (it makes 0.0 of -0.0), x - 0.0 and x + -0.0 go. The exception is pow with a known exponent, which
 * becomes what PyTorch computes there: sqrt(x) for 0.5, which differs from pow at -inf and -0.0. */
#include "ops/elementwise.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

    assert(from != DTYPE_COMPLEX64 && to != DTYPE_COMPLEX64);
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

static double float_result(enum prim prim, double a, double b)
{
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
    case PRIM_SIN:
        return sin(a);
    case PRIM_COS:
        return cos(a);
    case PRIM_FLOOR:
        return floor(a);
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
    default:
        assert(!"a primitive without integer result");
        return 0;
    }
}

static bool is_comparison(enum prim prim)
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

union scalar prim_eval(enum prim prim, enum dtype result, enum dtype operands, const union scalar *args)
{
    union scalar value = {.i = 0};
    bool floating = dtype_is_float(operands);

    if (prim == PRIM_SELECT)
        return args[args[0].i ? 1 : 2];
    if (prim == PRIM_CAST)
        return dtype_convert(operands, result, args[0]);
    if (prim == PRIM_ISNAN)
        value.i = floating && isnan(args[0].f);
    else if (is_comparison(prim))
        value.i = floating ? COMPARE(prim, args[0].f, args[1].f) : COMPARE(prim, args[0].i, args[1].i);
    else if (prim == PRIM_NOT)
        value.i = result == DTYPE_BOOL ? !args[0].i : dtype_wrap(result, ~args[0].i);
    else if (floating)
        value.f = dtype_round(result,
                              float_result(prim, args[0].f, prim_rows[prim].arity > 1 ? args[1].f : 0));
    else
        value.i = dtype_wrap(result,
                             integer_result(prim, args[0].i, prim_rows[prim].arity > 1 ? args[1].i : 0));
    return value;
}

union scalar dag_eval_in(const struct dag *dag, const union scalar *inputs, const int64_t *sizes,
                         union scalar *values)
{
    for (int i = 0; i < dag->count; i++) {
        const struct dag_node *node = &dag->nodes[i];
        union scalar args[3];

        switch (node->prim) {
        case PRIM_LOAD:
            values[i] = inputs[node->input];
            break;
        case PRIM_CONST:
            if (dtype_is_float(node->dtype))
                values[i].f = node->number;
            else
                values[i].i = node->integer;
            break;
        case PRIM_DIM:
            args[0].i = dim_eval(node->dim, sizes);
            values[i] = dtype_convert(DTYPE_INT64, node->dtype, args[0]);
            break;
        default:
            for (int k = 0; k < prim_rows[node->prim].arity; k++)
                args[k] = values[node->args[k]];
            values[i] = prim_eval(node->prim, node->dtype, dag->nodes[node->args[0]].dtype, args);
        }
    }
    return values[dag->result];
}

union scalar dag_eval(const struct dag *dag, const union scalar *inputs, const int64_t *sizes)
{
    union scalar few[128];

    if (dag->count <= (int)(sizeof few / sizeof *few))
        return dag_eval_in(dag, inputs, sizes, few);

    union scalar *values = calloc((size_t)dag->count, sizeof *values);

    if (!values)
        arena_out_of_memory();

    union scalar result = dag_eval_in(dag, inputs, sizes, values);

    free(values);
    return result;
}

/* ---- building ------------------------------------------------------------------------------------------------ */

bool prim_is_long(enum prim prim)
{
    switch (prim) {
    case PRIM_POW:
    case PRIM_EXP:
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

struct dag *dag_new(struct arena *arena, int input_count)
{
    struct dag *dag = ARENA_NEW(arena, struct dag);

    dag->input_count = input_count;
    return dag;
}

static bool is_const(const struct dag *dag, int node)
{
    return dag->nodes[node].prim == PRIM_CONST;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* A constant of exactly that value, the sign of a zero included. */
static bool is_number(const struct dag *dag, int index, double number)
{
    const struct dag_node *node = &dag->nodes[index];

    if (node->prim != PRIM_CONST)
        return false;
    if (dtype_is_float(node->dtype))
        return same_bits(node->number, number);
    return (double)node->integer == number;
}

static bool commutes(enum prim prim) /* minimum and maximum do not: of 0.0 and -0.0 they give the second */
{
    return prim == PRIM_ADD || prim == PRIM_MUL || prim == PRIM_EQ || prim == PRIM_NE || prim == PRIM_AND ||
           prim == PRIM_OR || prim == PRIM_XOR;
}

static bool same_node(const struct dag_node *a, const struct dag_node *b)
{
    if (a->prim != b->prim || a->dtype != b->dtype)
        return false;
    switch (a->prim) {
    case PRIM_LOAD:
        return a->input == b->input;
    case PRIM_CONST:
        return a->integer == b->integer && same_bits(a->number, b->number);
    case PRIM_DIM:
        return dim_equal(a->dim, b->dim);
    default: {
        int arity = prim_rows[a->prim].arity;

        if (memcmp(a->args, b->args, (size_t)arity * sizeof *a->args) == 0)
            return true;
        return commutes(a->prim) && a->args[0] == b->args[1] && a->args[1] == b->args[0];
    }
    }
}

static int insert(struct arena *arena, struct dag *dag, struct dag_node node)
{
    for (int i = 0; i < dag->count; i++)
        if (same_node(&dag->nodes[i], &node))
            return i;
    ARENA_PUSH(arena, dag->nodes, dag->count, node);
    return dag->count - 1;
}

static int insert_scalar(struct arena *arena, struct dag *dag, enum dtype dtype, union scalar value)
{
    struct dag_node node = {.prim = PRIM_CONST, .dtype = dtype};

    if (!dtype_is_float(dtype))
        node.integer = dtype_wrap(dtype, value.i);
    else
        node.number = isnan(value.f) ? (double)NAN : dtype_round(dtype, value.f);
    return insert(arena, dag, node);
}

/* Every value of `from` is one of `to`, and casting there and on to a third type is casting to that type. */
static bool cast_keeps_all(enum dtype from, enum dtype to)
{
    if (from == DTYPE_BOOL || from == to)
        return true;
    if (dtype_is_float(from))
        return to == DTYPE_FLOAT64 || (to == DTYPE_FLOAT32 && from != DTYPE_FLOAT64);
    if (dtype_is_int(to))
        return from == DTYPE_UINT8 ? to >= DTYPE_INT16 : to >= from;
    if (to == DTYPE_FLOAT64)
        return from <= DTYPE_INT32;
    return to == DTYPE_FLOAT32 && from <= DTYPE_INT16;
}

static int power(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    enum dtype dtype = node->dtype;
    int x = node->args[0], e = node->args[1];
    bool floating = dtype_is_float(dtype);

    if (is_number(dag, e, 0) || is_number(dag, e, -0.0))
        return dag_const(arena, dag, dtype, 1);
    if (is_number(dag, e, 1))
        return x;
    if (is_number(dag, e, 2) || is_number(dag, e, 3)) {
        int square = dag_prim(arena, dag, PRIM_MUL, dtype, x, x, 0);

        return is_number(dag, e, 2) ? square : dag_prim(arena, dag, PRIM_MUL, dtype, square, x, 0);
    }
    if (floating && (is_number(dag, e, -1) || is_number(dag, e, -2))) {
        int below = is_number(dag, e, -1) ? x : dag_prim(arena, dag, PRIM_MUL, dtype, x, x, 0);

        return dag_prim(arena, dag, PRIM_DIV, dtype, dag_const(arena, dag, dtype, 1), below, 0);
    }
    if (floating && is_number(dag, e, 0.5))
        return dag_prim(arena, dag, PRIM_SQRT, dtype, x, 0, 0);
    if (floating && is_number(dag, e, -0.5))
        return dag_prim(arena, dag, PRIM_RSQRT, dtype, x, 0, 0);
    return -1;
}

/* x / c as x * (1 / c), for a power of two whose reciprocal is no denormal. */
static int divide(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    const struct dag_node *divisor = &dag->nodes[node->args[1]];
    int exponent;

    if (divisor->prim != PRIM_CONST || divisor->number == 0 || !isfinite(divisor->number))
        return -1;
    if (fabs(frexp(divisor->number, &exponent)) != 0.5)
        return -1;
    if (exponent < -12 || exponent > 14) /* float16's normal range, which all floating types have */
        return -1;
    return dag_prim(arena, dag, PRIM_MUL, node->dtype, node->args[0],
                    dag_const(arena, dag, node->dtype, 1 / divisor->number), 0);
}

static int simplify_select(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    const struct dag_node *condition = &dag->nodes[node->args[0]];

    if (condition->prim == PRIM_CONST)
        return node->args[condition->integer ? 1 : 2];
    if (node->args[1] == node->args[2])
        return node->args[1];
    if (condition->prim == PRIM_NOT)
        return dag_prim(arena, dag, PRIM_SELECT, node->dtype, condition->args[0], node->args[2],
                        node->args[1]);
    return -1;
}

static int simplify_logic(struct dag *dag, const struct dag_node *node)
{
    int a = node->args[0], b = node->args[1];

    if (node->prim != PRIM_XOR && a == b)
        return a;
    if (is_const(dag, a))
        a = node->args[1], b = node->args[0];
    if (!is_const(dag, b))
        return -1;

    int64_t bits = dag->nodes[b].integer, ones = node->dtype == DTYPE_BOOL ? 1 : dtype_wrap(node->dtype, -1);

    if (bits == 0)
        return node->prim == PRIM_AND ? b : a;
    if (bits == ones && node->prim != PRIM_XOR)
        return node->prim == PRIM_AND ? a : b;
    return -1;
}

/* Bool and integers. */
static void type_limits(enum dtype dtype, int64_t *low, int64_t *high)
{
    *low = dtype == DTYPE_BOOL || dtype == DTYPE_UINT8 ? 0 : INT64_MIN >> (64 - 8 * dtype_rows[dtype].bytes);
    *high = dtype == DTYPE_BOOL ? 1 : dtype == DTYPE_UINT8 ? 255 : ~*low;
}

/* A comparison that all numbers of a type pass, or none: a uint8 below 0. What was cast from a smaller type is one of its
 * numbers. */
static int simplify_comparison(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    static const enum prim turned[] = {
        [PRIM_LT] = PRIM_GT, [PRIM_LE] = PRIM_GE, [PRIM_GT] = PRIM_LT, [PRIM_GE] = PRIM_LE};
    bool left = is_const(dag, node->args[0]), none, all;
    const struct dag_node *limit = &dag->nodes[node->args[left ? 0 : 1]],
                          *x = &dag->nodes[node->args[left ? 1 : 0]];
    enum prim prim = left ? turned[node->prim] : node->prim;
    enum dtype dtype = limit->dtype;
    int64_t low, high;

    if (limit->prim != PRIM_CONST || dtype_is_float(dtype))
        return -1;
    if (x->prim == PRIM_CAST && !dtype_is_float(dag->nodes[x->args[0]].dtype) &&
        dtype_rows[dag->nodes[x->args[0]].dtype].bytes < dtype_rows[dtype].bytes)
        dtype = dag->nodes[x->args[0]].dtype;
    type_limits(dtype, &low, &high);
    none = (prim == PRIM_LT && limit->integer <= low) || (prim == PRIM_GT && limit->integer >= high) ||
           (prim == PRIM_LE && limit->integer < low) || (prim == PRIM_GE && limit->integer > high);
    all = (prim == PRIM_GE && limit->integer <= low) || (prim == PRIM_LE && limit->integer >= high) ||
          (prim == PRIM_GT && limit->integer < low) || (prim == PRIM_LT && limit->integer > high);
    return none || all ? dag_integer(arena, dag, DTYPE_BOOL, all) : -1;
}

/* The least and the largest of two integers, of which one is as small or large as it can be. */
static int simplify_bound(struct dag *dag, const struct dag_node *node)
{
    int64_t low, high;

    type_limits(node->dtype, &low, &high);
    for (int i = 0; i < 2; i++) {
        const struct dag_node *bound = &dag->nodes[node->args[i]];

        if (bound->prim == PRIM_CONST && (bound->integer == low || bound->integer == high))
            return node->args[(bound->integer == low) == (node->prim == PRIM_MAX) ? 1 - i : i];
    }
    return -1;
}

/* The node that `node` can be replaced by, see note [exact simplification]; -1: none. */
static int simplify(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    enum dtype dtype = node->dtype;
    int a = node->args[0], b = node->args[1];
    bool floating = dtype_is_float(dtype);

    switch (node->prim) {
    case PRIM_CAST:
        if (dag->nodes[a].dtype == dtype)
            return a;
        if (dag->nodes[a].prim == PRIM_CAST) {
            int inner = dag->nodes[a].args[0];

            if (cast_keeps_all(dag->nodes[inner].dtype, dag->nodes[a].dtype))
                return dag_cast(arena, dag, inner, dtype);
        }
        return -1;
    case PRIM_ADD:
        if (is_number(dag, a, floating ? -0.0 : 0))
            return b;
        if (is_number(dag, b, floating ? -0.0 : 0))
            return a;
        if (dag->nodes[b].prim == PRIM_NEG && dtype != DTYPE_BOOL)
            return dag_prim(arena, dag, PRIM_SUB, dtype, a, dag->nodes[b].args[0], 0);
        return -1;
    case PRIM_SUB:
        if (is_number(dag, b, 0))
            return a;
        if (!floating && a == b)
            return dag_integer(arena, dag, dtype, 0);
        if (dag->nodes[b].prim == PRIM_NEG && dtype != DTYPE_BOOL)
            return dag_prim(arena, dag, PRIM_ADD, dtype, a, dag->nodes[b].args[0], 0);
        return -1;
    case PRIM_MUL:
        if (is_number(dag, a, 1) || (!floating && is_number(dag, b, 0)))
            return b;
        if (is_number(dag, b, 1) || (!floating && is_number(dag, a, 0)))
            return a;
        return -1;
    case PRIM_DIV:
        return is_number(dag, b, 1) ? a : divide(arena, dag, node);
    case PRIM_FLOORDIV:
        return !floating && is_number(dag, b, 1) ? a : -1;
    case PRIM_POW:
        return power(arena, dag, node);
    case PRIM_MIN:
    case PRIM_MAX: {
        double neutral = node->prim == PRIM_MIN ? INFINITY : -INFINITY;

        if (!floating && a != b)
            return simplify_bound(dag, node);
        if (a == b || is_number(dag, b, neutral))
            return a;
        return is_number(dag, a, neutral) ? b : -1;
    }
    case PRIM_LT:
    case PRIM_LE:
    case PRIM_GT:
    case PRIM_GE:
        return simplify_comparison(arena, dag, node);
    case PRIM_NEG:
        if (dag->nodes[a].prim == PRIM_NEG)
            return dag->nodes[a].args[0];
        return -1;
    case PRIM_ABS:
        if (dag->nodes[a].prim == PRIM_ABS)
            return a;
        if (dag->nodes[a].prim == PRIM_NEG && dtype != DTYPE_BOOL && dtype != DTYPE_UINT8)
            return dag_prim(arena, dag, PRIM_ABS, dtype, dag->nodes[a].args[0], 0, 0);
        return -1;
    case PRIM_FLOOR:
        return !floating || dag->nodes[a].prim == PRIM_FLOOR ? a : -1;
    case PRIM_ISNAN:
        return dtype_is_float(dag->nodes[a].dtype) ? -1 : dag_integer(arena, dag, DTYPE_BOOL, 0);
    case PRIM_NOT:
        if (dag->nodes[a].prim == PRIM_NOT)
            return dag->nodes[a].args[0];
        if (dag->nodes[a].prim == PRIM_EQ || dag->nodes[a].prim == PRIM_NE)
            return dag_prim(arena, dag, dag->nodes[a].prim == PRIM_EQ ? PRIM_NE : PRIM_EQ, dtype,
                            dag->nodes[a].args[0], dag->nodes[a].args[1], 0);
        return -1;
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_XOR:
        return simplify_logic(dag, node);
    case PRIM_SELECT:
        return simplify_select(arena, dag, node);
    default:
        return -1;
    }
}

/* Whether the operands have the types that dag_prim asks for. */
static bool well_typed(const struct dag *dag, const struct dag_node *node)
{
    int arity = prim_rows[node->prim].arity, first = node->prim == PRIM_SELECT ? 1 : 0;

    for (int k = 0; k < arity; k++)
        if (node->args[k] < 0 || node->args[k] >= dag->count)
            return false;
    for (int k = first + 1; k < arity; k++)
        if (dag->nodes[node->args[k]].dtype != dag->nodes[node->args[first]].dtype)
            return false;
    if (node->prim == PRIM_SELECT && dag->nodes[node->args[0]].dtype != DTYPE_BOOL)
        return false;
    if (node->prim == PRIM_CAST || arity == 0)
        return true;
    if (is_comparison(node->prim) || node->prim == PRIM_ISNAN)
        return node->dtype == DTYPE_BOOL;
    if (node->prim >= PRIM_AND && node->prim <= PRIM_NOT && dtype_is_float(node->dtype))
        return false;
    if ((node->prim == PRIM_DIV || (node->prim >= PRIM_EXP && node->prim <= PRIM_COS)) &&
        !dtype_is_float(node->dtype))
        return false;
    return dag->nodes[node->args[first]].dtype == node->dtype;
}

/* An integer division by a known 0 stays: it is a status when it runs. */
static bool divides_by_zero(const struct dag *dag, const struct dag_node *node)
{
    return (node->prim == PRIM_FLOORDIV || node->prim == PRIM_MOD) && !dtype_is_float(node->dtype) &&
           is_number(dag, node->args[1], 0);
}

int dag_add(struct arena *arena, struct dag *dag, struct dag_node node)
{
    int arity = prim_rows[node.prim].arity, known = 0;
    bool fits = well_typed(dag, &node);
    union scalar args[3];

    assert(fits);
    (void)fits;
    if (node.prim == PRIM_CONST) {
        union scalar value;

        if (dtype_is_float(node.dtype))
            value.f = node.number;
        else
            value.i = node.integer;
        return insert_scalar(arena, dag, node.dtype, value);
    }
    if (node.prim == PRIM_DIM && dim_is_const(node.dim, &args[0].i))
        return insert_scalar(arena, dag, node.dtype, dtype_convert(DTYPE_INT64, node.dtype, args[0]));
    for (int k = 0; k < arity; k++) {
        const struct dag_node *arg = &dag->nodes[node.args[k]];

        if (arg->prim != PRIM_CONST)
            continue;
        known++;
        if (dtype_is_float(arg->dtype))
            args[k].f = arg->number;
        else
            args[k].i = arg->integer;
    }
    if (arity > 0 && known == arity && !divides_by_zero(dag, &node))
        return insert_scalar(arena, dag, node.dtype,
                             prim_eval(node.prim, node.dtype, dag->nodes[node.args[0]].dtype, args));

    if (node.prim == PRIM_LOAD && node.input >= dag->input_count)
        dag->input_count = node.input + 1;

    int simpler = arity > 0 ? simplify(arena, dag, &node) : -1;

    return simpler >= 0 ? simpler : insert(arena, dag, node);
}

int dag_load(struct arena *arena, struct dag *dag, int input, enum dtype dtype)
{
    return dag_add(arena, dag, (struct dag_node){.prim = PRIM_LOAD, .dtype = dtype, .input = input});
}

int dag_const(struct arena *arena, struct dag *dag, enum dtype dtype, double number)
{
    union scalar value = {.f = number};

    return insert_scalar(arena, dag, dtype, dtype_convert(DTYPE_FLOAT64, dtype, value));
}

int dag_integer(struct arena *arena, struct dag *dag, enum dtype dtype, int64_t integer)
{
    union scalar value = {.i = integer};

    return insert_scalar(arena, dag, dtype, dtype_convert(DTYPE_INT64, dtype, value));
}

int dag_prim(struct arena *arena, struct dag *dag, enum prim prim, enum dtype dtype, int a, int b, int c)
{
    const int given[3] = {a, b, c};
    struct dag_node node = {.prim = prim, .dtype = dtype};

    for (int k = 0; k < prim_rows[prim].arity; k++)
        node.args[k] = given[k];
    return dag_add(arena, dag, node);
}

int dag_cast(struct arena *arena, struct dag *dag, int node, enum dtype dtype)
{
    return dag_prim(arena, dag, PRIM_CAST, dtype, node, 0, 0);
}

/* needed[i] > 0 where the result needs node i: how often it is an argument, plus one for the result itself. */
static int *count_uses(struct arena *arena, const struct dag *dag)
{
    int *uses = ARENA_ARRAY(arena, dag->count, int);

    uses[dag->result] = 1;
    for (int i = dag->result; i >= 0; i--)
        for (int k = 0; uses[i] > 0 && k < prim_rows[dag->nodes[i].prim].arity; k++)
            uses[dag->nodes[i].args[k]]++;
    return uses;
}

int dag_inline(struct arena *arena, struct dag *dag, const struct dag *from, const int *inputs)
{
    const int *uses = count_uses(arena, from);
    int *moved = ARENA_ARRAY(arena, from->count, int);

    for (int i = 0; i <= from->result; i++) {
        struct dag_node node = from->nodes[i];

        if (uses[i] == 0)
            continue;
        if (node.prim == PRIM_LOAD) {
            moved[i] = inputs[node.input];
            assert(dag->nodes[moved[i]].dtype == node.dtype);
            continue;
        }
        for (int k = 0; k < prim_rows[node.prim].arity; k++)
            node.args[k] = moved[node.args[k]];
        moved[i] = dag_add(arena, dag, node);
    }
    return moved[from->result];
}

void dag_trim(struct arena *arena, struct dag *dag)
{
    const int *uses = count_uses(arena, dag);
    int *moved = ARENA_ARRAY(arena, dag->count, int);
    struct dag_node *nodes = NULL;
    int count = 0;

    for (int i = 0; i <= dag->result; i++) {
        struct dag_node node = dag->nodes[i];

        if (uses[i] == 0)
            continue;
        for (int k = 0; k < prim_rows[node.prim].arity; k++)
            node.args[k] = moved[node.args[k]];
        moved[i] = count;
        ARENA_PUSH(arena, nodes, count, node);
    }
    dag->result = moved[dag->result];
    dag->nodes = nodes;
    dag->count = count;
}

bool *dag_loads(struct arena *arena, const struct dag *dag)
{
    const int *uses = count_uses(arena, dag);
    bool *loads = ARENA_ARRAY(arena, dag->input_count + 1, bool);

    for (int i = 0; i <= dag->result; i++)
        if (uses[i] > 0 && dag->nodes[i].prim == PRIM_LOAD)
            loads[dag->nodes[i].input] = true;
    return loads;
}

struct dag *dag_identity(struct arena *arena, enum dtype dtype)
{
    struct dag *dag = dag_new(arena, 1);

    dag->result = dag_load(arena, dag, 0, dtype);
    return dag;
}

bool dag_equal(const struct dag *a, const struct dag *b)
{
    if (a->count != b->count || a->result != b->result || a->input_count != b->input_count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return false;
    return true;
}

bool dag_is_identity(const struct dag *dag)
{
    return dag->nodes[dag->result].prim == PRIM_LOAD && dag->nodes[dag->result].input == 0;
}

/* ---- gradients ------------------------------------------------------------------------------------------------ */

/* The gradient of a dag being built: `sum` holds, by node of the dag, what has come back to it so far; -1: nothing. */
struct reverse {
    struct arena *arena;
    struct dag *dag;
    enum dtype dtype; /* of the node that hands back */
    int *sum;
};

static int of(struct reverse *r, enum prim prim, int a, int b)
{
    return dag_prim(r->arena, r->dag, prim, r->dtype, a, b, 0);
}

static int number(struct reverse *r, double number)
{
    return dag_const(r->arena, r->dag, r->dtype, number);
}

static int compare(struct reverse *r, enum prim prim, int a, int b)
{
    return dag_prim(r->arena, r->dag, prim, DTYPE_BOOL, a, b, 0);
}

static int choose(struct reverse *r, int condition, int a, int b)
{
    return dag_prim(r->arena, r->dag, PRIM_SELECT, r->dtype, condition, a, b);
}

static void hand_back(struct reverse *r, int node, int gradient)
{
    enum dtype dtype = r->dag->nodes[node].dtype;

    if (!dtype_is_float(dtype))
        return;
    gradient = dag_cast(r->arena, r->dag, gradient, dtype);
    r->sum[node] = r->sum[node] < 0 ? gradient
                                    : dag_prim(r->arena, r->dag, PRIM_ADD, dtype, r->sum[node], gradient, 0);
}

/* g where a is chosen of a and b, by `less` or `greater` than b; a half of it where they are equal. */
static int chosen(struct reverse *r, enum prim loses, int a, int b, int g)
{
    return choose(r, compare(r, loses, a, b), number(r, 0),
                  choose(r, compare(r, PRIM_EQ, a, b), of(r, PRIM_MUL, g, number(r, 0.5)), g));
}

/* Hands g, the gradient of node y, back to its arguments. */
static void reverse_node(struct reverse *r, int y, int g)
{
    const struct dag_node node = r->dag->nodes[y];
    int a = node.args[0], b = node.args[1], c = node.args[2];

    r->dtype = node.dtype;
    switch (node.prim) {
    case PRIM_CAST:
        hand_back(r, a, g);
        break;
    case PRIM_ADD:
        hand_back(r, a, g);
        hand_back(r, b, g);
        break;
    case PRIM_SUB:
        hand_back(r, a, g);
        hand_back(r, b, of(r, PRIM_NEG, g, 0));
        break;
    case PRIM_MUL:
        hand_back(r, a, of(r, PRIM_MUL, g, b));
        hand_back(r, b, of(r, PRIM_MUL, g, a));
        break;
    case PRIM_DIV:
        hand_back(r, a, of(r, PRIM_DIV, g, b));
        hand_back(r, b, of(r, PRIM_NEG, of(r, PRIM_MUL, g, of(r, PRIM_DIV, y, b)), 0));
        break;
    case PRIM_MOD:
        hand_back(r, a, g);
        hand_back(r, b, of(r, PRIM_NEG, of(r, PRIM_MUL, g, of(r, PRIM_FLOORDIV, a, b)), 0));
        break;
    case PRIM_POW: {
        int zero = number(r, 0), less = of(r, PRIM_SUB, b, number(r, 1));
        int still = dag_prim(r->arena, r->dag, PRIM_AND, DTYPE_BOOL, compare(r, PRIM_EQ, a, zero),
                             compare(r, PRIM_GE, b, zero), 0);

        hand_back(r, a,
                  choose(r, compare(r, PRIM_EQ, b, zero), zero,
                         of(r, PRIM_MUL, g, of(r, PRIM_MUL, b, of(r, PRIM_POW, a, less)))));
        hand_back(r, b,
                  choose(r, still, zero, of(r, PRIM_MUL, g, of(r, PRIM_MUL, y, of(r, PRIM_LOG, a, 0)))));
        break;
    }
    case PRIM_MIN:
        hand_back(r, a, chosen(r, PRIM_GT, a, b, g));
        hand_back(r, b, chosen(r, PRIM_GT, b, a, g));
        break;
    case PRIM_MAX:
        hand_back(r, a, chosen(r, PRIM_LT, a, b, g));
        hand_back(r, b, chosen(r, PRIM_LT, b, a, g));
        break;
    case PRIM_NEG:
        hand_back(r, a, of(r, PRIM_NEG, g, 0));
        break;
    case PRIM_ABS: {
        int zero = number(r, 0);
        int sign = choose(r, compare(r, PRIM_GT, a, zero), number(r, 1),
                          choose(r, compare(r, PRIM_LT, a, zero), number(r, -1), zero));

        hand_back(r, a, of(r, PRIM_MUL, g, sign));
        break;
    }
    case PRIM_EXP:
        hand_back(r, a, of(r, PRIM_MUL, g, y));
        break;
    case PRIM_EXPM1:
        hand_back(r, a, of(r, PRIM_MUL, g, of(r, PRIM_ADD, y, number(r, 1))));
        break;
    case PRIM_LOG:
        hand_back(r, a, of(r, PRIM_DIV, g, a));
        break;
    case PRIM_LOG1P:
        hand_back(r, a, of(r, PRIM_DIV, g, of(r, PRIM_ADD, a, number(r, 1))));
        break;
    case PRIM_TANH:
        hand_back(r, a, of(r, PRIM_MUL, g, of(r, PRIM_SUB, number(r, 1), of(r, PRIM_MUL, y, y))));
        break;
    case PRIM_ERF:
        hand_back(r, a,
                  of(r, PRIM_MUL, of(r, PRIM_MUL, g, number(r, 1.12837916709551257390)),
                     of(r, PRIM_EXP, of(r, PRIM_NEG, of(r, PRIM_MUL, a, a), 0), 0)));
        break;
    case PRIM_SQRT:
        hand_back(r, a, of(r, PRIM_DIV, g, of(r, PRIM_MUL, number(r, 2), y)));
        break;
    case PRIM_RSQRT:
        hand_back(
            r, a,
            of(r, PRIM_MUL, of(r, PRIM_MUL, g, number(r, -0.5)), of(r, PRIM_MUL, of(r, PRIM_MUL, y, y), y)));
        break;
    case PRIM_SIN:
        hand_back(r, a, of(r, PRIM_MUL, g, of(r, PRIM_COS, a, 0)));
        break;
    case PRIM_COS:
        hand_back(r, a, of(r, PRIM_NEG, of(r, PRIM_MUL, g, of(r, PRIM_SIN, a, 0)), 0));
        break;
    case PRIM_SELECT:
        hand_back(r, b, choose(r, a, g, number(r, 0)));
        hand_back(r, c, choose(r, a, number(r, 0), g));
        break;
    default: /* constants, and what has steps alone */
        break;
    }
}

struct dag *dag_gradient(struct arena *arena, const struct dag *dag, int input)
{
    struct reverse r = {.arena = arena, .dag = dag_new(arena, dag->input_count + 1)};
    int g, load = -1, count = dag->result + 1;

    r.sum = ARENA_ARRAY(arena, count, int);
    for (int i = 0; i < count; i++) {
        ARENA_PUSH(arena, r.dag->nodes, r.dag->count, dag->nodes[i]); /* by the same numbers as in dag */
        r.sum[i] = -1;
        if (dag->nodes[i].prim == PRIM_LOAD && dag->nodes[i].input == input)
            load = i;
    }
    if (load < 0 || !dtype_is_float(dag->nodes[load].dtype) || !dtype_is_float(dag->nodes[dag->result].dtype))
        return NULL;
    g = dag_load(arena, r.dag, dag->input_count, dag->nodes[dag->result].dtype);
    r.sum[dag->result] = g;
    for (int i = dag->result; i > load; i--)
        if (r.sum[i] >= 0)
            reverse_node(&r, i, r.sum[i]);
    if (r.sum[load] < 0)
        return NULL;
    r.dag->result = r.sum[load];
    dag_trim(arena, r.dag);
    return r.dag;
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

enum { LEVEL_ANY, LEVEL_COMPARE, LEVEL_OR, LEVEL_XOR, LEVEL_AND, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY };

static const struct {
    const char *text;
    int level; /* 0: printed as a call */
} operators[PRIM_COUNT] = {
    [PRIM_ADD] = {" + ", LEVEL_SUM},           [PRIM_SUB] = {" - ", LEVEL_SUM},
    [PRIM_MUL] = {" * ", LEVEL_PRODUCT},       [PRIM_DIV] = {" / ", LEVEL_PRODUCT},
    [PRIM_FLOORDIV] = {" // ", LEVEL_PRODUCT}, [PRIM_MOD] = {" % ", LEVEL_PRODUCT},
    [PRIM_EQ] = {" == ", LEVEL_COMPARE},       [PRIM_NE] = {" != ", LEVEL_COMPARE},
    [PRIM_LT] = {" < ", LEVEL_COMPARE},        [PRIM_LE] = {" <= ", LEVEL_COMPARE},
    [PRIM_GT] = {" > ", LEVEL_COMPARE},        [PRIM_GE] = {" >= ", LEVEL_COMPARE},
    [PRIM_AND] = {" & ", LEVEL_AND},           [PRIM_OR] = {" | ", LEVEL_OR},
    [PRIM_XOR] = {" ^ ", LEVEL_XOR},           [PRIM_NEG] = {"-", LEVEL_UNARY},
    [PRIM_NOT] = {"~", LEVEL_UNARY},
};

static void print_node(struct text *text, const struct dag *dag, const int *uses, int index, int level,
                       bool whole);

static void print_operator(struct text *text, const struct dag *dag, const int *uses,
                           const struct dag_node *node, int level)
{
    int own = operators[node->prim].level;
    bool comparison = own == LEVEL_COMPARE; /* does not chain: both sides need a higher level */

    if (own < level)
        text_add(text, "(");
    if (own == LEVEL_UNARY) {
        text_add(text, operators[node->prim].text);
        print_node(text, dag, uses, node->args[0], LEVEL_UNARY, false);
    } else {
        print_node(text, dag, uses, node->args[0], comparison ? own + 1 : own, false);
        text_add(text, operators[node->prim].text);
        print_node(text, dag, uses, node->args[1], own + 1, false);
    }
    if (own < level)
        text_add(text, ")");
}

/* whole: the node itself, although it has a name. */
static void print_node(struct text *text, const struct dag *dag, const int *uses, int index, int level,
                       bool whole)
{
    const struct dag_node *node = &dag->nodes[index];

    if (!whole && uses[index] > 1 && prim_rows[node->prim].arity > 0) {
        text_printf(text, "t%d", index);
        return;
    }
    switch (node->prim) {
    case PRIM_LOAD:
        text_printf(text, "x%d", node->input);
        return;
    case PRIM_CONST:
        if (dtype_is_float(node->dtype))
            text_double(text, node->number);
        else if (node->dtype == DTYPE_BOOL)
            text_add(text, node->integer ? "True" : "False");
        else
            text_printf(text, "%lld", (long long)node->integer);
        return;
    case PRIM_DIM:
        text_add(text, "dim(");
        dim_print(text, node->dim);
        text_add(text, ")");
        return;
    default:
        break;
    }
    if (operators[node->prim].level > 0) {
        print_operator(text, dag, uses, node, level);
        return;
    }
    text_printf(text, "%s(",
                node->prim == PRIM_CAST ? dtype_rows[node->dtype].name : prim_rows[node->prim].name);
    for (int k = 0; k < prim_rows[node->prim].arity; k++) {
        text_add(text, k > 0 ? ", " : "");
        print_node(text, dag, uses, node->args[k], LEVEL_ANY, false);
    }
    text_add(text, ")");
}

/* Nodes that are used more than once stand before the result: "t1 = exp(x0); t1 / (t1 + 1.0)". */
void dag_print(struct text *text, const struct dag *dag)
{
    const int *uses = count_uses(text->arena, dag);

    for (int i = 0; i < dag->result; i++) {
        if (uses[i] < 2 || prim_rows[dag->nodes[i].prim].arity == 0)
            continue;
        text_printf(text, "t%d = ", i);
        print_node(text, dag, uses, i, LEVEL_ANY, true);
        text_add(text, "; ");
    }
    print_node(text, dag, uses, dag->result, LEVEL_ANY, true);
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

#define INPLACE ELEMENTWISE_INPLACE
#define FLOAT ELEMENTWISE_FLOAT
#define ONLY_FLOAT ELEMENTWISE_ONLY_FLOAT
#define NO_BOOL ELEMENTWISE_NO_BOOL
#define HIDDEN ELEMENTWISE_HIDDEN
#define TORCH (ELEMENTWISE_TORCH | ELEMENTWISE_METHOD)
#define NO_METHOD (ELEMENTWISE_TORCH | ELEMENTWISE_FUNCTIONAL)
#define BOTH (NO_METHOD | ELEMENTWISE_METHOD)
#define PLACE "[inplace?inplace=True]"
#define MORE_PLACE "[inplace?, inplace=True]"

/* name, arguments, tensors, forward, backward, module, extra_repr, flags. NaN stays NaN throughout; where a line can
 * tell it by y alone, backward reads y, so that x need not be kept. */
const struct elementwise_row elementwise_rows[] = {
    /* torch.nn.functional */
    {"relu", "input", 1, "where(x <= 0, 0, x)", "where(y <= 0, 0, g)", "ReLU", PLACE,
     BOTH | INPLACE | NO_BOOL},
    {"relu6", "input", 1, "minimum(maximum(x, 0), 6)", "where((y > 0) & (y < 6), g, 0)", "ReLU6", PLACE,
     INPLACE | NO_BOOL},
    {"leaky_relu", "input, negative_slope=0.01", 1, "where(x > 0, x, x * negative_slope)",
     "where(where(negative_slope >= 0, y, x) > 0, g, g * negative_slope)", "LeakyReLU",
     "negative_slope={negative_slope}" MORE_PLACE, INPLACE | ONLY_FLOAT},
    {"elu", "input, alpha=1.0", 1, "where(x > 0, x, alpha * expm1(x))",
     "where(x <= 0, g * alpha * exp(x), g)", "ELU", "alpha={alpha}" MORE_PLACE, INPLACE | ONLY_FLOAT},
    {"selu", "input", 1, "1.0507009873554804934 * elu(x, 1.6732632423543772848)",
     "1.0507009873554804934 * where(x <= 0, g * 1.6732632423543772848 * exp(x), g)", "SELU", PLACE,
     NO_METHOD | INPLACE | ONLY_FLOAT},
    {"celu", "input, alpha=1.0", 1, "where(x > 0, x, alpha * expm1(x / alpha))",
     "where(x <= 0, g * exp(x / alpha), g)", "CELU", "alpha={alpha}" MORE_PLACE,
     NO_METHOD | INPLACE | ONLY_FLOAT},
    {"gelu", "input", 1, "0.5 * x * (1 + erf(x * sqrt(0.5)))",
     "g * (0.5 * (1 + erf(x * sqrt(0.5))) + x * exp(-0.5 * x * x) * (1 / sqrt(2 * pi)))", NULL, NULL,
     ONLY_FLOAT},
    {"gelu_tanh", "input", 1, "0.5 * x * (1 + _gelu_tanh(x))",
     "g * (0.5 * (1 + _gelu_tanh(x))"
     " + 0.5 * x * (1 - _gelu_tanh(x) * _gelu_tanh(x)) * (sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)))",
     NULL, NULL, ONLY_FLOAT | HIDDEN},
    {"_gelu_tanh", "input", 1, "tanh(sqrt(2 / pi) * (x + 0.044715 * (x * x * x)))", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"sigmoid", "input", 1, "1 / (1 + exp(-x))", "g * y * (1 - y)", "Sigmoid", "", BOTH | FLOAT},
    {"hardsigmoid", "input", 1, "minimum(maximum(x + 3, 0), 6) / 6",
     "where((x > -3) & (x < 3), g * 0.1666666716337204, 0)", /* float32's sixth, in float64 too */
     "Hardsigmoid", "", INPLACE | ONLY_FLOAT},
    {"tanh", "input", 1, "tanh(x)", "g * (1 - y * y)", "Tanh", "", BOTH | FLOAT},
    {"silu", "input", 1, "x / (1 + exp(-x))", "g * sigmoid(x) * (1 + x * (1 - sigmoid(x)))", "SiLU", PLACE,
     INPLACE | ONLY_FLOAT},
    {"mish", "input", 1, "where(x > 20, x, x * _mish_tanh(x))",
     "where(x > 20, g, g * (_mish_tanh(x) + x * sigmoid(x) * (1 - _mish_tanh(x) * _mish_tanh(x))))", "Mish",
     PLACE, INPLACE | ONLY_FLOAT},
    /* tanh(log1p(exp(x))) by one exp, for x <= 20 */
    {"_mish_tanh", "input", 1, "exp(x) * (exp(x) + 2) / (exp(x) * (exp(x) + 2) + 2)", NULL, NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    {"softplus", "input, beta=1.0, threshold=20.0", 1,
     "where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)",
     "where(x * beta > threshold, g, g / (1 + exp(-(x * beta))))", "Softplus",
     "beta={beta}, threshold={threshold}", ONLY_FLOAT},
    {"hardtanh", "input, min_val=-1.0, max_val=1.0", 1, "minimum(maximum(x, min_val), max_val)",
     "where((y > min_val) & (y < max_val), g, 0)", NULL, NULL, INPLACE | NO_BOOL},
    {"hardswish", "input", 1, "x * minimum(maximum(x + 3, 0), 6) / 6",
     "where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g))", "Hardswish", "", INPLACE | ONLY_FLOAT},
    {"softsign", "input", 1, "x / (1 + abs(x))", "g / ((1 + abs(x)) * (1 + abs(x)))", "Softsign", "", FLOAT},
    {"tanhshrink", "input", 1, "x - tanh(x)", "g * (tanh(x) * tanh(x))", "Tanhshrink", "", FLOAT},
    {"hardshrink", "input, lambd=0.5", 1, "where((x >= -lambd) & (x <= lambd), 0, x)",
     "where((x < -lambd) | (x > lambd), g, 0)", "Hardshrink", "{lambd}", BOTH | ONLY_FLOAT},
    {"softshrink", "input, lambd=0.5", 1, "where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))",
     "where((x < -lambd) | (x > lambd), g, 0)", "Softshrink", "{lambd}", ONLY_FLOAT},
    {"logsigmoid", "input", 1, "minimum(x, 0) - log1p(exp(-abs(x)))", "g / (1 + exp(x))", "LogSigmoid", "",
     ONLY_FLOAT},
    {"threshold", "input, threshold, value", 1, "where(x <= threshold, value, x)",
     "where(x <= threshold, 0, g)", "Threshold", "threshold={threshold}, value={value}" MORE_PLACE,
     NO_METHOD | INPLACE | NO_BOOL},
    /* prelu with its weight brought to the shape of the input */
    {"_prelu_kernel", "input, weight", 2, "where(x > 0, x, weight * x)",
     "where(x > 0, g, weight * g); d_weight = where(x > 0, 0, x * g)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* rrelu in training, with a slope for each element */
    {"_rrelu", "input, slope", 2, "where(x <= 0, slope * x, x)", "where(x <= 0, slope * g, g)", NULL, NULL,
     HIDDEN | ONLY_FLOAT},
    /* losses; a target to which PyTorch gives no gradient has none */
    {"_mse_loss", "input, target", 2, "(x - target) * (x - target)",
     "g * (2 * (x - target)); d_target = g * (2 * (target - x))", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_smooth_l1_loss", "input, target, beta", 2,
     "where(abs(x - target) < beta, 0.5 * (x - target) * (x - target) / beta, abs(x - target) - 0.5 * beta)",
     "g * hardtanh(x - target, -beta, beta) / beta; d_target = g * hardtanh(target - x, -beta, beta) / beta",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_huber_loss", "input, target, delta", 2,
     "where(abs(x - target) <= delta, 0.5 * (x - target) * (x - target), delta * (abs(x - target) - 0.5 * delta))",
     "g * hardtanh(x - target, -delta, delta); d_target = g * hardtanh(target - x, -delta, delta)", NULL,
     NULL, HIDDEN | ONLY_FLOAT},
    {"_soft_margin_loss", "input, target", 2, "log1p(exp(-target * x))",
     "-g * target * (exp(-target * x) / (1 + exp(-target * x)))", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* with float32's 1e-12, in float64 too */
    {"_bce_loss", "input, target", 2,
     "(target - 1) * maximum(log1p(-x), -100) - target * maximum(log(x), -100)",
     "g * ((x - target) / maximum((1 - x) * x, 9.999999960041972e-13)); d_target = g * (log1p(-x) - log(x))",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_logits_loss", "input, target", 2, "(1 - target) * x - logsigmoid(x)",
     "g * (sigmoid(x) - target); d_target = -g * x", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_weighted_logits_loss", "input, target, pos_weight", 3,
     "(1 - target) * x - (1 + (pos_weight - 1) * target) * logsigmoid(x)",
     "g * ((pos_weight * target + 1 - target) * sigmoid(x) - pos_weight * target);"
     " d_target = g * (logsigmoid(-x) - pos_weight * logsigmoid(x))",
     NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* target / target: the slope at 0 is NaN */
    {"_kl_div", "input, target", 2, "where(target == 0, 0, target * log(target)) - target * x",
     "-g * target; d_target = g * (log(target) + target / target - x)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* NaN is no violation */
    {"_margin_loss", "input, p", 1, "where(x > 0, where(p == 1, x, x * x), 0)",
     "where(x > 0, where(p == 1, g, g * (2 * x)), 0)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* a bound that no gradient sees */
    {"_no_less", "input, least", 1, "maximum(x, least)", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    /* what dropout multiplies by, from a uniform number */
    {"_dropped", "input, p, kept", 1, "where(x < p, 0, kept)", NULL, NULL, NULL, HIDDEN | ONLY_FLOAT},

    /* what clamp to numbers is made of: at a bound there is no gradient */
    {"_maximum", "input, other", 2, "maximum(x, other)", "where(x > other, g, 0)", NULL, NULL, HIDDEN},
    {"_minimum", "input, other", 2, "minimum(x, other)", "where(x < other, g, 0)", NULL, NULL, HIDDEN},
    /* The values of one tensor whose gradients another gets; gradients that are scaled on their way back */
    {"_instead", "input, other", 2, "other", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_graded", "input, scale", 2, "x", "g * scale", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_with_sign", "input, negative", 2, "where(negative != 0, -abs(x), abs(x))",
     "where(x == 0, 0, g * (y / x))", NULL, NULL, HIDDEN | FLOAT},
    {"_fmod", "input, other", 2, "where(x < 0, -(abs(x) % abs(other)), abs(x) % abs(other))",
     "g; d_other = -g * trunc(x / other)", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_xlogy", "input, other", 2, "where(isnan(other), other, where(x == 0, 0, x * log(other)))",
     "where((x == 0) & (other <= 0), 0, g * log(other)); d_other = g * (x / other)", NULL, NULL,
     HIDDEN | FLOAT},
    /* of a sum of squares: a deviation or a norm, which have no gradient where they are 0 */
    {"_sqrt", "input", 1, "sqrt(x)", "where(y == 0, 0, g / (2 * y))", NULL, NULL, HIDDEN | FLOAT},
    /* of a norm of another order p: |x| to the p, and their sum to 1 / p */
    {"_to_order", "input, p", 1, "pow(abs(x), p)",
     "where((x == 0) & (p < 1), 0, g * p * pow(abs(x), p - 1) * sign(x))", NULL, NULL, HIDDEN | FLOAT},
    {"_from_order", "input, p", 1, "pow(x, 1 / p)", "where(y == 0, 0, g * pow(y, 1 - p) / p)", NULL, NULL,
     HIDDEN | FLOAT},
    /* values that come with another, to which no gradient flows */
    {"_beside", "input, other", 2, "x", "g", NULL, NULL, HIDDEN | ONLY_FLOAT},
    {"_sinc", "input", 1, "where(x == 0, 1, sin(pi * x) / (pi * x))",
     "where(pi * x * x == 0, 0, g * ((cos(pi * x) * pi * x - sin(pi * x)) / (pi * x * x)))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_logit", "input", 1, "log(x / (1 - x))", "where(isnan(y), y, g / (x * (1 - x)))", NULL, NULL,
     HIDDEN | FLOAT},
    {"_logit_within", "input, eps", 1, "_logit(minimum(maximum(x, eps), 1 - eps))",
     "where((x < eps) | (x > 1 - eps), 0, g / (x * (1 - x)))", NULL, NULL, HIDDEN | FLOAT},
    /* a quotient that is rounded has no slope, not even where it is infinite */
    {"_trunc_div", "input, other", 2, "trunc(x / other)", NULL, NULL, NULL, HIDDEN | FLOAT},

    /* torch */
    {"exp", "input", 1, "exp(x)", "g * y", NULL, NULL, TORCH | FLOAT},
    {"exp2", "input", 1, "pow(2, x)", "g * y * log(2)", NULL, NULL, TORCH | FLOAT},
    {"expm1", "input", 1, "expm1(x)", "g * (y + 1)", NULL, NULL, TORCH | FLOAT},
    {"log", "input", 1, "log(x)", "g / x", NULL, NULL, TORCH | FLOAT},
    {"log1p", "input", 1, "log1p(x)", "g / (x + 1)", NULL, NULL, TORCH | FLOAT},
    {"log2", "input", 1, "log(x) / log(2)", "g / (x * log(2))", NULL, NULL, TORCH | FLOAT},
    {"log10", "input", 1, "log(x) / log(10)", "g / (x * log(10))", NULL, NULL, TORCH | FLOAT},
    {"sqrt", "input", 1, "sqrt(x)", "g / (2 * y)", NULL, NULL, TORCH | FLOAT},
    {"rsqrt", "input", 1, "rsqrt(x)", "-0.5 * g * (y * y * y)", NULL, NULL, TORCH | FLOAT},
    {"reciprocal", "input", 1, "1 / x", "-g * (y * y)", NULL, NULL, TORCH | FLOAT},
    {"square", "input", 1, "x * x", "g * (2 * x)", NULL, NULL, TORCH | NO_BOOL},
    {"abs", "input", 1, "abs(x)", "g * sign(x)", NULL, NULL, TORCH | NO_BOOL},
    {"neg", "input", 1, "-x", "-g", NULL, NULL, TORCH | NO_BOOL},
    {"sign", "input", 1, "where(x > 0, 1, where(x < 0, -1, 0))", NULL, NULL, NULL, TORCH},
    {"floor", "input", 1, "floor(x)", NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"ceil", "input", 1, "-floor(-x)", NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"trunc", "input", 1, "where(x < 0, -floor(-x), floor(x))", NULL, NULL, NULL,
     TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    /* Ties to even, on either side of 0 so that -0.5 gives -0.0; an infinity fails both comparisons. */
    {"round", "input", 1,
     "where(x - floor(x) < 0.5, floor(x), where(x - floor(x) > 0.5, -floor(-x),"
     " where(x < 0, -2 * floor(0.5 - 0.5 * x), 2 * floor(0.5 + 0.5 * x))))",
     NULL, NULL, NULL, TORCH | NO_BOOL | ELEMENTWISE_ROUNDING},
    {"frac", "input", 1, "x - trunc(x)", "g", NULL, NULL, TORCH | ONLY_FLOAT},
    {"sin", "input", 1, "sin(x)", "g * cos(x)", NULL, NULL, TORCH | FLOAT},
    {"cos", "input", 1, "cos(x)", "-g * sin(x)", NULL, NULL, TORCH | FLOAT},
    {"tan", "input", 1, "sin(x) / cos(x)", "g * (1 + y * y)", NULL, NULL, TORCH | FLOAT},
    {"sinh", "input", 1, "0.5 * (expm1(x) - expm1(-x))", "g * cosh(x)", NULL, NULL, TORCH | FLOAT},
    {"cosh", "input", 1, "0.5 * (exp(x) + exp(-x))", "g * sinh(x)", NULL, NULL, TORCH | FLOAT},
    {"atan", "input", 1, "where(x < 0, -_atan_positive(-x), _atan_positive(x))", "g / (1 + x * x)", NULL,
     NULL, TORCH | FLOAT},
    /* of x > sqrt(2) + 1 as of -1 / x, of x > 0.66 as of (x - 1) / (x + 1): a quotient of polynomials for -0.42 .. 0.66 */
    {"_atan_positive", "input", 1,
     "where(x > 2.41421356237309504880, pi / 2 + _atan_small(-1 / x),"
     " where(x > 0.66, pi / 4 + _atan_small((x - 1) / (x + 1)), _atan_small(x)))",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_atan_small", "input", 1, "x + x * (x * x * _atan_series(x * x))", NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_atan_series", "input", 1,
     "((((-0.875060860003190412 * x - 16.1575371873336507664) * x - 75.0085579231470466734) * x"
     " - 122.886668449013617341) * x - 64.8502190494202537177)"
     " / (((((x + 24.8584649014230629796) * x + 165.027009831698854205) * x + 432.881060491290266895) * x"
     " + 485.390399635913696487) * x + 194.550657148261396443)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"asin", "input", 1, "atan(x / sqrt((1 - x) * (1 + x)))", "g * rsqrt((1 - x) * (1 + x))", NULL, NULL,
     TORCH | FLOAT},
    {"acos", "input", 1, "2 * atan(sqrt((1 - x) / (1 + x)))", "-g * rsqrt((1 - x) * (1 + x))", NULL, NULL,
     TORCH | FLOAT},
    /* The sign of a zero says from which side it was reached. */
    {"atan2", "input, other", 2,
     "where((abs(x) == inf) & (abs(other) == inf), where(other > 0, pi / 4, 3 * pi / 4) * sign(x),"
     " where(other > 0, atan(x / other), where((x == 0) & (other == 0) & (1 / other > 0), x,"
     " where((x < 0) | (1 / x < 0), -pi, pi) * where(other == 0, where(x == 0, 1, where(isnan(x), x, 0.5)), 1)"
     " + where(other == 0, other * 0, atan(x / other)))))",
     "g * _over_square(other, x * x + other * other); d_other = -g * _over_square(x, x * x + other * other)",
     NULL, NULL, TORCH | FLOAT},
    /* 0 at the origin */
    {"_over_square", "input, square", 2, "where(square == 0, 0, x / square)", NULL, NULL, NULL,
     HIDDEN | FLOAT},
    {"asinh", "input", 1, "where(x < 0, -_asinh_positive(-x), _asinh_positive(x))", "g * rsqrt(x * x + 1)",
     NULL, NULL, TORCH | FLOAT},
    {"_asinh_positive", "input", 1,
     "where(x > 1e9, log(x) + log(2), log1p(x + x * x / (1 + sqrt(x * x + 1))))", NULL, NULL, NULL,
     HIDDEN | FLOAT},
    {"acosh", "input", 1, "where(x > 1e9, log(x) + log(2), log1p(x - 1 + sqrt((x - 1) * (x + 1))))",
     "g * rsqrt((x - 1) * (x + 1))", NULL, NULL, TORCH | FLOAT},
    {"atanh", "input", 1, "0.5 * log1p(2 * x / (1 - x))", "g / ((1 - x) * (1 + x))", NULL, NULL,
     TORCH | FLOAT},
    {"erf", "input", 1, "erf(x)", "g * (2 / sqrt(pi)) * exp(-(x * x))", NULL, NULL, TORCH | FLOAT},
    {"erfc", "input", 1, "where(abs(x) < 1, 1 - erf(x), where(x < 0, 2 - _erfc_beyond(-x), _erfc_beyond(x)))",
     "g * (-2 / sqrt(pi)) * exp(-(x * x))", NULL, NULL, TORCH | FLOAT},
    /* of x >= 1; beyond 30 it is 0 in every type */
    {"_erfc_beyond", "input", 1,
     "where(x < 8, exp(-(x * x)) * _erfc_series(x), exp(-(x * x)) * _erfc_far(minimum(x, 30)))", NULL, NULL,
     NULL, HIDDEN | FLOAT},
    {"_erfc_series", "input", 1,
     "((((((((2.46196981473530512524e-10 * x + 0.564189564831068821977) * x + 7.46321056442269912687) * x"
     " + 48.6371970985681366614) * x + 196.520832956077098242) * x + 526.445194995477358631) * x"
     " + 934.528527171957607540) * x + 1027.55188689515710272) * x + 557.535335369399327526)"
     " / ((((((((x + 13.2281951154744992508) * x + 86.7072140885989742329) * x + 354.937778887819891062) * x"
     " + 975.708501743205489753) * x + 1823.90916687909736289) * x + 2246.33760818710981792) * x"
     " + 1656.66309194161350182) * x + 557.535340817727675546)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"_erfc_far", "input", 1,
     "(((((0.564189583547755073984 * x + 1.27536670759978104416) * x + 5.01905042251180477414) * x"
     " + 6.16021097993053585195) * x + 7.40974269950448939160) * x + 2.97886665372100240670)"
     " / ((((((x + 2.26052863220117276590) * x + 9.39603524938001434673) * x + 12.0489539808096656605) * x"
     " + 17.0814450747565897222) * x + 9.60896809063285878198) * x + 3.36907645100081516050)",
     NULL, NULL, NULL, HIDDEN | FLOAT},
    {"hypot", "input, other", 2,
     "where((abs(x) == inf) | (abs(other) == inf), inf, _hypot(maximum(abs(x), abs(other)), minimum(abs(x), abs(other))))",
     "g * (x / y); d_other = g * (other / y)", NULL, NULL, TORCH | ONLY_FLOAT},
    {"_hypot", "input, other", 2, "where(x == 0, x, x * sqrt(1 + (other / x) * (other / x)))", NULL, NULL,
     NULL, HIDDEN | ONLY_FLOAT},
    {"logaddexp", "input, other", 2,
     "where((x == other) & (abs(x) == inf), x, maximum(x, other) + log1p(exp(-abs(x - other))))",
     "g * sigmoid(x - other); d_other = g * sigmoid(other - x)", NULL, NULL, TORCH | ONLY_FLOAT},
    {"isnan", "input", 1, "isnan(x)", NULL, NULL, NULL, TORCH},
    {"isinf", "input", 1, "abs(x) == inf", NULL, NULL, NULL, TORCH | FLOAT},
    {"isfinite", "input", 1, "abs(x) < inf", NULL, NULL, NULL, TORCH | FLOAT},
    {"logical_not", "input", 1, "x == 0", NULL, NULL, NULL, TORCH},
    {"minimum", "input, other", 2, "minimum(x, other)",
     "where(x > other, 0, where(x == other, g * 0.5, g)); d_other = where(x < other, 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"maximum", "input, other", 2, "maximum(x, other)",
     "where(x < other, 0, where(x == other, g * 0.5, g)); d_other = where(x > other, 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"fmin", "input, other", 2, "where(isnan(x) | (x > other), other, x)",
     "where((x > other) | (isnan(x) & (other == other)), 0, where(x == other, g * 0.5, g));"
     " d_other = where(isnan(other) | (x < other), 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"fmax", "input, other", 2, "where(isnan(x) | (x < other), other, x)",
     "where((x < other) | (isnan(x) & (other == other)), 0, where(x == other, g * 0.5, g));"
     " d_other = where(isnan(other) | (x > other), 0, where(x == other, g * 0.5, g))",
     NULL, NULL, TORCH},
    {"pow", "input, exponent", 2, "pow(x, exponent)",
     "where(exponent == 0, 0, g * (exponent * pow(x, exponent - 1)));"
     " d_exponent = where((x == 0) & (exponent >= 0), 0, g * (y * log(x)))",
     NULL, NULL, TORCH},
};

const int elementwise_row_count = sizeof elementwise_rows / sizeof *elementwise_rows;

/* What the numbers of a line have to be, by its name. */
static const struct {
    const char *line, *condition, *message;
} number_checks[] = {
    {"hardtanh", "min_val <= max_val", "min_val cannot be greater than max_val"},
    {"celu", "alpha != 0", "alpha cannot be 0 for CELU"},
    {"softshrink", "lambd >= 0", "lambd must not be negative"},
};

const struct elementwise_row *elementwise_find(const char *name)
{
    for (int i = 0; i < elementwise_row_count; i++)
        if (strcmp(elementwise_rows[i].name, name) == 0)
            return &elementwise_rows[i];
    return NULL;
}

const struct elementwise_row *elementwise_module(const char *class_name)
{
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].module && strcmp(elementwise_rows[i].module, class_name) == 0)
            return &elementwise_rows[i];
    return NULL;
}

const char *elementwise_refuses(struct cx *cx, const struct elementwise_row *row, enum dtype dtype)
{
    bool refused = dtype == DTYPE_COMPLEX64 || (dtype == DTYPE_BOOL && (row->flags & ELEMENTWISE_NO_BOOL)) ||
                   (!dtype_is_float(dtype) && (row->flags & ELEMENTWISE_ONLY_FLOAT));

    if (!refused)
        return NULL;
    return arena_format(&cx->arena, "%s is not defined for %s", row->name, dtype_rows[dtype].name);
}

/* ---- from text to nodes -------------------------------------------------------------------------------------- */

/* A number known now, computed in double, or a node of the DAG. */
struct operand {
    bool known;
    double number;
    int node;
};

struct binding {
    const char *name;
    struct operand value;
};

/* The text of one line being built, with what its names mean. */
struct line {
    struct cx *cx;
    struct dag *dag;
    enum dtype dtype; /* in which it is computed */
    struct binding *names;
    int count;
};

static struct operand build_expr(struct line *line, const struct expr *expr);

static struct operand known(double number)
{
    return (struct operand){.known = true, .number = number};
}

static struct operand node(int index)
{
    return (struct operand){.node = index};
}

static const struct source *table_source(struct cx *cx, const char *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    *source = (struct source){.name = "elementwise.c", .text = text, .length = strlen(text)};
    return source;
}

static struct operand build_text(struct line *line, const char *text)
{
    const struct source *source = table_source(line->cx, text);

    return build_expr(line, expr_parse(line->cx, source, 0, source->length));
}

static int to_node(struct line *line, struct operand operand, enum dtype dtype)
{
    return operand.known ? dag_const(&line->cx->arena, line->dag, dtype, operand.number) : operand.node;
}

/* A primitive over operands of which those that are known take the type of those that are not. */
static struct operand build_prim(struct line *line, enum prim prim, const struct operand *args)
{
    int arity = prim_rows[prim].arity, first = prim == PRIM_SELECT ? 1 : 0, nodes[3] = {0, 0, 0};
    bool all_known = true;
    enum dtype operands = line->dtype;

    for (int k = first; k < arity; k++) {
        all_known = all_known && args[k].known;
        if (!args[k].known)
            operands = line->dag->nodes[args[k].node].dtype;
    }
    if (prim == PRIM_SELECT && args[0].known)
        return args[args[0].number != 0 ? 1 : 2];
    if (all_known && prim != PRIM_SELECT) {
        bool logic = prim >= PRIM_AND && prim <= PRIM_NOT;
        enum dtype dtype = logic ? DTYPE_BOOL : DTYPE_FLOAT64;
        bool truth = logic || is_comparison(prim) || prim == PRIM_ISNAN;
        union scalar values[3] = {{0}, {0}, {0}};

        for (int k = 0; k < arity; k++) {
            if (logic)
                values[k].i = args[k].number != 0;
            else
                values[k].f = args[k].number;
        }

        union scalar result = prim_eval(prim, truth ? DTYPE_BOOL : dtype, dtype, values);

        return known(truth ? (double)result.i : result.f);
    }
    if (prim == PRIM_SELECT)
        nodes[0] = to_node(line, args[0], DTYPE_BOOL);
    for (int k = first; k < arity; k++)
        nodes[k] = to_node(line, args[k], operands);

    enum dtype result = is_comparison(prim) || prim == PRIM_ISNAN ? DTYPE_BOOL : operands;

    return node(dag_prim(&line->cx->arena, line->dag, prim, result, nodes[0], nodes[1], nodes[2]));
}

/* The arguments of a line get their values: tensors from `values`, numbers behind them, missing ones by default. */
static void bind_args(struct line *line, const struct elementwise_row *row, const struct operand *values,
                      int count)
{
    struct signature signature;
    const char *text = arena_format(&line->cx->arena, "%s(%s)", row->name, row->args);
    const struct source *source = table_source(line->cx, text);
    bool parsed = signature_parse(line->cx, source, 0, source->length, &signature);

    assert(parsed && count >= row->tensors && count <= signature.count);
    (void)parsed;
    line->names = ARENA_ARRAY(&line->cx->arena, signature.count + 3, struct binding);
    for (int i = 0; i < signature.count; i++) {
        assert(i < count || signature.args[i].value);
        struct operand value = i < count ? values[i] : build_expr(line, signature.args[i].value);

        line->names[line->count++] = (struct binding){signature.args[i].name, value};
        if (i == 0)
            line->names[line->count++] = (struct binding){"x", value};
    }
}

static struct operand build_name(struct line *line, const char *name)
{
    for (int i = 0; i < line->count; i++)
        if (strcmp(line->names[i].name, name) == 0)
            return line->names[i].value;
    if (strcmp(name, "inf") == 0)
        return known(INFINITY);
    assert(strcmp(name, "pi") == 0);
    return known(3.14159265358979323846);
}

/* The primitive that a line may name; arithmetic is written with operators. */
static bool find_prim(const char *name, enum prim *out)
{
    for (int i = 0; i < PRIM_COUNT; i++) {
        if (i != PRIM_CAST && prim_rows[i].arity > 0 && strcmp(prim_rows[i].name, name) == 0) {
            *out = (enum prim)i;
            return true;
        }
    }
    return false;
}

static struct operand build_call(struct line *line, const struct expr *call)
{
    struct operand args[8];
    enum prim prim;

    assert(call->a->kind == EXPR_NAME && call->count <= 8);
    for (int i = 0; i < call->count; i++)
        args[i] = build_expr(line, call->items[i]);
    if (find_prim(call->a->text, &prim)) {
        assert(call->count == prim_rows[prim].arity);
        return build_prim(line, prim, args);
    }

    const struct elementwise_row *row = elementwise_find(call->a->text);
    struct line inner = {.cx = line->cx, .dag = line->dag, .dtype = line->dtype};

    assert(row);
    bind_args(&inner, row, args, call->count);
    return build_text(&inner, row->forward);
}

static struct operand build_expr(struct line *line, const struct expr *expr)
{
    static const enum prim prims[] = {
        [OP_ADD] = PRIM_ADD,
        [OP_SUB] = PRIM_SUB,
        [OP_MUL] = PRIM_MUL,
        [OP_DIV] = PRIM_DIV,
        [OP_FLOORDIV] = PRIM_FLOORDIV,
        [OP_MOD] = PRIM_MOD,
        [OP_POW] = PRIM_POW,
        [OP_EQ] = PRIM_EQ,
        [OP_NE] = PRIM_NE,
        [OP_LT] = PRIM_LT,
        [OP_LE] = PRIM_LE,
        [OP_GT] = PRIM_GT,
        [OP_GE] = PRIM_GE,
        [OP_BITAND] = PRIM_AND,
        [OP_BITOR] = PRIM_OR,
        [OP_BITXOR] = PRIM_XOR,
        [OP_NEG] = PRIM_NEG,
        [OP_INVERT] = PRIM_NOT,
    };
    struct operand args[2];

    switch (expr->kind) {
    case EXPR_BOOL:
    case EXPR_INT:
        return known((double)expr->integer);
    case EXPR_FLOAT:
        return known(expr->number);
    case EXPR_NAME:
        return build_name(line, expr->text);
    case EXPR_CALL:
        return build_call(line, expr);
    case EXPR_UNARY:
        args[0] = build_expr(line, expr->a);
        return build_prim(line, prims[expr->op], args);
    case EXPR_BINARY:
        args[0] = build_expr(line, expr->a);
        args[1] = build_expr(line, expr->b);
        return build_prim(line, prims[expr->op], args);
    case EXPR_TUPLE: /* parentheses around one expression */
        assert(expr->count == 1);
        return build_expr(line, expr->items[0]);
    default:
        assert(!"a line that does not parse");
        return known(0);
    }
}

static enum dtype computed_in(const struct elementwise_row *row, enum dtype dtype)
{
    if (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16)
        return DTYPE_FLOAT32;
    return !dtype_is_float(dtype) && (row->flags & ELEMENTWISE_FLOAT) ? DTYPE_FLOAT32 : dtype;
}

static struct operand load(struct line *line, int input, enum dtype dtype)
{
    struct arena *arena = &line->cx->arena;

    return node(dag_cast(arena, line->dag, dag_load(arena, line->dag, input, dtype), line->dtype));
}

/* The line's arguments, from its inputs and the numbers. */
static void bind_inputs(struct line *line, const struct elementwise_row *row, enum dtype dtype,
                        const double *numbers)
{
    struct operand values[16];
    int count = row->tensors, commas = 0;

    for (const char *c = row->args; *c; c++)
        commas += *c == ',';
    assert(commas < 16);
    for (int i = 0; i < row->tensors; i++)
        values[i] = load(line, i, dtype);
    for (; count <= commas; count++)
        values[count] = known(numbers[count - row->tensors]);
    bind_args(line, row, values, count);
}

const char *elementwise_refuses_numbers(struct cx *cx, const struct elementwise_row *row,
                                        const double *numbers)
{
    struct line line = {.cx = cx, .dag = dag_new(&cx->arena, row->tensors), .dtype = DTYPE_FLOAT64};
    bool bound = false;

    for (size_t i = 0; i < sizeof number_checks / sizeof *number_checks; i++) {
        if (strcmp(number_checks[i].line, row->name) != 0)
            continue;
        if (!bound)
            bind_inputs(&line, row, DTYPE_FLOAT64, numbers);
        bound = true;
        if (build_text(&line, number_checks[i].condition).number == 0)
            return number_checks[i].message;
    }
    return NULL;
}

static struct dag *finish(struct line *line, struct operand result, enum dtype dtype)
{
    struct arena *arena = &line->cx->arena;
    struct dag *dag = line->dag;
    int index = to_node(line, result, line->dtype);

    if (dag->nodes[index].dtype != DTYPE_BOOL && (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16))
        index = dag_cast(arena, dag, index, dtype);
    dag->result = index;
    dag_trim(arena, dag);
    return dag;
}

struct dag *elementwise_dag(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                            const double *numbers)
{
    struct line line = {.cx = cx, .dag = dag_new(&cx->arena, row->tensors), .dtype = computed_in(row, dtype)};

    if (!dtype_is_float(dtype) && (row->flags & ELEMENTWISE_ROUNDING))
        return dag_identity(&cx->arena, dtype);
    bind_inputs(&line, row, dtype, numbers);
    return finish(&line, build_text(&line, row->forward), dtype);
}

/* The text of gradient `tensor` of a line, or NULL. */
static const char *gradient_text(struct cx *cx, const struct elementwise_row *row, int tensor)
{
    const char *text = row->backward;

    for (int i = 0; text && i < tensor; i++) {
        text = strstr(text, "; d_");
        text = text ? strstr(text, " = ") : NULL;
        text = text ? text + 3 : NULL;
    }
    return text ? arena_copy(&cx->arena, text, strcspn(text, ";")) : NULL;
}

struct dag *elementwise_gradient(struct cx *cx, const struct elementwise_row *row, enum dtype dtype,
                                 const double *numbers, int tensor)
{
    struct line line = {
        .cx = cx, .dag = dag_new(&cx->arena, row->tensors + 2), .dtype = computed_in(row, dtype)};
    const char *text = gradient_text(cx, row, tensor);

    assert(dtype_is_float(dtype) && tensor < row->tensors);
    if (!text)
        return NULL;
    bind_inputs(&line, row, dtype, numbers);
    line.names[line.count++] = (struct binding){"y", load(&line, row->tensors, dtype)};
    line.names[line.count++] = (struct binding){"g", load(&line, row->tensors + 1, dtype)};
    return finish(&line, build_text(&line, text), dtype);
}

int elementwise_expr(struct cx *cx, struct dag *dag, enum dtype dtype, const char *text,
                     const struct elementwise_name *names, int count)
{
    struct line line = {.cx = cx, .dag = dag, .dtype = dtype};

    line.names = ARENA_ARRAY(&cx->arena, count + 1, struct binding);
    for (int i = 0; i < count; i++)
        line.names[line.count++] = (struct binding){names[i].name, node(names[i].node)};
    return to_node(&line, build_text(&line, text), dtype);
}
