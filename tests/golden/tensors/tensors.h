/* tensors.h - written by modc from tensors.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct tensors_params params;
 *     struct tensors net;
 *     tensors_bind(&params, param_block, sizeof param_block);
 *     tensors_load(&params, "tensors.safetensors", MODC_STRICT, &report);
 *     tensors_pack(&params, packed_block, sizeof packed_block);
 *     tensors_init(&net, &params, workspace, sizeof workspace);
 *     tensors_forward(&net, batch, tokens, x, y, count, mask, gram, merged, even, total, many, peak, spread, parity);
 */
#ifndef MODC_MODEL_TENSORS_H
#define MODC_MODEL_TENSORS_H

#include "modc.h"

#if MODC_ABI != 1
#error "tensors.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TENSORS_MAX_BATCH 6
#define TENSORS_MAX_TOKENS 10

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TENSORS_PARAM_BYTES 64 /* parameters and buffers in PyTorch's layout */
#define TENSORS_PACKED_BYTES 64 /* what tensors_pack makes of them for the kernels */
#define TENSORS_WORKSPACE_BYTES 6720
#define TENSORS_TRAIN_WORKSPACE_BYTES 6720
#define TENSORS_FENCED_WORKSPACE_BYTES 11584
#define TENSORS_TRAIN_FENCED_WORKSPACE_BYTES 11584

/* Modules, for hooks and tables. */
enum {
    TENSORS_ROOT,
    TENSORS_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct tensors_params {
    struct modc_params base;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct tensors {
    struct modc_context base;
};

/* gram float32 (8, 8), merged float32 (batch, tokens, 8), even float32 (batch, (tokens + 1) // 2, 3), total int64 (batch), many bool (batch, tokens), peak float32 (8), spread float32 (batch, tokens, 1), parity int64 (batch, tokens) from x float32 (batch, tokens, 8), y float32 (batch, 1, 8), count int64 (batch, tokens), mask bool (batch, tokens) */
enum modc_status tensors_forward(struct tensors *net, int batch, int tokens, const float *x, const float *y,
                                 const int64_t *count, const bool *mask, float *gram, float *merged,
                                 float *even, int64_t *total, bool *many, float *peak, float *spread,
                                 int64_t *parity);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model tensors_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status tensors_bind(struct tensors_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &tensors_model, block, bytes);
}

static inline enum modc_status tensors_load_bytes(struct tensors_params *params, const void *bytes,
                                                  size_t length, unsigned flags,
                                                  struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status tensors_save_bytes(const struct tensors_params *params, void *out,
                                                  size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status tensors_pack(struct tensors_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status tensors_reset(struct tensors_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void tensors_changed(struct tensors_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status tensors_to(const struct tensors_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status tensors_get(const struct tensors_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&tensors_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&tensors_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void tensors_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &tensors_model, 0, prefix, recurse, true);
}

static inline void tensors_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &tensors_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status tensors_load(struct tensors_params *params, const char *path, unsigned flags,
                                            struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status tensors_save(const struct tensors_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status tensors_create(struct tensors_params *params, struct tensors **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&tensors_model, &params->base, 0, &base);

    *net = (struct tensors *)(void *)base;
    return status;
}

static inline void tensors_destroy(struct tensors *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status tensors_init(struct tensors *net, struct tensors_params *params,
                                            void *workspace, size_t bytes)
{
    return modc_init(&net->base, &tensors_model, &params->base, workspace, bytes);
}

static inline void tensors_train(struct tensors *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void tensors_eval(struct tensors *net)
{
    modc_train(&net->base, false);
}

static inline void tensors_seed(struct tensors *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status tensors_register_forward_hook(struct tensors *net, int module,
                                                             struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status tensors_register_forward_pre_hook(struct tensors *net, int module,
                                                                 struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status tensors_attach(struct tensors *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void tensors_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&tensors_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
