/* dag.c - builds, joins, compares and evaluates expression DAGs. Apart from the ops that carry them, because ops, passes and
 * the printers of kernels all speak this one language. */
#include "ops/dag.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/dag_parts.h"

/* ---- values ---- */

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

/* ---- building ---- */

struct dag *dag_new(struct arena *arena, int input_count)
{
    struct dag *dag = ARENA_NEW(arena, struct dag);

    dag->input_count = input_count;
    return dag;
}

bool dag_is_const(const struct dag *dag, int node)
{
    return dag->nodes[node].prim == PRIM_CONST;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

bool dag_is_number(const struct dag *dag, int index, double number)
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
           prim == PRIM_OR || prim == PRIM_XOR || prim == PRIM_GCD || prim == PRIM_MUL_HIGH;
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
    ARENA_PUSH_ROOM(arena, dag->nodes, dag->count, dag->room, node);
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
    if (node->prim == PRIM_BITS)
        return dtype_rows[node->dtype].bytes == dtype_rows[dag->nodes[node->args[0]].dtype].bytes;
    if (node->prim == PRIM_GCD && !dtype_is_int(node->dtype))
        return false;
    if ((node->prim == PRIM_MUL_HIGH || node->prim == PRIM_SHIFT_NEAR || node->prim == PRIM_RESCALE) &&
        node->dtype != DTYPE_INT32)
        return false;
    if (prim_is_comparison(node->prim) || node->prim == PRIM_ISNAN)
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
           dag_is_number(dag, node->args[1], 0);
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

    int simpler = arity > 0 ? dag_simplify(arena, dag, &node) : -1;

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

/* Room for an int of each node: in `few`, which has FEW of them and is cleared, if they are no more. */
enum { FEW = 128 };
static int *by_node(struct arena *arena, const struct dag *dag, int *few)
{
    if (dag->count > FEW)
        return ARENA_ARRAY(arena, dag->count, int);
    memset(few, 0, (size_t)dag->count * sizeof *few);
    return few;
}

static int *count_uses(const struct dag *dag, int *uses)
{
    uses[dag->result] = 1;
    for (int i = dag->result; i >= 0; i--)
        for (int k = 0; uses[i] > 0 && k < prim_rows[dag->nodes[i].prim].arity; k++)
            uses[dag->nodes[i].args[k]]++;
    return uses;
}

int *dag_count_uses(struct arena *arena, const struct dag *dag)
{
    return count_uses(dag, ARENA_ARRAY(arena, dag->count, int));
}

int dag_inline(struct arena *arena, struct dag *dag, const struct dag *from, const int *inputs)
{
    int few_uses[FEW], few_moved[FEW];
    const int *uses = count_uses(from, by_node(arena, from, few_uses));
    int *moved = by_node(arena, from, few_moved);

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
    int few_uses[FEW], few_moved[FEW];
    const int *uses = count_uses(dag, by_node(arena, dag, few_uses));
    int *moved = by_node(arena, dag, few_moved);
    struct dag_node *nodes = NULL;
    int count = 0, room = 0;

    for (int i = 0; i <= dag->result; i++) {
        struct dag_node node = dag->nodes[i];

        if (uses[i] == 0)
            continue;
        for (int k = 0; k < prim_rows[node.prim].arity; k++)
            node.args[k] = moved[node.args[k]];
        moved[i] = count;
        ARENA_PUSH_ROOM(arena, nodes, count, room, node);
    }
    dag->result = moved[dag->result];
    dag->nodes = nodes;
    dag->count = count;
    dag->room = room;
}

bool *dag_loads(struct arena *arena, const struct dag *dag)
{
    int few[FEW];
    const int *uses = count_uses(dag, by_node(arena, dag, few));
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

bool dag_is_zero(const struct dag *dag)
{
    const struct dag_node *node = &dag->nodes[dag->result];

    return node->prim == PRIM_CONST &&
           (dtype_is_float(node->dtype) ? node->number == 0 && !signbit(node->number) : node->integer == 0);
}
