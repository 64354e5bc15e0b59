/* fft.c - torch.fft, stft and istft, and windows.
 *
 * A transform along several dimensions is one along each. Lengths with prime factors that no pass is made for are a convolution
 * with a chirp, of a length that is a power of two (Bluestein). */
#include <math.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"
#include "ops/fft.h"

/* ---- the op ---------------------------------------------------------------------------------------------------- */

static struct value *numbers(struct eval *eval, struct loc loc, enum dtype dtype, const union scalar *data,
                             int64_t count)
{
    struct tensor *tensor = ARENA_NEW(&eval->cx->arena, struct tensor);

    tensor->dtype = dtype;
    tensor->ndim = 1;
    tensor->dims[0] = count;
    tensor->data = ARENA_ARRAY(&eval->cx->arena, count + 1, union scalar);
    for (int64_t i = 0; i < count; i++)
        tensor->data[i] = dtype_is_float(dtype) ? (union scalar){.f = dtype_round(dtype, data[i].f)}
                                                : data[i];
    return build_const(eval, loc, tensor);
}

struct value *build_fft(struct eval *eval, struct loc loc, const char *label, enum fft_kind kind,
                        struct value *x, int axis, int64_t length, bool inverse, struct value *scale)
{
    struct arena *arena = &eval->cx->arena;
    int64_t inner = 1;

    for (int i = axis + 1; i < x->ndim - (kind != FFT_FROM_REAL); i++)
        inner *= dim_upper(x->dims[i]);

    const struct fft_plan plan = fft_plan_of(kind, length, inner, 64 / dtype_rows[x->dtype].bytes);
    union scalar *factors = ARENA_ARRAY(arena, plan.factors + 1, union scalar),
                 *passes = ARENA_ARRAY(arena, plan.passes + 1, union scalar);
    struct value *inputs[] = {x, NULL, NULL, scale};
    struct op *op;

    fft_factors(&plan, factors);
    fft_passes(&plan, passes);
    inputs[1] = numbers(eval, loc, x->dtype, factors, plan.factors > 0 ? plan.factors : 1);
    inputs[2] = numbers(eval, loc, DTYPE_INT64, passes, plan.passes);
    if (!inputs[1] || !inputs[2] || !scale)
        return NULL;
    op = op_new(eval, GRAPH_OP_FFT, label, inputs, 4);
    op->fft.kind = kind;
    op->fft.axis = axis;
    op->fft.inverse = inverse;
    op->fft.length = length;
    return build_op(eval, loc, op);
}

struct value *build_half_spectrum(struct eval *eval, struct loc loc, struct value *x, int axis,
                                  int64_t length, double factor)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    int64_t bins = length / 2 + 1;
    union scalar *data = ARENA_ARRAY(arena, bins, union scalar);
    struct value *inputs[2] = {x};
    struct dag *dag = dag_new(arena, 2);

    if (bins < 2 || length < 3)
        return x;
    for (int64_t k = 0; k < bins; k++)
        data[k].f = k == 0 || 2 * k == length ? 1 : factor;
    for (int i = 0; i < x->ndim; i++)
        dims[i] = dim_const(arena, i == axis ? bins : 1);
    inputs[1] = numbers(eval, loc, x->dtype, data, bins);
    inputs[1] = inputs[1] ? build_reshape(eval, loc, inputs[1], x->ndim, dims) : NULL;
    if (!inputs[1])
        return NULL;
    dag->result = dag_prim(arena, dag, PRIM_MUL, x->dtype, dag_load(arena, dag, 0, x->dtype),
                           dag_load(arena, dag, 1, x->dtype), -1);
    return build_map(eval, loc, "mul", dag, inputs, 2);
}

/* ---- one dimension ---------------------------------------------------------------------------------------------- */

/* The pairs of a whole spectrum, of its first half; what has no partner is real. */
static const char *const whole_of_half = "rest = x.narrow(dim, 1, (n - 1) // 2).flip((dim,))\n"
                                         "return cat((x, stack((rest[..., 0], -rest[..., 1]), -1)), dim)";

