/* text.c - written by modc from text.yaml; change the spec, not this file. It is yours, under any
 * terms. */
#include "text.h"

#include <string.h>

#include "modc_simd.h"

static MODC_ALIGNED const int64_t constant_16[16] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
};

MODC_KERNELS_BEGIN

/* x0 + x1 */
MODC_INLINE modc_f32 add_v(modc_f32 x0, modc_f32 x1)
{
    return x0 + x1;
}

/* where(x0 <= 0.0, 0.0, x0) */
MODC_INLINE modc_f32 relu_v(modc_f32 x0)
{
    return modc_f32_select(modc_f32_le(x0, modc_f32_set(0.0f)), modc_f32_set(0.0f), x0);
}

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

/* A row at a time: its mean, then its variance, then the result. */
MODC_INLINE void layer_norm_bias_weight(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int M, const int K, const int LDX, const int LDY, float (*TAIL)(float x),
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int four = K / (4 * MODC_LANES) * (4 * MODC_LANES), full = K / MODC_LANES * MODC_LANES;

    for (int r = 0; r < M; r++) {
        const float *const row = x + r * LDX;
        modc_f32 part[4] = {modc_f32_set(0), modc_f32_set(0), modc_f32_set(0), modc_f32_set(0)},
                           off[2] = {modc_f32_set(0), modc_f32_set(0)}, middle;
        float sum, mean, error, scale;

        for (int k = 0; k < four; k += 4 * MODC_LANES) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++)
                part[j] += modc_f32_load(row + k + j * MODC_LANES);
        }
        for (int k = four; k < full; k += MODC_LANES)
            part[0] += modc_f32_load(row + k);
        sum = modc_f32_sum((part[0] + part[1]) + (part[2] + part[3]));
        for (int k = full; k < K; k++)
            sum += row[k];
        mean = sum / (float)K;

        middle = modc_f32_set(mean);
        MODC_UNROLL
        for (int j = 0; j < 4; j++)
            part[j] = modc_f32_set(0);
        for (int k = 0; k < four; k += 4 * MODC_LANES) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++) {
                const modc_f32 d = modc_f32_load(row + k + j * MODC_LANES) - middle;

                part[j] += d * d;
                off[j % 2] += d;
            }
        }
        for (int k = four; k < full; k += MODC_LANES) {
            const modc_f32 d = modc_f32_load(row + k) - middle;

            part[0] += d * d;
            off[0] += d;
        }
        sum = modc_f32_sum((part[0] + part[1]) + (part[2] + part[3]));
        error = modc_f32_sum(off[0] + off[1]);
        for (int k = full; k < K; k++) {
            sum += (row[k] - mean) * (row[k] - mean);
            error += row[k] - mean;
        }
        error /= (float)K;
        scale = modc_f32s_rsqrt(modc_f32s_max(sum / (float)K - error * error, 0) +
                                (9.99999975e-06f));

        for (int k = 0; k < full; k += MODC_LANES) {
            modc_f32 value = (modc_f32_load(row + k) - middle - error) * scale;

            value *= modc_f32_load(w + k);
            value += modc_f32_load(bias + k);
            modc_f32_store(y + r * LDY + k, TAIL_V(value));
        }
        for (int k = full; k < K; k++) {
            float value = (row[k] - mean - error) * scale;

            value *= w[k];
            value += bias[k];
            y[r * LDY + k] = TAIL(value);
        }
    }
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

/* y = F of the inputs, for each element. */
MODC_INLINE void map_2_rows_x1_j(
    float *y, const float *x0, const float *x1, const int ni, const int nj,
    modc_f32 (*F)(modc_f32 x0, modc_f32 x1))
{
    for (int i = 0; i < ni; i++) {
        int j = 0;

        for (; j <= nj - MODC_LANES; j += MODC_LANES) {
            modc_f32_store(
                y + i * nj + j, F(modc_f32_load(x0 + i * nj + j), modc_f32_load(x1 + j)));
        }
        if (j < nj) {
            const modc_f32 v0 = modc_f32_load_part(x0 + i * nj + j, nj - j);
            const modc_f32 v1 = modc_f32_load_part(x1 + j, nj - j);

            modc_f32_store_part(y + i * nj + j, F(v0, v1), nj - j);
        }
    }
}

