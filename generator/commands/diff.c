/* diff.c - compares two specs as far as their plans; see diff.h. What is equal in all parts is said not to differ, so
 * every key of a spec has to show in one of them: test_command.c has the list.
 *
 * note [which module became which]
 * Children with names are compared by name. Those of a list are aligned: equal ones first, then such of one class, so
 * that a layer put between others is one addition, behind which the others have moved. What is left without a partner
 * may have been renamed: then there is one with equal contents on the other side. Keys of the state_dict are compared
 * by their names alone, since that is what a file knows; that a key has moved is said where its module has. */
#include "commands/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "modc.h"

/* One of the two specs. */
struct side {
    const struct summary *summary;
    const struct module_tree *tree;
    const struct spec *spec;
    struct cx *cx;                  /* the compilation it belongs to */
    const struct module **partners; /* by index: in the other tree, or NULL */
    uint64_t *hashes;               /* by index: of all that a module contains, without its name */
};

struct compare {
    struct cx *cx;
    struct diff *diff;
    struct side old, new;
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_line(struct compare *c, enum diff_part part, struct diff_line line)
{
    struct diff_section *section = &c->diff->sections[part];

    ARENA_PUSH(&c->cx->arena, section->lines, section->count, line);
    c->diff->differs = true;
}

/* Where both are there and equal, there is nothing to say. */
static void add_pair(struct compare *c, enum diff_part part, const char *name, const char *old,
                     const char *new)
{
    if (!same(old, new))
        add_line(c, part,
                 (struct diff_line){!old   ? DIFF_ADDED
                                    : !new ? DIFF_REMOVED
                                           : DIFF_CHANGED,
                                    name, .old = old, .new = new});
}

/* ---- texts ------------------------------------------------------------------------------------------------ */

static void print_literal(struct text *text, const char *value)
{
    char *end;
    double number = strtod(value, &end);

    if (!*end && strpbrk(value, ".e"))
        text_double(text, number); /* 1e-5 in a table is Python's 1e-05 */
    else
        text_add(text, value);
}

/* The default of a constructor's argument as ev_text prints a value; NULL: there is none. */
static const char *default_text(struct compare *c, const struct module *module, int arg)
{
    struct text text = text_new(&c->cx->arena);

    if (module->spec_class) {
        if (!module->spec_class->args[arg].value)
            return NULL;
        expr_print(&text, module->spec_class->args[arg].value);
    } else if (module->layer) {
        if (!module->layer->args[arg].value)
            return NULL;
        print_literal(&text, module->layer->args[arg].value);
    } else { /* "input, alpha=1.0": NAME=VALUE behind the tensors, then inplace=False */
        const char *name = module->args[arg].name;
        const char *at = strstr(module->elementwise->args, arena_format(&c->cx->arena, "%s=", name));

        if (strcmp(name, "inplace") == 0)
            return "False";
        if (!at)
            return NULL;
        at += strlen(name) + 1;
        print_literal(&text, arena_copy(&c->cx->arena, at, strcspn(at, ",")));
    }
    return text.data;
}

/* (3, 3) of an argument that takes one number for several is 3. */
static const char *arg_text(const struct side *side, const struct module *module, int arg)
{
    struct eval eval = {.cx = side->cx};
    const struct ev *value = &module->args[arg].value;
    enum arg_kind kind = module->layer ? module->layer->args[arg].kind : ARG_ANY;
    const char *text = ev_text(&eval, value), *first;

    if (kind < ARG_SINGLE || kind > ARG_SIX || value->kind != EV_TUPLE || value->count == 0)
        return text;
    first = ev_text(&eval, &value->items[0]);
    for (int i = 1; i < value->count; i++)
        if (strcmp(first, ev_text(&eval, &value->items[i])) != 0)
            return text;
    return first;
}

/* As one would write it, with values for names and without what is the default: "Conv2d(1, 16, 3, padding=1)". */
static const char *constructor(struct compare *c, const struct side *side, const struct module *module)
{
    struct text text = text_new(&c->cx->arena);
    int count = 0;

    text_add(&text, module->class_name);
    if (!module->parent || (module->layer && module->layer->container != LAYER_PLAIN))
        return text.data;
    text_add(&text, "(");
    for (int i = 0; i < module->arg_count; i++) {
        const char *value = arg_text(side, module, i), *otherwise = default_text(c, module, i);

        if (!otherwise)
            text_printf(&text, "%s%s", count++ ? ", " : "", value);
        else if (strcmp(value, otherwise) != 0)
            text_printf(&text, "%s%s=%s", count++ ? ", " : "", module->args[i].name, value);
    }
    text_add(&text, ")");
    return text.data;
}

static const char *tensor_text(struct compare *c, const struct module_tensor *tensor)
{
    struct text text = text_new(&c->cx->arena);

    text_printf(&text, "%s (", dtype_rows[tensor->dtype].name);
    for (int i = 0; i < tensor->ndim; i++)
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)tensor->dims[i]);
    text_add(&text, ")");
    return text.data;
}

