/* firmware.h - written by modc from firmware.yaml; change the spec, not this file. It is yours, under any terms.
 *
 * For --target stm32f411, STM32F411xE: nothing in it needs an operating system.
 *
 *     struct firmware_params params;
 *     struct firmware net;
 *     firmware_bind(&params, param_block, sizeof param_block);
 *     firmware_load_bytes(&params, file, sizeof file, MODC_STRICT, NULL);
 *     firmware_pack(&params, packed_block, sizeof packed_block);
 *     firmware_init(&net, &params, workspace, sizeof workspace);
 *     firmware_forward(&net, image, output);
 */
#ifndef MODC_MODEL_FIRMWARE_H
#define MODC_MODEL_FIRMWARE_H

#ifndef MODC_ALIGN
#define MODC_ALIGN 8
#endif
#include "modc.h"

#if MODC_ABI != 1
#error "firmware.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif


/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FIRMWARE_PARAM_BYTES 2584 /* parameters and buffers in PyTorch's layout */
#define FIRMWARE_PACKED_BYTES 3032 /* what firmware_pack makes of them for the kernels */
#define FIRMWARE_WORKSPACE_BYTES 1920
#define FIRMWARE_TRAIN_WORKSPACE_BYTES 1920

/* Modules, for hooks and tables. */
enum {
    FIRMWARE_ROOT,
    FIRMWARE_0,
    FIRMWARE_1,
    FIRMWARE_2,
    FIRMWARE_3,
    FIRMWARE_4,
    FIRMWARE_5,
    FIRMWARE_6,
    FIRMWARE_7,
    FIRMWARE_8,
    FIRMWARE_9,
    FIRMWARE_10,
    FIRMWARE_11,
    FIRMWARE_12,
    FIRMWARE_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct firmware_params {
    struct modc_params base;
    struct {
        const float *weight; /* (6, 1, 3, 3) */
        const float *bias; /* (6) */
    } _0;
    struct {
        const float *weight; /* (6) */
        const float *bias; /* (6) */
        float *running_mean; /* (6); written by forward in training mode */
        float *running_var; /* (6); written by forward in training mode */
        int64_t *num_batches_tracked; /* (); written by forward in training mode */
    } _1;
    struct {
        const float *weight; /* (6, 1, 3, 3) */
        const float *bias; /* (6) */
    } _4;
    struct {
        const float *weight; /* (24) */
        const float *bias; /* (24) */
    } _8;
    struct {
        const float *weight; /* (16, 24) */
        const float *bias; /* (16) */
    } _9;
    struct {
        const float *weight; /* (3, 16) */
        const float *bias; /* (3) */
    } _11;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct firmware {
    struct modc_context base;
};

/* output float32 (1, 3) from image float32 (1, 1, 8, 8) */
enum modc_status firmware_forward(struct firmware *net, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model firmware_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status firmware_bind(struct firmware_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &firmware_model, block, bytes);
}

static inline enum modc_status firmware_load_bytes(struct firmware_params *params, const void *bytes,
                                                   size_t length, unsigned flags,
                                                   struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status firmware_save_bytes(const struct firmware_params *params, void *out,
                                                   size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status firmware_pack(struct firmware_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status firmware_reset(struct firmware_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void firmware_changed(struct firmware_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status firmware_to(const struct firmware_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status firmware_get(const struct firmware_params *params, const char *key,
                                            void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&firmware_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&firmware_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void firmware_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &firmware_model, 0, prefix, recurse, true);
}

static inline void firmware_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &firmware_model, 0, prefix, recurse, true);
}

/* Contexts. */
static inline enum modc_status firmware_init(struct firmware *net, struct firmware_params *params,
                                             void *workspace, size_t bytes)
{
    return modc_init(&net->base, &firmware_model, &params->base, workspace, bytes);
}

static inline void firmware_train(struct firmware *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void firmware_eval(struct firmware *net)
{
    modc_train(&net->base, false);
}

static inline void firmware_seed(struct firmware *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void firmware_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&firmware_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
