/* plan_order.c - see note [order] in plan_order.h. Apart from plan_load.c, which says what an order costs. */
#include "plan/plan_order.h"

#include <string.h>

#include "plan/planner.h"

#define ORDER_WORK                                                                                           \
    20000000 /* values and steps looked at, in all: large graphs are ordered less well, not slowly */
#define ORDER_WALKED 200000000 /* steps and `needs` that are looked at, in all */
#define ORDER_NEAR 24          /* how far a step moves among its neighbours */

/* The places of steps that have to be before another. */
struct needs {
    int *steps, count;
};

struct order {
    struct variant *variant;
    struct lives *lives;
    struct spans spans, tried; /* of the order as it stands, and of a move */
    int *ids;                  /* by step as it stands: where it stood at first */
    struct needs *needs;       /* by that place */
    struct load load;
    int64_t left;  /* moves that may still be tried */
    int64_t walks; /* what is left of ORDER_WALKED */
    struct step *old_steps;
    int *old_ids;
    bool *met;   /* by that place: it moves, or has to be before what moves */
    bool *moves; /* by step as it stands */
};

/* ---- what has to be before what ---------------------------------------------------------------------------------- */

/* The steps that have read what lies in memory so far, and the calls. */
struct finder {
    struct order *order;
    struct arena *arena;
    struct needs *values, *gradients,
        *tensors; /* readers: by value, by the index of a gradient, by the key of a tensor */
    struct needs calls;
};

static void add_needs(struct arena *arena, struct needs *needs, const struct needs *more)
{
    for (int i = 0; i < more->count; i++)
        ARENA_PUSH(arena, needs->steps, needs->count, more->steps[i]);
}

/* Of values the steps that make one, of what is a view or was joined those that make its parts. */
static struct needs join_makers(struct arena *arena, const struct needs *a, const struct needs *b)
{
    struct needs both = {NULL, 0};

    if (a->count == 0 || b->count == 0)
        return a->count == 0 ? *b : *a;
    add_needs(arena, &both, a);
    add_needs(arena, &both, b);
    return both;
}

/* Who read where the result of the step is written, if something lies there before: a slot, a gradient that is added to, a
 * parameter that is updated. NULL: nothing does. */
static struct needs *readers_of(const struct finder *f, const struct op *write, int result)
{
    const struct place *to = &f->order->variant->places[write->outputs[result]->base->id];

    if (write->code == GRAPH_OP_WRITE)
        return &f->values[write->inputs[0]->base->id];
    if (write->code == GRAPH_OP_UPDATE)
        return &f->tensors[write->gradient.tensor->key];
    return to->kind == PLACE_GRADIENT ? &f->gradients[to->index] : NULL;
}

/* A step writes over what others have read, packed weights apart, which lie elsewhere. */
static void need_reads(struct finder *f, int s)
{
    const struct variant *variant = f->order->variant;
    const struct step *step = &variant->steps[s];

    for (int j = 0; j < step->op->output_count; j++) {
        const struct needs *readers = readers_of(f, step->op, j);

        if (readers)
            add_needs(f->arena, &f->order->needs[s], readers);
    }
    for (int i = 0; i < step->op->input_count; i++) {
        const struct value *read = step->op->inputs[i]->base;
        const struct place *from = &variant->places[read->id];

        if (step_packed(step, i) && !step_packed(step, i)->passing)
            continue;
        ARENA_PUSH(f->arena, f->values[read->id].steps, f->values[read->id].count, s);
        if (from->kind == PLACE_GRADIENT)
            ARENA_PUSH(f->arena, f->gradients[from->index].steps, f->gradients[from->index].count, s);
        if (from->kind == PLACE_TENSOR && from->tensor->first->key >= 0)
            ARENA_PUSH(f->arena, f->tensors[from->tensor->first->key].steps,
                       f->tensors[from->tensor->first->key].count, s);
    }
}

/* Whether a tensor, or its gradient, is of an instance that the CALL is of. */
static bool is_called_for(const struct op *call, const struct place *place)
{
    const struct module *instance = call->invoke.instance;
    const struct module *owner = place->tensor ? place->tensor->first->owner : NULL;

    return owner && owner->index >= instance->index &&
           owner->index < instance->index + call->invoke.count * (instance->subtree + 1);
}

/* What a region does beside its operands: it reads parameters and slots of its instances, adds to their gradients, and may
 * update them. So it keeps its place among such steps, and among calls. */
static bool meets_call(const struct variant *variant, const struct op *call, const struct op *op)
{
    bool meets = op->code == GRAPH_OP_CALL || op->code == GRAPH_OP_WRITE || op->code == GRAPH_OP_UPDATE;

    for (int i = 0; i < op->input_count; i++)
        meets |= is_called_for(call, &variant->places[op->inputs[i]->base->id]);
    for (int j = 0; j < op->output_count; j++)
        meets |= is_called_for(call, &variant->places[op->outputs[j]->base->id]);
    return meets;
}

