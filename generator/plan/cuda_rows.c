/* cuda_rows.c - which products, softmaxes and norms the templates of templates/cuda fit, and how long a product takes in each. */
#include "plan/cuda_rows.h"

#include "passes/toolkit.h"

enum {
    PROCESSORS = 132, /* of an H100, which run so many blocks at a time */
    TILE = 64,        /* outputs of a block's tile on a side */
    LANES = 32,       /* of a warp */
    WARPS = 2048,     /* fewer do not keep a device busy */
    THREADS = 65536,
    FEW_ROWS = 8,   /* that a warp takes at a time */
    ROW_VALUES = 32 /* that a lane keeps in registers */
};

static int64_t parts_of(int64_t count, int64_t part)
{
    return (count + part - 1) / part;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- products ------------------------------------------------------------------------------------------------- */

/* Two axes of batches stand before the rows. */
bool fits_cuda_plain(const struct graph *graph, const struct op *op)
{
    return op->outputs[0]->ndim - product_of(op, false).merged <= 4 && !op_storage(graph, op);
}

bool fits_cuda_floats(const struct graph *graph, const struct op *op)
{
    return dtype_is_float(op->outputs[0]->dtype) && fits_cuda_plain(graph, op);
}

bool fits_cuda_narrow(const struct graph *graph, const struct op *op)
{
    return op_storage(graph, op) && !op_storage(graph, op)->dynamic;
}

bool fits_cuda_halves(const struct graph *graph, const struct op *op)
{
    return fits_cuda_narrow(graph, op) && !storage_is_scaled(op_storage(graph, op));
}

bool fits_cuda_scaled(const struct graph *graph, const struct op *op)
{
    return fits_cuda_narrow(graph, op) && storage_is_scaled(op_storage(graph, op));
}

bool fits_cuda_int8(const struct graph *graph, const struct op *op)
{
    return op_storage(graph, op) && op_storage(graph, op)->dynamic;
}

int64_t scratch_cuda_int8(const struct op *op, const struct storage *storage)
{
    const struct product p = product_of(op, false);

    (void)storage;
    return p.batches * p.m * storage_rounded(p.k);
}

int64_t product_rows_at_once(const struct op *op)
{
    const int64_t m = product_of(op, false).m;
    int64_t rows = 1;

    while (rows < m && rows < FEW_ROWS)
        rows *= 2;
    return rows;
}

struct scaled_dots scaled_dots_of(const struct op *op, const struct storage *storage)
{
    enum { WARPS_OF_BLOCK = 8, SUMS = 16, VALUES = 64, CELLS = 4096 };
    const struct product p = product_of(op, false);
    struct scaled_dots dots = {.rows = product_rows_at_once(op), .columns = 4, .chunk = 128 / storage->bits};

    while (dots.columns > 1 && (p.n < dots.columns * WARPS_OF_BLOCK * PROCESSORS ||
                                dots.rows * dots.columns > SUMS || dots.chunk * dots.columns > VALUES))
        dots.columns /= 2;
    dots.page = parts_of(p.k, dots.chunk) * dots.chunk;
    if (dots.page > CELLS / dots.rows)
        dots.page = CELLS / dots.rows;
    dots.part = dots.chunk;
    while (storage->group % dots.part != 0)
        dots.part /= 2;
    return dots;
}

/* Neighbours along an axis, counted from the last one, that do not lie side by side take a line of the cache each. */
static int64_t reading(const struct value *value, int axis)
{
    const int at = value->ndim - 1 - axis;

    return dim_equals(value->dims[at], 1) || dim_equals(value->strides[at], 1) ? 1 : 8;
}

/* A thread multiplies what it loads: neighbours read neighbouring columns. */
double cost_cuda_plain(const struct op *op)
{
    const struct product p = product_of(op, false);

    return (double)most(p.batches * p.m * p.n, THREADS) * (double)p.k *
           (double)(2 + 2 * reading(op->inputs[1], 0));
}

/* A value of w is loaded for some rows, and of each row one: neighbours read along k. */
double cost_cuda_dots(const struct op *op)
{
    const struct product p = product_of(op, false);
    const int64_t rows = product_rows_at_once(op);
    const int64_t warps = most(p.batches * parts_of(p.m, rows) * p.n, WARPS);

    return (double)warps * (double)(parts_of(p.k, LANES) * LANES) *
           (double)(2 * rows * reading(op->inputs[0], 0) + reading(op->inputs[1], 1));
}

/* As many tiles as there are processors take as long as one. */
double cost_cuda_tiles(const struct op *op)
{
    const struct product p = product_of(op, false);
    const int64_t tiles = p.batches * parts_of(p.m, TILE) * parts_of(p.n, TILE);

    return (double)(parts_of(tiles, PROCESSORS) * PROCESSORS) * (TILE * TILE) * (double)p.k;
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

int64_t row_values_at_once(int64_t values)
{
    int64_t each = 1;

    while (each * LANES < values)
        each *= 2;
    return each <= ROW_VALUES ? each : 0;
}

static int64_t row_values(const struct op *op)
{
    const struct value *x = op->inputs[0];
    int64_t values = 1;

    for (int i = x->ndim - op_columns(op); i < x->ndim; i++)
        values *= dim_upper(x->dims[i]);
    return values;
}

bool fits_cuda_norm_warps(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return row_values_at_once(row_values(op)) > 0;
}

bool fits_cuda_softmax_warps(const struct graph *graph, const struct op *op)
{
    return softmax_is_last(op) && fits_cuda_norm_warps(graph, op);
}

bool fits_cuda_softmax_blocks(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return softmax_is_last(op);
}

bool fits_cuda_softmax_threads(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return !softmax_is_last(op);
}
