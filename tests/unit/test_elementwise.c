/* test_elementwise.c - the elementwise language: rounding, primitives at special values, simplification that no value
 * can tell, printing; and every line of the table against PyTorch's values, its gradient against differences. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "ops/elementwise.h"

static struct cx cx;

#define ARENA (&cx.arena)
#define NONE (-1)

static const double inf = (double)INFINITY, nan_ = (double)NAN;

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(diag_errors(&cx), 0);
    arena_free(&cx.arena);
    memset(&cx, 0, sizeof cx);
    return 0;
}

static union scalar real(double f)
{
    union scalar value = {.f = f};

    return value;
}

static union scalar whole(int64_t i)
{
    union scalar value;

    value.i = i;
    return value;
}

static bool same(double a, double b) /* NaN is NaN, and zeros have signs */
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

#define CHECK_SAME(a, b)                                                                                     \
    do {                                                                                                     \
        double a_ = (a), b_ = (b);                                                                           \
        if (!same(a_, b_)) {                                                                                 \
            print_error("%s is %.17g, not %.17g\n", #a, a_, b_);                                             \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

static const char *printed(const struct dag *dag)
{
    struct text text = text_new(ARENA);

    dag_print(&text, dag);
    return text.data;
}

/* ---- rounding and casts -------------------------------------------------------------------------------------- */

static void test_round(void **state)
{
    (void)state;
    CHECK_SAME(dtype_round(DTYPE_FLOAT64, 0.1), 0.1);
    CHECK_SAME(dtype_round(DTYPE_FLOAT32, 0.1), (double)0.1f);
    CHECK_SAME(dtype_round(DTYPE_FLOAT32, 1e300), inf);
    CHECK_SAME(dtype_round(DTYPE_FLOAT32, -1e-300), -0.0);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 0.1), 0.0999755859375);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 65504), 65504);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 65519.9), 65504);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 65520), inf);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, -1e9), -inf);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 2049), 2048); /* ties to even */
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 2051), 2052);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 0x1p-24), 0x1p-24);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 0x1p-25), 0);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 0x1.8p-25), 0x1p-24);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, 0x1.002p-14), 0x1p-14);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, -0.0), -0.0);
    CHECK_SAME(dtype_round(DTYPE_FLOAT16, nan_), nan_);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 0.1), 0.10009765625);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 257), 256);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 259), 260);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 3.3895313892515355e38), 3.3895313892515355e38);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 3.4e38), inf);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 0x1p-133), 0x1p-133);
    CHECK_SAME(dtype_round(DTYPE_BFLOAT16, 0x1p-134), 0);
    CHECK_SAME(dtype_round(DTYPE_BOOL, -0.5), 1);
    CHECK_SAME(dtype_round(DTYPE_BOOL, nan_), 1);
    CHECK_SAME(dtype_round(DTYPE_UINT8, -1), 255);
    CHECK_SAME(dtype_round(DTYPE_INT8, 200.7), -56);
    CHECK_SAME(dtype_round(DTYPE_INT32, 0x1p31), -0x1p31);
}

/* float16 has few values: each of them, and each midpoint between two, is rounded as it should. */
static void test_every_half(void **state)
{
    double last = 0;

    (void)state;
    for (int bits = 1; bits <= 0x7bff; bits++) {
        int exponent = bits >> 10, mantissa = bits & 0x3ff;
        double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24), middle;

        middle = (value + last) / 2;
        assert_true(same(dtype_round(DTYPE_FLOAT16, value), value));
        assert_true(same(dtype_round(DTYPE_FLOAT16, -value), -value));
        assert_true(same(dtype_round(DTYPE_FLOAT16, middle), bits % 2 == 0 ? value : last));
        assert_true(same(dtype_round(DTYPE_FLOAT16, nextafter(middle, inf)), value));
        assert_true(same(dtype_round(DTYPE_FLOAT16, nextafter(middle, 0)), last));
        last = value;
    }
}

static void test_convert(void **state)
{
    (void)state;
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_INT64, real(-2.9)).i, -2);
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_INT64, real(nan_)).i, 0);
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_INT64, real(inf)).i, INT64_MAX);
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_INT64, real(-inf)).i, INT64_MIN);
    assert_int_equal(dtype_convert(DTYPE_FLOAT64, DTYPE_INT64, real(-0x1p63)).i, INT64_MIN);
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_UINT8, real(-1)).i, 255);
    assert_int_equal(dtype_convert(DTYPE_FLOAT32, DTYPE_BOOL, real(nan_)).i, 1);
    assert_int_equal(dtype_convert(DTYPE_INT64, DTYPE_INT16, whole(65535)).i, -1);
    assert_int_equal(dtype_convert(DTYPE_INT64, DTYPE_INT32, whole(INT64_MIN)).i, 0);
    assert_int_equal(dtype_convert(DTYPE_INT64, DTYPE_BOOL, whole(256)).i, 1);
    /* once, not by way of double */
    CHECK_SAME(dtype_convert(DTYPE_INT64, DTYPE_FLOAT32, whole(0x4000004000000001)).f, 0x1.000002p62);
    CHECK_SAME(dtype_convert(DTYPE_INT64, DTYPE_FLOAT64, whole(INT64_MAX)).f, 0x1p63);
}

/* ---- primitives ---------------------------------------------------------------------------------------------- */

static double two(enum prim prim, double a, double b)
{
    const union scalar args[2] = {real(a), real(b)};

    return prim_eval(prim, DTYPE_FLOAT64, DTYPE_FLOAT64, args).f;
}

static bool compare(enum prim prim, double a, double b)
{
    const union scalar args[2] = {real(a), real(b)};

    return prim_eval(prim, DTYPE_BOOL, DTYPE_FLOAT64, args).i != 0;
}

static int64_t ints(enum prim prim, enum dtype dtype, int64_t a, int64_t b)
{
    const union scalar args[2] = {whole(a), whole(b)};

    return prim_eval(prim, dtype, dtype, args).i;
}

static int64_t rescaled(int64_t multiplier, int64_t shift, int64_t x)
{
    const union scalar args[3] = {whole(x), whole(multiplier), whole(shift)};

    return prim_eval(PRIM_RESCALE, DTYPE_INT32, DTYPE_INT32, args).i;
}

