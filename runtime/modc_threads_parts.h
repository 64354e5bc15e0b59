/* modc_threads_parts.h - threads, mutexes, conditions and clocks of POSIX and Windows under one set of names. Private to the runtime,
 * for files that hosted builds alone have; included before all others. */
#ifndef MODC_RUNTIME_THREADS_PARTS_H
#define MODC_RUNTIME_THREADS_PARTS_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "modc.h"

#if defined _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

#if defined _WIN32
struct modc_mutex {
    SRWLOCK of;
};

struct modc_condition {
    CONDITION_VARIABLE of;
};

struct modc_thread {
    HANDLE of;
};

struct modc_thread_id {
    DWORD of;
};

#define MODC_THREAD_RESULT DWORD WINAPI

static inline void modc_mutex_init(struct modc_mutex *mutex)
{
    InitializeSRWLock(&mutex->of);
}

static inline void modc_condition_init(struct modc_condition *condition)
{
    InitializeConditionVariable(&condition->of);
}

/* Neither has anything to give back here. */
static inline void modc_mutex_end(struct modc_mutex *mutex)
{
    (void)mutex;
}

static inline void modc_condition_end(struct modc_condition *condition)
{
    (void)condition;
}

static inline void modc_lock(struct modc_mutex *mutex)
{
    AcquireSRWLockExclusive(&mutex->of);
}

static inline void modc_unlock(struct modc_mutex *mutex)
{
    ReleaseSRWLockExclusive(&mutex->of);
}

static inline void modc_sleep(struct modc_condition *condition, struct modc_mutex *mutex)
{
    (void)SleepConditionVariableSRW(&condition->of, &mutex->of, INFINITE, 0);
}

/* At most so many nanoseconds. */
static inline void modc_sleep_for(struct modc_condition *condition, struct modc_mutex *mutex, int64_t time)
{
    const int64_t most = 3600 * (int64_t)1000;
    const int64_t milliseconds = time / 1000000 + 1;

    (void)SleepConditionVariableSRW(&condition->of, &mutex->of,
                                    (DWORD)(milliseconds < most ? milliseconds : most), 0);
}

static inline void modc_wake_one(struct modc_condition *condition)
{
    WakeConditionVariable(&condition->of);
}

static inline void modc_wake_all(struct modc_condition *condition)
{
    WakeAllConditionVariable(&condition->of);
}

static inline bool modc_thread_start(struct modc_thread *thread, DWORD(WINAPI *function)(void *),
                                     void *argument)
{
    thread->of = CreateThread(NULL, 0, function, argument, 0, NULL);
    return thread->of != NULL;
}

static inline void modc_thread_join(struct modc_thread thread)
{
    (void)WaitForSingleObject(thread.of, INFINITE);
    CloseHandle(thread.of);
}

static inline struct modc_thread_id modc_own_id(void)
{
    struct modc_thread_id id;

    id.of = GetCurrentThreadId();
    return id;
}

static inline bool modc_is_own_id(struct modc_thread_id id)
{
    return id.of == GetCurrentThreadId();
}

static inline long modc_process_id(void)
{
    return (long)GetCurrentProcessId();
}

static inline void modc_relax(void)
{
    YieldProcessor();
}

/* Nanoseconds. */
static inline int64_t modc_now(void)
{
    LARGE_INTEGER ticks, second;

    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return ticks.QuadPart / second.QuadPart * 1000000000 +
           ticks.QuadPart % second.QuadPart * 1000000000 / second.QuadPart;
}
#else
struct modc_mutex {
    pthread_mutex_t of;
};

struct modc_condition {
    pthread_cond_t of;
};

struct modc_thread {
    pthread_t of;
};

struct modc_thread_id {
    pthread_t of;
};

#define MODC_THREAD_RESULT void *

/* The clock of sleeps that end: one that nobody sets, where conditions can have it. */
#if defined _POSIX_CLOCK_SELECTION && _POSIX_CLOCK_SELECTION > 0
#define MODC_SLEEP_CLOCK CLOCK_MONOTONIC
#else
#define MODC_SLEEP_CLOCK CLOCK_REALTIME
#endif

static inline void modc_mutex_init(struct modc_mutex *mutex)
{
    pthread_mutex_init(&mutex->of, NULL);
}

static inline void modc_condition_init(struct modc_condition *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
#if defined _POSIX_CLOCK_SELECTION && _POSIX_CLOCK_SELECTION > 0
    pthread_condattr_setclock(&attributes, MODC_SLEEP_CLOCK);
#endif
    pthread_cond_init(&condition->of, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline void modc_mutex_end(struct modc_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->of);
}

static inline void modc_condition_end(struct modc_condition *condition)
{
    pthread_cond_destroy(&condition->of);
}

static inline void modc_lock(struct modc_mutex *mutex)
{
    pthread_mutex_lock(&mutex->of);
}

static inline void modc_unlock(struct modc_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->of);
}

static inline void modc_sleep(struct modc_condition *condition, struct modc_mutex *mutex)
{
    pthread_cond_wait(&condition->of, &mutex->of);
}

/* At most so many nanoseconds. */
static inline void modc_sleep_for(struct modc_condition *condition, struct modc_mutex *mutex, int64_t time)
{
    const int64_t second = 1000000000, most = 3600 * second;
    struct timespec until;

    time = time < most ? time : most;
    clock_gettime(MODC_SLEEP_CLOCK, &until);
    until.tv_sec += (time_t)((until.tv_nsec + time) / second);
    until.tv_nsec = (long)((until.tv_nsec + time) % second);
    pthread_cond_timedwait(&condition->of, &mutex->of, &until);
}

static inline void modc_wake_one(struct modc_condition *condition)
{
    pthread_cond_signal(&condition->of);
}

static inline void modc_wake_all(struct modc_condition *condition)
{
    pthread_cond_broadcast(&condition->of);
}

/* Signals are for the threads of the program. */
static inline bool modc_thread_start(struct modc_thread *thread, void *(*function)(void *), void *argument)
{
    sigset_t all, before;
    bool fine;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    fine = pthread_create(&thread->of, NULL, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}

static inline void modc_thread_join(struct modc_thread thread)
{
    pthread_join(thread.of, NULL);
}

static inline struct modc_thread_id modc_own_id(void)
{
    struct modc_thread_id id;

    id.of = pthread_self();
    return id;
}

static inline bool modc_is_own_id(struct modc_thread_id id)
{
    return pthread_equal(id.of, pthread_self()) != 0;
}

static inline long modc_process_id(void)
{
    return (long)getpid();
}

static inline void modc_relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Nanoseconds. */
static inline int64_t modc_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
#endif

#endif
