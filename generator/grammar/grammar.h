/* grammar.h - what a text has to match becomes the runtime's automaton over bytes: of a regular expression, or of a JSON schema. What is
 * in one and not known here is refused, with its place; a schema's also with its path there. */
#ifndef MODC_GRAMMAR_READ_H
#define MODC_GRAMMAR_READ_H

#include "base/diag.h"

#include <stdint.h>

struct modc_grammar; /* modc_grammar.h */
struct tokenizer;    /* tokenizer/tokenizer.h */

enum {
    GRAMMAR_MAX_STATES = 1 << 15, /* of the automaton, before it is made minimal */
    GRAMMAR_MAX_PARTS = 1 << 19,  /* of what is made of the text before that */
    GRAMMAR_MAX_DEPTH = 100,      /* of groups in groups, and schemas in schemas */
    GRAMMAR_MAX_SCHEMAS = 1 << 14 /* that are read, in all combinations */
};

/* A pattern: `length` bytes at `text`. Where these stand so in a source, places point there; else all is said of `loc`. */
struct grammar_text {
    const char *text;
    size_t length;
    const struct source *source; /* NULL */
    size_t offset;
    struct loc loc;
};

/* NULL after an error. */
struct modc_grammar *grammar_of_regex(struct cx *cx, const char *name, const struct grammar_text *text);

#define GRAMMAR_MAX_BYTES ((size_t)4 << 20)

/* Of a JSON schema. loc: who names the file; depth: so often schemas that are part of themselves stand within each other. */
enum { GRAMMAR_DEPTH = 3, GRAMMAR_MOST_DEPTH = 32 };
struct modc_grammar *grammar_of_schema(struct cx *cx, const char *name, struct loc loc,
                                       const struct source *source, int depth);

/* Finds the states from which the tokenizer's tokens, which are sorted, can finish a text. False after an error: they cannot even from
 * the first. loc: of the grammar. */
bool grammar_open_states(struct cx *cx, struct modc_grammar *grammar, const struct tokenizer *tokenizer,
                         struct loc loc);

/* Bytes of its tables, as constants of a program. */
int64_t grammar_bytes(const struct modc_grammar *grammar);

/* Of its automaton. */
uint64_t grammar_hash(const struct modc_grammar *grammar);

#endif