static const char *init_text(struct compare *c, const struct module_tensor *tensor)
{
    static const char *const names[] = {
        [INIT_UNIFORM] = "uniform_", [INIT_NORMAL] = "normal_", [INIT_WITHIN] = "trunc_normal_"};
    struct text text = text_new(&c->cx->arena);

    if (tensor->init == INIT_VALUE)
        return arena_format(
            &c->cx->arena, "values %016llx",
            (unsigned long long)text_hash(tensor->value->data,
                                          (size_t)tensor_count(tensor->value) * sizeof *tensor->value->data));
    if (tensor->init == INIT_CONSTANT) {
        text_add(&text, "constant_(");
        text_double(&text, tensor->a);
    } else {
        text_printf(&text, "%s(", names[tensor->init]);
        text_double(&text, tensor->a);
        text_add(&text, ", ");
        text_double(&text, tensor->b);
        if (tensor->init == INIT_WITHIN) {
            text_add(&text, ", ");
            text_double(&text, tensor->low);
            text_add(&text, ", ");
            text_double(&text, tensor->high);
        }
    }
    text_add(&text, ")");
    return text.data;
}

static const char *shared_text(struct compare *c, const struct module_tensor *tensor)
{
    return tensor->first == tensor ? "its own"
                                   : arena_format(&c->cx->arena, "same as %s", tensor->first->path);
}

/* The texts of a tensor that both sides have. Behind shape and dtype stands what else differs. */
static void tensor_texts(struct compare *c, const struct module_tensor *old, const struct module_tensor *new,
                         const char *texts[2])
{
    static const char *const kinds[] = {"parameter", "buffer", "state"};
    const struct module_tensor *tensors[2] = {old, new};
    const char *inits[2] = {init_text(c, old), init_text(c, new)};

    for (int i = 0; i < 2; i++)
        texts[i] = tensor_text(c, tensors[i]);

    /* a layer's follows from its arguments */
    bool inits_count = old->owner->spec_class && new->owner->spec_class &&strcmp(texts[0], texts[1]) == 0;

    for (int i = 0; i < 2; i++) {
        struct text text = text_new(&c->cx->arena);

        text_add(&text, texts[i]);
        if (old->kind != new->kind)
            text_printf(&text, ", %s", kinds[tensors[i]->kind]);
        if (old->persistent != new->persistent)
            text_add(&text, tensors[i]->persistent ? ", persistent" : ", not persistent");
        if (old->requires_grad != new->requires_grad && old->kind == new->kind)
            text_add(&text, tensors[i]->requires_grad ? ", trained" : ", frozen");
        if (strcmp(shared_text(c, old), shared_text(c, new)) != 0)
            text_printf(&text, ", %s", shared_text(c, tensors[i]));
        if (inits_count && strcmp(inits[0], inits[1]) != 0)
            text_printf(&text, ", %s", inits[i]);
        texts[i] = text.data;
    }
}

static const char *value_text(struct compare *c, enum dtype dtype, int ndim, const struct dim *const *dims)
{
    return arena_format(&c->cx->arena, "%s %s", dtype_rows[dtype].name,
                        shape_text(&c->cx->arena, ndim, dims));
}

/* ---- modules: which became which -------------------------------------------------------------------------- */

/* Of class, arguments and tensors, and of the children under their names. */
static uint64_t hash_module(struct compare *c, struct side *side, const struct module *module)
{
    struct text text = text_new(&c->cx->arena);

    text_add(&text, constructor(c, side, module));
    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->none)
            text_printf(&text, "\n%s %s %s", module->tensors[i]->name, tensor_text(c, module->tensors[i]),
                        init_text(c, module->tensors[i]));
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

