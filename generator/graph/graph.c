/* graph.c - editing a graph. */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

#include "tree/generation.h"

struct graph *graph_of_tree(struct cx *cx)
{
    struct graph *graph = ARENA_NEW(&cx->arena, struct graph);

    graph->cx = cx;
    graph->of_tree = true;
    graph->name = "what the modules are made of";
    return graph;
}

void graph_need(struct graph *graph, struct need need)
{
    if (dim_lower(need.dim) >= (need.not_one ? 2 : 0) || (need.not_one && dim_equals(need.dim, 0)))
        return;
    for (int i = 0; i < graph->need_count; i++)
        if (graph->needs[i].not_one == need.not_one && dim_equal(graph->needs[i].dim, need.dim))
            return;
    ARENA_PUSH(&graph->cx->arena, graph->needs, graph->need_count, need);
}

struct value *graph_value(struct graph *graph, struct op *op, enum dtype dtype, int ndim,
                          const struct dim *const *dims)
{
    struct value *value = ARENA_NEW(&graph->cx->arena, struct value);

    value->id = graph->value_count++;
    value->op = op;
    value->dtype = dtype;
    value->ndim = ndim;
    if (ndim > 0)
        memcpy(value->dims, dims, (size_t)ndim * sizeof *dims);
    value->result = op->output_count;
    value->loc = op->loc;
    ARENA_PUSH(&graph->cx->arena, op->outputs, op->output_count, value);
    return value;
}

struct value *graph_value_of(struct graph *graph, struct op *op, const struct module_tensor *tensor)
{
    const struct dim *dims[MAX_DIMS];
    enum dtype dtype;
    const int ndim = module_tensor_shown(&graph->cx->arena, tensor, &dtype, dims);

    return graph_value(graph, op, dtype, ndim, dims);
}

void graph_renew(struct graph *graph, struct value *old, struct value *newer)
{
    old->newer = newer;
    graph->renewals++;
}

/* ---- uses: note [uses] in graph.h ---------------------------------------------------------------------------- */

static void use(struct graph *graph, struct op *op, struct value *value)
{
    ARENA_PUSH_ROOM(&graph->cx->arena, value->users, value->user_count, value->user_room, op);
}

/* Passes go through a graph in order, and so do those that leave: the next one is mostly beside the last. */
static void unuse(struct graph *graph, struct op *op, struct value *value)
{
    graph->swept = false;
    for (int d = 0; d <= value->user_count; d++) {
        const int places[] = {value->left - d, value->left + d};

        for (int i = 0; i < COUNT(places); i++) {
            if (places[i] < 0 || places[i] >= value->user_count || value->users[places[i]] != op)
                continue;
            value->users[places[i]] = value->users[--value->user_count];
            value->left = places[i];
            return;
        }
    }
    assert(!"a value that knows who reads it");
}

static void use_all(struct graph *graph, struct op *op)
{
    graph->swept = false; /* nobody reads it yet */
    op->placed = true;
    for (int i = 0; i < op->input_count; i++)
        use(graph, op, op->inputs[i]);
}

static void unuse_all(struct graph *graph, struct op *op)
{
    op->placed = false;
    for (int i = 0; i < op->input_count; i++)
        unuse(graph, op, op->inputs[i]);
}

void graph_input(struct graph *graph, struct op *op, int input, struct value *value)
{
    const bool changes = op->placed && op->inputs[input] != value;

    if (changes) {
        hooks_leave(graph, op);
        unuse(graph, op, op->inputs[input]);
        use(graph, op, value);
    }
    op->inputs[input] = value;
    if (changes)
        hooks_insert(graph, graph_position(graph, op), op);
}

void graph_inputs(struct graph *graph, struct op *op, struct value **inputs, int count)
{
    bool placed = op->placed;

    if (placed)
        unuse_all(graph, op);
    op->inputs = inputs;
    op->input_count = count;
    if (placed) {
        use_all(graph, op);
        hooks_change(graph, op);
    }
}

