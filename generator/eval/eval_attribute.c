/* eval_attribute.c - x.name of tensors, modules, dtypes, named tuples and name spaces. */
#include "eval/evaluator.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/pytorch.h"
#include "graph/graph.h"

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

static struct ev class_method(struct eval *eval, struct module *module, const struct spec_function *method,
                              struct loc loc)
{
    struct call call = {.loc = loc};
    struct scope none = {0};
    struct ev out = module_method(eval, module, method->name, loc);

    if (method->kind == DEF_STATIC || method->kind == DEF_CLASS)
        return eval_class_function(eval, method, loc);
    out.spec_function = method;
    return method->kind == DEF_PROPERTY ? eval_call_value(eval, &none, &out, &call) : out;
}

struct ev eval_class_function(struct eval *eval, const struct spec_function *function, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct ev out = {.kind = EV_FUNCTION, .loc = loc, .text = function->name, .spec_function = function};
    struct call *preset = ARENA_NEW(arena, struct call);
    int names = 0, locs = 0;

    if (function->kind != DEF_CLASS)
        return out;
    ARENA_PUSH(arena, preset->names, names, NULL);
    ARENA_PUSH(arena, preset->locs, locs, loc);
    ARENA_PUSH(arena, preset->args, preset->count, ev_class(loc, function->class->name));
    out.preset = preset;
    return out;
}

struct ev eval_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    if (tensor->faulty)
        return ev_bad(loc);
    if (tensor->none && !tensor->parametrization)
        return ev_none(loc);
    return eval->building ? eval->building->read(eval, tensor, loc) : eval->read(eval, tensor, loc);
}

struct ev eval_module_attribute(struct eval *eval, struct module *module, struct loc loc, const char *name,
                                struct loc name_loc)
{
    struct module *child = module_child(module, name);
    struct module_tensor *tensor = module_find_tensor(module, name);

    if (child)
        return child->faulty ? ev_bad(loc) : ev_module(loc, child);
    if (tensor)
        return eval_tensor(eval, tensor, loc);
    for (int i = 0; i < module->absent_count; i++)
        if (strcmp(module->absent[i], name) == 0)
            return ev_none(loc);
    for (int i = module->constant_count - 1; i >= 0; i--)
        if (strcmp(module->constants[i].name, name) == 0)
            return ev_given(eval, module->constants[i].value);
    for (int i = 0; i < module->arg_count; i++)
        if (strcmp(module->args[i].name, name) == 0)
            return ev_given(eval, module->args[i].value);
    if (strcmp(name, "training") == 0)
        return ev_bool(loc, eval_in_training(eval));
    if (strcmp(name, "__class__") == 0 && module->spec_class)
        return ev_class(loc, module->class_name);
    for (int i = 0; module->spec_class && i < module->spec_class->method_count; i++)
        if (strcmp(module->spec_class->methods[i]->name, name) == 0)
            return class_method(eval, module, module->spec_class->methods[i], loc);
    for (int i = 0; module->layer && i < LAYER_MAX_METHODS && module->layer->methods[i]; i++)
        if (strcmp(method_name(eval, module->layer->methods[i]), name) == 0)
            return module_method(eval, module, module->layer->methods[i], loc);

    if (strcmp(name, "forward") == 0 && !eval->building)
        return module_method(eval, module, name, loc);

    const char **known = NULL;
    int count = 0;

