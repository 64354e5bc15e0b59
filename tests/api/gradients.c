/* gradients.c - backward as a program calls it: sums over calls, which gradients are there and which are wanted, and what is
 * refused. That the numbers are PyTorch's is tests/vectors' matter; here the gradient of head.bias, a sum over rows, is known. */
#include "check.h"
#include "learner.h"

#include <math.h>
#include <string.h>

enum { BATCH = 5, LOGITS = BATCH * 2, FEATURES = BATCH * 4, COUNT = 5, FILL = 0x5a };

/* What a program places for one context. */
struct place {
    struct learner net;
    struct learner_training training;
    MODC_ALIGNED char workspace[LEARNER_TRAIN_BACKWARD_WORKSPACE_BYTES], gradients[LEARNER_GRADIENT_BYTES];
};

static const char *const keys[COUNT] = {"embed.weight", "trunk.0.weight", "trunk.0.bias", "head.weight",
                                        "head.bias"};
static const int counts[COUNT] = {7 * 3, 4 * 3, 4, 2 * 4, 2};

static struct learner_params params;
static MODC_ALIGNED char block[LEARNER_PARAM_BYTES], packed[LEARNER_PACKED_BYTES];
static struct place one, two;
static float x[BATCH * 3], logits[LOGITS], features[FEATURES], dlogits[LOGITS], dfeatures[FEATURES],
    dx[BATCH * 3];
static int64_t indices[BATCH] = {6, 0, 3, 6, 1};

static void place_context(struct place *place)
{
    CHECK_OK(learner_init(&place->net, &params, place->workspace, sizeof place->workspace));
    CHECK_OK(learner_training_init(&place->training, &place->net, place->gradients, sizeof place->gradients));
    learner_eval(&place->net);
}

static void forward(struct place *place, int batch)
{
    CHECK_OK(learner_forward(&place->net, batch, x, indices, logits, features));
}

static void backward(struct place *place, int batch)
{
    CHECK_OK(learner_backward(&place->net, batch, dlogits, dfeatures, dx));
}

static const float *gradient(const struct place *place, int i)
{
    const void *found;

    CHECK_OK(learner_get_gradient(&place->training, keys[i], &found));
    return found;
}

static bool near(const float *a, const float *b, int count, float scale)
{
    for (int i = 0; i < count; i++)
        if (fabsf(a[i] - b[i] * scale) > 1e-5f * (1 + fabsf(a[i])))
            return false;
    return true;
}

static void check_head_bias(const struct place *place, int batch, float times)
{
    float sums[2] = {0, 0};

    for (int i = 0; i < batch * 2; i++)
        sums[i % 2] += dlogits[i];
    CHECK(near(gradient(place, 4), sums, 2, times));
}

static float first[COUNT][7 * 3];

static void keep_first(const struct place *place)
{
    for (int i = 0; i < COUNT; i++)
        memcpy(first[i], gradient(place, i), (size_t)counts[i] * sizeof(float));
}

static void check_first(const struct place *place, float times)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(near(gradient(place, i), first[i], counts[i], times));
}

/* Gradients are absent, then set, then added to, whatever the memory held; zero_grad of both meanings. */
static void test_sums(void)
{
    memset(one.gradients, FILL, sizeof one.gradients);
    place_context(&one);
    for (int i = 0; i < COUNT; i++)
        CHECK(gradient(&one, i) == NULL);
    learner_zero_grad(&one.training, false); /* what is absent stays absent */
    CHECK(gradient(&one, 0) == NULL);
    forward(&one, BATCH);
    backward(&one, BATCH);
    check_head_bias(&one, BATCH, 1);
    keep_first(&one);
    for (int i = 2; i < 5; i++) {
        forward(&one, BATCH);
        backward(&one, BATCH);
        check_first(&one, (float)i);
    }
    learner_zero_grad(&one.training, false);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < counts[i]; k++)
            CHECK(gradient(&one, i)[k] == 0);
    forward(&one, BATCH);
    backward(&one, BATCH);
    check_first(&one, 1);
    learner_zero_grad(&one.training, true);
    for (int i = 0; i < COUNT; i++)
        CHECK(gradient(&one, i) == NULL);
    CHECK(one.training.gradients.head.bias != NULL); /* the memory stays */
    forward(&one, BATCH);
    backward(&one, BATCH);
    check_first(&one, 1);
    CHECK(gradient(&one, 1) == one.training.gradients.trunk._0.weight);
}

static void test_names(void)
{
    const void *found = &one;

    CHECK(learner_get_gradient(&one.training, "fixed.weight", &found) == MODC_NAME && found == NULL);
    CHECK(learner_get_gradient(&one.training, "head", &found) == MODC_NAME);
    CHECK(one.training.gradients.fixed.weight == NULL);
    CHECK(learner_requires_grad_(&one.training, "fixed", true) == MODC_NAME);
    CHECK(learner_requires_grad_(&one.training, "hea", false) == MODC_NAME);
    CHECK(learner_requires_grad_(&one.training, "trunk.1", false) == MODC_NAME); /* has no parameters */
}

