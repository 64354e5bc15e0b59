/* plan_join.h - values that are made where a concatenation or a copy wants them, for plan.c.
 *
 * note [joins]
 * A join is a concatenation, or a copy that legalise put in: it moves elements and computes nothing. Where one step makes
 * an operand, perhaps behind views that show all of it, that step may write into the result of the join instead: the operand
 * is then a view of the result, and the buffer is live from the first step that writes there. That takes a kernel that can
 * write so, and readers that can read so; nothing is copied for it. A join all of whose operands are there is no step.
 *
 * Such a buffer lives longer than the operand alone would, so plan.c tries it join by join, from the last one, and keeps what
 * does not make the liveness bound higher. Never in fenced graphs, where hooks see values in memory of their own. */
#ifndef MODC_PLAN_JOIN_H
#define MODC_PLAN_JOIN_H

#include "plan/plan.h"

bool op_is_join(const struct op *op);

/* Where operand `input` of a join goes: base, offset and strides are those of the result. */
struct value join_part(struct arena *arena, const struct op *op, int input);

/* Whether it is there already, so that nothing has to be moved. */
bool join_is_done(struct arena *arena, const struct op *op, int input);

/* What join_apply changed. */
struct joined {
    struct value *value;             /* that is made in the join's result now */
    struct value *changed, **places; /* how it, and the views of it, were before */
    int count;
};

/* Makes the operand of a join where that wants it, by the step that makes what it shows. False, and nothing is changed, where that
 * cannot be. */
bool join_apply(struct cx *cx, const struct variant *variant, const struct op *op, int input,
                const struct step *maker, struct joined *joined);

/* The last one that was applied is undone first. */
void join_undo(const struct joined *joined);

#endif
