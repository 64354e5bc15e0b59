/* product.c - matrix products. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* `value` broadcasts to the shape of `out` without making it larger. */
static bool fits_into(struct eval *eval, const struct value *value, const struct value *out, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    int ndim = out->ndim;
    bool fits;

    memcpy(dims, out->dims, sizeof dims);
    fits = value->ndim <= out->ndim && dims_broadcast(eval->cx, dims, &ndim, value);
    for (int i = 0; fits && i < ndim; i++)
        fits = dim_equal(dims[i], out->dims[i]);
    if (!fits)
        diag_error(eval->cx, loc, "linear: the bias %s does not fit %s",
                   shape_text(arena, value->ndim, value->dims), shape_text(arena, out->ndim, out->dims));
    return fits;
}

static struct ev fn_linear(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    int swap[MAX_DIMS] = {1, 0};
    struct value *weight, *input, *bias;
    const struct dim *width;
    struct ev product;
    (void)count;

    if (!need_tensor(eval, "linear", &args[0]) || !need_tensor(eval, "linear", &args[1]))
        return BAD;
    input = args[0].tensor;
    weight = args[1].tensor;
    if (weight->ndim != 2 && (weight->ndim != 1 || args[2].kind != EV_NONE)) {
        diag_error(eval->cx, args[1].loc, "linear: the weight must have two dimensions, found %s",
                   shape_text(arena, weight->ndim, weight->dims));
        return BAD;
    }
    width = weight->dims[weight->ndim - 1];
    if (input->ndim == 0 || !dim_equal(input->dims[input->ndim - 1], width)) {
        diag_error(eval->cx, loc, "linear: the last dimension of %s must be %s, as the weight is %s",
                   shape_text(arena, input->ndim, input->dims), dim_text(arena, width),
                   shape_text(arena, weight->ndim, weight->dims));
        return BAD;
    }
    if (args[2].kind != EV_NONE && !need_tensor(eval, "linear", &args[2]))
        return BAD;
    if (input->dtype != weight->dtype) {
        diag_error(eval->cx, loc, "linear: the input is %s, the weight is %s", dtype_rows[input->dtype].name,
                   dtype_rows[weight->dtype].name);
        diag_hint(eval->cx, "convert the input first, with .to(torch.%s)", dtype_rows[weight->dtype].name);
        return BAD;
    }
    if (weight->ndim == 1)
        return ev_tensor(loc, build_matmul(eval, loc, "linear", input, weight, NULL));
    bias = args[2].kind == EV_NONE ? NULL : args[2].tensor;
    if (!bias || (bias->ndim == 1 && dim_equal(bias->dims[0], weight->dims[0]))) {
        struct value *y = int8_linear(eval, loc, input, weight, bias);

        if (y)
            return ev_tensor(loc, y);
    }
    weight = build_permute(eval, loc, weight, swap);
    if (!weight)
        return BAD;
    if (!bias || (bias->ndim == 1 && dim_equal(bias->dims[0], weight->dims[1])))
        return ev_tensor(loc, build_matmul(eval, loc, "linear", input, weight, bias));
    product = ev_tensor(
        loc, build_matmul(eval, loc, "linear", input, weight, NULL)); /* a bias that broadcasts to it */
    if (product.kind == EV_BAD || !fits_into(eval, bias, product.tensor, loc))
        return BAD;
    return build_binary(eval, loc, PRIM_ADD, "add", &product, &args[2]);
}

/* The shapes of a bilinear form: x1 (*, i), x2 (*, j), weight (o, i, j), bias (o). */
static struct ev fn_check_bilinear(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *weight = args[2].tensor, *bias = args[3].tensor;
    const struct value *x[2] = {args[0].tensor, args[1].tensor};

    for (int i = 0; i < count; i++)
        if ((i < 3 || args[i].kind != EV_NONE) && !need_tensor(eval, "bilinear", &args[i]))
            return BAD;
    if (weight->ndim != 3) {
        diag_error(eval->cx, loc, "bilinear(): the weight must have three dimensions, found %s",
                   shape_text(arena, weight->ndim, weight->dims));
        return BAD;
    }
    if (x[0]->ndim != x[1]->ndim || x[0]->ndim == 0) {
        diag_error(eval->cx, loc, "bilinear(): input dimensions do not match: got %d and %d", x[0]->ndim,
                   x[1]->ndim);
        return BAD;
    }
    for (int i = 0; i < x[0]->ndim - 1; i++) {
        if (!dim_equal(x[0]->dims[i], x[1]->dims[i])) {
            diag_error(eval->cx, loc,
                       "bilinear(): input batch dimensions do not match at dim %d: got %s and %s", i,
                       dim_text(arena, x[0]->dims[i]), dim_text(arena, x[1]->dims[i]));
            return BAD;
        }
    }
    for (int i = 0; i < 2; i++) {
        const struct dim *size = x[i]->dims[x[i]->ndim - 1];

        if (!dim_equal(size, weight->dims[1 + i])) {
            diag_error(eval->cx, loc,
                       "bilinear(): input%d size does not match weight size: got %s but expected %s", i + 1,
                       dim_text(arena, size), dim_text(arena, weight->dims[1 + i]));
            return BAD;
        }
    }
    if (bias && (bias->ndim != 1 || !dim_equal(bias->dims[0], weight->dims[0]))) {
        diag_error(eval->cx, loc, "bilinear(): bias size does not match weight size: got %s but expected %s",
                   shape_text(arena, bias->ndim, bias->dims), dim_text(arena, weight->dims[0]));
        return BAD;
    }
    return ev_none(loc);
}

