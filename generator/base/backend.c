/* backend.c - see backend.h. */
#include "base/backend.h"

#include <string.h>

/* What has arithmetic of its own is computed as it is stored; halves in float32. */
#define COMPUTED_AS_STORED                                                                                   \
    [DTYPE_BOOL] = DTYPE_BOOL, [DTYPE_UINT8] = DTYPE_UINT8, [DTYPE_INT8] = DTYPE_INT8,                       \
    [DTYPE_INT16] = DTYPE_INT16, [DTYPE_INT32] = DTYPE_INT32, [DTYPE_INT64] = DTYPE_INT64,                   \
    [DTYPE_FLOAT32] = DTYPE_FLOAT32, [DTYPE_FLOAT64] = DTYPE_FLOAT64, [DTYPE_COMPLEX64] = DTYPE_COMPLEX64,   \
    [DTYPE_COMPLEX128] = DTYPE_COMPLEX128

const struct backend backends[DEVICE_COUNT] = {
    /* One core with AVX-512 at 3 GHz and 2 MiB of L2, as bench/README.md has it measured, rounded. */
    [DEVICE_CPU] =
        {.name = "cpu",
         .templates = "c",
         .suffix = "c",
         .copy = "memcpy",
         .copy_bools = "modc_copy_bools",
         .zeros = "memset",
         .vectors = true,
         .vector_bytes = 64,
         .align = 64,
         .computed = {COMPUTED_AS_STORED, [DTYPE_FLOAT16] = DTYPE_FLOAT32, [DTYPE_BFLOAT16] = DTYPE_FLOAT32},
         .cost = {.macs = 120e9,
                  .values = 40e9,
                  .functions = 5e9,
                  .rows = 6e-9,
                  .turned = 1e-10,
                  .near = 180e9,
                  .cache = 100e9,
                  .memory = 20e9,
                  .cache_bytes = 1024 * 1024,
                  .near_bytes = 512 * 1024,
                  .shared_bytes = 24 * 1024 * 1024,
                  .split = 2e-6}},
    /* Figures of an H100 SXM: published ones, measured nowhere. */
    [DEVICE_CUDA] =
        {.name = "cuda",
         .templates = "cuda",
         .suffix = "cu",
         .apart = true,
         .copy = "modc_cuda_copy",
         .copy_bools = "modc_cuda_copy_bool",
         .zeros = "modc_cuda_zero",
         .vector_bytes = 16,
         .align = 256,
         .computed = {COMPUTED_AS_STORED, [DTYPE_FLOAT16] = DTYPE_FLOAT32, [DTYPE_BFLOAT16] = DTYPE_FLOAT32},
         .cost = {.macs = 33e12,
                  .values = 800e9,
                  .functions = 400e9,
                  .near = 10e12,
                  .cache = 5e12,
                  .memory = 3e12,
                  .cache_bytes = 256 * 1024,
                  .near_bytes = 128 * 1024,
                  .shared_bytes = 50 * 1024 * 1024,
                  .split = 1}},
};

const struct backend *backend_find(const char *name)
{
    for (int i = 0; i < DEVICE_COUNT; i++)
        if (strcmp(backends[i].name, name) == 0)
            return &backends[i];
    return NULL;
}

enum device backend_device(const struct backend *backend)
{
    return (enum device)(backend - backends);
}

struct element backend_element(const struct backend *backend, enum dtype stored)
{
    return (struct element){stored, backend->computed[stored]};
}

int backend_lanes(const struct backend *backend, enum dtype dtype)
{
    return backend->vector_bytes / dtype_rows[backend->computed[dtype]].bytes;
}
