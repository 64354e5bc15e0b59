/* eval_methods.c - methods that Python has: of lists, dicts, strings and modules, and functions of its name spaces. Tensors have
 * PyTorch's. */
#include "eval/evaluator.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* What a method is called on, and with what. */
struct method_call {
    struct eval *eval;
    const struct ev *self;
    const struct call *call;
};

/* A method's result; EV_BAD without a message: it does not take these arguments. */
typedef struct ev method(const struct method_call *m);

static struct loc place(const struct method_call *m)
{
    return m->call->loc;
}

static struct ev refused(const struct method_call *m)
{
    return ev_bad(place(m));
}

static struct ev done(const struct method_call *m, bool fine)
{
    return fine ? ev_none(place(m)) : refused(m);
}

static bool may_change(const struct method_call *m)
{
    return ev_may_change(m->eval, place(m), m->self);
}

/* The place that an argument gives, as Python counts it; `end` where there is none. False: it is no integer. */
static bool place_argument(const struct method_call *m, int argument, int end, int64_t *at)
{
    *at = end;
    if (m->call->count <= argument)
        return true;
    if (!ev_get_int(&m->call->args[argument], at))
        return false;
    *at += *at < 0 ? m->self->count : 0;
    return true;
}

/* ---- lists ---- */

static struct ev list_append(const struct method_call *m)
{
    return done(m, may_change(m) &&
                       ev_insert(m->eval, place(m), m->self, m->self->count, NULL, m->call->args[0]));
}

static struct ev list_extend(const struct method_call *m)
{
    struct ev *items;
    int count, at = m->self->count;

    if (!may_change(m) || !eval_through(m->eval, place(m), &m->call->args[0], &items, &count))
        return refused(m);
    for (int i = 0; i < count; i++)
        if (!ev_insert(m->eval, place(m), m->self, at++, NULL, items[i]))
            return refused(m);
    return ev_none(place(m));
}

static struct ev list_insert(const struct method_call *m)
{
    int64_t at;

    if (!place_argument(m, 0, 0, &at) || !may_change(m))
        return refused(m);
    at = at < 0 ? 0 : at > m->self->count ? m->self->count : at;
    return done(m, ev_insert(m->eval, place(m), m->self, (int)at, NULL, m->call->args[1]));
}

static struct ev list_pop(const struct method_call *m)
{
    int64_t at;
    struct ev item;

    if (!place_argument(m, 0, m->self->count - 1, &at) || !may_change(m))
        return refused(m);
    if (at < 0 || at >= m->self->count) {
        diag_error(m->eval->cx, place(m), "the list has no item to take: it has %d", m->self->count);
        return refused(m);
    }
    item = m->self->items[at];
    return ev_remove(m->eval, place(m), m->self, (int)at) ? item : refused(m);
}

static struct ev list_reverse(const struct method_call *m)
{
    struct ev items[1];

    for (int i = 0; i < m->self->count; i++) { /* the last goes in front, as often as there are */
        items[0] = m->self->cell ? m->self->cell->items[m->self->count - 1] : ev_none(place(m));
        if (!may_change(m) || !ev_remove(m->eval, place(m), m->self, m->self->count - 1) ||
            !ev_insert(m->eval, place(m), m->self, i, NULL, items[0]))
            return refused(m);
    }
    return ev_none(place(m));
}

static struct ev list_clear(const struct method_call *m)
{
    if (!may_change(m))
        return refused(m);
    while (m->self->cell->count > 0)
        if (!ev_remove(m->eval, place(m), m->self, m->self->cell->count - 1))
            return refused(m);
    return ev_none(place(m));
}

static struct ev list_copy(const struct method_call *m)
{
    return ev_list(m->eval, place(m), m->self->items, m->self->count);
}

static struct ev list_index(const struct method_call *m)
{
    for (int i = 0; i < m->self->count; i++)
        if (ev_equal(&m->self->items[i], &m->call->args[0]))
            return ev_int(m->eval, place(m), i);
    eval_raises(m->eval, "ValueError");
    diag_error(m->eval->cx, place(m), "%s is not in it", ev_text(m->eval, &m->call->args[0]));
    return refused(m);
}

static struct ev list_count(const struct method_call *m)
{
    int count = 0;

    for (int i = 0; i < m->self->count; i++)
        count += ev_equal(&m->self->items[i], &m->call->args[0]);
    return ev_int(m->eval, place(m), count);
}

