/* cost.c - see cost.h. */
#include "plan/cost.h"

#include "passes/toolkit.h"
#include "plan/algorithm.h"

static double value_count(const struct value *value)
{
    double count = 1;

    for (int i = 0; i < value->ndim; i++)
        count *= (double)dim_upper(value->dims[i]);
    return count;
}

static double value_bytes(const struct value *value)
{
    return value_count(value) * (double)dtype_rows[value->dtype].bytes;
}

/* ---- what a step computes --------------------------------------------------------------------------------- */

/* Reads an operand across its rows: one value of each cache line at a time. */
static bool is_turned(const struct op *op)
{
    for (int i = 0; i < op->input_count; i++) {
        const struct value *x = op->inputs[i];

        if (x->ndim > 1 && !dim_equals(x->dims[x->ndim - 1], 1) && !dim_equals(x->strides[x->ndim - 1], 0) &&
            !dim_equals(x->strides[x->ndim - 1], 1))
            return true;
    }
    return false;
}

static double compute_seconds(const struct cost_figures *figures, const struct op *op,
                              const struct algorithm *algorithm)
{
    const struct value *y = op->output_count > 0 ? op->outputs[0] : NULL;
    struct op_work work;
    double seconds;

    if (!y)
        return 0;
    work = op_work(op);
    if (algorithm && op_rows[op->code]->varied)
        work.macs = algorithm->cost(op);
    seconds = work.macs / figures->macs + work.values / figures->values +
              work.functions / figures->functions + work.rows * figures->rows;
    if (is_turned(op) && !op_rows[op->code]->tiled)
        seconds += value_count(y) * figures->turned;
    return seconds * dtype_rows[y->dtype].bytes / 4;
}

/* ---- what it moves ---------------------------------------------------------------------------------------- */

static double read_seconds(const struct cost_figures *figures, double bytes)
{
    return bytes / (bytes <= (double)figures->near_bytes     ? figures->near
                    : bytes <= (double)figures->shared_bytes ? figures->cache
                                                             : figures->memory);
}

struct cost cost_of(const struct backend *backend, const struct op *op, const struct algorithm *algorithm)
{
    struct cost cost = {.macs = op_macs(op),
                        .bytes = op_bytes(op),
                        .compute = compute_seconds(&backend->cost, op, algorithm)};

    cost.reads = read_seconds(&backend->cost, cost.bytes);
    cost.seconds = cost.compute > cost.reads ? cost.compute : cost.reads;
    return cost;
}

/* ---- threads ---------------------------------------------------------------------------------------------- */

/* The operand of which slices along the axis need all: the weight of rows, the input of columns. */
static double shared_bytes(const struct op *op, enum split_axis axis)
{
    if (!op_rows[op->code]->weighted)
        return 0;
    return axis == SPLIT_ROWS      ? value_bytes(op->inputs[1])
           : axis == SPLIT_COLUMNS ? value_bytes(op->inputs[0])
                                   : 0;
}

/* Of the longest slice, what axes are compared by: seconds, where nothing that it reads comes while it computes. */
static double slice_seconds(const struct cost_figures *figures, const struct op *op, const struct cost *whole,
                            enum split_axis axis, int64_t tiles, int slices)
{
    double part = (double)((tiles + slices - 1) / slices) / (double)tiles, shared = shared_bytes(op, axis);

    return whole->compute * part + read_seconds(figures, shared + (whole->bytes - shared) * part);
}

/* How many results take figures->split: the operands of one shape are read for any number of them. */
static int64_t least_values(const struct cost_figures *figures, const struct op *op, const struct cost *cost)
{
    const struct value *y = op_result(op);
    double fixed = 0, least;
    bool runs = false; /* whether sizes decide */

    for (int i = 0; i < y->ndim; i++)
        runs |= !dim_is_const(y->dims[i], NULL);
    for (int i = 0; i < op->input_count; i++) {
        const struct value *x = op->inputs[i];
        bool is_const = true;

        for (int j = 0; j < x->ndim; j++)
            is_const &= dim_is_const(x->dims[j], NULL);
        fixed += is_const ? read_seconds(figures, value_bytes(x)) : 0;
    }
    least = value_count(y) * (figures->split - fixed) / cost->seconds;
    return runs && least >= 1 ? (int64_t)least : 0;
}

struct split cost_split(const struct backend *backend, const struct op *op, const struct algorithm *algorithm,
                        const int64_t tiles[SPLIT_AXES], int threads, bool always)
{
    struct split best = {.slices = 1};
    const struct cost_figures *figures = &backend->cost;
    struct cost cost = cost_of(backend, op, algorithm);
    double least = 0;
    int most = threads;

    if (!always && cost.seconds < figures->split)
        return best;
    if (!always && cost.seconds < (double)threads * figures->split / 2)
        most = (int)(cost.seconds / (figures->split / 2));
    for (int axis = SPLIT_NONE + 1; axis < SPLIT_AXES; axis++) {
        int slices = tiles[axis] < most && !always ? (int)tiles[axis] : most;
        double seconds;

        if (tiles[axis] < 1 || slices < 2)
            continue;
        seconds = slice_seconds(figures, op, &cost, (enum split_axis)axis, tiles[axis], slices);
        if (best.slices == 1 || seconds < least) {
            best = (struct split){(enum split_axis)axis, slices,
                                  always ? 0 : least_values(figures, op, &cost)};
            least = seconds;
        }
    }
    return best;
}
