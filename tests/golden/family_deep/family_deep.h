/* family_deep.h - written by modc from family_deep.yaml; change the spec, not this file. It is
 * yours, under any terms.
 *
 *     struct family_deep_params params;
 *     struct family_deep net;
 *     family_deep_bind(&params, param_block, sizeof param_block);
 *     family_deep_load(&params, "family_deep.safetensors", MODC_STRICT, &report);
 *     family_deep_pack(&params, packed_block, sizeof packed_block);
 *     family_deep_init(&net, &params, workspace, sizeof workspace);
 *     family_deep_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_FAMILY_DEEP_H
#define MODC_MODEL_FAMILY_DEEP_H

#include "modc.h"

#if MODC_ABI != 5
#error "family_deep.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FAMILY_DEEP_MAX_BATCH 6

/* Modules, for hooks and tables. */
enum {
    FAMILY_DEEP_ROOT,
    FAMILY_DEEP_BLOCKS,
    FAMILY_DEEP_BLOCKS_0, FAMILY_DEEP_BLOCKS_0_NORM, FAMILY_DEEP_BLOCKS_0_UP,
    FAMILY_DEEP_BLOCKS_0_ACT, FAMILY_DEEP_BLOCKS_0_DOWN,
    FAMILY_DEEP_BLOCKS_1, FAMILY_DEEP_BLOCKS_1_NORM, FAMILY_DEEP_BLOCKS_1_UP,
    FAMILY_DEEP_BLOCKS_1_ACT, FAMILY_DEEP_BLOCKS_1_DOWN,
    FAMILY_DEEP_BLOCKS_2, FAMILY_DEEP_BLOCKS_2_NORM, FAMILY_DEEP_BLOCKS_2_UP,
    FAMILY_DEEP_BLOCKS_2_ACT, FAMILY_DEEP_BLOCKS_2_DOWN,
    FAMILY_DEEP_HEAD,
    FAMILY_DEEP_HEAD_0,
    FAMILY_DEEP_HEAD_1,
    FAMILY_DEEP_HEAD_2,
    FAMILY_DEEP_HEAD_LAST,
    FAMILY_DEEP_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct family_deep {
    struct modc_context base;
};

/* Block(8, 2) */
struct family_deep_blocks_0_block {
    struct { const float *weight, *bias; } norm; /* (8), (8) */
    struct { const float *weight, *bias; } up; /* (16, 8), (16) */
    struct { const float *weight, *bias; } down; /* (8, 16), (8) */
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct family_deep_params {
    struct modc_params base;
    struct {
        struct family_deep_blocks_0_block _0;
        struct {
            struct { const float *weight, *bias; } up; /* (16, 8), (16) */
            struct { const float *weight, *bias; } down; /* (8, 16), (8) */
        } _1;
        struct family_deep_blocks_0_block _2;
    } blocks;
    struct {
        struct { const float *weight, *bias; } _0; /* (16, 8), (16) */
        struct { const float *weight, *bias; } _2; /* (5, 16), (5) */
        struct { const float *weight; } last; /* (5, 5) */
    } head;
};

#define FAMILY_DEEP_SCHEMA 0xda0d95ba0d9df390u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FAMILY_DEEP_PARAM_BYTES 4800 /* parameters and buffers in PyTorch's layout */
#define FAMILY_DEEP_PACKED_BYTES 5696 /* what family_deep_pack makes of them for the kernels */
#define FAMILY_DEEP_WORKSPACE_BYTES 960
#define FAMILY_DEEP_TRAIN_WORKSPACE_BYTES 960
#define FAMILY_DEEP_PROBABILITIES_WORKSPACE_BYTES 960
#define FAMILY_DEEP_PROBABILITIES_TRAIN_WORKSPACE_BYTES 960

/* output float32 (batch, 5) from x float32 (batch, 8) */
enum modc_status family_deep_forward(struct family_deep *net, int batch, const float *x,
                                     float *output);

/* output float32 (batch, 5) from x float32 (batch, 8) */
enum modc_status family_deep_probabilities(struct family_deep *net, int batch, const float *x,
                                           float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model family_deep_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(family_deep)
    /* family_deep_bind, family_deep_load_bytes, family_deep_save_bytes, family_deep_pack,
     * family_deep_reset, family_deep_changed, family_deep_to, family_deep_get,
     * family_deep_named_parameters, family_deep_named_buffers, family_deep_init,
     * family_deep_train, family_deep_eval, family_deep_seed, family_deep_print */
MODC_HOSTED_FUNCTIONS(family_deep)
    /* family_deep_load, family_deep_save, family_deep_create, family_deep_destroy */

#ifdef __cplusplus
}
#endif
#endif
