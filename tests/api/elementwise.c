/* elementwise.c - every elementwise function that computes, over floats of all sizes, against libm in double: results that are
 * normal numbers to units in the last place, denormal ones to units of the least, infinities, NaN and zeros with their signs.
 *
 *     program [FUNCTION...]
 *
 * x takes every MODC_STRIDE-th float (4093 where the environment has no such number; 1: all of them), from the bits MODC_FIRST to
 * MODC_LAST, y what goes with it. What a function should give is computed once and held against every instruction set that this machine has
 * of those that the model `elementwise` is compiled for, and against `scalar`, which has no vectors. */
#ifdef _OPENMP /* loops below may become vectors: glibc then declares its functions of vectors, if it is told so */
#define __FAST_MATH__ 1
#include <math.h>
#undef __FAST_MATH__
#define VECTORS(...) _Pragma(#__VA_ARGS__)
#else
#include <math.h>
#define VECTORS(...)
#endif

#include "check.h"
#include "elementwise.h"
#include "modc_special.h"
#include "scalar.h"

#include <string.h>

enum { COUNT = 4096, MOST_ISAS = 4, SCALARS = 8 };

#define PI 3.14159265358979323846

struct nets {
    struct elementwise *net;
    struct scalar *scalar;
};

/* Of floats, by their bits. */
struct range {
    uint64_t first, last, stride;
};

/* Of a function, by the instruction sets and at last scalars: the worst so far, and of this block. */
struct tally {
    double worst[MOST_ISAS + 1], now[MOST_ISAS + 1];
    long blocks;
    bool failed;
};

static float xs[COUNT], ys[COUNT], results[COUNT], before[COUNT];
static double references[COUNT], sizes[COUNT];

/* Of a function what it should be, for one number and for all of xs and ys; and the calls of it. */
#define VALUES(name, value)                                                                                  \
    static inline double name##_of(double x, double y)                                                       \
    {                                                                                                        \
        (void)x, (void)y;                                                                                    \
        return value;                                                                                        \
    }                                                                                                        \
    static void name##_all(double *values)                                                                   \
    {                                                                                                        \
        VECTORS(omp simd)                                                                                    \
        for (int i = 0; i < COUNT; i++)                                                                      \
            values[i] = name##_of((double)xs[i], (double)ys[i]);                                             \
    }
#define CALLS(name, ...)                                                                                     \
    static enum modc_status name##_call(const struct nets *nets, bool scalar)                                \
    {                                                                                                        \
        return scalar ? scalar_##name(nets->scalar, __VA_ARGS__, results)                                    \
                      : elementwise_##name(nets->net, __VA_ARGS__, results);                                 \
    }
#define ONE(name, value) VALUES(name, value) CALLS(name, xs)
#define TWO(name, value) VALUES(name, value) CALLS(name, xs, ys)

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

TWO(logaddexp, x == y ? x + log(2) : (x > y ? x : y) + log1p(exp(-fabs(x - y))))

