/* threads.c - many contexts over one parameter struct: what a thread computes is what one thread alone computes. */
#include "check.h"
#include "policy.h"

#include <pthread.h>
#include <string.h>

#ifndef CALLS
#define CALLS 200
#endif
enum { THREADS = 4, BATCH = POLICY_MAX_BATCH };

struct results {
    float logits[BATCH * 2], value[BATCH], act[BATCH * 2];
};

struct job {
    pthread_t thread;
    struct policy_params *params;
    const float *observation;
    const struct results *expected; /* NULL: the first call gives found */
    struct results found;
};

static pthread_barrier_t
    all; /* here before one begins, and until all are done: else ThreadSanitizer sees one after the other */

static void *work(void *argument)
{
    struct job *job = argument;
    struct policy *net;

    CHECK_OK(policy_create(job->params, &net));
    if (job->expected)
        pthread_barrier_wait(&all);
    for (int i = 0; i < (job->expected ? CALLS : 1); i++) {
        memset(&job->found, 0, sizeof job->found);
        CHECK_OK(policy_forward(net, BATCH, job->observation, job->found.logits, job->found.value));
        for (int row = 0; row < BATCH; row++)
            CHECK_OK(policy_act(net, 1, job->observation + row * 4, job->found.act + row * 2));
        if (job->expected)
            CHECK(memcmp(&job->found, job->expected, sizeof job->found) == 0);
    }
    if (job->expected)
        pthread_barrier_wait(&all);
    policy_destroy(net);
    return NULL;
}

int main(void)
{
    static struct job jobs[THREADS], single;
    struct modc_params *base;
    struct modc_reader reader;
    struct modc_item item;
    const void *bytes;
    size_t length;

    CHECK_OK(modc_map("specs/cartpole/observations.safetensors", &bytes, &length));
    CHECK_OK(modc_reader_open(&reader, bytes, length, NULL));
    CHECK(modc_reader_find(&reader, "observation", &item) && item.dims[0] == BATCH);
    CHECK_OK(modc_params_create(&policy_model, &base));
    CHECK_OK(modc_load(base, "specs/cartpole/weights.safetensors", MODC_STRICT, NULL));
    CHECK_OK(modc_pack(base, NULL, 0));
    single.params = (struct policy_params *)(void *)base;
    single.observation = malloc(item.bytes);
    CHECK(single.observation);
    memcpy((void *)(uintptr_t)single.observation, item.data, item.bytes);
    work(&single);
    CHECK(pthread_barrier_init(&all, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++) {
        jobs[i].params = single.params;
        jobs[i].observation = single.observation;
        jobs[i].expected = &single.found;
        CHECK(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(jobs[i].thread, NULL) == 0);
    pthread_barrier_destroy(&all);
    free((void *)(uintptr_t)single.observation);
    modc_params_destroy(base);
    modc_unmap(bytes, length);
    return 0;
}
