/* hooks.c - hooks and gradients: what forward's hooks change is what backward reads, and no slope of theirs is in it. A hook that
 * adds a constant has none, so that differences say what the gradients are. */
#include "check.h"
#include "hooked.h"

#include <math.h>
#include <string.h>

enum { BATCH = 3, IN = BATCH * 3, WIDE = BATCH * 4, LOGITS = BATCH * 2, COUNT = 10 };

static const char *const keys[COUNT] = {"inner.weight", "inner.bias",   "block.fc.weight", "block.fc.bias", "twice.weight",
                                        "twice.bias",   "norm.weight",  "norm.bias",       "head.weight",   "head.bias"};
static const int counts[COUNT] = {12, 4, 16, 4, 16, 4, 4, 4, 8, 2};

static struct hooked_params params;
static struct hooked net;
static struct hooked_training training;
static MODC_ALIGNED char block[HOOKED_PARAM_BYTES], packed[HOOKED_PACKED_BYTES], gradients[HOOKED_TRAINING_BYTES],
    workspace[HOOKED_LOSS_TRAIN_FENCED_BACKWARD_WORKSPACE_BYTES];
static double x[IN], logits[LOGITS], shares[WIDE], dlogits[LOGITS], dshares[WIDE], dx[IN], target[LOGITS];
static bool mask[WIDE];

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

/* Adds to the first input of a pre-hook, or the first output: in place, or in memory of its own. */
struct shift {
    struct modc_hook hook;
    bool own;
    double memory[2][WIDE]; /* by call */
    int calls;
};

static enum modc_status add_constant(struct modc_hook_call *call)
{
    struct shift *shift = call->user;
    struct modc_tensor *tensor = call->outputs != NULL ? call->outputs : call->inputs;
    int count = tensor->dims[0] * tensor->dims[1];
    double *to = shift->own ? shift->memory[shift->calls++ % 2] : tensor->data;

    for (int i = 0; i < count; i++)
        to[i] = ((const double *)tensor->data)[i] + 0.3 + 0.1 * (i % 5);
    tensor->data = to;
    return MODC_OK;
}

static enum modc_status refuse(struct modc_hook_call *call)
{
    (void)call;
    return MODC_HOOK_ERROR;
}

static enum modc_status look(struct modc_hook_call *call)
{
    ++*(int *)call->user;
    return MODC_OK;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static void forward(void)
{
    CHECK_OK(hooked_forward(&net, BATCH, x, mask, logits, shares));
}

static void backward(void)
{
    CHECK_OK(hooked_backward(&net, BATCH, dlogits, dshares, dx));
}

static double *gradient(int i)
{
    const void *found;

    CHECK_OK(hooked_get_gradient(&training, keys[i], &found));
    return (double *)(uintptr_t)found;
}

/* What the gradients are of. */
static double value(void)
{
    double sum = 0;

    CHECK_OK(hooked_pack(&params, NULL, 0));
    hooked_set_grad_enabled(&net, false);
    forward();
    hooked_set_grad_enabled(&net, true);
    for (int i = 0; i < LOGITS; i++)
        sum += logits[i] * dlogits[i];
    for (int i = 0; i < WIDE; i++)
        sum += shares[i] * dshares[i];
    return sum;
}

static void check_slope(double *number, double slope)
{
    const double step = 1e-6, before = *number;
    double above, below;

    *number = before + step;
    above = value();
    *number = before - step;
    below = value();
    *number = before;
    if (fabs((above - below) / (2 * step) - slope) > 1e-7 * (1 + fabs(slope)))
        fprintf(stderr, "found %.10g, differences say %.10g\n", slope, (above - below) / (2 * step));
    CHECK(fabs((above - below) / (2 * step) - slope) <= 1e-7 * (1 + fabs(slope)));
}

static double *parameter(int i)
{
    double *const all[COUNT] = {params.inner.weight,    params.inner.bias, params.block.fc.weight, params.block.fc.bias,
                                params.twice.weight,    params.twice.bias, params.norm.weight,     params.norm.bias,
                                params.head.weight,     params.head.bias};
    return all[i];
}

/* Backward against differences, under the hooks that there are. */
static void check_gradients(void)
{
    double found[COUNT][16], slopes[IN];

    CHECK_OK(hooked_pack(&params, NULL, 0));
    hooked_zero_grad(&training, true);
    forward();
    backward();
    memcpy(slopes, dx, sizeof slopes);
    for (int i = 0; i < COUNT; i++)
        memcpy(found[i], gradient(i), (size_t)counts[i] * sizeof(double));
    for (int i = 0; i < IN; i++)
        check_slope(&x[i], slopes[i]);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < counts[i]; k++)
            check_slope(&parameter(i)[k], found[i][k]);
    CHECK_OK(hooked_pack(&params, NULL, 0));
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* Each module in turn, before it and behind it, in place and elsewhere; then several at once. */
static void test_values(void)
{
    static struct shift shift, others[3];

    check_gradients();
    for (int i = 0; i < 4 * HOOKED_MODULES; i++) {
        memset(&shift, 0, sizeof shift);
        shift.hook.call = add_constant;
        shift.hook.user = &shift;
        shift.own = i % 2 != 0;
        CHECK_OK((i & 2 ? hooked_register_forward_pre_hook : hooked_register_forward_hook)(&net, i / 4, &shift.hook, 0));
        check_gradients();
        modc_hook_remove(&shift.hook);
    }
    for (int i = 0; i < 3; i++)
        others[i] = (struct shift){.hook = {.call = add_constant, .user = &others[i]}, .own = i == 1};
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_BLOCK_ACT, &others[0].hook, 0));
    CHECK_OK(hooked_register_forward_pre_hook(&net, HOOKED_TWICE, &others[1].hook, 0));
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_TWICE, &others[2].hook, 0));
    check_gradients();
    for (int i = 0; i < 3; i++)
        modc_hook_remove(&others[i].hook);
}

