/* template.c - the filler: one pass over the text, with a stack of conditions. */
#include "emit/template.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "emit/tidy.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

_Noreturn static void fault(const char *what, const char *name)
{
    fprintf(stderr, "modc: a fault of modc itself: template %s: %s\n", name, what);
    exit(EXIT_FAULT);
}

static const struct fill_pointer *find_pointer(struct cx *cx, const struct fill *fill, const char *name,
                                               size_t length)
{
    for (int i = 0; i < fill->pointer_count; i++)
        if (strncmp(fill->pointers[i].name, name, length) == 0 && !fill->pointers[i].name[length])
            return &fill->pointers[i];
    fault(arena_format(&cx->arena, "no pointer %.*s", (int)length, name), fill->name);
}

static bool begins(const char *word, size_t size, const char *prefix)
{
    return size > strlen(prefix) && strncmp(word, prefix, strlen(prefix)) == 0;
}

static const char *hole_text(struct cx *cx, const struct fill *fill, const char *word, size_t length)
{
    if (begins(word, length, "T_converts_"))
        return find_pointer(cx, fill, word + 11, length - 11)->get ? "1" : "0";
    for (int i = 0; i < fill->count; i++)
        if (fill->holes[i].name[2] == word[2] && strncmp(fill->holes[i].name, word, length) == 0 &&
            !fill->holes[i].name[length])
            return fill->holes[i].text;
    fault(arena_format(&cx->arena, "nothing fills the hole %.*s", (int)length, word), fill->name);
}

/* ---- conditions ------------------------------------------------------------------------------------------- */

struct condition {
    struct cx *cx;
    const struct fill *fill;
    const char *at;
};

static long parse_or(struct condition *c);

static void skip_blanks(struct condition *c)
{
    while (*c->at == ' ')
        c->at++;
}

static long parse_unit(struct condition *c)
{
    long value;

    skip_blanks(c);
    if (*c->at == '!' && c->at[1] != '=') {
        c->at++;
        return !parse_unit(c);
    }
    if (*c->at == '(') {
        c->at++;
        value = parse_or(c);
        skip_blanks(c);
        c->at += *c->at == ')';
        return value;
    }
    if (isdigit((unsigned char)*c->at)) {
        char *end;

        value = strtol(c->at, &end, 10);
        c->at = end;
        return value;
    }
    const char *word = c->at;
    char *end;

    while (is_word(*c->at))
        c->at++;
    value = strtol(hole_text(c->cx, c->fill, word, (size_t)(c->at - word)), &end, 10);
    if (*end)
        fault("a condition on a value that is not a number", c->fill->name);
    return value;
}

static long parse_binary(struct condition *c, int level)
{
    static const char *const operators[][4] = {
        {"*", "%", NULL}, {"+", "-", NULL}, {"<=", ">=", "<", ">"}, {"==", "!=", NULL}};
    long left = level == 0 ? parse_unit(c) : parse_binary(c, level - 1);

    for (;;) {
        const char *found = NULL;

        skip_blanks(c);
        for (int i = 0; i < 4 && operators[level][i] && !found; i++)
            if (strncmp(c->at, operators[level][i], strlen(operators[level][i])) == 0)
                found = operators[level][i];
        if (!found)
            return left;
        c->at += strlen(found);

        long right = level == 0 ? parse_unit(c) : parse_binary(c, level - 1);

        switch (found[0]) {
        case '*':
            left *= right;
            break;
        case '%':
            left = right ? left % right : 0;
            break;
        case '+':
            left += right;
            break;
        case '-':
            left -= right;
            break;
        case '<':
            left = found[1] ? left <= right : left < right;
            break;
        case '>':
            left = found[1] ? left >= right : left > right;
            break;
        default:
            left = found[0] == '=' ? left == right : left != right;
        }
    }
}

