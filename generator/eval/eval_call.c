/* eval_call.c - calls of functions of the tables and of the spec, methods and modules. */
#include "eval/evaluator.h"
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

#define EVAL_MAX_DEPTH 64
#define EVAL_MAX_CALLS 20000
#define EVAL_MAX_ROW_ARGS 16
#define EVAL_MAX_FAULTS 20 /* faulty calls of one function; further ones say nothing new */

/* The arguments of a call in the order of the signature. False after a fault. */
static bool bind_row(struct eval *eval, const struct signature *signature, const char *name, int gather,
                     const struct call *call, struct scope *scope, struct ev *args)
{
    for (int i = 0; i < signature->count; i++)
        eval_place(signature->args[i].value, call->loc);
    if (!eval_bind(eval, scope, name, signature->args, signature->count, gather, call))
        return false;
    assert(signature->count <= EVAL_MAX_ROW_ARGS);
    for (int i = 0; i < signature->count; i++)
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, signature->args[i].name) == 0)
                args[i] = scope->items[j].value;
    return true;
}

/* Whether an argument `inplace` says that the first one becomes the result. */
static bool is_in_place(const struct signature *signature, const struct ev *args)
{
    bool truth = false;

    for (int i = 0; i < signature->count; i++)
        if (strcmp(signature->args[i].name, "inplace") == 0)
            ev_get_bool(&args[i], &truth);
    return truth;
}

/* eval_autocast, of what the body of a row sees too. */
static bool autocast(struct eval *eval, const struct function_row *row, const struct signature *signature,
                     struct scope *scope, struct ev *args, enum dtype *back)
{
    const bool rounds = eval_autocast(eval, row, signature, args, back);

    for (int i = 0; i < signature->count; i++)
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, signature->args[i].name) == 0)
                scope->items[j].value = args[i];
    return rounds;
}

static struct ev call_function_row(struct eval *eval, const struct function_row *row, const char *name,
                                   const struct call *call, bool method, struct ev *args, bool *in_place)
{
    size_t space = strcspn(row->signature, ".("); /* "linalg.norm(x)" is torch.linalg's */
    const struct signature *signature = eval_signature(
        eval, row->signature[space] == '.' ? row->signature + space + 1 : row->signature);
    struct scope scope = {.of_row = true};
    bool second = (row->flags & FUNCTION_REST) || (method && (row->flags & FUNCTION_VARARGS));
    int gather = row->flags & FUNCTION_SIZES ? 1 : second ? 2 : 0;
    const char *within = eval->within;
    const bool casts = eval->casts;
    enum dtype back;
    bool rounds;
    struct ev out;

    if (!bind_row(eval, signature, name, gather, call, &scope, args))
        return ev_bad(call->loc);
    rounds = casts && autocast(eval, row, signature, &scope, args, &back);
    *in_place = (row->flags & FUNCTION_IN_PLACE) || is_in_place(signature, args);
    if (row->build) {
        scope_give(eval, &scope);
        out = row->build(eval, args, signature->count, call->loc);
    } else {
        eval->at = call->loc;
        eval->within = within ? within : name;
        out = eval_body(eval, &scope, row->body);
        eval->within = within;
        scope_give(eval, &scope);
    }
    eval->casts = casts;
    if (rounds && out.kind == EV_TENSOR)
        out.tensor = build_cast(eval, call->loc, out.tensor, back);
    return out;
}

static struct ev call_elementwise(struct eval *eval, const struct elementwise_row *row,
                                  const struct call *call, struct ev *args, bool *in_place)
{
    const bool may = row->flags & ELEMENTWISE_INPLACE;
    const struct signature *signature = eval_signature(
        eval, arena_format(&eval->cx->arena, "%s(%s%s)", row->name, row->args, may ? ", inplace=False" : ""));
    struct scope scope = {0};

    if (!bind_row(eval, signature, row->name, 0, call, &scope, args))
        return ev_bad(call->loc);
    *in_place = is_in_place(signature, args);
    scope_give(eval, &scope);
    return build_elementwise(eval, call->loc, row, args, signature->count - may);
}

