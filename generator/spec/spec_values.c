/* spec_values.c - reads values of the kinds that stand behind many keys: expressions, statements, shapes, words, lists of
 * words. Apart from the keys, which say only what they expect; what is another thing is said here. */
#include "spec/spec_reader.h"

#include <string.h>

void spec_wrong_kind(struct reader *r, const struct node *key, const struct node *node, const char *what)
{
    r->spec->partial = true;
    if (node->kind == NODE_BAD || (node_is_empty(node) && !r->complete))
        return;
    if (node_is_empty(node)) {
        diag_error(r->cx, key->loc, "'%s' has no value: expected %s", key->value, what);
        return;
    }
    diag_error(r->cx, node->loc, "expected %s, found %s", what, node_kind_text(node));
    if (node->kind == NODE_LIST && !node->flow && strstr(what, "mapping"))
        diag_hint(r->cx, "leave out the '- ' of every line");
}

/* A mapping in lines is often an expression in which YAML saw ': '. */
static void hint_colon(struct reader *r, const struct node *node)
{
    if (node->kind == NODE_MAP && !node->flow)
        diag_hint(r->cx, "YAML takes text with ': ' in it for a mapping; quote it: %s",
                  node_quoted_line(r->cx, node));
}

static struct expr *new_expr(struct reader *r, enum expr_kind kind, struct loc loc, size_t end)
{
    struct expr *expr = ARENA_NEW(&r->cx->arena, struct expr);

    expr->kind = kind;
    expr->loc = loc;
    expr->end = end;
    expr->height = 1;
    return expr;
}

struct expr *spec_bad_expr(struct reader *r, const struct node *node)
{
    return new_expr(r, EXPR_BAD, node->loc, node->offset + node->length);
}

struct expr *spec_read_expr(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *expr;

    switch (node->kind) {
    case NODE_BAD:
        return spec_bad_expr(r, node);
    case NODE_SCALAR:
        if (!node_is_empty(node))
            return expr_parse(r->cx, node->source, node->offset, node->length);
        break;
    case NODE_LIST:
        if (node->flow)
            return expr_parse(r->cx, node->source, node->offset, node->length);
        expr = new_expr(r, EXPR_LIST, node->loc, node->offset + node->length);
        for (int i = 0; i < node->count; i++) {
            struct expr *item = spec_read_expr(r, key, node->items[i]);

            if (item->kind == EXPR_BAD)
                expr->kind = EXPR_BAD;
            if (item->height >= expr->height)
                expr->height = item->height + 1;
            ARENA_PUSH(&r->cx->arena, expr->items, expr->count, item);
        }
        return expr;
    case NODE_MAP:
        break;
    }
    spec_wrong_kind(r, key, node, "an expression");
    hint_colon(r, node);
    return spec_bad_expr(r, node);
}

/* What the line says that YAML did not take for a statement, so that its names are known below it. `quiet`: a fault in
 * it is not said. */
static struct stmt *read_refused(struct reader *r, const struct node *node, bool quiet)
{
    const char *text = node->source->text;
    size_t end = node->offset;

    while (end < node->source->length && text[end] != '\n' && text[end] != '\r')
        end++;
    return quiet ? stmt_parse_refused(r->cx, node->source, node->offset, end - node->offset)
                 : stmt_parse(r->cx, node->source, node->offset, end - node->offset);
}

struct stmt **spec_read_statements(struct reader *r, const struct node *key, const struct node *node,
                                   int *count)
{
    struct stmt **list = NULL;

    bool many = node->kind == NODE_LIST;

    *count = 0;
    if (node->kind == NODE_MAP || node_is_empty(node) || (many && node->count == 0)) {
        spec_wrong_kind(r, key, node, "statements");
        hint_colon(r, node);
        ARENA_PUSH(&r->cx->arena, list, *count, read_refused(r, node, true));
        return list;
    }
    for (int i = 0; i < (many ? node->count : 1); i++) {
        const struct node *item = many ? node->items[i] : node;

        if (item->kind == NODE_BAD) {
            struct stmt *stmt = read_refused(r, item, true);

            if (stmt->kind == STMT_EXPR) /* what it does is not known */
                stmt->value->kind = EXPR_BAD;
            ARENA_PUSH(&r->cx->arena, list, *count, stmt);
        } else if (item->kind == NODE_SCALAR && item->style == NODE_LITERAL) {
            int more;
            struct stmt **block = stmt_parse_block(r->cx, item->source, item->offset, item->length, &more);

            for (int k = 0; k < more; k++)
                ARENA_PUSH(&r->cx->arena, list, *count, block[k]);
        } else if (item->kind == NODE_SCALAR && !node_is_empty(item)) {
            struct stmt *stmt = stmt_parse(r->cx, item->source, item->offset, item->length);

            ARENA_PUSH(&r->cx->arena, list, *count, stmt);
        } else if (node_is_empty(item)) {
            diag_error(r->cx, item->loc, "expected a statement, found nothing");
        } else if (item->kind == NODE_LIST && !item->flow) {
            diag_error(r->cx, item->loc, "expected a statement, found a list");
            diag_hint(r->cx, "one '- ' begins a statement");
            r->spec->partial = true;
        } else {
            struct stmt *stmt = read_refused(r, item, true);

            if (stmt->value && stmt->value->kind == EXPR_BAD) { /* quotes would not help it */
                stmt = read_refused(r, item, false);
            } else {
                diag_error(r->cx, item->loc, "YAML takes this statement for %s", node_kind_text(item));
                diag_hint(r->cx, "quote it: %s", node_quoted_line(r->cx, item));
            }
            ARENA_PUSH(&r->cx->arena, list, *count, stmt);
        }
    }
    return list;
}

