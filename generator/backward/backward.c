/* backward.c - writes the gradient graph behind the forward one: which gradients are wanted, their sums, and what of the
 * forward call they read. How each op differentiates is adjoint.c's.
 *
 * note [two calls]
 * A graph that saves is that of two calls, MODEL_forward and MODEL_backward, with a YIELD between them: its inputs are the
 * results of the first, its outputs the gradients that come with the second. So one plan lays out both, and whatever backward
 * reads of forward's values lives until then. Results are copies where backward reads them too, since the caller may write
 * over his; inputs he has to keep. Random numbers are drawn again rather than kept.
 *
 * note [hooks and gradients]
 * What forward's hooks made of a value is what the ops behind the boundary read, in both calls; those before it differentiate
 * with what they made themselves. So a hook changes numbers, but no slope: gradients go through a boundary as they are. Hooks
 * change values where they lie: what backward reads as it was before is copied in front of the boundary.
 *
 * Where the gradients of a call's results have come together stand its backward pre-hooks, where those of its arguments have its
 * backward hooks; as in PyTorch, where no argument has a gradient these follow at once, without any. Hooks may end the call, so
 * that gradients of parameters are added to what is there behind the last of them.
 *
 * note [checkpoints]
 * What a call of a module that `checkpoint:` names makes, and the second call reads for that module's own gradients, is made
 * again there, in front of the op that first reads it: from what came into the call, which is kept as all that lies outside of
 * it, and from what of its own is kept in any case, because others read it. So at most one such call's values live at a time
 * beside those that are kept. Calls inside of one belong to it. Writes and checks are done once, in the first call, and so are
 * hooks: with them all is kept.
 *
 * note [regions in backward]
 * Of a region's forward, which lowering has made, the calls that gradients come to make regions with backward: one for each
 * set of inputs that want a gradient and of results that have one. Its graph is a copy, in which the parts follow each other;
 * gradients of parameters it adds itself, those of inputs are its results. What of its inputs and results backward reads, the
 * caller brings again, pass_regions says which. See note [regions] in graph.h. */
#include "backward/backward.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "backward/adjoint.h"
#include "base/emitted.h"
#include "graph/make.h"
#include "module/training.h"

/* A gradient of a value or, where axis is not negative, of a part of it. */
struct part {
    struct value *gradient;
    int axis;
    const struct dim *start, *length;
    struct part *next;
};

struct backward {
    struct adjoint adjoint;
    struct eval eval;
    struct graph *graph;
    bool *wanted;        /* by id of forward's values */
    struct part **parts; /* by id, in the order in which they came */
    struct part **last;  /* by id: of these, where there are any */
    struct op *yield;    /* where forward ends */
    int value_count;     /* of forward, before its gradients */
    bool *ahead;         /* by id: forward makes it, and it may be read behind */
    int ahead_count;
    struct value **
        again; /* by id of these: what is drawn or made again for backward, or a copy that is kept of a slot */
    bool *kept;  /* by id of these: of a checkpoint, but read outside of it */
    bool *drawn; /* by id of these: whether it is_drawn */
    struct held {
        const struct module_tensor *tensor;
        struct value *gradient;
        struct module_call *call;
    } * held; /* of parameters, until the last hook has run; with `update: fused` until all else stands */
    int held_count;
    struct op **commits; /* of regions with hooks, in the order of their backward */
    int commit_count;
    struct op **fences; /* with hooks: see fence_at */
};

static void write_backward(struct graph *graph);

/* ---- which gradients are wanted --------------------------------------------------------------------------------- */

/* By result of a region, of whose inputs those in `wanted` want a gradient: whether one flows back from it. */
static bool *flow_of_region(const struct region *region, const bool *wanted);

static bool input_wants(const struct graph *graph, const struct op *op)
{
    if (graph->region)
        return graph->region->wanted[op->input.index];
    return !graph->loss && !op->input.constant;
}

static bool flows(const struct backward *b, const struct op *op)
{
    if (op->code == GRAPH_OP_INPUT)
        return input_wants(b->graph, op);
    if (op->code == GRAPH_OP_TENSOR)
        return op->tensor.tensor->kind == MODULE_PARAMETER && op->tensor.tensor->requires_grad;
    for (int i = 0; i < op->input_count; i++)
        if (b->wanted[op->inputs[i]->id] && op_carries(op, i))
            return true;
    return false;
}

static bool *wanted_inputs(const struct backward *b, const struct op *op)
{
    bool *wanted = ARENA_ARRAY(&b->graph->cx->arena, op->input_count + 1, bool);

    for (int i = 0; i < op->input_count; i++)
        wanted[i] = b->wanted[op->inputs[i]->id];
    return wanted;
}

static void find_wanted(struct backward *b)
{
    for (int i = 0; i < b->graph->op_count; i++) {
        const struct op *op = b->graph->ops[i];
        const bool wanted = flows(b, op), *by_result = NULL;

        if (op->code == GRAPH_OP_CALL)
            by_result = flow_of_region(op->invoke.region, wanted_inputs(b, op));
        for (int j = 0; j < op->output_count; j++)
            b->wanted[op->outputs[j]->id] = (op->code == GRAPH_OP_FENCE ? b->wanted[op->inputs[j]->id]
                                             : by_result                ? by_result[j]
                                                                        : wanted) &&
                                            dtype_is_float(op->outputs[j]->dtype);
    }
}

