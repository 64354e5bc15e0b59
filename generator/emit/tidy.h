/* tidy.h - what filling a template leaves of its arithmetic. Knows a line of C and nothing of templates. */
#ifndef MODC_TIDY_H
#define MODC_TIDY_H

#include "base/arena.h"

/* The line without integer factors and divisors of 1, terms of 0, and parentheses that group nothing; quotients of literals that
 * come out even are one. How floats are computed stays as it is. */
const char *tidy_line(struct arena *arena, const char *line);

#endif
