/* sparse.c - rows of torch/nn/modules/sparse.py. */
#include "layers.h"

extern const struct layer_row sparse_rows[];

const struct layer_row sparse_rows[] = {
    {
        .name = "Embedding",
        .args = {{"num_embeddings", ARG_INT, NULL},
                 {"embedding_dim", ARG_INT, NULL},
                 {"padding_idx", ARG_OPTION, "None"},
                 {"max_norm", ARG_OPTION, "None"},
                 {"norm_type", ARG_FLOAT, "2.0"},
                 {"scale_grad_by_freq", ARG_BOOL, "False"},
                 {"sparse", ARG_BOOL, "False"}},
        .params = {{"weight", "num_embeddings, embedding_dim", "normal_()", .zero_row = "padding_idx"}},
        .checks = {{"num_embeddings >= 0", "num_embeddings must not be negative, found {num_embeddings}"},
                   {"embedding_dim >= 0", "embedding_dim must not be negative, found {embedding_dim}"},
                   {"max_norm == None", "max_norm is not supported yet by this version of modc"},
                   {"True if padding_idx == None else padding_idx >= -num_embeddings and padding_idx < num_embeddings",
                    "padding_idx must be within num_embeddings, found {padding_idx}"}},
        .forward = "forward(input): return embedding(input, weight)",
        .extra_repr = "{num_embeddings}, {embedding_dim}"
                      "[padding_idx != None?, padding_idx={padding_idx % num_embeddings}]"
                      "[norm_type != 2?, norm_type={norm_type}][scale_grad_by_freq?, scale_grad_by_freq=True]"
                      "[sparse?, sparse=True]",
        .doc = "rows of a table at integer inputs",
    },
    {.name = NULL},
};
