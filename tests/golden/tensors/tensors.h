/* tensors.h - written by modc from tensors.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct tensors_params params;
 *     struct tensors net;
 *     tensors_bind(&params, param_block, sizeof param_block);
 *     tensors_load(&params, "tensors.safetensors", MODC_STRICT, &report);
 *     tensors_pack(&params, packed_block, sizeof packed_block);
 *     tensors_init(&net, &params, workspace, sizeof workspace);
 *     tensors_forward(&net, batch, tokens, x, y, count, mask, gram, merged, even, total, many,
 *     peak, spread, parity);
 */
#ifndef MODC_MODEL_TENSORS_H
#define MODC_MODEL_TENSORS_H

#include "modc.h"

#if MODC_ABI != 5
#error "tensors.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TENSORS_MAX_BATCH 6
#define TENSORS_MAX_TOKENS 10

/* Modules, for hooks and tables. */
enum {
    TENSORS_ROOT,
    TENSORS_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct tensors {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct tensors_params {
    struct modc_params base;
};

#define TENSORS_SCHEMA 0xcbf29ce484222325u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TENSORS_PARAM_BYTES 64 /* parameters and buffers in PyTorch's layout */
#define TENSORS_PACKED_BYTES 64 /* what tensors_pack makes of them for the kernels */
#define TENSORS_WORKSPACE_BYTES 6976
#define TENSORS_TRAIN_WORKSPACE_BYTES 6976
#define TENSORS_FENCED_WORKSPACE_BYTES 11584
#define TENSORS_TRAIN_FENCED_WORKSPACE_BYTES 11584

/* gram float32 (8, 8), merged float32 (batch, tokens, 8), even float32 (batch, (tokens + 1) // 2,
 * 3), total int64 (batch), many bool (batch, tokens), peak float32 (8), spread float32 (batch,
 * tokens, 1), parity int64 (batch, tokens) from x float32 (batch, tokens, 8), y float32 (batch, 1,
 * 8), count int64 (batch, tokens), mask bool (batch, tokens) */
enum modc_status tensors_forward(struct tensors *net, int batch, int tokens, const float *x,
                                 const float *y, const int64_t *count, const bool *mask,
                                 float *gram, float *merged, float *even, int64_t *total,
                                 bool *many, float *peak, float *spread, int64_t *parity);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model tensors_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(tensors)
    /* tensors_bind, tensors_load_bytes, tensors_save_bytes, tensors_pack, tensors_reset,
     * tensors_changed, tensors_to, tensors_get, tensors_named_parameters, tensors_named_buffers,
     * tensors_init, tensors_train, tensors_eval, tensors_seed, tensors_print */
MODC_HOSTED_FUNCTIONS(tensors)
    /* tensors_load, tensors_save, tensors_create, tensors_destroy */
MODC_HOOK_FUNCTIONS(tensors)
    /* tensors_register_forward_pre_hook, tensors_register_forward_hook, tensors_attach */

#ifdef __cplusplus
}
#endif
#endif
