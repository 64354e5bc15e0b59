/* cost.h - how long a step takes: the one place for what the plan knows of machines.
 *
 * The figures are those of one core with AVX-512 at 3 GHz and 2 MiB of L2, as ../shared/reference/fast-c.md measured them,
 * rounded. They decide between ways that are far apart (is it worth a second thread?), not between close ones: for these
 * algorithms.c compares multiply-adds. */
#ifndef MODC_COST_H
#define MODC_COST_H

#include "plan/plan.h"

#define COST_MACS 80e9     /* multiply-adds a second of a register tile, float32 */
#define COST_VALUES 16e9   /* values a second that pass through a vector loop with a few operations */
#define COST_FUNCTIONS 4e9 /* values of exp, tanh, erf and the like a second */
#define COST_TURNED                                                                                          \
    1e-10 /* seconds more for each value where rows are read across, as a transposing copy does */
#define COST_CACHE 60e9  /* bytes a second, where all that the step touches fits COST_CACHE_BYTES */
#define COST_MEMORY 20e9 /* bytes a second otherwise */
#define COST_CACHE_BYTES (1024 * 1024) /* what is larger streams from the next cache */
#define COST_SPLIT 2e-6                /* seconds from which on a second thread pays for start and join */

struct cost {
    double macs;           /* what op_macs counts */
    double bytes;          /* operands and results, each once */
    double compute, reads; /* seconds for each alone */
    double seconds;        /* the larger of the two: that is what limits */
};

/* Of one step on one core, at the maxima of the sizes. algorithm: its own, or NULL. */
struct cost cost_of(const struct op *op, const struct algorithm *algorithm);

/* How the step is best dealt out to at most `threads`: fewer slices where it has fewer tiles, one where it is over sooner than
 * threads would pay. With `always` it is split into that many wherever it has an axis, whatever it costs. `tiles` as in
 * struct algorithm. */
struct split cost_split(const struct op *op, const struct algorithm *algorithm,
                        const int64_t tiles[SPLIT_AXES], int threads, bool always);

#endif
