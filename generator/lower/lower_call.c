/* lower_call.c - calls of modules: their bodies, and their boundaries. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph/make.h"
#include "lower/lower_parts.h"

void lower_gather(struct eval *eval, const struct ev *value, struct value ***list, int *count)
{
    if (ev_has_value(value))
        ARENA_PUSH(&eval->cx->arena, *list, *count, value->tensor);
    for (int i = 0; (value->kind == EV_TUPLE || value->kind == EV_DICT) && i < value->count; i++)
        lower_gather(eval, &value->items[i], list, count);
}

void lower_gather_complex(struct eval *eval, const struct ev *value, bool **list, int *count)
{
    if (ev_has_value(value))
        ARENA_PUSH(&eval->cx->arena, *list, *count, value->kind == EV_COMPLEX);
    for (int i = 0; (value->kind == EV_TUPLE || value->kind == EV_DICT) && i < value->count; i++)
        lower_gather_complex(eval, &value->items[i], list, count);
}

struct ev lower_scatter(struct eval *eval, const struct ev *value, struct value *const *list, int *at)
{
    struct ev out = *value;

    if (ev_has_value(value))
        out.tensor = list[(*at)++];
    if (value->kind == EV_TUPLE || value->kind == EV_DICT) {
        out.cell = NULL;
        out.items = ARENA_ARRAY(&eval->cx->arena, value->count + 1, struct ev);
        for (int i = 0; i < value->count; i++)
            out.items[i] = lower_scatter(eval, &value->items[i], list, at);
    }
    return out;
}

struct op *lower_fence(struct eval *eval, struct module *module, enum fence_kind kind, struct value **values,
                       const bool *complex, int count, int seen)
{
    struct op *op = op_new(eval, GRAPH_OP_FENCE, kind == FENCE_FORWARD ? "forward_hook" : "forward_pre_hook",
                           values, count);

    op->loc = module->loc;
    op->fence.module = module;
    op->fence.kind = kind;
    op->fence.seen = seen;
    op->fence.complex = complex;
    for (int i = 0; i < count; i++) {
        struct value *out = graph_value(eval->graph, op, values[i]->dtype, values[i]->ndim, values[i]->dims);

        value_take_name(out, values[i]);
        values[i] = out;
    }
    graph_append(eval->graph, op);
    return op;
}

struct ev lower_children(struct eval *eval, struct module *module, const struct call *call)
{
    struct call next = *call;
    bool written = call->loc.offset != module->loc.offset;

    if (call->count == 0 || (call->names[0] && strcmp(call->names[0], "input") != 0)) {
        diag_error(eval->cx, call->loc, "'%s' takes an input", module->path);
        return ev_bad(call->loc);
    }
    next.names = ARENA_ARRAY(&eval->cx->arena, call->count, const char *);
    memcpy(next.names + 1, call->names + 1, (size_t)(call->count - 1) * sizeof *call->names);
    next.args = ARENA_ARRAY(&eval->cx->arena, call->count, struct ev);
    memcpy(next.args, call->args, (size_t)call->count * sizeof *call->args);
    for (int i = 0; i < module->child_count; i++) {
        next.loc = written ? call->loc : module->children[i]->loc;
        next.args[0] = lower_module(eval, module->children[i], &next);
        if (next.args[0].kind == EV_BAD)
            return next.args[0];
    }
    return next.args[0];
}

struct ev lower_class(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    const struct spec_class *class = module->spec_class;
    struct scope *own;

    if (!class->forward) {
        if (spec_is_sequential(class->modules) ||
            (class->container && strcmp(class->container, "Sequential") == 0))
            return lower_children(eval, module, call);
        if (!module->parent) {
            assert(diag_errors(eval->cx) > 0); /* the spec room has looked */
            return ev_bad(call->loc);
        }
        if (class->faulty)
            return ev_bad(call->loc);
        diag_error(eval->cx, call->loc, "'%s' cannot be called: the class '%s' has no 'forward'",
                   module->path, class->name);
        diag_note(eval->cx, class->loc, "'%s' is defined here", class->name);
        if (module->child_count > 0)
            diag_hint(eval->cx, "what it holds is called by its path, as %s.%s(x)", module->path,
                      module->children[0]->name);
        return ev_bad(call->loc);
    }
    own = ARENA_NEW(&eval->cx->arena, struct scope);
    own->outer = module_scope(eval, lower->tree, module);
    if (!eval_bind(eval, own, arena_format(&eval->cx->arena, "%s.forward", class->name), class->forward->args,
                   class->forward->arg_count, 0, call))
        return ev_bad(call->loc);

    int errors = diag_errors(eval->cx);
    struct ev result = eval_statements(eval, own, class->forward->statements, class->forward->count);

    if (diag_errors(eval->cx) > errors && module->parent && module->arg_count > 0)
        diag_note(eval->cx, module->loc, "in '%s', which is %s", module->path, module->text);
    return result;
}

