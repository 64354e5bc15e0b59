/* cuda_blocks.c - which matrices get a block of a GPU each, and what blocks work in; apart, since these know blocks. */
#include "plan/cuda_blocks.h"

enum {
    LARGE = 32,  /* columns */
    MOST = 1024, /* blocks, of which no device runs more at a time */
    MOST_BYTES = 64 * 1024 * 1024
};

static int64_t bytes_of(const struct op *op, int64_t count)
{
    const struct value *y = op->outputs[0];
    const enum dtype computed = backend_element(&backends[DEVICE_CUDA], y->dtype).computed;

    return (count > 0 ? count : 1) * dtype_rows[computed].bytes;
}

static int64_t columns_of(const struct op *op)
{
    const struct value *x = op->inputs[0];

    return dim_upper(x->dims[x->ndim - 1]);
}

static bool is_large(const struct op *op, enum factor_kind kind)
{
    return op->factor.kind == kind && columns_of(op) >= LARGE;
}

#define FITS_LARGE(name, kind)                                                                               \
    bool fits_##name##_blocks(const struct graph *graph, const struct op *op)                                \
    {                                                                                                        \
        (void)graph;                                                                                         \
        return is_large(op, kind);                                                                           \
    }

FITS_LARGE(cholesky, FACTOR_CHOLESKY)
FITS_LARGE(triangular, FACTOR_TRIANGULAR)
FITS_LARGE(lu_solve, FACTOR_SOLVE)
FITS_LARGE(matrix_exp, FACTOR_EXP)

/* A copy of the matrix; of an exponential a product, too. */
static int64_t bytes_of_block(const struct op *op)
{
    return bytes_of(op, (op->factor.kind == FACTOR_EXP ? 2 : 1) * columns_of(op) * columns_of(op));
}

int factor_blocks(const struct op *op)
{
    const struct value *x = op->inputs[0];
    int64_t blocks = MOST_BYTES / bytes_of_block(op), batch = 1;

    for (int i = 0; i < x->ndim - 2; i++)
        batch *= dim_upper(x->dims[i]);
    blocks = blocks < MOST ? blocks : MOST;
    blocks = blocks < batch ? blocks : batch;
    return blocks < 1 ? 1 : (int)blocks;
}

int64_t scratch_factor_blocks(const struct op *op)
{
    return factor_blocks(op) * bytes_of_block(op);
}

/* By state: two steps in turn; of a slope every step, and two in turn of what begins behind them. */
int64_t scratch_ctc_blocks(const struct op *op)
{
    const struct value *x = op->inputs[0];
    const int64_t rows = op->ctc.gradient ? dim_upper(x->dims[0]) + 2 : 2;

    return bytes_of(op, dim_upper(x->dims[1]) * rows * (2 * dim_upper(op->ctc.labels) + 1));
}
