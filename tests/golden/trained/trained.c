/* trained.c - written by modc from trained.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "trained.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* where(x2 != 0.0, x1 + x0, x0) */
MODC_INLINE float accumulate_s(float x0, float x1, float x2)
{
    return x2 != 0.0f ? x1 + x0 : x0;
}

MODC_INLINE modc_f32 accumulate_v(modc_f32 x0, modc_f32 x1, modc_f32 x2)
{
    return modc_f32_select(modc_f32_ne(x2, modc_f32_set(0.0f)), x1 + x0, x0);
}

/* where(x1 <= 0.0, 0.0, x0) */
MODC_INLINE modc_f32 drelu_v(modc_f32 x0, modc_f32 x1)
{
    return modc_f32_select(modc_f32_le(x1, modc_f32_set(0.0f)), modc_f32_set(0.0f), x0);
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

/* y = -where(x0, x1, 0.0), for each element. */
MODC_INLINE void map_dwhere_dneg_2_x1_set(
    float *y, const bool *x0, const float *x1, const int count)
{
    for (int i = 0; i < count; i++)
        y[i] = -(MODC_TRUE(x0[i]) ? x1[0] : 0.0f);
}

/* y = x0 != -100, for each element. */
MODC_INLINE void map_ne_1(bool *y, const int64_t *x0, const int count)
{
    for (int i = 0; i < count; i++)
        y[i] = x0[i] != -100;
}

/* y = where(x0, -x1, 0.0), for each element. */
MODC_INLINE void map_neg_where_2(float *y, const bool *x0, const float *x1, const int count)
{
    for (int i = 0; i < count; i++)
        y[i] = MODC_TRUE(x0[i]) ? -x1[i] : 0.0f;
}

/* y = where(x0, x1, 0), for each element. */
MODC_INLINE void map_where_2(int64_t *y, const bool *x0, const int64_t *x1, const int count)
{
    for (int i = 0; i < count; i++)
        y[i] = MODC_TRUE(x0[i]) ? x1[i] : 0;
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
MODC_INLINE void matmul_strided_fixed_reads_2_onto_tile(
    float *y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int vectors, const int part, const int first, const int row,
    const int column, const float *e0, const float *e1, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
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
            modc_f32_store(
                y + r * YM + c,
                TAIL_V(sum[i], modc_f32_load(e0 + (first + r) * LDE0 + c),
                       modc_f32_set(e1[(first + r) * LDE1])));
            continue;
        }
        modc_f32_store_part(
            y + r * YM + c,
            TAIL_V(sum[i], modc_f32_load_part(e0 + (first + r) * LDE0 + c, count),
                   modc_f32_set(e1[(first + r) * LDE1])), count);
    }
}

/* `count` times `rows` rows from `row` on, of them `columns` columns from `left` on, where q is;
 * rows is a constant of the call. */
