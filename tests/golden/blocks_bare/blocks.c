/* blocks.c - written by modc from blocks_bare.yaml; change the spec, not this file. It is yours,
 * under any terms. */
#include "blocks.h"

#include <string.h>

#include "modc_simd.h"

static MODC_ALIGNED const float constant_frequency[64] = {
    1.0f, 0.930572033f, 0.865964353f, 0.805842221f, 0.749894202f, 0.697830558f, 0.649381638f,
    0.604296386f, 0.562341332f, 0.523299158f, 0.486967534f, 0.453158349f, 0.421696514f,
    0.392418981f, 0.365174145f, 0.339820832f, 0.316227764f, 0.294272721f, 0.273841977f,
    0.254829675f, 0.237137362f, 0.220673397f, 0.2053525f, 0.191095293f, 0.177827939f,
    0.165481701f, 0.153992653f, 0.143301263f, 0.133352146f, 0.124093771f, 0.115478203f,
    0.107460782f, 0.100000001f, 0.0930572003f, 0.0865964293f, 0.0805842131f, 0.0749894157f,
    0.0697830543f, 0.0649381652f, 0.0604296438f, 0.0562341288f, 0.0523299128f, 0.0486967526f,
    0.0453158356f, 0.0421696492f, 0.0392418988f, 0.0365174115f, 0.0339820832f, 0.0316227786f,
    0.0294272732f, 0.0273841955f, 0.0254829675f, 0.0237137359f, 0.0220673401f, 0.0205352511f,
    0.0191095304f, 0.0177827943f, 0.0165481716f, 0.0153992651f, 0.0143301254f, 0.0133352149f,
    0.0124093769f, 0.0115478197f, 0.0107460786f
};

MODC_KERNELS_BEGIN

/* x0 + x1 */
MODC_INLINE float add_s(float x0, float x1)
{
    return x0 + x1;
}

MODC_INLINE modc_f32 add_v(modc_f32 x0, modc_f32 x1)
{
    return x0 + x1;
}

/* x1 + x0 */
MODC_INLINE modc_f32 add_add_v(modc_f32 x0, modc_f32 x1)
{
    return x1 + x0;
}

/* 0.5 * x0 * (1.0 + erf(x0 * 0.70710677)) */
MODC_INLINE modc_f32 gelu_v(modc_f32 x0)
{
    return 0.5f * x0 * (1.0f + modc_f32_erf(x0 * 0.707106769f));
}

/* x0 * x1 */
MODC_INLINE modc_f32 mul_v(modc_f32 x0, modc_f32 x1)
{
    return x0 * x1;
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

/* A row at a time: its mean, then its variance, then the result. */
MODC_INLINE void layer_norm_bias_weight_reads_1(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, const int M, const int K, const int LDX, const int LDY,
    const int LDE0, float (*TAIL)(float x, float e0), modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0))
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
            modc_f32_store(y + r * LDY + k, TAIL_V(value, modc_f32_load(e0 + r * LDE0 + k)));
        }
        for (int k = full; k < K; k++) {
            float value = (row[k] - mean - error) * scale;

            value *= w[k];
            value += bias[k];
            y[r * LDY + k] = TAIL(value, e0[r * LDE0 + k]);
        }
    }
}

/* y (tokens, 64) = (x - mean) / sqrt(variance + 9.99999975e-06f) * weight + bias by rows of the
 * last dimension;
 * then add(x0, x1) */
static MODC_KERNEL void block_norm_layer_norm_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, int tokens)
{
    layer_norm_bias_weight_reads_1(y, x, w, bias, e0, tokens, 64, 64, 64, 0, add_s, add_v);
}

/* y (tokens, 128) = x (tokens, 64) . weight (128, 64)^T + bias;
 * then gelu(x0) */
static MODC_KERNEL void block_up_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int tokens)
{
    gemm_panel(y, x, w, bias, 1, tokens, 128, 64, 64, 128, gelu_v);
}

