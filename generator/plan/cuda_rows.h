/* cuda_rows.h - how products, softmaxes and norms can be computed on a GPU, for the rows of algorithms.c. Apart, since
 * these know warps and blocks. */
#ifndef MODC_CUDA_ROWS_H
#define MODC_CUDA_ROWS_H

#include "plan/algorithm.h"

bool fits_cuda_plain(const struct graph *graph, const struct op *op);
bool fits_cuda_floats(const struct graph *graph, const struct op *op);
bool fits_cuda_narrow(const struct graph *graph, const struct op *op);
bool fits_cuda_halves(const struct graph *graph, const struct op *op);
bool fits_cuda_scaled(const struct graph *graph, const struct op *op);
bool fits_cuda_int8(const struct graph *graph, const struct op *op);
bool fits_cuda_softmax_warps(const struct graph *graph, const struct op *op);
bool fits_cuda_softmax_blocks(const struct graph *graph, const struct op *op);
bool fits_cuda_softmax_threads(const struct graph *graph, const struct op *op);
bool fits_cuda_norm_warps(const struct graph *graph, const struct op *op);

double cost_cuda_plain(const struct op *op);
double cost_cuda_dots(const struct op *op);
double cost_cuda_tiles(const struct op *op);

/* Rows of x in int8. */
int64_t scratch_cuda_int8(const struct op *op, const struct storage *storage);

/* How many rows of x a warp multiplies with a column of w: few enough for its registers, a power of two. */
int64_t product_rows_at_once(const struct op *op);

/* How templates/cuda/scaled_dots.cu divides its work: rows of x and columns of w that a warp takes at a time, steps that a lane does, that
 * lie in shared memory, and that are summed up before their scale. */
struct scaled_dots {
    int64_t rows, columns, chunk, page, part;
};

struct scaled_dots scaled_dots_of(const struct op *op, const struct storage *storage);

/* How many values of a row of so many a lane of a warp keeps, a power of two; 0: they are too many. */
int64_t row_values_at_once(int64_t values);

#endif
