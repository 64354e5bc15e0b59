/* spec_functions.c - sections whose keys are signatures: functions, classes, entries, and `forward`. */
#include "spec/spec_reader.h"

#include <string.h>

#include "base/emitted.h"

static bool read_signature(struct reader *r, const struct node *key, struct signature *out)
{
    bool good = key->kind == NODE_SCALAR &&
                signature_parse(r->cx, key->source, key->offset, key->length, out) &&
                spec_check_identifier(r, out->name, out->loc);

    r->spec->partial |= !good;
    return good;
}

static struct spec_function *new_function(struct reader *r, const struct signature *signature)
{
    struct spec_function *function = ARENA_NEW(&r->cx->arena, struct spec_function);

    function->name = signature->name;
    function->loc = signature->loc;
    function->args = signature->args;
    function->arg_count = signature->count;
    function->has_args = signature->has_args;
    return function;
}

/* False after an error: a section has the name already. */
static bool is_new(struct reader *r, struct names *names, const char *name, struct loc loc, const char *many)
{
    const struct name_entry *first = names_add(&r->cx->arena, names, name, name, loc);

    if (first) {
        diag_error(r->cx, loc, "there are two %s '%s'", many, name);
        diag_note(r->cx, first->loc, "the first one");
    }
    return !first;
}

/* The signature of a section whose names differ. False after a fault. */
static bool read_new_signature(struct reader *r, const struct node *key, struct names *names,
                               const char *many, struct signature *signature)
{
    return read_signature(r, key, signature) && is_new(r, names, signature->name, signature->loc, many);
}

/* A function of a section, which its reader puts where it belongs. */
typedef void add_function(struct reader *r, struct spec_class *class, struct spec_function *function);

/* Those of a block text, as Python writes them. */
static void add_defs(struct reader *r, struct spec_class *class, const struct def *defs, int count,
                     const char *many, add_function *add)
{
    struct names names = {0};

    for (int i = 0; i < count; i++) {
        struct spec_function *function = new_function(r, &defs[i].signature);

        r->spec->partial |= !defs[i].good;
        function->kind = defs[i].kind;
        function->statements = defs[i].body.list;
        function->count = defs[i].body.count;
        if (defs[i].good &&
            (strcmp(function->name, "__init__") == 0 ||
             spec_check_identifier(r, function->name, function->loc)) &&
            is_new(r, &names, function->name, function->loc, many))
            add(r, class, function);
    }
}

