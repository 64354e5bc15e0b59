/* tree.c - what everybody asks of the module tree. */
#include "tree/tree.h"

#include <string.h>

bool init_draws(enum init_kind kind)
{
    return kind == INIT_UNIFORM || kind == INIT_NORMAL || kind == INIT_WITHIN;
}

struct module *module_child(const struct module *module, const char *name)
{
    if (module->child_index.count == module->child_count) {
        const struct name_entry *entry = names_find(&module->child_index, name);

        return entry ? module->children[entry->index] : NULL;
    }
    for (int i = 0; i < module->child_count; i++)
        if (strcmp(module->children[i]->name, name) == 0)
            return module->children[i];
    return NULL;
}

bool module_is_copied(const struct module *module)
{
    while (module && !module->changed && !module->copied)
        module = module->parent;
    return module && !module->changed;
}

struct module_tensor *module_find_tensor(const struct module *module, const char *name)
{
    if (module->tensor_index.count == module->tensor_count) {
        const struct name_entry *entry = names_find(&module->tensor_index, name);

        return entry ? module->tensors[entry->index] : NULL;
    }
    for (int i = 0; i < module->tensor_count; i++)
        if (strcmp(module->tensors[i]->name, name) == 0)
            return module->tensors[i];
    return NULL;
}

int64_t module_tensor_count(const struct module_tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->ndim; i++)
        count *= tensor->dims[i];
    return count;
}

int64_t module_tensor_parts(const struct module_tensor *tensor)
{
    return module_tensor_count(tensor) * (dtype_is_complex(tensor->dtype) ? 2 : 1);
}

int module_tensor_shown(struct arena *arena, const struct module_tensor *tensor, enum dtype *dtype,
                        const struct dim *dims[MAX_DIMS])
{
    int ndim = tensor->ndim;

    memcpy(dims, tensor->shape, sizeof tensor->shape);
    if (dtype_is_complex(tensor->dtype))
        dims[ndim++] = dim_const(arena, 2);
    *dtype = dtype_part(tensor->dtype);
    return ndim;
}

struct module_tensor *module_tensor_origin(struct module_tensor *tensor)
{
    while (tensor->source)
        tensor = tensor->source;
    return tensor;
}

const char *relative_path(const struct module *root, const char *path)
{
    size_t length = strlen(root->path);

    if (length > 0 && strncmp(path, root->path, length) == 0 && (path[length] == '.' || !path[length]))
        return path + length + (path[length] == '.');
    return path;
}

const char *requirement_text(struct arena *arena, const struct requirement *requirement)
{
    return arena_format(arena, "%s %s %s", dim_text(arena, requirement->left), requirement->op,
                        dim_text(arena, requirement->right));
}

const struct module_range *module_range(const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->range_count; i++)
        if (strcmp(tree->ranges[i].name, name) == 0)
            return &tree->ranges[i];
    return NULL;
}
