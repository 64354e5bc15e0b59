/* expr.c - the parser of what stands inside a spec: calls, expressions, statements, signatures. Apart from
 * spec.c, as layers.c parses the bodies of its rows with it, where there is no YAML; it knows grammar and
 * places, and no names.
 *
 * One pass, one token ahead: binary operators climb a table of precedences, everything else is recursive
 * descent. The first fault of an expression ends it: `fail` says it and turns the rest of the text into
 * the end. */
#include "spec/expr.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_INT, TOKEN_FLOAT, TOKEN_STRING, TOKEN_SYMBOL };

struct token {
    enum token_kind kind;
    struct loc loc;
    size_t end;
    const char *text; /* NAME, STRING (escapes resolved), SYMBOL */
    int64_t integer;
    double number;
    bool huge; /* INT: 2^63, which only a minus sign makes fit */
};

struct parser {
    struct cx *cx;
    const struct source *source;
    size_t at, stop; /* what is not yet a token */
    struct token token, last;
    bool module; /* `N x Call` and `Call for NAMES in SEQUENCE` may be written */
    bool quiet;  /* faults are not said */
    bool failed;
    int depth;
};

/* Faults ------------------------------------------------------------------------------------------------- */

/* Says the first fault of a text; true if this is it, so that a hint may follow. */
static bool __attribute__((format(printf, 3, 4)))
fail(struct parser *p, struct loc loc, const char *format, ...)
{
    va_list args;

    if (p->failed)
        return false;
    va_start(args, format);
    if (!p->quiet)
        diag_error(p->cx, loc, "%s", arena_vformat(&p->cx->arena, format, args));
    va_end(args);
    p->failed = true;
    p->at = p->stop;
    p->token.kind = TOKEN_END;
    return !p->quiet;
}

/* The token as it stands in the text. */
static const char *token_text(struct parser *p)
{
    const struct token *token = &p->token;

    return arena_copy(&p->cx->arena, p->source->text + token->loc.offset, token->end - token->loc.offset);
}

static const char *found(struct parser *p)
{
    return p->token.kind == TOKEN_END ? "the end" : arena_format(&p->cx->arena, "'%s'", token_text(p));
}

/* Tokens ------------------------------------------------------------------------------------------------- */

static const char *const keywords[] = {
    "False",    "None",  "True",   "and",  "as",   "assert", "async",    "await",   "break", "class",
    "continue", "def",   "del",    "elif", "else", "except", "false",    "finally", "for",   "from",
    "global",   "if",    "import", "in",   "is",   "lambda", "nonlocal", "not",     "null",  "or",
    "pass",     "raise", "return", "true", "try",  "while",  "with",     "yield"};

bool expr_is_keyword(const char *name)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
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

/* Blanks, line ends, comments, and a backslash that ends a line. */
static size_t skip_blanks(const char *text, size_t at, size_t stop)
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

            if (fail(p, here(p, p->at, p->at + bytes), "the character '%.*s' (U+%04X) has no meaning here",
                     (int)bytes, p->source->text + p->at, code))
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

static void lex_number(struct parser *p)
{
    size_t begin = p->at;
    int base = 10;
    bool good = true, real = false;

    if (peek(p, 0) == '0') {
        char mark = (char)(peek(p, 1) | 0x20);

        base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    }
    if (base != 10) {
        p->at += peek(p, 2) == '_' ? 3 : 2;
        good = skip_digits(p, base);
    } else {
        skip_digits(p, 10);
        if (peek(p, 0) == '.') {
            real = true;
            p->at++;
            skip_digits(p, 10);
        }
        if ((peek(p, 0) | 0x20) == 'e' &&
            (is_digit(peek(p, 1)) || ((peek(p, 1) == '+' || peek(p, 1) == '-') && is_digit(peek(p, 2))))) {
            real = true;
            p->at += is_digit(peek(p, 1)) ? 1 : 2;
            skip_digits(p, 10);
        }
    }
    if ((in_name(peek(p, 0)) && !at_foreign_sign(p)) || !good) {
        size_t at = p->at, end = at;
        char next = peek(p, 0);

        while (end < p->stop && in_name(p->source->text[end]))
            end++;
        if (!fail(p, here(p, begin, end), "'%.*s' is not a number", (int)(end - begin),
                  p->source->text + begin))
            return;
        if (next == 'x' && end == at + 1)
            diag_hint(p->cx, "a list of equal modules is written with spaces: '4 x Linear(8, 8)'");
        if ((next == 'j' || next == 'J') && end == at + 1)
            diag_hint(p->cx, "complex constants are written complex(real, imaginary)");
        return;
    }

    char *digits = arena_copy(&p->cx->arena, p->source->text + begin, p->at - begin), *to = digits;

    for (const char *from = digits; *from; from++) {
        if (*from != '_')
            *to++ = *from;
    }
    *to = 0;
    if (real) {
        p->token.kind = TOKEN_FLOAT;
        p->token.number = strtod(digits, NULL);
        return;
    }

    uint64_t value = 0;
    const uint64_t limit = (uint64_t)INT64_MAX + 1;

    p->token.kind = TOKEN_INT;
    for (const char *d = base == 10 ? digits : digits + 2; *d; d++) {
        uint64_t digit = (uint64_t)digit_value(*d);

        if (value > (limit - digit) / (uint64_t)base) {
            fail(p, here(p, begin, p->at), "the integer %s is too large: at most %lld", digits,
                 (long long)INT64_MAX);
            return;
        }
        value = value * (uint64_t)base + digit;
    }
    if (base == 10 && digits[0] == '0' && value > 0) {
        if (fail(p, here(p, begin, p->at), "an integer does not begin with 0"))
            diag_hint(p->cx, "write %lld, or 0o%s for octal", (long long)value, digits + 1);
        return;
    }
    p->token.huge = value == limit;
    p->token.integer = p->token.huge ? INT64_MAX : (int64_t)value;
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
                fail(p, here(p, begin, p->at), "the escape in this string is cut off");
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
        fail(p, here(p, begin, p->at), "a string cannot hold the character U+%04X", (unsigned)code);
        return;
    }
    add_utf8(out, code);
}

/* What is never closed may go on behind a ' #'. */
static void hint_comment(struct parser *p)
{
    size_t behind = p->stop;

    while (p->source->text[behind] == ' ')
        behind++;
    if (behind > p->stop && p->source->text[behind] == '#')
        diag_hint(p->cx, "YAML takes ' #' for a comment; quote the whole text to keep it");
}

