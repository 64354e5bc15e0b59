/* fold.c - windows of an image as columns, and images as the sum of such columns. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* Where window l has its element k along an axis of the sum: l * stride + k * dilation, (l, k). */
static struct value *places(struct eval *eval, struct loc loc, const struct dim *windows,
                            const struct dim *kernel, int64_t stride, int64_t dilation)
{
    struct arena *arena = &eval->cx->arena;
    struct tensor *index = ARENA_NEW(arena, struct tensor);
    int64_t most = dim_upper(windows), taps = dim_upper(kernel);

    index->dtype = DTYPE_INT64;
    index->ndim = 2;
    index->dims[0] = most;
    index->dims[1] = taps;
    index->data = ARENA_ARRAY(arena, most * taps + 1, union scalar);
    for (int64_t i = 0; i < most * taps; i++)
        index->data[i].i = i / taps * stride + i % taps * dilation;
    return build_slice(eval, loc, build_const(eval, loc, index), 0, dim_const(arena, 0), dim_const(arena, 1),
                       windows);
}

/* The windows stand side by side and are all there is. */
static bool stand_apart(struct arena *arena, const struct value *x, int axis, int rank, const int *stride,
                        const int *dilation, const int *before, const struct dim *const *lengths)
{
    for (int i = 0; i < rank; i++) {
        const struct dim *kernel = x->dims[axis + rank + i],
                         *length = dim_mul(arena, x->dims[axis + i], kernel);

        if (!dim_equals(kernel, stride[i]) || (dilation[i] != 1 && stride[i] > 1) || before[i] != 0 ||
            !dim_equal(length, lengths[i]))
            return false;
    }
    return true;
}

struct value *sum_windows(struct eval *eval, struct loc loc, struct value *x, int axis, int rank,
                          const int *stride, const int *dilation, const int *before,
                          const struct dim *const *lengths)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    int perm[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        perm[i] = i;
    if (stand_apart(arena, x, axis, rank, stride, dilation, before, lengths)) {
        for (int i = 0; i < rank; i++) {
            perm[axis + 2 * i] = axis + i;
            perm[axis + 2 * i + 1] = axis + rank + i;
        }
        for (int i = 0; i < x->ndim - rank; i++)
            dims[i] = i < axis ? x->dims[i] : i < axis + rank ? lengths[i - axis] : x->dims[i + rank];
        x = build_permute(eval, loc, x, perm);
        return x ? build_reshape(eval, loc, x, x->ndim - rank, dims) : NULL;
    }
    for (int i = rank - 1; i >= 0; i--) { /* of l[0] ... l[i], k[0] ... k[i], summed axes */
        const struct dim *windows = x->dims[axis + i], *kernel = x->dims[axis + 2 * i + 1], *whole;
        struct ev zero = ev_float(loc, 0);
        struct value *sum = build_scalar(eval, loc, &zero), *index;
        int to = axis + 2 * i;

        for (int d = 0; d < x->ndim; d++)
            perm[d] = d < axis + i ? d : d < to ? d + 1 : d == to ? axis + i : d;
        x = build_permute(eval, loc, x, perm);
        whole = dim_add(
            arena, dim_mul(arena, dim_sub(arena, windows, dim_const(arena, 1)), dim_const(arena, stride[i])),
            dim_add(
                arena,
                dim_mul(arena, dim_sub(arena, kernel, dim_const(arena, 1)), dim_const(arena, dilation[i])),
                dim_const(arena, 1)));
        whole = dim_max(arena, whole, dim_add(arena, lengths[i], dim_const(arena, before[i])));
        if (!x || !sum)
            return NULL;
        for (int d = 0; d < x->ndim - 1; d++)
            dims[d] = d < to ? x->dims[d] : d == to ? whole : x->dims[d + 1];
        sum = build_cast(eval, loc, sum, x->dtype);
        sum = sum ? build_expand(eval, loc, sum, x->ndim - 1, dims) : NULL;
        index = places(eval, loc, windows, kernel, stride[i], dilation[i]);
        x = sum && index ? build_scatter(eval, loc, "fold", sum, to, index, x, PRIM_ADD, false) : NULL;
        if (!x)
            return NULL;
        x = build_slice(eval, loc, x, to, dim_const(arena, before[i]), dim_const(arena, 1), lengths[i]);
        if (!x)
            return NULL;
    }
    return x;
}

