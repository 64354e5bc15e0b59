/* text.h - written by modc from text.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct text_params params;
 *     struct text net;
 *     text_bind(&params, param_block, sizeof param_block);
 *     text_load(&params, "text.safetensors", MODC_STRICT, &report);
 *     text_pack(&params, packed_block, sizeof packed_block);
 *     text_init(&net, &params, workspace, sizeof workspace);
 *     text_forward(&net, batch, length, tokens, mask, logits, best);
 */
#ifndef MODC_MODEL_TEXT_H
#define MODC_MODEL_TEXT_H

#include "modc.h"

#if MODC_ABI != 1
#error "text.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_MAX_BATCH 8
#define TEXT_MAX_LENGTH 16

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TEXT_PARAM_BYTES 24640 /* parameters and buffers in PyTorch's layout */
#define TEXT_PACKED_BYTES 8192 /* what text_pack makes of them for the kernels */
#define TEXT_WORKSPACE_BYTES 32768
#define TEXT_TRAIN_WORKSPACE_BYTES 32768
#define TEXT_FENCED_WORKSPACE_BYTES 35968
#define TEXT_TRAIN_FENCED_WORKSPACE_BYTES 35968

/* Modules, for hooks and tables. */
enum {
    TEXT_ROOT,
    TEXT_EMBED,
    TEXT_POSITION,
    TEXT_NORM,
    TEXT_HIDDEN,
    TEXT_HEAD,
    TEXT_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct text_params {
    struct modc_params base;
    struct {
        const float *weight; /* (100, 32) */
    } embed;
    struct {
        const float *weight; /* (16, 32) */
    } position;
    struct {
        const float *weight; /* (32) */
        const float *bias; /* (32) */
    } norm;
    struct {
        const float *weight; /* (64, 32) */
        const float *bias; /* (64) */
    } hidden;
    struct {
        const float *weight; /* (4, 64) */
        const float *bias; /* (4) */
    } head;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct text {
    struct modc_context base;
};

/* logits float32 (batch, 4), best float32 (batch, 1) from tokens int64 (batch, length), mask bool (batch, length) */
enum modc_status text_forward(struct text *net, int batch, int length, const int64_t *tokens,
                              const bool *mask, float *logits, float *best);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model text_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status text_bind(struct text_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &text_model, block, bytes);
}

static inline enum modc_status text_load_bytes(struct text_params *params, const void *bytes, size_t length,
                                               unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status text_save_bytes(const struct text_params *params, void *out, size_t capacity,
                                               size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status text_pack(struct text_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status text_reset(struct text_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void text_changed(struct text_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status text_to(const struct text_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status text_get(const struct text_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&text_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&text_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void text_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &text_model, 0, prefix, recurse, true);
}

static inline void text_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &text_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status text_load(struct text_params *params, const char *path, unsigned flags,
                                         struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status text_save(const struct text_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status text_create(struct text_params *params, struct text **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&text_model, &params->base, 0, &base);

    *net = (struct text *)(void *)base;
    return status;
}

static inline void text_destroy(struct text *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status text_init(struct text *net, struct text_params *params, void *workspace,
                                         size_t bytes)
{
    return modc_init(&net->base, &text_model, &params->base, workspace, bytes);
}

static inline void text_train(struct text *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void text_eval(struct text *net)
{
    modc_train(&net->base, false);
}

static inline void text_seed(struct text *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status text_register_forward_hook(struct text *net, int module,
                                                          struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status text_register_forward_pre_hook(struct text *net, int module,
                                                              struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status text_attach(struct text *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void text_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&text_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
