/* resample.c - images of another size: interpolation along each axis of space.
 *
 * Each place of the output is a sum of taps: one element (nearest), two (linear) or four (cubic). Which ones, and their
 * weights, are computed as PyTorch does, in float32 or the type of the tensor: while generating, or, where sizes decide it,
 * in the call. The last axis comes first, so that what is gathered later lies in longer rows. */
#include <math.h>
#include <string.h>

#include "functions/space.h"

enum resample_mode { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, AREA };

static const struct mode_row {
    const char *name;
    enum resample_mode mode;
    int rank; /* of the only space that it takes; 0: any */
} modes[] = {
    {"nearest", NEAREST, 0}, {"nearest-exact", NEAREST_EXACT, 0},
    {"linear", LINEAR, 1},   {"bilinear", LINEAR, 2},
    {"bicubic", CUBIC, 2},   {"trilinear", LINEAR, 3},
    {"area", AREA, 0},       {"lanczos", CUBIC, 2}, /* which needs antialias */
};

struct resample {
    const struct mode_row *row;
    int rank;
    bool align_corners, antialias;
    const struct dim *out[MAX_RANK];
    double scale[MAX_RANK]; /* 0: the sizes say it */
};

/* ---- which elements, and how much of each --------------------------------------------------------------------- */

/* Input cells for each output cell, of floating type `dtype`. */
static int ratio(struct arena *a, struct dag *dag, const struct resample *resample, int axis,
                 const struct dim *in, enum dtype dtype)
{
    const struct dim *one = dim_const(a, 1), *out = resample->out[axis];
    int zero = dag_const(a, dag, dtype, 0), from, to;

    if (!resample->align_corners && resample->scale[axis] > 0)
        return dag_const(a, dag, dtype, dtype_round(dtype, 1 / resample->scale[axis]));
    from = dag_cast(a, dag, dag_dim(a, dag, resample->align_corners ? dim_sub(a, in, one) : in), dtype);
    to = dag_cast(a, dag, dag_dim(a, dag, resample->align_corners ? dim_sub(a, out, one) : out), dtype);
    if (dim_equals(out, 1) && resample->align_corners)
        return zero;
    from = dag_prim(a, dag, PRIM_DIV, dtype, from, to, -1);
    return resample->align_corners ? dag_where(a, dag, PRIM_GT, to, zero, from, zero) : from;
}

/* Nearest cells (1, out, 1). The operator of two axes looks at the sizes before the scale. */
static struct value *nearest_cells(struct eval *eval, struct loc loc, const struct resample *resample,
                                   int axis, const struct dim *in)
{
    struct arena *a = &eval->cx->arena;
    const struct dim *out = resample->out[axis];
    enum dtype dtype = DTYPE_FLOAT32;
    struct dag *dag = dag_new(a, 2);
    int place = dag_load(a, dag, 0, DTYPE_INT64), at = dag_cast(a, dag, place, dtype), from, to, two;

    if (resample->row->mode == NEAREST_EXACT)
        at = dag_prim(a, dag, PRIM_ADD, dtype, at, dag_const(a, dag, dtype, 0.5), -1);
    at = dag_prim(a, dag, PRIM_MUL, dtype, at, ratio(a, dag, resample, axis, in, dtype), -1);
    at = dag_int64(a, dag, PRIM_MIN, dag_cast(a, dag, at, DTYPE_INT64),
                   dag_dim(a, dag, dim_sub(a, in, dim_const(a, 1))));
    if (resample->rank == 2 && resample->row->mode == NEAREST) {
        from = dag_dim(a, dag, in);
        to = dag_dim(a, dag, out);
        two = dag_integer(a, dag, DTYPE_INT64, 2);
        at = dag_where(a, dag, PRIM_EQ, to, dag_int64(a, dag, PRIM_MUL, from, two),
                       dag_int64(a, dag, PRIM_FLOORDIV, place, two), at);
        at = dag_where(a, dag, PRIM_EQ, to, from, place, at);
    }
    dag->result = at;
    return map_cells(eval, loc, "nearest", dag, out, dim_const(a, 1), NULL);
}

