/* main.c - the command line. Calls each room once, in order: whoever opens this file first sees the whole compiler. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backward/backward.h"
#include "base/terminal.h"
#include "commands/calibrate.h"
#include "commands/catalogue.h"
#include "commands/completion.h"
#include "commands/depfile.h"
#include "commands/diff.h"
#include "commands/help.h"
#include "commands/manual.h"
#include "commands/measure.h"
#include "commands/quantize.h"
#include "commands/run.h"
#include "commands/schema.h"
#include "commands/settings.h"
#include "commands/summary.h"
#include "commands/tokenize.h"
#include "commands/validate.h"
#include "emit/bundle.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "module/generation.h"
#include "module/rollout.h"
#include "module/training.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "plan/target.h"
#include "plan/weights.h"
#include "template/chat.h"
#include "tokenizer/tokenizer.h"

#ifndef MODC_VERSION
#define MODC_VERSION "0"
#endif

static const struct loc nowhere = {0};

/* ---- dumps ------------------------------------------------------------------------------------------------ */

/* Of one room, as --dump asks; what the other rooms give is passed over. */
struct dump {
    struct text *out;
    const char *room; /* NULL: none is asked for */
    size_t length;    /* of room, without .json */
    bool json;
    int graphs; /* printed so far */
};

static struct dump dump_new(const struct options *options, struct text *out)
{
    struct dump dump = {.out = out, .room = options->dump};

    if (dump.room) {
        dump.length = strcspn(dump.room, ".");
        dump.json = dump.room[dump.length] == '.';
    }
    return dump;
}

static bool dump_wants(const struct dump *dump, const struct cx *cx, const char *room)
{
    return dump->room && strlen(room) == dump->length && strncmp(dump->room, room, dump->length) == 0 &&
           diag_errors(cx) == 0;
}

/* The program after a pass: text under a heading, or one element of a JSON list. */
static void dump_graph(void *data, const char *pass, struct program *program)
{
    struct dump *dump = data;

    if (!dump_wants(dump, program->cx, "graph"))
        return;
    if (dump->json) {
        text_printf(dump->out, "%s{\"after\": \"%s\", \"program\": ", dump->graphs++ ? ",\n" : "[", pass);
        program_dump(dump->out, program, true);
        text_add(dump->out, "}");
    } else {
        text_printf(dump->out, "%s---- after %s ----\n", dump->graphs++ ? "\n" : "", pass);
        program_dump(dump->out, program, false);
    }
}

/* ---- the compiler ----------------------------------------------------------------------------------------- */

static int write_files(struct cx *cx, const struct plan *plan, struct output_file *files, int count)
{
    const struct options *options = cx->options;
    const struct output_file *depfile = NULL;
    const char *error = NULL, *replaced;

    if (options->validate) {
        int status = validate_files(cx, plan, files, count);

        if (status != EXIT_DONE)
            return status;
    }
    if (options->bundle && options->out_dir &&
        (replaced = bundle_would_replace(cx, options->out_dir)) != NULL) {
        diag_error(cx, nowhere, "'%s' has a %s that is not modc's", options->out_dir, replaced);
        diag_hint(cx, "--bundle makes a folder that compiles alone: let -o name one of its own");
        return EXIT_FILE;
    }
    if (options->bundle)
        files = bundle_folder(cx, files, &count, plan);
    if (options->depfile) {
        depfile = depfile_make(cx, plan->program->tree->spec, files, count);
        if (!depfile)
            return EXIT_COMMAND_LINE;
    }
    if (options->out_dir && !output_write_beside(cx, options->out_dir, files, count, depfile, &error)) {
        diag_error(cx, nowhere, "%s", error);
        return EXIT_FILE;
    }
    return EXIT_DONE;
}

/* Of one of the dtypes of a spec; may be NULL after faults. */
static struct program *make_program(struct cx *cx, struct spec *spec, int variant, struct dump *dump)
{
    progress_step("building the modules and graphs of %s ...", spec->model);
    struct module_tree *tree = module_build(cx, spec, variant);
    tree->generation = generation_read(cx, tree);
    bool resolved = lower_resolve(cx, tree);
    if (dump_wants(dump, cx, "module"))
        module_dump(dump->out, tree, dump->json);
    tree->training = resolved ? training_read(cx, tree) : NULL;
    tree->rollout = resolved ? rollout_read(cx, tree) : NULL;
    tree->tokenizer = spec->tokens;
    tree->chat = spec->chat;

    return resolved ? lower_program(cx, tree) : NULL;
}

static struct plan *make_plan(struct cx *cx, struct program *program, struct dump *dump)
{
    progress_step("planning %s ...", program->tree->spec->model);
    dump_graph(dump, "lower", program);
    backward_write(cx, program);
    dump_graph(dump, "backward", program);
    pass_run(cx, program, dump_graph, dump);
    if (dump->graphs > 0 && dump->json)
        text_add(dump->out, "]\n");
    if (diag_errors(cx) > 0) /* what has no gradient */
        return NULL;

