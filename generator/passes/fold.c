/* fold.c - takes scales and shifts per channel into the weights before them: BatchNorm behind a convolution, a bias
 * added behind a product. The new weights are values computed from parameters, so `prepare` moves them to MODEL_pack
 * and weights stay swappable.
 *
 * Never where hooks see the values between (fenced), nor without a packed block; and no scale goes into weights that
 * `storage` rounds, which would be other weights then. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* The axis of an op's output that its weights' outputs lie on, or -1: nothing folds into it. */
static int channel_axis(const struct op *op)
{
    if (op->tail || op->dag)
        return -1;
    if (op->code == GRAPH_OP_CONV)
        return 1;
    return op->code == GRAPH_OP_CONTRACT && op->inputs[1]->ndim == 2 ? op->outputs[0]->ndim - 1 : -1;
}

/* Does `factor`, broadcast to `out`, vary along `axis` alone? */
static bool along_axis(const struct value *factor, const struct value *out, int axis)
{
    for (int i = 0; i < factor->ndim; i++) {
        int at = out->ndim - factor->ndim + i;

        if (at == axis ? !dim_equal(factor->dims[i], out->dims[at]) && !dim_equals(factor->dims[i], 1)
                       : !dim_equals(factor->dims[i], 1))
            return false;
    }
    return true;
}

static struct dag *binary(struct graph *graph, enum prim prim, enum dtype dtype)
{
    struct arena *arena = &graph->cx->arena;
    struct dag *dag = dag_new(arena, 2);

    dag->result = dag_prim(arena, dag, prim, dtype, dag_load(arena, dag, 0, dtype),
                           dag_load(arena, dag, 1, dtype), -1);
    return dag;
}

/* x op factor, where the map is exactly that. The operand that comes from `product` is x. */
static bool is_binary(const struct op *map, const struct value *product, enum prim *prim,
                      struct value **factor)
{
    const struct dag *dag = map->dag;
    const struct dag_node *node = &dag->nodes[dag->result];

    if (map->input_count != 2 || (node->prim != PRIM_MUL && node->prim != PRIM_ADD))
        return false;
    for (int i = 0; i < 2; i++)
        if (dag->nodes[node->args[i]].prim != PRIM_LOAD)
            return false;
    if (dag->nodes[node->args[0]].input == dag->nodes[node->args[1]].input)
        return false;
    *prim = node->prim;
    *factor = map->inputs[map->inputs[0] == product ? 1 : 0];
    return true;
}

static struct op *only_user(const struct value *value)
{
    return graph_uses(value) == 1 && value->user_count == 1 ? value->users[0] : NULL;
}

/* Where axis `axis` of the view's input is in its output, or -1: nowhere as a whole. */
static int axis_behind(struct arena *arena, const struct op *view, int axis)
{
    const struct value *in = view->inputs[0], *out = view->outputs[0];
    const struct dim *before = dim_const(arena, 1), *count = before;

    if (view->view.kind == VIEW_PERMUTE) {
        for (int i = 0; i < out->ndim; i++)
            if (view->view.perm[i] == axis)
                return i;
    } else if (view->view.kind == VIEW_RESHAPE) {
        for (int i = 0; i < axis; i++)
            before = dim_mul(arena, before, in->dims[i]);
        for (int i = 0; i < out->ndim; i++) {
            if (dim_equal(count, before) && dim_equal(out->dims[i], in->dims[axis]))
                return i;
            count = dim_mul(arena, count, out->dims[i]);
        }
    }
    return -1;
}

/* What reads the op's value alone, perhaps through views that leave the channels' axis whole; these move with it. */
struct reader {
    struct op *map, *views[8];
    int view_count, axis;
    struct value *seen; /* what the map reads */
};

static bool find_reader(struct graph *graph, struct op *op, struct reader *reader)
{
    struct op *user;

    reader->view_count = 0;
    reader->axis = channel_axis(op);
    if (reader->axis < 0) /* as of ops that have no output */
        return false;
    reader->seen = op->outputs[0];
    while (reader->axis >= 0 && (user = only_user(reader->seen))) {
        reader->map = user;
        if (user->code != GRAPH_OP_VIEW)
            return user->code == GRAPH_OP_MAP;
        if (reader->view_count == (int)(sizeof reader->views / sizeof *reader->views))
            return false;
        reader->views[reader->view_count++] = user;
        reader->axis = axis_behind(&graph->cx->arena, user, reader->axis);
        reader->seen = user->outputs[0];
    }
    return false;
}

