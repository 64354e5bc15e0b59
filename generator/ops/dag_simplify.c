/* dag_simplify.c - simpler nodes for the same value. Apart from dag.c, which asks for one whenever a node is added: here are
 * the rules alone.
 *
 * note [exact simplification]
 * A node is replaced by a simpler one only where no value can tell: not NaN, not an infinity, not the sign of a zero.
 * x + 0.0 stays (it makes 0.0 of -0.0), x - 0.0 and x + -0.0 go. The exception is pow with a known exponent, which
 * becomes what PyTorch computes there: sqrt(x) for 0.5, which differs from pow at -inf and -0.0. */
#include "ops/dag_parts.h"

#include <math.h>

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

    if (dag_is_number(dag, e, 0) || dag_is_number(dag, e, -0.0))
        return dag_const(arena, dag, dtype, 1);
    if (dag_is_number(dag, e, 1))
        return x;
    if (dag_is_number(dag, e, 2) || dag_is_number(dag, e, 3)) {
        int square = dag_prim(arena, dag, PRIM_MUL, dtype, x, x, 0);

        return dag_is_number(dag, e, 2) ? square : dag_prim(arena, dag, PRIM_MUL, dtype, square, x, 0);
    }
    if (floating && (dag_is_number(dag, e, -1) || dag_is_number(dag, e, -2))) {
        int below = dag_is_number(dag, e, -1) ? x : dag_prim(arena, dag, PRIM_MUL, dtype, x, x, 0);

        return dag_prim(arena, dag, PRIM_DIV, dtype, dag_const(arena, dag, dtype, 1), below, 0);
    }
    if (floating && dag_is_number(dag, e, 0.5))
        return dag_prim(arena, dag, PRIM_SQRT, dtype, x, 0, 0);
    if (floating && dag_is_number(dag, e, -0.5))
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
    if (dag_is_const(dag, a))
        a = node->args[1], b = node->args[0];
    if (!dag_is_const(dag, b))
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
    bool left = dag_is_const(dag, node->args[0]), none, all;
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

static int simplify_cast(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    const struct dag_node *arg = &dag->nodes[node->args[0]];

    if (arg->dtype == node->dtype)
        return node->args[0];
    if (arg->prim == PRIM_CAST && cast_keeps_all(dag->nodes[arg->args[0]].dtype, arg->dtype))
        return dag_cast(arena, dag, arg->args[0], node->dtype);
    return -1;
}

/* + and -, where a negated operand makes one of the other. */
static int simplify_sum(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    enum dtype dtype = node->dtype;
    int a = node->args[0], b = node->args[1];
    bool floating = dtype_is_float(dtype), adds = node->prim == PRIM_ADD;
    double neutral = adds && floating ? -0.0 : 0;

    if (adds && dag_is_number(dag, a, neutral))
        return b;
    if (dag_is_number(dag, b, neutral))
        return a;
    if (!adds && !floating && a == b)
        return dag_integer(arena, dag, dtype, 0);
    if (dag->nodes[b].prim == PRIM_NEG && dtype != DTYPE_BOOL)
        return dag_prim(arena, dag, adds ? PRIM_SUB : PRIM_ADD, dtype, a, dag->nodes[b].args[0], 0);
    return -1;
}

static int simplify_product(struct dag *dag, const struct dag_node *node)
{
    int a = node->args[0], b = node->args[1];
    bool floating = dtype_is_float(node->dtype);

    if (dag_is_number(dag, a, 1) || (!floating && dag_is_number(dag, b, 0)))
        return b;
    if (dag_is_number(dag, b, 1) || (!floating && dag_is_number(dag, a, 0)))
        return a;
    return -1;
}

static int simplify_extremum(struct dag *dag, const struct dag_node *node)
{
    double neutral = node->prim == PRIM_MIN ? INFINITY : -INFINITY;
    int a = node->args[0], b = node->args[1];

    if (!dtype_is_float(node->dtype) && a != b)
        return simplify_bound(dag, node);
    if (a == b || dag_is_number(dag, b, neutral))
        return a;
    return dag_is_number(dag, a, neutral) ? b : -1;
}

/* neg, abs and not, twice or of each other. */
static int simplify_sign(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    const struct dag_node *arg = &dag->nodes[node->args[0]];
    enum dtype dtype = node->dtype;

    if (arg->prim == node->prim)
        return node->prim == PRIM_ABS ? node->args[0] : arg->args[0];
    if (node->prim == PRIM_ABS && arg->prim == PRIM_NEG && dtype != DTYPE_BOOL && dtype != DTYPE_UINT8)
        return dag_prim(arena, dag, PRIM_ABS, dtype, arg->args[0], 0, 0);
    if (node->prim == PRIM_NOT && (arg->prim == PRIM_EQ || arg->prim == PRIM_NE))
        return dag_prim(arena, dag, arg->prim == PRIM_EQ ? PRIM_NE : PRIM_EQ, dtype, arg->args[0],
                        arg->args[1], 0);
    return -1;
}

int dag_simplify(struct arena *arena, struct dag *dag, const struct dag_node *node)
{
    int a = node->args[0], b = node->args[1];
    bool floating = dtype_is_float(node->dtype);

    switch (node->prim) {
    case PRIM_CAST:
        return simplify_cast(arena, dag, node);
    case PRIM_BITS: /* back to what they were */
        a = dag->nodes[a].prim == PRIM_BITS ? dag->nodes[a].args[0] : a;
        return dag->nodes[a].dtype == node->dtype ? a : -1;
    case PRIM_ADD:
    case PRIM_SUB:
        return simplify_sum(arena, dag, node);
    case PRIM_MUL:
        return simplify_product(dag, node);
    case PRIM_DIV:
        return dag_is_number(dag, b, 1) ? a : divide(arena, dag, node);
    case PRIM_FLOORDIV:
        return !floating && dag_is_number(dag, b, 1) ? a : -1;
    case PRIM_POW:
        return power(arena, dag, node);
    case PRIM_MIN:
    case PRIM_MAX:
        return simplify_extremum(dag, node);
    case PRIM_LT:
    case PRIM_LE:
    case PRIM_GT:
    case PRIM_GE:
        return simplify_comparison(arena, dag, node);
    case PRIM_NEG:
    case PRIM_ABS:
    case PRIM_NOT:
        return simplify_sign(arena, dag, node);
    case PRIM_FLOOR:
        return !floating || dag->nodes[a].prim == PRIM_FLOOR ? a : -1;
    case PRIM_AS_FLOAT16:
    case PRIM_AS_BFLOAT16:
        return dag->nodes[a].prim == node->prim ? a : -1;
    case PRIM_ISNAN:
        return dtype_is_float(dag->nodes[a].dtype) ? -1 : dag_integer(arena, dag, DTYPE_BOOL, 0);
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
