/* cost.h - how long a step takes, by the figures of its machine (struct cost_figures). */
#ifndef MODC_COST_H
#define MODC_COST_H

#include "plan/plan.h"

struct cost {
    double macs;           /* what op_macs counts */
    double bytes;          /* operands and results, each once */
    double compute, reads; /* seconds for each alone */
    double seconds;        /* the larger of the two: that is what limits */
};

/* Of one step on one core, at the maxima of the sizes. algorithm: its own, or NULL. */
struct cost cost_of(const struct backend *backend, const struct op *op, const struct algorithm *algorithm);

/* How the step is best dealt out to at most `threads`: fewer slices where it has fewer tiles, one where it is over sooner than
 * threads would pay. With `always` it is split into that many wherever it has an axis, whatever it costs. `tiles` as in
 * struct algorithm. */
struct split cost_split(const struct backend *backend, const struct op *op, const struct algorithm *algorithm,
                        const int64_t tiles[SPLIT_AXES], int threads, bool always);

#endif
