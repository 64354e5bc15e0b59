/* modc_threads.c - runs the slices of a step on several threads. POSIX or Windows; firmware leaves this file out.
 *
 * note [chunks]
 * A step has a fixed number of slices. The pool deals them out in as many chunks as threads take part, at most 32: a bit
 * of `open` for each chunk that nobody has taken. Whoever clears a bit runs that chunk. A thread takes the chunk with
 * its own number first, so that in the next call it finds its weights in its own cache, then any that is left: a thread
 * that comes late is not waited for. The job may be read only by who has taken a chunk and not yet counted it as
 * finished, since the caller changes it when all are finished, and nobody can take one of the old job then. */
#include "modc_threads_parts.h"

#include <stdlib.h>
#include <string.h>
#if defined _MSC_VER
#include <intrin.h>
#endif

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

#if defined __GNUC__ || defined _MSC_VER

/* ---- what the pool needs of the compiler ----------------------------------------------------------------- */

#if defined __GNUC__
static unsigned load(const unsigned *cell)
{
    return __atomic_load_n(cell, __ATOMIC_SEQ_CST);
}

static void store(unsigned *cell, unsigned value)
{
    __atomic_store_n(cell, value, __ATOMIC_SEQ_CST);
}

static unsigned fetch_and(unsigned *cell, unsigned mask)
{
    return __atomic_fetch_and(cell, mask, __ATOMIC_SEQ_CST);
}

static void set_bits(unsigned *cell, unsigned bits)
{
    __atomic_fetch_or(cell, bits, __ATOMIC_SEQ_CST);
}

static unsigned add_one(unsigned *cell)
{
    return __atomic_add_fetch(cell, 1u, __ATOMIC_SEQ_CST);
}

/* False: somebody else has it. */
static bool acquire(unsigned *cell)
{
    return __atomic_exchange_n(cell, 1u, __ATOMIC_ACQUIRE) == 0;
}

static void release(unsigned *cell)
{
    __atomic_store_n(cell, 0u, __ATOMIC_RELEASE);
}

static int lowest_bit(unsigned bits)
{
    return __builtin_ctz(bits);
}
#else
static unsigned load(const unsigned *cell)
{
    return (unsigned)_InterlockedOr((volatile long *)(uintptr_t)cell, 0);
}

static void store(unsigned *cell, unsigned value)
{
    (void)_InterlockedExchange((volatile long *)cell, (long)value);
}

static unsigned fetch_and(unsigned *cell, unsigned mask)
{
    return (unsigned)_InterlockedAnd((volatile long *)cell, (long)mask);
}

static void set_bits(unsigned *cell, unsigned bits)
{
    (void)_InterlockedOr((volatile long *)cell, (long)bits);
}

static unsigned add_one(unsigned *cell)
{
    return (unsigned)_InterlockedIncrement((volatile long *)cell);
}

/* False: somebody else has it. */
static bool acquire(unsigned *cell)
{
    return _InterlockedExchange((volatile long *)cell, 1) == 0;
}

static void release(unsigned *cell)
{
    store(cell, 0);
}

static int lowest_bit(unsigned bits)
{
    unsigned long place;

    (void)_BitScanForward(&place, bits);
    return (int)place;
}
#endif

/* ---- the pool ------------------------------------------------------------------------------------------ */

enum { SPIN_NS = 50000, LINE = 64 };

struct worker {
    struct pool *pool;
    struct modc_thread thread;
    int number; /* from 1; the caller is 0 */
};

struct pool {
    struct modc_executor executor;
    long process;
    int started; /* workers */
    /* the job; see note [chunks] */
    modc_slice *function;
    const void *call;
    int slices, chunks;

    char apart[LINE]; /* what follows is written by several threads */
    unsigned open;    /* chunks to be taken */
    unsigned finished;
    unsigned busy; /* a call uses the pool */
    char apart_too[LINE];
    unsigned asleep; /* workers, by number; bit 0: the caller */
    unsigned ends;   /* bool */
    struct modc_mutex mutex;
    struct modc_condition work, done;
    struct worker workers[MODC_POOL_THREADS];
};

static bool is_open(const struct pool *pool, int number)
{
    return load(&pool->open) >> number & 1u;
}

static bool is_done(const struct pool *pool)
{
    return load(&pool->finished) == (unsigned)pool->chunks;
}

static bool take(struct pool *pool, int chunk)
{
    return fetch_and(&pool->open, ~(1u << chunk)) >> chunk & 1u;
}

