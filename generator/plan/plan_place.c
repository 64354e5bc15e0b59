/* plan_place.c - see note [placing] in plan_place.h. Apart from plan.c, which says what is live when. */
#include "plan/plan_place.h"

#include <stdlib.h>
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
    int item;
};

static int by_key(const void *a, const void *b)
{
    const struct key *one = a, *other = b;

    if (one->first != other->first)
        return one->first > other->first ? -1 : 1;
    if (one->second != other->second)
        return one->second > other->second ? -1 : 1;
    return one->item - other->item;
}

/* What has its place already, step by step, for intervals that are short: of many, few are live with another one. */
struct neighbours {
    int *first; /* by step: index into the two, -1: none */
    int *items, *next;
    int count;
    int *seen; /* by interval: 1 and the number of the one that it was last found for */
    struct key *found;
};

enum { SHORT_ON_AVERAGE = 16 }; /* steps */

/* False: what is live in each step would fill too much memory, and finding it take longer than to look at all. */
static bool find_neighbours(struct arena *arena, struct neighbours *near, const struct interval *list,
                            int count)
{
    int64_t sum = 0;
    int steps = 0;

    for (int i = 0; i < count; i++) {
        sum += steps_of(&list[i]);
        steps = list[i].last >= steps ? list[i].last + 1 : steps;
    }
    if (sum > (int64_t)count * SHORT_ON_AVERAGE)
        return false;
    *near = (struct neighbours){.first = ARENA_ARRAY(arena, steps + 1, int),
                                .items = ARENA_ARRAY(arena, sum + 1, int),
                                .next = ARENA_ARRAY(arena, sum + 1, int),
                                .seen = ARENA_ARRAY(arena, count + 1, int),
                                .found = ARENA_ARRAY(arena, count + 1, struct key)};
    memset(near->first, -1, (size_t)steps * sizeof *near->first);
    return true;
}

static void add_neighbour(struct neighbours *near, const struct interval *list, int item)
{
    for (int s = list[item].first; s <= list[item].last; s++) {
        near->items[near->count] = item;
        near->next[near->count] = near->first[s];
        near->first[s] = near->count++;
    }
}

/* Those that are live with the item, by offset; returns how many. */
static int list_neighbours(struct neighbours *near, const struct interval *list, int item, int *sorted)
{
    int count = 0;

    for (int s = list[item].first; s <= list[item].last; s++) {
        for (int n = near->first[s]; n >= 0; n = near->next[n]) {
            const int other = near->items[n];

            if (near->seen[other] == item + 1)
                continue;
            near->seen[other] = item + 1;
            near->found[count++] = (struct key){-list[other].offset, 0, other};
        }
    }
    qsort(near->found, (size_t)count, sizeof *near->found, by_key);
    for (int k = 0; k < count; k++)
        sorted[k] = near->found[k].item;
    return count;
}

/* How high what has its place reaches, as a tree over steps: node n is of the same steps as 2n and 2n + 1. For many intervals that
 * are long, each of which goes on top of what is there: gaps below are left, and none is looked at. */
struct skyline {
    int64_t *whole,
        *peak; /* by node: what is in all of its steps reaches so high; the highest in some of them */
    int steps;
};

enum { SKYLINE_FROM = 4096 }; /* intervals: fewer are looked at one by one */

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The highest in the steps from first to last of the node, whose own are those from `from` to `to`. */
static int64_t skyline_top(const struct skyline *sky, int node, int from, int to, const struct interval *own)
{
    const int middle = from + (to - from) / 2;

    if (own->last < from || to < own->first)
        return 0;
    if (own->first <= from && to <= own->last)
        return sky->peak[node];
    return higher(sky->whole[node], higher(skyline_top(sky, 2 * node, from, middle, own),
                                           skyline_top(sky, 2 * node + 1, middle + 1, to, own)));
}

