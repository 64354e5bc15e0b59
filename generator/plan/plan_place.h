/* plan_place.h - where in the workspace buffers lie, for plan.c.
 *
 * note [placing]
 * No two buffers that are live in one step may overlap, and the workspace is to be no larger than what is live in the step
 * where most is. Whether that can be is NP-complete to find. Simple orders, each buffer as low as it goes, reach the bound
 * mostly. Where they do not, as with many buffers of which much is live in many steps, a search stacks them by rising offset:
 * each lies on others or at the bottom, and what is left comes to lie no lower than the last. That says early where it fails:
 *   - in every step what is left has to fit above the lowest offset that any of it can still have;
 *   - a buffer never starts where another that is left would already end: that one comes before;
 *   - what is left may part into steps that share no buffer, each of which is filled apart.
 * Which of the buffers that can come next is tried first decides whether a search ends, so none takes long: it starts again
 * with another order, in which the buffers of the steps where it failed come earlier, or that chance has changed a little. The
 * same every time. */
#ifndef MODC_PLAN_PLACE_H
#define MODC_PLAN_PLACE_H

#include "plan/plan.h"

/* Gives each interval its offset. `bound` is what is live in the step where most is; all bytes are aligned already. Returns
 * the bytes of the workspace: mostly the bound, of many intervals sometimes a little more. */
int64_t place_intervals(struct cx *cx, struct interval *list, int count, int64_t bound);

#endif
