/* fuse.c - joins elementwise ops: into each other, into the tails of the ops before them, into the heads of reductions and
 * of first convolutions, and into writes. What is computed is the same; values between are never stored. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* More operands than this make a kernel slower and unreadable. */
#define FUSE_MAX_INPUTS 12
#define FUSE_MAX_NODES 64
#define FUSE_MAX_LABEL 32 /* what joins longer ones is called fused */

enum { SIZES = 12 }; /* of dags: powers of two of nodes */

struct fuse {
    struct graph *graph;
    struct spares {
        struct dag **dags;
        int count, room;
    } spares[SIZES]; /* by size: what was joined into others. What joins next takes its memory. */
};

static int size_of(int nodes)
{
    int size = 0;

    while (1 << size < nodes && size < SIZES - 1)
        size++;
    return size;
}

/* A dag for one op of this graph, with room for so many nodes. */
static struct dag *take_dag(struct fuse *fuse, int nodes)
{
    struct arena *arena = &fuse->graph->cx->arena;
    const int size = size_of(nodes);
    struct spares *spares = &fuse->spares[size];
    struct dag *dag;

    if (spares->count > 0) {
        dag = spares->dags[--spares->count];
        dag->count = 0;
        dag->input_count = FUSE_MAX_INPUTS;
    } else {
        dag = dag_new(arena, FUSE_MAX_INPUTS);
        dag->room = 1 << size;
        dag->nodes = ARENA_ARRAY(arena, dag->room, struct dag_node);
    }
    dag->spare = true;
    return dag;
}

/* Nothing reads it any more: it may have been made here. */
static void leave_dag(struct fuse *fuse, struct dag *dag)
{
    struct spares *spares = &fuse->spares[size_of(dag->room)];

    if (!dag->spare || dag->room != 1 << size_of(dag->room))
        return;
    dag->spare = false;
    ARENA_PUSH_ROOM(&fuse->graph->cx->arena, spares->dags, spares->count, spares->room, dag);
}

/* Who comes behind may share it with others. */
static void keep_dags(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (op->dag)
            op->dag->spare = false;
        if (op->head)
            op->head->spare = false;
        if (op->tail)
            op->tail->spare = false;
    }
}

/* Adds values to an op's inputs, each once; the nodes that load them go to nodes[]. `base` is the number of inputs that its dag
 * does not count. */
static void add_inputs(struct value **inputs, int *input_count, int base, struct value *const *values,
                       int count, int *nodes)
{
    for (int i = 0; i < count; i++) {
        int at = base;

        while (at < *input_count && inputs[at] != values[i])
            at++;
        if (at == *input_count)
            inputs[(*input_count)++] = values[i];
        nodes[i] = at - base;
    }
}

/* ---- labels --------------------------------------------------------------------------------------------------- */

/* "gt", "ne_eq_or": a condition, which says little beside what it is for. */
static bool is_condition(const char *label)
{
    static const char words[] = " eq ne lt le gt ge and or not fused ";

    for (;;) {
        size_t length = strcspn(label, "_");
        const char *at = words;

        while (at[1] && (strncmp(at + 1, label, length) != 0 || at[1 + length] != ' '))
            at += 1 + strcspn(at + 1, " ");
        if (!at[1])
            return false;
        if (!label[length])
            return true;
        label += length + 1;
    }
}

/* Of a map that goes into what reads it. */
static const char *label_inlined(struct arena *arena, const char *map, const char *reader)
{
    if (strcmp(map, "copy") == 0 || strcmp(map, "size") == 0 ||
        (is_condition(map) && !is_condition(reader)) || strncmp(reader, "fused_", 6) == 0)
        return reader;
    return strlen(map) + 1 + strlen(reader) > FUSE_MAX_LABEL ? arena_format(arena, "fused_%s", reader)
                                                             : arena_format(arena, "%s_%s", map, reader);
}

/* Of an op that goes on with the map. */
static const char *label_with_tail(struct arena *arena, const char *op, const char *map)
{
    size_t length = strlen(op);

    if (strcmp(map, "copy") == 0 || (length > 6 && strcmp(op + length - 6, "_fused") == 0))
        return op;
    return length + 1 + strlen(map) > FUSE_MAX_LABEL ? arena_format(arena, "%s_fused", op)
                                                     : arena_format(arena, "%s_%s", op, map);
}

/* ---- map into map, write or reduction ---------------------------------------------------------------------- */

