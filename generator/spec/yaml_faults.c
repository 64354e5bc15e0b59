/* yaml_faults.c - says what libyaml refuses in words of a spec, with the spelling that works, and takes that part out of the
 * text, so that the rest can be read. Apart from spec_yaml.c, since these are habits of people, not rules of YAML. */
#include "spec/yaml_reader.h"

#include <stdint.h>
#include <string.h>

#include "spec/yaml_text.h"

bool yaml_fault_is_masked(const struct yaml_reader *r, size_t at)
{
    for (int i = 0; i < r->masked_count; i++) {
        if (at >= r->masked[i].begin && at < r->masked[i].end)
            return true;
    }
    return false;
}

bool yaml_fault_mask(struct yaml_reader *r, size_t begin, size_t end)
{
    struct range range = {begin, end};

    if (begin >= end || yaml_fault_is_masked(r, begin))
        return false;
    memset(r->yaml + begin, 'x', end - begin);
    ARENA_PUSH(&r->cx->arena, r->masked, r->masked_count, range);
    return true;
}

void yaml_fault_cut(struct yaml_reader *r, size_t at)
{
    r->complete = false;
    if (at <= r->begin || at >= r->end)
        r->fatal = true;
    r->end = at;
}

/* Where the value of a line begins: behind `- ` and `key: `. */
static size_t line_content(const char *text, size_t at)
{
    size_t end = scan_line_end(text, at);

    at = scan_skip_spaces(text, scan_line_begin(text, at));
    while (text[at] == '-' && (text[at + 1] == ' ' || text[at + 1] == '\t'))
        at = scan_skip_spaces(text, at + 1);

    /* A key is a name, a signature, or quoted text; an assignment is none. */
    size_t last, open, colon = scan_walk(text, at, end, ":=", &last, &open);

    if (colon < end && text[colon] == ':' && scan_is_blank(text[colon + 1]) && colon > at)
        at = scan_skip_spaces(text, colon + 1);
    return at < end ? at : end;
}

const char *yaml_fault_meaning(char c)
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

void yaml_fault_hint(struct yaml_reader *r, size_t at, size_t end)
{
    const char *text = r->source->text;
    bool whole = end > at + 1 && text[end - 1] == text[at]; /* quotes around all of it */

    switch (text[at]) {
    case '*':
    case '&':
        if (text[at] == '*' && memchr(text + at, '.', end - at)) /* a pattern: *.bias */
            diag_hint(r->cx, "quote it: %s", scan_quoted(&r->cx->arena, text + at, end - at));
        else
            diag_hint(
                r->cx,
                "what is used twice stands under 'constants:', 'functions:' or 'classes:'; a text is quoted: %s",
                scan_quoted(&r->cx->arena, text + at, end - at));
        break;
    case '!':
        diag_hint(r->cx, "leave a tag out; a text is quoted: %s",
                  scan_quoted(&r->cx->arena, text + at, end - at));
        break;
    case '|':
    case '>':
        diag_hint(r->cx, "block text begins in the line below; any other is quoted: %s",
                  scan_quoted(&r->cx->arena, text + at, end - at));
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
            diag_hint(r->cx, "quote it: %s", scan_quoted(&r->cx->arena, text + at, end - at));
    }
}

/* The last character of a line that is neither blank nor comment, and one on. */
static size_t content_end(const char *text, size_t at)
{
    size_t last, open;

    scan_walk(text, at, scan_line_end(text, at), "", &last, &open);
    return last;
}

