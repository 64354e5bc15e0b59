/* fold.c - scales and shifts per channel behind a convolution or a product, as of BatchNorm. They go into its weights and its
 * bias, or come to stand directly behind it, in front of the views between, so that `fuse` makes them its tail.
 *
 * note [scales]
 * Scaled weights are values computed from parameters, so `prepare` moves them to MODEL_pack, and weights stay swappable. They cost
 * nothing, but no other graph reads them: training mode and hooks see the convolution's own result, and the state_dict wants the
 * weights themselves. Where each weight is to be packed once (`settings.packs_once`) the scale therefore is a tail, which costs
 * one multiply-add a result. The same where `storage` rounds weights: scaled ones would be others.
 *
 * Never where hooks see the values between (fenced), nor without a packed block. */
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
        return conv_is_int8(op) ? -1 : 1;
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

/* What reads a value alone, perhaps through views that leave the channels' axis whole. */
struct reader {
    struct op *map, *views[8];
    int view_count, axis;
    struct value *seen; /* what the map reads */
};

static bool find_reader(struct graph *graph, struct value *value, int axis, struct reader *reader)
{
    struct op *user;

    *reader = (struct reader){.axis = axis, .seen = value};
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

/* Whether the map is: seen, times or plus a factor that is there before the call and varies along the channels alone. */
static bool is_by_channel(const struct graph *graph, const struct reader *reader, enum prim *prim,
                          struct value **factor)
{
    const struct value *seen = reader->seen;

    return is_binary(reader->map, seen, prim, factor) && value_is_static(graph, *factor) &&
           (*factor)->dtype == seen->dtype && along_axis(*factor, seen, reader->axis) &&
           dims_equal(reader->map->outputs[0], seen);
}

/* The factor as (channels), made in front of `*position`. */
static struct value *flatten(struct graph *graph, int *position, struct value *factor,
                             const struct dim *channels)
{
    const struct dim *count = dims_count(&graph->cx->arena, factor);

    factor = make_reshape(site_by(graph, position, factor->op), factor, 1, &count);
    return make_expand(site_by(graph, position, factor->op), factor, 1, &channels);
}

/* The op, or the map in front of the views, stands behind what it newly reads: the views follow it. */
static void follow(struct graph *graph, const struct reader *reader)
{
    for (int i = 0; i < reader->view_count; i++)
        graph_move(graph, graph_position(graph, reader->views[i]), graph_position(graph, reader->map) - 1);
    graph_replace(graph, reader->map->outputs[0], reader->seen);
    graph_remove(graph, graph_position(graph, reader->map));
}

static bool *bias_of(struct op *op)
{
    return op->code == GRAPH_OP_CONV ? &op->window.bias : &op->contract.bias;
}

/* Whether the weights, and the bias that there is, are known before the call, and stay as they are up to the map. */
static bool takes_factors(struct graph *graph, struct op *op, const struct reader *reader)
{
    return value_is_static(graph, op->inputs[1]) &&
           (!*bias_of(op) || value_is_static(graph, op->inputs[2])) &&
           !pass_write_between(graph, op, graph_position(graph, op), graph_position(graph, reader->map));
}

/* a times or plus b, in front of `*position`. */
static struct value *join(struct graph *graph, int *position, enum prim prim, struct value *a,
                          struct value *b)
{
    struct value *pair[2] = {a, b};

    return make_map(site_by(graph, position, a->op), prim == PRIM_MUL ? "mul" : "add",
                    binary(graph, prim, a->dtype), pair, 2);
}

/* The op reads this bias, and takes the map's place behind what makes it. */
static void set_bias(struct graph *graph, struct op *op, struct value *bias)
{
    bool *has_bias = bias_of(op);

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

/* Makes the shift the op's bias, or a part of it; `shift` is flat. */
static void fold_shift(struct graph *graph, struct op *op, int *position, struct value *shift)
{
    set_bias(graph, op, *bias_of(op) ? join(graph, position, PRIM_ADD, op->inputs[2], shift) : shift);
}

/* Makes the scale a part of the op's weights and bias; `scale` is flat. */
static void fold_scale(struct graph *graph, struct op *op, int *position, struct value *scale)
{
    struct value *weight = op->inputs[1], *factor = scale; /* (k, n) times (n) */

    if (op->code == GRAPH_OP_CONV) { /* (oc, ic, kh, kw) times (oc, 1, 1, 1) */
        const struct dim *dims[MAX_DIMS];

        for (int i = 0; i < weight->ndim; i++)
            dims[i] = i == 0 ? scale->dims[0] : dim_const(&graph->cx->arena, 1);
        factor = make_reshape(site_by(graph, position, scale->op), scale, weight->ndim, dims);
    }
    graph_input(graph, op, 1, join(graph, position, PRIM_MUL, weight, factor));
    if (*bias_of(op))
        graph_input(graph, op, 2, join(graph, position, PRIM_MUL, op->inputs[2], scale));
}

/* Makes the map a part of what the op multiplies by and adds; false if it does not fit. */
static bool fold_map(struct graph *graph, struct op *op, const struct reader *reader, enum prim prim,
                     struct value *factor)
{
    int position = graph_position(graph, reader->map);

    if ((prim == PRIM_MUL && !op_is_calibrated(op) &&
         (graph->program->settings.packs_once || op_storage(graph, op))) ||
        !takes_factors(graph, op, reader))
        return false;
    factor = flatten(graph, &position, factor, reader->seen->dims[reader->axis]);
    (prim == PRIM_MUL ? fold_scale : fold_shift)(graph, op, &position, factor);
    graph_move(graph, graph_position(graph, op), graph_position(graph, reader->map) - 1);
    follow(graph, reader);
    return true;
}

/* Puts the map in front of the views, behind `value`, whose channels lie on `axis`; what is there then. */
static struct value *move_map(struct graph *graph, struct value *value, int axis, const struct reader *reader,
                              enum prim prim, struct value *factor)
{
    int position = graph_position(graph, reader->map);
    const struct dim *dims[MAX_DIMS];
    struct value *pair[2];

    if (reader->view_count == 0)
        return reader->map->outputs[0];
    for (int i = 0; i < value->ndim; i++)
        dims[i] = i == axis ? value->dims[i] : dim_const(&graph->cx->arena, 1);
    factor = flatten(graph, &position, factor, value->dims[axis]);
    pair[0] = value;
    pair[1] = make_reshape(site_by(graph, &position, factor->op), factor, value->ndim, dims);
    value = make_map(site_by(graph, &position, reader->map), reader->map->label,
                     binary(graph, prim, value->dtype), pair, 2);
    graph_input(graph, reader->views[0], 0, value);
    follow(graph, reader);
    return value;
}

/* All that is by channel behind the op. */
static void fold_behind(struct graph *graph, struct op *op)
{
    const int axis = channel_axis(op), from = graph_position(graph, op);
    struct value *value = axis >= 0 ? op->outputs[0] : NULL; /* some ops have no output */
    struct reader reader;

    while (value && find_reader(graph, value, axis, &reader)) {
        struct value *factor;
        enum prim prim;

        if (!is_by_channel(graph, &reader, &prim, &factor))
            break;
        if (value != op->outputs[0] || !fold_map(graph, op, &reader, prim, factor))
            value = move_map(graph, value, axis, &reader, prim, factor);
        pass_prepare_from(graph, from, value->op);
    }
}

void pass_fold(struct graph *graph)
{
    if (graph->fenced || graph->saves || !graph->program->settings.pack)
        return;
    pass_prepare(graph);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        fold_behind(graph, op);
        if (graph->ops[i] != op)
            i--; /* it moved: look at what stands here now */
    }
}