const struct signature *lower_row_signature(struct eval *eval, const char *text)
{
    return eval_signature(eval, arena_copy(&eval->cx->arena, text, strcspn(text, ":")));
}

/* A function of the module's row: "forward(input): return ...". */
static struct ev run_row(struct eval *eval, struct module *module, const char *text, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    const struct module *outer = lower->running;
    const char *colon = strchr(text, ':');
    struct arena *arena = &eval->cx->arena;
    const struct signature *signature = lower_row_signature(eval, text);
    struct scope own = {.outer = module_scope(eval, lower->tree, module)};
    struct ev out;

    if (!eval_bind(
            eval, &own,
            arena_format(arena, "%s.%s", module->layer->name, arena_copy(arena, text, strcspn(text, "("))),
            signature->args, signature->count, 0, call))
        return ev_bad(call->loc);
    eval->at = call->loc;
    lower->running = module;
    out = eval_body(eval, &own, colon + 1 + strspn(colon + 1, " "));
    lower->running = outer;
    scope_give(eval, &own);
    if (out.kind == EV_BAD && module != outer && module->loc.line != call->loc.line)
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
    return out;
}

struct scope *lower_module_scope(struct eval *eval, struct module *module)
{
    return module_scope(eval, ((struct lower *)eval)->tree, module);
}

bool lower_class_attribute(struct eval *eval, const struct ev *class, const struct expr *expr, struct ev *out)
{
    return module_class_attribute(eval, ((struct lower *)eval)->tree, class, expr, out);
}

struct ev lower_method(struct eval *eval, struct module *module, const char *method, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;

    if (module->faulty)
        return ev_bad(call->loc);
    if (strcmp(method, "super.forward") == 0)
        return lower_children(eval, module, call);
    if (strcmp(method, "forward") != 0)
        return run_row(eval, module, method, call);
    for (const struct module_call *outer = eval->call; outer; outer = outer->outer) {
        if (outer->module != module)
            continue;
        diag_error(eval->cx, call->loc, "a module cannot call itself");
        return ev_bad(call->loc);
    }
    lower->bare = true;
    return lower_module(eval, module, call);
}

struct ev lower_layer(struct eval *eval, struct module *module, const struct call *call)
{
    const struct layer_row *row = module->layer;

    if (row->container == LAYER_SEQUENTIAL)
        return lower_children(eval, module, call);
    if (!row->forward) {
        diag_error(eval->cx, call->loc, "%s cannot be called", row->name);
        if (row->container == LAYER_MODULE_DICT && isdigit((unsigned char)module->name[0]))
            diag_hint(eval->cx, "modules in a list have no names: leave out the '- ', or the name");
        else if (module_holds_parameters(module))
            diag_hint(eval->cx,
                      row->container == LAYER_PARAMETER_LIST ? "its parameters are %s[0], %s[1], ..."
                                                             : "its parameters are %s.NAME, %s['NAME'], ...",
                      module->path, module->path);
        else if (row->container != LAYER_PLAIN)
            diag_hint(eval->cx,
                      row->container == LAYER_MODULE_LIST ? "call its children: %s[0](x)"
                                                          : "call its children: %s.NAME(x)",
                      module->path);
        return ev_bad(call->loc);
    }
    return run_row(eval, module, row->forward, call);
}

static struct ev run_activation(struct eval *eval, struct module *module, const struct call *call)
{
    const struct signature *signature = eval_signature(eval, "forward(input)");
    struct scope own = {0};
    struct ev args[8];
    int count = 1;

    if (!eval_bind(eval, &own, arena_format(&eval->cx->arena, "%s.forward", module->class_name),
                   signature->args, signature->count, 0, call))
        return ev_bad(call->loc);
    args[0] = own.items[0].value;
    scope_give(eval, &own);
    if (args[0].kind == EV_COMPLEX) { /* those that there are take nothing else */
        struct scope complex = {0};

        scope_bind(eval, &complex, "z", args[0]);
        eval->at = call->loc;
        return eval_body(eval, &complex,
                         arena_format(&eval->cx->arena, "return %s(z)", module->elementwise->name));
    }
    if (args[0].kind != EV_TENSOR) {
        diag_error(eval->cx, args[0].loc, "%s takes a tensor, found %s", module->class_name,
                   ev_kind_text(&args[0]));
        return ev_bad(call->loc);
    }
    for (int i = 0; i < module->arg_count - ((module->elementwise->flags & ELEMENTWISE_INPLACE) != 0); i++)
        args[count++] = module->args[i].value;

    struct ev out = build_elementwise(eval, call->loc, module->elementwise, args, count);
    bool inplace = false;

