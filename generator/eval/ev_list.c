/* ev_list.c - lists and dicts, which change: what names of one of them share.
 *
 * note [lists that change]
 * A list that statements make has a cell, an ev that all its copies point to; methods write there, and who reads a name, an
 * item or an attribute reads it there (ev_fresh). What the model itself holds (arguments of classes, constants) and what a
 * module was given have none (ev_frozen): nothing may change them, since they are read again for another call or mode, and a
 * class of which several instances are one region is lowered once for all of them. */
#include "eval/evaluator.h"

#include <string.h>

#include "base/text.h"
#include "tree/tree.h"

bool ev_is_sequence(const struct ev *value)
{
    return value->kind == EV_TUPLE || value->kind == EV_DICT;
}

/* The value with a cell of its own, which nobody else looks into yet. */
static struct ev with_cell(struct eval *eval, struct ev value)
{
    value.cell = ARENA_NEW(&eval->cx->arena, struct ev);
    *value.cell = value;
    return value;
}

struct ev ev_list(struct eval *eval, struct loc loc, const struct ev *items, int count)
{
    struct ev out = ev_tuple(eval, loc, items, count);
    bool plain = out.kind != EV_BAD;

    out.list = true;
    for (int i = 0; i < count && plain; i++)
        plain = !ev_is_sequence(&out.items[i]);
    return plain ? with_cell(eval, out) : ev_own(eval, out);
}

struct ev ev_dict(struct eval *eval, struct loc loc, const char *const *keys, const struct ev *items,
                  int count)
{
    struct ev out = ev_tuple(eval, loc, items, count);

    if (out.kind == EV_BAD)
        return out;
    out.kind = EV_DICT;
    out.fields = keys;
    return ev_own(eval, out);
}

void ev_hold(const struct ev *item)
{
    if (item->cell)
        item->cell->held = true;
}

struct ev ev_own(struct eval *eval, struct ev value)
{
    struct arena *arena = &eval->cx->arena;
    struct ev *items = NULL;
    const char **keys = NULL;
    int count = 0, key_count = 0;

    if (!ev_is_sequence(&value) || (value.kind == EV_TUPLE && value.fields))
        return value;
    value.changes = false;
    for (int i = 0; i < value.count; i++) { /* in lists of its own, which ARENA_PUSH made */
        struct ev item = value.items[i];

        if (ev_is_sequence(&item) && !item.cell)
            item = ev_own(eval, item);
        ev_hold(&item);
        value.changes |= item.cell || item.changes;
        ARENA_PUSH(arena, items, count, item);
        if (value.kind == EV_DICT)
            ARENA_PUSH(arena, keys, key_count, value.fields[i]);
    }
    value.items = items;
    if (value.kind == EV_DICT)
        value.fields = keys;
    if (value.kind == EV_TUPLE && !value.list)
        return value;
    return with_cell(eval, value);
}

/* The same with other items, without its cell. */
static struct ev with_items(struct eval *eval, struct ev value,
                            struct ev (*item)(struct eval *eval, struct ev value))
{
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, value.count + 1, struct ev);

    for (int i = 0; i < value.count; i++)
        items[i] = item(eval, value.items[i]);
    value.items = items;
    return value;
}

/* What is in lists that are in lists many times is walked often. False after an error. */
static bool may_walk(struct eval *eval, struct loc loc, int count)
{
    if (eval->walked > EVAL_MAX_WALKED)
        return false;
    eval->walked += count;
    if (eval->walked <= EVAL_MAX_WALKED)
        return true;
    diag_error(eval->cx, loc, "the lists of these statements are too large");
    return false;
}

bool ev_is_stale(struct eval *eval, const struct ev *value)
{
    if (value->kind == EV_TENSOR || value->kind == EV_COMPLEX)
        return eval->graph && build_shown(eval, value->loc, value->tensor) != value->tensor;
    if (!ev_is_sequence(value))
        return false;
    if (value->cell || value->changes)
        return true;
    for (int i = 0; i < value->count; i++)
        if (ev_is_stale(eval, &value->items[i]))
            return true;
    return false;
}

