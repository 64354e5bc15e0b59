/* graphs.h - for tests that look at graphs: built op by op, or lowered from a spec. Behind cmocka.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backward/backward.h"
#include "base/options.h"
#include "base/text.h"
#include "commands/settings.h"
#include "eval/eval.h"
#include "lower/lower.h"
#include "module/generation.h"
#include "passes/pass.h"

/* A graph that ops are built into, without a spec. */
struct bench {
    struct cx cx;
    struct options options;
    struct graph graph;
    struct eval eval;
    struct module_tree tree; /* of no module */
    struct program program;
};

static inline struct bench *bench_new(void)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->cx.options = &b->options;
    b->program.tree = &b->tree;
    b->graph = (struct graph){.cx = &b->cx, .name = "forward", .program = &b->program};
    b->eval = (struct eval){.cx = &b->cx, .graph = &b->graph, .default_dtype = DTYPE_FLOAT32};
    return b;
}

static inline void bench_free(struct bench *b)
{
    assert_int_equal(diag_errors(&b->cx), 0);
    arena_free(&b->cx.arena);
    free(b);
}

static inline const struct dim *number(struct bench *b, int64_t value)
{
    return dim_const(&b->cx.arena, value);
}

/* An input of these dims, up to a 0. */
static inline struct value *input(struct bench *b, enum dtype dtype, const int *dims)
{
    struct op *op = op_new(&b->eval, GRAPH_OP_INPUT, "input", NULL, 0);
    const struct dim *shape[MAX_DIMS];
    struct value *value;
    int ndim = 0;

    for (; dims[ndim]; ndim++)
        shape[ndim] = number(b, dims[ndim]);
    op->input.index = b->graph.input_count;
    value = graph_value(&b->graph, op, dtype, ndim, shape);
    graph_append(&b->graph, op);
    ARENA_PUSH(&b->cx.arena, b->graph.inputs, b->graph.input_count, value);
    return value;
}

#define INPUT(b, ...) input(b, DTYPE_FLOAT32, (const int[]){__VA_ARGS__, 0})

static inline struct value *map_of(struct bench *b, enum prim prim, const char *label, struct value *x,
                                   struct value *y)
{
    struct loc nowhere = {0};
    struct ev left = ev_tensor(nowhere, x), right = ev_tensor(nowhere, y);

    return build_binary(&b->eval, nowhere, prim, label, &left, &right).tensor;
}

static inline int count_ops(const struct graph *graph, enum op_code code)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == code;
    return count;
}

static inline struct op *nth_op(const struct graph *graph, enum op_code code, int nth)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == code && nth-- == 0)
            return graph->ops[i];
    fail_msg("there is no such op");
    return NULL;
}

/* A spec as far as its program. */
struct model {
    struct cx cx;
    struct options options;
    struct source source;
    struct module_tree *tree;
    struct program *program;
};

/* `plans`: of --plan. */
static inline struct model *model_with(const char *text, const char **plans, int plan_count)
{
    struct model *m = calloc(1, sizeof *m);
    struct spec *spec;

    assert_non_null(m);
    m->options.plans = plans;
    m->options.plan_count = plan_count;
    m->cx.options = &m->options;
    m->source = (struct source){.name = "t.yaml", .text = text, .length = strlen(text)};
    spec = spec_read(&m->cx, &m->source);
    assert_true(settings_apply(&m->cx, spec));
    m->tree = module_build(&m->cx, spec, 0);
    m->tree->generation = generation_read(&m->cx, m->tree);
    assert_true(lower_resolve(&m->cx, m->tree));
    m->program = lower_program(&m->cx, m->tree);
    if (m->cx.item_count > 0)
        diag_print(&m->cx, stderr, DIAG_PLAIN);
    assert_int_equal(diag_errors(&m->cx), 0);
    return m;
}

static inline struct model *model_read(const char *text)
{
    return model_with(text, NULL, 0);
}

static inline void model_free(struct model *m)
{
    arena_free(&m->cx.arena);
    free(m);
}

static inline struct graph *forward_of(const struct model *m, bool training)
{
    return m->program->entries[0].graphs[training][0];
}

/* Runs the passes up to the first of that name, all of its kind with it, each of whose graphs is checked. */
static inline void run_up_to(struct model *m, const char *name)
{
    backward_write(&m->cx, m->program);
    for (int i = 0; i < pass_count; i++) {
        pass_run_one(m->program, &passes[i], true);
        if (strcmp(passes[i].name, name) == 0)
            return;
    }
    fail_msg("there is no pass '%s'", name);
}
