/* cuda_host_memory.c - the device itself, its memory and pinned memory, errors, and calls that fail by their number. */
#define _GNU_SOURCE /* pages */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_host_room.h"

/* ---- the lock, errors, calls that fail ---- */

static pthread_mutex_t lock;
static _Thread_local cudaError_t last_error;
static struct {
    int calls, number; /* the number'th fails; 0: none */
    cudaError_t error;
} failing;
static struct {
    int devices, capability;
    int64_t memory;
} device = {1, 90, (int64_t)1 << 32};
int cuda_host_objects;

static int64_t number_of(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

/* "7" or "7:2" */
static void read_failure(const char *name, void (*fail)(int, cudaError_t))
{
    const char *text = getenv(name), *colon = text ? strchr(text, ':') : NULL;

    if (text)
        fail(atoi(text), colon ? (cudaError_t)atoi(colon + 1) : cudaErrorUnknown);
}

__attribute__((constructor)) static void begin(void)
{
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    device.devices = (int)number_of("CUDA_HOST_DEVICES", device.devices);
    device.capability = (int)number_of("CUDA_HOST_CAPABILITY", device.capability);
    device.memory = number_of("CUDA_HOST_MEMORY", device.memory);
    cuda_host_seed((uint64_t)number_of("CUDA_HOST_SEED", 0));
    read_failure("CUDA_HOST_FAIL", cuda_host_fail);
    read_failure("CUDA_HOST_FAIL_LAUNCH", cuda_host_fail_launch);
}

void cuda_host_lock(void)
{
    pthread_mutex_lock(&lock);
}

void cuda_host_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

bool cuda_host_refuses(cudaError_t *error)
{
    cuda_host_lock();
    failing.calls++;
    *error = failing.number > 0 && failing.calls == failing.number ? failing.error
             : device.devices == 0                                 ? cudaErrorNoDevice
                                                                   : cuda_host_broken();
    if (*error == cudaSuccess)
        return false;
    last_error = *error;
    cuda_host_unlock();
    return true;
}

cudaError_t cuda_host_ends(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    cuda_host_unlock();
    return error;
}

void cuda_host_fail(int number, cudaError_t error)
{
    failing.calls = 0;
    failing.number = number;
    failing.error = error;
}

int cuda_host_calls(void)
{
    return failing.calls;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

static const struct {
    const char *name, *text;
    cudaError_t error;
} errors[] = {
#define CUDA_HOST_ROW(name, number, text) {#name, text, name},
    CUDA_HOST_ERRORS(CUDA_HOST_ROW)
#undef CUDA_HOST_ROW
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return errors[i].text;
    return "unrecognized error code";
}

/* ---- the device ---- */

void cuda_host_device(int devices, int capability, int64_t memory)
{
    device.devices = devices >= 0 ? devices : device.devices;
    device.capability = capability >= 0 ? capability : device.capability;
    device.memory = memory >= 0 ? memory : device.memory;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error;

    *count = 0;
    if (cuda_host_refuses(&error))
        return error;
    *count = device.devices;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaGetDevice(int *number)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    *number = 0;
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaSetDevice(int number)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    return cuda_host_ends(number >= 0 && number < device.devices ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number)
{
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } rows[] = {
        {cudaDevAttrMaxThreadsPerBlock, CUDA_HOST_THREADS},
        {cudaDevAttrMaxSharedMemoryPerBlock, CUDA_HOST_STATIC_SHARED},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, CUDA_HOST_DYNAMIC_SHARED},
        {cudaDevAttrWarpSize, CUDA_HOST_WARP},
        {cudaDevAttrMultiProcessorCount, 132},
        {cudaDevAttrComputeCapabilityMajor, device.capability / 10},
        {cudaDevAttrComputeCapabilityMinor, device.capability % 10},
        {cudaDevAttrPageableMemoryAccess, 0},
    };
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (number < 0 || number >= device.devices)
        return cuda_host_ends(cudaErrorInvalidDevice);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].attribute == attribute) {
            *value = rows[i].value;
            return cuda_host_ends(cudaSuccess);
        }
    return cuda_host_ends(cudaErrorInvalidValue);
}

/* ---- memory ---- */

/* Blocks of memory by address. Those of the device stand in one range of addresses, each with a red zone behind; what is released
 * is not given out again, so that who still uses it is found, until the range is at its end. */
struct block {
    unsigned char *p;
    size_t bytes;
    bool freed;
};
struct blocks {
    struct block *list;
    int count, room;
    int64_t bytes; /* of those that are not freed */
    int held;
};
static struct blocks on_device, pinned;
static unsigned char *heap;
static size_t heap_bytes, heap_used;

enum { RED_ZONE = 256 };

static void add_block(struct blocks *blocks, void *p, size_t bytes)
{
    int at = blocks->count;

    if (blocks->count == blocks->room) {
        blocks->room = 2 * blocks->room + 16;
        blocks->list = realloc(blocks->list, (size_t)blocks->room * sizeof *blocks->list);
        if (!blocks->list)
            abort();
    }
    for (; at > 0 && blocks->list[at - 1].p > (unsigned char *)p; at--)
        blocks->list[at] = blocks->list[at - 1];
    blocks->list[at] = (struct block){p, bytes, false};
    blocks->count++;
    blocks->bytes += (int64_t)bytes;
    blocks->held++;
}

/* The block that p lies in, or the last one before it. */
static struct block *find_block(const struct blocks *blocks, const void *p)
{
    int low = 0, high = blocks->count;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (blocks->list[middle].p <= (const unsigned char *)p)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &blocks->list[low - 1] : NULL;
}

static bool holds(const struct block *block, const void *p, size_t bytes)
{
    return block && !block->freed && (size_t)((const unsigned char *)p - block->p) <= block->bytes &&
           bytes <= block->bytes - (size_t)((const unsigned char *)p - block->p);
}

