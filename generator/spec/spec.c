/* spec.c - reads the keys of a spec into struct spec. The YAML under them is spec_yaml.c's business, what
 * stands in their values expr.c's; here is which keys there are, what kind each value has, and which names
 * go together.
 *
 * Every fault is said at its place and reading goes on behind it. What is wrong is left out or EXPR_BAD;
 * checks that need all of a spec (what is missing, what is unused) run at the end, and only over what was
 * read whole. */
#include "spec/spec.h"

#include <stddef.h>
#include <string.h>

#include "base/names.h"
#include "spec/emitted.h"
#include "spec/spec_extends.h"
#include "spec/spec_yaml.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

struct reader {
    struct cx *cx;
    struct spec *spec;
    bool complete; /* what is missing is really missing */
    bool has_version, has_model, has_inputs;
    bool inputs_good; /* all were understood: a size that none uses is unused */
    struct loc modules_loc, inputs_loc;
    struct names attributes;        /* of the root, in C: its modules and tensors */
    struct names values;            /* constants and sizes */
    struct names arguments;         /* in C: sizes and inputs */
    struct spec_patterns *patterns; /* that are read */
};

/* Names in C --------------------------------------------------------------------------------------------- */

/* Keywords of C and C++, and words that standard headers or compilers define as macros. */
static const char c_words[] =
    " alignas alignof and and_eq asm assert atomic_cancel atomic_commit atomic_noexcept auto bitand "
    "bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield "
    "compl complex concept const const_cast consteval constexpr constinit continue decltype default "
    "delete do double dynamic_cast else enum errno explicit export extern false float for friend "
    "goto i386 if imaginary inline int linux long mutable namespace new noexcept "
    "noreturn not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch synchronized template this thread_local throw true try typedef typeid "
    "typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor "
    "xor_eq NULL EOF I ";

/* The head of emitted structs, and macros of headers of Windows: avoided as members and arguments, but no reason to refuse
 * a model's name. */
static const char member_words[] = " base far huge interface near pascal small ";

