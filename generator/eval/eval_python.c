/* eval_python.c - functions of Python.
 *
 * What is known while generating, and sizes, have Python's functions; tensors have PyTorch's of the same name. */
#include "eval/evaluator.h"

#include <math.h>
#include <string.h>

/* A function does not take these arguments. */
static struct ev not_taken(struct loc loc)
{
    return (struct ev){.kind = EV_ELLIPSIS, .loc = loc};
}

/* A number of the sizes that is no integer where an integer is made of it. */
static struct ev fraction(struct eval *eval, struct loc loc, const struct ev *value)
{
    diag_error(eval->cx, loc, "'%s' depends on sizes that are only known at run time", ev_text(eval, value));
    diag_hint(eval->cx, "what sizes decide is an integer where it is written with + - * // %%");
    return ev_bad(loc);
}

struct ev eval_convert(struct eval *eval, const struct ev *callee, const struct call *call)
{
    double number;
    int64_t integer;
    const struct ev *x = call->args;

    if (call->count != 1 || call->names[0])
        goto fault;
    if (x->kind == EV_BAD)
        return *x;
    if (strcmp(callee->text, "float") == 0 && ev_is_number(x) && !ev_get_number(x, &number)) {
        const struct ev one = ev_float(call->loc, 1);

        return eval_binary(eval, call->loc, OP_MUL, x, &one);
    }
    if (strcmp(callee->text, "float") == 0) {
        if (x->kind == EV_STRING) {
            const char *s = x->text[0] == '-' ? x->text + 1 : x->text;

            if (strcmp(s, "inf") == 0)
                return ev_float(call->loc, s == x->text ? INFINITY : -INFINITY);
            if (strcmp(s, "nan") == 0)
                return ev_float(call->loc, NAN);
        }
        if (ev_get_number(x, &number))
            return ev_float(call->loc, number);
    } else if (strcmp(callee->text, "int") == 0) {
        if (x->kind == EV_INT)
            return *x;
        if (ev_get_int(x, &integer))
            return ev_int(eval, call->loc, integer);
        if (ev_get_number(x, &number) && fabs(number) < 9e18)
            return ev_int(eval, call->loc, (int64_t)number);
    } else if (strcmp(callee->text, "bool") == 0) {
        bool truth;

        if (ev_get_bool(x, &truth))
            return ev_bool(call->loc, truth);
    }
fault:
    if (call->count == 1 && ev_is_number(x) && !ev_get_number(x, &number))
        return fraction(eval, call->loc, x);
    diag_error(
        eval->cx, call->loc, "%s() takes one number that is known while generating, found %s", callee->text,
        call->count == 1 ? ev_text(eval, x) : arena_format(&eval->cx->arena, "%d values", call->count));
    if (call->count == 1 && x->kind == EV_TENSOR)
        diag_hint(eval->cx, "a tensor is converted by x.float(), x.long() or x.to(torch.%s)",
                  dtype_rows[callee->dtype].name);
    return ev_bad(call->loc);
}

static struct ev python_len(struct eval *eval, const struct call *call)
{
    const struct ev *of = call->args;

    if (call->count != 1)
        return not_taken(call->loc);
    if (ev_is_sequence(of))
        return ev_int(eval, call->loc, of->count);
    if (of->kind == EV_MODULE)
        return ev_int(eval, call->loc, eval_element_count(of->module));
    if (of->kind == EV_STRING)
        return ev_int(eval, call->loc, (int64_t)strlen(of->text));
    if (of->kind == EV_TENSOR && of->tensor->ndim > 0)
        return ev_dim(call->loc, of->tensor->dims[0]);
    return not_taken(call->loc);
}

static struct ev python_range(struct eval *eval, const struct call *call)
{
    int64_t bound[3] = {0, 0, 1};
    struct ev *items = NULL;
    int n = 0;