/* x.t_() */
static struct ev turned(struct eval *eval, struct loc loc, const char *what, const struct ev *x,
                        const struct ev *out)
{
    struct ev self = *x;

    if (!eval->graph || out->kind != x->kind)
        return *out;
    if (strcmp(what, "detach_") == 0 && build_storage(x->tensor) != x->tensor) {
        diag_error(eval->cx, loc, "detach_: a view cannot be detached in place");
        diag_hint(eval->cx, "write x = x.detach()");
        return ev_bad(loc);
    }
    if (out->tensor == x->tensor)
        return *out;
    self.loc = loc;
    return build_turn(eval, loc, what, x->tensor, out->tensor) ? ev_fresh(eval, self) : ev_bad(loc);
}

/* Of views, those that give the tensor that they are given where there is nothing to do; all others make a tensor. */
static bool gives_itself(const char *name)
{
    static const char *const names[] = {
        "contiguous", "to",    "type", "type_as", "float", "double",   "half", "bfloat16",     "long",
        "int",        "short", "char", "byte",    "bool",  "positive", "conj", "resolve_conj", "resolve_neg"};

    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* A function of the tables. What the spec calls gives what shares memory with its arguments or not, as PyTorch's does; what
 * bodies call is their own matter. */
static struct ev call_tables(struct eval *eval, const struct ev *callee, const struct call *call, bool method)
{
    const struct function_row *row = callee->function;
    const int first = eval->graph ? eval->graph->value_count : 0;
    const bool is_view = row && (row->flags & FUNCTION_VIEW);
    struct ev args[EVAL_MAX_ROW_ARGS], out;
    const bool casts = eval->casts;
    bool in_place = false;

    eval->casts = casts && !callee->in_place; /* PyTorch lists none that writes into its argument */
    if (row)
        out = call_function_row(eval, row, callee->text, call, method, args, &in_place);
    else
        out = call_elementwise(eval, callee->elementwise, call, args, &in_place);
    eval->casts = casts;
    if (out.kind == EV_BAD)
        return out;
    if (!eval->within && !is_view)
        out = build_apart(eval, out, first);
    if (callee->in_place && is_view)
        return turned(eval, call->loc, callee->text, &args[0], &out);
    if (!eval->within && is_view && !gives_itself(callee->text))
        build_seen(out, first);
    return in_place || callee->in_place ? eval_become(eval, call->loc, callee->text, &args[0], &out) : out;
}

/* Functions and methods of the spec that run. */
struct frame {
    const struct spec_function *function;
    const struct module *self;
    const struct module_call *call; /* in which it runs */
    const struct graph *graph;
    const struct frame *outer;
};

struct module *eval_module(const struct eval *eval)
{
    for (const struct frame *f = eval->frame; f && f->call == eval->call && f->graph == eval->graph;
         f = f->outer)
        if (f->self)
            return (struct module *)f->self;
    return (struct module *)(eval->call ? eval->call->module : eval->graph->root);
}

/* So that functions which call each other many times say their faults often enough, but come to an end. */
static void count_fault(struct eval *eval, const struct spec_function *function)
{
    int i = 0;

    while (i < eval->fault_count && eval->faults[i].function != function)
        i++;
    if (i == eval->fault_count)
        ARENA_PUSH(&eval->cx->arena, eval->faults, eval->fault_count,
                   ((struct function_faults){function, 0}));
    eval->faults[i].count++;
}

/* `self`: whose method it is, or NULL. */
static struct ev call_spec_function(struct eval *eval, struct scope *scope,
                                    const struct spec_function *function, struct module *self,
                                    struct scope *closure, const struct call *call)
{
    struct scope *outer = scope, own = {0};
    struct frame frame = {function, self, eval->call, eval->graph, eval->frame};
    struct ev out;

    for (const struct frame *f = eval->frame; f; f = f->outer) {
        if (f->function == function && f->self == self) {
            diag_error(eval->cx, call->loc, "the %s '%s' calls itself", self ? "method" : "function",
                       function->name);
            diag_hint(eval->cx, "functions are inlined where they are called, so none can be part of itself");
            return ev_bad(call->loc);
        }
    }
    if (eval->calls >= EVAL_MAX_CALLS) {
        if (eval->calls++ == EVAL_MAX_CALLS)
            diag_error(eval->cx, call->loc, "functions are called more than %d times", EVAL_MAX_CALLS);
        return ev_bad(call->loc);
    }
    for (int i = 0; i < eval->fault_count; i++)
        if (eval->faults[i].function == function && eval->faults[i].count >= EVAL_MAX_FAULTS)
            return ev_bad(call->loc);
    eval->calls++;
    while (outer->outer)
        outer = outer->outer;
    if (eval->globals) /* functions see these alone, also where a body of the tables calls them */
        outer = eval->globals;
    if (self)
        outer = eval->module_scope(eval, self);
    if (eval->building && self)
        own.self = self;
    if (closure)
        outer = closure;
    own.outer = outer;
    if (!eval_bind(eval, &own, function->name, function->args, function->arg_count, 0, call))
        return ev_bad(call->loc);
    eval->frame = &frame;
    out = eval_statements(eval, &own, function->statements, function->count);
    eval->frame = frame.outer;
    if (out.kind == EV_BAD && eval->trying == 0)
        count_fault(eval, function);
    return out;
}

enum { ARGUMENT_BYTES = sizeof(struct ev) + sizeof(const char *) + sizeof(struct loc) };

/* A call that gets at most `count` arguments. */
static struct call call_new(struct eval *eval, struct loc loc, const struct expr *expr, int count)
{
    struct call call = {.loc = loc, .expr = expr};

    call.args = eval_take(eval, (size_t)count * ARGUMENT_BYTES);
    call.names = (void *)(call.args + count);
    call.locs = (void *)(call.names + count);
    return call;
}

/* What call_new gave for so many is used no more: by a function of the tables or a module, which keep no call. */
static void call_give(struct eval *eval, struct call *call, int count)
{
    eval_give(eval, call->args, (size_t)count * ARGUMENT_BYTES);
}

static void take_argument(struct call *call, const struct ev *value, const char *name, struct loc loc)
{
    call->names[call->count] = name;
    call->locs[call->count] = loc;
    call->args[call->count++] = *value;
}

static bool is_device(const struct ev *value)
{
    return value->kind == EV_SPACE && strcmp(value->text, EVAL_DEVICE) == 0;
}

/* Functions of PyTorch are called without devices. */
static struct call without_devices(struct eval *eval, const struct call *call)
{
    struct call out;
    int kept = 0;

    for (int i = 0; i < call->count; i++)
        kept += !is_device(&call->args[i]);
    if (kept == call->count)
        return *call;
    out = call_new(eval, call->loc, call->expr, kept);
    for (int i = 0; i < call->count; i++)
        if (!is_device(&call->args[i]))
            take_argument(&out, &call->args[i], call->names[i], call->locs[i]);
    return out;
}

/* What the spec itself has, whose arguments may be anything. */
static bool is_of_spec(const struct ev *callee)
{
    return callee->spec_function || callee->kind == EV_MODULE;
}

struct call eval_with_preset(struct eval *eval, const struct call *preset, const struct call *given)
{
    struct call out = call_new(eval, given->loc, given->expr, preset->count + given->count);

    for (int step = 0; step < 4; step++) { /* those without a name, then those with one */
        const struct call *from = step % 2 == 0 ? preset : given;

        for (int i = 0; i < from->count; i++) {
            bool replaced = false;

            for (int k = 0; step == 2 && from->names[i] && k < given->count; k++)
                replaced |= given->names[k] && strcmp(given->names[k], from->names[i]) == 0;
            if ((from->names[i] != NULL) != (step >= 2) || replaced)
                continue;
            take_argument(&out, &from->args[i], from->names[i], from->locs[i]);
        }
    }
    return out;
}

struct ev eval_call_value(struct eval *eval, struct scope *scope, struct ev *callee, struct call *given)
{
    struct call all = callee->preset ? eval_with_preset(eval, callee->preset, given) : *given;
    struct call plain = is_of_spec(callee) ? all : without_devices(eval, &all), *call = &plain;

    if (eval->depth >= EVAL_MAX_DEPTH) {
        diag_error(eval->cx, call->loc, "calls are nested more than %d deep", EVAL_MAX_DEPTH);
        return ev_bad(call->loc);
    }
    eval->depth++;

    struct ev out;

    switch (callee->kind) {
    case EV_FUNCTION:
        if (!eval_complex_call(eval, callee, call))
            out = ev_bad(call->loc);
        else if (callee->spec_function)
            out = call_spec_function(eval, scope, callee->spec_function, NULL, callee->names, call);
        else
            out = call_tables(eval, callee, call, false);
        break;
    case EV_METHOD: {
        struct call with_self;

        if (callee->spec_function) {
            out = call_spec_function(eval, scope, callee->spec_function, callee->items[0].module, NULL, call);
            break;
        }
        if (callee->items[0].kind == EV_MODULE) {
            out = eval->call_method(eval, callee->items[0].module, callee->text, call);
            break;
        }
        if (!eval_complex_call(eval, callee, call)) {
            out = ev_bad(call->loc);
            break;
        }

        with_self = call_new(eval, call->loc, NULL, call->count + 1);
        take_argument(&with_self, &callee->items[0], NULL, callee->loc);
        for (int i = 0; i < call->count; i++)
            take_argument(&with_self, &call->args[i], call->names[i], call->locs[i]);
        out = call_tables(eval, callee, &with_self, true);
        call_give(eval, &with_self, call->count + 1);
        break;
    }
    case EV_MODULE:
        for (int i = 0; i < call->count; i++)
            call->args[i] = ev_frozen(eval, call->args[i]);
        out = ev_own(eval, eval->call_module(eval, callee->module, call));
        break;
    case EV_DTYPE:
        out = eval_convert(eval, callee, call);
        break;
    case EV_CLASS:
        if (eval->building) {
            out = eval->building->construct(eval, callee, call);
            break;
        }
        eval_module_as_value(eval, callee->loc, callee->text);
        out = ev_bad(call->loc);
        break;
    default:
        if (callee->kind == EV_SPACE && callee->module && module_child(callee->module, "self")) {
            struct ev child = ev_module(callee->loc, module_child(callee->module, "self"));

            out = eval_call_value(eval, scope, &child, call);
            break;
        }
        if (callee->kind == EV_SPACE && callee->module)
            diag_error(eval->cx, call->loc, "a module cannot call itself");
        else if (callee->kind == EV_SPACE && strcmp(callee->text, "torch.nn.Transformer") == 0)
            eval_module_as_value(eval, callee->loc, "Transformer");
        else
            diag_error(eval->cx, call->loc, "%s cannot be called", ev_kind_text(callee));
        out = ev_bad(call->loc);
    }
    eval->depth--;
    if (out.kind != EV_BAD)
        out.loc = call->loc;
    return out;
}

/* Adds an argument, for which there is room; false after an error: it was given before. */
static bool add_argument(struct eval *eval, struct call *call, const struct ev *value, const char *name,
                         struct loc loc)
{
    if (value->kind == EV_SPACE && strcmp(value->text, EVAL_DTYPE) == 0) {
        eval_refuse_dtype(eval, value->loc);
        return false;
    }
    for (int i = 0; name && i < call->count; i++) {
        if (!call->names[i] || strcmp(call->names[i], name) != 0)
            continue;
        diag_error(eval->cx, loc, "the argument '%s' is given twice", name);
        return false;
    }
    take_argument(call, value, name, loc);
    return value->kind != EV_BAD;
}

/* Makes room for so many arguments more than were counted. */
static void make_room(struct eval *eval, struct call *call, int room, int more)
{
    struct arena *arena = &eval->cx->arena;
    const size_t old = (size_t)room, new = old + (size_t)more;

    call->args = arena_grow(arena, call->args, old, new, sizeof *call->args);
    call->names = arena_grow(arena, call->names, old, new, sizeof *call->names);
    call->locs = arena_grow(arena, call->locs, old, new, sizeof *call->locs);
}

/* The arguments of a call, with *xs and **options taken apart. False after a fault. */
static bool eval_arguments(struct eval *eval, struct scope *scope, const struct expr *expr, struct call *call)
{
    bool fine = true;
    int room = expr->count;

    *call = call_new(eval, expr->loc, expr, room);
    for (int i = 0; i < expr->count; i++) {
        const struct expr *item = expr->items[i];
        const bool star = item->kind == EXPR_STAR, options = star && item->tuple;
        struct ev value, *items = &value, fresh;
        int count = 1;

        if (!star && item->kind != EXPR_REPEAT) {
            value = eval_expr(eval, scope, item);
        } else if (options) {
            value = eval_expr(eval, scope, item->a);
            items = value.items;
            count = value.kind == EV_DICT ? value.count : 0;
            if (value.kind != EV_BAD && value.kind != EV_DICT)
                diag_error(eval->cx, item->loc, "'**' takes a dict apart, found %s", ev_kind_text(&value));
            fine &= value.kind == EV_DICT;
        } else {
            fine &= eval_several(eval, scope, item, &items, &count);
        }
        if (count > 1)
            make_room(eval, call, room, count - 1);
        room += count > 1 ? count - 1 : 0;
        for (int k = 0; k < count; k++) {
            if (star)
                fresh = ev_fresh(eval, items[k]);
            fine &= add_argument(eval, call, star ? &fresh : &items[k],
                                 options ? value.fields[k] : expr->names[i],
                                 expr->names[i] ? expr->name_locs[i] : item->loc);
        }
    }
    return fine;
}

const struct spec_class *eval_class_of(const struct module *self, const struct scope *scope)
{
    for (const struct spec_class *class = self->spec_class; class; class = class->base) {
        const struct spec_function *own[2] = {class->init, class->forward};

        for (const struct scope *s = scope; s; s = s->outer) {
            for (int i = 0; i < COUNT(own) && s->statements; i++)
                if (own[i] && own[i]->class && own[i]->statements == s->statements)
                    return own[i]->class;
            for (int i = 0; i < class->method_count && s->statements; i++)
                if (class->methods[i]->statements == s->statements)
                    return class->methods[i]->class;
        }
    }
    return self->spec_class;
}

/* super().forward(x): a function of the class that the running one was written over. */
static struct ev call_super(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const struct scope *owner = scope;
    const struct spec_class *class, *base;
    const struct spec_function *function = NULL;
    struct call call;

    while (owner && !owner->self)
        owner = owner->outer;
    class = owner && owner->self->spec_class ? eval_class_of(owner->self, scope) : NULL;
    base = class ? class->base : NULL;
    if (!eval_arguments(eval, scope, expr, &call))
        return ev_bad(expr->loc);
    if (class && !base && class->container && strcmp(expr->a->text, "forward") == 0)
        return eval->call_method(eval, owner->self, "super.forward", &call);
    if (base && strcmp(expr->a->text, "forward") == 0)
        function = base->forward;
    for (int i = 0; base && !function && i < base->method_count; i++)
        if (strcmp(base->methods[i]->name, expr->a->text) == 0)
            function = base->methods[i];
    if (function)
        return call_spec_function(eval, scope, function, owner->self, NULL, &call);
    diag_error(eval->cx, expr->loc, "no base of this class has a function '%s'", expr->a->text);
    diag_hint(eval->cx, "under 'classes: |' a class may be made of another one: class B(A):");
    return ev_bad(expr->loc);
}

/* What else has the name of a class hides none where that is called. */
static bool is_callable(const struct ev *value)
{
    return value->kind == EV_CLASS || value->kind == EV_FUNCTION || value->kind == EV_METHOD ||
           value->kind == EV_MODULE || value->kind == EV_DTYPE || value->kind == EV_BAD ||
           value->kind == EV_SPACE;
}

/* functools.partial and the like, which are Python's functions under their own names too. */
static bool is_of_library(struct eval *eval, struct scope *scope, const struct expr *name)
{
    static const char *const libraries[] = {"functools", "collections", "copy", "types", "argparse"};
    struct ev other;
    bool library = false;

    if (name->kind != EXPR_ATTR || name->a->kind != EXPR_NAME || !eval_is_python(name->text))
        return false;
    for (int i = 0; i < COUNT(libraries); i++)
        library |= strcmp(name->a->text, libraries[i]) == 0;
    return library && !eval_find_name(eval, scope, name->a, &other);
}

struct ev eval_call(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const struct expr *name = expr->a;
    struct ev callee = ev_none(expr->loc), base = callee, other, out;
    struct call call;
    bool bad, known = true, is_class = false, keeps;
    const int changes = eval->changes;

    if (eval->building && eval->building->call(eval, scope, expr, &out))
        return out;
    if (!eval->building && name->kind == EXPR_ATTR && name->a->kind == EXPR_CALL &&
        name->a->a->kind == EXPR_NAME && strcmp(name->a->a->text, "super") == 0)
        return call_super(eval, scope, expr);
    if (name->kind == EXPR_NAME)
        known = eval_find_name(eval, scope, name, &callee);
    else if (is_of_library(eval, scope, name))
        known = false;
    if (known && name->kind == EXPR_NAME && !is_callable(&callee)) {
        is_class = eval_find_class(eval, name->text, true, name->loc, &other) ||
                   eval_find_class(eval, name->text, false, name->loc, &other);
        known = !is_class;
    }
    if (!known && strcmp(name->text, "isinstance") == 0)
        return eval_isinstance(eval, scope, expr);
    bad = !eval_arguments(eval, scope, expr, &call);
    if (name->kind == EXPR_NAME && known) /* an argument may have changed what has the name */
        eval_find_name(eval, scope, name, &callee);
    if (!known && !bad) {
        out = eval_call_python(eval, name->text, &call);
        if (out.kind != EV_ELLIPSIS) {
            out.loc = expr->loc;
            return out;
        }
    }
    if (name->kind == EXPR_ATTR && known) {
        base = eval_expr(eval, scope, name->a);
        if (!bad && eval_call_builtin(eval, &base, name, &call, &out)) {
            out.loc = expr->loc;
            return out;
        }
        callee = eval_attribute(eval, &base, name);
    } else if ((name->kind != EXPR_NAME && known) || (!known && !(bad && eval_is_python(name->text)))) {
        callee = !known && is_class ? other : eval_expr(eval, scope, name);
    }
    if (callee.kind == EV_BAD || bad)
        return ev_bad(expr->loc);
    for (int i = 0; i < call.count && eval->changes > changes; i++) /* an argument may have changed another */
        call.args[i] = ev_fresh(eval, call.args[i]);
    if (eval->changes > changes)
        callee = ev_fresh(eval, callee);
    out = eval_call_value(eval, scope, &callee, &call);
    keeps = callee.kind == EV_CLASS || callee.spec_function;
    for (int i = 0; i < expr->count; i++) /* which took the list elsewhere */
        keeps |= expr->items[i]->kind == EXPR_STAR || expr->items[i]->kind == EXPR_REPEAT;
    if (!keeps)
        call_give(eval, &call, expr->count);
    return out;
}