/* All of the interval's steps reach up to `top`, which is not below what they did. */
static void skyline_raise(struct skyline *sky, int node, int from, int to, const struct interval *own,
                          int64_t top)
{
    const int middle = from + (to - from) / 2;

    if (own->last < from || to < own->first)
        return;
    sky->peak[node] = higher(sky->peak[node], top);
    if (own->first <= from && to <= own->last) {
        sky->whole[node] = top;
        return;
    }
    skyline_raise(sky, 2 * node, from, middle, own, top);
    skyline_raise(sky, 2 * node + 1, middle + 1, to, own, top);
}

/* Places each on top of those that have their place, in the order of the keys. Returns where the highest ends. */
static int64_t place_on_top(struct arena *arena, struct interval *list, const struct key *keys, int count)
{
    struct skyline sky = {0};

    for (int i = 0; i < count; i++)
        sky.steps = list[i].last >= sky.steps ? list[i].last + 1 : sky.steps;
    sky.whole = ARENA_ARRAY(arena, 4 * (size_t)sky.steps + 4, int64_t);
    sky.peak = ARENA_ARRAY(arena, 4 * (size_t)sky.steps + 4, int64_t);
    for (int i = 0; i < count; i++) {
        struct interval *own = &list[keys[i].item];

        own->offset = skyline_top(&sky, 1, 0, sky.steps - 1, own);
        skyline_raise(&sky, 1, 0, sky.steps - 1, own, own->offset + own->bytes);
    }
    return sky.peak[1];
}

