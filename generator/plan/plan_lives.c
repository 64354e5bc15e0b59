/* plan_lives.c - from which step to which each value of the workspace lives, and what is live at most. */
#include <string.h>

#include "plan/algorithm.h"
#include "plan/planner.h"

/* The base value whose memory `value` shares: through boundaries and maps that work in place. */
const struct value *planner_memory_of(const struct variant *variant, const struct value *value)
{
    const struct value *base = value->base;

    while (variant->places[base->id].same)
        base = variant->places[base->id].same;
    return base;
}

static void set_last(struct variant *variant, const struct value *value, int step)
{
    struct place *place = &variant->places[planner_memory_of(variant, value)->id];

    if (step > place->last)
        place->last = step;
}

/* An op may write over an operand that dies there and has its very dims, if it can. */
static void reuse_operand(struct planner *planner, struct op *op, int step)
{
    struct variant *variant = planner->variant;
    struct value *out = op->outputs[0];
    struct place *place = &variant->places[out->id];

    if (!op_rows[op->code]->in_place || variant->graph->fenced || place->kind != PLACE_WORKSPACE)
        return;
    for (int i = 0; i < op->input_count; i++) {
        struct value *input = op->inputs[i];
        const struct value *memory = planner_memory_of(variant, input);
        bool alone = true;

        if (input->base != input || variant->places[memory->id].kind != PLACE_WORKSPACE ||
            planner->last_use[memory->id] != step || input->dtype != out->dtype || !dims_equal(input, out))
            continue;
        for (int j = 0; j < op->input_count; j++)
            alone &= j == i || planner_memory_of(variant, op->inputs[j]) != memory;
        if (alone) {
            place->same = memory;
            return;
        }
    }
}

/* What a step works in beside its values: the second buffer of a loop over regions, or what its algorithm asks for. */
int64_t planner_scratch_bytes(const struct plan *plan, const struct step *step)
{
    if (step->op->code == GRAPH_OP_CALL)
        return call_turns(step->op)
                   ? plan_aligned(plan, planner_value_bytes(&plan->program->cx->arena, step->op->outputs[0]))
                   : 0;
    return plan_aligned(plan, algorithm_scratch(step->algorithm, step->op,
                                                step_packed(step, 1) ? step_packed(step, 1)->storage : NULL) *
                                  step->split.slices);
}

int64_t planner_passing_bytes(const struct plan *plan, const struct step *step)
{
    const struct packed *weight = step_packed(step, 1);

    if (!weight || !weight->passing)
        return 0;
    if (weight->source.entry)
        return weight->source_offset +
               plan_aligned(plan, module_tensor_count(weight->source.entry->permutes) *
                                      dtype_rows[weight->source.entry->dtype].bytes);
    return plan_aligned(plan, weight->count * dtype_rows[weight->dtype].bytes);
}

/* What the results of a step are written to, each once, and in its first step alone; NULL: nothing of the kind. */
struct place *planner_own_place(const struct variant *variant, int s, int output)
{
    const struct op *op = variant->steps[s].op;
    struct place *place = &variant->places[op->outputs[output]->base->id];

    return place->kind == PLACE_WORKSPACE && !place->same && place->bytes > 0 && place->first == s &&
                   place->output == output
               ? place
               : NULL;
}

void planner_forget_lives(struct planner *planner)
{
    for (int i = 0; i < planner->variant->graph->value_count; i++) {
        struct place *place = &planner->variant->places[i];

        planner->last_use[i] = 0;
        if (place->kind == PLACE_WORKSPACE || place->kind == PLACE_NONE)
            place->same = NULL;
        place->first = place->last = -1;
    }
}

/* Which maps work in place, and when everything in the workspace is live. */
void planner_find_lives(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    int *last_use = planner->last_use;

    planner_forget_lives(planner);
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->output_count; j++) {
            struct place *place = &variant->places[op->outputs[j]->base->id];

            if (place->first < 0) {
                place->first = s;
                place->output = j;
            }
        }
        for (int j = 0; j < op->input_count; j++) /* through aliases */
            last_use[planner_memory_of(variant, op->inputs[j])->id] = s;
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct op *op = variant->steps[s].op;
        const struct value *memory;

        if (op->output_count != 1)
            continue;
        reuse_operand(planner, op, s);
        memory = planner_memory_of(variant, op->outputs[0]);
        if (last_use[op->outputs[0]->id] > last_use[memory->id])
            last_use[memory->id] = last_use[op->outputs[0]->id];
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->input_count; j++)
            set_last(variant, op->inputs[j], s);
        for (int j = 0; j < op->output_count; j++)
            set_last(variant, op->outputs[j], s);
    }
    for (int i = 0; i < graph->output_count; i++)
        set_last(variant, graph->outputs[i], variant->step_count - 1);
}

bool planner_is_shared_by_parts(const struct variant *variant, const struct place *place)
{
    return variant->graph->region &&
           variant_part(variant, place->first) != variant_part(variant, place->last);
}

/* What a step needs beside its values: what the region that it calls works in, its scratch, a weight. */
int64_t planner_step_bytes(const struct plan *plan, const struct step *step)
{
    const struct op *op = step->op;

    return planner_scratch_bytes(plan, step) + planner_passing_bytes(plan, step) +
           (op->code == GRAPH_OP_CALL ? plan_variant(plan, op->invoke.region->graph)->peak : 0);
}

/* Zeros for gradients of results that are left out, where there are several. */
int64_t planner_zeros_bytes(const struct planner *planner)
{
    const struct variant *variant = planner->variant;
    const struct op *op = variant->yield >= 0 ? variant->steps[variant->yield].op : NULL;
    int64_t bytes = 0;

    for (int j = 0; op && !variant->graph->region && op->output_count > 1 && j < op->output_count; j++) {
        int64_t own = plan_aligned(planner->plan, planner_value_bytes(&planner->cx->arena, op->outputs[j]));

        bytes = own > bytes ? own : bytes;
    }
    return bytes;
}

/* As long as any is read. False: there are none. */
bool planner_find_zeros(const struct planner *planner, int64_t *bytes, int *last)
{
    const struct variant *variant = planner->variant;

    *bytes = planner_zeros_bytes(planner);
    *last = variant->yield;
    for (int j = 0; *bytes > 0 && j < variant->steps[variant->yield].op->output_count; j++) {
        int end = planner->last_use[variant->steps[variant->yield].op->outputs[j]->id];

        *last = end > *last ? end : *last;
    }
    return *bytes > 0;
}

/* The liveness bound of the lives that find_lives found; shadows, which are always live, left out. */
struct load planner_live_bytes(struct planner *planner, bool kept)
{
    const struct variant *variant = planner->variant;
    struct load load = {0, 0, 0};
    int64_t live = 0, zeros;
    int last;

    memset(planner->change, 0, (size_t)(variant->step_count + 1) * sizeof *planner->change);
    if (planner_find_zeros(planner, &zeros, &last)) {
        planner->change[variant->yield] += zeros;
        planner->change[last + 1] -= zeros;
    }
    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            const struct place *place = planner_own_place(variant, s, j);

            if (place && (kept || !planner_is_shared_by_parts(variant, place))) {
                planner->change[s] += place->bytes;
                planner->change[place->last + 1] -= place->bytes;
            }
        }
    }
    for (int s = 0; s < variant->step_count; s++) {
        int64_t bytes = planner_step_bytes(planner->plan, &variant->steps[s]);

        live += planner->change[s];
        load_add(&load, s, live + bytes);
    }
    return load;
}
