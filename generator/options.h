/* options.h - what the command line asked for. */
#ifndef MODC_OPTIONS_H
#define MODC_OPTIONS_H

#include <stdbool.h>

enum command {
    COMMAND_GENERATE, COMMAND_RUN, COMMAND_CHECK, COMMAND_SUMMARY, COMMAND_LAYERS, COMMAND_HELP, COMMAND_VERSION,
    COMMAND_COUNT
};

/* Exit statuses (design 3). */
enum {
    EXIT_DONE, EXIT_SPEC, EXIT_COMMAND_LINE, EXIT_FILE, EXIT_DIFFER, EXIT_COMPILER, EXIT_FAULT, EXIT_DEVICE
};

struct setting { /* --set NAME=VALUE */
    const char *name, *value;
};

struct options {
    enum command command;
    const char *argument; /* SPEC, or the NAME of layers and help */
    const char *out_dir;  /* -o */
    const char *weights;
    const char *dump; /* room, with .json */
    bool explain, validate, line_numbers, bundle, json_diagnostics;
    struct setting *settings;
    int setting_count;
    const char **plans; /* 'conv=direct': forced algorithms */
    int plan_count;
    const char *dtype, *isa;
    /* run: handed to the driver */
    const char *keep;
    const char **run_args;
    int run_arg_count;
};

#endif
