/* nest_form.c - see nest_form.h. */
#include "plan/nest_form.h"

#include <math.h>

#include "plan/plan_dag.h"

#define SCALAR_ROW 8   /* rows that are shorter at their maximum stay scalar */
#define TURNED_ROW 8   /* and copies that transpose, where an axis is */
#define STREAMS 4      /* accumulators of a row */
#define SUM_LIMIT 1024 /* per accumulator of one lane */

static bool stride_is(const struct nest *nest, int operand, int axis, int64_t stride)
{
    return dim_equals(nest->operands[operand].strides[axis], stride);
}

/* Of the widest machine. */
static int lanes_of(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT64 ? 8 : 16;
}

/* Whether a dag has vectors along the last axis, and of which type: types and strides of `count` operands from `first` on. */
static bool operands_vectorise(const struct nest *nest, const struct dag *dag, int first, int count,
                               enum dtype *lanes)
{
    int axis = nest->ndim - 1;

    if (axis < 0 || dim_upper(nest->dims[axis]) < SCALAR_ROW || !dag_vectorises(dag, lanes))
        return false;
    for (int i = first; i < first + count; i++)
        if (!stride_is(nest, i, axis, 0) && !stride_is(nest, i, axis, 1))
            return false;
    return true;
}

/* ---- map ------------------------------------------------------------------------------------------------------- */

static bool is_zero(const struct dag *dag)
{
    const struct dag_node *node = &dag->nodes[dag->result];

    return node->prim == PRIM_CONST &&
           (dtype_is_float(node->dtype) ? node->number == 0 && !signbit(node->number) : node->integer == 0);
}

/* The axis along which the one operand of a copy is contiguous, where the copy is a transposition of at least a vector
 * each way, or -1. */
static int turned_axis(const struct nest *nest, const struct dag *dag)
{
    int last = nest->ndim - 1;

    if (last < 1 || !dag_is_identity(dag) || !stride_is(nest, 0, last, 1) || stride_is(nest, 1, last, 1) ||
        stride_is(nest, 1, last, 0) || nest->operands[0].dtype != DTYPE_FLOAT32 ||
        nest->operands[1].dtype != DTYPE_FLOAT32 || dim_upper(nest->dims[last]) < TURNED_ROW)
        return -1;
    for (int axis = 0; axis < last; axis++)
        if (stride_is(nest, 1, axis, 1) && dim_upper(nest->dims[axis]) >= TURNED_ROW)
            return axis;
    return -1;
}

const char *copy_of_elements(enum dtype dtype)
{
    return dtype == DTYPE_BOOL ? "modc_copy_bools" : "memcpy";
}

struct nest_form map_form(const struct nest *nest, const struct dag *dag, bool vectors)
{
    struct nest_form form = {
        .turned = vectors ? turned_axis(nest, dag) : -1, .split = -1, .lanes = DTYPE_FLOAT32};
    int last = nest->ndim - 1;
    bool lines = vectors && last >= 0 && stride_is(nest, 0, last, 1);
    enum dtype lanes;

    if (lines && dag_is_identity(dag) && stride_is(nest, 1, last, 1) &&
        nest->operands[0].dtype == nest->operands[1].dtype) {
        form.way = NEST_BYTES;
    } else if (lines && is_zero(dag)) {
        form.way = NEST_ZEROS;
    } else if (form.turned >= 0) {
        form.way = NEST_TURNED;
    } else if (lines && operands_vectorise(nest, dag, 1, nest->operand_count - 1, &lanes)) {
        form.way = NEST_ROWS;
        form.lanes = lanes;
    }
    return form;
}

/* ---- reduction ------------------------------------------------------------------------------------------------- */

bool reduce_is_arg(enum reduce_kind kind)
{
    return kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
}

bool reduce_wraps(enum reduce_kind kind, enum dtype element)
{
    return (kind == REDUCE_SUM || kind == REDUCE_PROD) && !dtype_is_float(element);
}

static bool is_truth(enum reduce_kind kind)
{
    return kind == REDUCE_ANY || kind == REDUCE_ALL;
}

const struct dag *reduce_tail(struct arena *arena, enum reduce_kind kind, const struct dag *head,
                              enum dtype output)
{
    enum dtype element = head->nodes[head->result].dtype;
    enum dtype reduced = is_truth(kind)                                       ? DTYPE_BOOL
                         : reduce_is_arg(kind) || reduce_wraps(kind, element) ? DTYPE_INT64
                                                                              : element;
    struct dag *cast = dag_identity(arena, reduced);

    cast->result = dag_cast(arena, cast, cast->result, output);
    return cast;
}

static int reduced_axes(const struct nest *nest)
{
    int count = 0;

    for (int axis = 0; axis < nest->ndim; axis++)
        count += nest->reduced[axis];
    return count;
}

