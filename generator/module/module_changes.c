/* module_changes.c - `set` and `add`, which change a tree while it is built. Apart from module_build.c, which asks at every place
 * whether something else stands there.
 *
 * note [set and add]: both are heeded while the tree is built, from the root down, so that what is replaced is never
 * built, never faulty, and draws no initial values: the module that replaces it draws at its place, and one that is
 * added behind its siblings, as the __init__ that says so from the start. Since the changes apply one after the other,
 * every module stems from one of them or from none, and only later changes can reach it or what is below it: that is
 * its `step`. What is left over in the end did not find its place, or is overruled by a later `set`. */
#include "module/module_builder.h"

#include <string.h>

/* The path without its last name: "" for a child of the root. */
static const char *parent_path(struct builder *build, const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? arena_copy(&build->cx->arena, path, (size_t)(dot - path)) : "";
}

void module_find_changes(struct builder *build)
{
    const struct spec *spec = build->tree->spec;
    struct arena *arena = &build->cx->arena;

    build->step = -1;
    build->applied = ARENA_ARRAY(arena, spec->change_count + 1, bool);
    build->last_set = ARENA_ARRAY(arena, spec->change_count + 1, int);
    build->last_add = ARENA_ARRAY(arena, spec->change_count + 1, int);
    build->earlier_add = ARENA_ARRAY(arena, spec->change_count + 1, int);
    for (int i = 0; i < spec->change_count; i++) {
        const struct spec_change *change = &spec->changes[i];
        bool set = change->kind == SPEC_SET;
        struct names *names = set ? &build->sets : &build->adds;
        const char *key = set ? change->path : parent_path(build, change->path);
        const struct name_entry *first = names_add(arena, names, key, key, change->loc);
        int *last = set ? build->last_set : build->last_add, at = first ? first->index : names->count - 1;

        build->earlier_add[i] = first && !set ? last[at] : -1;
        last[at] = i;
    }
}

/* The last `set` of this very path, if it is behind `step`; else -1. */
static int find_set(const struct builder *build, const char *path, int step)
{
    const struct name_entry *found = names_find(&build->sets, path);

    return found && build->last_set[found->index] > step ? build->last_set[found->index] : -1;
}

static const char *path_below(struct builder *build, const struct module *parent, const char *name)
{
    return parent->path[0] ? arena_format(&build->cx->arena, "%s.%s", parent->path, name) : name;
}

/* Builds the module of a change as a child, in the model's scope. */
static void build_change(struct builder *build, struct module *parent, int change)
{
    const struct spec_module *spec = build->tree->spec->changes[change].module;
    int step = build->step;

    build->step = change;
    build->applied[change] = true;
    module_build_place(build, parent, spec->name,
                       module_spec_scope(&build->eval, build->tree, module_find_fixed), spec);
    build->step = step;
}

bool module_build_set(struct builder *build, struct module *parent, const char *name)
{
    int change = build->sets.count > 0 ? find_set(build, path_below(build, parent, name), build->step) : -1;

    if (change >= 0)
        build_change(build, parent, change);
    return change >= 0;
}

/* Takes the name for a child; false where a child or tensor has it, or one that is equal in C. */
static bool take_name(struct builder *build, const struct module *parent, struct names *taken,
                      const struct spec_change *change)
{
    const char *name = change->module->name, *upper = emitted_upper(build->cx, name);
    const struct name_entry *first = names_add(&build->cx->arena, taken, upper, name, change->loc);

    if (!first)
        return true;
    if (strcmp(first->name, name) == 0)
        diag_error(build->cx, change->loc, "there is a '%s' already, which 'add' does not replace",
                   change->path);
    else
        diag_error(build->cx, change->loc, "'%s' and '%s' give one name in C, %s", first->name, name, upper);
    diag_note(build->cx, first->loc, "'%s' is defined here", path_below(build, parent, first->name));
    if (module_child(parent, name))
        diag_hint(build->cx, "'set' replaces a module");
    return false;
}