/* X[k] = c[k] sum of x[j] c[j] / c[k - j], where c[k] is exp(-i pi k^2 / n). */
static const char *const chirp_transform =
    "x = x.movedim(dim, -2)\n"
    "at = arange(n)\n"
    "angle = (at * at % (2 * n)).double() * (pi / n)\n"
    "sine = torch.sin(angle) if inverse else -torch.sin(angle)\n"
    "chirp = stack((torch.cos(angle), sine), -1).to(x.dtype)\n"
    "back = stack((torch.cos(angle), -sine), -1).to(x.dtype)\n"
    "kernel = cat((back, zeros((m - 2 * n + 1, 2), dtype=x.dtype), back[1:].flip((0,))), 0)\n"
    "long = _fft_along(F.pad(_pairs_product(x, chirp), (0, 0, 0, m - n)), -2, 'complex', m, False, 1)\n"
    "long = _pairs_product(long, _fft_along(kernel, -2, 'complex', m, False, 1))\n"
    "y = _fft_along(long, -2, 'complex', m, True, scale / m)[..., :n, :]\n"
    "return _pairs_product(y, chirp).movedim(-2, dim)";

static struct value *run(struct eval *eval, struct loc loc, const char *text, struct value *x, int axis,
                         int64_t n, int64_t m, bool inverse, double scale)
{
    struct scope scope = {0};

    eval->at = loc;
    scope_bind(eval, &scope, "x", ev_tensor(loc, x));
    scope_bind(eval, &scope, "dim", ev_int(eval, loc, axis));
    scope_bind(eval, &scope, "n", ev_int(eval, loc, n));
    scope_bind(eval, &scope, "m", ev_int(eval, loc, m));
    scope_bind(eval, &scope, "inverse", ev_bool(loc, inverse));
    scope_bind(eval, &scope, "scale", ev_float(loc, scale));
    return eval_body(eval, &scope, text).tensor;
}

/* x has the op's operand of that kind. */
static struct value *along(struct eval *eval, struct loc loc, const char *label, enum fft_kind kind,
                           struct value *x, int axis, int64_t length, bool inverse, double scale)
{
    int64_t m = 1;

    if (fft_is_smooth(length)) {
        const union scalar factor = {.f = scale};

        return build_fft(eval, loc, label, kind, x, axis, length, inverse,
                         numbers(eval, loc, x->dtype, &factor, 1));
    }
    while (m < 2 * length - 1)
        m *= 2;
    if (kind == FFT_FROM_REAL) {
        x = run(eval, loc, "return stack((x, zeros_like(x)), -1)", x, axis, length, m, inverse, scale);
        x = x ? run(eval, loc, chirp_transform, x, axis, length, m, inverse, scale) : NULL;
        return x ? run(eval, loc, "return x.narrow(dim, 0, n // 2 + 1)", x, axis, length, m, inverse, scale)
                 : NULL;
    }
    if (kind == FFT_TO_REAL) {
        x = run(eval, loc,
                "re, im = x[..., 0], x[..., 1]\n"
                "middle = im.narrow(dim, 1, (n - 1) // 2)\n"
                "none = zeros_like(im.narrow(dim, 0, 1))\n"
                "im = cat((none, middle) if n % 2 == 1 else (none, middle, none), dim)\n"
                "return stack((re, im), -1)",
                x, axis, length, m, inverse, scale);
        x = x ? run(eval, loc, whole_of_half, x, axis, length, m, inverse, scale) : NULL;
        x = x ? run(eval, loc, chirp_transform, x, axis, length, m, inverse, scale) : NULL;
        return x ? run(eval, loc, "return x[..., 0]", x, axis, length, m, inverse, scale) : NULL;
    }
    return run(eval, loc, chirp_transform, x, axis, length, m, inverse, scale);
}

/* _fft_along(x, dim, kind, n, inverse, scale): of bodies, along a dimension of pairs. */
static struct ev fn_fft_along(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x = args[0].tensor;
    int64_t n;
    double scale;
    int axis;
    (void)count;

    if (!need_axis(eval, "fft", &args[1], x->ndim, &axis) || !need_int(eval, "fft", &args[3], &n))
        return BAD;
    ev_get_number(&args[5], &scale);
    return ev_tensor(loc, along(eval, loc, "fft", FFT_COMPLEX, x, axis, n, args[4].integer, scale));
}

/* ---- the functions of torch.fft ---------------------------------------------------------------------------------- */

/* What is transformed, and how long it is. */
struct transform {
    int axes[MAX_DIMS], count;
    const struct dim *lengths[MAX_DIMS]; /* in the result of `real`, else as it is */
};

