/* faults.h - what tests of planted faults share: memory on the device, and a run of each fault under several orders of threads. It must
 * be found under every one, by what is said; and nothing where it is not planted. */
#ifndef FAULTS_H
#define FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include <cmocka.h>
}

#include "modc_cuda.h"

enum { N = 128 };
static cudaStream_t stream, other;
static float *x, *y; /* N numbers on the device: 0, 1, 2, ... and zeros */
static float *pinned;
static unsigned *counter;

/* Room for large kernels, written. */
static float *large;
enum { LARGE = 1 << 18 };

struct fault {
    const char *name;
    void (*run)(bool planted);
    const char *says[2]; /* one of them, as threads are ordered; NULL: there is one */
};

#define FAULT(name, ...)                                                                                     \
    {                                                                                                        \
#name, name,                                                                                         \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

static int set_up(void **state)
{
    static float numbers[LARGE];
    static const unsigned zero = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        numbers[i] = (float)i;
    cudaMalloc(&x, N * sizeof *x);
    cudaMalloc(&y, N * sizeof *y);
    cudaMalloc(&large, sizeof numbers);
    cudaMalloc(&counter, sizeof *counter);
    cudaMallocHost(&pinned, N * sizeof *pinned);
    memset(pinned, 0, N * sizeof *pinned);
    cudaMemcpy(x, numbers, N * sizeof *x, cudaMemcpyHostToDevice);
    cudaMemcpy(large, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemcpy(counter, &zero, sizeof zero, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, N * sizeof *y);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    return cudaGetLastError() != cudaSuccess;
}

static int tear_down(void **state)
{
    (void)state;
    cuda_host_faults();
    cudaStreamDestroy(stream);
    cudaStreamDestroy(other);
    cudaFree(x);
    cudaFree(y);
    cudaFree(large);
    cudaFree(counter);
    cudaFreeHost(pinned);
    cudaGetLastError();
    return cuda_host_held() != 0;
}

static void test_fault(void **state)
{
    static const uint64_t seeds[] = {0, 1, 7, 12345};
    const struct fault *fault = (const struct fault *)*state;

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        cuda_host_seed(seeds[i]);
        fault->run(false);
        if (cudaDeviceSynchronize() != cudaSuccess || *cuda_host_fault())
            fail_msg("seed %d: not planted, and said: %s", (int)seeds[i], cuda_host_fault());
        fault->run(true);
        if (cudaDeviceSynchronize() != cudaErrorLaunchFailure)
            fail_msg("seed %d: not found", (int)seeds[i]);
        if (!strstr(cuda_host_fault(), fault->says[0]) &&
            !(fault->says[1] && strstr(cuda_host_fault(), fault->says[1])))
            fail_msg("seed %d: says: %s", (int)seeds[i], cuda_host_fault());
        assert_true(cuda_host_faults() > 0);
        tear_down(NULL);
        set_up(NULL);
    }
}

static int run_faults(const struct fault *faults, int count)
{
    static struct CMUnitTest tests[128];

    assert_true(count <= (int)(sizeof tests / sizeof *tests));
    setenv("CUDA_HOST_QUIET", "1", 1);
    assert_true(cuda_host_checked());
    for (int i = 0; i < count; i++) {
        tests[i].name = faults[i].name;
        tests[i].test_func = test_fault;
        tests[i].setup_func = set_up;
        tests[i].teardown_func = tear_down;
        tests[i].initial_state = (void *)&faults[i];
    }
    return _cmocka_run_group_tests("faults", tests, (size_t)count, NULL, NULL);
}

#endif
