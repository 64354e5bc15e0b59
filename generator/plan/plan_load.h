/* plan_load.h - what is live at most, found again and again while joins and orders are tried.
 *
 * note [load]
 * plan_lives.c says when each value lives, once all is decided. What is tried before that changes little of it. So this keeps
 * of steps and values what says when they live, as numbers that lie close together: an order is measured from these anew; a
 * join changes those of two values, and a tree over the steps says what is the most then.
 *
 * A map writes over the first operand that may be written over and dies there. That is the last step that reads it: what has
 * been written over it is read behind that step alone. So each map is decided by itself; of those that write over each other
 * one lives from behind its step on, since up to there the one before it does. */
#ifndef MODC_PLAN_LOAD_H
#define MODC_PLAN_LOAD_H

#include "plan/plan_join.h"

/* What lives in the workspace: the most in a step, which is the first such one, and the sum over all steps. */
struct load {
    int64_t most, sum;
    int at;
};

/* So many bytes live in the step, which is the next. */
static inline void load_add(struct load *load, int step, int64_t bytes)
{
    load->sum += bytes;
    if (bytes <= load->most)
        return;
    load->most = bytes;
    load->at = step;
}

/* By value id, in the order that was measured: whose memory it lies in; of such memory the first step and the last one. */
struct spans {
    int *memory, *first, *last;
};

struct lives;
struct planner;

/* Of the steps as they stand. */
struct lives *lives_new(struct planner *planner);
void lives_end(struct lives *lives);

/* The load of the steps in an order, by their numbers as they stood when lives_new saw them. */
struct load lives_measure(struct lives *lives, const int *order, const struct spans *spans);
struct spans spans_new(struct lives *lives);

/* Whether the value has memory of its own in the workspace. */
bool lives_in_workspace(const struct lives *lives, int value);

/* ---- joins of the steps as they stand --------------------------------------------------------------------------- */

/* The most that is live. */
int64_t lives_most(struct lives *lives);

/* The step that makes a value; NULL: none does. */
const struct step *lives_maker(const struct lives *lives, const struct value *value);

/* What a join changed of the two values' times. */
struct rejoined {
    struct times {
        int first, written,
            read; /* the steps that write it, first and last, and the last that reads it; -1: none */
    } value, into;
};

/* A value was joined; lives_part: that was undone. */
void lives_join(struct lives *lives, const struct joined *joined, struct rejoined *rejoined);
void lives_part(struct lives *lives, const struct joined *joined, const struct value *into,
                const struct rejoined *rejoined);

#endif
