/* build_place.c - what takes and puts elements at places that are known while generating or checked in the call: indices, divisors,
 * masks that have to hold. */
#include "eval/eval.h"
#include "graph/graph.h"

bool build_arange_fits(struct eval *eval, struct loc loc, double length)
{
    if (length > EVAL_MAX_ARANGE)
        diag_error(eval->cx, loc, "arange gives at most %d elements", EVAL_MAX_ARANGE);
    else if (!(length >= 0))
        diag_error(eval->cx, loc, "arange: upper bound and lower bound inconsistent with step sign");
    return length >= 0 && length <= EVAL_MAX_ARANGE;
}

struct value *build_arange(struct eval *eval, struct loc loc, const struct dim *length)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *numbers = ARENA_NEW(arena, struct tensor);
    int64_t most = dim_upper(length);

    if (!build_arange_fits(eval, loc, (double)most))
        return NULL;
    numbers->dtype = DTYPE_INT64;
    numbers->ndim = 1;
    numbers->dims[0] = most;
    numbers->data = ARENA_ARRAY(arena, most + 1, union scalar);
    for (int64_t i = 0; i < most; i++)
        numbers->data[i].i = i;
    return build_slice(eval, loc, build_const(eval, loc, numbers), 0, dim_const(arena, 0),
                       dim_const(arena, 1), length);
}

/* The first element of a known tensor that is outside [lowest, end), or, for divisors, is 0; -1: there is none. */
static int64_t find_fault(const struct tensor *tensor, enum check_kind kind, int64_t lowest, int64_t end)
{
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        int64_t element = tensor->data[i].i;

        if (kind == CHECK_INDEX ? element < lowest || element >= end : element == 0)
            return i;
    }
    return -1;
}

static void add_check(struct eval *eval, struct loc loc, struct op *op)
{
    op->loc = loc;
    if (eval->graph)
        graph_append(eval->graph, op);
}

/* x // y and x % y check y once. */
static bool is_checked(const struct op *op)
{
    const struct value *value = op->inputs[0];

    for (int i = 0; i < value->user_count; i++)
        if (value->users[i]->code == GRAPH_OP_CHECK && value->users[i]->check.kind == op->check.kind)
            return true;
    return false;
}

/* The constant that a value is a part of, through views; or NULL. */
static const struct tensor *part_of(const struct value *value)
{
    while (!value->constant && value->op->code == GRAPH_OP_VIEW)
        value = value->op->inputs[0];
    return value->constant;
}

/* No element can be outside: all that it may be is known to fit. */
static bool index_fits(struct arena *arena, const struct value *index, const struct dim *extent,
                       bool negative)
{
    const struct tensor *whole = part_of(index);
    const struct dim *count = dim_const(arena, 1);
    const struct op *op = index->op;

    if (whole)
        return find_fault(whole, CHECK_INDEX, negative ? -dim_lower(extent) : 0, dim_lower(extent)) < 0;
    while (op->code == GRAPH_OP_VIEW)
        op = op->inputs[0]->op;
    if (op->code == GRAPH_OP_SORT)
        return dim_lower(dim_sub(arena, extent, op->inputs[0]->dims[op->sort.axis])) >= 0;
    if (op->code != GRAPH_OP_REDUCE || (op->reduce.kind != REDUCE_ARGMAX && op->reduce.kind != REDUCE_ARGMIN))
        return false;
    for (int i = 0; i < op->inputs[0]->ndim; i++)
        if (op->reduce.axes[i])
            count = dim_mul(arena, count, op->inputs[0]->dims[i]);
    return dim_lower(dim_sub(arena, extent, count)) >= 0;
}

/* What repeats for sure is looked at once. */
static struct value *unrepeated(struct value *index)
{
    const struct value *from = index->op->code == GRAPH_OP_VIEW ? index->op->inputs[0] : NULL;
    int missing = from ? index->ndim - from->ndim : 0;

    if (!from || index->op->view.kind != VIEW_EXPAND)
        return index;
    for (int i = 0; i < index->ndim; i++)
        if ((i < missing || !dim_equal(index->dims[i], from->dims[i - missing])) &&
            dim_lower(index->dims[i]) < 1)
            return index;
    return index->op->inputs[0];
}

bool build_in_range(struct eval *eval, struct loc loc, const char *label, struct value *index,
                    const struct dim *extent, bool negative)
{
    struct op *op;
    int64_t end, lowest, at;

    if (index_fits(&eval->cx->arena, index, extent, negative))
        return true;
    index = unrepeated(index);
    op = op_new(eval, GRAPH_OP_CHECK, "check", &index, 1);
    op->check.kind = CHECK_INDEX;
    op->check.extent = extent;
    op->check.negative = negative;
    if (!index->constant || !dim_is_const(extent, &end)) {
        add_check(eval, loc, op);
        return true;
    }
    lowest = negative ? -end : 0;
    at = find_fault(index->constant, CHECK_INDEX, lowest, end);
    diag_error(eval->cx, loc, "%s: %lld is outside [%lld, %lld)", label,
               (long long)index->constant->data[at].i, (long long)lowest, (long long)end);
    return false;
}

