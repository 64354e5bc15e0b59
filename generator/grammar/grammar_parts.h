/* grammar_parts.h - what a pattern or a schema becomes on its way to an automaton: parts, which stand beside and behind each other. Parts
 * are shared: what stands twice is one. */
#ifndef MODC_GRAMMAR_PARTS_H
#define MODC_GRAMMAR_PARTS_H

#include "grammar/grammar.h"

enum part_kind {
    PART_SET,    /* a character of the ranges */
    PART_ALL,    /* one behind the other; without any: nothing at all */
    PART_EITHER, /* one of them */
    PART_TIMES,  /* the one, so often */
    PART_TABLE   /* what a table takes */
};

/* States, of which 0 is where nothing is taken any more and 1 the first. */
struct table {
    int states, classes;
    uint8_t class_of[256]; /* of a byte */
    int *next;             /* (states, classes) */
    bool *ends;            /* states */
};

struct range {
    uint32_t from, to;
};

enum { PART_MOST = 1 << 20, PART_ENDLESS = -1 }; /* of a count */

struct part {
    enum part_kind kind;
    struct range *ranges; /* SET: sorted, apart, without surrogates */
    struct part **parts;
    int count; /* of either */
    int least, most;
    const struct table *table; /* TABLE */
    bool is_never;             /* ALL: one of its parts takes no text */
    const void *maker;
    int before,
        start; /* where it begins, where `before` follows it: of the last time that `maker` made states of it */
};

enum { LAST_CHARACTER = 0x10ffff };

struct part *part_new(struct cx *cx, enum part_kind kind);
void part_add(struct cx *cx, struct part *part, struct part *other);
struct part *part_times(struct cx *cx, struct part *part, int least, int most);
/* The bytes of a text in UTF-8. */
struct part *part_text(struct cx *cx, const char *text, size_t bytes);
/* One of two, of which the second may be NULL: nothing. */
struct part *part_either(struct cx *cx, struct part *part, struct part *other);
/* Two, one behind the other. */
struct part *part_both(struct cx *cx, struct part *part, struct part *other);

/* Of no text; as an alternative it is none, and what it is a part of takes no text either. */
struct part *part_never(struct cx *cx);
bool part_is_never(const struct part *part);

/* Sets of characters: ranges are added in any order, then settled. */
struct ranges {
    struct range *list;
    int count;
};
void ranges_add(struct cx *cx, struct ranges *ranges, uint32_t from, uint32_t to);
void ranges_settle(struct cx *cx, struct ranges *ranges, bool negative);
struct part *part_set(struct cx *cx, const struct ranges *ranges);

/* The same as JSON writes them within a string: quotes, backslashes and control characters with a backslash. Of a set, control characters
 * that have no letter for that are left out. */
struct part *part_json_set(struct cx *cx, const struct ranges *ranges);
struct part *part_json_text(struct cx *cx, const char *text, size_t bytes);

/* A pattern's part. json: of the text that a JSON string stands for, in which it may begin and end anywhere but at `^` and `$`. NULL after
 * an error. */
struct part *pattern_read(struct cx *cx, const struct grammar_text *text, bool json);

/* grammar_automaton.c. NULL after an error. loc: of the grammar. */
struct modc_grammar *grammar_of_part(struct cx *cx, const char *name, struct part *part, struct loc loc);

/* The texts of both. NULL after an error. */
struct part *part_meet(struct cx *cx, const char *name, struct part *part, struct part *other,
                       struct loc loc);

/* Of a table whose states may be some from which no text ends: these become 0. */
struct part *part_of_table(struct cx *cx, struct table *table);

/* grammar_numbers.c: numbers as JSON writes them, without exponents. */
struct decimal {
    bool negative;
    const char *whole, *fraction; /* digits: without zeros in front ("0": none), without zeros behind */
};

/* Of a number of JSON. False: it has more digits than anybody counts. */
bool decimal_read(struct cx *cx, const char *text, struct decimal *decimal);
struct part *part_digits_from(struct cx *cx, const struct decimal *least, bool open); /* open: it is out */
struct part *part_digits_to(struct cx *cx, const struct decimal *most, bool open);

/* Multiples of a positive one. NULL: its automaton would be too large. */
struct part *part_multiples(struct cx *cx, const struct decimal *of);

#endif
