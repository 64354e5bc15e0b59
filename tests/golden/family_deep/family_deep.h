/* family_deep.h - written by modc from family_deep.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct family_deep_params params;
 *     struct family_deep net;
 *     family_deep_bind(&params, param_block, sizeof param_block);
 *     family_deep_load(&params, "family_deep.safetensors", MODC_STRICT, &report);
 *     family_deep_pack(&params, packed_block, sizeof packed_block);
 *     family_deep_init(&net, &params, workspace, sizeof workspace);
 *     family_deep_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_FAMILY_DEEP_H
#define MODC_MODEL_FAMILY_DEEP_H

#include "modc.h"

#if MODC_ABI != 1
#error "family_deep.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FAMILY_DEEP_MAX_BATCH 6

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FAMILY_DEEP_PARAM_BYTES 4800 /* parameters and buffers in PyTorch's layout */
#define FAMILY_DEEP_PACKED_BYTES 5632 /* what family_deep_pack makes of them for the kernels */
#define FAMILY_DEEP_WORKSPACE_BYTES 960
#define FAMILY_DEEP_TRAIN_WORKSPACE_BYTES 960
#define FAMILY_DEEP_PROBABILITIES_WORKSPACE_BYTES 960
#define FAMILY_DEEP_PROBABILITIES_TRAIN_WORKSPACE_BYTES 960

/* Modules, for hooks and tables. */
enum {
    FAMILY_DEEP_ROOT,
    FAMILY_DEEP_BLOCKS,
    FAMILY_DEEP_BLOCKS_0, FAMILY_DEEP_BLOCKS_0_NORM, FAMILY_DEEP_BLOCKS_0_UP, FAMILY_DEEP_BLOCKS_0_ACT,
    FAMILY_DEEP_BLOCKS_0_DOWN,
    FAMILY_DEEP_BLOCKS_1, FAMILY_DEEP_BLOCKS_1_NORM, FAMILY_DEEP_BLOCKS_1_UP, FAMILY_DEEP_BLOCKS_1_ACT,
    FAMILY_DEEP_BLOCKS_1_DOWN,
    FAMILY_DEEP_BLOCKS_2, FAMILY_DEEP_BLOCKS_2_NORM, FAMILY_DEEP_BLOCKS_2_UP, FAMILY_DEEP_BLOCKS_2_ACT,
    FAMILY_DEEP_BLOCKS_2_DOWN,
    FAMILY_DEEP_HEAD,
    FAMILY_DEEP_HEAD_0,
    FAMILY_DEEP_HEAD_1,
    FAMILY_DEEP_HEAD_2,
    FAMILY_DEEP_HEAD_LAST,
    FAMILY_DEEP_MODULES
};

/* Block(8, 2) */
struct family_deep_blocks_0_block {
    struct {
        const float *weight; /* (8) */
        const float *bias; /* (8) */
    } norm;
    struct {
        const float *weight; /* (16, 8) */
        const float *bias; /* (16) */
    } up;
    struct {
        const float *weight; /* (8, 16) */
        const float *bias; /* (8) */
    } down;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct family_deep_params {
    struct modc_params base;
    struct {
        struct family_deep_blocks_0_block _0;
        struct {
            struct {
                const float *weight; /* (16, 8) */
                const float *bias; /* (16) */
            } up;
            struct {
                const float *weight; /* (8, 16) */
                const float *bias; /* (8) */
            } down;
        } _1;
        struct family_deep_blocks_0_block _2;
    } blocks;
    struct {
        struct {
            const float *weight; /* (16, 8) */
            const float *bias; /* (16) */
        } _0;
        struct {
            const float *weight; /* (5, 16) */
            const float *bias; /* (5) */
        } _2;
        struct {
            const float *weight; /* (5, 5) */
        } last;
    } head;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct family_deep {
    struct modc_context base;
};

/* output float32 (batch, 5) from x float32 (batch, 8) */
enum modc_status family_deep_forward(struct family_deep *net, int batch, const float *x, float *output);

/* output float32 (batch, 5) from x float32 (batch, 8) */
enum modc_status family_deep_probabilities(struct family_deep *net, int batch, const float *x,
                                           float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model family_deep_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status family_deep_bind(struct family_deep_params *params, void *block,
                                                size_t bytes)
{
    return modc_bind(&params->base, &family_deep_model, block, bytes);
}

static inline enum modc_status family_deep_load_bytes(struct family_deep_params *params, const void *bytes,
                                                      size_t length, unsigned flags,
                                                      struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status family_deep_save_bytes(const struct family_deep_params *params, void *out,
                                                      size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status family_deep_pack(struct family_deep_params *params, void *block,
                                                size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status family_deep_reset(struct family_deep_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void family_deep_changed(struct family_deep_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status family_deep_to(const struct family_deep_params *params,
                                              struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status family_deep_get(const struct family_deep_params *params, const char *key,
                                               void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&family_deep_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&family_deep_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void family_deep_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &family_deep_model, 0, prefix, recurse, true);
}

static inline void family_deep_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &family_deep_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status family_deep_load(struct family_deep_params *params, const char *path,
                                                unsigned flags, struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status family_deep_save(const struct family_deep_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status family_deep_create(struct family_deep_params *params,
                                                  struct family_deep **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&family_deep_model, &params->base, 0, &base);

    *net = (struct family_deep *)(void *)base;
    return status;
}

static inline void family_deep_destroy(struct family_deep *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status family_deep_init(struct family_deep *net, struct family_deep_params *params,
                                                void *workspace, size_t bytes)
{
    return modc_init(&net->base, &family_deep_model, &params->base, workspace, bytes);
}

static inline void family_deep_train(struct family_deep *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void family_deep_eval(struct family_deep *net)
{
    modc_train(&net->base, false);
}

static inline void family_deep_seed(struct family_deep *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void family_deep_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&family_deep_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
