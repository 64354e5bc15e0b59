/* test_threads.c - the pool of the runtime: every slice once, whoever runs it; callers that meet; sleeping workers; forks;
 * threads that cannot be started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "modc.h"

/* A sanitizer that needs addresses without limit. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TAKES_ADDRESSES 1
#elif defined __has_feature
#define TAKES_ADDRESSES __has_feature(address_sanitizer)
#else
#define TAKES_ADDRESSES 0
#endif

enum { MOST = 100 };

struct counts {
    int runs[MOST];
    const struct modc_executor *inner; /* that slices use in turn, or NULL */
    int inner_runs[MOST][4];
};

static void count_inner(const void *call, int slice)
{
    ((int *)(uintptr_t)call)[slice]++;
}

static void count(const void *call, int slice)
{
    struct counts *counts = (struct counts *)(uintptr_t)call;

    counts->runs[slice]++;
    if (counts->inner)
        counts->inner->run(counts->inner->self, 4, 4, count_inner, counts->inner_runs[slice]);
}

/* Whether each slice ran once. */
static bool runs_once(const struct modc_executor *pool, int threads, int slices, bool nested)
{
    struct counts counts = {.inner = nested ? pool : NULL};

    pool->run(pool->self, threads, slices, count, &counts);
    for (int i = 0; i < MOST; i++) {
        if (counts.runs[i] != (i < slices))
            return false;
        for (int k = 0; k < 4; k++)
            if (counts.inner_runs[i][k] != (nested && i < slices))
                return false;
    }
    return true;
}

static void wait_ms(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000};

    nanosleep(&time, NULL);
}

static void test_arguments(void **state)
{
    struct modc_executor *pool;

    (void)state;
    assert_int_equal(modc_pool_create(0, &pool), MODC_ARGUMENT);
    assert_null(pool);
    assert_int_equal(modc_pool_create(MODC_POOL_THREADS + 1, &pool), MODC_ARGUMENT);
    assert_int_equal(modc_pool_create(2, NULL), MODC_POINTER);
    modc_pool_destroy(NULL);
}

static void test_slices(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 8, MODC_POOL_THREADS};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct modc_executor *pool;

        assert_int_equal(modc_pool_create(sizes[i], &pool), MODC_OK);
        assert_int_equal(pool->threads, sizes[i]);
        for (int slices = 0; slices <= MOST; slices += slices < 10 ? 1 : 9)
            for (int threads = 1; threads <= 40; threads += 13)
                assert_true(runs_once(pool, threads, slices, false) &&
                            runs_once(pool, threads, slices, true));
        modc_pool_destroy(pool);
    }
}

/* Workers fall asleep between the calls, or are about to. */
static void test_sleep(void **state)
{
    struct modc_executor *pool;

    (void)state;
    assert_int_equal(modc_pool_create(3, &pool), MODC_OK);
    for (int i = 0; i < 60; i++) {
        struct timespec time = {0, i * 5000};

        nanosleep(&time, NULL);
        assert_true(runs_once(pool, 3, 3, false));
    }
    wait_ms(5);
    modc_pool_destroy(pool); /* asleep */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(modc_pool_create(4, &pool), MODC_OK);
        modc_pool_destroy(pool); /* hardly started */
    }
}

static void *call_often(void *argument)
{
    const struct modc_executor *pool = argument;
    bool fine = true;

    for (int i = 0; i < 2000; i++)
        fine = runs_once(pool, 2 + i % 3, 1 + i % 7, i % 5 == 0) && fine;
    return fine ? argument : NULL;
}

