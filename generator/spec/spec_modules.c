/* spec_modules.c - places where modules are written, in `modules:`, in `set:` and in `add:`. Apart, since it is a small
 * language of its own: calls, lists, mappings, repetitions. What the calls mean is module.c's business. */
#include "spec/spec_reader.h"

#include <string.h>

/* Whether a name has a value where the modules of a class are written: an argument, a constant. */
static bool has_value(const struct reader *r, const struct spec_class *owner, const char *name)
{
    bool found = strcmp(name, "self") == 0;

    for (int i = 0; i < owner->arg_count; i++)
        found |= strcmp(owner->args[i].name, name) == 0;
    for (int i = 0; i < owner->constant_count; i++)
        found |= strcmp(owner->constants[i].name, name) == 0;
    for (int i = 0; i < r->spec->constant_count; i++)
        found |= strcmp(r->spec->constants[i].name, name) == 0;
    return found;
}

/* The x of x[0].y(z); else the expression that stands there. */
static const struct expr *innermost(const struct expr *expr)
{
    while (expr->kind == EXPR_ATTR || expr->kind == EXPR_INDEX || expr->kind == EXPR_CALL)
        expr = expr->a;
    return expr;
}

static bool binds(const struct expr *target, const char *name)
{
    bool found = target->kind == EXPR_NAME && strcmp(target->text, name) == 0;

    for (int i = 0; target->kind == EXPR_TUPLE && i < target->count; i++)
        found |= binds(target->items[i], name);
    return found;
}

/* An expression whose value holds a module. */
static bool is_value(const struct reader *r, const struct spec_class *owner, const struct expr *expr)
{
    const struct expr *root = innermost(expr);

    return (root->kind == EXPR_NAME && has_value(r, owner, root->text)) ||
           ((root->kind == EXPR_DICT || root->kind == EXPR_LIST || root->kind == EXPR_TUPLE) && root != expr);
}

static const char *expr_kind_text(const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_IMAGINARY:
        return "a number";
    case EXPR_STRING:
        return "a string";
    case EXPR_INDEX:
        return "an index";
    case EXPR_UNARY:
    case EXPR_BINARY:
        return "an operation";
    case EXPR_TUPLE:
    case EXPR_LIST:
        return "a list";
    default:
        return "a constant";
    }
}

/* What stands for a module: a call, or a choice between calls. */
static void check_module_expr(struct reader *r, const struct spec_class *owner, struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_BAD:
    case EXPR_CALL:
    case EXPR_NONE: /* of a mapping: there is none of that name */
        return;
    case EXPR_IF:
        check_module_expr(r, owner, expr->a);
        check_module_expr(r, owner, expr->c);
        break;
    case EXPR_REPEAT:
        check_module_expr(r, owner, expr->b);
        break;
    case EXPR_FOR:
        if (expr->tuple ||
            (innermost(expr->a)->kind == EXPR_NAME && binds(expr->c, innermost(expr->a)->text)))
            return; /* what it makes is known where it runs */
        check_module_expr(r, owner, expr->a);
        break;
    case EXPR_STAR:
        return;
    case EXPR_NAME:
    case EXPR_ATTR:
        if (is_value(r, owner, expr))
            return;
        diag_error(r->cx, expr->loc, "expected a call such as Linear(4, 2), found a name");
        diag_hint(r->cx, "write %s(), with its arguments in the brackets", expr_source(r->cx, expr));
        expr->kind = EXPR_BAD;
        return;
    default:
        if ((expr->kind == EXPR_INDEX && is_value(r, owner, expr)) ||
            (expr->kind == EXPR_BINARY && (expr->op == OP_OR || expr->op == OP_AND)))
            return;
        diag_error(r->cx, expr->loc, "expected a call such as Linear(4, 2), found %s", expr_kind_text(expr));
        if (expr->kind == EXPR_LIST)
            diag_hint(r->cx, "here a list is written Sequential(A, B), and an empty one Sequential()");
        if (expr->kind == EXPR_BINARY && expr->op == OP_MUL)
            diag_hint(r->cx, "a list of equal modules is written '12 x Linear(4, 4)'");
        else if (expr_source(r->cx, expr)[0] == '-')
            diag_hint(r->cx, "YAML wants a blank behind the '-' of an item");
        expr->kind = EXPR_BAD;
        return;
    }
    if ((expr->a && expr->a->kind == EXPR_BAD) || (expr->b && expr->b->kind == EXPR_BAD) ||
        (expr->c && expr->c->kind == EXPR_BAD))
        expr->kind = EXPR_BAD;
}