void graph_output(struct graph *graph, int output, struct value *value)
{
    graph->swept = false;
    graph->outputs[output]->returned--;
    graph->outputs[output] = value;
    value->returned++;
}

void graph_return(struct graph *graph, struct value *value)
{
    ARENA_PUSH(&graph->cx->arena, graph->outputs, graph->output_count, value);
    value->returned++;
}

void graph_replace(struct graph *graph, struct value *from, struct value *to)
{
    if (!to->name)
        value_take_name(to, from);
    graph->swept = false;
    for (int u = 0; u < from->user_count; u++) {
        struct op *op = from->users[u];

        for (int j = 0; j < op->input_count; j++) {
            if (op->inputs[j] != from)
                continue;
            op->inputs[j] = to;
            use(graph, op, to);
            hooks_change(graph, op);
        }
    }
    from->user_count = from == to ? from->user_count : 0;
    for (int i = 0; from->returned > 0 && i < graph->output_count; i++)
        if (graph->outputs[i] == from)
            graph_output(graph, i, to);
}

int graph_uses(const struct value *value)
{
    return value->user_count + value->returned;
}

/* ---- places ------------------------------------------------------------------------------------------------- */

static void stand(const struct graph *graph, struct op *op, int place)
{
    op->place = place;
    op->shift = graph->shift;
}

/* The op stands where it was put, but for what came and went in front of it since, or behind it. */
int graph_position(const struct graph *graph, const struct op *op)
{
    const int moved = op->place - (graph->shift - op->shift), count = graph->op_count;
    const struct graph_walk *walk = graph->walk;

    if (walk && op->placed && op->place >= walk->at && op->place < walk->count && walk->ops[op->place] == op)
        return count + op->place - walk->at;
    for (int d = 0; op->placed && d <= count; d++) {
        const int places[] = {op->place - d, op->place + d, moved - d, moved + d};

        for (int i = 0; i < COUNT(places); i++) {
            if (places[i] >= 0 && places[i] < count && graph->ops[places[i]] == op) {
                stand(graph, (struct op *)op, places[i]);
                return places[i];
            }
        }
    }
    return -1;
}

void graph_insert(struct graph *graph, int position, struct op *op)
{
    assert(!op->placed);
    ARENA_PUSH_ROOM(&graph->cx->arena, graph->ops, graph->op_count, graph->op_room, op);
    memmove(graph->ops + position + 1, graph->ops + position,
            (size_t)(graph->op_count - 1 - position) * sizeof *graph->ops);
    graph->ops[position] = op;
    graph->shift--;
    stand(graph, op, position);
    use_all(graph, op);
    hooks_insert(graph, position, op);
}

void graph_append(struct graph *graph, struct op *op)
{
    graph_insert(graph, graph->op_count, op);
}

void graph_remove(struct graph *graph, int position)
{
    unuse_all(graph, graph->ops[position]);
    memmove(graph->ops + position, graph->ops + position + 1,
            (size_t)(graph->op_count - 1 - position) * sizeof *graph->ops);
    graph->op_count--;
    graph->shift++;
}

void graph_put(struct graph *graph, int position, struct op *op)
{
    assert(!op->placed);
    unuse_all(graph, graph->ops[position]);
    graph->ops[position] = op;
    stand(graph, op, position);
    use_all(graph, op);
    hooks_change(graph, op);
}

void graph_retire(struct graph *graph, struct op *op)
{
    unuse_all(graph, op);
}

void graph_succeed(struct graph *graph, struct op *op, struct op *old)
{
    const int from = graph_position(graph, op), to = graph_position(graph, old);

    unuse_all(graph, old);
    graph->ops[from] = old;
    graph->ops[to] = op;
    stand(graph, op, to);
}

void graph_move(struct graph *graph, int from, int to)
{
    struct op *op = graph->ops[from];

    if (from < to)
        memmove(graph->ops + from, graph->ops + from + 1, (size_t)(to - from) * sizeof *graph->ops);
    else
        memmove(graph->ops + to + 1, graph->ops + to, (size_t)(from - to) * sizeof *graph->ops);
    graph->ops[to] = op;
    stand(graph, op, to);
}