/* Nothing of what is not wanted is computed or written, and what was there is kept. */
static void test_wanted(void)
{
    float *held[COUNT];

    learner_zero_grad(&one.training, true);
    for (int i = 0; i < COUNT; i++) {
        forward(&one, BATCH);
        CHECK_OK(learner_requires_grad_(&one.training, keys[i], false));
        backward(&one, BATCH);
        CHECK_OK(learner_requires_grad_(&one.training, keys[i], true));
        for (int k = 0; k < COUNT; k++)
            CHECK((gradient(&one, k) == NULL) == (k == i));
        learner_zero_grad(&one.training, true);
    }
    held[0] = one.training.gradients.embed.weight;
    held[1] = one.training.gradients.trunk._0.weight;
    held[2] = one.training.gradients.trunk._0.bias;
    held[3] = one.training.gradients.head.weight;
    held[4] = one.training.gradients.head.bias;
    CHECK_OK(learner_requires_grad_(&one.training, "", false));
    CHECK_OK(learner_requires_grad_(&one.training, "trunk", true));
    for (int i = 0; i < COUNT; i++)
        memset(held[i], FILL, (size_t)counts[i] * sizeof(float));
    forward(&one, BATCH);
    memset(dx, 0, sizeof dx);
    backward(&one, BATCH);
    for (int i = 0; i < COUNT; i++) {
        CHECK((gradient(&one, i) != NULL) == (i == 1 || i == 2));
        for (size_t k = 0; gradient(&one, i) == NULL && k < (size_t)counts[i] * sizeof(float); k++)
            CHECK(((unsigned char *)held[i])[k] == FILL);
    }
    CHECK(near(gradient(&one, 1), first[1], counts[1], 1) && dx[0] != 0);
    CHECK_OK(learner_requires_grad_(&one.training, "", true));
    forward(&one, BATCH);
    backward(&one, BATCH);
    CHECK(near(gradient(&one, 1), first[1], counts[1], 2) && near(gradient(&one, 3), first[3], counts[3], 1));
    learner_zero_grad(&one.training, true);
}

static void test_absent_ends(void)
{
    static const float zeros[FEATURES];
    float with[BATCH * 3];

    forward(&one, BATCH);
    CHECK_OK(learner_backward(&one.net, BATCH, dlogits, NULL, with));
    keep_first(&one);
    learner_zero_grad(&one.training, true);
    forward(&one, BATCH);
    CHECK_OK(learner_backward(&one.net, BATCH, dlogits, zeros, NULL));
    check_first(&one, 1);
    learner_zero_grad(&one.training, true);
    forward(&one, BATCH);
    CHECK_OK(learner_backward(&one.net, BATCH, NULL, dfeatures, dx));
    CHECK(gradient(&one, 4)[0] == 0 && gradient(&one, 3)[5] == 0);
    for (int i = 0; i < BATCH * 3; i++)
        dx[i] += with[i];
    memcpy(with, dx, sizeof with);
    forward(&one, BATCH);
    backward(&one, BATCH);
    CHECK(near(with, dx, BATCH * 3, 1)); /* the sum of both results' gradients */
    learner_zero_grad(&one.training, true);
}

static void test_refusals(void)
{
    forward(&one, BATCH);
    CHECK(learner_backward(NULL, BATCH, dlogits, NULL, NULL) == MODC_POINTER);
    CHECK(learner_backward(&one.net, BATCH, NULL, NULL, dx) == MODC_POINTER);
    CHECK(learner_backward(&one.net, BATCH, (const float *)(const void *)((const char *)dlogits + 2), NULL,
                           dx) == MODC_ALIGNMENT);
    CHECK(learner_backward(&one.net, BATCH - 1, dlogits, NULL, dx) == MODC_SIZE);
    CHECK(learner_act_backward(&one.net, BATCH, dlogits, dx) == MODC_CONSUMED);
    CHECK(gradient(&one, 4) == NULL);
    backward(&one, BATCH); /* a refused call leaves everything as it was */
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_CONSUMED);

    forward(&one, BATCH); /* whatever computes in the workspace ends what it held */
    CHECK_OK(learner_act(&one.net, 1, x, logits));
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_CONSUMED);
    CHECK_OK(learner_act_backward(&one.net, 1, dlogits, dx));

    forward(&one, BATCH);
    learner_changed(&params);
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_STALE);
    CHECK_OK(learner_pack(&params, packed, sizeof packed));

    forward(&one, BATCH);
    learner_set_grad_enabled(&one.net, false);
    forward(&one, BATCH);
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_CONSUMED);
    learner_set_grad_enabled(&one.net, true);
    indices[2] = 7;
    CHECK(learner_forward(&one.net, BATCH, x, indices, logits, features) == MODC_INDEX);
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_CONSUMED);
    indices[2] = 3;

    CHECK_OK(learner_init(&two.net, &params, two.workspace, LEARNER_TRAIN_WORKSPACE_BYTES));
    learner_eval(&two.net);
    forward(&two, BATCH); /* nobody trains: less workspace does */
    CHECK(learner_backward(&two.net, BATCH, dlogits, NULL, dx) == MODC_POINTER);
    CHECK(learner_training_init(&two.training, &two.net, NULL, sizeof two.gradients) == MODC_POINTER);
    CHECK(learner_training_init(&two.training, &two.net, two.gradients + 4, sizeof two.gradients - 4) ==
          MODC_ALIGNMENT);
    CHECK(learner_training_init(&two.training, &two.net, two.gradients, LEARNER_GRADIENT_BYTES - 1) ==
          MODC_SIZE);
    CHECK_OK(learner_training_init(&two.training, &two.net, two.gradients, sizeof two.gradients));
    CHECK(learner_forward(&two.net, BATCH, x, indices, logits, features) == MODC_WORKSPACE);
    learner_zero_grad(&one.training, true);
}

