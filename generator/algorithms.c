/* algorithms.c - how ops can be computed: one row a template. A new algorithm is a template, a row here, and its forced
 * tests. Rows of one op get the same holes (kernel.c). */
#include <string.h>

#include "pass.h"
#include "plan.h"

static int64_t upper(const struct dim *dim)
{
    return dim_upper(dim);
}

static bool is_packed_weight(const struct graph *graph, const struct op *op)
{
    struct value *bias = op->code == GRAPH_OP_CONV ? (op->window.bias ? op->inputs[2] : NULL)
                                                   : (op->contract.bias ? op->inputs[2] : NULL);

    return graph->program->tree->spec->pack != SPEC_OFF && value_is_static(graph, op->inputs[1]) &&
           (!bias || value_is_static(graph, bias));
}

/* ---- contract --------------------------------------------------------------------------------------------- */

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

static int64_t panel(const struct op *op)
{
    return 64 / dtype_rows[op->outputs[0]->dtype].bytes;
}

static bool fits_panels(const struct graph *graph, const struct op *op)
{
    return is_packed_weight(graph, op) && op->inputs[1]->ndim == 2 && dim_is_const(op->inputs[1]->dims[0], NULL) &&
           dim_is_const(op->inputs[1]->dims[1], NULL) && contract_depth(op) > 0 && contract_columns(op) > 0;
}

static bool fits_gemv(const struct graph *graph, const struct op *op)
{
    int64_t rows = 0;
    const struct value *y = op->outputs[0];

    for (int i = 0; i < y->ndim - 1; i++)
        if (!dim_is_const(y->dims[i], &rows) || rows != 1)
            return false;
    return fits_panels(graph, op);
}

static bool fits_dot(const struct graph *graph, const struct op *op)
{
    if (fits_panels(graph, op))
        return true;
    /* without packing: rows of a parameter as they lie */
    return op->inputs[1]->ndim == 2 && value_is_static(graph, op->inputs[1]) &&
           dim_equals(op->inputs[1]->strides[0], 1);
}

static double cost_gemm_panel(const struct op *op)
{
    int64_t p = panel(op), columns = (contract_columns(op) + p - 1) / p * p;

    return (double)contract_rows(op) * (double)columns * (double)contract_depth(op) + 40;
}

static double cost_gemv_panel(const struct op *op)
{
    return 0.9 * cost_gemm_panel(op);
}

static double cost_gemm_dot(const struct op *op)
{
    return (double)contract_rows(op) * (double)contract_columns(op) * (1.4 * (double)contract_depth(op) + 16);
}

static bool fits_strided(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->outputs[0]->ndim <= 4; /* two batch axes */
}

static double cost_strided(const struct op *op)
{
    return 2.0 * cost_gemm_panel(op) + 100;
}

/* ---- windows, norms --------------------------------------------------------------------------------------- */

static bool fits_conv(const struct graph *graph, const struct op *op)
{
    return is_packed_weight(graph, op) && op->window.channels_last;
}

/* What no weight is packed for. */
static bool fits_conv_plain(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->window.channels_last;
}

static bool fits_depthwise(const struct graph *graph, const struct op *op)
{
    int64_t in, out;

    return is_packed_weight(graph, op) && op->window.channels_last && dim_is_const(op->inputs[0]->dims[3], &in) &&
           dim_is_const(op->outputs[0]->dims[3], &out) && in == out && op->window.groups == in;
}

static double cost_conv(const struct op *op)
{
    return op_macs(op) + 100;
}

static double cost_conv_plain(const struct op *op)
{
    return 2.0 * op_macs(op) + 200;
}

static double cost_depthwise(const struct op *op)
{
    return op_macs(op);
}

static bool fits_always(const struct graph *graph, const struct op *op)
{
    (void)graph;
    (void)op;
    return true;
}

const struct algorithm algorithms[] = {
    {"gemv_panel", GRAPH_OP_CONTRACT, "c/gemv_panel.c", fits_gemv, cost_gemv_panel, PACKED_PANELS, PACKED_VECTOR},
    {"gemm_panel", GRAPH_OP_CONTRACT, "c/gemm_panel.c", fits_panels, cost_gemm_panel, PACKED_PANELS, PACKED_VECTOR},
    {"gemm_dot", GRAPH_OP_CONTRACT, "c/gemm_dot.c", fits_dot, cost_gemm_dot, PACKED_ROWS, PACKED_NONE},
    {"matmul_strided", GRAPH_OP_CONTRACT, "c/matmul_strided.c", fits_strided, cost_strided, PACKED_NONE, PACKED_NONE},
    {"conv_depthwise", GRAPH_OP_CONV, "c/conv_depthwise.c", fits_depthwise, cost_depthwise, PACKED_COLUMNS, PACKED_NONE},
    {"conv_direct", GRAPH_OP_CONV, "c/conv_direct.c", fits_conv, cost_conv, PACKED_PANELS, PACKED_VECTOR},
    {"conv_plain", GRAPH_OP_CONV, "c/conv_plain.c", fits_conv_plain, cost_conv_plain, PACKED_NONE, PACKED_NONE},
    {"pool", GRAPH_OP_POOL, "c/pool.c", fits_always, op_macs, PACKED_NONE, PACKED_NONE},
    {"layer_norm", GRAPH_OP_NORM, "c/layer_norm.c", fits_always, op_macs, PACKED_NONE, PACKED_NONE},
    {"softmax", GRAPH_OP_SOFTMAX, "c/softmax.c", fits_always, op_macs, PACKED_NONE, PACKED_NONE},
};
const int algorithm_count = (int)(sizeof algorithms / sizeof *algorithms);