/* ((p x + q) x + r) x + s */
static int cubic(struct arena *a, struct dag *dag, enum dtype dtype, int x, double p, double q, double r,
                 double s)
{
    const double rest[3] = {q, r, s};
    int y = dag_const(a, dag, dtype, p);

    for (int i = 0; i < 3; i++) {
        y = dag_prim(a, dag, PRIM_MUL, dtype, y, x, -1);
        if (rest[i] != 0)
            y = dag_prim(a, dag, PRIM_ADD, dtype, y, dag_const(a, dag, dtype, rest[i]), -1);
    }
    return y;
}

/* Keys' kernel with A = -0.75, at a distance of less than 1, and of 1 to 2. */
static int near_weight(struct arena *a, struct dag *dag, enum dtype dtype, int x)
{
    return cubic(a, dag, dtype, x, 1.25, -2.25, 0, 1);
}

static int far_weight(struct arena *a, struct dag *dag, enum dtype dtype, int x)
{
    return cubic(a, dag, dtype, x, -0.75, 3.75, -6, 3);
}

/* The weight of a tap, input 1, where `part` of the way from the second (linear: first) tap to the next is gone. */
static int weight_of_tap(struct arena *a, struct dag *dag, enum dtype dtype, enum resample_mode mode,
                         int part)
{
    int tap = dag_load(a, dag, 1, DTYPE_INT64), one = dag_const(a, dag, dtype, 1), weights[4], result;
    int rest = dag_prim(a, dag, PRIM_SUB, dtype, one, part, -1);

    if (mode == LINEAR)
        return dag_where(a, dag, PRIM_EQ, tap, dag_integer(a, dag, DTYPE_INT64, 0), rest, part);
    weights[0] = far_weight(a, dag, dtype, dag_prim(a, dag, PRIM_ADD, dtype, part, one, -1));
    weights[1] = near_weight(a, dag, dtype, part);
    weights[2] = near_weight(a, dag, dtype, rest);
    weights[3] = far_weight(a, dag, dtype, dag_prim(a, dag, PRIM_ADD, dtype, rest, one, -1));
    result = weights[3];
    for (int i = 2; i >= 0; i--)
        result = dag_where(a, dag, PRIM_EQ, tap, dag_integer(a, dag, DTYPE_INT64, i), weights[i], result);
    return result;
}

/* Cells of an axis, or their weights in `dtype`: (1, out, taps). */
static struct value *taps(struct eval *eval, struct loc loc, const struct resample *resample, int axis,
                          const struct dim *in, enum dtype dtype, bool weights)
{
    struct arena *a = &eval->cx->arena;
    enum resample_mode mode = resample->row->mode;
    struct dag *dag = dag_new(a, 2);
    int place = dag_load(a, dag, 0, DTYPE_INT64), tap = dag_load(a, dag, 1, DTYPE_INT64);
    int by = ratio(a, dag, resample, axis, in, dtype), at = dag_cast(a, dag, place, dtype), first, part;
    int half = dag_const(a, dag, dtype, 0.5), zero = dag_const(a, dag, dtype, 0),
        none = dag_integer(a, dag, DTYPE_INT64, 0);
    int last = dag_dim(a, dag, dim_sub(a, in, dim_const(a, 1))), same = dag_dim(a, dag, resample->out[axis]);

    if (!resample->align_corners)
        at = dag_prim(a, dag, PRIM_ADD, dtype, at, half, -1);
    at = dag_prim(a, dag, PRIM_MUL, dtype, by, at, -1);
    if (!resample->align_corners)
        at = dag_prim(a, dag, PRIM_SUB, dtype, at, half, -1);
    if (!resample->align_corners && mode == LINEAR)
        at = dag_prim(a, dag, PRIM_MAX, dtype, at, zero, -1);
    first = dag_cast(a, dag, dag_prim(a, dag, PRIM_FLOOR, dtype, at, -1, -1), DTYPE_INT64);
    first = dag_int64(a, dag, PRIM_MIN, first, last);
    part = dag_prim(a, dag, PRIM_SUB, dtype, at, dag_cast(a, dag, first, dtype), -1);
    part = dag_prim(a, dag, PRIM_MAX, dtype, part, zero, -1);
    part = dag_prim(a, dag, PRIM_MIN, dtype, part, dag_const(a, dag, dtype, 1), -1);
    if (mode == LINEAR) { /* an axis that keeps its length is copied, whatever the scale */
        first = dag_where(a, dag, PRIM_EQ, same, dag_dim(a, dag, in), place, first);
        part = dag_where(a, dag, PRIM_EQ, same, dag_dim(a, dag, in), zero, part);
    } else {
        first = dag_int64(a, dag, PRIM_SUB, first, dag_integer(a, dag, DTYPE_INT64, 1));
    }
    if (weights)
        dag->result = weight_of_tap(a, dag, dtype, mode, part);
    else
        dag->result = dag_int64(a, dag, PRIM_MAX,
                                dag_int64(a, dag, PRIM_MIN, dag_int64(a, dag, PRIM_ADD, first, tap), last),
                                none);
    return map_cells(eval, loc, weights ? "weights" : "cells", dag, resample->out[axis],
                     dim_const(a, mode == LINEAR ? 2 : 4), NULL);
}

