/* test_simd.c - every primitive of runtime/modc_simd.h against libm in double, at the width it is compiled for.
 *
 * Scalars and vectors are held to the same bounds, at special values and at many random ones; every lane of a vector
 * gets another value, so that a fault in one lane shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modc_simd.h"

#define ROUNDS 4000
#define VALUES (ROUNDS * 16)

static uint64_t random_state = 88172645463325252u;

static uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static float random_between(float low, float high)
{
    return low + (high - low) * (float)(random_word() >> 8) / 16777216.0f;
}

static float specials[] = {0.0f,
                           -0.0f,
                           1e-45f,
                           -1e-45f,
                           1e-40f,
                           -1e-40f,
                           1.17549435e-38f,
                           1e-30f,
                           -1e-30f,
                           1e-10f,
                           -1e-10f,
                           1e-7f,
                           -1e-7f,
                           0.1f,
                           0.5f,
                           -0.5f,
                           0.75f,
                           1.0f,
                           -1.0f,
                           0.99999994f,
                           1.0000001f,
                           1.5f,
                           -1.5f,
                           2.0f,
                           -2.0f,
                           2.5f,
                           3.0f,
                           -3.0f,
                           7.0f,
                           9.0f,
                           -9.0f,
                           9.1f,
                           20.0f,
                           -20.0f,
                           87.3f,
                           -87.3f,
                           88.72f,
                           88.73f,
                           -88.8f,
                           -103.9f,
                           -104.1f,
                           128.0f,
                           1e4f,
                           -1e4f,
                           1e6f,
                           -1e6f,
                           1e10f,
                           -1e10f,
                           8388607.5f,
                           1e30f,
                           -1e30f,
                           3.40282347e38f,
                           -3.40282347e38f,
                           8191.9f,
                           8192.1f,
                           4194303.5f,
                           -4194304.5f,
                           16777216.0f,
                           3.14159274f,
                           1.57079637f,
                           -1.57079637f,
                           0.70710677f};

enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* Distance in units in the last place of the float result; of denormals, in units of the least one. */
static double ulps(float got, double expected)
{
    int exponent;
    double unit;

    if (isnan(expected) || isnan((double)got))
        return isnan(expected) && isnan((double)got) ? 0.0 : INFINITY;
    if (fabs(expected) >= 3.4028235677973366e38) /* rounds to infinity */
        return isinf((double)got) && (got > 0) == (expected > 0) ? 0.0
               : fabs(expected) < 3.403e38                       ? 1.0
                                                                 : INFINITY;
    if (isinf((double)got))
        return fabs(expected) > 3.4028233e38 ? 1.0 : INFINITY;
    frexp(fmax(fabs(expected), 0x1p-126), &exponent);
    unit = ldexp(1.0, exponent - 24);
    return fabs((double)got - expected) / unit;
}

