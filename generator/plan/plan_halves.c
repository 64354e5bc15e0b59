/* plan_halves.c - see plan_halves.h. Apart from the passes, which compare the types of nodes with those of values. */
#include "plan/plan_halves.h"

#include <assert.h>

enum telling {
    ROUNDS_FIRST = 1,  /* input 0 is what an op has just computed: nobody has rounded it */
    ROUNDS_RESULT = 2, /* nobody stores the result, who would round it */
    ROUNDS_NOTHING = 4 /* all of it is within one function */
};

static bool has_halves(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (dtype_is_half(dag->nodes[i].dtype))
            return true;
    return false;
}

/* Of numbers of a half type it is one. */
static bool is_exact(enum prim prim)
{
    return prim == PRIM_SELECT || prim == PRIM_MIN || prim == PRIM_MAX || prim == PRIM_NEG ||
           prim == PRIM_ABS || prim == PRIM_COPYSIGN || prim == PRIM_FLOOR;
}

static enum prim rounding(enum dtype half)
{
    return half == DTYPE_FLOAT16 ? PRIM_AS_FLOAT16 : PRIM_AS_BFLOAT16;
}

static int rounded(struct arena *arena, struct dag *dag, int node, enum dtype half, int telling)
{
    return telling & ROUNDS_NOTHING ? node : dag_prim(arena, dag, rounding(half), DTYPE_FLOAT32, node, 0, 0);
}

/* A node of a half type over operands that are told already. */
static int told_half(struct arena *arena, struct dag *dag, struct dag_node node, int telling)
{
    const enum dtype half = node.dtype;
    bool exact = is_exact(node.prim);
    int made;

    node.dtype = DTYPE_FLOAT32;
    assert(node.prim != PRIM_BITS && "view refuses it");
    if (node.prim == PRIM_LOAD)
        exact = !(telling & ROUNDS_FIRST) || node.input > 0;
    else if (node.prim == PRIM_CONST)
        exact = true;
    if (node.prim == PRIM_CAST)
        made = dag_cast(arena, dag, node.args[0], DTYPE_FLOAT32);
    else
        made = dag_add(arena, dag, node);
    return exact ? made : rounded(arena, dag, made, half, telling);
}

static struct dag *tell(struct arena *arena, const struct dag *own, int telling)
{
    const enum dtype result = own->nodes[own->result].dtype;
    int *moved = ARENA_ARRAY(arena, own->count, int);
    struct dag *dag = dag_new(arena, own->input_count);

    for (int i = 0; i <= own->result; i++) {
        struct dag_node node = own->nodes[i];

        for (int k = 0; k < prim_rows[node.prim].arity; k++)
            node.args[k] = moved[node.args[k]];
        moved[i] = dtype_is_half(node.dtype) ? told_half(arena, dag, node, telling)
                                             : dag_add(arena, dag, node);
    }
    dag->result = moved[own->result];
    if (dtype_is_half(result) && !(telling & ROUNDS_RESULT) &&
        dag->nodes[dag->result].prim == rounding(result))
        dag->result = dag->nodes[dag->result].args[0];
    dag_trim(arena, dag);
    return dag;
}

const struct dag *dag_told(struct arena *arena, const struct dag *dag)
{
    return has_halves(dag) ? tell(arena, dag, 0) : dag;
}

static void tell_part(struct arena *arena, struct dag **dag, int telling)
{
    if (has_halves(*dag))
        *dag = tell(arena, *dag, telling);
}

static void tell_ops(struct arena *arena, struct op *const *ops, int count)
{
    for (int i = 0; i < count; i++) {
        struct op *op = ops[i];

        /* A copy moves bytes. */
        if (op->dag && !dag_is_identity(op->dag))
            tell_part(arena, &op->dag, 0);
        tell_part(arena, &op->head, op_rows[op->code]->between ? ROUNDS_NOTHING : ROUNDS_RESULT);
        tell_part(arena, &op->tail, ROUNDS_FIRST);
    }
}

static void tell_graph(struct graph *graph, void *data)
{
    struct arena *arena = &graph->cx->arena;

    (void)data;
    tell_ops(arena, graph->ops, graph->op_count);
    tell_ops(arena, graph->pack_ops, graph->pack_count);
}

void plan_tell_halves(struct program *program)
{
    program_each_mode(program, tell_graph, NULL);
}
