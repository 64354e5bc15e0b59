/* plan_place.h - where in the workspace buffers lie, for plan.c. */
#ifndef MODC_PLAN_PLACE_H
#define MODC_PLAN_PLACE_H

#include "plan.h"

/* Offsets that reach the liveness bound: several orders of placing, each repaired some times where none does; the same every
 * time. Whether there are any is NP-complete, so that many intervals may come to lie a little above it. `saving`: of forward
 * and backward. */
int64_t place_intervals(struct cx *cx, struct interval *list, int count, int64_t bound, bool saving);

#endif
