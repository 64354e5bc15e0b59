/* adjoint_product.c - gradients of matrix products. */
#include "backward/adjoint_rows.h"

/* (..., m, n) as (..., n, m). */
static struct value *transposed(const struct adjoint *a, struct value *x)
{
    int perm[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        perm[i] = i < x->ndim - 2 ? i : 2 * x->ndim - 3 - i;
    return build_permute(a->eval, x->loc, x, perm);
}

static struct value *product(const struct adjoint *a, const struct op *op, struct value *x, struct value *y)
{
    struct value *inputs[2] = {x, y};
    struct op *own = op_new(a->eval, GRAPH_OP_CONTRACT, arena_format(&a->eval->cx->arena, "d%s", op->label),
                            inputs, 2);

    return build_op(a->eval, op->loc, own);
}

/* Of a matrix that is the transpose of another, as a Linear's weight is, the other's is made at once. */
static void give_matrix(const struct adjoint *a, struct op *op, struct value *x, struct value *y,
                        struct value *g)
{
    const struct op *view = y->op;
    bool turned = view->code == GRAPH_OP_VIEW && view->view.kind == VIEW_PERMUTE && y->ndim == 2 &&
                  view->view.perm[0] == 1;

    if (turned)
        a->give(a, view->inputs[0], product(a, op, transposed(a, g), x));
    else
        a->give(a, y, product(a, op, transposed(a, x), g));
}

static void give_contract(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *y = op->inputs[1];
    bool rows = x->ndim == 1;

    if (rows && y->ndim == 2) {
        x = adjoint_matrix(a, x);
        g = adjoint_matrix(a, g);
    }
    if (a->wants(a, op->inputs[0])) {
        struct value *dx = product(a, op, g, transposed(a, y));

        a->give(a, op->inputs[0],
                rows ? build_reshape(a->eval, op->loc, dx, 1, op->inputs[0]->dims)
                     : adjoint_sum_to(a, x, dx));
    }
    if (a->wants(a, y) && y->ndim == 2)
        give_matrix(a, op, adjoint_matrix(a, x), y, adjoint_matrix(a, g));
    else if (a->wants(a, y))
        a->give(a, y, adjoint_sum_to(a, y, product(a, op, transposed(a, x), g)));
    if (op->contract.bias && a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], adjoint_sum_to(a, op->inputs[2], adjoint_matrix(a, g)));
}

const struct adjoint_row contract_adjoint = {.one = give_contract};

/* Made of products and softmax when these have been differentiated. */
const struct adjoint_row attention_adjoint = {0};