/* Folds the map (its value: seen op factor) into the op; false if it does not fit. */
static bool fold_map(struct graph *graph, struct op *op, const struct reader *reader)
{
    struct value *product = reader->seen, *factor, *flat, *weight = op->inputs[1], *bias;
    struct op *map = reader->map;
    enum dtype dtype = product->dtype;
    int axis = reader->axis, position = graph_position(graph, map);
    const struct dim *channels, *dims[MAX_DIMS];
    struct value *pair[2];
    enum prim prim;
    bool *has_bias = op->code == GRAPH_OP_CONV ? &op->window.bias : &op->contract.bias;

    if (!is_binary(map, product, &prim, &factor) || !value_is_static(graph, factor) ||
        factor->dtype != dtype || (prim == PRIM_MUL && op_is_narrow(graph, op)) ||
        !along_axis(factor, product, axis) || !value_is_static(graph, weight) ||
        !dims_equal(map->outputs[0], product) || (*has_bias && !value_is_static(graph, op->inputs[2])) ||
        pass_write_between(graph, op, graph_position(graph, op), position))
        return false;
    channels = product->dims[axis];
    bias = *has_bias ? op->inputs[2] : NULL;
    dims[0] = dims_count(&graph->cx->arena, factor);
    flat = make_reshape(site_by(graph, &position, factor->op), factor, 1, dims);
    flat = make_expand(site_by(graph, &position, flat->op), flat, 1, &channels);
    if (prim == PRIM_MUL) {
        if (op->code == GRAPH_OP_CONV) { /* (oc, ic, kh, kw) times (oc, 1, 1, 1) */
            dims[0] = channels;
            for (int i = 1; i < weight->ndim; i++)
                dims[i] = dim_const(&graph->cx->arena, 1);
            pair[1] = make_reshape(site_by(graph, &position, flat->op), flat, weight->ndim, dims);
        } else {
            pair[1] = flat; /* (k, n) times (n) */
        }
        pair[0] = weight;
        graph_input(
            graph, op, 1,
            make_map(site_by(graph, &position, pair[0]->op), "mul", binary(graph, PRIM_MUL, dtype), pair, 2));
    }
    if (bias) {
        pair[0] = bias;
        pair[1] = flat;
        bias = make_map(site_by(graph, &position, pair[0]->op), prim == PRIM_MUL ? "mul" : "add",
                        binary(graph, prim, dtype), pair, 2);
    } else if (prim == PRIM_ADD) {
        bias = flat;
    }
    if (bias) {
        if (!*has_bias) {
            struct value **inputs = ARENA_ARRAY(&graph->cx->arena, 4, struct value *);

            memcpy(inputs, op->inputs, 2 * sizeof *inputs);
            inputs[2] = bias;
            graph_inputs(graph, op, inputs, 3);
            op->tail_first = 3;
            *has_bias = true;
        }
        graph_input(graph, op, 2, bias);
    }

    /* The op moves behind what its new weights need, and takes the map's place. */
    graph_move(graph, graph_position(graph, op), graph_position(graph, map) - 1);
    for (int i = 0; i < reader->view_count; i++)
        graph_move(graph, graph_position(graph, reader->views[i]), graph_position(graph, map) - 1);
    graph_replace(graph, map->outputs[0], product);
    graph_remove(graph, graph_position(graph, map));
    return true;
}

void pass_fold(struct graph *graph)
{
    const struct settings *settings = &graph->program->settings;

    if (graph->fenced || graph->saves || !settings->pack)
        return;
    pass_prepare(graph);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        struct reader reader;

        while (find_reader(graph, op, &reader) && fold_map(graph, op, &reader))
            pass_prepare_from(graph, i, op);
        if (graph->ops[i] != op)
            i--; /* it moved: look at what stands here now */
    }
}
