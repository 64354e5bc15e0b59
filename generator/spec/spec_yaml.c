/* spec_yaml.c - YAML text to nodes; the only code that knows libyaml. Apart from spec.c, which reads keys
 * and need not know how YAML came to see them.
 *
 * note [flow]: YAML splits `[Linear(4, 64), Tanh()]` at every comma. So of a collection in brackets
 * libyaml only says where it begins and ends; `split_flow` splits the source text itself, heeding brackets
 * and quotes. Where libyaml refuses what stands inside, that is said with the spelling that works.
 *
 * note [faults]: libyaml stops at its first fault. To say them all, the text is read until it passes:
 * after each fault the part that YAML refused is masked in a copy (then its node is BAD) or the copy is
 * cut there. Only then nodes are built. Bytes never move, so offsets in the copy are offsets in the file. */
#include "spec/spec_yaml.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <yaml.h>

#include "base/names.h"
#include "base/text.h"
#include "spec/spec.h"

enum { mark_step = 256, max_rounds = 30, max_nodes = 1000000 };

struct range {
    size_t begin, end;
};

struct reader {
    struct cx *cx;
    const struct source *source;
    struct source *unescaped; /* see struct node; NULL until needed */
    char *yaml;               /* the copy that libyaml reads, of the whole file */
    size_t begin, end;        /* the part that it reads: behind a byte order mark, before a cut */
    size_t *marks;            /* offset of every mark_step-th character, since libyaml counts characters */
    size_t mark_count;
    struct range *masked;
    int masked_count;
    bool complete, fatal;
    int node_count;
    yaml_parser_t parser;
};

/* Text --------------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_line(char c)
{
    return c == '\n' || c == '\r' || c == 0;
}

static size_t line_begin(const char *text, size_t at)
{
    while (at > 0 && !ends_line(text[at - 1]))
        at--;
    return at;
}

static size_t line_end(const char *text, size_t at)
{
    while (!ends_line(text[at]))
        at++;
    return at;
}

static size_t skip_spaces(const char *text, size_t at)
{
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

/* Blanks and comments. A comment has a blank before it. */
static size_t skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end) {
        if (is_blank(text[at]))
            at++;
        else if (text[at] == '#' && (at == 0 || is_blank(text[at - 1]) || strchr("[{,", text[at - 1])))
            at = line_end(text, at);
        else
            break;
    }
    return at < end ? at : end;
}

/* Behind the closing quote; `end` where there is none. In YAML's '...' a backslash is a letter, in
 * Python's not. */
static size_t skip_quoted(const char *text, size_t at, size_t end, bool python)
{
    char quote = text[at];

    for (at++; at < end; at++) {
        if (text[at] == '\\' && (quote == '"' || python))
            at++;
        else if (text[at] == quote && quote == '\'' && !python && at + 1 < end && text[at + 1] == quote)
            at++;
        else if (text[at] == quote)
            return at + 1;
    }
    return end;
}

/* Walks from `at` to the first of `stops` that no bracket, quote or comment holds, else to `end`. *last is
 * then behind the last character that is neither blank nor comment, *open at the innermost bracket left
 * open, or SIZE_MAX. */
static size_t walk(const char *text, size_t at, size_t end, const char *stops, size_t *last, size_t *open)
{
    enum { limit = 256 };
    size_t opened[limit];
    int depth = 0;

    *last = at;
    while (at < end) {
        char c = text[at];

        if (depth == 0 && strchr(stops, c))
            break;
        if (is_blank(c)) {
            at++;
            continue;
        }
        if (c == '#' && skip_blanks(text, at, end) > at) {
            at = skip_blanks(text, at, end);
            continue;
        }
        if (c == '"' || c == '\'') {
            at = skip_quoted(text, at, end, depth > 0 && text[opened[depth - 1]] == '(');
            *last = at;
            continue;
        }
        if (strchr("([{", c) && depth < limit)
            opened[depth++] = at;
        if (depth > 0 && c == (text[opened[depth - 1]] == '('   ? ')'
                               : text[opened[depth - 1]] == '[' ? ']'
                                                                : '}'))
            depth--;
        *last = ++at;
    }
    *open = depth > 0 ? opened[depth - 1] : SIZE_MAX;
    return at;
}

/* The bracket that closes the one at `at`, or `end`, with the innermost one left open in *open. */
static size_t find_close(const char *text, size_t at, size_t end, size_t *open)
{
    size_t last, close = walk(text, at + 1, end, text[at] == '[' ? "]" : "}", &last, open);

    if (close >= end && *open == SIZE_MAX)
        *open = at;
    return close;
}

bool node_is_empty(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->length == 0 && node->style == NODE_PLAIN;
}

const char *node_kind_text(const struct node *node)
{
    if (node_is_empty(node))
        return "nothing";
    return node->kind == NODE_LIST  ? (node->count > 0 ? "a list" : "an empty list")
           : node->kind == NODE_MAP ? "a mapping"
                                    : "text";
}

static struct loc place(struct reader *r, size_t begin, size_t end)
{
    return diag_loc(r->cx, r->source, begin, end > begin ? end - begin : 1);
}