/* `word` is one of those in `list`, which has a blank around each. */
static bool is_listed(struct cx *cx, const char *list, const char *word)
{
    return !strchr(word, ' ') && strstr(list, arena_format(&cx->arena, " %s ", word));
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *spec_c_name(struct cx *cx, const char *name)
{
    if (is_listed(cx, c_words, name) || is_listed(cx, member_words, name))
        return arena_format(&cx->arena, "%s_", name);

    char *result = arena_format(&cx->arena, "%s%s", is_letter(name[0]) || (name[0] & 0x80) ? "" : "_", name);

    for (char *c = result; *c; c++) {
        if (!is_letter(*c) && !is_digit(*c))
            *c = '_';
    }
    return result;
}

const char *spec_upper_c_name(struct cx *cx, const char *name)
{
    char *result = arena_string(&cx->arena, spec_c_name(cx, name));

    for (char *c = result; *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    }
    return result;
}

static bool is_identifier(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (; *name; name++) {
        if (!is_letter(*name) && !is_digit(*name))
            return false;
    }
    return true;
}

static bool check_identifier(struct reader *r, const char *name, struct loc loc)
{
    if (!is_identifier(name)) {
        diag_error(r->cx, loc,
                   "'%s' is not a name: a name has letters, digits and underscores, and no digit first",
                   name);
        return false;
    }
    if (expr_is_keyword(name)) {
        diag_error(r->cx, loc, "'%s' is a word of the language and cannot be a name", name);
        return false;
    }
    return true;
}

/* Adds `name` to names that must differ. */
static bool check_unique(struct reader *r, struct names *names, const char *name, struct loc loc)
{
    const struct name_entry *first = names_add(&r->cx->arena, names, name, name, loc);

    if (!first)
        return true;
    diag_error(r->cx, loc, "the name '%s' is taken", name);
    diag_note(r->cx, first->loc, "'%s' is defined here", name);
    return false;
}

/* Adds `name` to names that must differ in C, where some of them are in upper case. False where the very name is
 * taken; names that only collide in C are said too, and both can be read on. */
static bool check_unique_in_c(struct reader *r, struct names *names, const char *name, struct loc loc)
{
    const char *key = spec_upper_c_name(r->cx, name);
    const struct name_entry *first = names_add(&r->cx->arena, names, key, name, loc);

    if (!first)
        return true;
    bool same = strcmp(first->name, name) == 0;

    if (same)
        diag_error(r->cx, loc, "the name '%s' is taken", name);
    else
        diag_error(r->cx, loc, "'%s' and '%s' give one name in C, %s", first->name, name, key);
    diag_note(r->cx, first->loc, "'%s' is defined here", first->name);
    return !same;
}

/* Values ------------------------------------------------------------------------------------------------- */

/* `what` was expected at the key, something else was found. Says nothing about what is bad already. */
static void wrong_kind(struct reader *r, const struct node *key, const struct node *node, const char *what)
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

static struct expr *bad_expr(struct reader *r, const struct node *node)
{
    return new_expr(r, EXPR_BAD, node->loc, node->offset + node->length);
}

/* An expression; lists in lines become LIST as lists in brackets do. */
static struct expr *read_expr(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *expr;

    switch (node->kind) {
    case NODE_BAD:
        return bad_expr(r, node);
    case NODE_SCALAR:
        if (!node_is_empty(node))
            return expr_parse(r->cx, node->source, node->offset, node->length);
        break;
    case NODE_LIST:
        if (node->flow)
            return expr_parse(r->cx, node->source, node->offset, node->length);
        expr = new_expr(r, EXPR_LIST, node->loc, node->offset + node->length);
        for (int i = 0; i < node->count; i++) {
            struct expr *item = read_expr(r, key, node->items[i]);

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
    wrong_kind(r, key, node, "an expression");
    hint_colon(r, node);
    return bad_expr(r, node);
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

static struct stmt **read_statements(struct reader *r, const struct node *key, const struct node *node,
                                     int *count)
{
    struct stmt **list = NULL;

    bool many = node->kind == NODE_LIST;

    *count = 0;
    if (node->kind == NODE_MAP || node_is_empty(node) || (many && node->count == 0)) {
        wrong_kind(r, key, node, "statements");
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

/* Text of a scalar; NULL (said) for anything else. */
static const char *read_text(struct reader *r, const struct node *key, const struct node *node,
                             const char *what)
{
    if (node->kind == NODE_SCALAR && !node_is_empty(node))
        return node->value;
    wrong_kind(r, key, node, what);
    return NULL;
}

static bool read_bool(struct reader *r, const struct node *key, const struct node *node, bool otherwise)
{
    const char *text = read_text(r, key, node, "true or false");

    if (!text)
        return otherwise;
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)
        return true;
    if (strcmp(text, "false") == 0 || strcmp(text, "False") == 0)
        return false;
    diag_error(r->cx, node->loc, "expected true or false, found '%s'", text);
    return otherwise;
}

/* A scalar, or a list of scalars: calls `add` for each. */
static void read_one_or_many(struct reader *r, const struct node *key, const struct node *node,
                             const char *what,
                             void (*add)(struct reader *r, const char *text, struct loc loc))
{
    if (node->kind == NODE_LIST && node->count > 0) {
        for (int i = 0; i < node->count; i++) {
            const char *text = read_text(r, key, node->items[i], what);

            if (text)
                add(r, text, node->items[i]->loc);
        }
        return;
    }
    if (node->kind == NODE_SCALAR || node->kind == NODE_BAD) {
        const char *text = read_text(r, key, node, what);

        if (text)
            add(r, text, node->loc);
        return;
    }
    wrong_kind(r, key, node, what);
}

static bool is_mapping(struct reader *r, const struct node *key, const struct node *node, const char *what)
{
    if (node->kind == NODE_MAP)
        return true;
    wrong_kind(r, key, node, what);
    return false;
}

/* Types and devices -------------------------------------------------------------------------------------- */

static const struct dtype_row {
    const char *name, *own; /* PyTorch's own name; NULL: modc does not have it */
    bool model;             /* may be the dtype of a model */
} dtypes[] = {{"float64", "float64", true},
              {"float32", "float32", true},
              {"float16", "float16", true},
              {"bfloat16", "bfloat16", true},
              {"complex64", "complex64", true},
              {"complex128", "complex128", true},
              {"int64", "int64", false},
              {"int32", "int32", false},
              {"int16", "int16", false},
              {"int8", "int8", false},
              {"uint8", "uint8", false},
              {"bool", "bool", false},
              {"double", "float64", true},
              {"float", "float32", true},
              {"half", "float16", true},
              {"cfloat", "complex64", true},
              {"cdouble", "complex128", true},
              {"long", "int64", false},
              {"int", "int32", false},
              {"short", "int16", false},
              {"complex32", NULL, false},
              {"chalf", NULL, false},
              {"uint16", NULL, false},
              {"uint32", NULL, false},
              {"uint64", NULL, false},
              {"float8_e4m3fn", NULL, false},
              {"float8_e5m2", NULL, false},
              {"float8_e4m3fnuz", NULL, false},
              {"float8_e5m2fnuz", NULL, false},
              {"float8_e8m0fnu", NULL, false},
              {"float4_e2m1fn_x2", NULL, false},
              {"quint8", NULL, false},
              {"qint8", NULL, false},
              {"qint32", NULL, false},
              {"quint4x2", NULL, false},
              {"quint2x4", NULL, false},
              {"bits8", NULL, false},
              {"bits16", NULL, false}};

/* PyTorch's own name of a dtype, or NULL after an error. */
static const char *read_dtype(struct reader *r, const char *text, struct loc loc, bool model)
{
    static const char *const model_list = "float64, float32, float16, bfloat16, complex64, complex128";
    const char *const *known;
    int count;

    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 0; i < COUNT(dtypes); i++) {
        const struct dtype_row *row = &dtypes[i];

        if (strcmp(row->name, text) != 0)
            continue;
        if (row->own && (row->model || !model))
            return row->own;
        if (row->own)
            diag_error(r->cx, loc, "a model computes in %s, not in %s", model_list, text);
        else
            diag_error(r->cx, loc, "PyTorch has the dtype '%s', modc has %s%s", text, model_list,
                       model ? "" : ", int64, int32, int16, int8, uint8, bool");
        return NULL;
    }
    diag_error(r->cx, loc, "there is no dtype '%s'", text);
    known = spec_dtypes(r->cx, model, &count);
    diag_hint_nearest(r->cx, text, known, count);
    return NULL;
}

const char *const *spec_dtypes(struct cx *cx, bool model, int *count)
{
    const char **names = NULL;

    *count = 0;
    for (int i = 0; i < COUNT(dtypes); i++)
        if (dtypes[i].own && (dtypes[i].model || !model))
            ARENA_PUSH(&cx->arena, names, *count, dtypes[i].name);
    return names;
}

static void add_dtype(struct reader *r, const char *text, struct loc loc)
{
    struct spec *spec = r->spec;
    const char *dtype = read_dtype(r, text, loc, true);
    int locs = spec->dtype_count;

    if (!dtype)
        return;
    for (int i = 0; i < spec->dtype_count; i++) {
        if (strcmp(spec->dtypes[i], dtype) == 0) {
            diag_error(r->cx, loc, "the dtype %s is given twice", dtype);
            diag_note(r->cx, spec->dtype_locs[i], "first given here");
            return;
        }
    }
    ARENA_PUSH(&r->cx->arena, spec->dtype_locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, spec->dtypes, spec->dtype_count, dtype);
}

static const char *const devices[] = {"cpu", "cuda", "cpu:0", "cuda:0"};

const char *const *spec_devices(int *count)
{
    *count = COUNT(devices);
    return devices;
}

static void add_device(struct reader *r, const char *text, struct loc loc)
{
    static const char *const others[] = {"xpu",    "ipu",   "mtia",   "mps",    "meta",   "xla",
                                         "hpu",    "ve",    "hip",    "vulkan", "opencl", "metal",
                                         "opengl", "ideep", "mkldnn", "lazy"};
    struct spec *spec = r->spec;
    const char *device = strcmp(text, "cuda:0") == 0 ? "cuda" : strcmp(text, "cpu:0") == 0 ? "cpu" : text;
    int locs = spec->device_count;

    if (strcmp(device, "cpu") != 0 && strcmp(device, "cuda") != 0) {
        const char *pytorch = NULL;

        for (int i = 0; i < COUNT(others); i++) {
            size_t length = strlen(others[i]);

            if (strncmp(text, others[i], length) == 0 && (text[length] == 0 || text[length] == ':'))
                pytorch = others[i];
        }
        if (pytorch) {
            diag_error(r->cx, loc, "PyTorch has the device '%s', modc has cpu and cuda", pytorch);
        } else if (strncmp(text, "cuda:", 5) == 0) {
            diag_error(r->cx, loc, "the device '%s' is chosen when the model runs; a spec says cuda", text);
        } else {
            diag_error(r->cx, loc, "there is no device '%s': modc has cpu and cuda", text);
            if (strcmp(text, "gpu") == 0)
                diag_hint(r->cx, "did you mean 'cuda'?");
            else
                diag_hint_nearest(r->cx, text, devices, COUNT(devices));
        }
        return;
    }
    for (int i = 0; i < spec->device_count; i++) {
        if (strcmp(spec->devices[i], device) == 0) {
            diag_error(r->cx, loc, "the device %s is given twice", device);
            diag_note(r->cx, spec->device_locs[i], "first given here");
            return;
        }
    }
    ARENA_PUSH(&r->cx->arena, spec->device_locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, spec->devices, spec->device_count, device);
}

/* The dtype of an input or tensor as a NAME. */
static struct expr *read_dtype_expr(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "a dtype");
    const char *dtype = text ? read_dtype(r, text, node->loc, false) : NULL;
    struct expr *expr = bad_expr(r, node);

    if (dtype) {
        expr->kind = EXPR_NAME;
        expr->text = dtype;
    }
    return expr;
}

/* Keys with simple values -------------------------------------------------------------------------------- */

static void read_version(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "the format version, 1");

    r->has_version = true;
    if (text && strcmp(text, "1") != 0)
        diag_error(r->cx, node->loc, "the spec has format version %s, this modc reads version 1", text);
}

bool spec_check_model_name(struct cx *cx, const char *name, struct loc loc)
{
    struct reader r = {.cx = cx};
    const char *upper = spec_upper_c_name(cx, name);

    if (is_listed(cx, c_words, name))
        diag_error(cx, loc, "the model's name is the prefix of everything in C, where '%s' is a keyword",
                   name);
    else if (!check_identifier(&r, name, loc))
        return false;
    else if (strncmp(upper, "MODC", 4) == 0 && (upper[4] == 0 || upper[4] == '_'))
        diag_error(cx, loc, "the prefix '%.4s' belongs to the runtime", name);
    else if (name[0] == '_')
        diag_error(cx, loc, "the model's name is a prefix in C, where names with '_' first are reserved");
    else
        return true;
    return false;
}

static void read_model(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "the name of the model");

    r->has_model = true;
    if (text && spec_check_model_name(r->cx, text, node->loc)) {
        r->spec->model = text;
        r->spec->model_loc = node->loc;
    }
}

static void read_dtypes(struct reader *r, const struct node *key, const struct node *node)
{
    read_one_or_many(r, key, node, "a dtype or a list of them", add_dtype);
}

static void read_devices(struct reader *r, const struct node *key, const struct node *node)
{
    read_one_or_many(r, key, node, "a device or a list of them", add_device);
}

static void add_pattern(struct reader *r, const char *text, struct loc loc)
{
    struct spec_patterns *patterns = r->patterns;
    int locs = patterns->count;

    ARENA_PUSH(&r->cx->arena, patterns->locs, locs, loc);
    ARENA_PUSH(&r->cx->arena, patterns->list, patterns->count, text);
}

static void read_patterns(struct reader *r, const struct node *key, const struct node *node,
                          struct spec_patterns *patterns)
{
    r->patterns = patterns;
    read_one_or_many(r, key, node, "a pattern or a list of them", add_pattern);
}

static void read_freeze(struct reader *r, const struct node *key, const struct node *node)
{
    read_patterns(r, key, node, &r->spec->freeze);
}

static void read_eval(struct reader *r, const struct node *key, const struct node *node)
{
    read_patterns(r, key, node, &r->spec->eval);
}

static void read_tie(struct reader *r, const struct node *key, const struct node *node)
{
    if (!is_mapping(r, key, node, "a mapping of parameters to those whose tensor they share"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_tie tie = {
            .path = node->keys[i]->value, .loc = node->keys[i]->loc, .source_loc = node->items[i]->loc};

        tie.source = read_text(r, node->keys[i], node->items[i], "the key of a parameter, as embed.weight");
        if (tie.source)
            ARENA_PUSH(&r->cx->arena, r->spec->ties, r->spec->tie_count, tie);
    }
}

/* `off` is the word for it: "none" or "off". */
static enum spec_toggle read_toggle(struct reader *r, const struct node *key, const struct node *node,
                                    const char *off)
{
    static const struct {
        const char *text;
        bool on;
    } others[] = {{"off", false}, {"none", false}, {"false", false}, {"False", false},
                  {"no", false},  {"true", true},  {"True", true},   {"yes", true}};
    const char *text = read_text(r, key, node, arena_format(&r->cx->arena, "%s or on", off));

    if (!text)
        return SPEC_DEFAULT;
    if (strcmp(text, off) == 0)
        return SPEC_OFF;
    if (strcmp(text, "on") == 0)
        return SPEC_ON;
    diag_error(r->cx, node->loc, "'%s' is %s or on, found '%s'", key->value, off, text);
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(others[i].text, text) == 0)
            diag_hint(r->cx, "write %s", others[i].on ? "on" : off);
    return SPEC_DEFAULT;
}

static void read_hooks(struct reader *r, const struct node *key, const struct node *node)
{
    if (node->kind == NODE_MAP)
        diag_error(r->cx, key->loc, "hooks fixed in the spec are not supported yet by this version of modc");
    else
        r->spec->hooks = read_toggle(r, key, node, "none");
}

static void read_pack(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->pack = read_toggle(r, key, node, "none");
}

static void read_winograd(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->winograd = read_toggle(r, key, node, "off");
}

static void read_backward(struct reader *r, const struct node *key, const struct node *node)
{
    if (!read_bool(r, key, node, false))
        return;
    r->spec->backward = true;
    r->spec->backward_loc = node->loc;
}

static void read_denormals(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "keep or flush");

    if (!text)
        return;
    r->spec->flushes = strcmp(text, "flush") == 0;
    if (!r->spec->flushes && strcmp(text, "keep") != 0)
        diag_error(r->cx, node->loc, "'denormals' is keep or flush, found '%s'", text);
}

