/* transformer.c - rows of torch/nn/modules/transformer.py, and MultiheadAttention. */
#include "layers/layers.h"

extern const struct layer_row transformer_rows[];

#define LAYER_ARGS                                                                                           \
    {"d_model", ARG_INT, NULL}, {"nhead", ARG_INT, NULL}, {"dim_feedforward", ARG_INT, "2048"},              \
        {"dropout", ARG_FLOAT, "0.1"}, {"activation", ARG_CALLABLE, "F.relu"},                               \
        {"layer_norm_eps", ARG_FLOAT, "1e-5"}, {"batch_first", ARG_BOOL, "False"},                           \
        {"norm_first", ARG_BOOL, "False"},                                                                   \
    {                                                                                                        \
        "bias", ARG_BOOL, "True"                                                                             \
    }

#define LAYER_CHECKS                                                                                         \
    {                                                                                                        \
        {                                                                                                    \
            "_is_activation(activation)", "activation should be relu/gelu, not {activation}"                 \
        }                                                                                                    \
    }

#define ATTENTION(name)                                                                                      \
    {                                                                                                        \
        name, "MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)"                   \
    }

#define NORM(name)                                                                                           \
    {                                                                                                        \
        name, "LayerNorm(d_model, layer_norm_eps, bias=bias)"                                                \
    }

#define FEED_FORWARD                                                                                         \
    {"linear1", "Linear(d_model, dim_feedforward, bias)"}, {"dropout", "Dropout(dropout)"},                  \
    {                                                                                                        \
        "linear2", "Linear(dim_feedforward, d_model, bias)"                                                  \
    }

#define DROPOUT(name)                                                                                        \
    {                                                                                                        \
        name, "Dropout(dropout)"                                                                             \
    }

#define ACTIVATION                                                                                           \
    {                                                                                                        \
        "activation", "activation", .when = "_is_module(activation)"                                         \
    }

/* One of the blocks of a layer; behind: the dropout that ends it. */
#define ATTENTION_BLOCK(block, attention, memory, memories, behind)                                          \
    block "(x" memory ", attn_mask, key_padding_mask, is_causal=False):\n"                                   \
          "    x, weights = " attention "(x, " memories                                                      \
          ", attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, "                  \
          "need_weights=False)\n"                                                                            \
          "    return " behind "(x)"
#define FEED_FORWARD_BLOCK(function, behind)                                                                 \
    "_ff_block(x):\n"                                                                                        \
    "    x = linear2(dropout(" function "(linear1(x))))\n"                                                   \
    "    return " behind "(x)"

