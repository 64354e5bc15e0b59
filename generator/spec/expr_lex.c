/* expr_lex.c - text to tokens. Apart from expr.c, which makes trees of them and looks at no character; signs that have no
 * meaning are refused here, with what to write instead. */
#include "spec/expr_parser.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- faults ---- */

void parser_stop(struct parser *p)
{
    p->failed = true;
    p->at = p->stop;
    p->token.kind = TOKEN_END;
}

bool parser_fail(struct parser *p, struct loc loc, const char *format, ...)
{
    va_list args;

    if (p->failed)
        return false;
    va_start(args, format);
    if (!p->quiet)
        diag_error(p->cx, loc, "%s", arena_vformat(&p->cx->arena, format, args));
    va_end(args);
    parser_stop(p);
    return !p->quiet;
}

const char *parser_token_text(struct parser *p)
{
    const struct token *token = &p->token;

    return arena_copy(&p->cx->arena, p->source->text + token->loc.offset, token->end - token->loc.offset);
}

const char *parser_found(struct parser *p)
{
    return p->token.kind == TOKEN_END ? "the end" : arena_format(&p->cx->arena, "'%s'", parser_token_text(p));
}

/* ---- names and numbers ---- */

static const char *const keywords[] = {
    "False",    "None",  "True",   "and",  "as",   "assert", "async",    "await",   "break", "class",
    "continue", "def",   "del",    "elif", "else", "except", "false",    "finally", "for",   "from",
    "global",   "if",    "import", "in",   "is",   "lambda", "nonlocal", "not",     "null",  "or",
    "pass",     "raise", "return", "true", "try",  "while",  "with",     "yield"};

