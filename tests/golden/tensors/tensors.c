/* tensors.c - written by modc from tensors.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "tensors.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* x1 * 0.125 - x0 */
MODC_INLINE float div_sub_s(float x0, float x1)
{
    return x1 * 0.125f - x0;
}

/* x0 * 0.5 */
MODC_INLINE modc_f32 mul_v(modc_f32 x0)
{
    return x0 * 0.5f;
}

/* y = x0 % 3 - x0 // 2, for each element. */
MODC_INLINE void map_floor_divide_remainder_sub_1(int64_t *y, const int64_t *x0, const int count)
{
    for (int i = 0; i < count; i++) {
        const int64_t v0 = x0[i];

        y[i] = (int64_t)((uint64_t)modc_mod_i64(v0, 3) - (uint64_t)modc_floordiv_i64(v0, 2));
    }
}

/* y = where(x0, x1, x2 * x3 + 0.5), for each element. */
MODC_INLINE void map_mul_add_where_4_planes_x0_ij_x3_ik(
    float *y, const bool *x0, const float *x1, const float *x2, const float *x3, const int ni,
    const int nj, const int nk, const int y_i)
{
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++) {
            for (int k = 0; k < nk; k++) {
                const float sum = x2[i * y_i + j * nk + k] * x3[i * nk + k] + 0.5f;

                y[i * y_i + j * nk + k] = MODC_TRUE(x0[i * nj + j]) ? x1[i * y_i + j * nk + k]
                        : sum;
            }
        }
    }
}

/* y = (x0 > 2) & ~x1, for each element. */
MODC_INLINE void map_not_gt_and_2(bool *y, const int64_t *x0, const bool *x1, const int count)
{
    for (int i = 0; i < count; i++)
        y[i] = x0[i] > 2 && !MODC_TRUE(x1[i]);
}

/* A matrix (rows, columns), whose neighbours lie `row` and `column` apart, becomes lines `ld`
 * apart. */
