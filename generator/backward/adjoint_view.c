/* adjoint_view.c - gradients of views, and of writes to state. */
#include <assert.h>

#include "backward/adjoint_rows.h"
#include "functions/rows.h"

/* Which elements along its axis a slice shows. */
static struct value *shown(const struct adjoint *a, struct op *slice)
{
    return adjoint_run(a, slice, "return torch.arange(n) * step + start",
                       (struct adjoint_name[]){{"n", NULL, slice->outputs[0]->dims[slice->view.axis]},
                                               {"step", NULL, slice->view.step},
                                               {"start", NULL, slice->view.start},
                                               {NULL, NULL, NULL}});
}

/* A slice with a step is every so many elements of the whole. */
static void slice_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    struct value *x = op->inputs[0];
    int axis = op->view.axis;
    int64_t step;

    if (dim_equals(op->view.step, 1)) {
        a->give_part(a, x, axis, op->view.start, op->outputs[0]->dims[axis], g);
        return;
    }
    if (dim_is_const(op->view.step, &step) && step == -1 && dim_equal(x->dims[axis], g->dims[axis])) {
        a->give(a, x, build_flip(eval, op->loc, g, axis));
        return;
    }
    a->give(a, x,
            build_scatter_inside(eval, op->loc, "dslice", adjoint_zeros_like(a, x), axis, shown(a, op), g,
                                 PRIM_LOAD, false));
}

static void window_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];
    int axis = op->view.axis, perm[MAX_DIMS], stride, dilation, before = 0;
    int64_t step = 0, apart = 0;

    dim_is_const(op->view.step, &step);
    dim_is_const(op->view.dilation, &apart);
    stride = (int)step;
    dilation = (int)apart;
    for (int i = 0; i < g->ndim; i++) /* the elements of a window behind the windows */
        perm[i] = i <= axis ? i : i == axis + 1 ? g->ndim - 1 : i - 1;
    g = build_permute(a->eval, op->loc, g, perm);
    a->give(a, x, sum_windows(a->eval, op->loc, g, axis, 1, &stride, &dilation, &before, &x->dims[axis]));
}

static void give_view(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];
    int back[MAX_DIMS];

    if (op->view.detached)
        return;
    switch (op->view.kind) {
    case VIEW_PERMUTE:
        for (int i = 0; i < x->ndim; i++)
            back[op->view.perm[i]] = i;
        a->give(a, x, build_permute(a->eval, op->loc, g, back));
        break;
    case VIEW_SLICE:
        slice_adjoint(a, op, g);
        break;
    case VIEW_EXPAND:
        a->give(a, x, adjoint_sum_to(a, x, g));
        break;
    case VIEW_RESHAPE:
        a->give(a, x, build_reshape(a->eval, op->loc, g, x->ndim, x->dims));
        break;
    case VIEW_WINDOW:
        window_adjoint(a, op, g);
        break;
    }
}

const struct adjoint_row view_adjoint = {.one = give_view};

/* The view of a tensor as one of another of the same dims. */
static struct value *same_view(const struct adjoint *a, struct value *view, const struct value *root,
                               struct value *other)
{
    struct value *input;
    struct op *op;

    if (view == root)
        return other;
    input = same_view(a, view->op->inputs[0], root, other);
    op = op_new(a->eval, GRAPH_OP_VIEW, view->op->label, &input, 1);
    op->view = view->op->view;
    op->loc = view->op->loc;
    graph_value(a->eval->graph, op, other->dtype, view->ndim, view->dims);
    graph_append(a->eval->graph, op);
    return op->outputs[0];
}

/* g with other elements where a slice shows it. */
static struct value *put_slice(const struct adjoint *a, struct op *slice, struct value *g,
                               struct value *other)
{
    struct arena *arena = &a->eval->cx->arena;
    int axis = slice->view.axis, count = 0;
    const struct dim *start = slice->view.start, *end = dim_add(arena, start, other->dims[axis]);
    const struct dim *behind = dim_sub(arena, g->dims[axis], end), *one = adjoint_number(a, 1);
    struct value *pieces[3];

    if (!dim_equals(slice->view.step, 1))
        return build_scatter_inside(a->eval, slice->loc, "put", g, axis, shown(a, slice), other, PRIM_LOAD,
                                    false);
    if (!dim_equals(start, 0))
        pieces[count++] = build_slice(a->eval, slice->loc, g, axis, adjoint_number(a, 0), one, start);
    pieces[count++] = other;
    if (!dim_equals(behind, 0))
        pieces[count++] = build_slice(a->eval, slice->loc, g, axis, end, one, behind);
    return build_concat(a->eval, slice->loc, "concat", pieces, count, axis);
}

/* g, of root's dims, with other elements where the view shows root. Indices make slices, and reshapes that drop or add ones. */
static struct value *put_seen(const struct adjoint *a, struct value *view, struct value *root,
                              struct value *g, struct value *other)
{
    struct op *op = view->op;

    if (view == root)
        return other;
    assert(op->view.kind == VIEW_SLICE || op->view.kind == VIEW_RESHAPE);
    if (op->view.kind == VIEW_SLICE)
        other = put_slice(a, op, same_view(a, op->inputs[0], root, g), other);
    else
        other = build_reshape(a->eval, op->loc, other, op->inputs[0]->ndim, op->inputs[0]->dims);
    return put_seen(a, op->inputs[0], root, g, other);
}

/* A layer that writes running statistics, or as embedding does a parameter, does so beside the gradients' way. What is written
 * over in state gets nothing; what stays, its own. */
static void give_write(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *slot = op->inputs[0], *target = op->inputs[1];

    assert(dag_is_identity(op->dag));
    if (op->write.detached) {
        a->give(a, slot, g);
        return;
    }
    if (a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], adjoint_sum_to(a, op->inputs[2], same_view(a, target, slot, g)));
    if (target != slot && a->wants(a, slot))
        a->give(a, slot, put_seen(a, target, slot, g, adjoint_zeros_like(a, target)));
}

const struct adjoint_row write_adjoint = {.one = give_write};
