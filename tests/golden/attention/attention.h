/* attention.h - written by modc from attention.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 *     struct attention_params params;
 *     struct attention net;
 *     attention_bind(&params, param_block, sizeof param_block);
 *     attention_load(&params, "attention.safetensors", MODC_STRICT, &report);
 *     attention_pack(&params, packed_block, sizeof packed_block);
 *     attention_init(&net, &params, workspace, sizeof workspace);
 *     attention_forward(&net, tokens, x, output);
 */
#ifndef MODC_MODEL_ATTENTION_H
#define MODC_MODEL_ATTENTION_H

#include "modc.h"

#if MODC_ABI != 5
#error "attention.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ATTENTION_MAX_TOKENS 200

/* Modules, for hooks and tables. */
enum {
    ATTENTION_ROOT,
    ATTENTION_QKV,
    ATTENTION_OUT,
    ATTENTION_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct attention {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct attention_params {
    struct modc_params base;
    struct { const float *weight, *bias; } qkv; /* (72, 24), (72) */
    struct { const float *weight, *bias; } out; /* (24, 24), (24) */
};

#define ATTENTION_SCHEMA 0x94755393fb59e231u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define ATTENTION_PARAM_BYTES 9664 /* parameters and buffers in PyTorch's layout */
#define ATTENTION_PACKED_BYTES 11264 /* what attention_pack makes of them for the kernels */
#define ATTENTION_WORKSPACE_BYTES 98432
#define ATTENTION_TRAIN_WORKSPACE_BYTES 98432

/* output float32 (tokens, 24) from x float32 (tokens, 24) */
enum modc_status attention_forward(struct attention *net, int tokens, const float *x,
                                   float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model attention_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(attention)
    /* attention_bind, attention_load_bytes, attention_save_bytes, attention_pack,
     * attention_reset, attention_changed, attention_to, attention_get,
     * attention_named_parameters, attention_named_buffers, attention_init, attention_train,
     * attention_eval, attention_seed, attention_print */
MODC_HOSTED_FUNCTIONS(attention)
    /* attention_load, attention_save, attention_create, attention_destroy */

#ifdef __cplusplus
}
#endif
#endif
