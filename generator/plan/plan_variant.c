/* plan_variant.c - one variant: its steps, their values, and its workspace. */
#include <assert.h>
#include <string.h>

#include "base/emitted.h"
#include "passes/toolkit.h"
#include "plan/plan_place.h"
#include "plan/planner.h"

static const struct variant *callee(const struct plan *plan, const struct op *call)
{
    return plan_variant(plan, call->invoke.region->graph);
}

static void add_interval(struct planner *planner, const char *what, const struct op *op, int64_t bytes,
                         int first, int last, int64_t *to)
{
    struct variant *variant = planner->variant;
    const bool kept = variant->graph->region && variant_part(variant, first) != variant_part(variant, last);

    ARENA_PUSH(&planner->cx->arena, variant->intervals, variant->interval_count,
               ((struct interval){what, op, 0, bytes, first, last, kept, to, NULL}));
}

/* Whether a step may end the call. */
static bool may_fail(const struct plan *plan, const struct op *op)
{
    return op_rows[op->code]->fails ||
           (op->code == GRAPH_OP_CALL && callee(plan, op)->fails[call_part_of(op)]);
}

/* The last step that may end the call, or -1. */
static int last_failing(const struct planner *planner)
{
    const struct variant *variant = planner->variant;
    int last = -1;

    for (int s = 0; s < variant->step_count; s++)
        if (may_fail(planner->plan, variant->steps[s].op))
            last = s;
    return last;
}

static void find_failing(struct planner *planner)
{
    struct variant *variant = planner->variant;

    for (int s = 0; s < variant->step_count; s++)
        variant->fails[variant_part(variant, s)] |= may_fail(planner->plan, variant->steps[s].op);
    for (int part = 0; part < PARTS && planner->plan->backend->apart; part++) /* a kernel may not start */
        variant->fails[part] = true;
}

/* Which gradient a step is for: the one that all that read its results are for. */
static void find_guards(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    enum { NOBODY = -2, SEVERAL = -1 };
    int *own; /* by value */

    variant->guards = ARENA_ARRAY(&planner->cx->arena, variant->step_count + 1, int);
    own = ARENA_ARRAY(&planner->cx->arena, graph->value_count + 1, int);
    for (int i = 0; i < graph->value_count; i++)
        own[i] = NOBODY;
    for (int i = graph->result_count; i < graph->output_count;
         i++) /* a region gives those of inputs in any case */
        own[graph->outputs[i]->base->id] = graph->region && !graph->gradient_of[i - graph->result_count]
                                               ? SEVERAL
                                               : i;
    for (int s = variant->step_count - 1; s >= 0; s--) {
        const struct op *op = variant->steps[s].op;
        int guard = NOBODY;

        for (int j = 0; j < op->output_count; j++) {
            int reader = own[op->outputs[j]->base->id];

            guard = reader == NOBODY ? guard : guard == NOBODY || guard == reader ? reader : SEVERAL;
        }
        if (s <= variant->yield || variant->yield < 0 || guard == NOBODY || op->code == GRAPH_OP_FENCE ||
            op->code == GRAPH_OP_CALL)
            guard = SEVERAL;
        variant->guards[s] = guard;
        for (int j = 0; j < op->input_count; j++) {
            int *reader = &own[op->inputs[j]->base->id];

            *reader = *reader == NOBODY || *reader == guard ? guard : SEVERAL;
        }
    }
}

/* A hook may leave a value anywhere: pointers to those that a later part reads. */
static void place_kept(struct planner *planner)
{
    enum { POINTER = 8 }; /* at most */
    struct variant *variant = planner->variant;
    int64_t bytes;

    for (int s = variant->yield + 1; s < variant->step_count && variant->yield >= 0; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->input_count; j++) {
            struct place *place = &variant->places[op->inputs[j]->base->id];

            if (place->kind == PLACE_FENCE && place->index < 0 &&
                variant_part(variant, place->first) != variant_part(variant, s))
                place->index = variant->kept_count++;
        }
    }
    if (variant->kept_count == 0)
        return;
    bytes = plan_aligned(planner->plan, variant->kept_count * POINTER);
    add_interval(planner, "kept", NULL, bytes, 0, variant->step_count - 1, &variant->kept_offset);
    if (!variant->graph->region)
        variant->bound += bytes;
}

/* ---- the pieces of a variant, in their order ---- */

