/* grammar_regex.c - regular expressions to parts: what Python's re and ECMAScript read alike, as a whole. */
#include "grammar/grammar_parts.h"

#include <string.h>

struct pattern {
    struct cx *cx;
    const struct grammar_text *whole;
    const char *at, *end;
    bool json, failed;
    int depth;
};

static struct loc place_of(const struct pattern *p, const char *at, size_t length)
{
    const struct grammar_text *whole = p->whole;

    if (!whole->source)
        return whole->loc;
    return diag_loc(p->cx, whole->source, whole->offset + (size_t)(at - whole->text), length);
}

/* What is wrong from `at` to where it is read. */
static struct part *pattern_fail(struct pattern *p, const char *at, const char *what)
{
    if (!p->failed) {
        const size_t left = (size_t)(p->end - at);
        const char *refusal = arena_format(&p->cx->arena, "%s: '%.*s%s'", what, (int)(left > 24 ? 24 : left),
                                           at, left > 24 ? "..." : "");

        diag_error(p->cx, place_of(p, at, p->at > at ? (size_t)(p->at - at) : 1), "%s", refusal);
        diag_hint(
            p->cx,
            "a pattern has characters, classes such as [a-z] and \\d, groups, '|' and the counts * + ? {2,5}; "
            "it is matched as a whole");
    }
    p->failed = true;
    return NULL;
}

static bool takes(struct pattern *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* ---- characters --------------------------------------------------------------------------------------------------- */

static uint32_t next_character(struct pattern *p)
{
    const unsigned char *s = (const unsigned char *)p->at;
    const int length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7fu >> length);

    for (int i = 1; i < length; i++)
        c = c << 6 | (s[i] & 0x3fu);
    p->at += length;
    return c;
}

