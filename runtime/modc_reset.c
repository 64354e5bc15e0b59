/* modc_reset.c - the initial weights of a model, bit for bit those of PyTorch's CPU generator.
 *
 * Apart from modc_state.c because every rounding here is promised (module-semantics 5.1a) and because
 * firmware that only loads weights does without it. No libm: functions are written out, with fused multiply-
 * adds in software where the machine has none. float64 normal_ agrees up to the last bit of log, sin and
 * cos; with MODC_LIBM defined it calls the C library's, as PyTorch does, and agrees in all bits with a
 * PyTorch that uses the same library. */
#include "modc_device.h"
#include "modc_integers.h"

#include <string.h>
#ifdef MODC_LIBM
#include <math.h>
#endif

#if defined __FAST_MATH__ || defined _M_FP_FAST
#error "modc_reset.c promises bits: compile it without -ffast-math, /fp:fast"
#endif
/* Nothing is rounded otherwise than it is written, whatever the flags are. */
#if defined __clang__ && __clang_major__ >= 11
#pragma clang fp contract(off) reassociate(off)
#elif defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math",               \
                     "no-reciprocal-math")
#elif defined _MSC_VER
#pragma float_control(precise, on)
#pragma fp_contract(off)
#endif
#if defined __FLT_EVAL_METHOD__ && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "modc_reset.c promises bits: compile it without excess precision, on x86 with -msse2 -mfpmath=sse"
#endif

/* ---- MT19937 ------------------------------------------------------------------------------------------- */

enum { WORDS = 624, MIDDLE = 397 };

struct generator {
    uint32_t state[WORDS];
    int at;
    bool has_normal; /* a value of the path for fewer than 16 is left over */
    double normal;
};

static void seed(struct generator *g, uint64_t value)
{
    g->state[0] = (uint32_t)value;
    for (uint32_t j = 1; j < WORDS; j++)
        g->state[j] = 1812433253u * (g->state[j - 1] ^ g->state[j - 1] >> 30) + j;
    g->at = WORDS;
    g->has_normal = false;
    g->normal = 0.0;
}

static void twist(struct generator *g)
{
    for (int j = 0; j < WORDS; j++) {
        int next = j + 1 < WORDS ? j + 1 : 0, far = j + MIDDLE < WORDS ? j + MIDDLE : j + MIDDLE - WORDS;
        uint32_t mixed = (g->state[j] & 0x80000000u) | (g->state[next] & 0x7fffffffu);

        g->state[j] = g->state[far] ^ mixed >> 1 ^ (0x9908b0dfu & (0u - (mixed & 1)));
    }
    g->at = 0;
}

static uint32_t next_word(struct generator *g)
{
    if (g->at == WORDS)
        twist(g);

    uint32_t word = g->state[g->at++];

    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

static float next_u24(struct generator *g)
{
    return (float)(next_word(g) & 0xffffffu) * 5.9604644775390625e-8f; /* 2^-24 */
}

static double next_u53(struct generator *g)
{
    uint64_t high = next_word(g);
    uint64_t word = high << 32 | next_word(g);

    return (double)(word & 0x1fffffffffffffu) * 1.1102230246251565404e-16; /* 2^-53 */
}

/* ---- exact arithmetic ---------------------------------------------------------------------------------- */

/* high + low is exactly what was computed. */
struct pair {
    double high, low;
};

static struct pair two_sum(double a, double b)
{
    double sum = a + b, part = sum - a;
    struct pair result = {sum, (a - (sum - part)) + (b - part)};

    return result;
}

static struct pair two_product(double a, double b)
{
    double c = 134217729.0 * a, d = 134217729.0 * b; /* 2^27 + 1 */
    double a1 = c - (c - a), b1 = d - (d - b), a2 = a - a1, b2 = b - b1;
    double product = a * b;
    struct pair result = {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};

    return result;
}

/* a + b rounded to odd: rounded again to fewer bits it gives what one rounding of the exact sum gives. */
static double add_to_odd(double a, double b)
{
    struct pair sum = two_sum(a, b);
    uint64_t bits;

    memcpy(&bits, &sum.high, sizeof bits);
    if (sum.low == 0.0 || (bits & 1) != 0)
        return sum.high;
    if ((sum.low > 0.0) == (sum.high > 0.0))
        bits++;
    else
        bits--;
    memcpy(&sum.high, &bits, sizeof bits);
    return sum.high;
}

static float fma32(float a, float b, float c)
{
#if defined __FMA__ || defined __FP_FAST_FMAF || defined __aarch64__
    return __builtin_fmaf(a, b, c);
#else
    return (float)add_to_odd((double)a * (double)b, (double)c);
#endif
}

/* Boldo and Melquiond's; right wherever nothing overflows or underflows, as here. */
static double fma64(double a, double b, double c)
{
    struct pair product = two_product(a, b);
    struct pair low = two_sum(c, product.low);
    struct pair high = two_sum(product.high, low.high);

    return high.high + add_to_odd(high.low, low.low);
}

/* Of a number that is not negative: halves the exponent for a first guess, then Newton. */
static double sqrt64(double x)
{
    double root;
    uint64_t bits;

    if (!(x > 0.0))
        return x;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 1) + 0x1ff7a3bea91d9b1bu;
    memcpy(&root, &bits, sizeof root);
    for (int i = 0; i < 4; i++)
        root = 0.5 * (root + x / root);

    struct pair square = two_product(root, root); /* the rest is below the last bit */

    return root + ((x - square.high) - square.low) / (2.0 * root);
}

