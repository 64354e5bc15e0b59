/* modc_queue.c - the items of a queue, and the thread that works for them; see modc_queue.h. POSIX or Windows; firmware leaves this
 * file out.
 *
 * note [who owns an item]
 * The mutex guards the queue's lists and counters, and of an item what both sides write: state, cancelled, ticket. The rest of an item
 * is the submitter's until it waits, then the worker's until it has ended, then whoever's who fetches it under the mutex. The
 * generator is the worker's alone; the worker gives the mutex back for each call of it, and of listeners. */
#include "modc_threads_parts.h"

#include "modc_generation_parts.h"
#include "modc_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EOS = 8 }; /* that memory for beams is sized for */

enum state { FREE, WAITING, RUNNING, ENDED };

struct item {
    enum state state;
    bool cancelled, waited_for;
    uint64_t ticket;
    uint64_t order;                  /* of its submission */
    int64_t submitted, begun, ended; /* when */
    struct item *next;               /* of the list that it is in: waiting, or free */
    struct modc_condition end;

    struct modc_generation_options options;
    modc_listener *listener;
    void *user;
    struct modc_job job; /* its ids are those of this item */
    int64_t *ids, *source;
    int left;                  /* rows that have not ended */
    struct modc_responses out; /* rows of settings.max_tokens */
    enum modc_status status;
};

/* Who waits for a place, in the order in which they came. */
struct waiter {
    struct waiter *next;
};

struct modc_queue {
    struct modc_generator *gen;
    struct modc_queue_settings settings;
    struct item *items;
    int item_count;
    struct item **owners; /* of the generator's sequences */
    bool *were_active;    /* of these, while they step one by one */
    void *beams;
    size_t beams_bytes;
    char *block;     /* of all items */
    bool gave_clock; /* to the generator */

    struct modc_mutex mutex;
    struct modc_condition work; /* for the worker */
    struct modc_condition room; /* for those who submit */
    struct modc_condition idle; /* the worker went, or somebody left a call */
    struct item *free, *first, *last;
    struct waiter *waiters;
    int waiting, running, ended; /* items */
    int cancels;                 /* of items that have not ended */
    int inside;                  /* threads that sleep in a call */
    uint64_t orders, flushed;    /* submissions so far; up to which they need not wait */
    bool closed, working, processing;
    bool has_worker, has_thread; /* `worker` and `thread` are somebody */
    struct modc_thread_id worker;
    struct modc_thread thread;
    uint64_t calls, tokens;

    /* the worker's */
    struct item *beginning;    /* not all of its samples have begun */
    int live;                  /* sequences that write */
    uint64_t stepped, written; /* since `calls` and `tokens` were counted */
};

/* ---- times ------------------------------------------------------------------------------------------------------ */

static double seconds_now(void *user)
{
    (void)user;
    return (double)modc_now() * 1e-9;
}

/* When so many seconds are over. */
static int64_t time_after(int64_t from, double seconds)
{
    if (!(seconds >= 0 && seconds <= 1e9)) /* which no number is, either */
        return INT64_MAX;
    return from + (int64_t)(seconds * 1e9);
}

/* Sleeps up to then, or less. False: it is then. */
static bool sleep_until(struct modc_queue *queue, struct modc_condition *condition, int64_t then)
{
    if (then == INT64_MAX) {
        modc_sleep(condition, &queue->mutex);
        return true;
    }

    const int64_t now = modc_now();

    if (now >= then)
        return false;
    modc_sleep_for(condition, &queue->mutex, then - now);
    return true;
}

/* ---- a queue ---------------------------------------------------------------------------------------------------- */

void modc_queue_defaults(struct modc_queue_settings *settings)
{
    if (settings != NULL)
        *settings = (struct modc_queue_settings){
            .min_batch_size = 1, .batching_timeout = 10, .max_queue = 64, .max_return_sequences = 1};
}

/* A whole number that a setting has to be in; false: it is said that it is not. */
static bool check_range(const char *name, int value, int least, int most, const char *why, char *message,
                        size_t room)
{
    if (value >= least && value <= most)
        return true;
    if (message != NULL)
        snprintf(message, room, "%s is %d: it takes a number from %d to %d%s", name, value, least, most, why);
    return false;
}

