/* plan_order.c - see note [order] in plan_order.h. Apart from plan.c, which says what an order costs. */
#include "plan/plan_order.h"

#include <string.h>

#define ORDER_WORK                                                                                           \
    20000000 /* values and steps looked at, in all: large graphs are ordered less well, not slowly */
#define ORDER_WALKED 400000000 /* words of `needs` that are looked at, in all */
#define ORDER_NEAR 24          /* how far a step moves among its neighbours */

struct order {
    struct variant *variant;
    struct load (*measure)(void *data);
    void *data;
    int *ids;        /* by step as it stands: where it stood at first */
    uint64_t *needs; /* by that place: a bit for each step that has to be before it */
    int words;       /* of a row of them */
    struct load load;
    bool stale;    /* the lives that were measured are those of a move that was taken back */
    int64_t left;  /* moves that may still be tried */
    int64_t walks; /* what is left of ORDER_WALKED */
    struct step *old_steps;
    int *old_ids;
    uint64_t *bits;
    bool *moves;
};

/* ---- what has to be before what ---------------------------------------------------------------------------------- */

/* The steps that make a value, of what is a view or was joined those that make its parts. */
struct makers {
    const int *steps;
    int count;
};

static struct makers add_makers(struct arena *arena, struct makers a, struct makers b)
{
    int *both;

    if (a.count == 0 || b.count == 0)
        return a.count == 0 ? b : a;
    both = ARENA_ARRAY(arena, a.count + b.count, int);
    memcpy(both, a.steps, (size_t)a.count * sizeof *both);
    memcpy(both + a.count, b.steps, (size_t)b.count * sizeof *both);
    return (struct makers){both, a.count + b.count};
}

static void need(struct order *o, int step, int before)
{
    o->needs[step * o->words + before / 64] |= (uint64_t)1 << before % 64;
}

/* Whether the step writes over what is read: a slot, a gradient that is added to, a parameter that is updated. */
static bool replaces(const struct variant *variant, const struct op *write, const struct value *read)
{
    const struct place *from = &variant->places[read->id], *to;

    if (write->code == GRAPH_OP_WRITE)
        return read == write->inputs[0]->base;
    if (write->code == GRAPH_OP_UPDATE)
        return from->kind == PLACE_TENSOR && from->tensor->first == write->gradient.tensor;
    for (int j = 0; j < write->output_count; j++) {
        to = &variant->places[write->outputs[j]->base->id];
        if (to->kind == PLACE_GRADIENT && from->kind == to->kind && from->index == to->index)
            return true;
    }
    return false;
}

static bool may_replace(const struct variant *variant, const struct op *op)
{
    bool may = op->code == GRAPH_OP_WRITE || op->code == GRAPH_OP_UPDATE;

    for (int j = 0; j < op->output_count; j++)
        may |= variant->places[op->outputs[j]->base->id].kind == PLACE_GRADIENT;
    return may;
}

static void need_reads(struct order *o, int write)
{
    const struct step *steps = o->variant->steps;

    if (!may_replace(o->variant, steps[write].op))
        return;
    for (int s = 0; s < write; s++)
        for (int i = 0; i < steps[s].op->input_count; i++)
            if ((!step_packed(&steps[s], i) ||
                 step_packed(&steps[s], i)->passing) && /* else it lies elsewhere */
                replaces(o->variant, steps[write].op, steps[s].op->inputs[i]->base))
                need(o, write, s);
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

static void need_calls(struct order *o, int step)
{
    const struct step *steps = o->variant->steps;
    const struct op *op = steps[step].op;

    for (int s = 0; s < step; s++)
        if ((op->code == GRAPH_OP_CALL && meets_call(o->variant, op, steps[s].op)) ||
            (steps[s].op->code == GRAPH_OP_CALL && meets_call(o->variant, steps[s].op, op)))
            need(o, step, s);
}

static void find_needs(struct order *o, struct arena *arena)
{
    const struct variant *variant = o->variant;
    const struct graph *graph = variant->graph;
    struct makers *makers = ARENA_ARRAY(arena, graph->value_count + 1, struct makers);
    int s = 0;

    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        bool is_step = s < variant->step_count && variant->steps[s].op == op;
        struct makers made = {NULL, 0};

        for (int j = 0; j < op->input_count; j++) {
            const struct makers *input = &makers[op->inputs[j]->id];

            made = is_step ? made : add_makers(arena, made, *input);
            for (int k = 0; is_step && k < input->count; k++)
                need(o, s, input->steps[k]);
        }
        if (is_step) {
            int *own = ARENA_NEW(arena, int);

            *own = s;
            made = (struct makers){own, 1};
            need_calls(o, s);
            need_reads(o, s++);
        }
        for (int j = 0; j < op->output_count; j++)
            makers[op->outputs[j]->id] = made;
    }
}