static void read_state_dict(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->state_dict = read_toggle(r, key, node, "none");
}

static bool is_dtype(const char *text)
{
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 0; i < COUNT(dtypes); i++)
        if (strcmp(dtypes[i].name, text) == 0)
            return true;
    return false;
}

static void read_storage(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "the dtype in which weights are packed, as bfloat16");

    if (!text)
        return;
    r->spec->storage_loc = node->loc;
    if (is_dtype(text)) {
        r->spec->storage = read_dtype(r, text, node->loc, false);
        return;
    }
    diag_error(r->cx, node->loc, "there is no dtype '%s'", text);
    diag_hint(r->cx, "weights are packed in bfloat16 or float16, or in the type that the model computes in");
}

static void read_threads(struct reader *r, const struct node *key, const struct node *node)
{
    enum { most = 1024 };

    if (!read_text(r, key, node, "a number of threads"))
        return;

    struct expr *expr = expr_parse(r->cx, node->source, node->offset, node->length);

    r->spec->threads_loc = node->loc;
    if (expr->kind == EXPR_INT && expr->integer >= 1 && expr->integer <= most)
        r->spec->threads = (int)expr->integer;
    else if (expr->kind != EXPR_BAD)
        diag_error(r->cx, node->loc, "expected a number of threads from 1 to %d, found '%s'", most,
                   node->value);
}

/* Constants, sizes, inputs ------------------------------------------------------------------------------- */

