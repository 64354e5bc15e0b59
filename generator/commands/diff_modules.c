/* diff_modules.c - which module became which, and what is said of them. Apart from diff.c, since two trees are to be laid over
 * each other before anything in them is compared.
 *
 * note [which module became which]
 * Children with names are compared by name. Those of a list are aligned: equal ones first, then such of one class, so
 * that a layer put between others is one addition, behind which the others have moved. What is left without a partner
 * may have been renamed: then there is one with equal contents on the other side. Keys of the state_dict are compared
 * by their names alone, since that is what a file knows; that a key has moved is said where its module has. */
#include "commands/diff_parts.h"

#include <string.h>

/* ---- which became which ---- */

/* Of class, arguments and tensors, and of the children under their names. */
static uint64_t hash_module(struct compare *c, struct side *side, const struct module *module)
{
    struct text text = text_new(&c->cx->arena);

    text_add(&text, diff_constructor(c, side, module));
    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->none)
            text_printf(&text, "\n%s %s %s", module->tensors[i]->name,
                        diff_tensor_text(c, module->tensors[i]), diff_init_text(c, module->tensors[i]));
    for (int i = 0; i < module->child_count; i++)
        text_printf(&text, "\n%s %016llx", module->children[i]->name,
                    (unsigned long long)hash_module(c, side, module->children[i]));
    side->hashes[module->index] = text_hash(text.data, text.length);
    return side->hashes[module->index];
}

static bool equal_contents(const struct compare *c, const struct module *old, const struct module *new)
{
    return c->old.hashes[old->index] == c->new.hashes[new->index];
}

static void pair_modules(struct compare *c, const struct module *old, const struct module *new);

/* Names 0, 1, 2, ... */
static bool is_list(const struct module *module)
{
    for (int i = 0; i < module->child_count; i++)
        if (module->children[i]->name[0] < '0' || module->children[i]->name[0] > '9')
            return false;
    return module->child_count > 0;
}

/* What it costs to see one as the other; dropping or adding one costs `apart`. */
enum { apart = 8 };

static int distance(const struct compare *c, const struct module *old, const struct module *new)
{
    int moved = strcmp(old->name, new->name) != 0;

    if (equal_contents(c, old, new))
        return moved;
    return moved + (strcmp(old->class_name, new->class_name) == 0 ? apart : apart + apart / 2);
}

/* The cheapest alignment of two lists. */
static void align(struct compare *c, const struct module *old, const struct module *new)
{
    int rows = old->child_count, columns = new->child_count, width = columns + 1;
    int *cost = arena_array(&c->cx->arena, (size_t)(rows + 1) * (size_t)width, sizeof *cost);
    int i, j;

    for (i = rows; i >= 0; i--) { /* cost[i][j]: of the children from i and j on */
        for (j = columns; j >= 0; j--) {
            int *own = &cost[i * width + j];

            if (i == rows || j == columns) {
                *own = apart * (rows - i + columns - j);
                continue;
            }
            *own = own[width + 1] + distance(c, old->children[i], new->children[j]);
            if (own[width] + apart < *own)
                *own = own[width] + apart;
            if (own[1] + apart < *own)
                *own = own[1] + apart;
        }
    }
    for (i = j = 0; i < rows && j < columns;) {
        const int *own = &cost[i * width + j];

        if (*own == own[width + 1] + distance(c, old->children[i], new->children[j]))
            pair_modules(c, old->children[i++], new->children[j++]);
        else if (*own == own[width] + apart)
            i++;
        else
            j++;
    }
}

static void pair_modules(struct compare *c, const struct module *old, const struct module *new)
{
    enum { most = 1 << 22 }; /* of an alignment: 16 MB */
    bool lists = is_list(old) && is_list(new);

    c->old.partners[old->index] = new;
    c->new.partners[new->index] = old;
    if (lists && (int64_t)old->child_count * new->child_count <= most) {
        align(c, old, new);
        return;
    }
    for (int i = 0; i < old->child_count; i++) {
        const struct module *partner = module_child(new, old->children[i]->name);

        if (partner)
            pair_modules(c, old->children[i], partner);
    }
}

static bool has_tensors(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->none)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (has_tensors(module->children[i]))
            return true;
    return false;
}

/* Renamed in one parent, or, with tensors to know it by, brought to another one. */
static const struct module *find_renamed(const struct compare *c, const struct module *old)
{
    const struct module *parent = c->old.partners[old->parent->index];
    bool known = has_tensors(old);

    for (int i = 1; i < c->new.tree->module_count; i++) {
        const struct module *new = c->new.tree->modules[i];

        if (!c->new.partners[i] && equal_contents(c, old, new) &&
            (known || (parent && new->parent == parent)))
            return new;
    }
    return NULL;
}

