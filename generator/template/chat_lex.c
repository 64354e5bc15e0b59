/* chat_lex.c - a template to tokens. Apart from chat_parse.c, which makes a tree of them, since what becomes of blanks and line ends
 * around braces is a matter of its own: Jinja's, with trim_blocks and lstrip_blocks, as transformers sets them. */
#include "template/chat_parts.h"

#include <string.h>

#include "modc_template.h"

enum { MOST_NUMBER = 100000 };

struct lexer {
    struct chat_reader *r;
    const char *text;
    size_t at, stop;
    bool line_starts; /* what was read last ended a line */
};

bool chat_fail(struct chat_reader *r, size_t at, size_t end, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    diag_error(r->cx, diag_loc(r->cx, r->source, at, end > at ? end - at : 1), "%s",
               arena_vformat(&r->cx->arena, format, args));
    va_end(args);
    r->failed = true;
    return false;
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_before(const struct lexer *l, const char *word)
{
    const size_t bytes = strlen(word);

    return bytes <= l->stop - l->at && memcmp(l->text + l->at, word, bytes) == 0;
}

/* Over what Python calls space. */
static void skip_space(struct lexer *l)
{
    const struct modc_text rest = {l->text + l->at, l->stop - l->at};

    l->at = l->stop - modc_strip_left(rest).bytes;
}

/* Bytes of a line end, or 0. */
static size_t line_end(const struct lexer *l, size_t at)
{
    if (at >= l->stop || (l->text[at] != '\r' && l->text[at] != '\n'))
        return 0;
    return l->text[at] == '\r' && at + 1 < l->stop && l->text[at + 1] == '\n' ? 2 : 1;
}

/* Bytes of the source with \n for every line end. */
static struct text with_newlines(struct lexer *l, size_t from, size_t until)
{
    struct text out = text_new(&l->r->cx->arena);

    for (size_t at = from; at < until;) {
        const size_t end = line_end(l, at);

        if (end > 0)
            text_add(&out, "\n");
        else
            text_add_bytes(&out, l->text + at, 1);
        at += end > 0 ? end : 1;
    }
    return out;
}

static void push(struct lexer *l, struct chat_token token)
{
    ARENA_PUSH(&l->r->cx->arena, l->r->tokens, l->r->token_count, token);
}

/* ---- texts in quotes -------------------------------------------------------------------------------------------------- */

static void add_character(struct text *out, uint32_t c)
{
    char bytes[4];
    const int count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (int i = count - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 63));
    bytes[0] = (char)(count == 1 ? c : (0xf00u >> count & 0xff) | c);
    text_add_bytes(out, bytes, (size_t)count);
}

static int digit_value(char c, int base)
{
    const int value = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 16;

    return value < base ? value : -1;
}

/* Up to `most` digits; how many there were. */
static int read_digits(const char *text, int most, int base, uint32_t *value)
{
    int count = 0;

    for (*value = 0; count < most && digit_value(text[count], base) >= 0; count++)
        *value = *value * (uint32_t)base + (uint32_t)digit_value(text[count], base);
    return count;
}

/* Behind a backslash, as Python's unicode-escape reads it: what is no escape stays. */
static size_t add_escape(struct lexer *l, struct text *out, size_t at)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const char name = l->text[at];
    const char *found = name ? strchr(names, name) : NULL;
    const int most = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
    uint32_t value;
    int count;

    if (found) {
        text_add_bytes(out, values + (found - names), 1);
        return at + 1;
    }
    if (line_end(l, at) > 0)
        return at + line_end(l, at);
    if (digit_value(name, 8) >= 0) {
        count = read_digits(l->text + at, 3, 8, &value);
        add_character(out, value);
        return at + (size_t)count;
    }
    if (most > 0 && read_digits(l->text + at + 1, most, 16, &value) == most && value < 0x110000 &&
        (value < 0xd800 || value > 0xdfff)) {
        add_character(out, value);
        return at + 1 + (size_t)most;
    }
    if (most > 0 || name == 'N') {
        chat_fail(l->r, at - 1, at + 1, "'\\%c' is not followed by the number of a character", name);
        return l->stop;
    }
    text_add(out, "\\");
    return at;
}