static void test_floats(void **state)
{
    (void)state;
    CHECK_SAME(two(PRIM_FLOORDIV, 7, 2), 3);
    CHECK_SAME(two(PRIM_FLOORDIV, -7, 2), -4);
    CHECK_SAME(two(PRIM_FLOORDIV, 1, 0), inf);
    CHECK_SAME(two(PRIM_FLOORDIV, -1, 0), -inf);
    CHECK_SAME(two(PRIM_FLOORDIV, 0, 0), nan_);
    CHECK_SAME(two(PRIM_FLOORDIV, -0.0, 2), -0.0);
    CHECK_SAME(two(PRIM_FLOORDIV, 1, -inf), -1);
    CHECK_SAME(two(PRIM_MOD, 7, -2), -1);
    CHECK_SAME(two(PRIM_MOD, -7, 2), 1);
    CHECK_SAME(two(PRIM_MOD, -1, inf), inf);
    CHECK_SAME(two(PRIM_MOD, 1, 0), nan_);
    CHECK_SAME(two(PRIM_MIN, nan_, 1), nan_);
    CHECK_SAME(two(PRIM_MIN, 1, nan_), nan_);
    CHECK_SAME(two(PRIM_MAX, nan_, 1), nan_);
    CHECK_SAME(two(PRIM_MAX, 1, nan_), nan_);
    CHECK_SAME(two(PRIM_MAX, -1, 1), 1);
    CHECK_SAME(two(PRIM_POW, nan_, 0), 1);
    CHECK_SAME(two(PRIM_RSQRT, 0, 0), inf);
    CHECK_SAME(two(PRIM_ABS, -0.0, 0), 0);
    CHECK_SAME(two(PRIM_EXP_UP, 0, 0), 0x1p32);
    CHECK_SAME(two(PRIM_EXP_DOWN, 0, 0), 0x1p-32);
    CHECK_SAME(two(PRIM_EXP_DOWN, inf, 0), inf);
    CHECK_SAME(two(PRIM_COPYSIGN, 3, -0.0), -3);
    CHECK_SAME(two(PRIM_COPYSIGN, -inf, 2), inf);
    assert_false(compare(PRIM_EQ, nan_, nan_));
    assert_true(compare(PRIM_NE, nan_, nan_));
    assert_false(compare(PRIM_LE, nan_, 1));
    assert_false(compare(PRIM_GE, nan_, 1));
    assert_true(compare(PRIM_EQ, 0, -0.0));
    assert_true(compare(PRIM_ISNAN, nan_, 0));
    assert_false(compare(PRIM_ISNAN, inf, 0));
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(ints(PRIM_ADD, DTYPE_INT8, 127, 1), -128);
    assert_int_equal(ints(PRIM_ADD, DTYPE_INT64, INT64_MAX, 1), INT64_MIN);
    assert_int_equal(ints(PRIM_SUB, DTYPE_UINT8, 0, 1), 255);
    assert_int_equal(ints(PRIM_MUL, DTYPE_INT32, 65536, 65536), 0);
    assert_int_equal(ints(PRIM_NEG, DTYPE_INT64, INT64_MIN, 0), INT64_MIN);
    assert_int_equal(ints(PRIM_ABS, DTYPE_INT8, -128, 0), -128);
    assert_int_equal(ints(PRIM_FLOORDIV, DTYPE_INT64, -7, 2), -4);
    assert_int_equal(ints(PRIM_FLOORDIV, DTYPE_INT64, 7, -2), -4);
    assert_int_equal(ints(PRIM_FLOORDIV, DTYPE_INT64, INT64_MIN, -1), INT64_MIN);
    assert_int_equal(ints(PRIM_FLOORDIV, DTYPE_INT64, 5, 0), 0);
    assert_int_equal(ints(PRIM_MOD, DTYPE_INT64, -7, 2), 1);
    assert_int_equal(ints(PRIM_MOD, DTYPE_INT64, 7, -2), -1);
    assert_int_equal(ints(PRIM_MOD, DTYPE_INT64, INT64_MIN, -1), 0);
    assert_int_equal(ints(PRIM_MOD, DTYPE_INT64, 5, 0), 0);
    assert_int_equal(ints(PRIM_POW, DTYPE_INT64, 3, 5), 243);
    assert_int_equal(ints(PRIM_POW, DTYPE_INT64, -1, -3), -1);
    assert_int_equal(ints(PRIM_POW, DTYPE_INT64, 2, -1), 0);
    assert_int_equal(ints(PRIM_GCD, DTYPE_INT64, -12, 18), 6);
    assert_int_equal(ints(PRIM_GCD, DTYPE_INT64, 0, INT64_MIN), INT64_MIN);
    assert_int_equal(ints(PRIM_GCD, DTYPE_UINT8, 0, 0), 0);
    assert_int_equal(ints(PRIM_MUL_HIGH, DTYPE_INT32, 3, 1 << 30), 2); /* 1.5 */
    assert_int_equal(ints(PRIM_MUL_HIGH, DTYPE_INT32, -3, 1 << 30), -1);
    assert_int_equal(ints(PRIM_MUL_HIGH, DTYPE_INT32, INT32_MIN, INT32_MIN), INT32_MAX);
    assert_int_equal(ints(PRIM_MUL_HIGH, DTYPE_INT32, INT32_MIN, INT32_MAX), -INT32_MAX);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, -3, 1), -2);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, 3, 1), 2);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, -5, 2), -1);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, -7, 0), -7);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, INT32_MIN, 31), -1);
    assert_int_equal(ints(PRIM_SHIFT_NEAR, DTYPE_INT32, 5, 33), 3); /* modulo 32 */
    assert_int_equal(
        rescaled(INT64_C(2) * 1500000000 - (INT64_C(1) << 32), -(1 << 28), -1000003),
        ints(PRIM_SHIFT_NEAR, DTYPE_INT32, ints(PRIM_MUL_HIGH, DTYPE_INT32, -1000003, 1500000000), 4));
    assert_int_equal(rescaled(INT32_MIN, INT32_MIN, -3),
                     -1);                           /* 2^30 and a shift of 1: -1.5 is -1, that half -1 */
    assert_int_equal(rescaled(1 << 30, 0, -3), -1); /* as they are */
    assert_int_equal(ints(PRIM_NOT, DTYPE_INT64, 5, 0), -6);
    assert_int_equal(ints(PRIM_NOT, DTYPE_UINT8, 5, 0), 250);
    assert_int_equal(ints(PRIM_NOT, DTYPE_BOOL, 1, 0), 0);
    assert_int_equal(ints(PRIM_XOR, DTYPE_INT64, 6, 3), 5);
    assert_int_equal(ints(PRIM_ADD, DTYPE_BOOL, 1, 1), 1);
    assert_int_equal(ints(PRIM_MUL, DTYPE_BOOL, 1, 0), 0);
}

/* ---- building ------------------------------------------------------------------------------------------------ */

static void test_hash_consing(void **state)
{
    struct dag *dag = dag_new(ARENA, 2);
    int x = dag_load(ARENA, dag, 0, DTYPE_FLOAT32), y = dag_load(ARENA, dag, 1, DTYPE_FLOAT32);
    int sum = dag_prim(ARENA, dag, PRIM_ADD, DTYPE_FLOAT32, x, y, NONE);

    (void)state;
    assert_int_equal(x, dag_load(ARENA, dag, 0, DTYPE_FLOAT32));
    assert_int_equal(sum, dag_prim(ARENA, dag, PRIM_ADD, DTYPE_FLOAT32, y, x, NONE));
    assert_int_not_equal(dag_prim(ARENA, dag, PRIM_SUB, DTYPE_FLOAT32, x, y, NONE),
                         dag_prim(ARENA, dag, PRIM_SUB, DTYPE_FLOAT32, y, x, NONE));
    assert_int_equal(dag_const(ARENA, dag, DTYPE_FLOAT32, 0.1),
                     dag_const(ARENA, dag, DTYPE_FLOAT32, (double)0.1f));
    assert_int_not_equal(dag_const(ARENA, dag, DTYPE_FLOAT32, 0.0),
                         dag_const(ARENA, dag, DTYPE_FLOAT32, -0.0));
    assert_int_equal(dag_const(ARENA, dag, DTYPE_FLOAT32, nan_), dag_const(ARENA, dag, DTYPE_FLOAT32, -nan_));
    assert_int_equal(dag_integer(ARENA, dag, DTYPE_INT8, 257), dag_const(ARENA, dag, DTYPE_INT8, 1));
    dag->result = dag_integer(ARENA, dag, DTYPE_INT64, INT64_MAX);
    dag_trim(ARENA, dag);
    assert_int_equal(dag_eval(dag, NULL, NULL).i, INT64_MAX);
}

static void test_folding(void **state)
{
    struct dag *dag = dag_new(ARENA, 1);
    int two_ = dag_const(ARENA, dag, DTYPE_FLOAT32, 2), three = dag_const(ARENA, dag, DTYPE_FLOAT32, 3);
    int third = dag_prim(ARENA, dag, PRIM_DIV, DTYPE_FLOAT32, two_, three, NONE);
    int one = dag_integer(ARENA, dag, DTYPE_INT64, 1), zero = dag_integer(ARENA, dag, DTYPE_INT64, 0);

    (void)state;
    CHECK_SAME(dag->nodes[third].number, (double)(2.0f / 3.0f));
    assert_int_equal(dag->nodes[dag_prim(ARENA, dag, PRIM_FLOORDIV, DTYPE_INT64, one, zero, NONE)].prim,
                     PRIM_FLOORDIV);
    assert_int_equal(dag->nodes[dag_prim(ARENA, dag, PRIM_MOD, DTYPE_INT64, one, zero, NONE)].prim, PRIM_MOD);
}

