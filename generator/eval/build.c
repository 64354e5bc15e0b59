/* build.c - appends ops to the graph that is being lowered: shapes are inferred at once, and what has only constant
 * inputs is computed at once. Apart from eval.c, which knows the spec's language; this file knows ops. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/graph.h"

struct op *op_new(struct eval *eval, enum op_code code, const char *label, struct value *const *inputs,
                  int count)
{
    struct op *op = ARENA_NEW(&eval->cx->arena, struct op);

    op->code = code;
    op->label = label;
    op->inputs = ARENA_ARRAY(&eval->cx->arena, count + 1, struct value *);
    for (int i = 0; i < count; i++)
        op->inputs[i] = inputs[i];
    op->input_count = op->tail_first = count;
    op->call = eval->call;
    op->outputs = ARENA_ARRAY(&eval->cx->arena, 1, struct value *);
    return op;
}

static struct value *new_value(struct eval *eval, struct op *op, struct loc loc)
{
    struct value *value = ARENA_NEW(&eval->cx->arena, struct value);

    value->id = eval->graph ? eval->graph->value_count++ : 0;
    value->op = op;
    value->loc = loc;
    return value;
}

struct value *build_const(struct eval *eval, struct loc loc, const struct tensor *tensor)
{
    struct op *op = op_new(eval, GRAPH_OP_CONST, "const", NULL, 0);
    struct value *value = new_value(eval, op, loc);

    op->loc = loc;
    op->outputs[0] = value;
    op->output_count = 1;
    value->dtype = tensor->dtype;
    value->ndim = tensor->ndim;
    for (int i = 0; i < tensor->ndim; i++)
        value->dims[i] = dim_const(&eval->cx->arena, tensor->dims[i]);
    value->constant = tensor;
    if (eval->graph)
        graph_append(eval->graph, op);
    return value;
}

bool build_is_full(struct eval *eval, struct loc loc)
{
    if (!eval->full && !eval->backward && eval->graph && eval->graph->op_count > GRAPH_MAX_OPS) {
        diag_error(eval->cx, loc, "%s has more than %d operations", eval->graph->name, GRAPH_MAX_OPS);
        eval->full = true;
    }
    return eval->full;
}

/* The shape of nested lists, all of one length at each depth, of numbers. -1: they are not. Raises `kind` to that of the
 * numbers: bool, int, float. */
static int nested_shape(const struct ev *data, int depth, int64_t *dims, enum ev_kind *kind)
{
    int ndim = depth;
    double number;

    if (data->kind != EV_TUPLE) {
        if (!ev_get_number(data, &number))
            return -1;
        *kind = data->kind > *kind ? data->kind : *kind;
        return depth;
    }
    if (depth == MAX_DIMS)
        return -1;
    dims[depth] = data->count;
    for (int i = 0; i < data->count; i++) {
        int64_t inner[MAX_DIMS] = {0};
        int found = nested_shape(&data->items[i], depth + 1, inner, kind);

        if (found < 0 || (i > 0 && found != ndim))
            return -1;
        ndim = found;
        for (int d = depth + 1; d < ndim; d++) {
            if (i > 0 && inner[d] != dims[d])
                return -1;
            dims[d] = inner[d];
        }
    }
    return data->count == 0 ? depth + 1 : ndim;
}

static union scalar *fill_nested(const struct ev *data, enum dtype dtype, union scalar *out)
{
    int64_t integer = 0;
    union scalar element = {.f = data->number};

    if (data->kind == EV_TUPLE) {
        for (int i = 0; i < data->count; i++)
            out = fill_nested(&data->items[i], dtype, out);
        return out;
    }
    if (data->kind == EV_FLOAT) {
        *out = dtype_convert(DTYPE_FLOAT64, dtype, element);
    } else {
        ev_get_int(data, &integer);
        element.i = integer;
        *out = dtype_convert(DTYPE_INT64, dtype, element);
    }
    return out + 1;
}

struct ev build_tensor(struct eval *eval, struct loc loc, const struct ev *data, const enum dtype *dtype)
{
    struct tensor *tensor = ARENA_NEW(&eval->cx->arena, struct tensor);
    enum ev_kind kind = EV_BOOL;

    tensor->ndim = nested_shape(data, 0, tensor->dims, &kind);
    if (tensor->ndim < 0)
        return ev_none(loc);
    tensor->dtype = dtype ? *dtype
                    : kind == EV_FLOAT || (data->kind == EV_TUPLE && tensor_count(tensor) == 0)
                        ? eval->default_dtype
                    : kind == EV_BOOL ? DTYPE_BOOL
                                      : DTYPE_INT64;
    tensor->data = ARENA_ARRAY(&eval->cx->arena, tensor_count(tensor) + 1, union scalar);
    fill_nested(data, tensor->dtype, tensor->data);
    return ev_tensor(loc, build_const(eval, loc, tensor));
}

void build_need(struct eval *eval, const struct dim *dim)
{
    if (eval->graph)
        graph_need(eval->graph, (struct need){.dim = dim});
}

void build_need_several(struct eval *eval, const struct dim *count)
{
    if (eval->graph)
        graph_need(eval->graph, (struct need){.dim = count, .not_one = true});
}

/* No length is negative, and a window fits at least once. */
static void need_lengths(struct eval *eval, const struct op *op)
{
    const struct dim *one = dim_const(&eval->cx->arena, 1);
    const struct value *out = op->outputs[0];
    bool window = op_rows[op->code]->windows;

    for (int i = 0; i < out->ndim; i++)
        build_need(eval, window && i >= 2 ? dim_sub(&eval->cx->arena, out->dims[i], one) : out->dims[i]);
}

/* What an op gives that has nothing to compute: no elements, or sums and products of none. NULL: it has. */
static struct value *nothing(struct eval *eval, struct loc loc, const struct op *op)
{
    const struct value *out = op->outputs[0];
    int result = op_rows[op->code]->nothing ? op_rows[op->code]->nothing(op) : -1;
    struct ev element;
    struct value *value;

    if (result < 0)
        return NULL;
    element = ev_int(eval, loc, result);
    value = build_scalar(eval, loc, &element);
    value = value ? build_cast(eval, loc, value, out->dtype) : NULL;
    return value ? build_expand(eval, loc, value, out->ndim, out->dims) : NULL;
}

/* Infers and checks an op whose output value is there; computes it where all inputs are constant, else appends it. */
static struct value *finish_op(struct eval *eval, struct loc loc, struct op *op, bool constant)
{
    const char *fault;