/* y (batch, length, 32) = x0 (100, 32) at x1 (batch, length) along dimension 0 */
static MODC_KERNEL void embed_embedding(
    float *y, const float *x0, const int64_t *x1, int batch, int length)
{
    for (int i = 0; i < batch * length; i++) {
        const float *from = x0 + (ptrdiff_t)x1[i] * 32;

        memcpy(y + i * 32, from, (size_t)32 * sizeof *from);
    }
}

/* y (length, 32) = x0 (16, 32) at x1 (length) along dimension 0 */
static MODC_KERNEL void position_embedding(float *y, const float *x0, const int64_t *x1, int length)
{
    for (int i = 0; i < length; i++) {
        const float *from = x0 + (ptrdiff_t)x1[i] * 32;

        memcpy(y + i * 32, from, (size_t)32 * sizeof *from);
    }
}

/* y (batch, length, 32) = (x - mean) / sqrt(variance + 9.99999975e-06f) * weight + bias by rows of
 * the last dimension */
static MODC_KERNEL void norm_layer_norm(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, int length)
{
    layer_norm_bias_weight(
        y, x, w, bias, batch * length, 32, 32, 32, modc_f32s_as_is, modc_f32_as_is);
}

/* y (batch, 64) = x (batch, 32) . weight (64, 32)^T + bias */
static MODC_KERNEL void hidden_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 32, 32, 64, modc_f32_as_is);
}

/* y (batch, 64) = x (batch, 32) . weight (64, 32)^T + bias;
 * then relu(x0) */
static MODC_KERNEL void hidden_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 64, 32, 32, 64, relu_v);
}

/* y (batch, 4) = x (batch, 64) . weight (4, 64)^T + bias */
static MODC_KERNEL void head_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 4, 64, 64, 4, 64, modc_f32s_as_is);
}

/* y (batch, length, 32) = add(x0, x1) */
static MODC_KERNEL void root_add(float *y, const float *x0, const float *x1, int batch, int length)
{
    map_2_rows_x1_j(y, x0, x1, batch, 32 * length, add_v);
}

/* y (batch) = argmax of x0 */
static MODC_KERNEL void root_argmax(int64_t *y, const float *x0, int batch)
{
    for (int i = 0; i < batch; i++) {
        float best = -modc_f32_inf();
        int64_t index = 0;

        for (int j = 0; j < 4; j++) {
            const float value = x0[i * 4 + j];

            if (value > best || (value != value && best == best)) {
                best = value;
                index = j;
            }
        }
        y[i] = index;
    }
}

/* y (batch, 1) = x0 (batch, 4) at x1 (batch, 1) along dimension 1 */
static MODC_KERNEL void root_gather(float *y, const float *x0, const int64_t *x1, int batch)
{
    for (int i = 0; i < batch; i++) {
        const float *from = x0 + i * 4 + (ptrdiff_t)x1[i];

        y[i] = *from;
    }
}

/* y (batch, 32) = sum of x0 * float32(x1), then x0 / float32(x1) */
static MODC_KERNEL void root_pooled(
    float *y, const float *x0, const bool *x1, const int64_t *x2, int batch, int length)
{
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < 32; j++) {
            float sum = 0.0f;

            for (int k = 0; k < length; k++)
                sum += x0[i * 32 * length + k * 32 + j] * (float)MODC_TRUE(x1[i * length + k]);
            y[i * 32 + j] = sum / (float)x2[i];
        }
    }
}

/* y (batch, 64) = relu(x0) */
static MODC_KERNEL void root_relu(float *y, const float *x0, int batch)
{
    map_1(y, x0, 64 * batch, relu_v);
}