/* The primitives are always_inline, so that tables need functions of their own. */
#define WRAP(name)                                                                                           \
    static float scalar_##name(float a)                                                                      \
    {                                                                                                        \
        return modc_f32s_##name(a);                                                                          \
    }                                                                                                        \
    static void vector_##name(float *y, const float *x)                                                      \
    {                                                                                                        \
        modc_f32_store(y, modc_f32_##name(modc_f32_load(x)));                                                \
    }
WRAP(exp)
WRAP(exp_up)
WRAP(exp_down)
WRAP(expm1)
WRAP(log)
WRAP(log1p)
WRAP(tanh)
WRAP(erf)
WRAP(sin)
WRAP(cos)
WRAP(sqrt)
WRAP(rsqrt)
WRAP(abs)
WRAP(floor)

static float scalar_exp_negative(float a)
{
    return modc_f32s_exp_negative(-modc_f32s_abs(a));
}

static void vector_exp_negative(float *y, const float *x)
{
    modc_f32_store(y, modc_f32_exp_negative(-modc_f32_abs(modc_f32_load(x))));
}

static double reference_exp_negative(double a)
{
    return exp(-fabs(a));
}

/* As far as its steps are normal floats: see modc_simd_math.h. */
static double reference_exp_up(double a)
{
    return a < -109.8 ? 0.0 : exp(fmin(a, 66.6)) * 0x1p32 + (isnan(a) ? a : 0.0);
}

static double reference_exp_down(double a)
{
    return a > 110.5 ? (double)INFINITY : exp(fmax(a, -65.0)) * 0x1p-32 + (isnan(a) ? a : 0.0);
}

static double reference_rsqrt(double a)
{
    return 1.0 / sqrt(a);
}

struct unary {
    const char *name;
    float (*scalar)(float);
    void (*vector)(float *, const float *);
    double (*reference)(double);
    float low, high; /* random values */
    double bound;    /* ulps */
};

#define ROW(name, function, low, high, bound)                                                                \
    {                                                                                                        \
#name, scalar_##name, vector_##name, function, low, high, bound                                      \
    }
static const struct unary unaries[] = {
    ROW(exp, exp, -90.0f, 90.0f, 1.5),
    ROW(exp_negative, reference_exp_negative, -90.0f, 90.0f, 1.5),
    ROW(exp_up, reference_exp_up, -109.0f, 66.0f, 1.5),
    ROW(exp_down, reference_exp_down, -64.0f, 110.0f, 1.5),
    ROW(expm1, expm1, -20.0f, 20.0f, 3.0),
    ROW(expm1, expm1, -1.0f, 1.0f, 3.0),
    ROW(log, log, 0.0f, 10.0f, 2.0),
    ROW(log1p, log1p, -1.0f, 2.0f, 3.0),
    ROW(tanh, tanh, -10.0f, 10.0f, 3),
    ROW(tanh, tanh, -0.01f, 0.01f, 3),
    ROW(erf, erf, -4.5f, 4.5f, 3.5),
    ROW(erf, erf, -0.01f, 0.01f, 3.5),
    ROW(sin, sin, -10.0f, 10.0f, 3.0),
    ROW(sin, sin, -8192.0f, 8192.0f, 3.0),
    ROW(sin, sin, -1e9f, 1e9f, 3.0),
    ROW(cos, cos, -10.0f, 10.0f, 3.0),
    ROW(cos, cos, -8192.0f, 8192.0f, 3.0),
    ROW(cos, cos, -1e9f, 1e9f, 3.0),
    ROW(sqrt, sqrt, 0.0f, 100.0f, 0.51),
    ROW(rsqrt, reference_rsqrt, 0.0f, 100.0f, 1.6),
    ROW(abs, fabs, -10.0f, 10.0f, 0.0),
    ROW(floor, floor, -1e4f, 1e4f, 0.0),
    ROW(floor, floor, -1e7f, 1e7f, 0.0),
};

/* Zeros must have the sign that libm gives them. */
static bool zero_sign_agrees(float got, double expected)
{
    return got != 0.0f || expected != 0.0 || !signbit(got) == !signbit(expected);
}

static double worst;

static void check(const char *name, const char *form, float x, float got, double expected, double bound)
{
    const double error = ulps(got, expected);

    if (error > worst)
        worst = error;
    if (error > bound || !zero_sign_agrees(got, expected))
        fail_msg("%s %s(%.9g) is %.9g, expected %.9g: %.2f ulp", form, name, (double)x, (double)got, expected,
                 error);
}

static void fill(float *x, const struct unary *row)
{
    for (int i = 0; i < VALUES; i++) {
        if (i < SPECIALS)
            x[i] = specials[i];
        else if (i < SPECIALS + 3)
            x[i] = i == SPECIALS ? modc_f32_inf() : i == SPECIALS + 1 ? -modc_f32_inf() : modc_f32_nan();
        else if (i < SPECIALS + 6) /* NaNs of any payload are NaNs */
            x[i] = modc_f32_from_bits(i == SPECIALS + 3   ? 0x7fc00001u
                                      : i == SPECIALS + 4 ? 0xffffffffu
                                                          : 0x7fe01234u);
        else if (i % 4 == 0) /* any float at all */
            x[i] = modc_f32_from_bits(random_word());
        else
            x[i] = random_between(row->low, row->high);
    }
}

static void test_unary(void **state)
{
    static float x[VALUES], y[VALUES];

    (void)state;
    for (size_t r = 0; r < sizeof unaries / sizeof unaries[0]; r++) {
        const struct unary *row = &unaries[r];

        fill(x, row);
        worst = 0;
        for (int i = 0; i < VALUES; i += MODC_LANES)
            row->vector(y + i, x + i);
        for (int i = 0; i < VALUES; i++) {
            const double expected = row->reference((double)x[i]);

            check(row->name, "scalar", x[i], row->scalar(x[i]), expected, row->bound);
            check(row->name, "vector", x[i], y[i], expected, row->bound);
        }
        print_message("%-6s [%g, %g]: %.2f ulp\n", row->name, (double)row->low, (double)row->high, worst);
    }
}

static void test_limits(void **state)
{
    const float inf = modc_f32_inf();

    (void)state;
    assert_true(modc_f32s_exp(-inf) == 0.0f && modc_f32s_exp(inf) == inf && modc_f32s_exp(0.0f) == 1.0f);
    assert_true(modc_f32s_exp(89.0f) == inf && modc_f32s_exp(-200.0f) == 0.0f);
    assert_true(modc_f32s_log(0.0f) == -inf && modc_f32s_log(-0.0f) == -inf && modc_f32s_log(inf) == inf);
    assert_true(modc_f32s_log(1.0f) == 0.0f && modc_f32s_log1p(-1.0f) == -inf && modc_f32s_log1p(inf) == inf);
    assert_true(modc_f32s_tanh(inf) == 1.0f && modc_f32s_tanh(-inf) == -1.0f);
    assert_true(modc_f32s_erf(inf) == 1.0f && modc_f32s_erf(-inf) == -1.0f);
    assert_true(modc_f32s_expm1(-inf) == -1.0f && modc_f32s_expm1(inf) == inf);
    for (int i = 0; i < 100000; i++) {
        const float x = random_between(-12.0f, 12.0f);

        assert_true(fabsf(modc_f32s_tanh(x)) <= 1.0f && fabsf(modc_f32s_erf(x)) <= 1.0f);
    }
}

static void pow_vector(float *z, const float *x, const float *y)
{
    modc_f32_store(z, modc_f32_pow(modc_f32_load(x), modc_f32_load(y)));
}

static void check_pow(float x, float y, float got)
{
    const double expected = pow((double)x, (double)y), error = ulps(got, expected);

    if (error > 1.0 || !zero_sign_agrees(got, expected))
        fail_msg("pow(%.9g, %.9g) is %.9g, expected %.9g: %.2f ulp", (double)x, (double)y, (double)got,
                 expected, error);
}

static void test_pow(void **state)
{
    const float more[] = {modc_f32_inf(), -modc_f32_inf(), modc_f32_nan(), -5.0f,
                          4.0f,           16777215.0f,     -16777217.0f,   1e9f};
    float x[16], y[16], z[16];

    (void)state;
    for (int i = 0; i < SPECIALS + 8; i++) {
        for (int k = 0; k < SPECIALS + 8; k++) {
            const float a = i < SPECIALS ? specials[i] : more[i - SPECIALS];
            const float b = k < SPECIALS ? specials[k] : more[k - SPECIALS];

            check_pow(a, b, modc_f32s_pow(a, b));
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 16; k++) {
            x[k] = random_between(0.0f, i % 2 ? 3.0f : 1000.0f);
            y[k] = random_between(-12.0f, 12.0f);
        }
        for (int k = 0; k < 16; k += MODC_LANES)
            pow_vector(z + k, x + k, y + k);
        for (int k = 0; k < 16; k++)
            check_pow(x[k], y[k], z[k]);
    }
}

static void max_and_min(float *y, const float *x)
{
    modc_f32_store(y, modc_f32_max(modc_f32_load(x), modc_f32_load(x + 16)));
    modc_f32_store(y + 16, modc_f32_min(modc_f32_load(x), modc_f32_load(x + 16)));
}

static bool same(float a, float b)
{
    return a == b || (a != a && b != b);
}

static void test_min_max(void **state)
{
    float x[32] = {0}, y[32];

    (void)state;
    for (int i = 0; i < SPECIALS + 2; i++) {
        for (int k = 0; k < SPECIALS + 2; k++) {
            const float a = i < SPECIALS ? specials[i] : i == SPECIALS ? modc_f32_nan() : -modc_f32_inf();
            const float b = k < SPECIALS ? specials[k] : k == SPECIALS ? modc_f32_nan() : -modc_f32_inf();
            const float max = a != a || b != b ? modc_f32_nan() : a > b ? a : b;
            const float min = a != a || b != b ? modc_f32_nan() : a < b ? a : b;
            const int lane = (i + k) % MODC_LANES;

            x[lane] = a;
            x[16 + lane] = b;
            max_and_min(y, x);
            assert_true(same(y[lane], max) && same(y[16 + lane], min));
            assert_true(same(modc_f32s_max(a, b), max) && same(modc_f32s_min(a, b), min));
            assert_true(same((float)modc_f64s_max((double)a, (double)b), max));
            assert_true(same((float)modc_f64s_min((double)a, (double)b), min));
        }
    }
}

static void test_compare_select(void **state)
{
    float a[MODC_LANES], b[MODC_LANES], y[MODC_LANES];

    (void)state;
    for (int i = 0; i < SPECIALS; i++) {
        for (int lane = 0; lane < MODC_LANES; lane++) {
            a[lane] = specials[(i + lane) % SPECIALS];
            b[lane] = lane % 3 == 2 ? modc_f32_nan() : specials[(i + 2 * lane + 7) % SPECIALS];
        }
#define COMPARE(name, operator)                                                                              \
    modc_f32_store(y, modc_f32_select(modc_f32_##name(modc_f32_load(a), modc_f32_load(b)),                   \
                                      modc_f32_set(1.0f), modc_f32_set(2.0f)));                              \
    for (int lane = 0; lane < MODC_LANES; lane++)                                                            \
        assert_true((y[lane] == 1.0f) == (a[lane] operator b[lane]));                                        \
    modc_f32_store(y, modc_f32_select(~modc_f32_##name(modc_f32_load(a), modc_f32_load(b)),                  \
                                      modc_f32_set(1.0f), modc_f32_set(2.0f)));                              \
    for (int lane = 0; lane < MODC_LANES; lane++)                                                            \
    assert_true((y[lane] == 2.0f) == (a[lane] operator b[lane]))
        COMPARE(lt, <);
        COMPARE(le, <=);
        COMPARE(gt, >);
        COMPARE(ge, >=);
        COMPARE(eq, ==);
        COMPARE(ne, !=);
    }
}

static void test_horizontal(void **state)
{
    float a[MODC_LANES];
    double d[MODC_LANES64];

    (void)state;
    for (int round = 0; round < 200; round++) {
        float max = -modc_f32_inf(), min = modc_f32_inf();
        double sum = 0, sum64 = 0, max64 = -modc_f64_inf(), min64 = modc_f64_inf();

        for (int i = 0; i < MODC_LANES; i++) {
            a[i] = random_between(-1.0f, 1.0f);
            sum += (double)a[i];
            max = a[i] > max ? a[i] : max;
            min = a[i] < min ? a[i] : min;
        }
        for (int i = 0; i < MODC_LANES64; i++) {
            d[i] = (double)random_between(-1.0f, 1.0f);
            sum64 += d[i];
            max64 = d[i] > max64 ? d[i] : max64;
            min64 = d[i] < min64 ? d[i] : min64;
        }
        assert_true(fabs((double)modc_f32_sum(modc_f32_load(a)) - sum) < 1e-5);
        assert_true(modc_f32_hmax(modc_f32_load(a)) == max && modc_f32_hmin(modc_f32_load(a)) == min);
        assert_true(fabs(modc_f64_sum(modc_f64_load(d)) - sum64) < 1e-13);
        assert_true(modc_f64_hmax(modc_f64_load(d)) == max64 && modc_f64_hmin(modc_f64_load(d)) == min64);
        {
            modc_f32 four[4];
            modc_f64 four64[4];
            float sums[4];
            double sums64[4];

            for (int i = 0; i < 4; i++) {
                four[i] = modc_f32_load(a) * (float)(i + 1);
                four64[i] = modc_f64_load(d) * (double)(i + 1);
            }
            modc_f32_sum4(four, sums);
            modc_f64_sum4(four64, sums64);
            for (int i = 0; i < 4; i++) {
                assert_true(fabs((double)sums[i] - sum * (i + 1)) < 1e-5);
                assert_true(fabs(sums64[i] - sum64 * (i + 1)) < 1e-13);
            }
        }
        a[round % MODC_LANES] = modc_f32_nan();
        assert_true(isnan((double)modc_f32_hmax(modc_f32_load(a))) &&
                    isnan((double)modc_f32_hmin(modc_f32_load(a))));
    }
}

static void test_copysign(void **state)
{
    float size[MODC_LANES], sign[MODC_LANES], y[MODC_LANES];
    double size64[MODC_LANES64], sign64[MODC_LANES64], y64[MODC_LANES64];

    (void)state;
    for (int first = 0; first < SPECIALS; first++) {
        for (int i = 0; i < MODC_LANES; i++) {
            size[i] = specials[(first + i) % SPECIALS];
            sign[i] = i % 5 == 4 ? modc_f32_nan() : specials[(first * 3 + i * 7) % SPECIALS];
        }
        for (int i = 0; i < MODC_LANES64; i++) {
            size64[i] = (double)size[i];
            sign64[i] = (double)sign[i];
        }
        modc_f32_store(y, modc_f32_copysign(modc_f32_load(size), modc_f32_load(sign)));
        modc_f64_store(y64, modc_f64_copysign(modc_f64_load(size64), modc_f64_load(sign64)));
        for (int i = 0; i < MODC_LANES; i++) {
            const float expected = copysignf(size[i], sign[i]), scalar = modc_f32s_copysign(size[i], sign[i]);

            assert_memory_equal(&y[i], &expected, sizeof expected);
            assert_memory_equal(&scalar, &expected, sizeof expected);
        }
        for (int i = 0; i < MODC_LANES64; i++) {
            const double expected = copysign(size64[i], sign64[i]);

            assert_memory_equal(&y64[i], &expected, sizeof expected);
        }
    }
}

static void test_parts(void **state)
{
    (void)state;
    for (int n = 0; n <= MODC_LANES; n++) {
        /* behind the last element lies nothing that may be touched: sanitizers see it */
        float *from = malloc(sizeof(float) * (size_t)(n + !n)),
              *to = malloc(sizeof(float) * (size_t)(n + !n));
        float all[MODC_LANES];

        assert_non_null(from);
        assert_non_null(to);
        for (int i = 0; i < n; i++)
            from[i] = (float)(i + 1);
        if (n < MODC_LANES) {
            modc_f32_store(all, modc_f32_load_part(from, n));
            for (int i = 0; i < MODC_LANES; i++)
                assert_true(all[i] == (i < n ? (float)(i + 1) : 0.0f));
            modc_f32_store(all, modc_f32_load_rest(from, n, -7.0f));
            for (int i = 0; i < MODC_LANES; i++)
                assert_true(all[i] == (i < n ? (float)(i + 1) : -7.0f));
            modc_f32_store_part(to, modc_f32_load(all), n);
            assert_true(n == 0 || memcmp(from, to, sizeof(float) * (size_t)n) == 0);
        }
        free(from);
        free(to);
    }
    for (int n = 0; n < MODC_LANES64; n++) {
        double from[MODC_LANES64] = {0}, to[MODC_LANES64] = {0}, all[MODC_LANES64];

        for (int i = 0; i < MODC_LANES64; i++)
            from[i] = i + 1;
        modc_f64_store(all, modc_f64_load_part(from, n));
        for (int i = 0; i < MODC_LANES64; i++)
            assert_true(all[i] == (i < n ? i + 1.0 : 0.0));
        modc_f64_store_part(to, modc_f64_load(from), n);
        for (int i = 0; i < MODC_LANES64; i++)
            assert_true(to[i] == (i < n ? i + 1.0 : 0.0));
    }
}

static void test_evens(void **state)
{
    float a[2 * MODC_LANES], y[MODC_LANES];
    double d[2 * MODC_LANES64], z[MODC_LANES64];

    (void)state;
    for (int i = 0; i < 2 * MODC_LANES; i++)
        a[i] = (float)i;
    for (int i = 0; i < 2 * MODC_LANES64; i++)
        d[i] = i;
    modc_f32_store(y, modc_f32_evens(modc_f32_load(a), modc_f32_load(a + MODC_LANES)));
    modc_f64_store(z, modc_f64_evens(modc_f64_load(d), modc_f64_load(d + MODC_LANES64)));
    for (int i = 0; i < MODC_LANES; i++)
        assert_true(y[i] == (float)(2 * i));
    for (int i = 0; i < MODC_LANES64; i++)
        assert_true(z[i] == 2 * i);
}

static void test_zips(void **state)
{
    float a[2 * MODC_LANES], y[2 * MODC_LANES], back[MODC_LANES];
    double d[2 * MODC_LANES64], z[2 * MODC_LANES64], back64[MODC_LANES64];

    (void)state;
    for (int i = 0; i < 2 * MODC_LANES; i++)
        a[i] = (float)i;
    for (int i = 0; i < 2 * MODC_LANES64; i++)
        d[i] = i;
    modc_f32_store(y, modc_f32_zip_low(modc_f32_load(a), modc_f32_load(a + MODC_LANES)));
    modc_f32_store(y + MODC_LANES, modc_f32_zip_high(modc_f32_load(a), modc_f32_load(a + MODC_LANES)));
    modc_f64_store(z, modc_f64_zip_low(modc_f64_load(d), modc_f64_load(d + MODC_LANES64)));
    modc_f64_store(z + MODC_LANES64, modc_f64_zip_high(modc_f64_load(d), modc_f64_load(d + MODC_LANES64)));
    modc_f32_store(back, modc_f32_reverse(modc_f32_load(a)));
    modc_f64_store(back64, modc_f64_reverse(modc_f64_load(d)));
    for (int i = 0; i < 2 * MODC_LANES; i++)
        assert_true(y[i] == (float)(i / 2 + i % 2 * MODC_LANES));
    for (int i = 0; i < 2 * MODC_LANES64; i++)
        assert_true(z[i] == i / 2 + i % 2 * MODC_LANES64);
    for (int i = 0; i < MODC_LANES; i++)
        assert_true(back[i] == (float)(MODC_LANES - 1 - i));
    for (int i = 0; i < MODC_LANES64; i++)
        assert_true(back64[i] == MODC_LANES64 - 1 - i);
}

static void test_lane(void **state)
{
    modc_f32 v;
    modc_f64 v64;
    float x[MODC_LANES], y[MODC_LANES];
    double x64[MODC_LANES64], y64[MODC_LANES64];

    (void)state;
    for (int i = 0; i < MODC_LANES; i++)
        x[i] = (float)(i + 1);
    for (int i = 0; i < MODC_LANES64; i++)
        x64[i] = i + 1;
    v = modc_f32_load(x);
    v64 = modc_f64_load(x64);
    for (int i = 0; i < MODC_LANES; i++) {
        modc_f32_store(y, modc_f32_lane(v, i));
        for (int j = 0; j < MODC_LANES; j++)
            assert_true(y[j] == x[i]);
    }
    for (int i = 0; i < MODC_LANES64; i++) {
        modc_f64_store(y64, modc_f64_lane(v64, i));
        for (int j = 0; j < MODC_LANES64; j++)
            assert_true(y64[j] == x64[i]);
    }
}

static void test_double(void **state)
{
    double a[MODC_LANES64], b[MODC_LANES64], y[MODC_LANES64];

    (void)state;
    for (int i = 0; i < SPECIALS; i++) {
        for (int lane = 0; lane < MODC_LANES64; lane++) {
            a[lane] = (double)specials[(i + lane) % SPECIALS];
            b[lane] = (double)specials[(2 * i + lane + 3) % SPECIALS];
        }
        modc_f64_store(y, modc_f64_sqrt(modc_f64_abs(modc_f64_load(a))));
        for (int lane = 0; lane < MODC_LANES64; lane++)
            assert_true(y[lane] == sqrt(fabs(a[lane])));
        modc_f64_store(y, modc_f64_max(modc_f64_load(a), modc_f64_load(b)));
        for (int lane = 0; lane < MODC_LANES64; lane++)
            assert_true(y[lane] == (a[lane] > b[lane] ? a[lane] : b[lane]));
        modc_f64_store(y, modc_f64_select(modc_f64_lt(modc_f64_load(a), modc_f64_load(b)), modc_f64_load(a),
                                          modc_f64_set(3.0)));
        for (int lane = 0; lane < MODC_LANES64; lane++)
            assert_true(y[lane] == (a[lane] < b[lane] ? a[lane] : 3.0));
    }
}

static void test_integers(void **state)
{
    static const int table[][4] = {/* a, b, a // b, a % b of Python */
                                   {7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1},
                                   {6, 3, 2, 0}, {-6, 3, -2, 0}, {6, -3, -2, 0},  {5, 0, 0, 0},
                                   {0, 5, 0, 0}, {0, -5, 0, 0},  {-1, 10, -1, 9}, {1, -10, -1, -9}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const int *row = table[i];

        assert_int_equal(modc_floordiv(row[0], row[1]), row[2]);
        assert_int_equal(modc_mod(row[0], row[1]), row[3]);
        assert_int_equal(modc_floordiv_i64(row[0], row[1]), row[2]);
        assert_int_equal(modc_mod_i64(row[0], row[1]), row[3]);
        assert_int_equal(modc_floordiv_i32(row[0], row[1]), row[2]);
        assert_int_equal(modc_mod_i32(row[0], row[1]), row[3]);
        if (row[1] != 0) {
            assert_true(modc_f32s_floordiv((float)row[0], (float)row[1]) == (float)row[2]);
            assert_true(modc_f32s_mod((float)row[0], (float)row[1]) == (float)row[3]);
            assert_true(modc_f64s_floordiv(row[0], row[1]) == row[2]);
            assert_true(modc_f64s_mod(row[0], row[1]) == row[3]);
        }
    }
    assert_true(modc_floordiv_i64(INT64_MIN, -1) == INT64_MIN && modc_mod_i64(INT64_MIN, -1) == 0);
    assert_true(modc_floordiv_i32(INT32_MIN, -1) == INT32_MIN && modc_mod_i32(INT32_MIN, -1) == 0);
    assert_true(modc_f32s_floordiv(1.0f, 0.0f) == modc_f32_inf() && isnan((double)modc_f32s_mod(1.0f, 0.0f)));

    assert_true(modc_f32_to_i64(1e30f) == INT64_MIN && modc_f32_to_i64(modc_f32_nan()) == INT64_MIN);
    assert_true(modc_f32_to_i64(-2.9f) == -2 && modc_f64_to_i64(9007199254740993.0) == 9007199254740992);
    assert_true(modc_f32_to_i32(2147483648.0f) == INT32_MIN && modc_f64_to_i32(-2147483648.5) == INT32_MIN);
    assert_true(modc_f64_to_i32(2147483647.9) == INT32_MAX && modc_f32_to_i32(-modc_f32_inf()) == INT32_MIN);
}

static void test_fmod(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const float a = i % 2 ? modc_f32_from_bits(random_word()) : random_between(-100.0f, 100.0f);
        const float b = i % 3 ? modc_f32_from_bits(random_word()) : random_between(-3.0f, 3.0f);
        const double expected = fmod((double)a, (double)b);

        if (!same(modc_f32s_fmod(a, b), (float)expected))
            fail_msg("fmod(%.9g, %.9g) is %.9g, expected %.9g", (double)a, (double)b,
                     (double)modc_f32s_fmod(a, b), expected);
    }
}

