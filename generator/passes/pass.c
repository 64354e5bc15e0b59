/* pass.c - the table of passes. */
#include "passes/pass.h"

const struct pass passes[] = {
    {"dead", graph_sweep_unused, "", ""},
    {"keep", pass_keep, "what nothing uses is gone", ""},
    {"lookup", pass_lookup, "tables are parameters, not views of them", ""},
    {"ranges", pass_ranges, "", "a range of the spec, one rounding"},
    {"fold", pass_fold, "convolutions and products still stand apart from what follows them",
     "the weights' own values"},
    {"integer", pass_integer, "scales and shifts per channel are in weights and biases",
     "ops know of no steps"},
    {"parts", pass_parts, "products still stand apart from what follows them",
     "one product of the spec, one op"},
    {"layout", pass_layout, "4-D values in PyTorch's order", "nothing: views say what changed"},
    {"views", pass_views, "", "chains of views"},
    {"prepare", pass_prepare, "", "views of prepared maps"},
    {"rescale", pass_rescale, "prepared values are marked; a factor's product and shift stand in one dag",
     "multipliers and shifts of the spec"},
    {"fuse", pass_fuse, "prepared values are marked", "one op, one function of the spec"},
    {"attention", pass_attention, "scales and masks are tails, or a map", "scores and weights of the spec"},
    {"gates", pass_gates, "products have their tails", "a layer's product, a layer's steps"},
    {"check", pass_check, "", "the order of the spec: checks come first"},
    {"regions", pass_regions, "no pass behind it reads more of forward in backward", ""},
    {"roll", pass_roll, "calls of regions stand in a row", "one call, one instance"},
    {"legalise", pass_legalise, "no pass behind it changes shapes", "views as ops alone: they are resolved"},
    {"dead", graph_sweep_unused, "", ""},
    {"split", pass_split, "everything is resolved", "one list of ops: pack_ops run in MODEL_pack"},
};
const int pass_count = (int)(sizeof passes / sizeof *passes);

static void run_one(struct graph *graph, void *data)
{
    const struct pass *pass = data;

    graph->hooks = NULL;
    pass->run(graph);
}

void pass_run_one(struct program *program, const struct pass *pass, bool last)
{
    struct pass own = *pass;

    program_each(program, run_one, &own);
    program_verify(program, pass->name, last);
}

void pass_run(struct cx *cx, struct program *program,
              void (*after)(void *data, const char *pass, struct program *program), void *data)
{
    for (int i = 0; i < pass_count && diag_errors(cx) == 0; i++) {
        pass_run_one(program, &passes[i], i == pass_count - 1);
        if (after)
            after(data, passes[i].name, program);
    }
}
