/* planner.h - what the files of the plan share while one variant is planned. Private to the plan.
 *
 * plan_variant.c goes through a graph's ops once and asks: plan_choose.c, which algorithm computes an op and what of it is packed;
 * plan_rounding.c, which ops may not round more; plan_home.c, whose packed struct holds that; plan_value.c, where a value lies; plan_lives.c, when; plan_load.c, what that comes to while joins and orders are tried; plan_joined.c, what is made
 * where another value wants it; plan_names.c, what it is called. */
#ifndef MODC_PLAN_PLANNER_H
#define MODC_PLAN_PLANNER_H

#include "plan/plan.h"
#include "plan/plan_load.h"
#include "plan/plan_order.h"
#include "plan/plan_pack.h"

struct planner {
    struct cx *cx;
    struct plan *plan;
    struct variant *variant;
    bool behind_yield;      /* while algorithms are chosen: the step is one of backward */
    int *last_use;          /* by value id: of what owns memory, the step that reads it last */
    int64_t *change;        /* by step: how many bytes more are live than in the step before */
    const char **arguments; /* the names in C of the graph's inputs */
    const char **results;   /* and, but in regions, of its results */
};

/* ---- plan_names.c ---- */

/* What an entry's inputs and results are called, which c_output and c_gradient ask for. */
void planner_call_arguments(struct cx *cx, struct graph *graph);

/* Names of all that lies in the workspace; see note [names of locals]. */
void planner_name_locals(struct planner *planner);

/* POLICY_GRADIENT_TRUNK_0_WEIGHT; underscores follow where another constant has that name. */
struct names;
const char *planner_gradient_name(struct cx *cx, const struct plan *plan, struct names *taken,
                                  const struct module_tensor *tensor);

/* Of the function of a region's variant: block_eval, block_train_saving_fenced. */
struct names planner_argument_names(struct cx *cx, const struct program *program);
const char *planner_region_function(struct cx *cx, const struct plan *plan, const struct names *arguments,
                                    const struct region *region);

/* ---- plan_choose.c ---- */

/* bound: by none that rounds more than a product that adds term by term, unless --plan asks for it. */
const struct algorithm *planner_choose(struct planner *planner, const struct op *op, bool bound);
/* Whether it takes one of the algorithms to compute the op. */
bool planner_needs_algorithm(const struct planner *planner, enum op_code code);
struct split planner_split_step(struct planner *planner,
                                const struct step *step); /* how the step is dealt out */
void planner_pack_weights(struct planner *planner,
                          struct step *step); /* in the formats that the algorithm wants */
struct packed_at planner_need_packed(struct planner *planner, struct packing packing, struct value *value);

/* ---- plan_rounding.c ---- */

/* Finds which products are bound: note [rounding]. Behind the passes, in front of all variants. */
void planner_bound_rounding(struct cx *cx, struct plan *plan);
bool planner_is_bound(const struct planner *planner, const struct op *op);

/* ---- plan_home.c ---- */

/* Where a packed value lives: with the model or region that the variant belongs to or, where all that it is made of is
 * in one instance of a region's class, with that instance. */
struct home {
    struct pack_group *group;
    const struct module *root;
    const char *inside; /* "blocks[3]." */
};

struct home planner_find_home(struct planner *planner, const struct value *value);
struct pack_group *planner_find_group(const struct plan *plan,
                                      const struct module *root); /* NULL: there is none yet */
void planner_add_child_group(struct planner *planner, const struct op *op, struct pack_group *group);
/* Those of classes that others have as members, called or not, come in front of these, as C wants it. */
void planner_order_groups(struct cx *cx, struct plan *plan);
void planner_lay_out_group(struct cx *cx, const struct plan *plan, struct pack_group *group);

/* ---- plan_value.c ---- */

int64_t planner_value_bytes(struct arena *arena, const struct value *value);
bool planner_check_size(struct cx *cx, const struct value *value); /* false after an error that was said */
bool planner_is_output(const struct graph *graph, const struct value *base, int *index);
void planner_place_value(struct planner *planner, struct value *value);

/* ---- plan_lives.c ---- */

/* The base value whose memory `value` shares: through boundaries and maps that work in place. */
const struct value *planner_memory_of(const struct variant *variant, const struct value *value);

/* Which maps work in place, and when everything in the workspace is live. */
void planner_find_lives(struct planner *planner);

/* The liveness bound of the lives that find_lives found; shadows, which are always live, left out. Of a region all that its
 * parts keep counts too, or with `kept` false what they work in alone. */
struct load planner_live_bytes(struct planner *planner, bool kept);

void planner_forget_lives(struct planner *planner);

/* What a step needs beside its values: what the region that it calls works in, its scratch, a weight. */
int64_t planner_step_bytes(const struct plan *plan, const struct step *step);

/* What the results of a step are written to, each once, and in its first step alone; NULL: nothing of the kind. */
struct place *planner_own_place(const struct variant *variant, int s, int output);

/* Whether one part of a region writes it and another reads it. */
bool planner_is_shared_by_parts(const struct variant *variant, const struct place *place);

int64_t planner_scratch_bytes(const struct plan *plan, const struct step *step);

/* Of the weight that the step packs in passing; or 0. */
int64_t planner_passing_bytes(const struct plan *plan, const struct step *step);

/* Zeros for gradients of results that are left out, where there are several: as long as any is read. False: there are none. */
int64_t planner_zeros_bytes(const struct planner *planner);
bool planner_find_zeros(const struct planner *planner, int64_t *bytes, int *last);

/* ---- plan_joined.c ---- */

/* See note [joins]. Steps that are left with nothing to do go. */
void planner_join_all(struct planner *planner);

/* ---- plan_same.c ---- */

/* Which variants are an earlier one's functions; behind plan_kernels. */
void planner_find_same(struct plan *plan);

/* ---- plan_variant.c ---- */

bool plan_one(struct cx *cx, struct plan *plan, struct graph *graph, const struct entry *entry,
              const char *function);

#endif
