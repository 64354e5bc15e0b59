/* queue.c - the queue of a service: settings and statuses, who begins when, what ends an item, and that an item writes what
 * modc_generator_write alone does, whatever else runs. */
#include "check.h"
#include "mamba.h"
#include "modc_queue.h"
#include "writer.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#ifndef CLIENTS
#define CLIENTS 64
#endif
enum { CONTEXT = WRITER_CONTEXT, SEQUENCES = WRITER_SEQUENCES, SAMPLES = 9, POISON = 59, EACH = 4 };

static struct writer_params *params;

/* Of all contexts: what fails is a call that a poisoned token is in. */
enum modc_status writer_extern_watch(struct modc_extern_call *call)
{
    const int64_t *token = call->inputs[1].data;

    memcpy(call->outputs[0].data, call->inputs[0].data,
           (size_t)call->inputs[0].dims[0] * (size_t)call->inputs[0].dims[1] * sizeof(float));
    for (int i = 0; i < call->inputs[1].dims[0]; i++)
        if (token[i] == POISON)
            return MODC_DIVISION;
    return MODC_OK;
}

/* ---- a generator, and what it writes alone ------------------------------------------------------------------------ */

struct service {
    struct writer *net;
    struct modc_generator gen;
    struct modc_queue *queue;
    void *block;
};

static struct service alone;
static pthread_mutex_t alone_mutex = PTHREAD_MUTEX_INITIALIZER;

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_for(double time)
{
    const struct timespec pause = {(time_t)time, (long)((time - (double)(time_t)time) * 1e9)};

    nanosleep(&pause, NULL);
}

static void make(struct service *s)
{
    memset(s, 0, sizeof *s);
    CHECK_OK(writer_create(params, &s->net));
    CHECK(posix_memalign(&s->block, 64, WRITER_GENERATOR_BYTES) == 0);
    CHECK_OK(writer_generator_init(&s->gen, s->net, s->block, WRITER_GENERATOR_BYTES));
}

static void end(struct service *s)
{
    modc_queue_destroy(s->queue);
    for (int i = 0; i < writer_generation.sequences; i++)
        CHECK(!s->gen.sequences[i].used);
    for (int i = 0; i < writer_generation.sequences * writer_generation.per; i++)
        CHECK(s->gen.owners[i] == 0); /* all pages were left */
    writer_destroy(s->net);
    free(s->block);
}

static struct modc_queue_settings settings(void)
{
    struct modc_queue_settings all;

    modc_queue_defaults(&all);
    all.max_return_sequences = SAMPLES;
    return all;
}

static void make_queue(struct service *s, const struct modc_queue_settings *with)
{
    char message[200];

    make(s);
    CHECK_OK(modc_queue_create(&s->gen, with, message, sizeof message, &s->queue));
}

static const int64_t poison[] = {POISON};

static struct modc_generation_options options(int tokens)
{
    struct modc_generation_options all;

    modc_generation_defaults(&all);
    all.max_new_tokens = tokens;
    all.eos_token_id = writer_generation.eos;
    all.suppress_tokens = (struct modc_ids){poison, 1};
    all.logprobs = MODC_LOGPROBS_RESPONSE;
    return all;
}

struct written {
    int64_t ids[SAMPLES * CONTEXT];
    float log_probs[SAMPLES * CONTEXT], scores[SAMPLES];
    int lengths[SAMPLES];
    enum modc_finish finishes[SAMPLES];
};

static struct modc_responses room_of(struct written *w)
{
    memset(w, 0, sizeof *w);
    return (struct modc_responses){w->ids, w->log_probs, w->lengths, w->finishes, w->scores, CONTEXT, -7};
}

static uint64_t submit(struct service *s, const int64_t *ids, int count,
                       const struct modc_generation_options *with, modc_listener *listener, void *user)
{
    const struct modc_queue_item item = {
        .ids = ids, .count = count, .options = with, .listener = listener, .user = user};
    uint64_t ticket = 0;
    char message[200];

    CHECK_OK(modc_queue_submit(s->queue, &item, 0, &ticket, message, sizeof message));
    CHECK(ticket != 0);
    return ticket;
}

static enum modc_status fetch(struct service *s, uint64_t ticket, double timeout, struct written *w)
{
    struct modc_queue_result result = {.responses = room_of(w)};
    enum modc_status status = modc_queue_wait(s->queue, ticket, timeout, &result);

    return status == MODC_OK ? result.status : status;
}

static void check_same(const struct written *a, const struct written *b, int rows)
{
    for (int row = 0; row < rows; row++) {
        CHECK(a->lengths[row] == b->lengths[row] && a->finishes[row] == b->finishes[row]);
        for (int i = 0; i < CONTEXT; i++) {
            CHECK(a->ids[row * CONTEXT + i] == b->ids[row * CONTEXT + i]);
            CHECK(fabsf(a->log_probs[row * CONTEXT + i] - b->log_probs[row * CONTEXT + i]) < 1e-4f);
        }
        CHECK(fabsf(a->scores[row] - b->scores[row]) < 1e-4f);
    }
}

static void write_alone(const int64_t *ids, int count, const struct modc_generation_options *with,
                        struct written *w)
{
    struct modc_responses out = room_of(w);
    const struct modc_prompts prompts = {.ids = ids, .count = count};
    static char memory[1 << 18] MODC_ALIGNED;

    pthread_mutex_lock(&alone_mutex);
    CHECK_OK(modc_generator_write(&alone.gen, &prompts, with, &out, NULL, NULL, memory, sizeof memory));
    pthread_mutex_unlock(&alone_mutex);
}