    if (call->count < 1 || call->count > 3)
        return not_taken(call->loc);
    for (int i = 0; i < call->count; i++)
        if (!ev_get_int(&call->args[i], &bound[call->count == 1 ? 1 : i]))
            return not_taken(call->loc);
    if (bound[2] == 0)
        return not_taken(call->loc);
    for (int64_t i = bound[0]; bound[2] > 0 ? i < bound[1] : i > bound[1];) {
        if (n == EVAL_MAX_ITEMS)
            return not_taken(call->loc);
        if (!eval_spend(eval, call->loc, 1))
            return ev_bad(call->loc);
        ARENA_PUSH(&eval->cx->arena, items, n, ev_int(eval, call->loc, i));
        if (__builtin_add_overflow(i, bound[2], &i))
            break;
    }
    return ev_tuple(eval, call->loc, items, n);
}

static struct ev python_enumerate(struct eval *eval, const struct call *call)
{
    int64_t start = 0;
    struct ev *items, *out;
    int count;

    if (call->count < 1 || call->count > 2 ||
        !eval_sequence(eval, call->loc, &call->args[0], &items, &count) ||
        (call->count == 2 && !ev_get_int(&call->args[1], &start)) || start > INT32_MAX || start < INT32_MIN)
        return not_taken(call->loc);
    out = ARENA_ARRAY(&eval->cx->arena, count + 1, struct ev);
    for (int i = 0; i < count; i++) {
        struct ev pair[2] = {ev_int(eval, call->loc, start + i), items[i]};

        out[i] = ev_tuple(eval, call->loc, pair, 2);
    }
    return ev_tuple(eval, call->loc, out, count);
}

static struct ev python_zip(struct eval *eval, const struct call *call)
{
    struct arena *arena = &eval->cx->arena;
    struct ev *out, *row = ARENA_ARRAY(arena, call->count + 1, struct ev);
    struct ev **lists = ARENA_ARRAY(arena, call->count + 1, struct ev *);
    int count = 0;

    for (int i = 0; i < call->count; i++) {
        int length;

        if (!eval_sequence(eval, call->loc, &call->args[i], &lists[i], &length))
            return not_taken(call->loc);
        count = i == 0 || length < count ? length : count;
    }
    out = ARENA_ARRAY(arena, count + 1, struct ev);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < call->count; j++)
            row[j] = lists[j][i];
        out[i] = ev_tuple(eval, call->loc, row, call->count);
    }
    return ev_tuple(eval, call->loc, out, count);
}

static struct ev python_reversed(struct eval *eval, const struct call *call)
{
    struct ev *items, out;
    int count;

    if (call->count != 1 || !eval_sequence(eval, call->loc, &call->args[0], &items, &count))
        return not_taken(call->loc);
    out = ev_tuple(eval, call->loc, items, count);
    for (int i = 0; i < out.count; i++)
        out.items[i] = items[count - 1 - i];
    return out;
}

/* Numbers, or strings; equal ones stay as they stand. */
static struct ev python_sorted(struct eval *eval, const struct call *call)
{
    struct ev *items, out;
    bool down = false;
    int count;

    if (call->count < 1 || call->count > 2 ||
        !eval_sequence(eval, call->loc, &call->args[0], &items, &count) ||
        (call->count == 2 &&
         (!call->names[1] || strcmp(call->names[1], "reverse") != 0 || !ev_get_bool(&call->args[1], &down))))
        return not_taken(call->loc);
    out = ev_list(eval, call->loc, items, count);
    for (int i = 0; i < out.count && out.kind != EV_BAD; i++) {
        struct ev item = out.items[i];
        int at = i;
        double x, y;

        if (!eval_spend(eval, call->loc, i))
            return ev_bad(call->loc);
        for (; at > 0; at--) {
            const struct ev *before = &out.items[at - 1];
            double order;

            if (item.kind == EV_STRING && before->kind == EV_STRING)
                order = strcmp(before->text, item.text);
            else if (ev_get_number(before, &x) && ev_get_number(&item, &y))
                order = x - y;
            else
                return not_taken(call->loc);
            if (down ? order >= 0 : order <= 0)
                break;
            out.items[at] = *before;
        }
        out.items[at] = item;
    }
    return out.kind == EV_BAD ? out : ev_list(eval, call->loc, out.items, out.count);
}

static struct ev python_callable(struct eval *eval, const struct call *call)
{
    const enum ev_kind kind = call->count == 1 ? call->args[0].kind : EV_BAD;

