/* conv.c - convolution and transposed convolution over one to three axes. All of them become GRAPH_OP_CONV, windows over
 * images: a line is an image of one row; windows along the depth of a volume are moved into its channels. */
#include <assert.h>
#include <string.h>

#include "functions/space.h"
#include "graph/graph.h"

enum { MOST_PHASES = 16, LONGEST = 1 << 30 };

/* Windows over the last `rank` axes of (N, C, ...). */
struct windows {
    int rank, groups;
    int kernel[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK];
    int before[MAX_RANK], after[MAX_RANK]; /* zeros around x; below 0 they crop */
    int zero;                              /* of int8: note [int8 terms] */
};

/* What a call says. */
struct conv_call {
    const char *what;
    struct loc loc;
    struct value *x, *weight, *bias; /* x is batched; bias may be NULL */
    bool unbatched;
    struct windows windows;
};

/* From the first to the last element of a window. */
static int reach(const struct windows *windows, int axis)
{
    return windows->dilation[axis] * (windows->kernel[axis] - 1) + 1;
}

/* What reach gives is an int; padding is far smaller. */
static bool check_reach(struct eval *eval, const char *what, const struct ev *dilation,
                        const struct windows *windows)
{
    for (int i = 0; i < windows->rank; i++) {
        if ((int64_t)windows->dilation[i] * (windows->kernel[i] - 1) < LONGEST)
            continue;
        diag_error(eval->cx, dilation->loc, "%s: a kernel of %d elements that are %d apart is too large",
                   what, windows->kernel[i], windows->dilation[i]);
        return false;
    }
    return true;
}

/* NULL stays NULL: an error was said. */
static struct value *reshaped(struct eval *eval, struct loc loc, struct value *value, int ndim,
                              const struct dim *const *dims)
{
    return value ? build_reshape(eval, loc, value, ndim, dims) : NULL;
}

static struct value *permuted(struct eval *eval, struct loc loc, struct value *value, const int *perm)
{
    return value ? build_permute(eval, loc, value, perm) : NULL;
}

/* ---- convolution --------------------------------------------------------------------------------------------- */

static struct value *convolve_image(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                                    struct value *bias, const struct windows *windows)
{
    struct value *inputs[3] = {x, weight, bias};
    struct op *op = op_new(eval, GRAPH_OP_CONV, "conv2d", inputs, bias ? 3 : 2);

    op->window.bias = bias != NULL;
    op->window.groups = windows->groups;
    op->window.zero = windows->zero;
    for (int i = 0; i < 2; i++) {
        op->window.kernel[i] = windows->kernel[i];
        op->window.stride[i] = windows->stride[i];
        op->window.dilation[i] = windows->dilation[i];
        op->window.padding[i] = windows->before[i];
        op->window.extra[i] = windows->after[i] - windows->before[i];
    }
    return build_op(eval, loc, op);
}

/* (N, C, L) as (N, C, 1, L). */
static struct value *convolve_line(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                                   struct value *bias, const struct windows *windows)
{
    const struct dim *one = dim_const(&eval->cx->arena, 1), *out[3];
    const struct dim *rows[4] = {x->dims[0], x->dims[1], one, x->dims[2]};
    const struct dim *taps[4] = {weight->dims[0], weight->dims[1], one, weight->dims[2]};
    struct windows image = {2,
                            windows->groups,
                            {1, windows->kernel[0]},
                            {1, windows->stride[0]},
                            {1, windows->dilation[0]},
                            {0, windows->before[0]},
                            {0, windows->after[0]},
                            windows->zero};
    struct value *y;

    x = build_reshape(eval, loc, x, 4, rows);
    weight = reshaped(eval, loc, weight, 4, taps);
    y = x && weight ? convolve_image(eval, loc, x, weight, bias, &image) : NULL;
    if (!y)
        return NULL;
    out[0] = y->dims[0];
    out[1] = y->dims[1];
    out[2] = y->dims[3];
    return build_reshape(eval, loc, y, 3, out);
}

/* (N, C, D, H, W): images (N * OD, C * KD, H, W), made channels-last, as layout.c wants them. */
static struct value *convolve_volume(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                                     struct value *bias, const struct windows *windows)
{
    static const int channels_behind[] = {0, 2, 3, 4, 1, 5}, to_first[] = {0, 3, 1, 2},
                     depth_behind[] = {0, 2, 1, 3, 4};
    struct arena *arena = &eval->cx->arena;
    struct windows image = *windows;
    const struct dim *depth, *dims[5];
    struct ev none = ev_none(loc);
    struct value *y;

    image.rank = 2;
    for (int i = 0; i < 2; i++) {
        image.kernel[i] = windows->kernel[i + 1];
        image.stride[i] = windows->stride[i + 1];
        image.dilation[i] = windows->dilation[i + 1];
        image.before[i] = windows->before[i + 1];
        image.after[i] = windows->after[i + 1];
    }
    x = pad_axis(eval, loc, PAD_CONSTANT, x, 2, dim_const(arena, windows->before[0]),
                 dim_const(arena, windows->after[0]), pad_fill(eval, loc, &none, x->dtype));
    if (x)
        x = build_window(eval, loc, "conv3d", x, 2, windows->kernel[0], windows->stride[0],
                         windows->dilation[0]);
    x = permuted(eval, loc, x, channels_behind); /* (N, OD, H, W, C, KD) */
    if (!x)
        return NULL;
    depth = x->dims[1];
    dims[0] = dim_mul(arena, x->dims[0], depth);
    dims[1] = x->dims[2];
    dims[2] = x->dims[3];
    dims[3] = dim_mul(arena, x->dims[4], x->dims[5]);
    x = permuted(eval, loc, build_reshape(eval, loc, x, 4, dims), to_first);
    dims[0] = weight->dims[0];
    dims[1] = dim_mul(arena, weight->dims[1], weight->dims[2]);
    dims[2] = weight->dims[3];
    dims[3] = weight->dims[4];
    weight = build_reshape(eval, loc, weight, 4, dims);
    y = x && weight ? convolve_image(eval, loc, x, weight, bias, &image) : NULL;
    if (!y)
        return NULL;
    dims[0] = NULL;
    dim_divides(arena, y->dims[0], depth, &dims[0]);
    dims[1] = depth;
    for (int i = 1; i < 4; i++)
        dims[i + 1] = y->dims[i];
    return permuted(eval, loc, build_reshape(eval, loc, y, 5, dims), depth_behind);
}

