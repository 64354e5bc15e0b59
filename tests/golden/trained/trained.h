/* trained.h - written by modc from trained.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct trained_params params;
 *     struct trained net;
 *     trained_bind(&params, param_block, sizeof param_block);
 *     trained_load(&params, "trained.safetensors", MODC_STRICT, &report);
 *     trained_pack(&params, packed_block, sizeof packed_block);
 *     trained_init(&net, &params, workspace, sizeof workspace);
 *     trained_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_TRAINED_H
#define MODC_MODEL_TRAINED_H

#include "modc_optim.h"

#if MODC_ABI != 5
#error "trained.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINED_MAX_BATCH 8

/* Modules, for hooks and tables. */
enum {
    TRAINED_ROOT,
    TRAINED_0,
    TRAINED_1,
    TRAINED_2,
    TRAINED_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct trained {
    struct modc_context base;
    const void *saved_inputs[2]; /* of the last call that keeps for backward */
    int saved_sizes[1];
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct trained_params {
    struct modc_params base;
    struct { float *weight, *bias; } _0; /* (16, 4), (16) */
    struct { float *weight, *bias; } _2; /* (3, 16), (3) */
};

/* Gradients of parameters, in the order of modc_gradient_at. */
enum {
    TRAINED_GRADIENT_0_WEIGHT,
    TRAINED_GRADIENT_2_WEIGHT, TRAINED_GRADIENT_2_BIAS,
    TRAINED_GRADIENTS
};

#define TRAINED_SCHEMA 0x596e54b4347e9f88u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TRAINED_PARAM_BYTES 576 /* parameters and buffers in PyTorch's layout */
#define TRAINED_PACKED_BYTES 512 /* what trained_pack makes of them for the kernels */
#define TRAINED_GRADIENT_BYTES 640 /* of parameters that are trained, and which there are */
#define TRAINED_WORKSPACE_BYTES 512
#define TRAINED_TRAIN_WORKSPACE_BYTES 512
#define TRAINED_BACKWARD_WORKSPACE_BYTES 1024 /* forward and backward together */
#define TRAINED_TRAIN_BACKWARD_WORKSPACE_BYTES 1024 /* forward and backward together */
#define TRAINED_LOSS_WORKSPACE_BYTES 768
#define TRAINED_LOSS_TRAIN_WORKSPACE_BYTES 768
#define TRAINED_LOSS_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */
#define TRAINED_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */

#define TRAINED_OPTIMIZER_BYTES 1024 /* states of AdamW */
#define TRAINED_TRAINING_BYTES (TRAINED_GRADIENT_BYTES + TRAINED_OPTIMIZER_BYTES)

/* The optimiser of a struct trained_training; see modc_optim.h. */
struct trained_optimizer {
    struct modc_optimizer base;
    struct modc_group groups[2];
    double steps[3];
};

extern const struct modc_optimizer_table trained_optimizer_table;

/* Gradients and optimiser of a context's parameters, in the same struct as these; see
 * trained_get_gradient. */
struct trained_training {
    struct modc_training base;
    struct trained_params gradients;
    struct trained_optimizer optimizer;
};

/* output float32 (batch, 3) from x float32 (batch, 4) */
enum modc_status trained_forward(struct trained *net, int batch, const float *x, float *output);

/* Behind trained_forward with the same sizes, whose inputs are still there: adds the gradients of
 * the parameters that are wanted, from those of the results (NULL: zero), and gives those of the
 * inputs (NULL: not wanted). */
enum modc_status trained_backward(struct trained *net, int batch, const float *doutput, float *dx);

/* loss float32 () from x float32 (batch, 4), target int64 (batch) */
enum modc_status trained_loss(struct trained *net, int batch, const float *x, const int64_t *target,
                              float *loss);

/* Behind trained_loss with the same sizes, whose inputs are still there: adds the gradients of the
 * parameters that are wanted. */
enum modc_status trained_loss_backward(struct trained *net, int batch);

/* One step of training: the loss, its gradients, clipping and the step of the optimiser, as
 * trained_loss, trained_loss_backward and trained_step behind zeroed gradients. Inputs without
 * elements are MODC_SIZE.
 * After an error neither parameters nor optimiser have changed. */
enum modc_status trained_train_step(struct trained_training *training, int batch, const float *x,
                                    const int64_t *target, float *loss);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model trained_model;

/* The runtime's functions for this model, as modc.h and modc_optim.h have them: */
MODC_FUNCTIONS(trained)
    /* trained_bind, trained_load_bytes, trained_save_bytes, trained_pack, trained_reset,
     * trained_changed, trained_to, trained_get, trained_named_parameters, trained_named_buffers,
     * trained_init, trained_train, trained_eval, trained_seed, trained_print */
MODC_HOSTED_FUNCTIONS(trained)
    /* trained_load, trained_save, trained_create, trained_destroy */
MODC_OPTIMIZER_FUNCTIONS(trained)
    /* trained_training_init, trained_training_save_bytes, trained_training_load_bytes */
MODC_OPTIMIZER_FILE_FUNCTIONS(trained)
    /* trained_training_save, trained_training_load */
MODC_STEP_FUNCTIONS(trained)
    /* trained_step */
MODC_BACKWARD_FUNCTIONS(trained)
    /* trained_set_grad_enabled, trained_requires_grad_ */
MODC_GRADIENT_FUNCTIONS(trained)
    /* trained_zero_grad, trained_get_gradient */

#ifdef __cplusplus
}
#endif
#endif