/* The steps of its ops. False after a fault: a value is too large. */
static bool make_steps(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    bool fine = true;

    for (int i = 0; i < graph->pack_count; i++)
        fine &= !op_is_step(graph->pack_ops[i]) ||
                planner_check_size(planner->cx, graph->pack_ops[i]->outputs[0]);
    variant->steps = ARENA_ARRAY(&planner->cx->arena, graph->op_count + 1, struct step);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        struct step *step = &variant->steps[variant->step_count];

        for (int j = 0; j < op->output_count; j++)
            fine &= planner_check_size(planner->cx, op->outputs[j]);
        if (!op_is_step(op))
            continue;
        step->op = op;
        step->region_offset = step->scratch_offset = step->packed_offset = -1;
        variant->step_count++;
    }
    return fine;
}

/* Before weights look for their home; and the length of what the parts of a region keep, and of what goes between them. */
static void meet_regions(struct planner *planner)
{
    const struct variant *variant = planner->variant;
    struct arena *arena = &planner->cx->arena;

    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;
        const int count = op->code == GRAPH_OP_CALL ? op->invoke.count : 0;
        int results;

        if (op->code != GRAPH_OP_CALL)
            continue;
        planner_add_child_group(planner, op, callee(planner->plan, op)->group);
        if (op->invoke.part != CALL_FORWARD)
            continue;
        results = op->invoke.region->graph->result_count;
        op->outputs[results]->dims[0] = dim_const(arena, callee(planner->plan, op)->kept_bytes * count);
        if (op->output_count > results + 1)
            op->outputs[results + 1]->dims[0] = dim_const(
                arena, plan_aligned(planner->plan, planner_value_bytes(arena, op->outputs[0])) * (count - 1));
    }
}

static void note_writes(struct planner *planner, const struct op *op)
{
    struct variant *variant = planner->variant;

    if (op->code != GRAPH_OP_WRITE || op->write.tensor->kind == MODULE_STATE)
        return;
    variant->writes_buffers = true;
    variant->outdates_packed |= tensor_changes_in_training(op->write.tensor);
}

/* Inputs, tensors and constants; then how each step is computed, and its own values. */
static void place_values(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;

    for (int i = 0; i < graph->pack_count; i++)
        if (!op_is_step(graph->pack_ops[i]) && graph->pack_ops[i]->code != GRAPH_OP_CONST)
            planner_place_value(planner, graph->pack_ops[i]->outputs[0]);
    for (int i = 0; i < graph->op_count; i++)
        if (!op_is_step(graph->ops[i]))
            planner_place_value(planner, graph->ops[i]->outputs[0]);
    for (int s = 0; s < variant->step_count; s++) {
        struct step *step = &variant->steps[s];
        const struct op *op = step->op;

        planner->behind_yield |= op->code == GRAPH_OP_YIELD;
        step->bound = planner_is_bound(planner, op);
        step->algorithm = planner_choose(planner, op, step->bound);
        assert(step->algorithm || !planner_needs_algorithm(planner, op->code));
        step->split = planner_split_step(planner, step);
        planner_pack_weights(planner, step);
        for (int j = 0; j < op->input_count;
             j++) { /* constants and prepared values that are read as they are */
            struct value *base = op->inputs[j]->base;

            if (!step_packed(step, j) && (base->prepared || base->op->code == GRAPH_OP_CONST))
                planner_place_value(planner, base);
        }
        for (int j = 0; j < op->output_count; j++)
            planner_place_value(planner, op->outputs[j]);
        note_writes(planner, op);
        if (op->code != GRAPH_OP_CALL)
            variant->macs += op_macs(op);
    }
}

static void order_and_join(struct planner *planner)
{
    struct variant *variant = planner->variant;

    planner_join_all(planner);
    if (variant->yield < 0)
        return;
    planner_order_steps(planner);
    planner_join_all(planner);
}

/* The boundaries of forward so far: how many of each module and kind; their steps, by where their ops stand. */
struct boundaries {
    int *met; /* by the module's index in the graph's root, twice, and kind */
    const struct step **steps;
};

/* What a boundary's locals begin with: its module's path, and which call of that it is. Backward's is that of forward. */
static const char *boundary_name(struct planner *planner, struct boundaries *boundaries,
                                 const struct step *step)
{
    const struct graph *graph = planner->variant->graph;
    const struct op *op = step->op;
    const struct module *module = op->fence.module;
    const char *path = relative_path(graph->root, module->path), *flat;
    int number;

    if (op->fence.forward)
        return boundaries->steps[graph_position(graph, op->fence.forward)]->boundary;
    boundaries->steps[graph_position(graph, op)] = step;
    number = ++boundaries->met[2 * (module->index - graph->root->index) + op->fence.kind];
    flat = path[0] && module != graph->root ? emitted_flat(planner->cx, path) : "self";
    if (flat[0] == '_')
        flat = arena_format(&planner->cx->arena, "m%s", flat);
    return number > 1 ? arena_format(&planner->cx->arena, "%s_call%d", flat, number)
                      : arena_format(&planner->cx->arena, "%s_call", flat);
}