MODC_INLINE void matmul_strided_fixed_reads_2_onto_strip(
    float *y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int first, const int row, const int count, const int left,
    const int columns, const float *e0, const float *e1, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES, full = columns / band * band;

    for (int t = 0; t < count; t++) {
        for (int c = 0; c < full; c += band)
            matmul_strided_fixed_reads_2_onto_tile(
                y, p, q + c, bias, rows, band / MODC_LANES, 0, first, row + t * rows, left + c, e0,
                e1, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, LDE0,
                LDE1, TAIL_V);
        if (columns > full)
            matmul_strided_fixed_reads_2_onto_tile(
                y, p, q + full, bias, rows, (columns - full + MODC_LANES - 1) / MODC_LANES,
                columns % MODC_LANES, first, row + t * rows, left + full, e0, e1, BIAS, BATCH0, Y0,
                X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, LDE0, LDE1, TAIL_V);
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void matmul_strided_fixed_reads_2_onto_band(
    float *y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int first, const int left, const int columns, const float *e0, const float *e1,
    const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0, const int BATCH1,
    const int Y1, const int X1, const int W1, const int M, const int N, const int K, const int YM,
    const int XM, const int XK, const int WK, const int WN, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    const int tiles = (M + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = M / tiles, tall = M % tiles;

    if (tall > 0)
        matmul_strided_fixed_reads_2_onto_strip(
            y, p, q, bias, rows + 1, first, 0, tall, left, columns, e0, e1, BIAS, BATCH0, Y0, X0,
            W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, LDE0, LDE1, TAIL_V);
    matmul_strided_fixed_reads_2_onto_strip(
        y, p, q, bias, rows, first, tall * (rows + 1), tiles - tall, left, columns, e0, e1, BIAS,
        BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, LDE0, LDE1, TAIL_V);
}

/* In register tiles from where both operands lie: neither is a weight that could be packed. */
MODC_INLINE void matmul_strided_fixed_reads_2_onto(
    float *y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *e0, const float *e1, const int BIAS, const int BATCH0, const int Y0, const int X0,
    const int W0, const int BATCH1, const int Y1, const int X1, const int W1, const int M,
    const int N, const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    const int LDE0, const int LDE1, modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            float *const yb = y + batch0 * Y0 + batch1 * Y1;
            const float *const xb = x + batch0 * X0 + batch1 * X1;
            const float *const wb = w + batch0 * W0 + batch1 * W1;
            const int first = (batch0 * BATCH1 + batch1) * M;
            matmul_strided_fixed_reads_2_onto_band(
                yb, xb, wb, bias, first, 0, N, e0, e1, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1,
                M, N, K, YM, XM, XK, WK, WN, LDE0, LDE1, TAIL_V);
        }
    }
}


/* In register tiles from where both operands lie: neither is a weight that could be packed. */
MODC_INLINE void matmul_strided_plain_fixed_reads_2_onto(
    float *y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *e0, const float *e1, const int BIAS, const int BATCH0, const int Y0, const int X0,
    const int W0, const int BATCH1, const int Y1, const int X1, const int W1, const int M,
    const int N, const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    const int LDE0, const int LDE1, float (*TAIL)(float x, float e0, float e1))
{
    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            float *const yb = y + batch0 * Y0 + batch1 * Y1;
            const float *const xb = x + batch0 * X0 + batch1 * X1;
            const float *const wb = w + batch0 * W0 + batch1 * W1;
            const int first = (batch0 * BATCH1 + batch1) * M;
            (void)first;
            for (int i = 0; i < M; i++) {
                for (int j = 0; j < N; j++) {
                    float sum = BIAS ? bias[j] : 0;

                    for (int k = 0; k < K; k++)
                        sum += xb[i * XM + k * XK] * wb[k * WK + j * WN];
                    yb[i * YM + j] = TAIL(sum, e0[(first + i) * LDE0 + j], e1[(first + i) * LDE1]);
                }
            }
        }
    }
}

/* A row at a time: its maximum, then exponentials and their sum, then the result. */
MODC_INLINE void softmax_log(
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
        }
        if (rest > 0) {
            const modc_f32 e = modc_f32_exp_negative(modc_f32_load_rest(row + full, rest,
                    -modc_f32_inf()) - most);

            total += e;
        }
        last = modc_f32s_log(modc_f32_sum(total));

        for (int k = 0; k < full; k += MODC_LANES) {
            const modc_f32 value = (modc_f32_load(row + k) - most) - last;

            modc_f32_store(out + k, TAIL_V(value));
        }
        for (int k = full; k < K; k++) {
            const float value = (row[k] - most) - last;

            out[k] = TAIL(value);
        }
    }
}

/* y = what HEAD gives for each element, reduced, then x0 / float32(x1). */
MODC_INLINE void sum_rows_1d_then_div_reads_1(
    float *y, const float *x0, const int64_t *x1, const int count, modc_f32 (*HEAD)(modc_f32 x0))
{
    const modc_f32 zero = modc_f32_set(0.0f);
    modc_f32 sums = zero;
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES)
        sums += HEAD(modc_f32_load(x0 + i));
    if (i < count)
        sums += modc_f32_first(HEAD(modc_f32_load_part(x0 + i, count - i)), count - i, zero);

    const float sum = modc_f32_sum(sums);

    y[0] = sum / (float)x1[0];
}

/* y (batch, 16) = x (batch, 4) . weight (16, 4)^T + bias;
 * then relu(x0) */
static MODC_KERNEL void y_0_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 16, 4, 4, 16, relu_v);
}

/* y (batch, 4) = x (batch, 16) . w (16, 4) */
static MODC_KERNEL void y_0_dinput(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    matmul_strided(
        y, x, w, bias, 0, 1, 0, 0, 0, 1, 0, 0, 0, batch, 4, 16, 4, 16, 1, 4, 1, modc_f32_as_is);
}

/* y (16, 4) = x (16, batch) . w (batch, 4);
 * then accumulate(x0, x1, x2) */
static MODC_KERNEL void y_0_dweight(
    float *y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *e0, const float *e1, int batch)
{
    matmul_strided_plain_fixed_reads_2_onto(
        y, x, w, bias, e0, e1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 16, 4, batch, 4, 1, 16, 4, 1, 4, 0,
        accumulate_s);
}

