/* attention.c - written by modc from attention.yaml; change the spec, not this file. It is yours,
 * under any terms. */
#include "attention.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* Some queries of a head at a time: so few that their scores stay in the cache. */
MODC_INLINE void attention_blocks_causal_turned_tokens(
    float *restrict y, const float *restrict q, const float *restrict k, const float *restrict v,
    float *restrict s, const int BATCH0, const int K0, const int V0, const int BATCH1, const int K1,
    const int V1, const int Y0, const int Q0, const int Y1, const int Q1, const int YM,
    const int QM, const int M, const int ROWS, const int ROOM, const int AHEAD, const int N,
    void (*const KEYS)(float *y, const float *x0, int tokens),
    void (*const SCORES)(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, int queries, int seen),
    void (*const SOFTMAX)(float *restrict y, int queries, int seen, int reach),
    void (*const VALUES)(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, int queries, int seen), int tokens)
{
    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            KEYS(s + ROOM, k + batch0 * K0 + batch1 * K1, tokens);
            for (int row = 0; row < M; row += ROWS) {
                const int queries = modc_min(ROWS, M - row);
                const int reach = row + 1 + AHEAD, seen = modc_min(row + queries + AHEAD, N);

                SCORES(s, q + batch0 * Q0 + batch1 * Q1 + row * QM, s + ROOM, NULL, queries, seen);
                SOFTMAX(s, queries, seen, reach);
                VALUES(
                    y + batch0 * Y0 + batch1 * Y1 + row * YM, s, v + batch0 * V0 + batch1 * V1,
                    NULL, queries, seen);
            }
        }
    }
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

/* rows x vectors of y at (row, column) of one batch, whose first row is `first`; the last vector
 * has only `part` columns, unless that is 0. rows, vectors and whether part is 0 are constants of
 * the call. q: w from this column on. */
MODC_INLINE void matmul_strided_tile(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int vectors, const int part, const int first, const int row,
    const int column, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int tile = rows * vectors;
    modc_f32 sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    p += row * XM;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int c = column + i % vectors * MODC_LANES;

        if (BIAS)
            sum[i] = part && i % vectors == vectors - 1 ? modc_f32_load_part(bias + c, part)
                                                        : modc_f32_load(bias + c);
        else
            sum[i] = modc_f32_set(0);
    }
    MODC_ROLL
    for (int k = 0; k < K; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const float *const start = q + k * WK + j * MODC_LANES;

            b[j] = part && j == vectors - 1 ? modc_f32_load_part(start, part)
                                            : modc_f32_load(start);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float a = p[i * XM + k * XK];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int count = part && i % vectors == vectors - 1 ? part : MODC_LANES;
        const int r = row + i / vectors, c = column + i % vectors * MODC_LANES;

        if (count == MODC_LANES) {
            modc_f32_store(y + r * YM + c, TAIL_V(sum[i]));
            continue;
        }
        modc_f32_store_part(y + r * YM + c, TAIL_V(sum[i]), count);
    }
}

/* `count` times `rows` rows from `row` on, of them `columns` columns from `left` on, where q is;
 * rows is a constant of the call. */
