/* test_dim.c - dimensions: canonical equality, bounds, exact division, both printers; random ones against int64_t. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dim.h"
#include "programs.h"

static struct arena arena;
static const struct size sizes[] = {{"batch", 32, 0, "batch", 0, NULL},
                                    {"tokens", 128, 1, "tokens", 0, NULL},
                                    {"width", 20, 2, "width", 0, NULL}};
static const struct dim *batch, *tokens, *width;

static int set_up(void **state)
{
    (void)state;
    batch = dim_size(&arena, &sizes[0]);
    tokens = dim_size(&arena, &sizes[1]);
    width = dim_size(&arena, &sizes[2]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static const struct dim *k(int64_t value)
{
    return dim_const(&arena, value);
}

static const struct dim *add(const struct dim *a, const struct dim *b)
{
    return dim_add(&arena, a, b);
}

static const struct dim *sub(const struct dim *a, const struct dim *b)
{
    return dim_sub(&arena, a, b);
}

static const struct dim *mul(const struct dim *a, const struct dim *b)
{
    return dim_mul(&arena, a, b);
}

static const struct dim *quo(const struct dim *a, const struct dim *b)
{
    return dim_floordiv(&arena, a, b);
}

static const struct dim *mod(const struct dim *a, const struct dim *b)
{
    return dim_mod(&arena, a, b);
}

static const struct dim *max(const struct dim *a, const struct dim *b)
{
    return dim_max(&arena, a, b);
}

static const struct dim *min(const struct dim *a, const struct dim *b)
{
    return dim_min(&arena, a, b);
}

#define assert_same(a, b) check_same(a, b, __LINE__)
#define assert_text(dim, text) assert_string_equal(dim_text(&arena, dim), text)

static void check_same(const struct dim *a, const struct dim *b, int line)
{
    if (!dim_equal(a, b) || !dim_equal(b, a))
        fail_msg("line %d: %s is not %s", line, dim_text(&arena, a), dim_text(&arena, b));
}

static const char *plain_name(const struct size *size)
{
    return size->name;
}

static const char *c_text(const struct dim *dim, bool tight)
{
    struct text text = text_new(&arena);

    dim_print_c(&text, dim, tight, plain_name);
    return text.data;
}

/* ---- random expressions ------------------------------------------------------------------------------ */

static uint64_t random_state = 1;

static int random_int(int below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)below);
}

enum { VALUES = 24 };

static int64_t values_of[VALUES][3]; /* sizes under which a random expression is evaluated */

static void random_values(void)
{
    for (int i = 0; i < VALUES; i++)
        for (int j = 0; j < 3; j++)
            values_of[i][j] = i == 0 ? 0 : i == 1 ? sizes[j].max : random_int((int)sizes[j].max + 1);
}

/* A dim and what it must be; `valid` is false where the divisor was 0. */
struct sample {
    const struct dim *dim;
    int64_t value[VALUES];
    bool valid[VALUES];
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static struct sample leaf(bool positive)
{
    struct sample sample = {0};
    int which = random_int(5), constant = positive ? 1 + random_int(9) : random_int(13) - 4;

    sample.dim = which == 0 ? batch : which == 1 ? tokens : which == 2 ? width : k(constant);
    for (int i = 0; i < VALUES; i++) {
        sample.value[i] = which < 3 ? values_of[i][which] : constant;
        sample.valid[i] = true;
    }
    return sample;
}

/* One of sizes and constants, with + - * alone. */
static const struct dim *random_polynomial(void)
{
    const struct dim *product = mul(leaf(false).dim, leaf(false).dim);

    return add(add(product, leaf(false).dim), leaf(false).dim);
}

/* A random expression; no divisors that are polynomials unless `hard`. */
static struct sample random_sample(int depth, bool hard)
{
    static const struct dim *(*const apply[])(const struct dim *, const struct dim *) = {add, sub, mul, quo,
                                                                                         mod, max, min};
    struct sample a, b, result = {0};
    int op = random_int(7);