/* y (batch, 16) = x (batch, 3) . weight (16, 3)^T;
 * then drelu(x0, x1) */
static MODC_KERNEL void y_2_dinput(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, int batch)
{
    gemm_panel_reads_1(y, x, w, bias, e0, 0, batch, 16, 3, 3, 16, 16, drelu_v);
}

/* y (batch, 3) = x (batch, 16) . weight (3, 16)^T + bias */
static MODC_KERNEL void y_2_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 3, 16, 16, 3, 16, modc_f32s_as_is);
}

/* y (3) = sum of x0, then where(x2 != 0.0, x1 + x0, x0) */
static MODC_KERNEL void y_2_dbias(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = 0; i < 3; i++) {
        float sum = 0.0f;

        for (int j = 0; j < batch; j++)
            sum += x0[j * 3 + i];
        y[i] = x2[0] != 0.0f ? x1[i] + sum : sum;
    }
}

/* y (3, 16) = x (3, batch) . w (batch, 16);
 * then accumulate(x0, x1, x2) */
static MODC_KERNEL void y_2_dweight(
    float *y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *e0, const float *e1, int batch)
{
    matmul_strided_fixed_reads_2_onto(
        y, x, w, bias, e0, e1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 16, batch, 16, 1, 3, 16, 1, 16, 0,
        accumulate_v);
}

/* y (batch, 1) = x0 (batch, 3) at x1 (batch, 1) along dimension 1 */
static MODC_KERNEL void root_gather(float *y, const float *x0, const int64_t *x1, int batch)
{
    for (int i = 0; i < batch; i++) {
        const float *from = x0 + i * 3 + (ptrdiff_t)x1[i];

        y[i] = *from;
    }
}

/* y (batch, 1) = where(x0, -x1, 0.0) */
static MODC_KERNEL void root_kept(float *y, const bool *x0, const float *x1, int batch)
{
    map_neg_where_2(y, x0, x1, batch);
}

/* y (batch, 3) = log softmax(x) along the last dimension */
static MODC_KERNEL void root_log_softmax(float *restrict y, const float *restrict x, int batch)
{
    softmax_log(y, x, batch, 3, 3, 3, modc_f32s_as_is, modc_f32_as_is);
}

/* y () = sum of x0, then x0 / float32(x1) */
static MODC_KERNEL void root_loss(float *y, const float *x0, const int64_t *x1, int batch)
{
    sum_rows_1d_then_div_reads_1(y, x0, x1, batch, modc_f32_as_is);
}

/* y (batch) = x0 != -100 */
static MODC_KERNEL void root_ne(bool *y, const int64_t *x0, int batch)
{
    map_ne_1(y, x0, batch);
}

/* y () = sum of int64(x0) */
static MODC_KERNEL void root_sum(int64_t *y, const bool *x0, int batch)
{
    uint64_t sum = 0;

    for (int i = 0; i < batch; i++)
        sum += (uint64_t)(int64_t)MODC_TRUE(x0[i]);
    y[0] = (int64_t)sum;
}

/* y (batch) = where(x0, x1, 0) */
static MODC_KERNEL void root_where(int64_t *y, const bool *x0, const int64_t *x1, int batch)
{
    map_where_2(y, x0, x1, batch);
}

/* y () = 1.0 / float32(x0) */
static MODC_KERNEL void root_ddiv(float *y, const int64_t *x0)
{
    y[0] = 1.0f / (float)x0[0];
}

/* y (batch, 3): x0 (batch, 1) goes to x1 (batch, 1) along dimension 1, and is added */
static MODC_KERNEL void root_dgather(float *y, const float *x0, const int64_t *x1, int batch)
{
    for (int i = 0; i < batch; i++) {
        float *to = y + i * 3 + (ptrdiff_t)x1[i];

        to[0] += x0[i];
    }
}

/* y (batch) = -where(x0, x1, 0.0) */
static MODC_KERNEL void root_dwhere_fused(float *y, const bool *x0, const float *x1, int batch)
{
    map_dwhere_dneg_2_x1_set(y, x0, x1, batch);
}

/* y (batch, 3) = x0 - exp(x2) * x1 */
static MODC_KERNEL void root_dy_2(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < 3; j++)
            y[i * 3 + j] = x0[i * 3 + j] - modc_f32s_exp(x2[i * 3 + j]) * x1[i];
    }
}