/* y (tokens, 64) = x (tokens, 128) . weight (64, 128)^T + bias;
 * then add_add(x0, x1) */
static MODC_KERNEL void block_down_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, int tokens)
{
    gemm_panel_reads_1(y, x, w, bias, e0, 1, tokens, 64, 128, 128, 64, 64, add_add_v);
}

/* y (tokens, 64) = (x - mean) / sqrt(variance + 9.99999975e-06f) * weight + bias by rows of the
 * last dimension */
static MODC_KERNEL void norm_layer_norm(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int tokens)
{
    layer_norm_bias_weight(y, x, w, bias, tokens, 64, 64, 64, modc_f32s_as_is, modc_f32_as_is);
}

/* y (tokens, 8) = x (tokens, 64) . weight (8, 64)^T + bias */
static MODC_KERNEL void head_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int tokens)
{
    gemm_dot(y, x, w, bias, 1, tokens, 8, 64, 64, 8, 64, modc_f32s_as_is);
}

/* y in panels [4][128][16] = x0 * x1 */
static MODC_KERNEL void pack_down_weight_folded(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 128; j++) {
            for (int k = 0; k < 16; k++)
                y[i * 2048 + j * 16 + k] = x0[i * 2048 + j + k * 128] * x1[i * 16 + k];
        }
    }
}

/* y = F of the inputs, for each element. */
MODC_INLINE void map_2(
    float *y, const float *x0, const float *x1, const int count,
    modc_f32 (*F)(modc_f32 x0, modc_f32 x1))
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES)
        modc_f32_store(y + i, F(modc_f32_load(x0 + i), modc_f32_load(x1 + i)));
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);

        modc_f32_store_part(y + i, F(v0, v1), count - i);
    }
}

