/* modc_binding_queue.c - a queue (modc_queue.h) whose news one thread of another language takes: nobody calls back into that language,
 * whose lock the model would have to wait for with every token. Hosted, with POSIX threads. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "modc_binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An event, with its text behind it. */
struct news {
    struct news *next;
    struct item *item;
    struct modc_binding_news told;
};

/* Until its end was taken. */
struct item {
    struct modc_binding_queue *queue;
    uint64_t id, ticket;
    bool streams;
    bool held, dead; /* who submits it has not seen its ticket; its end was taken. Of the queue's mutex */
    int left;        /* rows that have not ended */
    struct news end; /* what is told where there is no memory */
};

struct modc_binding_queue {
    struct modc_queue *queue;
    pthread_mutex_t mutex;
    pthread_cond_t some;
    struct news *first, *last, *taken; /* taken: whose text the caller looks at */
    bool closed;
};

static void add(struct modc_binding_queue *q, struct news *news)
{
    pthread_mutex_lock(&q->mutex);
    if (q->first == NULL)
        q->first = news;
    else
        q->last->next = news;
    q->last = news;
    pthread_cond_signal(&q->some);
    pthread_mutex_unlock(&q->mutex);
}

/* On the worker. Without memory for an event its row ends. */
static int listen_to(void *user, int row, const struct modc_event *event)
{
    struct item *item = user;
    const size_t bytes = event->text != NULL ? (size_t)event->bytes : 0;
    struct news *news;
    bool lost;

    if (event->finish != MODC_FINISH_NONE)
        item->left--;
    if (!item->streams && item->left > 0)
        return 0;
    news = calloc(1, sizeof *news + bytes + 1);
    lost = news == NULL;
    if (lost && event->finish == MODC_FINISH_NONE)
        item->left--;
    if (lost && item->left > 0)
        return 1;
    if (lost)
        news = &item->end;
    news->item = item;
    news->told = (struct modc_binding_news){
        item->id, item->ticket,   row, event->finish, event->status, event->token, event->log_prob, 0,
        "",       item->left == 0};
    if (!lost && bytes > 0) {
        news->told.bytes = (int)bytes;
        news->told.text = memcpy(news + 1, event->text, bytes);
    }
    add(item->queue, news);
    return lost;
}

/* With the mutex, or where nobody else is. */
static void free_news(struct news *news)
{
    struct item *item = news->item;
    const bool ended = news->told.ended;

    if (news != &item->end)
        free(news);
    if (ended && item->held)
        item->dead = true;
    else if (ended)
        free(item);
}

enum modc_status modc_binding_queue_create(struct modc_generator *gen,
                                           const struct modc_queue_settings *settings, char *message,
                                           size_t room, struct modc_binding_queue **queue)
{
    struct modc_binding_queue *q = calloc(1, sizeof *q);
    enum modc_status status;

    *queue = NULL;
    if (q == NULL)
        return MODC_MEMORY;
    status = modc_queue_create(gen, settings, message, room, &q->queue);
    if (status == MODC_OK)
        status = modc_queue_start(q->queue);
    if (status != MODC_OK) {
        modc_queue_destroy(q->queue);
        free(q);
        return status;
    }
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->some, NULL);
    *queue = q;
    return MODC_OK;
}

struct modc_queue *modc_binding_queue_of(struct modc_binding_queue *queue)
{
    return queue->queue;
}

enum modc_status modc_binding_queue_submit(struct modc_binding_queue *queue,
                                           const struct modc_queue_item *item, uint64_t id, bool streams,
                                           double timeout, uint64_t *ticket, char *message, size_t room)
{
    struct modc_queue_item own = *item;
    struct item *mine = calloc(1, sizeof *mine);
    enum modc_status status;

    if (mine == NULL)
        return MODC_MEMORY;
    *mine = (struct item){.queue = queue,
                          .id = id,
                          .streams = streams,
                          .held = true,
                          .left = item->options->num_return_sequences};
    own.listener = listen_to;
    own.user = mine;
    status = modc_queue_submit(queue->queue, &own, timeout, &mine->ticket, message, room);
    pthread_mutex_lock(&queue->mutex); /* its end may have been taken already */
    mine->held = false;
    *ticket = mine->ticket;
    if (status != MODC_OK || mine->dead)
        free(mine);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

void modc_binding_queue_next(struct modc_binding_queue *queue, struct modc_binding_news *news)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->taken != NULL)
        free_news(queue->taken);
    while (queue->first == NULL && !queue->closed)
        pthread_cond_wait(&queue->some, &queue->mutex);
    queue->taken = queue->first;
    if (queue->first != NULL)
        queue->first = queue->first->next;
    if (queue->taken != NULL)
        *news = queue->taken->told;
    else
        *news = (struct modc_binding_news){.row = -1};
    pthread_mutex_unlock(&queue->mutex);
}

void modc_binding_queue_close(struct modc_binding_queue *queue, bool finish)
{
    modc_queue_shutdown(queue->queue, finish);
    pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    pthread_cond_broadcast(&queue->some);
    pthread_mutex_unlock(&queue->mutex);
}

void modc_binding_queue_destroy(struct modc_binding_queue *queue)
{
    modc_queue_destroy(queue->queue);
    if (queue->taken != NULL)
        free_news(queue->taken);
    for (struct news *news = queue->first, *next; news != NULL; news = next) {
        next = news->next;
        free_news(news);
    }
    pthread_cond_destroy(&queue->some);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}