/* y (batch, 1) = sum of x0 */
static MODC_KERNEL void root_sum_dx(float *y, const float *x0, int batch)
{
    for (int i = 0; i < batch; i++) {
        float sum = 0.0f;

        for (int j = 0; j < 3; j++)
            sum += x0[i * 3 + j];
        y[i] = sum;
    }
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 896.0
#define MACS_OF_LOSS 912.0
#define RTOL_OF_TRAINED 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \

#define TENSORS_OF_FORWARD_EVAL_BACKWARD \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const dy_0 = (void *)(ws + 512); /* (batch, 16) */ \

#define TENSORS_OF_LOSS_EVAL \
    bool *const counts = (void *)(ws + 640); /* (batch) */ \
    int64_t *const at = (void *)(ws + 704); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const y_2 = (void *)(ws + 512); /* (batch, 3) */ \
    float *const log_softmax_of_x = (void *)(ws + 0); /* (batch, 3) */ \
    float *const gather = (void *)(ws + 128); /* (batch, 1) */ \
    float *const kept_ = (void *)(ws + 128); /* (batch, 1) */ \
    int64_t *const sum = (void *)(ws + 0); /* () */ \

#define TENSORS_OF_LOSS_EVAL_SAVING \
    bool *const counts = (void *)(ws + 768); /* (batch) */ \
    int64_t *const at = (void *)(ws + 832); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const y_2 = (void *)(ws + 512); /* (batch, 3) */ \
    float *const log_softmax_of_x = (void *)(ws + 640); /* (batch, 3) */ \
    float *const gather = (void *)(ws + 512); /* (batch, 1) */ \
    float *const kept_ = (void *)(ws + 512); /* (batch, 1) */ \
    int64_t *const sum_of_model = (void *)(ws + 576); /* () */ \

#define TENSORS_OF_LOSS_EVAL_BACKWARD \
    bool *const counts = (void *)(ws + 768); /* (batch) */ \
    int64_t *const at = (void *)(ws + 832); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const log_softmax_of_x = (void *)(ws + 640); /* (batch, 3) */ \
    int64_t *const sum_of_model = (void *)(ws + 576); /* () */ \
    float *const ddiv = (void *)(ws + 512); /* () */ \
    float *const dwhere_fused = (void *)(ws + 576); /* (batch) */ \
    float *const dx = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const sum_of_model_2 = (void *)(ws + 512); /* (batch, 1) */ \
    float *const dy_2 = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const dy_0 = (void *)(ws + 512); /* (batch, 16) */ \

/* What a context works with. */
#define CONTEXT_OF_TRAINED \
    const struct trained_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct trained_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct trained_packed {
    MODC_ALIGNED float _0_weight[64]; /* panels [1][4][16] */
    MODC_ALIGNED float _2_weight_transposed[48]; /* panels [1][3][16] */
};

typedef char trained_packed_fits[MODC_PACKED_FITS(struct trained_packed, TRAINED_PACKED_BYTES)];

static enum modc_status trained_pack_all(struct modc_params *params)
{
    const struct trained_params *p = (const void *)params;
    struct trained_packed *k = params->packed;

    modc_f32_pack(k->_0_weight, p->_0.weight, 16, 4, 4, 1);
    modc_f32_pack(k->_2_weight_transposed, p->_2.weight, 16, 3, 1, 16);
    return MODC_OK;
}

static void trained_forward_eval(struct trained *net, int batch, const float *x, float *output)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Linear(4, 16)
     * 1: ReLU() */
    y_0_linear_fused(y_0, x, k->_0_weight, p->_0.bias, batch);

    /* 2: Linear(16, 3) */
    y_2_linear(output, y_0, p->_2.weight, p->_2.bias, batch);
}

#define trained_forward_eval_saving trained_forward_eval /* backward reads what it leaves */

static void trained_forward_eval_backward(struct trained *net, int batch, const float *x,
                                          const float *doutput, float *dx)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_FORWARD_EVAL_BACKWARD;
    const struct trained_training *training = (const void *)net->base.trainer;
    const struct trained_params *gradients = &training->gradients;

    /* 2, backward */
    if (training->base.wants[TRAINED_GRADIENT_2_BIAS])
        y_2_dbias(
            gradients->_2.bias, doutput, gradients->_2.bias,
            modc_present(&training->base, TRAINED_GRADIENT_2_BIAS), batch);
    if (training->base.wants[TRAINED_GRADIENT_2_WEIGHT])
        y_2_dweight(
            gradients->_2.weight, doutput, y_0, NULL, gradients->_2.weight,
            modc_present(&training->base, TRAINED_GRADIENT_2_WEIGHT), batch);
    y_2_dinput(dy_0, doutput, k->_2_weight_transposed, NULL, y_0, batch);

    /* 0, backward */
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        y_0_dweight(
            gradients->_0.weight, dy_0, x, NULL, gradients->_0.weight,
            modc_present(&training->base, TRAINED_GRADIENT_0_WEIGHT), batch);
    if (dx)
        y_0_dinput(dx, dy_0, p->_0.weight, NULL, batch);

    modc_backward_end(&net->base, NULL, TRAINED_GRADIENTS);
}