const char *node_quoted(struct cx *cx, const char *text, size_t length)
{
    struct text out = text_new(&cx->arena);
    bool single = memchr(text, '"', length) || memchr(text, '\\', length);

    text_add(&out, single ? "'" : "\"");
    for (size_t i = 0; i < length; i++) {
        if (single && text[i] == '\'')
            text_add(&out, "'");
        text_add_bytes(&out, &text[i], 1);
    }
    text_add(&out, single ? "'" : "\"");
    return out.data;
}

static const char *quoted_line(struct cx *cx, const char *text, size_t at)
{
    size_t last, open;

    walk(text, at, line_end(text, at), "", &last, &open);
    return node_quoted(cx, text + at, last - at);
}

const char *node_quoted_line(struct cx *cx, const struct node *node)
{
    return quoted_line(cx, node->source->text, node->offset);
}

/* What stands before libyaml: bytes and tabs ------------------------------------------------------------- */

/* The characters that YAML takes. */
static bool is_printable(const char *s, int length)
{
    const unsigned char *u = (const unsigned char *)s;

    if (length == 1)
        return *u == '\t' || *u == '\n' || *u == '\r' || (*u >= 0x20 && *u < 0x7f);
    if (length == 2)
        return u[0] != 0xc2 || u[1] >= 0xa0 || u[1] == 0x85;
    if (length == 3 && u[0] == 0xef)
        return memcmp(u, "\xef\xbb\xbf", 3) != 0 && memcmp(u, "\xef\xbf\xbe", 3) != 0 &&
               memcmp(u, "\xef\xbf\xbf", 3) != 0;
    return true;
}

static unsigned character(const char *s, int length)
{
    unsigned code = (unsigned char)s[0] & (length == 1 ? 0x7fu : 0xffu >> (length + 1));

    for (int i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3fu);
    return code;
}

static bool check_bytes(struct reader *r)
{
    const char *text = r->source->text;

    if (r->end >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        diag_error(r->cx, place(r, 0, 1), "the file is UTF-16");
        diag_hint(r->cx, "save it as UTF-8");
        return false;
    }
    for (size_t at = r->begin; at < r->end;) {
        int length = text_utf8_length(text + at);

        if (length == 0) {
            diag_error(r->cx, place(r, at, at + 1), "the byte 0x%02x is not UTF-8",
                       (unsigned)(unsigned char)text[at]);
            diag_hint(r->cx, "save the file as UTF-8");
            return false;
        }
        if (!is_printable(text + at, length)) {
            diag_error(r->cx, place(r, at, at + 1), "a control character (U+%04X) in the text",
                       character(text + at, length));
            diag_hint(r->cx, text[at] ? "leave it out" : "is this a text file? a spec is UTF-8");
            return false;
        }
        at += (size_t)length;
    }
    return true;
}

/* Says every tab in an indentation. Other tabs between tokens become spaces in the copy, since libyaml
 * refuses some. */
static bool check_tabs(struct reader *r)
{
    bool good = true;

    for (size_t at = r->begin; at < r->end; at++) {
        size_t line = at, stop = line_end(r->yaml, at);
        bool tab = false;

        for (; at < stop && (r->yaml[at] == ' ' || r->yaml[at] == '\t'); at++)
            tab |= r->yaml[at] == '\t';
        if (tab && at < stop && r->yaml[at] != '#') {
            size_t first = line;

            while (r->yaml[first] != '\t')
                first++;
            diag_error(r->cx, place(r, first, first + 1),
                       "a tab in the indentation: YAML indents with spaces");
            good = false;
        }
        for (bool between = true; line < stop; line++) {
            if (r->yaml[line] == '\t' && between)
                r->yaml[line] = ' ';
            if (r->yaml[line] != ' ')
                between = r->yaml[line] == '-' || r->yaml[line] == ':';
        }
        at = stop;
    }
    return good;
}

/* Reading events ----------------------------------------------------------------------------------------- */

static void count_characters(struct reader *r)
{
    size_t count = 0, at = r->begin;

    r->mark_count = 0;
    for (; at < r->end; at++) {
        if (((unsigned char)r->yaml[at] & 0xc0) == 0x80)
            continue;
        if (count++ % mark_step == 0)
            r->marks[r->mark_count++] = at;
    }
}

/* The offset of libyaml's mark. */
static size_t offset_of(const struct reader *r, yaml_mark_t mark)
{
    size_t step = mark.index / mark_step, left = mark.index % mark_step;

    if (step >= r->mark_count)
        return r->end;

    size_t at = r->marks[step];

    while (left > 0 && at < r->end) {
        at++;
        left -= ((unsigned char)r->yaml[at] & 0xc0) != 0x80;
    }
    return at < r->end ? at : r->end;
}

static void open_parser(struct reader *r)
{
    count_characters(r);
    if (!yaml_parser_initialize(&r->parser))
        arena_out_of_memory();
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->yaml + r->begin, r->end - r->begin);
}

