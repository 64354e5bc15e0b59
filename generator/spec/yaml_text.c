/* yaml_text.c - walks over the text of a spec. Apart from spec_yaml.c, since it knows neither libyaml nor nodes. */
#include "spec/yaml_text.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

bool scan_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool scan_ends_line(char c)
{
    return c == '\n' || c == '\r' || c == 0;
}

size_t scan_line_begin(const char *text, size_t at)
{
    while (at > 0 && !scan_ends_line(text[at - 1]))
        at--;
    return at;
}

size_t scan_line_end(const char *text, size_t at)
{
    while (!scan_ends_line(text[at]))
        at++;
    return at;
}

size_t scan_skip_spaces(const char *text, size_t at)
{
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

size_t scan_skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end) {
        if (scan_is_blank(text[at]))
            at++;
        else if (text[at] == '#' && (at == 0 || scan_is_blank(text[at - 1]) || strchr("[{,", text[at - 1])))
            at = scan_line_end(text, at);
        else
            break;
    }
    return at < end ? at : end;
}

size_t scan_skip_quoted(const char *text, size_t at, size_t end, bool python)
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

size_t scan_walk(const char *text, size_t at, size_t end, const char *stops, size_t *last, size_t *open)
{
    enum { limit = 256 };
    size_t opened[limit];
    int depth = 0;

    *last = at;
    while (at < end) {
        char c = text[at];

        if (depth == 0 && strchr(stops, c))
            break;
        if (scan_is_blank(c)) {
            at++;
            continue;
        }
        if (c == '#' && scan_skip_blanks(text, at, end) > at) {
            at = scan_skip_blanks(text, at, end);
            continue;
        }
        if (c == '"' || c == '\'') {
            at = scan_skip_quoted(text, at, end, depth > 0 && text[opened[depth - 1]] == '(');
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

size_t scan_find_close(const char *text, size_t at, size_t end, size_t *open)
{
    size_t last, close = scan_walk(text, at + 1, end, text[at] == '[' ? "]" : "}", &last, open);

    if (close >= end && *open == SIZE_MAX)
        *open = at;
    return close;
}

const char *scan_quoted(struct arena *arena, const char *text, size_t length)
{
    struct text out = text_new(arena);
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

const char *scan_quoted_line(struct arena *arena, const char *text, size_t at)
{
    size_t last, open;

    scan_walk(text, at, scan_line_end(text, at), "", &last, &open);
    return scan_quoted(arena, text + at, last - at);
}
