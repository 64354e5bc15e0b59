/* contract_rows.c - which products the templates of templates/c fit, how long each takes, and what it works in. */
#include "plan/contract_rows.h"

#include "passes/toolkit.h"
#include "plan/cpu_rows.h"
#include "plan/target.h"

static int64_t contract_rows(const struct op *op)
{
    const struct value *y = op->outputs[0];
    int64_t rows = 1;

    for (int i = 0; i < y->ndim - 1; i++)
        rows *= upper(y->dims[i]);
    return rows;
}

static int64_t contract_columns(const struct op *op)
{
    return upper(op->outputs[0]->dims[op->outputs[0]->ndim - 1]);
}

static int64_t contract_depth(const struct op *op)
{
    return upper(op->inputs[0]->dims[op->inputs[0]->ndim - 1]);
}

static bool fits_panels(const struct graph *graph, const struct op *op)
{
    return op_is_packed(graph, op) && op->inputs[1]->ndim == 2 &&
           dim_is_const(op->inputs[1]->dims[0], NULL) && dim_is_const(op->inputs[1]->dims[1], NULL) &&
           contract_depth(op) > 0 && contract_columns(op) > 0;
}

/* Of integers each is computed with all that share its scale. */
static bool is_scaled(const struct graph *graph, const struct op *op)
{
    return storage_is_scaled(op_storage(graph, op));
}

bool fits_float_panels(const struct graph *graph, const struct op *op)
{
    return fits_panels(graph, op) && !storage_in_bytes(op_storage(graph, op));
}

bool fits_gemv(const struct graph *graph, const struct op *op)
{
    int64_t rows = 0;
    const struct value *y = op->outputs[0];

    for (int i = 0; i < y->ndim - 1; i++)
        if (!dim_is_const(y->dims[i], &rows) || rows != 1)
            return false;
    return fits_float_panels(graph, op);
}

/* Integers whose rows are rounded, too. */
static bool is_dynamic(const struct graph *graph, const struct op *op)
{
    return op_storage(graph, op) && op_storage(graph, op)->dynamic;
}

bool fits_int8(const struct graph *graph, const struct op *op)
{
    return fits_panels(graph, op) && is_dynamic(graph, op);
}

static bool is_coded(const struct graph *graph, const struct op *op)
{
    return storage_is_coded(op_storage(graph, op));
}

bool fits_coded(const struct graph *graph, const struct op *op)
{
    return fits_panels(graph, op) && is_coded(graph, op);
}

bool fits_narrow(const struct graph *graph, const struct op *op)
{
    return fits_panels(graph, op) && op_storage(graph, op) && !is_dynamic(graph, op) &&
           !is_coded(graph, op) && target_of(graph->cx)->hosted;
}

/* A chip has no memory to widen weights in. */
bool fits_narrow_chip(const struct graph *graph, const struct op *op)
{
    return fits_panels(graph, op) && op_storage(graph, op) && !is_dynamic(graph, op) &&
           !target_of(graph->cx)->hosted;
}

bool fits_dot(const struct graph *graph, const struct op *op)
{
    if (is_scaled(graph, op))
        return false;
    if (fits_panels(graph, op) || op_storage(graph, op))
        return true;
    /* without packing: rows of a parameter as they lie */
    return op->inputs[1]->ndim == 2 && value_is_static(graph, op->inputs[1]) &&
           dim_equals(op->inputs[1]->strides[0], 1);
}

bool fits_lookup(const struct graph *graph, const struct op *op)
{
    return op_is_packed(graph, op) && op_storage(graph, op);
}

double cost_gemm_panel(const struct op *op)
{
    int64_t p = panel(op), columns = (contract_columns(op) + p - 1) / p * p;

    return (double)contract_rows(op) * (double)columns * (double)contract_depth(op) + 40;
}

/* Two panels of floats: what a pair of them is widened to. */
int64_t scratch_narrow(const struct op *op)
{
    return contract_rows(op) > 1 ? contract_depth(op) * 2 * panel(op) * computed_bytes(op->outputs[0]) : 0;
}

/* Its rows, as integers. */
int64_t scratch_int8(const struct op *op, const struct storage *storage)
{
    return contract_rows(op) * storage_row(storage, contract_depth(op));
}

void tiles_narrow(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_COLUMNS] = tiles_of(contract_columns(op), 2 * panel(op));
}

/* It reads fewer bytes than the others, which are there for small products. */
double cost_narrow(const struct op *op)
{
    return (contract_rows(op) > 1 ? 0.95 : 0.85) * cost_gemm_panel(op);
}

/* Four products an instruction; and its rows are rounded. */
double cost_int8(const struct op *op)
{
    return 0.4 * cost_gemm_panel(op) + (double)contract_rows(op) * (double)contract_depth(op);
}

double cost_gemv_panel(const struct op *op)
{
    return 0.9 * cost_gemm_panel(op);
}

double cost_gemm_dot(const struct op *op)
{
    return (double)contract_rows(op) * (double)contract_columns(op) * (1.4 * (double)contract_depth(op) + 16);
}

bool fits_strided(const struct graph *graph, const struct op *op)
{
    return op->outputs[0]->ndim - product_of(op, false).merged <= 4 && /* two batch axes */
           !op_storage(graph, op);
}

/* The other rows are for weights, whose costs are not counted in cycles. */
static bool is_of_weight(const struct op *op)
{
    return op->inputs[1]->ndim == 2 && op->inputs[1]->base->op->code == GRAPH_OP_TENSOR;
}

/* For a chip, which counts its RAM, they are read where they lie. */
bool fits_packing(const struct graph *graph, const struct op *op)
{
    const struct product plan = product_of(op, true);

    return fits_strided(graph, op) && !is_of_weight(op) && (plan.packs_x || plan.packs_w) &&
           target_of(graph->cx)->hosted;
}

int64_t scratch_packing(const struct op *op)
{
    return product_of(op, true).scratch * computed_bytes(op->outputs[0]);
}

void tiles_gemm_panel(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = tiles_of(contract_rows(op), TILE_ROWS);
    tiles[SPLIT_COLUMNS] = tiles_of(contract_columns(op), TILE_VECTORS * panel(op));
}

void tiles_gemv_panel(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_COLUMNS] = tiles_of(contract_columns(op), 8 * panel(op));
}

void tiles_gemm_dot(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = tiles_of(contract_rows(op), 4);
}

/* Vectors along the rows are not dealt out. */
static void tiles_product(const struct op *op, struct product plan, int64_t tiles[SPLIT_AXES])
{
    const struct value *y = op->outputs[0];
    int batches = y->ndim - 2 - plan.merged;

    tiles[SPLIT_ROWS] = plan.form == PRODUCT_ROWS ? 0 : tiles_of(plan.m, TILE_ROWS);
    tiles[SPLIT_BATCHES] = batches > 0 ? dealt(y, batches) : 0;
}

void tiles_strided(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_product(op, product_of(op, false), tiles);
}

void tiles_packing(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_product(op, product_of(op, true), tiles);
}

double cost_strided(const struct op *op)
{
    return is_of_weight(op) ? 2.0 * cost_gemm_panel(op) + 100 : product_of(op, false).cost;
}

double cost_packing(const struct op *op)
{
    return product_of(op, true).cost;
}