/* A section of functions: signatures with statements, or one text. */
static void read_function_section(struct reader *r, struct spec_class *class, const struct node *key,
                                  const struct node *node, const char *one, const char *many,
                                  add_function *add)
{
    struct names names = {0};

    if (node->kind == NODE_SCALAR && node->style == NODE_LITERAL && !node_is_empty(node)) {
        int count;
        struct def *defs = def_parse_all(r->cx, node->source, node->offset, node->length, &count);

        add_defs(r, class, defs, count, many, add);
        return;
    }
    if (!spec_is_mapping(r, key, node, "a mapping of signatures to statements"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct signature signature;

        if (!read_new_signature(r, node->keys[i], &names, many, &signature))
            continue;
        if (!signature.has_args) {
            diag_error(r->cx, signature.loc, "the %s '%s' has no list of arguments", one, signature.name);
            diag_hint(r->cx, "write '%s(x):', or '%s():' where it takes none", signature.name,
                      signature.name);
        }

        struct spec_function *function = new_function(r, &signature);

        function->statements = spec_read_statements(r, node->keys[i], node->items[i], &function->count);
        add(r, class, function);
    }
}

static void add_function_of_spec(struct reader *r, struct spec_class *class, struct spec_function *function)
{
    (void)class;
    ARENA_PUSH(&r->cx->arena, r->spec->functions, r->spec->function_count, function);
}

void spec_read_functions(struct reader *r, const struct node *key, const struct node *node)
{
    read_function_section(r, NULL, key, node, "function", "functions", add_function_of_spec);
}

/* `__init__` among the methods has the arguments of the class, which its key has none of then. */
static void add_init(struct reader *r, struct spec_class *class, struct spec_function *init)
{
    if (class->arg_count > 0) {
        diag_error(r->cx, init->loc, "the class '%s' has its arguments in its key and in '__init__'",
                   class->name);
        diag_hint(r->cx, "leave them out of the key");
        return;
    }
    class->init = init;
    class->args = init->args;
    class->arg_count = init->arg_count;
}

/* `forward` among the methods is what a call of the module runs. */
static void add_method(struct reader *r, struct spec_class *class, struct spec_function *method)
{
    method->class = class;
    if (strcmp(method->name, "__init__") == 0) {
        add_init(r, class, method);
        return;
    }
    if (strcmp(method->name, "forward") != 0) {
        ARENA_PUSH(&r->cx->arena, class->methods, class->method_count, method);
        return;
    }
    if (class->forward) {
        diag_error(r->cx, method->loc, "there are two 'forward'");
        diag_note(r->cx, class->forward->loc, "the first one");
        return;
    }
    if (class == &r->spec->root)
        method->has_args = false;
    class->forward = method;
}

void spec_read_methods(struct reader *r, const struct node *key, const struct node *node)
{
    read_function_section(r, &r->spec->root, key, node, "method", "methods", add_method);
}

static bool has_def(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->style == NODE_LITERAL &&
           def_begins(node->source, node->offset, node->length);
}

/* The statements of a forward: of a text that begins with `def`, those of that one, whose arguments count where the key has
 * none. */
static void read_body(struct reader *r, struct spec_function *function, const struct node *key,
                      const struct node *node)
{
    int count;
    struct def *defs;

    if (!has_def(node)) {
        function->statements = spec_read_statements(r, key, node, &function->count);
        return;
    }
    defs = def_parse_all(r->cx, node->source, node->offset, node->length, &count);
    if (count > 1) {
        diag_error(r->cx, defs[1].signature.loc, "this is the text of one function");
        diag_hint(r->cx, "further ones stand under 'methods: |', where 'forward' may stand too");
    }
    r->spec->partial |= !defs[0].good;
    if (defs[0].good && strcmp(defs[0].signature.name, function->name) != 0)
        diag_error(r->cx, defs[0].signature.loc, "this is the function '%s', under the key '%s'",
                   defs[0].signature.name, function->name);
    if (!function->has_args) {
        function->args = defs[0].signature.args;
        function->arg_count = defs[0].signature.count;
    }
    function->statements = defs[0].body.list;
    function->count = defs[0].body.count;
}

bool spec_is_forward(const struct node *key)
{
    return strncmp(key->value, "forward", 7) == 0 &&
           (key->value[7] == 0 || key->value[7] == '(' || key->value[7] == ' ');
}

static void read_class_key(struct reader *r, struct spec_class *class, struct names *names,
                           const struct node *key, const struct node *node)
{
    struct signature signature;

    if (spec_read_tensor_section(r, class, names, key, node))
        return;
    if (strcmp(key->value, "modules") == 0) {
        spec_read_class_modules(r, class, names, key, node);
    } else if (strcmp(key->value, "constants") == 0) {
        spec_read_class_constants(r, class, names, key, node);
    } else if (strcmp(key->value, "extra_repr") == 0) {
        class->extra_repr = spec_read_text(r, key, node, "text");
        class->extra_repr_loc = node->loc;
    } else if (spec_is_forward(key)) {
        if (!read_signature(r, key, &signature))
            return;
        if (class->forward) {
            diag_error(r->cx, key->loc, "the class '%s' has two 'forward'", class->name);
            diag_note(r->cx, class->forward->loc, "the first one");
            return;
        }
        class->forward = new_function(r, &signature);
        class->forward->class = class;
        read_body(r, class->forward, key, node);
        if (!signature.has_args && !has_def(node)) {
            diag_error(r->cx, key->loc, "the 'forward' of a class names its arguments");
            diag_hint(r->cx, "write 'forward(x):'");
        }
        class->forward->has_args = true;
    } else if (strcmp(key->value, "methods") == 0) {
        read_function_section(r, class, key, node, "method", "methods", add_method);
    } else {
        spec_unknown_key(r, key, "a class", SPEC_IN_CLASS);
    }
}

static void read_class(struct reader *r, const struct signature *signature, const struct node *key,
                       const struct node *node)
{
    struct spec_class *class = ARENA_NEW(&r->cx->arena, struct spec_class);
    struct names names = {0};
    int errors = diag_errors(r->cx);

    class->faulty = true;
    class->name = signature->name;
    class->loc = signature->loc;
    class->args = signature->args;
    class->arg_count = signature->count;
    ARENA_PUSH(&r->cx->arena, r->spec->classes, r->spec->class_count, class);
    if (node->kind == NODE_LIST) {
        diag_error(r->cx, node->loc, "expected 'modules', 'forward' and the like, found a list");
        diag_hint(r->cx, "a class that is a list of modules has it under 'modules:'");
    }
    if (node->kind == NODE_LIST || !spec_is_mapping(r, key, node, "'modules', 'forward' and the like"))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < node->count; i++)
            if ((strcmp(node->keys[i]->value, "constants") == 0) == (pass == 0))
                read_class_key(r, class, &names, node->keys[i], node->items[i]);
    class->faulty = diag_errors(r->cx) > errors || !r->complete;
}

