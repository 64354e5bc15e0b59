/* eval.c - runs expressions and statements over known and unknown values. Building ops is in build.c.
 *
 * Apart from the parser, because the same trees run twice: while the module tree is built (constants, arguments, shapes)
 * and while graphs are lowered. */
#include "eval/eval.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/pytorch.h"
#include "layers/layers.h"
#include "spec/spec.h"

#define EVAL_MAX_DEPTH 64
#define EVAL_MAX_CALLS 20000
#define EVAL_MAX_FAULTS 20 /* faulty calls of one function; further ones say nothing new */

/* ---- making values ---------------------------------------------------------------------------------------- */

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

struct ev ev_module(struct loc loc, struct module *module)
{
    return (struct ev){.kind = EV_MODULE, .loc = loc, .module = module};
}

/* Doubling a tuple takes a word; everybody who looks at one walks all of it. */
static bool fits_items(struct eval *eval, struct loc loc, int64_t count)
{
    if (count <= EVAL_MAX_ITEMS)
        return true;
    diag_error(eval->cx, loc, "a tuple or list has more than %d items", EVAL_MAX_ITEMS);
    return false;
}

struct ev ev_tuple(struct eval *eval, struct loc loc, const struct ev *items, int count)
{
    struct ev tuple = {.kind = EV_TUPLE, .loc = loc, .count = count};

    tuple.items = ARENA_ARRAY(&eval->cx->arena, count + 1, struct ev);
    tuple.total = count;
    for (int i = 0; i < count; i++) {
        tuple.items[i] = items[i];
        tuple.total += items[i].kind == EV_TUPLE ? items[i].total : 0;
        if (items[i].kind == EV_BAD || !fits_items(eval, loc, tuple.total))
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
        [EV_BAD] = "nothing",         [EV_NONE] = "None",       [EV_BOOL] = "a bool",
        [EV_INT] = "an integer",      [EV_FLOAT] = "a number",  [EV_STRING] = "a string",
        [EV_DTYPE] = "a dtype",       [EV_TUPLE] = "a tuple",   [EV_SLICE] = "a slice",
        [EV_ELLIPSIS] = "...",        [EV_MODULE] = "a module", [EV_TENSOR] = "a tensor",
        [EV_FUNCTION] = "a function", [EV_METHOD] = "a method", [EV_SPACE] = "a name space",
    };

    return names[value->kind];
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
        text_printf(text, "torch.%s", dtype_rows[value->dtype].name);
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
    case EV_MODULE:
        text_add(text, value->module->class_name);
        break;
    case EV_TENSOR:
        text_printf(text, "tensor%s", shape_text(&eval->cx->arena, value->tensor->ndim, value->tensor->dims));
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
        *out = value->count > 0;
        return true;
    case EV_FLOAT:
        *out = value->number != 0;
        return !value->dag;
    case EV_DTYPE:
    case EV_MODULE:
    case EV_FUNCTION:
        *out = true;
        return true;
    default:
        if (!ev_get_int(value, &integer))
            return false;
        *out = integer != 0;
        return true;
    }
}

/* ---- names ------------------------------------------------------------------------------------------------ */

void scope_bind(struct eval *eval, struct scope *scope, const char *name, struct ev value)
{
    for (int i = 0; i < scope->count; i++) {
        if (strcmp(scope->items[i].name, name) == 0) {
            scope->items[i].value = value;
            return;
        }
    }
    ARENA_PUSH(&eval->cx->arena, scope->items, scope->count, ((struct binding){name, value}));
}

static struct ev ev_function(struct loc loc, const struct function_row *row,
                             const struct elementwise_row *line)
{
    return (struct ev){.kind = EV_FUNCTION,
                       .loc = loc,
                       .function = row,
                       .elementwise = line,
                       .text = line ? line->name : NULL};
}

/* A function of PyTorch by its name in one of the name spaces. */
static bool find_function(const char *name, unsigned flags, struct loc loc, struct ev *out)
{
    const struct function_row *row = function_find(name, flags);
    const struct elementwise_row *line = row ? NULL : elementwise_find(name);

    if (line && !(function_flags(line) & flags))
        line = NULL;
    if (!row && !line)
        return false;
    *out = ev_function(loc, row, line);
    out->text = name;
    return true;
}

static bool find_global(const char *name, struct loc loc, struct ev *out)
{
    enum dtype dtype;

    if (find_function(name, FUNCTION_FUNCTIONAL | FUNCTION_HIDDEN, loc, out) ||
        find_function(name, FUNCTION_TORCH | FUNCTION_RETURNS, loc, out))
        return true;
    if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0) {
        *out = ev_float(loc, name[0] == 'i'   ? INFINITY
                             : name[0] == 'n' ? (double)NAN
                                              : 3.14159265358979323846);
        return true;
    }
    if (strcmp(name, "torch") == 0 || strcmp(name, "nn") == 0 || strcmp(name, "F") == 0) {
        *out = (struct ev){.kind = EV_SPACE, .loc = loc};
        out->text = name[0] == 't' ? "torch" : name[0] == 'n' ? "torch.nn" : "torch.nn.functional";
        return true;
    }
    if (dtype_find(name, &dtype) && dtype_is_supported(dtype)) {
        *out = ev_dtype(loc, dtype);
        out->text = name;
        return true;
    }
    return false;
}

/* Words that YAML takes for a bool, or Python nearly does. */
static bool is_like_bool(const char *name)
{
    static const char *const words[] = {"yes", "no",  "on",   "off",   "Yes", "No",
                                        "On",  "Off", "TRUE", "FALSE", "YES", "NO"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static void module_as_value(struct eval *eval, struct loc loc, const char *name)
{
    diag_error(eval->cx, loc, "%s is a module, and cannot be made inside an expression", name);
    diag_hint(eval->cx, "declare it under 'modules:' and call it by its name there");
}

/* Names that a spec does without. */
static const struct {
    const char *name, *hint;
} habits[] = {
    {"print", "nothing prints while a model runs: a hook sees what its modules give"},
    {"super", "a class of a spec has no constructor: 'modules:' lists what it is made of"},
    {"np", "write torch's function of the same name"},
    {"numpy", "write torch's function of the same name"},
    {"math", "write torch's function of the same name, or a power: 4 ** 0.5"},
    {"isinstance", "kinds of values are known while writing; x.ndim and x.shape are known while generating"},
    {"Tensor", "kinds of values are known while writing; x.ndim and x.shape are known while generating"},
};

static void unknown_name(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const char **known = NULL;
    bool partial = eval->partial;
    int known_count = 0, count;

    if (diag_said(eval->cx, expr->loc))
        return;
    for (struct scope *s = scope; s; s = s->outer) {
        partial |= s->partial;
        for (int i = 0; i < s->count; i++)
            ARENA_PUSH(&eval->cx->arena, known, known_count, s->items[i].name);
        if (s->names)
            s->names(eval, s, &known, &known_count);
    }
    partial &= !diag_nearest(expr->text, known, known_count);
    for (struct scope *s = scope; s; s = s->outer)
        if (s->explain && s->explain(eval, s, expr->text, expr->loc))
            return;

    const char *const *functions = function_names(
        eval->cx, FUNCTION_TORCH | FUNCTION_FUNCTIONAL | FUNCTION_RETURNS, &count);

    for (int i = 0; i < count; i++)
        ARENA_PUSH(&eval->cx->arena, known, known_count, functions[i]);
    if (partial)
        return; /* it may be a name of what could not be read */
    if (pytorch_has(PYTORCH_FUNCTIONAL | PYTORCH_TORCH | PYTORCH_DTYPE, expr->text)) {
        diag_error(eval->cx, expr->loc, "%s is not supported yet by this version of modc", expr->text);
        return;
    }
    if (layer_find(expr->text) || elementwise_module(expr->text) || pytorch_has(PYTORCH_MODULE, expr->text)) {
        module_as_value(eval, expr->loc, expr->text);
        return;
    }
    diag_error(eval->cx, expr->loc, "'%s' is not known here", expr->text);
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        if (strcmp(habits[i].name, expr->text) == 0) {
            diag_hint(eval->cx, "%s", habits[i].hint);
            return;
        }
    }
    if (is_like_bool(expr->text))
        diag_hint(eval->cx, "a bool is written true or false");
    else
        diag_hint_nearest(eval->cx, expr->text, known, known_count);
}

/* A name in the scopes of the spec. */
static bool find_in_scopes(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    for (struct scope *s = scope; s; s = s->outer) {
        for (int i = 0; i < s->count; i++) {
            if (strcmp(s->items[i].name, expr->text) == 0) {
                *out = s->items[i].value;
                out->loc = expr->loc;
                if (out->kind == EV_TENSOR && eval->refresh)
                    out->tensor = eval->refresh(eval, out->tensor);
                return true;
            }
        }
        if (strcmp(expr->text, "self") == 0 && s->self) {
            *out = (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = "self", .module = s->self};
            return true;
        }
        if (s->find && s->find(eval, s, expr->text, expr->loc, out))
            return true;
    }
    return false;
}

static struct ev eval_name(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev out;

    if (find_in_scopes(eval, scope, expr, &out) || find_global(expr->text, expr->loc, &out))
        return out;
    unknown_name(eval, scope, expr);
    return ev_bad(expr->loc);
}

/* ---- operators -------------------------------------------------------------------------------------------- */

static const struct {
    enum prim prim;
    const char *label;
} op_prims[] = {
    [OP_ADD] = {PRIM_ADD, "add"},
    [OP_SUB] = {PRIM_SUB, "sub"},
    [OP_MUL] = {PRIM_MUL, "mul"},
    [OP_DIV] = {PRIM_DIV, "div"},
    [OP_FLOORDIV] = {PRIM_FLOORDIV, "floor_divide"},
    [OP_MOD] = {PRIM_MOD, "remainder"},
    [OP_POW] = {PRIM_POW, "pow"},
    [OP_EQ] = {PRIM_EQ, "eq"},
    [OP_NE] = {PRIM_NE, "ne"},
    [OP_LT] = {PRIM_LT, "lt"},
    [OP_LE] = {PRIM_LE, "le"},
    [OP_GT] = {PRIM_GT, "gt"},
    [OP_GE] = {PRIM_GE, "ge"},
    [OP_BITAND] = {PRIM_AND, "and"},
    [OP_BITOR] = {PRIM_OR, "or"},
    [OP_BITXOR] = {PRIM_XOR, "xor"},
};

static bool ev_equal(const struct ev *a, const struct ev *b)
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
        return a->dtype == b->dtype;
    case EV_TUPLE:
        if (a->count != b->count)
            return false;
        for (int i = 0; i < a->count; i++)
            if (!ev_equal(&a->items[i], &b->items[i]))
                return false;
        return true;
    case EV_MODULE:
        return a->module == b->module;
    case EV_FUNCTION:
        return a->function == b->function && a->elementwise == b->elementwise &&
               a->spec_function == b->spec_function;
    default:
        return a->kind == EV_NONE;
    }
}

