/* toolkit.c - what passes ask and do in common: what is static, what may change between two places, and ops that they make. */
#include "passes/toolkit.h"

#include <string.h>

bool tensor_changes_in_training(const struct module_tensor *tensor)
{
    return tensor->written && !tensor->written_in_eval &&
           (tensor->owner->layer || tensor->kind == MODULE_PARAMETER);
}

static bool tensor_is_static(const struct graph *graph, const struct module_tensor *tensor)
{
    if (tensor->kind == MODULE_STATE)
        return false;
    return !tensor->written || (!graph->training && tensor_changes_in_training(tensor));
}

bool value_is_static(const struct graph *graph, struct value *value)
{
    const struct value *root = value_root(value);

    if (root->op->code == GRAPH_OP_CONST || root->prepared)
        return true;
    return root->op->code == GRAPH_OP_TENSOR && tensor_is_static(graph, root->op->tensor.tensor);
}

bool value_has_constant_dims(const struct value *value)
{
    for (int i = 0; i < value->ndim; i++)
        if (!dim_is_const(value->dims[i], NULL))
            return false;
    return true;
}

bool value_is_input(struct value *value)
{
    return value_root(value)->op->code == GRAPH_OP_INPUT;
}

/* An element as an integer needs all of its row, and one as a code its panel, so views alone may lie between it and the parameter, a
 * matrix. */
static const struct storage *packed_as(const struct graph *graph, const struct module_tensor *tensor,
                                       struct value *weight)
{
    const struct storage *storage = tensor->storage;

    if (value_root(weight)->op->code == GRAPH_OP_TENSOR && tensor->ndim <= 2)
        return graph->program->settings.small ? storage_plain(storage) : storage; /* chips look no codes up */
    return storage_is_scaled(storage) ? NULL : storage_plain(storage);
}

const struct storage *op_storage(const struct graph *graph, const struct op *op)
{
    struct value *weight, *root;

    if (!op_rows[op->code]->narrow || op->outputs[0]->prepared || !graph->program->tree->narrow)
        return NULL;
    weight = op->inputs[1];
    root = value_root(weight);
    while (root->prepared && root->op->code == GRAPH_OP_MAP &&
           dag_is_identity(root->op->dag)) /* a copy for its order */
        root = value_root(root->op->inputs[0]);
    return weight->ndim == 2 && weight->dtype == graph->program->tree->dtype &&
                   value_is_static(graph, weight) && root->op->code == GRAPH_OP_TENSOR &&
                   root->op->tensor.tensor->kind == MODULE_PARAMETER && !dim_equals(weight->dims[0], 0) &&
                   !dim_equals(weight->dims[1], 0)
               ? packed_as(graph, root->op->tensor.tensor, weight)
               : NULL;
}

bool op_is_packed(const struct graph *graph, const struct op *op)
{
    int bias = op_bias_at(op);

    return graph->program->settings.pack && !op->outputs[0]->prepared &&
           value_is_static(graph, op->inputs[1]) && (bias < 0 || value_is_static(graph, op->inputs[bias]));
}

struct nodes nodes_new(struct graph *graph, int inputs)
{
    return (struct nodes){&graph->cx->arena, dag_new(&graph->cx->arena, inputs)};
}

int node_two(struct nodes n, enum prim prim, int a, int b)
{
    return dag_prim(n.arena, n.dag, prim, prim_is_comparison(prim) ? DTYPE_BOOL : n.dag->nodes[a].dtype, a, b,
                    -1);
}

int node_with(struct nodes n, enum prim prim, int a, int64_t number)
{
    return node_two(n, prim, a, dag_integer(n.arena, n.dag, n.dag->nodes[a].dtype, number));
}

