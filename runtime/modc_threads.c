/* modc_threads.c - runs the slices of a step on several threads. POSIX; firmware leaves this file out.
 *
 * note [chunks]
 * A step has a fixed number of slices. The pool deals them out in as many chunks as threads take part, at most 32: a bit
 * of `open` for each chunk that nobody has taken. Whoever clears a bit runs that chunk. A thread takes the chunk with
 * its own number first, so that in the next call it finds its weights in its own cache, then any that is left: a thread
 * that comes late is not waited for. The job may be read only by who has taken a chunk and not yet counted it as
 * finished, since the caller changes it when all are finished, and nobody can take one of the old job then. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "modc.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- contexts ------------------------------------------------------------------------------------------ */

static struct modc_threading *threading_of(struct modc_context *net)
{
    return (struct modc_threading *)(void *)((char *)net + net->model->threading);
}

enum modc_status modc_set_executor(struct modc_context *net, const struct modc_executor *executor)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (net->model->threads == 0)
        return MODC_UNSUPPORTED;
    threading_of(net)->executor = executor;
    return MODC_OK;
}

enum modc_status modc_set_threads(struct modc_context *net, int threads)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (net->model->threads == 0)
        return MODC_UNSUPPORTED;
    if (threads < 1)
        return MODC_ARGUMENT;
    threading_of(net)->threads = threads;
    return MODC_OK;
}

/* A step whose slices compute as the thread of the call does, wherever they run. */
struct moded {
    modc_slice *function;
    const void *call;
    uint64_t mode;
};

static void run_moded(const void *call, int slice)
{
    const struct moded *step = call;
    const uint64_t own = modc_float_mode();

    if (own != step->mode)
        modc_set_float_mode(step->mode);
    step->function(step->call, slice);
    if (own != step->mode)
        modc_set_float_mode(own);
}

void modc_split(const struct modc_threading *threading, int slices, modc_slice *function, const void *call)
{
    const struct modc_executor *executor = threading != NULL ? threading->executor : NULL;
    int threads = executor != NULL ? executor->threads : 1;

    if (threads > 1 && threading->threads > 0 && threads > threading->threads)
        threads = threading->threads;
    if (threads > slices)
        threads = slices;
    if (threads > 1) {
        const struct moded step = {function, call, modc_float_mode()};

        executor->run(executor->self, threads, slices, run_moded, &step);
        return;
    }
    for (int i = 0; i < slices; i++)
        function(call, i);
}

/* ---- the pool ------------------------------------------------------------------------------------------ */

#if defined __GNUC__

enum { SPIN_NS = 50000, LINE = 64 };

struct worker {
    struct pool *pool;
    pthread_t thread;
    int number; /* from 1; the caller is 0 */
};

struct pool {
    struct modc_executor executor;
    pid_t process;
    int started; /* workers */
    /* the job; see note [chunks] */
    modc_slice *function;
    const void *call;
    int slices, chunks;

    char apart[LINE]; /* what follows is written by several threads */
    unsigned open;    /* chunks to be taken */
    int finished;
    unsigned busy; /* a call uses the pool */
    char apart_too[LINE];
    unsigned asleep; /* workers, by number; bit 0: the caller */
    bool ends;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    struct worker workers[MODC_POOL_THREADS];
};

static void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_open(const struct pool *pool, int number)
{
    return __atomic_load_n(&pool->open, __ATOMIC_SEQ_CST) >> number & 1u;
}

static bool is_done(const struct pool *pool)
{
    return __atomic_load_n(&pool->finished, __ATOMIC_SEQ_CST) == pool->chunks;
}

static bool take(struct pool *pool, int chunk)
{
    return __atomic_fetch_and(&pool->open, ~(1u << chunk), __ATOMIC_SEQ_CST) >> chunk & 1u;
}

