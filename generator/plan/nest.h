/* nest.h - the loop-nest normaliser that map, reduce, write and copy share.
 *
 * A nest is a set of dimensions with, for each operand, a stride per dimension in elements (0: broadcast). It is
 * brought to the smallest equal form: axes of size 1 dropped, axes merged that are contiguous in all operands, and the
 * axis that is contiguous in most operands innermost where order is free. */
#ifndef MODC_NEST_H
#define MODC_NEST_H

#include "base/dim.h"
#include "base/dtype.h"
#include "ops/ops.h"

struct nest_operand {
    enum dtype dtype;
    const struct dim *strides[MAX_DIMS];
};

struct nest {
    int ndim;
    const struct dim *dims[MAX_DIMS];
    bool reduced
        [MAX_DIMS]; /* axes that a reduction sums over: never merged with or moved across kept ones' merging */
    struct nest_operand *operands; /* 0 is the output (stride 0 on reduced axes) */
    int operand_count;
    bool normal;  /* its form stays as it is */
    bool reorder; /* reduced axes may change places among themselves: all reductions but argmax and argmin */
};

/* In place. Kept axes come before reduced ones, except that a kept axis that is contiguous in the output and all
 * inputs that have it stays innermost when the reduced axes are not contiguous (then the reduction runs over vectors
 * of outputs). */
void nest_normalise(struct arena *arena, struct nest *nest);

#endif
