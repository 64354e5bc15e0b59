/* choose.c - choosing among elements. */
#include "../graph.h"
#include "rows.h"

static struct ev fn_where(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "where", &args[0]))
        return BAD;
    if (args[0].tensor->dtype != DTYPE_BOOL) {
        diag_error(eval->cx, args[0].loc,
                   "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                   dtype_rows[args[0].tensor->dtype].name);
        return BAD;
    }
    for (int i = 1; i <= 2; i++) {
        if (args[i].kind != EV_TENSOR && !ev_is_number(&args[i])) {
            diag_error(eval->cx, args[i].loc, "where takes tensors and numbers, found %s",
                       ev_kind_text(&args[i]));
            return BAD;
        }
    }
    return build_where(eval, loc, args[0].tensor, &args[1], &args[2]);
}

extern const struct function_row choose_functions[];

const struct function_row choose_functions[] = {
    {"where(condition, input, other)", T, .build = fn_where},
    {"masked_fill(input, mask, value)", T | M, .body = "return where(mask, value, input)"},
    {"clamp(input, min=None, max=None)", T | M,
     .body = "x = input if min == None else maximum(input, min)\n"
             "return x if max == None else minimum(x, max)"},
    {.signature = NULL},
};
