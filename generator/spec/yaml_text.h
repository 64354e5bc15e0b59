/* yaml_text.h - walks over the text of a spec: lines, blanks, quotes, brackets. Private to spec_yaml.c and yaml_faults.c, which
 * look at what libyaml does not show. */
#ifndef MODC_YAML_TEXT_H
#define MODC_YAML_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

bool scan_is_blank(char c);
bool scan_ends_line(char c);

size_t scan_line_begin(const char *text, size_t at);
size_t scan_line_end(const char *text, size_t at);
size_t scan_skip_spaces(const char *text, size_t at);
/* Blanks and comments. A comment has a blank before it. */
size_t scan_skip_blanks(const char *text, size_t at, size_t end);
/* Behind the closing quote; `end` where there is none. In YAML's '...' a backslash is a letter, in
 * Python's not. */
size_t scan_skip_quoted(const char *text, size_t at, size_t end, bool python);
/* Walks from `at` to the first of `stops` that no bracket, quote or comment holds, else to `end`. *last is
 * then behind the last character that is neither blank nor comment, *open at the innermost bracket left
 * open, or SIZE_MAX. */
size_t scan_walk(const char *text, size_t at, size_t end, const char *stops, size_t *last, size_t *open);
/* The bracket that closes the one at `at`, or `end`, with the innermost one left open in *open. */
size_t scan_find_close(const char *text, size_t at, size_t end, size_t *open);

/* From `at` to the end of the line, comments excluded, as a quoted scalar. */
const char *scan_quoted_line(struct arena *arena, const char *text, size_t at);

/* Text as a quoted scalar. */
const char *scan_quoted(struct arena *arena, const char *text, size_t length);

#endif