static struct ev fn_matmul(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "matmul", &args[0]) || !need_tensor(eval, "matmul", &args[1]))
        return BAD;
    return ev_tensor(loc, build_matmul(eval, loc, "matmul", args[0].tensor, args[1].tensor, NULL));
}

extern const struct function_row product_functions[];

const struct function_row product_functions[] = {
    {"linear(input, weight, bias=None)", FUNCTIONAL, .build = fn_linear},
    /* x1 . weight gives (*, o, j) */
    {"bilinear(input1, input2, weight, bias=None)", FUNCTIONAL | TORCH,
     .body =
         "_check_bilinear(input1, input2, weight, bias)\n"
         "o, i, j = weight.shape\n"
         "each = (input1 @ weight.permute(1, 0, 2).reshape(i, o * j)).reshape(input1.shape[:-1] + (o, j))\n"
         "y = (each * input2[..., None, :]).sum(-1)\n"
         "return y if bias is None else y + bias"},
    {"_check_bilinear(input1, input2, weight, bias)", HIDDEN, .build = fn_check_bilinear},
    {"matmul(input, other)", TORCH | METHOD, .build = fn_matmul},
    {"bmm(input, mat2)", TORCH | METHOD, .body = "return _check_dims(input, 3, 3) @ _check_dims(mat2, 3, 3)"},
    {"mm(input, mat2)", TORCH | METHOD, .body = "return _check_dims(input, 2, 2) @ _check_dims(mat2, 2, 2)"},
    {"mv(input, vec)", TORCH | METHOD, .body = "return _check_dims(input, 2, 2) @ _check_dims(vec, 1, 1)"},
    {"dot(input, tensor)", TORCH, .body = "return _check_dims(input, 1, 1) @ _check_dims(tensor, 1, 1)"},
    {"dot(input, tensor)", METHOD, .body = "return torch.dot(input, tensor)"},
    {"vdot(input, other)", TORCH | METHOD, .body = "return torch.dot(input, other)"},
    {"outer(input, vec2)", TORCH | METHOD,
     .body = "return _check_dims(input, 1, 1)[:, None] * _check_dims(vec2, 1, 1)"},
    {"ger(input, vec2)", TORCH | METHOD, .body = "return input.outer(vec2)"},
    {"addmm(input, mat1, mat2, beta=1, alpha=1)", TORCH | METHOD,
     .body = "return _added(input, mat1.mm(mat2), beta, alpha)"},
    {"addmv(input, mat, vec, beta=1, alpha=1)", TORCH | METHOD,
     .body = "return _added(input, mat.mv(vec), beta, alpha)"},
    {"addr(input, vec1, vec2, beta=1, alpha=1)", TORCH | METHOD,
     .body = "return _added(input, vec1.outer(vec2), beta, alpha)"},
    {"baddbmm(input, batch1, batch2, beta=1, alpha=1)", TORCH | METHOD,
     .body = "return _added(input, batch1.bmm(batch2), beta, alpha)"},
    {"addbmm(input, batch1, batch2, beta=1, alpha=1)", TORCH | METHOD,
     .body = "return _added(input, batch1.bmm(batch2).sum(0), beta, alpha)"},
    /* what is multiplied by 0 is left out, NaN and all */
    {"_added(input, product, beta, alpha)", HIDDEN,
     .body =
         "x = product if alpha == 1 else product * alpha\n"
         "return ((_beside(x, input) if _saves() and x.is_floating_point() else x) if beta == 0 else (input if beta == 1 else input * beta).expand(x.shape) + x)"},
    {.signature = NULL},
};
