/* module_dump.c - the tree as text and as JSON, for `modc check --dump=module`. */
#include "module/module.h"

#include "base/text.h"

static void dump_tensor_json(struct text *text, const struct module_tensor *tensor)
{
    static const char *const kinds[] = {
        [MODULE_PARAMETER] = "parameter", [MODULE_BUFFER] = "buffer", [MODULE_STATE] = "state"};

    text_add(text, "{\"name\": ");
    text_json_string(text, tensor->path);
    text_printf(text, ", \"kind\": \"%s\", \"dtype\": \"%s\", \"persistent\": %s, \"requires_grad\": %s",
                kinds[tensor->kind], dtype_rows[tensor->dtype].name, tensor->persistent ? "true" : "false",
                tensor->requires_grad ? "true" : "false");
    if (tensor->first != tensor) {
        text_add(text, ", \"same_as\": ");
        text_json_string(text, tensor->first->path);
    }
    text_add(text, ", \"shape\": [");
    for (int i = 0; i < tensor->ndim; i++)
        text_printf(text, "%s%lld", i ? ", " : "", (long long)tensor->dims[i]);
    text_add(text, "]}");
}

static void dump_json(struct text *text, const struct module *module)
{
    text_add(text, "{\"path\": ");
    text_json_string(text, module->path);
    text_add(text, ", \"class\": ");
    text_json_string(text, module->class_name);
    text_add(text, ", \"extra_repr\": ");
    text_json_string(text, module_extra_repr(module));
    text_printf(text, ", \"always_eval\": %s, \"checkpoint\": %s, \"tensors\": [",
                module->always_eval ? "true" : "false", module->checkpoint ? "true" : "false");
    for (int i = 0, n = 0; i < module->tensor_count; i++) {
        if (module->tensors[i]->none)
            continue;
        text_add(text, n++ ? ", " : "");
        dump_tensor_json(text, module->tensors[i]);
    }
    text_add(text, "], \"children\": [");
    for (int i = 0; i < module->child_count; i++) {
        text_add(text, i ? ", " : "");
        dump_json(text, module->children[i]);
    }
    text_add(text, "]}");
}

static void dump_text(struct text *text, const struct module *module, int depth)
{
    text_printf(text, "%*s%s%s%s(%s)%s%s\n", 2 * depth, "", module->name, module->parent ? ": " : "",
                module->class_name, module_extra_repr(module), module->always_eval ? " always eval" : "",
                module->checkpoint ? " checkpoint" : "");
    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];

        if (tensor->none)
            continue;
        text_printf(text, "%*s%s %s (", 2 * depth + 4, "", tensor->name, dtype_rows[tensor->dtype].name);
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(text, "%s%lld", d ? ", " : "", (long long)tensor->dims[d]);
        text_printf(text, ")%s%s%s%s",
                    tensor->kind == MODULE_STATE    ? " state"
                    : tensor->kind == MODULE_BUFFER ? " buffer"
                                                    : "",
                    tensor->persistent || tensor->kind == MODULE_STATE ? "" : " not persistent",
                    tensor->is_constant ? " constant" : "",
                    tensor->kind == MODULE_PARAMETER && !tensor->requires_grad ? " frozen" : "");
        if (tensor->first != tensor)
            text_printf(text, " same as %s", tensor->first->path);
        text_add(text, "\n");
    }
    for (int i = 0; i < module->child_count; i++)
        dump_text(text, module->children[i], depth + 1);
}

void module_dump(struct text *text, const struct module_tree *tree, bool json)
{
    if (json) {
        dump_json(text, tree->root);
        text_add(text, "\n");
    } else {
        dump_text(text, tree->root, 0);
    }
}