static void read_constants(struct reader *r, const struct node *key, const struct node *node)
{
    if (!is_mapping(r, key, node, "a mapping of names to values"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *item = node->items[i];
        struct spec_const constant = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        if (!check_identifier(r, constant.name, constant.loc) ||
            !check_unique(r, &r->values, constant.name, constant.loc))
            continue;
        if (item->kind == NODE_SCALAR && item->style == NODE_QUOTED &&
            (!item->length || is_identifier(item->value))) {
            constant.value = bad_expr(r, item); /* a word in quotes is a string, in YAML and in Python */
            constant.value->kind = EXPR_STRING;
            constant.value->text = item->value;
        } else {
            constant.value = read_expr(r, node->keys[i], item);
        }
        ARENA_PUSH(&r->cx->arena, r->spec->constants, r->spec->constant_count, constant);
    }
}

static void read_sizes(struct reader *r, const struct node *key, const struct node *node)
{
    if (!is_mapping(r, key, node, "a mapping of names to maxima"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_size size = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        if (!check_identifier(r, size.name, size.loc) || !check_unique(r, &r->values, size.name, size.loc) ||
            !check_unique_in_c(r, &r->arguments, size.name, size.loc))
            continue;
        size.max = read_expr(r, node->keys[i], node->items[i]);
        ARENA_PUSH(&r->cx->arena, r->spec->sizes, r->spec->size_count, size);
    }
}

static struct expr *read_shape(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *shape;

    if (node_is_empty(node)) {
        wrong_kind(r, key, node, "a shape, which is a list of dimensions");
        return bad_expr(r, node);
    }
    shape = read_expr(r, key, node);
    if (shape->kind == EXPR_LIST || shape->kind == EXPR_TUPLE || shape->kind == EXPR_BAD)
        return shape;
    diag_error(r->cx, node->loc, "expected a shape, which is a list of dimensions");
    diag_hint(r->cx, "write [%s], or [] for a single number", expr_source(r->cx, shape));
    return bad_expr(r, node);
}

/* `where`: one bit of those in spec.h. */
/* Returns what was meant, or "" where nothing is near. */
static const char *unknown_key(struct reader *r, const struct node *key, const char *what, unsigned where)
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

static struct spec_input read_input(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_input input = {.name = key->value, .loc = key->loc};

    if (node->kind != NODE_MAP) {
        input.shape = node_is_empty(node) ? NULL : read_shape(r, key, node);
        if (!input.shape)
            wrong_kind(r, key, node, "a shape, or {shape: ..., dtype: ...}");
    } else {
        for (int i = 0; i < node->count; i++) {
            const struct node *part = node->keys[i];

            if (strcmp(part->value, "shape") == 0)
                input.shape = read_shape(r, part, node->items[i]);
            else if (strcmp(part->value, "dtype") == 0)
                input.dtype = read_dtype_expr(r, part, node->items[i]);
            else if (strcmp(part->value, "requires_grad") == 0)
                input.constant = !read_bool(r, part, node->items[i], true);
            else
                unknown_key(r, part, "an input", SPEC_IN_INPUT);
        }
        if (!input.shape)
            diag_error(r->cx, key->loc, "the input '%s' has no shape", key->value);
    }
    if (!input.shape)
        input.shape = bad_expr(r, node);
    if (input.shape->kind == EXPR_BAD)
        r->inputs_good = false;
    return input;
}

static void read_inputs(struct reader *r, const struct node *key, const struct node *node)
{
    r->has_inputs = true;
    r->inputs_loc = key->loc;
    r->inputs_good = node->kind == NODE_MAP;
    if (!is_mapping(r, key, node, "a mapping of names to shapes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_input input = read_input(r, node->keys[i], node->items[i]);

        if (node->items[i]->kind == NODE_BAD)
            r->inputs_good = false;
        if (!check_identifier(r, input.name, input.loc) ||
            !check_unique_in_c(r, &r->arguments, input.name, input.loc)) {
            r->inputs_good = false;
            continue;
        }
        ARENA_PUSH(&r->cx->arena, r->spec->inputs, r->spec->input_count, input);
    }
    if (node->count == 0)
        diag_error(r->cx, key->loc, "'inputs' is empty: a model has at least one");
}

/* Modules ------------------------------------------------------------------------------------------------ */

/* The class whose modules are read: its arguments may hold modules. */
static bool is_argument(const struct spec_class *owner, const char *name)
{
    for (int i = 0; i < owner->arg_count; i++) {
        if (strcmp(owner->args[i].name, name) == 0)
            return true;
    }
    return false;
}

static const char *expr_kind_text(const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
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
        return;
    case EXPR_IF:
        if (expr->a->kind != EXPR_NONE)
            check_module_expr(r, owner, expr->a);
        if (expr->c->kind != EXPR_NONE)
            check_module_expr(r, owner, expr->c);
        break;
    case EXPR_REPEAT:
        check_module_expr(r, owner, expr->b);
        break;
    case EXPR_FOR:
        check_module_expr(r, owner, expr->a);
        break;
    case EXPR_NAME:
        if (is_argument(owner, expr->text))
            return;
        /* fall through */
    case EXPR_ATTR:
        diag_error(r->cx, expr->loc, "expected a call such as Linear(4, 2), found a name");
        diag_hint(r->cx, "write %s(), with its arguments in the brackets", expr_source(r->cx, expr));
        expr->kind = EXPR_BAD;
        return;
    default:
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
                       ? bad_expr(r, node)
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
        if (check_module_name(r, key) && check_unique_in_c(r, names, key->value, key->loc))
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
            wrong_kind(r, key, node, "a module");
        module = new_module(r, SPEC_MODULE_CALL, in_list ? NULL : key, node);
        module->text = "";
        module->call = bad_expr(r, node);
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

/* The value of `modules:`; its names are attributes of the class beside its tensors. */
static void read_class_modules(struct reader *r, struct spec_class *owner, struct names *names,
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
        wrong_kind(r, key, node, "a list, or a mapping of names to modules");
    }
}

/* What changes a module that is there -------------------------------------------------------------------- */

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
    if (!is_mapping(r, key, node, "a mapping of the paths of modules to modules"))
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

static void read_set(struct reader *r, const struct node *key, const struct node *node)
{
    read_changes(r, SPEC_SET, key, node);
}

static void read_add(struct reader *r, const struct node *key, const struct node *node)
{
    read_changes(r, SPEC_ADD, key, node);
}

/* Parameters, buffers, state ----------------------------------------------------------------------------- */

static const char *const tensor_sections[] = {
    [SPEC_PARAMETER] = "parameters", [SPEC_BUFFER] = "buffers", [SPEC_STATE] = "state"};
static const char *const tensor_kinds[] = {
    [SPEC_PARAMETER] = "a parameter", [SPEC_BUFFER] = "a buffer", [SPEC_STATE] = "a state"};

static struct expr *read_init(struct reader *r, const struct node *key, const struct node *node)
{
    struct expr *init = read_expr(r, key, node);
    const struct expr *function = init->kind == EXPR_CALL ? init->a : init;

    if (init->kind == EXPR_BAD || function->kind == EXPR_NAME || function->kind == EXPR_ATTR)
        return init;
    diag_error(r->cx, node->loc, "expected zeros, ones or a call of a function of torch.nn.init");
    diag_hint(r->cx, "as in normal_(mean=0.0, std=0.02); for given numbers write 'value'");
    return bad_expr(r, node);
}

static void read_tensor_key(struct reader *r, struct spec_tensor *tensor, const struct node *key,
                            const struct node *node)
{
    const char *name = key->value;

    if (strcmp(name, "shape") == 0)
        tensor->shape = read_shape(r, key, node);
    else if (strcmp(name, "init") == 0)
        tensor->init = read_init(r, key, node);
    else if (strcmp(name, "value") == 0)
        tensor->value = read_expr(r, key, node);
    else if (strcmp(name, "dtype") == 0)
        tensor->dtype = read_dtype_expr(r, key, node);
    else if (strcmp(name, "persistent") == 0 && tensor->kind == SPEC_BUFFER)
        tensor->persistent = read_bool(r, key, node, true);
    else if (strcmp(name, "requires_grad") == 0 && tensor->kind == SPEC_PARAMETER)
        tensor->requires_grad = read_bool(r, key, node, true);
    else if (strcmp(name, "persistent") == 0)
        diag_error(r->cx, key->loc, "'persistent' is for buffers: parameters always are, and state never is");
    else if (strcmp(name, "requires_grad") == 0)
        diag_error(r->cx, key->loc, "'requires_grad' is for parameters");
    else
        unknown_key(r, key, tensor_kinds[tensor->kind], SPEC_IN_TENSOR);
}

static void read_tensors(struct reader *r, struct spec_class *owner, struct names *names,
                         enum spec_tensor_kind kind, const struct node *section, const struct node *node)
{
    if (!is_mapping(r, section, node, "a mapping of names to {shape: ..., init: ...} or {value: ...}"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i], *item = node->items[i];
        struct spec_tensor *tensor = ARENA_NEW(&r->cx->arena, struct spec_tensor);

        tensor->kind = kind;
        tensor->name = key->value;
        tensor->loc = key->loc;
        tensor->persistent = kind != SPEC_STATE;
        tensor->requires_grad = kind == SPEC_PARAMETER;
        if (!check_identifier(r, tensor->name, tensor->loc) ||
            !check_unique_in_c(r, names, tensor->name, tensor->loc))
            continue;
        ARENA_PUSH(&r->cx->arena, owner->tensors, owner->tensor_count, tensor);
        if (item->kind != NODE_MAP) {
            wrong_kind(r, key, item, "{shape: ..., init: ...} or {value: ...}");
            if (item->kind == NODE_LIST && item->flow)
                diag_hint(r->cx, "write {shape: %.*s}", (int)item->length, item->source->text + item->offset);
            tensor->shape = bad_expr(r, item);
            continue;
        }

        int errors = diag_errors(r->cx);

        for (int k = 0; k < item->count; k++)
            read_tensor_key(r, tensor, item->keys[k], item->items[k]);

        bool clean = diag_errors(r->cx) == errors; /* else what is missing may be what was faulty */

        if (clean && !tensor->shape && !tensor->value)
            diag_error(r->cx, key->loc, "'%s' has neither 'shape' nor 'value'", key->value);
        else if (clean && tensor->shape && tensor->value)
            diag_error(r->cx, key->loc, "'%s' has both 'shape' and 'value': the value gives the shape",
                       key->value);
        else if (clean && tensor->init && tensor->value)
            diag_error(r->cx, key->loc, "'%s' has both 'init' and 'value'", key->value);
        if (diag_errors(r->cx) > errors)
            tensor->shape = bad_expr(r, item);
    }
}

/* Functions, classes, entries ---------------------------------------------------------------------------- */

static bool read_signature(struct reader *r, const struct node *key, struct signature *out)
{
    bool good = key->kind == NODE_SCALAR &&
                signature_parse(r->cx, key->source, key->offset, key->length, out) &&
                check_identifier(r, out->name, out->loc);

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

static void read_functions(struct reader *r, const struct node *key, const struct node *node)
{
    struct names names = {0};

    if (!is_mapping(r, key, node, "a mapping of signatures to statements"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct signature signature;

        if (!read_signature(r, node->keys[i], &signature))
            continue;

        const struct name_entry *first = names_add(&r->cx->arena, &names, signature.name, signature.name,
                                                   signature.loc);

        if (first) {
            diag_error(r->cx, signature.loc, "there are two functions '%s'", signature.name);
            diag_note(r->cx, first->loc, "the first one");
            continue;
        }
        if (!signature.has_args) {
            diag_error(r->cx, signature.loc, "the function '%s' has no list of arguments", signature.name);
            diag_hint(r->cx, "write '%s(x):', or '%s():' where it takes none", signature.name,
                      signature.name);
        }

        struct spec_function *function = new_function(r, &signature);

        function->statements = read_statements(r, node->keys[i], node->items[i], &function->count);
        ARENA_PUSH(&r->cx->arena, r->spec->functions, r->spec->function_count, function);
    }
}

static bool is_forward(const struct node *key)
{
    return strncmp(key->value, "forward", 7) == 0 &&
           (key->value[7] == 0 || key->value[7] == '(' || key->value[7] == ' ');
}

static void read_class_key(struct reader *r, struct spec_class *class, struct names *names,
                           const struct node *key, const struct node *node)
{
    struct signature signature;

    for (int kind = 0; kind < COUNT(tensor_sections); kind++) {
        if (strcmp(key->value, tensor_sections[kind]) == 0) {
            read_tensors(r, class, names, (enum spec_tensor_kind)kind, key, node);
            return;
        }
    }
    if (strcmp(key->value, "modules") == 0) {
        read_class_modules(r, class, names, key, node);
    } else if (strcmp(key->value, "extra_repr") == 0) {
        class->extra_repr = read_text(r, key, node, "text");
        class->extra_repr_loc = node->loc;
    } else if (is_forward(key)) {
        if (!read_signature(r, key, &signature))
            return;
        if (class->forward) {
            diag_error(r->cx, key->loc, "the class '%s' has two 'forward'", class->name);
            diag_note(r->cx, class->forward->loc, "the first one");
            return;
        }
        if (!signature.has_args) {
            diag_error(r->cx, key->loc, "the 'forward' of a class names its arguments");
            diag_hint(r->cx, "write 'forward(x):'");
        }
        class->forward = new_function(r, &signature);
        class->forward->statements = read_statements(r, key, node, &class->forward->count);
    } else {
        unknown_key(r, key, "a class", SPEC_IN_CLASS);
    }
}

static void read_class(struct reader *r, const struct signature *signature, const struct node *key,
                       const struct node *node)
{
    struct spec_class *class = ARENA_NEW(&r->cx->arena, struct spec_class);
    struct names names = {0};
    int errors = diag_errors(r->cx);

    class->name = signature->name;
    class->loc = signature->loc;
    class->args = signature->args;
    class->arg_count = signature->count;
    ARENA_PUSH(&r->cx->arena, r->spec->classes, r->spec->class_count, class);
    if (node->kind == NODE_LIST) {
        diag_error(r->cx, node->loc, "expected 'modules', 'forward' and the like, found a list");
        diag_hint(r->cx, "a class that is a list of modules has it under 'modules:'");
    }
    if (node->kind == NODE_LIST || !is_mapping(r, key, node, "'modules', 'forward' and the like"))
        return;
    for (int i = 0; i < node->count; i++)
        read_class_key(r, class, &names, node->keys[i], node->items[i]);
    if (class->forward || diag_errors(r->cx) > errors || !r->complete)
        return;
    if (!class->modules || class->modules->kind == SPEC_MODULE_MAP) {
        diag_error(r->cx, signature->loc, "the class '%s' has no 'forward'", class->name);
        diag_hint(r->cx, "only a class whose modules are a list needs none");
    }
}

static void read_classes(struct reader *r, const struct node *key, const struct node *node)
{
    struct names names = {0};

    if (!is_mapping(r, key, node, "a mapping of signatures to classes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct signature signature;

        if (!read_signature(r, node->keys[i], &signature))
            continue;

        const struct name_entry *first = names_add(&r->cx->arena, &names, signature.name, signature.name,
                                                   signature.loc);

        if (first) {
            diag_error(r->cx, signature.loc, "there are two classes '%s'", signature.name);
            diag_note(r->cx, first->loc, "the first one");
            continue;
        }
        read_class(r, &signature, node->keys[i], node->items[i]);
    }
}

static void read_forward(struct reader *r, const struct node *key, const struct node *node)
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
    r->spec->root.forward->statements = read_statements(r, key, node, &r->spec->root.forward->count);
}

static void read_maxima(struct reader *r, struct spec_function *entry, const struct node *key,
                        const struct node *node)
{
    if (!is_mapping(r, key, node, "a mapping of sizes to maxima"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_size size = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        size.max = read_expr(r, node->keys[i], node->items[i]);
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
        entry->statements = read_statements(r, key, node, &entry->count);
        return;
    }
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];

        if (strcmp(part->value, "max") == 0) {
            read_maxima(r, entry, part, node->items[i]);
        } else if (strcmp(part->value, "statements") == 0) {
            has_statements = true;
            entry->statements = read_statements(r, part, node->items[i], &entry->count);
        } else {
            unknown_key(r, part, "an entry", SPEC_IN_ENTRY);
        }
    }
    if (!has_statements && r->complete)
        diag_error(r->cx, signature->loc, "the entry '%s' has no 'statements'", entry->name);
}

static void read_entries(struct reader *r, const struct node *key, const struct node *node)
{
    struct names names = {0};

    if (!is_mapping(r, key, node, "a mapping of signatures to statements"))
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
        if (emitted_function(signature.name)) {
            diag_error(r->cx, signature.loc,
                       "the entry '%s' would have the name of a function of every model, %s_%s",
                       signature.name, r->spec->model, signature.name);
            continue;
        }
        if (check_unique_in_c(r, &names, signature.name, signature.loc))
            read_entry(r, &signature, node->keys[i], node->items[i]);
    }
}

/* Training ----------------------------------------------------------------------------------------------- */

static void read_checkpoint(struct reader *r, const struct node *key, const struct node *node)
{
    read_patterns(r, key, node, &r->spec->checkpoint);
}

static void read_update(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = read_text(r, key, node, "separate or fused");

    if (!text)
        return;
    r->spec->update_loc = node->loc;
    r->spec->fused = strcmp(text, "fused") == 0;
    if (!r->spec->fused && strcmp(text, "separate") != 0)
        diag_error(r->cx, node->loc, "'update' is separate or fused, found '%s'", text);
}

static void read_training_inputs(struct reader *r, struct spec_training *training, const struct node *key,
                                 const struct node *node)
{
    bool good = r->inputs_good;

    if (!is_mapping(r, key, node, "a mapping of names to shapes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_input input = read_input(r, node->keys[i], node->items[i]);

        if (check_identifier(r, input.name, input.loc) &&
            check_unique_in_c(r, &r->arguments, input.name, input.loc))
            ARENA_PUSH(&r->cx->arena, training->inputs, training->input_count, input);
    }
    r->inputs_good = good; /* what the model itself takes is as well understood as before */
}

/* A call alone is the short form; anything else is statements. */
static void read_loss(struct reader *r, struct spec_training *training, const struct node *key,
                      const struct node *node)
{
    training->loss_loc = node->loc;
    training->loss = read_statements(r, key, node, &training->loss_count);
    if (node->kind != NODE_SCALAR || training->loss_count != 1 || training->loss[0]->kind != STMT_EXPR)
        return;
    if (training->loss[0]->value->kind != EXPR_CALL && training->loss[0]->value->kind != EXPR_BAD) {
        diag_error(r->cx, node->loc, "expected a loss, as CrossEntropyLoss(), or statements that return one");
        return;
    }
    training->criterion = training->loss[0]->value;
    training->loss_count = 0;
    training->loss = NULL;
}

static void read_group(struct reader *r, struct spec_training *training, const struct node *key,
                       const struct node *node)
{
    struct spec_group group = {.loc = node->loc};

    if (!is_mapping(r, key, node, "a mapping, as {params: [\"*.bias\"], weight_decay: 0.0}"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];

        if (strcmp(part->value, "params") == 0) {
            read_patterns(r, part, node->items[i], &group.params);
        } else if (check_identifier(r, part->value, part->loc)) {
            int locs = group.count, values = group.count;

            ARENA_PUSH(&r->cx->arena, group.locs, locs, part->loc);
            ARENA_PUSH(&r->cx->arena, group.values, values, read_expr(r, part, node->items[i]));
            ARENA_PUSH(&r->cx->arena, group.names, group.count, part->value);
        }
    }
    if (group.params.count > 0)
        ARENA_PUSH(&r->cx->arena, training->groups, training->group_count, group);
    else if (!diag_said(r->cx, node->loc))
        diag_error(r->cx, node->loc, "the group has no 'params', the patterns of its parameters");
}

static void read_groups(struct reader *r, struct spec_training *training, const struct node *key,
                        const struct node *node)
{
    if (node->kind != NODE_LIST) {
        wrong_kind(r, key, node, "a list of groups");
        return;
    }
    for (int i = 0; i < node->count; i++)
        read_group(r, training, key, node->items[i]);
}

static void read_training(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_training *training = ARENA_NEW(&r->cx->arena, struct spec_training);
    const struct {
        const char *name;
        struct expr **value;
    } calls[] = {{"optimizer", &training->optimizer},
                 {"clip", &training->clip},
                 {"scheduler", &training->scheduler},
                 {"ema", &training->ema}};
    bool has_loss = false, has_optimizer = false;

    if (!is_mapping(r, key, node, "a mapping with loss and optimizer"))
        return;
    r->spec->training = training;
    training->loc = key->loc;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i], *item = node->items[i];
        int call = 0;

        while (call < COUNT(calls) && strcmp(calls[call].name, part->value) != 0)
            call++;
        if (call < COUNT(calls)) {
            *calls[call].value = read_expr(r, part, item);
        } else if (strcmp(part->value, "loss") == 0) {
            has_loss = true;
            read_loss(r, training, part, item);
        } else if (strcmp(part->value, "inputs") == 0) {
            read_training_inputs(r, training, part, item);
        } else if (strcmp(part->value, "groups") == 0) {
            read_groups(r, training, part, item);
        } else {
            const char *meant = unknown_key(r, part, "'training'", SPEC_IN_TRAINING);

            has_loss |= strcmp(meant, "loss") == 0;
            has_optimizer |= strcmp(meant, "optimizer") == 0;
        }
    }
    if (!r->complete)
        return;
    if (!has_loss)
        diag_error(r->cx, key->loc, "'training' has no 'loss'");
    if (!training->optimizer && !has_optimizer)
        diag_error(r->cx, key->loc, "'training' has no 'optimizer'");
}

/* Rollouts ----------------------------------------------------------------------------------------------- */

static bool is_in_mapping(const struct node *node, const char *name)
{
    for (int i = 0; i < node->count; i++)
        if (strcmp(node->keys[i]->value, name) == 0)
            return true;
    return false;
}

/* The parts of a dotted key are names, which are members of structs in C. */
static bool check_record_key(struct reader *r, const char *text, struct loc loc)
{
    for (;; text++) {
        size_t length = strcspn(text, ".");

        if (!check_identifier(r, arena_copy(&r->cx->arena, text, length), loc))
            return false;
        text += length;
        if (!*text)
            return true;
    }
}

/* A shape, or {shape, dtype}; what else is a mapping has records whose keys begin with this one. */
static void read_record(struct reader *r, const char *path, const struct node *key, const struct node *node)
{
    struct spec_record record = {.key = path, .loc = key->loc};

    if (node->kind == NODE_MAP && !is_in_mapping(node, "shape")) {
        for (int i = 0; i < node->count; i++)
            read_record(r, arena_format(&r->cx->arena, "%s.%s", path, node->keys[i]->value), node->keys[i],
                        node->items[i]);
        if (node->count == 0)
            diag_error(r->cx, key->loc, "'%s' records nothing", path);
        return;
    }
    if (!check_record_key(r, key->value, key->loc))
        return;
    if (node->kind == NODE_MAP) {
        for (int i = 0; i < node->count; i++) {
            const struct node *part = node->keys[i];

            if (strcmp(part->value, "shape") == 0)
                record.shape = read_shape(r, part, node->items[i]);
            else if (strcmp(part->value, "dtype") == 0)
                record.dtype = read_dtype_expr(r, part, node->items[i]);
            else
                unknown_key(r, part, "a record", SPEC_IN_RECORD);
        }
    } else if (node_is_empty(node)) {
        wrong_kind(r, key, node, "the shape of a step, as [4]; [] is one number");
    } else {
        record.shape = read_shape(r, key, node);
    }
    if (!record.shape)
        record.shape = bad_expr(r, node);
    ARENA_PUSH(&r->cx->arena, r->spec->rollout->records, r->spec->rollout->record_count, record);
}

/* next and next.reward cannot both be records. */
static void check_records(struct reader *r, const struct spec_rollout *rollout)
{
    struct names names = {0};

    for (int i = 0; i < rollout->record_count; i++) {
        const struct spec_record *record = &rollout->records[i];

        if (!check_unique_in_c(r, &names, emitted_flat(r->cx, record->key), record->loc))
            continue;
        for (int j = 0; j < rollout->record_count; j++) {
            size_t length = strlen(record->key);

            if (strncmp(record->key, rollout->records[j].key, length) == 0 &&
                rollout->records[j].key[length] == '.') {
                diag_error(r->cx, record->loc, "'%s' is a record, and has records below it", record->key);
                diag_note(r->cx, rollout->records[j].loc, "'%s' is one", rollout->records[j].key);
                break;
            }
        }
    }
}

const struct spec_rollout_setting spec_rollout_settings[] = {
    {"multi_step", offsetof(struct spec_rollout, multi_step), true},
    {"reward_keys", offsetof(struct spec_rollout, rewards), false},
    {"done_key", offsetof(struct spec_rollout, done), true},
    {"mask_key", offsetof(struct spec_rollout, mask), true},
    {"info", offsetof(struct spec_rollout, info), false},
    {NULL, 0, false},
};

const struct spec_patterns *spec_rollout_keys(const struct spec_rollout *rollout,
                                              const struct spec_rollout_setting *setting)
{
    return (const struct spec_patterns *)(const void *)((const char *)rollout + setting->at);
}

/* What is no shape, behind a word that is nearly a setting. */
static bool is_setting_misspelt(struct reader *r, const struct node *key, const struct node *node)
{
    const char **known = NULL;
    int count = 0;

    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++)
        ARENA_PUSH(&r->cx->arena, known, count, setting->name);
    if (node->kind != NODE_SCALAR || node_is_empty(node) || strchr("[(", node->value[0]) ||
        !diag_nearest(key->value, known, count))
        return false;
    diag_error(r->cx, key->loc, "'rollout' has no key '%s', and '%s' is no shape of a record", key->value,
               node->value);
    diag_hint_nearest(r->cx, key->value, known, count);
    return true;
}

static void read_rollout(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_rollout *rollout = ARENA_NEW(&r->cx->arena, struct spec_rollout);

    if (!is_mapping(r, key, node, "a mapping of keys to the shapes of a step"))
        return;
    rollout->loc = key->loc;
    r->spec->rollout = rollout;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];
        const struct spec_rollout_setting *setting = spec_rollout_settings;

        while (setting->name && strcmp(setting->name, part->value) != 0)
            setting++;
        if (!setting->name) {
            if (!is_setting_misspelt(r, part, node->items[i]))
                read_record(r, part->value, part, node->items[i]);
        } else if (!setting->one || read_text(r, part, node->items[i], "one key")) {
            r->patterns = (struct spec_patterns *)(void *)((char *)rollout + setting->at);
            read_one_or_many(r, part, node->items[i], "a key or a list of them", add_pattern);
        }
    }
    check_records(r, rollout);
    if (rollout->record_count == 0 && r->complete && !diag_said(r->cx, key->loc))
        diag_error(r->cx, key->loc, "'rollout' records nothing");
}

