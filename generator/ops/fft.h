/* fft.h - how a discrete Fourier transform is divided into passes, and the numbers that these multiply by. */
#ifndef MODC_OPS_FFT_H
#define MODC_OPS_FFT_H

#include "ops/ops.h"

enum { FFT_MAX_PASSES = 32, FFT_MAX_RADIX = 13 };

/* `values` complex values make a row; n1 x n2 of them where it is a matrix (else n1 is 0), whose rows and, transposed,
 * columns lie ld1 and ld2 elements apart. halves: a real row of twice as many, as pairs. */
struct fft_plan {
    int64_t values, n1, n2, ld1, ld2;
    bool halves;
    int64_t second_at, turns_at, halves_at, factors,
        passes; /* where in the factors parts begin; how many numbers there are */
};

/* inner: so many values lie behind the axis; line: elements of 64 bytes. */
struct fft_plan fft_plan_of(enum fft_kind kind, int64_t length, int64_t inner, int64_t line);

/* The factors and passes that templates/c/fft.c reads. */
void fft_factors(const struct fft_plan *plan, union scalar *factors);
void fft_passes(const struct fft_plan *plan, union scalar *passes);

bool fft_is_smooth(int64_t length); /* no prime factor is above FFT_MAX_RADIX */

#endif