    struct plan *plan = plan_make(cx, program);
    if (plan && dump_wants(dump, cx, "plan"))
        plan_dump(dump->out, plan, dump->json);
    return plan;
}

/* With weights embedded each is packed once: what a summary says of flash. NULL: the plan is that, or nobody asks. */
static struct plan *make_embedded(struct cx *cx, struct spec *spec, int variant)
{
    const enum command command = cx->options->command;
    struct dump none = {0};
    struct program *program;

    if (spec->packs_once || (command != COMMAND_SUMMARY && command != COMMAND_DIFF))
        return NULL;
    spec->packs_once = spec->embeds = true;
    program = make_program(cx, spec, variant, &none);
    spec->packs_once = spec->embeds = false;
    return program ? make_plan(cx, program, &none) : NULL;
}

/* Without `storage`, as a program that loads its weights and may have hooks: what is measured. NULL after faults. */
static struct plan *make_plain(struct cx *cx, struct spec *spec)
{
    const struct spec was = *spec;
    struct dump none = {0};
    struct program *program;
    struct plan *plan;

    spec->storage_count = 0;
    spec->packs_once = spec->embeds = spec->dynamic = spec->calibrated = false;
    spec->hooks = spec->state_dict = SPEC_DEFAULT;
    program = make_program(cx, spec, 0, &none);
    plan = program ? make_plan(cx, program, &none) : NULL;
    *spec = was;
    return plan;
}

/* With the ranges in the file of --ranges, for what int8 costs. NULL after faults. */
static struct plan *make_calibrated(struct cx *cx, struct spec *spec)
{
    const struct spec was = *spec;
    struct dump none = {0};
    char *path = realpath(cx->options->ranges, NULL); /* that of a spec is beside it */
    struct program *program;
    struct plan *plan;

    if (!path) {
        diag_error(cx, nowhere, "cannot read '%s': %s", cx->options->ranges, strerror(errno));
        return NULL;
    }
    spec->calibrated = true;
    spec->ranges = path;
    spec->hooks = SPEC_OFF;
    program = make_program(cx, spec, 0, &none);
    plan = program ? make_plan(cx, program, &none) : NULL;
    *spec = was;
    free(path);
    return plan;
}

/* Whoever gives up has said why; where one has not, that is said. */
static int with_reason(struct cx *cx, int status)
{
    if (status == EXIT_DONE || diag_errors(cx) > 0)
        return status;
    diag_error(cx, nowhere, "it failed and did not say why");
    diag_hint(cx, "this is a fault of modc itself: please report it with the spec");
    return EXIT_FAULT;
}

/* A spec up to its plans, one for each dtype; the first is what --dump shows. NULL after faults, with the exit status in
 * *status. */
static struct plan *make_plans(struct cx *cx, const char *path, struct dump *dump, int *status)
{
    struct dump none = {0};
    const char *error = NULL;
    const struct source *source = source_read(cx, path, SPEC_MAX_BYTES, &error);

    *status = EXIT_FILE;
    if (!source) {
        diag_error(cx, nowhere, "%s", error);
        return NULL;
    }

    progress_step("reading %s ...", path);
    struct spec *spec = spec_read(cx, source);
    *status = EXIT_COMMAND_LINE;
    if (!settings_apply(cx, spec))
        return NULL;
    if (cx->options->ranges) { /* they are made anew */
        spec->calibrated = false;
        spec->ranges = NULL;
    }
    if (dump_wants(dump, cx, "spec"))
        spec_dump(dump->out, spec, dump->json);

    if (cx->options->tokenizer) {
        spec->tokenizer = cx->options->tokenizer;
        spec->tokens = tokenizer_read(cx, nowhere, cx->options->tokenizer);
        cx->unreadable |= !spec->tokens;
    } else if (spec->tokenizer) {
        const struct loc loc = spec->tokenizer_loc;

        spec->tokens = tokenizer_read(cx, loc, source_beside(cx, loc.source, spec->tokenizer));
        cx->unreadable |= !spec->tokens;
    }
    if (cx->options->template && (spec->tokens || !spec->tokenizer)) {
        spec->template = cx->options->template;
        spec->chat = chat_read(cx, nowhere, cx->options->template, spec->tokens);
        cx->unreadable |= !spec->chat;
    } else if (spec->template && (spec->tokens || !spec->tokenizer)) {
        const struct loc loc = spec->template_loc;

        spec->chat = chat_read(cx, loc, source_beside(cx, loc.source, spec->template), spec->tokens);
        cx->unreadable |= !spec->chat;
    }
    spec_make_grammars(cx, spec);
    struct program **programs = ARENA_ARRAY(&cx->arena, spec_variants(spec), struct program *);
    bool complete = true;
    for (int i = 0; i < spec_variants(spec); i++) {
        programs[i] = make_program(cx, spec, i, i == 0 ? dump : &none);
        complete = complete && programs[i];
    }
    cx->variant.text = NULL;
    *status = cx->unreadable ? EXIT_FILE : settings_at_fault(cx) ? EXIT_COMMAND_LINE : EXIT_SPEC;
    if (diag_errors(cx) > 0 || !complete) /* by now every fault of the spec has been said */
        return NULL;