    if (depth == 0 || random_int(8) == 0)
        return leaf(false);
    a = random_sample(depth - 1, hard);
    if (op == 2) {
        b = leaf(false);
    } else if (op == 3 || op == 4) {
        b = hard ? leaf(true) : leaf(false);
        while (!hard && (!dim_is_const(b.dim, NULL) || dim_equals(b.dim, 0)))
            b = leaf(false);
    } else {
        b = random_sample(depth - 1, hard);
    }
    result.dim = apply[op](a.dim, b.dim);
    for (int i = 0; i < VALUES; i++) {
        int64_t x = a.value[i], y = b.value[i], *z = &result.value[i];
        bool divides = op == 3 || op == 4;

        result.valid[i] = a.valid[i] && b.valid[i] && !(divides && y == 0);
        if (!result.valid[i])
            continue;
        if (divides)
            *z = op == 3 ? floor_divide(x, y) : x - y * floor_divide(x, y);
        else
            *z = op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : (x > y) == (op == 5) ? x : y;
    }
    return result;
}

static void check_sample(const struct sample *sample)
{
    for (int i = 0; i < VALUES; i++) {
        int64_t value = dim_eval(sample->dim, values_of[i]);

        if (!sample->valid[i])
            continue;
        if (value != sample->value[i] || value < dim_lower(sample->dim) || value > dim_upper(sample->dim))
            fail_msg("%s at batch %d, tokens %d, width %d is %" PRId64 ", not %" PRId64 "; bounds %" PRId64
                     " %" PRId64,
                     dim_text(&arena, sample->dim), (int)values_of[i][0], (int)values_of[i][1],
                     (int)values_of[i][2], value, sample->value[i], dim_lower(sample->dim),
                     dim_upper(sample->dim));
    }
}

static void test_random(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct sample sample;

        random_values();
        sample = random_sample(1 + round % 4, round % 3 == 0);
        check_sample(&sample);
        if (round % 50 == 49) {
            arena_free(&arena);
            set_up(NULL);
        }
    }
}

/* ---- equality ---------------------------------------------------------------------------------------- */

static void test_polynomials(void **state)
{
    (void)state;
    assert_same(add(batch, tokens), add(tokens, batch));
    assert_same(mul(add(batch, k(1)), sub(batch, k(1))), sub(mul(batch, batch), k(1)));
    assert_same(sub(batch, batch), k(0));
    assert_same(mul(batch, k(0)), k(0));
    assert_true(dim_equals(sub(add(batch, k(5)), batch), 5));
    assert_false(dim_equal(batch, tokens));
    assert_false(dim_equal(batch, k(32)));
    assert_false(dim_equals(batch, 32));
    assert_true(dim_is_size(sub(add(batch, tokens), batch), NULL));
    assert_false(dim_is_size(mul(batch, k(2)), NULL));
    assert_false(dim_is_size(k(1), NULL));
}

