/* pass.h - the ordered table of passes. Each is a function over one graph; graph_check runs after every one. */
#ifndef MODC_PASS_H
#define MODC_PASS_H

#include "graph/graph.h"

struct pass {
    const char *name;
    void (*run)(struct graph *graph);
    const char *needs, *breaks; /* for readers: what must hold before, what no longer holds after */
};

extern const struct pass passes[];
extern const int pass_count;

/* Runs all of them; `after` (may be NULL) is called after each. */
void pass_run(struct cx *cx, struct program *program,
              void (*after)(void *data, const char *pass, struct program *program), void *data);

/* One of them, over every graph; `last`: as of program_verify. */
void pass_run_one(struct program *program, const struct pass *pass, bool last);

/* The passes, in files of passes/ */
void pass_keep(struct graph *graph);
void pass_lookup(struct graph *graph);
void pass_ranges(struct graph *graph);
void pass_fold(struct graph *graph);
void pass_integer(struct graph *graph);
void pass_layout(struct graph *graph);
void pass_rescale(struct graph *graph);
void pass_parts(struct graph *graph);
void pass_views(struct graph *graph);
void pass_prepare(struct graph *graph);
void pass_fuse(struct graph *graph);
void pass_attention(struct graph *graph);
void pass_gates(struct graph *graph);
void pass_check(struct graph *graph);
void pass_regions(struct graph *graph);
void pass_roll(struct graph *graph);
void pass_legalise(struct graph *graph);
void pass_split(struct graph *graph);

#endif
