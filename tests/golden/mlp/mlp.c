/* mlp.c - written by modc from mlp.yaml; change the spec, not this file. It is yours, under any
 * terms. */
#include "mlp.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* where(x0 <= 0.0, 0.0, x0) */
MODC_INLINE modc_f32 relu_v(modc_f32 x0)
{
    return modc_f32_select(modc_f32_le(x0, modc_f32_set(0.0f)), modc_f32_set(0.0f), x0);
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

/* y (batch, 32) = x (batch, 64) . weight (32, 64)^T + bias */
static MODC_KERNEL void y_1_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 32, 64, 64, 32, modc_f32_as_is);
}

/* y (batch, 32) = x (batch, 64) . weight (32, 64)^T + bias;
 * then relu(x0) */
static MODC_KERNEL void y_1_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 32, 64, 64, 32, relu_v);
}

/* y (batch, 32) = relu(x0) */
static MODC_KERNEL void y_2_forward(float *y, const float *x0, int batch)
{
    map_1(y, x0, 32 * batch, relu_v);
}

/* y (batch, 10) = x (batch, 32) . weight (10, 32)^T + bias */
static MODC_KERNEL void y_3_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 10, 32, 32, 10, modc_f32_as_is);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 151552.0
#define RTOL_OF_MLP 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_1 = (void *)(ws + 0); /* (batch, 32) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    const struct modc_tensor copy_of_image = {ws + 0, MODC_FLOAT32, 4, {batch, 1, 8, 8}}; \
    const struct modc_tensor y_1 = {ws + 16384, MODC_FLOAT32, 2, {batch, 32}}; \
    const struct modc_tensor y_2 = {ws + 24576, MODC_FLOAT32, 2, {batch, 32}}; \
    const struct modc_tensor y_3 = {ws + 16384, MODC_FLOAT32, 2, {batch, 10}}; \

/* What a context works with. */
#define CONTEXT_OF_MLP \
    const struct mlp_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct mlp_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct mlp_packed {
    MODC_ALIGNED float _1_weight[2048]; /* panels [2][64][16] */
    MODC_ALIGNED float _3_weight[512]; /* panels [1][32][16] */
    MODC_ALIGNED float _3_bias[16]; /* zero padded */
};

typedef char mlp_packed_fits[MODC_PACKED_FITS(struct mlp_packed, MLP_PACKED_BYTES)];

static enum modc_status mlp_pack_all(struct modc_params *params)
{
    const struct mlp_params *p = (const void *)params;
    struct mlp_packed *k = params->packed;

    modc_f32_pack(k->_1_weight, p->_1.weight, 32, 64, 64, 1);
    modc_f32_pack(k->_3_weight, p->_3.weight, 10, 32, 32, 1);
    memset(k->_3_bias, 0, sizeof k->_3_bias);
    memcpy(k->_3_bias, p->_3.bias, sizeof(float) * 10);
    return MODC_OK;
}

static void mlp_forward_eval(struct mlp *net, int batch, const float *image, float *output)
{
    CONTEXT_OF_MLP;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Flatten()
     * 1: Linear(64, 32)
     * 2: ReLU() */
    y_1_linear_fused(y_1, image, k->_1_weight, p->_1.bias, batch);

    /* 3: Linear(32, 10) */
    y_3_linear(output, y_1, k->_3_weight, k->_3_bias, batch);
}

static enum modc_status mlp_forward_eval_fenced(struct mlp *net, int batch, const float *image,
                                                float *output)
{
    CONTEXT_OF_MLP;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    memcpy(copy_of_image.data, image, modc_tensor_bytes(&copy_of_image));

    MODC_ENTER(net, self_call, MLP_ROOT, copy_of_image);
    MODC_ENTER(net, m_0_call, MLP_0, self_call_in[0]);
    MODC_LEAVE(net, m_0_call, {m_0_call_in[0].data, MODC_FLOAT32, 2, {batch, 64}});

    MODC_ENTER(net, m_1_call, MLP_1, m_0_call_out[0]);
    y_1_linear(y_1.data, m_1_call_in[0].data, k->_1_weight, p->_1.bias, batch);
    MODC_LEAVE(net, m_1_call, y_1);

    MODC_ENTER(net, m_2_call, MLP_2, m_1_call_out[0]);
    y_2_forward(y_2.data, m_2_call_in[0].data, batch);
    MODC_LEAVE(net, m_2_call, y_2);

    MODC_ENTER(net, m_3_call, MLP_3, m_2_call_out[0]);
    y_3_linear(y_3.data, m_3_call_in[0].data, k->_3_weight, k->_3_bias, batch);
    MODC_LEAVE(net, m_3_call, y_3);
    MODC_LEAVE(net, self_call, m_3_call_out[0]);
    memcpy(output, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    return MODC_OK;
}

enum modc_status mlp_forward(struct mlp *net, int batch, const float *image, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && image && output, POINTER);
    MODC_NEED(((uintptr_t)image | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= MLP_MAX_BATCH, SIZE);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, MLP_FENCED_WORKSPACE_BYTES, true, false));
        status = mlp_forward_eval_fenced(net, batch, image, output);
    } else {
        MODC_TRY(modc_check(&net->base, MLP_WORKSPACE_BYTES, true, false));
        mlp_forward_eval(net, batch, image, output);
    }
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", MLP_MAX_BATCH}};

MODC_CALL(mlp, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"image", MODC_FLOAT32, 4, {MLP_MAX_BATCH, 1, 8, 8}, {0, -1, -1, -1}, false},
    {"output", MODC_FLOAT32, 2, {MLP_MAX_BATCH, 10}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_HOOKED(MLP), MLP_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 4, false},
    {"0", "0", "Flatten", "start_dim=1, end_dim=-1", 0, 0, false},
    {"1", "1", "Linear", "in_features=64, out_features=32, bias=True", 0, 0, false},
    {"2", "2", "ReLU", "", 0, 0, false},
    {"3", "3", "Linear", "in_features=32, out_features=10, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("1.weight", MLP_1, FLOAT32, UNIFORM(0.125), 2, {32, 64}),
    MODC_PARAMETER("1.bias", MLP_1, FLOAT32, UNIFORM(0.125), 1, {32}),
    MODC_PARAMETER("3.weight", MLP_3, FLOAT32, UNIFORM(0.176776695), 2, {10, 32}),
    MODC_PARAMETER("3.bias", MLP_3, FLOAT32, UNIFORM(0.176776695), 1, {10}),
};

const struct modc_model mlp_model = {
    .abi = MODC_ABI, .name = "mlp", .schema = MLP_SCHEMA,
    .rtol = RTOL_OF_MLP,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct mlp_params),
    .context_bytes = sizeof(struct mlp),
    .param_block = MLP_PARAM_BYTES,
    .packed_block = MLP_PACKED_BYTES, .pack = mlp_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = MLP_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
