/* adjoint_map.c - gradients of maps, and of reductions. */
#include <assert.h>
#include <string.h>

#include "backward/adjoint_rows.h"

/* A map of the loads that the dag has, of all these values. */
static struct value *map_of(const struct adjoint *a, const struct op *op, struct dag *dag,
                            struct value *const *values, int count)
{
    struct arena *arena = &a->eval->cx->arena;
    const bool *loads;
    struct dag *own = dag_new(arena, count);
    struct value **read = ARENA_ARRAY(arena, count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, count + 1, int), used = 0;

    dag->input_count = count;
    loads = dag_loads(arena, dag);
    for (int i = 0; i < count; i++) {
        if (!loads[i])
            continue;
        nodes[i] = dag_load(arena, own, used, values[i]->dtype);
        read[used++] = values[i];
    }
    own->result = dag_inline(arena, own, dag, nodes);
    own->input_count = used;
    if (used == 1 && dag_is_identity(own))
        return read[0];
    return build_map(a->eval, op->loc, arena_format(arena, "d%s", op->label), own, read, used);
}

static void give_map(const struct adjoint *a, struct op *op, struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    int count = op->input_count;
    struct value **values = ARENA_ARRAY(arena, count + 2, struct value *);

    memcpy(values, op->inputs, (size_t)count * sizeof *values);
    for (int i = 0; i < count; i++) {
        struct dag *dag;

        if (!a->wants(a, op->inputs[i]))
            continue;
        dag = op->gradients ? op->gradients[i] : dag_gradient(arena, op->dag, i);
        values[count] = op->gradients ? op->outputs[0] : g;
        values[count + 1] = g;
        if (dag && dag->nodes[dag->result].prim != PRIM_CONST)
            a->give(a, op->inputs[i],
                    adjoint_sum_to(a, op->inputs[i],
                                   map_of(a, op, dag, values, count + (op->gradients ? 2 : 1))));
        else /* steps alone: there is a gradient, which is 0 */
            a->give(a, op->inputs[i], adjoint_zeros_like(a, op->inputs[i]));
    }
}

const struct adjoint_row map_adjoint = {.one = give_map};

/* ---- reductions ----------------------------------------------------------------------------------------------- */

/* g, which lacks the axes that were reduced, with the dims of x. */
static struct value *spread(const struct adjoint *a, const struct op *op, struct value *g,
                            const struct value *x, bool expand)
{
    const struct dim *dims[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        dims[i] = op->reduce.axes[i] ? adjoint_number(a, 1) : x->dims[i];
    g = build_reshape(a->eval, op->loc, g, x->ndim, dims);
    return expand ? build_expand(a->eval, op->loc, g, x->ndim, x->dims) : g;
}

/* x with its reduced axes behind the others, as one. */
static struct value *reduced_last(const struct adjoint *a, const struct op *op, struct value *x, int *perm)
{
    const struct dim *dims[MAX_DIMS], *length = adjoint_number(a, 1);
    int n = 0;

    for (int i = 0; i < x->ndim; i++)
        if (!op->reduce.axes[i])
            perm[n++] = i;
    for (int i = 0, k = n; i < x->ndim; i++) {
        if (!op->reduce.axes[i])
            continue;
        perm[k++] = i;
        length = dim_mul(&a->eval->cx->arena, length, x->dims[i]);
    }
    for (int i = 0; i < n; i++)
        dims[i] = x->dims[perm[i]];
    dims[n] = length;
    return build_reshape(a->eval, op->loc, build_permute(a->eval, op->loc, x, perm), n + 1, dims);
}

/* Each element gets the product of all others, which is right where some are 0. */
static struct value *product_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *flat;
    const struct dim *dims[MAX_DIMS];
    int perm[MAX_DIMS], back[MAX_DIMS];

    flat = reduced_last(a, op, x, perm);
    g = build_reshape(a->eval, op->loc, g, flat->ndim - 1, flat->dims);
    flat = adjoint_run(a, op,
                       "one = torch.ones_like(x[..., :1])\n"
                       "before = torch.cat([one, x[..., :-1]], -1).cumprod(-1)\n"
                       "behind = torch.cat([one, x[..., 1:].flip(-1)], -1).cumprod(-1).flip(-1)\n"
                       "return g.unsqueeze(-1) * before * behind",
                       (struct adjoint_name[]){{"x", flat, NULL}, {"g", g, NULL}, {NULL, NULL, NULL}});
    for (int i = 0; i < x->ndim; i++) {
        dims[i] = x->dims[perm[i]];
        back[perm[i]] = i;
    }
    return build_permute(a->eval, op->loc, build_reshape(a->eval, op->loc, flat, x->ndim, dims), back);
}

static void give_reduce(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *same;

    assert(!op->head && !op->tail);
    switch (op->reduce.kind) {
    case REDUCE_SUM:
        a->give(a, x, spread(a, op, g, x, true));
        break;
    case REDUCE_PROD:
        a->give(a, x, product_gradient(a, op, g));
        break;
    case REDUCE_MAX:
    case REDUCE_MIN: /* in equal parts to all that are as large */
        same = adjoint_same(a, x, spread(a, op, op->outputs[0], x, false), op->reduce.equal_nans);
        a->give(a, x,
                adjoint_run(
                    a, op, "return g / n * same",
                    (struct adjoint_name[]){
                        {"same", same, NULL},
                        {"n", build_reduce(a->eval, op->loc, same, REDUCE_SUM, op->reduce.axes, true), NULL},
                        {"g", spread(a, op, g, x, false), NULL},
                        {NULL, NULL, NULL}}));
        break;
    default:
        break;
    }
}

const struct adjoint_row reduce_adjoint = {.one = give_reduce};

/* It reads nothing. */
const struct adjoint_row random_adjoint = {0};