/* ---- classes as Python writes them ---- */

static void add_attribute(struct reader *r, struct spec_class *class, struct names *names,
                          const struct stmt *stmt, bool field)
{
    const struct expr *target = stmt->targets[0];

    if (field) {
        ARENA_PUSH(&r->cx->arena, class->args, class->arg_count,
                   ((struct signature_arg){.name = target->text, .loc = target->loc, .value = stmt->value}));
        return;
    }

    if (strncmp(target->text, "__", 2) == 0) /* __constants__ and the like are TorchScript's */
        return;
    if (spec_check_identifier(r, target->text, target->loc) &&
        spec_check_unique_in_c(r, names, target->text, target->loc))
        ARENA_PUSH(&r->cx->arena, class->constants, class->constant_count,
                   ((struct spec_const){target->text, target->loc, stmt->value}));
}

static void add_class(struct reader *r, const struct class_text *text)
{
    struct spec_class *class = ARENA_NEW(&r->cx->arena, struct spec_class);
    struct names names = {0};
    const int errors = diag_errors(r->cx);

    class->name = text->name;
    class->loc = text->loc;
    class->base_expr = text->base_count > 0 ? text->bases[0] : NULL;
    class->plain = text->base_count == 0;
    if (text->base_count > 1)
        diag_error(r->cx, text->bases[1]->loc, "a class has one base here");
    ARENA_PUSH(&r->cx->arena, r->spec->classes, r->spec->class_count, class);
    for (int i = 0; i < text->attribute_count; i++)
        add_attribute(r, class, &names, text->attributes[i], text->dataclass);
    add_defs(r, class, text->defs, text->def_count, "methods", add_method);
    class->faulty = !text->good || diag_errors(r->cx) > errors;
    if (class->forward)
        class->forward->has_args = true;
}

/* What a class has of the one that it is made of. */
static void inherit(struct reader *r, struct spec_class *class)
{
    static const char *const containers[] = {"Sequential", "ModuleList", "ModuleDict"};
    const struct expr *from = class->base_expr;
    const char *name = from && (from->kind == EXPR_NAME || from->kind == EXPR_ATTR) ? from->text : NULL;
    const struct spec_class *base = NULL;

    if (!from || from->kind == EXPR_BAD || (name && strcmp(name, "Module") == 0))
        return;
    for (int i = 0; name && i < COUNT(containers); i++)
        class->container = strcmp(name, containers[i]) == 0 ? containers[i] : class->container;
    for (int i = 0; name && from->kind == EXPR_NAME && r->spec->classes[i] != class; i++)
        if (strcmp(r->spec->classes[i]->name, name) == 0)
            base = r->spec->classes[i];
    if (class->container)
        return;
    if (!base) {
        diag_error(r->cx, from->loc,
                   "the base of a class is nn.Module, nn.Sequential, nn.ModuleList, nn.ModuleDict or "
                   "a class above it");
        return;
    }
    class->base = base;
    class->container = base->container;
    if (!class->init) {
        class->init = base->init;
        class->args = base->args;
        class->arg_count = base->arg_count;
    }
    class->forward = class->forward ? class->forward : base->forward;
    class->plain = base->plain;
    for (int i = 0; i < base->method_count; i++)
        ARENA_PUSH(&r->cx->arena, class->methods, class->method_count, base->methods[i]);
    for (int i = 0; i < base->constant_count; i++) {
        bool own = false;

        for (int k = 0; k < class->constant_count; k++)
            own |= strcmp(class->constants[k].name, base->constants[i].name) == 0;
        if (!own)
            ARENA_PUSH(&r->cx->arena, class->constants, class->constant_count, base->constants[i]);
    }
}

/* NAME = value beside the classes. */
static void add_constant(struct reader *r, const struct stmt *stmt)
{
    const struct expr *target = stmt->targets[0];

    if (strncmp(target->text, "__", 2) != 0 && spec_check_unique(r, &r->values, target->text, target->loc))
        ARENA_PUSH(&r->cx->arena, r->spec->constants, r->spec->constant_count,
                   ((struct spec_const){target->text, target->loc, stmt->value}));
}