/* y (batch, 1) = sum of int64(x0), then maximum(x0, 1) */
static MODC_KERNEL void root_sum_fused(int64_t *y, const bool *x0, int batch, int length)
{
    for (int i = 0; i < batch; i++) {
        uint64_t sum = 0;

        for (int j = 0; j < length; j++)
            sum += (uint64_t)(int64_t)MODC_TRUE(x0[i * length + j]);

        const int64_t v0 = (int64_t)sum;

        y[i] = v0 > 1 ? v0 : 1;
    }
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 22688.0
#define RTOL_OF_TEXT 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const embed = (void *)(ws + 0); /* (batch, length, 32) */ \
    float *const add = (void *)(ws + 0); /* (batch, length, 32) */ \
    float *const h = (void *)(ws + 16384); /* (batch, length, 32) */ \
    int64_t *const sum_fused = (void *)(ws + 0); /* (batch, 1) */ \
    float *const pooled = (void *)(ws + 2048); /* (batch, 32) */ \
    float *const hidden = (void *)(ws + 0); /* (batch, 64) */ \
    int64_t *const argmax = (void *)(ws + 0); /* (batch) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    const struct modc_tensor copy_of_tokens = {ws + 34816, MODC_INT64, 2, {batch, length}}; \
    const struct modc_tensor copy_of_mask = {ws + 35840, MODC_BOOL, 2, {batch, length}}; \
    const struct modc_tensor embed = {ws + 0, MODC_FLOAT32, 3, {batch, length, 32}}; \
    const struct modc_tensor copy = {ws + 16384, MODC_INT64, 1, {length}}; \
    const struct modc_tensor position = {ws + 32768, MODC_FLOAT32, 2, {length, 32}}; \
    const struct modc_tensor add = {ws + 16384, MODC_FLOAT32, 3, {batch, length, 32}}; \
    const struct modc_tensor norm = {ws + 0, MODC_FLOAT32, 3, {batch, length, 32}}; \
    int64_t *const sum_fused = (void *)(ws + 17408); /* (batch, 1) */ \
    const struct modc_tensor pooled = {ws + 16384, MODC_FLOAT32, 2, {batch, 32}}; \
    const struct modc_tensor hidden = {ws + 0, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor relu = {ws + 2048, MODC_FLOAT32, 2, {batch, 64}}; \
    const struct modc_tensor head = {ws + 0, MODC_FLOAT32, 2, {batch, 4}}; \
    int64_t *const argmax = (void *)(ws + 128); /* (batch) */ \
    const struct modc_tensor gather_of_best = {ws + 192, MODC_FLOAT32, 2, {batch, 1}}; \

/* What a context works with. */
#define CONTEXT_OF_TEXT \
    const struct text_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct text_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct text_packed {
    MODC_ALIGNED float hidden_weight[2048]; /* panels [4][32][16] */
};

typedef char text_packed_fits[MODC_PACKED_FITS(struct text_packed, TEXT_PACKED_BYTES)];

static enum modc_status text_pack_all(struct modc_params *params)
{
    const struct text_params *p = (const void *)params;
    struct text_packed *k = params->packed;

    modc_f32_pack(k->hidden_weight, p->hidden.weight, 64, 32, 32, 1);
    return MODC_OK;
}

static enum modc_status text_forward_eval(struct text *net, int batch, int length,
                                          const int64_t *tokens, const bool *mask, float *logits,
                                          float *best)
{
    CONTEXT_OF_TEXT;
    TENSORS_OF_FORWARD_EVAL;

    /* embed: Embedding(100, 32, padding_idx=0) */
    MODC_TRY(modc_check_index(&net->base, TEXT_EMBED, tokens, MODC_INT64, batch * length, 0, 100));

    /* position: Embedding(16, 32) */
    embed_embedding(embed, p->embed.weight, tokens, batch, length);
    root_add(add, embed, p->position.weight, batch, length);

    /* norm: LayerNorm(32) */
    norm_layer_norm(h, add, p->norm.weight, p->norm.bias, batch, length);
    root_sum_fused(sum_fused, mask, batch, length);
    root_pooled(pooled, h, mask, sum_fused, batch, length);

    /* hidden: Linear(32, 64) */
    hidden_linear_fused(hidden, pooled, k->hidden_weight, p->hidden.bias, batch);

    /* head: Linear(64, 4) */
    head_linear(logits, hidden, p->head.weight, p->head.bias, batch);
    root_argmax(argmax, logits, batch);
    root_gather(best, logits, argmax, batch);
    return MODC_OK;
}

static enum modc_status text_forward_eval_fenced(struct text *net, int batch, int length,
                                                 const int64_t *tokens, const bool *mask,
                                                 float *logits, float *best)
{
    CONTEXT_OF_TEXT;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    memcpy(copy_of_tokens.data, tokens, modc_tensor_bytes(&copy_of_tokens));
    modc_copy_bools(copy_of_mask.data, mask, modc_tensor_bytes(&copy_of_mask));

    MODC_ENTER(net, self_call, TEXT_ROOT, copy_of_tokens, copy_of_mask);
    MODC_ENTER(net, embed_call, TEXT_EMBED, self_call_in[0]);
    MODC_TRY_HOOKED(
        modc_check_index(&net->base, TEXT_EMBED, embed_call_in[0].data, MODC_INT64, batch * length,
                         0, 100));
    embed_embedding(embed.data, p->embed.weight, embed_call_in[0].data, batch, length);
    MODC_LEAVE(net, embed_call, embed);
    memcpy(copy.data, constant_16, modc_tensor_bytes(&copy));

    MODC_ENTER(net, position_call, TEXT_POSITION, copy);
    MODC_TRY_HOOKED(
        modc_check_index(&net->base, TEXT_POSITION, position_call_in[0].data, MODC_INT64, length, 0,
                         16));
    position_embedding(position.data, p->position.weight, position_call_in[0].data, length);
    MODC_LEAVE(net, position_call, position);
    root_add(add.data, embed_call_out[0].data, position_call_out[0].data, batch, length);

    MODC_ENTER(net, norm_call, TEXT_NORM, add);
    norm_layer_norm(norm.data, norm_call_in[0].data, p->norm.weight, p->norm.bias, batch, length);
    MODC_LEAVE(net, norm_call, norm);
    root_sum_fused(sum_fused, self_call_in[1].data, batch, length);
    root_pooled(pooled.data, norm_call_out[0].data, self_call_in[1].data, sum_fused, batch, length);

    MODC_ENTER(net, hidden_call, TEXT_HIDDEN, pooled);
    hidden_linear(hidden.data, hidden_call_in[0].data, k->hidden_weight, p->hidden.bias, batch);
    MODC_LEAVE(net, hidden_call, hidden);
    root_relu(relu.data, hidden_call_out[0].data, batch);

    MODC_ENTER(net, head_call, TEXT_HEAD, relu);
    head_linear(head.data, head_call_in[0].data, p->head.weight, p->head.bias, batch);
    MODC_LEAVE(net, head_call, head);
    root_argmax(argmax, head_call_out[0].data, batch);
    root_gather(gather_of_best.data, head_call_out[0].data, argmax, batch);
    MODC_LEAVE(net, self_call, head_call_out[0], gather_of_best);
    memcpy(logits, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    memcpy(best, self_call_out[1].data, modc_tensor_bytes(&self_call_out[1]));
    return MODC_OK;
}

enum modc_status text_forward(struct text *net, int batch, int length, const int64_t *tokens,
                              const bool *mask, float *logits, float *best)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && tokens && mask && logits && best, POINTER);
    MODC_NEED(((uintptr_t)logits | (uintptr_t)best) % 4 == 0, ALIGNMENT);
    MODC_NEED((uintptr_t)tokens % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TEXT_MAX_BATCH, SIZE);
    MODC_NEED(length >= 0 && length <= TEXT_MAX_LENGTH, SIZE);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, TEXT_FENCED_WORKSPACE_BYTES, true, false));
        status = text_forward_eval_fenced(net, batch, length, tokens, mask, logits, best);
    } else {
        MODC_TRY(modc_check(&net->base, TEXT_WORKSPACE_BYTES, true, false));
        status = text_forward_eval(net, batch, length, tokens, mask, logits, best);
    }
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", TEXT_MAX_BATCH},
                                               {"length", TEXT_MAX_LENGTH}};

