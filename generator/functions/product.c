/* product.c - matrix products. */
#include "../graph.h"
#include "rows.h"

static struct ev fn_linear(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int swap[MAX_DIMS] = {1, 0};
    struct value *weight, *input;
    (void)count;

    if (!need_tensor(eval, "linear", &args[0]) || !need_tensor(eval, "linear", &args[1]))
        return BAD;
    input = args[0].tensor;
    weight = args[1].tensor;
    if (weight->ndim != 2) {
        diag_error(eval->cx, args[1].loc, "linear: the weight must have two dimensions, found %s",
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
        return BAD;
    }
    if (input->ndim == 0 || !dim_equal(input->dims[input->ndim - 1], weight->dims[1])) {
        diag_error(eval->cx, loc, "linear: the last dimension of %s must be %s, as the weight is %s",
                   shape_text(&eval->cx->arena, input->ndim, input->dims),
                   dim_text(&eval->cx->arena, weight->dims[1]),
                   shape_text(&eval->cx->arena, weight->ndim, weight->dims));
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
    weight = build_permute(eval, loc, weight, swap);
    return ev_tensor(loc,
                     build_matmul(eval, loc, input, weight, args[2].kind == EV_NONE ? NULL : args[2].tensor));
}

static struct ev fn_matmul(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "matmul", &args[0]) || !need_tensor(eval, "matmul", &args[1]))
        return BAD;
    return ev_tensor(loc, build_matmul(eval, loc, args[0].tensor, args[1].tensor, NULL));
}

extern const struct function_row product_functions[];

const struct function_row product_functions[] = {
    {"linear(input, weight, bias=None)", F, .build = fn_linear},
    {"matmul(input, other)", T | M, .build = fn_matmul},
    {"bmm(input, mat2)", T | M, .build = fn_matmul},
    {"mm(input, mat2)", T | M, .build = fn_matmul},
    {.signature = NULL},
};