/* The keys of a spec ------------------------------------------------------------------------------------- */

static void read_modules(struct reader *r, const struct node *key, const struct node *node)
{
    r->modules_loc = key->loc;
    read_class_modules(r, &r->spec->root, &r->attributes, key, node);
}

static void read_parameters(struct reader *r, const struct node *key, const struct node *node)
{
    read_tensors(r, &r->spec->root, &r->attributes, SPEC_PARAMETER, key, node);
}

static void read_buffers(struct reader *r, const struct node *key, const struct node *node)
{
    read_tensors(r, &r->spec->root, &r->attributes, SPEC_BUFFER, key, node);
}

static void read_state(struct reader *r, const struct node *key, const struct node *node)
{
    read_tensors(r, &r->spec->root, &r->attributes, SPEC_STATE, key, node);
}

/* Each key with what one should know of it. */
static const struct {
    struct spec_key key;
    void (*read)(struct reader *r, const struct node *key,
                 const struct node *node); /* of a spec; NULL: not yet */
} keys[] = {
    {{SPEC_IN_MODEL, "modc", SPEC_VALUE_VERSION, "the version of the spec's format", "1"}, read_version},
    {{SPEC_IN_MODEL, "model", SPEC_VALUE_NAME, "the model's name, the prefix of everything in C", "policy"},
     read_model},
    {{SPEC_IN_MODEL, "dtype", SPEC_VALUE_DTYPES,
      "the type that the model computes in; a list gives a variant for each", "float32"},
     read_dtypes},
    {{SPEC_IN_MODEL, "device", SPEC_VALUE_DEVICES, "where the model runs; a list gives a variant for each",
      "cpu"},
     read_devices},
    {{SPEC_IN_MODEL, "constants", SPEC_VALUE_CONSTANTS, "names for values; each may use the ones above it",
      "{hidden: 64}"},
     read_constants},
    {{SPEC_IN_MODEL, "sizes", SPEC_VALUE_SIZES, "dimensions that are chosen at run time, with their maximum",
      "{batch: 256}"},
     read_sizes},
    {{SPEC_IN_MODEL, "inputs", SPEC_VALUE_INPUTS, "the model's inputs, in the order of the arguments in C",
      "{observation: [batch, 4]}"},
     read_inputs},
    {{SPEC_IN_MODEL, "functions", SPEC_VALUE_FUNCTIONS,
      "functions of statements, inlined where they are called", "{double(x): return 2 * x}"},
     read_functions},
    {{SPEC_IN_MODEL, "classes", SPEC_VALUE_CLASSES,
      "modules of your own, named where a layer's name may stand",
      "{'Block(dim)': {modules: ['Linear(dim, dim)', ReLU()]}}"},
     read_classes},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "modules", SPEC_VALUE_MODULES,
      "the children: a list is a Sequential, a mapping names them", "{fc: 'Linear(4, 2)'}"},
     read_modules},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "parameters", SPEC_VALUE_PARAMETERS,
      "tensors that are trained; keys of the state_dict", "{scale: {shape: [4], init: ones}}"},
     read_parameters},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "buffers", SPEC_VALUE_BUFFERS,
      "tensors that are not trained; keys of the state_dict", "{mean: {shape: [4]}}"},
     read_buffers},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "state", SPEC_VALUE_STATES,
      "tensors of a context: hidden states, caches, counters; never in the state_dict",
      "{seen: {shape: [], dtype: int64}}"},
     read_state},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "forward", SPEC_VALUE_STATEMENTS,
      "what a call computes; `forward(x, y)` names the arguments, which a class always does",
      "[return fc(x)]"},
     read_forward},
    {{SPEC_IN_MODEL, "entries", SPEC_VALUE_ENTRIES, "further functions over the same modules",
      "{act(observation): {max: {batch: 1}, statements: [return actor(observation)]}}"},
     read_entries},
    {{SPEC_IN_MODEL, "tie", SPEC_VALUE_TIES, "parameters that are another one",
      "{lm_head.weight: embed.weight}"},
     read_tie},
    {{SPEC_IN_MODEL, "freeze", SPEC_VALUE_PATTERNS, "parameters that are not trained", "[trunk.*]"},
     read_freeze},
    {{SPEC_IN_MODEL, "eval", SPEC_VALUE_PATTERNS, "modules that stay in evaluation mode", "[backbone.*]"},
     read_eval},
    {{SPEC_IN_MODEL, "hooks", SPEC_VALUE_TOGGLE,
      "none: modules have no hooks, and nothing is emitted for them", "none"},
     read_hooks},
    {{SPEC_IN_MODEL, "pack", SPEC_VALUE_TOGGLE,
      "none: there is no packed block, kernels read weights in PyTorch's layout", "none"},
     read_pack},
    {{SPEC_IN_MODEL, "state_dict", SPEC_VALUE_TOGGLE, "none: what only saving and training need is left out",
      "none"},
     read_state_dict},
    {{SPEC_IN_MODEL, "storage", SPEC_VALUE_STORAGE,
      "the type in which the weights of products are packed, while the model computes in float32",
      "bfloat16"},
     read_storage},
    {{SPEC_IN_MODEL, "threads", SPEC_VALUE_WHOLE, "how many threads a call may use", "1"}, read_threads},
    {{SPEC_IN_MODEL, "extends", SPEC_VALUE_TEXT, "the spec that this one starts from", "base.yaml"},
     NULL}, /* spec_extends.c took it */
    {{SPEC_IN_MODEL, "set", SPEC_VALUE_REPLACED, "submodules to replace, by path; they must exist",
      "{trunk.2: 'Linear(64, 128)'}"},
     read_set},
    {{SPEC_IN_MODEL, "add", SPEC_VALUE_REPLACED, "modules to add behind the children of another, by path",
      "{trunk.4: ReLU()}"},
     read_add},
    {{SPEC_IN_MODEL, "training", SPEC_VALUE_TRAINING, "loss, optimizer and what belongs to them",
      "{loss: CrossEntropyLoss(), optimizer: AdamW(lr=3e-4)}"},
     read_training},
    {{SPEC_IN_MODEL, "backward", SPEC_VALUE_BOOL, "true: gradients, without a loss", "true"}, read_backward},
    {{SPEC_IN_MODEL, "checkpoint", SPEC_VALUE_PATTERNS,
      "modules that backward computes again instead of saving values", "[block.*]"},
     read_checkpoint},
    {{SPEC_IN_MODEL, "update", SPEC_VALUE_UPDATE,
      "fused: a parameter is updated as soon as its gradient is complete", "fused"},
     read_update},
    {{SPEC_IN_MODEL, "taps", SPEC_VALUE_LATER, "modules whose outputs are outputs of the model too",
      "[trunk.1]"},
     NULL},
    {{SPEC_IN_MODEL, "rollout", SPEC_VALUE_ROLLOUT,
      "what a collector of experience records of each step, and how n-step returns are made of it",
      "{observation: [4], next: {observation: [4], reward: [], done: []}}"},
     read_rollout},
    {{SPEC_IN_MODEL, "generation", SPEC_VALUE_LATER, "makes a text generator of a model of tokens",
      "{input: tokens}"},
     NULL},
    {{SPEC_IN_MODEL, "winograd", SPEC_VALUE_SWITCH,
      "off: convolutions without Winograd's transform, which is faster and has some ten times the rounding error",
      "off"},
     read_winograd},
    {{SPEC_IN_MODEL, "denormals", SPEC_VALUE_DENORMALS,
      "flush: numbers below the least normal one are 0 while a call computes, which many processors do faster",
      "flush"},
     read_denormals},

    {{SPEC_IN_CLASS, "extra_repr", SPEC_VALUE_TEXT, "what print(model) shows behind the class", "dim=64"},
     NULL},
    {{SPEC_IN_INPUT | SPEC_IN_TENSOR, "shape", SPEC_VALUE_SHAPE, "its dimensions", "[batch, 4]"}, NULL},
    {{SPEC_IN_TENSOR, "init", SPEC_VALUE_INIT, "how it starts: a function of torch.nn.init",
      "normal_(std=0.02)"},
     NULL},
    {{SPEC_IN_TENSOR, "value", SPEC_VALUE_EXPRESSION, "what it starts with, instead of shape and init",
      "arange(0, 8) / 8"},
     NULL},
    {{SPEC_IN_INPUT | SPEC_IN_TENSOR, "dtype", SPEC_VALUE_DTYPE, "its type; else the model's", "int64"},
     NULL},
    {{SPEC_IN_BUFFER, "persistent", SPEC_VALUE_BOOL, "false: it is no key of the state_dict", "false"}, NULL},
    {{SPEC_IN_PARAMETER, "requires_grad", SPEC_VALUE_BOOL, "false: it is not trained", "false"}, NULL},
    {{SPEC_IN_INPUT, "requires_grad", SPEC_VALUE_BOOL, "false: backward makes no gradient of it", "false"},
     NULL},
    {{SPEC_IN_ENTRY, "max", SPEC_VALUE_SIZES, "lower maxima of sizes", "{batch: 1}"}, NULL},
    {{SPEC_IN_ENTRY, "statements", SPEC_VALUE_STATEMENTS, "what it computes", "[return actor(observation)]"},
     NULL},
    {{SPEC_IN_TRAINING, "inputs", SPEC_VALUE_INPUTS, "what only the loss takes", "{advantage: [batch]}"},
     NULL},
    {{SPEC_IN_TRAINING, "loss", SPEC_VALUE_LOSS,
      "statements over inputs and what the model returns; or, for a model of one output, a loss of it and an input `target`",
      "CrossEntropyLoss()"},
     NULL},
    {{SPEC_IN_TRAINING, "optimizer", SPEC_VALUE_OPTIMIZER, "of torch.optim, without its parameters",
      "AdamW(lr=3e-4)"},
     NULL},
    {{SPEC_IN_TRAINING, "groups", SPEC_VALUE_GROUPS, "parameters for which the optimizer has other arguments",
      "[{params: '*.bias', weight_decay: 0.0}]"},
     NULL},
    {{SPEC_IN_TRAINING, "clip", SPEC_VALUE_CLIP, "how gradients are clipped: a function of torch.nn.utils",
      "clip_grad_norm_(1.0)"},
     NULL},
    {{SPEC_IN_TRAINING, "scheduler", SPEC_VALUE_SCHEDULER,
      "of torch.optim.lr_scheduler, without its optimizer", "CosineAnnealingLR(T_max=1000)"},
     NULL},
    {{SPEC_IN_TRAINING, "ema", SPEC_VALUE_EXPRESSION,
      "an exponential moving average of the parameters is kept, with this decay", "0.999"},
     NULL},
    {{SPEC_IN_GROUP, "params", SPEC_VALUE_PATTERNS, "its parameters", "['*.bias']"}, NULL},
    {{SPEC_IN_ROLLOUT, "multi_step", SPEC_VALUE_TEXT,
      "the MultiStep module whose settings count; else the only one", "n_step"},
     NULL},
    {{SPEC_IN_ROLLOUT, "reward_keys", SPEC_VALUE_KEYS, "the records that are summed; else next.reward",
      "[next.reward]"},
     NULL},
    {{SPEC_IN_ROLLOUT, "done_key", SPEC_VALUE_KEY, "the record that ends episodes; else next.done",
      "next.done"},
     NULL},
    {{SPEC_IN_ROLLOUT, "mask_key", SPEC_VALUE_KEY,
      "the record that says which steps count; else collector.mask, where it is recorded", "collector.mask"},
     NULL},
    {{SPEC_IN_ROLLOUT, "info", SPEC_VALUE_INFO,
      "what else is wanted of each step: where its next records come from, and how that step ended",
      "[terminated_at_gather_index]"},
     NULL},
    {{SPEC_IN_RECORD, "shape", SPEC_VALUE_SHAPE, "the dimensions of one step", "[4]"}, NULL},
    {{SPEC_IN_RECORD, "dtype", SPEC_VALUE_DTYPE,
      "its type; else bool of masks and of what ends an episode, or the model's", "int64"},
     NULL},
};

