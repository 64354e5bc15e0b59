/* terminal.h - what a terminal may be shown: colours, and one line about what takes long. */
#ifndef MODC_TERMINAL_H
#define MODC_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* `when` is --color's "always", "never", or else "auto" (NULL too): where the file is a terminal that has colours, and
 * NO_COLOR is not set. */
bool terminal_wants_color(FILE *file, const char *when);

#endif
