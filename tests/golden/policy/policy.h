/* policy.h - written by modc from policy.yaml; change the spec, not this file. It is yours, under any terms.
 *
 *     struct policy_params params;
 *     struct policy net;
 *     policy_bind(&params, param_block, sizeof param_block);
 *     policy_load(&params, "policy.safetensors", MODC_STRICT, &report);
 *     policy_pack(&params, packed_block, sizeof packed_block);
 *     policy_init(&net, &params, workspace, sizeof workspace);
 *     policy_forward(&net, batch, observation, logits, value);
 */
#ifndef MODC_MODEL_POLICY_H
#define MODC_MODEL_POLICY_H

#include "modc.h"
#include "modc_rollout.h"

#if MODC_ABI != 1
#error "policy.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define POLICY_MAX_BATCH 256
#define POLICY_ACT_MAX_BATCH 1

/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define POLICY_PARAM_BYTES 18880 /* parameters and buffers in PyTorch's layout */
#define POLICY_PACKED_BYTES 17408 /* what policy_pack makes of them for the kernels */
#define POLICY_WORKSPACE_BYTES 131072
#define POLICY_TRAIN_WORKSPACE_BYTES 131072
#define POLICY_FENCED_WORKSPACE_BYTES 135168
#define POLICY_TRAIN_FENCED_WORKSPACE_BYTES 135168
#define POLICY_ACT_WORKSPACE_BYTES 512
#define POLICY_ACT_TRAIN_WORKSPACE_BYTES 512
#define POLICY_ACT_FENCED_WORKSPACE_BYTES 576
#define POLICY_ACT_TRAIN_FENCED_WORKSPACE_BYTES 576

