/* module_args.c - evaluates the arguments of constructors, binds them to a signature and brings them into the form that the
 * row of the layer table promises. Apart from module_layers.c, since classes of a spec and initialisations have arguments
 * too. */
#include "module/module_builder.h"

#include <assert.h>
#include <string.h>

/* What the argument at `i` of a call may be. */
static enum arg_kind kind_of(const struct layer_row *row, const struct expr *call, int i)
{
    for (int k = 0; row && k < LAYER_MAX_ARGS && row->args[k].name; k++)
        if (call->names[i] ? strcmp(call->names[i], row->args[k].name) == 0 : k == i)
            return row->args[k].kind;
    return ARG_ANY;
}

/* The same names, but sizes are not refused: they have their current values. */
static struct scope *with_sizes(struct builder *build, const struct scope *scope)
{
    struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);

    *own = *scope;
    if (scope->find == module_find_fixed)
        own->find = module_global_scope(&build->eval, build->tree, true)->find;
    if (scope->outer)
        own->outer = with_sizes(build, scope->outer);
    return own;
}

/* Where a word is written as a name. */
static void hint_text(struct builder *build, const char *word)
{
    diag_hint(build->cx, "text is quoted: '%s'", word);
}

static struct ev eval_arg(struct builder *build, struct scope *scope, const struct expr *expr,
                          enum arg_kind kind)
{
    const int errors = diag_errors(build->cx);
    struct ev value;

    if (kind == ARG_SIZES)
        scope = with_sizes(build, scope);
    if (kind == ARG_MODULE || kind == ARG_CALLABLE) {
        expr = module_choose_call(build, scope, expr);
        if (!expr)
            return (struct ev){.kind = EV_BAD};
        if (module_is_constructor(build, expr) && !module_is_value(build, scope, expr))
            return ev_constructor(expr, scope);
    }
    value = eval_expr(&build->eval, scope, expr);
    if (kind == ARG_STRING && expr->kind == EXPR_NAME && diag_errors(build->cx) > errors)
        hint_text(build, expr->text);
    return value;
}

static void add_argument(struct builder *build, struct call *call, const struct expr *expr, int i,
                         const char *name, struct ev value)
{
    struct arena *arena = &build->cx->arena;
    int names = call->count, locs = call->count;

    ARENA_PUSH(arena, call->names, names, name);
    ARENA_PUSH(arena, call->locs, locs, expr->names[i] ? expr->name_locs[i] : expr->items[i]->loc);
    ARENA_PUSH(arena, call->args, call->count, value);
}

/* **options */
static void add_options(struct builder *build, struct scope *scope, const struct expr *expr, int i,
                        struct call *call)
{
    struct ev value = eval_expr(&build->eval, scope, expr->items[i]->a);

    if (value.kind != EV_DICT) {
        if (value.kind != EV_BAD)
            diag_error(build->cx, expr->items[i]->loc, "'**' takes a dict apart, found %s",
                       ev_kind_text(&value));
        add_argument(build, call, expr, i, NULL, ev_bad(expr->items[i]->loc));
        return;
    }
    for (int k = 0; k < value.count; k++)
        add_argument(build, call, expr, i, value.fields[k], value.items[k]);
}

void module_eval_args(struct builder *build, struct scope *scope, const struct expr *expr,
                      const struct layer_row *row, struct call *call)
{
    *call = (struct call){.loc = expr->loc, .expr = expr};
    for (int i = 0; i < expr->count; i++) {
        const struct expr *item = expr->items[i];
        const bool star = item->kind == EXPR_STAR;
        struct ev *items = NULL;
        int count = 0;

        if (star && item->tuple) {
            add_options(build, scope, expr, i, call);
            continue;
        }
        if (!star && item->kind != EXPR_REPEAT) {
            add_argument(build, call, expr, i, expr->names[i],
                         eval_arg(build, scope, item, kind_of(row, expr, i)));
            continue;
        }
        if (!eval_several(&build->eval, scope, item, &items, &count))
            add_argument(build, call, expr, i, NULL, ev_bad(item->loc));
        for (int k = 0; k < count; k++)
            add_argument(build, call, expr, i, NULL, items[k]);
    }
}

