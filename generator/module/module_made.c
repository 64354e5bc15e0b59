/* module_made.c - modules and classes as values: arguments of classes, constants, items of lists. Apart from module_build.c, where a
 * constructor stands in the place that its module has.
 *
 * note [made modules]
 * While the tree is built a call of a class is a value: the class with its arguments, which are evaluated, and the moment at
 * which PyTorch would run its constructor. It becomes a module where it gets a place, in one place alone. Initial values are
 * drawn in the order of these moments: a module that an argument holds draws before the one that it is given to (`before` of
 * that one, wherever in it the module ends up), and those of one class in the order in which they were made. */
#include "module/module_builder.h"

#include <string.h>

static struct builder *builder_of(struct eval *eval)
{
    return (struct builder *)eval;
}

static bool is_class(struct eval *eval, const char *name, bool own)
{
    if (own)
        return module_find_class(builder_of(eval), name) != NULL;
    return layer_find(name) || elementwise_module(name);
}

static struct ev made_value(struct builder *build, const char *class_name, const struct call *call)
{
    struct made_module *made = ARENA_NEW(&build->cx->arena, struct made_module);
    struct ev out = {.kind = EV_CONSTRUCTOR, .loc = call->loc, .text = class_name, .constructor = call->expr};

    made->call = *call;
    made->moment = build->moment++;
    made->changes = build->eval.changes;
    out.made = made;
    return out;
}

/* An instance of a class that is no module: its attributes. */
static struct ev make_plain(struct builder *build, const struct spec_class *class, const struct call *call)
{
    struct eval *eval = &build->eval;
    struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);
    const struct scope *attributes = module_class_scope(eval, build->tree, class);
    struct ev self = ev_dict(eval, call->loc, NULL, NULL, 0);

    self.list = self.cell->list = true;
    own->outer = module_spec_scope(eval, build->tree, module_find_fixed);
    if (!module_bind_args(build, own, class->name, class->args, class->arg_count, call))
        return ev_bad(call->loc);
    for (int i = 0; i < attributes->count; i++)
        ev_set_key(eval, call->loc, &self, attributes->items[i].name, attributes->items[i].value);
    for (int i = 0; i < own->count && !class->init; i++) /* a dataclass */
        ev_set_key(eval, call->loc, &self, own->items[i].name, own->items[i].value);
    scope_bind(eval, own, "self", self);
    if (class->init && eval_statements(eval, own, class->init->statements, class->init->count).kind == EV_BAD)
        return ev_bad(call->loc);
    return ev_fresh(eval, self);
}

static struct ev construct(struct eval *eval, const struct ev *class, const struct call *call)
{
    const struct spec_class *own_class = module_find_class(builder_of(eval), class->text);
    struct call own = *call;

    if (own_class && own_class->plain)
        return make_plain(builder_of(eval), own_class, call);

    own.args = ARENA_ARRAY(&eval->cx->arena, call->count + 1, struct ev);
    for (int i = 0; i < call->count; i++)
        own.args[i] = ev_frozen(eval, call->args[i]);
    return made_value(builder_of(eval), class->text, &own);
}

/* spectral_norm(Conv2d(3, 4, 1)): what is in it, with one parametrization more. */
static bool call_wrap(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    struct builder *build = builder_of(eval);
    struct wrap *wraps = NULL;
    struct made_module *made;
    int count = 0;

    if (!module_is_wrapped(build, expr) ||
        (expr->a->kind == EXPR_NAME && module_find_class(build, expr->a->text)))
        return false;
    if (!module_unwrap(build, scope, expr, &wraps, &count, out)) {
        *out = ev_bad(expr->loc);
        return true;
    }
    if (out->kind == EV_MODULE) { /* one that has its place */
        if (!module_parametrize(build, out->module, wraps, count))
            *out = ev_bad(expr->loc);
        return true;
    }
    made = ARENA_NEW(&build->cx->arena, struct made_module);
    *made = *out->made;
    made->wraps = module_join_wraps(build, wraps, count, made->wraps, made->wrap_count);
    made->wrap_count += count;
    out->made = made;
    out->loc = expr->loc;
    out->constructor = expr;
    return true;
}

/* ---- names ---- */

