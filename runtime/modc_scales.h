/* modc_scales.h - scales that a weight came with from a file: what packing asks, in emitted code and on a GPU. Apart from modc.h, since
 * vectors and kernels take it without that. */
#ifndef MODC_SCALES_H
#define MODC_SCALES_H

#include <stdbool.h>
#include <stdint.h>

/* Of a weight that lies in a parameter, a matrix of rows of `width`: note [integers] in modc.h. */
struct modc_scales {
    const void *first; /* of the parameter's; NULL: there are none */
    int64_t at;        /* elements of the parameter in front of the weight's first */
    int width;
    int group, groups; /* elements that share a scale; scales of a row of outputs */
    bool transposed;   /* rows of outputs are columns of the matrix */
};

#endif
