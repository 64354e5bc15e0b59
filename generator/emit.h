/* emit.h - the last room: prints a plan as C. It decides nothing. */
#ifndef MODC_EMIT_H
#define MODC_EMIT_H

#include "plan.h"

struct embedded_weights; /* weights.h; NULL: none */

/* The model's files: NAME.h, NAME.c, NAME.cmake, and with weights NAME_weights.S and NAME_weights.bin; with --bundle the
 * runtime too. Paths are relative to the output folder. */
struct output_file *emit_files(struct cx *cx, const struct plan *plan, const struct embedded_weights *weights,
                               int *count);

#endif
