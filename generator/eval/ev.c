/* ev.c - the values that expressions have: making them, their text, what is known of them. */
#include "eval/evaluator.h"

#include <string.h>

struct ev ev_bad(struct loc loc)
{
    return (struct ev){.kind = EV_BAD, .loc = loc};
}

struct ev ev_none(struct loc loc)
{
    return (struct ev){.kind = EV_NONE, .loc = loc};
}

struct ev ev_bool(struct loc loc, bool value)
{
    return (struct ev){.kind = EV_BOOL, .loc = loc, .integer = value};
}

struct ev ev_int(struct eval *eval, struct loc loc, int64_t value)
{
    return ev_dim(loc, dim_const(&eval->cx->arena, value));
}

struct ev ev_dim(struct loc loc, const struct dim *dim)
{
    return (struct ev){.kind = EV_INT, .loc = loc, .dim = dim};
}

struct ev ev_float(struct loc loc, double value)
{
    return (struct ev){.kind = EV_FLOAT, .loc = loc, .number = value};
}

struct ev ev_float_dag(struct loc loc, const struct dag *dag, const char *text)
{
    return (struct ev){.kind = EV_FLOAT, .loc = loc, .dag = dag, .text = text};
}

struct ev ev_string(struct loc loc, const char *text)
{
    return (struct ev){.kind = EV_STRING, .loc = loc, .text = text};
}

struct ev ev_dtype(struct loc loc, enum dtype dtype)
{
    return (struct ev){.kind = EV_DTYPE, .loc = loc, .dtype = dtype, .text = dtype_rows[dtype].name};
}

struct ev ev_tensor(struct loc loc, struct value *value)
{
    return value ? (struct ev){.kind = EV_TENSOR, .loc = loc, .tensor = value} : ev_bad(loc);
}

struct ev ev_complex(struct loc loc, struct value *pairs)
{
    struct ev out = ev_tensor(loc, pairs);

    out.kind = pairs ? EV_COMPLEX : EV_BAD;
    return out;
}

struct ev ev_of_tensor(struct loc loc, const struct module_tensor *tensor, struct value *shown)
{
    return dtype_is_complex(tensor->dtype) ? ev_complex(loc, shown) : ev_tensor(loc, shown);
}

struct ev ev_module(struct loc loc, struct module *module)
{
    return (struct ev){.kind = EV_MODULE, .loc = loc, .module = module};
}

struct ev ev_constructor(const struct expr *constructor, struct scope *names)
{
    return (struct ev){
        .kind = EV_CONSTRUCTOR, .loc = constructor->loc, .constructor = constructor, .names = names};
}

struct ev ev_class(struct loc loc, const char *name)
{
    return (struct ev){.kind = EV_CLASS, .loc = loc, .text = name};
}

bool ev_fits(struct eval *eval, struct loc loc, int64_t count)
{
    if (count <= EVAL_MAX_ITEMS)
        return true;
    diag_error(eval->cx, loc, "a tuple or list has more than %d items", EVAL_MAX_ITEMS);
    return false;
}

bool ev_nests(struct eval *eval, struct loc loc, const struct ev *item)
{
    if (!ev_is_sequence(item) || item->height < EVAL_MAX_NESTED)
        return true;
    diag_error(eval->cx, loc, "tuples and lists nest more than %d deep", EVAL_MAX_NESTED);
    return false;
}

struct ev ev_tuple(struct eval *eval, struct loc loc, const struct ev *items, int count)
{
    struct ev tuple = {.kind = EV_TUPLE, .loc = loc, .count = count};
    int room = 1;

