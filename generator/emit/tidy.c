/* tidy.c - what filling a template leaves of its arithmetic: x * 1, x / 1, x + 0, (3), (64 / 16). Apart from template.c, since it
 * knows a line of C and nothing of holes. */
#include "emit/tidy.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- what is bound to what ------------------------------------------------------------------------------------ */

enum binding { UNKNOWN, APART, COMPARED, ADDED, MULTIPLIED, ONE }; /* from the weakest to the strongest */

/* Of a sign with blanks around it. */
static enum binding binding_of(char sign)
{
    return strchr("*/%", sign)  ? MULTIPLIED
           : strchr("+-", sign) ? ADDED
           : strchr("<>", sign) ? COMPARED
                                : UNKNOWN;
}

/* Of an expression: that of its weakest sign; UNKNOWN where there is more in it than sums and products. */
static enum binding binding_inside(const char *text, size_t length)
{
    enum binding weakest = ONE;
    int depth = 0;

    if (length == 0 || strchr("-*&!~ ", text[0]))
        return UNKNOWN;
    for (size_t i = 0; i < length; i++) {
        const bool blanks = i > 0 && text[i - 1] == ' ' && i + 1 < length && text[i + 1] == ' ';

        depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
        if (depth > 0 || is_word(text[i]) || strchr(".()[]", text[i]))
            continue;
        if (blanks && binding_of(text[i]) >= ADDED) {
            weakest = binding_of(text[i]) < weakest ? binding_of(text[i]) : weakest;
            i++; /* and the blank behind it */
        } else if (text[i] != ' ' || i + 2 >= length || binding_of(text[i + 1]) < ADDED ||
                   text[i + 2] != ' ') {
            return UNKNOWN;
        }
    }
    return weakest;
}

/* How what ends the text binds the expression behind it. */
static enum binding binding_before(const char *text, size_t length)
{
    const char last = length > 0 ? text[length - 1] : 0;
    const char sign = length > 2 ? text[length - 2] : 0, before = length > 2 ? text[length - 3] : 0;

    if (last == '(' && sign == '_' && before == '_') /* __attribute__((...)) */
        return UNKNOWN;
    if (last == '(' || last == '[')
        return APART;
    if (last != ' ' || !sign)
        return UNKNOWN;
    if (sign == ',' || (sign == '=' && strchr(" +-*/%", before)))
        return APART;
    if (sign == '=' && strchr("=!<>", before))
        return COMPARED;
    return before == ' ' ? binding_of(sign) : UNKNOWN;
}

/* How what begins the text binds the expression before it. */
static enum binding binding_behind(const char *text)
{
    if (!*text || strchr(";,)]", *text))
        return APART;
    if (*text != ' ' || !text[1] || !text[2])
        return UNKNOWN;
    if (text[2] == ' ')
        return strchr("?:", text[1]) ? APART : binding_of(text[1]);
    if (text[2] == '=' && strchr("=!<>", text[1]))
        return COMPARED;
    return strchr("&|", text[1]) && text[2] == text[1] ? APART : UNKNOWN;
}

/* ---- signs with 0 and 1 ---------------------------------------------------------------------------------------- */

static bool ends_number(const char *at)
{
    return !is_word(*at) && *at != '.';
}

/* A sign with blanks around it, and an integer that is the operand behind it. */
static bool has_operand(const char *at, char sign, char digit)
{
    return at[0] == ' ' && at[1] == sign && at[2] == ' ' && at[3] == digit && ends_number(at + 4);
}

/* Where the operand begins that ends the text: a word, a call, something in brackets. */
static size_t last_operand(const struct text *text)
{
    size_t at = text->length;
    int depth = 0;

    for (; at > 0; at--) {
        const char last = text->data[at - 1];

        depth += (last == ')' || last == ']') - (last == '(' || last == '[');
        if (depth < 0 || (depth == 0 && !is_word(last) && last != '.' && last != '(' && last != '['))
            break;
    }
    return at;
}

static void cut(struct text *text, size_t length)
{
    text->length = length;
    text->data[length] = 0;
}

/* Whether a term was added, or taken away, that the text has no more. */
static bool ends_with_sign(const struct text *text)
{
    const char *end = text->data + text->length - 3;

    return text->length >= 3 && (strcmp(end, " + ") == 0 || strcmp(end, " - ") == 0);
}

/* Drops the product that ends the text. */
static void drop_product(struct text *text)
{
    for (;;) {
        size_t at = last_operand(text);

        if (at < 3 || text->data[at - 1] != ' ' || text->data[at - 3] != ' ' ||
            binding_of(text->data[at - 2]) != MULTIPLIED) {
            cut(text, at);
            return;
        }
        cut(text, at - 3);
    }
}

