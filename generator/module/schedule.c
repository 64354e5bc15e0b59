/* schedule.c - the rows of the schedulers, the reading of their arguments, and their tables. Apart from optim.c, because a
 * schedule changes hyper-parameters and nothing else. */
#include "module/schedule.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define MOMENTUM                                                                                             \
    {                                                                                                        \
        "not cycle_momentum or supports_momentum",                                                           \
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"                  \
    }
#define POSITIVE(name)                                                                                       \
    {                                                                                                        \
        name " > 0", name " must be positive, found {" name "}"                                              \
    }
#define STEPS "total_steps if total_steps is not None else epochs * steps_per_epoch"

const struct schedule_row schedule_rows[] = {
    {
        .signature = "StepLR(step_size, gamma=0.1)",
        .kind = "MODC_STEP",
        .checks = {POSITIVE("step_size")},
        .integers = " step_size ",
        .fields = {{"length", "step_size", NULL}, {"gamma", "gamma", NULL}},
        .doc = "lr times gamma every step_size steps",
    },
    {
        .signature = "MultiStepLR(milestones, gamma=0.1)",
        .kind = "MODC_MULTI_STEP",
        .fields = {{"gamma", "gamma", NULL}},
        .doc = "lr times gamma at each milestone",
    },
    {
        .signature = "ConstantLR(factor=1.0 / 3, total_iters=5)",
        .kind = "MODC_CONSTANT",
        .checks = {{"0 <= factor <= 1", "Constant multiplicative factor expected to be between 0 and 1."},
                   {"factor > 0", "factor must not be 0, by which it is divided"}},
        .integers = " total_iters ",
        .fields = {{"start", "factor", NULL}, {"length", "total_iters", NULL}},
        .doc = "lr times factor for total_iters steps",
    },
    {
        .signature = "LinearLR(start_factor=1.0 / 3, end_factor=1.0, total_iters=5)",
        .kind = "MODC_LINEAR",
        .checks = {{"0 < start_factor <= 1",
                    "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."},
                   {"0 <= end_factor <= 1", "Ending multiplicative factor expected to be between 0 and 1."},
                   POSITIVE("total_iters")},
        .integers = " total_iters ",
        .fields = {{"start", "start_factor", NULL},
                   {"end", "end_factor", NULL},
                   {"length", "total_iters", NULL}},
        .doc = "a factor of lr that goes from one number to another",
    },
    {
        .signature = "ExponentialLR(gamma)",
        .kind = "MODC_EXPONENTIAL",
        .fields = {{"gamma", "gamma", NULL}},
        .doc = "lr times gamma at each step",
    },
    {
        .signature = "PolynomialLR(total_iters=5, power=1.0)",
        .kind = "MODC_POLYNOMIAL",
        .checks = {POSITIVE("total_iters")},
        .integers = " total_iters ",
        .fields = {{"length", "total_iters", NULL}, {"power", "power", NULL}},
        .doc = "lr to 0 as a power of the steps that are left",
    },
    {
        .signature = "CosineAnnealingLR(T_max, eta_min=0.0)",
        .kind = "MODC_COSINE",
        .checks = {POSITIVE("T_max")},
        .integers = " T_max ",
        .fields = {{"length", "T_max", NULL}, {"eta_min", "eta_min", NULL}},
        .doc = "lr along a cosine to eta_min, and back",
    },
    {
        .signature = "CosineAnnealingWarmRestarts(T_0, T_mult=1, eta_min=0.0)",
        .kind = "MODC_RESTARTS",
        .checks = {{"T_0 > 0", "Expected positive integer T_0, but got {T_0}"},
                   {"T_mult >= 1", "Expected integer T_mult >= 1, but got {T_mult}"}},
        .integers = " T_0 T_mult ",
        .fields = {{"length", "T_0", NULL}, {"further", "T_mult", NULL}, {"eta_min", "eta_min", NULL}},
        .doc = "lr along a cosine to eta_min, from the start again every T_0 steps",
    },
    {
        .signature =
            "CyclicLR(base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0, "
            "scale_fn=None, scale_mode='cycle', cycle_momentum=True, base_momentum=0.8, max_momentum=0.9)",
        .kind = "MODC_CYCLIC",
        .checks = {POSITIVE("step_size_up"),
                   {"step_size_down is None or step_size_down > 0",
                    "step_size_down must be positive, found {step_size_down}"},
                   {"scale_fn is None", "scale_fn is not supported; LambdaLR takes a function"},
                   {"mode in ('triangular', 'triangular2', 'exp_range')",
                    "mode is invalid and scale_fn is None"},
                   MOMENTUM},
        .integers = " step_size_up step_size_down ",
        .fields = {{"length", "step_size_up", NULL},
                   {"further", "step_size_up if step_size_down is None else step_size_down", NULL},
                   {"mode", "0 if mode == 'triangular' else 1 if mode == 'triangular2' else 2", NULL},
                   {"gamma", "gamma", NULL}},
        .groups = {{"initial_lr", "base_lr", NULL},
                   {"max_lr", "max_lr", NULL},
                   {"base_momentum", "base_momentum", "cycle_momentum"},
                   {"max_momentum", "max_momentum", "cycle_momentum"}},
        .doc = "lr up from base_lr to max_lr and down again, momentum the other way",
    },
    {
        .signature =
            "OneCycleLR(max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, "
            "anneal_strategy='cos', cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, "
            "final_div_factor=1e4, three_phase=False)",
        .kind = "MODC_ONE_CYCLE",
        .checks = {{"total_steps is None or total_steps > 0",
                    "Expected positive integer total_steps, but got {total_steps}"},
                   {"total_steps is not None or (epochs is not None and steps_per_epoch is not None)",
                    "You must define either total_steps OR (epochs AND steps_per_epoch)"},
                   {"total_steps is not None or epochs > 0",
                    "Expected positive integer epochs, but got {epochs}"},
                   {"total_steps is not None or steps_per_epoch > 0",
                    "Expected positive integer steps_per_epoch, but got {steps_per_epoch}"},
                   {"0 <= pct_start <= 1", "Expected float between 0 and 1 pct_start, but got {pct_start}"},
                   {"pct_start * (" STEPS ") != 1",
                    "pct_start times the steps must not be 1: the first phase has no steps"},
                   {"anneal_strategy in ('cos', 'linear')",
                    "anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"},
                   MOMENTUM},
        .integers = " total_steps epochs steps_per_epoch ",
        .fields = {{"length", STEPS, NULL},
                   {"power", "pct_start", NULL},
                   {"linear", "anneal_strategy == 'linear'", NULL},
                   {"three_phase", "three_phase", NULL}},
        .groups = {{"initial_lr", "max_lr / div_factor", NULL},
                   {"max_lr", "max_lr", NULL},
                   {"min_lr", "max_lr / div_factor / final_div_factor", NULL},
                   {"base_momentum", "base_momentum", "cycle_momentum"},
                   {"max_momentum", "max_momentum", "cycle_momentum"}},
        .doc = "lr up to max_lr once and down to almost nothing, momentum the other way",
    },
    {
        .signature =
            "ReduceLROnPlateau(mode='min', factor=0.1, patience=10, threshold=1e-4, threshold_mode='rel', cooldown=0, "
            "min_lr=0, eps=1e-8)",
        .kind = "MODC_PLATEAU",
        .checks = {{"factor < 1.0", "Factor should be < 1.0."},
                   {"mode in ('min', 'max')", "mode {mode} is unknown!"},
                   {"threshold_mode in ('rel', 'abs')", "threshold mode {threshold_mode} is unknown!"}},
        .integers = " patience cooldown ",
        .fields = {{"start", "factor", NULL},
                   {"patience", "patience", NULL},
                   {"threshold", "threshold", NULL},
                   {"cooldown", "cooldown", NULL},
                   {"eps", "eps", NULL},
                   {"maximum", "mode == 'max'", NULL},
                   {"absolute", "threshold_mode == 'abs'", NULL}},
        .groups = {{"min_lr", "min_lr", NULL}},
        .doc = "lr times factor where a metric, given at each step, gets no better",
    },
    {
        .signature = "LambdaLR()",
        .kind = "MODC_LAMBDA",
        .doc = "the first lr times what a function of the caller's returns",
    },
    {
        .signature = "MultiplicativeLR()",
        .kind = "MODC_MULTIPLICATIVE",
        .doc = "lr times what a function of the caller's returns, at each step",
    },
    {
        .signature = "SequentialLR(schedulers, milestones)",
        .kind = "MODC_SEQUENTIAL",
        .holds = true,
        .doc = "one scheduler until the first milestone, then the next",
    },
    {
        .signature = "ChainedScheduler(schedulers)",
        .kind = "MODC_CHAINED",
        .holds = true,
        .doc = "several schedulers, each in each step",
    },
    {.signature = NULL},
};

/* ---- arguments ----------------------------------------------------------------------------------------- */

static bool is_numbers(const struct ev *value, bool integers)
{
    double number;
    int64_t integer;

    for (int i = 0; value->kind == EV_TUPLE && i < value->count; i++)
        if (integers ? !ev_get_int(&value->items[i], &integer) : !ev_get_number(&value->items[i], &number))
            return false;
    return value->kind == EV_TUPLE;
}

/* Whether some number of the groups is made of the argument, which may then be a list of one for each. */
static bool is_of_groups(const struct schedule_row *row, const char *name)
{
    for (int i = 0; i < COUNT(row->groups) && row->groups[i].name; i++)
        if (strncmp(row->groups[i].value, name, strlen(name)) == 0)
            return true;
    return false;
}

static bool check_kind(struct eval *eval, const struct schedule *schedule, const struct signature_arg *arg,
                       int group_count)
{
    const struct ev *value = optim_argument(&schedule->args, arg->name);
    bool optional = arg->value && arg->value->kind == EXPR_NONE;
    const char *integers = schedule->row->integers;
    int64_t integer;
    double number;

    if (value->kind == EV_BAD)
        return false;
    if ((optional && value->kind == EV_NONE) || strcmp(arg->name, "scale_fn") == 0 ||
        strcmp(arg->name, "schedulers") == 0)
        return true;
    if (strcmp(arg->name, "milestones") == 0) {
        if (is_numbers(value, true))
            return true;
        optim_wrong(eval, schedule->name, arg->name, value, "a list of integers");
        return false;
    }
    if (arg->value && arg->value->kind == EXPR_STRING) {
        if (value->kind == EV_STRING)
            return true;
        optim_wrong(eval, schedule->name, arg->name, value, "a string");
        return false;
    }
    if (arg->value && arg->value->kind == EXPR_BOOL) {
        if (value->kind == EV_BOOL)
            return true;
        optim_wrong(eval, schedule->name, arg->name, value, "True or False");
        return false;
    }
    if (integers && strstr(integers, arena_format(&eval->cx->arena, " %s ", arg->name))) {
        if (value->kind == EV_INT && ev_get_int(value, &integer))
            return true;
        optim_wrong(eval, schedule->name, arg->name, value, "an integer");
        return false;
    }
    if (is_of_groups(schedule->row, arg->name) && is_numbers(value, false)) {
        if (value->count == group_count)
            return true;
        diag_error(eval->cx, value->loc, "%s: expected %d values for %s, got %d", schedule->name, group_count,
                   arg->name, value->count);
        return false;
    }
    if (ev_get_number(value, &number))
        return true;
    optim_wrong(eval, schedule->name, arg->name, value, "a number");
    return false;
}

/* The arguments as group `index` has them. */
static struct scope group_scope(struct eval *eval, const struct schedule *schedule, int index)
{
    struct scope scope = {0};

    for (int i = 0; i < schedule->args.count; i++) {
        const struct binding *item = &schedule->args.items[i];
        bool list = item->value.kind == EV_TUPLE && is_of_groups(schedule->row, item->name);

        scope_bind(eval, &scope, item->name, list ? item->value.items[index] : item->value);
    }
    return scope;
}

static const struct schedule_row *find_row(struct cx *cx, const struct expr *expr)
{
    static const struct optim_family family = {"scheduler",
                                               "a scheduler",
                                               "StepLR(step_size=10)",
                                               " lr_scheduler optim.lr_scheduler torch.optim.lr_scheduler ",
                                               schedule_rows,
                                               sizeof *schedule_rows};

    return optim_find(cx, &family, expr);
}

static bool is_kind(const struct schedule *schedule, const char *kind)
{
    return strcmp(schedule->row->kind, kind) == 0;
}

/* Schedulers that one holds. */
static bool read_children(struct eval *eval, struct scope *scope, struct schedule *schedule,
                          const struct expr *list, const struct optim *optim, int group_count)
{
    if (!list || (list->kind != EXPR_LIST && list->kind != EXPR_TUPLE) || list->count == 0) {
        diag_error(eval->cx, list ? list->loc : schedule->loc, "%s: expected a list of schedulers",
                   schedule->name);
        return false;
    }
    for (int i = 0; i < list->count; i++) {
        struct schedule *child = schedule_read(eval, scope, list->items[i], optim, group_count);

        if (!child)
            return false;
        if (is_kind(child, "MODC_PLATEAU")) {
            diag_error(
                eval->cx, child->loc,
                "%s does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                "when calling `step`, but got one at index %d in the given schedulers sequence.",
                schedule->name, i);
            return false;
        }
        if (is_kind(schedule, "MODC_SEQUENTIAL") && (child->row->holds || is_kind(child, "MODC_ONE_CYCLE"))) {
            diag_error(eval->cx, child->loc, "SequentialLR cannot hold %s", child->name);
            return false;
        }
        ARENA_PUSH(&eval->cx->arena, schedule->children, schedule->child_count, child);
    }
    if (schedule_nodes(schedule) > SCHEDULE_MAX_NODES) {
        diag_error(eval->cx, schedule->loc, "more than %d schedulers", SCHEDULE_MAX_NODES);
        return false;
    }
    return true;
}

static bool check_all(struct eval *eval, struct schedule *schedule, const struct signature *signature,
                      const struct optim *optim, int group_count)
{
    const struct ev *milestones;

    for (int i = 0; i < signature->count; i++)
        if (!check_kind(eval, schedule, &signature->args[i], group_count))
            return false;
    scope_bind(eval, &schedule->args, "supports_momentum",
               ev_bool(schedule->loc,
                       optim_argument(&optim->args, "momentum") || optim_argument(&optim->args, "beta1")));
    if (!optim_check(eval, schedule->name, schedule->loc, &schedule->args, schedule->row->checks,
                     COUNT(schedule->row->checks)))
        return false;
    if (!is_kind(schedule, "MODC_SEQUENTIAL"))
        return true;
    milestones = optim_argument(&schedule->args, "milestones");
    if (milestones->count == schedule->child_count - 1)
        return true;
    diag_error(
        eval->cx, milestones->loc,
        "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
        "points, but got number of schedulers %d and the number of milestones to be equal to %d",
        schedule->child_count, milestones->count);
    return false;
}

struct schedule *schedule_read(struct eval *eval, struct scope *scope, const struct expr *expr,
                               const struct optim *optim, int group_count)
{
    const struct schedule_row *row = find_row(eval->cx, expr);
    struct schedule *schedule = ARENA_NEW(&eval->cx->arena, struct schedule);
    const struct signature *signature;
    const struct expr *held = NULL;

    if (!row)
        return NULL;
    signature = eval_signature(eval, row->signature);
    schedule->row = row;
    schedule->name = signature->name;
    schedule->loc = expr->loc;
    if (!optim_bind(eval, scope, expr, signature, &schedule->args, row->holds ? "schedulers" : NULL, &held))
        return NULL;
    if (row->holds && !read_children(eval, scope, schedule, held, optim, group_count))
        return NULL;
    return check_all(eval, schedule, signature, optim, group_count) ? schedule : NULL;
}

/* ---- what follows from them ---------------------------------------------------------------------------- */

bool schedule_momentum(struct cx *cx, const struct schedule *schedule, int group, double *out)
{
    struct eval eval = {.cx = cx, .default_dtype = DTYPE_FLOAT32};
    const struct ev *cycles = optim_argument(&schedule->args, "cycle_momentum");
    bool found = false;

    for (int i = 0; i < schedule->child_count; i++)
        found |= schedule_momentum(cx, schedule->children[i], group, out);
    if (!cycles || !cycles->integer)
        return found;

    struct scope own = group_scope(&eval, schedule, group);

    ev_get_number(optim_argument(&own, "max_momentum"), out);
    return true;
}

int schedule_nodes(const struct schedule *schedule)
{
    int nodes = 1;

    for (int i = 0; i < schedule->child_count; i++)
        nodes += schedule_nodes(schedule->children[i]);
    return nodes;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static const char *value_text(struct cx *cx, const struct ev *value)
{
    struct text text = text_new(&cx->arena);
    double number = 0;
    int64_t integer = 0;

    if (value->kind == EV_BOOL)
        text_add(&text, value->integer ? "true" : "false");
    else if (value->kind == EV_INT && ev_get_int(value, &integer))
        text_printf(&text, "%" PRId64, integer);
    else if (ev_get_number(value, &number))
        text_double(&text, number);
    return text.data;
}

/* Arrays of a scheduler, then its initialiser behind those of `table`. */
static void print_node(struct cx *cx, struct text *out, struct text *table, const struct schedule *schedule,
                       const char *name, int *index, int group_count)
{
    struct eval eval = {.cx = cx, .default_dtype = DTYPE_FLOAT32};
    const struct schedule_row *row = schedule->row;
    const struct ev *milestones = optim_argument(&schedule->args, "milestones");
    struct scope scope = schedule->args;
    const char *own = *index == 0 ? name : arena_format(&cx->arena, "%s_%d", name, *index);

    ++*index;
    text_printf(table, "    {.kind = %s, .nodes = %d", row->kind, schedule_nodes(schedule));
    for (int i = 0; i < COUNT(row->fields) && row->fields[i].name; i++) {
        struct ev value = eval_text(&eval, &scope, row->fields[i].value);

        text_printf(table, ", .%s = %s", row->fields[i].name, value_text(cx, &value));
    }
    if (milestones && milestones->count > 0) {
        text_printf(out, "static const int64_t %s_milestones[] = {", own);
        for (int i = 0; i < milestones->count; i++)
            text_printf(out, "%s%s", i ? ", " : "", value_text(cx, &milestones->items[i]));
        text_add(out, "};\n");
        text_printf(table, ", .milestones = %s_milestones, .milestone_count = %d", own, milestones->count);
    }
    for (int i = 0; i < COUNT(row->groups) && row->groups[i].name; i++) {
        const struct schedule_field *field = &row->groups[i];

        if (field->when && !optim_condition(cx, &scope, field->when))
            continue;
        text_printf(out, "static const double %s_%s[] = {", own, field->name);
        for (int j = 0; j < group_count; j++) {
            struct scope group = group_scope(&eval, schedule, j);
            struct ev value = eval_text(&eval, &group, field->value);

            text_printf(out, "%s%s", j ? ", " : "", value_text(cx, &value));
        }
        text_add(out, "};\n");
        text_printf(table, ", .%s = %s_%s", field->name, own, field->name);
    }
    text_add(table, "},\n");
    for (int i = 0; i < schedule->child_count; i++)
        print_node(cx, out, table, schedule->children[i], name, index, group_count);
}

void emit_schedule(struct cx *cx, struct text *out, const struct schedule *schedule, const char *name,
                   int group_count)
{
    struct text table = text_new(&cx->arena);
    int index = 0;

    print_node(cx, out, &table, schedule, name, &index, group_count);
    text_printf(out, "static const struct modc_scheduler %s[] = {\n%s};\n", name, table.data);
}
