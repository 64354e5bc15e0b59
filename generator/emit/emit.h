/* emit.h - the last room: prints a plan as C. It decides nothing. */
#ifndef MODC_EMIT_H
#define MODC_EMIT_H

#include "plan/plan.h"

/* The model's files: NAME.h, NAME.c, and with weights NAME_weights.S and NAME_weights.bin, or NAME_weights.c, of each of
 * its dtypes, with `tokenizer:` NAME_tokenizer.c, with `template:` NAME_template.c; and NAME.cmake for all of them. Paths are relative to the output folder. */
struct output_file *emit_files(struct cx *cx, const struct plan *plan, int *count);

#endif
