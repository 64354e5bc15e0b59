/* grammar_automaton.c - parts become states with edges of bytes, of which several may be at once; these a table in which there is one
 * state at a time; that the smallest one which takes the same texts (Hopcroft's).
 *
 * note [backwards]
 * States are made from the end: what a part becomes is the state where it begins, given the one behind it. So parts that are followed by
 * the same are the same states, and what many alternatives end with is there once. From each state the end is reached. */
#include "grammar/grammar_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modc_grammar.h"

struct edge {
    uint8_t from, to; /* bytes */
    int next;
};

/* It is at its edges, or (in passing) at two other states; -1: none. */
struct state {
    int first_edge, edge_count;
    int others[2];
};

struct automaton {
    struct cx *cx;
    bool failed;
    struct state *states;
    int state_count;
    struct edge *edges;
    int edge_count;

    uint8_t class_of[256]; /* of bytes that no edge tells apart: they are neighbours */
    uint8_t first_of[256]; /* of a class: a byte */
    int classes;

    int *sets; /* states that are there at once, one set behind the other, each sorted */
    int set_room, set_end;
    int *starts; /* of the sets */
    int *next;   /* (sets, classes); 0 is the set of none */
    int count, start_count, next_count;
    int *table; /* sets by their hash; -1 */
    int table_size;
    int *marks, mark; /* states that are in the set that grows */
    int *stack;
};

static void fail(struct automaton *a)
{
    a->failed = true;
}

/* ---- parts to states: note [backwards] ----------------------------------------------------------------------------- */

static int new_state(struct automaton *a, int other, int another)
{
    const struct state state = {a->edge_count, 0, {other, another}};

    if (a->state_count >= GRAMMAR_MAX_PARTS) {
        fail(a);
        return 0;
    }
    ARENA_PUSH(&a->cx->arena, a->states, a->state_count, state);
    return a->state_count - 1;
}

/* The edges of a set while they are made. */
struct edges {
    struct edge *list;
    int count;
    int next;     /* what is behind it */
    int tails[4]; /* where so many bytes 0x80 to 0xbf lead there; -1: not made */
};

static int encode(uint32_t c, uint8_t *bytes)
{
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (length == 1) {
        bytes[0] = (uint8_t)c;
        return 1;
    }
    for (int i = length - 1; i > 0; i--, c >>= 6)
        bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
    bytes[0] = (uint8_t)((0xf00 >> length & 0xff) | c);
    return length;
}

/* A state whose one edge leads to `next`. */
static int step_to(struct automaton *a, uint8_t from, uint8_t to, int next)
{
    const struct edge edge = {from, to, next};
    const int state = new_state(a, -1, -1);

    if (a->failed)
        return 0;
    ARENA_PUSH(&a->cx->arena, a->edges, a->edge_count, edge);
    a->states[state].edge_count = 1;
    return state;
}

/* Where bytes from `at` on lead to what is behind. */
static int add_tail(struct automaton *a, struct edges *edges, const uint8_t *from, const uint8_t *to, int at,
                    int length)
{
    const int left = length - at;
    bool any = true;
    int next;

    for (int i = at; i < length; i++)
        any &= from[i] == 0x80 && to[i] == 0xbf;
    if (left == 0)
        return edges->next;
    if (any && edges->tails[left] >= 0)
        return edges->tails[left];
    next = add_tail(a, edges, from, to, at + 1, length);
    next = step_to(a, from[at], to[at], next);
    if (any)
        edges->tails[left] = next;
    return next;
}

/* Characters as sequences of ranges of bytes: cut where these would not be independent of each other. */
static void add_characters(struct automaton *a, struct edges *edges, uint32_t from, uint32_t to)
{
    static const uint32_t most[] = {0x7f, 0x7ff, 0xffff};
    uint8_t first[4], last[4];
    int length;

    for (int i = 0; i < COUNT(most); i++)
        if (from <= most[i] && most[i] < to) {
            add_characters(a, edges, from, most[i]);
            add_characters(a, edges, most[i] + 1, to);
            return;
        }
    for (int shift = 6; shift <= 18 && to > most[0]; shift += 6) {
        const uint32_t mask = ((uint32_t)1 << shift) - 1;
        uint32_t cut;

        if ((from & ~mask) == (to & ~mask) || ((from & mask) == 0 && (to & mask) == mask))
            continue;
        cut = (from & mask) != 0 ? (from | mask) + 1 : to & ~mask;
        add_characters(a, edges, from, cut - 1);
        add_characters(a, edges, cut, to);
        return;
    }
    length = encode(from, first);
    encode(to, last);
    const struct edge edge = {first[0], last[0], add_tail(a, edges, first, last, 1, length)};
    ARENA_PUSH(&a->cx->arena, edges->list, edges->count, edge);
}

