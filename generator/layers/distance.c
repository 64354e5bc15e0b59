/* distance.c - rows of torch/nn/modules/distance.py. */
#include "layers/layers.h"

extern const struct layer_row distance_rows[];

const struct layer_row distance_rows[] = {
    {
        .name = "PairwiseDistance",
        .args = {{"p", ARG_FLOAT, "2.0"}, {"eps", ARG_FLOAT, "1e-6"}, {"keepdim", ARG_BOOL, "False"}},
        .forward = "forward(x1, x2): return pairwise_distance(x1, x2, p, eps, keepdim)",
        .doc = "norm of x1 - x2 + eps along the last dimension",
    },
    {
        .name = "CosineSimilarity",
        .args = {{"dim", ARG_INT, "1"}, {"eps", ARG_FLOAT, "1e-8"}},
        .forward = "forward(x1, x2): return cosine_similarity(x1, x2, dim, eps)",
        .doc = "cosine of the angle between x1 and x2 along dim",
    },
    {.name = NULL},
};
