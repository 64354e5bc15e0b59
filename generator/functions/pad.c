/* pad.c - elements around a tensor, axis by axis: what stands there is views of the tensor itself, or one number. */
#include <math.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static const char *const mode_names[] = {"constant", "reflect", "replicate", "circular"};

static const struct dim *positive(struct arena *arena, const struct dim *dim)
{
    return dim_lower(dim) >= 0 ? dim : dim_const(arena, 0);
}

/* `length` elements of x from `start` on; backwards: down from it. */
static struct value *part(struct eval *eval, struct loc loc, struct value *x, int axis,
                          const struct dim *start, const struct dim *length, bool backwards)
{
    return build_slice(eval, loc, x, axis, start, dim_const(&eval->cx->arena, backwards ? -1 : 1), length);
}

/* `count` elements like the one element of x, or like `fill`. */
static struct value *repeated(struct eval *eval, struct loc loc, struct value *like, const struct value *x,
                              int axis, const struct dim *count)
{
    const struct dim *dims[MAX_DIMS];

    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = count;
    return build_expand(eval, loc, like, x->ndim, dims);
}

/* What stands in front of (or behind) the body of x, of which `skip` elements next to it are cropped with it. */
static struct value *side(struct eval *eval, struct loc loc, enum pad_mode mode, struct value *x,
                          struct value *body, int axis, const struct dim *count, const struct dim *skip,
                          bool front, struct value *fill)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *zero = dim_const(arena, 0), *length = x->dims[axis], *start;
    const struct dim *left = dim_sub(arena, count, skip);
    struct value *edge;

    switch (mode) {
    case PAD_CONSTANT:
        return repeated(eval, loc, fill, x, axis, left);
    case PAD_REFLECT:
        start = front ? count : dim_sub(arena, dim_sub(arena, length, dim_const(arena, 2)), skip);
        return part(eval, loc, x, axis, start, left, true);
    case PAD_REPLICATE:
        edge = part(eval, loc, x, axis, front ? zero : dim_sub(arena, length, one), one, false);
        return edge ? repeated(eval, loc, edge, x, axis, left) : NULL;
    case PAD_CIRCULAR:
        return part(eval, loc, body, axis, front ? dim_sub(arena, body->dims[axis], count) : zero, left,
                    false);
    }
    return NULL;
}

struct value *pad_axis(struct eval *eval, struct loc loc, enum pad_mode mode, struct value *x, int axis,
                       const struct dim *before, const struct dim *after, struct value *fill)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *zero = dim_const(arena, 0), *front = positive(arena, before),
                     *behind = positive(arena, after);
    const struct dim *first = dim_sub(arena, front, before); /* of the body */
    const struct dim *length = dim_sub(arena, dim_sub(arena, x->dims[axis], first),
                                       dim_sub(arena, behind, after));
    const struct dim *over = dim_upper(length) < 0 ? dim_sub(arena, zero, length)
                                                   : zero; /* cropped, beyond all of x */
    struct value *parts[3], *body = x;
    int count = 0;

    if (dim_upper(length) >= 0)
        body = part(eval, loc, x, axis, first, length, false);
    if (body && dim_upper(front) > 0)
        parts[count++] = side(eval, loc, mode, x, body, axis, front, over, true, fill);
    if (dim_upper(length) >= 0)
        parts[count++] = body;
    if (body && dim_upper(behind) > 0)
        parts[count++] = side(eval, loc, mode, x, body, axis, behind, over, false, fill);
    for (int i = 0; i < count; i++)
        if (!parts[i])
            return NULL;
    return build_concat(eval, loc, "pad", parts, count, axis);
}

/* ---- pad ----------------------------------------------------------------------------------------------------- */