/* ---- antialias: what is made smaller is an average ---------------------------------------------------------------- */

enum { MOST_TAPS = 4096 };

/* Half of what a filter reaches, in outputs. */
static double filter_support(const struct resample *resample)
{
    return resample->row->mode == LINEAR ? 1 : strcmp(resample->row->name, "lanczos") == 0 ? 3 : 2;
}

static double sinc(double x)
{
    const double angle = 3.14159265358979323846 * x;

    return x == 0 ? 1 : sin(angle) / angle;
}

/* Triangle, Keys' kernel with A = -0.5, Lanczos' window. */
static double filter_at(const struct resample *resample, double x)
{
    x = fabs(x);
    if (x >= filter_support(resample))
        return 0;
    if (resample->row->mode == LINEAR)
        return 1 - x;
    if (strcmp(resample->row->name, "lanczos") == 0)
        return sinc(x) * sinc(x / 3);
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
}

/* sin(pi x) / (pi x) */
static int sinc_node(struct arena *a, struct dag *dag, int x)
{
    int angle = dag_prim(a, dag, PRIM_MUL, DTYPE_FLOAT64, x,
                         dag_const(a, dag, DTYPE_FLOAT64, 3.14159265358979323846), -1);
    int zero = dag_const(a, dag, DTYPE_FLOAT64, 0), one = dag_const(a, dag, DTYPE_FLOAT64, 1);
    int sine = dag_prim(a, dag, PRIM_SIN, DTYPE_FLOAT64, angle, -1, -1);

    return dag_where(a, dag, PRIM_EQ, x, zero, one,
                     dag_prim(a, dag, PRIM_DIV, DTYPE_FLOAT64, sine, angle, -1));
}

/* filter_at, in the call. */
static int filter_node(struct arena *a, struct dag *dag, const struct resample *resample, int x)
{
    const enum dtype dtype = DTYPE_FLOAT64;
    int zero = dag_const(a, dag, dtype, 0), one = dag_const(a, dag, dtype, 1), value;

    x = dag_prim(a, dag, PRIM_ABS, dtype, x, -1, -1);
    if (resample->row->mode == LINEAR)
        value = dag_prim(a, dag, PRIM_SUB, dtype, one, x, -1);
    else if (strcmp(resample->row->name, "lanczos") == 0)
        value = dag_prim(
            a, dag, PRIM_MUL, dtype, sinc_node(a, dag, x),
            sinc_node(a, dag, dag_prim(a, dag, PRIM_DIV, dtype, x, dag_const(a, dag, dtype, 3), -1)), -1);
    else
        value = dag_where(a, dag, PRIM_LT, x, one, cubic(a, dag, dtype, x, 1.5, -2.5, 0, 1),
                          cubic(a, dag, dtype, x, -0.5, 2.5, -4, 2));
    return dag_where(a, dag, PRIM_LT, x, dag_const(a, dag, dtype, filter_support(resample)), value, zero);
}

