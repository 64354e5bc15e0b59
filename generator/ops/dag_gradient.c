/* dag_gradient.c - the gradient of a DAG, by its primitives: what backward has where a function has no line of its own. */
#include "ops/dag.h"

/* The gradient of a dag being built: `sum` holds, by node of the dag, what has come back to it so far; -1: nothing. */
struct reverse {
    struct arena *arena;
    struct dag *dag;
    enum dtype dtype; /* of the node that hands back */
    int *sum;
};

static int op_node(struct reverse *r, enum prim prim, int a, int b)
{
    return dag_prim(r->arena, r->dag, prim, r->dtype, a, b, 0);
}

static int number_node(struct reverse *r, double number)
{
    return dag_const(r->arena, r->dag, r->dtype, number);
}

static int compare_node(struct reverse *r, enum prim prim, int a, int b)
{
    return dag_prim(r->arena, r->dag, prim, DTYPE_BOOL, a, b, 0);
}

static int select_node(struct reverse *r, int condition, int a, int b)
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
    return select_node(
        r, compare_node(r, loses, a, b), number_node(r, 0),
        select_node(r, compare_node(r, PRIM_EQ, a, b), op_node(r, PRIM_MUL, g, number_node(r, 0.5)), g));
}

static void reverse_power(struct reverse *r, int a, int b, int y, int g)
{
    int zero = number_node(r, 0), less = op_node(r, PRIM_SUB, b, number_node(r, 1));
    int still = dag_prim(r->arena, r->dag, PRIM_AND, DTYPE_BOOL, compare_node(r, PRIM_EQ, a, zero),
                         compare_node(r, PRIM_GE, b, zero), 0);

    hand_back(r, a,
              select_node(r, compare_node(r, PRIM_EQ, b, zero), zero,
                          op_node(r, PRIM_MUL, g, op_node(r, PRIM_MUL, b, op_node(r, PRIM_POW, a, less)))));
    hand_back(r, b,
              select_node(r, still, zero,
                          op_node(r, PRIM_MUL, g, op_node(r, PRIM_MUL, y, op_node(r, PRIM_LOG, a, 0)))));
}

/* 1, -1 or 0 by the sign of a node, times g. */
static int signed_node(struct reverse *r, int a, int g)
{
    int zero = number_node(r, 0);
    int sign = select_node(r, compare_node(r, PRIM_GT, a, zero), number_node(r, 1),
                           select_node(r, compare_node(r, PRIM_LT, a, zero), number_node(r, -1), zero));

    return op_node(r, PRIM_MUL, g, sign);
}

/* Hands g, the gradient of node y = f(a, b), back to both operands. */
static void reverse_binary(struct reverse *r, enum prim prim, int a, int b, int y, int g)
{
    switch (prim) {
    case PRIM_ADD:
        hand_back(r, a, g);
        hand_back(r, b, g);
        break;
    case PRIM_SUB:
        hand_back(r, a, g);
        hand_back(r, b, op_node(r, PRIM_NEG, g, 0));
        break;
    case PRIM_MUL:
        hand_back(r, a, op_node(r, PRIM_MUL, g, b));
        hand_back(r, b, op_node(r, PRIM_MUL, g, a));
        break;
    case PRIM_DIV:
        hand_back(r, a, op_node(r, PRIM_DIV, g, b));
        hand_back(r, b, op_node(r, PRIM_NEG, op_node(r, PRIM_MUL, g, op_node(r, PRIM_DIV, y, b)), 0));
        break;
    case PRIM_MOD:
        hand_back(r, a, g);
        hand_back(r, b, op_node(r, PRIM_NEG, op_node(r, PRIM_MUL, g, op_node(r, PRIM_FLOORDIV, a, b)), 0));
        break;
    case PRIM_POW:
        reverse_power(r, a, b, y, g);
        break;
    case PRIM_COPYSIGN: /* y has the sign of a, or the other one */
        hand_back(r, a, signed_node(r, a, signed_node(r, y, g)));
        break;
    case PRIM_MIN:
        hand_back(r, a, chosen(r, PRIM_GT, a, b, g));
        hand_back(r, b, chosen(r, PRIM_GT, b, a, g));
        break;
    case PRIM_MAX:
        hand_back(r, a, chosen(r, PRIM_LT, a, b, g));
        hand_back(r, b, chosen(r, PRIM_LT, b, a, g));
        break;
    default: /* what has steps alone */
        break;
    }
}