/* A number of the sizes where one must be known. */
static struct ev depends_on_sizes(struct eval *eval, struct loc loc, const struct ev *value)
{
    diag_error(eval->cx, loc, "'%s' depends on sizes that are only known at run time", ev_text(eval, value));
    diag_hint(eval->cx, "conditions must be known while generating; make the size a constant");
    return ev_bad(loc);
}

static struct ev operand_fault(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                               const struct ev *b)
{
    if ((op == OP_AND || op == OP_OR) && ev_is_number(a))
        return depends_on_sizes(eval, loc, a);
    diag_error(eval->cx, loc, "'%s' does not take %s and %s", expr_op_text(op), ev_kind_text(a),
               ev_kind_text(b));
    if (op == OP_IS || op == OP_IS_NOT)
        diag_hint(eval->cx, "compare with %s", op == OP_IS ? "==" : "!=");
    if ((op == OP_AND || op == OP_OR) && (a->kind == EV_TENSOR || b->kind == EV_TENSOR))
        diag_hint(eval->cx, "'%s' takes what is known while generating; for tensors write '%s'",
                  expr_op_text(op), op == OP_AND ? "&" : "|");
    return ev_bad(loc);
}

/* Sums and products of known integers that leave 64 bits. */
static bool overflows(enum expr_op op, int64_t a, int64_t b)
{
    int64_t out;

    return (op == OP_ADD && __builtin_add_overflow(a, b, &out)) ||
           (op == OP_SUB && __builtin_sub_overflow(a, b, &out)) ||
           (op == OP_MUL && __builtin_mul_overflow(a, b, &out)) ||
           (op == OP_FLOORDIV && a == INT64_MIN && b == -1);
}

static const char *operand_text(struct eval *eval, const struct ev *value)
{
    const char *text = ev_text(eval, value);

    return strchr(text, ' ') ? arena_format(&eval->cx->arena, "(%s)", text) : text;
}

/* Of two numbers of which sizes decide one, or both. */
static struct ev sized_number(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                              const struct ev *b)
{
    return ev_float_dag(loc, build_number_binary(eval, op_prims[op].prim, a, b),
                        arena_format(&eval->cx->arena, "%s %s %s", operand_text(eval, a), expr_op_text(op),
                                     operand_text(eval, b)));
}

static struct ev dim_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                            const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *x = a->kind == EV_BOOL ? dim_const(arena, a->integer) : a->dim;
    const struct dim *y = b->kind == EV_BOOL ? dim_const(arena, b->integer) : b->dim;
    int64_t i = 0, j = 0;
    bool known = dim_is_const(x, &i);

    known = dim_is_const(y, &j) && known;

    if ((op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD) && dim_equals(y, 0)) {
        diag_error(eval->cx, b->loc, "division by zero");
        return ev_bad(loc);
    }
    if (known && overflows(op, i, j)) {
        diag_error(eval->cx, loc, "%lld %s %lld does not fit 64 bits", (long long)i, expr_op_text(op),
                   (long long)j);
        return ev_bad(loc);
    }
    switch (op) {
    case OP_ADD:
        return ev_dim(loc, dim_add(arena, x, y));
    case OP_SUB:
        return ev_dim(loc, dim_sub(arena, x, y));
    case OP_MUL:
        return ev_dim(loc, dim_mul(arena, x, y));
    case OP_FLOORDIV:
        return ev_dim(loc, dim_floordiv(arena, x, y));
    case OP_MOD:
        return ev_dim(loc, dim_mod(arena, x, y));
    case OP_EQ:
    case OP_NE: {
        bool same = dim_equal(x, y), apart;
        const struct dim *gap = dim_sub(arena, x, y);

        apart = dim_lower(gap) > 0 || dim_upper(gap) < 0;
        if (known || same || apart)
            return ev_bool(loc, same == (op == OP_EQ));
        break;
    }
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: {
        const struct dim *gap = dim_sub(arena, x, y); /* x op y  <=>  gap op 0 */
        int64_t low = dim_lower(gap), high = dim_upper(gap);

        if (op == OP_LT && (high < 0 || low >= 0))
            return ev_bool(loc, high < 0);
        if (op == OP_LE && (high <= 0 || low > 0))
            return ev_bool(loc, high <= 0);
        if (op == OP_GT && (low > 0 || high <= 0))
            return ev_bool(loc, low > 0);
        if (op == OP_GE && (low >= 0 || high < 0))
            return ev_bool(loc, low >= 0);
        break;
    }
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        if (known) {
            int64_t bits = op == OP_BITAND ? i & j : op == OP_BITOR ? i | j : i ^ j;

            return a->kind == EV_BOOL && b->kind == EV_BOOL ? ev_bool(loc, bits != 0)
                                                            : ev_int(eval, loc, bits);
        }
        break;
    case OP_POW:
        if (known && i == 0 && j < 0) {
            diag_error(eval->cx, loc, "division by zero: 0 to a negative power");
            return ev_bad(loc);
        }
        if (known && j >= 0) {
            int64_t power = 1;

            for (int64_t k = 0; k < j; k++) {
                if (__builtin_mul_overflow(power, i, &power)) {
                    diag_error(eval->cx, loc, "%lld ** %lld does not fit 64 bits", (long long)i,
                               (long long)j);
                    return ev_bad(loc);
                }
                if (power == 0 || power == 1)
                    break;
            }
            if (i == -1)
                power = j % 2 ? -1 : 1;
            return ev_int(eval, loc, power);
        }
        if (known)
            return ev_float(loc, pow((double)i, (double)j));
        if (dim_is_const(y, &j) && j >= 0 && j <= MAX_DIMS) { /* of a size */
            const struct dim *power = dim_const(arena, 1);

            for (int64_t k = 0; k < j; k++)
                power = dim_mul(arena, power, x);
            return ev_dim(loc, power);
        }
        break;
    case OP_DIV:
        if (known)
            return ev_float(loc, (double)i / (double)j);
        return sized_number(eval, loc, op, a, b);
    default:
        break;
    }
    if (known)
        return operand_fault(eval, loc, op, a, b);
    diag_error(eval->cx, loc, "'%s %s %s' depends on sizes that are only known at run time",
               dim_text(arena, x), expr_op_text(op), dim_text(arena, y));
    diag_hint(eval->cx, "conditions must be known while generating; make the size a constant");
    return ev_bad(loc);
}