static struct spec_module *read_module(struct reader *r, const struct spec_class *owner,
                                       const struct node *key, const struct node *node, bool in_list);

static struct spec_module *new_module(struct reader *r, enum spec_module_kind kind, const struct node *key,
                                      const struct node *node)
{
    struct spec_module *module = ARENA_NEW(&r->cx->arena, struct spec_module);

    module->kind = kind;
    module->name = key ? key->value : NULL;
    module->loc = key ? key->loc : node->loc;
    module->text_loc = node->loc;
    return module;
}

static struct spec_module *read_module_call(struct reader *r, const struct spec_class *owner,
                                            const struct node *key, const struct node *node, bool in_list)
{
    struct spec_module *module = new_module(r, SPEC_MODULE_CALL, in_list ? NULL : key, node);

    module->call = node->kind == NODE_BAD
                       ? spec_bad_expr(r, node)
                       : expr_parse_module(r->cx, node->source, node->offset, node->length);
    if (in_list)
        module->loc = node->loc;
    check_module_expr(r, owner, module->call);
    module->text = module->call->kind == EXPR_BAD ? "" : expr_source(r->cx, module->call);
    if (in_list || (module->call->kind != EXPR_REPEAT && module->call->kind != EXPR_FOR))
        return module;

    struct spec_module *list = new_module(r, SPEC_MODULE_LIST, key, node);

    module->name = NULL;
    module->loc = node->loc;
    ARENA_PUSH(&r->cx->arena, list->children, list->count, module);
    return list;
}

static bool check_module_name(struct reader *r, const struct node *key)
{
    if (strchr(key->value, '.')) {
        diag_error(r->cx, key->loc, "the module '%s' has a '.' in its name, which separates names in a path",
                   key->value);
        return false;
    }
    if (strchr(key->value, ' ')) {
        diag_error(r->cx, key->loc, "'%s' is not the name of a module", key->value);
        if (strncmp(key->value, "if ", 3) == 0)
            diag_hint(r->cx, "a module is chosen by 'name: A if condition else B'");
        else if (strncmp(key->value, "for ", 4) == 0)
            diag_hint(r->cx, "modules repeat by 'name: N x A(...)' or 'name: A(i) for i in range(N)'");
        r->spec->partial = true;
        return false;
    }
    return true;
}

bool spec_is_sequential(const struct spec_module *modules)
{
    return modules && (modules->kind == SPEC_MODULE_LIST || modules->sequential);
}

/* `class: Sequential` among the children says what their mapping is; a child of that name is a call. False: it is none. */
static bool read_container(struct reader *r, struct spec_module *module, const struct node *key,
                           const struct node *node)
{
    static const char *const spaces[] = {"torch.nn.", "nn."};
    const char *name = node->value;

    if (strcmp(key->value, "class") != 0 || node->kind != NODE_SCALAR || node->style == NODE_QUOTED)
        return false;
    for (int i = 0; i < COUNT(spaces); i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            name += strlen(spaces[i]);
    if (!spec_is_identifier(name))
        return false;
    module->sequential = strcmp(name, "Sequential") == 0;
    if (module->sequential || strcmp(name, "ModuleDict") == 0)
        return true;
    diag_error(r->cx, node->loc, "a mapping of modules is a ModuleDict or a Sequential, not a '%s'", name);
    if (strcmp(name, "ModuleList") == 0)
        diag_hint(r->cx, "a ModuleList numbers its children from 0: write a list, or leave 'class' out");
    return true;
}

/* The children of a mapping. `names`: what they must differ from. */
static void read_children(struct reader *r, const struct spec_class *owner, struct spec_module *module,
                          const struct node *node, struct names *names)
{
    for (int i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i];

        if (!node->flow && node->items[i]->kind != NODE_BAD && strchr(key->value, '(')) {
            diag_error(r->cx, key->loc, "YAML takes this for a mapping, because of the ': ' in it");
            diag_hint(r->cx, "quote it: %s", node_quoted_line(r->cx, key));
            r->spec->partial = true;
            continue;
        }
        if (read_container(r, module, key, node->items[i]))
            continue;
        if (check_module_name(r, key) && spec_check_unique_in_c(r, names, key->value, key->loc))
            ARENA_PUSH(&r->cx->arena, module->children, module->count,
                       read_module(r, owner, key, node->items[i], false));
    }
}

