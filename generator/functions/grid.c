/* grid.c - images sampled at places that a grid names, as a spatial transformer or a flow of pixels needs it: grid_sample and
 * affine_grid. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static const char *const modes[] = {"nearest", "bilinear", "bicubic", NULL};   /* enum sample_mode */
static const char *const paddings[] = {"zeros", "border", "reflection", NULL}; /* enum sample_padding */

/* Which of the words it is; -1: none. */
static int word_at(const struct ev *value, const char *const *words)
{
    for (int i = 0; value->kind == EV_STRING && words[i]; i++)
        if (strcmp(value->text, words[i]) == 0)
            return i;
    return -1;
}

/* mode and padding_mode. */
static bool check_words(struct eval *eval, const struct ev *mode, const struct ev *padding)
{
    if (word_at(mode, modes) < 0) {
        diag_error(eval->cx, mode->loc, "grid_sample: there is no mode %s", ev_text(eval, mode));
        diag_hint(eval->cx, "there are 'bilinear', 'nearest' and 'bicubic'");
    } else if (word_at(padding, paddings) < 0) {
        diag_error(eval->cx, padding->loc, "grid_sample: there is no padding mode %s",
                   ev_text(eval, padding));
        diag_hint(eval->cx, "there are 'zeros', 'border' and 'reflection'");
    }
    return word_at(mode, modes) >= 0 && word_at(padding, paddings) >= 0;
}

/* _check_grid(input, grid, mode, padding_mode) */
static struct ev fn_check_grid(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x, *grid;
    (void)count;

    if (!need_tensor(eval, "grid_sample", &args[0]) || !need_tensor(eval, "grid_sample", &args[1]) ||
        !check_words(eval, &args[2], &args[3]))
        return BAD;
    x = args[0].tensor;
    grid = args[1].tensor;
    if (x->dtype != grid->dtype || !dtype_is_float(x->dtype)) {
        diag_error(
            eval->cx, loc,
            "grid_sampler(): expected input and grid to have the same floating dtype, but input has %s and grid has %s",
            dtype_rows[x->dtype].name, dtype_rows[grid->dtype].name);
        return BAD;
    }
    if (x->ndim < 4 || x->ndim > 5 || grid->ndim != x->ndim) {
        diag_error(
            eval->cx, loc,
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input %s and "
            "grid %s",
            shape_text(arena, x->ndim, x->dims), shape_text(arena, grid->ndim, grid->dims));
        return BAD;
    }
    if (!dim_equal(x->dims[0], grid->dims[0]) || !dim_equals(grid->dims[grid->ndim - 1], x->ndim - 2)) {
        diag_error(
            eval->cx, loc,
            "grid_sampler(): expected grid and input to have same batch size, and grid to have size %d in last "
            "dimension, but got input %s and grid %s",
            x->ndim - 2, shape_text(arena, x->ndim, x->dims), shape_text(arena, grid->ndim, grid->dims));
        return BAD;
    }
    if (x->ndim == 5 && strcmp(args[2].text, "bicubic") == 0) {
        diag_error(eval->cx, args[2].loc, "grid_sampler(): bicubic interpolation only supports 4D input");
        return BAD;
    }
    for (int i = 2; i < x->ndim; i++) {
        if (dim_upper(x->dims[i]) < 1) {
            diag_error(
                eval->cx, loc,
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has %s",
                shape_text(arena, x->ndim, x->dims));
            return BAD;
        }
        build_need(eval, dim_sub(arena, x->dims[i], dim_const(arena, 1)));
    }
    return ev_none(loc);
}