static bool read_lengths(struct eval *eval, const struct ev *s, int ndim, int *count)
{
    if (s->kind != EV_TUPLE) {
        diag_error(eval->cx, s->loc, "%s takes a tuple of integers as s, found %s", outer(eval, "fft"),
                   ev_text(eval, s));
        return false;
    }
    if (s->count > ndim) {
        diag_error(eval->cx, s->loc, "Got shape with %d values but input tensor only has %d dimensions.",
                   s->count, ndim);
        return false;
    }
    *count = s->count;
    return true;
}

/* dim and s of the functions with many, dim and n of the others. */
static bool read_axes(struct eval *eval, struct loc loc, const struct ev *s, const struct ev *dim, int ndim,
                      bool many, struct transform *out)
{
    bool seen[MAX_DIMS] = {false};
    int lengths = -1;

    if (many && s->kind != EV_NONE && !read_lengths(eval, s, ndim, &lengths))
        return false;
    out->count = dim->kind == EV_TUPLE  ? dim->count
                 : dim->kind != EV_NONE ? 1
                 : lengths >= 0         ? lengths
                                        : ndim;
    if (out->count > MAX_DIMS || (!many && dim->kind == EV_TUPLE)) {
        diag_error(eval->cx, dim->loc, "%s takes an integer as dim, found %s", outer(eval, "fft"),
                   ev_text(eval, dim));
        return false;
    }
    if (dim->kind != EV_NONE && lengths >= 0 && lengths != out->count) {
        diag_error(eval->cx, loc, "When given, dim and shape arguments must have the same length");
        return false;
    }
    for (int i = 0; i < out->count; i++) {
        const struct ev *item = dim->kind == EV_TUPLE ? &dim->items[i] : dim;

        if (dim->kind == EV_NONE) {
            out->axes[i] = ndim - out->count + i;
        } else {
            if (ndim == 0) {
                diag_error(eval->cx, loc, "Dimension specified as %s but tensor has no dimensions",
                           ev_text(eval, item));
                return false;
            }
            if (!need_axis(eval, "fft", item, ndim, &out->axes[i]))
                return false;
        }
        if (seen[out->axes[i]]) {
            diag_error(eval->cx, dim->loc, "FFT dims must be unique");
            return false;
        }
        seen[out->axes[i]] = true;
    }
    return true;
}

/* The factor of all results. */
static bool read_norm(struct eval *eval, const struct ev *norm, bool inverse, double points, double *scale)
{
    static const char *const names[] = {"backward", "ortho", "forward"};

    for (int i = 0; i < COUNT(names); i++) {
        if (norm->kind == EV_NONE ? i > 0 : norm->kind != EV_STRING || strcmp(norm->text, names[i]) != 0)
            continue;
        *scale = i == 1 ? 1 / sqrt(points) : (i == 2) != inverse ? 1 / points : 1;
        return true;
    }
    diag_error(eval->cx, norm->loc, "Invalid normalization mode: %s", ev_text(eval, norm));
    diag_hint(eval->cx, "there are 'backward', 'ortho' and 'forward'");
    return false;
}

/* How many points there are along each dimension: of a real result with half a spectrum as input those of that. */
static bool read_points(struct eval *eval, struct loc loc, const struct value *x, const struct ev *s,
                        const struct transform *transform, bool half, int64_t *points)
{
    for (int i = 0; i < transform->count; i++) {
        const struct ev *item = s->kind == EV_TUPLE ? &s->items[i] : s;
        const struct dim *extent = x->dims[transform->axes[i]];
        int64_t given = -1, own;
        bool known = dim_is_const(extent, &own), last = i == transform->count - 1;

        if (item->kind != EV_NONE && !need_int(eval, "fft", item, &given))
            return false;
        if (item->kind == EV_NONE || (s->kind == EV_TUPLE && given == -1)) {
            if (!known) {
                diag_error(eval->cx, loc, "%s: the length %s of dimension %d is only known at run time",
                           outer(eval, "fft"), dim_text(&eval->cx->arena, extent), transform->axes[i]);
                diag_hint(eval->cx, "a transform has one length: give it as n (or s), which crops or pads");
                return false;
            }
            given = half && last ? 2 * (own - 1) : own;
        }
        if (given < 1 || given > 1 << 22) {
            diag_error(eval->cx, loc, "Invalid number of data points (%lld) specified", (long long)given);
            return false;
        }
        points[i] = given;
    }
    return true;
}

