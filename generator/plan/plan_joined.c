/* plan_joined.c - which operands of concatenations and copies are made where these want them: as many as do not raise the bound.
 * How that is done is plan_join.c's. */
#include "plan/plan_join.h"
#include "plan/planner.h"

static void take_place(struct variant *variant, const struct joined *joined, bool own)
{
    variant->places[joined->value->id].kind = own ? PLACE_WORKSPACE : PLACE_NONE;
}

/* Where one part ends and the next begins; -1: nowhere. */
static int find_step(const struct variant *variant, enum op_code code)
{
    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == code)
            return s;
    return -1;
}

static void find_parts(struct variant *variant)
{
    variant->yield = find_step(variant, GRAPH_OP_YIELD);
    variant->commit = find_step(variant, GRAPH_OP_COMMIT);
}

/* A result that backward reads too is kept: the caller may write over his. */
static bool is_kept(const struct variant *variant, const struct op *join, int input)
{
    const struct value *value = value_root(join->inputs[input]);

    if (variant->yield < 0 || variant->places[join->outputs[0]->base->id].kind != PLACE_OUTPUT)
        return false;
    for (int s = variant->yield + 1; s < variant->step_count; s++)
        for (int j = 0; j < variant->steps[s].op->input_count; j++)
            if (value_root(variant->steps[s].op->inputs[j]) == value)
                return true;
    return false;
}

/* Makes operands [first, end) of the join in its result, those of which that can be, unless the bound becomes higher. */
static bool join_operands(struct planner *planner, struct lives *lives, const struct op *join, int first,
                          int end)
{
    struct variant *variant = planner->variant;
    const int64_t bound = lives_most(lives);
    struct tried {
        struct joined joined;
        struct rejoined times;
    } *list = NULL;
    int count = 0;

    for (int i = first; i < end; i++) {
        const struct step *maker = lives_maker(lives, value_root(join->inputs[i]));
        struct tried tried;

        if (is_kept(variant, join, i) || !join_apply(planner->cx, variant, join, i, maker, &tried.joined))
            continue;
        take_place(variant, &tried.joined, false);
        lives_join(lives, &tried.joined, &tried.times);
        ARENA_PUSH(&planner->cx->arena, list, count, tried);
    }
    if (count == 0)
        return false;
    if (lives_most(lives) <= bound)
        return true;
    while (count-- > 0) {
        const struct value *into = list[count].joined.value->base;

        join_undo(&list[count].joined);
        take_place(variant, &list[count].joined, true);
        lives_part(lives, &list[count].joined, into, &list[count].times);
    }
    return false;
}

static bool is_step_left(struct planner *planner, const struct step *step)
{
    if (!op_is_join(step->op))
        return true;
    for (int i = 0; i < step->op->input_count; i++)
        if (!join_is_done(&planner->cx->arena, step->op, i))
            return true;
    return false;
}

/* See note [joins]. A join may make room for others. */
void planner_join_all(struct planner *planner)
{
    struct variant *variant = planner->variant;
    int kept = 0;
    bool again = !variant->graph->fenced;
    struct lives *lives;

    find_parts(variant);
    lives = lives_new(planner);
    for (int round = 0; again && round < 3; round++) {
        again = false;
        for (int i = variant->step_count - 1; i >= 0; i--) {
            const struct op *join = variant->steps[i].op;
            const int count = join->input_count;

            if (!op_is_join(join))
                continue;
            if (join_operands(planner, lives, join, 0, count)) {
                again = true;
                continue;
            }
            for (int j = count - 1; j >= 0 && count > 1; j--)
                again |= join_operands(planner, lives, join, j, j + 1);
        }
    }
    lives_end(lives);
    for (int s = 0; s < variant->step_count; s++)
        if (is_step_left(planner, &variant->steps[s]))
            variant->steps[kept++] = variant->steps[s];
    variant->step_count = kept;
    find_parts(variant);
    planner_find_lives(planner);
}
