/* firmware.c - written by modc from firmware.yaml; change the spec, not this file. It is yours,
 * under any terms. */
#include "firmware.h"

#include <string.h>

#include "modc_simd.h"

#if MODC_ALIGN > 8
#error "firmware lays its blocks out at multiples of 8; MODC_ALIGN may not be more"
#endif

MODC_KERNELS_BEGIN

/* 0.5 * x0 * (1.0 + erf(x0 * 0.70710677)) */
MODC_INLINE modc_f32 gelu_v(modc_f32 x0)
{
    return 0.5f * x0 * (1.0f + modc_f32_erf(x0 * 0.707106769f));
}

/* t4 = x0 * x2 + x1; where(t4 <= 0.0, 0.0, t4) */
MODC_INLINE modc_f32 mul_add_relu_v(modc_f32 x0, modc_f32 x1, modc_f32 x2)
{
    const modc_f32 sum = x0 * x2 + x1;

    return modc_f32_select(modc_f32_le(sum, modc_f32_set(0.0f)), modc_f32_set(0.0f), sum);
}

/* One vector of `lanes` channels of the pixels pixel ... pixel + rows - 1 of a line, y0 its first
 * line of x. `left` and `right`: the tile begins and ends the line; `clip`: a single pixel
 * anywhere. rows and these are constants. */
MODC_INLINE void conv_depthwise_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int left, const int right, const int clip, const int lanes,
    const int line, const int y0, const int pixel, const int channel, const int N, const int H,
    const int W, const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int LDY, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int x0 = pixel * SW - PW;
    modc_f32 sum[MODC_DEPTHWISE_ROWS];

    MODC_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = !BIAS           ? modc_f32_set(0)
                 : lanes < MODC_LANES ? modc_f32_load_part(bias + channel, lanes)
                                   : modc_f32_load(bias + channel);
    for (int kh = 0; kh < KH; kh++) {
        const int h = y0 + kh * DH;
        const float *const xh = x + (h * W + x0) * LDX + channel;
        const float *const wh = w + kh * (KW * C) + channel;

        if (h < 0 || h >= H)
            continue;
        MODC_UNROLL
        for (int kw = 0; kw < KW; kw++) {
            const float *const xw = xh + kw * (DW * LDX), *const ww = wh + kw * C;
            const int from = left ? -modc_floordiv(kw * DW - PW, SW) : 0;
            const int to = right ? modc_floordiv(W - 1 + PW - kw * DW, SW) + 1 - (OW - rows) : rows;

            if (!clip || (x0 + kw * DW >= 0 && x0 + kw * DW < W)) {
                const modc_f32 b = lanes < MODC_LANES ? modc_f32_load_part(ww, lanes)
                                                      : modc_f32_load(ww);

                MODC_UNROLL
                for (int i = from < 0 ? 0 : from; i < (to > rows ? rows : to); i++) {
                    const float *const a = xw + i * (SW * LDX);

                    sum[i] += (lanes < MODC_LANES ? modc_f32_load_part(a, lanes)
                                                  : modc_f32_load(a)) * b;
                }
            }
        }
    }

    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
        const int r = line * OW + pixel + i;
        float *const out = y + r * LDY + channel;

        if (lanes == MODC_LANES) {
            modc_f32_store(out, TAIL_V(sum[i]));
            continue;
        }
        modc_f32_store_part(out, TAIL_V(sum[i]), lanes);
    }
}

