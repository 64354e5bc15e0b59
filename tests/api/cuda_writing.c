/* cuda_writing.c - a generator over a model on a GPU writes what one over the processor's writes: sequences that fork, are saved and loaded (by
 * the other machine, too), batches, samples, beams, a queue. Calls of CUDA fail, one at a time: the step or whatever it was tells it, and
 * made again it leads to the same tokens. Kernels fail while they run: it is told, and tokens stay. On a GPU nothing fails. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "modc_device.h"
#include "modc_host.h"
#include "modc_queue.h"
#include "writer.h"
#include "writer_cuda.h"

enum { CONTEXT = WRITER_CONTEXT, SEQUENCES = WRITER_SEQUENCES, ROOM = 1 << 14, EVERY = 11 };

struct side {
    const struct modc_generation *table;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_generator *gen;
};

static struct side host = {.table = &writer_generation}, device = {.table = &writer_cuda_generation};

static void start(struct side *side)
{
    CHECK_OK(modc_params_create(side->table->model, &side->params));
    CHECK_OK(modc_reset(side->params, 5));
    CHECK_OK(modc_pack(side->params, NULL, 0));
    CHECK_OK(modc_create(side->table->model, side->params, 0, &side->net));
    CHECK_OK(modc_generator_create(side->table, side->net, &side->gen));
    CHECK(side->gen->clock != NULL);
}

static void end(const struct side *side)
{
    modc_generator_destroy(side->gen);
    modc_destroy(side->net);
    modc_params_destroy(side->params);
}

static void end_sequences(const struct side *side)
{
    for (int i = 0; i < SEQUENCES; i++)
        modc_generator_end(side->gen, i);
}

/* ---- sequences ---------------------------------------------------------------------------------------------------- */

/* What sequences have at the end of a run, and how often it was told that something failed. */
struct story {
    int64_t ids[SEQUENCES][CONTEXT];
    int lengths[SEQUENCES];
    char saved[ROOM];
    size_t bytes;
    int told;
};

#define ONCE_MORE(call)                                                                                      \
    do {                                                                                                     \
        enum modc_status status_ = (call);                                                                   \
        if (status_ == MODC_GPU && story->told++ == 0)                                                       \
            status_ = (call);                                                                                \
        if (status_ != MODC_OK)                                                                              \
            return status_;                                                                                  \
    } while (0)

/* Steps until all have ended, or this one has so many tokens: a step that failed may make it several. */
static enum modc_status write_on(const struct side *side, struct story *story, int sequence, int tokens)
{
    struct modc_event events[SEQUENCES];
    int told, count;

    do {
        ONCE_MORE(modc_generator_step(side->gen, events, SEQUENCES, &told));
        for (int k = 0; k < told; k++)
            CHECK(events[k].token >= 0);
        modc_generator_ids(side->gen, sequence, &count, NULL);
    } while (modc_generator_active(side->gen) > 0 && count < tokens);
    return modc_generator_stop(side->gen, sequence);
}

