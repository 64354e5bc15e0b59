/* sparse.c - rows of torch/nn/modules/sparse.py. */
#include "layers/layers.h"

extern const struct layer_row sparse_rows[];

/* The table that both look rows up in. */
#define TABLE                                                                                                \
    .params = {{"weight", "num_embeddings, embedding_dim", "normal_()", .zero_row = "padding_idx"}},         \
    .checks = {                                                                                              \
        {"num_embeddings >= 0", "num_embeddings must not be negative, found {num_embeddings}"},              \
        {"embedding_dim >= 0", "embedding_dim must not be negative, found {embedding_dim}"},                 \
        {"True if padding_idx == None else padding_idx >= -num_embeddings and padding_idx < num_embeddings", \
         "padding_idx must be within num_embeddings, found {padding_idx}"}}

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
        TABLE,
        .forward =
            "forward(input): return embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)",
        .extra_repr =
            "{num_embeddings}, {embedding_dim}"
            "[padding_idx != None?, padding_idx={padding_idx % num_embeddings}]"
            "[max_norm != None?, max_norm={max_norm}][norm_type != 2?, norm_type={norm_type}][scale_grad_by_freq?, scale_grad_by_freq=True]"
            "[sparse?, sparse=True]",
        .doc = "rows of a table at integer inputs",
    },
    {
        .name = "EmbeddingBag",
        .args = {{"num_embeddings", ARG_INT, NULL},
                 {"embedding_dim", ARG_INT, NULL},
                 {"max_norm", ARG_OPTION, "None"},
                 {"norm_type", ARG_FLOAT, "2.0"},
                 {"scale_grad_by_freq", ARG_BOOL, "False"},
                 {"mode", ARG_STRING, "'mean'"},
                 {"sparse", ARG_BOOL, "False"},
                 {"include_last_offset", ARG_BOOL, "False", .keyword = true},
                 {"padding_idx", ARG_OPTION, "None", .keyword = true}},
        TABLE,
        .forward =
            "forward(input, offsets=None, per_sample_weights=None): return embedding_bag(input, weight, offsets, "
            "max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, "
            "padding_idx)",
        .extra_repr = "{num_embeddings}, {embedding_dim}[max_norm != None?, max_norm={max_norm}]"
                      "[norm_type != 2?, norm_type={norm_type}][scale_grad_by_freq?, scale_grad_by_freq=True]"
                      ", mode={mode!r}[padding_idx != None?, padding_idx={padding_idx % num_embeddings}]",
        .doc = "sums, means or maxima of bags of rows of a table",
    },
    {.name = NULL},
};