/* As PyTorch: "element 0 of tensors does not require grad and does not have a grad_fn". */
static void check_loss(const struct backward *b)
{
    const struct graph *graph = b->graph;
    const struct spec_training *training = graph->program->tree->spec->training;

    if (!graph->loss || graph->region || !(graph->training || graph->both_modes) ||
        b->wanted[graph->outputs[0]->id])
        return;
    diag_error(graph->cx, training->loss_loc, "the loss depends on no parameter that is trained");
    diag_hint(
        graph->cx,
        "no step would change anything: look for detach() or a comparison on the way to it, or for 'freeze'");
}

static bool *flow_of_region(const struct region *region, const bool *wanted)
{
    struct region asked = *region;
    struct graph graph = *region->graph;
    struct arena *arena = &graph.cx->arena;
    struct backward b = {.graph = &graph, .wanted = ARENA_ARRAY(arena, graph.value_count + 1, bool)};
    bool *flow = ARENA_ARRAY(arena, graph.output_count + 1, bool);

    asked.wanted = wanted;
    graph.region = &asked;
    find_wanted(&b);
    for (int i = 0; i < graph.output_count; i++)
        flow[i] = b.wanted[graph.outputs[i]->id];
    return flow;
}

static bool wants(const struct adjoint *adjoint, const struct value *value)
{
    const struct backward *b = adjoint->data;

    return value->id < b->value_count && b->wanted[value->id];
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

static void give_part(const struct adjoint *adjoint, struct value *value, int axis, const struct dim *start,
                      const struct dim *length, struct value *gradient)
{
    struct backward *b = adjoint->data;
    struct part *part;

    if (!gradient || !wants(adjoint, value))
        return;
    part = ARENA_NEW(&b->graph->cx->arena, struct part);
    *part = (struct part){gradient, axis, start, length, NULL};
    *(b->parts[value->id] ? &b->last[value->id]->next : &b->parts[value->id]) = part;
    b->last[value->id] = part;
}

/* What is made for a gradient is called by the value that it is of: dx. */
static void name_gradient(struct backward *b, const struct value *value, struct value *gradient)
{
    struct arena *arena = &b->graph->cx->arena;
    const struct module_call *call = value->op->call;
    const char *path = call ? relative_path(b->graph->root, call->module->path) : "";

    if (gradient->name || gradient->id < b->value_count || gradient->op->code == GRAPH_OP_CONST)
        return;
    gradient->local = value->local;
    if (value->name)
        gradient->name = arena_format(arena, "d%s", value->name);
    else if (path[0])
        gradient->name = arena_format(arena, isdigit((unsigned char)path[0]) ? "dy%s" : "d%s",
                                      emitted_flat(b->graph->cx, path));
}

static void give(const struct adjoint *adjoint, struct value *value, struct value *gradient)
{
    assert(!gradient || (dims_equal(value, gradient) && value->dtype == gradient->dtype));
    if (gradient)
        name_gradient(adjoint->data, value, gradient);
    give_part(adjoint, value, -1, NULL, NULL, gradient);
}

/* Takes the part out of the list that follows `from` along the axis with the smallest gap, which goes to *gap. NULL: none that
 * does for certain. */
static struct part *take_next(struct arena *arena, struct part **list, int axis, const struct dim *from,
                              const struct dim **gap)
{
    struct part **best = NULL, *found;

    for (struct part **at = list; *at; at = &(*at)->next) {
        const struct dim *between = (*at)->axis == axis ? dim_sub(arena, (*at)->start, from) : NULL;

        if (!between || dim_lower(between) < 0 || (best && dim_lower(dim_sub(arena, between, *gap)) >= 0))
            continue;
        best = at;
        *gap = between;
    }
    if (!best)
        return NULL;
    found = *best;
    *best = found->next;
    return found;
}

/* Parts along one axis, as many as do not overlap, with zeros where there are none, as one gradient of the whole. */
static struct value *join_parts(struct backward *b, const struct value *value, struct part **list, int axis)
{
    struct arena *arena = &b->graph->cx->arena;
    const struct dim *end = dim_const(arena, 0), *gap = NULL, *dims[MAX_DIMS];
    struct value **pieces = NULL;
    int count = 0;

    memcpy(dims, value->dims, sizeof dims);
    for (;;) {
        struct part *part = take_next(arena, list, axis, end, &gap);

        if (!part && count == 0) { /* the first in any case: where sizes decide it is known to fit too */
            part = *list;
            *list = part->next;
            gap = part->start;
        }
        if (!part)
            gap = dim_sub(arena, value->dims[axis], end);
        dims[axis] = gap;
        if (!dim_equals(gap, 0))
            ARENA_PUSH(arena, pieces, count,
                       adjoint_zeros(&b->eval, value->loc, value->dtype, value->ndim, dims));
        if (!part)
            return build_concat(&b->eval, value->loc, "concat", pieces, count, axis);
        ARENA_PUSH(arena, pieces, count, part->gradient);
        end = dim_add(arena, part->start, part->length);
    }
}

/* The sum of all that came; NULL: nothing did. */
static struct value *take(struct backward *b, const struct value *value)
{
    struct part *list = b->parts[value->id];
    struct value *sum = NULL;

    while (list) {
        struct value *gradient = list->gradient;

        if (list->axis >= 0)
            gradient = join_parts(b, value, &list, list->axis);
        else
            list = list->next;
        sum = sum ? adjoint_sum(&b->eval, value->loc, sum, gradient) : gradient;
    }
    b->parts[value->id] = NULL;
    return sum;
}

/* ---- the second call --------------------------------------------------------------------------------------------- */

/* A copy of a result, which the YIELD reads: the caller may write over his. */
static struct value *keep_result(struct backward *b, struct value *value)
{
    struct graph *graph = b->graph;
    struct op *copy = op_new(&b->eval, GRAPH_OP_MAP, "copy", &value, 1);

    copy->dag = dag_identity(&graph->cx->arena, value->dtype);
    copy->loc = value->loc;
    graph_append(graph, copy);
    return graph_value(graph, copy, value->dtype, value->ndim, value->dims);
}

static bool has_gradient(const struct graph *graph, int result)
{
    if (graph->region)
        return graph->region->given[result];
    return dtype_is_float(graph->outputs[result]->dtype) &&
           (!graph->loss || training_scales(graph->program->tree->training));
}

/* The YIELD brings the gradients of the results that are floating; of a region those that come. A loss has the gradient 1, or the
 * one that is brought: its scale. A
 * region's results stay as they are as long as backward wants them. */
static void add_yield(struct backward *b)
{
    struct graph *graph = b->graph;
    struct op *yield = op_new(&b->eval, GRAPH_OP_YIELD, "yield", graph->outputs, graph->output_count);
    struct value *loss = graph->outputs[0];

    for (int i = 0; i < graph->output_count; i++) {
        struct value *value = graph->outputs[i], *gradient;

        if (!graph->region) {
            yield->inputs[i] = keep_result(b, value);
            graph_output(graph, i, yield->inputs[i]);
        }
        if (!has_gradient(graph, i))
            continue;
        gradient = graph_value(graph, yield, value->dtype, value->ndim, value->dims);
        gradient->name = graph->region ? NULL : graph->output_names[i];
        give(&b->adjoint, value, gradient);
    }
    graph_append(graph, yield);
    b->yield = yield;
    if (graph->loss && !graph->region && !training_scales(graph->program->tree->training)) {
        struct ev one = ev_float(yield->loc, 1);

        give(&b->adjoint, loss,
             build_cast(&b->eval, yield->loc, build_scalar(&b->eval, yield->loc, &one), loss->dtype));
    }
}

/* What ops would have read that have nothing to compute. */
static void give_unread(struct backward *b)
{
    for (int i = 0; i < b->graph->unread_count; i++) {
        struct value *value = b->graph->unread[i];

        if (wants(&b->adjoint, value))
            give(&b->adjoint, value,
                 adjoint_zeros(&b->eval, value->loc, value->dtype, value->ndim, value->dims));
    }
    b->graph->unread_count = 0;
    b->graph->swept = false;
}

static struct value *gradient_slot(struct backward *b, const struct module_tensor *tensor, bool present)
{
    struct op *op = op_new(&b->eval, GRAPH_OP_GRADIENT, "gradient", NULL, 0);
    struct value *value;

    op->gradient.tensor = tensor;
    op->gradient.present = present;
    op->loc = tensor->loc;
    value = present ? graph_value(b->graph, op, dtype_part(tensor->dtype), 0, NULL)
                    : graph_value_of(b->graph, op, tensor);
    graph_append(b->graph, op);
    return value;
}

static void add_output(struct backward *b, struct value *value, const struct module_tensor *tensor)
{
    struct graph *graph = b->graph;
    int count = graph->output_count - graph->result_count;

    ARENA_PUSH(&graph->cx->arena, graph->gradient_of, count, tensor);
    graph_return(graph, value);
}

/* A parameter's gradient is added to the one that is there, if one is. */
static void add_parameter(struct backward *b, const struct module_tensor *tensor, struct value *gradient)
{
    struct arena *arena = &b->graph->cx->arena;
    enum dtype dtype = dtype_part(tensor->dtype);
    struct value *inputs[3] = {gradient, gradient_slot(b, tensor, false), gradient_slot(b, tensor, true)};
    struct dag *dag = dag_new(arena, 3);
    struct op *op = op_new(&b->eval, GRAPH_OP_MAP, "accumulate", inputs, 3);
    int nodes[3], present, sum;

    for (int i = 0; i < 3; i++)
        nodes[i] = dag_load(arena, dag, i, dtype);
    sum = dag_prim(arena, dag, PRIM_ADD, dtype, nodes[1], nodes[0], 0);
    present = dag_prim(arena, dag, PRIM_NE, DTYPE_BOOL, nodes[2], dag_const(arena, dag, dtype, 0), 0);
    dag->result = dag_prim(arena, dag, PRIM_SELECT, dtype, present, sum, nodes[0]);
    op->dag = dag;
    op->loc = tensor->loc;
    graph_value_of(b->graph, op, tensor)->name = tensor->name;
    graph_append(b->graph, op);
    add_output(b, op->outputs[0], tensor);
}

/* What `clip_grad_value_` makes of a gradient. */
static struct value *clipped(struct backward *b, struct value *gradient, double most)
{
    struct arena *arena = &b->graph->cx->arena;
    struct dag *dag = dag_new(arena, 1);
    enum dtype dtype = gradient->dtype;
    int x = dag_load(arena, dag, 0, dtype);

    for (int sign = 1; sign >= -1; sign -= 2) {
        int limit = dag_const(arena, dag, dtype, sign * most);
        int beyond = dag_prim(arena, dag, sign > 0 ? PRIM_GT : PRIM_LT, DTYPE_BOOL, x, limit, 0);

        x = dag_prim(arena, dag, PRIM_SELECT, dtype, beyond, limit, x);
    }
    dag->result = x;
    return build_map(&b->eval, gradient->loc, "clip", dag, &gradient, 1);
}

/* note [fused update]
 * With `update: fused` the gradient of a parameter is a value as any other, which an UPDATE reads. These stand at the end,
 * where all else has read the parameters; plan_order.c moves each to the front as far as it can go. A gradient that is another
 * parameter itself, as in (a * b).sum(), is copied, since that one is updated too. */
static void add_update(struct backward *b, const struct held *held)
{
    const struct training *training = b->graph->program->tree->training;
    const struct module_tensor *tensor = held->tensor;
    struct value *gradient = held->gradient, *value;
    struct op *op;

    b->eval.call = held->call;
    if (training->clip == CLIP_VALUE)
        gradient = clipped(b, gradient, training->max_norm);
    if (value_root(gradient)->op->code == GRAPH_OP_TENSOR)
        gradient = build_copy(&b->eval, tensor->loc, gradient);
    op = op_new(&b->eval, GRAPH_OP_UPDATE, "update", &gradient, 1);
    op->gradient.tensor = tensor;
    op->loc = tensor->loc;
    value = graph_value_of(b->graph, op, tensor);
    graph_append(b->graph, op);
    add_output(b, value, tensor);
}

/* Those that hooks or updates have held back. */
static void add_held(struct backward *b)
{
    if (b->graph->region && b->graph->fenced && b->held_count + b->commit_count > 0)
        graph_append(b->graph, op_new(&b->eval, GRAPH_OP_COMMIT, "commit", NULL, 0));
    for (int i = 0; i < b->commit_count; i++)
        graph_append(b->graph, b->commits[i]);
    for (int i = 0; i < b->held_count; i++) {
        if (b->graph->program->settings.fused)
            add_update(b, &b->held[i]);
        else
            add_parameter(b, b->held[i].tensor, b->held[i].gradient);
    }
    b->eval.call = NULL;
}

static void add_inputs(struct backward *b)
{
    struct graph *graph = b->graph;

    for (int i = 0; i < graph->input_count; i++) {
        struct value *input = graph->inputs[i], *gradient = b->wanted[input->id] ? take(b, input) : NULL;

        if (!b->wanted[input->id])
            continue;
        if (!gradient)
            gradient = adjoint_zeros(&b->eval, input->loc, input->dtype, input->ndim, input->dims);
        add_output(b, build_copy(&b->eval, input->loc, gradient), NULL);
    }
}

/* ---- what backward reads of forward ------------------------------------------------------------------------------ */

static bool is_drawn(struct backward *b, const struct value *value);

static bool is_made_of_drawn(struct backward *b, const struct op *op)
{
    bool drawn = false;

    if (op_rows[op->code]->draws)
        return true;
    if (op->code != GRAPH_OP_MAP && op->code != GRAPH_OP_VIEW)
        return false;
    for (int i = 0; i < op->input_count; i++) {
        bool own = is_drawn(b, op->inputs[i]);

        if (!own && op->inputs[i]->op->code != GRAPH_OP_CONST)
            return false;
        drawn |= own;
    }
    return drawn;
}

/* Random numbers, and what is made of them and of constants alone. */
static bool is_drawn(struct backward *b, const struct value *value)
{
    return value->id < b->ahead_count ? b->drawn[value->id] : is_made_of_drawn(b, value->op);
}

/* The forward op is the next. */
static void note_ahead(struct backward *b, const struct op *op)
{
    const bool drawn = is_made_of_drawn(b, op);

    for (int j = 0; j < op->output_count; j++) {
        b->ahead[op->outputs[j]->id] = true;
        b->drawn[op->outputs[j]->id] = drawn;
    }
}

/* A slot that a write replaces before backward reads it: its copy, made in front of the write. */
static struct value *keep_slot(struct backward *b, struct value *slot, int write, int *at)
{
    struct op *copy;
    struct value *value = b->again[slot->id];

    if (value)
        return value;
    copy = op_new(&b->eval, GRAPH_OP_MAP, "copy", &slot, 1);
    copy->dag = dag_identity(&b->graph->cx->arena, slot->dtype);
    copy->loc = slot->loc;
    value = b->again[slot->id] = graph_value(b->graph, copy, slot->dtype, slot->ndim, slot->dims);
    graph_insert(b->graph, write, copy);
    (*at)++;
    return value;
}

/* The outermost checkpoint that the op belongs to; NULL: none, as where hooks may have changed what is made in one. A region
 * whose class is in one is called again as a whole. */
static const struct module_call *checkpoint_of(const struct graph *graph, const struct op *op)
{
    const struct module_call *outermost = NULL;
    const bool whole = graph->fenced || (graph->region && graph->root->checkpoint);

    for (const struct module_call *call = whole ? NULL : op->call; call; call = call->outer)
        if (call->module->checkpoint)
            outermost = call;
    return outermost;
}

/* Whether backward makes the value again, for an op of the checkpoint `reader`, rather than read what forward made. All ops that
 * read it from outside of its own come before those inside. */
static bool is_made_again(struct backward *b, const struct value *value, const struct module_call *reader)
{
    const struct module_call *own = checkpoint_of(b->graph, value->op);

    if (is_drawn(b, value))
        return true;
    if (!own || b->kept[value->id] || op_rows[value->op->code]->source)
        return false;
    b->kept[value->id] = own != reader;
    return own == reader;
}

/* What an op of the checkpoint `reader`, which stands at `*at`, reads in the place of a value of forward; `*at` moves behind what
 * is put in front of it. */
static struct value *read_again(struct backward *b, struct value *value, const struct module_call *reader,
                                int *at)
{
    struct graph *graph = b->graph;
    const struct op *made = value->op;
    struct value *seen = NULL;
    bool view;
    struct op *op;

    if (value->id >= b->ahead_count || !b->ahead[value->id])
        return value;
    if (value_is_slot(value)) {
        for (int u = 0; value_may_be_written(value) && u < value->user_count; u++) {
            const struct op *write = value->users[u];
            const bool writes = write->code == GRAPH_OP_WRITE && write->inputs[0] == value;
            const int w = writes ? graph_position(graph, write) : *at;

            if (w < *at)
                return keep_slot(b, value, w, at);
        }
        return value;
    }
    view = made->code == GRAPH_OP_VIEW && !is_drawn(b, value);
    if (view)
        seen = read_again(b, made->inputs[0], reader, at);
    if (view ? seen == made->inputs[0] : !is_made_again(b, value, reader))
        return value;
    if (b->again[value->id])
        return b->again[value->id];
    op = make_like(graph, made);
    for (int i = 0; i < op->input_count; i++)
        op->inputs[i] = view ? seen : read_again(b, op->inputs[i], checkpoint_of(graph, made), at);
    for (int i = 0; i < made->output_count; i++) {
        const struct value *out = made->outputs[i];

        b->again[out->id] = graph_value(graph, op, out->dtype, out->ndim, out->dims);
        value_take_name(b->again[out->id], out);
    }
    graph_insert(graph, (*at)++, op);
    return b->again[value->id];
}

/* What the op at `from` read, if a hook may change it before the forward call ends: its copy. */
static struct value *keep(struct backward *b, struct value *value, int from)
{
    struct graph *graph = b->graph;
    int at;

    if (value->id >= b->value_count)
        return value;
    at = graph_next_hook(graph, value, from);
    if (at > graph_position(graph, b->yield))
        return value;
    for (int i = at - 1;
         graph->ops[i]->code == GRAPH_OP_MAP && graph->ops[i]->outputs[0]->id >= b->value_count; i--)
        if (graph->ops[i]->inputs[0] == value)
            return graph->ops[i]->outputs[0];
    return make_map(site_by(graph, &at, value->op), "copy", dag_identity(&graph->cx->arena, value->dtype),
                    &value, 1);
}

/* The same of all that the ops from `first` on read, which are made for the op at `from`. See note [hooks and gradients]. */
static void keep_all(struct backward *b, int first, int from)
{
    struct graph *graph = b->graph;

    for (int i = first; i < graph->op_count && graph->fenced; i++) {
        struct op *op = graph->ops[i];

        for (int j = 0; j < op->input_count; j++)
            graph_input(graph, op, j, keep(b, op->inputs[j], from));
        i = graph_position(graph, op); /* behind what was copied */
    }
}

static void read_forward(struct backward *b)
{
    struct graph *graph = b->graph;
    struct arena *arena = &graph->cx->arena;
    bool behind = false;

    b->ahead_count = graph->value_count;
    b->ahead = ARENA_ARRAY(arena, b->ahead_count + 1, bool);
    b->again = ARENA_ARRAY(arena, b->ahead_count + 1, struct value *);
    b->kept = ARENA_ARRAY(arena, b->ahead_count + 1, bool);
    b->drawn = ARENA_ARRAY(arena, b->ahead_count + 1, bool);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        for (int j = 0; j < op->input_count && behind; j++)
            graph_input(graph, op, j, read_again(b, op->inputs[j], checkpoint_of(graph, op), &i));
        behind |= op->code == GRAPH_OP_YIELD;
        if (!behind)
            note_ahead(b, op);
    }
}

