/* fused.h - written by modc from fused.yaml; change the spec, not this file. It is yours, under any terms.
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

#if MODC_ABI != 1
#error "fused.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FUSED_MAX_BATCH 8

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FUSED_PARAM_BYTES 576 /* parameters and buffers in PyTorch's layout */
#define FUSED_PACKED_BYTES 448 /* what fused_pack makes of them for the kernels */
#define FUSED_GRADIENT_BYTES 64 /* which parameters are trained: their gradients are not kept */
#define FUSED_WORKSPACE_BYTES 512
#define FUSED_TRAIN_WORKSPACE_BYTES 512
#define FUSED_LOSS_WORKSPACE_BYTES 768
#define FUSED_LOSS_TRAIN_WORKSPACE_BYTES 768
#define FUSED_LOSS_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */
#define FUSED_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES 1152 /* forward and backward together */

/* Modules, for hooks and tables. */
enum {
    FUSED_ROOT,
    FUSED_0,
    FUSED_1,
    FUSED_2,
    FUSED_MODULES
};

/* Gradients of parameters, in the order of modc_optimizer_update. */
enum {
    FUSED_GRADIENT_0_WEIGHT, FUSED_GRADIENT_0_BIAS,
    FUSED_GRADIENT_2_WEIGHT, FUSED_GRADIENT_2_BIAS,
    FUSED_GRADIENTS
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct fused_params {
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
struct fused {
    struct modc_context base;
    const void *saved_inputs[2]; /* of the last call that keeps for backward */
    int saved_sizes[1];
};

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

/* One step of training: the loss and its gradients, each of which updates its parameter as soon as it is complete and
 * is not kept. Inputs without elements are MODC_SIZE. After an error neither parameters nor optimiser have changed,
 * but for MODC_NONFINITE: then those parameters alone whose gradients are NaN or infinite have not. */
enum modc_status fused_train_step(struct fused_training *training, int batch, const float *x,
                                  const int64_t *target, float *loss);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model fused_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status fused_bind(struct fused_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &fused_model, block, bytes);
}

static inline enum modc_status fused_load_bytes(struct fused_params *params, const void *bytes,
                                                size_t length, unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status fused_save_bytes(const struct fused_params *params, void *out,
                                                size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status fused_pack(struct fused_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status fused_reset(struct fused_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void fused_changed(struct fused_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status fused_to(const struct fused_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status fused_get(const struct fused_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&fused_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&fused_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void fused_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &fused_model, 0, prefix, recurse, true);
}

static inline void fused_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &fused_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status fused_load(struct fused_params *params, const char *path, unsigned flags,
                                          struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status fused_save(const struct fused_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status fused_create(struct fused_params *params, struct fused **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&fused_model, &params->base, 0, &base);

    *net = (struct fused *)(void *)base;
    return status;
}

static inline void fused_destroy(struct fused *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status fused_init(struct fused *net, struct fused_params *params, void *workspace,
                                          size_t bytes)
{
    return modc_init(&net->base, &fused_model, &params->base, workspace, bytes);
}

static inline void fused_train(struct fused *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void fused_eval(struct fused *net)
{
    modc_train(&net->base, false);
}

static inline void fused_seed(struct fused *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Optimiser and schedule at their start, in training mode: see modc.h and modc_optim.h. block:
 * FUSED_TRAINING_BYTES. */
static inline enum modc_status fused_training_init(struct fused_training *training, struct fused *net,
                                                   void *block, size_t bytes)
{
    enum modc_status status = modc_training_init(&training->base, &net->base, block, bytes);

    if (status != MODC_OK)
        return status;
    if (bytes < FUSED_TRAINING_BYTES)
        return MODC_SIZE;
    modc_train(&net->base, true);
    return modc_optimizer_init(&training->optimizer.base, &fused_optimizer_table, &training->base,
                               (char *)block + FUSED_GRADIENT_BYTES, bytes - FUSED_GRADIENT_BYTES, NULL,
                               NULL);
}

/* The optimiser's state, as safetensors under PyTorch's names. */
static inline enum modc_status fused_training_save_bytes(const struct fused_training *training, void *out,
                                                         size_t capacity, size_t *length)
{
    return modc_optimizer_save_bytes(&training->optimizer.base, out, capacity, length);
}

static inline enum modc_status fused_training_load_bytes(struct fused_training *training, const void *bytes,
                                                         size_t length, const char **fault)
{
    return modc_optimizer_load_bytes(&training->optimizer.base, bytes, length, fault);
}

static inline void fused_set_grad_enabled(struct fused *net, bool enabled)
{
    modc_set_grad_enabled(&net->base, enabled);
}

/* Of a parameter, a module, or all (""). */
static inline enum modc_status fused_requires_grad_(struct fused_training *training, const char *name,
                                                    bool requires_grad)
{
    return modc_requires_grad(&training->base, name, requires_grad);
}

static inline void fused_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&fused_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
