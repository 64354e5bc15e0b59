/* grammar_parts.h - what a pattern or a schema becomes on its way to an automaton: parts, which stand beside and behind each other. Parts
 * are shared: what stands twice is one. */
#ifndef MODC_GRAMMAR_PARTS_H
#define MODC_GRAMMAR_PARTS_H

#include "grammar/grammar.h"

enum part_kind {
    PART_SET,    /* a character of the ranges */
    PART_ALL,    /* one behind the other; without any: nothing at all */
    PART_EITHER, /* one of them */
    PART_TIMES   /* the one, so often */
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
    int before,
        start; /* where it begins, where `before` follows it: of the last time it was made states of */
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

#endif
