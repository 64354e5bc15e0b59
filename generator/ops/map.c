/* map.c - ops that are a dag over an index space: map, reduce, write; and concat. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/narrow.h"
#include "base/text.h"
#include "ops/rows.h"
#include "tree/tree.h"

/* ---- broadcasting -------------------------------------------------------------------------------------------- */

/* "add: (2, 4) and (3) do not broadcast: the sizes 4 and 3 differ at dimension 1, and neither is 1" */
static const char *broadcast_fault(struct cx *cx, const struct op *op, int ndim,
                                   const struct dim *const *dims, const struct value *value)
{
    struct arena *arena = &cx->arena;

    for (int i = 1; i <= ndim && i <= value->ndim; i++) {
        const struct dim *a = dims[ndim - i], *b = value->dims[value->ndim - i];

        if (dim_equal(a, b) || dim_equals(a, 1) || dim_equals(b, 1))
            continue;
        return arena_format(arena,
                            "%s: %s and %s do not broadcast: the sizes %s at dimension %d, and neither is 1",
                            op->label, shape_text(arena, ndim, dims), value_shape(arena, value),
                            dims_differ(arena, a, b), (ndim > value->ndim ? ndim : value->ndim) - i);
    }
    assert(!"shapes that broadcast");
    return NULL;
}

/* The common shape of inputs first .. end - 1. */
static const char *broadcast(struct cx *cx, const struct op *op, int first, int end, const struct dim **dims,
                             int *ndim)
{
    *ndim = 0;
    for (int i = first; i < end; i++)
        if (!dims_broadcast(cx, dims, ndim, op->inputs[i]))
            return broadcast_fault(cx, op, *ndim, dims, op->inputs[i]);
    return NULL;
}

/* Every load of a dag, which counts the op's inputs from `first` on, has its input's type. */
static const char *loads_broken(const struct op *op, const struct dag *dag, int first)
{
    for (int i = 0; i < dag->count; i++) {
        const struct dag_node *node = &dag->nodes[i];
        int input = first + node->input;

        if (node->prim == PRIM_LOAD &&
            (node->input < 0 || input >= op->input_count || op->inputs[input]->dtype != node->dtype))
            return "it loads another type than it is given";
    }
    return NULL;
}

/* ---- map ----------------------------------------------------------------------------------------------------- */

static const char *map_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    return op->dag ? loads_broken(op, op->dag, 0) : "it has nothing to compute";
}

static const char *map_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[MAX_DIMS];
    int ndim;
    const char *fault = broadcast(cx, op, 0, op->input_count, dims, &ndim);

    return fault ? fault : set_output(cx, op, op->dag->nodes[op->dag->result].dtype, ndim, dims);
}

static void map_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int64_t count = tensor_count(output);
    struct dag_run run;
    struct walk walk;

    dag_run_start(&run, op->dag);
    walk_start(&walk, output->ndim, output->dims);
    for (int i = 0; i < op->input_count; i++)
        walk_add(&walk, inputs[i]);
    for (int64_t e = 0; e < count; e++, walk_next(&walk)) {
        for (int i = 0; i < walk.streams; i++)
            run.inputs[i] = inputs[i]->data[walk.at[i]];
        output->data[e] = dag_run_once(&run);
    }
    dag_run_end(&run);
}

static bool has_no_elements(const struct value *value)
{
    for (int i = 0; i < value->ndim; i++)
        if (dim_equals(value->dims[i], 0))
            return true;
    return false;
}

static int empty_result(const struct op *op)
{
    return has_no_elements(op->outputs[0]) ? 0 : -1;
}

static bool map_body(struct op *op, struct op_body *body)
{
    *body = (struct op_body){.dag = &op->dag, .whole = op->outputs[0]};
    return true;
}

static bool map_mapped(const struct op *op, int input)
{
    (void)op, (void)input;
    return true;
}

static void map_work(const struct op *op, struct op_work *work)
{
    count_dag(work, dims_upper(op->outputs[0]->ndim, op->outputs[0]->dims), op->dag);
}