/* A write may read its own slot only element by element. */
static bool write_hazard(const struct op *op, struct value *const *inputs, int count)
{
    if (op->code != GRAPH_OP_WRITE)
        return false;
    for (int i = 0; i < count; i++)
        if (value_root(inputs[i]) == op->inputs[0] && inputs[i] != op->inputs[1])
            return true;
    return false;
}

/* A reduction runs over the shape that its inputs have together: is that still so if the map's stand there for its result? */
static bool keeps_shape(struct cx *cx, const struct op *op, int at, const struct op *map)
{
    const struct dim *left[MAX_DIMS], *whole[MAX_DIMS];
    int ndim = 0, count;
    bool fits = true;

    for (int i = 0; i < op->input_count; i++)
        fits = fits && (i == at || dims_broadcast(cx, left, &ndim, op->inputs[i]));
    for (int i = 0; i < map->input_count; i++)
        fits = fits && dims_broadcast(cx, left, &ndim, map->inputs[i]);
    memcpy(whole, left, (size_t)ndim * sizeof *whole);
    count = ndim;
    fits = fits && dims_broadcast(cx, whole, &count, op->inputs[at]) && count == ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = dim_equal(whole[i], left[i]);
    return fits;
}

/* Whether it takes so long that it is worth a pass over memory to compute it in vectors. */
static bool is_long(const struct dag *dag)
{
    for (int i = 0; i < dag->count; i++)
        if (prim_is_long(dag->nodes[i].prim))
            return true;
    return false;
}

static bool is_narrower(const struct value *value, const struct value *than)
{
    return dtype_rows[value->dtype].bytes < dtype_rows[than->dtype].bytes;
}

/* Whether the map is the tail of an op that stores it in less than it computes in: it stays apart from who widens it again. */
static bool narrows(const struct op *map)
{
    for (int i = 0; i < map->input_count; i++)
        if (op_tail_narrows(map->inputs[i]->op) && is_narrower(map->outputs[0], map->inputs[i]))
            return true;
    return false;
}

/* Inlines the map that makes input `at` of `op`. */
static bool join_map(struct fuse *fuse, struct op *op, int at)
{
    struct graph *graph = fuse->graph;
    struct arena *arena = &graph->cx->arena;
    struct value *value = op->inputs[at];
    struct op *map = value->op;
    int base, first, count = 0, nodes[FUSE_MAX_INPUTS + MAX_DIMS], mapped[FUSE_MAX_INPUTS + MAX_DIMS];
    struct dag **slot, *dag, *old;
    struct op_body body;
    struct value **inputs;

    if (map->code != GRAPH_OP_MAP || !op_rows[op->code]->body || !op_rows[op->code]->body(op, &body) ||
        at < body.base || !pass_may_join(graph, map, op) || narrows(map))
        return false;
    slot = body.dag;
    base = body.base;
    first = body.first;
    /* computed again only where that is free, or once in MODEL_pack */
    if (map->input_count > 0 && !(value->prepared && op->outputs[0]->prepared) &&
        (!dims_equal(value, body.whole) || value->prepared || graph_uses(value) != 1))
        return false;
    if (map->input_count == 0 && op->code != GRAPH_OP_MAP &&
        (!dims_equal(value, body.whole) ||
         op->tail_first == 1)) /* a number, and nothing that says how many */
        return false;
    if (body.joint && !keeps_shape(graph->cx, op, at, map))
        return false;
    if (body.serial && is_long(map->dag)) /* a map's elements are made beside each other */
        return false;
    if (map->input_count + op->input_count > FUSE_MAX_INPUTS ||
        map->dag->count + (*slot ? (*slot)->count : 1) > FUSE_MAX_NODES ||
        write_hazard(op, map->inputs, map->input_count) ||
        pass_write_between(graph, map, graph_position(graph, map), graph_position(graph, op)))
        return false;
    if (!*slot)
        *slot = dag_identity(arena, value->dtype);
    old = *slot;
    inputs = ARENA_ARRAY(arena, op->input_count + map->input_count + 1, struct value *);
    for (int i = 0; i < op->input_count; i++)
        if (i != at)
            inputs[count++] = op->inputs[i];
    dag = take_dag(fuse, map->dag->count + old->count);

    /* nodes of the old dag's inputs: loads, or the inlined map */
    add_inputs(inputs, &count, base, map->inputs, map->input_count, nodes);
    for (int i = 0; i < map->input_count; i++)
        nodes[i] = dag_load(arena, dag, first + nodes[i], map->inputs[i]->dtype);

    int inlined = dag_inline(arena, dag, map->dag, nodes);

    if (first)
        mapped[0] = dag_load(arena, dag, 0, op->outputs[0]->dtype);
    for (int i = base, n = first; i < op->input_count; i++)
        mapped[first + i - base] = i == at ? inlined : dag_load(arena, dag, n, op->inputs[i]->dtype),
                           n += i != at;
    dag->result = dag_inline(arena, dag, old, mapped);
    dag->input_count = first + count - base;
    graph_inputs(graph, op, inputs, count);
    op->tail_first = count;
    *slot = dag;
    leave_dag(fuse, old);
    if (op->code == GRAPH_OP_MAP && op->label && map->label && strcmp(op->label, "copy") == 0) {
        op->label = map->label;
        op->first = map->first;
    } else if (op->code == GRAPH_OP_MAP && map->label) {
        const char *label = label_inlined(arena, map->label, op->label);

        if (label != op->label)
            op->first = map->first ? map->first : map->label;
        op->label = label;
    }
    return true;
}

