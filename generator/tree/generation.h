/* generation.h - what `generation:` means for a tree, as data: how many tokens are kept, in what pages, and which tokens end a
 * text. module/generation.c makes it. */
#ifndef MODC_TREE_GENERATION_H
#define MODC_TREE_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

struct narrow;
struct spec_generation;

/* What modc_generation_set takes. */
struct generation_default {
    const char *name, *value;
};

struct modc_grammar;

struct generation {
    const struct spec_generation *spec;
    int64_t context;   /* tokens of a sequence */
    int64_t sequences; /* that are held at a time */
    int64_t page;      /* tokens of a page */
    int64_t per;       /* pages of a sequence */
    int64_t *eos;
    int eos_count;
    int64_t pad, start;         /* -1: none */
    const struct narrow *cache; /* as what keys and values are kept; NULL: as they are */
    bool invariant;             /* what is computed of a row is the same bits whatever rows are beside it */
    const char *encoder;        /* the entry that reads a source; NULL: none */
    struct generation_default *defaults;
    int default_count;
    const struct modc_grammar **grammars;
    int grammar_count;
};

/* Pages of all sequences together. */
static inline int64_t generation_pages(const struct generation *generation)
{
    return generation->sequences * generation->per;
}

#endif