/* The gradient of `a`, where y = f(a) has the gradient g; -1: none. */
static int reverse_function(struct reverse *r, enum prim prim, int a, int y, int g)
{
    switch (prim) {
    case PRIM_NEG:
        return op_node(r, PRIM_NEG, g, 0);
    case PRIM_EXP:
    case PRIM_EXP_UP:
    case PRIM_EXP_DOWN:
        return op_node(r, PRIM_MUL, g, y);
    case PRIM_EXPM1:
        return op_node(r, PRIM_MUL, g, op_node(r, PRIM_ADD, y, number_node(r, 1)));
    case PRIM_LOG:
        return op_node(r, PRIM_DIV, g, a);
    case PRIM_LOG1P:
        return op_node(r, PRIM_DIV, g, op_node(r, PRIM_ADD, a, number_node(r, 1)));
    case PRIM_TANH:
        return op_node(r, PRIM_MUL, g, op_node(r, PRIM_SUB, number_node(r, 1), op_node(r, PRIM_MUL, y, y)));
    case PRIM_ERF:
        return op_node(r, PRIM_MUL, op_node(r, PRIM_MUL, g, number_node(r, 1.12837916709551257390)),
                       op_node(r, PRIM_EXP, op_node(r, PRIM_NEG, op_node(r, PRIM_MUL, a, a), 0), 0));
    case PRIM_SQRT:
        return op_node(r, PRIM_DIV, g, op_node(r, PRIM_MUL, number_node(r, 2), y));
    case PRIM_RSQRT:
        return op_node(r, PRIM_MUL, op_node(r, PRIM_MUL, g, number_node(r, -0.5)),
                       op_node(r, PRIM_MUL, op_node(r, PRIM_MUL, y, y), y));
    case PRIM_SIN:
        return op_node(r, PRIM_MUL, g, op_node(r, PRIM_COS, a, 0));
    case PRIM_COS:
        return op_node(r, PRIM_NEG, op_node(r, PRIM_MUL, g, op_node(r, PRIM_SIN, a, 0)), 0);
    default: /* constants, and what has steps alone */
        return -1;
    }
}

/* Hands g, the gradient of node y, back to its arguments. */
static void reverse_node(struct reverse *r, int y, int g)
{
    const struct dag_node node = r->dag->nodes[y];
    int a = node.args[0], b = node.args[1], c = node.args[2], gradient;

    r->dtype = node.dtype;
    if (node.prim == PRIM_CAST) {
        hand_back(r, a, g);
    } else if (node.prim == PRIM_ABS) {
        hand_back(r, a, signed_node(r, a, g));
    } else if (node.prim == PRIM_SELECT) {
        hand_back(r, b, select_node(r, a, g, number_node(r, 0)));
        hand_back(r, c, select_node(r, a, number_node(r, 0), g));
    } else if (prim_rows[node.prim].arity == 2) {
        reverse_binary(r, node.prim, a, b, y, g);
    } else if (prim_rows[node.prim].arity == 1) {
        gradient = reverse_function(r, node.prim, a, y, g);
        if (gradient >= 0)
            hand_back(r, a, gradient);
    }
}

struct dag *dag_gradient(struct arena *arena, const struct dag *dag, int input)
{
    struct reverse r = {.arena = arena, .dag = dag_new(arena, dag->input_count + 1)};
    int g, load = -1, count = dag->result + 1;

    r.sum = ARENA_ARRAY(arena, count, int);
    for (int i = 0; i < count; i++) {
        /* by the same numbers as in dag */
        ARENA_PUSH_ROOM(arena, r.dag->nodes, r.dag->count, r.dag->room, dag->nodes[i]);
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
