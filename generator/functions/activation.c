/* activation.c - activations that are more than a line of elementwise.c. */
#include <string.h>

#include "../graph.h"
#include "rows.h"

static struct ev fn_gelu(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const char *approximate = args[1].kind == EV_STRING ? args[1].text : "";
    (void)count;

    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        diag_error(eval->cx, args[1].loc, "approximate argument must be either none or tanh, found %s",
                   ev_text(eval, &args[1]));
        return BAD;
    }
    return build_elementwise(eval, loc, elementwise_find(approximate[0] == 'n' ? "gelu" : "gelu_tanh"), args,
                             1);
}

static struct ev fn_check_float(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "input", &args[0]))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype)) {
        diag_error(eval->cx, loc, "%s is not defined for %s", outer(eval, "this"),
                   dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert first, as x.float()");
        return BAD;
    }
    return ev_none(loc);
}

extern const struct function_row activation_functions[];

const struct function_row activation_functions[] = {
    {"gelu(input, approximate='none')", F, .build = fn_gelu},
    /* without dim: as _get_softmax_dim of torch.nn.functional chooses it */
    {"softmax(input, dim=None, dtype=None)", F | T | M,
     .body =
         "axis = (0 if input.ndim == 0 or input.ndim == 1 or input.ndim == 3 else 1) if dim == None else dim\n"
         "x = input if dtype == None else input.to(dtype)\n"
         "_check_float(x)\n"
         "e = exp(x - x.amax(axis, keepdim=True))\n"
         "return e / e.sum(axis, keepdim=True)"},
    {"log_softmax(input, dim=None, dtype=None)", F | T | M,
     .body =
         "axis = (0 if input.ndim == 0 or input.ndim == 1 or input.ndim == 3 else 1) if dim == None else dim\n"
         "z = input if dtype == None else input.to(dtype)\n"
         "_check_float(z)\n"
         "x = z - z.amax(axis, keepdim=True)\n"
         "return x - log(exp(x).sum(axis, keepdim=True))"},
    {"_check_float(input)", H, .build = fn_check_float},
    {.signature = NULL},
};
