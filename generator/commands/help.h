/* help.h - the one table of commands and options: the command line is read by it, and `modc help` printed from it. */
#ifndef MODC_HELP_H
#define MODC_HELP_H

#include <stddef.h>

#include "base/text.h"
#include "commands/options.h"

struct command_row {
    const char *name;
    const char *argument; /* "SPEC", "[NAME]", "OLD NEW", "a|b"; NULL: none. In brackets: may be left out */
    const char *text;     /* one line */
    const char *more;     /* paragraphs for `modc help NAME`, or NULL */
};

extern const struct command_row command_rows[COMMAND_COUNT];

struct environment_row {
    const char *name, *text;
};

extern const char help_purpose[];
extern const char *const exit_rows[]; /* by status: what it means */
extern const int exit_row_count;
extern const struct environment_row environment_rows[]; /* a row without name ends */

enum option_kind {
    OPTION_FLAG,     /* a bool */
    OPTION_TEXT,     /* a const char * */
    OPTION_CHOICE,   /* the same, one of the words of `value` */
    OPTION_REAL,     /* the same, a number that is not negative */
    OPTION_DTYPE,    /* the same, a type that a model computes in */
    OPTION_DUMP,     /* the same, a room */
    OPTION_SET,      /* NAME=VALUE, gathered */
    OPTION_PLAN,     /* OP=ALGORITHM, gathered */
    OPTION_DEVICE,   /* the same, a device as the spec has it */
    OPTION_TARGET,   /* see target.h */
    OPTION_ISA,      /* names of instruction sets */
    OPTION_DISPATCH, /* a bool; with values: which one the driver takes, handed on */
    OPTION_BACKWARD, /* a bool, handed on to the driver too */
    OPTION_EARLY,    /* a choice that was looked up before all others: see options_parse */
    /* The driver's, handed on in their order: */
    OPTION_RUN_FLAG,
    OPTION_RUN_TEXT,
    OPTION_RUN_READ,  /* a file that must be readable */
    OPTION_RUN_WRITE, /* a file that must be writable */
    OPTION_RUN_WHOLE, /* an integer that is not negative */
    OPTION_RUN_REAL   /* a number that is not negative */
};

struct option_row {
    const char *name, *value; /* "--set", "NAME=VALUE"; choices: "text|json"; NULL: a flag. */
    unsigned commands;        /* bits 1 << enum command */
    enum option_kind kind;
    size_t field;     /* FLAG, TEXT and its like: offset in struct options */
    const char *text; /* of `modc help COMMAND`; NULL: not shown */
    bool optional;    /* --bundle, --bundle=arduino: without a value it is the first of the choices */
};

extern const struct option_row option_rows[];
extern const int option_row_count;

/* NULL: there is none. */
const struct command_row *command_find(const char *name);
const struct option_row *option_find(enum command command, const char *name);

/* Names for hints. */
const char *const *command_names(struct cx *cx, int *count);
const char *const *option_names(struct cx *cx, enum command command, int *count);

/* "text|json" as its words; a text without '|' is one. */
const char *const *help_choices(struct cx *cx, const char *value, int *count);

/* What can stand behind an option, as far as that is known; none for files, names and numbers. */
const char *const *option_values(struct cx *cx, const struct option_row *row, int *count);

/* "check SPEC [OPTION]..." */
const char *help_usage(struct arena *arena, enum command command);

/* "--bundle[=cmake|arduino]" of an option whose value is optional; else its name. */
const char *help_option_name(struct arena *arena, const struct option_row *row);

/* What `modc help` prints, or, with a row, what `modc help COMMAND` does. */
void help_print(struct text *text, const struct command_row *row);

#endif
