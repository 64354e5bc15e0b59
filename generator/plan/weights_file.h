/* weights_file.h - a file of weights, read by the runtime's own reader over the tables that an emitted model would have: so what modc
 * accepts and says is what the model would accept and say; and files in which weights are integers with scales. */
#ifndef MODC_WEIGHTS_FILE_H
#define MODC_WEIGHTS_FILE_H

#include "base/storage.h"
#include "plan/weights.h"

/* note [scaled files]
 * A weight X of n rows, each of k numbers for one output, is in a safetensors file either floats or two tensors: X, its integers, I8
 * (n, k), or of four bits U8 (n, ceil(k / 2)): in a byte the even step along k in the lower four bits, the odd one in the upper,
 * each plus 8; and X_scale, of the storage's type, (n) where a row has one scale, else (n, ceil(k / group)). The metadata have under
 * "modc.storage" a line for each of them, "X: int4(group=32)" as specs say it; " transposed" stands behind that where the rows are the
 * last dimension of the parameter, as of w in x @ w. A file of others without the metadata is taken as what the spec says, if its
 * shapes and types are those. */
struct scaled_weight {
    struct storage storage; /* name NULL: it is none, the file has floats */
    bool transposed;
    int64_t n, k;
    const unsigned char *integers;
    const char *scales;
};

/* An enum modc_scale. */
int scaled_type(const struct storage *storage);

/* An integer; where the scale lies that it is a multiple of. */
int scaled_integer(const struct scaled_weight *weight, int64_t row, int64_t step);
const char *scaled_scale(const struct scaled_weight *weight, int64_t row, int64_t step);

struct weights_file {
    char *tensors;                /* as plan->param_offsets says; of integers what they stand for */
    struct scaled_weight *scaled; /* by key; of a tie at its first alone */
};

/* uses: of the plan. False after a fault that was said: the file cannot be
 * read, or has missing or unexpected keys, shapes, types. */
bool weights_read(struct cx *cx, const struct plan *plan, const char *path, const struct weights_use *uses,
                  struct weights_file *file);

/* Floats of a parameter, rounded as a model would. What is not finite, or has scales that their type does not hold, becomes scales
 * that are not finite. */
struct scaled_weight scaled_round(struct cx *cx, const struct weights_use *use,
                                  const struct module_tensor *tensor, const float *floats);

/* The numbers that it stands for, in the order of the parameter. */
void scaled_numbers(const struct scaled_weight *weight, enum dtype dtype, char *to);

/* The first scale that is not finite; NULL: none. */
const char *scaled_fault(struct cx *cx, const struct scaled_weight *weight);

/* A tensor to write; of a scaled weight its integers, and `about` is its line of the metadata. */
struct weights_tensor {
    const char *name, *about; /* about NULL: it has none */
    enum dtype dtype;
    int ndim;
    int64_t dims[MAX_DIMS];
    const void *bytes;
};

/* The bytes of a safetensors file, in `arena`. NULL after a fault: it is too large. */
const char *weights_file_bytes(struct cx *cx, struct arena *arena, const struct weights_tensor *tensors,
                               int count, size_t *length);

#endif
