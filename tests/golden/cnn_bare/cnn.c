/* cnn.c - written by modc from cnn_bare.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "cnn.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* x0 + x1 */
MODC_INLINE modc_f32 add_v(modc_f32 x0, modc_f32 x1)
{
    return x0 + x1;
}

/* rsqrt(x1 + 1e-05) * x0 */
MODC_INLINE modc_f32 add_rsqrt_mul_v(modc_f32 x0, modc_f32 x1)
{
    return modc_f32_rsqrt(x1 + 9.99999975e-06f) * x0;
}

/* t7 = rsqrt(x2 + 1e-05) * x1; x0 * t7 + (x3 - x4 * t7) */
MODC_INLINE modc_f32 add_rsqrt_mul_add_v(
    modc_f32 x0, modc_f32 x1, modc_f32 x2, modc_f32 x3, modc_f32 x4)
{
    const modc_f32 product = modc_f32_rsqrt(x2 + 9.99999975e-06f) * x1;

    return x0 * product + (x3 - x4 * product);
}

/* 0.9 * x0 */
MODC_INLINE modc_f32 mul_v(modc_f32 x0)
{
    return 0.899999976f * x0;
}

/* x0 - x1 * x2 */
MODC_INLINE modc_f32 mul_sub_v(modc_f32 x0, modc_f32 x1, modc_f32 x2)
{
    return x0 - x1 * x2;
}

/* x1 * where(x0 < 0.25, 0.0, 1.3333334) */
MODC_INLINE float random_dropped_mul_s(float x0, float x1)
{
    return x1 * (x0 < 0.25f ? 0.0f : 1.33333337f);
}

/* where(x0 <= 0.0, 0.0, x0) */
MODC_INLINE modc_f32 relu_v(modc_f32 x0)
{
    return modc_f32_select(modc_f32_le(x0, modc_f32_set(0.0f)), modc_f32_set(0.0f), x0);
}

/* x0 - x1 */
MODC_INLINE modc_f32 sub_v(modc_f32 x0, modc_f32 x1)
{
    return x0 - x1;
}

/* x1 - x2 + x0 */
MODC_INLINE modc_f32 sub_add_v(modc_f32 x0, modc_f32 x1, modc_f32 x2)
{
    return x1 - x2 + x0;
}

/* t2 = x0 - x1; t2 * t2 */
MODC_INLINE modc_f32 sub_mul_v(modc_f32 x0, modc_f32 x1)
{
    const modc_f32 difference = x0 - x1;

    return difference * difference;
}

/* t6 = (x2 - x3) * x1 + x0; where(t6 <= 0.0, 0.0, t6) */
MODC_INLINE modc_f32 sub_mul_add_relu_v(modc_f32 x0, modc_f32 x1, modc_f32 x2, modc_f32 x3)
{
    const modc_f32 sum = (x2 - x3) * x1 + x0;

    return modc_f32_select(modc_f32_le(sum, modc_f32_set(0.0f)), modc_f32_set(0.0f), sum);
}

