/* text.h - written by modc from text.yaml; change the spec, not this file. It is yours, under any
 * terms.
 *
 *     struct text_params params;
 *     struct text net;
 *     text_bind(&params, param_block, sizeof param_block);
 *     text_load(&params, "text.safetensors", MODC_STRICT, &report);
 *     text_pack(&params, packed_block, sizeof packed_block);
 *     text_init(&net, &params, workspace, sizeof workspace);
 *     text_forward(&net, batch, length, tokens, mask, logits, best);
 */
#ifndef MODC_MODEL_TEXT_H
#define MODC_MODEL_TEXT_H

#include "modc.h"

#if MODC_ABI != 5
#error "text.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_MAX_BATCH 8
#define TEXT_MAX_LENGTH 16

/* Modules, for hooks and tables. */
enum {
    TEXT_ROOT,
    TEXT_EMBED,
    TEXT_POSITION,
    TEXT_NORM,
    TEXT_HIDDEN,
    TEXT_HEAD,
    TEXT_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct text {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct text_params {
    struct modc_params base;
    struct { const float *weight; } embed; /* (100, 32) */
    struct { const float *weight; } position; /* (16, 32) */
    struct { const float *weight, *bias; } norm; /* (32), (32) */
    struct { const float *weight, *bias; } hidden; /* (64, 32), (64) */
    struct { const float *weight, *bias; } head; /* (4, 64), (4) */
};

#define TEXT_SCHEMA 0x8119a275d6619c95u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TEXT_PARAM_BYTES 24640 /* parameters and buffers in PyTorch's layout */
#define TEXT_PACKED_BYTES 8256 /* what text_pack makes of them for the kernels */
#define TEXT_WORKSPACE_BYTES 32768
#define TEXT_TRAIN_WORKSPACE_BYTES 32768
#define TEXT_FENCED_WORKSPACE_BYTES 35968
#define TEXT_TRAIN_FENCED_WORKSPACE_BYTES 35968

/* logits float32 (batch, 4), best float32 (batch, 1) from tokens int64 (batch, length), mask bool
 * (batch, length) */
enum modc_status text_forward(struct text *net, int batch, int length, const int64_t *tokens,
                              const bool *mask, float *logits, float *best);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model text_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(text)
    /* text_bind, text_load_bytes, text_save_bytes, text_pack, text_reset, text_changed, text_to,
     * text_get, text_named_parameters, text_named_buffers, text_init, text_train, text_eval,
     * text_seed, text_print */
MODC_HOSTED_FUNCTIONS(text)
    /* text_load, text_save, text_create, text_destroy */
MODC_HOOK_FUNCTIONS(text)
    /* text_register_forward_pre_hook, text_register_forward_hook, text_attach */

#ifdef __cplusplus
}
#endif
#endif
