/* optim.c - the rows of the optimisers, and the reading of their arguments. Apart from layers.c, because an optimiser has
 * neither parameters nor a forward. */
#include "module/optim.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define LR                                                                                                   \
    {                                                                                                        \
        "0.0 <= lr", "Invalid learning rate: {lr}"                                                           \
    }
#define EPS                                                                                                  \
    {                                                                                                        \
        "0.0 <= eps", "Invalid epsilon value: {eps}"                                                         \
    }
#define DECAY                                                                                                \
    {                                                                                                        \
        "0.0 <= weight_decay", "Invalid weight_decay value: {weight_decay}"                                  \
    }
#define BETAS                                                                                                \
    {"0.0 <= beta1 < 1.0", "Invalid beta parameter at index 0: {beta1}"},                                    \
    {                                                                                                        \
        "0.0 <= beta2 < 1.0", "Invalid beta parameter at index 1: {beta2}"                                   \
    }

#define MAXIMIZED                                                                                            \
    {                                                                                                        \
        "grad", "-grad", "maximize"                                                                          \
    }
#define DECAYED                                                                                              \
    {                                                                                                        \
        "grad", "grad + weight_decay * param", "weight_decay != 0"                                           \
    }

/* Of those that have decoupled_weight_decay. */
#define COUPLED                                                                                              \
    {                                                                                                        \
        "grad", "grad + weight_decay * param", "weight_decay != 0 and not decoupled_weight_decay"            \
    }
#define DECOUPLED                                                                                            \
    {                                                                                                        \
        "param", "param * kept", "weight_decay != 0 and decoupled_weight_decay"                              \
    }
#define KEPT                                                                                                 \
    {                                                                                                        \
        "kept", "1 - lr * weight_decay", "weight_decay != 0 and decoupled_weight_decay"                      \
    }

/* Of those that have betas. `rescale` corrects the bias of the root of exp_avg_sq. */
#define PARTS                                                                                                \
    {"part1", "1 - beta1", NULL},                                                                            \
    {                                                                                                        \
        "part2", "1 - beta2", NULL                                                                           \
    }
#define RESCALE                                                                                              \
    {                                                                                                        \
        "rescale", "1 / sqrt(1 - beta2 ** step)", NULL                                                       \
    }
#define AVERAGED                                                                                             \
    {                                                                                                        \
        "exp_avg", "exp_avg + part1 * (grad - exp_avg)", NULL                                                \
    }
#define SQUARED                                                                                              \
    {                                                                                                        \
        "exp_avg_sq", "beta2 * exp_avg_sq + part2 * grad * grad", NULL                                       \
    }

#define END                                                                                                  \
    {                                                                                                        \
        NULL, NULL, NULL                                                                                     \
    }

static const struct optim_line sgd_scalars[] = {
    {"part", "where(step == 1, 1, 1 - dampening)",
     "momentum != 0"}, /* the first time it is the gradient itself */
    END,
};
static const struct optim_line sgd_lines[] = {
    MAXIMIZED,
    DECAYED,
    {"momentum_buffer", "momentum * momentum_buffer + part * grad", "momentum != 0"},
    {"nesterov_step", "grad + momentum * momentum_buffer", "momentum != 0 and nesterov"},
    {"param", "param - lr * nesterov_step", "momentum != 0 and nesterov"},
    {"param", "param - lr * momentum_buffer", "momentum != 0 and not nesterov"},
    {"param", "param - lr * grad", "momentum == 0"},
    END,
};

static const struct optim_line adam_scalars[] = {
    KEPT, PARTS, {"step_size", "lr / (1 - beta1 ** step)", NULL}, RESCALE, END,
};
static const struct optim_line adam_lines[] = {
    MAXIMIZED,
    COUPLED,
    DECOUPLED,
    AVERAGED,
    SQUARED,
    {"max_exp_avg_sq", "maximum(max_exp_avg_sq, exp_avg_sq)", "amsgrad"},
    {"param", "param - step_size * exp_avg / (rescale * sqrt(max_exp_avg_sq) + eps)", "amsgrad"},
    {"param", "param - step_size * exp_avg / (rescale * sqrt(exp_avg_sq) + eps)", "not amsgrad"},
    END,
};

