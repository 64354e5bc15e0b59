/* trained.h - written by modc from trained.yaml; change the spec, not this file. It is yours, under any terms.
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

#if MODC_ABI != 1
#error "trained.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINED_MAX_BATCH 8

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TRAINED_PARAM_BYTES 576 /* parameters and buffers in PyTorch's layout */
#define TRAINED_PACKED_BYTES 448 /* what trained_pack makes of them for the kernels */
#define TRAINED_GRADIENT_BYTES 640 /* of parameters that are trained, and which there are */
#define TRAINED_WORKSPACE_BYTES 512
#define TRAINED_TRAIN_WORKSPACE_BYTES 512
#define TRAINED_BACKWARD_WORKSPACE_BYTES 1024 /* forward and backward together */
#define TRAINED_TRAIN_BACKWARD_WORKSPACE_BYTES 1024 /* forward and backward together */
#define TRAINED_LOSS_WORKSPACE_BYTES 768
#define TRAINED_LOSS_TRAIN_WORKSPACE_BYTES 768
#define TRAINED_LOSS_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */
#define TRAINED_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */

/* Modules, for hooks and tables. */
enum {
    TRAINED_ROOT,
    TRAINED_0,
    TRAINED_1,
    TRAINED_2,
    TRAINED_MODULES
};

/* Gradients of parameters, in the order of modc_gradient_at. */
enum {
    TRAINED_GRADIENT_0_WEIGHT,
    TRAINED_GRADIENT_2_WEIGHT, TRAINED_GRADIENT_2_BIAS,
    TRAINED_GRADIENTS
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct trained_params {
    struct modc_params base;
    struct {
        float *weight; /* (16, 4) */
        float *bias; /* (16) */
    } _0;
    struct {
        float *weight; /* (3, 16) */
        float *bias; /* (3) */
    } _2;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct trained {
    struct modc_context base;
    const void *saved_inputs[2]; /* of the last call that keeps for backward */
    int saved_sizes[1];
};

#define TRAINED_OPTIMIZER_BYTES 1024 /* states of AdamW */
#define TRAINED_TRAINING_BYTES (TRAINED_GRADIENT_BYTES + TRAINED_OPTIMIZER_BYTES)

/* The optimiser of a struct trained_training; see modc_optim.h. */
struct trained_optimizer {
    struct modc_optimizer base;
    struct modc_group groups[2];
    double steps[3];
};

extern const struct modc_optimizer_table trained_optimizer_table;

/* Gradients and optimiser of a context's parameters, in the same struct as these; see trained_get_gradient. */
struct trained_training {
    struct modc_training base;
    struct trained_params gradients;
    struct trained_optimizer optimizer;
};

/* output float32 (batch, 3) from x float32 (batch, 4) */
enum modc_status trained_forward(struct trained *net, int batch, const float *x, float *output);

/* Behind trained_forward with the same sizes, whose inputs are still there: adds the gradients of the parameters that are
 * wanted, from those of the results (NULL: zero), and gives those of the inputs (NULL: not wanted). */
enum modc_status trained_backward(struct trained *net, int batch, const float *doutput, float *dx);

/* loss float32 () from x float32 (batch, 4), target int64 (batch) */
enum modc_status trained_loss(struct trained *net, int batch, const float *x, const int64_t *target,
                              float *loss);

/* Behind trained_loss with the same sizes, whose inputs are still there: adds the gradients of the parameters that are
 * wanted. */
enum modc_status trained_loss_backward(struct trained *net, int batch);

/* One step of training: the loss, its gradients, clipping and the step of the optimiser, as trained_loss,
 * trained_loss_backward and trained_step behind zeroed gradients. Inputs without elements are MODC_SIZE.
 * After an error neither parameters nor optimiser have changed. */
enum modc_status trained_train_step(struct trained_training *training, int batch, const float *x,
                                    const int64_t *target, float *loss);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model trained_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status trained_bind(struct trained_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &trained_model, block, bytes);
}

static inline enum modc_status trained_load_bytes(struct trained_params *params, const void *bytes,
                                                  size_t length, unsigned flags,
                                                  struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status trained_save_bytes(const struct trained_params *params, void *out,
                                                  size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status trained_pack(struct trained_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status trained_reset(struct trained_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void trained_changed(struct trained_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status trained_to(const struct trained_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status trained_get(const struct trained_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&trained_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&trained_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void trained_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &trained_model, 0, prefix, recurse, true);
}

static inline void trained_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &trained_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status trained_load(struct trained_params *params, const char *path, unsigned flags,
                                            struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status trained_save(const struct trained_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status trained_create(struct trained_params *params, struct trained **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&trained_model, &params->base, 0, &base);

    *net = (struct trained *)(void *)base;
    return status;
}

static inline void trained_destroy(struct trained *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status trained_init(struct trained *net, struct trained_params *params,
                                            void *workspace, size_t bytes)
{
    return modc_init(&net->base, &trained_model, &params->base, workspace, bytes);
}

static inline void trained_train(struct trained *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void trained_eval(struct trained *net)
{
    modc_train(&net->base, false);
}

static inline void trained_seed(struct trained *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Gradients, optimiser and schedule at their start, in training mode: see modc.h and modc_optim.h. block:
 * TRAINED_TRAINING_BYTES. */
static inline enum modc_status trained_training_init(struct trained_training *training, struct trained *net,
                                                     void *block, size_t bytes)
{
    enum modc_status status = modc_training_init(&training->base, &net->base, block, bytes);

    if (status != MODC_OK)
        return status;
    if (bytes < TRAINED_TRAINING_BYTES)
        return MODC_SIZE;
    modc_train(&net->base, true);
    return modc_optimizer_init(&training->optimizer.base, &trained_optimizer_table, &training->base,
                               (char *)block + TRAINED_GRADIENT_BYTES, bytes - TRAINED_GRADIENT_BYTES, NULL,
                               NULL);
}

/* Behind backward: clips, updates the parameters whose gradients are there and packs them, or changes
 * nothing. */
static inline enum modc_status trained_step(struct trained_training *training)
{
    return modc_optimizer_update(&training->optimizer.base);
}

/* The optimiser's state, as safetensors under PyTorch's names. */
static inline enum modc_status trained_training_save_bytes(const struct trained_training *training,
                                                           void *out, size_t capacity, size_t *length)
{
    return modc_optimizer_save_bytes(&training->optimizer.base, out, capacity, length);
}

static inline enum modc_status trained_training_load_bytes(struct trained_training *training,
                                                           const void *bytes, size_t length,
                                                           const char **fault)
{
    return modc_optimizer_load_bytes(&training->optimizer.base, bytes, length, fault);
}

static inline void trained_set_grad_enabled(struct trained *net, bool enabled)
{
    modc_set_grad_enabled(&net->base, enabled);
}

static inline void trained_zero_grad(struct trained_training *training, bool set_to_none)
{
    modc_zero_grad(&training->base, set_to_none);
}

static inline enum modc_status trained_get_gradient(const struct trained_training *training,
                                                    const char *key, const void **gradient)
{
    return modc_get_gradient(&training->base, key, gradient);
}

/* Of a parameter, a module, or all (""). */
static inline enum modc_status trained_requires_grad_(struct trained_training *training, const char *name,
                                                      bool requires_grad)
{
    return modc_requires_grad(&training->base, name, requires_grad);
}

static inline void trained_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&trained_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