/* (N, C...) of integers, which wrap: the windows of each group as rows of a matrix, times its weights. */
static struct value *convolve_integers(struct eval *eval, struct loc loc, struct value *x,
                                       struct value *weight, struct value *bias,
                                       const struct windows *windows)
{
    static const int turned[] = {0, 2, 1}, places_behind[] = {0, 1, 3, 2};
    struct arena *arena = &eval->cx->arena;
    const struct ev none = {.kind = EV_NONE, .loc = loc};
    const struct dim *groups = dim_const(arena, windows->groups), *out[2 + MAX_RANK], *parts[4],
                     *taps = weight->dims[1], *places = dim_const(arena, 1);
    const char *what = "convolution";
    int rank = windows->rank, perm[MAX_DIMS] = {0};
    struct value *y;

    /* (N g, C / g, l...) to (N, g, places, C / g taps) */
    memcpy(out, x->dims, sizeof out);
    parts[0] = out[0];
    parts[1] = groups;
    out[0] = dim_mul(arena, out[0], groups);
    out[1] = weight->dims[1];
    x = build_reshape(eval, loc, x, 2 + rank, out);
    for (int i = 0; i < rank && x; i++) {
        x = pad_axis(eval, loc, PAD_CONSTANT, x, 2 + i, dim_const(arena, windows->before[i]),
                     dim_const(arena, windows->after[i]), pad_fill(eval, loc, &none, x->dtype));
        x = x ? build_window(eval, loc, what, x, 2 + i, windows->kernel[i], windows->stride[i],
                             windows->dilation[i])
              : NULL;
        if (!x)
            return NULL;
        taps = dim_mul(arena, taps, dim_const(arena, windows->kernel[i]));
        out[2 + i] = x->dims[2 + i];
        places = dim_mul(arena, places, out[2 + i]);
        perm[1 + i] = 2 + i;
        perm[2 + rank + i] = 2 + rank + i;
    }
    perm[1 + rank] = 1;
    parts[2] = places;
    parts[3] = taps;
    x = reshaped(eval, loc, permuted(eval, loc, x, perm), 4, parts);
    /* (O, C / g, k...) to (g, C / g taps, O / g) */
    out[0] = parts[0];
    out[1] = weight->dims[0];
    parts[1] = dim_floordiv(arena, out[1], groups);
    parts[0] = groups;
    parts[2] = taps;
    weight = permuted(eval, loc, build_reshape(eval, loc, weight, 3, parts), turned);
    y = x && weight ? build_matmul(eval, loc, what, x, weight, NULL) : NULL;
    y = reshaped(eval, loc, permuted(eval, loc, y, places_behind), 2 + rank, out);
    if (y && bias) {
        const struct dim *each[1 + MAX_RANK] = {out[1]};
        struct ev sum = ev_tensor(loc, y), term;

        for (int i = 0; i < rank; i++)
            each[1 + i] = dim_const(arena, 1);
        term = ev_tensor(loc, build_reshape(eval, loc, bias, 1 + rank, each));
        sum = term.kind == EV_BAD ? term : build_binary(eval, loc, PRIM_ADD, "add", &sum, &term);
        y = sum.kind == EV_BAD ? NULL : sum.tensor;
    }
    return y;
}

/* note [int8 terms]
 * int32 convolutions and products of `x.to(torch.int32) - zero`, or without a zero, by `weight.to(torch.int32)`, both of int8, are
 * one op that reads int8: note [int8] in ops/window.c. What stands around x as F.pad has it, be it more on one side than on the other,
 * is padding of that op where it is `zero`, which adds nothing. */

/* The int8 value that `value` is in int32; NULL: none such. */
static struct value *widened(struct value *value)
{
    const struct op *op = value->op;
    const struct dag *dag = op->dag;

    if (value->dtype != DTYPE_INT32 || op->code != GRAPH_OP_MAP || op->input_count != 1 ||
        op->inputs[0]->dtype != DTYPE_INT8 || dag->nodes[dag->result].prim != PRIM_CAST ||
        dag->nodes[dag->nodes[dag->result].args[0]].prim != PRIM_LOAD)
        return NULL;
    return op->inputs[0];
}

/* The same, behind a number that is taken from it or added to it. */
static struct value *shifted(struct value *value, int *zero)
{
    const struct op *op = value->op;
    const struct dag_node *result, *number, *load;
    struct value *inside = widened(value);

    *zero = 0;
    if (inside || value->dtype != DTYPE_INT32 || op->code != GRAPH_OP_MAP || op->input_count != 1)
        return inside;
    result = &op->dag->nodes[op->dag->result];
    if (result->prim == PRIM_LOAD) /* less 0 */
        return widened(op->inputs[0]);
    if (result->prim != PRIM_SUB && result->prim != PRIM_ADD)
        return NULL;
    load = &op->dag->nodes[result->args[0]];
    number = &op->dag->nodes[result->args[1]];
    if (load->prim != PRIM_LOAD || number->prim != PRIM_CONST || number->integer < -INT8_MAX - 1 ||
        number->integer > INT8_MAX + 1)
        return NULL;
    *zero = (int)(result->prim == PRIM_SUB ? number->integer : -number->integer);
    return *zero >= INT8_MIN && *zero <= INT8_MAX ? widened(op->inputs[0]) : NULL;
}

/* Whether it lies in a tensor that was written since. */
static bool is_replaced(const struct graph *graph, struct value *value)
{
    const struct value *root = value_root(value);

    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slots[i] == root)
            return false;
    return value_is_slot(root);
}

/* What x (N, C, L...) was before it was padded with the windows' zero, which these then do; x where it was not. */
static struct value *unpadded(const struct graph *graph, struct value *x, struct windows *windows)
{
    struct value *body;
    int64_t around[2];

    while ((body = value_unpadded(x, windows->zero, around)) != NULL && x->op->concat.axis >= 2) {
        const int space = x->op->concat.axis - 2;

        if (is_replaced(graph, body) || windows->before[space] + around[0] >= LONGEST ||
            windows->after[space] + around[1] >= LONGEST)
            return x;
        windows->before[space] += (int)around[0];
        windows->after[space] += (int)around[1];
        x = body;
    }
    return x;
}

