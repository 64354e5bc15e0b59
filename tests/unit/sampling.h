/* sampling.h - the files of tests/sampling, for tests of the sampler: lines of fields, options as text, numbers. */
#ifndef TESTS_UNIT_SAMPLING_H
#define TESTS_UNIT_SAMPLING_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modc_sampling.h"

enum { MAX_FIELDS = 8, MAX_IDS = 64, MAX_VOCABULARY = 64 };

struct case_line {
    char text[4096];
    char *fields[MAX_FIELDS];
    int count, number; /* number: of the line */
};

/* The next line that is a case, cut at its bars; spaces around fields are gone. */
static inline bool read_case(FILE *file, struct case_line *c)
{
    do {
        if (!fgets(c->text, sizeof c->text, file))
            return false;
        c->number++;
    } while (c->text[0] == '#');
    c->text[strcspn(c->text, "\n")] = '\0';
    c->count = 0;
    for (char *at = c->text; at && c->count < MAX_FIELDS;) {
        char *bar = strchr(at, '|'), *end;

        if (bar)
            *bar = '\0';
        at += strspn(at, " ");
        for (end = at + strlen(at); end > at && end[-1] == ' ';)
            *--end = '\0';
        c->fields[c->count++] = at;
        at = bar ? bar + 1 : NULL;
    }
    return true;
}

static inline int read_ids(const char *at, int64_t *ids)
{
    int count = 0;

    for (char *end; *at && count < MAX_IDS; at = end + strspn(end, " "))
        ids[count++] = strtoll(at, &end, 10);
    return count;
}

/* Numbers with spaces between them; - is -infinity. */
static inline int read_scores(const char *at, float *scores)
{
    int count = 0;

    while (*at && count < MAX_VOCABULARY) {
        if (at[0] == '-' && (at[1] == ' ' || at[1] == '\0')) {
            scores[count++] = -INFINITY;
            at++;
        } else {
            char *end;

            scores[count++] = strtof(at, &end);
            at = end;
        }
        at += strspn(at, " ");
    }
    return count;
}

/* Of a list with ; between, over the defaults: with lists in `memory`. False: one of them is wrong, as `message` says. */
static inline bool read_options(char *at, struct modc_generation_options *options,
                                struct modc_option_memory *memory, char *message, size_t room)
{
    modc_generation_defaults(options);
    while (*at) {
        char *end = at + strcspn(at, ";"), *equal = strchr(at, '=');
        const bool last = *end == '\0';

        *end = *equal = '\0';
        if (modc_generation_set(options, at, equal + 1, memory, message, room) != MODC_OK)
            return false;
        at = last ? end : end + 1;
    }
    return true;
}

#endif