/* ---- modules: what is said -------------------------------------------------------------------------------- */

static const char *with_children(struct compare *c, const struct side *side, const struct module *module)
{
    const char *text = constructor(c, side, module);

    if (module->subtree == 0)
        return text;
    return arena_format(&c->cx->arena, "%s with %d module%s inside", text, module->subtree,
                        module->subtree == 1 ? "" : "s");
}

/* The same texts where nothing differs but names. */
static void module_texts(struct compare *c, const struct module *old, const struct module *new,
                         const char *texts[2])
{
    const struct module *modules[2] = {old, new};

    texts[0] = constructor(c, &c->old, old);
    texts[1] = constructor(c, &c->new, new);
    for (int i = 0; i < 2; i++) {
        if (old->always_eval != new->always_eval)
            texts[i] = arena_format(&c->cx->arena, "%s%s", texts[i],
                                    modules[i]->always_eval ? ", always in evaluation mode" : "");
        if (old->spec_class && new->spec_class && !same(old->extra_repr, new->extra_repr))
            texts[i] = arena_format(&c->cx->arena, "%s, printed with '%s'", texts[i], modules[i]->extra_repr);
    }
}

static void say_removed(struct compare *c, const struct module *module)
{
    if (!c->old.partners[module->index])
        add_line(c, DIFF_MODULES,
                 (struct diff_line){DIFF_REMOVED, module->path, .old = with_children(c, &c->old, module)});
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
            add_line(c, DIFF_MODULES,
                     (struct diff_line){DIFF_ADDED, new->path, .new = with_children(c, &c->new, new)});
        for (int i = 0; i < new->child_count; i++)
            say_module(c, new->children[i]);
        return;
    }
    module_texts(c, old, new, texts);
    if (new->parent) { /* the root's name is the model's */
        bool moved = strcmp(old->name, new->name) != 0 || c->old.partners[old->parent->index] != new->parent;

        if (moved)
            add_line(c, DIFF_MODULES,
                     (struct diff_line){DIFF_MOVED, old->path, new->path, texts[0], texts[1],
                                        same(texts[0], texts[1])});
        else
            add_pair(c, DIFF_MODULES, new->path, texts[0], texts[1]);
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

static void compare_modules(struct compare *c)
{
    hash_module(c, &c->old, c->old.tree->root);
    hash_module(c, &c->new, c->new.tree->root);
    pair_modules(c, c->old.tree->root, c->new.tree->root);
    pair_renamed(c);
    say_module(c, c->new.tree->root);
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

/* Some tensors of a tree, in its order and by their paths. */
struct tensors {
    const struct module_tensor **list, **sorted;
    int count;
};

static int compare_paths(const void *a, const void *b)
{
    const struct module_tensor *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

/* The keys of the state_dict, or all others. */
static struct tensors collect(struct compare *c, const struct side *side, bool keys)
{
    struct tensors tensors = {0};

    for (int i = 0; i < side->tree->module_count; i++) {
        const struct module *module = side->tree->modules[i];

        for (int k = 0; k < module->tensor_count; k++) {
            const struct module_tensor *tensor = module->tensors[k];

            if (!tensor->none && (tensor->persistent && tensor->kind != MODULE_STATE) == keys)
                ARENA_PUSH(&c->cx->arena, tensors.list, tensors.count, tensor);
        }
    }
    tensors.sorted = ARENA_ARRAY(&c->cx->arena, tensors.count + 1, const struct module_tensor *);
    if (tensors.count > 0)
        memcpy(tensors.sorted, tensors.list, (size_t)tensors.count * sizeof *tensors.list);
    qsort(tensors.sorted, (size_t)tensors.count, sizeof *tensors.sorted, compare_paths);
    return tensors;
}

static const struct module_tensor *find_tensor(const struct tensors *tensors, const char *path)
{
    const struct module_tensor like = {.path = path}, *key = &like;
    const struct module_tensor *const *found = bsearch(&key, tensors->sorted, (size_t)tensors->count,
                                                       sizeof *tensors->sorted, compare_paths);

    return found ? *found : NULL;
}

/* Where the tensor of a module that was moved is now; NULL: nowhere, or under a name that OLD has too. */
static const struct module_tensor *find_moved(const struct compare *c, const struct module_tensor *tensor,
                                              const struct tensors *old, const struct tensors *new)
{
    const struct module *partner = c->old.partners[tensor->owner->index];
    const struct module_tensor *found = partner ? module_find_tensor(partner, tensor->name) : NULL;

    return found && !found->none && !find_tensor(old, found->path) && find_tensor(new, found->path) == found
               ? found
               : NULL;
}

static void compare_tensors(struct compare *c, enum diff_part part, const struct tensors *old,
                            const struct tensors *new)
{
    struct names told = {0}; /* what others have become */
    const char *texts[2];

    for (int i = 0; i < old->count; i++) {
        const struct module_tensor *tensor = old->list[i], *other = find_tensor(new, tensor->path);
        const struct module_tensor *moved = other ? NULL : find_moved(c, tensor, old, new);

        if (!other && !moved) {
            add_line(c, part, (struct diff_line){DIFF_REMOVED, tensor->path, .old = tensor_text(c, tensor)});
            continue;
        }
        tensor_texts(c, tensor, other ? other : moved, texts);
        if (moved) {
            add_line(c, part,
                     (struct diff_line){DIFF_MOVED, tensor->path, moved->path, texts[0], texts[1],
                                        same(texts[0], texts[1])});
            names_add(&c->cx->arena, &told, moved->path, moved->path, moved->loc);
        } else {
            add_pair(c, part, tensor->path, texts[0], texts[1]);
        }
    }
    for (int i = 0; i < new->count; i++)
        if (!names_find(&told, new->list[i]->path) && !find_tensor(old, new->list[i]->path))
            add_line(c, part,
                     (struct diff_line){DIFF_ADDED, new->list[i]->path, .new = tensor_text(c, new->list[i])});
}

static void add_key(struct compare *c, struct diff_keys *keys, const char *name)
{
    ARENA_PUSH(&c->cx->arena, keys->names, keys->count, name);
}

static bool same_shape(const struct module_tensor *old, const struct module_tensor *new)
{
    if (new->ndim == 0 && old->ndim == 1)
        return old->dims[0] == 1; /* as modc_state.c has it */
    return old->ndim == new->ndim &&memcmp(old->dims, new->dims, (size_t)old->ndim * sizeof *old->dims) == 0;
}

/* Whether a file of OLD has another key of the tensor's tie; if `differing`, of another tensor of OLD. */
static bool holds_tied(const struct compare *c, const struct tensors *old, const struct module_tensor *tensor,
                       bool differing)
{
    const struct module_tensor *file = find_tensor(old, tensor->path);

    for (int i = tensor->first->key; tensor->tied && i < c->new.tree->key_count; i++) {
        const struct module_tensor *tied = c->new.tree->keys[i], *other = find_tensor(old, tied->path);

        if (tied->first == tensor->first && tied != tensor && other &&
            !(differing && other->first == file->first))
            return true;
    }
    return false;
}

/* What modc_load would say about a file of OLD. */
static void compare_loading(struct compare *c, const struct tensors *old, const struct tensors *new)
{
    for (int i = 0; i < new->count; i++) {
        const struct module_tensor *tensor = new->list[i], *file = find_tensor(old, tensor->path);

        if (!file && !tensor->optional && !holds_tied(c, old, tensor, false))
            add_key(c, &c->diff->missing, tensor->path);
        else if (file && !same_shape(file, tensor))
            add_key(c, &c->diff->shapes, tensor->path);
        else if (file && file->dtype != tensor->dtype &&
                 !modc_converts((enum modc_dtype)tensor->dtype, (enum modc_dtype)file->dtype))
            add_key(c, &c->diff->dtypes, tensor->path);
        else if (file && tensor->first != tensor && holds_tied(c, old, tensor, true))
            add_key(c, &c->diff->ties, tensor->path);
    }
    for (int i = 0; i < old->count; i++)
        if (!find_tensor(new, old->list[i]->path))
            add_key(c, &c->diff->unexpected, old->list[i]->path);
}

/* ---- statements ------------------------------------------------------------------------------------------- */

/* A function as lines: its arguments, then its statements. */
static const char **function_lines(struct compare *c, const struct spec_function *function, int *count)
{
    const char **lines = NULL;
    struct text head = text_new(&c->cx->arena);

    *count = 0;
    if (!function)
        return NULL;
    text_printf(&head, "%s(", function->name);
    for (int i = 0; i < function->arg_count; i++) {
        text_printf(&head, "%s%s", i ? ", " : "", function->args[i].name);
        if (function->args[i].value) {
            text_add(&head, "=");
            expr_print(&head, function->args[i].value);
        }
    }
    text_add(&head, ")");
    ARENA_PUSH(&c->cx->arena, lines, *count,
               function->has_args ? head.data
                                  : arena_format(&c->cx->arena, "%d statements", function->count));
    for (int i = 0; i < function->count; i++) {
        struct text text = text_new(&c->cx->arena);

        stmt_print(&text, function->statements[i]);
        ARENA_PUSH(&c->cx->arena, lines, *count, text.data);
    }
    return lines;
}

/* What is between the lines that both begin and end with: one line itself, of more how many. */
static const char *middle_text(struct compare *c, const char **lines, int count, const char *whole)
{
    if (count == 0)
        return "nothing";
    return count == 1 ? lines[0] : arena_format(&c->cx->arena, "%d %s", count, whole);
}

static void compare_function(struct compare *c, const char *name, const struct spec_function *old,
                             const struct spec_function *new)
{
    int counts[2], begin = 0, end = 0;
    const char **a = function_lines(c, old, &counts[0]), **b = function_lines(c, new, &counts[1]);

    if (!old || !new) {
        add_pair(c, DIFF_STATEMENTS, name, old ? a[0] : NULL, new ? b[0] : NULL);
        return;
    }
    while (begin < counts[0] && begin < counts[1] && strcmp(a[begin], b[begin]) == 0)
        begin++;
    while (begin + end < counts[0] && begin + end < counts[1] &&
           strcmp(a[counts[0] - 1 - end], b[counts[1] - 1 - end]) == 0)
        end++;
    if (begin == counts[0] && begin == counts[1])
        return;
    add_line(c, DIFF_STATEMENTS,
             (struct diff_line){DIFF_CHANGED, name,
                                .old = middle_text(c, a + begin, counts[0] - begin - end, "lines"),
                                .new = middle_text(c, b + begin, counts[1] - begin - end, "others")});
}

static const struct spec_function *find_function(struct spec_function *const *list, int count,
                                                 const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

static const struct spec_class *find_class(const struct spec *spec, const char *name)
{
    for (int i = 0; i < spec->class_count; i++)
        if (strcmp(spec->classes[i]->name, name) == 0)
            return spec->classes[i];
    return NULL;
}

/* Classes that come or go show as modules. */
static void compare_statements(struct compare *c)
{
    const struct spec *old = c->old.spec, *new = c->new.spec;

    compare_function(c, "forward", old->root.forward, new->root.forward);
    for (int i = 0; i < new->entry_count; i++) {
        const struct spec_function *other = find_function(old->entries, old->entry_count,
                                                          new->entries[i]->name);

        if (other)
            compare_function(c, new->entries[i]->name, other, new->entries[i]);
    }
    for (int i = 0; i < new->class_count; i++) {
        const struct spec_class *class = new->classes[i], *other = find_class(old, class->name);

        if (other)
            compare_function(c, arena_format(&c->cx->arena, "%s.forward", class->name), other->forward,
                             class->forward);
    }
    for (int i = 0; i < old->function_count; i++)
        if (!find_function(new->functions, new->function_count, old->functions[i]->name))
            compare_function(c, old->functions[i]->name, old->functions[i], NULL);
    for (int i = 0; i < new->function_count; i++)
        compare_function(c, new->functions[i]->name,
                         find_function(old->functions, old->function_count, new->functions[i]->name),
                         new->functions[i]);
}

/* ---- what a caller sees ----------------------------------------------------------------------------------- */

static const struct entry *find_entry(const struct side *side, const char *name)
{
    const struct program *program = side->summary->plan->program;

    for (int i = 0; i < program->entry_count; i++)
        if (strcmp(program->entries[i].name, name) == 0)
            return &program->entries[i];
    return NULL;
}

/* "act(batch, observation), batch at most 1": the arguments of its function in C, and lowered maxima. */
static const char *entry_text(struct compare *c, const struct side *side, const struct entry *entry)
{
    struct text text = text_new(&c->cx->arena);
    int count = 0;

    text_printf(&text, "%s(", entry->name);
    for (int i = 0; i < side->tree->size_count; i++)
        text_printf(&text, "%s%s", count++ ? ", " : "", side->tree->sizes[i].name);
    for (int i = 0; i < entry->input_count; i++)
        text_printf(&text, "%s%s", count++ ? ", " : "", entry->inputs[i]->name);
    text_add(&text, ")");
    for (int i = 0; i < side->tree->size_count; i++)
        if (entry->sizes[i].max != side->tree->sizes[i].max)
            text_printf(&text, ", %s at most %lld", entry->sizes[i].name, (long long)entry->sizes[i].max);
    return text.data;
}

static const char *output_text(struct compare *c, const struct entry *entry, int index)
{
    const struct graph *graph = entry->graphs[0][0];
    const struct value *value = graph->outputs[index];

    return arena_format(&c->cx->arena, "%s: %s", graph->output_names[index],
                        value_text(c, value->dtype, value->ndim, value->dims));
}

/* Of an entry that both have; it returns them by position. */
static void compare_outputs(struct compare *c, const struct entry *old, const struct entry *new)
{
    int old_count = old->graphs[0][0]->output_count, new_count = new->graphs[0][0]->output_count;

    for (int i = 0; i < old_count || i < new_count; i++)
        add_pair(c, DIFF_OUTPUTS, arena_format(&c->cx->arena, "%s[%d]", new->name, i),
                 i < old_count ? output_text(c, old, i) : NULL,
                 i < new_count ? output_text(c, new, i) : NULL);
}

static void compare_entries(struct compare *c)
{
    const struct program *old = c->old.summary->plan->program, *new = c->new.summary->plan->program;

    for (int i = 0; i < old->entry_count; i++)
        if (!find_entry(&c->new, old->entries[i].name))
            add_pair(c, DIFF_ENTRIES, old->entries[i].name, entry_text(c, &c->old, &old->entries[i]), NULL);
    for (int i = 0; i < new->entry_count; i++) {
        const struct entry *entry = &new->entries[i], *other = find_entry(&c->old, entry->name);

        add_pair(c, DIFF_ENTRIES, entry->name, other ? entry_text(c, &c->old, other) : NULL,
                 entry_text(c, &c->new, entry));
        if (other)
            compare_outputs(c, other, entry);
    }
}

/* Name and text of one thing of a list. */
struct named {
    const char *name, *text;
};

static const char *named_text(const struct named *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].text;
    return NULL;
}

static void compare_named(struct compare *c, enum diff_part part, const struct named *old, int old_count,
                          const struct named *new, int new_count)
{
    for (int i = 0; i < old_count; i++)
        add_pair(c, part, old[i].name, old[i].text, named_text(new, new_count, old[i].name));
    for (int i = 0; i < new_count; i++)
        if (!named_text(old, old_count, new[i].name))
            add_pair(c, part, new[i].name, NULL, new[i].text);
}

static struct named *list_sizes(struct compare *c, const struct side *side)
{
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->tree->size_count + 1, struct named);

    for (int i = 0; i < side->tree->size_count; i++)
        list[i] = (struct named){
            side->tree->sizes[i].name,
            arena_format(&c->cx->arena, "at most %lld", (long long)side->tree->sizes[i].max)};
    return list;
}

static struct named *list_constants(struct compare *c, const struct side *side)
{
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->tree->constant_count + 1, struct named);
    struct eval eval = {.cx = side->cx};

    for (int i = 0; i < side->tree->constant_count; i++)
        list[i] = (struct named){side->tree->constants[i].name,
                                 ev_text(&eval, &side->tree->constants[i].value)};
    return list;
}

/* The inputs that some entry takes, in the order of the spec. */
static struct named *list_inputs(struct compare *c, const struct side *side, int *count)
{
    const struct program *program = side->summary->plan->program;
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->spec->input_count + 1, struct named);

    *count = 0;
    for (int i = 0; i < side->spec->input_count; i++) {
        const struct value *found = NULL;

        for (int k = 0; k < program->entry_count; k++)
            for (int n = 0; n < program->entries[k].input_count; n++)
                if (program->entries[k].inputs[n] == &side->spec->inputs[i])
                    found = program->entries[k].graphs[0][0]->inputs[n];
        if (found)
            list[(*count)++] = (struct named){side->spec->inputs[i].name,
                                              value_text(c, found->dtype, found->ndim, found->dims)};
    }
    return list;
}

