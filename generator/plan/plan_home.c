/* plan_home.c - the packed structs: that of the model, one for each class of regions, and which of them a packed value is in. */
#include <string.h>

#include "base/emitted.h"
#include "plan/algorithm.h"
#include "plan/planner.h"

static bool all_below(const struct value *value, const struct module *module)
{
    const struct op *op = value->base->op;
    size_t length = strlen(module->path);
    bool below = true;

    if (op->code == GRAPH_OP_TENSOR)
        return strncmp(op->tensor.tensor->path, module->path, length) == 0 &&
               op->tensor.tensor->path[length] == '.';
    for (int i = 0; i < op->input_count; i++)
        below &= all_below(op->inputs[i], module);
    return below;
}

static const struct value *any_tensor(const struct value *value)
{
    const struct op *op = value->base->op;

    if (op->code == GRAPH_OP_TENSOR)
        return value->base;
    for (int i = 0; i < op->input_count; i++) {
        const struct value *found = any_tensor(op->inputs[i]);

        if (found)
            return found;
    }
    return NULL;
}

/* Whether `module` of an instance is what `first` is of the group's representative. */
static bool same_place(const struct home *home, const struct module *first, const struct module *module)
{
    return strcmp(relative_path(home->group->root, first->path), relative_path(home->root, module->path)) ==
           0;
}

/* From a home to the instance of a class inside it that has the value; false: there is none. */
static bool enter_home(struct planner *planner, struct home *home, const struct value *value)
{
    const struct value *tensor = any_tensor(value);

    for (const struct module *module = tensor ? tensor->op->tensor.tensor->owner : NULL;
         module && module != home->root; module = module->parent) {
        for (int i = 0; module->signature && i < home->group->child_count; i++) {
            const struct pack_child *child = &home->group->children[i];
            bool array = child->count > 0;

            if (strcmp(child->group->root->signature, module->signature) != 0 || !all_below(value, module) ||
                !(array ? same_place(home, child->first->parent, module->parent)
                        : same_place(home, child->first, module)))
                continue;
            home->inside = array ? arena_format(&planner->cx->arena, "%s%s[%s].", home->inside, child->member,
                                                module->name)
                                 : arena_format(&planner->cx->arena, "%s%s.", home->inside, child->member);
            home->group = child->group;
            home->root = module;
            return true;
        }
    }
    return false;
}

struct home planner_find_home(struct planner *planner, const struct value *value)
{
    struct home home = {planner->variant->group, planner->variant->graph->root, ""};

    while (enter_home(planner, &home, value))
        ;
    return home;
}

struct pack_group *planner_find_group(const struct plan *plan, const struct module *root)
{
    for (int i = 1; i < plan->group_count; i++)
        if (strcmp(plan->groups[i]->root->signature, root->signature) == 0)
            return plan->groups[i];
    return NULL;
}

const struct module *plan_in_group(const struct plan *plan, const struct variant *variant,
                                   const struct module *module)
{
    return plan->program->tree
        ->modules[variant->group->root->index + module->index - variant->graph->root->index];
}

/* Behind those of the classes inside it. */
static void put_group(const struct plan *plan, struct pack_group *group, struct pack_group **ordered,
                      int *count)
{
    struct module *const *modules = plan->program->tree->modules + group->root->index;

    for (int i = 0; i < *count; i++)
        if (ordered[i] == group)
            return;
    for (int i = 1; i <= group->root->subtree; i++) {
        struct pack_group *inside = modules[i]->signature ? planner_find_group(plan, modules[i]) : NULL;

        if (inside)
            put_group(plan, inside, ordered, count);
    }
    ordered[(*count)++] = group;
}

void planner_order_groups(struct cx *cx, struct plan *plan)
{
    struct pack_group **ordered = ARENA_ARRAY(&cx->arena, plan->group_count, struct pack_group *);
    int count = 1;

    ordered[0] = plan->groups[0];
    for (int i = 1; i < plan->group_count; i++)
        put_group(plan, plan->groups[i], ordered, &count);
    plan->groups = ordered;
}

/* The instances of a region inside the packed struct of what calls it. */
void planner_add_child_group(struct planner *planner, const struct op *op, struct pack_group *group)
{
    struct pack_group *own = planner->variant->group;
    const struct module *instance = plan_in_group(planner->plan, planner->variant, op->invoke.instance),
                        *first = instance;
    const char *member;
    int count = 0;

    if (instance->array) {
        const struct module *list = instance->parent;

        member = emitted_flat(planner->cx, relative_path(own->root, list->path));
        first = list->children[0];
        count = list->child_count;
    } else {
        member = emitted_flat(planner->cx, relative_path(own->root, instance->path));
    }
    for (int i = 0; i < own->child_count; i++)
        if (strcmp(own->children[i].member, member) == 0)
            return;
    ARENA_PUSH(&planner->cx->arena, own->children, own->child_count,
               ((struct pack_child){member, group, first, count, 0}));
}

