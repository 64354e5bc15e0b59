/* modc_cuda_kernels.cu - kernels that every model on a GPU needs: checks, commits, the numbers of calls. Their launchers are those of
 * modc_device.h. */
#include "modc_cuda.h"
#include "modc_device.h"

enum { THREADS = 256 };

/* ---- checks ---- */

static __device__ int64_t integer_at(const void *data, int dtype, int64_t at)
{
    switch (dtype) {
    case MODC_BOOL:
    case MODC_UINT8:
        return ((const uint8_t *)data)[at];
    case MODC_INT8:
        return ((const int8_t *)data)[at];
    case MODC_INT16:
        return ((const int16_t *)data)[at];
    case MODC_INT32:
        return ((const int32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

/* The first of `count` integers that is not from `lowest` to `end` - 1; where that is empty, the first that is 0. One block: each thread
 * finds its own first, then the block the first of these. Nothing is noted over a fault that nobody was told yet. */
static __global__ void __launch_bounds__(THREADS)
    find_fault(struct modc_device_fault *fault, int status, int module, const void *data, int dtype,
               int64_t count, int64_t lowest, int64_t end)
{
    __shared__ int64_t firsts[THREADS];
    int64_t first = count;

    for (int64_t i = threadIdx.x; i < count && first == count; i += THREADS) {
        const int64_t value = integer_at(data, dtype, i);

        if (lowest == end ? value == 0 : value < lowest || value >= end)
            first = i;
    }
    firsts[threadIdx.x] = first;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int t = 1; t < THREADS; t++)
        first = firsts[t] < first ? firsts[t] : first;
    if (first == count || fault->status != MODC_OK)
        return;
    fault->index = first;
    fault->value = integer_at(data, dtype, first);
    fault->module = module;
    fault->status = status;
}

static int check(void *stream, struct modc_device_head *head, enum modc_status status, int module,
                 const void *data, enum modc_dtype dtype, int64_t count, int64_t lowest, int64_t end)
{
    return count <= 0 ? 0
                      : (int)MODC_LAUNCH(find_fault, 1, THREADS, 0, stream, &head->fault, (int)status, module,
                                         data, (int)dtype, count, lowest, end);
}

extern "C" int modc_cuda_check_index(void *stream, struct modc_device_head *head, int module,
                                     const void *index, enum modc_dtype dtype, int64_t count, int64_t lowest,
                                     int64_t end)
{
    /* of nothing all are out of range: a range that no integer is in, but that is not empty */
    return check(stream, head, MODC_INDEX, module, index, dtype, count, lowest == end ? INT64_MIN : lowest,
                 lowest == end ? INT64_MIN + 1 : end);
}

extern "C" int modc_cuda_check_divisor(void *stream, struct modc_device_head *head, int module,
                                       const void *divisor, enum modc_dtype dtype, int64_t count)
{
    return check(stream, head, MODC_DIVISION, module, divisor, dtype, count, 0, 0);
}

extern "C" int modc_cuda_check_true(void *stream, struct modc_device_head *head, int module, const void *mask,
                                    enum modc_dtype dtype, int64_t count)
{
    return check(stream, head, MODC_ARGUMENT, module, mask, dtype, count, 0, 0);
}

/* ---- what calls write to state and buffers ---- */

/* The bytes, unless a call was at fault. */
static __global__ void __launch_bounds__(THREADS)
    commit(const struct modc_device_fault *fault, unsigned char *to, const unsigned char *from, int64_t bytes)
{
    if (modc_faulty(fault))
        return;
    for (int64_t i = MODC_THREAD(THREADS); i < bytes; i += MODC_THREADS(THREADS))
        to[i] = from[i];
}

extern "C" int modc_cuda_commit(void *stream, const struct modc_device_head *head, void *to, const void *from,
                                size_t bytes)
{
    return (int)MODC_LAUNCH_OVER(commit, (int64_t)bytes, THREADS, stream, &head->fault, (unsigned char *)to,
                                 (const unsigned char *)from, (int64_t)bytes);
}

static __global__ void __launch_bounds__(THREADS)
    copy_bool(unsigned char *to, const unsigned char *from, int64_t count)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS))
        to[i] = from[i] != 0;
}

extern "C" int modc_cuda_copy_bool(void *stream, void *to, const void *from, size_t bytes)
{
    return (int)MODC_LAUNCH_OVER(copy_bool, (int64_t)bytes, THREADS, stream, (unsigned char *)to,
                                 (const unsigned char *)from, (int64_t)bytes);
}

/* Elements of at most 8 bytes, which are in `element` from its lowest byte on. */
static __global__ void __launch_bounds__(THREADS)
    fill(unsigned char *to, uint64_t element, int each, int64_t bytes)
{
    for (int64_t i = MODC_THREAD(THREADS); i < bytes; i += MODC_THREADS(THREADS))
        to[i] = (unsigned char)(element >> 8 * (i % each));
}

extern "C" int modc_cuda_fill(void *stream, void *to, const void *element, size_t each, size_t bytes)
{
    uint64_t word = 0;

    for (size_t i = 0; i < each && i < sizeof word; i++)
        word |= (uint64_t)((const unsigned char *)element)[i] << 8 * i;
    return (int)MODC_LAUNCH_OVER(fill, (int64_t)bytes, THREADS, stream, (unsigned char *)to, word, (int)each,
                                 (int64_t)bytes);
}

/* ---- random numbers ---- */

static __global__ void __launch_bounds__(1)
    set_random(struct modc_random *random, uint64_t seed, uint64_t counter)
{
    random->seed = seed;
    random->counter = counter;
}

extern "C" int modc_cuda_set_random(void *stream, struct modc_device_head *head, uint64_t seed,
                                    uint64_t counter)
{
    return (int)MODC_LAUNCH(set_random, 1, 1, 0, stream, &head->random, seed, counter);
}

static __global__ void __launch_bounds__(1) count(struct modc_random *random)
{
    random->counter++;
}

extern "C" int modc_cuda_count(void *stream, struct modc_device_head *head)
{
    return (int)MODC_LAUNCH(count, 1, 1, 0, stream, &head->random);
}