    op->loc = loc;
    op->output_count = 1;
    assert(!op_broken(eval->cx, op));
    fault = op_rows[op->code]->infer(eval->cx, op);
    if (fault) {
        diag_error(eval->cx, loc, "%s", fault);
        return NULL;
    }
    for (int i = 0; i < op->input_count; i++)
        constant &= op->inputs[i]->constant != NULL;
    for (int i = 0; i < op->outputs[0]->ndim; i++)
        constant &= dim_is_const(op->outputs[0]->dims[i], NULL);
    if (constant) {
        struct tensor *result = op_interpret(eval->cx, op);

        if (result)
            return build_const(eval, loc, result);
    }
    if (!eval->graph) {
        assert(constant); /* there are no inputs yet */
        diag_error(eval->cx, loc, "this is too much to be computed while generating");
        return NULL;
    }
    need_lengths(eval, op);

    struct value *without = nothing(eval, loc, op);

    for (int i = 0; without && eval->graph->saves && i < op->input_count; i++)
        ARENA_PUSH(&eval->cx->arena, eval->graph->unread, eval->graph->unread_count, op->inputs[i]);
    if (without)
        return without;
    graph_append(eval->graph, op);
    return op->outputs[0];
}

void build_outputs(struct eval *eval, struct loc loc, struct op *op, int count)
{
    const char *fault;

    op->loc = loc;
    op->output_count = count;
    op->outputs = ARENA_ARRAY(&eval->cx->arena, count, struct value *);
    for (int i = 0; i < count; i++) {
        op->outputs[i] = new_value(eval, op, loc);
        op->outputs[i]->result = i;
    }
    fault = op_broken(eval->cx, op);
    assert(!fault && eval->graph);
    fault = op_rows[op->code]->infer(eval->cx, op);
    assert(!fault);
    (void)fault;
    need_lengths(eval, op);
    graph_append(eval->graph, op);
}

struct value *build_op(struct eval *eval, struct loc loc, struct op *op)
{
    bool constant = op->input_count > 0 || op->code == GRAPH_OP_MAP;

    for (int i = 0; op->dag && i < op->dag->count; i++)
        if (op->dag->nodes[i].prim == PRIM_DIM)
            constant = false;
    op->outputs[0] = new_value(eval, op, loc);
    return finish_op(eval, loc, op, constant);
}

/* A constant of one element reads as a number inside a dag. */
static bool single(const struct value *value, union scalar *out)
{
    if (!value->constant || tensor_count(value->constant) != 1)
        return false;
    *out = value->constant->data[0];
    return true;
}

struct value *build_map(struct eval *eval, struct loc loc, const char *label, struct dag *dag,
                        struct value *const *tensors, int count)
{
    struct arena *arena = &eval->cx->arena;
    struct dag *own = dag_new(arena, count);
    struct value **inputs = ARENA_ARRAY(arena, count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, count + 1, int);
    int used = 0, ndim = 0;

    for (int i = 0; i < count; i++)
        ndim = tensors[i]->ndim > ndim ? tensors[i]->ndim : ndim;
    for (int i = 0; i < count; i++) {
        union scalar number;
        enum dtype dtype = tensors[i]->dtype;

        /* a one-element constant that does not shape the result is a number */
        if (tensors[i]->ndim < ndim && single(tensors[i], &number)) {
            struct dag_node node = {.prim = PRIM_CONST, .dtype = dtype, .args = {-1, -1, -1}};

            if (dtype_is_float(dtype))
                node.number = number.f;
            else
                node.integer = number.i;
            nodes[i] = dag_add(arena, own, node);
        } else {
            int at = 0;

            while (at < used && inputs[at] != tensors[i])
                at++;
            if (at == used)
                inputs[used++] = tensors[i];
            nodes[i] = dag_load(arena, own, at, dtype);
        }
    }
    own->input_count = used;
    own->result = dag_inline(arena, own, dag, nodes);

    struct op *op = op_new(eval, GRAPH_OP_MAP, label, inputs, used);

    op->dag = own;
    return build_op(eval, loc, op);
}

struct value *build_cast(struct eval *eval, struct loc loc, struct value *value, enum dtype dtype)
{
    struct dag *dag = dag_new(&eval->cx->arena, 1);

    if (value->dtype == dtype)
        return value;
    dag->result = dag_cast(&eval->cx->arena, dag, dag_load(&eval->cx->arena, dag, 0, value->dtype), dtype);
    return build_map(eval, loc, dtype_rows[dtype].name, dag, &value, 1);
}

bool build_type_fits(struct eval *eval, struct loc loc, const char *name, enum dtype dtype,
                     enum dtype written)
{
    if (dtype_category(written) <= dtype_category(dtype) || dtype_category(dtype) == 2)
        return true;
    diag_error(eval->cx, loc, "result type %s can't be cast to '%s' of type %s", dtype_rows[written].name,
               name, dtype_rows[dtype].name);
    diag_hint(eval->cx, "convert the value first, with .to(torch.%s)", dtype_rows[dtype].name);
    return false;
}

struct value *build_copy(struct eval *eval, struct loc loc, struct value *value)
{
    return build_map(eval, loc, "copy", dag_identity(&eval->cx->arena, value->dtype), &value, 1);
}

struct value *build_scalar(struct eval *eval, struct loc loc, const struct ev *number)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *tensor;
    int64_t integer = 0;

    if (number->kind == EV_TENSOR)
        return number->tensor;
    if (number->kind == EV_INT && !dim_is_const(number->dim, &integer)) {
        struct dag *dag = dag_new(arena, 0);
        struct dag_node node = {
            .prim = PRIM_DIM, .dtype = DTYPE_INT64, .args = {-1, -1, -1}, .dim = number->dim};

        dag->result = dag_add(arena, dag, node);
        return build_map(eval, loc, "size", dag, NULL, 0);
    }
    if (number->kind == EV_FLOAT && number->dag) {
        struct dag *dag = dag_new(arena, 0);

        dag->result = dag_cast(arena, dag, dag_inline(arena, dag, number->dag, NULL), eval->default_dtype);
        return build_map(eval, loc, "size", dag, NULL, 0);
    }
    tensor = ARENA_NEW(arena, struct tensor);
    tensor->data = ARENA_NEW(arena, union scalar);
    if (number->kind == EV_FLOAT) {
        tensor->dtype = eval->default_dtype;
        tensor->data[0].f = dtype_round(tensor->dtype, number->number);
    } else {
        tensor->dtype = number->kind == EV_BOOL ? DTYPE_BOOL : DTYPE_INT64;
        tensor->data[0].i = number->kind == EV_BOOL ? number->integer : integer;
    }
    return build_const(eval, loc, tensor);
}

enum dtype build_dtype(struct eval *eval, const struct ev *const *operands, int count)
{
    int best[3] = {-1, -1, -1}; /* tensors with dimensions, 0-dim tensors, numbers */

    for (int i = 0; i < count; i++) {
        const struct ev *x = operands[i];
        int kind = x->kind == EV_TENSOR ? (x->tensor->ndim > 0 ? 0 : 1) : 2;
        enum dtype dtype = x->kind == EV_TENSOR  ? x->tensor->dtype
                           : x->kind == EV_FLOAT ? eval->default_dtype
                           : x->kind == EV_BOOL  ? DTYPE_BOOL
                                                 : DTYPE_INT64;

        best[kind] = best[kind] < 0 ? (int)dtype : (int)dtype_promote((enum dtype)best[kind], dtype);
    }
    int dtype = best[0];

