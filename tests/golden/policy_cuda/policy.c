/* policy.c - written by modc from policy.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "policy.h"

#include <string.h>

#include "policy_kernels.h"
#include "modc_simd.h"

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 1163264.0
#define MACS_OF_ACT 4480.0
#define RTOL_OF_POLICY 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const trunk_0 = (void *)(ws + 0); /* (batch, 64) */ \
    float *const features = (void *)(ws + 65536); /* (batch, 64) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    const struct modc_tensor copy_of_observation = {ws + 131072, MODC_FLOAT32, 2, {batch, 4}}; \
    const struct modc_tensor trunk_0 = {ws + 0, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_1 = {ws + 65536, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_2 = {ws + 0, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_3 = {ws + 65536, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor actor = {ws + 0, MODC_FLOAT32, 2, {batch, 2}}; \
    const struct modc_tensor critic = {ws + 2048, MODC_FLOAT32, 2, {batch, 1}}; \

#define TENSORS_OF_ACT_EVAL \
    float *const trunk_0 = (void *)(ws + 0); /* (batch, 64) */ \
    float *const trunk_2 = (void *)(ws + 256); /* (batch, 64) */ \

#define TENSORS_OF_ACT_EVAL_FENCED \
    const struct modc_tensor copy_of_observation = {ws + 0, MODC_FLOAT32, 2, {batch, 4}}; \
    const struct modc_tensor trunk_0 = {ws + 256, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_1 = {ws + 512, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_2 = {ws + 256, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_3 = {ws + 512, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor actor = {ws + 256, MODC_FLOAT32, 2, {batch, 2}}; \

/* What a context works with. */
#define CONTEXT_OF_POLICY \
    const struct policy_tensors *const p MODC_UNUSED = \
        &((const struct policy_params *)(const void *)net->base.params)->device; \
    const struct policy_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace + POLICY_STATE_BYTES

/* What the kernels read */
struct policy_packed {
    MODC_ALIGNED char parameters[19456]; /* as they lie in their own block */
};

#define PACKED_OF(params) ((struct policy_packed *)(params)->packed)

typedef char policy_packed_fits[sizeof(struct policy_packed) <= POLICY_PACKED_BYTES ? 1 : -1];

static enum modc_status policy_pack_all(struct modc_params *params)
{
    struct policy_packed *k MODC_UNUSED = params->packed;

    MODC_TRY(modc_upload(params));
    return modc_uploaded(params);
}

static enum modc_status policy_forward_eval(struct policy *net, int batch, const float *observation,
                                            float *logits, float *value)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_FORWARD_EVAL;

    /* trunk.0: Linear(4, hidden)
     * trunk.1: Tanh() */
    MODC_RUN(
        policy_trunk_0_linear_fused, trunk_0, observation, p->trunk._0.weight, p->trunk._0.bias,
        batch);

    /* trunk.2: Linear(hidden, hidden)
     * trunk.3: Tanh() */
    MODC_RUN(
        policy_trunk_2_linear_fused, features, trunk_0, p->trunk._2.weight, p->trunk._2.bias,
        batch);

    /* actor: Linear(hidden, 2) */
    MODC_RUN(policy_actor_linear, logits, features, p->actor.weight, p->actor.bias, batch);

    /* critic: Linear(hidden, 1) */
    MODC_RUN(policy_critic_linear, value, features, p->critic.weight, p->critic.bias, batch);
    return MODC_OK;
}

static enum modc_status policy_forward_eval_fenced(struct policy *net, int batch,
                                                   const float *observation, float *logits,
                                                   float *value)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    MODC_RUN_HOOKED(
        modc_cuda_copy, copy_of_observation.data, observation,
        modc_tensor_bytes(&copy_of_observation));

    MODC_ENTER(net, self_call, POLICY_ROOT, copy_of_observation);
    MODC_ENTER(net, trunk_call, POLICY_TRUNK, self_call_in[0]);
    MODC_ENTER(net, trunk_0_call, POLICY_TRUNK_0, trunk_call_in[0]);
    MODC_RUN_HOOKED(
        policy_trunk_0_linear, trunk_0.data, trunk_0_call_in[0].data, p->trunk._0.weight,
        p->trunk._0.bias, batch);
    MODC_LEAVE(net, trunk_0_call, trunk_0);

    MODC_ENTER(net, trunk_1_call, POLICY_TRUNK_1, trunk_0_call_out[0]);
    MODC_RUN_HOOKED(policy_trunk_1_forward, trunk_1.data, trunk_1_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_1_call, trunk_1);

    MODC_ENTER(net, trunk_2_call, POLICY_TRUNK_2, trunk_1_call_out[0]);
    MODC_RUN_HOOKED(
        policy_trunk_2_linear, trunk_2.data, trunk_2_call_in[0].data, p->trunk._2.weight,
        p->trunk._2.bias, batch);
    MODC_LEAVE(net, trunk_2_call, trunk_2);

    MODC_ENTER(net, trunk_3_call, POLICY_TRUNK_3, trunk_2_call_out[0]);
    MODC_RUN_HOOKED(policy_trunk_1_forward, trunk_3.data, trunk_3_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_3_call, trunk_3);
    MODC_LEAVE(net, trunk_call, trunk_3_call_out[0]);

    MODC_ENTER(net, actor_call, POLICY_ACTOR, trunk_call_out[0]);
    MODC_RUN_HOOKED(
        policy_actor_linear, actor.data, actor_call_in[0].data, p->actor.weight, p->actor.bias,
        batch);
    MODC_LEAVE(net, actor_call, actor);

    MODC_ENTER(net, critic_call, POLICY_CRITIC, trunk_call_out[0]);
    MODC_RUN_HOOKED(
        policy_critic_linear, critic.data, critic_call_in[0].data, p->critic.weight, p->critic.bias,
        batch);
    MODC_LEAVE(net, critic_call, critic);
    MODC_LEAVE(net, self_call, actor_call_out[0], critic_call_out[0]);
    MODC_RUN_HOOKED(
        modc_cuda_copy, logits, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    MODC_RUN_HOOKED(
        modc_cuda_copy, value, self_call_out[1].data, modc_tensor_bytes(&self_call_out[1]));
    return MODC_OK;
}

static enum modc_status policy_act_eval(struct policy *net, int batch, const float *observation,
                                        float *output)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_ACT_EVAL;

    /* trunk.0: Linear(4, hidden)
     * trunk.1: Tanh() */
    MODC_RUN(
        policy_trunk_0_linear_fused_act, trunk_0, observation, p->trunk._0.weight, p->trunk._0.bias,
        batch);

    /* trunk.2, trunk.3 */
    MODC_RUN(
        policy_trunk_2_linear_fused_act, trunk_2, trunk_0, p->trunk._2.weight, p->trunk._2.bias,
        batch);

    /* actor */
    MODC_RUN(
        policy_actor_linear_weight_bias, output, trunk_2, p->actor.weight, p->actor.bias, batch);
    return MODC_OK;
}

static enum modc_status policy_act_eval_fenced(struct policy *net, int batch,
                                               const float *observation, float *output)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_ACT_EVAL_FENCED;

    MODC_RUN_HOOKED(
        modc_cuda_copy, copy_of_observation.data, observation,
        modc_tensor_bytes(&copy_of_observation));

    MODC_ENTER(net, self_call, POLICY_ROOT, copy_of_observation);
    MODC_ENTER(net, trunk_call, POLICY_TRUNK, self_call_in[0]);
    MODC_ENTER(net, trunk_0_call, POLICY_TRUNK_0, trunk_call_in[0]);
    MODC_RUN_HOOKED(
        policy_trunk_0_linear_act, trunk_0.data, trunk_0_call_in[0].data, p->trunk._0.weight,
        p->trunk._0.bias, batch);
    MODC_LEAVE(net, trunk_0_call, trunk_0);

    MODC_ENTER(net, trunk_1_call, POLICY_TRUNK_1, trunk_0_call_out[0]);
    MODC_RUN_HOOKED(policy_trunk_1_forward, trunk_1.data, trunk_1_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_1_call, trunk_1);

    MODC_ENTER(net, trunk_2_call, POLICY_TRUNK_2, trunk_1_call_out[0]);
    MODC_RUN_HOOKED(
        policy_trunk_2_linear_act, trunk_2.data, trunk_2_call_in[0].data, p->trunk._2.weight,
        p->trunk._2.bias, batch);
    MODC_LEAVE(net, trunk_2_call, trunk_2);

    MODC_ENTER(net, trunk_3_call, POLICY_TRUNK_3, trunk_2_call_out[0]);
    MODC_RUN_HOOKED(policy_trunk_1_forward, trunk_3.data, trunk_3_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_3_call, trunk_3);
    MODC_LEAVE(net, trunk_call, trunk_3_call_out[0]);

    MODC_ENTER(net, actor_call, POLICY_ACTOR, trunk_call_out[0]);
    MODC_RUN_HOOKED(
        policy_actor_linear_weight_bias, actor.data, actor_call_in[0].data, p->actor.weight,
        p->actor.bias, batch);
    MODC_LEAVE(net, actor_call, actor);
    MODC_LEAVE(net, self_call, actor_call_out[0]);
    MODC_RUN_HOOKED(
        modc_cuda_copy, output, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    return MODC_OK;
}

enum modc_status policy_forward(struct policy *net, int batch, const float *observation,
                                float *logits, float *value)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && observation && logits && value, POINTER);
    MODC_NEED(((uintptr_t)observation | (uintptr_t)logits | (uintptr_t)value) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= POLICY_MAX_BATCH, SIZE);
    MODC_ON_DEVICE(observation);
    MODC_ON_DEVICE(logits);
    MODC_ON_DEVICE(value);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, POLICY_FENCED_WORKSPACE_BYTES, true, false));
        status = policy_forward_eval_fenced(net, batch, observation, logits, value);
    } else {
        MODC_TRY(modc_check(&net->base, POLICY_WORKSPACE_BYTES, true, false));
        status = policy_forward_eval(net, batch, observation, logits, value);
    }
    return status;
}