/* Equal steps of a known index, as arange gives: x at it is a slice. */
static bool is_slice(const struct value *index, int64_t *start, int64_t *step)
{
    const struct tensor *whole = part_of(index);
    const struct op *op = index->op;

    if (!whole || whole->ndim != 1 || index->ndim != 1 || whole->dims[0] < 1 ||
        (!index->constant && (op->inputs[0]->constant != whole || op->view.kind != VIEW_SLICE ||
                              !dim_equals(op->view.start, 0) || !dim_equals(op->view.step, 1))))
        return false;
    *start = whole->data[0].i;
    *step = whole->dims[0] > 1 ? whole->data[1].i - *start : 1;
    for (int64_t i = 1; i < whole->dims[0]; i++)
        if (whole->data[i].i - whole->data[i - 1].i != *step)
            return false;
    return *start >= 0 && *step > 0;
}

/* False: some element is known to be 0. */
static bool check_elements(struct eval *eval, struct loc loc, struct value *x, enum check_kind kind)
{
    struct op *op = op_new(eval, GRAPH_OP_CHECK, "check", &x, 1);

    op->check.kind = kind;
    op->check.extent = dim_const(&eval->cx->arena, 0);
    if (x->constant)
        return find_fault(x->constant, kind, 0, 0) < 0;
    if (!is_checked(op))
        add_check(eval, loc, op);
    return true;
}

struct value *build_divisor(struct eval *eval, struct loc loc, struct value *divisor)
{
    if (check_elements(eval, loc, divisor, CHECK_DIVISOR))
        return divisor;
    diag_error(eval->cx, loc, "integer division by zero");
    return NULL;
}

bool build_holds(struct eval *eval, struct loc loc, struct value *mask)
{
    return check_elements(eval, loc, mask, CHECK_TRUE);
}

/* where(index < 0, index + extent, index), int64. */
static struct value *from_the_end(struct eval *eval, struct loc loc, struct value *index,
                                  const struct dim *extent)
{
    struct arena *arena = &eval->cx->arena;
    struct ev end = ev_dim(loc, extent);
    struct value *parts[2] = {index, build_scalar(eval, loc, &end)};
    struct dag *dag = dag_new(arena, 2);
    int at = dag_cast(arena, dag, dag_load(arena, dag, 0, index->dtype), DTYPE_INT64);
    int sum = dag_prim(arena, dag, PRIM_ADD, DTYPE_INT64, at, dag_load(arena, dag, 1, DTYPE_INT64), -1);
    int below = dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, at, dag_integer(arena, dag, DTYPE_INT64, 0), -1);

    if (!parts[1])
        return NULL;
    dag->result = dag_prim(arena, dag, PRIM_SELECT, DTYPE_INT64, below, sum, at);
    return build_map(eval, loc, "index", dag, parts, 2);
}

struct value *build_from_the_end(struct eval *eval, struct loc loc, const char *label, struct value *index,
                                 const struct dim *extent)
{
    return build_in_range(eval, loc, label, index, extent, true) ? from_the_end(eval, loc, index, extent)
                                                                 : NULL;
}

struct value *build_gather(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                           struct value *index, bool along, bool negative)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = x->ndim > 0 ? x->dims[axis] : dim_const(arena, 1);
    int64_t start, step;

    if (!along && index_fits(arena, index, extent, false) && is_slice(index, &start, &step))
        return build_slice(eval, loc, x, axis, dim_const(arena, start), dim_const(arena, step),
                           index->dims[0]);
    if (!build_in_range(eval, loc, label, index, extent, negative))
        return NULL;
    if (negative)
        index = from_the_end(eval, loc, index, extent);
    return index ? build_gather_inside(eval, loc, label, x, axis, index, along) : NULL;
}

/* Axes that follow one another become one, in which the places lie row-major. NULL after an error. */
static struct value *flat_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                 struct value *const *indices, int count, struct value **index)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *extent = dim_const(arena, 1);
    struct ev at = ev_none(loc);
    int n = 0;

    for (int i = 0; i < count; i++) {
        struct ev size = ev_dim(loc, x->dims[axis + i]), next;

        next = ev_tensor(loc, build_from_the_end(eval, loc, "index", indices[i], size.dim));
        if (i > 0 && next.kind != EV_BAD)
            at = build_binary(eval, loc, PRIM_MUL, "index", &at, &size);
        if (i > 0 && next.kind != EV_BAD && at.kind != EV_BAD)
            next = build_binary(eval, loc, PRIM_ADD, "index", &at, &next);
        at = next;
        if (at.kind == EV_BAD)
            return NULL;
        extent = dim_mul(arena, extent, size.dim);
    }
    for (int i = 0; i < x->ndim; i++)
        if (i <= axis || i >= axis + count)
            dims[n++] = i == axis ? extent : x->dims[i];
    *index = at.tensor;
    return build_reshape(eval, loc, x, n, dims);
}

struct value *build_gather_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                  struct value *const *indices, int count)
{
    struct value *index;

    x = flat_places(eval, loc, x, axis, indices, count, &index);
    return x ? build_gather_inside(eval, loc, "index", x, axis, index, false) : NULL;
}

struct value *build_scatter_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                   struct value *const *indices, int count, struct value *source,
                                   enum prim prim)
{
    struct value *index, *flat = flat_places(eval, loc, x, axis, indices, count, &index);

    if (flat)
        flat = build_scatter_inside(eval, loc, "index_put", flat, axis, index, source, prim, false);
    return flat ? build_reshape(eval, loc, flat, x->ndim, x->dims) : NULL;
}

struct value *build_scatter(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                            struct value *index, struct value *source, enum prim prim, bool along)
{
    const struct dim *extent = x->ndim > 0 ? x->dims[axis] : dim_const(&eval->cx->arena, 1);

    if (!build_in_range(eval, loc, label, index, extent, false))
        return NULL;
    return build_scatter_inside(eval, loc, label, x, axis, index, source, prim, along);
}
