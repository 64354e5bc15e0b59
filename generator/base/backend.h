/* backend.h - what the machine that a model is emitted for means to the passes, the plan and emit: a record a device.
 *
 * What is a fact of the machine is a field here. What is done for it has a row in the room that does it: its ways to compute
 * ops (algorithms_of in plan/algorithm.h), how kernels and calls of them are written (printer_of in emit/printer.h). So a
 * second machine is a row in each of these tables and a folder of templates. */
#ifndef MODC_BACKEND_H
#define MODC_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

enum device { DEVICE_CPU, DEVICE_CUDA, DEVICE_COUNT };

/* How fast it is. They decide between ways that are far apart (is it worth a second thread?), not between close ones: for these
 * algorithms compare multiply-adds. */
struct cost_figures {
    double macs;      /* multiply-adds a second of a register tile, float32 */
    double values;    /* values a second that pass through a vector loop with a few operations */
    double functions; /* values of exp, tanh, erf and the like a second */
    double rows;      /* seconds for each row that ends with a value over the lanes of a vector */
    double turned;    /* seconds more for each value where rows are read across, as a transposing copy does */
    double near;      /* bytes a second, where all that a step touches fits near_bytes */
    double cache;     /* bytes a second, where it fits shared_bytes */
    double memory;    /* bytes a second otherwise */
    int64_t cache_bytes;  /* what is larger streams from the next cache */
    int64_t near_bytes;   /* what is smaller stays beside the core while something else is read */
    int64_t shared_bytes; /* what is larger streams from memory */
    double split;         /* seconds from which on a second thread pays for start and join */
};

struct backend {
    const char *name; /* as `device:` says it */
    bool
        apart; /* it has memory of its own, where parameters lie once more, and computes while the host goes on: note [mirror] in
                 * runtime/modc_device.h */
    const char *templates; /* its folder in templates/ */
    const char *suffix;    /* of templates and of what is emitted */
    bool vectors;          /* a thread computes with vectors; else many threads share the elements */
    int vector_bytes;      /* of the widest vector, of a row of packed panels, and of a line of the cache */
    int align;             /* of the blocks that a caller places, where no target says another */
    enum dtype computed[DTYPE_COUNT]; /* by the type that an element is stored in: what it is computed in */
    struct cost_figures cost;
    const char *copy, *copy_bools, *zeros; /* what copies bytes, makes bools of them, and sets them to 0 */
};

extern const struct backend backends[DEVICE_COUNT];

/* By its name; NULL: there is none. */
const struct backend *backend_find(const char *name);

enum device backend_device(const struct backend *backend);

/* An element that is stored in the type. */
struct element backend_element(const struct backend *backend, enum dtype stored);

/* How many elements of the type a vector computes with. */
int backend_lanes(const struct backend *backend, enum dtype dtype);

#endif