    (void)eval;
    if (call->count != 1)
        return not_taken(call->loc);
    return ev_bool(call->loc, kind == EV_FUNCTION || kind == EV_METHOD || kind == EV_CLASS ||
                                  kind == EV_MODULE || kind == EV_CONSTRUCTOR || kind == EV_DTYPE);
}

static struct ev sequence_of(struct eval *eval, const struct call *call, bool list)
{
    struct ev *items = NULL;
    int count = 0;

    if (call->count > 1 ||
        (call->count == 1 && !eval_sequence(eval, call->loc, &call->args[0], &items, &count)))
        return not_taken(call->loc);
    return list ? ev_list(eval, call->loc, items, count) : ev_tuple(eval, call->loc, items, count);
}

static struct ev python_tuple(struct eval *eval, const struct call *call)
{
    return sequence_of(eval, call, false);
}

static struct ev python_list(struct eval *eval, const struct call *call)
{
    return sequence_of(eval, call, true);
}

/* dict(), of another one or of pairs. Those of names are added behind. */
static struct ev python_dict(struct eval *eval, const struct call *call)
{
    struct ev out = ev_dict(eval, call->loc, NULL, NULL, 0), *items = NULL;
    const struct ev *from = call->count > 0 && !call->names[0] ? call->args : NULL;
    int count = 0;

    if (from && from->kind != EV_DICT && !eval_sequence(eval, call->loc, from, &items, &count))
        return not_taken(call->loc);
    for (int i = 0; from && i < (from->kind == EV_DICT ? from->count : count); i++) {
        const struct ev *pair = from->kind == EV_DICT ? NULL : &items[i];

        if (pair && (pair->kind != EV_TUPLE || pair->count != 2 || pair->items[0].kind != EV_STRING))
            return not_taken(call->loc);
        if (!ev_set_key(eval, call->loc, &out, pair ? pair->items[0].text : from->fields[i],
                        pair ? pair->items[1] : from->items[i]))
            return ev_bad(call->loc);
    }
    for (int i = from ? 1 : 0; i < call->count; i++) {
        if (!call->names[i])
            return not_taken(call->loc);
        if (!ev_set_key(eval, call->loc, &out, call->names[i], call->args[i]))
            return ev_bad(call->loc);
    }
    return ev_fresh(eval, out);
}

/* What has attributes alone: SimpleNamespace(hidden_size=4). */
static struct ev python_namespace(struct eval *eval, const struct call *call)
{
    struct ev out;

    if (call->count > 0 && !call->names[0])
        return not_taken(call->loc);
    out = python_dict(eval, call);
    if (out.kind == EV_DICT)
        out.list = out.cell->list = true;
    return out;
}

/* The class of a module of the spec. */
static struct ev python_type(struct eval *eval, const struct call *call)
{
    const struct module *module = call->count == 1 ? call->args[0].module : NULL;

    (void)eval;
    return module && module->spec_class ? ev_class(call->loc, module->class_name) : not_taken(call->loc);
}

/* The attribute of a module or of self, by a name that is made while generating. */
static struct ev python_getattr(struct eval *eval, const struct call *call)
{
    struct ev base = call->args[0];
    struct expr attribute = {.kind = EXPR_ATTR, .loc = call->loc, .name_loc = call->loc};

    if (call->count < 2 || call->count > 3 || call->args[1].kind != EV_STRING)
        return not_taken(call->loc);
    if (call->count == 3 && !eval_has_attribute(&base, call->args[1].text))
        return call->args[2];
    attribute.text = call->args[1].text;
    attribute.name_loc = call->args[1].loc;
    return eval_attribute(eval, &base, &attribute);
}

static struct ev python_hasattr(struct eval *eval, const struct call *call)
{
    (void)eval;
    if (call->count != 2 || call->args[1].kind != EV_STRING)
        return not_taken(call->loc);
    return ev_bool(call->loc, eval_has_attribute(&call->args[0], call->args[1].text));
}

static struct ev python_str(struct eval *eval, const struct call *call)
{
    if (call->count != 1 || call->args[0].kind == EV_TENSOR)
        return not_taken(call->loc);
    return call->args[0].kind == EV_STRING ? call->args[0]
                                           : ev_string(call->loc, ev_text(eval, &call->args[0]));
}