static void read_class_texts(struct reader *r, const struct node *node)
{
    struct names names = {0};
    int count, first = r->spec->class_count;
    struct class_text *texts = class_parse_all(r->cx, node->source, node->offset, node->length, &count);

    for (int i = 0; i < count; i++) {
        r->spec->partial |= !texts[i].good;
        for (int k = 0; k < texts[i].attribute_count && !texts[i].name && texts[i].good; k++)
            add_constant(r, texts[i].attributes[k]);
        if (!texts[i].name && texts[i].good)
            add_defs(r, NULL, texts[i].defs, texts[i].def_count, "functions", add_function_of_spec);
        if (texts[i].name && texts[i].good && spec_check_identifier(r, texts[i].name, texts[i].loc) &&
            is_new(r, &names, texts[i].name, texts[i].loc, "classes"))
            add_class(r, &texts[i]);
    }
    for (int i = first; i < r->spec->class_count; i++) { /* in their order, so that bases are whole */
        inherit(r, r->spec->classes[i]);
        r->spec->classes[i]->plain &= !r->spec->classes[i]->forward;
    }
}

void spec_read_classes(struct reader *r, const struct node *key, const struct node *node)
{
    struct names names = {0};

    if (node->kind == NODE_SCALAR && node->style == NODE_LITERAL && !node_is_empty(node)) {
        read_class_texts(r, node);
        return;
    }
    if (!spec_is_mapping(r, key, node, "a mapping of signatures to classes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct signature signature;

        if (!read_new_signature(r, node->keys[i], &names, "classes", &signature))
            continue;
        read_class(r, &signature, node->keys[i], node->items[i]);
    }
}

void spec_read_forward(struct reader *r, const struct node *key, const struct node *node)
{
    struct signature signature;

    if (!read_signature(r, key, &signature))
        return;
    if (r->spec->root.forward) {
        diag_error(r->cx, key->loc, "there are two 'forward'");
        diag_note(r->cx, r->spec->root.forward->loc, "the first one");
        return;
    }
    r->spec->root.forward = new_function(r, &signature);
    read_body(r, r->spec->root.forward, key, node);
}

static void read_maxima(struct reader *r, struct spec_function *entry, const struct node *key,
                        const struct node *node)
{
    if (!spec_is_mapping(r, key, node, "a mapping of sizes to maxima"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_size size = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        size.max = spec_read_expr(r, node->keys[i], node->items[i]);
        ARENA_PUSH(&r->cx->arena, entry->max, entry->max_count, size);
    }
}

static void read_entry(struct reader *r, const struct signature *signature, const struct node *key,
                       const struct node *node)
{
    struct spec_function *entry = new_function(r, signature);
    bool has_statements = false;

    ARENA_PUSH(&r->cx->arena, r->spec->entries, r->spec->entry_count, entry);
    if (node->kind != NODE_MAP) {
        entry->statements = spec_read_statements(r, key, node, &entry->count);
        return;
    }
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];

        if (strcmp(part->value, "max") == 0) {
            read_maxima(r, entry, part, node->items[i]);
        } else if (strcmp(part->value, "statements") == 0) {
            has_statements = true;
            entry->statements = spec_read_statements(r, part, node->items[i], &entry->count);
        } else {
            spec_unknown_key(r, part, "an entry", SPEC_IN_ENTRY);
        }
    }
    if (!has_statements && r->complete)
        diag_error(r->cx, signature->loc, "the entry '%s' has no 'statements'", entry->name);
}

void spec_read_entries(struct reader *r, const struct node *key, const struct node *node)
{
    struct names names = {0};

    if (!spec_is_mapping(r, key, node, "a mapping of signatures to statements"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct signature signature;

        if (!read_signature(r, node->keys[i], &signature))
            continue;
        if (strcmp(signature.name, "forward") == 0) {
            diag_error(r->cx, signature.loc, "the entry 'forward' has a key of its own");
            diag_hint(r->cx, "move it out of 'entries'");
            continue;
        }
        if (emitted_function(signature.name) || emitted_struct(signature.name)) {
            diag_error(r->cx, signature.loc,
                       "the entry '%s' would have the name of a function or struct of every model, %s_%s",
                       signature.name, r->spec->model, signature.name);
            continue;
        }
        if (spec_check_unique_in_c(r, &names, signature.name, signature.loc))
            read_entry(r, &signature, node->keys[i], node->items[i]);
    }
}
