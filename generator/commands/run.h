/* run.h - `modc run`: the emitted files become a program, which is executed on the user's tensors. */
#ifndef MODC_RUN_H
#define MODC_RUN_H

#include "base/options.h"
#include "plan/plan.h"

/* The exit status of modc; faults of modc and the compiler are said, those of the program it says itself. */
int run_model(struct cx *cx, const struct plan *plan, const struct output_file *files, int count);

/* The same program for several calls, in a temporary folder, where files for it may be written and left. NULL: *status says what was
 * said; else run_close ends it, and modc, if a signal was to end that. */
struct run;
struct run *run_open(struct cx *cx, const struct plan *plan, const struct output_file *files, int count,
                     int *status);
const char *run_folder(const struct run *run);
int run_call(struct run *run, const struct run_option *options, int count);
void run_close(struct run *run);

#endif