/* p->at is at the quote. Leaves one TOKEN_STRING; neighbours are joined by parse_atom. */
static void lex_string(struct parser *p, bool raw)
{
    struct text out = text_new(&p->cx->arena);
    size_t begin = p->at;
    char quote = peek(p, 0);

    p->at++;
    while (p->at < p->stop && peek(p, 0) != quote) {
        if (peek(p, 0) == '\n' || peek(p, 0) == '\r')
            break;
        if (peek(p, 0) == '\\' && p->at + 1 < p->stop && !raw) {
            lex_escape(p, &out);
            if (p->failed)
                return;
            continue;
        }
        if (peek(p, 0) == '\\' && raw && p->at + 1 < p->stop) {
            text_add(&out, "\\");
            p->at++;
        }
        text_add_bytes(&out, p->source->text + p->at, 1);
        p->at++;
    }
    if (peek(p, 0) != quote || p->at >= p->stop) {
        bool whole = skip_blanks(p->source->text, p->at, p->stop) == p->stop;

        if (fail(p, here(p, begin, p->at), "this string is never closed") && whole)
            hint_comment(p);
        return;
    }
    p->at++;
    p->token.kind = TOKEN_STRING;
    p->token.text = out.data;
}

static bool lex_prefixed_string(struct parser *p)
{
    size_t letters = 0;
    bool raw = false, other = false;

    while (letters < 2 && peek(p, letters) && strchr("rRuUbBfF", peek(p, letters))) {
        raw |= (peek(p, letters) | 0x20) == 'r';
        other |= (peek(p, letters) | 0x20) == 'b' || (peek(p, letters) | 0x20) == 'f';
        letters++;
    }
    if (letters == 0 || (peek(p, letters) != '"' && peek(p, letters) != '\''))
        return false;
    if (other) {
        fail(p, here(p, p->at, p->at + letters), "bytes and formatted strings are not supported");
        return true;
    }
    p->at += letters;
    lex_string(p, raw);
    return true;
}

/* Longest first. Those of the second table are known only to be refused with what to write instead. */
static const char *const symbols[] = {"**=", "//=", "...", "**", "//", "==", "!=", "<=", ">=", "+=",
                                      "-=",  "*=",  "/=",  "%=", "@=", "&=", "|=", "^=", "+",  "-",
                                      "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
                                      "(",   ")",   "[",   "]",  "{",  "}",  ",",  ":",  ".",  "="};
static const struct {
    const char *symbol, *instead;
} refused[] = {
    {"&&", "write & for tensors, 'and' for what is known while generating"},
    {"||", "write | for tensors, 'or' for what is known while generating"},
    {"<>", "write !="},
    {"<<", "write bitwise_left_shift(x, n)"},
    {">>", "write bitwise_right_shift(x, n)"},
    {":=", "write the assignment as a statement of its own"},
    {"->", "leave the annotation out"},
    {"!", "write ~ for tensors, 'not' for what is known while generating"},
    {";", "write one statement a line"},
};

static void lex_symbol(struct parser *p)
{
    const char *text = p->source->text + p->at;
    size_t left = p->stop - p->at;

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        size_t length = strlen(symbols[i]);

        if (length > left || memcmp(text, symbols[i], length) != 0)
            continue;
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) { /* `:=` before `:`, `<<` before `<` */
            size_t longer = strlen(refused[k].symbol);

            if (longer <= length || longer > left || memcmp(text, refused[k].symbol, longer) != 0)
                continue;
            if (fail(p, here(p, p->at, p->at + longer), "there is no operator '%s'", refused[k].symbol))
                diag_hint(p->cx, "%s", refused[k].instead);
            return;
        }
        p->token.kind = TOKEN_SYMBOL;
        p->token.text = symbols[i];
        p->at += length;
        return;
    }
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        size_t length = strlen(refused[k].symbol);

        if (length <= left && memcmp(text, refused[k].symbol, length) == 0) {
            if (fail(p, here(p, p->at, p->at + length), "there is no operator '%s'", refused[k].symbol))
                diag_hint(p->cx, "%s", refused[k].instead);
            return;
        }
    }
    fail(p, here(p, p->at, p->at + 1), "the character '%c' has no meaning here", *text);
}

static void next(struct parser *p)
{
    if (p->failed)
        return;
    p->last = p->token;
    p->at = skip_blanks(p->source->text, p->at, p->stop);
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
        lex_string(p, false);
    } else {
        lex_symbol(p);
    }
    if (p->failed)
        return;
    p->token.loc = here(p, begin, p->at);
    p->token.end = p->at;
}

static bool is_symbol(const struct parser *p, const char *symbol)
{
    return p->token.kind == TOKEN_SYMBOL && strcmp(p->token.text, symbol) == 0;
}

static bool is_name(const struct parser *p, const char *name)
{
    return p->token.kind == TOKEN_NAME && strcmp(p->token.text, name) == 0;
}

static bool take_symbol(struct parser *p, const char *symbol)
{
    if (!is_symbol(p, symbol))
        return false;
    next(p);
    return true;
}

static struct parser parser_new(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = {.cx = cx, .source = source, .at = offset, .stop = offset + length};

    assert(p.stop <= source->length);
    while (p.stop > p.at && strchr(" \t\r\n", source->text[p.stop - 1]))
        p.stop--;
    return p;
}

/* Trees -------------------------------------------------------------------------------------------------- */

static void count_node(struct parser *p, struct loc loc)
{
    int *room = &p->cx->spec_room;

    if (*room == 1) /* it was said */
        p->quiet = true;
    if (*room > 1)
        --*room;
    if (*room == 1)
        fail(p, loc, "the spec has more than %d expressions", EXPR_MAX_COUNT);
}

static struct expr *node(struct parser *p, enum expr_kind kind, struct loc loc)
{
    struct expr *expr = ARENA_NEW(&p->cx->arena, struct expr);

    count_node(p, loc);
    expr->kind = p->failed ? EXPR_BAD : kind;
    expr->loc = loc;
    expr->end = p->last.end;
    expr->height = 1;
    return expr;
}

static struct expr *bad(struct parser *p, struct loc loc)
{
    return node(p, EXPR_BAD, loc);
}

static void too_deep(struct parser *p, struct loc loc)
{
    if (fail(p, loc, "this expression nests more than %d levels deep", EXPR_MAX_DEPTH))
        diag_hint(p->cx, "give parts of it names of their own");
}

/* `child` becomes part of `parent`. Trees stay so low that every room may walk them by recursion. */
static struct expr *adopt(struct parser *p, struct expr *parent, struct expr *child)
{
    if (child->height + 1 > parent->height)
        parent->height = child->height + 1;
    if (parent->height > EXPR_MAX_DEPTH)
        too_deep(p, child->loc);
    return child;
}

/* The text of `expr` now ends behind the last token. */
static void finish(struct parser *p, struct expr *expr, struct loc first)
{
    expr->loc = loc_join(first, p->last.loc);
    expr->end = p->last.end;
}

static bool enter(struct parser *p)
{
    if (++p->depth <= EXPR_MAX_DEPTH)
        return true;
    too_deep(p, p->token.loc);
    return false;
}

static struct expr *parse_conditional(struct parser *p);
static struct expr *parse_item(struct parser *p);

