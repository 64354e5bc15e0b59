/* manual.h - `modc help --man`: the manual page, from the tables of help.c. */
#ifndef MODC_MANUAL_H
#define MODC_MANUAL_H

#include "base/text.h"

void manual_print(struct text *text, const char *version);

#endif