    while (room < count) /* as ARENA_PUSH has it, for lists that grow */
        room *= 2;
    tuple.items = ARENA_ARRAY(&eval->cx->arena, room, struct ev);
    tuple.total = count;
    tuple.height = 1;
    if (!eval_spend(eval, loc, count))
        return ev_bad(loc);
    for (int i = 0; i < count; i++) {
        tuple.items[i] = items[i];
        if (items[i].kind == EV_BAD)
            return ev_bad(loc);
        if (!ev_is_sequence(&items[i]))
            continue;
        tuple.total += items[i].total;
        tuple.height = items[i].height >= tuple.height ? items[i].height + 1 : tuple.height;
        tuple.changes |= items[i].cell || items[i].changes;
        ev_hold(&items[i]);
        if (!ev_fits(eval, loc, tuple.total) || !ev_nests(eval, loc, &items[i]))
            return ev_bad(loc);
    }
    return tuple;
}

bool ev_is_number(const struct ev *value)
{
    return value->kind == EV_BOOL || value->kind == EV_INT || value->kind == EV_FLOAT;
}

const char *ev_kind_text(const struct ev *value)
{
    static const char *const names[] = {
        [EV_BAD] = "nothing",
        [EV_NONE] = "None",
        [EV_BOOL] = "a bool",
        [EV_INT] = "an integer",
        [EV_FLOAT] = "a number",
        [EV_STRING] = "a string",
        [EV_DTYPE] = "a dtype",
        [EV_COMPLEX_DTYPE] = "a dtype",
        [EV_TUPLE] = "a tuple",
        [EV_SLICE] = "a slice",
        [EV_DICT] = "a dict",
        [EV_ELLIPSIS] = "...",
        [EV_MODULE] = "a module",
        [EV_TENSOR] = "a tensor",
        [EV_COMPLEX] = "a complex tensor",
        [EV_FILE] = "the tensors of a file",
        [EV_FUNCTION] = "a function",
        [EV_METHOD] = "a method",
        [EV_CONSTRUCTOR] = "a module",
        [EV_CLASS] = "a class",
        [EV_SPACE] = "a name space",
    };

    return value->kind == EV_DICT && value->list ? "a namespace" : names[value->kind];
}

static void ev_print(struct eval *eval, struct text *text, const struct ev *value);

/* "(4, bias=False)" */
static void print_arguments(struct eval *eval, struct text *text, const struct call *call, const char *before)
{
    for (int i = 0; i < call->count; i++) {
        text_printf(text, "%s%s%s", i > 0 ? ", " : before, call->names[i] ? call->names[i] : "",
                    call->names[i] ? "=" : "");
        ev_print(eval, text, &call->args[i]);
    }
}

/* functools.partial(F, eps=1e-06) */
static void print_callable(struct eval *eval, struct text *text, const struct ev *value)
{
    if (!value->preset) {
        text_add(text, value->text);
        return;
    }
    text_printf(text, "partial(%s", value->text);
    print_arguments(eval, text, value->preset, ", ");
    text_add(text, ")");
}

static void ev_print(struct eval *eval, struct text *text, const struct ev *value)
{
    switch (value->kind) {
    case EV_NONE:
        text_add(text, "None");
        break;
    case EV_BOOL:
        text_add(text, value->integer ? "True" : "False");
        break;
    case EV_INT:
        dim_print(text, value->dim);
        break;
    case EV_FLOAT:
        if (value->dag)
            text_add(text, value->text);
        else
            text_double(text, value->number);
        break;
    case EV_STRING:
        text_printf(text, "'%s'", value->text);
        break;
    case EV_DTYPE:
    case EV_COMPLEX_DTYPE:
        text_printf(text, "torch.%s", value->kind == EV_DTYPE ? dtype_rows[value->dtype].name : value->text);
        break;
    case EV_TUPLE:
        text_add(text, value->list ? "[" : "(");
        for (int i = 0; i < value->count; i++) {
            if (i > 0)
                text_add(text, ", ");
            ev_print(eval, text, &value->items[i]);
        }
        text_add(text, value->list ? "]" : value->count == 1 ? ",)" : ")");
        break;
    case EV_DICT:
        text_add(text, "{");
        for (int i = 0; i < value->count; i++) {
            text_printf(text, "%s'%s': ", i > 0 ? ", " : "", value->fields[i]);
            ev_print(eval, text, &value->items[i]);
        }
        text_add(text, "}");
        break;
    case EV_MODULE:
        text_add(text, value->module->class_name);
        break;
    case EV_FUNCTION:
    case EV_CLASS:
        print_callable(eval, text, value);
        break;
    case EV_CONSTRUCTOR:
        if (!value->made) {
            text_add(text, expr_source(eval->cx, value->constructor));
            break;
        }
        text_printf(text, "%s(", value->text);
        print_arguments(eval, text, &value->made->call, "");
        text_add(text, ")");
        break;
    case EV_TENSOR:
        text_printf(text, "tensor%s", shape_text(&eval->cx->arena, value->tensor->ndim, value->tensor->dims));
        break;
    case EV_COMPLEX:
        text_printf(text, "complex tensor%s",
                    shape_text(&eval->cx->arena, value->tensor->ndim - 1, value->tensor->dims));
        break;
    default:
        text_add(text, ev_kind_text(value));
    }
}