struct ev ev_fresh(struct eval *eval, struct ev value)
{
    struct loc loc = value.loc;
    bool stale = false;

    if ((value.kind == EV_TENSOR || value.kind == EV_COMPLEX) && eval->graph) {
        value.tensor = build_shown(eval, loc, value.tensor);
        return value.tensor ? value : ev_bad(loc);
    }
    if (value.kind == EV_METHOD && value.items) {
        struct ev *self = ARENA_NEW(&eval->cx->arena, struct ev);

        *self = ev_fresh(eval, value.items[0]);
        value.items = self;
        return self->kind == EV_BAD ? *self : value;
    }
    if (!ev_is_sequence(&value))
        return value;
    if (value.cell)
        value = *value.cell;
    value.loc = loc;
    if (!may_walk(eval, loc, value.count))
        return ev_bad(loc);
    for (int i = 0; i < value.count && !stale; i++)
        stale = ev_is_stale(eval, &value.items[i]);
    if (stale)
        value = with_items(eval, value, ev_fresh);
    for (int i = 0; i < value.count && stale; i++)
        if (value.items[i].kind == EV_BAD)
            return ev_bad(loc);
    return value;
}

struct ev ev_frozen(struct eval *eval, struct ev value)
{
    const struct ev *cell;

    if (!ev_is_sequence(&value) || (!value.cell && !value.changes))
        return value;
    cell = value.cell;
    value = ev_fresh(eval, value);
    if (value.kind != EV_BAD && value.changes)
        value = with_items(eval, value, ev_frozen);
    value.taken_from = cell;
    value.version = cell ? cell->version : 0;
    value.cell = NULL;
    value.changes = false;
    return value;
}

/* Whether ev_given would change nothing of it. */
static bool is_given(const struct ev *value)
{
    return !value->own &&
           !((value->kind == EV_TENSOR || value->kind == EV_COMPLEX) && value->tensor->constant) &&
           !ev_is_sequence(value);
}

struct ev ev_given(struct eval *eval, struct ev value)
{
    bool given = true;

    if (eval->building)
        return ev_fresh(eval, value);
    if (value.own && value.kind == EV_TENSOR)
        return eval_tensor(eval, value.own, value.loc);
    if (value.own) {
        diag_error(eval->cx, value.loc, "'%s' is a tensor of another module, which its own statements read",
                   value.own->path);
        diag_hint(eval->cx, "give it as an argument of forward, or read it by its path, as self.a.weight");
        return ev_bad(value.loc);
    }
    if ((value.kind == EV_TENSOR || value.kind == EV_COMPLEX) && value.tensor->constant) {
        value.tensor = build_const(eval, value.loc, value.tensor->constant);
        value.tensor->sharing.fixed = true;
        return value;
    }
    value = ev_frozen(eval, value);
    if (!ev_is_sequence(&value))
        return value;
    for (int i = 0; i < value.count && given; i++)
        given = is_given(&value.items[i]);
    return given ? value : with_items(eval, value, ev_given);
}

/* Whether the list may take the item; else why not is said. What is in another list takes no further ones: so nothing holds
 * itself, and how deep a list nests is known when it is put somewhere. */
static bool takes(struct eval *eval, struct loc loc, const struct ev *list, const struct ev *item)
{
    struct ev *cell = list->cell;
    int64_t total = (int64_t)cell->total + 1 + (ev_is_sequence(item) ? item->total : 0);

    if (item->kind == EV_BAD || !ev_fits(eval, loc, total) || !ev_nests(eval, loc, item))
        return false;
    if (item->cell == cell || (cell->held && ev_is_sequence(item) && (item->cell || item->changes))) {
        diag_error(eval->cx, loc,
                   item->cell == cell ? "a list cannot hold itself"
                                      : "a list that is in another one takes no further lists");
        return false;
    }
    ev_hold(item);
    return true;
}