static struct ev size_numel(const struct method_call *m)
{
    struct ev out = ev_int(m->eval, place(m), 1);

    for (int i = 0; i < m->self->count; i++)
        out = eval_binary(m->eval, place(m), OP_MUL, &out, &m->self->items[i]);
    return out;
}

/* ---- dicts and modules ---- */

/* Names, or values, or pairs of them, of a dict or module. */
static struct ev entries(const struct method_call *m, bool names, bool values)
{
    struct ev *items, *keys;
    int count;

    if (m->self->kind == EV_DICT) {
        items = m->self->items;
        count = m->self->count;
        keys = ARENA_ARRAY(&m->eval->cx->arena, count + 1, struct ev);
        for (int i = 0; i < count; i++)
            keys[i] = ev_string(place(m), m->self->fields[i]);
    } else {
        eval_module_items(m->eval, place(m), m->self->module, &items, &keys, &count);
    }
    if (names && values) {
        struct ev *pairs = ARENA_ARRAY(&m->eval->cx->arena, count + 1, struct ev);

        for (int i = 0; i < count; i++) {
            const struct ev pair[2] = {keys[i], items[i]};

            pairs[i] = ev_tuple(m->eval, place(m), pair, 2);
        }
        items = pairs;
    }
    return ev_tuple(m->eval, place(m), names && !values ? keys : items, count);
}

static struct ev entry_items(const struct method_call *m)
{
    return entries(m, true, true);
}

static struct ev entry_keys(const struct method_call *m)
{
    return entries(m, true, false);
}

static void add_below(struct eval *eval, struct loc loc, struct module *module, struct ev **items, int *count)
{
    if (module->faulty || module->is_slice)
        return;
    ARENA_PUSH(&eval->cx->arena, *items, *count, ev_module(loc, module));
    for (int i = 0; i < module->child_count; i++)
        add_below(eval, loc, module->children[i], items, count);
}

/* The module itself, and all below it. */
static struct ev module_modules(const struct method_call *m)
{
    struct ev *items = NULL;
    int count = 0;

    add_below(m->eval, place(m), m->self->module, &items, &count);
    return ev_tuple(m->eval, place(m), items, count);
}

static void add_parameters(const struct method_call *m, struct module *module, bool names, struct ev **items,
                           int *count)
{
    struct arena *arena = &m->eval->cx->arena;

    for (int i = 0; i < module->tensor_count && !module->faulty && !module->is_slice; i++) {
        struct module_tensor *tensor = module->tensors[i];
        struct ev pair[2];

        if (tensor->kind != MODULE_PARAMETER || tensor->none)
            continue;
        pair[0] = ev_string(place(m), relative_path(m->self->module, tensor->path));
        pair[1] = eval_tensor(m->eval, tensor, place(m));
        ARENA_PUSH(arena, *items, *count, names ? ev_tuple(m->eval, place(m), pair, 2) : pair[1]);
    }
    for (int i = 0; i < module->child_count; i++)
        add_parameters(m, module->children[i], names, items, count);
}

/* Those of the module and of all below it. */
static struct ev module_parameters(const struct method_call *m)
{
    struct ev *items = NULL;
    int count = 0;

    add_parameters(m, m->self->module, false, &items, &count);
    return ev_tuple(m->eval, place(m), items, count);
}

static struct ev module_named_parameters(const struct method_call *m)
{
    struct ev *items = NULL;
    int count = 0;

    add_parameters(m, m->self->module, true, &items, &count);
    return ev_tuple(m->eval, place(m), items, count);
}

static struct ev entry_values(const struct method_call *m)
{
    return entries(m, false, true);
}

/* The value of a key, or what stands for it otherwise. `take`: the key goes. */
static struct ev dict_find(const struct method_call *m, bool take)
{
    const struct ev *key = &m->call->args[0];
    int at = key->kind == EV_STRING ? ev_find_key(m->self, key->text) : -1;
    struct ev item;

    if (at < 0 && m->call->count == 1 && take) {
        eval_raises(m->eval, "KeyError");
        diag_error(m->eval->cx, key->loc, "the dict has no key %s", ev_text(m->eval, key));
        return refused(m);
    }
    if (at < 0)
        return m->call->count == 2 ? m->call->args[1] : ev_none(place(m));
    item = m->self->items[at];
    if (take && (!may_change(m) || !ev_remove(m->eval, place(m), m->self, at)))
        return refused(m);
    return ev_fresh(m->eval, item);
}