static void test_divisions(void **state)
{
    (void)state;
    assert_same(quo(mul(k(4), batch), k(4)), batch);
    assert_same(quo(add(mul(k(4), batch), k(3)), k(4)), batch);
    assert_same(mod(add(mul(k(4), batch), k(6)), k(4)), k(2));
    assert_same(quo(mul(batch, tokens), tokens), batch);
    assert_same(mod(mul(batch, tokens), tokens), k(0));
    assert_same(quo(mul(k(6), batch), k(4)), quo(mul(k(3), batch), k(2)));
    assert_same(quo(add(mul(k(2), batch), k(1)), k(4)), quo(batch, k(2)));
    assert_same(quo(quo(tokens, k(4)), k(8)), quo(tokens, k(32)));
    assert_same(quo(add(quo(tokens, k(2)), width), k(3)), quo(add(tokens, mul(k(2), width)), k(6)));
    assert_same(add(mul(k(4), quo(tokens, k(4))), mod(tokens, k(4))), tokens);
    assert_same(add(mul(width, quo(tokens, width)), mod(tokens, width)), tokens);
    assert_same(mod(mod(tokens, k(12)), k(12)), mod(tokens, k(12)));
    assert_same(mod(sub(tokens, k(1)), k(12)), mod(add(tokens, k(11)), k(12)));
    assert_same(quo(mul(batch, tokens), mul(batch, width)), quo(tokens, width));
    assert_same(quo(mul(k(2), tokens), mul(k(2), width)), quo(tokens, width));
    assert_same(quo(add(mul(k(2), tokens), k(1)), mul(k(2), width)), quo(tokens, width));
    assert_same(quo(add(mul(batch, tokens), width), tokens), add(batch, quo(width, tokens)));
    assert_same(quo(quo(tokens, batch), width), quo(tokens, mul(batch, width)));
    assert_same(quo(tokens, k(129)), k(0)); /* at most 128 */
    assert_same(quo(add(tokens, k(200)), k(1000)), k(0));
    assert_same(quo(sub(tokens, k(129)), k(1000)), k(-1));
    assert_same(quo(k(-7), k(2)), k(-4));
    assert_same(mod(k(-7), k(2)), k(1));
    assert_same(mod(k(7), k(-2)), k(-1));
    assert_same(quo(tokens, k(-4)), quo(sub(k(0), tokens), k(4)));
    /* the two ways to round up, and halves that make a whole */
    for (int64_t divisor = 2; divisor < 8; divisor++) {
        const struct dim *up = quo(add(tokens, k(divisor - 1)), k(divisor));

        assert_same(sub(k(0), quo(sub(k(0), tokens), k(divisor))), up);
        assert_same(mul(batch, sub(k(0), quo(sub(k(0), tokens), k(divisor)))), mul(batch, up));
    }
    assert_same(sub(tokens, quo(tokens, k(2))), quo(add(tokens, k(1)), k(2)));
    assert_same(add(quo(tokens, k(2)), quo(add(tokens, k(1)), k(2))), tokens);
    /* a chain of convolutions with stride 2 */
    assert_same(add(quo(sub(add(quo(sub(tokens, k(3)), k(2)), k(1)), k(3)), k(2)), k(1)),
                quo(sub(tokens, k(3)), k(4)));
}

static void test_choices(void **state)
{
    const struct dim *first = min(tokens, k(5));

    (void)state;
    assert_same(max(batch, tokens), max(tokens, batch));
    assert_same(add(max(batch, tokens), min(batch, tokens)), add(batch, tokens));
    assert_same(max(add(batch, width), add(tokens, width)), add(max(batch, tokens), width));
    assert_same(max(mul(k(3), batch), mul(k(3), tokens)), mul(k(3), max(batch, tokens)));
    assert_same(max(batch, batch), batch);
    assert_same(max(batch, k(0)), batch);
    assert_same(max(batch, k(40)), k(40));
    assert_same(min(batch, k(40)), batch);
    assert_same(min(batch, add(batch, tokens)), batch);
    assert_same(min(first, k(3)), min(tokens, k(3)));
    assert_same(min(first, k(7)), first);
    assert_same(max(first, k(0)), first);
    assert_same(min(max(tokens, k(3)), k(5)), max(first, k(3)));
    assert_same(sub(tokens, max(sub(tokens, k(3)), k(0))), min(tokens, k(3)));
    assert_same(min(batch, k(INT64_MAX)), batch);
    assert_same(max(add(batch, k(-INT64_MAX)), k(0)), k(0));
    assert_same(quo(max(mul(k(2), tokens), k(1)), k(2)), tokens); /* the length of [1::2] */
    assert_same(quo(add(max(sub(tokens, k(3)), k(0)), k(1)), k(2)), max(quo(sub(tokens, k(2)), k(2)), k(0)));
}

