/* plans.h - plans of small specs, and kernels in them, for the tests of what is planned and emitted. */
#ifndef MODC_TEST_PLANS_H
#define MODC_TEST_PLANS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backward/backward.h"
#include "commands/options.h"
#include "emit/kernel.h"
#include "lower/lower.h"
#include "module/generation.h"
#include "passes/pass.h"
#include "plan/algorithm.h"
#include "plan/kernel.h"
#include "programs.h"

struct model {
    struct cx cx;
    struct options options;
    struct source source;
    struct plan *plan;
};

/* The plan of a spec, with the options that m has. */
static inline void plan_spec(struct model *m, const char *text)
{
    struct program *program;
    struct module_tree *tree;
    struct spec *spec;

    m->source = (struct source){.name = "t.yaml", .text = text, .length = strlen(text)};
    m->cx.options = &m->options;
    spec = spec_read(&m->cx, &m->source);
    assert_non_null(spec);
    spec->backward |= m->options.backward;
    tree = module_build(&m->cx, spec, 0);
    tree->generation = generation_read(&m->cx, tree);
    assert_true(lower_resolve(&m->cx, tree));
    program = lower_program(&m->cx, tree);
    assert_non_null(program);
    backward_write(&m->cx, program);
    pass_run(&m->cx, program, NULL, NULL);
    assert_int_equal(diag_errors(&m->cx), 0);
    m->plan = plan_make(&m->cx, program);
    assert_non_null(m->plan);
}

static inline struct model *make(const char *text)
{
    struct model *m = calloc(1, sizeof *m);

    plan_spec(m, text);
    return m;
}

static inline void forget(struct model *m)
{
    arena_free(&m->cx.arena);
    free(m);
}

static inline const struct kernel *find(const struct model *m, const char *name)
{
    for (int i = 0; i < m->plan->kernel_count; i++)
        if (strcmp(m->plan->kernels[i]->name, name) == 0)
            return m->plan->kernels[i];
    return NULL;
}

static const char head[] =
    "modc: 1\nmodel: t\nhooks: none\nsizes: {batch: 256}\ninputs:\n  x: [batch, 64]\nmodules:\n";

static inline struct model *with(const char *modules, const char *result)
{
    static struct cx cx;
    struct text text = text_new(&cx.arena);

    text_printf(&text, "%s%sforward:\n  - return %s\n", head, modules, result);
    return make(text.data);
}

#endif
