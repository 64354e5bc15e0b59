/* module_layers.c - modules that are a row of the layer table or a line of the elementwise table: arguments, checks, tensors,
 * children, printed form; and what a lazy one becomes. */
#include "module/module_builder.h"

#include <string.h>

/* The place of the argument that a check names first, where the user wrote it; else the module's. */
static struct loc check_loc(const struct module *module, const char *condition)
{
    const char *first = NULL;
    struct loc loc = module->loc;

    for (int i = 0; i < module->arg_count; i++) {
        const char *at = strstr(condition, module->args[i].name);

        if (at && module->args[i].value.loc.source == module->loc.source && (!first || at < first)) {
            first = at;
            loc = module->args[i].value.loc;
        }
    }
    return loc;
}

static bool add_row_params(struct builder *build, struct module *module, const struct layer_row *row)
{
    int64_t times = 1;

    if (row->repeat) {
        struct ev repeat = eval_text(&build->eval, module_row_scope(build, module), row->repeat);

        ev_get_int(&repeat, &times);
    }
    for (int64_t index = 0; index < times; index++) {
        for (int i = 0; i < LAYER_MAX_PARAMS && row->params[i].name; i++) {
            struct scope *scope = module_row_scope(build, module);

            if (row->repeat) {
                scope_bind(&build->eval, scope, "index", ev_int(&build->eval, module->loc, index));
                eval_body(&build->eval, scope, row->each);
            }
            if (!module_add_row_tensor(build, module, scope, &row->params[i], MODULE_PARAMETER))
                return false;
        }
    }
    return true;
}

/* What a module that no user wrote is called in comments: as it prints, or where that says nothing, as it would be written. */
static void set_texts(struct builder *build, struct module *module)
{
    if (module->given)
        return;
    module->text = module->layer && module->arg_count > 0 && !module->layer->extra_repr
                       ? module_call_text(build, module)
                       : arena_format(&build->cx->arena, "%s(%s)", module->class_name,
                                      module_extra_repr(module));
    for (int i = 0; i < module->child_count; i++)
        set_texts(build, module->children[i]);
}

/* False after a fault. */
static bool add_row_child(struct builder *build, struct module *module, const struct layer_child *row)
{
    struct source *source = ARENA_NEW(&build->cx->arena, struct source);
    struct spec_module child = {.kind = SPEC_MODULE_CALL, .name = row->name, .loc = module->loc};
    struct scope *scope = module_row_scope(build, module);
    struct module *made;
    int before = module->child_count;

    if (row->when) {
        struct ev when = eval_text(&build->eval, scope, row->when);
        bool present;

        if (!ev_get_bool(&when, &present) || !present)
            return when.kind != EV_BAD;
    }
    *source = (struct source){.name = "<child>", .text = row->call, .length = strlen(row->call)};
    child.call = expr_parse_module(build->cx, source, 0, source->length);
    eval_place(child.call, module->loc);
    module_build_place(build, module, row->name, scope, &child);
    if (module->child_count == before)
        return false;
    made = module->children[before];
    if (row->class_name && !made->changed)
        made->class_name = row->class_name;
    for (int i = 0; row->copies && i < made->child_count; i++) {
        struct module *copy = made->children[i], *last = i > 0 ? made->children[i - 1] : NULL;

        copy->copied = !copy->changed && !copy->added;
        if (last && copy->copied && last->copied)
            copy->copy_of = last;
    }
    set_texts(build, made);
    return !made->faulty;
}

/* Of a row with channels: its arguments, its children, and `channels`, where that is known. */
static struct scope *part_scope(struct builder *build, const struct module *module)
{
    struct scope *scope = module_row_scope(build, module);

    for (int i = 0; module->layer->channels && i < module->child_count; i++)
        scope_bind(&build->eval, scope, module->children[i]->name,
                   ev_module(module->loc, module->children[i]));
    for (int i = 0; i < module->constant_count; i++)
        scope_bind(&build->eval, scope, module->constants[i].name, module->constants[i].value);
    return scope;
}

/* Whether the module has channels, and along which axis of its input. */
static bool channel_axis(struct builder *build, const struct module *module, int64_t *axis)
{
    struct ev value = eval_text(&build->eval, part_scope(build, module), module->layer->channels);

    return value.kind != EV_NONE && ev_get_int(&value, axis);
}

/* False after a fault. */
static bool add_row_buffers(struct builder *build, struct module *module, const struct layer_row *row)
{
    for (int i = 0; i < LAYER_MAX_BUFFERS && row->buffers[i].name; i++)
        if (!module_add_row_tensor(build, module, part_scope(build, module), &row->buffers[i], MODULE_BUFFER))
            return false;
    return true;
}

