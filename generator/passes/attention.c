/* attention.c - softmax(q . k) . v, or v . softmax(q . k)^T, becomes one op, so that no more than a few rows of scores are ever in memory: two products
 * of values that are not packed, a softmax between them, and what scales and masks the scores. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

#include <math.h>
#include <string.h>

/* A tail's printer takes no more. */
#define ATTENTION_MAX_OPERANDS 12

/* What is found, from the last op to the first. */
struct found {
    struct op *values, *softmax, *map, *scores; /* map: NULL where the tail of the scores does all */
    int at;                                     /* which input of the map the scores are */
};

/* A product of two values of one or two batch axes, neither of them a weight that is packed. */
static bool is_product(const struct graph *graph, const struct op *op)
{
    return op->code == GRAPH_OP_CONTRACT && !op->contract.bias && op->outputs[0]->ndim >= 2 &&
           op->outputs[0]->ndim <= 4 && dtype_is_float(op->outputs[0]->dtype) &&
           !value_is_static(graph, op->inputs[1]);
}

/* The op that makes a value with a single reader, where it can be computed in the place of `last`; else NULL. */
static struct op *maker(struct graph *graph, const struct value *value, const struct op *last)
{
    struct op *op = value->op;

    if (graph_uses(value) != 1 || !pass_may_join(graph, op, last) ||
        pass_write_between(graph, op, graph_position(graph, op), graph_position(graph, last)))
        return NULL;
    return op;
}

/* Of as many heads, one by one: the leading dimensions are those of the result. */
static bool has_heads(const struct value *scores, const struct value *y)
{
    bool same = scores->ndim == y->ndim && scores->dtype == y->dtype;

    for (int i = 0; same && i < y->ndim - 1; i++)
        same = dim_equal(scores->dims[i], y->dims[i]);
    return same;
}

/* One row for each head: no more than the keys are. */
static bool is_row(const struct value *scores)
{
    return dim_equals(scores->dims[scores->ndim - 2], 1);
}

static bool find(struct graph *graph, struct op *values, struct found *found)
{
    struct op *softmax, *op;
    const struct value *scores;

    *found = (struct found){.values = values};
    if (!is_product(graph, values))
        return false;
    softmax = found->softmax = maker(graph, values->inputs[0], values);
    if (!softmax || softmax->code != GRAPH_OP_SOFTMAX || softmax->softmax.log || softmax->tail ||
        !softmax_is_last(softmax))
        return false;
    scores = softmax->inputs[0];
    op = maker(graph, scores, values);
    if (op && op->code == GRAPH_OP_MAP) {
        found->map = op;
        while (found->at < op->input_count && (op->inputs[found->at]->op->code != GRAPH_OP_CONTRACT ||
                                               !dims_equal(op->inputs[found->at], scores)))
            found->at++;
        op = found->at < op->input_count ? maker(graph, op->inputs[found->at], values) : NULL;
    }
    found->scores = op;
    return op && is_product(graph, op) && has_heads(op->outputs[0], values->outputs[0]) && !is_row(scores) &&
           scores->dtype == op->outputs[0]->dtype &&
           op->input_count + values->input_count + (found->map ? found->map->input_count : 0) <=
               ATTENTION_MAX_OPERANDS;
}

/* The place of an operand among those of the head, which is added where it is new; its node. */
static int head_load(struct graph *graph, struct op *op, struct dag *dag, struct value *operand)
{
    int at = 3;

    while (at < op->input_count && op->inputs[at] != operand)
        at++;
    if (at == op->input_count)
        op->inputs[op->input_count++] = operand;
    return dag_load(&graph->cx->arena, dag, at - 2, operand->dtype);
}

/* The tail of the scores, then the map. */
static struct dag *join_head(struct graph *graph, struct op *op, const struct found *found)
{
    struct arena *arena = &graph->cx->arena;
    const struct op *scores = found->scores, *map = found->map;
    struct dag *dag = dag_new(arena, ATTENTION_MAX_OPERANDS);
    int nodes[ATTENTION_MAX_OPERANDS] = {dag_load(arena, dag, 0, scores->outputs[0]->dtype)};