const struct op_row op_row_map = {
    .order = OP_ORDER_KEPT,
    .name = "map",
    .broken = map_broken,
    .infer = map_infer,
    .interpret = map_interpret,
    .nothing = empty_result,
    .body = map_body,
    .pure = true,
    .fills = true,
    .mapped = map_mapped,
    .in_place = true,
    .work = map_work,
};

/* ---- reduce -------------------------------------------------------------------------------------------------- */

static enum dtype element_dtype(const struct op *op)
{
    return op->head ? op->head->nodes[op->head->result].dtype : op->inputs[0]->dtype;
}

static enum dtype reduced_dtype(enum reduce_kind kind, enum dtype element)
{
    switch (kind) {
    case REDUCE_SUM:
    case REDUCE_PROD:
        return dtype_is_float(element) ? element : DTYPE_INT64;
    case REDUCE_ANY:
    case REDUCE_ALL:
        return element == DTYPE_UINT8 ? DTYPE_UINT8 : DTYPE_BOOL;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return DTYPE_INT64;
    default:
        return element;
    }
}

static bool needs_elements(enum reduce_kind kind)
{
    return kind == REDUCE_MAX || kind == REDUCE_MIN || kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
}

static const char *reduce_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (op->tail_first < 1 || (!op->head && op->tail_first != 1))
        return "it reduces one value";
    if (op->head && op->head->input_count > op->tail_first)
        return "its head loads an input that it has not";
    return op->head ? loads_broken(op, op->head, 0) : NULL;
}

static const char *reduce_infer(struct cx *cx, struct op *op)
{
    const struct dim *dims[MAX_DIMS], *kept[MAX_DIMS];
    int ndim, count = 0;
    const char *fault = broadcast(cx, op, 0, op->tail_first, dims, &ndim);

    if (fault)
        return fault;
    for (int i = 0; i < ndim; i++) {
        if (!op->reduce.axes[i])
            kept[count++] = dims[i];
        else if (op->reduce.keepdim)
            kept[count++] = dim_const(&cx->arena, 1);
        if (op->reduce.axes[i] && dim_equals(dims[i], 0) && needs_elements(op->reduce.kind))
            return arena_format(&cx->arena,
                                "%s: dimension %d of %s has size 0, and there is no %s of nothing", op->label,
                                i, shape_text(&cx->arena, ndim, dims), op->label);
    }
    return set_output(cx, op, reduced_dtype(op->reduce.kind, element_dtype(op)), count, kept);
}

/* The first of two that a search keeps; NaN is beyond all. */
static bool beats(enum reduce_kind kind, bool floating, union scalar candidate, union scalar best)
{
    bool most = kind == REDUCE_MAX || kind == REDUCE_ARGMAX;

    if (!floating)
        return most ? candidate.i > best.i : candidate.i < best.i;
    if (isnan(best.f))
        return false;
    return isnan(candidate.f) || (most ? candidate.f > best.f : candidate.f < best.f);
}

/* An accumulator; sums and products of floating numbers are kept in double. */
struct reduction {
    enum reduce_kind kind;
    bool floating;
    union scalar value;
    int64_t seen, index;
};

static struct reduction reduction_start(enum reduce_kind kind, enum dtype element)
{
    struct reduction r = {.kind = kind, .floating = dtype_is_float(element)};
    bool most = kind == REDUCE_MAX || kind == REDUCE_ARGMAX;

    if (kind == REDUCE_ANY || kind == REDUCE_ALL)
        r.value.i = kind == REDUCE_ALL;
    else if (needs_elements(kind) && r.floating)
        r.value.f = most ? -(double)INFINITY : (double)INFINITY;
    else if (needs_elements(kind))
        r.value.i = most ? INT64_MIN : INT64_MAX;
    else if (r.floating)
        r.value.f = kind == REDUCE_PROD;
    else
        r.value.i = kind == REDUCE_PROD;
    return r;
}