bool module_bind_args(struct builder *build, struct scope *scope, const char *what,
                      const struct signature_arg *args, int count, const struct call *call)
{
    bool fine = eval_bind(&build->eval, scope, what, args, count, 0, call);

    for (int i = 0; i < scope->count; i++)
        fine &= scope->items[i].value.kind != EV_BAD;
    return fine;
}

const struct ev *module_arg(const struct scope *scope, const char *name)
{
    for (int i = 0; i < scope->count; i++)
        if (strcmp(scope->items[i].name, name) == 0)
            return &scope->items[i].value;
    assert(!"a bound argument");
    return NULL;
}

void module_store_args(struct builder *build, struct module *module, const struct scope *scope,
                       const char *const *names, int count)
{
    module->args = ARENA_ARRAY(&build->cx->arena, count + 1, struct binding);
    module->arg_count = count;
    for (int i = 0; i < count; i++) {
        module->args[i].name = names[i];
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, names[i]) == 0)
                module->args[i].value = scope->items[j].value;
    }
}

void module_note_instance(struct builder *build, const struct module *module)
{
    const struct module *owner = module->parent;

    if (module->changed) /* its words are not those of the class */
        return;
    while (owner && !owner->spec_class && !owner->changed)
        owner = owner->parent;
    if (owner && owner->spec_class && owner->arg_count > 0)
        diag_note(build->cx, owner->loc, "in '%s', which is %s", owner->path, owner->text);
}

void module_arg_fault(struct builder *build, const struct module *module, const char *name,
                      const struct ev *value, const char *expected)
{
    diag_error(build->cx, value->loc, "%s: argument '%s' must be %s, found %s", module->class_name, name,
               expected, ev_text(&build->eval, value));
    if (strncmp(expected, "an integer", 10) == 0)
        eval_hint_integer(&build->eval, value);
    if (strcmp(expected, "a string") == 0 && value->kind == EV_FUNCTION)
        hint_text(build, ev_text(&build->eval, value));
    module_note_instance(build, module);
}

/* Arguments that are tuples in the end: of how many integers (0: any number), and what may be given. */
static const struct {
    int count;
    const char *given;
} tuple_kinds[] = {
    [ARG_SINGLE] = {1, "an integer"},          [ARG_PAIR] = {2, "an integer or two"},
    [ARG_TRIPLE] = {3, "an integer or three"}, [ARG_FOUR] = {4, "an integer or four"},
    [ARG_SIX] = {6, "an integer or six"},      [ARG_INTS] = {0, "an integer or a tuple"},
};

static bool are_integers(const struct ev *tuple)
{
    for (int i = 0; i < tuple->count; i++)
        if (tuple->items[i].kind != EV_INT)
            return false;
    return true;
}

/* One of tuple_kinds, as a tuple. False after a fault, as all of these. */
static bool check_tuple(struct builder *build, const struct module *module, const struct layer_arg *arg,
                        struct ev *value)
{
    int count = tuple_kinds[arg->kind].count;

    if (value->kind == EV_NONE && arg->value && strcmp(arg->value, "None") == 0)
        return true;
    if (value->kind == EV_STRING && strcmp(arg->name, "padding") == 0)
        return true; /* 'same', 'valid': the function says what it has */
    if (value->kind == EV_INT && dim_is_const(value->dim, NULL)) {
        int times = count > 0 ? count : 1;
        struct ev *items = ARENA_ARRAY(&build->cx->arena, times, struct ev);

        for (int i = 0; i < times; i++)
            items[i] = *value;
        *value = ev_tuple(&build->eval, value->loc, items, times);
        return true;
    }
    if (value->kind != EV_TUPLE || (count > 0 && value->count != count)) {
        module_arg_fault(build, module, arg->name, value, tuple_kinds[arg->kind].given);
        return false;
    }
    if (!are_integers(value)) {
        module_arg_fault(build, module, arg->name, value, "integers");
        return false;
    }
    *value = ev_frozen(&build->eval, *value); /* what a module holds does not change */
    value->list = false;
    return true;
}