    struct plan *plans = NULL, **end = &plans;
    for (int i = 0; i < spec_variants(spec); i++, end = &(*end)->next) {
        *end = make_plan(cx, programs[i], i == 0 ? dump : &none);
        if (!*end)
            return NULL;
        (*end)->embedded = make_embedded(cx, spec, i);
    }
    return plans;
}

/* What stands beside each variant of a model of several dtypes. */
static void print_variant(struct text *out, const struct plan *first, const struct plan *plan)
{
    if (first->next)
        text_printf(out, "%s---- %s ----\n", plan == first ? "" : "\n", plan->model);
}

/* The text of NAME.cu. */
static const char *kernels_of(struct cx *cx, const struct plan *plan)
{
    int count;
    const struct output_file *files = emit_files(cx, plan, &count);
    const char *name = arena_format(&cx->arena, "%s.%s", plan->model, plan->backend->suffix);

    for (int i = 0; i < count; i++)
        if (strcmp(files[i].path, name) == 0)
            return files[i].bytes;
    return "";
}

static int summarise(struct cx *cx, const struct plan *plan, struct memory *memory, struct text *out)
{
    int count, status = EXIT_DONE;
    struct summary *summary;

    if (cx->options->repr) {
        if (plan->program->tree->variant == 0)
            summary_print_repr(out, plan->program->tree);
        return EXIT_DONE;
    }
    summary = summary_make(cx, plan);
    summary_print(out, summary);
    if (cx->options->measure) {
        const struct output_file *files = emit_files(cx, plan, &count);

        status = measure_model(cx, out, plan, files, count, memory);
    }
    if (status != EXIT_DONE)
        return status;
    if (target_of(cx)->gpu && plan->backend->apart)
        summary_print_gpu(out, summary, memory, kernels_of(cx, plan));
    summary_print_target(cx, out, memory);
    return memory_fits(cx, plan, memory) ? EXIT_DONE : EXIT_SPEC;
}

/* All that takes a SPEC. Text for stdout goes to `out`; returns the exit status. */
static int compile(struct cx *cx, struct text *out)
{
    const struct options *options = cx->options;
    struct dump dump = dump_new(options, out);
    struct output_file *files;
    int count = 0, status;

    struct plan *plans = make_plans(cx, options->argument, &dump, &status);
    if (!plans)
        return with_reason(cx, status);
    status = EXIT_DONE;
    if (options->command == COMMAND_QUANTIZE) {
        struct plan *plain = options->inputs ? make_plain(cx, plans->program->tree->spec) : NULL;

        if (diag_errors(cx) > 0)
            return EXIT_SPEC;
        return options->ranges ? calibrate(cx, plain, make_calibrated, out) : quantize(cx, plans, plain, out);
    }
    for (struct plan *plan = plans; plan && status == EXIT_DONE; plan = plan->next) {
        if (options->explain) {
            print_variant(out, plans, plan);
            plan_explain(out, plan);
        }
        if (options->weights) {
            const struct embedded_weights *weights;

            progress_step("packing the weights of %s ...", options->weights);
            weights = weights_embed(cx, plan, options->weights, &status);
            if (weights)
                weights_attach(cx, plan, weights);
        }
    }
    if (status != EXIT_DONE)
        return with_reason(cx, status);

    for (const struct plan *plan = plans; plan && status == EXIT_DONE; plan = plan->next) {
        struct memory memory = memory_of(cx, plan, plan->weights || options_run(options, "--weights"));

        if (options->command == COMMAND_SUMMARY)
            status = summarise(cx, plan, &memory, out);
        else if (!memory_fits(cx, plan, &memory))
            status = EXIT_SPEC;
    }
    if (status != EXIT_DONE || options->command == COMMAND_SUMMARY)
        return with_reason(cx, status);
    if (options->command == COMMAND_CHECK && !options->validate) /* nobody reads the text */
        return EXIT_DONE;
    progress_step("writing %s.c ...", plans->model);
    files = emit_files(cx, plans, &count);
    if (options->command == COMMAND_RUN || options->command == COMMAND_CHAT)
        return run_model(cx, plans, files, count);
    return with_reason(cx, write_files(cx, plans, files, count));
}

