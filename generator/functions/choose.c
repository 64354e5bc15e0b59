/* choose.c - choosing among elements. */
#include <math.h>

#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_where(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *condition;
    (void)count;

    if (!need_tensor(eval, "where", &args[0]))
        return BAD;
    condition = args[0].tensor;
    if (condition->dtype != DTYPE_BOOL && condition->dtype != DTYPE_UINT8) {
        diag_error(eval->cx, args[0].loc,
                   "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                   dtype_rows[condition->dtype].name);
        return BAD;
    }
    if (args[1].kind == EV_NONE && args[2].kind == EV_NONE) {
        diag_error(eval->cx, loc, "where of a condition alone would give a shape that depends on its values");
        diag_hint(eval->cx, "where(condition, x, y) keeps the shape");
        return BAD;
    }
    for (int i = 1; i <= 2; i++) {
        if (args[i].kind != EV_TENSOR && !ev_is_number(&args[i])) {
            diag_error(eval->cx, args[i].kind == EV_NONE ? loc : args[i].loc,
                       "where takes tensors and numbers, found %s", ev_kind_text(&args[i]));
            return BAD;
        }
    }
    condition = build_cast(eval, loc, condition, DTYPE_BOOL);
    return condition ? build_where(eval, loc, condition, &args[1], &args[2]) : BAD;
}

/* A number as an element of that type: truncated, where PyTorch takes it. */
static bool number_in(struct eval *eval, struct ev *number, enum dtype dtype)
{
    double real;

    if (number->kind == EV_FLOAT && dtype_is_int(dtype)) {
        if (!ev_get_number(number, &real) || !(fabs(real) < 0x1p63)) {
            diag_error(eval->cx, number->loc, "%s does not fit the tensor's type %s", ev_text(eval, number),
                       dtype_rows[dtype].name);
            return false;
        }
        *number = ev_int(eval, number->loc, (int64_t)real);
    }
    if (dtype == DTYPE_BOOL && ev_get_number(number, &real))
        *number = ev_bool(number->loc, real != 0);
    return build_number_fits(eval, number, dtype);
}

static struct ev fn_masked_fill(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev value = args[2];
    enum dtype dtype;
    (void)count;

    if (!need_tensor(eval, "masked_fill", &args[0]) || !need_tensor(eval, "masked_fill", &args[1]))
        return BAD;
    dtype = args[0].tensor->dtype;
    if (args[1].tensor->dtype != DTYPE_BOOL) {
        diag_error(eval->cx, args[1].loc,
                   "masked_fill only supports boolean masks, but got mask with dtype %s",
                   dtype_rows[args[1].tensor->dtype].name);
        return BAD;
    }
    if (ev_is_number(&value)) {
        if (!number_in(eval, &value, dtype))
            return BAD;
    } else if (value.kind == EV_TENSOR && value.tensor->ndim == 0) {
        value = ev_tensor(value.loc, build_cast(eval, loc, value.tensor, dtype));
    } else {
        diag_error(eval->cx, value.loc, "masked_fill takes a number or a 0-dimensional tensor, found %s",
                   ev_text(eval, &value));
        return BAD;
    }
    return value.kind == EV_BAD ? value : build_where(eval, loc, args[1].tensor, &value, &args[0]);
}

/* note [bounds]
 * A bound that is a number is no further away than the type goes, which holds for none else: uint8 at most 300 stays as it
 * is, where 300 as a uint8 would be 44. */
static bool bound_in(struct eval *eval, struct ev *bound, enum dtype dtype)
{
    int64_t integer, high = dtype == DTYPE_UINT8 ? 255 : INT64_MAX >> (64 - 8 * dtype_rows[dtype].bytes);
    int64_t low = dtype == DTYPE_UINT8 ? 0 : -high - 1;

    if (bound->kind == EV_NONE || bound->kind == EV_TENSOR)
        return true;
    if (!ev_is_number(bound)) {
        diag_error(eval->cx, bound->loc, "%s takes numbers or tensors as bounds, found %s",
                   outer(eval, "clamp"), ev_kind_text(bound));
        return false;
    }
    if (dtype_is_int(dtype) && ev_get_int(bound, &integer))
        *bound = ev_int(eval, bound->loc, integer < low ? low : integer > high ? high : integer);
    return true;
}

static struct ev fn_clamp(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const lines[] = {"_maximum", "_minimum"};
    const struct ev *operands[3] = {&args[0]};
    int given = 1;
    enum dtype dtype;
    struct ev out;
    (void)count;

    if (!need_tensor(eval, "clamp", &args[0]))
        return BAD;
    for (int i = 1; i <= 2; i++)
        if (args[i].kind != EV_NONE)
            operands[given++] = &args[i];
    if (given == 1) {
        diag_error(eval->cx, loc, "%s: at least one of 'min' or 'max' must not be None",
                   outer(eval, "clamp"));
        return BAD;
    }
    dtype = build_dtype(eval, operands,
                        given); /* of both bounds: -1 is no uint8, and need not be where the other is 0.5 */
    if (!bound_in(eval, &args[1], dtype) || !bound_in(eval, &args[2], dtype))
        return BAD;
    out = ev_tensor(loc, build_cast(eval, loc, args[0].tensor, dtype));
    for (int i = 0; i < 2 && out.kind != EV_BAD; i++)
        if (args[i + 1].kind != EV_NONE)
            out = build_elementwise(eval, loc, elementwise_find(lines[i] + (args[i + 1].kind == EV_TENSOR)),
                                    (struct ev[]){out, args[i + 1]}, 2);
    return out;
}

extern const struct function_row choose_functions[];

const struct function_row choose_functions[] = {
    {"where(condition, input=None, other=None)", TORCH, .build = fn_where},
    {"where(input, condition, other)", METHOD, .body = "return torch.where(condition, input, other)"},
    {"masked_fill(input, mask, value)", TORCH | METHOD, .build = fn_masked_fill},
    {"clamp(input, min=None, max=None)", TORCH | METHOD, .build = fn_clamp},
    {"clip(input, min=None, max=None)", TORCH | METHOD, .body = "return input.clamp(min, max)"},
    {"clamp_min(input, min)", TORCH | METHOD, .body = "return input.clamp(min)"},
    {"clamp_max(input, max)", TORCH | METHOD, .body = "return input.clamp(None, max)"},
    {.signature = NULL},
};
