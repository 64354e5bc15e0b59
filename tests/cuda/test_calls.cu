/* test_calls.cu - what the host calls of the stand-in do, as CUDA's documentation says it: memory, copies, streams, events, graphs,
 * errors, calls and kernels that fail by their number, devices that are not there, too old or too small. */
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

enum { N = 64, MEMORY = 64 << 20 };
#define OK(call) assert_int_equal(call, cudaSuccess)
#define IS(call, error) assert_int_equal(call, error), assert_int_equal(cudaGetLastError(), error)

static float *device;
static float *pinned;
static cudaStream_t stream;

static __global__ void add(float *y, float by)
{
    y[threadIdx.x] += by;
}

/* The first number on the device, once all work is done. */
static float first(void)
{
    float value;

    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static int set_up(void **state)
{
    (void)state;
    OK(cudaMalloc(&device, N * sizeof *device));
    OK(cudaMallocHost(&pinned, N * sizeof *pinned));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMemset(device, 0, N * sizeof *device));
    for (int i = 0; i < N; i++)
        pinned[i] = (float)i;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cuda_host_fail(0, cudaSuccess);
    cuda_host_fail_launch(0, cudaSuccess);
    cuda_host_device(1, 90, MEMORY);
    cuda_host_seed(0);
    cuda_host_faults();
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
    assert_int_equal(cuda_host_held(), 0);
    return 0;
}

static void test_work_waits(void **state) /* nothing runs before somebody waits */
{
    (void)state;
    OK(MODC_LAUNCH(add, 1, N, 0, stream, device, 1));
    OK(cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, stream));
    assert_true(*(volatile float *)device == 0);
    OK(cudaStreamSynchronize(stream));
    assert_true(pinned[0] == 1);
}

static void test_pageable_is_staged(void **state)
{
    float host[N] = {5};

    (void)state;
    OK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
    host[0] = 6; /* read already */
    assert_true(first() == 5);
}