static long parse_and(struct condition *c)
{
    long value = parse_binary(c, 3);

    for (skip_blanks(c); strncmp(c->at, "&&", 2) == 0; skip_blanks(c)) {
        c->at += 2;
        value = (parse_binary(c, 3) != 0) & (value != 0);
    }
    return value;
}

static long parse_or(struct condition *c)
{
    long value = parse_and(c);

    for (skip_blanks(c); strncmp(c->at, "||", 2) == 0; skip_blanks(c)) {
        c->at += 2;
        value = (parse_and(c) != 0) | (value != 0);
    }
    return value;
}

static bool decide(struct cx *cx, const struct fill *fill, const char *line, size_t length)
{
    struct condition c = {cx, fill, arena_copy(&cx->arena, line, length)};
    long value = parse_or(&c);

    skip_blanks(&c);
    if (*c.at)
        fault("a condition that cannot be read", fill->name);
    return value != 0;
}

/* ---- text ------------------------------------------------------------------------------------------------- */

static void fill_text(struct cx *cx, struct text *out, const char *text, size_t length,
                      const struct fill *fill);

struct piece {
    const char *text;
    size_t length;
};

/* What names a function or a pointer, which no size does. */
static const char *fill_name(struct cx *cx, struct piece piece, const struct fill *fill)
{
    struct text out = text_new(&cx->arena);
    struct fill named = *fill;

    named.size_count = 0;
    fill_text(cx, &out, piece.text, piece.length, &named);
    return out.data;
}

static const char *fill_piece(struct cx *cx, struct piece piece, const struct fill *fill)
{
    struct text out = text_new(&cx->arena);

    fill_text(cx, &out, piece.text, piece.length, fill);
    return out.data;
}

/* The arguments of a call that starts behind text[at], which is '('; returns the index behind ')'. */
static size_t split_arguments(const char *text, size_t at, size_t length, const struct fill *fill,
                              struct piece *arguments, int count)
{
    size_t start = at + 1;
    int depth = 0, n = 0;

    for (size_t i = at; i < length; i++) {
        depth += text[i] == '(' || text[i] == '[';
        depth -= text[i] == ')' || text[i] == ']';
        if ((depth == 1 && text[i] == ',') || (depth == 0 && text[i] == ')')) {
            while (text[start] == ' ')
                start++;
            if (n < count)
                arguments[n] = (struct piece){text + start, i - start};
            n++;
            start = i + 1;
            if (depth == 0) {
                if (n != count)
                    fault("wrong number of arguments", fill->name);
                return i + 1;
            }
        }
    }
    fault("a call that does not end", fill->name);
}

static void drop_blanks(struct text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = 0;
}

/* Of a list that goes on in another line too. */
static void drop_line(struct text *text)
{
    drop_blanks(text);
    if (text->length > 0 && text->data[text->length - 1] == '\n')
        text->data[--text->length] = 0;
    drop_blanks(text);
}

/* What T_MORE at `at` has behind its condition; returns the index behind it. */
static size_t split_more(struct cx *cx, struct text *out, const char *text, size_t at, size_t length,
                         const struct fill *fill)
{
    const char *rest = memchr(text + at, ',', length - at);
    size_t condition = at + 1, end = at;
    int depth = 0;

    do {
        depth += (text[end] == '(') - (text[end] == ')');
        end++;
    } while (depth > 0 && end < length);
    if (!rest || depth > 0)
        fault("T_MORE without its arguments", fill->name);
    if (decide(cx, fill, text + condition, (size_t)(rest - text) - condition))
        fill_text(cx, out, rest, (size_t)(text + end - 1 - rest), fill);
    return end;
}

static bool is_simple(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!is_word(*c) && *c != '.')
            return false;
    return true;
}

/* A hole alone, which may hold what is no number. */
static bool is_flag(struct piece condition)
{
    for (size_t i = 0; i < condition.length; i++)
        if (!is_word(condition.text[i]))
            return false;
    return true;
}