/* As many elements as the widest window has. */
static const struct dim *most_taps(struct arena *a, const struct resample *resample, int axis,
                                   const struct dim *in)
{
    const struct dim *out = resample->out[axis], *two = dim_const(a, 2), *one = dim_const(a, 1), *half;
    const int64_t support = (int64_t)filter_support(resample);

    if (!resample->align_corners && resample->scale[axis] > 0)
        half = dim_const(a, (int64_t)ceil(filter_support(resample) / resample->scale[axis]));
    else /* between corners one is at most twice as wide */
        half = dim_floordiv(a,
                            dim_add(a,
                                    dim_mul(a, in, dim_const(a, support * (resample->align_corners ? 2 : 1))),
                                    dim_sub(a, out, one)),
                            out);
    half = dim_max(a, half, dim_const(a, support));
    return dim_min(a, dim_add(a, dim_mul(a, half, two), one), in);
}

/* Cells (1, out, taps), or their weights before they are made to add up to 1, where sizes decide them. */
static struct value *sized_taps(struct eval *eval, struct loc loc, const struct resample *resample, int axis,
                                const struct dim *in, bool weights)
{
    struct arena *a = &eval->cx->arena;
    const enum dtype dtype = DTYPE_FLOAT64;
    struct dag *dag = dag_new(a, 2);
    int place = dag_load(a, dag, 0, DTYPE_INT64), tap = dag_load(a, dag, 1, DTYPE_INT64);
    int scale = ratio(a, dag, resample, axis, in, dtype), half = dag_const(a, dag, dtype, 0.5);
    int wide = dag_prim(a, dag, PRIM_MAX, dtype, scale, dag_const(a, dag, dtype, 1), -1);
    int support = dag_prim(a, dag, PRIM_MUL, dtype, wide, dag_const(a, dag, dtype, filter_support(resample)),
                           -1);
    int center = dag_prim(a, dag, PRIM_ADD, dtype, dag_cast(a, dag, place, dtype), half, -1), first, last, at,
        off;

    center = dag_prim(a, dag, PRIM_MUL, dtype, scale, center, -1);
    first = dag_prim(a, dag, PRIM_ADD, dtype, dag_prim(a, dag, PRIM_SUB, dtype, center, support, -1), half,
                     -1);
    last = dag_prim(a, dag, PRIM_ADD, dtype, dag_prim(a, dag, PRIM_ADD, dtype, center, support, -1), half,
                    -1);
    first = dag_prim(a, dag, PRIM_MAX, dtype, first, dag_const(a, dag, dtype, 0), -1);
    first = dag_cast(a, dag, first, DTYPE_INT64);
    last = dag_int64(a, dag, PRIM_MIN, dag_cast(a, dag, last, DTYPE_INT64), dag_dim(a, dag, in));
    at = dag_int64(a, dag, PRIM_ADD, first, tap);
    off = dag_prim(a, dag, PRIM_SUB, dtype, dag_cast(a, dag, at, dtype), center, -1);
    off = dag_prim(a, dag, PRIM_DIV, dtype, dag_prim(a, dag, PRIM_ADD, dtype, off, half, -1), wide, -1);
    if (weights)
        dag->result = dag_where(a, dag, PRIM_LT, at, last, filter_node(a, dag, resample, off),
                                dag_const(a, dag, dtype, 0));
    else
        dag->result = dag_int64(a, dag, PRIM_MIN, at,
                                dag_int64(a, dag, PRIM_SUB, last, dag_integer(a, dag, DTYPE_INT64, 1)));
    return map_cells(eval, loc, weights ? "weights" : "cells", dag, resample->out[axis],
                     most_taps(a, resample, axis, in), NULL);
}

/* False after an error. */
static bool few_taps(struct eval *eval, struct loc loc, const struct resample *resample, int axis,
                     int64_t taps)
{
    const struct dim *out = resample->out[axis];

    if (taps <= MOST_TAPS && taps * dim_upper(out) <= 1 << 22)
        return true;
    diag_error(eval->cx, loc, "interpolate: %lld elements for each of %s are too many", (long long)taps,
               dim_text(&eval->cx->arena, out));
    return false;
}

