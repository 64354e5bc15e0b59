/* diag.h - what is wrong with a spec, said with place, caret and hint; and struct cx, which every room gets. */
#ifndef MODC_DIAG_H
#define MODC_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

/* A text that places point into: a spec file, or the body of a row of the layer table. */
struct source {
    const char *name; /* as the user gave it */
    const char *text; /* ends with 0 */
    size_t length;
    const struct loc *from; /* where the spec that extends this one says so; NULL: none does */
};

/* line and column count from 1, columns in characters (not bytes); length in characters, at least 1. */
struct loc {
    const struct source *source; /* NULL: no place */
    int line, column, length;
    unsigned offset; /* in bytes, in source->text */
};

enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE, DIAG_HINT };

enum diag_style { DIAG_PLAIN, DIAG_COLOR, DIAG_JSON, DIAG_SARIF };

struct diag_item {
    enum diag_level level;
    struct loc loc;
    const char *text;
    const char *format;         /* of the text */
    const char *word, *instead; /* of a hint that says what a word should be; or NULL */
};

struct options; /* options.h: what the command line asked for */

/* The compilation: arena, diagnostics, options. There are no other globals. */
struct cx {
    struct arena arena;
    struct diag_item *items; /* in the order they were said */
    int item_count, errors, warnings;
    struct diag_item *hidden; /* errors over the limit: known, so that each is counted once */
    int hidden_count;
    /* text not NULL: what is said now is said of one variant of several, as this note of every error says. A place
     * where there is an error already gets no second one. */
    struct {
        struct loc loc;
        const char *text;
    } variant;
    bool dropping; /* the last error was said before, or was one too many: so its notes and hints go too */
    const struct options *options;
    const char
        *model; /* what its macros and functions begin with, once the spec has said it; see emitted.h */
    bool
        numbered; /* numbers in paths are set apart in C, since two paths would have one name; see emitted_flat */
    int spec_room; /* while the spec is read: 1 and how many more expressions it may hold; else 0 */
    struct parsed *parsed[64];       /* texts of the tables; eval_tables.c's */
    struct elementwise_built *built; /* lines of elementwise functions as dags; elementwise_build.c's */
    const char **read;               /* files of tensors that values of the spec are from */
    int read_count;
    bool unreadable;  /* a file that the spec names cannot be read, which was said: status 3 */
    double evaluated; /* what computing constants has cost so far; see op_interpret */
    int faults;       /* errors, those that were said before too */
    struct {
        const struct source *source;
        const char *text; /* of the source: its memory may be used again for another */
        size_t offset;
        int line, column;
    } place; /* where diag_loc looked last: counting lines goes on from there */
};

#define DIAG_MAX_ERRORS 20   /* further errors are counted, not printed */
#define DIAG_MAX_HIDDEN 1000 /* further ones are not even counted */

/* An error or warning; notes and hints that follow belong to it. The same text at the same place is said once
 * (and its notes and hints are dropped with it). */
void diag_error(struct cx *cx, struct loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(struct cx *cx, struct loc loc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(struct cx *cx, struct loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_hint(struct cx *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));

int diag_errors(const struct cx *cx);

/* The same with those that were said before: what runs again for another mode has its faults again. */
int diag_faults(const struct cx *cx);

/* Some error was said at this very place: what looks for hints need not look again. */
bool diag_said(const struct cx *cx, struct loc loc);

/* How much was said, and back to there: what was said since is forgotten. */
struct diag_mark {
    int items, errors, warnings, hidden, faults;
};
struct diag_mark diag_mark(const struct cx *cx);
void diag_rewind(struct cx *cx, struct diag_mark mark);

/* No further error is kept: what they would say need not be found. */
bool diag_is_full(const struct cx *cx);

/* The known spelling nearest to `name` (edit distance at most a third of its length), or NULL. */
const char *diag_nearest(const char *name, const char *const *known, int count);

/* Adds the hint "did you mean '...'?" if there is a near spelling; else nothing. */
void diag_hint_nearest(struct cx *cx, const char *name, const char *const *known, int count);

/* Prints everything said so far: `file:line:col: error: ...`, the line, a caret with tildes, hints, and where the file
 * is extended, for a terminal in colours; or one JSON object a line. Errors are sorted by place within one source,
 * keeping the order of equal places. SARIF is one log of all, also where nothing was said. */
void diag_print(const struct cx *cx, FILE *file, enum diag_style style);

/* Says in `cx` what was said in `other`, whose memory may go then. */
void diag_take_over(struct cx *cx, const struct cx *other);

/* Part of a place: `length` characters from `skip` bytes behind its start (ASCII only). */
struct loc loc_part(struct loc loc, int skip, int length);

/* The place from the first to the last, where both are in one line of one source; else the first. */
struct loc loc_join(struct loc first, struct loc last);

/* Line, column for a byte range of a source. */
struct loc loc_at(const struct source *source, size_t offset, size_t bytes);

/* The same as loc_at, but counts lines from the place asked for last, so that reading a long file stays linear. */
struct loc diag_loc(struct cx *cx, const struct source *source, size_t offset, size_t bytes);

#endif
