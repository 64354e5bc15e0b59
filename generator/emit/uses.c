/* uses.c - see uses.h. */
#include "emit/uses.h"

struct uses *uses_new(struct arena *arena, const struct module_tree *tree)
{
    struct uses *uses = ARENA_NEW(arena, struct uses);

    uses->arena = arena;
    uses->tree = tree;
    return uses;
}

const char *use(struct uses *uses, const char *name)
{
    names_add(uses->arena, &uses->names, name, "", (struct loc){0});
    return name;
}

const struct dim *use_dim(struct uses *uses, const struct dim *dim)
{
    bool *used = ARENA_ARRAY(uses->arena, uses->tree->size_count + 1, bool);

    dim_mark_sizes(dim, used);
    for (int i = 0; i < uses->tree->size_count; i++)
        if (used[i])
            use(uses, uses->tree->sizes[i].c_name);
    return dim;
}

void use_all(struct uses *uses, const struct uses *others)
{
    for (int i = 0; i < others->names.count; i++)
        use(uses, others->names.entries[i].key);
}

bool uses_name(const struct uses *uses, const char *name)
{
    return names_find(&uses->names, name) != NULL;
}