/* As many elements along the axis: the first ones, and zeros behind the last. */
static struct value *resized(struct eval *eval, struct loc loc, struct value *x, int axis, int64_t length)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev none = {.kind = EV_NONE, .loc = loc};
    const struct dim *wanted = dim_const(arena, length), *zero = dim_const(arena, 0);
    const struct dim *missing = dim_sub(arena, wanted, x->dims[axis]);

    if (dim_equal(wanted, x->dims[axis]))
        return x;
    if (dim_upper(missing) <= 0)
        return build_slice(eval, loc, x, axis, zero, dim_const(arena, 1), wanted);
    x = pad_axis(eval, loc, PAD_CONSTANT, x, axis, zero, dim_lower(missing) >= 0 ? missing : wanted,
                 pad_fill(eval, loc, &none, x->dtype));
    return x ? build_slice(eval, loc, x, axis, zero, dim_const(arena, 1), wanted) : NULL;
}

/* The pairs of a complex tensor; of a real one, in the type in which it is transformed, itself. NULL after an error. */
static struct value *operand(struct eval *eval, const struct ev *arg, bool real, bool *pairs)
{
    *pairs = arg->kind == EV_COMPLEX;
    if (*pairs && !real)
        return arg->tensor;
    if (*pairs) {
        diag_error(eval->cx, arg->loc, "%s expects a real input tensor, but got a complex one",
                   outer(eval, "fft"));
        return NULL;
    }
    if (!need_tensor(eval, "fft", arg))
        return NULL;
    return dtype_is_float(arg->tensor->dtype) ? arg->tensor
                                              : build_cast(eval, arg->loc, arg->tensor, eval->default_dtype);
}

static struct value *conjugated(struct eval *eval, struct loc loc, struct value *x)
{
    return run(eval, loc, "return stack((x[..., 0], -x[..., 1]), -1)", x, 0, 0, 0, false, 0);
}

/* Pairs, of a real tensor, of all values along one axis. */
static struct value *of_real(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                             int64_t n, bool inverse, double scale)
{
    x = along(eval, loc, label, FFT_FROM_REAL, x, axis, n, false, scale);
    x = x && inverse ? conjugated(eval, loc, x) : x;
    return x ? run(eval, loc, whole_of_half, x, axis, n, 0, false, 0) : NULL;
}

/* _fft(input, s, dim, norm, kind, inverse, many): all of torch.fft. kind: of the last dimension; the others are complex. */
static struct ev fn_fft(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *kind = args[4].text, *name = outer(eval, "fft"), *dot = strchr(name, '.'),
               *label = dot ? dot + 1 : name;
    bool real = strcmp(kind, "from real") == 0, half = strcmp(kind, "to real") == 0, inverse, many, pairs;
    struct value *x = operand(eval, &args[0], real, &pairs);
    struct transform transform;
    int64_t points[MAX_DIMS];
    double scale = 1, all = 1;
    int last, ndim;
    (void)count;

    ev_get_bool(&args[5], &inverse);
    ev_get_bool(&args[6], &many);
    if (!x)
        return BAD;
    ndim = x->ndim - pairs;
    if (!read_axes(eval, loc, &args[1], &args[2], ndim, many, &transform) ||
        !read_points(eval, loc, x, &args[1], &transform, half, points))
        return BAD;
    last = transform.count - 1;
    if (last < 0 && (real || half)) {
        diag_error(eval->cx, loc, "%s must transform at least one axis", label);
        return BAD;
    }
    for (int i = 0; i <= last; i++)
        all *= (double)points[i];
    if (!read_norm(eval, &args[3], inverse, all, &scale))
        return BAD;
    for (int i = 0; i <= last && x; i++)
        x = resized(eval, loc, x, transform.axes[i], half && i == last ? points[i] / 2 + 1 : points[i]);
    if (x && !pairs && (half || last < 0)) {
        x = run(eval, loc, "return stack((x, zeros_like(x)), -1)", x, 0, 0, 0, false, 0);
        pairs = true;
    }
    if (half) { /* its sum has the other sign than the inverse, which is the real one */
        for (int i = 0; i < last && x; i++)
            x = along(eval, loc, label, FFT_COMPLEX, x, transform.axes[i], points[i], inverse, 1);
        x = x && !inverse ? conjugated(eval, loc, x) : x;
        return ev_tensor(
            loc, x ? along(eval, loc, label, FFT_TO_REAL, x, transform.axes[last], points[last], true, scale)
                   : NULL);
    }
    for (int i = last; i >= 0 && x; i--) {
        double factor = i == last ? scale : 1;

        if (pairs || i < last)
            x = along(eval, loc, label, FFT_COMPLEX, x, transform.axes[i], points[i], inverse, factor);
        else if (!real)
            x = of_real(eval, loc, label, x, transform.axes[i], points[i], inverse, factor);
        else
            x = along(eval, loc, label, FFT_FROM_REAL, x, transform.axes[i], points[i], false, factor);
        if (x && real && inverse && i == last)
            x = conjugated(eval, loc, x);
    }
    return ev_complex(loc, x);
}