static bool is_masked(const struct reader *r, size_t at)
{
    for (int i = 0; i < r->masked_count; i++) {
        if (at >= r->masked[i].begin && at < r->masked[i].end)
            return true;
    }
    return false;
}

/* Makes one plain scalar of the range. False where it is masked already. */
static bool mask(struct reader *r, size_t begin, size_t end)
{
    struct range range = {begin, end};

    if (begin >= end || is_masked(r, begin))
        return false;
    memset(r->yaml + begin, 'x', end - begin);
    ARENA_PUSH(&r->cx->arena, r->masked, r->masked_count, range);
    return true;
}

static void cut(struct reader *r, size_t at)
{
    r->complete = false;
    if (at <= r->begin || at >= r->end)
        r->fatal = true;
    r->end = at;
}

/* Where the value of a line begins: behind `- ` and `key: `. */
static size_t line_content(const char *text, size_t at)
{
    size_t end = line_end(text, at);

    at = skip_spaces(text, line_begin(text, at));
    while (text[at] == '-' && (text[at + 1] == ' ' || text[at + 1] == '\t'))
        at = skip_spaces(text, at + 1);

    /* A key is a name, a signature, or quoted text; an assignment is none. */
    size_t last, open, colon = walk(text, at, end, ":=", &last, &open);

    if (colon < end && text[colon] == ':' && is_blank(text[colon + 1]) && colon > at)
        at = skip_spaces(text, colon + 1);
    return at < end ? at : end;
}

/* What YAML makes of text that begins with `c`; NULL where that is plain text. */
static const char *meaning(char c)
{
    switch (c) {
    case '*':
        return "an alias";
    case '&':
        return "an anchor";
    case '!':
        return "a tag";
    case '|':
    case '>':
        return "block text";
    case '%':
        return "a directive";
    case '@':
    case '`':
        return "a reserved sign";
    case '"':
    case '\'':
        return "quoted text";
    case '[':
        return "a list";
    case '{':
        return "a mapping";
    case ']':
    case '}':
    case ',':
        return "a part of a list";
    default:
        return NULL;
    }
}

/* What to do about text at [at, end) that begins with a sign of YAML's own. */
static void hint_sign(struct reader *r, size_t at, size_t end)
{
    const char *text = r->source->text;
    bool whole = end > at + 1 && text[end - 1] == text[at]; /* quotes around all of it */

    switch (text[at]) {
    case '*':
    case '&':
        if (text[at] == '*' && memchr(text + at, '.', end - at)) /* a pattern: *.bias */
            diag_hint(r->cx, "quote it: %s", node_quoted(r->cx, text + at, end - at));
        else
            diag_hint(
                r->cx,
                "what is used twice stands under 'constants:', 'functions:' or 'classes:'; a text is quoted: %s",
                node_quoted(r->cx, text + at, end - at));
        break;
    case '!':
        diag_hint(r->cx, "leave a tag out; a text is quoted: %s", node_quoted(r->cx, text + at, end - at));
        break;
    case '|':
    case '>':
        diag_hint(r->cx, "block text begins in the line below; any other is quoted: %s",
                  node_quoted(r->cx, text + at, end - at));
        break;
    case ']':
    case '}':
    case ',':
        break;
    case '"':
    case '\'':
        at += whole;
        end -= whole;
        /* fall through */
    default:
        if (text[at] == '[' && strstr(arena_copy(&r->cx->arena, text + at, end - at), "] if "))
            diag_hint(r->cx,
                      "lists of modules have no 'if': write Sequential(A, B) if condition else Sequential()");
        else
            diag_hint(r->cx, "quote it: %s", node_quoted(r->cx, text + at, end - at));
    }
}

/* The last character of a line that is neither blank nor comment, and one on. */
static size_t content_end(const char *text, size_t at)
{
    size_t last, open;

    walk(text, at, line_end(text, at), "", &last, &open);
    return last;
}

