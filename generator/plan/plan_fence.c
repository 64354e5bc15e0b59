/* plan_fence.c - the slots of module boundaries: which value hooks see in each, and how it comes to stand there. */
#include "plan/plan.h"

/* The boundary of forward whose values a boundary has slots for. */
static const struct op *slots_of(const struct op *fence)
{
    return fence->fence.forward ? fence->fence.forward : fence;
}

int fence_slot_count(const struct op *fence)
{
    return slots_of(fence)->input_count - slots_of(fence)->fence.seen;
}

int fence_value_in(const struct op *fence, int slot)
{
    if (!fence->fence.forward)
        return fence->fence.seen + slot;
    for (int i = fence->fence.seen; i < fence->input_count; i++)
        if (fence->fence.slots[i - fence->fence.seen] == slot)
            return i;
    return -1;
}

const struct value *fence_like(const struct op *fence, int slot)
{
    return slots_of(fence)->inputs[slots_of(fence)->fence.seen + slot];
}

bool fence_is_complex(const struct op *fence, int slot)
{
    return slots_of(fence)->fence.complex[slots_of(fence)->fence.seen + slot];
}

bool fence_shows_whole(const struct op *fence, int slot)
{
    const int at = fence_value_in(fence, slot);
    const struct value *like = fence_like(fence, slot), *value = at < 0 ? NULL : fence->inputs[at];
    bool same = value && value->base == value && !fence_is_complex(fence, slot) &&
                value->dtype == like->dtype && value->ndim == like->ndim;

    for (int i = 0; same && i < value->ndim; i++)
        same = dim_equal(value->dims[i], like->dims[i]);
    if (same && value->op->code == GRAPH_OP_FENCE) /* what a part before left is not there as a whole */
        same = !value->op->fence.forward == !fence->fence.forward;
    return same;
}