/* `name`, or the name of a helper: T_NAME_tile. */
static bool is_name(const char *word, size_t size, const char *name)
{
    size_t length = strlen(name);

    return size >= length && strncmp(word, name, length) == 0 && (size == length || word[length] == '_');
}

static bool reads_pointer(const char *word, size_t size)
{
    return (size == 4 && strncmp(word, "T_OF", 4) == 0) || (size == 6 && strncmp(word, "T_MOST", 6) == 0) ||
           (size == 5 && (strncmp(word, "T_GET", 5) == 0 || strncmp(word, "T_PUT", 5) == 0));
}

/* T_OF, T_MOST, T_GET or T_PUT, whose arguments start at text[end]; returns the index behind them. */
static size_t fill_through(struct cx *cx, struct text *out, const char *word, const char *text, size_t end,
                           size_t length, const struct fill *fill)
{
    struct piece arguments[2];
    size_t behind = split_arguments(text, end, length, fill, arguments, 2);
    const char *name = fill_name(cx, arguments[0], fill);
    const char *what = word[2] == 'O' || word[2] == 'M' ? fill_name(cx, arguments[1], fill)
                                                        : fill_piece(cx, arguments[1], fill);
    const struct fill_pointer *pointer = find_pointer(cx, fill, name, strlen(name));
    const char *convert = word[2] == 'G' ? pointer->get : pointer->put;

    if (word[2] == 'O')
        text_printf(out, "%s_%s", pointer->vector, what);
    else if (word[2] == 'M')
        text_printf(out, "%s_%s%s", convert ? pointer->vector : fill->parts, what, convert ? "_most" : "");
    else
        text_printf(out, convert ? "%s(%s)" : "%s%s", convert ? convert : "", what);
    return behind;
}

/* Where the next T_word begins, from `at` on; `length`: there is none. */
static size_t next_hole(const char *text, size_t at, size_t length)
{
    for (const char *next; at < length && (next = memchr(text + at, 'T', length - at)); at++) {
        at = (size_t)(next - text);
        if (at + 1 < length && text[at + 1] == '_' && (at == 0 || !is_word(text[at - 1])))
            return at;
    }
    return length;
}

static bool is_size(const struct fill *fill, const char *word, size_t length)
{
    for (int i = 0; i < fill->size_count; i++)
        if (strncmp(fill->sizes[i], word, length) == 0 && !fill->sizes[i][length])
            return true;
    return false;
}

/* A word of the template's own, which a size has as well. */
static void add_apart(struct cx *cx, struct text *out, const char *word, size_t length,
                      const struct fill *fill)
{
    const char *own = arena_copy(&cx->arena, word, length);

    while (is_size(fill, own, strlen(own)))
        own = arena_format(&cx->arena, "%s_", own);
    text_add(out, own);
}

/* What of a line has no holes; see note [sizes in templates]. A word before a parenthesis is a function's, one in a comment or
 * a directive nobody's. */
static void add_plain(struct cx *cx, struct text *out, const char *text, size_t length,
                      const struct fill *fill)
{
    bool comment = false;

    if (fill->size_count == 0 || (length > 0 && text[strspn(text, " ")] == '#')) {
        text_add_bytes(out, text, length);
        return;
    }
    for (size_t i = 0, end; i < length; i = end) {
        for (end = i; end < length && is_word(text[end]);)
            end++;
        if (end > i && !comment && text[end] != '(' && is_size(fill, text + i, end - i)) {
            add_apart(cx, out, text + i, end - i, fill);
            continue;
        }
        end += end == i;
        if (end < length && text[end - 1] == (comment ? '*' : '/') && text[end] == (comment ? '/' : '*'))
            comment = !comment;
        text_add_bytes(out, text + i, end - i);
    }
}

