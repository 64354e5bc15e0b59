/* module.c - expands classes, lists and repetitions of a spec into the tree of modules, with checked arguments and the
 * shapes of all tensors. Apart from lowering, because what a module has does not depend on how it is called. */
#include "module/module.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "eval/pytorch.h"
#include "module/module_paths.h"
#include "spec/emitted.h"

#define MODULE_MAX_DEPTH 64
#define MODULE_MAX_COUNT 16384

/* note [set and add]: both are heeded while the tree is built, from the root down, so that what is replaced is never
 * built, never faulty, and draws no initial values: the module that replaces it draws at its place, and one that is
 * added behind its siblings, as the __init__ that says so from the start. Since the changes apply one after the other,
 * every module stems from one of them or from none, and only later changes can reach it or what is below it: that is
 * its `step`. What is left over in the end did not find its place, or is overruled by a later `set`. */
struct build {
    struct cx *cx;
    struct eval eval;
    struct module_tree *tree;
    int depth, count;
    int step;                 /* the change that brought what is built now; -1: none did */
    bool *applied;            /* by change */
    struct names sets, adds;  /* of changes: by path; by the parent's path */
    int *last_set, *last_add; /* by index of those names: changes */
    int *earlier_add;         /* by change: the one before it with the same parent; -1: none */
};

/* ---- lookup ----------------------------------------------------------------------------------------------- */

struct module *module_child(const struct module *module, const char *name)
{
    for (int i = 0; i < module->child_count; i++)
        if (strcmp(module->children[i]->name, name) == 0)
            return module->children[i];
    return NULL;
}

struct module_tensor *module_find_tensor(const struct module *module, const char *name)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (strcmp(module->tensors[i]->name, name) == 0)
            return module->tensors[i];
    return NULL;
}

int64_t module_tensor_count(const struct module_tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->ndim; i++)
        count *= tensor->dims[i];
    return count;
}

const char *module_extra_repr(const struct module *module)
{
    return module->extra_repr ? module->extra_repr : "";
}

bool module_holds_parameters(const struct module *module)
{
    return module->layer && (module->layer->container == LAYER_PARAMETER_LIST ||
                             module->layer->container == LAYER_PARAMETER_DICT);
}

bool module_folds(const struct module *module)
{
    return module->layer && module->layer->container == LAYER_MODULE_LIST;
}

/* ---- scopes ----------------------------------------------------------------------------------------------- */

struct ev module_tensor_value(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    if (tensor->faulty)
        return ev_bad(loc);
    return tensor->none ? ev_none(loc) : eval->read(eval, tensor, loc);
}

static bool find_module_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                             struct ev *out)
{
    struct module *module = scope->self;
    struct module *child = module_child(module, name);
    struct module_tensor *tensor = module_find_tensor(module, name);

    if (child) {
        *out = child->faulty ? ev_bad(loc) : ev_module(loc, child);
        return true;
    }
    if (tensor) {
        *out = module_tensor_value(eval, tensor, loc);
        return true;
    }
    for (int i = 0; i < module->arg_count; i++) {
        if (strcmp(module->args[i].name, name) == 0) {
            *out = module->args[i].value;
            out->loc = loc;
            return true;
        }
    }
    return false;
}

static bool find_constant(const struct module_tree *tree, const char *name, struct loc loc, struct ev *out)
{
    for (int i = 0; i < tree->constant_count; i++) {
        if (strcmp(tree->constants[i].name, name) == 0) {
            *out = tree->constants[i].value;
            out->loc = loc;
            return true;
        }
    }
    return false;
}

static bool find_function_of_spec(const struct module_tree *tree, const char *name, struct loc loc,
                                  struct ev *out)
{
    const struct spec *spec = tree->spec;

    for (int i = 0; i < spec->function_count; i++) {
        if (strcmp(spec->functions[i]->name, name) == 0) {
            *out = (struct ev){
                .kind = EV_FUNCTION, .loc = loc, .text = name, .spec_function = spec->functions[i]};
            return true;
        }
    }
    return false;
}

/* Constants, sizes at their current value, functions. */
static bool find_global_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                             struct ev *out)
{
    const struct module_tree *tree = scope->data;

    if (find_constant(tree, name, loc, out))
        return true;
    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            *out = ev_dim(loc, dim_size(&eval->cx->arena, &tree->sizes[i]));
            return true;
        }
    }
    return find_function_of_spec(tree, name, loc, out);
}

/* The same where one shape is needed: a size is an error. */
static bool find_fixed_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                            struct ev *out)
{
    const struct module_tree *tree = scope->data;

    if (find_constant(tree, name, loc, out))
        return true;
    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            diag_error(eval->cx, loc, "'%s' is a size, known at run time: a constructor needs constants",
                       name);
            diag_hint(eval->cx, "parameters have one shape; put '%s' under constants: if it is fixed", name);
            *out = ev_bad(loc);
            return true;
        }
    }
    for (int i = tree->constant_count; i < tree->spec->constant_count; i++) { /* while constants are read */
        if (strcmp(tree->spec->constants[i].name, name) == 0) {
            diag_error(eval->cx, loc, "'%s' is not known yet: a constant may use the constants above it",
                       name);
            *out = ev_bad(loc);
            return true;
        }
    }
    return find_function_of_spec(tree, name, loc, out);
}

/* The same where memory is laid out: a size is its maximum. */
static bool find_maximum_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                              struct ev *out)
{
    const struct module_tree *tree = scope->data;

    for (int i = 0; i < tree->size_count; i++) {
        if (strcmp(tree->sizes[i].name, name) == 0) {
            *out = ev_int(eval, loc, tree->sizes[i].max);
            return true;
        }
    }
    return find_global_name(eval, scope, name, loc, out);
}

typedef bool finder(struct eval *, struct scope *, const char *, struct loc, struct ev *);

static void module_names(struct eval *eval, struct scope *scope, const char ***names, int *count)
{
    const struct module *module = scope->self;

    for (int i = 0; i < module->child_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->children[i]->name);
    for (int i = 0; i < module->tensor_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->tensors[i]->name);
    for (int i = 0; i < module->arg_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, module->args[i].name);
}

static void global_names(struct eval *eval, struct scope *scope, const char ***names, int *count)
{
    const struct module_tree *tree = scope->data;

    for (int i = 0; i < tree->constant_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->constants[i].name);
    for (int i = 0; i < tree->size_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->sizes[i].name);
    for (int i = 0; i < tree->spec->function_count; i++)
        ARENA_PUSH(&eval->cx->arena, *names, *count, tree->spec->functions[i]->name);
}

static struct scope *global_scope(struct eval *eval, struct module_tree *tree, finder *find)
{
    struct scope *scope = ARENA_NEW(&eval->cx->arena, struct scope);

    scope->find = find;
    scope->names = global_names;
    scope->data = tree;
    return scope;
}

struct scope *module_global_scope(struct eval *eval, struct module_tree *tree, bool sizes)
{
    return global_scope(eval, tree, sizes ? find_global_name : find_fixed_name);
}

/* `- fc: Linear(4, 4)` in a list: the list numbers its items, and each is a mapping of one name. */
static bool explain_numbered(struct eval *eval, struct scope *scope, const char *name, struct loc loc)
{
    const struct module *module = scope->self;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *item = module->children[i];

        if (item->name[0] < '0' || item->name[0] > '9' || !module_child(item, name))
            continue;
        diag_error(eval->cx, loc, "'%s' is not known here: in a list it is '%s.%s'", name, item->name, name);
        diag_hint(eval->cx, "a list numbers its modules; leave out the '- ' before names");
        return true;
    }
    return false;
}

struct scope *module_scope(struct eval *eval, struct module_tree *tree, struct module *module)
{
    struct scope *scope = ARENA_NEW(&eval->cx->arena, struct scope);

    scope->find = find_module_name;
    scope->names = module_names;
    scope->explain = explain_numbered;
    scope->data = tree;
    scope->self = module;
    if (module->spec_class) /* bodies of the tables see functions of PyTorch alone */
        scope->outer = module_global_scope(eval, tree, true);
    return scope;
}

/* What a class declares under a name, or NULL. */
static const char *declared_kind(const struct module_tree *tree, const struct module *module,
                                 const char *name)
{
    static const char *const kinds[] = {
        [SPEC_PARAMETER] = "a parameter", [SPEC_BUFFER] = "a buffer", [SPEC_STATE] = "a state"};
    const struct spec_class *class = module->spec_class;
    const struct spec_module *modules = class->modules;

    for (int i = 0; i < class->tensor_count; i++)
        if (strcmp(class->tensors[i]->name, name) == 0)
            return kinds[class->tensors[i]->kind];
    for (int i = 0; modules && modules->kind == SPEC_MODULE_MAP && i < modules->count; i++)
        if (strcmp(modules->children[i]->name, name) == 0)
            return "a module";
    for (int i = 0; !module->parent && i < tree->spec->input_count; i++)
        if (strcmp(tree->spec->inputs[i].name, name) == 0)
            return "an input";
    return NULL;
}

/* Names that only statements may use. */
static bool explain_own_name(struct eval *eval, struct scope *scope, const char *name, struct loc loc)
{
    const char *kind = declared_kind(scope->outer->data, scope->data, name);

    if (!kind)
        return false;
    diag_error(eval->cx, loc, "'%s' is %s, which is not known while generating", name, kind);
    diag_hint(eval->cx, "constructors, shapes and values know constants, and the arguments of their class");
    return true;
}

/* Where a class writes constructors and shapes: its arguments over the model's constants. */
static struct scope *argument_scope(struct build *build, const struct module *module, finder *find)
{
    struct scope *scope = ARENA_NEW(&build->cx->arena, struct scope);

