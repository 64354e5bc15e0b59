/* fused.h - written by modc from fused.yaml; change the spec, not this file. It is yours, under any
 * terms.
 *
 *     struct fused_params params;
 *     struct fused net;
 *     fused_bind(&params, param_block, sizeof param_block);
 *     fused_load(&params, "fused.safetensors", MODC_STRICT, &report);
 *     fused_pack(&params, packed_block, sizeof packed_block);
 *     fused_init(&net, &params, workspace, sizeof workspace);
 *     fused_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_FUSED_H
#define MODC_MODEL_FUSED_H

#include "modc_optim.h"

#if MODC_ABI != 5
#error "fused.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FUSED_MAX_BATCH 8

/* Modules, for hooks and tables. */
enum {
    FUSED_ROOT,
    FUSED_0,
    FUSED_1,
    FUSED_2,
    FUSED_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct fused {
    struct modc_context base;
    const void *saved_inputs[2]; /* of the last call that keeps for backward */
    int saved_sizes[1];
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct fused_params {
    struct modc_params base;
    struct { float *weight, *bias; } _0; /* (16, 4), (16) */
    struct { float *weight, *bias; } _2; /* (3, 16), (3) */
};

/* Gradients of parameters, in the order of modc_optimizer_update. */
enum {
    FUSED_GRADIENT_0_WEIGHT, FUSED_GRADIENT_0_BIAS,
    FUSED_GRADIENT_2_WEIGHT, FUSED_GRADIENT_2_BIAS,
    FUSED_GRADIENTS
};

#define FUSED_SCHEMA 0x596e54b4347e9f88u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FUSED_PARAM_BYTES 576 /* parameters and buffers in PyTorch's layout */
#define FUSED_PACKED_BYTES 512 /* what fused_pack makes of them for the kernels */
#define FUSED_GRADIENT_BYTES 64 /* which parameters are trained: their gradients are not kept */
#define FUSED_WORKSPACE_BYTES 512
#define FUSED_TRAIN_WORKSPACE_BYTES 512
#define FUSED_LOSS_WORKSPACE_BYTES 768
#define FUSED_LOSS_TRAIN_WORKSPACE_BYTES 768
#define FUSED_LOSS_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */
#define FUSED_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */

#define FUSED_OPTIMIZER_BYTES 1152 /* states of SGD, averages */
#define FUSED_TRAINING_BYTES (FUSED_GRADIENT_BYTES + FUSED_OPTIMIZER_BYTES)

/* The optimiser of a struct fused_training; see modc_optim.h. */
struct fused_optimizer {
    struct modc_optimizer base;
    struct modc_group groups[1];
    double steps[4];
};

extern const struct modc_optimizer_table fused_optimizer_table;

/* The optimiser of a context's parameters. */
struct fused_training {
    struct modc_training base;
    struct fused_optimizer optimizer;
};

/* output float32 (batch, 3) from x float32 (batch, 4) */
enum modc_status fused_forward(struct fused *net, int batch, const float *x, float *output);

/* loss float32 () from x float32 (batch, 4), target int64 (batch) */
enum modc_status fused_loss(struct fused *net, int batch, const float *x, const int64_t *target,
                            float *loss);

/* One step of training: the loss and its gradients, each of which updates its parameter as soon as
 * it is complete and is not kept. Inputs without elements are MODC_SIZE. After an error neither
 * parameters nor optimiser have changed, but for MODC_NONFINITE: then those parameters alone whose
 * gradients are NaN or infinite have not. */
enum modc_status fused_train_step(struct fused_training *training, int batch, const float *x,
                                  const int64_t *target, float *loss);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model fused_model;

/* The runtime's functions for this model, as modc.h and modc_optim.h have them: */
MODC_FUNCTIONS(fused)
    /* fused_bind, fused_load_bytes, fused_save_bytes, fused_pack, fused_reset, fused_changed,
     * fused_to, fused_get, fused_named_parameters, fused_named_buffers, fused_init, fused_train,
     * fused_eval, fused_seed, fused_print */
MODC_HOSTED_FUNCTIONS(fused)
    /* fused_load, fused_save, fused_create, fused_destroy */
MODC_OPTIMIZER_FUNCTIONS(fused)
    /* fused_training_init, fused_training_save_bytes, fused_training_load_bytes */
MODC_OPTIMIZER_FILE_FUNCTIONS(fused)
    /* fused_training_save, fused_training_load */
MODC_BACKWARD_FUNCTIONS(fused)
    /* fused_set_grad_enabled, fused_requires_grad_ */

#ifdef __cplusplus
}
#endif
#endif
