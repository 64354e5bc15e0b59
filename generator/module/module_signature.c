/* module_signature.c - which modules are equal but for their weights, so that one function can serve them: arrays of children, and
 * the signatures of instances of classes. */
#include "module/module_builder.h"

#include <string.h>

/* `set` or `add` had to do with it, or with something below it. */
static bool is_touched(const struct module *module)
{
    for (int i = 0; i < module->child_count; i++)
        if (is_touched(module->children[i]))
            return true;
    return module->changed;
}

void module_mark_array(const struct module *module)
{
    bool array = module->parent && !module->spec_class && module->child_count > 1;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];

        array &= child->array && strcmp(child->text, module->children[0]->text) == 0 && !is_touched(child);
    }
    for (int i = 0; i < module->child_count; i++)
        module->children[i]->array = array;
}

static const char *describe(struct builder *build, const struct module *module);

/* " with norm: Identity(), act: Tanh()" for the changes below an instance of a class, of which `module` is a part. */
static void describe_changes(struct builder *build, struct text *text, const struct module *instance,
                             const struct module *module)
{
    size_t skip = instance->path[0] ? strlen(instance->path) + 1 : 0;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];

        if (child->changed || child->lazy)
            text_printf(text, "%s %s: %s", text->length > strlen(instance->signature) ? "," : " with",
                        child->path + skip, describe(build, child));
        else
            describe_changes(build, text, instance, child);
    }
}

/* A module by values alone, so that equal descriptions are equal modules. */
static const char *describe(struct builder *build, const struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    if (module->signature)
        return module->signature;
    text_printf(&text, "%s(", module->class_name);
    for (int i = 0; i < module->arg_count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", ev_text(&build->eval, &module->args[i].value));
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->parametrization)
            text_printf(&text, "%s: %s, ", module->tensors[i]->name,
                        module->tensors[i]->parametrization->text);
    for (int i = 0; i < module->tensor_count && module_holds_parameters(module); i++)
        text_printf(&text, "%s%s: %s %s", i ? ", " : "", module->tensors[i]->name,
                    dtype_rows[module->tensors[i]->dtype].name,
                    shape_text(&build->cx->arena, module->tensors[i]->ndim, module->tensors[i]->shape));
    for (int i = 0; i < module->child_count; i++)
        text_printf(&text, "%s%s: %s", i + module->arg_count + module->tensor_count ? ", " : "",
                    module->children[i]->name, describe(build, module->children[i]));
    text_add(&text, ")");
    return text.data;
}

const char *module_call_text(struct builder *build, const struct module *module)
{
    struct text text = text_new(&build->cx->arena);
    struct scope none = {0};
    int count = 0;

    text_printf(&text, "%s(", module->class_name);
    for (int i = 0; i < module->arg_count; i++) {
        const struct layer_arg *arg = &module->layer->args[i];
        const struct ev *value = &module->args[i].value;
        const struct module *child = value->kind == EV_CONSTRUCTOR ? module_child(module, arg->name) : NULL;
        const char *own = child ? describe(build, child) : ev_text(&build->eval, value);
        struct ev otherwise = arg->value ? eval_text(&build->eval, &none, arg->value) : *value;

        if (arg->value && strcmp(own, ev_text(&build->eval, &otherwise)) == 0)
            continue;
        text_printf(&text, "%s%s%s%s", count++ ? ", " : "", arg->value ? arg->name : "",
                    arg->value ? "=" : "", own);
    }
    text_add(&text, ")");
    return text.data;
}

void module_complete_signature(struct builder *build, struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    if (module->layer && module->layer->region)
        module->signature = module_call_text(build, module);
    if (!module->parent || !module->signature)
        return;
    text_add(&text, module->signature);
    for (int i = 0; i < module->arg_count; i++) /* see _copied_activation */
        if (module->args[i].value.kind == EV_CONSTRUCTOR && module_is_copied(module))
            text_add(&text, ", copied");
    describe_changes(build, &text, module, module);
    module->signature = text.data;
}