    dag->result = nodes[0];
    if (scores->tail) {
        for (int i = scores->tail_first; i < scores->input_count; i++)
            nodes[1 + i - scores->tail_first] = head_load(graph, op, dag, scores->inputs[i]);
        dag->result = dag_inline(arena, dag, scores->tail, nodes);
    }
    if (map) {
        int made = dag->result;

        for (int i = 0; i < map->input_count; i++)
            nodes[i] = i == found->at ? made : head_load(graph, op, dag, map->inputs[i]);
        dag->result = dag_inline(arena, dag, map->dag, nodes);
    }
    dag->input_count = op->input_count - 2;
    return dag;
}

/* Are its elements 0, 1, 2, ... up to that length along an axis, counted from the last, and the same along all others? */
static bool is_range(const struct value *value, int axis, const struct dim *length)
{
    if (value->ndim <= axis || !dim_equal(value->dims[value->ndim - 1 - axis], length))
        return false;
    for (int i = 0; i < value->ndim; i++)
        if (value->ndim - 1 - i != axis && !dim_equals(value->dims[i], 1))
            return false;
    for (;;) {
        const struct op *op = value->op;
        bool from = op->code == GRAPH_OP_VIEW && op->view.kind == VIEW_SLICE && value->ndim == 1 &&
                    dim_equals(op->view.start, 0) && dim_equals(op->view.step, 1);
        bool cast = op->code == GRAPH_OP_MAP && op->input_count == 1 && op->dag->count == 2 &&
                    op->dag->nodes[op->dag->result].prim == PRIM_CAST && dtype_rows[value->dtype].bytes >= 4;

        if (!from && !cast && (op->code != GRAPH_OP_VIEW || op->view.kind != VIEW_RESHAPE))
            break;
        value = op->inputs[0];
    }
    for (int64_t i = 0; value->constant && i < tensor_count(value->constant); i++)
        if (value->constant->data[i].i != i)
            return false;
    return value->constant && dtype_is_int(value->dtype);
}

/* Is the node a load of the numbers of the queries, or of the keys? */
static bool is_number(const struct op *op, int node, bool of_keys)
{
    const struct dag_node *load = &op->head->nodes[node];
    const struct value *k = op->inputs[1], *y = op->outputs[0];
    const struct dim *length = of_keys ? k->dims[k->ndim - 1] : y->dims[y->ndim - 2];

    return load->prim == PRIM_LOAD && load->input > 0 &&
           is_range(op->inputs[2 + load->input], of_keys ? 0 : 1, length);
}

/* where(key - query <= ahead, scores, -inf) over all scores, as tril and is_causal make it: said by the op, so that nothing
 * is computed of keys that nobody sees. */
static void find_causal(struct graph *graph, struct op *op)
{
    const struct dag_node *nodes = op->head->nodes, *choice = &nodes[op->head->result], *kept, *gap, *ahead,
                          *fill;

    if (choice->prim != PRIM_SELECT)
        return;
    kept = &nodes[choice->args[0]];
    fill = &nodes[choice->args[2]];
    if (kept->prim != PRIM_LE || fill->prim != PRIM_CONST || fill->number != -(double)INFINITY)
        return;
    gap = &nodes[kept->args[0]];
    ahead = &nodes[kept->args[1]];
    if (gap->prim != PRIM_SUB || ahead->prim != PRIM_CONST || !dtype_is_int(ahead->dtype) ||
        ahead->integer < 0 || ahead->integer > INT32_MAX / 2 || !is_number(op, gap->args[0], true) ||
        !is_number(op, gap->args[1], false))
        return;
    op->attention.causal = true;
    op->attention.ahead = ahead->integer;
    op->head->result = choice->args[1];
    pass_drop_unread(graph, op, &op->head, 3);
}

