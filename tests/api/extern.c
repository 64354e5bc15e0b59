/* extern.c - bodies in C: what they are told, forward and backward against the same in a spec, their errors, swapped in a context. */
#include "check.h"
#include "ext.h"
#include "plain.h"

#include <string.h>

enum { BATCH = 3, IN = 6, OUT = 8 };

/* What the bodies were last told, and what they are to return. */
static struct {
    int calls, module, swapped;
    const char *path;
    void *user;
    bool busy;
    enum modc_status status;
} seen;

static void look(const struct modc_extern_call *call)
{
    seen.calls++;
    seen.module = call->module;
    seen.path = call->path;
    seen.user = call->user;
    seen.busy = call->context->busy;
}

static int64_t count(const struct modc_const_tensor *tensor)
{
    int64_t all = 1;

    for (int i = 0; i < tensor->ndim; i++)
        all *= tensor->dims[i];
    return all;
}

enum modc_status ext_extern_scaled(struct modc_extern_call *call)
{
    const float *x = call->inputs[0].data, *w = call->inputs[1].data;
    float *y = call->outputs[0].data;

    look(call);
    CHECK(call->input_count == 2 && call->output_count == 1 && call->results == NULL &&
          call->grad_inputs == NULL);
    CHECK(call->inputs[0].dtype == MODC_FLOAT32 && call->inputs[0].ndim == 2 &&
          call->inputs[0].dims[1] == OUT);
    CHECK(call->outputs[0].dims[0] == call->inputs[0].dims[0] && call->inputs[1].dims[0] == OUT);
    for (int64_t i = 0; i < count(&call->inputs[0]); i++)
        y[i] = x[i] * w[i % OUT];
    return seen.status;
}

enum modc_status ext_extern_scaled_backward(struct modc_extern_call *call)
{
    const float *x = call->inputs[0].data, *w = call->inputs[1].data, *y = call->results[0].data;
    const float *dy = call->grad_outputs[0].data;
    float *dx = call->grad_inputs[0].data, *dw = call->grad_inputs[1].data;

    look(call);
    CHECK(call->input_count == 2 && call->output_count == 1 && call->outputs == NULL && dy != NULL);
    for (int i = 0; dw != NULL && i < OUT; i++)
        dw[i] = 0;
    for (int64_t i = 0; i < count(&call->inputs[0]); i++) {
        CHECK(y[i] == x[i] * w[i % OUT]);
        if (dx != NULL)
            dx[i] = dy[i] * w[i % OUT];
        if (dw != NULL)
            dw[i % OUT] += dy[i] * x[i];
    }
    return seen.status;
}

/* How many of each row are above 0, and all of it twice. */
enum modc_status ext_extern_sums(struct modc_extern_call *call)
{
    const float *x = call->inputs[0].data;
    int64_t *positive = call->outputs[0].data;
    float *doubled = call->outputs[1].data;

    look(call);
    CHECK(call->input_count == 1 && call->output_count == 2 && call->outputs[0].dtype == MODC_INT64);
    CHECK(call->outputs[0].ndim == 1 && call->outputs[1].ndim == 2);
    for (int i = 0; i < call->inputs[0].dims[0]; i++) {
        positive[i] = 0;
        for (int j = 0; j < OUT; j++) {
            positive[i] += x[i * OUT + j] > 0;
            doubled[i * OUT + j] = 2 * x[i * OUT + j];
        }
    }
    return seen.status;
}

static struct ext_params params;
static struct ext net, other;
static struct ext_training training;
static MODC_ALIGNED char block[EXT_PARAM_BYTES], packed[EXT_PACKED_BYTES];
static MODC_ALIGNED char workspaces[2][1 << 14], gradients[EXT_GRADIENT_BYTES];
static struct plain_params plain_params;
static struct plain plain;
static struct plain_training plain_training;
static MODC_ALIGNED char plain_block[PLAIN_PARAM_BYTES], plain_packed[PLAIN_PACKED_BYTES];
static MODC_ALIGNED char plain_workspace[1 << 14], plain_gradients[PLAIN_GRADIENT_BYTES];
static float x[BATCH * IN], dy[BATCH * OUT];

struct results {
    float y[BATCH * OUT], doubled[BATCH * OUT], dx[BATCH * IN];
    int64_t positive[BATCH], calls;
};

static enum modc_status forward(struct ext *context, struct results *r)
{
    return ext_forward(context, BATCH, x, r->y, r->positive, r->doubled, &r->calls);
}

static bool same(const struct results *a, const struct results *b)
{
    return memcmp(a->y, b->y, sizeof a->y) == 0 && memcmp(a->doubled, b->doubled, sizeof a->doubled) == 0 &&
           memcmp(a->dx, b->dx, sizeof a->dx) == 0 &&
           memcmp(a->positive, b->positive, sizeof a->positive) == 0;
}