static enum modc_status tell(const struct side *side, struct story *story)
{
    static const int64_t prompt[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, source[] = {3, 9, 4},
                         other[] = {7, 8, 8, 1, 2, 2}, more[] = {6, 11};
    struct modc_generator *gen = side->gen;
    struct modc_generation_options options;
    int a, b, c, d;

    memset(story, 0, sizeof *story);
    modc_generation_defaults(&options);
    options.max_new_tokens = 3;
    CHECK_OK(modc_generator_begin(gen, prompt + 4, 1, &options, 0, &b));
    options.max_new_tokens = 2;
    options.temperature = 1;
    options.seed = 3;
    CHECK_OK(modc_generator_begin(gen, prompt, 9, &options, 4, &a)); /* more than there are rows */
    ONCE_MORE(modc_generator_encode(gen, a, source, 3));
    ONCE_MORE(modc_generator_encode(gen, b, other, 6));
    MODC_TRY(write_on(side, story, a, CONTEXT));
    ONCE_MORE(modc_generator_fork(gen, a, 1, &c)); /* in the middle of a page */
    CHECK_OK(modc_generator_extend(gen, a, more, 1));
    CHECK_OK(modc_generator_extend(gen, c, more + 1, 1));
    MODC_TRY(write_on(side, story, a, CONTEXT));
    ONCE_MORE(modc_generator_save(gen, c, story->saved, ROOM, &story->bytes));
    CHECK_OK(modc_generator_end(gen, c));
    ONCE_MORE(modc_generator_load(gen, story->saved, story->bytes, &d));
    CHECK_OK(modc_generator_extend(gen, d, more, 2));
    MODC_TRY(write_on(side, story, d, 18));
    for (int i = 0; i < SEQUENCES; i++) {
        const int64_t *ids = modc_generator_ids(gen, i, &story->lengths[i], NULL);

        if (ids != NULL)
            memcpy(story->ids[i], ids, (size_t)story->lengths[i] * sizeof *ids);
    }
    end_sequences(side);
    return MODC_OK;
}

static void check_same(const struct story *a, const struct story *b)
{
    CHECK(memcmp(a->ids, b->ids, sizeof a->ids) == 0 &&
          memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0);
    CHECK(a->bytes == b->bytes);
}

/* What one has saved the other goes on with. */
static void test_loads(const struct story *from, const struct story *to)
{
    int64_t ids[2][CONTEXT];
    int lengths[2];

    for (int i = 0; i < 2; i++) {
        const struct side *side = i == 0 ? &device : &host;
        struct story story = {.told = 0};
        const int64_t next = 5;
        int at;

        CHECK_OK(modc_generator_load(side->gen, (i == 0 ? from : to)->saved, from->bytes, &at));
        CHECK_OK(modc_generator_extend(side->gen, at, &next, 1));
        CHECK_OK(write_on(side, &story, at, 18));
        memcpy(ids[i], modc_generator_ids(side->gen, at, &lengths[i], NULL), sizeof ids[i]);
        end_sequences(side);
    }
    CHECK(lengths[0] == lengths[1] && memcmp(ids[0], ids[1], (size_t)lengths[0] * sizeof ids[0][0]) == 0);
}

/* ---- calls that fail ---------------------------------------------------------------------------------------------- */

#ifdef CUDA_HOST_ERRORS
static void test_failing(const struct story *expected)
{
    static struct story story;
    int runs = 0, number = 1;

    do {
        cuda_host_fail(number, cudaErrorUnknown);
        CHECK_OK(tell(&device, &story));
        check_same(&story, expected);
        number += EVERY;
        runs += story.told;
    } while (story.told > 0);
    cuda_host_fail(0, cudaSuccess);
    CHECK(runs > 20);
}

/* Nothing works from then on, but what sequences have. */
static void test_kernels_failing(const struct story *expected)
{
    static struct story story;

    for (int number = 5; number < 200; number += 60) {
        int count, prompt;
        const int64_t *ids;

        cuda_host_fail_launch(number, cudaErrorLaunchFailure);
        CHECK(tell(&device, &story) == MODC_GPU);
        ids = modc_generator_ids(device.gen, 1, &count, &prompt);
        CHECK(ids != NULL && count >= 9 && prompt >= 9 &&
              memcmp(ids, expected->ids[1], (size_t)count * sizeof *ids) == 0);
        end_sequences(&device);
        cuda_host_fail_launch(0, cudaSuccess);
        CHECK(cuda_host_faults() >= 0); /* clears the error */
        CHECK_OK(modc_reset_state(device.net));
        CHECK_OK(tell(&device, &story));
        check_same(&story, expected);
    }
}

static void test_create_failing(void)
{
    struct modc_generator *gen = device.gen;

    cuda_host_fail(1, cudaErrorMemoryAllocation);
    CHECK(modc_generator_create(device.table, device.net, &gen) == MODC_MEMORY && gen == NULL);
    cuda_host_fail(0, cudaSuccess);
}
#endif

/* ---- batches ------------------------------------------------------------------------------------------------------ */

enum { PROMPTS = 3, EACH = 3, RESPONSES = PROMPTS * EACH, LENGTH = 9 };

static const int64_t sources[] = {1, 2, 3, 4, 5, 6, 9, 20, 9, 13};
static const int offsets[] = {0, 6, 7, 10};

struct written {
    int64_t ids[RESPONSES * LENGTH];
    float log_probs[RESPONSES * LENGTH], scores[RESPONSES];
    int lengths[RESPONSES];
};

static void write_batch(const struct side *side, const struct modc_generation_options *options,
                        struct written *w)
{
    static MODC_ALIGNED char memory[ROOM];
    struct modc_responses out = {w->ids, w->log_probs, w->lengths, NULL, w->scores, LENGTH, 0};
    const struct modc_prompts prompts = {.count = PROMPTS, .sources = sources, .source_offsets = offsets};