/* Sums and products of anything; quotients of polynomials. Where divisions, min and max stand in each other, equal
 * values may have more than one form, which costs a user an error message, never a wrong result. */
static void test_random_identities(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        const struct dim *x = random_sample(2, false).dim, *y = random_sample(2, false).dim;
        const struct dim *p = random_polynomial(), *q = random_polynomial(), *quotient;
        const struct dim *divisor = k(2 + random_int(7)), *other = k(2 + random_int(7));

        assert_same(sub(add(x, y), y), x);
        assert_same(mul(x, y), mul(y, x));
        assert_same(mul(add(x, y), width), add(mul(x, width), mul(y, width)));
        assert_same(quo(mul(x, divisor), divisor), x);
        if (!dim_is_const(mod(x, divisor), NULL))
            assert_same(add(mul(divisor, quo(x, divisor)), mod(x, divisor)), x);
        assert_same(max(x, y), max(y, x));
        assert_same(add(max(x, y), min(x, y)), add(x, y));

        assert_same(quo(add(mul(q, divisor), sub(divisor, k(1))), divisor), q);
        assert_same(quo(add(p, mul(divisor, q)), divisor), add(quo(p, divisor), q));
        assert_same(quo(quo(p, divisor), other), quo(p, mul(divisor, other)));
        assert_same(mod(mod(p, divisor), divisor), mod(p, divisor));
        assert_same(sub(k(0), quo(sub(k(0), p), divisor)), quo(add(p, sub(divisor, k(1))), divisor));
        assert_same(add(max(p, q), tokens), max(add(p, tokens), add(q, tokens)));
        if (round % 2 == 0)
            q = quo(q, divisor);
        if (dim_equals(q, 0))
            continue;
        if (!dim_divides(&arena, mul(p, q), q, &quotient))
            fail_msg("%s does not divide %s", dim_text(&arena, q), dim_text(&arena, mul(p, q)));
        assert_same(quotient, p);
    }
}

