/* modc_grammar.h - texts of a fixed form: which tokens may come next, so that what a model writes matches a grammar of its spec
 * (`generation: {grammars: ...}`). Nothing here allocates, prints or keeps globals.
 *
 * note [grammars]
 * A grammar is a minimal automaton over bytes: states, of which 0 is where no text of the grammar goes on, and 1 the beginning; bytes
 * that no state tells apart are one class. What a token does is what its bytes do, those that decoding gives it behind the tokens before
 * it. So where a sequence stands is an integer: a state, with what decoding remembers beside it (that a token came, and what was left
 * out in front). No text is stuck: a token that leads to where no tokens can finish the text is none that may come.
 *
 * note [order]
 * Tokens that begin alike are looked at together: a model with grammars has its tokens sorted by their bytes, each with how many of
 * these it shares with the one before it. Where that one failed within them, this one does too. Only a sequence's first token, which
 * some tokenizers decode differently, is looked for one by one. */
#ifndef MODC_RUNTIME_GRAMMAR_H
#define MODC_RUNTIME_GRAMMAR_H

#include "modc.h"
#include "modc_sampling.h"
#include "modc_tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MODC_GRAMMAR_BEGIN = 1 };   /* the state of a sequence without tokens */
enum { MODC_GRAMMAR_TOKEN = 255 }; /* bytes; a longer token never comes */
enum {
    MODC_GRAMMAR_ENDS = 1, /* the text so far matches */
    MODC_GRAMMAR_OPEN = 2  /* tokens can finish it from here */
};

struct modc_grammar {
    const char *name;
    const struct modc_tokenizer *tokenizer;
    int states, classes;
    const uint8_t *class_of; /* 256 */
    const uint16_t *next;    /* (states, classes) */
    const uint8_t *flags;    /* states */
};

/* Behind one token more; 0: the text matches no more. A token that is not text changes nothing. */
uint32_t modc_grammar_advance(const struct modc_grammar *grammar, uint32_t state, int64_t id);

/* Behind all that was generated. */
uint32_t modc_grammar_state(const struct modc_grammar *grammar, const struct modc_history *history);

/* Whether the text may end here. */
bool modc_grammar_ends(const struct modc_grammar *grammar, uint32_t state);

/* A bit for each id that may come next, EOS aside; returns how many. bits: (vocabulary + 31) / 32 words. */
int modc_grammar_tokens(const struct modc_grammar *grammar, uint32_t state, int vocabulary, uint32_t *bits);

/* -infinity for all that may not come: EOS may where the text may end. Where nothing else may, it comes whatever its score was: then a
 * least length is not reached. Where nothing may, all are -infinity. */
void modc_grammar_mask(const struct modc_grammar *grammar, uint32_t state, struct modc_ids eos,
                       struct modc_row *row);

#ifdef __cplusplus
}
#endif
#endif