static bool next_is(const struct parser *p, const char *word)
{
    size_t at = skip_blanks(p->source->text, p->at, p->stop), length = strlen(word);

    return p->stop - at >= length && memcmp(p->source->text + at, word, length) == 0 &&
           (at + length >= p->stop || !in_name(*word) || !in_name(p->source->text[at + length]));
}

/* A word that is an operator elsewhere. */
static bool refuse_operator(struct parser *p)
{
    if (!is_name(p, "not") && !is_name(p, "in"))
        return false;
    fail(p, p->token.loc, "there is no operator '%s' here", p->token.text);
    return true;
}

static bool close_bracket(struct parser *p, const char *open, struct loc open_loc, const char *close)
{
    if (take_symbol(p, close))
        return true;
    if (refuse_operator(p))
        return false;
    if (p->token.kind == TOKEN_END) {
        if (fail(p, open_loc, "'%s' is never closed", open))
            hint_comment(p);
    } else {
        bool equals = is_symbol(p, "=");

        if (fail(p, p->token.loc, "expected ',' or '%s', found %s", close, found(p)) && equals)
            diag_hint(p->cx, "a comparison is written '=='");
    }
    return false;
}

static struct expr *parse_parenthesis(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *tuple = node(p, EXPR_TUPLE, open);
    bool comma = false;

    next(p);
    while (!is_symbol(p, ")") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, tuple, parse_item(p));

        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
        if (!take_symbol(p, ","))
            break;
        comma = true;
    }
    if (!close_bracket(p, "(", open, ")"))
        return bad(p, open);
    if (tuple->count == 1 && !comma)
        tuple = tuple->items[0]; /* only brackets; they belong to its text */
    finish(p, tuple, open);
    return tuple;
}

static struct expr *parse_list(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *list = node(p, EXPR_LIST, open);

    next(p);
    while (!is_symbol(p, "]") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, list, parse_item(p));

        ARENA_PUSH(&p->cx->arena, list->items, list->count, item);
        if (!take_symbol(p, ","))
            break;
    }
    if (!close_bracket(p, "[", open, "]"))
        return bad(p, open);
    finish(p, list, open);
    return list;
}

static struct expr *parse_string(struct parser *p)
{
    struct expr *expr = node(p, EXPR_STRING, p->token.loc);
    struct loc first = p->token.loc;
    struct text text = text_new(&p->cx->arena);

    for (; p->token.kind == TOKEN_STRING; next(p))
        text_add(&text, p->token.text);
    expr->text = text.data;
    finish(p, expr, first);
    return expr;
}

/* Where modules are written, a container may name what it holds so. */
static struct expr *parse_dict(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *dict = node(p, EXPR_DICT, open);

    if (!p->module) {
        if (fail(p, open, "there is no operator '{'"))
            diag_hint(p->cx, "dictionaries and sets are not part of a spec's expressions");
        return bad(p, open);
    }
    next(p);
    while (!is_symbol(p, "}") && p->token.kind != TOKEN_END) {
        struct loc loc = p->token.loc;
        int names = dict->count, locs = dict->count;

        if (p->token.kind != TOKEN_STRING) {
            if (fail(p, loc, "the names in braces are strings, found %s", found(p)))
                diag_hint(p->cx, "write {'act': ReLU()}");
            break;
        }

        const char *name = parse_string(p)->text;

        if (!take_symbol(p, ":")) {
            fail(p, p->token.loc, "expected ':' behind a name in braces, found %s", found(p));
            break;
        }

        struct expr *value = adopt(p, dict, parse_item(p));

        ARENA_PUSH(&p->cx->arena, dict->names, names, name);
        ARENA_PUSH(&p->cx->arena, dict->name_locs, locs, loc);
        ARENA_PUSH(&p->cx->arena, dict->items, dict->count, value);
        if (!take_symbol(p, ","))
            break;
    }
    if (!close_bracket(p, "{", open, "}"))
        return bad(p, open);
    finish(p, dict, open);
    return dict;
}

static struct expr *parse_name(struct parser *p)
{
    static const struct {
        const char *name;
        enum expr_kind kind;
        int64_t integer;
    } constants[] = {{"None", EXPR_NONE, 0}, {"null", EXPR_NONE, 0},  {"True", EXPR_BOOL, 1},
                     {"true", EXPR_BOOL, 1}, {"False", EXPR_BOOL, 0}, {"false", EXPR_BOOL, 0}};
    const char *name = p->token.text;
    struct loc loc = p->token.loc;
    enum expr_kind kind = EXPR_NAME;
    int64_t integer = 0;

    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(name, constants[i].name) == 0) {
            kind = constants[i].kind;
            integer = constants[i].integer;
        }
    }
    if (kind == EXPR_NAME && expr_is_keyword(name)) {
        if (strcmp(name, "lambda") == 0)
            fail(p, loc, "there is no 'lambda'");
        else if (strcmp(name, "not") == 0)
            fail(p, loc, "'not' needs parentheses here");
        else if (fail(p, loc, "expected an expression, found the word '%s'", name) &&
                 strcmp(name, "return") == 0)
            diag_hint(p->cx, "it begins a statement; YAML wants a blank behind the '-' of an item");
        return bad(p, loc);
    }
    next(p);

    struct expr *expr = node(p, kind, loc);

    expr->text = kind == EXPR_NAME ? name : NULL;
    expr->integer = integer;
    return expr;
}

static struct expr *parse_atom(struct parser *p)
{
    struct token token = p->token;
    struct expr *expr;

    switch (token.kind) {
    case TOKEN_NAME:
        return parse_name(p);
    case TOKEN_STRING:
        return parse_string(p);
    case TOKEN_INT:
    case TOKEN_FLOAT:
        if (token.huge)
            fail(p, token.loc, "the integer %s is too large: at most %lld", token_text(p),
                 (long long)INT64_MAX);
        next(p);
        expr = node(p, token.kind == TOKEN_INT ? EXPR_INT : EXPR_FLOAT, token.loc);
        expr->integer = token.integer;
        expr->number = token.kind == TOKEN_INT ? (double)token.integer : token.number;
        return expr;
    case TOKEN_SYMBOL:
        if (is_symbol(p, "("))
            return parse_parenthesis(p);
        if (is_symbol(p, "["))
            return parse_list(p);
        if (is_symbol(p, "{"))
            return parse_dict(p);
        if (take_symbol(p, "..."))
            return node(p, EXPR_ELLIPSIS, token.loc);
        if (is_symbol(p, "*") || is_symbol(p, "**"))
            if (fail(p, token.loc, "there is no unpacking with '%s'", token.text))
                diag_hint(p->cx, "a list of modules is written N x A(...), or [A(i) for i in range(N)]");
        break;
    case TOKEN_END:
        break;
    }
    fail(p, token.loc, "expected an expression, found %s", found(p));
    return bad(p, token.loc);
}