/* Known answers of the Random123 distribution. */
static void test_philox(void **state)
{
    uint32_t out[4];

    (void)state;
    modc_philox(0, 0, 0, out);
    assert_true(out[0] == 0x6627e8d5u && out[1] == 0xe169c58du && out[2] == 0xbc57ac4cu &&
                out[3] == 0x9b00dbd8u);
    modc_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, out);
    assert_true(out[0] == 0x408f276du && out[1] == 0x41c83b0eu && out[2] == 0xa20bc7c6u &&
                out[3] == 0x6d5451fdu);
}

/* A 16-bit type: what its fields are, and the primitives for it. */
struct narrow {
    const char *name;
    int fraction, bias, greatest; /* greatest: the exponent field of infinity and NaN */
    modc_f32 (*load)(const uint16_t *p);
    modc_f32 (*load_part)(const uint16_t *p, int n);
    float (*to_f32)(uint16_t a);
    uint16_t (*of_f32)(float a);
};

static double exact(const struct narrow *type, uint16_t bits)
{
    const int exponent = (bits & 0x7fff) >> type->fraction;
    const double fraction = (double)(bits & ((1 << type->fraction) - 1)) / (1 << type->fraction);
    double value = exponent == 0 ? ldexp(fraction, 1 - type->bias)
                                 : ldexp(1 + fraction, exponent - type->bias);

    if (exponent == type->greatest)
        value = fraction == 0 ? (double)INFINITY : (double)NAN;
    return bits & 0x8000 ? -value : value;
}