    if (module->elementwise->flags & ELEMENTWISE_INPLACE)
        ev_get_bool(&module->args[module->arg_count - 1].value, &inplace);
    if (inplace && out.kind == EV_TENSOR &&
        !build_in_place(eval, call->loc, module->class_name, args[0].tensor, out.tensor)) {
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
        return ev_bad(call->loc);
    }
    return out;
}

/* What the first call of a lazy module says of it; whether the others agree. Unless it resolves, nothing is to be done.
 * False after a fault. */
static bool see_call(struct eval *eval, struct module *module, const struct call *call)
{
    struct module_tree *tree = ((struct lower *)eval)->tree;
    const struct layer_row *row = module->lazy;
    const char *name = module_waits_for(module);
    const struct value *input = NULL;
    const char *first = row->channels ? lower_row_signature(eval, row->forward)->args[0].name : "input";
    int64_t extent, counted, axis = row->axis;
    int ndim = 0;

    if (row->channels)
        module_has_channels(eval->cx, tree, module, &axis);
    for (int i = 0; i < call->count; i++)
        if (ev_has_value(&call->args[i]) && (call->names[i] ? strcmp(call->names[i], first) == 0 : i == 0)) {
            input = call->args[i].tensor;
            ndim = input->ndim - (call->args[i].kind == EV_COMPLEX);
        }
    counted = axis >= 0 ? axis : ndim + axis;
    if (!input || counted < 0 || counted >= ndim) {
        diag_error(eval->cx, call->loc, "%s takes its %s from dimension %d of its input, found %s", row->name,
                   name, (int)axis, input ? shape_text(&eval->cx->arena, ndim, input->dims) : "no tensor");
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
        return false;
    }
    if (!dim_is_const(input->dims[counted], &extent)) {
        diag_error(eval->cx, call->loc, "'%s' would have %s=%s, which is known at run time", module->path,
                   name, dim_text(&eval->cx->arena, input->dims[counted]));
        diag_hint(eval->cx, "parameters have one shape; put the size under constants: if it is fixed");
        return false;
    }
    if (!module->resolved)
        return module_resolve(eval->cx, tree, module, extent, call->loc);
    if (extent == module->extent)
        return true;
    diag_error(eval->cx, call->loc, "'%s' has %s=%lld from its first call, and gets %lld here", module->path,
               name, (long long)module->extent, (long long)extent);
    diag_note(eval->cx, module->first_call, "its first call is here");
    diag_hint(eval->cx, "a module has one shape: make one for each");
    return false;
}

static struct ev run_body(struct eval *eval, struct module *module, const struct call *call)
{
    if (module->spec_class)
        return lower_class(eval, module, call);
    if (module->layer)
        return lower_layer(eval, module, call);
    assert(module->elementwise && "a module has a body");
    return run_activation(eval, module, call);
}

struct value *lower_range(struct eval *eval, const char *name, struct value *value)
{
    struct lower *lower = (struct lower *)eval;
    const struct module_range *range = lower->program->resolving ? NULL : module_range(lower->tree, name);
    struct site site = {
        .cx = eval->cx, .graph = eval->graph, .loc = value->loc, .call = eval->call, .lowers = true};
    struct value *whole, *out;

    if (!range || value->constant)
        return value;
    if (value->dtype != DTYPE_FLOAT32) {
        diag_error(eval->cx, lower->tree->spec->ranges_loc, "the range of '%s' is of float32, and it is %s",
                   name, dtype_rows[value->dtype].name);
        diag_hint(eval->cx, "leave it out of the file");
        return value;
    }
    whole = make_quantized(site, value, &range->steps);
    out = whole ? make_dequantized(site, whole, &range->steps) : NULL;
    if (!out)
        return value;
    value_take_name(out, value);
    return out;
}

/* The first tensor that the module returned is what its range makes of it. */
static struct ev take_range(struct eval *eval, const struct module *module, const struct ev *result)
{
    struct value **list = NULL;
    bool *complex = NULL;
    int count = 0, complex_count = 0, at = 0;

    if (!((struct lower *)eval)->tree->calibrated || result->kind == EV_BAD)
        return *result;
    lower_gather(eval, result, &list, &count);
    lower_gather_complex(eval, result, &complex, &complex_count);
    if (count == 0 || complex[0])
        return *result;
    list[0] = lower_range(eval, module->path, list[0]);
    return lower_scatter(eval, result, list, &at);
}

/* The first tensor that the module is given, if it has a range. */
static struct call take_given(struct eval *eval, const struct module *module, const struct call *call)
{
    struct arena *arena = &eval->cx->arena;
    struct call own = *call;

