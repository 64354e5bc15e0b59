/* unicode.h - what characters are, as the package `tokenizers` has it: for the patterns and normalisers of tokenizers.
 * unicode_sets.c and its like are what it said. */
#ifndef MODC_UNICODE_H
#define MODC_UNICODE_H

#include "base/arena.h"

#include <stdint.h>

struct modc_unicode; /* modc_tokenizer.h */
struct modc_mapping;

enum { UNICODE_CHARACTERS = 0x110000 };

/* Sets of characters that no general category says. */
enum unicode_set {
    UNICODE_WORD,  /* \w of a pattern */
    UNICODE_WHITE, /* \s of a pattern */
    UNICODE_WORD_OF_RUST,
    UNICODE_WHITE_OF_RUST,
    UNICODE_NUMERIC,
    UNICODE_PUNCTUATION,
    UNICODE_BLANK,
    UNICODE_HAN,
    UNICODE_HIRAGANA,
    UNICODE_KATAKANA,
    UNICODE_HANGUL,
    UNICODE_IDEOGRAPH,
    UNICODE_ACCENT,
    UNICODE_ACCENT_OF_BERT,
    UNICODE_CONTROL,
    UNICODE_CLEANED,
    UNICODE_BREAK_CONTROL, /* of clusters of characters; this and what follows */
    UNICODE_BREAK_EXTEND,
    UNICODE_BREAK_SPACING,
    UNICODE_BREAK_PREPEND,
    UNICODE_BREAK_PICTURE,
    UNICODE_BREAK_LEAD,
    UNICODE_BREAK_VOWEL,
    UNICODE_BREAK_TRAIL,
    UNICODE_BREAK_CONSONANT,
    UNICODE_BREAK_LINKER,
    UNICODE_SETS
};

struct unicode_ranges {
    const uint32_t *list; /* from, to before; from, to before */
    int count;
};

extern const char unicode_release[]; /* of the package */
extern const uint32_t *const unicode_categories;
extern const int unicode_category_count;
extern const struct unicode_ranges unicode_sets[UNICODE_SETS];
extern const struct modc_unicode unicode_mappings; /* without compatible ones */
extern const struct modc_mapping unicode_compatible;

/* A set of characters: a bit for each. */
struct characters {
    uint32_t bits[UNICODE_CHARACTERS / 32];
};

struct characters *characters_new(struct arena *arena);
void characters_add(struct characters *set, uint32_t first, uint32_t last);
void characters_join(struct characters *set, const struct characters *other);
void characters_invert(struct characters *set);
bool characters_have(const struct characters *set, uint32_t character);
uint32_t characters_next(const struct characters *set,
                         uint32_t from); /* the first from there on; else UNICODE_CHARACTERS */
void characters_add_set(struct characters *set, enum unicode_set which);

/* A general category or the letter that several begin with: "Lu", "L"; a script: "Han". False: there is none. */
bool characters_add_property(struct characters *set, const char *name, size_t length);

#endif
