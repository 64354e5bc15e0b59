/* cuda_blocks.h - matrices and samples that get a block of a GPU each, for the rows of algorithms.c. */
#ifndef MODC_CUDA_BLOCKS_H
#define MODC_CUDA_BLOCKS_H

#include "plan/algorithm.h"

/* Matrices so large that there is work for the threads of a block. */
bool fits_cholesky_blocks(const struct graph *graph, const struct op *op);
bool fits_triangular_blocks(const struct graph *graph, const struct op *op);
bool fits_lu_solve_blocks(const struct graph *graph, const struct op *op);
bool fits_matrix_exp_blocks(const struct graph *graph, const struct op *op);

/* How many blocks work at a time, as many as have room. */
int factor_blocks(const struct op *op);
int64_t scratch_factor_blocks(const struct op *op);
int64_t scratch_ctc_blocks(const struct op *op);

#endif