static struct ev dict_get(const struct method_call *m)
{
    return dict_find(m, false);
}

static struct ev dict_pop(const struct method_call *m)
{
    return dict_find(m, true);
}

static struct ev dict_update(const struct method_call *m)
{
    const struct ev *other = &m->call->args[0];

    if (other->kind != EV_DICT || !may_change(m))
        return refused(m);
    for (int i = 0; i < other->count; i++)
        if (!ev_set_key(m->eval, place(m), m->self, other->fields[i], other->items[i]))
            return refused(m);
    return ev_none(place(m));
}

static struct ev dict_copy(const struct method_call *m)
{
    return ev_dict(m->eval, place(m), m->self->fields, m->self->items, m->self->count);
}

/* ---- strings ---- */

static struct ev string_startswith(const struct method_call *m)
{
    const struct ev *part = &m->call->args[0];

    if (part->kind != EV_STRING)
        return refused(m);
    return ev_bool(place(m), strncmp(m->self->text, part->text, strlen(part->text)) == 0);
}

static struct ev string_endswith(const struct method_call *m)
{
    const struct ev *part = &m->call->args[0];
    const size_t length = strlen(m->self->text);

    if (part->kind != EV_STRING)
        return refused(m);
    return ev_bool(place(m), strlen(part->text) <= length &&
                                 strcmp(m->self->text + length - strlen(part->text), part->text) == 0);
}

/* Letters from `first` on become those from `to` on. */
static struct ev with_letters(const struct method_call *m, char first, char to)
{
    char *text = arena_string(&m->eval->cx->arena, m->self->text);

    for (char *c = text; *c; c++)
        if (*c >= first && *c <= first + 25)
            *c = (char)(*c - first + to);
    return ev_string(place(m), text);
}

static struct ev string_lower(const struct method_call *m)
{
    return with_letters(m, 'A', 'a');
}

static struct ev string_upper(const struct method_call *m)
{
    return with_letters(m, 'a', 'A');
}

static struct ev string_strip(const struct method_call *m)
{
    const char *blanks = " \t\r\n", *text = m->self->text + strspn(m->self->text, blanks);
    size_t length = strlen(text);

    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    return ev_string(place(m), arena_copy(&m->eval->cx->arena, text, length));
}

/* What stands between the separators. */
static struct ev string_split(const struct method_call *m)
{
    const struct ev *by = &m->call->args[0];
    struct ev *items = NULL;
    int count = 0;

    if (by->kind != EV_STRING || !by->text[0])
        return refused(m);
    for (const char *text = m->self->text, *end; text; text = end ? end + strlen(by->text) : NULL) {
        size_t length;

        end = strstr(text, by->text);
        length = end ? (size_t)(end - text) : strlen(text);
        ARENA_PUSH(&m->eval->cx->arena, items, count,
                   ev_string(place(m), arena_copy(&m->eval->cx->arena, text, length)));
    }
    return ev_list(m->eval, place(m), items, count);
}

static struct ev string_replace(const struct method_call *m)
{
    const struct ev *old = &m->call->args[0], *new = &m->call->args[1];
    struct text out = text_new(&m->eval->cx->arena);

    if (old->kind != EV_STRING || new->kind != EV_STRING || !old->text[0])
        return refused(m);
    for (const char *c = m->self->text; *c;) {
        const bool found = strncmp(c, old->text, strlen(old->text)) == 0;

        if (found)
            text_add(&out, new->text);
        else
            text_add_bytes(&out, c, 1);
        c += found ? strlen(old->text) : 1;
        if (out.length > EVAL_MAX_ITEMS)
            return refused(m);
    }
    return ev_string(place(m), out.data);
}

static struct ev string_join(const struct method_call *m)
{
    struct text out = text_new(&m->eval->cx->arena);
    struct ev *items;
    int count;

    if (!eval_through(m->eval, place(m), &m->call->args[0], &items, &count))
        return refused(m);
    for (int i = 0; i < count; i++) {
        if (items[i].kind != EV_STRING || out.length > EVAL_MAX_ITEMS)
            return refused(m);
        text_printf(&out, "%s%s", i > 0 ? m->self->text : "", items[i].text);
    }
    return eval_spend(m->eval, place(m), (int64_t)out.length / 16) ? ev_string(place(m), out.data)
                                                                   : refused(m);
}