static void test_divides(void **state)
{
    const struct dim *quotient = NULL;

    (void)state;
    assert_true(dim_divides(&arena, mul(batch, tokens), batch, &quotient));
    assert_same(quotient, tokens);
    assert_true(dim_divides(&arena, mul(k(12), mul(batch, tokens)), mul(k(4), tokens), &quotient));
    assert_same(quotient, mul(k(3), batch));
    assert_true(
        dim_divides(&arena, mul(add(batch, k(1)), add(tokens, width)), add(tokens, width), &quotient));
    assert_same(quotient, add(batch, k(1)));
    assert_true(dim_divides(&arena, mul(mul(k(8), quo(tokens, k(4))), batch), mul(quo(tokens, k(4)), k(-2)),
                            &quotient));
    assert_same(quotient, mul(k(-4), batch));
    assert_true(dim_divides(&arena, k(0), batch, &quotient));
    assert_true(dim_equals(quotient, 0));
    assert_false(dim_divides(&arena, add(batch, k(1)), k(2), &quotient));
    assert_false(dim_divides(&arena, mul(batch, k(6)), k(4), &quotient));
    assert_false(dim_divides(&arena, batch, tokens, &quotient));
    assert_false(dim_divides(&arena, k(4), batch, &quotient));
    assert_false(dim_divides(&arena, batch, k(0), &quotient));
    assert_false(dim_divides(&arena, mul(batch, quo(tokens, k(4))), tokens, &quotient));
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

static void check_bounds(const struct dim *dim, int64_t lower, int64_t upper)
{
    if (dim_lower(dim) != lower || dim_upper(dim) != upper)
        fail_msg("%s: bounds %" PRId64 " %" PRId64 ", expected %" PRId64 " %" PRId64, dim_text(&arena, dim),
                 dim_lower(dim), dim_upper(dim), lower, upper);
}

static void test_bounds(void **state)
{
    const struct size huge[] = {{"a", INT64_MAX / 2, 0, "a", 0, NULL}, {"b", INT64_MAX / 2, 1, "b", 0, NULL}};
    const struct dim *product = mul(dim_size(&arena, &huge[0]), dim_size(&arena, &huge[1]));
    const struct dim *overflow = mul(k(INT64_MAX / 2), k(3));

    (void)state;
    check_bounds(k(-3), -3, -3);
    check_bounds(batch, 0, 32);
    check_bounds(sub(mul(batch, tokens), k(1)), -1, 32 * 128 - 1);
    check_bounds(add(quo(sub(tokens, k(3)), k(2)), k(1)), -1, 63);
    check_bounds(mod(tokens, k(10)), 0, 9);
    check_bounds(mod(tokens, width), 0, 19);
    check_bounds(mod(mul(batch, tokens), k(-10)), -9, 0);
    check_bounds(sub(tokens, quo(tokens, k(4))), 0, 96);
    check_bounds(mul(k(8), quo(add(tokens, k(7)), k(8))), 0, 128);
    check_bounds(min(tokens, k(5)), 0, 5);
    check_bounds(sub(tokens, max(sub(tokens, k(3)), k(0))), 0, 3);
    check_bounds(max(sub(tokens, k(3)), k(0)), 0, 125);
    check_bounds(min(max(tokens, k(3)), k(5)), 3, 5);
    check_bounds(product, 0, INT64_MAX);
    /* an overflow stays one, except where it is taken 0 times */
    assert_true(dim_equals(overflow, INT64_MAX));
    assert_true(dim_equals(sub(overflow, overflow), INT64_MAX));
    assert_true(dim_equals(sub(k(0), overflow), INT64_MIN));
    assert_true(dim_equals(quo(mul(overflow, batch), k(3)), INT64_MAX));
    assert_true(dim_equals(mul(overflow, k(0)), 0));
    assert_true(dim_equals(add(mul(batch, overflow), tokens), INT64_MAX));
}

/* past + tokens <= 128, tokens >= 3 and batch * tokens <= 256 */
static void test_limits(void **state)
{
    struct size own[] = {{"past", 128, 0, "past", 0, NULL},
                         {"tokens", 100, 1, "tokens", 0, NULL},
                         {"batch", 1000, 2, "batch", 0, NULL}};
    const struct dim *past = dim_size(&arena, &own[0]), *length = dim_size(&arena, &own[1]),
                     *rows = dim_size(&arena, &own[2]), *gaps[3], *shape[] = {rows, length, k(4)};
    struct size_limits limits = {gaps, 3};

    (void)state;
    gaps[0] = sub(k(128), add(past, length));
    gaps[1] = sub(length, k(3));
    gaps[2] = sub(k(256), mul(rows, length));
    assert_int_equal(dims_most(&arena, 3, shape), 1000 * 100 * 4);
    for (int i = 0; i < 3; i++)
        own[i].limits = &limits;
    own[1].min = 3;
    check_bounds(dim_size(&arena, &own[0]), 0, 125);
    check_bounds(dim_size(&arena, &own[1]), 3, 100);
    check_bounds(dim_size(&arena, &own[2]), 0, 1000);
    check_bounds(add(past, length), 3, 128);
    check_bounds(sub(k(128), add(past, length)), 0, 125);
    check_bounds(add(mul(k(2), past), mul(k(3), length)), 9, 356);
    check_bounds(mul(k(4), mul(rows, length)), 0, 1024);
    check_bounds(add(mul(rows, past), mul(rows, length)), 0, 125256);
    assert_same(min(add(past, length), k(128)), add(past, length));
    assert_same(sub(min(add(past, length), k(128)), min(past, k(128))), length);
    assert_same(max(length, k(2)), length);
    assert_int_equal(dims_most(&arena, 3, shape), 1024);
    /* over others, as an entry has them */
    assert_same(dim_over(&arena, max(quo(add(mul(past, length), k(1)), k(2)), sub(k(9), rows)), sizes),
                max(quo(add(mul(batch, tokens), k(1)), k(2)), sub(k(9), width)));
    for (int round = 0; round < 3000; round++) {
        const int64_t at[] = {random_int(126), 3 + random_int(97), random_int(86)};
        const struct dim *dim;

        if (at[0] + at[1] > 128 || at[1] * at[2] > 256)
            continue;
        dim = add(mul(k(random_int(7) - 3), past), mul(k(random_int(7) - 3), length));
        dim = add(dim, mul(mul(k(random_int(5) - 2), rows), round % 2 ? past : length));
        if (round % 3 == 0)
            dim = max(quo(dim, k(2 + random_int(3))), sub(past, rows));
        if (dim_eval(dim, at) < dim_lower(dim) || dim_eval(dim, at) > dim_upper(dim))
            fail_msg("%s is %" PRId64 ": bounds %" PRId64 " %" PRId64, dim_text(&arena, dim),
                     dim_eval(dim, at), dim_lower(dim), dim_upper(dim));
    }
    assert_string_equal(dim_agreement(&arena, past, min(past, sub(k(24), length))), "past + tokens <= 24");
    assert_same(dim_some(&arena, min(batch, k(1))), batch);
    assert_same(dim_some(&arena, min(min(batch, tokens), k(4))), min(batch, tokens));
    assert_same(dim_some(&arena, max(batch, tokens)), max(batch, tokens));
    assert_string_equal(dim_agreement(&arena, min(batch, k(4)), k(4)), "4 <= batch");
    assert_string_equal(dim_agreement(&arena, k(4), min(batch, k(4))), "4 <= batch");
    assert_string_equal(dim_agreement(&arena, max(batch, k(4)), batch), "4 <= batch");
    assert_null(dim_agreement(&arena, past, length));
    assert_null(dim_agreement(&arena, min(batch, k(4)), tokens));
}

/* ---- printing ---------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    assert_text(k(0), "0");
    assert_text(k(-4), "-4");
    assert_text(add(mul(batch, tokens), k(1)), "batch * tokens + 1");
    assert_text(sub(k(4), batch), "4 - batch");
    assert_text(sub(k(0), batch), "-batch");
    assert_text(sub(sub(k(0), batch), k(4)), "-batch - 4");
    assert_text(mul(mul(batch, batch), k(3)), "3 * batch * batch");
    assert_text(add(quo(sub(tokens, k(3)), k(2)), k(1)), "(tokens - 1) // 2");
    assert_text(quo(tokens, k(4)), "tokens // 4");
    assert_text(mul(quo(tokens, k(4)), k(4)), "4 * (tokens // 4)");
    assert_text(sub(k(0), quo(tokens, k(4))), "-(tokens // 4)");
    assert_text(sub(width, quo(tokens, k(4))), "width - tokens // 4");
    assert_text(quo(mul(k(3), tokens), k(4)), "3 * tokens // 4");
    assert_text(mul(k(3), quo(add(tokens, k(7)), k(8))), "3 * ((tokens + 7) // 8)");
    assert_text(mod(tokens, k(4)), "tokens % 4");
    assert_text(mod(add(tokens, k(2)), k(4)), "(tokens + 2) % 4");
    assert_text(add(mul(width, mod(tokens, k(4))), k(1)), "width * (tokens % 4) + 1");
    assert_text(mod(tokens, add(width, k(1))), "tokens % (width + 1)");
    assert_text(quo(tokens, mul(width, k(2))), "tokens // (2 * width)");
    assert_text(min(tokens, k(3)), "min(tokens, 3)");
    assert_text(max(sub(tokens, k(3)), k(0)), "max(tokens - 3, 0)");
    assert_text(add(max(sub(tokens, k(3)), k(0)), width), "width + max(tokens - 3, 0)");

    assert_string_equal(c_text(add(quo(sub(tokens, k(3)), k(2)), k(1)), false), "(tokens + 1) / 2 - 1");
    assert_string_equal(c_text(add(quo(sub(tokens, k(3)), k(2)), k(1)), true), "((tokens + 1) / 2 - 1)");
    assert_string_equal(c_text(quo(sub(tokens, batch), k(4)), true), "((3 * batch + tokens) / 4 - batch)");
    assert_string_equal(c_text(quo(tokens, width), true), "modc_floordiv(tokens, width)");
    assert_string_equal(c_text(mod(tokens, k(4)), false), "tokens % 4");
    assert_string_equal(c_text(mod(tokens, k(4)), true), "(tokens % 4)");
    assert_string_equal(c_text(mul(k(2), batch), true), "(2 * batch)");
    assert_string_equal(c_text(mul(k(2), batch), false), "2 * batch");
    assert_string_equal(c_text(batch, true), "batch");
    assert_string_equal(c_text(k(7), true), "7");
    assert_string_equal(c_text(k(-7), true), "(-7)");
    assert_string_equal(c_text(min(tokens, k(3)), true), "modc_min(tokens, 3)");
}

/* What dim_print_c writes is compiled and gives what dim_eval gives. */
static void test_c_runs(void **state)
{
    static const char head[] =
        "#include <stdio.h>\n"
        "static int modc_floordiv(int a, int b)\n"
        "{\n    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"
        "static int modc_mod(int a, int b)\n{\n    return a - b * modc_floordiv(a, b);\n}\n"
        "static int modc_max(int a, int b)\n{\n    return a > b ? a : b;\n}\n"
        "static int modc_min(int a, int b)\n{\n    return a < b ? a : b;\n}\n"
        "static int faults;\n"
        "static void same(int a, int b, int line)\n{\n    if (a != b) {\n"
        "        printf(\"line %d: %d, expected %d\\n\", line, a, b);\n        faults++;\n    }\n}\n"
        "int main(void)\n{\n    int batch, tokens, width;\n\n"
        "    (void)modc_mod, (void)modc_max, (void)modc_min;\n";
    char folder[] = "/tmp/modc_test_dim_XXXXXX", path[64], command[512];
    FILE *file;
    int result;

    (void)state;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/t.c", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(head, file);
    for (int round = 0; round < 300; round++) {
        struct sample sample;

        random_values();
        sample = random_sample(1 + round % 3, round % 3 == 0);
        if (dim_upper(sample.dim) > 1000000 || dim_lower(sample.dim) < -1000000)
            continue; /* its parts might not fit an int */
        for (int i = 0; i < 4; i++) {
            const int64_t *values = values_of[i + 1];

            fprintf(file,
                    "    batch = %d, tokens = %d, width = %d, (void)batch, (void)tokens, (void)width;\n",
                    (int)values[0], (int)values[1], (int)values[2]);
            fprintf(file, "    same(%s, %" PRId64 ", __LINE__);\n", c_text(sample.dim, false),
                    dim_eval(sample.dim, values));
            fprintf(file, "    same(3 - %s, 3 - (%" PRId64 "), __LINE__);\n", c_text(sample.dim, true),
                    dim_eval(sample.dim, values));
        }
    }
    fputs("    return faults > 0;\n}\n", file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "cd %s && %s -std=c99 -Wall -Wextra -Wpedantic -Werror -o t t.c && ./t",
             folder, own_compiler());
    result = system(command);
    if (result != 0)
        fail_msg("%s failed", command);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomials), cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_choices),     cmocka_unit_test(test_divides),
        cmocka_unit_test(test_bounds),      cmocka_unit_test(test_text),
        cmocka_unit_test(test_random),      cmocka_unit_test(test_random_identities),
        cmocka_unit_test(test_c_runs),      cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