    for (int kind = 1; kind < 3; kind++) {
        if (best[kind] < 0)
            continue;
        if (dtype < 0)
            dtype = best[kind];
        else if (dtype_category((enum dtype)best[kind]) > dtype_category((enum dtype)dtype))
            dtype = dtype_category((enum dtype)best[kind]) == 2 && kind == 2
                        ? (int)eval->default_dtype
                        : (int)dtype_promote((enum dtype)dtype, (enum dtype)best[kind]);
    }
    return (enum dtype)dtype;
}

bool build_number_fits(struct eval *eval, const struct ev *x, enum dtype dtype)
{
    int bits = 8 * dtype_rows[dtype].bytes;
    int64_t integer, high, low;

    if (x->kind != EV_INT || !dtype_is_int(dtype) || bits == 64 || !dim_is_const(x->dim, &integer))
        return true;
    high = dtype == DTYPE_UINT8 ? 255 : ((int64_t)1 << (bits - 1)) - 1;
    low = dtype == DTYPE_UINT8 ? -255 : -high - 1;
    if (integer >= low && integer <= high)
        return true;
    diag_error(eval->cx, x->loc, "%lld does not fit the tensor's type %s", (long long)integer,
               dtype_rows[dtype].name);
    return false;
}

/* The node of one operand, cast to `dtype`; tensors are gathered in `tensors`. */
static int operand_node(struct eval *eval, struct dag *dag, const struct ev *x, enum dtype dtype,
                        struct value **tensors, int *count)
{
    struct arena *arena = &eval->cx->arena;
    struct dag_node node = {.args = {-1, -1, -1}, .dtype = DTYPE_INT64};
    int64_t integer = 0;

    if (x->kind == EV_TENSOR) {
        tensors[*count] = x->tensor;
        dag->input_count = *count + 1;
        (*count)++;
        return dag_cast(arena, dag, dag_load(arena, dag, *count - 1, x->tensor->dtype), dtype);
    }
    if (x->kind == EV_INT && !dim_is_const(x->dim, &integer)) {
        node.prim = PRIM_DIM;
        node.dim = x->dim;
        return dag_cast(arena, dag, dag_add(arena, dag, node), dtype);
    }
    if (x->kind == EV_FLOAT && x->dag)
        return dag_cast(arena, dag, dag_inline(arena, dag, x->dag, NULL), dtype);
    node.prim = PRIM_CONST;
    node.dtype = dtype;
    if (x->kind != EV_FLOAT)
        ev_get_int(x, &integer);
    if (dtype_is_float(dtype))
        node.number = dtype_round(dtype, x->kind == EV_FLOAT ? x->number : (double)integer);
    else /* a float would have made the operands meet in a floating type */
        node.integer = dtype == DTYPE_BOOL ? integer != 0 : integer;
    return dag_add(arena, dag, node);
}

/* The divisor of an integer division in `dtype`, which has no 0 where the call goes on. False after an error. */
static bool checked_divisor(struct eval *eval, struct loc loc, const struct ev *b, enum dtype dtype,
                            struct ev *out)
{
    int64_t integer;

    *out = *b;
    if (b->kind != EV_TENSOR) {
        if (!ev_get_int(b, &integer) || dtype_wrap(dtype, integer) != 0)
            return true;
        diag_error(eval->cx, b->loc, "integer division by zero");
        return false;
    }
    if (dtype_rows[dtype].bytes < dtype_rows[b->tensor->dtype].bytes) /* what is no 0 may become one */
        *out = ev_tensor(b->loc, build_cast(eval, loc, b->tensor, dtype));
    return out->kind == EV_TENSOR && build_divisor(eval, b->loc, out->tensor) != NULL;
}

static bool is_bool(const struct ev *x)
{
    return x->kind == EV_BOOL || (x->kind == EV_TENSOR && x->tensor->dtype == DTYPE_BOOL);
}

struct ev build_binary(struct eval *eval, struct loc loc, enum prim prim, const char *label,
                       const struct ev *a, const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *operands[2] = {a, b};
    enum dtype dtype = build_dtype(eval, operands, 2);
    struct dag *dag = dag_new(arena, 0);
    struct value *tensors[2];
    bool compare = prim >= PRIM_EQ && prim <= PRIM_GE, logic = prim >= PRIM_AND && prim <= PRIM_XOR;
    int count = 0, x, y, result = -1;
    struct ev divisor;
    double exponent;

    if (logic && !dtype_is_int(dtype) && dtype != DTYPE_BOOL) {
        diag_error(eval->cx, loc, "'%s' takes bool or integer tensors, not %s",
                   prim == PRIM_AND  ? "&"
                   : prim == PRIM_OR ? "|"
                                     : "^",
                   dtype_rows[dtype].name);
        return ev_bad(loc);
    }
    if (prim == PRIM_SUB && (is_bool(a) || is_bool(b))) {
        diag_error(eval->cx, loc, "'-' does not take a bool tensor%s",
                   a->kind == EV_BOOL || b->kind == EV_BOOL ? " or a bool" : "");
        diag_hint(eval->cx,
                  "use '^' for two of them, '~' to turn one, or convert it with .long() or .float() first");
        return ev_bad(loc);
    }
    if (prim == PRIM_DIV && !dtype_is_float(dtype))
        dtype = eval->default_dtype;
    if (dtype == DTYPE_BOOL && (prim == PRIM_FLOORDIV || prim == PRIM_MOD || prim == PRIM_POW)) {
        diag_error(eval->cx, loc, "'%s' is not defined for bool",
                   prim == PRIM_FLOORDIV ? "//"
                   : prim == PRIM_MOD    ? "%"
                                         : "**");
        diag_hint(eval->cx, "convert with .long() first");
        return ev_bad(loc);
    }
    if ((prim == PRIM_FLOORDIV || prim == PRIM_MOD) && !dtype_is_float(dtype)) {
        if (!checked_divisor(eval, loc, b, dtype, &divisor))
            return ev_bad(loc);
        b = &divisor;
    }
    if (prim == PRIM_POW && (!build_number_fits(eval, a, dtype) || !build_number_fits(eval, b, dtype)))
        return ev_bad(loc);
    x = operand_node(eval, dag, a, dtype, tensors, &count);
    if (prim == PRIM_POW && b->kind != EV_TENSOR && ev_get_number(b, &exponent)) {
        if (!dtype_is_float(dtype) && exponent < 0) {
            diag_error(eval->cx, b->loc, "integers to negative integer powers are not allowed");
            diag_hint(eval->cx, "convert with .float() first");
            return ev_bad(loc);
        }
        if (exponent == -2) /* the line's derivative has no 0 times infinity */
            return build_elementwise(eval, loc, elementwise_find("pow"), (struct ev[]){*a, *b}, 2);
    }
    if (result < 0) {
        y = operand_node(eval, dag, b, dtype, tensors, &count);
        if (dtype == DTYPE_BOOL && (prim == PRIM_ADD || prim == PRIM_MUL)) /* or, and */
            prim = prim == PRIM_ADD ? PRIM_OR : PRIM_AND;
        result = dag_prim(arena, dag, prim, compare ? DTYPE_BOOL : dtype, x, y, -1);
    }
    dag->result = result;
    return ev_tensor(loc, build_map(eval, loc, label, dag, tensors, count));
}