static bool read_text(struct lexer *l)
{
    const size_t from = l->at;
    const char quote = l->text[l->at++];
    struct text out = text_new(&l->r->cx->arena);

    while (l->at < l->stop && l->text[l->at] != quote) {
        const size_t end = line_end(l, l->at);

        if (l->text[l->at] == '\\' && l->at + 1 < l->stop) {
            l->at = add_escape(l, &out, l->at + 1);
        } else if (end > 0) {
            text_add(&out, "\n");
            l->at += end;
        } else {
            text_add_bytes(&out, l->text + l->at++, 1);
        }
    }
    if (l->at >= l->stop)
        return !l->r->failed && chat_fail(l->r, from, from + 1, "the text does not end");
    l->at++;
    push(l, (struct chat_token){CHAT_TOKEN_TEXT, from, l->at, out.data, out.length, 0});
    return true;
}

/* ---- between braces --------------------------------------------------------------------------------------------------- */

static bool read_number(struct lexer *l)
{
    const size_t from = l->at;
    int64_t number = 0;

    for (; l->at < l->stop && (in_name(l->text[l->at]) || l->text[l->at] == '.'); l->at++) {
        if (l->text[l->at] == '_' && l->at > from)
            continue;
        if (!is_digit(l->text[l->at]) || number >= MOST_NUMBER / 10)
            return chat_fail(l->r, from, l->at + 1, "only integers below 10^5 are known here");
        number = number * 10 + (l->text[l->at] - '0');
    }
    push(l, (struct chat_token){CHAT_TOKEN_INT, from, l->at, NULL, 0, number});
    return true;
}