    for (int i = 0; i < module->child_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->children[i]->name);
    for (int i = 0; i < module->tensor_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->tensors[i]->name);
    for (int i = 0; i < module->arg_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->args[i].name);
    for (int i = 0; i < module->constant_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->constants[i].name);
    for (int i = 0; module->layer && i < LAYER_MAX_METHODS && module->layer->methods[i]; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, method_name(eval, module->layer->methods[i]));
    for (int i = 0; module->spec_class && i < module->spec_class->method_count; i++)
        ARENA_PUSH(&eval->cx->arena, known, count, module->spec_class->methods[i]->name);
    if (module->faulty || (eval->partial && !diag_nearest(name, known, count)))
        return ev_bad(loc);
    eval_raises(eval, module->spec_class ? "AttributeError" : NULL);
    diag_error(eval->cx, name_loc, "%s has no attribute '%s'", module->class_name, name);
    if (module->lazy && !module->resolved) {
        diag_hint(eval->cx, "its %s are made by its first call",
                  module->lazy->becomes ? "parameters" : "buffers");
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

/* Name spaces in name spaces. Those with flags have functions whose rows are "fft.rfft" and the like. */
static const struct inner_space {
    const char *name;
    unsigned flags;
} inner_spaces[] = {
    {"torch.nn", 0},
    {"torch.nn.qat", 0},
    {"torch.ao", 0},
    {"torch.ao.nn", 0},
    {"torch.ao.nn.qat", 0},
    {EVAL_QUANTIZATION, 0},
    {EVAL_QUANTIZATION ".observer", 0},
    {EVAL_QUANTIZATION ".fake_quantize", 0},
    {EVAL_QUANTIZATION ".qconfig", 0},
    {"torch.nn.functional", 0},
    {"torch.nn.Transformer", FUNCTION_NN},
    {"torch.jit", 0},
    {"torch.onnx", 0},
    {"torch.compiler", 0},
    {"torch.linalg", FUNCTION_TORCH},
    {"torch.special", FUNCTION_TORCH},
    {"torch.fft", FUNCTION_TORCH},
    {"torchvision.ops", FUNCTION_VISION},
};

static bool math_constant(struct loc loc, const char *name, struct ev *out)
{
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"pi", 3.14159265358979323846},
                     {"e", 2.71828182845904523536},
                     {"tau", 6.28318530717958647692},
                     {"inf", INFINITY},
                     {"nan", (double)NAN}};

    for (int i = 0; i < COUNT(constants); i++) {
        if (strcmp(constants[i].name, name) != 0)
            continue;
        *out = ev_float(loc, constants[i].value);
        return true;
    }
    return false;
}

void eval_refuse_dtype(struct eval *eval, struct loc loc)
{
    diag_error(eval->cx, loc, "%.*s is not supported yet by this version of modc", (int)loc.length,
               loc.source->text + loc.offset);
}

struct ev eval_stored_dtype(struct eval *eval, const struct expr *name)
{
    struct scope none = {0}; /* the name is the dtype's, whatever else may have that name */
    struct ev dtype = eval_expr(eval, &none, name);

    assert(dtype.kind == EV_DTYPE || dtype.kind == EV_COMPLEX_DTYPE ||
           dtype.kind == EV_BAD); /* spec.c took only those */
    return dtype.kind == EV_COMPLEX_DTYPE ? ev_dtype(name->loc, dtype_of_parts(dtype.dtype)) : dtype;
}

/* The name space of pytorch_why. */
static const char *missing_space(const char *space)
{
    return strcmp(space, "torch") == 0                 ? "torch"
           : strcmp(space, "torch.nn.functional") == 0 ? "F"
           : strcmp(space, "torch.linalg") == 0        ? "linalg"
                                                       : "";
}

static bool is_of_pytorch(const char *space, const char *name, bool inner)
{
    const char *missing = missing_space(space);

    return (*missing && pytorch_why(missing, name)) ||
           (!inner &&
            pytorch_has(strcmp(space, "torch") == 0 ? PYTORCH_TORCH | PYTORCH_DTYPE : PYTORCH_FUNCTIONAL,
                        name));
}

static struct ev space_attribute(struct eval *eval, const struct ev *space, const struct expr *expr)
{
    const char *name = expr->text, *full = name;
    const struct inner_space *own = NULL;
    unsigned flag = strcmp(space->text, "torch") == 0 ? FUNCTION_TORCH : FUNCTION_FUNCTIONAL;
    struct ev out;
    enum dtype dtype;

