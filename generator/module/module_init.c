/* module_init.c - how parameters and buffers begin: the functions of torch.nn.init. Apart from module_tensors.c, since it is
 * a small language with rules of its own. */
#include "module/module_builder.h"

#include <math.h>
#include <string.h>

#include "eval/pytorch.h"

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

static bool init_number(struct builder *build, const struct scope *args, const char *name, double *out)
{
    const struct ev *value = module_arg(args, name);

    if (ev_get_number(value, out))
        return true;
    if (value->kind != EV_BAD)
        diag_error(build->cx, value->loc, "%s must be a number, found %s", name,
                   ev_text(&build->eval, value));
    return false;
}

/* calculate_gain of torch.nn.init; `a` is leaky_relu's slope. */
static bool init_gain(struct builder *build, const struct ev *nonlinearity, double a, double *gain)
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

    for (int i = 0; nonlinearity->kind == EV_STRING && i < COUNT(gains); i++) {
        if (strcmp(gains[i].name, nonlinearity->text) == 0) {
            *gain = gains[i].gain;
            return true;
        }
    }
    for (int i = 0; i < COUNT(gains); i++)
        text_printf(&all, "%s%s", i ? ", " : "", gains[i].name);
    diag_error(build->cx, nonlinearity->loc,
               "nonlinearity must be one of the functions that have a gain, found %s",
               ev_text(&build->eval, nonlinearity));
    diag_hint(build->cx, "those are %s", all.data);
    return false;
}

/* The standard deviation that kaiming_* and xavier_* give. */
static bool init_std(struct builder *build, const struct scope *args, const struct module_tensor *tensor,
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

    const struct ev *mode = module_arg(args, "mode");
    bool in = mode->kind == EV_STRING && strcmp(mode->text, "fan_in") == 0;

    if (!in && (mode->kind != EV_STRING || strcmp(mode->text, "fan_out") != 0)) {
        diag_error(build->cx, mode->loc, "mode must be 'fan_in' or 'fan_out', found %s",
                   ev_text(&build->eval, mode));
        return false;
    }
    if (!init_number(build, args, "a", &a) || !init_gain(build, module_arg(args, "nonlinearity"), a, &gain))
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

/* The row of an initialisation; `zeros` and `zeros_` mean the same. NULL after a fault. */
static const struct signature *init_signature(struct builder *build, const struct expr *init)
{
    enum { count = COUNT(module_inits) - 1 };
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

static void set_trunc_normal(struct builder *build, const struct scope *args, struct module_tensor *tensor,
                             struct loc loc)
{
    if (!init_number(build, args, "mean", &tensor->a) || !init_number(build, args, "std", &tensor->b) ||
        !init_number(build, args, "a", &tensor->low) || !init_number(build, args, "b", &tensor->high))
        return;
    tensor->init = INIT_WITHIN;
    if (!(tensor->b > 0))
        diag_error(build->cx, module_arg(args, "std")->loc, "trunc_normal_ expects std > 0, found %g",
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
static void set_ones(struct builder *build, struct module_tensor *tensor, int64_t groups)
{
    struct tensor *value = ARENA_NEW(&build->cx->arena, struct tensor);
    int64_t rows = tensor->dims[0] / groups, columns = tensor->dims[1], inner = 1, middle = 0;
    const int parts = dtype_is_complex(tensor->dtype) ? 2 : 1; /* of which the first are real */

    *value = (struct tensor){.dtype = dtype_part(tensor->dtype), .ndim = tensor->ndim};
    memcpy(value->dims, tensor->dims, sizeof value->dims);
    if (parts == 2)
        value->dims[value->ndim++] = parts;
    value->data = ARENA_ARRAY(&build->cx->arena, module_tensor_count(tensor) * parts + 1, union scalar);
    for (int i = 2; i < tensor->ndim; i++) {
        middle = middle * tensor->dims[i] + tensor->dims[i] / 2;
        inner *= tensor->dims[i];
    }
    for (int64_t g = 0; g < groups && inner > 0; g++) {
        for (int64_t i = 0; i < rows && i < columns; i++) {
            union scalar *one = &value->data[(((g * rows + i) * columns + i) * inner + middle) * parts];

            if (dtype_is_float(value->dtype))
                one->f = 1;
            else
                one->i = 1;
        }
    }
    tensor->init = INIT_VALUE;
    tensor->value = value;
}

static void set_identity(struct builder *build, const struct scope *args, struct module_tensor *tensor,
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
        (!ev_get_int(module_arg(args, "groups"), &groups) || groups < 1 || tensor->dims[0] % groups != 0)) {
        diag_error(build->cx, loc, "dirac_ needs groups that divide the first dimension, %lld; found %s",
                   (long long)tensor->dims[0], ev_text(&build->eval, module_arg(args, "groups")));
        return;
    }
    set_ones(build, tensor, groups);
}

void module_set_init(struct builder *build, struct scope *scope, struct module_tensor *tensor,
                     const struct expr *init)
{
    const struct signature *signature = init->kind == EXPR_BAD ? NULL : init_signature(build, init);
    struct scope args = {0};
    struct call call = {.loc = init->loc};
    const char *name;

    if (init->kind == EXPR_CALL)
        module_eval_args(build, scope, init, NULL, &call);
    if (!signature ||
        !module_bind_args(build, &args, signature->name, signature->args, signature->count, &call))
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
            diag_error(build->cx, module_arg(&args, "std")->loc, "normal_ expects std >= 0, found %g",
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
    if (tensor->init == INIT_WITHIN && dtype_is_complex(tensor->dtype)) {
        diag_error(build->cx, init->loc, "%s needs a real tensor, as in PyTorch; '%s' is %s", name,
                   tensor->path, dtype_rows[tensor->dtype].name);
        diag_hint(build->cx, "normal_ and uniform_ draw complex numbers");
    } else if (init_draws(tensor->init) && !dtype_is_float(dtype_part(tensor->dtype))) {
        diag_error(build->cx, init->loc, "%s needs a floating tensor; '%s' is %s", name, tensor->path,
                   dtype_rows[tensor->dtype].name);
    } else if (init_draws(tensor->init) && tensor->kind == MODULE_STATE) {
        diag_error(build->cx, init->loc, "%s draws numbers, and a state begins with known ones", name);
        diag_hint(build->cx, "draw a buffer, which policy_reset fills, and assign it to the state");
    }
}