/* \d \w \s and, negative, \D \W \S. */
static bool add_named(struct pattern *p, char letter, struct ranges *ranges)
{
    static const struct {
        char letter;
        struct range ranges[4];
    } named[] = {{'d', {{'0', '9'}}},
                 {'w', {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                 {'s', {{'\t', '\r'}, {' ', ' '}}}};
    struct ranges own = {0};

    for (int i = 0; i < COUNT(named); i++) {
        const bool negative = letter == named[i].letter - 'a' + 'A';

        if (letter != named[i].letter && !negative)
            continue;
        for (int k = 0; k < 4 && named[i].ranges[k].to > 0; k++)
            ranges_add(p->cx, &own, named[i].ranges[k].from, named[i].ranges[k].to);
        ranges_settle(p->cx, &own, negative);
        for (int k = 0; k < own.count; k++)
            ranges_add(p->cx, ranges, own.list[k].from, own.list[k].to);
        return true;
    }
    return false;
}

/* The character of so many digits; -1: there are fewer. */
static int64_t read_hex(struct pattern *p, int count)
{
    int64_t c = 0;

    for (int i = 0; i < count; i++, p->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = p->at < p->end && *p->at ? strchr(digits, *p->at) : NULL;

        if (!digit)
            return -1;
        c = c * 16 + (digit - digits > 15 ? digit - digits - 6 : digit - digits);
    }
    return c;
}

/* Behind a backslash that begins at `begin`: one character in *c, or a class that is added, and then *c is -1. */
static bool read_escape(struct pattern *p, const char *begin, struct ranges *ranges, int64_t *c)
{
    static const char letters[] = "n\nt\tr\rf\fv\v";
    const char letter = p->at < p->end ? *p->at : 0;

    *c = -1;
    if (p->at == p->end) {
        pattern_fail(p, begin, "nothing stands behind a backslash");
        return false;
    }
    p->at++;
    if (add_named(p, letter, ranges))
        return true;
    if (letter == 'x' || letter == 'u') {
        *c = read_hex(p, letter == 'x' ? 2 : 4);
        if (*c < 0)
            pattern_fail(p, begin,
                         letter == 'x' ? "\\x takes two digits, as \\x41"
                                       : "\\u takes four digits, as \\u00e9");
        else if (*c >= 0xd800 && *c <= 0xdfff)
            pattern_fail(p, begin, "half of a character");
        return !p->failed;
    }
    for (int i = 0; letters[i]; i += 2)
        if (letter == letters[i])
            *c = letters[i + 1];
    if (*c < 0 && strchr("^$\\.*+?()[]{}|/-\"'#&~ ,:;<=>@!%`_", letter)) /* 0 is found, too */
        *c = letter;
    if (*c > 0)
        return true;
    pattern_fail(p, begin, "an escape that is not known");
    return false;
}

/* One end of a range of a class, or a class within it: *c is -1 then. */
static bool read_member(struct pattern *p, struct ranges *ranges, int64_t *c)
{
    const char *begin = p->at;

    if (takes(p, '\\'))
        return read_escape(p, begin, ranges, c);
    *c = next_character(p);
    return true;
}

/* A character of those that stand at `begin`. */
static struct part *set_of(struct pattern *p, const char *begin, const struct ranges *ranges)
{
    struct part *part = p->json ? part_json_set(p->cx, ranges) : part_set(p->cx, ranges);

    return part->count > 0 ? part : pattern_fail(p, begin, "none of the characters can be written");
}

/* Behind the bracket that begins at `begin`. */
static struct part *read_class(struct pattern *p, const char *begin)
{
    const bool negative = takes(p, '^');
    struct ranges ranges = {0};

    if (p->at < p->end && *p->at == ']')
        return pattern_fail(p, begin, "a class begins with ']', which is written \\] there");
    while (!takes(p, ']')) {
        const char *first = p->at;
        int64_t from, to;

        if (p->at == p->end)
            return pattern_fail(p, begin, "a class does not end");
        if (!read_member(p, &ranges, &from))
            return NULL;
        to = from;
        if (p->end - p->at > 1 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            if (!read_member(p, &ranges, &to))
                return NULL;
            if (from < 0 || to < from)
                return pattern_fail(p, first, "a range goes from one character to a later one");
        }
        if (from >= 0)
            ranges_add(p->cx, &ranges, (uint32_t)from, (uint32_t)to);
    }
    ranges_settle(p->cx, &ranges, negative);
    return set_of(p, begin, &ranges);
}

/* ---- counts --------------------------------------------------------------------------------------------------------- */

static bool read_number(struct pattern *p, int *number)
{
    const char *begin = p->at;

    *number = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        *number = *number < PART_MOST ? *number * 10 + (*p->at - '0') : PART_MOST;
    return p->at > begin;
}

/* {2}, {2,}, {2,5}. */
static bool read_braces(struct pattern *p, const char *begin, int *least, int *most)
{
    bool fine = read_number(p, least);

    *most = *least;
    if (fine && takes(p, ',') && !read_number(p, most))
        *most = PART_ENDLESS;
    if (!fine || !takes(p, '}'))
        pattern_fail(p, begin, "a count is {2}, {2,} or {2,5}; a brace that is none is written \\{");
    else if (*most != PART_ENDLESS && *most < *least)
        pattern_fail(p, begin, "a count goes from a number to a larger one");
    else if (*least >= PART_MOST || *most >= PART_MOST)
        pattern_fail(p, begin, "a count is too large");
    return !p->failed;
}

static bool is_count(const struct pattern *p)
{
    return p->at < p->end && strchr("*+?{", *p->at) && *p->at;
}

static struct part *read_counts(struct pattern *p, struct part *part)
{
    const char *begin = p->at;
    int least = 1, most = 1;

    if (!part || !is_count(p))
        return part;
    switch (*p->at++) {
    case '*':
        least = 0;
        most = PART_ENDLESS;
        break;
    case '+':
        most = PART_ENDLESS;
        break;
    case '?':
        least = 0;
        break;
    default:
        if (!read_braces(p, begin, &least, &most))
            return NULL;
    }
    if (is_count(p))
        return pattern_fail(p, begin, "a count of a count, or a lazy one");
    return part_times(p->cx, part, least, most);
}

/* ---- alternatives --------------------------------------------------------------------------------------------------- */

static struct part *read_alternatives(struct pattern *p);

static struct part *read_group(struct pattern *p, const char *begin)
{
    struct part *part;

    if (takes(p, '?') && !takes(p, ':'))
        return pattern_fail(p, begin, "of groups with '?' there is (?:...) alone");
    if (++p->depth > GRAMMAR_MAX_DEPTH)
        return pattern_fail(p, begin, "too many groups in groups");
    part = read_alternatives(p);
    p->depth--;
    if (part && !takes(p, ')'))
        return pattern_fail(p, begin, "a group does not end");
    return part;
}

static struct part *read_one(struct pattern *p)
{
    const char *begin = p->at;
    struct ranges ranges = {0};
    int64_t c;

    switch (*p->at) {
    case '(':
        p->at++;
        return read_group(p, begin);
    case '[':
        p->at++;
        return read_class(p, begin);
    case '*':
    case '+':
    case '?':
    case '{':
        p->at++;
        return pattern_fail(p, begin, "a count of nothing");
    case '^':
    case '$':
        p->at++;
        return pattern_fail(p, begin, "'^' stands at the beginning and '$' at the end alone");
    case '.':
        p->at++;
        ranges_add(p->cx, &ranges, '\n', '\n');
        ranges_settle(p->cx, &ranges, true);
        return set_of(p, begin, &ranges);
    default:
        if (!read_member(p, &ranges, &c))
            return NULL;
        if (c >= 0)
            ranges_add(p->cx, &ranges, (uint32_t)c, (uint32_t)c);
        ranges_settle(p->cx, &ranges, false);
        return set_of(p, begin, &ranges);
    }
}

static struct part *read_sequence(struct pattern *p)
{
    struct part *all = part_new(p->cx, PART_ALL);

    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        struct part *part = read_counts(p, read_one(p));

        if (!part)
            return NULL;
        part_add(p->cx, all, part);
    }
    return all;
}

static struct part *read_alternatives(struct pattern *p)
{
    struct part *either = part_new(p->cx, PART_EITHER);

    do {
        struct part *part = read_sequence(p);

        if (!part)
            return NULL;
        part_add(p->cx, either, part);
    } while (takes(p, '|'));
    return either->count == 1 ? either->parts[0] : either;
}

/* Any characters, as a JSON string has them. */
static struct part *anything(struct cx *cx)
{
    struct ranges ranges = {0};

    ranges_settle(cx, &ranges, true);
    return part_times(cx, part_json_set(cx, &ranges), 0, PART_ENDLESS);
}

struct part *pattern_read(struct cx *cx, const struct grammar_text *text, bool json)
{
    struct pattern pattern = {
        .cx = cx, .whole = text, .at = text->text, .end = text->text + text->length, .json = json};
    struct pattern *p = &pattern;
    const bool begins = takes(p, '^');
    bool ends = false;
    struct part *part;

    if (p->end > p->at && p->end[-1] == '$') {
        const char *back = p->end - 1;

        while (back > p->at && back[-1] == '\\')
            back--;
        ends = (p->end - back) % 2 == 1;
        p->end -= ends;
    }
    part = read_alternatives(p);
    if (part && p->at < p->end)
        return pattern_fail(p, p->at, "a ')' that closes nothing");
    if (part && (begins || ends) && part->kind == PART_EITHER && p->depth == 0) {
        const char *bar = text->text;

        p->at = text->text + text->length;
        p->end = p->at;
        return pattern_fail(p, bar, "'^' and '$' around alternatives, which are written ^(...)$");
    }
    if (part && json && !begins)
        part = part_both(cx, anything(cx), part);
    if (part && json && !ends)
        part = part_both(cx, part, anything(cx));
    return part;
}

struct modc_grammar *grammar_of_regex(struct cx *cx, const char *name, const struct grammar_text *text)
{
    struct part *part = pattern_read(cx, text, false);

    return part ? grammar_of_part(cx, name, part, text->loc) : NULL;
}
