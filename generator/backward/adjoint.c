/* adjoint.c - the table of how ops differentiate, and what its functions share. Gradients are made of the ops that there are, and
 * where that is shorter of statements, by the same evaluator that lowers the spec's: so passes and kernels know nothing of them.
 * The functions are in adjoint_<family>.c. */
#include "backward/adjoint.h"

#include <assert.h>

#include "backward/adjoint_rows.h"

/* ---- parts of several ops --------------------------------------------------------------------------------------- */

struct value *adjoint_run(const struct adjoint *a, struct op *op, const char *text,
                          const struct adjoint_name *names)
{
    struct eval *eval = a->eval;
    struct scope scope = {0};

    eval->at = op->loc;
    for (; names->name; names++)
        scope_bind(eval, &scope, names->name,
                   names->tensor ? ev_tensor(op->loc, names->tensor) : ev_dim(op->loc, names->dim));
    return eval_body(eval, &scope, text).tensor;
}

const struct dim *adjoint_number(const struct adjoint *a, int64_t number)
{
    return dim_const(&a->eval->cx->arena, number);
}

struct value *adjoint_zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
                            const struct dim *const *dims)
{
    struct ev zero = ev_float(loc, 0);
    struct value *value = build_cast(eval, loc, build_scalar(eval, loc, &zero), dtype);

    return build_expand(eval, loc, value, ndim, dims);
}

struct value *adjoint_zeros_like(const struct adjoint *a, const struct value *x)
{
    return adjoint_zeros(a->eval, x->loc, x->dtype, x->ndim, x->dims);
}

struct value *adjoint_sum(struct eval *eval, struct loc loc, struct value *a, struct value *b)
{
    struct dag *dag = dag_new(&eval->cx->arena, 2);
    struct value *both[2] = {a, b};

    dag->result = dag_prim(&eval->cx->arena, dag, PRIM_ADD, a->dtype,
                           dag_load(&eval->cx->arena, dag, 0, a->dtype),
                           dag_load(&eval->cx->arena, dag, 1, a->dtype), 0);
    return build_map(eval, loc, "add", dag, both, 2);
}

struct value *adjoint_sum_to(const struct adjoint *a, const struct value *x, struct value *g)
{
    bool axes[MAX_DIMS] = {false}, any = false;
    int lead = g->ndim - x->ndim;

    for (int i = 0; i < g->ndim; i++) {
        axes[i] = i < lead || (dim_equals(x->dims[i - lead], 1) && !dim_equals(g->dims[i], 1));
        any |= axes[i];
    }
    if (any)
        g = build_reduce(a->eval, g->loc, g, REDUCE_SUM, axes, false);
    return build_reshape(a->eval, g->loc, g, x->ndim, x->dims);
}

struct value *adjoint_same(const struct adjoint *a, struct value *x, struct value *y, bool equal_nans)
{
    return adjoint_run(a, y->op, equal_nans ? "return _same(x, y)" : "return (x == y).to(x.dtype)",
                       (struct adjoint_name[]){{"x", x, NULL}, {"y", y, NULL}, {NULL, NULL, NULL}});
}

struct value *adjoint_matrix(const struct adjoint *a, struct value *x)
{
    struct arena *arena = &a->eval->cx->arena;
    const struct dim *dims[2] = {adjoint_number(a, 1), x->dims[x->ndim - 1]};

    for (int i = 0; i < x->ndim - 1; i++)
        dims[0] = dim_mul(arena, dims[0], x->dims[i]);
    return build_reshape(a->eval, x->loc, x, 2, dims);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

#define ADJOINT(code, row) [GRAPH_OP_##code] = &row##_adjoint,
static const struct adjoint_row *const rows[GRAPH_OP_COUNT] = {OPS_COMPUTED(ADJOINT) ADJOINT(VIEW, view)};
#undef ADJOINT

void adjoint_give(const struct adjoint *adjoint, struct op *op, struct value *const *gradients)
{
    assert(rows[op->code] && (rows[op->code]->one || rows[op->code]->all));
    if (rows[op->code]->all)
        rows[op->code]->all(adjoint, op, gradients);
    else
        rows[op->code]->one(adjoint, op, gradients[0]);
}
