/* cpu_rows.h - what rows of the processor's templates ask of ops in common: extents, types, tiles. */
#ifndef MODC_CPU_ROWS_H
#define MODC_CPU_ROWS_H

#include "plan/algorithm.h"

static inline int64_t upper(const struct dim *dim)
{
    return dim_upper(dim);
}

/* In what a value is computed, the bytes of one that is not stored yet, and whether storing it rounds. */
static inline enum dtype computed_in(const struct value *value)
{
    return backend_element(&backends[DEVICE_CPU], value->dtype).computed;
}

static inline int computed_bytes(const struct value *value)
{
    return dtype_rows[computed_in(value)].bytes;
}

static inline bool is_narrow(const struct value *value)
{
    return computed_in(value) != value->dtype;
}

/* ---- tiles: what a template deals out to threads ------------------------------------ */

enum { TILE_ROWS = 14, TILE_VECTORS = 2 };

static inline int64_t tiles_of(int64_t count, int64_t tile)
{
    return (count + tile - 1) / tile;
}

/* Of the first `count` dimensions together: those that are constants, where they give a few tiles to each of two threads,
 * since a call may have small sizes; else all. */
static inline int64_t dealt(const struct value *y, int count)
{
    int64_t fixed = 1, all = 1, extent;

    for (int i = 0; i < count; i++) {
        fixed *= dim_is_const(y->dims[i], &extent) ? extent : 1;
        all *= upper(y->dims[i]);
    }
    return fixed >= 4 ? fixed : all;
}

/* Columns of a panel of packed weights. */
static inline int64_t panel(const struct op *op)
{
    return backend_lanes(&backends[DEVICE_CPU], computed_in(op->outputs[0]));
}

#endif