static struct ev python_divmod(struct eval *eval, const struct call *call)
{
    struct ev pair[2];

    if (call->count != 2 || !ev_is_number(&call->args[0]) || !ev_is_number(&call->args[1]))
        return not_taken(call->loc);
    pair[0] = eval_binary(eval, call->loc, OP_FLOORDIV, &call->args[0], &call->args[1]);
    pair[1] = eval_binary(eval, call->loc, OP_MOD, &call->args[0], &call->args[1]);
    return ev_tuple(eval, call->loc, pair, 2);
}

/* all() and any() of what is known; of tensors they are PyTorch's. */
static struct ev of_truths(struct eval *eval, const struct call *call, bool all)
{
    struct ev *items;
    bool truth = all;
    int count;

    if (call->count != 1 || call->args[0].kind == EV_TENSOR ||
        !eval_sequence(eval, call->loc, &call->args[0], &items, &count))
        return not_taken(call->loc);
    for (int i = 0; i < count && truth == all; i++)
        if (!ev_get_bool(&items[i], &truth))
            return not_taken(call->loc);
    return ev_bool(call->loc, truth);
}

static struct ev python_all(struct eval *eval, const struct call *call)
{
    return of_truths(eval, call, true);
}

static struct ev python_any(struct eval *eval, const struct call *call)
{
    return of_truths(eval, call, false);
}

/* The smallest or largest of the arguments, or of the items of the one argument. */
static struct ev extreme(struct eval *eval, const struct call *call, bool largest)
{
    const struct ev *items = call->args, *best = items;
    const struct dim *dim = NULL;
    int count = call->count;
    double x, y;

    if (count == 1) {
        count = items->kind == EV_TUPLE || items->kind == EV_DICT ? items->count : 0;
        best = items = items->items;
    }
    if (count == 0)
        return not_taken(call->loc);
    for (int i = 0; i < count && best; i++) {
        if (!ev_get_number(best, &x) || !ev_get_number(&items[i], &y))
            best = NULL;
        else if (largest ? y > x : y < x)
            best = &items[i];
    }
    if (best)
        return *best;
    for (int i = 0; i < count; i++) { /* of sizes */
        if (items[i].kind != EV_INT)
            return not_taken(call->loc);
        dim = !dim      ? items[0].dim
              : largest ? dim_max(&eval->cx->arena, dim, items[i].dim)
                        : dim_min(&eval->cx->arena, dim, items[i].dim);
    }
    return ev_dim(call->loc, dim);
}

static struct ev python_min(struct eval *eval, const struct call *call)
{
    return extreme(eval, call, false);
}

static struct ev python_max(struct eval *eval, const struct call *call)
{
    return extreme(eval, call, true);
}

/* Of tensors too, as no function of PyTorch sums a list. */
static struct ev python_sum(struct eval *eval, const struct call *call)
{
    struct ev out = ev_int(eval, call->loc, 0), *items;
    int count;

    if (call->count < 1 || call->count > 2 || call->args[0].kind == EV_TENSOR ||
        !eval_sequence(eval, call->loc, &call->args[0], &items, &count))
        return not_taken(call->loc);
    if (call->count == 2)
        out = call->args[1];
    for (int i = 0; i < count; i++) {
        const struct ev *item = &items[i];
        bool first = i == 0 && call->count == 1 && item->kind == EV_TENSOR;

        out = first ? *item : eval_binary(eval, call->loc, OP_ADD, &out, item);
    }
    return out;
}

static struct ev python_abs(struct eval *eval, const struct call *call)
{
    const struct ev *x = call->args;
    struct ev minus;
    double number;

    if (call->count != 1 || !ev_is_number(x) || (x->kind == EV_FLOAT && !ev_get_number(x, &number)))
        return not_taken(call->loc);
    if (x->kind == EV_FLOAT)
        return ev_float(call->loc, fabs(number));
    minus = ev_int(eval, call->loc, -1);
    minus = eval_numbers(eval, call->loc, OP_MUL, x, &minus);
    if (minus.kind == EV_BAD)
        return minus;
    return ev_dim(call->loc, dim_max(&eval->cx->arena, minus.dim,
                                     dim_sub(&eval->cx->arena, dim_const(&eval->cx->arena, 0), minus.dim)));
}