static bool check_settings(const struct modc_generator *gen, struct modc_queue_settings *s, char *message,
                           size_t room)
{
    const int sequences = gen->table->sequences, context = gen->table->context;
    int beams = sequences < MODC_MAX_BEAMS ? sequences : MODC_MAX_BEAMS;

    beams = beams < gen->logits_room ? beams : gen->logits_room;
    if (message != NULL && room > 0)
        message[0] = 0;
    s->max_batch_size = s->max_batch_size != 0 ? s->max_batch_size : sequences;
    s->max_tokens = s->max_tokens != 0 ? s->max_tokens : context;
    if (!check_range("max_batch_size", s->max_batch_size, 1, sequences, ", the generator's sequences",
                     message, room) ||
        !check_range("min_batch_size", s->min_batch_size, 1, s->max_batch_size, ", max_batch_size", message,
                     room) ||
        !check_range("max_queue", s->max_queue, s->min_batch_size, 1 << 20,
                     ": min_batch_size items have to find a place", message, room) ||
        !check_range("max_tokens", s->max_tokens, 2, context, ", the context", message, room) ||
        !check_range("max_return_sequences", s->max_return_sequences, 1, 1 << 16, "", message, room) ||
        !check_range("max_beams", s->max_beams, 0, beams, "; 0 is off", message, room))
        return false;
    if (s->batching_timeout >= 0 || s->batching_timeout == MODC_FOREVER)
        return true;
    if (message != NULL)
        snprintf(message, room, "batching_timeout is %g: it takes seconds, or MODC_FOREVER",
                 s->batching_timeout);
    return false;
}

/* Adds to the bytes of a block, or (block not NULL) gives the part. */
static void *take(char *block, size_t *used, size_t count, size_t bytes)
{
    void *part = block != NULL ? block + *used : NULL;

    *used += MODC_GENERATION_PART(count, bytes);
    return part;
}

/* Memory of an item. */
static void place_item(const struct modc_queue *queue, struct item *item, char *block, size_t *used)
{
    const size_t tokens = (size_t)queue->settings.max_tokens,
                 rows = (size_t)queue->settings.max_return_sequences;

    item->ids = take(block, used, tokens, sizeof *item->ids);
    item->source = take(block, used, queue->gen->table->encoder >= 0 ? (size_t)queue->gen->table->source : 0,
                        sizeof *item->source);
    item->out.room = (int)tokens;
    item->out.ids = take(block, used, rows * tokens, sizeof *item->out.ids);
    item->out.log_probs = take(block, used, rows * tokens, sizeof *item->out.log_probs);
    item->out.lengths = take(block, used, rows, sizeof *item->out.lengths);
    item->out.finishes = take(block, used, rows, sizeof *item->out.finishes);
    item->out.scores = take(block, used, rows, sizeof *item->out.scores);
}

/* Memory of all: false, there is none. */
static bool place_all(struct modc_queue *queue)
{
    const size_t sequences = (size_t)queue->gen->table->sequences;
    size_t each = 0, used = 0;
    struct item probe = {0};

    place_item(queue, &probe, NULL, &each);
    if (each > SIZE_MAX / 2 / (size_t)queue->item_count)
        return false;
    queue->items = calloc((size_t)queue->item_count, sizeof *queue->items);
    queue->owners = calloc(sequences, sizeof *queue->owners);
    queue->were_active = calloc(sequences, sizeof *queue->were_active);
    queue->block = malloc(each * (size_t)queue->item_count);
    if (queue->items == NULL || queue->owners == NULL || queue->were_active == NULL || queue->block == NULL)
        return false;
    for (int i = 0; i < queue->item_count; i++)
        place_item(queue, &queue->items[i], queue->block, &used);
    if (queue->settings.max_beams > 0) {
        static const int64_t ids[MOST_EOS] = {0};
        struct modc_generation_options options;

        modc_generation_defaults(&options);
        options.num_beams = queue->settings.max_beams;
        options.eos_token_id = (struct modc_ids){ids, MOST_EOS};
        queue->beams_bytes = modc_beams_bytes(&options, 1, queue->settings.max_tokens,
                                              queue->gen->table->vocabulary);
        if (queue->beams_bytes < SIZE_MAX - MODC_ALIGN_WIDE)
            queue->beams = malloc(queue->beams_bytes + MODC_ALIGN_WIDE);
    }
    return queue->settings.max_beams == 0 || queue->beams != NULL;
}

static void free_all(struct modc_queue *queue)
{
    free(queue->items);
    free(queue->owners);
    free(queue->were_active);
    free(queue->block);
    free(queue->beams);
    free(queue);
}

/* The item's place is free. */
static void release(struct modc_queue *queue, struct item *item)
{
    item->state = FREE;
    item->ticket = 0;
    item->next = queue->free;
    queue->free = item;
}