/* The gradients of the op's results, NULL where nothing came. False: nothing did. */
static bool take_all(struct backward *b, const struct op *op, struct value **gradients)
{
    bool any = false;

    for (int j = 0; j < op->output_count; j++) {
        gradients[j] = b->wanted[op->outputs[j]->id] ? take(b, op->outputs[j]) : NULL;
        any |= gradients[j] != NULL;
    }
    return any;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/* Where b->fences has the first boundary of that kind of a call; NULL is the model's. */
static struct op **fence_at(const struct backward *b, enum fence_kind kind, const struct module_call *call)
{
    return &b->fences[(FENCE_BACKWARD + 1) * (call ? call->index + 1 : 0) + (int)kind];
}

static void note_fence(const struct backward *b, struct op *op)
{
    struct op **at = op->code == GRAPH_OP_FENCE ? fence_at(b, op->fence.kind, op->call) : NULL;

    if (at && !*at)
        *at = op;
}

/* Where the gradients of a boundary's values come by: `slots` says which each is of, behind those that are only seen. */
static struct op *add_fence(struct backward *b, enum fence_kind kind, const struct op *forward,
                            struct value *const *values, int count, int seen, const int *slots)
{
    struct op *op = op_new(&b->eval, GRAPH_OP_FENCE,
                           kind == FENCE_BACKWARD ? "backward_hook" : "backward_pre_hook", values, count);

    op->loc = forward->loc;
    op->fence.module = forward->fence.module;
    op->fence.kind = kind;
    op->fence.seen = seen;
    op->fence.forward = forward;
    op->fence.slots = slots;
    for (int i = 0; i < count; i++)
        graph_value(b->graph, op, values[i]->dtype, values[i]->ndim, values[i]->dims);
    graph_append(b->graph, op);
    note_fence(b, op);
    return op;
}

/* In front of a call's arguments: from the gradients that came for any, and 0 for the others. `gradients`: by argument. */
static void add_backward_hooks(struct backward *b, const struct op *forward, const struct op *results,
                               struct value **gradients)
{
    struct arena *arena = &b->graph->cx->arena;
    struct value **values = NULL;
    int count = 0, slot_count = 0, *slots = NULL;
    struct op *fence;

    for (int i = results->fence.seen; i < results->output_count; i++)
        ARENA_PUSH(arena, values, count, results->outputs[i]);
    for (int i = 0; gradients && i < forward->output_count; i++) {
        const struct value *value = forward->outputs[i];

        ARENA_PUSH(arena, slots, slot_count, i);
        ARENA_PUSH(arena, values, count,
                   gradients[i]
                       ? gradients[i]
                       : adjoint_zeros(&b->eval, forward->loc, value->dtype, value->ndim, value->dims));
    }
    fence = add_fence(b, FENCE_BACKWARD, forward, values, count, count - slot_count, slots);
    for (int i = 0; i < slot_count; i++)
        if (gradients[i])
            give(&b->adjoint, forward->inputs[i], fence->outputs[count - slot_count + i]);
}

/* Gradients of what a module gave, where they come to it: to its backward pre-hooks. */
static void leave_results(struct backward *b, const struct op *forward, struct value **gradients)
{
    struct arena *arena = &b->graph->cx->arena;
    const struct op *arguments = *fence_at(b, FENCE_FORWARD_PRE, forward->call);
    struct value **values = NULL;
    int count = 0, slot_count = 0, *slots = NULL;
    struct op *fence;
    bool flows_on = false;

    for (int i = forward->fence.seen; i < forward->output_count; i++) {
        if (!gradients[i])
            continue;
        ARENA_PUSH(arena, values, count, gradients[i]);
        ARENA_PUSH(arena, slots, slot_count, i - forward->fence.seen);
    }
    fence = add_fence(b, FENCE_BACKWARD_PRE, forward, values, count, 0, slots);
    for (int i = 0; i < count; i++)
        give(&b->adjoint, forward->inputs[forward->fence.seen + slots[i]], fence->outputs[i]);
    for (int i = 0; arguments && i < arguments->output_count; i++)
        flows_on |= b->wanted[arguments->outputs[i]->id];
    if (arguments && !flows_on)
        add_backward_hooks(b, arguments, fence, NULL);
}

/* Gradients of what went into a module, when all that it was read for is done: through its backward hooks. */
static void leave_arguments(struct backward *b, const struct op *forward, struct value **gradients)
{
    const struct op *results = *fence_at(b, FENCE_BACKWARD_PRE, forward->call);

    if (results)
        add_backward_hooks(b, forward, results, gradients);
    for (int i = 0; i < forward->output_count && !results; i++)
        give(&b->adjoint, forward->inputs[i], gradients[i]);
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

static bool same_flags(const bool *a, const bool *b, int count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* The region with backward for these inputs and results. */
static struct region *with_backward(struct region *plain, const bool *wanted, const bool *given)
{
    const struct graph *forward = plain->graph;
    struct program *program = forward->program;
    struct arena *arena = &forward->cx->arena;
    struct region *region;

    for (int i = 0; i < plain->backward_count; i++)
        if (same_flags(plain->backwards[i]->wanted, wanted, forward->input_count) &&
            same_flags(plain->backwards[i]->given, given, forward->result_count))
            return plain->backwards[i];
    region = ARENA_NEW(arena, struct region);
    *region = *plain;
    region->plain = plain;
    region->wanted = wanted;
    region->given = given;
    region->graph = graph_clone(forward);
    region->graph->region = region;
    write_backward(region->graph);
    ARENA_PUSH(arena, plain->backwards, plain->backward_count, region);
    ARENA_PUSH(arena, program->regions, program->region_count, region);
    return region;
}

static struct op *add_part(struct backward *b, const struct op *forward, enum call_part part,
                           struct value *const *inputs, int count)
{
    struct op *op = op_new(&b->eval, GRAPH_OP_CALL, forward->label, inputs, count);

    op->loc = forward->loc;
    op->invoke = forward->invoke;
    op->invoke.part = part;
    return op;
}

/* A call whose results have gradients: its forward is that of a region with backward, whose second part gives those of what it
 * was called with. See note [regions in backward]. */
static void leave_call(struct backward *b, struct op *forward, struct value **gradients)
{
    struct graph *graph = b->graph;
    struct arena *arena = &graph->cx->arena;
    const int results = forward->output_count;
    const struct dim *none = dim_const(arena, 0);
    bool *wanted = wanted_inputs(b, forward), *given = ARENA_ARRAY(arena, results + 1, bool);
    bool *reads = ARENA_ARRAY(arena, forward->input_count + results + 1, bool);
    struct value **inputs = NULL, *block;
    int count = 0;
    struct op *op;

    for (int i = 0; i < results; i++)
        given[i] = gradients[i] != NULL;
    forward->invoke.region = with_backward(forward->invoke.region, wanted, given);
    forward->invoke.part = CALL_FORWARD;
    block = graph_value(graph, forward, DTYPE_UINT8, 1, &none);
    block->name = arena_format(
        arena, "%s_kept",
        emitted_flat(graph->cx, relative_path(graph->root, forward->invoke.instance->path)));
    ARENA_PUSH(arena, inputs, count, block);
    for (int i = 0; i < results; i++)
        if (given[i])
            ARENA_PUSH(arena, inputs, count, gradients[i]);
    for (int i = 0; i < forward->input_count; i++)
        ARENA_PUSH(arena, inputs, count, forward->inputs[i]);
    for (int i = 0; i < results; i++)
        ARENA_PUSH(arena, inputs, count, forward->outputs[i]);
    memset(reads, true, (size_t)(forward->input_count + results) * sizeof *reads);
    op = add_part(b, forward, CALL_BACKWARD, inputs, count);
    op->invoke.reads = reads;
    for (int i = 0; i < forward->input_count; i++)
        if (wanted[i])
            graph_value(graph, op, forward->inputs[i]->dtype, forward->inputs[i]->ndim,
                        forward->inputs[i]->dims);
    graph_append(b->graph, op);
    for (int i = 0, n = 0; i < forward->input_count; i++)
        if (wanted[i])
            give(&b->adjoint, forward->inputs[i], op->outputs[n++]);
    for (int i = 0; i < forward->invoke.region->graph->op_count; i++)
        if (forward->invoke.region->graph->ops[i]->code == GRAPH_OP_COMMIT)
            ARENA_PUSH(arena, b->commits, b->commit_count, add_part(b, forward, CALL_COMMIT, &block, 1));
}

/* ---- bodies of the user's ------------------------------------------------------------------------------------------ */

/* To the second function of the body: what went in, what came out, and the gradients that came, for those of its inputs. */
static void leave_extern(struct backward *b, struct op *forward, struct value **gradients)
{
    struct graph *graph = b->graph;
    struct arena *arena = &graph->cx->arena;
    const struct module *module = forward->external.module;
    struct value **inputs = NULL;
    int count = 0, given_count = 0, wanted_count = 0, *given = NULL, *wanted = NULL;
    struct op *op;

    if (!module->body->backward) {
        diag_error(graph->cx, module->loc, "gradients come to '%s', whose body '%s' has no backward",
                   module->path, module->body->name);
        diag_hint(graph->cx,
                  "say backward=True and write %s_extern_%s_backward, or detach() what it is called with",
                  graph->program->tree->name, module->body->name);
        return;
    }
    for (int i = 0; i < forward->input_count; i++)
        ARENA_PUSH(arena, inputs, count, forward->inputs[i]);
    for (int i = 0; i < forward->output_count; i++)
        ARENA_PUSH(arena, inputs, count, forward->outputs[i]);
    for (int i = 0; i < forward->output_count; i++) {
        if (!gradients[i])
            continue;
        ARENA_PUSH(arena, given, given_count, i);
        ARENA_PUSH(arena, inputs, count, gradients[i]);
    }
    op = op_new(&b->eval, GRAPH_OP_EXTERN, arena_format(arena, "d%s", forward->label), inputs, count);
    op->loc = forward->loc;
    op->external = forward->external;
    op->external.backward = true;
    for (int i = 0; i < forward->input_count; i++) {
        const struct value *input = forward->inputs[i];

        if (!b->wanted[input->id])
            continue;
        ARENA_PUSH(arena, wanted, wanted_count, i);
        graph_value(graph, op, input->dtype, input->ndim, input->dims);
    }
    op->external.given = given;
    op->external.wanted = wanted;
    graph_append(graph, op);
    for (int i = 0; i < wanted_count; i++)
        give(&b->adjoint, forward->inputs[wanted[i]], op->outputs[i]);
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static void leave_parameter(struct backward *b, struct op *op, struct value **gradients)
{
    struct graph *graph = b->graph;

    if (graph->fenced || graph->program->settings.fused)
        ARENA_PUSH(&graph->cx->arena, b->held, b->held_count,
                   ((struct held){op->tensor.tensor, gradients[0], op->call}));
    else
        add_parameter(b, op->tensor.tensor, gradients[0]);
}

static void leave_boundary(struct backward *b, struct op *op, struct value **gradients)
{
    if (op->fence.kind == FENCE_FORWARD)
        leave_results(b, op, gradients);
    else
        leave_arguments(b, op, gradients);
}

/* Where the gradients of an op's results go that is not differentiated by itself; NULL: adjoint.c says it. */
static void (*const leavers[GRAPH_OP_COUNT])(struct backward *b, struct op *op, struct value **gradients) = {
    [GRAPH_OP_TENSOR] = leave_parameter,
    [GRAPH_OP_FENCE] = leave_boundary,
    [GRAPH_OP_CALL] = leave_call,
    [GRAPH_OP_EXTERN] = leave_extern,
};

static void write_backward(struct graph *graph)
{
    struct arena *arena = &graph->cx->arena;
    struct backward b = {.graph = graph, .value_count = graph->value_count};
    int op_count = graph->op_count;

    b.eval = (struct eval){.cx = graph->cx,
                           .graph = graph,
                           .default_dtype = graph->program->tree->dtype,
                           .training = graph->training,
                           .backward = true};
    b.adjoint = (struct adjoint){
        .eval = &b.eval, .data = &b, .wants = wants, .give = give, .give_part = give_part};
    b.wanted = ARENA_ARRAY(arena, b.value_count + 1, bool);
    b.parts = ARENA_ARRAY(arena, b.value_count + 1, struct part *);
    b.last = ARENA_ARRAY(arena, b.value_count + 1, struct part *);
    if (graph->fenced)
        b.fences = ARENA_ARRAY(arena, (FENCE_BACKWARD + 1) * (graph->call_count + 1), struct op *);
    for (int i = 0; i < op_count && graph->fenced; i++)
        note_fence(&b, graph->ops[i]);
    find_wanted(&b);
    check_loss(&b);
    add_yield(&b);
    give_unread(&b);
    for (int i = op_count - 1; i >= 0; i--) {
        struct op *op = graph->ops[i];
        struct value **gradients = ARENA_ARRAY(arena, op->output_count + 1, struct value *);
        int first = graph->op_count;

        if (first > GRAPH_MAX_WITH_GRADIENTS) {
            diag_error(graph->cx, op->loc, "%s has more than %d operations with those of its gradients",
                       graph->name, GRAPH_MAX_WITH_GRADIENTS);
            diag_hint(graph->cx, "layers that repeat count once as instances of a class, under 'classes:'");
            return;
        }
        b.eval.call = op->call;
        if (op->code == GRAPH_OP_INPUT || !take_all(&b, op, gradients))
            continue;
        if (leavers[op->code])
            leavers[op->code](&b, op, gradients);
        else
            adjoint_give(&b.adjoint, op, gradients);
        keep_all(&b, first, i);
    }
    b.eval.call = NULL;
    if (graph->region) /* in front of its COMMIT */
        add_inputs(&b);
    add_held(&b);
    if (!graph->region)
        add_inputs(&b);
    read_forward(&b);
}

static void sweep(struct graph *graph, void *data)
{
    (void)data;
    graph_sweep_unused(graph);
}

/* Of a region it is written where a call of it asks for its gradients. */
static void write_entry(struct graph *graph, void *data)
{
    (void)data;
    if (graph->saves && !graph->region && diag_errors(graph->cx) == 0)
        write_backward(graph);
}

void backward_write(struct cx *cx, struct program *program)
{
    program_each(program, sweep, NULL);
    program_each(program, write_entry, NULL);
    if (diag_errors(cx) == 0)
        program_verify(program, "backward", false);
}
