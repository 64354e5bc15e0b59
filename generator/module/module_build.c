/* module_build.c - places where modules are written: which class a call names, classes of the spec with their members, and
 * what stands under one name. Apart from module_layers.c and module_containers.c, which it calls and which call it. */
#include "module/module_builder.h"

#include <string.h>

#include "eval/pytorch.h"

#define MODULE_MAX_DEPTH 64
#define MODULE_MAX_COUNT 16384

struct module *module_new(struct builder *build, struct module *parent, const char *name, struct loc loc)
{
    struct module *module = ARENA_NEW(&build->cx->arena, struct module);

    module->parent = parent;
    module->name = name;
    module->path = !parent           ? ""
                   : parent->path[0] ? arena_format(&build->cx->arena, "%s.%s", parent->path, name)
                                     : name;
    module->loc = module->name_loc = loc;
    module->class_name = "?";
    module->text = "";
    module->step = build->step;
    module->changed = parent && module->step != parent->step;
    build->count++;
    module->moment = build->moment++;
    if (!parent)
        return module;
    ARENA_PUSH(&build->cx->arena, parent->children, parent->child_count, module);
    for (int i = parent->child_index.count;
         parent->child_count >= NAMES_INDEXED_FROM && i < parent->child_count; i++)
        names_add(&build->cx->arena, &parent->child_index, parent->children[i]->name, "", loc);
    return module;
}

const struct spec_class *module_find_class(const struct builder *build, const char *name)
{
    const struct spec *spec = build->tree->spec;

    for (int i = 0; i < spec->class_count; i++)
        if (strcmp(spec->classes[i]->name, name) == 0)
            return spec->classes[i];
    return NULL;
}

/* Whether the expression is this name with dots, or one that ends it: `nn` of "torch.nn". */
static bool names_space(const struct expr *expr, const char *space)
{
    const char *dot = strrchr(space, '.');
    size_t length;

    if (expr->kind == EXPR_NAME)
        return strcmp(expr->text, dot ? dot + 1 : space) == 0;
    if (expr->kind != EXPR_ATTR || !dot || strcmp(expr->text, dot + 1) != 0)
        return false;
    length = (size_t)(dot - space);
    for (const struct expr *base = expr->a;; base = base->a) {
        size_t start = length;

        while (start > 0 && space[start - 1] != '.')
            start--;
        if ((base->kind != EXPR_NAME && base->kind != EXPR_ATTR) || strlen(base->text) != length - start ||
            strncmp(base->text, space + start, length - start) != 0)
            return false;
        if (base->kind == EXPR_NAME)
            return true;
        if (start == 0)
            return false;
        length = start - 1;
    }
}

/* The class that a constructor names: `Linear`, `nn.Linear`, `torch.nn.Linear`. NULL: no such form. */
static const char *constructor_name(const struct expr *callee)
{
    static const char *const spaces[] = {"torch.nn", "torch.ao.quantization",
                                         "torch.ao.quantization.observer",
                                         "torch.ao.quantization.fake_quantize"};

    if (callee->kind == EXPR_NAME)
        return callee->text;
    if (callee->kind != EXPR_ATTR)
        return NULL;
    for (int i = 0; i < COUNT(spaces); i++)
        if (names_space(callee->a, spaces[i]))
            return callee->text;
    if (!names_space(callee->a, "torch.ao.nn.qat") && !names_space(callee->a, "torch.nn.qat") &&
        !names_space(callee->a, "nn.qat"))
        return NULL;
    return layer_find_qat(callee->text) ? layer_find_qat(callee->text)->name : NULL;
}

void module_unknown_class(struct builder *build, struct loc loc, const char *name)
{
    const char **known = NULL;
    int count = 0, layers;
    const char *const *names = layer_names(build->cx, &layers);

    for (int i = 0; i < build->tree->spec->class_count; i++)
        ARENA_PUSH(&build->cx->arena, known, count, build->tree->spec->classes[i]->name);
    for (int i = 0; i < layers; i++)
        ARENA_PUSH(&build->cx->arena, known, count, names[i]);
    if (pytorch_has(PYTORCH_MODULE, name)) {
        diag_error(build->cx, loc, "%s is not supported yet by this version of modc", name);
        diag_hint(build->cx, "'modc layers' lists what it has; 'classes:' defines modules of your own");
        return;
    }
    if (build->eval.partial && !diag_nearest(name, known, count))
        return; /* it may be a class of what could not be read */
    diag_error(build->cx, loc, "modc does not know the module '%s'", name);
    if (eval_hint_habit(build->cx, name, HABIT_CLASS))
        return;
    if (diag_nearest(name, known, count))
        diag_hint_nearest(build->cx, name, known, count);
    else
        diag_hint(build->cx, "'modc layers' lists those that it knows; 'classes:' defines your own");
}

