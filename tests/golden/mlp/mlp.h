/* mlp.h - written by modc from mlp.yaml; change the spec, not this file. It is yours, under any
 * terms.
 *
 *     struct mlp_params params;
 *     struct mlp net;
 *     mlp_bind(&params, param_block, sizeof param_block);
 *     mlp_load(&params, "mlp.safetensors", MODC_STRICT, &report);
 *     mlp_pack(&params, packed_block, sizeof packed_block);
 *     mlp_init(&net, &params, workspace, sizeof workspace);
 *     mlp_forward(&net, batch, image, output);
 */
#ifndef MODC_MODEL_MLP_H
#define MODC_MODEL_MLP_H

#include "modc.h"

#if MODC_ABI != 5
#error "mlp.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MLP_MAX_BATCH 64

/* Modules, for hooks and tables. */
enum {
    MLP_ROOT,
    MLP_0,
    MLP_1,
    MLP_2,
    MLP_3,
    MLP_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct mlp {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct mlp_params {
    struct modc_params base;
    struct { const float *weight, *bias; } _1; /* (32, 64), (32) */
    struct { const float *weight, *bias; } _3; /* (10, 32), (10) */
};

#define MLP_SCHEMA 0xf7bbe1a76082ad4au /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define MLP_PARAM_BYTES 9664 /* parameters and buffers in PyTorch's layout */
#define MLP_PACKED_BYTES 10368 /* what mlp_pack makes of them for the kernels */
#define MLP_WORKSPACE_BYTES 8192
#define MLP_TRAIN_WORKSPACE_BYTES 8192
#define MLP_FENCED_WORKSPACE_BYTES 32768
#define MLP_TRAIN_FENCED_WORKSPACE_BYTES 32768

/* output float32 (batch, 10) from image float32 (batch, 1, 8, 8) */
enum modc_status mlp_forward(struct mlp *net, int batch, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model mlp_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(mlp)
    /* mlp_bind, mlp_load_bytes, mlp_save_bytes, mlp_pack, mlp_reset, mlp_changed, mlp_to,
     * mlp_get, mlp_named_parameters, mlp_named_buffers, mlp_init, mlp_train, mlp_eval, mlp_seed,
     * mlp_print */
MODC_HOSTED_FUNCTIONS(mlp)
    /* mlp_load, mlp_save, mlp_create, mlp_destroy */
MODC_HOOK_FUNCTIONS(mlp)
    /* mlp_register_forward_pre_hook, mlp_register_forward_hook, mlp_attach */

#ifdef __cplusplus
}
#endif
#endif