/* The bracket that closes text[0]; NULL: another line has it. */
static const char *closing(const char *text)
{
    int depth = 0;

    for (; *text; text++) {
        depth += (*text == '(') - (*text == ')');
        if (depth == 0)
            return text;
    }
    return NULL;
}

/* Behind the factors that stand there: "" of " * (y + 1) / k + z" leaves " + z". */
static const char *behind_factors(const char *at)
{
    while (at[0] == ' ' && at[1] && binding_of(at[1]) == MULTIPLIED && at[2] == ' ') {
        int depth = 0;

        for (at += 3; *at && (depth > 0 || is_word(*at) || strchr(".([", *at)); at++)
            depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    return at;
}

/* x + (y + z) * 1 is x + y + z: these are integers. `rest`: what comes behind. */
static void unwrap_sum(struct text *text, const char *rest)
{
    const size_t at = last_operand(text);
    const char *own = text->data + at;
    const size_t length = text->length - at;

    if (length < 3 || own[0] != '(' || closing(own) != own + length - 1 || at < 3 ||
        strncmp(own - 3, " + ", 3) != 0 || binding_inside(own + 1, length - 2) < ADDED ||
        binding_behind(rest) == UNKNOWN || binding_behind(rest) > ADDED)
        return;
    memmove(text->data + at, own + 1, length - 2);
    cut(text, text->length - 2);
}

/* Is there an operand 0 or 1 behind a sign? */
static bool has_neutral(const char *line)
{
    for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' '))
        if (at[1] && binding_of(at[1]) >= ADDED && at[2] == ' ' && (at[3] == '0' || at[3] == '1'))
            return true;
    return false;
}

/* x * 1, x / 1 and x - 0 are x; x * 0 and x % 1 are 0, with all factors, and that goes where it is added. */
static const char *without_neutral(struct arena *arena, const char *line)
{
    struct text out;

    if (!has_neutral(line))
        return line;
    out = text_new(arena);
    for (const char *at = line; *at; at++) {
        if (has_operand(at, '*', '1') || has_operand(at, '/', '1')) {
            if (at[1] == '*')
                unwrap_sum(&out, at + 4);
            at += 3;
        } else if ((has_operand(at, '+', '0') || has_operand(at, '-', '0')) &&
                   binding_behind(at + 4) <= ADDED) {
            at += 3;
        } else if (has_operand(at, '*', '0') || has_operand(at, '%', '1')) {
            drop_product(&out);
            at = behind_factors(at + 4) - 1;
            if (ends_with_sign(&out))
                cut(&out, out.length - 3);
            else if (strncmp(at + 1, " + ", 3) == 0)
                at += 3;
            else
                text_add(&out, "0");
        } else {
            text_add_bytes(&out, at, 1);
        }
    }
    return strcmp(out.data, line) == 0 ? out.data : without_neutral(arena, out.data);
}

/* ---- parentheses ---------------------------------------------------------------------------------------------- */

/* "64 / 16", which is *value. */
static bool is_even_quotient(const char *text, size_t length, long *value)
{
    char *end;
    const long top = strtol(text, &end, 10);
    long bottom;

    if (end == text || strncmp(end, " / ", 3) != 0 || !isdigit((unsigned char)end[3]))
        return false;
    bottom = strtol(end + 3, &end, 10);
    if (end != text + length || bottom == 0 || top % bottom != 0)
        return false;
    *value = top / bottom;
    return true;
}

static const char *without_parentheses(struct arena *arena, const char *line)
{
    struct text out = text_new(arena);

    for (const char *at = strchr(line, '('); at; at = strchr(at + 1, '(')) {
        const enum binding before = binding_before(line, (size_t)(at - line));
        const char *end = before == UNKNOWN ? NULL : closing(at);
        enum binding inside;
        long value;

        if (!end || binding_behind(end + 1) == UNKNOWN)
            continue;
        text_add_bytes(&out, line, (size_t)(at - line));
        inside = binding_inside(at + 1, (size_t)(end - at) - 1);
        if (is_even_quotient(at + 1, (size_t)(end - at) - 1, &value))
            text_printf(&out, "%ld%s", value, end + 1);
        else if (inside > before && inside > binding_behind(end + 1))
            text_printf(&out, "%.*s%s", (int)(end - at) - 1, at + 1, end + 1);
        else
            cut(&out, 0);
        if (out.length > 0)
            return out.data;
    }
    return line;
}

const char *tidy_line(struct arena *arena, const char *line)
{
    for (;;) {
        const char *next = without_parentheses(arena, without_neutral(arena, line));

        if (next == line || strcmp(next, line) == 0)
            return next;
        line = next;
    }
}
