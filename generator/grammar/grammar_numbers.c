/* grammar_numbers.c - numbers from one to another, and multiples of one, as automata over their digits: without exponents, since where
 * these may stand no automaton compares. */
#include "grammar/grammar_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_DIGITS = 60, MOST_REMAINDERS = 10000 };

/* ---- numbers of schemas --------------------------------------------------------------------------------------------- */

bool decimal_read(struct cx *cx, const char *text, struct decimal *decimal)
{
    struct text digits = text_new(&cx->arena);
    const char *exponent = strpbrk(text, "eE");
    const long power = exponent ? strtol(exponent + 1, NULL, 10) : 0;
    long point = -1; /* digits in front of it */
    size_t zeros = 0;

    decimal->negative = *text == '-';
    for (const char *at = text + decimal->negative; *at && at != exponent; at++) {
        if (*at == '.')
            point = (long)digits.length;
        else
            text_add_bytes(&digits, at, 1);
    }
    if (power > MOST_DIGITS || power < -MOST_DIGITS || digits.length > MOST_DIGITS)
        return false;
    point = (point < 0 ? (long)digits.length : point) + power;
    if (point < 0)
        digits.data = arena_format(&cx->arena, "%0*d%s", (int)-point, 0, digits.data);
    if (point > (long)digits.length)
        text_printf(&digits, "%0*d", (int)(point - (long)digits.length), 0);
    point = point > 0 ? point : 0;
    decimal->whole = arena_copy(&cx->arena, digits.data, (size_t)point);
    decimal->whole += strspn(decimal->whole, "0");
    if (!*decimal->whole)
        decimal->whole = "0";
    decimal->fraction = digits.data + point;
    for (const char *at = decimal->fraction; *at; at++)
        zeros = *at == '0' ? zeros + 1 : 0;
    decimal->fraction = arena_copy(&cx->arena, decimal->fraction, strlen(decimal->fraction) - zeros);
    return true;
}

/* ---- digits ----------------------------------------------------------------------------------------------------------- */

static struct part *digit(struct cx *cx, char from, char to)
{
    struct ranges ranges = {0};

    if (from > to)
        return part_never(cx);
    ranges_add(cx, &ranges, (uint32_t)from, (uint32_t)to);
    return part_set(cx, &ranges);
}

static struct part *digits(struct cx *cx, int least, int most)
{
    return part_times(cx, digit(cx, '0', '9'), least, most);
}

static struct part *text(struct cx *cx, const char *text)
{
    return part_text(cx, text, strlen(text));
}

/* As many digits, which are as large or larger, and as small or smaller; first: of these the first is no 0. */
static struct part *same_from(struct cx *cx, const char *least)
{
    const int more = (int)strlen(least) - 1;

    if (!*least)
        return part_new(cx, PART_ALL);
    return part_either(cx, part_both(cx, digit(cx, *least, *least), same_from(cx, least + 1)),
                       part_both(cx, digit(cx, (char)(*least + 1), '9'), digits(cx, more, more)));
}

static struct part *same_to(struct cx *cx, const char *most, char first)
{
    const int more = (int)strlen(most) - 1;

    if (!*most)
        return part_new(cx, PART_ALL);
    return part_either(cx, part_both(cx, digit(cx, *most, *most), same_to(cx, most + 1, '0')),
                       part_both(cx, digit(cx, first, (char)(*most - 1)), digits(cx, more, more)));
}

/* Whole numbers, from one on and up to one. */
static struct part *whole_from(struct cx *cx, const char *least)
{
    return part_either(cx, same_from(cx, least),
                       part_both(cx, digit(cx, '1', '9'), digits(cx, (int)strlen(least), PART_ENDLESS)));
}

static struct part *whole_to(struct cx *cx, const char *most)
{
    const int length = (int)strlen(most);
    struct part *either = part_new(cx, PART_EITHER);

