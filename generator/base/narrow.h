/* narrow.h - numbers that are kept in fewer bits than they are computed with: as what, and what is kept beside them. */
#ifndef MODC_NARROW_H
#define MODC_NARROW_H

#include "base/dtype.h"

/* note [scales]
 * Integers stand for multiples of a scale, a float32 that lies in a tensor of its own, one for neighbours that are rounded together:
 * the largest of their sizes over `most`. What is kept is the nearest integer, of two the even one, of what is further away the largest
 * or smallest, of NaN 0 (modc_f32_to_int8). Where none is as large as `most` times the smallest normal float32, the scale is 0, and
 * so is what they stand for; where one is infinite or NaN, so is the scale, and all of them read as NaN. */
struct narrow {
    const char *name;   /* as specs have it */
    enum dtype dtype;   /* of an element */
    int most;           /* of an integer, either way: note [scales]; 0: it is a float by itself */
    const char *vector; /* what functions of such elements begin with: modc_half, modc_int8 */
};

enum { NARROW_COUNT = 3 };

extern const struct narrow narrows[NARROW_COUNT];

/* By the name of a dtype, as dtype_find takes it; NULL: there is none. */
const struct narrow *narrow_find(const char *name);

/* By the type of an element that may be what is kept of float32 ones; NULL: it may not. */
const struct narrow *narrow_of(enum dtype dtype);

#endif