bool module_fits_limits(struct builder *build, struct loc loc)
{
    if (build->depth < MODULE_MAX_DEPTH && build->count < MODULE_MAX_COUNT)
        return true;
    if (build->depth >= MODULE_MAX_DEPTH)
        diag_error(build->cx, loc, "modules are nested more than %d deep", MODULE_MAX_DEPTH);
    else if (build->count++ == MODULE_MAX_COUNT)
        diag_error(build->cx, loc, "a model has at most %d modules", MODULE_MAX_COUNT);
    return false;
}

/* extra_repr of a class, in which {expression} is its value over the arguments, {expression!r} as Python's repr, and two
 * braces are one. */
static const char *class_repr(struct builder *build, const struct module *module)
{
    const struct spec_class *class = module->spec_class;
    struct scope *scope = module_argument_scope(build, module, module_find_fixed);
    struct text text = text_new(&build->cx->arena);

    build->eval.at = class->extra_repr_loc;
    for (const char *c = class->extra_repr ? class->extra_repr : ""; *c; c++) {
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            c++;
        } else if (*c == '{') {
            size_t length = strcspn(c + 1, "}");
            bool quoted = length > 2 && memcmp(c + length - 1, "!r", 2) == 0;
            struct ev value;

            if (!c[1 + length]) {
                diag_error(build->cx, class->extra_repr_loc, "a '{' of extra_repr is never closed");
                diag_hint(build->cx, "write '{{' where a brace is meant");
                break;
            }
            value = eval_text(&build->eval, scope,
                              arena_copy(&build->cx->arena, c + 1, quoted ? length - 2 : length));
            if (value.kind != EV_BAD)
                text_add(&text,
                         value.kind == EV_STRING && !quoted ? value.text : ev_text(&build->eval, &value));
            c += length + 1;
            continue;
        }
        text_add_bytes(&text, c, 1);
    }
    build->eval.at = (struct loc){0};
    return text.data;
}

/* Whether the text of the value says all of it. */
static bool is_told(const struct ev *value)
{
    const struct call *call = value->kind == EV_CONSTRUCTOR && value->made ? &value->made->call
                                                                           : value->preset;
    bool told = value->kind != EV_TENSOR && value->kind != EV_COMPLEX && value->kind != EV_METHOD &&
                !(value->kind == EV_FUNCTION && value->names) &&
                !(value->kind == EV_CONSTRUCTOR && value->made &&
                  (value->made->wrap_count > 0 || value->made->draw));

    for (int i = 0; (value->kind == EV_TUPLE || value->kind == EV_DICT) && i < value->count; i++)
        told &= is_told(&value->items[i]);
    for (int i = 0; call && i < call->count; i++)
        told &= is_told(&call->args[i]);
    return told;
}

/* Whether the constructor of a module around it, of its class, made it: what that was given was made before. */
static bool contains_itself(const struct module *module)
{
    int first = module->moment;

    for (const struct module *outer = module; outer->parent && !outer->changed;) {
        outer = outer->parent;
        if (outer->spec_class == module->spec_class && outer->moment < first)
            return true;
        first = outer->moment < first ? outer->moment : first;
    }
    return false;
}