static bool read_sign(struct lexer *l)
{
    static const char *const signs[] = {"==", "!=", ">=", "<=", "//", "**", "+", "-", "*",
                                        "/",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                        ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

    for (int i = 0; i < COUNT(signs); i++) {
        if (is_before(l, signs[i])) {
            const size_t from = l->at;

            l->at += strlen(signs[i]);
            push(l, (struct chat_token){CHAT_TOKEN_SIGN, from, l->at, signs[i], strlen(signs[i]), 0});
            return true;
        }
    }

    const int bytes = text_utf8_length(l->text + l->at);

    return chat_fail(l->r, l->at, l->at + 1, "the sign '%.*s' has no meaning here", bytes > 0 ? bytes : 1,
                     l->text + l->at);
}

/* One token; END where the braces close, over the blanks that go with them. */
static bool read_inside(struct lexer *l, bool block, bool *closed)
{
    const size_t from = l->at;
    const char *end = block ? "%}" : "}}", *minus = block ? "-%}" : "-}}";

    *closed = is_before(l, end) || is_before(l, minus) || (block && is_before(l, "+%}"));
    if (*closed) {
        const bool trims = is_before(l, minus), stays = is_before(l, "+");

        l->at += trims || stays ? 3 : 2;
        if (trims)
            skip_space(l);
        else if (block && !stays)
            l->at += line_end(l, l->at);
        l->line_starts = l->text[l->at - 1] == '\n' || l->text[l->at - 1] == '\r';
        push(l, (struct chat_token){block ? CHAT_TOKEN_BLOCK_END : CHAT_TOKEN_PUT_END, from, from + 2, end, 2,
                                    0});
        return true;
    }
    if (l->text[l->at] == '\'' || l->text[l->at] == '"')
        return read_text(l);
    if (is_digit(l->text[l->at]))
        return read_number(l);
    if (!in_name(l->text[l->at]))
        return read_sign(l);
    while (l->at < l->stop && in_name(l->text[l->at]))
        l->at++;
    push(l, (struct chat_token){CHAT_TOKEN_NAME, from, l->at,
                                arena_copy(&l->r->cx->arena, l->text + from, l->at - from), l->at - from, 0});
    return true;
}

static bool read_braces(struct lexer *l, size_t from)
{
    const bool block = l->text[from + 1] == '%';
    bool closed = false;

    push(l, (struct chat_token){block ? CHAT_TOKEN_BLOCK : CHAT_TOKEN_PUT, from, from + 2,
                                block ? "{%" : "{{", 2, 0});
    while (!closed) {
        skip_space(l);
        if (l->at >= l->stop)
            return chat_fail(l->r, from, from + 2, "'%s' is not closed", block ? "{%" : "{{");
        if (!read_inside(l, block, &closed))
            return false;
    }
    return true;
}

static bool read_comment(struct lexer *l, size_t from)
{
    const size_t start = l->at;

    while (l->at < l->stop && !is_before(l, "#}"))
        l->at++;
    if (l->at >= l->stop)
        return chat_fail(l->r, from, from + 2, "'{#' is not closed");

    const char sign = l->at > start ? l->text[l->at - 1] : 0;

    l->at += 2;
    if (sign == '-')
        skip_space(l);
    else if (sign != '+')
        l->at += line_end(l, l->at);
    l->line_starts = l->text[l->at - 1] == '\n' || l->text[l->at - 1] == '\r';
    return true;
}

/* ---- between them ----------------------------------------------------------------------------------------------------- */

/* Text in front of braces, without what the braces take of it. */
static void push_data(struct lexer *l, size_t from, size_t until, char kind, char sign)
{
    struct text data = with_newlines(l, from, until);
    struct modc_text own = {data.data, data.length}, stripped = modc_strip_right(own);

    if (sign == '-') {
        own = stripped;
    } else if (sign != '+' && kind != '{' && kind != 0) {
        size_t line = own.bytes;

        while (line > 0 && own.data[line - 1] != '\n')
            line--;
        if ((line > 0 || l->line_starts) && stripped.bytes <= line)
            own.bytes = line;
    }
    if (own.bytes > 0)
        push(l, (struct chat_token){CHAT_TOKEN_DATA, from, until,
                                    arena_copy(&l->r->cx->arena, own.data, own.bytes), own.bytes, 0});
}

static bool begins(const struct lexer *l)
{
    return is_before(l, "{{") || is_before(l, "{%") || is_before(l, "{#");
}

/* `{% raw %}`, and the like: over blanks and signs. */
static bool is_word(const struct lexer *l, size_t at, const char *word)
{
    struct lexer ahead = *l;

    ahead.at = at;
    skip_space(&ahead);
    return is_before(&ahead, word) && !in_name(ahead.text[ahead.at + strlen(word)]);
}

bool chat_lex(struct chat_reader *r)
{
    const struct source *source = r->source;
    struct lexer lexer = {r, source->text, 0, source->length, true}, *l = &lexer;

    if (l->stop > 0 && line_end(l, l->stop - 1) > 0) /* the last line end is no text */
        l->stop -= l->stop > 1 && line_end(l, l->stop - 2) == 2 ? 2 : 1;
    for (size_t from = 0;; from = l->at) {
        size_t start;
        char kind, sign;

        while (l->at < l->stop && !begins(l))
            l->at++;
        start = l->at;
        kind = start < l->stop ? l->text[start + 1] : 0;
        sign = start + 2 < l->stop && strchr("-+", l->text[start + 2]) ? l->text[start + 2] : 0;
        push_data(l, from, start, kind, sign);
        if (kind == 0)
            break;
        l->at += sign ? 3 : 2;
        if (kind == '%' && is_word(l, l->at, "raw"))
            return chat_fail(r, start, l->at, "'raw' is not known here");
        if (kind == '#' ? !read_comment(l, start) : !read_braces(l, start))
            return false;
    }
    push(l, (struct chat_token){CHAT_TOKEN_END, l->stop, l->stop, "the end", 7, 0});
    return true;
}