/* The nearest value, ties to the even one, by looking at both neighbours. */
static uint16_t nearest(const struct narrow *type, float a)
{
    const uint16_t infinite = (uint16_t)(type->greatest << type->fraction), sign = signbit(a) ? 0x8000 : 0;
    const double size = fabs((double)a);
    int low = 0, high = infinite;

    if (isnan(a))
        return (uint16_t)(sign | infinite | 1 << (type->fraction - 1));
    if (isinf(a))
        return sign | infinite;
    while (high - low > 1) { /* low <= size < high */
        const int middle = (low + high) / 2;

        if (exact(type, (uint16_t)middle) <= size)
            low = middle;
        else
            high = middle;
    }
    /* beyond the last one rounding goes as if exponents went on */
    const double below = exact(type, (uint16_t)low), above = high == infinite
                                                                 ? ldexp(1, type->greatest - type->bias)
                                                                 : exact(type, (uint16_t)high);
    const bool up = size - below > above - size || (size - below == above - size && low % 2 == 1);

    return (uint16_t)(sign | (up ? high : low));
}

static void check_rounding(const struct narrow *type, float a)
{
    const uint16_t found = type->of_f32(a), expected = nearest(type, a);

    if (isnan(a) ? !isnan(type->to_f32(found)) : found != expected)
        fail_msg("%s(%a) is %04x, not %04x", type->name, (double)a, found, expected);
}

