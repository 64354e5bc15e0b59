/* stack.c - chains of convolutions by Winograd's products, F(4x4, 3x3) and F(2x2, 3x3), against double: what they are off by
 * after 1, 8 and 24 convolutions, beside the same chain of direct ones; and after 8, 16 and 24 with normalisation behind each, by
 * which errors grow a hundredfold. `chosen` is what the plan makes of them, which keeps to what docs/language.md says. */
#include "check.h"
#include "chosen.h"
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
    PLAIN = 3,
    RESULTS = 6,
    TAPS = CHANNELS * CHANNELS * 9
};

static const int depths[] = {1, 8, DEPTH}, normed_depths[] = {8, 16, DEPTH};
static const char *const names[RESULTS] = {"1", "8", "24", "8 normed", "16 normed", "24 normed"};

/* Of F(4x4, 3x3) to direct ones; and relative to the largest result, of all and of what the plan chooses. */
static const double bounds[RESULTS] = {2.5, 2, 1.5, 2.5, 2.5, 2.5};
static const double limits[RESULTS] = {1e-5, 1e-5, 1e-5, 1e-5, 5e-5, 2e-4};
static const double chosen_limits[RESULTS] = {1e-5, 1e-5, 1e-5, 1e-5, 5e-5, 8e-5};

static float x[SIZE], y[RESULTS][SIZE];
static double exact[RESULTS][SIZE];
static MODC_ALIGNED char block[FOUR_PARAM_BYTES], filled[FOUR_PARAM_BYTES];

/* A parameter of the block, to be written. */
static float *inside(const float *parameter)
{
    return (float *)(void *)(block + ((const char *)parameter - block));
}

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

/* What BatchNorm2d and ReLU make of it by its own statistics, which are stored as floats. */
static void normalise(double *to, float *mean, float *var)
{
    for (int c = 0; c < CHANNELS; c++) {
        double *const line = to + c * PIXELS;
        double sum = 0, squares = 0;

        for (int i = 0; i < PIXELS; i++)
            sum += line[i];
        mean[c] = (float)(sum / PIXELS);
        for (int i = 0; i < PIXELS; i++)
            squares += (line[i] - (double)mean[c]) * (line[i] - (double)mean[c]);
        var[c] = (float)(squares / PIXELS);
        for (int i = 0; i < PIXELS; i++)
            line[i] = fmax((line[i] - (double)mean[c]) / sqrt((double)var[c] + 1e-5), 0);
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

#define RUN(model, MODEL, errors, most)                                                                      \
    do {                                                                                                     \
        static struct model##_params params;                                                                 \
        static struct model net;                                                                             \
        static MODC_ALIGNED char packed[MODEL##_PACKED_BYTES], workspace[MODEL##_WORKSPACE_BYTES];           \
                                                                                                             \
        CHECK_OK(model##_bind(&params, block, sizeof block));                                                \
        memcpy(block, filled, sizeof block); /* bind has put the first values of the statistics there */     \
        CHECK_OK(model##_pack(&params, packed, sizeof packed));                                              \
        CHECK_OK(model##_init(&net, &params, workspace, sizeof workspace));                                  \
        model##_eval(&net);                                                                                  \
        CHECK_OK(model##_forward(&net, x, y[0], y[1], y[2], y[3], y[4], y[5]));                              \
        for (int i = 0; i < RESULTS; i++) {                                                                  \
            double largest;                                                                                  \
                                                                                                             \
            errors[i] = error(i, &largest);                                                                  \
            printf("%-6s %9s: %.2e, largest %.2e\n", #model, names[i], errors[i], largest);                  \
            CHECK(largest < (most)[i]);                                                                      \
        }                                                                                                    \
    } while (0)

int main(void)
{
    static double flow[2][SIZE];
    float *const w = (float *)(void *)block;
    uint32_t state = 7;
    static struct four_params tensors;
    double direct[RESULTS], four[RESULTS], two[RESULTS], chosen[RESULTS];

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
    CHECK_OK(four_bind(&tensors, block, sizeof block));
    for (int i = 0; i < SIZE; i++)
        flow[0][i] = (double)x[i];
    for (int i = 0, at = 0; i < DEPTH; i++) {
        memcpy(inside(tensors.convs[i].weight), w + i * TAPS, sizeof(float) * TAPS);
        for (int c = 0; c < CHANNELS; c++)
            inside(tensors.norms[i].weight)[c] = 1;
        convolve(flow[(i + 1) % 2], flow[i % 2], w + i * TAPS, -2);
        normalise(flow[(i + 1) % 2], inside(tensors.norms[i].running_mean),
                  inside(tensors.norms[i].running_var));
        if (i + 1 == normed_depths[at])
            memcpy(exact[PLAIN + at++], flow[(i + 1) % 2], sizeof exact[0]);
    }
    memcpy(filled, block, sizeof block);
    RUN(direct, DIRECT, direct, limits);
    RUN(two, TWO, two, limits);
    RUN(four, FOUR, four, limits);
    RUN(chosen, CHOSEN, chosen, chosen_limits);
    for (int i = 0; i < RESULTS; i++) {
        CHECK(two[i] < 1.25 * direct[i]);
        CHECK(four[i] < bounds[i] * direct[i]);
        CHECK(chosen[i] < bounds[i] * direct[i]);
    }
    return 0;
}