/* Several threads call at the same time: one has the pool, the others help themselves. */
static void test_callers(void **state)
{
    struct modc_executor *pool;
    pthread_t callers[3];

    (void)state;
    assert_int_equal(modc_pool_create(3, &pool), MODC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
    for (int i = 0; i < 3; i++) {
        void *result;

        assert_int_equal(pthread_join(callers[i], &result), 0);
        assert_ptr_equal(result, pool);
    }
    modc_pool_destroy(pool);
}

/* The child has no workers, whether they slept or not when it was made. */
static void test_fork(void **state)
{
    struct modc_executor *pool;

    (void)state;
    assert_int_equal(modc_pool_create(4, &pool), MODC_OK);
    for (int i = 0; i < 4; i++) {
        pid_t child;
        int status;

        assert_true(runs_once(pool, 4, 9, false));
        if (i % 2)
            wait_ms(3);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct modc_executor *own;
            bool fine = runs_once(pool, 4, 9, true);

            modc_pool_destroy(pool);
#if !defined __SANITIZE_THREAD__ /* which refuses new threads there */
            fine = modc_pool_create(2, &own) == MODC_OK && runs_once(own, 2, 5, false) && fine;
            modc_pool_destroy(own);
#else
            (void)own;
#endif
            _exit(fine ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(runs_once(pool, 4, 9, false));
    }
    modc_pool_destroy(pool);
}

/* No memory for the stacks of more threads: a status, and those that had started are gone. */
static void test_no_threads(void **state)
{
    int status;
    pid_t child;

    (void)state;
#if TAKES_ADDRESSES
    skip();
#endif
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {64u << 20, 64u << 20};
        struct modc_executor *pool = NULL;

        _exit(setrlimit(RLIMIT_AS, &limit) != 0                     ? 2
              : modc_pool_create(32, &pool) == MODC_MEMORY && !pool ? 0
                                                                    : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Slices wait some time for each other, so that most have a thread of their own: one that has done its slice may take another's. */
static void read_mode(const void *call, int slice)
{
    uint64_t *modes = (uint64_t *)(uintptr_t)call;

    __atomic_add_fetch(&modes[3], 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 200 && __atomic_load_n(&modes[3], __ATOMIC_SEQ_CST) < 3; i++)
        wait_ms(1);
    modes[slice] = modc_float_mode();
}

static void read_own_mode(const void *call, int slice)
{
    ((uint64_t *)(uintptr_t)call)[slice] = modc_float_mode();
}

/* Workers flush denormal numbers where the caller does, and no longer than that, whatever the executor does about it. */
static void test_float_mode(void **state)
{
    const uint64_t before = modc_float_mode();
    struct modc_executor *pool;
    struct modc_threading threading = {0};

    (void)state;
    assert_int_equal(modc_pool_create(3, &pool), MODC_OK);
    threading.executor = pool;
    for (int i = 0; i < 4; i++) {
        uint64_t modes[4] = {0}, others[3], mode = before;

        if (i % 2 == 0) {
            assert_int_equal(modc_flush_denormals(), before);
            mode = modc_float_mode();
        }
        modc_split(&threading, 3, read_mode, modes);
        modc_set_float_mode(before);
        for (int k = 0; k < 3; k++)
            assert_int_equal(modes[k], mode);
        pool->run(pool->self, 3, 3, read_own_mode, others);
        for (int k = 0; k < 3; k++)
            assert_int_equal(others[k], before);
    }
    modc_pool_destroy(pool);
}

/* What a call computes raises flags, which outlast a change of the mode; rounding comes back with it. */
static void test_flags(void **state)
{
    const volatile float least = 1e-30f, one = 1.0f, three = 3.0f;
    volatile float product, third;
    uint64_t before;

    (void)state;
    fesetround(FE_UPWARD);
    third = one / three;
    feclearexcept(FE_ALL_EXCEPT);
    before = modc_flush_denormals();
    product = least * 1e-10f;
    assert_true(product == 0.0f || modc_float_mode() == before);
    fesetround(FE_DOWNWARD);
    product = one / three;
    assert_true(product < third);
    modc_set_float_mode(before);
    assert_true(fetestexcept(FE_INEXACT) != 0);
    product = one / three;
    assert_true(product == third);
    product = least * 1e-10f;
    assert_true(product > 0.0f);
    fesetround(FE_TONEAREST);
}

/* Without an executor, or with few threads, the caller runs all slices in order. */
static void test_split(void **state)
{
    struct modc_threading none = {0};
    struct counts counts = {0};

    (void)state;
    modc_split(&none, 5, count, &counts);
    modc_split(NULL, 5, count, &counts);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(counts.runs[i], i < 5 ? 2 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_slices),
        cmocka_unit_test(test_sleep),     cmocka_unit_test(test_callers),
        cmocka_unit_test(test_fork),      cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_split),     cmocka_unit_test(test_float_mode),
        cmocka_unit_test(test_flags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
