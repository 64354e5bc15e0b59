/* plan_place.c - see plan_place.h. Apart from plan.c, which says what is live when. */
#include "plan_place.h"

#include <string.h>

static bool overlaps(const struct interval *a, const struct interval *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Of a placing: its peak, and how far in all the intervals reach above the bound. */
struct placing {
    int64_t peak, excess;
};

static void place_counts(struct placing *found, const struct interval *own, int64_t bound)
{
    int64_t end = own->offset + own->bytes;

    found->peak = end > found->peak ? end : found->peak;
    found->excess += end > bound ? end - bound : 0;
}

/* An interval that has its place; what the search for a place reads, together in memory. */
struct placed {
    int64_t offset, end;
    int first, last, index;
};

/* The lowest offset for each interval in this order, from `start` on; `sorted` has those before by offset, in the end all. */
static struct placing place_in_order(struct interval *list, int count, int64_t bound, const int *order, int start,
                                     struct placed *sorted)
{
    struct placing found = {0, 0};

    for (int i = 0; i < start; i++)
        place_counts(&found, &list[order[i]], bound);
    for (int i = start; i < count; i++) {
        struct interval *own = &list[order[i]];
        int64_t at = 0;
        int k = i;

        for (int j = 0; j < i; j++) {
            const struct placed *other = &sorted[j];

            if (own->first > other->last || other->first > own->last)
                continue;
            if (other->offset >= at + own->bytes)
                break;
            if (other->end > at)
                at = other->end;
        }
        own->offset = at;
        while (k > 0 && sorted[k - 1].offset > at) {
            sorted[k] = sorted[k - 1];
            k--;
        }
        sorted[k] = (struct placed){at, at + own->bytes, own->first, own->last, order[i]};
        place_counts(&found, own, bound);
    }
    return found;
}

static int compare_key(const struct interval *a, const struct interval *b, int rule)
{
    int64_t x, y;

    switch (rule) {
    case 0: /* large first */
        x = b->bytes;
        y = a->bytes;
        break;
    case 1: /* long first */
        x = b->last - b->first;
        y = a->last - a->first;
        break;
    case 2: /* early first */
        x = a->first;
        y = b->first;
        break;
    case 3: /* late first */
        x = b->last;
        y = a->last;
        break;
    default: /* area */
        x = b->bytes * (b->last - b->first + 1);
        y = a->bytes * (a->last - a->first + 1);
        break;
    }
    return x < y ? -1 : x > y;
}

static uint32_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32);
}

/* What place_repaired needs for `count` intervals. */
struct repair {
    int *order, *next;                  /* the order as it is, and with a change */
    struct placed *sorted, *was_sorted; /* by offset; before the change */
    bool *kept;                         /* comes before the change, and lies where it was */
};

/* Repairs an order: something that lies above the bound moves before something that is in its way. What makes more lie there
 * is taken back, mostly. loose: sometimes anything moves anywhere, and a little more may stay. True if all comes to lie
 * below; `best` becomes the order of the lowest peak. */
static bool place_repaired(struct interval *list, int count, int64_t bound, bool loose, struct repair *repair, int *best,
                           int64_t *peak, uint64_t *random)
{
    int *order = repair->order, *next = repair->next;
    struct placed *sorted = repair->sorted;
    struct placing was = place_in_order(list, count, bound, order, 0, sorted);

    for (int round = 0; round < 50 + 120000000 / (count * count) && was.excess > 0; round++) {
        int high = 0, before = 0, candidates = 0, start, moved, left = 0;
        struct placing found;
        bool stays;

        for (int i = 0; i < count; i++)
            if (list[order[i]].offset + list[order[i]].bytes > bound && next_random(random) % (uint32_t)++candidates == 0)
                high = i;
        candidates = 0;
        for (int i = 0; i < high; i++)
            if (overlaps(&list[order[i]], &list[order[high]]) && next_random(random) % (uint32_t)++candidates == 0)
                before = i;
        if (loose && next_random(random) % 4 == 0) {
            high = (int)(next_random(random) % (uint32_t)count);
            before = (int)(next_random(random) % (uint32_t)count);
        }
        start = before < high ? before : high;
        moved = order[high];
        memcpy(next, order, (size_t)count * sizeof *next);
        if (before < high)
            memmove(next + before + 1, order + before, (size_t)(high - before) * sizeof *next);
        else
            memmove(next + high, order + high + 1, (size_t)(before - high) * sizeof *next);
        next[before] = moved;
        for (int i = 0; i < count; i++)
            repair->kept[order[i]] = i < start;
        memcpy(repair->was_sorted, sorted, (size_t)count * sizeof *sorted);
        for (int i = 0; left < start; i++)
            if (repair->kept[repair->was_sorted[i].index])
                sorted[left++] = repair->was_sorted[i];
        found = place_in_order(list, count, bound, next, start, sorted);
        if (found.peak < *peak) {
            *peak = found.peak;
            memcpy(best, next, (size_t)count * sizeof *best);
        }
        stays = found.excess <= was.excess || next_random(random) % (loose ? 256 : 64) == 0 ||
                (loose && found.excess < was.excess + was.excess / 16 && next_random(random) % 8 == 0);
        if (stays) {
            memcpy(order, next, (size_t)count * sizeof *next);
            was = found;
        } else {
            for (int i = 0; i < count; i++)
                list[repair->was_sorted[i].index].offset = repair->was_sorted[i].offset;
            memcpy(sorted, repair->was_sorted, (size_t)count * sizeof *sorted);
        }
    }
    return was.excess == 0;
}

enum { PLACE_RULES = 5 };

static void order_by(const struct interval *list, int count, int rule, int *order)
{
    for (int i = 0; i < count; i++) {
        int k = i;

        while (k > 0 && compare_key(&list[i], &list[order[k - 1]], rule) < 0) {
            order[k] = order[k - 1];
            k--;
        }
        order[k] = i;
    }
}

#define PLACE_REPAIRS 24
#define PLACE_REPAIRS_SAVING 16 /* of forward and backward, where there are many intervals and much is live in many steps */

int64_t place_intervals(struct cx *cx, struct interval *list, int count, int64_t bound, bool saving)
{
    struct repair repair = {ARENA_ARRAY(&cx->arena, count + 1, int), ARENA_ARRAY(&cx->arena, count + 1, int),
                            ARENA_ARRAY(&cx->arena, count + 1, struct placed),
                            ARENA_ARRAY(&cx->arena, count + 1, struct placed), ARENA_ARRAY(&cx->arena, count + 1, bool)};
    int *order = repair.order, *best = ARENA_ARRAY(&cx->arena, count + 1, int);
    uint64_t random = 88172645463325252u;
    int64_t peak = INT64_MAX;

    for (int rule = 0; rule < PLACE_RULES && peak > bound; rule++) {
        int64_t found;

        order_by(list, count, rule, order);
        found = place_in_order(list, count, bound, order, 0, repair.sorted).peak;
        if (found < peak) {
            peak = found;
            memcpy(best, order, (size_t)count * sizeof *order);
        }
    }
    for (int i = 0; i < (saving ? PLACE_REPAIRS_SAVING : PLACE_REPAIRS) && peak > bound; i++) {
        bool loose = i % 2 == 1;

        if (saving && i % 4 == 3)
            memcpy(order, best, (size_t)count * sizeof *order);
        else
            order_by(list, count, PLACE_RULES - 1 - (loose ? 0 : i / 2 % PLACE_RULES), order);
        if (place_repaired(list, count, bound, loose, &repair, best, &peak, &random))
            return bound;
    }
    return place_in_order(list, count, bound, best, 0, repair.sorted).peak;
}
