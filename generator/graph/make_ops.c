/* make_ops.c - one function for each op with attributes that several rooms make. */
#include <assert.h>
#include <string.h>

#include "graph/make.h"

/* ---- views ------------------------------------------------------------------------------------------------------ */

static struct op *view_op(struct site site, enum view_kind kind, struct value *value)
{
    static const char *const labels[] = {"permute", "slice", "expand", "reshape", "window"};
    struct op *op = make_op(site, GRAPH_OP_VIEW, labels[kind], &value, 1);

    op->view.kind = kind;
    return op;
}

/* Passes look through a view of the same kind, and stand by what it shows; what lowering makes stays as the spec says it. */
static bool is_seen_through(struct site *site, const struct value *value, enum view_kind kind)
{
    if (site->lowers || value->op->code != GRAPH_OP_VIEW || value->op->view.kind != kind)
        return false;
    *site = site_by(site->graph, site->at, value->op->inputs[0]->op);
    return true;
}

struct value *make_permute(struct site site, struct value *value, const int *perm)
{
    const struct dim *dims[MAX_DIMS];
    int axes[MAX_DIMS];
    bool same = true;
    struct op *op;

    for (int i = 0; i < value->ndim; i++) {
        same &= perm[i] == i;
        axes[i] = perm[i];
    }
    if (same)
        return value;
    if (is_seen_through(&site, value, VIEW_PERMUTE)) {
        for (int i = 0; i < value->ndim; i++)
            axes[i] = value->op->view.perm[perm[i]];
        return make_permute(site, value->op->inputs[0], axes);
    }
    op = view_op(site, VIEW_PERMUTE, value);
    for (int i = 0; i < value->ndim; i++) {
        op->view.perm[i] = axes[i];
        dims[i] = value->dims[axes[i]];
    }
    return make_view(site, op, value->ndim, dims);
}

struct value *make_slice(struct site site, struct value *value, int axis, const struct dim *start,
                         const struct dim *step, const struct dim *length)
{
    const struct dim *dims[MAX_DIMS];
    struct op *op;

    if (dim_equals(start, 0) && dim_equals(step, 1) && dim_equal(length, value->dims[axis]))
        return value;
    op = view_op(site, VIEW_SLICE, value);
    memcpy(dims, value->dims, sizeof dims);
    dims[axis] = length;
    op->view.axis = axis;
    op->view.start = start;
    op->view.step = step;
    return make_view(site, op, value->ndim, dims);
}

static bool has_dims(const struct value *value, int ndim, const struct dim *const *dims)
{
    bool same = value->ndim == ndim;

    for (int i = 0; same && i < ndim; i++)
        same = dim_equal(value->dims[i], dims[i]);
    return same;
}

struct value *make_reshape(struct site site, struct value *value, int ndim, const struct dim *const *dims)
{
    if (has_dims(value, ndim, dims))
        return value;
    if (is_seen_through(&site, value, VIEW_RESHAPE))
        return make_reshape(site, value->op->inputs[0], ndim, dims);
    return make_view(site, view_op(site, VIEW_RESHAPE, value), ndim, dims);
}

struct value *make_expand(struct site site, struct value *value, int ndim, const struct dim *const *dims)
{
    if (has_dims(value, ndim, dims))
        return value;
    return make_view(site, view_op(site, VIEW_EXPAND, value), ndim, dims);
}

struct value *make_flip(struct site site, struct value *value, int axis)
{
    struct arena *arena = &site.cx->arena;
    const struct dim *length = value->dims[axis];

    if (dim_upper(length) <= 1)
        return value;
    return make_slice(site, value, axis, dim_sub(arena, length, dim_const(arena, 1)), dim_const(arena, -1),
                      length);
}

struct value *make_window(struct site site, struct value *value, int axis, int64_t size, int64_t step,
                          int64_t dilation)
{
    struct arena *arena = &site.cx->arena;
    const struct dim *dims[MAX_DIMS + 1], *rest;
    struct op *op = view_op(site, VIEW_WINDOW, value);

    assert(size >= 0 && step > 0 && dilation > 0 && value->ndim < MAX_DIMS);
    rest = dim_sub(arena, value->dims[axis], dim_const(arena, size > 0 ? (size - 1) * dilation + 1 : 0));
    if (site.graph)
        graph_need(site.graph, (struct need){.dim = rest});
    memcpy(dims, value->dims, (size_t)value->ndim * sizeof *dims);
    dims[axis] = dim_add(arena, dim_floordiv(arena, rest, dim_const(arena, step)), dim_const(arena, 1));
    dims[value->ndim] = dim_const(arena, size);
    op->view.axis = axis;
    op->view.step = dim_const(arena, step);
    op->view.dilation = dim_const(arena, dilation);
    return make_view(site, op, value->ndim + 1, dims);
}

/* ---- joins, reductions, order ----------------------------------------------------------------------------------- */

struct value *make_concat(struct site site, const char *label, struct value *const *values, int count,
                          int axis)
{
    struct op *op;

    if (count == 1)
        return values[0];
    op = make_op(site, GRAPH_OP_CONCAT, label, values, count);
    op->concat.axis = axis;
    return make_result(site, op);
}

