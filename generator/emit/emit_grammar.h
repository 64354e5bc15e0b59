/* emit_grammar.h - the grammars of `generation:`, as constants (modc_grammar.h). */
#ifndef MODC_EMIT_GRAMMAR_H
#define MODC_EMIT_GRAMMAR_H

#include "base/text.h"
#include "tree/generation.h"

/* m: the model's name. Nothing where there are none. */
void emit_grammar_header(struct text *out, const char *m, const struct generation *generation);
/* MODEL_grammar_NAME, and grammars_table. */
void emit_grammar_source(struct text *out, const char *m, const struct generation *generation);

#endif
