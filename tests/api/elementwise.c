/* elementwise.c - every elementwise function that computes, over floats of all sizes, against libm in double: results that are
 * normal numbers to units in the last place, denormal ones to units of the least, infinities, NaN and zeros with their signs.
 *
 * x takes every MODC_STRIDE-th float (4093 where the environment has no such number; 1: all of them), y what goes with it. */
#include "elementwise.h"
#include "check.h"
#include "modc_special.h"

#include <math.h>
#include <string.h>

enum { COUNT = 4096 };

#define PI 3.14159265358979323846

/* double y: of functions of two numbers. */
#define ONE(name, value)                                                                                     \
    static double name##_of(double x, double y)                                                              \
    {                                                                                                        \
        (void)y;                                                                                             \
        return value;                                                                                        \
    }
#define TWO(name, value)                                                                                     \
    static double name##_of(double x, double y)                                                              \
    {                                                                                                        \
        return value;                                                                                        \
    }

ONE(exp, exp(x))
ONE(exp2, exp2(x))
ONE(expm1, expm1(x))
ONE(log, log(x))
ONE(log1p, log1p(x))
ONE(log2, log2(x))
ONE(log10, log10(x))
ONE(sqrt, sqrt(x))
ONE(rsqrt, 1 / sqrt(x))
ONE(reciprocal, 1 / x)
TWO(pow, pow(x, y))
ONE(sin, sin(x))
ONE(cos, cos(x))
ONE(tan, tan(x))
ONE(atan, atan(x))
ONE(asin, asin(x))
ONE(acos, acos(x))
TWO(atan2, atan2(x, y))
ONE(sinh, sinh(x))
ONE(cosh, cosh(x))
ONE(tanh, tanh(x))
ONE(asinh, asinh(x))
ONE(acosh, acosh(x))
ONE(atanh, atanh(x))
TWO(hypot, hypot(x, y))
ONE(sigmoid, 1 / (1 + exp(-x)))
ONE(silu, x / (1 + exp(-x)))
ONE(mish, x > 20 ? x : x * tanh(log1p(exp(x))))
ONE(softplus, x > 20 ? x : log1p(exp(x)))
ONE(logsigmoid, x < 0 ? x - log1p(exp(x)) : 0 - log1p(exp(-x)))
ONE(elu, x > 0 ? x : expm1(x))
ONE(selu, 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * expm1(x)))
ONE(celu, x > 0 ? x : 1.5 * expm1(x / 1.5))
ONE(gelu, 0.5 * x * erfc(-x * sqrt(0.5)))
ONE(gelu_tanh, x / (1 + exp(-2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x))))
ONE(softsign, x / (1 + fabs(x)))
ONE(tanhshrink, x - tanh(x))
ONE(hardsigmoid, x<-3 ? 0 : x> 3 ? 1 : (x + 3) / 6)
ONE(erf, erf(x))
ONE(erfc, erfc(x))
ONE(logit, log(x / (1 - x)))
TWO(xlogy, isnan(y) ? y : x == 0 ? 0 : x * log(y))
TWO(fmod, fmod(x, y))

/* torch.special: what unit_special holds to values of 40 digits, as floats and with what lines make of it. */
ONE(lgamma, lgamma(x))
ONE(i0, modc_f64s_i0e(x) * exp(fabs(x)))
ONE(i1, modc_f64s_i1e(x) * exp(fabs(x)))
ONE(k0, modc_f64s_k0e(x) * exp(-x))
ONE(k1, modc_f64s_k1e(x) * exp(-x))
ONE(bessel_j0, modc_f64s_bessel_j0(x))
ONE(spherical_bessel_j0, x == 0 ? 1 : isinf(x) ? 0 : sin(x) / x)
ONE(erfinv, modc_f64s_erfinv(x))
ONE(log_ndtr, modc_f64s_log_ndtr(x))
ONE(entr, x > 0 ? -x * log(x) : x == 0 ? 0 : isnan(x) ? x : -(double)INFINITY)
TWO(xlog1py, isnan(y) ? y : x == 0 ? 0 : x * log1p(y))
TWO(zeta, modc_f64s_zeta(x, y))

/* As in PyTorch infinite where six times x is. */
ONE(hardswish, x<-3 ? x * 0 : x> 3 ? ((double)(float)(6 * x) > 3.5e38 ? 6 * x : x) : x *(x + 3) / 6)

/* As in PyTorch NaN where pi times x is infinite. */
ONE(sinc, x == 0 ? 1 : PI * fabs(x) > 3.4028235e38 ? (double)NAN : sin(PI * fmod(x, 2)) / (PI * x))

static double logaddexp_of(double x, double y)
{
    if (isnan(x) || isnan(y))
        return x + y;
    return x == y ? x + log(2) : fmax(x, y) + log1p(exp(-fabs(x - y)));
}