static const struct optim_line rmsprop_scalars[] = {{"part", "1 - alpha", NULL}, END};
static const struct optim_line rmsprop_lines[] = {
    MAXIMIZED,
    DECAYED,
    {"square_avg", "alpha * square_avg + part * grad * grad", NULL},
    {"grad_avg", "grad_avg + part * (grad - grad_avg)", "centered"},
    {"average", "sqrt(square_avg - grad_avg * grad_avg) + eps", "centered"},
    {"average", "sqrt(square_avg) + eps", "not centered"},
    {"momentum_buffer", "momentum * momentum_buffer + grad / average", "momentum != 0"},
    {"param", "param - lr * momentum_buffer", "momentum != 0"},
    {"param", "param - lr * grad / average", "momentum == 0"},
    END,
};

static const struct optim_line adagrad_scalars[] = {{"step_size", "lr / (1 + (step - 1) * lr_decay)", NULL},
                                                    END};
static const struct optim_line adagrad_lines[] = {
    MAXIMIZED,
    DECAYED,
    {"sum", "sum + grad * grad", NULL},
    {"param", "param - step_size * grad / (sqrt(sum) + eps)", NULL},
    END,
};

static const struct optim_line adadelta_scalars[] = {{"part", "1 - rho", NULL}, END};
static const struct optim_line adadelta_lines[] = {
    MAXIMIZED,
    DECAYED,
    {"square_avg", "rho * square_avg + part * grad * grad", NULL},
    {"delta", "sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad", NULL},
    {"acc_delta", "rho * acc_delta + part * delta * delta", NULL},
    {"param", "param - lr * delta", NULL},
    END,
};

static const struct optim_line adamax_scalars[] = {
    {"part1", "1 - beta1", NULL},
    {"step_size", "lr / (1 - beta1 ** step)", NULL},
    END,
};
static const struct optim_line adamax_lines[] = {
    MAXIMIZED,
    DECAYED,
    AVERAGED,
    {"exp_inf", "maximum(beta2 * exp_inf, abs(grad) + eps)", NULL},
    {"param", "param - step_size * exp_avg / exp_inf", NULL},
    END,
};

static const struct optim_line nadam_scalars[] = {
    KEPT,
    PARTS,
    {"mu", "beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))", NULL},
    {"mu_next", "beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))", NULL},
    {"mu_product", "mu_product * mu", NULL},
    {"grad_size", "lr * (1 - mu) / (1 - mu_product)", NULL},
    {"step_size", "lr * mu_next / (1 - mu_product * mu_next)", NULL},
    RESCALE,
    END,
};
static const struct optim_line nadam_lines[] = {
    MAXIMIZED,
    COUPLED,
    DECOUPLED,
    AVERAGED,
    SQUARED,
    {"param", "param - (grad_size * grad + step_size * exp_avg) / (rescale * sqrt(exp_avg_sq) + eps)", NULL},
    END,
};

static const struct optim_line radam_scalars[] = {
    KEPT,
    PARTS,
    {"correction", "1 - beta2 ** step", NULL},
    {"rho_inf", "2 / (1 - beta2) - 1", NULL},
    {"rho", "rho_inf - 2 * step * (1 - correction) / correction", NULL},
    {"rectified", "rho > 5", NULL},
    {"step_size", "lr / (1 - beta1 ** step)", NULL},
    {"rectified_size",
     "step_size * sqrt(correction * (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))",
     NULL},
    END,
};
static const struct optim_line radam_lines[] = {
    MAXIMIZED,
    COUPLED,
    DECOUPLED,
    AVERAGED,
    SQUARED,
    {"root", "sqrt(exp_avg_sq) + eps", NULL},
    {"param", "param - exp_avg * where(rectified, rectified_size / root, step_size)", NULL},
    END,
};

#define ADAM_CHECKS                                                                                          \
    {                                                                                                        \
        LR, EPS, BETAS, DECAY,                                                                               \
        {                                                                                                    \
            "betas_are_floats", "betas must be either both floats or both Tensors"                           \
        }                                                                                                    \
    }
#define ADAM_STATES                                                                                          \
    {                                                                                                        \
        {"exp_avg", NULL, NULL, false}, {"exp_avg_sq", NULL, NULL, false},                                   \
        {                                                                                                    \
            "max_exp_avg_sq", "amsgrad", NULL, false                                                         \
        }                                                                                                    \
    }

