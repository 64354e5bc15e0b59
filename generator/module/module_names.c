/* module_names.c - names that would meet in C: of modules, of classes, of variants. Apart from spec_names.c, which sees one
 * section of a spec and no paths. */
#include "module/module_builder.h"

#include <ctype.h>
#include <string.h>

#include "base/emitted.h"
#include "eval/pytorch.h"

void module_check_class_names(struct cx *cx, const struct spec *spec)
{
    for (int i = 0; i < spec->class_count; i++) {
        const struct spec_class *class = spec->classes[i];

        if (!pytorch_has(PYTORCH_MODULE, class->name) && !layer_find(class->name))
            continue;
        diag_error(cx, class->loc, "'%s' is a class of %s; a class of the spec needs a name of its own",
                   class->name, pytorch_has(PYTORCH_MODULE, class->name) ? "torch.nn" : "modc");
    }
}

/* Whether both are of one module, which they cannot be with one name: spec_modules.c said so. */
static bool is_known_clash(struct cx *cx, const char *a, const char *b)
{
    const char *last_a = strrchr(a, '.'), *last_b = strrchr(b, '.');
    size_t length_a = last_a ? (size_t)(last_a - a) : 0, length_b = last_b ? (size_t)(last_b - b) : 0;

    return length_a == length_b && strncmp(a, b, length_a) == 0 &&
           strcmp(emitted_upper(cx, last_a ? last_a + 1 : a), emitted_upper(cx, last_b ? last_b + 1 : b)) ==
               0;
}

static void check_constant(struct builder *build, struct names *names, const char *constant, const char *path,
                           struct loc loc)
{
    const struct name_entry *first = names_add(&build->cx->arena, names, constant, path, loc);
    const char *prefix = text_upper(&build->cx->arena, build->tree->spec->model);

    if (first && !first->loc.source) {
        diag_error(build->cx, loc, "the module '%s' would have the name of a constant of every model, %s_%s",
                   path, prefix, constant);
    } else if (first && !is_known_clash(build->cx, first->name, path)) {
        diag_error(build->cx, loc, "'%s' and '%s' give one name in C, %s_%s", first->name, path, prefix,
                   constant);
        diag_note(build->cx, first->loc, "'%s' is defined here", first->name);
    }
}

/* Whether two modules have one constant. */
static bool constants_meet(struct builder *build)
{
    struct names names = {0};

    for (int i = 0; i < build->tree->module_count; i++) {
        const struct module *module = build->tree->modules[i];

        if (names_add(&build->cx->arena, &names, emitted_module(build->cx, module->path), module->path,
                      module->name_loc))
            return true;
    }
    return false;
}

void module_name_constants(struct builder *build)
{
    const struct spec *spec = build->tree->spec;
    struct arena *arena = &build->cx->arena;
    struct loc nowhere = {0};
    struct names names = {0};

    build->cx->numbered = false;
    build->cx->numbered = constants_meet(build); /* `repeat.1` and `repeat_1`: then it is `repeat__1` */
    for (int i = 0; i < emitted_constant_count(build->tree->spec->generation != NULL); i++)
        names_add(arena, &names, emitted_constants[i], "", nowhere);
    for (int e = -1; e < spec->entry_count; e++) {
        const char *entry = e < 0 ? "forward" : spec->entries[e]->name;

        for (int i = 0; i < spec->size_count; i++) {
            names_add(arena, &names, emitted_max(build->cx, entry, spec->sizes[i].name), "", nowhere);
            names_add(arena, &names, emitted_max(build->cx, NULL, spec->sizes[i].name), "", nowhere);
        }
        for (int v = 0; v < 2 * EMITTED_VARIANTS; v++)
            names_add(arena, &names,
                      emitted_workspace(build->cx, entry, v & 1, (enum emitted_variant)(v >> 1)), "",
                      nowhere);
    }
    names_add(arena, &names, emitted_module(build->cx, ""), "", nowhere);
    for (int i = 1; i < build->tree->module_count; i++) {
        const struct module *module = build->tree->modules[i];

        check_constant(build, &names, emitted_module(build->cx, module->path), module->path,
                       module->name_loc);
    }
}

static bool begins_as(const char *name, const char *prefix)
{
    while (*prefix && tolower((unsigned char)*name) == *prefix) {
        name++;
        prefix++;
    }
    return !*prefix;
}

static void check_suffix(struct cx *cx, const struct spec *spec, const char *suffix, struct loc variant,
                         const char *name, struct loc loc, bool class)
{
    const size_t length = strlen(suffix);

    if (!begins_as(name, suffix) || (!class && name[length] && name[length] != '_'))
        return;
    diag_error(cx, loc, "'%s' gives names in C that belong to the variant %s_%s", name, spec->model, suffix);
    diag_note(cx, variant, "the variant is asked for here");
}

/* `float64`, `FLOAT64_norm` and, of a class, `Float64Norm`: with the model's name in front they begin as what is emitted
 * for a second dtype does. */
static void check_prefix(struct cx *cx, const struct spec *spec, const char *name, struct loc loc, bool class)
{
    for (int i = 1; i < spec->dtype_count; i++)
        check_suffix(cx, spec, spec->dtypes[i], spec->dtype_locs[i], name, loc, class);
    for (int i = 1; i < spec->device_count; i++)
        check_suffix(cx, spec, spec->devices[i], spec->device_locs[i], name, loc, class);
}

void module_check_variant_names(struct cx *cx, const struct module_tree *tree)
{
    const struct spec *spec = tree->spec;

    for (int i = 0; i < tree->root->child_count; i++)
        check_prefix(cx, spec, tree->root->children[i]->name, tree->root->children[i]->name_loc, false);
    for (int i = 0; i < spec->entry_count; i++)
        check_prefix(cx, spec, spec->entries[i]->name, spec->entries[i]->loc, false);
    for (int i = 0; i < spec->class_count; i++)
        check_prefix(cx, spec, spec->classes[i]->name, spec->classes[i]->loc, true);
}
