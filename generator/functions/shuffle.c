/* shuffle.c - elements between channels and places: pixel_shuffle, channel_shuffle. */
#include "functions/rows.h"
#include "graph/graph.h"

/* A positive number that divides what is `axis` dimensions from the end; `what` names it. */
static struct ev fn_check_parts(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor;
    const struct dim *quotient;
    int64_t axis, divisor, least;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_int(eval, "axis", &args[1], &axis) ||
        !need_int(eval, "factor", &args[2], &divisor) || !need_int(eval, "least", &args[3], &least))
        return BAD;
    if (x->ndim < least) {
        diag_error(eval->cx, loc, "%s expects input to have at least %d dimensions, but got %s",
                   outer(eval, "this"), (int)least, shape_text(arena, x->ndim, x->dims));
        return BAD;
    }
    axis = axis < 0 ? axis + x->ndim : axis;
    if (divisor > 0 && dim_divides(arena, x->dims[axis], dim_const(arena, divisor), &quotient))
        return ev_none(loc);
    diag_error(eval->cx, loc,
               divisor <= 0 ? "%s expects a positive %s, but got %s"
                            : "%s expects the input to be divisible by %s, but %s is not divisible by %lld",
               outer(eval, "this"), args[4].text,
               divisor <= 0 ? ev_text(eval, &args[2])
                            : arena_format(arena, "dimension %lld of %s", (long long)axis,
                                           shape_text(arena, x->ndim, x->dims)),
               (long long)divisor);
    return BAD;
}

extern const struct function_row shuffle_functions[];

const struct function_row shuffle_functions[] = {
    /* (*, c * r * r, h, w): the parts of a channel lie r by r around each place */
    {"pixel_shuffle(input, upscale_factor)", FUNCTIONAL | TORCH,
     .body =
         "r = upscale_factor\n"
         "_check_parts(input, -3, r if r <= 0 else r * r, 3, 'upscale_factor')\n"
         "n = input.ndim\n"
         "lead, (c, h, w) = (input.shape[:-3], (input.shape[-3] // (r * r), input.shape[-2], input.shape[-1]))\n"
         "x = input.reshape(lead + (c, r, r, h, w))\n"
         "return x.permute(tuple(range(n - 3)) + (n - 3, n, n - 2, n + 1, n - 1)).reshape(lead + (c, h * r, w * r))"},
    {"pixel_unshuffle(input, downscale_factor)", FUNCTIONAL | TORCH,
     .body =
         "r = downscale_factor\n"
         "_check_parts(input, -2, r, 3, 'downscale_factor')\n"
         "_check_parts(input, -1, r, 3, 'downscale_factor')\n"
         "n = input.ndim\n"
         "lead, (c, h, w) = (input.shape[:-3], (input.shape[-3], input.shape[-2] // r, input.shape[-1] // r))\n"
         "x = input.reshape(lead + (c, h, r, w, r))\n"
         "return x.permute(tuple(range(n - 3)) + (n - 3, n - 1, n + 1, n - 2, n)).reshape(lead + (c * r * r, h, w))"},
    {"channel_shuffle(input, groups)", FUNCTIONAL | TORCH,
     .body = "_check_parts(input, 1, groups, 3, 'groups')\n"
             "x = input.reshape((input.shape[0], groups, input.shape[1] // groups) + input.shape[2:])\n"
             "return x.transpose(1, 2).reshape(input.shape)"},
    {"_check_parts(input, axis, factor, least, what)", HIDDEN, .build = fn_check_parts},
    {.signature = NULL},
};