const struct optim_row optim_rows[] = {
    {
        .signature =
            "SGD(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None, "
            "differentiable=False, fused=None)",
        .checks = {{"not lr < 0.0", "Invalid learning rate: {lr}"},
                   {"not momentum < 0.0", "Invalid momentum value: {momentum}"},
                   {"not weight_decay < 0.0", "Invalid weight_decay value: {weight_decay}"},
                   {"not nesterov or (momentum > 0 and dampening == 0)",
                    "Nesterov momentum requires a momentum and zero dampening"}},
        .uncounted = true,
        .states = {{"momentum_buffer", "momentum != 0", NULL, false}},
        .scalars = sgd_scalars,
        .lines = sgd_lines,
        .doc = "against the gradient, with momentum where it is asked for",
    },
    {
        .signature =
            "Adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, "
            "maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False)",
        .checks = ADAM_CHECKS,
        .states = ADAM_STATES,
        .scalars = adam_scalars,
        .lines = adam_lines,
        .doc = "averages of gradients over the root of averages of their squares",
    },
    {
        .signature =
            "AdamW(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, "
            "foreach=None, capturable=False, differentiable=False, fused=None)",
        .checks = ADAM_CHECKS,
        .fixed = "decoupled_weight_decay = True",
        .states = ADAM_STATES,
        .scalars = adam_scalars,
        .lines = adam_lines,
        .doc = "Adam, whose decay of weights is apart from the gradient",
    },
    {
        .signature =
            "RMSprop(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, "
            "foreach=None, maximize=False, differentiable=False)",
        .checks = {LR,
                   EPS,
                   {"0.0 <= momentum", "Invalid momentum value: {momentum}"},
                   DECAY,
                   {"0.0 <= alpha", "Invalid alpha value: {alpha}"}},
        .states = {{"square_avg", NULL, NULL, false},
                   {"momentum_buffer", "momentum != 0", NULL, false},
                   {"grad_avg", "centered", NULL, false}},
        .scalars = rmsprop_scalars,
        .lines = rmsprop_lines,
        .doc = "gradients over the root of averages of their squares",
    },
    {
        .signature =
            "Adagrad(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, "
            "maximize=False, differentiable=False, fused=None)",
        .checks = {LR,
                   {"0.0 <= lr_decay", "Invalid lr_decay value: {lr_decay}"},
                   DECAY,
                   {"0.0 <= initial_accumulator_value",
                    "Invalid initial_accumulator_value value: {initial_accumulator_value}"},
                   EPS},
        .eager = true,
        .states = {{"sum", NULL, "initial_accumulator_value", false}},
        .scalars = adagrad_scalars,
        .lines = adagrad_lines,
        .doc = "gradients over the root of the sum of their squares",
    },
    {
        .signature =
            "Adadelta(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False, "
            "differentiable=False)",
        .checks = {LR, {"0.0 <= rho <= 1.0", "Invalid rho value: {rho}"}, EPS, DECAY},
        .states = {{"square_avg", NULL, NULL, false}, {"acc_delta", NULL, NULL, false}},
        .scalars = adadelta_scalars,
        .lines = adadelta_lines,
        .doc = "steps as large as earlier ones were, for gradients as large as earlier ones",
    },
    {
        .signature =
            "Adamax(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, "
            "differentiable=False, capturable=False)",
        .checks = {LR, EPS, BETAS, DECAY},
        .states = {{"exp_avg", NULL, NULL, false}, {"exp_inf", NULL, NULL, false}},
        .scalars = adamax_scalars,
        .lines = adamax_lines,
        .doc = "Adam over the largest gradients instead of their squares",
    },
    {
        .signature =
            "NAdam(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, "
            "decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False)",
        .checks = {LR,
                   EPS,
                   BETAS,
                   DECAY,
                   {"0.0 <= momentum_decay", "Invalid momentum_decay value: {momentum_decay}"}},
        .states = {{"mu_product", NULL, "1", true},
                   {"exp_avg", NULL, NULL, false},
                   {"exp_avg_sq", NULL, NULL, false}},
        .scalars = nadam_scalars,
        .lines = nadam_lines,
        .doc = "Adam with Nesterov's momentum",
    },
    {
        .signature =
            "RAdam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, "
            "foreach=None, maximize=False, capturable=False, differentiable=False)",
        .checks = {LR, EPS, BETAS, DECAY},
        .states = {{"exp_avg", NULL, NULL, false}, {"exp_avg_sq", NULL, NULL, false}},
        .scalars = radam_scalars,
        .lines = radam_lines,
        .doc = "Adam without its root, until enough squares have been averaged",
    },
    {.signature = NULL},
};

