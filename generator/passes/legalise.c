/* legalise.c - resolves every view to an offset and strides into the buffer it looks at, and puts a copy where a
 * reader cannot take those strides, where a reshape has none, and where a value has to lie in memory of its own. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

static void set_dense(struct graph *graph, struct value *value)
{
    struct arena *arena = &graph->cx->arena;
    const struct dim *stride = dim_const(arena, 1);

    value->base = value;
    value->offset = dim_const(arena, 0);
    for (int i = value->ndim - 1; i >= 0; i--) {
        value->strides[i] = stride;
        stride = dim_mul(arena, stride, value->dims[i]);
    }
}

static bool same_elements(const struct value *a, const struct value *b)
{
    if (a->base != b->base || !dim_equal(a->offset, b->offset) || !dims_equal(a, b))
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (!dim_equal(a->strides[i], b->strides[i]))
            return false;
    return true;
}

/* The graph, and the copies that others may read which want the same. */
struct legal {
    struct graph *graph;
    struct op **latest; /* by id of what owns memory: the last copy of elements that lie there */
    struct op **before; /* by id of a copy: the one before it */
    int room;           /* ids */
};

static void make_room(struct legal *legal)
{
    struct arena *arena = &legal->graph->cx->arena;
    const int room = 2 * legal->graph->value_count;

    if (legal->graph->value_count <= legal->room)
        return;
    legal->latest = arena_grow(arena, legal->latest, (size_t)legal->room, (size_t)room,
                               sizeof *legal->latest);
    legal->before = arena_grow(arena, legal->before, (size_t)legal->room, (size_t)room,
                               sizeof *legal->before);
    legal->room = room;
}

static void note_copy(struct legal *legal, struct op *copy)
{
    struct op **latest;

    make_room(legal);
    latest = &legal->latest[copy->inputs[0]->base->id];
    legal->before[copy->outputs[0]->id] = *latest;
    *latest = copy;
}

/* The copy of the same elements that an earlier reader got, where it may be shared and nothing was written since. */
static struct value *earlier_copy(struct legal *legal, int at, const struct value *value)
{
    struct graph *graph = legal->graph;
    struct op *op = value->base->id < legal->room ? legal->latest[value->base->id] : NULL;

    while (op && !same_elements(op->inputs[0], value))
        op = legal->before[op->outputs[0]->id];
    return op && !pass_write_between(graph, op, graph_position(graph, op), at) ? op->outputs[0] : NULL;
}

/* `once`: it may be made by MODEL_pack, where only that reads it which writes nothing there. */
static struct value *insert_copy(struct legal *legal, int *at, struct value *value, bool once)
{
    struct graph *graph = legal->graph;
    struct value *copy = once ? earlier_copy(legal, *at, value) : NULL;

    if (copy)
        return copy;
    copy = make_map(site_by(graph, at, value->op), "copy", dag_identity(&graph->cx->arena, value->dtype),
                    &value, 1);

    value_take_name(copy, value);
    copy->op->shared = once;
    copy->prepared = once && value_is_static(graph, value) && graph->program->settings.pack;
    for (int i = 0; i < value->ndim; i++) /* what MODEL_pack makes has one shape */
        copy->prepared &= dim_is_const(value->dims[i], NULL);
    set_dense(graph, copy);
    if (once && copy->op->code == GRAPH_OP_MAP)
        note_copy(legal, copy->op);
    return copy;
}

/* A copy of a weight of windows whose outputs lie side by side. */
static struct value *insert_across(struct legal *legal, int *at, struct value *weight)
{
    static const int across[] = {1, 2, 3, 0}, back[] = {3, 0, 1, 2};
    struct graph *graph = legal->graph;
    struct value *turned = make_permute(site_by(graph, at, weight->op), weight, across), *copy;

    view_resolve(&graph->cx->arena, turned->op, turned->op->inputs[0], turned);
    copy = insert_copy(legal, at, turned, true);
    turned = make_permute(site_by(graph, at, copy->op), copy, back);
    view_resolve(&graph->cx->arena, turned->op, copy, turned);
    return turned;
}

static bool is_one(const struct dim *dim)
{
    return dim_equals(dim, 1);
}

