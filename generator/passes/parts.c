/* parts.c - a product whose second operand is a concatenation of what lies elsewhere, a cache of keys and what is new, reads its
 * parts: x . cat(a, b) side by side becomes cat(x . a, x . b), one above the other x' . a + x'' . b. The concatenation is
 * never made: of a cache it would be a copy in every call. Where steps make all of its parts they write there at once
 * (note [joins] in plan_join.h), so that nothing is gained. Apart from views.c, since it adds products. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <string.h>

enum { MOST_PARTS = 4 };

/* It lies where a caller, or the model, keeps it. */
static bool is_kept(struct value *value)
{
    return op_rows[value_root(value)->op->code]->lent;
}

/* The concatenation that the product alone reads, perhaps through permutations, and the axis of what it reads. */
static const struct op *joined_operand(const struct op *product, int *axis)
{
    const struct value *value = product->inputs[1];
    int back[MAX_DIMS]; /* which axis of what the product reads is this one's */
    bool any = false;

    for (int i = 0; i < value->ndim; i++)
        back[i] = i;
    while (graph_uses(value) == 1 && value->op->code == GRAPH_OP_VIEW &&
           value->op->view.kind == VIEW_PERMUTE) {
        int inner[MAX_DIMS];

        for (int i = 0; i < value->ndim; i++)
            inner[value->op->view.perm[i]] = back[i];
        memcpy(back, inner, (size_t)value->ndim * sizeof *back);
        value = value->op->inputs[0];
    }
    if (value->op->code != GRAPH_OP_CONCAT || graph_uses(value) != 1 || value->op->input_count > MOST_PARTS)
        return NULL;
    for (int i = 0; i < value->op->input_count; i++)
        any |= is_kept(value->op->inputs[i]);
    *axis = back[value->op->concat.axis];
    return any && *axis >= value->ndim - 2 ? value->op : NULL;
}

/* The part as the product reads the whole. */
static struct value *seen_part(struct graph *graph, int *at, struct value *part, const struct value *whole)
{
    if (whole->op->code == GRAPH_OP_CONCAT)
        return part;
    part = seen_part(graph, at, part, whole->op->inputs[0]);
    return make_permute(site_by(graph, at, part->op), part, whole->op->view.perm);
}

static struct dag *sum_of_two(struct arena *arena, enum dtype dtype)
{
    struct dag *dag = dag_new(arena, 2);

    dag->result = dag_prim(arena, dag, PRIM_ADD, dtype, dag_load(arena, dag, 0, dtype),
                           dag_load(arena, dag, 1, dtype), -1);
    return dag;
}

static void read_parts(struct graph *graph, int *at, struct op *product, const struct op *concat, int axis)
{
    struct arena *arena = &graph->cx->arena;
    struct value *y = product->outputs[0], *x = product->inputs[0], *whole = product->inputs[1],
                 *parts[MOST_PARTS], *made;
    const struct dim *start = dim_const(arena, 0);
    bool beside = axis == whole->ndim - 1;

    for (int i = 0; i < concat->input_count; i++) {
        struct op *copy = make_like(graph, product);
        const struct dim *dims[MAX_DIMS], *extent = concat->inputs[i]->dims[concat->concat.axis];

        copy->inputs[1] = seen_part(graph, at, concat->inputs[i], whole);
        if (!beside)
            copy->inputs[0] = make_slice(site_by(graph, at, x->op), x, x->ndim - 1, start,
                                         dim_const(arena, 1), extent);
        memcpy(dims, y->dims, sizeof dims);
        if (beside)
            dims[y->ndim - 1] = extent;
        parts[i] = graph_value(graph, copy, y->dtype, y->ndim, dims);
        graph_insert(graph, (*at)++, copy);
        start = dim_add(arena, start, extent);
    }
    if (beside) {
        struct op *joined = make_like(graph, concat);

        joined->concat.axis = y->ndim - 1;
        joined->call = product->call;
        joined->loc = product->loc;
        for (int i = 0; i < concat->input_count; i++)
            joined->inputs[i] = parts[i];
        made = graph_value(graph, joined, y->dtype, y->ndim, y->dims);
        graph_insert(graph, (*at)++, joined);
    } else {
        made = parts[0];
        for (int i = 1; i < concat->input_count; i++) {
            struct value *pair[2] = {made, parts[i]};

            made = make_map(site_by(graph, at, pair[0]->op), "add", sum_of_two(arena, y->dtype), pair, 2);
        }
    }
    graph_replace(graph, y, made);
    graph_remove(graph, (*at)--);
}

void pass_parts(struct graph *graph)
{
    if (graph->fenced)
        return;
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        const struct op *concat;
        int axis;

        if (op->code != GRAPH_OP_CONTRACT || op->contract.bias || op->tail ||
            value_is_static(graph, op->inputs[1]))
            continue;
        concat = joined_operand(op, &axis);
        if (concat && concat->input_count > 1 &&
            !pass_write_between(graph, concat, graph_position(graph, concat), i))
            read_parts(graph, &i, op, concat, axis);
    }
    graph_sweep_unused(graph);
}
