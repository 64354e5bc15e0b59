/* module_draws.c - what __init__ draws, and in which order. Apart from module_init.c, which says how one tensor begins: here are
 * the steps of the whole tree.
 *
 * note [draws]
 * Most tensors are drawn once. A constructor may draw again, or set, what its parts have drawn (resets of its row):
 * MultiheadAttention sets out_proj.bias to 0, which its Linear drew; a Transformer draws all matrices again when it is whole.
 * What copy.deepcopy makes draws nothing and begins with the values of what it was made of. That is no part of the tree: the
 * first copy stands for it, and each further one takes the values of the one before. */
#include "module/module_builder.h"

#include <string.h>

static void push_draw(struct builder *build, struct module_tensor *tensor, const struct module_tensor *from)
{
    ARENA_PUSH(&build->cx->arena, build->tree->draws, build->tree->draw_count,
               ((struct module_draw){.tensor = tensor,
                                     .from = from,
                                     .init = tensor->init,
                                     .a = tensor->a,
                                     .b = tensor->b,
                                     .low = tensor->low,
                                     .high = tensor->high,
                                     .zero_row = tensor->zero_row}));
}

static bool has_values(const struct module_tensor *tensor)
{
    return !tensor->none && tensor->key >= 0 && tensor->kind != MODULE_STATE;
}

/* NULL: of a module whose arguments are faulty. */
static void add_draw(struct builder *build, struct module_tensor *tensor)
{
    if (tensor && has_values(tensor) && init_draws(tensor->init))
        push_draw(build, tensor, NULL);
}

/* ---- parametrizations ---- */

static void push_step(struct builder *build, struct module_tensor *tensor, enum init_kind init, double a,
                      double b, const struct module_tensor *of)
{
    ARENA_PUSH(
        &build->cx->arena, build->tree->draws, build->tree->draw_count,
        ((struct module_draw){.tensor = tensor, .init = init, .a = a, .b = b, .of = of, .zero_row = -1}));
}

static void order_draws(struct builder *build, struct module *module);

/* What a function begins with, or a class of the spec that stands for one. */
static void draw_parametrization(struct builder *build, const struct parametrization *p)
{
    if (p->norm)
        push_step(build, p->norm, INIT_NORMS, (double)p->dim, 0, p->original);
    if (p->base)
        push_step(build, p->base, INIT_BASE, 0, 0, p->original);
    else if (p->orthogonal && p->map == ORTHOGONAL_HOUSEHOLDER)
        push_step(build, p->original, INIT_REFLECTIONS, 0, 0, NULL);
    if (p->made)
        order_draws(build, p->made);
    if (!p->left)
        return;
    add_draw(build, p->left);
    add_draw(build, p->right);
    push_step(build, p->left, INIT_UNIT, p->eps, (double)p->dim, NULL);
    if (p->iterations > 0)
        push_step(build, p->left, INIT_POWER, (double)p->iterations, 0, p->original);
}

/* What the functions begin with that were called with the module. */
static void draw_parametrizations(struct builder *build, const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        for (const struct parametrization *p = module->tensors[i]->parametrization; p; p = p->further)
            draw_parametrization(build, p);
}

/* ---- resets ---- */

static void reset_tensor(struct builder *build, const struct module *module, const struct layer_reset *reset,
                         struct module_tensor *tensor)
{
    struct source *source = ARENA_NEW(&build->cx->arena, struct source);

    if (tensor->kind != MODULE_PARAMETER || !has_values(tensor) || tensor->ndim < reset->least)
        return;
    *source = (struct source){.name = "<init>", .text = reset->init, .length = strlen(reset->init)};
    tensor->a = tensor->b = 0;
    tensor->zero_row = -1;
    module_set_init(build, module_row_scope(build, module), tensor,
                    expr_parse(build->cx, source, 0, source->length));
    push_draw(build, tensor, NULL);
}

/* Of the tensors of `part`, which is in the module, and of what is below it. */
static void reset_below(struct builder *build, const struct module *module, const struct layer_reset *reset,
                        const struct module *part)
{
    for (int i = 0; i < part->tensor_count; i++)
        if (reset->tensors[0] == '*' ||
            strcmp(relative_path(module, part->tensors[i]->path), reset->tensors) == 0)
            reset_tensor(build, module, reset, part->tensors[i]);
    for (int i = 0; i < part->child_count; i++)
        reset_below(build, module, reset, part->children[i]);
}

/* ---- copies ---- */

/* The values of `from`: where that is tied, and so has none of its own, what was drawn for it is drawn for the copy. */
static void copy_tensor(struct builder *build, struct module_tensor *tensor, struct module_tensor *from)
{
    struct module_tree *tree = build->tree;

    tensor->init = from->init;
    tensor->a = from->a;
    tensor->b = from->b;
    tensor->low = from->low;
    tensor->high = from->high;
    tensor->zero_row = from->zero_row;
    if (!has_values(tensor) || tensor->source || !init_draws(from->init))
        return;
    if (!from->source) {
        push_draw(build, tensor, from);
        return;
    }
    for (int i = 0; i < tree->draw_count; i++)
        if (tree->draws[i].tensor == from)
            tree->draws[i].tensor = tensor;
}