/* ---- unfold and fold ------------------------------------------------------------------------------------------- */

static int64_t reach(int kernel, int dilation)
{
    return (int64_t)dilation * (kernel - 1) + 1;
}

/* kernel_size, dilation, padding and stride, from four arguments. */
struct blocks {
    int kernel[2], dilation[2], padding[2], stride[2];
    const char *text;
};

static bool read_blocks(struct eval *eval, const struct ev *args, struct blocks *blocks)
{
    const struct {
        const char *name;
        int *values, least;
    } parts[] = {{"kernel_size", blocks->kernel, 1},
                 {"dilation", blocks->dilation, 1},
                 {"padding", blocks->padding, 0},
                 {"stride", blocks->stride, 1}};
    struct text text = text_new(&eval->cx->arena);

    for (int i = 0; i < 4; i++) {
        if (!need_ints(eval, parts[i].name, &args[i], 2, parts[i].values))
            return false;
        if (parts[i].values[0] < parts[i].least || parts[i].values[1] < parts[i].least) {
            diag_error(eval->cx, args[i].loc, "%s should be greater than zero, but got (%d, %d)",
                       parts[i].name, parts[i].values[0], parts[i].values[1]);
            return false;
        }
        text_printf(&text, "%s%s=(%d, %d)", i > 0 ? ", " : "", parts[i].name, parts[i].values[0],
                    parts[i].values[1]);
    }
    blocks->text = text.data;
    return true;
}

static struct value *batched(struct eval *eval, struct loc loc, struct value *x, int ndim)
{
    const struct dim *dims[5] = {dim_const(&eval->cx->arena, 1)};

    if (x->ndim == ndim)
        return x;
    memcpy(dims + 1, x->dims, (size_t)x->ndim * sizeof *dims);
    return build_reshape(eval, loc, x, ndim, dims);
}

static struct ev unbatched(struct eval *eval, struct loc loc, struct value *x, bool drop)
{
    return ev_tensor(loc, x && drop ? build_reshape(eval, loc, x, x->ndim - 1, x->dims + 1) : x);
}

/* One block at least along each axis. */
static bool check_counts(struct eval *eval, struct loc loc, const char *what, const struct dim *const *counts,
                         const char *text)
{
    struct arena *arena = &eval->cx->arena;

    for (int i = 0; i < 2; i++) {
        if (dim_upper(counts[i]) < 1) {
            diag_error(
                eval->cx, loc,
                "%s, %s, calculated shape of the array of sliding blocks as (%s, %s), but its components must be at "
                "least one.",
                what, text, dim_text(arena, counts[0]), dim_text(arena, counts[1]));
            return false;
        }
        build_need(eval, dim_sub(arena, counts[i], dim_const(arena, 1)));
    }
    return true;
}

static struct ev fn_unfold(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const int columns[] = {0, 1, 4, 5, 2, 3};
    struct arena *arena = &eval->cx->arena;
    const struct dim *counts[2], *dims[3];
    struct blocks blocks;
    struct value *x;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "unfold", &args[0]) || !read_blocks(eval, args + 1, &blocks))
        return BAD;
    ndim = args[0].tensor->ndim;
    if (ndim != 3 && ndim != 4) {
        diag_error(eval->cx, loc, "Expected 3D or 4D (batch mode) tensor for input, but got: %s",
                   shape_text(arena, ndim, args[0].tensor->dims));
        return BAD;
    }
    x = batched(eval, loc, args[0].tensor, 4);
    for (int i = 0; i < 2 && x; i++)
        counts[i] = window_count(arena, x->dims[2 + i], reach(blocks.kernel[i], blocks.dilation[i]),
                                 blocks.stride[i], blocks.padding[i], false);
    if (!x || !check_counts(eval, loc,
                            arena_format(arena, "Given input with spatial size (%s, %s)",
                                         dim_text(arena, x->dims[2]), dim_text(arena, x->dims[3])),
                            counts, blocks.text))
        return BAD;
    for (int i = 1; i >= 0 && x; i--) {
        const struct dim *padding = dim_const(arena, blocks.padding[i]);
        struct ev none = ev_none(loc);

        x = pad_axis(eval, loc, PAD_CONSTANT, x, 2 + i, padding, padding,
                     pad_fill(eval, loc, &none, x->dtype));
    }
    for (int i = 0; i < 2 && x; i++)
        x = build_window(eval, loc, "unfold", x, 2 + i, blocks.kernel[i], blocks.stride[i],
                         blocks.dilation[i]);
    x = x ? build_permute(eval, loc, x, columns) : NULL; /* (N, C, KH, KW, LH, LW) */
    if (!x)
        return BAD;
    dims[0] = x->dims[0];
    dims[1] = dim_mul(arena, x->dims[1], dim_mul(arena, x->dims[2], x->dims[3]));
    dims[2] = dim_mul(arena, x->dims[4], x->dims[5]);
    return unbatched(eval, loc, build_reshape(eval, loc, x, 3, dims), ndim == 3);
}