/* That the item ends well, as alone. */
static void check_item(struct service *s, uint64_t ticket, const int64_t *ids, int count,
                       const struct modc_generation_options *with)
{
    struct written found, expected;

    CHECK_OK(fetch(s, ticket, 30, &found));
    write_alone(ids, count, with, &expected);
    check_same(&found, &expected, with->num_return_sequences);
}

static struct modc_queue_state state_of(struct service *s)
{
    struct modc_queue_state state;

    modc_queue_get_state(s->queue, &state);
    return state;
}

static const int64_t prompt[] = {3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32, 38, 46, 26, 43, 38, 32};

/* ---- settings and statuses ---------------------------------------------------------------------------------------- */

static void refuse(struct service *s, struct modc_queue_settings wrong, const char *message)
{
    struct modc_queue *queue;
    char said[200];

    CHECK(modc_queue_create(&s->gen, &wrong, said, sizeof said, &queue) == MODC_ARGUMENT && queue == NULL);
    if (strcmp(said, message) != 0)
        fprintf(stderr, "%s\n", said);
    CHECK(strcmp(said, message) == 0);
    CHECK(modc_queue_create(&s->gen, &wrong, NULL, 0, &queue) == MODC_ARGUMENT);
}

static void test_settings(void)
{
    struct service s;
    struct modc_queue *queue;
    struct modc_queue_settings all = settings(), with;
    struct modc_queue_state state;
    int sequence;

    make(&s);
#define WRONG(member, value, message) (with = all, with.member = (value), refuse(&s, with, message))
    WRONG(min_batch_size, 0, "min_batch_size is 0: it takes a number from 1 to 4, max_batch_size");
    WRONG(min_batch_size, 5, "min_batch_size is 5: it takes a number from 1 to 4, max_batch_size");
    WRONG(max_batch_size, 5, "max_batch_size is 5: it takes a number from 1 to 4, the generator's sequences");
    WRONG(max_batch_size, -1,
          "max_batch_size is -1: it takes a number from 1 to 4, the generator's sequences");
    WRONG(batching_timeout, -2, "batching_timeout is -2: it takes seconds, or MODC_FOREVER");
    WRONG(batching_timeout, (double)NAN, "batching_timeout is nan: it takes seconds, or MODC_FOREVER");
    WRONG(max_queue, 0,
          "max_queue is 0: it takes a number from 1 to 1048576: min_batch_size items have to find a place");
    WRONG(max_tokens, 1, "max_tokens is 1: it takes a number from 2 to 40, the context");
    WRONG(max_tokens, 41, "max_tokens is 41: it takes a number from 2 to 40, the context");
    WRONG(max_return_sequences, 0, "max_return_sequences is 0: it takes a number from 1 to 65536");
    WRONG(max_beams, 5, "max_beams is 5: it takes a number from 0 to 4; 0 is off");
    CHECK(modc_queue_create(NULL, &all, NULL, 0, &queue) == MODC_POINTER);
    CHECK(modc_queue_create(&s.gen, NULL, NULL, 0, &queue) == MODC_POINTER);
    CHECK(modc_queue_create(&s.gen, &all, NULL, 0, NULL) == MODC_POINTER);
    CHECK_OK(modc_generator_begin(&s.gen, prompt, 3, NULL, 0, &sequence));
    CHECK(modc_queue_create(&s.gen, &all, NULL, 0, &queue) == MODC_BUSY);
    CHECK_OK(modc_generator_end(&s.gen, sequence));
    CHECK_OK(modc_queue_create(&s.gen, &all, NULL, 0, &s.queue));
    state = state_of(&s);
    CHECK(state.batching_enabled && state.min_batch_size == 1 && state.max_batch_size == SEQUENCES);
    CHECK(state.queue_size == 0 && !state.processing && state.pending_futures == 0 && state.timeout == 10);
    CHECK(modc_queue_run(NULL) == MODC_POINTER && modc_queue_start(NULL) == MODC_POINTER);
    CHECK(modc_queue_cancel(NULL, 1) == MODC_POINTER && modc_queue_forget(NULL, 1) == MODC_POINTER);
    CHECK(modc_queue_wait(s.queue, 1, 0, NULL) == MODC_POINTER);
    CHECK(s.gen.clock != NULL);
    modc_queue_destroy(NULL);
    end(&s);
    CHECK(s.gen.clock == NULL);
}