/* Masks of dropout are those of the call, whatever the mode is when backward comes. */
static void test_modes(void)
{
    float ends[LOGITS];
    double slope = 0;

    learner_train(&one.net, true);
    learner_seed(&one.net, 4);
    forward(&one, BATCH);
    learner_eval(&one.net);
    backward(&one, BATCH);
    keep_first(&one);
    learner_zero_grad(&one.training, true);
    learner_train(&one.net, true);
    forward(&one, BATCH); /* other masks */
    backward(&one, BATCH);
    CHECK(!near(gradient(&one, 3), first[3], counts[3], 1));
    learner_zero_grad(&one.training, true);
    learner_seed(&one.net, 4);
    forward(&one, BATCH);
    backward(&one, BATCH);
    check_first(&one, 1);

    /* along x the results change as dx says, under the same masks */
    memcpy(ends, logits, sizeof ends);
    for (int i = 0; i < FEATURES; i++)
        slope -= features[i] * dfeatures[i];
    x[4] += 1e-3f;
    learner_seed(&one.net, 4);
    learner_set_grad_enabled(&one.net, false);
    forward(&one, BATCH);
    learner_set_grad_enabled(&one.net, true);
    x[4] -= 1e-3f;
    for (int i = 0; i < LOGITS; i++)
        slope += (logits[i] - ends[i]) * dlogits[i];
    for (int i = 0; i < FEATURES; i++)
        slope += features[i] * dfeatures[i];
    CHECK(fabs(slope / 1e-3 - dx[4]) < 1e-2 * (1 + fabsf(dx[4])));

    forward(&one,
            BATCH); /* a seed that is set ends what the workspace held: the masks could not be drawn again */
    learner_seed(&one.net, 5);
    CHECK(learner_backward(&one.net, BATCH, dlogits, NULL, dx) == MODC_CONSUMED);
    learner_eval(&one.net);
    learner_zero_grad(&one.training, true);
}

/* Two contexts over one set of parameters know nothing of each other; of no samples there is a gradient of 0. */
static void test_contexts(void)
{
    place_context(&two);
    forward(&one, BATCH);
    forward(&two, 2);
    backward(&one, BATCH);
    check_head_bias(&one, BATCH, 1);
    CHECK(gradient(&two, 4) == NULL);
    backward(&two, 2);
    check_head_bias(&one, BATCH, 1);
    check_head_bias(&two, 2, 1);
    forward(&two, 0);
    backward(&two, 0);
    check_head_bias(&two, 2, 1);
    learner_zero_grad(&two.training, true);
    forward(&two, 0);
    backward(&two, 0);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < counts[i]; k++)
            CHECK(gradient(&two, i)[k] == 0);
    learner_zero_grad(&two.training, true);
    CHECK_OK(learner_act(&two.net, 2, x, logits));
    CHECK_OK(learner_act_backward(&two.net, 2, dlogits, dx));
    check_head_bias(&two, 2, 1);
    CHECK(gradient(&two, 0) == NULL); /* act has no embedding */
}

int main(void)
{
    CHECK_OK(learner_bind(&params, block, sizeof block));
    CHECK_OK(learner_reset(&params, 3));
    CHECK_OK(learner_pack(&params, packed, sizeof packed));
    for (int i = 0; i < BATCH * 3; i++)
        x[i] = sinf((float)i * 1.7f);
    for (int i = 0; i < LOGITS; i++)
        dlogits[i] = cosf((float)i * 2.3f);
    for (int i = 0; i < FEATURES; i++)
        dfeatures[i] = sinf((float)i * 0.9f + 1);
    test_sums();
    test_names();
    test_wanted();
    test_absent_ends();
    test_refusals();
    test_modes();
    test_contexts();
    return 0;
}
