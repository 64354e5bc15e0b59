/* build_map.c - numbers and tensors of the spec in elementwise ops: the type in which they meet, constants, operators, lines of the
 * elementwise table. */
#include <assert.h>

#include "eval/eval.h"
#include "graph/graph.h"

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