/* Which lines a step has, as its name says them. */
static const struct {
    const char *argument, *when, *word;
} marks[] = {
    {"momentum", "momentum != 0", "momentum"},
    {"nesterov", "nesterov", "nesterov"},
    {"centered", "centered", "centered"},
    {"amsgrad", "amsgrad", "amsgrad"},
    {"weight_decay", "weight_decay != 0", "decay"},
    {"decoupled_weight_decay", "weight_decay != 0 and decoupled_weight_decay", "decoupled"},
    {"maximize", "maximize", "maximize"},
};

/* ---- classes ------------------------------------------------------------------------------------------- */

const char *optim_class(struct cx *cx, const char *signature)
{
    return arena_copy(&cx->arena, signature, strcspn(signature, "("));
}

/* a.b.c as text; NULL: it is something else. */
static const char *dotted(struct cx *cx, const struct expr *expr)
{
    const char *base;

    if (expr->kind == EXPR_NAME)
        return expr->text;
    base = expr->kind == EXPR_ATTR ? dotted(cx, expr->a) : NULL;
    return base ? arena_format(&cx->arena, "%s.%s", base, expr->text) : NULL;
}

/* The class that is called, by its bare name or behind one of `spaces`; *loc: of the name. NULL: it is no such call. */
static const char *called(struct cx *cx, const struct expr *expr, const char *spaces, struct loc *loc)
{
    const struct expr *callee = expr->kind == EXPR_CALL ? expr->a : NULL;
    const char *space;

    if (!callee)
        return NULL;
    *loc = callee->kind == EXPR_ATTR ? callee->name_loc : callee->loc;
    if (callee->kind == EXPR_NAME)
        return callee->text;
    space = callee->kind == EXPR_ATTR ? dotted(cx, callee->a) : NULL;
    return space && strstr(spaces, arena_format(&cx->arena, " %s ", space)) ? callee->text : NULL;
}

const void *optim_find(struct cx *cx, const struct optim_family *family, const struct expr *expr)
{
    struct text all = text_new(&cx->arena);
    struct loc loc;
    const char *name = called(cx, expr, family->spaces, &loc), **known = NULL;
    int count = 0;

    if (expr->kind == EXPR_BAD)
        return NULL;
    if (!name) {
        diag_error(cx, expr->loc, "%s is needed here, as %s", family->one, family->example);
        return NULL;
    }
    for (const char *const *row = family->rows; *row;
         row = (const char *const *)(const void *)((const char *)row + family->size)) {
        ARENA_PUSH(&cx->arena, known, count, optim_class(cx, *row));
        text_printf(&all, "%s%s", count > 1 ? ", " : "", known[count - 1]);
        if (strcmp(known[count - 1], name) == 0)
            return row;
    }
    diag_error(cx, loc, "modc does not know the %s '%s'", family->what, name);
    if (diag_nearest(name, known, count))
        diag_hint_nearest(cx, name, known, count);
    else
        diag_hint(cx, "it knows %s", all.data);
    return NULL;
}

bool optim_bind(struct eval *eval, struct scope *scope, const struct expr *expr,
                const struct signature *signature, struct scope *args, const char *apart,
                const struct expr **out)
{
    struct call call = {.loc = expr->loc, .count = expr->count, .names = expr->names};

    call.args = ARENA_ARRAY(&eval->cx->arena, call.count + 1, struct ev);
    call.locs = ARENA_ARRAY(&eval->cx->arena, call.count + 1, struct loc);
    for (int i = 0; i < call.count; i++) {
        const char *name = expr->names[i]         ? expr->names[i]
                           : i < signature->count ? signature->args[i].name
                                                  : "";
        bool kept = apart && strcmp(name, apart) == 0;

        if (kept)
            *out = expr->items[i];
        call.args[i] = kept ? ev_none(expr->items[i]->loc) : eval_expr(eval, scope, expr->items[i]);
        call.locs[i] = expr->names[i] ? expr->name_locs[i] : expr->items[i]->loc;
    }
    return eval_bind(eval, args, signature->name, signature->args, signature->count, 0, &call);
}

const struct ev *optim_argument(const struct scope *args, const char *name)
{
    for (int i = 0; i < args->count; i++)
        if (strcmp(args->items[i].name, name) == 0)
            return &args->items[i].value;
    return NULL;
}