enum modc_status modc_queue_create(struct modc_generator *gen, const struct modc_queue_settings *settings,
                                   char *message, size_t room, struct modc_queue **queue)
{
    struct modc_queue_settings checked;
    struct modc_queue *made;

    if (gen == NULL || gen->table == NULL || settings == NULL || queue == NULL)
        return MODC_POINTER;
    *queue = NULL;
    if (modc_generator_active(gen) > 0)
        return MODC_BUSY;
    checked = *settings;
    if (!check_settings(gen, &checked, message, room))
        return MODC_ARGUMENT;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return MODC_MEMORY;
    made->gen = gen;
    made->settings = checked;
    made->item_count = checked.max_queue + checked.max_batch_size;
    if (!place_all(made)) {
        free_all(made);
        return MODC_MEMORY;
    }
    modc_mutex_init(&made->mutex);
    modc_condition_init(&made->work);
    modc_condition_init(&made->room);
    modc_condition_init(&made->idle);
    for (int i = made->item_count - 1; i >= 0; i--) {
        modc_condition_init(&made->items[i].end);
        release(made, &made->items[i]);
    }
    if (gen->clock == NULL) {
        gen->clock = seconds_now;
        made->gave_clock = true;
    }
    *queue = made;
    return MODC_OK;
}

/* ---- the worker: items that end ---------------------------------------------------------------------------------- */

/* Before anybody sees that an item has ended. */
static void count_up(struct modc_queue *queue)
{
    queue->calls += queue->stepped;
    queue->tokens += queue->written;
    queue->stepped = queue->written = 0;
}

static void end_item(struct modc_queue *queue, struct item *item)
{
    modc_lock(&queue->mutex);
    count_up(queue);
    item->state = ENDED;
    item->ended = modc_now();
    queue->running--;
    queue->cancels -= item->cancelled;
    if (item->waited_for) {
        queue->ended++;
        modc_wake_all(&item->end);
    } else {
        release(queue, item);
        modc_wake_all(&queue->room);
    }
    modc_unlock(&queue->mutex);
}

/* Tells the listener; true: it wants no more of this row. */
static bool tell(const struct item *item, int row, const struct modc_event *event)
{
    return item->listener != NULL && item->listener(item->user, row, event) != 0;
}

/* Whatever the item has of the generator. */
static void leave_sequences(struct modc_queue *queue, const struct item *item)
{
    for (int i = 0; i < queue->gen->table->sequences; i++) {
        if (queue->owners[i] != item)
            continue;
        queue->live -= queue->gen->sequences[i].row >= 0;
        queue->owners[i] = NULL;
        modc_generator_end(queue->gen, i);
    }
}

/* All rows that have not ended do so now. */
static void stop_item(struct modc_queue *queue, struct item *item, enum modc_finish finish,
                      enum modc_status status)
{
    const struct modc_event event = {.sequence = -1,
                                     .token = -1,
                                     .text = queue->gen->table->tokenizer != NULL ? "" : NULL,
                                     .finish = finish,
                                     .status = status};

    leave_sequences(queue, item);
    if (queue->beginning == item)
        queue->beginning = NULL;
    if (item->status == MODC_OK)
        item->status = status;
    for (int row = 0; row < item->options.num_return_sequences; row++) {
        if (item->out.finishes[row] != MODC_FINISH_NONE)
            continue;
        item->out.finishes[row] = finish;
        tell(item, row, &event);
    }
    end_item(queue, item);
}

/* An event of a sequence. */
static void take_event(struct modc_queue *queue, const struct modc_event *given)
{
    struct modc_event event = *given;
    struct item *item = queue->owners[event.sequence];
    const int row = queue->gen->sequences[event.sequence].row;

    if (item == NULL || row < 0)
        return;
    if (event.token >= 0) {
        const int at = item->out.lengths[row]++;
        const size_t to = (size_t)row * (size_t)item->out.room + (size_t)at;

        item->out.ids[to] = event.token;
        item->out.log_probs[to] = item->options.zero_first && at == 0 ? 0 : event.log_prob;
        queue->written++;
    }
    if (tell(item, row, &event) && event.finish == MODC_FINISH_NONE)
        event.finish = MODC_FINISH_USER;
    if (event.finish == MODC_FINISH_NONE)
        return;
    if (event.finish == MODC_FINISH_FAULT && item->status == MODC_OK)
        item->status = event.status;
    item->out.finishes[row] = event.finish;
    queue->live--;
    modc_job_leave(queue->gen, &item->job, event.sequence);
    if (item->job.prefix != event.sequence)
        queue->owners[event.sequence] = NULL;
    if (--item->left == 0)
        end_item(queue, item);
}

