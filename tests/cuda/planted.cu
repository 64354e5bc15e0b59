/* planted.cu - a fault for each tool of compute-sanitizer, for tests/oracle/gpu_sanitize.py: what finds none of them says nothing.
 *
 *     planted memcheck|racecheck|initcheck|synccheck|none */
#include <stdio.h>
#include <string.h>

#include "modc_cuda.h"

enum { N = 64 };

static __global__ void fine(float *y, const float *x)
{
    __shared__ float turned[N];

    turned[N - 1 - threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = turned[threadIdx.x];
}

static __global__ void memcheck(float *y)
{
    y[threadIdx.x + (threadIdx.x == N - 1 ? 1 << 20 : 0)] = 1;
}

static __global__ void racecheck(float *y, const float *x)
{
    __shared__ float turned[N];

    turned[N - 1 - threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = turned[threadIdx.x]; /* of another warp, with no barrier between */
}

static __global__ void initcheck(float *y, const float *nobody_wrote)
{
    y[threadIdx.x] = nobody_wrote[threadIdx.x] + 1;
}

static __global__ void synccheck(float *y)
{
    if (threadIdx.x % 2 == 0)
        __syncthreads(); /* half of each warp */
    y[threadIdx.x] = 1;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "none";
    float zeros[N] = {0}, *x = NULL, *y = NULL, *nobody_wrote = NULL;
    int failed;

    if (cudaMalloc(&x, sizeof zeros) != cudaSuccess || cudaMalloc(&y, sizeof zeros) != cudaSuccess ||
        cudaMalloc(&nobody_wrote, sizeof zeros) != cudaSuccess ||
        cudaMemcpy(x, zeros, sizeof zeros, cudaMemcpyHostToDevice) != cudaSuccess) {
        printf("planted: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    failed = MODC_LAUNCH(fine, 1, N, 0, NULL, y, x);
    if (strcmp(what, "memcheck") == 0)
        failed = MODC_LAUNCH(memcheck, 1, N, 0, NULL, y);
    if (strcmp(what, "racecheck") == 0)
        failed = MODC_LAUNCH(racecheck, 1, N, 0, NULL, y, x);
    if (strcmp(what, "initcheck") == 0)
        failed = MODC_LAUNCH(initcheck, 1, N, 0, NULL, y, nobody_wrote);
    if (strcmp(what, "synccheck") == 0)
        failed = MODC_LAUNCH(synccheck, 1, N, 0, NULL, y);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    cudaFree(nobody_wrote);
    return failed;
}
