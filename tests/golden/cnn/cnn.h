/* cnn.h - written by modc from cnn.yaml; change the spec, not this file. It is yours, under any terms.
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

#if MODC_ABI != 1
#error "cnn.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CNN_MAX_BATCH 64

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define CNN_PARAM_BYTES 25280 /* parameters and buffers in PyTorch's layout */
#define CNN_PACKED_BYTES 99008 /* what cnn_pack makes of them for the kernels */
#define CNN_WORKSPACE_BYTES 645888
#define CNN_TRAIN_WORKSPACE_BYTES 327680
#define CNN_FENCED_WORKSPACE_BYTES 540672
#define CNN_TRAIN_FENCED_WORKSPACE_BYTES 541312

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

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct cnn_params {
    struct modc_params base;
    struct {
        const float *weight; /* (16, 1, 3, 3) */
        const float *bias; /* (16) */
    } _0;
    struct {
        const float *weight; /* (16) */
        const float *bias; /* (16) */
        float *running_mean; /* (16); written by forward in training mode */
        float *running_var; /* (16); written by forward in training mode */
        int64_t *num_batches_tracked; /* (); written by forward in training mode */
    } _1;
    struct {
        const float *weight; /* (32, 16, 3, 3) */
        const float *bias; /* (32) */
    } _4;
    struct {
        const float *weight; /* (32) */
        const float *bias; /* (32) */
        float *running_mean; /* (32); written by forward in training mode */
        float *running_var; /* (32); written by forward in training mode */
        int64_t *num_batches_tracked; /* (); written by forward in training mode */
    } _5;
    struct {
        const float *weight; /* (10, 128) */
        const float *bias; /* (10) */
    } _10;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct cnn {
    struct modc_context base;
};

/* output float32 (batch, 10) from image float32 (batch, 1, 8, 8) */
enum modc_status cnn_forward(struct cnn *net, int batch, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model cnn_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status cnn_bind(struct cnn_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &cnn_model, block, bytes);
}

static inline enum modc_status cnn_load_bytes(struct cnn_params *params, const void *bytes, size_t length,
                                              unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status cnn_save_bytes(const struct cnn_params *params, void *out, size_t capacity,
                                              size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status cnn_pack(struct cnn_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status cnn_reset(struct cnn_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void cnn_changed(struct cnn_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status cnn_to(const struct cnn_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status cnn_get(const struct cnn_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&cnn_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&cnn_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void cnn_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &cnn_model, 0, prefix, recurse, true);
}

static inline void cnn_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &cnn_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status cnn_load(struct cnn_params *params, const char *path, unsigned flags,
                                        struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status cnn_save(const struct cnn_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status cnn_create(struct cnn_params *params, struct cnn **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&cnn_model, &params->base, 0, &base);

    *net = (struct cnn *)(void *)base;
    return status;
}

static inline void cnn_destroy(struct cnn *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status cnn_init(struct cnn *net, struct cnn_params *params, void *workspace,
                                        size_t bytes)
{
    return modc_init(&net->base, &cnn_model, &params->base, workspace, bytes);
}

static inline void cnn_train(struct cnn *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void cnn_eval(struct cnn *net)
{
    modc_train(&net->base, false);
}

static inline void cnn_seed(struct cnn *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status cnn_register_forward_hook(struct cnn *net, int module,
                                                         struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status cnn_register_forward_pre_hook(struct cnn *net, int module,
                                                             struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status cnn_attach(struct cnn *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void cnn_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&cnn_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