MODC_CALL(text, forward, (net, sizes[0], sizes[1], inputs[0], inputs[1], outputs[0], outputs[1]))

static const struct modc_io forward_io[] = {
    {"tokens", MODC_INT64, 2, {TEXT_MAX_BATCH, TEXT_MAX_LENGTH}, {0, 1}, false},
    {"mask", MODC_BOOL, 2, {TEXT_MAX_BATCH, TEXT_MAX_LENGTH}, {0, 1}, false},
    {"logits", MODC_FLOAT32, 2, {TEXT_MAX_BATCH, 4}, {0, -1}, false},
    {"best", MODC_FLOAT32, 2, {TEXT_MAX_BATCH, 1}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 2, 2, MACS_OF_FORWARD, NULL, NULL, MODC_HOOKED(TEXT), TEXT_MAX_BATCH,
               TEXT_MAX_LENGTH),
};

/* in the order in which PyTorch draws */
static const struct modc_draw draws_table[] = {
    {0, MODC_INIT_NORMAL, 0.0, 1.0}, /* embed.weight */
    {0, MODC_INIT_ROW, 0.0, 0},
    {1, MODC_INIT_NORMAL, 0.0, 1.0}, /* position.weight */
    {4, MODC_INIT_UNIFORM, -0.17677669529663684, 0.17677669529663684}, /* hidden.weight */
    {5, MODC_INIT_UNIFORM, -0.17677669529663687, 0.17677669529663687}, /* hidden.bias */
    {6, MODC_INIT_UNIFORM, -0.12499999999999999, 0.12499999999999999}, /* head.weight */
    {7, MODC_INIT_UNIFORM, -0.125, 0.125}, /* head.bias */
};

