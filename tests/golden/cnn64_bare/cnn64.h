/* cnn64.h - written by modc from cnn64_bare.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 *     struct cnn64_params params;
 *     struct cnn64 net;
 *     cnn64_bind(&params, param_block, sizeof param_block);
 *     cnn64_load(&params, "cnn64.safetensors", MODC_STRICT, &report);
 *     cnn64_pack(&params, packed_block, sizeof packed_block);
 *     cnn64_init(&net, &params, workspace, sizeof workspace);
 *     cnn64_forward(&net, batch, image, output);
 */
#ifndef MODC_MODEL_CNN64_H
#define MODC_MODEL_CNN64_H

#include "modc.h"

#if MODC_ABI != 5
#error "cnn64.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CNN64_MAX_BATCH 64

/* Modules, for hooks and tables. */
enum {
    CNN64_ROOT,
    CNN64_0,
    CNN64_1,
    CNN64_2,
    CNN64_3,
    CNN64_4,
    CNN64_5,
    CNN64_6,
    CNN64_7,
    CNN64_8,
    CNN64_9,
    CNN64_10,
    CNN64_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct cnn64 {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct cnn64_params {
    struct modc_params base;
    struct { const double *weight, *bias; } _0; /* (16, 1, 3, 3), (16) */
    struct { const double *weight, *bias; /* (16), (16) */
             double *running_mean, *running_var; /* (16), (16); written in training mode */
             int64_t *num_batches_tracked; } _1; /* (); written in training mode */
    struct { const double *weight, *bias; } _4; /* (32, 16, 3, 3), (32) */
    struct { const double *weight, *bias; /* (32), (32) */
             double *running_mean, *running_var; /* (32), (32); written in training mode */
             int64_t *num_batches_tracked; } _5; /* (); written in training mode */
    struct { const double *weight, *bias; } _10; /* (10, 128), (10) */
};

#define CNN64_SCHEMA 0x33c09690bef6af71u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define CNN64_PARAM_BYTES 50432 /* parameters and buffers in PyTorch's layout */
#define CNN64_PACKED_BYTES 48704 /* what cnn64_pack makes of them for the kernels */
#define CNN64_WORKSPACE_BYTES 655360
#define CNN64_TRAIN_WORKSPACE_BYTES 655360

/* output float64 (batch, 10) from image float64 (batch, 1, 8, 8) */
enum modc_status cnn64_forward(struct cnn64 *net, int batch, const double *image, double *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model cnn64_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(cnn64)
    /* cnn64_bind, cnn64_load_bytes, cnn64_save_bytes, cnn64_pack, cnn64_reset, cnn64_changed,
     * cnn64_to, cnn64_get, cnn64_named_parameters, cnn64_named_buffers, cnn64_init, cnn64_train,
     * cnn64_eval, cnn64_seed, cnn64_print */
MODC_HOSTED_FUNCTIONS(cnn64)
    /* cnn64_load, cnn64_save, cnn64_create, cnn64_destroy */

#ifdef __cplusplus
}
#endif
#endif