static void need_calls(struct finder *f, int s)
{
    const struct step *steps = f->order->variant->steps;
    const struct op *op = steps[s].op;
    struct needs *needs = &f->order->needs[s];

    for (int before = 0; op->code == GRAPH_OP_CALL && before < s; before++)
        if (meets_call(f->order->variant, op, steps[before].op))
            ARENA_PUSH(f->arena, needs->steps, needs->count, before);
    for (int i = 0; op->code != GRAPH_OP_CALL && i < f->calls.count; i++)
        if (meets_call(f->order->variant, steps[f->calls.steps[i]].op, op))
            ARENA_PUSH(f->arena, needs->steps, needs->count, f->calls.steps[i]);
    if (op->code == GRAPH_OP_CALL)
        ARENA_PUSH(f->arena, f->calls.steps, f->calls.count, s);
}

static void find_needs(struct order *o, struct arena *arena)
{
    const struct variant *variant = o->variant;
    const struct graph *graph = variant->graph;
    struct needs *makers = ARENA_ARRAY(arena, graph->value_count + 1, struct needs);
    struct finder finder = {.order = o, .arena = arena};
    int s = 0, gradients = 0;

    for (int i = 0; i < graph->value_count; i++)
        if (variant->places[i].kind == PLACE_GRADIENT && variant->places[i].index >= gradients)
            gradients = variant->places[i].index + 1;
    finder.values = ARENA_ARRAY(arena, graph->value_count + 1, struct needs);
    finder.gradients = ARENA_ARRAY(arena, gradients + 1, struct needs);
    finder.tensors = ARENA_ARRAY(arena, graph->program->tree->key_count + 1, struct needs);
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        bool is_step = s < variant->step_count && variant->steps[s].op == op;
        struct needs made = {NULL, 0};

        for (int j = 0; j < op->input_count; j++) {
            const struct needs *input = &makers[op->inputs[j]->id];

            if (is_step)
                add_needs(arena, &o->needs[s], input);
            else
                made = join_makers(arena, &made, input);
        }
        if (is_step) {
            ARENA_PUSH(arena, made.steps, made.count, s);
            need_calls(&finder, s);
            need_reads(&finder, s++);
        }
        for (int j = 0; j < op->output_count; j++)
            makers[op->outputs[j]->id] = made;
    }
}

static bool has_to_be_before(const struct order *o, int step, int other)
{
    const struct needs *needs = &o->needs[o->ids[step]];

    for (int i = 0; i < needs->count; i++)
        if (needs->steps[i] == o->ids[other])
            return true;
    return false;
}

/* ---- moves ----------------------------------------------------------------------------------------------------- */

/* Nothing moves past it: where a call ends, or a hook may look at values and write some. */
static bool is_fixed(const struct order *o, int s)
{
    const struct op *op = o->variant->steps[s].op;

    return op_rows[op->code]->parts || op_rows[op->code]->fails ||
           (o->variant->graph->fenced && op->code == GRAPH_OP_CALL && op->invoke.part != CALL_COMMIT);
}

/* As if the steps from `at` to before `end` had not been met. */
static void forget(struct order *o, int at, int end, int step)
{
    for (int s = at; s != end; s += step) {
        const struct needs *needs = &o->needs[o->ids[s]];

        o->met[o->ids[s]] = false;
        for (int i = 0; o->moves[s] && step < 0 && i < needs->count; i++)
            o->met[needs->steps[i]] = false;
    }
}

/* Which steps from `to` to `at` go with the step at `at`: what it needs on its way to the front, what needs it on its way back.
 * False: one of them does not move, or all do. */
static bool find_moves(struct order *o, int at, int to)
{
    const int step = at < to ? 1 : -1;
    int count = 0, s;
    bool fixed = false;

    for (s = at; !fixed && s != to + step; s += step) {
        const struct needs *needs = &o->needs[o->ids[s]];
        bool goes = s == at;

        fixed = is_fixed(o, s);
        o->walks -= 1 + needs->count;
        if (step < 0)
            goes |= o->met[o->ids[s]];
        for (int i = 0; step > 0 && !goes && i < needs->count; i++)
            goes |= o->met[needs->steps[i]];
        o->moves[s] = goes;
        count += goes;
        for (int i = 0; goes && step < 0 && i < needs->count; i++)
            o->met[needs->steps[i]] = true;
        o->met[o->ids[s]] |= goes && step > 0;
    }
    forget(o, at, s, step);
    return !fixed && count <= (to - at) * step;
}