/* Whether `terms` of a sum are such, of a model on the processor: x and weight become what is multiplied. */
static bool take_int8(const struct eval *eval, struct value **x, struct value **weight,
                      const struct dim *terms, int *zero)
{
    struct value *from = shifted(*x, zero), *by = widened(*weight);

    if (!from || !by || dim_upper(terms) > CONV_MOST_TERMS || !eval->graph->program ||
        eval->graph->program->settings.backend != &backends[DEVICE_CPU] || is_replaced(eval->graph, from) ||
        is_replaced(eval->graph, by))
        return false;
    *x = from;
    *weight = by;
    return true;
}

struct value *int8_linear(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                          struct value *bias)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *rows = one;
    struct windows windows = {2, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0};
    const struct dim *out[MAX_DIMS];
    const int last = x->ndim - 1;
    struct value *y;

    if (x->ndim == 0 || !dim_equal(x->dims[last], weight->dims[1]) ||
        !take_int8(eval, &x, &weight, weight->dims[1], &windows.zero))
        return NULL;
    for (int i = 0; i < last; i++)
        rows = dim_mul(arena, rows, out[i] = x->dims[i]);
    out[last] = weight->dims[0];
    x = reshaped(eval, loc, x, 4, (const struct dim *[]){rows, x->dims[last], one, one});
    weight = reshaped(eval, loc, weight, 4, (const struct dim *[]){out[last], weight->dims[1], one, one});
    y = x && weight ? convolve_image(eval, loc, x, weight, bias, &windows) : NULL;
    return reshaped(eval, loc, y, last + 1, out);
}

static struct value *convolve(struct eval *eval, struct loc loc, struct value *x, struct value *weight,
                              struct value *bias, const struct windows *windows)
{
    struct windows own = *windows;
    const struct dim *terms = dim_const(&eval->cx->arena, 1);

    for (int i = 1; i < weight->ndim; i++)
        terms = dim_mul(&eval->cx->arena, terms, weight->dims[i]);
    if (!dtype_is_float(x->dtype) && windows->rank < 3 && take_int8(eval, &x, &weight, terms, &own.zero)) {
        x = unpadded(eval->graph, x, &own);
        windows = &own;
    } else if (!dtype_is_float(x->dtype)) {
        return convolve_integers(eval, loc, x, weight, bias, windows);
    }
    return windows->rank == 1   ? convolve_line(eval, loc, x, weight, bias, windows)
           : windows->rank == 2 ? convolve_image(eval, loc, x, weight, bias, windows)
                                : convolve_volume(eval, loc, x, weight, bias, windows);
}

/* ---- transposed convolution ---------------------------------------------------------------------------------- */

/* note [phases]
 * y[t] of a transposed convolution is the sum of x[l] w[k] over l * s + k * d == t + p. For t = r + s * i, the outputs of
 * phase r, only taps with k * d == r + p (mod s) take part: k = first + j * step, which meet x[i + shift - j * dilation].
 * So each phase is a convolution of x with a part of the weight, from its last tap to its first, and the outputs are
 * those of all phases in turn. Nothing is multiplied by the zeros that the definition puts between the elements of x. */
struct phase {
    int first, step, taps, dilation, shift;
};

