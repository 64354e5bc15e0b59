/* dispatch.h - generate --dispatch: the instruction sets that the functions of a model are compiled for, and the files that
 * do so. NAME.c is for every machine; each further set has a file of its own, which includes it. */
#ifndef MODC_DISPATCH_H
#define MODC_DISPATCH_H

#include "plan/plan.h"

struct isa_row {
    const char *name;   /* as -march has it */
    const char *suffix; /* of the file, and of all names of C */
    const char *has;    /* what the preprocessor finds where it is compiled for just this one */
};

/* Each has what those before it have. */
enum { ISA_ROWS = 2 };
extern const struct isa_row isa_rows[ISA_ROWS];

/* NAME.c has to be compiled with this: it is what machines run that have none of the rows. */
extern const char isa_base[];

/* Whether a variant is compiled for them: one on a GPU is not. */
bool dispatch_has(const struct cx *cx, const struct plan *variant);

/* "policy_x86_64_v3.c", and what is in it; `spec`: its name. */
const char *dispatch_path(struct cx *cx, const char *model, const struct isa_row *isa);
const char *dispatch_text(struct cx *cx, const char *model, const struct isa_row *isa, const char *spec);

/* "-march=x86-64-v3" */
const char *dispatch_flags(struct cx *cx, const char *isa);

#endif
