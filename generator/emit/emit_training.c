/* emit_training.c - prints struct modc_optimizer_table and what it points to (runtime/modc_optim.h), of tree->training and
 * the plan's gradients. Apart from emit.c, which prints what a model without training has too. */
#include "emit/emit_training.h"

#include <math.h>
#include <string.h>

#include "module/training.h"

struct emit {
    struct cx *cx;
    const struct plan *plan;
    const struct training *training;
    struct text *out;
};

static struct emit emit_of(struct cx *cx, struct text *out, const struct plan *plan)
{
    return (struct emit){cx, plan, plan->program->tree->training, out};
}

static const char *number(struct emit *e, double value)
{
    struct text text = text_new(&e->cx->arena);

    text_double(&text, value);
    return isinf(value) ? (value < 0 ? "-(double)INFINITY" : "(double)INFINITY") : text.data;
}

/* Whether a parameter has a float32 copy. */
static bool has_copies(const struct emit *e)
{
    for (int i = 0; i < e->plan->gradient_count; i++)
        if (training_copies(e->training, e->plan->gradients[i]))
            return true;
    return false;
}

static const char *state_dtype(const struct emit *e, int index)
{
    return dtype_rows[training_state_dtype(e->training, e->plan->gradients[index])].modc;
}

void emit_training_header(struct cx *cx, struct text *out, const struct plan *plan)
{
    struct emit e = emit_of(cx, out, plan);
    const char *m = plan->model;

    text_printf(out, "#define %s_OPTIMIZER_BYTES %lld /* states of %s%s */\n", text_upper(&cx->arena, m),
                (long long)plan->optimizer_bytes, e.training->groups[0].optim->name,
                has_copies(&e) ? e.training->averages ? ", float32 copies, averages" : ", float32 copies"
                : e.training->averages ? ", averages"
                                       : "");
    text_printf(out, "#define %s_TRAINING_BYTES (%s_GRADIENT_BYTES + %s_OPTIMIZER_BYTES)\n\n",
                text_upper(&cx->arena, m), text_upper(&cx->arena, m), text_upper(&cx->arena, m));
    text_printf(out,
                "/* The optimiser of a struct %s_training; see modc_optim.h. */\nstruct %s_optimizer {\n"
                "    struct modc_optimizer base;\n    struct modc_group groups[%d];\n",
                m, m, e.training->group_count);
    if (e.training->schedule)
        text_printf(out, "    struct modc_schedule schedules[%d];\n", schedule_nodes(e.training->schedule));
    if (plan->backend->apart)
        text_printf(out,
                    "    double scalars[%d][MODC_MAX_SCALARS]; /* of the last step */\n"
                    "    double scalar_states[%d][MODC_MAX_STATES];\n"
                    "    double next_states[%d][MODC_MAX_STATES]; /* as a step leaves them */\n",
                    plan->gradient_count, plan->gradient_count, plan->gradient_count);
    text_printf(
        out, "    double steps[%d];\n};\n\nextern const struct modc_optimizer_table %s_optimizer_table;\n\n",
        plan->gradient_count, m);
}

/* "sgd_float32": what its function is called; with what marks it, "sgd_momentum_float32", only where others of that class are
 * marked otherwise. */
static const char *step_name(struct emit *e, const struct optim *optim, enum dtype dtype)
{
    const char *plain = optim_step_name(e->cx, optim, dtype, false),
               *marked = optim_step_name(e->cx, optim, dtype, true);

    for (int i = 0; i < e->training->group_count; i++) {
        const struct optim *other = e->training->groups[i].optim;

        if (strcmp(optim_step_name(e->cx, other, dtype, false), plain) == 0 &&
            strcmp(optim_step_name(e->cx, other, dtype, true), marked) != 0)
            return marked;
    }
    return plain;
}