static struct spec_module *read_module(struct reader *r, const struct spec_class *owner,
                                       const struct node *key, const struct node *node, bool in_list)
{
    struct spec_module *module;
    struct names names = {0};

    switch (node->kind) {
    case NODE_BAD:
    case NODE_SCALAR:
        if (!node_is_empty(node))
            return read_module_call(r, owner, key, node, in_list);
        if (in_list)
            diag_error(r->cx, node->loc, "expected a module, found nothing");
        else
            spec_wrong_kind(r, key, node, "a module");
        module = new_module(r, SPEC_MODULE_CALL, in_list ? NULL : key, node);
        module->text = "";
        module->call = spec_bad_expr(r, node);
        return module;
    case NODE_LIST:
        module = new_module(r, SPEC_MODULE_LIST, in_list ? NULL : key, node);
        for (int i = 0; i < node->count; i++)
            ARENA_PUSH(&r->cx->arena, module->children, module->count,
                       read_module(r, owner, key, node->items[i], true));
        return module;
    case NODE_MAP:
        break;
    }
    module = new_module(r, SPEC_MODULE_MAP, in_list ? NULL : key, node);
    read_children(r, owner, module, node, &names);
    return module;
}

void spec_read_class_modules(struct reader *r, struct spec_class *owner, struct names *names,
                             const struct node *key, const struct node *node)
{
    owner->tensors_first = owner->tensor_count;
    if (node->kind == NODE_MAP) {
        owner->modules = new_module(r, SPEC_MODULE_MAP, NULL, node);
        read_children(r, owner, owner->modules, node, names);
    } else if (node->kind == NODE_LIST || (node->kind == NODE_SCALAR && !node_is_empty(node))) {
        struct spec_module *module = read_module(r, owner, key, node, false);

        if (module->kind == SPEC_MODULE_CALL) {
            if (module->call->kind != EXPR_BAD) {
                diag_error(r->cx, node->loc,
                           "expected a list, or a mapping of names to modules, found one module");
                diag_hint(r->cx, "a list of one is written [%s]", module->text);
            }
            r->spec->partial = true;
            return;
        }
        owner->modules = module;
        module->name = NULL;
    } else {
        spec_wrong_kind(r, key, node, "a list, or a mapping of names to modules");
    }
}

/* ---- what changes a module that is there ---- */

/* Names with a dot between them: "blocks.3.norm1". */
static bool check_path(struct reader *r, const struct node *key)
{
    const char *path = key->value;
    struct text spelling = text_new(&r->cx->arena);
    size_t length = strlen(path);

    if (path[0] != '.' && path[length - 1] != '.' && !strstr(path, "..") && !strpbrk(path, "[]"))
        return true;
    diag_error(r->cx, key->loc, "'%s' is no path of a module: names with a '.' between them", path);
    for (const char *c = path; *c; c++) { /* blocks[3].norm1, blocks['a'] */
        bool dot = *c == '.' || *c == '[';

        if (dot && spelling.length > 0 && spelling.data[spelling.length - 1] != '.')
            text_add(&spelling, ".");
        else if (!dot && !strchr("]'\"", *c))
            text_add_bytes(&spelling, c, 1);
    }
    while (spelling.length > 0 && spelling.data[spelling.length - 1] == '.')
        spelling.data[--spelling.length] = 0;
    if (spelling.length > 0)
        diag_hint(r->cx, "write '%s'", spelling.data);
    return false;
}

static void read_changes(struct reader *r, enum spec_change_kind kind, const struct node *key,
                         const struct node *node)
{
    if (!spec_is_mapping(r, key, node, "a mapping of the paths of modules to modules"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_change change = {.kind = kind, .path = node->keys[i]->value, .loc = node->keys[i]->loc};
        const char *dot = strrchr(change.path, '.');

        if (!check_path(r, node->keys[i])) {
            r->spec->partial = true;
            continue;
        }
        change.module = read_module(r, &r->spec->root, node->keys[i], node->items[i], false);
        change.module->name = dot ? dot + 1 : change.path;
        ARENA_PUSH(&r->cx->arena, r->spec->changes, r->spec->change_count, change);
    }
}

void spec_read_set(struct reader *r, const struct node *key, const struct node *node)
{
    read_changes(r, SPEC_SET, key, node);
}

void spec_read_add(struct reader *r, const struct node *key, const struct node *node)
{
    read_changes(r, SPEC_ADD, key, node);
}
