/* modc_sampling_parts.h - what the files of the sampler share; callers include modc_sampling.h or modc_beams.h. */
#ifndef MODC_RUNTIME_SAMPLING_PARTS_H
#define MODC_RUNTIME_SAMPLING_PARTS_H

#include <math.h>
#include <string.h>

#include "modc_sampling.h"
#include "modc_simd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modc_sampling.c ---------------------------------------------------------------------------------------- */

struct modc_ranked {
    float key;
    int32_t index;
};

/* A heap whose root has the largest key; of equal ones the highest index, or the lowest. What is popped goes behind the rest. */
void modc_heap_make(struct modc_ranked *heap, int count, bool high_index);
struct modc_ranked modc_heap_pop(struct modc_ranked *heap, int *count, bool high_index);

/* Holds the `most` best of those that are offered, of equal ones those with the lowest index. Keys stand there with the sign turned, so
 * that the root is the worst; popped with high_index, the best come to stand in front. */
void modc_heap_offer(struct modc_ranked *heap, int *count, int most, float key, int index);

/* Largest score; false: a row without probabilities (note [rows]). */
bool modc_row_max(const float *scores, int vocabulary, float *max);
/* Sum of exp(score - max). */
double modc_row_sum(const float *scores, int vocabulary, float max);

#ifdef __cplusplus
}
#endif

#endif