static bool check_side(struct eval *eval, const struct ev *item)
{
    if (item->kind != EV_INT) {
        diag_error(eval->cx, item->loc, "pad takes integers, found %s", ev_text(eval, item));
        return false;
    }
    if (dim_lower(item->dim) >= 0 || dim_upper(item->dim) <= 0)
        return true;
    diag_error(eval->cx, item->loc, "pad: %s is below 0 for some sizes and above for others",
               dim_text(&eval->cx->arena, item->dim));
    return false;
}

/* Whether x has as many elements along the axis as the mode needs; a call with run-time sizes is asked, too. */
static bool check_axis(struct eval *eval, struct loc loc, enum pad_mode mode, const struct value *x, int axis,
                       const struct ev *before, const struct ev *after)
{
    struct arena *arena = &eval->cx->arena;
    const char *shape = shape_text(arena, x->ndim, x->dims);
    const struct dim *length = x->dims[axis],
                     *out = dim_add(arena, dim_add(arena, length, before->dim), after->dim);
    bool constant = mode == PAD_CONSTANT || mode == PAD_CIRCULAR;
    const struct dim *rest = dim_add(
        arena, length,
        dim_sub(arena, dim_add(arena, before->dim, after->dim),
                dim_add(arena, positive(arena, before->dim), positive(arena, after->dim))));
    const struct dim *need = constant ? rest : dim_sub(arena, out, dim_const(arena, 1));

    if (dim_upper(need) < 0) {
        diag_error(eval->cx, before->loc, "pad: (%s, %s) leaves nothing of dimension %d of %s",
                   dim_text(arena, before->dim), dim_text(arena, after->dim), axis, shape);
        return false;
    }
    build_need(eval, need);
    for (int i = 0; i < 2; i++) {
        const struct dim *pad = positive(arena, i == 0 ? before->dim : after->dim);

        need = mode == PAD_REFLECT     ? dim_sub(arena, dim_sub(arena, length, dim_const(arena, 1)), pad)
               : mode == PAD_CIRCULAR  ? dim_sub(arena, rest, pad)
               : mode == PAD_REPLICATE ? dim_sub(arena, length, dim_const(arena, 1))
                                       : pad;
        if (dim_upper(need) < 0) {
            diag_error(
                eval->cx, before->loc,
                mode == PAD_REFLECT
                    ? "Padding size should be less than the corresponding input dimension, but got: padding (%s, %s) "
                      "at dimension %d of input %s"
                : mode == PAD_CIRCULAR
                    ? "Padding value causes wrapping around more than once: (%s, %s) at dimension %d of input %s"
                    : "pad: there is no edge for (%s, %s) at dimension %d of input %s",
                dim_text(arena, before->dim), dim_text(arena, after->dim), axis, shape);
            return false;
        }
        build_need(eval, need);
    }
    (void)loc;
    return true;
}

struct value *pad_fill(struct eval *eval, struct loc loc, const struct ev *value, enum dtype dtype)
{
    struct ev number = value->kind == EV_NONE ? ev_int(eval, loc, 0) : *value;
    struct value *scalar;
    double known;

    if (!ev_is_number(&number)) {
        diag_error(eval->cx, value->loc, "pad: the value must be a number, found %s", ev_kind_text(value));
        return NULL;
    }
    if (ev_get_number(&number, &known) && dtype != DTYPE_BOOL) {
        double whole = trunc(known);
        bool fits = dtype_is_float(dtype)
                        ? isinf(known) || !isinf(dtype_round(dtype, known))
                        : fabs(whole) < 0x1p63 && (double)dtype_wrap(dtype, (int64_t)whole) == whole;

        if (!fits && !isnan(known)) {
            diag_error(eval->cx, value->loc, "pad: value cannot be converted to type %s without overflow",
                       dtype_rows[dtype].name);
            return NULL;
        }
    }
    scalar = build_scalar(eval, loc, &number);
    return scalar ? build_cast(eval, loc, scalar, dtype) : NULL;
}

