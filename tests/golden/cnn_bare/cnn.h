/* cnn.h - written by modc from cnn_bare.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct cnn_params params;
 *     struct cnn net;
 *     cnn_bind(&params, param_block, sizeof param_block);
 *     cnn_load(&params, "cnn.safetensors", MODC_STRICT, &report);
 *     cnn_pack(&params, packed_block, sizeof packed_block);
 *     cnn_init(&net, &params, workspace, sizeof workspace);
 *     cnn_forward(&net, batch, image, output);
 */
#ifndef MODC_MODEL_CNN_H
#define MODC_MODEL_CNN_H

#include "modc.h"

#if MODC_ABI != 5
#error "cnn.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CNN_MAX_BATCH 64

/* Modules, for hooks and tables. */
enum {
    CNN_ROOT,
    CNN_0,
    CNN_1,
    CNN_2,
    CNN_3,
    CNN_4,
    CNN_5,
    CNN_6,
    CNN_7,
    CNN_8,
    CNN_9,
    CNN_10,
    CNN_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct cnn {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct cnn_params {
    struct modc_params base;
    struct { const float *weight, *bias; } _0; /* (16, 1, 3, 3), (16) */
    struct { const float *weight, *bias; /* (16), (16) */
             float *running_mean, *running_var; /* (16), (16); written in training mode */
             int64_t *num_batches_tracked; } _1; /* (); written in training mode */
    struct { const float *weight, *bias; } _4; /* (32, 16, 3, 3), (32) */
    struct { const float *weight, *bias; /* (32), (32) */
             float *running_mean, *running_var; /* (32), (32); written in training mode */
             int64_t *num_batches_tracked; } _5; /* (); written in training mode */
    struct { const float *weight, *bias; } _10; /* (10, 128), (10) */
};

#define CNN_SCHEMA 0xaca29b10808ce7c9u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define CNN_PARAM_BYTES 25280 /* parameters and buffers in PyTorch's layout */
#define CNN_PACKED_BYTES 79680 /* what cnn_pack makes of them for the kernels */
#define CNN_WORKSPACE_BYTES 645888
#define CNN_TRAIN_WORKSPACE_BYTES 327680

/* output float32 (batch, 10) from image float32 (batch, 1, 8, 8) */
enum modc_status cnn_forward(struct cnn *net, int batch, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model cnn_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(cnn)
    /* cnn_bind, cnn_load_bytes, cnn_save_bytes, cnn_pack, cnn_reset, cnn_changed, cnn_to,
     * cnn_get, cnn_named_parameters, cnn_named_buffers, cnn_init, cnn_train, cnn_eval, cnn_seed,
     * cnn_print */
MODC_HOSTED_FUNCTIONS(cnn)
    /* cnn_load, cnn_save, cnn_create, cnn_destroy */

#ifdef __cplusplus
}
#endif
#endif
