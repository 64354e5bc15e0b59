/* prepare.c - marks what depends on parameters and constants alone, and brings it into a form that MODEL_pack computes
 * in one step: views of prepared maps move to the maps' inputs, products become sums. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* Of static values alone, and of constant dims. */
static bool is_prepared(const struct graph *graph, const struct op *op)
{
    for (int i = 0; i < op->input_count; i++)
        if (!value_is_static(graph, op->inputs[i]))
            return false;
    for (int i = 0; i < op->outputs[0]->ndim; i++)
        if (!dim_is_const(op->outputs[0]->dims[i], NULL))
            return false;
    return op->input_count > 0;
}

/* Whether sizes or extents are in what is computed. */
static bool knows_sizes(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_DIM)
            return true;
    return false;
}

static bool has_elements(const struct value *value)
{
    int64_t extent;

    for (int i = 0; i < value->ndim; i++)
        if (!dim_is_const(value->dims[i], &extent) || extent == 0)
            return false;
    return true;
}

static bool runs_once(const struct graph *graph, const struct op *op)
{
    if (op->code != GRAPH_OP_MAP && (op->code != GRAPH_OP_REDUCE || !has_elements(op->inputs[0])))
        return false;
    return !knows_sizes(op->dag) && !knows_sizes(op->head) && !knows_sizes(op->tail) &&
           is_prepared(graph, op);
}

/* Whether a sum may read it as often as it wants: what lies there, or is a sum; a map would be computed for each term. */
static bool is_at_hand(struct value *value)
{
    const struct value *root = value_root(value);

    return root->op->code != GRAPH_OP_MAP;
}

/* A product of (..., m, k) and (..., k, n) becomes the sum over k of (..., m, k, 1) times (..., 1, k, n). */
static bool sum_product(struct graph *graph, int at)
{
    enum {
        LARGE = 1 << 26
    }; /* multiply-adds from which on kernels of products pay even where they run in every call */
    struct op *product = graph->ops[at];
    struct value *pair[2], *sum;
    struct dag *dag;
    bool axes[MAX_DIMS] = {false};

    if (product->code != GRAPH_OP_CONTRACT || product->contract.bias || product->tail ||
        product->input_count != 2 || !dtype_is_float(product->outputs[0]->dtype) ||
        !is_at_hand(product->inputs[0]) || !is_at_hand(product->inputs[1]) || !is_prepared(graph, product) ||
        !has_elements(product->inputs[0]) || product->outputs[0]->ndim == MAX_DIMS ||
        op_macs(product) > LARGE)
        return false;
    for (int i = 0; i < 2; i++) {
        struct value *operand = product->inputs[i];
        const int ones = operand->ndim - 2 * i; /* the new axis: behind all, or in front of the last two */
        const struct dim *dims[MAX_DIMS];

        for (int d = 0; d <= operand->ndim; d++)
            dims[d] = d < ones   ? operand->dims[d]
                      : d > ones ? operand->dims[d - 1]
                                 : dim_const(&graph->cx->arena, 1);
        pair[i] = make_reshape(site_by(graph, &at, product), operand, operand->ndim + 1, dims);
    }
    dag = dag_new(&graph->cx->arena, 2);
    dag->result = dag_prim(&graph->cx->arena, dag, PRIM_MUL, pair[0]->dtype,
                           dag_load(&graph->cx->arena, dag, 0, pair[0]->dtype),
                           dag_load(&graph->cx->arena, dag, 1, pair[1]->dtype), -1);
    sum = make_map(site_by(graph, &at, product), "mul", dag, pair, 2);
    axes[sum->ndim - 2] = true;
    sum = make_reduce(site_by(graph, &at, product), sum, REDUCE_SUM, axes, false);
    value_take_name(sum, product->outputs[0]);
    graph_replace(graph, product->outputs[0], sum);
    graph_remove(graph, at);
    return true;
}

/* view(map(x, ...)) becomes map(view(x), ...), for permutations and for reshapes that only add or drop ones. */
static bool lift_view(struct graph *graph, int at)
{
    struct op *view = graph->ops[at], *map = view->inputs[0]->op, *copy;
    struct value *inner = view->inputs[0], *out = view->outputs[0];

    if (map->code != GRAPH_OP_MAP || !inner->prepared)
        return false;
    if (view->view.kind == VIEW_RESHAPE) {
        int i = 0, j = 0; /* the same dims but for ones */

        while (i < inner->ndim || j < out->ndim) {
            if (i < inner->ndim && j < out->ndim && dim_equal(inner->dims[i], out->dims[j]))
                i++, j++;
            else if (i < inner->ndim && dim_equals(inner->dims[i], 1))
                i++;
            else if (j < out->ndim && dim_equals(out->dims[j], 1))
                j++;
            else
                return false;
        }
    } else if (view->view.kind != VIEW_PERMUTE) {
        return false;
    }
    copy = make_like(graph, map);
    for (int i = 0; i < copy->input_count; i++) {
        struct value *input = copy->inputs[i];
        const struct dim *dims[MAX_DIMS];

        if (view->view.kind == VIEW_RESHAPE) {
            input = make_expand(site_by(graph, &at, input->op), input, inner->ndim, inner->dims);
            copy->inputs[i] = make_reshape(site_by(graph, &at, input->op), input, out->ndim, out->dims);
            continue;
        }
        for (int d = 0; d < inner->ndim;
             d++) { /* broadcast axes may stay 1: they are permuted all the same */
            int from = d - (inner->ndim - input->ndim);

            dims[d] = from < 0 ? dim_const(&graph->cx->arena, 1) : input->dims[from];
        }
        input = make_reshape(site_by(graph, &at, input->op), input, inner->ndim, dims);
        copy->inputs[i] = make_permute(site_by(graph, &at, input->op), input, view->view.perm);
    }
    graph_value(graph, copy, out->dtype, out->ndim, out->dims);
    copy->outputs[0]->prepared = true;
    graph_insert(graph, at++, copy);
    graph_replace(graph, out, copy->outputs[0]);
    graph_remove(graph, at);
    return true;
}

void pass_prepare_from(struct graph *graph, int first, const struct op *end)
{
    if (!graph->program->settings.pack)
        return;
    for (int i = first; i < graph->op_count && graph->ops[i] != end; i++) {
        struct op *op = graph->ops[i];

        if ((op->code == GRAPH_OP_VIEW && lift_view(graph, i)) || sum_product(graph, i))
            i--; /* what was put there may be such a view */
        else if (runs_once(graph, op))
            op->outputs[0]->prepared = true;
    }
}

void pass_prepare(struct graph *graph)
{
    pass_prepare_from(graph, 0, NULL);
}