/* The larger ones first: a tree's order has parents before children. */
static void pair_renamed(struct compare *c)
{
    int64_t left = (int64_t)1 << 26; /* comparisons: a second at most */

    for (int i = 1; i < c->old.tree->module_count && left > 0; i++) {
        const struct module *old = c->old.tree->modules[i], *new;

        if (c->old.partners[i])
            continue;
        left -= c->new.tree->module_count;
        new = find_renamed(c, old);
        if (new)
            pair_modules(c, old, new);
    }
}

/* ---- what is said ---- */

static const char *with_children(struct compare *c, const struct side *side, const struct module *module)
{
    const char *text = diff_constructor(c, side, module);

    if (module->subtree == 0)
        return text;
    return arena_format(&c->cx->arena, "%s with %d module%s inside", text, module->subtree,
                        module->subtree == 1 ? "" : "s");
}

static bool is_of(const struct module *module, const char *family)
{
    return module->layer && strncmp(module->layer->name, family, strlen(family)) == 0;
}

/* The convolution that a batch norm stands behind, if there still is one: torch.nn.utils.fuse_conv_bn_eval gives it the scale and
 * the shift. NULL: there is none. */
static const struct module *find_folded(const struct compare *c, const struct module *norm)
{
    const struct module *before = NULL, *now;

    if (!is_of(norm, "BatchNorm"))
        return NULL;
    for (int i = 0; norm->parent->children[i] != norm; i++)
        before = norm->parent->children[i];
    now = before && is_of(before, "Conv") ? c->old.partners[before->index] : NULL;
    return now && is_of(now, "Conv") && module_find_tensor(now, "bias") &&
                   !module_find_tensor(now, "bias")->none
               ? now
               : NULL;
}

/* The text of what goes, and whether its numbers stay. */
static const char *with_folding(struct compare *c, const struct module *old, const char *text)
{
    const struct module *folded = find_folded(c, old);

    return folded
               ? arena_format(&c->cx->arena, "%s, which fuse_conv_bn_eval folds into '%s': the same numbers",
                              text, folded->path)
               : text;
}

/* The same texts where nothing differs but names. */
static void module_texts(struct compare *c, const struct module *old, const struct module *new,
                         const char *texts[2])
{
    const struct module *modules[2] = {old, new};

    texts[0] = diff_constructor(c, &c->old, old);
    texts[1] = diff_constructor(c, &c->new, new);
    for (int i = 0; i < 2; i++) {
        if (old->always_eval != new->always_eval)
            texts[i] = arena_format(&c->cx->arena, "%s%s", texts[i],
                                    modules[i]->always_eval ? ", always in evaluation mode" : "");
        if (i == 0 && is_of(new, "Identity"))
            texts[0] = with_folding(c, old, texts[0]);
        if (old->spec_class && new->spec_class && !diff_same(old->extra_repr, new->extra_repr))
            texts[i] = arena_format(&c->cx->arena, "%s, printed with '%s'", texts[i], modules[i]->extra_repr);
    }
}

static void say_removed(struct compare *c, const struct module *module)
{
    if (!c->old.partners[module->index])
        diff_add(c, DIFF_MODULES,
                 (struct diff_line){DIFF_REMOVED, module->path,
                                    .old = with_folding(c, module, with_children(c, &c->old, module))});
}

static int position(const struct module *module)
{
    int i = 0;

    while (module->parent->children[i] != module)
        i++;
    return i;
}

static void say_module(struct compare *c, const struct module *new)
{
    const struct module *old = c->new.partners[new->index];
    const char *texts[2];
    int next = 0; /* of old's children */

    if (!old) {
        if (!new->parent ||
            c->new.partners[new->parent->index]) /* else its parent was said to have it inside */
            diff_add(c, DIFF_MODULES,
                     (struct diff_line){DIFF_ADDED, new->path, .new = with_children(c, &c->new, new)});
        for (int i = 0; i < new->child_count; i++)
            say_module(c, new->children[i]);
        return;
    }
    module_texts(c, old, new, texts);
    if (new->parent) { /* the root's name is the model's */
        bool moved = strcmp(old->name, new->name) != 0 || c->old.partners[old->parent->index] != new->parent;

        if (moved)
            diff_add(c, DIFF_MODULES,
                     (struct diff_line){DIFF_MOVED, old->path, new->path, texts[0], texts[1],
                                        diff_same(texts[0], texts[1])});
        else
            diff_add_pair(c, DIFF_MODULES, new->path, texts[0], texts[1]);
    }
    for (int i = 0; i < new->child_count; i++) {
        const struct module *partner = c->new.partners[new->children[i]->index];

        if (partner && partner->parent == old)
            for (int end = position(partner); next <= end; next++)
                say_removed(c, old->children[next]);
        say_module(c, new->children[i]);
    }
    for (; next < old->child_count; next++)
        say_removed(c, old->children[next]);
}

void diff_modules(struct compare *c)
{
    hash_module(c, &c->old, c->old.tree->root);
    hash_module(c, &c->new, c->new.tree->root);
    pair_modules(c, c->old.tree->root, c->new.tree->root);
    pair_renamed(c);
    say_module(c, c->new.tree->root);
}