/* y in [64] = mul(x0, x1) */
static MODC_KERNEL void pack_down_bias_folded(float *y, const float *x0, const float *x1)
{
    map_2(y, x0, x1, 64, mul_v);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 6307840.0
#define RTOL_OF_BLOCKS 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_BLOCK_EVAL \
    float *const h = (void *)(ws + 16384); /* (tokens, 64) */ \
    float *const up = (void *)(ws + 0); /* (tokens, 128) */ \

#define TENSORS_OF_FORWARD_EVAL \
    float *const blocks_0 = (void *)(ws + 24576); /* (tokens, 64) */ \
    float *const norm = (void *)(ws + 0); /* (tokens, 64) */ \

/* What a context works with. */
#define CONTEXT_OF_BLOCKS \
    const struct blocks_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct blocks_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* Block(64, 2) */
struct blocks_block_packed {
    MODC_ALIGNED float up_weight[8192]; /* panels [8][64][16] */
    MODC_ALIGNED float down_weight_folded[8192]; /* panels [4][128][16] */
    MODC_ALIGNED float down_bias_folded[64]; /* [64] */
};

/* What the kernels read */
struct blocks_packed {
    struct blocks_block_packed blocks[12];
};

typedef char blocks_packed_fits[MODC_PACKED_FITS(struct blocks_packed, BLOCKS_PACKED_BYTES)];

static void pack_block(const struct blocks_block *p, struct blocks_block_packed *k)
{
    modc_f32_pack(k->up_weight, p->up.weight, 128, 64, 64, 1);
    pack_down_weight_folded(k->down_weight_folded, p->down.weight, p->scale);
    pack_down_bias_folded(k->down_bias_folded, p->down.bias, p->scale);
}

static enum modc_status blocks_pack_all(struct modc_params *params)
{
    const struct blocks_params *p = (const void *)params;
    struct blocks_packed *k = params->packed;

    for (int i = 0; i < 12; i++)
        pack_block(&p->blocks[i], &k->blocks[i]);
    return MODC_OK;
}

/* Block(64, 2): (tokens, 64) from (tokens, 64) */
static void block_eval(const struct blocks_block *p, const struct blocks_block_packed *k, char *ws,
                       int tokens, const float *x, float *y)
{
    TENSORS_OF_BLOCK_EVAL;

    /* norm: LayerNorm(dim) */
    block_norm_layer_norm_fused(h, x, p->norm.weight, p->norm.bias, constant_frequency, tokens);

    /* up: Linear(dim, expand * dim)
     * act: GELU() */
    block_up_linear_fused(up, h, k->up_weight, p->up.bias, tokens);

    /* down: Linear(expand * dim, dim) */
    block_down_linear_fused(y, up, k->down_weight_folded, k->down_bias_folded, x, tokens);
}

static void blocks_forward_eval(struct blocks *net, int tokens, const float *x, float *output)
{
    CONTEXT_OF_BLOCKS;
    TENSORS_OF_FORWARD_EVAL;

    {
        float *const buffers[2] =
            {(void *)(ws + 32768), blocks_0}; /* by turns; the last is the result */
        const float *in = x;

        for (int i = 0; i < 12; i++) {
            float *out = buffers[i % 2];

            block_eval(&p->blocks[i], &k->blocks[i], ws + 0, tokens, in, out);
            in = out;
        }
    }

    /* norm: LayerNorm(dim) */
    norm_layer_norm(norm, blocks_0, p->norm.weight, p->norm.bias, tokens);

    /* head: Linear(dim, 8) */
    head_linear(output, norm, p->head.weight, p->head.bias, tokens);
}

enum modc_status blocks_forward(struct blocks *net, int tokens, const float *x, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(tokens >= 0 && tokens <= BLOCKS_MAX_TOKENS, SIZE);
    MODC_TRY(modc_check(&net->base, BLOCKS_WORKSPACE_BYTES, true, false));
    blocks_forward_eval(net, tokens, x, output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"tokens", BLOCKS_MAX_TOKENS}};

MODC_CALL(blocks, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {BLOCKS_MAX_TOKENS, 64}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {BLOCKS_MAX_TOKENS, 8}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(BLOCKS), BLOCKS_MAX_TOKENS),
};

#define MODULES_OF_BLOCKS(at_path, at_name, at_module) \
    {at_path, at_name, "Block", "", BLOCKS_BLOCKS, 4, false}, \
    {at_path ".norm", "norm", "LayerNorm", "(64,), eps=1e-05, elementwise_affine=True, bias=True", \
     at_module, 0, false}, \
    {at_path ".up", "up", "Linear", "in_features=64, out_features=128, bias=True", at_module, 0, \
     false}, \
    {at_path ".act", "act", "GELU", "approximate='none'", at_module, 0, false}, \
    {at_path ".down", "down", "Linear", "in_features=128, out_features=64, bias=True", at_module, \
     0, false},

static const struct modc_module modules_table[] = {
    {"", "", "blocks", "", -1, 63, false},
    {"blocks", "blocks", "Sequential", "", 0, 60, false},
    MODULES_OF_BLOCKS("blocks.0", "0", BLOCKS_BLOCKS_0)
    MODULES_OF_BLOCKS("blocks.1", "1", BLOCKS_BLOCKS_1)
    MODULES_OF_BLOCKS("blocks.2", "2", BLOCKS_BLOCKS_2)
    MODULES_OF_BLOCKS("blocks.3", "3", BLOCKS_BLOCKS_3)
    MODULES_OF_BLOCKS("blocks.4", "4", BLOCKS_BLOCKS_4)
    MODULES_OF_BLOCKS("blocks.5", "5", BLOCKS_BLOCKS_5)
    MODULES_OF_BLOCKS("blocks.6", "6", BLOCKS_BLOCKS_6)
    MODULES_OF_BLOCKS("blocks.7", "7", BLOCKS_BLOCKS_7)
    MODULES_OF_BLOCKS("blocks.8", "8", BLOCKS_BLOCKS_8)
    MODULES_OF_BLOCKS("blocks.9", "9", BLOCKS_BLOCKS_9)
    MODULES_OF_BLOCKS("blocks.10", "10", BLOCKS_BLOCKS_10)
    MODULES_OF_BLOCKS("blocks.11", "11", BLOCKS_BLOCKS_11)
    {"norm", "norm", "LayerNorm", "(64,), eps=1e-05, elementwise_affine=True, bias=True", 0, 0,
     false},
    {"head", "head", "Linear", "in_features=64, out_features=8, bias=True", 0, 0, false},
};