/* Python's x % y of floats. */
static double float_rest(double x, double y)
{
    double rest = fmod(x, y);

    return rest == 0 ? copysign(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Of two numbers, of which one is a float. `b` is the right one. */
static struct ev number_binary(struct eval *eval, struct loc loc, enum expr_op op, double x, double y,
                               const struct ev *b)
{
    double power;

    switch (op) {
    case OP_ADD:
        return ev_float(loc, x + y);
    case OP_SUB:
        return ev_float(loc, x - y);
    case OP_MUL:
        return ev_float(loc, x * y);
    case OP_DIV:
    case OP_FLOORDIV:
    case OP_MOD:
        if (y == 0) {
            diag_error(eval->cx, b->loc, "division by zero");
            return ev_bad(loc);
        }
        if (op == OP_MOD)
            return ev_float(loc, float_rest(x, y));
        if (op == OP_FLOORDIV)
            return ev_float(loc, prim_eval(PRIM_FLOORDIV, DTYPE_FLOAT64, DTYPE_FLOAT64,
                                           (union scalar[2]){{.f = x}, {.f = y}})
                                     .f);
        return ev_float(loc, x / y);
    case OP_POW:
        power = pow(x, y);
        if (x == 0 && y < 0)
            diag_error(eval->cx, loc, "division by zero: 0 to a negative power");
        else if (isnan(power) && !isnan(x) && !isnan(y))
            diag_error(eval->cx, loc, "(%g) ** %g is a complex number", x, y);
        else if (isinf(power) && isfinite(x) && isfinite(y))
            diag_error(eval->cx, loc, "%g ** %g is too large", x, y);
        else
            return ev_float(loc, power);
        return ev_bad(loc);
    case OP_EQ:
        return ev_bool(loc, x == y);
    case OP_NE:
        return ev_bool(loc, x != y);
    case OP_LT:
        return ev_bool(loc, x < y);
    case OP_LE:
        return ev_bool(loc, x <= y);
    case OP_GT:
        return ev_bool(loc, x > y);
    case OP_GE:
        return ev_bool(loc, x >= y);
    default:
        return ev_bad(loc);
    }
}

/* Of two numbers that are both known or integers, or of which sizes decide one. */
static struct ev number_binary_values(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                                      const struct ev *b)
{
    double x, y;

    if (a->kind != EV_FLOAT && b->kind != EV_FLOAT && op != OP_MATMUL)
        return dim_binary(eval, loc, op, a, b);
    if (op == OP_MATMUL || op >= OP_BITAND)
        return operand_fault(eval, loc, op, a, b);
    if (ev_get_number(a, &x) && ev_get_number(b, &y))
        return number_binary(eval, loc, op, x, y, b);
    if (op >= OP_EQ && op <= OP_GE)
        return depends_on_sizes(eval, loc, ev_get_number(a, &x) ? b : a);
    return sized_number(eval, loc, op, a, b);
}

/* a + b of tuples, lists and strings, a * n and n * a; EV_NONE: not one of these. */
static struct ev sequence_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                                 const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *many = a->kind == EV_TUPLE ? a : b, *times = a->kind == EV_TUPLE ? b : a;
    struct ev *items, out;
    int64_t number, count;

    if (op == OP_ADD && a->kind == EV_STRING && b->kind == EV_STRING)
        return ev_string(loc, arena_format(arena, "%s%s", a->text, b->text));
    if (op == OP_ADD && a->kind == EV_TUPLE && b->kind == EV_TUPLE && a->list == b->list)
        count = (int64_t)a->count + b->count;
    else if (op == OP_MUL && many->kind == EV_TUPLE && ev_get_int(times, &number))
        count = number <= 0 || many->count == 0 ? 0 : number > EVAL_MAX_ITEMS ? number : number * many->count;
    else
        return ev_none(loc);
    if (!fits_items(eval, loc, count))
        return ev_bad(loc);
    items = ARENA_ARRAY(arena, count + 1, struct ev);
    for (int i = 0; i < count; i++)
        items[i] = op == OP_MUL   ? many->items[i % many->count]
                   : i < a->count ? a->items[i]
                                  : b->items[i - a->count];
    out = ev_tuple(eval, loc, items, (int)count);
    out.list = many->list;
    return out;
}

/* What indices and len() of a module go over: its parameters, where it is a list or mapping of those, or its children. */
static int element_count(const struct module *module)
{
    return module_holds_parameters(module) ? module->tensor_count : module->child_count;
}

static const char *element_name(const struct module *module, int index)
{
    return module_holds_parameters(module) ? module->tensors[index]->name : module->children[index]->name;
}

/* `is`: of what there is one of. */
static struct ev eval_is(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                         const struct ev *b)
{
    static const bool single[] = {
        [EV_NONE] = true, [EV_BOOL] = true, [EV_DTYPE] = true, [EV_MODULE] = true, [EV_SPACE] = false};

    if (!single[a->kind] && !single[b->kind])
        return operand_fault(eval, loc, op, a, b);
    return ev_bool(loc, (a->kind == b->kind && ev_equal(a, b)) == (op == OP_IS));
}

static struct ev eval_in(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                         const struct ev *b)
{
    bool found = false;

    if (b->kind == EV_STRING && a->kind == EV_STRING) {
        found = strstr(b->text, a->text) != NULL;
    } else if (b->kind == EV_TUPLE && a->kind != EV_TENSOR) {
        for (int i = 0; i < b->count; i++)
            found |= ev_equal(a, &b->items[i]);
    } else if (b->kind == EV_MODULE && a->kind == EV_STRING) {
        found = module_holds_parameters(b->module) ? module_find_tensor(b->module, a->text) != NULL
                                                   : module_child(b->module, a->text) != NULL;
    } else {
        return operand_fault(eval, loc, op, a, b);
    }
    return ev_bool(loc, found == (op == OP_IN));
}

static struct ev eval_binary_values(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                                    const struct ev *b)
{
    bool a_tensor = a->kind == EV_TENSOR, b_tensor = b->kind == EV_TENSOR, truth;
    struct ev out;

    if (a->kind == EV_BAD || b->kind == EV_BAD)
        return ev_bad(loc);
    switch (op) {
    case OP_AND:
    case OP_OR:
        if (!ev_get_bool(a, &truth))
            return operand_fault(eval, loc, op, a, b);
        return truth == (op == OP_OR) ? *a : *b;
    case OP_IS:
    case OP_IS_NOT:
        return eval_is(eval, loc, op, a, b);
    case OP_IN:
    case OP_NOT_IN:
        return eval_in(eval, loc, op, a, b);
    case OP_MATMUL:
        if (a_tensor && b_tensor)
            return ev_tensor(loc, build_matmul(eval, loc, a->tensor, b->tensor, NULL));
        return operand_fault(eval, loc, op, a, b);
    default:
        break;
    }
    if (ev_is_number(a) && ev_is_number(b))
        return number_binary_values(eval, loc, op, a, b);
    if ((a_tensor || b_tensor) && (a_tensor || ev_is_number(a)) && (b_tensor || ev_is_number(b)))
        return build_binary(eval, loc, op_prims[op].prim, op_prims[op].label, a, b);
    if (op == OP_EQ || op == OP_NE)
        return ev_bool(loc, ev_equal(a, b) == (op == OP_EQ));
    out = sequence_binary(eval, loc, op, a, b);
    return out.kind == EV_NONE ? operand_fault(eval, loc, op, a, b) : out;
}

/* a < b < c: (a < b) and (b < c), with b evaluated once. */
static struct ev eval_chain(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev left = eval_expr(eval, scope, expr->items[0]), right, out = left;
    bool truth = true;

    for (int i = 1; i < expr->count && truth; i++) {
        right = eval_expr(eval, scope, expr->items[i]);
        out = eval_binary_values(eval, expr->loc, expr->chain[i - 1], &left, &right);
        if (out.kind == EV_BAD)
            return out;
        if (out.kind == EV_TENSOR) {
            diag_error(eval->cx, expr->loc, "comparisons of tensors are not chained");
            diag_hint(eval->cx, "write (a < b) & (b < c)");
            return ev_bad(expr->loc);
        }
        ev_get_bool(&out, &truth);
        left = right;
    }
    return out;
}

static struct ev eval_unary(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev a = eval_expr(eval, scope, expr->a);
    bool truth;

    if (a.kind == EV_BAD)
        return a;
    if (expr->op == OP_NOT) {
        if (ev_get_bool(&a, &truth))
            return ev_bool(expr->loc, !truth);
        if (ev_is_number(&a))
            return depends_on_sizes(eval, expr->loc, &a);
    } else if (a.kind == EV_TENSOR) {
        struct value *x = a.tensor;
        struct dag *dag = dag_new(&eval->cx->arena, 1);
        int load = dag_load(&eval->cx->arena, dag, 0, x->dtype);

        if (expr->op == OP_POS)
            return a;
        if (expr->op == OP_NEG && x->dtype == DTYPE_BOOL) {
            diag_error(eval->cx, expr->loc, "unary '-' does not take a bool tensor");
            diag_hint(eval->cx, "use '~' or logical_not");
            return ev_bad(expr->loc);
        }
        if (expr->op == OP_INVERT && dtype_is_float(x->dtype)) {
            diag_error(eval->cx, expr->loc, "'~' takes bool or integer tensors, not %s",
                       dtype_rows[x->dtype].name);
            return ev_bad(expr->loc);
        }
        dag->result = dag_prim(&eval->cx->arena, dag, expr->op == OP_NEG ? PRIM_NEG : PRIM_NOT, x->dtype,
                               load, -1, -1);
        return ev_tensor(expr->loc,
                         build_map(eval, expr->loc, expr->op == OP_NEG ? "neg" : "not", dag, &a.tensor, 1));
    } else if (a.kind == EV_FLOAT && expr->op != OP_INVERT) {
        struct ev minus = ev_int(eval, expr->loc, -1);

        return expr->op == OP_POS ? a : eval_binary_values(eval, expr->loc, OP_MUL, &minus, &a);
    } else if (a.kind == EV_INT || a.kind == EV_BOOL) {
        struct ev zero = ev_int(eval, expr->loc, expr->op == OP_INVERT ? -1 : 0);

        return eval_binary_values(eval, expr->loc, expr->op == OP_POS ? OP_ADD : OP_SUB, &zero, &a);
    }
    diag_error(eval->cx, expr->loc, "'%s' does not take %s", expr_op_text(expr->op), ev_kind_text(&a));
    if (expr->op == OP_NOT && a.kind == EV_TENSOR)
        diag_hint(eval->cx, "'not' takes what is known while generating; for tensors write '~'");
    return ev_bad(expr->loc);
}

/* ---- attributes and subscripts ---------------------------------------------------------------------------- */

static struct ev tensor_shape(struct eval *eval, struct loc loc, const struct value *value)
{
    struct ev items[MAX_DIMS];

    for (int i = 0; i < value->ndim; i++)
        items[i] = ev_dim(loc, value->dims[i]);
    return ev_tuple(eval, loc, items, value->ndim);
}

static struct ev tensor_transposed(struct eval *eval, struct loc loc, struct value *value, bool all)
{
    int perm[MAX_DIMS], n = value->ndim;

    for (int i = 0; i < n; i++)
        perm[i] = all ? n - 1 - i : i;
    if (!all && n >= 2) {
        perm[n - 2] = n - 1;
        perm[n - 1] = n - 2;
    }
    return ev_tensor(loc, build_permute(eval, loc, value, perm));
}

static const char *method_name(struct eval *eval, const char *text)
{
    return arena_copy(&eval->cx->arena, text, strcspn(text, "("));
}

static struct ev module_method(struct eval *eval, struct module *module, const char *text, struct loc loc)
{
    struct ev *self = ARENA_NEW(&eval->cx->arena, struct ev);

    *self = ev_module(loc, module);
    return (struct ev){.kind = EV_METHOD, .loc = loc, .text = text, .items = self};
}

struct ev eval_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    if (tensor->faulty)
        return ev_bad(loc);
    return tensor->none ? ev_none(loc) : eval->read(eval, tensor, loc);
}

/* `name_loc` is the place of the name alone. */
static struct ev module_attribute(struct eval *eval, struct module *module, struct loc loc, const char *name,
                                  struct loc name_loc)
{
    struct module *child = module_child(module, name);
    struct module_tensor *tensor = module_find_tensor(module, name);

    if (child)
        return child->faulty ? ev_bad(loc) : ev_module(loc, child);
    if (tensor)
        return eval_tensor(eval, tensor, loc);
    for (int i = 0; i < module->arg_count; i++)
        if (strcmp(module->args[i].name, name) == 0)
            return module->args[i].value;
    if (strcmp(name, "training") == 0)
        return ev_bool(loc, eval->training);
    for (int i = 0; module->layer && i < LAYER_MAX_METHODS && module->layer->methods[i]; i++)
        if (strcmp(method_name(eval, module->layer->methods[i]), name) == 0)
            return module_method(eval, module, module->layer->methods[i], loc);

    const char **known = NULL;
    int count = 0;