void emit_training_kernels(struct cx *cx, struct text *out, const struct plan *plan,
                           const struct nest_scene *scene, struct text *kernels)
{
    struct emit e = emit_of(cx, out, plan);
    const struct optim_copy copy = {.scaled = e.training->scales,
                                    .normed = e.training->clip == CLIP_NORM,
                                    .limited = e.training->clip == CLIP_VALUE};
    const char **printed = NULL;
    int count = 0;

    for (int i = 0; i < plan->gradient_count; i++) {
        const struct module_tensor *tensor = plan->gradients[i];
        const struct optim *optim = e.training->groups[training_group_of(e.training, tensor)].optim;
        const enum dtype dtype = dtype_part(tensor->dtype);
        const char *name = step_name(&e, optim, dtype);
        int same = 0;

        while (same < count && strcmp(printed[same], name) != 0)
            same++;
        if (same < count)
            continue;
        ARENA_PUSH(&cx->arena, printed, count, name);
        emit_optim_step(cx, out, optim, dtype, name, e.training->fused,
                        training_copies(e.training, tensor) ? &copy : NULL, scene, kernels);
    }
}

/* ---- tables -------------------------------------------------------------------------------------------- */

/* 1 for each number that is 0 and decides which lines there are. */
static unsigned fixed_hypers(struct emit *e, const struct optim *optim)
{
    const char *names[OPTIM_MAX_HYPERS];
    double values[OPTIM_MAX_HYPERS];
    unsigned fixed = 0;

    for (int i = 0, count = optim_hypers(e->cx, optim, names, values); i < count; i++)
        if (values[i] == 0 && (strcmp(names[i], "weight_decay") == 0 || strcmp(names[i], "momentum") == 0))
            fixed |= 1u << i;
    return fixed;
}

static void print_group(struct emit *e, struct text *table, int index)
{
    const struct optim *optim = e->training->groups[index].optim;
    const struct optim_state *states[OPTIM_MAX_STATES];
    const char *names[OPTIM_MAX_HYPERS];
    double values[OPTIM_MAX_HYPERS];
    int hyper_count = optim_hypers(e->cx, optim, names, values),
        state_count = optim_states(e->cx, optim, states);

    text_printf(e->out, "static const double optimizer_hyper_%d[] = {", index);
    for (int i = 0; i < hyper_count; i++)
        text_printf(e->out, "%s%s", i ? ", " : "", number(e, values[i]));
    text_add(e->out, "};\n");
    if (state_count > 0)
        text_printf(e->out, "static const struct modc_optimizer_state optimizer_states_%d[] = {\n", index);
    for (int i = 0; i < state_count; i++)
        text_printf(e->out, "    {\"%s\", %s, %s},\n", states[i]->name, states[i]->scalar ? "true" : "false",
                    number(e, optim_initial(e->cx, optim, states[i])));
    text_add(e->out, state_count > 0 ? "};\n" : "");
    text_printf(table, "    {optimizer_hyper_%d, %u, %d, ", index, fixed_hypers(e, optim), state_count);
    if (state_count > 0)
        text_printf(table, "optimizer_states_%d},\n", index);
    else
        text_add(table, "NULL},\n");
}

/* What the step of a parameter is called. */
static const char *param_step(struct emit *e, int index)
{
    const struct module_tensor *tensor = e->plan->gradients[index];

    return step_name(e, e->training->groups[training_group_of(e->training, tensor)].optim,
                     dtype_part(tensor->dtype));
}

static void print_copies(struct emit *e)
{
    if (!has_copies(e))
        return;
    text_add(e->out,
             "/* where in the block float32 copies are */\nstatic const size_t optimizer_copies[] = {\n");
    for (int i = 0; i < e->plan->gradient_count; i++)
        if (training_copies(e->training, e->plan->gradients[i]))
            text_printf(e->out, "    %lld, /* %s */\n", (long long)e->plan->optimizer_places[i].copy,
                        e->plan->gradients[i]->path);
        else
            text_printf(e->out, "    MODC_NO_COPY, /* %s */\n", e->plan->gradients[i]->path);
    text_add(e->out, "};\n");
}

