/* stream.h - written by modc from stream.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct stream_params params;
 *     struct stream net;
 *     stream_bind(&params, param_block, sizeof param_block);
 *     stream_load(&params, "stream.safetensors", MODC_STRICT, &report);
 *     stream_pack(&params, packed_block, sizeof packed_block);
 *     stream_init(&net, &params, workspace, sizeof workspace);
 *     stream_forward(&net, sample, output_0, steps);
 */
#ifndef MODC_MODEL_STREAM_H
#define MODC_MODEL_STREAM_H

#include "modc.h"

#if MODC_ABI != 1
#error "stream.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif


/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define STREAM_PARAM_BYTES 2816 /* parameters and buffers in PyTorch's layout */
#define STREAM_PACKED_BYTES 2560 /* what stream_pack makes of them for the kernels */
#define STREAM_STATE_BYTES 256 /* at the head of every workspace */
#define STREAM_WORKSPACE_BYTES 384
#define STREAM_TRAIN_WORKSPACE_BYTES 384
#define STREAM_FENCED_WORKSPACE_BYTES 832
#define STREAM_TRAIN_FENCED_WORKSPACE_BYTES 832

/* Modules, for hooks and tables. */
enum {
    STREAM_ROOT,
    STREAM_MIX,
    STREAM_ACT,
    STREAM_OUT,
    STREAM_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct stream_params {
    struct modc_params base;
    struct {
        const float *weight; /* (16, 40) */
        const float *bias; /* (16) */
    } mix;
    struct {
        const float *weight; /* (2, 16) */
        const float *bias; /* (2) */
    } out;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct stream {
    struct modc_context base;
};

/* output_0 float32 (2), steps int64 () from sample float32 (8) */
enum modc_status stream_forward(struct stream *net, const float *sample, float *output_0, int64_t *steps);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model stream_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status stream_bind(struct stream_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &stream_model, block, bytes);
}

static inline enum modc_status stream_load_bytes(struct stream_params *params, const void *bytes,
                                                 size_t length, unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status stream_save_bytes(const struct stream_params *params, void *out,
                                                 size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status stream_pack(struct stream_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status stream_reset(struct stream_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void stream_changed(struct stream_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status stream_to(const struct stream_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status stream_get(const struct stream_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&stream_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&stream_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void stream_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &stream_model, 0, prefix, recurse, true);
}

static inline void stream_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &stream_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status stream_load(struct stream_params *params, const char *path, unsigned flags,
                                           struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status stream_save(const struct stream_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status stream_create(struct stream_params *params, struct stream **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&stream_model, &params->base, 0, &base);

    *net = (struct stream *)(void *)base;
    return status;
}

static inline void stream_destroy(struct stream *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status stream_init(struct stream *net, struct stream_params *params,
                                           void *workspace, size_t bytes)
{
    return modc_init(&net->base, &stream_model, &params->base, workspace, bytes);
}

static inline void stream_train(struct stream *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void stream_eval(struct stream *net)
{
    modc_train(&net->base, false);
}

static inline void stream_seed(struct stream *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

static inline void stream_reset_state(struct stream *net)
{
    modc_reset_state(&net->base);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status stream_register_forward_hook(struct stream *net, int module,
                                                            struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status stream_register_forward_pre_hook(struct stream *net, int module,
                                                                struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status stream_attach(struct stream *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void stream_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&stream_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