static enum modc_status trained_loss_eval(struct trained *net, int batch, const float *x,
                                          const int64_t *target, float *loss)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL;

    root_ne(counts, target, batch);
    root_where(at, counts, target, batch);
    MODC_TRY(modc_check_index(&net->base, TRAINED_ROOT, at, MODC_INT64, batch, 0, 3));

    /* 0, 1 */
    y_0_linear_fused(y_0, x, k->_0_weight, p->_0.bias, batch);

    /* 2 */
    y_2_linear(y_2, y_0, p->_2.weight, p->_2.bias, batch);
    root_log_softmax(log_softmax_of_x, y_2, batch);
    root_gather(gather, log_softmax_of_x, at, batch);
    root_kept(kept_, counts, gather, batch);
    root_sum(sum, counts, batch);
    root_loss(loss, kept_, sum, batch);
    return MODC_OK;
}

static enum modc_status trained_loss_eval_saving(struct trained *net, int batch, const float *x,
                                                 const int64_t *target, float *loss)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL_SAVING;

    root_ne(counts, target, batch);
    root_where(at, counts, target, batch);
    MODC_TRY(modc_check_index(&net->base, TRAINED_ROOT, at, MODC_INT64, batch, 0, 3));

    /* 0, 1 */
    y_0_linear_fused(y_0, x, k->_0_weight, p->_0.bias, batch);

    /* 2 */
    y_2_linear(y_2, y_0, p->_2.weight, p->_2.bias, batch);
    root_log_softmax(log_softmax_of_x, y_2, batch);
    root_gather(gather, log_softmax_of_x, at, batch);
    root_kept(kept_, counts, gather, batch);
    root_sum(sum_of_model, counts, batch);
    root_loss(loss, kept_, sum_of_model, batch);
    return MODC_OK;
}

static void trained_loss_eval_backward(struct trained *net, int batch, const float *x)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL_BACKWARD;
    const struct trained_training *training = (const void *)net->base.trainer;
    const struct trained_params *gradients = &training->gradients;

    root_ddiv(ddiv, sum_of_model);
    root_dwhere_fused(dwhere_fused, counts, ddiv, batch);
    memset(dx, 0, sizeof(float) * (size_t)(3 * batch));
    root_dgather(dx, dwhere_fused, at, batch);
    root_sum_dx(sum_of_model_2, dx, batch);
    root_dy_2(dy_2, dx, sum_of_model_2, log_softmax_of_x, batch);

    /* 2, backward */
    if (training->base.wants[TRAINED_GRADIENT_2_BIAS])
        y_2_dbias(
            gradients->_2.bias, dy_2, gradients->_2.bias,
            modc_present(&training->base, TRAINED_GRADIENT_2_BIAS), batch);
    if (training->base.wants[TRAINED_GRADIENT_2_WEIGHT])
        y_2_dweight(
            gradients->_2.weight, dy_2, y_0, NULL, gradients->_2.weight,
            modc_present(&training->base, TRAINED_GRADIENT_2_WEIGHT), batch);
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        y_2_dinput(dy_0, dy_2, k->_2_weight_transposed, NULL, y_0, batch);

    /* 0, backward */
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        y_0_dweight(
            gradients->_0.weight, dy_0, x, NULL, gradients->_0.weight,
            modc_present(&training->base, TRAINED_GRADIENT_0_WEIGHT), batch);

    modc_backward_end(&net->base, NULL, TRAINED_GRADIENTS);
}

MODC_KERNELS_BEGIN

/* A step of AdamW of each element. */
static MODC_KERNEL void adamw_decay_float32(
    float *params, const float *grads, float *exp_avgs, float *exp_avg_sqs, size_t count,
    float beta2, float eps, float kept, float part1, float part2, float step_size, float rescale)
{
    size_t i = 0;

    for (; i + MODC_LANES <= count; i += MODC_LANES) {
        modc_f32 param = modc_f32_load(params + i);
        const modc_f32 grad = modc_f32_load(grads + i);
        modc_f32 exp_avg = modc_f32_load(exp_avgs + i);
        modc_f32 exp_avg_sq = modc_f32_load(exp_avg_sqs + i);

        param = param * kept;
        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32_sqrt(exp_avg_sq) + eps);

        modc_f32_store(params + i, param);
        modc_f32_store(exp_avgs + i, exp_avg);
        modc_f32_store(exp_avg_sqs + i, exp_avg_sq);
    }
    for (; i < count; i++) {
        float param = params[i];
        const float grad = grads[i];
        float exp_avg = exp_avgs[i];
        float exp_avg_sq = exp_avg_sqs[i];

        param = param * kept;
        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32s_sqrt(exp_avg_sq) + eps);

        params[i] = param;
        exp_avgs[i] = exp_avg;
        exp_avg_sqs[i] = exp_avg_sq;
    }
}

