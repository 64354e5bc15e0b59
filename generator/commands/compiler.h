/* compiler.h - the user's compilers, as variables of the environment name them: $CC with $CFLAGS, for `modc run` and
 * `modc summary --measure`; others for kernels in CUDA, see toolchain.h. */
#ifndef MODC_COMPILER_H
#define MODC_COMPILER_H

#include "base/text.h"
#include "commands/process.h"

/* $CC and $CFLAGS as words; what is not set is `cc` and `flags`. */
struct process compiler_words(struct cx *cx, const char *cc, const char *flags);

/* The same of another compiler. */
struct process compiler_of(struct cx *cx, const char *variable, const char *name, const char *flags_variable,
                           const char *flags);

/* The same words once more, to add others to. */
struct process compiler_copy(struct cx *cx, const struct process *compiler);

/* Adds the flags that a file needs for itself, where this machine is one that they are for. */
void compiler_flags(struct cx *cx, struct process *process, const struct output_file *file);

enum { COMPILER_FINE = -1, COMPILER_TOLD_TO_END = -2 };

/* Runs all on all cores; the number of the first that failed, or COMPILER_FINE. COMPILER_TOLD_TO_END: clean up, then
 * call process_end. */
int compiler_run(struct process *list, int count);

/* Says why one failed, with its own words; `hint` (or NULL) is what to do about it. Returns EXIT_COMPILER. */
int compiler_fault(struct cx *cx, const struct process *process, const char *hint);

#endif
