/* memory.h - what a model needs of RAM and flash, or of a GPU's memory: what `modc summary` adds up, and what the limits of --target
 * are held against. Code and stack are not in it; `summary --measure` adds what the compiler made of them. */
#ifndef MODC_MEMORY_H
#define MODC_MEMORY_H

#include "plan/plan.h"

struct memory_part {
    const char *what;
    int64_t bytes;
};

struct memory_sum {
    struct memory_part *parts;
    int count;
    int64_t bytes;
};

struct memory {
    struct memory_sum ram, flash;
    struct memory_sum gpu,
        training; /* of a device with memory of its own; in place of that, where there is backward */
    const struct entry *entry; /* whose workspace is in it */
    bool embedded;             /* generate --weights: the parameters lie in flash */
    bool measured;             /* code and stack are in it */
};

/* Of one context that may call every entry in evaluation mode, with inputs and outputs at the maxima of the sizes. */
struct memory memory_of(struct cx *cx, const struct plan *plan, bool embedded);

/* Adds what a compiler made; constants, which were counted, are part of it. stack_of: a function, or "". */
struct memory_code {
    int64_t text, rodata, data, bss, stack;
    const char *stack_of;
};
void memory_add_code(struct cx *cx, struct memory *memory, const struct memory_code *code);

/* Whether both are within the limits of the target; says by how much not, of what, and what would help. What is only
 * too large in training mode or with hooks is a warning. */
bool memory_fits(struct cx *cx, const struct plan *plan, const struct memory *memory);

#endif