enum { SETTINGS = 21 };

static const char *joined(struct compare *c, const char *const *words, int count)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", words[i]);
    return text.data;
}

/* The words of an expression of `training:`, or "none". */
static const char *words_of(struct compare *c, const struct expr *expr)
{
    return expr ? expr_source(c->cx, expr) : "none";
}

static const char *loss_text(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->loss_count; i++)
        text_printf(&text, "%s%s", i ? "; " : "", stmt_source(c->cx, training->loss[i]));
    return training->criterion ? words_of(c, training->criterion) : text.data;
}

static const char *groups_text(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->group_count; i++) {
        const struct spec_group *group = &training->groups[i];

        text_printf(&text, "%s%s", i ? "; " : "", joined(c, group->params.list, group->params.count));
        for (int j = 0; j < group->count; j++)
            text_printf(&text, " %s=%s", group->names[j], words_of(c, group->values[j]));
    }
    return text.length > 0 ? text.data : "none";
}

static const char *training_inputs(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->input_count; i++)
        text_printf(&text, "%s%s %s %s", i ? ", " : "", training->inputs[i].name,
                    words_of(c, training->inputs[i].shape),
                    training->inputs[i].dtype ? training->inputs[i].dtype->text : "");
    return text.length > 0 ? text.data : "none";
}

