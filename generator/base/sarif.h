/* sarif.h - faults as a log of SARIF 2.1.0 (Static Analysis Results Interchange Format), for `--diagnostics=sarif`. */
#ifndef MODC_SARIF_H
#define MODC_SARIF_H

#include "base/diag.h"
#include "base/text.h"

/* An error or warning with the notes and hints that belong to it. */
struct sarif_result {
    const struct diag_item *items;
    int count;
};

/* One log of one run. `more`: what is said about those that are left out, or NULL. A hint is a line of the message, and where it
 * says what a word should be, a fix of it; a note is a related location, without a place a line of the message too. */
void sarif_print(struct text *out, const struct sarif_result *results, int count, const char *more,
                 bool failed);

#endif