/* All values of the 16-bit types, and floats on both sides of where rounding turns. */
static void test_narrow(void **state)
{
    static const struct narrow types[] = {
        {"bfloat16", 7, 127, 255, modc_bfloat16_load, modc_bfloat16_load_part, modc_bfloat16_to_f32,
         modc_f32_to_bfloat16},
        {"half", 10, 15, 31, modc_half_load, modc_half_load_part, modc_half_to_f32, modc_f32_to_half}};

    (void)state;
    for (int t = 0; t < 2; t++) {
        const struct narrow *type = &types[t];

        for (int first = 0; first < 65536; first += MODC_LANES) {
            uint16_t from[MODC_LANES];
            float all[MODC_LANES], part[MODC_LANES];
            const int n = first / MODC_LANES % MODC_LANES;

            for (int i = 0; i < MODC_LANES; i++)
                from[i] = (uint16_t)(first + i);
            modc_f32_store(all, type->load(from));
            modc_f32_store(part, type->load_part(from, n));
            for (int i = 0; i < MODC_LANES; i++) {
                const double expected = exact(type, from[i]);
                const float one = type->to_f32(from[i]), rest = i < n ? all[i] : 0.0f;

                if (isnan(expected) ? !isnan(one) || !isnan(all[i])
                                    : (double)one != expected || !signbit(one) != !signbit(expected) ||
                                          memcmp(&one, &all[i], sizeof one) != 0)
                    fail_msg("%s %04x: %a and %a, not %a", type->name, from[i], (double)one, (double)all[i],
                             expected);
                assert_true(isnan(rest) ? isnan(part[i]) : part[i] == rest);
                if (isnan(expected))
                    continue;
                assert_int_equal(type->of_f32(one), from[i]);
                if (isfinite(expected) && i + 1 < MODC_LANES &&
                    isfinite(all[i + 1])) { /* half way to the next */
                    const float half = (float)((expected + (double)all[i + 1]) / 2);

                    check_rounding(type, half);
                    check_rounding(type, nextafterf(half, INFINITY));
                    check_rounding(type, nextafterf(half, -INFINITY));
                }
            }
        }
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
            check_rounding(type, specials[i]);
        for (int i = 0; i < 100000; i++)
            check_rounding(type, modc_f32_from_bits(random_word()));
        check_rounding(type, 65519.99f); /* the largest half is 65504 */
        check_rounding(type, 65520.0f);
        check_rounding(type, 3.39e38f); /* the largest bfloat16 is 3.3895e38 */
        check_rounding(type, 3.4e38f);
    }
}

