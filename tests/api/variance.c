/* variance.c - variances and norms of numbers with an offset that is large beside their spread, against double: over rows,
 * columns whose count is known when the code runs, and several axes; results and gradients. */
#include "variance.h"
#include "check.h"

#include <math.h>
#include <string.h>

enum { ROWS = 12, WIDTH = 1000, COLUMNS = 96, MOST = VARIANCE_MAX_N, BATCH = 6, CHANNELS = 8, PIXELS = 35 };
enum { IMAGE = BATCH * CHANNELS * PIXELS, MOST_SET = ROWS * WIDTH };

static float rows[ROWS * WIDTH], columns[MOST * COLUMNS], image[IMAGE];
static float var[ROWS], std[COLUMNS], some[CHANNELS * 7], all[1], batch[IMAGE], instance[IMAGE], group[IMAGE],
    layer[IMAGE];
static float dvar[ROWS], dstd[COLUMNS], dsome[CHANNELS * 7], dall[1], zeros[IMAGE];
static float drows[ROWS * WIDTH], dcolumns[MOST * COLUMNS], dimage[IMAGE];

static uint32_t state = 12345;

static float drawn(void) /* of variance 1 or so */
{
    float sum = 0;

    for (int i = 0; i < 6; i++) {
        state = state * 1664525u + 1013904223u;
        sum += (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    return sum * 1.4f;
}

/* Those numbers of a tensor that are reduced together: `at` says where. */
struct set {
    int count, at[MOST_SET];
};

static struct set set;

static double mean_of(const float *x)
{
    double sum = 0;

    for (int i = 0; i < set.count; i++)
        sum += (double)x[set.at[i]];
    return sum / set.count;
}

/* The sum of (x - mean) * (other - mean of it). */
static double product_of(const float *x, const float *other)
{
    const double mean = mean_of(x), middle = mean_of(other);
    double sum = 0;

    for (int i = 0; i < set.count; i++)
        sum += ((double)x[set.at[i]] - mean) * ((double)other[set.at[i]] - middle);
    return sum;
}

static void near(const char *what, double found, double expected, double size)
{
    if (!(fabs(found - expected) <= 1e-6 * size)) {
        fprintf(stderr, "%s of numbers around %.9g is %.9g, not %.9g\n", what, (double)rows[0], found,
                expected);
        exit(1);
    }
}

/* A variance or a deviation, and its gradient, which is 1 for the result. */
static void check_moment(const char *what, const float *x, bool root, double found, const float *dx)
{
    const double variance = product_of(x, x) / (set.count - 1), mean = mean_of(x);
    double slope = 2 / (double)(set.count - 1), most = 0;

    near(what, found, root ? sqrt(variance) : variance, root ? sqrt(variance) : variance);
    if (root)
        slope /= 2 * sqrt(variance);
    for (int i = 0; i < set.count; i++)
        most = fmax(most, fabs(slope * ((double)x[set.at[i]] - mean)));
    for (int i = 0; dx && i < set.count; i++)
        near(what, (double)dx[set.at[i]], slope * ((double)x[set.at[i]] - mean), most);
}

/* What is left of the set with mean 0 and variance 1, and its gradient where that of the results is g. */
static void check_norm(const char *what, const float *x, const float *y, const float *g, const float *dx)
{
    const double mean = mean_of(x), scale = 1 / sqrt(product_of(x, x) / set.count + 1e-5);
    const double middle = mean_of(g), along = product_of(x, g) / set.count * scale * scale;

    for (int i = 0; i < set.count; i++) {
        const double gap = (double)x[set.at[i]] - mean;

        near(what, (double)y[set.at[i]], gap * scale, 3);
        if (dx)
            near(what, (double)dx[set.at[i]], scale * ((double)g[set.at[i]] - middle - gap * along),
                 3 * scale);
    }
}

/* The sets of an image over which one of `parts` parts of its channels, or where `batches` all of its images, are taken. */
static void take(int image_at, int part, int parts, bool batches)
{
    const int channels = CHANNELS / parts;

    set.count = 0;
    for (int b = batches ? 0 : image_at; b < (batches ? BATCH : image_at + 1); b++)
        for (int c = part * channels; c < (part + 1) * channels; c++)
            for (int p = 0; p < PIXELS; p++)
                set.at[set.count++] = (b * CHANNELS + c) * PIXELS + p;
}

static void check_images(const float *g, const float *dx, const char *which)
{
    for (int c = 0; c < CHANNELS; c++) {
        take(0, c, CHANNELS, true);
        check_norm("batch_norm", image, batch, g, strcmp(which, "batch") == 0 ? dx : NULL);
    }
    for (int b = 0; b < BATCH; b++) {
        for (int c = 0; c < CHANNELS; c++) {
            take(b, c, CHANNELS, false);
            check_norm("instance_norm", image, instance, g, strcmp(which, "instance") == 0 ? dx : NULL);
        }
        for (int c = 0; c < 4; c++) {
            take(b, c, 4, false);
            check_norm("group_norm", image, group, g, strcmp(which, "group") == 0 ? dx : NULL);
        }
        take(b, 0, 1, false);
        check_norm("layer_norm", image, layer, g, strcmp(which, "layer") == 0 ? dx : NULL);
    }
}

static void check_moments(int n)
{
    for (int r = 0; r < ROWS; r++) {
        set.count = WIDTH;
        for (int i = 0; i < WIDTH; i++)
            set.at[i] = r * WIDTH + i;
        check_moment("var of a row", rows, false, (double)var[r], drows);
    }
    for (int c = 0; c < COLUMNS; c++) {
        set.count = n;
        for (int i = 0; i < n; i++)
            set.at[i] = i * COLUMNS + c;
        check_moment("std of a column", columns, true, (double)std[c], dcolumns);
    }
    for (int k = 0; k < CHANNELS * 7; k++) {
        set.count = 0;
        for (int b = 0; b < BATCH; b++)
            for (int h = 0; h < 5; h++)
                set.at[set.count++] = ((b * CHANNELS + k / 7) * 5 + h) * 7 + k % 7;
        check_moment("var of two axes", image, false, (double)some[k], NULL);
    }
    set.count = IMAGE;
    for (int i = 0; i < IMAGE; i++)
        set.at[i] = i;
    check_moment("std of all", image, true, (double)all[0], NULL);
}

int main(void)
{
    static const float offsets[] = {0, 100, -3000, 1e4f, 1e6f, -1e7f};
    static const char *const norms[] = {"batch", "instance", "group", "layer"};
    static struct variance_params params;
    static struct variance_training training;
    static struct variance net;
    static MODC_ALIGNED char block[VARIANCE_PARAM_BYTES], packed[VARIANCE_PACKED_BYTES],
        gradients[VARIANCE_GRADIENT_BYTES];
    static MODC_ALIGNED char workspace[VARIANCE_TRAIN_BACKWARD_WORKSPACE_BYTES];
    static float g[IMAGE];

    CHECK_OK(variance_bind(&params, block, sizeof block));
    CHECK_OK(variance_pack(&params, packed, sizeof packed));
    CHECK_OK(variance_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(variance_training_init(&training, &net, gradients, sizeof gradients));
    variance_eval(&net);
    for (int i = 0; i < ROWS; i++)
        dvar[i] = 1;
    for (int i = 0; i < COLUMNS; i++)
        dstd[i] = 1;
    for (int i = 0; i < IMAGE; i++)
        g[i] = drawn();
    for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
        for (int n = 2; n <= MOST; n += 19) {
            for (int i = 0; i < ROWS * WIDTH; i++)
                rows[i] = offsets[o] + drawn();
            for (int i = 0; i < MOST * COLUMNS; i++)
                columns[i] = offsets[o] + 5 * (float)(i / COLUMNS) +
                             drawn(); /* a column of two is not of one value */
            for (int i = 0; i < IMAGE; i++)
                image[i] = offsets[o] + drawn();
            for (int k = 0; k < 4; k++) {
                CHECK_OK(variance_forward(&net, n, rows, columns, image, var, std, some, all, batch, instance,
                                          group, layer));
                CHECK_OK(variance_backward(&net, n, dvar, dstd, dsome, dall, k == 0 ? g : zeros,
                                           k == 1 ? g : zeros, k == 2 ? g : zeros, k == 3 ? g : zeros, drows,
                                           dcolumns, dimage));
                check_images(g, dimage, norms[k]);
            }
            check_moments(n);
        }
    }
    return 0;
}
