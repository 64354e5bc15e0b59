/* policy.h - written by modc from policy.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct policy_params params;
 *     struct policy net;
 *     policy_bind(&params, param_block, sizeof param_block);
 *     policy_load(&params, "policy.safetensors", MODC_STRICT, &report);
 *     policy_pack(&params, packed_block, POLICY_PACKED_BYTES);
 *     policy_init(&net, &params, workspace, POLICY_WORKSPACE_BYTES);
 *     policy_forward(&net, batch, observation, logits, value);
 *     policy_sync(&net);
 *
 * packed_block, workspace and the tensors of calls lie in the GPU's memory.
 */
#ifndef MODC_MODEL_POLICY_H
#define MODC_MODEL_POLICY_H

#include "modc_device.h"
#include "modc_rollout.h"

#if MODC_ABI != 5
#error "policy.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define POLICY_MAX_BATCH 256
#define POLICY_ACT_MAX_BATCH 1

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

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct policy {
    struct modc_context base;
    struct modc_cuda cuda; /* its stream */
};

/* Nested as the module tree; in PyTorch's layout. */
struct policy_tensors {
    struct {
        struct { const float *weight, *bias; } _0; /* (64, 4), (64) */
        struct { const float *weight, *bias; } _2; /* (64, 64), (64) */
    } trunk;
    struct { const float *weight, *bias; } actor; /* (2, 64), (2) */
    struct { const float *weight, *bias; } critic; /* (1, 64), (1) */
    struct { const float *gammas; } n_step; /* (1, 1, 4) */
};

/* `base` and `mirror` are the runtime's. What is written to `host` by hand: see note [mirror] in
 * modc_device.h. */
struct policy_params {
    struct modc_params base;
    struct policy_tensors host, device;
    struct modc_mirror mirror;
};

#define POLICY_SCHEMA 0x27020ff648097f09u /* of keys, shapes and types */
/* Blocks that the caller places: that of the parameters in the host's memory, at a multiple of
 * MODC_ALIGN, the others in the device's, at one of MODC_DEVICE_ALIGN. */
#define POLICY_PARAM_BYTES 19456 /* parameters and buffers in PyTorch's layout */
#define POLICY_PACKED_BYTES 19456 /* what policy_pack makes of them for the kernels */
#define POLICY_STATE_BYTES 256 /* at the head of every workspace */
#define POLICY_WORKSPACE_BYTES 131328
#define POLICY_TRAIN_WORKSPACE_BYTES 131328
#define POLICY_FENCED_WORKSPACE_BYTES 135424
#define POLICY_TRAIN_FENCED_WORKSPACE_BYTES 135424
#define POLICY_ACT_WORKSPACE_BYTES 768
#define POLICY_ACT_TRAIN_WORKSPACE_BYTES 768
#define POLICY_ACT_FENCED_WORKSPACE_BYTES 1024
#define POLICY_ACT_TRAIN_FENCED_WORKSPACE_BYTES 1024
#define POLICY_FORWARD_HOST_BYTES 7168 /* for policy_forward_host, at the end of a workspace */
#define POLICY_ACT_HOST_BYTES 512 /* for policy_act_host, at the end of a workspace */

/* logits float32 (batch, 2), value float32 (batch, 1) from observation float32 (batch, 4) */
enum modc_status policy_forward(struct policy *net, int batch, const float *observation,
                                float *logits, float *value);

/* The same with pointers of the host: copies in and out, and waits. Takes POLICY_FORWARD_HOST_BYTES
 * bytes more of the workspace. */
enum modc_status policy_forward_host(struct policy *net, int batch, const float *observation,
                                     float *logits, float *value);

/* output float32 (batch, 2) from observation float32 (batch, 4) */
enum modc_status policy_act(struct policy *net, int batch, const float *observation, float *output);

/* The same with pointers of the host: copies in and out, and waits. Takes POLICY_ACT_HOST_BYTES
 * bytes more of the workspace. */
enum modc_status policy_act_host(struct policy *net, int batch, const float *observation,
                                 float *output);

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
    /* (batch, time): how many rewards are in the sum; NULL: not wanted */
    int64_t *steps_to_next_obs;
    bool *nonterminal; /* (batch, time): whether next is that of a later step; NULL: not wanted */
};

#define POLICY_ROLLOUT_BYTES(batch, time) ((size_t)(batch) * (size_t)(time) * 63 + 10 * MODC_ALIGN)
extern const struct modc_rollout_table policy_rollout_table;

/* policy_rollout_bind: points all tensors into one block; see modc_rollout.h. */
MODC_ROLLOUT_FUNCTIONS(policy)

/* n-step returns in place, as n_step says: of next.reward the sum of up to 3, discounted by 0.99,
 * which next.done and the last step of a row end. What else is under next comes from the last of
 * these steps, but for what says how a step ended. MODC_POINTER: what it reads or moves is NULL;
 * MODC_SIZE, MODC_ALIGNMENT. Then nothing is written. */
enum modc_status policy_n_step(const struct policy_rollout *rollout, int batch, int time);

#define POLICY_WINDOW_BYTES(batch) ((size_t)(batch) * 138)

/* The same for steps that come a few at a time, as modc_rollout.h says: policy_window_init with
 * POLICY_WINDOW_BYTES(batch), policy_window_set, policy_window_ready, policy_window_push,
 * policy_window_flush. */
struct policy_window {
    struct modc_window base;
};
MODC_WINDOW_FUNCTIONS(policy)

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model policy_model;

/* The runtime's functions for this model, as modc.h and modc_device.h have them: */
MODC_FUNCTIONS(policy)
    /* policy_bind, policy_load_bytes, policy_save_bytes, policy_pack, policy_reset,
     * policy_changed, policy_to, policy_get, policy_named_parameters, policy_named_buffers,
     * policy_init, policy_train, policy_eval, policy_seed, policy_print */
MODC_HOSTED_FUNCTIONS(policy)
    /* policy_load, policy_save, policy_create, policy_destroy */
MODC_HOOK_FUNCTIONS(policy)
    /* policy_register_forward_pre_hook, policy_register_forward_hook, policy_attach */
MODC_DEVICE_FUNCTIONS(policy)
    /* policy_set_stream, policy_sync, policy_device, policy_download */

#ifdef __cplusplus
}
#endif
#endif
