/* extern.c - what the call of an Extern makes of its arguments: one op, whose results have the shapes that the spec says. */
#include "functions/rows.h"
#include "graph/graph.h"

static struct ev bad_argument(struct eval *eval, const struct ev *arg, struct loc loc)
{
    const bool complex = arg->kind == EV_COMPLEX;

    diag_error(eval->cx, loc, "'%s' takes tensors%s, found %s", eval->call->module->path,
               complex ? " that are not complex" : "", ev_kind_text(arg));
    diag_hint(eval->cx, complex ? "give it view_as_real(x), and make its result complex with view_as_complex"
                                : "what does not change is the body's own; what does is a tensor");
    return BAD;
}

/* Tensors, also in tuples and lists, in order. */
static bool add_inputs(struct eval *eval, const struct ev *arg, struct loc loc, struct value ***inputs,
                       int *count)
{
    if (arg->kind == EV_TUPLE) {
        for (int i = 0; i < arg->count; i++)
            if (!add_inputs(eval, &arg->items[i], loc, inputs, count))
                return false;
        return true;
    }
    if (arg->kind != EV_TENSOR)
        return arg->kind != EV_BAD && bad_argument(eval, arg, loc).kind != EV_BAD;
    ARENA_PUSH(&eval->cx->arena, *inputs, *count, arg->tensor);
    return true;
}

/* What stands for shapes: as it is, or what the function makes of the arguments of the call. */
static struct ev shapes_of(struct eval *eval, struct ev *shape, const struct ev *inputs, struct loc loc)
{
    struct scope none = {0};
    struct call call = {.loc = loc, .count = inputs->count};

    if (shape->kind != EV_FUNCTION)
        return *shape;
    call.args = ARENA_ARRAY(&eval->cx->arena, call.count + 1, struct ev);
    call.names = ARENA_ARRAY(&eval->cx->arena, call.count + 1, const char *);
    call.locs = ARENA_ARRAY(&eval->cx->arena, call.count + 1, struct loc);
    for (int i = 0; i < call.count; i++) {
        call.args[i] = inputs->items[i];
        call.locs[i] = loc;
    }
    return eval_call_value(eval, &none, shape, &call);
}

static bool is_shape(const struct ev *value)
{
    bool is = value->kind == EV_TUPLE;

    for (int i = 0; is && i < value->count; i++)
        is = value->items[i].kind == EV_INT;
    return is;
}

/* A shape is one of one result; a tuple of shapes of as many. */
static bool are_shapes(const struct ev *value)
{
    bool are = value->kind == EV_TUPLE && value->count > 0;

    for (int i = 0; are && i < value->count; i++)
        are = is_shape(&value->items[i]);
    return are;
}

/* Result `index` of the op, of the shape and of a dtype: one for all, or a tuple of one for each. */
static bool add_result(struct eval *eval, struct op *op, int index, const struct ev *shape,
                       const struct ev *dtype)
{
    const struct dim *dims[MAX_DIMS];
    enum dtype own;
    int ndim;

    if (!need_shape(eval, "shape", shape, NULL, dims, &ndim) ||
        !need_dtype(eval, dtype->kind == EV_TUPLE ? &dtype->items[index] : dtype, eval->default_dtype, &own))
        return false;
    for (int i = 0; i < ndim; i++)
        build_need(eval, dims[i]);
    graph_value(eval->graph, op, own, ndim, dims);
    return true;
}

/* _extern(inputs, shape, dtype): of the module that is called. */
static struct ev fn_extern(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct module_call *call = eval->call;
    struct ev shapes = shapes_of(eval, &args[1], &args[0], loc), dtype = args[2], *results;
    struct value **inputs = NULL;
    struct op *op;
    int input_count = 0, result_count;
    (void)count;

    if (shapes.kind == EV_BAD || !add_inputs(eval, &args[0], loc, &inputs, &input_count))
        return BAD;
    if (!is_shape(&shapes) && !are_shapes(&shapes)) {
        diag_error(eval->cx, call->module->loc,
                   "the shape of an Extern is a tuple of integers, or a tuple of "
                   "such shapes, found %s",
                   ev_text(eval, &shapes));
        diag_hint(eval->cx,
                  "shape=[batch, 8], or of what it is called with, shape=lambda x: [x.shape[0], 8]");
        return BAD;
    }
    result_count = is_shape(&shapes) ? 1 : shapes.count;
    if (dtype.kind == EV_TUPLE && dtype.count != result_count) {
        diag_error(eval->cx, call->module->loc, "'%s' has %d dtypes for %d results", call->module->path,
                   dtype.count, result_count);
        return BAD;
    }
    op = op_new(eval, GRAPH_OP_EXTERN, call->module->body->name, inputs, input_count);
    op->loc = loc;
    op->external.module = call->module;
    op->external.inputs = input_count;
    op->external.results = result_count;
    results = ARENA_ARRAY(&eval->cx->arena, result_count, struct ev);
    for (int i = 0; i < result_count; i++) {
        if (!add_result(eval, op, i, is_shape(&shapes) ? &shapes : &shapes.items[i], &dtype))
            return BAD;
        results[i] = ev_tensor(loc, op->outputs[i]);
    }
    graph_append(eval->graph, op);
    return is_shape(&shapes) ? results[0] : ev_tuple(eval, loc, results, result_count);
}

extern const struct function_row extern_functions[];

const struct function_row extern_functions[] = {
    {"_extern(inputs, shape, dtype)", HIDDEN | FUNCTION_COMPLEX, fn_extern, NULL},
    {.signature = NULL},
};
