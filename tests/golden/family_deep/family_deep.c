/* family_deep.c - written by modc from family_deep.yaml; change the spec, not this file. It is
 * yours, under any terms. */
#include "family_deep.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* x1 + x0 */
MODC_INLINE modc_f32 add_v(modc_f32 x0, modc_f32 x1)
{
    return x1 + x0;
}

/* 0.5 * x0 * (1.0 + erf(x0 * 0.70710677)) */
MODC_INLINE modc_f32 gelu_v(modc_f32 x0)
{
    return 0.5f * x0 * (1.0f + modc_f32_erf(x0 * 0.707106769f));
}

/* where(x0 > 0.0, x0, x0 * 0.1) */
MODC_INLINE modc_f32 leaky_relu_v(modc_f32 x0)
{
    return modc_f32_select(modc_f32_gt(x0, modc_f32_set(0.0f)), x0, x0 * 0.100000001f);
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

/* One tile at (row, column); rows and columns are constants of the call. */
MODC_INLINE void gemm_panel_reads_1_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int columns, const int row, const int column, const float *restrict e0,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    const int LDE0, modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0))
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

        if (rest >= MODC_LANES)
            modc_f32_store(y + r * LDY + c, TAIL_V(sum[i], modc_f32_load(e0 + r * LDE0 + c)));
        else
            modc_f32_store_part(
                y + r * LDY + c, TAIL_V(sum[i], modc_f32_load_part(e0 + r * LDE0 + c, rest)), rest);
    }
}

/* Rows from ... to - 1 and columns left ... right - 1 in tiles of `rows` rows, a constant of the
 * call. */
MODC_INLINE void gemm_panel_reads_1_block(
    const int rows, const int from, const int to, const int left, const int right,
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, const int BIAS, const int M, const int N, const int K, const int LDX,
    const int LDY, const int LDE0, modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES;

    for (int r = from; r < to; r += rows) {
        int c = left;

        for (; c <= right - band; c += band)
            gemm_panel_reads_1_tile(
                y, x, w, bias, rows, band, r, c, e0, BIAS, M, N, K, LDX, LDY, LDE0, TAIL_V);
        if (c < right)
            gemm_panel_reads_1_tile(
                y, x, w, bias, rows, N % band, r, c, e0, BIAS, M, N, K, LDX, LDY, LDE0, TAIL_V);
    }
}

/* In register tiles over all of the inner length, as many rows and panels of w as there are
 * registers. */
MODC_INLINE void gemm_panel_reads_1(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, const int BIAS, const int M, const int N, const int K, const int LDX,
    const int LDY, const int LDE0, modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0))
{
    MODC_EACH_HEIGHT(
        gemm_panel_reads_1_block, M, 0, N, y, x, w, bias, e0, BIAS, M, N, K, LDX, LDY, LDE0,
        TAIL_V);
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

/* A row at a time: its maximum, then exponentials and their sum, then the result. */
MODC_INLINE void softmax(
    float *restrict y, const float *restrict x, const int M, const int K, const int LDX,
    const int LDY, float (*TAIL)(float x), modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int r = 0; r < M; r++) {
        const float *const row = x + r * LDX;
        float *const out = y + r * LDY;
        const int full = K / MODC_LANES * MODC_LANES, rest = K - full;
        /* high may lose a NaN, which exp brings back */
        modc_f32 high = modc_f32_set(-modc_f32_inf()), total = modc_f32_set(0);
        float most, last;

        for (int k = 0; k < full; k += MODC_LANES)
            high = modc_f32_atleast(modc_f32_load(row + k), high);
        if (rest > 0)
            high = modc_f32_atleast(modc_f32_load_rest(row + full, rest, -modc_f32_inf()), high);
        most = modc_f32_hmax(high);
        for (int k = 0; k < full; k += MODC_LANES) {
            const modc_f32 e = modc_f32_exp_negative(modc_f32_load(row + k) - most);

            total += e;
            modc_f32_store(out + k, e);
        }
        if (rest > 0) {
            const modc_f32 e = modc_f32_exp_negative(modc_f32_load_rest(row + full, rest,
                    -modc_f32_inf()) - most);

            total += e;
            modc_f32_store_part(out + full, e, rest);
        }
        last = 1 / modc_f32_sum(total);

        for (int k = 0; k < full; k += MODC_LANES) {
            const modc_f32 value = modc_f32_load(out + k) * last;

            modc_f32_store(out + k, TAIL_V(value));
        }
        for (int k = full; k < K; k++) {
            const float value = out[k] * last;

            out[k] = TAIL(value);
        }
    }
}