    for (int i = 0; i < module->child_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->children[i]->name);
    for (int i = 0; i < module->tensor_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->tensors[i]->name);
    for (int i = 0; i < module->arg_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->args[i].name);
    for (int i = 0; module->layer && i < LAYER_MAX_METHODS && module->layer->methods[i]; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, method_name(eval, module->layer->methods[i]));
    if (module->faulty || (eval->partial && !diag_nearest(name, known, count)))
        return ev_bad(loc);
    diag_error(eval->cx, name_loc, "%s has no attribute '%s'", module->class_name, name);
    if (module->lazy && module->layer == module->lazy) {
        diag_hint(eval->cx, "its parameters are made by its first call");
    } else if (strcmp(name, "forward") == 0) {
        diag_hint(eval->cx, "call the module itself");
    } else if (diag_nearest(name, known, count)) {
        diag_hint_nearest(eval->cx, name, known, count);
    } else if (module->child_count > 0 && module->child_count <= 8 && !module->spec_class) {
        struct text text = text_new(&eval->cx->arena);

        for (int i = 0; i < module->child_count; i++)
            text_printf(&text, "%s'%s'", i ? ", " : "", module->children[i]->name);
        diag_hint(eval->cx, "it has %s", text.data);
    } else if (module->spec_class) {
        diag_hint(eval->cx, "declare it under 'modules:', 'parameters:', 'buffers:' or 'state:'");
    }
    return ev_bad(loc);
}

static struct ev space_attribute(struct eval *eval, const struct ev *space, const struct expr *expr)
{
    const char *name = expr->text;
    struct ev out;
    enum dtype dtype;

    if (strcmp(space->text, "self") == 0)
        return module_attribute(eval, space->module, expr->loc, name, expr->name_loc);
    if (strcmp(space->text, "torch") == 0) {
        if (strcmp(name, "nn") == 0)
            return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = "torch.nn"};
        if (strcmp(name, "linalg") == 0)
            return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = "torch.linalg"};
        if (find_function(name, FUNCTION_TORCH, expr->loc, &out))
            return out;
        if (dtype_find(name, &dtype) && dtype_is_supported(dtype))
            return ev_dtype(expr->loc, dtype);
        if ((strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0) &&
            find_global(name, expr->loc, &out))
            return out;
    } else if (strcmp(space->text, "torch.linalg") == 0) {
        if (find_function(arena_format(&eval->cx->arena, "linalg.%s", name), FUNCTION_TORCH, expr->loc, &out))
            return out;
    } else if (strcmp(space->text, "torch.nn") == 0 && strcmp(name, "functional") == 0) {
        return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = "torch.nn.functional"};
    } else if (find_function(name, FUNCTION_FUNCTIONAL, expr->loc, &out)) {
        return out;
    }

    int count;
    unsigned flag = strcmp(space->text, "torch") == 0 ? FUNCTION_TORCH : FUNCTION_FUNCTIONAL;
    const char *const *known = function_names(eval->cx, flag, &count);

    if (strcmp(space->text, "torch.nn") == 0 && pytorch_has(PYTORCH_MODULE, name)) {
        module_as_value(eval, expr->name_loc, name);
        return ev_bad(expr->loc);
    }
    if (pytorch_has(flag == FUNCTION_TORCH ? PYTORCH_TORCH | PYTORCH_DTYPE : PYTORCH_FUNCTIONAL, name)) {
        diag_error(eval->cx, expr->name_loc, "%s.%s is not supported yet by this version of modc",
                   space->text, name);
        return ev_bad(expr->loc);
    }
    diag_error(eval->cx, expr->name_loc, "modc does not know %s.%s", space->text, name);
    diag_hint_nearest(eval->cx, name, known, count);
    return ev_bad(expr->loc);
}

static void unknown_attribute(struct eval *eval, const struct ev *base, const char *name, struct loc loc)
{
    static const char *const attributes[] = {"shape", "ndim", "dtype", "T", "mT"};
    struct arena *arena = &eval->cx->arena;
    const char **known = NULL;
    int count = 0, methods;

    if (base->kind == EV_TENSOR && strcmp(name, "device") == 0) {
        diag_error(eval->cx, loc, "a spec has no devices of tensors: all are the model's");
        diag_hint(eval->cx, "leave it out");
        return;
    }
    if (base->kind == EV_TENSOR && pytorch_has(PYTORCH_TORCH | PYTORCH_METHOD, name)) {
        diag_error(eval->cx, loc, "the method '%s' is not supported yet by this version of modc", name);
        if (name[strlen(name) - 1] == '_' &&
            (function_find(arena_copy(arena, name, strlen(name) - 1), FUNCTION_METHOD) ||
             elementwise_find(arena_copy(arena, name, strlen(name) - 1))))
            diag_hint(eval->cx, "x = x.%.*s(...): modc works in place where it can", (int)strlen(name) - 1,
                      name);
        return;
    }
    if (base->kind == EV_TENSOR) {
        const char *const *names = function_names(eval->cx, FUNCTION_METHOD, &methods);

        for (int i = 0; i < methods; i++)
            ARENA_PUSH(arena, known, count, names[i]);
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            ARENA_PUSH(arena, known, count, attributes[i]);
    }
    for (int i = 0; base->kind == EV_TUPLE && base->fields && i < base->count; i++)
        ARENA_PUSH(arena, known, count, base->fields[i]);
    diag_error(eval->cx, loc, "%s has no attribute '%s'", ev_kind_text(base), name);
    diag_hint_nearest(eval->cx, name, known, count);
}

static struct ev eval_attribute(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev base = eval_expr(eval, scope, expr->a);
    const char *name = expr->text;
    struct ev out;

    switch (base.kind) {
    case EV_BAD:
        return base;
    case EV_SPACE:
        return space_attribute(eval, &base, expr);
    case EV_MODULE:
        return module_attribute(eval, base.module, expr->loc, name, expr->name_loc);
    case EV_TUPLE:
        for (int i = 0; base.fields && i < base.count; i++)
            if (strcmp(base.fields[i], name) == 0)
                return base.items[i];
        break;
    case EV_DTYPE:
        if (strcmp(name, "is_floating_point") == 0)
            return ev_bool(expr->loc, dtype_is_float(base.dtype));
        if (strcmp(name, "itemsize") == 0)
            return ev_int(eval, expr->loc, dtype_rows[base.dtype].bytes);
        break;
    case EV_TENSOR:
        if (strcmp(name, "shape") == 0)
            return tensor_shape(eval, expr->loc, base.tensor);
        if (strcmp(name, "ndim") == 0)
            return ev_int(eval, expr->loc, base.tensor->ndim);
        if (strcmp(name, "dtype") == 0)
            return ev_dtype(expr->loc, base.tensor->dtype);
        if (strcmp(name, "mT") == 0 && base.tensor->ndim < 2) {
            diag_error(eval->cx, expr->name_loc, "mT takes a tensor of at least two dimensions, found %s",
                       shape_text(&eval->cx->arena, base.tensor->ndim, base.tensor->dims));
            return ev_bad(expr->loc);
        }
        if (strcmp(name, "T") == 0 || strcmp(name, "mT") == 0)
            return tensor_transposed(eval, expr->loc, base.tensor, name[0] == 'T');
        if (find_function(name, FUNCTION_METHOD, expr->loc, &out)) {
            struct ev *self = ARENA_NEW(&eval->cx->arena, struct ev);

            *self = base;
            out.kind = EV_METHOD;
            out.items = self;
            return out;
        }
        break;
    default:
        break;
    }

    unknown_attribute(eval, &base, name, expr->name_loc);
    return ev_bad(expr->loc);
}

/* A bound of a slice, clamped into 0 .. extent as Python does. Where sizes decide its sign it counts from the front, and
 * a call in which it is negative is refused. */
static const struct dim *slice_bound(struct eval *eval, const struct ev *bound, const struct dim *extent,
                                     const struct dim *absent)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *value = bound->dim, *zero = dim_const(arena, 0);

    if (bound->kind == EV_NONE)
        return absent;
    if (dim_upper(value) < 0)
        value = dim_add(arena, value, extent);
    else
        build_need(eval, value);
    return dim_min(arena, dim_max(arena, value, zero), extent);
}

static struct value *index_slice(struct eval *eval, struct value *value, int axis, const struct ev *slice)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = value->dims[axis], *zero = dim_const(arena, 0), *length;
    int64_t step = 1;

    for (int i = 0; i < 3; i++) {
        if (slice->items[i].kind == EV_BOOL)
            slice->items[i] = ev_int(eval, slice->items[i].loc, slice->items[i].integer);
        if (slice->items[i].kind != EV_NONE && slice->items[i].kind != EV_INT) {
            diag_error(eval->cx, slice->items[i].loc, "a slice takes integers, not %s",
                       ev_kind_text(&slice->items[i]));
            return NULL;
        }
    }
    if (slice->items[2].kind == EV_INT && !dim_is_const(slice->items[2].dim, &step)) {
        diag_error(eval->cx, slice->items[2].loc, "the step of a slice must be known while generating");
        return NULL;
    }
    if (step <= 0) {
        diag_error(eval->cx, slice->items[2].loc, "the step of a slice must be positive, found %lld",
                   (long long)step);
        if (step < 0)
            diag_hint(eval->cx, "PyTorch refuses negative steps too");
        return NULL;
    }

    if (step > (int64_t)1 << 40) /* further than any dimension goes, and so is this */
        step = (int64_t)1 << 40;

    const struct dim *start = slice_bound(eval, &slice->items[0], extent, zero);
    const struct dim *stop = slice_bound(eval, &slice->items[1], extent, extent);

    length = dim_sub(arena, stop, start);
    if (!dim_equal(length, extent)) /* a dimension is none below 0, whatever its bounds say */
        length = dim_max(arena, length, zero);
    if (step > 1)
        length = dim_floordiv(arena, dim_add(arena, length, dim_const(arena, step - 1)),
                              dim_const(arena, step));
    return build_slice(eval, slice->loc, value, axis, start, dim_const(arena, step), length);
}

struct value *eval_select(struct eval *eval, struct value *value, int axis, const struct ev *index)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = value->dims[axis], *at = index->dim, *dims[MAX_DIMS];
    struct loc loc = index->loc;
    int64_t size, i;
    int n = 0;

    if (dim_upper(at) < 0)
        at = dim_add(arena, at, extent);
    if (dim_is_const(extent, &size) && dim_is_const(at, &i) && (i < 0 || i >= size)) {
        diag_error(eval->cx, loc, "index %s is out of range for dimension %d of size %lld",
                   dim_text(arena, index->dim), axis, (long long)size);
        return NULL;
    }
    /* sizes count from 1 here, as far as bounds can tell: at 0 there is nothing to choose from */
    if (dim_lower(at) < -1 || dim_lower(dim_sub(arena, extent, at)) < 0 ||
        dim_upper(dim_sub(arena, extent, at)) <= 0) {
        diag_error(eval->cx, loc,
                   "index %s is out of range for dimension %d of size %s, for some values of the sizes",
                   dim_text(arena, index->dim), axis, dim_text(arena, extent));
        return NULL;
    }
    build_need(eval, at);
    build_need(eval, dim_sub(arena, dim_sub(arena, extent, at), dim_const(arena, 1)));
    value = build_slice(eval, loc, value, axis, at, dim_const(arena, 1), dim_const(arena, 1));
    if (!value)
        return NULL;
    for (int d = 0; d < value->ndim; d++)
        if (d != axis)
            dims[n++] = value->dims[d];
    return build_reshape(eval, loc, value, n, dims);
}

