/* diff.c - compares two specs as far as their plans; see diff.h. What is equal in all parts is said not to differ, so
 * every key of a spec has to show in one of them: test_command.c has the list. Here are tensors, statements and numbers;
 * modules and what a caller sees are in files of their own, what is printed of it in diff_print.c. */
#include "commands/diff.h"

#include <stdlib.h>
#include <string.h>

#include "commands/diff_parts.h"
#include "modc.h"
#include "module/module.h"

bool diff_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void diff_add(struct compare *c, enum diff_part part, struct diff_line line)
{
    struct diff_section *section = &c->diff->sections[part];

    ARENA_PUSH(&c->cx->arena, section->lines, section->count, line);
    c->diff->differs = true;
}

void diff_add_pair(struct compare *c, enum diff_part part, const char *name, const char *old, const char *new)
{
    if (!diff_same(old, new))
        diff_add(c, part,
                 (struct diff_line){!old   ? DIFF_ADDED
                                    : !new ? DIFF_REMOVED
                                           : DIFF_CHANGED,
                                    name, .old = old, .new = new});
}

/* ---- tensors ---- */

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
            diff_add(c, part,
                     (struct diff_line){DIFF_REMOVED, tensor->path, .old = diff_tensor_text(c, tensor)});
            continue;
        }
        diff_tensor_texts(c, tensor, other ? other : moved, texts);
        if (moved) {
            diff_add(c, part,
                     (struct diff_line){DIFF_MOVED, tensor->path, moved->path, texts[0], texts[1],
                                        diff_same(texts[0], texts[1])});
            names_add(&c->cx->arena, &told, moved->path, moved->path, moved->loc);
        } else {
            diff_add_pair(c, part, tensor->path, texts[0], texts[1]);
        }
    }
    for (int i = 0; i < new->count; i++)
        if (!names_find(&told, new->list[i]->path) && !find_tensor(old, new->list[i]->path))
            diff_add(
                c, part,
                (struct diff_line){DIFF_ADDED, new->list[i]->path, .new = diff_tensor_text(c, new->list[i])});
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

/* ---- statements ---- */

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
        for (char *line = text.data, *end; line; line = end) {
            end = strchr(line, '\n');
            if (end)
                *end++ = 0;
            ARENA_PUSH(&c->cx->arena, lines, *count, line);
        }
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
        diff_add_pair(c, DIFF_STATEMENTS, name, old ? a[0] : NULL, new ? b[0] : NULL);
        return;
    }
    while (begin < counts[0] && begin < counts[1] && strcmp(a[begin], b[begin]) == 0)
        begin++;
    while (begin + end < counts[0] && begin + end < counts[1] &&
           strcmp(a[counts[0] - 1 - end], b[counts[1] - 1 - end]) == 0)
        end++;
    if (begin == counts[0] && begin == counts[1])
        return;
    diff_add(c, DIFF_STATEMENTS,
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

/* Functions of the spec, or methods, which have the name of their class in front. */
static void compare_functions(struct compare *c, const char *class, struct spec_function *const *old,
                              int old_count, struct spec_function *const *new, int new_count)
{
    const char *dot = class[0] ? "." : "";

    for (int i = 0; i < old_count; i++)
        if (!find_function(new, new_count, old[i]->name))
            compare_function(c, arena_format(&c->cx->arena, "%s%s%s", class, dot, old[i]->name), old[i],
                             NULL);
    for (int i = 0; i < new_count; i++)
        compare_function(c, arena_format(&c->cx->arena, "%s%s%s", class, dot, new[i]->name),
                         find_function(old, old_count, new[i]->name), new[i]);
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

        if (!other)
            continue;
        compare_function(c, arena_format(&c->cx->arena, "%s.forward", class->name), other->forward,
                         class->forward);
        compare_functions(c, class->name, other->methods, other->method_count, class->methods,
                          class->method_count);
    }
    compare_functions(c, "", old->root.methods, old->root.method_count, new->root.methods,
                      new->root.method_count);
    compare_functions(c, "", old->functions, old->function_count, new->functions, new->function_count);
}

/* ---- numbers ---- */

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

/* ---- the whole ---- */

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
    diff_interface(&c);
    diff_modules(&c);
    compare_statements(&c);
    diff_entries(&c);
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
