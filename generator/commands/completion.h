/* completion.h - `modc completion SHELL`: what shells need to complete command lines, from the tables of help.c. */
#ifndef MODC_COMPLETION_H
#define MODC_COMPLETION_H

#include "base/text.h"

/* `shell`: bash, zsh or fish. */
void completion_print(struct cx *cx, struct text *text, const char *shell);

#endif