static bool sized_smooth_taps(struct eval *eval, struct loc loc, const struct resample *resample, int axis,
                              const struct dim *in, enum dtype dtype, struct value **cells,
                              struct value **weights)
{
    struct arena *a = &eval->cx->arena;
    struct value *inputs[2];
    struct dag *dag = dag_new(a, 2);
    int weight = dag_load(a, dag, 0, DTYPE_FLOAT64), sum = dag_load(a, dag, 1, DTYPE_FLOAT64);

    if (!few_taps(eval, loc, resample, axis, dim_upper(most_taps(a, resample, axis, in))))
        return false;
    inputs[0] = sized_taps(eval, loc, resample, axis, in, true);
    *cells = sized_taps(eval, loc, resample, axis, in, false);
    inputs[1] = inputs[0] ? build_reduce(eval, loc, inputs[0], REDUCE_SUM,
                                         (const bool[MAX_DIMS]){false, false, true}, true)
                          : NULL;
    if (!inputs[1])
        return false;
    dag->result = dag_where(a, dag, PRIM_EQ, sum, dag_const(a, dag, DTYPE_FLOAT64, 0), weight,
                            dag_prim(a, dag, PRIM_DIV, DTYPE_FLOAT64, weight, sum, -1));
    dag->result = dag_cast(a, dag, dag->result, dtype);
    *weights = build_map(eval, loc, "weights", dag, inputs, 2);
    return *cells && *weights;
}

/* Cells (1, out, taps) and their weights, as many as the widest window has. False after an error. */
static bool smooth_taps(struct eval *eval, struct loc loc, const struct resample *resample, int axis,
                        const struct dim *in, enum dtype dtype, struct value **cells, struct value **weights)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *both[2];
    int64_t from, to;
    double scale, support;

    if (!dim_is_const(in, &from) || !dim_is_const(resample->out[axis], &to))
        return sized_smooth_taps(eval, loc, resample, axis, in, dtype, cells, weights);
    scale = resample->align_corners     ? to > 1 ? (double)(from - 1) / (double)(to - 1) : 0
            : resample->scale[axis] > 0 ? 1 / resample->scale[axis]
                                        : (double)from / (double)to;
    support = filter_support(resample) * (scale > 1 ? scale : 1);

    int64_t taps = 2 * (int64_t)ceil(support) + 1;

    if (taps > from)
        taps = from;
    if (!few_taps(eval, loc, resample, axis, taps))
        return false;
    for (int i = 0; i < 2; i++) {
        both[i] = ARENA_NEW(arena, struct tensor);
        both[i]->dtype = i == 0 ? DTYPE_INT64 : dtype;
        both[i]->ndim = 3;
        both[i]->dims[0] = 1;
        both[i]->dims[1] = to;
        both[i]->dims[2] = taps;
        both[i]->data = ARENA_ARRAY(arena, to * taps + 1, union scalar);
    }
    for (int64_t i = 0; i < to; i++) {
        double center = scale * ((double)i + 0.5), sum = 0;
        int64_t first = (int64_t)(center - support + 0.5), last = (int64_t)(center + support + 0.5);

        first = center - support + 0.5 < 0 ? 0 : first;
        last = last > from ? from : last;
        for (int64_t j = first; j < last; j++)
            sum += filter_at(resample, ((double)j - center + 0.5) / (scale > 1 ? scale : 1));
        for (int64_t j = 0; j < taps; j++) {
            int64_t at = first + j;
            double weight = at < last
                                ? filter_at(resample, ((double)at - center + 0.5) / (scale > 1 ? scale : 1))
                                : 0;

            both[0]->data[i * taps + j].i = at < last ? at : last - 1;
            both[1]->data[i * taps + j].f = dtype_round(dtype, sum != 0 ? weight / sum : weight);
        }
    }
    *cells = build_const(eval, loc, both[0]);
    *weights = build_const(eval, loc, both[1]);
    return *cells && *weights;
}

/* ---- along an axis -------------------------------------------------------------------------------------------- */

