/* blocks.h - written by modc from blocks.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct blocks_params params;
 *     struct blocks net;
 *     blocks_bind(&params, param_block, sizeof param_block);
 *     blocks_load(&params, "blocks.safetensors", MODC_STRICT, &report);
 *     blocks_pack(&params, packed_block, sizeof packed_block);
 *     blocks_init(&net, &params, workspace, sizeof workspace);
 *     blocks_forward(&net, tokens, x, output);
 */
#ifndef MODC_MODEL_BLOCKS_H
#define MODC_MODEL_BLOCKS_H

#include "modc.h"

#if MODC_ABI != 1
#error "blocks.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BLOCKS_MAX_TOKENS 32

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define BLOCKS_PARAM_BYTES 807488 /* parameters and buffers in PyTorch's layout */
#define BLOCKS_PACKED_BYTES 789504 /* what blocks_pack makes of them for the kernels */
#define BLOCKS_WORKSPACE_BYTES 40960
#define BLOCKS_TRAIN_WORKSPACE_BYTES 40960
#define BLOCKS_FENCED_WORKSPACE_BYTES 65536
#define BLOCKS_TRAIN_FENCED_WORKSPACE_BYTES 65536

/* Modules, for hooks and tables. */
enum {
    BLOCKS_ROOT,
    BLOCKS_BLOCKS,
    BLOCKS_BLOCKS_0, BLOCKS_BLOCKS_0_NORM, BLOCKS_BLOCKS_0_UP, BLOCKS_BLOCKS_0_ACT, BLOCKS_BLOCKS_0_DOWN,
    BLOCKS_BLOCKS_1, BLOCKS_BLOCKS_1_NORM, BLOCKS_BLOCKS_1_UP, BLOCKS_BLOCKS_1_ACT, BLOCKS_BLOCKS_1_DOWN,
    BLOCKS_BLOCKS_2, BLOCKS_BLOCKS_2_NORM, BLOCKS_BLOCKS_2_UP, BLOCKS_BLOCKS_2_ACT, BLOCKS_BLOCKS_2_DOWN,
    BLOCKS_BLOCKS_3, BLOCKS_BLOCKS_3_NORM, BLOCKS_BLOCKS_3_UP, BLOCKS_BLOCKS_3_ACT, BLOCKS_BLOCKS_3_DOWN,
    BLOCKS_BLOCKS_4, BLOCKS_BLOCKS_4_NORM, BLOCKS_BLOCKS_4_UP, BLOCKS_BLOCKS_4_ACT, BLOCKS_BLOCKS_4_DOWN,
    BLOCKS_BLOCKS_5, BLOCKS_BLOCKS_5_NORM, BLOCKS_BLOCKS_5_UP, BLOCKS_BLOCKS_5_ACT, BLOCKS_BLOCKS_5_DOWN,
    BLOCKS_BLOCKS_6, BLOCKS_BLOCKS_6_NORM, BLOCKS_BLOCKS_6_UP, BLOCKS_BLOCKS_6_ACT, BLOCKS_BLOCKS_6_DOWN,
    BLOCKS_BLOCKS_7, BLOCKS_BLOCKS_7_NORM, BLOCKS_BLOCKS_7_UP, BLOCKS_BLOCKS_7_ACT, BLOCKS_BLOCKS_7_DOWN,
    BLOCKS_BLOCKS_8, BLOCKS_BLOCKS_8_NORM, BLOCKS_BLOCKS_8_UP, BLOCKS_BLOCKS_8_ACT, BLOCKS_BLOCKS_8_DOWN,
    BLOCKS_BLOCKS_9, BLOCKS_BLOCKS_9_NORM, BLOCKS_BLOCKS_9_UP, BLOCKS_BLOCKS_9_ACT, BLOCKS_BLOCKS_9_DOWN,
    BLOCKS_BLOCKS_10, BLOCKS_BLOCKS_10_NORM, BLOCKS_BLOCKS_10_UP, BLOCKS_BLOCKS_10_ACT,
    BLOCKS_BLOCKS_10_DOWN,
    BLOCKS_BLOCKS_11, BLOCKS_BLOCKS_11_NORM, BLOCKS_BLOCKS_11_UP, BLOCKS_BLOCKS_11_ACT,
    BLOCKS_BLOCKS_11_DOWN,
    BLOCKS_NORM,
    BLOCKS_HEAD,
    BLOCKS_MODULES
};

/* Block(64, 2) */
struct blocks_block {
    const float *scale; /* (64) */
    struct {
        const float *weight; /* (64) */
        const float *bias; /* (64) */
    } norm;
    struct {
        const float *weight; /* (128, 64) */
        const float *bias; /* (128) */
    } up;
    struct {
        const float *weight; /* (64, 128) */
        const float *bias; /* (64) */
    } down;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct blocks_params {
    struct modc_params base;
    struct blocks_block blocks[12];
    struct {
        const float *weight; /* (64) */
        const float *bias; /* (64) */
    } norm;
    struct {
        const float *weight; /* (8, 64) */
        const float *bias; /* (8) */
    } head;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct blocks {
    struct modc_context base;
};

/* output float32 (tokens, 8) from x float32 (tokens, 64) */
enum modc_status blocks_forward(struct blocks *net, int tokens, const float *x, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model blocks_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status blocks_bind(struct blocks_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &blocks_model, block, bytes);
}

static inline enum modc_status blocks_load_bytes(struct blocks_params *params, const void *bytes,
                                                 size_t length, unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status blocks_save_bytes(const struct blocks_params *params, void *out,
                                                 size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status blocks_pack(struct blocks_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status blocks_reset(struct blocks_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void blocks_changed(struct blocks_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status blocks_to(const struct blocks_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status blocks_get(const struct blocks_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&blocks_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&blocks_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void blocks_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &blocks_model, 0, prefix, recurse, true);
}

static inline void blocks_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &blocks_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status blocks_load(struct blocks_params *params, const char *path, unsigned flags,
                                           struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status blocks_save(const struct blocks_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status blocks_create(struct blocks_params *params, struct blocks **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&blocks_model, &params->base, 0, &base);

    *net = (struct blocks *)(void *)base;
    return status;
}

static inline void blocks_destroy(struct blocks *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status blocks_init(struct blocks *net, struct blocks_params *params,
                                           void *workspace, size_t bytes)
{
    return modc_init(&net->base, &blocks_model, &params->base, workspace, bytes);
}

static inline void blocks_train(struct blocks *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void blocks_eval(struct blocks *net)
{
    modc_train(&net->base, false);
}

static inline void blocks_seed(struct blocks *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status blocks_register_forward_hook(struct blocks *net, int module,
                                                            struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status blocks_register_forward_pre_hook(struct blocks *net, int module,
                                                                struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status blocks_attach(struct blocks *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void blocks_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&blocks_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
