/* prepare.c - marks what depends on parameters and constants alone, and brings it into a form that MODEL_pack computes
 * in one step: views of prepared maps move to the maps' inputs. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

/* Of static values alone, and of constant dims: the sum of a constant that is expanded over a size is not the same in every call. */
static bool is_prepared(const struct graph *graph, const struct op *op)
{
    for (int i = 0; i < op->input_count; i++)
        if (!value_is_static(graph, op->inputs[i]) || !value_has_constant_dims(op->inputs[i]))
            return false;
    return op->input_count > 0 && value_has_constant_dims(op->outputs[0]);
}

/* Whether sizes or extents are in what is computed. */
static bool knows_sizes(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_DIM)
            return true;
    return false;
}

static bool runs_once(const struct graph *graph, const struct op *op)
{
    const struct op_row *row = op_rows[op->code];

    if (op->output_count != 1 || (op->code != GRAPH_OP_MAP && !(row->once && row->once(op))))
        return false;
    return !knows_sizes(op->dag) && !knows_sizes(op->head) && !knows_sizes(op->tail) &&
           is_prepared(graph, op);
}

/* Whether all that reads it runs once, and takes views as they are: nothing is gained by a map of its own. */
static bool is_read_as_view(const struct value *view)
{
    for (int u = 0; u < view->user_count; u++) {
        const struct op *user = view->users[u];

        if (user->output_count == 0 || !user->outputs[0]->prepared || op_rows[user->code]->body)
            return false;
    }
    return view->user_count > 0;
}

/* view(map(x, ...)) becomes map(view(x), ...), for permutations and for reshapes that only add or drop ones. */
static bool lift_view(struct graph *graph, int at)
{
    struct op *view = graph->ops[at], *map = view->inputs[0]->op, *copy;
    struct value *inner = view->inputs[0], *out = view->outputs[0];

    if (map->code != GRAPH_OP_MAP || !inner->prepared || is_read_as_view(out))
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
    for (int i = first; i < graph->op_count && graph->ops[i] != end; i++)
        if (runs_once(graph, graph->ops[i]))
            graph->ops[i]->outputs[0]->prepared = true;
    for (int i = first; i < graph->op_count && graph->ops[i] != end; i++)
        if (graph->ops[i]->code == GRAPH_OP_VIEW && lift_view(graph, i))
            i--; /* what was put there may be such a view */
}

void pass_prepare(struct graph *graph)
{
    pass_prepare_from(graph, 0, NULL);
}