/* Bits keep what they say, there and back, and make one node of two. */
static void test_bits(void **state)
{
    struct dag *dag = dag_new(ARENA, 1);
    int x = dag_load(ARENA, dag, 0, DTYPE_FLOAT32), half = dag_const(ARENA, dag, DTYPE_FLOAT32, -0.5);
    int bits = dag_prim(ARENA, dag, PRIM_BITS, DTYPE_INT32, half, NONE, NONE);
    int wide = dag_prim(ARENA, dag, PRIM_BITS, DTYPE_INT64, dag_const(ARENA, dag, DTYPE_FLOAT64, 2), NONE,
                        NONE);
    int own = dag_prim(ARENA, dag, PRIM_BITS, DTYPE_INT32, x, NONE, NONE);

    (void)state;
    assert_int_equal(dag->nodes[bits].integer, (int32_t)0xbf000000);
    assert_int_equal(dag->nodes[wide].integer, 0x4000000000000000);
    assert_int_equal(dag_prim(ARENA, dag, PRIM_BITS, DTYPE_FLOAT32, bits, NONE, NONE), half);
    assert_int_equal(dag_prim(ARENA, dag, PRIM_BITS, DTYPE_FLOAT32, own, NONE, NONE), x);
}

static void test_sizes(void **state)
{
    const struct size batch = {"batch", 32, 0, "batch", 0, NULL};
    const int64_t now[1] = {5};
    struct dag *dag = dag_new(ARENA, 0);
    struct dag_node node = {.prim = PRIM_DIM, .dtype = DTYPE_INT64, .args = {-1, -1, -1}};
    int fixed;

    (void)state;
    node.dim = dim_const(ARENA, 7);
    fixed = dag_add(ARENA, dag, node);
    assert_int_equal(dag->nodes[fixed].prim, PRIM_CONST);
    assert_int_equal(dag->nodes[fixed].integer, 7);
    node.dim = dim_mul(ARENA, dim_size(ARENA, &batch), dim_const(ARENA, 3));
    dag->result = dag_prim(ARENA, dag, PRIM_ADD, DTYPE_INT64, dag_add(ARENA, dag, node), fixed, NONE);
    assert_int_equal(dag_eval(dag, NULL, now).i, 22);
    assert_string_equal(printed(dag), "dim(3 * batch) + 7");
}

/* What one primitive over x (input 0) and a constant becomes. */
static const char *becomes(enum prim prim, enum dtype dtype, double constant, bool constant_first)
{
    struct dag *dag = dag_new(ARENA, 1);
    int x = dag_load(ARENA, dag, 0, dtype), c = dag_const(ARENA, dag, dtype, constant);
    enum dtype result = prim >= PRIM_EQ && prim <= PRIM_GE ? DTYPE_BOOL : dtype;

    dag->result = constant_first ? dag_prim(ARENA, dag, prim, result, c, x, NONE)
                                 : dag_prim(ARENA, dag, prim, result, x, c, NONE);
    return printed(dag);
}

/* What the type alone decides. */
static void test_limits(void **state)
{
    (void)state;
    assert_string_equal(becomes(PRIM_LT, DTYPE_UINT8, 0, false), "False");
    assert_string_equal(becomes(PRIM_GE, DTYPE_UINT8, 0, false), "True");
    assert_string_equal(becomes(PRIM_GT, DTYPE_UINT8, 255, false), "False");
    assert_string_equal(becomes(PRIM_LE, DTYPE_INT8, 127, false), "True");
    assert_string_equal(becomes(PRIM_GT, DTYPE_UINT8, 0, true), "False");
    assert_string_equal(becomes(PRIM_LT, DTYPE_UINT8, 0, true), "0 < x0");
    assert_string_equal(becomes(PRIM_LT, DTYPE_INT16, -32768, false), "False");
    assert_string_equal(becomes(PRIM_LT, DTYPE_INT16, -32767, false), "x0 < -32767");
    assert_string_equal(becomes(PRIM_LT, DTYPE_BOOL, 0, false), "False");
    assert_string_equal(becomes(PRIM_LT, DTYPE_FLOAT32, 0, false), "x0 < 0.0");
    assert_string_equal(becomes(PRIM_MAX, DTYPE_UINT8, 0, false), "x0");
    assert_string_equal(becomes(PRIM_MAX, DTYPE_UINT8, 255, true), "255");
    assert_string_equal(becomes(PRIM_MIN, DTYPE_INT8, 127, true), "x0");
    assert_string_equal(becomes(PRIM_MIN, DTYPE_INT8, -128, false), "-128");
    assert_string_equal(becomes(PRIM_MIN, DTYPE_INT8, 100, false), "minimum(x0, 100)");
}

static void test_simplification(void **state)
{
    (void)state;
    assert_string_equal(becomes(PRIM_ADD, DTYPE_FLOAT32, 0.0, false), "x0 + 0.0");
    assert_string_equal(becomes(PRIM_ADD, DTYPE_FLOAT32, -0.0, false), "x0");
    assert_string_equal(becomes(PRIM_ADD, DTYPE_INT64, 0, true), "x0");
    assert_string_equal(becomes(PRIM_SUB, DTYPE_FLOAT32, 0.0, false), "x0");
    assert_string_equal(becomes(PRIM_SUB, DTYPE_FLOAT32, -0.0, false), "x0 - -0.0");
    assert_string_equal(becomes(PRIM_SUB, DTYPE_FLOAT32, 0.0, true), "0.0 - x0");
    assert_string_equal(becomes(PRIM_MUL, DTYPE_FLOAT32, 1, true), "x0");
    assert_string_equal(becomes(PRIM_MUL, DTYPE_FLOAT32, 0, true), "0.0 * x0");
    assert_string_equal(becomes(PRIM_MUL, DTYPE_INT32, 0, true), "0");
    assert_string_equal(becomes(PRIM_DIV, DTYPE_FLOAT32, 4, false), "x0 * 0.25");
    assert_string_equal(becomes(PRIM_DIV, DTYPE_FLOAT32, -0.5, false), "x0 * -2.0");
    assert_string_equal(becomes(PRIM_DIV, DTYPE_FLOAT32, 6, false), "x0 / 6.0");
    assert_string_equal(becomes(PRIM_DIV, DTYPE_FLOAT32, 0, false), "x0 / 0.0");
    assert_string_equal(becomes(PRIM_DIV, DTYPE_FLOAT32, 1, false), "x0");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, 2, false), "x0 * x0");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, 3, false), "x0 * x0 * x0");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, 0.5, false), "sqrt(x0)");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, -2, false), "1.0 / (x0 * x0)");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, 0, false), "1.0");
    assert_string_equal(becomes(PRIM_POW, DTYPE_FLOAT32, 2.5, false), "pow(x0, 2.5)");
    assert_string_equal(becomes(PRIM_POW, DTYPE_INT64, 5, false), "pow(x0, 5)");
    assert_string_equal(becomes(PRIM_MAX, DTYPE_FLOAT32, -inf, false), "x0");
    assert_string_equal(becomes(PRIM_MIN, DTYPE_FLOAT32, -inf, false), "minimum(x0, -inf)");
    assert_string_equal(becomes(PRIM_AND, DTYPE_BOOL, 1, true), "x0");
    assert_string_equal(becomes(PRIM_AND, DTYPE_BOOL, 0, true), "False");
    assert_string_equal(becomes(PRIM_OR, DTYPE_UINT8, 255, false), "255");
    assert_string_equal(becomes(PRIM_XOR, DTYPE_INT64, 0, false), "x0");
    assert_string_equal(becomes(PRIM_XOR, DTYPE_BOOL, 1, false), "x0 ^ True");
}