struct ev build_where(struct eval *eval, struct loc loc, struct value *condition, const struct ev *a,
                      const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    struct dag *dag = dag_new(arena, 1);
    struct value *tensors[3] = {condition};
    enum dtype dtype = build_dtype(eval, (const struct ev *const[]){a, b}, 2);
    int count = 1, x, y;

    if (!build_number_fits(eval, a, dtype) || !build_number_fits(eval, b, dtype))
        return ev_bad(loc);
    x = operand_node(eval, dag, a, dtype, tensors, &count);
    y = operand_node(eval, dag, b, dtype, tensors, &count);
    dag->result = dag_prim(arena, dag, PRIM_SELECT, dtype, dag_load(arena, dag, 0, DTYPE_BOOL), x, y);
    return ev_tensor(loc, build_map(eval, loc, "where", dag, tensors, count));
}

struct dag *build_number(struct eval *eval, const struct elementwise_row *row, const struct ev *x)
{
    struct arena *arena = &eval->cx->arena;
    struct dag *dag = dag_new(arena, 0);
    int node = operand_node(eval, dag, x, DTYPE_FLOAT64, NULL, NULL);

    dag->result = dag_inline(arena, dag, elementwise_dag(eval->cx, row, DTYPE_FLOAT64, NULL), &node);
    return dag;
}

struct dag *build_number_binary(struct eval *eval, enum prim prim, const struct ev *a, const struct ev *b)
{
    struct dag *dag = dag_new(&eval->cx->arena, 0);
    int x = operand_node(eval, dag, a, DTYPE_FLOAT64, NULL, NULL);
    int y = operand_node(eval, dag, b, DTYPE_FLOAT64, NULL, NULL);

    dag->result = dag_prim(&eval->cx->arena, dag, prim, DTYPE_FLOAT64, x, y, -1);
    return dag;
}

/* What a line says of the gradients of the map that was made of it: see ops.h. */
static void keep_gradients(struct eval *eval, struct op *map, const struct elementwise_row *row,
                           enum dtype dtype, const double *numbers, const struct ev *args)
{
    struct arena *arena = &eval->cx->arena;
    int count = map->input_count;

    map->gradients = ARENA_ARRAY(arena, count + 1, struct dag *);
    for (int i = 0; i < row->tensors; i++) {
        struct dag *line = elementwise_gradient(eval->cx, row, dtype, numbers, i), *own;
        int nodes[6], to = 0, unused = 0;

        while (to < count && map->inputs[to] != args[i].tensor)
            to++;
        if (!line || to == count)
            continue;
        own = map->gradients[to] ? map->gradients[to] : dag_new(arena, count + 2);
        for (int j = 0; j < row->tensors; j++) {
            const struct value *x = args[j].kind == EV_TENSOR ? args[j].tensor : NULL;
            int at = 0;

            while (at < count && map->inputs[at] != x)
                at++;
            if (at < count)
                nodes[j] = dag_load(arena, own, at, x->dtype);
            else if (x && dtype_is_float(x->dtype)) /* one element that is a number in the map */
                nodes[j] = dag_const(arena, own, x->dtype, x->constant->data[0].f);
            else if (x)
                nodes[j] = dag_integer(arena, own, x->dtype, x->constant->data[0].i);
            else
                nodes[j] = operand_node(eval, own, &args[j], dtype, NULL, &unused);
            nodes[j] = dag_cast(arena, own, nodes[j], dtype);
        }
        nodes[row->tensors] = dag_load(arena, own, count, dtype);
        nodes[row->tensors + 1] = dag_load(arena, own, count + 1, dtype);

        int flows = dag_cast(arena, own, dag_inline(arena, own, line, nodes), map->inputs[to]->dtype);

        own->result = map->gradients[to]
                          ? dag_prim(arena, own, PRIM_ADD, map->inputs[to]->dtype, own->result, flows, 0)
                          : flows;
        own->input_count = count + 2;
        map->gradients[to] = own;
    }
}

struct ev build_elementwise(struct eval *eval, struct loc loc, const struct elementwise_row *row,
                            struct ev *args, int count)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *operands[4];
    struct value *tensors[4];
    double numbers[8] = {0};
    const char *refused;
    enum dtype dtype;
    int used = 0, nodes[4];

    assert(row->tensors <= 4 && count <= 8);
    for (int i = 0; i < row->tensors; i++) {
        if (args[i].kind != EV_TENSOR && args[i].kind != EV_INT && args[i].kind != EV_FLOAT &&
            args[i].kind != EV_BOOL) {
            diag_error(eval->cx, args[i].loc, "%s takes a tensor, found %s",
                       eval->within ? eval->within : row->name, ev_kind_text(&args[i]));
            return ev_bad(loc);
        }
        operands[i] = &args[i];
    }
    for (int i = row->tensors; i < count; i++) {
        if (!ev_get_number(&args[i], &numbers[i - row->tensors])) {
            diag_error(eval->cx, args[i].loc,
                       "%s takes a number that is known while generating here, found %s", row->name,
                       ev_kind_text(&args[i]));
            return ev_bad(loc);
        }
    }
    dtype = build_dtype(eval, operands, row->tensors);
    refused = elementwise_refuses(eval->cx, row, dtype);
    if (refused) {
        diag_error(eval->cx, loc, "%s", refused);
        diag_hint(eval->cx, "convert first, as x.float()");
        return ev_bad(loc);
    }
    if ((row->flags & ELEMENTWISE_FLOAT) && !dtype_is_float(dtype))
        dtype = eval->default_dtype;
    refused = elementwise_refuses_numbers(eval->cx, row, numbers);
    if (refused) {
        diag_error(eval->cx, loc, "%s: %s", eval->within ? eval->within : row->name, refused);
        return ev_bad(loc);
    }

    struct dag *dag = dag_new(arena, 0);

    for (int i = 0; i < row->tensors; i++)
        if (!build_number_fits(eval, &args[i], dtype))
            return ev_bad(loc);
    for (int i = 0; i < row->tensors; i++)
        nodes[i] = operand_node(eval, dag, &args[i], dtype, tensors, &used);
    dag->result = dag_inline(arena, dag, elementwise_dag(eval->cx, row, dtype, numbers), nodes);

    struct value *value = build_map(eval, loc, row->name + (row->name[0] == '_'), dag, tensors, used);

    if (value && eval->graph && eval->graph->saves && value->op->code == GRAPH_OP_MAP &&
        dtype_is_float(value->dtype))
        keep_gradients(eval, value->op, row, dtype, numbers, args);
    return ev_tensor(loc, value);
}

