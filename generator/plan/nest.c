/* nest.c - brings a loop nest to its smallest equal form. Apart, because map, copy, write and reduce share it, and
 * because equal forms are what makes kernels equal. */
#include "plan/nest.h"

#include <assert.h>

struct axes {
    int count;
    int at[MAX_DIMS]; /* positions in the nest */
};

/* How far apart neighbours along an axis lie, at the sizes' maxima. */
static int64_t distance(const struct nest *nest, int operand, int axis)
{
    const struct dim *stride = nest->operands[operand].strides[axis];
    int64_t up = dim_upper(stride), down = dim_lower(stride);

    return down < 0 && -(down + 1) >= up ? -(down + 1) : up;
}

static bool has_stride(const struct nest *nest, int operand, int axis, int64_t stride)
{
    return dim_equals(nest->operands[operand].strides[axis], stride);
}

/* Whether vectors can run along the axis in every input: strides are 1 or 0, and one is 1. */
static bool inputs_contiguous(const struct nest *nest, int axis)
{
    bool any = false;

    for (int i = 1; i < nest->operand_count; i++) {
        if (has_stride(nest, i, axis, 1))
            any = true;
        else if (!has_stride(nest, i, axis, 0))
            return false;
    }
    return any;
}

/* Axes further apart come first: in the output, then, where they are equal, in the inputs. */
static bool comes_before(const struct nest *nest, int a, int b)
{
    for (int i = 0; i < nest->operand_count; i++) {
        int64_t x = distance(nest, i, a), y = distance(nest, i, b);

        if (x != y)
            return x > y;
    }
    return false;
}

static void move_last(struct axes *axes, int position)
{
    int axis = axes->at[position];

    for (int i = position; i + 1 < axes->count; i++)
        axes->at[i] = axes->at[i + 1];
    axes->at[axes->count - 1] = axis;
}

/* From far to near; last an axis along which operands are contiguous or stay where they are, if there is one: of those and
 * else of all the one that is contiguous in most operands, the output first among equals. */
static void sort_axes(const struct nest *nest, struct axes *axes)
{
    int best = -1, best_score = 0;

    for (int i = 1; i < axes->count; i++) {
        for (int j = i; j > 0 && comes_before(nest, axes->at[j], axes->at[j - 1]); j--) {
            int swap = axes->at[j];

            axes->at[j] = axes->at[j - 1];
            axes->at[j - 1] = swap;
        }
    }
    for (int i = 0; i < axes->count; i++) {
        int score = 0, apart = 0;

        for (int j = 0; j < nest->operand_count; j++) {
            if (has_stride(nest, j, axes->at[i], 1))
                score += j == 0 ? 3 : 2;
            else
                apart += !has_stride(nest, j, axes->at[i], 0);
        }
        if (score > 0 && apart == 0)
            score += 2 * nest->operand_count + 1; /* more than all that are apart elsewhere */
        if (score > 0 && score >= best_score) {
            best = i;
            best_score = score;
        }
    }
    if (best >= 0)
        move_last(axes, best);
}

/* Whether `outer` continues where `inner` ends, in all operands. */
static bool can_merge(struct arena *arena, const struct nest *nest, int outer, int inner)
{
    for (int i = 0; i < nest->operand_count; i++) {
        const struct dim *const *strides = nest->operands[i].strides;

        if (!dim_equal(strides[outer], dim_mul(arena, strides[inner], nest->dims[inner])))
            return false;
    }
    return true;
}

/* Merges neighbours; what is merged keeps the place and the strides of the inner axis. */
static void merge_axes(struct arena *arena, struct nest *nest, struct axes *axes)
{
    for (int i = axes->count - 2; i >= 0; i--) {
        int outer = axes->at[i], inner = axes->at[i + 1];

        if (!can_merge(arena, nest, outer, inner))
            continue;
        nest->dims[inner] = dim_mul(arena, nest->dims[outer], nest->dims[inner]);
        for (int j = i; j + 1 < axes->count; j++)
            axes->at[j] = axes->at[j + 1];
        axes->count--;
    }
}

/* Which kept axis a reduction keeps innermost, so that it runs over vectors of outputs; -1: none. */
static int innermost_kept(const struct nest *nest, const struct axes *kept, const struct axes *reduced)
{
    for (int i = 0; i < reduced->count; i++)
        if (inputs_contiguous(nest, reduced->at[i]))
            return -1;
    for (int i = kept->count - 1; i >= 0 && reduced->count > 0; i--)
        if (has_stride(nest, 0, kept->at[i], 1) && inputs_contiguous(nest, kept->at[i]))
            return i;
    return -1;
}

/* Writes the axes back in a new order. */
static void apply_order(struct nest *nest, const struct axes *axes)
{
    struct nest old = *nest;

    for (int i = 0; i < axes->count; i++) {
        nest->dims[i] = old.dims[axes->at[i]];
        nest->reduced[i] = old.reduced[axes->at[i]];
    }
    for (int j = 0; j < nest->operand_count; j++) {
        struct nest_operand operand = nest->operands[j];

        for (int i = 0; i < axes->count; i++)
            nest->operands[j].strides[i] = operand.strides[axes->at[i]];
    }
    nest->ndim = axes->count;
}

void nest_normalise(struct arena *arena, struct nest *nest)
{
    struct axes kept = {0}, reduced = {0}, order = {0};
    int last;

    if (nest->normal)
        return;
    for (int i = 0; i < nest->ndim; i++) {
        struct axes *axes = nest->reduced[i] ? &reduced : &kept;

        assert(!nest->reduced[i] || has_stride(nest, 0, i, 0));
        if (!dim_equals(nest->dims[i], 1))
            axes->at[axes->count++] = i;
    }
    sort_axes(nest, &kept);
    if (nest->reorder)
        sort_axes(nest, &reduced);
    merge_axes(arena, nest, &kept);
    merge_axes(arena, nest, &reduced);

    last = innermost_kept(nest, &kept, &reduced);
    if (last >= 0)
        move_last(&kept, last);
    for (int i = 0; i < kept.count - (last >= 0); i++)
        order.at[order.count++] = kept.at[i];
    for (int i = 0; i < reduced.count; i++)
        order.at[order.count++] = reduced.at[i];
    if (last >= 0)
        order.at[order.count++] = kept.at[kept.count - 1];
    apply_order(nest, &order);
}