/* A fault inside brackets. */
static void explain_flow(struct reader *r, size_t flow, size_t fault)
{
    const char *text = r->source->text;
    size_t open, close = find_close(text, flow, r->end, &open), last;
    bool list = text[flow] == '[';

    if (close >= r->end) {
        for (size_t at = flow; at < open; at++) /* what follows a key of the spec is no part of it */
            if (ends_line(text[at]) && skip_spaces(text, at + 1) == at + 1 && !ends_line(text[at + 1]) &&
                text[at + 1] != '#')
                open = flow;
        diag_error(r->cx, place(r, open, open + 1), "'%c' is never closed", text[open]);
        if (!mask(r, flow, line_end(text, flow)))
            cut(r, line_begin(text, flow));
        return;
    }

    size_t begin, end, inner = flow, inner_close = close, shown, colon;

    do { /* the item that holds the fault, in the innermost collection */
        list = text[inner] == '[';
        begin = end = inner + 1;
        while (end < inner_close) {
            begin = skip_blanks(text, end, inner_close);
            end = walk(text, begin, inner_close, ",", &last, &open);
            if (end >= fault || end >= inner_close)
                break;
            end++;
        }
        shown = line_end(text, begin) < last ? line_end(text, begin) : last;
        for (colon = begin; colon < shown && text[colon] != ':';)
            colon++;
        inner = list || colon == shown ? begin : skip_blanks(text, colon + 1, inner_close);
        if (inner < shown && strchr("[{", text[inner]))
            inner_close = find_close(text, inner, inner_close, &open);
        else
            inner = shown;
    } while (inner < fault && fault <= inner_close && inner < shown);

    if (begin >= last) {
        diag_error(r->cx, place(r, begin, begin + 1), "expected %s, found '%c'",
                   list ? "an item" : "'key: value'", text[begin]);
    } else if (strchr("*&!@`%|>", text[begin])) {
        diag_error(r->cx, place(r, begin, begin + 1), "YAML takes '%c' at the start for %s", text[begin],
                   meaning(text[begin]));
        hint_sign(r, begin, shown);
    } else {
        diag_error(
            r->cx, place(r, begin, last),
            "YAML cannot read this inside brackets, where brackets and quotes have a meaning of their own");
        if (!list && colon < shown && !is_blank(text[colon + 1]))
            diag_hint(r->cx, "YAML wants a blank behind the ':'");
        else
            diag_hint(r->cx, "write every %s on a line of its own: '%s%.*s'", list ? "item" : "entry",
                      list ? "- " : "", (int)(shown - begin), text + begin);
    }
    if (!mask(r, flow, close + 1) && !mask(r, close + 1, line_end(text, close)))
        cut(r, line_begin(text, flow));
}

/* A fault that no known habit explains: in words of ours where libyaml's are its own. `first` begins the line. */
static const char *problem_text(struct reader *r, char first)
{
    static const struct {
        const char *problem, *text;
    } known[] = {
        {"mapping values are not allowed in this context",
         "this does not fit the indentation of the lines above"},
        {"could not find expected ':'", "expected 'key: value', or '- item' as in the lines above"},
        {"did not find expected key", "this does not fit the indentation of the lines above"},
        {"did not find expected '-' indicator", "expected '- item', as in the lines above"},
        {"block sequence entries are not allowed in this context", "'- ' begins a line of its own"},
        {"found unknown escape character", "YAML's double quotes do not know this escape"},
        {"did not find expected hexdecimal number", "YAML's double quotes do not know this escape"},
        {"found invalid Unicode character escape code", "YAML's double quotes do not know this escape"},
        {"mapping keys are not allowed in this context", "'? ' has a meaning of its own in YAML"},
    };
    const char *problem = r->parser.problem ? r->parser.problem : "the text cannot be read";

    if (strcmp(problem, "did not find expected key") == 0 && first == '-')
        return "expected 'key: value' as in the lines above, found '- '";
    if (first == ':')
        return "there is no key before this ':'";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].problem, problem) == 0)
            return known[i].text;
    }
    return arena_format(&r->cx->arena, "YAML: %s", problem);
}

static bool next_line_is_deeper(const struct reader *r, size_t at)
{
    const char *text = r->yaml;
    size_t indent = skip_spaces(text, line_begin(text, at)) - line_begin(text, at);

    for (at = line_end(text, at); at < r->end; at = line_end(text, at)) {
        at++;

        size_t first = skip_spaces(text, at);

        if (!ends_line(text[first]) && text[first] != '#')
            return first - at > indent;
    }
    return false;
}

/* A value in a line above the one at `content` that begins with the same quote and does not end in its line, so that the
 * quote at `content` closes it. Else `content`. */
static size_t open_quote_above(const struct reader *r, size_t content)
{
    const char *text = r->source->text;

    for (size_t line = line_begin(text, content); line > r->begin; line = line_begin(text, line - 1)) {
        size_t at = line_content(text, line - 1), end = line_end(text, line - 1);

        if (at < end && text[at] == text[content] && !is_masked(r, at))
            return skip_quoted(text, at, end, false) < end || (text[end - 1] == text[at] && end - at > 1)
                       ? content
                       : at;
    }
    return content;
}

/* The first ': ' of the line of `colon`, in brackets that close before `colon`: `f(x: int):`. Else `colon`. */
static size_t key_colon(const struct reader *r, size_t colon)
{
    const char *text = r->source->text;
    size_t begin = skip_spaces(text, line_begin(text, colon)), last, open, at = begin;

    if (walk(text, begin, line_end(text, colon), ":", &last, &open) != colon)
        return colon;
    while (at < colon && !(text[at] == ':' && is_blank(text[at + 1])))
        at++;
    return at;
}

/* Directives, and what stands between documents. */
static bool explain_document(struct reader *r, size_t fault, const char *context)
{
    const char *text = r->source->text;

    fault -= fault >= r->end && fault > r->begin;

    size_t line = line_begin(text, fault), end = line_end(text, line);
    bool alone = strcmp(r->parser.problem, "did not find expected <document start>") == 0;

    if (!alone && (strstr(context, "directive") || strstr(r->parser.problem, "directive") ||
                   strcmp(r->parser.problem, "found incompatible YAML document") == 0)) {
        diag_error(r->cx, place(r, line, end), "YAML does not know this directive");
        diag_hint(r->cx, "leave it out: a spec needs none");
        memset(r->yaml + line, ' ', end - line);
        return true;
    }
    if (!alone)
        return false;
    if (text[skip_blanks(text, r->begin, r->end)] == '%') {
        diag_error(r->cx, place(r, line, end), "expected '---' behind the directives");
        diag_hint(r->cx, "leave them out: a spec needs none");
        r->fatal = true;
    } else {
        diag_error(r->cx, place(r, line, end), "a second document: a spec is one");
        cut(r, line);
    }
    return true;
}