/* ---- map into the tail of what makes its operand ------------------------------------------------------------ */

/* Does it vary along an axis of `out`? */
static bool spans(const struct value *operand, const struct value *out, int axis)
{
    int at = axis - (out->ndim - operand->ndim);

    return at >= 0 && !dim_equals(operand->dims[at], 1);
}

/* A norm's kernel steps through what the tail reads by row and by column, so that all axes of either have to be there, or
 * none: a vector of channels in rows of samples and channels would have to be expanded. */
static bool is_by_rows(const struct op *norm, const struct value *operand, const struct value *out)
{
    int columns = out->ndim - op_columns(norm);

    for (int i = 1; i < out->ndim; i++)
        if (i != columns && !dim_equals(out->dims[i], 1) && !dim_equals(out->dims[i - 1], 1) &&
            spans(operand, out, i) != spans(operand, out, i - 1))
            return false;
    return true;
}

/* The op stands where the map stood, and makes its value. */
static void take_place(struct graph *graph, struct op *op, struct op *map)
{
    struct value *out = map->outputs[0];

    graph_succeed(graph, op, map);
    out->op = op;
    out->result = 0;
    op->outputs[0] = out;
}

static bool join_tail(struct fuse *fuse, struct op *map, int at)
{
    struct graph *graph = fuse->graph;
    struct arena *arena = &graph->cx->arena;
    struct value *value = map->inputs[at], *out = map->outputs[0];
    struct op *op = value->op;
    int main_inputs = op->tail_first, from = graph_position(graph, op), count = 0;
    int nodes[FUSE_MAX_INPUTS], old_nodes[FUSE_MAX_INPUTS + 1], extra[FUSE_MAX_INPUTS];
    bool by_rows = op_rows[op->code]->tail == TAIL_BY_ROWS;
    struct value *others[FUSE_MAX_INPUTS], **inputs;
    int input_count = op->input_count;
    struct dag *dag;

    if (!op_takes_tail(op) || !pass_may_join(graph, op, map) || !dims_equal(value, out) || value->prepared ||
        out->prepared || op->input_count + map->input_count > FUSE_MAX_INPUTS ||
        map->dag->count + (op->tail ? op->tail->count : 1) > FUSE_MAX_NODES || graph_uses(value) != 1 ||
        pass_write_between(graph, op, from, graph_position(graph, map)))
        return false;
    if (by_rows && out->dtype != value->dtype && !op_tail_narrows(op))
        return false; /* kernels with tiles store what they compute in */
    if (op_tail_narrows(op) && is_narrower(value, out))
        return false;
    for (int i = 0; i < map->input_count; i++) {
        if (i == at)
            continue;
        if (by_rows && map->inputs[i]->dtype != value->dtype)
            return false;
        if (op_rows[op->code]->columns && !is_by_rows(op, map->inputs[i], out))
            return false;
        others[count++] = map->inputs[i];
    }
    /* others that are made between move before: only if the op itself moves to the map's place */
    if (!op->tail && dag_is_identity(map->dag) && out->dtype == value->dtype) {
        take_place(graph, op, map);
        return true;
    }
    if (!op->tail) {
        op->tail = dag_identity(arena, value->dtype);
        op->tail_first = main_inputs;
    }
    dag = take_dag(fuse, map->dag->count + op->tail->count);
    old_nodes[0] = dag_load(arena, dag, 0, op_computed(op));
    for (int i = main_inputs; i < op->input_count; i++)
        old_nodes[1 + i - main_inputs] = dag_load(arena, dag, 1 + i - main_inputs, op->inputs[i]->dtype);

    int before = dag_inline(arena, dag, op->tail, old_nodes);

    inputs = ARENA_ARRAY(arena, input_count + count + 1, struct value *);
    memcpy(inputs, op->inputs, (size_t)input_count * sizeof *inputs);
    add_inputs(inputs, &input_count, main_inputs, others, count, extra);
    graph_inputs(graph, op, inputs, input_count);
    for (int i = 0, n = 0; i < map->input_count; i++) {
        if (i == at)
            nodes[i] = before;
        else
            nodes[i] = dag_load(arena, dag, 1 + extra[n], others[n]->dtype), n++;
    }
    dag->result = dag_inline(arena, dag, map->dag, nodes);
    dag->input_count = 1 + op->input_count - main_inputs;
    leave_dag(fuse, op->tail);
    op->tail = dag;
    op->tail_first = main_inputs;
    if (!op->first && strcmp(map->label, "copy") != 0)
        op->first = op->label;
    op->label = label_with_tail(arena, op->label, map->label);
    op->last = map->call;
    take_place(graph, op, map);
    return true;
}

