/* distance.c - how long tensors are, and how far from each other. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_check_mode(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const modes[] = {"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
                                        "donot_use_mm_for_euclid_dist"};
    (void)count;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (args[0].kind == EV_STRING && strcmp(args[0].text, modes[i]) == 0)
            return ev_none(loc);
    diag_error(eval->cx, args[0].loc, "%s is not a valid value for compute_mode", ev_text(eval, &args[0]));
    return BAD;
}

/* x1, if it is one of two batches of vectors of one length. */
static struct ev fn_check_pairs_of(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor, *y = args[1].tensor;
    (void)count;

    if (!need_tensor(eval, "cdist", &args[0]) || !need_tensor(eval, "cdist", &args[1]))
        return BAD;
    if (x->ndim >= 2 && y->ndim >= 2 && dtype_is_float(x->dtype) && dtype_is_float(y->dtype) &&
        dim_equal(x->dims[x->ndim - 1], y->dims[y->ndim - 1]))
        return args[0];
    diag_error(
        eval->cx, loc,
        "cdist takes floating tensors of at least two dimensions, the last of one length, found %s of %s and "
        "%s of %s",
        shape_text(arena, x->ndim, x->dims), dtype_rows[x->dtype].name, shape_text(arena, y->ndim, y->dims),
        dtype_rows[y->dtype].name);
    return BAD;
}

static struct ev fn_check_order(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    double p;
    (void)count;

    if (ev_get_number(&args[0], &p) && p >= 0)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s only supports non-negative p values, found %s",
               outer(eval, "cdist"), ev_text(eval, &args[0]));
    return BAD;
}

extern const struct function_row distance_functions[];

const struct function_row distance_functions[] = {
    {"normalize(input, p=2.0, dim=1, eps=1e-12)", FUNCTIONAL,
     .body = "return input / input.norm(p, dim, keepdim=True).clamp_min(eps)"},
    {"cosine_similarity(x1, x2, dim=1, eps=1e-8)", FUNCTIONAL | TORCH,
     .body = "_check_float(_met(x1, x2))\n"
             "x, y = torch.broadcast_tensors(_as_float(x1), _as_float(x2))\n"
             "a = x / _norm_from(x.norm(2, dim, keepdim=True), eps)\n"
             "b = y / _norm_from(y.norm(2, dim, keepdim=True), eps)\n"
             "return (a * b).sum(dim)"},
    /* the gradient is that of the norm */
    {"_norm_from(norm, eps)", HIDDEN,
     .body = "return _instead(norm, norm.clamp_min(eps)) if _saves() else norm.clamp_min(eps)"},
    {"pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False)", FUNCTIONAL | TORCH,
     .body = "return (x1 - x2 + eps).norm(p, -1, keepdim)"},
    {"cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary')", TORCH,
     .body = "_check_mode(compute_mode)\n"
             "x = _check_pairs_of(x1, x2)\n"
             "gap = x1[..., :, None, :] - x2[..., None, :, :]\n"
             "return _vector_norm(gap, _check_order(p), -1, False, None)"},
    {"_check_mode(compute_mode)", HIDDEN, .build = fn_check_mode},
    {"_check_pairs_of(x1, x2)", HIDDEN, .build = fn_check_pairs_of},
    {"_check_order(p)", HIDDEN, .build = fn_check_order},
    {"pdist(input, p=2.0)", FUNCTIONAL | TORCH,
     .body = "i = torch.triu_indices(_check_dims(input, 2, 2).shape[0], input.shape[0], 1)\n"
             "return _vector_norm(input[i[0]] - input[i[1]], _check_order(p), -1, False, None)"},
    {.signature = NULL},
};