/* Says the fault of the parser; then masks it or cuts the text. `done` is where the last event ended,
 * `flow` where the brackets begin that are open there. */
static void explain(struct reader *r, size_t done, size_t flow)
{
    const char *text = r->source->text, *context = r->parser.context ? r->parser.context : "";
    const char *problem = r->parser.problem ? r->parser.problem : "";
    size_t fault = offset_of(r, r->parser.problem_mark);

    if (r->parser.error == YAML_MEMORY_ERROR)
        arena_out_of_memory();
    if (flow == SIZE_MAX) { /* the scanner reads ahead of the events */
        size_t at = done;

        while (at < fault &&
               (is_blank(text[at]) || strchr(":-?", text[at]) || skip_blanks(text, at, fault) > at))
            at = at < skip_blanks(text, at, fault) ? skip_blanks(text, at, fault) : at + 1;
        if (at < fault && (text[at] == '[' || text[at] == '{')) {
            size_t open;

            if (find_close(text, at, r->end, &open) >= fault)
                flow = at;
        }
    }
    if (flow != SIZE_MAX) {
        explain_flow(r, flow, fault);
        return;
    }
    if (explain_document(r, fault, context))
        return;
    if (strcmp(context, "while scanning a quoted scalar") == 0 ||
        strcmp(context, "while scanning a simple key") == 0)
        fault = offset_of(r, r->parser.context_mark);
    if (fault >= r->end && fault > r->begin)
        fault--;

    size_t content = line_content(text, fault), end = line_end(text, fault);

    if (content < end && (text[content] == '"' || text[content] == '\'')) {
        size_t open = open_quote_above(r, content);

        if (open < content) {
            diag_error(r->cx, place(r, open, open + 1), "this quote is never closed");
            mask(r, open, line_end(text, open));
            return;
        }
    }

    const char *taken = content < end ? meaning(text[content]) : NULL;

    if (is_masked(r, content)) {
        diag_error(r->cx, place(r, content, end), "%s", problem_text(r, text[content]));
        cut(r, line_begin(text, fault));
    } else if (strcmp(context, "while scanning a quoted scalar") == 0 &&
               (strstr(problem, "end of stream") || strstr(problem, "document indicator"))) {
        diag_error(r->cx, place(r, fault, fault + 1), "this quote is never closed");
        if (strstr(problem, "document indicator"))
            cut(r, offset_of(r, r->parser.problem_mark));
        if (!mask(r, content, end))
            cut(r, line_begin(text, fault));
    } else if (strcmp(context, "while scanning a quoted scalar") == 0 ||
               strcmp(context, "while parsing a quoted scalar") == 0) {
        fault = offset_of(r, r->parser.problem_mark);
        diag_error(r->cx, place(r, fault, fault + 1), "%s", problem_text(r, 0));
        diag_hint(r->cx, "in single quotes a backslash is a plain letter");
        fault = offset_of(r, r->parser.context_mark);
        if (!mask(r, fault, skip_quoted(text, fault, r->end, false)))
            cut(r, line_begin(text, fault));
    } else if (taken && fault >= content) {
        diag_error(r->cx, place(r, content, content + 1), "YAML takes '%c' at the start for %s",
                   text[content], taken);
        hint_sign(r, content, content_end(text, content));
        mask(r, content, end);
    } else if (strcmp(problem, "mapping values are not allowed in this context") == 0 &&
               key_colon(r, fault) < fault) {
        size_t colon = key_colon(r, fault), begin = skip_spaces(text, line_begin(text, fault));

        diag_error(r->cx, place(r, colon, colon + 1), "YAML takes ': ' for the end of a key");
        diag_hint(r->cx, "quote the key: %s", node_quoted(r->cx, text + begin, fault - begin));
        mask(r, begin, fault);
    } else if (strcmp(problem, "mapping values are not allowed in this context") == 0 && fault > content) {
        diag_error(r->cx, place(r, fault, fault + 1), "YAML takes ': ' for the end of a key");
        diag_hint(r->cx, "quote it: %s", quoted_line(r->cx, text, content));
        mask(r, content, end);
    } else if (strcmp(problem, "block sequence entries are not allowed in this context") == 0) {
        diag_error(r->cx, place(r, fault, fault + 1), "%s", problem_text(r, 0));
        diag_hint(
            r->cx,
            "write it in the next line, deeper than its key; a negative number has no blank behind its sign");
        mask(r, fault, end);
    } else {
        size_t line = line_begin(text, fault), first = skip_spaces(text, line);

        diag_error(r->cx, place(r, first, end), "%s", problem_text(r, text[first]));
        if (next_line_is_deeper(r, fault) || first == end) {
            cut(r, line);
        } else { /* the line goes, and what follows is read */
            memset(r->yaml + line, ' ', end - line);
            r->complete = false;
        }
    }
}

