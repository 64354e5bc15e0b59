/* plan_same.c - which variants are the same functions: those of training and evaluation where nothing of the model asks for the
 * mode, and regions that two of an entry's variants call. Their records are compared, with what calls of them pass. */
#include <string.h>

#include "plan/kernel.h"
#include "plan/planner.h"

struct pair {
    const struct plan *plan;
    const struct variant *a, *b;
};

static const struct variant *first_of(const struct variant *variant)
{
    return variant->same ? variant->same : variant;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_packed(struct packed_at a, struct packed_at b)
{
    return a.entry == b.entry && same_text(a.inside, b.inside);
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->kind == b->kind && a->index == b->index && a->offset == b->offset && a->tensor == b->tensor &&
           a->kept == b->kept && a->first == b->first && same_packed(a->packed, b->packed) &&
           same_text(a->name, b->name);
}

/* Whether they are one pointer to the same elements. */
static bool same_value(const struct pair *pair, const struct value *a, const struct value *b)
{
    if (!a || !b || a->ndim != b->ndim || a->dtype != b->dtype)
        return a == b;
    for (int d = 0; d < a->ndim; d++)
        if (!dim_equal(a->dims[d], b->dims[d]))
            return false;
    return dim_equal(a->offset, b->offset) &&
           same_place(&pair->a->places[a->base->id], &pair->b->places[b->base->id]);
}

static bool same_values(const struct pair *pair, struct value *const *a, int a_count, struct value *const *b,
                        int b_count)
{
    if (a_count != b_count)
        return false;
    for (int i = 0; i < a_count; i++)
        if (!same_value(pair, a[i], b[i]))
            return false;
    return true;
}

static bool same_operand(const struct pair *pair, const struct operand *a, const struct operand *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == OPERAND_VALUE)
        return same_value(pair, a->value, b->value);
    return same_packed(a->packed, b->packed) && a->tensor == b->tensor && a->size == b->size &&
           same_text(a->name, b->name) && a->dtype == b->dtype && a->offset == b->offset &&
           a->earlier == b->earlier && (a->kind != OPERAND_BYTES || dim_equal(a->count, b->count));
}

static bool same_calls(const struct pair *pair, const struct kernel_calls *a, const struct kernel_calls *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct kernel_call *x = &a->list[i], *y = &b->list[i];

        if (x->kernel != y->kernel || x->operand_count != y->operand_count)
            return false;
        for (int j = 0; j < x->operand_count; j++)
            if (!same_operand(pair, &x->operands[j], &y->operands[j]))
                return false;
    }
    return true;
}

static bool same_fence(const struct pair *pair, const struct op *a, const struct op *b)
{
    const struct op *a_slots = a->fence.forward ? a->fence.forward : a,
                    *b_slots = b->fence.forward ? b->fence.forward : b;

    (void)pair;
    if (a->fence.module != b->fence.module || a->fence.kind != b->fence.kind ||
        a->fence.seen != b->fence.seen || a_slots->input_count != b_slots->input_count ||
        a_slots->fence.seen != b_slots->fence.seen)
        return false;
    for (int i = a_slots->fence.seen; i < a_slots->input_count; i++)
        if (a_slots->fence.complex[i] != b_slots->fence.complex[i])
            return false;
    for (int i = a->fence.seen; a->fence.forward && i < a->input_count; i++)
        if (a->fence.slots[i - a->fence.seen] != b->fence.slots[i - b->fence.seen])
            return false;
    return true;
}

static bool same_invocation(const struct pair *pair, const struct op *a, const struct op *b)
{
    const struct graph *graph = a->invoke.region->graph;

    if (first_of(plan_variant(pair->plan, graph)) !=
            first_of(plan_variant(pair->plan, b->invoke.region->graph)) ||
        a->invoke.instance != b->invoke.instance || a->invoke.part != b->invoke.part ||
        a->invoke.count != b->invoke.count)
        return false;
    for (int i = 0; a->invoke.part == CALL_BACKWARD && i < graph->input_count + graph->result_count; i++)
        if (a->invoke.reads[i] != b->invoke.reads[i])
            return false;
    return true;
}

static bool same_check(const struct pair *pair, const struct op *a, const struct op *b)
{
    (void)pair;
    return a->check.kind == b->check.kind && a->check.negative == b->check.negative &&
           (a->check.kind != CHECK_INDEX || dim_equal(a->check.extent, b->check.extent));
}

/* What is told about an op: the call of a module that it belongs to. */
static bool same_origin(const struct op *a, const struct op *b)
{
    return a->call && b->call ? a->call->module == b->call->module && a->call->index == b->call->index
                              : a->call == b->call;
}

static bool same_extern(const struct pair *pair, const struct op *a, const struct op *b)
{
    const size_t given = (size_t)(a->input_count - a->external.inputs - a->external.results);
    (void)pair;

    if (a->external.module != b->external.module || a->external.backward != b->external.backward ||
        a->external.inputs != b->external.inputs || a->external.results != b->external.results)
        return false;
    return !a->external.backward ||
           (a->input_count == b->input_count && a->output_count == b->output_count &&
            memcmp(a->external.given, b->external.given, given * sizeof(int)) == 0 &&
            memcmp(a->external.wanted, b->external.wanted, (size_t)a->output_count * sizeof(int)) == 0);
}