static struct ev python_pow(struct eval *eval, const struct call *call)
{
    if (call->count != 2 || !ev_is_number(&call->args[0]) || !ev_is_number(&call->args[1]))
        return not_taken(call->loc);
    return eval_binary(eval, call->loc, OP_POW, &call->args[0], &call->args[1]);
}

struct ev eval_with_args(struct eval *eval, const struct ev *callable, const struct call *call)
{
    struct ev out = *callable;
    struct call *preset = ARENA_NEW(&eval->cx->arena, struct call);

    *preset = out.preset ? eval_with_preset(eval, out.preset, call) : *call;
    out.preset = preset;
    return out;
}

static struct ev python_partial(struct eval *eval, const struct call *call)
{
    struct ev out = call->args[0];
    struct call *preset = ARENA_NEW(&eval->cx->arena, struct call);

    if (call->count == 0 || call->names[0] ||
        (out.kind != EV_CLASS && out.kind != EV_FUNCTION && out.kind != EV_METHOD))
        return not_taken(call->loc);
    *preset = *call;
    preset->args++;
    preset->names++;
    preset->locs++;
    preset->count--;
    return eval_with_args(eval, &out, preset);
}

#define GONE_THROUGH "what can be gone through: tuples, lists, lists of modules, tensors of known length"

static const struct {
    const char *name;
    struct ev (*call)(struct eval *eval, const struct call *call);
    const char *takes; /* NULL: what it does not take is PyTorch's */
    bool named;        /* its arguments may have names */
} python_rows[] = {
    {"load_file", eval_load_file, "the path of a safetensors file, in quotes"},
    {"len", python_len, "one tuple, string, list of modules, or tensor with dimensions"},
    {"range", python_range,
     "one to three integers that are known while generating, for at most 65536 numbers"},
    {"enumerate", python_enumerate, "what can be gone through, and the number to start with", true},
    {"zip", python_zip, GONE_THROUGH},
    {"reversed", python_reversed, GONE_THROUGH},
    {"sorted", python_sorted, "numbers or strings that are known while generating, and reverse=True", true},
    {"callable", python_callable, "one value"},
    {"tuple", python_tuple, GONE_THROUGH},
    {"list", python_list, GONE_THROUGH},
    {"dict", python_dict, "a dict or pairs of a string and a value, and arguments with names", true},
    {"OrderedDict", python_dict, "a dict or pairs of a string and a value, and arguments with names", true},
    {"SimpleNamespace", python_namespace, "arguments with names", true},
    {"Namespace", python_namespace, "arguments with names", true},
    {"type", python_type, "a module of a class of the spec"},
    {"getattr", python_getattr, "a module, a name that is known while generating, and a value otherwise"},
    {"hasattr", python_hasattr, "a value and a name that is known while generating"},
    {"str", python_str, "what is known while generating"},
    {"divmod", python_divmod, "two numbers"},
    {"partial", python_partial, "a function or a class, and some of its arguments", true},
    {"all", python_all, NULL},
    {"any", python_any, NULL},
    {"min", python_min, NULL},
    {"max", python_max, NULL},
    {"sum", python_sum, NULL},
    {"abs", python_abs, NULL},
    {"pow", python_pow, NULL},
};

bool eval_is_python(const char *name)
{
    for (size_t i = 0; i < sizeof python_rows / sizeof *python_rows; i++)
        if (strcmp(python_rows[i].name, name) == 0)
            return true;
    return false;
}

/* Those of Python's math that PyTorch has of tensors. */
static const struct {
    const char *name;
    double (*call)(double);
    bool whole; /* gives an integer */
} math_rows[] = {
    {"sqrt", sqrt, false}, {"exp", exp, false},     {"exp2", exp2, false},      {"expm1", expm1, false},
    {"log", log, false},   {"log1p", log1p, false}, {"log2", log2, false},      {"log10", log10, false},
    {"sin", sin, false},   {"cos", cos, false},     {"tan", tan, false},        {"sinh", sinh, false},
    {"cosh", cosh, false}, {"tanh", tanh, false},   {"erf", erf, false},        {"floor", floor, true},
    {"ceil", ceil, true},  {"trunc", trunc, true},  {"round", nearbyint, true},
};