/* Rounding without storing: as a store and a load, in each lane. */
static void test_narrow_rounding(void **state)
{
    static modc_f32 (*const vector[2])(modc_f32) = {modc_f32_as_bfloat16, modc_f32_as_float16};
    static float (*const scalar[2])(float) = {modc_f32s_as_bfloat16, modc_f32s_as_float16};
    static uint16_t (*const of_f32[2])(float) = {modc_f32_to_bfloat16, modc_f32_to_half};
    static float (*const to_f32[2])(uint16_t) = {modc_bfloat16_to_f32, modc_half_to_f32};

    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int round = 0; round < 2000; round++) {
            float from[MODC_LANES], rounded[MODC_LANES];

            for (int i = 0; i < MODC_LANES; i++) {
                const uint32_t word = random_word();

                /* all of the halves' range half of the time, and much of it denormal */
                from[i] = modc_f32_from_bits(
                    round % 2 ? word : (word & 0x80ffffffu) + 0x32000000u + (word >> 6 & 0x1f000000u));
            }
            modc_f32_store(rounded, vector[t](modc_f32_load(from)));
            for (int i = 0; i < MODC_LANES; i++) {
                const float expected = to_f32[t](of_f32[t](from[i])), one = scalar[t](from[i]);

                assert_true(isnan(expected) ? isnan(one) : memcmp(&one, &expected, sizeof one) == 0);
                assert_true(isnan(expected) ? isnan(rounded[i])
                                            : memcmp(&rounded[i], &expected, sizeof expected) == 0);
            }
        }
    }
}

