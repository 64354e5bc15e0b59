/* denormals.c - `denormals: flush`: zeros on any thread, the caller's mode after every way out of a call; and a caller that
 * flushes by itself. tests/vectors has the numbers of PyTorch. */
#include "denormals.h"
#include "check.h"
#include "denormals_flush.h"

#include <pthread.h>
#include <string.h>

enum { BATCH = DENORMALS_MAX_BATCH, PIXELS = 9 * 10 };

static float tiny[BATCH * 16 * PIXELS], x[BATCH * 24];

struct results {
    float conv[BATCH * 32 * PIXELS], point[BATCH * 8 * PIXELS], half[BATCH * 16 * PIXELS], sum[BATCH * 16],
        line[BATCH * 40], head[BATCH * 5], product[BATCH * 24];
};

static struct results found, expected;

/* Everything but head, which is ordinary. */
static bool is_zero(const struct results *r)
{
    const float *values = (const float *)(const void *)r;

    for (size_t i = 0; i < sizeof *r / sizeof *values; i++)
        if (values[i] != 0.0f && (values + i < r->head || values + i >= r->product))
            return false;
    return true;
}

static modc_slice *step;
static const void *operands;

static void *run_slice(void *slice)
{
    step(operands, *(int *)slice);
    return NULL;
}

/* Each slice in a new thread, which knows nothing of the caller's mode. */
static void run_in_new_threads(void *self, int threads, int slices, modc_slice *function, const void *call)
{
    (void)threads;
    step = function;
    operands = call;
    ++*(int *)self;
    for (int i = 0; i < slices; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, run_slice, &i) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static uint64_t seen;

static enum modc_status see_mode(struct modc_hook_call *call)
{
    seen = modc_float_mode();
    return call->user ? MODC_HOOK_ERROR : MODC_OK;
}

static enum modc_status flushed(struct denormals_flush *net, int batch)
{
    memset(&found, 0, sizeof found);
    return denormals_flush_forward(net, batch, tiny, x, found.conv, found.point, found.half, found.sum,
                                   found.line, found.head, found.product);
}

static enum modc_status kept(struct denormals *net)
{
    memset(&found, 0, sizeof found);
    return denormals_forward(net, BATCH, tiny, x, found.conv, found.point, found.half, found.sum, found.line,
                             found.head, found.product);
}

int main(void)
{
    static const char weights[] = "build/vectors/denormals_3/weights.safetensors";
    const uint64_t before = modc_float_mode();
    uint64_t flushing;
    int calls = 0;
    struct modc_executor threads = {&calls, 4, run_in_new_threads};
    struct modc_hook hook = {.call = see_mode};
    struct modc_params *params, *others;
    struct modc_executor *pool;
    struct denormals_flush *net;
    struct denormals *plain;

    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++)
        tiny[i] = (float)(i % 7 + 1) * 1e-40f;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(i % 5) - 1.5f;
    CHECK_OK(modc_params_create(&denormals_model, &params));
    CHECK_OK(modc_params_create(&denormals_flush_model, &others));
    CHECK_OK(modc_load(params, weights, MODC_STRICT, NULL));
    CHECK_OK(modc_load(others, weights, MODC_STRICT, NULL));
    CHECK_OK(modc_pack(params, NULL, 0));
    CHECK_OK(modc_pack(others, NULL, 0));
    CHECK_OK(denormals_create((struct denormals_params *)(void *)params, &plain));
    CHECK_OK(denormals_flush_create((struct denormals_flush_params *)(void *)others, &net));

    /* as they are, and the caller's own flushing */
    CHECK_OK(kept(plain));
    CHECK(modc_float_mode() == before);
    CHECK(found.conv[40] != 0.0f && found.half[3] == tiny[3] * 0.5f && found.sum[0] > 0.0f &&
          found.line[0] != 0.0f);
    CHECK(modc_flush_denormals() == before);
    flushing = modc_float_mode();
    if (flushing == before) /* a machine that cannot */
        return 0;
    CHECK_OK(kept(plain));
    CHECK(is_zero(&found) && found.head[0] != 0.0f);
    expected = found;
    CHECK_OK(flushed(net, BATCH));
    CHECK(modc_float_mode() == flushing && memcmp(&found, &expected, sizeof found) == 0);
    modc_set_float_mode(before);

    /* the model's flushing, and every way out of it */
    CHECK_OK(flushed(net, BATCH));
    CHECK(modc_float_mode() == before && memcmp(&found, &expected, sizeof found) == 0);
    CHECK(flushed(net, BATCH + 1) == MODC_SIZE && modc_float_mode() == before);
    CHECK_OK(denormals_flush_register_forward_hook(net, DENORMALS_FLUSH_FC, &hook, 0));
    CHECK_OK(flushed(net, BATCH));
    CHECK(seen == flushing && modc_float_mode() == before && is_zero(&found));
    hook.user = &hook;
    CHECK(flushed(net, BATCH) == MODC_HOOK_ERROR && modc_float_mode() == before);
    modc_hook_remove(&hook);

    /* other threads */
    CHECK_OK(denormals_flush_set_executor(net, &threads));
    CHECK_OK(flushed(net, BATCH));
    CHECK(calls > 0 && memcmp(&found, &expected, sizeof found) == 0);
    CHECK_OK(modc_pool_create(3, &pool));
    CHECK_OK(denormals_flush_set_executor(net, pool));
    CHECK_OK(denormals_set_executor(plain, pool));
    for (int round = 0; round < 20; round++) {
        CHECK_OK(flushed(net, BATCH));
        CHECK(memcmp(&found, &expected, sizeof found) == 0);
        CHECK_OK(kept(plain));
        CHECK(found.half[3] == tiny[3] * 0.5f && found.line[BATCH * 40 - 1] != 0.0f);
    }
    denormals_flush_destroy(net);
    denormals_destroy(plain);
    modc_pool_destroy(pool);
    modc_params_destroy(params);
    modc_params_destroy(others);
    return 0;
}