/* ---- the worker: steps ------------------------------------------------------------------------------------------- */

static void take_events(struct modc_queue *queue)
{
    for (int i = 0; i < queue->gen->table->sequences; i++) {
        struct modc_event event;

        while (modc_event_of(queue->gen, i, &event))
            take_event(queue, &event);
    }
}

/* A step failed: each sequence by itself, so that those alone end of which the call fails. */
static void step_alone(struct modc_queue *queue)
{
    struct modc_generator *gen = queue->gen;
    const int count = gen->table->sequences;

    for (int i = 0; i < count; i++) {
        queue->were_active[i] = gen->sequences[i].used && gen->sequences[i].active;
        gen->sequences[i].active = 0;
    }
    for (int i = 0; i < count; i++) {
        struct modc_sequence *s = &gen->sequences[i];
        enum modc_status status;

        if (!queue->were_active[i] || !s->used) /* its item may have ended meanwhile */
            continue;
        s->active = 1;
        status = modc_advance(gen);
        if (status == MODC_OK) {
            take_events(queue);
            queue->were_active[i] = s->used && s->active;
        } else {
            s->active = 0;
            queue->were_active[i] = false;
            if (queue->owners[i] != NULL)
                stop_item(queue, queue->owners[i], MODC_FINISH_FAULT, status);
        }
        s->active = 0;
    }
    for (int i = 0; i < count; i++)
        gen->sequences[i].active = gen->sequences[i].used && queue->were_active[i];
}

static void step(struct modc_queue *queue)
{
    queue->stepped++;
    if (modc_advance(queue->gen) == MODC_OK)
        take_events(queue);
    else
        step_alone(queue);
}

/* ---- the worker: items that begin -------------------------------------------------------------------------------- */

/* A whole search. */
static void run_beams(struct modc_queue *queue, struct item *item)
{
    const struct modc_prompts prompts = {.ids = item->job.ids,
                                         .count = item->job.count,
                                         .sources = item->job.source,
                                         .source_count = item->job.source_count};
    struct modc_responses out = item->out;
    char *memory = queue->beams;
    enum modc_status status;

    memory += (MODC_ALIGN_WIDE - (uintptr_t)memory % MODC_ALIGN_WIDE) % MODC_ALIGN_WIDE;
    if (item->options.logprobs == 0)
        out.log_probs = NULL;
    status = modc_write_from(queue->gen, item->job.number, &prompts, &item->options, &out, item->listener,
                             item->user, memory, queue->beams_bytes);
    if (status != MODC_OK) {
        for (int row = 0; row < item->options.num_return_sequences; row++) {
            item->out.lengths[row] = 0;
            item->out.finishes[row] = MODC_FINISH_NONE;
        }
        stop_item(queue, item, MODC_FINISH_FAULT, status);
        return;
    }
    for (int row = 0; row < item->options.num_return_sequences; row++)
        queue->written += (uint64_t)out.lengths[row];
    queue->beginning = NULL;
    end_item(queue, item);
}

/* Begins what it can of the item. False: the rest has to wait. */
static bool launch(struct modc_queue *queue, struct item *item)
{
    struct modc_generator *gen = queue->gen;
    enum modc_status status = MODC_OK;
    int sequence;

    if (item->options.num_beams > 1) {
        if (queue->live > 0)
            return false;
        run_beams(queue, item);
        return true;
    }
    while (item->job.sample < item->options.num_return_sequences &&
           modc_job_launch(gen, &item->job, queue->live > 0, &sequence, &status)) {
        if (item->job.prefix >= 0)
            queue->owners[item->job.prefix] = item;
        if (sequence < 0)
            continue;
        queue->owners[sequence] = item;
        gen->sequences[sequence].row = item->job.sample - 1;
        queue->live++;
    }
    if (status == MODC_OK && queue->live == 0 && modc_generator_active(gen) == 0)
        status = MODC_FULL; /* nobody will leave a sequence to it */
    if (status != MODC_OK)
        stop_item(queue, item, MODC_FINISH_FAULT, status);
    else if (item->job.sample == item->options.num_return_sequences)
        queue->beginning = NULL;
    return queue->beginning == NULL;
}

static bool has_free(const struct modc_generator *gen)
{
    for (int i = 0; i < gen->table->sequences; i++)
        if (!gen->sequences[i].used)
            return true;
    return false;
}