static int common_divisor(int a, int b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

static struct phase find_phase(const struct windows *windows, int axis, int r)
{
    int stride = windows->stride[axis], dilation = windows->dilation[axis], kernel = windows->kernel[axis];
    int common = common_divisor(dilation, stride), at = r + windows->before[axis];
    struct phase phase = {0, stride / common, 0, dilation / common, 0};

    while (phase.first < kernel && phase.first < phase.step &&
           ((int64_t)phase.first * dilation - at) % stride != 0)
        phase.first++;
    if (phase.first < kernel && phase.first < phase.step) {
        phase.taps = (kernel - 1 - phase.first) / phase.step + 1;
        phase.shift = (at - phase.first * dilation) / stride;
    }
    return phase;
}

/* Zeros, or the bias, for outputs that no tap meets. */
static struct value *no_taps(struct eval *eval, struct loc loc, const struct conv_call *call, int ndim,
                             const struct dim *const *dims)
{
    struct ev zero = ev_float(loc, 0);
    struct value *value = call->bias;

    if (!value)
        value = build_scalar(eval, loc, &zero);
    if (value)
        value = build_cast(eval, loc, value, call->x->dtype);
    return value ? build_expand(eval, loc, value, ndim, dims) : NULL;
}

/* The outputs of one phase of each axis, (N, length[0], 1, length[1], 1, ..., O). */
static struct value *phase_outputs(struct eval *eval, const struct conv_call *call, struct value *weight,
                                   const struct phase *phases, const int *more)
{
    struct arena *arena = &eval->cx->arena;
    struct windows part = call->windows;
    const struct dim *dims[MAX_DIMS], *one = dim_const(arena, 1);
    int perm[MAX_DIMS] = {0}, n = 0, rank = part.rank;
    struct value *y;
    bool taps = true;

    dims[n++] = call->x->dims[0];
    for (int i = 0; i < rank; i++) {
        const struct phase *phase = &phases[i];

        part.kernel[i] = phase->taps;
        part.stride[i] = 1;
        part.dilation[i] = phase->dilation;
        part.before[i] = (phase->taps - 1) * phase->dilation - phase->shift;
        part.after[i] = more[i] + phase->shift;
        dims[n++] = dim_add(arena, call->x->dims[2 + i], dim_const(arena, more[i]));
        dims[n++] = one;
        perm[1 + i] = 2 + i;
        taps &= phase->taps > 0;
    }
    dims[n++] = weight->dims[0];
    perm[1 + rank] = 1;
    if (!taps)
        return no_taps(eval, call->loc, call, n, dims);
    for (int i = 0; i < rank && weight; i++)
        weight = build_slice(eval, call->loc, weight, 2 + i,
                             dim_const(arena, phases[i].first + (phases[i].taps - 1) * phases[i].step),
                             dim_const(arena, -phases[i].step), dim_const(arena, phases[i].taps));
    y = weight ? convolve(eval, call->loc, call->x, weight, call->bias, &part) : NULL;
    return reshaped(eval, call->loc, permuted(eval, call->loc, y, perm), n, dims);
}

/* All phases of the axes from `axis` on, for those phases before it that are chosen. */
static struct value *all_phases(struct eval *eval, const struct conv_call *call, struct value *weight,
                                struct phase *phases, int axis, const int *more)
{
    int count;
    struct value **parts;

    if (axis == call->windows.rank)
        return phase_outputs(eval, call, weight, phases, more);
    count = call->windows.stride[axis];
    parts = ARENA_ARRAY(&eval->cx->arena, count, struct value *);
    for (int r = 0; r < count; r++) {
        phases[axis] = find_phase(&call->windows, axis, r);
        parts[r] = all_phases(eval, call, weight, phases, axis + 1, more);
        if (!parts[r])
            return NULL;
    }
    return build_concat(eval, call->loc, "stack", parts, count, 2 + 2 * axis);
}

/* (in, out / g, ...) as (out, in / g, ...). */
static struct value *swap_channels(struct eval *eval, const struct conv_call *call)
{
    struct arena *arena = &eval->cx->arena;
    struct value *weight = call->weight;
    const struct dim *groups = dim_const(arena, call->windows.groups), *dims[6];
    const struct dim *in = dim_floordiv(arena, weight->dims[0], groups);
    int rank = call->windows.rank, perm[6] = {0, 2, 1, 3, 4, 5};

    dims[0] = groups;
    dims[1] = in;
    for (int i = 1; i < rank + 2; i++)
        dims[1 + i] = weight->dims[i];
    weight = permuted(eval, call->loc, build_reshape(eval, call->loc, weight, rank + 3, dims), perm);
    dims[0] = dim_mul(arena, groups, dims[2]);
    for (int i = 2; i < rank + 2; i++)
        dims[i] = call->weight->dims[i];
    return reshaped(eval, call->loc, weight, rank + 2, dims);
}

/* The weight of such a product, (K * O, C / g, 1...), of one (O, C / g, K...); *taps is K. */
static struct value *tap_weight(struct eval *eval, const struct conv_call *call, struct value *weight,
                                const struct dim **taps)
{
    struct arena *arena = &eval->cx->arena;
    int rank = call->windows.rank, perm[MAX_DIMS];
    const struct dim *groups = dim_const(arena, call->windows.groups), *out = weight->dims[0],
                     *in = weight->dims[1];
    const struct dim *dims[MAX_DIMS], *one = dim_const(arena, 1);

    /* to (g, K..., O / g, C / g), all but the last together */
    dims[0] = groups;
    dims[1] = dim_floordiv(arena, out, groups);
    dims[2] = in;
    perm[0] = 0;
    *taps = one;
    for (int i = 0; i < rank; i++) {
        dims[3 + i] = weight->dims[2 + i];
        perm[1 + i] = 3 + i;
        *taps = dim_mul(arena, *taps, weight->dims[2 + i]);
    }
    perm[1 + rank] = 1;
    perm[2 + rank] = 2;
    weight = permuted(eval, call->loc, build_reshape(eval, call->loc, weight, rank + 3, dims), perm);
    dims[0] = dim_mul(arena, *taps, out);
    dims[1] = in;
    for (int i = 0; i < rank; i++)
        dims[2 + i] = one;
    return reshaped(eval, call->loc, weight, rank + 2, dims);
}

/* Each output's bias once for every tap, as its weight has them. */
static struct value *tap_bias(struct eval *eval, const struct conv_call *call, struct value *bias,
                              const struct dim *taps, const struct dim *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *groups = dim_const(arena, call->windows.groups), *all = dim_mul(arena, taps, out);
    const struct dim *one_each[3] = {groups, dim_const(arena, 1), dim_floordiv(arena, out, groups)},
                     *each[3] = {groups, taps, one_each[2]};

    bias = build_reshape(eval, call->loc, bias, 3, one_each);
    return reshaped(eval, call->loc, bias ? build_expand(eval, call->loc, bias, 3, each) : NULL, 1, &all);
}

/* (N, g K O/g, l...) to (N, l..., k..., O) */
static struct value *taps_last(struct eval *eval, const struct conv_call *call, struct value *y,
                               const struct dim *taps, const struct dim *out)
{
    struct arena *arena = &eval->cx->arena;
    int rank = call->windows.rank, perm[MAX_DIMS];
    const struct dim *groups = dim_const(arena, call->windows.groups), *dims[MAX_DIMS];

    /* (N, l..., g, K, O / g), (N, l..., K, O) and the taps of each axis */
    perm[0] = 0;
    perm[1 + rank] = 1;
    dims[0] = y->dims[0];
    for (int i = 0; i < rank; i++) {
        perm[1 + i] = 2 + i;
        dims[1 + i] = y->dims[2 + i];
    }
    y = permuted(eval, call->loc, y, perm);
    dims[rank + 1] = groups;
    dims[rank + 2] = taps;
    dims[rank + 3] = dim_floordiv(arena, out, groups);
    for (int i = 0; i < rank + 4; i++)
        perm[i] = i;
    perm[rank + 1] = rank + 2;
    perm[rank + 2] = rank + 1;
    y = permuted(eval, call->loc, reshaped(eval, call->loc, y, rank + 4, dims), perm);
    for (int i = 0; i < rank; i++)
        dims[1 + rank + i] = call->weight->dims[2 + i];
    dims[1 + 2 * rank] = out;
    return reshaped(eval, call->loc, y, 2 + 2 * rank, dims);
}

/* What each element of x gives to the outputs is a product of its channels: (N, l..., k..., O) from K * O channels. bias:
 * NULL, or what each of them gets. */
static struct value *tap_products(struct eval *eval, const struct conv_call *call, struct value *weight,
                                  struct value *bias)
{
    const struct windows *windows = &call->windows;
    struct windows point = {.rank = windows->rank, .groups = windows->groups};
    const struct dim *out = weight->dims[0], *taps;
    struct value *y;

    for (int i = 0; i < windows->rank; i++)
        point.kernel[i] = point.stride[i] = point.dilation[i] = 1;
    weight = tap_weight(eval, call, weight, &taps);
    if (bias)
        bias = tap_bias(eval, call, bias, taps, out);
    y = weight ? convolve(eval, call->loc, call->x, weight, bias, &point) : NULL;
    return y ? taps_last(eval, call, y, taps, out) : NULL;
}

/* What a transposed convolution makes, along each axis. */
struct transposed {
    const struct dim *lengths[MAX_RANK];
    int more[MAX_RANK]; /* windows behind those of the input */
    int64_t phases;
    bool apart; /* outputs of neighbours do not overlap, and stand side by side */
};

/* wanted: see transpose. False after an error. */
static bool transposed_lengths(struct eval *eval, const struct conv_call *call, const int *output_padding,
                               const struct dim *const *wanted, struct transposed *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct windows *windows = &call->windows;

    *out = (struct transposed){.phases = 1, .apart = true};
    for (int i = 0; i < windows->rank; i++) {
        int stride = windows->stride[i];
        int64_t add = (int64_t)reach(windows, i) - stride - windows->before[i] - windows->after[i] +
                      output_padding[i];

        out->lengths[i] = dim_add(arena, dim_mul(arena, call->x->dims[2 + i], dim_const(arena, stride)),
                                  dim_const(arena, add));
        if (wanted && !dim_equal(out->lengths[i], wanted[i])) {
            out->lengths[i] = wanted[i];
            out->apart = false;
        }
        out->more[i] = (int)((add + stride - 1 - (add + stride - 1 < 0 ? stride - 1 : 0)) / stride);
        out->phases = out->phases > MOST_PHASES ? out->phases : out->phases * stride;
        out->apart &= windows->kernel[i] == stride && windows->dilation[i] == 1 && windows->before[i] == 0 &&
                      add == 0;
        if (dim_upper(out->lengths[i]) < 1) {
            diag_error(eval->cx, call->loc, "%s: the output of %s would have the size %s along axis %d",
                       call->what, shape_text(arena, call->x->ndim, call->x->dims),
                       dim_text(arena, out->lengths[i]), 2 + i);
            return false;
        }
        build_need(eval, dim_sub(arena, out->lengths[i], dim_const(arena, 1)));
    }
    return true;
}

/* By a product whose outputs go to their places: (N, l..., O). */
static struct value *transpose_by_taps(struct eval *eval, const struct conv_call *call, struct value *weight,
                                       const struct transposed *made)
{
    const struct windows *windows = &call->windows;
    struct value *y = tap_products(eval, call, weight, made->apart ? call->bias : NULL);

    if (y)
        y = sum_windows(eval, call->loc, y, 1, windows->rank, windows->stride, windows->dilation,
                        windows->before, made->lengths);
    if (y && call->bias && !made->apart) {
        struct ev sum = ev_tensor(call->loc, y), bias = ev_tensor(call->loc, call->bias);

        sum = build_binary(eval, call->loc, PRIM_ADD, "add", &sum, &bias);
        y = sum.kind == EV_TENSOR ? sum.tensor : NULL;
    }
    return y;
}

/* By phases: (N, l..., O), where each axis is as long as its phases make it. */
static struct value *transpose_by_phases(struct eval *eval, const struct conv_call *call,
                                         struct value *weight, const struct transposed *made)
{
    struct arena *arena = &eval->cx->arena;
    const struct windows *windows = &call->windows;
    const struct dim *dims[MAX_DIMS];
    int rank = windows->rank;
    struct phase chosen[MAX_RANK];
    struct value *y = all_phases(eval, call, weight, chosen, 0, made->more);

    if (!y)
        return NULL;
    dims[0] = y->dims[0];
    for (int i = 0; i < rank; i++)
        dims[1 + i] = dim_mul(arena, y->dims[1 + 2 * i], dim_const(arena, windows->stride[i]));
    dims[1 + rank] = y->dims[1 + 2 * rank];
    return build_reshape(eval, call->loc, y, rank + 2, dims);
}

/* note [transposed]
 * By phases, which have as few multiply-adds as there can be; where the kernel is the stride, so that the outputs of
 * neighbours stand side by side, and where there are very many phases, by a product whose outputs go to their places.
 * wanted: how long the output is, where output_padding is the most that this may be; NULL: what that says. */
static struct value *transpose(struct eval *eval, const struct conv_call *call, const int *output_padding,
                               const struct dim *const *wanted)
{
    struct arena *arena = &eval->cx->arena;
    struct value *weight = swap_channels(eval, call), *y;
    int rank = call->windows.rank, perm[MAX_RANK + 2] = {0};
    struct transposed made;

    if (!transposed_lengths(eval, call, output_padding, wanted, &made) || !weight)
        return NULL;
    if (made.phases > MOST_PHASES || (made.apart && made.phases > 1))
        y = transpose_by_taps(eval, call, weight, &made);
    else
        y = transpose_by_phases(eval, call, weight, &made);
    if (!y)
        return NULL;
    y->image = true;
    perm[1] = rank + 1;
    for (int i = 0; i < rank; i++)
        perm[2 + i] = 1 + i;
    y = build_permute(eval, call->loc, y, perm);
    for (int i = 0; i < rank && y; i++)
        y = build_slice(eval, call->loc, y, 2 + i, dim_const(arena, 0), dim_const(arena, 1), made.lengths[i]);
    return y;
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

static bool need_positive(struct eval *eval, const char *what, const char *name, const struct ev *arg,
                          int rank, int *out)
{
    if (!need_ints(eval, name, arg, rank, out))
        return false;
    for (int i = 0; i < rank; i++) {
        if (out[i] > 0)
            continue;
        diag_error(eval->cx, arg->loc, "%s: non-positive %s is not supported, found %s", what, name,
                   ev_text(eval, arg));
        return false;
    }
    return true;
}

/* (C, ...) becomes (1, C, ...). */
static bool read_input(struct eval *eval, struct conv_call *call, struct value *x)
{
    const struct dim *dims[5] = {dim_const(&eval->cx->arena, 1)};
    int rank = call->windows.rank;

    if (x->ndim != rank + 1 && x->ndim != rank + 2) {
        diag_error(eval->cx, call->loc,
                   "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
                   rank + 1, rank + 2, call->what, shape_text(&eval->cx->arena, x->ndim, x->dims));
        return false;
    }
    call->unbatched = x->ndim == rank + 1;
    if (call->unbatched) {
        memcpy(dims + 1, x->dims, (size_t)x->ndim * sizeof *dims);
        x = build_reshape(eval, call->loc, x, rank + 2, dims);
    }
    call->x = x;
    return x != NULL;
}

/* Its dimensions are constants: parameters have such, inputs may not. */
static bool read_weight(struct eval *eval, struct conv_call *call, const struct ev *arg)
{
    struct value *weight = arg->tensor;
    int64_t dim = 0;
    bool fine = weight->ndim == call->windows.rank + 2;

    for (int i = 0; fine && i < weight->ndim; i++) {
        fine = dim_is_const(weight->dims[i], &dim);
        if (i >= 2)
            call->windows.kernel[i - 2] = (int)dim;
        if (fine && dim < 1) {
            diag_error(eval->cx, arg->loc, "%s: the weight %s has no elements", call->what,
                       shape_text(&eval->cx->arena, weight->ndim, weight->dims));
            return false;
        }
    }
    if (!fine)
        diag_error(eval->cx, arg->loc,
                   "%s takes a weight of %d dimensions that are known while generating, found %s", call->what,
                   call->windows.rank + 2, shape_text(&eval->cx->arena, weight->ndim, weight->dims));
    call->weight = weight;
    return fine;
}

/* PyTorch has kernels of these alone, and with a dilation, or transposed, of int64's. */
static bool takes_integers(const struct conv_call *call, enum dtype dtype, bool transposed)
{
    for (int i = 0; i < call->windows.rank; i++)
        transposed |= call->windows.dilation[i] > 1;
    return dtype == DTYPE_INT64 || (dtype_is_int(dtype) && !transposed);
}

/* `out` channels are the weight's axis 0, or axis 1 of each group of a transposed convolution. */
static bool check_channels(struct eval *eval, const struct conv_call *call, bool transposed)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *groups = dim_const(arena, call->windows.groups),
                     *rest = dim_mod(arena, call->weight->dims[0], groups);
    const char *weight = shape_text(arena, call->weight->ndim, call->weight->dims);
    const struct dim *in = transposed ? call->weight->dims[0] : dim_mul(arena, call->weight->dims[1], groups);
    const struct dim *out = transposed ? dim_mul(arena, call->weight->dims[1], groups)
                                       : call->weight->dims[0];
    const struct value *x = call->x, *bias = call->bias;

    if (!dim_equals(rest, 0)) {
        diag_error(
            eval->cx, call->loc,
            "Given groups=%d, expected weight to be divisible by %d at dimension 0, but got weight of size %s instead",
            call->windows.groups, call->windows.groups, weight);
        return false;
    }
    if (!dim_equal(x->dims[1], in)) {
        diag_error(
            eval->cx, call->loc,
            "Given %s=%d, weight of size %s, expected input %s to have %s channels, but got %s channels instead",
            transposed ? "transposed" : "groups", transposed ? 1 : call->windows.groups, weight,
            shape_text(arena, x->ndim - call->unbatched, x->dims + call->unbatched), dim_text(arena, in),
            dim_text(arena, x->dims[1]));
        return false;
    }
    if (bias && (bias->ndim != 1 || !dim_equal(bias->dims[0], out))) {
        diag_error(
            eval->cx, call->loc,
            "Given weight of size %s, expected bias to be 1-dimensional with %s elements, but got bias of size %s instead",
            weight, dim_text(arena, out), shape_text(arena, bias->ndim, bias->dims));
        return false;
    }
    for (int i = 0; i < (bias ? 2 : 1); i++) {
        const struct value *other = i == 0 ? call->weight : bias;

        if ((dtype_is_float(x->dtype) || takes_integers(call, x->dtype, transposed)) &&
            other->dtype == x->dtype)
            continue;
        if (dtype_is_int(x->dtype) && other->dtype == x->dtype) {
            diag_error(eval->cx, call->loc, "%s%s is not implemented for %s", transposed ? "" : "dilated ",
                       call->what, dtype_rows[x->dtype].name);
            diag_hint(eval->cx, "as in PyTorch; of integers there is int64");
            return false;
        }
        diag_error(eval->cx, call->loc, "%s: the input is %s, the %s %s: both need one floating type",
                   call->what, dtype_rows[x->dtype].name, i == 0 ? "weight" : "bias",
                   dtype_rows[other->dtype].name);
        return false;
    }
    return true;
}

/* args: input, weight, bias, stride, padding. */
static bool read_call(struct eval *eval, struct conv_call *call, const struct ev *args,
                      const struct ev *dilation, const struct ev *groups, bool transposed)
{
    bool biased = args[2].kind != EV_NONE;
    struct windows *windows = &call->windows;
    int64_t number;

    if (!need_tensor(eval, call->what, &args[0]) || !need_tensor(eval, call->what, &args[1]) ||
        (biased && !need_tensor(eval, call->what, &args[2])) || !need_int(eval, "groups", groups, &number) ||
        !read_input(eval, call, args[0].tensor) || !read_weight(eval, call, &args[1]))
        return false;
    call->bias = biased ? args[2].tensor : NULL;
    if (number < 1 || number > INT32_MAX) {
        diag_error(eval->cx, groups->loc, "%s: non-positive groups is not supported, found %lld", call->what,
                   (long long)number);
        return false;
    }
    windows->groups = (int)number;
    if (!need_positive(eval, call->what, "stride", &args[3], windows->rank, windows->stride) ||
        !need_positive(eval, call->what, "dilation", dilation, windows->rank, windows->dilation))
        return false;
    return check_reach(eval, call->what, dilation, windows) && check_channels(eval, call, transposed);
}

/* 'same': the output has the input's size; what is odd stands behind. */
static bool read_padding(struct eval *eval, struct conv_call *call, const struct ev *padding)
{
    struct windows *windows = &call->windows;
    bool same = padding->kind == EV_STRING && strcmp(padding->text, "same") == 0;

    if (padding->kind != EV_STRING) {
        if (!need_ints(eval, "padding", padding, windows->rank, windows->before))
            return false;
        memcpy(windows->after, windows->before, sizeof windows->after);
        return true;
    }
    if (!same && strcmp(padding->text, "valid") != 0) {
        diag_error(eval->cx, padding->loc, "Invalid padding string: '%s', should be 'same' or 'valid'",
                   padding->text);
        return false;
    }
    for (int i = 0; same && i < windows->rank; i++) {
        int whole = reach(windows, i) - 1;

        if (windows->stride[i] != 1) {
            diag_error(eval->cx, padding->loc, "%s: padding='same' is not supported for strided convolutions",
                       call->what);
            return false;
        }
        windows->before[i] = whole / 2;
        windows->after[i] = whole - whole / 2;
    }
    return true;
}

/* A window fits somewhere. */
static bool check_room(struct eval *eval, const struct conv_call *call)
{
    struct arena *arena = &eval->cx->arena;
    const struct windows *windows = &call->windows;
    struct text padded = text_new(arena), kernel = text_new(arena);
    bool fits = true;

    for (int i = 0; i < windows->rank; i++) {
        const struct dim *length = dim_add(arena, call->x->dims[2 + i],
                                           dim_const(arena, (int64_t)windows->before[i] + windows->after[i]));

        fits &= dim_upper(length) >= reach(windows, i);
        text_printf(&padded, "%s%s", i > 0 ? " x " : "", dim_text(arena, length));
        text_printf(&kernel, "%s%d", i > 0 ? " x " : "", reach(windows, i));
    }
    if (!fits)
        diag_error(
            eval->cx, call->loc,
            "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than "
            "actual input size",
            padded.data, kernel.data);
    return fits;
}

static struct ev result(struct eval *eval, const struct conv_call *call, struct value *y)
{
    if (y && call->unbatched)
        y = build_reshape(eval, call->loc, y, y->ndim - 1, y->dims + 1);
    return ev_tensor(call->loc, y);
}

static struct ev conv(struct eval *eval, const char *what, int rank, const struct ev *args, struct loc loc)
{
    struct conv_call call = {.what = what, .loc = loc, .windows = {.rank = rank}};

    if (!read_call(eval, &call, args, &args[5], &args[6], false) || !read_padding(eval, &call, &args[4]) ||
        !check_room(eval, &call))
        return BAD;
    return result(eval, &call, convolve(eval, loc, call.x, call.weight, call.bias, &call.windows));
}

static struct ev conv_transpose(struct eval *eval, const char *what, int rank, const struct ev *args,
                                struct loc loc)
{
    struct conv_call call = {.what = what, .loc = loc, .windows = {.rank = rank}};
    int output_padding[MAX_RANK];

    if (!read_call(eval, &call, args, &args[7], &args[6], true) ||
        !need_ints(eval, "padding", &args[4], rank, call.windows.before) ||
        !need_ints(eval, "output_padding", &args[5], rank, output_padding))
        return BAD;
    memcpy(call.windows.after, call.windows.before, sizeof call.windows.after);
    for (int i = 0; i < rank; i++) {
        if (output_padding[i] < call.windows.stride[i] || output_padding[i] < call.windows.dilation[i])
            continue;
        diag_error(
            eval->cx, args[5].loc,
            "%s: output padding must be smaller than either stride or dilation, but got output_padding=%s, "
            "stride=%s, dilation=%s",
            what, ev_text(eval, &args[5]), ev_text(eval, &args[3]), ev_text(eval, &args[7]));
        return BAD;
    }
    return result(eval, &call, transpose(eval, &call, output_padding, NULL));
}

/* ---- gradients ----------------------------------------------------------------------------------------------- */

static struct conv_call backward_call(const struct op *op, struct loc loc)
{
    struct conv_call call = {
        .what = op->label, .loc = loc, .windows = {.rank = 2, .groups = op->window.groups}};

    for (int i = 0; i < 2; i++) {
        call.windows.kernel[i] = op->window.kernel[i];
        call.windows.stride[i] = op->window.stride[i];
        call.windows.dilation[i] = op->window.dilation[i];
        call.windows.before[i] = op->window.padding[i];
        call.windows.after[i] = op->window.padding[i] + op->window.extra[i];
    }
    return call;
}

/* The transposed convolution of g, with what the last windows left over as output padding. */
struct value *conv_input_gradient(struct eval *eval, struct loc loc, const struct op *op, struct value *g)
{
    struct arena *arena = &eval->cx->arena;
    struct conv_call call = backward_call(op, loc);
    const struct dim *const *lengths = op->inputs[0]->dims + 2;
    int output_padding[2];

    call.x = g;
    call.weight = op->inputs[1];
    for (int i = 0; i < 2; i++) {
        const struct windows *windows = &call.windows;
        const struct dim *least = dim_add(
            arena,
            dim_mul(arena, dim_sub(arena, g->dims[2 + i], dim_const(arena, 1)),
                    dim_const(arena, windows->stride[i])),
            dim_const(arena, reach(windows, i) - windows->before[i] - windows->after[i]));
        int64_t rest;

        output_padding[i] = dim_is_const(dim_sub(arena, lengths[i], least), &rest) ? (int)rest
                                                                                   : windows->stride[i] - 1;
    }
    return transpose(eval, &call, output_padding, lengths);
}

/* The product of g, by output channels, and of the windows of x, over all images and places. */
struct value *conv_weight_gradient(struct eval *eval, struct loc loc, const struct op *op, struct value *g)
{
    static const int x_perm[] = {1, 0, 3, 4, 5, 6, 2}, g_perm[] = {1, 2, 0, 3, 4}, w_perm[] = {0, 3, 1, 2};
    struct arena *arena = &eval->cx->arena;
    const struct conv_call call = backward_call(op, loc);
    const struct value *weight = op->inputs[1];
    const struct dim *groups = dim_const(arena, op->window.groups), *dims[MAX_DIMS], *each, *places;
    struct ev none = ev_none(loc);
    struct value *x = op->inputs[0];
    int first = op->window.groups == 1; /* the axis of groups is left out */

    for (int i = 0; i < 2 && x; i++)
        x = pad_axis(eval, loc, PAD_CONSTANT, x, 2 + i, dim_const(arena, call.windows.before[i]),
                     dim_const(arena, call.windows.after[i]), pad_fill(eval, loc, &none, x->dtype));
    for (int i = 0; i < 2 && x; i++)
        x = build_window(eval, loc, "windows", x, 2 + i, call.windows.kernel[i], call.windows.stride[i],
                         call.windows.dilation[i]);
    if (!x)
        return NULL;
    each = weight->dims[1];
    places = dim_mul(arena, g->dims[0], dim_mul(arena, g->dims[2], g->dims[3]));
    /* (n, c, oh, ow, kh, kw) as (groups, places, taps of c / groups) */
    dims[0] = x->dims[0];
    dims[1] = groups;
    dims[2] = each;
    for (int i = 2; i < 6; i++)
        dims[i + 1] = x->dims[i];
    x = permuted(eval, loc, build_reshape(eval, loc, x, 7, dims), x_perm);
    dims[0] = groups;
    dims[1] = places;
    dims[2] = dim_mul(arena, each, dim_mul(arena, weight->dims[2], weight->dims[3]));
    x = reshaped(eval, loc, x, 3 - first, dims + first);
    /* (n, oc, oh, ow) as (groups, oc / groups, places) */
    dims[0] = g->dims[0];
    dims[1] = groups;
    dims[2] = dim_floordiv(arena, g->dims[1], groups);
    dims[3] = g->dims[2];
    dims[4] = g->dims[3];
    g = permuted(eval, loc, build_reshape(eval, loc, g, 5, dims), g_perm);
    dims[0] = groups;
    dims[1] = dim_floordiv(arena, weight->dims[0], groups);
    dims[2] = places;
    g = reshaped(eval, loc, g, 3 - first, dims + first);
    x = x && g ? build_matmul(eval, loc, "matmul", g, x, NULL) : NULL;
    dims[0] = weight->dims[0];
    dims[1] = weight->dims[2];
    dims[2] = weight->dims[3];
    dims[3] = each;
    return permuted(eval, loc, reshaped(eval, loc, x, 4, dims), w_perm);
}

static struct ev fn_conv1d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv(eval, "conv1d", 1, args, loc);
}

