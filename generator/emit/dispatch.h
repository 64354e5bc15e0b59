/* dispatch.h - generate --dispatch: the instruction sets that the functions of a model are compiled for, and the files that
 * do so. NAME.c is for every machine; each further set has a file of its own, which includes it. */
#ifndef MODC_DISPATCH_H
#define MODC_DISPATCH_H

#include "plan/plan.h"

/* What sets are of. NAME.c is what machines of the kind run that have none of its sets. */
struct isa_machine {
    const char *name;   /* "x86-64" */
    const char *flags;  /* NAME.c has to be compiled with this; NULL: with whatever the project has */
    const char *here;   /* a line for the preprocessor: on this machine; what is in files for its sets */
    const char *wants;  /* the same in NAME.c: and some set may be better than what that is compiled for */
    const char *system; /* as CMAKE_SYSTEM_PROCESSOR has it, a regular expression */
};

extern const struct isa_machine isa_machines[];
extern const int isa_machine_count;

struct isa_row {
    const char *name;   /* of contexts and of --dispatch */
    const char *suffix; /* of the file, and of all names of C */
    const struct isa_machine *machine;
    const char *flags; /* words for a compiler */
    const char *has;   /* what the preprocessor finds where it is compiled for just this one */
    bool dots; /* beyond the row before it there are products of bytes alone: for models that have such */
};

/* Whether a variant is compiled for them: one on a GPU is not. */
bool dispatch_has(const struct cx *cx, const struct plan *variant);

/* How many it is compiled for, and which: those of a machine behind each other, the best one last. *rows is in the arena. */
int dispatch_rows(struct cx *cx, const struct plan *variant, const struct isa_row *const **rows);

/* "policy_x86_64_v3.c", and what is in it; `spec`: its name. */
const char *dispatch_path(struct cx *cx, const char *model, const struct isa_row *isa);
const char *dispatch_text(struct cx *cx, const char *model, const struct isa_row *isa, const char *spec);

#endif
