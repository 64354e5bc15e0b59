/* stream.c - written by modc from stream.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "stream.h"

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

/* Columns column ... column + columns - 1; columns and sets are constants of the call. */
MODC_INLINE void gemv_panel_cached_band(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int columns, const int sets, const int column, const int BIAS, const int N, const int K,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int vectors = (columns + MODC_LANES - 1) / MODC_LANES,
                        whole = MODC_LANES < 8 ? 0 : K / MODC_LANES * MODC_LANES;
    modc_f32 sum[MODC_TILE_REGISTERS];

    w += column / 16 * (K * 16) + column % 16;
    MODC_UNROLL
    for (int j = 0; j < vectors * sets; j++)
        sum[j] = BIAS && j < vectors ? modc_f32_load(bias + column + j * MODC_LANES)
                                     : modc_f32_set(0);
    MODC_ROLL
    /* a load of one value of x would take the place of one of weights */
    for (int k = 0; k < whole; k += MODC_LANES) {
        const modc_f32 some = modc_f32_load(x + k);

        MODC_UNROLL
        for (int i = 0; i < MODC_LANES; i++) {
            const modc_f32 one = modc_f32_lane(some, i);

            MODC_UNROLL
            for (int j = 0; j < vectors; j++) {
                const int c = j * MODC_LANES;

                sum[i % sets * vectors + j] += one *
                                               modc_f32_load(w + c / 16 * (K * 16) + c % 16 +
                                                             (k + i) * 16);
            }
        }
    }
    MODC_ROLL
    for (int k = whole; k + sets <= K; k += sets) {
        MODC_UNROLL
        for (int j = 0; j < vectors * sets; j++) {
            const int s = j / vectors, c = j % vectors * MODC_LANES;

            sum[j] += x[k + s] * modc_f32_load(w + c / 16 * (K * 16) + c % 16 + (k + s) * 16);
        }
    }
    for (int k = K - (K - whole) % sets; k < K; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const int c = j * MODC_LANES;

            sum[j] += x[k] * modc_f32_load(w + c / 16 * (K * 16) + c % 16 + k * 16);
        }
    }
    MODC_UNROLL
    for (int j = vectors; j < vectors * sets; j++)
        sum[j % vectors] += sum[j];

    MODC_UNROLL
    for (int j = 0; j < vectors; j++) {
        const int c = column + j * MODC_LANES, rest = columns - j * MODC_LANES;

        if (rest >= MODC_LANES) {
            modc_f32_store(y + c, TAIL_V(sum[j]));
            continue;
        }
        modc_f32_store_part(y + c, TAIL_V(sum[j]), rest);
    }
}

/* One row: all of its values times the panels of w, eight vectors at a time, so that every weight
 * is read once. */
MODC_INLINE void gemv_panel_cached(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int N, const int K, modc_f32 (*TAIL_V)(modc_f32 x))
{
    enum { band = MODC_TILE_VECTORS(1) * MODC_LANES };
    enum { sets = 1 };
    const int bands = N / band, rest = N % band;

    for (int n = 0; n < bands; n++)
        gemv_panel_cached_band(y, x, w, bias, band, sets, n * band, BIAS, N, K, TAIL_V);
    if (rest > 0)
        gemv_panel_cached_band(
            y, x, w, bias, rest, MODC_TILE_SETS((rest + MODC_LANES - 1) / MODC_LANES, K),
            bands * band, BIAS, N, K, TAIL_V);
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

/* y (1, 16) = x (1, 40) . weight (16, 40)^T + bias */
static MODC_KERNEL void mix_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    gemv_panel_cached(y, x, w, bias, 1, 16, 40, modc_f32_as_is);
}

/* y (1, 16) = x (1, 40) . weight (16, 40)^T + bias;
 * then tanh(x0) */
static MODC_KERNEL void mix_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    gemv_panel_cached(y, x, w, bias, 1, 16, 40, modc_f32_tanh);
}

/* y (16) = tanh(x0) */
static MODC_KERNEL void act_forward(float *y, const float *x0)
{
    map_1(y, x0, 16, modc_f32_tanh);
}