static void print_params(struct emit *e)
{
    text_printf(e->out,
                "/* step, group, elements, where in the block its states begin%s */\n"
                "static const struct modc_optimizer_param optimizer_params[] = {\n",
                e->training->averages ? " and its average" : "");
    for (int i = 0; i < e->plan->gradient_count; i++) {
        const struct module_tensor *tensor = e->plan->gradients[i];
        int group = training_group_of(e->training, tensor);

        text_printf(e->out, "    {%s, %d, %lld, {",
                    e->plan->backend->apart ? "NULL"
                                            : arena_format(&e->cx->arena, "%s_step", param_step(e, i)),
                    group, (long long)module_tensor_parts(tensor));
        for (int j = 0; j < OPTIM_MAX_STATES; j++)
            text_printf(e->out, "%s%lld", j ? ", " : "", (long long)e->plan->optimizer_places[i].states[j]);
        text_printf(e->out, "}, %lld}, /* %s */\n", (long long)e->plan->optimizer_places[i].average,
                    tensor->path);
    }
    text_add(e->out, "};\n");
    print_copies(e);
    if (!e->plan->backend->apart)
        return;
    text_add(e->out, "static const struct modc_device_update optimizer_updates[] = {\n");
    for (int i = 0; i < e->plan->gradient_count; i++)
        text_printf(e->out, "    {%s_scalars, %s_launch},\n", param_step(e, i), param_step(e, i));
    text_add(e->out, "};\n");
}

static void print_saved(struct emit *e, const char *kind, int index, int item, int count, const char *dtype,
                        const char *value, const char *format, ...) __attribute__((format(printf, 8, 9)));

/* One entry of the table of a state file. */
static void print_saved(struct emit *e, const char *kind, int index, int item, int count, const char *dtype,
                        const char *value, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_printf(e->out, "    {\"%s\", MODC_SAVED_%s, %d, %d, %d, %s, %s},\n",
                arena_vformat(&e->cx->arena, format, args), kind, index, item, count, dtype, value);
    va_end(args);
}

/* Bytes that name something: "AdamW", the keys of a group. */
static void print_text(struct emit *e, const char *name, const char *text)
{
    struct text quoted = text_new(&e->cx->arena);

    text_json_string(&quoted, text);
    print_saved(e, "CONSTANT", 0, 0, (int)strlen(text), "MODC_UINT8", quoted.data, "%s", name);
}

static void save_group(struct emit *e, int index)
{
    const struct training_group *group = &e->training->groups[index];
    struct eval eval = {.cx = e->cx};
    const struct signature *signature = eval_signature(&eval, group->optim->row->signature);
    struct text keys = text_new(&e->cx->arena);
    int hyper = 0;

    for (int i = 0; i < group->count; i++)
        text_printf(&keys, "%s\n", group->params[i]->path);
    print_text(e, arena_format(&e->cx->arena, "param_groups.%d.params", index), keys.data);
    for (int i = 0; i < signature->count; i++) {
        const struct signature_arg *arg = &signature->args[i];
        bool pair = arg->value->kind == EXPR_TUPLE;

        if (pair || arg->value->kind == EXPR_INT || arg->value->kind == EXPR_FLOAT) {
            print_saved(e, "HYPER", index, hyper, pair ? 2 : 0, "MODC_FLOAT64", "NULL", "param_groups.%d.%s",
                        index, arg->name);
            hyper += pair ? 2 : 1;
        } else if (arg->value->kind == EXPR_BOOL && strcmp(arg->name, "differentiable") != 0 &&
                   strcmp(arg->name, "capturable") != 0) {
            print_saved(e, "CONSTANT", 0, 0, 0, "MODC_BOOL",
                        optim_holds(e->cx, group->optim, arg->name) ? "\"\\1\"" : "\"\\0\"",
                        "param_groups.%d.%s", index, arg->name);
        }
    }
    if (e->training->schedule)
        print_saved(e, "INITIAL_LR", index, 0, 0, "MODC_FLOAT64", "NULL", "param_groups.%d.initial_lr",
                    index);
}