/* _shift(input, dim, inverse): the lower half and the upper one of each dimension change places. */
static struct ev fn_shift(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    bool axes[MAX_DIMS], inverse, pairs = args[0].kind == EV_COMPLEX;
    struct value *x = args[0].tensor;
    (void)count;

    ev_get_bool(&args[2], &inverse);
    if ((!pairs && !need_tensor(eval, "fftshift", &args[0])) ||
        !need_axes(eval, "fftshift", &args[1], x->ndim - pairs, axes))
        return BAD;
    for (int i = 0; i < x->ndim - pairs && x; i++) {
        const struct dim *one = dim_const(arena, 1), *zero = dim_const(arena, 0), *length = x->dims[i];
        const struct dim *split = dim_floordiv(arena, inverse ? length : dim_add(arena, length, one),
                                               dim_const(arena, 2));
        struct value *parts[2];

        if (!axes[i] || (args[1].kind == EV_TUPLE && args[1].count == 0))
            continue;
        parts[0] = build_slice(eval, loc, x, i, split, one, dim_sub(arena, length, split));
        parts[1] = build_slice(eval, loc, x, i, zero, one, split);
        x = parts[0] && parts[1] ? build_concat(eval, loc, outer(eval, "fftshift"), parts, 2, i) : NULL;
    }
    return pairs ? ev_complex(loc, x) : ev_tensor(loc, x);
}

/* ---- windows ------------------------------------------------------------------------------------------------------ */