/* A step of AdamW of one parameter. hyper: lr, beta1, beta2, eps, weight_decay. */
static void adamw_decay_float32_step(void *param, const void *grad, void *const *state,
                                     size_t count, const double *hyper, double step)
{
    const double lr = hyper[0];
    const double beta1 = hyper[1];
    const double beta2 = hyper[2];
    const double eps = hyper[3];
    const double weight_decay = hyper[4];
    const double kept = 1.0 - lr * weight_decay;
    const double part1 = 1.0 - beta1;
    const double part2 = 1.0 - beta2;
    const double step_size = lr / (1.0 - modc_f64s_pow(beta1, step));
    const double rescale = 1.0 / modc_f64s_sqrt(1.0 - modc_f64s_pow(beta2, step));

    adamw_decay_float32(
        param, grad, state[0], state[1], count, (float)beta2, (float)eps, (float)kept, (float)part1,
        (float)part2, (float)step_size, (float)rescale);
}

/* A step of AdamW of each element. */
static MODC_KERNEL void adamw_float32(
    float *params, const float *grads, float *exp_avgs, float *exp_avg_sqs, size_t count,
    float beta2, float eps, float part1, float part2, float step_size, float rescale)
{
    size_t i = 0;

    for (; i + MODC_LANES <= count; i += MODC_LANES) {
        modc_f32 param = modc_f32_load(params + i);
        const modc_f32 grad = modc_f32_load(grads + i);
        modc_f32 exp_avg = modc_f32_load(exp_avgs + i);
        modc_f32 exp_avg_sq = modc_f32_load(exp_avg_sqs + i);

        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32_sqrt(exp_avg_sq) + eps);

        modc_f32_store(params + i, param);
        modc_f32_store(exp_avgs + i, exp_avg);
        modc_f32_store(exp_avg_sqs + i, exp_avg_sq);
    }
    for (; i < count; i++) {
        float param = params[i];
        const float grad = grads[i];
        float exp_avg = exp_avgs[i];
        float exp_avg_sq = exp_avg_sqs[i];

        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32s_sqrt(exp_avg_sq) + eps);

        params[i] = param;
        exp_avgs[i] = exp_avg;
        exp_avg_sqs[i] = exp_avg_sq;
    }
}

/* A step of AdamW of one parameter. hyper: lr, beta1, beta2, eps, weight_decay. */
static void adamw_float32_step(void *param, const void *grad, void *const *state, size_t count,
                               const double *hyper, double step)
{
    const double lr = hyper[0];
    const double beta1 = hyper[1];
    const double beta2 = hyper[2];
    const double eps = hyper[3];
    const double part1 = 1.0 - beta1;
    const double part2 = 1.0 - beta2;
    const double step_size = lr / (1.0 - modc_f64s_pow(beta1, step));
    const double rescale = 1.0 / modc_f64s_sqrt(1.0 - modc_f64s_pow(beta2, step));

    adamw_float32(
        param, grad, state[0], state[1], count, (float)beta2, (float)eps, (float)part1,
        (float)part2, (float)step_size, (float)rescale);
}

MODC_KERNELS_END

enum modc_status trained_forward(struct trained *net, int batch, const float *x, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TRAINED_MAX_BATCH, SIZE);
    if (modc_saves(&net->base)) {
        MODC_TRY(modc_check(&net->base, TRAINED_BACKWARD_WORKSPACE_BYTES, true, false));
        trained_forward_eval_saving(net, batch, x, output);
        net->saved_inputs[0] = x;
        net->saved_sizes[0] = batch;
        net->base.saved_version = net->base.params->version;
        net->base.saved = 1;
    } else {
        MODC_TRY(modc_check(&net->base, TRAINED_WORKSPACE_BYTES, true, false));
        trained_forward_eval(net, batch, x, output);
    }
    return status;
}