/* Stores of the 16-bit types: lane by lane as of_f32 rounds, and nothing behind the last one. */
static void test_narrow_store(void **state)
{
    static void (*const store[2])(uint16_t *, modc_f32) = {modc_bfloat16_store, modc_half_store};
    static void (*const part[2])(uint16_t *, modc_f32, int) = {modc_bfloat16_store_part,
                                                               modc_half_store_part};
    static void (*const most[2])(uint16_t *, modc_f32, const int) = {modc_bfloat16_store_most,
                                                                     modc_half_store_most};
    static uint16_t (*const of_f32[2])(float) = {modc_f32_to_bfloat16, modc_f32_to_half};

    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int round = 0; round < 1000; round++) {
            const int n = round % (MODC_LANES + 1);
            uint16_t all[MODC_LANES], some[MODC_LANES], first[MODC_LANES];
            float from[MODC_LANES];

            for (int i = 0; i < MODC_LANES; i++) {
                from[i] = modc_f32_from_bits(random_word());
                some[i] = first[i] = 0x5555;
            }
            store[t](all, modc_f32_load(from));
            part[t](some, modc_f32_load(from), n);
            most[t](first, modc_f32_load(from), n == 0 ? MODC_LANES + 3 : n);
            for (int i = 0; i < MODC_LANES; i++) {
                assert_int_equal(all[i], of_f32[t](from[i]));
                assert_int_equal(some[i], i < n ? all[i] : 0x5555);
                assert_int_equal(first[i], n == 0 || i < n ? all[i] : 0x5555);
            }
        }
    }
}

/* Integers of 8 bits: all of them, alone and in vectors; and what floats become, on both sides of where rounding turns. */
static void test_int8(void **state)
{
    modc_int8 all[256 + MODC_LANES];
    float lanes[MODC_LANES];

    (void)state;
    for (int i = 0; i < 256 + MODC_LANES; i++)
        all[i] = (modc_int8)(i % 256 - 128);
    for (int i = 0; i < 256; i++) {
        const int n = i % MODC_LANES;

        assert_true(modc_int8_to_f32(all[i]) == (float)all[i]);
        modc_f32_store(lanes, modc_int8_load(all + i));
        for (int l = 0; l < MODC_LANES; l++)
            assert_true(lanes[l] == (float)all[i + l]);
        modc_f32_store(lanes, modc_int8_load_part(all + i, n));
        for (int l = 0; l < MODC_LANES; l++)
            assert_true(lanes[l] == (l < n ? (float)all[i + l] : 0.0f));
    }
    for (int i = -127; i < 127; i++) {
        const float half = (float)i + 0.5f;

        assert_int_equal(modc_f32_to_int8((float)i), i);
        assert_int_equal(modc_f32_to_int8(half), i % 2 == 0 ? i : i + 1);
        assert_int_equal(modc_f32_to_int8(nextafterf(half, -INFINITY)), i);
        assert_int_equal(modc_f32_to_int8(nextafterf(half, INFINITY)), i + 1);
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        static const float above[] = {127.0f, 127.4f, 127.5f, 128.0f, 1e6f, 3e9f, 3.4e38f, INFINITY};

        for (size_t i = 0; i < sizeof above / sizeof *above; i++)
            assert_int_equal(modc_f32_to_int8((float)sign * above[i]), sign * 127);
        assert_int_equal(modc_f32_to_int8((float)sign * 0.0f), 0);
        assert_int_equal(modc_f32_to_int8((float)sign * 1e-45f), 0);
        assert_int_equal(modc_f32_to_int8((float)sign * NAN), 0);
    }
}

