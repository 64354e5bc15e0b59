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

static bool is_function(enum prim prim)
{
    return prim == PRIM_EXP || prim == PRIM_EXPM1 || prim == PRIM_LOG || prim == PRIM_LOG1P ||
           prim == PRIM_TANH || prim == PRIM_ERF || prim == PRIM_SIN || prim == PRIM_COS || prim == PRIM_POW;
}

/* Seconds for each value that goes through it. */
static double dag_seconds(const struct cost_figures *figures, const struct dag *dag)
{
    double seconds = 1 / figures->values;

    for (int i = 0; dag && i < dag->count; i++)
        seconds += is_function(dag->nodes[i].prim) ? 1 / figures->functions : 0;
    return seconds;
}

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

static double score_count(const struct op *attention)
{
    const struct value *k = attention->inputs[1], *y = attention->outputs[0];
    double count = (double)dim_upper(k->dims[k->ndim - 1]);

    for (int i = 0; i < y->ndim - 1; i++)
        count *= (double)dim_upper(y->dims[i]);
    return count;
}

static double compute_seconds(const struct cost_figures *figures, const struct op *op,
                              const struct algorithm *algorithm)
{
    const struct value *y = op->output_count > 0 ? op->outputs[0] : NULL;
    double seconds;

    if (!y)
        return 0;
    switch (op->code) {
    case GRAPH_OP_CONTRACT:
    case GRAPH_OP_CONV:
        seconds = (algorithm ? algorithm->cost(op) : op_macs(op)) / figures->macs;
        break;
    case GRAPH_OP_RECURRENT:
    case GRAPH_OP_RECURRENT_GRADIENT:
        seconds = algorithm->cost(op) / figures->macs + value_count(op->inputs[0]) / figures->functions;
        break;
    case GRAPH_OP_ATTENTION:
        seconds = op_macs(op) / figures->macs + score_count(op) / figures->functions;
        break;
    case GRAPH_OP_POOL:
        seconds = op_macs(op) / figures->values;
        break;
    case GRAPH_OP_REDUCE:
        seconds = op_macs(op) * dag_seconds(figures, op->head);
        break;
    case GRAPH_OP_SOFTMAX:
        seconds = value_count(y) / figures->functions;
        break;
    case GRAPH_OP_CTC:
        seconds = (double)dim_upper(op->inputs[0]->dims[0]) * (double)dim_upper(op->inputs[0]->dims[1]) *
                  (2 * (double)dim_upper(op->ctc.labels) + 1) * (op->ctc.gradient ? 9 : 4) /
                  figures->functions;
        break;
    case GRAPH_OP_WRITE:
        seconds = value_count(op->inputs[1]) * dag_seconds(figures, op->dag);
        break;
    case GRAPH_OP_NORM:
        seconds = 2 * value_count(y) / figures->values;
        break;
    default:
        seconds = value_count(y) * dag_seconds(figures, op->code == GRAPH_OP_MAP ? op->dag : NULL);
        break;
    }
    if (is_turned(op) && op->code != GRAPH_OP_CONTRACT && op->code != GRAPH_OP_CONV &&
        op->code != GRAPH_OP_ATTENTION)
        seconds += value_count(y) * figures->turned;
    return seconds * dtype_rows[y->dtype].bytes / 4;
}

/* ---- what it moves ---------------------------------------------------------------------------------------- */

static double read_seconds(const struct cost_figures *figures, double bytes)
{
    return bytes / (bytes <= figures->cache_bytes ? figures->cache : figures->memory);
}

/* Of a table, the rows that are looked up; of a concatenation, what does not lie there already. */
static double moved_bytes(const struct op *op)
{
    double bytes = 0;

    for (int i = 0; i < op->input_count; i++) {
        if (op->code == GRAPH_OP_CONCAT)
            bytes += op->inputs[i]->base == op->outputs[0]->base ? 0 : 2 * value_bytes(op->inputs[i]);
        else
            bytes += op->code == GRAPH_OP_GATHER && i == 0 ? value_bytes(op->outputs[0])
                                                           : value_bytes(op->inputs[i]);
    }
    for (int i = 0; i < op->output_count && op->code != GRAPH_OP_CONCAT; i++)
        bytes += value_bytes(op->outputs[i]);
    return bytes;
}

struct cost cost_of(const struct backend *backend, const struct op *op, const struct algorithm *algorithm)
{
    struct cost cost = {.macs = op_macs(op),
                        .bytes = moved_bytes(op),
                        .compute = compute_seconds(&backend->cost, op, algorithm)};

    cost.reads = read_seconds(&backend->cost, cost.bytes);
    cost.seconds = cost.compute > cost.reads ? cost.compute : cost.reads;
    return cost;
}

/* ---- threads ---------------------------------------------------------------------------------------------- */

/* The operand of which slices along the axis need all: the weight of rows, the input of columns. */
static double shared_bytes(const struct op *op, enum split_axis axis)
{
    if (op->code != GRAPH_OP_CONTRACT && op->code != GRAPH_OP_CONV)
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
    const struct value *y = op->code == GRAPH_OP_WRITE ? op->inputs[1] : op->outputs[0];
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
