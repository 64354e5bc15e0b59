/* plan_place.c - see note [placing] in plan_place.h. Apart from plan.c, which says what is live when. */
#include "plan/plan_place.h"

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

/* The lowest offset for each interval, one after the other. Returns where the highest ends. */
static int64_t place_by(struct arena *arena, struct interval *list, int count, enum rule rule)
{
    struct key *keys = ARENA_ARRAY(arena, count, struct key);
    int *order = ARENA_ARRAY(arena, count, int), *sorted = ARENA_ARRAY(arena, count, int); /* by offset */
    int64_t peak = 0;

    for (int i = 0; i < count; i++)
        keys[i] = (struct key){key_of(&list[i], rule), 0};
    order_by(keys, count, order);
    for (int i = 0; i < count; i++) {
        struct interval *own = &list[order[i]];
        int k = i;

        own->offset = 0;
        for (int j = 0; j < i; j++) {
            const struct interval *other = &list[sorted[j]];

            if (own->first > other->last || other->first > own->last)
                continue;
            if (other->offset >= own->offset + own->bytes)
                break;
            if (other->offset + other->bytes > own->offset)
                own->offset = other->offset + other->bytes;
        }
        for (; k > 0 && list[sorted[k - 1]].offset > own->offset; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = order[i];
        peak = own->offset + own->bytes > peak ? own->offset + own->bytes : peak;
    }
    return peak;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

struct search {
    struct interval *list;
    int count, steps;
    int64_t peak; /* that nothing may reach above */
    struct key *keys;
    int *order, *rank; /* which interval is tried first; where each stands in that */
    int *placed;       /* those that have their place, the lowest first */
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
struct section {
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
static bool may_fit(struct search *search, const struct section *part, int64_t from, int64_t *top)
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

static bool fill_parts(struct search *search, struct section all, int64_t from, int rank);

/* Places the part at `from` or higher; at `from` itself what is of a higher rank, since the others had their turn. */
static bool fill(struct search *search, struct section part, int64_t from, int rank)
{
    struct section left = {search->rest, part.count - 1, part.first, part.last};
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
static int part_items(struct search *search, const struct section *all, int last)
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

static bool fill_parts(struct search *search, struct section all, int64_t from, int rank)
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

            if (!fill(search, (struct section){all.items, count, all.first, s}, from, rank))
                return false;
            all.items += count;
            all.count -= count;
        }
        all.first = s + 1;
    }
    return true;
}

/* ---- its tries ------------------------------------------------------------------------------------------------- */

#define SEARCH_MOST 4000      /* intervals: each is a call deeper, and has a list of those left behind it */
#define SEARCH_WORK 400000000 /* steps that all tries at one peak look at */
#define SEARCH_TURNS 200      /* places that a try may take back, times how many there were before it */
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
        search->keys[i] = by_faults ? (struct key){sum, own->bytes}
                                    : (struct key){most, key_of(own, RULE_AREA)};
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
        if (fill_parts(search, (struct section){search->order, search->count, 0, search->steps - 1}, 0, -1))
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

    for (int64_t above = 0; bound + above<peak; above = above> 0 ? 2 * above : bound / 1024 + 1)
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

int64_t place_intervals(struct cx *cx, struct interval *list, int count, int64_t bound)
{
    int64_t lowest = INT64_MAX;
    enum rule best = 0;

    for (enum rule rule = 0; rule < RULES && lowest > bound; rule++) {
        int64_t peak = place_by(&cx->arena, list, count, rule);

        if (peak < lowest) {
            lowest = peak;
            best = rule;
        }
    }
    if (lowest > bound && count <= SEARCH_MOST && place_searched(&cx->arena, list, count, bound, lowest))
        return peak_of(list, count);
    return place_by(&cx->arena, list, count, best);
}
