/* modc_time.h - how long a call takes: the clock of `modc run --time` and of the benchmarks in bench/.
 *
 * POSIX, and for drivers alone: no model includes it, and bundles leave it out. */
#ifndef MODC_TIME_H
#define MODC_TIME_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdlib.h>
#include <time.h>

#ifndef MODC_TIME_CLOCK
#define MODC_TIME_CLOCK CLOCK_MONOTONIC
#define MODC_TIME_FINE 5e-6 /* seconds that are long against reading the clock */
#endif

/* Seconds of one call. A sample is the time of `inner` calls in a row, divided by their number. */
struct modc_times {
    double min, median;
    long samples, inner;
};

static inline double modc_now(void)
{
    struct timespec time;

    clock_gettime(MODC_TIME_CLOCK, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds that the threads of this program have had a processor. */
static inline double modc_cpu_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Whether others take processors away from what was timed: one thread had one for less than nine tenths of the time, or more
 * programs want to run than there are processors. Of several threads, which wait for each other, only the second is known. `load`
 * is the average of the last minute, with our own threads in it; negative: not known. */
static inline int modc_is_busy(double wall, double cpu, int threads, double load, int processors)
{
    return (threads <= 1 && wall > 0.0 && cpu < 0.9 * wall) ||
           load > (double)processors + (double)(threads > 1 ? threads : 1) - 0.5;
}

static inline int modc_compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the samples. */
static inline void modc_sum_up(double *samples, long count, long inner, struct modc_times *times)
{
    qsort(samples, (size_t)count, sizeof samples[0], modc_compare_times);
    times->min = samples[0];
    times->median = samples[count / 2];
    times->samples = count;
    times->inner = inner;
}

/* Times `call`, which returns 0, after a few calls that nobody counts: as many samples as fit into `seconds`, from `least`
 * to the `most` that `samples` has room for. Calls that are shorter than the clock is fine are measured several at a time;
 * one that takes five times `seconds` is not repeated where one sample is enough. With seconds 0 there are `most` samples
 * of one call each. Returns what a call returned that was not 0. */
static inline int modc_time(int (*call)(void *user), void *user, double seconds, long least, long most,
                            double *samples, struct modc_times *times)
{
    const double fine = MODC_TIME_FINE, started = modc_now();
    long inner = 1, count = most;
    int status = call(user);
    double first = modc_now() - started, before;

    if (status == 0 && least <= 1 && seconds > 0.0 && first > 5.0 * seconds) {
        samples[0] = first;
        modc_sum_up(samples, 1, 1, times);
        return 0;
    }
    for (int i = 0; i < 3 && status == 0; i++) {
        before = modc_now();
        if (i > 0 && before - started > 0.25 * seconds)
            break;
        status = call(user);
        before = modc_now() - before;
        first = before < first ? before : first;
    }
    if (seconds > 0.0) {
        if (first < fine)
            inner = (long)(fine / (first > 2e-8 ? first : 2e-8)) + 1;
        if (first * (double)inner * (double)count > seconds)
            count = (long)(seconds / (first * (double)inner));
        count = count < least ? least : count;
    }
    for (long i = 0; i < count && status == 0; i++) {
        before = modc_now();
        for (long k = 0; k < inner && status == 0; k++)
            status = call(user);
        samples[i] = (modc_now() - before) / (double)inner;
    }
    if (status == 0)
        modc_sum_up(samples, count, inner, times);
    return status;
}

#endif
