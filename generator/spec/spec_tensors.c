/* spec_tensors.c - sections of names with a shape or a value: constants, sizes, inputs, parameters, buffers, state. */
#include "spec/spec_reader.h"

#include <string.h>

/* ---- constants, sizes, inputs ---- */

/* Names with expressions, into a list; `unique`: what the names must differ by, in C or not. */
static void read_constants(struct reader *r, const struct node *key, const struct node *node,
                           struct names *names,
                           bool (*unique)(struct reader *r, struct names *names, const char *name,
                                          struct loc loc),
                           struct spec_const **list, int *count)
{
    if (!spec_is_mapping(r, key, node, "a mapping of names to values"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *item = node->items[i];
        struct spec_const constant = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        if (!spec_check_identifier(r, constant.name, constant.loc) ||
            !unique(r, names, constant.name, constant.loc))
            continue;
        if (item->kind == NODE_SCALAR && item->style == NODE_QUOTED &&
            (!item->length || spec_is_identifier(item->value))) {
            constant.value = spec_bad_expr(r, item); /* a word in quotes is a string, in YAML and in Python */
            constant.value->kind = EXPR_STRING;
            constant.value->text = item->value;
        } else {
            constant.value = spec_read_expr(r, node->keys[i], item);
        }
        ARENA_PUSH(&r->cx->arena, *list, *count, constant);
    }
}

void spec_read_constants(struct reader *r, const struct node *key, const struct node *node)
{
    read_constants(r, key, node, &r->values, spec_check_unique, &r->spec->constants,
                   &r->spec->constant_count);
}

void spec_read_class_constants(struct reader *r, struct spec_class *owner, struct names *names,
                               const struct node *key, const struct node *node)
{
    read_constants(r, key, node, names, spec_check_unique_in_c, &owner->constants, &owner->constant_count);
}

static bool is_order(enum expr_op op)
{
    return op >= OP_LT && op <= OP_GE;
}

static void add_requirement(struct reader *r, const struct expr *expr, enum expr_op op,
                            const struct expr *left, const struct expr *right)
{
    struct spec_requirement requirement = {.loc = expr->loc, .op = op, .left = left, .right = right};

    if (is_order(op)) {
        ARENA_PUSH(&r->cx->arena, r->spec->requirements, r->spec->requirement_count, requirement);
        return;
    }
    diag_error(r->cx, expr->loc, "a requirement compares by <, <=, > or >=, found '%s'", expr_op_text(op));
    if (op == OP_EQ)
        diag_hint(r->cx, "where one size is made of another, write that: x: [2 * n, 4]");
    else if (op == OP_AND)
        diag_hint(r->cx, "write them one by one: [a <= b, b <= c]");
}

/* past + tokens <= 128, or 1 <= tokens <= past. */
static void read_requirement(struct reader *r, const struct expr *expr)
{
    if (expr->kind == EXPR_BAD)
        return;
    if (expr->kind == EXPR_BINARY && expr->op >= OP_EQ) {
        add_requirement(r, expr, expr->op, expr->a, expr->b);
    } else if (expr->kind == EXPR_CHAIN) {
        for (int i = 0; i + 1 < expr->count; i++)
            add_requirement(r, expr, expr->chain[i], expr->items[i], expr->items[i + 1]);
    } else {
        diag_error(r->cx, expr->loc, "a requirement compares sizes, as past + tokens <= 128");
        if (expr->kind == EXPR_INT)
            diag_hint(r->cx, "'require' is no size: it says what each call must meet");
    }
}

static void read_requirements(struct reader *r, const struct node *key, const struct node *node)
{
    const bool lines = node->kind == NODE_LIST && !node->flow;

    for (int i = 0; i < (lines ? node->count : 1); i++) {
        const struct expr *expr = spec_read_expr(r, key, lines ? node->items[i] : node);
        const bool many = expr->kind == EXPR_LIST || expr->kind == EXPR_TUPLE;

        for (int k = 0; k < (many ? expr->count : 1); k++)
            read_requirement(r, many ? expr->items[k] : expr);
    }
}

void spec_read_sizes(struct reader *r, const struct node *key, const struct node *node)
{
    if (!spec_is_mapping(r, key, node, "a mapping of names to maxima"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_size size = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        if (strcmp(size.name, "require") == 0) {
            read_requirements(r, node->keys[i], node->items[i]);
            continue;
        }
        if (!spec_check_identifier(r, size.name, size.loc) ||
            !spec_check_unique(r, &r->values, size.name, size.loc) ||
            !spec_check_unique_in_c(r, &r->arguments, size.name, size.loc))
            continue;
        size.max = spec_read_expr(r, node->keys[i], node->items[i]);
        ARENA_PUSH(&r->cx->arena, r->spec->sizes, r->spec->size_count, size);
    }
}

struct spec_input spec_read_input(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_input input = {.name = key->value, .loc = key->loc};

    if (node->kind != NODE_MAP) {
        input.shape = node_is_empty(node) ? NULL : spec_read_shape(r, key, node);
        if (!input.shape)
            spec_wrong_kind(r, key, node, "a shape, or {shape: ..., dtype: ...}");
    } else {
        for (int i = 0; i < node->count; i++) {
            const struct node *part = node->keys[i];

            if (strcmp(part->value, "shape") == 0)
                input.shape = spec_read_shape(r, part, node->items[i]);
            else if (strcmp(part->value, "dtype") == 0)
                input.dtype = spec_read_dtype_expr(r, part, node->items[i]);
            else if (strcmp(part->value, "requires_grad") == 0)
                input.constant = !spec_read_bool(r, part, node->items[i], true);
            else
                spec_unknown_key(r, part, "an input", SPEC_IN_INPUT);
        }
        if (!input.shape)
            diag_error(r->cx, key->loc, "the input '%s' has no shape", key->value);
    }
    if (!input.shape)
        input.shape = spec_bad_expr(r, node);
    if (input.shape->kind == EXPR_BAD)
        r->inputs_good = false;
    return input;
}

void spec_read_inputs(struct reader *r, const struct node *key, const struct node *node)
{
    r->has_inputs = true;
    r->inputs_loc = key->loc;
    r->inputs_good = node->kind == NODE_MAP;
    if (!spec_is_mapping(r, key, node, "a mapping of names to shapes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_input input = spec_read_input(r, node->keys[i], node->items[i]);

        if (node->items[i]->kind == NODE_BAD)
            r->inputs_good = false;
        if (!spec_check_identifier(r, input.name, input.loc) ||
            !spec_check_unique_in_c(r, &r->arguments, input.name, input.loc)) {
            r->inputs_good = false;
            continue;
        }
        ARENA_PUSH(&r->cx->arena, r->spec->inputs, r->spec->input_count, input);
    }
    if (node->count == 0)
        diag_error(r->cx, key->loc, "'inputs' is empty: a model has at least one");
}

/* ---- parameters, buffers, state ---- */

static const char *const tensor_sections[] = {
    [SPEC_PARAMETER] = "parameters", [SPEC_BUFFER] = "buffers", [SPEC_STATE] = "state"};
static const char *const tensor_kinds[] = {
    [SPEC_PARAMETER] = "a parameter", [SPEC_BUFFER] = "a buffer", [SPEC_STATE] = "a state"};

static struct expr *read_init(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *init = spec_read_expr(r, key, node);
    const struct expr *function = init->kind == EXPR_CALL ? init->a : init;

    if (init->kind == EXPR_BAD || function->kind == EXPR_NAME || function->kind == EXPR_ATTR)
        return init;
    diag_error(r->cx, node->loc, "expected zeros, ones or a call of a function of torch.nn.init");
    diag_hint(r->cx, "as in normal_(mean=0.0, std=0.02); for given numbers write 'value'");
    return spec_bad_expr(r, node);
}

static void read_tensor_key(struct reader *r, struct spec_tensor *tensor, const struct node *key,
                            const struct node *node)
{
    const char *name = key->value;

    if (strcmp(name, "shape") == 0)
        tensor->shape = spec_read_shape(r, key, node);
    else if (strcmp(name, "init") == 0)
        tensor->init = read_init(r, key, node);
    else if (strcmp(name, "value") == 0)
        tensor->value = spec_read_expr(r, key, node);
    else if (strcmp(name, "dtype") == 0)
        tensor->dtype = spec_read_dtype_expr(r, key, node);
    else if (strcmp(name, "persistent") == 0 && tensor->kind == SPEC_BUFFER)
        tensor->persistent = spec_read_bool(r, key, node, true);
    else if (strcmp(name, "requires_grad") == 0 && tensor->kind == SPEC_PARAMETER)
        tensor->requires_grad = spec_read_bool(r, key, node, true);
    else if (strcmp(name, "persistent") == 0)
        diag_error(r->cx, key->loc, "'persistent' is for buffers: parameters always are, and state never is");
    else if (strcmp(name, "requires_grad") == 0)
        diag_error(r->cx, key->loc, "'requires_grad' is for parameters");
    else
        spec_unknown_key(r, key, tensor_kinds[tensor->kind], SPEC_IN_TENSOR);
}

static void read_tensors(struct reader *r, struct spec_class *owner, struct names *names,
                         enum spec_tensor_kind kind, const struct node *section, const struct node *node)
{
    if (!spec_is_mapping(r, section, node, "a mapping of names to {shape: ..., init: ...} or {value: ...}"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i], *item = node->items[i];
        struct spec_tensor *tensor = ARENA_NEW(&r->cx->arena, struct spec_tensor);

        tensor->kind = kind;
        tensor->name = key->value;
        tensor->loc = key->loc;
        tensor->persistent = kind != SPEC_STATE;
        tensor->requires_grad = kind == SPEC_PARAMETER;
        if (!spec_check_identifier(r, tensor->name, tensor->loc) ||
            !spec_check_unique_in_c(r, names, tensor->name, tensor->loc))
            continue;
        ARENA_PUSH(&r->cx->arena, owner->tensors, owner->tensor_count, tensor);
        if (item->kind != NODE_MAP) {
            spec_wrong_kind(r, key, item, "{shape: ..., init: ...} or {value: ...}");
            if (item->kind == NODE_LIST && item->flow)
                diag_hint(r->cx, "write {shape: %.*s}", (int)item->length, item->source->text + item->offset);
            tensor->shape = spec_bad_expr(r, item);
            continue;
        }

        int errors = diag_errors(r->cx);

        for (int k = 0; k < item->count; k++)
            read_tensor_key(r, tensor, item->keys[k], item->items[k]);

        bool clean = diag_errors(r->cx) == errors; /* else what is missing may be what was faulty */

        if (clean && !tensor->shape && !tensor->value)
            diag_error(r->cx, key->loc, "'%s' has neither 'shape' nor 'value'", key->value);
        else if (clean && tensor->init && tensor->value)
            diag_error(r->cx, key->loc, "'%s' has both 'init' and 'value'", key->value);
        if (diag_errors(r->cx) > errors)
            tensor->shape = spec_bad_expr(r, item);
    }
}

bool spec_read_tensor_section(struct reader *r, struct spec_class *owner, struct names *names,
                              const struct node *key, const struct node *node)
{
    for (int kind = 0; kind < COUNT(tensor_sections); kind++) {
        if (strcmp(key->value, tensor_sections[kind]) == 0) {
            read_tensors(r, owner, names, (enum spec_tensor_kind)kind, key, node);
            return true;
        }
    }
    return false;
}
