/* tied.h - written by modc from tied_bare.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct tied_params params;
 *     struct tied net;
 *     tied_bind(&params, param_block, sizeof param_block);
 *     tied_load(&params, "tied.safetensors", MODC_STRICT, &report);
 *     tied_pack(&params, packed_block, sizeof packed_block);
 *     tied_init(&net, &params, workspace, sizeof workspace);
 *     tied_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_TIED_H
#define MODC_MODEL_TIED_H

#include "modc.h"

#if MODC_ABI != 5
#error "tied.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TIED_MAX_BATCH 16

/* Modules, for hooks and tables. */
enum {
    TIED_ROOT,
    TIED_EMBED,
    TIED_ACT,
    TIED_HEAD,
    TIED_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct tied {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct tied_params {
    struct modc_params base;
    struct { const float *weight; } embed; /* (6, 6) */
    struct { const float *weight; /* (6, 6); always embed.weight */
             const float *bias; } head; /* (6) */
};

#define TIED_SCHEMA 0xb100a876b85ef0e1u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TIED_PARAM_BYTES 256 /* parameters and buffers in PyTorch's layout */
#define TIED_PACKED_BYTES 512 /* what tied_pack makes of them for the kernels */
#define TIED_WORKSPACE_BYTES 384
#define TIED_TRAIN_WORKSPACE_BYTES 384

/* output float32 (batch, 6) from x float32 (batch, 6) */
enum modc_status tied_forward(struct tied *net, int batch, const float *x, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model tied_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(tied)
    /* tied_bind, tied_load_bytes, tied_save_bytes, tied_pack, tied_reset, tied_changed, tied_to,
     * tied_get, tied_named_parameters, tied_named_buffers, tied_init, tied_train, tied_eval,
     * tied_seed, tied_print */
MODC_HOSTED_FUNCTIONS(tied)
    /* tied_load, tied_save, tied_create, tied_destroy */

#ifdef __cplusplus
}
#endif
#endif