/* When the first item may begin though nothing runs and nothing else happens. */
static int64_t due(const struct modc_queue *queue)
{
    const struct item *first = queue->first;

    if (first == NULL)
        return INT64_MAX;
    if (queue->closed || queue->waiting >= queue->settings.min_batch_size || first->order <= queue->flushed)
        return 0;
    return time_after(first->submitted, queue->settings.batching_timeout);
}

/* Takes the first item if it may begin: note [admission]. */
static struct item *admit(struct modc_queue *queue)
{
    struct item *item = queue->first;

    if (item == NULL || queue->running >= queue->settings.max_batch_size)
        return NULL;
    if (queue->running > 0 ? !has_free(queue->gen) : due(queue) > modc_now())
        return NULL;
    queue->first = item->next;
    queue->waiting--;
    queue->running++;
    item->state = RUNNING;
    item->begun = modc_now();
    modc_wake_all(&queue->room);
    return item;
}

/* ---- the worker: its rounds -------------------------------------------------------------------------------------- */

static void unlink_item(struct modc_queue *queue, struct item *item)
{
    struct item *before = NULL;

    for (struct item *at = queue->first; at != item; at = at->next)
        before = at;
    if (before != NULL)
        before->next = item->next;
    else
        queue->first = item->next;
    if (queue->last == item)
        queue->last = before;
    queue->waiting--;
}

/* An item that is cancelled, as one that runs. */
static struct item *take_cancelled(struct modc_queue *queue)
{
    for (int i = 0; queue->cancels > 0 && i < queue->item_count; i++) {
        struct item *item = &queue->items[i];

        if (!item->cancelled || (item->state != WAITING && item->state != RUNNING))
            continue;
        if (item->state == WAITING) {
            unlink_item(queue, item);
            queue->running++;
            item->state = RUNNING;
            item->begun = modc_now();
            modc_wake_all(&queue->room);
        }
        return item;
    }
    return NULL;
}

/* Under the mutex, but for calls of the model. */
static void work(struct modc_queue *queue)
{
    for (;;) {
        struct item *cancelled = take_cancelled(queue);
        bool waits = false;

        count_up(queue);
        queue->processing = cancelled != NULL;
        if (cancelled != NULL) {
            modc_unlock(&queue->mutex);
            stop_item(queue, cancelled, MODC_FINISH_USER, MODC_OK);
            modc_lock(&queue->mutex);
            continue;
        }
        while (!waits && queue->cancels == 0 &&
               (queue->beginning != NULL || (queue->beginning = admit(queue)) != NULL)) {
            queue->processing = true;
            modc_unlock(&queue->mutex);
            waits = !launch(queue, queue->beginning);
            modc_lock(&queue->mutex);
        }
        if (queue->running > 0) {
            queue->processing = true;
            modc_unlock(&queue->mutex);
            step(queue);
            modc_lock(&queue->mutex);
        } else if (queue->closed && queue->first == NULL) {
            break;
        } else if (queue->cancels == 0 && due(queue) > modc_now()) {
            queue->processing = false;
            (void)sleep_until(queue, &queue->work, due(queue));
        }
    }
    queue->processing = false;
}

/* Whether the caller is the worker, who waits for nobody. */
static bool is_worker(const struct modc_queue *queue)
{
    return queue->has_worker && modc_is_own_id(queue->worker);
}

/* As the worker, whose place was taken by `working`. */
static void become_worker(struct modc_queue *queue)
{
    queue->worker = modc_own_id();
    queue->has_worker = true;
    work(queue);
    queue->has_worker = false;
    queue->working = false;
    modc_wake_all(&queue->idle);
}

/* Takes the place of the worker. */
static enum modc_status claim(struct modc_queue *queue)
{
    if (queue->closed)
        return MODC_CLOSED;
    if (queue->working)
        return MODC_BUSY;
    queue->working = true;
    return MODC_OK;
}

enum modc_status modc_queue_run(struct modc_queue *queue)
{
    enum modc_status status;

    if (queue == NULL)
        return MODC_POINTER;
    modc_lock(&queue->mutex);
    status = claim(queue);
    if (status == MODC_OK)
        become_worker(queue);
    modc_unlock(&queue->mutex);
    return status;
}

static MODC_THREAD_RESULT run_thread(void *argument)
{
    struct modc_queue *queue = argument;

    modc_lock(&queue->mutex);
    become_worker(queue);
    modc_unlock(&queue->mutex);
    return 0;
}

enum modc_status modc_queue_start(struct modc_queue *queue)
{
    enum modc_status status;