/* ---- name spaces ---- */

static struct ev space_false(const struct method_call *m)
{
    return ev_bool(place(m), false);
}

static struct ev math_prod(const struct method_call *m)
{
    struct ev *items, out = ev_int(m->eval, place(m), 1);
    int count;

    if (!eval_through(m->eval, place(m), &m->call->args[0], &items, &count))
        return refused(m);
    for (int i = 0; i < count; i++)
        out = eval_binary(m->eval, place(m), OP_MUL, &out, &items[i]);
    return out;
}

/* math.f(x, y) of two known numbers, by C's function. */
static struct ev math_pair(const struct method_call *m, double (*call)(double, double))
{
    double x, y;

    if (!ev_get_number(&m->call->args[0], &x) || !ev_get_number(&m->call->args[1], &y))
        return refused(m);
    return ev_float(place(m), call(x, y));
}

static struct ev math_pow(const struct method_call *m)
{
    return math_pair(m, pow);
}

static struct ev math_fmod(const struct method_call *m)
{
    return math_pair(m, fmod);
}

static double log_to(double x, double base)
{
    return base == 2 ? log2(x) : base == 10 ? log10(x) : log(x) / log(base);
}

static struct ev math_log(const struct method_call *m)
{
    return m->call->count == 1 ? eval_math(m->eval, "log", m->call) : math_pair(m, log_to);
}

static struct ev math_isqrt(const struct method_call *m)
{
    int64_t n, root;

    if (!ev_get_int(&m->call->args[0], &n) || n < 0)
        return refused(m);
    root = (int64_t)sqrt((double)n);
    while (root > 0 && root > n / root)
        root--;
    while (root + 1 <= n / (root + 1))
        root++;
    return ev_int(m->eval, place(m), root);
}

static struct ev math_gcd(const struct method_call *m)
{
    int64_t a, b;

    if (!ev_get_int(&m->call->args[0], &a) || !ev_get_int(&m->call->args[1], &b) || a == INT64_MIN ||
        b == INT64_MIN)
        return refused(m);
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return ev_int(m->eval, place(m), a < 0 ? -a : a);
}

/* ---- which there are ---- */

/* What has methods. */
enum owner { OWNER_LIST, OWNER_TUPLE, OWNER_DICT, OWNER_STRING, OWNER_MODULE, OWNER_CONTAINER, OWNER_SPACE };

static const struct {
    enum owner owner;
    const char *space; /* of OWNER_SPACE */
    const char *name;
    int least, most; /* arguments */
    method *call;
} rows[] = {
    {OWNER_LIST, NULL, "append", 1, 1, list_append},
    {OWNER_LIST, NULL, "extend", 1, 1, list_extend},
    {OWNER_LIST, NULL, "insert", 2, 2, list_insert},
    {OWNER_LIST, NULL, "pop", 0, 1, list_pop},
    {OWNER_LIST, NULL, "reverse", 0, 0, list_reverse},
    {OWNER_LIST, NULL, "clear", 0, 0, list_clear},
    {OWNER_LIST, NULL, "copy", 0, 0, list_copy},
    {OWNER_LIST, NULL, "index", 1, 1, list_index},
    {OWNER_LIST, NULL, "count", 1, 1, list_count},
    {OWNER_TUPLE, NULL, "index", 1, 1, list_index},
    {OWNER_TUPLE, NULL, "count", 1, 1, list_count},
    {OWNER_TUPLE, NULL, "numel", 0, 0, size_numel},
    {OWNER_DICT, NULL, "items", 0, 0, entry_items},
    {OWNER_DICT, NULL, "keys", 0, 0, entry_keys},
    {OWNER_DICT, NULL, "values", 0, 0, entry_values},
    {OWNER_DICT, NULL, "get", 1, 2, dict_get},
    {OWNER_DICT, NULL, "pop", 1, 2, dict_pop},
    {OWNER_DICT, NULL, "update", 1, 1, dict_update},
    {OWNER_DICT, NULL, "copy", 0, 0, dict_copy},
    {OWNER_STRING, NULL, "startswith", 1, 1, string_startswith},
    {OWNER_STRING, NULL, "endswith", 1, 1, string_endswith},
    {OWNER_STRING, NULL, "lower", 0, 0, string_lower},
    {OWNER_STRING, NULL, "upper", 0, 0, string_upper},
    {OWNER_STRING, NULL, "strip", 0, 0, string_strip},
    {OWNER_STRING, NULL, "split", 1, 1, string_split},
    {OWNER_STRING, NULL, "replace", 2, 2, string_replace},
    {OWNER_STRING, NULL, "join", 1, 1, string_join},
    {OWNER_CONTAINER, NULL, "items", 0, 0, entry_items},
    {OWNER_CONTAINER, NULL, "keys", 0, 0, entry_keys},
    {OWNER_CONTAINER, NULL, "values", 0, 0, entry_values},
    {OWNER_MODULE, NULL, "children", 0, 0, entry_values},
    {OWNER_MODULE, NULL, "named_children", 0, 0, entry_items},
    {OWNER_MODULE, NULL, "modules", 0, 0, module_modules},
    {OWNER_MODULE, NULL, "parameters", 0, 0, module_parameters},
    {OWNER_MODULE, NULL, "named_parameters", 0, 0, module_named_parameters},
    {OWNER_SPACE, "math", "prod", 1, 1, math_prod},
    {OWNER_SPACE, "math", "pow", 2, 2, math_pow},
    {OWNER_SPACE, "math", "fmod", 2, 2, math_fmod},
    {OWNER_SPACE, "math", "log", 1, 2, math_log},
    {OWNER_SPACE, "math", "isqrt", 1, 1, math_isqrt},
    {OWNER_SPACE, "math", "gcd", 2, 2, math_gcd},
    {OWNER_SPACE, "torch.jit", "is_scripting", 0, 0, space_false},
    {OWNER_SPACE, "torch.jit", "is_tracing", 0, 0, space_false},
    {OWNER_SPACE, "torch.onnx", "is_in_onnx_export", 0, 0, space_false},
    {OWNER_SPACE, "torch.compiler", "is_compiling", 0, 0, space_false},
};