static struct value *sum_of_taps(struct eval *eval, struct loc loc, const struct resample *resample,
                                 struct value *x, int axis, const char *what)
{
    struct arena *a = &eval->cx->arena;
    struct value *cells, *weights, *inputs[2];
    const struct dim *dims[MAX_DIMS];
    bool axes[MAX_DIMS] = {false};
    struct dag *dag = dag_new(a, 2);

    if (resample->antialias) {
        if (!smooth_taps(eval, loc, resample, axis - 1, x->dims[axis], x->dtype, &cells, &weights))
            return NULL;
    } else {
        cells = taps(eval, loc, resample, axis - 1, x->dims[axis], x->dtype, false);
        weights = cells ? taps(eval, loc, resample, axis - 1, x->dims[axis], x->dtype, true) : NULL;
    }
    inputs[0] = weights ? gather_cells(eval, loc, what, x, axis, cells) : NULL;
    inputs[1] = weights;
    if (!inputs[0] || !inputs[1])
        return NULL;
    for (int i = 0; i < inputs[0]->ndim; i++)
        dims[i] = i == axis || i == axis + 1 ? inputs[0]->dims[i] : dim_const(a, 1);
    inputs[1] = build_reshape(eval, loc, inputs[1], inputs[0]->ndim, dims);
    if (!inputs[1])
        return NULL;
    dag->result = dag_prim(a, dag, PRIM_MUL, x->dtype, dag_load(a, dag, 0, x->dtype),
                           dag_load(a, dag, 1, x->dtype), -1);
    x = build_map(eval, loc, "weighted", dag, inputs, 2);
    axes[axis + 1] = true;
    return x ? build_reduce(eval, loc, x, REDUCE_SUM, axes, false) : NULL;
}

/* How often each cell stands in the output, where that is said by the sizes alone: 0 otherwise. */
static int64_t repeats(struct eval *eval, const struct resample *resample, int axis, const struct dim *in)
{
    const struct dim *quotient;
    int64_t times;
    float by;

    if (!dim_divides(&eval->cx->arena, resample->out[axis], in, &quotient) ||
        !dim_is_const(quotient, &times) || times < 1)
        return 0;
    by = (float)(resample->scale[axis] > 0 ? 1 / resample->scale[axis] : 1 / (double)times);
    if (resample->rank == 2 && resample->row->mode == NEAREST && times <= 2)
        return times;
    if (dim_upper(resample->out[axis]) > 1 << 20)
        return 0;
    for (int64_t i = 0; i < dim_upper(resample->out[axis]); i++) {
        float at = resample->row->mode == NEAREST ? (float)i * by : ((float)i + 0.5F) * by;

        if ((int64_t)at != i / times)
            return 0;
    }
    return times;
}

/* Each cell so often along each axis: one copy for all of them. */
static struct value *repeated(struct eval *eval, struct loc loc, struct value *x, const int64_t *times,
                              int rank)
{
    struct arena *a = &eval->cx->arena;
    const struct dim *thin[1 + 2 * MAX_RANK], *wide[1 + 2 * MAX_RANK], *whole[1 + MAX_RANK];
    int n = 1;

    thin[0] = wide[0] = whole[0] = x->dims[0];
    for (int i = 1; i <= rank; i++) {
        thin[n] = wide[n] = whole[i] = x->dims[i];
        n++;
        if (times[i - 1] < 2)
            continue;
        thin[n] = dim_const(a, 1);
        wide[n] = dim_const(a, times[i - 1]);
        whole[i] = dim_mul(a, x->dims[i], wide[n]);
        n++;
    }
    x = build_reshape(eval, loc, x, n, thin);
    x = x ? build_expand(eval, loc, x, n, wide) : NULL;
    return x ? build_reshape(eval, loc, x, 1 + rank, whole) : NULL;
}

static struct value *resampled(struct eval *eval, struct loc loc, const struct resample *resample,
                               struct value *x, const char *what)
{
    enum resample_mode mode = resample->row->mode;
    int64_t times[MAX_RANK];

