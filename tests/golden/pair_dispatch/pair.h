/* pair.h - written by modc from pair.yaml; change the spec, not this file. It is yours, under any
 * terms.
 *
 *     struct pair_params params;
 *     struct pair net;
 *     pair_bind(&params, param_block, sizeof param_block);
 *     pair_load(&params, "pair.safetensors", MODC_STRICT, &report);
 *     pair_pack(&params, packed_block, sizeof packed_block);
 *     pair_init(&net, &params, workspace, sizeof workspace);
 *     pair_forward(&net, batch, x, output_0, output_1);
 */
#ifndef MODC_MODEL_PAIR_H
#define MODC_MODEL_PAIR_H

#include "modc.h"

#if MODC_ABI != 5
#error "pair.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PAIR_MAX_BATCH 64

/* Modules, for hooks and tables. */
enum {
    PAIR_ROOT,
    PAIR_WIDE,
    PAIR_NARROW,
    PAIR_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct pair {
    struct modc_context base;
    struct modc_threading threading;
    const struct modc_isa *isa; /* what calls run on */
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct pair_params {
    struct modc_params base;
    struct { const float *weight, *bias; } wide; /* (512, 256), (512) */
    struct { const float *weight, *bias; } narrow; /* (8, 512), (8) */
};

#define PAIR_SCHEMA 0x377eeb0822536dbeu /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define PAIR_PARAM_BYTES 542784 /* parameters and buffers in PyTorch's layout */
#define PAIR_PACKED_BYTES 524352 /* what pair_pack makes of them for the kernels */
#define PAIR_WORKSPACE_BYTES 131072
#define PAIR_TRAIN_WORKSPACE_BYTES 131072

/* output_0 float32 (batch, 8), output_1 float32 (512) from x float32 (batch, 256) */
enum modc_status pair_forward(struct pair *net, int batch, const float *x, float *output_0,
                              float *output_1);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model pair_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(pair)
    /* pair_bind, pair_load_bytes, pair_save_bytes, pair_pack, pair_reset, pair_changed, pair_to,
     * pair_get, pair_named_parameters, pair_named_buffers, pair_init, pair_train, pair_eval,
     * pair_seed, pair_print */
MODC_HOSTED_FUNCTIONS(pair)
    /* pair_load, pair_save, pair_create, pair_destroy */
MODC_ISA_FUNCTIONS(pair)
    /* pair_isa, pair_set_isa */
MODC_THREAD_FUNCTIONS(pair)
    /* pair_set_executor, pair_set_threads */

#ifdef __cplusplus
}
#endif
#endif