static bool takes_axis(const struct ev *item)
{
    return item->kind == EV_INT || item->kind == EV_SLICE || item->kind == EV_TENSOR ||
           item->kind == EV_TUPLE;
}

/* A list of integers as a tensor; NULL after an error. */
static struct value *index_list(struct eval *eval, const struct ev *list)
{
    struct tensor *tensor = ARENA_NEW(&eval->cx->arena, struct tensor);

    tensor->dtype = DTYPE_INT64;
    tensor->ndim = 1;
    tensor->dims[0] = list->count;
    tensor->data = ARENA_ARRAY(&eval->cx->arena, list->count + 1, union scalar);
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].kind == EV_BAD)
            return NULL;
        if (list->items[i].kind == EV_INT && ev_get_int(&list->items[i], &tensor->data[i].i))
            continue;
        diag_error(eval->cx, list->items[i].loc, "a list as an index has integers, found %s",
                   ev_text(eval, &list->items[i]));
        return NULL;
    }
    return build_const(eval, list->loc, tensor);
}

/* A tensor of integers, or a list of them, as an index; NULL after an error. */
static struct value *index_value(struct eval *eval, const struct ev *item)
{
    struct value *index = item->kind == EV_TENSOR ? item->tensor : index_list(eval, item);

    if (!index)
        return NULL;
    if (index->dtype == DTYPE_BOOL || index->dtype == DTYPE_UINT8) {
        diag_error(eval->cx, item->loc,
                   "an index that is a mask would give a shape that depends on its values");
        diag_hint(eval->cx, "where(mask, a, b) and masked_fill keep the shape");
        return NULL;
    }
    if (index->dtype != DTYPE_INT64 && index->dtype != DTYPE_INT32) {
        diag_error(eval->cx, item->loc, "an index must be int64 or int32, found %s",
                   dtype_rows[index->dtype].name);
        return NULL;
    }
    return index;
}

/* Indices that are tensors, and the axes that they are for, in order. */
struct places {
    struct value *indices[MAX_DIMS];
    int axes[MAX_DIMS], count;
    struct loc loc;
};

/* x[i, :, j]: the dimensions to which the indices broadcast take the place of their axes, or come first where others stand
 * between these. */
static struct value *index_places(struct eval *eval, struct value *value, const struct places *places)
{
    int perm[MAX_DIMS], n = 0, count = places->count, first = places->axes[0];
    bool adjacent = places->axes[count - 1] - first == count - 1;

    if (count == 1)
        return build_gather(eval, places->loc, "index", value, first, places->indices[0], false, true);
    if (!adjacent)
        first = 0;
    for (int i = 0; i < first; i++)
        perm[n++] = i;
    for (int i = 0; i < count; i++)
        perm[n++] = places->axes[i];
    for (int i = first; i < value->ndim; i++) {
        bool indexed = false;

        for (int k = 0; k < count; k++)
            indexed |= places->axes[k] == i;
        if (!indexed)
            perm[n++] = i;
    }
    value = build_permute(eval, places->loc, value, perm);
    return value ? build_gather_places(eval, places->loc, value, first, places->indices, count) : NULL;
}

static struct ev index_tensor(struct eval *eval, struct loc loc, struct value *value, const struct ev *items,
                              int count)
{
    struct arena *arena = &eval->cx->arena;
    struct places places = {.loc = loc};
    int taken = 0, axis = 0;
    bool ellipsis = false;

    for (int i = 0; i < count; i++) {
        if (items[i].kind == EV_BAD)
            return ev_bad(loc);
        taken += takes_axis(&items[i]);
        if (items[i].kind == EV_ELLIPSIS && ellipsis) {
            diag_error(eval->cx, items[i].loc, "an index can have only one '...'");
            return ev_bad(loc);
        }
        ellipsis |= items[i].kind == EV_ELLIPSIS;
    }
    if (taken > value->ndim) {
        diag_error(eval->cx, loc, "too many indices: %d for a tensor of shape %s", taken,
                   shape_text(arena, value->ndim, value->dims));
        return ev_bad(loc);
    }
    for (int i = 0; i < count && value; i++) {
        const struct dim *dims[MAX_DIMS + 1];
        struct value *index;

        switch (items[i].kind) {
        case EV_INT:
            value = eval_select(eval, value, axis, &items[i]);
            break;
        case EV_SLICE:
            value = index_slice(eval, value, axis++, &items[i]);
            break;
        case EV_ELLIPSIS: {
            int rest = 0;

            for (int j = i + 1; j < count; j++)
                rest += takes_axis(&items[j]);
            axis = value->ndim - rest;
            break;
        }
        case EV_NONE:
            if (value->ndim == MAX_DIMS) {
                diag_error(eval->cx, items[i].loc, "a tensor has at most %d dimensions", MAX_DIMS);
                return ev_bad(loc);
            }
            memcpy(dims, value->dims, sizeof(dims[0]) * (size_t)axis);
            dims[axis] = dim_const(arena, 1);
            memcpy(dims + axis + 1, value->dims + axis, sizeof(dims[0]) * (size_t)(value->ndim - axis));
            value = build_reshape(eval, loc, value, value->ndim + 1, dims);
            axis++;
            break;
        case EV_TUPLE:
        case EV_TENSOR:
            index = index_value(eval, &items[i]);
            if (!index)
                return ev_bad(loc);
            if (index->ndim == 0) { /* as an integer */
                value = build_gather(eval, items[i].loc, "index", value, axis, index, false, true);
                break;
            }
            places.loc = places.count == 0 ? items[i].loc : loc;
            places.axes[places.count] = axis++;
            places.indices[places.count++] = index;
            break;
        default:
            diag_error(eval->cx, items[i].loc, "an index takes integers, slices, None and '...', not %s",
                       ev_kind_text(&items[i]));
            return ev_bad(loc);
        }
    }
    if (value && places.count > 0)
        value = index_places(eval, value, &places);
    return ev_tensor(loc, value);
}

/* Python's bounds of a slice of `count` items, the step of which stays below 2 * count. False: they are not integers that are
 * known, or the step is not positive. */
static bool slice_range(const struct ev *slice, int count, int64_t bound[3])
{
    bound[0] = 0;
    bound[1] = count;
    bound[2] = 1;
    for (int i = 0; i < 3; i++) {
        const struct ev *b = &slice->items[i];

        if (b->kind == EV_NONE)
            continue;
        if (!ev_get_int(b, &bound[i]))
            return false;
        if (i < 2 && bound[i] < 0)
            bound[i] += count;
        if (i < 2)
            bound[i] = bound[i] < 0 ? 0 : bound[i] > count ? count : bound[i];
    }
    if (bound[2] > count)
        bound[2] = count + 1;
    return bound[2] > 0;
}

/* Lists of modules. */
static bool has_slices(const struct ev *value)
{
    return value->kind == EV_MODULE && value->module->layer &&
           (value->module->layer->container == LAYER_SEQUENTIAL ||
            value->module->layer->container == LAYER_MODULE_LIST);
}

/* A list of some of the children. It is no part of the tree: only they are called. */
static struct module *slice_of(struct eval *eval, const struct module *module, const int64_t bound[3])
{
    struct module *slice = ARENA_NEW(&eval->cx->arena, struct module);

    *slice = (struct module){.path = module->path,
                             .name = module->name,
                             .class_name = module->class_name,
                             .loc = module->loc,
                             .name_loc = module->name_loc,
                             .text = module->text,
                             .layer = module->layer,
                             .is_slice = true};
    for (int64_t i = bound[0]; i < bound[1]; i += bound[2])
        ARENA_PUSH(&eval->cx->arena, slice->children, slice->child_count, module->children[i]);
    return slice;
}

static struct ev eval_index(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev base = eval_expr(eval, scope, expr->a);
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, expr->count, struct ev);
    int64_t at;

    for (int i = 0; i < expr->count; i++)
        items[i] = eval_expr(eval, scope, expr->items[i]);
    if (base.kind == EV_BAD)
        return base;
    if (base.kind == EV_SPACE && base.module) /* self[0] */
        base = ev_module(base.loc, base.module);
    if (base.kind == EV_TENSOR)
        return index_tensor(eval, expr->loc, base.tensor, items, expr->count);
    for (int i = 0; i < expr->count; i++)
        if (items[i].kind == EV_BAD)
            return items[i];
    if (expr->count != 1)
        goto fault;
    if (base.kind == EV_TUPLE && ev_get_int(&items[0], &at)) {
        if (at < 0)
            at += base.count;
        if (at < 0 || at >= base.count) {
            diag_error(eval->cx, items[0].loc, "index %s is out of range: there are %d",
                       ev_text(eval, &items[0]), base.count);
            return ev_bad(expr->loc);
        }

        struct ev item = base.items[at];

        item.loc = expr->loc;
        return item;
    }
    if ((base.kind == EV_TUPLE || has_slices(&base)) && items[0].kind == EV_SLICE) {
        int64_t bound[3];

        if (!slice_range(&items[0], base.kind == EV_TUPLE ? base.count : base.module->child_count, bound))
            goto fault;
        if (base.kind == EV_MODULE)
            return ev_module(expr->loc, slice_of(eval, base.module, bound));

        struct ev *part = ARENA_ARRAY(&eval->cx->arena, base.count + 1, struct ev);
        int n = 0;

        for (int64_t k = bound[0]; k < bound[1]; k += bound[2])
            part[n++] = base.items[k];
        return ev_tuple(eval, expr->loc, part, n);
    }
    if (base.kind == EV_MODULE) {
        if (ev_get_int(&items[0], &at)) {
            int count = element_count(base.module);

            if (at < 0)
                at += count;
            if (at >= 0 && at < count)
                return module_attribute(eval, base.module, expr->loc, element_name(base.module, (int)at),
                                        items[0].loc);
            diag_error(eval->cx, items[0].loc, "index %s is out of range: '%s' has %d %s",
                       ev_text(eval, &items[0]), base.module->path, count,
                       module_holds_parameters(base.module) ? "parameters" : "children");
            return ev_bad(expr->loc);
        }
        if (items[0].kind == EV_STRING)
            return module_attribute(eval, base.module, expr->loc, items[0].text, items[0].loc);
    }