bool value_is_dense(struct arena *arena, const struct value *value)
{
    const struct dim *stride = dim_const(arena, 1);

    for (int i = value->ndim - 1; i >= 0; i--) {
        if (!is_one(value->dims[i]) && !dim_equal(value->strides[i], stride))
            return false;
        stride = dim_mul(arena, stride, value->dims[i]);
    }
    return true;
}

bool value_is_rows(struct arena *arena, const struct value *value)
{
    const struct dim *stride = NULL;

    if (value->ndim == 0)
        return true;
    if (!is_one(value->dims[value->ndim - 1]) && !dim_equals(value->strides[value->ndim - 1], 1))
        return false;
    for (int i = value->ndim - 2; i >= 0; i--) {
        if (is_one(value->dims[i]))
            continue;
        if (stride && !dim_equal(value->strides[i], stride))
            return false;
        stride = dim_mul(arena, value->strides[i], value->dims[i]);
    }
    return true;
}

/* One stride for the axes first .. end - 1 of `out`, merged. False: there is none. */
static bool merged_stride(struct arena *arena, const struct value *out, const struct dim *const *strides,
                          int first, int end, const struct dim **stride)
{
    const struct dim *whole = NULL;

    *stride = dim_const(arena, 0);
    for (int i = end - 1; i >= first; i--) {
        if (is_one(out->dims[i]))
            continue;
        if (!whole)
            *stride = strides[i];
        else if (!dim_equal(strides[i], whole))
            return false;
        whole = dim_mul(arena, strides[i], out->dims[i]);
    }
    return true;
}

bool tail_strides(struct arena *arena, const struct value *operand, const struct op *op,
                  const struct dim **row, const struct dim **column)
{
    const struct value *out = op->outputs[0];
    const struct dim *strides[MAX_DIMS];
    int rows = out->ndim - op_columns(op);

    for (int i = 0; i < out->ndim; i++) {
        int at = i - (out->ndim - operand->ndim);

        strides[i] = at < 0 || is_one(operand->dims[at]) ? dim_const(arena, 0) : operand->strides[at];
    }
    return merged_stride(arena, out, strides, 0, rows, row) &&
           merged_stride(arena, out, strides, rows, out->ndim, column) &&
           (dim_equals(*column, 0) || dim_equals(*column, 1));
}

/* Of a value whose last axis is read on its own. */
static bool has_last(const struct value *value, bool repeated)
{
    int last = value->ndim - 1;

    return last < 0 || is_one(value->dims[last]) || dim_equals(value->strides[last], 1) ||
           (repeated && dim_equals(value->strides[last], 0));
}

bool pass_reads(struct graph *graph, const struct op *op, int input)
{
    const struct value *value = op->inputs[input];
    struct arena *arena = &graph->cx->arena;
    const struct op_row *rules = op_rows[op->code];
    enum op_accepts needed = rules->accepts ? rules->accepts(op, input) : ACCEPT_ANY;
    const bool once = op->output_count > 0 && op->outputs[0]->prepared; /* MODEL_pack runs it */
    const struct dim *row, *column;

    if (needed == ACCEPT_LAST || needed == ACCEPT_REPEATED)
        return has_last(value, needed == ACCEPT_REPEATED);
    if (input >= op->tail_first) /* kernels with tiles read a tail's operands by row and column */
        return rules->tail != TAIL_BY_ROWS || tail_strides(arena, value, op, &row, &column);
    if (rules->packs && rules->packs(op, input) && value_is_static(graph, op->inputs[input]) &&
        graph->program->settings.pack && !once)
        return true;
    if (rules->strided && input < 2 && (once || !value_is_static(graph, op->inputs[1])))
        return !rules->gathers || !rules->gathers(op, input); /* products of activations, say */
    if (needed == ACCEPT_DENSE)
        return value_is_dense(arena, value);
    return needed == ACCEPT_ANY || value_is_rows(arena, value);
}

/* Does anything behind the boundary, or it with an earlier input, read what lies where the value does, as far as this is not the
 * boundary's own doing? */
static bool is_read_behind(const struct graph *graph, const struct value *value, const struct op *fence,
                           int at, int input)
{
    for (int u = 0; u < value->user_count; u++) {
        const struct op *op = value->users[u];

        if (op != fence && graph_position(graph, op) > at)
            return true;
        for (int j = 0; j < op->input_count; j++) {
            bool lies_there = op->code == GRAPH_OP_VIEW || (op->code == GRAPH_OP_FENCE && op != fence);

            if (op->inputs[j] == value &&
                ((op == fence && j < input) ||
                 (lies_there && is_read_behind(graph, op->outputs[j], fence, at, input))))
                return true;
        }
    }
    return false;
}