void pass_drop_unread(struct graph *graph, struct op *op, struct dag **dag, int first)
{
    struct arena *arena = &graph->cx->arena;
    const bool *read = dag_loads(arena, *dag);
    struct value **all;
    int whole;
    int ahead = (*dag)->input_count - (op->tail_first - first), *nodes, count = first;
    struct value **inputs;
    struct dag *left;

    while (count < op->tail_first && read[ahead + count - first])
        count++;
    if (count == op->tail_first)
        return;
    nodes = ARENA_ARRAY(arena, (*dag)->input_count, int);
    inputs = ARENA_ARRAY(arena, op->input_count, struct value *);
    left = dag_new(arena, (*dag)->input_count);
    for (int i = 0; i < ahead; i++)
        nodes[i] = dag_load(arena, left, i, op->inputs[0]->dtype);
    count = 0;
    for (int i = 0; i < op->input_count; i++) {
        bool loaded = i >= first && i < op->tail_first;

        if (loaded && !read[ahead + i - first])
            continue;
        if (loaded)
            nodes[ahead + i - first] = dag_load(arena, left, ahead + count - first, op->inputs[i]->dtype);
        inputs[count++] = op->inputs[i];
    }
    left->result = dag_inline(arena, left, *dag, nodes);
    op->tail_first -= op->input_count - count;
    left->input_count = ahead + op->tail_first - first;
    *dag = left;
    all = op->inputs;
    whole = op->input_count;
    graph_inputs(graph, op, inputs, count);
    for (int i = first; i < whole && op->placed; i++)
        graph_drop(graph, all[i]->op);
}

bool op_is_depthwise(const struct op *op)
{
    int64_t in, out;

    return op->window.channels_last && dim_is_const(op->inputs[0]->dims[3], &in) &&
           dim_is_const(op->outputs[0]->dims[3], &out) && in == out && op->window.groups == in;
}

#define LINE_CHANNELS                                                                                        \
    16 /* at least so many, and as many pixels, for which lines of planes are turned one by one */
#define LINE_PIXELS 32

bool pass_takes_head(const struct graph *graph, const struct op *op)
{
    int64_t channels;

    if (op->code != GRAPH_OP_CONV || op->head || conv_is_int8(op) || !op->window.channels_last ||
        graph->fenced || !graph->program->settings.pack || !value_is_static(graph, op->inputs[1]) ||
        (op->window.bias && !value_is_static(graph, op->inputs[2])) ||
        !dim_is_const(op->inputs[0]->dims[3], &channels))
        return false;
    if (!graph->program->settings.backend->vectors) /* its kernels read values as they lie */
        return false;
    if (op->window.groups == 1)
        return channels % backend_lanes(graph->program->settings.backend, op->outputs[0]->dtype) != 0;
    return op_is_depthwise(op) && channels >= LINE_CHANNELS &&
           dim_upper(op->inputs[0]->dims[2]) >= LINE_PIXELS;
}

bool pass_may_join(const struct graph *graph, const struct op *a, const struct op *b)
{
    return !graph->fenced || a->call == b->call;
}

/* Whether the version is replaced by one of the ops behind `from` and in front of `to`. */
static bool is_replaced(const struct graph *graph, const struct value *root, int from, int to)
{
    const bool few = root->user_count < to - from; /* users: else there are fewer ops */
    const int first = few ? 0 : from + 1, end = few ? root->user_count : to;

    for (int i = first; i < end; i++) {
        const struct op *write = few ? root->users[i] : graph->ops[i];
        int at = i;

        if (!write->placed || write->code != GRAPH_OP_WRITE || write->inputs[0] != root)
            continue;
        if (few)
            at = graph_position(graph, write);
        if (at > from && at < to)
            return true;
    }
    return false;
}

bool pass_write_between(struct graph *graph, const struct op *op, int from, int to)
{
    for (int i = 0; i < op->input_count; i++) {
        const struct value *root = value_root(op->inputs[i]);

        if (value_may_be_written(root) && is_replaced(graph, root, from, to))
            return true;
        if (graph_next_hook(graph, op->inputs[i], from) < to)
            return true;
    }
    return false;
}