const char *ev_text(struct eval *eval, const struct ev *value)
{
    struct text text = text_new(&eval->cx->arena);

    ev_print(eval, &text, value);
    return text.data;
}

bool ev_get_int(const struct ev *value, int64_t *out)
{
    if (value->kind == EV_BOOL) {
        *out = value->integer;
        return true;
    }
    return value->kind == EV_INT && dim_is_const(value->dim, out);
}

bool ev_get_number(const struct ev *value, double *out)
{
    int64_t integer;

    if (value->kind == EV_FLOAT) {
        *out = value->number;
        return !value->dag;
    }
    if (!ev_get_int(value, &integer))
        return false;
    *out = (double)integer;
    return true;
}

bool ev_get_bool(const struct ev *value, bool *out)
{
    int64_t integer;

    switch (value->kind) {
    case EV_NONE:
        *out = false;
        return true;
    case EV_STRING:
        *out = value->text[0] != 0;
        return true;
    case EV_TUPLE:
    case EV_DICT:
        *out = value->count > 0;
        return true;
    case EV_MODULE: /* a container has a length */
        *out = !ev_is_container(value) || value->module->child_count + value->module->tensor_count > 0;
        return true;
    case EV_FLOAT:
        *out = value->number != 0;
        return !value->dag;
    case EV_DTYPE:
    case EV_COMPLEX_DTYPE:
    case EV_FUNCTION:
    case EV_CONSTRUCTOR:
    case EV_CLASS:
    case EV_METHOD:
    case EV_SPACE:
        *out = true;
        return true;
    default:
        if (!ev_get_int(value, &integer))
            return false;
        *out = integer != 0;
        return true;
    }
}

bool ev_equal(const struct ev *a, const struct ev *b)
{
    double x, y;

    if (a->kind == EV_INT && b->kind == EV_INT)
        return dim_equal(a->dim, b->dim);
    if (ev_get_number(a, &x) && ev_get_number(b, &y))
        return x == y;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case EV_STRING:
        return strcmp(a->text, b->text) == 0;
    case EV_DTYPE:
    case EV_COMPLEX_DTYPE:
        return a->dtype == b->dtype;
    case EV_TUPLE:
        if (a->count != b->count)
            return false;
        for (int i = 0; i < a->count; i++)
            if (!ev_equal(&a->items[i], &b->items[i]))
                return false;
        return true;
    case EV_DICT:
        if (a->count != b->count)
            return false;
        for (int i = 0; i < a->count; i++) {
            int k = ev_find_key(b, a->fields[i]);

            if (k < 0 || !ev_equal(&a->items[i], &b->items[k]))
                return false;
        }
        return true;
    case EV_MODULE:
        return a->module == b->module;
    case EV_FUNCTION:
        return a->function == b->function && a->elementwise == b->elementwise &&
               a->spec_function == b->spec_function && a->preset == b->preset;
    case EV_CLASS:
        return strcmp(a->text, b->text) == 0 && a->preset == b->preset;
    case EV_CONSTRUCTOR:
        return a->made && a->made == b->made;
    default:
        return a->kind == EV_NONE;
    }
}