static bool is_bound(struct builder *build, const struct scope *scope, const char *name)
{
    for (; scope; scope = scope->outer)
        for (int i = 0; i < scope->count; i++)
            if (strcmp(scope->items[i].name, name) == 0)
                return true;
    for (int i = 0; i < build->tree->constant_count; i++)
        if (strcmp(build->tree->constants[i].name, name) == 0)
            return true;
    return false;
}

static bool is_function(struct builder *build, const char *name)
{
    const struct spec *spec = build->tree->spec;

    for (int i = 0; i < spec->function_count; i++)
        if (strcmp(spec->functions[i]->name, name) == 0)
            return true;
    return false;
}

bool module_build_class_attribute(struct eval *eval, const struct ev *class, const struct expr *expr,
                                  struct ev *out)
{
    return module_class_attribute(eval, builder_of(eval)->tree, class, expr, out);
}

/* Frobnicator(4): by its first letter the name is that of a class, and there is none. */
static bool call_unknown(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    const struct expr *callee = expr->a;
    const char *name = callee->text;
    struct ev other;

    if (callee->kind != EXPR_NAME || name[0] < 'A' || name[0] > 'Z' || eval_is_python(name) ||
        is_bound(builder_of(eval), scope, name) || is_function(builder_of(eval), name) ||
        is_class(eval, name, true) || is_class(eval, name, false) ||
        eval_find_function(name, FUNCTION_TORCH | FUNCTION_FUNCTIONAL | FUNCTION_QUANTIZATION, expr->loc,
                           &other))
        return false;
    module_unknown_class(builder_of(eval), callee->loc, name);
    *out = ev_bad(expr->loc);
    return true;
}

static bool call(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    return call_wrap(eval, scope, expr, out) || module_call_init(eval, scope, expr, out) ||
           call_unknown(eval, scope, expr, out);
}

const struct eval_building module_building = {
    .is_class = is_class,
    .construct = construct,
    .call = call,
    .assign = module_assign,
    .assign_to = module_assign_to,
    .read = module_read_tensor,
    .change = module_change_tensor,
};

/* ---- values where modules are written ---- */

/* nn.Linear, Block */
static bool names_class(struct builder *build, const struct expr *expr)
{
    return (expr->kind == EXPR_NAME || expr->kind == EXPR_ATTR) &&
           (is_class(&build->eval, expr->text, true) || is_class(&build->eval, expr->text, false));
}

/* Whether the name is bound to what is called: else a class of that name is meant. */
static bool holds_callable(const struct scope *scope, const char *name)
{
    for (; scope; scope = scope->outer)
        for (int i = 0; i < scope->count; i++)
            if (strcmp(scope->items[i].name, name) == 0)
                return scope->items[i].value.kind == EV_CLASS || scope->items[i].value.kind == EV_FUNCTION;
    return false;
}

bool module_is_value(struct builder *build, const struct scope *scope, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_NAME:
        return strcmp(expr->text, "self") == 0 || is_bound(build, scope, expr->text) ||
               eval_is_quantization_default(expr->text);
    case EXPR_ATTR:
        if (eval_is_quantization_default(expr->text))
            return true;
        /* fallthrough */
    case EXPR_INDEX:
        return expr->a->kind == EXPR_DICT || expr->a->kind == EXPR_LIST || expr->a->kind == EXPR_TUPLE ||
               module_is_value(build, scope, expr->a);
    case EXPR_BINARY:
        return expr->op == OP_OR || expr->op == OP_AND;
    case EXPR_CALL:
        if (expr->a->kind == EXPR_NAME && names_class(build, expr->a) &&
            !holds_callable(scope, expr->a->text))
            return false;
        if (module_is_wrapped(build, expr))
            return expr->a->kind != EXPR_NAME || !module_find_class(build, expr->a->text);
        return (expr->a->kind == EXPR_CALL && !names_class(build, expr->a->a)) ||
               module_is_value(build, scope, expr->a) ||
               (expr->a->kind == EXPR_NAME && is_function(build, expr->a->text));
    default:
        return false;
    }
}