/* The name in `name=value`: an identifier followed by one '='. */
static bool at_keyword_argument(const struct parser *p)
{
    if (p->token.kind != TOKEN_NAME)
        return false;

    size_t at = skip_blanks(p->source->text, p->at, p->stop);

    return at < p->stop && p->source->text[at] == '=' &&
           (at + 1 >= p->stop || p->source->text[at + 1] != '=');
}

static void parse_argument(struct parser *p, struct expr *call)
{
    struct loc loc = p->token.loc;
    const char *name = NULL;
    int names = call->count, locs = call->count;

    if (at_keyword_argument(p)) {
        name = p->token.text;
        for (int i = 0; i < call->count; i++) {
            if (call->names[i] && strcmp(call->names[i], name) == 0) {
                if (fail(p, loc, "the argument '%s' is given twice", name))
                    diag_note(p->cx, call->name_locs[i], "first given here");
                return;
            }
        }
        next(p);
        next(p);
    } else if (call->count > 0 && call->names[call->count - 1]) {
        fail(p, loc, "an argument without a name stands behind '%s='", call->names[call->count - 1]);
        return;
    }

    struct expr *value = adopt(p, call, parse_item(p));

    if (!name && is_symbol(p, "=")) {
        fail(p, loc, "what stands before '=' in a call must be the name of an argument");
        return;
    }
    ARENA_PUSH(&p->cx->arena, call->names, names, name);
    ARENA_PUSH(&p->cx->arena, call->name_locs, locs, loc);
    ARENA_PUSH(&p->cx->arena, call->items, call->count, value);
}

static struct expr *parse_call(struct parser *p, struct expr *callee)
{
    struct expr *call = node(p, EXPR_CALL, callee->loc);
    struct loc open = p->token.loc;

    call->a = adopt(p, call, callee);
    next(p);
    while (!is_symbol(p, ")") && p->token.kind != TOKEN_END) {
        parse_argument(p, call);
        if (!take_symbol(p, ","))
            break;
    }
    if (!close_bracket(p, "(", open, ")"))
        return bad(p, callee->loc);
    finish(p, call, callee->loc);
    return call;
}

static bool ends_slice_part(const struct parser *p)
{
    return is_symbol(p, ":") || is_symbol(p, ",") || is_symbol(p, "]") || p->token.kind == TOKEN_END;
}

static struct expr *parse_subscript(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *parts[3] = {NULL, NULL, NULL};
    int part = 0;

    if (!is_symbol(p, ":"))
        parts[0] = parse_conditional(p);
    if (!is_symbol(p, ":"))
        return parts[0];

    struct expr *slice = node(p, EXPR_SLICE, first);

    while (part < 2 && take_symbol(p, ":")) {
        part++;
        if (!ends_slice_part(p))
            parts[part] = parse_conditional(p);
    }
    for (int i = 0; i < 3; i++) {
        if (parts[i])
            adopt(p, slice, parts[i]);
    }
    slice->a = parts[0];
    slice->b = parts[1];
    slice->c = parts[2];
    finish(p, slice, first);
    return slice;
}

static struct expr *parse_index(struct parser *p, struct expr *base)
{
    struct expr *index = node(p, EXPR_INDEX, base->loc);
    struct loc open = p->token.loc;

    index->a = adopt(p, index, base);
    next(p);
    if (is_symbol(p, "]"))
        fail(p, p->token.loc, "expected an index, found ']'");
    while (!is_symbol(p, "]") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, index, parse_subscript(p));

        ARENA_PUSH(&p->cx->arena, index->items, index->count, item);
        if (!take_symbol(p, ","))
            break;
        index->tuple = true;
    }
    if (!close_bracket(p, "[", open, "]"))
        return bad(p, base->loc);
    finish(p, index, base->loc);
    return index;
}

static struct expr *parse_attribute(struct parser *p, struct expr *base)
{
    struct expr *attr = node(p, EXPR_ATTR, base->loc);

    attr->a = adopt(p, attr, base);
    next(p);
    attr->text = p->token.text;
    attr->name_loc = p->token.loc;
    if (p->token.kind != TOKEN_NAME)
        fail(p, p->token.loc, "expected a name behind '.', found %s", found(p));
    next(p);
    finish(p, attr, base->loc);
    return attr;
}

static struct expr *parse_primary(struct parser *p)
{
    struct expr *expr = parse_atom(p);

    while (!p->failed) {
        if (is_symbol(p, "(")) {
            expr = parse_call(p, expr);
        } else if (is_symbol(p, "[")) {
            expr = parse_index(p, expr);
        } else if (is_symbol(p, ".")) {
            expr = parse_attribute(p, expr);
        } else if (p->token.kind == TOKEN_FLOAT && p->source->text[p->token.loc.offset] == '.') {
            const char *number = token_text(p);

            if (expr->kind == EXPR_INT || expr->kind == EXPR_FLOAT)
                fail(p, expr->loc, "'%s%s' is not a number", expr_source(p->cx, expr), number);
            else if (fail(p, p->token.loc, "a child with a number for its name is not reached by '.'"))
                diag_hint(p->cx, "write it as an index: [%s]", number + 1);
        } else {
            break;
        }
    }
    return p->failed ? bad(p, expr->loc) : expr;
}

struct infix {
    const char *text;
    enum expr_op op;
    int precedence;
};

enum { OR = 1, AND, NOT, COMPARISON, BITOR, BITXOR, BITAND, SUM, PRODUCT };

static const struct infix operators[] = {
    {"or", OP_OR, OR},
    {"and", OP_AND, AND},
    {"==", OP_EQ, COMPARISON},
    {"!=", OP_NE, COMPARISON},
    {"<", OP_LT, COMPARISON},
    {"<=", OP_LE, COMPARISON},
    {">", OP_GT, COMPARISON},
    {">=", OP_GE, COMPARISON},
    {"is", OP_IS, COMPARISON},
    {"in", OP_IN, COMPARISON},
    {"not", OP_NOT_IN, COMPARISON}, /* `not in` */
    {"|", OP_BITOR, BITOR},
    {"^", OP_BITXOR, BITXOR},
    {"&", OP_BITAND, BITAND},
    {"+", OP_ADD, SUM},
    {"-", OP_SUB, SUM},
    {"*", OP_MUL, PRODUCT},
    {"/", OP_DIV, PRODUCT},
    {"//", OP_FLOORDIV, PRODUCT},
    {"%", OP_MOD, PRODUCT},
    {"@", OP_MATMUL, PRODUCT},
};

static const struct infix *binary_operator(const struct parser *p)
{
    if (p->token.kind != TOKEN_SYMBOL && p->token.kind != TOKEN_NAME)
        return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(operators[i].text, p->token.text) == 0)
            return operators[i].op != OP_NOT_IN || next_is(p, "in") ? &operators[i] : NULL;
    }
    return NULL;
}

/* Steps over an operator, of one word or two. */
static enum expr_op take_operator(struct parser *p, const struct infix *op)
{
    next(p);
    if (op->op == OP_NOT_IN || (op->op == OP_IS && is_name(p, "not"))) {
        next(p);
        return op->op == OP_IS ? OP_IS_NOT : OP_NOT_IN;
    }
    return op->op;
}

