/* policy.c - written by modc from policy.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "policy.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* rows x outputs of y at (row, column); both are constants of the call. */
MODC_INLINE void gemm_dot_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int outputs, const int row, const int column, const int BIAS, const int M,
    const int N, const int K, const int LDX, const int LDY, const int LDW, float (*TAIL)(float x))
{
    const int tile = rows * outputs, whole = K / MODC_LANES * MODC_LANES;
    modc_f32 sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];

    x += row * LDX;
    w += column * LDW;
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = modc_f32_set(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += MODC_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = modc_f32_load(x + i * LDX + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            modc_f32 b = modc_f32_load(w + j * LDW + k);

            MODC_KEEP(b);
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * outputs + j] += a[i] * b;
        }
    }
    if (whole < K) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += modc_f32_load_part(x + i / outputs * LDX + whole, K - whole) *
                      modc_f32_load_part(w + i % outputs * LDW + whole, K - whole);
    }
    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
        float total[MODC_DOT_OUTPUTS];

        modc_f32_sums(sum + i * outputs, total, outputs);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const float value = BIAS ? total[j] + bias[column + j] : total[j];

            y[(row + i) * LDY + column + j] = TAIL(value);
        }
    }
}

/* Rows from ... to - 1, `rows` at a time, a constant of the call. */
MODC_INLINE void gemm_dot_block(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int from, const int to, const int BIAS, const int M, const int N,
    const int K, const int LDX, const int LDY, const int LDW, float (*TAIL)(float x))
{
    for (int r = from; r < to; r += rows) {
        int c = 0;

        for (; c <= N - MODC_DOT_OUTPUTS; c += MODC_DOT_OUTPUTS)
            gemm_dot_tile(
                y, x, w, bias, rows, MODC_DOT_OUTPUTS, r, c, BIAS, M, N, K, LDX, LDY, LDW, TAIL);
        if (c < N)
            gemm_dot_tile(
                y, x, w, bias, rows, N % MODC_DOT_OUTPUTS, r, c, BIAS, M, N, K, LDX, LDY, LDW,
                TAIL);
    }
}

/* In dot products, a few rows and outputs at a time: too few outputs to fill panels, or w as it
 * lies. */
MODC_INLINE void gemm_dot(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    const int LDW, float (*TAIL)(float x))
{
    const int whole = M / MODC_DOT_ROWS * MODC_DOT_ROWS;

    gemm_dot_block(y, x, w, bias, MODC_DOT_ROWS, 0, whole, BIAS, M, N, K, LDX, LDY, LDW, TAIL);
    gemm_dot_block(y, x, w, bias, 1, whole, M, BIAS, M, N, K, LDX, LDY, LDW, TAIL);
}

/* One tile at (row, column); rows and columns are constants of the call. */
MODC_INLINE void gemm_panel_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int columns, const int row, const int column, const int BIAS, const int M,
    const int N, const int K, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int vectors = (columns + MODC_LANES - 1) / MODC_LANES, tile = rows * vectors;
    const int sets = MODC_TILE_SETS(tile, K), whole = K / sets * sets; /* sets of sums share K */
    modc_f32 sum[MODC_TILE_REGISTERS];

    MODC_TILE_FENCE;
    x += row * LDX;
    w += MODC_PANEL_AT(column, K, 16);
    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = BIAS && i < tile ? modc_f32_load(bias + column + i % vectors * MODC_LANES)
                                  : modc_f32_set(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += sets) {
        MODC_UNROLL
        for (int i = 0; i < tile * sets; i++)
            sum[i] += x[i / vectors % rows * LDX + k + i / tile] *
                      modc_f32_load(
                          w + MODC_PANEL_AT(i % vectors * MODC_LANES, K, 16) + (k + i / tile) * 16);
    }
    for (int k = whole; k < K; k++) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += x[i / vectors * LDX + k] *
                      modc_f32_load(w + MODC_PANEL_AT(i % vectors * MODC_LANES, K, 16) + k * 16);
    }
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * MODC_LANES;
        const int rest = columns - i % vectors * MODC_LANES;

        modc_f32_store_most(y + r * LDY + c, TAIL_V(sum[i]), rest);
    }
}