static void test_statuses(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(4);
    struct modc_queue_item item = {.ids = prompt, .count = 3, .options = &o};
    struct modc_queue_result result;
    const int64_t wrong[] = {3, 61}, negative[] = {-1};
    struct written w;
    uint64_t first, second, ticket = 0;
    char message[200];

    with.max_queue = 2;
    with.max_tokens = 20;
    make_queue(&s, &with);
#define SUBMIT() modc_queue_submit(s.queue, &item, 0, &ticket, message, sizeof message)
    CHECK(modc_queue_submit(NULL, &item, 0, &ticket, NULL, 0) == MODC_POINTER);
    CHECK(modc_queue_submit(s.queue, NULL, 0, &ticket, NULL, 0) == MODC_POINTER);
    item.ids = NULL;
    CHECK(SUBMIT() == MODC_POINTER);
    item.ids = wrong;
    item.count = 2;
    CHECK(SUBMIT() == MODC_INDEX);
    item.ids = negative;
    item.count = 1;
    CHECK(SUBMIT() == MODC_INDEX);
    item.ids = prompt;
    item.count = 0;
    CHECK(SUBMIT() == MODC_SIZE);
    item.count = 17;
    CHECK(SUBMIT() == MODC_SIZE);
    CHECK(strcmp(message, "the length of prompt and response is 21, and max_tokens of the queue is 20") == 0);
    item.count = 16;
    item.source = prompt;
    item.source_count = 3;
    CHECK(SUBMIT() == MODC_UNSUPPORTED);
    item.source = NULL;
    o.top_p = 2;
    CHECK(SUBMIT() == MODC_ARGUMENT && strstr(message, "top_p is 2") != NULL);
    o.top_p = 1;
    o.num_return_sequences = SAMPLES + 1;
    o.do_sample = 1;
    CHECK(SUBMIT() == MODC_SIZE);
    CHECK(strcmp(message, "num_return_sequences is 10, and max_return_sequences of the queue is 9") == 0);
    o.num_return_sequences = 1;
    o.do_sample = 0;
    o.num_beams = 2;
    CHECK(SUBMIT() == MODC_UNSUPPORTED &&
          strcmp(message, "num_beams is 2, and max_beams of the queue is 0") == 0);
    o.num_beams = 1;
    CHECK(ticket == 0 && state_of(&s).queue_size == 0);
    CHECK_OK(SUBMIT());
    first = ticket;
    CHECK_OK(SUBMIT());
    second = ticket;
    CHECK(first != second && SUBMIT() == MODC_FULL);
    CHECK(modc_queue_submit(s.queue, &item, 0.02, &ticket, NULL, 0) == MODC_FULL);
    CHECK(fetch(&s, first, 0, &w) == MODC_BUSY && fetch(&s, first, 0.02, &w) == MODC_BUSY);
    CHECK(fetch(&s, 0, 0, &w) == MODC_NAME && fetch(&s, 12345, 0, &w) == MODC_NAME);
    CHECK(modc_queue_cancel(s.queue, 12345) == MODC_NAME && modc_queue_forget(s.queue, 0) == MODC_NAME);
    CHECK_OK(modc_queue_start(s.queue));
    CHECK(modc_queue_start(s.queue) == MODC_BUSY && modc_queue_run(s.queue) == MODC_BUSY);
    result = (struct modc_queue_result){.responses = room_of(&w)};
    result.responses.room = 3;
    CHECK(modc_queue_wait(s.queue, first, 10, &result) == MODC_SIZE && w.lengths[0] == 4);
    result.responses.ids = NULL;
    result.responses.log_probs = NULL;
    CHECK_OK(modc_queue_wait(s.queue, first, 0, &result));
    CHECK(result.status == MODC_OK && result.queued > 0 && result.took > 0);
    CHECK(modc_queue_wait(s.queue, first, 0, &result) == MODC_NAME);
    CHECK(modc_queue_cancel(s.queue, first) == MODC_NAME);
    CHECK_OK(modc_queue_submit(s.queue, &item, MODC_FOREVER, &ticket, NULL, 0));
    check_item(&s, second, prompt, 16, &o);
    check_item(&s, ticket, prompt, 16, &o);
    modc_queue_shutdown(s.queue, true);
    CHECK(SUBMIT() == MODC_CLOSED);
    CHECK(modc_queue_run(s.queue) == MODC_CLOSED && modc_queue_start(s.queue) == MODC_CLOSED);
    CHECK(!state_of(&s).batching_enabled);
    end(&s);
}

/* ---- who begins when ------------------------------------------------------------------------------------------------ */

struct order {
    int count;
    int ended[32];
};

struct named {
    struct order *order;
    int name, tokens;
};

static int note(void *user, int row, const struct modc_event *event)
{
    struct named *of = user;

    (void)row;
    of->tokens += event->token >= 0;
    if (event->finish != MODC_FINISH_NONE)
        of->order->ended[of->order->count++] = of->name;
    return 0;
}

/* One behind the other, first come first served; a caller's thread as the worker. */
static void *run(void *queue)
{
    CHECK_OK(modc_queue_run(queue));
    return NULL;
}

static void test_order(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o[6];
    struct named named[6];
    struct order order = {0};
    uint64_t tickets[6];
    pthread_t worker;

    with.max_batch_size = 1;
    make_queue(&s, &with);
    for (int i = 0; i < 6; i++) {
        named[i] = (struct named){&order, i, 0};
        o[i] = options(12 - i);
        o[i].num_return_sequences = i == 3 ? 3 : 1;
        o[i].do_sample = i == 3;
        tickets[i] = submit(&s, prompt + i, 2 + i, &o[i], note, &named[i]);
    }
    CHECK(state_of(&s).queue_size == 6 && state_of(&s).pending_futures == 6);
    CHECK(pthread_create(&worker, NULL, run, s.queue) == 0);
    for (int i = 0; i < 6; i++)
        check_item(&s, tickets[i], prompt + i, 2 + i, &o[i]);
    modc_queue_shutdown(s.queue, true);
    CHECK(pthread_join(worker, NULL) == 0);
    CHECK(order.count == 8);
    for (int i = 0; i < 8; i++)
        CHECK(order.ended[i] == (i < 3 ? i : i < 6 ? 3 : i - 2));
    end(&s);
}