/* ---- moves ----------------------------------------------------------------------------------------------------- */

/* Nothing moves past it: where a call ends, or a hook may look at values and write some. */
static bool is_fixed(const struct order *o, int s)
{
    const struct op *op = o->variant->steps[s].op;

    return op_rows[op->code]->parts || op_rows[op->code]->fails ||
           (o->variant->graph->fenced && op->code == GRAPH_OP_CALL && op->invoke.part != CALL_COMMIT);
}

/* Which steps from `to` to `at` go with the step at `at`: what it needs on its way to the front, what needs it on its way back.
 * False: one of them does not move, or all do. */
static bool find_moves(struct order *o, int at, int to)
{
    int step = at < to ? 1 : -1, count = 0;

    memset(o->bits, 0, (size_t)o->words * sizeof *o->bits);
    for (int s = at;; s += step) {
        const uint64_t *needs = &o->needs[o->ids[s] * o->words];
        uint64_t goes = 0;

        if (is_fixed(o, s))
            return false;
        o->walks -= o->words;
        if (step < 0)
            goes = o->bits[o->ids[s] / 64] >> o->ids[s] % 64 & 1;
        for (int w = 0; step > 0 && w < o->words; w++)
            goes |= o->bits[w] & needs[w];
        o->moves[s] = s == at || goes != 0;
        count += o->moves[s];
        for (int w = 0; step < 0 && o->moves[s] && w < o->words; w++)
            o->bits[w] |= needs[w];
        if (step > 0 && o->moves[s])
            o->bits[o->ids[s] / 64] |= (uint64_t)1 << o->ids[s] % 64;
        if (s == to)
            return count <= (to - at) * step;
    }
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
    load = o->measure(o->data);
    o->stale = !is_less(&load, &o->load, only_most);
    if (!o->stale) {
        o->load = load;
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
        while (!is_fixed(o, to - 1) &&
               !(o->needs[o->ids[s] * o->words + o->ids[to - 1] / 64] >> o->ids[to - 1] % 64 & 1))
            to--;
        if (to < s && find_moves(o, s, to))
            rearrange(o, to, s, true);
    }
    o->load = o->measure(o->data);
}

static void measure_again(struct order *o)
{
    if (o->stale)
        o->measure(o->data);
    o->stale = false;
}

/* At the step where most is live: what dies later is read earlier, what is not read there is made later. */
static bool lower_peak(struct order *o)
{
    const struct variant *variant = o->variant;
    int peak = o->load.at;

    measure_again(o);
    for (int i = 0; i < variant->graph->value_count && peak > variant->yield; i++) {
        const struct place *place = &variant->places[i];
        int first = place->first, last = place->last;

        if (place->kind != PLACE_WORKSPACE || place->same || first > peak || last <= peak)
            continue;
        if (try_move(o, last, peak, true))
            return true;
        if (first < peak && first > variant->yield && try_move(o, first, peak, true))
            return true;
        measure_again(o);
    }
    return false;
}

void order_steps(struct cx *cx, struct variant *variant, struct load (*measure)(void *data), void *data)
{
    struct arena *arena = &cx->arena;
    int count = variant->step_count, words = (count + 63) / 64;
    struct order order = {
        .variant = variant, .measure = measure, .data = data, .words = words, .load = measure(data)};

    if (variant->yield < 0)
        return;
    order.ids = ARENA_ARRAY(arena, count + 1, int);
    order.old_ids = ARENA_ARRAY(arena, count + 1, int);
    order.old_steps = ARENA_ARRAY(arena, count + 1, struct step);
    order.moves = ARENA_ARRAY(arena, count + 1, bool);
    order.bits = ARENA_ARRAY(arena, words + 1, uint64_t);
    order.needs = ARENA_ARRAY(arena, count * words + 1, uint64_t);
    order.walks = ORDER_WALKED;
    order.left = ORDER_WORK / (variant->graph->value_count + 4 * count + 1);
    for (int s = 0; s < count; s++)
        order.ids[s] = s;
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
    measure_again(&order);
}