void graph_walk(struct graph *graph, struct graph_walk *walk)
{
    *walk = (struct graph_walk){.ops = graph->ops, .count = graph->op_count};
    for (int i = 0; i < walk->count; i++)
        stand(graph, walk->ops[i], i);
    graph->ops = NULL;
    graph->op_count = graph->op_room = 0;
    graph->hooks = NULL;
    graph->walk = walk;
}

struct op *graph_next(struct graph *graph, struct graph_walk *walk)
{
    struct op *op;

    if (walk->at == walk->count) {
        graph->walk = NULL;
        return NULL;
    }
    op = walk->ops[walk->at++];
    ARENA_PUSH_ROOM(&graph->cx->arena, graph->ops, graph->op_count, graph->op_room, op);
    stand(graph, op, graph->op_count - 1);
    hooks_insert(graph, graph->op_count - 1, op);
    return op;
}

void graph_reorder(struct graph *graph, struct op *const *ops)
{
    for (int i = 0; i < graph->op_count; i++) {
        graph->ops[i] = ops[i];
        stand(graph, ops[i], i);
    }
}

void graph_sweep(struct graph *graph, const bool *kept, struct op ***moved, int *moved_count)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (kept[i]) {
            stand(graph, op, count);
            graph->ops[count++] = op;
        } else if (moved) {
            stand(graph, op, *moved_count);
            ARENA_PUSH(&graph->cx->arena, *moved, *moved_count, op);
        } else if (op->placed) {
            unuse_all(graph, op);
        }
    }
    graph->op_count = count;
}

bool program_generates(const struct program *program)
{
    const struct entry *forward = program->entry_count > 0 ? &program->entries[0] : NULL;
    const struct graph *graph = forward ? forward->graphs[0][0] : NULL;
    const struct value *token, *logits;

    if (!program->tree->generation || !graph || strcmp(forward->name, "forward") != 0 ||
        !graph->rows[ROW_LOGITS] || graph->input_count != 1 + ROW_SLOT || graph->result_count != 1)
        return false;
    token = graph->inputs[0];
    logits = graph->outputs[0];
    return token->dtype == DTYPE_INT64 && token->ndim == 1 && logits->ndim == 2 &&
           (logits->dtype == DTYPE_FLOAT32 || logits->dtype == DTYPE_FLOAT64) &&
           dim_is_const(logits->dims[1], NULL) && dim_upper(logits->dims[1]) > 0 &&
           dim_equal(logits->dims[0], graph->rows[ROW_LOGITS]->dims[0]);
}

int program_encoder(const struct program *program)
{
    const struct generation *generation = program->tree->generation;
    const char *name = generation ? generation->encoder : NULL;

    for (int i = 0; name && i < program->entry_count; i++) {
        const struct graph *graph = program->entries[i].graphs[0][0];

        if (strcmp(program->entries[i].name, name) != 0 || !graph || graph->input_count != 2 ||
            graph->result_count != 1)
            continue;
        if (graph->inputs[0]->dtype == DTYPE_INT64 && graph->inputs[0]->ndim == 1 &&
            graph->inputs[1]->dtype == DTYPE_INT64 && graph->inputs[1]->ndim == 0)
            return i;
    }
    return -1;
}

bool region_has_slot(const struct region *region, const struct module_tensor *tensor)
{
    for (int i = 0; region && i < region->slot_count; i++)
        if (region->slots[i] == tensor)
            return true;
    return false;
}

static const struct module *region_module(const struct op *call, const struct module *module)
{
    const struct graph *graph = call->invoke.region->graph;

    return graph->program->tree->modules[call->invoke.instance->index + module->index - graph->root->index];
}

