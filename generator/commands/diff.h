/* diff.h - `modc diff OLD NEW`: what a reviewer wants to know of a change of a spec. diff.c compares, diff_print.c
 * prints. */
#ifndef MODC_DIFF_H
#define MODC_DIFF_H

#include "commands/summary.h"

enum diff_kind { DIFF_ADDED, DIFF_REMOVED, DIFF_CHANGED, DIFF_MOVED };

struct diff_line {
    enum diff_kind kind;
    const char *name;      /* in OLD; ADDED: in NEW */
    const char *new_name;  /* MOVED: in NEW; else NULL */
    const char *old, *new; /* what it was and is: "Linear(64, 64)", "float32 (batch, 4)"; NULL: not there */
    bool same;             /* MOVED: and otherwise as it was */
};

enum diff_part {
    DIFF_SETTINGS,
    DIFF_CONSTANTS,
    DIFF_SIZES,
    DIFF_INPUTS,
    DIFF_MODULES,
    DIFF_STATEMENTS,
    DIFF_ENTRIES,
    DIFF_OUTPUTS,
    DIFF_KEYS,
    DIFF_TENSORS,
    DIFF_PARTS
};

struct diff_section {
    struct diff_line *lines; /* in the order of the spec */
    int count;
};

/* A line of summary.h's totals; negative: that side has none. */
struct diff_number {
    enum summary_kind kind;
    const char *name;
    double old, new;
};

/* Why a file of OLD does not load into NEW: keys, by cause. */
struct diff_keys {
    const char **names;
    int count;
};

struct diff {
    struct cx *cx;
    const char *model; /* of NEW */
    const char *paths[2];
    struct diff_section sections[DIFF_PARTS];
    struct diff_number *numbers;
    int number_count;
    struct diff_keys missing, unexpected; /* refused by a strict load only */
    struct diff_keys shapes, dtypes;      /* refused always */
    struct diff_keys ties;                /* refused unless the file has the same under another key too */
    bool differs;
};

/* `old` and `new` belong to compilations of their own, which outlive the result; it lies in cx. */
struct diff *diff_make(struct cx *cx, const struct summary *old, const struct summary *new,
                       const char *const paths[2]);

extern const char *const diff_part_names[DIFF_PARTS]; /* of the JSON */

/* `format`: "text" (NULL too), "markdown" or "json" (docs/diff.md). */
void diff_print(struct text *text, const struct diff *diff, const char *format);

/* One line for a commit message: "trunk.2: Linear(64, 64) -> Linear(64, 128); +4.2 k parameters, +8 % MACs". */
const char *diff_summary(const struct diff *diff);

#endif