static void test_casts(void **state)
{
    static const struct {
        enum dtype from, by, to;
        const char *text;
    } cases[] = {
        {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT32, "x0"},
        {DTYPE_FLOAT16, DTYPE_FLOAT32, DTYPE_INT8, "int8(x0)"},
        {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_FLOAT32, "float32(float16(x0))"},
        {DTYPE_UINT8, DTYPE_INT8, DTYPE_UINT8, "uint8(int8(x0))"},
        {DTYPE_UINT8, DTYPE_INT16, DTYPE_INT64, "int64(x0)"},
        {DTYPE_BOOL, DTYPE_FLOAT16, DTYPE_BOOL, "x0"},
        {DTYPE_INT32, DTYPE_FLOAT32, DTYPE_INT32, "int32(float32(x0))"},
        {DTYPE_INT32, DTYPE_FLOAT64, DTYPE_INT64, "int64(x0)"},
        {DTYPE_INT64, DTYPE_BOOL, DTYPE_INT64, "int64(bool(x0))"},
        {DTYPE_BFLOAT16, DTYPE_FLOAT16, DTYPE_BFLOAT16, "bfloat16(float16(x0))"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dag *dag = dag_new(ARENA, 1);
        int node = dag_load(ARENA, dag, 0, cases[i].from);

        dag->result = dag_cast(ARENA, dag, dag_cast(ARENA, dag, node, cases[i].by), cases[i].to);
        assert_string_equal(printed(dag), cases[i].text);
    }
}

static void test_inline_and_trim(void **state)
{
    struct dag *outer = dag_new(ARENA, 2), *inner = dag_new(ARENA, 2);
    int a = dag_load(ARENA, inner, 0, DTYPE_FLOAT32), b = dag_load(ARENA, inner, 1, DTYPE_FLOAT32), inputs[2];

    (void)state;
    dag_prim(ARENA, inner, PRIM_EXP, DTYPE_FLOAT32, a, NONE, NONE); /* not needed, not copied */
    inner->result = dag_prim(ARENA, inner, PRIM_SUB, DTYPE_FLOAT32, a, b, NONE);
    inputs[0] = dag_load(ARENA, outer, 1, DTYPE_FLOAT32);
    inputs[1] = dag_const(ARENA, outer, DTYPE_FLOAT32, 0);
    outer->result = dag_inline(ARENA, outer, inner, inputs);
    assert_string_equal(printed(outer), "x1"); /* x - 0.0 */
    assert_int_equal(outer->count, 2);
    assert_false(dag_is_identity(outer));
    dag_trim(ARENA, outer);
    assert_int_equal(outer->count, 1);
    assert_true(dag_is_identity(dag_identity(ARENA, DTYPE_INT8)));
    dag_prim(ARENA, outer, PRIM_EXP, DTYPE_FLOAT32, outer->result, NONE, NONE); /* grows again */
    assert_int_equal(outer->count, 2);
}

static void test_print(void **state)
{
    struct dag *dag = dag_new(ARENA, 2);
    int x = dag_load(ARENA, dag, 0, DTYPE_FLOAT32), y = dag_load(ARENA, dag, 1, DTYPE_FLOAT32), e, d;

    (void)state;
    d = dag_prim(ARENA, dag, PRIM_SUB, DTYPE_FLOAT32, x,
                 dag_prim(ARENA, dag, PRIM_SUB, DTYPE_FLOAT32, y, x, 0), 0);
    dag->result = dag_prim(ARENA, dag, PRIM_MUL, DTYPE_FLOAT32,
                           dag_prim(ARENA, dag, PRIM_NEG, DTYPE_FLOAT32, d, 0, 0), d, 0);
    assert_string_equal(printed(dag), "t3 = x0 - (x1 - x0); -t3 * t3");
    e = dag_prim(ARENA, dag, PRIM_LT, DTYPE_BOOL, x, y, 0);
    e = dag_prim(ARENA, dag, PRIM_AND, DTYPE_BOOL, e, dag_prim(ARENA, dag, PRIM_ISNAN, DTYPE_BOOL, y, 0, 0),
                 0);
    dag->result = dag_prim(ARENA, dag, PRIM_SELECT, DTYPE_FLOAT32, e,
                           dag_const(ARENA, dag, DTYPE_FLOAT32, 0.5), x);
    assert_string_equal(printed(dag), "where((x0 < x1) & isnan(x1), 0.5, x0)");
}

/* ---- simplified and plain DAGs agree on every value ----------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static unsigned roll(unsigned sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % sides;
}

/* dag_add without any thought. */
static int plain_add(struct dag *dag, struct dag_node node)
{
    ARENA_PUSH(ARENA, dag->nodes, dag->count, node);
    return dag->count - 1;
}

/* A random operand of `dtype` among the nodes so far, by index into the plain dag. */
static int pick(const struct dag *dag, enum dtype dtype)
{
    for (;;) {
        int i = (int)roll((unsigned)dag->count);

        if (dag->nodes[i].dtype == dtype)
            return i;
    }
}

static const enum dtype mixed[] = {DTYPE_BOOL,    DTYPE_UINT8,   DTYPE_INT8,    DTYPE_INT64,
                                   DTYPE_FLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_BFLOAT16};
enum { MIXED = sizeof mixed / sizeof *mixed, GROWN = 40 };

static bool takes(enum prim prim, enum dtype dtype)
{
    if (prim == PRIM_LOAD || prim == PRIM_CONST || prim == PRIM_DIM || prim == PRIM_POW)
        return false; /* pow is what PyTorch does, not what pow does: test_simplification */
    if (prim == PRIM_BITS || prim == PRIM_GCD || prim == PRIM_MUL_HIGH || prim == PRIM_SHIFT_NEAR ||
        prim == PRIM_RESCALE)
        return false; /* of other types: test_bits, test_integers */
    if (prim == PRIM_COPYSIGN)
        return false; /* NaN has some sign or other */
    if (prim == PRIM_AS_FLOAT16 || prim == PRIM_AS_BFLOAT16)
        return dtype == DTYPE_FLOAT32;
    if (prim >= PRIM_AND && prim <= PRIM_NOT)
        return !dtype_is_float(dtype);
    if (prim == PRIM_DIV || (prim >= PRIM_EXP && prim <= PRIM_COS))
        return dtype_is_float(dtype);
    return true;
}

static struct dag_node random_node(const struct dag *dag)
{
    struct dag_node node = {.args = {-1, -1, -1}};
    enum dtype dtype;

    do {
        node.prim = (enum prim)roll(PRIM_COUNT);
        dtype = mixed[roll(MIXED)];
    } while (!takes(node.prim, dtype));
    for (int k = 0; k < prim_rows[node.prim].arity; k++)
        node.args[k] = pick(dag, node.prim == PRIM_SELECT && k == 0 ? DTYPE_BOOL : dtype);
    node.dtype = node.prim == PRIM_CAST ? mixed[roll(MIXED)] : dtype;
    if ((node.prim >= PRIM_EQ && node.prim <= PRIM_GE) || node.prim == PRIM_ISNAN)
        node.dtype = DTYPE_BOOL;
    return node;
}

static void compare_dags(const struct dag *plain, const struct dag *clever)
{
    static const double reals[] = {
        0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-7, 65504, 1e30, (double)INFINITY, -(double)INFINITY, (double)NAN};
    static const int64_t integers[] = {0, 1, -1, 2, 127, -128, 255, INT64_MAX, INT64_MIN, 12345};
    enum dtype dtype = plain->nodes[plain->result].dtype;

    assert_int_equal(dtype, clever->nodes[clever->result].dtype);
    for (int round = 0; round < 12; round++) {
        union scalar inputs[2 * MIXED], a, b;

        for (int i = 0; i < 2 * MIXED; i++) {
            enum dtype type = mixed[i % MIXED];

            inputs[i] = dtype_is_float(type)
                            ? real(dtype_round(type, reals[roll(sizeof reals / sizeof *reals)]))
                            : whole(dtype_wrap(type, integers[roll(10)]));
        }
        a = dag_eval(plain, inputs, NULL);
        b = dag_eval(clever, inputs, NULL);
        if (dtype_is_float(dtype) ? same(a.f, b.f) : a.i == b.i)
            continue;
        print_error("plain:  %s\nclever: %s\n", printed(plain), printed(clever));
        fail();
    }
}

static void test_simplification_is_exact(void **state)
{
    static const double constants[] = {
        0.0, -0.0, 1, -1, 2, 0.25, 3, (double)INFINITY, -(double)INFINITY, (double)NAN};

    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct dag *plain = dag_new(ARENA, 2 * MIXED), *clever = dag_new(ARENA, 2 * MIXED);
        int moved[2 * MIXED + 3 * MIXED + GROWN];

        for (int i = 0; i < 2 * MIXED; i++) {
            moved[plain_add(plain,
                            (struct dag_node){.prim = PRIM_LOAD, .dtype = mixed[i % MIXED], .input = i})] =
                dag_load(ARENA, clever, i, mixed[i % MIXED]);
        }
        for (int i = 0; i < 3 * MIXED; i++) {
            int index = dag_const(ARENA, clever, mixed[i % MIXED], constants[roll(10)]);

            moved[plain_add(plain, clever->nodes[index])] = index;
        }
        for (int i = 0; i < GROWN; i++) {
            struct dag_node node = random_node(plain);
            int args[3] = {-1, -1, -1}, index = plain_add(plain, node);

            for (int k = 0; k < prim_rows[node.prim].arity; k++)
                args[k] = moved[node.args[k]];
            moved[index] = dag_prim(ARENA, clever, node.prim, node.dtype, args[0], args[1], args[2]);
            plain->result = index;
            clever->result = moved[index];
            compare_dags(plain, clever);
        }
        arena_free(ARENA);
        memset(ARENA, 0, sizeof *ARENA);
    }
}