#define KEYS_OF_BLOCKS(at_path, at_module) \
    MODC_PARAMETER(at_path ".scale", at_module, FLOAT32, CONSTANT(1.0), 1, {64}), \
    MODC_PARAMETER(at_path ".norm.weight", at_module + 1, FLOAT32, CONSTANT(1.0), 1, {64}), \
    MODC_PARAMETER(at_path ".norm.bias", at_module + 1, FLOAT32, CONSTANT(0.0), 1, {64}), \
    MODC_PARAMETER(at_path ".up.weight", at_module + 2, FLOAT32, UNIFORM(0.125), 2, {128, 64}), \
    MODC_PARAMETER(at_path ".up.bias", at_module + 2, FLOAT32, UNIFORM(0.125), 1, {128}), \
    MODC_PARAMETER(at_path ".down.weight", at_module + 4, FLOAT32, UNIFORM(0.088388348), 2, \
                   {64, 128}), \
    MODC_PARAMETER(at_path ".down.bias", at_module + 4, FLOAT32, UNIFORM(0.088388348), 1, {64}),

static const struct modc_key keys_table[] = {
    KEYS_OF_BLOCKS("blocks.0", BLOCKS_BLOCKS_0) KEYS_OF_BLOCKS("blocks.1", BLOCKS_BLOCKS_1)
    KEYS_OF_BLOCKS("blocks.2", BLOCKS_BLOCKS_2) KEYS_OF_BLOCKS("blocks.3", BLOCKS_BLOCKS_3)
    KEYS_OF_BLOCKS("blocks.4", BLOCKS_BLOCKS_4) KEYS_OF_BLOCKS("blocks.5", BLOCKS_BLOCKS_5)
    KEYS_OF_BLOCKS("blocks.6", BLOCKS_BLOCKS_6) KEYS_OF_BLOCKS("blocks.7", BLOCKS_BLOCKS_7)
    KEYS_OF_BLOCKS("blocks.8", BLOCKS_BLOCKS_8) KEYS_OF_BLOCKS("blocks.9", BLOCKS_BLOCKS_9)
    KEYS_OF_BLOCKS("blocks.10", BLOCKS_BLOCKS_10) KEYS_OF_BLOCKS("blocks.11", BLOCKS_BLOCKS_11)
    MODC_PARAMETER("norm.weight", BLOCKS_NORM, FLOAT32, CONSTANT(1.0), 1, {64}),
    MODC_PARAMETER("norm.bias", BLOCKS_NORM, FLOAT32, CONSTANT(0.0), 1, {64}),
    MODC_PARAMETER("head.weight", BLOCKS_HEAD, FLOAT32, UNIFORM(0.125), 2, {8, 64}),
    MODC_PARAMETER("head.bias", BLOCKS_HEAD, FLOAT32, UNIFORM(0.125), 1, {8}),
};

const struct modc_model blocks_model = {
    .abi = MODC_ABI, .name = "blocks", .schema = BLOCKS_SCHEMA,
    .rtol = RTOL_OF_BLOCKS,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct blocks_params),
    .context_bytes = sizeof(struct blocks),
    .param_block = BLOCKS_PARAM_BYTES,
    .packed_block = BLOCKS_PACKED_BYTES, .pack = blocks_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = BLOCKS_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