/* Reads all events once. True where libyaml has nothing to say (any more). */
static bool passes(struct reader *r)
{
    yaml_event_t event;
    size_t done = r->begin, flow = SIZE_MAX;
    int depth = 0, flow_depth = 0;
    bool more = true, good = true;

    open_parser(r);
    while (more) {
        if (!yaml_parser_parse(&r->parser, &event)) {
            explain(r, done, flow);
            good = false;
            break;
        }

        bool is_list = event.type == YAML_SEQUENCE_START_EVENT,
             is_map = event.type == YAML_MAPPING_START_EVENT;

        if (is_list || is_map) {
            bool in_flow = is_list ? event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                                   : event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;

            depth++;
            if (in_flow && flow_depth++ == 0)
                flow = offset_of(r, event.start_mark);
            if (depth > SPEC_MAX_NESTING) {
                size_t at = offset_of(r, event.start_mark);

                diag_error(r->cx, place(r, at, at + 1), "the spec nests more than %d levels deep",
                           SPEC_MAX_NESTING);
                r->fatal = true;
                more = false;
            }
        } else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            depth--;
            if (flow_depth > 0 && --flow_depth == 0)
                flow = SIZE_MAX;
        }
        more = more && event.type != YAML_STREAM_END_EVENT;
        if (event.type != YAML_STREAM_START_EVENT)
            done = offset_of(r, event.end_mark);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&r->parser);
    return good;
}

/* Nodes -------------------------------------------------------------------------------------------------- */

static struct node *node_new(struct reader *r, enum node_kind kind, size_t begin, size_t end)
{
    struct node *node = ARENA_NEW(&r->cx->arena, struct node);

    node->kind = kind;
    node->source = r->source;
    node->offset = begin;
    node->length = end - begin;
    node->loc = place(r, begin, end);
    node->value = "";
    if (++r->node_count > max_nodes && !r->fatal) {
        diag_error(r->cx, node->loc, "the spec has more than %d keys, values and items", (int)max_nodes);
        r->fatal = true;
    }
    return node;
}

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The escape at text[at] to `to`, in no more bytes than it had; returns how many. *used: how many it had. */
static size_t resolve_escape(const char *text, size_t at, char *to, size_t *used)
{
    char c = text[at + 1];
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;

    *used = 2 + (size_t)digits;
    if (digits == 0) {
        *to = c == '"' || c == '\\' || c == '/' ? c : ' ';
        return 1;
    }
    for (int i = 0; i < digits; i++)
        code = code * 16 + (uint32_t)hex_value(text[at + 2 + (size_t)i]);
    if (code < 0x80) {
        *to = code < 0x20 || code == 0x7f ? ' ' : (char)code;
        return 1;
    }

    size_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = count; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((count == 2 ? 0xc0 : count == 3 ? 0xe0 : 0xf0) | code);
    return count;
}

/* Resolves the escapes of a quoted text in the copy of the source; what becomes shorter is filled with
 * blanks at the end of its line, so that all lines stay where they are. */
static void unescape(struct reader *r, struct node *node, char quote)
{
    const char *text = r->source->text;
    size_t from = node->offset, end = node->offset + node->length, to = from;

    if (!r->unescaped) {
        r->unescaped = ARENA_NEW(&r->cx->arena, struct source);
        *r->unescaped = *r->source;
        r->unescaped->text = arena_copy(&r->cx->arena, text, r->source->length);
    }

    char *copy = (char *)(uintptr_t)r->unescaped->text; /* ours: made just above */

    while (from < end) {
        if (ends_line(text[from])) {
            memset(copy + to, ' ', from - to);
            to = ++from;
        } else if (quote == '\'' && text[from] == '\'') {
            copy[to++] = '\'';
            from += 2;
        } else if (quote == '"' && text[from] == '\\' && ends_line(text[from + 1])) {
            copy[to++] = ' ';
            from++;
        } else if (quote == '"' && text[from] == '\\') {
            size_t used;

            to += resolve_escape(text, from, copy + to, &used);
            from += used;
        } else {
            copy[to++] = text[from++];
        }
    }
    memset(copy + to, ' ', end - to);
    node->source = r->unescaped;
}

/* Text in quotes, which stand at `begin` and before `end`. */
static struct node *quoted_node(struct reader *r, size_t begin, size_t end)
{
    const char *text = r->source->text;
    struct node *node = node_new(r, NODE_SCALAR, begin + 1, end - 1);
    char quote = text[begin];

    node->style = NODE_QUOTED;
    if (node->length > 0 && memchr(text + begin + 1, quote == '"' ? '\\' : '\'', node->length))
        unescape(r, node, quote);
    node->value = arena_copy(&r->cx->arena, node->source->text + node->offset, node->length);
    return node;
}

static struct node *bad_node(struct reader *r, size_t begin, size_t end)
{
    return node_new(r, NODE_BAD, begin, end);
}