static void save_param(struct emit *e, int index)
{
    const struct module_tensor *tensor = e->plan->gradients[index];
    const struct optim *optim = e->training->groups[training_group_of(e->training, tensor)].optim;
    const struct optim_state *states[OPTIM_MAX_STATES];
    int count = optim_states(e->cx, optim, states);

    if (!optim->row->uncounted)
        print_saved(e, "STEP", index, 0, 0, "MODC_FLOAT32", "NULL", "state.%s.step", tensor->path);
    for (int i = 0; i < count; i++)
        print_saved(e, "STATE", index, i, 0, state_dtype(e, index), "NULL", "state.%s.%s", tensor->path,
                    states[i]->name);
}

/* What a scheduler knows beside the epoch. */
static void save_schedule(struct emit *e, const struct schedule *schedule, int *index)
{
    static const struct {
        const char *kind, *field, *name;
    } fields[] = {
        {NULL, "MODC_LAST_EPOCH", "last_epoch"},
        {"MODC_RESTARTS", "MODC_T_CUR", "T_cur"},
        {"MODC_RESTARTS", "MODC_T_I", "T_i"},
        {"MODC_PLATEAU", "MODC_BEST", "best"},
        {"MODC_PLATEAU", "MODC_NUM_BAD_EPOCHS", "num_bad_epochs"},
        {"MODC_PLATEAU", "MODC_COOLDOWN_COUNTER", "cooldown_counter"},
    };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!fields[i].kind || strcmp(fields[i].kind, schedule->row->kind) == 0)
            text_printf(e->out,
                        "    {\"scheduler.%d.%s\", MODC_SAVED_SCHEDULE, %d, %s, 0, MODC_INT64, NULL},\n",
                        *index, fields[i].name, *index, fields[i].field);
    ++*index;
    for (int i = 0; i < schedule->child_count; i++)
        save_schedule(e, schedule->children[i], index);
}

static int print_all_saved(struct emit *e)
{
    static const struct {
        const char *name, *field, *dtype;
    } scaled[] = {
        {"scale", "MODC_SCALE", "FLOAT32"},
        {"growth_factor", "MODC_GROWTH_FACTOR", "FLOAT64"},
        {"backoff_factor", "MODC_BACKOFF_FACTOR", "FLOAT64"},
        {"growth_interval", "MODC_GROWTH_INTERVAL", "INT64"},
        {"_growth_tracker", "MODC_GROWTH_TRACKER", "INT64"},
    };
    size_t begin;
    int node = 0, count = 0;

    text_add(e->out, "static const struct modc_saved optimizer_saved[] = {\n");
    begin = e->out->length;
    print_text(e, "optimizer", e->training->groups[0].optim->name);
    for (int i = 0; i < e->training->group_count; i++)
        save_group(e, i);
    for (int i = 0; i < e->plan->gradient_count; i++)
        save_param(e, i);
    if (e->training->schedule)
        save_schedule(e, e->training->schedule, &node);
    if (e->training->averages)
        print_saved(e, "AVERAGED", 0, 0, 0, "MODC_INT64", "NULL", "ema.n_averaged");
    for (int i = 0; i < e->plan->gradient_count && e->training->averages; i++)
        print_saved(e, "AVERAGE", i, 0, 0, state_dtype(e, i), "NULL", "ema.module.%s",
                    e->plan->gradients[i]->path);
    for (int i = 0; i < e->plan->gradient_count; i++)
        if (training_copies(e->training, e->plan->gradients[i]))
            print_saved(e, "COPY", i, 0, 0, "MODC_FLOAT32", "NULL", "master.%s", e->plan->gradients[i]->path);
    for (size_t i = 0; i < COUNT(scaled) && e->training->scales; i++)
        text_printf(e->out, "    {\"scaler.%s\", MODC_SAVED_SCALER, 0, %s, 0, MODC_%s, NULL},\n",
                    scaled[i].name, scaled[i].field, scaled[i].dtype);
    for (const char *c = e->out->data + begin; *c; c++)
        count += strncmp(c, "    {", 5) == 0;
    text_add(e->out, "};\n");
    return count;
}