    scope->outer = global_scope(&build->eval, build->tree, find);
    scope->explain = explain_own_name;
    scope->data = module;
    for (int i = 0; i < module->arg_count; i++)
        scope_bind(&build->eval, scope, module->args[i].name, module->args[i].value);
    return scope;
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

/* Evaluates a constructor's arguments where it is written. False: some are faulty (said). */
static void eval_args(struct build *build, struct scope *scope, const struct expr *expr, struct call *call)
{
    *call = (struct call){.loc = expr->loc, .count = expr->count, .names = expr->names};
    call->args = ARENA_ARRAY(&build->cx->arena, expr->count + 1, struct ev);
    call->locs = ARENA_ARRAY(&build->cx->arena, expr->count + 1, struct loc);
    for (int i = 0; i < expr->count; i++) {
        call->args[i] = eval_expr(&build->eval, scope, expr->items[i]);
        call->locs[i] = expr->names[i] ? expr->name_locs[i] : expr->items[i]->loc;
    }
}

/* Binds them to a signature; false where that or one of the values is faulty (said). */
static bool bind_args(struct build *build, struct scope *scope, const char *what,
                      const struct signature_arg *args, int count, const struct call *call)
{
    bool fine = eval_bind(&build->eval, scope, what, args, count, 0, call);

    for (int i = 0; i < scope->count; i++)
        fine &= scope->items[i].value.kind != EV_BAD;
    return fine;
}

/* What a scope of arguments binds `name` to. */
static const struct ev *scope_own(const struct scope *scope, const char *name)
{
    for (int i = 0; i < scope->count; i++)
        if (strcmp(scope->items[i].name, name) == 0)
            return &scope->items[i].value;
    assert(!"a bound argument");
    return NULL;
}

/* ---- initial values ---------------------------------------------------------------------------------------- */

/* fan_in and fan_out of module-semantics 5.1. */
static bool fans(const struct module_tensor *tensor, double *in, double *out)
{
    double field = 1;

    if (tensor->ndim < 2)
        return false;
    for (int i = 2; i < tensor->ndim; i++)
        field *= (double)tensor->dims[i];
    *in = (double)tensor->dims[1] * field;
    *out = (double)tensor->dims[0] * field;
    return true;
}

static bool init_number(struct build *build, const struct scope *args, const char *name, double *out)
{
    const struct ev *value = scope_own(args, name);

    if (ev_get_number(value, out))
        return true;
    if (value->kind != EV_BAD)
        diag_error(build->cx, value->loc, "%s must be a number, found %s", name,
                   ev_text(&build->eval, value));
    return false;
}

/* calculate_gain of torch.nn.init; `a` is leaky_relu's slope. */
static bool init_gain(struct build *build, const struct ev *nonlinearity, double a, double *gain)
{
    const struct {
        const char *name;
        double gain;
    } gains[] = {{"linear", 1},
                 {"conv1d", 1},
                 {"conv2d", 1},
                 {"conv3d", 1},
                 {"conv_transpose1d", 1},
                 {"conv_transpose2d", 1},
                 {"conv_transpose3d", 1},
                 {"sigmoid", 1},
                 {"tanh", 5.0 / 3},
                 {"relu", sqrt(2.0)},
                 {"leaky_relu", sqrt(2.0 / (1 + a * a))},
                 {"selu", 3.0 / 4}};
    struct text all = text_new(&build->cx->arena);

    for (size_t i = 0; nonlinearity->kind == EV_STRING && i < sizeof gains / sizeof *gains; i++) {
        if (strcmp(gains[i].name, nonlinearity->text) == 0) {
            *gain = gains[i].gain;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
        text_printf(&all, "%s%s", i ? ", " : "", gains[i].name);
    diag_error(build->cx, nonlinearity->loc,
               "nonlinearity must be one of the functions that have a gain, found %s",
               ev_text(&build->eval, nonlinearity));
    diag_hint(build->cx, "those are %s", all.data);
    return false;
}

/* The standard deviation that kaiming_* and xavier_* give. */
static bool init_std(struct build *build, const struct scope *args, const struct module_tensor *tensor,
                     const char *name, struct loc loc, double *std)
{
    double fan_in, fan_out, a, gain;

    if (!fans(tensor, &fan_in, &fan_out)) {
        diag_error(build->cx, loc, "%s needs a tensor of at least two dimensions, '%s' has %d", name,
                   tensor->path, tensor->ndim);
        return false;
    }
    if (name[0] == 'x') {
        *std = 0;
        if (!init_number(build, args, "gain", &gain))
            return false;
        if (fan_in + fan_out > 0)
            *std = gain * sqrt(2.0 / (fan_in + fan_out));
        return true;
    }

    const struct ev *mode = scope_own(args, "mode");
    bool in = mode->kind == EV_STRING && strcmp(mode->text, "fan_in") == 0;

    if (!in && (mode->kind != EV_STRING || strcmp(mode->text, "fan_out") != 0)) {
        diag_error(build->cx, mode->loc, "mode must be 'fan_in' or 'fan_out', found %s",
                   ev_text(&build->eval, mode));
        return false;
    }
    if (!init_number(build, args, "a", &a) || !init_gain(build, scope_own(args, "nonlinearity"), a, &gain))
        return false;
    *std = (in ? fan_in : fan_out) > 0 ? gain / sqrt(in ? fan_in : fan_out) : 0;
    return true;
}

const char *const module_inits[] = {
    "zeros_()",
    "ones_()",
    "constant_(val)",
    "uniform_(a=0.0, b=1.0)",
    "normal_(mean=0.0, std=1.0)",
    "kaiming_uniform_(a=0, mode='fan_in', nonlinearity='leaky_relu')",
    "kaiming_normal_(a=0, mode='fan_in', nonlinearity='leaky_relu')",
    "xavier_uniform_(gain=1.0)",
    "xavier_normal_(gain=1.0)",
    "trunc_normal_(mean=0.0, std=1.0, a=-2.0, b=2.0)",
    "eye_()",
    "dirac_(groups=1)",
    NULL,
};

bool init_draws(enum init_kind kind)
{
    return kind == INIT_UNIFORM || kind == INIT_NORMAL || kind == INIT_WITHIN;
}

/* The row of an initialisation; `zeros` and `zeros_` mean the same. NULL after a fault. */
static const struct signature *init_signature(struct build *build, const struct expr *init)
{
    enum { count = sizeof module_inits / sizeof *module_inits - 1 };
    const struct expr *callee = init->kind == EXPR_CALL ? init->a : init;
    const char *text = callee->text ? callee->text : "", *known[count];
    size_t length = strlen(text);
    const char *name = length > 0 && text[length - 1] == '_' ? text
                                                             : arena_format(&build->cx->arena, "%s_", text);

    for (int i = 0; i < count; i++) {
        size_t end = strcspn(module_inits[i], "(");

        if (strlen(name) == end && memcmp(module_inits[i], name, end) == 0)
            return eval_signature(&build->eval, module_inits[i]);
        known[i] = arena_copy(&build->cx->arena, module_inits[i], end);
    }
    if (pytorch_has(PYTORCH_INIT, name)) {
        diag_error(build->cx, callee->loc,
                   "the initialisation %s is not supported yet by this version of modc", name);
        if (strcmp(name, "orthogonal_") == 0)
            diag_hint(build->cx, "its bits are those of a LAPACK; draw in PyTorch, and load the file");
        return NULL;
    }
    diag_error(build->cx, callee->loc, "modc does not know the initialisation '%s'", text);
    diag_hint_nearest(build->cx, name, known, count);
    return NULL;
}

static double normal_cdf(double x)
{
    return (1.0 + erf(x / sqrt(2.0))) / 2.0;
}

static void set_trunc_normal(struct build *build, const struct scope *args, struct module_tensor *tensor,
                             struct loc loc)
{
    if (!init_number(build, args, "mean", &tensor->a) || !init_number(build, args, "std", &tensor->b) ||
        !init_number(build, args, "a", &tensor->low) || !init_number(build, args, "b", &tensor->high))
        return;
    tensor->init = INIT_WITHIN;
    if (!(tensor->b > 0))
        diag_error(build->cx, scope_own(args, "std")->loc, "trunc_normal_ expects std > 0, found %g",
                   tensor->b);
    else if (!(tensor->low < tensor->high))
        diag_error(build->cx, loc, "trunc_normal_ expects a < b, found a=%g and b=%g", tensor->low,
                   tensor->high);
    else if (!(normal_cdf((tensor->high - tensor->a) / tensor->b) -
                   normal_cdf((tensor->low - tensor->a) / tensor->b) >
               0.3))
        diag_error(build->cx, loc,
                   "trunc_normal_ is not supported yet by this version of modc where less than 0.3 of the "
                   "distribution is between a and b");
}

/* eye_ and dirac_: ones at the places of an identity, of `groups` of them one below the other, in the middle of what
 * dimensions behind the second make of a place. */
static void set_ones(struct build *build, struct module_tensor *tensor, int64_t groups)
{
    struct tensor *value = ARENA_NEW(&build->cx->arena, struct tensor);
    int64_t rows = tensor->dims[0] / groups, columns = tensor->dims[1], inner = 1, middle = 0;

    *value = (struct tensor){.dtype = tensor->dtype, .ndim = tensor->ndim};
    memcpy(value->dims, tensor->dims, sizeof value->dims);
    value->data = ARENA_ARRAY(&build->cx->arena, module_tensor_count(tensor) + 1, union scalar);
    for (int i = 2; i < tensor->ndim; i++) {
        middle = middle * tensor->dims[i] + tensor->dims[i] / 2;
        inner *= tensor->dims[i];
    }
    for (int64_t g = 0; g < groups && inner > 0; g++) {
        for (int64_t i = 0; i < rows && i < columns; i++) {
            union scalar *one = &value->data[((g * rows + i) * columns + i) * inner + middle];

            if (dtype_is_float(tensor->dtype))
                one->f = 1;
            else
                one->i = 1;
        }
    }
    tensor->init = INIT_VALUE;
    tensor->value = value;
}

static void set_identity(struct build *build, const struct scope *args, struct module_tensor *tensor,
                         const char *name, struct loc loc)
{
    bool eye = name[0] == 'e';
    int64_t groups = 1;

    if (eye ? tensor->ndim != 2 : tensor->ndim < 3 || tensor->ndim > 5) {
        diag_error(build->cx, loc, "%s needs a tensor of %s dimensions, '%s' has %d", name,
                   eye ? "two" : "three to five", tensor->path, tensor->ndim);
        return;
    }
    if (!eye &&
        (!ev_get_int(scope_own(args, "groups"), &groups) || groups < 1 || tensor->dims[0] % groups != 0)) {
        diag_error(build->cx, loc, "dirac_ needs groups that divide the first dimension, %lld; found %s",
                   (long long)tensor->dims[0], ev_text(&build->eval, scope_own(args, "groups")));
        return;
    }
    set_ones(build, tensor, groups);
}

static void set_init(struct build *build, struct scope *scope, struct module_tensor *tensor,
                     const struct expr *init)
{
    const struct signature *signature = init->kind == EXPR_BAD ? NULL : init_signature(build, init);
    struct scope args = {0};
    struct call call = {.loc = init->loc};
    const char *name;

    if (init->kind == EXPR_CALL)
        eval_args(build, scope, init, &call);
    if (!signature || !bind_args(build, &args, signature->name, signature->args, signature->count, &call))
        return;
    name = signature->name;
    tensor->init = INIT_CONSTANT;
    if (strcmp(name, "ones_") == 0) {
        tensor->a = 1;
    } else if (strcmp(name, "constant_") == 0) {
        init_number(build, &args, "val", &tensor->a);
    } else if (strcmp(name, "uniform_") == 0) {
        tensor->init = INIT_UNIFORM;
        if (init_number(build, &args, "a", &tensor->a) && init_number(build, &args, "b", &tensor->b) &&
            !(tensor->a <= tensor->b))
            diag_error(build->cx, init->loc, "uniform_ expects a <= b, found a=%g and b=%g", tensor->a,
                       tensor->b);
    } else if (strcmp(name, "normal_") == 0) {
        tensor->init = INIT_NORMAL;
        if (init_number(build, &args, "mean", &tensor->a) && init_number(build, &args, "std", &tensor->b) &&
            !(tensor->b >= 0))
            diag_error(build->cx, scope_own(&args, "std")->loc, "normal_ expects std >= 0, found %g",
                       tensor->b);
    } else if (strcmp(name, "trunc_normal_") == 0) {
        set_trunc_normal(build, &args, tensor, init->loc);
    } else if (strcmp(name, "eye_") == 0 || strcmp(name, "dirac_") == 0) {
        set_identity(build, &args, tensor, name, init->loc);
    } else if (strcmp(name, "zeros_") != 0) {
        double std = 0;

        if (!init_std(build, &args, tensor, name, init->loc, &std))
            return;
        tensor->init = strstr(name, "uniform") ? INIT_UNIFORM : INIT_NORMAL;
        tensor->b = tensor->init == INIT_UNIFORM ? sqrt(3.0) * std : std;
        tensor->a = tensor->init == INIT_UNIFORM ? -tensor->b : 0;
    }
    if (init_draws(tensor->init) && !dtype_is_float(tensor->dtype)) {
        diag_error(build->cx, init->loc, "%s needs a floating tensor; '%s' is %s", name, tensor->path,
                   dtype_rows[tensor->dtype].name);
    } else if (init_draws(tensor->init) && tensor->kind == MODULE_STATE) {
        diag_error(build->cx, init->loc, "%s draws numbers, and a state begins with known ones", name);
        diag_hint(build->cx, "draw a buffer, which policy_reset fills, and assign it to the state");
    }
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

static struct module_tensor *add_tensor(struct build *build, struct module *module,
                                        enum module_tensor_kind kind, const char *name, struct loc loc)
{
    struct module_tensor *tensor = ARENA_NEW(&build->cx->arena, struct module_tensor);

    tensor->kind = kind;
    tensor->name = name;
    tensor->path = module->path[0] ? arena_format(&build->cx->arena, "%s.%s", module->path, name) : name;
    tensor->loc = loc;
    tensor->owner = module;
    tensor->dtype = build->tree->dtype;
    tensor->persistent = kind != MODULE_STATE;
    tensor->requires_grad = kind == MODULE_PARAMETER;
    tensor->key = tensor->zero_row = -1;
    tensor->first = tensor;
    ARENA_PUSH(&build->cx->arena, module->tensors, module->tensor_count, tensor);
    return tensor;
}

/* Dimensions from a tuple of integers, or from one integer. */
static bool set_shape(struct build *build, struct module_tensor *tensor, const struct ev *shape)
{
    const struct ev *items = shape->kind == EV_TUPLE ? shape->items : shape;
    int count = shape->kind == EV_TUPLE ? shape->count : 1;
    int64_t elements = 1;

    if (shape->kind == EV_BAD)
        return false;
    if (count > MAX_DIMS) {
        diag_error(build->cx, shape->loc, "'%s' has more than %d dimensions", tensor->path, MAX_DIMS);
        return false;
    }
    for (int i = 0; i < count; i++) {
        int64_t extent;

        if (!ev_get_int(&items[i], &extent)) {
            diag_error(build->cx, items[i].loc, "a dimension must be an integer, found %s",
                       ev_text(&build->eval, &items[i]));
            return false;
        }
        if (extent < 0 || extent > INT32_MAX) {
            diag_error(build->cx, items[i].loc, "'%s' has a dimension that is %s: %lld", tensor->path,
                       extent < 0 ? "negative" : "larger than 2**31 - 1", (long long)extent);
            return false;
        }
        if (__builtin_mul_overflow(elements, extent > 0 ? extent : 1, &elements) || elements > (int64_t)1
                                                                                                   << 40) {
            diag_error(build->cx, shape->loc, "'%s' has more than 2**40 elements: its shape is %s",
                       tensor->path, ev_text(&build->eval, shape));
            return false;
        }
        tensor->dims[i] = extent;
        tensor->shape[i] = dim_const(&build->cx->arena, extent);
    }
    tensor->ndim = count;
    return true;
}

/* From a value known while generating; in the tensor's dtype where `cast` says so, else the tensor takes the value's. */
static bool set_value(struct build *build, struct module_tensor *tensor, struct ev value, bool cast)
{
    if (value.kind == EV_BAD)
        return false;
    if (value.kind != EV_TENSOR) { /* a number, or a list, which stands for a tensor */
        struct ev made = build_tensor(&build->eval, value.loc, &value, cast ? &tensor->dtype : NULL);

        value = made.kind == EV_NONE ? value : made;
    }
    if (value.kind != EV_TENSOR || !value.tensor->constant) {
        diag_error(build->cx, value.loc,
                   "the value of '%s' must be a tensor that is known while generating, found %s",
                   tensor->path, ev_kind_text(&value));
        if (value.kind == EV_TUPLE)
            diag_hint(build->cx, "lists of numbers that are all of one length make one");
        return false;
    }
    if (cast)
        value = ev_tensor(value.loc, build_cast(&build->eval, value.loc, value.tensor, tensor->dtype));
    if (value.kind == EV_BAD)
        return false;
    tensor->init = INIT_VALUE;
    tensor->value = value.tensor->constant;
    tensor->dtype = value.tensor->dtype;
    tensor->ndim = value.tensor->ndim;
    for (int i = 0; i < tensor->ndim; i++) {
        tensor->dims[i] = tensor->value->dims[i];
        tensor->shape[i] = value.tensor->dims[i];
    }
    return true;
}

/* "a, b" as a tuple; "" as the empty one. */
static struct ev shape_of_text(struct build *build, struct scope *scope, const char *text)
{
    struct arena *arena = &build->cx->arena;

    if (text[0] == '*') /* *normalized_shape */
        return eval_text(&build->eval, scope, text + 1);
    return eval_text(&build->eval, scope, text[0] ? arena_format(arena, "(%s,)", text) : "()");
}

/* `scope` has the module's arguments. False after a fault. */
static bool add_row_tensor(struct build *build, struct module *module, struct scope *scope,
                           const struct layer_tensor *row, enum module_tensor_kind kind)
{
    const char *name = layer_repr(&build->eval, scope, row->name);
    struct module_tensor *tensor = add_tensor(build, module, kind, name, module->loc);
    bool present = true;

    tensor->optional = row->optional;
    if (row->dtype)
        dtype_find(row->dtype, &tensor->dtype);
    if (row->when) {
        struct ev when = eval_text(&build->eval, scope, row->when);

        if (!ev_get_bool(&when, &present))
            present = false;
    }
    tensor->none = !present;
    if (!present)
        return true;
    if (row->value) {
        tensor->faulty = !set_value(build, tensor, eval_text(&build->eval, scope, row->value), false);
        return !tensor->faulty;
    }

    struct ev shape = shape_of_text(build, scope, row->shape);

    tensor->faulty = !set_shape(build, tensor, &shape) ||
                     (row->with && eval_body(&build->eval, scope, row->with).kind == EV_BAD);
    if (tensor->faulty)
        return false;

    struct source *source = ARENA_NEW(&build->cx->arena, struct source);

    *source = (struct source){.name = "<init>", .text = row->init, .length = strlen(row->init)};
    set_init(build, scope, tensor, expr_parse(build->cx, source, 0, source->length));
    if (row->zero_row) {
        struct ev at = eval_text(&build->eval, scope, row->zero_row);

        if (ev_get_int(&at, &tensor->zero_row) && tensor->zero_row < 0)
            tensor->zero_row += tensor->dims[0];
    }
    return true;
}

/* Is self.NAME, or a part of it, one of the targets? */
static bool target_writes(const struct expr *target, const char *name)
{
    switch (target->kind) {
    case EXPR_TUPLE:
    case EXPR_LIST:
        for (int i = 0; i < target->count; i++)
            if (target_writes(target->items[i], name))
                return true;
        return false;
    case EXPR_INDEX:
        return target_writes(target->a, name);
    case EXPR_ATTR:
        return target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0 &&
               strcmp(target->text, name) == 0;
    default:
        return false;
    }
}

static bool statements_write(struct stmt *const *statements, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (statements[i]->target && target_writes(statements[i]->target, name))
            return true;
    return false;
}

static bool set_spec_dtype(struct build *build, struct module_tensor *tensor, const struct spec_tensor *spec)
{
    struct scope none = {0}; /* the name is the dtype's, whatever else may have that name */
    struct ev dtype;

    if (!spec->dtype)
        return true;
    dtype = eval_expr(&build->eval, &none, spec->dtype);
    assert(dtype.kind == EV_DTYPE || dtype.kind == EV_BAD);
    tensor->dtype = dtype.kind == EV_DTYPE ? dtype.dtype : tensor->dtype;
    return dtype.kind == EV_DTYPE; /* spec.c took only names of dtypes */
}

/* False after an error: it requires gradients, and has none. */
static bool may_require_grad(struct build *build, const struct module_tensor *tensor, struct loc loc)
{
    if (!tensor->requires_grad || dtype_is_float(tensor->dtype))
        return true;
    diag_error(build->cx, loc, "only floating tensors can require gradients; '%s' is %s", tensor->path,
               dtype_rows[tensor->dtype].name);
    return false;
}

static void add_spec_tensor(struct build *build, struct module *module, const struct spec_tensor *spec)
{
    struct scope *scope = argument_scope(build, module,
                                         spec->kind == SPEC_PARAMETER ? find_fixed_name : find_maximum_name);
    enum module_tensor_kind kind = spec->kind == SPEC_PARAMETER ? MODULE_PARAMETER
                                   : spec->kind == SPEC_BUFFER  ? MODULE_BUFFER
                                                                : MODULE_STATE;
    struct module_tensor *tensor = add_tensor(build, module, kind, spec->name, spec->loc);
    const struct spec_class *class = module->spec_class;

    tensor->persistent = kind != MODULE_STATE && spec->persistent;
    tensor->requires_grad = kind == MODULE_PARAMETER && spec->requires_grad;
    if (class->forward)
        tensor->written = statements_write(class->forward->statements, class->forward->count, spec->name);
    if (!module->parent)
        for (int i = 0; i < build->tree->spec->entry_count; i++)
            tensor->written |= statements_write(build->tree->spec->entries[i]->statements,
                                                build->tree->spec->entries[i]->count, spec->name);
    if (!set_spec_dtype(build, tensor, spec) || (spec->shape && spec->shape->kind == EXPR_BAD)) {
        tensor->faulty = true;
    } else if (spec->value) {
        tensor->faulty = !set_value(build, tensor, eval_expr(&build->eval, scope, spec->value),
                                    spec->dtype != NULL);
    } else {
        struct ev shape = eval_expr(&build->eval, scope, spec->shape);

        tensor->faulty = !set_shape(build, tensor, &shape);
        if (!tensor->faulty && spec->init)
            set_init(build, scope, tensor, spec->init);
    }
    if (!tensor->faulty && !may_require_grad(build, tensor, spec->dtype ? spec->dtype->loc : spec->loc))
        diag_hint(build->cx, "declare it under 'buffers:', or write requires_grad: false");
    tensor->is_constant = kind == MODULE_BUFFER && !tensor->persistent && tensor->value && !tensor->written;
}

/* ---- kinds of arguments ----------------------------------------------------------------------------------- */

/* What is wrong inside a class may come from the arguments of one instance. */
static void note_instance(struct build *build, const struct module *module)
{
    const struct module *owner = module->parent;

    if (module->changed) /* its words are not those of the class */
        return;
    while (owner && !owner->spec_class && !owner->changed)
        owner = owner->parent;
    if (owner && owner->spec_class && owner->arg_count > 0)
        diag_note(build->cx, owner->loc, "in '%s', which is %s", owner->path, owner->text);
}

static void arg_fault(struct build *build, const struct module *module, const char *name,
                      const struct ev *value, const char *expected)
{
    diag_error(build->cx, value->loc, "%s: argument '%s' must be %s, found %s", module->class_name, name,
               expected, ev_text(&build->eval, value));
    note_instance(build, module);
}

/* Arguments that are tuples in the end: of how many integers (0: any number), and what may be given. */
static const struct {
    int count;
    const char *given;
} tuple_kinds[] = {
    [ARG_SINGLE] = {1, "an integer"},          [ARG_PAIR] = {2, "an integer or two"},
    [ARG_TRIPLE] = {3, "an integer or three"}, [ARG_FOUR] = {4, "an integer or four"},
    [ARG_SIX] = {6, "an integer or six"},      [ARG_INTS] = {0, "an integer or a tuple"},
};

/* Brings an argument into the form that its kind promises. */
static bool check_arg(struct build *build, const struct module *module, const struct layer_arg *arg,
                      struct ev *value)
{
    double number;
    int64_t integer;

    switch (arg->kind) {
    case ARG_INT:
        if (value->kind == EV_INT && dim_is_const(value->dim, NULL))
            return true;
        arg_fault(build, module, arg->name, value, "an integer");
        return false;
    case ARG_FLOAT:
        if (ev_get_number(value, &number))
            return true;
        arg_fault(build, module, arg->name, value, "a number");
        return false;
    case ARG_BOOL:
        if (value->kind == EV_BOOL || (value->kind == EV_INT && ev_get_int(value, &integer))) {
            bool truth = false;

            ev_get_bool(value, &truth);
            *value = ev_bool(value->loc, truth);
            return true;
        }
        arg_fault(build, module, arg->name, value, "True or False");
        return false;
    case ARG_STRING:
        if (value->kind == EV_STRING)
            return true;
        arg_fault(build, module, arg->name, value, "a string");
        return false;
    case ARG_TUPLE:
        for (int i = 0; value->kind == EV_TUPLE && i <= value->count; i++) {
            if (i == value->count)
                return true;
            if (value->items[i].kind != EV_INT)
                break;
        }
        arg_fault(build, module, arg->name, value, "a tuple of integers");
        return false;
    case ARG_SINGLE:
    case ARG_PAIR:
    case ARG_TRIPLE:
    case ARG_FOUR:
    case ARG_SIX:
    case ARG_INTS:
        if (value->kind == EV_NONE && arg->value && strcmp(arg->value, "None") == 0)
            return true;
        if (value->kind == EV_STRING && strcmp(arg->name, "padding") == 0)
            return true; /* 'same', 'valid': the function says what it has */
        if (value->kind == EV_INT && dim_is_const(value->dim, NULL)) {
            struct ev items[6] = {*value, *value, *value, *value, *value, *value};

            *value = ev_tuple(&build->eval, value->loc, items,
                              arg->kind == ARG_INTS ? 1 : tuple_kinds[arg->kind].count);
            return true;
        }
        if (value->kind == EV_TUPLE &&
            (arg->kind == ARG_INTS || value->count == tuple_kinds[arg->kind].count)) {
            for (int i = 0; i < value->count; i++) {
                if (value->items[i].kind != EV_INT) {
                    arg_fault(build, module, arg->name, value, "integers");
                    return false;
                }
            }
            value->list = false;
            return true;
        }
        arg_fault(build, module, arg->name, value, tuple_kinds[arg->kind].given);
        return false;
    case ARG_FLOATS:
        if (value->kind == EV_NONE)
            return true;
        if (value->kind == EV_TUPLE) /* others may hold it too */
            *value = ev_tuple(&build->eval, value->loc, value->items, value->count);
        for (int i = 0; i < (value->kind == EV_TUPLE ? value->count : 1); i++) {
            struct ev *item = value->kind == EV_TUPLE ? &value->items[i] : value;

            if (!ev_get_number(item, &number)) {
                arg_fault(build, module, arg->name, value, "a number or a tuple of numbers");
                return false;
            }
            *item = ev_float(item->loc, number);
        }
        return true;
    case ARG_ANY:
    case ARG_OPTION:
        return true;
    }
    return true;
}

/* ---- modules ---------------------------------------------------------------------------------------------- */

/* The module that `set` puts into this place, which is then built; false: none does. */
static bool build_set(struct build *build, struct module *parent, const char *name);

/* What `add` puts behind the children. */
static void build_added(struct build *build, struct module *module);

static void build_module(struct build *build, struct module *parent, const char *name, struct scope *scope,
                         const struct spec_module *spec);

/* Children of a list, by number: repetitions expand in place. */
static void build_items(struct build *build, struct module *parent, struct scope *scope,
                        const struct spec_module *spec);

static struct module *new_module(struct build *build, struct module *parent, const char *name, struct loc loc)
{
    struct module *module = ARENA_NEW(&build->cx->arena, struct module);

    module->parent = parent;
    module->name = name;
    module->path = !parent           ? ""
                   : parent->path[0] ? arena_format(&build->cx->arena, "%s.%s", parent->path, name)
                                     : name;
    module->loc = module->name_loc = loc;
    module->class_name = "?";
    module->text = "";
    module->step = build->step;
    module->changed = parent && module->step != parent->step;
    build->count++;
    if (parent)
        ARENA_PUSH(&build->cx->arena, parent->children, parent->child_count, module);
    return module;
}

static const struct spec_class *find_class(const struct build *build, const char *name)
{
    const struct spec *spec = build->tree->spec;

    for (int i = 0; i < spec->class_count; i++)
        if (strcmp(spec->classes[i]->name, name) == 0)
            return spec->classes[i];
    return NULL;
}

/* The class that a constructor names: `Linear`, `nn.Linear`, `torch.nn.Linear`. NULL: no such form. */
static const char *constructor_name(const struct expr *callee)
{
    if (callee->kind == EXPR_NAME)
        return callee->text;
    if (callee->kind == EXPR_ATTR) {
        const struct expr *base = callee->a;

        if (base->kind == EXPR_NAME && strcmp(base->text, "nn") == 0)
            return callee->text;
        if (base->kind == EXPR_ATTR && strcmp(base->text, "nn") == 0 && base->a->kind == EXPR_NAME &&
            strcmp(base->a->text, "torch") == 0)
            return callee->text;
    }
    return NULL;
}

static void unknown_class(struct build *build, struct loc loc, const char *name)
{
    const char **known = NULL;
    int count = 0, layers;
    const char *const *names = layer_names(build->cx, &layers);

    for (int i = 0; i < build->tree->spec->class_count; i++)
        ARENA_PUSH(&build->cx->arena, known, count, build->tree->spec->classes[i]->name);
    for (int i = 0; i < layers; i++)
        ARENA_PUSH(&build->cx->arena, known, count, names[i]);
    if (pytorch_has(PYTORCH_MODULE, name) || strcmp(name, "Extern") == 0) { /* Extern is modc's own */
        diag_error(build->cx, loc, "%s is not supported yet by this version of modc", name);
        diag_hint(build->cx, "'modc layers' lists what it has; 'classes:' defines modules of your own");
        return;
    }
    if (build->eval.partial && !diag_nearest(name, known, count))
        return; /* it may be a class of what could not be read */
    diag_error(build->cx, loc, "modc does not know the module '%s'", name);
    if (diag_nearest(name, known, count))
        diag_hint_nearest(build->cx, name, known, count);
    else
        diag_hint(build->cx, "'modc layers' lists those that it knows; 'classes:' defines your own");
}

static void store_args(struct build *build, struct module *module, const struct scope *scope,
                       const char *const *names, int count)
{
    module->args = ARENA_ARRAY(&build->cx->arena, count + 1, struct binding);
    module->arg_count = count;
    for (int i = 0; i < count; i++) {
        module->args[i].name = names[i];
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, names[i]) == 0)
                module->args[i].value = scope->items[j].value;
    }
}

static struct scope *row_scope(struct build *build, const struct module *module)
{
    struct scope *scope = ARENA_NEW(&build->cx->arena, struct scope);

    for (int i = 0; i < module->arg_count; i++)
        scope_bind(&build->eval, scope, module->args[i].name, module->args[i].value);
    return scope;
}

/* The place of the argument that a check names first, where the user wrote it; else the module's. */
static struct loc check_loc(const struct module *module, const char *condition)
{
    const char *first = NULL;
    struct loc loc = module->loc;

    for (int i = 0; i < module->arg_count; i++) {
        const char *at = strstr(condition, module->args[i].name);

        if (at && module->args[i].value.loc.source == module->loc.source && (!first || at < first)) {
            first = at;
            loc = module->args[i].value.loc;
        }
    }
    return loc;
}

static bool add_row_params(struct build *build, struct module *module, const struct layer_row *row)
{
    int64_t times = 1;

    if (row->repeat) {
        struct ev repeat = eval_text(&build->eval, row_scope(build, module), row->repeat);

        ev_get_int(&repeat, &times);
    }
    for (int64_t index = 0; index < times; index++) {
        for (int i = 0; i < 8 && row->params[i].name; i++) {
            struct scope *scope = row_scope(build, module);

            if (row->repeat) {
                scope_bind(&build->eval, scope, "index", ev_int(&build->eval, module->loc, index));
                eval_body(&build->eval, scope, row->each);
            }
            if (!add_row_tensor(build, module, scope, &row->params[i], MODULE_PARAMETER))
                return false;
        }
    }
    return true;
}

/* What a module that no user wrote is called in comments: as it prints. */
static void set_texts(struct build *build, struct module *module)
{
    module->text = arena_format(&build->cx->arena, "%s(%s)", module->class_name, module_extra_repr(module));
    for (int i = 0; i < module->child_count; i++)
        set_texts(build, module->children[i]);
}

/* False after a fault. */
static bool add_row_child(struct build *build, struct module *module, const struct layer_child *row)
{
    struct source *source = ARENA_NEW(&build->cx->arena, struct source);
    struct spec_module child = {.kind = SPEC_MODULE_CALL, .name = row->name, .loc = module->loc};
    struct scope *scope = row_scope(build, module);
    int before = module->child_count;

    if (row->when) {
        struct ev when = eval_text(&build->eval, scope, row->when);
        bool present;

        if (!ev_get_bool(&when, &present) || !present)
            return when.kind != EV_BAD;
    }
    *source = (struct source){.name = "<child>", .text = row->call, .length = strlen(row->call)};
    child.call = expr_parse_module(build->cx, source, 0, source->length);
    eval_place(child.call, module->loc);
    build_module(build, module, row->name, scope, &child);
    if (module->child_count == before)
        return false;
    set_texts(build, module->children[before]);
    return !module->children[before]->faulty;
}

/* Checks, tensors, children and printed form of a row whose arguments are there. False after a fault, as all of these. */
static bool complete_layer(struct build *build, struct module *module, const struct layer_row *row)
{
    build->eval.at = module->loc;
    for (int i = 0; i < LAYER_MAX_CHECKS && row->checks[i].condition; i++) {
        struct ev holds = eval_text(&build->eval, row_scope(build, module), row->checks[i].condition);
        bool truth = true;

        if (ev_get_bool(&holds, &truth) && !truth) {
            diag_error(build->cx, check_loc(module, row->checks[i].condition), "%s: %s", row->name,
                       layer_repr(&build->eval, row_scope(build, module), row->checks[i].message));
            note_instance(build, module);
            return false;
        }
    }
    if (!add_row_params(build, module, row))
        return false;
    for (int i = 0; i < 6 && row->buffers[i].name; i++)
        if (!add_row_tensor(build, module, row_scope(build, module), &row->buffers[i], MODULE_BUFFER))
            return false;
    for (int i = 0; i < 2 && row->children[i].name; i++)
        if (!add_row_child(build, module, &row->children[i]))
            return false;
    module->extra_repr = layer_repr(&build->eval, row_scope(build, module), row->extra_repr);
    return true;
}

static bool build_layer(struct build *build, struct module *module, const struct layer_row *row,
                        const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    const char *names[16];
    struct scope *scope = ARENA_NEW(arena, struct scope);
    const struct signature *signature;
    int count = 0;

    module->layer = row;
    for (; count < 16 && row->args[count].name; count++)
        names[count] = row->args[count].name;
    signature = eval_signature(&build->eval, layer_signature(build->cx, row));

    struct call own = *call;

    if (strcmp(row->name, "Identity") == 0) /* any arguments, ignored */
        own.count = 0;
    if (!bind_args(build, scope, row->name, signature->args, signature->count, &own))
        return false;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < scope->count; j++)
            if (strcmp(scope->items[j].name, names[i]) == 0 &&
                !check_arg(build, module, &row->args[i], &scope->items[j].value))
                return false;
    store_args(build, module, scope, names, count);
    if (!row->becomes)
        return complete_layer(build, module, row);
    module->lazy = row;
    ARENA_PUSH(arena, build->tree->lazy, build->tree->lazy_count, module);
    return true;
}

static bool has_tensors(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (!module->tensors[i]->none)
            return true;
    return false;
}

bool module_resolve(struct cx *cx, struct module_tree *tree, struct module *module, int64_t extent,
                    struct loc call)
{
    struct build build = {.cx = cx, .tree = tree, .eval = {.cx = cx, .default_dtype = tree->dtype}};
    const struct layer_row *row = layer_find(module->lazy->becomes);
    struct scope *given = row_scope(&build, module);
    const char *names[16];
    int count = 0;

