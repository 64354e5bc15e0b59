/* test_kernels.cu - the kernels of kernels.cu against plain loops in double: under several orders of threads, which change no bit,
 * and without a fault. With nvcc on a device: once. */
#include <math.h>
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

#include "kernels.h"

static cudaStream_t stream;
static uint32_t state_of_random;
static void *blocks[64];
static int block_count;

static float uniform(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(state_of_random >> 8) / 16777216.0f * 2 - 1;
}

static void *device(const void *host, size_t bytes)
{
    void *p;

    assert_int_equal(cudaMalloc(&p, bytes), cudaSuccess);
    blocks[block_count++] = p;
    if (host)
        assert_int_equal(cudaMemcpyAsync(p, host, bytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
    return p;
}

/* n random numbers, which stay in host. */
static float *randoms(float *host, int n)
{
    for (int i = 0; i < n; i++)
        host[i] = uniform();
    return (float *)device(host, (size_t)n * sizeof *host);
}

static float *empty(int n)
{
    return (float *)device(NULL, (size_t)n * sizeof(float));
}

/* A case: draws inputs, calls the kernel, says where its result is and what it should be. Numbers of `expected` in all. */
struct outcome {
    const float *y;
    int n;
    double tolerance;
    double expected[3 * 784 * 32];
};
static struct outcome outcome;
static float h0[3 * 784 * 16], h1[1000 * 512], h2[256 * 192], h3[512];

static void map(void)
{
    const int batch = 1000;
    float *const y = empty(batch * 2), *const a = randoms(h0, batch * 3), *const b = randoms(h1, batch);

    assert_int_equal(run_add(y, a, b, batch, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = batch * 2;
    outcome.tolerance = 1e-6;
    for (int i = 0; i < batch * 2; i++)
        outcome.expected[i] = (double)h0[i / 2 * 3 + i % 2] + h1[i / 2];
}

static void gelu(void)
{
    const int batch = 100;
    float *const y = empty(batch * 512), *const a = randoms(h1, batch * 512), *const b = randoms(h3, 512);

    assert_int_equal(run_gelu(y, a, b, batch, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = batch * 512;
    outcome.tolerance = 1e-6;
    for (int i = 0; i < batch * 512; i++) {
        const double v = (double)h1[i] + h3[i % 512];

        outcome.expected[i] = 0.5 * v * (1 + erf(v * sqrt(0.5)));
    }
}

static void softmax(void)
{
    const int rows = 16;
    float *const y = empty(rows * 1000), *const x = randoms(h0, rows * 1000);

    assert_int_equal(run_softmax(y, x, rows, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = rows * 1000;
    outcome.tolerance = 1e-5;
    for (int r = 0; r < rows; r++) {
        double sum = 0;

        for (int i = 0; i < 1000; i++)
            sum += exp((double)h0[r * 1000 + i]);
        for (int i = 0; i < 1000; i++)
            outcome.expected[r * 1000 + i] = exp((double)h0[r * 1000 + i]) / sum;
    }
}

static void linear(void)
{
    const int m = 70;
    float *const y = empty(m * 256), *const x = randoms(h0, m * 192);
    float *const w = randoms(h2, 192 * 256), *const bias = randoms(h3, 256);

    assert_int_equal(run_linear(y, x, w, bias, m, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = m * 256;
    outcome.tolerance = 1e-5;
    for (int i = 0; i < m * 256; i++) {
        double sum = h3[i % 256];

        for (int k = 0; k < 192; k++)
            sum += (double)h0[i / 256 * 192 + k] * h2[k * 256 + i % 256];
        outcome.expected[i] = fmax(sum, 0);
    }
}

static void linear_bfloat16(void)
{
    static modc_bfloat16 xb[70 * 192], wb[256 * 192];
    const int m = 70;
    float *const y = empty(m * 256), *const bias = randoms(h3, 256);

    for (int i = 0; i < m * 192; i++)
        xb[i] = modc_f32_to_bfloat16(uniform());
    for (int i = 0; i < 256 * 192; i++)
        wb[i] = modc_f32_to_bfloat16(uniform());
    const modc_bfloat16 *const x = (const modc_bfloat16 *)device(xb, sizeof xb);
    const modc_bfloat16 *const w = (const modc_bfloat16 *)device(wb, sizeof wb);

    assert_int_equal(run_linear_bfloat16(y, x, w, bias, m, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = m * 256;
    outcome.tolerance = 1e-5;
    for (int i = 0; i < m * 256; i++) {
        double sum = h3[i % 256];

        for (int k = 0; k < 192; k++)
            sum += (double)modc_bfloat16_to_f32(xb[i / 256 * 192 + k]) *
                   modc_bfloat16_to_f32(wb[i % 256 * 192 + k]);
        outcome.expected[i] = fmax(sum, 0);
    }
}

/* Captured as a graph, and launched twice. */
static void policy(void)
{
    const int batch = 57;
    static float w0[4 * 64], b0[64], w2[64 * 64], b2[64], wh[3 * 64], bh[3];
    struct policy_packed k;
    float *const y = empty(batch * 3), *const x = randoms(h0, batch * 4);
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    k.trunk_0_weight = randoms(w0, 4 * 64);
    k.trunk_0_bias = randoms(b0, 64);
    k.trunk_2_weight = randoms(w2, 64 * 64);
    k.trunk_2_bias = randoms(b2, 64);
    k.heads_weight = randoms(wh, 3 * 64);
    k.heads_bias = randoms(bh, 3);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(run_policy(y, y + batch * 2, x, &k, batch, stream), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
    outcome.y = y;
    outcome.n = batch * 3;
    outcome.tolerance = 1e-5;
    for (int i = 0; i < batch; i++) {
        double h[64], g[64];

        for (int o = 0; o < 64; o++) {
            h[o] = b0[o];
            for (int j = 0; j < 4; j++)
                h[o] += (double)h0[i * 4 + j] * w0[j * 64 + o];
            h[o] = tanh(h[o]);
        }
        for (int o = 0; o < 64; o++) {
            g[o] = b2[o];
            for (int j = 0; j < 64; j++)
                g[o] += h[j] * w2[j * 64 + o];
            g[o] = tanh(g[o]);
        }
        for (int o = 0; o < 3; o++) {
            double sum = bh[o];

            for (int j = 0; j < 64; j++)
                sum += g[j] * wh[o * 64 + j];
            outcome.expected[o < 2 ? i * 2 + o : batch * 2 + i] = sum;
        }
    }
}

static void conv(void)
{
    const int batch = 1;
    float *const y = empty(batch * 784 * 32), *const x = randoms(h0, batch * 784 * 16);
    float *const w = randoms(h2, 9 * 16 * 32), *const bias = randoms(h3, 32);

    assert_int_equal(run_conv(y, x, w, bias, batch, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = batch * 784 * 32;
    outcome.tolerance = 1e-5;
    for (int i = 0; i < batch * 784; i++)
        for (int o = 0; o < 32; o++) {
            double sum = h3[o];

            for (int t = 0; t < 9; t++) {
                const int h = i % 784 / 28 + t / 3 - 1, v = i % 28 + t % 3 - 1;

                for (int c = 0; c < 16 && h >= 0 && h < 28 && v >= 0 && v < 28; c++)
                    sum += (double)h0[((i / 784 * 28 + h) * 28 + v) * 16 + c] * h2[(t * 16 + c) * 32 + o];
            }
            outcome.expected[i * 32 + o] = fmax(sum, 0);
        }
}

/* Called twice: the counter has to be 0 again behind the first. */
static void columns(void)
{
    const int m = 200;
    static const unsigned zeros[4] = {0};
    float *const y = empty(512), *const partial = empty(16 * 512), *const x = randoms(h1, m * 512);
    unsigned *const counter = (unsigned *)device(zeros, sizeof zeros);

    for (int i = 0; i < 2; i++)
        assert_int_equal(run_columns(y, x, partial, counter, m, stream), cudaSuccess);
    outcome.y = y;
    outcome.n = 512;
    outcome.tolerance = 1e-5;
    for (int i = 0; i < 512; i++)
        outcome.expected[i] = 0;
    for (int i = 0; i < m * 512; i++)
        outcome.expected[i % 512] += h1[i];
}

static void compare(const float *y)
{
    double most = 0;

    for (int i = 0; i < outcome.n; i++)
        most = fmax(most, fabs(outcome.expected[i]));
    for (int i = 0; i < outcome.n; i++)
        if (!(fabs(y[i] - outcome.expected[i]) <= outcome.tolerance * most))
            fail_msg("element %d is %.9g, not %.9g", i, (double)y[i], outcome.expected[i]);
}

static void test_kernel(void **state)
{
    static const uint64_t seeds[] = {0, 1, 7, 12345};
    static float y[3 * 784 * 32], first[3 * 784 * 32];
    int runs = 1;

#ifdef CUDA_HOST_ERRORS
    runs = (int)(sizeof seeds / sizeof *seeds);
#endif
    for (int i = 0; i < runs; i++) {
#ifdef CUDA_HOST_ERRORS
        cuda_host_seed(seeds[i]);
#endif
        state_of_random = 1;
        assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
        ((void (*)(void)) * state)();
        assert_int_equal(
            cudaMemcpyAsync(y, outcome.y, (size_t)outcome.n * sizeof *y, cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
#ifdef CUDA_HOST_ERRORS
        assert_int_equal(cuda_host_faults(), 0);
#endif
        compare(y);
        if (i == 0)
            memcpy(first, y, (size_t)outcome.n * sizeof *y);
        assert_memory_equal(y, first, (size_t)outcome.n * sizeof *y);
        while (block_count > 0)
            assert_int_equal(cudaFree(blocks[--block_count]), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    }
#ifdef CUDA_HOST_ERRORS
    assert_int_equal(cuda_host_held(), 0);
#endif
    (void)seeds;
}

int main(void)
{
#define KERNEL(name)                                                                                         \
    {                                                                                                        \
#name, test_kernel, NULL, NULL, (void *)name                                                         \
    }
    const struct CMUnitTest tests[] = {
        KERNEL(map),    KERNEL(gelu), KERNEL(softmax), KERNEL(linear), KERNEL(linear_bfloat16),
        KERNEL(policy), KERNEL(conv), KERNEL(columns)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
