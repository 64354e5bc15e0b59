/* rollout.c - calls of the models of bench/rollout that its clock takes: one pointer, a status. */
#include <string.h>

#include "returns.h"
#include "steps.h"

struct bench_steps {
    struct steps_rollout rollout;
    int batch, time;
};

struct bench_copy {
    void *to;
    const void *from;
    size_t bytes;
};

struct bench_returns {
    struct modc_context *net;
    int batch, time;
    const float *value, *next_value, *reward;
    const bool *done, *terminated;
    float *advantage, *target;
};

int bench_n_step(void *user)
{
    const struct bench_steps *job = (const struct bench_steps *)user;

    return steps_n_step(&job->rollout, job->batch, job->time);
}

int bench_copied(void *user)
{
    const struct bench_copy *job = (const struct bench_copy *)user;

    memcpy(job->to, job->from, job->bytes);
    return 0;
}

int bench_gae(void *user)
{
    const struct bench_returns *job = (const struct bench_returns *)user;

    return returns_forward((struct returns *)(void *)job->net, job->batch, job->time, job->value,
                           job->next_value, job->reward, job->done, job->terminated, job->advantage,
                           job->target);
}