    scope_bind(&build.eval, given, row->args[0].name, ev_int(&build.eval, module->loc, extent));
    for (; count < 16 && row->args[count].name; count++)
        names[count] = row->args[count].name;
    store_args(&build, module, given, names, count);
    module->layer = row;
    module->class_name = row->name;
    module->extent = extent;
    module->first_call = call;
    ARENA_PUSH(&cx->arena, tree->resolved, tree->resolved_count, module);
    module->faulty = !complete_layer(&build, module, row);
    if (!module->faulty && !has_tensors(module)) { /* PyTorch sets it together with the first of them */
        scope_bind(&build.eval, given, row->args[0].name, ev_int(&build.eval, module->loc, 0));
        module->extra_repr = layer_repr(&build.eval, given, row->extra_repr);
    }
    return !module->faulty;
}
static bool build_activation(struct build *build, struct module *module, const struct elementwise_row *row,
                             const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    const char *numbers = row->args, *names[8];
    struct scope *scope = ARENA_NEW(arena, struct scope);
    struct text text = text_new(arena);
    const struct signature *signature;

    module->elementwise = row;
    for (int i = 0; i < row->tensors && numbers; i++) { /* the numbers behind the tensors */
        numbers = strchr(numbers, ',');
        numbers = numbers ? numbers + 1 : NULL;
    }
    text_printf(&text, "%s(%s", row->module, numbers ? numbers : "");
    if (row->flags & ELEMENTWISE_INPLACE)
        text_printf(&text, "%sinplace=False", numbers ? ", " : "");
    text_add(&text, ")");
    signature = eval_signature(&build->eval, text.data);
    if (!bind_args(build, scope, row->module, signature->args, signature->count, call))
        return false;
    for (int i = 0; i < signature->count; i++)
        names[i] = signature->args[i].name;
    store_args(build, module, scope, names, signature->count);
    for (int i = 0; i < module->arg_count; i++) {
        double number;

        if (!ev_get_number(&module->args[i].value, &number)) {
            arg_fault(build, module, names[i], &module->args[i].value, "a number");
            return false;
        }
    }
    build->eval.at = module->loc;
    module->extra_repr = layer_repr(&build->eval, row_scope(build, module), row->repr);
    return true;
}

/* extra_repr of a class, in which {expression} is its value over the arguments, {expression!r} as Python's repr, and two
 * braces are one. */
static const char *class_repr(struct build *build, const struct module *module)
{
    const struct spec_class *class = module->spec_class;
    struct scope *scope = argument_scope(build, module, find_fixed_name);
    struct text text = text_new(&build->cx->arena);

    build->eval.at = class->extra_repr_loc;
    for (const char *c = class->extra_repr ? class->extra_repr : ""; *c; c++) {
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            c++;
        } else if (*c == '{') {
            size_t length = strcspn(c + 1, "}");
            bool quoted = length > 2 && memcmp(c + length - 1, "!r", 2) == 0;
            struct ev value;

            if (!c[1 + length]) {
                diag_error(build->cx, class->extra_repr_loc, "a '{' of extra_repr is never closed");
                diag_hint(build->cx, "write '{{' where a brace is meant");
                break;
            }
            value = eval_text(&build->eval, scope,
                              arena_copy(&build->cx->arena, c + 1, quoted ? length - 2 : length));
            if (value.kind != EV_BAD)
                text_add(&text,
                         value.kind == EV_STRING && !quoted ? value.text : ev_text(&build->eval, &value));
            c += length + 1;
            continue;
        }
        text_add_bytes(&text, c, 1);
    }
    build->eval.at = (struct loc){0};
    return text.data;
}