/* Modules of the tables that copy what they were given make several of one. */
static bool is_copied(const struct module *module)
{
    const struct module *owner = module->parent;

    while (owner && owner->layer && owner->layer->container != LAYER_PLAIN)
        owner = owner->parent;
    return owner && owner->layer;
}

/* It was made before the constructors of modules around it ran. */
static void note_moment(struct builder *build, struct module *module)
{
    struct module *first = NULL;

    for (struct module *outer = module->parent; outer; outer = outer->parent)
        if (outer->moment > module->moment && outer->parent)
            first = outer;
    if (first)
        ARENA_PUSH(&build->cx->arena, first->before, first->before_count, module);
}

static void no_module(struct builder *build, const struct ev *value)
{
    const bool several = value->kind == EV_TUPLE || value->kind == EV_DICT;

    if (value->kind == EV_BAD)
        return;
    diag_error(build->cx, value->loc, "a module is needed here, found %s", ev_text(&build->eval, value));
    if (value->kind == EV_CLASS)
        diag_hint(build->cx, "write %s(...): a class makes one where it is called", value->text);
    else if (several)
        diag_hint(build->cx, "a list of them is written ModuleList(xs) or Sequential(*xs)");
    else if (value->kind == EV_NONE)
        diag_hint(build->cx, "Identity() gives its input; a name of a mapping may be None");
}

/* Its __init__ runs now, and not where the class was called. */
static bool changed_since(struct builder *build, const struct made_module *made)
{
    bool changed = false;

    for (int i = 0; i < made->call.count && made->changes != build->eval.changes; i++)
        changed |= ev_is_stale(&build->eval, &made->call.args[i]);
    return changed;
}

static void become_made(struct builder *build, struct module *module, const struct ev *value)
{
    struct made_module *made = value->made;

    if (made->module && !is_copied(module)) {
        diag_error(build->cx, value->loc, "this module has a place already, '%s': it cannot be '%s' too",
                   made->module->path, module->path);
        diag_hint(build->cx, "make one for each, and `tie:` their parameters where they are shared");
        return;
    }
    if (changed_since(build, made)) {
        diag_error(build->cx, value->loc, "what this module is given changed before it got its place, '%s'",
                   module->path);
        diag_hint(build->cx, "give it the place first, or a copy: x.clone()");
        return;
    }
    made->module = module;
    module->moment = made->moment;
    module->text = made->call.expr ? expr_source(build->cx, made->call.expr) : ev_text(&build->eval, value);
    note_moment(build, module);
    module_build_class_call(build, module, value->text, &made->call);
    if (!module->faulty && made->wrap_count > 0)
        module->faulty = !module_parametrize(build, module, made->wraps, made->wrap_count);
    if (module->layer || module->elementwise)
        module_build_added(build, module);
}

void module_become(struct builder *build, struct module *module, const struct ev *value)
{
    module->faulty = true;
    if (value->kind != EV_CONSTRUCTOR) {
        no_module(build, value);
        return;
    }
    module->given = true;
    module->loc = value->constructor ? value->constructor->loc : value->loc;
    if (value->made)
        become_made(build, module, value);
    else
        module_build_written(build, module, value->names, value->constructor);
}

void module_place_value(struct builder *build, struct module *parent, const char *name, struct loc loc,
                        const struct ev *value)
{
    struct module *module;

    if (module_build_set(build, parent, name) || !module_fits_limits(build, loc))
        return;
    if (value->kind == EV_NONE && name[0] && !(name[0] >= '0' && name[0] <= '9')) {
        ARENA_PUSH(&build->cx->arena, parent->absent, parent->absent_count, name);
        return;
    }
    build->depth++;
    module = module_new(build, parent, name, loc);
    module_become(build, module, value);
    build->depth--;
}

/* ---- constants ---- */

void module_add_constants(struct builder *build, struct module *module)
{
    const struct spec_class *class = module->spec_class;

    for (int i = 0; i < class->constant_count; i++) {
        struct scope *scope = module_argument_scope(build, module, module_find_fixed);
        struct ev value = ev_frozen(&build->eval, eval_expr(&build->eval, scope, class->constants[i].value));

        ARENA_PUSH(&build->cx->arena, module->constants, module->constant_count,
                   ((struct binding){class->constants[i].name, value}));
    }
}