/* Rows from ... to - 1 and columns left ... right - 1 in tiles of `rows` rows, a constant of the
 * call. */
MODC_INLINE void gemm_panel_block(
    const int rows, const int from, const int to, const int left, const int right,
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES;

    for (int r = from; r < to; r += rows) {
        int c = left;

        for (; c <= right - band; c += band)
            gemm_panel_tile(y, x, w, bias, rows, band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V);
        if (c < right)
            gemm_panel_tile(y, x, w, bias, rows, N % band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V);
    }
}

/* In register tiles over all of the inner length, as many rows and panels of w as there are
 * registers. */
MODC_INLINE void gemm_panel(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    MODC_EACH_HEIGHT(gemm_panel_block, M, 0, N, y, x, w, bias, BIAS, M, N, K, LDX, LDY, TAIL_V);
}

/* y = F of the inputs, for each element. */
MODC_INLINE void map_1(float *y, const float *x0, const int count, modc_f32 (*F)(modc_f32 x0))
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES)
        modc_f32_store(y + i, F(modc_f32_load(x0 + i)));
    if (i < count)
        modc_f32_store_part(y + i, F(modc_f32_load_part(x0 + i, count - i)), count - i);
}

/* y (batch, 64) = x (batch, 4) . weight (64, 4)^T + bias */
static MODC_KERNEL void trunk_0_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 4, 4, 64, modc_f32_as_is);
}

/* y (batch, 64) = x (batch, 4) . weight (64, 4)^T + bias;
 * then tanh(x0) */
static MODC_KERNEL void trunk_0_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 4, 4, 64, modc_f32_tanh);
}

/* y (batch, 64) = tanh(x0) */
static MODC_KERNEL void trunk_1_forward(float *y, const float *x0, int batch)
{
    map_1(y, x0, 64 * batch, modc_f32_tanh);
}

/* y (batch, 64) = x (batch, 64) . weight (64, 64)^T + bias */
static MODC_KERNEL void trunk_2_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 64, 64, 64, modc_f32_as_is);
}

/* y (batch, 64) = x (batch, 64) . weight (64, 64)^T + bias;
 * then tanh(x0) */
static MODC_KERNEL void trunk_2_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 64, 64, 64, modc_f32_tanh);
}

/* y (batch, 2) = x (batch, 64) . weight (2, 64)^T + bias */
static MODC_KERNEL void actor_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 2, 64, 64, 2, 64, modc_f32s_as_is);
}

/* y (batch, 1) = x (batch, 64) . weight (1, 64)^T + bias */
static MODC_KERNEL void critic_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 1, 64, 64, 1, 64, modc_f32s_as_is);
}

