/* module_scope.c - what names mean: in statements of a module, and where a spec writes constructors, shapes and values. */
#include "module/module_builder.h"

#include <string.h>

static bool find_module_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                             struct ev *out)
{
    struct module *module = scope->self;
    struct module *child = module_child(module, name);
    struct module_tensor *tensor = module_find_tensor(module, name);

    if (child) {
        *out = child->faulty ? ev_bad(loc) : ev_module(loc, child);
        return true;
    }
    if (tensor) {
        *out = eval_tensor(eval, tensor, loc);
        return true;
    }
    for (int i = 0; i < module->absent_count; i++) {
        if (strcmp(module->absent[i], name) == 0) {
            *out = ev_none(loc);
            return true;
        }
    }
    for (int i = module->constant_count - 1; i >= 0; i--) {
        if (strcmp(module->constants[i].name, name) == 0) {
            *out = ev_given(eval, module->constants[i].value);
            out->loc = loc;
            return true;
        }
    }
    for (int i = 0; i < module->arg_count; i++) {
        if (strcmp(module->args[i].name, name) == 0) {
            *out = ev_given(eval, module->args[i].value);
            out->loc = loc;
            return true;
        }
    }
    return false;
}

static bool find_constant(struct eval *eval, const struct module_tree *tree, const char *name, struct loc loc,
                          struct ev *out)
{
    for (int i = 0; i < tree->constant_count; i++) {
        if (strcmp(tree->constants[i].name, name) == 0) {
            *out = ev_given(eval, tree->constants[i].value);
            out->loc = loc;
            return true;
        }
    }
    return false;
}

static bool find_function_of_spec(const struct module_tree *tree, const char *name, struct loc loc,
                                  struct ev *out)
{
    const struct spec *spec = tree->spec;

    for (int i = 0; i < spec->function_count; i++) {
        if (strcmp(spec->functions[i]->name, name) == 0) {
            *out = (struct ev){
                .kind = EV_FUNCTION, .loc = loc, .text = name, .spec_function = spec->functions[i]};
            return true;
        }
    }
    return false;
}

static const struct spec_class *find_class(const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->spec->class_count; i++)
        if (strcmp(tree->spec->classes[i]->name, name) == 0)
            return tree->spec->classes[i];
    return NULL;
}

static void use_size(const struct module_tree *tree, int size)
{
    if (tree->sizes_used)
        tree->sizes_used[size] = true;
}

/* Constants, sizes at their current value, functions. */
static bool find_global_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                             struct ev *out)
{
    const struct module_tree *tree = scope->data;

    if (find_constant(eval, tree, name, loc, out))
        return true;
    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            *out = ev_dim(loc, dim_size(&eval->cx->arena, &tree->sizes[i]));
            use_size(tree, i);
            return true;
        }
    }
    if (find_function_of_spec(tree, name, loc, out))
        return true;
    if (eval->building || !find_class(tree, name)) /* else the builder knows those of torch.nn, too */
        return false;
    *out = ev_class(loc, name);
    return true;
}

/* The same where one shape is needed: a size is an error. */
bool module_find_fixed(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                       struct ev *out)
{
    const struct module_tree *tree = scope->data;

    if (find_constant(eval, tree, name, loc, out))
        return true;
    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            diag_error(eval->cx, loc, "'%s' is a size, known at run time: a constructor needs constants",
                       name);
            diag_hint(eval->cx, "parameters have one shape; put '%s' under constants: if it is fixed", name);
            *out = ev_bad(loc);
            return true;
        }
    }
    for (int i = tree->constant_count; i < tree->spec->constant_count; i++) { /* while constants are read */
        if (strcmp(tree->spec->constants[i].name, name) == 0) {
            diag_error(eval->cx, loc, "'%s' is not known yet: a constant may use the constants above it",
                       name);
            *out = ev_bad(loc);
            return true;
        }
    }
    return find_function_of_spec(tree, name, loc, out);
}

/* The same where memory is laid out: a size is its maximum. */
bool module_find_maximum(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                         struct ev *out)
{
    const struct module_tree *tree = scope->data;

    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            *out = ev_int(eval, loc, tree->sizes[i].max);
            use_size(tree, i);
            return true;
        }
    }
    return find_global_name(eval, scope, name, loc, out);
}

static void module_names(struct eval *eval, struct scope *scope, const char ***names, int *count)
{
    const struct module *module = scope->self;

    for (int i = 0; i < module->child_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->children[i]->name);
    for (int i = 0; i < module->tensor_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->tensors[i]->name);
    for (int i = 0; i < module->arg_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->args[i].name);
    for (int i = 0; i < module->constant_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->constants[i].name);
}

static void global_names(struct eval *eval, struct scope *scope, const char ***names, int *count)
{
    const struct module_tree *tree = scope->data;

    for (int i = 0; i < tree->constant_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->constants[i].name);
    for (int i = 0; i < tree->size_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->sizes[i].name);
    for (int i = 0; i < tree->spec->function_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->spec->functions[i]->name);
}

struct scope *module_spec_scope(struct eval *eval, struct module_tree *tree, module_finder *find)
{
    struct scope *scope = ARENA_NEW(&eval->cx->arena, struct scope);

    scope->find = find;
    scope->names = global_names;
    scope->data = tree;
    return scope;
}

struct scope *module_class_scope(struct eval *eval, struct module_tree *tree, const struct spec_class *class)
{
    struct scope *scope = ARENA_NEW(&eval->cx->arena, struct scope);