/* Powers that no double is near to are 0 without libm: as it says. */
static void test_powers(void **state)
{
    uint32_t seed = 1;

    (void)state;
    assert_true(modc_f64s_pow(0.5, 1074) > 0 && modc_f64s_pow(0.5, 1076) == 0 &&
                modc_f64s_pow(0.9, 1e9) == 0);
    assert_true(modc_f64s_pow(0.5, (double)INFINITY) == 0 && modc_f64s_pow(1, 1e9) == 1 &&
                modc_f64s_pow(0, 0) == 1);
    assert_true(isnan(modc_f64s_pow(0.5, (double)NAN)) && modc_f64s_pow(-0.5, 1e9 + 1) == pow(-0.5, 1e9 + 1));
    for (int i = 0; i < 100000; i++) {
        double base, exponent;

        seed = seed * 1664525u + 1013904223u;
        base = (double)seed / 4294967296.0;
        seed = seed * 1664525u + 1013904223u;
        exponent = exp((double)seed / 4294967296.0 * 16.0);
        assert_true(modc_f64s_pow(base, exponent) == pow(base, exponent));
    }
}

static void test_transpose(void **state)
{
    enum { MOST = 37, PITCH = MOST + 2 };
    static float x[MOST * PITCH], y[MOST * PITCH];

    (void)state;
    for (int i = 0; i < MOST * PITCH; i++)
        x[i] = (float)i;
    for (int rows = 0; rows <= MOST; rows++) {
        for (int columns = 0; columns <= MOST; columns++) {
            for (int i = 0; i < MOST * PITCH; i++)
                y[i] = -1.0f;
            modc_f32_transpose(y, columns + 1, x, PITCH, rows, columns);
            for (int i = 0; i < MOST * PITCH; i++) {
                const int r = i / (columns + 1), c = i % (columns + 1);

                if (y[i] != (r < rows && c < columns ? x[c * PITCH + r] : -1.0f))
                    fail_msg("%d x %d: [%d, %d] is %g", rows, columns, r, c, (double)y[i]);
            }
        }
    }
}

/* Conv 3 x 3 of side x side values, valid: by the definition and by the transforms. */
static void check_winograd(const int side)
{
    const int planes = side * side, outputs = side - 2;
    float w[36], taps[9];
    modc_f32 d[36], m[36];

    for (int i = 0; i < 9; i++)
        taps[i] = w[planes - 9 + i] = (float)((i * 7 + 3) % 11 - 5) / 4;
    for (int i = 0; i < planes; i++)
        d[i] = modc_f32_set((float)((i * 5 + 1) % 13 - 6));
    modc_winograd_weights(w, side, 1);
    for (int i = 0; i < side; i++)
        modc_f32_winograd_input(d + side * i, 1, side);
    for (int i = 0; i < side; i++)
        modc_f32_winograd_input(d + i, side, side);
    for (int i = 0; i < planes; i++)
        m[i] = w[i] * d[i];
    for (int i = 0; i < side; i++)
        modc_f32_winograd_output(m + i, side, side);
    for (int i = 0; i < outputs; i++)
        modc_f32_winograd_output(m + side * i, 1, side);
    for (int o = 0; o < outputs * outputs; o++) {
        double expected = 0;
        float lanes[MODC_LANES];

        for (int t = 0; t < 9; t++)
            expected += (double)taps[t] *
                        ((((o / outputs + t / 3) * side + o % outputs + t % 3) * 5 + 1) % 13 - 6);
        modc_f32_store(lanes, m[o / outputs * side + o % outputs]);
        for (int l = 0; l < MODC_LANES; l++)
            assert_true(fabs((double)lanes[l] - expected) < 1e-4);
    }
}

static void test_winograd(void **state)
{
    (void)state;
    check_winograd(6);
    check_winograd(4);
}

/* Of weights in the orders that they come in: rows, turned, pixels of channels either way round. */
static void test_pack(void **state)
{
    enum { MOST = 40 * 6 * 5 };
    static const struct {
        int n, channels, pixels, row, channel, pixel;
    } cases[] = {
        {16, 1, 30, 30, 0, 1}, {40, 1, 7, 7, 0, 1},  {3, 1, 5, 5, 0, 1},   {32, 1, 20, 1, 0, 32},
        {37, 1, 9, 1, 0, 37},  {33, 6, 5, 30, 5, 1}, {33, 6, 5, 30, 1, 6}, {1, 4, 9, 0, 9, -1},
    };
    static float w[MOST], y[MOST * 2];

    (void)state;
    for (int i = 0; i < MOST; i++)
        w[i] = (float)(i + 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int channels = cases[c].channels, k = channels * cases[c].pixels, n = cases[c].n;
        const float *from = w + (cases[c].pixel < 0 ? cases[c].pixels - 1 : 0);

        for (int i = 0; i < MOST * 2; i++)
            y[i] = -1.0f;
        if (channels == 1)
            modc_f32_pack(y, from, n, k, cases[c].row, cases[c].pixel);
        else
            modc_f32_pack_pixels(y, from, n, channels, cases[c].pixels, cases[c].row, cases[c].channel,
                                 cases[c].pixel);
        for (int i = 0; i < (n + 15) / 16 * 16; i++)
            for (int j = 0; j < k; j++)
                assert_true(y[i / 16 * 16 * k + j * 16 + i % 16] ==
                            (i >= n ? 0.0f
                                    : from[i * cases[c].row + j % channels * cases[c].channel +
                                           j / channels * cases[c].pixel]));
        assert_true(y[(n + 15) / 16 * 16 * k] == -1.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pow),
        cmocka_unit_test(test_min_max),
        cmocka_unit_test(test_compare_select),
        cmocka_unit_test(test_horizontal),
        cmocka_unit_test(test_copysign),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_evens),
        cmocka_unit_test(test_zips),
        cmocka_unit_test(test_lane),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_fmod),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_narrow_rounding),
        cmocka_unit_test(test_narrow_store),
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_winograd),
    };

    print_message("MODC_LANES %d\n", MODC_LANES);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