static const struct modc_module modules_table[] = {
    {"", "", "text", "", -1, 5, false},
    {"embed", "embed", "Embedding", "100, 32, padding_idx=0", 0, 0, false},
    {"position", "position", "Embedding", "16, 32", 0, 0, false},
    {"norm", "norm", "LayerNorm", "(32,), eps=1e-05, elementwise_affine=True, bias=True", 0, 0,
     false},
    {"hidden", "hidden", "Linear", "in_features=32, out_features=64, bias=True", 0, 0, false},
    {"head", "head", "Linear", "in_features=64, out_features=4, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("embed.weight", TEXT_EMBED, FLOAT32, NORMAL(0.0, 1.0), 2, {100, 32}),
    MODC_PARAMETER("position.weight", TEXT_POSITION, FLOAT32, NORMAL(0.0, 1.0), 2, {16, 32}),
    MODC_PARAMETER("norm.weight", TEXT_NORM, FLOAT32, CONSTANT(1.0), 1, {32}),
    MODC_PARAMETER("norm.bias", TEXT_NORM, FLOAT32, CONSTANT(0.0), 1, {32}),
    MODC_PARAMETER("hidden.weight", TEXT_HIDDEN, FLOAT32, UNIFORM(0.176776695), 2, {64, 32}),
    MODC_PARAMETER("hidden.bias", TEXT_HIDDEN, FLOAT32, UNIFORM(0.176776695), 1, {64}),
    MODC_PARAMETER("head.weight", TEXT_HEAD, FLOAT32, UNIFORM(0.125), 2, {4, 64}),
    MODC_PARAMETER("head.bias", TEXT_HEAD, FLOAT32, UNIFORM(0.125), 1, {4}),
};

const struct modc_model text_model = {
    .abi = MODC_ABI, .name = "text", .schema = TEXT_SCHEMA,
    .rtol = RTOL_OF_TEXT,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct text_params),
    .context_bytes = sizeof(struct text),
    .param_block = TEXT_PARAM_BYTES,
    .packed_block = TEXT_PACKED_BYTES, .pack = text_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_ROWS(draws_table), .draws = draws_table,
    .module_count = TEXT_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