const struct spec_key *spec_key(int index)
{
    return index < COUNT(keys) ? &keys[index].key : NULL;
}

static void read_key(struct reader *r, const struct node *key, const struct node *node)
{
    for (int i = 0; i < COUNT(keys); i++) {
        if (!(keys[i].key.where & SPEC_IN_MODEL) || strcmp(keys[i].key.name, key->value) != 0)
            continue;
        if (keys[i].read)
            keys[i].read(r, key, node);
        else
            diag_error(r->cx, key->loc, "'%s' is not supported yet by this version of modc", key->value);
        return;
    }
    if (is_forward(key)) {
        read_forward(r, key, node);
    } else {
        const char *meant = unknown_key(r, key, "a spec", SPEC_IN_MODEL);

        r->has_version |= strcmp(meant, "modc") == 0;
        r->has_model |= strcmp(meant, "model") == 0;
        r->has_inputs |= strcmp(meant, "inputs") == 0;
        r->spec->partial |= meant[0] || node->kind != NODE_SCALAR; /* a misspelt section of names */
    }
}

/* What needs all of a spec ------------------------------------------------------------------------------- */

/* Adds the names in a shape. */
static void add_used(struct reader *r, struct names *used, const struct expr *expr)
{
    if (!expr)
        return;
    if (expr->kind == EXPR_NAME)
        names_add(&r->cx->arena, used, expr->text, expr->text, expr->loc);
    for (int i = 0; expr->items && i < expr->count; i++)
        add_used(r, used, expr->items[i]);
    add_used(r, used, expr->a);
    add_used(r, used, expr->b);
    add_used(r, used, expr->c);
}