static struct expr *binary(struct parser *p, enum expr_op op, struct loc op_loc, struct expr *a,
                           struct expr *b)
{
    struct expr *expr = node(p, EXPR_BINARY, a->loc);

    expr->op = op;
    expr->name_loc = op_loc;
    expr->a = adopt(p, expr, a);
    expr->b = adopt(p, expr, b);
    finish(p, expr, a->loc);
    return expr;
}

static struct expr *parse_binary(struct parser *p, int lowest);

/* Unary signs and powers; `not` where an operand of that precedence may stand. */
static struct expr *parse_operand(struct parser *p, int lowest)
{
    struct loc loc = p->token.loc;
    enum expr_op op;
    struct expr *expr;

    if (!enter(p))
        return bad(p, loc);
    if (is_name(p, "not") && lowest <= NOT) {
        op = OP_NOT;
    } else if (is_symbol(p, "-")) {
        op = OP_NEG;
    } else if (is_symbol(p, "+")) {
        op = OP_POS;
    } else if (is_symbol(p, "~")) {
        op = OP_INVERT;
    } else {
        expr = parse_primary(p);
        if (is_symbol(p, "**")) {
            struct loc op_loc = p->token.loc;

            next(p);
            expr = binary(p, OP_POW, op_loc, expr, parse_operand(p, PRODUCT + 1));
        }
        p->depth--;
        return expr;
    }
    next(p);
    if (op == OP_NEG && p->token.kind == TOKEN_INT && p->token.huge) {
        next(p);
        expr = node(p, EXPR_INT, loc);
        expr->integer = INT64_MIN;
        expr->number = (double)INT64_MIN;
    } else {
        struct expr *a = op == OP_NOT ? parse_binary(p, NOT) : parse_operand(p, PRODUCT + 1);

        expr = node(p, EXPR_UNARY, loc);
        expr->op = op;
        expr->name_loc = loc;
        expr->a = adopt(p, expr, a);
    }
    finish(p, expr, loc);
    p->depth--;
    return expr;
}

/* One comparison more: `a < b` becomes `a < b < c`. */
static struct expr *lengthen(struct parser *p, struct expr *left, enum expr_op op, struct expr *right)
{
    struct expr *chain = left;
    int links = left->count - 1;

    if (left->kind == EXPR_BINARY) {
        links = 0;
        chain = node(p, EXPR_CHAIN, left->loc);
        chain->name_loc = left->name_loc;
        ARENA_PUSH(&p->cx->arena, chain->chain, links, left->op);
        ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, left->a));
        ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, left->b));
    }
    ARENA_PUSH(&p->cx->arena, chain->chain, links, op);
    ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, right));
    finish(p, chain, left->loc);
    return chain;
}

static struct expr *parse_binary(struct parser *p, int lowest)
{
    struct expr *left = parse_operand(p, lowest);
    const struct infix *op;
    bool compared = false;

    while ((op = binary_operator(p)) && op->precedence >= lowest) {
        struct loc op_loc = p->token.loc;
        enum expr_op code = take_operator(p, op);
        struct expr *right = parse_binary(p, op->precedence + 1);

        if (p->failed)
            break;
        left = compared && op->precedence == COMPARISON ? lengthen(p, left, code, right)
                                                        : binary(p, code, op_loc, left, right);
        compared = op->precedence == COMPARISON;
    }
    return p->failed ? bad(p, left->loc) : left;
}

static struct expr *parse_conditional(struct parser *p)
{
    struct loc first = p->token.loc;

    if (!enter(p))
        return bad(p, first);

    struct expr *a = parse_binary(p, OR);

    if (is_name(p, "if")) {
        struct expr *expr = node(p, EXPR_IF, first);

        next(p);
        expr->a = adopt(p, expr, a);
        expr->b = adopt(p, expr, parse_binary(p, OR));
        if (!is_name(p, "else") && !refuse_operator(p))
            fail(p, p->token.loc, "expected 'else', found %s", found(p));
        next(p);
        expr->c = adopt(p, expr, parse_conditional(p));
        finish(p, expr, first);
        a = expr;
    }
    p->depth--;
    return p->failed ? bad(p, first) : a;
}

/* `N x Call`: the current token is the `x`. */
static struct expr *parse_repeat(struct parser *p, struct expr *count)
{
    struct expr *expr = node(p, EXPR_REPEAT, count->loc);

    expr->name_loc = p->token.loc;
    next(p);
    expr->a = adopt(p, expr, count);
    expr->b = adopt(p, expr, parse_conditional(p));
    finish(p, expr, count->loc);
    if ((is_name(p, "for") || is_name(p, "x")) &&
        fail(p, p->token.loc, "'N x Call' stands alone: it takes no second 'x' and no 'for'"))
        diag_hint(p->cx, "a class of the spec may hold the inner list");
    return expr;
}

/* The names behind `for`: one, or several with commas, in brackets or not. */
static struct expr *parse_names(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *tuple = node(p, EXPR_TUPLE, first), *item;
    bool comma = false;

    if (!enter(p))
        return bad(p, first);
    do {
        const char *close = is_symbol(p, "(") ? ")" : is_symbol(p, "[") ? "]" : NULL;
        const char *open = p->token.text;
        struct loc open_loc = p->token.loc;

        if (tuple->count > 0 && (is_name(p, "in") || is_symbol(p, ")") || is_symbol(p, "]")))
            break; /* a trailing comma */
        if (close) {
            next(p);
            item = parse_names(p);
            if (is_name(p, "in"))
                fail(p, open_loc, "'%s' is never closed", open);
            close_bracket(p, open, open_loc, close);
        } else {
            item = node(p, EXPR_NAME, p->token.loc);
            item->text = p->token.text;
            if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text))
                fail(p, p->token.loc, "expected a name behind 'for', found %s", found(p));
            next(p);
        }
        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, adopt(p, tuple, item));
        comma |= is_symbol(p, ",");
    } while (take_symbol(p, ",") && !p->failed);
    p->depth--;
    finish(p, tuple, first);
    return p->failed ? bad(p, first) : comma ? tuple : tuple->items[0];
}

/* `Call for NAMES in SEQUENCE`: the current token is the `for`. */
static struct expr *parse_for(struct parser *p, struct expr *call)
{
    struct expr *expr = node(p, EXPR_FOR, call->loc);

    expr->name_loc = p->token.loc;
    next(p);
    expr->a = adopt(p, expr, call);
    expr->c = adopt(p, expr, parse_names(p));
    if (!is_name(p, "in"))
        fail(p, p->token.loc, "expected 'in', found %s", found(p));
    next(p);
    expr->b = adopt(p, expr, parse_binary(p, OR));
    finish(p, expr, call->loc);
    if (is_name(p, "if") || is_name(p, "for"))
        fail(p, p->token.loc, "a rule for modules takes one 'for' and no '%s' behind it", p->token.text);
    return expr;
}