/* ---- views ------------------------------------------------------------------------------------------------ */

static struct op *view_op(struct eval *eval, enum view_kind kind, struct value *value)
{
    static const char *const labels[] = {"permute", "slice", "expand", "reshape", "window"};
    struct op *op = op_new(eval, GRAPH_OP_VIEW, labels[kind], &value, 1);

    op->view.kind = kind;
    return op;
}

/* Views have the dims that they are given, so infer only checks them. */
static struct value *build_view(struct eval *eval, struct loc loc, struct op *op, int ndim,
                                const struct dim *const *dims)
{
    struct value *out = new_value(eval, op, loc);

    out->dtype = op->inputs[0]->dtype;
    out->ndim = ndim;
    memcpy(out->dims, dims, (size_t)ndim * sizeof *dims);
    op->outputs[0] = out;
    return finish_op(eval, loc, op, true);
}

struct value *build_permute(struct eval *eval, struct loc loc, struct value *value, const int *perm)
{
    const struct dim *dims[MAX_DIMS];
    struct op *op = view_op(eval, VIEW_PERMUTE, value);
    bool same = true;

    for (int i = 0; i < value->ndim; i++) {
        op->view.perm[i] = perm[i];
        dims[i] = value->dims[perm[i]];
        same &= perm[i] == i;
    }
    return same ? value : build_view(eval, loc, op, value->ndim, dims);
}

struct value *build_slice(struct eval *eval, struct loc loc, struct value *value, int axis,
                          const struct dim *start, const struct dim *step, const struct dim *length)
{
    const struct dim *dims[MAX_DIMS];
    struct op *op = view_op(eval, VIEW_SLICE, value);

    if (dim_equals(start, 0) && dim_equals(step, 1) && dim_equal(length, value->dims[axis]))
        return value;
    memcpy(dims, value->dims, sizeof dims);
    dims[axis] = length;
    op->view.axis = axis;
    op->view.start = start;
    op->view.step = step;
    return build_view(eval, loc, op, value->ndim, dims);
}

static bool same_dims(const struct value *value, int ndim, const struct dim *const *dims)
{
    bool same = value->ndim == ndim;

    for (int i = 0; same && i < ndim; i++)
        same = dim_equal(value->dims[i], dims[i]);
    return same;
}

struct value *build_reshape(struct eval *eval, struct loc loc, struct value *value, int ndim,
                            const struct dim *const *dims)
{
    if (same_dims(value, ndim, dims))
        return value;
    return build_view(eval, loc, view_op(eval, VIEW_RESHAPE, value), ndim, dims);
}

struct value *build_expand(struct eval *eval, struct loc loc, struct value *value, int ndim,
                           const struct dim *const *dims)
{
    if (same_dims(value, ndim, dims))
        return value;
    return build_view(eval, loc, view_op(eval, VIEW_EXPAND, value), ndim, dims);
}

struct value *build_concat(struct eval *eval, struct loc loc, const char *label, struct value *const *values,
                           int count, int axis)
{
    struct op *op;

    if (count == 1)
        return values[0];
    op = op_new(eval, GRAPH_OP_CONCAT, label, values, count);
    op->concat.axis = axis;
    return build_op(eval, loc, op);
}

struct value *build_flip(struct eval *eval, struct loc loc, struct value *value, int axis)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *length = value->dims[axis];

    if (dim_upper(length) <= 1)
        return value;
    return build_slice(eval, loc, value, axis, dim_sub(arena, length, dim_const(arena, 1)),
                       dim_const(arena, -1), length);
}

struct value *build_window(struct eval *eval, struct loc loc, const char *label, struct value *value,
                           int axis, int64_t size, int64_t step, int64_t dilation)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS + 1], *rest;
    struct op *op = view_op(eval, VIEW_WINDOW, value);

    assert(size >= 0 && step > 0 && dilation > 0);
    if (value->ndim == MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return NULL;
    }
    rest = dim_sub(arena, value->dims[axis], dim_const(arena, size > 0 ? (size - 1) * dilation + 1 : 0));
    if (dim_upper(rest) < 0) {
        diag_error(eval->cx, loc, "%s: dimension %d of %s is too short for windows of %lld", label, axis,
                   shape_text(arena, value->ndim, value->dims), (long long)((size - 1) * dilation + 1));
        return NULL;
    }
    build_need(eval, rest);
    memcpy(dims, value->dims, (size_t)value->ndim * sizeof *dims);
    dims[axis] = dim_add(arena, dim_floordiv(arena, rest, dim_const(arena, step)), dim_const(arena, 1));
    dims[value->ndim] = dim_const(arena, size);
    op->view.axis = axis;
    op->view.step = dim_const(arena, step);
    op->view.dilation = dim_const(arena, dilation);
    return build_view(eval, loc, op, value->ndim + 1, dims);
}

bool build_in_place(struct eval *eval, struct loc loc, const char *what, struct value *x, struct value *to)
{
    struct value *root = value_root(x);
    int back[MAX_DIMS];

    if (!eval->graph || value_root(to) == root || dim_equals(dims_count(&eval->cx->arena, x), 0))
        return true;
    if (value_is_slot(root)) {
        diag_error(eval->cx, loc, "%s would change a tensor of the model in place", what);
        diag_hint(eval->cx, "leave inplace=True away, and assign what it returns to self.NAME");
        return false;
    }
    for (struct value *v = x; to && v->op->code == GRAPH_OP_VIEW; v = v->op->inputs[0]) {
        const struct value *whole = v->op->inputs[0];

        if (v->op->view.kind == VIEW_RESHAPE) {
            to = build_reshape(eval, loc, to, whole->ndim, whole->dims);
        } else if (v->op->view.kind == VIEW_PERMUTE) {
            for (int i = 0; i < v->ndim; i++)
                back[v->op->view.perm[i]] = i;
            to = build_permute(eval, loc, to, back);
        } else if (root->op->code == GRAPH_OP_CONST) { /* what zeros(2, 3) makes: nobody else has it */
            v->newer = to;
            return true;
        } else {
            diag_error(eval->cx, loc,
                       "%s in place on a part of a tensor is not supported yet by this version of modc",
                       what);
            diag_hint(eval->cx, "leave inplace=True away, and use what it returns");
            return false;
        }
    }
    root->newer = to;
    return to != NULL;
}

/* ---- reductions and products ------------------------------------------------------------------------------ */

