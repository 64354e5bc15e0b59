/* options.h - reads the command line. The words themselves are in the table of help.c. */
#ifndef MODC_OPTIONS_H
#define MODC_OPTIONS_H

#include "base/options.h"

/* The option of `run` of this name, or NULL. */
const struct run_option *options_run(const struct options *options, const char *name);

/* Reads the command line. False after a fault that was said through cx (*status is the exit status then). */
bool options_parse(struct cx *cx, int count, char **words, struct options *options, int *status);

#endif
