/* modc_queue.h - hosted builds: prompts of many threads, continued by one generator (modc_generation.h) on one thread, the worker.
 *
 *     modc_queue_defaults(&settings);
 *     modc_queue_create(&gen, &settings, message, sizeof message, &queue);
 *     modc_queue_start(queue);                               or a thread of the caller's: modc_queue_run(queue)
 *     any thread:  modc_queue_submit(queue, &item, 0, &ticket, message, sizeof message);
 *                  modc_queue_wait(queue, ticket, MODC_FOREVER, &result);
 *     modc_queue_shutdown(queue, true);  modc_queue_destroy(queue);
 *
 * note [admission]
 * Items begin in the order in which they were submitted. Where nothing runs, the first ones begin when min_batch_size of them wait, or
 * when the oldest has waited for batching_timeout, or by a flush. Where something runs, an item joins it at the next step, as long as
 * less than max_batch_size run and a sequence is free: it makes the batch larger and delays nobody. What an item writes depends on
 * its own prompt, options and number alone, as in modc_generator_write.
 *
 * note [samples and beams]
 * An item of several samples reads its prompt once; those behind it begin when its last sample has begun. A search over beams has the
 * model for itself: it begins when all before it have ended, others wait until it ends, and it cannot be cancelled in between.
 *
 * note [listeners]
 * Called on the worker, without a lock: they may submit, cancel, flush and ask, though what would have to wait does not (MODC_FULL,
 * MODC_BUSY). The model waits for them. Each row has one last event, with a finish; none where the listener itself ended the row. */
#ifndef MODC_RUNTIME_QUEUE_H
#define MODC_RUNTIME_QUEUE_H

#include "modc_generation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MODC_FOREVER (-1.0) /* of a time in seconds */

struct modc_queue;

/* What modc_queue_defaults fills in stands behind each. */
struct modc_queue_settings {
    int min_batch_size;       /* 1; items: note [admission] */
    int max_batch_size;       /* 0: as many items as the generator has sequences */
    double batching_timeout;  /* 10; seconds, or MODC_FOREVER */
    int max_queue;            /* 64; items at most that wait, or have ended and nobody has fetched */
    int max_tokens;           /* 0: the context; of an item, prompt and response */
    int max_return_sequences; /* 1; of an item */
    int max_beams;            /* 0: searches over beams are refused */
};

void modc_queue_defaults(struct modc_queue_settings *settings);

/* All memory that there will be. The generator was initialised, outlives the queue, and is the queue's until it is destroyed; sequences
 * that are there stay. Without a clock it gets one. message: NULL, or room for what is wrong with the settings. MODC_POINTER,
 * MODC_ARGUMENT, MODC_MEMORY; MODC_BUSY: a sequence of the generator is active. */
enum modc_status modc_queue_create(struct modc_generator *gen, const struct modc_queue_settings *settings,
                                   char *message, size_t room, struct modc_queue **queue);

/* Shuts down, cancels what is there, and waits until nobody is in a call of it. Not from a listener. NULL is allowed. */
void modc_queue_destroy(struct modc_queue *queue);

/* ---- the worker ------------------------------------------------------------------------------------------------ */

/* The caller is the worker until the queue is shut down. MODC_BUSY: there is one; MODC_CLOSED: it was shut down before. */
enum modc_status modc_queue_run(struct modc_queue *queue);

/* A thread of its own is the worker, with all signals blocked. MODC_BUSY, MODC_CLOSED; MODC_MEMORY: no more threads. */
enum modc_status modc_queue_start(struct modc_queue *queue);

/* ---- items ------------------------------------------------------------------------------------------------------ */

struct modc_queue_item {
    const int64_t *ids; /* the prompt; with an encoder it may be NULL: the model's start */
    int count;
    const int64_t *source; /* what it is written from; NULL: the model has no encoder */
    int source_count;
    const struct modc_generation_options *options; /* NULL: the model's */
    uint64_t number;         /* for random numbers: sample i of it draws as number + i, of its seed */
    modc_listener *listener; /* NULL: none; its row is the sample */
    void *user;
};

/* Puts an item at the end of the queue. Ids are copied, and options; what these point to stays until the item has ended. ticket: for
 * modc_queue_wait, which has to come once; NULL: nobody will wait, the listener is told. timeout: how long to wait, first come first
 * served, where the queue is full. message: NULL, or room for what is wrong. MODC_FULL, MODC_CLOSED; MODC_POINTER; MODC_SIZE: of the
 * prompt, or over a limit of the settings; MODC_INDEX: an id; MODC_ARGUMENT: an option; MODC_UNSUPPORTED: beams, or a source. */
enum modc_status modc_queue_submit(struct modc_queue *queue, const struct modc_queue_item *item,
                                   double timeout, uint64_t *ticket, char *message, size_t room);

struct modc_queue_result {
    struct modc_responses
        responses;           /* memory of the caller's, a row for each sample; what is NULL is not wanted */
    enum modc_status status; /* of the item: what the model's call returned, or with MODC_FINISH_FAULT */
    double queued, took;     /* seconds until it began, and from then on */
};

/* Waits until the item has ended, and copies what it wrote, up to there where it failed or was cancelled (MODC_FINISH_USER): then the
 * ticket is used up. MODC_BUSY: not yet, after this time; MODC_SIZE: a row is longer than room, `lengths` has it; the ticket is still
 * good under both. MODC_NAME: there is no such ticket, or it is used up; MODC_POINTER. */
enum modc_status modc_queue_wait(struct modc_queue *queue, uint64_t ticket, double timeout,
                                 struct modc_queue_result *result);

/* Cancels the item, and nobody will wait for it. MODC_NAME. */
enum modc_status modc_queue_forget(struct modc_queue *queue, uint64_t ticket);

/* Ends an item before the next step, waiting or running. MODC_OK too where it has ended; MODC_NAME. */
enum modc_status modc_queue_cancel(struct modc_queue *queue, uint64_t ticket);

/* ---- all of them ------------------------------------------------------------------------------------------------ */

/* What waits now begins without waiting for more: modc_queue_wait tells when it has ended. */
void modc_queue_flush(struct modc_queue *queue);

/* Cancels all that wait or run. */
void modc_queue_cancel_all(struct modc_queue *queue);

/* From now on nothing is submitted, and who waits for room is woken. What is there is finished first, or (not `finish`) cancelled. Waits
 * for that, but from a listener; without a worker the caller is it. May be called again; results can be fetched still. */
void modc_queue_shutdown(struct modc_queue *queue, bool finish);

struct modc_queue_state {
    bool batching_enabled; /* it was not shut down */
    int min_batch_size, max_batch_size;
    int queue_size;         /* items that wait */
    bool processing;        /* the worker does something */
    int pending_futures;    /* items that have not ended */
    double timeout;         /* batching_timeout */
    int running;            /* items */
    int finished;           /* items that nobody has fetched yet */
    uint64_t calls, tokens; /* steps so far, and tokens that were written by them */
};

void modc_queue_get_state(struct modc_queue *queue, struct modc_queue_state *state);

#ifdef __cplusplus
}
#endif

#endif
