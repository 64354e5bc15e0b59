/* tokenize.h - `modc tokenize`: the runtime's tokenizer over tables that are not compiled. */
#ifndef MODC_TOKENIZE_H
#define MODC_TOKENIZE_H

#include "base/text.h"

/* Ids of texts, or texts of ids, as the options ask; the exit status. */
int tokenize_print(struct cx *cx, struct text *out);

#endif