static const char *rollout_settings(struct compare *c, const struct spec_rollout *rollout)
{
    struct text text = text_new(&c->cx->arena);

    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++) {
        const struct spec_patterns *keys = spec_rollout_keys(rollout, setting);

        if (keys->count > 0)
            text_printf(&text, "%s%s %s", text.length > 0 ? ", " : "", setting->name,
                        joined(c, keys->list, keys->count));
    }
    return text.length > 0 ? text.data : "none";
}

static struct named *list_records(struct compare *c, const struct side *side, int *count)
{
    static const struct spec_rollout none = {0};
    const struct spec_rollout *rollout = side->spec->rollout ? side->spec->rollout : &none;
    struct named *list = ARENA_ARRAY(&c->cx->arena, rollout->record_count + 1, struct named);

    *count = rollout->record_count;
    for (int i = 0; i < *count; i++) {
        const struct spec_record *record = &rollout->records[i];

        list[i] = (struct named){arena_format(&c->cx->arena, "record %s", record->key),
                                 arena_format(&c->cx->arena, "%s%s%s", words_of(c, record->shape),
                                              record->dtype ? " " : "",
                                              record->dtype ? record->dtype->text : "")};
    }
    return list;
}

static void list_settings(struct compare *c, const struct side *side, struct named settings[SETTINGS])
{
    static const struct spec_training none = {0};
    static const struct spec_rollout no_rollout = {0};
    static const char *const toggles[] = {[SPEC_DEFAULT] = "on", [SPEC_OFF] = "none", [SPEC_ON] = "on"};
    const struct spec *spec = side->spec;
    const struct spec_training *training = spec->training ? spec->training : &none;
    struct named list[SETTINGS] = {
        {"model", spec->model},
        {"dtype", joined(c, spec->dtypes, spec->dtype_count)},
        {"device", joined(c, spec->devices, spec->device_count)},
        {"hooks", toggles[spec->hooks]},
        {"pack", toggles[spec->pack]},
        {"state_dict", toggles[spec->state_dict]},
        {"storage", spec->storage ? spec->storage : "as dtype"},
        {"winograd", spec->winograd == SPEC_OFF ? "off" : "on"},
        {"denormals", spec->flushes ? "flush" : "keep"},
        {"threads", arena_format(&c->cx->arena, "%d", spec->threads)},
        {"backward", spec->backward ? "true" : "false"},
        {"checkpoint",
         spec->checkpoint.count > 0 ? joined(c, spec->checkpoint.list, spec->checkpoint.count) : "none"},
        {"update", spec->fused ? "fused" : "separate"},
        {"training inputs", training_inputs(c, training)},
        {"loss", spec->training ? loss_text(c, training) : "none"},
        {"optimizer", words_of(c, training->optimizer)},
        {"groups", groups_text(c, training)},
        {"clip", words_of(c, training->clip)},
        {"scheduler", words_of(c, training->scheduler)},
        {"ema", words_of(c, training->ema)},
        {"rollout", rollout_settings(c, spec->rollout ? spec->rollout : &no_rollout)},
    };

    memcpy(settings, list, sizeof list);
}