    if (!((struct lower *)eval)->tree->calibrated)
        return own;
    for (int i = 0; i < call->count; i++) {
        if (call->args[i].kind != EV_TENSOR)
            continue;
        own.args = ARENA_ARRAY(arena, call->count, struct ev);
        memcpy(own.args, call->args, (size_t)call->count * sizeof *own.args);
        own.args[i].tensor = lower_range(eval, arena_format(arena, "%s" RANGE_INPUT, module->path),
                                         call->args[i].tensor);
        break;
    }
    return own;
}

struct ev lower_bounded(struct eval *eval, struct module *module, const struct call *call)
{
    struct arena *arena = &eval->cx->arena;
    struct value **given = NULL, **inputs = NULL, **values = NULL;
    bool *complex = NULL; /* of all, in front of the call and behind it */
    int given_count = 0, input_count = 0, count = 0, complex_count = 0, at = 0;
    struct call inner = *call;
    struct op *fence;
    struct ev out;

    if (!eval->graph->fenced)
        return run_body(eval, module, call);
    inner.args = eval_take(eval, (size_t)call->count * sizeof *inner.args);
    for (int i = 0; i < call->count; i++) {
        lower_gather(eval, &call->args[i], &given, &given_count);
        lower_gather_complex(eval, &call->args[i], &complex, &complex_count);
    }
    for (int i = 0; i < given_count; i++)
        ARENA_PUSH(arena, inputs, input_count, given[i]);
    fence = lower_fence(eval, module, FENCE_FORWARD_PRE, inputs, complex, input_count, 0);
    build_share(eval, inputs, fence->inputs, 0, input_count);
    for (int i = 0; i < call->count; i++)
        inner.args[i] = lower_scatter(eval, &call->args[i], inputs, &at);
    out = run_body(eval, module, &inner);
    out = take_range(eval, module, &out);
    eval_give(eval, inner.args, (size_t)call->count * sizeof *inner.args);
    if (out.kind == EV_BAD)
        return out;
    for (int i = 0; i < input_count; i++) { /* what became of an argument in place is the caller's, too */
        struct value *now = build_newest(eval, call->loc, inputs[i]);

        if (!now || (now != inputs[i] && !build_in_place(eval, call->loc, module->class_name, given[i], now)))
            return ev_bad(call->loc);
        ARENA_PUSH(arena, values, count, now);
        given[i] = build_newest(eval, call->loc, given[i]);
        if (!given[i])
            return ev_bad(call->loc);
    }
    lower_gather(eval, &out, &values, &count);
    lower_gather_complex(eval, &out, &complex, &complex_count);
    fence = lower_fence(eval, module, FENCE_FORWARD, values, complex, count, input_count);
    for (int i = 0; i < input_count; i++) /* as the caller has them */
        values[i] = given[i];
    build_share(eval, values, fence->inputs, input_count, count);
    at = input_count;
    return lower_scatter(eval, &out, values, &at);
}

struct ev lower_module(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    struct arena *arena = &eval->cx->arena;
    const bool bare = lower->bare && eval->graph->fenced;
    struct module_call *outer = eval->call, *own = ARENA_NEW(arena, struct module_call);
    const bool training = eval->training, casts = eval->casts;
    struct ev result;
    struct region *region = NULL;
    struct call given;
    int complex_count = 0;

    lower->bare = false;
    if (module->faulty)
        return ev_bad(call->loc);
    for (int i = 0; i < call->count; i++)
        if (call->args[i].kind == EV_BAD)
            return ev_bad(call->loc);
    if (module->is_slice)
        return lower_layer(eval, module, call);
    if (lower->program->resolving && module->lazy && !see_call(eval, module, call))
        return ev_bad(call->loc);
    module->calls++;
    *own = (struct module_call){
        .module = module, .outer = outer, .loc = call->loc, .index = eval->graph->call_count};
    ARENA_PUSH(arena, eval->graph->calls, eval->graph->call_count, own);
    if (module->always_eval)
        eval->training = false;
    if (module->class_name[0] == '_' && !module->spec_class)
        eval->casts = false; /* _SpectralNorm and its like: see read_parametrized */
    eval->call = own;
    given = take_given(eval, module, call);
    call = &given;
    result = ev_bad(call->loc);
    if (bare)
        result = run_body(eval, module, call);
    else if (!lower_has_region(eval, module))
        result = lower_bounded(eval, module, call);
    else if ((region = lower_find_region(eval, module, call)) != NULL)
        result = lower_fits_region(eval, module, region) ? lower_call_region(eval, module, region, call)
                                                         : lower_bounded(eval, module, call);
    result = take_range(eval, module, &result);
    lower_gather(eval, &result, &own->results, &own->result_count);
    lower_gather_complex(eval, &result, &own->complex, &complex_count);
    eval->call = outer;
    eval->training = training;
    eval->casts = casts;
    return result;
}
