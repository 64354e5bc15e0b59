/* make.c - puts ops into a graph: infers what they give, computes what constants alone decide. The ops that have attributes are
 * in make_ops.c. */
#include "graph/make.h"

#include <assert.h>
#include <string.h>

struct site site_by(struct graph *graph, int *at, const struct op *op)
{
    return (struct site){.cx = graph->cx, .graph = graph, .at = at, .loc = op->loc, .call = op->call};
}

struct op *make_op(struct site site, enum op_code code, const char *label, struct value *const *inputs,
                   int count)
{
    struct op *op = ARENA_NEW(&site.cx->arena, struct op);

    op->code = code;
    op->label = label;
    op->inputs = ARENA_ARRAY(&site.cx->arena, count + 1, struct value *);
    for (int i = 0; i < count; i++)
        op->inputs[i] = inputs[i];
    op->input_count = op->tail_first = count;
    op->call = site.call;
    op->loc = site.loc;
    return op;
}

struct op *make_like(struct graph *graph, const struct op *like)
{
    struct op *op = ARENA_NEW(&graph->cx->arena, struct op);

    *op = *like;
    op->placed = false;
    op->outputs = NULL;
    op->output_count = 0;
    op->inputs = ARENA_ARRAY(&graph->cx->arena, like->input_count + 1, struct value *);
    for (int i = 0; i < like->input_count; i++)
        op->inputs[i] = like->inputs[i];
    return op;
}

static struct value *add_result(struct site site, struct op *op)
{
    struct value *value = ARENA_NEW(&site.cx->arena, struct value);

    value->id = site.graph ? site.graph->value_count++ : 0;
    value->op = op;
    value->result = op->output_count;
    value->loc = op->loc;
    ARENA_PUSH(&site.cx->arena, op->outputs, op->output_count, value);
    return value;
}

static void put(struct site site, struct op *op)
{
    if (site.at)
        graph_insert(site.graph, (*site.at)++, op);
    else
        graph_append(site.graph, op);
}

struct value *make_const(struct site site, const struct tensor *tensor)
{
    struct op *op = make_op(site, GRAPH_OP_CONST, "const", NULL, 0);
    struct value *value = add_result(site, op);

    value->dtype = tensor->dtype;
    value->ndim = tensor->ndim;
    for (int i = 0; i < tensor->ndim; i++)
        value->dims[i] = dim_const(&site.cx->arena, tensor->dims[i]);
    value->constant = tensor;
    if (site.graph)
        put(site, op);
    return value;
}

/* ---- while lowering --------------------------------------------------------------------------------------------- */

/* No length is negative, and a window fits at least once. */
static void need_lengths(struct site site, const struct op *op)
{
    const struct dim *one = dim_const(&site.cx->arena, 1);
    const struct value *out = op->outputs[0];
    bool window = op_rows[op->code]->windows;

    for (int i = 0; i < out->ndim; i++)
        graph_need(site.graph,
                   (struct need){.dim = window && i >= 2 ? dim_sub(&site.cx->arena, out->dims[i], one)
                                                         : out->dims[i]});
}

/* What an op gives that has nothing to compute: no elements, or sums and products of none. NULL: it has. */
static struct value *nothing(struct site site, const struct op *op)
{
    const struct value *out = op->outputs[0];
    int result = op_rows[op->code]->nothing ? op_rows[op->code]->nothing(op) : -1;
    struct tensor *number;
    struct value *value;

    if (result < 0)
        return NULL;
    number = ARENA_NEW(&site.cx->arena, struct tensor);
    number->dtype = DTYPE_INT64;
    number->data = ARENA_NEW(&site.cx->arena, union scalar);
    number->data[0].i = result;
    value = make_cast(site, make_const(site, number), out->dtype);
    return value ? make_expand(site, value, out->ndim, out->dims) : NULL;
}

/* All that the result depends on is known. */
static bool is_known(const struct op *op)
{
    bool known = op->input_count > 0 || op_rows[op->code]->interpret;

    for (int i = 0; op->dag && i < op->dag->count; i++)
        known &= op->dag->nodes[i].prim != PRIM_DIM;
    for (int i = 0; i < op->input_count; i++)
        known &= op->inputs[i]->constant != NULL;
    for (int i = 0; i < op->outputs[0]->ndim; i++)
        known &= dim_is_const(op->outputs[0]->dims[i], NULL);
    return known;
}

