/* training.c - reads what `training:` says beside its loss. Apart from spec.c, because patterns want the tree and arguments
 * the constants. */
#include "module/training.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "module/module_paths.h"

const struct clip_row clip_rows[] = {
    {"clip_grad_norm_(max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None)", CLIP_NORM,
     "all gradients times one number, where their norm is larger than max_norm"},
    {"clip_grad_value_(clip_value, foreach=None)", CLIP_VALUE,
     "gradients between -clip_value and clip_value"},
    {NULL, CLIP_NONE, NULL},
};

const struct scaler_row scaler_rows[] = {
    {"GradScaler(device='cuda', init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, "
     "enabled=True)",
     {{"growth_factor > 1.0", "The growth factor must be > 1.0."},
      {"backoff_factor < 1.0", "The backoff factor must be < 1.0."}},
     "the loss times a number, by which gradients are divided, and which follows what is infinite of them"},
    {NULL, {{NULL, NULL}}, NULL},
};

struct reader {
    struct cx *cx;
    struct module_tree *tree;
    struct eval eval;
    struct scope *scope; /* of the model's constants */
    struct training *training;
    bool fine;
};

static bool is_trained(const struct module_tensor *tensor)
{
    return tensor->kind == MODULE_PARAMETER && !tensor->none && tensor->first == tensor &&
           tensor->requires_grad;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* A pattern of `group` that names the parameter, by this path of a tie or another; NULL: none does. */
static const struct loc *names(const struct reader *r, const struct spec_group *group,
                               const struct module_tensor *tensor)
{
    for (int i = 0; i < group->params.count; i++)
        for (int j = 0; j < r->tree->key_count; j++)
            if (r->tree->keys[j]->first == tensor &&
                module_names_parameter(group->params.list[i], r->tree->keys[j]))
                return &group->params.locs[i];
    return NULL;
}

static void check_patterns(struct reader *r, const struct spec_group *group)
{
    for (int i = 0; i < group->params.count; i++) {
        bool found = r->tree->partial, frozen = false;

        for (int j = 0; j < r->tree->key_count; j++) {
            bool named = module_names_parameter(group->params.list[i], r->tree->keys[j]);

            found |= named && is_trained(r->tree->keys[j]->first);
            frozen |= named;
        }
        if (found)
            continue;
        r->fine = false;
        diag_error(r->cx, group->params.locs[i], "'%s' matches no parameter%s", group->params.list[i],
                   frozen ? " that is trained" : "");
        if (!frozen)
            module_hint_pattern(r->cx, r->tree, group->params.list[i], true);
    }
}

static struct optim *read_group_optim(struct reader *r, const struct optim *base,
                                      const struct spec_group *group)
{
    struct call call = {.loc = group->loc, .names = group->names, .locs = group->locs, .count = group->count};

    call.args = ARENA_ARRAY(&r->cx->arena, group->count + 1, struct ev);
    for (int i = 0; i < group->count; i++)
        call.args[i] = eval_expr(&r->eval, r->scope, group->values[i]);
    return optim_group(&r->eval, base, &call);
}

static void add_group(struct reader *r, struct training_group group)
{
    ARENA_PUSH(&r->cx->arena, r->training->groups, r->training->group_count, group);
}

/* Deals the parameters out; false where none is trained. */
static bool deal_out(struct reader *r, const struct optim *base)
{
    const struct spec_training *spec = r->training->spec;
    struct training_group *groups = ARENA_ARRAY(&r->cx->arena, spec->group_count + 1, struct training_group);
    struct training_group *rest = &groups[spec->group_count];
    bool any = false;

    for (int i = 0; i < spec->group_count; i++) {
        check_patterns(r, &spec->groups[i]);
        groups[i].optim = base ? read_group_optim(r, base, &spec->groups[i]) : NULL;
        r->fine &= groups[i].optim != NULL;
    }
    rest->optim = base;
    for (int i = 0; i < r->tree->key_count; i++) {
        struct module_tensor *tensor = r->tree->keys[i];
        struct training_group *group = rest;
        const struct loc *first = NULL;

        for (int j = 0; is_trained(tensor) && j < spec->group_count; j++) {
            const struct loc *found = names(r, &spec->groups[j], tensor);

            if (found && first) {
                diag_error(r->cx, *found, "'%s' is in two groups", tensor->path);
                diag_note(r->cx, *first, "it is in this one too");
                r->fine = false;
            } else if (found) {
                first = found;
                group = &groups[j];
            }
        }
        if (!is_trained(tensor))
            continue;
        any = true;
        ARENA_PUSH(&r->cx->arena, group->params, group->count, tensor);
    }
    for (int i = 0; i <= spec->group_count; i++)
        if (groups[i].count > 0)
            add_group(r, groups[i]);
    return any;
}

/* ---- clip, ema ----------------------------------------------------------------------------------------- */

static bool number_of(struct reader *r, const char *class, const struct scope *args, const char *name,
                      double *out)
{
    const struct ev *value = optim_argument(args, name);

    if (ev_get_number(value, out))
        return true;
    optim_wrong(&r->eval, class, name, value, "a number");
    return false;
}

/* Complex numbers have no order. */
static bool may_clip_values(struct reader *r, const struct expr *expr)
{
    for (int i = 0; i < r->tree->key_count; i++) {
        const struct module_tensor *tensor = r->tree->keys[i];

        if (!is_trained(tensor) || !dtype_is_complex(tensor->dtype))
            continue;
        diag_error(r->cx, expr->loc,
                   "clip_grad_value_ is not supported for complex types, as in PyTorch; '%s' is %s",
                   tensor->path, dtype_rows[tensor->dtype].name);
        diag_hint(r->cx, "clip_grad_norm_ takes their magnitudes");
        return false;
    }
    return true;
}

static bool read_clip(struct reader *r, const struct expr *expr)
{
    static const struct optim_family family = {
        "clipping", "clipping",       "clip_grad_norm_(1.0)", " utils nn.utils torch.nn.utils ",
        clip_rows,  sizeof *clip_rows};
    const struct clip_row *row = optim_find(r->cx, &family, expr);
    const char *name = row ? optim_class(r->cx, row->signature) : NULL;
    struct training *training = r->training;
    struct scope args = {0};

    if (!row ||
        !optim_bind(&r->eval, r->scope, expr, eval_signature(&r->eval, row->signature), &args, NULL, NULL))
        return false;
    training->clip = row->clip;
    if (row->clip == CLIP_VALUE)
        return may_clip_values(r, expr) && number_of(r, name, &args, "clip_value", &training->max_norm);
    if (!ev_get_bool(optim_argument(&args, "error_if_nonfinite"), &training->error_if_nonfinite)) {
        optim_wrong(&r->eval, name, "error_if_nonfinite", optim_argument(&args, "error_if_nonfinite"),
                    "True or False");
        return false;
    }
    return number_of(r, name, &args, "max_norm", &training->max_norm) &&
           number_of(r, name, &args, "norm_type", &training->norm_type);
}

static bool read_ema(struct reader *r, const struct expr *expr)
{
    struct ev value = eval_expr(&r->eval, r->scope, expr);

    r->training->averages = true;
    if (value.kind == EV_BAD)
        return false;
    if (ev_get_number(&value, &r->training->decay) && r->training->decay >= 0 && r->training->decay <= 1)
        return true;
    diag_error(r->cx, value.loc, "Invalid decay value %s provided. Please provide a value in [0,1] range.",
               ev_text(&r->eval, &value));
    return false;
}

/* ---- master, scaler ------------------------------------------------------------------------------------- */

static bool any_half(const struct reader *r)
{
    for (int i = 0; i < r->tree->key_count; i++)
        if (is_trained(r->tree->keys[i]) && dtype_is_half(r->tree->keys[i]->dtype))
            return true;
    return false;
}

/* Whether the spec has a variant that computes in 16 bits, and this one is another. */
static bool halves_elsewhere(const struct reader *r)
{
    const struct spec *spec = r->tree->spec;

    for (int i = 0; i < spec->dtype_count; i++)
        if (strcmp(spec->dtypes[i], "float16") == 0 || strcmp(spec->dtypes[i], "half") == 0 ||
            strcmp(spec->dtypes[i], "bfloat16") == 0)
            return true;
    return false;
}

static bool read_master(struct reader *r, const struct expr *expr)
{
    struct ev value = eval_expr(&r->eval, r->scope, expr);

    r->training->master = true;
    if (value.kind == EV_BAD)
        return false;
    if (value.kind != EV_DTYPE || value.dtype != DTYPE_FLOAT32) {
        diag_error(r->cx, expr->loc, "the optimizer's copies of parameters are float32, found %s",
                   ev_text(&r->eval, &value));
        return false;
    }
    if (!r->tree->partial && !any_half(r) && !halves_elsewhere(r)) {
        diag_error(r->cx, expr->loc, "no parameter that is trained is float16 or bfloat16");
        diag_hint(r->cx, "of wider ones the optimizer needs no copies: leave 'master' out");
        return false;
    }
    return true;
}

/* As PyTorch, which says "Attempting to unscale FP16 gradients.": what scaling saved would be lost again. */
static bool may_unscale(struct reader *r, const struct expr *expr)
{
    for (int i = 0; i < r->tree->key_count && !r->training->master; i++) {
        const struct module_tensor *tensor = r->tree->keys[i];

        if (!is_trained(tensor) || tensor->dtype != DTYPE_FLOAT16)
            continue;
        diag_error(r->cx, expr->loc,
                   "a scaler does not unscale float16 gradients, as in PyTorch; '%s' is float16",
                   tensor->path);
        diag_hint(r->cx, "with 'master: float32' they are divided in float32");
        return false;
    }
    return true;
}

static bool read_scaler(struct reader *r, const struct expr *expr)
{
    static const struct optim_family family = {"scaler",          "a scaler",  "GradScaler()",
                                               " amp torch.amp ", scaler_rows, sizeof *scaler_rows};
    const struct scaler_row *row = optim_find(r->cx, &family, expr);
    const char *name = row ? optim_class(r->cx, row->signature) : NULL;
    struct training *training = r->training;
    struct scope args = {0};
    const struct ev *interval;

    if (!row ||
        !optim_bind(&r->eval, r->scope, expr, eval_signature(&r->eval, row->signature), &args, NULL, NULL))
        return false;
    interval = optim_argument(&args, "growth_interval");
    ev_get_bool(optim_argument(&args, "enabled"), &training->scales); /* as Python: whether it is true */
    if (!number_of(r, name, &args, "init_scale", &training->init_scale) ||
        !number_of(r, name, &args, "growth_factor", &training->growth_factor) ||
        !number_of(r, name, &args, "backoff_factor", &training->backoff_factor))
        return false;
    if (!ev_get_int(interval, &training->growth_interval) || training->growth_interval < 1) {
        optim_wrong(&r->eval, name, "growth_interval", interval, "an integer of 1 or more");
        return false;
    }
    if (!((float)training->init_scale > 0) || isinf((float)training->init_scale)) {
        optim_wrong(&r->eval, name, "init_scale", optim_argument(&args, "init_scale"),
                    "larger than 0 and finite in float32");
        return false;
    }
    return optim_check(&r->eval, name, expr->loc, &args, row->checks, COUNT(row->checks)) &&
           may_unscale(r, expr);
}

/* What the schedule sets momentum to when it starts. */
static void cycle_momentum(struct reader *r)
{
    const char *name = optim_argument(&r->training->groups[0].optim->args, "beta1") ? "beta1" : "momentum";
    double momentum;

    for (int i = 0; i < r->training->group_count; i++) {
        struct training_group *group = &r->training->groups[i];

        if (schedule_momentum(r->cx, r->training->schedule, i, &momentum))
            group->optim = optim_with(&r->eval, group->optim, name, momentum);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* What has to stand in a spec for others of its keys. */
static void check_keys(struct reader *r)
{
    const struct spec *spec = r->tree->spec;

    if (spec->fused && !spec->training)
        diag_error(r->cx, spec->update_loc,
                   "'update: fused' belongs to 'training', which the spec does not have");
    if (spec->checkpoint.count > 0 && !spec->training && !spec->backward)
        diag_error(r->cx, spec->checkpoint.locs[0], "'checkpoint' belongs to 'backward' or 'training'");
}

struct training *training_read(struct cx *cx, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;
    const struct spec_training *section = spec->training;
    struct reader reader = {.cx = cx, .tree = tree, .fine = true}, *r = &reader;
    struct training *training = ARENA_NEW(&cx->arena, struct training);
    const struct optim *base;

    r->eval = (struct eval){.cx = cx, .default_dtype = tree->dtype, .partial = tree->partial};
    check_keys(r);
    if (!section)
        return NULL;
    r->training = training;
    r->scope = module_global_scope(&r->eval, tree, false);
    training->spec = section;
    training->fused = spec->fused;
    base = section->optimizer ? optim_read(&r->eval, r->scope, section->optimizer) : NULL;
    r->fine = base != NULL;
    if (!deal_out(r, base) && !tree->partial) {
        diag_error(cx, section->loc, "no parameter of the model is trained");
        if (spec->freeze.count > 0)
            diag_note(cx, spec->freeze.locs[0], "parameters are frozen here");
        r->fine = false;
    }
    if (section->clip)
        r->fine &= read_clip(r, section->clip);
    if (section->ema)
        r->fine &= read_ema(r, section->ema);
    if (section->master)
        r->fine &= read_master(r, section->master);
    if (section->scaler)
        r->fine &= read_scaler(r, section->scaler);
    if (section->scheduler && base) {
        training->schedule = schedule_read(&r->eval, r->scope, section->scheduler, base,
                                           training->group_count);
        r->fine &= training->schedule != NULL;
        if (r->fine)
            cycle_momentum(r);
    }
    if (training->fused && training->clip == CLIP_NORM) {
        diag_error(cx, spec->update_loc,
                   "'update: fused' updates a parameter before the norm of all gradients is known");
        diag_note(cx, section->clip->loc, "gradients are clipped by it here");
        diag_hint(cx, "leave out one of them, or take clip_grad_value_, which needs no norm");
        r->fine = false;
    }
    if (training->fused && training->scales) {
        diag_error(cx, spec->update_loc,
                   "'update: fused' updates a parameter before it is known whether all gradients are finite");
        diag_note(cx, section->scaler->loc, "the scaler leaves out steps whose gradients are not");
        r->fine = false;
    }
    if (training->fused && (spec->backward_loc.source || cx->options->backward)) {
        diag_error(cx, spec->update_loc, "'update: fused' keeps no gradients that calls could add to");
        if (spec->backward_loc.source)
            diag_note(cx, spec->backward_loc, "functions that accumulate are asked for here");
        else
            diag_note(cx, (struct loc){0}, "--backward asks for functions that accumulate");
        r->fine = false;
    }
    return r->fine ? training : NULL;
}

bool training_scales(const struct training *training)
{
    return training && training->scales;
}

bool training_copies(const struct training *training, const struct module_tensor *tensor)
{
    return training->master && dtype_is_half(tensor->dtype);
}

enum dtype training_state_dtype(const struct training *training, const struct module_tensor *tensor)
{
    return training_copies(training, tensor) ? DTYPE_FLOAT32 : tensor->dtype;
}

int training_group_of(const struct training *training, const struct module_tensor *tensor)
{
    for (int i = 0; i < training->group_count; i++)
        for (int j = 0; j < training->groups[i].count; j++)
            if (training->groups[i].params[j] == tensor)
                return i;
    return -1;
}
