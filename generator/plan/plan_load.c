/* plan_load.c - see note [load] in plan_load.h. */
#include "plan/plan_load.h"

#include <string.h>

#include "plan/planner.h"

/* What of a value counts: its bytes in steps from to last; none where from > last. */
struct share {
    int from, last;
};

struct lives {
    struct planner *planner;
    struct arena arena; /* for all of it */
    int count;          /* steps */
    int *from, *ids;    /* by step, where in `ids` stand the values that it reads, then those that it makes */
    int *makes;         /* by step: where in `ids` the latter begin */
    bool *over;         /* beside `ids`: an operand that the step may write over */
    int64_t *own;       /* by step: what it works in beside its values */
    int *maker;         /* by value: the step that makes it; -1: none does */
    int64_t *bytes;     /* by value: in the workspace; -1: it lies elsewhere */
    bool *ends;         /* by value: it is returned */
    int64_t zeros;      /* bytes of planner_find_zeros */
    int64_t *change;    /* by step: how many bytes more are live than in the step before */
    struct times *times;  /* by value, of the steps as they stand */
    struct share *shares; /* by value: what the tree has of it */
    bool *follows;        /* by value: it is written over another one */
    int64_t *adds,
        *most; /* the tree: by node, what is live in all of its steps beside what the nodes below say; the most of them */
    int leaves; /* in front of the first stand the inner nodes; a power of two; 0: there is no tree yet */
};

/* Whose memory a value lies in before maps write over others. */
static int root_of(const struct lives *lives, const struct value *value)
{
    return planner_memory_of(lives->planner->variant, value)->id;
}

/* What the step reads and makes as it is now. */
static void read_step(struct lives *lives, int s)
{
    const struct variant *variant = lives->planner->variant;
    const struct step *step = &variant->steps[s];
    const struct op *op = step->op;
    const struct value *out = op->output_count == 1 ? op->outputs[0] : NULL;
    const bool may = out && op_rows[op->code]->in_place && !variant->graph->fenced &&
                     variant->places[out->id].kind == PLACE_WORKSPACE;
    int *ids = lives->ids + lives->from[s];

    for (int i = 0; i < op->input_count; i++)
        ids[i] = root_of(lives, op->inputs[i]);
    for (int j = 0; j < op->output_count; j++)
        ids[op->input_count + j] = root_of(lives, op->outputs[j]);
    for (int i = 0; i < op->input_count; i++) {
        const struct value *input = op->inputs[i];
        bool over = may && input->base == input && variant->places[ids[i]].kind == PLACE_WORKSPACE &&
                    input->dtype == out->dtype && dims_equal(input, out);

        for (int j = 0; over && j < op->input_count; j++)
            over = j == i || ids[j] != ids[i];
        lives->over[lives->from[s] + i] = over;
    }
    lives->own[s] = planner_step_bytes(lives->planner->plan, step);
}

static void read_value(struct lives *lives, int value)
{
    const struct place *place = &lives->planner->variant->places[value];

    lives->bytes[value] = place->kind == PLACE_WORKSPACE ? place->bytes : -1;
}

static void find_makers(struct lives *lives)
{
    const struct variant *variant = lives->planner->variant;

    memset(lives->maker, -1, (size_t)variant->graph->value_count * sizeof *lives->maker);
    for (int s = 0; s < lives->count; s++)
        for (int j = 0; j < variant->steps[s].op->output_count; j++)
            lives->maker[variant->steps[s].op->outputs[j]->id] = s;
}

struct lives *lives_new(struct planner *planner)
{
    const struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    struct lives *lives = ARENA_NEW(&planner->cx->arena, struct lives);
    struct arena *arena = &lives->arena;
    const int count = variant->step_count, values = graph->value_count;
    int ids = 0;

