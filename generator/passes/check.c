/* check.c - brings checks to the front of a graph, with what they depend on, so that a call that fails has written no
 * output yet. Writes may come along: the plan lets those before a check work in a copy (struct variant's shadows). A check
 * that depends on a hook, a region or random numbers stays behind it. */
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <stdlib.h>

/* Of ops, by where they stand. */
struct order {
    const struct graph *graph;
    bool *moved; /* to the front */
    bool *stuck; /* it cannot be, for what it depends on */
    bool *needed;
    int *list, count; /* those that are needed */
};

static bool may_move(const struct op *op)
{
    return op_rows[op->code]->source || op->code == GRAPH_OP_WRITE || op_rows[op->code]->pure;
}

/* Adds what op `at` depends on. False: something of that has to stay. */
static bool need(struct order *order, int at)
{
    const struct op *op = order->graph->ops[at];

    if (order->moved[at] || order->needed[at])
        return true;
    order->needed[at] = true;
    order->list[order->count++] = at;
    for (int i = 0; i < op->input_count && !order->stuck[at]; i++) {
        const struct op *maker = op->inputs[i]->op;

        order->stuck[at] = !may_move(maker) || !need(order, graph_position(order->graph, maker));
    }
    return !order->stuck[at];
}

/* Whether an op that stays reads what the value shows, in front of `at`. */
static bool is_read_before(const struct order *order, const struct value *value, int at)
{
    for (int u = 0; u < value->user_count; u++) {
        const struct op *user = value->users[u];
        const int place = graph_position(order->graph, user);

        if ((place < at && !order->moved[place] && !order->needed[place]) ||
            (user->code == GRAPH_OP_VIEW && is_read_before(order, user->outputs[0], at)))
            return true;
    }
    return false;
}

/* What stays behind reads no slot as it was before a write that would overtake it. */
static bool overtakes(const struct order *order)
{
    for (int i = 0; i < order->count; i++) {
        const struct op *op = order->graph->ops[order->list[i]];

        if (op->code == GRAPH_OP_WRITE && is_read_before(order, op->inputs[0], order->list[i]))
            return true;
    }
    return false;
}

static int by_place(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void pass_check(struct graph *graph)
{
    struct arena *arena = &graph->cx->arena;
    struct order order = {.graph = graph};
    struct op **ops = NULL; /* in their new order */
    int count = 0;

    for (int i = 0; i < graph->op_count; i++) {
        if (graph->ops[i]->code != GRAPH_OP_CHECK)
            continue;
        if (!ops) {
            ops = ARENA_ARRAY(arena, graph->op_count + 1, struct op *);
            order.moved = ARENA_ARRAY(arena, graph->op_count + 1, bool);
            order.stuck = ARENA_ARRAY(arena, graph->op_count + 1, bool);
            order.needed = ARENA_ARRAY(arena, graph->op_count + 1, bool);
            order.list = ARENA_ARRAY(arena, graph->op_count + 1, int);
        }
        order.count = 0;
        if (need(&order, i) && !overtakes(&order)) {
            qsort(order.list, (size_t)order.count, sizeof *order.list, by_place);
            for (int j = 0; j < order.count; j++) {
                order.moved[order.list[j]] = true;
                ops[count++] = graph->ops[order.list[j]];
            }
        }
        for (int j = 0; j < order.count; j++)
            order.needed[order.list[j]] = false;
    }
    if (count == 0)
        return;
    for (int i = 0; i < graph->op_count; i++)
        if (!order.moved[i])
            ops[count++] = graph->ops[i];
    graph_reorder(graph, ops);
}
