/* pair.h - written by modc from pair.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct pair_params params;
 *     struct pair net;
 *     pair_bind(&params, param_block, sizeof param_block);
 *     pair_load(&params, "pair.safetensors", MODC_STRICT, &report);
 *     pair_pack(&params, packed_block, sizeof packed_block);
 *     pair_init(&net, &params, workspace, sizeof workspace);
 *     pair_forward(&net, batch, x, output_0, output_1);
 */
#ifndef MODC_MODEL_PAIR_H
#define MODC_MODEL_PAIR_H

#include "modc.h"

#if MODC_ABI != 1
#error "pair.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PAIR_MAX_BATCH 64

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define PAIR_PARAM_BYTES 542784 /* parameters and buffers in PyTorch's layout */
#define PAIR_PACKED_BYTES 524288 /* what pair_pack makes of them for the kernels */
#define PAIR_WORKSPACE_BYTES 131072
#define PAIR_TRAIN_WORKSPACE_BYTES 131072

/* Modules, for hooks and tables. */
enum {
    PAIR_ROOT,
    PAIR_WIDE,
    PAIR_NARROW,
    PAIR_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct pair_params {
    struct modc_params base;
    struct {
        const float *weight; /* (512, 256) */
        const float *bias; /* (512) */
    } wide;
    struct {
        const float *weight; /* (8, 512) */
        const float *bias; /* (8) */
    } narrow;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct pair {
    struct modc_context base;
    struct modc_threading threading;
    const struct modc_isa *isa; /* what calls run on */
};

/* output_0 float32 (batch, 8), output_1 float32 (512) from x float32 (batch, 256) */
enum modc_status pair_forward(struct pair *net, int batch, const float *x, float *output_0,
                              float *output_1);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model pair_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status pair_bind(struct pair_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &pair_model, block, bytes);
}

static inline enum modc_status pair_load_bytes(struct pair_params *params, const void *bytes, size_t length,
                                               unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status pair_save_bytes(const struct pair_params *params, void *out, size_t capacity,
                                               size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status pair_pack(struct pair_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status pair_reset(struct pair_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void pair_changed(struct pair_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status pair_to(const struct pair_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status pair_get(const struct pair_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&pair_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&pair_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void pair_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &pair_model, 0, prefix, recurse, true);
}

static inline void pair_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &pair_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status pair_load(struct pair_params *params, const char *path, unsigned flags,
                                         struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status pair_save(const struct pair_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status pair_create(struct pair_params *params, struct pair **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&pair_model, &params->base, 0, &base);

    *net = (struct pair *)(void *)base;
    return status;
}

static inline void pair_destroy(struct pair *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status pair_init(struct pair *net, struct pair_params *params, void *workspace,
                                         size_t bytes)
{
    return modc_init(&net->base, &pair_model, &params->base, workspace, bytes);
}

static inline void pair_train(struct pair *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void pair_eval(struct pair *net)
{
    modc_train(&net->base, false);
}

static inline void pair_seed(struct pair *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Instruction sets: what calls of this context run on ("x86-64-v3"), chosen by pair_init for the machine; and
 * another choice (NULL: that of pair_init). */
static inline const char *pair_isa(const struct pair *net)
{
    return net->isa->name;
}

static inline enum modc_status pair_set_isa(struct pair *net, const char *name)
{
    return modc_set_isa(&net->base, name);
}

/* Threads: what calls run on (NULL: one thread), and how many threads of it. */
static inline enum modc_status pair_set_executor(struct pair *net, const struct modc_executor *executor)
{
    return modc_set_executor(&net->base, executor);
}

static inline enum modc_status pair_set_threads(struct pair *net, int threads)
{
    return modc_set_threads(&net->base, threads);
}

static inline void pair_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&pair_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