static enum modc_status pass(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

/* Against the same model in a spec's words, fused and with hooks. */
static void check_numbers(void)
{
    struct results r = {.calls = 0}, expected = {.calls = 0};
    struct modc_hook hook = {.call = pass};

    CHECK_OK(plain_training_init(&plain_training, &plain, plain_gradients, sizeof plain_gradients));
    CHECK_OK(
        plain_forward(&plain, BATCH, x, expected.y, expected.positive, expected.doubled, &expected.calls));
    CHECK_OK(plain_backward(&plain, BATCH, dy, NULL, expected.dx));
    CHECK_OK(ext_training_init(&training, &net, gradients, sizeof gradients));
    for (int hooked = 0; hooked < 2; hooked++) {
        if (hooked)
            CHECK_OK(ext_register_forward_hook(&net, EXT_SCALED_0_BODY, &hook, 0));
        ext_zero_grad(&training, true);
        memset(&r, 0, sizeof r);
        seen.calls = 0;
        CHECK_OK(forward(&net, &r));
        CHECK(seen.calls == 3 && seen.module == EXT_SUMS && strcmp(seen.path, "sums") == 0 && seen.busy);
        CHECK(!net.base.busy && r.calls == 1 + hooked);
        CHECK_OK(ext_backward(&net, BATCH, dy, NULL, r.dx));
        CHECK(seen.calls == 5 && seen.module == EXT_SCALED_0_BODY && strcmp(seen.path, "scaled.0.body") == 0);
        CHECK(same(&r, &expected));
        CHECK(memcmp(training.gradients.fc.weight, plain_training.gradients.fc.weight,
                     sizeof(float) * IN * OUT) == 0);
        for (int i = 0; i < 2; i++)
            CHECK(memcmp(training.gradients.scaled[i].weight, plain_training.gradients.scaled[i].weight,
                         sizeof(float) * OUT) == 0);
    }
    modc_hook_remove(&hook);
}

/* An error ends the call, and leaves no trace: the state was written before it. */
static void check_errors(void)
{
    struct results r, before;

    CHECK_OK(forward(&net, &before));
    seen.status = MODC_HOOK_ERROR;
    seen.calls = 0;
    CHECK(forward(&net, &r) == MODC_HOOK_ERROR && seen.calls == 1);
    CHECK(net.base.fault_module == EXT_SCALED_0_BODY && !net.base.busy);
    CHECK(ext_backward(&net, BATCH, dy, NULL, r.dx) == MODC_CONSUMED);
    seen.status = MODC_OK;
    CHECK_OK(forward(&net, &r));
    CHECK(r.calls == before.calls + 1);
    seen.status = MODC_ARGUMENT;
    CHECK(ext_backward(&net, BATCH, dy, NULL, r.dx) == MODC_ARGUMENT);
    CHECK(net.base.fault_module == EXT_SCALED_1_BODY);
    seen.status = MODC_OK;
}

static enum modc_status half(struct modc_extern_call *call)
{
    const float *in = call->inputs[0].data;
    float *out = call->outputs[0].data;

    look(call);
    for (int64_t i = 0; i < count(&call->inputs[0]); i++)
        out[i] = in[i] / 2;
    return MODC_OK;
}

static enum modc_status write_parameters(struct modc_extern_call *call)
{
    ext_changed(&params);
    return half(call);
}

/* A context has bodies of its own, and the other one has not. */
static void check_swapped(void)
{
    struct modc_extern own = {.call = half, .user = &seen}, twice = {.call = half},
                       writing = {.call = write_parameters};
    struct results r, expected;

    CHECK_OK(forward(&other, &expected));
    CHECK_OK(ext_set_extern(&net, "scaled", &own));
    CHECK(ext_set_extern(&other, "scaled", &own) == MODC_ARGUMENT);
    CHECK(ext_set_extern(&net, "scale", &twice) == MODC_NAME);
    CHECK(ext_set_extern(&net, NULL, &twice) == MODC_POINTER);
    seen.user = NULL;
    CHECK_OK(forward(&net, &r));
    CHECK(memcmp(r.y, expected.y, sizeof r.y) != 0 && seen.user == NULL); /* of sums, the last */
    CHECK(ext_backward(&net, BATCH, dy, NULL, r.dx) == MODC_UNSUPPORTED); /* it has none */
    CHECK_OK(forward(&other, &r));
    CHECK(memcmp(r.y, expected.y, sizeof r.y) == 0);
    CHECK_OK(ext_set_extern(&net, "scaled", &twice)); /* in the place of the other */
    CHECK_OK(ext_set_extern(&other, "scaled", &own));
    CHECK_OK(forward(&other, &r));
    CHECK(memcmp(r.y, expected.y, sizeof r.y) != 0);
    CHECK_OK(ext_set_extern(&net, "scaled", &writing));
    CHECK(forward(&net, &r) == MODC_STALE);
    CHECK_OK(ext_pack(&params, packed, sizeof packed));
    CHECK_OK(ext_set_extern(&net, "scaled", NULL));
    CHECK_OK(ext_set_extern(&net, "scaled", NULL));
    CHECK_OK(ext_set_extern(&other, "scaled", NULL));
    CHECK_OK(forward(&net, &r));
    CHECK(memcmp(r.y, expected.y, sizeof r.y) == 0);
}

int main(void)
{
    for (int i = 0; i < BATCH * IN; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < BATCH * OUT; i++)
        dy[i] = (float)(i * 53 % 89) / 40 - 1;
    CHECK_OK(ext_bind(&params, block, sizeof block));
    CHECK_OK(plain_bind(&plain_params, plain_block, sizeof plain_block));
    ext_reset(&params, 5);
    plain_reset(&plain_params, 5);
    for (int i = 0; i < OUT; i++)
        for (int k = 0; k < 2; k++)
            params.scaled[k].weight[i] = plain_params.scaled[k].weight[i] = (float)(i - 3) / 2 + (float)k;
    CHECK_OK(ext_pack(&params, packed, sizeof packed));
    CHECK_OK(plain_pack(&plain_params, plain_packed, sizeof plain_packed));
    CHECK_OK(ext_init(&net, &params, workspaces[0], sizeof workspaces[0]));
    CHECK_OK(ext_init(&other, &params, workspaces[1], sizeof workspaces[1]));
    CHECK_OK(plain_init(&plain, &plain_params, plain_workspace, sizeof plain_workspace));
    CHECK(sizeof workspaces[0] >= EXT_TRAIN_FENCED_BACKWARD_WORKSPACE_BYTES);
    check_numbers();
    check_errors();
    check_swapped();
    return 0;
}