    for (int i = resample->rank - 1; x && i >= 0; i--) {
        const struct dim *in = x->dims[1 + i];
        struct value *cells;

        times[i] = mode == LINEAR && dim_equal(in, resample->out[i]) && !resample->antialias ? 1 : 0;
        if (mode == NEAREST || mode == NEAREST_EXACT)
            times[i] = repeats(eval, resample, i, in);
        if (times[i] > 0)
            continue;
        if (mode == LINEAR || mode == CUBIC) {
            x = sum_of_taps(eval, loc, resample, x, 1 + i, what);
            continue;
        }
        cells = nearest_cells(eval, loc, resample, i, in);
        cells = cells ? build_reshape(eval, loc, cells, 1, resample->out + i) : NULL;
        x = cells ? build_gather(eval, loc, what, x, 1 + i, cells, false, false) : NULL;
    }
    return x ? repeated(eval, loc, x, times, resample->rank) : NULL;
}

/* ---- the function ---------------------------------------------------------------------------------------------- */

static bool read_mode(struct eval *eval, struct loc loc, const struct value *x, const struct ev *arg,
                      struct resample *resample)
{
    int count = COUNT(modes);

    for (int i = 0; i < count && arg->kind == EV_STRING; i++)
        if (strcmp(arg->text, modes[i].name) == 0)
            resample->row = &modes[i];
    if (!resample->row || x->ndim < 3 || x->ndim > 5 || (resample->row->mode == CUBIC && x->ndim != 4)) {
        diag_error(
            eval->cx, loc,
            "interpolate: only 3D, 4D and 5D input tensors supported (got %dD) for the modes: nearest | linear | "
            "bilinear | bicubic | trilinear | area | nearest-exact (got %s)",
            x->ndim, ev_text(eval, arg));
        return false;
    }
    resample->rank = x->ndim - 2;
    if (resample->row->rank != 0 && resample->row->rank != resample->rank) {
        diag_error(eval->cx, loc, "interpolate: got %dD input, but %s mode needs %dD input", x->ndim,
                   resample->row->name, resample->row->rank + 2);
        return false;
    }
    return true;
}

/* align_corners and antialias. */
static bool read_options(struct eval *eval, struct loc loc, const struct value *x, const struct ev *corners,
                         const struct ev *antialias, struct resample *resample)
{
    bool interpolates = resample->row->mode == LINEAR || resample->row->mode == CUBIC, smooth;

    if (corners->kind != EV_NONE && !interpolates) {
        diag_error(
            eval->cx, corners->loc,
            "interpolate: align_corners option can only be set with the interpolating modes: linear | bilinear | "
            "bicubic | trilinear");
        return false;
    }
    if ((corners->kind != EV_NONE && !need_bool(eval, "align_corners", corners, &resample->align_corners)) ||
        !need_bool(eval, "antialias", antialias, &smooth))
        return false;
    if (smooth && (resample->row->rank != 2 || x->ndim != 4)) {
        diag_error(
            eval->cx, antialias->loc,
            "interpolate: anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a "
            "4-D tensor as input");
        return false;
    }
    resample->antialias = smooth;
    if (strcmp(resample->row->name, "lanczos") == 0 && !smooth) {
        diag_error(eval->cx, loc, "interpolate: lanczos mode requires antialias=True");
        return false;
    }
    if (!dtype_is_float(x->dtype) && (x->dtype != DTYPE_UINT8 || resample->row->mode > NEAREST_EXACT)) {
        diag_error(eval->cx, loc, "interpolate: mode %s is not defined for %s", resample->row->name,
                   dtype_rows[x->dtype].name);
        return false;
    }
    return true;
}

/* One for all axes, or one for each. */
static const struct ev *of_axis(struct eval *eval, const char *name, const struct ev *arg, int rank, int axis)
{
    if (arg->kind != EV_TUPLE)
        return arg;
    if (arg->count == rank)
        return &arg->items[axis];
    diag_error(eval->cx, arg->loc,
               "interpolate: input and %s must have the same number of spatial dimensions, found %d and %s",
               name, rank, ev_text(eval, arg));
    return NULL;
}