/* Aliases, anchors and tags, whose first sign is at `at`. */
static struct node *refuse(struct reader *r, size_t at)
{
    const char *text = r->source->text;
    size_t last, open, end;

    walk(text, at, line_end(text, at), ",]}", &last, &open);
    end = last > at ? last : at + 1;
    diag_error(r->cx, place(r, at, at + 1), "YAML takes '%c' at the start for %s, and a spec has none",
               text[at], meaning(text[at]) ? meaning(text[at]) : "something else");
    hint_sign(r, at, end);
    return bad_node(r, at, end);
}

static bool check_keys(struct reader *r, struct node *map)
{
    struct names names = {0};
    int count = 0;

    for (int i = 0; i < map->count; i++) {
        struct node *key = map->keys[i];

        if (key->kind == NODE_BAD)
            continue;
        if (key->kind != NODE_SCALAR || key->length == 0) {
            diag_error(r->cx, key->loc, "a key must be a name, found %s",
                       key->kind == NODE_SCALAR ? "nothing"
                       : key->kind == NODE_LIST ? "a list"
                                                : "a mapping");
            continue;
        }

        const struct name_entry *first = names_add(&r->cx->arena, &names, key->value, key->value, key->loc);

        if (first) {
            diag_error(r->cx, key->loc, "the key '%s' is given twice", key->value);
            diag_note(r->cx, first->loc, "first given here");
            continue;
        }
        map->keys[count] = key;
        map->items[count++] = map->items[i];
    }
    map->count = count;
    return true;
}

static struct node *split_flow(struct reader *r, size_t begin, size_t end, int depth);

/* One item of a collection in brackets, from its source text. */
static struct node *flow_item(struct reader *r, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    size_t open;

    if (begin < end && (text[begin] == '[' || text[begin] == '{') &&
        find_close(text, begin, end, &open) == end - 1)
        return split_flow(r, begin, end, depth + 1);
    if (begin < end && (text[begin] == '"' || text[begin] == '\'') && end - begin >= 2 &&
        skip_quoted(text, begin, end, false) == end && text[end - 1] == text[begin])
        return quoted_node(r, begin, end);
    if (begin < end && strchr("*&!", text[begin]))
        return refuse(r, begin);

    struct node *node = node_new(r, NODE_SCALAR, begin, end);

    node->value = arena_copy(&r->cx->arena, text + begin, end - begin);
    return node;
}

/* `key: value` in braces. */
static void flow_entry(struct reader *r, struct node *map, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    size_t last, open, colon = begin;
    bool quoted = text[begin] == '"' || text[begin] == '\'';

    for (;; colon++) {
        colon = walk(text, colon, end, ":", &last, &open);
        if (colon >= end || quoted || colon + 1 == end || is_blank(text[colon + 1]))
            break;
    }
    if (colon >= end) {
        r->complete = false;
        diag_error(r->cx, place(r, begin, end), "expected 'key: value'");
        if (memchr(text + begin, ':', end - begin))
            diag_hint(r->cx, "YAML wants a blank behind the ':'");
        return;
    }
    walk(text, begin, colon, "", &last, &open);

    int items = map->count;
    struct node *key = flow_item(r, begin, last, depth);
    struct node *value = flow_item(r, skip_blanks(text, colon + 1, end), end, depth);

    ARENA_PUSH(&r->cx->arena, map->keys, items, key);
    ARENA_PUSH(&r->cx->arena, map->items, map->count, value);
}

/* See note [flow]. The brackets stand at `begin` and before `end`. */
static struct node *split_flow(struct reader *r, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    struct node *node = node_new(r, text[begin] == '[' ? NODE_LIST : NODE_MAP, begin, end);
    size_t at = begin + 1, stop = end - 1;

    node->flow = true;
    if (depth > SPEC_MAX_NESTING) {
        diag_error(r->cx, node->loc, "the spec nests more than %d levels deep", SPEC_MAX_NESTING);
        return bad_node(r, begin, end);
    }
    while ((at = skip_blanks(text, at, stop)) < stop && !r->fatal) {
        size_t last, open, comma = walk(text, at, stop, ",", &last, &open);

        if (last > at && node->kind == NODE_LIST) {
            struct node *item = flow_item(r, at, last, depth);

            ARENA_PUSH(&r->cx->arena, node->items, node->count, item);
        } else if (last > at) {
            flow_entry(r, node, at, last, depth);
        }
        at = comma + 1;
    }
    if (node->kind == NODE_MAP)
        check_keys(r, node);
    return node;
}

static struct node *build_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *text = r->source->text;
    size_t begin = offset_of(r, event->start_mark), end = offset_of(r, event->end_mark);
    struct node *node;

    if (is_masked(r, begin))
        return bad_node(r, begin, end);
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return refuse(r, begin);
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        node = quoted_node(r, begin, end);
        break;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
        begin = line_end(text, begin); /* behind the sign and what may follow it there */
        node = node_new(r, NODE_SCALAR, begin < end ? begin : end, end);
        node->loc = place(r, offset_of(r, event->start_mark), offset_of(r, event->start_mark) + 1);
        node->style = event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ? NODE_LITERAL : NODE_FOLDED;
        break;
    default:
        node = node_new(r, NODE_SCALAR, begin, end);
        break;
    }
    node->value = arena_copy(&r->cx->arena, (const char *)event->data.scalar.value,
                             event->data.scalar.length);
    return node;
}

