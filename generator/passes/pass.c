/* pass.c - the table of passes. */
#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/options.h"

const struct pass passes[] = {
    {"dead", pass_dead, "", ""},
    {"backward", pass_backward, "one op, one function: none has heads or tails",
     "the end of the graph: a second call stands there"},
    {"dead", pass_dead, "", ""},
    {"keep", pass_keep, "what nothing uses is gone", ""},
    {"fold", pass_fold, "convolutions and products still stand apart from what follows them",
     "the weights' own values"},
    {"parts", pass_parts, "products still stand apart from what follows them",
     "one product of the spec, one op"},
    {"layout", pass_layout, "4-D values in PyTorch's order", "nothing: views say what changed"},
    {"views", pass_views, "", "chains of views"},
    {"prepare", pass_prepare, "", "views of prepared maps"},
    {"fuse", pass_fuse, "prepared values are marked", "one op, one function of the spec"},
    {"attention", pass_attention, "scales and masks are tails, or a map", "scores and weights of the spec"},
    {"gates", pass_gates, "products have their tails", "a layer's product, a layer's steps"},
    {"check", pass_check, "", "the order of the spec: checks come first"},
    {"regions", pass_regions, "no pass behind it reads more of forward in backward", ""},
    {"roll", pass_roll, "calls of regions stand in a row", "one call, one instance"},
    {"legalise", pass_legalise, "no pass behind it changes shapes", "views as ops alone: they are resolved"},
    {"dead", pass_dead, "", ""},
    {"split", pass_split, "everything is resolved", "one list of ops: pack_ops run in MODEL_pack"},
};
const int pass_count = (int)(sizeof passes / sizeof *passes);

struct run {
    const struct pass *pass;
    bool types;
};

static void run_one(struct graph *graph, void *data)
{
    const struct run *run = data;
    const char *fault;

    run->pass->run(graph);
    fault = graph_check(graph, run->types);
    if (fault) {
        fprintf(stderr, "modc: a fault of modc itself: pass %s broke graph %s: %s\n", run->pass->name,
                graph->name, fault);
        exit(EXIT_FAULT);
    }
}

void pass_run_one(struct program *program, const struct pass *pass, bool types)
{
    struct run run = {pass, types};

    program_each(program, run_one, &run);
}

/* In builds for finding faults types and dims are checked behind each pass, else behind the last. */
static bool checks_types(int pass)
{
#ifdef MODC_CHECKS
    return pass < pass_count;
#else
    return pass == pass_count - 1;
#endif
}

void pass_run(struct cx *cx, struct program *program,
              void (*after)(void *data, const char *pass, struct program *program), void *data)
{
    for (int i = 0; i < pass_count && diag_errors(cx) == 0; i++) {
        pass_run_one(program, &passes[i], checks_types(i));
        if (after)
            after(data, passes[i].name, program);
    }
}