bool expr_is_keyword(const char *name)
{
    for (int i = 0; i < COUNT(keywords); i++) {
        if (strcmp(keywords[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool in_name(char c)
{
    return starts_name(c) || is_digit(c);
}

static char peek(const struct parser *p, size_t ahead)
{
    return p->at + ahead < p->stop ? p->source->text[p->at + ahead] : 0;
}

size_t lex_skip_blanks(const char *text, size_t at, size_t stop)
{
    while (at < stop) {
        char c = text[at];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            at++;
        } else if (c == '#') {
            while (at < stop && text[at] != '\n' && text[at] != '\r')
                at++;
        } else if (c == '\\' && at + 1 < stop && (text[at + 1] == '\n' || text[at + 1] == '\r')) {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static struct loc here(struct parser *p, size_t begin, size_t end)
{
    return diag_loc(p->cx, p->source, begin, end - begin);
}

/* Signs that editors and web pages put where ASCII was meant: U+00A0-00BF without letters, the signs of multiplication
 * and division, U+2000-206F, arrows and mathematical signs, U+3000-303F, and ASCII in full width. */
static bool is_foreign_sign(const char *s, size_t length, unsigned *code)
{
    const unsigned char *u = (const unsigned char *)s;

    if (length >= 2 && ((u[0] == 0xc2 && u[1] != 0xaa && u[1] != 0xb5 && u[1] != 0xba) ||
                        (u[0] == 0xc3 && (u[1] == 0x97 || u[1] == 0xb7)))) {
        *code = (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
        return true;
    }
    if (length < 3 || u[0] < 0xe0 || u[0] >= 0xf0)
        return false;
    *code = (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    return (*code >= 0x2000 && *code < 0x2070) || (*code >= 0x2190 && *code < 0x2300) ||
           (*code >= 0x3000 && *code < 0x3040) || (*code > 0xff00 && *code < 0xff5f);
}

static const char *instead_of(unsigned code)
{
    bool hidden = code == 0xad || (code >= 0x200b && code < 0x2010) || (code >= 0x2060 && code < 0x2070);
    bool space = code == 0xa0 || (code >= 0x2000 && code < 0x200b) || code == 0x202f || code == 0x205f ||
                 code == 0x3000;

    return hidden  ? "it cannot be seen: write the text anew"
           : space ? "write a plain space"
                   : "write the plain sign of the keyboard";
}

static bool at_foreign_sign(const struct parser *p)
{
    unsigned code;

    return is_foreign_sign(p->source->text + p->at, p->stop - p->at, &code);
}

static void lex_name(struct parser *p)
{
    size_t begin = p->at;
    unsigned code = 0;

    while (p->at < p->stop && in_name(p->source->text[p->at])) {
        size_t left = p->stop - p->at;

        if (is_foreign_sign(p->source->text + p->at, left, &code)) {
            size_t bytes = code < 0x800 ? 2 : 3;

            if (parser_fail(p, here(p, p->at, p->at + bytes),
                            "the character '%.*s' (U+%04X) has no meaning here", (int)bytes,
                            p->source->text + p->at, code))
                diag_hint(p->cx, "%s", instead_of(code));
            return;
        }
        p->at++;
    }
    p->token.kind = TOKEN_NAME;
    p->token.text = arena_copy(&p->cx->arena, p->source->text + begin, p->at - begin);
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Digits, with single underscores between them. */
static bool skip_digits(struct parser *p, int base)
{
    size_t begin = p->at;

    while (digit_value(peek(p, 0)) < base ||
           (peek(p, 0) == '_' && p->at > begin && digit_value(peek(p, 1)) < base))
        p->at++;
    return p->at > begin;
}

/* Digits, point and exponent of a number in base 10, or digits behind 0x, 0o and 0b. False where there are none. */
static bool skip_number(struct parser *p, int *base, bool *real)
{
    char mark = peek(p, 0) == '0' ? (char)(peek(p, 1) | 0x20) : 0;

    *base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    *real = false;
    if (*base != 10) {
        p->at += peek(p, 2) == '_' ? 3 : 2;
        return skip_digits(p, *base);
    }
    skip_digits(p, 10);
    if (peek(p, 0) == '.') {
        *real = true;
        p->at++;
        skip_digits(p, 10);
    }
    if ((peek(p, 0) | 0x20) == 'e' &&
        (is_digit(peek(p, 1)) || ((peek(p, 1) == '+' || peek(p, 1) == '-') && is_digit(peek(p, 2))))) {
        *real = true;
        p->at += is_digit(peek(p, 1)) ? 1 : 2;
        skip_digits(p, 10);
    }
    return true;
}

/* Letters behind a number that begins at `begin`. */
static void refuse_number(struct parser *p, size_t begin)
{
    size_t at = p->at, end = at;
    const char next = peek(p, 0);

    while (end < p->stop && in_name(p->source->text[end]))
        end++;
    if (!parser_fail(p, here(p, begin, end), "'%.*s' is not a number", (int)(end - begin),
                     p->source->text + begin))
        return;
    if (next == 'x' && end == at + 1)
        diag_hint(p->cx, "a list of equal modules is written with spaces: '4 x Linear(8, 8)'");
}

/* The value of `digits`, which may begin with 0x, 0o or 0b. */
static void lex_integer(struct parser *p, size_t begin, const char *digits, int base)
{
    const uint64_t limit = (uint64_t)INT64_MAX + 1;
    uint64_t value = 0;

    p->token.kind = TOKEN_INT;
    for (const char *d = base == 10 ? digits : digits + 2; *d; d++) {
        uint64_t digit = (uint64_t)digit_value(*d);

        if (value > (limit - digit) / (uint64_t)base) {
            parser_fail(p, here(p, begin, p->at), "the integer %s is too large: at most %lld", digits,
                        (long long)INT64_MAX);
            return;
        }
        value = value * (uint64_t)base + digit;
    }
    if (base == 10 && digits[0] == '0' && value > 0) {
        if (parser_fail(p, here(p, begin, p->at), "an integer does not begin with 0"))
            diag_hint(p->cx, "write %lld, or 0o%s for octal", (long long)value, digits + 1);
        return;
    }
    p->token.huge = value == limit;
    p->token.integer = p->token.huge ? INT64_MAX : (int64_t)value;
}

static void lex_number(struct parser *p)
{
    size_t begin = p->at;
    int base;
    bool real, good = skip_number(p, &base, &real), imaginary;
    const size_t end = p->at;
    char *digits, *to;

    imaginary = good && base == 10 && (peek(p, 0) | 0x20) == 'j' && !in_name(peek(p, 1));
    p->at += imaginary;

    if ((in_name(peek(p, 0)) && !at_foreign_sign(p)) || !good) {
        refuse_number(p, begin);
        return;
    }
    digits = to = arena_copy(&p->cx->arena, p->source->text + begin, end - begin);
    for (const char *from = digits; *from; from++) {
        if (*from != '_')
            *to++ = *from;
    }
    *to = 0;
    if (!real && !imaginary) {
        lex_integer(p, begin, digits, base);
        return;
    }
    p->token.kind = TOKEN_FLOAT;
    p->token.number = strtod(digits, NULL);
    p->token.imaginary = imaginary;
}

static void add_utf8(struct text *text, uint32_t code)
{
    char bytes[4];
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = count; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(marks[count] | code);
    text_add_bytes(text, bytes, count);
}

/* The escape whose backslash is at p->at; leaves p->at behind it. */
static void lex_escape(struct parser *p, struct text *out)
{
    static const char letters[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
    size_t begin = p->at;
    char c = peek(p, 1);
    const char *letter = c ? strchr(letters, c) : NULL;
    uint32_t code = 0;

    p->at += 2;
    if (letter) {
        text_add_bytes(out, &values[letter - letters], 1);
        return;
    }
    if (c == '\n')
        return;
    if (c == '\r') {
        p->at += peek(p, 0) == '\n';
        return;
    }
    if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && peek(p, 0) >= '0' && peek(p, 0) <= '7'; i++, p->at++)
            code = code * 8 + (uint32_t)(peek(p, 0) - '0');
    } else if (c == 'x' || c == 'u' || c == 'U') {
        for (int count = c == 'x' ? 2 : c == 'u' ? 4 : 8; count > 0; count--, p->at++) {
            int digit = digit_value(peek(p, 0));

            if (digit > 15) {
                parser_fail(p, here(p, begin, p->at), "the escape in this string is cut off");
                return;
            }
            code = code * 16 + (uint32_t)digit;
        }
    } else { /* as in Python: an unknown escape stands for itself */
        text_add(out, "\\");
        p->at = begin + 1;
        return;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        parser_fail(p, here(p, begin, p->at), "a string cannot hold the character U+%04X", (unsigned)code);
        return;
    }
    add_utf8(out, code);
}

void parser_hint_comment(struct parser *p)
{
    size_t behind = p->stop;

    while (p->source->text[behind] == ' ')
        behind++;
    if (behind > p->stop && p->source->text[behind] == '#')
        diag_hint(p->cx, "YAML takes ' #' for a comment; quote the whole text to keep it");
}

/* Formatted strings in formatted strings; deeper ones end at their next quote. */
#define MAX_FORMATS 20

/* How many quotes begin and end a string: three, or one. */
static size_t quotes_at(const char *text, size_t at, size_t stop)
{
    return at + 2 < stop && text[at + 1] == text[at] && text[at + 2] == text[at] ? 3 : 1;
}

static bool closes(const char *text, size_t at, size_t stop, char quote, size_t quotes)
{
    for (size_t i = 0; i < quotes; i++)
        if (at + i >= stop || text[at + i] != quote)
            return false;
    return true;
}

static bool ends_line(char c)
{
    return c == '\n' || c == '\r';
}

/* f'...', fr'...', rf'...', of which `at` is the quote. */
static bool is_format(const char *text, size_t at)
{
    char before = at > 0 ? (char)(text[at - 1] | 0x20) : 0;

    return before == 'f' || (before == 'r' && at > 1 && (text[at - 2] | 0x20) == 'f');
}

static size_t string_end(const char *text, size_t at, size_t stop, int depth);

/* Behind the '}' of the '{' at `at`, or where the line ends, where it may not go on. */
static size_t braces_end(const char *text, size_t at, size_t stop, bool lines, int depth)
{
    int open = 0;

    for (at++; at < stop; at++) {
        char c = text[at];

        if (c == '\'' || c == '"')
            at = string_end(text, at, stop, depth + 1) - 1;
        else if (c == '(' || c == '[' || c == '{')
            open++;
        else if (c == '}' && open == 0)
            return at + 1;
        else if (open > 0 && (c == ')' || c == ']' || c == '}'))
            open--;
        else if (ends_line(c) && !lines)
            return at;
    }
    return stop;
}

/* Formatted strings hold others, which may have the same quotes. */
static size_t string_end(const char *text, size_t at, size_t stop, int depth)
{
    const char quote = text[at];
    const size_t quotes = quotes_at(text, at, stop);
    const bool format = depth < MAX_FORMATS && is_format(text, at);
    size_t line = 0;

    for (at += quotes; at < stop; at++) {
        if (closes(text, at, stop, quote, quotes))
            return at + quotes;
        if (ends_line(text[at]) && line == 0)
            line = at;
        if (line > 0 && quotes == 1)
            break;
        if (format && text[at] == '{' && (at + 1 >= stop || text[at + 1] != '{'))
            at = braces_end(text, at, stop, quotes == 3, depth) - 1;
        else
            at += at + 1 < stop && (text[at] == '\\' || (format && text[at] == '{'));
    }
    return line > 0 ? line : stop;
}

size_t lex_string_end(const char *text, size_t at, size_t stop)
{
    return string_end(text, at, stop, 0);
}

/* The part of a formatted string whose '{' is at p->at; leaves p->at behind its '}'. */
static void lex_format_part(struct parser *p, bool lines)
{
    const char *text = p->source->text;
    const size_t close = braces_end(text, p->at, p->stop, lines, 0);
    size_t end = p->at + 1, depth = 0;
    struct format_part part = {.begin = end};

    if (text[close - 1] != '}' || close == end) {
        parser_fail(p, here(p, p->at, p->at + 1), "'{' is never closed in this string");
        return;
    }
    for (; end < close - 1; end++) {
        char c = text[end];

        if (c == '\'' || c == '"')
            end = lex_string_end(text, end, close - 1) - 1;
        else if (c == '(' || c == '[' || c == '{')
            depth++;
        else if (depth > 0 && (c == ')' || c == ']' || c == '}'))
            depth--;
        else if (c == '!' && text[end + 1] == '=')
            end++;
        else if (depth == 0 && (c == ':' || c == '!'))
            break;
    }
    part.end = end;
    part.how = end < close - 1 ? arena_copy(&p->cx->arena, text + end, close - 1 - end) : NULL;
    p->at = close;
    ARENA_PUSH(&p->cx->arena, p->token.parts, p->token.part_count, part);
}

/* What of a formatted string was text becomes a part. */
static void end_text_part(struct parser *p, struct text *out)
{
    if (out->length > 0)
        ARENA_PUSH(&p->cx->arena, p->token.parts, p->token.part_count,
                   ((struct format_part){.text = out->data}));
    *out = text_new(&p->cx->arena);
}

/* p->at is at the quote. Leaves one TOKEN_STRING; neighbours are joined by parse_atom. */
static void lex_string(struct parser *p, bool raw, bool format)
{
    const char *source = p->source->text;
    struct text out = text_new(&p->cx->arena);
    const size_t begin = p->at, quotes = quotes_at(source, begin, p->stop);
    const char quote = peek(p, 0);

    p->at += quotes;
    while (p->at < p->stop && !closes(source, p->at, p->stop, quote, quotes)) {
        char c = peek(p, 0);

        if (ends_line(c) && quotes == 1)
            break;
        if (c == '\\' && p->at + 1 < p->stop && !raw) {
            lex_escape(p, &out);
            if (p->failed)
                return;
            continue;
        }
        if (format && (c == '{' || c == '}') && peek(p, 1) == c) {
            p->at++;
        } else if (format && c == '{') {
            end_text_part(p, &out);
            lex_format_part(p, quotes == 3);
            if (p->failed)
                return;
            continue;
        } else if (format && c == '}') {
            if (parser_fail(p, here(p, p->at, p->at + 1), "'}' closes nothing in this string"))
                diag_hint(p->cx, "a brace of the text is written twice: }}");
            return;
        }
        if (c == '\\' && raw && p->at + 1 < p->stop) {
            text_add(&out, "\\");
            p->at++;
        }
        text_add_bytes(&out, source + p->at, 1);
        p->at++;
    }
    if (!closes(source, p->at, p->stop, quote, quotes)) {
        bool whole = lex_skip_blanks(source, p->at, p->stop) == p->stop;

        if (parser_fail(p, here(p, begin, quotes == 1 ? p->at : begin + quotes),
                        "this string is never closed") &&
            whole)
            parser_hint_comment(p);
        return;
    }
    p->at += quotes;
    p->token.kind = TOKEN_STRING;
    p->token.text = out.data;
    if (format) {
        end_text_part(p, &out);
        if (!p->token.parts)
            p->token.parts = ARENA_NEW(&p->cx->arena, struct format_part);
    }
}

static bool lex_prefixed_string(struct parser *p)
{
    size_t letters = 0;
    bool raw = false, bytes = false, format = false;

    while (letters < 2 && peek(p, letters) && strchr("rRuUbBfF", peek(p, letters))) {
        raw |= (peek(p, letters) | 0x20) == 'r';
        bytes |= (peek(p, letters) | 0x20) == 'b';
        format |= (peek(p, letters) | 0x20) == 'f';
        letters++;
    }
    if (letters == 0 || (peek(p, letters) != '"' && peek(p, letters) != '\''))
        return false;
    if (bytes) {
        parser_fail(p, here(p, p->at, p->at + letters), "bytes are not supported");
        return true;
    }
    p->at += letters;
    lex_string(p, raw, format);
    return true;
}

/* ---- symbols ---- */

/* Longest first. Those of the second table are known only to be refused with what to write instead. */
static const char *const symbols[] = {"**=", "//=", "...", "**", "//", "==", "!=", "<=", ">=", "+=", "->",
                                      ":=",  "-=",  "*=",  "/=", "%=", "@=", "&=", "|=", "^=", "+",  "-",
                                      "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",  "(",
                                      ")",   "[",   "]",   "{",  "}",  ",",  ":",  ".",  "="};
static const struct {
    const char *symbol, *instead;
} refused[] = {
    {"&&", "write & for tensors, 'and' for what is known while generating"},
    {"||", "write | for tensors, 'or' for what is known while generating"},
    {"<>", "write !="},
    {"<<", "write bitwise_left_shift(x, n)"},
    {">>", "write bitwise_right_shift(x, n)"},
    {"!", "write ~ for tensors, 'not' for what is known while generating"},
    {";", "write one statement a line"},
};

static void lex_symbol(struct parser *p)
{
    const char *text = p->source->text + p->at;
    size_t left = p->stop - p->at;

    for (int i = 0; i < COUNT(symbols); i++) {
        size_t length = strlen(symbols[i]);

        if (length > left || memcmp(text, symbols[i], length) != 0)
            continue;
        for (int k = 0; k < COUNT(refused); k++) { /* `:=` before `:`, `<<` before `<` */
            size_t longer = strlen(refused[k].symbol);

            if (longer <= length || longer > left || memcmp(text, refused[k].symbol, longer) != 0)
                continue;
            if (parser_fail(p, here(p, p->at, p->at + longer), "there is no operator '%s'",
                            refused[k].symbol))
                diag_hint(p->cx, "%s", refused[k].instead);
            return;
        }
        p->token.kind = TOKEN_SYMBOL;
        p->token.text = symbols[i];
        p->at += length;
        return;
    }
    for (int k = 0; k < COUNT(refused); k++) {
        size_t length = strlen(refused[k].symbol);

        if (length <= left && memcmp(text, refused[k].symbol, length) == 0) {
            if (parser_fail(p, here(p, p->at, p->at + length), "there is no operator '%s'",
                            refused[k].symbol))
                diag_hint(p->cx, "%s", refused[k].instead);
            return;
        }
    }
    parser_fail(p, here(p, p->at, p->at + 1), "the character '%c' has no meaning here", *text);
}

/* ---- the next token ---- */

void parser_next(struct parser *p)
{
    if (p->failed)
        return;
    p->last = p->token;
    p->at = lex_skip_blanks(p->source->text, p->at, p->stop);
    p->token = (struct token){0};

    size_t begin = p->at;

    if (p->at >= p->stop) {
        p->token.loc = here(p, p->last.end > 0 ? p->last.end : p->stop, p->stop);
        p->token.loc.length = 1;
        p->token.end = p->at;
        return;
    }
    p->token.loc = here(p, begin, begin + 1);
    if (lex_prefixed_string(p)) {
        /* done */
    } else if (starts_name(peek(p, 0))) {
        lex_name(p);
    } else if (is_digit(peek(p, 0)) || (peek(p, 0) == '.' && is_digit(peek(p, 1)))) {
        lex_number(p);
    } else if (peek(p, 0) == '"' || peek(p, 0) == '\'') {
        lex_string(p, false, false);
    } else {
        lex_symbol(p);
    }
    if (p->failed)
        return;
    p->token.loc = here(p, begin, p->at);
    p->token.end = p->at;
}

bool parser_is_symbol(const struct parser *p, const char *symbol)
{
    return p->token.kind == TOKEN_SYMBOL && strcmp(p->token.text, symbol) == 0;
}

bool parser_is_name(const struct parser *p, const char *name)
{
    return p->token.kind == TOKEN_NAME && strcmp(p->token.text, name) == 0;
}

bool parser_take_symbol(struct parser *p, const char *symbol)
{
    if (!parser_is_symbol(p, symbol))
        return false;
    parser_next(p);
    return true;
}

struct parser parser_new(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = {.cx = cx, .source = source, .at = offset, .stop = offset + length};

    assert(p.stop <= source->length);
    while (p.stop > p.at && strchr(" \t\r\n", source->text[p.stop - 1]))
        p.stop--;
    return p;
}

bool parser_next_is(const struct parser *p, const char *word)
{
    size_t at = lex_skip_blanks(p->source->text, p->at, p->stop), length = strlen(word);

    return p->stop - at >= length && memcmp(p->source->text + at, word, length) == 0 &&
           (at + length >= p->stop || !in_name(*word) || !in_name(p->source->text[at + length]));
}