    part_add(cx, either, same_to(cx, most, length > 1 ? '1' : '0'));
    if (length > 1)
        part_add(cx, either, digit(cx, '0', '9'));
    if (length > 2)
        part_add(cx, either, part_both(cx, digit(cx, '1', '9'), digits(cx, 1, length - 2)));
    return either;
}

/* The next whole number, and the one before; NULL: there is none. */
static const char *next_whole(struct cx *cx, const char *whole)
{
    char *next = arena_format(&cx->arena, "0%s", whole);
    size_t at = strlen(next);

    while (next[--at] == '9')
        next[at] = '0';
    next[at]++;
    return next + (*next == '0');
}

static const char *whole_before(struct cx *cx, const char *whole)
{
    char *before = arena_string(&cx->arena, whole);
    size_t at = strlen(before);

    if (strcmp(whole, "0") == 0)
        return NULL;
    while (before[--at] == '0')
        before[at] = '9';
    before[at]--;
    return before[0] == '0' && before[1] ? before + 1 : before;
}

/* ---- fractions -------------------------------------------------------------------------------------------------------- */

static struct part *pointed(struct cx *cx, struct part *digits)
{
    return part_both(cx, text(cx, "."), digits);
}

static struct part *any_fraction(struct cx *cx)
{
    return part_either(cx, pointed(cx, digits(cx, 1, PART_ENDLESS)), NULL);
}

/* Digits of which one is not 0. */
static struct part *something(struct cx *cx)
{
    return part_both(cx, digits(cx, 0, PART_ENDLESS),
                     part_both(cx, digit(cx, '1', '9'), digits(cx, 0, PART_ENDLESS)));
}

/* Digits behind a point, or behind some that are the same; `least` does not end with 0. */
static struct part *fraction_from(struct cx *cx, const char *least, bool open)
{
    if (!*least)
        return open ? something(cx) : digits(cx, 0, PART_ENDLESS);
    return part_either(cx, part_both(cx, digit(cx, (char)(*least + 1), '9'), digits(cx, 0, PART_ENDLESS)),
                       part_both(cx, digit(cx, *least, *least), fraction_from(cx, least + 1, open)));
}

/* At least one digit. */
static struct part *fraction_to(struct cx *cx, const char *most, bool open)
{
    struct part *rest;

    if (!*most)
        return open ? part_never(cx) : part_times(cx, digit(cx, '0', '0'), 1, PART_ENDLESS);
    rest = fraction_to(cx, most + 1, open);
    if (most[1] || !open)
        rest = part_either(cx, rest, NULL);
    return part_either(cx, part_both(cx, digit(cx, '0', (char)(*most - 1)), digits(cx, 0, PART_ENDLESS)),
                       part_both(cx, digit(cx, *most, *most), rest));
}

/* ---- bounds ----------------------------------------------------------------------------------------------------------- */

/* Without a sign: from a number on, and up to one. */
static struct part *size_from(struct cx *cx, const struct decimal *least, bool open)
{
    struct part *rest = *least->fraction || open ? pointed(cx, fraction_from(cx, least->fraction, open))
                                                 : any_fraction(cx);

    return part_either(cx, part_both(cx, whole_from(cx, next_whole(cx, least->whole)), any_fraction(cx)),
                       part_both(cx, text(cx, least->whole), rest));
}

static struct part *size_to(struct cx *cx, const struct decimal *most, bool open)
{
    const char *before = whole_before(cx, most->whole);
    struct part *less = before ? part_both(cx, whole_to(cx, before), any_fraction(cx)) : part_never(cx),
                *rest = pointed(cx, fraction_to(cx, most->fraction, open));

    if (*most->fraction || !open)
        rest = part_either(cx, rest, NULL);
    return part_either(cx, less, part_both(cx, text(cx, most->whole), rest));
}

static struct part *any_size(struct cx *cx)
{
    return part_both(cx, whole_from(cx, "0"), any_fraction(cx));
}