static struct ev fn_conv2d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv(eval, "conv2d", 2, args, loc);
}

static struct ev fn_conv3d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv(eval, "conv3d", 3, args, loc);
}

static struct ev fn_conv_transpose1d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv_transpose(eval, "conv_transpose1d", 1, args, loc);
}

static struct ev fn_conv_transpose2d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv_transpose(eval, "conv_transpose2d", 2, args, loc);
}

static struct ev fn_conv_transpose3d(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return conv_transpose(eval, "conv_transpose3d", 3, args, loc);
}

/* The output_padding that gives a ConvTranspose's output the size that its call asks for. */
static struct ev fn_output_padding(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    int kernel[MAX_RANK], stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK], rank = args[2].count,
                                                                                   first;
    struct ev items[MAX_RANK], lowest[MAX_RANK], highest[MAX_RANK];
    const struct value *x;
    bool fits = true;
    (void)count;

    if (!need_tensor(eval, "input", &args[0]))
        return BAD;
    x = args[0].tensor;
    first = x->ndim == rank + 2 ? 2 : 1;
    for (int i = 0; i < rank; i++)
        items[i] = ev_int(eval, loc, 0);
    if (x->ndim != rank + first)
        return ev_tuple(eval, loc, items, rank); /* conv_transpose says what it takes */
    if (args[1].kind != EV_TUPLE || (args[1].count != rank && args[1].count != rank + first)) {
        diag_error(eval->cx, args[1].loc,
                   "ConvTranspose%dd: for %dD input, output_size must have %d or %d elements, found %s", rank,
                   x->ndim, rank, rank + first, ev_text(eval, &args[1]));
        return BAD;
    }
    if (!need_ints(eval, "kernel_size", &args[2], rank, kernel) ||
        !need_ints(eval, "stride", &args[3], rank, stride) ||
        !need_ints(eval, "padding", &args[4], rank, padding) ||
        !need_ints(eval, "dilation", &args[5], rank, dilation))
        return BAD;
    for (int i = 0; i < rank; i++) {
        const struct ev *size = &args[1].items[args[1].count - rank + i];
        const struct dim *least = dim_add(
            arena,
            dim_mul(arena, dim_sub(arena, x->dims[first + i], dim_const(arena, 1)),
                    dim_const(arena, stride[i])),
            dim_const(arena, (int64_t)dilation[i] * (kernel[i] - 1) + 1 - 2 * (int64_t)padding[i]));
        int64_t more = -1;

        if (size->kind == EV_INT && !dim_is_const(dim_sub(arena, size->dim, least), &more))
            more = -1;
        fits &= more >= 0 && more < stride[i];
        items[i] = ev_int(eval, loc, more);
        lowest[i] = ev_dim(loc, least);
        highest[i] = ev_dim(loc, dim_add(arena, least, dim_const(arena, stride[i] - 1)));
    }
    if (fits)
        return ev_tuple(eval, loc, items, rank);

    struct ev from = ev_tuple(eval, loc, lowest, rank), to = ev_tuple(eval, loc, highest, rank);

    diag_error(eval->cx, args[1].loc,
               "requested an output size of %s, but valid sizes range from %s to %s (for an input of %s)",
               ev_text(eval, &args[1]), ev_text(eval, &from), ev_text(eval, &to),
               shape_text(arena, x->ndim, x->dims));
    return BAD;
}

