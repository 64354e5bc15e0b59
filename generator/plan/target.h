/* target.h - what a model is compiled for: limits of RAM and flash, the alignment of its blocks, whether there is an
 * operating system, and the compiler that one would use. --target names a chip or describes an own one. */
#ifndef MODC_TARGET_H
#define MODC_TARGET_H

#include "base/text.h"

enum { HOSTED_ALIGN = 64, FIRMWARE_ALIGN = 8 }; /* a vector or cache line; the largest scalar */

struct target {
    const char *name;             /* as the user wrote it: "stm32f411,ram=100K" */
    const char *what;             /* for people */
    const char *compiler, *flags; /* that one would use */
    int64_t ram, flash;           /* bytes; 0: no limit */
    int align;                    /* of the blocks that the caller places: MODC_ALIGN */
    int pointer;                  /* bytes of one */
    bool hosted; /* malloc, files and threads: modc_host.c can be compiled, hooks are on by default */
};

/* What --target says, or a hosted one without limits. */
const struct target *target_of(const struct cx *cx);

/* Whether MODC_ALIGN has to be set for it: modc.h would choose another. */
bool target_sets_align(const struct target *target);

/* A name, `key=value` with ram, flash, hosted and align, or both, between commas. NULL after a fault that was said. */
const struct target *target_parse(struct cx *cx, const char *text);

const char *const *target_names(struct cx *cx, int *count);

/* `modc help targets` */
void target_print_all(struct text *text);

#endif
