/* cnn64.h - written by modc from cnn64_bare.yaml; change the spec, not this file. It is yours, under any terms.
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

#if MODC_ABI != 1
#error "cnn64.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CNN64_MAX_BATCH 64

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define CNN64_PARAM_BYTES 50432 /* parameters and buffers in PyTorch's layout */
#define CNN64_PACKED_BYTES 86656 /* what cnn64_pack makes of them for the kernels */
#define CNN64_WORKSPACE_BYTES 655360
#define CNN64_TRAIN_WORKSPACE_BYTES 655360

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

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct cnn64_params {
    struct modc_params base;
    struct {
        const double *weight; /* (16, 1, 3, 3) */
        const double *bias; /* (16) */
    } _0;
    struct {
        const double *weight; /* (16) */
        const double *bias; /* (16) */
        double *running_mean; /* (16); written by forward in training mode */
        double *running_var; /* (16); written by forward in training mode */
        int64_t *num_batches_tracked; /* (); written by forward in training mode */
    } _1;
    struct {
        const double *weight; /* (32, 16, 3, 3) */
        const double *bias; /* (32) */
    } _4;
    struct {
        const double *weight; /* (32) */
        const double *bias; /* (32) */
        double *running_mean; /* (32); written by forward in training mode */
        double *running_var; /* (32); written by forward in training mode */
        int64_t *num_batches_tracked; /* (); written by forward in training mode */
    } _5;
    struct {
        const double *weight; /* (10, 128) */
        const double *bias; /* (10) */
    } _10;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct cnn64 {
    struct modc_context base;
};

/* output float64 (batch, 10) from image float64 (batch, 1, 8, 8) */
enum modc_status cnn64_forward(struct cnn64 *net, int batch, const double *image, double *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model cnn64_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status cnn64_bind(struct cnn64_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &cnn64_model, block, bytes);
}

static inline enum modc_status cnn64_load_bytes(struct cnn64_params *params, const void *bytes,
                                                size_t length, unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status cnn64_save_bytes(const struct cnn64_params *params, void *out,
                                                size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status cnn64_pack(struct cnn64_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status cnn64_reset(struct cnn64_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void cnn64_changed(struct cnn64_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status cnn64_to(const struct cnn64_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status cnn64_get(const struct cnn64_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&cnn64_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&cnn64_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void cnn64_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &cnn64_model, 0, prefix, recurse, true);
}

static inline void cnn64_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &cnn64_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status cnn64_load(struct cnn64_params *params, const char *path, unsigned flags,
                                          struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status cnn64_save(const struct cnn64_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status cnn64_create(struct cnn64_params *params, struct cnn64 **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&cnn64_model, &params->base, 0, &base);

    *net = (struct cnn64 *)(void *)base;
    return status;
}

static inline void cnn64_destroy(struct cnn64 *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status cnn64_init(struct cnn64 *net, struct cnn64_params *params, void *workspace,
                                          size_t bytes)
{
    return modc_init(&net->base, &cnn64_model, &params->base, workspace, bytes);
}

static inline void cnn64_train(struct cnn64 *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void cnn64_eval(struct cnn64 *net)
{
    modc_train(&net->base, false);
}

static inline void cnn64_seed(struct cnn64 *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void cnn64_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&cnn64_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