static void test_copies(void **state)
{
    float host[N];
    float *other;

    (void)state;
    OK(cudaMalloc(&other, sizeof host));
    OK(cudaMemcpy(device, pinned, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, device, sizeof host, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(host, other, sizeof host, cudaMemcpyDefault));
    assert_memory_equal(host, pinned, sizeof host);
    OK(cudaMemcpy(host, other, 0, cudaMemcpyDeviceToHost));
    IS(cudaMemcpy(host, pinned, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemcpy(device, pinned, sizeof host, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    IS(cudaMemcpy(device, NULL, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaMemset(host, 0, sizeof host), cudaErrorInvalidValue);
    OK(cudaFree(other));
    IS(cudaFree(other), cudaErrorInvalidValue);
    IS(cudaFree(host), cudaErrorInvalidValue);
    IS(cudaFreeHost(host), cudaErrorInvalidValue);
    OK(cudaFree(NULL));
    OK(cudaFreeHost(NULL));
}

static void test_pointers(void **state)
{
    struct cudaPointerAttributes attributes;
    int host = 0;

    (void)state;
    OK(cudaPointerGetAttributes(&attributes, device + 1));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_ptr_equal(attributes.devicePointer, device + 1);
    OK(cudaPointerGetAttributes(&attributes, pinned + 1));
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, &host));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    OK(cudaPointerGetAttributes(&attributes, device + N)); /* behind it */
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
}

static void test_launches_that_cannot_be(void **state)
{
    (void)state;
    IS(MODC_LAUNCH(add, 0, N, 0, stream, device, 1), cudaErrorInvalidConfiguration);
    IS(MODC_LAUNCH(add, 1, 1025, 0, stream, device, 1), cudaErrorInvalidConfiguration);
    IS(MODC_LAUNCH(add, dim3(1, 65536), N, 0, stream, device, 1), cudaErrorInvalidConfiguration);
    IS(MODC_LAUNCH(add, 1, N, 48 * 1024 + 1, stream, device, 1), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    OK(MODC_LAUNCH(add, 1, N, 64 * 1024, stream, device, 1));
    IS(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
       cudaErrorInvalidValue);
    assert_true(first() == 1);
}

static void test_streams(void **state)
{
    static const uint64_t seeds[] = {0, 1, 7, 12345};
    cudaStream_t blocking;
    cudaEvent_t event;

    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        cuda_host_seed(seeds[i]);
        OK(cudaMemset(device, 0, N * sizeof *device));
        OK(cudaStreamCreate(&blocking));
        OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        /* The default stream and one that blocks wait for each other. */
        OK(cudaMemcpyAsync(device, pinned + 1, sizeof *device, cudaMemcpyHostToDevice, blocking));
        OK(MODC_LAUNCH(add, 1, N, 0, NULL, device, 10));
        OK(MODC_LAUNCH(add, 1, N, 0, blocking, device, 100));
        /* Another waits for an event alone; what is recorded later does not matter to it. */
        OK(cudaEventRecord(event, blocking));
        OK(cudaStreamWaitEvent(stream, event, 0));
        OK(cudaEventRecord(event, blocking));
        OK(cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        assert_true(pinned[0] == 111);
        pinned[0] = 0;
        assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
        OK(cudaEventSynchronize(event));
        OK(cudaEventQuery(event));
        OK(MODC_LAUNCH(add, 1, N, 0, blocking, device, 1));
        assert_int_equal(cudaStreamQuery(blocking), cudaErrorNotReady);
        OK(cudaStreamQuery(blocking));
        assert_int_equal(cudaGetLastError(), cudaSuccess); /* not being ready is no error that stays */
        OK(cudaEventDestroy(event));
        OK(cudaStreamDestroy(blocking));
        IS(cudaStreamSynchronize(blocking), cudaErrorInvalidResourceHandle);
    }
}

static void called(void *user)
{
    ++*(int *)user;
}

static void test_host_functions(void **state)
{
    int calls = 0;

    (void)state;
    OK(cudaLaunchHostFunc(stream, called, &calls));
    assert_int_equal(calls, 0);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(calls, 1);
    IS(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
}

static void test_graphs(void **state)
{
    enum cudaStreamCaptureStatus status;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    float by = 1;

    (void)state;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(cudaMemcpyAsync(device, pinned + 2, sizeof *device, cudaMemcpyHostToDevice, stream));
    OK(MODC_LAUNCH(add, 1, N, 0, stream, device, by));
    by = 2; /* arguments are those of the capture */
    OK(cudaStreamEndCapture(stream, &graph));
    assert_true(first() == 0); /* a capture runs nothing */
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    pinned[2] = 20; /* what is pinned is read when the graph runs */
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(exec, stream));
    assert_true(first() == 21);
    OK(cudaGraphExecDestroy(exec));
}

static void test_captures_that_fail(void **state)
{
    float host[N] = {0};
    cudaGraph_t graph;
    void *p;

    (void)state;
    IS(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    IS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnmatched);
#define SPOILED(call, error)                                                                                 \
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));                                         \
    IS(call, error);                                                                                         \
    IS(MODC_LAUNCH(add, 1, N, 0, stream, device, 1), cudaErrorStreamCaptureInvalidated);                     \
    IS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);                             \
    assert_null(graph)
    SPOILED(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    SPOILED(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    SPOILED(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
    SPOILED(cudaFree(device), cudaErrorStreamCaptureUnsupported);
    SPOILED(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream),
            cudaErrorStreamCaptureUnsupported); /* not pinned */
    SPOILED(MODC_LAUNCH(add, 1, N, 0, NULL, device, 1), cudaErrorStreamCaptureImplicit);
    assert_true(first() == 0);
}

static void test_calls_that_fail(void **state)
{
    int calls;

    (void)state;
    cuda_host_fail(2, cudaErrorMemoryAllocation);
    OK(cudaMemcpyAsync(device, pinned, sizeof *device, cudaMemcpyHostToDevice, stream));
    IS(MODC_LAUNCH(add, 1, N, 0, stream, device, 1), cudaErrorMemoryAllocation);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(cuda_host_calls(), 3);
    cuda_host_fail(0, cudaSuccess);
    assert_int_equal(cuda_host_calls(), 0);
    /* Every call of a sequence, one after the other. */
    for (calls = 1;; calls++) {
        cudaError_t status[4];

        cuda_host_fail(calls, cudaErrorUnknown);
        status[0] = cudaMemsetAsync(device, 0, N * sizeof *device, stream);
        status[1] = MODC_LAUNCH(add, 1, N, 0, stream, device, 1);
        status[2] = cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, stream);
        status[3] = cudaStreamSynchronize(stream);
        if (calls > 4)
            break;
        for (int i = 0; i < 4; i++)
            assert_int_equal(status[i], i == calls - 1 ? cudaErrorUnknown : cudaSuccess);
        cuda_host_fail(0, cudaSuccess);
        OK(cudaDeviceSynchronize());
    }
    cudaGetLastError();
}

static void test_kernels_that_fail(void **state)
{
    (void)state;
    cuda_host_fail_launch(2, cudaErrorIllegalAddress);
    for (int i = 0; i < 3; i++)
        OK(MODC_LAUNCH(add, 1, N, 0, stream, device, 1));
    IS(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);         /* found by who waits */
    IS(cudaMemsetAsync(device, 0, 4, stream), cudaErrorIllegalAddress); /* and by every call since */
    cuda_host_faults();
    assert_true(first() == 1);
}

static void test_devices(void **state)
{
    size_t left, total;
    float *large;
    int value;

    (void)state;
    OK(cudaGetDeviceCount(&value));
    assert_int_equal(value, 1);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    assert_int_equal(value, 9);
    IS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), cudaErrorInvalidDevice);
    IS(cudaSetDevice(1), cudaErrorInvalidDevice);
    cuda_host_device(-1, 75, 4096 + N * sizeof *device);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMinor, 0));
    assert_int_equal(value, 5);
    OK(cudaMemGetInfo(&left, &total));
    assert_int_equal(left, 4096);
    IS(cudaMalloc(&large, 4097), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&large, 4096));
    IS(cudaMalloc(&large, 1), cudaErrorMemoryAllocation);
    OK(cudaFree(large));
    cuda_host_device(0, -1, -1);
    IS(cudaGetDeviceCount(&value), cudaErrorNoDevice);
    assert_int_equal(value, 0);
    IS(cudaMalloc(&large, 1), cudaErrorNoDevice);
    assert_string_equal(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice");
    assert_string_equal(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected");
    assert_string_equal(cudaGetErrorString((cudaError_t)998), "unrecognized error code");
}

/* Memory is given out and taken back more often than there are addresses. */
static void test_addresses_come_again(void **state)
{
    float *p;

    (void)state;
    for (int i = 0; i < 40; i++) {
        OK(cudaMalloc(&p, MEMORY / 4));
        OK(cudaFree(p));
    }
}

static __global__ void warp_words(int *y)
{
    const int lane = (int)threadIdx.x;

    y[lane] = __shfl_down_sync(MODC_WARP, lane, 1);
    y[32 + lane] = __shfl_up_sync(MODC_WARP, lane, 2, 8);
    y[64 + lane] = __shfl_sync(MODC_WARP, lane, 3, 16);
    y[96 + lane] = (int)__ballot_sync(MODC_WARP, lane % 3 == 0);
    y[128 + lane] = __any_sync(MODC_WARP, lane == 5) + 2 * __all_sync(MODC_WARP, lane < 32);
    y[160 + lane] = __syncthreads_count(lane < 7) + 100 * __syncthreads_or(lane == 9) +
                    1000 * __syncthreads_and(lane < 31);
}

static void test_warps(void **state)
{
    int y[192], *to;

    (void)state;
    OK(cudaMalloc(&to, sizeof y));
    OK(MODC_LAUNCH(warp_words, 1, 32, 0, stream, to));
    OK(cudaMemcpyAsync(y, to, sizeof y, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(to));
    for (int i = 0; i < 32; i++) {
        assert_int_equal(y[i], i < 31 ? i + 1 : i);
        assert_int_equal(y[32 + i], i % 8 >= 2 ? i - 2 : i);
        assert_int_equal(y[64 + i], i / 16 * 16 + 3);
        assert_int_equal((unsigned)y[96 + i], 0x49249249u);
        assert_int_equal(y[128 + i], 3);
        assert_int_equal(y[160 + i], 107);
    }
}

static __global__ void atomics(int *y, float *sum)
{
    const int i = (int)threadIdx.x;

    atomicAdd(&y[0], i);
    atomicMax(&y[1], i);
    atomicMin(&y[2], -i);
    atomicOr(&y[3], 1 << i % 8);
    atomicAnd(&y[4], ~(1 << i % 4));
    if (atomicCAS(&y[5], 0, i + 1) == 0)
        atomicExch(&y[6], i + 1);
    atomicAdd(sum, 0.5f);
}

static void test_atomics(void **state)
{
    int y[7], *to;
    const int from[7] = {0, 0, 0, 0, -1, 0, 0};

    (void)state;
    cuda_host_seed(7);
    OK(cudaMalloc(&to, sizeof y));
    OK(cudaMemcpyAsync(to, from, sizeof from, cudaMemcpyHostToDevice, stream));
    OK(MODC_LAUNCH(atomics, 2, 64, 0, stream, to, device));
    OK(cudaMemcpyAsync(y, to, sizeof y, cudaMemcpyDeviceToHost, stream));
    assert_true(first() == 64);
    OK(cudaFree(to));
    assert_int_equal(y[0], 63 * 64);
    assert_int_equal(y[1], 63);
    assert_int_equal(y[2], -63);
    assert_int_equal(y[3], 255);
    assert_int_equal(y[4], -16);
    assert_int_equal(y[5], y[6]);
}

static void test_numbers(void **state)
{
    static const struct {
        float from;
        uint16_t to;
    } halves[] = {{1, 0x3f80},       {-2, 0xc000},       {1.00390625f, 0x3f80}, {1.01171875f, 0x3f82},
                  {3.4e38f, 0x7f80}, {INFINITY, 0x7f80}, {NAN, 0x7fc0},         {1e-40f, 0x0001}};

    (void)state;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        assert_int_equal(modc_f32_to_bfloat16(halves[i].from), halves[i].to);
    assert_true(modc_bfloat16_to_f32(0x3f80) == 1);
    assert_int_equal(modc_to_tf32(1.0f), 0x3f800000);
    assert_int_equal(modc_to_tf32(__int_as_float(0x3f800fff)), 0x3f800000);
    assert_int_equal(modc_to_tf32(__int_as_float(0x3f801000)), 0x3f802000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_work_waits),
        TEST(test_pageable_is_staged),
        TEST(test_copies),
        TEST(test_pointers),
        TEST(test_launches_that_cannot_be),
        TEST(test_streams),
        TEST(test_host_functions),
        TEST(test_graphs),
        TEST(test_captures_that_fail),
        TEST(test_calls_that_fail),
        TEST(test_kernels_that_fail),
        TEST(test_devices),
        TEST(test_addresses_come_again),
        TEST(test_warps),
        TEST(test_atomics),
        TEST(test_numbers),
    };

    cuda_host_device(1, 90, MEMORY);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