static void check_sizes(struct reader *r)
{
    const struct spec *spec = r->spec;
    struct names used = {0};

    for (int i = 0; i < spec->input_count; i++)
        add_used(r, &used, spec->inputs[i].shape);
    for (int i = 0; i < spec->size_count; i++) {
        if (spec->sizes[i].max->kind != EXPR_BAD && !names_find(&used, spec->sizes[i].name))
            diag_error(r->cx, spec->sizes[i].loc,
                       "no input has the size '%s' in its shape, so it would have no value",
                       spec->sizes[i].name);
    }
}

/* Names of inputs or of sizes: to look up, and to find near spellings. */
struct known {
    struct names names;
    const char **list;
    int count;
};

static void add_known(struct reader *r, struct known *known, const char *name, struct loc loc)
{
    names_add(&r->cx->arena, &known->names, name, name, loc);
    ARENA_PUSH(&r->cx->arena, known->list, known->count, name);
}

/* An entry, or `forward` with a list of arguments: they are inputs of the model. */
static void check_entry(struct reader *r, const struct spec_function *entry, const struct known *inputs,
                        const struct known *sizes)
{
    for (int i = 0; i < entry->arg_count && r->inputs_good; i++) {
        const struct signature_arg *arg = &entry->args[i];

        if (!names_find(&inputs->names, arg->name)) {
            diag_error(r->cx, arg->loc, "'%s' is no input of the model", arg->name);
            diag_hint_nearest(r->cx, arg->name, inputs->list, inputs->count);
        } else if (arg->value) {
            diag_error(r->cx, arg->loc, "'%s' has a default, but the inputs of a model are always given",
                       arg->name);
        }
    }
    for (int i = 0; i < entry->max_count; i++) {
        if (names_find(&sizes->names, entry->max[i].name))
            continue;
        diag_error(r->cx, entry->max[i].loc, "'%s' is no size of the model", entry->max[i].name);
        diag_hint_nearest(r->cx, entry->max[i].name, sizes->list, sizes->count);
    }
}

