/* stack.c - chains of convolutions by Winograd's products, F(4x4, 3x3) and F(2x2, 3x3), against double: what they are off by
 * after 1, 8 and 24 convolutions, beside the same chain of direct ones. */
#include "check.h"
#include "direct.h"
#include "four.h"
#include "two.h"

#include <math.h>
#include <string.h>

enum {
    CHANNELS = 64,
    SIDE = 16,
    PIXELS = SIDE * SIDE,
    SIZE = CHANNELS * PIXELS,
    DEPTH = 24,
    TAPS = CHANNELS * CHANNELS * 9
};

static const int depths[] = {1, 8, DEPTH};
static const double bounds[] = {2.5, 2, 1.5}; /* of F(4x4, 3x3) to direct ones; docs/language.md says so */

static float x[SIZE], y[3][SIZE];
static double exact[3][SIZE];
static MODC_ALIGNED char block[FOUR_PARAM_BYTES];

/* y = conv(max(x, least), w) */
static void convolve(double *to, const double *from, const float *w, double least)
{
    for (int o = 0; o < CHANNELS; o++) {
        double *const out = to + o * PIXELS;

        memset(out, 0, PIXELS * sizeof *out);
        for (int c = 0; c < CHANNELS; c++)
            for (int t = 0; t < 9; t++) {
                const double tap = (double)w[(o * CHANNELS + c) * 9 + t];
                const int down = t / 3 - 1, right = t % 3 - 1;

                for (int h = down < 0; h < SIDE - (down > 0); h++)
                    for (int p = right < 0; p < SIDE - (right > 0); p++)
                        out[h * SIDE + p] += tap *
                                             fmax(from[c * PIXELS + (h + down) * SIDE + p + right], least);
            }
    }
}

/* The root of the mean square of y - exact, relative to that of exact, and the largest difference to the largest value. */
static double error(int at, double *largest)
{
    double sum = 0, all = 0, most = 0, size = 0;

    for (int i = 0; i < SIZE; i++) {
        const double gap = (double)y[at][i] - exact[at][i];

        sum += gap * gap;
        all += exact[at][i] * exact[at][i];
        most = fmax(most, fabs(gap));
        size = fmax(size, fabs(exact[at][i]));
    }
    *largest = most / size;
    return sqrt(sum / all);
}

#define RUN(model, MODEL, errors)                                                                            \
    do {                                                                                                     \
        static struct model##_params params;                                                                 \
        static struct model net;                                                                             \
        static MODC_ALIGNED char packed[MODEL##_PACKED_BYTES], workspace[MODEL##_WORKSPACE_BYTES];           \
                                                                                                             \
        CHECK_OK(model##_bind(&params, block, sizeof block));                                                \
        CHECK_OK(model##_pack(&params, packed, sizeof packed));                                              \
        CHECK_OK(model##_init(&net, &params, workspace, sizeof workspace));                                  \
        model##_eval(&net);                                                                                  \
        CHECK_OK(model##_forward(&net, x, y[0], y[1], y[2]));                                                \
        for (int i = 0; i < 3; i++) {                                                                        \
            double largest;                                                                                  \
                                                                                                             \
            errors[i] = error(i, &largest);                                                                  \
            printf("%-6s %2d: %.2e, largest %.2e\n", #model, depths[i], errors[i], largest);                 \
            CHECK(largest < 1e-5);                                                                           \
        }                                                                                                    \
    } while (0)

int main(void)
{
    static double flow[2][SIZE];
    float *const w = (float *)(void *)block;
    uint32_t state = 7;
    double direct[3], four[3], two[3];

    CHECK(sizeof block >= sizeof(float) * TAPS * DEPTH);
    for (int i = 0; i < TAPS * DEPTH + SIZE; i++) {
        float *const to = i < TAPS * DEPTH ? w + i : x + (i - TAPS * DEPTH);

        state = state * 1664525u + 1013904223u;
        *to = (float)((double)(state >> 8) / 8388608.0 - 1);
        if (i < TAPS * DEPTH)
            *to *= 0.10206207f; /* sqrt(6 / (9 * 64)), by which sizes stay as they are */
    }
    for (int i = 0; i < SIZE; i++)
        flow[0][i] = (double)x[i];
    for (int i = 0, at = 0; i < DEPTH; i++) {
        convolve(flow[(i + 1) % 2], flow[i % 2], w + i * TAPS, i == 0 ? -2.0 : 0.0);
        if (i + 1 == depths[at])
            memcpy(exact[at++], flow[(i + 1) % 2], sizeof exact[0]);
    }
    RUN(direct, DIRECT, direct);
    RUN(two, TWO, two);
    RUN(four, FOUR, four);
    for (int i = 0; i < 3; i++) {
        CHECK(two[i] < 1.25 * direct[i]);
        CHECK(four[i] < bounds[i] * direct[i]);
    }
    return 0;
}
