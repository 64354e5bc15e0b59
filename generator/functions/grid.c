/* grid.c - images sampled at places that a grid names, as a spatial transformer or a flow of pixels needs it: grid_sample and
 * affine_grid.
 *
 * Along each axis a place is made of taps: one (nearest), two (bilinear) or four (bicubic), with their weights, of which those
 * outside of the image are 0, and what lies there is not looked at. All combinations of them are gathered at once. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* mode and padding_mode. */
static bool check_words(struct eval *eval, const struct ev *mode, const struct ev *padding)
{
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"}, *const paddings[] = {"zeros",
                                                                                                "border",
                                                                                                "reflection"};
    bool known = false, padded = false;

    for (int i = 0; i < COUNT(modes); i++) {
        known |= mode->kind == EV_STRING && strcmp(mode->text, modes[i]) == 0;
        padded |= padding->kind == EV_STRING && strcmp(padding->text, paddings[i]) == 0;
    }
    if (!known) {
        diag_error(eval->cx, mode->loc, "grid_sample: there is no mode %s", ev_text(eval, mode));
        diag_hint(eval->cx, "there are 'bilinear', 'nearest' and 'bicubic'");
    } else if (!padded) {
        diag_error(eval->cx, padding->loc, "grid_sample: there is no padding mode %s",
                   ev_text(eval, padding));
        diag_hint(eval->cx, "there are 'zeros', 'border' and 'reflection'");
    }
    return known && padded;
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

/* _taken(x, index): the elements of the last dimension at an index that is inside, of x's other dimensions. */
static struct ev fn_taken(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x = args[0].tensor;
    (void)count;

    return ev_tensor(
        loc, build_gather_inside(eval, loc, outer(eval, "taken"), x, x->ndim - 1, args[1].tensor, true));
}

extern const struct function_row grid_functions[];

const struct function_row grid_functions[] = {
    {"grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None)", FUNCTIONAL,
     .body = "_check_grid(input, grid, mode, padding_mode)\n"
             "corners = False if align_corners is None else align_corners\n"
             "sizes = input.shape[2:]\n"
             "places = grid.reshape((grid.shape[0], -1, input.ndim - 2))\n"
             "x = _grid_axis(places[..., 0], sizes[-1], mode, padding_mode, corners)\n"
             "y = _grid_axis(places[..., 1], sizes[-2], mode, padding_mode, corners)\n"
             "taps = _grid_product(y, x, sizes[-1])\n"
             "taps = taps if input.ndim == 4 else _grid_product(_grid_axis(places[..., 2], sizes[0], mode,"
             " padding_mode, corners), taps, sizes[1] * sizes[2])\n"
             "return _grid_sum(input, taps[0], taps[1], taps[2], grid.shape[1:-1])"},
    /* Taps of two axes: where they are, their weights, which are inside; those of the other axis lie `step` apart. */
    {"_grid_product(a, b, step)", HIDDEN,
     .body = "return ((a[0][..., None] * step + b[0][..., None, :]).flatten(-2),"
             " (a[1][..., None] * b[1][..., None, :]).flatten(-2),"
             " (a[2][..., None] & b[2][..., None, :]).flatten(-2))"},
    {"_grid_sum(input, at, weight, inside, shape)", HIDDEN,
     .body = "n, c, points, count = input.shape[0], input.shape[1], at.shape[1], at.shape[2]\n"
             "index = at.reshape((n, 1, points * count)).expand(n, c, points * count)\n"
             "values = _taken(input.flatten(2), index).reshape((n, c, points, count))\n"
             "held = where(inside[:, None], values, 0)\n"
             "held = held * weight[:, None]\n"
             "return held.sum(-1).reshape((n, c) + shape)"},
    {"_grid_axis(place, size, mode, padding_mode, align_corners)", HIDDEN,
     .body =
         "at = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2\n"
         "cubic = mode == 'bicubic'\n"
         "at = at if cubic else _grid_pad(at, size, padding_mode, align_corners)\n"
         "first = torch.round(at).detach() if mode == 'nearest' else torch.floor(at).detach()\n"
         "part = at - first\n"
         "weight = (torch.ones_like(at)[..., None] if mode == 'nearest' else _grid_cubic(part) if cubic else"
         " stack((1 - part, part), -1))\n"
         "count = weight.shape[-1]\n"
         "cells = first[..., None] + arange(count) - (1 if cubic else 0)\n"
         "cells = _grid_pad(cells, size, padding_mode, align_corners).detach() if cubic else cells\n"
         "inside = (cells >= 0) & (cells <= size - 1)\n"
         "return where(inside, cells, 0).long(), weight, inside"},
    /* Keys' kernel with A = -0.75. */
    {"_grid_cubic(part)", HIDDEN,
     .body = "a, b, rest = part + 1, 2 - part, 1 - part\n"
             "return stack((((-0.75 * a + 3.75) * a - 6) * a + 3, (1.25 * part - 2.25) * part * part + 1,"
             " (1.25 * rest - 2.25) * rest * rest + 1, ((-0.75 * b + 3.75) * b - 6) * b + 3), -1)"},
    {"_grid_pad(at, size, padding_mode, align_corners)", HIDDEN,
     .body = "at = _grid_reflect(at, size, align_corners) if padding_mode == 'reflection' else at\n"
             "return at if padding_mode == 'zeros' else where(at.isnan(), 0, torch.clamp(at, 0, size - 1))"},
    {"_grid_reflect(at, size, align_corners)", HIDDEN,
     .body = "low = 0 if align_corners else -0.5\n"
             "span = max(size - 1, 1) if align_corners else size\n"
             "off = abs(at - low)\n"
             "extra = torch.fmod(off, span)\n"
             "return where(torch.floor(off.detach() / span) % 2 == 0, extra + low, span - extra + low)"},
    {"_check_grid(input, grid, mode, padding_mode)", HIDDEN, .build = fn_check_grid},
    {"_taken(input, index)", HIDDEN, .build = fn_taken},

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