/* y (batch, 8) = (x - mean) / sqrt(variance + 9.99999975e-06f) * weight + bias by rows of the last
 * dimension */
static MODC_KERNEL void blocks_norm_layer_norm(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    layer_norm_bias_weight(y, x, w, bias, batch, 8, 8, 8, modc_f32s_as_is, modc_f32_as_is);
}

/* y (batch, 16) = x (batch, 8) . weight (16, 8)^T + bias;
 * then gelu(x0) */
static MODC_KERNEL void blocks_up_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 16, 8, 8, 16, gelu_v);
}

/* y (batch, 8) = x (batch, 16) . weight (8, 16)^T + bias;
 * then add(x0, x1) */
static MODC_KERNEL void blocks_down_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, int batch)
{
    gemm_panel_reads_1(y, x, w, bias, e0, 1, batch, 8, 16, 16, 8, 8, add_v);
}

/* y (batch, 16) = x (batch, 8) . weight (16, 8)^T + bias;
 * then leaky_relu(x0) */
static MODC_KERNEL void head_0_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 16, 8, 8, 16, leaky_relu_v);
}

/* y (batch, 5) = x (batch, 16) . weight (5, 16)^T + bias */
static MODC_KERNEL void head_2_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 5, 16, 16, 5, 16, modc_f32s_as_is);
}

/* y (batch, 5) = x (batch, 5) . weight (5, 5)^T */
static MODC_KERNEL void head_last_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 0, batch, 5, 5, 5, 5, modc_f32_as_is);
}

