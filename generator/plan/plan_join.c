/* plan_join.c - see note [joins] in plan_join.h. Apart from plan.c, which decides what of this pays. */
#include "plan/plan_join.h"

#include <string.h>

#include "passes/toolkit.h"
#include "plan/kernel.h"

bool op_is_join(const struct op *op)
{
    if (op->code == GRAPH_OP_CONCAT)
        return true;
    return op->code == GRAPH_OP_MAP && op->input_count == 1 && dag_is_identity(op->dag) &&
           op->inputs[0]->dtype == op->outputs[0]->dtype && dims_equal(op->inputs[0], op->outputs[0]);
}

struct value join_part(struct arena *arena, const struct op *op, int input)
{
    struct value part = *op->outputs[0];

    if (op->code == GRAPH_OP_CONCAT) {
        int axis = op->concat.axis;

        for (int i = 0; i < input; i++)
            part.offset = dim_add(arena, part.offset,
                                  dim_mul(arena, op->inputs[i]->dims[axis], part.strides[axis]));
        part.dims[axis] = op->inputs[input]->dims[axis];
    }
    return part;
}

bool join_is_done(struct arena *arena, const struct op *op, int input)
{
    struct value part = join_part(arena, op, input);
    const struct value *value = op->inputs[input];

    if (value->base != part.base || !dim_equal(value->offset, part.offset))
        return false;
    for (int i = 0; i < part.ndim; i++)
        if (!dim_equals(part.dims[i], 1) && !dim_equal(value->strides[i], part.strides[i]))
            return false;
    return true;
}

/* ---- moving a value ---------------------------------------------------------------------------------------- */

/* `place` says where an operand of a join goes: now where what is behind the views of it goes. False: that has no strides. */
static bool look_behind(struct arena *arena, const struct value *operand, struct value *place)
{
    while (operand->op->code == GRAPH_OP_VIEW) {
        const struct op *view = operand->op;
        struct value behind = *view->inputs[0];

        behind.base = place->base;
        behind.offset = place->offset;
        if (view->view.kind == VIEW_PERMUTE) {
            for (int i = 0; i < place->ndim; i++)
                behind.strides[view->view.perm[i]] = place->strides[i];
        } else if (view->view.kind != VIEW_RESHAPE || !view_resolve(arena, view, place, &behind)) {
            return false;
        }
        operand = view->inputs[0];
        *place = behind;
    }
    return true;
}

static void save(struct cx *cx, struct joined *joined, struct value *value)
{
    int count = joined->count;

    ARENA_PUSH(&cx->arena, joined->changed, count, *value);
    ARENA_PUSH(&cx->arena, joined->places, joined->count, value);
}

static void put(struct value *value, const struct value *place)
{
    value->base = place->base;
    value->offset = place->offset;
    memcpy(value->strides, place->strides, sizeof value->strides);
}

void join_undo(const struct joined *joined)
{
    for (int i = joined->count - 1; i >= 0; i--)
        put(joined->places[i], &joined->changed[i]);
}

/* Resolves the views of the value again, and those of them. False: one has no strides any more, or a reader cannot take them. */
static bool renew_readers(struct cx *cx, struct graph *graph, struct joined *joined, struct value *value)
{
    for (int u = 0; u < value->user_count; u++) {
        struct op *op = value->users[u];

        if (op->code == GRAPH_OP_VIEW) {
            save(cx, joined, op->outputs[0]);
            if (!view_resolve(&cx->arena, op, value, op->outputs[0]) ||
                !renew_readers(cx, graph, joined, op->outputs[0]))
                return false;
            continue;
        }
        for (int j = 0; j < op->input_count; j++)
            if (op->inputs[j] == value && !pass_reads(graph, op, j))
                return false;
    }
    return true;
}

/* Something was made inside of the value, which joins it. */
static bool has_others(const struct value *value)
{
    for (int i = 0; i < value->op->input_count; i++)
        if (value_root(value->op->inputs[i])->base == value)
            return true;
    return false;
}

bool join_apply(struct cx *cx, const struct variant *variant, const struct op *op, int input,
                const struct step *maker, struct joined *joined)
{
    struct value *value = value_root(op->inputs[input]), place = join_part(&cx->arena, op, input);

    *joined = (struct joined){.value = value};
    if (value->base != value || variant->places[value->id].kind != PLACE_WORKSPACE ||
        join_is_done(&cx->arena, op, input) || !look_behind(&cx->arena, op->inputs[input], &place))
        return false;
    if (!maker || !kernels_write(&cx->arena, maker, &place) || has_others(value))
        return false;
    save(cx, joined, value);
    put(value, &place);
    if (renew_readers(cx, variant->graph, joined, value) && join_is_done(&cx->arena, op, input))
        return true;
    join_undo(joined);
    return false;
}
