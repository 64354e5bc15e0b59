/* options.h - what the command line asked for, as every room may read it. commands/options.h reads it. */
#ifndef MODC_BASE_OPTIONS_H
#define MODC_BASE_OPTIONS_H

#include <stdbool.h>

#include "base/diag.h"

enum command {
    COMMAND_GENERATE,
    COMMAND_RUN,
    COMMAND_CHAT,
    COMMAND_CHECK,
    COMMAND_SUMMARY,
    COMMAND_DIFF,
    COMMAND_QUANTIZE,
    COMMAND_TOKENIZE,
    COMMAND_LAYERS,
    COMMAND_SCHEMA,
    COMMAND_COMPLETION,
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_COUNT
};

/* Exit statuses (design 3). */
enum {
    EXIT_DONE,
    EXIT_SPEC,
    EXIT_COMMAND_LINE,
    EXIT_FILE,
    EXIT_DIFFER,
    EXIT_COMPILER,
    EXIT_FAULT,
    EXIT_DEVICE,
    EXIT_KERNELS
};

struct setting { /* --set NAME=VALUE */
    const char *name, *value;
};

/* An option of `run` that the driver takes, as it was given. */
struct run_option {
    const char *name, *value; /* value NULL: a flag */
    bool reads, writes;       /* value is a file */
};

struct target;

struct options {
    enum command command;
    const char *argument;            /* SPEC, the NAME of layers and help, a shell; NULL: none */
    const char *second;              /* NEW of diff */
    const char *out_dir;             /* -o; of quantize a file */
    const char *weights;             /* generate, check, summary: to be embedded; quantize */
    const char *inputs, *budget;     /* quantize: a file of tensors; a number */
    const char *ranges;              /* quantize: a file to write */
    const char *weights_as;          /* generate: incbin, c; NULL: incbin */
    const char *bundle;              /* generate: cmake, arduino; NULL: no runtime beside the model */
    const char *depfile, *deptarget; /* generate: for make */
    const char *dump;                /* room, with .json */
    bool explain, validate, line_numbers, measure, repr;
    bool backward; /* as the spec's `backward: true` */
    enum diag_style diagnostics;
    const char *format; /* diff: text, json, markdown; layers: text, json; NULL: text */
    bool exit_code;     /* diff */
    bool manual;        /* help: --man */
    const char *color;  /* auto, always, never; NULL: auto */
    struct setting *settings;
    int setting_count;
    const char **plans; /* 'conv=direct': forced algorithms */
    int plan_count;
    int split; /* --plan split=N: slices of every step that can be split; 0: by cost, for the spec's threads */
    const char *dtype, *device, *model;
    const char *isa;             /* NULL: all that there are */
    int isa_widths;              /* the vectors of isa: the sum of their lengths in floats, without 1 */
    bool dispatch;               /* several instruction sets in one library: dispatch.h */
    const struct target *target; /* NULL: none was named; see target_of */
    const char *emulate;         /* run: plain, check; NULL: on a GPU */
    const char *keep;            /* run: folder of sources and program */
    const char *text, *ids;      /* tokenize: NULL: lines of standard input */
    bool no_template, all_text, keep_special;
    const char *tokenizer, *template; /* in the place of the spec's */
    const char *bodies;               /* run: a file of C with the bodies of Externs */
    struct run_option *run_options;
    int run_option_count;
};

#endif