/* Which module an entry is of: that of its first tensor, or of what it is made from, where that comes later; -1: of none. */
static int entry_module(const struct packed *entry)
{
    const struct op *op = entry->operand_count > 0 ? entry->operands[0]->base->op : NULL;
    int module = op && op->code == GRAPH_OP_TENSOR ? op->tensor.tensor->owner->index : -1;

    for (int i = 0; i < entry->operand_count; i++) {
        const int other = entry->operand_entries[i] ? entry_module(entry->operand_entries[i]) : -1;

        module = other > module ? other : module;
    }
    return module;
}

/* All that is packed of a module stands together, whichever function asked for it first. */
static void sort_entries(struct pack_group *group)
{
    for (int i = 1; i < group->entry_count; i++) {
        struct packed *entry = group->entries[i];
        const int module = entry_module(entry);
        int at = i;

        for (; at > 0 && entry_module(group->entries[at - 1]) > module; at--)
            group->entries[at] = group->entries[at - 1];
        group->entries[at] = entry;
    }
}

static int64_t entry_bytes(const struct plan *plan, const struct packed *entry)
{
    return plan_aligned(plan, entry->count > 0 ? entry->count * dtype_rows[entry->dtype].bytes : 1);
}

/* The last entry that is made of this one. */
static int last_reader(const struct pack_group *group, int entry)
{
    int last = entry;

    for (int i = entry + 1; i < group->entry_count; i++)
        for (int k = 0; k < group->entries[i]->operand_count; k++)
            if (group->entries[i]->operand_entries[k] == group->entries[entry])
                last = i;
    return last;
}

/* What lies there while entries are made, the first in front. */
struct working {
    int64_t at, end;
    int last;
};

/* The lowest place for so many bytes, up to where entry `last` is made; those that end before `now` leave. */
static int64_t find_room(struct cx *cx, struct working **list, int *count, int64_t bytes, int now, int last)
{
    struct working own = {.last = last};
    int kept = 0, at = 0;

    for (int i = 0; i < *count; i++)
        if ((*list)[i].last >= now)
            (*list)[kept++] = (*list)[i];
    *count = kept;
    while (at < kept && (*list)[at].at - own.at < bytes)
        own.at = (*list)[at++].end;
    own.end = own.at + bytes;
    ARENA_PUSH(&cx->arena, *list, *count, own);
    for (int i = kept; i > at; i--)
        (*list)[i] = (*list)[i - 1];
    (*list)[at] = own;
    return own.at;
}

static void lay_out_work(struct cx *cx, const struct plan *plan, struct pack_group *group)
{
    struct working *list = NULL;
    int count = 0;

    for (int i = 0; i < group->entry_count; i++) {
        struct packed *entry = group->entries[i];
        const bool works = entry->algorithm && entry->algorithm->scratch;
        const int64_t scratch = works ? plan_aligned(plan, entry->algorithm->scratch(entry->op)) : 0;

        entry->scratch_offset = works ? find_room(cx, &list, &count, scratch, i, i) : -1;
        if (!entry->read)
            entry->offset = find_room(cx, &list, &count, entry_bytes(plan, entry), i, last_reader(group, i));
        for (int k = 0; k < count; k++)
            group->work_bytes = list[k].end > group->work_bytes ? list[k].end : group->work_bytes;
    }
}

void planner_lay_out_group(struct cx *cx, const struct plan *plan, struct pack_group *group)
{
    if (group->bytes > 0)
        return;
    sort_entries(group);
    lay_out_work(cx, plan, group);
    for (int i = 0; i < group->entry_count; i++) {
        if (!group->entries[i]->read)
            continue;
        group->entries[i]->offset = group->bytes;
        group->bytes += entry_bytes(plan, group->entries[i]);
    }
    for (int i = 0; i < group->child_count; i++) {
        struct pack_child *child = &group->children[i];

        planner_lay_out_group(cx, plan, child->group);
        child->offset = group->bytes;
        group->bytes += child->group->bytes * (child->count > 0 ? child->count : 1);
        if (child->group->work_bytes >
            group->work_bytes) /* one after the other, and behind the group's own */
            group->work_bytes = child->group->work_bytes;
    }
}