/* What Conv1d to Conv3d give to pad for modes other than zeros: (front, behind) of each axis, the last one first. */
static struct ev fn_conv_padding(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct conv_call call = {.what = "padding", .loc = loc, .windows = {.rank = args[1].count}};
    struct windows *windows = &call.windows;
    struct ev items[6];
    (void)count;

    for (int i = 0; i < 3; i++)
        windows->stride[i] = 1;
    if (!need_ints(eval, "kernel_size", &args[1], windows->rank, windows->kernel) ||
        !need_ints(eval, "dilation", &args[2], windows->rank, windows->dilation) ||
        !check_reach(eval, "padding", &args[2], windows) || !read_padding(eval, &call, &args[0]))
        return BAD;
    for (int i = 0; i < windows->rank; i++) {
        int axis = windows->rank - 1 - i;

        items[2 * i] = ev_int(eval, args[0].loc, windows->before[axis]);
        items[2 * i + 1] = ev_int(eval, args[0].loc, windows->after[axis]);
    }
    return ev_tuple(eval, args[0].loc, items, 2 * windows->rank);
}

#define CONV "(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)"
#define CONV_TRANSPOSE                                                                                       \
    "(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)"

extern const struct function_row conv_functions[];

const struct function_row conv_functions[] = {
    {"conv1d" CONV, TORCH | FUNCTIONAL, .build = fn_conv1d},
    {"conv2d" CONV, TORCH | FUNCTIONAL, .build = fn_conv2d},
    {"conv3d" CONV, TORCH | FUNCTIONAL, .build = fn_conv3d},
    {"conv_transpose1d" CONV_TRANSPOSE, TORCH | FUNCTIONAL, .build = fn_conv_transpose1d},
    {"conv_transpose2d" CONV_TRANSPOSE, TORCH | FUNCTIONAL, .build = fn_conv_transpose2d},
    {"conv_transpose3d" CONV_TRANSPOSE, TORCH | FUNCTIONAL, .build = fn_conv_transpose3d},
    {"conv_tbc(input, weight, bias, pad=0)", TORCH | FUNCTIONAL,
     .body =
         "y = torch.conv1d(_check_dims(input, 3, 3).permute(1, 2, 0), _check_dims(weight, 3, 3).permute(2, 1, 0), bias,"
         " padding=pad)\n"
         "return y.permute(2, 0, 1)"},
    {"_conv_padding(padding, kernel_size, dilation)", HIDDEN, .build = fn_conv_padding},
    {"_output_padding(input, output_size, kernel_size, stride, padding, dilation)", HIDDEN,
     .build = fn_output_padding},
    {.signature = NULL},
};