/* Runs a chunk that this thread has taken. */
static void run_chunk(struct pool *pool, int chunk)
{
    const int chunks = pool->chunks, first = (int)((int64_t)pool->slices * chunk / chunks);
    const int last = (int)((int64_t)pool->slices * (chunk + 1) / chunks);

    for (int i = first; i < last; i++)
        pool->function(pool->call, i);
    /* the job may be another one from here on */
    if (__atomic_add_fetch(&pool->finished, 1, __ATOMIC_SEQ_CST) == chunks &&
        (__atomic_load_n(&pool->asleep, __ATOMIC_SEQ_CST) & 1u)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* What others have not come to yet. */
static void run_rest(struct pool *pool)
{
    unsigned open;

    while ((open = __atomic_load_n(&pool->open, __ATOMIC_SEQ_CST)) != 0) {
        const int chunk = __builtin_ctz(open);

        if (take(pool, chunk))
            run_chunk(pool, chunk);
    }
}

/* Whether the condition came true within the time for which it is worth while to wait in a loop. */
static bool spin(const struct pool *pool, bool (*condition)(const struct pool *pool, int number), int number)
{
    const int64_t end = now() + SPIN_NS;

    do {
        for (int i = 0; i < 64; i++) {
            if (condition(pool, number))
                return true;
            relax();
        }
    } while (now() < end);
    return condition(pool, number);
}

static bool has_work(const struct pool *pool, int number)
{
    return is_open(pool, number) || __atomic_load_n(&pool->ends, __ATOMIC_SEQ_CST);
}

static bool has_ended(const struct pool *pool, int number)
{
    (void)number;
    return is_done(pool);
}

/* Sleeps until the condition holds. Whoever makes it true looks at `asleep` behind that, and wakes under the mutex. */
static void sleep_until(struct pool *pool, pthread_cond_t *wake,
                        bool (*condition)(const struct pool *pool, int number), int number)
{
    pthread_mutex_lock(&pool->mutex);
    __atomic_fetch_or(&pool->asleep, 1u << number, __ATOMIC_SEQ_CST);
    while (!condition(pool, number))
        pthread_cond_wait(wake, &pool->mutex);
    __atomic_fetch_and(&pool->asleep, ~(1u << number), __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *argument)
{
    const struct worker *own = argument;
    struct pool *pool = own->pool;

    for (;;) {
        if (!spin(pool, has_work, own->number))
            sleep_until(pool, &pool->work, has_work, own->number);
        if (take(pool, own->number)) {
            run_chunk(pool, own->number);
            run_rest(pool);
        } else if (__atomic_load_n(&pool->ends, __ATOMIC_SEQ_CST)) {
            return NULL;
        }
    }
}

static void run(void *self, int threads, int slices, modc_slice *function, const void *call)
{
    struct pool *pool = self;

    if (threads > pool->executor.threads)
        threads = pool->executor.threads;
    if (threads > slices)
        threads = slices;
    if (threads < 2 ||
        __atomic_exchange_n(&pool->busy, 1u, __ATOMIC_ACQUIRE) != 0) { /* or called from a slice */
        for (int i = 0; i < slices; i++)
            function(call, i);
        return;
    }
    pool->function = function;
    pool->call = call;
    pool->slices = slices;
    pool->chunks = threads;
    __atomic_store_n(&pool->finished, 0, __ATOMIC_SEQ_CST);

    const unsigned others = (unsigned)((UINT64_C(1) << threads) - 2);

    __atomic_store_n(&pool->open, others, __ATOMIC_SEQ_CST);
    if ((__atomic_load_n(&pool->asleep, __ATOMIC_SEQ_CST) & others) != 0 && getpid() == pool->process) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
    run_chunk(pool, 0);
    run_rest(pool);
    if (!spin(pool, has_ended, 0))
        sleep_until(pool, &pool->done, has_ended, 0);
    __atomic_store_n(&pool->busy, 0u, __ATOMIC_RELEASE);
}

static void stop(struct pool *pool)
{
    if (getpid() ==
        pool->process) { /* the child of a fork has no workers, and may not touch what they hold */
        pthread_mutex_lock(&pool->mutex);
        __atomic_store_n(&pool->ends, true, __ATOMIC_SEQ_CST);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
        for (int i = 0; i < pool->started; i++)
            pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->work);
        pthread_cond_destroy(&pool->done);
        pthread_mutex_destroy(&pool->mutex);
    }
    free(pool);
}

/* Signals are for the threads of the program. False: not all could be started. */
static bool start(struct pool *pool, int workers)
{
    sigset_t all, before;
    bool fine = true;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < workers && fine; i++) {
        struct worker *own = &pool->workers[i];

        own->pool = pool;
        own->number = i + 1;
        fine = pthread_create(&own->thread, NULL, work, own) == 0;
        pool->started += fine;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}

enum modc_status modc_pool_create(int threads, struct modc_executor **pool)
{
    struct pool *made;

    if (pool == NULL)
        return MODC_POINTER;
    *pool = NULL;
    if (threads < 1 || threads > MODC_POOL_THREADS)
        return MODC_ARGUMENT;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return MODC_MEMORY;
    made->executor = (struct modc_executor){made, threads, run};
    made->process = getpid();
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->done, NULL);
    if (!start(made, threads - 1)) {
        stop(made);
        return MODC_MEMORY;
    }
    *pool = &made->executor;
    return MODC_OK;
}

void modc_pool_destroy(struct modc_executor *pool)
{
    if (pool != NULL)
        stop(pool->self);
}

#else

enum modc_status modc_pool_create(int threads, struct modc_executor **pool)
{
    (void)threads;
    *pool = NULL;
    return MODC_UNSUPPORTED;
}

void modc_pool_destroy(struct modc_executor *pool)
{
    (void)pool;
}

#endif