    lives->planner = planner;
    lives->count = count;
    lives->from = ARENA_ARRAY(arena, count + 1, int);
    lives->makes = ARENA_ARRAY(arena, count + 1, int);
    for (int s = 0; s < count; s++) {
        lives->makes[s] = ids + variant->steps[s].op->input_count;
        lives->from[s + 1] = ids = lives->makes[s] + variant->steps[s].op->output_count;
    }
    lives->ids = ARENA_ARRAY(arena, ids + 1, int);
    lives->over = ARENA_ARRAY(arena, ids + 1, bool);
    lives->own = ARENA_ARRAY(arena, count + 1, int64_t);
    lives->change = ARENA_ARRAY(arena, count + 2, int64_t);
    lives->maker = ARENA_ARRAY(arena, values + 1, int);
    lives->bytes = ARENA_ARRAY(arena, values + 1, int64_t);
    lives->ends = ARENA_ARRAY(arena, values + 1, bool);
    planner_forget_lives(planner);
    for (int i = 0; i < values; i++)
        read_value(lives, i);
    for (int s = 0; s < count; s++)
        read_step(lives, s);
    for (int i = 0; i < graph->output_count; i++)
        lives->ends[root_of(lives, graph->outputs[i])] = true;
    find_makers(lives);
    lives->zeros = planner_zeros_bytes(planner);
    return lives;
}

void lives_end(struct lives *lives)
{
    arena_free(&lives->arena);
}

bool lives_in_workspace(const struct lives *lives, int value)
{
    return lives->bytes[value] >= 0;
}

/* ---- an order ---------------------------------------------------------------------------------------------------- */

struct spans spans_new(struct lives *lives)
{
    struct arena *arena = &lives->arena;
    const int values = lives->planner->variant->graph->value_count + 1;

    return (struct spans){.memory = ARENA_ARRAY(arena, values, int),
                          .first = ARENA_ARRAY(arena, values, int),
                          .last = ARENA_ARRAY(arena, values, int)};
}

/* The operand that the step writes over, the last to read it; -1: none. `last`: by value, the step that reads it last. */
static int find_over(const struct lives *lives, int step, int at, const int *last)
{
    for (int i = lives->from[step]; i < lives->makes[step]; i++)
        if (lives->over[i] && last[lives->ids[i]] == at)
            return lives->ids[i];
    return -1;
}

static void add_share(struct lives *lives, int from, int last, int64_t bytes)
{
    lives->change[from] += bytes;
    lives->change[last + 1] -= bytes;
}

/* Until when the zeros live for gradients that are left out. `last`: by value, the step that reads it last. */
static int zeros_last(const struct lives *lives, int yield, const int *last)
{
    int end = yield;

    for (int i = lives->makes[yield]; i < lives->from[yield + 1]; i++)
        end = last[lives->ids[i]] > end ? last[lives->ids[i]] : end;
    return end;
}

static struct load sum_up(const struct lives *lives, const int *order)
{
    struct load load = {0, 0, 0};
    int64_t live = 0;

    for (int s = 0; s < lives->count; s++) {
        const int64_t bytes = lives->own[order[s]];

        live += lives->change[s];
        load_add(&load, s, live + bytes);
    }
    return load;
}

struct load lives_measure(struct lives *lives, const int *order, const struct spans *spans)
{
    const struct variant *variant = lives->planner->variant;
    const int values = variant->graph->value_count, yield = variant->yield;
    int *memory = spans->memory, *first = spans->first, *last = spans->last;

