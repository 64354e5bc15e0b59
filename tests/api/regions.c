/* regions.c - where fractional pools put their windows: in the distribution that uniform samples give, in both modes; the
 * same again by the same seed and call, and else elsewhere. Elements grow with their place, so that the largest of a window
 * is its last one. The bounds are five standard deviations wide. */
#include "regions.h"
#include "check.h"

#include <math.h>
#include <string.h>

enum {
    BATCH = 64,
    CHANNELS = 16,
    PLANES = BATCH * CHANNELS,
    H = 8,
    W = 10,
    OUT = 5,
    VOLUMES = BATCH * 4,
    VOLUME = 3 * 4 * W
};

struct outputs {
    float first[PLANES][OUT][OUT], second[PLANES][OUT][OUT];
    int64_t places[PLANES][OUT][OUT];
    double volumes[VOLUMES][3][4][OUT];
};

static float x[PLANES][H * W];
static double z[VOLUMES][VOLUME];
static struct outputs now, again, later;

static void call(struct regions *net, struct outputs *out)
{
    CHECK_OK(regions_forward(net, BATCH, x[0], z[0], out->first[0][0], out->places[0][0], out->second[0][0],
                             out->volumes[0][0][0]));
}

static void check_share(int found, int count, double p)
{
    CHECK(fabs(found - p * count) < 5 * sqrt(p * (1 - p) * count));
}

/* The first window begins at 0, the last at its last place, the second one cell further in that part of all samples. */
static void check_calls(const struct outputs *out)
{
    int low = 0, right = 0, both = 0, equal = 0, deep = 0;

    for (int p = 0; p < PLANES; p++) {
        int top = (int)out->first[p][1][0] / W - 1, left = (int)out->first[p][0][1] % W;

        for (int i = 0; i < OUT; i++) {
            for (int j = 0; j < OUT; j++) {
                CHECK(out->first[p][i][j] == (float)out->places[p][i][j]);
                CHECK(out->places[p][i][j] / W == out->places[p][i][0] / W);
                CHECK(out->places[p][i][j] % W == out->places[p][0][j] % W);
            }
        }
        CHECK(out->places[p][0][0] == W && out->places[p][OUT - 1][OUT - 1] == H * W - 1);
        CHECK((top == 1 || top == 2) && (left == 2 || left == 3));
        low += top == 2;
        right += left == 3;
        both += top == 2 && left == 3;
        equal += out->first[p][1][1] == out->second[p][1][1];
    }
    check_share(low, PLANES,
                1.0 / 3); /* 6 / 4 = 1.5 cells a window: where the fraction of 1.5 u is 0.5 or more */
    check_share(right, PLANES, 2.0 / 9); /* 9 / 4 = 2.25: 0.75 or more of 2.25 u */
    check_share(both, PLANES, 2.0 / 27);
    check_share(equal, PLANES, 5.0 / 9 * (53.0 / 81)); /* one module, called twice */
    for (int v = 0; v < VOLUMES; v++) {
        for (int d = 0; d < 3; d++)
            for (int h = 0; h < 4; h++)
                CHECK(out->volumes[v][d][h][0] == (d * 4 + h) * W);
        CHECK(out->volumes[v][2][3][1] == 112 || out->volumes[v][2][3][1] == 113);
        deep += out->volumes[v][2][3][1] == 113;
    }
    check_share(deep, VOLUMES, 2.0 / 9);
}

int main(void)
{
    static MODC_ALIGNED char block[REGIONS_PARAM_BYTES > 0 ? REGIONS_PARAM_BYTES : 1];
    static MODC_ALIGNED char workspace[REGIONS_WORKSPACE_BYTES > REGIONS_TRAIN_WORKSPACE_BYTES
                                           ? REGIONS_WORKSPACE_BYTES
                                           : REGIONS_TRAIN_WORKSPACE_BYTES];
    struct regions_params params;
    struct regions net;

    for (int p = 0; p < PLANES; p++)
        for (int i = 0; i < H * W; i++)
            x[p][i] = (float)i;
    for (int v = 0; v < VOLUMES; v++)
        for (int i = 0; i < VOLUME; i++)
            z[v][i] = i;
    CHECK_OK(regions_bind(&params, block, sizeof block));
    CHECK_OK(regions_init(&net, &params, workspace, sizeof workspace));
    for (int training = 0; training < 2; training++) {
        regions_train(&net, training);
        regions_seed(&net, 17);
        call(&net, &now);
        check_calls(&now);
        call(&net, &later);
        check_calls(&later);
        CHECK(memcmp(&now, &later, sizeof now) != 0);
        regions_seed(&net, 17);
        call(&net, &again);
        CHECK(memcmp(&now, &again, sizeof now) == 0);
        regions_seed(&net, 18);
        call(&net, &later);
        CHECK(memcmp(&now, &later, sizeof now) != 0);
    }
    return 0;
}