static void fill_text(struct cx *cx, struct text *out, const char *text, size_t length,
                      const struct fill *fill)
{
    for (size_t i = 0; i < length;) {
        size_t end = next_hole(text, i, length);

        if (end > i) {
            add_plain(cx, out, text + i, end - i, fill);
            i = end;
            continue;
        }
        while (end < length && is_word(text[end]))
            end++;

        const char *word = text + i;
        size_t size = end - i;

        if (is_name(word, size, "T_NAME")) {
            text_add(out, fill->name);
            text_add_bytes(out, word + 6, size - 6);
            i = end;
        } else if (size == 9 && strncmp(word, "T_COMMENT", 9) == 0) {
            text_printf(out, "/* %s */", fill->comment);
            i = end;
        } else if (is_name(word, size, "T_PARTS")) {
            text_add(out, fill->parts);
            text_add_bytes(out, word + 7, size - 7);
            i = end;
        } else if (size == 3 && strchr("VS", word[2]) && text[end] == '(') {
            struct piece function[1];

            i = split_arguments(text, end, length, fill, function, 1);
            text_printf(out, "%s%s_%s", fill->vector, word[2] == 'S' ? "s" : "",
                        fill_name(cx, function[0], fill));
        } else if (reads_pointer(word, size)) {
            i = fill_through(cx, out, word, text, end, length, fill);
        } else if (begins(word, size, "T_of_")) {
            text_add(out, find_pointer(cx, fill, word + 5, size - 5)->type);
            i = end;
        } else if (size == 4 && strncmp(word, "T_IF", 4) == 0) {
            struct piece arguments[3];
            bool second;

            i = split_arguments(text, end, length, fill, arguments, 3);
            second = is_flag(arguments[0]) ? strcmp(fill_piece(cx, arguments[0], fill), "0") == 0
                                           : !decide(cx, fill, arguments[0].text, arguments[0].length);
            text_add(out, fill_piece(cx, arguments[second ? 2 : 1], fill));
        } else if (size == 6 && strncmp(word, "T_MORE", 6) == 0) {
            drop_line(out);
            i = split_more(cx, out, text, end, length, fill);
        } else if (size == 7 && strncmp(word, "T_SCORE", 7) == 0) {
            struct piece arguments[3];

            i = split_arguments(text, end, length, fill, arguments, 3);
            text_add(out,
                     fill->score(fill->data, fill_piece(cx, arguments[0], fill),
                                 fill_piece(cx, arguments[1], fill), fill_piece(cx, arguments[2], fill)));
        } else if (is_name(word, size, "T_FACTOR")) {
            struct piece arguments[2];

            i = split_arguments(text, end, length, fill, arguments, 2);
            text_add(out, fill->factor(fill->data, fill_piece(cx, arguments[0], fill),
                                       fill_piece(cx, arguments[1], fill)));
        } else if (size >= 10 && strncmp(word, "T_EPILOGUE", 10) == 0) {
            const bool part = size == strlen("T_EPILOGUE_PART");
            struct piece arguments[4];

            i = split_arguments(text, end, length, fill, arguments, part ? 4 : 3);
            text_add(out, fill->epilogue(
                              fill->data, size > strlen("T_EPILOGUE"), fill_piece(cx, arguments[0], fill),
                              fill_piece(cx, arguments[1], fill), fill_piece(cx, arguments[2], fill),
                              part ? fill_piece(cx, arguments[3], fill) : NULL));
        } else {
            const char *value = hole_text(cx, fill, word, size);

            if (value[0] == ',' || !value[0])
                drop_blanks(out); /* T_ARGS and T_PASS bring their own comma */
            text_printf(out,
                        is_simple(value) || value[0] == ',' || !value[0] || isupper((unsigned char)word[2])
                            ? "%s"
                            : "(%s)",
                        value);
            i = end;
            if (!value[0] && i < length && text[i] == ' ' && out->length > 0 &&
                out->data[out->length - 1] == '*') /* T_RESTRICT */
                i++;
        }
    }
}

/* ---- layout ------------------------------------------------------------------------------------------------ */