/* What hooks made of a boundary's values is read in its slots. */
static void name_boundary(struct planner *planner, struct boundaries *boundaries, struct step *step)
{
    static const char *const ends[] = {[FENCE_FORWARD_PRE] = "in",
                                       [FENCE_FORWARD] = "out",
                                       [FENCE_BACKWARD_PRE] = "dout",
                                       [FENCE_BACKWARD] = "din"};
    const struct op *op = step->op;

    step->boundary = boundary_name(planner, boundaries, step);
    for (int slot = 0; slot < fence_slot_count(op); slot++) {
        const int i = fence_value_in(op, slot);
        struct place *places = planner->variant->places;

        if (i < 0)
            continue;
        places[op->outputs[i]->id].name = arena_format(&planner->cx->arena, "%s_%s[%d]", step->boundary,
                                                       ends[op->fence.kind], slot);
        places[op->inputs[i]->base->id].shown |= fence_shows_whole(op, slot);
    }
}

/* Hooks see what calls of a class give, whether a boundary shows it here or in the next call. */
static void show_results(struct planner *planner, const struct op *call)
{
    for (int i = 0;
         planner->variant->graph->fenced && call->invoke.part != CALL_BACKWARD && i < call->output_count;
         i++) {
        struct place *place = &planner->variant->places[call->outputs[i]->id];

        place->shown |= call->outputs[i]->base == call->outputs[i] && place->kind == PLACE_WORKSPACE;
    }
}

static void name_locals(struct planner *planner)
{
    struct variant *variant = planner->variant;
    struct arena *arena = &planner->cx->arena;
    struct boundaries boundaries = {NULL, NULL};

    if (variant->graph->fenced) {
        boundaries.met = ARENA_ARRAY(arena, 2 * (variant->graph->root->subtree + 1), int);
        boundaries.steps = ARENA_ARRAY(arena, variant->graph->op_count + 1, const struct step *);
    }
    for (int s = 0; s < variant->step_count; s++) {
        if (variant->steps[s].op->code == GRAPH_OP_FENCE)
            name_boundary(planner, &boundaries, &variant->steps[s]);
        else if (variant->steps[s].op->code == GRAPH_OP_CALL)
            show_results(planner, variant->steps[s].op);
    }

    planner_name_locals(planner);
}

static void add_shadow(struct planner *planner, const struct module_tensor *tensor)
{
    struct variant *variant = planner->variant;

    /* a call that is made again keeps the same there, and nobody reads what another one was to keep */
    if (tensor->cache == CACHE_TOKENS)
        return;
    for (int i = 0; i < variant->shadow_count; i++)
        if (variant->shadows[i] == tensor)
            return;
    ARENA_PUSH(&planner->cx->arena, variant->shadows, variant->shadow_count, tensor);
}

/* Shadows of slots that are written before the call may end: it must be able to fail without a trace. A region writes where its
 * caller says. */
static void find_shadows(struct planner *planner)
{
    const struct variant *variant = planner->variant;
    const int failing = last_failing(planner);
    /* what a check finds on a machine of its own is known behind the call */
    const bool late = planner->plan->backend->apart && failing >= 0;
    const int end = variant->graph->fenced || late ? variant->step_count : failing;

    for (int s = 0; s < end && !variant->graph->region; s++) {
        const struct op *op = variant->steps[s].op;

        if (op->code == GRAPH_OP_WRITE)
            add_shadow(planner, op->write.tensor);
        if (op->code != GRAPH_OP_CALL || call_part_of(op) != PART_FORWARD)
            continue;
        for (int i = 0; i < op->invoke.region->slot_count; i++)
            if (plan_written(planner->plan, op->invoke.region->slots[i]))
                add_shadow(planner, region_tensor(op, op->invoke.region->slots[i]));
    }
}

/* What a call of a region adds to what its caller uses. */
static void add_callee(struct planner *planner, struct step *step, int at)
{
    struct variant *variant = planner->variant;
    const struct op *op = step->op;
    const struct variant *region = callee(planner->plan, op);

    variant->uses_packed |= region->uses_packed;
    variant->uses_buffers |= region->uses_buffers;
    variant->writes_buffers |= region->writes_buffers;
    variant->outdates_packed |= region->outdates_packed;
    if (call_part_of(op) == PART_FORWARD)
        variant->macs += region->macs * op->invoke.count;
    if (region->peak > 0)
        add_interval(planner, region->function, op, region->peak, at, at, &step->region_offset);
}