/* ---- the lines against PyTorch -------------------------------------------------------------------------------- */

#define POINTS 7
static const double points[POINTS] = {-3, -1, -0.5, 0, 0.5, 1, 3};

/* reference/tensorplay-activations.md section 8: PyTorch's values and gradients in float64, to 7 digits. */
static const struct {
    const char *name;
    double numbers[2], y[POINTS], dx[POINTS];
} known[] = {
    {"gelu",
     {0},
     {-0.004049694, -0.1586553, -0.1542688, 0, 0.3457312, 0.8413447, 2.99595},
     {-0.01194565, -0.08331547, 0.1325049, 0.5, 0.8674951, 1.083315, 1.011946}},
    {"gelu_tanh",
     {0},
     {-0.003637392, -0.158808, -0.154286, 0, 0.345714, 0.841192, 2.996363},
     {-0.01158417, -0.08296408, 0.1326301, 0.5, 0.8673699, 1.082964, 1.011584}},
    {"sigmoid",
     {0},
     {0.04742587, 0.2689414, 0.3775407, 0.5, 0.6224593, 0.7310586, 0.9525741},
     {0.04517666, 0.1966119, 0.2350037, 0.25, 0.2350037, 0.1966119, 0.04517666}},
    {"tanh",
     {0},
     {-0.9950548, -0.7615942, -0.4621172, 0, 0.4621172, 0.7615942, 0.9950548},
     {0.009866037, 0.4199743, 0.7864477, 1, 0.7864477, 0.4199743, 0.009866037}},
    {"silu",
     {0},
     {-0.1422776, -0.2689414, -0.1887703, 0, 0.3112297, 0.7310586, 2.857722},
     {-0.08810411, 0.07232949, 0.2600388, 0.5, 0.7399612, 0.9276705, 1.088104}},
    {"mish",
     {0},
     {-0.1456475, -0.3034015, -0.2207438, 0, 0.3752452, 0.8650984, 2.986535},
     {-0.09339311, 0.05921676, 0.2895107, 0.6, 0.8864244, 1.049036, 1.021107}},
    {"softplus",
     {1, 20},
     {0.04858735, 0.3132617, 0.474077, 0.6931472, 0.974077, 1.313262, 3.048587},
     {0.04742587, 0.2689414, 0.3775407, 0.5, 0.6224593, 0.7310586, 0.9525741}},
    {"logsigmoid",
     {0},
     {-3.048587, -1.313262, -0.974077, -0.6931472, -0.474077, -0.3132617, -0.04858735},
     {0.9525741, 0.7310586, 0.6224593, 0.5, 0.3775407, 0.2689414, 0.04742587}},
    {"elu",
     {1},
     {-0.9502129, -0.6321206, -0.3934693, 0, 0.5, 1, 3},
     {0.04978707, 0.3678794, 0.6065307, 1, 1, 1, 1}},
    {"selu",
     {0},
     {-1.670569, -1.111331, -0.6917582, 0, 0.5253505, 1.050701, 3.152103},
     {0.08753061, 0.6467686, 1.066341, 1.758099, 1.050701, 1.050701, 1.050701}},
    {"celu",
     {2},
     {-1.55374, -0.7869387, -0.4423984, 0, 0.5, 1, 3},
     {0.2231302, 0.6065307, 0.7788008, 1, 1, 1, 1}},
    {"softsign",
     {0},
     {-0.75, -0.5, -0.3333333, 0, 0.3333333, 0.5, 0.75},
     {0.0625, 0.25, 0.4444444, 1, 0.4444444, 0.25, 0.0625}},
    {"tanhshrink",
     {0},
     {-2.004945, -0.2384058, -0.03788284, 0, 0.03788284, 0.2384058, 2.004945},
     {0.990134, 0.5800257, 0.2135523, 0, 0.2135523, 0.5800257, 0.990134}},
    {"hardsigmoid",
     {0},
     {0, 0.3333333, 0.4166667, 0.5, 0.5833333, 0.6666667, 1},
     {0, 0.1666667, 0.1666667, 0.1666667, 0.1666667, 0.1666667, 0}},
    {"hardswish",
     {0},
     {0, -0.3333333, -0.2083333, 0, 0.2916667, 0.6666667, 3},
     {0, 0.1666667, 0.3333333, 0.5, 0.6666667, 0.8333333, 1}},
    {"hardshrink", {0.5}, {-3, -1, 0, 0, 0, 1, 3}, {1, 1, 0, 0, 0, 1, 1}},
    {"softshrink", {0.5}, {-2.5, -0.5, 0, 0, 0, 0.5, 2.5}, {1, 1, 0, 0, 0, 1, 1}},
    {"threshold", {0.5, -7}, {-7, -7, -7, -7, -7, 1, 3}, {0, 0, 0, 0, 0, 1, 1}},
    {"leaky_relu", {0.25}, {-0.75, -0.25, -0.125, 0, 0.5, 1, 3}, {0.25, 0.25, 0.25, 0.25, 1, 1, 1}},
    {"leaky_relu", {-0.25}, {0.75, 0.25, 0.125, 0, 0.5, 1, 3}, {-0.25, -0.25, -0.25, -0.25, 1, 1, 1}},
    {"relu", {0}, {0, 0, 0, 0, 0.5, 1, 3}, {0, 0, 0, 0, 1, 1, 1}},
    {"relu6", {0}, {0, 0, 0, 0, 0.5, 1, 3}, {0, 0, 0, 0, 1, 1, 1}},
    {"hardtanh", {-1, 1}, {-1, -1, -0.5, 0, 0.5, 1, 1}, {0, 0, 1, 1, 1, 0, 0}},
    {"square", {0}, {9, 1, 0.25, 0, 0.25, 1, 9}, {-6, -2, -1, 0, 1, 2, 6}},
    {"abs", {0}, {3, 1, 0.5, 0, 0.5, 1, 3}, {-1, -1, -1, 0, 1, 1, 1}},
};