static bool read_output_size(struct eval *eval, const struct ev *arg, const struct dim **lengths)
{
    for (int i = 0; i < 2; i++) {
        const struct ev *item = arg->kind == EV_TUPLE && (arg->count == 1 || arg->count == 2)
                                    ? &arg->items[i % arg->count]
                                    : arg;

        if (item->kind != EV_INT) {
            diag_error(eval->cx, arg->loc, "output_size takes an integer or a tuple of 2, found %s",
                       ev_text(eval, arg));
            return false;
        }
        lengths[i] = item->dim;
    }
    return true;
}

static struct ev fn_fold(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const int windows_first[] = {0, 1, 4, 5, 2, 3};
    struct arena *arena = &eval->cx->arena;
    const struct dim *lengths[2], *counts[2], *dims[6], *taps;
    struct blocks blocks;
    struct value *x;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "fold", &args[0]) || !read_output_size(eval, &args[1], lengths) ||
        !read_blocks(eval, args + 2, &blocks))
        return BAD;
    ndim = args[0].tensor->ndim;
    if (ndim != 2 && ndim != 3) {
        diag_error(eval->cx, loc, "Expected 2D or 3D (batch mode) tensor for input, but got: %s",
                   shape_text(arena, ndim, args[0].tensor->dims));
        return BAD;
    }
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "fold is not implemented for %s", dtype_rows[args[0].tensor->dtype].name);
        return BAD;
    }
    x = batched(eval, loc, args[0].tensor, 3);
    taps = dim_const(arena, (int64_t)blocks.kernel[0] * blocks.kernel[1]);
    if (!x)
        return BAD;
    if (!dim_divides(arena, x->dims[1], taps, &dims[1])) {
        diag_error(
            eval->cx, loc,
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            "input.size(1)=%s and kernel_size=(%d, %d).",
            dim_text(arena, x->dims[1]), blocks.kernel[0], blocks.kernel[1]);
        return BAD;
    }
    for (int i = 0; i < 2; i++)
        counts[i] = window_count(arena, lengths[i], reach(blocks.kernel[i], blocks.dilation[i]),
                                 blocks.stride[i], blocks.padding[i], false);
    const char *what = arena_format(arena, "Given output_size=(%s, %s)", dim_text(arena, lengths[0]),
                                    dim_text(arena, lengths[1]));

    if (!check_counts(eval, loc, what, counts, blocks.text))
        return BAD;
    if (!dim_equal(dim_mul(arena, counts[0], counts[1]), x->dims[2])) {
        diag_error(
            eval->cx, loc,
            "%s, %s, expected size of input's dimension 2 to match the calculated number of sliding blocks %s * %s = "
            "%s, but got input.size(2)=%s.",
            what, blocks.text, dim_text(arena, counts[0]), dim_text(arena, counts[1]),
            dim_text(arena, dim_mul(arena, counts[0], counts[1])), dim_text(arena, x->dims[2]));
        return BAD;
    }
    dims[0] = x->dims[0];
    for (int i = 0; i < 2; i++) {
        dims[2 + i] = dim_const(arena, blocks.kernel[i]);
        dims[4 + i] = counts[i];
    }
    x = build_reshape(eval, loc, x, 6, dims);
    x = x ? build_permute(eval, loc, x, windows_first) : NULL;
    x = x ? sum_windows(eval, loc, x, 2, 2, blocks.stride, blocks.dilation, blocks.padding, lengths) : NULL;
    return unbatched(eval, loc, x, ndim == 2);
}

extern const struct function_row fold_functions[];

const struct function_row fold_functions[] = {
    {"unfold(input, kernel_size, dilation=1, padding=0, stride=1)", FUNCTIONAL, .build = fn_unfold},
    {"fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)", FUNCTIONAL, .build = fn_fold},
    {.signature = NULL},
};
