/* plan_dag.c - see plan_dag.h. */
#include "plan/plan_dag.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

bool *dag_needed(struct arena *arena, const struct dag *dag)
{
    bool *needed = ARENA_ARRAY(arena, dag->count, bool);

    needed[dag->result] = true;
    for (int i = dag->count - 1; i >= 0; i--)
        for (int j = 0; needed[i] && j < prim_rows[dag->nodes[i].prim].arity; j++)
            needed[dag->nodes[i].args[j]] = true;
    return needed;
}

enum dtype dag_input_type(const struct dag *dag, int input, enum dtype otherwise)
{
    for (int i = 0; i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_LOAD && dag->nodes[i].input == input)
            return dag->nodes[i].dtype;
    return otherwise;
}

int dag_mark_sizes(const struct dag *dag, bool *used)
{
    struct arena arena = {0};
    const bool *needed;
    int first = 0, count = 0;

    while (first < dag->count && dag->nodes[first].prim != PRIM_DIM)
        first++;
    if (first == dag->count)
        return 0;
    needed = dag_needed(&arena, dag);
    for (int i = first; i < dag->count; i++)
        if (needed[i] && dag->nodes[i].prim == PRIM_DIM)
            count += dim_mark_sizes(dag->nodes[i].dim, used);
    arena_free(&arena);
    return count;
}

/* A normalised copy. */
struct nest nest_normal(struct arena *arena, struct nest nest)
{
    struct nest_operand *operands = ARENA_ARRAY(arena, nest.operand_count, struct nest_operand);

    memcpy(operands, nest.operands, (size_t)nest.operand_count * sizeof *operands);
    nest.operands = operands;
    nest_normalise(arena, &nest);
    return nest;
}