static bool is_zero(const struct decimal *decimal)
{
    return strcmp(decimal->whole, "0") == 0 && !*decimal->fraction;
}

struct part *part_digits_from(struct cx *cx, const struct decimal *least, bool open)
{
    struct part *below;

    if (!least->negative && !is_zero(least))
        return size_from(cx, least, open);
    if (is_zero(least) && open)
        return size_from(cx, least, true);
    below = part_both(cx, text(cx, "-"), size_to(cx, least, open));
    return part_either(cx, any_size(cx), below);
}

struct part *part_digits_to(struct cx *cx, const struct decimal *most, bool open)
{
    if (most->negative && !is_zero(most))
        return part_both(cx, text(cx, "-"), size_from(cx, most, open));
    if (is_zero(most) && open)
        return part_both(cx, text(cx, "-"), size_from(cx, most, true));
    return part_either(cx, size_to(cx, most, open), part_both(cx, text(cx, "-"), any_size(cx)));
}

/* ---- multiples -------------------------------------------------------------------------------------------------------- */

/* States by what is left when the digits so far are divided: before a sign, behind it, of whole numbers, behind so many digits of a
 * fraction, and where only zeros may follow. */
struct part *part_multiples(struct cx *cx, const struct decimal *of)
{
    enum { DEAD, START, SIGNED, WHOLE, OTHERS = 12, POINT = 10, MINUS = 11 };
    const int places = (int)strlen(of->fraction);
    const char *all = arena_format(&cx->arena, "%s%s", of->whole, of->fraction);
    struct table *table = ARENA_NEW(&cx->arena, struct table);
    int n = 0, zeros,
        scale[2 * MOST_DIGITS + 1]; /* decimal_read's exponent moves the point by as many digits again */

    for (const char *at = all; *at; at++) {
        n = 10 * n + (*at - '0');
        if (n > MOST_REMAINDERS)
            return NULL;
    }
    if (n == 0 || (places + 2) * n > 2 * MOST_REMAINDERS)
        return NULL;
    scale[0] = 1 % n; /* of 10^i */
    for (int i = 0; i < places; i++)
        scale[i + 1] = scale[i] * 10 % n;
    zeros = WHOLE + n * (places + 2);
    table->states = zeros + 1;
    table->classes = OTHERS + 1;
    memset(table->class_of, OTHERS, sizeof table->class_of);
    for (int d = 0; d < 10; d++)
        table->class_of['0' + d] = (uint8_t)d;
    table->class_of['.'] = POINT;
    table->class_of['-'] = MINUS;
    table->next = ARENA_ARRAY(&cx->arena, table->states * table->classes, int);
    table->ends = ARENA_ARRAY(&cx->arena, table->states, bool);
    table->next[START * table->classes + MINUS] = SIGNED;
    for (int d = 0; d < 10; d++) {
        table->next[START * table->classes + d] = WHOLE + d % n;
        table->next[SIGNED * table->classes + d] = WHOLE + d % n;
    }
    for (int stage = 0; stage < places + 2;
         stage++) { /* 0: whole numbers; 1: behind the point; 2: one digit; ... */
        for (int left = 0; left < n; left++) {
            const int state = WHOLE + stage * n + left, had = stage > 0 ? stage - 1 : 0;
            int *next = &table->next[state * table->classes];

            table->ends[state] = stage != 1 && left * scale[places - had] % n == 0;
            for (int d = 0; d < 10 && (stage == 0 || had < places); d++)
                next[d] = WHOLE + (stage > 0 ? stage + 1 : 0) * n + (10 * left + d) % n;
            if (stage == 0)
                next[POINT] = WHOLE + n + left;
            else if (had == places && left == 0)
                next[0] = zeros;
        }
    }
    table->ends[zeros] = true;
    table->next[zeros * table->classes] = zeros;
    return part_of_table(cx, table);
}