enum modc_status trained_backward(struct trained *net, int batch, const float *doutput, float *dx)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && doutput, POINTER);
    MODC_NEED(((uintptr_t)dx | (uintptr_t)doutput) % 4 == 0, ALIGNMENT);
    MODC_TRY(modc_backward_begin(&net->base, 0));
    MODC_NEED(batch == net->saved_sizes[0], SIZE);
    trained_forward_eval_backward(net, batch, net->saved_inputs[0], doutput, dx);
    return status;
}

enum modc_status trained_loss(struct trained *net, int batch, const float *x, const int64_t *target,
                              float *loss)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && target && loss, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)loss) % 4 == 0, ALIGNMENT);
    MODC_NEED((uintptr_t)target % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TRAINED_MAX_BATCH, SIZE);
    if (modc_saves(&net->base)) {
        MODC_TRY(modc_check(&net->base, TRAINED_LOSS_BACKWARD_WORKSPACE_BYTES, true, false));
        status = trained_loss_eval_saving(net, batch, x, target, loss);
        net->saved_inputs[0] = x;
        net->saved_inputs[1] = target;
        net->saved_sizes[0] = batch;
        net->base.saved_version = net->base.params->version;
        net->base.saved = status != MODC_OK ? 0 : 3;
    } else {
        MODC_TRY(modc_check(&net->base, TRAINED_LOSS_WORKSPACE_BYTES, true, false));
        status = trained_loss_eval(net, batch, x, target, loss);
    }
    return status;
}

enum modc_status trained_loss_backward(struct trained *net, int batch)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net, POINTER);
    MODC_TRY(modc_backward_begin(&net->base, 1));
    MODC_NEED(batch == net->saved_sizes[0], SIZE);
    trained_loss_eval_backward(net, batch, net->saved_inputs[0]);
    return status;
}

enum modc_status trained_train_step(struct trained_training *training, int batch, const float *x,
                                    const int64_t *target, float *loss)
{
    struct trained *net;
    enum modc_status status;

    if (!training || !training->base.net)
        return MODC_POINTER;
    if (batch == 0)
        return MODC_SIZE;
    net = (struct trained *)(void *)training->base.net;
    status = trained_loss(net, batch, x, target, loss);
    if (status != MODC_OK)
        return status;
    modc_zero_grad(&training->base, true);
    status = trained_loss_backward(net, batch);
    return status == MODC_OK ? trained_step(training) : status;
}

MODC_TRAIN_CALLS(trained, (training, sizes[0], inputs[0], inputs[1], loss))

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", TRAINED_MAX_BATCH}};

MODC_CALL(trained, forward, (net, sizes[0], inputs[0], outputs[0]))
MODC_BACKWARD_CALL(
    trained, forward, backward, (net, sizes[0], output_gradients[0], input_gradients[0]))
MODC_CALL(trained, loss, (net, sizes[0], inputs[0], inputs[1], outputs[0]))
MODC_BACKWARD_CALL(trained, loss, loss_backward, (net, sizes[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 4}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 3}, {0, -1}, false},
};

static const struct modc_io loss_io[] = {
    {"x", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 4}, {0, -1}, false},
    {"target", MODC_INT64, 1, {TRAINED_MAX_BATCH}, {0}, false},
    {"loss", MODC_FLOAT32, 0, {0}, {0}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, forward_backward_call, MODC_SAVING(TRAINED),
               TRAINED_MAX_BATCH),
    MODC_ENTRY(loss, 2, 1, MACS_OF_LOSS, NULL, loss_backward_call, MODC_SAVING(TRAINED_LOSS),
               TRAINED_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 3, false},
    {"0", "0", "Linear", "in_features=4, out_features=16, bias=True", 0, 0, false},
    {"1", "1", "ReLU", "", 0, 0, false},
    {"2", "2", "Linear", "in_features=16, out_features=3, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("0.weight", TRAINED_0, FLOAT32, UNIFORM(0.5), 2, {16, 4}),
    MODC_FROZEN("0.bias", TRAINED_0, FLOAT32, UNIFORM(0.5), 1, {16}),
    MODC_PARAMETER("2.weight", TRAINED_2, FLOAT32, UNIFORM(0.25), 2, {3, 16}),
    MODC_PARAMETER("2.bias", TRAINED_2, FLOAT32, UNIFORM(0.25), 1, {3}),
};

static const int gradients_table[] = { /* keys */
    0, 2, 3,
};