/* y (batch, 5) = softmax(x) along the last dimension */
static MODC_KERNEL void root_softmax(float *restrict y, const float *restrict x, int batch)
{
    softmax(y, x, batch, 5, 5, 5, modc_f32s_as_is, modc_f32_as_is);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 6006.0
#define MACS_OF_PROBABILITIES 6006.0
#define RTOL_OF_FAMILY_DEEP 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_BLOCKS_0_BLOCK_EVAL \
    float *const norm = (void *)(ws + 384); /* (batch, 8) */ \
    float *const up = (void *)(ws + 0); /* (batch, 16) */ \

#define TENSORS_OF_FORWARD_EVAL \
    float *const blocks_0 = (void *)(ws + 576); /* (batch, 8) */ \
    float *const blocks_1_up = (void *)(ws + 0); /* (batch, 16) */ \
    float *const blocks_1_down = (void *)(ws + 768); /* (batch, 8) */ \
    float *const blocks_2 = (void *)(ws + 576); /* (batch, 8) */ \
    float *const head_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const head_2 = (void *)(ws + 384); /* (batch, 5) */ \

#define TENSORS_OF_PROBABILITIES_EVAL \
    float *const blocks_0 = (void *)(ws + 576); /* (batch, 8) */ \
    float *const blocks_1_up = (void *)(ws + 0); /* (batch, 16) */ \
    float *const blocks_1_down = (void *)(ws + 768); /* (batch, 8) */ \
    float *const blocks_2 = (void *)(ws + 576); /* (batch, 8) */ \
    float *const head_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const head_2 = (void *)(ws + 384); /* (batch, 5) */ \
    float *const head_last = (void *)(ws + 0); /* (batch, 5) */ \

/* What a context works with. */
#define CONTEXT_OF_FAMILY_DEEP \
    const struct family_deep_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct family_deep_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* Block(8, 2) */
struct family_deep_blocks_0_block_packed {
    MODC_ALIGNED float up_weight[128]; /* panels [1][8][16] */
    MODC_ALIGNED float down_weight[256]; /* panels [1][16][16] */
    MODC_ALIGNED float down_bias[16]; /* zero padded */
};

/* What the kernels read */
struct family_deep_packed {
    MODC_ALIGNED float blocks_1_up_weight[128]; /* panels [1][8][16] */
    MODC_ALIGNED float blocks_1_down_weight[256]; /* panels [1][16][16] */
    MODC_ALIGNED float blocks_1_down_bias[16]; /* zero padded */
    MODC_ALIGNED float head_0_weight[128]; /* panels [1][8][16] */
    MODC_ALIGNED float head_last_weight[80]; /* panels [1][5][16] */
    struct family_deep_blocks_0_block_packed blocks_0;
    struct family_deep_blocks_0_block_packed blocks_2;
};

typedef char family_deep_packed_fits[MODC_PACKED_FITS(struct family_deep_packed,
                                                      FAMILY_DEEP_PACKED_BYTES)];

static void pack_blocks_0_block(const struct family_deep_blocks_0_block *p,
                                struct family_deep_blocks_0_block_packed *k)
{
    modc_f32_pack(k->up_weight, p->up.weight, 16, 8, 8, 1);
    modc_f32_pack(k->down_weight, p->down.weight, 8, 16, 16, 1);
    memset(k->down_bias, 0, sizeof k->down_bias);
    memcpy(k->down_bias, p->down.bias, sizeof(float) * 8);
}

static enum modc_status family_deep_pack_all(struct modc_params *params)
{
    const struct family_deep_params *p = (const void *)params;
    struct family_deep_packed *k = params->packed;

    modc_f32_pack(k->blocks_1_up_weight, p->blocks._1.up.weight, 16, 8, 8, 1);
    modc_f32_pack(k->blocks_1_down_weight, p->blocks._1.down.weight, 8, 16, 16, 1);
    memset(k->blocks_1_down_bias, 0, sizeof k->blocks_1_down_bias);
    memcpy(k->blocks_1_down_bias, p->blocks._1.down.bias, sizeof(float) * 8);
    modc_f32_pack(k->head_0_weight, p->head._0.weight, 16, 8, 8, 1);
    modc_f32_pack(k->head_last_weight, p->head.last.weight, 5, 5, 5, 1);
    pack_blocks_0_block(&p->blocks._0, &k->blocks_0);
    pack_blocks_0_block(&p->blocks._2, &k->blocks_2);
    return MODC_OK;
}

/* Block(8, 2): (batch, 8) from (batch, 8) */
static void blocks_0_block_eval(const struct family_deep_blocks_0_block *p,
                                const struct family_deep_blocks_0_block_packed *k, char *ws,
                                int batch, const float *x, float *y)
{
    TENSORS_OF_BLOCKS_0_BLOCK_EVAL;

    /* norm: LayerNorm(dim) */
    blocks_norm_layer_norm(norm, x, p->norm.weight, p->norm.bias, batch);

    /* up: Linear(dim, expand * dim)
     * act: GELU() */
    blocks_up_linear_fused(up, norm, k->up_weight, p->up.bias, batch);

    /* down: Linear(expand * dim, dim) */
    blocks_down_linear_fused(y, up, k->down_weight, k->down_bias, x, batch);
}

static void family_deep_forward_eval(struct family_deep *net, int batch, const float *x,
                                     float *output)
{
    CONTEXT_OF_FAMILY_DEEP;
    TENSORS_OF_FORWARD_EVAL;

    blocks_0_block_eval(&p->blocks._0, &k->blocks_0, ws + 0, batch, x, blocks_0);

    /* blocks.1.norm: Identity()
     * blocks.1.up: Linear(dim, expand * dim)
     * blocks.1.act: GELU() */
    blocks_up_linear_fused(
        blocks_1_up, blocks_0, k->blocks_1_up_weight, p->blocks._1.up.bias, batch);

    /* blocks.1.down: Linear(expand * dim, dim) */
    blocks_down_linear_fused(
        blocks_1_down, blocks_1_up, k->blocks_1_down_weight, k->blocks_1_down_bias, blocks_0,
        batch);
    blocks_0_block_eval(&p->blocks._2, &k->blocks_2, ws + 0, batch, blocks_1_down, blocks_2);

    /* head.0: Linear(dim, 2 * dim)
     * head.1: LeakyReLU(0.1) */
    head_0_linear_fused(head_0, blocks_2, k->head_0_weight, p->head._0.bias, batch);

    /* head.2: Linear(2 * dim, classes) */
    head_2_linear(head_2, head_0, p->head._2.weight, p->head._2.bias, batch);

    /* head.last: Linear(classes, classes, bias=False) */
    head_last_linear(output, head_2, k->head_last_weight, NULL, batch);
}

static void family_deep_probabilities_eval(struct family_deep *net, int batch, const float *x,
                                           float *output)
{
    CONTEXT_OF_FAMILY_DEEP;
    TENSORS_OF_PROBABILITIES_EVAL;

    blocks_0_block_eval(&p->blocks._0, &k->blocks_0, ws + 0, batch, x, blocks_0);

    /* blocks.1.norm: Identity()
     * blocks.1.up: Linear(dim, expand * dim)
     * blocks.1.act: GELU() */
    blocks_up_linear_fused(
        blocks_1_up, blocks_0, k->blocks_1_up_weight, p->blocks._1.up.bias, batch);

    /* blocks.1.down */
    blocks_down_linear_fused(
        blocks_1_down, blocks_1_up, k->blocks_1_down_weight, k->blocks_1_down_bias, blocks_0,
        batch);
    blocks_0_block_eval(&p->blocks._2, &k->blocks_2, ws + 0, batch, blocks_1_down, blocks_2);

    /* head.0: Linear(dim, 2 * dim)
     * head.1: LeakyReLU(0.1) */
    head_0_linear_fused(head_0, blocks_2, k->head_0_weight, p->head._0.bias, batch);

    /* head.2 */
    head_2_linear(head_2, head_0, p->head._2.weight, p->head._2.bias, batch);

    /* head.last */
    head_last_linear(head_last, head_2, k->head_last_weight, NULL, batch);
    root_softmax(output, head_last, batch);
}

enum modc_status family_deep_forward(struct family_deep *net, int batch, const float *x,
                                     float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= FAMILY_DEEP_MAX_BATCH, SIZE);
    MODC_TRY(modc_check(&net->base, FAMILY_DEEP_WORKSPACE_BYTES, true, false));
    family_deep_forward_eval(net, batch, x, output);
    return status;
}