    if (queue == NULL)
        return MODC_POINTER;
    modc_lock(&queue->mutex);
    status = claim(queue);
    if (status == MODC_OK && !modc_thread_start(&queue->thread, run_thread, queue)) {
        queue->working = false;
        status = MODC_MEMORY;
    }
    queue->has_thread = queue->has_thread || status == MODC_OK;
    modc_unlock(&queue->mutex);
    return status;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static enum modc_status check_ids(const struct modc_queue *queue, const struct modc_queue_item *item)
{
    const struct modc_generation *table = queue->gen->table;

    if (item->source != NULL && table->encoder < 0)
        return MODC_UNSUPPORTED;
    if (table->encoder >= 0 && item->source == NULL)
        return MODC_POINTER;
    if (item->source != NULL && (item->source_count < 1 || item->source_count > table->source))
        return MODC_SIZE;
    if (item->ids == NULL)
        return table->encoder >= 0 && table->start >= 0 ? MODC_OK : MODC_POINTER;
    if (item->count < 1)
        return MODC_SIZE;
    for (int i = 0; i < item->count; i++)
        if (item->ids[i] < 0 || item->ids[i] >= table->vocabulary)
            return MODC_INDEX;
    return MODC_OK;
}

static enum modc_status refuse(enum modc_status status, char *message, size_t room, const char *what,
                               int value, const char *setting, int limit)
{
    if (message != NULL)
        snprintf(message, room, "%s is %d, and %s of the queue is %d", what, value, setting, limit);
    return status;
}

static enum modc_status check_item(const struct modc_queue *queue, const struct modc_queue_item *item,
                                   const struct modc_generation_options *options, char *message, size_t room)
{
    const struct modc_queue_settings *s = &queue->settings;
    const int count = item->ids != NULL ? item->count : 1, context = queue->gen->table->context;
    enum modc_status status = modc_check_options(queue->gen, options, message, room);
    int most;

    if (status == MODC_OK)
        status = check_ids(queue, item);
    if (status != MODC_OK)
        return status;
    most = modc_generation_length(options, count);
    if (options->num_beams == 1 && most > context)
        most = context;
    most = most < count ? count : most;
    if (most > s->max_tokens)
        return refuse(MODC_SIZE, message, room, "the length of prompt and response", most, "max_tokens",
                      s->max_tokens);
    if (options->num_return_sequences > s->max_return_sequences)
        return refuse(MODC_SIZE, message, room, "num_return_sequences", options->num_return_sequences,
                      "max_return_sequences", s->max_return_sequences);
    if (options->num_beams == 1)
        return MODC_OK;
    if (options->num_beams > s->max_beams)
        return refuse(s->max_beams == 0 ? MODC_UNSUPPORTED : MODC_SIZE, message, room, "num_beams",
                      options->num_beams, "max_beams", s->max_beams);
    if (options->eos_token_id.count > MOST_EOS)
        return refuse(MODC_SIZE, message, room, "eos_token_id's count, of a search over beams,",
                      options->eos_token_id.count, "the limit", MOST_EOS);
    return MODC_OK;
}

static bool has_room(const struct modc_queue *queue)
{
    return queue->waiting + queue->ended < queue->settings.max_queue && queue->free != NULL;
}

/* Waits for a place, behind those who wait. False: there is none in this time. */
static bool wait_for_room(struct modc_queue *queue, double timeout)
{
    struct waiter own = {NULL}, **at = &queue->waiters;
    const int64_t then = time_after(modc_now(), timeout);
    bool found;

    if (queue->waiters == NULL && has_room(queue))
        return true;
    if (timeout == 0 || is_worker(queue))
        return false;
    while (*at != NULL)
        at = &(*at)->next;
    *at = &own;
    queue->inside++;
    while (!queue->closed && !(queue->waiters == &own && has_room(queue)))
        if (!sleep_until(queue, &queue->room, then))
            break;
    found = queue->waiters == &own && has_room(queue);
    queue->inside--;
    for (at = &queue->waiters; *at != &own; at = &(*at)->next)
        ;
    *at = own.next;
    modc_wake_all(&queue->room);
    modc_wake_all(&queue->idle);
    return found;
}

/* Behind all that wait, with a ticket. */
static void append(struct modc_queue *queue, struct item *item, const struct modc_queue_item *asked,
                   const struct modc_generation_options *options, bool waited_for)
{
    const struct modc_generation *table = queue->gen->table;
    const int rows = options->num_return_sequences;

    queue->free = item->next;
    item->cancelled = false;
    item->waited_for = waited_for;
    item->order = ++queue->orders;
    item->ticket = item->order * (uint64_t)queue->item_count + (uint64_t)(item - queue->items);
    item->submitted = modc_now();
    item->options = *options;
    item->listener = asked->listener;
    item->user = asked->user;
    item->status = MODC_OK;
    item->left = rows;
    item->job = (struct modc_job){.ids = item->ids,
                                  .source = asked->source != NULL ? item->source : NULL,
                                  .count = asked->ids != NULL ? asked->count : 1,
                                  .source_count = asked->source_count,
                                  .options = &item->options,
                                  .number = asked->number,
                                  .prefix = -1};
    memcpy(item->ids, asked->ids != NULL ? asked->ids : &table->start,
           (size_t)item->job.count * sizeof *item->ids);
    if (asked->source != NULL)
        memcpy(item->source, asked->source, (size_t)asked->source_count * sizeof *item->source);
    for (int row = 0; row < rows; row++) {
        item->out.lengths[row] = 0;
        item->out.finishes[row] = MODC_FINISH_NONE;
        item->out.scores[row] = 0;
    }
    item->state = WAITING;
    item->next = NULL;
    if (queue->first == NULL)
        queue->first = item;
    else
        queue->last->next = item;
    queue->last = item;
    queue->waiting++;
}

enum modc_status modc_queue_submit(struct modc_queue *queue, const struct modc_queue_item *item,
                                   double timeout, uint64_t *ticket, char *message, size_t room)
{
    const struct modc_generation_options *options;
    enum modc_status status;

    if (message != NULL && room > 0)
        message[0] = 0;
    if (queue == NULL || item == NULL)
        return MODC_POINTER;
    options = item->options != NULL ? item->options : &queue->gen->options;
    status = check_item(queue, item, options, message, room);
    if (status != MODC_OK)
        return status;
    modc_lock(&queue->mutex);
    if (!queue->closed && !wait_for_room(queue, timeout))
        status = MODC_FULL;
    if (queue->closed)
        status = MODC_CLOSED;
    if (status == MODC_OK) {
        struct item *own = queue->free;

        append(queue, own, item, options, ticket != NULL);
        if (ticket != NULL)
            *ticket = own->ticket;
        modc_wake_one(&queue->work);
    }
    modc_unlock(&queue->mutex);
    return status;
}

/* NULL: there is no such ticket. */
static struct item *find(const struct modc_queue *queue, uint64_t ticket)
{
    struct item *item = &queue->items[ticket % (uint64_t)queue->item_count];