const struct modc_model trained_model = {
    .abi = MODC_ABI, .name = "trained", .schema = TRAINED_SCHEMA,
    .rtol = RTOL_OF_TRAINED,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct trained_params),
    .context_bytes = sizeof(struct trained),
    .param_block = TRAINED_PARAM_BYTES,
    .packed_block = TRAINED_PACKED_BYTES, .pack = trained_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = TRAINED_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .gradient_count = TRAINED_GRADIENTS, .gradients = gradients_table,
    .gradient_block = TRAINED_GRADIENT_BYTES,
    .training_bytes = sizeof(struct trained_training),
    .gradients_offset = offsetof(struct trained_training, gradients),
    .training_block = TRAINED_TRAINING_BYTES,
    .training_init = training_init_call,
    .train_step = train_step_call,
};

static const char *const optimizer_hypers[] = {"lr", "beta1", "beta2", "eps", "weight_decay"};
static const double optimizer_hyper_0[] = {0.001, 0.9, 0.999, 1e-08, 0.0};
static const struct modc_optimizer_state optimizer_states_0[] = {
    {"exp_avg", false, 0.0},
    {"exp_avg_sq", false, 0.0},
};
static const double optimizer_hyper_1[] = {0.001, 0.9, 0.999, 1e-08, 0.01};
static const struct modc_optimizer_state optimizer_states_1[] = {
    {"exp_avg", false, 0.0},
    {"exp_avg_sq", false, 0.0},
};
static const struct modc_optimizer_group optimizer_groups[] = {
    {optimizer_hyper_0, 16, 2, optimizer_states_0},
    {optimizer_hyper_1, 0, 2, optimizer_states_1},
};
/* step, group, elements, where in the block its states begin */
static const struct modc_optimizer_param optimizer_params[] = {
    {adamw_decay_float32_step, 1, 64, {0, 256, 0}, 0}, /* 0.weight */
    {adamw_decay_float32_step, 1, 48, {512, 704, 0}, 0}, /* 2.weight */
    {adamw_float32_step, 0, 3, {896, 960, 0}, 0}, /* 2.bias */
};
static const struct modc_saved optimizer_saved[] = {
    {"optimizer", MODC_SAVED_CONSTANT, 0, 0, 5, MODC_UINT8, "AdamW"},
    {"param_groups.0.params", MODC_SAVED_CONSTANT, 0, 0, 7, MODC_UINT8, "2.bias\n"},
    {"param_groups.0.lr", MODC_SAVED_HYPER, 0, 0, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.betas", MODC_SAVED_HYPER, 0, 1, 2, MODC_FLOAT64, NULL},
    {"param_groups.0.eps", MODC_SAVED_HYPER, 0, 3, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.weight_decay", MODC_SAVED_HYPER, 0, 4, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.amsgrad", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.0.maximize", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.1.params", MODC_SAVED_CONSTANT, 0, 0, 18, MODC_UINT8, "0.weight\n2.weight\n"},
    {"param_groups.1.lr", MODC_SAVED_HYPER, 1, 0, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.betas", MODC_SAVED_HYPER, 1, 1, 2, MODC_FLOAT64, NULL},
    {"param_groups.1.eps", MODC_SAVED_HYPER, 1, 3, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.weight_decay", MODC_SAVED_HYPER, 1, 4, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.amsgrad", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.1.maximize", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"state.0.weight.step", MODC_SAVED_STEP, 0, 0, 0, MODC_FLOAT32, NULL},
    {"state.0.weight.exp_avg", MODC_SAVED_STATE, 0, 0, 0, MODC_FLOAT32, NULL},
    {"state.0.weight.exp_avg_sq", MODC_SAVED_STATE, 0, 1, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.step", MODC_SAVED_STEP, 1, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.exp_avg", MODC_SAVED_STATE, 1, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.exp_avg_sq", MODC_SAVED_STATE, 1, 1, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.step", MODC_SAVED_STEP, 2, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.exp_avg", MODC_SAVED_STATE, 2, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.exp_avg_sq", MODC_SAVED_STATE, 2, 1, 0, MODC_FLOAT32, NULL},
};

const struct modc_optimizer_table trained_optimizer_table = {
    .name = "AdamW",
    .hyper_count = 5,
    .momentum = 1,
    .hypers = optimizer_hypers,
    .counted = true,
    .eager = false,
    .group_count = 2,
    .groups = optimizer_groups,
    .param_count = 3,
    .params = optimizer_params,
    .saved_count = 24,
    .saved = optimizer_saved,
    .clip = MODC_CLIP_NORM,
    .max_norm = 1.0,
    .norm_type = 2.0,
    .error_if_nonfinite = false,
    .block = TRAINED_OPTIMIZER_BYTES,
    .groups_at = offsetof(struct trained_optimizer, groups),
    .steps_at = offsetof(struct trained_optimizer, steps),
};