bool module_build_class(struct builder *build, struct module *module, const struct spec_class *class,
                        const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    struct scope *scope = ARENA_NEW(arena, struct scope);
    const char **names = ARENA_ARRAY(arena, class->arg_count + 1, const char *);
    struct text text = text_new(arena);

    module->spec_class = class;
    module->class_name = class->name;
    module->faulty = false; /* while its __init__ runs */
    if (contains_itself(module)) {
        diag_error(build->cx, module->loc, "the class '%s' contains itself", class->name);
        diag_note(build->cx, class->loc, "'%s' is defined here", class->name);
        return false;
    }
    scope->outer = module_spec_scope(&build->eval, build->tree, module_find_fixed);
    if (class->init && !call)
        call = ARENA_NEW(arena, struct call);
    if (call && !module_bind_args(build, scope, class->name, class->args, class->arg_count, call))
        return false;
    for (int i = 0; i < class->arg_count; i++)
        names[i] = class->args[i].name;
    module_store_args(build, module, scope, names, class->arg_count);
    text_printf(&text, "%s(", class->name);
    for (int i = 0; i < module->arg_count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", ev_text(&build->eval, &module->args[i].value));
    text_add(&text, ")");
    for (int i = 0; i < module->arg_count; i++)
        if (!is_told(&module->args[i].value)) { /* it is like no other */
            text_printf(&text, " %s", module->path);
            break;
        }
    module->signature = text.data;
    module_add_constants(build, module);
    if (class->init && !module_run_init(build, module, scope))
        return false;
    module->extra_repr = class_repr(build, module);
    module_add_spec_tensors(build, module);
    if (class->modules) {
        struct scope *own = module_argument_scope(build, module, module_find_fixed);

        if (spec_is_sequential(class->modules) && !class->forward && !module->parent)
            module->class_name = "Sequential"; /* a model that is a list of modules */
        if (class->modules->kind == SPEC_MODULE_LIST)
            module_build_items(build, module, own, class->modules);
        else
            for (int i = 0; i < class->modules->count; i++)
                module_build_place(build, module, class->modules->children[i]->name, own,
                                   class->modules->children[i]);
    }
    module_build_added(build, module);
    return true;
}

const struct expr *module_choose_call(struct builder *build, struct scope *scope, const struct expr *expr)
{
    while (expr->kind == EXPR_IF) {
        struct ev condition = eval_expr(&build->eval, scope, expr->b);
        bool truth;

        if (condition.kind == EV_BAD)
            return NULL;
        if (!ev_get_bool(&condition, &truth)) {
            diag_error(build->cx, expr->b->loc, "a condition must be known while generating, found %s",
                       ev_text(&build->eval, &condition));
            return NULL;
        }
        expr = truth ? expr->a : expr->c;
    }
    return expr;
}

bool module_is_constructor(struct builder *build, const struct expr *expr)
{
    return (expr->kind == EXPR_CALL && constructor_name(expr->a)) || module_is_wrapped(build, expr);
}

static void not_a_module(struct builder *build, const struct expr *expr)
{
    if (expr->kind == EXPR_CALL && expr->a->kind == EXPR_ATTR) {
        module_unknown_class(build, expr->a->name_loc, expr->a->text);
        return;
    }
    diag_error(build->cx, expr->loc, "a module is needed here, as Linear(4, 2)");
    if (expr->kind == EXPR_CALL)
        diag_hint(build->cx, "modules are made here, and called in statements");
    else if (expr->kind == EXPR_NONE)
        diag_hint(build->cx, "Identity() gives its input; a name of a mapping may be None");
    else if (expr->kind == EXPR_LIST)
        diag_hint(build->cx, "leave the brackets out: only ModuleList takes one list");
}

void module_build_class_call(struct builder *build, struct module *module, const char *class_name,
                             const struct call *call)
{
    const struct spec_class *class = module_find_class(build, class_name);
    const struct layer_row *row = class ? NULL : layer_find(class_name);

    module->class_name = class_name;
    if (row && row->container != LAYER_PLAIN) {
        module->layer = row;
        module->faulty = false;
        module_hold_values(build, module, call);
        module->extra_repr = module_holds_parameters(module) ? module_parameters_repr(build, module) : "";
        return;
    }
    if (row && strchr(class_name, '.'))
        module->class_name = strrchr(class_name, '.') + 1; /* that of torch.nn, from which it is made */
    module->faulty = !(class ? module_build_class(build, module, class, call)
                       : row ? module_build_layer(build, module, row, call)
                             : module_build_activation(build, module, elementwise_module(class_name), call));
}

static bool has_computed_keys(const struct expr *dict)
{
    for (int i = 0; i < dict->count; i++)
        if (!dict->names[i])
            return true;
    return false;
}

/* Whether items are values, as in Sequential(*layers, norm): these are evaluated. */
static bool holds_values(const struct expr *call)
{
    bool values = false;

    for (int i = 0; i < call->count; i++) {
        const struct expr *item = call->items[i];

        values |= item->kind == EXPR_STAR || item->kind == EXPR_NAME || item->kind == EXPR_ATTR ||
                  item->kind == EXPR_INDEX || item->kind == EXPR_BINARY ||
                  (item->kind == EXPR_LIST && holds_values(item)) ||
                  (item->kind == EXPR_FOR && (item->count > 0 || item->tuple)) ||
                  (item->kind == EXPR_DICT && has_computed_keys(item));
    }
    return values;
}

/* Makes the module what the constructor says. */
static void build_constructor(struct builder *build, struct module *module, struct scope *scope,
                              const struct expr *expr)
{
    const char *class_name = expr->kind == EXPR_CALL ? constructor_name(expr->a) : NULL;
    const struct layer_row *row;
    struct call call;
    bool own;

    if (!class_name) {
        not_a_module(build, expr);
        return;
    }
    module->class_name = class_name;
    module->text = expr_source(build->cx, expr);
    own = expr->a->kind == EXPR_NAME && module_find_class(build, class_name);
    row = own ? NULL : layer_find(class_name);
    if (row && row->container != LAYER_PLAIN && !holds_values(expr)) {
        module->layer = row;
        module->faulty = false;
        module_build_container(build, module, scope, expr);
        module->extra_repr = module_holds_parameters(module) ? module_parameters_repr(build, module) : "";
        return;
    }
    if (!own && !row && !elementwise_module(class_name)) {
        module_unknown_class(build, expr->a->loc, class_name);
        return;
    }
    module_eval_args(build, scope, expr, row, &call);
    module->moment = build->moment++;
    module_build_class_call(build, module, class_name, &call);
}

void module_build_written(struct builder *build, struct module *module, struct scope *scope,
                          const struct expr *expr)
{
    struct ev value;

    module->faulty = true; /* until it is built */
    expr = module_choose_call(build, scope, expr);
    if (!expr || expr->kind == EXPR_BAD)
        return;
    if (module_is_value(build, scope, expr)) {
        value = eval_expr(&build->eval, scope, expr);
        module_become(build, module, &value);
        return;
    }
    build_constructor(build, module, scope, expr);
    if (module->layer || module->elementwise)
        module_build_added(build, module);
}

struct module *module_build_call(struct builder *build, struct module *parent, const char *name,
                                 struct scope *scope, const struct spec_module *spec, const struct expr *expr)
{
    struct module *module = module_new(build, parent, name, expr->loc);

    module->name_loc = spec->loc;
    module_build_written(build, module, scope, expr);
    return module;
}

/* `downsample: Conv2d(4, 8, 1) if wide else None`: whether there is none. */
static bool is_absent(struct builder *build, struct scope *scope, const struct spec_module *spec)
{
    const struct expr *expr = spec->kind == SPEC_MODULE_CALL ? spec->call : NULL;

    if (!expr || (expr->kind != EXPR_NONE && expr->kind != EXPR_IF))
        return false;
    expr = module_choose_call(build, scope, expr);
    return expr && expr->kind == EXPR_NONE;
}

void module_build_place(struct builder *build, struct module *parent, const char *name, struct scope *scope,
                        const struct spec_module *spec)
{
    struct module *module;
    bool list = spec->kind == SPEC_MODULE_LIST ||
                (spec->kind == SPEC_MODULE_CALL &&
                 (spec->call->kind == EXPR_REPEAT || spec->call->kind == EXPR_FOR));

    if (spec->name && spec->kind == SPEC_MODULE_CALL && !list) {
        const struct expr *expr = module_choose_call(build, scope, spec->call);

        if (expr && module_is_value(build, scope, expr)) {
            struct ev value = eval_expr(&build->eval, scope, expr);

            module_place_value(build, parent, name, spec->loc, &value);
            return;
        }
    }
    if (module_build_set(build, parent, name) || !module_fits_limits(build, spec->loc))
        return;
    if (spec->name && is_absent(build, scope, spec)) {
        ARENA_PUSH(&build->cx->arena, parent->absent, parent->absent_count, name);
        return;
    }
    build->depth++;
    if (spec->kind == SPEC_MODULE_CALL && !list) {
        module_build_call(build, parent, name, scope, spec, spec->call);
    } else {
        module = module_new(build, parent, name, spec->loc);
        module->layer = layer_find(list || spec->sequential ? "Sequential" : "ModuleDict");
        module->class_name = module->layer->name;
        module->extra_repr = "";
        if (spec->kind == SPEC_MODULE_CALL) { /* blocks: 12 x Block(256) */
            struct spec_module *children[1] = {(struct spec_module *)spec};
            struct spec_module items = {.kind = SPEC_MODULE_LIST, .children = children, .count = 1};

            module->text = expr_source(build->cx, spec->call);
            module_build_items(build, module, scope, &items);
        } else if (list) {
            module_build_items(build, module, scope, spec);
        } else {
            for (int i = 0; i < spec->count; i++)
                module_build_place(build, module, spec->children[i]->name, scope, spec->children[i]);
        }
        module_build_added(build, module);
    }
    build->depth--;
}