static int make_set(struct automaton *a, const struct part *part, int next)
{
    struct edges edges = {.next = next, .tails = {-1, -1, -1, -1}};
    int state;

    for (int i = 0; i < part->count; i++)
        add_characters(a, &edges, part->ranges[i].from, part->ranges[i].to);
    state = new_state(a, -1, -1);
    for (int i = 0; i < edges.count && !a->failed; i++)
        ARENA_PUSH(&a->cx->arena, a->edges, a->edge_count, edges.list[i]);
    a->states[state].edge_count = edges.count;
    return state;
}

static int make_part(struct automaton *a, struct part *part, int next);

static int make_times(struct automaton *a, const struct part *part, int next)
{
    struct part *one = part->parts[0];
    const int end = next;

    if (part->most == PART_ENDLESS) {
        const int again = new_state(a, -1, next);
        const int start = a->failed ? 0 : make_part(a, one, again);

        a->states[again].others[0] = start;
        next = again;
    }
    for (int i = part->least; i < part->most && !a->failed; i++) {
        const int start = make_part(a, one, next);

        next = new_state(a, start, end);
    }
    for (int i = 0; i < part->least && !a->failed; i++)
        next = make_part(a, one, next);
    return next;
}

/* Its states one behind the other, so that it is known where each will be. */
static int make_table_states(struct automaton *a, const struct table *table, int next)
{
    const int first = a->state_count;

    for (int i = 1; i < table->states && !a->failed; i++) {
        const int state = new_state(a, -1, table->ends[i] ? next : -1);

        for (int byte = 0, to; byte < 256 && !a->failed; byte = to) {
            const int target = table->next[i * table->classes + table->class_of[byte]];

            for (to = byte + 1; to < 256 && table->next[i * table->classes + table->class_of[to]] == target;)
                to++;
            if (target == 0)
                continue;
            const struct edge edge = {(uint8_t)byte, (uint8_t)(to - 1), first + target - 1};
            ARENA_PUSH(&a->cx->arena, a->edges, a->edge_count, edge);
            a->states[state].edge_count++;
        }
    }
    return first;
}

static int make_anew(struct automaton *a, const struct part *part, int next)
{
    int start = -1;

    switch (part->kind) {
    case PART_TABLE:
        return make_table_states(a, part->table, next);
    case PART_SET:
        return make_set(a, part, next);
    case PART_TIMES:
        return make_times(a, part, next);
    case PART_ALL:
        for (int i = part->count - 1; i >= 0 && !a->failed; i--)
            next = make_part(a, part->parts[i], next);
        return next;
    case PART_EITHER:
        break;
    }
    for (int i = part->count - 1; i >= 0 && !a->failed; i--) {
        const int other = make_part(a, part->parts[i], next);

        start = start < 0 ? other : new_state(a, other, start);
    }
    return start;
}

static int make_part(struct automaton *a, struct part *part, int next)
{
    if (a->failed)
        return 0;
    if (part->maker != a || part->before != next) {
        const int start = make_anew(a, part, next);

        part->maker = a;
        part->before = next;
        part->start = start;
    }
    return part->start;
}

/* ---- states at once ------------------------------------------------------------------------------------------------ */

/* Neighbours between which no edge begins or ends are one class. */
static void find_classes(struct automaton *a)
{
    bool begins[257] = {[0] = true};

    for (int i = 0; i < a->edge_count; i++) {
        begins[a->edges[i].from] = true;
        begins[a->edges[i].to + 1] = true;
    }
    for (int byte = 0; byte < 256; byte++) {
        if (begins[byte])
            a->first_of[a->classes++] = (uint8_t)byte;
        a->class_of[byte] = (uint8_t)(a->classes - 1);
    }
}