static bool build_class(struct build *build, struct module *module, const struct spec_class *class,
                        const struct call *call)
{
    struct arena *arena = &build->cx->arena;
    struct scope *scope = ARENA_NEW(arena, struct scope);
    const char **names = ARENA_ARRAY(arena, class->arg_count + 1, const char *);
    struct text text = text_new(arena);

    module->spec_class = class;
    module->class_name = class->name;
    for (struct module *outer = module; outer->parent && !outer->changed;) {
        outer = outer->parent;
        if (outer->spec_class == class) {
            diag_error(build->cx, module->loc, "the class '%s' contains itself", class->name);
            diag_note(build->cx, class->loc, "'%s' is defined here", class->name);
            return false;
        }
    }
    scope->outer = global_scope(&build->eval, build->tree, find_fixed_name);
    if (call && !bind_args(build, scope, class->name, class->args, class->arg_count, call))
        return false;
    for (int i = 0; i < class->arg_count; i++)
        names[i] = class->args[i].name;
    store_args(build, module, scope, names, class->arg_count);
    text_printf(&text, "%s(", class->name);
    for (int i = 0; i < module->arg_count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", ev_text(&build->eval, &module->args[i].value));
    text_add(&text, ")");
    module->signature = text.data;
    module->extra_repr = class_repr(build, module);
    for (int i = 0; i < class->tensor_count; i++)
        if (class->tensors[i]->kind == SPEC_PARAMETER)
            add_spec_tensor(build, module, class->tensors[i]);
    for (int i = 0; i < class->tensor_count; i++)
        if (class->tensors[i]->kind == SPEC_BUFFER)
            add_spec_tensor(build, module, class->tensors[i]);
    for (int i = 0; i < class->tensor_count; i++)
        if (class->tensors[i]->kind == SPEC_STATE)
            add_spec_tensor(build, module, class->tensors[i]);
    if (class->modules) {
        struct scope *own = argument_scope(build, module, find_fixed_name);

        if (class->modules->kind == SPEC_MODULE_LIST && !class->forward && !module->parent)
            module->class_name = "Sequential"; /* a model that is a list of modules */
        if (class->modules->kind == SPEC_MODULE_LIST)
            build_items(build, module, own, class->modules);
        else
            for (int i = 0; i < class->modules->count; i++)
                build_module(build, module, class->modules->children[i]->name, own,
                             class->modules->children[i]);
    }
    build_added(build, module);
    return true;
}

/* `Linear(4, 4) if wide else Identity()`: the chosen one; NULL where the condition is at fault. */
static const struct expr *choose_call(struct build *build, struct scope *scope, const struct expr *expr)
{
    while (expr->kind == EXPR_IF) {
        struct ev condition = eval_expr(&build->eval, scope, expr->b);
        bool truth;

        if (condition.kind == EV_BAD)
            return NULL;
        if (!ev_get_bool(&condition, &truth)) {
            diag_error(build->cx, expr->b->loc, "a condition must be known while generating, found %s",
                       ev_text(&build->eval, &condition));
            return NULL;
        }
        expr = truth ? expr->a : expr->c;
    }
    return expr;
}

static void not_a_module(struct build *build, const struct module *parent, const struct expr *expr)
{
    if (expr->kind == EXPR_CALL && expr->a->kind == EXPR_ATTR) {
        unknown_class(build, expr->a->name_loc, expr->a->text);
        return;
    }
    diag_error(build->cx, expr->loc, "a module is needed here, as Linear(4, 2)");
    if (expr->kind == EXPR_CALL)
        diag_hint(build->cx, "modules are made here, and called in statements");
    else if (expr->kind == EXPR_NONE)
        diag_hint(build->cx, "Identity() gives its input");
    else if (expr->kind == EXPR_LIST)
        diag_hint(build->cx, "leave the brackets out: only ModuleList takes one list");
    else if (expr->kind == EXPR_NAME && parent)
        diag_hint(build->cx, "modules as arguments of a class are not supported yet by this version of modc");
}

/* ---- containers ------------------------------------------------------------------------------------------- */

/* What a container holds under a name. */
struct entry_of_dict {
    const char *name;
    struct loc loc;
    const struct expr *item;
};

/* OrderedDict(...), with Python's name space or without. */
static bool is_ordered(const struct expr *expr)
{
    return expr->kind == EXPR_CALL && (expr->a->kind == EXPR_NAME || expr->a->kind == EXPR_ATTR) &&
           strcmp(expr->a->text, "OrderedDict") == 0;
}

/* ('act', ReLU()) */
static bool is_pair(const struct expr *expr)
{
    return (expr->kind == EXPR_TUPLE || expr->kind == EXPR_LIST) && expr->count == 2 &&
           expr->items[0]->kind == EXPR_STRING;
}

static void names_needed(struct build *build, const struct module *module, struct loc loc)
{
    bool parameters = module_holds_parameters(module);

    diag_error(build->cx, loc, "%s takes its %s with names", module->class_name,
               parameters ? "parameters" : "modules");
    diag_hint(build->cx,
              parameters ? "write ParameterDict(scale=[1.0, 2.0])" : "write ModuleDict(act=ReLU())");
}

/* What stands in (a=A, b=B), ({'a': A, 'b': B}), ([('a', A), ('b', B)]) and (OrderedDict(...)), by name in the order of the
 * text. False after a fault. */
static bool read_named(struct build *build, const struct module *module, const struct expr *call,
                       struct entry_of_dict **entries, int *count)
{
    const struct expr *from = call->count == 1 && !call->names[0] ? call->items[0] : call;

    if (from != call && is_ordered(from))
        return read_named(build, module, from, entries, count);
    if (from->kind == EXPR_BAD)
        return false;
    if (from != call && from->kind != EXPR_DICT && from->kind != EXPR_LIST && from->kind != EXPR_TUPLE) {
        names_needed(build, module, from->loc);
        return false;
    }
    for (int i = 0; i < from->count; i++) {
        const struct expr *item = from->items[i];
        struct entry_of_dict entry = {.loc = item->loc, .item = item};

        if (from == call || from->kind == EXPR_DICT) {
            entry.name = from->names[i];
            entry.loc = entry.name ? from->name_locs[i] : item->loc;
        } else if (is_pair(item)) {
            entry = (struct entry_of_dict){item->items[0]->text, item->items[0]->loc, item->items[1]};
        }
        if (!entry.name) {
            names_needed(build, module, item->loc);
            return false;
        }
        ARENA_PUSH(&build->cx->arena, *entries, *count, entry);
    }
    return true;
}

/* ParameterDict sorts a mapping; an OrderedDict, or pairs, keep their order. */
static bool sorts(const struct module *module, const struct expr *call)
{
    const struct expr *first = call->count > 0 ? call->items[0] : NULL;

    return module->layer->container == LAYER_PARAMETER_DICT && first &&
           (call->names[0] || (first->kind == EXPR_DICT && !is_ordered(first)));
}

static int by_name(const void *a, const void *b)
{
    const struct entry_of_dict *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order != 0 ? order : left->loc.offset < right->loc.offset ? -1 : 1;
}

/* A name that no sibling has, in C neither. */
static bool is_free(struct build *build, struct names *taken, const struct entry_of_dict *entry)
{
    const char *upper;
    const struct name_entry *first;

    if (!entry->name[0] || strpbrk(entry->name, ". ")) {
        diag_error(build->cx, entry->loc, "'%s' cannot be a name: it %s", entry->name,
                   entry->name[0] ? "has a '.' or a blank in it" : "is empty");
        return false;
    }
    upper = spec_upper_c_name(build->cx, entry->name);
    first = names_add(&build->cx->arena, taken, upper, entry->name, entry->loc);
    if (!first)
        return true;
    if (strcmp(first->name, entry->name) == 0)
        diag_error(build->cx, entry->loc, "the name '%s' is taken", entry->name);
    else
        diag_error(build->cx, entry->loc, "'%s' and '%s' give one name in C, %s", first->name, entry->name,
                   upper);
    diag_note(build->cx, first->loc, "'%s' is defined here", first->name);
    return false;
}

/* A parameter of ParameterList or ParameterDict: a tensor that is known while generating; a list stands for one of the
 * model's dtype. */
static void add_parameter(struct build *build, struct module *module, const char *name, struct loc loc,
                          struct scope *scope, const struct expr *expr)
{
    struct module_tensor *tensor = add_tensor(build, module, MODULE_PARAMETER, name, loc);
    struct ev value = eval_expr(&build->eval, scope, expr);

    tensor->faulty = true;
    if (value.kind != EV_TENSOR && value.kind != EV_TUPLE) {
        if (value.kind != EV_BAD) {
            diag_error(build->cx, value.loc, "%s holds tensors, found %s", module->class_name,
                       ev_text(&build->eval, &value));
            diag_hint(build->cx,
                      "a list stands for a tensor, as [1.0, 2.0]; zeros(3) and ones(2, 3) make one");
        }
        return;
    }
    tensor->faulty = !set_value(build, tensor, value, value.kind == EV_TUPLE) ||
                     !may_require_grad(build, tensor, value.loc);
}

static void build_named(struct build *build, struct module *module, struct scope *scope,
                        const struct expr *call)
{
    struct entry_of_dict *entries = NULL;
    struct names taken = {0};
    int count = 0;

    module->faulty = !read_named(build, module, call, &entries, &count);
    if (sorts(module, call) && count > 1)
        qsort(entries, (size_t)count, sizeof *entries, by_name);
    for (int i = 0; i < count && !module->faulty; i++) {
        struct spec_module item = {
            .kind = SPEC_MODULE_CALL, .loc = entries[i].loc, .call = (struct expr *)entries[i].item};

        if (!is_free(build, &taken, &entries[i]))
            module->faulty = true;
        else if (module_holds_parameters(module))
            add_parameter(build, module, entries[i].name, entries[i].loc, scope, entries[i].item);
        else
            build_module(build, module, entries[i].name, scope, &item);
    }
}

/* What Sequential(Linear(4, 4), ReLU()), ModuleList([Block(8), Block(8)]), ModuleDict({'act': ReLU()}),
 * Sequential(OrderedDict(...)) and ParameterList([[1.0, 2.0], zeros(3)]) hold. */
static void build_container(struct build *build, struct module *module, struct scope *scope,
                            const struct expr *call)
{
    enum layer_container kind = module->layer->container;
    const struct expr *only = call->count == 1 && !call->names[0] ? call->items[0] : NULL;
    bool brackets = (kind == LAYER_MODULE_LIST || kind == LAYER_PARAMETER_LIST) && only &&
                    only->kind == EXPR_LIST;
    const struct expr *items = brackets ? only : call;

    if (kind == LAYER_MODULE_DICT || kind == LAYER_PARAMETER_DICT ||
        (kind == LAYER_SEQUENTIAL && only && is_ordered(only))) {
        build_named(build, module, scope, call);
        return;
    }
    for (int i = 0; i < items->count; i++) {
        struct spec_module item = {
            .kind = SPEC_MODULE_CALL, .loc = items->items[i]->loc, .call = items->items[i]};
        struct spec_module *children[1] = {&item};
        struct spec_module list = {.kind = SPEC_MODULE_LIST, .children = children, .count = 1};

        if (!brackets && call->names[i]) {
            diag_error(build->cx, call->name_locs[i], "%s takes its %s without names", module->class_name,
                       module_holds_parameters(module) ? "parameters" : "modules");
            if (kind == LAYER_SEQUENTIAL)
                diag_hint(build->cx, "names are given by Sequential(OrderedDict(act=ReLU()))");
            module->faulty = true;
        } else {
            build_items(build, module, scope, &list);
        }
    }
}

/* "  (0): Parameter containing: [torch.float32 of size 2x3]", a line each. ParameterDict has the name of a type of tensors
 * there. */
static const char *parameters_repr(struct build *build, const struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];

        text_printf(&text, "%s  (%s): Parameter containing: [torch.%s of size ", i ? "\n" : "", tensor->name,
                    module->layer->container == LAYER_PARAMETER_LIST ? dtype_rows[tensor->dtype].name
                    : tensor->dtype == DTYPE_FLOAT64                 ? "DoubleTensor"
                                                                     : "FloatTensor");
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(&text, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
        text_add(&text, "]");
    }
    return text.data;
}