const struct layer_row transformer_rows[] = {
    {
        .name = "MultiheadAttention",
        .args = {{"embed_dim", ARG_INT, NULL},
                 {"num_heads", ARG_INT, NULL},
                 {"dropout", ARG_FLOAT, "0.0"},
                 {"bias", ARG_BOOL, "True"},
                 {"add_bias_kv", ARG_BOOL, "False"},
                 {"add_zero_attn", ARG_BOOL, "False"},
                 {"kdim", ARG_OPTION, "None"},
                 {"vdim", ARG_OPTION, "None"},
                 {"batch_first", ARG_BOOL, "False"}},
#define SEPARATE "(kdim or embed_dim) != embed_dim or (vdim or embed_dim) != embed_dim"
        .params = {{.name = "in_proj_weight",
                    .shape = "3 * embed_dim, embed_dim",
                    .init = "xavier_uniform_()",
                    .when = "not (" SEPARATE ")"},
                   {.name = "q_proj_weight",
                    .shape = "embed_dim, embed_dim",
                    .init = "xavier_uniform_()",
                    .when = SEPARATE},
                   {.name = "k_proj_weight",
                    .shape = "embed_dim, embed_dim if kdim is None else kdim",
                    .init = "xavier_uniform_()",
                    .when = SEPARATE},
                   {.name = "v_proj_weight",
                    .shape = "embed_dim, embed_dim if vdim is None else vdim",
                    .init = "xavier_uniform_()",
                    .when = SEPARATE},
                   {.name = "in_proj_bias", .shape = "3 * embed_dim", .init = "zeros_()", .when = "bias"},
                   {.name = "bias_k",
                    .shape = "1, 1, embed_dim",
                    .init = "xavier_normal_()",
                    .when = "add_bias_kv"},
                   {.name = "bias_v",
                    .shape = "1, 1, embed_dim",
                    .init = "xavier_normal_()",
                    .when = "add_bias_kv"}},
#undef SEPARATE
        .children = {{"out_proj", "Linear(embed_dim, embed_dim, bias)",
                      .class_name = "NonDynamicallyQuantizableLinear"}},
        .resets = {{"out_proj.bias", "zeros_()"}},
        .checks =
            {{"embed_dim > 0 and num_heads > 0",
              "embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
              "instead"},
             {"embed_dim % num_heads == 0",
              "embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"},
             {"kdim is None or kdim > 0", "kdim must be greater than 0, got {kdim}"},
             {"vdim is None or vdim > 0", "vdim must be greater than 0, got {vdim}"}},
        .forward =
            "forward(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, "
            "average_attn_weights=True, is_causal=False):\n"
            "    packed = in_proj_weight is not None\n"
            "    batched = _check_multihead(query, key, value, key_padding_mask, attn_mask, is_causal, embed_dim, "
            "num_heads, batch_first, packed)\n"
            "    weights = in_proj_weight.chunk(3) if packed else (q_proj_weight, k_proj_weight, v_proj_weight)\n"
            "    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)\n"
            "    q, k, v = _in_projection(query, key, value, in_proj_weight, in_proj_bias, weights, biases)\n"
            "    order = (1, 0, 2) if not batched else (0, 2, 1, 3) if batch_first else (1, 2, 0, 3)\n"
            "    back = (2, 0, 1, 3) if batched and not batch_first else order\n"
            "    q = q.unflatten(-1, (num_heads, -1)).permute(order)\n"
            "    k = _more_keys(k.unflatten(-1, (num_heads, -1)).permute(order), bias_k, add_zero_attn)\n"
            "    v = _more_keys(v.unflatten(-1, (num_heads, -1)).permute(order), bias_v, add_zero_attn)\n"
            "    causal = is_causal and key_padding_mask is None and not need_weights\n"
            "    more = (1 if add_bias_kv else 0) + (1 if add_zero_attn else 0)\n"
            "    mask = _attention_mask(q, None if causal else attn_mask, key_padding_mask, more)\n"
            "    p = dropout if self.training else 0.0\n"
            "    y, weights = (_attention_weighted(q, k, v, mask, p) if need_weights else"
            " (scaled_dot_product_attention(q, k, v, mask, p, causal), None))\n"
            "    y = linear(y.permute(back).flatten(-2), out_proj.weight, out_proj.bias)\n"
            "    return y, weights.mean(-3) if need_weights and average_attn_weights else weights",
        .doc = "attention of query to key and value, in heads; and its weights, or None",
    },
    {
        .name = "TransformerEncoderLayer",
        .args = {LAYER_ARGS},
        .children = {ATTENTION("self_attn"), FEED_FORWARD, NORM("norm1"), NORM("norm2"), DROPOUT("dropout1"),
                     DROPOUT("dropout2"), ACTIVATION},
        .checks = LAYER_CHECKS,
        .forward =
            "forward(src, src_mask=None, src_key_padding_mask=None, is_causal=False):\n"
            "    x = src\n"
            "    x = (x + self._sa_block(norm1(x), src_mask, src_key_padding_mask, is_causal) if norm_first else"
            " norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal)))\n"
            "    x = x + self._ff_block(norm2(x)) if norm_first else norm2(x + self._ff_block(x))\n"
            "    return x",
        .methods = {ATTENTION_BLOCK("_sa_block", "self_attn", "", "x, x", "dropout1"),
                    FEED_FORWARD_BLOCK("_activation(activation)", "dropout2")},
        .region = true,
        .doc = "self-attention and two linear layers, each around a residual and a norm",
    },
    {
        .name = "TransformerDecoderLayer",
        .args = {LAYER_ARGS},
        .children = {ATTENTION("self_attn"), ATTENTION("multihead_attn"), FEED_FORWARD, NORM("norm1"),
                     NORM("norm2"), NORM("norm3"), DROPOUT("dropout1"), DROPOUT("dropout2"),
                     DROPOUT("dropout3"), ACTIVATION},
        .checks = LAYER_CHECKS,
        .forward =
            "forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, "
            "memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):\n"
            "    x = tgt\n"
            "    x = (x + self._sa_block(norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal) if norm_first else"
            " norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)))\n"
            "    x = (x + self._mha_block(norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)"
            " if norm_first else"
            " norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)))\n"
            "    x = x + self._ff_block(norm3(x)) if norm_first else norm3(x + self._ff_block(x))\n"
            "    return x",
        .methods = {ATTENTION_BLOCK("_sa_block", "self_attn", "", "x, x", "dropout1"),
                    ATTENTION_BLOCK("_mha_block", "multihead_attn", ", mem", "mem, mem", "dropout2"),
                    FEED_FORWARD_BLOCK("_copied_activation(activation, self)", "dropout3")},
        .region = true,
        .doc = "TransformerEncoderLayer with attention to `memory` behind that to itself",
    },
    {
        .name = "TransformerEncoder",
        .args = {{"encoder_layer", ARG_MODULE, NULL},
                 {"num_layers", ARG_INT, NULL},
                 {"norm", ARG_MODULE, "None"},
                 {"enable_nested_tensor", ARG_BOOL, "True"},
                 {"mask_check", ARG_BOOL, "True"}},
        .children = {{"layers", "ModuleList(num_layers x encoder_layer)", .copies = true},
                     {"norm", "norm", .when = "norm is not None"}},
        .checks = {{"num_layers > 0", "num_layers must be greater than 0, got {num_layers}"}},
        .forward = "forward(src, mask=None, src_key_padding_mask=None, is_causal=None):\n"
                   "    length = src.shape[1 if src.ndim == 3 and layers[0].self_attn.batch_first else 0]\n"
                   "    causal = _is_causal_mask(mask, is_causal, length)\n"
                   "    output = _in_turn(layers)(src, src_mask=mask, is_causal=causal, "
                   "src_key_padding_mask=src_key_padding_mask)\n"
                   "    return output if norm is None else norm(output)",
        .doc = "copies of a layer in turn, and a norm",
    },
    {
        .name = "TransformerDecoder",
        .args = {{"decoder_layer", ARG_MODULE, NULL},
                 {"num_layers", ARG_INT, NULL},
                 {"norm", ARG_MODULE, "None"}},
        .children = {{"layers", "ModuleList(num_layers x decoder_layer)", .copies = true},
                     {"norm", "norm", .when = "norm is not None"}},
        .checks = {{"num_layers > 0", "num_layers must be greater than 0, got {num_layers}"}},
        .forward =
            "forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, "
            "memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):\n"
            "    length = tgt.shape[1 if tgt.ndim == 3 and layers[0].self_attn.batch_first else 0]\n"
            "    causal = _is_causal_mask(tgt_mask, tgt_is_causal, length)\n"
            "    output = _in_turn(layers)(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, "
            "tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, "
            "tgt_is_causal=causal, memory_is_causal=memory_is_causal)\n"
            "    return output if norm is None else norm(output)",
        .doc = "copies of a layer in turn, all with the same memory, and a norm",
    },
    {
        .name = "Transformer",
        .args = {{"d_model", ARG_INT, "512"},
                 {"nhead", ARG_INT, "8"},
                 {"num_encoder_layers", ARG_INT, "6"},
                 {"num_decoder_layers", ARG_INT, "6"},
                 {"dim_feedforward", ARG_INT, "2048"},
                 {"dropout", ARG_FLOAT, "0.1"},
                 {"activation", ARG_CALLABLE, "F.relu"},
                 {"custom_encoder", ARG_MODULE, "None"},
                 {"custom_decoder", ARG_MODULE, "None"},
                 {"layer_norm_eps", ARG_FLOAT, "1e-5"},
                 {"batch_first", ARG_BOOL, "False"},
                 {"norm_first", ARG_BOOL, "False"},
                 {"bias", ARG_BOOL, "True"}},
#define STACK(name, kind)                                                                                    \
    {name, "custom_" name, .when = "custom_" name " is not None"},                                           \
    {                                                                                                        \
        name,                                                                                                \
            "Transformer" kind "(Transformer" kind                                                           \
            "Layer(d_model, nhead, dim_feedforward, dropout, activation, "                                   \
            "layer_norm_eps, batch_first, norm_first, bias), num_" name "_layers, "                          \
            "LayerNorm(d_model, layer_norm_eps, bias=bias))",                                                \
            .when = "custom_" name " is None"                                                                \
    }
        .children = {STACK("encoder", "Encoder"), STACK("decoder", "Decoder")},
#undef STACK
        .resets = {{"*", "xavier_uniform_()", .least = 2}},
        .checks = LAYER_CHECKS,
        .forward =
            "forward(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, "
            "tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, "
            "memory_is_causal=False):\n"
            "    _check_transformer(src, tgt, d_model, batch_first)\n"
            "    memory = encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, "
            "is_causal=src_is_causal)\n"
            "    return decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, "
            "tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, "
            "tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)",
        .methods = {"generate_square_subsequent_mask(sz, device=None, dtype=None): "
                    "return nn.Transformer.generate_square_subsequent_mask(sz, device, dtype)"},
        .doc = "an encoder, and a decoder over what it gives",
    },
    {.name = NULL},
};
