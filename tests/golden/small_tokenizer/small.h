/* small.h - written by modc from small_tokenizer.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 *     struct small_params params;
 *     struct small net;
 *     small_bind(&params, param_block, sizeof param_block);
 *     small_load(&params, "small.safetensors", MODC_STRICT, &report);
 *     small_pack(&params, packed_block, sizeof packed_block);
 *     small_init(&net, &params, workspace, sizeof workspace);
 *     small_forward(&net, tokens, ids, output);
 */
#ifndef MODC_MODEL_SMALL_H
#define MODC_MODEL_SMALL_H

#include "modc.h"
#include "modc_tokenizer.h"

#if MODC_ABI != 5
#error "small.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SMALL_MAX_TOKENS 8

/* Modules, for hooks and tables. */
enum {
    SMALL_ROOT,
    SMALL_WORDS,
    SMALL_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct small {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct small_params {
    struct modc_params base;
    struct { const float *weight; } words; /* (10, 4) */
};

#define SMALL_SCHEMA 0x216b7d9828d0cda6u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define SMALL_PARAM_BYTES 192 /* parameters and buffers in PyTorch's layout */
#define SMALL_PACKED_BYTES 64 /* what small_pack makes of them for the kernels */
#define SMALL_WORKSPACE_BYTES 64
#define SMALL_TRAIN_WORKSPACE_BYTES 64

/* output float32 (tokens, 4) from ids int64 (tokens) */
enum modc_status small_forward(struct small *net, int tokens, const int64_t *ids, float *output);

/* Text to ids of tokens and back (small_tokenizer.c, modc_tokenizer.h): BPE,
 * small_tokenizer.json. */
extern const struct modc_tokenizer small_tokenizer;

#define SMALL_TOKENIZER_VOCABULARY 10
#define SMALL_TOKENIZER_UNK 0
#define SMALL_TOKENIZER_TEXT 34 /* bytes of text that a token completes at most */
/* Of workspace, for a text of so many bytes. */
#define SMALL_TOKENIZER_BYTES(bytes) ((size_t)(bytes)*159 + 1203)

/* small_encode_text, small_decode_text, small_decoder_init, small_token_id, small_token_text; see
 * modc_tokenizer.h. */
MODC_TOKENIZER_FUNCTIONS(small)

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model small_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(small)
    /* small_bind, small_load_bytes, small_save_bytes, small_pack, small_reset, small_changed,
     * small_to, small_get, small_named_parameters, small_named_buffers, small_init, small_train,
     * small_eval, small_seed, small_print */
MODC_HOSTED_FUNCTIONS(small)
    /* small_load, small_save, small_create, small_destroy */

#ifdef __cplusplus
}
#endif
#endif