/* `channels` values of x for pixels from ... to - 1 of the tile, times their weights. */
MODC_INLINE void conv_direct_line_taps(
    modc_f32 *sum, const float *restrict x, const float *restrict w, const int channels,
    const int from, const int to, const int vectors, const int row, const int channel, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    modc_f32 b[MODC_TILE_VECTORS(1)];

    MODC_ROLL_SHORT
    for (int k = 0; k < channels; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = modc_f32_load(w + j * MODC_LANES / 16 * (KH * KW * C * 16) +
                                 j * MODC_LANES % 16 + k * 16);
        MODC_UNROLL
        for (int i = from; i < to; i++) {
            const float a = x[i * (SW * LDX) + k];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
}

/* The pixels pixel ... pixel + rows - 1 of the line. `left` and `right`: the tile begins and ends
 * it; `clip`: a single pixel anywhere. rows, columns and these are constants. */
MODC_INLINE void conv_direct_line_tile(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int rows, const int columns, const int pixel, const int clip,
    const int left, const int right, const int row, const int channel, const int N, const int H,
    const int W, const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int vectors = (columns + MODC_LANES - 1) / MODC_LANES, tile = rows * vectors,
            x0 = pixel * SW - PW;
    modc_f32 sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    MODC_UNROLL
    for (int j = 0; j < vectors; j++)
        b[j] = BIAS ? modc_f32_load(bias + j * MODC_LANES) : modc_f32_set(0);
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = b[i % vectors];
    for (int kh = 0; kh < KH; kh++) {
        const float *const xh = lines[kh], *const wh = w + kh * (KW * C * 16);

        if (!xh)
            continue;
        if (clip) {
            for (int kw = 0; kw < KW; kw++) {
                if (x0 + kw * DW >= 0 && x0 + kw * DW < W)
                    conv_direct_line_taps(
                        sum, xh + (x0 + kw * DW) * LDX, wh + kw * (C * 16), C, 0, rows, vectors,
                        row, channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC,
                        LDY, GROUPS, BIAS, TAIL_V);
            }
            continue;
        }
        if (left || right) {
            /* taps whole ... end - 1, which no row leaves out, are one sum where they lie side by
             * side */
            const int reach = W + PW - (OW - 1) * SW;
            const int whole = left ? PW : 0, end = right && reach < KW ? reach : KW;

            MODC_UNROLL
            for (int kw = 0; kw < KW; kw++) {
                const int from = left ? -modc_floordiv(kw * DW - PW, SW) : 0;
                const int to = right ? modc_floordiv(W - 1 + PW - kw * DW, SW) + 1 - (OW - rows)
                                     : rows;

                if (kw <= whole || kw >= end)
                    conv_direct_line_taps(sum, xh + (x0 + kw * DW) * LDX, wh + kw * (C * 16),
                                          kw == whole && whole < end ? (end - whole) * C : C,
                                          modc_max(from, 0), modc_min(to, rows), vectors, row,
                                          channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW,
                                          C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
            }
            continue;
        }
        conv_direct_line_taps(
            sum, xh + x0 * LDX, wh, KW * C, 0, rows, vectors, row, channel, N, H, W, OH, OW, KH, KW,
            SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
    }

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int rest = columns - i % vectors * MODC_LANES;
        float *const out = y + (pixel + i / vectors) * ldy + i % vectors * MODC_LANES;

        if (rest >= MODC_LANES) {
            modc_f32_store(out, TAIL_V(sum[i]));
            continue;
        }
        modc_f32_store_part(out, TAIL_V(sum[i]), rest);
    }
}

/* The line in tiles. `columns` is a constant. */
MODC_INLINE void conv_direct_line_tiles(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int row, const int channel, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    /* the taller tiles first: 32 pixels are 11 + 11 + 10 */
    const int tiles = MODC_LINE_TILES(OW), rows = OW / tiles, tall = OW % tiles;
    const int first = MODC_LINE_TALLEST(OW), reach = (KW - 1) * DW - PW;
    const bool left = PW > 0, right = (OW - 1) * SW + reach >= W;
    const int end = tiles - right;

    if (tiles > 1 && (first * SW < PW || (OW - rows - 1) * SW + reach >= W)) {
        for (int p = 0; p < OW; p++) /* the padding reaches beyond one tile */
            conv_direct_line_tile(
                y, ldy, lines, w, bias, 1, columns, p, 1, 0, 0, row, channel, N, H, W, OH, OW, KH,
                KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
        return;
    }
    if (left)
        conv_direct_line_tile(y, ldy, lines, w, bias, first, columns, 0, 0, 1, tiles == 1 && right,
                              row, channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX,
                              OC, LDY, GROUPS, BIAS, TAIL_V);
    for (int t = left; t < tall && t < end; t++)
        conv_direct_line_tile(
            y, ldy, lines, w, bias, rows + 1, columns, t * (rows + 1), 0, 0, 0, row, channel, N, H,
            W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
    for (int t = tall > left ? tall : left; t < end; t++)
        conv_direct_line_tile(
            y, ldy, lines, w, bias, rows, columns, t * rows + tall, 0, 0, 0, row, channel, N, H, W,
            OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
    if (right && (tiles > 1 || !left))
        conv_direct_line_tile(
            y, ldy, lines, w, bias, rows, columns, OW - rows, 0, 0, 1, row, channel, N, H, W, OH,
            OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
}

/* A line of y, `columns` of its channels. */
MODC_INLINE void conv_direct_line(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int row, const int channel, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(MODC_LINE_TALLEST(OW)) * MODC_LANES;
    const int rest = OC % band;

    if (rest == 0 || (rest < OC && columns > rest))
        conv_direct_line_tiles(
            y, ldy, lines, w, bias, band, row, channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH,
            DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
    else
        conv_direct_line_tiles(
            y, ldy, lines, w, bias, rest, row, channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH,
            DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
}

/* The lines of x under the windows of one line of y, from line y0 on; NULL where they are
 * outside. */
MODC_INLINE void conv_direct_under(
    const float **lines, const float *x, const int y0, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int kh = 0; kh < KH; kh++) {
        const int h = y0 + kh * DH;

        lines[kh] = h >= 0 && h < H ? x + h * (W * LDX) : NULL;
    }
}

/* Line `line` of y, counted over all images: `columns` of its channels from `channel` on, where w
 * and bias begin. */
MODC_INLINE void conv_direct_band(
    float *restrict y, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int line, const int channel, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int ldy = LDY, row = line * OW;
    float *const out = y + row * ldy + channel;

    conv_direct_line(
        out, ldy, lines, w, bias, columns, row, channel, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW,
        DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
}

/* Images first ... last - 1 of y: `columns` channels from c of group g on. */
MODC_INLINE void conv_direct_images(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int columns, const int first, const int last, const int g, const int c, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int panel = KH * KW * C * 16, panels = (OC + 16 - 1) / 16;
    const float *const wc = w + (g * panels + c / 16) * panel + c % 16;
    const float *const bc = BIAS ? bias + g * (panels * 16) + c : NULL;
    const float *lines[8];

    for (int n = first; n < last; n++) {
        const float *const xn = x + n * (H * W * LDX) + g * C;

        for (int oh = 0; oh < OH; oh++) {
            conv_direct_under(
                lines, xn, oh * SH - PH, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX,
                OC, LDY, GROUPS, BIAS, TAIL_V);
            conv_direct_band(
                y, lines, wc, bc, columns, n * OH + oh, g * OC + c, N, H, W, OH, OW, KH, KW, SH, SW,
                PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
        }
    }
}

/* In register tiles of pixels of a line times panels of w; taps that lie outside are left out. */
MODC_INLINE void conv_direct(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int N, const int H, const int W, const int OH, const int OW, const int KH, const int KW,
    const int SH, const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(MODC_LINE_TALLEST(OW)) * MODC_LANES;
    const int full = OC / band * band, panel = KH * KW * C * 16;
    /* A small w stays in cache while the images pass by; otherwise each band of it stays while all
     * images use it. */
    const bool small = (OC + 16 - 1) / 16 * panel * GROUPS * (int)sizeof(float) <= 256 * 1024;
    const int step = small ? 1 : N;

    for (int first = 0; first < N; first += step) {
        for (int g = 0; g < GROUPS; g++) {
            for (int c = 0; c < full; c += band)
                conv_direct_images(
                    y, x, w, bias, band, first, first + step, g, c, N, H, W, OH, OW, KH, KW, SH, SW,
                    PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
            if (OC > full)
                conv_direct_images(
                    y, x, w, bias, OC - full, first, first + step, g, full, N, H, W, OH, OW, KH, KW,
                    SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, TAIL_V);
        }
    }
}

/* The lines of x under the windows of one line of y, from line y0 on; NULL where they are
 * outside. */
MODC_INLINE void conv_direct_apart_under(
    const float **lines, const float *x, const int y0, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS,
    void (*const LINE)(float *restrict y, const int ldy, const float *const *lines,
                       const float *restrict w, const float *restrict bias, const int columns),
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int kh = 0; kh < KH; kh++) {
        const int h = y0 + kh * DH;

        lines[kh] = h >= 0 && h < H ? x + h * (W * LDX) : NULL;
    }
}

/* Line `line` of y, counted over all images: `columns` of its channels from `channel` on, where w
 * and bias begin. */
MODC_INLINE void conv_direct_apart_band(
    float *restrict y, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int line, const int channel, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    void (*const LINE)(float *restrict y, const int ldy, const float *const *lines,
                       const float *restrict w, const float *restrict bias, const int columns),
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int ldy = LDY, row = line * OW;
    float *const out = y + row * ldy + channel;

    LINE(out, ldy, lines, w, bias, columns);
    for (int i = 0; TAIL_V && i < OW; i++) {
        int c = 0;

        for (; c + MODC_LANES <= columns; c += MODC_LANES)
            modc_f32_store(out + i * ldy + c, TAIL_V(modc_f32_load(out + i * ldy + c)));
        if (c < columns)
            modc_f32_store_part(
                out + i * ldy + c, TAIL_V(modc_f32_load_part(out + i * ldy + c, columns - c)),
                columns - c);
    }
}

/* Images first ... last - 1 of y: `columns` channels from c of group g on. */
MODC_INLINE void conv_direct_apart_images(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int columns, const int first, const int last, const int g, const int c, const int N,
    const int H, const int W, const int OH, const int OW, const int KH, const int KW, const int SH,
    const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    void (*const LINE)(float *restrict y, const int ldy, const float *const *lines,
                       const float *restrict w, const float *restrict bias, const int columns),
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int panel = KH * KW * C * 16, panels = (OC + 16 - 1) / 16;
    const float *const wc = w + (g * panels + c / 16) * panel + c % 16;
    const float *const bc = BIAS ? bias + g * (panels * 16) + c : NULL;
    const float *lines[8];

    for (int n = first; n < last; n++) {
        const float *const xn = x + n * (H * W * LDX) + g * C;

        for (int oh = 0; oh < OH; oh++) {
            conv_direct_apart_under(
                lines, xn, oh * SH - PH, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX,
                OC, LDY, GROUPS, BIAS, LINE, TAIL_V);
            conv_direct_apart_band(
                y, lines, wc, bc, columns, n * OH + oh, g * OC + c, N, H, W, OH, OW, KH, KW, SH, SW,
                PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LINE, TAIL_V);
        }
    }
}

/* In register tiles of pixels of a line times panels of w; taps that lie outside are left out. */
MODC_INLINE void conv_direct_apart(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int N, const int H, const int W, const int OH, const int OW, const int KH, const int KW,
    const int SH, const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int OC, const int LDY, const int GROUPS, const int BIAS,
    void (*const LINE)(float *restrict y, const int ldy, const float *const *lines,
                       const float *restrict w, const float *restrict bias, const int columns),
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(MODC_LINE_TALLEST(OW)) * MODC_LANES;
    const int full = OC / band * band, panel = KH * KW * C * 16;
    /* A small w stays in cache while the images pass by; otherwise each band of it stays while all
     * images use it. */
    const bool small = (OC + 16 - 1) / 16 * panel * GROUPS * (int)sizeof(float) <= 256 * 1024;
    const int step = small ? 1 : N;

    for (int first = 0; first < N; first += step) {
        for (int g = 0; g < GROUPS; g++) {
            for (int c = 0; c < full; c += band)
                conv_direct_apart_images(
                    y, x, w, bias, band, first, first + step, g, c, N, H, W, OH, OW, KH, KW, SH, SW,
                    PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LINE, TAIL_V);
            if (OC > full)
                conv_direct_apart_images(
                    y, x, w, bias, OC - full, first, first + step, g, full, N, H, W, OH, OW, KH, KW,
                    SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LINE, TAIL_V);
        }
    }
}

/* `channels` values of x for pixels from ... to - 1 of the tile, times their weights. */
MODC_INLINE void conv_direct_line_apart_taps(
    modc_f32 *sum, const float *restrict x, const float *restrict w, const int channels,
    const int from, const int to, const int vectors, const int W, const int OW, const int KH,
    const int KW, const int SW, const int PW, const int DW, const int C, const int LDX,
    const int OC)
{
    modc_f32 b[MODC_TILE_VECTORS(1)];

    MODC_ROLL_SHORT
    for (int k = 0; k < channels; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = modc_f32_load(w + j * MODC_LANES / 16 * (KH * KW * C * 16) +
                                 j * MODC_LANES % 16 + k * 16);
        MODC_UNROLL
        for (int i = from; i < to; i++) {
            const float a = x[i * (SW * LDX) + k];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
}

/* The pixels pixel ... pixel + rows - 1 of the line. `left` and `right`: the tile begins and ends
 * it; `clip`: a single pixel anywhere. rows, columns and these are constants. */
MODC_INLINE void conv_direct_line_apart_tile(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int rows, const int columns, const int pixel, const int clip,
    const int left, const int right, const int W, const int OW, const int KH, const int KW,
    const int SW, const int PW, const int DW, const int C, const int LDX, const int OC)
{
    const int vectors = (columns + MODC_LANES - 1) / MODC_LANES, tile = rows * vectors,
            x0 = pixel * SW - PW;
    modc_f32 sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    MODC_UNROLL
    for (int j = 0; j < vectors; j++)
        b[j] = bias ? modc_f32_load(bias + j * MODC_LANES) : modc_f32_set(0);
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = b[i % vectors];
    for (int kh = 0; kh < KH; kh++) {
        const float *const xh = lines[kh], *const wh = w + kh * (KW * C * 16);

        if (!xh)
            continue;
        if (clip) {
            for (int kw = 0; kw < KW; kw++) {
                if (x0 + kw * DW >= 0 && x0 + kw * DW < W)
                    conv_direct_line_apart_taps(
                        sum, xh + (x0 + kw * DW) * LDX, wh + kw * (C * 16), C, 0, rows, vectors, W,
                        OW, KH, KW, SW, PW, DW, C, LDX, OC);
            }
            continue;
        }
        if (left || right) {
            /* taps whole ... end - 1, which no row leaves out, are one sum where they lie side by
             * side */
            const int reach = W + PW - (OW - 1) * SW;
            const int whole = left ? PW : 0, end = right && reach < KW ? reach : KW;

            MODC_UNROLL
            for (int kw = 0; kw < KW; kw++) {
                const int from = left ? -modc_floordiv(kw * DW - PW, SW) : 0;
                const int to = right ? modc_floordiv(W - 1 + PW - kw * DW, SW) + 1 - (OW - rows)
                                     : rows;

                if (kw <= whole || kw >= end)
                    conv_direct_line_apart_taps(sum, xh + (x0 + kw * DW) * LDX, wh + kw * (C * 16),
                                                kw == whole && whole < end ? (end - whole) * C : C,
                                                modc_max(from, 0), modc_min(to, rows), vectors, W,
                                                OW, KH, KW, SW, PW, DW, C, LDX, OC);
            }
            continue;
        }
        conv_direct_line_apart_taps(
            sum, xh + x0 * LDX, wh, KW * C, 0, rows, vectors, W, OW, KH, KW, SW, PW, DW, C, LDX,
            OC);
    }

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int rest = columns - i % vectors * MODC_LANES;
        float *const out = y + (pixel + i / vectors) * ldy + i % vectors * MODC_LANES;

        if (rest >= MODC_LANES) {
            modc_f32_store(out, sum[i]);
            continue;
        }
        modc_f32_store_part(out, sum[i], rest);
    }
}

/* The line in tiles. `columns` is a constant. */
MODC_INLINE void conv_direct_line_apart_tiles(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int W, const int OW, const int KH,
    const int KW, const int SW, const int PW, const int DW, const int C, const int LDX,
    const int OC)
{
    /* the taller tiles first: 32 pixels are 11 + 11 + 10 */
    const int tiles = MODC_LINE_TILES(OW), rows = OW / tiles, tall = OW % tiles;
    const int first = MODC_LINE_TALLEST(OW), reach = (KW - 1) * DW - PW;
    const bool left = PW > 0, right = (OW - 1) * SW + reach >= W;
    const int end = tiles - right;

    if (tiles > 1 && (first * SW < PW || (OW - rows - 1) * SW + reach >= W)) {
        for (int p = 0; p < OW; p++) /* the padding reaches beyond one tile */
            conv_direct_line_apart_tile(
                y, ldy, lines, w, bias, 1, columns, p, 1, 0, 0, W, OW, KH, KW, SW, PW, DW, C, LDX,
                OC);
        return;
    }
    if (left)
        conv_direct_line_apart_tile(y, ldy, lines, w, bias, first, columns, 0, 0, 1,
                                    tiles == 1 && right, W, OW, KH, KW, SW, PW, DW, C, LDX, OC);
    for (int t = left; t < tall && t < end; t++)
        conv_direct_line_apart_tile(
            y, ldy, lines, w, bias, rows + 1, columns, t * (rows + 1), 0, 0, 0, W, OW, KH, KW, SW,
            PW, DW, C, LDX, OC);
    for (int t = tall > left ? tall : left; t < end; t++)
        conv_direct_line_apart_tile(
            y, ldy, lines, w, bias, rows, columns, t * rows + tall, 0, 0, 0, W, OW, KH, KW, SW, PW,
            DW, C, LDX, OC);
    if (right && (tiles > 1 || !left))
        conv_direct_line_apart_tile(
            y, ldy, lines, w, bias, rows, columns, OW - rows, 0, 0, 1, W, OW, KH, KW, SW, PW, DW, C,
            LDX, OC);
}

/* A line of y, KH x KW windows over C channels, times `columns` of OC: a band, or those that are
 * left. In register tiles of neighbouring pixels, so that a weight is read once for all of them;
 * taps that lie outside are left out.
 * lines[kh] is the line of x under line kh of the windows, NULL outside; pixels of y are ldy apart;
 * bias may be NULL. */
MODC_INLINE void conv_direct_line_apart(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int W, const int OW, const int KH,
    const int KW, const int SW, const int PW, const int DW, const int C, const int LDX,
    const int OC)
{
    const int band = MODC_TILE_VECTORS(MODC_LINE_TALLEST(OW)) * MODC_LANES;
    const int rest = OC % band;

    if (rest == 0 || (rest < OC && columns > rest))
        conv_direct_line_apart_tiles(
            y, ldy, lines, w, bias, band, W, OW, KH, KW, SW, PW, DW, C, LDX, OC);
    else
        conv_direct_line_apart_tiles(
            y, ldy, lines, w, bias, rest, W, OW, KH, KW, SW, PW, DW, C, LDX, OC);
}

/* A^T m A, bias and tail: `lines` x `pixels` of the outputs of one tile from pixel `first` of y on,
 * `columns` channels from `channel` on. */
MODC_INLINE void conv_winograd4_output(
    float *restrict y, const float *restrict m, const float *restrict bias, const int first,
    const int lines, const int pixels, const int channel, const int columns, const int N,
    const int H, const int W, const int OH, const int OW, const int PH, const int PW, const int C,
    const int LDX, const int OC, const int LDY, const int BLOCK, const int CHUNK, const int BIAS,
    void (*const TILES)(float *restrict m, float *restrict v, const float *restrict x,
                        const float *restrict w, const int first, const int count,
                        const int columns), modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int c = 0; c < columns; c += MODC_LANES) {
        modc_f32 o[36];
        const modc_f32 b = BIAS ? modc_f32_load(bias + channel + c) : modc_f32_set(0);

        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            o[i] = modc_f32_load(m + i * (BLOCK * CHUNK + 16) + c);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            modc_f32_winograd_output(o + i, 6, 6);
        MODC_UNROLL
        for (int i = 0; i < 4; i++)
            modc_f32_winograd_output(o + 6 * i, 1, 6);
        MODC_UNROLL
        for (int i = 0; i < 4 * 4; i++) {
            if (i / 4 < lines && i % 4 < pixels) {
                const int r = first + i / 4 * OW + i % 4;
                const modc_f32 sum = BIAS ? o[i / 4 * 6 + i % 4] + b : o[i / 4 * 6 + i % 4];

                modc_f32_store(y + r * LDY + channel + c, TAIL_V(sum));
            }
        }
    }
}

/* By Winograd's F(4x4, 3x3), a block of tiles at a time: 36 products for 16 pixels instead of
 * 144. */
MODC_INLINE void conv_winograd4(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    float *restrict v, const int N, const int H, const int W, const int OH, const int OW,
    const int PH, const int PW, const int C, const int LDX, const int OC, const int LDY,
    const int BLOCK, const int CHUNK, const int BIAS,
    void (*const TILES)(float *restrict m, float *restrict v, const float *restrict x,
                        const float *restrict w, const int first, const int count,
                        const int columns), modc_f32 (*TAIL_V)(modc_f32 x))
{
    float *const m = v + 36 * (BLOCK * C + 16);
    const int down = (OH + 4 - 1) / 4, across = (OW + 4 - 1) / 4, tiles = N * down * across;

    for (int first = 0; first < tiles; first += BLOCK) {
        const int count = tiles - first < BLOCK ? tiles - first : BLOCK;
        const float *fresh = x;

        for (int c = 0; c < OC; c += CHUNK) {
            const int columns = OC - c < CHUNK ? OC - c : CHUNK;

            TILES(m, v, fresh, w + c / 16 * (C * 16), first, count, columns);
            fresh = NULL;
            for (int t = 0; t < count; t++) {
                const int n = (first + t) / (down * across);
                const int h = (first + t) / across % down * 4, p = (first + t) % across * 4;

                conv_winograd4_output(
                    y, m + t * CHUNK, bias, (n * OH + h) * OW + p, OH - h, OW - p, c, columns, N, H,
                    W, OH, OW, PH, PW, C, LDX, OC, LDY, BLOCK, CHUNK, BIAS, TILES, TAIL_V);
            }
        }
    }
}

/* B^T d B of one tile, whose lines and pixels are so far apart, into the planes of v. */
MODC_INLINE void conv_winograd4_tiles_input(
    float *restrict v, const float *restrict x, const int line, const int pixel, const int H,
    const int W, const int OH, const int OW, const int PH, const int PW, const int C, const int LDX,
    const int OC, const int BLOCK, const int CHUNK)
{
    for (int c = 0; c < C; c += MODC_LANES) {
        modc_f32 d[36];

        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            d[i] = modc_f32_load(x + i / 6 * line + i % 6 * pixel + c);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            modc_f32_winograd_input(d + 6 * i, 1, 6);
        MODC_UNROLL
        for (int i = 0; i < 6; i++)
            modc_f32_winograd_input(d + i, 6, 6);
        MODC_UNROLL
        for (int i = 0; i < 36; i++)
            modc_f32_store(v + i * (BLOCK * C + 16) + c, d[i]);
    }
}

/* B^T d B of `count` tiles, BLOCK at the most, from tile `first` on, counted over lines and images
 * of x, into the planes of v. What is outside of an image is 0, by way of `halo`. */
MODC_INLINE void conv_winograd4_tiles_inputs(
    float *restrict v, const float *restrict x, float *restrict halo, const int first,
    const int count, const int H, const int W, const int OH, const int OW, const int PH,
    const int PW, const int C, const int LDX, const int OC, const int BLOCK, const int CHUNK)
{
    const int down = (OH + 4 - 1) / 4, across = (OW + 4 - 1) / 4;

    for (int t = 0; t < count; t++) {
        const int n = (first + t) / (down * across);
        const int h = (first + t) / across % down * 4 - PH, w = (first + t) % across * 4 - PW;
        const float *const xn = x + n * (H * W * LDX);
        const int inside = h >= 0 && h + 6 <= H && w >= 0 && w + 6 <= W;

        for (int i = 0; !inside && i < 36; i++) {
            const int line = h + i / 6, pixel = w + i % 6;

            if (line >= 0 && line < H && pixel >= 0 && pixel < W)
                memcpy(halo + i * C, xn + (line * W + pixel) * LDX, (size_t)C * sizeof *x);
            else
                memset(halo + i * C, 0, (size_t)C * sizeof *x);
        }
        conv_winograd4_tiles_input(
            v + t * C, inside ? xn + (h * W + w) * LDX : halo, inside ? W * LDX : 6 * C,
            inside ? LDX : C, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK, CHUNK);
    }
}

/* The products of tiles tile ... tile + rows - 1 in one plane, `columns` channels of m. rows and
 * columns are constants. */
MODC_INLINE void conv_winograd4_tiles_tile(
    float *restrict m, const float *restrict v, const float *restrict w, const int rows,
    const int columns, const int tile, const int H, const int W, const int OH, const int OW,
    const int PH, const int PW, const int C, const int LDX, const int OC, const int BLOCK,
    const int CHUNK)
{
    const int vectors = columns / MODC_LANES;
    modc_f32 sum[MODC_TILE_REGISTERS], b[MODC_TILE_VECTORS(1)];

    MODC_TILE_FENCE;
    v += tile * C;
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = modc_f32_set(0);
    MODC_ROLL
    for (int k = 0; k < C; k++) {
        MODC_UNROLL
        for (int j = 0; j < vectors; j++)
            b[j] = modc_f32_load(w + j * MODC_LANES / 16 * (C * 16) + j * MODC_LANES % 16 + k * 16);
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float a = v[i * C + k];

            MODC_UNROLL
            for (int j = 0; j < vectors; j++)
                sum[i * vectors + j] += a * b[j];
        }
    }
    MODC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        modc_f32_store(m + (tile + i / vectors) * CHUNK + i % vectors * MODC_LANES, sum[i]);
}

/* `tall` tiles of rows + 1 rows, then `flat` ones of rows, in all planes; `columns` channels, of
 * the panels from w on. */
MODC_INLINE void conv_winograd4_tiles_planes(
    float *restrict m, const float *restrict v, const float *restrict w, const int rows,
    const int tile, const int tall, const int flat, const int columns, const int H, const int W,
    const int OH, const int OW, const int PH, const int PW, const int C, const int LDX,
    const int OC, const int BLOCK, const int CHUNK)
{
    const int most = MODC_TILE_VECTORS(rows + (tall > 0)) * MODC_LANES,
                     band = most < columns ? most : columns;
    const int rest = columns % band;

    for (int p = 0; p < 36; p++) {
        float *const mp = m + p * (BLOCK * CHUNK + 16);
        const float *const vp = v + p * (BLOCK * C + 16), *const wp = w + p * (OC * C);

        for (int n = 0; n < columns; n += band) {
            const float *const wn = wp + n / 16 * (C * 16) + n % 16;

            if (n + band > columns) {
                for (int t = 0; rest > 0 && t < tall; t++)
                    conv_winograd4_tiles_tile(
                        mp + n, vp, wn, rows + 1, rest, tile + t * (rows + 1), H, W, OH, OW, PH, PW,
                        C, LDX, OC, BLOCK, CHUNK);
                for (int t = 0; rest > 0 && t < flat; t++)
                    conv_winograd4_tiles_tile(
                        mp + n, vp, wn, rows, rest, tile + tall + (tall + t) * rows, H, W, OH, OW,
                        PH, PW, C, LDX, OC, BLOCK, CHUNK);
                break;
            }
            for (int t = 0; t < tall; t++)
                conv_winograd4_tiles_tile(
                    mp + n, vp, wn, rows + 1, band, tile + t * (rows + 1), H, W, OH, OW, PH, PW, C,
                    LDX, OC, BLOCK, CHUNK);
            for (int t = 0; t < flat; t++)
                conv_winograd4_tiles_tile(
                    mp + n, vp, wn, rows, band, tile + tall + (tall + t) * rows, H, W, OH, OW, PH,
                    PW, C, LDX, OC, BLOCK, CHUNK);
        }
    }
}

/* The same for `count` tiles. `columns` is a constant. */
MODC_INLINE void conv_winograd4_tiles_block(
    float *restrict m, const float *restrict v, const float *restrict w, const int count,
    const int columns, const int H, const int W, const int OH, const int OW, const int PH,
    const int PW, const int C, const int LDX, const int OC, const int BLOCK, const int CHUNK)
{
    const int tiles = (BLOCK + MODC_TILE_ROWS - 1) / MODC_TILE_ROWS, rows = BLOCK / tiles,
            tall = BLOCK % tiles;
    int t = 0;

    if (count < BLOCK) {
        for (; t + MODC_TILE_ROWS <= count; t += MODC_TILE_ROWS)
            conv_winograd4_tiles_planes(
                m, v, w, MODC_TILE_ROWS, t, 0, 1, columns, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK,
                CHUNK);
#if MODC_TILE_ROWS > 4
        for (; t + 4 <= count; t += 4)
            conv_winograd4_tiles_planes(
                m, v, w, 4, t, 0, 1, columns, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK, CHUNK);
#endif
#if MODC_TILE_ROWS > 1
        for (; t < count; t++)
            conv_winograd4_tiles_planes(
                m, v, w, 1, t, 0, 1, columns, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK, CHUNK);
#endif
        return;
    }
    /* as even as it goes */
    conv_winograd4_tiles_planes(
        m, v, w, rows, 0, tall, tiles - tall, columns, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK,
        CHUNK);
}

/* Of `count` tiles, BLOCK at the most, from tile `first` on, counted over lines and images of x:
 * B^T d B into the planes of v, unless x is NULL, since they are there; then the products with the
 * weights from w on in all planes, into m: CHUNK channels, or those that are left of OC. In
 * register tiles, for as many channels at a time as keep the products of the tiles in the cache.
 * Behind v and m there is room for a tile of x. */
MODC_INLINE void conv_winograd4_tiles(
    float *restrict m, float *restrict v, const float *restrict x, const float *restrict w,
    const int first, const int count, const int columns, const int H, const int W, const int OH,
    const int OW, const int PH, const int PW, const int C, const int LDX, const int OC,
    const int BLOCK, const int CHUNK)
{
    if (x)
        conv_winograd4_tiles_inputs(
            v, x, m + 36 * (BLOCK * CHUNK + 16), first, count, H, W, OH, OW, PH, PW, C, LDX, OC,
            BLOCK, CHUNK);
    conv_winograd4_tiles_block(
        m, v, w, count, CHUNK, H, W, OH, OW, PH, PW, C, LDX, OC, BLOCK, CHUNK);
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

/* y = F of the inputs, for each element. */
MODC_INLINE void map_3(
    float *y, const float *x0, const float *x1, const float *x2, const int count,
    modc_f32 (*F)(modc_f32 x0, modc_f32 x1, modc_f32 x2))
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES) {
        const modc_f32 v0 = modc_f32_load(x0 + i);
        const modc_f32 v1 = modc_f32_load(x1 + i);
        const modc_f32 v2 = modc_f32_load(x2 + i);

        modc_f32_store(y + i, F(v0, v1, v2));
    }
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);
        const modc_f32 v2 = modc_f32_load_part(x2 + i, count - i);

        modc_f32_store_part(y + i, F(v0, v1, v2), count - i);
    }
}

/* y = F of the inputs, for each element. */
MODC_INLINE void map_4_rows_x0_j_x1_j_x3_j(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, const int ni,
    const int nj, modc_f32 (*F)(modc_f32 x0, modc_f32 x1, modc_f32 x2, modc_f32 x3))
{
    for (int i = 0; i < ni; i++) {
        int j = 0;

        for (; j <= nj - MODC_LANES; j += MODC_LANES) {
            const modc_f32 v0 = modc_f32_load(x0 + j);
            const modc_f32 v1 = modc_f32_load(x1 + j);
            const modc_f32 v2 = modc_f32_load(x2 + i * nj + j);
            const modc_f32 v3 = modc_f32_load(x3 + j);

            modc_f32_store(y + i * nj + j, F(v0, v1, v2, v3));
        }
        if (j < nj) {
            const modc_f32 v0 = modc_f32_load_part(x0 + j, nj - j);
            const modc_f32 v1 = modc_f32_load_part(x1 + j, nj - j);
            const modc_f32 v2 = modc_f32_load_part(x2 + i * nj + j, nj - j);
            const modc_f32 v3 = modc_f32_load_part(x3 + j, nj - j);

            modc_f32_store_part(y + i * nj + j, F(v0, v1, v2, v3), nj - j);
        }
    }
}

/* y = where(dim(size0) == 0, x0, x1 + 0.1 * x2), for each element. */
MODC_INLINE void map_mul_add_where_3(
    float *y, const float *x0, const float *x1, const float *x2, const int count, const int size0)
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES) {
        const modc_f32 v0 = modc_f32_load(x0 + i);
        const modc_f32 v1 = modc_f32_load(x1 + i);
        const modc_f32 v2 = modc_f32_load(x2 + i);

        modc_f32_store(y + i, (int64_t)size0 == 0 ? v0 : v1 + 0.100000001f * v2);
    }
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);
        const modc_f32 v2 = modc_f32_load_part(x2 + i, count - i);

        modc_f32_store_part(y + i, (int64_t)size0 == 0 ? v0 : v1 + 0.100000001f * v2, count - i);
    }
}

/* One vector of what map_mul_mul_add_where_3 computes. */
MODC_INLINE modc_f32 map_mul_mul_add_where_3_lanes(
    modc_f32 x0, modc_f32 x1, modc_f32 x2, int size0, int size1, int size2)
{
    const modc_f32 sum = x1 + 0.100000001f * (x2 * (float)((double)size0 / (double)size1));

    return (int64_t)size2 == 0 ? x0 : sum;
}

/* y = where(dim(size2) == 0, x0, x1 + 0.1 * (x2 * float32(float64(dim(size0)) /
 * float64(dim(size1))))), for each element. */
MODC_INLINE void map_mul_mul_add_where_3(
    float *y, const float *x0, const float *x1, const float *x2, const int count, const int size0,
    const int size1, const int size2)
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES) {
        const modc_f32 v0 = modc_f32_load(x0 + i);
        const modc_f32 v1 = modc_f32_load(x1 + i);
        const modc_f32 v2 = modc_f32_load(x2 + i);

        modc_f32_store(y + i, map_mul_mul_add_where_3_lanes(v0, v1, v2, size0, size1, size2));
    }
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);
        const modc_f32 v2 = modc_f32_load_part(x2 + i, count - i);

        modc_f32_store_part(
            y + i, map_mul_mul_add_where_3_lanes(v0, v1, v2, size0, size1, size2), count - i);
    }
}