static struct module *build_call(struct build *build, struct module *parent, const char *name,
                                 struct scope *scope, const struct spec_module *spec, const struct expr *expr)
{
    struct module *module = new_module(build, parent, name, expr->loc);
    const struct layer_row *row;
    const struct elementwise_row *line;
    const struct spec_class *class;
    const char *class_name;
    struct call call;

    module->name_loc = spec->loc;
    module->faulty = true; /* until it is built */
    expr = choose_call(build, scope, expr);
    if (!expr || expr->kind == EXPR_BAD)
        return module;
    class_name = expr->kind == EXPR_CALL ? constructor_name(expr->a) : NULL;
    if (!class_name) {
        not_a_module(build, parent, expr);
        return module;
    }
    module->class_name = class_name;
    module->text = expr_source(build->cx, expr);
    class = expr->a->kind == EXPR_NAME ? find_class(build, class_name) : NULL;
    row = class ? NULL : layer_find(class_name);
    line = class || row ? NULL : elementwise_module(class_name);
    if (row && row->container != LAYER_PLAIN) {
        module->layer = row;
        module->faulty = false;
        build_container(build, module, scope, expr);
        module->extra_repr = module_holds_parameters(module) ? parameters_repr(build, module) : "";
        build_added(build, module);
        return module;
    }
    if (!class && !row && !line) {
        unknown_class(build, expr->a->loc, class_name);
        return module;
    }
    eval_args(build, scope, expr, &call);
    module->faulty = !(class ? build_class(build, module, class, &call)
                       : row ? build_layer(build, module, row, &call)
                             : build_activation(build, module, line, &call));
    if (!class)
        build_added(build, module);
    return module;
}

