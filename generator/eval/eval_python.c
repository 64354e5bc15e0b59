/* eval_python.c - functions of Python.
 *
 * What is known while generating, and sizes, have Python's functions; tensors have PyTorch's of the same name. */
#include "eval/evaluator.h"

#include <math.h>
#include <string.h>

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
        return ev_none(call->loc);
    if (of->kind == EV_TUPLE)
        return ev_int(eval, call->loc, of->count);
    if (of->kind == EV_MODULE)
        return ev_int(eval, call->loc, eval_element_count(of->module));
    if (of->kind == EV_STRING)
        return ev_int(eval, call->loc, (int64_t)strlen(of->text));
    if (of->kind == EV_TENSOR && of->tensor->ndim > 0)
        return ev_dim(call->loc, of->tensor->dims[0]);
    return ev_none(call->loc);
}

static struct ev python_range(struct eval *eval, const struct call *call)
{
    int64_t bound[3] = {0, 0, 1};
    struct ev *items = NULL;
    int n = 0;

    if (call->count < 1 || call->count > 3)
        return ev_none(call->loc);
    for (int i = 0; i < call->count; i++)
        if (!ev_get_int(&call->args[i], &bound[call->count == 1 ? 1 : i]))
            return ev_none(call->loc);
    if (bound[2] == 0)
        return ev_none(call->loc);
    for (int64_t i = bound[0]; bound[2] > 0 ? i < bound[1] : i > bound[1];) {
        if (n == EVAL_MAX_ITEMS)
            return ev_none(call->loc);
        ARENA_PUSH(&eval->cx->arena, items, n, ev_int(eval, call->loc, i));
        if (__builtin_add_overflow(i, bound[2], &i))
            break;
    }
    return ev_tuple(eval, call->loc, items, n);
}

static struct ev python_enumerate(struct eval *eval, const struct call *call)
{
    int64_t start = 0;
    struct ev *items;

    if (call->count < 1 || call->count > 2 || call->args[0].kind != EV_TUPLE ||
        (call->count == 2 && !ev_get_int(&call->args[1], &start)) || start > INT32_MAX || start < INT32_MIN)
        return ev_none(call->loc);
    items = ARENA_ARRAY(&eval->cx->arena, call->args[0].count + 1, struct ev);
    for (int i = 0; i < call->args[0].count; i++) {
        struct ev pair[2] = {ev_int(eval, call->loc, start + i), call->args[0].items[i]};

        items[i] = ev_tuple(eval, call->loc, pair, 2);
    }
    return ev_tuple(eval, call->loc, items, call->args[0].count);
}

static struct ev python_zip(struct eval *eval, const struct call *call)
{
    struct arena *arena = &eval->cx->arena;
    struct ev *items, *row = ARENA_ARRAY(arena, call->count + 1, struct ev);
    int count = 0;

    for (int i = 0; i < call->count; i++) {
        if (call->args[i].kind != EV_TUPLE)
            return ev_none(call->loc);
        count = i == 0 || call->args[i].count < count ? call->args[i].count : count;
    }
    items = ARENA_ARRAY(arena, count + 1, struct ev);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < call->count; j++)
            row[j] = call->args[j].items[i];
        items[i] = ev_tuple(eval, call->loc, row, call->count);
    }
    return ev_tuple(eval, call->loc, items, count);
}

static struct ev python_reversed(struct eval *eval, const struct call *call)
{
    struct ev out;

    if (call->count != 1 || call->args[0].kind != EV_TUPLE)
        return ev_none(call->loc);
    out = ev_tuple(eval, call->loc, call->args[0].items, call->args[0].count);
    for (int i = 0; i < out.count; i++)
        out.items[i] = call->args[0].items[out.count - 1 - i];
    return out;
}

static struct ev sequence_of(const struct call *call, bool list)
{
    struct ev out = call->args[0];

    if (call->count != 1 || out.kind != EV_TUPLE)
        return ev_none(call->loc);
    out.list = list;
    out.fields = NULL;
    return out;
}

static struct ev python_tuple(struct eval *eval, const struct call *call)
{
    (void)eval;
    return sequence_of(call, false);
}

static struct ev python_list(struct eval *eval, const struct call *call)
{
    (void)eval;
    return sequence_of(call, true);
}

/* The smallest or largest of the arguments, or of the items of the one argument. */
static struct ev extreme(struct eval *eval, const struct call *call, bool largest)
{
    const struct ev *items = call->args, *best = items;
    const struct dim *dim = NULL;
    int count = call->count;
    double x, y;

    if (count == 1) {
        count = items->kind == EV_TUPLE ? items->count : 0;
        best = items = items->items;
    }
    if (count == 0)
        return ev_none(call->loc);
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
            return ev_none(call->loc);
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
    struct ev out = ev_int(eval, call->loc, 0);

    if (call->count < 1 || call->count > 2 || call->args[0].kind != EV_TUPLE)
        return ev_none(call->loc);
    if (call->count == 2)
        out = call->args[1];
    for (int i = 0; i < call->args[0].count; i++) {
        const struct ev *item = &call->args[0].items[i];
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
        return ev_none(call->loc);
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
        return ev_none(call->loc);
    return eval_binary(eval, call->loc, OP_POW, &call->args[0], &call->args[1]);
}

static const struct {
    const char *name;
    struct ev (*call)(struct eval *eval, const struct call *call);
    const char *takes; /* NULL: what it does not take is PyTorch's */
} python_rows[] = {
    {"load_file", eval_load_file, "the path of a safetensors file, in quotes"},
    {"len", python_len, "one tuple, string, list of modules, or tensor with dimensions"},
    {"range", python_range,
     "one to three integers that are known while generating, for at most 65536 numbers"},
    {"enumerate", python_enumerate, "a tuple or list, and the number to start with"},
    {"zip", python_zip, "tuples and lists"},
    {"reversed", python_reversed, "one tuple or list"},
    {"tuple", python_tuple, "one tuple or list"},
    {"list", python_list, "one tuple or list"},
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

/* sqrt(dim) and the like of one number; EV_NONE: not one of these. */
static struct ev call_math(struct eval *eval, const char *name, const struct call *call)
{
    double x, y;

    if (call->count != 1 || call->names[0] || !ev_is_number(call->args))
        return ev_none(call->loc);
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
    return ev_none(call->loc);
}

struct ev eval_call_python(struct eval *eval, const char *name, const struct call *call)
{
    struct ev out = ev_none(call->loc);

    for (size_t i = 0; i < sizeof python_rows / sizeof *python_rows; i++) {
        bool named = false;

        if (strcmp(python_rows[i].name, name) != 0)
            continue;
        for (int j = 0; j < call->count; j++)
            named |= call->names[j] != NULL;
        if (!named)
            out = python_rows[i].call(eval, call);
        if (out.kind != EV_NONE || !python_rows[i].takes)
            return out;
        diag_error(eval->cx, call->loc, "%s takes %s", name, python_rows[i].takes);
        return ev_bad(call->loc);
    }
    return call_math(eval, name, call);
}