struct ev eval_math(struct eval *eval, const char *name, const struct call *call)
{
    double x, y;

    if (call->count != 1 || call->names[0] || !ev_is_number(call->args))
        return not_taken(call->loc);
    for (size_t i = 0; i < sizeof math_rows / sizeof *math_rows; i++) {
        if (strcmp(math_rows[i].name, name) != 0)
            continue;
        if (!ev_get_number(call->args, &x) && math_rows[i].whole)
            return fraction(eval, call->loc, call->args);
        if (!ev_get_number(call->args, &x))
            return ev_float_dag(call->loc, build_number(eval, elementwise_find(name), call->args),
                                arena_format(&eval->cx->arena, "%s(%s)", name, ev_text(eval, call->args)));
        if (math_rows[i].whole && call->args->kind != EV_FLOAT)
            return ev_int(eval, call->loc, (int64_t)x);
        y = math_rows[i].call(x);
        if ((isfinite(x) && !isfinite(y)) || (math_rows[i].whole && !(fabs(y) < 0x1p63))) {
            diag_error(eval->cx, call->args->loc, "%s(%s) is not a number", name, ev_text(eval, call->args));
            return ev_bad(call->loc);
        }
        return math_rows[i].whole ? ev_int(eval, call->loc, (int64_t)y) : ev_float(call->loc, y);
    }
    return not_taken(call->loc);
}

struct ev eval_call_python(struct eval *eval, const char *name, const struct call *call)
{
    struct ev out = not_taken(call->loc);

    for (size_t i = 0; i < sizeof python_rows / sizeof *python_rows; i++) {
        bool named = false;

        if (strcmp(python_rows[i].name, name) != 0)
            continue;
        for (int j = 0; j < call->count; j++)
            named |= call->names[j] != NULL;
        if (!named || python_rows[i].named)
            out = python_rows[i].call(eval, call);
        if (out.kind != EV_ELLIPSIS || !python_rows[i].takes)
            return out;
        diag_error(eval->cx, call->loc, "%s takes %s", name, python_rows[i].takes);
        return ev_bad(call->loc);
    }
    return eval_math(eval, name, call);
}

/* ---- isinstance ---- */

static bool is_list(const struct ev *value)
{
    return value->kind == EV_TUPLE && value->list;
}

static bool is_tuple(const struct ev *value)
{
    return value->kind == EV_TUPLE && !value->list;
}

static bool is_int(const struct ev *value)
{
    return value->kind == EV_INT || value->kind == EV_BOOL;
}

static bool is_float(const struct ev *value)
{
    return value->kind == EV_FLOAT;
}

static bool is_bool(const struct ev *value)
{
    return value->kind == EV_BOOL;
}

static bool is_string(const struct ev *value)
{
    return value->kind == EV_STRING;
}

static bool is_dict(const struct ev *value)
{
    return value->kind == EV_DICT && !value->list;
}

static bool is_tensor(const struct ev *value)
{
    return value->kind == EV_TENSOR || value->kind == EV_COMPLEX;
}

static bool is_module(const struct ev *value)
{
    return value->kind == EV_MODULE || (value->kind == EV_SPACE && value->module);
}

/* The types that values have, by their last name; others are classes of modules. */
static const struct {
    const char *name;
    bool (*is)(const struct ev *value);
} types[] = {
    {"Tensor", is_tensor}, {"list", is_list},     {"List", is_list}, {"tuple", is_tuple},
    {"Tuple", is_tuple},   {"Size", is_tuple},    {"int", is_int},   {"float", is_float},
    {"bool", is_bool},     {"str", is_string},    {"dict", is_dict}, {"Dict", is_dict},
    {"Mapping", is_dict},  {"Module", is_module},
};