/* Each variant of an entry has a function of its own: act_eval, act_train_fenced. */
static void check_variants(struct reader *r, const struct spec_function *entry, const char *other)
{
    size_t length = strlen(other);

    for (int i = 0; i < COUNT(emitted_variants); i++)
        if (strncmp(entry->name, other, length) == 0 &&
            strcmp(entry->name + length, emitted_variants[i]) == 0)
            diag_error(r->cx, entry->loc,
                       "the entry '%s' would have the name of a function of the entry '%s', %s_%s",
                       entry->name, other, r->spec->model, entry->name);
}

static void check_forward(struct reader *r)
{
    const struct spec *spec = r->spec;
    const struct spec_module *modules = spec->root.modules;

    if (spec->root.forward || spec->partial)
        return;
    if (!modules) {
        diag_error(r->cx, r->modules_loc, "the spec has neither 'modules' nor 'forward'");
        diag_hint(r->cx, "write a list of modules, or statements: 'forward: return x'");
    } else if (modules->kind == SPEC_MODULE_MAP) {
        diag_error(r->cx, r->modules_loc, "the spec has no 'forward'");
        diag_hint(r->cx, "only a model whose 'modules' is a list needs none");
    } else if (r->inputs_good && spec->input_count > 1) {
        diag_error(r->cx, r->inputs_loc, "the spec has %d inputs, but no 'forward'", spec->input_count);
        diag_hint(r->cx, "a list of modules takes one input; with more of them write 'forward'");
    }
}

static void check_whole(struct reader *r)
{
    const struct spec *spec = r->spec;
    struct loc start = loc_at(spec->source, 0, 1);
    struct known inputs = {0}, sizes = {0};

    if (r->complete) {
        if (!r->has_version) {
            diag_error(r->cx, start, "the spec has no 'modc', the version of its format");
            diag_hint(r->cx, "begin it with 'modc: 1'");
        }
        if (!r->has_model) {
            diag_error(r->cx, start, "the spec has no 'model', the name of the model");
            diag_hint(r->cx, "write 'model: NAME' behind 'modc: 1'");
        }
        if (!r->has_inputs) {
            diag_error(r->cx, start, "the spec has no 'inputs'");
            diag_hint(r->cx, "write 'inputs: {x: [4]}' with the names and shapes of the inputs");
        }
        check_forward(r);
        if (r->inputs_good)
            check_sizes(r);
    }
    if (spec->training && spec->training->criterion &&
        !check_unique_in_c(r, &r->arguments, "target", spec->training->loss_loc))
        diag_hint(r->cx, "a loss in the short form has an input 'target'; write it as statements");
    for (int i = 0; i < spec->input_count; i++)
        add_known(r, &inputs, spec->inputs[i].name, spec->inputs[i].loc);
    for (int i = 0; i < spec->size_count; i++)
        add_known(r, &sizes, spec->sizes[i].name, spec->sizes[i].loc);
    if (spec->root.forward)
        check_entry(r, spec->root.forward, &inputs, &sizes);
    for (int i = 0; i < spec->entry_count; i++) {
        check_entry(r, spec->entries[i], &inputs, &sizes);
        check_variants(r, spec->entries[i], "forward");
        for (int j = 0; j < spec->entry_count; j++)
            check_variants(r, spec->entries[i], spec->entries[j]->name);
    }
}

struct spec *spec_read(struct cx *cx, const struct source *source)
{
    struct spec *spec = ARENA_NEW(&cx->arena, struct spec);

    cx->spec_room = EXPR_MAX_COUNT + 1;

    struct extended extended = spec_extend(cx, source);
    struct reader reader = {.cx = cx, .spec = spec, .complete = extended.complete}, *r = &reader;
    const struct node *root = extended.root;

    spec->source = source;
    spec->sources = extended.sources;
    spec->source_count = extended.source_count;
    spec->unreadable = extended.unreadable;
    spec->model = "model";
    spec->model_loc = r->modules_loc = r->inputs_loc = loc_at(source, 0, 1);
    spec->threads = 1;
    spec->partial = !root || !r->complete;
    if (root) {
        for (int i = 0; i < root->count; i++)
            read_key(r, root->keys[i], root->items[i]);
        check_whole(r);
    }
    if (spec->dtype_count == 0) {
        int locs = 0;

        ARENA_PUSH(&cx->arena, spec->dtype_locs, locs, spec->model_loc);
        ARENA_PUSH(&cx->arena, spec->dtypes, spec->dtype_count, "float32");
    }
    if (spec->device_count == 0) {
        int locs = 0;

        ARENA_PUSH(&cx->arena, spec->device_locs, locs, spec->model_loc);
        ARENA_PUSH(&cx->arena, spec->devices, spec->device_count, "cpu");
    }
    spec->root.name = spec->model;
    spec->root.loc = spec->model_loc;
    cx->spec_room = 0;
    return spec;
}