/* A fault inside brackets. */
static void explain_flow(struct yaml_reader *r, size_t flow, size_t fault)
{
    const char *text = r->source->text;
    size_t open, close = scan_find_close(text, flow, r->end, &open), last;
    bool list = text[flow] == '[';

    if (close >= r->end) {
        for (size_t at = flow; at < open; at++) /* what follows a key of the spec is no part of it */
            if (scan_ends_line(text[at]) && scan_skip_spaces(text, at + 1) == at + 1 &&
                !scan_ends_line(text[at + 1]) && text[at + 1] != '#')
                open = flow;
        diag_error(r->cx, yaml_place(r, open, open + 1), "'%c' is never closed", text[open]);
        if (!yaml_fault_mask(r, flow, scan_line_end(text, flow)))
            yaml_fault_cut(r, scan_line_begin(text, flow));
        return;
    }

    size_t begin, end, inner = flow, inner_close = close, shown, colon;

    do { /* the item that holds the fault, in the innermost collection */
        list = text[inner] == '[';
        begin = end = inner + 1;
        while (end < inner_close) {
            begin = scan_skip_blanks(text, end, inner_close);
            end = scan_walk(text, begin, inner_close, ",", &last, &open);
            if (end >= fault || end >= inner_close)
                break;
            end++;
        }
        shown = scan_line_end(text, begin) < last ? scan_line_end(text, begin) : last;
        for (colon = begin; colon < shown && text[colon] != ':';)
            colon++;
        inner = list || colon == shown ? begin : scan_skip_blanks(text, colon + 1, inner_close);
        if (inner < shown && strchr("[{", text[inner]))
            inner_close = scan_find_close(text, inner, inner_close, &open);
        else
            inner = shown;
    } while (inner < fault && fault <= inner_close && inner < shown);

    if (begin >= last) {
        diag_error(r->cx, yaml_place(r, begin, begin + 1), "expected %s, found '%c'",
                   list ? "an item" : "'key: value'", text[begin]);
    } else if (strchr("*&!@`%|>", text[begin])) {
        diag_error(r->cx, yaml_place(r, begin, begin + 1), "YAML takes '%c' at the start for %s", text[begin],
                   yaml_fault_meaning(text[begin]));
        yaml_fault_hint(r, begin, shown);
    } else {
        diag_error(
            r->cx, yaml_place(r, begin, last),
            "YAML cannot read this inside brackets, where brackets and quotes have a meaning of their own");
        if (!list && colon < shown && !scan_is_blank(text[colon + 1]))
            diag_hint(r->cx, "YAML wants a blank behind the ':'");
        else
            diag_hint(r->cx, "write every %s on a line of its own: '%s%.*s'", list ? "item" : "entry",
                      list ? "- " : "", (int)(shown - begin), text + begin);
    }
    if (!yaml_fault_mask(r, flow, close + 1) && !yaml_fault_mask(r, close + 1, scan_line_end(text, close)))
        yaml_fault_cut(r, scan_line_begin(text, flow));
}

/* A fault that no known habit explains: in words of ours where libyaml's are its own. `first` begins the line. */
static const char *problem_text(struct yaml_reader *r, char first)
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
    for (int i = 0; i < COUNT(known); i++) {
        if (strcmp(known[i].problem, problem) == 0)
            return known[i].text;
    }
    return arena_format(&r->cx->arena, "YAML: %s", problem);
}

static bool next_line_is_deeper(const struct yaml_reader *r, size_t at)
{
    const char *text = r->yaml;
    size_t indent = scan_skip_spaces(text, scan_line_begin(text, at)) - scan_line_begin(text, at);

    for (at = scan_line_end(text, at); at < r->end; at = scan_line_end(text, at)) {
        at++;

        size_t first = scan_skip_spaces(text, at);

        if (!scan_ends_line(text[first]) && text[first] != '#')
            return first - at > indent;
    }
    return false;
}

/* A value in a line above the one at `content` that begins with the same quote and does not end in its line, so that the
 * quote at `content` closes it. Else `content`. */
static size_t open_quote_above(const struct yaml_reader *r, size_t content)
{
    const char *text = r->source->text;

    for (size_t line = scan_line_begin(text, content); line > r->begin;
         line = scan_line_begin(text, line - 1)) {
        size_t at = line_content(text, line - 1), end = scan_line_end(text, line - 1);

        if (at < end && text[at] == text[content] && !yaml_fault_is_masked(r, at))
            return scan_skip_quoted(text, at, end, false) < end || (text[end - 1] == text[at] && end - at > 1)
                       ? content
                       : at;
    }
    return content;
}

/* The first ': ' of the line of `colon`, in brackets that close before `colon`: `f(x: int):`. Else `colon`. */
static size_t key_colon(const struct yaml_reader *r, size_t colon)
{
    const char *text = r->source->text;
    size_t begin = scan_skip_spaces(text, scan_line_begin(text, colon)), last, open, at = begin;

    if (scan_walk(text, begin, scan_line_end(text, colon), ":", &last, &open) != colon)
        return colon;
    while (at < colon && !(text[at] == ':' && scan_is_blank(text[at + 1])))
        at++;
    return at;
}