    scope->outer = module_spec_scope(eval, tree, module_find_fixed);
    for (int i = 0; i < class->constant_count; i++)
        scope_bind(eval, scope, class->constants[i].name,
                   ev_frozen(eval, eval_expr(eval, scope, class->constants[i].value)));
    return scope;
}

/* Block.expansion, which does not depend on the arguments of the class, and functions of the class that do without a module. */
bool module_class_attribute(struct eval *eval, struct module_tree *tree, const struct ev *value,
                            const struct expr *expr, struct ev *out)
{
    const struct spec_class *class = find_class(tree, value->text);

    for (int i = class ? class->constant_count - 1 : -1; i >= 0; i--) {
        if (strcmp(class->constants[i].name, expr->text) != 0)
            continue;
        *out = *module_arg(module_class_scope(eval, tree, class), expr->text);
        return out->kind != EV_BAD;
    }
    for (int i = 0; class && i < class->method_count; i++) {
        const struct spec_function *method = class->methods[i];

        if (strcmp(method->name, expr->text) != 0 ||
            (method->kind != DEF_STATIC && method->kind != DEF_CLASS))
            continue;
        *out = eval_class_function(eval, method, expr->loc);
        return true;
    }
    if (strcmp(expr->text, "__name__") == 0) {
        *out = ev_string(expr->loc, value->text);
        return true;
    }
    diag_error(eval->cx, expr->name_loc, "the class %s has no attribute '%s'", value->text, expr->text);
    return false;
}

struct scope *module_global_scope(struct eval *eval, struct module_tree *tree, bool sizes)
{
    return module_spec_scope(eval, tree, sizes ? find_global_name : module_find_fixed);
}

/* `- fc: Linear(4, 4)` in a list: the list numbers its items, and each is a mapping of one name. */
static bool explain_numbered(struct eval *eval, struct scope *scope, const char *name, struct loc loc)
{
    const struct module *module = scope->self;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *item = module->children[i];

        if (item->name[0] < '0' || item->name[0] > '9' || !module_child(item, name))
            continue;
        diag_error(eval->cx, loc, "'%s' is not known here: in a list it is '%s.%s'", name, item->name, name);
        diag_hint(eval->cx, "a list numbers its modules; leave out the '- ' before names");
        return true;
    }
    return false;
}

struct scope *module_scope(struct eval *eval, struct module_tree *tree, struct module *module)
{
    struct scope *scope = ARENA_NEW(&eval->cx->arena, struct scope);

    scope->find = find_module_name;
    scope->names = module_names;
    scope->explain = explain_numbered;
    scope->data = tree;
    scope->self = module;
    if (module->spec_class) /* bodies of the tables see functions of PyTorch alone */
        scope->outer = module_global_scope(eval, tree, true);
    return scope;
}

/* What a class declares under a name, or NULL. */
static const char *declared_kind(const struct module_tree *tree, const struct module *module,
                                 const char *name)
{
    static const char *const kinds[] = {
        [SPEC_PARAMETER] = "a parameter", [SPEC_BUFFER] = "a buffer", [SPEC_STATE] = "a state"};
    const struct spec_class *class = module->spec_class;
    const struct spec_module *modules = class->modules;

    for (int i = 0; i < class->tensor_count; i++)
        if (strcmp(class->tensors[i]->name, name) == 0)
            return kinds[class->tensors[i]->kind];
    for (int i = 0; modules && modules->kind == SPEC_MODULE_MAP && i < modules->count; i++)
        if (strcmp(modules->children[i]->name, name) == 0)
            return "a module";
    for (int i = 0; !module->parent && i < tree->spec->input_count; i++)
        if (strcmp(tree->spec->inputs[i].name, name) == 0)
            return "an input";
    return NULL;
}

/* Names that only statements may use. */
static bool explain_own_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc)
{
    const char *kind = declared_kind(scope->outer->data, scope->data, name);

    if (!kind)
        return false;
    diag_error(eval->cx, loc, "'%s' is %s, which is not known while generating", name, kind);
    diag_hint(eval->cx, "constructors, shapes and values know constants, and the arguments of their class");
    return true;
}

struct scope *module_argument_scope(struct builder *build, const struct module *module, module_finder *find)
{
    struct scope *scope = ARENA_NEW(&build->cx->arena, struct scope);

    scope->outer = module_spec_scope(&build->eval, build->tree, find);
    scope->explain = explain_own_name;
    scope->data = module;
    scope->self = (struct module *)module;
    for (int i = 0; i < module->arg_count; i++)
        scope_bind(&build->eval, scope, module->args[i].name, module->args[i].value);
    for (int i = 0; i < module->constant_count; i++)
        scope_bind(&build->eval, scope, module->constants[i].name, module->constants[i].value);
    return scope;
}

struct scope *module_row_scope(struct builder *build, const struct module *module)
{
    struct scope *scope = ARENA_NEW(&build->cx->arena, struct scope);

    for (int i = 0; i < module->arg_count; i++)
        scope_bind(&build->eval, scope, module->args[i].name, module->args[i].value);
    return scope;
}

struct scope *module_init_scope(struct eval *eval, struct module *module)
{
    struct scope *scope = module_spec_scope(eval, ((struct builder *)eval)->tree, module_find_fixed);

    scope->self = module;
    return scope;
}