struct value *make_reduce(struct site site, struct value *value, enum reduce_kind kind, const bool *axes,
                          bool keepdim)
{
    static const char *const labels[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
    struct op *op;

    if (kind == REDUCE_SUM || kind == REDUCE_PROD)
        value = dtype_is_float(value->dtype) ? value : make_cast(site, value, DTYPE_INT64);
    if (kind == REDUCE_ANY || kind == REDUCE_ALL)
        value = make_cast(site, value, DTYPE_BOOL);
    if (!value)
        return NULL;
    op = make_op(site, GRAPH_OP_REDUCE, labels[kind], &value, 1);
    op->reduce.kind = kind;
    op->reduce.keepdim = keepdim;
    memcpy(op->reduce.axes, axes, sizeof op->reduce.axes);
    return make_result(site, op);
}

struct value *make_argsort(struct site site, struct value *x, int axis, bool descending)
{
    struct op *op = make_op(site, GRAPH_OP_SORT, "argsort", &x, 1);

    assert(x->ndim > 0);
    op->sort.axis = axis;
    op->sort.descending = descending;
    return make_result(site, op);
}

/* ---- places and scans ------------------------------------------------------------------------------------------- */

struct value *make_gather(struct site site, const char *label, struct value *x, int axis, struct value *index,
                          bool along)
{
    struct value *inputs[2] = {x, index};
    struct op *op = make_op(site, GRAPH_OP_GATHER, label, inputs, 2);

    op->gather.axis = axis;
    op->gather.along = along;
    return make_result(site, op);
}

struct value *make_scatter(struct site site, const char *label, struct value *x, int axis,
                           struct value *index, struct value *source, enum prim prim, bool along)
{
    struct arena *arena = &site.cx->arena;
    struct value *inputs[3] = {x, index, source};
    struct op *op = make_op(site, GRAPH_OP_SCATTER, label, inputs, 3);
    int held, comes;

    op->dag = dag_new(arena, 2);
    held = dag_load(arena, op->dag, 0, x->dtype);
    comes = dag_load(arena, op->dag, 1, x->dtype);
    op->dag->result = prim == PRIM_LOAD ? comes : dag_prim(arena, op->dag, prim, x->dtype, held, comes, -1);
    op->scatter.axis = axis;
    op->scatter.along = along;
    return make_result(site, op);
}

struct value *make_scan(struct site site, struct value *x, int axis, enum scan_kind kind, bool reverse)
{
    struct arena *arena = &site.cx->arena;
    struct op *op;
    int before, comes;

    if (!dtype_is_float(x->dtype))
        x = make_cast(site, x, DTYPE_INT64);
    if (!x || x->ndim == 0)
        return x;
    op = make_op(site, GRAPH_OP_SCAN, kind == SCAN_PRODUCT ? "cumprod" : "cumsum", &x, 1);
    op->scan.axis = axis;
    op->scan.kind = kind;
    op->scan.reverse = reverse;
    op->dag = dag_new(arena, 2);
    before = dag_load(arena, op->dag, 0, x->dtype);
    comes = dag_load(arena, op->dag, 1, x->dtype);
    op->dag->result = dag_prim(arena, op->dag, kind == SCAN_PRODUCT ? PRIM_MUL : PRIM_ADD, x->dtype, before,
                               comes, -1);
    return make_result(site, op);
}

struct value *make_largest(struct site site, struct value *first, struct value *x, int axis)
{
    struct arena *arena = &site.cx->arena;
    struct op *op = make_op(site, GRAPH_OP_SCAN, "cummax", (struct value *[]){first, x}, 2);
    int before, comes;

    op->scan.axis = axis;
    op->scan.kind = SCAN_LARGEST;
    op->scan.given = true;
    op->dag = dag_new(arena, 2);
    before = dag_load(arena, op->dag, 0, x->dtype);
    comes = dag_load(arena, op->dag, 1, x->dtype);
    op->dag->result = dag_prim(arena, op->dag, PRIM_MAX, x->dtype, before, comes, -1);
    return make_result(site, op);
}

struct value *make_decayed(struct site site, struct value *before, struct value *x, struct value *cut,
                           struct value *factor, double number, int axis, bool reverse)
{
    struct arena *arena = &site.cx->arena;
    struct value *inputs[4] = {before, x, cut, factor};
    struct op *op = make_op(site, GRAPH_OP_SCAN, "decayed_sum", before ? inputs : inputs + 1,
                            2 + (before != NULL) + (factor != NULL));
    struct dag *dag = dag_new(arena, factor ? 4 : 3);
    int held = dag_load(arena, dag, 0, x->dtype), comes = dag_load(arena, dag, 1, x->dtype),
        none = dag_load(arena, dag, 2, DTYPE_BOOL);
    int scale = factor ? dag_load(arena, dag, 3, x->dtype) : dag_const(arena, dag, x->dtype, number);
    int left = dag_prim(arena, dag, PRIM_MUL, x->dtype, scale, held, -1);

    left = dag_prim(arena, dag, PRIM_SELECT, x->dtype, none, dag_const(arena, dag, x->dtype, 0), left);
    dag->result = dag_prim(arena, dag, PRIM_ADD, x->dtype, comes, left, -1);
    op->dag = dag;
    op->scan.axis = axis;
    op->scan.kind = SCAN_DECAYED;
    op->scan.reverse = reverse;
    op->scan.given = before != NULL;
    op->scan.factor = number;
    return make_result(site, op);
}
