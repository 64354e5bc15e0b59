/* trained.h - written by modc from trained.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct trained_params params;
 *     struct trained net;
 *     trained_bind(&params, param_block, sizeof param_block);
 *     trained_load(&params, "trained.safetensors", MODC_STRICT, &report);
 *     trained_pack(&params, packed_block, TRAINED_PACKED_BYTES);
 *     trained_init(&net, &params, workspace, TRAINED_WORKSPACE_BYTES);
 *     trained_forward(&net, batch, x, output);
 *     trained_sync(&net);
 *
 * packed_block, workspace and the tensors of calls lie in the GPU's memory.
 */
#ifndef MODC_MODEL_TRAINED_H
#define MODC_MODEL_TRAINED_H

#include "modc_optim.h"
#include "modc_device.h"

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
    struct modc_cuda cuda; /* its stream */
    const void *saved_inputs[2]; /* of the last call that keeps for backward */
    int saved_sizes[1];
};

/* Nested as the module tree; in PyTorch's layout. */
struct trained_tensors {
    struct { float *weight, *bias; } _0; /* (16, 4), (16) */
    struct { float *weight, *bias; } _2; /* (3, 16), (3) */
};

/* `base` and `mirror` are the runtime's. What is written to `host` by hand: see note [mirror] in
 * modc_device.h. */
struct trained_params {
    struct modc_params base;
    struct trained_tensors host, device;
    struct modc_mirror mirror;
};

/* Gradients of parameters, in the order of modc_gradient_at. */
enum {
    TRAINED_GRADIENT_0_WEIGHT,
    TRAINED_GRADIENT_2_WEIGHT, TRAINED_GRADIENT_2_BIAS,
    TRAINED_GRADIENTS
};

#define TRAINED_SCHEMA 0x596e54b4347e9f88u /* of keys, shapes and types */
/* Blocks that the caller places: that of the parameters in the host's memory, at a multiple of
 * MODC_ALIGN, the others in the device's, at one of MODC_DEVICE_ALIGN. */
#define TRAINED_PARAM_BYTES 1024 /* parameters and buffers in PyTorch's layout */
#define TRAINED_PACKED_BYTES 1024 /* what trained_pack makes of them for the kernels */
#define TRAINED_GRADIENT_BYTES 1280 /* of parameters that are trained, and which there are */
#define TRAINED_STATE_BYTES 256 /* at the head of every workspace */
#define TRAINED_WORKSPACE_BYTES 768
#define TRAINED_TRAIN_WORKSPACE_BYTES 768
#define TRAINED_BACKWARD_WORKSPACE_BYTES 1280 /* forward and backward together */
#define TRAINED_TRAIN_BACKWARD_WORKSPACE_BYTES 1280 /* forward and backward together */
#define TRAINED_LOSS_WORKSPACE_BYTES 1536
#define TRAINED_LOSS_TRAIN_WORKSPACE_BYTES 1536
#define TRAINED_LOSS_BACKWARD_WORKSPACE_BYTES 2048 /* forward and backward together */
#define TRAINED_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES 2048 /* forward and backward together */
#define TRAINED_FORWARD_HOST_BYTES 1024 /* for trained_forward_host, at the end of a workspace */
#define TRAINED_LOSS_HOST_BYTES 1536 /* for trained_loss_host, at the end of a workspace */

#define TRAINED_OPTIMIZER_BYTES 2048 /* states of AdamW */
#define TRAINED_TRAINING_BYTES (TRAINED_GRADIENT_BYTES + TRAINED_OPTIMIZER_BYTES)

/* The optimiser of a struct trained_training; see modc_optim.h. */
struct trained_optimizer {
    struct modc_optimizer base;
    struct modc_group groups[2];
    double scalars[3][MODC_MAX_SCALARS]; /* of the last step */
    double scalar_states[3][MODC_MAX_STATES];
    double next_states[3][MODC_MAX_STATES]; /* as a step leaves them */
    double steps[3];
};

extern const struct modc_optimizer_table trained_optimizer_table;

/* Gradients and optimiser of a context's parameters, in the same struct as these; see
 * trained_get_gradient. */
struct trained_training {
    struct modc_training base;
    struct trained_params gradients;
    uint64_t present[3];
    double numbers[3];
    bool wants[3];
    struct trained_optimizer optimizer;
};

/* output float32 (batch, 3) from x float32 (batch, 4) */
enum modc_status trained_forward(struct trained *net, int batch, const float *x, float *output);

/* The same with pointers of the host: copies in and out, and waits. Takes
 * TRAINED_FORWARD_HOST_BYTES bytes more of the workspace. */
enum modc_status trained_forward_host(struct trained *net, int batch, const float *x,
                                      float *output);

/* trained_backward with gradients of results and inputs in the host's memory, behind
 * trained_forward_host. */
enum modc_status trained_backward_host(struct trained *net, int batch, const float *doutput,
                                       float *dx);

/* Behind trained_forward with the same sizes, whose inputs are still there: adds the gradients of
 * the parameters that are wanted, from those of the results (NULL: zero), and gives those of the
 * inputs (NULL: not wanted). */
enum modc_status trained_backward(struct trained *net, int batch, const float *doutput, float *dx);

/* loss float32 () from x float32 (batch, 4), target int64 (batch) */
enum modc_status trained_loss(struct trained *net, int batch, const float *x, const int64_t *target,
                              float *loss);

/* The same with pointers of the host: copies in and out, and waits. Takes TRAINED_LOSS_HOST_BYTES
 * bytes more of the workspace. */
enum modc_status trained_loss_host(struct trained *net, int batch, const float *x,
                                   const int64_t *target, float *loss);

/* trained_loss_backward with gradients of results and inputs in the host's memory, behind
 * trained_loss_host. */
enum modc_status trained_loss_backward_host(struct trained *net, int batch);

/* Behind trained_loss with the same sizes, whose inputs are still there: adds the gradients of the
 * parameters that are wanted. */
enum modc_status trained_loss_backward(struct trained *net, int batch);

/* One step of training: the loss, its gradients, clipping and the step of the optimiser, as
 * trained_loss, trained_loss_backward and trained_step behind zeroed gradients. Inputs without
 * elements are MODC_SIZE.
 * After an error neither parameters nor optimiser have changed, but for MODC_GPU. */
enum modc_status trained_train_step(struct trained_training *training, int batch, const float *x,
                                    const int64_t *target, float *loss);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model trained_model;

/* The runtime's functions for this model, as modc.h, modc_optim.h and modc_device.h have them: */
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
MODC_DEVICE_FUNCTIONS(trained)
    /* trained_set_stream, trained_sync, trained_device, trained_download */

#ifdef __cplusplus
}
#endif
#endif
