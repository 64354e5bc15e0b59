/* slices.c - steps that are split: the same bits on one thread, on pools, and on executors that take slices in any order; two
 * contexts over one pool; contexts and models that have no threads. */
#include "slices.h"
#include "check.h"
#include "mlp.h"

#include <pthread.h>
#include <string.h>

enum { BATCH = SLICES_MAX_BATCH, TOKENS = SLICES_MAX_TOKENS, CALLS = 50 };

struct results {
    float head[BATCH * 33], narrow[BATCH * TOKENS * 5], turned[BATCH * 24 * TOKENS], one[5];
    int64_t channels[BATCH * 6 * 7];
};

static float image[BATCH * 3 * 13 * 14], x[BATCH * TOKENS * 24];

/* ---- executors of the caller's own ---- */

static int calls; /* of these */

static void run_backwards(void *self, int threads, int slices, modc_slice *function, const void *call)
{
    CHECK(self == &calls && threads >= 2 && threads <= slices);
    calls++;
    for (int i = slices - 1; i >= 0; i--)
        function(call, i);
}

struct one_slice {
    modc_slice *function;
    const void *call;
    int slice;
};

static void *run_one(void *argument)
{
    const struct one_slice *own = argument;

    own->function(own->call, own->slice);
    return NULL;
}

static void run_in_threads_of_their_own(void *self, int threads, int slices, modc_slice *function,
                                        const void *call)
{
    pthread_t list[64];
    struct one_slice jobs[64];

    (void)threads;
    CHECK(self == &calls && slices <= 64);
    calls++;
    for (int i = 0; i < slices; i++) {
        jobs[i] = (struct one_slice){function, call, i};
        CHECK(pthread_create(&list[i], NULL, run_one, &jobs[i]) == 0);
    }
    for (int i = 0; i < slices; i++)
        CHECK(pthread_join(list[i], NULL) == 0);
}

/* ---- what a context computes: in evaluation and training mode, with hooks and without, at several sizes ---- */

static enum modc_status no_change(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

enum { RUNS = 6 };

static void compute(struct slices *net, struct results *found)
{
    static const int sizes[RUNS][2] = {{BATCH, TOKENS}, {1, TOKENS}, {2, 3},
                                       {BATCH, TOKENS}, {2, 5},      {BATCH, TOKENS}};

    memset(found, 0, RUNS * sizeof *found);
    slices_seed(net, 5);
    for (int run = 0; run < RUNS; run++) {
        struct results *own = &found[run];
        struct modc_hook hook = {.call = no_change};

        slices_train(net, run == 3 || run == 4);
        if (run == 5)
            CHECK_OK(slices_register_forward_hook(net, SLICES_WIDE, &hook, 0));
        CHECK_OK(slices_forward(net, sizes[run][0], sizes[run][1], image, x, own->head, own->narrow,
                                own->turned, own->channels));
        if (run == 5)
            modc_hook_remove(&hook);
        slices_eval(net);
        if (run == 4) /* training wrote running statistics */
            CHECK_OK(modc_pack(net->base.params, NULL, 0));
        CHECK_OK(slices_one(net, 1, 1, x + run, own->one));
    }
}

/* Training changes buffers: each executor starts with fresh ones. */
static void reset(struct modc_params *params)
{
    CHECK_OK(modc_reset(params, 3));
    CHECK_OK(modc_pack(params, NULL, 0));
}

static void check_executor(struct modc_params *params, const struct results *expected,
                           const struct modc_executor *executor, int threads)
{
    static struct results found[RUNS];
    struct slices *net;

    reset(params);
    CHECK_OK(slices_create((struct slices_params *)(void *)params, &net));
    CHECK_OK(slices_set_executor(net, executor));
    if (threads > 0)
        CHECK_OK(slices_set_threads(net, threads));
    for (int round = 0; round < 3; round++) {
        reset(params);
        compute(net, found);
        CHECK(memcmp(found, expected, sizeof found) == 0);
    }
    slices_destroy(net);
}

/* ---- two contexts over one pool ---- */

struct job {
    pthread_t thread;
    struct slices_params *params;
    const struct modc_executor *pool;
    const struct results *expected;
};

static void *work(void *argument)
{
    struct job *job = argument;
    struct results *found = calloc(1, sizeof *found);
    struct slices *net;

    CHECK(found);
    CHECK_OK(slices_create(job->params, &net));
    CHECK_OK(slices_set_executor(net, job->pool));
    for (int i = 0; i < CALLS; i++) {
        CHECK_OK(slices_forward(net, BATCH, TOKENS, image, x, found->head, found->narrow, found->turned,
                                found->channels));
        CHECK_OK(slices_one(net, 1, 1, x, found->one));
        CHECK(memcmp(found, job->expected, sizeof *found) == 0);
    }
    slices_destroy(net);
    free(found);
    return NULL;
}

static void check_shared(struct modc_params *params, const struct results *expected,
                         const struct modc_executor *pool)
{
    struct job jobs[3];

    reset(params);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job){
            .params = (struct slices_params *)(void *)params, .pool = pool, .expected = expected};
        CHECK(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(jobs[i].thread, NULL) == 0);
}