    return ticket != 0 && item->ticket == ticket ? item : NULL;
}

static enum modc_status copy_result(const struct item *item, struct modc_queue_result *result)
{
    struct modc_responses *out = &result->responses;
    const int rows = item->options.num_return_sequences;
    int longest = 0;

    for (int row = 0; row < rows; row++) {
        const int length = item->out.lengths[row];

        longest = length > longest ? length : longest;
        if (out->lengths != NULL)
            out->lengths[row] = length;
        if (out->finishes != NULL)
            out->finishes[row] = item->out.finishes[row];
        if (out->scores != NULL)
            out->scores[row] = item->out.scores[row];
    }
    if ((out->ids != NULL || out->log_probs != NULL) && longest > out->room)
        return MODC_SIZE;
    for (int row = 0; row < rows; row++) {
        const size_t from = (size_t)row * (size_t)item->out.room, to = (size_t)row * (size_t)out->room;

        for (int i = 0; out->ids != NULL && i < out->room; i++)
            out->ids[to + (size_t)i] = i < item->out.lengths[row] ? item->out.ids[from + (size_t)i]
                                                                  : out->pad;
        for (int i = 0; out->log_probs != NULL && i < out->room; i++)
            out->log_probs[to + (size_t)i] = i < item->out.lengths[row] && item->options.logprobs != 0
                                                 ? item->out.log_probs[from + (size_t)i]
                                                 : 0;
    }
    result->status = item->status;
    result->queued = (double)(item->begun - item->submitted) * 1e-9;
    result->took = (double)(item->ended - item->begun) * 1e-9;
    return MODC_OK;
}

enum modc_status modc_queue_wait(struct modc_queue *queue, uint64_t ticket, double timeout,
                                 struct modc_queue_result *result)
{
    const int64_t then = time_after(modc_now(), timeout);
    enum modc_status status = MODC_OK;
    struct item *item;