enum modc_status family_deep_probabilities(struct family_deep *net, int batch, const float *x,
                                           float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= FAMILY_DEEP_MAX_BATCH, SIZE);
    MODC_TRY(modc_check(&net->base, FAMILY_DEEP_PROBABILITIES_WORKSPACE_BYTES, true, false));
    family_deep_probabilities_eval(net, batch, x, output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", FAMILY_DEEP_MAX_BATCH}};

MODC_CALL(family_deep, forward, (net, sizes[0], inputs[0], outputs[0]))
MODC_CALL(family_deep, probabilities, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {FAMILY_DEEP_MAX_BATCH, 8}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {FAMILY_DEEP_MAX_BATCH, 5}, {0, -1}, false},
};

static const struct modc_io probabilities_io[] = {
    {"x", MODC_FLOAT32, 2, {FAMILY_DEEP_MAX_BATCH, 8}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {FAMILY_DEEP_MAX_BATCH, 5}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(FAMILY_DEEP),
               FAMILY_DEEP_MAX_BATCH),
    MODC_ENTRY(probabilities, 1, 1, MACS_OF_PROBABILITIES, NULL, NULL,
               MODC_PLAIN(FAMILY_DEEP_PROBABILITIES), FAMILY_DEEP_MAX_BATCH),
};

#define MODULES_OF_BLOCKS(at_path, at_name, at_module) \
    {at_path, at_name, "Block", "", FAMILY_DEEP_BLOCKS, 4, false}, \
    {at_path ".norm", "norm", "LayerNorm", "(8,), eps=1e-05, elementwise_affine=True, bias=True", \
     at_module, 0, false}, \
    {at_path ".up", "up", "Linear", "in_features=8, out_features=16, bias=True", at_module, 0, \
     false}, \
    {at_path ".act", "act", "GELU", "approximate='none'", at_module, 0, false}, \
    {at_path ".down", "down", "Linear", "in_features=16, out_features=8, bias=True", at_module, 0, \
     false},

