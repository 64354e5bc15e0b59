/* text.h - a growing text; JSON strings; files that appear by rename, and only when they changed. */
#ifndef MODC_TEXT_H
#define MODC_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

struct text {
    struct arena *arena;
    char *data; /* always ends with 0 */
    size_t length, capacity;
    bool color; /* for a terminal: text_style does something */
};

/* How a terminal shows what follows. */
enum style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_QUIET,
    STYLE_ERROR,
    STYLE_WARNING,
    STYLE_NOTE,
    STYLE_CARET,
    STYLE_ADDED,
    STYLE_REMOVED,
    STYLE_CHANGED
};

struct text text_new(struct arena *arena);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t count);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_style(struct text *text, enum style style); /* nothing where the text is not for a terminal */
void text_styled(struct text *text, enum style style, const char *string); /* and plain again behind it */
void text_c_string(struct text *text, const char *string);                 /* as a literal of C */
const char *text_in_comment(struct arena *arena,
                            const char *string);              /* of C: what begins or ends one is apart */
void text_json_string(struct text *text, const char *string); /* with quotes and escapes */
void text_json_bytes(struct text *text, const char *bytes,
                     size_t count); /* the same; a 0 stands behind them */

/* The shortest decimal that reads back as the same double, in C's locale whatever LC_ALL says, as Python's
 * repr prints it: 0.1, 1e-05, 1.0, inf, nan. */
void text_double(struct text *text, double value);

bool text_ends_with(const char *text, const char *end);

/* In upper case, as macros are. */
const char *text_upper(struct arena *arena, const char *text);

/* A number of bytes for people: "512 bytes", "20 KB", "74.2 KB", "1.5 MB". */
const char *text_bytes(struct arena *arena, int64_t bytes);

/* Bytes of the UTF-8 character at `s` (which ends with 0), or 0 where the bytes are none. */
int text_utf8_length(const char *s);

/* FNV-1a, for schema hashes. */
uint64_t text_hash(const void *bytes, size_t count);
uint64_t text_hash_large(const void *bytes,
                         size_t count); /* another one, for megabytes; of words as they lie in memory */

/* Reads a whole file or, for "-", stdin. NULL and an error text in *error (arena) when that fails:
 * directories, unreadable files and files over `limit` bytes among the causes. */
struct source *source_read(struct cx *cx, const char *path, size_t limit, const char **error);

/* Behind an error about a file that has to be one: a hint where it is a pipe. */
void source_hint_pipe(struct cx *cx, const char *path);

/* A path is relative to the folder of the file that says it; for standard input, to the current folder. */
const char *source_beside(struct cx *cx, const struct source *source, const char *path);

/* What is made depends on the file: builds are told (--depfile). */
void source_depend(struct cx *cx, const char *path);

/* Both paths name one file, which is there. "-" is none. */
bool source_same(const char *path, const char *other);

/* Files to write, all or nothing: each goes to a temporary name in its folder; when all are there, those that
 * differ from the old file are renamed over it, equal ones are left alone. Paths are below `folder`. */
struct output_file {
    const char *path;
    const void *bytes;
    size_t length;
    const char *flags;   /* what a compiler for `machine` needs for it alone, or NULL */
    const char *machine; /* "x86-64"; NULL: as flags */
};

/* True, or false with *error set and every old file as it was. Creates `folder` (with parents) if needed. */
bool output_write(struct cx *cx, const char *folder, const struct output_file *files, int count,
                  const char **error);

/* The same with one file more, whose path is not below `folder`. */
bool output_write_beside(struct cx *cx, const char *folder, const struct output_file *files, int count,
                         const struct output_file *beside, const char **error);

#endif