static enum nest_way reduce_way(const struct nest *nest, enum reduce_kind kind, const struct dag *head,
                                const struct dag *tail, enum dtype *lanes)
{
    int last = nest->ndim - 1, heads = head->input_count, tails = nest->operand_count - 1 - heads;
    enum dtype stored;

    if (is_truth(kind) || reduced_axes(nest) == 0 || !operands_vectorise(nest, head, 1, heads, lanes))
        return NEST_ELEMENTS;
    if (nest->reduced[last]) { /* argmax of a row as it is: its maximum, then where that stands */
        bool found = !reduce_is_arg(kind) || (reduced_axes(nest) == 1 && dag_is_identity(head));

        return kind != REDUCE_PROD && found ? NEST_ROWS : NEST_ELEMENTS;
    }
    if (reduce_is_arg(kind) || !operands_vectorise(nest, tail, 1 + heads, tails, &stored) ||
        !stride_is(nest, 0, last, 1) || stored != *lanes)
        return NEST_ELEMENTS;
    return NEST_COLUMNS;
}

/* How many vectors of outputs at a time: what divides the row, else what is best where it is long. */
static int column_streams(const struct nest *nest, int lanes)
{
    const struct dim *row = nest->dims[nest->ndim - 1];
    int64_t upper = dim_upper(row), count;

    for (int streams = MOST_COLUMNS; streams > 1; streams--)
        if (dim_is_const(row, &count) && count % (streams * lanes) == 0)
            return streams;
    return upper >= 2 * MOST_COLUMNS * lanes   ? MOST_COLUMNS
           : upper >= MOST_COLUMNS / 2 * lanes ? MOST_COLUMNS / 2
                                               : 1;
}

/* Which axis is cut, so that one accumulator has at most `limit` elements. */
static void find_split(const struct nest *nest, struct nest_form *form)
{
    int64_t limit = SUM_LIMIT * (form->way == NEST_ROWS ? form->streams : 1);

    for (int axis = nest->ndim - 1; axis >= 0; axis--) {
        int64_t upper = dim_upper(nest->dims[axis]);

        if (!nest->reduced[axis])
            continue;
        if (upper > limit) {
            form->split = axis;
            form->block = limit;
            return;
        }
        if (upper > 1)
            limit /= upper;
    }
}

/* Where outputs are few, or their elements lie side by side, threads share them: of a row as many as it is long for, but four
 * elements are left to each; else neighbours read neighbouring outputs, a sector of the cache at a time. */
static void share_reduction(const struct nest *nest, enum reduce_kind kind, struct nest_form *form)
{
    enum { SHARED = 64, BUSY = 64 * 1024, WARP = 32, MOST = 1024, EACH = 4, SIDE = 8, THREADS = 256 };
    int64_t length = 1, outputs = 1, parts;
    bool rows = nest->ndim > 0 && nest->reduced[nest->ndim - 1];

    for (int axis = 0; axis < nest->ndim; axis++) {
        int64_t upper = dim_upper(nest->dims[axis]);

        if (nest->reduced[axis])
            length *= upper;
        else
            outputs *= upper;
    }
    if (length < SHARED || (!rows && outputs >= BUSY))
        return;
    form->way = NEST_BLOCKS;
    form->outputs = rows ? 1 : SIDE;
    form->threads = rows ? WARP : THREADS;
    while (rows && form->threads < MOST && form->threads * 2 * EACH <= length)
        form->threads *= 2;
    parts = form->threads / form->outputs;
    if (kind == REDUCE_SUM && form->lanes == DTYPE_FLOAT32 && length > parts * SUM_LIMIT)
        form->block = parts * SUM_LIMIT;
}

struct nest_form reduce_form(const struct nest *nest, enum reduce_kind kind, const struct dag *head,
                             const struct dag *tail, bool vectors)
{
    enum dtype element = head->nodes[head->result].dtype;
    struct nest_form form = {.lanes = element, .split = -1, .turned = -1};

    form.way = vectors ? reduce_way(nest, kind, head, tail, &form.lanes) : NEST_ELEMENTS;
    if (form.way == NEST_ELEMENTS)
        form.lanes = element;
    else if (form.way == NEST_COLUMNS)
        form.streams = column_streams(nest, lanes_of(form.lanes));
    else
        form.streams = dim_upper(nest->dims[nest->ndim - 1]) >= STREAMS * lanes_of(form.lanes) ? STREAMS : 1;
    if (!vectors)
        share_reduction(nest, kind, &form);
    if (kind == REDUCE_SUM && element == DTYPE_FLOAT32 && form.way != NEST_BLOCKS)
        find_split(nest, &form);
    return form;
}

struct nest_form reduce_core_form(const struct nest *nest, enum reduce_kind kind, const struct dag *head,
                                  const struct dag *tail)
{
    struct nest_form form = reduce_form(nest, kind, head, tail, true);

    if (form.way != NEST_COLUMNS || kind != REDUCE_SUM || form.lanes != DTYPE_FLOAT32 ||
        reduced_axes(nest) != 1)
        return form;
    for (form.split = 0; !nest->reduced[form.split]; form.split++)
        ;
    form.block = SUM_LIMIT;
    return form;
}