void *cuda_host_reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        fprintf(
            stderr,
            "cuda_host: the system gives no %zu bytes of addresses; CUDA_HOST_MEMORY says how much a device has\n",
            bytes);
        exit(3);
    }
    return p;
}

void cuda_host_give_back(void *p, size_t bytes)
{
    const size_t page = 4096, begin = (size_t)(uintptr_t)p, end = begin + bytes;
    const size_t from = (begin + page - 1) / page * page, to = end / page * page;

    if (from >= to || madvise((void *)from, to - from, MADV_DONTNEED) != 0) {
        memset(p, 0, bytes);
        return;
    }
    memset(p, 0, from - begin);
    memset((void *)to, 0, end - to);
}

/* Twice the device's memory in addresses, for what is released and not given out again. */
unsigned char *cuda_host_heap(size_t *bytes)
{
    if (!heap) {
        heap_bytes = (size_t)device.memory * 2 + ((size_t)1 << 20);
        heap = cuda_host_reserve(heap_bytes);
        heap_used = RED_ZONE;
    }
    *bytes = heap_bytes;
    return heap;
}

bool cuda_host_on_device(const void *p, size_t bytes, bool *inside)
{
    *inside = heap && (const unsigned char *)p >= heap && (const unsigned char *)p < heap + heap_bytes;
    return *inside && holds(find_block(&on_device, p), p, bytes);
}

bool cuda_host_released(const void *p)
{
    const struct block *block = find_block(&on_device, p);

    return block && block->freed && (size_t)((const unsigned char *)p - block->p) < block->bytes;
}

bool cuda_host_pinned(const void *p)
{
    return holds(find_block(&pinned, p), p, 1);
}

int cuda_host_held(void)
{
    return on_device.held + pinned.held + cuda_host_objects;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    *total = (size_t)device.memory;
    *left = device.memory > on_device.bytes ? (size_t)(device.memory - on_device.bytes) : 0;
    return cuda_host_ends(cudaSuccess);
}

/* Calls that a capture does not allow spoil it. */
static bool spoils(void)
{
    if (!cuda_host_capturing())
        return false;
    cuda_host_spoil_captures();
    return true;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    const size_t room = (bytes + 255) / 256 * 256 + RED_ZONE;
    cudaError_t error;
    size_t all;

    if (cuda_host_refuses(&error))
        return error;
    if (spoils())
        return cuda_host_ends(cudaErrorStreamCaptureUnsupported);
    cuda_host_heap(&all);
    if ((int64_t)bytes > device.memory - on_device.bytes)
        return cuda_host_ends(cudaErrorMemoryAllocation);
    if (bytes == 0) {
        *p = NULL;
        return cuda_host_ends(cudaSuccess);
    }
    if (room > all - heap_used) { /* all addresses were used: those of the freed again */
        heap_used = RED_ZONE;
        for (int i = 0; i < on_device.count; i++)
            if (!on_device.list[i].freed)
                heap_used = (size_t)(on_device.list[i].p - heap) +
                            (on_device.list[i].bytes + 255) / 256 * 256 + RED_ZONE;
        if (room > all - heap_used)
            return cuda_host_ends(cudaErrorMemoryAllocation);
        while (on_device.count > 0 && on_device.list[on_device.count - 1].freed)
            on_device.count--;
    }
    *p = heap + heap_used;
    heap_used += room;
    memset(*p, 0xFF, bytes); /* NaN */
    add_block(&on_device, *p, bytes);
    cuda_host_check_allocated(*p, bytes, true);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaFree(void *p)
{
    struct block *block = find_block(&on_device, p);
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!p)
        return cuda_host_ends(cudaSuccess);
    if (spoils())
        return cuda_host_ends(cudaErrorStreamCaptureUnsupported);
    if (!block || block->p != p || block->freed)
        return cuda_host_ends(cudaErrorInvalidValue);
    cuda_host_settle_all();
    block->freed = true;
    on_device.bytes -= (int64_t)block->bytes;
    on_device.held--;
    cuda_host_check_allocated(p, block->bytes, false);
    cuda_host_give_back(block->p, block->bytes);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (spoils())
        return cuda_host_ends(cudaErrorStreamCaptureUnsupported);
    if (flags != cudaHostAllocDefault)
        return cuda_host_ends(cudaErrorInvalidValue);
    *p = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    if (!*p)
        return cuda_host_ends(cudaErrorMemoryAllocation);
    add_block(&pinned, *p, bytes);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *p)
{
    struct block *block = find_block(&pinned, p);
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    if (!p)
        return cuda_host_ends(cudaSuccess);
    if (!block || block->p != p)
        return cuda_host_ends(cudaErrorInvalidValue);
    cuda_host_settle_all();
    pinned.bytes -= (int64_t)block->bytes;
    pinned.held--;
    memmove(block, block + 1, (size_t)(pinned.list + pinned.count - (block + 1)) * sizeof *block);
    pinned.count--;
    free(p);
    return cuda_host_ends(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p)
{
    bool inside;
    cudaError_t error;

    if (cuda_host_refuses(&error))
        return error;
    memset(attributes, 0, sizeof *attributes);
    attributes->device = -2; /* cudaInvalidDeviceId */
    if (cuda_host_on_device(p, 1, &inside)) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = 0;
        attributes->devicePointer = (void *)p;
    } else if (cuda_host_pinned(p)) {
        attributes->type = cudaMemoryTypeHost;
        attributes->device = 0;
        attributes->devicePointer = attributes->hostPointer = (void *)p;
    } else {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->hostPointer = (void *)p;
    }
    return cuda_host_ends(cudaSuccess);
}