void module_build_added(struct builder *build, struct module *module)
{
    const struct name_entry *found = build->adds.count > 0 ? names_find(&build->adds, module->path) : NULL;
    const struct spec *spec = build->tree->spec;
    struct names taken = {0};
    int *changes = NULL, count = 0, step = build->step;

    for (int i = found ? build->last_add[found->index] : -1; i > step; i = build->earlier_add[i])
        ARENA_PUSH(&build->cx->arena, changes, count, i);
    for (int i = 0; i < module->tensor_count && count > 0; i++)
        names_add(&build->cx->arena, &taken, emitted_upper(build->cx, module->tensors[i]->name),
                  module->tensors[i]->name, module->tensors[i]->loc);
    for (int i = 0; i < module->child_count && count > 0; i++)
        names_add(&build->cx->arena, &taken, emitted_upper(build->cx, module->children[i]->name),
                  module->children[i]->name, module->children[i]->loc);
    for (int i = count - 1; i >= 0; i--) { /* they were found from the last to the first */
        const struct spec_change *change = &spec->changes[changes[i]];

        build->applied[changes[i]] = true;
        if (!take_name(build, module, &taken, change))
            continue;

        int child = module->child_count;

        build->step = changes[i];
        if (!module_build_set(build, module, change->module->name))
            build_change(build, module, changes[i]);
        build->step = step;
        if (child < module->child_count)
            module->children[child]->added = true;
    }
}

/* The module of this path, or the last one on the way to it. */
static struct module *find_deepest(struct builder *build, const char *path)
{
    struct module *module = build->tree->root;

    while (!module->faulty && strcmp(module->path, path) != 0) {
        size_t skip = module->path[0] ? strlen(module->path) + 1 : 0;
        const char *name = arena_copy(&build->cx->arena, path + skip, strcspn(path + skip, "."));
        struct module *child = module_child(module, name);

        if (!child)
            return module;
        module = child;
    }
    return module;
}

static const char *children_text(struct builder *build, const struct module *module)
{
    enum { shown = 8 };
    struct text text = text_new(&build->cx->arena);

    for (int i = 0; i < module->child_count && i < shown; i++)
        text_printf(&text, "%s%s", i ? ", " : "", module->children[i]->name);
    if (module->child_count > shown)
        text_printf(&text, ", ... (%d)", module->child_count);
    return module->child_count > 0 ? text.data : "none";
}

/* A change whose place was not there. */
static void say_lost(struct builder *build, const struct spec_change *change)
{
    const char *needed = change->kind == SPEC_SET ? change->path : parent_path(build, change->path);
    const struct module *deepest = find_deepest(build, needed);
    const char **known = NULL;
    int count = 0;

    build->tree->spec->partial = true; /* what the spec calls may be what was to be added */
    if (deepest->faulty || build->eval.partial)
        return;
    if (strcmp(deepest->path, needed) == 0) {
        diag_error(build->cx, change->loc, "there is no module '%s' yet: it is added later", needed);
        diag_note(build->cx, deepest->loc, "'%s' is added here", needed);
        return;
    }
    if (change->kind == SPEC_SET)
        diag_error(build->cx, change->loc, "there is no module '%s' to replace", needed);
    else
        diag_error(build->cx, change->loc, "there is no module '%s' to add '%s' to", needed,
                   change->module->name);
    if (build->cx->dropping)
        return;
    if (deepest->parent)
        diag_note(build->cx, deepest->loc, "'%s' is here; its children: %s", deepest->path,
                  children_text(build, deepest));
    else
        diag_note(build->cx, deepest->loc, "the children of the model: %s", children_text(build, deepest));
    for (int i = 1; i < build->tree->module_count; i++)
        ARENA_PUSH(&build->cx->arena, known, count, build->tree->modules[i]->path);
    diag_hint_nearest(build->cx, needed, known, count);
}

void module_check_changes(struct builder *build)
{
    const struct spec *spec = build->tree->spec;

    for (int i = 0; i < spec->change_count; i++) {
        const struct spec_change *change = &spec->changes[i];
        int later = -1;

        if (build->applied[i])
            continue;
        for (const char *path = change->path; path[0] && later < 0; path = parent_path(build, path))
            later = find_set(build, path, i);
        if (later < 0) {
            say_lost(build, change);
        } else if (spec->changes[later].loc.source == change->loc.source) {
            diag_error(build->cx, change->loc, "this has no effect: '%s' is replaced later",
                       spec->changes[later].path);
            diag_note(build->cx, spec->changes[later].loc, "'%s' is replaced here",
                      spec->changes[later].path);
        }
    }
}