enum modc_status policy_forward_host(struct policy *net, int batch, const float *observation,
                                     float *logits, float *value)
{
    const void *given[2] = {observation};
    void *made[4] = {logits, value};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_call_host(
                           &net->base, &policy_model.entries[0], all_sizes, given, made);
}

enum modc_status policy_act(struct policy *net, int batch, const float *observation, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && observation && output, POINTER);
    MODC_NEED(((uintptr_t)observation | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= POLICY_ACT_MAX_BATCH, SIZE);
    MODC_ON_DEVICE(observation);
    MODC_ON_DEVICE(output);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, POLICY_ACT_FENCED_WORKSPACE_BYTES, true, false));
        status = policy_act_eval_fenced(net, batch, observation, output);
    } else {
        MODC_TRY(modc_check(&net->base, POLICY_ACT_WORKSPACE_BYTES, true, false));
        status = policy_act_eval(net, batch, observation, output);
    }
    return status;
}

enum modc_status policy_act_host(struct policy *net, int batch, const float *observation,
                                 float *output)
{
    const void *given[2] = {observation};
    void *made[2] = {output};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_call_host(
                           &net->base, &policy_model.entries[1], all_sizes, given, made);
}

static MODC_ALIGNED const float n_step_gammas_value[4] = {
    1.0f, 0.99000001f, 0.980099976f, 0.970299006f
};