static void reduction_add(struct reduction *r, union scalar element)
{
    bool truth = r->floating ? element.f != 0 : element.i != 0;

    switch (r->kind) {
    case REDUCE_SUM:
        if (r->floating)
            r->value.f += element.f;
        else
            r->value.i = (int64_t)((uint64_t)r->value.i + (uint64_t)element.i);
        break;
    case REDUCE_PROD:
        if (r->floating)
            r->value.f *= element.f;
        else
            r->value.i = (int64_t)((uint64_t)r->value.i * (uint64_t)element.i);
        break;
    case REDUCE_ANY:
        r->value.i |= truth;
        break;
    case REDUCE_ALL:
        r->value.i &= truth;
        break;
    default:
        if (r->seen == 0 || beats(r->kind, r->floating, element, r->value)) {
            r->value = element;
            r->index = r->seen;
        }
    }
    r->seen++;
}

static union scalar reduction_result(const struct reduction *r, enum dtype dtype)
{
    union scalar result = r->value;

    if (r->kind == REDUCE_ARGMAX || r->kind == REDUCE_ARGMIN)
        result.i = r->index;
    else if (r->floating && r->kind != REDUCE_ANY && r->kind != REDUCE_ALL)
        result.f = dtype_round(dtype, result.f);
    return result;
}

/* The walk's axes in the order `order`. */
static void walk_permute(struct walk *walk, const int *order)
{
    struct walk old = *walk;

    for (int i = 0; i < walk->ndim; i++) {
        walk->dims[i] = old.dims[order[i]];
        for (int k = 0; k < walk->streams; k++)
            walk->strides[k][i] = old.strides[k][order[i]];
    }
}

static void reduce_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int ndim = 0, order[MAX_DIMS], ordered = 0, count = op->tail_first;
    int64_t dims[MAX_DIMS], inner = 1, outer = tensor_count(output);
    enum dtype element = element_dtype(op), dtype = reduced_dtype(op->reduce.kind, element);
    struct dag_run run;
    struct walk walk;

    for (int i = 0; i < count; i++)
        ndim = inputs[i]->ndim > ndim ? inputs[i]->ndim : ndim;
    for (int k = 0; k < ndim; k++) {
        dims[k] = 1;
        for (int i = 0; i < count; i++) {
            int axis = k - (ndim - inputs[i]->ndim);

            if (axis >= 0 && inputs[i]->dims[axis] != 1)
                dims[k] = inputs[i]->dims[axis];
        }
        inner *= op->reduce.axes[k] ? dims[k] : 1;
    }
    for (int reduced = 0; reduced < 2; reduced++)
        for (int k = 0; k < ndim; k++)
            if (op->reduce.axes[k] == reduced)
                order[ordered++] = k;
    walk_start(&walk, ndim, dims);
    for (int i = 0; i < count; i++)
        walk_add(&walk, inputs[i]);
    walk_permute(&walk, order);
    if (op->head)
        dag_run_start(&run, op->head);
    for (int64_t o = 0; o < outer; o++) {
        struct reduction reduction = reduction_start(op->reduce.kind, element);

        for (int64_t e = 0; e < inner; e++, walk_next(&walk)) {
            for (int i = 0; i < count; i++)
                run.inputs[i] = inputs[i]->data[walk.at[i]];
            reduction_add(&reduction, op->head ? dag_run_once(&run) : run.inputs[0]);
        }
        output->data[o] = reduction_result(&reduction, dtype);
    }
    if (op->head)
        dag_run_end(&run);
    run_tail(op, inputs, output);
}

static double reduce_macs(const struct op *op)
{
    double most = 0;

    for (int i = 0; i < op->tail_first; i++) {
        double count = dims_upper(op->inputs[i]->ndim, op->inputs[i]->dims);

        most = count > most ? count : most;
    }
    return most;
}

static void reduce_dump(struct text *text, const struct op *op)
{
    text_add(text, " axes");
    for (int i = 0; i < op->inputs[0]->ndim; i++)
        if (op->reduce.axes[i])
            text_printf(text, " %d", i);
}

/* Sums of nothing are 0, products 1. */
static int reduce_nothing(const struct op *op)
{
    if (has_no_elements(op->outputs[0]))
        return 0;
    return has_no_elements(op->inputs[0]) ? op->reduce.kind == REDUCE_PROD || op->reduce.kind == REDUCE_ALL
                                          : -1;
}