/* The modified Bessel function of order 0, by its series. */
static double bessel_i0(double x)
{
    double term = 1, sum = 1;

    for (int k = 1; term > sum * 1e-17; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

static double window_at(const char *name, double at, double whole, const double *numbers_)
{
    const double turn = 6.28318530717958647692528676655900577 * at / whole, x = 2 * at / whole - 1;

    if (strcmp(name, "bartlett") == 0)
        return 1 - fabs(x);
    if (strcmp(name, "blackman") == 0)
        return 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
    if (strcmp(name, "kaiser") == 0)
        return bessel_i0(numbers_[0] * sqrt(fmax(1 - x * x, 0))) / bessel_i0(numbers_[0]);
    return numbers_[0] - numbers_[1] * cos(turn);
}

/* _window(name, length, periodic, a, b, dtype) */
static struct ev fn_window(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double constants[2];
    int64_t length;
    bool periodic;
    enum dtype dtype;
    union scalar *data;
    (void)count;

    if (!need_int(eval, "window", &args[1], &length) || !need_bool(eval, "periodic", &args[2], &periodic) ||
        !need_dtype(eval, &args[5], eval->default_dtype, &dtype))
        return BAD;
    for (int i = 0; i < 2; i++) {
        if (!ev_get_number(&args[3 + i], &constants[i])) {
            diag_error(eval->cx, args[3 + i].loc,
                       "%s takes numbers that are known while generating, found %s", outer(eval, "window"),
                       ev_text(eval, &args[3 + i]));
            return BAD;
        }
    }
    if (length < 0 || length > 1 << 22) {
        diag_error(eval->cx, args[1].loc, "%s requires non-negative window_length, got window_length=%lld",
                   outer(eval, "window"), (long long)length);
        return BAD;
    }
    if (!dtype_is_float(dtype)) {
        diag_error(eval->cx, args[5].loc, "%s expects floating point dtypes, got: %s", outer(eval, "window"),
                   dtype_rows[dtype].name);
        return BAD;
    }
    data = ARENA_ARRAY(&eval->cx->arena, length + 1, union scalar);
    for (int64_t i = 0; i < length; i++)
        data[i].f = length == 1 ? 1
                                : window_at(args[0].text, (double)i, (double)(periodic ? length : length - 1),
                                            constants);
    return ev_tensor(loc, numbers(eval, loc, dtype, data, length));
}

/* ---- short-time transforms ---------------------------------------------------------------------------------------- */

/* _check_stft(input, n_fft, hop, win_length, window, back): input is that of stft, or with `back` pairs for istft. */
static struct ev fn_check_stft(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const names[] = {"n_fft", "hop_length", "win_length"};
    const struct value *x = args[0].tensor, *window = args[4].tensor;
    int64_t numbers_[3];
    bool back;
    (void)count;

    ev_get_bool(&args[5], &back);
    if (!need_tensor(eval, "stft", &args[0]))
        return BAD;
    for (int i = 0; i < 3; i++) {
        if (!need_int(eval, "stft", &args[1 + i], &numbers_[i]))
            return BAD;
        if (numbers_[i] < 1 || numbers_[i] > 1 << 22 || (i == 2 && numbers_[2] > numbers_[0])) {
            diag_error(eval->cx, args[1 + i].loc, "%s: expected %s, but got %s=%lld", outer(eval, "stft"),
                       i == 2 ? "0 < win_length <= n_fft"
                              : arena_format(&eval->cx->arena, "%s > 0", names[i]),
                       names[i], (long long)numbers_[i]);
            return BAD;
        }
    }
    if (!dtype_is_float(x->dtype) || x->ndim < 1 + 2 * back || x->ndim > 2 + 2 * back) {
        diag_error(eval->cx, args[0].loc,
                   "%s: expected a tensor of floating point values with %s, found %s %s", outer(eval, "stft"),
                   back ? "frequencies and frames, and maybe channels" : "one or two dimensions",
                   dtype_rows[x->dtype].name, shape_text(&eval->cx->arena, x->ndim - back, x->dims));
        return BAD;
    }
    if (args[4].kind == EV_NONE)
        return ev_none(loc);
    if (!need_tensor(eval, "stft", &args[4]))
        return BAD;
    if (window->ndim == 1 && dim_equals(window->dims[0], numbers_[2]) && dtype_is_float(window->dtype))
        return ev_none(loc);
    diag_error(eval->cx, args[4].loc,
               "%s: expected a 1D window tensor of size equal to win_length=%lld, but got %s %s",
               outer(eval, "stft"), (long long)numbers_[2], dtype_rows[window->dtype].name,
               shape_text(&eval->cx->arena, window->ndim, window->dims));
    return BAD;
}

/* A signal has a frame at least; a spectrum as many frequencies as its frames make. */
static struct ev fn_check_frames(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *rest = dim_sub(arena, args[0].dim, args[1].dim);
    bool back;
    (void)count;

    ev_get_bool(&args[2], &back);
    if (back ? dim_equals(rest, 0) : dim_upper(rest) >= 0) {
        build_need(eval, rest);
        return ev_none(loc);
    }
    diag_error(eval->cx, loc,
               back ? "%s: expected %s frequencies, but got %s"
                    : "%s: expected 0 < n_fft <= %s, but got n_fft=%s",
               outer(eval, "stft"), dim_text(arena, args[back].dim), dim_text(arena, args[!back].dim));
    return BAD;
}

static struct ev fn_check_returns(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool complex;
    (void)count;

    if (args[0].kind != EV_NONE)
        return need_bool(eval, "return_complex", &args[0], &complex) ? ev_none(loc) : BAD;
    diag_error(eval->cx, loc, "stft requires the return_complex parameter be given for real inputs");
    diag_hint(eval->cx,
              "return_complex=True, and torch.view_as_real of the result where real numbers are wanted");
    return BAD;
}

static struct ev fn_check_real(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool complex;
    (void)count;

    if (!need_bool(eval, "return_complex", &args[0], &complex))
        return BAD;
    if (!complex)
        return ev_none(loc);
    diag_error(eval->cx, args[0].loc,
               "istft: return_complex=True is not supported yet by this version of modc");
    return BAD;
}

/* Where no window lies there is nothing that the signal could be made of. */
static struct ev fn_check_overlap(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (build_holds(eval, loc, args[0].tensor))
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: window overlap add min: 1", outer(eval, "istft"));
    diag_hint(eval->cx, "parts of the signal lie under no window: center=True leaves its ends out");
    return BAD;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

#define ONE "(input, n=None, dim=-1, norm=None)"
#define TWO "(input, s=None, dim=(-2, -1), norm=None)"
#define MANY "(input, s=None, dim=None, norm=None)"
#define ALONG_ONE(kind, inverse) .body = "return _fft(input, n, dim, norm, '" kind "', " inverse ", False)"
#define ALONG_MANY(kind, inverse) .body = "return _fft(input, s, dim, norm, '" kind "', " inverse ", True)"
#define COMPLEX FUNCTION_COMPLEX
#define FFT TORCH | COMPLEX

extern const struct function_row fft_functions[];

const struct function_row fft_functions[] = {
    {"fft.fft" ONE, FFT, ALONG_ONE("complex", "False")},
    {"fft.ifft" ONE, FFT, ALONG_ONE("complex", "True")},
    {"fft.rfft" ONE, FFT, ALONG_ONE("from real", "False")},
    {"fft.irfft" ONE, FFT, ALONG_ONE("to real", "True")},
    {"fft.hfft" ONE, FFT, ALONG_ONE("to real", "False")},
    {"fft.ihfft" ONE, FFT, ALONG_ONE("from real", "True")},
    {"fft.fft2" TWO, FFT, ALONG_MANY("complex", "False")},
    {"fft.ifft2" TWO, FFT, ALONG_MANY("complex", "True")},
    {"fft.rfft2" TWO, FFT, ALONG_MANY("from real", "False")},
    {"fft.irfft2" TWO, FFT, ALONG_MANY("to real", "True")},
    {"fft.hfft2" TWO, FFT, ALONG_MANY("to real", "False")},
    {"fft.ihfft2" TWO, FFT, ALONG_MANY("from real", "True")},
    {"fft.fftn" MANY, FFT, ALONG_MANY("complex", "False")},
    {"fft.ifftn" MANY, FFT, ALONG_MANY("complex", "True")},
    {"fft.rfftn" MANY, FFT, ALONG_MANY("from real", "False")},
    {"fft.irfftn" MANY, FFT, ALONG_MANY("to real", "True")},
    {"fft.hfftn" MANY, FFT, ALONG_MANY("to real", "False")},
    {"fft.ihfftn" MANY, FFT, ALONG_MANY("from real", "True")},
    {"fft.fftshift(input, dim=None)", FFT, .body = "return _fft_shift(input, dim, False)"},
    {"fft.ifftshift(input, dim=None)", FFT, .body = "return _fft_shift(input, dim, True)"},
    {"fft.fftfreq(n, d=1.0, dtype=None)", TORCH,
     .body = "at = arange(n)\n"
             "return _as_default(where(at < (n + 1) // 2, at, at - n), dtype) * (1.0 / (n * d))"},
    {"fft.rfftfreq(n, d=1.0, dtype=None)", TORCH,
     .body = "return _as_default(arange(n // 2 + 1), dtype) * (1.0 / (n * d))"},
    {"_as_default(x, dtype)", HIDDEN,
     .body = "return x.to(torch.zeros(1).dtype if dtype is None else dtype)"},
    {"_fft(input, s, dim, norm, kind, inverse, many)", HIDDEN | COMPLEX, .build = fn_fft},
    {"_fft_along(input, dim, kind, n, inverse, scale)", HIDDEN, .build = fn_fft_along},
    {"_fft_shift(input, dim, inverse)", HIDDEN | COMPLEX, .build = fn_shift},

    {"hann_window(window_length, periodic=True, dtype=None)", TORCH,
     .body = "return _window('hann', window_length, periodic, 0.5, 0.5, dtype)"},
    {"hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, dtype=None)", TORCH,
     .body = "return _window('hamming', window_length, periodic, alpha, beta, dtype)"},
    {"blackman_window(window_length, periodic=True, dtype=None)", TORCH,
     .body = "return _window('blackman', window_length, periodic, 0, 0, dtype)"},
    {"bartlett_window(window_length, periodic=True, dtype=None)", TORCH,
     .body = "return _window('bartlett', window_length, periodic, 0, 0, dtype)"},
    {"kaiser_window(window_length, periodic=True, beta=12.0, dtype=None)", TORCH,
     .body = "return _window('kaiser', window_length, periodic, beta, 0, dtype)"},
    {"_window(name, window_length, periodic, a, b, dtype)", HIDDEN, .build = fn_window},

    {"stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
     "normalized=False, onesided=None, return_complex=None)",
     TORCH | METHOD,
     .body =
         "hop = n_fft // 4 if hop_length is None else hop_length\n"
         "taps = n_fft if win_length is None else win_length\n"
         "_check_stft(input, n_fft, hop, taps, window, False)\n"
         "_check_returns(return_complex)\n"
         "half = n_fft // 2\n"
         "rows = input[None] if input.ndim == 1 else input\n"
         "rows = F.pad(rows, (half, half), pad_mode) if center else rows\n"
         "_check_frames(rows.shape[1], n_fft, False)\n"
         "frames = rows.unfold(1, n_fft, hop)\n"
         "frames = frames if window is None and taps == n_fft else frames * _stft_window(window, n_fft, taps, input)\n"
         "norm = 'ortho' if normalized else 'backward'\n"
         "y = (torch.fft.rfft(frames, norm=norm) if onesided is None or onesided else"
         " torch.fft.fft(frames, norm=norm))\n"
         "y = view_as_real(y).transpose(1, 2)\n"
         "y = y[0] if input.ndim == 1 else y\n"
         "return view_as_complex(y) if return_complex else y"},
    {"istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, "
     "onesided=None, length=None, return_complex=False)",
     TORCH | COMPLEX,
     .body =
         "hop = n_fft // 4 if hop_length is None else hop_length\n"
         "taps = n_fft if win_length is None else win_length\n"
         "pairs = view_as_real(input)\n"
         "_check_stft(pairs, n_fft, hop, taps, window, True)\n"
         "_check_real(return_complex)\n"
         "_check_frames(pairs.shape[-3], n_fft // 2 + 1 if onesided is None or onesided else n_fft, True)\n"
         "pairs = pairs[None] if pairs.ndim == 3 else pairs\n"
         "bins = view_as_complex(pairs.transpose(1, 2)[:, :, :n_fft // 2 + 1])\n"
         "shape = _stft_window(window, n_fft, taps, pairs)\n"
         "frames = torch.fft.irfft(bins, n_fft, norm='ortho' if normalized else 'backward') * shape\n"
         "whole = n_fft + hop * (pairs.shape[2] - 1)\n"
         "ones = torch.ones((1, pairs.shape[2], 1), dtype=shape.dtype)\n"
         "start = n_fft // 2 if center else 0\n"
         "end = start + length if length is not None else whole - start\n"
         "end = whole if length is not None and center and end > whole else end\n"
         "weight = _overlap_add(ones * shape * shape, n_fft, hop, whole)[:, start:end]\n"
         "_check_overlap(weight.abs() > 1e-11)\n"
         "y = _overlap_add(frames, n_fft, hop, whole)[:, start:end] / weight\n"
         "y = y if length is None else F.pad(y, (0, length - y.shape[1]))\n"
         "return y[0] if view_as_real(input).ndim == 3 else y"},
    {"_overlap_add(frames, n_fft, hop, whole)", HIDDEN,
     .body = "return F.fold(frames.transpose(1, 2), (1, whole), (1, n_fft), stride=(1, hop))[:, 0, 0]"},
    {"_stft_window(window, n_fft, taps, like)", HIDDEN,
     .body = "own = torch.ones(taps, dtype=like.dtype) if window is None else window\n"
             "left = (n_fft - taps) // 2\n"
             "return F.pad(own, (left, n_fft - taps - left))"},
    {"_check_stft(input, n_fft, hop, win_length, window, back)", HIDDEN, .build = fn_check_stft},
    {"_check_frames(length, n_fft, back)", HIDDEN, .build = fn_check_frames},
    {"_check_overlap(mask)", HIDDEN, .build = fn_check_overlap},
    {"_check_returns(return_complex)", HIDDEN, .build = fn_check_returns},
    {"_check_real(return_complex)", HIDDEN, .build = fn_check_real},
    {.signature = NULL},
};