MODC_INLINE void matmul_strided_strip(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int first, const int row, const int count, const int left,
    const int columns, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES, full = columns / band * band;

    for (int t = 0; t < count; t++) {
        for (int c = 0; c < full; c += band)
            matmul_strided_tile(
                y, p, q + c, bias, rows, band / MODC_LANES, 0, first, row + t * rows, left + c,
                BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
        if (columns > full)
            matmul_strided_tile(
                y, p, q + full, bias, rows, (columns - full + MODC_LANES - 1) / MODC_LANES,
                columns % MODC_LANES, first, row + t * rows, left + full, BIAS, BATCH0, Y0, X0, W0,
                BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void matmul_strided_band(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int first, const int left, const int columns, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int most = M / MODC_TILE_ROWS * MODC_TILE_ROWS;

    matmul_strided_strip(
        y, p, q, bias, MODC_TILE_ROWS, first, 0, most / MODC_TILE_ROWS, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
#if MODC_LANES > 1
    matmul_strided_strip(
        y, p, q, bias, 4, first, most, (M - most) / 4, left, columns, BIAS, BATCH0, Y0, X0, W0,
        BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
    matmul_strided_strip(
        y, p, q, bias, 1, first, M - (M - most) % 4, (M - most) % 4, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
#endif
}

/* In register tiles from where both operands lie: neither is a weight that could be packed. */
MODC_INLINE void matmul_strided(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0, const int BATCH1,
    const int Y1, const int X1, const int W1, const int M, const int N, const int K, const int YM,
    const int XM, const int XK, const int WK, const int WN, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            float *const yb = y + batch0 * Y0 + batch1 * Y1;
            const float *const xb = x + batch0 * X0 + batch1 * X1;
            const float *const wb = w + batch0 * W0 + batch1 * W1;
            const int first = (batch0 * BATCH1 + batch1) * M;
            matmul_strided_band(
                yb, xb, wb, bias, first, 0, N, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N,
                K, YM, XM, XK, WK, WN, TAIL_V);
        }
    }
}

/* rows x vectors of y at (row, column) of one batch, whose first row is `first`; the last vector
 * has only `part` columns, unless that is 0. rows, vectors and whether part is 0 are constants of
 * the call. q: w from this column on. */
MODC_INLINE void matmul_strided_any_tile(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int vectors, const int part, const int first, const int row,
    const int column, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int tile = rows * vectors;
    modc_f32 sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    p += row * XM;
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int c = column + i % vectors * MODC_LANES;

        if (BIAS)
            sum[i] = part && i % vectors == vectors - 1 ? modc_f32_load_part(bias + c, part)
                                                        : modc_f32_load(bias + c);
        else
            sum[i] = modc_f32_set(0);
    }
    MODC_ROLL
    for (int k = 0; k < K; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++) {
            const float *const start = q + k * WK + j * MODC_LANES;

            b[j] = part && j == vectors - 1 ? modc_f32_load_part(start, part)
                                            : modc_f32_load(start);
        }
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float a = p[i * XM + k * XK];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int count = part && i % vectors == vectors - 1 ? part : MODC_LANES;
        const int r = row + i / vectors, c = column + i % vectors * MODC_LANES;

        if (count == MODC_LANES) {
            modc_f32_store(y + r * YM + c, TAIL_V(sum[i]));
            continue;
        }
        modc_f32_store_part(y + r * YM + c, TAIL_V(sum[i]), count);
    }
}

/* `count` times `rows` rows from `row` on, of them `columns` columns from `left` on, where q is;
 * rows is a constant of the call. */
MODC_INLINE void matmul_strided_any_strip(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int first, const int row, const int count, const int left,
    const int columns, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES, full = columns / band * band;
    const int whole = columns / MODC_LANES * MODC_LANES;

    for (int t = 0; t < count; t++) {
        for (int c = 0; c < full; c += band)
            matmul_strided_any_tile(
                y, p, q + c, bias, rows, band / MODC_LANES, 0, first, row + t * rows, left + c,
                BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
        for (int c = full; c < whole; c += MODC_LANES)
            matmul_strided_any_tile(
                y, p, q + c, bias, rows, 1, 0, first, row + t * rows, left + c, BIAS, BATCH0, Y0,
                X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
        if (columns > whole)
            matmul_strided_any_tile(
                y, p, q + whole, bias, rows, 1, columns - whole, first, row + t * rows,
                left + whole, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK,
                WN, TAIL_V);
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void matmul_strided_any_band(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int first, const int left, const int columns, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int most = M / MODC_TILE_ROWS * MODC_TILE_ROWS;

    matmul_strided_any_strip(
        y, p, q, bias, MODC_TILE_ROWS, first, 0, most / MODC_TILE_ROWS, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
#if MODC_LANES > 1
    matmul_strided_any_strip(
        y, p, q, bias, 4, first, most, (M - most) / 4, left, columns, BIAS, BATCH0, Y0, X0, W0,
        BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
    matmul_strided_any_strip(
        y, p, q, bias, 1, first, M - (M - most) % 4, (M - most) % 4, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
#endif
}

/* In register tiles from where both operands lie: neither is a weight that could be packed. */
MODC_INLINE void matmul_strided_any(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0, const int BATCH1,
    const int Y1, const int X1, const int W1, const int M, const int N, const int K, const int YM,
    const int XM, const int XK, const int WK, const int WN, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            float *const yb = y + batch0 * Y0 + batch1 * Y1;
            const float *const xb = x + batch0 * X0 + batch1 * X1;
            const float *const wb = w + batch0 * W0 + batch1 * W1;
            const int first = (batch0 * BATCH1 + batch1) * M;
            matmul_strided_any_band(
                yb, xb, wb, bias, first, 0, N, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N,
                K, YM, XM, XK, WK, WN, TAIL_V);
        }
    }
}

/* A row at a time: its maximum, then exponentials and their sum, then the result. */
MODC_INLINE void softmax_wide_in_place_scaled_causal(
    float *restrict y, const int M, const int ALL, const int REACH, const int LDX, const int LDY,
    float (*TAIL)(float x), modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int r = 0; r < M; r++) {
        float *const out = y + r * LDY;
        const float *const row = out;
        const int reached = modc_min(REACH + r, ALL);
        const int full = reached / MODC_LANES * MODC_LANES, rest = reached - full;
        /* high may lose a NaN, which exp brings back */
        modc_f32 high = modc_f32_set(-modc_f32_inf()), total = modc_f32_set(0);
        float most, last;
        const int blocks = full / (4 * MODC_LANES) * (4 * MODC_LANES);
        modc_f32 highs[4] = {high, high, high, high};

        for (int k = 0; k < blocks; k += 4 * MODC_LANES) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++)
                highs[i] = modc_f32_atleast(modc_f32_load(row + k + i * MODC_LANES), highs[i]);
        }
        high = modc_f32_atleast(modc_f32_atleast(highs[0], highs[1]),
                                modc_f32_atleast(highs[2], highs[3]));

        for (int k = blocks; k < full; k += MODC_LANES)
            high = modc_f32_atleast(modc_f32_load(row + k), high);
        if (rest > 0)
            high = modc_f32_atleast(modc_f32_load_rest(row + full, rest, -modc_f32_inf()), high);
        most = modc_f32_hmax(high);
        for (int k = 0; k < full; k += MODC_LANES) {
            const modc_f32 e = modc_f32_exp_negative((modc_f32_load(row + k) - most) *
                                                     0.288675129f);

            total += e;
            modc_f32_store(out + k, e);
        }
        if (rest > 0) {
            const modc_f32 a = modc_f32_load_rest(row + full, rest, -modc_f32_inf()) - most,
                               e = modc_f32_exp_negative(a * 0.288675129f);

            total += e;
            modc_f32_store_part(out + full, e, rest);
        }
        last = 1 / modc_f32_sum(total);

        for (int k = 0; k < full; k += MODC_LANES) {
            const modc_f32 value = modc_f32_load(out + k) * last;

            modc_f32_store(out + k, TAIL_V(value));
        }
        for (int k = full; k < reached; k++) {
            const float value = out[k] * last;

            out[k] = TAIL(value);
        }
        for (int k = reached; k < ALL; k++)
            out[k] = 0;
    }
}

/* y (tokens, 72) = x (tokens, 24) . weight (72, 24)^T + bias */
static MODC_KERNEL void qkv_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int tokens)
{
    gemm_panel(y, x, w, bias, 1, tokens, 72, 24, 24, 72, modc_f32_as_is);
}

/* y (tokens, 24) = x (tokens, 24) . weight (24, 24)^T + bias */
static MODC_KERNEL void out_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int tokens)
{
    gemm_panel(y, x, w, bias, 1, tokens, 24, 24, 24, 24, modc_f32_as_is);
}

/* y (12, tokens) = x0 */
static MODC_KERNEL void root_attention_keys(float *y, const float *x0, int tokens)
{
    modc_f32_transpose(y, 208, x0, 72, 12, tokens);
}

/* y (queries, seen) = x (queries, 12) . w (12, seen);
 * y is a part of a larger value */
static MODC_KERNEL void root_attention_scores(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int queries, int seen)
{
    matmul_strided_any(
        y, x, w, bias, 0, 1, 0, 0, 0, 1, 0, 0, 0, queries, seen, 12, 208, 72, 1, 208, 1,
        modc_f32_as_is);
}

/* y (queries, seen) = softmax(y * 0.288675129f) along the last dimension, row r over reach + r
 * values;
 * y is a part of a larger value */
static MODC_KERNEL void root_attention_softmax(float *restrict y, int queries, int seen, int reach)
{
    softmax_wide_in_place_scaled_causal(
        y, queries, seen, reach, 208, 208, modc_f32s_as_is, modc_f32_as_is);
}

/* y (queries, 12) = x (queries, seen) . w (seen, 12);
 * y is a part of a larger value */
static MODC_KERNEL void root_attention_values(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int queries, int seen)
{
    matmul_strided(
        y, x, w, bias, 0, 1, 0, 0, 0, 1, 0, 0, 0, queries, 12, seen, 24, 208, 1, 72, 1,
        modc_f32_as_is);
}

/* y (2, tokens, 12) = softmax(s) . v (2, tokens, 12), s = q (2, tokens, 12) . k (2, 12, tokens);
 * s is then x0 * 0.28867513;
 * query i sees keys 0 to i;
 * y is a part of a larger value */
static MODC_KERNEL void root_attention(
    float *restrict y, const float *restrict q, const float *restrict k, const float *restrict v,
    float *restrict s, int tokens)
{
    attention_blocks_causal_turned_tokens(
        y, q, k, v, s, 1, 0, 0, 2, 12, 12, 0, 0, 12, 12, 24, 72, tokens, 14, 2912, 0, tokens,
        root_attention_keys, root_attention_scores, root_attention_softmax, root_attention_values,
        tokens);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 2380800.0
#define RTOL_OF_ATTENTION 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const qkv = (void *)(ws + 0); /* (tokens, 72) */ \
    float *const copy = (void *)(ws + 79232); /* (tokens, 2, 12) */ \

/* What a context works with. */
#define CONTEXT_OF_ATTENTION \
    const struct attention_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct attention_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct attention_packed {
    MODC_ALIGNED float qkv_weight[1920]; /* panels [5][24][16] */
    MODC_ALIGNED float qkv_bias[80]; /* zero padded */
    MODC_ALIGNED float out_weight[768]; /* panels [2][24][16] */
    MODC_ALIGNED float out_bias[32]; /* zero padded */
};

typedef char attention_packed_fits[MODC_PACKED_FITS(struct attention_packed,
                                                    ATTENTION_PACKED_BYTES)];

static enum modc_status attention_pack_all(struct modc_params *params)
{
    const struct attention_params *p = (const void *)params;
    struct attention_packed *k = params->packed;

    modc_f32_pack(k->qkv_weight, p->qkv.weight, 72, 24, 24, 1);
    memset(k->qkv_bias, 0, sizeof k->qkv_bias);
    memcpy(k->qkv_bias, p->qkv.bias, sizeof(float) * 72);
    modc_f32_pack(k->out_weight, p->out.weight, 24, 24, 24, 1);
    memset(k->out_bias, 0, sizeof k->out_bias);
    memcpy(k->out_bias, p->out.bias, sizeof(float) * 24);
    return MODC_OK;
}

static void attention_forward_eval(struct attention *net, int tokens, const float *x, float *output)
{
    CONTEXT_OF_ATTENTION;
    TENSORS_OF_FORWARD_EVAL;

    /* qkv: Linear(24, 72) */
    qkv_linear(qkv, x, k->qkv_weight, k->qkv_bias, tokens);
    root_attention(copy, qkv, qkv + 24, qkv + 48, (void *)(ws + 57600), tokens);

    /* out: Linear(24, 24) */
    out_linear(output, copy, k->out_weight, k->out_bias, tokens);
}

enum modc_status attention_forward(struct attention *net, int tokens, const float *x, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(tokens >= 0 && tokens <= ATTENTION_MAX_TOKENS, SIZE);
    MODC_TRY(modc_check(&net->base, ATTENTION_WORKSPACE_BYTES, true, false));
    attention_forward_eval(net, tokens, x, output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"tokens", ATTENTION_MAX_TOKENS}};

MODC_CALL(attention, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {ATTENTION_MAX_TOKENS, 24}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {ATTENTION_MAX_TOKENS, 24}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(ATTENTION),
               ATTENTION_MAX_TOKENS),
};

static const struct modc_module modules_table[] = {
    {"", "", "attention", "", -1, 2, false},
    {"qkv", "qkv", "Linear", "in_features=24, out_features=72, bias=True", 0, 0, false},
    {"out", "out", "Linear", "in_features=24, out_features=24, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("qkv.weight", ATTENTION_QKV, FLOAT32, UNIFORM(0.20412415), 2, {72, 24}),
    MODC_PARAMETER("qkv.bias", ATTENTION_QKV, FLOAT32, UNIFORM(0.20412415), 1, {72}),
    MODC_PARAMETER("out.weight", ATTENTION_OUT, FLOAT32, UNIFORM(0.20412415), 2, {24, 24}),
    MODC_PARAMETER("out.bias", ATTENTION_OUT, FLOAT32, UNIFORM(0.20412415), 1, {24}),
};

const struct modc_model attention_model = {
    .abi = MODC_ABI, .name = "attention", .schema = ATTENTION_SCHEMA,
    .rtol = RTOL_OF_ATTENTION,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct attention_params),
    .context_bytes = sizeof(struct attention),
    .param_block = ATTENTION_PARAM_BYTES,
    .packed_block = ATTENTION_PACKED_BYTES, .pack = attention_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = ATTENTION_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