/* One vector of what map_mul_mul_sub_div_2 computes. */
MODC_INLINE modc_f32 map_mul_mul_sub_div_2_lanes(modc_f32 x0, modc_f32 x1, int size0)
{
    const float converted = (float)size0;

    return (x0 - converted * x1 * x1) / converted;
}

/* y = t3 = float32(dim(size0)); (x0 - t3 * x1 * x1) / t3, for each element. */
MODC_INLINE void map_mul_mul_sub_div_2(
    float *y, const float *x0, const float *x1, const int count, const int size0)
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES) {
        modc_f32_store(
            y + i,
            map_mul_mul_sub_div_2_lanes(modc_f32_load(x0 + i), modc_f32_load(x1 + i), size0));
    }
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);

        modc_f32_store_part(y + i, map_mul_mul_sub_div_2_lanes(v0, v1, size0), count - i);
    }
}

/* By line and pixel, vectors of channels innermost. */
MODC_INLINE void pool_max(
    float *restrict y, const float *restrict x, const int N, const int C, const int H, const int OH,
    const int KH, const int SH, const int PH, const int W, const int OW, const int KW, const int SW,
    const int PW, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int line = 0; line < N * OH; line++) {
        const int top = line % OH * SH - PH;

        for (int ow = 0; ow < OW; ow++) {
            const int west = ow * SW - PW, r = line * OW + ow;
            const int corner = (line / OH * H + top) * W + west; /* may lie outside */

            for (int c = 0; c < C; c += MODC_LANES) {
                modc_f32 value = modc_f32_set(-modc_f32_inf());

                for (int kh = 0; kh < KH; kh++) {
                    for (int kw = 0; kw < KW; kw++) {
                        const int tap = corner + kh * W + kw;
                        const modc_f32 a = modc_f32_load(x + tap * LDX + c);

                        value = modc_f32_max(value, a);
                    }
                }
                modc_f32_store(y + r * LDY + c, TAIL_V(value));
            }
        }
    }
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void sum_columns_apart(
    float *y, const float *x0, const int nj, const int ni, const int x0_j, const int vectors,
    modc_f32 (*HEAD)(modc_f32 x0), modc_f32 (*TAIL)(modc_f32 x0))
{
    const modc_f32 zero = modc_f32_set(0.0f);
    int i = 0;

    for (; i <= ni - vectors * MODC_LANES; i += vectors * MODC_LANES) {
        modc_f32 sums[8];

        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            sums[s] = zero;
        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 parts[8];

            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                parts[s] = zero;
            for (int j = start; j < stop; j++) {
                MODC_UNROLL
                for (int s = 0; s < vectors; s++)
                    parts[s] += HEAD(modc_f32_load(x0 + j * x0_j + i + s * MODC_LANES));
            }
            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                sums[s] += parts[s];
        }
        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            modc_f32_store(y + i + s * MODC_LANES, TAIL(sums[s]));
    }
    for (; i <= ni - MODC_LANES; i += MODC_LANES) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load(x0 + j * x0_j + i));
            sum += part;
        }
        modc_f32_store(y + i, TAIL(sum));
    }
    if (i < ni) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load_part(x0 + j * x0_j + i, ni - i));
            sum += part;
        }
        modc_f32_store_part(y + i, TAIL(sum), ni - i);
    }
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void sum_columns_of_2_x1_i(
    float *y, const float *x0, const float *x1, const int nj, const int ni, const int vectors,
    modc_f32 (*HEAD)(modc_f32 x0, modc_f32 x1), modc_f32 (*TAIL)(modc_f32 x0))
{
    const modc_f32 zero = modc_f32_set(0.0f);
    int i = 0;

    for (; i <= ni - vectors * MODC_LANES; i += vectors * MODC_LANES) {
        modc_f32 sums[8];

        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            sums[s] = zero;
        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 parts[8];

            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                parts[s] = zero;
            for (int j = start; j < stop; j++) {
                MODC_UNROLL
                for (int s = 0; s < vectors; s++) {
                    const modc_f32 v0 = modc_f32_load(x0 + j * ni + i + s * MODC_LANES);
                    const modc_f32 v1 = modc_f32_load(x1 + i + s * MODC_LANES);

                    parts[s] += HEAD(v0, v1);
                }
            }
            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                sums[s] += parts[s];
        }
        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            modc_f32_store(y + i + s * MODC_LANES, TAIL(sums[s]));
    }
    for (; i <= ni - MODC_LANES; i += MODC_LANES) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load(x0 + j * ni + i), modc_f32_load(x1 + i));
            sum += part;
        }
        modc_f32_store(y + i, TAIL(sum));
    }
    if (i < ni) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++) {
                const modc_f32 v0 = modc_f32_load_part(x0 + j * ni + i, ni - i);
                const modc_f32 v1 = modc_f32_load_part(x1 + i, ni - i);

                part += HEAD(v0, v1);
            }
            sum += part;
        }
        modc_f32_store_part(y + i, TAIL(sum), ni - i);
    }
}