/* Heads come first: tails are fused behind them. */
static bool reduce_body(struct op *op, struct op_body *body)
{
    *body = (struct op_body){.dag = &op->head, .whole = op->inputs[0], .joint = true};
    return !op->tail;
}

static bool reduce_once(const struct op *op)
{
    return !has_no_elements(op->inputs[0]);
}

static void reduce_work(const struct op *op, struct op_work *work)
{
    enum { EACH_FOUND = 8 }; /* of a largest element: its value, and then where it stands */
    const enum reduce_kind kind = op->reduce.kind;
    const struct value *y = op->outputs[0];

    count_dag(work, reduce_macs(op), op->head);
    if (kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN)
        work->values *= EACH_FOUND;
    if (needs_elements(kind) && op->inputs[0]->ndim > 0 && op->reduce.axes[op->inputs[0]->ndim - 1])
        work->rows = dims_upper(y->ndim, y->dims);
}

const struct op_row op_row_reduce = {
    .order = OP_ORDER_KEPT,
    .name = "reduce",
    .broken = reduce_broken,
    .infer = reduce_infer,
    .interpret = reduce_interpret,
    .once = reduce_once,
    .macs = reduce_macs,
    .dump = reduce_dump,
    .nothing = reduce_nothing,
    .body = reduce_body,
    .tail = TAIL_ANYWHERE,
    .pure = true,
    .work = reduce_work,
};

/* ---- concat -------------------------------------------------------------------------------------------------- */

static const char *concat_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (op->input_count == 0 || op->concat.axis < 0 || op->concat.axis >= op->inputs[0]->ndim)
        return "its axis is not there";
    for (int i = 1; i < op->input_count; i++)
        if (op->inputs[i]->dtype != op->inputs[0]->dtype)
            return "its parts have several types";
    return NULL;
}

static const char *concat_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *first = op->inputs[0];
    const struct dim *dims[MAX_DIMS];
    int axis = op->concat.axis;

    memcpy(dims, first->dims, sizeof dims);
    for (int i = 1; i < op->input_count; i++) {
        const struct value *input = op->inputs[i];

        if (input->ndim != first->ndim)
            return arena_format(arena, "%s: %s and %s have not the same number of dimensions", op->label,
                                value_shape(arena, first), value_shape(arena, input));
        for (int k = 0; k < first->ndim; k++)
            if (k != axis && !dim_equal(first->dims[k], input->dims[k]))
                return arena_format(arena, "%s: %s and %s along dimension %d: the sizes %s at dimension %d",
                                    op->label, value_shape(arena, first), value_shape(arena, input), axis,
                                    dims_differ(arena, first->dims[k], input->dims[k]), k);
        dims[axis] = dim_add(arena, dims[axis], input->dims[axis]);
    }
    return set_output(cx, op, first->dtype, first->ndim, dims);
}

static void concat_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int axis = op->concat.axis;
    int64_t outer = 1, inner = 1, at = 0;

    for (int i = 0; i < axis; i++)
        outer *= output->dims[i];
    for (int i = axis + 1; i < output->ndim; i++)
        inner *= output->dims[i];
    for (int i = 0; i < op->input_count; i++) {
        int64_t block = inputs[i]->dims[axis] * inner;

        for (int64_t o = 0; block > 0 && o < outer; o++)
            memcpy(output->data + o * output->dims[axis] * inner + at, inputs[i]->data + o * block,
                   (size_t)block * sizeof *output->data);
        at += block;
    }
}

/* What does not lie there already. */
static double concat_bytes(const struct op *op)
{
    double bytes = 0;

    for (int i = 0; i < op->input_count; i++)
        bytes += op->inputs[i]->base == op->outputs[0]->base ? 0 : 2 * value_bytes(op->inputs[i]);
    return bytes;
}

const struct op_row op_row_concat = {
    .order = OP_ORDER_DENSE,
    .name = "concat",
    .broken = concat_broken,
    .infer = concat_infer,
    .interpret = concat_interpret,
    .nothing = empty_result,
    .pure = true,
    .many = true,
    .mapped = map_mapped, /* its parts are copied */
    .bytes = concat_bytes,
};