static void next_event(struct reader *r, yaml_event_t *event)
{
    if (!yaml_parser_parse(&r->parser, event)) /* it read the same text before: only memory can have failed */
        arena_out_of_memory();
}

static struct node *build(struct reader *r, yaml_event_t *event, int depth);

static struct node *build_flow(struct reader *r, size_t begin)
{
    size_t end = begin;

    for (int depth = 1; depth > 0;) {
        yaml_event_t event;

        next_event(r, &event);
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            depth++;
        else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            depth--;
        end = offset_of(r, event.end_mark);
        yaml_event_delete(&event);
    }
    return split_flow(r, begin, end, 0);
}

static struct node *build_block(struct reader *r, enum node_kind kind, size_t begin, int depth)
{
    struct node *node = node_new(r, kind, begin, begin + 1);

    while (!r->fatal) {
        yaml_event_t event;
        struct node *key = NULL;

        next_event(r, &event);
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            break;
        }

        struct node *item = build(r, &event, depth + 1);

        if (kind == NODE_MAP) {
            int keys = node->count;

            key = item;
            next_event(r, &event);
            item = build(r, &event, depth + 1);
            ARENA_PUSH(&r->cx->arena, node->keys, keys, key);
        }
        ARENA_PUSH(&r->cx->arena, node->items, node->count, item);
        node->length = item->offset + item->length > begin ? item->offset + item->length - begin
                                                           : node->length;
    }
    if (kind == NODE_MAP)
        check_keys(r, node);
    return node;
}

/* The node that starts with `event`, which is deleted. */
static struct node *build(struct reader *r, yaml_event_t *event, int depth)
{
    size_t begin = offset_of(r, event->start_mark);
    bool list = event->type == YAML_SEQUENCE_START_EVENT, marked = false, flow = false;
    struct node *node;

    switch (event->type) {
    case YAML_SCALAR_EVENT:
        node = build_scalar(r, event);
        yaml_event_delete(event);
        return node;
    case YAML_SEQUENCE_START_EVENT:
        flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        marked = event->data.sequence_start.anchor || event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        marked = event->data.mapping_start.anchor || event->data.mapping_start.tag;
        break;
    default: /* an alias */
        yaml_event_delete(event);
        return refuse(r, begin);
    }
    yaml_event_delete(event);
    if (marked) { /* its brackets are not at `begin`, and it is bad anyway */
        node = refuse(r, begin);
        build_block(r, NODE_LIST, begin, depth);
        return node;
    }
    return flow ? build_flow(r, begin) : build_block(r, list ? NODE_LIST : NODE_MAP, begin, depth);
}

static struct node *build_document(struct reader *r)
{
    struct node *root = NULL;
    bool more = true, said = false;

    open_parser(r);
    while (more && !r->fatal) {
        yaml_event_t event;

        next_event(r, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && root && !said) {
            size_t at = offset_of(r, event.start_mark);

            diag_error(r->cx, place(r, at, line_end(r->source->text, at)),
                       "a second document: a spec is one");
            said = true;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT ||
            event.type == YAML_STREAM_START_EVENT || event.type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
            continue;
        }

        struct node *node = build(r, &event, 1);

        root = root ? root : node;
    }
    yaml_parser_delete(&r->parser);
    return root;
}

struct node *node_read(struct cx *cx, const struct source *source, bool *complete)
{
    struct reader reader = {.cx = cx, .source = source, .end = source->length, .complete = true},
                  *r = &reader;

    *complete = false;
    assert(source->length <= SPEC_MAX_BYTES);
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        r->begin = 3;
    r->yaml = arena_copy(&cx->arena, source->text, source->length);
    r->marks = ARENA_ARRAY(&cx->arena, source->length / mark_step + 1, size_t);
    if (!check_bytes(r) || !check_tabs(r))
        return NULL;
    for (int round = 0; !passes(r) && !r->fatal; round++) {
        if (round >= max_rounds)
            return NULL;
    }
    if (r->fatal)
        return NULL;

    struct node *root = build_document(r);

    *complete = r->complete && !r->fatal;
    return r->fatal ? NULL : root;
}

struct node *node_read_mapping(struct cx *cx, const struct source *source, bool *complete)
{
    int errors = diag_errors(cx);
    struct node *root = node_read(cx, source, complete);

    if (root && root->kind == NODE_MAP)
        return root;
    *complete = false;
    if (root && root->kind != NODE_BAD)
        diag_error(cx, root->loc, "a spec is a mapping of keys to values, found %s", node_kind_text(root));
    else if (!root && diag_errors(cx) == errors)
        diag_error(cx, loc_at(source, 0, 1), "the spec is empty");
    else
        return NULL;
    diag_hint(cx, "begin it with 'modc: 1'");
    return NULL;
}