/* Counts what the cell holds anew. */
static void count_again(struct ev *cell)
{
    cell->version++;
    cell->total = cell->count;
    cell->height = 1;
    cell->changes = false;
    for (int i = 0; i < cell->count; i++) {
        const struct ev *item = &cell->items[i];

        if (!ev_is_sequence(item))
            continue;
        cell->total += item->total;
        cell->height = item->height >= cell->height ? item->height + 1 : cell->height;
        cell->changes |= item->cell || item->changes;
    }
}

bool ev_insert(struct eval *eval, struct loc loc, const struct ev *list, int at, const char *key,
               struct ev item)
{
    struct ev *cell = list->cell;
    int keys = cell->count;
    const char **names = (const char **)cell->fields;

    if (!takes(eval, loc, list, &item) || !eval_spend(eval, loc, 1 + cell->count - at))
        return false;
    if (at < cell->count) { /* others may look at what stands there */
        struct ev *items = NULL;
        int count = 0;

        for (int i = 0; i < cell->count; i++)
            ARENA_PUSH(&eval->cx->arena, items, count, cell->items[i]);
        cell->items = items;
    }
    ARENA_PUSH(&eval->cx->arena, cell->items, cell->count, item);
    for (int i = cell->count - 1; i > at; i--)
        cell->items[i] = cell->items[i - 1];
    cell->items[at] = item;
    if (cell->kind == EV_DICT) {
        ARENA_PUSH(&eval->cx->arena, names, keys, key);
        cell->fields = names;
    }
    count_again(cell);
    return true;
}

bool ev_replace(struct eval *eval, struct loc loc, const struct ev *list, int at, struct ev item)
{
    struct ev *cell = list->cell, *items = NULL;
    int count = 0;

    if (!takes(eval, loc, list, &item) || !eval_spend(eval, loc, cell->count))
        return false;
    for (int i = 0; i < cell->count; i++)
        ARENA_PUSH(&eval->cx->arena, items, count, i == at ? item : cell->items[i]);
    cell->items = items;
    count_again(cell);
    return true;
}

bool ev_remove(struct eval *eval, struct loc loc, const struct ev *list, int at)
{
    struct ev *cell = list->cell, *items = NULL;
    const char **keys = NULL;
    int count = 0, key_count = 0;

    if (!eval_spend(eval, loc, cell->count))
        return false;
    for (int i = 0; i < cell->count; i++) {
        if (i == at)
            continue;
        ARENA_PUSH(&eval->cx->arena, items, count, cell->items[i]);
        if (cell->kind == EV_DICT)
            ARENA_PUSH(&eval->cx->arena, keys, key_count, cell->fields[i]);
    }
    cell->items = items;
    cell->fields = cell->kind == EV_DICT ? keys : NULL;
    cell->count = count;
    count_again(cell);
    return true;
}

int ev_find_key(const struct ev *dict, const char *key)
{
    for (int i = 0; i < dict->count; i++)
        if (strcmp(dict->fields[i], key) == 0)
            return i;
    return -1;
}

bool ev_set_key(struct eval *eval, struct loc loc, const struct ev *dict, const char *key, struct ev item)
{
    const int at = ev_find_key(dict->cell, key);

    return at < 0 ? ev_insert(eval, loc, dict, dict->cell->count, key, item)
                  : ev_replace(eval, loc, dict, at, item);
}

bool ev_may_change(struct eval *eval, struct loc loc, const struct ev *list)
{
    if (list->cell)
        return true;
    diag_error(eval->cx, loc, "this %s is not changed here: it was given from outside",
               list->kind == EV_DICT ? "dict" : "list");
    diag_hint(eval->cx, "take a copy first: x = %s(x)", list->kind == EV_DICT ? "dict" : "list");
    return false;
}

bool eval_spend(struct eval *eval, struct loc loc, int64_t count)
{
    if (eval->loops == 0)
        return true;
    if (eval->spent > EVAL_MAX_STEPS)
        return false;
    eval->spent += count;
    if (eval->spent <= EVAL_MAX_STEPS)
        return true;
    diag_error(eval->cx, loc, "loops run more than %d steps while generating", EVAL_MAX_STEPS);
    return false;
}

/* ---- what can be gone through ---- */

