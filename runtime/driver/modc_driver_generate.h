/* modc_driver_generate.h - what modc run --generate and modc chat share. */
#ifndef MODC_DRIVER_GENERATE_H
#define MODC_DRIVER_GENERATE_H

#include "modc_driver.h"

#include "modc_generation.h"

enum { OPTION_LISTS = 1 << 16 }; /* bytes of what options list */

/* What a response says, of rows that are printed at the end. */
struct said {
    char *text;
    size_t bytes, room;
};

/* A generator, its options, and the prompts as ids. */
struct generation {
    const struct modc_generation *table;
    struct modc_generator *gen;
    struct modc_generation_options options;
    int64_t *ids;
    int *offsets;
    int rows;   /* responses */
    bool texts; /* responses are told as text */
    struct modc_responses responses;
    struct said *said; /* rows */
    void *beams, *lists;
    int told; /* the row whose text is printed as it comes; -1: none */
};

double modc_driver_seconds(void *user);

/* Those of the spec, then of the command line. */
int modc_driver_read_options(struct run *run, struct generation *g);

/* The generator. */
int modc_driver_start(struct run *run, struct generation *g);

/* Says why it does not write; option: whose value it may be. */
int modc_driver_write_failed(const struct run *run, const struct modc_generator *gen, const char *option,
                             enum modc_status status);

int modc_driver_encode(const struct run *run, const struct modc_generation *table, const char *text,
                       size_t length, unsigned flags, int64_t *ids, int *count, int room);

void modc_driver_free_generation(struct generation *g);

#endif
