/* test_place.c - where buffers are placed: none overlap, and the workspace is what is live in the step where most is. The lists
 * are cut out of a block that they fill, so that a placing at the bound is there; the search has to find it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_place.h"

enum { UNIT = 64, STEPS = 120, UNITS = 1000, MOST = 64, MANY = 4200 };

struct list {
    struct interval items[MOST];
    int count;
};

static struct cx cx;
static uint64_t drawn;

static int tear_down(void **state)
{
    (void)state;
    arena_free(&cx.arena);
    return 0;
}

static int draw(int count)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (int)((drawn >> 33) % (uint64_t)count);
}

/* Cuts a block of steps and units in two, and these again, until there are `count`, or fewer. Some end early; the first step
 * stays full. */
static void cut(struct list *list, int first, int last, int units, int count)
{
    if (count > 1 && draw(2) == 0 && last > first) {
        int middle = first + draw(last - first);

        cut(list, first, middle, units, count / 2);
        cut(list, middle + 1, last, units, count - count / 2);
    } else if (count > 1 && units > 1) {
        int below = 1 + draw(units - 1);

        cut(list, first, last, below, count / 2);
        cut(list, first, last, units - below, count - count / 2);
    } else {
        last -= last > first ? draw(2) : 0;
        list->items[list->count++] = (struct interval){
            .bytes = (int64_t)units * UNIT, .first = first, .last = last};
    }
}

/* So that the order of the list says nothing of the places. */
static void shuffle(struct list *list)
{
    for (int i = list->count - 1; i > 0; i--) {
        int other = draw(i + 1);
        struct interval own = list->items[i];

        list->items[i] = list->items[other];
        list->items[other] = own;
    }
}

static bool are_apart(const struct interval *a, const struct interval *b)
{
    return a->last < b->first || b->last < a->first || a->offset + a->bytes <= b->offset ||
           b->offset + b->bytes <= a->offset;
}

/* Places the intervals, and returns how many bytes they lie above the bound. */
static int64_t place_items(struct interval *items, int count, int64_t bound)
{
    int64_t peak = place_intervals(&cx, items, count, bound), end = 0;

    for (int i = 0; i < count; i++) {
        const struct interval *own = &items[i];

        assert_true(own->offset >= 0 && own->offset % UNIT == 0);
        for (int j = 0; j < i; j++)
            if (!are_apart(own, &items[j]))
                fail_msg("%d and %d overlap", i, j);
        end = own->offset + own->bytes > end ? own->offset + own->bytes : end;
    }
    assert_int_equal(peak, end);
    return peak - bound;
}

static int64_t place(struct list *list, int64_t bound)
{
    const struct list before = *list;
    const int64_t above = place_items(list->items, list->count, bound);

    for (int i = 0; i < list->count; i++) {
        assert_int_equal(list->items[i].first, before.items[i].first);
        assert_int_equal(list->items[i].last, before.items[i].last);
    }
    return above;
}

static void test_cut_blocks(void **state)
{
    (void)state;
    for (int seed = 0; seed < 60; seed++) {
        struct list list = {.count = 0}, again;
        const int64_t bound = (int64_t)UNITS * UNIT;

        drawn = (uint64_t)seed;
        cut(&list, 0, STEPS - 1, UNITS, 10 + 6 * (seed % 10));
        shuffle(&list);
        again = list;
        assert_int_equal(place(&list, bound), 0);
        assert_int_equal(place(&again, bound), 0);
        assert_memory_equal(&again, &list, sizeof list);
    }
}

static void test_small_lists(void **state)
{
    struct list none = {.count = 0}, one = {.items = {{.bytes = UNIT, .first = 3, .last = 5}}, .count = 1};

    (void)state;
    assert_int_equal(place(&none, 0), 0);
    assert_int_equal(place(&one, UNIT), 0);
    assert_int_equal(one.items[0].offset, 0);
}

/* What each step of forward makes, backward reads in reverse: so many that none is looked for among the others. */
static void test_many_lists(void **state)
{
    static struct interval items[MANY];
    int64_t bound = 0;

    (void)state;
    drawn = 1;
    for (int i = 0; i < MANY; i++) {
        items[i] = (struct interval){
            .bytes = (int64_t)(1 + draw(20)) * UNIT, .first = i, .last = 2 * MANY - i};
        bound += items[i].bytes;
    }
    assert_int_equal(place_items(items, MANY, bound), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_lists), cmocka_unit_test(test_cut_blocks),
                                       cmocka_unit_test(test_many_lists)};

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
