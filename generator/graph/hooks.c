/* hooks.c - where hooks may write. Apart from graph.c, because this is what a boundary means, not how graphs are edited. */
#include <limits.h>

#include "graph/graph.h"

bool value_is_lent(struct value *value)
{
    const struct value *root = value_root(value);

    return op_rows[root->op->code]->lent || root->prepared;
}

/* note [hooks]
 * Where hooks write is asked for of many ops, most of which read what few boundaries show: then users are walked through. Once
 * walking has taken as long as to go through the whole graph, what lies where and which boundaries show it is found for all values,
 * and known until what a boundary or a view reads changes, or another pass begins. */
struct boundaries {
    struct op **ops; /* in running order */
    int count;
};

struct hooks {
    int64_t walked;       /* values and users, while nothing is known */
    struct value **roots; /* by id: see find_root; NULL: not asked for yet. NULL itself: nothing is known */
    struct boundaries *shown; /* by id of such a root: what lies there is shown by them */
    int room;                 /* ids */
};

/* What the value lies in, of a view or behind a boundary in front of which nothing is copied; NULL: in memory of its own. */
static struct value *lies_in(const struct value *value)
{
    const struct op *op = value->op;
    struct value *given = op->code == GRAPH_OP_VIEW    ? op->inputs[0]
                          : op->code == GRAPH_OP_FENCE ? op->inputs[value->result]
                                                       : NULL;

    return given && op->code == GRAPH_OP_FENCE && value_is_lent(given) ? NULL : given;
}

/* What owns the memory. */
static struct value *find_root(struct hooks *hooks, struct value *value)
{
    struct value *root = value;

    for (struct value *next = root; next; next = lies_in(root)) {
        root = next;
        hooks->walked++;
        if (hooks->roots && hooks->roots[root->id]) {
            root = hooks->roots[root->id];
            break;
        }
    }
    for (; hooks->roots && !hooks->roots[value->id]; value = value == root ? root : lies_in(value))
        hooks->roots[value->id] = root;
    return root;
}

/* The first boundary behind `from` that lets hooks write where the value lies: through views, and boundaries. */
static int walk(const struct graph *graph, const struct value *value, int from)
{
    int first = INT_MAX;

    graph->hooks->walked += 1 + value->user_count;
    for (int u = 0; u < value->user_count; u++) {
        const struct op *op = value->users[u];
        bool fence = op->code == GRAPH_OP_FENCE;

        for (int j = 0; (fence || op->code == GRAPH_OP_VIEW) && j < op->input_count; j++) {
            int at = fence && j >= op->fence.seen ? graph_position(graph, op) : -1;

            if (op->inputs[j] != value)
                continue;
            if (at <= from)
                at = walk(graph, op->outputs[j], from);
            first = at < first ? at : first;
        }
    }
    return first;
}

static void make_room(const struct graph *graph)
{
    struct hooks *hooks = graph->hooks;
    struct arena *arena = &graph->cx->arena;
    struct hooks old = *hooks;

    if (graph->value_count <= hooks->room)
        return;
    hooks->room = 2 * graph->value_count;
    hooks->roots = ARENA_ARRAY(arena, hooks->room, struct value *);
    hooks->shown = ARENA_ARRAY(arena, hooks->room, struct boundaries);
    for (int i = 0; i < old.room; i++) {
        hooks->roots[i] = old.roots[i];
        hooks->shown[i] = old.shown[i];
    }
}

static void add_boundary(const struct graph *graph, struct op *fence)
{
    for (int j = fence->fence.seen; j < fence->input_count; j++) {
        struct boundaries *shown = &graph->hooks->shown[find_root(graph->hooks, fence->inputs[j])->id];

        if (shown->count == 0 || shown->ops[shown->count - 1] != fence)
            ARENA_PUSH(&graph->cx->arena, shown->ops, shown->count, fence);
    }
}

/* The first of them behind `from`. */
static int first_behind(const struct graph *graph, const struct boundaries *shown, int from)
{
    int low = 0, high = shown->count;

    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (graph_position(graph, shown->ops[middle]) > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low < shown->count ? graph_position(graph, shown->ops[low]) : INT_MAX;
}

void hooks_leave(struct graph *graph, const struct op *op)
{
    const bool last = graph->op_count > 0 && graph->ops[graph->op_count - 1] == op;

    if (!graph->hooks || !graph->hooks->roots)
        return;
    for (int j = op->code == GRAPH_OP_FENCE ? op->fence.seen : op->input_count; last && j < op->input_count;
         j++) {
        struct boundaries *shown = &graph->hooks->shown[find_root(graph->hooks, op->inputs[j])->id];

        if (shown->count > 0 && shown->ops[shown->count - 1] == op)
            shown->count--;
    }
    if (!last || op->code == GRAPH_OP_VIEW)
        hooks_change(graph, op);
}

void hooks_change(struct graph *graph, const struct op *op)
{
    if (graph->hooks && graph->hooks->roots && (op->code == GRAPH_OP_FENCE || op->code == GRAPH_OP_VIEW))
        graph->hooks = NULL;
}

void hooks_insert(struct graph *graph, int position, struct op *op)
{
    if (!graph->hooks || !graph->hooks->roots || op->code != GRAPH_OP_FENCE)
        return;
    make_room(graph);
    if (position == graph->op_count - 1)
        add_boundary(graph, op);
    else
        graph->hooks = NULL;
}

int graph_next_hook(struct graph *graph, struct value *value, int from)
{
    struct value *root;

    if (!graph->fenced)
        return INT_MAX;
    if (!graph->hooks)
        graph->hooks = ARENA_NEW(&graph->cx->arena, struct hooks);
    if (graph->hooks->roots || graph->hooks->walked > graph->op_count) {
        const bool known = graph->hooks->roots != NULL;

        make_room(graph);
        for (int i = 0; i < graph->op_count && !known; i++)
            if (graph->ops[i]->code == GRAPH_OP_FENCE)
                add_boundary(graph, graph->ops[i]);
    }
    root = find_root(graph->hooks, value);
    if (value_is_lent(root))
        return INT_MAX;
    return graph->hooks->roots ? first_behind(graph, &graph->hooks->shown[root->id], from)
                               : walk(graph, root, from);
}
