/* attention.h - written by modc from attention.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct attention_params params;
 *     struct attention net;
 *     attention_bind(&params, param_block, sizeof param_block);
 *     attention_load(&params, "attention.safetensors", MODC_STRICT, &report);
 *     attention_pack(&params, packed_block, sizeof packed_block);
 *     attention_init(&net, &params, workspace, sizeof workspace);
 *     attention_forward(&net, tokens, x, output);
 */
#ifndef MODC_MODEL_ATTENTION_H
#define MODC_MODEL_ATTENTION_H

#include "modc.h"

#if MODC_ABI != 1
#error "attention.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ATTENTION_MAX_TOKENS 200

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define ATTENTION_PARAM_BYTES 9664 /* parameters and buffers in PyTorch's layout */
#define ATTENTION_PACKED_BYTES 11200 /* what attention_pack makes of them for the kernels */
#define ATTENTION_WORKSPACE_BYTES 98432
#define ATTENTION_TRAIN_WORKSPACE_BYTES 98432

/* Modules, for hooks and tables. */
enum {
    ATTENTION_ROOT,
    ATTENTION_QKV,
    ATTENTION_OUT,
    ATTENTION_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct attention_params {
    struct modc_params base;
    struct {
        const float *weight; /* (72, 24) */
        const float *bias; /* (72) */
    } qkv;
    struct {
        const float *weight; /* (24, 24) */
        const float *bias; /* (24) */
    } out;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct attention {
    struct modc_context base;
};

/* output float32 (tokens, 24) from x float32 (tokens, 24) */
enum modc_status attention_forward(struct attention *net, int tokens, const float *x, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model attention_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status attention_bind(struct attention_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &attention_model, block, bytes);
}

static inline enum modc_status attention_load_bytes(struct attention_params *params, const void *bytes,
                                                    size_t length, unsigned flags,
                                                    struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status attention_save_bytes(const struct attention_params *params, void *out,
                                                    size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status attention_pack(struct attention_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status attention_reset(struct attention_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void attention_changed(struct attention_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status attention_to(const struct attention_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status attention_get(const struct attention_params *params, const char *key,
                                             void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&attention_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&attention_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void attention_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &attention_model, 0, prefix, recurse, true);
}

static inline void attention_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &attention_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status attention_load(struct attention_params *params, const char *path,
                                              unsigned flags, struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status attention_save(const struct attention_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status attention_create(struct attention_params *params, struct attention **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&attention_model, &params->base, 0, &base);

    *net = (struct attention *)(void *)base;
    return status;
}

static inline void attention_destroy(struct attention *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status attention_init(struct attention *net, struct attention_params *params,
                                              void *workspace, size_t bytes)
{
    return modc_init(&net->base, &attention_model, &params->base, workspace, bytes);
}

static inline void attention_train(struct attention *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void attention_eval(struct attention *net)
{
    modc_train(&net->base, false);
}

static inline void attention_seed(struct attention *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void attention_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&attention_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