/* Steps first to last: those that move to the front, or to the back. */
static void rearrange(struct order *o, int first, int last, bool front)
{
    size_t count = (size_t)(last - first + 1);
    int next = first;

    memcpy(o->old_steps + first, o->variant->steps + first, count * sizeof *o->old_steps);
    memcpy(o->old_ids + first, o->ids + first, count * sizeof *o->old_ids);
    for (int round = 0; round < 2; round++) {
        for (int s = first; s <= last; s++) {
            if (o->moves[s] != (front == (round == 0)))
                continue;
            o->variant->steps[next] = o->old_steps[s];
            o->ids[next++] = o->old_ids[s];
        }
    }
}

static bool is_less(const struct load *a, const struct load *b, bool only_most)
{
    return a->most < b->most || (a->most == b->most && !only_most && a->sum < b->sum);
}

/* Moves the step at `at` to `to`, with what goes with it, if the load becomes less. */
static bool try_move(struct order *o, int at, int to, bool only_most)
{
    int first = at < to ? at : to, last = at < to ? to : at;
    struct load load;

    if (o->left <= 0 || o->walks <= 0 || !find_moves(o, at, to))
        return false;
    o->left--;
    rearrange(o, first, last, to < at);
    load = lives_measure(o->lives, o->ids, &o->tried);
    if (is_less(&load, &o->load, only_most)) {
        const struct spans before = o->spans;

        o->load = load;
        o->spans = o->tried;
        o->tried = before;
        return true;
    }
    memcpy(o->variant->steps + first, o->old_steps + first,
           (size_t)(last - first + 1) * sizeof *o->old_steps);
    memcpy(o->ids + first, o->old_ids + first, (size_t)(last - first + 1) * sizeof *o->old_ids);
    return false;
}

/* ---- which are tried ------------------------------------------------------------------------------------------- */

/* Among the steps of one call of a module, from the first on. */
static bool order_neighbours(struct order *o)
{
    const struct step *steps = o->variant->steps;
    bool moved = false;
    int begin = o->variant->yield + 1;

    for (int s = begin; s < o->variant->step_count; s++) {
        if (steps[s].op->call != steps[begin].op->call)
            begin = s;
        for (int to = s - begin > ORDER_NEAR ? s - ORDER_NEAR : begin; to < s; to++) {
            if (try_move(o, s, to, false)) {
                moved = true;
                break;
            }
        }
    }
    return moved;
}

/* Parameters are updated as soon as their gradients are complete and nothing reads them any more. */
static void update_early(struct order *o)
{
    struct step *steps = o->variant->steps;

    for (int s = o->variant->yield + 1; s < o->variant->step_count; s++) {
        int to = s;

        if (steps[s].op->code != GRAPH_OP_UPDATE)
            continue;
        while (!is_fixed(o, to - 1) && !has_to_be_before(o, s, to - 1))
            to--;
        if (to < s && find_moves(o, s, to))
            rearrange(o, to, s, true);
    }
    o->load = lives_measure(o->lives, o->ids, &o->spans);
}

/* At the step where most is live: what dies later is read earlier, what is not read there is made later. */
static bool lower_peak(struct order *o)
{
    const struct variant *variant = o->variant;
    int peak = o->load.at;

    for (int i = 0; i < variant->graph->value_count && peak > variant->yield; i++) {
        const int first = o->spans.first[i], last = o->spans.last[i];

        if (!lives_in_workspace(o->lives, i) || o->spans.memory[i] != i || first > peak || last <= peak)
            continue;
        if (try_move(o, last, peak, true))
            return true;
        if (first < peak && first > variant->yield && try_move(o, first, peak, true))
            return true;
    }
    return false;
}

void planner_order_steps(struct planner *planner)
{
    struct arena *arena = &planner->cx->arena;
    struct variant *variant = planner->variant;
    int count = variant->step_count;
    struct order order = {.variant = variant};

    if (variant->yield < 0)
        return;
    order.lives = lives_new(planner);
    order.spans = spans_new(order.lives);
    order.tried = spans_new(order.lives);
    order.ids = ARENA_ARRAY(arena, count + 1, int);
    order.old_ids = ARENA_ARRAY(arena, count + 1, int);
    order.old_steps = ARENA_ARRAY(arena, count + 1, struct step);
    order.moves = ARENA_ARRAY(arena, count + 1, bool);
    order.met = ARENA_ARRAY(arena, count + 1, bool);
    order.needs = ARENA_ARRAY(arena, count + 1, struct needs);
    order.walks = ORDER_WALKED;
    order.left = ORDER_WORK / (variant->graph->value_count + 4 * count + 1);
    for (int s = 0; s < count; s++)
        order.ids[s] = s;
    order.load = lives_measure(order.lives, order.ids, &order.spans);
    find_needs(&order, arena);
    if (!variant->graph->fenced)
        update_early(&order);
    while (lower_peak(&order))
        ;
    if (!variant->graph->fenced) {
        for (int round = 0; round < 4 && order_neighbours(&order); round++)
            ;
        while (lower_peak(&order))
            ;
    }
    lives_end(order.lives);
}
