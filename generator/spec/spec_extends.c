/* spec_extends.c - `extends`: reads a spec with all that it extends, and lays the trees over each other before anything
 * in them is interpreted. Apart from spec.c, which reads the keys of what comes out and need not know where they stood:
 * every node keeps its source, so that a message points into the right file by itself. */
#include "spec/spec_extends.h"

#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "spec/spec.h"

struct extender {
    struct cx *cx;
    struct extended *out;
};

/* ---- laying one tree over another ------------------------------------------------------------------------- */

/* Mappings of names, and `generation`, which those of the extending spec join one by one. Any other key it replaces whole. */
static const char *const joined[] = {"constants",  "sizes",   "inputs", "functions", "classes",
                                     "parameters", "buffers", "state",  "entries",   "generation"};

/* The name in a key: `Block(dim, heads)` is Block. */
static const char *key_name(struct cx *cx, const struct node *key)
{
    size_t length = strcspn(key->value, "(");

    while (length > 0 && key->value[length - 1] == ' ')
        length--;
    return arena_copy(&cx->arena, key->value, length);
}

static bool is_among(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void add_item(struct cx *cx, struct node *map, struct node *key, struct node *item)
{
    int keys = map->count;

    ARENA_PUSH(&cx->arena, map->keys, keys, key);
    ARENA_PUSH(&cx->arena, map->items, map->count, item);
}

static struct node *lay_over(struct cx *cx, const struct node *base, const struct node *own, bool whole_spec);

/* What a key means that both have. Every file has a version: a base's that is wrong stays, so that it is said. */
static struct node *lay_item_over(struct cx *cx, const struct node *key, struct node *base, struct node *own)
{
    if (strcmp(key->value, "modc") == 0)
        return base->kind == NODE_SCALAR && strcmp(base->value, "1") == 0 ? own : base;
    if (!is_among(key->value, joined, COUNT(joined)) || own->kind != NODE_MAP)
        return own;
    if (base->kind != NODE_MAP) /* the reader of its key says what is wrong with it */
        return base;
    return lay_over(cx, base, own, false);
}

/* The keys of `base`, with the values of `own` where both have the name; then the other keys of `own`. Of a whole spec
 * `set` and `add` are not replaced, since they apply one after the other. Two keys of one name in `own` both stay:
 * spec.c says it. */
static struct node *lay_over(struct cx *cx, const struct node *base, const struct node *own, bool whole_spec)
{
    struct node *both = ARENA_NEW(&cx->arena, struct node);
    struct names names = {0};
    int *places = ARENA_ARRAY(&cx->arena, base->count + 1, int);
    bool *taken = ARENA_ARRAY(&cx->arena, base->count + 1, bool);

    *both = *own;
    both->keys = both->items = NULL;
    both->count = 0;
    for (int i = 0; i < base->count; i++) {
        const char *name = key_name(cx, base->keys[i]);

        if (!names_add(&cx->arena, &names, name, name, base->keys[i]->loc))
            places[names.count - 1] = i;
        add_item(cx, both, base->keys[i], base->items[i]);
    }
    for (int i = 0; i < own->count; i++) {
        struct node *key = own->keys[i], *item = own->items[i];
        const char *name = key_name(cx, key);
        const struct name_entry *first = names_find(&names, name);
        int at = first ? places[first->index] : -1;

        if (at < 0 || taken[at] || (whole_spec && (strcmp(name, "set") == 0 || strcmp(name, "add") == 0))) {
            add_item(cx, both, key, item);
            continue;
        }
        taken[at] = true;
        both->items[at] = whole_spec ? lay_item_over(cx, key, base->items[at], item) : item;
        both->keys[at] = both->items[at] == base->items[at] ? base->keys[at] : key;
    }
    return both;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* Takes `extends` out of a spec. NULL: it has none. */
static struct node *take_extends(struct node *root, struct node **key)
{
    struct node *value = NULL;
    int count = 0;

    for (int i = 0; i < root->count; i++) {
        if (strcmp(root->keys[i]->value, "extends") == 0) {
            *key = root->keys[i];
            value = root->items[i];
            continue;
        }
        root->keys[count] = root->keys[i];
        root->items[count++] = root->items[i];
    }
    root->count = count;
    return value;
}

/* The file that `value` names; NULL after a fault. */
static const struct source *open_base(struct extender *x, const struct source *source, const struct node *key,
                                      const struct node *value)
{
    const struct extended *out = x->out;
    const char *error = NULL, *path;
    struct source *base;
    struct loc *from;

    if (value->kind != NODE_SCALAR || node_is_empty(value)) {
        if (value->kind == NODE_BAD)
            return NULL;
        if (node_is_empty(value))
            diag_error(x->cx, key->loc, "'extends' has no value: expected the file of a spec");
        else
            diag_error(x->cx, value->loc, "expected the file of a spec, found %s", node_kind_text(value));
        if (value->kind == NODE_LIST)
            diag_hint(x->cx, "a spec extends one spec, which may extend another");
        return NULL;
    }
    path = source_beside(x->cx, source, value->value);
    for (int i = 0; i < out->source_count; i++) {
        if (source_same(path, out->sources[i]->name)) {
            diag_error(x->cx, value->loc, "'%s' extends itself", out->sources[i]->name);
            return NULL;
        }
    }
    if (out->source_count > SPEC_MAX_BASES) {
        diag_error(x->cx, value->loc, "a spec extends at most %d specs, one through the other",
                   SPEC_MAX_BASES);
        return NULL;
    }
    base = source_read(x->cx, path, SPEC_MAX_BYTES, &error);
    if (!base) {
        diag_error(x->cx, value->loc, "%s", error);
        x->cx->unreadable = true;
        return NULL;
    }
    from = ARENA_NEW(&x->cx->arena, struct loc);
    *from = value->loc;
    base->from = from;
    return base;
}

static struct node *read_one(struct extender *x, const struct source *source)
{
    bool complete;
    struct node *own = node_read_mapping(x->cx, source, &complete), *key = NULL;
    struct node *value = own ? take_extends(own, &key) : NULL;
    const struct source *base;

    x->out->complete &= complete;
    ARENA_PUSH(&x->cx->arena, x->out->sources, x->out->source_count, source);
    if (!value)
        return own;
    base = open_base(x, source, key, value);
    if (!base) {
        x->out->complete = false;
        return own;
    }

    struct node *below = read_one(x, base);

    return below ? lay_over(x->cx, below, own, true) : own;
}

struct extended spec_extend(struct cx *cx, const struct source *source)
{
    struct extended out = {.complete = true};
    struct extender x = {cx, &out};

    out.root = read_one(&x, source);
    return out;
}