static double remainder_of(double x, double y)
{
    const double rest = fmod(x, y);

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Of which size the terms are where PyTorch's formula subtracts: errors are units of the larger, this or the result. */
ONE(size_of_x, fabs(x))
ONE(size_of_one, isnan(x) ? x : 1)
TWO(size_of_both, fmax(fabs(x), fabs(y)))

struct row {
    const char *name;
    double (*reference)(double x, double y), (*size)(double x, double y);
};

#define ROW(name)                                                                                            \
    {                                                                                                        \
#name, name##_of, NULL                                                                               \
    }
#define SUBTRACTS(name, size)                                                                                \
    {                                                                                                        \
#name, name##_of, size_of_##size##_of                                                                \
    }

/* In the order of the results. */
static const struct row rows[] = {
    ROW(exp), ROW(exp2), ROW(expm1), ROW(log), ROW(log1p), ROW(log2), ROW(log10), ROW(sqrt), ROW(rsqrt),
    ROW(reciprocal), ROW(pow),
    /* angles */
    ROW(sin), ROW(cos), ROW(tan), ROW(atan), ROW(asin), ROW(acos), ROW(atan2), ROW(sinh), ROW(cosh),
    ROW(tanh), ROW(asinh), ROW(acosh), ROW(atanh), ROW(hypot),
    /* activations */
    ROW(sigmoid), ROW(silu), ROW(mish), ROW(softplus), ROW(logsigmoid), ROW(elu), ROW(selu), ROW(celu),
    SUBTRACTS(gelu, x), SUBTRACTS(gelu_tanh, x), ROW(softsign), SUBTRACTS(tanhshrink, x), ROW(hardsigmoid),
    ROW(hardswish),
    /* others */
    ROW(erf), ROW(erfc), SUBTRACTS(sinc, one), SUBTRACTS(logit, one), SUBTRACTS(logaddexp, both), ROW(xlogy),
    ROW(fmod), ROW(remainder),
    /* special */
    ROW(lgamma), ROW(i0), ROW(i1), ROW(k0), ROW(k1), ROW(bessel_j0), ROW(spherical_bessel_j0), ROW(erfinv),
    ROW(log_ndtr), ROW(entr), ROW(xlog1py), ROW(zeta)};

enum { MOST = 4 }; /* units in the last place */
enum { POWERS = 11, ANGLES = 14, ACTIVATIONS = 14, OTHERS = 8, ROWS = sizeof rows / sizeof *rows };

/* Where erfc was more than 4 units off without fused multiply-add. */
static const float worst_once[] = {0.832038522f, 0.823725998f, -0.832038522f};

static float x[COUNT], y[COUNT], results[ROWS][COUNT];
static double worst[ROWS];
static bool failed[ROWS], any;

static float of_bits(uint32_t bits)
{
    float a;

    memcpy(&a, &bits, sizeof a);
    return a;
}

/* The distance of a result from what it should be, in units of the last place, or of the least denormal; infinite where one is
 * infinite, NaN or a zero of another sign. A result that is just about the largest number may be infinite. */
static double distance(float found, double expected, double size)
{
    const double most = 3.4028234e38;
    int exponent;

    if (isnan(expected) || isnan(found))
        return isnan(expected) && isnan(found) ? 0 : (double)INFINITY;
    if (isinf(found) || fabs(expected) > most)
        return fabs((double)found) >= most && fabs(expected) >= most && (found > 0) == (expected > 0)
                   ? 0
                   : (double)INFINITY;
    if (found == 0 && expected == 0)
        return size == 0 && !signbit(found) != !signbit(expected) ? (double)INFINITY : 0;
    frexp(fmax(fmax(fabs(expected), size), 0x1p-126), &exponent);
    return fabs((double)found - expected) / ldexp(1, exponent - 24);
}

static void check(int r)
{
    const struct row *row = &rows[r];

    for (int i = 0; i < COUNT; i++) {
        const double a = (double)x[i], b = (double)y[i], expected = row->reference(a, b);
        const double size = row->size ? row->size(a, b) : 0;
        const double error = distance(results[r][i], expected, size <= 3.4e38 ? size : 0);

        if (error > worst[r])
            worst[r] = error;
        if (error > MOST && !failed[r]) {
            fprintf(stderr, "%s(%.9g, %.9g) is %.9g, not %.9g: %.2f units\n", row->name, a, b,
                    (double)results[r][i], expected, error);
            failed[r] = any = true;
        }
    }
}

/* Floats from the first bits on; y of any size, near 0, near x, or as large as x, and now and then a zero or infinite. */
static uint64_t fill(uint64_t bits, uint64_t stride)
{
    for (int i = 0; i < COUNT; i++, bits += stride) {
        const uint32_t b = bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
        const uint32_t h = (b ^ b >> 15) * 2246822519u, other = (h ^ h >> 13) * 3266489917u;

        x[i] = of_bits(b);
        y[i] = i % 4 == 0   ? of_bits(other)
               : i % 4 == 1 ? (float)(int32_t)other * 7.45058060e-9f
               : i % 4 == 2 ? x[i] * ((float)(int32_t)other * 1.86264515e-9f)
                            : of_bits((b & 0x7f800000u) | (other & 0x807fffffu));
        if (i % 61 == 7)
            y[i] = i % 2 ? 0.0f : -0.0f;
        if (i % 61 == 8)
            y[i] = i % 2 ? (float)INFINITY : -(float)INFINITY;
    }
    return bits;
}

static void run(struct elementwise *net)
{
    CHECK_OK(elementwise_forward(net, x, y, results[0], results[POWERS], results[POWERS + ANGLES],
                                 results[POWERS + ANGLES + ACTIVATIONS],
                                 results[POWERS + ANGLES + ACTIVATIONS + OTHERS]));
    for (int r = 0; r < ROWS; r++)
        check(r);
}

int main(void)
{
    const char *const text = getenv("MODC_STRIDE");
    const uint64_t stride = text ? strtoull(text, NULL, 10) : 4093;
    struct modc_params *params;
    struct elementwise *net;

    CHECK(stride > 0);
    CHECK_OK(modc_params_create(&elementwise_model, &params));
    CHECK_OK(elementwise_create((struct elementwise_params *)(void *)params, &net));
    for (int i = 0; i < COUNT; i++) {
        x[i] = worst_once[i % (int)(sizeof worst_once / sizeof *worst_once)];
        y[i] = 1;
    }
    run(net);
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        bits = fill(bits, stride);
        run(net);
    }
    for (int r = 0; r < ROWS; r++)
        printf("%-11s %5.2f\n", rows[r].name, worst[r]);
    elementwise_destroy(net);
    modc_params_destroy(params);
    return any;
}