/* Computes the op where that can be, else puts it there. */
static struct value *lower(struct site site, struct op *op)
{
    struct graph *graph = site.graph;
    struct tensor *computed = is_known(op) ? op_interpret(site.cx, op) : NULL;
    struct value *without;

    if (computed) {
        struct value *value = make_const(site, computed);

        value->sharing.view = op->code == GRAPH_OP_VIEW ? op : NULL;
        return value;
    }
    assert(graph || is_known(op)); /* without one there are no inputs */
    if (!graph || (graph->of_tree && is_known(op))) {
        diag_error(site.cx, site.loc, "this is too much to be computed while generating");
        return NULL;
    }
    need_lengths(site, op);
    without = nothing(site, op);
    for (int i = 0; without && graph->saves && i < op->input_count; i++)
        ARENA_PUSH(&site.cx->arena, graph->unread, graph->unread_count, op->inputs[i]);
    if (without)
        return without;
    put(site, op);
    return op->outputs[0];
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

struct value *make_result(struct site site, struct op *op)
{
    const char *fault;

    op->loc = site.loc;
    if (op->output_count == 0)
        add_result(site, op);
    assert(!op_broken(site.cx, op));
    fault = op_rows[op->code]->infer(site.cx, op);
    if (fault) {
        diag_error(site.cx, site.loc, "%s", fault);
        return NULL;
    }
    if (site.lowers)
        return lower(site, op);
    put(site, op);
    return op->outputs[0];
}

struct value *make_view(struct site site, struct op *op, int ndim, const struct dim *const *dims)
{
    struct value *out;

    op->loc = site.loc;
    out = add_result(site, op);
    out->ndim = ndim;
    if (ndim > 0) /* of a scalar there may be no list */
        memcpy(out->dims, dims, (size_t)ndim * sizeof *dims);
    return make_result(site, op);
}

void make_results(struct site site, struct op *op, int count)
{
    const char *fault;

    op->loc = site.loc;
    for (int i = 0; i < count; i++)
        add_result(site, op);
    fault = op_broken(site.cx, op);
    assert(!fault);
    fault = op_rows[op->code]->infer(site.cx, op);
    assert(!fault);
    (void)fault;
    if (site.lowers)
        need_lengths(site, op);
    put(site, op);
}

/* A constant of one element that does not shape a result of `ndim` dimensions reads as a number inside a dag. */
static bool is_number(struct site site, const struct value *value, int ndim)
{
    return site.lowers && value->ndim < ndim && value->constant && tensor_count(value->constant) == 1;
}

static int number_node(struct arena *arena, struct dag *dag, const struct value *value)
{
    const union scalar number = value->constant->data[0];

    return dtype_is_float(value->dtype) ? dag_const(arena, dag, value->dtype, number.f)
                                        : dag_integer(arena, dag, value->dtype, number.i);
}

struct value *make_map(struct site site, const char *label, struct dag *dag, struct value *const *tensors,
                       int count)
{
    struct arena *arena = &site.cx->arena;
    struct dag *own = dag_new(arena, count);
    struct value **inputs = ARENA_ARRAY(arena, count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, count + 1, int);
    int used = 0, ndim = 0;
    struct op *op;

    for (int i = 0; i < count; i++)
        ndim = tensors[i]->ndim > ndim ? tensors[i]->ndim : ndim;
    for (int i = 0; i < count; i++) {
        int at = 0;

        if (is_number(site, tensors[i], ndim)) {
            nodes[i] = number_node(arena, own, tensors[i]);
            continue;
        }
        while (at < used && inputs[at] != tensors[i])
            at++;
        if (at == used)
            inputs[used++] = tensors[i];
        nodes[i] = dag_load(arena, own, at, tensors[i]->dtype);
    }
    own->input_count = used;
    own->result = dag_inline(arena, own, dag, nodes);
    op = make_op(site, GRAPH_OP_MAP, label, inputs, used);
    op->dag = own;
    return make_result(site, op);
}

struct value *make_cast(struct site site, struct value *value, enum dtype dtype)
{
    struct arena *arena = &site.cx->arena;
    struct dag *dag = dag_new(arena, 1);

    if (value->dtype == dtype)
        return value;
    dag->result = dag_cast(arena, dag, dag_load(arena, dag, 0, value->dtype), dtype);
    return make_map(site, dtype_rows[dtype].name, dag, &value, 1);
}

struct value *make_copy(struct site site, struct value *value)
{
    return make_map(site, "copy", dag_identity(&site.cx->arena, value->dtype), &value, 1);
}
