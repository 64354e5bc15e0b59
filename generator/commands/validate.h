/* validate.h - generate --validate: Clang reads what was emitted, under every warning that modc's own code is compiled
 * with, before a file is put in place. */
#ifndef MODC_VALIDATE_H
#define MODC_VALIDATE_H

#include "base/text.h"
#include "plan/plan.h"

/* EXIT_DONE, EXIT_COMPILER (no Clang) or EXIT_FAULT (Clang refuses a file); what is wrong is said. */
int validate_files(struct cx *cx, const struct plan *plan, const struct output_file *files, int count);

#endif