void emit_training_tables(struct cx *cx, struct text *out, const struct plan *plan)
{
    static const char *const clips[] = {"MODC_CLIP_NONE", "MODC_CLIP_NORM", "MODC_CLIP_VALUE"};
    struct emit emit = emit_of(cx, out, plan), *e = &emit;
    const struct training *training = e->training;
    const struct optim *first = training->groups[0].optim;
    struct text table = text_new(&cx->arena);
    const char *names[OPTIM_MAX_HYPERS], *m = plan->model;
    double values[OPTIM_MAX_HYPERS];
    int hyper_count = optim_hypers(cx, first, names, values), momentum = -1, saved;

    text_add(out, "static const char *const optimizer_hypers[] = {");
    for (int i = 0; i < hyper_count; i++) {
        text_printf(out, "%s\"%s\"", i ? ", " : "", names[i]);
        if (strcmp(names[i], "momentum") == 0 || strcmp(names[i], "beta1") == 0)
            momentum = i;
    }
    text_add(out, "};\n");
    for (int i = 0; i < training->group_count; i++)
        print_group(e, &table, i);
    text_printf(out, "static const struct modc_optimizer_group optimizer_groups[] = {\n%s};\n", table.data);
    print_params(e);
    if (training->schedule)
        emit_schedule(cx, out, training->schedule, "optimizer_scheduler", training->group_count);
    saved = print_all_saved(e);
    text_printf(
        out,
        "\nconst struct modc_optimizer_table %s_optimizer_table = {\n    .name = \"%s\",\n    .hyper_count = %d,\n"
        "    .momentum = %d,\n    .hypers = optimizer_hypers,\n    .counted = %s,\n    .eager = %s,\n"
        "    .group_count = %d,\n    .groups = optimizer_groups,\n    .param_count = %d,\n"
        "    .params = optimizer_params,\n    .saved_count = %d,\n    .saved = optimizer_saved,\n",
        m, first->name, hyper_count, momentum, first->row->uncounted ? "false" : "true",
        first->row->eager ? "true" : "false", training->group_count, plan->gradient_count, saved);
    if (training->schedule)
        text_printf(
            out,
            "    .scheduler = optimizer_scheduler,\n    .schedules_at = offsetof(struct %s_optimizer, schedules),\n",
            m);
    if (training->clip != CLIP_NONE)
        text_printf(out, "    .clip = %s,\n    .max_norm = %s,\n", clips[training->clip],
                    number(e, training->max_norm));
    if (training->clip == CLIP_NORM)
        text_printf(out, "    .norm_type = %s,\n    .error_if_nonfinite = %s,\n",
                    number(e, training->norm_type), training->error_if_nonfinite ? "true" : "false");
    if (plan->backend->apart)
        text_printf(
            out,
            "    .updates = optimizer_updates,\n    .scalars_at = offsetof(struct %s_optimizer, scalars),\n"
            "    .scalar_states_at = offsetof(struct %s_optimizer, scalar_states),\n"
            "    .next_states_at = offsetof(struct %s_optimizer, next_states),\n    .device_scalars = %lld,\n",
            m, m, m, (long long)plan->scalars_at);
    if (has_copies(e))
        text_add(out, "    .copies = optimizer_copies,\n");
    if (training->scales)
        text_printf(out, "    .scaler = {%sf, %s, %s, %lld, 0},\n",
                    number(e, (double)(float)training->init_scale), number(e, training->growth_factor),
                    number(e, training->backoff_factor), (long long)training->growth_interval);
    if (training->averages)
        text_printf(out, "    .averages = true,\n    .decay = %s,\n", number(e, training->decay));
    text_printf(out,
                "    .block = %s_OPTIMIZER_BYTES,\n    .groups_at = offsetof(struct %s_optimizer, groups),\n"
                "    .steps_at = offsetof(struct %s_optimizer, steps),\n};\n",
                text_upper(&cx->arena, m), m, m);
}
