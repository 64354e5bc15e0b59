/* product.c - which vectors a product of values that are not packed runs over, what of them it packs first, and how long that takes
 * (struct product). The cycles are those of AVX-512, as measured by bench/sweep. */
#include "plan/algorithm.h"

enum {
    TILE_ROWS = 14,
    DOT_TILE = 4,
    BAND = 128,
    PACKED_BYTES = 256 * 1024,
    LARGE_BYTES = 1024 * 1024,
    SMALL = 512,
    ROWS_BYTES = 8192,
    ROWS = 16
};

static int64_t upper(const struct dim *dim)
{
    return dim_upper(dim);
}

static enum dtype computed_in(const struct op *op)
{
    return backend_element(&backends[DEVICE_CPU], op->outputs[0]->dtype).computed;
}

static int64_t lanes_of(const struct op *op)
{
    return backend_lanes(&backends[DEVICE_CPU], computed_in(op));
}

static int64_t parts_of(int64_t count, int64_t part)
{
    return (count + part - 1) / part;
}

/* Do neighbours along that axis, counted from the last one, lie side by side? One element alone does. */
static bool is_line(const struct value *value, int axis)
{
    int at = value->ndim - 1 - axis;

    return dim_equals(value->dims[at], 1) || dim_equals(value->strides[at], 1);
}

/* The same of the rows of a product, into which `merged` more axes count: where there is one row then, its stride is theirs. */
static bool are_rows_line(const struct value *value, int merged)
{
    return merged > 0 ? dim_equals(value->strides[value->ndim - 2], 1) : is_line(value, 1);
}

/* ---- batches -------------------------------------------------------------------------------------------------- */

/* Does the axis continue the rows, which are `rows`, so that both are rows of one matrix? */
static bool continues(const struct value *value, int axis, int64_t rows)
{
    int64_t outer, inner;

    return dim_is_const(value->strides[axis], &outer) &&
           dim_is_const(value->strides[value->ndim - 2], &inner) && outer == inner * rows;
}

/* Has it one matrix for all along that axis, counted from the last one? */
static bool is_shared(const struct value *value, int axis)
{
    int at = value->ndim - 1 - axis;

    return at < 0 || dim_equals(value->dims[at], 1) || dim_equals(value->strides[at], 0);
}

/* How many of the axes before the rows of y only add to them, since one w serves them all. */
static int merged_axes(const struct op *op)
{
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    int count = 0;
    int64_t rows = 1, extent;

    if (y->ndim < 3 || x->ndim != y->ndim || !dim_is_const(y->dims[y->ndim - 2], &rows))
        return 0;
    for (int axis = y->ndim - 3; axis >= 0; axis--, count++) {
        if (!dim_equal(x->dims[axis], y->dims[axis]) || !is_shared(w, y->ndim - 1 - axis) ||
            !continues(x, axis, rows) || !continues(y, axis, rows))
            break;
        if (!dim_is_const(y->dims[axis], &extent))
            return count + 1;
        rows *= extent;
    }
    return count;
}

/* ---- how long it takes ---------------------------------------------------------------------------------------- */

/* Of a tile, for each step along the inner length; least: the latency of the products. */
static double step_cycles(double rows, double vectors, double least)
{
    double products = rows * vectors / 2, loads = (rows + vectors) / 2;

    return products > loads ? (products > least ? products : least) : loads > least ? loads : least;
}

static double tile_cycles(double rows, double vectors, double k, double least)
{
    return vectors > 0 ? k * step_cycles(rows, vectors, least) + rows * vectors / 2 + 2 : 0;
}

/* In vectors along the n columns of y. */
static double vector_cycles(const struct product *product, int64_t m, int64_t n, int64_t lanes)
{
    double k = (double)product->k,
           least = product->batches > 4 && k <= 16 ? 2 : 4; /* the next one begins before the last ends */
    int64_t tiles = parts_of(m, TILE_ROWS), vectors = parts_of(n, lanes);
    double rows = tiles > 0 ? (double)m / (double)tiles : 0;
    int64_t most = rows >= 8 ? 2 : rows > 1 ? 4 : 8;

    return (double)tiles * ((double)(vectors / most) * tile_cycles(rows, (double)most, k, least) +
                            tile_cycles(rows, (double)(vectors % most), k, least));
}

/* In dot products along the inner length. */
static double dot_cycles(int64_t m, int64_t n, int64_t k, int64_t lanes)
{
    double steps = (double)parts_of(k, lanes), rows = (double)(m / DOT_TILE),
           columns = (double)(n / DOT_TILE);
    double more_rows = (double)(m % DOT_TILE), more_columns = (double)(n % DOT_TILE);

    return rows * columns * (8 * steps + 13) + rows * more_columns * (4 * steps + 7) +
           more_rows * columns * (4 * steps + 5) + more_rows * more_columns * (4 * steps + 2);
}