static bool holds(const char *text, size_t length, const char *pair)
{
    for (const char *at = text; (at = memchr(at, pair[0], length - (size_t)(at - text))); at++)
        if ((size_t)(at - text) + 1 < length && at[1] == pair[1])
            return true;
    return false;
}

/* Statements that a template breaks over lines become one line, since names have other lengths now: emit_fit breaks it. */
static void lay_out(struct cx *cx, struct text *out, const char *text)
{
    struct text logical = text_new(&cx->arena);
    int depth = 0;
    bool comment = false;

    while (*text) {
        size_t length = strcspn(text, "\n"), start = logical.length > 0 ? strspn(text, " ") : 0;
        const char *next = text + length + (text[length] == '\n');
        bool directive = text[strspn(text, " ")] == '#';

        comment |= logical.length == 0 && holds(text, length, "/*");
        if (logical.length > 0 && logical.data[logical.length - 1] != '(')
            text_add(&logical, " ");
        text_add_bytes(&logical, text + start, length - start);
        for (size_t i = 0; i < length && !comment && !directive; i++) {
            depth += text[i] == '(';
            depth -= text[i] == ')';
        }
        if (comment || directive || depth <= 0) {
            if (comment || directive)
                text_printf(out, "%s\n", logical.data);
            else
                text_printf(out, "%s\n", tidy_line(&cx->arena, logical.data));
            logical.length = 0;
            logical.data[0] = 0;
            depth = 0;
        }
        comment = comment && !holds(text, length, "*/");
        text = next;
    }
}

void template_fill(struct cx *cx, struct text *out, const char *template_text, const struct fill *fill)
{
    enum { OTHER, ACTIVE, DONE, WAITING } stack[32] = {ACTIVE};
    int depth = 0, hidden = 0;
    const char *line = template_text;
    struct text *const result = out;
    struct text filled = text_new(&cx->arena);

    out = &filled;
    if (strncmp(line, "/*", 2) == 0) {
        line = strstr(line, "*/");
        line += 2;
        while (*line == '\n')
            line++;
    }
    while (*line) {
        size_t length = strcspn(line, "\n");
        const char *next = line + length + (line[length] == '\n');
        bool ours = false; /* a line for the filler, not for C */
        size_t indent = strspn(line, " ");

        if (line[indent] == '#') {
            const char *word = line + indent;

            if (strncmp(word, "#if", 3) == 0) {
                ours = strncmp(word, "#if ", 4) == 0 &&
                       strstr(arena_copy(&cx->arena, word, length - indent), "T_");
                if (depth + 1 == 32)
                    fault("conditions are nested too deep", fill->name);
                stack[++depth] = !ours                                             ? OTHER
                                 : hidden                                          ? WAITING
                                 : decide(cx, fill, word + 4, length - indent - 4) ? ACTIVE
                                                                                   : WAITING;
                if (ours && hidden)
                    stack[depth] = DONE;
                hidden += stack[depth] == WAITING || stack[depth] == DONE;
            } else if (strncmp(word, "#elif", 5) == 0 || strncmp(word, "#else", 5) == 0) {
                ours = stack[depth] != OTHER;
                if (ours) {
                    bool was = stack[depth] == WAITING;

                    hidden -= stack[depth] != ACTIVE;
                    if (stack[depth] == ACTIVE || stack[depth] == DONE)
                        stack[depth] = DONE;
                    else if (was && (word[3] == 's' || decide(cx, fill, word + 6, length - indent - 6)))
                        stack[depth] = ACTIVE;
                    hidden += stack[depth] != ACTIVE;
                }
            } else if (strncmp(word, "#endif", 6) == 0) {
                ours = stack[depth] != OTHER;
                if (ours)
                    hidden -= stack[depth] != ACTIVE;
                depth--;
            }
        }
        if (!ours && hidden == 0) {
            fill_text(cx, out, line, length, fill);
            text_add(out, "\n");
        }
        line = next;
    }
    if (depth != 0)
        fault("an #if without its #endif", fill->name);
    lay_out(cx, result, filled.data);
}
