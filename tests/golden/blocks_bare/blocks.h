/* blocks.h - written by modc from blocks_bare.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 *     struct blocks_params params;
 *     struct blocks net;
 *     blocks_bind(&params, param_block, sizeof param_block);
 *     blocks_load(&params, "blocks.safetensors", MODC_STRICT, &report);
 *     blocks_pack(&params, packed_block, sizeof packed_block);
 *     blocks_init(&net, &params, workspace, sizeof workspace);
 *     blocks_forward(&net, tokens, x, output);
 */
#ifndef MODC_MODEL_BLOCKS_H
#define MODC_MODEL_BLOCKS_H

#include "modc.h"

#if MODC_ABI != 5
#error "blocks.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BLOCKS_MAX_TOKENS 32

/* Modules, for hooks and tables. */
enum {
    BLOCKS_ROOT,
    BLOCKS_BLOCKS,
    BLOCKS_BLOCKS_0, BLOCKS_BLOCKS_0_NORM, BLOCKS_BLOCKS_0_UP, BLOCKS_BLOCKS_0_ACT,
    BLOCKS_BLOCKS_0_DOWN,
    BLOCKS_BLOCKS_1, BLOCKS_BLOCKS_1_NORM, BLOCKS_BLOCKS_1_UP, BLOCKS_BLOCKS_1_ACT,
    BLOCKS_BLOCKS_1_DOWN,
    BLOCKS_BLOCKS_2, BLOCKS_BLOCKS_2_NORM, BLOCKS_BLOCKS_2_UP, BLOCKS_BLOCKS_2_ACT,
    BLOCKS_BLOCKS_2_DOWN,
    BLOCKS_BLOCKS_3, BLOCKS_BLOCKS_3_NORM, BLOCKS_BLOCKS_3_UP, BLOCKS_BLOCKS_3_ACT,
    BLOCKS_BLOCKS_3_DOWN,
    BLOCKS_BLOCKS_4, BLOCKS_BLOCKS_4_NORM, BLOCKS_BLOCKS_4_UP, BLOCKS_BLOCKS_4_ACT,
    BLOCKS_BLOCKS_4_DOWN,
    BLOCKS_BLOCKS_5, BLOCKS_BLOCKS_5_NORM, BLOCKS_BLOCKS_5_UP, BLOCKS_BLOCKS_5_ACT,
    BLOCKS_BLOCKS_5_DOWN,
    BLOCKS_BLOCKS_6, BLOCKS_BLOCKS_6_NORM, BLOCKS_BLOCKS_6_UP, BLOCKS_BLOCKS_6_ACT,
    BLOCKS_BLOCKS_6_DOWN,
    BLOCKS_BLOCKS_7, BLOCKS_BLOCKS_7_NORM, BLOCKS_BLOCKS_7_UP, BLOCKS_BLOCKS_7_ACT,
    BLOCKS_BLOCKS_7_DOWN,
    BLOCKS_BLOCKS_8, BLOCKS_BLOCKS_8_NORM, BLOCKS_BLOCKS_8_UP, BLOCKS_BLOCKS_8_ACT,
    BLOCKS_BLOCKS_8_DOWN,
    BLOCKS_BLOCKS_9, BLOCKS_BLOCKS_9_NORM, BLOCKS_BLOCKS_9_UP, BLOCKS_BLOCKS_9_ACT,
    BLOCKS_BLOCKS_9_DOWN,
    BLOCKS_BLOCKS_10, BLOCKS_BLOCKS_10_NORM, BLOCKS_BLOCKS_10_UP, BLOCKS_BLOCKS_10_ACT,
    BLOCKS_BLOCKS_10_DOWN,
    BLOCKS_BLOCKS_11, BLOCKS_BLOCKS_11_NORM, BLOCKS_BLOCKS_11_UP, BLOCKS_BLOCKS_11_ACT,
    BLOCKS_BLOCKS_11_DOWN,
    BLOCKS_NORM,
    BLOCKS_HEAD,
    BLOCKS_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct blocks {
    struct modc_context base;
};

/* Block(64, 2) */
struct blocks_block {
    const float *scale; /* (64) */
    struct { const float *weight, *bias; } norm; /* (64), (64) */
    struct { const float *weight, *bias; } up; /* (128, 64), (128) */
    struct { const float *weight, *bias; } down; /* (64, 128), (64) */
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct blocks_params {
    struct modc_params base;
    struct blocks_block blocks[12];
    struct { const float *weight, *bias; } norm; /* (64), (64) */
    struct { const float *weight, *bias; } head; /* (8, 64), (8) */
};

#define BLOCKS_SCHEMA 0x69b51b94b0b4a221u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define BLOCKS_PARAM_BYTES 807488 /* parameters and buffers in PyTorch's layout */
#define BLOCKS_PACKED_BYTES 789568 /* what blocks_pack makes of them for the kernels */
#define BLOCKS_WORKSPACE_BYTES 40960
#define BLOCKS_TRAIN_WORKSPACE_BYTES 40960

/* output float32 (tokens, 8) from x float32 (tokens, 64) */
enum modc_status blocks_forward(struct blocks *net, int tokens, const float *x, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model blocks_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(blocks)
    /* blocks_bind, blocks_load_bytes, blocks_save_bytes, blocks_pack, blocks_reset,
     * blocks_changed, blocks_to, blocks_get, blocks_named_parameters, blocks_named_buffers,
     * blocks_init, blocks_train, blocks_eval, blocks_seed, blocks_print */
MODC_HOSTED_FUNCTIONS(blocks)
    /* blocks_load, blocks_save, blocks_create, blocks_destroy */

#ifdef __cplusplus
}
#endif
#endif
