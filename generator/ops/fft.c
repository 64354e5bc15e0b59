/* fft.c - discrete Fourier transforms along an axis. */
#include "ops/fft.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "ops/rows.h"

static const double turn = 6.28318530717958647692528676655900577;

/* ---- passes and factors --------------------------------------------------------------------------------------- */

static int64_t next_radix(int64_t length)
{
    static const int radices[] = {4, 2, 3, 5, 7, 11, 13};

    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++)
        if (length % radices[i] == 0)
            return radices[i];
    return 0;
}

bool fft_is_smooth(int64_t length)
{
    int64_t radix;

    while (length > 1 && (radix = next_radix(length)) > 0)
        length /= radix;
    return length == 1;
}

static int64_t rounded(int64_t count, int64_t line)
{
    return (count + line - 1) / line * line;
}

/* A matrix near a square, of which little is filled up; 0: none. */
static int64_t rows_of_square(int64_t values, int64_t line)
{
    int64_t best = 0;
    double least = 1.2;

    for (int64_t n1 = line; n1 * line <= values; n1++) {
        double waste = 0;

        if (values % n1 != 0)
            continue;
        waste = (double)rounded(n1, line) / (double)n1 * (double)rounded(values / n1, line) * (double)n1 /
                (double)values;
        if (waste < least || (best > 0 && waste <= least && n1 * n1 <= values)) {
            best = n1;
            least = waste;
        }
    }
    return best;
}

static int64_t count_passes(int64_t length, int64_t *factors)
{
    int64_t count = 0, radix;

    for (; length > 1; length /= radix, count++) {
        radix = next_radix(length);
        *factors += 2 * (length / radix) * (radix - 1) + (radix > 5 ? 2 * radix : 0);
    }
    return count;
}

struct fft_plan fft_plan_of(enum fft_kind kind, int64_t length, int64_t inner, int64_t line)
{
    struct fft_plan plan = {.values = length};

    plan.halves = kind != FFT_COMPLEX && length % 2 == 0;
    if (plan.halves)
        plan.values = length / 2;
    if (inner == 1 && (kind == FFT_COMPLEX || plan.halves))
        plan.n1 = rows_of_square(plan.values, line);
    plan.n2 = plan.n1 > 0 ? plan.values / plan.n1 : 0;
    plan.ld1 = rounded(plan.n1, line);
    plan.ld2 = rounded(plan.n2, line);
    plan.passes = 1 + count_passes(plan.n1 > 0 ? plan.n1 : plan.values, &plan.factors);
    plan.second_at = plan.factors;
    if (plan.n1 > 0)
        plan.passes += 1 + count_passes(plan.n2, &plan.factors);
    plan.turns_at = plan.factors;
    plan.halves_at = plan.turns_at + 2 * plan.n1 * plan.ld2;
    plan.factors = plan.halves_at + (plan.halves ? 2 * (plan.values + 1) : 0);
    return plan;
}

/* exp(-2 pi i k / n); eighths of a turn are exact. */
static void root(int64_t k, int64_t n, double *re, double *im)
{
    int64_t eighth = k % n * 8 / n;
    double angle = turn * (double)(k % n) / (double)n;

    *re = cos(angle);
    *im = -sin(angle);
    if (k % n * 8 % n == 0 && eighth % 2 == 0) {
        *re = eighth == 0 ? 1 : eighth == 4 ? -1 : 0;
        *im = eighth == 2 ? -1 : eighth == 6 ? 1 : 0;
    }
}

static union scalar *pair(union scalar *at, int64_t k, int64_t n)
{
    root(k, n, &at[0].f, &at[1].f);
    return at + 2;
}

static union scalar *pass_factors(union scalar *at, int64_t length)
{
    for (int64_t radix; length > 1; length /= radix) {
        radix = next_radix(length);
        for (int64_t j = 0; radix > 5 && j < radix; j++)
            at = pair(at, j, radix);
        for (int64_t p = 0; p < length / radix; p++)
            for (int64_t j = 1; j < radix; j++)
                at = pair(at, p * j, length);
    }
    return at;
}

void fft_factors(const struct fft_plan *plan, union scalar *factors)
{
    int64_t plane = plan->n1 * plan->ld2;
    union scalar *at = pass_factors(factors, plan->n1 > 0 ? plan->n1 : plan->values);

    if (plan->n1 > 0)
        at = pass_factors(at, plan->n2);
    for (int64_t i = 0; i < plan->n1; i++)
        for (int64_t j = 0; j < plan->ld2; j++)
            root(i * j, plan->values, &at[i * plan->ld2 + j].f, &at[plane + i * plan->ld2 + j].f);
    at += 2 * plane;
    for (int64_t k = 0; plan->halves && k <= plan->values; k++)
        root(k, 2 * plan->values, &at[k].f, &at[plan->values + 1 + k].f);
}

static union scalar *pass_radices(union scalar *at, int64_t length)
{
    union scalar *count = at++;

    for (count->i = 0; length > 1; count->i++, at++) {
        at->i = next_radix(length);
        length /= at->i;
    }
    return at;
}

void fft_passes(const struct fft_plan *plan, union scalar *passes)
{
    passes = pass_radices(passes, plan->n1 > 0 ? plan->n1 : plan->values);
    if (plan->n1 > 0)
        pass_radices(passes, plan->n2);
}