static float sqrt32(float x)
{
    return (float)sqrt64((double)x); /* twice the bits and two more: rounding twice does no harm */
}

/* ---- log, sin and cos as the float32 kernels have them ------------------------------------------------- */

/* Of a positive normal number. */
static float log32(float x)
{
    static const float p[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                              -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                              2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    uint32_t bits;
    float m;

    memcpy(&bits, &x, sizeof bits);

    int exponent = (int)(bits >> 23) - 126;

    bits = (bits & 0x7fffffu) | 0x3f000000u;
    memcpy(&m, &bits, sizeof m);
    if (m < .70710678f) {
        exponent--;
        m = (m - 1.0f) + m;
    } else {
        m = m - 1.0f;
    }

    float e = (float)exponent, z = m * m, y = p[0];

    for (int i = 1; i < 9; i++)
        y = fma32(y, m, p[i]);
    y = y * m;
    y = fma32(y, z, e * -2.12194440e-4f);
    y = fma32(-z, .5f, y);
    return fma32(e, .693359375f, m + y);
}

/* Of a number from 0 to 7. */
static void sin_cos32(float x, float *sine, float *cosine)
{
    int j = ((int)(x * 1.27323954473516f) + 1) & ~1;

    x = fma32((float)j, -.78515625f, x);
    x = fma32((float)j, -2.4187564849853515625e-4f, x);
    x = fma32((float)j, -3.77489497744594108e-8f, x);

    float z = x * x;
    float c = fma32(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    float s = fma32(-1.9515295891e-4f, z, 8.3321608736e-3f);

    c = fma32(c, z, 4.166664568298827e-2f);
    c = c * z;
    c = fma32(c, z, -(z * .5f)) + 1.0f;
    s = fma32(s, z, -1.6666654611e-1f);
    s = s * z;
    s = fma32(s, x, x);
    if ((j & 2) != 0) {
        float swap = s;

        s = c;
        c = swap;
    }
    *sine = (j & 4) != 0 ? -s : s;
    *cosine = ((j - 2) & 4) != 0 ? c : -c;
}

/* ---- log, sin and cos in double ------------------------------------------------------------------------ */

#ifdef MODC_LIBM

static double log64(double x)
{
    return log(x);
}

static double log1p64(double x)
{
    return log1p(x);
}

static void sin_cos64(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}

#else

/* Of a number in (0, 1]; within 0.51 of the last place. log(m) = 2 atanh(s), s = (m - 1) / (m + 1). */
static double log64(double x)
{
    uint64_t bits;
    double m;

    memcpy(&bits, &x, sizeof bits);

    int exponent = (int)(bits >> 52) - 1022;

    bits = (bits & 0xfffffffffffffu) | 0x3fe0000000000000u;
    memcpy(&m, &bits, sizeof m);
    if (m < 0.70710678118654752) {
        m *= 2.0;
        exponent--;
    }

    double above = m - 1.0, s = above / (m + 1.0);
    struct pair divisor = two_sum(m, 1.0), product = two_product(s, divisor.high);
    double rest = ((above - product.high) - product.low - s * divisor.low) /
                  divisor.high; /* s + rest is exact */
    double z = s * s, series = 0.0;

    for (int k = 33; k >= 3; k -= 2)
        series = series * z + 1.0 / k;

    double e = exponent;
    struct pair sum = two_sum(e * 6.93147180369123816490e-1,
                              2.0 * s); /* ln 2 in 33 bits: the product is exact */

    return sum.high + (sum.low + (2.0 * (rest + s * z * series) + e * 1.90821492927058770002e-10));
}

/* Of -b, b a multiple of 2^-53 in [0, 1): 1 - b is exact. */
static double log1p64(double x)
{
    return log64(1.0 + x);
}

/* Of a number from 0 to 7. */
static void sin_cos64(double x, double *sine, double *cosine)
{
    int quarter = (int)(x * 0.63661977236758134 + 0.5);
    double q = quarter;
    struct pair r = two_sum(x - q * 1.5707963267341256,
                            -q * 6.0771005063039602e-11); /* pi / 2 in parts of 33 bits */
    double low = r.low - q * 2.0222662487959506e-21;
    double z = r.high * r.high, sine_series = 0.0, cosine_series = 0.0;
    static const double s[] = {-1.6666666666666666e-1,  8.3333333333333333e-3,  -1.9841269841269841e-4,
                               2.7557319223985893e-6,   -2.5052108385441719e-8, 1.6059043836821613e-10,
                               -7.6471637318198165e-13, 2.8114572543455206e-15};
    static const double c[] = {4.1666666666666667e-2,  -1.3888888888888889e-3, 2.4801587301587302e-5,
                               -2.7557319223985893e-7, 2.0876756987868099e-9,  -1.1470745597729725e-11,
                               4.7794773323873853e-14, -1.5619206968586225e-16};

    for (int i = 7; i >= 0; i--) {
        sine_series = sine_series * z + s[i];
        cosine_series = cosine_series * z + c[i];
    }

    struct pair square = two_product(r.high, r.high);
    struct pair one = two_sum(1.0, -0.5 * square.high);
    double si = r.high + (low * (1.0 - 0.5 * z) + r.high * z * sine_series);
    double co = one.high + (one.low + (-0.5 * square.low - r.high * low + z * z * cosine_series));

    *sine = (quarter & 1) == 0 ? si : co;
    *cosine = (quarter & 1) == 0 ? co : si;
    if ((quarter & 2) != 0)
        *sine = -*sine;
    if (((quarter + 1) & 2) != 0)
        *cosine = -*cosine;
}

#endif

/* ---- drawing ------------------------------------------------------------------------------------------- */

/* Where numbers go; out NULL: nowhere, the stream only moves on. */
struct target {
    unsigned char *out;
    enum modc_dtype dtype; /* a float type that is not complex */
    size_t count;
    bool bounded; /* what lies from low to high already stays */
    double low, high;
};

static bool is_within(const struct target *target, size_t index)
{
    double value = modc_number(target->out + index * modc_dtype_bytes(target->dtype), target->dtype);

    return !(value < target->low || value > target->high);
}

static void store(const struct target *target, size_t index, double value)
{
    float single = (float)value;

    if (target->out == NULL || (target->bounded && is_within(target, index)))
        return;
    if (target->dtype == MODC_FLOAT32)
        memcpy(target->out + index * sizeof single, &single, sizeof single);
    else
        modc_store(target->out + index * modc_dtype_bytes(target->dtype), target->dtype, value);
}

static double rounded(enum modc_dtype dtype, double value)
{
    unsigned char element[MODC_WIDEST];

    modc_store(element, dtype, value);
    return modc_number(element, dtype);
}

static void draw_uniform(struct generator *g, const struct target *target, double a, double b)
{
    enum modc_dtype dtype = target->dtype, wide = dtype == MODC_FLOAT64 ? MODC_FLOAT64 : MODC_FLOAT32;
    double from = rounded(wide, a), range = rounded(wide, rounded(wide, b) - from);

    double end = rounded(dtype, b);

    for (size_t i = 0; i < target->count; i++) {
        double value;

        if (dtype == MODC_FLOAT64)
            value = fma64(next_u53(g), range, from);
        else
            value = (double)fma32(next_u24(g), (float)range, (float)from);
        if (wide != dtype)
            value = rounded(dtype, value);
        store(target, i, value == end ? from : value);
    }
}

static void draw_few_normals(struct generator *g, const struct target *target, double mean, double std)
{
    for (size_t i = 0; i < target->count; i++) {
        double value = g->normal;

        if (g->has_normal) {
            g->has_normal = false;
        } else {
            double a = next_u53(g), b = next_u53(g), sine, cosine;
            double radius = sqrt64(-2.0 * log1p64(-b));

            sin_cos64(6.283185307179586232 * a, &sine, &cosine);
            g->normal = radius * sine;
            g->has_normal = true;
            value = radius * cosine;
        }
        store(target, i, fma64(value, std, mean));
    }
}

enum { BLOCK = 16, HALF = 8 };

/* Of a block of 16 from `at` on, what stands before `end`. */
static void fill_block32(struct generator *g, const struct target *target, size_t at, size_t end, float mean,
                         float std)
{
    float d[BLOCK];

    for (int j = 0; j < BLOCK; j++)
        d[j] = next_u24(g);
    if (target->out == NULL)
        return;
    for (int j = 0; j < HALF; j++) {
        float sine, cosine, radius = sqrt32(-2.0f * log32(1.0f - d[j]));

        sin_cos32(6.2831855f * d[j + HALF], &sine, &cosine);
        d[j] = fma32(radius * cosine, std, mean);
        d[j + HALF] = fma32(radius * sine, std, mean);
    }
    for (size_t j = 0; j < BLOCK && at + j < end; j++)
        store(target, at + j, (double)d[j]);
}

static void fill_block64(struct generator *g, const struct target *target, size_t at, size_t end, double mean,
                         double std)
{
    double d[BLOCK];

    for (int j = 0; j < BLOCK; j++)
        d[j] = next_u53(g);
    if (target->out == NULL)
        return;
    for (int j = 0; j < HALF; j++) {
        double sine, cosine, radius = sqrt64(-2.0 * log64(1.0 - d[j]));

        sin_cos64(6.283185307179586232 * d[j + HALF], &sine, &cosine);
        d[j] = fma64(radius * cosine, std, mean);
        d[j + HALF] = fma64(radius * sine, std, mean);
    }
    for (size_t j = 0; j < BLOCK && at + j < end; j++)
        store(target, at + j, d[j]);
}

static void fill_block(struct generator *g, const struct target *target, size_t at, size_t end, double mean,
                       double std)
{
    if (target->dtype == MODC_FLOAT64)
        fill_block64(g, target, at, end, mean, std);
    else
        fill_block32(g, target, at, end, (float)mean, (float)std);
}

/* Blocks of 16; a part block at the end is drawn, but for half types, and thrown away, and the last 16 are
 * drawn again. */
static void draw_normal(struct generator *g, const struct target *target, double mean, double std)
{
    size_t part = target->count % BLOCK, last = target->count - BLOCK;

    if (target->count < BLOCK) {
        draw_few_normals(g, target, mean, std);
        return;
    }
    for (size_t at = 0; at + BLOCK <= target->count; at += BLOCK)
        fill_block(g, target, at, part > 0 ? last : target->count, mean, std);
    if (part == 0)
        return;
    for (size_t i = 0; i < part; i++) {
        if (target->dtype == MODC_FLOAT64)
            next_u53(g);
        else if (target->dtype == MODC_FLOAT32)
            next_u24(g);
    }
    fill_block(g, target, last, target->count, mean, std);
}

/* `draw` stands behind the NORMAL that it repeats for what is not within its bounds. */
static enum modc_status draw_within(struct generator *g, struct target *target, const struct modc_draw *draw)
{
    enum {
        MOST = 10000
    }; /* times: with at least 0.3 of the distribution inside, no tensor needs a hundred */

    if (target->out == NULL || draw[-1].init != MODC_INIT_NORMAL)
        return MODC_ARGUMENT;
    target->bounded = true;
    target->low = rounded(target->dtype, draw->a);
    target->high = rounded(target->dtype, draw->b);
    for (int times = 0; times < MOST; times++) {
        size_t at = 0;

        while (at < target->count && is_within(target, at))
            at++;
        if (at == target->count)
            return MODC_OK;
        draw_normal(g, target, draw[-1].a, draw[-1].b);
    }
    return MODC_ARGUMENT;
}

static enum modc_status draw(struct generator *g, const struct modc_key *key, const struct modc_draw *draw,
                             void *out)
{
    struct target target = {.out = out, .dtype = key->dtype, .count = 1};
    const bool is_complex = modc_dtype_part(key->dtype) != key->dtype;
    double std = draw->b;

    for (int i = 0; i < key->ndim; i++)
        target.count *= (size_t)key->dims[i];
    if (is_complex) { /* as twice the real numbers, of half the variance */
        target.dtype = modc_dtype_part(key->dtype);
        target.count *= 2;
        std = draw->b / 1.4142135623730951;
    }
    if (draw->init == MODC_INIT_WITHIN)
        return draw_within(g, &target, draw);
    if (draw->init == MODC_INIT_UNIFORM || draw->init == MODC_INIT_NORMAL) {
        if (!modc_converts(MODC_FLOAT32, target.dtype))
            return MODC_ARGUMENT;
        if (draw->init == MODC_INIT_UNIFORM)
            draw_uniform(g, &target, draw->a, draw->b);
        else
            draw_normal(g, &target, draw->a, std);
        return MODC_OK;
    }
    if (out == NULL || target.count == 0)
        return MODC_OK;

    size_t from = 0, count = target.count, bytes = modc_dtype_bytes(target.dtype);

    if (draw->init == MODC_INIT_ROW) {
        count /= (size_t)key->dims[0];
        from = (size_t)draw->b * count;
        if (!(draw->b >= 0.0 && draw->b < (double)key->dims[0]))
            return MODC_INDEX;
    } else if (draw->init != MODC_INIT_CONSTANT) {
        return MODC_ARGUMENT;
    }
    for (size_t i = from; i < from + count; i++) {
        bool imaginary = is_complex && i % 2 == 1;

        modc_store(target.out + i * bytes, target.dtype, imaginary ? 0.0 : draw->a);
    }
    return MODC_OK;
}

/* ---- what parametrizations begin with ------------------------------------------------------------------ */

/* Element i of a floating tensor. */
static double element(const struct modc_tensor *x, size_t i)
{
    if (x->dtype == MODC_FLOAT32)
        return (double)((const float *)x->data)[i];
    return modc_number((const unsigned char *)x->data + i * modc_dtype_bytes(x->dtype), x->dtype);
}

static void set_element(const struct modc_tensor *x, size_t i, double value)
{
    modc_store((unsigned char *)x->data + i * modc_dtype_bytes(x->dtype), x->dtype, value);
}

static size_t count_of(const struct modc_tensor *x)
{
    size_t count = 1;

    for (int i = 0; i < x->ndim; i++)
        count *= (size_t)x->dims[i];
    return count;
}

/* x as a matrix with dimension `dim` in front: element (row, column) is at (column / inner * rows + row) * inner + column % inner. */
struct matrix {
    const struct modc_tensor *x;
    size_t rows, columns, inner;
};

static struct matrix matrix_of(const struct modc_tensor *x, int dim)
{
    struct matrix m = {x, 1, 0, 1};

    for (int i = dim + 1; dim >= 0 && i < x->ndim; i++)
        m.inner *= (size_t)x->dims[i];
    if (dim >= 0)
        m.rows = (size_t)x->dims[dim];
    else
        m.inner = count_of(x);
    m.columns = m.rows > 0 ? count_of(x) / m.rows : 0;
    return m;
}

static double entry(const struct matrix *m, size_t row, size_t column)
{
    return element(m->x, (column / m->inner * m->rows + row) * m->inner + column % m->inner);
}

static void set_norms(const struct modc_tensor *out, const struct modc_tensor *x, int dim)
{
    struct matrix m = matrix_of(x, dim);

    for (size_t row = 0; row < m.rows; row++) {
        double sum = 0.0;

        for (size_t column = 0; column < m.columns; column++)
            sum += entry(&m, row, column) * entry(&m, row, column);
        set_element(out, row, sqrt64(sum));
    }
}

static void set_unit(const struct modc_tensor *x, double least)
{
    double sum = 0.0, norm;

    for (size_t i = 0; i < count_of(x); i++)
        sum += element(x, i) * element(x, i);
    norm = sqrt64(sum);
    for (size_t i = 0; i < count_of(x); i++)
        set_element(x, i, element(x, i) / (norm > least ? norm : least));
}

/* to = W from, or W^T from where it is turned, of norm 1. */
static void set_product(const struct modc_tensor *to, const struct matrix *w, bool turned,
                        const struct modc_tensor *from, double least)
{
    for (size_t i = 0; i < (turned ? w->columns : w->rows); i++) {
        double sum = 0.0;

        for (size_t j = 0; j < (turned ? w->rows : w->columns); j++)
            sum += (turned ? entry(w, j, i) : entry(w, i, j)) * element(from, j);
        set_element(to, i, sum);
    }
    set_unit(to, least);
}

static void power_step(const struct modc_tensor *u, const struct modc_tensor *v, const struct matrix *w,
                       double least)
{
    set_product(u, w, false, v, least);
    set_product(v, w, true, u, least);
}

/* One matrix of a tensor, turned where it is wide. */
struct tall {
    const struct modc_tensor *x;
    size_t at, row, column; /* of its first element; from one to the next */
    size_t rows, columns;
};

static struct tall tall_of(const struct modc_tensor *x, size_t index)
{
    size_t rows = (size_t)x->dims[x->ndim - 2], columns = (size_t)x->dims[x->ndim - 1];

    return rows < columns ? (struct tall){x, index * rows * columns, 1, columns, columns, rows}
                          : (struct tall){x, index * rows * columns, columns, 1, rows, columns};
}

static double get(const struct tall *m, size_t row, size_t column)
{
    return element(m->x, m->at + row * m->row + column * m->column);
}

static void set(const struct tall *m, size_t row, size_t column, double value)
{
    set_element(m->x, m->at + row * m->row + column * m->column, value);
}

static double sign_of(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

/* The factor of the reflection I - factor v v^T, v being 1 and what is below the diagonal; 0: that is 0, and nothing is reflected. */
static double factor_of(const struct tall *m, size_t at)
{
    double norm = 1.0;
    bool any = false;

    for (size_t row = at + 1; row < m->rows; row++) {
        norm += get(m, row, at) * get(m, row, at);
        any |= get(m, row, at) != 0.0;
    }
    return any ? 2.0 / norm : 0.0;
}

/* The columns behind `at` by its reflection. */
static void reflect(const struct tall *m, size_t at)
{
    const double factor = factor_of(m, at);

    for (size_t column = at + 1; column < m->columns && factor != 0.0; column++) {
        double sum = get(m, at, column);

        for (size_t row = at + 1; row < m->rows; row++)
            sum += get(m, row, at) * get(m, row, column);
        set(m, at, column, get(m, at, column) - factor * sum);
        for (size_t row = at + 1; row < m->rows; row++)
            set(m, row, column, get(m, row, column) - factor * sum * get(m, row, at));
    }
}

/* A triangle, and below it the reflections that make it, as LAPACK has them. */
static void triangulate(const struct tall *m)
{
    for (size_t at = 0; at < m->columns; at++) {
        const double first = get(m, at, at);
        double below = 0.0, norm;

        for (size_t row = at + 1; row < m->rows; row++)
            below += get(m, row, at) * get(m, row, at);
        if (!(below > 0.0))
            continue;
        norm = sqrt64(first * first + below) * (first < 0.0 ? 1.0 : -1.0);
        for (size_t row = at + 1; row < m->rows; row++)
            set(m, row, at, get(m, row, at) / (first - norm));
        reflect(m, at);
        set(m, at, at, norm);
    }
}

/* Of what that made: the product of the reflections, of which a column is turned where the triangle has a number below 0. */
static void multiply_out(const struct tall *m)
{
    for (size_t at = m->columns; at-- > 0;) {
        const double sign = sign_of(get(m, at, at)), factor = factor_of(m, at);

        reflect(m, at);
        for (size_t row = 0; row < m->rows; row++)
            set(m, row, at, sign * (row < at ? 0.0 : row == at ? 1.0 - factor : -factor * get(m, row, at)));
    }
}

static size_t matrices_of(const struct modc_tensor *x)
{
    size_t size = (size_t)x->dims[x->ndim - 2] * (size_t)x->dims[x->ndim - 1];

    return size > 0 ? count_of(x) / size : 0;
}

static void set_reflections(const struct modc_tensor *x)
{
    for (size_t i = 0; i < matrices_of(x); i++) {
        struct tall m = tall_of(x, i);

        triangulate(&m);
        for (size_t at = 0; at < m.columns; at++)
            set(&m, at, at, sign_of(get(&m, at, at)) * (factor_of(&m, at) != 0.0 ? 1.0 : -1.0));
    }
}

/* The columns of x, and behind them what is drawn, made orthogonal; x becomes what gives these. */
static void set_base(struct generator *g, const struct modc_tensor *base, const struct modc_tensor *x)
{
    const size_t n = (size_t)base->dims[base->ndim - 1], count = matrices_of(x), all = count * n,
                 k = all > 0 ? count_of(x) / all : 0, bytes = modc_dtype_bytes(base->dtype);
    unsigned char *data = base->data, *drawn = data + all * k * bytes; /* all of it, row by row, at the end */
    const struct target target = {.out = drawn, .dtype = base->dtype, .count = all * (n - k)};

    if (all == 0)
        return;
    if (target.count > 0)
        draw_normal(g, &target, 0.0, 1.0);
    for (size_t row = 0; row < all; row++)
        memmove(data + (row * n + k) * bytes, drawn + row * (n - k) * bytes, (n - k) * bytes);
    for (size_t i = 0; i < count; i++) {
        struct tall own = tall_of(x, i), m = tall_of(base, i);

        for (size_t row = 0; row < n; row++)
            for (size_t column = 0; column < k; column++) {
                set(&m, row, column, get(&own, row, column));
                set(&own, row, column, row == column ? -1.0 : 0.0);
            }
        triangulate(&m);
        multiply_out(&m);
    }
}

static enum modc_status set_parametrized(struct generator *g, const struct modc_params *params,
                                         const struct modc_draw *draw)
{
    const struct modc_draw *unit = draw->init == MODC_INIT_POWER ? draw - 1 : draw;
    struct modc_tensor own, next, x;
    struct matrix w;

    if (modc_get_tensor(params, draw->key, &own) != MODC_OK ||
        ((draw->init == MODC_INIT_UNIT || draw->init == MODC_INIT_POWER) &&
         modc_get_tensor(params, draw->key + 1, &next) != MODC_OK) ||
        (draw->init != MODC_INIT_UNIT && modc_get_tensor(params, draw->key + (int)draw->b, &x) != MODC_OK))
        return MODC_INDEX;
    if (draw->init == MODC_INIT_NORMS) {
        set_norms(&own, &x, (int)draw->a);
    } else if (draw->init == MODC_INIT_UNIT) {
        set_unit(&own, draw->a);
        set_unit(&next, draw->a);
    } else if (draw->init == MODC_INIT_BASE) {
        set_base(g, &own, &x);
    } else if (draw->init == MODC_INIT_REFLECTIONS) {
        set_reflections(&own);
    } else if (unit->init == MODC_INIT_UNIT) {
        w = matrix_of(&x, (int)unit->b);
        for (int i = 0; i < (int)draw->a; i++)
            power_step(&own, &next, &w, unit->a);
    } else {
        return MODC_ARGUMENT;
    }
    return MODC_OK;
}

enum modc_status modc_reset(struct modc_params *params, uint64_t value)
{
    struct generator g;

    if (params == NULL || params->model == NULL)
        return MODC_POINTER;
    if (params->read_only)
        return MODC_READ_ONLY;
    MODC_TRY(modc_settle(params));

    const struct modc_model *model = params->model;
    const bool of_keys = model->draw_count == MODC_DRAWS_OF_KEYS;
    struct modc_tensor tensor;

    for (int i = 0; i < model->key_count; i++) {
        modc_get_tensor(params, i, &tensor);
        if (tensor.data == NULL)
            return MODC_POINTER;
    }
    params->version++;
    if (modc_integer_code_of(model) != NULL)
        modc_integer_code_of(model)->forget(params);
    for (int i = 0; i < model->key_count; i++) {
        modc_get_tensor(params, i, &tensor);
        if (model->keys[i].tied == 0)
            modc_fill_constant(&model->keys[i], tensor.data);
    }
    seed(&g, value);
    for (int i = 0; i < (of_keys ? model->key_count : model->draw_count); i++) {
        const struct modc_key *own = &model->keys[of_keys ? i : 0];
        const struct modc_draw of_key = {i, own->init, own->a, own->b},
                               *step = of_keys ? &of_key : &model->draws[i];
        bool dropped = step->key < 0;
        int index = dropped ? -1 - step->key : step->key;
        enum modc_status status;

        if (of_keys && (own->tied > 0 || (own->init != MODC_INIT_UNIFORM && own->init != MODC_INIT_NORMAL)))
            continue;
        modc_get_tensor(params, index, &tensor);
        status = step->init >= MODC_INIT_NORMS ? set_parametrized(&g, params, step)
                 : step->init == MODC_INIT_COPY
                     ? modc_get(params, index - (int)step->b, tensor.data)
                     : draw(&g, &model->keys[index], step, dropped ? NULL : tensor.data);
        if (status != MODC_OK)
            return status;
    }
    return MODC_OK;
}