/* Into the set that grows: the state, and those that it is at in passing. Only those that have edges, and the end, are kept. */
static void add_state(struct automaton *a, int state)
{
    int depth = 0;

    a->stack[depth++] = state;
    while (depth > 0) {
        const int now = a->stack[--depth];
        const struct state *s = &a->states[now];

        if (a->marks[now] == a->mark)
            continue;
        a->marks[now] = a->mark;
        if (s->edge_count > 0 || now == 0)
            ARENA_PUSH_ROOM(&a->cx->arena, a->sets, a->set_end, a->set_room, now);
        for (int i = 0; i < 2; i++)
            if (s->others[i] >= 0 && a->marks[s->others[i]] != a->mark)
                a->stack[depth++] = s->others[i];
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void grow_table(struct automaton *a)
{
    a->table_size = a->table_size ? 2 * a->table_size : 1024;
    a->table = ARENA_ARRAY(&a->cx->arena, a->table_size, int);
    memset(a->table, 0xff, (size_t)a->table_size * sizeof *a->table);
}

static int *place_in_table(struct automaton *a, const int *set, int count)
{
    const uint64_t hash = text_hash(set, (size_t)count * sizeof *set);
    uint64_t at = hash;

    for (;; at++) {
        int *place = &a->table[at % (unsigned)a->table_size];

        if (*place < 0 || (a->starts[*place + 1] - a->starts[*place] == count &&
                           memcmp(a->sets + a->starts[*place], set, (size_t)count * sizeof *set) == 0))
            return place;
    }
}

/* What has grown behind the last set: its number, which may be an old one. */
static int take_set(struct automaton *a)
{
    enum { MOST = 1 << 23 };
    const int start = a->starts[a->count];
    int *set = a->sets + start, *place;

    qsort(set, (size_t)(a->set_end - start), sizeof *set, compare);
    place = place_in_table(a, set, a->set_end - start);
    if (*place >= 0) {
        a->set_end = start;
        return *place;
    }
    if (a->count > GRAMMAR_MAX_STATES || a->set_end > MOST) {
        fail(a);
        return 0;
    }
    *place = a->count++;
    ARENA_PUSH(&a->cx->arena, a->starts, a->start_count, a->set_end);
    for (int i = 0; i < a->classes; i++)
        ARENA_PUSH(&a->cx->arena, a->next, a->next_count, 0);
    if (2 * a->count > a->table_size) {
        grow_table(a);
        for (int i = 0; i < a->count; i++)
            *place_in_table(a, a->sets + a->starts[i], a->starts[i + 1] - a->starts[i]) = i;
    }
    return a->count - 1;
}

static void follow_set(struct automaton *a, int set)
{
    for (int c = 0; c < a->classes; c++) {
        const uint8_t byte = a->first_of[c];

        a->mark++;
        for (int i = a->starts[set]; i < a->starts[set + 1]; i++) {
            const struct state *s = &a->states[a->sets[i]];

            for (int k = s->first_edge; k < s->first_edge + s->edge_count; k++)
                if (a->edges[k].from <= byte && byte <= a->edges[k].to)
                    add_state(a, a->edges[k].next);
        }
        const int next = take_set(a);
        if (a->failed)
            return;
        a->next[set * a->classes + c] = next;
    }
}

static void make_sets(struct automaton *a, int start)
{
    a->marks = ARENA_ARRAY(&a->cx->arena, a->state_count, int);
    a->stack = ARENA_ARRAY(&a->cx->arena, 2 * a->state_count + 2, int);
    a->set_room = a->state_count;
    a->sets = ARENA_ARRAY(&a->cx->arena, a->set_room, int);
    ARENA_PUSH(&a->cx->arena, a->starts, a->start_count, 0);
    grow_table(a);
    take_set(a); /* 0: of none */
    a->mark++;
    add_state(a, start);
    take_set(a);
    for (int i = 1; i < a->count && !a->failed; i++)
        follow_set(a, i);
}

static bool has_end(const struct automaton *a, int set)
{
    return a->starts[set] < a->starts[set + 1] && a->sets[a->starts[set]] == 0;
}

/* ---- the smallest one: Hopcroft's ----------------------------------------------------------------------------------- */

/* Blocks of states that are not told apart yet: each a part of `order`. */
struct blocks {
    int *order, *at;   /* states by block; where each state is in it */
    int *block;        /* of each state */
    int *from, *until; /* of each block */
    int *marked;       /* of its first ones, how many are to be told apart from the rest */
    int count;
    int *waiting; /* (block, class) as block * classes + class */
    int waiting_count;
    bool *waits;
};

/* In which states each class leads to each one. */
static void turn_around(struct cx *cx, const struct automaton *a, int **starts, int **sources)
{
    const int cells = a->count * a->classes;
    int *start = ARENA_ARRAY(&cx->arena, cells + 1, int), *source = ARENA_ARRAY(&cx->arena, cells, int);

    for (int i = 0; i < cells; i++)
        start[a->next[i] * a->classes + i % a->classes]++;
    for (int i = 0; i < cells; i++)
        start[i + 1] += start[i];
    for (int i = cells - 1; i >= 0; i--)
        source[--start[a->next[i] * a->classes + i % a->classes]] = i / a->classes;
    *starts = start;
    *sources = source;
}

static void mark_state(struct blocks *b, int state)
{
    const int block = b->block[state], to = b->from[block] + b->marked[block], at = b->at[state];
    const int other = b->order[to];

    if (at < to)
        return;
    b->order[at] = other;
    b->at[other] = at;
    b->order[to] = state;
    b->at[state] = to;
    b->marked[block]++;
}

static void wait_for(struct blocks *b, int cell)
{
    if (b->waits[cell])
        return;
    b->waits[cell] = true;
    b->waiting[b->waiting_count++] = cell;
}

/* Its marked states become a block of their own. */
static void split(struct blocks *b, int block, int classes)
{
    const int marked = b->marked[block], whole = b->until[block] - b->from[block], made = b->count;

    b->marked[block] = 0;
    if (marked == 0 || marked == whole)
        return;
    b->count++;
    b->from[made] = b->from[block];
    b->until[made] = b->from[block] = b->from[block] + marked;
    for (int i = b->from[made]; i < b->until[made]; i++)
        b->block[b->order[i]] = made;
    for (int c = 0; c < classes; c++) {
        const int small = 2 * marked <= whole ? made : block;

        wait_for(b, (b->waits[block * classes + c] ? made : small) * classes + c);
    }
}

static void refine(struct cx *cx, const struct automaton *a, struct blocks *b)
{
    int *starts, *sources, *touched = ARENA_ARRAY(&cx->arena, a->count, int);
    int *members = ARENA_ARRAY(&cx->arena, a->count, int);

    turn_around(cx, a, &starts, &sources);
    while (b->waiting_count > 0) {
        const int cell = b->waiting[--b->waiting_count], block = cell / a->classes, c = cell % a->classes;
        const int count = b->until[block] - b->from[block];
        int touched_count = 0;

        b->waits[cell] = false;
        memcpy(members, b->order + b->from[block], (size_t)count * sizeof *members); /* marking moves them */
        for (int i = 0; i < count; i++) {
            const int to = members[i] * a->classes + c;

            for (int k = starts[to]; k < starts[to + 1]; k++) {
                const int other = b->block[sources[k]];

                if (b->marked[other] == 0)
                    touched[touched_count++] = other;
                mark_state(b, sources[k]);
            }
        }
        for (int i = 0; i < touched_count; i++)
            split(b, touched[i], a->classes);
    }
}

static struct blocks make_blocks(struct cx *cx, const struct automaton *a)
{
    const int n = a->count, cells = n * a->classes;
    struct blocks b = {.order = ARENA_ARRAY(&cx->arena, n, int),
                       .at = ARENA_ARRAY(&cx->arena, n, int),
                       .block = ARENA_ARRAY(&cx->arena, n, int),
                       .from = ARENA_ARRAY(&cx->arena, n, int),
                       .until = ARENA_ARRAY(&cx->arena, n, int),
                       .marked = ARENA_ARRAY(&cx->arena, n, int),
                       .waiting = ARENA_ARRAY(&cx->arena, cells, int),
                       .waits = ARENA_ARRAY(&cx->arena, cells, bool),
                       .count = 1};

    b.until[0] = n;
    for (int i = 0; i < n; i++)
        b.order[i] = b.at[i] = i;
    for (int c = 0; c < a->classes; c++)
        wait_for(&b, c);
    for (int i = 0; i < n; i++)
        if (has_end(a, i))
            mark_state(&b, i);
    split(&b, 0, a->classes);
    refine(cx, a, &b);
    return b;
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* Classes that lead to the same from each state become one. */
static void join_classes(struct automaton *a, const uint16_t *next, int states, struct modc_grammar *g)
{
    uint8_t *class_of = ARENA_ARRAY(&a->cx->arena, 256, uint8_t), joined[256];
    int firsts[256], count = 0;
    uint16_t *table;

    for (int c = 0; c < a->classes; c++) {
        int k = 0;

        for (; k < count; k++) {
            int i = 0;

            while (i < states && next[i * a->classes + c] == next[i * a->classes + firsts[k]])
                i++;
            if (i == states)
                break;
        }
        if (k == count)
            firsts[count++] = c;
        joined[c] = (uint8_t)k;
    }
    for (int byte = 0; byte < 256; byte++)
        class_of[byte] = joined[a->class_of[byte]];
    table = ARENA_ARRAY(&a->cx->arena, states * count, uint16_t);
    for (int i = 0; i < states; i++)
        for (int k = 0; k < count; k++)
            table[i * count + k] = next[i * a->classes + firsts[k]];
    g->class_of = class_of;
    g->classes = count;
    g->next = table;
    g->states = states;
}

/* Blocks as states, in the order in which one comes to them from the first. */
static struct modc_grammar *make_table(struct automaton *a, const struct blocks *b, const char *name)
{
    struct modc_grammar *g = ARENA_NEW(&a->cx->arena, struct modc_grammar);
    int *number = ARENA_ARRAY(&a->cx->arena, b->count, int),
        *states = ARENA_ARRAY(&a->cx->arena, b->count + 1, int);
    uint16_t *next = ARENA_ARRAY(&a->cx->arena, (b->count + 1) * a->classes, uint16_t);
    uint8_t *flags = ARENA_ARRAY(&a->cx->arena, b->count + 1, uint8_t);
    int count = 2;

    for (int i = 0; i < b->count; i++)
        number[i] = -1;
    number[b->block[0]] = 0;
    number[b->block[1]] = 1;
    states[1] = 1;
    for (int i = 1; i < count; i++) {
        flags[i] = has_end(a, states[i]) ? MODC_GRAMMAR_ENDS : 0;
        for (int c = 0; c < a->classes; c++) {
            const int to = a->next[states[i] * a->classes + c];

            if (number[b->block[to]] < 0) {
                states[count] = to;
                number[b->block[to]] = count++;
            }
            next[i * a->classes + c] = (uint16_t)number[b->block[to]];
        }
    }
    g->name = name;
    g->flags = flags;
    join_classes(a, next, count, g);
    return g;
}

static void say_too_large(struct cx *cx, const char *name, struct loc loc)
{
    diag_error(cx, loc, "the grammar '%s' has more than %d states", name, GRAMMAR_MAX_STATES);
    diag_hint(
        cx,
        "each character that is counted is a state, as in .{1,500}, which .* does not need; and alternatives "
        "that begin alike and go on differently are followed all at once");
}

/* Sets of states, of which 1 is the first. NULL after an error. */
static struct automaton *make_automaton(struct cx *cx, const char *name, struct part *part, struct loc loc)
{
    struct automaton *a = ARENA_NEW(&cx->arena, struct automaton);
    int start;

    a->cx = cx;
    new_state(a, -1, -1); /* 0: the end */
    start = make_part(a, part, 0);
    if (!a->failed) {
        find_classes(a);
        make_sets(a, start);
    }
    if (!a->failed)
        return a;
    say_too_large(cx, name, loc);
    return NULL;
}

struct modc_grammar *grammar_of_part(struct cx *cx, const char *name, struct part *part, struct loc loc)
{
    struct automaton *a = make_automaton(cx, name, part, loc);
    struct blocks blocks;

    if (!a)
        return NULL;
    blocks = make_blocks(cx, a);
    return make_table(a, &blocks, name);
}

/* ---- texts of two parts --------------------------------------------------------------------------------------------- */

/* Pairs of states, by a hash. */
struct pairs {
    struct cx *cx;
    int (*list)[2];
    int count, room;
    int *table, size; /* numbers of pairs; 0: none */
};

/* The number of a pair; 0: of one in which nothing is taken. */
static int number_of(struct pairs *p, int first, int second)
{
    uint64_t at = ((uint64_t)first * 0x9e3779b97f4a7c15u + (uint64_t)second) * 0xbf58476d1ce4e5b9u >> 20;

    if (first == 0 || second == 0)
        return 0;
    for (;; at++) {
        int *place = &p->table[at % (unsigned)p->size];

        if (*place > 0 && p->list[*place][0] == first && p->list[*place][1] == second)
            return *place;
        if (*place > 0)
            continue;
        if (p->count > GRAMMAR_MAX_STATES)
            return -1;
        *place = p->count;
        p->list[p->count][0] = first;
        p->list[p->count][1] = second;
        return p->count++;
    }
}

struct part *part_meet(struct cx *cx, const char *name, struct part *part, struct part *other, struct loc loc)
{
    const struct automaton *a, *b;
    struct table *table = ARENA_NEW(&cx->arena, struct table);
    struct pairs pairs = {.cx = cx, .count = 1, .size = 4 * GRAMMAR_MAX_STATES};
    int firsts[256], next_count = 0;

    if (part_is_never(part) || part_is_never(other))
        return part_never(cx);
    a = make_automaton(cx, name, part, loc);
    b = a ? make_automaton(cx, name, other, loc) : NULL;
    if (!b)
        return NULL;
    for (int byte = 0; byte < 256; byte++) {
        int c = 0;

        while (c < table->classes &&
               (a->class_of[firsts[c]] != a->class_of[byte] || b->class_of[firsts[c]] != b->class_of[byte]))
            c++;
        if (c == table->classes)
            firsts[table->classes++] = byte;
        table->class_of[byte] = (uint8_t)c;
    }
    pairs.list = arena_alloc(&cx->arena, (GRAMMAR_MAX_STATES + 2) * sizeof *pairs.list);
    pairs.table = ARENA_ARRAY(&cx->arena, pairs.size, int);
    for (int c = 0; c < table->classes; c++)
        ARENA_PUSH(&cx->arena, table->next, next_count, 0);
    number_of(&pairs, 1, 1);
    for (int i = 1; i < pairs.count; i++) {
        for (int c = 0; c < table->classes; c++) {
            const int to = number_of(&pairs, a->next[pairs.list[i][0] * a->classes + a->class_of[firsts[c]]],
                                     b->next[pairs.list[i][1] * b->classes + b->class_of[firsts[c]]]);

            if (to < 0) {
                say_too_large(cx, name, loc);
                return NULL;
            }
            ARENA_PUSH(&cx->arena, table->next, next_count, to);
        }
    }
    table->states = pairs.count;
    table->ends = ARENA_ARRAY(&cx->arena, pairs.count, bool);
    for (int i = 1; i < pairs.count; i++)
        table->ends[i] = has_end(a, pairs.list[i][0]) && has_end(b, pairs.list[i][1]);
    return part_of_table(cx, table);
}

struct part *part_of_table(struct cx *cx, struct table *table)
{
    const int cells = table->states * table->classes;
    int *starts = ARENA_ARRAY(&cx->arena, table->states + 1, int),
        *sources = ARENA_ARRAY(&cx->arena, cells + 1, int),
        *stack = ARENA_ARRAY(&cx->arena, table->states, int), depth = 0;
    bool *reaches = ARENA_ARRAY(&cx->arena, table->states, bool);
    struct part *part;

    for (int i = table->classes; i < cells; i++)
        starts[table->next[i]]++;
    for (int i = 0; i < table->states; i++)
        starts[i + 1] += starts[i];
    for (int i = cells - 1; i >= table->classes; i--)
        sources[--starts[table->next[i]]] = i / table->classes;
    for (int i = 1; i < table->states; i++)
        if (table->ends[i]) {
            reaches[i] = true;
            stack[depth++] = i;
        }
    while (depth > 0) {
        const int state = stack[--depth];

        for (int k = starts[state]; k < starts[state + 1]; k++)
            if (!reaches[sources[k]]) {
                reaches[sources[k]] = true;
                stack[depth++] = sources[k];
            }
    }
    for (int i = 0; i < cells; i++)
        if (!reaches[table->next[i]])
            table->next[i] = 0;
    if (!reaches[1])
        return part_never(cx);
    part = part_new(cx, PART_TABLE);
    part->table = table;
    return part;
}

int64_t grammar_bytes(const struct modc_grammar *grammar)
{
    return (int64_t)sizeof *grammar + 256 + grammar->states + 2 * (int64_t)grammar->states * grammar->classes;
}

uint64_t grammar_hash(const struct modc_grammar *grammar)
{
    const uint64_t hash[3] = {
        text_hash(grammar->class_of, 256),
        text_hash(grammar->next, (size_t)grammar->states * (size_t)grammar->classes * sizeof *grammar->next),
        text_hash(grammar->flags, (size_t)grammar->states)};

    return text_hash(hash, sizeof hash);
}
