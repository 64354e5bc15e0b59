/* launches.h - what the kernels of a model on CUDA ask of a GPU, as their text says it, and how many of them a call starts: `modc
 * summary` holds them against the GPU of --target. */
#ifndef MODC_LAUNCHES_H
#define MODC_LAUNCHES_H

#include "plan/plan.h"

struct launch {
    const char *kernel;
    int64_t threads, shared; /* of a block; bytes of shared memory */
    bool sized;              /* false: the text does not say how much shared memory it is */
};

/* The kernels of a .cu file, in its order. */
struct launch *launches_read(struct cx *cx, const char *text, int *count);

/* How many calls of launchers a part of the variant has, those of its regions too. */
int64_t launches_count(const struct plan *plan, const struct variant *variant, enum part part);

#endif