static bool same_update(const struct pair *pair, const struct op *a, const struct op *b)
{
    (void)pair, (void)a, (void)b;
    return true;
}

/* Of ops that no kernel computes; NULL: what else there is to say of it does the call of its kernel. */
static bool (*const comparers[GRAPH_OP_COUNT])(const struct pair *pair, const struct op *a,
                                               const struct op *b) = {[GRAPH_OP_FENCE] = same_fence,
                                                                      [GRAPH_OP_CHECK] = same_check,
                                                                      [GRAPH_OP_CALL] = same_invocation,
                                                                      [GRAPH_OP_EXTERN] = same_extern,
                                                                      [GRAPH_OP_UPDATE] = same_update};

/* What of an op no kernel says. */
static bool same_op(const struct pair *pair, const struct op *a, const struct op *b)
{
    if (a->code != b->code || !same_origin(a, b) ||
        !same_values(pair, a->outputs, a->output_count, b->outputs, b->output_count))
        return false;
    return !comparers[a->code] || (comparers[a->code](pair, a, b) &&
                                   same_values(pair, a->inputs, a->input_count, b->inputs, b->input_count));
}

/* The first `count` steps. */
static bool same_steps(const struct pair *pair, int count)
{
    const struct variant *a = pair->a, *b = pair->b;

    for (int s = 0; s < count; s++) {
        const struct step *x = &a->steps[s], *y = &b->steps[s];

        if (!same_text(x->boundary, y->boundary) || x->region_offset != y->region_offset ||
            x->scratch_offset != y->scratch_offset || x->packed_offset != y->packed_offset ||
            a->guards[s] != b->guards[s] || !same_op(pair, x->op, y->op) ||
            !same_calls(pair, &x->packings, &y->packings) || !same_calls(pair, &x->calls, &y->calls))
            return false;
    }
    return true;
}

/* What the functions take and give, of the outputs the first `a_count` and `b_count`, and which calls of modules their comments
 * name. */
static bool same_graphs(const struct pair *pair, int a_count, int b_count)
{
    const struct graph *a = pair->a->graph, *b = pair->b->graph;

    if (!a->region != !b->region || a->fenced != b->fenced || a->result_count != b->result_count ||
        a->call_count != b->call_count ||
        !same_values(pair, a->inputs, a->input_count, b->inputs, b->input_count) ||
        !same_values(pair, a->outputs, a_count, b->outputs, b_count))
        return false;
    for (int i = 0; i < a->call_count; i++)
        if (a->calls[i]->module != b->calls[i]->module)
            return false;
    for (int i = 0; a->region && i < a->region->slot_count; i++)
        if (a->region->slot_count != b->region->slot_count || a->region->slots[i] != b->region->slots[i])
            return false;
    return !a->region || a->region->slot_count == b->region->slot_count;
}

static bool same_memory(const struct variant *a, const struct variant *b)
{
    if (a->group != b->group || a->kept_count != b->kept_count || a->kept_offset != b->kept_offset ||
        a->zeros_bytes != b->zeros_bytes || a->zeros_offset != b->zeros_offset ||
        a->shadow_count != b->shadow_count || a->kept_bytes != b->kept_bytes || a->peak != b->peak)
        return false;
    for (int i = 0; i < a->shadow_count; i++)
        if (a->shadows[i] != b->shadows[i] || a->shadow_offsets[i] != b->shadow_offsets[i])
            return false;
    return true;
}

static bool is_same(const struct pair *pair)
{
    const struct variant *a = pair->a, *b = pair->b;

    return same_memory(a, b) && same_graphs(pair, a->graph->output_count, b->graph->output_count) &&
           a->step_count == b->step_count && a->yield == b->yield && a->commit == b->commit &&
           same_steps(pair, a->step_count);
}

/* Whether a, which saves nothing, is what b does up to its YIELD: all that backward reads is there as it is. */
static bool is_forward_of(const struct pair *pair)
{
    const struct variant *a = pair->a, *b = pair->b;

    return a->yield < 0 && !b->graph->region && b->yield == a->step_count && a->group == b->group &&
           a->fails[PART_FORWARD] == b->fails[PART_FORWARD] && a->shadow_count == 0 && b->shadow_count == 0 &&
           same_graphs(pair, a->graph->result_count, b->graph->result_count) &&
           same_steps(pair, a->step_count);
}

void planner_find_same(struct plan *plan)
{
    for (int i = 0; i < plan->variant_count; i++) {
        struct variant *variant = plan->variants[i];

        for (int j = 0; j < i && !variant->same; j++) {
            const struct pair pair = {plan, plan->variants[j], variant};

            if (pair.a->same || pair.a->entry != variant->entry)
                continue;
            if (is_same(&pair))
                variant->same = pair.a;
            else if (variant->yield >= 0 && !variant->same_forward && is_forward_of(&pair))
                variant->same_forward = pair.a;
        }
    }
}