static void compare_interface(struct compare *c)
{
    struct named settings[2][SETTINGS], *records[2], *inputs[2];
    int counts[2];

    list_settings(c, &c->old, settings[0]);
    list_settings(c, &c->new, settings[1]);
    compare_named(c, DIFF_SETTINGS, settings[0], SETTINGS, settings[1], SETTINGS);
    records[0] = list_records(c, &c->old, &counts[0]);
    records[1] = list_records(c, &c->new, &counts[1]);
    compare_named(c, DIFF_SETTINGS, records[0], counts[0], records[1], counts[1]);
    compare_named(c, DIFF_CONSTANTS, list_constants(c, &c->old), c->old.tree->constant_count,
                  list_constants(c, &c->new), c->new.tree->constant_count);
    compare_named(c, DIFF_SIZES, list_sizes(c, &c->old), c->old.tree->size_count, list_sizes(c, &c->new),
                  c->new.tree->size_count);
    inputs[0] = list_inputs(c, &c->old, &counts[0]);
    inputs[1] = list_inputs(c, &c->new, &counts[1]);
    compare_named(c, DIFF_INPUTS, inputs[0], counts[0], inputs[1], counts[1]);
}

static const struct summary_total *find_total(const struct summary *summary, const struct summary_total *like)
{
    for (int i = 0; i < summary->total_count; i++)
        if (summary->totals[i].kind == like->kind && strcmp(summary->totals[i].name, like->name) == 0)
            return &summary->totals[i];
    return NULL;
}