static void test_timeout(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(5);
    struct modc_queue_result result;
    struct written w;
    uint64_t ticket;
    double begun;

    with.min_batch_size = 4;
    with.batching_timeout = 0.3;
    make_queue(&s, &with);
    CHECK_OK(modc_queue_start(s.queue));
    begun = seconds();
    ticket = submit(&s, prompt, 5, &o, NULL, NULL);
    CHECK(fetch(&s, ticket, 0.02, &w) == MODC_BUSY);
    CHECK(state_of(&s).queue_size == 1 && state_of(&s).running == 0 && !state_of(&s).processing);
    result = (struct modc_queue_result){.responses = room_of(&w)};
    CHECK_OK(modc_queue_wait(s.queue, ticket, 20, &result));
    CHECK(result.queued >= 0.3 && seconds() - begun >= 0.3 && w.lengths[0] == 5);
    end(&s);
}

/* As many as min and max, and what is left over behind the timeout. */
static void test_batches(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(6);
    uint64_t tickets[10];

    with.min_batch_size = with.max_batch_size = 4;
    with.batching_timeout = 0.2;
    o.ignore_eos = true;
    make_queue(&s, &with);
    for (int i = 0; i < 10; i++)
        tickets[i] = submit(&s, prompt + i, 3, &o, NULL, NULL);
    CHECK_OK(modc_queue_start(s.queue));
    for (int i = 0; i < 10; i++)
        check_item(&s, tickets[i], prompt + i, 3, &o);
    CHECK(state_of(&s).tokens == 60 && state_of(&s).calls == 18); /* 4, 4 and 2 items by 6 steps */
    end(&s);
}

/* Steps join: an item that comes while another runs does not wait for it, nor for a batch. */
static int submit_other(void *user, int row, const struct modc_event *event)
{
    struct service *s = ((void **)user)[0];
    uint64_t *ticket = ((void **)user)[1];
    const struct modc_generation_options *o = ((void **)user)[2];
    struct written w;

    (void)row;
    if (event->finish != MODC_FINISH_NONE || *ticket != 0)
        return 0;
    *ticket = submit(s, prompt + 3, 4, o, NULL, NULL);
    CHECK(fetch(s, *ticket, MODC_FOREVER, &w) == MODC_BUSY); /* from a listener */
    return 0;
}

static void test_joining(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options first = options(20), second = options(5);
    uint64_t ticket, other = 0;
    void *user[] = {&s, &other, &second};
    struct written w;

    with.min_batch_size = 2;
    with.batching_timeout = MODC_FOREVER;
    first.ignore_eos = second.ignore_eos = true;
    make_queue(&s, &with);
    CHECK_OK(modc_queue_start(s.queue));
    ticket = submit(&s, prompt, 5, &first, submit_other, user);
    CHECK(fetch(&s, ticket, 0.05, &w) == MODC_BUSY && state_of(&s).queue_size == 1);
    modc_queue_flush(s.queue);
    check_item(&s, ticket, prompt, 5, &first);
    check_item(&s, other, prompt + 3, 4, &second);
    CHECK(state_of(&s).calls == 20 && state_of(&s).tokens == 25);
    end(&s);
}

/* ---- what ends an item ---------------------------------------------------------------------------------------------- */

/* Stands still at a token, until the test lets it go on. */
struct stand {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int at, tokens;
    bool there, goes_on;
    enum modc_finish finish;
};

#define STAND(token)                                                                                         \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, token, 0, false, false, MODC_FINISH_NONE        \
    }