static const char *number_name(struct build *build, int number)
{
    return arena_format(&build->cx->arena, "%d", number);
}

static bool fits_limits(struct build *build, struct loc loc)
{
    if (build->depth < MODULE_MAX_DEPTH && build->count < MODULE_MAX_COUNT)
        return true;
    if (build->depth >= MODULE_MAX_DEPTH)
        diag_error(build->cx, loc, "modules are nested more than %d deep", MODULE_MAX_DEPTH);
    else if (build->count++ == MODULE_MAX_COUNT)
        diag_error(build->cx, loc, "a model has at most %d modules", MODULE_MAX_COUNT);
    return false;
}

/* The next of a list. */
static void build_item(struct build *build, struct module *parent, struct scope *scope,
                       const struct spec_module *spec, const struct expr *expr, bool array)
{
    const char *name = number_name(build, module_holds_parameters(parent) ? parent->tensor_count
                                                                          : parent->child_count);

    if (module_holds_parameters(parent))
        add_parameter(build, parent, name, expr->loc, scope, expr);
    else if (!build_set(build, parent, name))
        build_call(build, parent, name, scope, spec, expr)->array = array;
}

static void build_repeat(struct build *build, struct module *parent, struct scope *scope,
                         const struct spec_module *spec, const struct expr *expr)
{
    struct ev times = eval_expr(&build->eval, scope, expr->a);
    int64_t count = 0;

    if (times.kind != EV_BAD && (!ev_get_int(&times, &count) || count < 0 || count > 10000)) {
        diag_error(build->cx, expr->a->loc,
                   "the number of modules must be an integer from 0 to 10000, found %s",
                   ev_text(&build->eval, &times));
        times.kind = EV_BAD;
    }
    if (times.kind == EV_BAD)
        parent->faulty = true;
    for (int64_t i = 0; i < count && times.kind != EV_BAD && fits_limits(build, expr->loc); i++)
        build_item(build, parent, scope, spec, expr->b, true);
}

/* The names of a rule take the parts of one item of its sequence. */
static bool bind_names(struct build *build, struct scope *scope, const struct expr *rule,
                       const struct expr *target, const struct ev *item)
{
    if (target->kind == EXPR_NAME) {
        scope_bind(&build->eval, scope, target->text, *item);
        return true;
    }
    if (item->kind != EV_TUPLE || item->count != target->count) {
        diag_error(build->cx, rule->b->loc, "%s cannot be taken apart into %d name%s",
                   ev_text(&build->eval, item), target->count, target->count == 1 ? "" : "s");
        return false;
    }
    for (int i = 0; i < target->count; i++)
        if (!bind_names(build, scope, rule, target->items[i], &item->items[i]))
            return false;
    return true;
}

static void build_for(struct build *build, struct module *parent, struct scope *scope,
                      const struct spec_module *spec, const struct expr *expr)
{
    struct ev sequence = eval_expr(&build->eval, scope, expr->b);

    if (sequence.kind != EV_BAD && sequence.kind != EV_TUPLE)
        diag_error(build->cx, expr->b->loc, "'for' takes a tuple or list, found %s",
                   ev_text(&build->eval, &sequence));
    if (sequence.kind != EV_TUPLE)
        parent->faulty = true;
    for (int i = 0; sequence.kind == EV_TUPLE && i < sequence.count && fits_limits(build, expr->loc); i++) {
        struct scope *own = ARENA_NEW(&build->cx->arena, struct scope);

        own->outer = scope;
        if (!bind_names(build, own, expr, expr->c, &sequence.items[i])) {
            parent->faulty = true;
            return;
        }
        build_item(build, parent, own, spec, expr->a, false);
    }
}

static void build_items(struct build *build, struct module *parent, struct scope *scope,
                        const struct spec_module *spec)
{
    for (int i = 0; i < spec->count; i++) {
        const struct spec_module *item = spec->children[i];

        if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_REPEAT)
            build_repeat(build, parent, scope, item, item->call);
        else if (item->kind == SPEC_MODULE_CALL && item->call->kind == EXPR_FOR)
            build_for(build, parent, scope, item, item->call);
        else if (module_holds_parameters(parent))
            build_item(build, parent, scope, item, item->call, false);
        else
            build_module(build, parent, number_name(build, parent->child_count), scope, item);
    }
}

static void build_module(struct build *build, struct module *parent, const char *name, struct scope *scope,
                         const struct spec_module *spec)
{
    struct module *module;
    bool list = spec->kind == SPEC_MODULE_LIST ||
                (spec->kind == SPEC_MODULE_CALL &&
                 (spec->call->kind == EXPR_REPEAT || spec->call->kind == EXPR_FOR));

    if (build_set(build, parent, name) || !fits_limits(build, spec->loc))
        return;
    build->depth++;
    if (spec->kind == SPEC_MODULE_CALL && !list) {
        build_call(build, parent, name, scope, spec, spec->call);
    } else {
        module = new_module(build, parent, name, spec->loc);
        module->layer = layer_find(list ? "Sequential" : "ModuleDict");
        module->class_name = module->layer->name;
        module->extra_repr = "";
        if (spec->kind == SPEC_MODULE_CALL) { /* blocks: 12 x Block(256) */
            struct spec_module *children[1] = {(struct spec_module *)spec};
            struct spec_module items = {.kind = SPEC_MODULE_LIST, .children = children, .count = 1};

            module->text = expr_source(build->cx, spec->call);
            build_items(build, module, scope, &items);
        } else if (list) {
            build_items(build, module, scope, spec);
        } else {
            for (int i = 0; i < spec->count; i++)
                build_module(build, module, spec->children[i]->name, scope, spec->children[i]);
        }
        build_added(build, module);
    }
    build->depth--;
}

/* ---- set and add: see note [set and add] ------------------------------------------------------------------ */

/* The path without its last name: "" for a child of the root. */
static const char *parent_path(struct build *build, const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? arena_copy(&build->cx->arena, path, (size_t)(dot - path)) : "";
}

static void find_changes(struct build *build)
{
    const struct spec *spec = build->tree->spec;
    struct arena *arena = &build->cx->arena;

    build->step = -1;
    build->applied = ARENA_ARRAY(arena, spec->change_count + 1, bool);
    build->last_set = ARENA_ARRAY(arena, spec->change_count + 1, int);
    build->last_add = ARENA_ARRAY(arena, spec->change_count + 1, int);
    build->earlier_add = ARENA_ARRAY(arena, spec->change_count + 1, int);
    for (int i = 0; i < spec->change_count; i++) {
        const struct spec_change *change = &spec->changes[i];
        bool set = change->kind == SPEC_SET;
        struct names *names = set ? &build->sets : &build->adds;
        const char *key = set ? change->path : parent_path(build, change->path);
        const struct name_entry *first = names_add(arena, names, key, key, change->loc);
        int *last = set ? build->last_set : build->last_add, at = first ? first->index : names->count - 1;

        build->earlier_add[i] = first && !set ? last[at] : -1;
        last[at] = i;
    }
}

/* The last `set` of this very path, if it is behind `step`; else -1. */
static int find_set(const struct build *build, const char *path, int step)
{
    const struct name_entry *found = names_find(&build->sets, path);

    return found && build->last_set[found->index] > step ? build->last_set[found->index] : -1;
}

static const char *path_below(struct build *build, const struct module *parent, const char *name)
{
    return parent->path[0] ? arena_format(&build->cx->arena, "%s.%s", parent->path, name) : name;
}

/* Builds the module of a change as a child, in the model's scope. */
static void build_change(struct build *build, struct module *parent, int change)
{
    const struct spec_module *spec = build->tree->spec->changes[change].module;
    int step = build->step;

    build->step = change;
    build->applied[change] = true;
    build_module(build, parent, spec->name, global_scope(&build->eval, build->tree, find_fixed_name), spec);
    build->step = step;
}

static bool build_set(struct build *build, struct module *parent, const char *name)
{
    int change = build->sets.count > 0 ? find_set(build, path_below(build, parent, name), build->step) : -1;

    if (change >= 0)
        build_change(build, parent, change);
    return change >= 0;
}

/* Takes the name for a child; false where a child or tensor has it, or one that is equal in C. */
static bool take_name(struct build *build, const struct module *parent, struct names *taken,
                      const struct spec_change *change)
{
    const char *name = change->module->name, *upper = spec_upper_c_name(build->cx, name);
    const struct name_entry *first = names_add(&build->cx->arena, taken, upper, name, change->loc);

    if (!first)
        return true;
    if (strcmp(first->name, name) == 0)
        diag_error(build->cx, change->loc, "there is a '%s' already, which 'add' does not replace",
                   change->path);
    else
        diag_error(build->cx, change->loc, "'%s' and '%s' give one name in C, %s", first->name, name, upper);
    diag_note(build->cx, first->loc, "'%s' is defined here", path_below(build, parent, first->name));
    if (module_child(parent, name))
        diag_hint(build->cx, "'set' replaces a module");
    return false;
}