    if (strcmp(space->text, "self") == 0)
        return eval_module_attribute(eval, space->module, expr->loc, name, expr->name_loc);
    for (int i = 0; i < COUNT(inner_spaces); i++) {
        const char *whole = inner_spaces[i].name;

        own = inner_spaces[i].flags != 0 && strcmp(space->text, whole) == 0 ? &inner_spaces[i] : own;
        if (strcmp(arena_format(&eval->cx->arena, "%s.%s", space->text, name), whole) == 0)
            return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = whole};
    }
    if (own) {
        flag = own->flags;
        full = arena_format(&eval->cx->arena, "%s.%s", strrchr(own->name, '.') + 1, name);
        if (eval_find_function(full, flag, expr->loc, &out))
            return out;
    }
    if (strcmp(space->text, EVAL_DTYPE) == 0) {
        eval_refuse_dtype(eval, expr->a->loc);
        return ev_bad(expr->loc);
    }
    if (strcmp(space->text, EVAL_DEVICE) == 0) {
        diag_error(eval->cx, expr->name_loc, "nothing is known of a device: the model is made for one");
        return ev_bad(expr->loc);
    }
    if (strcmp(space->text, "math") == 0) {
        if (math_constant(expr->loc, name, &out))
            return out;
        diag_error(eval->cx, expr->name_loc, "modc does not know math.%s", name);
        return ev_bad(expr->loc);
    }
    if ((strcmp(space->text, "torch.nn.qat") == 0 || strcmp(space->text, "torch.ao.nn.qat") == 0) &&
        layer_find_qat(name) && eval_find_class(eval, layer_find_qat(name)->name, false, expr->loc, &out))
        return out;
    if (strncmp(space->text, EVAL_QUANTIZATION, strlen(EVAL_QUANTIZATION)) == 0 &&
        (eval_find_class(eval, name, false, expr->loc, &out) ||
         eval_find_function(name, FUNCTION_QUANTIZATION, expr->loc, &out) ||
         eval_find_quantization(eval, name, expr->loc, &out)))
        return out;
    if (strcmp(space->text, "torch") == 0) {
        if (eval_find_scheme(name, expr->loc, &out))
            return out;
        if (eval_find_function(name, FUNCTION_TORCH, expr->loc, &out) ||
            eval_find_in_place(eval, name, FUNCTION_TORCH, PYTORCH_TORCH, expr->loc, &out))
            return out;
        if (dtype_find(name, &dtype) && dtype_is_supported(dtype))
            return ev_dtype(expr->loc, dtype);
        if (eval_find_complex_dtype(name, expr->loc, &out))
            return out;
        if (pytorch_has(PYTORCH_DTYPE, name)) /* to compare with; no function takes it */
            return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = EVAL_DTYPE};
        if ((strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0) &&
            eval_find_global(name, expr->loc, &out))
            return out;
    } else if (!own && strcmp(space->text, "torchvision") != 0 &&
               (eval_find_function(name, FUNCTION_FUNCTIONAL, expr->loc, &out) ||
                eval_find_in_place(eval, name, FUNCTION_FUNCTIONAL, PYTORCH_FUNCTIONAL, expr->loc, &out))) {
        return out;
    }

    int count;
    const char *const *known = function_names(eval->cx, flag, &count);

    if (strcmp(space->text, "torch.nn") == 0 && eval_find_class(eval, name, false, expr->loc, &out))
        return out;
    if (strcmp(space->text, "torch.nn") == 0 && pytorch_has(PYTORCH_MODULE, name)) {
        eval_module_as_value(eval, expr->name_loc, name);
        return ev_bad(expr->loc);
    }
    if (is_of_pytorch(space->text, name, own != NULL)) {
        eval_missing(eval, expr->name_loc, missing_space(space->text), name,
                     arena_format(&eval->cx->arena, "%s.%s", space->text, name), HABIT_TORCH);
        return ev_bad(expr->loc);
    }
    diag_error(eval->cx, expr->name_loc, "modc does not know %s.%s", space->text, name);
    if (!eval_hint_habit(eval->cx, name, HABIT_TORCH))
        diag_hint_nearest(eval->cx, full, known, count);
    return ev_bad(expr->loc);
}

