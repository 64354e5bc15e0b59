/* plan_place.c - see note [placing] in plan_place.h. Apart from plan.c, which says what is live when. */
#include "plan_place.h"

#include <string.h>

/* ---- in a given order ------------------------------------------------------------------------------------------ */

enum rule { RULE_LARGE, RULE_LONG, RULE_EARLY, RULE_LATE, RULE_AREA, RULES };

static int64_t steps_of(const struct interval *own)
{
    return own->last - own->first + 1;
}

static int64_t key_of(const struct interval *own, enum rule rule)
{
    switch (rule) {
    case RULE_LARGE:
        return own->bytes;
    case RULE_LONG:
        return steps_of(own);
    case RULE_EARLY:
        return -own->first;
    case RULE_LATE:
        return own->last;
    default:
        return own->bytes * steps_of(own);
    }
}

/* What an interval is ordered by: the highest first, of equal ones by `second`, then as they stand in the list. */
struct key {
    int64_t first, second;
};

static bool comes_before(const struct key *keys, int a, int b)
{
    if (keys[a].first != keys[b].first)
        return keys[a].first > keys[b].first;
    return keys[a].second != keys[b].second ? keys[a].second > keys[b].second : a < b;
}

static void order_by(const struct key *keys, int count, int *order)
{
    for (int i = 0; i < count; i++) {
        int k = i;

        for (; k > 0 && comes_before(keys, i, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void order_by_rule(const struct interval *list, int count, enum rule rule, struct key *keys, int *order)
{
    for (int i = 0; i < count; i++)
        keys[i] = (struct key){key_of(&list[i], rule), 0};
    order_by(keys, count, order);
}

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

/* ---- repairs --------------------------------------------------------------------------------------------------- */

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

/* ---- the search ------------------------------------------------------------------------------------------------ */

struct search {
    struct interval *list;
    int count, steps;
    int64_t peak;        /* that nothing may reach above */
    struct key *keys;
    int *order, *rank;   /* which interval is tried first; where each stands in that */
    int *placed;         /* those that have their place, the lowest first */
    int placed_count;
    int64_t *floors;     /* by step of each of those: the floor below it */
    int *rest;           /* room for what is left behind each of those */
    int *later;          /* room for what is in later parts */
    int *joins;          /* by step: how many more of what is left go on into the next */
    int64_t *live;       /* by step: bytes of all intervals */
    int64_t *floor;      /* by step: where what is left starts at the lowest */
    int64_t *left;       /* by step: bytes of what is left */
    int64_t *start;      /* by step: the lowest offset that any of what is left can have */
    int64_t *faults;     /* by step: how often a try failed there */
    int64_t *weights;    /* by step: what it counts to be live there */
    int64_t turns, work; /* places to be tried, and steps to be looked at, before it ends */
};

/* What is left of the intervals that are live in some steps, by rank. Those of other parts are live in others. */
struct part {
    int *items, count;
    int first, last;
};

static int64_t lowest_offset(struct search *search, const struct interval *own, int64_t from)
{
    for (int s = own->first; s <= own->last; s++)
        from = search->floor[s] > from ? search->floor[s] : from;
    search->work -= steps_of(own);
    return from;
}

static bool fail(struct search *search, int step)
{
    search->faults[step]++;
    return false;
}

/* Whether the part can still end below the peak, for all that is known. What comes next starts below `top`. */
static bool may_fit(struct search *search, const struct part *part, int64_t from, int64_t *top)
{
    *top = INT64_MAX;
    for (int s = part->first; s <= part->last; s++)
        search->start[s] = INT64_MAX;
    for (int i = 0; i < part->count; i++) {
        const struct interval *own = &search->list[part->items[i]];
        int64_t at = lowest_offset(search, own, from), end = at + own->bytes;

        if (end > search->peak)
            return fail(search, own->first);
        *top = end < *top ? end : *top;
        for (int s = own->first; s <= own->last; s++)
            search->start[s] = at < search->start[s] ? at : search->start[s];
    }
    for (int s = part->first; s <= part->last; s++)
        if (search->left[s] > 0 && search->start[s] + search->left[s] > search->peak)
            return fail(search, s);
    return true;
}

/* False: what is left has no room above it. */
static bool put(struct search *search, int item, int64_t offset)
{
    struct interval *own = &search->list[item];
    bool fits = true;

    own->offset = offset;
    search->placed[search->placed_count++] = item;
    for (int s = own->first; s <= own->last; s++) {
        *search->floors++ = search->floor[s];
        search->floor[s] = offset + own->bytes;
        search->left[s] -= own->bytes;
        if (search->floor[s] + search->left[s] > search->peak)
            fits = fail(search, s);
    }
    return fits;
}

static void take_back(struct search *search, int placed_count)
{
    while (search->placed_count > placed_count) {
        const struct interval *own = &search->list[search->placed[--search->placed_count]];

        for (int s = own->last; s >= own->first; s--) {
            search->floor[s] = *--search->floors;
            search->left[s] += own->bytes;
        }
    }
}

static bool fill_parts(struct search *search, struct part all, int64_t from, int rank);

/* Places the part at `from` or higher; at `from` itself what is of a higher rank, since the others had their turn. */
static bool fill(struct search *search, struct part part, int64_t from, int rank)
{
    struct part left = {search->rest, part.count - 1, part.first, part.last};
    int placed_count = search->placed_count;
    int64_t top;

    if (search->turns-- <= 0 || !may_fit(search, &part, from, &top))
        return false;
    for (int i = 0; i < part.count && search->turns > 0; i++) {
        int item = part.items[i];
        int64_t at = lowest_offset(search, &search->list[item], from);

        if (at >= top || (at == from && search->rank[item] < rank))
            continue;
        memcpy(left.items, part.items, (size_t)i * sizeof *left.items);
        memcpy(left.items + i, part.items + i + 1, (size_t)(left.count - i) * sizeof *left.items);
        search->rest = left.items + left.count;
        if (put(search, item, at) && fill_parts(search, left, at, search->rank[item]))
            return true;
        take_back(search, placed_count);
    }
    search->rest = left.items;
    return false;
}

/* Puts what ends until `last` before the others, and returns how many that are. */
static int part_items(struct search *search, const struct part *all, int last)
{
    int count = 0, later = 0;

    for (int i = 0; i < all->count; i++) {
        if (search->list[all->items[i]].last <= last)
            all->items[count++] = all->items[i];
        else
            search->later[later++] = all->items[i];
    }
    memcpy(all->items + count, search->later, (size_t)later * sizeof *search->later);
    return count;
}

static bool fill_parts(struct search *search, struct part all, int64_t from, int rank)
{
    int joined = 0, last = all.last;

    memset(search->joins + all.first, 0, (size_t)(last - all.first + 1) * sizeof *search->joins);
    for (int i = 0; i < all.count; i++) {
        search->joins[search->list[all.items[i]].first]++;
        search->joins[search->list[all.items[i]].last]--;
    }
    search->work -= all.count + last - all.first;
    for (int s = all.first; s <= last; s++) {
        joined += search->joins[s];
        if (joined > 0)
            continue;
        if (search->left[s] > 0) {
            int count = part_items(search, &all, s);

            if (!fill(search, (struct part){all.items, count, all.first, s}, from, rank))
                return false;
            all.items += count;
            all.count -= count;
        }
        all.first = s + 1;
    }
    return true;
}

/* ---- its tries ------------------------------------------------------------------------------------------------- */

#define SEARCH_WORK 400000000 /* steps that all tries at one peak look at */
#define SEARCH_TURNS 50       /* places that a try may take back, times how many there were before it */
#define WEIGHT_ONE (1 << 20)

/* At first steps count by how close they are to the bound. */
static void find_weights(struct search *search, int64_t bound)
{
    for (int s = 0; s < search->steps; s++) {
        int64_t weight = search->live[s] * WEIGHT_ONE / bound;

        for (int i = 0; i < 5; i++)
            weight = weight * weight / WEIGHT_ONE;
        search->weights[s] = weight;
    }
}

static void learn_weights(struct search *search)
{
    int64_t sum = 0;

    for (int s = 0; s < search->steps; s++)
        sum += search->faults[s];
    for (int s = 0; s < search->steps && sum > 0; s++)
        search->weights[s] = search->weights[s] * 3 / 10 + search->faults[s] * 3 * WEIGHT_ONE / sum;
}

/* By turns: what is live where tries failed, the large before the small; what is live where most is, the larger areas first. */
static void find_order(struct search *search, bool by_faults)
{
    for (int i = 0; i < search->count; i++) {
        const struct interval *own = &search->list[i];
        int64_t sum = 0, most = 0;

        for (int s = own->first; s <= own->last; s++) {
            sum += search->weights[s];
            most = search->live[s] > most ? search->live[s] : most;
        }
        search->keys[i] = by_faults ? (struct key){sum, own->bytes} : (struct key){most, key_of(own, RULE_AREA)};
    }
    order_by(search->keys, search->count, search->order);
    for (int i = 0; i < search->count; i++)
        search->rank[search->order[i]] = i;
}

/* Looks for offsets below the peak. False: there are none, or it took too long. */
static bool search_peak(struct search *search, int64_t bound, int64_t peak, int64_t work)
{
    int *rest = search->rest;

    search->peak = peak;
    search->work = work;
    find_weights(search, bound);
    for (int try = 0; search->work > 0; try++) {
        find_order(search, try % 2 == 0);
        search->turns = search->count + SEARCH_TURNS * (try / 2 + 1);
        memset(search->faults, 0, (size_t)search->steps * sizeof *search->faults);
        if (fill_parts(search, (struct part){search->order, search->count, 0, search->steps - 1}, 0, -1))
            return true;
        take_back(search, 0);
        search->rest = rest;
        if (search->turns > 0)
            return false;
        learn_weights(search);
    }
    return false;
}

static struct search new_search(struct arena *arena, struct interval *list, int count)
{
    struct search search = {.list = list, .count = count};
    int64_t floors = 0;

    for (int i = 0; i < count; i++) {
        search.steps = list[i].last >= search.steps ? list[i].last + 1 : search.steps;
        floors += steps_of(&list[i]);
    }
    search.keys = ARENA_ARRAY(arena, count, struct key);
    search.order = ARENA_ARRAY(arena, count, int);
    search.rank = ARENA_ARRAY(arena, count, int);
    search.placed = ARENA_ARRAY(arena, count, int);
    search.floors = ARENA_ARRAY(arena, floors, int64_t);
    search.rest = ARENA_ARRAY(arena, (int64_t)count * count / 2, int);
    search.later = ARENA_ARRAY(arena, count, int);
    search.joins = ARENA_ARRAY(arena, search.steps, int);
    search.live = ARENA_ARRAY(arena, search.steps, int64_t);
    search.floor = ARENA_ARRAY(arena, search.steps, int64_t);
    search.left = ARENA_ARRAY(arena, search.steps, int64_t);
    search.start = ARENA_ARRAY(arena, search.steps, int64_t);
    search.faults = ARENA_ARRAY(arena, search.steps, int64_t);
    search.weights = ARENA_ARRAY(arena, search.steps, int64_t);
    for (int i = 0; i < count; i++)
        for (int s = list[i].first; s <= list[i].last; s++)
            search.live[s] += list[i].bytes;
    memcpy(search.left, search.live, (size_t)search.steps * sizeof *search.left);
    return search;
}

/* At the bound, else as little above it as tries find, but below `peak`. False: they find nothing. */
static bool place_searched(struct arena *arena, struct interval *list, int count, int64_t bound, int64_t peak)
{
    struct search search = new_search(arena, list, count);

    for (int64_t above = 0; bound + above < peak; above = above > 0 ? 2 * above : bound / 1024 + 1)
        if (search_peak(&search, bound, bound + above, above > 0 ? SEARCH_WORK / 8 : SEARCH_WORK))
            return true;
    return false;
}

static int64_t peak_of(const struct interval *list, int count)
{
    int64_t peak = 0;

    for (int i = 0; i < count; i++)
        peak = list[i].offset + list[i].bytes > peak ? list[i].offset + list[i].bytes : peak;
    return peak;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

#define PLACE_REPAIRS 24
#define PLACE_REPAIRS_SAVING 16 /* of forward and backward, where there are many intervals and much is live in many steps */

int64_t place_intervals(struct cx *cx, struct interval *list, int count, int64_t bound, bool saving)
{
    struct repair repair = {ARENA_ARRAY(&cx->arena, count + 1, int), ARENA_ARRAY(&cx->arena, count + 1, int),
                            ARENA_ARRAY(&cx->arena, count + 1, struct placed),
                            ARENA_ARRAY(&cx->arena, count + 1, struct placed), ARENA_ARRAY(&cx->arena, count + 1, bool)};
    struct key *keys = ARENA_ARRAY(&cx->arena, count + 1, struct key);
    int *order = repair.order, *best = ARENA_ARRAY(&cx->arena, count + 1, int);
    uint64_t random = 88172645463325252u;
    int64_t peak = INT64_MAX;

    for (enum rule rule = 0; rule < RULES && peak > bound; rule++) {
        int64_t found;

        order_by_rule(list, count, rule, keys, order);
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
            order_by_rule(list, count, RULES - 1 - (loose ? 0 : i / 2 % RULES), keys, order);
        if (place_repaired(list, count, bound, loose, &repair, best, &peak, &random))
            return bound;
    }
    if (peak > bound && place_searched(&cx->arena, list, count, bound, peak))
        return peak_of(list, count);
    return place_in_order(list, count, bound, best, 0, repair.sorted).peak;
}