static void build_added(struct build *build, struct module *module)
{
    const struct name_entry *found = build->adds.count > 0 ? names_find(&build->adds, module->path) : NULL;
    const struct spec *spec = build->tree->spec;
    struct names taken = {0};
    int *changes = NULL, count = 0, step = build->step;

    for (int i = found ? build->last_add[found->index] : -1; i > step; i = build->earlier_add[i])
        ARENA_PUSH(&build->cx->arena, changes, count, i);
    for (int i = 0; i < module->tensor_count && count > 0; i++)
        names_add(&build->cx->arena, &taken, spec_upper_c_name(build->cx, module->tensors[i]->name),
                  module->tensors[i]->name, module->tensors[i]->loc);
    for (int i = 0; i < module->child_count && count > 0; i++)
        names_add(&build->cx->arena, &taken, spec_upper_c_name(build->cx, module->children[i]->name),
                  module->children[i]->name, module->children[i]->loc);
    for (int i = count - 1; i >= 0; i--) { /* they were found from the last to the first */
        const struct spec_change *change = &spec->changes[changes[i]];

        build->applied[changes[i]] = true;
        if (!take_name(build, module, &taken, change))
            continue;

        int child = module->child_count;

        build->step = changes[i];
        if (!build_set(build, module, change->module->name))
            build_change(build, module, changes[i]);
        build->step = step;
        if (child < module->child_count)
            module->children[child]->added = true;
    }
}

/* The module of this path, or the last one on the way to it. */
static struct module *find_deepest(struct build *build, const char *path)
{
    struct module *module = build->tree->root;

    while (!module->faulty && strcmp(module->path, path) != 0) {
        size_t skip = module->path[0] ? strlen(module->path) + 1 : 0;
        const char *name = arena_copy(&build->cx->arena, path + skip, strcspn(path + skip, "."));
        struct module *child = module_child(module, name);

        if (!child)
            return module;
        module = child;
    }
    return module;
}

static const char *children_text(struct build *build, const struct module *module)
{
    enum { shown = 8 };
    struct text text = text_new(&build->cx->arena);

    for (int i = 0; i < module->child_count && i < shown; i++)
        text_printf(&text, "%s%s", i ? ", " : "", module->children[i]->name);
    if (module->child_count > shown)
        text_printf(&text, ", ... (%d)", module->child_count);
    return module->child_count > 0 ? text.data : "none";
}

/* A change whose place was not there. */
static void say_lost(struct build *build, const struct spec_change *change)
{
    const char *needed = change->kind == SPEC_SET ? change->path : parent_path(build, change->path);
    const struct module *deepest = find_deepest(build, needed);
    const char **known = NULL;
    int count = 0;

    build->tree->spec->partial = true; /* what the spec calls may be what was to be added */
    if (deepest->faulty || build->eval.partial)
        return;
    if (strcmp(deepest->path, needed) == 0) {
        diag_error(build->cx, change->loc, "there is no module '%s' yet: it is added later", needed);
        diag_note(build->cx, deepest->loc, "'%s' is added here", needed);
        return;
    }
    if (change->kind == SPEC_SET)
        diag_error(build->cx, change->loc, "there is no module '%s' to replace", needed);
    else
        diag_error(build->cx, change->loc, "there is no module '%s' to add '%s' to", needed,
                   change->module->name);
    if (build->cx->dropping)
        return;
    if (deepest->parent)
        diag_note(build->cx, deepest->loc, "'%s' is here; its children: %s", deepest->path,
                  children_text(build, deepest));
    else
        diag_note(build->cx, deepest->loc, "the children of the model: %s", children_text(build, deepest));
    for (int i = 1; i < build->tree->module_count; i++)
        ARENA_PUSH(&build->cx->arena, known, count, build->tree->modules[i]->path);
    diag_hint_nearest(build->cx, needed, known, count);
}

/* Says which changes did nothing. That the change of a base is overruled is what extending is for. */
static void check_changes(struct build *build)
{
    const struct spec *spec = build->tree->spec;

    for (int i = 0; i < spec->change_count; i++) {
        const struct spec_change *change = &spec->changes[i];
        int later = -1;

        if (build->applied[i])
            continue;
        for (const char *path = change->path; path[0] && later < 0; path = parent_path(build, path))
            later = find_set(build, path, i);
        if (later < 0) {
            say_lost(build, change);
        } else if (spec->changes[later].loc.source == change->loc.source) {
            diag_error(build->cx, change->loc, "this has no effect: '%s' is replaced later",
                       spec->changes[later].path);
            diag_note(build->cx, spec->changes[later].loc, "'%s' is replaced here",
                      spec->changes[later].path);
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

/* `set` or `add` had to do with it, or with something below it. */
static bool is_touched(const struct module *module)
{
    for (int i = 0; i < module->child_count; i++)
        if (is_touched(module->children[i]))
            return true;
    return module->changed;
}

/* Children are an array where a list, and nothing else, is one `N x Call`: the root, a class, and a list with further
 * items or with changes have members of their own. */
static void mark_array(const struct module *module)
{
    bool array = module->parent && !module->spec_class && module->child_count > 1;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];

        array &= child->array && strcmp(child->text, module->children[0]->text) == 0 && !is_touched(child);
    }
    for (int i = 0; i < module->child_count; i++)
        module->children[i]->array = array;
}

static const char *describe(struct build *build, const struct module *module);

/* " with norm: Identity(), act: Tanh()" for the changes below an instance of a class, of which `module` is a part. */
static void describe_changes(struct build *build, struct text *text, const struct module *instance,
                             const struct module *module)
{
    size_t skip = instance->path[0] ? strlen(instance->path) + 1 : 0;

    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];

        if (child->changed || child->lazy)
            text_printf(text, "%s %s: %s", text->length > strlen(instance->signature) ? "," : " with",
                        child->path + skip, describe(build, child));
        else
            describe_changes(build, text, instance, child);
    }
}