/* y = what HEAD gives for each element, reduced, then x0 / float32(dim(nj)). */
MODC_INLINE void sum_columns_of_2_x1_i_then_div(
    float *y, const float *x0, const float *x1, const int nj, const int ni, const int vectors,
    modc_f32 (*HEAD)(modc_f32 x0, modc_f32 x1))
{
    const modc_f32 zero = modc_f32_set(0.0f);
    int i = 0;

    for (; i <= ni - vectors * MODC_LANES; i += vectors * MODC_LANES) {
        modc_f32 sums[8];

        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            sums[s] = zero;
        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 parts[8];

            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                parts[s] = zero;
            for (int j = start; j < stop; j++) {
                MODC_UNROLL
                for (int s = 0; s < vectors; s++) {
                    const modc_f32 v0 = modc_f32_load(x0 + j * ni + i + s * MODC_LANES);
                    const modc_f32 v1 = modc_f32_load(x1 + i + s * MODC_LANES);

                    parts[s] += HEAD(v0, v1);
                }
            }
            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                sums[s] += parts[s];
        }
        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            modc_f32_store(y + i + s * MODC_LANES, sums[s] / (float)nj);
    }
    for (; i <= ni - MODC_LANES; i += MODC_LANES) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load(x0 + j * ni + i), modc_f32_load(x1 + i));
            sum += part;
        }
        modc_f32_store(y + i, sum / (float)nj);
    }
    if (i < ni) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++) {
                const modc_f32 v0 = modc_f32_load_part(x0 + j * ni + i, ni - i);
                const modc_f32 v1 = modc_f32_load_part(x1 + i, ni - i);

                part += HEAD(v0, v1);
            }
            sum += part;
        }
        modc_f32_store_part(y + i, sum / (float)nj, ni - i);
    }
}