static const struct modc_module modules_table[] = {
    {"", "", "family_deep", "", -1, 21, false},
    {"blocks", "blocks", "Sequential", "", 0, 15, false},
    MODULES_OF_BLOCKS("blocks.0", "0", FAMILY_DEEP_BLOCKS_0)
    {"blocks.1", "1", "Block", "", FAMILY_DEEP_BLOCKS, 4, false},
    {"blocks.1.norm", "norm", "Identity", "", FAMILY_DEEP_BLOCKS_1, 0, false},
    {"blocks.1.up", "up", "Linear", "in_features=8, out_features=16, bias=True",
     FAMILY_DEEP_BLOCKS_1, 0, false},
    {"blocks.1.act", "act", "GELU", "approximate='none'", FAMILY_DEEP_BLOCKS_1, 0, false},
    {"blocks.1.down", "down", "Linear", "in_features=16, out_features=8, bias=True",
     FAMILY_DEEP_BLOCKS_1, 0, false},
    MODULES_OF_BLOCKS("blocks.2", "2", FAMILY_DEEP_BLOCKS_2)
    {"head", "head", "Sequential", "", 0, 4, false},
    {"head.0", "0", "Linear", "in_features=8, out_features=16, bias=True", FAMILY_DEEP_HEAD, 0,
     false},
    {"head.1", "1", "LeakyReLU", "negative_slope=0.1", FAMILY_DEEP_HEAD, 0, false},
    {"head.2", "2", "Linear", "in_features=16, out_features=5, bias=True", FAMILY_DEEP_HEAD, 0,
     false},
    {"head.last", "last", "Linear", "in_features=5, out_features=5, bias=False", FAMILY_DEEP_HEAD,
     0, false},
};

#define KEYS_OF_BLOCKS(at_path, at_module) \
    MODC_PARAMETER(at_path ".norm.weight", at_module + 1, FLOAT32, CONSTANT(1.0), 1, {8}), \
    MODC_PARAMETER(at_path ".norm.bias", at_module + 1, FLOAT32, CONSTANT(0.0), 1, {8}), \
    MODC_PARAMETER(at_path ".up.weight", at_module + 2, FLOAT32, UNIFORM(0.35355339), 2, {16, 8}), \
    MODC_PARAMETER(at_path ".up.bias", at_module + 2, FLOAT32, UNIFORM(0.35355339), 1, {16}), \
    MODC_PARAMETER(at_path ".down.weight", at_module + 4, FLOAT32, UNIFORM(0.25), 2, {8, 16}), \
    MODC_PARAMETER(at_path ".down.bias", at_module + 4, FLOAT32, UNIFORM(0.25), 1, {8}),

static const struct modc_key keys_table[] = {
    KEYS_OF_BLOCKS("blocks.0", FAMILY_DEEP_BLOCKS_0)
    MODC_PARAMETER("blocks.1.up.weight", FAMILY_DEEP_BLOCKS_1_UP, FLOAT32, UNIFORM(0.35355339), 2,
                   {16, 8}),
    MODC_PARAMETER("blocks.1.up.bias", FAMILY_DEEP_BLOCKS_1_UP, FLOAT32, UNIFORM(0.35355339), 1,
                   {16}),
    MODC_PARAMETER("blocks.1.down.weight", FAMILY_DEEP_BLOCKS_1_DOWN, FLOAT32, UNIFORM(0.25), 2,
                   {8, 16}),
    MODC_PARAMETER("blocks.1.down.bias", FAMILY_DEEP_BLOCKS_1_DOWN, FLOAT32, UNIFORM(0.25), 1, {8}),
    KEYS_OF_BLOCKS("blocks.2", FAMILY_DEEP_BLOCKS_2)
    MODC_PARAMETER("head.0.weight", FAMILY_DEEP_HEAD_0, FLOAT32, UNIFORM(0.35355339), 2, {16, 8}),
    MODC_PARAMETER("head.0.bias", FAMILY_DEEP_HEAD_0, FLOAT32, UNIFORM(0.35355339), 1, {16}),
    MODC_PARAMETER("head.2.weight", FAMILY_DEEP_HEAD_2, FLOAT32, UNIFORM(0.25), 2, {5, 16}),
    MODC_PARAMETER("head.2.bias", FAMILY_DEEP_HEAD_2, FLOAT32, UNIFORM(0.25), 1, {5}),
    MODC_PARAMETER("head.last.weight", FAMILY_DEEP_HEAD_LAST, FLOAT32, UNIFORM(0.4472136), 2,
                   {5, 5}),
};

const struct modc_model family_deep_model = {
    .abi = MODC_ABI, .name = "family_deep", .schema = FAMILY_DEEP_SCHEMA,
    .rtol = RTOL_OF_FAMILY_DEEP,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct family_deep_params),
    .context_bytes = sizeof(struct family_deep),
    .param_block = FAMILY_DEEP_PARAM_BYTES,
    .packed_block = FAMILY_DEEP_PACKED_BYTES, .pack = family_deep_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = FAMILY_DEEP_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
