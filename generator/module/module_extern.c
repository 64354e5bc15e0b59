/* module_extern.c - the bodies that the user supplies: one for all Externs of a name. */
#include "module/module_builder.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static const char backward_ending[] = "_backward";

/* A name of which MODEL_extern_NAME and MODEL_extern_NAME_backward can be functions in C, and nothing else is. */
static const char *fault_of_name(const char *name)
{
    if (!name[0] || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
        return "a letter comes first";
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return "letters, digits and _ make it up";
    return text_ends_with(name, backward_ending) ? "'_backward' is added to it for the second function"
                                                 : NULL;
}

bool module_note_extern(struct builder *build, struct module *module)
{
    struct arena *arena = &build->cx->arena;
    struct module_tree *tree = build->tree;
    const struct ev *name = &module->args[0].value;
    const char *fault = fault_of_name(name->text);
    struct extern_body *body = NULL;
    bool backward = false;

    if (fault) {
        diag_error(build->cx, name->loc, "'%s' is no name for a body in C: %s", name->text, fault);
        return false;
    }
    for (int i = 0; i < tree->extern_count; i++)
        if (strcmp(tree->externs[i]->name, name->text) == 0)
            body = tree->externs[i];
    if (!body) {
        body = ARENA_NEW(arena, struct extern_body);
        *body = (struct extern_body){.name = name->text, .loc = module->loc};
        ARENA_PUSH(arena, tree->externs, tree->extern_count, body);
    }
    ev_get_bool(&module->args[3].value, &backward);
    body->backward |= backward;
    module->body = body;
    return true;
}