/* ---- statuses ---- */

static void check_statuses(struct modc_params *params)
{
    struct modc_executor backwards = {&calls, 2, run_backwards}, alone = {&calls, 1, run_backwards};
    struct modc_params *other;
    struct slices *net;
    struct mlp *small;
    static struct results found;
    int before;

    CHECK_OK(slices_create((struct slices_params *)(void *)params, &net));
    CHECK(slices_set_threads(net, 0) == MODC_ARGUMENT);
    CHECK(modc_set_threads(NULL, 1) == MODC_POINTER && modc_set_executor(NULL, NULL) == MODC_POINTER);
    CHECK(slices_model.threads == SLICES);

    /* one thread: nobody else is asked */
    CHECK_OK(slices_set_executor(net, &backwards));
    CHECK_OK(slices_set_threads(net, 1));
    before = calls;
    CHECK_OK(
        slices_forward(net, BATCH, TOKENS, image, x, found.head, found.narrow, found.turned, found.channels));
    CHECK(calls == before);
    CHECK_OK(slices_set_threads(net, 64));
    CHECK_OK(slices_set_executor(net, &alone));
    CHECK_OK(
        slices_forward(net, BATCH, TOKENS, image, x, found.head, found.narrow, found.turned, found.channels));
    CHECK(calls == before);
    CHECK_OK(slices_set_executor(net, &backwards));
    CHECK_OK(
        slices_forward(net, BATCH, TOKENS, image, x, found.head, found.narrow, found.turned, found.channels));
    CHECK(calls > before);
    slices_destroy(net);

    /* a model without threads has nothing of it */
    CHECK(mlp_model.threads == 0 && sizeof(struct mlp) == sizeof(struct modc_context));
    CHECK_OK(modc_params_create(&mlp_model, &other));
    CHECK_OK(mlp_create((struct mlp_params *)(void *)other, &small));
    CHECK(modc_set_executor(&small->base, &backwards) == MODC_UNSUPPORTED);
    CHECK(modc_set_threads(&small->base, 2) == MODC_UNSUPPORTED);
    mlp_destroy(small);
    modc_params_destroy(other);
}

int main(void)
{
    static struct results expected[RUNS];
    struct modc_executor backwards = {&calls, 2, run_backwards},
                         many = {&calls, 64, run_in_threads_of_their_own};
    struct modc_params *params;
    struct slices *net;

    for (size_t i = 0; i < sizeof image / sizeof image[0]; i++)
        image[i] = (float)((int)(i * 37 % 101) - 50) / 40.0f;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = (float)((int)(i * 53 % 97) - 48) / 30.0f;
    CHECK_OK(modc_params_create(&slices_model, &params));
    reset(params);
    CHECK_OK(slices_create((struct slices_params *)(void *)params, &net));
    compute(net, expected); /* on this thread: nobody gave it another one */
    slices_destroy(net);

    check_executor(params, expected, NULL, 0);
    check_executor(params, expected, &backwards, 0);
    check_executor(params, expected, &many, 0);
    CHECK(calls > 0);
    for (int threads = 1; threads <= 4; threads++) {
        struct modc_executor *pool;

        CHECK_OK(modc_pool_create(threads, &pool));
        check_executor(params, expected, pool, 0);
        check_executor(params, expected, pool, 2);
        check_shared(params, expected, pool);
        modc_pool_destroy(pool);
    }
    check_statuses(params);
    modc_params_destroy(params);
    return 0;
}