static int stand_still(void *user, int row, const struct modc_event *event)
{
    struct stand *s = user;

    (void)row;
    pthread_mutex_lock(&s->mutex);
    s->tokens += event->token >= 0;
    s->finish = event->finish;
    if (s->tokens == s->at && event->token >= 0) {
        s->there = true;
        pthread_cond_broadcast(&s->changed);
        while (!s->goes_on)
            pthread_cond_wait(&s->changed, &s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    return 0;
}

static void wait_for(struct stand *s)
{
    pthread_mutex_lock(&s->mutex);
    while (!s->there)
        pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

static void let_go(struct stand *s)
{
    pthread_mutex_lock(&s->mutex);
    s->goes_on = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static void test_cancel(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(20);
    struct stand stand = STAND(3);
    struct order order = {0};
    struct named named = {&order, 0, 0};
    struct written w, expected;
    uint64_t running, waiting, last;

    with.max_batch_size = 1;
    o.ignore_eos = true;
    make_queue(&s, &with);
    running = submit(&s, prompt, 6, &o, stand_still, &stand);
    waiting = submit(&s, prompt, 4, &o, note, &named);
    last = submit(&s, prompt, 5, &o, NULL, NULL);
    CHECK_OK(modc_queue_start(s.queue));
    wait_for(&stand);
    CHECK(state_of(&s).queue_size == 2 && state_of(&s).running == 1 && state_of(&s).pending_futures == 3);
    CHECK(state_of(&s).processing);
    CHECK_OK(modc_queue_cancel(s.queue, waiting));
    CHECK_OK(modc_queue_cancel(s.queue, running));
    CHECK_OK(modc_queue_cancel(s.queue, running));
    let_go(&stand);
    CHECK_OK(fetch(&s, running, 20, &w));
    write_alone(prompt, 6, &o, &expected);
    CHECK(w.lengths[0] == 3 && w.finishes[0] == MODC_FINISH_USER && stand.finish == MODC_FINISH_USER);
    CHECK(memcmp(w.ids, expected.ids, 3 * sizeof *w.ids) == 0 && w.ids[3] == -7);
    CHECK_OK(fetch(&s, waiting, 20, &w));
    CHECK(w.lengths[0] == 0 && w.finishes[0] == MODC_FINISH_USER && named.tokens == 0 && order.count == 1);
    check_item(&s, last, prompt, 5, &o);
    last = submit(&s, prompt, 5, &o, NULL, NULL);
    check_item(&s, last, prompt, 5, &o);
    end(&s);
}

static void test_cancel_all(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(20);
    struct stand stand = STAND(2);
    struct written w;
    uint64_t tickets[8], forgotten;

    with.max_queue = 9;
    o.ignore_eos = true;
    make_queue(&s, &with);
    for (int i = 0; i < 8; i++)
        tickets[i] = submit(&s, prompt, 6, &o, i == 0 ? stand_still : NULL, &stand);
    forgotten = submit(&s, prompt, 6, &o, NULL, NULL);
    CHECK_OK(modc_queue_start(s.queue));
    wait_for(&stand);
    CHECK_OK(modc_queue_forget(s.queue, forgotten));
    CHECK(fetch(&s, forgotten, 10, &w) == MODC_NAME);
    modc_queue_cancel_all(s.queue);
    let_go(&stand);
    for (int i = 0; i < 8; i++) {
        CHECK_OK(fetch(&s, tickets[i], 20, &w));
        CHECK(w.finishes[0] == MODC_FINISH_USER && w.lengths[0] <= (i < SEQUENCES ? 2 : 0));
    }
    CHECK(state_of(&s).pending_futures <= 1 && state_of(&s).finished == 0);
    tickets[0] = submit(&s, prompt, 6, &o, NULL, NULL); /* it goes on */
    check_item(&s, tickets[0], prompt, 6, &o);
    tickets[0] = submit(&s, prompt, 6, &o, NULL, NULL);
    while (state_of(&s).finished == 0)
        pause_for(0.001);
    CHECK_OK(modc_queue_forget(s.queue, tickets[0]));
    CHECK(state_of(&s).finished == 0);
    end(&s);
}

/* Of many that run together the one of which the model's call fails; of a processor, that draws fail for. */
static int break_down(void *user, const struct modc_history *history, float *scores, int vocabulary)
{
    (void)user, (void)scores, (void)vocabulary;
    return history->count == 2;
}

static void test_failures(void)
{
    static const int64_t poisoned[] = {4, POISON, 6, 7};
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(9), broken, samples;
    struct order order = {0};
    struct named named = {&order, 0, 0};
    uint64_t tickets[6];
    struct written w;

    with.min_batch_size = 4;
    make_queue(&s, &with);
    broken = o;
    broken.processor = break_down;
    samples = o;
    samples.num_return_sequences = 3;
    samples.do_sample = 1;
    tickets[0] = submit(&s, prompt, 8, &o, NULL, NULL);
    tickets[1] = submit(&s, poisoned, 4, &o, note, &named);
    tickets[2] = submit(&s, prompt + 2, 6, &o, NULL, NULL);
    tickets[3] = submit(&s, prompt + 3, 6, &broken, NULL, NULL);
    tickets[4] = submit(&s, poisoned, 4, &samples, NULL, NULL);
    tickets[5] = submit(&s, prompt + 4, 6, &samples, NULL, NULL);
    CHECK_OK(modc_queue_start(s.queue));
    CHECK(fetch(&s, tickets[1], 20, &w) == MODC_DIVISION);
    CHECK(w.finishes[0] == MODC_FINISH_FAULT && w.lengths[0] == 0 && order.count == 1 && named.tokens == 0);
    CHECK(fetch(&s, tickets[3], 20, &w) == MODC_HOOK_ERROR);
    CHECK(w.finishes[0] == MODC_FINISH_FAULT && w.lengths[0] == 2);
    CHECK(fetch(&s, tickets[4], 20, &w) == MODC_DIVISION && w.finishes[2] == MODC_FINISH_FAULT);
    check_item(&s, tickets[0], prompt, 8, &o);
    check_item(&s, tickets[2], prompt + 2, 6, &o);
    check_item(&s, tickets[5], prompt + 4, 6, &samples);
    writer_changed(params); /* all calls fail now, but for those behind it */
    tickets[0] = submit(&s, prompt, 8, &o, NULL, NULL);
    modc_queue_flush(s.queue);
    CHECK(fetch(&s, tickets[0], 20, &w) == MODC_STALE);
    CHECK_OK(modc_pack(&params->base, NULL, 0));
    tickets[0] = submit(&s, prompt, 8, &o, NULL, NULL);
    modc_queue_flush(s.queue);
    check_item(&s, tickets[0], prompt, 8, &o);
    end(&s);
}

static int stop_at_three(void *user, int row, const struct modc_event *event)
{
    int *tokens = user;

    (void)event;
    CHECK(tokens[row] < 3);
    return ++tokens[row] == 3;
}

static void test_listeners(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(9), samples = options(9);
    int tokens[4] = {0};
    uint64_t tickets[2];
    struct written w, expected;
    struct order order = {0};
    struct named named = {&order, 0, 0};
    const struct modc_queue_item item = {
        .ids = prompt, .count = 7, .options = &o, .listener = note, .user = &named};

    make_queue(&s, &with);
    o.ignore_eos = samples.ignore_eos = true;
    samples.num_return_sequences = 3;
    samples.do_sample = 1;
    samples.seed = 5;
    tickets[0] = submit(&s, prompt, 7, &samples, stop_at_three, tokens);
    tickets[1] = submit(&s, prompt, 7, &o, NULL, NULL);
    CHECK_OK(modc_queue_submit(s.queue, &item, 0, NULL, NULL, 0));
    CHECK_OK(modc_queue_start(s.queue));
    CHECK_OK(fetch(&s, tickets[0], 20, &w));
    write_alone(prompt, 7, &samples, &expected);
    for (int row = 0; row < 3; row++) {
        CHECK(w.lengths[row] == 3 && w.finishes[row] == MODC_FINISH_USER && tokens[row] == 3);
        CHECK(memcmp(w.ids + row * CONTEXT, expected.ids + row * CONTEXT, 3 * sizeof *w.ids) == 0);
    }
    check_item(&s, tickets[1], prompt, 7, &o);
    modc_queue_shutdown(s.queue, true);
    CHECK(named.tokens == 9 && order.count == 1 && state_of(&s).finished == 0);
    end(&s);
}

/* A listener that cancels its own item, shuts down, and asks. */
static int shut(void *user, int row, const struct modc_event *event)
{
    void **all = user;
    struct service *s = all[0];
    const struct modc_queue_item item = {.ids = prompt, .count = 2};

    (void)row;
    if (event->finish != MODC_FINISH_NONE)
        return 0;
    CHECK_OK(modc_queue_cancel(s->queue, *(uint64_t *)all[1]));
    modc_queue_shutdown(s->queue, true);
    CHECK(modc_queue_submit(s->queue, &item, MODC_FOREVER, NULL, NULL, 0) == MODC_CLOSED);
    CHECK(!state_of(s).batching_enabled);
    return 0;
}

/* ---- an end with others in it ---------------------------------------------------------------------------------------- */

struct client {
    struct service *s;
    pthread_t thread;
    uint64_t ticket;
    enum modc_status expected;
    enum modc_finish finish;
    int number;
    struct named named;
};

static void *wait_long(void *argument)
{
    struct client *c = argument;
    struct written w;

    CHECK(fetch(c->s, c->ticket, MODC_FOREVER, &w) == c->expected);
    c->finish = w.finishes[0];
    return NULL;
}

static void *submit_long(void *argument)
{
    struct client *c = argument;
    struct modc_generation_options o = options(3);
    const struct modc_queue_item item = {.ids = prompt, .count = 2, .options = &o};

    CHECK(modc_queue_submit(c->s->queue, &item, MODC_FOREVER, &c->ticket, NULL, 0) == c->expected);
    return NULL;
}

static void *shut_down(void *argument)
{
    struct client *c = argument;

    modc_queue_shutdown(c->s->queue, c->number == 0);
    return NULL;
}

static void test_shutdown(bool finish, bool has_worker)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(7);
    struct client waiting[3], late, ends[3];

    with.min_batch_size = 4;
    with.max_queue = 4;
    with.batching_timeout = MODC_FOREVER;
    o.ignore_eos = true;
    make_queue(&s, &with);
    if (has_worker)
        CHECK_OK(modc_queue_start(s.queue));
    for (int i = 0; i < 3; i++) {
        waiting[i] = (struct client){&s, .ticket = submit(&s, prompt, 3 + i, &o, NULL, NULL)};
        CHECK(pthread_create(&waiting[i].thread, NULL, wait_long, &waiting[i]) == 0);
    }
    late = (struct client){&s, .expected = MODC_CLOSED};
    if (!has_worker) {
        submit(&s, prompt, 3, &o, NULL, NULL);
        CHECK(pthread_create(&late.thread, NULL, submit_long, &late) == 0);
    }
    pause_for(0.05);
    for (int i = 0; i < 3; i++) {
        ends[i] = (struct client){&s, .number = finish ? 0 : 1};
        CHECK(pthread_create(&ends[i].thread, NULL, shut_down, &ends[i]) == 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(waiting[i].thread, NULL) == 0);
        CHECK(pthread_join(ends[i].thread, NULL) == 0);
        CHECK(waiting[i].finish == (finish ? MODC_FINISH_LENGTH : MODC_FINISH_USER));
    }
    if (!has_worker)
        CHECK(pthread_join(late.thread, NULL) == 0);
    modc_queue_shutdown(s.queue, true);
    CHECK(state_of(&s).pending_futures == 0 && !state_of(&s).processing);
    end(&s);
}

/* Waits for a place, and fetches at once. */
static void *submit_and_fetch(void *argument)
{
    struct client *c = argument;
    struct modc_generation_options o = options(3);
    const struct modc_queue_item item = {
        .ids = prompt, .count = 2, .options = &o, .listener = note, .user = &c->named};

    CHECK_OK(modc_queue_submit(c->s->queue, &item, MODC_FOREVER, &c->ticket, NULL, 0));
    check_item(c->s, c->ticket, prompt, 2, &o);
    return NULL;
}

/* Those who wait for a place get one in the order in which they came. */
static void test_full(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(3);
    struct client late[4];
    struct order order = {0};
    uint64_t first, ticket;
    void *user[2] = {&s, &ticket};
    struct written w;

    with.max_queue = 1;
    make_queue(&s, &with);
    first = submit(&s, prompt, 2, &o, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        late[i] = (struct client){&s, .named = {&order, i, 0}};
        CHECK(pthread_create(&late[i].thread, NULL, submit_and_fetch, &late[i]) == 0);
        pause_for(0.05);
    }
    CHECK_OK(modc_queue_start(s.queue));
    check_item(&s, first, prompt, 2, &o);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(late[i].thread, NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(order.ended[i] == i);
    ticket = submit(&s, prompt, 2, &o, NULL, NULL);
    check_item(&s, ticket, prompt, 2, &o);
    o.max_new_tokens = 20;
    o.ignore_eos = true;
    modc_queue_destroy(s.queue);
    with.min_batch_size = 1;
    CHECK_OK(modc_queue_create(&s.gen, &with, NULL, 0, &s.queue));
    ticket = submit(&s, prompt, 2, &o, shut, user);
    CHECK_OK(modc_queue_start(s.queue));
    CHECK_OK(fetch(&s, ticket, 20, &w));
    CHECK(w.lengths[0] == 1 && w.finishes[0] == MODC_FINISH_USER);
    end(&s);
}

/* ---- samples and beams ------------------------------------------------------------------------------------------------ */

static void test_samples(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(9), few, many, beams, drawn;
    struct order order = {0};
    struct named named[7];
    uint64_t tickets[7];
    struct modc_generation_options *all[] = {&o, &few, &many, &o, &beams, &o, &drawn};
    struct written w;

    with.max_beams = 3;
    make_queue(&s, &with);
    few = o;
    few.do_sample = 1;
    few.seed = 11;
    few.num_return_sequences = 3;
    many = few;
    many.num_return_sequences = SAMPLES;
    beams = o;
    beams.num_beams = 3;
    beams.num_return_sequences = 2;
    drawn = beams;
    drawn.do_sample = 1;
    drawn.seed = 3;
    drawn.logprobs |= MODC_LOGPROBS_PROMPT;
    for (int i = 0; i < 7; i++) {
        named[i] = (struct named){&order, i, 0};
        tickets[i] = submit(&s, prompt + i, 1 + i, all[i], note, &named[i]);
    }
    CHECK_OK(modc_queue_start(s.queue));
    for (int i = 0; i < 7; i++)
        check_item(&s, tickets[i], prompt + i, 1 + i, all[i]);
    CHECK(order.count == 3 + 3 + SAMPLES + 2 + 2);
    CHECK(named[4].tokens >= 2);
    beams.num_beams = 4;
    CHECK(modc_queue_submit(s.queue, &(struct modc_queue_item){.ids = prompt, .count = 2, .options = &beams},
                            0, &tickets[0], NULL, 0) == MODC_SIZE);
    beams.num_beams = 2;
    beams.processor = break_down;
    tickets[0] = submit(&s, prompt, 4, &beams, note, &named[0]);
    CHECK(fetch(&s, tickets[0], 20, &w) == MODC_HOOK_ERROR && w.finishes[1] == MODC_FINISH_FAULT);
    end(&s);
}

/* What a search writes does not depend on what else is wanted of the prompt. */
static void test_prompt_scores(void)
{
    struct modc_generation_options o = options(9);
    struct written plain, scored;

    o.num_beams = 3;
    o.num_return_sequences = 2;
    write_alone(prompt, 6, &o, &plain);
    o.logprobs = MODC_LOGPROBS_FULL;
    write_alone(prompt, 6, &o, &scored);
    check_same(&plain, &scored, 2);
}

/* A recurrent model cannot take a response back: with one sequence, samples read the prompt again. */
static void test_recurrent(void)
{
    static char block[MAMBA_GENERATOR_BYTES] MODC_ALIGNED;
    struct service s = {0};
    struct modc_queue_settings with = settings();
    struct modc_generation_options o;
    struct modc_event events[MAMBA_SEQUENCES];
    struct modc_params *base;
    struct mamba *net;
    int64_t expected[3][6];
    int held[MAMBA_SEQUENCES], count;
    struct written w;
    uint64_t ticket;

    modc_generation_defaults(&o);
    o.max_new_tokens = 6;
    o.do_sample = 1;
    o.temperature = 8;
    CHECK_OK(modc_params_create(&mamba_model, &base));
    CHECK_OK(modc_reset(base, 3));
    CHECK_OK(modc_pack(base, NULL, 0));
    CHECK_OK(mamba_create((struct mamba_params *)(void *)base, &net));
    CHECK_OK(mamba_generator_init(&s.gen, net, block, sizeof block));
    for (int i = 0; i < MAMBA_SEQUENCES - 1; i++)
        CHECK_OK(modc_generator_read(&s.gen, prompt, 1, &held[i]));
    while (modc_generator_active(&s.gen) > 0)
        CHECK_OK(modc_generator_step(&s.gen, events, MAMBA_SEQUENCES, &count));
    for (int i = 0; i < 3; i++) {
        int sequence, length;

        CHECK_OK(modc_generator_begin(&s.gen, prompt, 5, &o, (uint64_t)i, &sequence));
        while (modc_generator_active(&s.gen) > 0)
            CHECK_OK(modc_generator_step(&s.gen, events, MAMBA_SEQUENCES, &count));
        memcpy(expected[i], modc_generator_ids(&s.gen, sequence, &length, NULL) + 5, sizeof expected[i]);
        CHECK(length == 11);
        CHECK_OK(modc_generator_end(&s.gen, sequence));
    }
    CHECK_OK(modc_queue_create(&s.gen, &with, NULL, 0, &s.queue));
    CHECK_OK(modc_queue_start(s.queue));
    o.num_return_sequences = 3;
    ticket = submit(&s, prompt, 5, &o, NULL, NULL);
    CHECK_OK(fetch(&s, ticket, 20, &w));
    for (int i = 0; i < 3; i++)
        CHECK(memcmp(w.ids + (ptrdiff_t)i * CONTEXT, expected[i], sizeof expected[i]) == 0);
    modc_queue_destroy(s.queue);
    mamba_destroy(net);
    modc_params_destroy(base);
}

/* What the caller's own sequences leave. */
static void test_held(void)
{
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_generation_options o = options(6);
    int held[SEQUENCES];
    struct modc_event events[SEQUENCES];
    int count;
    uint64_t ticket;
    struct written w;

    make(&s);
    for (int i = 0; i < SEQUENCES - 1; i++)
        CHECK_OK(modc_generator_read(&s.gen, prompt, 5, &held[i]));
    while (modc_generator_active(&s.gen) > 0)
        CHECK_OK(modc_generator_step(&s.gen, events, SEQUENCES, &count));
    CHECK_OK(modc_queue_create(&s.gen, &with, NULL, 0, &s.queue));
    CHECK_OK(modc_queue_start(s.queue));
    o.do_sample = 1;
    o.num_return_sequences = 4;
    ticket = submit(&s, prompt, 7, &o, NULL, NULL);
    check_item(&s, ticket, prompt, 7, &o);
    modc_queue_destroy(s.queue);
    CHECK_OK(modc_generator_read(&s.gen, prompt, 5, &held[SEQUENCES - 1]));
    CHECK_OK(modc_generator_step(&s.gen, events, SEQUENCES, &count));
    CHECK_OK(modc_queue_create(&s.gen, &with, NULL, 0, &s.queue));
    CHECK_OK(modc_queue_start(s.queue));
    ticket = submit(&s, prompt, 7, &o, NULL, NULL);
    CHECK(fetch(&s, ticket, 20, &w) == MODC_FULL && w.finishes[3] == MODC_FINISH_FAULT);
    modc_queue_shutdown(s.queue, true);
    for (int i = 0; i < SEQUENCES; i++)
        CHECK_OK(modc_generator_end(&s.gen, held[i]));
    end(&s);
}

/* ---- many clients ------------------------------------------------------------------------------------------------------ */

static uint32_t random_word(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int count_events(void *user, int row, const struct modc_event *event)
{
    int *count = user;

    (void)row;
    *count += event->token >= 0;
    return 0;
}

static void *use(void *argument)
{
    struct client *c = argument;
    uint32_t state = (uint32_t)c->number * 977u + 5u;

    for (int turn = 0; turn < EACH; turn++) {
        int64_t ids[CONTEXT];
        const int count = 1 + (int)(random_word(&state) % 20);
        struct modc_generation_options o = options(1 + (int)(random_word(&state) % 12));
        const bool cancels = random_word(&state) % 8 == 0;
        struct modc_queue_item item = {.ids = ids, .count = count, .options = &o};
        struct written found, expected;
        uint64_t ticket;
        int told = 0, tokens = 0;
        enum modc_status status;

        for (int i = 0; i < count; i++)
            ids[i] = random_word(&state) % 58;
        o.do_sample = random_word(&state) % 2;
        o.seed = random_word(&state);
        o.num_return_sequences = o.do_sample && random_word(&state) % 3 == 0 ? 2 : 1;
        o.prompt_lookup_num_tokens = (int)(random_word(&state) % 3);
        if (random_word(&state) % 2) {
            item.listener = count_events;
            item.user = &told;
        }
        do
            status = modc_queue_submit(c->s->queue, &item, random_word(&state) % 2 ? MODC_FOREVER : 0.0005,
                                       &ticket, NULL, 0);
        while (status == MODC_FULL);
        CHECK_OK(status);
        if (cancels) {
            CHECK_OK(modc_queue_cancel(c->s->queue, ticket));
            CHECK_OK(fetch(c->s, ticket, MODC_FOREVER, &found));
            continue;
        }
        while ((status = fetch(c->s, ticket, random_word(&state) % 2 ? MODC_FOREVER : 0.0005, &found)) ==
               MODC_BUSY)
            ;
        CHECK_OK(status);
        write_alone(ids, count, &o, &expected);
        check_same(&found, &expected, o.num_return_sequences);
        for (int row = 0; row < o.num_return_sequences; row++)
            tokens += found.lengths[row];
        CHECK(item.listener == NULL || told == tokens);
    }
    return NULL;
}

static void test_clients(int min, int max)
{
    static struct client clients[CLIENTS];
    struct service s;
    struct modc_queue_settings with = settings();
    struct modc_queue_state state;

    with.min_batch_size = min;
    with.max_batch_size = max;
    with.batching_timeout = 0.01;
    with.max_queue = 16;
    make_queue(&s, &with);
    CHECK_OK(modc_queue_start(s.queue));
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){&s, .number = i};
        CHECK(pthread_create(&clients[i].thread, NULL, use, &clients[i]) == 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        CHECK(pthread_join(clients[i].thread, NULL) == 0);
    state = state_of(&s);
    CHECK(state.pending_futures == 0 && state.finished == 0 && state.queue_size == 0);
    end(&s);
}

int main(void)
{
    struct modc_params *base;

    CHECK_OK(modc_params_create(&writer_model, &base));
    params = (struct writer_params *)(void *)base;
    CHECK_OK(modc_reset(base, 7));
    CHECK_OK(modc_pack(base, NULL, 0));
    make(&alone);
    test_settings();
    test_statuses();
    test_order();
    test_timeout();
    test_batches();
    test_joining();
    test_cancel();
    test_cancel_all();
    test_failures();
    test_listeners();
    for (int i = 0; i < 4; i++)
        test_shutdown(i % 2 != 0, i / 2 != 0);
    test_full();
    test_samples();
    test_prompt_scores();
    test_recurrent();
    test_held();
    test_clients(1, SEQUENCES);
    test_clients(3, 3);
    end(&alone);
    modc_params_destroy(base);
    return 0;
}