/* ---- rollouts ---- */

/* Each of an episode's `count` steps gets the sum of its reward and of 2 behind it, or as many as
 * there are, discounted by 0.99. */
static void n_step_next_reward(void *rewards, int count)
{
    float *const reward = rewards;
    const int all = count, few = all < 2 ? all : 2, whole = all - few;
    float last[2]; /* from the last one back */
    int i = 0;

    for (int j = 0; j < few; j++)
        last[j] = reward[all - 1 - j] + (j < 1 ? 0 : 0.99000001f * last[j - 1]);
    for (; i <= whole - MODC_LANES; i += MODC_LANES)
        modc_f32_store(
            reward + i,
            modc_f32_load(reward + i) +
            0.99000001f *
            (modc_f32_load(reward + i + 1) + 0.99000001f * modc_f32_load(reward + i + 2)));
    for (; i < whole; i++)
        reward[i] += 0.99000001f * (reward[i + 1] + 0.99000001f * reward[i + 2]);
    for (int j = 0; j < few; j++)
        reward[all - 1 - j] = last[j];
}

enum modc_status policy_n_step(const struct policy_rollout *rollout, int batch, int time)
{
    return modc_n_step(&policy_rollout_table, rollout, batch, time);
}

static const struct modc_rollout_tensor rollout_tensors[] = {
    MODC_RECORD(policy, observation, 16, FLOAT32, STAYS, 1, (const int[]){4}, -1, NULL),
    MODC_RECORD(policy, action, 8, INT64, STAYS, 0, NULL, -1, NULL),
    MODC_RECORD(policy, next.observation, 16, FLOAT32, MOVES, 1, (const int[]){4}, -1, NULL),
    MODC_RECORD(policy, next.reward, 4, FLOAT32, REWARD, 0, NULL, -1, n_step_next_reward),
    MODC_RECORD(policy, next.done, 1, BOOL, STAYS, 0, NULL, -1, NULL),
    MODC_RECORD(policy, next.terminated, 1, BOOL, STAYS, 0, NULL, -1, NULL),
    MODC_RECORD(policy, next.original_reward, 4, FLOAT32, ORIGINAL, 0, NULL, 3, NULL),
    MODC_RECORD(policy, gamma, 4, FLOAT32, GAMMA, 0, NULL, -1, NULL),
    MODC_RECORD(policy, steps_to_next_obs, 8, INT64, STEPS, 0, NULL, -1, NULL),
    MODC_RECORD(policy, nonterminal, 1, BOOL, NONTERMINAL, 0, NULL, -1, NULL),
};