/* What was changed since, or is a copy of what was, draws for itself. */
static void copy_values(struct builder *build, struct module *module, const struct module *from)
{
    for (int i = 0; i < module->tensor_count; i++)
        copy_tensor(build, module->tensors[i], from->tensors[i]);
    for (int i = 0; i < module->child_count; i++) {
        struct module *child = module->children[i], *like = module_child(from, child->name);

        if (!child->changed && like && !like->changed)
            copy_values(build, child, like);
        else
            order_draws(build, child);
    }
}

/* ---- order ---- */

static void add_own_draw(struct builder *build, struct module_tensor *tensor)
{
    if (tensor && tensor->parametrization)
        add_draw(build, tensor->parametrization->original);
    else if (tensor && !tensor->moved)
        add_draw(build, tensor);
}

/* The children as they were made; those that are added are the last ones. note [made modules] in module_made.c */
static struct module **by_moment(struct builder *build, const struct module *module)
{
    struct module **list = ARENA_ARRAY(&build->cx->arena, module->child_count + 1, struct module *);

    for (int i = 0; i < module->child_count; i++) {
        int at = i;

        for (; at > 0 && list[at - 1]->moment > module->children[i]->moment; at--)
            list[at] = list[at - 1];
        list[at] = module->children[i];
    }
    return list;
}

/* What an __init__ of the spec did: one of the three. */
struct event {
    int moment;
    struct module *child;
    struct module_tensor *tensor;
    const struct module_draw *reset;
};

static void add_event(struct builder *build, struct event **list, int *count, struct event event)
{
    int at = *count;

    ARENA_PUSH(&build->cx->arena, *list, *count, event);
    for (; at > 0 && (*list)[at - 1].moment > event.moment; at--)
        (*list)[at] = (*list)[at - 1];
    (*list)[at] = event;
}

static void repeat_draw(struct builder *build, const struct module_draw *reset)
{
    struct module_tensor *tensor = reset->tensor;

    if (!has_values(tensor))
        return;
    tensor->init = reset->init;
    tensor->a = reset->a;
    tensor->b = reset->b;
    tensor->low = reset->low;
    tensor->high = reset->high;
    tensor->zero_row = -1;
    push_draw(build, tensor, NULL);
}

static void draw_in_order(struct builder *build, struct module *module)
{
    struct event *events = NULL;
    int count = 0;

    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->parametrization && module->tensors[i]->moment > 0)
            add_event(build, &events, &count,
                      (struct event){.moment = module->tensors[i]->moment, .tensor = module->tensors[i]});
    for (int i = 0; i < module->child_count; i++)
        if (!module->children[i]->added)
            add_event(build, &events, &count,
                      (struct event){.moment = module->children[i]->moment, .child = module->children[i]});
    for (int i = 0; i < module->reset_count; i++)
        add_event(build, &events, &count,
                  (struct event){.moment = module->resets[i].moment, .reset = &module->resets[i]});
    for (int i = 0; i < count; i++) {
        if (events[i].child)
            order_draws(build, events[i].child);
        else if (events[i].tensor)
            add_own_draw(build, events[i].tensor);
        else
            repeat_draw(build, events[i].reset);
    }
}

/* As __init__ would: a class makes what it has in the order of the text, modules that are added behind its own; a layer
 * what its arguments are, its parts and its parameters, unless they wait for a call, and what is added to it comes later. */
static void order_draws(struct builder *build, struct module *module)
{
    const struct spec_class *class = module->spec_class;
    int first_later = module->child_count, tensors = class ? class->tensor_count : module->tensor_count;
    struct module **children = by_moment(build, module);
    const bool held = module->layer && module->layer->container == LAYER_PLAIN; /* arguments draw first */

    if (module->drawn)
        return;
    module->drawn = true;
    for (int i = 0; i < module->before_count; i++)
        if (!module->before[i]->copy_of)
            order_draws(build, module->before[i]);

    while (!class && first_later > 0 && module->children[first_later - 1]->added)
        first_later--;
    for (int i = 0; class && i < class->tensors_first; i++)
        add_own_draw(build, module_find_tensor(module, class->tensors[i]->name));
    if (class && class->init)
        draw_in_order(build, module);
    for (int given = 1; given >= !held; given--) {
        for (int i = 0; i < first_later; i++) {
            struct module *child = children[i];

            if (child->computes)
                continue;
            if ((held ? child->given : 1) != given)
                continue;
            if (child->copy_of)
                copy_values(build, child, child->copy_of);
            else
                order_draws(build, child);
        }
    }
    for (int i = class ? class->tensors_first : 0; i < tensors && !module->lazy; i++)
        add_own_draw(build, class ? module_find_tensor(module, class->tensors[i]->name) : module->tensors[i]);
    draw_parametrizations(build, module);
    for (int i = 0; module->layer && i < LAYER_MAX_RESETS && module->layer->resets[i].tensors; i++)
        reset_below(build, module, &module->layer->resets[i], module);
    for (int i = first_later; i < module->child_count; i++)
        order_draws(build, module->children[i]);
}

void module_order_draws(struct builder *build)
{
    struct module_tree *tree = build->tree;

    order_draws(build, tree->root);
    for (int i = 0; i < tree->resolved_count; i++)
        for (int k = 0; k < tree->resolved[i]->tensor_count; k++)
            add_draw(build, tree->resolved[i]->tensors[k]);
}