/* Directives, and what stands between documents. */
static bool explain_document(struct yaml_reader *r, size_t fault, const char *context)
{
    const char *text = r->source->text;

    fault -= fault >= r->end && fault > r->begin;

    size_t line = scan_line_begin(text, fault), end = scan_line_end(text, line);
    bool alone = strcmp(r->parser.problem, "did not find expected <document start>") == 0;

    if (!alone && (strstr(context, "directive") || strstr(r->parser.problem, "directive") ||
                   strcmp(r->parser.problem, "found incompatible YAML document") == 0)) {
        diag_error(r->cx, yaml_place(r, line, end), "YAML does not know this directive");
        diag_hint(r->cx, "leave it out: a spec needs none");
        memset(r->yaml + line, ' ', end - line);
        return true;
    }
    if (!alone)
        return false;
    if (text[scan_skip_blanks(text, r->begin, r->end)] == '%') {
        diag_error(r->cx, yaml_place(r, line, end), "expected '---' behind the directives");
        diag_hint(r->cx, "leave them out: a spec needs none");
        r->fatal = true;
    } else {
        diag_error(r->cx, yaml_place(r, line, end), "a second document: a spec is one");
        yaml_fault_cut(r, line);
    }
    return true;
}

/* The brackets that hold `fault` and open behind `done`: the scanner reads ahead of the events. SIZE_MAX: none. */
static size_t flow_ahead(const struct yaml_reader *r, size_t done, size_t fault)
{
    const char *text = r->source->text;
    size_t at = done, open;

    while (at < fault &&
           (scan_is_blank(text[at]) || strchr(":-?", text[at]) || scan_skip_blanks(text, at, fault) > at))
        at = at < scan_skip_blanks(text, at, fault) ? scan_skip_blanks(text, at, fault) : at + 1;
    if (at < fault && (text[at] == '[' || text[at] == '{') &&
        scan_find_close(text, at, r->end, &open) >= fault)
        return at;
    return SIZE_MAX;
}

/* A quote in a line above, which the one at `content` closes. */
static bool explain_open_quote(struct yaml_reader *r, size_t content, size_t end)
{
    const char *text = r->source->text;
    size_t open;

    if (content >= end || (text[content] != '"' && text[content] != '\''))
        return false;
    open = open_quote_above(r, content);
    if (open >= content)
        return false;
    diag_error(r->cx, yaml_place(r, open, open + 1), "this quote is never closed");
    yaml_fault_mask(r, open, scan_line_end(text, open));
    return true;
}

/* Quoted text that does not end, or holds an escape that YAML does not know. */
static bool explain_quoted(struct yaml_reader *r, size_t fault, size_t content, size_t end)
{
    const char *text = r->source->text, *context = r->parser.context ? r->parser.context : "";
    const char *problem = r->parser.problem ? r->parser.problem : "";
    bool scanning = strcmp(context, "while scanning a quoted scalar") == 0;

    if (scanning && (strstr(problem, "end of stream") || strstr(problem, "document indicator"))) {
        diag_error(r->cx, yaml_place(r, fault, fault + 1), "this quote is never closed");
        if (strstr(problem, "document indicator"))
            yaml_fault_cut(r, yaml_offset(r, r->parser.problem_mark));
        if (!yaml_fault_mask(r, content, end))
            yaml_fault_cut(r, scan_line_begin(text, fault));
        return true;
    }
    if (!scanning && strcmp(context, "while parsing a quoted scalar") != 0)
        return false;
    fault = yaml_offset(r, r->parser.problem_mark);
    diag_error(r->cx, yaml_place(r, fault, fault + 1), "%s", problem_text(r, 0));
    diag_hint(r->cx, "in single quotes a backslash is a plain letter");
    fault = yaml_offset(r, r->parser.context_mark);
    if (!yaml_fault_mask(r, fault, scan_skip_quoted(text, fault, r->end, false)))
        yaml_fault_cut(r, scan_line_begin(text, fault));
    return true;
}