/* Further attributes of tensors: their values, as bodies over x. */
static const struct tensor_fact {
    const char *name, *body;
} tensor_facts[] = {
    {"H",
     "if x.ndim != 2:\n"
     "    raise RuntimeError(f'tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor')\n"
     "return x.mT"},
    {"mH", "return x.mT"},
    {"real", "return x"},
    {"data", "return x.detach()"},
    {"itemsize", "return x.dtype.itemsize"},
    {"nbytes", "return x.numel() * x.dtype.itemsize"},
    {"is_meta", "return False"},
    {"is_sparse", "return False"},
    {"is_sparse_csr", "return False"},
    {"is_mkldnn", "return False"},
    {"is_quantized", "return False"},
    {"is_nested", "return False"},
    {"is_cpu", NULL}, /* these say where the model runs */
    {"is_cuda", NULL},
    {"is_mps", NULL},
    {"is_xpu", NULL},
    {"is_xla", NULL},
    {"is_mtia", NULL},
};

static const struct tensor_fact *find_fact(const char *name)
{
    for (int i = 0; i < COUNT(tensor_facts); i++)
        if (strcmp(tensor_facts[i].name, name) == 0)
            return &tensor_facts[i];
    return NULL;
}

static bool tensor_fact(struct eval *eval, const struct ev *x, const char *name, struct loc loc,
                        struct ev *out)
{
    const struct tensor_fact *fact = find_fact(name);
    struct scope scope = {0};

    if (!fact)
        return false;
    if (!fact->body) {
        *out = ev_bool(loc, strcmp(name, "is_cpu") == 0); /* what backend.h has */
        return true;
    }
    scope_bind(eval, &scope, "x", *x);
    *out = eval_body_at(eval, &scope, fact->body, loc);
    return true;
}

static void unknown_attribute(struct eval *eval, const struct ev *base, const char *name, struct loc loc)
{
    static const char *const attributes[] = {"shape", "ndim", "dtype", "T",        "mT",
                                             "H",     "mH",   "real",  "itemsize", "nbytes"};
    struct arena *arena = &eval->cx->arena;
    const char **known = NULL;
    int count = 0, methods;

    if (base->kind == EV_TENSOR &&
        (pytorch_has(PYTORCH_TORCH | PYTORCH_METHOD, name) || pytorch_why("x", name))) {
        eval_missing(eval, loc, "x", name, arena_format(arena, "the method '%s'", name), HABIT_METHOD);
        return;
    }
    if (base->kind == EV_TENSOR) {
        const char *const *names = function_names(eval->cx, FUNCTION_METHOD, &methods);

        for (int i = 0; i < methods; i++)
            ARENA_PUSH(arena, known, count, names[i]);
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            ARENA_PUSH(arena, known, count, attributes[i]);
        for (int i = 0; i < COUNT(tensor_facts); i++)
            ARENA_PUSH(arena, known, count, tensor_facts[i].name);
    }
    for (int i = 0; base->fields && i < base->count && (base->kind == EV_TUPLE || base->list); i++)
        ARENA_PUSH(arena, known, count, base->fields[i]);
    eval_raises(eval, base->kind == EV_DICT ? "AttributeError" : NULL);
    diag_error(eval->cx, loc, "%s has no attribute '%s'", ev_kind_text(base), name);
    if (base->kind == EV_DICT && !base->list && ev_find_key(base, name) >= 0)
        diag_hint(eval->cx, "d['%s'] is its item; SimpleNamespace(...) has attributes", name);
    diag_hint_nearest(eval->cx, name, known, count);
}

static struct ev method_of(struct eval *eval, const struct ev *base, struct ev function)
{
    struct ev *self = ARENA_NEW(&eval->cx->arena, struct ev);

    *self = *base;
    function.kind = EV_METHOD;
    function.items = self;
    return function;
}

struct ev eval_attribute(struct eval *eval, const struct ev *value, const struct expr *expr)
{
    struct ev base = *value;
    const char *name = expr->text;
    const int first = eval->graph ? eval->graph->value_count : 0;
    struct ev out;

