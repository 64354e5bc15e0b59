/* settings.c - --set NAME=VALUE, --dtype, --device, --model and --target: they take the place of what the spec says, before any
 * room works with it. Faults in a value have the place `--set NAME:1:1` or `--model:1:1`. */
#include "commands/settings.h"

#include <string.h>

#include "commands/options.h"
#include "emit/bundle.h"
#include "plan/target.h"

static const struct loc nowhere = {0};
static const char prefix[] = "--set ";

/* A value of the command line, as a text that has places. */
static const struct source *value_source(struct cx *cx, const char *name, const char *value)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    source->name = name;
    source->text = value;
    source->length = strlen(value);
    return source;
}

static bool set_one(struct cx *cx, struct spec *spec, const struct setting *setting)
{
    const struct source *source;
    struct expr **slot = NULL, *value;
    const char **names = NULL;
    int count = 0;

    for (int i = 0; i < spec->constant_count; i++) {
        if (strcmp(spec->constants[i].name, setting->name) == 0)
            slot = &spec->constants[i].value;
        ARENA_PUSH(&cx->arena, names, count, spec->constants[i].name);
    }
    for (int i = 0; i < spec->size_count; i++) {
        if (strcmp(spec->sizes[i].name, setting->name) == 0)
            slot = &spec->sizes[i].max;
        ARENA_PUSH(&cx->arena, names, count, spec->sizes[i].name);
    }
    if (!slot) {
        diag_error(cx, nowhere, "--set: %s has no constant and no size '%s'", spec->source->name,
                   setting->name);
        diag_hint_nearest(cx, setting->name, names, count);
        return false;
    }
    source = value_source(cx, arena_format(&cx->arena, "%s%s", prefix, setting->name), setting->value);
    value = expr_parse(cx, source, 0, source->length);
    *slot = value;
    return value->kind != EXPR_BAD;
}

static bool name_model(struct cx *cx, struct spec *spec, const char *name)
{
    const struct source *source = value_source(cx, "--model", name);
    const struct loc whole = {.source = source, .line = 1, .column = 1, .length = (int)source->length};

    if (!spec_check_model_name(cx, name, whole))
        return false;
    spec->model = spec->root.name = cx->model = name;
    return true;
}

/* False: the command line is at fault. */
static bool check_threads(struct cx *cx, const struct spec *spec)
{
    const struct target *target = target_of(cx);

    if (target->hosted)
        return true;
    if (cx->options->split > 1) {
        diag_error(cx, nowhere, "--plan split: --target %s has no operating system, and so no threads",
                   target->name);
        return false;
    }
    if (spec->threads > 1) {
        diag_error(cx, spec->threads_loc, "--target %s has no operating system, and so no threads",
                   target->name);
        diag_hint(cx, "leave `threads` out, or put it into a spec for the host that extends this one");
    }
    return true;
}

/* What says something that models on these devices do not have. */
static bool check_devices(struct cx *cx, const struct spec *spec)
{
    const struct options *options = cx->options;
    const bool arduino = bundle_is_arduino(options);
    const struct {
        const char *name;
        bool given;
        bool whole; /* it is about all variants: one on cpu beside that on cuda does not help */
        bool later; /* it will have a meaning for cuda */
    } rows[] = {
        {"--threads", options_run(options, "--threads"), false, false},
        {"--isa", options->isa, false, false},
        {"--dispatch", options->dispatch, false, false},
        {"--bundle=arduino", arduino, true, false},
        {"--target", options->target && !options->target->gpu && !arduino, true, false},
        {"--plan split", options->split > 0, false, false},
        {"--weights", options->weights, true, true},
        {"--measure", options->measure, true, true},
    };
    bool cpu = false, cuda = false, fine = true;

    for (int i = 0; i < spec->device_count; i++) {
        cpu |= strcmp(spec->devices[i], "cpu") == 0;
        cuda |= strcmp(spec->devices[i], "cuda") == 0;
    }
    for (int i = 0; i < COUNT(rows) && cuda; i++) {
        if (!rows[i].given || (cpu && !rows[i].whole))
            continue;
        if (rows[i].later)
            diag_error(cx, nowhere, "%s is not supported yet for models on cuda", rows[i].name);
        else
            diag_error(cx, nowhere, "%s is about models on cpu, and %s is on cuda", rows[i].name,
                       spec->model);
        diag_hint(cx, "--device cpu makes it for a processor");
        if (strcmp(rows[i].name, "--target") == 0)
            diag_hint(cx,
                      "GPUs are targets, too: sm_90 and the like, of which 'modc help targets' has a list");
        fine = false;
    }
    if (options->target && options->target->gpu && !cuda) {
        diag_error(cx, nowhere, "--target %s is a GPU, and %s is on cpu", options->target->gpu->name,
                   spec->model);
        diag_hint(cx, "--device cuda makes it for a GPU");
        fine = false;
    }
    if (options->emulate && !cuda) {
        diag_error(cx, nowhere, "--emulate stands in for a GPU, and %s is on cpu", spec->model);
        diag_hint(cx, "--device cuda makes it for a GPU");
        fine = false;
    }
    return fine;
}

bool settings_apply(struct cx *cx, struct spec *spec)
{
    const struct options *options = cx->options;
    bool fine = true;

    /* names are known where the spec could be read */
    for (int i = 0; i < options->setting_count && diag_errors(cx) == 0; i++)
        fine &= set_one(cx, spec, &options->settings[i]);
    if (options->dtype)
        spec->dtypes[0] = options->dtype;
    const bool runs = options->command == COMMAND_RUN || options->command == COMMAND_CHAT ||
                      options->command == COMMAND_QUANTIZE;

    if (options->dtype || runs) /* one program runs one variant */
        spec->dtype_count = 1;
    if (options->device)
        spec->devices[0] = options->device;
    if (options->device || runs)
        spec->device_count = 1;
    if (options->model)
        fine &= name_model(cx, spec, options->model);
    spec->backward |= options->backward || spec->training;
    spec->embeds = options->weights;
    spec->packs_once = spec->embeds || !target_of(cx)->hosted; /* in flash, or in the RAM of a chip */
    spec->dsp = target_of(cx)->dsp;
    spec->small = !target_of(cx)->hosted;
    if (spec->hooks == SPEC_DEFAULT && !target_of(cx)->hosted)
        spec->hooks = SPEC_OFF;
    return fine && check_devices(cx, spec) && check_threads(cx, spec);
}

bool settings_at_fault(const struct cx *cx)
{
    for (int i = 0; i < cx->item_count; i++)
        if (cx->items[i].level == DIAG_ERROR && cx->items[i].loc.source &&
            strncmp(cx->items[i].loc.source->name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}