    if (queue == NULL || result == NULL)
        return MODC_POINTER;
    modc_lock(&queue->mutex);
    queue->inside++;
    while ((item = find(queue, ticket)) != NULL && item->waited_for && item->state != ENDED)
        if (is_worker(queue) || !sleep_until(queue, &item->end, then))
            break;
    if (item == NULL || !item->waited_for)
        status = MODC_NAME;
    else if (item->state != ENDED)
        status = MODC_BUSY;
    if (status == MODC_OK)
        status = copy_result(item, result);
    if (status == MODC_OK) {
        queue->ended--;
        release(queue, item);
        modc_wake_all(&item->end); /* others who wait for the same one */
        modc_wake_all(&queue->room);
    }
    queue->inside--;
    modc_wake_all(&queue->idle);
    modc_unlock(&queue->mutex);
    return status;
}

static void cancel(struct modc_queue *queue, struct item *item)
{
    if (item->cancelled || (item->state != WAITING && item->state != RUNNING))
        return;
    item->cancelled = true;
    queue->cancels++;
    modc_wake_one(&queue->work);
}

enum modc_status modc_queue_cancel(struct modc_queue *queue, uint64_t ticket)
{
    struct item *item;

    if (queue == NULL)
        return MODC_POINTER;
    modc_lock(&queue->mutex);
    item = find(queue, ticket);
    if (item != NULL)
        cancel(queue, item);
    modc_unlock(&queue->mutex);
    return item != NULL ? MODC_OK : MODC_NAME;
}

enum modc_status modc_queue_forget(struct modc_queue *queue, uint64_t ticket)
{
    struct item *item;

    if (queue == NULL)
        return MODC_POINTER;
    modc_lock(&queue->mutex);
    item = find(queue, ticket);
    if (item != NULL && item->state == ENDED) {
        queue->ended--;
        release(queue, item);
        modc_wake_all(&queue->room);
    } else if (item != NULL) {
        item->waited_for = false;
        cancel(queue, item);
    }
    if (item != NULL)
        modc_wake_all(&item->end);
    modc_unlock(&queue->mutex);
    return item != NULL ? MODC_OK : MODC_NAME;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void modc_queue_flush(struct modc_queue *queue)
{
    modc_lock(&queue->mutex);
    queue->flushed = queue->orders;
    modc_wake_one(&queue->work);
    modc_unlock(&queue->mutex);
}

static void cancel_all(struct modc_queue *queue)
{
    for (int i = 0; i < queue->item_count; i++)
        cancel(queue, &queue->items[i]);
}

void modc_queue_cancel_all(struct modc_queue *queue)
{
    modc_lock(&queue->mutex);
    cancel_all(queue);
    modc_unlock(&queue->mutex);
}

void modc_queue_shutdown(struct modc_queue *queue, bool finish)
{
    bool joins;

    modc_lock(&queue->mutex);
    queue->closed = true;
    if (!finish)
        cancel_all(queue);
    modc_wake_all(&queue->work);
    modc_wake_all(&queue->room);
    if (is_worker(queue)) {
        modc_unlock(&queue->mutex);
        return;
    }
    if (!queue->working) {
        queue->working = true;
        become_worker(queue);
    }
    queue->inside++;
    while (queue->working)
        modc_sleep(&queue->idle, &queue->mutex);
    queue->inside--;
    modc_wake_all(&queue->idle);
    joins = queue->has_thread;
    queue->has_thread = false;
    modc_unlock(&queue->mutex);
    if (joins)
        modc_thread_join(queue->thread);
}

void modc_queue_destroy(struct modc_queue *queue)
{
    if (queue == NULL)
        return;
    modc_queue_shutdown(queue, false);
    modc_lock(&queue->mutex);
    while (queue->inside > 0)
        modc_sleep(&queue->idle, &queue->mutex);
    modc_unlock(&queue->mutex);
    if (queue->gave_clock)
        queue->gen->clock = NULL;
    for (int i = 0; i < queue->item_count; i++)
        modc_condition_end(&queue->items[i].end);
    modc_condition_end(&queue->idle);
    modc_condition_end(&queue->room);
    modc_condition_end(&queue->work);
    modc_mutex_end(&queue->mutex);
    free_all(queue);
}

void modc_queue_get_state(struct modc_queue *queue, struct modc_queue_state *state)
{
    modc_lock(&queue->mutex);
    *state = (struct modc_queue_state){.batching_enabled = !queue->closed,
                                       .min_batch_size = queue->settings.min_batch_size,
                                       .max_batch_size = queue->settings.max_batch_size,
                                       .queue_size = queue->waiting,
                                       .processing = queue->processing,
                                       .pending_futures = queue->waiting + queue->running,
                                       .timeout = queue->settings.batching_timeout,
                                       .running = queue->running,
                                       .finished = queue->ended,
                                       .calls = queue->calls,
                                       .tokens = queue->tokens};
    modc_unlock(&queue->mutex);
}
