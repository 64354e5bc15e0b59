/* modc_threads.c - runs the slices of a step on several threads. POSIX or Windows; firmware leaves this file out.
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

#include <stdlib.h>
#include <string.h>
#if defined _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif
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

/* ---- what it needs of the system ------------------------------------------------------------------------- */

#if defined _WIN32
#define MUTEX SRWLOCK
#define CONDITION CONDITION_VARIABLE
#define THREAD HANDLE
#define THREAD_RESULT DWORD WINAPI

static void make_mutex(MUTEX *mutex)
{
    InitializeSRWLock(mutex);
}

static void make_condition(CONDITION *condition)
{
    InitializeConditionVariable(condition);
}

static void lock(MUTEX *mutex)
{
    AcquireSRWLockExclusive(mutex);
}

static void unlock(MUTEX *mutex)
{
    ReleaseSRWLockExclusive(mutex);
}

static void wait_for(CONDITION *condition, MUTEX *mutex)
{
    (void)SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

static void wake_one(CONDITION *condition)
{
    WakeConditionVariable(condition);
}

static void wake_all(CONDITION *condition)
{
    WakeAllConditionVariable(condition);
}

static bool start_thread(THREAD *thread, DWORD(WINAPI *function)(void *), void *argument)
{
    *thread = CreateThread(NULL, 0, function, argument, 0, NULL);
    return *thread != NULL;
}

static void join(THREAD thread)
{
    (void)WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

/* Neither has anything to give back here. */
static void end_mutex(MUTEX *mutex)
{
    (void)mutex;
}

static void end_condition(CONDITION *condition)
{
    (void)condition;
}

static long process(void)
{
    return (long)GetCurrentProcessId();
}

static void relax(void)
{
    YieldProcessor();
}

/* Nanoseconds. */
static int64_t now(void)
{
    LARGE_INTEGER ticks, second;

    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return ticks.QuadPart / second.QuadPart * 1000000000 +
           ticks.QuadPart % second.QuadPart * 1000000000 / second.QuadPart;
}
#else
#define MUTEX pthread_mutex_t
#define CONDITION pthread_cond_t
#define THREAD pthread_t
#define THREAD_RESULT void *

static void make_mutex(MUTEX *mutex)
{
    pthread_mutex_init(mutex, NULL);
}

static void make_condition(CONDITION *condition)
{
    pthread_cond_init(condition, NULL);
}

static void lock(MUTEX *mutex)
{
    pthread_mutex_lock(mutex);
}

static void unlock(MUTEX *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void wait_for(CONDITION *condition, MUTEX *mutex)
{
    pthread_cond_wait(condition, mutex);
}

static void wake_one(CONDITION *condition)
{
    pthread_cond_signal(condition);
}

static void wake_all(CONDITION *condition)
{
    pthread_cond_broadcast(condition);
}

/* Signals are for the threads of the program. */
static bool start_thread(THREAD *thread, void *(*function)(void *), void *argument)
{
    sigset_t all, before;
    bool fine;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    fine = pthread_create(thread, NULL, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}

static void join(THREAD thread)
{
    pthread_join(thread, NULL);
}

static void end_mutex(MUTEX *mutex)
{
    pthread_mutex_destroy(mutex);
}

static void end_condition(CONDITION *condition)
{
    pthread_cond_destroy(condition);
}

static long process(void)
{
    return (long)getpid();
}

static void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Nanoseconds. */
static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
#endif

/* ---- the pool ------------------------------------------------------------------------------------------ */

enum { SPIN_NS = 50000, LINE = 64 };

struct worker {
    struct pool *pool;
    THREAD thread;
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
    MUTEX mutex;
    CONDITION work, done;
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
        lock(&pool->mutex);
        wake_one(&pool->done);
        unlock(&pool->mutex);
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
    return is_open(pool, number) || load(&pool->ends) != 0;
}

static bool has_ended(const struct pool *pool, int number)
{
    (void)number;
    return is_done(pool);
}

/* Sleeps until the condition holds. Whoever makes it true looks at `asleep` behind that, and wakes under the mutex. */
static void sleep_until(struct pool *pool, CONDITION *wake,
                        bool (*condition)(const struct pool *pool, int number), int number)
{
    lock(&pool->mutex);
    set_bits(&pool->asleep, 1u << number);
    while (!condition(pool, number))
        wait_for(wake, &pool->mutex);
    (void)fetch_and(&pool->asleep, ~(1u << number));
    unlock(&pool->mutex);
}

static THREAD_RESULT work(void *argument)
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
    if ((load(&pool->asleep) & others) != 0 && process() == pool->process) {
        lock(&pool->mutex);
        wake_all(&pool->work);
        unlock(&pool->mutex);
    }
    run_chunk(pool, 0);
    run_rest(pool);
    if (!spin(pool, has_ended, 0))
        sleep_until(pool, &pool->done, has_ended, 0);
    release(&pool->busy);
}

static void stop(struct pool *pool)
{
    if (process() ==
        pool->process) { /* the child of a fork has no workers, and may not touch what they hold */
        lock(&pool->mutex);
        store(&pool->ends, 1);
        wake_all(&pool->work);
        unlock(&pool->mutex);
        for (int i = 0; i < pool->started; i++)
            join(pool->workers[i].thread);
        end_condition(&pool->work);
        end_condition(&pool->done);
        end_mutex(&pool->mutex);
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
        fine = start_thread(&own->thread, work, own);
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
    made->process = process();
    make_mutex(&made->mutex);
    make_condition(&made->work);
    make_condition(&made->done);
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