/* NEW's in their order, then what only OLD has. */
static void compare_numbers(struct compare *c)
{
    struct diff *diff = c->diff;

    for (int side = 0; side < 2; side++) {
        const struct summary *own = side ? c->old.summary : c->new.summary,
                             *other = side ? c->new.summary : c->old.summary;

        for (int i = 0; i < own->total_count; i++) {
            const struct summary_total *total = &own->totals[i], *partner = find_total(other, total);
            double value = total->value, before = partner ? partner->value : -1;

            if (side && partner)
                continue;
            ARENA_PUSH(&c->cx->arena, diff->numbers, diff->number_count,
                       ((struct diff_number){total->kind, total->name, side ? value : before,
                                             side ? before : value}));
            diff->differs |= value != before;
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static struct side side_new(struct cx *cx, const struct summary *summary)
{
    const struct module_tree *tree = summary->tree;
    struct side side = {.summary = summary, .tree = tree, .spec = tree->spec, .cx = summary->cx};

    side.partners = ARENA_ARRAY(&cx->arena, tree->module_count + 1, const struct module *);
    side.hashes = ARENA_ARRAY(&cx->arena, tree->module_count + 1, uint64_t);
    return side;
}

struct diff *diff_make(struct cx *cx, const struct summary *old, const struct summary *new,
                       const char *const paths[2])
{
    struct compare c = {.cx = cx, .diff = ARENA_NEW(&cx->arena, struct diff)};
    struct tensors keys[2], others[2];

    c.old = side_new(cx, old);
    c.new = side_new(cx, new);
    *c.diff = (struct diff){.cx = cx, .model = c.new.spec->model, .paths = {paths[0], paths[1]}};
    compare_interface(&c);
    compare_modules(&c);
    compare_statements(&c);
    compare_entries(&c);
    keys[0] = collect(&c, &c.old, true);
    keys[1] = collect(&c, &c.new, true);
    compare_tensors(&c, DIFF_KEYS, &keys[0], &keys[1]);
    compare_loading(&c, &keys[0], &keys[1]);
    others[0] = collect(&c, &c.old, false);
    others[1] = collect(&c, &c.new, false);
    compare_tensors(&c, DIFF_TENSORS, &others[0], &others[1]);
    compare_numbers(&c);
    return c.diff;
}