/* An expression, or where modules are written, also a rule that stands for several of them. */
static struct expr *parse_item(struct parser *p)
{
    struct expr *item = parse_conditional(p);

    if (p->module && is_name(p, "x"))
        return parse_repeat(p, item);
    if (is_name(p, "for")) {
        if (p->module)
            return parse_for(p, item);
        if (fail(p, p->token.loc, "there are no loops in expressions"))
            diag_hint(p->cx,
                      "lists of modules repeat: '12 x Call' or 'Call for i in range(12)' under 'modules'");
    }
    return item;
}

/* `a`, or `a, b` as a tuple. */
static struct expr *parse_tuple(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *item = parse_item(p);

    if (!is_symbol(p, ","))
        return item;

    struct expr *tuple = node(p, EXPR_TUPLE, first);

    adopt(p, tuple, item);
    ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
    while (take_symbol(p, ",")) {
        if (p->token.kind == TOKEN_END || is_symbol(p, "="))
            break;
        item = adopt(p, tuple, parse_item(p));
        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
    }
    finish(p, tuple, first);
    return tuple;
}

static void expect_end(struct parser *p)
{
    if (p->token.kind == TOKEN_END)
        return;
    if (is_symbol(p, "=")) {
        if (fail(p, p->token.loc, "expected an operator or the end, found '='"))
            diag_hint(p->cx, "a comparison is written '=='");
    } else if (is_symbol(p, ")") || is_symbol(p, "]")) {
        fail(p, p->token.loc, "'%s' closes nothing", p->token.text);
    } else if (!refuse_operator(p)) {
        bool colon = is_symbol(p, ":"), comma = is_symbol(p, ",");

        if (!fail(p, p->token.loc, "expected an operator or the end, found %s", found(p)))
            return;
        if (colon)
            diag_hint(p->cx, "annotations and blocks have no place in a spec");
        else if (comma && p->module)
            diag_hint(p->cx, "several modules are a list, each in a line of its own behind '- '");
    }
}

static struct expr *parse_whole(struct parser *p, struct expr *(*parse)(struct parser *))
{
    struct loc loc;
    struct expr *expr;

    next(p);
    loc = p->token.loc;
    expr = parse(p);
    expect_end(p);
    return p->failed ? bad(p, loc) : expr;
}

struct expr *expr_parse(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    return parse_whole(&p, parse_tuple);
}

struct expr *expr_parse_module(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    p.module = true;
    return parse_whole(&p, parse_item);
}

/* Statements --------------------------------------------------------------------------------------------- */

static const struct {
    const char *symbol;
    enum expr_op op;
} augments[] = {{"+=", OP_ADD},       {"-=", OP_SUB},    {"*=", OP_MUL},    {"/=", OP_DIV},
                {"//=", OP_FLOORDIV}, {"**=", OP_POW},   {"@=", OP_MATMUL}, {"&=", OP_BITAND},
                {"|=", OP_BITOR},     {"^=", OP_BITXOR}, {"%=", OP_MOD}};

static const struct {
    const char *word, *hint;
} refused_words[] = {
    {"if", "write 'a if condition else b', with a condition that is known while generating"},
    {"elif", "write 'a if condition else b', with a condition that is known while generating"},
    {"else", "write 'a if condition else b', with a condition that is known while generating"},
    {"for", "lists of modules repeat: '12 x Call' under 'modules'"},
    {"while", "lists of modules repeat: '12 x Call' under 'modules'"},
    {"def", "functions stand under 'functions', classes under 'classes'"},
    {"class", "functions stand under 'functions', classes under 'classes'"},
    {"with", NULL},
    {"try", NULL},
    {"except", NULL},
    {"finally", NULL},
    {"raise", NULL},
    {"assert", NULL},
    {"del", NULL},
    {"global", NULL},
    {"nonlocal", NULL},
    {"import", "functions of PyTorch need no import"},
    {"from", "functions of PyTorch need no import"},
    {"pass", NULL},
    {"break", NULL},
    {"continue", NULL},
    {"yield", NULL},
    {"async", NULL},
    {"await", NULL},
};

static bool refuse_word(struct parser *p)
{
    for (size_t i = 0; p->token.kind == TOKEN_NAME && i < sizeof refused_words / sizeof *refused_words; i++) {
        if (!is_name(p, refused_words[i].word))
            continue;
        if (fail(p, p->token.loc, "there is no statement '%s'", refused_words[i].word) &&
            refused_words[i].hint)
            diag_hint(p->cx, "%s", refused_words[i].hint);
        return true;
    }
    return false;
}

/* What may stand before `=`: NAME, tuples of targets, self.NAME, and indices of NAME and self.NAME. */
static void check_target(struct parser *p, struct expr *target, bool whole)
{
    switch (target->kind) {
    case EXPR_NAME:
        return;
    case EXPR_LIST:
        target->kind = EXPR_TUPLE; /* Python makes no difference */
        /* fall through */
    case EXPR_TUPLE:
        if (!whole)
            break;
        if (target->count == 0)
            fail(p, target->loc, "nothing is assigned to: the tuple is empty");
        for (int i = 0; i < target->count; i++)
            check_target(p, target->items[i], true);
        return;
    case EXPR_ATTR:
        if (target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0)
            return;
        if (fail(p, target->loc, "only attributes of 'self' are assigned to"))
            diag_hint(p->cx, "a statement writes buffers and state of its own module: self.NAME = ...");
        return;
    case EXPR_INDEX:
        if (target->a->kind == EXPR_NAME || target->a->kind == EXPR_ATTR || target->a->kind == EXPR_INDEX) {
            check_target(p, target->a, false);
            return;
        }
        break;
    default:
        break;
    }
    if (fail(p, target->loc, "this cannot be assigned to"))
        diag_hint(p->cx, "a target is a name, self.NAME, self.NAME[...] or a tuple of these");
}

static struct stmt *parse_statement(struct parser *p)
{
    struct stmt *stmt = ARENA_NEW(&p->cx->arena, struct stmt);
    struct loc first;