/* y in panels [1][9][16] = x0 */
static MODC_KERNEL void pack_y_0_weight(float *restrict y, const float *restrict x)
{
    modc_f32_pack(y, x, 16, 9, 9, 1);
}

/* y (batch, 8, 8, 16) = conv2d(x (batch, 8, 8, 1), weight (16, 3, 3, 1)) + bias, channels last */
static MODC_KERNEL MODC_ALONE void y_0_conv2d(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    conv_direct(
        y, x, w, bias, batch, 8, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16, 16, 1, 1,
        modc_f32_as_is);
}

/* y (batch, 8, 8, 16) = conv2d(x (batch, 8, 8, 1), weight (16, 3, 3, 1)) + bias, channels last;
 * then relu(x0) */
static MODC_KERNEL MODC_ALONE void y_0_conv2d_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    conv_direct(
        y, x, w, bias, batch, 8, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16, 16, 1, 1, relu_v);
}

/* y (1, 1, 1, 16) = add(x0, x1) */
static MODC_KERNEL void y_1_add(float *y, const float *x0, const float *x1)
{
    map_2(y, x0, x1, 16, add_v);
}

/* y (16) = mul(x0) */
static MODC_KERNEL void y_1_mul(float *y, const float *x0)
{
    map_1(y, x0, 16, mul_v);
}