/* A ': ' at `fault` that ends no key, in a key or in a value. */
static bool explain_colon(struct yaml_reader *r, size_t fault, size_t content, size_t end)
{
    const char *text = r->source->text, *problem = r->parser.problem ? r->parser.problem : "";
    size_t colon, begin;

    if (strcmp(problem, "mapping values are not allowed in this context") != 0)
        return false;
    colon = key_colon(r, fault);
    if (colon < fault) {
        begin = scan_skip_spaces(text, scan_line_begin(text, fault));
        diag_error(r->cx, yaml_place(r, colon, colon + 1), "YAML takes ': ' for the end of a key");
        diag_hint(r->cx, "quote the key: %s", scan_quoted(&r->cx->arena, text + begin, fault - begin));
        yaml_fault_mask(r, begin, fault);
        return true;
    }
    if (fault <= content)
        return false;
    diag_error(r->cx, yaml_place(r, fault, fault + 1), "YAML takes ': ' for the end of a key");
    diag_hint(r->cx, "quote it: %s", scan_quoted_line(&r->cx->arena, text, content));
    yaml_fault_mask(r, content, end);
    return true;
}

/* A line that does not fit those above. */
static void explain_line(struct yaml_reader *r, size_t fault)
{
    const char *text = r->source->text;
    size_t line = scan_line_begin(text, fault), first = scan_skip_spaces(text, line),
           end = scan_line_end(text, fault);

    diag_error(r->cx, yaml_place(r, first, end), "%s", problem_text(r, text[first]));
    if (next_line_is_deeper(r, fault) || first == end) {
        yaml_fault_cut(r, line);
    } else { /* the line goes, and what follows is read */
        memset(r->yaml + line, ' ', end - line);
        r->complete = false;
    }
}

/* A fault outside brackets, at `fault` in a line whose value stands from `content` to `end`. */
static void explain_value(struct yaml_reader *r, size_t fault, size_t content, size_t end)
{
    const char *text = r->source->text, *problem = r->parser.problem ? r->parser.problem : "";
    const char *taken = content < end ? yaml_fault_meaning(text[content]) : NULL;

    if (yaml_fault_is_masked(r, content)) {
        diag_error(r->cx, yaml_place(r, content, end), "%s", problem_text(r, text[content]));
        yaml_fault_cut(r, scan_line_begin(text, fault));
    } else if (explain_quoted(r, fault, content, end)) {
        return;
    } else if (taken && fault >= content) {
        diag_error(r->cx, yaml_place(r, content, content + 1), "YAML takes '%c' at the start for %s",
                   text[content], taken);
        yaml_fault_hint(r, content, content_end(text, content));
        yaml_fault_mask(r, content, end);
    } else if (explain_colon(r, fault, content, end)) {
        return;
    } else if (strcmp(problem, "block sequence entries are not allowed in this context") == 0) {
        diag_error(r->cx, yaml_place(r, fault, fault + 1), "%s", problem_text(r, 0));
        diag_hint(
            r->cx,
            "write it in the next line, deeper than its key; a negative number has no blank behind its sign");
        yaml_fault_mask(r, fault, end);
    } else {
        explain_line(r, fault);
    }
}

void yaml_fault_explain(struct yaml_reader *r, size_t done, size_t flow)
{
    const char *text = r->source->text, *context = r->parser.context ? r->parser.context : "";
    size_t fault = yaml_offset(r, r->parser.problem_mark), content, end;

    if (r->parser.error == YAML_MEMORY_ERROR)
        arena_out_of_memory();
    if (flow == SIZE_MAX)
        flow = flow_ahead(r, done, fault);
    if (flow != SIZE_MAX) {
        explain_flow(r, flow, fault);
        return;
    }
    if (explain_document(r, fault, context))
        return;
    if (strcmp(context, "while scanning a quoted scalar") == 0 ||
        strcmp(context, "while scanning a simple key") == 0)
        fault = yaml_offset(r, r->parser.context_mark);
    if (fault >= r->end && fault > r->begin)
        fault--;
    content = line_content(text, fault);
    end = scan_line_end(text, fault);
    if (!explain_open_quote(r, content, end))
        explain_value(r, fault, content, end);
}