static double line_at(const char *name, const double *numbers, double x)
{
    union scalar input = real(x);

    return dag_eval(elementwise_dag(&cx, elementwise_find(name), DTYPE_FLOAT64, numbers), &input, NULL).f;
}

static double gradient_at(const char *name, const double *numbers, double x, double g)
{
    const union scalar inputs[3] = {real(x), real(line_at(name, numbers, x)), real(g)};
    struct dag *dag = elementwise_gradient(&cx, elementwise_find(name), DTYPE_FLOAT64, numbers, 0);

    return dag_eval(dag, inputs, NULL).f;
}

static bool near(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static void check_near(const char *what, double x, double found, double expected, double tolerance)
{
    if (near(found, expected, tolerance))
        return;
    print_error("%s at %g is %.9g, not %.9g\n", what, x, found, expected);
    fail();
}

static void test_known_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < POINTS; k++) {
            double x = points[k], g = 2.5;

            check_near(known[i].name, x, line_at(known[i].name, known[i].numbers, x), known[i].y[k], 5e-7);
            check_near(known[i].name, x, gradient_at(known[i].name, known[i].numbers, x, g) / g,
                       known[i].dx[k], 6e-7);
        }
}

/* In float64, to 8 units in the last place of values of 20 digits: where formulas meet, and where a part of one is not finite. */
static void test_doubles(void **state)
{
    static const struct {
        const char *name;
        double x, expected;
    } cases[] = {
        {"erfc", 0.5900001, 0.40406342313533699334},     {"erfc", 0.6, 0.39614390915207409492},
        {"erfc", 0.7, 0.32219880616258155772},           {"erfc", 0.84, 0.23485728854500548266},
        {"erfc", 0.95, 0.17910919272672207841},          {"erfc", -0.6, 1.6038560908479259051},
        {"erfc", 1.0, 0.15729920705028513066},           {"erfc", 4.92, 3.4530692051389787364e-12},
        {"erfc", 8.1, 2.2163085720657539812e-30},        {"erfc", 26.0, 5.6631924088561428465e-296},
        {"sigmoid", -707.5, 5.4532329910667416073e-308}, {"sigmoid", -1e-06, 0.49999975000000000002},
        {"silu", -712.03, -4.1859915045385054642e-307},  {"silu", -709.8, -3.8807238534030313451e-306},
        {"silu", -20.5, -2.5628133728889139052e-8},      {"mish", -712.03, -4.1859915045385054642e-307},
        {"mish", -700.5, -4.1891273811071737401e-302},   {"mish", -7.6, -0.0038024791780462777774},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double found = line_at(cases[i].name, NULL, cases[i].x), expected = cases[i].expected;

        if (!(fabs(found - expected) <= 8 * 1.12e-16 * fabs(expected)))
            fail_msg("%s(%.17g) is %.17g, not %.17g", cases[i].name, cases[i].x, found, expected);
    }
}

/* At NaN, and at the infinities: sections 3 and 4 there. */
static void test_special_values(void **state)
{
    static const struct {
        const char *name;
        double numbers[2], low, high;
    } cases[] = {
        {"relu", {0}, 0, (double)INFINITY},
        {"relu6", {0}, 0, 6},
        {"hardtanh", {-1, 1}, -1, 1},
        {"leaky_relu", {0.01}, -(double)INFINITY, (double)INFINITY},
        {"leaky_relu", {0}, (double)NAN, (double)INFINITY},
        {"threshold", {0, -7}, -7, (double)INFINITY},
        {"elu", {1.5}, -1.5, (double)INFINITY},
        {"celu", {2}, -2, (double)INFINITY},
        {"selu", {0}, -1.7580993408473766, (double)INFINITY},
        {"gelu", {0}, (double)NAN, (double)INFINITY},
        {"gelu_tanh", {0}, (double)NAN, (double)INFINITY},
        {"silu", {0}, (double)NAN, (double)INFINITY},
        {"mish", {0}, (double)NAN, (double)INFINITY},
        {"hardswish", {0}, (double)NAN, (double)INFINITY},
        {"hardsigmoid", {0}, 0, 1},
        {"sigmoid", {0}, 0, 1},
        {"tanh", {0}, -1, 1},
        {"softplus", {1, 20}, 0, (double)INFINITY},
        {"logsigmoid", {0}, -(double)INFINITY, 0},
        {"softsign", {0}, (double)NAN, (double)NAN},
        {"tanhshrink", {0}, -(double)INFINITY, (double)INFINITY},
        {"hardshrink", {0.5}, -(double)INFINITY, (double)INFINITY},
        {"softshrink", {0.5}, -(double)INFINITY, (double)INFINITY},
        {"ceil", {0}, -(double)INFINITY, (double)INFINITY},
        {"round", {0}, -(double)INFINITY, (double)INFINITY},
        {"trunc", {0}, -(double)INFINITY, (double)INFINITY},
        {"exp", {0}, 0, (double)INFINITY},
        {"log2", {0}, (double)NAN, (double)INFINITY},
        {"reciprocal", {0}, 0, 0},
        {"atan", {0}, -1.5707963267948966, 1.5707963267948966},
        {"asin", {0}, (double)NAN, (double)NAN},
        {"acos", {0}, (double)NAN, (double)NAN},
        {"asinh", {0}, -(double)INFINITY, (double)INFINITY},
        {"acosh", {0}, (double)NAN, (double)INFINITY},
        {"atanh", {0}, (double)NAN, (double)NAN},
        {"erfc", {0}, 2, 0},
        {"lgamma", {0}, (double)INFINITY, (double)INFINITY},
        {"digamma", {0}, (double)NAN, (double)INFINITY},
        {"erfinv", {0}, (double)NAN, (double)NAN},
        {"i0", {0}, (double)NAN, (double)NAN},
        {"_i1", {0}, (double)NAN, (double)NAN},
        {"_i0e", {0}, 0, 0},
        {"_i1e", {0}, 0, 0},
        {"_k0", {0}, (double)NAN, 0},
        {"_k1", {0}, (double)NAN, 0},
        {"_k0e", {0}, (double)NAN, 0},
        {"_k1e", {0}, (double)NAN, 0},
        {"_bessel_j0", {0}, (double)NAN, (double)NAN},
        {"_bessel_y1", {0}, (double)NAN, (double)NAN},
        {"_spherical_bessel_j0", {0}, 0, 0},
        {"_airy_ai", {0}, (double)NAN, (double)NAN},
        {"_erfcx", {0}, (double)INFINITY, 0},
        {"_ndtr", {0}, 0, 1},
        {"_ndtri", {0}, (double)NAN, (double)NAN},
        {"_log_ndtr", {0}, -(double)INFINITY, 0},
        {"_entr", {0}, -(double)INFINITY, -(double)INFINITY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_near(cases[i].name, nan_, line_at(cases[i].name, cases[i].numbers, nan_), nan_, 0);
        check_near(cases[i].name, -inf, line_at(cases[i].name, cases[i].numbers, -inf), cases[i].low, 1e-15);
        check_near(cases[i].name, inf, line_at(cases[i].name, cases[i].numbers, inf), cases[i].high, 1e-15);
    }
    CHECK_SAME(gradient_at("relu", NULL, nan_, 3), 3); /* g passes */
    CHECK_SAME(gradient_at("threshold", (double[]){0, 9}, nan_, 3), 3);
    CHECK_SAME(gradient_at("leaky_relu", (double[]){0.5}, nan_, 3), 1.5);
    CHECK_SAME(gradient_at("relu6", NULL, 6, 3), 0);
    CHECK_SAME(gradient_at("sigmoid", NULL, -1000, 3), 0);
    CHECK_SAME(gradient_at("softplus", (double[]){1, 1e9}, 800, 3), 3); /* e^800 overflows */
    CHECK_SAME(gradient_at("logsigmoid", NULL, 800, 3), 0);
    CHECK_SAME(line_at("sign", NULL, nan_), 0);
    CHECK_SAME(line_at("hardtanh", (double[]){-inf, 2}, -1e300), -1e300);
}

static void test_rounding(void **state)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    0.3,
                                    -0.3,
                                    0.5,
                                    -0.5,
                                    0.7,
                                    -0.7,
                                    1.5,
                                    -1.5,
                                    2.5,
                                    -2.5,
                                    3.5,
                                    -3.5,
                                    1e15,
                                    -1e17,
                                    4503599627370497.5,
                                    -2147483648.5,
                                    1e-300,
                                    -1e-300};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        CHECK_SAME(line_at("round", NULL, values[i]), nearbyint(values[i]));
        CHECK_SAME(line_at("ceil", NULL, values[i]), ceil(values[i]));
        CHECK_SAME(line_at("trunc", NULL, values[i]), trunc(values[i]));
        CHECK_SAME(line_at("floor", NULL, values[i]), floor(values[i]));
    }
}