/* _check_affine(theta, size) */
static struct ev fn_check_affine(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *theta = args[0].tensor;
    (void)count;

    if (!need_tensor(eval, "affine_grid", &args[0]))
        return BAD;
    if (args[1].kind != EV_TUPLE || (args[1].count != 4 && args[1].count != 5)) {
        diag_error(
            eval->cx, args[1].loc,
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %s",
            ev_text(eval, &args[1]));
        return BAD;
    }
    for (int i = 0; i < args[1].count; i++) {
        if (args[1].items[i].kind == EV_INT && dim_upper(args[1].items[i].dim) >= 1)
            continue;
        diag_error(eval->cx, args[1].loc, "Expected non-zero, positive output size. Got %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    if (!dtype_is_float(theta->dtype)) {
        diag_error(eval->cx, args[0].loc, "Expected theta to have floating point type, but got %s",
                   dtype_rows[theta->dtype].name);
        return BAD;
    }
    if (theta->ndim == 3 && dim_equal(theta->dims[0], args[1].items[0].dim) &&
        dim_equals(theta->dims[1], args[1].count - 2) && dim_equals(theta->dims[2], args[1].count - 1))
        return ev_none(loc);
    diag_error(eval->cx, args[0].loc,
               "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. Got %s.",
               args[1].count - 2, args[1].count - 2, args[1].count - 1, ev_text(eval, &args[1]),
               shape_text(&eval->cx->arena, theta->ndim, theta->dims));
    return BAD;
}

/* _grid_sample(input (n, c, d.., h, w), places (n, k, axes), mode, padding_mode, align_corners): (n, c, k) */
static struct ev fn_grid_sample(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[] = {args[0].tensor, args[1].tensor};
    struct op *op = op_new(eval, GRAPH_OP_SAMPLE, "grid_sample", inputs, 2);
    (void)count;

    op->sample.of = SAMPLE_GRID;
    op->sample.mode = (enum sample_mode)word_at(&args[2], modes);
    op->sample.padding = (enum sample_padding)word_at(&args[3], paddings);
    if (!need_bool(eval, "align_corners", &args[4], &op->sample.corners))
        return BAD;
    return ev_tensor(loc, build_op(eval, loc, op));
}

extern const struct function_row grid_functions[];

const struct function_row grid_functions[] = {
    {"grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None)", FUNCTIONAL,
     .body = "_check_grid(input, grid, mode, padding_mode)\n"
             "corners = False if align_corners is None else align_corners\n"
             "places = grid.reshape((grid.shape[0], -1, input.ndim - 2))\n"
             "y = _grid_sample(input, places, mode, padding_mode, corners)\n"
             "return y.reshape(y.shape[:2] + grid.shape[1:-1])"},
    {"_check_grid(input, grid, mode, padding_mode)", HIDDEN, .build = fn_check_grid},
    {"_grid_sample(input, places, mode, padding_mode, align_corners)", HIDDEN, .build = fn_grid_sample},

    {"affine_grid(theta, size, align_corners=None)", FUNCTIONAL,
     .body = "_check_affine(theta, size)\n"
             "corners = False if align_corners is None else align_corners\n"
             "x = _affine_axis(size[-1], corners, theta)\n"
             "y = _affine_axis(size[-2], corners, theta)[:, None]\n"
             "z = _affine_axis(size[2], corners, theta)[:, None, None]\n"
             "flat = len(size) == 4\n"
             "base = (stack(_all_broadcast(x, y, x + y), -1) if flat else"
             " stack(_all_broadcast(x, y, z) + (torch.ones_like(x + y + z),), -1))\n"
             "base = cat((base[..., :2], torch.ones_like(base[..., :1])), -1) if flat else base\n"
             "y = base.reshape((1, -1, len(size) - 1)).expand(size[0], -1, -1) @ theta.mT\n"
             "return y.reshape((size[0],) + tuple(size[2:]) + (len(size) - 2,))"},
    {"_all_broadcast(a, b, c)", HIDDEN,
     .body = "none = zeros_like(a + b + c)\nreturn a + none, b + none, c + none"},
    {"_affine_axis(size, align_corners, like)", HIDDEN,
     .body =
         "return (2 * arange(size) - (size - 1)).to(like.dtype) / (max(size - 1, 1) if align_corners else size)"},
    {"_check_affine(theta, size)", HIDDEN, .build = fn_check_affine},
    {.signature = NULL},
};