static void join(struct graph *graph, const struct found *found)
{
    struct arena *arena = &graph->cx->arena;
    const struct op *values = found->values;
    struct op *op = make_like(graph, values);
    struct value *y = values->outputs[0];

    op->code = GRAPH_OP_ATTENTION;
    op->label = arena_format(arena, "attention%s",
                             values->tail && strncmp(values->label, "matmul", 6) == 0 ? values->label + 6
                                                                                      : "");
    op->attention.safe = found->softmax->softmax.safe;
    op->attention.causal = false;
    op->attention.ahead = 0;
    op->inputs = ARENA_ARRAY(arena, ATTENTION_MAX_OPERANDS + 4, struct value *);
    op->inputs[0] = found->scores->inputs[0];
    op->inputs[1] = found->scores->inputs[1];
    op->inputs[2] = values->inputs[1];
    op->input_count = 3;
    op->outputs = values->outputs;
    op->output_count = 1;
    op->head = join_head(graph, op, found);
    op->tail_first = op->input_count;
    for (int i = values->tail_first; values->tail && i < values->input_count; i++)
        op->inputs[op->input_count++] = values->inputs[i];
    find_causal(graph, op);
    graph_put(graph, graph_position(graph, values), op);
    y->op = op;
}

/* ---- v . softmax^T ------------------------------------------------------------------------------------------- */

/* Its last two axes change places. */
static struct value *turn_last(struct graph *graph, int *at, struct value *value)
{
    int perm[MAX_DIMS];

    for (int i = 0; i < value->ndim; i++)
        perm[i] = i < value->ndim - 2 ? i : 2 * value->ndim - 3 - i;
    return make_permute(site_by(graph, at, value->op), value, perm);
}

/* The weights that the product reads turned, which nothing else reads; NULL: it reads none. */
static struct value *turned_weights(const struct graph *graph, const struct op *op)
{
    const struct value *turned = op->inputs[1];
    const int last = turned->ndim - 1;

    if (!is_product(graph, op) || op->tail || turned->op->code != GRAPH_OP_VIEW ||
        turned->op->view.kind != VIEW_PERMUTE || graph_uses(turned) != 1 ||
        turned->op->inputs[0]->op->code != GRAPH_OP_SOFTMAX || graph_uses(turned->op->inputs[0]) != 1)
        return NULL;
    for (int i = 0; i <= last; i++)
        if (turned->op->view.perm[i] != (i < last - 1 ? i : 2 * last - 1 - i))
            return NULL;
    return turned->op->inputs[0];
}

/* v . w^T, as of channels whose pixels lie side by side, becomes (w . v^T)^T. */
static void turn_product(struct graph *graph, int *at, struct value *weights)
{
    struct op *op = graph->ops[*at], *copy = make_like(graph, op);
    struct value *y = op->outputs[0], *made;
    const struct dim *dims[MAX_DIMS];

    memcpy(dims, y->dims, sizeof dims);
    dims[y->ndim - 2] = y->dims[y->ndim - 1];
    dims[y->ndim - 1] = y->dims[y->ndim - 2];
    copy->inputs[0] = weights;
    copy->inputs[1] = turn_last(graph, at, op->inputs[0]);
    made = graph_value(graph, copy, y->dtype, y->ndim, dims);
    value_take_name(made, y);
    graph_insert(graph, (*at)++, copy);
    graph_replace(graph, y, turn_last(graph, at, made));
    graph_remove(graph, (*at)--);
}

void pass_attention(struct graph *graph)
{
    struct value *weights;
    struct found found;

    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CONTRACT &&
            (weights = turned_weights(graph, graph->ops[i])) != NULL)
            turn_product(graph, &i, weights);
    graph_sweep_unused(graph); /* the views that turned them */
    for (int i = 0; i < graph->op_count; i++)
        if (find(graph, graph->ops[i], &found))
            join(graph, &found);
    graph_sweep_unused(graph);
}
