/* terminal.h - what a terminal may be shown: colours, and one line about what takes long. */
#ifndef MODC_TERMINAL_H
#define MODC_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* `when` is --color's "always", "never", or else "auto" (NULL too): where the file is a terminal that has colours, and
 * NO_COLOR is not set. */
bool terminal_wants_color(FILE *file, const char *when);

/* ---- progress: a line on stderr, where that is a terminal --------------------------------------------------- */

/* From a second after this on, what is being done is shown. */
void progress_start(void);

/* What is done from now on: "compiling policy.c". */
void progress_step(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away, before something is printed. Nothing is shown until the next step. */
void progress_end(void);

#endif