static bool check_floats(struct builder *build, const struct module *module, const struct layer_arg *arg,
                         struct ev *value)
{
    double number;

    if (value->kind == EV_NONE)
        return true;
    if (value->kind == EV_TUPLE) /* others may hold it too */
        *value = ev_tuple(&build->eval, value->loc, value->items, value->count);
    for (int i = 0; i < (value->kind == EV_TUPLE ? value->count : 1); i++) {
        struct ev *item = value->kind == EV_TUPLE ? &value->items[i] : value;

        if (!ev_get_number(item, &number)) {
            module_arg_fault(build, module, arg->name, value, "a number or a tuple of numbers");
            return false;
        }
        *item = ev_float(item->loc, number);
    }
    return true;
}

static bool check_bool(struct builder *build, const struct module *module, const struct layer_arg *arg,
                       struct ev *value)
{
    int64_t integer;
    bool truth = false;

    if (value->kind != EV_BOOL && (value->kind != EV_INT || !ev_get_int(value, &integer))) {
        module_arg_fault(build, module, arg->name, value, "True or False");
        return false;
    }
    ev_get_bool(value, &truth);
    *value = ev_bool(value->loc, truth);
    return true;
}

static bool check_kind(struct builder *build, const struct module *module, const struct layer_arg *arg,
                       const struct ev *value, bool fits, const char *expected)
{
    if (!fits)
        module_arg_fault(build, module, arg->name, value, expected);
    return fits;
}

bool module_check_arg(struct builder *build, const struct module *module, const struct layer_arg *arg,
                      struct ev *value)
{
    double number;
    bool fits;

    switch (arg->kind) {
    case ARG_INT:
        fits = value->kind == EV_INT && dim_is_const(value->dim, NULL);
        return check_kind(build, module, arg, value, fits, "an integer");
    case ARG_FLOAT:
        return check_kind(build, module, arg, value, ev_get_number(value, &number), "a number");
    case ARG_STRING:
        return check_kind(build, module, arg, value, value->kind == EV_STRING, "a string");
    case ARG_TUPLE:
        fits = value->kind == EV_TUPLE && are_integers(value);
        return check_kind(build, module, arg, value, fits, "a tuple of integers");
    case ARG_BOOL:
        return check_bool(build, module, arg, value);
    case ARG_SINGLE:
    case ARG_PAIR:
    case ARG_TRIPLE:
    case ARG_FOUR:
    case ARG_SIX:
    case ARG_INTS:
        return check_tuple(build, module, arg, value);
    case ARG_FLOATS:
        return check_floats(build, module, arg, value);
    case ARG_MODULE:
        fits = value->kind == EV_CONSTRUCTOR || (value->kind == EV_NONE && arg->value);
        return check_kind(build, module, arg, value, fits, "a module, as LayerNorm(64)");
    case ARG_CALLABLE:
        fits = value->kind == EV_CONSTRUCTOR || value->kind == EV_FUNCTION || value->kind == EV_STRING;
        return check_kind(build, module, arg, value, fits, "a function or a module");
    case ARG_SIZES:
        fits = value->kind == EV_TUPLE || value->kind == EV_FUNCTION;
        *value = ev_frozen(&build->eval, *value); /* what a module holds does not change */
        return check_kind(build, module, arg, value, fits,
                          "a shape, as [batch, 8], or a function that gives one");
    case ARG_ANY:
    case ARG_OPTION:
        return true;
    }
    return true;
}