/* The lowest offset for each interval, one after the other. Returns where the highest ends. */
static int64_t place_by(struct arena *arena, struct interval *list, int count, enum rule rule)
{
    struct key *keys = ARENA_ARRAY(arena, count, struct key);
    int *sorted = ARENA_ARRAY(arena, count, int); /* by offset */
    int64_t peak = 0;
    struct neighbours near = {0};
    const bool few = find_neighbours(arena, &near, list, count);

    for (int i = 0; i < count; i++)
        keys[i] = (struct key){key_of(&list[i], rule), 0, i};
    qsort(keys, (size_t)count, sizeof *keys, by_key);
    if (!few && count >= SKYLINE_FROM)
        return place_on_top(arena, list, keys, count);
    for (int i = 0; i < count; i++) {
        struct interval *own = &list[keys[i].item];
        int k = i, others = few ? list_neighbours(&near, list, keys[i].item, sorted) : i;

        own->offset = 0;
        for (int j = 0; j < others; j++) {
            const struct interval *other = &list[sorted[j]];

            if (own->first > other->last || other->first > own->last)
                continue;
            if (other->offset >= own->offset + own->bytes)
                break;
            if (other->offset + other->bytes > own->offset)
                own->offset = other->offset + other->bytes;
        }
        if (few)
            add_neighbour(&near, list, keys[i].item);
        for (; !few && k > 0 && list[sorted[k - 1]].offset > own->offset; k--)
            sorted[k] = sorted[k - 1];
        if (!few)
            sorted[k] = keys[i].item;
        peak = own->offset + own->bytes > peak ? own->offset + own->bytes : peak;
    }
    return peak;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

struct search {
    struct interval *list; /* first and last are numbers of steps that count, see find_steps */
    int count, steps;
    int64_t peak; /* that nothing may reach above */
    struct key *keys;
    int *order, *rank; /* which interval is tried first; where each stands in that */
    int64_t *low; /* by interval: the end of the highest that it lies on, of those that have their place */
    bool *is_placed;
    int *placed; /* those that have their place, the lowest first */
    int placed_count;
    struct lift {
        int item;
        int64_t low;
    } * lifts; /* what `low` was before, of those that it was raised for */
    int lift_count;
    struct level *levels; /* see fill */
    int *all_rest, *rest; /* room for what is left behind each of those; what is free of it */
    int *later;           /* room for what is in later parts */
    int *joins;           /* by step: how many more of what is left go on into the next */
    int *lives;           /* those that are live in a step, step by step */
    int *lives_from;      /* by step: where it begins in `lives` */
    int *witness;         /* by step: of those, the last that was found to start low enough */
    int64_t *live;        /* by step: bytes of all intervals */
    int64_t *left;        /* by step: bytes of what is left */
    int64_t *faults;      /* by step: how often a try failed there */
    int64_t *weights;     /* by step: what it counts to be live there */
    uint64_t drawn;       /* the last number by chance, the same in every run */
    int64_t turns, work;  /* places to be tried, and intervals and steps to be looked at, before it ends */
};

/* What is left of the intervals that are live in some steps, by rank. Those of other parts are live in others. */
struct section {
    int *items, count;
    int first, last;
};

/* One that is tried, and the parts of what is left behind it, which come to lie at `from` of theirs or higher. */
struct level {
    struct section part, left;
    int64_t from, top; /* what comes next starts below `top` */
    int rank, tried;   /* how many of the part */
    int placed_count, lift_count;
    struct parts {
        struct section all; /* of which none was placed yet */
        int64_t from;
        int rank, step, joined;
    } parts;
};

static bool are_live_together(const struct interval *a, const struct interval *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static int64_t lowest_offset(const struct search *search, int item, int64_t from)
{
    return search->low[item] > from ? search->low[item] : from;
}

static bool fail(struct search *search, int step)
{
    search->faults[step]++;
    return false;
}

/* Whether what is left in the step has room above the lowest of it that may start there. Mostly one that was looked at before
 * still shows that. */
static bool has_room(struct search *search, int step, int64_t from)
{
    const int64_t most = search->peak - search->left[step];
    const int witness = search->witness[step];

    if (from > most)
        return false;
    if (!search->is_placed[witness] && search->low[witness] <= most)
        return true;
    for (int i = search->lives_from[step]; i < search->lives_from[step + 1]; i++) {
        const int item = search->lives[i];

        search->work--;
        if (search->is_placed[item] || search->low[item] > most)
            continue;
        search->witness[step] = item;
        return true;
    }
    return false;
}

/* Whether the part can still end below the peak, for all that is known. What comes next starts below `top`. */
static bool may_fit(struct search *search, const struct section *part, int64_t from, int64_t *top)
{
    *top = INT64_MAX;
    search->work -= part->count + part->last - part->first;
    for (int i = 0; i < part->count; i++) {
        const struct interval *own = &search->list[part->items[i]];
        int64_t end = lowest_offset(search, part->items[i], from) + own->bytes;

        if (end > search->peak)
            return fail(search, own->first);
        *top = end < *top ? end : *top;
    }
    for (int s = part->first; s <= part->last; s++)
        if (search->left[s] > 0 && !has_room(search, s, from))
            return fail(search, s);
    return true;
}

/* Of what is left those that are live with it come to lie on it. False: they have no room there. */
static bool put(struct search *search, int item, int64_t offset, const struct section *left)
{
    struct interval *own = &search->list[item];
    const int64_t end = offset + own->bytes;
    bool fits = true;

    own->offset = offset;
    search->placed[search->placed_count++] = item;
    search->is_placed[item] = true;
    for (int s = own->first; s <= own->last; s++) {
        search->left[s] -= own->bytes;
        if (end + search->left[s] > search->peak)
            fits = fail(search, s);
    }
    for (int i = 0; i < left->count; i++) {
        const int other = left->items[i];

        if (search->low[other] >= end || !are_live_together(&search->list[other], own))
            continue;
        search->lifts[search->lift_count++] = (struct lift){other, search->low[other]};
        search->low[other] = end;
    }
    return fits;
}

static void take_back(struct search *search, int placed_count, int lift_count)
{
    while (search->placed_count > placed_count) {
        const int item = search->placed[--search->placed_count];
        const struct interval *own = &search->list[item];

        search->is_placed[item] = false;
        for (int s = own->first; s <= own->last; s++)
            search->left[s] += own->bytes;
    }
    while (search->lift_count > lift_count) {
        const struct lift *lift = &search->lifts[--search->lift_count];

        search->low[lift->item] = lift->low;
    }
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

static void start_parts(struct search *search, struct parts *parts, struct section all, int64_t from,
                        int rank)
{
    *parts = (struct parts){.all = all, .from = from, .rank = rank, .step = all.first};
    memset(search->joins + all.first, 0, (size_t)(all.last - all.first + 1) * sizeof *search->joins);
    for (int i = 0; i < all.count; i++) {
        search->joins[search->list[all.items[i]].first]++;
        search->joins[search->list[all.items[i]].last]--;
    }
    search->work -= all.count + all.last - all.first;
}

/* The next of the parts that lie in steps of their own. False: there is none left. */
static bool next_part(struct search *search, struct parts *parts, struct section *part)
{
    struct section *all = &parts->all;

    while (parts->step <= all->last) {
        const int s = parts->step++, first = all->first;

        parts->joined += search->joins[s];
        if (parts->joined > 0)
            continue;
        all->first = s + 1;
        if (search->left[s] > 0) {
            const int count = part_items(search, all, s);

            *part = (struct section){all->items, count, first, s};
            all->items += count;
            all->count -= count;
            return true;
        }
    }
    return false;
}

/* The part is to be placed at `from` or higher; at `from` itself what is of a higher rank, since the others had their turn. False:
 * it has no room. */
static bool start_level(struct search *search, struct level *level, struct section part, int64_t from,
                        int rank)
{
    *level = (struct level){.part = part,
                            .left = {search->rest, part.count - 1, part.first, part.last},
                            .from = from,
                            .rank = rank,
                            .placed_count = search->placed_count,
                            .lift_count = search->lift_count};
    return search->turns-- > 0 && may_fit(search, &level->part, from, &level->top);
}

/* Places the next one of the level, and starts the parts of what is left. False: none is left that may be next. */
static bool put_next(struct search *search, struct level *level)
{
    const struct section *part = &level->part, *left = &level->left;

    while (level->tried < part->count && search->turns > 0) {
        const int i = level->tried++, item = part->items[i];
        const int64_t at = lowest_offset(search, item, level->from);

        if (at >= level->top || (at == level->from && search->rank[item] < level->rank))
            continue;
        memcpy(left->items, part->items, (size_t)i * sizeof *left->items);
        memcpy(left->items + i, part->items + i + 1, (size_t)(left->count - i) * sizeof *left->items);
        search->rest = left->items + left->count;
        if (put(search, item, at, left)) {
            start_parts(search, &level->parts, *left, at, search->rank[item]);
            return true;
        }
        take_back(search, level->placed_count, level->lift_count);
    }
    search->rest = left->items;
    return false;
}

/* Places all, one on a level, each part of what is left on those above it. Of a level that comes to no end the next one is tried
 * below it. False: nothing is left to try. */
static bool fill(struct search *search, struct section all)
{
    int top = 0;
    bool fits = true;

    start_parts(search, &search->levels[0].parts, all, 0, -1);
    while (top > 0 || fits) {
        struct level *level = &search->levels[top];
        struct section part;

        if (!fits) {
            take_back(search, level->placed_count, level->lift_count);
            fits = put_next(search, level);
            top -= !fits;
        } else if (next_part(search, &level->parts, &part)) {
            fits = start_level(search, level + 1, part, level->parts.from, level->parts.rank) &&
                   put_next(search, level + 1);
            top += fits;
        } else if (top-- == 0) {
            return true;
        }
    }
    return false;
}

/* ---- its tries ------------------------------------------------------------------------------------------------- */

#define SEARCH_MOST 4000     /* intervals: each has a list of those left behind it */
#define SEARCH_WORK 80000000 /* intervals and steps that all tries at one peak look at */
#define SEARCH_TURNS 200     /* places that a try may take back, times how many there were before it */
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

/* About the same, since tries that learn the same would go on in the same order. */
static int64_t near(struct search *search, int64_t key)
{
    search->drawn = search->drawn * 6364136223846793005u + 1442695040888963407u;
    return key / 64 * (62 + (int64_t)(search->drawn >> 33) % 5);
}

/* By turns: what is live where tries failed, the large before the small; what is live where most is, the larger areas first;
 * the larger areas where tries failed; what is live longest. */
static void find_order(struct search *search, int try)
{
    for (int i = 0; i < search->count; i++) {
        const struct interval *own = &search->list[i];
        int64_t sum = 0, most = 0;

        for (int s = own->first; s <= own->last; s++) {
            sum += search->weights[s];
            most = search->live[s] > most ? search->live[s] : most;
        }
        const struct key keys[] = {{sum, own->bytes, i},
                                   {most, key_of(own, RULE_AREA), i},
                                   {sum / 64 * (own->bytes / 64), own->bytes, i}, /* within 64 bits */
                                   {steps_of(own), own->bytes, i}};

        search->keys[i] = keys[try % COUNT(keys)];
        if (try >= COUNT(keys))
            search->keys[i].first = near(search, search->keys[i].first);
    }
    qsort(search->keys, (size_t)search->count, sizeof *search->keys, by_key);
    for (int i = 0; i < search->count; i++) {
        search->order[i] = search->keys[i].item;
        search->rank[search->order[i]] = i;
    }
}

static void start_again(struct search *search)
{
    take_back(search, 0, 0);
    search->rest = search->all_rest;
    memset(search->faults, 0, (size_t)search->steps * sizeof *search->faults);
}

/* Looks for offsets below the peak, and gives them to the list. False: there are none, or it took too long. */
static bool search_peak(struct search *search, int64_t bound, int64_t peak, int64_t work,
                        struct interval *list)
{
    search->peak = peak;
    search->work = work;
    find_weights(search, bound);
    for (int try = 0; search->work > 0; try++) {
        start_again(search);
        find_order(search, try);
        search->turns = search->count + SEARCH_TURNS * (try / 8 + 1);
        if (fill(search, (struct section){search->order, search->count, 0, search->steps - 1})) {
            for (int i = 0; i < search->count; i++)
                list[i].offset = search->list[i].offset;
            return true;
        }
        if (search->turns > 0)
            return false;
        learn_weights(search);
    }
    return false;
}

/* Of all steps only those count in which something ends and something has begun since the last that counts: what is live in
 * any other is live in one of these too. The intervals get their numbers. Returns how many there are. */
static int find_steps(struct arena *arena, struct interval *list, int count)
{
    int steps = 0, counting = 0;
    bool *begins, *ends, begun = false;
    int *numbers; /* by step: of the next that counts */

    for (int i = 0; i < count; i++)
        steps = list[i].last >= steps ? list[i].last + 1 : steps;
    begins = ARENA_ARRAY(arena, steps, bool);
    ends = ARENA_ARRAY(arena, steps, bool);
    numbers = ARENA_ARRAY(arena, steps + 1, int);
    for (int i = 0; i < count; i++)
        begins[list[i].first] = ends[list[i].last] = true;
    for (int s = 0; s < steps; s++) {
        numbers[s] = counting;
        begun |= begins[s];
        counting += begun && ends[s];
        begun &= !ends[s];
    }
    numbers[steps] = counting;
    for (int i = 0; i < count; i++) {
        list[i].first = numbers[list[i].first];
        list[i].last = numbers[list[i].last + 1] - 1;
    }
    return counting;
}

/* What is live in each step. */
static void find_lives(struct search *search)
{
    int *next = search->lives_from;

    for (int i = 0; i < search->count; i++)
        for (int s = search->list[i].first; s <= search->list[i].last; s++)
            next[s + 1]++;
    for (int s = 0; s < search->steps; s++)
        next[s + 1] += next[s];
    for (int i = 0; i < search->count; i++) {
        for (int s = search->list[i].first; s <= search->list[i].last; s++) {
            search->lives[next[s]++] = i;
            search->live[s] += search->list[i].bytes;
        }
    }
    memmove(next + 1, next, (size_t)search->steps * sizeof *next);
    next[0] = 0;
    for (int s = 0; s < search->steps; s++)
        search->witness[s] = search->lives[next[s]];
}

static struct search new_search(struct arena *arena, const struct interval *list, int count)
{
    struct search search = {.list = ARENA_ARRAY(arena, count, struct interval), .count = count};
    int64_t lives = 0, pairs = 0;

    memcpy(search.list, list, (size_t)count * sizeof *list);
    search.steps = find_steps(arena, search.list, count);
    for (int i = 0; i < count; i++)
        lives += steps_of(&search.list[i]);
    search.keys = ARENA_ARRAY(arena, count, struct key);
    search.order = ARENA_ARRAY(arena, count, int);
    search.rank = ARENA_ARRAY(arena, count, int);
    search.low = ARENA_ARRAY(arena, count, int64_t);
    search.is_placed = ARENA_ARRAY(arena, count, bool);
    search.placed = ARENA_ARRAY(arena, count, int);
    search.all_rest = ARENA_ARRAY(arena, (int64_t)count * count / 2, int);
    search.levels = ARENA_ARRAY(arena, count + 1, struct level);
    search.later = ARENA_ARRAY(arena, count, int);
    search.joins = ARENA_ARRAY(arena, search.steps, int);
    search.lives = ARENA_ARRAY(arena, lives, int);
    search.lives_from = ARENA_ARRAY(arena, search.steps + 1, int);
    search.witness = ARENA_ARRAY(arena, search.steps, int);
    search.live = ARENA_ARRAY(arena, search.steps, int64_t);
    search.left = ARENA_ARRAY(arena, search.steps, int64_t);
    search.faults = ARENA_ARRAY(arena, search.steps, int64_t);
    search.weights = ARENA_ARRAY(arena, search.steps, int64_t);
    find_lives(&search);
    for (int i = 0; i < count; i++) { /* an interval is lifted once by each that is live with it */
        const int first = search.list[i].first;

        pairs += search.lives_from[first + 1] - search.lives_from[first];
    }
    search.lifts = ARENA_ARRAY(arena, pairs, struct lift);
    memcpy(search.left, search.live, (size_t)search.steps * sizeof *search.left);
    return search;
}

/* At the bound, else as little above it as tries find, but below `found`. False: they find nothing. */
static bool search_all(struct search *search, struct interval *list, int64_t bound, int64_t found)
{
    const int64_t least = bound / 1024 + 1;
    int64_t failed = bound;
    bool is_found = false;

    if (search_peak(search, bound, bound, SEARCH_WORK, list))
        return true;
    while (found - failed > least) {
        const int64_t next = is_found          ? failed + (found - failed) / 2
                             : failed == bound ? bound + least
                                               : bound + 2 * (failed - bound);

        if (next >= found)
            break;
        if (search_peak(search, bound, next, SEARCH_WORK / 8, list)) {
            found = next;
            is_found = true;
        } else {
            failed = next;
        }
    }
    return is_found;
}

static bool place_searched(struct interval *list, int count, int64_t bound, int64_t found)
{
    struct arena arena = {0}; /* it grows with the square of the intervals */
    struct search search = new_search(&arena, list, count);
    const bool is_found = search_all(&search, list, bound, found);

    arena_free(&arena);
    return is_found;
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
    if (lowest > bound && count <= SEARCH_MOST && place_searched(list, count, bound, lowest))
        return peak_of(list, count);
    return place_by(&cx->arena, list, count, best);
}
