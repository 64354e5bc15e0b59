/* ranges.c - which of the ranges of `activations: calibrated` something is rounded by. A range of what is scaled and shifted by channel
 * or bounded, and only then has a range again, is none: a convolution, its BatchNorm and its ReLU are one integer op, which rounds
 * once. Nor is that of what was only moved, or picked as by a maximum: it keeps the steps that it has. */
#include <math.h>

#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

struct value *value_whole(const struct value *value)
{
    const struct op *op = value->op;

    return op->steps && value->dtype == DTYPE_FLOAT32 ? op->inputs[0] : NULL;
}

/* Of a padding: that of what is padded; of parts of one value its own. */
static const struct op *parts_rounded(const struct op *concat)
{
    const struct op *back = NULL;

    for (int i = 0; i < concat->input_count; i++) {
        const struct op *own;

        if (value_is_filled(concat->inputs[i], 0.0))
            continue;
        own = value_rounded(concat->inputs[i]);
        if (!own)
            return NULL;
        if (back && own != back)
            return NULL;
        back = own;
    }
    return back;
}

const struct op *value_rounded(const struct value *value)
{
    for (;;) {
        const struct op *op = value->op;

        if (value_whole(value))
            return op;
        if (op->code == GRAPH_OP_CONCAT)
            return parts_rounded(op);
        if (op->code == GRAPH_OP_FENCE)
            value = op->inputs[value->result];
        else if (op->code == GRAPH_OP_VIEW || (op->code == GRAPH_OP_POOL && op->window.kind == POOL_MAX) ||
                 (op->code == GRAPH_OP_MAP && op->input_count == 1 && dag_is_identity(op->dag)))
            value = op->inputs[0];
        else
            return NULL;
    }
}

bool op_is_calibrated(const struct op *op)
{
    return value_rounded(op->inputs[0]) != NULL;
}

/* ---- bounds -------------------------------------------------------------------------------------------------- */

static bool is_number(const struct dag *dag, int node, double *number)
{
    *number = dag->nodes[node].number;
    return dag->nodes[node].prim == PRIM_CONST;
}

/* Of maximum and minimum the operand that is not the number. */
static int other_than_number(const struct dag *dag, const struct dag_node *node, double *number)
{
    for (int i = 0; i < 2; i++)
        if (is_number(dag, node->args[i], number))
            return node->args[1 - i];
    return -1;
}

static bool bounds_of(const struct dag *dag, int at, double *least, double *most)
{
    const struct dag_node *node = &dag->nodes[at];
    double number;
    int inner = -1;

    if (node->dtype != DTYPE_FLOAT32)
        return false;
    if (node->prim == PRIM_LOAD)
        return true;
    if (node->prim == PRIM_MAX || node->prim == PRIM_MIN) {
        inner = other_than_number(dag, node, &number);
    } else if (node->prim == PRIM_SELECT) { /* relu: where(x <= 0, 0, x) */
        const struct dag_node *condition = &dag->nodes[node->args[0]];
        double limit;

        if (condition->prim == PRIM_LE && condition->args[0] == node->args[2] &&
            is_number(dag, condition->args[1], &limit) && is_number(dag, node->args[1], &number) &&
            limit == number)
            inner = node->args[2];
    }
    if (inner < 0 || !bounds_of(dag, inner, least, most))
        return false;
    if (node->prim != PRIM_MIN)
        *least = fmax(*least, number);
    *most = node->prim == PRIM_MIN ? fmin(*most, number) : fmax(*most, number);
    *least = fmin(*least, *most);
    return true;
}

bool op_bounds(const struct op *map, double *least, double *most)
{
    *least = -(double)INFINITY;
    *most = (double)INFINITY;
    return map->code == GRAPH_OP_MAP && map->input_count == 1 && !map->steps &&
           bounds_of(map->dag, map->dag->result, least, most);
}

/* ---- readers ------------------------------------------------------------------------------------------------- */

static bool only_looks(const struct op *op, const struct value *value)
{
    if (op->code != GRAPH_OP_FENCE)
        return false;
    for (int i = op->fence.seen; i < op->input_count; i++)
        if (op->inputs[i] == value)
            return false;
    return true;
}

struct op *pass_only_reader(const struct value *value)
{
    struct op *reader = NULL;

    for (int i = 0; i < value->user_count; i++) {
        if (only_looks(value->users[i], value))
            continue;
        if (reader)
            return NULL;
        reader = value->users[i];
    }
    return value->returned > 0 ? NULL : reader;
}

/* What it goes on as behind the op, where that is a boundary, a view, or a map that scales, shifts or bounds. NULL: another op. */
static const struct value *behind(const struct graph *graph, const struct op *op, const struct value *value)
{
    double least, most;

    if (op->code == GRAPH_OP_FENCE) {
        for (int i = op->fence.seen; i < op->input_count; i++)
            if (op->inputs[i] == value)
                return op->outputs[i];
        return NULL;
    }
    if (op->code == GRAPH_OP_VIEW || op_bounds(op, &least, &most))
        return op->outputs[0];
    if (op->code != GRAPH_OP_MAP || op->input_count != 2 || op->steps)
        return NULL;

    const struct dag_node *node = &op->dag->nodes[op->dag->result];
    struct value *factor = op->inputs[op->inputs[0] == value];

    return (node->prim == PRIM_MUL || node->prim == PRIM_ADD) &&
                   op->dag->nodes[node->args[0]].prim == PRIM_LOAD &&
                   op->dag->nodes[node->args[1]].prim == PRIM_LOAD && factor != value &&
                   value_is_static(graph, factor) && dims_equal(op->outputs[0], value)
               ? op->outputs[0]
               : NULL;
}

/* Whether the rounded value is only scaled, shifted or bounded, and rounded then. */
static bool is_rounded_later(const struct graph *graph, const struct value *value)
{
    bool changed = false;
    const struct op *op;

    while ((op = pass_only_reader(value)) != NULL) {
        if (op->steps && op->outputs[0]->dtype == DTYPE_INT8)
            return changed;
        changed |= op->code == GRAPH_OP_MAP;
        value = behind(graph, op, value);
        if (!value)
            return false;
    }
    return false;
}

static bool is_mean(const struct op *op)
{
    return op->code == GRAPH_OP_POOL && op->window.kind == POOL_AVG;
}

/* The mean of windows is rounded to the steps that the windows have. */
static void round_mean(struct graph *graph, const struct op *pool)
{
    const struct op *back = value_rounded(pool->inputs[0]);
    int at = graph_position(graph, pool) + 1;
    struct value *was = pool->outputs[0], *whole;

    if (!back)
        return;
    whole = make_quantized(site_by(graph, &at, pool), was, back->steps);
    graph_replace(graph, was, make_dequantized(site_by(graph, &at, pool), whole, back->steps));
    graph_input(graph, whole->op, 0, was);
}

void pass_ranges(struct graph *graph)
{
    if (!graph->program->tree->calibrated)
        return;
    pass_prepare(graph);
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        const struct op *back;

        if (is_mean(op))
            round_mean(graph, op);
        if (!op->steps || op->outputs[0]->dtype != DTYPE_INT8)
            continue;
        back = pass_only_reader(op->outputs[0]); /* lowering has made it */
        if (back && (value_rounded(op->inputs[0]) ||
                     (!is_mean(op->inputs[0]->op) && is_rounded_later(graph, back->outputs[0]))))
            graph_replace(graph, back->outputs[0], op->inputs[0]);
    }
    graph_sweep_unused(graph);
}