const struct module_tensor *region_tensor(const struct op *call, const struct module_tensor *tensor)
{
    const struct module *instance = region_module(call, tensor->owner);

    for (int i = 0; i < tensor->owner->tensor_count; i++)
        if (tensor->owner->tensors[i] == tensor)
            return instance->tensors[i];
    assert(!"a tensor is its owner's");
    return NULL;
}

static int *draws_of(const struct graph *graph, const struct module *module)
{
    return &graph->draws[module ? module->index + 1 : 0];
}

/* What the call's region draws, its instance does. */
static void add_draws(struct graph *graph, const struct op *call)
{
    const struct module *const *modules = (const struct module *const *)graph->program->tree->modules;
    struct graph *region = call->invoke.region->graph;

    for (int i = 0; i <= call->invoke.instance->subtree; i++)
        *draws_of(graph, modules[call->invoke.instance->index + i]) += graph_draws(
            region, modules[region->root->index + i]);
}

int graph_draws(struct graph *graph, const struct module *module)
{
    if (!graph->draws)
        graph->draws = ARENA_ARRAY(&graph->cx->arena, graph->program->tree->module_count + 1, int);
    for (; graph->drawn_to < graph->op_count; graph->drawn_to++) {
        const struct op *op = graph->ops[graph->drawn_to];

        if (op->code == GRAPH_OP_RANDOM)
            ++*draws_of(graph, op->random.module);
        if (op->code == GRAPH_OP_CALL)
            add_draws(graph, op);
    }
    return *draws_of(graph, module);
}

/* The copies of values, by their ids. */
struct clones {
    struct arena *arena;
    struct value **values;
};

/* Room for so many, as ARENA_PUSH wants it, for lists that grow. */
static int room_of(int count)
{
    int room = 1;

    while (room < count)
        room *= 2;
    return room;
}

static struct value **clone_list(const struct clones *clones, struct value *const *list, int count)
{
    struct value **out = ARENA_ARRAY(clones->arena, room_of(count), struct value *);

    for (int i = 0; i < count; i++)
        out[i] = clones->values[list[i]->id];
    return out;
}

static struct op *clone_op(const struct clones *clones, const struct op *op)
{
    struct op *out = ARENA_NEW(clones->arena, struct op);

    *out = *op;
    out->inputs = clone_list(clones, op->inputs, op->input_count);
    out->outputs = ARENA_ARRAY(clones->arena, room_of(op->output_count), struct value *);
    for (int i = 0; i < op->output_count; i++) {
        struct value *value = ARENA_NEW(clones->arena, struct value);

        *value = *op->outputs[i];
        value->op = out;
        value->users = NULL;
        value->user_count = value->user_room = 0;
        out->outputs[i] = clones->values[value->id] = value;
    }
    return out;
}

/* Of a list in running order. */
static struct op **clone_ops(const struct clones *clones, struct graph *out, struct op *const *ops, int count)
{
    struct op **list = ARENA_ARRAY(clones->arena, room_of(count), struct op *);

    for (int i = 0; i < count; i++)
        use_all(out, list[i] = clone_op(clones, ops[i]));
    return list;
}

struct graph *graph_clone(const struct graph *graph)
{
    struct arena *arena = &graph->cx->arena;
    struct clones clones = {arena, ARENA_ARRAY(arena, graph->value_count + 1, struct value *)};
    struct graph *out = ARENA_NEW(arena, struct graph);

    *out = *graph;
    out->op_room = room_of(graph->op_count);
    out->pack_ops = clone_ops(&clones, out, graph->pack_ops, graph->pack_count);
    out->ops = clone_ops(&clones, out, graph->ops, graph->op_count);
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_FENCE && graph->ops[i]->fence.forward)
            out->ops[i]->fence.forward = out->ops[graph_position(graph, graph->ops[i]->fence.forward)];
    for (int i = 0; i < graph->value_count; i++) {
        struct value *value = clones.values[i];

        if (value && value->newer)
            value->newer = clones.values[value->newer->id];
        if (value && value->base)
            value->base = clones.values[value->base->id];
    }
    out->inputs = clone_list(&clones, graph->inputs, graph->input_count);
    out->outputs = clone_list(&clones, graph->outputs, graph->output_count);
    out->unread = clone_list(&clones, graph->unread, graph->unread_count);
    out->needs = ARENA_ARRAY(arena, room_of(graph->need_count), struct need);
    for (int i = 0; i < graph->need_count; i++)
        out->needs[i] = graph->needs[i];
    out->slot_count = 0; /* of lowering, which is over */
    out->hooks = NULL;
    return out;
}