/* Modules, for hooks and tables. */
enum {
    POLICY_ROOT,
    POLICY_TRUNK,
    POLICY_TRUNK_0,
    POLICY_TRUNK_1,
    POLICY_TRUNK_2,
    POLICY_TRUNK_3,
    POLICY_ACTOR,
    POLICY_CRITIC,
    POLICY_N_STEP,
    POLICY_MODULES
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct policy_params {
    struct modc_params base;
    struct {
        struct {
            const float *weight; /* (64, 4) */
            const float *bias; /* (64) */
        } _0;
        struct {
            const float *weight; /* (64, 64) */
            const float *bias; /* (64) */
        } _2;
    } trunk;
    struct {
        const float *weight; /* (2, 64) */
        const float *bias; /* (2) */
    } actor;
    struct {
        const float *weight; /* (1, 64) */
        const float *bias; /* (1) */
    } critic;
    struct {
        const float *gammas; /* (1, 1, 4) */
    } n_step;
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct policy {
    struct modc_context base;
};

/* logits float32 (batch, 2), value float32 (batch, 1) from observation float32 (batch, 4) */
enum modc_status policy_forward(struct policy *net, int batch, const float *observation, float *logits,
                                float *value);

/* output float32 (batch, 2) from observation float32 (batch, 4) */
enum modc_status policy_act(struct policy *net, int batch, const float *observation, float *output);

/* What a collector records: of each row, as of an environment, a step at each time. */
struct policy_rollout {
    float *observation; /* (batch, time, 4) */
    int64_t *action; /* (batch, time) */
    struct {
        float *observation; /* (batch, time, 4) */
        float *reward; /* (batch, time) */
        bool *done; /* (batch, time) */
        bool *terminated; /* (batch, time) */
        float *original_reward; /* (batch, time): what next.reward was; NULL: not wanted */
    } next;
    float *gamma; /* (batch, time): 0.99 to the power of steps_to_next_obs; NULL: not wanted */
    int64_t *steps_to_next_obs; /* (batch, time): how many rewards are in the sum; NULL: not wanted */
    bool *nonterminal; /* (batch, time): whether next is that of a later step; NULL: not wanted */
};

#define POLICY_ROLLOUT_BYTES(batch, time) ((size_t)(batch) * (size_t)(time) * 63 + 10 * MODC_ALIGN)
extern const struct modc_rollout_table policy_rollout_table;

/* Points all tensors into one block; see modc_rollout.h. */
static inline enum modc_status policy_rollout_bind(struct policy_rollout *rollout, void *block,
                                                   size_t bytes, int batch, int time)
{
    return modc_rollout_bind(&policy_rollout_table, rollout, block, bytes, batch, time);
}

/* n-step returns in place, as n_step says: of next.reward the sum of up to 3, discounted by 0.99, which next.done and the
 * last step of a row end. What else is under next comes from the last of these steps, but for what says how a step
 * ended. MODC_POINTER: what it reads or moves is NULL; MODC_SIZE, MODC_ALIGNMENT. Then nothing is written. */
enum modc_status policy_n_step(const struct policy_rollout *rollout, int batch, int time);

#define POLICY_WINDOW_BYTES(batch) ((size_t)(batch) * 138)

/* The same for steps that come a few at a time: see modc_rollout.h. The block has POLICY_WINDOW_BYTES(batch). */
struct policy_window {
    struct modc_window base;
};

static inline enum modc_status policy_window_init(struct policy_window *window, int batch, void *block,
                                                  size_t bytes)
{
    return modc_window_init(&window->base, &policy_rollout_table, batch, block, bytes);
}

static inline enum modc_status policy_window_set(struct policy_window *window, int n_steps)
{
    return modc_window_set(&window->base, n_steps);
}

static inline int policy_window_ready(const struct policy_window *window, int time)
{
    return modc_window_ready(&window->base, time);
}

static inline enum modc_status policy_window_push(struct policy_window *window,
                                                  const struct policy_rollout *in, int time,
                                                   struct policy_rollout *out, int room, int *count)
{
    return modc_window_push(&window->base, in, time, out, room, count);
}

static inline enum modc_status policy_window_flush(struct policy_window *window, struct policy_rollout *out,
                                                   int room, int *count)
{
    return modc_window_flush(&window->base, out, room, count);
}

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model policy_model;

/* Parameters: see modc.h for what each returns. */
static inline enum modc_status policy_bind(struct policy_params *params, void *block, size_t bytes)
{
    return modc_bind(&params->base, &policy_model, block, bytes);
}

static inline enum modc_status policy_load_bytes(struct policy_params *params, const void *bytes,
                                                 size_t length, unsigned flags, struct modc_report *report)
{
    return modc_load_bytes(&params->base, bytes, length, flags, report);
}

static inline enum modc_status policy_save_bytes(const struct policy_params *params, void *out,
                                                 size_t capacity, size_t *length)
{
    return modc_save_bytes(&params->base, out, capacity, length);
}

static inline enum modc_status policy_pack(struct policy_params *params, void *block, size_t bytes)
{
    return modc_pack(&params->base, block, bytes);
}

static inline enum modc_status policy_reset(struct policy_params *params, uint64_t seed)
{
    return modc_reset(&params->base, seed);
}

static inline void policy_changed(struct policy_params *params)
{
    modc_changed(&params->base);
}

/* Into the parameters of another dtype of the model (bound), or into others of this one. */
static inline enum modc_status policy_to(const struct policy_params *params, struct modc_params *to)
{
    return modc_to(&params->base, to);
}

/* Copies a parameter or buffer ("trunk.0.weight") out, in PyTorch's layout. */
static inline enum modc_status policy_get(const struct policy_params *params, const char *key, void *out)
{
    int index;
    enum modc_status status = modc_get_parameter(&policy_model, key, &index);

    if (status != MODC_OK)
        status = modc_get_buffer(&policy_model, key, &index);
    return status == MODC_OK ? modc_get(&params->base, index, out) : status;
}

static inline void policy_named_parameters(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_parameters(it, &policy_model, 0, prefix, recurse, true);
}

static inline void policy_named_buffers(struct modc_names *it, const char *prefix, bool recurse)
{
    modc_named_buffers(it, &policy_model, 0, prefix, recurse, true);
}

/* In modc_host.c: */
static inline enum modc_status policy_load(struct policy_params *params, const char *path, unsigned flags,
                                           struct modc_report *report)
{
    return modc_load(&params->base, path, flags, report);
}

static inline enum modc_status policy_save(const struct policy_params *params, const char *path)
{
    return modc_save(&params->base, path);
}

/* A context with a workspace of its own, by malloc (modc_host.c). */
static inline enum modc_status policy_create(struct policy_params *params, struct policy **net)
{
    struct modc_context *base = NULL;
    enum modc_status status = modc_create(&policy_model, &params->base, 0, &base);

    *net = (struct policy *)(void *)base;
    return status;
}

static inline void policy_destroy(struct policy *net)
{
    if (net)
        modc_destroy(&net->base);
}

/* Contexts. */
static inline enum modc_status policy_init(struct policy *net, struct policy_params *params,
                                           void *workspace, size_t bytes)
{
    return modc_init(&net->base, &policy_model, &params->base, workspace, bytes);
}

static inline void policy_train(struct policy *net, bool mode)
{
    modc_train(&net->base, mode);
}

static inline void policy_eval(struct policy *net)
{
    modc_train(&net->base, false);
}

static inline void policy_seed(struct policy *net, uint64_t seed)
{
    modc_seed(&net->base, seed);
}

/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */
static inline enum modc_status policy_register_forward_hook(struct policy *net, int module,
                                                            struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_hook(&net->base, module, hook, flags);
}

static inline enum modc_status policy_register_forward_pre_hook(struct policy *net, int module,
                                                                struct modc_hook *hook, unsigned flags)
{
    return modc_register_forward_pre_hook(&net->base, module, hook, flags);
}

/* Hooks of all modules, shared by any number of contexts; NULL: none. */
static inline enum modc_status policy_attach(struct policy *net, const struct modc_hook_set *set)
{
    return modc_attach(&net->base, set);
}

static inline void policy_print(void (*write)(void *user, const char *text, size_t length), void *user)
{
    modc_print(&policy_model, write, user);
}

#ifdef __cplusplus
}
#endif
#endif