const char *spec_read_text(struct reader *r, const struct node *key, const struct node *node,
                           const char *what)
{
    if (node->kind == NODE_SCALAR && !node_is_empty(node))
        return node->value;
    spec_wrong_kind(r, key, node, what);
    return NULL;
}

bool spec_read_bool(struct reader *r, const struct node *key, const struct node *node, bool otherwise)
{
    const char *text = spec_read_text(r, key, node, "true or false");

    if (!text)
        return otherwise;
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)
        return true;
    if (strcmp(text, "false") == 0 || strcmp(text, "False") == 0)
        return false;
    diag_error(r->cx, node->loc, "expected true or false, found '%s'", text);
    return otherwise;
}

void spec_read_one_or_many(struct reader *r, const struct node *key, const struct node *node,
                           const char *what, void (*add)(struct reader *r, const char *text, struct loc loc))
{
    if (node->kind == NODE_LIST && node->count > 0) {
        for (int i = 0; i < node->count; i++) {
            const char *text = spec_read_text(r, key, node->items[i], what);

            if (text)
                add(r, text, node->items[i]->loc);
        }
        return;
    }
    if (node->kind == NODE_SCALAR || node->kind == NODE_BAD) {
        const char *text = spec_read_text(r, key, node, what);

        if (text)
            add(r, text, node->loc);
        return;
    }
    spec_wrong_kind(r, key, node, what);
}

bool spec_is_mapping(struct reader *r, const struct node *key, const struct node *node, const char *what)
{
    if (node->kind == NODE_MAP)
        return true;
    spec_wrong_kind(r, key, node, what);
    return false;
}

struct expr *spec_read_shape(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *shape;

    if (node_is_empty(node)) {
        spec_wrong_kind(r, key, node, "a shape, which is a list of dimensions");
        return spec_bad_expr(r, node);
    }
    shape = spec_read_expr(r, key, node);
    if (shape->kind == EXPR_LIST || shape->kind == EXPR_TUPLE || shape->kind == EXPR_BAD)
        return shape;
    diag_error(r->cx, node->loc, "expected a shape, which is a list of dimensions");
    diag_hint(r->cx, "write [%s], or [] for a single number", expr_source(r->cx, shape));
    return spec_bad_expr(r, node);
}

static void add_text(struct reader *r, const char *text, struct loc loc)
{
    struct spec_patterns *texts = r->texts;
    int locs = texts->count;

    ARENA_PUSH(&r->cx->arena, texts->locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, texts->list, texts->count, text);
}

void spec_read_texts(struct reader *r, const struct node *key, const struct node *node, const char *what,
                     struct spec_patterns *texts)
{
    r->texts = texts;
    spec_read_one_or_many(r, key, node, what, add_text);
}

void spec_read_patterns(struct reader *r, const struct node *key, const struct node *node,
                        struct spec_patterns *patterns)
{
    spec_read_texts(r, key, node, "a pattern or a list of them", patterns);
}

const char *spec_unknown_key(struct reader *r, const struct node *key, const char *what, unsigned where)
{
    static const struct {
        const char *found, *meant;
    } others[] = {{"layers", "modules"},    {"submodules", "modules"}, {"def forward", "forward"},
                  {"outputs", "forward"},   {"variables", "buffers"},  {"weights", "parameters"},
                  {"params", "parameters"}, {"name", "model"}};
    const char *name = arena_copy(&r->cx->arena, key->value, strcspn(key->value, "(")); /* of a signature */
    const char **known = NULL, *nearest;
    int count = 0;

    for (int i = 0; spec_key(i); i++)
        if (spec_key(i)->where & where)
            ARENA_PUSH(&r->cx->arena, known, count, spec_key(i)->name);
    diag_error(r->cx, key->loc, "%s has no key '%s'", what, key->value);
    for (int i = 0; i < COUNT(others); i++) {
        for (int k = 0; strcmp(others[i].found, name) == 0 && k < count; k++) {
            if (strcmp(known[k], others[i].meant) == 0) {
                diag_hint(r->cx, "did you mean '%s'?", others[i].meant);
                return others[i].meant;
            }
        }
    }
    diag_hint_nearest(r->cx, name, known, count);
    nearest = diag_nearest(name, known, count);
    return nearest ? nearest : "";
}