/* Channels channel ... end - 1 of such a tile. */
MODC_INLINE void conv_depthwise_pixels(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int left, const int right, const int clip, const int channel,
    const int end, const int line, const int y0, const int pixel, const int N, const int H,
    const int W, const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int LDY, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{
    int c = channel;

    for (; c + MODC_LANES <= end; c += MODC_LANES)
        conv_depthwise_tile(
            y, x, w, bias, rows, left, right, clip, MODC_LANES, line, y0, pixel, c, N, H, W, OH, OW,
            KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
    if (C % MODC_LANES > 0 && c < end)
        conv_depthwise_tile(
            y, x, w, bias, rows, left, right, clip, C % MODC_LANES, line, y0, pixel, c, N, H, W, OH,
            OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
}

/* Channels from ... to - 1 of one line of y. */
MODC_INLINE void conv_depthwise_line(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int from, const int to, const int line, const int y0, const int N, const int H,
    const int W, const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int LDY, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int tiles = (OW + MODC_DEPTHWISE_ROWS - 1) / MODC_DEPTHWISE_ROWS, rows = OW / tiles,
            tall = OW % tiles;
    const int first = rows + (tall > 0), reach = (KW - 1) * DW - PW;
    const bool left = PW > 0, right = (OW - 1) * SW + reach >= W;
    const int end = tiles - right;

    if (tiles > 1 && (first * SW < PW || (OW - rows - 1) * SW + reach >= W)) {
        for (int p = 0; p < OW; p++) /* the padding reaches beyond one tile */
            conv_depthwise_pixels(
                y, x, w, bias, 1, 0, 0, 1, from, to, line, y0, p, N, H, W, OH, OW, KH, KW, SH, SW,
                PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
        return;
    }
    if (left)
        conv_depthwise_pixels(y, x, w, bias, first, 1, tiles == 1 && right, 0, from, to, line, y0,
                              0, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS,
                              TAIL_V);
    for (int t = left; t < tall && t < end; t++)
        conv_depthwise_pixels(
            y, x, w, bias, rows + 1, 0, 0, 0, from, to, line, y0, t * (rows + 1), N, H, W, OH, OW,
            KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
    for (int t = tall > left ? tall : left; t < end; t++)
        conv_depthwise_pixels(
            y, x, w, bias, rows, 0, 0, 0, from, to, line, y0, t * rows + tall, N, H, W, OH, OW, KH,
            KW, SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
    if (right && (tiles > 1 || !left))
        conv_depthwise_pixels(
            y, x, w, bias, rows, 0, 1, 0, from, to, line, y0, OW - rows, N, H, W, OH, OW, KH, KW,
            SH, SW, PH, PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
}

/* By line, tile of pixels and vector of channels, all taps at once. */
MODC_INLINE void conv_depthwise(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int N, const int H, const int W, const int OH, const int OW, const int KH, const int KW,
    const int SH, const int SW, const int PH, const int PW, const int DH, const int DW, const int C,
    const int LDX, const int LDY, const int BIAS, modc_f32 (*TAIL_V)(modc_f32 x))
{

    for (int line = 0; line < N * OH; line++) {
        const int n = line / OH, y0 = line % OH * SH - PH;
        conv_depthwise_line(
            y, x + n * (H * W * LDX), w, bias, 0, C, line, y0, N, H, W, OH, OW, KH, KW, SH, SW, PH,
            PW, DH, DW, C, LDX, LDY, BIAS, TAIL_V);
    }
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

/* `channels` values of x for pixels from ... to - 1 of the tile, times their weights. */
MODC_INLINE void conv_direct_reads_2_line_taps(
    modc_f32 *sum, const float *restrict x, const float *restrict w, const int channels,
    const int from, const int to, const int vectors, const int row, const int channel,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
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
MODC_INLINE void conv_direct_reads_2_line_tile(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int rows, const int columns, const int pixel, const int clip,
    const int left, const int right, const int row, const int channel, const float *restrict e0,
    const float *restrict e1, const int N, const int H, const int W, const int OH, const int OW,
    const int KH, const int KW, const int SH, const int SW, const int PH, const int PW,
    const int DH, const int DW, const int C, const int LDX, const int OC, const int LDY,
    const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
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
                    conv_direct_reads_2_line_taps(
                        sum, xh + (x0 + kw * DW) * LDX, wh + kw * (C * 16), C, 0, rows, vectors,
                        row, channel, e0, e1, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C,
                        LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
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
                    conv_direct_reads_2_line_taps(sum, xh + (x0 + kw * DW) * LDX,
                                                  wh + kw * (C * 16),
                                                  kw == whole && whole < end ? (end - whole) * C
                            : C, modc_max(from, 0), modc_min(to, rows), vectors, row, channel, e0,
                            e1, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY,
                            GROUPS, BIAS, LDE0, LDE1, TAIL_V);
            }
            continue;
        }
        conv_direct_reads_2_line_taps(
            sum, xh + x0 * LDX, wh, KW * C, 0, rows, vectors, row, channel, e0, e1, N, H, W, OH, OW,
            KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
    }

    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int rest = columns - i % vectors * MODC_LANES;
        float *const out = y + (pixel + i / vectors) * ldy + i % vectors * MODC_LANES;

        if (rest >= MODC_LANES) {
            modc_f32_store(
                out,
                TAIL_V(sum[i],
                       modc_f32_load(e0 + (row + pixel + i / vectors) * LDE0 +
                                     (channel + i % vectors * MODC_LANES)),
                       modc_f32_load(e1 + (row + pixel + i / vectors) * LDE1 +
                                     (channel + i % vectors * MODC_LANES))));
            continue;
        }
        modc_f32_store_part(
            out,
            TAIL_V(sum[i],
                   modc_f32_load_part(e0 + (row + pixel + i / vectors) * LDE0 +
                                      (channel + i % vectors * MODC_LANES), rest),
                   modc_f32_load_part(e1 + (row + pixel + i / vectors) * LDE1 +
                                      (channel + i % vectors * MODC_LANES), rest)), rest);
    }
}

/* The line in tiles. `columns` is a constant. */
MODC_INLINE void conv_direct_reads_2_line_tiles(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int row, const int channel,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    /* the taller tiles first: 32 pixels are 11 + 11 + 10 */
    const int tiles = MODC_LINE_TILES(OW), rows = OW / tiles, tall = OW % tiles;
    const int first = MODC_LINE_TALLEST(OW), reach = (KW - 1) * DW - PW;
    const bool left = PW > 0, right = (OW - 1) * SW + reach >= W;
    const int end = tiles - right;

    if (tiles > 1 && (first * SW < PW || (OW - rows - 1) * SW + reach >= W)) {
        for (int p = 0; p < OW; p++) /* the padding reaches beyond one tile */
            conv_direct_reads_2_line_tile(
                y, ldy, lines, w, bias, 1, columns, p, 1, 0, 0, row, channel, e0, e1, N, H, W, OH,
                OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1,
                TAIL_V);
        return;
    }
    if (left)
        conv_direct_reads_2_line_tile(y, ldy, lines, w, bias, first, columns, 0, 0, 1,
                                      tiles == 1 && right, row, channel, e0, e1, N, H, W, OH, OW,
                                      KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS,
                                      LDE0, LDE1, TAIL_V);
    for (int t = left; t < tall && t < end; t++)
        conv_direct_reads_2_line_tile(
            y, ldy, lines, w, bias, rows + 1, columns, t * (rows + 1), 0, 0, 0, row, channel, e0,
            e1, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS,
            LDE0, LDE1, TAIL_V);
    for (int t = tall > left ? tall : left; t < end; t++)
        conv_direct_reads_2_line_tile(
            y, ldy, lines, w, bias, rows, columns, t * rows + tall, 0, 0, 0, row, channel, e0, e1,
            N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0,
            LDE1, TAIL_V);
    if (right && (tiles > 1 || !left))
        conv_direct_reads_2_line_tile(
            y, ldy, lines, w, bias, rows, columns, OW - rows, 0, 0, 1, row, channel, e0, e1, N, H,
            W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1,
            TAIL_V);
}

/* A line of y, `columns` of its channels. */
MODC_INLINE void conv_direct_reads_2_line(
    float *restrict y, const int ldy, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int row, const int channel,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    const int band = MODC_TILE_VECTORS(MODC_LINE_TALLEST(OW)) * MODC_LANES;
    const int rest = OC % band;

    if (rest == 0 || (rest < OC && columns > rest))
        conv_direct_reads_2_line_tiles(
            y, ldy, lines, w, bias, band, row, channel, e0, e1, N, H, W, OH, OW, KH, KW, SH, SW, PH,
            PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
    else
        conv_direct_reads_2_line_tiles(
            y, ldy, lines, w, bias, rest, row, channel, e0, e1, N, H, W, OH, OW, KH, KW, SH, SW, PH,
            PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
}

/* The lines of x under the windows of one line of y, from line y0 on; NULL where they are
 * outside. */
MODC_INLINE void conv_direct_reads_2_under(
    const float **lines, const float *x, const int y0, const float *restrict e0,
    const float *restrict e1, const int N, const int H, const int W, const int OH, const int OW,
    const int KH, const int KW, const int SH, const int SW, const int PH, const int PW,
    const int DH, const int DW, const int C, const int LDX, const int OC, const int LDY,
    const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    for (int kh = 0; kh < KH; kh++) {
        const int h = y0 + kh * DH;

        lines[kh] = h >= 0 && h < H ? x + h * (W * LDX) : NULL;
    }
}

/* Line `line` of y, counted over all images: `columns` of its channels from `channel` on, where w
 * and bias begin. */
MODC_INLINE void conv_direct_reads_2_band(
    float *restrict y, const float *const *lines, const float *restrict w,
    const float *restrict bias, const int columns, const int line, const int channel,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    const int ldy = LDY, row = line * OW;
    float *const out = y + row * ldy + channel;

    conv_direct_reads_2_line(
        out, ldy, lines, w, bias, columns, row, channel, e0, e1, N, H, W, OH, OW, KH, KW, SH, SW,
        PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
}

/* Images first ... last - 1 of y: `columns` channels from c of group g on. */
MODC_INLINE void conv_direct_reads_2_images(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int columns, const int first, const int last, const int g, const int c,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
{
    const int panel = KH * KW * C * 16, panels = (OC + 16 - 1) / 16;
    const float *const wc = w + (g * panels + c / 16) * panel + c % 16;
    const float *const bc = BIAS ? bias + g * (panels * 16) + c : NULL;
    const float *lines[8];

    for (int n = first; n < last; n++) {
        const float *const xn = x + n * (H * W * LDX) + g * C;

        for (int oh = 0; oh < OH; oh++) {
            conv_direct_reads_2_under(
                lines, xn, oh * SH - PH, e0, e1, N, H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW, C,
                LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
            conv_direct_reads_2_band(
                y, lines, wc, bc, columns, n * OH + oh, g * OC + c, e0, e1, N, H, W, OH, OW, KH, KW,
                SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
        }
    }
}

/* In register tiles of pixels of a line times panels of w; taps that lie outside are left out. */
MODC_INLINE void conv_direct_reads_2(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, const float *restrict e1, const int N, const int H, const int W,
    const int OH, const int OW, const int KH, const int KW, const int SH, const int SW,
    const int PH, const int PW, const int DH, const int DW, const int C, const int LDX,
    const int OC, const int LDY, const int GROUPS, const int BIAS, const int LDE0, const int LDE1,
    modc_f32 (*TAIL_V)(modc_f32 x, modc_f32 e0, modc_f32 e1))
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
                conv_direct_reads_2_images(
                    y, x, w, bias, band, first, first + step, g, c, e0, e1, N, H, W, OH, OW, KH, KW,
                    SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1, TAIL_V);
            if (OC > full)
                conv_direct_reads_2_images(
                    y, x, w, bias, OC - full, first, first + step, g, full, e0, e1, N, H, W, OH, OW,
                    KH, KW, SH, SW, PH, PW, DH, DW, C, LDX, OC, LDY, GROUPS, BIAS, LDE0, LDE1,
                    TAIL_V);
        }
    }
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

/* By line and pixel, vectors of channels innermost. */
MODC_INLINE void pool_max_with_rest(
    float *restrict y, const float *restrict x, const int N, const int C, const int H, const int OH,
    const int KH, const int SH, const int PH, const int W, const int OW, const int KW, const int SW,
    const int PW, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int line = 0; line < N * OH; line++) {
        const int top = line % OH * SH - PH;

        for (int ow = 0; ow < OW; ow++) {
            const int west = ow * SW - PW, r = line * OW + ow;
            const int corner = (line / OH * H + top) * W + west; /* may lie outside */
            const int full = C / MODC_LANES * MODC_LANES, rest = C - full;

            for (int c = 0; c < full; c += MODC_LANES) {
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
            if (rest > 0) {
                modc_f32 value = modc_f32_set(-modc_f32_inf());

                for (int kh = 0; kh < KH; kh++) {
                    for (int kw = 0; kw < KW; kw++) {
                        const int tap = corner + kh * W + kw;
                        const modc_f32 a = modc_f32_load_part(x + tap * LDX + full, rest);

                        value = modc_f32_max(value, a);
                    }
                }
                modc_f32_store_part(y + r * LDY + full, TAIL_V(value), rest);
            }
        }
    }
}

/* By line and pixel, vectors of channels innermost. */
MODC_INLINE void pool_mean_with_rest(
    float *restrict y, const float *restrict x, const int N, const int C, const int H, const int OH,
    const int KH, const int SH, const int PH, const int W, const int OW, const int KW, const int SW,
    const int PW, const int AREA, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x))
{
    for (int line = 0; line < N * OH; line++) {
        const int top = line % OH * SH - PH;

        for (int ow = 0; ow < OW; ow++) {
            const int west = ow * SW - PW, r = line * OW + ow;
            const int corner = (line / OH * H + top) * W + west; /* may lie outside */
            const float scale = (float)1 / (float)AREA;
            const int full = C / MODC_LANES * MODC_LANES, rest = C - full;

            for (int c = 0; c < full; c += MODC_LANES) {
                modc_f32 value = modc_f32_set(0);

                for (int kh = 0; kh < KH; kh++) {
                    for (int kw = 0; kw < KW; kw++) {
                        const int tap = corner + kh * W + kw;
                        const modc_f32 a = modc_f32_load(x + tap * LDX + c);

                        value = value + a;
                    }
                }
                value *= scale;
                modc_f32_store(y + r * LDY + c, TAIL_V(value));
            }
            if (rest > 0) {
                modc_f32 value = modc_f32_set(0);

                for (int kh = 0; kh < KH; kh++) {
                    for (int kw = 0; kw < KW; kw++) {
                        const int tap = corner + kh * W + kw;
                        const modc_f32 a = modc_f32_load_part(x + tap * LDX + full, rest);

                        value = value + a;
                    }
                }
                value *= scale;
                modc_f32_store_part(y + r * LDY + full, TAIL_V(value), rest);
            }
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

/* y (1, 8, 8, 6) = conv2d(x (1, 8, 8, 1), weight (6, 3, 3, 1)) + bias, channels last */
static MODC_KERNEL MODC_ALONE void y_0_conv2d(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    conv_direct(
        y, x, w, bias, 1, 8, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 1, 1, modc_f32_as_is);
}

/* y (1, 8, 8, 6) = conv2d(x (1, 8, 8, 1), weight (6, 3, 3, 1)) + bias, channels last;
 * then mul_add_relu(x0, x1, x2) */
static MODC_KERNEL MODC_ALONE void y_0_conv2d_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const float *restrict e0, const float *restrict e1)
{
    conv_direct_reads_2(
        y, x, w, bias, e0, e1, 1, 8, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 1, 1, 0, 0,
        mul_add_relu_v);
}

/* y (6) = x0 + x1 */
static MODC_KERNEL void y_1_add(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 6; i++)
        y[i] = x0[i] + x1[i];
}

/* y () = x0 + 1 */
static MODC_KERNEL void y_1_num_batches_tracked(int64_t *y, const int64_t *x0)
{
    y[0] = (int64_t)((uint64_t)x0[0] + 1u);
}

/* y (6) = x1 - x2 + x0 */
static MODC_KERNEL void y_1_off(float *y, const float *x0, const float *x1, const float *x2)
{
    for (int i = 0; i < 6; i++)
        y[i] = x1[i] - x2[i] + x0[i];
}

/* y (6) = sum of x0 - x1, then x0 * 0.015625 */
static MODC_KERNEL void y_1_rest(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 6; i++) {
        float sum = 0.0f;

        for (int j = 0; j < 64; j++)
            sum += x0[j * 6 + i] - x1[i];
        y[i] = sum * 0.015625f;
    }
}

/* y (6) = 0.9 * x0 + 0.1 * x1 */
static MODC_KERNEL void y_1_running_mean(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 6; i++)
        y[i] = 0.899999976f * x0[i] + 0.100000001f * x1[i];
}

/* y (6) = 0.9 * x0 + 0.1 * (x1 * 1.0158731) */
static MODC_KERNEL void y_1_running_var(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 6; i++)
        y[i] = 0.899999976f * x0[i] + 0.100000001f * (x1[i] * 1.01587307f);
}

/* y (6) = rsqrt(x1 + 1e-05) * x0 */
static MODC_KERNEL void y_1_scale(float *y, const float *x0, const float *x1)
{
    for (int i = 0; i < 6; i++)
        y[i] = modc_f32s_rsqrt(x1[i] + 9.99999975e-06f) * x0[i];
}

/* y (6) = x0 - x1 * x2 */
static MODC_KERNEL void y_1_shift(float *y, const float *x0, const float *x1, const float *x2)
{
    for (int i = 0; i < 6; i++)
        y[i] = x0[i] - x1[i] * x2[i];
}

/* y (6) = sum of t2 = x0 - x1; t2 * t2, then (x0 - 64.0 * x1 * x1) * 0.015625 */
static MODC_KERNEL void y_1_var(float *y, const float *x0, const float *x1, const float *x2)
{
    for (int i = 0; i < 6; i++) {
        float sum = 0.0f;

        for (int j = 0; j < 64; j++) {
            const float difference = x0[j * 6 + i] - x1[i];

            sum += difference * difference;
        }

        const float v1 = x2[i];

        y[i] = (sum - 64.0f * v1 * v1) * 0.015625f;
    }
}

/* y (1, 8, 8, 6) = t6 = (x2 - x3) * x1 + x0; where(t6 <= 0.0, 0.0, t6) */
static MODC_KERNEL void y_2_forward_fused(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3)
{
    for (int i = 0; i < 64; i++) {
        for (int j = 0; j < 6; j++) {
            const float sum = (x2[i * 6 + j] - x3[j]) * x1[j] + x0[j];

            y[i * 6 + j] = sum <= 0.0f ? 0.0f : sum;
        }
    }
}

/* y (1, 4, 4, 6) = maximum of windows of 2 x 2 of x (1, 8, 8, 6), channels last */
static MODC_KERNEL void y_3_max_pool2d(float *restrict y, const float *restrict x)
{
    pool_max_with_rest(y, x, 1, 6, 8, 4, 2, 2, 0, 8, 4, 2, 2, 0, 6, 6, modc_f32_as_is);
}

/* y (1, 4, 4, 6) = conv2d(x (1, 4, 4, 6), weight (6, 3, 3, 1)) + bias, channels last;
 * then gelu(x0) */
static MODC_KERNEL void y_4_conv2d_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    conv_depthwise(y, x, w, bias, 1, 4, 4, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 6, 6, 6, 1, gelu_v);
}

/* y (1, 2, 2, 6) = mean of windows of 2 x 2 of x (1, 4, 4, 6), channels last */
static MODC_KERNEL void y_6_avg_pool2d(float *restrict y, const float *restrict x)
{
    pool_mean_with_rest(y, x, 1, 6, 4, 2, 2, 2, 0, 4, 2, 2, 2, 0, 4, 6, 6, modc_f32_as_is);
}

/* y (1, 6, 2, 2) = x0 */
static MODC_KERNEL void y_6_copy(float *y, const float *x0)
{
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 4; j++)
            y[i * 4 + j] = x0[i + j * 6];
    }
}

/* y (1, 24) = (x - mean) / sqrt(variance + 9.99999975e-06f) * weight + bias by rows of the last
 * dimension */
static MODC_KERNEL void y_8_layer_norm(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    layer_norm_bias_weight(y, x, w, bias, 1, 24, 24, 24, modc_f32s_as_is, modc_f32_as_is);
}

/* y (1, 16) = x (1, 24) . weight (16, 24)^T + bias;
 * then tanh(x0) */
static MODC_KERNEL void y_9_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    gemv_panel_cached(y, x, w, bias, 1, 16, 24, modc_f32_tanh);
}

/* y (1, 3) = x (1, 16) . weight (3, 16)^T + bias */
static MODC_KERNEL void y_11_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias)
{
    gemm_dot(y, x, w, bias, 1, 1, 3, 16, 16, 3, 16, modc_f32s_as_is);
}

/* y (1, 3) = softmax(x) along the last dimension */
static MODC_KERNEL void y_12_softmax(float *restrict y, const float *restrict x)
{
    softmax(y, x, 1, 3, 3, 3, modc_f32s_as_is, modc_f32_as_is);
}

/* y in (1, 1, 1, 6) = x0 - x1 * (rsqrt(x3 + 1e-05) * x2) */
static MODC_KERNEL void pack_1_bias_prepared(
    float *y, const float *x0, const float *x1, const float *x2, const float *x3)
{
    for (int i = 0; i < 6; i++)
        y[i] = x0[i] - x1[i] * (modc_f32s_rsqrt(x3[i] + 9.99999975e-06f) * x2[i]);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 5232.0
#define RTOL_OF_FIRMWARE 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_0 = (void *)(ws + 0); /* (1, 8, 8, 6) */ \
    float *const y_3 = (void *)(ws + 1536); /* (1, 4, 4, 6) */ \
    float *const y_4 = (void *)(ws + 0); /* (1, 4, 4, 6) */ \
    float *const avg_pool2d_of_y_6 = (void *)(ws + 384); /* (1, 2, 2, 6) */ \
    float *const copy_of_y_6 = (void *)(ws + 0); /* (1, 6, 2, 2) */ \
    float *const y_8 = (void *)(ws + 96); /* (1, 24) */ \
    float *const y_9 = (void *)(ws + 0); /* (1, 16) */ \
    float *const y_11 = (void *)(ws + 64); /* (1, 3) */ \

#define TENSORS_OF_FORWARD_TRAIN \
    float *const y_0 = (void *)(ws + 0); /* (1, 8, 8, 6) */ \
    float *const rest_of_y_1 = (void *)(ws + 1536); /* (6) */ \
    float *const mean_of_y_1 = (void *)(ws + 1560); /* (6) */ \
    float *const off_of_y_1 = (void *)(ws + 1536); /* (6) */ \
    float *const var_of_y_1 = (void *)(ws + 1584); /* (6) */ \
    float *const scale_of_y_1 = (void *)(ws + 1584); /* (6) */ \
    float *const shift_of_y_1 = (void *)(ws + 1536); /* (6) */ \
    float *const y_2 = (void *)(ws + 0); /* (1, 8, 8, 6) */ \
    float *const y_3 = (void *)(ws + 1536); /* (1, 4, 4, 6) */ \
    float *const y_4 = (void *)(ws + 0); /* (1, 4, 4, 6) */ \
    float *const avg_pool2d_of_y_6 = (void *)(ws + 384); /* (1, 2, 2, 6) */ \
    float *const copy_of_y_6 = (void *)(ws + 0); /* (1, 6, 2, 2) */ \
    float *const y_8 = (void *)(ws + 96); /* (1, 24) */ \
    float *const y_9 = (void *)(ws + 0); /* (1, 16) */ \
    float *const y_11 = (void *)(ws + 64); /* (1, 3) */ \

/* What a context works with. */
#define CONTEXT_OF_FIRMWARE \
    const struct firmware_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct firmware_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct firmware_packed {
    MODC_ALIGNED float _0_weight[144]; /* panels [1][9][16] */
    MODC_ALIGNED float _0_bias[16]; /* zero padded */
    MODC_ALIGNED float _1_bias_prepared[6]; /* (1, 1, 1, 6) */
    MODC_ALIGNED float _1_weight_prepared[6]; /* (1, 1, 1, 6) */
    MODC_ALIGNED float _4_weight[54]; /* [9][6] */
    MODC_ALIGNED float _9_weight[384]; /* panels [1][24][16] */
};

typedef char firmware_packed_fits[MODC_PACKED_FITS(struct firmware_packed, FIRMWARE_PACKED_BYTES)];

static enum modc_status firmware_pack_all(struct modc_params *params)
{
    const struct firmware_params *p = (const void *)params;
    struct firmware_packed *k = params->packed;

    modc_f32_pack(k->_0_weight, p->_0.weight, 6, 9, 9, 1);
    memset(k->_0_bias, 0, sizeof k->_0_bias);
    memcpy(k->_0_bias, p->_0.bias, sizeof(float) * 6);
    pack_1_bias_prepared(
        k->_1_bias_prepared, p->_1.bias, p->_1.running_mean, p->_1.weight, p->_1.running_var);
    y_1_scale(k->_1_weight_prepared, p->_1.weight, p->_1.running_var);
    modc_f32_transpose(k->_4_weight, 6, p->_4.weight, 9, 9, 6);
    modc_f32_pack(k->_9_weight, p->_9.weight, 16, 24, 24, 1);
    return MODC_OK;
}

static void firmware_forward_eval(struct firmware *net, const float *image, float *output)
{
    CONTEXT_OF_FIRMWARE;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Conv2d(1, 6, 3, padding=1)
     * 1: BatchNorm2d(6)
     * 2: ReLU() */
    y_0_conv2d_fused(
        y_0, image, k->_0_weight, k->_0_bias, k->_1_bias_prepared, k->_1_weight_prepared);

    /* 3: MaxPool2d(2) */
    y_3_max_pool2d(y_3, y_0);

    /* 4: Conv2d(6, 6, 3, padding=1, groups=6)
     * 5: GELU() */
    y_4_conv2d_fused(y_4, y_3, k->_4_weight, p->_4.bias);

    /* 6: AvgPool2d(2) */
    y_6_avg_pool2d(avg_pool2d_of_y_6, y_4);

    /* 7: Flatten() */
    y_6_copy(copy_of_y_6, avg_pool2d_of_y_6);

    /* 8: LayerNorm(24) */
    y_8_layer_norm(y_8, copy_of_y_6, p->_8.weight, p->_8.bias);

    /* 9: Linear(24, 16)
     * 10: Tanh() */
    y_9_linear_fused(y_9, y_8, k->_9_weight, p->_9.bias);

    /* 11: Linear(16, 3) */
    y_11_linear(y_11, y_9, p->_11.weight, p->_11.bias);

    /* 12: Softmax(dim=-1) */
    y_12_softmax(output, y_11);
}

static void firmware_forward_train(struct firmware *net, const float *image, float *output)
{
    CONTEXT_OF_FIRMWARE;
    TENSORS_OF_FORWARD_TRAIN;

    /* 0 */
    y_0_conv2d(y_0, image, k->_0_weight, k->_0_bias);

    /* 1 */
    y_1_num_batches_tracked(p->_1.num_batches_tracked, p->_1.num_batches_tracked);
    y_1_rest(rest_of_y_1, y_0, y_0);
    y_1_add(mean_of_y_1, y_0, rest_of_y_1);
    y_1_off(off_of_y_1, rest_of_y_1, y_0, mean_of_y_1);
    y_1_var(var_of_y_1, y_0, mean_of_y_1, off_of_y_1);
    y_1_running_mean(p->_1.running_mean, p->_1.running_mean, mean_of_y_1);
    y_1_running_var(p->_1.running_var, p->_1.running_var, var_of_y_1);
    y_1_scale(scale_of_y_1, p->_1.weight, var_of_y_1);
    y_1_shift(shift_of_y_1, p->_1.bias, off_of_y_1, scale_of_y_1);

    /* 2 */
    y_2_forward_fused(y_2, shift_of_y_1, scale_of_y_1, y_0, mean_of_y_1);

    /* 3 */
    y_3_max_pool2d(y_3, y_2);

    /* 4, 5 */
    y_4_conv2d_fused(y_4, y_3, k->_4_weight, p->_4.bias);

    /* 6 */
    y_6_avg_pool2d(avg_pool2d_of_y_6, y_4);

    /* 7 */
    y_6_copy(copy_of_y_6, avg_pool2d_of_y_6);

    /* 8 */
    y_8_layer_norm(y_8, copy_of_y_6, p->_8.weight, p->_8.bias);

    /* 9, 10 */
    y_9_linear_fused(y_9, y_8, k->_9_weight, p->_9.bias);

    /* 11 */
    y_11_linear(y_11, y_9, p->_11.weight, p->_11.bias);

    /* 12 */
    y_12_softmax(output, y_11);
}

enum modc_status firmware_forward(struct firmware *net, const float *image, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && image && output, POINTER);
    MODC_NEED(((uintptr_t)image | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    if (net->base.training) {
        if (net->base.params && net->base.params->read_only)
            return MODC_READ_ONLY;
        MODC_TRY(modc_check(&net->base, FIRMWARE_TRAIN_WORKSPACE_BYTES, true, false));
        firmware_forward_train(net, image, output);
        net->base.params->buffer_version++;
    } else {
        MODC_TRY(modc_check(&net->base, FIRMWARE_WORKSPACE_BYTES, true, true));
        firmware_forward_eval(net, image, output);
    }
    return status;
}

/* ---- tables ---- */

MODC_CALL(firmware, forward, (net, inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"image", MODC_FLOAT32, 4, {1, 1, 8, 8}, {-1, -1, -1, -1}, false},
    {"output", MODC_FLOAT32, 2, {1, 3}, {-1, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(FIRMWARE), 0),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 13, false},
    {"0", "0", "Conv2d", "1, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", 0, 0, false},
    {"1", "1", "BatchNorm2d",
     "6, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True", 0, 0, false},
    {"2", "2", "ReLU", "", 0, 0, false},
    {"3", "3", "MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", 0, 0,
     false},
    {"4", "4", "Conv2d", "6, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=6", 0, 0,
     false},
    {"5", "5", "GELU", "approximate='none'", 0, 0, false},
    {"6", "6", "AvgPool2d", "kernel_size=2, stride=2, padding=0", 0, 0, false},
    {"7", "7", "Flatten", "start_dim=1, end_dim=-1", 0, 0, false},
    {"8", "8", "LayerNorm", "(24,), eps=1e-05, elementwise_affine=True, bias=True", 0, 0, false},
    {"9", "9", "Linear", "in_features=24, out_features=16, bias=True", 0, 0, false},
    {"10", "10", "Tanh", "", 0, 0, false},
    {"11", "11", "Linear", "in_features=16, out_features=3, bias=True", 0, 0, false},
    {"12", "12", "Softmax", "dim=-1", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("0.weight", FIRMWARE_0, FLOAT32, UNIFORM(0.33333333), 4, {6, 1, 3, 3}),
    MODC_PARAMETER("0.bias", FIRMWARE_0, FLOAT32, UNIFORM(0.33333333), 1, {6}),
    MODC_PARAMETER("1.weight", FIRMWARE_1, FLOAT32, CONSTANT(1.0), 1, {6}),
    MODC_PARAMETER("1.bias", FIRMWARE_1, FLOAT32, CONSTANT(0.0), 1, {6}),
    MODC_BUFFER("1.running_mean", FIRMWARE_1, FLOAT32, CONSTANT(0.0), 1, {6}),
    MODC_BUFFER("1.running_var", FIRMWARE_1, FLOAT32, CONSTANT(1.0), 1, {6}),
    MODC_OPTIONAL("1.num_batches_tracked", FIRMWARE_1, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("4.weight", FIRMWARE_4, FLOAT32, UNIFORM(0.33333333), 4, {6, 1, 3, 3}),
    MODC_PARAMETER("4.bias", FIRMWARE_4, FLOAT32, UNIFORM(0.33333333), 1, {6}),
    MODC_PARAMETER("8.weight", FIRMWARE_8, FLOAT32, CONSTANT(1.0), 1, {24}),
    MODC_PARAMETER("8.bias", FIRMWARE_8, FLOAT32, CONSTANT(0.0), 1, {24}),
    MODC_PARAMETER("9.weight", FIRMWARE_9, FLOAT32, UNIFORM(0.20412415), 2, {16, 24}),
    MODC_PARAMETER("9.bias", FIRMWARE_9, FLOAT32, UNIFORM(0.20412415), 1, {16}),
    MODC_PARAMETER("11.weight", FIRMWARE_11, FLOAT32, UNIFORM(0.25), 2, {3, 16}),
    MODC_PARAMETER("11.bias", FIRMWARE_11, FLOAT32, UNIFORM(0.25), 1, {3}),
};

const struct modc_model firmware_model = {
    .abi = MODC_ABI, .name = "firmware", .schema = FIRMWARE_SCHEMA,
    .rtol = RTOL_OF_FIRMWARE,
    .align = MODC_ALIGN, .tensor_align = 8,
    .params_bytes = sizeof(struct firmware_params),
    .context_bytes = sizeof(struct firmware),
    .param_block = FIRMWARE_PARAM_BYTES,
    .packed_block = FIRMWARE_PACKED_BYTES, .pack = firmware_pack_all,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = FIRMWARE_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
