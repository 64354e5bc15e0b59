/* mlp.h - written by modc from mlp.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct mlp_params params;
 *     struct mlp net;
 *     mlp_bind(&params, param_block, sizeof param_block);
 *     mlp_load(&params, "mlp.safetensors", MODC_STRICT, &report);
 *     mlp_pack(&params, packed_block, sizeof packed_block);
 *     mlp_init(&net, &params, workspace, sizeof workspace);
 *     mlp_forward(&net, batch, image, output);
 */
#ifndef MODC_MODEL_MLP_H
#define MODC_MODEL_MLP_H

#include "modc.h"

#if MODC_ABI != 1
#error "mlp.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MLP_MAX_BATCH 64

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define MLP_PARAM_BYTES 9664 /* parameters and buffers in PyTorch's layout */
#define MLP_PACKED_BYTES 10304 /* what mlp_pack makes of them for the kernels */
#define MLP_WORKSPACE_BYTES 8192
#define MLP_TRAIN_WORKSPACE_BYTES 8192
#define MLP_FENCED_WORKSPACE_BYTES 32768
#define MLP_TRAIN_FENCED_WORKSPACE_BYTES 32768

/* Modules, for hooks and tables. */
enum {
    MLP_ROOT,
    MLP_0,
    MLP_1,
    MLP_2,
    MLP_3,
    MLP_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct mlp_params {
    struct modc_params base;
    struct {
        const float *weight; /* (32, 64) */
        const float *bias; /* (32) */
    } _1;
    struct {
        const float *weight; /* (10, 32) */
        const float *bias; /* (10) */
    } _3;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct mlp {
    struct modc_context base;
};

/* output float32 (batch, 10) from image float32 (batch, 1, 8, 8) */
enum modc_status mlp_forward(struct mlp *net, int batch, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model mlp_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status mlp_bind(struct mlp_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &mlp_model, block, bytes);
}

static inline enum modc_status mlp_load_bytes(struct mlp_params *params, const void *bytes, size_t length,
                                              unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status mlp_save_bytes(const struct mlp_params *params, void *out, size_t capacity,
                                              size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status mlp_pack(struct mlp_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status mlp_reset(struct mlp_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void mlp_changed(struct mlp_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status mlp_to(const struct mlp_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status mlp_get(const struct mlp_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&mlp_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&mlp_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void mlp_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &mlp_model, 0, prefix, recurse, true);
}

static inline void mlp_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &mlp_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status mlp_load(struct mlp_params *params, const char *path, unsigned flags,
                                        struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status mlp_save(const struct mlp_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status mlp_create(struct mlp_params *params, struct mlp **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&mlp_model, &params->base, 0, &base);

    *net = (struct mlp *)(void *)base;
    return status;
}

static inline void mlp_destroy(struct mlp *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status mlp_init(struct mlp *net, struct mlp_params *params, void *workspace,
                                        size_t bytes)
{
    return modc_init(&net->base, &mlp_model, &params->base, workspace, bytes);
}

static inline void mlp_train(struct mlp *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void mlp_eval(struct mlp *net)
{
    modc_train(&net->base, false);
}

static inline void mlp_seed(struct mlp *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status mlp_register_forward_hook(struct mlp *net, int module,
                                                         struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status mlp_register_forward_pre_hook(struct mlp *net, int module,
                                                             struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status mlp_attach(struct mlp *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void mlp_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&mlp_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