MODC_INLINE void matmul_packed_w_any_lines(
    float *restrict to, const int ld, const float *restrict from, const int rows, const int columns,
    const int row, const int column)
{
    if (row == 1 && rows * columns > 512) { /* constant loops are faster than a call for fewer */
        modc_f32_transpose(to, ld, from, column, rows, columns);
        return;
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[i * ld + j] = from[i * row + j * column];
}

/* rows x vectors of y at (row, column) of one batch, whose first row is `first`; the last vector
 * has only `part` columns, unless that is 0. rows, vectors and whether part is 0 are constants of
 * the call. q: w from this column on. */
MODC_INLINE void matmul_packed_w_any_tile(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int vectors, const int part, const int first, const int row,
    const int column, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    const int BLOCK, const int LDV, modc_f32 (*TAIL_V)(modc_f32 x))
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
            const float *const start = q + k * LDV + j * MODC_LANES;

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
MODC_INLINE void matmul_packed_w_any_strip(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int rows, const int first, const int row, const int count, const int left,
    const int columns, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    const int BLOCK, const int LDV, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES, full = columns / band * band;
    const int whole = columns / MODC_LANES * MODC_LANES;

    for (int t = 0; t < count; t++) {
        for (int c = 0; c < full; c += band)
            matmul_packed_w_any_tile(
                y, p, q + c, bias, rows, band / MODC_LANES, 0, first, row + t * rows, left + c,
                BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK,
                LDV, TAIL_V);
        for (int c = full; c < whole; c += MODC_LANES)
            matmul_packed_w_any_tile(
                y, p, q + c, bias, rows, 1, 0, first, row + t * rows, left + c, BIAS, BATCH0, Y0,
                X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
        if (columns > whole)
            matmul_packed_w_any_tile(
                y, p, q + whole, bias, rows, 1, columns - whole, first, row + t * rows,
                left + whole, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK,
                WN, BLOCK, LDV, TAIL_V);
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void matmul_packed_w_any_band(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int first, const int left, const int columns, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, const int BLOCK, const int LDV, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int most = M / MODC_TILE_ROWS * MODC_TILE_ROWS;

    matmul_packed_w_any_strip(
        y, p, q, bias, MODC_TILE_ROWS, first, 0, most / MODC_TILE_ROWS, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
#if MODC_LANES > 1
    matmul_packed_w_any_strip(
        y, p, q, bias, 4, first, most, (M - most) / 4, left, columns, BIAS, BATCH0, Y0, X0, W0,
        BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
    matmul_packed_w_any_strip(
        y, p, q, bias, 1, first, M - (M - most) % 4, (M - most) % 4, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
#endif
}

/* In register tiles over what is packed first, since its neighbours do not lie side by side. */
MODC_INLINE void matmul_packed_w_any(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    float *restrict v, const int BIAS, const int BATCH0, const int Y0, const int X0, const int W0,
    const int BATCH1, const int Y1, const int X1, const int W1, const int M, const int N,
    const int K, const int YM, const int XM, const int XK, const int WK, const int WN,
    const int BLOCK, const int LDV, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const float *packed = NULL; /* of which batch w is in v */

    for (int batch0 = 0; batch0 < BATCH0; batch0++) {
        for (int batch1 = 0; batch1 < BATCH1; batch1++) {
            float *const yb = y + batch0 * Y0 + batch1 * Y1;
            const float *const xb = x + batch0 * X0 + batch1 * X1;
            const float *const wb = w + batch0 * W0 + batch1 * W1;
            const int first = (batch0 * BATCH1 + batch1) * M;
            const int whole = N / BLOCK * BLOCK;

            for (int c = 0; c < whole; c += BLOCK) {
                if (N > BLOCK || packed != wb)
                    matmul_packed_w_any_lines(v, LDV, wb + c * WN, K, BLOCK, WK, WN);
                matmul_packed_w_any_band(
                    yb, xb, v, bias, first, c, BLOCK, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1,
                    M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
            }
            if (N > whole) {
                if (N > BLOCK || packed != wb)
                    matmul_packed_w_any_lines(v, LDV, wb + whole * WN, K, N - whole, WK, WN);
                matmul_packed_w_any_band(
                    yb, xb, v, bias, first, whole, N - whole, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1,
                    X1, W1, M, N, K, YM, XM, XK, WK, WN, BLOCK, LDV, TAIL_V);
            }
            packed = wb;
        }
    }
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
MODC_INLINE void matmul_strided_fixed_tile(
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
MODC_INLINE void matmul_strided_fixed_strip(
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
            matmul_strided_fixed_tile(
                y, p, q + c, bias, rows, band / MODC_LANES, 0, first, row + t * rows, left + c,
                BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
        if (columns > full)
            matmul_strided_fixed_tile(
                y, p, q + full, bias, rows, (columns - full + MODC_LANES - 1) / MODC_LANES,
                columns % MODC_LANES, first, row + t * rows, left + full, BIAS, BATCH0, Y0, X0, W0,
                BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
    }
}

/* All rows of one batch, of them `columns` columns from `left` on, where q is. */
MODC_INLINE void matmul_strided_fixed_band(
    float *restrict y, const float *restrict p, const float *restrict q, const float *restrict bias,
    const int first, const int left, const int columns, const int BIAS, const int BATCH0,
    const int Y0, const int X0, const int W0, const int BATCH1, const int Y1, const int X1,
    const int W1, const int M, const int N, const int K, const int YM, const int XM, const int XK,
    const int WK, const int WN, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int tiles = (M + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = M / tiles, tall = M % tiles;

    if (tall > 0)
        matmul_strided_fixed_strip(
            y, p, q, bias, rows + 1, first, 0, tall, left, columns, BIAS, BATCH0, Y0, X0, W0,
            BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
    matmul_strided_fixed_strip(
        y, p, q, bias, rows, first, tall * (rows + 1), tiles - tall, left, columns, BIAS, BATCH0,
        Y0, X0, W0, BATCH1, Y1, X1, W1, M, N, K, YM, XM, XK, WK, WN, TAIL_V);
}

/* In register tiles from where both operands lie: neither is a weight that could be packed. */
MODC_INLINE void matmul_strided_fixed(
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
            matmul_strided_fixed_band(
                yb, xb, wb, bias, first, 0, N, BIAS, BATCH0, Y0, X0, W0, BATCH1, Y1, X1, W1, M, N,
                K, YM, XM, XK, WK, WN, TAIL_V);
        }
    }
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void max_columns(
    float *y, const float *x0, const int nj, const int ni, const int vectors,
    modc_f32 (*HEAD)(modc_f32 x0), modc_f32 (*TAIL)(modc_f32 x0))
{
    const modc_f32 least = modc_f32_set(-modc_f32_inf());
    int i = 0;

    for (; i <= ni - vectors * MODC_LANES; i += vectors * MODC_LANES) {
        modc_f32 maxima[8];

        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            maxima[s] = least;
        for (int j = 0; j < nj; j++) {
            MODC_UNROLL
            for (int s = 0; s < vectors; s++) {
                maxima[s] = modc_f32_max(maxima[s],
                                         HEAD(modc_f32_load(x0 + j * ni + i + s * MODC_LANES)));
            }
        }
        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            modc_f32_store(y + i + s * MODC_LANES, TAIL(maxima[s]));
    }
    for (; i <= ni - MODC_LANES; i += MODC_LANES) {
        modc_f32 largest = least;

        for (int j = 0; j < nj; j++)
            largest = modc_f32_max(largest, HEAD(modc_f32_load(x0 + j * ni + i)));
        modc_f32_store(y + i, TAIL(largest));
    }
    if (i < ni) {
        modc_f32 largest = least;

        for (int j = 0; j < nj; j++)
            largest = modc_f32_max(largest, HEAD(modc_f32_load_part(x0 + j * ni + i, ni - i)));
        modc_f32_store_part(y + i, TAIL(largest), ni - i);
    }
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void min_rows_reads_1(
    float *y, const float *x0, const float *x1, const int ni, const int nj,
    modc_f32 (*HEAD)(modc_f32 x0), float (*TAIL)(float x0, float x1))
{
    const modc_f32 most = modc_f32_set(modc_f32_inf());

    for (int i = 0; i < ni; i++) {
        modc_f32 minima = most;
        int j = 0;

        for (; j <= nj - MODC_LANES; j += MODC_LANES)
            minima = modc_f32_min(minima, HEAD(modc_f32_load(x0 + i * nj + j)));
        if (j < nj) {
            minima = modc_f32_min(minima,
                                  modc_f32_first(HEAD(modc_f32_load_part(x0 + i * nj + j, nj - j)),
                                                 nj - j, most));
        }

        const float smallest = modc_f32_hmin(minima);

        y[i] = TAIL(smallest, x1[i]);
    }
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void sum_rows(
    float *y, const float *x0, const int ni, const int nj, modc_f32 (*HEAD)(modc_f32 x0),
    float (*TAIL)(float x0))
{
    const modc_f32 zero = modc_f32_set(0.0f);

    for (int i = 0; i < ni; i++) {
        modc_f32 sums = zero;
        int j = 0;

        for (; j <= nj - MODC_LANES; j += MODC_LANES)
            sums += HEAD(modc_f32_load(x0 + i * nj + j));
        if (j < nj)
            sums += modc_f32_first(HEAD(modc_f32_load_part(x0 + i * nj + j, nj - j)), nj - j, zero);

        const float sum = modc_f32_sum(sums);

        y[i] = TAIL(sum);
    }
}

/* y (batch, tokens, 4) = x0 */
static MODC_KERNEL void root_cat(float *y, const float *x0, int batch, int tokens)
{
    for (int i = 0; i < batch * tokens; i++)
        memcpy(y + i * 8, x0 + i * 8, 4 * sizeof *y);
}

/* y (batch, (tokens + 1) // 2, 3) = x0 */
static MODC_KERNEL void root_copy(float *y, const float *x0, int batch, int tokens)
{
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < (tokens + 1) / 2; j++) {
            for (int k = 0; k < 3; k++)
                y[i * (3 * ((tokens + 1) / 2)) + j * 3 + k] = x0[i * 8 * tokens + j * 16 + k * 3];
        }
    }
}

/* y (batch, tokens, 2, 4) = x0 */
static MODC_KERNEL void root_copy_fenced(float *y, const float *x0, int batch, int tokens)
{
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < tokens; j++) {
            for (int k = 0; k < 2; k++) {
                memcpy(
                    y + i * 8 * tokens + j * 8 + k * 4,
                    x0 + i * 8 * tokens + j * 4 + k * 4 * tokens, 4 * sizeof *y);
            }
        }
    }
}

/* y (batch, tokens) = (x0 > 2) & ~x1 */
static MODC_KERNEL void root_many(bool *y, const int64_t *x0, const bool *x1, int batch, int tokens)
{
    map_not_gt_and_2(y, x0, x1, batch * tokens);
}

/* y (8, 8) = x (8, batch * tokens) . w (batch * tokens, 8) */
static MODC_KERNEL void root_matmul(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, int tokens)
{
    matmul_strided_fixed(
        y, x, w, bias, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 8, batch * tokens, 8, 1, 8, 8, 1,
        modc_f32_as_is);
}

/* y (batch, 2, tokens, tokens) = x (batch, 2, tokens, 4) . w (batch, 2, 4, tokens);
 * then mul(x0) */
static MODC_KERNEL void root_matmul_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    float *restrict v, int batch, int tokens)
{
    matmul_packed_w_any(
        y, x, w, bias, v, 0, batch, 2 * tokens * tokens, 8 * tokens, 8 * tokens, 2, tokens * tokens,
        4, 4, tokens, tokens, 4, tokens, 8, 1, 1, 8, 10, 16, mul_v);
}

/* y (batch, 2, tokens, 4) = x (batch, 2, tokens, tokens) . w (batch, 2, tokens, 4);
 * y is a part of a larger value */
static MODC_KERNEL void root_matmul_scores_mixed(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, int tokens)
{
    matmul_strided(
        y, x, w, bias, 0, batch, 8 * tokens, 2 * tokens * tokens, 8 * tokens, 2, 4, tokens * tokens,
        4, tokens, 4, tokens, 8, tokens, 1, 8, 1, modc_f32_as_is);
}

/* y (batch, 2, tokens, 4) = x (batch, 2, tokens, tokens) . w (batch, 2, tokens, 4) */
static MODC_KERNEL void root_matmul_scores_mixed_fenced(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, int tokens)
{
    matmul_strided(
        y, x, w, bias, 0, batch, 8 * tokens, 2 * tokens * tokens, 8 * tokens, 2, 4 * tokens,
        tokens * tokens, 4, tokens, 4, tokens, 4, tokens, 1, 8, 1, modc_f32_as_is);
}

/* y (8) = max of x0 */
static MODC_KERNEL void root_max(float *y, const float *x0, int batch, int tokens)
{
    max_columns(y, x0, batch * tokens, 8, 1, modc_f32_as_is, modc_f32_as_is);
}

/* y (batch, tokens, 8) = where(x0, x1, x2 * x3 + 0.5) */
static MODC_KERNEL void root_mixed(
    float *y, const bool *x0, const float *x1, const float *x2, const float *x3, int batch,
    int tokens)
{
    map_mul_add_where_4_planes_x0_ij_x3_ik(y, x0, x1, x2, x3, batch, tokens, 8, 8 * tokens);
}

/* y (batch, tokens) = x0 % 3 - x0 // 2 */
static MODC_KERNEL void root_parity(int64_t *y, const int64_t *x0, int batch, int tokens)
{
    map_floor_divide_remainder_sub_1(y, x0, batch * tokens);
}

/* y (batch, tokens, 1) = min of x0, then x1 * 0.125 - x0 */
static MODC_KERNEL void root_spread(
    float *y, const float *x0, const float *x1, int batch, int tokens)
{
    min_rows_reads_1(y, x0, x1, batch * tokens, 8, modc_f32_as_is, div_sub_s);
}

/* y (batch) = sum of where(x0, x1, -x1) */
static MODC_KERNEL void root_sum(
    int64_t *y, const bool *x0, const int64_t *x1, int batch, int tokens)
{
    for (int i = 0; i < batch; i++) {
        uint64_t sum = 0;

        for (int j = 0; j < tokens; j++) {
            const int64_t v1 = x1[i * tokens + j];

            sum += (uint64_t)(MODC_TRUE(x0[i * tokens + j]) ? v1 : (int64_t)(0u - (uint64_t)v1));
        }
        y[i] = (int64_t)sum;
    }
}

/* y (batch, tokens, 1) = sum of x0 */
static MODC_KERNEL void root_sum_batchxtokensx8_over_2(
    float *y, const float *x0, int batch, int tokens)
{
    sum_rows(y, x0, batch * tokens, 8, modc_f32_as_is, modc_f32s_as_is);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 14940.0
#define RTOL_OF_TENSORS 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const cat = (void *)(ws + 4800); /* (batch, tokens, 8) */ \
    float *const mixed = (void *)(ws + 4800); /* (batch, tokens, 8) */ \
    float *const scores = (void *)(ws + 0); /* (batch, 2, tokens, tokens) */ \
    float *const sum = (void *)(ws + 0); /* (batch, tokens, 1) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    const struct modc_tensor copy_of_x = {ws + 4800, MODC_FLOAT32, 3, {batch, tokens, 8}}; \
    const struct modc_tensor copy_of_y = {ws + 11328, MODC_FLOAT32, 3, {batch, 1, 8}}; \
    const struct modc_tensor copy_of_count = {ws + 10560, MODC_INT64, 2, {batch, tokens}}; \
    const struct modc_tensor copy_of_mask = {ws + 11520, MODC_BOOL, 2, {batch, tokens}}; \
    float *const cat = (void *)(ws + 0); /* (batch, tokens, 8) */ \
    float *const mixed = (void *)(ws + 6720); /* (batch, tokens, 8) */ \
    const struct modc_tensor matmul_of_gram = {ws + 11072, MODC_FLOAT32, 2, {8, 8}}; \
    float *const scores = (void *)(ws + 0); /* (batch, 2, tokens, tokens) */ \
    float *const matmul = (void *)(ws + 8640); /* (batch, 2, tokens, 4) */ \
    float *const copy = (void *)(ws + 0); /* (batch, tokens, 2, 4) */ \
    const struct modc_tensor sum_of_total = {ws + 3072, MODC_INT64, 1, {batch}}; \
    const struct modc_tensor not_fused_of_many = {ws + 3136, MODC_BOOL, 2, {batch, tokens}}; \
    const struct modc_tensor max_of_peak = {ws + 3200, MODC_FLOAT32, 1, {8}}; \
    float *const sum = (void *)(ws + 1920); /* (batch, tokens, 1) */ \
    const struct modc_tensor min_fused_of_spread = {ws + 2816, MODC_FLOAT32, 3, \
                                                    {batch, tokens, 1}}; \
    const struct modc_tensor floor_divide_fused_of_parity = {ws + 1920, MODC_INT64, 2, \
                                                             {batch, tokens}}; \
    const struct modc_tensor copy_of_even = {ws + 2432, MODC_FLOAT32, 3, \
                                             {batch, (tokens + 1) / 2, 3}}; \

/* What a context works with. */
#define CONTEXT_OF_TENSORS \
    const struct tensors_params *const p MODC_UNUSED = (const void *)net->base.params; \
    char *const ws MODC_UNUSED = net->base.workspace

static void tensors_forward_eval(struct tensors *net, int batch, int tokens, const float *x,
                                 const float *y, const int64_t *count, const bool *mask,
                                 float *gram, float *merged, float *even, int64_t *total,
                                 bool *many, float *peak, float *spread, int64_t *parity)
{
    CONTEXT_OF_TENSORS;
    TENSORS_OF_FORWARD_EVAL;

    root_cat(cat, x + 4, batch, tokens);
    root_cat(cat + 4, x, batch, tokens);
    root_mixed(mixed, mask, cat, x, y, batch, tokens);
    root_matmul(gram, mixed, mixed, NULL, batch, tokens);
    root_matmul_fused(scores, mixed, mixed, NULL, (void *)(ws + 6720), batch, tokens);
    root_matmul_scores_mixed(merged, scores, mixed, NULL, batch, tokens);
    root_sum(total, mask, count, batch, tokens);
    root_many(many, count, mask, batch, tokens);
    root_max(peak, merged, batch, tokens);
    root_sum_batchxtokensx8_over_2(sum, merged, batch, tokens);
    root_spread(spread, merged, sum, batch, tokens);
    root_parity(parity, count, batch, tokens);
    root_copy(even, x + 1, batch, tokens);
}

static enum modc_status tensors_forward_eval_fenced(struct tensors *net, int batch, int tokens,
                                                    const float *x, const float *y,
                                                    const int64_t *count, const bool *mask,
                                                    float *gram, float *merged, float *even,
                                                    int64_t *total, bool *many, float *peak,
                                                    float *spread, int64_t *parity)
{
    CONTEXT_OF_TENSORS;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    memcpy(copy_of_x.data, x, modc_tensor_bytes(&copy_of_x));
    memcpy(copy_of_y.data, y, modc_tensor_bytes(&copy_of_y));
    memcpy(copy_of_count.data, count, modc_tensor_bytes(&copy_of_count));
    modc_copy_bools(copy_of_mask.data, mask, modc_tensor_bytes(&copy_of_mask));

    MODC_ENTER(net, self_call, TENSORS_ROOT, copy_of_x, copy_of_y, copy_of_count, copy_of_mask);
    root_cat(cat, (float *)self_call_in[0].data + 4, batch, tokens);
    root_cat(cat + 4, self_call_in[0].data, batch, tokens);
    root_mixed(
        mixed, self_call_in[3].data, cat, self_call_in[0].data, self_call_in[1].data, batch,
        tokens);
    root_matmul(matmul_of_gram.data, mixed, mixed, NULL, batch, tokens);
    root_matmul_fused(scores, mixed, mixed, NULL, (void *)(ws + 8640), batch, tokens);
    root_matmul_scores_mixed_fenced(matmul, scores, mixed, NULL, batch, tokens);
    root_copy_fenced(copy, matmul, batch, tokens);
    root_sum(sum_of_total.data, self_call_in[3].data, self_call_in[2].data, batch, tokens);
    root_many(not_fused_of_many.data, self_call_in[2].data, self_call_in[3].data, batch, tokens);
    root_max(max_of_peak.data, copy, batch, tokens);
    root_sum_batchxtokensx8_over_2(sum, copy, batch, tokens);
    root_spread(min_fused_of_spread.data, copy, sum, batch, tokens);
    root_parity(floor_divide_fused_of_parity.data, self_call_in[2].data, batch, tokens);
    root_copy(copy_of_even.data, (float *)self_call_in[0].data + 1, batch, tokens);
    MODC_LEAVE(
        net, self_call, matmul_of_gram, {copy, MODC_FLOAT32, 3, {batch, tokens, 8}}, copy_of_even,
        sum_of_total, not_fused_of_many, max_of_peak, min_fused_of_spread,
        floor_divide_fused_of_parity);
    memcpy(gram, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    memcpy(merged, self_call_out[1].data, modc_tensor_bytes(&self_call_out[1]));
    memcpy(even, self_call_out[2].data, modc_tensor_bytes(&self_call_out[2]));
    memcpy(total, self_call_out[3].data, modc_tensor_bytes(&self_call_out[3]));
    modc_copy_bools(many, self_call_out[4].data, modc_tensor_bytes(&self_call_out[4]));
    memcpy(peak, self_call_out[5].data, modc_tensor_bytes(&self_call_out[5]));
    memcpy(spread, self_call_out[6].data, modc_tensor_bytes(&self_call_out[6]));
    memcpy(parity, self_call_out[7].data, modc_tensor_bytes(&self_call_out[7]));
    return MODC_OK;
}

enum modc_status tensors_forward(struct tensors *net, int batch, int tokens, const float *x,
                                 const float *y, const int64_t *count, const bool *mask,
                                 float *gram, float *merged, float *even, int64_t *total,
                                 bool *many, float *peak, float *spread, int64_t *parity)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(
        net && x && y && count && mask && gram && merged && even && total && many && peak &&
        spread && parity, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)y | (uintptr_t)gram | (uintptr_t)merged | (uintptr_t)even |
               (uintptr_t)peak | (uintptr_t)spread) % 4 == 0, ALIGNMENT);
    MODC_NEED(((uintptr_t)count | (uintptr_t)total | (uintptr_t)parity) % MODC_ALIGN_WIDE == 0,
              ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TENSORS_MAX_BATCH, SIZE);
    MODC_NEED(tokens >= 0 && tokens <= TENSORS_MAX_TOKENS, SIZE);
    if (modc_hooked(&net->base)) {
        MODC_TRY(modc_check(&net->base, TENSORS_FENCED_WORKSPACE_BYTES, false, false));
        status = tensors_forward_eval_fenced(net, batch, tokens, x, y, count, mask, gram, merged,
                                             even, total, many, peak, spread, parity);
    } else {
        MODC_TRY(modc_check(&net->base, TENSORS_WORKSPACE_BYTES, false, false));
        tensors_forward_eval(
            net, batch, tokens, x, y, count, mask, gram, merged, even, total, many, peak, spread,
            parity);
    }
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", TENSORS_MAX_BATCH},
                                               {"tokens", TENSORS_MAX_TOKENS}};

static void forward_shape(const int *sizes, int index, int *dims)
{
    const int tokens = sizes[1];

    switch (index) {
    case 2:
        dims[1] = (tokens + 1) / 2;
        break;
    default:
        break;
    }
}

MODC_CALL(
    tensors, forward,
    (net, sizes[0], sizes[1], inputs[0], inputs[1], inputs[2], inputs[3], outputs[0], outputs[1],
     outputs[2], outputs[3], outputs[4], outputs[5], outputs[6], outputs[7]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 3, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS, 8}, {0, 1, -1}, false},
    {"y", MODC_FLOAT32, 3, {TENSORS_MAX_BATCH, 1, 8}, {0, -1, -1}, false},
    {"count", MODC_INT64, 2, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS}, {0, 1}, false},
    {"mask", MODC_BOOL, 2, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS}, {0, 1}, false},
    {"gram", MODC_FLOAT32, 2, {8, 8}, {-1, -1}, false},
    {"merged", MODC_FLOAT32, 3, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS, 8}, {0, 1, -1}, false},
    {"even", MODC_FLOAT32, 3, {TENSORS_MAX_BATCH, 5, 3}, {0, -2, -1}, false},
    {"total", MODC_INT64, 1, {TENSORS_MAX_BATCH}, {0}, false},
    {"many", MODC_BOOL, 2, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS}, {0, 1}, false},
    {"peak", MODC_FLOAT32, 1, {8}, {-1}, false},
    {"spread", MODC_FLOAT32, 3, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS, 1}, {0, 1, -1}, false},
    {"parity", MODC_INT64, 2, {TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS}, {0, 1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 4, 8, MACS_OF_FORWARD, forward_shape, NULL, MODC_HOOKED(TENSORS),
               TENSORS_MAX_BATCH, TENSORS_MAX_TOKENS),
};

static const struct modc_module modules_table[] = {
    {"", "", "tensors", "", -1, 0, false},
};

const struct modc_model tensors_model = {
    .abi = MODC_ABI, .name = "tensors", .schema = TENSORS_SCHEMA,
    .rtol = RTOL_OF_TENSORS,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct tensors_params),
    .context_bytes = sizeof(struct tensors),
    .param_block = TENSORS_PARAM_BYTES,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .module_count = TENSORS_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