fault:
    if (base.kind == EV_TUPLE || base.kind == EV_MODULE)
        diag_error(eval->cx, expr->loc, "the index of %s is one %s, found %s", ev_kind_text(&base),
                   base.kind == EV_TUPLE ? "integer, or a slice of integers whose step is positive"
                                         : "integer or name",
                   expr->count != 1 ? "several" : ev_text(eval, &items[0]));
    else
        diag_error(eval->cx, expr->loc, "%s has no elements to index", ev_kind_text(&base));
    return ev_bad(expr->loc);
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

/* A text of the tables, parsed once: bodies run for every call of every module. */
struct parsed {
    const char *text;
    struct source *source;
    struct signature *signature; /* what it was parsed as: one of these three */
    struct stmt **statements;
    struct expr *expr;
    int count; /* of statements */
    struct parsed *next;
};

/* Its entry, empty when the text comes first. */
static struct parsed *find_parsed(struct eval *eval, const char *text)
{
    struct cx *cx = eval->cx;
    struct parsed **slot =
        &cx->parsed[text_hash(text, strlen(text)) % (sizeof cx->parsed / sizeof *cx->parsed)];
    struct parsed *parsed = *slot;

    while (parsed && strcmp(parsed->text, text) != 0)
        parsed = parsed->next;
    if (!parsed) {
        parsed = ARENA_NEW(&cx->arena, struct parsed);
        *parsed = (struct parsed){.text = text, .next = *slot};
        *slot = parsed;
    }
    return parsed;
}

static struct source *table_source(struct eval *eval, const char *text)
{
    struct source *source = ARENA_NEW(&eval->cx->arena, struct source);

    *source = (struct source){.name = "<expression>", .text = text, .length = strlen(text)};
    return source;
}

const struct signature *eval_signature(struct eval *eval, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);

    if (!parsed->signature) {
        struct source *source = table_source(eval, text);
        bool fine;

        parsed->signature = ARENA_NEW(&eval->cx->arena, struct signature);
        fine = signature_parse(eval->cx, source, 0, source->length, parsed->signature);
        assert(fine && "signature of a table");
        (void)fine;
    }
    return parsed->signature;
}

static void hint_signature(struct eval *eval, const char *what, const struct signature_arg *args, int count)
{
    struct text text = text_new(&eval->cx->arena);

    for (int i = 0; i < count; i++) {
        bool first = args[i].keyword && (i == 0 || !args[i - 1].keyword);

        text_printf(&text, "%s%s%s%s", i ? ", " : "", first ? "*, " : "", args[i].name,
                    args[i].value ? "=" : "");
        if (args[i].value)
            expr_print(&text, args[i].value);
    }
    diag_hint(eval->cx, "it is %s(%s)", what, text.data);
}

bool eval_bind(struct eval *eval, struct scope *scope, const char *what, const struct signature_arg *args,
               int count, int gather, const struct call *call)
{
    bool *given = ARENA_ARRAY(&eval->cx->arena, count + 1, bool);
    int places = 0; /* that positional arguments have */
    struct scope nothing = {0}, *outside = scope->outer ? scope->outer : &nothing;
    bool fine = true;
    int position = 0;

    while (places < count && !args[places].keyword)
        places++;
    for (int i = 0; i < call->count; i++) {
        int at = -1;

        if (call->args[i].kind == EV_BAD)
            fine = false;
        if (!call->names[i]) {
            if (position == gather - 1 &&
                call->args[i].kind != EV_TUPLE) { /* x.permute(0, 2, 1), ones(2, 3) */
                int n = 0;

                while (i + n < call->count && !call->names[i + n])
                    n++;
                scope_bind(eval, scope, args[position].name,
                           ev_tuple(eval, loc_join(call->args[i].loc, call->args[i + n - 1].loc),
                                    call->args + i, n));
                given[position] = true;
                position = places;
                i += n - 1;
                continue;
            }
            if (position >= places) {
                diag_error(eval->cx, call->args[i].loc, "%s takes %d%s argument%s, found %d", what, places,
                           places < count ? " positional" : "", places == 1 ? "" : "s", call->count);
                hint_signature(eval, what, args, count);
                return false;
            }
            at = position++;
        } else {
            for (int j = 0; j < count; j++)
                if (strcmp(args[j].name, call->names[i]) == 0)
                    at = j;
            if (at < 0) {
                const char **known = ARENA_ARRAY(&eval->cx->arena, count + 1, const char *);

                for (int j = 0; j < count; j++)
                    known[j] = args[j].name;
                diag_error(eval->cx, call->locs[i], "%s has no argument '%s'", what, call->names[i]);
                if (diag_nearest(call->names[i], known, count))
                    diag_hint_nearest(eval->cx, call->names[i], known, count);
                else
                    hint_signature(eval, what, args, count);
                fine = false;
                continue;
            }
        }
        if (given[at]) {
            diag_error(eval->cx, call->locs[i], "%s got argument '%s' twice", what, args[at].name);
            fine = false;
            continue;
        }
        given[at] = true;
        scope_bind(eval, scope, args[at].name, call->args[i]);
    }
    for (int j = 0; j < count; j++) {
        if (given[j])
            continue;
        if (!args[j].value) {
            if (fine) {
                diag_error(eval->cx, call->loc, "%s misses the argument '%s'", what, args[j].name);
                hint_signature(eval, what, args, count);
            }
            fine = false;
            continue;
        }
        struct ev value = eval_expr(eval, outside, args[j].value);

        fine &= value.kind != EV_BAD;
        scope_bind(eval, scope, args[j].name, value);
    }
    return fine;
}