/* Sequential, ModuleList and ModuleDict; a class of the spec whose modules are a list is one of the first. */
static enum layer_container container_of_module(const struct module *module)
{
    const struct spec_class *class = module->spec_class;

    if (module->layer)
        return module->layer->container;
    if (class && class->container)
        return layer_find(class->container)->container;
    return class && class->modules && class->modules->kind == SPEC_MODULE_LIST ? LAYER_SEQUENTIAL
                                                                               : LAYER_PLAIN;
}

/* `self` is the module whose statements run. */
static struct ev as_module(const struct ev *value)
{
    return value->kind == EV_SPACE && value->module ? ev_module(value->loc, value->module) : *value;
}

bool ev_is_container(const struct ev *value)
{
    return value->kind == EV_MODULE && container_of_module(value->module) != LAYER_PLAIN;
}

/* The children or parameters of a module, and their names. */
static void module_items(struct eval *eval, struct loc loc, struct module *module, bool parameters,
                         struct ev **items, struct ev **names, int *count)
{
    *count = parameters ? module->tensor_count : module->child_count;
    *items = ARENA_ARRAY(&eval->cx->arena, *count + 1, struct ev);
    *names = ARENA_ARRAY(&eval->cx->arena, *count + 1, struct ev);
    for (int i = 0; i < *count; i++) {
        struct module *child = parameters ? NULL : module->children[i];

        (*items)[i] = parameters      ? eval_tensor(eval, module->tensors[i], loc)
                      : child->faulty ? ev_bad(loc)
                                      : ev_module(loc, child);
        (*names)[i] = ev_string(loc, parameters ? module->tensors[i]->name : child->name);
    }
}

void eval_module_items(struct eval *eval, struct loc loc, struct module *module, struct ev **items,
                       struct ev **names, int *count)
{
    module_items(eval, loc, module, module_holds_parameters(module), items, names, count);
}

bool eval_sequence(struct eval *eval, struct loc loc, const struct ev *given, struct ev **items, int *count)
{
    const struct ev own = as_module(given), *value = &own;
    struct ev *names;
    int64_t rows;

    switch (value->kind) {
    case EV_TUPLE:
        *items = value->items;
        *count = value->count;
        return true;
    case EV_DICT:
        *count = value->count;
        *items = ARENA_ARRAY(&eval->cx->arena, value->count + 1, struct ev);
        for (int i = 0; i < value->count; i++)
            (*items)[i] = ev_string(loc, value->fields[i]);
        return true;
    case EV_MODULE:
        if (!ev_is_container(value))
            return false;
        eval_module_items(eval, loc, value->module, items, &names, count);
        if (container_of_module(value->module) == LAYER_MODULE_DICT ||
            container_of_module(value->module) == LAYER_PARAMETER_DICT)
            *items = names;
        return true;
    case EV_TENSOR:
        if (value->tensor->ndim == 0 || !dim_is_const(value->tensor->dims[0], &rows) || rows > EVAL_MAX_ITEMS)
            return false;
        *count = (int)rows;
        *items = ARENA_ARRAY(&eval->cx->arena, rows + 1, struct ev);
        for (int i = 0; i < rows; i++) {
            struct ev at = ev_int(eval, loc, i);

            (*items)[i] = ev_tensor(loc, eval_select(eval, value->tensor, 0, &at));
        }
        return true;
    default:
        return false;
    }
}

bool eval_through(struct eval *eval, struct loc loc, const struct ev *value, struct ev **items, int *count)
{
    if (value->kind == EV_BAD)
        return false;
    if (eval_sequence(eval, loc, value, items, count))
        return true;
    diag_error(eval->cx, loc, "%s cannot be gone through", ev_kind_text(value));
    if (value->kind == EV_TENSOR)
        diag_hint(eval->cx, value->tensor->ndim == 0 ? "it has no dimension"
                                                     : "how many rows it has must be known while generating");
    else if (value->kind == EV_MODULE)
        diag_hint(eval->cx, "lists of modules can: .children() are those of any module");
    else if (value->kind == EV_INT)
        diag_hint(eval->cx, "write range(...)");
    return false;
}