static bool owns(const struct ev *base, enum owner owner, const char *space)
{
    switch (owner) {
    case OWNER_LIST:
        return base->kind == EV_TUPLE && base->list;
    case OWNER_TUPLE:
        return base->kind == EV_TUPLE && !base->list;
    case OWNER_DICT:
        return base->kind == EV_DICT && !base->list;
    case OWNER_STRING:
        return base->kind == EV_STRING;
    case OWNER_CONTAINER: /* a class of the spec may stand for a ModuleDict of one's own */
        return ev_is_container(base) || (base->kind == EV_MODULE && base->module->spec_class);
    case OWNER_MODULE:
        return base->kind == EV_MODULE;
    case OWNER_SPACE:
        return base->kind == EV_SPACE && strcmp(base->text, space) == 0;
    }
    return false;
}

bool eval_call_builtin(struct eval *eval, const struct ev *value, const struct expr *attr,
                       const struct call *call, struct ev *out)
{
    struct ev base = *value;
    const int faults = diag_faults(eval->cx);

    if (base.kind == EV_SPACE && base.module) /* self.children() */
        base = ev_module(base.loc, base.module);
    if (base.kind == EV_MODULE && module_child(base.module, attr->text)) /* a child may be called `keys` */
        return false;
    for (int i = 0; i < COUNT(rows); i++) {
        bool fine = owns(&base, rows[i].owner, rows[i].space) && strcmp(rows[i].name, attr->text) == 0;

        if (!fine)
            continue;
        fine = call->count >= rows[i].least && call->count <= rows[i].most;
        for (int k = 0; k < call->count; k++)
            fine &= call->names[k] == NULL;
        *out = fine ? rows[i].call(&(struct method_call){eval, &base, call}) : ev_bad(call->loc);
        if (out->kind == EV_BAD && diag_faults(eval->cx) == faults && eval->spent <= EVAL_MAX_STEPS &&
            eval->walked <= EVAL_MAX_WALKED)
            diag_error(eval->cx, call->loc, "%s does not take these arguments", attr->text);
        return true;
    }
    if (base.kind == EV_CLASS && strcmp(attr->text, "with_args") == 0 && layer_find(base.text) &&
        layer_find(base.text)->factory) {
        *out = eval_with_args(eval, &base, call);
        return true;
    }
    if (base.kind == EV_SPACE && strcmp(base.text, "math") == 0) {
        *out = eval_math(eval, attr->text, call);
        return out->kind != EV_ELLIPSIS;
    }
    return false;
}