const struct modc_rollout_table policy_rollout_table = {
    .tensors = rollout_tensors,
    .count = 10,
    .step_bytes = 63,
    .held_bytes = 46,
    .agents = 1,
    .done = 4,
    .mask = -1,
    .terminated = 5,
    .n_steps = 3,
    .gamma = 0.99,
    .gammas = n_step_gammas_value,
};

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", POLICY_MAX_BATCH}};

MODC_CALL(policy, forward, (net, sizes[0], inputs[0], outputs[0], outputs[1]))
MODC_CALL(policy, act, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"observation", MODC_FLOAT32, 2, {POLICY_MAX_BATCH, 4}, {0, -1}, false},
    {"logits", MODC_FLOAT32, 2, {POLICY_MAX_BATCH, 2}, {0, -1}, false},
    {"value", MODC_FLOAT32, 2, {POLICY_MAX_BATCH, 1}, {0, -1}, false},
};

static const struct modc_io act_io[] = {
    {"observation", MODC_FLOAT32, 2, {POLICY_ACT_MAX_BATCH, 4}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {POLICY_ACT_MAX_BATCH, 2}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 2, MACS_OF_FORWARD, NULL, NULL, MODC_HOOKED(POLICY), POLICY_MAX_BATCH),
    MODC_ENTRY(act, 1, 1, MACS_OF_ACT, NULL, NULL, MODC_HOOKED(POLICY_ACT), POLICY_ACT_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "policy", "", -1, 8, false},
    {"trunk", "trunk", "Sequential", "", 0, 4, false},
    {"trunk.0", "0", "Linear", "in_features=4, out_features=64, bias=True", POLICY_TRUNK, 0, false},
    {"trunk.1", "1", "Tanh", "", POLICY_TRUNK, 0, false},
    {"trunk.2", "2", "Linear", "in_features=64, out_features=64, bias=True", POLICY_TRUNK, 0,
     false},
    {"trunk.3", "3", "Tanh", "", POLICY_TRUNK, 0, false},
    {"actor", "actor", "Linear", "in_features=64, out_features=2, bias=True", 0, 0, false},
    {"critic", "critic", "Linear", "in_features=64, out_features=1, bias=True", 0, 0, false},
    {"n_step", "n_step", "MultiStep", "", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("trunk.0.weight", POLICY_TRUNK_0, FLOAT32, UNIFORM(0.5), 2, {64, 4}),
    MODC_PARAMETER("trunk.0.bias", POLICY_TRUNK_0, FLOAT32, UNIFORM(0.5), 1, {64}),
    MODC_PARAMETER("trunk.2.weight", POLICY_TRUNK_2, FLOAT32, UNIFORM(0.125), 2, {64, 64}),
    MODC_PARAMETER("trunk.2.bias", POLICY_TRUNK_2, FLOAT32, UNIFORM(0.125), 1, {64}),
    MODC_PARAMETER("actor.weight", POLICY_ACTOR, FLOAT32, UNIFORM(0.125), 2, {2, 64}),
    MODC_PARAMETER("actor.bias", POLICY_ACTOR, FLOAT32, UNIFORM(0.125), 1, {2}),
    MODC_PARAMETER("critic.weight", POLICY_CRITIC, FLOAT32, UNIFORM(0.125), 2, {1, 64}),
    MODC_PARAMETER("critic.bias", POLICY_CRITIC, FLOAT32, UNIFORM(0.125), 1, {1}),
    MODC_BUFFER("n_step.gammas", POLICY_N_STEP, FLOAT32, VALUE(n_step_gammas_value), 3, {1, 1, 4}),
};

const struct modc_model policy_model = {
    .abi = MODC_ABI, .name = "policy", .schema = POLICY_SCHEMA,
    .rtol = RTOL_OF_POLICY,
    .align = MODC_ALIGN, .tensor_align = 256,
    .params_bytes = sizeof(struct policy_params),
    .context_bytes = sizeof(struct policy),
    .param_block = POLICY_PARAM_BYTES,
    .packed_block = POLICY_PACKED_BYTES, .pack = policy_pack_all,
    .state_block = POLICY_STATE_BYTES,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = POLICY_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .device = &modc_cuda_device,
    .rollout = &policy_rollout_table,
};