struct value *build_reduce(struct eval *eval, struct loc loc, struct value *value, enum reduce_kind kind,
                           const bool *axes, bool keepdim)
{
    static const char *const labels[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
    struct op *op;

    if (kind == REDUCE_SUM || kind == REDUCE_PROD)
        value = dtype_is_float(value->dtype) ? value : build_cast(eval, loc, value, DTYPE_INT64);
    if (kind == REDUCE_ANY || kind == REDUCE_ALL)
        value = build_cast(eval, loc, value, DTYPE_BOOL);
    if (!value)
        return NULL;
    op = op_new(eval, GRAPH_OP_REDUCE, labels[kind], &value, 1);
    op->reduce.kind = kind;
    op->reduce.keepdim = keepdim;
    memcpy(op->reduce.axes, axes, sizeof op->reduce.axes);
    return build_op(eval, loc, op);
}

static struct value *drop_axis(struct eval *eval, struct loc loc, struct value *value, int axis)
{
    const struct dim *dims[MAX_DIMS];
    int n = 0;

    for (int i = 0; i < value->ndim; i++)
        if (i != axis)
            dims[n++] = value->dims[i];
    return build_reshape(eval, loc, value, n, dims);
}

/* note [products of many dimensions]
 * The op has room for two batch dimensions. More of them become one: of rows where b is a matrix, else of a and b expanded to
 * what they broadcast to. */
static struct value *flat_product(struct eval *eval, struct loc loc, struct value *a, struct value *b,
                                  struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *wide[MAX_DIMS], *flat[3];
    struct value parts[2] = {*a, *b}, *pair[2] = {a, b}, *out;
    int ndim = 0, matrix = b->ndim == 2;

    for (int i = 0; i < 2; i++) {
        parts[i].ndim -= i == 0 && matrix ? 1 : 2;
        if (!(matrix && i == 1) && !dims_broadcast(eval->cx, dims, &ndim, &parts[i]))
            return NULL;
    }
    for (int i = 0; i < (matrix ? 1 : 2); i++) {
        int kept = pair[i]->ndim - parts[i].ndim;

        memcpy(wide, dims, sizeof *dims * (size_t)ndim);
        memcpy(wide + ndim, pair[i]->dims + parts[i].ndim, sizeof *dims * (size_t)kept);
        pair[i] = build_expand(eval, loc, pair[i], ndim + kept, wide);
        flat[0] = dim_const(arena, 1);
        for (int k = 0; k < ndim; k++)
            flat[0] = dim_mul(arena, flat[0], dims[k]);
        memcpy(flat + 1, wide + ndim, sizeof *flat * (size_t)kept);
        pair[i] = pair[i] ? build_reshape(eval, loc, pair[i], kept + 1, flat) : NULL;
        if (!pair[i])
            return NULL;
    }
    out = build_matmul(eval, loc, pair[0], pair[1], bias);
    if (!out)
        return NULL;
    memcpy(dims + ndim, out->dims + 1, sizeof *dims * (size_t)(out->ndim - 1));
    return build_reshape(eval, loc, out, ndim + out->ndim - 1, dims);
}

/* Batch dimensions broadcast, and there are more than two. */
static bool has_many(struct eval *eval, const struct value *a, const struct value *b)
{
    const struct dim *dims[MAX_DIMS];
    struct value x = *a, y = *b;
    int ndim = 0;

    x.ndim -= 2;
    y.ndim -= 2;
    return dims_broadcast(eval->cx, dims, &ndim, &x) && dims_broadcast(eval->cx, dims, &ndim, &y) && ndim > 2;
}

/* a (..., m, k) @ b (..., k, n) of integers, which wrap: the products (..., m, k, n), summed. */
static struct value *integer_product(struct eval *eval, struct loc loc, struct value *a, struct value *b,
                                     struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS + 1];
    bool axes[MAX_DIMS] = {false};
    struct ev x, y;
    struct value *out;
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;

    if (ndim == MAX_DIMS || !dim_equal(a->dims[a->ndim - 1], b->dims[b->ndim - 2])) {
        diag_error(eval->cx, loc, "matmul: %s and %s do not fit", shape_text(arena, a->ndim, a->dims),
                   shape_text(arena, b->ndim, b->dims));
        return NULL;
    }
    memcpy(dims, a->dims, sizeof *dims * (size_t)a->ndim);
    dims[a->ndim] = dim_const(arena, 1);
    x = ev_tensor(loc, build_reshape(eval, loc, a, a->ndim + 1, dims));
    memcpy(dims, b->dims, sizeof *dims * (size_t)b->ndim);
    dims[b->ndim] = b->dims[b->ndim - 1];
    dims[b->ndim - 1] = b->dims[b->ndim - 2];
    dims[b->ndim - 2] = dim_const(arena, 1);
    y = ev_tensor(loc, build_reshape(eval, loc, b, b->ndim + 1, dims));
    if (x.kind == EV_BAD || y.kind == EV_BAD)
        return NULL;
    x = build_binary(eval, loc, PRIM_MUL, "matmul", &x, &y);
    if (x.kind == EV_BAD)
        return NULL;
    axes[x.tensor->ndim - 2] = true;
    out = build_reduce(eval, loc, x.tensor, REDUCE_SUM, axes, false);
    out = out ? build_cast(eval, loc, out, a->dtype) : NULL;
    if (!out || !bias)
        return out;
    x = ev_tensor(loc, out);
    y = ev_tensor(loc, bias);
    x = build_binary(eval, loc, PRIM_ADD, "matmul", &x, &y);
    return x.kind == EV_BAD ? NULL : x.tensor;
}

struct value *build_matmul(struct eval *eval, struct loc loc, struct value *a, struct value *b,
                           struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    bool a_vector = a->ndim == 1, b_vector = b->ndim == 1;

    if (a->ndim == 0 || b->ndim == 0) {
        diag_error(eval->cx, loc, "matmul takes tensors of at least one dimension, found %s and %s",
                   shape_text(arena, a->ndim, a->dims), shape_text(arena, b->ndim, b->dims));
        return NULL;
    }
    if (a->dtype != b->dtype) {
        diag_error(eval->cx, loc, "matmul takes tensors of one dtype, found %s and %s",
                   dtype_rows[a->dtype].name, dtype_rows[b->dtype].name);
        return NULL;
    }
    if (a->dtype == DTYPE_BOOL) {
        diag_error(eval->cx, loc, "matmul is not defined for bool");
        diag_hint(eval->cx, "convert first, as x.float()");
        return NULL;
    }
    if (a_vector) {
        dims[0] = dim_const(arena, 1);
        dims[1] = a->dims[0];
        a = build_reshape(eval, loc, a, 2, dims);
    }
    if (b_vector) {
        dims[0] = b->dims[0];
        dims[1] = dim_const(arena, 1);
        b = build_reshape(eval, loc, b, 2, dims);
    }
    if (!a || !b)
        return NULL;

    struct value *inputs[3] = {a, b, bias}, *out;

    if (dtype_is_float(a->dtype) && has_many(eval, a, b)) {
        out = flat_product(eval, loc, a, b, bias);
    } else if (dtype_is_float(a->dtype)) {
        struct op *op = op_new(eval, GRAPH_OP_CONTRACT, bias ? "linear" : "matmul", inputs, bias ? 3 : 2);

        op->contract.bias = bias != NULL;
        out = build_op(eval, loc, op);
    } else {
        out = integer_product(eval, loc, a, b, bias);
    }
    if (out && b_vector)
        out = drop_axis(eval, loc, out, out->ndim - 1);
    if (out && a_vector)
        out = drop_axis(eval, loc, out, out->ndim - (b_vector ? 1 : 2));
    return out;
}

