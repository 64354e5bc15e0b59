/* catalogue.h - `modc layers`: the layers that a spec can name, from the tables that the compiler uses. */
#ifndef MODC_CATALOGUE_H
#define MODC_CATALOGUE_H

#include "base/text.h"

/* All of them, by family. */
void catalogue_print(struct text *text);

/* One of them. False after a fault that was said: there is no such layer. */
bool catalogue_print_one(struct cx *cx, struct text *text, const char *name);

#endif