/* What a hook in backward makes of a gradient is for its module alone: where others read the same, it gets a copy. */
static bool is_read_elsewhere(const struct graph *graph, int at, int input)
{
    const struct op *fence = graph->ops[at];

    return is_read_behind(graph, fence->inputs[input]->base, fence, at, input);
}

/* A hook may write what it is given. */
static bool needs_own_memory(const struct graph *graph, int at, int input)
{
    const struct op *op = graph->ops[at];

    if (op->code != GRAPH_OP_FENCE)
        return false;
    if (value_is_lent(op->inputs[input]->base))
        return true;
    return op->fence.kind >= FENCE_BACKWARD_PRE && input >= op->fence.seen &&
           is_read_elsewhere(graph, at, input);
}

/* Outputs are written where the caller wants them: a value of its own, dense, returned once. */
static bool is_output_ready(struct graph *graph, int output)
{
    const struct value *value = graph->outputs[output];

    if (value_is_lent(value->base) || value->base->op->code == GRAPH_OP_FENCE)
        return false;
    if (!value_is_dense(&graph->cx->arena, value) || !dim_equals(value->offset, 0) ||
        !dim_equal(dims_count(&graph->cx->arena, value), dims_count(&graph->cx->arena, value->base)))
        return false;
    for (int i = 0; i < output; i++)
        if (graph->outputs[i]->base == value->base)
            return false;
    return true;
}

/* What a tail cannot read is expanded to the whole result: that it can. */
static void tail_operands(struct legal *legal, struct op *op, int *at)
{
    struct graph *graph = legal->graph;

    for (int j = op->tail_first; j < op->input_count; j++) {
        const struct value *out = op->outputs[0];
        struct value *whole;

        if (pass_reads(graph, op, j))
            continue;
        whole = make_expand(site_by(graph, at, op->inputs[j]->op), op->inputs[j], out->ndim, out->dims);
        if (whole != op->inputs[j])
            view_resolve(&graph->cx->arena, whole->op, op->inputs[j], whole);
        graph_input(graph, op, j, insert_copy(legal, at, whole, true));
    }
}

/* Where results are made at the latest. */
static int end_of_call(const struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_YIELD)
            return i;
    return graph->op_count;
}

void pass_legalise(struct graph *graph)
{
    struct legal legal = {.graph = graph};
    struct graph_walk walk;
    struct op *op;
    int end;

    graph_walk(graph, &walk);
    while ((op = graph_next(graph, &walk)) != NULL) {
        int at = graph->op_count - 1;

        if (op->code == GRAPH_OP_VIEW) {
            if (!view_resolve(&graph->cx->arena, op, op->inputs[0], op->outputs[0])) {
                graph_input(graph, op, 0, insert_copy(&legal, &at, op->inputs[0], true));
                view_resolve(&graph->cx->arena, op, op->inputs[0], op->outputs[0]);
            }
            continue;
        }
        if (pass_takes_head(graph, op) && !pass_reads(graph, op, 0) && value_is_input(op->inputs[0]))
            op->head = dag_identity(&graph->cx->arena,
                                    op->inputs[0]->dtype); /* its lines are turned one by one */
        for (int j = 0; j < op->input_count; j++) {
            bool own = needs_own_memory(graph, at, j);

            if (own || (j < op->tail_first && !pass_reads(graph, op, j)))
                graph_input(graph, op, j, insert_copy(&legal, &at, op->inputs[j], !own));
        }
        if (op_rows[op->code]->across && !value_is_static(graph, op->inputs[1]))
            graph_input(graph, op, 1, insert_across(&legal, &at, op->inputs[1]));
        for (int j = 0; j < op->output_count; j++)
            set_dense(graph, op->outputs[j]);
        tail_operands(&legal, op, &at);
    }
    end = end_of_call(graph);
    for (int i = 0; i < graph->output_count; i++) {
        int at = i < graph->result_count ? end : graph->op_count;
        const int before = at;

        if (!is_output_ready(graph, i))
            graph_output(graph, i, insert_copy(&legal, &at, graph->outputs[i], false));
        end += i < graph->result_count ? at - before : 0;
    }
    graph->resolved = true;
}