/* y (1, 2) = x (1, 16) . weight (2, 16)^T + bias */
static MODC_KERNEL void out_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    gemm_dot(y, x, w, bias, 1, 1, 2, 16, 16, 2, 16, modc_f32s_as_is);
}

/* y () = x0 + 1 */
static MODC_KERNEL void root_steps(int64_t *y, const int64_t *x0)
{
    y[0] = (int64_t)((uint64_t)x0[0] + 1u);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 672.0
#define RTOL_OF_STREAM 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const copy = (void *)(ws + 0); /* (4, 8) */ \
    float *const h = (void *)(ws + 0); /* (1, 16) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    float (*const history_shadow)[40] = (void *)(ws + 192); \
    int64_t (*const steps_shadow)[1] = (void *)(ws + 512); \
    const struct modc_tensor copy_of_sample = {ws + 384, MODC_FLOAT32, 1, {8}}; \
    float *const copy_of_model = (void *)(ws + 0); /* (4, 8) */ \
    const struct modc_tensor copy_of_model_2 = {ws + 0, MODC_FLOAT32, 1, {40}}; \
    float *const mix = (void *)(ws + 448); /* (1, 16) */ \
    const struct modc_tensor act = {ws + 0, MODC_FLOAT32, 1, {16}}; \
    float *const out_ = (void *)(ws + 64); /* (1, 2) */ \
    const struct modc_tensor copy_of_steps = {ws + 0, MODC_INT64, 0, {0}}; \

/* What a context works with. */
#define CONTEXT_OF_STREAM \
    const struct stream_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct stream_packed *const k MODC_UNUSED = net->base.params->packed; \
    struct stream_state *const s MODC_UNUSED = (void *)net->base.workspace; \
    char *const ws MODC_UNUSED = net->base.workspace + STREAM_STATE_BYTES

/* What the kernels read */
struct stream_packed {
    MODC_ALIGNED float mix_weight[640]; /* panels [1][40][16] */
};

typedef char stream_packed_fits[MODC_PACKED_FITS(struct stream_packed, STREAM_PACKED_BYTES)];

struct stream_state {
    MODC_ALIGNED float history[48]; /* (5, 8) */
    MODC_ALIGNED int64_t steps[8]; /* () */
};

static enum modc_status stream_pack_all(struct modc_params *params)
{
    const struct stream_params *p = (const void *)params;
    struct stream_packed *k = params->packed;

    modc_f32_pack(k->mix_weight, p->mix.weight, 16, 40, 40, 1);
    return MODC_OK;
}

static void stream_forward_eval(struct stream *net, const float *sample, float *output_0,
                                int64_t *steps)
{
    CONTEXT_OF_STREAM;
    TENSORS_OF_FORWARD_EVAL;

    memcpy(copy, s->history + 8, sizeof(float) * 32);
    memcpy(s->history, copy, sizeof(float) * 32);
    memcpy(s->history + 32, sample, sizeof(float) * 8);
    root_steps(s->steps, s->steps);

    /* mix: Linear(window * width, 16)
     * act: Tanh() */
    mix_linear_fused(h, s->history, k->mix_weight, p->mix.bias);

    /* out: Linear(16, 2) */
    out_linear(output_0, h, p->out.weight, p->out.bias);
    memcpy(steps, s->steps, sizeof(int64_t) * 1);
}

static enum modc_status stream_forward_eval_fenced(struct stream *net, const float *sample,
                                                   float *output_0, int64_t *steps)
{
    CONTEXT_OF_STREAM;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    MODC_SHADOW(history_shadow, s->history);
    MODC_SHADOW(steps_shadow, s->steps);
    memcpy(copy_of_sample.data, sample, modc_tensor_bytes(&copy_of_sample));

    MODC_ENTER(net, self_call, STREAM_ROOT, copy_of_sample);
    memcpy(copy_of_model, *history_shadow + 8, sizeof(float) * 32);
    memcpy(*history_shadow, copy_of_model, sizeof(float) * 32);
    memcpy(*history_shadow + 32, self_call_in[0].data, modc_tensor_bytes(&self_call_in[0]));
    root_steps(*steps_shadow, *steps_shadow);
    memcpy(copy_of_model_2.data, *history_shadow, modc_tensor_bytes(&copy_of_model_2));

    MODC_ENTER(net, mix_call, STREAM_MIX, copy_of_model_2);
    mix_linear(mix, mix_call_in[0].data, k->mix_weight, p->mix.bias);
    MODC_LEAVE(net, mix_call, {mix, MODC_FLOAT32, 1, {16}});

    MODC_ENTER(net, act_call, STREAM_ACT, mix_call_out[0]);
    act_forward(act.data, act_call_in[0].data);
    MODC_LEAVE(net, act_call, act);

    MODC_ENTER(net, out_call, STREAM_OUT, act_call_out[0]);
    out_linear(out_, out_call_in[0].data, p->out.weight, p->out.bias);
    MODC_LEAVE(net, out_call, {out_, MODC_FLOAT32, 1, {2}});
    memcpy(copy_of_steps.data, *steps_shadow, modc_tensor_bytes(&copy_of_steps));
    MODC_LEAVE(net, self_call, out_call_out[0], copy_of_steps);
    memcpy(output_0, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    memcpy(steps, self_call_out[1].data, modc_tensor_bytes(&self_call_out[1]));

    MODC_COMMIT(history_shadow, s->history);
    MODC_COMMIT(steps_shadow, s->steps);
    return MODC_OK;
}

enum modc_status stream_forward(struct stream *net, const float *sample, float *output_0,
                                int64_t *steps)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && sample && output_0 && steps, POINTER);
    MODC_NEED(((uintptr_t)sample | (uintptr_t)output_0) % 4 == 0, ALIGNMENT);
    MODC_NEED((uintptr_t)steps % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, STREAM_FENCED_WORKSPACE_BYTES, true, false));
        status = stream_forward_eval_fenced(net, sample, output_0, steps);
    } else {
        MODC_TRY(modc_check(&net->base, STREAM_WORKSPACE_BYTES, true, false));
        stream_forward_eval(net, sample, output_0, steps);
    }
    return status;
}

