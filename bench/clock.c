/* clock.c - the C side of the benchmarks: times any peer that is a function of one pointer, warm and with cold caches, and
 * measures what the machine can do.
 *
 * Loaded by common.py. Figures of the machine are those of one core: multiply-adds in registers, and reading from a
 * block that is read again and again, so that its size says which cache it comes from. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

static clockid_t clock_of_peers = CLOCK_MONOTONIC;
static double fine_of_peers = 5e-6;
#define MODC_TIME_CLOCK clock_of_peers
#define MODC_TIME_FINE fine_of_peers
#include "modc_time.h"

#include <stddef.h>

#if defined __AVX512F__
#define LANES 16
#elif defined __AVX__
#define LANES 8
#else
#define LANES 4
#endif
typedef float vector __attribute__((vector_size(LANES * 4)));

enum { SAMPLES = 100000, STREAMS = 12 };
static double samples[SAMPLES];

/* ---- peers ------------------------------------------------------------------------------------------------- */

/* Lets the clock stand while another thread has the core. Reading it takes a system call, so samples are longer. */
void bench_use_cpu_time(void)
{
    clock_of_peers = CLOCK_THREAD_CPUTIME_ID;
    fine_of_peers = 1e-4;
}

/* See modc_time. */
int bench_time(int (*call)(void *user), void *user, double seconds, struct modc_times *times)
{
    return modc_time(call, user, seconds, 1, SAMPLES, samples, times);
}

/* Replaces what the caches hold, up to a last level of half of `bytes`, by lines of `block` (which are written, so that
 * they are this core's own). */
void bench_flush(char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        block[i]++;
}

/* `count` calls, each after a flush. */
int bench_time_cold(int (*call)(void *user), void *user, long count, char *block, size_t bytes,
                    struct modc_times *times)
{
    int status = 0;

    count = count < SAMPLES ? count : SAMPLES;
    for (long i = 0; i < count && status == 0; i++) {
        bench_flush(block, bytes);

        double before = modc_now();

        status = call(user);
        samples[i] = modc_now() - before;
    }
    if (status == 0)
        modc_sum_up(samples, count, 1, times);
    return status;
}

/* ---- the machine ------------------------------------------------------------------------------------------- */

/* Chains of multiply-adds, as many as hide the latency of two units. The values stay near 1. */
static float multiply_add(long steps)
{
    vector sums[STREAMS], factor = {0}, term = {0};
    float total = 0.0f;

    factor += 0.999f;
    term += 0.001f;
    for (int k = 0; k < STREAMS; k++)
        sums[k] = term * (float)k;
    for (long i = 0; i < steps; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < STREAMS; k++)
            sums[k] = sums[k] * factor + term;
    }
    for (int k = 0; k < STREAMS; k++)
        total += sums[k][0];
    return total;
}

static volatile float kept; /* so that what is measured is computed */

/* Floating-point operations a second, the best of some short runs. */
double bench_peak(void)
{
    const long steps = 20000;
    double best = 0.0;

    for (int i = 0; i < 10; i++) {
        double before = modc_now();

        kept = multiply_add(steps);

        double rate = 2.0 * LANES * STREAMS * (double)steps / (modc_now() - before);

        best = rate > best ? rate : best;
    }
    return best;
}

static float read_all(const vector *block, size_t count)
{
    vector sums[8] = {{0}};
    float total = 0.0f;

    for (size_t i = 0; i + 8 <= count; i += 8) {
#pragma GCC unroll 8
        for (size_t k = 0; k < 8; k++)
            sums[k] += block[i + k];
    }
    for (int k = 0; k < 8; k++)
        total += sums[k][0];
    return total;
}

/* Bytes a second that reading `bytes` of the block gives (vectors, so the block is aligned to 64), the best of `times`
 * passes after a first one. */
double bench_bandwidth(const void *block, size_t bytes, int times)
{
    const vector *vectors = block;
    size_t passes = bytes < ((size_t)1 << 22) ? ((size_t)1 << 22) / bytes : 1;
    double best = 0.0;

    kept = read_all(vectors, bytes / sizeof(vector));
    for (int i = 0; i < times; i++) {
        double before = modc_now();

        for (size_t k = 0; k < passes; k++) {
            kept = read_all(vectors, bytes / sizeof(vector));
            __asm__ volatile("" ::: "memory"); /* so that every pass reads */
        }

        double rate = (double)(passes * bytes) / (modc_now() - before);

        best = rate > best ? rate : best;
    }
    return best;
}