static inline double remainder_by(double rest, double y)
{
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

TWO(remainder, remainder_by(fmod(x, y), y))

/* Of which size the terms are where PyTorch's formula subtracts: errors are units of the larger, this or the result. */
VALUES(no_size, 0)
VALUES(size_of_x, fabs(x))
VALUES(size_of_one, isnan(x) ? x : 1)
VALUES(size_of_both, fabs(x) > fabs(y) ? fabs(x) : fabs(y))

struct row {
    const char *name;
    double (*reference)(double x, double y);
    void (*fill)(double *values), (*fill_sizes)(double *values);
    enum modc_status (*call)(const struct nets *nets, bool scalar);
};

#define ROW(name) SUBTRACTS(name, no_size)
#define SUBTRACTS(name, size)                                                                                \
    {                                                                                                        \
#name, name##_of, name##_all, size##_all, name##_call                                                \
    }

static const struct row rows[] = {
    ROW(exp), ROW(exp2), ROW(expm1), ROW(log), ROW(log1p), ROW(log2), ROW(log10), ROW(sqrt), ROW(rsqrt),
    ROW(reciprocal), ROW(pow),
    /* angles */
    ROW(sin), ROW(cos), ROW(tan), ROW(atan), ROW(asin), ROW(acos), ROW(atan2), ROW(sinh), ROW(cosh),
    ROW(tanh), ROW(asinh), ROW(acosh), ROW(atanh), ROW(hypot),
    /* activations */
    ROW(sigmoid), ROW(silu), ROW(mish), ROW(softplus), ROW(logsigmoid), ROW(elu), ROW(selu), ROW(celu),
    SUBTRACTS(gelu, size_of_x), SUBTRACTS(gelu_tanh, size_of_x), ROW(softsign),
    SUBTRACTS(tanhshrink, size_of_x), ROW(hardsigmoid), ROW(hardswish),
    /* others */
    ROW(erf), ROW(erfc), SUBTRACTS(sinc, size_of_one), SUBTRACTS(logit, size_of_one),
    SUBTRACTS(logaddexp, size_of_both), ROW(xlogy), ROW(fmod), ROW(remainder),
    /* special */
    ROW(lgamma), ROW(i0), ROW(i1), ROW(k0), ROW(k1), ROW(bessel_j0), ROW(spherical_bessel_j0), ROW(erfinv),
    ROW(log_ndtr), ROW(entr), ROW(xlog1py), ROW(zeta)};

/* What every function gets first, each number with each: zeros, what is infinite or no number, what is denormal, the ends of ranges,
 * and where erfc was more than 4 units off without fused multiply-add. */
static const float specials[] = {0.0f,
                                 -0.0f,
                                 (float)INFINITY,
                                 -(float)INFINITY,
                                 (float)NAN,
                                 1.40129846e-45f,
                                 -1.40129846e-45f,
                                 1.17549421e-38f,
                                 -1.17549421e-38f,
                                 1.17549435e-38f,
                                 -1.17549435e-38f,
                                 3.40282347e38f,
                                 -3.40282347e38f,
                                 0.5f,
                                 -0.5f,
                                 1.0f,
                                 -1.0f,
                                 0.99999994f,
                                 1.00000012f,
                                 2.0f,
                                 -2.0f,
                                 3.0f,
                                 -3.0f,
                                 20.0f,
                                 -20.0f,
                                 88.7228394f,
                                 -87.3365448f,
                                 -103.972084f,
                                 8388608.0f,
                                 1e9f,
                                 0.832038522f,
                                 0.823725998f,
                                 -0.832038522f};

enum { ROWS = sizeof rows / sizeof *rows, SPECIALS = sizeof specials / sizeof *specials };

#define MOST 4.0                /* units in the last place */
#define MOST_FLOAT 3.4028234e38 /* just below it */
#define LEAST_NORMAL 0x1p-126

static float of_bits(uint32_t bits)
{
    float a;

    memcpy(&a, &bits, sizeof a);
    return a;
}

static inline uint64_t bits_of(double a)
{
    uint64_t bits;

    memcpy(&bits, &a, sizeof bits);
    return bits;
}

/* The unit in the last place of a float of this size, which is a normal number. */
static inline double unit_of(double size)
{
    const uint64_t power = bits_of(size) & 0x7ff0000000000000u;
    double unit;

    memcpy(&unit, &power, sizeof unit);
    return unit * 0x1p-23;
}

static inline double units_between(double found, double expected, double size)
{
    const double larger = fabs(expected) > size ? fabs(expected) : size;

    return fabs(found - expected) / unit_of(larger > LEAST_NORMAL ? larger : LEAST_NORMAL);
}

/* Whether both are finite and close, or both NaN, or both beyond the largest float: no doubt, then, and the distance is that of
 * units_between, or 0. */
static inline bool is_close(double found, double expected, double size)
{
    const bool finite = fabs(expected) <= MOST_FLOAT && units_between(found, expected, size) <= MOST;
    const bool zeros = found == 0 && expected == 0 && bits_of(found) != bits_of(expected);
    const bool beyond = fabs(expected) > MOST_FLOAT && fabs(found) > MOST_FLOAT &&
                        (found > 0) == (expected > 0);

    return (finite && !zeros) || beyond || (isnan(found) && isnan(expected));
}

/* The distance of a result from what it should be, in units of the last place, or of the least denormal; infinite where one is
 * infinite, NaN or a zero of another sign. A result that is just about the largest number may be infinite. */
static double distance(double found, double expected, double size)
{
    if (isnan(expected) || isnan(found))
        return isnan(expected) && isnan(found) ? 0 : (double)INFINITY;
    if (isinf(found) || fabs(expected) > MOST_FLOAT)
        return fabs(found) >= MOST_FLOAT && fabs(expected) >= MOST_FLOAT && (found > 0) == (expected > 0)
                   ? 0
                   : (double)INFINITY;
    if (found == 0 && expected == 0)
        return size == 0 && !signbit(found) != !signbit(expected) ? (double)INFINITY : 0;
    return units_between(found, expected, size);
}

/* What of a block of results is doubtful once more, by libm's function of one number. */
static double look_again(const struct row *row, const char *isa, bool *failed)
{
    double worst = 0;

    for (int i = 0; i < COUNT; i++) {
        const double found = (double)results[i], a = (double)xs[i], b = (double)ys[i];
        double value, error;

        if (is_close(found, references[i], sizes[i]))
            continue;
        value = row->reference(a, b);
        error = distance(found, value, sizes[i] <= 3.4e38 ? sizes[i] : 0);
        worst = error > worst ? error : worst;
        if (error > MOST && !*failed) {
            fprintf(stderr, "%s(%.9g, %.9g) with %s is %.9g, not %.9g: %.2f units\n", row->name, a, b, isa,
                    found, value, error);
            *failed = true;
        }
    }
    return worst;
}

/* The worst of a block of results. */
static double check(const struct row *row, const char *isa, bool *failed)
{
    double worst = 0;
    int doubts = 0;

    VECTORS(omp simd reduction(max : worst) reduction(+ : doubts))
    for (int i = 0; i < COUNT; i++) {
        const double found = (double)results[i], error = units_between(found, references[i], sizes[i]);
        const bool is = is_close(found, references[i], sizes[i]);
        const double counts = is && error <= MOST ? error : 0;

        worst = counts > worst ? counts : worst;
        doubts += !is;
    }
    if (doubts > 0) {
        const double again = look_again(row, isa, failed);

        return again > worst ? again : worst;
    }
    return worst;
}

/* Floats from the first bits on; y of any size, near 0, near x, or as large as x, and now and then a zero or infinite. */
static uint64_t fill(uint64_t bits, uint64_t stride)
{
    for (int i = 0; i < COUNT; i++, bits += stride) {
        const uint32_t b = bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
        const uint32_t h = (b ^ b >> 15) * 2246822519u, other = (h ^ h >> 13) * 3266489917u;

        xs[i] = of_bits(b);
        ys[i] = i % 4 == 0   ? of_bits(other)
                : i % 4 == 1 ? (float)(int32_t)other * 7.45058060e-9f
                : i % 4 == 2 ? xs[i] * ((float)(int32_t)other * 1.86264515e-9f)
                             : of_bits((b & 0x7f800000u) | (other & 0x807fffffu));
        if (i % 61 == 7)
            ys[i] = i % 2 ? 0.0f : -0.0f;
        if (i % 61 == 8)
            ys[i] = i % 2 ? (float)INFINITY : -(float)INFINITY;
    }
    return bits;
}

/* Calls a function with the code at place `isa`, and notes the worst of its results; that of `last`, which has just been there, where
 * they are the same. */
static void try(const struct nets *nets, const struct row *row, int isa, int last, struct tally *tally)
{
    const struct modc_dispatch *dispatch = elementwise_model.dispatch;
    const bool scalar = isa == dispatch->count;
    double error;

    if (last >= 0)
        memcpy(before, results, sizeof before);
    CHECK_OK(row->call(nets, scalar));
    error = last >= 0 && memcmp(before, results, sizeof before) == 0
                ? tally->now[last]
                : check(row, scalar ? "scalars" : dispatch->isas[isa].name, &tally->failed);
    tally->now[isa] = error;
    if (error > tally->worst[isa])
        tally->worst[isa] = error;
}

/* xs and ys through a function, with everything that computes it: scalars, which are slow and do what the last instruction set
 * does, now and then alone. */
static void run(const struct nets *nets, const struct row *row, struct tally *tally)
{
    const struct modc_dispatch *dispatch = elementwise_model.dispatch;
    int last = -1;

    row->fill(references);
    row->fill_sizes(sizes);
    for (int i = 0; i < dispatch->count; i++) {
        if (elementwise_set_isa(nets->net, dispatch->isas[i].name) != MODC_OK)
            continue;
        try(nets, row, i, last, tally);
        last = i;
    }
    if (tally->blocks++ % SCALARS == 0)
        try(nets, row, dispatch->count, last, tally);
}

/* All of x through a function; whether it is right. */
static bool run_all(const struct nets *nets, const struct row *row, const struct range *range)
{
    struct tally tally = {{0}, {0}, 0, false};

    for (int i = 0; i < COUNT; i++) {
        xs[i] = specials[i % SPECIALS];
        ys[i] = specials[i / SPECIALS % SPECIALS];
    }
    run(nets, row, &tally);
    for (uint64_t bits = range->first; bits <= range->last;) {
        bits = fill(bits, range->stride);
        run(nets, row, &tally);
    }
    printf("%-20s", row->name);
    for (int i = 0; i <= elementwise_model.dispatch->count; i++)
        printf(" %9.2f", tally.worst[i]);
    printf("\n");
    fflush(stdout);
    return !tally.failed;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *const text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool is_wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int main(int count, char **arguments)
{
    const struct range range = {number("MODC_FIRST", 0), number("MODC_LAST", UINT32_MAX),
                                number("MODC_STRIDE", 4093)};
    struct modc_params *params, *scalar_params;
    struct nets nets;
    bool right = true;

    CHECK(range.stride > 0 && elementwise_model.dispatch->count <= MOST_ISAS);
    CHECK_OK(modc_params_create(&elementwise_model, &params));
    CHECK_OK(modc_params_create(&scalar_model, &scalar_params));
    CHECK_OK(elementwise_create((struct elementwise_params *)(void *)params, &nets.net));
    CHECK_OK(scalar_create((struct scalar_params *)(void *)scalar_params, &nets.scalar));
    printf("%-20s", "units");
    for (int i = 0; i < elementwise_model.dispatch->count; i++)
        printf(" %9s", elementwise_model.dispatch->isas[i].name);
    printf(" %9s\n", "scalars");
    for (int r = 0; r < ROWS; r++) {
        if (is_wanted(rows[r].name, count - 1, arguments + 1) && !run_all(&nets, &rows[r], &range))
            right = false;
    }
    elementwise_destroy(nets.net);
    scalar_destroy(nets.scalar);
    modc_params_destroy(params);
    modc_params_destroy(scalar_params);
    return !right;
}