/* y (1, 1, 1, 16) = where(dim(batch) == 0, x0, x1 + 0.1 * x2) */
static MODC_KERNEL void y_1_mul_fused(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    map_mul_add_where_3(y, x0, x1, x2, 16, batch);
}

/* y (1, 1, 1, 16) = where(dim(batch) == 0, x0, x1 + 0.1 * (x2 * float32(float64(dim(64 * batch)) /
 * float64(dim(64 * batch - 1))))) */
static MODC_KERNEL void y_1_mul_fused_mul_mul_add_where(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    map_mul_mul_add_where_3(y, x0, x1, x2, 16, 64 * batch, 64 * batch - 1, batch);
}

/* y () = x0 + 1 */
static MODC_KERNEL void y_1_num_batches_tracked(int64_t *y, const int64_t *x0)
{
    y[0] = (int64_t)((uint64_t)x0[0] + 1u);
}

/* y (1, 1, 1, 16) = sub_add(x0, x1, x2) */
static MODC_KERNEL void y_1_off(float *y, const float *x0, const float *x1, const float *x2)
{
    map_3(y, x0, x1, x2, 16, sub_add_v);
}

/* y (16) = sum of x0 - x1, then x0 / float32(dim(64 * batch)) */
static MODC_KERNEL void y_1_rest(float *y, const float *x0, const float *x1, int batch)
{
    sum_columns_of_2_x1_i_then_div(y, x0, x1, 64 * batch, 16, 1, sub_v);
}

/* y (1, 1, 1, 16) = add_rsqrt_mul(x0, x1) */
static MODC_KERNEL void y_1_scale(float *y, const float *x0, const float *x1)
{
    map_2(y, x0, x1, 16, add_rsqrt_mul_v);
}

/* y (1, 1, 1, 16) = mul_sub(x0, x1, x2) */
static MODC_KERNEL void y_1_shift(float *y, const float *x0, const float *x1, const float *x2)
{
    map_3(y, x0, x1, x2, 16, mul_sub_v);
}

/* y (1, 1, 1, 16) = sum of x0 */
static MODC_KERNEL void y_1_sum(float *y, const float *x0, int batch)
{
    sum_columns_apart(y, x0, modc_min(batch, 1), 16, 1024, 1, modc_f32_as_is, modc_f32_as_is);
}

/* y (16) = sum of t2 = x0 - x1; t2 * t2 */
static MODC_KERNEL void y_1_sum_mean(float *y, const float *x0, const float *x1, int batch)
{
    sum_columns_of_2_x1_i(y, x0, x1, 64 * batch, 16, 1, sub_mul_v, modc_f32_as_is);
}

/* y (1, 1, 1, 16) = t3 = float32(dim(64 * batch)); (x0 - t3 * x1 * x1) / t3 */
static MODC_KERNEL void y_1_var(float *y, const float *x0, const float *x1, int batch)
{
    map_mul_mul_sub_div_2(y, x0, x1, 16, 64 * batch);
}

/* y (batch, 8, 8, 16) = sub_mul_add_relu(x0, x1, x2, x3) */
static MODC_KERNEL void y_2_forward_fused(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, int batch)
{
    map_4_rows_x0_j_x1_j_x3_j(y, x0, x1, x2, x3, 64 * batch, 16, sub_mul_add_relu_v);
}

/* y (batch, 4, 4, 16) = maximum of windows of 2 x 2 of x (batch, 8, 8, 16), channels last */
static MODC_KERNEL void y_3_max_pool2d(float *restrict y, const float *restrict x, int batch)
{
    pool_max(y, x, batch, 16, 8, 4, 2, 2, 0, 8, 4, 2, 2, 0, 16, 16, modc_f32_as_is);
}

/* y in panels [2][144][16] = x0 */
static MODC_KERNEL void pack_y_4_weight(float *restrict y, const float *restrict x)
{
    modc_f32_pack_pixels(y, x, 32, 16, 9, 144, 9, 1);
}

/* a line of y (4, 32) = windows of 3 x 3 of lines of x (4, 16), times the weight */
static MODC_KERNEL MODC_ALONE void y_4_line(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns)
{
    conv_direct_line_apart(y, ldy, lines, w, bias, columns, 4, 4, 3, 3, 1, 1, 1, 16, 16, 32);
}

/* y (batch, 4, 4, 32) = conv2d(x (batch, 4, 4, 16), weight (32, 3, 3, 16)) + bias, channels last */
static MODC_KERNEL MODC_ALONE void y_4_conv2d(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    conv_direct_apart(
        y, x, w, bias, batch, 4, 4, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 16, 16, 32, 32, 1, 1, y_4_line,
        NULL);
}

/* products of 64 tiles of x (batch, 4, 4, 16), for 32 channels of y (batch, 4, 4, 32) at a time */
static MODC_KERNEL MODC_ALONE void y_4_tiles(
    float *restrict m, float *restrict v, const float *restrict x, const float *restrict w,
    const int first, const int count, const int columns)
{
    conv_winograd4_tiles(m, v, x, w, first, count, columns, 4, 4, 4, 4, 1, 1, 16, 16, 32, 64, 32);
}

/* y (batch, 4, 4, 32) = conv2d(x (batch, 4, 4, 16), weight (32, 3, 3, 16)) + bias, channels last;
 * then relu(x0) */
static MODC_KERNEL MODC_ALONE void y_4_conv2d_winograd_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    float *restrict v, int batch)
{
    conv_winograd4(
        y, x, w, bias, v, batch, 4, 4, 4, 4, 1, 1, 16, 16, 32, 32, 64, 32, 1, y_4_tiles, relu_v);
}

/* y (1, 1, 1, 32) = add(x0, x1) */
static MODC_KERNEL void y_5_add(float *y, const float *x0, const float *x1)
{
    map_2(y, x0, x1, 32, add_v);
}

/* y (32) = mul(x0) */
static MODC_KERNEL void y_5_mul(float *y, const float *x0)
{
    map_1(y, x0, 32, mul_v);
}

/* y (1, 1, 1, 32) = where(dim(batch) == 0, x0, x1 + 0.1 * x2) */
static MODC_KERNEL void y_5_mul_fused(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    map_mul_add_where_3(y, x0, x1, x2, 32, batch);
}

/* y (1, 1, 1, 32) = where(dim(batch) == 0, x0, x1 + 0.1 * (x2 * float32(float64(dim(16 * batch)) /
 * float64(dim(16 * batch - 1))))) */
static MODC_KERNEL void y_5_mul_fused_mul_mul_add_where(
    float *y, const float *x0, const float *x1, const float *x2, int batch)
{
    map_mul_mul_add_where_3(y, x0, x1, x2, 32, 16 * batch, 16 * batch - 1, batch);
}

/* y (1, 1, 1, 32) = sub_add(x0, x1, x2) */
static MODC_KERNEL void y_5_off(float *y, const float *x0, const float *x1, const float *x2)
{
    map_3(y, x0, x1, x2, 32, sub_add_v);
}

/* y (32) = sum of x0 - x1, then x0 / float32(dim(16 * batch)) */
static MODC_KERNEL void y_5_rest(float *y, const float *x0, const float *x1, int batch)
{
    sum_columns_of_2_x1_i_then_div(y, x0, x1, 16 * batch, 32, 2, sub_v);
}

/* y (1, 1, 1, 32) = add_rsqrt_mul(x0, x1) */
static MODC_KERNEL void y_5_scale(float *y, const float *x0, const float *x1)
{
    map_2(y, x0, x1, 32, add_rsqrt_mul_v);
}

/* y (1, 1, 1, 32) = mul_sub(x0, x1, x2) */
static MODC_KERNEL void y_5_shift(float *y, const float *x0, const float *x1, const float *x2)
{
    map_3(y, x0, x1, x2, 32, mul_sub_v);
}

/* y (1, 1, 1, 32) = sum of x0 */
static MODC_KERNEL void y_5_sum(float *y, const float *x0, int batch)
{
    sum_columns_apart(y, x0, modc_min(batch, 1), 32, 512, 2, modc_f32_as_is, modc_f32_as_is);
}

/* y (32) = sum of t2 = x0 - x1; t2 * t2 */
static MODC_KERNEL void y_5_sum_mean(float *y, const float *x0, const float *x1, int batch)
{
    sum_columns_of_2_x1_i(y, x0, x1, 16 * batch, 32, 2, sub_mul_v, modc_f32_as_is);
}

/* y (1, 1, 1, 32) = t3 = float32(dim(16 * batch)); (x0 - t3 * x1 * x1) / t3 */
static MODC_KERNEL void y_5_var(float *y, const float *x0, const float *x1, int batch)
{
    map_mul_mul_sub_div_2(y, x0, x1, 32, 16 * batch);
}

/* y (batch, 4, 4, 32) = sub_mul_add_relu(x0, x1, x2, x3) */
static MODC_KERNEL void y_6_forward_fused(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, int batch)
{
    map_4_rows_x0_j_x1_j_x3_j(y, x0, x1, x2, x3, 16 * batch, 32, sub_mul_add_relu_v);
}

/* y (batch, 32, 2, 2) = x0 */
static MODC_KERNEL void y_7_copy(float *y, const float *x0, int batch)
{
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < 32; j++) {
            for (int k = 0; k < 4; k++)
                y[i * 128 + j * 4 + k] = x0[i * 128 + j + k * 32];
        }
    }
}

