/* module_settle.c - what statements find in a tree that is whole: note [tensors of __init__] in module_init_body.c. Apart from there,
 * since attributes of one module hold tensors and modules of others, which change until the last __init__ has run. */
#include <stdint.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "module/module_builder.h"

static bool is_below(const struct module *module, const struct module *outer)
{
    while (module && module != outer)
        module = module->parent;
    return module != NULL;
}

/* Tensors of the tree that a call or a file changes, by whose memory they are in. */
struct memory {
    const struct value *storage;
    struct module_tensor *tensor;
};

struct memories {
    struct memory *list;
    int count;
};

static int compare_memories(const void *a, const void *b)
{
    const uintptr_t left = (uintptr_t)((const struct memory *)a)->storage;
    const uintptr_t right = (uintptr_t)((const struct memory *)b)->storage;

    return left < right ? -1 : left > right;
}

/* Whose memory the value is in: of a tensor that is no constant; NULL: of none. */
static struct module_tensor *memory_of(const struct memories *memories, struct value *value)
{
    const struct memory key = {.storage = build_storage(value)};
    const struct memory *found = memories->count > 0 ? bsearch(&key, memories->list, (size_t)memories->count,
                                                               sizeof key, compare_memories)
                                                     : NULL;

    return found ? found->tensor : NULL;
}

/* What the tensor begins with. */
static void settle_tensor(struct builder *build, struct module_tensor *tensor, struct memories *memories)
{
    struct value *value = tensor->computed && !tensor->faulty
                              ? build_shown(&build->eval, tensor->loc, tensor->computed)
                              : NULL;

    if (!value) {
        tensor->faulty |= tensor->computed != NULL;
        return;
    }
    tensor->computed = value;
    if (value->constant) {
        module_set_value(build, tensor, ev_of_tensor(tensor->loc, tensor, value), false);
        if (!tensor->is_constant)
            ARENA_PUSH(&build->cx->arena, memories->list, memories->count,
                       ((struct memory){build_storage(value), tensor}));
    } else if (!value_is_slot(value)) {
        diag_error(build->cx, tensor->loc, "what '%s' begins with is not known while generating",
                   tensor->path);
        tensor->faulty = true;
    }
}

static struct ev shares_memory(struct builder *build, struct loc loc, const struct module_tensor *tensor)
{
    diag_error(build->cx, loc, "this shares memory with '%s', which is no constant", tensor->path);
    diag_hint(build->cx, "compute it in forward, or keep x.clone(), which shares nothing");
    return ev_bad(loc);
}

/* A tensor that the module has in its attributes and arguments. */
static struct ev settled_tensor(struct builder *build, const struct module *self,
                                const struct memories *memories, struct ev value)
{
    struct module_tensor *memory;

    value = ev_fresh(&build->eval, value);
    if (value.kind == EV_BAD)
        return value;
    memory = value.own ? value.own : memory_of(memories, value.tensor);
    if (!value.own && memory && memory->computed == value.tensor)
        value.own = memory;
    if (value.own && value.own->is_constant)
        value.own = NULL;
    if (value.own && !is_below(value.own->owner, self))
        value.kind = EV_SPACE;
    if (value.own)
        return value;
    if (memory && !memory->is_constant)
        return shares_memory(build, value.loc, memory);
    if (value.tensor->constant)
        return value;
    diag_error(build->cx, value.loc, "a tensor that a module keeps is known while generating");
    diag_hint(build->cx, "compute it in forward");
    return ev_bad(value.loc);
}

/* Lists that nothing changes any more, with the modules and tensors that values in them became. */
static struct ev settled(struct builder *build, const struct module *self, const struct memories *memories,
                         struct ev value)
{
    struct ev *items;

    if (value.kind == EV_CONSTRUCTOR && value.made && value.made->module &&
        is_below(value.made->module, self))
        return value.made->module->faulty ? ev_bad(value.loc) : ev_module(value.loc, value.made->module);
    if (value.kind == EV_TENSOR || value.kind == EV_COMPLEX)
        return settled_tensor(build, self, memories, value);
    value = ev_frozen(&build->eval, value);
    if (value.kind != EV_TUPLE && value.kind != EV_DICT)
        return value;
    items = ARENA_ARRAY(&build->cx->arena, value.count + 1, struct ev);
    for (int i = 0; i < value.count; i++)
        items[i] = settled(build, self, memories, value.items[i]);
    value.items = items;
    return value;
}

/* A list that the module was given and keeps is the list of others too. */
static void check_list(struct builder *build, const struct module *module, const char *name,
                       const struct ev *value)
{
    const struct ev *cell = value->cell ? NULL : value->taken_from;

    if (!cell || cell->version == value->version || value->kind == EV_BAD)
        return;
    diag_error(build->cx, value->loc, "'%s' keeps this %s as '%s', and it was changed behind that",
               module->path, cell->kind == EV_DICT ? "dict" : "list", name);
    diag_hint(build->cx, "give the module a copy of its own: %s(x)", cell->kind == EV_DICT ? "dict" : "list");
}

static void settle_tensors(struct builder *build, struct module *module, struct memories *memories)
{
    for (int i = 0; i < module->tensor_count; i++)
        settle_tensor(build, module->tensors[i], memories);
    for (int i = 0; i < module->child_count; i++)
        settle_tensors(build, module->children[i], memories);
}

static void settle_values(struct builder *build, struct module *module, const struct memories *memories)
{
    for (int i = 0; i < module->tensor_count; i++) {
        struct module_tensor *tensor = module->tensors[i], *memory;

        if (!tensor->is_constant || tensor->faulty || !tensor->computed)
            continue;
        memory = memory_of(memories, tensor->computed);
        tensor->faulty = memory && shares_memory(build, tensor->loc, memory).kind == EV_BAD;
    }
    for (int i = 0; module->spec_class && i < module->constant_count; i++) {
        struct binding *constant = &module->constants[i];

        check_list(build, module, constant->name, &constant->value);
        constant->value = settled(build, module, memories, constant->value);
    }
    for (int i = 0; i < module->arg_count; i++)
        module->args[i].value = settled(build, module, memories, module->args[i].value);
    for (int i = 0; i < module->child_count; i++)
        settle_values(build, module->children[i], memories);
}

void module_settle(struct builder *build)
{
    struct memories memories = {0};

    settle_tensors(build, build->tree->root, &memories);
    if (memories.count > 0)
        qsort(memories.list, (size_t)memories.count, sizeof *memories.list, compare_memories);
    settle_values(build, build->tree->root, &memories);
    for (int i = 0; i < build->tree->constant_count; i++)
        build->tree->constants[i].value = settled(build, build->tree->root, &memories,
                                                  build->tree->constants[i].value);
}
