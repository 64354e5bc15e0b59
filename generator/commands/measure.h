/* measure.h - `modc summary --measure`: what the user's compiler makes of a model. */
#ifndef MODC_MEASURE_H
#define MODC_MEASURE_H

#include "commands/memory.h"

/* Compiles the emitted files and the runtime, prints what code a program needs that loads (or binds embedded) weights and
 * calls every entry, and how deep its stack becomes. Adds both to `memory`. EXIT_DONE, or EXIT_COMPILER or EXIT_FILE after a
 * fault that was said. */
int measure_model(struct cx *cx, struct text *out, const struct plan *plan, const struct output_file *files,
                  int count, struct memory *memory);

#endif
