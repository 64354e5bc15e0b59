/* test_tidy.c - what filling a template leaves of its arithmetic: examples, and random lines, whose value stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "emit/tidy.h"

static struct arena arena;

/* ---- the value of a line, as C has it ---- */

struct reader {
    const char *at;
    bool fails; /* it divides by 0 */
};

static int64_t read_sum(struct reader *r);

/* a to e are 2, 3, 5, 7, 11; f(x) is 3 x + 1. */
static int64_t read_operand(struct reader *r)
{
    static const int values[] = {2, 3, 5, 7, 11, 0};
    const char first = *r->at;
    int64_t value;

    if (first >= '0' && first <= '9')
        return strtol(r->at, (char **)(uintptr_t)&r->at, 10);
    if (first != '(') {
        assert_true(first >= 'a' && first <= 'f');
        r->at++;
        if (first != 'f')
            return values[first - 'a'];
    }
    assert_int_equal(*r->at, '(');
    r->at++;
    value = read_sum(r);
    assert_int_equal(*r->at, ')');
    r->at++;
    return first == 'f' ? 3 * value + 1 : value;
}

static bool takes(struct reader *r, const char *signs, char *sign)
{
    if (r->at[0] != ' ' || !strchr(signs, r->at[1]) || r->at[2] != ' ')
        return false;
    *sign = r->at[1];
    r->at += 3;
    return true;
}

static int64_t read_product(struct reader *r)
{
    int64_t value = read_operand(r);
    char sign;

    while (takes(r, "*/%", &sign)) {
        const int64_t by = read_operand(r);

        if (sign != '*' && by == 0)
            r->fails = true;
        else
            value = sign == '*' ? value * by : sign == '/' ? value / by : value % by;
    }
    return value;
}

static int64_t read_sum(struct reader *r)
{
    int64_t value = read_product(r);
    char sign;

    while (takes(r, "+-", &sign)) {
        const int64_t by = read_product(r);

        value += sign == '+' ? by : -by;
    }
    return value;
}

/* Of "y = ...;". */
static int64_t value_of(const char *line, bool *fails)
{
    struct reader r = {line + 4, false};
    const int64_t value = read_sum(&r);

    assert_string_equal(r.at, ";");
    *fails = r.fails;
    return value;
}

/* ---- random lines ---- */

static unsigned seed = 1;

static int draw(int below)
{
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 16) % below;
}

static void draw_sum(struct text *text, int depth);

static void draw_operand(struct text *text, int depth)
{
    static const char *const operands[] = {"0", "1", "0", "1", "a", "b", "c", "d", "e", "4", "64", "16"};

    if (depth > 0 && draw(4) == 0) {
        text_add(text, draw(4) == 0 ? "f(" : "(");
        draw_sum(text, depth - 1);
        text_add(text, ")");
    } else {
        text_add(text, operands[draw(12)]);
    }
}

static void draw_sum(struct text *text, int depth)
{
    static const char *const signs[] = {" + ", " - ", " * ", " * ", " / ", " % "};

    draw_operand(text, depth);
    for (int i = draw(5); i > 0; i--) {
        text_add(text, signs[draw(6)]);
        draw_operand(text, depth);
    }
}

/* Templates divide by no 0. */
static void test_random(void **state)
{
    int compared = 0, shorter = 0;
    (void)state;

    for (int i = 0; i < 200000; i++) {
        struct text line = text_new(&arena);
        const char *tidied;
        bool fails, still;
        int64_t value;

        text_add(&line, "y = ");
        draw_sum(&line, 2);
        text_add(&line, ";");
        value = value_of(line.data, &fails);
        if (fails)
            continue;
        tidied = tidy_line(&arena, line.data);
        if (value_of(tidied, &still) != value || still)
            fail_msg("%s became %s", line.data, tidied);
        compared++;
        shorter += strlen(tidied) < line.length;
        if (i % 1000 == 0)
            arena_free(&arena);
    }
    assert_true(compared > 50000 && shorter > compared / 2);
}

static void test_examples(void **state)
{
    static const char *const lines[][2] = {
        {"y = a / 1 * (b) + c % 1 * (d - e) + 0;", "y = a * b;"},
        {"y = a + b * (c + d) + e % 1 * (4 * a - 8) + c;", "y = a + b * (c + d) + c;"},
        {"y = a * (64 / 16);", "y = a * 4;"},
        {"y = a - (b - c);", "y = a - (b - c);"},
        {"y = 0 * a;", "y = 0 * a;"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(tidy_line(&arena, lines[i][0]), lines[i][1]);
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("tidy", tests, NULL, tear_down);
}