/* Follows what has the ops. */
static void follow(struct graph *graph)
{
    struct graph *evaluation = graph->evaluation;

    *graph = *evaluation;
    graph->evaluation = evaluation;
    graph->training = true;
}

struct graph *graph_in_training(struct graph *evaluation)
{
    struct graph *graph = ARENA_NEW(&evaluation->cx->arena, struct graph);

    evaluation->both_modes = true;
    graph->evaluation = evaluation;
    follow(graph);
    return graph;
}

void graph_part_modes(struct graph *graph)
{
    graph->evaluation->both_modes = false;
    *graph = *graph_clone(graph->evaluation);
    graph->training = true;
}

struct value *value_root(struct value *value)
{
    while (value->op->code == GRAPH_OP_VIEW)
        value = value->op->inputs[0];
    return value;
}

const char *value_shown_text(struct arena *arena, const struct value *value, bool complex)
{
    return arena_format(arena, "%s %s", dtype_rows[value_shown_dtype(value, complex)].name,
                        shape_text(arena, value->ndim - complex, value->dims));
}

bool value_is_slot(const struct value *value)
{
    return value->op->code == GRAPH_OP_TENSOR || value->op->code == GRAPH_OP_WRITE;
}

bool value_may_be_written(const struct value *value)
{
    return value_is_slot(value) && (value->op->code != GRAPH_OP_TENSOR || value->op->tensor.tensor->written);
}

void program_each_mode(struct program *program, void (*visit)(struct graph *graph, void *data), void *data)
{
    for (int i = 0; i < program->region_count; i++)
        if (program->regions[i]->graph)
            visit(program->regions[i]->graph, data);
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (program->entries[i].graphs[training][fenced])
                    visit(program->entries[i].graphs[training][fenced], data);
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (program->entries[i].saving[training][fenced])
                    visit(program->entries[i].saving[training][fenced], data);
}

struct visit {
    void (*visit)(struct graph *graph, void *data);
    void *data;
};

static void visit_own(struct graph *graph, void *data)
{
    const struct visit *visit = data;

    if (graph->evaluation)
        follow(graph); /* it was visited before */
    else
        visit->visit(graph, visit->data);
}

void program_each(struct program *program, void (*visit)(struct graph *graph, void *data), void *data)
{
    struct visit own = {visit, data};

    program_each_mode(program, visit_own, &own);
}

bool value_is_filled(const struct value *value, double number)
{
    const struct tensor *constant = value->constant;

    if (!constant && value->op->code == GRAPH_OP_VIEW)
        return value_is_filled(value->op->inputs[0], number);
    for (int64_t i = 0; constant && i < tensor_count(constant); i++)
        if (dtype_is_float(constant->dtype) ? constant->data[i].f != number
                                            : (double)constant->data[i].i != number)
            return false;
    return constant;
}

struct value *value_unpadded(const struct value *x, double number, int64_t around[2])
{
    const struct op *op = x->op;
    struct value *body = NULL;

    around[0] = around[1] = 0;
    for (int i = 0; op->code == GRAPH_OP_CONCAT && i < op->input_count; i++) {
        int64_t length;

        if (value_is_filled(op->inputs[i], number)) {
            if (!dim_is_const(op->inputs[i]->dims[op->concat.axis], &length))
                return NULL;
            around[body != NULL] += length;
        } else if (body) {
            return NULL;
        } else {
            body = op->inputs[i];
        }
    }
    return body;
}
