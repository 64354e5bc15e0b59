/* run.h - `modc run`: the emitted files become a program, which is executed on the user's tensors. */
#ifndef MODC_RUN_H
#define MODC_RUN_H

#include "plan/plan.h"

/* The exit status of modc; faults of modc and the compiler are said, those of the program it says itself. */
int run_model(struct cx *cx, const struct plan *plan, const struct output_file *files, int count);

#endif