/* The lengths of the output, and the scales that are to be taken as they are. */
static bool read_lengths(struct eval *eval, struct loc loc, const struct value *x, const struct ev *size,
                         const struct ev *scale, bool recompute, struct resample *resample)
{
    struct arena *arena = &eval->cx->arena;

    for (int i = 0; i < resample->rank; i++) {
        const struct dim *one = dim_const(arena, 1), *in = x->dims[2 + i];
        const struct ev *item = size->kind == EV_NONE
                                    ? of_axis(eval, "scale_factor", scale, resample->rank, i)
                                    : of_axis(eval, "output size", size, resample->rank, i);
        double factor = 0;

        if (!item)
            return false;
        if (size->kind != EV_NONE ? item->kind != EV_INT
                                  : !ev_get_number(item, &factor) || !(factor > 0 && factor < 1e6)) {
            diag_error(eval->cx, item->loc, "interpolate: %s must be positive%s numbers, found %s",
                       size->kind == EV_NONE ? "scale factors" : "sizes",
                       size->kind == EV_NONE ? "" : " whole", ev_text(eval, item));
            return false;
        }
        if (size->kind != EV_NONE)
            resample->out[i] = item->dim;
        else if (!scaled_dim(eval, item->loc, "interpolate", in, factor, &resample->out[i]))
            return false;
        resample->scale[i] = recompute ? 0 : factor;
        if (dim_upper(in) < 1 || dim_upper(resample->out[i]) < 1) {
            diag_error(
                eval->cx, loc,
                "interpolate: input and output sizes should be greater than 0, but got input %s and output %s",
                dim_text(arena, in), dim_text(arena, resample->out[i]));
            return false;
        }
        build_need(eval, dim_sub(arena, in, one));
        build_need(eval, dim_sub(arena, resample->out[i], one));
    }
    return true;
}

/* interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias) */
static struct ev fn_interpolate(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct resample resample = {.row = NULL};
    const char *what = "interpolate";
    struct value *x, *y;
    bool recompute;
    (void)count;

    if (!need_tensor(eval, what, &args[0]) ||
        !need_bool(eval, "recompute_scale_factor", &args[5], &recompute))
        return BAD;
    x = args[0].tensor;
    if (!read_mode(eval, loc, x, &args[3], &resample) ||
        !read_options(eval, loc, x, &args[4], &args[6], &resample))
        return BAD;
    if ((args[1].kind == EV_NONE) == (args[2].kind == EV_NONE)) {
        diag_error(eval->cx, loc,
                   args[1].kind == EV_NONE
                       ? "interpolate: either size or scale_factor should be defined"
                       : "interpolate: only one of size or scale_factor should be defined");
        return BAD;
    }
    if (recompute && args[1].kind != EV_NONE) {
        diag_error(eval->cx, args[5].loc,
                   "interpolate: recompute_scale_factor is not meaningful with an explicit size");
        return BAD;
    }
    if (!read_lengths(eval, loc, x, &args[1], &args[2], recompute, &resample))
        return BAD;
    if (resample.row->mode == AREA)
        return ev_tensor(loc, adaptive_mean(eval, loc, what, resample.rank, x, resample.out));
    y = as_planes(eval, loc, x, resample.rank);
    y = y ? resampled(eval, loc, &resample, y, what) : NULL;
    return ev_tensor(loc, as_images(eval, loc, y, x, resample.rank));
}

extern const struct function_row resample_functions[];

const struct function_row resample_functions[] = {
    {"interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, "
     "recompute_scale_factor=None, antialias=False)",
     FUNCTIONAL, .build = fn_interpolate},
    {"upsample(input, size=None, scale_factor=None, mode='nearest', align_corners=None)", FUNCTIONAL,
     .body = "return interpolate(input, size, scale_factor, mode, align_corners)"},
    {"upsample_nearest(input, size=None, scale_factor=None)", FUNCTIONAL,
     .body = "return interpolate(input, size, scale_factor)"},
    {"upsample_bilinear(input, size=None, scale_factor=None)", FUNCTIONAL,
     .body = "return interpolate(input, size, scale_factor, 'bilinear', True)"},
    {.signature = NULL},
};