static bool read_mode(struct eval *eval, const struct ev *arg, enum pad_mode *mode)
{
    for (int i = 0; arg->kind == EV_STRING && i < 4; i++) {
        if (strcmp(arg->text, mode_names[i]) == 0) {
            *mode = (enum pad_mode)i;
            return true;
        }
    }
    diag_error(eval->cx, arg->loc, "Unrecognised padding mode %s", ev_text(eval, arg));
    diag_hint(eval->cx, "there are 'constant', 'reflect', 'replicate' and 'circular'");
    return false;
}

/* The modes that look at x take it as a line, image or volume, batched or not. */
static bool check_mode(struct eval *eval, struct loc loc, enum pad_mode mode, const struct ev *args)
{
    const struct value *x = args[0].tensor;
    int sides = args[1].count;
    double number = 0;

    if (mode == PAD_CIRCULAR && sides >= 2 && sides <= 6 && x->ndim != sides / 2 + 1 &&
        x->ndim != sides / 2 + 2) {
        diag_error(eval->cx, loc, "expected %dD or %dD input (got %dD input)", sides / 2 + 1, sides / 2 + 2,
                   x->ndim);
        return false;
    }
    if (sides < 2 || sides > 6 || (x->ndim != sides / 2 + 1 && x->ndim != sides / 2 + 2)) {
        diag_error(eval->cx, args[1].loc, "Padding size %d is not supported for %dD input tensor.", sides,
                   x->ndim);
        diag_hint(eval->cx,
                  "mode '%s' pads the last one to three dimensions of a tensor that has one or two more",
                  mode_names[mode]);
        return false;
    }
    if (args[3].kind != EV_NONE && (!ev_get_number(&args[3], &number) || number != 0)) {
        diag_error(eval->cx, args[3].loc, "Padding mode \"%s\" doesn't take in value argument",
                   mode_names[mode]);
        return false;
    }
    if (mode != PAD_CIRCULAR && x->dtype == DTYPE_BOOL) {
        diag_error(eval->cx, loc, "pad: mode '%s' is not implemented for bool", mode_names[mode]);
        return false;
    }
    return true;
}

static struct ev fn_pad(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum pad_mode mode;
    struct value *x, *fill = NULL;
    (void)count;

    if (!need_tensor(eval, "pad", &args[0]) || !read_mode(eval, &args[2], &mode))
        return BAD;
    x = args[0].tensor;
    if (args[1].kind != EV_TUPLE) {
        diag_error(eval->cx, args[1].loc, "pad takes a tuple of integers, found %s", ev_text(eval, &args[1]));
        return BAD;
    }
    if (args[1].count % 2 != 0) {
        diag_error(eval->cx, args[1].loc, "Padding length must be divisible by 2, found %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    if (args[1].count > 2 * x->ndim) {
        diag_error(
            eval->cx, args[1].loc,
            "Padding length should be less than or equal to two times the input dimension but got padding length %d "
            "and input of dimension %d",
            args[1].count, x->ndim);
        return BAD;
    }
    if (mode != PAD_CONSTANT && !check_mode(eval, loc, mode, args))
        return BAD;
    if (mode == PAD_CONSTANT && !(fill = pad_fill(eval, loc, &args[3], x->dtype)))
        return BAD;
    for (int i = 0; i < args[1].count; i += 2) {
        const struct ev *sides = &args[1].items[i];

        if (!check_side(eval, &sides[0]) || !check_side(eval, &sides[1]) ||
            !check_axis(eval, loc, mode, args[0].tensor, args[0].tensor->ndim - 1 - i / 2, &sides[0],
                        &sides[1]))
            return BAD;
    }
    for (int i = 0; i < args[1].count && x; i += 2)
        x = pad_axis(eval, loc, mode, x, x->ndim - 1 - i / 2, args[1].items[i].dim, args[1].items[i + 1].dim,
                     fill);
    return ev_tensor(loc, x);
}

extern const struct function_row pad_functions[];

const struct function_row pad_functions[] = {
    {"pad(input, pad, mode='constant', value=None)", FUNCTIONAL, .build = fn_pad},
    {.signature = NULL},
};