static void test_math(void **state)
{
    static const struct {
        const char *name;
        double (*reference)(double);
        double low, high;
    } cases[] = {
        {"exp", exp, -20, 20},     {"exp2", exp2, -20, 20},   {"expm1", expm1, -5, 5},
        {"log", log, 0.01, 9},     {"log1p", log1p, -0.9, 9}, {"log2", log2, 0.01, 9},
        {"log10", log10, 0.01, 9}, {"sqrt", sqrt, 0, 9},      {"sin", sin, -9, 9},
        {"cos", cos, -9, 9},       {"tan", tan, -1.5, 1.5},   {"sinh", sinh, -5, 5},
        {"cosh", cosh, -5, 5},     {"tanh", tanh, -5, 5},     {"erf", erf, -3, 3},
        {"abs", fabs, -3, 3},      {"atan", atan, -9, 9},     {"asin", asin, -1, 1},
        {"acos", acos, -1, 1},     {"asinh", asinh, -5, 5},   {"acosh", acosh, 1, 9},
        {"atanh", atanh, -1, 1},   {"erfc", erfc, -3, 30},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k <= 50; k++) {
            double x = cases[i].low + (cases[i].high - cases[i].low) * k / 50;

            check_near(cases[i].name, x, line_at(cases[i].name, NULL, x), cases[i].reference(x), 1e-14);
        }
}

static int count_numbers(const struct elementwise_row *row)
{
    int commas = 0;

    for (const char *c = row->args; *c; c++)
        commas += *c == ',';
    return commas + 1 - row->tensors;
}

/* Every gradient of every line is the slope of its value, away from kinks; with numbers that no default hides. Two lines are
 * there for gradients that are not. */
static void test_gradients(void **state)
{
    static const double xs[] = {-4.3, -2.2, -1.3, -0.7, -0.21, 0.17, 0.4, 0.83, 1.6, 2.4, 3.9, 6.7, 25.3};
    int checked = 0;

    (void)state;
    for (int i = 0; i < elementwise_row_count; i++) {
        const struct elementwise_row *row = &elementwise_rows[i];
        double numbers[2] = {0.6, 1.7};

        if (strcmp(row->name, "_instead") == 0 || strcmp(row->name, "_graded") == 0 ||
            strncmp(row->name, "_fake_quantize", 14) == 0) /* other gradients are their purpose */
            continue;
        assert_true(count_numbers(row) <= 2);
        for (int t = 0; t < row->tensors; t++) {
            struct dag *value = elementwise_dag(&cx, row, DTYPE_FLOAT64, numbers);
            struct dag *slope = elementwise_gradient(&cx, row, DTYPE_FLOAT64, numbers, t);

            for (size_t k = 0; slope && k < sizeof xs / sizeof *xs; k++) {
                double h = 1e-6, g = 1.5;
                union scalar in[5] = {real(xs[k]), real(1.9), real(0.7)}, low[3], high[3];

                in[row->tensors] = dag_eval(value, in, NULL);
                in[row->tensors + 1] = real(g);
                memcpy(low, in, sizeof low);
                memcpy(high, in, sizeof high);
                low[t].f -= h;
                high[t].f += h;

                double expected = (dag_eval(value, high, NULL).f - dag_eval(value, low, NULL).f) / (2 * h) *
                                  g;
                double found = dag_eval(slope, in, NULL).f;

                if (strcmp(row->name, "frac") == 0 && fabs(xs[k] - trunc(xs[k])) < 1e-5)
                    continue;
                if (strcmp(row->name, "pow") == 0 && xs[k] < 0)
                    continue;
                if (strcmp(row->name, "_no_less") == 0 && xs[k] < numbers[0])
                    continue;
                if (!near(found, expected, 1e-4) && !isnan(expected))
                    print_error("gradient %d of %s at %g is %g, not %g\n", t, row->name, xs[k], found,
                                expected);
                assert_true(near(found, expected, 1e-4) || isnan(expected));
                checked++;
            }
        }
    }
    assert_true(checked > 500);
}

/* Kinks of two tensors: ties share. */
static void test_two_tensors(void **state)
{
    const struct elementwise_row *row = elementwise_find("maximum"), *power = elementwise_find("pow");
    const union scalar tie[4] = {real(2), real(2), real(2), real(3)},
                       zero[4] = {real(0), real(0), real(1), real(3)};

    (void)state;
    CHECK_SAME(dag_eval(elementwise_gradient(&cx, row, DTYPE_FLOAT64, NULL, 0), tie, NULL).f, 1.5);
    CHECK_SAME(dag_eval(elementwise_gradient(&cx, row, DTYPE_FLOAT64, NULL, 1), tie, NULL).f, 1.5);
    CHECK_SAME(dag_eval(elementwise_gradient(&cx, power, DTYPE_FLOAT64, NULL, 0), zero, NULL).f, 0);
    CHECK_SAME(dag_eval(elementwise_gradient(&cx, power, DTYPE_FLOAT64, NULL, 1), zero, NULL).f, 0);
    assert_null(elementwise_gradient(&cx, elementwise_find("sign"), DTYPE_FLOAT64, NULL, 0));
}