    memset(first, -1, (size_t)values * sizeof *first);
    memset(last, -1, (size_t)values * sizeof *last);
    memset(lives->change, 0, (size_t)(lives->count + 2) * sizeof *lives->change);
    for (int v = 0; v < values; v++)
        memory[v] = v;
    for (int s = 0; s < lives->count; s++) {
        const int step = order[s];

        for (int i = lives->makes[step]; i < lives->from[step + 1]; i++)
            first[lives->ids[i]] = first[lives->ids[i]] < 0 ? s : first[lives->ids[i]];
        for (int i = lives->from[step]; i < lives->makes[step]; i++)
            last[lives->ids[i]] = s;
    }
    if (lives->zeros > 0)
        add_share(lives, yield, zeros_last(lives, yield, last), lives->zeros);
    for (int s = 0; s < lives->count; s++) {
        const int step = order[s], over = find_over(lives, step, s, last);

        if (over >= 0)
            memory[lives->ids[lives->makes[step]]] = memory[over];
    }
    for (int s = 0; s < lives->count; s++)
        for (int i = lives->from[order[s]]; i < lives->from[order[s] + 1]; i++)
            last[memory[lives->ids[i]]] = s;
    for (int v = 0; v < values; v++) {
        if (lives->bytes[v] <= 0 || first[v] < 0 || memory[v] != v)
            continue;
        if (lives->ends[v])
            last[v] = lives->count - 1;
        add_share(lives, first[v], last[v], lives->bytes[v]);
    }
    return sum_up(lives, order);
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void raise(struct lives *lives, int node, int64_t bytes)
{
    lives->adds[node] += bytes;
    lives->most[node] += bytes;
}

static void renew(struct lives *lives, int node)
{
    for (node /= 2; node > 0; node /= 2)
        lives->most[node] = lives->adds[node] + higher(lives->most[2 * node], lives->most[2 * node + 1]);
}

/* So many bytes more are live in the steps from first to last. */
static void raise_steps(struct lives *lives, int first, int last, int64_t bytes)
{
    int a = lives->leaves + first, b = lives->leaves + last + 1;

    if (first > last || bytes == 0)
        return;
    for (; a < b; a /= 2, b /= 2) {
        if (a & 1)
            raise(lives, a++, bytes);
        if (b & 1)
            raise(lives, --b, bytes);
    }
    renew(lives, lives->leaves + first);
    renew(lives, lives->leaves + last);
}

static int later(int a, int b)
{
    return a > b ? a : b;
}

/* What of the value is to count now. */
static struct share share_of(const struct lives *lives, int value)
{
    const struct times *times = &lives->times[value];