    next(p);
    first = p->token.loc;
    stmt->kind = STMT_EXPR;
    if (p->token.kind == TOKEN_END)
        fail(p, first, "expected a statement, found nothing");
    if (refuse_word(p)) {
        /* nothing of it can be read */
    } else if (is_name(p, "return")) {
        stmt->kind = STMT_RETURN;
        next(p);
        if (p->token.kind != TOKEN_END)
            stmt->value = parse_tuple(p);
    } else {
        struct expr *left = parse_tuple(p);

        stmt->value = left;
        for (size_t i = 0; i < sizeof augments / sizeof *augments; i++) {
            if (!is_symbol(p, augments[i].symbol))
                continue;
            stmt->kind = STMT_AUGMENT;
            stmt->op = augments[i].op;
            if (left->kind == EXPR_TUPLE || left->kind == EXPR_LIST)
                fail(p, left->loc, "a tuple takes no '%s'", augments[i].symbol);
        }
        if (is_symbol(p, "="))
            stmt->kind = STMT_ASSIGN;
        if (stmt->kind != STMT_EXPR)
            check_target(p, left, true);
        if (p->failed) {
            stmt->kind = STMT_EXPR;
        } else if (stmt->kind != STMT_EXPR) {
            next(p);
            stmt->target = left;
            stmt->value = parse_tuple(p);
            if (is_symbol(p, "="))
                fail(p, p->token.loc, "one assignment is one statement; this is a second '='");
        }
    }
    expect_end(p);
    stmt->loc = loc_join(first, p->last.loc);
    stmt->end = p->last.end;
    if (p->failed)
        stmt->value = bad(p, first);
    return stmt;
}

struct stmt *stmt_parse(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    return parse_statement(&p);
}

struct stmt *stmt_parse_refused(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    p.quiet = true;
    return parse_statement(&p);
}

/* Where the statement that starts at `at` ends: at the end of its line, unless a bracket is open there or
 * a backslash stands before it. A bracket that is closed by none or by a wrong one ends with its own line,
 * so that the next lines are read too. */
static size_t statement_end(const char *text, size_t at, size_t stop)
{
    char open[EXPR_MAX_DEPTH + 1];
    size_t first_line = 0;
    int depth = 0;

    for (; at < stop; at++) {
        char c = text[at];

        if (c == '\n' || c == '\r') {
            if (depth <= 0)
                return at;
            if (first_line == 0)
                first_line = at;
        } else if (c == '\\' && at + 1 < stop) {
            at += text[at + 1] == '\r' && at + 2 < stop && text[at + 2] == '\n' ? 2 : 1;
        } else if (c == '#') {
            while (at + 1 < stop && text[at + 1] != '\n' && text[at + 1] != '\r')
                at++;
        } else if (c == '"' || c == '\'') {
            for (at++; at < stop && text[at] != c && text[at] != '\n' && text[at] != '\r'; at++)
                at += text[at] == '\\' && at + 1 < stop;
            if (at < stop && text[at] != c)
                at--; /* never closed: its line ends it */
        } else if (strchr("([{", c)) {
            if (depth > EXPR_MAX_DEPTH)
                break;
            open[depth++] = c;
        } else if (strchr(")]}", c) && depth > 0) {
            if (open[depth - 1] != (c == ')' ? '(' : c == ']' ? '[' : '{'))
                break;
            depth--;
        }
    }
    if (depth > 0 && first_line > 0)
        return first_line;
    while (at < stop && text[at] != '\n' && text[at] != '\r')
        at++;
    return at < stop ? at : stop; /* a quote or backslash at the very end steps over it */
}

struct stmt **stmt_parse_block(struct cx *cx, const struct source *source, size_t offset, size_t length,
                               int *count)
{
    size_t stop = offset + length;
    struct stmt **list = NULL;

    *count = 0;
    for (size_t at = skip_blanks(source->text, offset, stop); at < stop;
         at = skip_blanks(source->text, at, stop)) {
        size_t end = statement_end(source->text, at, stop);
        struct stmt *stmt = stmt_parse(cx, source, at, end - at);

        ARENA_PUSH(&cx->arena, list, *count, stmt);
        at = end;
    }
    return list;
}

/* Signatures --------------------------------------------------------------------------------------------- */

static void parse_signature_argument(struct parser *p, struct signature *out, bool keyword)
{
    struct signature_arg arg = {.name = p->token.text, .loc = p->token.loc, .keyword = keyword};

    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        bool star = is_symbol(p, "*") || is_symbol(p, "**");

        if (fail(p, p->token.loc, "expected the name of an argument, found %s", found(p)) && star)
            diag_hint(p->cx, "write every argument; '*' alone makes those behind it given by name");
        return;
    }
    if (strcmp(arg.name, "self") == 0 && fail(p, arg.loc, "'self' is not written in a signature"))
        diag_hint(p->cx, "leave it out; statements may use it all the same");
    for (int i = 0; i < out->count; i++) {
        if (strcmp(out->args[i].name, arg.name) == 0 &&
            fail(p, arg.loc, "there are two arguments '%s'", arg.name))
            diag_note(p->cx, out->args[i].loc, "the first one");
    }
    next(p);
    if (is_symbol(p, ":") && fail(p, p->token.loc, "arguments have no annotations"))
        diag_hint(p->cx, "write the name alone, with '=' and its default where it has one");
    if (take_symbol(p, "="))
        arg.value = parse_conditional(p);
    else if (out->count > 0 && out->args[out->count - 1].value && !keyword)
        fail(p, arg.loc, "'%s' has no default, but stands behind '%s', which has one", arg.name,
             out->args[out->count - 1].name);
    ARENA_PUSH(&p->cx->arena, out->args, out->count, arg);
}

bool signature_parse(struct cx *cx, const struct source *source, size_t offset, size_t length,
                     struct signature *out)
{
    struct parser parser = parser_new(cx, source, offset, length), *p = &parser;

    next(p);
    *out = (struct signature){.name = p->token.text, .loc = p->token.loc};
    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        fail(p, p->token.loc, "expected a name, found %s", found(p));
        return false;
    }
    next(p);
    if (is_symbol(p, "(")) {
        struct loc open = p->token.loc;
        bool keyword = false;

        out->has_args = true;
        next(p);
        while (!is_symbol(p, ")") && p->token.kind != TOKEN_END) {
            if (!keyword && is_symbol(p, "*") && next_is(p, ",")) {
                keyword = true;
                next(p);
                next(p);
                continue;
            }
            parse_signature_argument(p, out, keyword);
            if (!take_symbol(p, ","))
                break;
        }
        close_bracket(p, "(", open, ")");
    }
    if (p->token.kind != TOKEN_END && !p->failed)
        fail(p, p->token.loc, "expected the end of the signature, found %s", found(p));
    return !p->failed;
}

/* Printing ----------------------------------------------------------------------------------------------- */

const char *expr_op_text(enum expr_op op)
{
    static const char *const texts[] = {
        [OP_ADD] = "+",   [OP_SUB] = "-",         [OP_MUL] = "*",    [OP_DIV] = "/", [OP_FLOORDIV] = "//",
        [OP_MOD] = "%",   [OP_POW] = "**",        [OP_MATMUL] = "@", [OP_EQ] = "==", [OP_NE] = "!=",
        [OP_LT] = "<",    [OP_LE] = "<=",         [OP_GT] = ">",     [OP_GE] = ">=", [OP_BITAND] = "&",
        [OP_BITOR] = "|", [OP_BITXOR] = "^",      [OP_AND] = "and",  [OP_OR] = "or", [OP_NEG] = "-",
        [OP_POS] = "+",   [OP_INVERT] = "~",      [OP_NOT] = "not",  [OP_IS] = "is", [OP_IS_NOT] = "is not",
        [OP_IN] = "in",   [OP_NOT_IN] = "not in",
    };

    return texts[op];
}