/* Whether the value is of the type, or of one of a tuple of types. False after an error. */
static bool has_type(struct eval *eval, const struct ev *value, const struct expr *type, bool *out)
{
    bool left;

    if (type->kind == EXPR_TUPLE) {
        *out = false;
        for (int i = 0; i < type->count; i++) {
            if (!has_type(eval, value, type->items[i], &left))
                return false;
            *out |= left;
        }
        return true;
    }
    if (type->kind == EXPR_BINARY && type->op == OP_BITOR) {
        if (!has_type(eval, value, type->a, &left) || !has_type(eval, value, type->b, out))
            return false;
        *out |= left;
        return true;
    }
    if (type->kind == EXPR_NONE) {
        *out = value->kind == EV_NONE;
        return true;
    }
    if (type->kind == EXPR_NAME || type->kind == EXPR_ATTR) {
        for (int i = 0; i < COUNT(types); i++) {
            if (strcmp(types[i].name, type->text) == 0) {
                *out = types[i].is(value);
                return true;
            }
        }
        *out = is_module(value) && value->module->class_name &&
               strcmp(value->module->class_name, type->text) == 0;
        return true;
    }
    if (type->kind != EXPR_BAD)
        diag_error(eval->cx, type->loc, "isinstance takes a type, or a tuple of types");
    return false;
}

struct ev eval_isinstance(struct eval *eval, struct scope *scope, const struct expr *call)
{
    struct ev value;
    bool out;

    if (call->count != 2 || call->names[0] || call->names[1]) {
        diag_error(eval->cx, call->loc, "isinstance takes a value and a type");
        return ev_bad(call->loc);
    }
    value = eval_expr(eval, scope, call->items[0]);
    if (value.kind == EV_BAD || !has_type(eval, &value, call->items[1], &out))
        return ev_bad(call->loc);
    return ev_bool(call->loc, out);
}

/* ---- formatted strings ---- */

/* A value as `how` says it: "", ":02d" and the like of integers, "!r". False after an error. */
static bool print_value(struct eval *eval, struct text *text, const struct ev *value, const char *how,
                        struct loc loc)
{
    const char *repr = how && strncmp(how, "!r", 2) == 0   ? how + 2
                       : how && strncmp(how, "!s", 2) == 0 ? how + 2
                                                           : how;
    int64_t number;
    int width = 0;
    char pad = ' ';

    if ((value->kind == EV_TENSOR || value->kind == EV_COMPLEX) && !how) {
        diag_error(eval->cx, loc, "the values of a tensor are not known while generating");
        diag_hint(eval->cx, "its shape is: {x.shape}");
        return false;
    }
    if (!repr || !*repr) {
        text_add(text,
                 value->kind == EV_STRING && !(how && how[1] == 'r') ? value->text : ev_text(eval, value));
        return true;
    }
    repr++; /* the ':' */
    if (*repr == '0')
        pad = '0';
    while (*repr >= '0' && *repr <= '9' && width < 1000)
        width = 10 * width + (*repr++ - '0');
    if ((*repr == 0 || (*repr == 'd' && repr[1] == 0)) && width < 1000 && ev_get_int(value, &number)) {
        text_printf(text, pad == '0' ? "%0*lld" : "%*lld", width, (long long)number);
        return true;
    }
    diag_error(eval->cx, loc, "'%s' does not say how %s is written", how, ev_kind_text(value));
    diag_hint(eval->cx, "integers take a width: {i:02d}");
    return false;
}

struct ev eval_format(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct text text = text_new(&eval->cx->arena);
    bool fine = true;

    for (int i = 0; i < expr->count; i++) {
        struct ev value = eval_expr(eval, scope, expr->items[i]);

        fine &= value.kind != EV_BAD &&
                print_value(eval, &text, &value, expr->names[i], expr->items[i]->loc) &&
                text.length <= EVAL_MAX_ITEMS && eval_spend(eval, expr->loc, (int64_t)text.length / 16);
    }
    if (text.length > EVAL_MAX_ITEMS)
        diag_error(eval->cx, expr->loc, "a string has more than %d characters", EVAL_MAX_ITEMS);
    return fine ? ev_string(expr->loc, text.data) : ev_bad(expr->loc);
}