/* ---- write --------------------------------------------------------------------------------------------------- */

/* Rows of all of a slot, which may be narrow: at each place of the index one of what is written. */
static const char *rows_broken(const struct op *op)
{
    const struct value *slot = op->inputs[0], *index = op->inputs[2], *rows = op->inputs[3];

    if (op->input_count != 4 || op->inputs[1] != slot || !dag_is_identity(op->dag))
        return "it writes rows to a part, or changed ones";
    if (index->ndim != 1 || dtype_is_float(index->dtype) || index->dtype == DTYPE_BOOL)
        return "its rows are no list of integers";
    if ((rows->dtype != slot->dtype && (rows->dtype != DTYPE_FLOAT32 || !narrow_of(slot->dtype))) ||
        rows->ndim != slot->ndim || !dim_equal(rows->dims[0], index->dims[0]))
        return "its rows do not fit";
    for (int i = 1; i < slot->ndim; i++)
        if (!dim_equal(rows->dims[i], slot->dims[i]))
            return "its rows do not fit";
    return NULL;
}

/* Inputs: the slot's version, the view of it that is written, and what the dag reads. */
static const char *write_broken(struct cx *cx, const struct op *op)
{
    const struct value *slot = op->inputs[0], *target = op->inputs[1];

    if (op->write.rows)
        return rows_broken(op);
    if (op->input_count < 2 || !op->dag || op->dag->nodes[op->dag->result].dtype != slot->dtype)
        return "it writes another type than is there";
    for (const struct value *shown = target; shown != slot; shown = shown->op->inputs[0])
        if (shown->op->code != GRAPH_OP_VIEW)
            return "it writes to what is no part of its slot";
    for (int i = 2; i < op->input_count; i++) {
        const struct dim *dims[MAX_DIMS];
        int ndim = target->ndim;
        bool fits;

        memcpy(dims, target->dims, sizeof dims);
        fits = dims_broadcast(cx, dims, &ndim, op->inputs[i]) && ndim == target->ndim;
        for (int k = 0; fits && k < ndim; k++)
            fits = dim_equal(dims[k], target->dims[k]);
        if (!fits)
            return "what it writes does not fit where it goes";
    }
    return loads_broken(op, op->dag, 2);
}

static const char *write_infer(struct cx *cx, struct op *op)
{
    const struct value *slot = op->inputs[0];

    return set_output(cx, op, slot->dtype, slot->ndim, slot->dims);
}

static bool write_body(struct op *op, struct op_body *body)
{
    *body = (struct op_body){.dag = &op->dag, .base = 2, .whole = op->inputs[1]};
    return !op->write.rows;
}

static void write_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s%s", op->write.tensor->path, op->write.rows ? " rows" : "");
}

static bool write_carries(const struct op *op, int input)
{
    return input == 0 || (input == 2 && !op->write.detached);
}

static bool write_mapped(const struct op *op, int input)
{
    return input > 1 && !op->write.rows;
}

/* Of rows, those that come. */
static double write_bytes(const struct op *op)
{
    double bytes = 0;

    if (op->write.rows)
        return 2 * value_bytes(op->inputs[3]) + value_bytes(op->inputs[2]);
    for (int i = 0; i < op->input_count; i++)
        bytes += value_bytes(op->inputs[i]);
    return bytes + value_bytes(op->outputs[0]);
}

static void write_work(const struct op *op, struct op_work *work)
{
    if (op->write.rows)
        work->values = dims_upper(op->inputs[3]->ndim, op->inputs[3]->dims);
    else
        count_dag(work, dims_upper(op->inputs[1]->ndim, op->inputs[1]->dims), op->dag);
}

const struct op_row op_row_write = {
    .order = OP_ORDER_DENSE,
    .name = "write",
    .broken = write_broken,
    .infer = write_infer,
    .dump = write_dump,
    .body = write_body,
    .lent = true,
    .acts = true,
    .stays = true,
    .target = 1,
    .carries = write_carries,
    .mapped = write_mapped,
    .work = write_work,
    .bytes = write_bytes,
};