bool optim_condition(struct cx *cx, const struct scope *args, const char *condition)
{
    struct eval eval = {.cx = cx, .default_dtype = DTYPE_FLOAT32};
    struct scope scope = *args;
    struct ev value = eval_text(&eval, &scope, condition);
    bool truth = false, known = ev_get_bool(&value, &truth);

    assert(known);
    (void)known;
    return truth;
}

void optim_wrong(struct eval *eval, const char *class, const char *name, const struct ev *value,
                 const char *expected)
{
    diag_error(eval->cx, value->loc, "%s: argument '%s' must be %s, found %s", class, name, expected,
               ev_text(eval, value));
}

/* The place of the argument that a check names first, where the user wrote it; else that of the call. */
static struct loc check_loc(struct loc call, const struct scope *args, const char *condition)
{
    struct loc loc = call;
    const char *first = NULL;

    for (int i = 0; i < args->count; i++) {
        const char *at = strstr(condition, args->items[i].name);

        if (at && args->items[i].value.loc.source == call.source && (!first || at < first)) {
            first = at;
            loc = args->items[i].value.loc;
        }
    }
    return loc;
}

bool optim_check(struct eval *eval, const char *class, struct loc loc, struct scope *args,
                 const struct layer_check *checks, int most)
{
    for (int i = 0; i < most && checks[i].condition; i++) {
        if (optim_condition(eval->cx, args, checks[i].condition))
            continue;
        diag_error(eval->cx, check_loc(loc, args, checks[i].condition), "%s: %s", class,
                   eval_fill(eval, args, checks[i].message));
        return false;
    }
    return true;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* What a default says of its argument. None: an option of PyTorch's that changes no numbers. */
enum kind { NUMBER, FLAG, PAIR, NEITHER };

static enum kind kind_of(const struct signature_arg *arg)
{
    switch (arg->value->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
        return NUMBER;
    case EXPR_BOOL:
        return FLAG;
    case EXPR_TUPLE:
        return PAIR;
    default:
        return NEITHER;
    }
}

static bool is_pair(const struct ev *value)
{
    double number;

    return value->kind == EV_TUPLE && value->count == 2 && ev_get_number(&value->items[0], &number) &&
           ev_get_number(&value->items[1], &number);
}

/* False after an error: the value is not of the kind. Numbers of a pair get names of their own. */
static bool check_kind(struct eval *eval, struct optim *optim, const struct signature_arg *arg)
{
    struct ev value = *optim_argument(&optim->args, arg->name);
    const char *expected = NULL;
    double number;
    bool truth;

    switch (kind_of(arg)) {
    case NUMBER:
        expected = ev_get_number(&value, &number) ? NULL : "a number";
        break;
    case FLAG:
        expected = value.kind == EV_BOOL && ev_get_bool(&value, &truth) ? NULL : "True or False";
        break;
    case PAIR:
        expected = is_pair(&value) ? NULL : "two numbers";
        break;
    case NEITHER:
        break;
    }
    if (expected) {
        optim_wrong(eval, optim->name, arg->name, &value, expected);
        return false;
    }
    if (kind_of(arg) == PAIR) {
        bool floats = value.items[0].kind == EV_FLOAT && value.items[1].kind == EV_FLOAT;

        scope_bind(eval, &optim->args, "beta1", value.items[0]);
        scope_bind(eval, &optim->args, "beta2", value.items[1]);
        scope_bind(eval, &optim->args, "betas_are_floats", ev_bool(value.loc, floats));
    }
    return true;
}

/* Kinds and checks of arguments that are bound; NULL after an error. */
static struct optim *complete(struct eval *eval, struct optim *optim, const struct signature *signature)
{
    for (int i = 0; i < signature->count; i++)
        if (!check_kind(eval, optim, &signature->args[i]))
            return NULL;
    if (optim->row->fixed)
        eval_body(eval, &optim->args, optim->row->fixed);
    return optim_check(eval, optim->name, optim->loc, &optim->args, optim->row->checks,
                       COUNT(optim->row->checks))
               ? optim
               : NULL;
}

static struct optim *new_optim(struct eval *eval, const struct optim_row *row, struct loc loc)
{
    struct optim *optim = ARENA_NEW(&eval->cx->arena, struct optim);

    optim->row = row;
    optim->name = optim_class(eval->cx, row->signature);
    optim->loc = loc;
    return optim;
}

struct optim *optim_read(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    static const struct optim_family family = {"optimizer",           "an optimizer", "AdamW(lr=3e-4)",
                                               " optim torch.optim ", optim_rows,     sizeof *optim_rows};
    const struct optim_row *row = optim_find(eval->cx, &family, expr);
    const struct signature *signature = row ? eval_signature(eval, row->signature) : NULL;
    struct optim *optim = row ? new_optim(eval, row, expr->loc) : NULL;

    return row && optim_bind(eval, scope, expr, signature, &optim->args, NULL, NULL)
               ? complete(eval, optim, signature)
               : NULL;
}

struct optim *optim_group(struct eval *eval, const struct optim *base, const struct call *call)
{
    const struct signature *signature = eval_signature(eval, base->row->signature);
    struct optim *optim = new_optim(eval, base->row, call->loc);
    struct scope given = {0};

    if (!eval_bind(eval, &given, optim->name, signature->args, signature->count, 0, call))
        return NULL;
    for (int i = 0; i < signature->count; i++) {
        const char *name = signature->args[i].name;
        struct ev value = *optim_argument(&base->args, name);

        for (int j = 0; j < call->count; j++)
            if (strcmp(call->names[j], name) == 0)
                value = call->args[j];
        scope_bind(eval, &optim->args, name, value);
    }
    return complete(eval, optim, signature);
}

struct optim *optim_with(struct eval *eval, const struct optim *base, const char *name, double number)
{
    struct optim *optim = new_optim(eval, base->row, base->loc);

    for (int i = 0; i < base->args.count; i++) {
        const struct binding *item = &base->args.items[i];

        scope_bind(eval, &optim->args, item->name,
                   strcmp(item->name, name) == 0 ? ev_float(item->value.loc, number) : item->value);
    }
    return optim;
}

/* ---- what follows from them ---------------------------------------------------------------------------- */

bool optim_holds(struct cx *cx, const struct optim *optim, const char *condition)
{
    return optim_condition(cx, &optim->args, condition);
}

int optim_hypers(struct cx *cx, const struct optim *optim, const char *names[OPTIM_MAX_HYPERS],
                 double values[OPTIM_MAX_HYPERS])
{
    struct eval eval = {.cx = cx, .default_dtype = DTYPE_FLOAT32};
    const struct signature *signature = eval_signature(&eval, optim->row->signature);
    int count = 0;

    for (int i = 0; i < signature->count; i++) {
        enum kind kind = kind_of(&signature->args[i]);

        if (kind == NUMBER)
            names[count++] = signature->args[i].name;
        if (kind == PAIR) {
            names[count++] = "beta1";
            names[count++] = "beta2";
        }
        assert(count <= OPTIM_MAX_HYPERS);
    }
    for (int i = 0; i < count; i++)
        ev_get_number(optim_argument(&optim->args, names[i]), &values[i]);
    return count;
}

int optim_states(struct cx *cx, const struct optim *optim, const struct optim_state *states[OPTIM_MAX_STATES])
{
    int count = 0;

    for (int i = 0; i < OPTIM_MAX_STATES && optim->row->states[i].name; i++) {
        const struct optim_state *state = &optim->row->states[i];

        if (!state->when || optim_holds(cx, optim, state->when))
            states[count++] = state;
    }
    return count;
}

double optim_initial(struct cx *cx, const struct optim *optim, const struct optim_state *state)
{
    struct eval eval = {.cx = cx, .default_dtype = DTYPE_FLOAT32};
    struct scope scope = optim->args;
    struct ev value = ev_float(optim->loc, 0);
    double number = 0;

    if (state->initial)
        value = eval_text(&eval, &scope, state->initial);
    ev_get_number(&value, &number);
    return number;
}

const char *optim_step_name(struct cx *cx, const struct optim *optim, enum dtype dtype, bool marked)
{
    struct text name = text_new(&cx->arena);

    for (const char *c = optim->name; *c; c++)
        text_printf(&name, "%c", tolower((unsigned char)*c));
    for (int i = 0; i < COUNT(marks); i++)
        if (marked && optim_argument(&optim->args, marks[i].argument) &&
            optim_holds(cx, optim, marks[i].when) &&
            !(optim->row->fixed &&
              strncmp(optim->row->fixed, marks[i].argument, strlen(marks[i].argument)) == 0))
            text_printf(&name, "_%s", marks[i].word);
    text_printf(&name, "_%s", dtype_rows[dtype].name);
    return name.data;
}
