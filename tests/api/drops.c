/* drops.c - what dropout and rrelu draw: how often, how large, for which part of the input; the same again by the same seed
 * and call, and else other numbers. The bounds are five standard deviations wide. */
#include "drops.h"
#include "check.h"

#include <math.h>
#include <string.h>

enum { BATCH = 64, CHANNELS = 16, INNER = 8, CELLS = BATCH * CHANNELS, COUNT = CELLS * INNER };

struct outputs {
    float first[COUNT], second[COUNT], apart[COUNT], line[COUNT], lines[CHANNELS * INNER], plane[COUNT],
        as_lines[COUNT], block[COUNT], single[CHANNELS * INNER], elements[COUNT], channels[COUNT],
        kept[COUNT], gone[COUNT], slope[COUNT];
    double function[COUNT];
};

static float x[COUNT];
static double wide[COUNT];
static struct outputs now, again, later;

static void call(struct drops *net, struct outputs *out)
{
    CHECK_OK(drops_forward(net, BATCH, x, x, x, wide, out->first, out->second, out->apart, out->line,
                           out->lines, out->plane, out->as_lines, out->block, out->single, out->elements,
                           out->channels, out->kept, out->gone, out->slope, out->function));
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) < 1e-5 * (1 + fabs(expected));
}

/* `count` numbers, of which runs of `run` are equal, are `low` with probability p, else `high`. */
static void check_two(const float *y, int count, int run, double p, double low, double high)
{
    int drawn = count / run, dropped = 0;

    for (int i = 0; i < drawn; i++) {
        bool is_low = is_near(y[i * run], low);

        CHECK(is_low || is_near(y[i * run], high));
        for (int k = 1; k < run; k++)
            CHECK(y[i * run + k] == y[i * run]);
        dropped += is_low;
    }
    CHECK(fabs(dropped - p * drawn) < 5 * sqrt(p * (1 - p) * drawn));
}

/* Two masks of probability p agree as often as independent ones do. */
static void check_apart(const float *a, const float *b, int count, int run, double p)
{
    double same = p * p + (1 - p) * (1 - p);
    int drawn = count / run, equal = 0;

    for (int i = 0; i < drawn; i++)
        equal += a[i * run] == b[i * run];
    CHECK(fabs(equal - same * drawn) < 5 * sqrt(same * (1 - same) * drawn));
}

static void check_alpha(const float *y, int run, double p)
{
    const double alpha = 1.7580993408473766, a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));

    check_two(y, COUNT, run, p, -alpha * a + alpha * a * p, a + alpha * a * p);
}

static void check_slopes(const float *y)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < COUNT; i++) {
        CHECK(y[i] <= -0.25f && y[i] >= -0.75f);
        sum += y[i];
        squares += (y[i] + 0.5) * (y[i] + 0.5);
    }
    CHECK(fabs(sum / COUNT + 0.5) < 5 * 0.5 / sqrt(12.0 * COUNT));
    CHECK(fabs(squares / COUNT - 0.25 / 12) < 5 * 0.25 / sqrt(180.0 * COUNT));
}

static void check_training(const struct outputs *out)
{
    int kept = 0;

    check_two(out->first, COUNT, 1, 0.3, 0, 1 / 0.7);
    check_two(out->second, COUNT, 1, 0.3, 0, 1 / 0.7);
    check_two(out->apart, COUNT, 1, 0.3, 0, 1 / 0.7);
    check_apart(out->first, out->second, COUNT, 1, 0.3); /* one module, called twice */
    check_apart(out->first, out->apart, COUNT, 1, 0.3);
    check_apart(out->first, out->first + 1, COUNT - 1, 1, 0.3); /* neighbours */
    check_apart(out->first, out->first + INNER, COUNT - INNER, 1, 0.3);
    check_two(out->line, COUNT, INNER, 0.25, 0, 1 / 0.75);
    check_two(out->lines, CHANNELS * INNER, INNER, 0.25, 0, 1 / 0.75);
    check_two(out->plane, COUNT, INNER, 0.6, 0, 1 / 0.4);
    check_two(out->as_lines, COUNT, INNER, 0.6, 0, 1 / 0.4);
    check_apart(out->plane, out->as_lines, COUNT, INNER, 0.6);
    check_two(out->block, COUNT, INNER, 0.5, 0, 2);
    check_two(out->single, CHANNELS * INNER, INNER, 0.5, 0, 2);
    check_alpha(out->elements, 1, 0.2);
    check_alpha(out->channels, INNER, 0.2);
    CHECK(memcmp(out->kept, x, sizeof x) == 0);
    for (int i = 0; i < COUNT; i++) {
        CHECK(out->gone[i] == 0);
        CHECK(out->function[i] == 0 || out->function[i] == 1 / 0.9);
        kept += out->function[i] != 0;
    }
    CHECK(fabs(kept - 0.9 * COUNT) < 5 * sqrt(0.09 * COUNT));
    check_slopes(out->slope);
}

static void check_evaluation(const struct outputs *out)
{
    const float *same[] = {out->first, out->second,   out->apart,    out->line, out->plane, out->as_lines,
                           out->block, out->elements, out->channels, out->kept, out->gone};

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK(memcmp(same[i], x, sizeof x) == 0);
    CHECK(memcmp(out->lines, x, sizeof out->lines) == 0);
    CHECK(memcmp(out->single, x, sizeof out->single) == 0);
    CHECK(memcmp(out->function, wide, sizeof wide) == 0);
    for (int i = 0; i < COUNT; i++)
        CHECK(out->slope[i] == -0.5f);
}

static enum modc_status look(struct modc_hook_call *hooked)
{
    (void)hooked;
    return MODC_OK;
}

int main(void)
{
    static MODC_ALIGNED char block[DROPS_PARAM_BYTES > 0 ? DROPS_PARAM_BYTES : 1];
    static MODC_ALIGNED char workspace[DROPS_TRAIN_FENCED_WORKSPACE_BYTES];
    struct drops_params params;
    struct drops net;
    struct modc_hook hook = {.call = look};

    for (int i = 0; i < COUNT; i++)
        wide[i] = x[i] = 1;
    CHECK_OK(drops_bind(&params, block, sizeof block));
    CHECK_OK(drops_init(&net, &params, workspace, sizeof workspace));
    call(&net, &now);
    check_evaluation(&now);

    drops_train(&net, true);
    drops_seed(&net, 17);
    call(&net, &now);
    check_training(&now);
    call(&net, &later);
    check_training(&later);
    check_apart(now.first, later.first, COUNT, 1, 0.3);
    check_apart(now.line, later.line, COUNT, INNER, 0.25);

    drops_seed(&net, 17);
    CHECK_OK(drops_register_forward_hook(&net, DROPS_DROP, &hook, 0)); /* the fenced variant draws the same */
    call(&net, &again);
    CHECK(memcmp(&now, &again, sizeof now) == 0);
    drops_seed(&net, 18);
    call(&net, &later);
    check_training(&later);
    check_apart(now.first, later.first, COUNT, 1, 0.3);

    x[0] = NAN; /* stays, whether it is dropped or not */
    x[1] = INFINITY;
    call(&net, &later);
    CHECK(isnan(later.first[0]) && isnan(later.gone[0]) && isnan(later.elements[0]) && isnan(later.slope[0]));
    CHECK(isnan(later.gone[1]));
    return 0;
}
