/* emit_tokenizer.h - what `tokenizer:` adds to a model's files: its tables, and functions under the model's name. */
#ifndef MODC_EMIT_TOKENIZER_H
#define MODC_EMIT_TOKENIZER_H

#include "base/text.h"
#include "tokenizer/tokenizer.h"

/* MODEL_tokenizer, its constants and functions; m and M are the model's name. The header includes modc_tokenizer.h. */
void emit_tokenizer_header(struct text *out, const char *m, const char *M, const struct tokenizer *tokenizer);

/* MODEL_tokenizer.c */
const char *emit_tokenizer_source(struct cx *cx, const char *m, const char *spec,
                                  const struct tokenizer *tokenizer);

#endif
