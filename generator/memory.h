/* memory.h - what a model needs of RAM and flash: what `modc summary` adds up, and what the limits of --target are held
 * against. Code and stack are not in it; `summary --measure` adds what the compiler made of them. */
#ifndef MODC_MEMORY_H
#define MODC_MEMORY_H

#include "plan.h"

struct memory_part {
    const char *what;
    int64_t bytes;
};

struct memory {
    struct memory_part *parts;
    int count;
    int64_t bytes;
    const struct entry *entry; /* RAM: the entry whose workspace is in it */
};

/* Of one context that may call every entry in evaluation mode, with inputs and outputs at the maxima of the sizes;
 * `embedded`: generate --weights. */
struct memory memory_ram(struct cx *cx, const struct plan *plan, bool embedded);
struct memory memory_flash(struct cx *cx, const struct plan *plan, bool embedded);

/* 0 bytes add nothing. */
void memory_add(struct cx *cx, struct memory *memory, const char *what, int64_t bytes);

/* Whether both are within the limits of the target; says by how much not, of what, and what would help. What is only
 * too large in training mode or with hooks is a warning. `measured`: code and stack are in it. */
bool memory_fits(struct cx *cx, const struct plan *plan, const struct memory *ram, const struct memory *flash, bool embedded,
                 bool measured);

#endif