/* y (batch, 2, 2, 32) = maximum of windows of 2 x 2 of x (batch, 4, 4, 32), channels last */
static MODC_KERNEL void y_7_max_pool2d(float *restrict y, const float *restrict x, int batch)
{
    pool_max(y, x, batch, 32, 4, 2, 2, 2, 0, 4, 2, 2, 2, 0, 32, 32, modc_f32_as_is);
}

/* y (batch, 128) = random_dropped_mul(x0, x1) */
static MODC_KERNEL void y_9_forward(
    float *y, const float *x0, uint64_t seed, uint64_t counter, uint32_t stream, int batch)
{
    for (int i = 0; i < 128 * batch; i += 4) {
        uint32_t words[4];

        modc_philox(seed, (uint64_t)i / 4, counter ^ ((uint64_t)stream << 32), words);
        for (int j = 0; j < 4 && j < 128 * batch - i; j++) {
            const float uniform = (float)(words[j] >> 8) * 5.96046448e-08f;

            y[i + j] = random_dropped_mul_s(uniform, x0[i + j]);
        }
    }
}

/* y (batch, 10) = x (batch, 128) . weight (10, 128)^T + bias */
static MODC_KERNEL void y_10_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_dot(y, x, w, bias, 1, batch, 10, 128, 128, 10, 128, modc_f32s_as_is);
}

/* y in panels [1][9][16] = x0 * (rsqrt(x2 + 1e-05) * x1) */
static MODC_KERNEL void pack_0_weight_folded(
    float *y, const float *x0, const float *x1, const float *x2)
{
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 16; j++)
            y[i * 16 + j] = x0[i + j * 9] * (modc_f32s_rsqrt(x2[j] + 9.99999975e-06f) * x1[j]);
    }
}

/* y = F of the inputs, for each element. */
MODC_INLINE void map_5(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, const float *x4,
    const int count, modc_f32 (*F)(modc_f32 x0, modc_f32 x1, modc_f32 x2, modc_f32 x3, modc_f32 x4))
{
    int i = 0;

    for (; i <= count - MODC_LANES; i += MODC_LANES) {
        const modc_f32 v0 = modc_f32_load(x0 + i);
        const modc_f32 v1 = modc_f32_load(x1 + i);
        const modc_f32 v2 = modc_f32_load(x2 + i);
        const modc_f32 v3 = modc_f32_load(x3 + i);
        const modc_f32 v4 = modc_f32_load(x4 + i);

        modc_f32_store(y + i, F(v0, v1, v2, v3, v4));
    }
    if (i < count) {
        const modc_f32 v0 = modc_f32_load_part(x0 + i, count - i);
        const modc_f32 v1 = modc_f32_load_part(x1 + i, count - i);
        const modc_f32 v2 = modc_f32_load_part(x2 + i, count - i);
        const modc_f32 v3 = modc_f32_load_part(x3 + i, count - i);
        const modc_f32 v4 = modc_f32_load_part(x4 + i, count - i);

        modc_f32_store_part(y + i, F(v0, v1, v2, v3, v4), count - i);
    }
}

/* y in [16] = add_rsqrt_mul_add(x0, x1, x2, x3, x4) */
static MODC_KERNEL void pack_0_bias_folded(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, const float *x4)
{
    map_5(y, x0, x1, x2, x3, x4, 16, add_rsqrt_mul_add_v);
}

/* y in planes [36] of panels [2][16][16], G g G^T = x0 * (rsqrt(x2 + 1e-05) * x1) */
static MODC_KERNEL void pack_4_weight_folded_winograd(
    float *y, const float *x0, const float *x1, const float *x2)
{
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 2; j++) {
            for (int k = 0; k < 16; k++) {
                for (int l = 0; l < 16; l++) {
                    const float product = modc_f32s_rsqrt(x2[j * 16 + l] + 9.99999975e-06f) *
                                          x1[j * 16 + l];

                    y[i * 512 + j * 256 + k * 16 + l] = x0[i + j * 2304 + k * 9 + l * 144] *
                                                        product;
                }
            }
        }
    }
}

/* y in [32] = add_rsqrt_mul_add(x0, x1, x2, x3, x4) */
static MODC_KERNEL void pack_4_bias_folded(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3, const float *x4)
{
    map_5(y, x0, x1, x2, x3, x4, 32, add_rsqrt_mul_add_v);
}

/* y in [10][128] = x0 */
static MODC_KERNEL void pack_10_weight(float *y, const float *x0)
{
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 4; j++) {
            for (int k = 0; k < 32; k++)
                y[i * 128 + j * 32 + k] = x0[i * 128 + j + k * 4];
        }
    }
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 5488640.0
#define RTOL_OF_CNN 1e-4f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_0 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const y_3 = (void *)(ws + 580352); /* (batch, 4, 4, 16) */ \
    float *const y_4 = (void *)(ws + 449280); /* (batch, 4, 4, 32) */ \
    float *const y_7 = (void *)(ws + 0); /* (batch, 2, 2, 32) */ \

#define TENSORS_OF_FORWARD_TRAIN \
    float *const y_0 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const first_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const rest_of_y_1 = (void *)(ws + 262208); /* (16) */ \
    float *const mean_of_y_1 = (void *)(ws + 262272); /* (1, 1, 1, 16) */ \
    float *const off_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const sum_of_y_1 = (void *)(ws + 262208); /* (16) */ \
    float *const var_of_y_1 = (void *)(ws + 262336); /* (1, 1, 1, 16) */ \
    float *const mul_of_y_1 = (void *)(ws + 262208); /* (16) */ \
    float *const mul_fused_of_y_1 = (void *)(ws + 262400); /* (1, 1, 1, 16) */ \
    float *const mul_of_y_1_2 = (void *)(ws + 262208); /* (16) */ \
    float *const mul_fused_of_y_1_2 = (void *)(ws + 262400); /* (1, 1, 1, 16) */ \
    float *const scale_of_y_1 = (void *)(ws + 262336); /* (1, 1, 1, 16) */ \
    float *const shift_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const y_2 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const y_3 = (void *)(ws + 262144); /* (batch, 4, 4, 16) */ \
    float *const y_4 = (void *)(ws + 0); /* (batch, 4, 4, 32) */ \
    float *const first_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const rest_of_y_5 = (void *)(ws + 131200); /* (32) */ \
    float *const mean_of_y_5 = (void *)(ws + 131328); /* (1, 1, 1, 32) */ \
    float *const off_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const sum_of_y_5 = (void *)(ws + 131200); /* (32) */ \
    float *const var_of_y_5 = (void *)(ws + 131456); /* (1, 1, 1, 32) */ \
    float *const mul_of_y_5 = (void *)(ws + 131200); /* (32) */ \
    float *const mul_fused_of_y_5 = (void *)(ws + 131584); /* (1, 1, 1, 32) */ \
    float *const mul_of_y_5_2 = (void *)(ws + 131200); /* (32) */ \
    float *const mul_fused_of_y_5_2 = (void *)(ws + 131584); /* (1, 1, 1, 32) */ \
    float *const scale_of_y_5 = (void *)(ws + 131456); /* (1, 1, 1, 32) */ \
    float *const shift_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const y_6 = (void *)(ws + 0); /* (batch, 4, 4, 32) */ \
    float *const max_pool2d_of_y_7 = (void *)(ws + 131072); /* (batch, 2, 2, 32) */ \
    float *const copy_of_y_7 = (void *)(ws + 0); /* (batch, 32, 2, 2) */ \
    float *const y_9 = (void *)(ws + 32768); /* (batch, 128) */ \

/* What a context works with. */
#define CONTEXT_OF_CNN \
    const struct cnn_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct cnn_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct cnn_packed {
    MODC_ALIGNED float _0_weight_folded[144]; /* panels [1][9][16] */
    MODC_ALIGNED float _0_bias_folded[16]; /* [16] */
    /* planes [36] of panels [2][16][16], G g G^T */
    MODC_ALIGNED float _4_weight_folded_winograd[18432];
    MODC_ALIGNED float _4_bias_folded[32]; /* [32] */
    MODC_ALIGNED float _10_weight[1280]; /* [10][128] */
};

typedef char cnn_packed_fits[MODC_PACKED_FITS(struct cnn_packed, CNN_PACKED_BYTES)];

static enum modc_status cnn_pack_all(struct modc_params *params)
{
    const struct cnn_params *p = (const void *)params;
    struct cnn_packed *k = params->packed;

    pack_0_weight_folded(k->_0_weight_folded, p->_0.weight, p->_1.weight, p->_1.running_var);
    pack_0_bias_folded(
        k->_0_bias_folded, p->_0.bias, p->_1.weight, p->_1.running_var, p->_1.bias,
        p->_1.running_mean);
    pack_4_weight_folded_winograd(
        k->_4_weight_folded_winograd + 13824, p->_4.weight, p->_5.weight, p->_5.running_var);
    modc_winograd_weights(k->_4_weight_folded_winograd, 6, 512);
    pack_4_bias_folded(
        k->_4_bias_folded, p->_4.bias, p->_5.weight, p->_5.running_var, p->_5.bias,
        p->_5.running_mean);
    pack_10_weight(k->_10_weight, p->_10.weight);
    return MODC_OK;
}