    switch (base.kind) {
    case EV_BAD:
        return base;
    case EV_SPACE:
        return space_attribute(eval, &base, expr);
    case EV_MODULE:
        return eval_module_attribute(eval, base.module, expr->loc, name, expr->name_loc);
    case EV_TUPLE:
        for (int i = 0; base.fields && i < base.count; i++)
            if (strcmp(base.fields[i], name) == 0)
                return ev_fresh(eval, base.items[i]);
        break;
    case EV_DICT:
        if (base.list && ev_find_key(&base, name) >= 0)
            return ev_fresh(eval, base.items[ev_find_key(&base, name)]);
        break;
    case EV_CLASS:
        if (eval->class_attribute)
            return eval->class_attribute(eval, &base, expr, &out) ? out : ev_bad(expr->loc);
        break;
    case EV_DTYPE:
    case EV_COMPLEX_DTYPE:
        if (strcmp(name, "is_floating_point") == 0)
            return ev_bool(expr->loc, base.kind == EV_DTYPE && dtype_is_float(base.dtype));
        if (strcmp(name, "is_complex") == 0)
            return ev_bool(expr->loc, base.kind != EV_DTYPE);
        if (strcmp(name, "itemsize") == 0)
            return ev_int(eval, expr->loc, dtype_rows[base.dtype].bytes * (base.kind == EV_DTYPE ? 1 : 2));
        break;
    case EV_COMPLEX:
        return eval_complex_attribute(eval, &base, expr);
    case EV_TENSOR:
        if (base.own && strcmp(name, "data") == 0) /* nothing has gradients while the tree is built */
            return base;
        if (base.own && strcmp(name, "requires_grad") == 0)
            return ev_bool(expr->loc, base.own->requires_grad);
        if (strcmp(name, "shape") == 0)
            return tensor_shape(eval, expr->loc, base.tensor);
        if (strcmp(name, "ndim") == 0)
            return ev_int(eval, expr->loc, base.tensor->ndim);
        if (strcmp(name, "dtype") == 0)
            return ev_dtype(expr->loc, base.tensor->dtype);
        if (strcmp(name, "device") == 0) /* the model's, for all */
            return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = EVAL_DEVICE};
        if ((strcmp(name, "mT") == 0 || strcmp(name, "mH") == 0) && base.tensor->ndim < 2) {
            diag_error(eval->cx, expr->name_loc, "%s takes a tensor of at least two dimensions, found %s",
                       name, shape_text(&eval->cx->arena, base.tensor->ndim, base.tensor->dims));
            return ev_bad(expr->loc);
        }
        if (strcmp(name, "H") == 0 && base.tensor->ndim != 2 && base.tensor->ndim != 0) {
            diag_error(eval->cx, expr->name_loc, "H takes a matrix, found %s",
                       shape_text(&eval->cx->arena, base.tensor->ndim, base.tensor->dims));
            return ev_bad(expr->loc);
        }
        if (strcmp(name, "T") == 0 || strcmp(name, "mT") == 0)
            return build_seen(tensor_transposed(eval, expr->loc, base.tensor, name[0] == 'T'), first);
        if (tensor_fact(eval, &base, name, expr->loc, &out))
            return build_seen(out, first);
        if (eval_find_function(name, FUNCTION_METHOD, expr->loc, &out) ||
            eval_find_in_place(eval, name, FUNCTION_METHOD, PYTORCH_METHOD, expr->loc, &out))
            return method_of(eval, &base, out);
        break;
    default:
        break;
    }

    unknown_attribute(eval, &base, name, expr->name_loc);
    return ev_bad(expr->loc);
}

bool eval_has_attribute(const struct ev *base, const char *name)
{
    struct module *module = base->module;
    struct ev out;

    if (base->kind == EV_TENSOR)
        return find_fact(name) || strcmp(name, "shape") == 0 || strcmp(name, "ndim") == 0 ||
               strcmp(name, "dtype") == 0 || eval_find_function(name, FUNCTION_METHOD, base->loc, &out);
    if (base->fields && (base->kind == EV_TUPLE || base->list))
        for (int i = 0; i < base->count; i++)
            if (strcmp(base->fields[i], name) == 0)
                return true;
    if (!module)
        return false;
    if (module_child(module, name) || module_find_tensor(module, name) || strcmp(name, "training") == 0)
        return true;
    for (int i = 0; i < module->absent_count; i++)
        if (strcmp(module->absent[i], name) == 0)
            return true;
    for (int i = 0; i < module->arg_count; i++)
        if (strcmp(module->args[i].name, name) == 0)
            return true;
    for (int i = 0; module->spec_class && i < module->spec_class->method_count; i++)
        if (strcmp(module->spec_class->methods[i]->name, name) == 0)
            return true;
    return false;
}