/* Runs a chunk that this thread has taken. */
static void run_chunk(struct pool *pool, int chunk)
{
    const int chunks = pool->chunks, first = (int)((int64_t)pool->slices * chunk / chunks);
    const int last = (int)((int64_t)pool->slices * (chunk + 1) / chunks);

    for (int i = first; i < last; i++)
        pool->function(pool->call, i);
    /* the job may be another one from here on */
    if (add_one(&pool->finished) == (unsigned)chunks && (load(&pool->asleep) & 1u)) {
        modc_lock(&pool->mutex);
        modc_wake_one(&pool->done);
        modc_unlock(&pool->mutex);
    }
}

/* What others have not come to yet. */
static void run_rest(struct pool *pool)
{
    unsigned open;

    while ((open = load(&pool->open)) != 0) {
        const int chunk = lowest_bit(open);

        if (take(pool, chunk))
            run_chunk(pool, chunk);
    }
}

/* Whether the condition came true within the time for which it is worth while to wait in a loop. */
static bool spin(const struct pool *pool, bool (*condition)(const struct pool *pool, int number), int number)
{
    const int64_t end = modc_now() + SPIN_NS;

    do {
        for (int i = 0; i < 64; i++) {
            if (condition(pool, number))
                return true;
            modc_relax();
        }
    } while (modc_now() < end);
    return condition(pool, number);
}

static bool has_work(const struct pool *pool, int number)
{
    return is_open(pool, number) || load(&pool->ends) != 0;
}

static bool has_ended(const struct pool *pool, int number)
{
    (void)number;
    return is_done(pool);
}

/* Sleeps until the condition holds. Whoever makes it true looks at `asleep` behind that, and wakes under the mutex. */
static void sleep_until(struct pool *pool, struct modc_condition *wake,
                        bool (*condition)(const struct pool *pool, int number), int number)
{
    modc_lock(&pool->mutex);
    set_bits(&pool->asleep, 1u << number);
    while (!condition(pool, number))
        modc_sleep(wake, &pool->mutex);
    (void)fetch_and(&pool->asleep, ~(1u << number));
    modc_unlock(&pool->mutex);
}

static MODC_THREAD_RESULT work(void *argument)
{
    const struct worker *own = argument;
    struct pool *pool = own->pool;

    for (;;) {
        if (!spin(pool, has_work, own->number))
            sleep_until(pool, &pool->work, has_work, own->number);
        if (take(pool, own->number)) {
            run_chunk(pool, own->number);
            run_rest(pool);
        } else if (load(&pool->ends) != 0) {
            return 0;
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
    if (threads < 2 || !acquire(&pool->busy)) { /* or called from a slice */
        for (int i = 0; i < slices; i++)
            function(call, i);
        return;
    }
    pool->function = function;
    pool->call = call;
    pool->slices = slices;
    pool->chunks = threads;
    store(&pool->finished, 0);

    const unsigned others = (unsigned)((UINT64_C(1) << threads) - 2);

    store(&pool->open, others);
    if ((load(&pool->asleep) & others) != 0 && modc_process_id() == pool->process) {
        modc_lock(&pool->mutex);
        modc_wake_all(&pool->work);
        modc_unlock(&pool->mutex);
    }
    run_chunk(pool, 0);
    run_rest(pool);
    if (!spin(pool, has_ended, 0))
        sleep_until(pool, &pool->done, has_ended, 0);
    release(&pool->busy);
}

static void stop(struct pool *pool)
{
    if (modc_process_id() ==
        pool->process) { /* the child of a fork has no workers, and may not touch what they hold */
        modc_lock(&pool->mutex);
        store(&pool->ends, 1);
        modc_wake_all(&pool->work);
        modc_unlock(&pool->mutex);
        for (int i = 0; i < pool->started; i++)
            modc_thread_join(pool->workers[i].thread);
        modc_condition_end(&pool->work);
        modc_condition_end(&pool->done);
        modc_mutex_end(&pool->mutex);
    }
    free(pool);
}

/* False: not all could be started. */
static bool start(struct pool *pool, int workers)
{
    bool fine = true;

    for (int i = 0; i < workers && fine; i++) {
        struct worker *own = &pool->workers[i];

        own->pool = pool;
        own->number = i + 1;
        fine = modc_thread_start(&own->thread, work, own);
        pool->started += fine;
    }
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
    made->process = modc_process_id();
    modc_mutex_init(&made->mutex);
    modc_condition_init(&made->work);
    modc_condition_init(&made->done);
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
