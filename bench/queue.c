/* queue.c - tokens a second of clients of a queue, and of the same prompts one by one and as a batch without one; see bench/queue. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2.h"
#include "modc_queue.h"
#include "process.h"

enum { PROMPT = 16, TOKENS = 64, REQUESTS = 16, MOST = 64 };

static struct modc_generation_options options;
static struct modc_generator gen;
static struct modc_queue *queue;
static int64_t prompts[REQUESTS * PROMPT];
static double times[REQUESTS]; /* of each request by the queue: what the process computed meanwhile */
static int next;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int take(void)
{
    int request;

    pthread_mutex_lock(&mutex);
    request = next++;
    pthread_mutex_unlock(&mutex);
    return request;
}

static void *client(void *unused)
{
    (void)unused;
    for (int i; (i = take()) < REQUESTS;) {
        const struct modc_queue_item item = {
            .ids = prompts + (size_t)i * PROMPT, .count = PROMPT, .options = &options};
        struct modc_queue_result result = {.status = MODC_OK};
        const double begun = now();
        uint64_t ticket;

        check(modc_queue_submit(queue, &item, MODC_FOREVER, &ticket, NULL, 0));
        check(modc_queue_wait(queue, ticket, MODC_FOREVER, &result));
        check(result.status);
        times[i] = now() - begun;
    }
    return NULL;
}

static double by_queue(int clients)
{
    pthread_t threads[MOST];
    const double begun = now();

    next = 0;
    for (int i = 0; i < clients; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    return now() - begun;
}

/* So many at a time, by modc_generator_write. */
static double by_write(int each)
{
    static int64_t ids[REQUESTS * TOKENS];
    static int lengths[REQUESTS], offsets[REQUESTS + 1];
    const double begun = now();

    for (int i = 0; i <= each; i++)
        offsets[i] = i * PROMPT;
    for (int i = 0; i < REQUESTS; i += each) {
        const struct modc_prompts batch = {
            .ids = prompts + (size_t)i * PROMPT, .offsets = offsets, .count = each};
        struct modc_responses out = {.ids = ids, .lengths = lengths, .room = TOKENS};

        check(modc_generator_write(&gen, &batch, &options, &out, NULL, NULL, NULL, 0));
    }
    return now() - begun;
}

int main(void)
{
    const int counts[] = {1, 4, 16};
    struct modc_params *params;
    struct modc_queue_settings settings;
    struct gpt2 *net;
    void *block;
    double alone = 0;

    check(modc_params_create(&gpt2_model, &params));
    check(modc_reset(params, 1));
    check(modc_pack(params, NULL, 0));
    check(gpt2_create((struct gpt2_params *)(void *)params, &net));
    if (posix_memalign(&block, 64, GPT2_GENERATOR_BYTES) != 0)
        return 1;
    check(gpt2_generator_init(&gen, net, block, GPT2_GENERATOR_BYTES));
    modc_generation_defaults(&options);
    options.max_new_tokens = TOKENS;
    options.ignore_eos = true;
    for (int i = 0; i < REQUESTS * PROMPT; i++)
        prompts[i] = (i * 7919 + 13) % gpt2_generation.vocabulary;
    for (int i = 0; i < 3; i++) {
        const double took = by_write(counts[i]);

        alone = i == 0 ? took : alone;
        printf("batches of %-2d   %7.0f tokens/s  %5.2f\n", counts[i], REQUESTS * TOKENS / took,
               alone / took);
    }
    modc_queue_defaults(&settings);
    check(modc_queue_create(&gen, &settings, NULL, 0, &queue));
    check(modc_queue_start(queue));
    for (int i = 0; i < 3; i++) {
        const double took = by_queue(counts[i]);
        double sum = 0;

        for (int k = 0; k < REQUESTS; k++)
            sum += times[k];
        printf("%2d clients      %7.0f tokens/s  %5.2f, %.2f s a request\n", counts[i],
               REQUESTS * TOKENS / took, alone / took, sum / REQUESTS);
    }
    modc_queue_destroy(queue);
    return 0;
}