    if (lives->bytes[value] <= 0 || times->first < 0)
        return (struct share){0, -1};
    return (struct share){times->first + lives->follows[value],
                          lives->ends[value] ? lives->count - 1 : later(times->written, times->read)};
}

static void renew_share(struct lives *lives, int value, int64_t bytes)
{
    struct share *old = &lives->shares[value], share = share_of(lives, value);

    if (old->from != share.from || old->last != share.last) {
        raise_steps(lives, old->from, old->last, -bytes);
        raise_steps(lives, share.from, share.last, bytes);
    }
    *old = share;
}

/* Whether what the step makes is written over an operand. */
static bool goes_over(const struct lives *lives, int s)
{
    for (int i = lives->from[s]; i < lives->makes[s]; i++)
        if (lives->over[i] && lives->times[lives->ids[i]].read == s)
            return true;
    return false;
}

/* The tree of all that is live. */
static void plant(struct lives *lives)
{
    struct arena *arena = &lives->arena;
    const struct variant *variant = lives->planner->variant;
    const int values = variant->graph->value_count;
    int *last = ARENA_ARRAY(arena, values + 1, int);
    int64_t live = 0;

    for (lives->leaves = 1; lives->leaves < lives->count + 1; lives->leaves *= 2)
        ;
    lives->adds = ARENA_ARRAY(arena, 2 * lives->leaves, int64_t);
    lives->most = ARENA_ARRAY(arena, 2 * lives->leaves, int64_t);
    lives->times = ARENA_ARRAY(arena, values + 1, struct times);
    lives->shares = ARENA_ARRAY(arena, values + 1, struct share);
    lives->follows = ARENA_ARRAY(arena, values + 1, bool);
    for (int v = 0; v < values; v++)
        lives->times[v] = (struct times){-1, -1, -1};
    for (int s = 0; s < lives->count; s++) {
        for (int i = lives->from[s]; i < lives->makes[s]; i++)
            lives->times[lives->ids[i]].read = last[lives->ids[i]] = s;
        for (int i = lives->makes[s]; i < lives->from[s + 1]; i++) {
            struct times *times = &lives->times[lives->ids[i]];

            times->first = times->first < 0 ? s : times->first;
            times->written = s;
        }
    }
    for (int s = 0; s < lives->count; s++)
        if (goes_over(lives, s))
            lives->follows[lives->ids[lives->makes[s]]] = true;
    memset(lives->change, 0, (size_t)(lives->count + 2) * sizeof *lives->change);
    for (int v = 0; v < values; v++) {
        const struct share share = lives->shares[v] = share_of(lives, v);

        if (share.from <= share.last)
            add_share(lives, share.from, share.last, lives->bytes[v]);
    }
    if (lives->zeros > 0)
        add_share(lives, variant->yield, zeros_last(lives, variant->yield, last), lives->zeros);
    for (int s = 0; s < lives->count; s++) {
        live += lives->change[s];
        lives->adds[lives->leaves + s] = lives->most[lives->leaves + s] = live + lives->own[s];
    }
    for (int node = lives->leaves - 1; node > 0; node--)
        lives->most[node] = higher(lives->most[2 * node], lives->most[2 * node + 1]);
}

int64_t lives_most(struct lives *lives)
{
    if (lives->leaves == 0)
        plant(lives);
    return lives->most[1];
}

const struct step *lives_maker(const struct lives *lives, const struct value *value)
{
    const int maker = lives->maker[value->id];

    return maker >= 0 ? &lives->planner->variant->steps[maker] : NULL;
}

/* What the step writes over may be another operand now, or none. */
static void decide_again(struct lives *lives, int s)
{
    int out;

    if (s < 0 || lives->from[s + 1] - lives->makes[s] != 1)
        return;
    out = lives->ids[lives->makes[s]];
    if (lives->bytes[out] < 0 || lives->times[out].first != s)
        return;
    lives->follows[out] = goes_over(lives, s);
    renew_share(lives, out, lives->bytes[out]);
}

/* The step, if it is one, makes or reads what lies elsewhere now. */
static void read_again(struct lives *lives, int s)
{
    int64_t before;

    if (s < 0)
        return;
    before = lives->own[s];
    read_step(lives, s);
    raise_steps(lives, s, s, lives->own[s] - before);
    decide_again(lives, s);
}

/* The values have these times from now on, and what has changed lies elsewhere. */
static void change(struct lives *lives, const struct joined *joined, int into, struct times value_times,
                   struct times into_times)
{
    const int value = joined->value->id;
    const int steps[] = {lives->times[value].first, lives->times[value].read, lives->times[into].read,
                         value_times.first,         value_times.read,         into_times.read};
    const int64_t bytes = higher(lives->bytes[value], lives->planner->variant->places[value].bytes);

    read_value(lives, value);
    lives->times[value] = value_times;
    lives->times[into] = into_times;
    for (int i = 0; i < joined->count; i++) {
        const struct value *moved = joined->places[i];

        read_again(lives, lives->maker[moved->id]);
        for (int u = 0; u < moved->user_count; u++) { /* what makes nothing writes over nothing */
            const struct op *reader = moved->users[u];

            read_again(lives, reader->output_count > 0 ? lives->maker[reader->outputs[0]->id] : -1);
        }
    }
    lives->follows[value] &= lives->bytes[value] >= 0;
    for (int i = 0; i < COUNT(steps); i++)
        decide_again(lives, steps[i]);
    renew_share(lives, value, bytes);
    renew_share(lives, into, higher(lives->bytes[into], 0));
}

void lives_join(struct lives *lives, const struct joined *joined, struct rejoined *rejoined)
{
    const int value = joined->value->id, into = joined->value->base->id;
    const struct times was = lives->times[value], then = lives->times[into];
    const struct times both = {was.first < then.first || then.first < 0 ? was.first : then.first,
                               later(was.written, then.written), later(was.read, then.read)};

    *rejoined = (struct rejoined){was, then};
    change(lives, joined, into, (struct times){-1, -1, -1}, both);
}

void lives_part(struct lives *lives, const struct joined *joined, const struct value *into,
                const struct rejoined *rejoined)
{
    change(lives, joined, into->id, rejoined->value, rejoined->into);
}