/* ---- what the call checks ------------------------------------------------------------------------------------ */

/* The first element of a known tensor that is outside [lowest, end), or, for divisors, is 0; -1: there is none. */
static int64_t find_fault(const struct tensor *tensor, enum check_kind kind, int64_t lowest, int64_t end)
{
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        int64_t element = tensor->data[i].i;

        if (kind == CHECK_INDEX ? element < lowest || element >= end : element == 0)
            return i;
    }
    return -1;
}

static void add_check(struct eval *eval, struct loc loc, struct op *op)
{
    op->loc = loc;
    if (eval->graph)
        graph_append(eval->graph, op);
}

/* x // y and x % y check y once. */
static bool is_checked(const struct op *op)
{
    const struct value *value = op->inputs[0];

    for (int i = 0; i < value->user_count; i++)
        if (value->users[i]->code == GRAPH_OP_CHECK && value->users[i]->check.kind == op->check.kind)
            return true;
    return false;
}

/* The constant that a value is a part of, through views; or NULL. */
static const struct tensor *part_of(const struct value *value)
{
    while (!value->constant && value->op->code == GRAPH_OP_VIEW)
        value = value->op->inputs[0];
    return value->constant;
}

/* No element can be outside: all that it may be is known to fit. */
static bool index_fits(struct arena *arena, const struct value *index, const struct dim *extent,
                       bool negative)
{
    const struct tensor *whole = part_of(index);
    const struct dim *count = dim_const(arena, 1);
    const struct op *op = index->op;

    if (whole)
        return find_fault(whole, CHECK_INDEX, negative ? -dim_lower(extent) : 0, dim_lower(extent)) < 0;
    while (op->code == GRAPH_OP_VIEW)
        op = op->inputs[0]->op;
    if (op->code == GRAPH_OP_SORT)
        return dim_lower(dim_sub(arena, extent, op->inputs[0]->dims[op->sort.axis])) >= 0;
    if (op->code != GRAPH_OP_REDUCE || (op->reduce.kind != REDUCE_ARGMAX && op->reduce.kind != REDUCE_ARGMIN))
        return false;
    for (int i = 0; i < op->inputs[0]->ndim; i++)
        if (op->reduce.axes[i])
            count = dim_mul(arena, count, op->inputs[0]->dims[i]);
    return dim_lower(dim_sub(arena, extent, count)) >= 0;
}

/* What repeats for sure is looked at once. */
static struct value *unrepeated(struct value *index)
{
    const struct value *from = index->op->code == GRAPH_OP_VIEW ? index->op->inputs[0] : NULL;
    int missing = from ? index->ndim - from->ndim : 0;

    if (!from || index->op->view.kind != VIEW_EXPAND)
        return index;
    for (int i = 0; i < index->ndim; i++)
        if ((i < missing || !dim_equal(index->dims[i], from->dims[i - missing])) &&
            dim_lower(index->dims[i]) < 1)
            return index;
    return index->op->inputs[0];
}

bool build_in_range(struct eval *eval, struct loc loc, const char *label, struct value *index,
                    const struct dim *extent, bool negative)
{
    struct op *op;
    int64_t end, lowest, at;

    if (index_fits(&eval->cx->arena, index, extent, negative))
        return true;
    index = unrepeated(index);
    op = op_new(eval, GRAPH_OP_CHECK, "check", &index, 1);
    op->check.kind = CHECK_INDEX;
    op->check.extent = extent;
    op->check.negative = negative;
    if (!index->constant || !dim_is_const(extent, &end)) {
        add_check(eval, loc, op);
        return true;
    }
    lowest = negative ? -end : 0;
    at = find_fault(index->constant, CHECK_INDEX, lowest, end);
    diag_error(eval->cx, loc, "%s: %lld is outside [%lld, %lld)", label,
               (long long)index->constant->data[at].i, (long long)lowest, (long long)end);
    return false;
}

/* Equal steps of a known index, as arange gives: x at it is a slice. */
static bool is_slice(const struct value *index, int64_t *start, int64_t *step)
{
    const struct tensor *whole = part_of(index);
    const struct op *op = index->op;

    if (!whole || whole->ndim != 1 || index->ndim != 1 || whole->dims[0] < 1 ||
        (!index->constant && (op->inputs[0]->constant != whole || op->view.kind != VIEW_SLICE ||
                              !dim_equals(op->view.start, 0) || !dim_equals(op->view.step, 1))))
        return false;
    *start = whole->data[0].i;
    *step = whole->dims[0] > 1 ? whole->data[1].i - *start : 1;
    for (int64_t i = 1; i < whole->dims[0]; i++)
        if (whole->data[i].i - whole->data[i - 1].i != *step)
            return false;
    return *start >= 0 && *step > 0;
}

/* False: some element is known to be 0. */
static bool check_elements(struct eval *eval, struct loc loc, struct value *x, enum check_kind kind)
{
    struct op *op = op_new(eval, GRAPH_OP_CHECK, "check", &x, 1);

    op->check.kind = kind;
    op->check.extent = dim_const(&eval->cx->arena, 0);
    if (x->constant)
        return find_fault(x->constant, kind, 0, 0) < 0;
    if (!is_checked(op))
        add_check(eval, loc, op);
    return true;
}

struct value *build_divisor(struct eval *eval, struct loc loc, struct value *divisor)
{
    if (check_elements(eval, loc, divisor, CHECK_DIVISOR))
        return divisor;
    diag_error(eval->cx, loc, "integer division by zero");
    return NULL;
}

bool build_holds(struct eval *eval, struct loc loc, struct value *mask)
{
    return check_elements(eval, loc, mask, CHECK_TRUE);
}

/* where(index < 0, index + extent, index), int64. */
static struct value *from_the_end(struct eval *eval, struct loc loc, struct value *index,
                                  const struct dim *extent)
{
    struct arena *arena = &eval->cx->arena;
    struct ev end = ev_dim(loc, extent);
    struct value *parts[2] = {index, build_scalar(eval, loc, &end)};
    struct dag *dag = dag_new(arena, 2);
    int at = dag_cast(arena, dag, dag_load(arena, dag, 0, index->dtype), DTYPE_INT64);
    int sum = dag_prim(arena, dag, PRIM_ADD, DTYPE_INT64, at, dag_load(arena, dag, 1, DTYPE_INT64), -1);
    int below = dag_prim(arena, dag, PRIM_LT, DTYPE_BOOL, at, dag_integer(arena, dag, DTYPE_INT64, 0), -1);

    if (!parts[1])
        return NULL;
    dag->result = dag_prim(arena, dag, PRIM_SELECT, DTYPE_INT64, below, sum, at);
    return build_map(eval, loc, "index", dag, parts, 2);
}