int nest_mark_sizes(struct arena *arena, struct nest nest, bool *used)
{
    int count = 0;

    nest = nest_normal(arena, nest);
    for (int i = 0; i < nest.ndim; i++) {
        count += dim_mark_sizes(nest.dims[i], used);
        for (int j = 0; j < nest.operand_count; j++)
            count += dim_mark_sizes(nest.operands[j].strides[i], used);
    }
    return count;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

bool dag_is_shared(const struct dag *dag)
{
    int uses[256] = {0};

    for (int i = 0; i < dag->count && dag->count <= 256; i++) {
        const struct dag_node *node = &dag->nodes[i];

        for (int a = 0; a < prim_rows[node->prim].arity; a++)
            uses[node->args[a]]++;
    }
    for (int i = 0; i < dag->count && dag->count <= 256; i++) {
        enum prim prim = dag->nodes[i].prim;

        if (uses[i] > 1 && prim != PRIM_CONST && prim != PRIM_DIM)
            return true;
    }
    return false;
}

/* Node `a` of one and `b` of the other; `found`: of each node of the first, the equal one of the second and 1. */
static bool same_nodes(const struct dag *one, int a, const struct dag *other, int b, int *found)
{
    const struct dag_node *x = &one->nodes[a], *y = &other->nodes[b];

    if (found[a] > 0)
        return found[a] == b + 1;
    if (x->prim != y->prim || x->dtype != y->dtype || (x->prim == PRIM_LOAD && x->input != y->input) ||
        (x->prim == PRIM_CONST &&
         (memcmp(&x->number, &y->number, sizeof x->number) != 0 || x->integer != y->integer)) ||
        (x->prim == PRIM_DIM && !dim_equal(x->dim, y->dim)))
        return false;
    for (int i = 0; i < prim_rows[x->prim].arity; i++)
        if (!same_nodes(one, x->args[i], other, y->args[i], found))
            return false;
    found[a] = b + 1;
    return true;
}

bool dag_same(const struct dag *a, const struct dag *b)
{
    struct arena arena = {0};
    bool same;

    if (a == b)
        return true;
    if (a->input_count != b->input_count)
        return false;
    same = same_nodes(a, a->result, b, b->result, ARENA_ARRAY(&arena, a->count, int));
    arena_free(&arena);
    return same;
}

void dag_uniform(const struct dag *dag, const bool *scalars, bool *uniform)
{
    for (int i = 0; i < dag->count; i++) {
        const struct dag_node *node = &dag->nodes[i];

        uniform[i] = node->prim != PRIM_LOAD || (scalars && scalars[node->input]);
        for (int j = 0; j < prim_rows[node->prim].arity; j++)
            uniform[i] = uniform[i] && uniform[node->args[j]];
    }
}

/* ---- what vectors can do ------------------------------------------------------------------------------ */

struct lanes {
    const struct dag *dag;
    enum dtype lanes;
    bool *uniform; /* by node */
};

static const struct dag_node *argument(const struct dag *dag, const struct dag_node *node, int i)
{
    return &dag->nodes[node->args[i]];
}

/* Whether a node that is not uniform has vector text, given that its arguments have. */
static bool node_vectorises(const struct lanes *p, const struct dag_node *node)
{
    bool wide = p->lanes == DTYPE_FLOAT64;
    int arity = prim_rows[node->prim].arity;

    if (node->dtype != p->lanes && node->dtype != DTYPE_BOOL)
        return false;
    for (int i = 0; i < arity; i++) {
        enum dtype dtype = argument(p->dag, node, i)->dtype;
        bool scalar_condition = node->prim == PRIM_SELECT && i == 0;

        if (dtype != p->lanes && dtype != DTYPE_BOOL)
            return false;
        if (dtype == DTYPE_BOOL && p->uniform[node->args[i]] && !scalar_condition)
            return false;
    }
    switch (node->prim) {
    case PRIM_LOAD:
        return node->dtype == p->lanes;
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_XOR:
    case PRIM_NOT:
        return node->dtype == DTYPE_BOOL;
    case PRIM_EQ:
    case PRIM_NE:
    case PRIM_LT:
    case PRIM_LE:
    case PRIM_GT:
    case PRIM_GE:
    case PRIM_ISNAN:
        return argument(p->dag, node, 0)->dtype == p->lanes;
    case PRIM_CAST:
        return node->dtype != argument(p->dag, node, 0)->dtype;
    case PRIM_SELECT:
    case PRIM_ADD:
    case PRIM_SUB:
    case PRIM_MUL:
    case PRIM_DIV:
    case PRIM_MIN:
    case PRIM_MAX:
    case PRIM_NEG:
    case PRIM_ABS:
    case PRIM_COPYSIGN:
    case PRIM_SQRT:
    case PRIM_RSQRT:
        return node->dtype == p->lanes;
    case PRIM_AS_FLOAT16:
    case PRIM_AS_BFLOAT16:
    case PRIM_FLOOR:
    case PRIM_MOD:
    case PRIM_FLOORDIV:
        return !wide;
    default:
        return prim_is_long(node->prim) && !prim_is_special(node->prim) && !wide;
    }
}

bool dag_vectorises(const struct dag *dag, enum dtype *lanes)
{
    struct arena arena = {0};
    struct lanes own = {.dag = dag, .lanes = dag->nodes[dag->result].dtype};
    const bool *needed = dag_needed(&arena, dag);
    bool result = own.lanes == DTYPE_FLOAT32 || own.lanes == DTYPE_FLOAT64;

    *lanes = own.lanes;
    own.uniform = ARENA_ARRAY(&arena, dag->count, bool);
    dag_uniform(dag, NULL, own.uniform);
    for (int i = 0; i < dag->count; i++)
        if (needed[i] && !own.uniform[i])
            result = result && node_vectorises(&own, &dag->nodes[i]);
    arena_free(&arena);
    return result;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

const char *expr_number(struct cx *cx, enum dtype dtype, double number, int64_t integer)
{
    bool single = dtype != DTYPE_FLOAT64;
    struct text text = text_new(&cx->arena);
    char digits[40];
    size_t mantissa;

    if (dtype == DTYPE_BOOL)
        return integer ? "true" : "false";
    if (dtype_is_int(dtype)) {
        if (integer == INT64_MIN || integer == INT32_MIN)
            return integer == INT64_MIN ? "INT64_MIN" : "INT32_MIN";
        return arena_format(&cx->arena, "%" PRId64, integer);
    }
    number = dtype_round(dtype, number);
    if (isnan(number))
        return single ? "modc_f32_nan()" : "modc_f64_nan()";
    if (isinf(number))
        return arena_format(&cx->arena, "%smodc_f%d_inf()", number < 0 ? "-" : "", single ? 32 : 64);
    if (!single) {
        text_double(&text, number);
        return text.data;
    }
    snprintf(digits, sizeof digits, "%.9g", number);
    mantissa = strcspn(digits, "e");
    return arena_format(&cx->arena, "%.*s%s%sf", (int)mantissa, digits, strchr(digits, '.') ? "" : ".0",
                        digits + mantissa);
}