/* The argument of that name, or NULL. */
static const struct ev *named_arg(const struct signature *signature, const struct ev *args, const char *name)
{
    for (int i = 0; i < signature->count; i++)
        if (strcmp(signature->args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

/* What a function made of x, which becomes that where `inplace` (NULL: no such argument) is true. */
static struct ev in_place(struct eval *eval, const char *name, const struct ev *x, const struct ev *inplace,
                          struct ev out)
{
    bool truth = false;

    if (inplace)
        ev_get_bool(inplace, &truth);
    if (!truth || out.kind != EV_TENSOR || x->kind != EV_TENSOR)
        return out;
    return build_in_place(eval, out.loc, name, x->tensor, out.tensor) ? out : ev_bad(out.loc);
}

static struct ev call_function_row(struct eval *eval, const struct function_row *row, const char *name,
                                   const struct call *call, bool method)
{
    size_t space = strcspn(row->signature, ".("); /* "linalg.norm(x)" is torch.linalg's */
    const struct signature *signature = eval_signature(
        eval, row->signature[space] == '.' ? row->signature + space + 1 : row->signature);
    struct scope scope = {0};
    struct ev args[16];
    bool second = (row->flags & FUNCTION_REST) || (method && (row->flags & FUNCTION_VARARGS));
    int gather = row->flags & FUNCTION_SIZES ? 1 : second ? 2 : 0;

    if (!eval_bind(eval, &scope, name, signature->args, signature->count, gather, call))
        return ev_bad(call->loc);
    assert(signature->count <= 16);
    for (int i = 0; i < signature->count; i++)
        for (int j = 0; j < scope.count; j++)
            if (strcmp(scope.items[j].name, signature->args[i].name) == 0)
                args[i] = scope.items[j].value;
    if (row->build)
        return row->build(eval, args, signature->count, call->loc);

    const char *within = eval->within;
    struct ev out;

    eval->at = call->loc;
    eval->within = within ? within : name;
    out = eval_body(eval, &scope, row->body);
    eval->within = within;
    return in_place(eval, name, &args[0], named_arg(signature, args, "inplace"), out);
}

static struct ev call_elementwise(struct eval *eval, const struct elementwise_row *row,
                                  const struct call *call)
{
    const struct signature *signature = eval_signature(
        eval, arena_format(&eval->cx->arena, "%s(%s%s)", row->name, row->args,
                           row->flags & ELEMENTWISE_INPLACE ? ", inplace=False" : ""));
    struct scope scope = {0};
    struct ev args[8];
    int count = signature->count;

    if (!eval_bind(eval, &scope, row->name, signature->args, count, 0, call))
        return ev_bad(call->loc);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < scope.count; j++)
            if (strcmp(scope.items[j].name, signature->args[i].name) == 0)
                args[i] = scope.items[j].value;
    if (!(row->flags & ELEMENTWISE_INPLACE))
        return build_elementwise(eval, call->loc, row, args, count);
    return in_place(eval, row->name, &args[0], &args[count - 1],
                    build_elementwise(eval, call->loc, row, args, count - 1));
}

/* Functions of the spec that run. */
struct frame {
    const struct spec_function *function;
    const struct frame *outer;
};

/* So that functions which call each other many times say their faults often enough, but come to an end. */
static void count_fault(struct eval *eval, const struct spec_function *function)
{
    int i = 0;

    while (i < eval->fault_count && eval->faults[i].function != function)
        i++;
    if (i == eval->fault_count)
        ARENA_PUSH(&eval->cx->arena, eval->faults, eval->fault_count,
                   ((struct function_faults){function, 0}));
    eval->faults[i].count++;
}

static struct ev call_spec_function(struct eval *eval, struct scope *scope,
                                    const struct spec_function *function, const struct call *call)
{
    struct scope *outer = scope, own = {0};
    struct frame frame = {function, eval->frame};
    struct ev out;

    for (const struct frame *f = eval->frame; f; f = f->outer) {
        if (f->function == function) {
            diag_error(eval->cx, call->loc, "the function '%s' calls itself", function->name);
            diag_hint(eval->cx, "functions are inlined where they are called, so none can be part of itself");
            return ev_bad(call->loc);
        }
    }
    if (eval->calls >= EVAL_MAX_CALLS) {
        if (eval->calls++ == EVAL_MAX_CALLS)
            diag_error(eval->cx, call->loc, "functions are called more than %d times", EVAL_MAX_CALLS);
        return ev_bad(call->loc);
    }
    for (int i = 0; i < eval->fault_count; i++)
        if (eval->faults[i].function == function && eval->faults[i].count >= EVAL_MAX_FAULTS)
            return ev_bad(call->loc);
    eval->calls++;
    while (outer->outer)
        outer = outer->outer;
    if (eval->globals) /* functions see these alone, also where a body of the tables calls them */
        outer = eval->globals;
    own.outer = outer;
    if (!eval_bind(eval, &own, function->name, function->args, function->arg_count, 0, call))
        return ev_bad(call->loc);
    eval->frame = &frame;
    out = eval_statements(eval, &own, function->statements, function->count);
    eval->frame = frame.outer;
    if (out.kind == EV_BAD)
        count_fault(eval, function);
    return out;
}

/* A number of the sizes that is no integer where an integer is made of it. */
static struct ev fraction(struct eval *eval, struct loc loc, const struct ev *value)
{
    diag_error(eval->cx, loc, "'%s' depends on sizes that are only known at run time", ev_text(eval, value));
    diag_hint(eval->cx, "what sizes decide is an integer where it is written with + - * // %%");
    return ev_bad(loc);
}

/* float(x), int(x), bool(x) of numbers that are known while generating. */
static struct ev call_dtype(struct eval *eval, const struct ev *callee, const struct call *call)
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

        return eval_binary_values(eval, call->loc, OP_MUL, x, &one);
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

/* ---- Python's functions ----------------------------------------------------------------------------------- */

/* What is known while generating, and sizes, have Python's functions; tensors have PyTorch's of the same name. Each gives
 * EV_NONE where its arguments are not what it takes. */

static struct ev python_len(struct eval *eval, const struct call *call)
{
    const struct ev *of = call->args;

    if (call->count != 1)
        return ev_none(call->loc);
    if (of->kind == EV_TUPLE)
        return ev_int(eval, call->loc, of->count);
    if (of->kind == EV_MODULE)
        return ev_int(eval, call->loc, element_count(of->module));
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
    for (int64_t i = bound[0]; bound[2] > 0 ? i < bound[1] : i > bound[1]; i += bound[2]) {
        if (n == 65536)
            return ev_none(call->loc);
        ARENA_PUSH(&eval->cx->arena, items, n, ev_int(eval, call->loc, i));
        if (overflows(OP_ADD, i, bound[2]))
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

        out = first ? *item : eval_binary_values(eval, call->loc, OP_ADD, &out, item);
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
    minus = dim_binary(eval, call->loc, OP_MUL, x, &minus);
    if (minus.kind == EV_BAD)
        return minus;
    return ev_dim(call->loc, dim_max(&eval->cx->arena, minus.dim,
                                     dim_sub(&eval->cx->arena, dim_const(&eval->cx->arena, 0), minus.dim)));
}

static struct ev python_pow(struct eval *eval, const struct call *call)
{
    if (call->count != 2 || !ev_is_number(&call->args[0]) || !ev_is_number(&call->args[1]))
        return ev_none(call->loc);
    return eval_binary_values(eval, call->loc, OP_POW, &call->args[0], &call->args[1]);
}

static const struct {
    const char *name;
    struct ev (*call)(struct eval *eval, const struct call *call);
    const char *takes; /* NULL: what it does not take is PyTorch's */
} python_rows[] = {
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

static bool is_python(const char *name)
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

/* A call of a name that the spec has not defined; EV_NONE: none of Python's. */
static struct ev call_python(struct eval *eval, const char *name, const struct call *call)
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

static struct ev call_value(struct eval *eval, struct scope *scope, struct ev *callee, struct call *call)
{
    if (eval->depth >= EVAL_MAX_DEPTH) {
        diag_error(eval->cx, call->loc, "calls are nested more than %d deep", EVAL_MAX_DEPTH);
        return ev_bad(call->loc);
    }
    eval->depth++;

    struct ev out;

    switch (callee->kind) {
    case EV_FUNCTION:
        if (callee->spec_function)
            out = call_spec_function(eval, scope, callee->spec_function, call);
        else if (callee->function)
            out = call_function_row(eval, callee->function, callee->text, call, false);
        else
            out = call_elementwise(eval, callee->elementwise, call);
        break;
    case EV_METHOD: {
        struct call with_self = {.loc = call->loc, .count = call->count + 1};

        if (callee->items[0].kind == EV_MODULE) {
            out = eval->call_method(eval, callee->items[0].module, callee->text, call);
            break;
        }

        with_self.args = ARENA_ARRAY(&eval->cx->arena, with_self.count, struct ev);
        with_self.names = ARENA_ARRAY(&eval->cx->arena, with_self.count, const char *);
        with_self.locs = ARENA_ARRAY(&eval->cx->arena, with_self.count, struct loc);
        with_self.args[0] = callee->items[0];
        with_self.locs[0] = callee->loc;
        for (int i = 0; i < call->count; i++) {
            with_self.args[i + 1] = call->args[i];
            with_self.names[i + 1] = call->names[i];
            with_self.locs[i + 1] = call->locs[i];
        }
        out = callee->function ? call_function_row(eval, callee->function, callee->text, &with_self, true)
                               : call_elementwise(eval, callee->elementwise, &with_self);
        break;
    }
    case EV_MODULE:
        out = eval->call_module(eval, callee->module, call);
        break;
    case EV_DTYPE:
        out = call_dtype(eval, callee, call);
        break;
    default:
        if (callee->kind == EV_SPACE && callee->module && module_child(callee->module, "self")) {
            struct ev child = ev_module(callee->loc, module_child(callee->module, "self"));

            out = call_value(eval, scope, &child, call);
            break;
        }
        if (callee->kind == EV_SPACE && callee->module)
            diag_error(eval->cx, call->loc, "a module cannot call itself");
        else
            diag_error(eval->cx, call->loc, "%s cannot be called", ev_kind_text(callee));
        out = ev_bad(call->loc);
    }
    eval->depth--;
    if (out.kind != EV_BAD)
        out.loc = call->loc;
    return out;
}

static struct ev eval_call(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct call call = {
        .loc = expr->loc, .count = expr->count, .names = expr->names, .locs = expr->name_locs};
    struct ev callee = ev_none(expr->loc), out;
    bool bad = false, known = true;

    call.args = ARENA_ARRAY(&eval->cx->arena, expr->count + 1, struct ev);
    call.locs = ARENA_ARRAY(&eval->cx->arena, expr->count + 1, struct loc);
    for (int i = 0; i < expr->count; i++) {
        call.args[i] = eval_expr(eval, scope, expr->items[i]);
        call.locs[i] = expr->names[i] ? expr->name_locs[i] : expr->items[i]->loc;
        bad |= call.args[i].kind == EV_BAD;
    }
    if (expr->a->kind == EXPR_NAME)
        known = find_in_scopes(eval, scope, expr->a, &callee);
    if (!known && !bad) {
        out = call_python(eval, expr->a->text, &call);
        if (out.kind != EV_NONE) {
            out.loc = expr->loc;
            return out;
        }
    }
    if (expr->a->kind != EXPR_NAME || (!known && !(bad && is_python(expr->a->text))))
        callee = eval_expr(eval, scope, expr->a);
    if (callee.kind == EV_BAD || bad)
        return ev_bad(expr->loc);
    return call_value(eval, scope, &callee, &call);
}

/* ---- expressions ------------------------------------------------------------------------------------------ */

static struct ev eval_if(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev condition = eval_expr(eval, scope, expr->b);
    bool truth;

    if (condition.kind == EV_BAD)
        return condition;
    if (!ev_get_bool(&condition, &truth)) {
        if (ev_is_number(&condition))
            return depends_on_sizes(eval, expr->b->loc, &condition);
        diag_error(eval->cx, expr->b->loc, "a condition must be known while generating, found %s",
                   ev_kind_text(&condition));
        if (condition.kind == EV_TENSOR)
            diag_hint(eval->cx, "where(condition, a, b) chooses by a tensor");
        return ev_bad(expr->loc);
    }
    return eval_expr(eval, scope, truth ? expr->a : expr->c);
}

struct ev eval_expr(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct arena *arena = &eval->cx->arena;
    struct ev a, b, out;

    if (build_is_full(eval, expr->loc))
        return ev_bad(expr->loc);
    switch (expr->kind) {
    case EXPR_NONE:
        return ev_none(expr->loc);
    case EXPR_BOOL:
        return ev_bool(expr->loc, expr->integer != 0);
    case EXPR_INT:
        return ev_int(eval, expr->loc, expr->integer);
    case EXPR_FLOAT:
        return ev_float(expr->loc, expr->number);
    case EXPR_STRING:
        return ev_string(expr->loc, expr->text);
    case EXPR_NAME:
        return eval_name(eval, scope, expr);
    case EXPR_TUPLE:
    case EXPR_LIST: {
        struct ev *items = ARENA_ARRAY(arena, expr->count + 1, struct ev);

        for (int i = 0; i < expr->count; i++)
            items[i] = eval_expr(eval, scope, expr->items[i]);
        out = ev_tuple(eval, expr->loc, items, expr->count);
        out.list = expr->kind == EXPR_LIST;
        return out;
    }
    case EXPR_DICT:
        diag_error(eval->cx, expr->loc,
                   "a mapping stands in ModuleDict, ParameterDict and OrderedDict alone");
        return ev_bad(expr->loc);
    case EXPR_CALL:
        return eval_call(eval, scope, expr);
    case EXPR_ATTR:
        return eval_attribute(eval, scope, expr);
    case EXPR_INDEX:
        return eval_index(eval, scope, expr);
    case EXPR_SLICE: {
        const struct expr *parts[3] = {expr->a, expr->b, expr->c};

        out = (struct ev){.kind = EV_SLICE, .loc = expr->loc, .count = 3};
        out.items = ARENA_ARRAY(arena, 3, struct ev);
        for (int i = 0; i < 3; i++) {
            out.items[i] = parts[i] ? eval_expr(eval, scope, parts[i]) : ev_none(expr->loc);
            if (out.items[i].kind == EV_BAD)
                return ev_bad(expr->loc);
        }
        return out;
    }
    case EXPR_ELLIPSIS:
        return (struct ev){.kind = EV_ELLIPSIS, .loc = expr->loc};
    case EXPR_UNARY:
        return eval_unary(eval, scope, expr);
    case EXPR_BINARY:
        a = eval_expr(eval, scope, expr->a);
        if ((expr->op == OP_AND || expr->op == OP_OR) && a.kind != EV_BAD) {
            bool truth;

            if (ev_get_bool(&a, &truth) && truth == (expr->op == OP_OR))
                return a; /* the other side is not evaluated */
        }
        b = eval_expr(eval, scope, expr->b);
        if (a.kind == EV_TENSOR && eval->refresh)
            a.tensor = eval->refresh(eval, a.tensor); /* b may have changed it in place */
        return eval_binary_values(eval, expr->loc, expr->op, &a, &b);
    case EXPR_CHAIN:
        return eval_chain(eval, scope, expr);
    case EXPR_IF:
        return eval_if(eval, scope, expr);
    case EXPR_REPEAT:
    case EXPR_FOR:
        diag_error(eval->cx, expr->loc, "modules are repeated only where a list of modules is written");
        return ev_bad(expr->loc);
    case EXPR_BAD:
        break;
    }
    return ev_bad(expr->loc);
}

/* ---- statements ------------------------------------------------------------------------------------------- */

/* The self.NAME in self.NAME, self.NAME[...] and self.NAME[...][...], or NULL. */
static const struct expr *self_attribute(const struct expr *target)
{
    while (target->kind == EXPR_INDEX)
        target = target->a;
    return target->kind == EXPR_ATTR && target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0
               ? target
               : NULL;
}

static struct scope *scope_self(struct scope *scope)
{
    while (scope && !scope->self)
        scope = scope->outer;
    return scope;
}

/* self.NAME = value, self.NAME[...] = value */
static void assign_self(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    struct scope *owner = scope_self(scope);
    struct value *view = NULL;

    if (!owner) {
        diag_error(eval->cx, target->loc, "a function has no self to write to");
        return;
    }
    if (value.kind == EV_BAD)
        return;
    if (value.kind == EV_NONE && eval->at.source && target->loc.offset == eval->at.offset)
        return; /* a body of the tables that has nothing to write in this mode */
    if (target->kind == EXPR_INDEX) {
        struct ev part = eval_expr(eval, scope, target);

        if (part.kind == EV_BAD)
            return;
        if (part.kind != EV_TENSOR) {
            diag_error(eval->cx, target->loc, "only buffers and state can be written");
            return;
        }
        view = part.tensor;
    }
    if (ev_is_number(&value))
        value = ev_tensor(value.loc, build_scalar(eval, value.loc, &value));
    if (value.kind != EV_TENSOR) {
        if (value.kind != EV_BAD)
            diag_error(eval->cx, value.loc, "a tensor is needed here, found %s", ev_kind_text(&value));
        return;
    }
    assert(eval->write); /* only what a graph is made of has statements and a self */
    eval->write(eval, owner->self, self_attribute(target)->text, target->loc, view, value.tensor);
}

static int leaf_count(const struct ev *value)
{
    int count = 0;

    if (value->kind != EV_TUPLE)
        return 1;
    for (int i = 0; i < value->count; i++)
        count += leaf_count(&value->items[i]);
    return count;
}

/* The names as the parts of the value lie in each other: "y, (h, c)". */
static const char *nested_names(struct arena *arena, const struct expr *target, const struct ev *value,
                                int *next)
{
    const char *text = "";

    for (int i = 0; i < value->count; i++) {
        const struct ev *item = &value->items[i];
        const char *part = item->kind == EV_TUPLE
                               ? arena_format(arena, "(%s)", nested_names(arena, target, item, next))
                               : target->items[(*next)++]->text;

        text = arena_format(arena, "%s%s%s", text, i > 0 ? ", " : "", part);
    }
    return text;
}

/* A value has another number of parts than there are names for. */
static void bad_count(struct eval *eval, const struct expr *target, const struct ev *value)
{
    bool names = leaf_count(value) == target->count;
    int next = 0;

    diag_error(eval->cx, target->loc, "there are %d values for %d names", value->count, target->count);
    for (int i = 0; i < target->count; i++)
        names &= target->items[i]->kind == EXPR_NAME;
    if (names)
        diag_hint(eval->cx, "some of them are tuples: %s",
                  nested_names(&eval->cx->arena, target, value, &next));
}

static void assign(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    if (self_attribute(target)) {
        assign_self(eval, scope, target, value);
        return;
    }
    switch (target->kind) {
    case EXPR_NAME:
        if (value.kind == EV_TENSOR && !value.tensor->name && value.tensor->op->code != GRAPH_OP_TENSOR)
            value.tensor->name = target->text;
        scope_bind(eval, scope, target->text, value);
        return;
    case EXPR_TUPLE:
    case EXPR_LIST:
        if (value.kind != EV_BAD && value.kind != EV_TUPLE) {
            diag_error(eval->cx, target->loc, "%s cannot be taken apart into %d names", ev_kind_text(&value),
                       target->count);
            value = ev_bad(target->loc);
        } else if (value.kind == EV_TUPLE && value.count != target->count) {
            bad_count(eval, target, &value);
            value = ev_bad(target->loc);
        }
        for (int i = 0; i < target->count; i++)
            assign(eval, scope, target->items[i],
                   value.kind == EV_TUPLE ? value.items[i] : ev_bad(target->loc));
        return;
    case EXPR_INDEX:
        diag_error(eval->cx, target->loc,
                   "only parts of buffers and state can be written, as self.NAME[...]");
        diag_hint(eval->cx, "build a new tensor with cat or where");
        return;
    default:
        assert(!"a target that the parser takes");
    }
}

/* What `h += x` leaves in h: a tensor keeps its type and shape, as if it was written over. (PyTorch has no @= of its own.) */
static struct ev augmented(struct eval *eval, const struct stmt *stmt, const struct ev *old,
                           const struct ev *value)
{
    struct ev out = eval_binary_values(eval, stmt->loc, stmt->op, old, value);
    struct arena *arena = &eval->cx->arena;
    const struct value *h = old->tensor;
    bool same;

    if (out.kind != EV_TENSOR || old->kind != EV_TENSOR || stmt->op == OP_MATMUL ||
        stmt->target->kind != EXPR_NAME)
        return out; /* what self.NAME can hold, the write says */
    same = out.tensor->ndim == h->ndim;
    for (int i = 0; same && i < h->ndim; i++)
        same = dim_equal(out.tensor->dims[i], h->dims[i]);
    if (!same) {
        diag_error(eval->cx, stmt->loc, "output with shape %s doesn't match the broadcast shape %s",
                   shape_text(arena, h->ndim, h->dims),
                   shape_text(arena, out.tensor->ndim, out.tensor->dims));
        diag_hint(eval->cx, "write '%s = ...' to give it another shape", stmt->target->text);
        return ev_bad(stmt->loc);
    }
    if (!build_type_fits(eval, stmt->loc, stmt->target->text, h->dtype, out.tensor->dtype))
        return ev_bad(stmt->loc);
    return ev_tensor(stmt->loc, build_cast(eval, stmt->loc, out.tensor, h->dtype));
}

/* With `once` the first fault ends it: what follows in a body of the tables would say it again in other words. */
static struct ev run_statements(struct eval *eval, struct scope *scope, struct stmt *const *statements,
                                int count, bool once)
{
    for (int i = 0; i < count; i++) {
        const struct stmt *stmt = statements[i];
        struct ev value;

        value = stmt->value ? eval_expr(eval, scope, stmt->value) : ev_none(stmt->loc);
        if (once && value.kind == EV_BAD)
            return value;
        switch (stmt->kind) {
        case STMT_ASSIGN:
            assign(eval, scope, stmt->target, value);
            break;
        case STMT_AUGMENT: {
            struct ev old = eval_expr(eval, scope, stmt->target);

            assign(eval, scope, stmt->target, augmented(eval, stmt, &old, &value));
            break;
        }
        case STMT_RETURN:
            if (i + 1 == count)
                return value;
            if (!stmt->value || stmt->value->kind != EXPR_BAD)
                diag_error(eval->cx, statements[i + 1]->loc, "nothing can follow 'return'");
            return ev_bad(stmt->loc);
        case STMT_EXPR:
            scope->partial |= stmt->value->kind == EXPR_BAD;
            break;
        }
    }
    return scope->partial ? ev_bad((struct loc){0}) : ev_none((struct loc){0});
}

struct ev eval_statements(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count)
{
    return run_statements(eval, scope, statements, count, false);
}

/* ---- texts of the tables ---------------------------------------------------------------------------------- */

/* note [places in tables]
 * What goes wrong inside a body of the tables went wrong in the user's call, so every node of a parsed table text gets
 * the place of that call (eval->at). */
void eval_place(struct expr *expr, struct loc loc)
{
    if (!expr)
        return;
    expr->loc = expr->name_loc = loc;
    eval_place(expr->a, loc);
    eval_place(expr->b, loc);
    eval_place(expr->c, loc);
    for (int i = 0; i < expr->count; i++) {
        eval_place(expr->items[i], loc);
        if (expr->name_locs)
            expr->name_locs[i] = loc;
    }
}

static struct loc place_of_text(struct eval *eval, const struct source *source)
{
    return eval->at.source ? eval->at : (struct loc){.source = source};
}

struct ev eval_text(struct eval *eval, struct scope *scope, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);

    if (!parsed->expr) {
        int errors = diag_errors(eval->cx);

        parsed->source = table_source(eval, text);
        parsed->expr = expr_parse(eval->cx, parsed->source, 0, parsed->source->length);
        if (diag_errors(eval->cx) > errors && eval->at.source) /* a text of the spec's: extra_repr */
            diag_note(eval->cx, eval->at, "it stands here");
    }
    eval_place(parsed->expr, place_of_text(eval, parsed->source));
    return eval_expr(eval, scope, parsed->expr);
}

struct ev eval_body(struct eval *eval, struct scope *scope, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);
    struct loc at;

    if (!parsed->statements) {
        parsed->source = table_source(eval, text);
        parsed->statements = stmt_parse_block(eval->cx, parsed->source, 0, parsed->source->length,
                                              &parsed->count);
    }
    at = place_of_text(eval, parsed->source);
    for (int i = 0; i < parsed->count; i++) {
        parsed->statements[i]->loc = at;
        eval_place(parsed->statements[i]->target, at);
        eval_place(parsed->statements[i]->value, at);
    }
    return run_statements(eval, scope, parsed->statements, parsed->count, true);
}