struct value *build_from_the_end(struct eval *eval, struct loc loc, const char *label, struct value *index,
                                 const struct dim *extent)
{
    return build_in_range(eval, loc, label, index, extent, true) ? from_the_end(eval, loc, index, extent)
                                                                 : NULL;
}

struct value *build_gather_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                  int axis, struct value *index, bool along)
{
    struct value *inputs[2] = {x, index};
    struct op *op = op_new(eval, GRAPH_OP_GATHER, label, inputs, 2);

    op->gather.axis = axis;
    op->gather.along = along;
    return build_op(eval, loc, op);
}

struct value *build_gather(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                           struct value *index, bool along, bool negative)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = x->ndim > 0 ? x->dims[axis] : dim_const(arena, 1);
    int64_t start, step;

    if (!along && index_fits(arena, index, extent, false) && is_slice(index, &start, &step))
        return build_slice(eval, loc, x, axis, dim_const(arena, start), dim_const(arena, step),
                           index->dims[0]);
    if (!build_in_range(eval, loc, label, index, extent, negative))
        return NULL;
    if (negative)
        index = from_the_end(eval, loc, index, extent);
    return index ? build_gather_inside(eval, loc, label, x, axis, index, along) : NULL;
}

/* Axes that follow one another become one, in which the places lie row-major. */
struct value *build_gather_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                  struct value *const *indices, int count)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *extent = dim_const(arena, 1);
    struct ev at = ev_none(loc);
    int n = 0;

    for (int i = 0; i < count; i++) {
        struct ev size = ev_dim(loc, x->dims[axis + i]), index;

        index = ev_tensor(loc, build_from_the_end(eval, loc, "index", indices[i], size.dim));
        if (i > 0 && index.kind != EV_BAD)
            at = build_binary(eval, loc, PRIM_MUL, "index", &at, &size);
        if (i > 0 && index.kind != EV_BAD && at.kind != EV_BAD)
            index = build_binary(eval, loc, PRIM_ADD, "index", &at, &index);
        at = index;
        if (at.kind == EV_BAD)
            return NULL;
        extent = dim_mul(arena, extent, size.dim);
    }
    for (int i = 0; i < x->ndim; i++)
        if (i <= axis || i >= axis + count)
            dims[n++] = i == axis ? extent : x->dims[i];
    x = build_reshape(eval, loc, x, n, dims);
    return x ? build_gather_inside(eval, loc, "index", x, axis, at.tensor, false) : NULL;
}

struct value *build_scatter(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                            struct value *index, struct value *source, enum prim prim, bool along)
{
    const struct dim *extent = x->ndim > 0 ? x->dims[axis] : dim_const(&eval->cx->arena, 1);

    if (!build_in_range(eval, loc, label, index, extent, false))
        return NULL;
    return build_scatter_inside(eval, loc, label, x, axis, index, source, prim, along);
}

struct value *build_scatter_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                   int axis, struct value *index, struct value *source, enum prim prim,
                                   bool along)
{
    struct arena *arena = &eval->cx->arena;
    struct value *inputs[3] = {x, index, source};
    struct op *op = op_new(eval, GRAPH_OP_SCATTER, label, inputs, 3);
    int held, comes;

    op->dag = dag_new(arena, 2);
    held = dag_load(arena, op->dag, 0, x->dtype);
    comes = dag_load(arena, op->dag, 1, x->dtype);
    op->dag->result = prim == PRIM_LOAD ? comes : dag_prim(arena, op->dag, prim, x->dtype, held, comes, -1);
    op->scatter.axis = axis;
    op->scatter.along = along;
    return build_op(eval, loc, op);
}

struct value *build_scan(struct eval *eval, struct loc loc, struct value *x, int axis, enum scan_kind kind,
                         bool reverse)
{
    struct dag *dag = dag_new(&eval->cx->arena, 2);
    struct op *op;
    int before, comes;

    if (!dtype_is_float(x->dtype))
        x = build_cast(eval, loc, x, DTYPE_INT64);
    if (!x || x->ndim == 0)
        return x;
    op = op_new(eval, GRAPH_OP_SCAN, kind == SCAN_PRODUCT ? "cumprod" : "cumsum", &x, 1);
    op->scan.axis = axis;
    op->scan.kind = kind;
    op->scan.reverse = reverse;
    before = dag_load(&eval->cx->arena, dag, 0, x->dtype);
    comes = dag_load(&eval->cx->arena, dag, 1, x->dtype);
    dag->result = dag_prim(&eval->cx->arena, dag, kind == SCAN_PRODUCT ? PRIM_MUL : PRIM_ADD, x->dtype,
                           before, comes, -1);
    op->dag = dag;
    return build_op(eval, loc, op);
}

struct value *build_decayed(struct eval *eval, struct loc loc, struct value *before, struct value *x,
                            struct value *cut, struct value *factor, double number, int axis, bool reverse)
{
    struct arena *arena = &eval->cx->arena;
    struct value *inputs[4] = {before, x, cut, factor};
    struct op *op = op_new(eval, GRAPH_OP_SCAN, "decayed_sum", before ? inputs : inputs + 1,
                           2 + (before != NULL) + (factor != NULL));
    struct dag *dag = dag_new(arena, factor ? 4 : 3);
    int held = dag_load(arena, dag, 0, x->dtype), comes = dag_load(arena, dag, 1, x->dtype),
        none = dag_load(arena, dag, 2, DTYPE_BOOL);
    int scale = factor ? dag_load(arena, dag, 3, x->dtype) : dag_const(arena, dag, x->dtype, number);
    int left = dag_prim(arena, dag, PRIM_MUL, x->dtype, scale, held, -1);

    left = dag_prim(arena, dag, PRIM_SELECT, x->dtype, none, dag_const(arena, dag, x->dtype, 0), left);
    dag->result = dag_prim(arena, dag, PRIM_ADD, x->dtype, comes, left, -1);
    op->dag = dag;
    op->scan.axis = axis;
    op->scan.kind = SCAN_DECAYED;
    op->scan.reverse = reverse;
    op->scan.given = before != NULL;
    op->scan.factor = number;
    return build_op(eval, loc, op);
}

struct value *build_argsort(struct eval *eval, struct loc loc, struct value *x, int axis, bool descending)
{
    struct op *op = op_new(eval, GRAPH_OP_SORT, "argsort", &x, 1);

    assert(x->ndim > 0);
    op->sort.axis = axis;
    op->sort.descending = descending;
    return build_op(eval, loc, op);
}