/* Values, shadows, regions, scratch. */
static void add_intervals(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct plan *plan = planner->plan;
    int zeros_last;

    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            struct place *place = planner_own_place(variant, s, j);

            if (!place)
                continue;
            add_interval(planner, place->name, variant->steps[s].op->outputs[j]->base->op, place->bytes, s,
                         place->last, &place->offset);
            variant->intervals[variant->interval_count - 1].place = place;
        }
    }
    variant->shadow_offsets = ARENA_ARRAY(&planner->cx->arena, variant->shadow_count + 1, int64_t);
    variant->bound = planner_live_bytes(planner, false).most;
    find_guards(planner);
    if (planner_find_zeros(planner, &variant->zeros_bytes, &zeros_last))
        add_interval(planner, "zeros", variant->steps[variant->yield].op, variant->zeros_bytes,
                     variant->yield, zeros_last, &variant->zeros_offset);
    place_kept(planner);
    for (int i = 0; i < variant->shadow_count; i++) {
        const struct module_tensor *tensor = variant->shadows[i];
        const int64_t bytes = plan_aligned(plan,
                                           module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes);

        add_interval(planner, tensor->path, NULL, bytes, 0, variant->step_count - 1,
                     &variant->shadow_offsets[i]);
        variant->bound += bytes;
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct step *step = &variant->steps[s];
        const int64_t scratch = planner_scratch_bytes(plan, step),
                      passing = planner_passing_bytes(plan, step);
        const bool call = step->op->code == GRAPH_OP_CALL;

        if (call)
            add_callee(planner, step, s);
        if (scratch > 0)
            add_interval(planner, call ? "second buffer" : "scratch", step->op, scratch, s, s,
                         &step->scratch_offset);
        if (passing > 0)
            add_interval(planner, step_packed(step, 1)->name, step->op, passing, s, s, &step->packed_offset);
    }
}