/* Two compilations, each with a cx of its own: faults of one do not stop the other. */
static int compare(struct cx *cx, struct text *out)
{
    const struct options *options = cx->options;
    const char *const paths[2] = {options->argument, options->second};
    struct cx sides[2] = {{.options = options}, {.options = options}};
    struct dump none = {0};
    struct plan *plans[2];
    int status[2];

    for (int i = 0; i < 2; i++)
        if (!(plans[i] = make_plans(&sides[i], paths[i], &none, &status[i])))
            status[i] = with_reason(&sides[i], status[i]);
    if (plans[0] && plans[1]) {
        const struct diff *diff = diff_make(cx, summary_make(&sides[0], plans[0]),
                                            summary_make(&sides[1], plans[1]), paths);

        diff_print(out, diff, options->format);
        status[0] = options->exit_code && diff->differs ? EXIT_DIFFER : EXIT_DONE;
    }
    progress_end();
    for (int i = 0; i < 2; i++) {
        if (options->diagnostics == DIAG_SARIF) /* one log of all */
            diag_take_over(cx, &sides[i]);
        else
            diag_print(&sides[i], stderr, options->diagnostics);
        arena_free(&sides[i].arena);
    }
    return plans[0] ? status[plans[1] ? 0 : 1] : status[0];
}

/* ---- the other commands ----------------------------------------------------------------------------------- */

static int print_help(struct cx *cx, struct text *out)
{
    const char *name = cx->options->argument;
    const struct command_row *row = name ? command_find(name) : NULL;
    const char *const *names;
    int count;

    if (cx->options->manual) {
        manual_print(out, MODC_VERSION);
        return EXIT_DONE;
    }
    if (row || !name) {
        help_print(out, row);
        return EXIT_DONE;
    }
    if (strcmp(name, "targets") == 0) {
        target_print_all(out);
        return EXIT_DONE;
    }
    diag_error(cx, nowhere, "there is no command '%s'", name);
    names = command_names(cx, &count);
    diag_hint_nearest(cx, name, names, count);
    return EXIT_COMMAND_LINE;
}

static int print_layers(struct cx *cx, struct text *out)
{
    const struct options *options = cx->options;
    const char *error = NULL;
    int count;

    if (options->out_dir) {
        const struct output_file *pages = catalogue_pages(cx, &count);

        if (output_write(cx, options->out_dir, pages, count, &error))
            return EXIT_DONE;
        diag_error(cx, nowhere, "%s", error);
        return EXIT_FILE;
    }
    if (options->format && strcmp(options->format, "json") == 0)
        catalogue_print_json(cx, out);
    else if (!options->argument)
        catalogue_print(cx, out);
    else if (!catalogue_print_one(cx, out, options->argument))
        return EXIT_COMMAND_LINE;
    return EXIT_DONE;
}

static int run_command(struct cx *cx, struct text *out)
{
    switch (cx->options->command) {
    case COMMAND_HELP:
        return print_help(cx, out);
    case COMMAND_VERSION:
        text_add(out, "modc " MODC_VERSION "\n");
        return EXIT_DONE;
    case COMMAND_LAYERS:
        return print_layers(cx, out);
    case COMMAND_SCHEMA:
        schema_print(cx, out);
        return EXIT_DONE;
    case COMMAND_COMPLETION:
        completion_print(cx, out, cx->options->argument);
        return EXIT_DONE;
    case COMMAND_DIFF:
        return compare(cx, out);
    case COMMAND_TOKENIZE:
        return tokenize_print(cx, out);
    default:
        return compile(cx, out);
    }
}

/* A reader that has seen enough (`modc layers | head`) needs no message. */
static int print_out(struct cx *cx, const struct text *out, int status)
{
    bool good = out->length == 0 || fwrite(out->data, 1, out->length, stdout) == out->length;

    good = (out->length == 0 || fflush(stdout) == 0) && good;
    if (good)
        return status;
    if (errno != EPIPE)
        diag_error(cx, nowhere, "cannot write to standard output: %s", strerror(errno));
    return status == EXIT_DONE ? EXIT_FILE : status;
}

/* Descriptors 0 to 2 are in use, so that no file that is opened later takes the place of a closed one. */
static void hold_descriptors(void)
{
    for (int i = 0; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY) != i)
            _exit(EXIT_FILE);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    struct text out = {.arena = &cx.arena};
    int status = EXIT_DONE;

    hold_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a write fails instead */
    signal(SIGXFSZ, SIG_IGN);
    if (options_parse(&cx, argc, argv, &options, &status)) {
        out.color = terminal_wants_color(stdout, options.color);
        progress_start();
        status = run_command(&cx, &out);
        progress_end();
    }
    status = print_out(&cx, &out, status);
    diag_print(&cx, stderr, options.diagnostics);
    arena_free(&cx.arena);
    return status;
}