static void cnn_forward_eval(struct cnn *net, int batch, const float *image, float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Conv2d(1, 16, 3, padding=1)
     * 1: BatchNorm2d(16)
     * 2: ReLU() */
    y_0_conv2d_fused(y_0, image, k->_0_weight_folded, k->_0_bias_folded, batch);

    /* 3: MaxPool2d(2) */
    y_3_max_pool2d(y_3, y_0, batch);

    /* 4: Conv2d(16, 32, 3, padding=1)
     * 5: BatchNorm2d(32)
     * 6: ReLU() */
    y_4_conv2d_winograd_fused(
        y_4, y_3, k->_4_weight_folded_winograd, k->_4_bias_folded, (void *)(ws + 0), batch);

    /* 7: MaxPool2d(2)
     * 8: Flatten()
     * 9: Dropout(0.25) */
    y_7_max_pool2d(y_7, y_4, batch);

    /* 10: Linear(128, 10) */
    y_10_linear(output, y_7, k->_10_weight, p->_10.bias, batch);
}

static void cnn_forward_train(struct cnn *net, int batch, const float *image, float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_TRAIN;

    /* 0 */
    pack_y_0_weight((void *)(ws + 262144), p->_0.weight);
    y_0_conv2d(y_0, image, (void *)(ws + 262144), p->_0.bias, batch);

    /* 1 */
    y_1_num_batches_tracked(p->_1.num_batches_tracked, p->_1.num_batches_tracked);
    y_1_sum(first_of_y_1, y_0, batch);
    y_1_rest(rest_of_y_1, y_0, first_of_y_1, batch);
    y_1_add(mean_of_y_1, first_of_y_1, rest_of_y_1);
    y_1_off(off_of_y_1, rest_of_y_1, first_of_y_1, mean_of_y_1);
    y_1_sum_mean(sum_of_y_1, y_0, mean_of_y_1, batch);
    y_1_var(var_of_y_1, sum_of_y_1, off_of_y_1, batch);
    y_1_mul(mul_of_y_1, p->_1.running_mean);
    y_1_mul_fused(mul_fused_of_y_1, p->_1.running_mean, mul_of_y_1, mean_of_y_1, batch);
    memcpy(p->_1.running_mean, mul_fused_of_y_1, sizeof(float) * 16);
    y_1_mul(mul_of_y_1_2, p->_1.running_var);
    y_1_mul_fused_mul_mul_add_where(
        mul_fused_of_y_1_2, p->_1.running_var, mul_of_y_1_2, var_of_y_1, batch);
    memcpy(p->_1.running_var, mul_fused_of_y_1_2, sizeof(float) * 16);
    y_1_scale(scale_of_y_1, p->_1.weight, var_of_y_1);
    y_1_shift(shift_of_y_1, p->_1.bias, off_of_y_1, scale_of_y_1);

    /* 2 */
    y_2_forward_fused(y_2, shift_of_y_1, scale_of_y_1, y_0, mean_of_y_1, batch);

    /* 3 */
    y_3_max_pool2d(y_3, y_2, batch);

    /* 4 */
    pack_y_4_weight((void *)(ws + 131072), p->_4.weight);
    y_4_conv2d(y_4, y_3, (void *)(ws + 131072), p->_4.bias, batch);

    /* 5 */
    y_1_num_batches_tracked(p->_5.num_batches_tracked, p->_5.num_batches_tracked);
    y_5_sum(first_of_y_5, y_4, batch);
    y_5_rest(rest_of_y_5, y_4, first_of_y_5, batch);
    y_5_add(mean_of_y_5, first_of_y_5, rest_of_y_5);
    y_5_off(off_of_y_5, rest_of_y_5, first_of_y_5, mean_of_y_5);
    y_5_sum_mean(sum_of_y_5, y_4, mean_of_y_5, batch);
    y_5_var(var_of_y_5, sum_of_y_5, off_of_y_5, batch);
    y_5_mul(mul_of_y_5, p->_5.running_mean);
    y_5_mul_fused(mul_fused_of_y_5, p->_5.running_mean, mul_of_y_5, mean_of_y_5, batch);
    memcpy(p->_5.running_mean, mul_fused_of_y_5, sizeof(float) * 32);
    y_5_mul(mul_of_y_5_2, p->_5.running_var);
    y_5_mul_fused_mul_mul_add_where(
        mul_fused_of_y_5_2, p->_5.running_var, mul_of_y_5_2, var_of_y_5, batch);
    memcpy(p->_5.running_var, mul_fused_of_y_5_2, sizeof(float) * 32);
    y_5_scale(scale_of_y_5, p->_5.weight, var_of_y_5);
    y_5_shift(shift_of_y_5, p->_5.bias, off_of_y_5, scale_of_y_5);

    /* 6 */
    y_6_forward_fused(y_6, shift_of_y_5, scale_of_y_5, y_4, mean_of_y_5, batch);

    /* 7 */
    y_7_max_pool2d(max_pool2d_of_y_7, y_6, batch);

    /* 8 */
    y_7_copy(copy_of_y_7, max_pool2d_of_y_7, batch);

    /* 9 */
    y_9_forward(y_9, copy_of_y_7, net->base.seed, net->base.counter, 10u, batch);

    /* 10 */
    y_10_linear(output, y_9, p->_10.weight, p->_10.bias, batch);
}

enum modc_status cnn_forward(struct cnn *net, int batch, const float *image, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && image && output, POINTER);
    MODC_NEED(((uintptr_t)image | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= CNN_MAX_BATCH, SIZE);
    if (net->base.training) {
        if (net->base.params && net->base.params->read_only)
            return MODC_READ_ONLY;
        MODC_TRY(modc_check(&net->base, CNN_TRAIN_WORKSPACE_BYTES, true, false));
        cnn_forward_train(net, batch, image, output);
        net->base.params->buffer_version++;
        net->base.counter++;
    } else {
        MODC_TRY(modc_check(&net->base, CNN_WORKSPACE_BYTES, true, true));
        cnn_forward_eval(net, batch, image, output);
    }
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", CNN_MAX_BATCH}};

MODC_CALL(cnn, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"image", MODC_FLOAT32, 4, {CNN_MAX_BATCH, 1, 8, 8}, {0, -1, -1, -1}, false},
    {"output", MODC_FLOAT32, 2, {CNN_MAX_BATCH, 10}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(CNN), CNN_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 11, false},
    {"0", "0", "Conv2d", "1, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", 0, 0, false},
    {"1", "1", "BatchNorm2d",
     "16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True", 0, 0, false},
    {"2", "2", "ReLU", "", 0, 0, false},
    {"3", "3", "MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", 0, 0,
     false},
    {"4", "4", "Conv2d", "16, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", 0, 0, false},
    {"5", "5", "BatchNorm2d",
     "32, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True", 0, 0, false},
    {"6", "6", "ReLU", "", 0, 0, false},
    {"7", "7", "MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", 0, 0,
     false},
    {"8", "8", "Flatten", "start_dim=1, end_dim=-1", 0, 0, false},
    {"9", "9", "Dropout", "p=0.25, inplace=False", 0, 0, false},
    {"10", "10", "Linear", "in_features=128, out_features=10, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("0.weight", CNN_0, FLOAT32, UNIFORM(0.33333333), 4, {16, 1, 3, 3}),
    MODC_PARAMETER("0.bias", CNN_0, FLOAT32, UNIFORM(0.33333333), 1, {16}),
    MODC_PARAMETER("1.weight", CNN_1, FLOAT32, CONSTANT(1.0), 1, {16}),
    MODC_PARAMETER("1.bias", CNN_1, FLOAT32, CONSTANT(0.0), 1, {16}),
    MODC_BUFFER("1.running_mean", CNN_1, FLOAT32, CONSTANT(0.0), 1, {16}),
    MODC_BUFFER("1.running_var", CNN_1, FLOAT32, CONSTANT(1.0), 1, {16}),
    MODC_OPTIONAL("1.num_batches_tracked", CNN_1, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("4.weight", CNN_4, FLOAT32, UNIFORM(0.083333333), 4, {32, 16, 3, 3}),
    MODC_PARAMETER("4.bias", CNN_4, FLOAT32, UNIFORM(0.083333333), 1, {32}),
    MODC_PARAMETER("5.weight", CNN_5, FLOAT32, CONSTANT(1.0), 1, {32}),
    MODC_PARAMETER("5.bias", CNN_5, FLOAT32, CONSTANT(0.0), 1, {32}),
    MODC_BUFFER("5.running_mean", CNN_5, FLOAT32, CONSTANT(0.0), 1, {32}),
    MODC_BUFFER("5.running_var", CNN_5, FLOAT32, CONSTANT(1.0), 1, {32}),
    MODC_OPTIONAL("5.num_batches_tracked", CNN_5, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("10.weight", CNN_10, FLOAT32, UNIFORM(0.088388348), 2, {10, 128}),
    MODC_PARAMETER("10.bias", CNN_10, FLOAT32, UNIFORM(0.088388348), 1, {10}),
};

const struct modc_model cnn_model = {
    .abi = MODC_ABI, .name = "cnn", .schema = CNN_SCHEMA,
    .rtol = RTOL_OF_CNN,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct cnn_params),
    .context_bytes = sizeof(struct cnn),
    .param_block = CNN_PARAM_BYTES,
    .packed_block = CNN_PACKED_BYTES, .pack = cnn_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = CNN_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