/* ---- map into the head of the convolution that reads it ------------------------------------------------------ */

/* (n, h, w, c) varies along its channels alone. */
static bool is_by_channel(const struct value *operand, int channels)
{
    for (int i = 0; i < operand->ndim; i++)
        if (!dim_equals(operand->dims[i], 1) && i - operand->ndim != channels - 4)
            return false;
    return true;
}

/* A camera's bytes become floating here, an image is scaled, without a copy of it: what the caller's image is to the map, and
 * channels are to what it is scaled by, through the permutation that may stand between. */
static void join_head(struct graph *graph, int *at, struct op *op)
{
    struct arena *arena = &graph->cx->arena;
    struct value *value = op->inputs[0], *inputs[FUSE_MAX_INPUTS + 4];
    const struct op *view = value->op->code == GRAPH_OP_VIEW && value->op->view.kind == VIEW_PERMUTE
                                ? value->op
                                : NULL;
    struct value *made = view ? view->inputs[0] : value;
    struct op *map = made->op;
    int nodes[FUSE_MAX_INPUTS], main = -1, count = conv_head_first(op), extra = 0;
    struct dag *dag;

    if (map->code != GRAPH_OP_MAP || map->input_count == 0 || made->prepared || graph_uses(value) != 1 ||
        graph_uses(made) != 1 || op->tail || count + map->input_count > FUSE_MAX_INPUTS ||
        pass_write_between(graph, map, graph_position(graph, map), *at))
        return;
    for (int i = 0; i < map->input_count; i++) {
        if (main < 0 && dims_equal(map->inputs[i], made) && value_is_input(map->inputs[i]))
            main = i;
        else if (!is_by_channel(map->inputs[i], view ? view->view.perm[3] : 3))
            return;
    }
    if (main < 0)
        return;
    dag = dag_new(arena, FUSE_MAX_INPUTS);
    memcpy(inputs, op->inputs, (size_t)count * sizeof *inputs);
    for (int i = 0; i < map->input_count; i++) {
        struct value *operand = map->inputs[i];
        const struct dim *dims[4];

        nodes[i] = dag_load(arena, dag, i == main ? 0 : ++extra, operand->dtype);
        if (view && operand->ndim > 0) {
            for (int d = 0; d < 4; d++)
                dims[d] = d < 4 - operand->ndim ? dim_const(arena, 1)
                                                : operand->dims[d - (4 - operand->ndim)];
            operand = make_permute(site_by(graph, at, operand->op),
                                   make_reshape(site_by(graph, at, operand->op), operand, 4, dims),
                                   view->view.perm);
        }
        inputs[i == main ? 0 : count++] = operand;
    }
    dag->result = dag_inline(arena, dag, map->dag, nodes);
    dag->input_count = 1 + extra;
    op->head = dag;
    graph_inputs(graph, op,
                 memcpy(ARENA_ARRAY(arena, count, struct value *), inputs, (size_t)count * sizeof *inputs),
                 count);
    op->tail_first = count;
}

