/* terminal.c - what a terminal may be shown; see terminal.h. */
#define _POSIX_C_SOURCE 200809L

#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Able to obey escape sequences. */
static bool is_terminal(FILE *file)
{
    const char *term = getenv("TERM");

    return isatty(fileno(file)) && term && term[0] && strcmp(term, "dumb") != 0;
}

bool terminal_wants_color(FILE *file, const char *when)
{
    const char *none = getenv("NO_COLOR");

    if (when && strcmp(when, "always") == 0)
        return true;
    return (!when || strcmp(when, "never") != 0) && !(none && none[0]) && is_terminal(file);
}