/* A module by values alone, so that equal descriptions are equal modules. */
static const char *describe(struct build *build, const struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    if (module->signature)
        return module->signature;
    text_printf(&text, "%s(", module->class_name);
    for (int i = 0; i < module->arg_count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", ev_text(&build->eval, &module->args[i].value));
    for (int i = 0; i < module->tensor_count && module_holds_parameters(module); i++)
        text_printf(&text, "%s%s: %s %s", i ? ", " : "", module->tensors[i]->name,
                    dtype_rows[module->tensors[i]->dtype].name,
                    shape_text(&build->cx->arena, module->tensors[i]->ndim, module->tensors[i]->shape));
    for (int i = 0; i < module->child_count; i++)
        text_printf(&text, "%s%s: %s", i + module->arg_count + module->tensor_count ? ", " : "",
                    module->children[i]->name, describe(build, module->children[i]));
    text_add(&text, ")");
    return text.data;
}

/* An instance that was changed is like those that were changed in the same way, and like no other. */
static void complete_signature(struct build *build, struct module *module)
{
    struct text text = text_new(&build->cx->arena);

    if (!module->parent || !module->signature)
        return;
    text_add(&text, module->signature);
    describe_changes(build, &text, module, module);
    module->signature = text.data;
}

static void number_modules(struct build *build, struct module *module)
{
    struct module_tree *tree = build->tree;
    struct arena *arena = &build->cx->arena;

    module->index = tree->module_count;
    ARENA_PUSH(arena, tree->modules, tree->module_count, module);
    mark_array(module);
    for (int i = 0; i < module->child_count; i++)
        number_modules(build, module->children[i]);
    module->subtree = tree->module_count - module->index - 1;
}

static void number_tensors(struct build *build, struct module *module)
{
    struct module_tree *tree = build->tree;
    struct arena *arena = &build->cx->arena;

    for (int pass = 0; pass < 2; pass++) { /* parameters, then buffers */
        for (int i = 0; i < module->tensor_count; i++) {
            struct module_tensor *tensor = module->tensors[i];

            if (tensor->none || tensor->is_constant || (int)tensor->kind != pass)
                continue;
            tensor->key = tree->key_count;
            ARENA_PUSH(arena, tree->keys, tree->key_count, tensor);
        }
    }
    for (int i = 0; i < module->tensor_count; i++) {
        struct module_tensor *tensor = module->tensors[i];

        if (tensor->kind != MODULE_STATE)
            continue;
        tensor->key = tree->state_count;
        ARENA_PUSH(arena, tree->states, tree->state_count, tensor);
    }
    for (int i = 0; i < module->child_count; i++)
        number_tensors(build, module->children[i]);
    complete_signature(build, module);
}

static bool are_siblings(const char *a, const char *b)
{
    const char *last_a = strrchr(a, '.'), *last_b = strrchr(b, '.');
    size_t length_a = last_a ? (size_t)(last_a - a) : 0, length_b = last_b ? (size_t)(last_b - b) : 0;

    return length_a == length_b && strncmp(a, b, length_a) == 0;
}

static void check_constant(struct build *build, struct names *names, const char *constant, const char *path,
                           struct loc loc)
{
    const struct name_entry *first = names_add(&build->cx->arena, names, constant, path, loc);
    const char *prefix = spec_upper_c_name(build->cx, build->tree->spec->model);

    if (first && !first->loc.source) {
        diag_error(build->cx, loc, "the module '%s' would have the name of a constant of every model, %s_%s",
                   path, prefix, constant);
    } else if (first && !are_siblings(first->name, path)) { /* spec.c looks at siblings */
        diag_error(build->cx, loc, "'%s' and '%s' give one name in C, %s_%s", first->name, path, prefix,
                   constant);
        diag_note(build->cx, first->loc, "'%s' is defined here", first->name);
    }
}

/* Each module has a constant in C, named by its path. */
static void check_constants(struct build *build)
{
    const struct spec *spec = build->tree->spec;
    struct arena *arena = &build->cx->arena;
    struct loc nowhere = {0};
    struct names names = {0};

    for (int i = 0; emitted_constants[i]; i++)
        names_add(arena, &names, emitted_constants[i], "", nowhere);
    for (int e = -1; e < spec->entry_count; e++) {
        const char *entry = e < 0 ? "forward" : spec->entries[e]->name;

        for (int i = 0; i < spec->size_count; i++) {
            names_add(arena, &names, emitted_max(build->cx, entry, spec->sizes[i].name), "", nowhere);
            names_add(arena, &names, emitted_max(build->cx, NULL, spec->sizes[i].name), "", nowhere);
        }
        for (int v = 0; v < 2 * EMITTED_VARIANTS; v++)
            names_add(arena, &names,
                      emitted_workspace(build->cx, entry, v & 1, (enum emitted_variant)(v >> 1)), "",
                      nowhere);
    }
    names_add(arena, &names, emitted_module(build->cx, ""), "", nowhere);
    for (int i = 1; i < build->tree->module_count; i++) {
        const struct module *module = build->tree->modules[i];

        check_constant(build, &names, emitted_module(build->cx, module->path), module->path,
                       module->name_loc);
    }
}

/* NULL: of a module whose arguments are faulty. */
static void add_draw(struct build *build, struct module_tensor *tensor)
{
    if (tensor && !tensor->none && tensor->key >= 0 && tensor->kind != MODULE_STATE)
        ARENA_PUSH(&build->cx->arena, build->tree->draws, build->tree->draw_count, tensor);
}

/* As __init__ would: a class makes what it has in the order of the text, modules that are added behind its own; a layer
 * its parameters, unless they wait for a call, and what is added to it comes later. */
static void order_draws(struct build *build, const struct module *module)
{
    const struct spec_class *class = module->spec_class;
    int first_later = module->child_count, tensors = class ? class->tensor_count : module->tensor_count;

    while (!class && first_later > 0 && module->children[first_later - 1]->added)
        first_later--;
    for (int i = 0; class && i < class->tensors_first; i++)
        add_draw(build, module_find_tensor(module, class->tensors[i]->name));
    for (int i = 0; i < first_later; i++)
        order_draws(build, module->children[i]);
    for (int i = class ? class->tensors_first : 0; i < tensors && !module->lazy; i++)
        add_draw(build, class ? module_find_tensor(module, class->tensors[i]->name) : module->tensors[i]);
    for (int i = first_later; i < module->child_count; i++)
        order_draws(build, module->children[i]);
}

static void read_sizes(struct build *build)
{
    const struct spec *spec = build->tree->spec;
    struct module_tree *tree = build->tree;
    struct scope *scope = global_scope(&build->eval, tree, find_fixed_name);

    for (int i = 0; i < spec->constant_count; i++) {
        struct ev value = eval_expr(&build->eval, scope, spec->constants[i].value);

        ARENA_PUSH(&build->cx->arena, tree->constants, tree->constant_count,
                   ((struct binding){spec->constants[i].name, value}));
    }
    tree->sizes = ARENA_ARRAY(&build->cx->arena, spec->size_count + 1, struct size);
    for (int i = 0; i < spec->size_count; i++) {
        struct ev max = eval_expr(&build->eval, scope, spec->sizes[i].max);
        int64_t value = 1;

        if (max.kind != EV_BAD && (!ev_get_int(&max, &value) || value < 1 || value > 1 << 30)) {
            diag_error(build->cx, spec->sizes[i].max->loc,
                       "the maximum of '%s' must be an integer from 1 to 2**30, found %s",
                       spec->sizes[i].name, ev_text(&build->eval, &max));
            value = 1;
        }
        tree->sizes[i] = (struct size){.name = spec->sizes[i].name, .max = value, .index = i};
    }
    tree->size_count = spec->size_count;
}

static void check_class_names(struct cx *cx, const struct spec *spec)
{
    for (int i = 0; i < spec->class_count; i++) {
        const struct spec_class *class = spec->classes[i];

        if (!pytorch_has(PYTORCH_MODULE, class->name) && !layer_find(class->name))
            continue;
        diag_error(cx, class->loc, "'%s' is a class of %s; a class of the spec needs a name of its own",
                   class->name, pytorch_has(PYTORCH_MODULE, class->name) ? "torch.nn" : "modc");
    }
}

/* Whether this version computes in a dtype of the spec. */
static bool is_computed(const char *name)
{
    enum dtype dtype;

    return dtype_find(name, &dtype) && (dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64);
}

/* Where the variant's own cannot be (said), that of another, so that nothing more is said of this one. */
static enum dtype variant_dtype(const struct spec *spec, int variant)
{
    enum dtype dtype = DTYPE_FLOAT32;

    for (int i = 0; i < spec->dtype_count && !is_computed(spec->dtypes[variant]); i++)
        if (is_computed(spec->dtypes[i]))
            variant = i;
    if (is_computed(spec->dtypes[variant]))
        dtype_find(spec->dtypes[variant], &dtype);
    return dtype;
}

static void check_dtypes_and_devices(struct cx *cx, const struct spec *spec)
{
    for (int i = 0; i < spec->dtype_count; i++)
        if (!is_computed(spec->dtypes[i]))
            diag_error(cx, spec->dtype_locs[i],
                       "dtype %s is not supported yet by this version of modc; it has float32 and float64",
                       spec->dtypes[i]);
    for (int i = 0; i < spec->device_count; i++)
        if (strcmp(spec->devices[i], "cpu") != 0)
            diag_error(cx, spec->device_locs[i],
                       "device %s is not supported yet by this version of modc; it has cpu",
                       spec->devices[i]);
}

/* The dtype of the packed weights of products: the model's, or a 16-bit type under float32. */
static enum dtype variant_storage(struct cx *cx, const struct spec *spec, enum dtype dtype)
{
    enum dtype storage = dtype;

    if (!spec->storage || (dtype_find(spec->storage, &storage) && storage == dtype))
        return dtype;
    if (dtype != DTYPE_FLOAT32 || (storage != DTYPE_BFLOAT16 && storage != DTYPE_FLOAT16)) {
        diag_error(cx, spec->storage_loc, "a model that computes in %s does not pack its weights as %s",
                   dtype_rows[dtype].name, spec->storage);
        diag_hint(cx, "bfloat16 and float16 are for the dtype float32");
    } else if (spec->pack == SPEC_OFF) {
        diag_error(cx, spec->storage_loc, "with `pack: none` there are no packed weights to store as %s",
                   spec->storage);
        diag_hint(cx, "leave one of the two out");
    }
    return storage;
}

static bool begins_as(const char *name, const char *prefix)
{
    while (*prefix && tolower((unsigned char)*name) == *prefix) {
        name++;
        prefix++;
    }
    return !*prefix;
}

/* `float64`, `FLOAT64_norm` and, of a class, `Float64Norm`: with the model's name in front they begin as what is emitted
 * for a second dtype does. */
static void check_prefix(struct cx *cx, const struct spec *spec, const char *name, struct loc loc, bool class)
{
    for (int i = 1; i < spec->dtype_count; i++) {
        size_t length = strlen(spec->dtypes[i]);

        if (!begins_as(name, spec->dtypes[i]) || (!class && name[length] && name[length] != '_'))
            continue;
        diag_error(cx, loc, "'%s' gives names in C that belong to the variant %s_%s", name, spec->model,
                   spec->dtypes[i]);
        diag_note(cx, spec->dtype_locs[i], "the variant is asked for here");
    }
}

/* Names of the variants of several dtypes and names of the model meet in no program. */
static void check_variant_names(struct cx *cx, const struct module_tree *tree)
{
    const struct spec *spec = tree->spec;

    for (int i = 0; i < tree->root->child_count; i++)
        check_prefix(cx, spec, tree->root->children[i]->name, tree->root->children[i]->name_loc, false);
    for (int i = 0; i < spec->entry_count; i++)
        check_prefix(cx, spec, spec->entries[i]->name, spec->entries[i]->loc, false);
    for (int i = 0; i < spec->class_count; i++)
        check_prefix(cx, spec, spec->classes[i]->name, spec->classes[i]->loc, true);
}

struct module *module_criterion(struct cx *cx, struct module_tree *tree)
{
    struct build building = {.cx = cx, .tree = tree, .step = -1}, *build = &building;
    const struct spec_training *training = tree->spec->training;
    const struct spec_module place = {.loc = training->loss_loc};
    struct module *nothing, *module;

    build->eval = (struct eval){.cx = cx, .default_dtype = tree->dtype, .partial = tree->spec->partial};
    find_changes(build);
    nothing = new_module(build, NULL, "", training->loss_loc);
    module = build_call(build, nothing, "(loss)", global_scope(&build->eval, tree, find_fixed_name), &place,
                        training->criterion);

    if (module->faulty)
        return module;
    for (int i = 0; i < module->tensor_count; i++) {
        struct module_tensor *tensor = module->tensors[i];

        tensor->first = tensor;
        tensor->is_constant = tensor->kind == MODULE_BUFFER && tensor->value;
        module->faulty |= !tensor->none && !tensor->is_constant;
    }
    if (!module->layer || module->layer->container != LAYER_PLAIN || module->child_count > 0)
        module->faulty = true;
    if (module->faulty) {
        diag_error(cx, training->criterion->loc, "%s is not a loss of an output and a target",
                   module->class_name);
        diag_hint(cx, "write statements, which may call modules of the model");
    }
    return module;
}

struct module_tree *module_build(struct cx *cx, struct spec *spec, int variant)
{
    struct module_tree *tree = ARENA_NEW(&cx->arena, struct module_tree);
    struct build build = {.cx = cx, .tree = tree};

    tree->spec = spec;
    tree->variant = variant;
    tree->name = variant > 0 ? arena_format(&cx->arena, "%s_%s", spec->model, spec->dtypes[variant])
                             : spec->model;
    tree->dtype = tree->storage = variant_dtype(spec, variant);
    cx->variant.loc = spec->dtype_locs[variant];
    cx->variant.text = variant > 0
                           ? arena_format(&cx->arena, "in the variant of dtype %s", spec->dtypes[variant])
                           : NULL;
    if (variant == 0)
        check_dtypes_and_devices(cx, spec);
    if (is_computed(spec->dtypes[variant]))
        tree->storage = variant_storage(cx, spec, tree->dtype);
    build.eval.cx = cx;
    build.eval.default_dtype = tree->dtype;
    build.eval.partial = spec->partial;
    find_changes(&build);
    check_class_names(cx, spec);
    read_sizes(&build);
    tree->root = new_module(&build, NULL, "", spec->root.loc);
    build_class(&build, tree->root, &spec->root, NULL);
    if (!tree->root->layer && strcmp(tree->root->class_name, "Sequential") != 0)
        tree->root->class_name = spec->model;
    number_modules(&build, tree->root);
    check_changes(&build);
    tree->partial = spec->partial;
    for (int i = 0; i < tree->module_count; i++) {
        tree->partial |= tree->modules[i]->faulty;
        for (int j = 0; j < tree->modules[i]->tensor_count; j++)
            tree->partial |= tree->modules[i]->tensors[j]->faulty;
    }
    check_constants(&build);
    module_fix_modes(cx, tree);
    if (tree->lazy_count == 0)
        module_finish(cx, tree);
    if (variant == 0)
        check_variant_names(cx, tree);
    return tree;
}

void module_finish(struct cx *cx, struct module_tree *tree)
{
    struct build build = {.cx = cx, .tree = tree, .eval = {.cx = cx}};

    for (int i = 0; i < tree->lazy_count; i++)
        tree->partial |= tree->lazy[i]->faulty || tree->lazy[i]->layer == tree->lazy[i]->lazy;
    number_tensors(&build, tree->root);
    order_draws(&build, tree->root);
    for (int i = 0; i < tree->resolved_count; i++)
        for (int k = 0; k < tree->resolved[i]->tensor_count; k++)
            add_draw(&build, tree->resolved[i]->tensors[k]);
    module_apply_paths(cx, tree);
}

/* ---- dump ------------------------------------------------------------------------------------------------- */

static void dump_tensor_json(struct text *text, const struct module_tensor *tensor)
{
    static const char *const kinds[] = {"parameter", "buffer", "state"};

    text_add(text, "{\"name\": ");
    text_json_string(text, tensor->path);
    text_printf(text, ", \"kind\": \"%s\", \"dtype\": \"%s\", \"persistent\": %s, \"requires_grad\": %s",
                kinds[tensor->kind], dtype_rows[tensor->dtype].name, tensor->persistent ? "true" : "false",
                tensor->requires_grad ? "true" : "false");
    if (tensor->first != tensor) {
        text_add(text, ", \"same_as\": ");
        text_json_string(text, tensor->first->path);
    }
    text_add(text, ", \"shape\": [");
    for (int i = 0; i < tensor->ndim; i++)
        text_printf(text, "%s%lld", i ? ", " : "", (long long)tensor->dims[i]);
    text_add(text, "]}");
}

static void dump_json(struct text *text, const struct module *module)
{
    text_add(text, "{\"path\": ");
    text_json_string(text, module->path);
    text_add(text, ", \"class\": ");
    text_json_string(text, module->class_name);
    text_add(text, ", \"extra_repr\": ");
    text_json_string(text, module_extra_repr(module));
    text_printf(text, ", \"always_eval\": %s, \"checkpoint\": %s, \"tensors\": [",
                module->always_eval ? "true" : "false", module->checkpoint ? "true" : "false");
    for (int i = 0, n = 0; i < module->tensor_count; i++) {
        if (module->tensors[i]->none)
            continue;
        text_add(text, n++ ? ", " : "");
        dump_tensor_json(text, module->tensors[i]);
    }
    text_add(text, "], \"children\": [");
    for (int i = 0; i < module->child_count; i++) {
        text_add(text, i ? ", " : "");
        dump_json(text, module->children[i]);
    }
    text_add(text, "]}");
}

static void dump_text(struct text *text, const struct module *module, int depth)
{
    text_printf(text, "%*s%s%s%s(%s)%s%s\n", 2 * depth, "", module->name, module->parent ? ": " : "",
                module->class_name, module_extra_repr(module), module->always_eval ? " always eval" : "",
                module->checkpoint ? " checkpoint" : "");
    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];

        if (tensor->none)
            continue;
        text_printf(text, "%*s%s %s (", 2 * depth + 4, "", tensor->name, dtype_rows[tensor->dtype].name);
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(text, "%s%lld", d ? ", " : "", (long long)tensor->dims[d]);
        text_printf(text, ")%s%s%s%s",
                    tensor->kind == MODULE_STATE    ? " state"
                    : tensor->kind == MODULE_BUFFER ? " buffer"
                                                    : "",
                    tensor->persistent || tensor->kind == MODULE_STATE ? "" : " not persistent",
                    tensor->is_constant ? " constant" : "",
                    tensor->kind == MODULE_PARAMETER && !tensor->requires_grad ? " frozen" : "");
        if (tensor->first != tensor)
            text_printf(text, " same as %s", tensor->first->path);
        text_add(text, "\n");
    }
    for (int i = 0; i < module->child_count; i++)
        dump_text(text, module->children[i], depth + 1);
}

void module_dump(struct text *text, const struct module_tree *tree, bool json)
{
    if (json) {
        dump_json(text, tree->root);
        text_add(text, "\n");
    } else {
        dump_text(text, tree->root, 0);
    }
}