/* The liveness bound of the intervals that are kept, or of those that are not. */
static int64_t most_live(const struct planner *planner, bool kept)
{
    const struct variant *variant = planner->variant;
    int64_t most = 0;

    for (int s = 0; s < variant->step_count; s++) {
        int64_t live = 0;

        for (int i = 0; i < variant->interval_count; i++)
            if (variant->intervals[i].kept == kept && variant->intervals[i].first <= s &&
                s <= variant->intervals[i].last)
                live += variant->intervals[i].bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* Of some intervals, those that are kept or those that are not, where they lie; returns the end of all. */
static int64_t place_some(struct planner *planner, bool kept)
{
    struct variant *variant = planner->variant;
    struct interval *list = ARENA_ARRAY(&planner->cx->arena, variant->interval_count + 1, struct interval);
    int count = 0;
    int64_t end;

    for (int i = 0; i < variant->interval_count; i++)
        if (variant->intervals[i].kept == kept)
            list[count++] = variant->intervals[i];
    end = place_intervals(planner->cx, list, count, kept ? most_live(planner, true) : variant->bound);
    for (int i = 0, n = 0; i < variant->interval_count; i++)
        if (variant->intervals[i].kept == kept)
            variant->intervals[i].offset = list[n++].offset;
    return end;
}

/* Where in the block that is kept `own` would lie in the memory of others that are not live then; -1: nowhere. */
static int64_t find_hole(const struct variant *variant, const struct interval *own)
{
    int64_t at = 0;

    for (int i = 0; i < variant->interval_count; i++) {
        const struct interval *other = &variant->intervals[i];

        if (at + own->bytes > variant->kept_bytes)
            return -1;
        if (!other->kept || other->last < own->first || own->last < other->first ||
            other->offset + other->bytes <= at || at + own->bytes <= other->offset)
            continue;
        at = other->offset + other->bytes;
        i = -1; /* those before may be in the way now */
    }
    return at;
}

/* What a part of a region works in lies, as far as it fits, where what is kept is dead or not yet made; large ones first, and
 * `most` of them. Returns how many there are. */
static int fill_holes(struct planner *planner, int most)
{
    struct variant *variant = planner->variant;

    for (int count = 0;; count++) {
        struct interval *best = NULL;
        int64_t at = -1;

        for (int i = 0; i < variant->interval_count; i++) {
            struct interval *own = &variant->intervals[i];
            const int64_t hole = own->kept || !own->place || (best && own->bytes <= best->bytes)
                                     ? -1
                                     : find_hole(variant, own);

            if (hole < 0)
                continue;
            best = own;
            at = hole;
        }
        if (!best || count == most)
            return count;
        best->kept = true;
        best->offset = at;
    }
}

static void empty_holes(struct planner *planner)
{
    struct variant *variant = planner->variant;

    for (int i = 0; i < variant->interval_count; i++) {
        struct interval *own = &variant->intervals[i];

        own->kept &= variant_part(variant, own->first) != variant_part(variant, own->last);
    }
}

/* The workspace of a region of several parts with so many holes filled. */
static int64_t place_with_holes(struct planner *planner, int filled)
{
    struct variant *variant = planner->variant;

    empty_holes(planner);
    fill_holes(planner, filled);
    variant->bound = most_live(planner, false);
    variant->peak = place_some(planner, false);
    return variant->peak;
}

/* Which holes are filled decides how well the others can be placed, which is not always at their bound. */
static void place_parts(struct planner *planner)
{
    struct variant *variant = planner->variant;
    int best, most;
    int64_t least;

    variant->kept_bytes = place_some(planner, true);
    best = most = fill_holes(planner, variant->interval_count);
    least = place_with_holes(planner, most);
    for (int filled = most - 1; filled >= 0 && variant->peak > variant->bound; filled--) {
        if (place_with_holes(planner, filled) >= least)
            continue;
        least = variant->peak;
        best = filled;
    }
    if (variant->peak > least)
        place_with_holes(planner, best);
}

/* Where all lies: what the parts of a region share in a block of its own. */
static void place_all(struct planner *planner)
{
    struct variant *variant = planner->variant;

    if (variant->graph->region && variant_parts(variant) > 1)
        place_parts(planner);
    else
        variant->peak = place_some(planner, false);
    for (int i = 0; i < variant->interval_count; i++) {
        *variant->intervals[i].to = variant->intervals[i].offset;
        if (variant->intervals[i].place)
            variant->intervals[i].place->kept = variant->intervals[i].kept;
    }
    for (int i = 0; i < variant->graph->value_count; i++) {
        struct place *place = &variant->places[i];
        const struct place *memory = place;

        if (place->kind != PLACE_WORKSPACE || !place->same)
            continue;
        while (memory->same)
            memory = &variant->places[memory->same->id];
        place->offset = memory->offset;
        place->kept = memory->kept;
    }
}

/* A region whose hooks, random numbers or faults are its module's. */
static void find_number(struct planner *planner)
{
    struct variant *variant = planner->variant;

    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        variant->draws |= op_rows[op->code]->draws ||
                          (op->code == GRAPH_OP_CALL && callee(planner->plan, op)->draws);
    }
}

bool plan_one(struct cx *cx, struct plan *plan, struct graph *graph, const struct entry *entry,
              const char *function)
{
    struct variant *variant = ARENA_NEW(&cx->arena, struct variant);
    struct planner planner = {.cx = cx,
                              .plan = plan,
                              .variant = variant,
                              .last_use = ARENA_ARRAY(&cx->arena, graph->value_count + 1, int),
                              .change = ARENA_ARRAY(&cx->arena, graph->op_count + 2, int64_t),
                              .arguments = ARENA_ARRAY(&cx->arena, graph->input_count + 1, const char *)};

    for (int i = 0; i < graph->input_count; i++)
        planner.arguments[i] = graph->region            ? region_input(cx, graph, graph->inputs[i])
                               : graph->inputs[i]->name ? c_argument(cx, graph->inputs[i]->name)
                                                        : NULL;
    if (!graph->region) {
        planner_call_arguments(cx, graph);
        planner.results = ARENA_ARRAY(&cx->arena, graph->result_count + 1, const char *);
    }
    for (int i = 0; planner.results && i < graph->result_count; i++)
        planner.results[i] = c_output(cx, graph, i);
    variant->graph = graph;
    variant->entry = entry;
    variant->function = function;
    variant->yield = variant->commit = -1;
    variant->group = graph->region ? planner_find_group(plan, graph->root) : plan->groups[0];
    variant->places = ARENA_ARRAY(&cx->arena, graph->value_count + 1, struct place);
    if (!make_steps(&planner))
        return false;
    meet_regions(&planner);
    place_values(&planner);
    order_and_join(&planner);
    name_locals(&planner);
    find_failing(&planner);
    find_number(&planner);
    find_shadows(&planner);
    add_intervals(&planner);
    place_all(&planner);
    ARENA_PUSH(&cx->arena, plan->variants, plan->variant_count, variant);
    names_add(&cx->arena, &plan->functions_taken, function, "", (struct loc){0});
    return true;
}