static void join_heads(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++)
        if (pass_takes_head(graph, graph->ops[i]))
            join_head(graph, &i, graph->ops[i]);
    graph_sweep_unused(graph);
}

/* Whether an operand of the op at `*at` was joined; it stands there, or where *at is then, afterwards. */
static bool join_one(struct fuse *fuse, int *at, bool tails)
{
    struct graph *graph = fuse->graph;
    struct op *op = graph->ops[*at], *map = NULL;
    struct value *made = op->output_count > 0 ? op->outputs[0] : NULL, *operand = NULL;
    bool joined = false;

    if (!op->placed || (tails && op->code != GRAPH_OP_MAP))
        return false;
    if (!tails && op->code == GRAPH_OP_MAP) {
        pass_drop_unread(graph, op, &op->dag, 0); /* of integers `i - i` is 0 */
        *at = graph_position(graph, op);
    }
    for (int j = 0; j < op->input_count && !joined; j++) {
        operand = op->inputs[j];
        map = tails ? op : operand->op;
        joined = tails ? join_tail(fuse, op, j) : join_map(fuse, op, j);
    }
    if (joined) {
        graph_drop_later(graph, operand->op);
        if (!map->placed)
            leave_dag(fuse, map->dag);
        *at = graph_position(graph, made ? made->op : op);
    }
    return joined;
}

/* Joins until nothing changes; an op that took one operand is tried again at once. */
static void join_all(struct fuse *fuse, bool tails)
{
    struct graph *graph = fuse->graph;
    bool again = true;

    graph_sweep_unused(graph); /* so that what joins is used, and stays */
    while (again) {
        again = false;
        for (int i = 0; i < graph->op_count; i++)
            while (join_one(fuse, &i, tails))
                again = true;
    }
    graph_sweep_unused(graph);
}

/* Whether a write puts into its place what stands there already, as `self.k += 0` comes out. */
static bool is_idle(const struct op *op)
{
    return op->code == GRAPH_OP_WRITE && op->input_count == 3 && dag_is_identity(op->dag) &&
           view_same(op->inputs[2], op->inputs[1]);
}

static void drop_idle_writes(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (!is_idle(op))
            continue;
        graph_replace(graph, op->outputs[0], op->inputs[0]);
        graph_remove(graph, i--);
    }
}

/* The scatter that makes all of what a write puts into its slot, of the slot itself; NULL: it is none, or others want it. */
static struct op *find_rows(struct graph *graph, const struct op *write)
{
    const struct value *slot = write->inputs[0], *made = write->input_count == 3 ? write->inputs[2] : NULL;
    struct op *scatter = made ? made->op : NULL;

    if (!scatter || scatter->code != GRAPH_OP_SCATTER || write->inputs[1] != slot ||
        !dag_is_identity(write->dag) || scatter->inputs[0] != slot || scatter->scatter.along ||
        scatter->scatter.axis != 0 || scatter->inputs[1]->ndim != 1 || graph_uses(made) != 1 ||
        value_root(scatter->inputs[1]) == slot || value_root(scatter->inputs[2]) == slot ||
        !pass_may_join(graph, scatter, write) ||
        pass_write_between(graph, scatter, graph_position(graph, scatter), graph_position(graph, write)))
        return NULL;

    const struct dag_node *result = &scatter->dag->nodes[scatter->dag->result];

    return result->prim == PRIM_LOAD && result->input == 1 ? scatter : NULL;
}

/* self.keys = self.keys.index_copy(0, at, rows) touches these rows alone. */
static void write_rows(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i], *scatter = op->code == GRAPH_OP_WRITE ? find_rows(graph, op) : NULL;
        struct value **inputs;

        if (!scatter)
            continue;
        inputs = ARENA_ARRAY(&graph->cx->arena, 4, struct value *);
        inputs[0] = inputs[1] = op->inputs[0];
        inputs[2] = scatter->inputs[1];
        inputs[3] = scatter->inputs[2];
        op->write.rows = true;
        graph_inputs(graph, op, inputs, 4);
        op->tail_first = 4;
        graph_remove(graph, graph_position(graph, scatter));
        i--;
    }
}

/* Maps first, so that reductions and convolutions get heads before they get tails. */
void pass_fuse(struct graph *graph)
{
    struct fuse fuse = {.graph = graph};

    write_rows(graph);
    join_all(&fuse, false);
    drop_idle_writes(graph);
    join_heads(graph);
    join_all(&fuse, true);
    keep_dags(graph);
}