MODC_KERNELS_END

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
    const struct modc_tensor copy_of_observation = {ws + 512, MODC_FLOAT32, 2, {batch, 4}}; \
    const struct modc_tensor trunk_0 = {ws + 0, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_1 = {ws + 256, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_2 = {ws + 0, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor trunk_3 = {ws + 256, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor actor = {ws + 0, MODC_FLOAT32, 2, {batch, 2}}; \

/* What a context works with. */
#define CONTEXT_OF_POLICY \
    const struct policy_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct policy_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct policy_packed {
    MODC_ALIGNED float trunk_0_weight[256]; /* panels [4][4][16] */
    MODC_ALIGNED float trunk_2_weight[4096]; /* panels [4][64][16] */
};

typedef char policy_packed_fits[MODC_PACKED_FITS(struct policy_packed, POLICY_PACKED_BYTES)];

static enum modc_status policy_pack_all(struct modc_params *params)
{
    const struct policy_params *p = (const void *)params;
    struct policy_packed *k = params->packed;

    modc_f32_pack(k->trunk_0_weight, p->trunk._0.weight, 64, 4, 4, 1);
    modc_f32_pack(k->trunk_2_weight, p->trunk._2.weight, 64, 64, 64, 1);
    return MODC_OK;
}

static void policy_forward_eval(struct policy *net, int batch, const float *observation,
                                float *logits, float *value)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_FORWARD_EVAL;

    /* trunk.0: Linear(4, hidden)
     * trunk.1: Tanh() */
    trunk_0_linear_fused(trunk_0, observation, k->trunk_0_weight, p->trunk._0.bias, batch);

    /* trunk.2: Linear(hidden, hidden)
     * trunk.3: Tanh() */
    trunk_2_linear_fused(features, trunk_0, k->trunk_2_weight, p->trunk._2.bias, batch);

    /* actor: Linear(hidden, 2) */
    actor_linear(logits, features, p->actor.weight, p->actor.bias, batch);

    /* critic: Linear(hidden, 1) */
    critic_linear(value, features, p->critic.weight, p->critic.bias, batch);
}

static enum modc_status policy_forward_eval_fenced(struct policy *net, int batch,
                                                   const float *observation, float *logits,
                                                   float *value)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    memcpy(copy_of_observation.data, observation, modc_tensor_bytes(&copy_of_observation));

    MODC_ENTER(net, self_call, POLICY_ROOT, copy_of_observation);
    MODC_ENTER(net, trunk_call, POLICY_TRUNK, self_call_in[0]);
    MODC_ENTER(net, trunk_0_call, POLICY_TRUNK_0, trunk_call_in[0]);
    trunk_0_linear(
        trunk_0.data, trunk_0_call_in[0].data, k->trunk_0_weight, p->trunk._0.bias, batch);
    MODC_LEAVE(net, trunk_0_call, trunk_0);

    MODC_ENTER(net, trunk_1_call, POLICY_TRUNK_1, trunk_0_call_out[0]);
    trunk_1_forward(trunk_1.data, trunk_1_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_1_call, trunk_1);

    MODC_ENTER(net, trunk_2_call, POLICY_TRUNK_2, trunk_1_call_out[0]);
    trunk_2_linear(
        trunk_2.data, trunk_2_call_in[0].data, k->trunk_2_weight, p->trunk._2.bias, batch);
    MODC_LEAVE(net, trunk_2_call, trunk_2);

    MODC_ENTER(net, trunk_3_call, POLICY_TRUNK_3, trunk_2_call_out[0]);
    trunk_1_forward(trunk_3.data, trunk_3_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_3_call, trunk_3);
    MODC_LEAVE(net, trunk_call, trunk_3_call_out[0]);

    MODC_ENTER(net, actor_call, POLICY_ACTOR, trunk_call_out[0]);
    actor_linear(actor.data, actor_call_in[0].data, p->actor.weight, p->actor.bias, batch);
    MODC_LEAVE(net, actor_call, actor);

    MODC_ENTER(net, critic_call, POLICY_CRITIC, trunk_call_out[0]);
    critic_linear(critic.data, critic_call_in[0].data, p->critic.weight, p->critic.bias, batch);
    MODC_LEAVE(net, critic_call, critic);
    MODC_LEAVE(net, self_call, actor_call_out[0], critic_call_out[0]);
    memcpy(logits, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    memcpy(value, self_call_out[1].data, modc_tensor_bytes(&self_call_out[1]));
    return MODC_OK;
}

static void policy_act_eval(struct policy *net, int batch, const float *observation, float *output)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_ACT_EVAL;

    /* trunk.0: Linear(4, hidden)
     * trunk.1: Tanh() */
    trunk_0_linear_fused(trunk_0, observation, k->trunk_0_weight, p->trunk._0.bias, batch);

    /* trunk.2, trunk.3 */
    trunk_2_linear_fused(trunk_2, trunk_0, k->trunk_2_weight, p->trunk._2.bias, batch);

    /* actor */
    actor_linear(output, trunk_2, p->actor.weight, p->actor.bias, batch);
}

static enum modc_status policy_act_eval_fenced(struct policy *net, int batch,
                                               const float *observation, float *output)
{
    CONTEXT_OF_POLICY;
    TENSORS_OF_ACT_EVAL_FENCED;

    memcpy(copy_of_observation.data, observation, modc_tensor_bytes(&copy_of_observation));

    MODC_ENTER(net, self_call, POLICY_ROOT, copy_of_observation);
    MODC_ENTER(net, trunk_call, POLICY_TRUNK, self_call_in[0]);
    MODC_ENTER(net, trunk_0_call, POLICY_TRUNK_0, trunk_call_in[0]);
    trunk_0_linear(
        trunk_0.data, trunk_0_call_in[0].data, k->trunk_0_weight, p->trunk._0.bias, batch);
    MODC_LEAVE(net, trunk_0_call, trunk_0);

    MODC_ENTER(net, trunk_1_call, POLICY_TRUNK_1, trunk_0_call_out[0]);
    trunk_1_forward(trunk_1.data, trunk_1_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_1_call, trunk_1);

    MODC_ENTER(net, trunk_2_call, POLICY_TRUNK_2, trunk_1_call_out[0]);
    trunk_2_linear(
        trunk_2.data, trunk_2_call_in[0].data, k->trunk_2_weight, p->trunk._2.bias, batch);
    MODC_LEAVE(net, trunk_2_call, trunk_2);

    MODC_ENTER(net, trunk_3_call, POLICY_TRUNK_3, trunk_2_call_out[0]);
    trunk_1_forward(trunk_3.data, trunk_3_call_in[0].data, batch);
    MODC_LEAVE(net, trunk_3_call, trunk_3);
    MODC_LEAVE(net, trunk_call, trunk_3_call_out[0]);

    MODC_ENTER(net, actor_call, POLICY_ACTOR, trunk_call_out[0]);
    actor_linear(actor.data, actor_call_in[0].data, p->actor.weight, p->actor.bias, batch);
    MODC_LEAVE(net, actor_call, actor);
    MODC_LEAVE(net, self_call, actor_call_out[0]);
    memcpy(output, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    return MODC_OK;
}

enum modc_status policy_forward(struct policy *net, int batch, const float *observation,
                                float *logits, float *value)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && observation && logits && value, POINTER);
    MODC_NEED(((uintptr_t)observation | (uintptr_t)logits | (uintptr_t)value) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= POLICY_MAX_BATCH, SIZE);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, POLICY_FENCED_WORKSPACE_BYTES, true, false));
        status = policy_forward_eval_fenced(net, batch, observation, logits, value);
    } else {
        MODC_TRY(modc_check(&net->base, POLICY_WORKSPACE_BYTES, true, false));
        policy_forward_eval(net, batch, observation, logits, value);
    }
    return status;
}

enum modc_status policy_act(struct policy *net, int batch, const float *observation, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && observation && output, POINTER);
    MODC_NEED(((uintptr_t)observation | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= POLICY_ACT_MAX_BATCH, SIZE);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, POLICY_ACT_FENCED_WORKSPACE_BYTES, true, false));
        status = policy_act_eval_fenced(net, batch, observation, output);
    } else {
        MODC_TRY(modc_check(&net->base, POLICY_ACT_WORKSPACE_BYTES, true, false));
        policy_act_eval(net, batch, observation, output);
    }
    return status;
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
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct policy_params),
    .context_bytes = sizeof(struct policy),
    .param_block = POLICY_PARAM_BYTES,
    .packed_block = POLICY_PACKED_BYTES, .pack = policy_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = POLICY_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .rollout = &policy_rollout_table,
};