/* PyTorch's slopes of losses at kinks and bounds. */
static void test_losses(void **state)
{
    static const struct {
        const char *name;
        double numbers[1], x, target, y, dx, dtarget;
    } cases[] = {
        {"_smooth_l1_loss", {0.5}, 2.5, 2, 0.25, 3, -3},
        {"_smooth_l1_loss", {0.5}, 2, 2.25, 0.0625, -1.5, 1.5},
        {"_huber_loss", {0.5}, 1.5, 2, 0.125, -1.5, 1.5},
        {"_bce_loss", {0}, 1, 0, 100, 3 * (1 / 9.999999960041972e-13), -(double)INFINITY},
        {"_bce_loss", {0}, 0, 0, 0, 0, (double)INFINITY},
        {"_kl_div", {0}, -1, 0, 0, -0.0, (double)NAN},
        {"_logits_loss", {0}, 0, 1, 0.69314718055994531, -1.5, -0.0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct elementwise_row *row = elementwise_find(cases[i].name);
        union scalar in[4] = {real(cases[i].x), real(cases[i].target), real(0), real(3)};

        CHECK_SAME(dag_eval(elementwise_dag(&cx, row, DTYPE_FLOAT64, cases[i].numbers), in, NULL).f,
                   cases[i].y);
        CHECK_SAME(dag_eval(elementwise_gradient(&cx, row, DTYPE_FLOAT64, cases[i].numbers, 0), in, NULL).f,
                   cases[i].dx);
        CHECK_SAME(dag_eval(elementwise_gradient(&cx, row, DTYPE_FLOAT64, cases[i].numbers, 1), in, NULL).f,
                   cases[i].dtarget);
    }
    CHECK_SAME(gradient_at("_margin_loss", (double[]){2}, 0, 3), 0);
    CHECK_SAME(gradient_at("_no_less", (double[]){2}, 0, 3), 3);
    assert_null(elementwise_gradient(&cx, elementwise_find("_soft_margin_loss"), DTYPE_FLOAT64, NULL, 1));
}

/* Numbers of integers from -8 to 7, with gradients straight through where the integer is in range. */
static void test_fake_quantize(void **state)
{
    static const struct {
        double x, tensor, channel, slope; /* with one scale, with one for each channel */
    } cases[] = {
        {0.25, 0, 0, 1.5},    {0.75, 1, 1, 1.5},        {-0.3, -0.5, -0.5, 1.5},
        {2.6, 2.5, 2.5, 1.5}, {3, 2.5, 2.5, 0},         {-5, -5, -5, 1.5},
        {-9, -5, -5, 0},      {(double)NAN, -5, -5, 0}, {(double)INFINITY, 2.5, -5, 0},
        {-1e30, -5, -5, 0},   {1e30, 2.5, -5, 0},       {-(double)INFINITY, -5, -5, 0},
    };
    static const char *const names[] = {"_fake_quantize", "_fake_quantize_channels"};
    static const double range[2] = {-8, 7};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < 2; k++) {
            const struct elementwise_row *row = elementwise_find(names[k]);
            union scalar in[6] = {real(cases[i].x), real(0.5), real(2), real(2), real(0), real(1.5)};

            CHECK_SAME(dag_eval(elementwise_dag(&cx, row, DTYPE_FLOAT64, range), in, NULL).f,
                       k == 0 ? cases[i].tensor : cases[i].channel);
            CHECK_SAME(dag_eval(elementwise_gradient(&cx, row, DTYPE_FLOAT64, range, 0), in, NULL).f,
                       cases[i].slope);
            assert_null(elementwise_gradient(&cx, row, DTYPE_FLOAT64, range, 1));
        }
    }
}

/* ---- the table itself ---------------------------------------------------------------------------------------- */

static const double some[2] = {-0.5, 1.5};

/* Every line builds in every type it takes, with its result in the type that PyTorch gives. */
static void test_every_line_builds(void **state)
{
    (void)state;
    for (int i = 0; i < elementwise_row_count; i++) {
        const struct elementwise_row *row = &elementwise_rows[i];

        assert_ptr_equal(elementwise_find(row->name), row);
        assert_true(!row->module || elementwise_module(row->module) == row);
        assert_true(!row->module == !row->repr);
        for (int d = 0; d <= DTYPE_FLOAT64; d++) {
            enum dtype dtype = (enum dtype)d, result;
            struct dag *dag;

            if (elementwise_refuses(&cx, row, dtype))
                continue;
            dag = elementwise_dag(&cx, row, dtype, some);
            result = dag->nodes[dag->result].dtype;
            assert_int_equal(dag->input_count, row->tensors);
            if (strncmp(row->name, "is", 2) == 0 || strcmp(row->name, "logical_not") == 0)
                assert_int_equal(result, DTYPE_BOOL);
            else if (!dtype_is_float(dtype) && (row->flags & ELEMENTWISE_FLOAT))
                assert_int_equal(result, DTYPE_FLOAT32);
            else
                assert_int_equal(result, dtype);
        }
    }
    assert_null(elementwise_find("relu7"));
    assert_null(elementwise_module("Linear"));
    assert_string_equal(elementwise_refuses(&cx, elementwise_find("relu"), DTYPE_BOOL),
                        "relu is not defined for bool");
    assert_string_equal(elementwise_refuses(&cx, elementwise_find("gelu"), DTYPE_INT64),
                        "gelu is not defined for int64");
}

static const char *line_text(const char *name, enum dtype dtype, double a, double b)
{
    const double numbers[2] = {a, b};

    return printed(elementwise_dag(&cx, elementwise_find(name), dtype, numbers));
}

static const char *gradient_text(const char *name, double a, int tensor)
{
    return printed(elementwise_gradient(&cx, elementwise_find(name), DTYPE_FLOAT32, &a, tensor));
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(line_text("relu", DTYPE_FLOAT32, 0, 0), "where(x0 <= 0.0, 0.0, x0)");
    assert_string_equal(line_text("relu", DTYPE_INT64, 0, 0), "where(x0 <= 0, 0, x0)");
    assert_string_equal(line_text("hardtanh", DTYPE_FLOAT32, -2, 3), "minimum(maximum(x0, -2.0), 3.0)");
    assert_string_equal(line_text("hardtanh", DTYPE_FLOAT32, -inf, 3), "minimum(x0, 3.0)");
    assert_string_equal(line_text("softplus", DTYPE_FLOAT32, 1, 20), "where(x0 > 20.0, x0, log1p(exp(x0)))");
    assert_string_equal(line_text("sigmoid", DTYPE_FLOAT16, 0, 0),
                        "float16(2.3283064e-10 / (2.3283064e-10 + exp_down(-float32(x0))))");
    assert_string_equal(line_text("tanh", DTYPE_INT8, 0, 0), "tanh(float32(x0))");
    assert_string_equal(line_text("round", DTYPE_INT8, 0, 0), "x0");
    assert_string_equal(line_text("isnan", DTYPE_INT8, 0, 0), "False");
    assert_string_equal(line_text("isinf", DTYPE_BFLOAT16, 0, 0), "abs(float32(x0)) == inf");
    assert_string_equal(line_text("exp2", DTYPE_FLOAT64, 0, 0), "pow(2.0, x0)");
    assert_string_equal(gradient_text("relu", 0, 0), "where(x1 <= 0.0, 0.0, x2)");
    assert_string_equal(gradient_text("tanh", 0, 0), "x2 * (1.0 - x1 * x1)");
    assert_string_equal(gradient_text("leaky_relu", 0.5, 0), "where(x1 > 0.0, x2, x2 * 0.5)");
    assert_string_equal(gradient_text("leaky_relu", -0.5, 0), "where(x0 > 0.0, x2, x2 * -0.5)");
    assert_string_equal(gradient_text("_prelu_kernel", 0, 1), "where(x0 > 0.0, 0.0, x0 * x3)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_round, tear_down),
        cmocka_unit_test_teardown(test_every_half, tear_down),
        cmocka_unit_test_teardown(test_convert, tear_down),
        cmocka_unit_test_teardown(test_floats, tear_down),
        cmocka_unit_test_teardown(test_integers, tear_down),
        cmocka_unit_test_teardown(test_hash_consing, tear_down),
        cmocka_unit_test_teardown(test_folding, tear_down),
        cmocka_unit_test_teardown(test_bits, tear_down),
        cmocka_unit_test_teardown(test_sizes, tear_down),
        cmocka_unit_test_teardown(test_limits, tear_down),
        cmocka_unit_test_teardown(test_simplification, tear_down),
        cmocka_unit_test_teardown(test_casts, tear_down),
        cmocka_unit_test_teardown(test_inline_and_trim, tear_down),
        cmocka_unit_test_teardown(test_print, tear_down),
        cmocka_unit_test_teardown(test_simplification_is_exact, tear_down),
        cmocka_unit_test_teardown(test_known_values, tear_down),
        cmocka_unit_test_teardown(test_doubles, tear_down),
        cmocka_unit_test_teardown(test_special_values, tear_down),
        cmocka_unit_test_teardown(test_rounding, tear_down),
        cmocka_unit_test_teardown(test_math, tear_down),
        cmocka_unit_test_teardown(test_gradients, tear_down),
        cmocka_unit_test_teardown(test_two_tensors, tear_down),
        cmocka_unit_test_teardown(test_losses, tear_down),
        cmocka_unit_test_teardown(test_fake_quantize, tear_down),
        cmocka_unit_test_teardown(test_every_line_builds, tear_down),
        cmocka_unit_test_teardown(test_texts, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
