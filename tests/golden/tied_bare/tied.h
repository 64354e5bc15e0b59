/* tied.h - written by modc from tied_bare.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct tied_params params;
 *     struct tied net;
 *     tied_bind(&params, param_block, sizeof param_block);
 *     tied_load(&params, "tied.safetensors", MODC_STRICT, &report);
 *     tied_pack(&params, packed_block, sizeof packed_block);
 *     tied_init(&net, &params, workspace, sizeof workspace);
 *     tied_forward(&net, batch, x, output);
 */
#ifndef MODC_MODEL_TIED_H
#define MODC_MODEL_TIED_H

#include "modc.h"

#if MODC_ABI != 1
#error "tied.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TIED_MAX_BATCH 16

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TIED_PARAM_BYTES 256 /* parameters and buffers in PyTorch's layout */
#define TIED_PACKED_BYTES 448 /* what tied_pack makes of them for the kernels */
#define TIED_WORKSPACE_BYTES 384
#define TIED_TRAIN_WORKSPACE_BYTES 384

/* Modules, for hooks and tables. */
enum {
    TIED_ROOT,
    TIED_EMBED,
    TIED_ACT,
    TIED_HEAD,
    TIED_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct tied_params {
    struct modc_params base;
    struct {
        const float *weight; /* (6, 6) */
    } embed;
    struct {
        const float *weight; /* (6, 6); always embed.weight */
        const float *bias; /* (6) */
    } head;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct tied {
    struct modc_context base;
};

/* output float32 (batch, 6) from x float32 (batch, 6) */
enum modc_status tied_forward(struct tied *net, int batch, const float *x, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model tied_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status tied_bind(struct tied_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &tied_model, block, bytes);
}

static inline enum modc_status tied_load_bytes(struct tied_params *params, const void *bytes, size_t length,
                                               unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status tied_save_bytes(const struct tied_params *params, void *out, size_t capacity,
                                               size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status tied_pack(struct tied_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status tied_reset(struct tied_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void tied_changed(struct tied_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status tied_to(const struct tied_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status tied_get(const struct tied_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&tied_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&tied_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void tied_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &tied_model, 0, prefix, recurse, true);
}

static inline void tied_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &tied_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status tied_load(struct tied_params *params, const char *path, unsigned flags,
                                         struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status tied_save(const struct tied_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status tied_create(struct tied_params *params, struct tied **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&tied_model, &params->base, 0, &base);

    *net = (struct tied *)(void *)base;
    return status;
}

static inline void tied_destroy(struct tied *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status tied_init(struct tied *net, struct tied_params *params, void *workspace,
                                         size_t bytes)
{
    return modc_init(&net->base, &tied_model, &params->base, workspace, bytes);
}

static inline void tied_train(struct tied *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void tied_eval(struct tied *net)
{
    modc_train(&net->base, false);
}

static inline void tied_seed(struct tied *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void tied_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&tied_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