/* Do neighbours along that axis, counted from the last one, lie so near that a few loads and a permutation make a vector of them? */
static bool is_near(const struct value *value, int axis)
{
    int64_t stride;

    return dim_is_const(value->strides[value->ndim - 1 - axis], &stride) && stride >= 0 && stride <= 4;
}

/* Of copying a matrix, whose rows or columns are lines, or neither. */
static double copy_cycles(const struct value *value, int64_t rows, int64_t columns)
{
    double count = (double)(rows * columns), bytes = count * dtype_rows[value->dtype].bytes;
    double each = value->dtype != DTYPE_FLOAT32            ? 1
                  : count <= SMALL                         ? 0.4
                  : is_line(value, 0) || is_line(value, 1) ? 0.25
                  : is_near(value, 0) || is_near(value, 1) ? 0.15
                                                           : 1;

    return 10 + count * (bytes > LARGE_BYTES && each < 0.4 ? 0.4 : each);
}

/* Of so many products in plain loops, each: compilers make vectors of few, along columns of x that lie side by side. */
static double plain_cycles(const struct value *x, int64_t count)
{
    return count > SMALL ? 1.1 : count > SMALL / 8 && is_line(x, 1) ? 0.15 : 0.6;
}

/* ---- the choice ----------------------------------------------------------------------------------------------- */

static void price(const struct op *op, struct product *product)
{
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    int64_t m = product->m, n = product->n, k = product->k;
    int64_t lanes = lanes_of(op);
    double cycles = 2;

    switch (product->form) {
    case PRODUCT_PLAIN:
        cycles += (double)m * (double)n * (double)(k > 0 ? k : 1) * plain_cycles(x, m * n * k);
        break;
    case PRODUCT_COLUMNS:
        cycles += vector_cycles(product, m, n, lanes);
        break;
    case PRODUCT_DOTS:
        cycles += dot_cycles(m, n, k, lanes);
        break;
    case PRODUCT_ROWS:
        cycles += vector_cycles(product, n, m, lanes) +
                  (are_rows_line(y, product->merged) ? 0 : (double)m * (double)n);
        break;
    }
    if (product->packs_x)
        cycles += copy_cycles(x, m, k);
    if (product->packs_w)
        cycles += copy_cycles(w, k, n);
    product->cost = (cycles * (double)product->batches + 10) * 2.0 * (double)lanes;
}

/* Where what is packed lies, in elements: some columns of w, in rows of an odd number of cache lines, so that they do not drive each
 * other from the cache, or all of them as rows; behind them some rows of x, which stay in the first cache. */
static void lay_out(const struct op *op, struct product *product)
{
    int64_t lanes = lanes_of(op), k = product->k > 0 ? product->k : 1;
    int64_t most = PACKED_BYTES / (k * dtype_rows[computed_in(op)].bytes) / (2 * lanes) * (2 * lanes);

    most = most > BAND ? BAND : most < 2 * lanes ? 2 * lanes : most;
    product->block = product->n < most ? product->n : most;
    product->stride = (parts_of(product->block, lanes) | 1) * lanes;
    if (product->packs_w)
        product->room = product->form == PRODUCT_DOTS ? parts_of(product->n * k, lanes) * lanes
                                                      : product->stride * k;
    most = ROWS_BYTES / (k * dtype_rows[computed_in(op)].bytes) / ROWS * ROWS;
    most = most > ROWS ? most : ROWS;
    product->rows = product->m < most ? product->m : most;
    product->scratch = product->room + (product->packs_x ? product->rows * k : 0);
    if (product->scratch == 0 && (product->packs_w || product->packs_x))
        product->scratch = 1;
}

struct product product_of(const struct op *op, bool packs)
{
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    const bool rows_lie = is_line(x, 0), columns_lie = is_line(w, 1);
    struct product base = {.form = PRODUCT_PLAIN, .merged = merged_axes(op)}, best;
    const struct product ways[] = {
        {.form = PRODUCT_COLUMNS, .packs_w = !is_line(w, 0)},
        {.form = PRODUCT_DOTS, .packs_x = !rows_lie, .packs_w = !columns_lie},
        {.form = PRODUCT_ROWS, .packs_x = false},
    };

    base.m = 1;
    for (int i = y->ndim - 2 - base.merged; i < y->ndim - 1; i++)
        base.m *= i >= 0 ? upper(y->dims[i]) : 1;
    base.n = upper(y->dims[y->ndim - 1]);
    base.k = upper(x->dims[x->ndim - 1]);
    base.batches = 1;
    for (int i = 0; i < y->ndim - 2 - base.merged; i++)
        base.batches *= upper(y->dims[i]);
    best = base;
    price(op, &best);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct product way = base;

        way.form = ways[i].form;
        way.packs_x = ways[i].packs_x;
        way.packs_w = ways[i].packs_w;
        if ((!packs && (way.packs_x || way.packs_w)) ||
            (way.form == PRODUCT_ROWS && !are_rows_line(x, base.merged)))
            continue;
        price(op, &way);
        if (way.cost < best.cost)
            best = way;
    }
    lay_out(op, &best);
    return best;
}