/* ---- tables ---- */

MODC_CALL(stream, forward, (net, inputs[0], outputs[0], outputs[1]))

static const struct modc_io forward_io[] = {
    {"sample", MODC_FLOAT32, 1, {8}, {-1}, false},
    {"output_0", MODC_FLOAT32, 1, {2}, {-1}, false},
    {"steps", MODC_INT64, 0, {0}, {0}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 2, MACS_OF_FORWARD, NULL, NULL, MODC_HOOKED(STREAM), 0),
};

static const struct modc_key states_table[] = {
    MODC_UNSAVED("history", STREAM_ROOT, FLOAT32, CONSTANT(0.0), 2, {5, 8}),
    MODC_UNSAVED("steps", STREAM_ROOT, INT64, CONSTANT(0.0), 0, {0}),
};

static const struct modc_module modules_table[] = {
    {"", "", "stream", "", -1, 3, false},
    {"mix", "mix", "Linear", "in_features=40, out_features=16, bias=True", 0, 0, false},
    {"act", "act", "Tanh", "", 0, 0, false},
    {"out", "out", "Linear", "in_features=16, out_features=2, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("mix.weight", STREAM_MIX, FLOAT32, UNIFORM(0.15811388), 2, {16, 40}),
    MODC_PARAMETER("mix.bias", STREAM_MIX, FLOAT32, UNIFORM(0.15811388), 1, {16}),
    MODC_PARAMETER("out.weight", STREAM_OUT, FLOAT32, UNIFORM(0.25), 2, {2, 16}),
    MODC_PARAMETER("out.bias", STREAM_OUT, FLOAT32, UNIFORM(0.25), 1, {2}),
};

const struct modc_model stream_model = {
    .abi = MODC_ABI, .name = "stream", .schema = STREAM_SCHEMA,
    .rtol = RTOL_OF_STREAM,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct stream_params),
    .context_bytes = sizeof(struct stream),
    .param_block = STREAM_PARAM_BYTES,
    .packed_block = STREAM_PACKED_BYTES, .pack = stream_pack_all,
    .state_block = STREAM_STATE_BYTES,
    .state_count = MODC_ROWS(states_table), .states = states_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = STREAM_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