/* A hook that does nothing changes nothing, and a step of training is the same step. */
static void test_steps(void)
{
    double plain[COUNT][16], before[COUNT][16], loss, same;
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls};

    for (int i = 0; i < COUNT; i++)
        memcpy(before[i], parameter(i), (size_t)counts[i] * sizeof(double));
    CHECK_OK(hooked_train_step(&training, BATCH, x, mask, target, &loss));
    for (int i = 0; i < COUNT; i++) {
        memcpy(plain[i], parameter(i), (size_t)counts[i] * sizeof(double));
        memcpy(parameter(i), before[i], (size_t)counts[i] * sizeof(double));
    }
    CHECK_OK(hooked_pack(&params, NULL, 0));
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_TWICE, &looking, 0));
    CHECK_OK(hooked_train_step(&training, BATCH, x, mask, target, &same));
    CHECK(calls == 2 && fabs(same - loss) < 1e-12);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < counts[i]; k++)
            CHECK(fabs(parameter(i)[k] - plain[i][k]) < 1e-12 && (i > 0 || parameter(i)[k] != before[i][k]));
        memcpy(parameter(i), before[i], (size_t)counts[i] * sizeof(double));
    }
    modc_hook_remove(&looking);
    CHECK_OK(hooked_pack(&params, NULL, 0));
}

/* What was kept with hooks is read so, whatever is registered then. */
static void test_refusals(void)
{
    int calls = 0;
    struct modc_hook looking = {.call = look, .user = &calls}, refusing = {.call = refuse};
    struct hooked_training small;

    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    forward();
    modc_hook_remove(&looking);
    backward();
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
    forward();
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    backward();

    hooked_set_grad_enabled(&net, false);
    forward();
    hooked_set_grad_enabled(&net, true);
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED && calls == 2);

    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_NORM, &refusing, 0));
    CHECK(hooked_forward(&net, BATCH, x, mask, logits, shares) == MODC_HOOK_ERROR && net.base.fault_module == HOOKED_NORM);
    CHECK(hooked_backward(&net, BATCH, dlogits, dshares, dx) == MODC_CONSUMED);
    modc_hook_remove(&refusing);

    forward();
    CHECK(hooked_backward(&net, BATCH - 1, dlogits, dshares, dx) == MODC_SIZE);
    backward();
    modc_hook_remove(&looking);

    CHECK_OK(hooked_init(&net, &params, workspace, HOOKED_FENCED_BACKWARD_WORKSPACE_BYTES - 1));
    CHECK_OK(hooked_training_init(&small, &net, gradients, sizeof gradients));
    forward();
    CHECK_OK(hooked_register_forward_hook(&net, HOOKED_HEAD, &looking, 0));
    CHECK(hooked_forward(&net, BATCH, x, mask, logits, shares) == MODC_WORKSPACE);
    modc_hook_remove(&looking);
}

int main(void)
{
    CHECK_OK(hooked_bind(&params, block, sizeof block));
    CHECK_OK(hooked_reset(&params, 3));
    CHECK_OK(hooked_pack(&params, packed, sizeof packed));
    CHECK_OK(hooked_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(hooked_training_init(&training, &net, gradients, sizeof gradients));
    for (int i = 0; i < IN; i++)
        x[i] = sin(i * 1.7);
    for (int i = 0; i < LOGITS; i++) {
        dlogits[i] = cos(i * 2.3);
        target[i] = sin(i * 0.7);
    }
    for (int i = 0; i < WIDE; i++) {
        dshares[i] = sin(i * 0.9 + 1);
        mask[i] = i % 3 != 1;
    }
    test_values();
    test_steps();
    test_refusals();
    return 0;
}
