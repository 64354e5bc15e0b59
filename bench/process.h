/* process.h - for programs that time a model: seconds of the process, and an end where a call fails. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "modc.h"

static inline void check(enum modc_status status)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "%s\n", modc_status_text(status));
    exit(1);
}

/* Of the process: one thread computes, whatever else the machine does. */
static inline double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