    memset(w, 0, sizeof *w);
    CHECK_OK(modc_generator_write(side->gen, &prompts, options, &out, NULL, NULL, memory, sizeof memory));
}

static void check_batch(const struct modc_generation_options *options)
{
    struct written a, b;

    write_batch(&host, options, &a);
    write_batch(&device, options, &b);
    CHECK(memcmp(a.ids, b.ids, sizeof a.ids) == 0 && memcmp(a.lengths, b.lengths, sizeof a.lengths) == 0);
    for (int i = 0; i < RESPONSES * LENGTH; i++)
        CHECK(fabsf(a.log_probs[i] - b.log_probs[i]) < 1e-5f);
    for (int i = 0; i < RESPONSES; i++)
        CHECK(fabsf(a.scores[i] - b.scores[i]) < 1e-5f);
}

static void test_batches(void)
{
    struct modc_generation_options options;

    modc_generation_defaults(&options);
    options.max_new_tokens = LENGTH;
    options.logprobs = MODC_LOGPROBS_RESPONSE;
    check_batch(&options);
    options.temperature = 1.5f;
    options.num_return_sequences = EACH;
    check_batch(&options);
    modc_generation_defaults(&options);
    options.max_new_tokens = LENGTH;
    options.logprobs = MODC_LOGPROBS_RESPONSE;
    options.num_beams = 3;
    options.num_return_sequences = 2;
    check_batch(&options);
}

/* ---- a queue ------------------------------------------------------------------------------------------------------ */

static void serve(const struct side *side, struct written *w)
{
    struct modc_queue_settings settings;
    struct modc_generation_options options;
    struct modc_queue *queue;
    uint64_t tickets[RESPONSES];

    memset(w, 0, sizeof *w);
    modc_generation_defaults(&options);
    options.max_new_tokens = LENGTH - 2;
    options.temperature = 1;
    modc_queue_defaults(&settings);
    CHECK_OK(modc_queue_create(side->gen, &settings, NULL, 0, &queue));
    CHECK_OK(modc_queue_start(queue)); /* a thread of its own */
    for (int i = 0; i < RESPONSES; i++) {
        const int from = offsets[i % PROMPTS];
        const struct modc_queue_item item = {.source = sources + from,
                                             .source_count = offsets[i % PROMPTS + 1] - from,
                                             .options = &options,
                                             .number = (uint64_t)i};

        CHECK_OK(modc_queue_submit(queue, &item, MODC_FOREVER, &tickets[i], NULL, 0));
    }
    for (int i = 0; i < RESPONSES; i++) {
        struct modc_queue_result result = {
            .responses = {.ids = w->ids + i * LENGTH, .lengths = &w->lengths[i], .room = LENGTH}};

        CHECK_OK(modc_queue_wait(queue, tickets[i], MODC_FOREVER, &result));
        CHECK_OK(result.status);
    }
    modc_queue_destroy(queue);
}

static void test_queue(void)
{
    struct written a, b;

    serve(&host, &a);
    serve(&device, &b);
    CHECK(memcmp(a.ids, b.ids, sizeof a.ids) == 0 && memcmp(a.lengths, b.lengths, sizeof a.lengths) == 0);
}

int main(void)
{
    static struct story first, second;

    start(&host);
    start(&device);
    CHECK_OK(tell(&host, &first));
    CHECK_OK(tell(&device, &second));
    check_same(&first, &second);
    test_loads(&first, &second);
    test_batches();
    test_queue();
#ifdef CUDA_HOST_ERRORS
    test_failing(&second);
    test_kernels_failing(&second);
    test_create_failing();
#endif
    end(&host);
    end(&device);
#ifdef CUDA_HOST_ERRORS
    CHECK(cuda_host_held() == 0);
#endif
    return 0;
}