/* Its buffers, of so many channels. False after a fault. */
static bool set_channels(struct builder *build, struct module *module, int64_t channels)
{
    struct binding known = {"channels", ev_int(&build->eval, module->loc, channels)};

    ARENA_PUSH(&build->cx->arena, module->constants, module->constant_count, known);
    return add_row_buffers(build, module, module->layer);
}

/* Checks, tensors, children and printed form of a row whose arguments are there. False after a fault, as all of these. */
static bool complete_layer(struct builder *build, struct module *module, const struct layer_row *row)
{
    int64_t axis;

    build->eval.at = module->loc;
    for (int i = 0; i < LAYER_MAX_CHECKS && row->checks[i].condition; i++) {
        struct ev holds = eval_text(&build->eval, module_row_scope(build, module), row->checks[i].condition);
        bool truth = true;

        if (ev_get_bool(&holds, &truth) && !truth) {
            diag_error(build->cx, check_loc(module, row->checks[i].condition), "%s: %s", row->name,
                       eval_fill(&build->eval, module_row_scope(build, module), row->checks[i].message));
            module_note_instance(build, module);
            return false;
        }
    }
    if (!add_row_params(build, module, row))
        return false;
    if (!row->channels && !add_row_buffers(build, module, row))
        return false;
    for (int i = 0; i < LAYER_MAX_CHILDREN && row->children[i].name; i++)
        if (!add_row_child(build, module, &row->children[i]))
            return false;
    module->extra_repr = eval_fill(&build->eval, part_scope(build, module), row->extra_repr);
    if (!row->channels)
        return true;
    if (!channel_axis(build, module, &axis))
        return set_channels(build, module, 1);
    module->lazy = row;
    ARENA_PUSH(&build->cx->arena, build->tree->lazy, build->tree->lazy_count, module);
    return true;
}

/* dtype= of a layer that has parameters, which is no argument of its row: out of the call. False after a fault. */
static bool take_dtype(struct builder *build, struct module *module, const struct layer_row *row,
                       struct call *call)
{
    struct arena *arena = &build->cx->arena;
    struct call rest = *call;
    int names = 0, locs = 0;

    for (int i = 0; i < LAYER_MAX_ARGS && row->args[i].name; i++)
        if (strcmp(row->args[i].name, "dtype") == 0)
            return true;
    if (!row->params[0].name && !row->children[0].name && !row->becomes)
        return true;
    rest.args = NULL, rest.names = NULL, rest.locs = NULL, rest.count = 0;
    for (int i = 0; i < call->count; i++) {
        const struct ev *dtype = &call->args[i];

        if (!call->names[i] || strcmp(call->names[i], "dtype") != 0) {
            ARENA_PUSH(arena, rest.names, names, call->names[i]);
            ARENA_PUSH(arena, rest.locs, locs, call->locs[i]);
            ARENA_PUSH(arena, rest.args, rest.count, *dtype);
        } else if (dtype->kind == EV_COMPLEX_DTYPE ||
                   (dtype->kind == EV_DTYPE && dtype_is_float(dtype->dtype))) {
            module->typed = true;
            module->dtype = dtype->kind == EV_DTYPE ? dtype->dtype : dtype_of_parts(dtype->dtype);
        } else if (dtype->kind != EV_NONE) {
            if (dtype->kind != EV_BAD)
                diag_error(build->cx, dtype->loc, "%s: dtype must be a floating or complex type, found %s",
                           row->name, ev_text(&build->eval, dtype));
            return false;
        }
    }
    *call = rest;
    return true;
}

bool module_build_layer(struct builder *build, struct module *module, const struct layer_row *row,
                        const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    const char *names[LAYER_MAX_ARGS];
    struct scope *scope = ARENA_NEW(arena, struct scope);
    const struct signature *signature;
    const char *dot; /* behind which the name of "qat.Linear" stands */
    int count = 0;

    module->layer = row;
    for (; count < LAYER_MAX_ARGS && row->args[count].name; count++)
        names[count] = row->args[count].name;
    dot = strchr(row->name, '.');
    signature = eval_signature(&build->eval,
                               layer_signature(build->cx, row) + (dot ? dot + 1 - row->name : 0));

    struct call own = *call;

    if (strcmp(row->name, "Identity") == 0) /* any arguments, ignored */
        own.count = 0;
    if (!take_dtype(build, module, row, &own) ||
        !module_bind_args(build, scope, row->name, signature->args, signature->count, &own))
        return false;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, names[i]) == 0 &&
                !module_check_arg(build, module, &row->args[i], &scope->items[j].value))
                return false;
    module_store_args(build, module, scope, names, count);
    if (row->external && !module_note_extern(build, module))
        return false;
    if (!row->becomes)
        return complete_layer(build, module, row);
    module->lazy = row;
    ARENA_PUSH(arena, build->tree->lazy, build->tree->lazy_count, module);
    return true;
}

