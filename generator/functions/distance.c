/* distance.c - how long tensors are, and how far from each other. */
#include "functions/rows.h"
#include "graph/graph.h"

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
    {.signature = NULL},
};
