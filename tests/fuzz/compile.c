/* compile.c - the fuzz target of the whole compiler: a spec through all rooms, with every dump and report. */
#include "backward/backward.h"
#include "commands/options.h"
#include "commands/summary.h"
#include "emit/emit.h"
#include "fuzz.h"
#include "lower/lower.h"
#include "module/generation.h"
#include "passes/pass.h"
#include "plan/plan.h"

/* GRAPH_MAX_OPS would be more than a unit may take. */
static bool is_small(const struct program *program)
{
    enum { OPS = 500 };
    int most = 0;

    for (int i = 0; i < program->entry_count; i++)
        for (int j = 0; j < 4; j++) {
            const struct graph *graph = program->entries[i].graphs[j / 2][j % 2];

            most = graph && graph->op_count > most ? graph->op_count : most;
        }
    for (int i = 0; i < program->region_count; i++) {
        const struct graph *graph = program->regions[i]->graph;

        most = graph && graph->op_count > most ? graph->op_count : most;
    }
    return most <= OPS;
}

static void dump_program(void *data, const char *pass, struct program *program)
{
    (void)pass;
    program_dump(data, program, false);
}

/* Of a spec without faults. */
static void finish(struct cx *cx, struct program *program)
{
    struct text out = text_new(&cx->arena);
    struct plan *plan;
    int count;

    backward_write(cx, program);
    pass_run(cx, program, dump_program, &out);
    program_dump(&out, program, true);
    plan = plan_make(cx, program);
    if (!plan)
        return;
    plan_dump(&out, plan, false);
    plan_dump(&out, plan, true);
    plan_explain(&out, plan);
    summary_print(&out, summary_make(cx, plan));
    emit_files(cx, plan, &count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct options options = {.command = COMMAND_GENERATE};
    char *text = fuzz_copy(data, size, 1);
    struct source source = {.name = "f.yaml", .text = text, .length = size};
    struct cx cx = {.options = &options};
    struct text out = text_new(&cx.arena);
    struct spec *spec = spec_read(&cx, &source);

    for (int i = 0; i < spec->dtype_count; i++) {
        struct module_tree *tree = module_build(&cx, spec, i);
        struct program *program;

        tree->generation = generation_read(&cx, tree);
        module_dump(&out, tree, false);
        module_dump(&out, tree, true);
        if (!lower_resolve(&cx, tree))
            continue;
        program = lower_program(&cx, tree);
        if (diag_errors(&cx) == 0 && is_small(program))
            finish(&cx, program);
    }
    diag_print(&cx, fuzz_sink(), size % 2);
    arena_free(&cx.arena);
    free(text);
    return 0;
}