static void print_string(struct text *text, const char *string)
{
    text_add(text, "'");
    for (const char *s = string; *s; s++) {
        if (*s == '\'' || *s == '\\')
            text_printf(text, "\\%c", *s);
        else if (*s == '\n')
            text_add(text, "\\n");
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            text_printf(text, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            text_add_bytes(text, s, 1);
    }
    text_add(text, "'");
}

static void print_items(struct text *text, const struct expr *expr)
{
    for (int i = 0; i < expr->count; i++) {
        if (i > 0)
            text_add(text, ", ");
        if (expr->kind == EXPR_DICT) {
            print_string(text, expr->names[i]);
            text_add(text, ": ");
        } else if (expr->kind == EXPR_CALL && expr->names[i]) {
            text_printf(text, "%s=", expr->names[i]);
        }
        expr_print(text, expr->items[i]);
    }
}

static void print_operand(struct text *text, const struct expr *expr)
{
    bool operation = expr->kind == EXPR_BINARY || expr->kind == EXPR_CHAIN || expr->kind == EXPR_UNARY ||
                     expr->kind == EXPR_IF || expr->kind == EXPR_REPEAT || expr->kind == EXPR_FOR;

    text_add(text, operation ? "(" : "");
    expr_print(text, expr);
    text_add(text, operation ? ")" : "");
}

static void print_for(struct text *text, const struct expr *expr)
{
    print_operand(text, expr->a);
    text_add(text, " for ");
    if (expr->c->kind == EXPR_TUPLE && expr->c->count > 1)
        print_items(text, expr->c);
    else
        expr_print(text, expr->c);
    text_add(text, " in ");
    print_operand(text, expr->b);
}

void expr_print(struct text *text, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_BAD:
        text_add(text, "<bad>");
        break;
    case EXPR_NONE:
        text_add(text, "None");
        break;
    case EXPR_BOOL:
        text_add(text, expr->integer ? "True" : "False");
        break;
    case EXPR_INT:
        text_printf(text, "%lld", (long long)expr->integer);
        break;
    case EXPR_FLOAT:
        text_double(text, expr->number);
        break;
    case EXPR_STRING:
        print_string(text, expr->text);
        break;
    case EXPR_NAME:
        text_add(text, expr->text);
        break;
    case EXPR_ELLIPSIS:
        text_add(text, "...");
        break;
    case EXPR_TUPLE:
        text_add(text, "(");
        print_items(text, expr);
        text_add(text, expr->count == 1 ? ",)" : ")");
        break;
    case EXPR_LIST:
        text_add(text, "[");
        print_items(text, expr);
        text_add(text, "]");
        break;
    case EXPR_DICT:
        text_add(text, "{");
        print_items(text, expr);
        text_add(text, "}");
        break;
    case EXPR_CALL:
        print_operand(text, expr->a);
        text_add(text, "(");
        print_items(text, expr);
        text_add(text, ")");
        break;
    case EXPR_ATTR:
        if (expr->a->kind == EXPR_INT) /* 2.T is no number */
            text_printf(text, "(%lld)", (long long)expr->a->integer);
        else
            print_operand(text, expr->a);
        text_printf(text, ".%s", expr->text);
        break;
    case EXPR_INDEX:
        print_operand(text, expr->a);
        text_add(text, "[");
        print_items(text, expr);
        text_add(text, expr->tuple && expr->count == 1 ? ",]" : "]");
        break;
    case EXPR_SLICE:
        if (expr->a)
            expr_print(text, expr->a);
        text_add(text, ":");
        if (expr->b)
            expr_print(text, expr->b);
        if (expr->c) {
            text_add(text, ":");
            expr_print(text, expr->c);
        }
        break;
    case EXPR_UNARY:
        text_printf(text, "%s%s", expr_op_text(expr->op), expr->op == OP_NOT ? " " : "");
        print_operand(text, expr->a);
        break;
    case EXPR_BINARY:
        print_operand(text, expr->a);
        text_printf(text, " %s ", expr_op_text(expr->op));
        print_operand(text, expr->b);
        break;
    case EXPR_CHAIN:
        for (int i = 0; i < expr->count; i++) {
            if (i > 0)
                text_printf(text, " %s ", expr_op_text(expr->chain[i - 1]));
            print_operand(text, expr->items[i]);
        }
        break;
    case EXPR_IF:
        print_operand(text, expr->a);
        text_add(text, " if ");
        print_operand(text, expr->b);
        text_add(text, " else ");
        print_operand(text, expr->c);
        break;
    case EXPR_REPEAT:
        print_operand(text, expr->a);
        text_add(text, " x ");
        print_operand(text, expr->b);
        break;
    case EXPR_FOR:
        print_for(text, expr);
        break;
    }
}

void stmt_print(struct text *text, const struct stmt *stmt)
{
    if (stmt->kind == STMT_RETURN)
        text_add(text, stmt->value ? "return " : "return");
    if (stmt->target)
        expr_print(text, stmt->target);
    if (stmt->kind == STMT_ASSIGN)
        text_add(text, " = ");
    if (stmt->kind == STMT_AUGMENT)
        text_printf(text, " %s= ", expr_op_text(stmt->op));
    if (stmt->value)
        expr_print(text, stmt->value);
}

/* A part of a source on one line: comments go, line ends and the blanks around them become one blank, or
 * none beside a bracket. */
static const char *one_line(struct cx *cx, const struct source *source, size_t begin, size_t end)
{
    struct text out = text_new(&cx->arena);
    const char *text = source->text;

    for (size_t at = begin; at < end;) {
        char c = text[at];

        if (c == '"' || c == '\'') {
            size_t close = at + 1;

            while (close < end && text[close] != c)
                close += text[close] == '\\' ? 2 : 1;
            close = close < end ? close + 1 : end;
            text_add_bytes(&out, text + at, close - at);
            at = close;
            continue;
        }

        size_t behind = skip_blanks(text, at, end);
        bool line_ends = false;

        for (size_t i = at; i < behind; i++)
            line_ends |= text[i] == '\n' || text[i] == '\r' || text[i] == '#';
        if (behind == at || !line_ends) {
            behind = behind == at ? at + 1 : behind;
            text_add_bytes(&out, text + at, behind - at);
        } else if (out.length > 0 && !strchr("([", out.data[out.length - 1]) && behind < end &&
                   !strchr(")]", text[behind])) {
            text_add(&out, " ");
        }
        at = behind;
    }
    return out.data;
}

const char *expr_source(struct cx *cx, const struct expr *expr)
{
    return one_line(cx, expr->loc.source, expr->loc.offset, expr->end);
}

const char *stmt_source(struct cx *cx, const struct stmt *stmt)
{
    return one_line(cx, stmt->loc.source, stmt->loc.offset, stmt->end);
}