/* ---- the op ---------------------------------------------------------------------------------------------------- */

/* Inputs: values, factors, passes, the scale. */
static const char *fft_broken(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];
    int pair = op->fft.kind != FFT_FROM_REAL, axes = x->ndim - pair;

    (void)cx;
    if (op->input_count != 4 || !dtype_is_float(x->dtype) || op->inputs[1]->dtype != x->dtype ||
        op->inputs[3]->dtype != x->dtype)
        return "it has not the operands of a Fourier transform";
    if (op->fft.axis < 0 || op->fft.axis >= axes || (pair && !dim_equals(x->dims[axes], 2)))
        return "it has no pairs along its last axis, or not its own";
    return op->fft.length > 0 && fft_is_smooth(op->fft.length) &&
                   dim_equals(x->dims[op->fft.axis],
                              op->fft.kind == FFT_TO_REAL ? op->fft.length / 2 + 1 : op->fft.length)
               ? NULL
               : "its length is none that it can divide";
}

static const char *fft_infer(struct cx *cx, struct op *op)
{
    const struct value *x = op->inputs[0];
    const struct dim *dims[MAX_DIMS + 1];
    int ndim = x->ndim - (op->fft.kind == FFT_TO_REAL);

    for (int i = 0; i < ndim; i++)
        dims[i] = x->dims[i];
    if (op->fft.kind == FFT_FROM_REAL && ndim == MAX_DIMS)
        return "pairs have more dimensions than a tensor may have";
    if (op->fft.kind == FFT_FROM_REAL)
        dims[ndim++] = dim_const(&cx->arena, 2);
    if (op->fft.kind != FFT_COMPLEX)
        dims[op->fft.axis] = dim_const(&cx->arena,
                                       op->fft.kind == FFT_TO_REAL ? op->fft.length : op->fft.length / 2 + 1);
    return set_output(cx, op, x->dtype, ndim, dims);
}

/* As the sum is written. */
static void fft_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const struct tensor *x = inputs[0];
    bool from_real = op->fft.kind == FFT_FROM_REAL, to_real = op->fft.kind == FFT_TO_REAL;
    int64_t n = op->fft.length, inner = 1, rows = 1, in = x->dims[op->fft.axis],
            out = output->dims[op->fft.axis];
    int step = from_real ? 1 : 2;
    double sign = op->fft.inverse ? -1 : 1, scale = inputs[3]->data[0].f;
    double *roots = malloc((size_t)n * 2 * sizeof *roots);

    if (!roots)
        abort();
    for (int64_t k = 0; k < n; k++)
        root(k, n, &roots[2 * k], &roots[2 * k + 1]);

    for (int i = 0; i < op->fft.axis; i++)
        rows *= x->dims[i];
    for (int i = op->fft.axis + 1; i < x->ndim - !from_real; i++)
        inner *= x->dims[i];
    for (int64_t at = 0; at < rows * out * inner; at++) {
        int64_t row = at / (out * inner), k = at / inner % out, column = at % inner;
        double re = 0, im = 0;

        for (int64_t j = 0; j < in; j++) {
            const union scalar *value = &x->data[((row * in + j) * inner + column) * step];
            double a = value[0].f, b = from_real ? 0 : value[1].f;
            bool edge = j == 0 || 2 * j == n;

            double cosine = roots[j * k % n * 2], sine = roots[j * k % n * 2 + 1] * sign;

            if (to_real) { /* and what mirrors it */
                re += edge ? a * cosine : 2 * (a * cosine - b * sine);
                continue;
            }
            re += a * cosine - b * sine;
            im += a * sine + b * cosine;
        }
        output->data[to_real ? at : 2 * at].f = re * scale;
        if (!to_real)
            output->data[2 * at + 1].f = im * scale;
    }
    free(roots);
    round_output(output, output->dtype);
}

/* Otherwise MODEL_pack or the call is faster. */
static bool fft_known(const struct op *op)
{
    return dims_upper(op->inputs[0]->ndim, op->inputs[0]->dims) * (double)op->fft.length < 1e8;
}

static double complex_values(const struct op *op)
{
    const struct value *most = op->fft.kind == FFT_FROM_REAL ? op->inputs[0] : op->outputs[0];

    return dims_upper(most->ndim, most->dims) / 2;
}

static double fft_macs(const struct op *op)
{
    return round(complex_values(op) * 5 * log2((double)op->fft.length + 1));
}

static void fft_work(const struct op *op, struct op_work *work)
{
    work->values = fft_macs(op) + 6 * complex_values(op);
}

static void fft_dump(struct text *text, const struct op *op)
{
    static const char *const kinds[] = {
        [FFT_COMPLEX] = "complex", [FFT_FROM_REAL] = "from real", [FFT_TO_REAL] = "to real"};

    text_printf(text, " axis %d %s%s length %lld", op->fft.axis, kinds[op->fft.kind],
                op->fft.inverse ? " inverse" : "", (long long)op->fft.length);
}

const struct op_row op_row_fft = {
    .name = "fft",
    .broken = fft_broken,
    .infer = fft_infer,
    .interpret = fft_interpret,
    .known = fft_known,
    .accepts = dense_accepts,
    .macs = fft_macs,
    .dump = fft_dump,
    .pure = true,
    .work = fft_work,
};