static bool has_tensors(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->none)
            return true;
    return false;
}

const char *module_waits_for(const struct module *module)
{
    return module->lazy->channels ? "channels" : layer_find(module->lazy->becomes)->args[0].name;
}

bool module_has_channels(struct cx *cx, struct module_tree *tree, const struct module *module, int64_t *axis)
{
    struct builder build = {.cx = cx, .tree = tree, .eval = {.cx = cx, .default_dtype = tree->dtype}};

    return channel_axis(&build, module, axis);
}

/* It and those below it that wait for channels. */
static bool resolve_channels(struct builder *build, struct module *module, int64_t extent, struct loc call)
{
    bool fine = set_channels(build, module, extent);

    module->resolved = true;
    module->extent = extent;
    module->first_call = call;
    ARENA_PUSH(&build->cx->arena, build->tree->resolved, build->tree->resolved_count, module);
    for (int i = 0; i < module->child_count; i++)
        if (module->children[i]->lazy && !module->children[i]->resolved)
            fine &= resolve_channels(build, module->children[i], extent, call);
    module->faulty |= !fine;
    return fine;
}

bool module_resolve(struct cx *cx, struct module_tree *tree, struct module *module, int64_t extent,
                    struct loc call)
{
    struct builder build = {.cx = cx, .tree = tree, .eval = {.cx = cx, .default_dtype = tree->dtype}};

    if (module->lazy->channels)
        return resolve_channels(&build, module, extent, call);

    const struct layer_row *row = layer_find(module->lazy->becomes);
    struct scope *given = module_row_scope(&build, module);
    const char *names[LAYER_MAX_ARGS];
    int count = 0;

    scope_bind(&build.eval, given, row->args[0].name, ev_int(&build.eval, module->loc, extent));
    for (; count < LAYER_MAX_ARGS && row->args[count].name; count++)
        names[count] = row->args[count].name;
    module_store_args(&build, module, given, names, count);
    module->layer = row;
    module->class_name = row->name;
    module->resolved = true;
    module->extent = extent;
    module->first_call = call;
    ARENA_PUSH(&cx->arena, tree->resolved, tree->resolved_count, module);
    module->faulty = !complete_layer(&build, module, row);
    if (!module->faulty && !has_tensors(module)) { /* PyTorch sets it together with the first of them */
        scope_bind(&build.eval, given, row->args[0].name, ev_int(&build.eval, module->loc, 0));
        module->extra_repr = eval_fill(&build.eval, given, row->extra_repr);
    }
    return !module->faulty;
}

bool module_build_activation(struct builder *build, struct module *module, const struct elementwise_row *row,
                             const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    const char *numbers = row->args, **names;
    struct scope *scope = ARENA_NEW(arena, struct scope);
    struct text text = text_new(arena);
    const struct signature *signature;

    module->elementwise = row;
    for (int i = 0; i < row->tensors && numbers; i++) { /* the numbers behind the tensors */
        numbers = strchr(numbers, ',');
        numbers = numbers ? numbers + 1 : NULL;
    }
    text_printf(&text, "%s(%s", row->module, numbers ? numbers : "");
    if (row->flags & ELEMENTWISE_INPLACE)
        text_printf(&text, "%sinplace=False", numbers ? ", " : "");
    text_add(&text, ")");
    signature = eval_signature(&build->eval, text.data);
    if (!module_bind_args(build, scope, row->module, signature->args, signature->count, call))
        return false;
    names = ARENA_ARRAY(arena, signature->count + 1, const char *);
    for (int i = 0; i < signature->count; i++)
        names[i] = signature->args[i].name;
    module_store_args(build, module, scope, names, signature->count);
    for (int i = 0; i < module->arg_count; i++) {
        double number;

        if (!ev_get_number(&module->args[i].value, &number)) {
            module_arg_fault(build, module, names[i], &module->args[i].value, "a number");
            return false;
        }
    }
    build->eval.at = module->loc;
    module->extra_repr = eval_fill(&build->eval, module_row_scope(build, module), row->repr);
    return true;
}
