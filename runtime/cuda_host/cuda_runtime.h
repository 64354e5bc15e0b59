/* cuda_runtime.h - the part of CUDA that emitted code uses, for a host compiler: every thread of a block is a fiber.
 *
 * It is found instead of the toolkit's header (-I runtime/cuda_host), so that emitted text is compiled as it is: as C++ by gcc or
 * clang (-x c++), and linked with the C files beside. Names, arguments and errors are CUDA's; what CUDA has and is not
 * here, emitted code does not use. Compiled with -fsanitize=thread,alignment, whose hooks cuda_host_check.c gives itself (libtsan is
 * not linked), each access of a kernel is checked: races, bounds, values that nobody wrote, host pointers, alignment.
 *
 * In the environment:
 *   CUDA_HOST_SEED        the order of threads, blocks and streams: 0 forward, 1 backward, others drawn
 *   CUDA_HOST_PROFILE     prints for each launch what it asked of memory and what it touched
 *   CUDA_HOST_QUIET       faults are counted, not printed
 *   CUDA_HOST_FAIL        "7" or "7:2": the 7th call that can fail does, with error 2 (else 999, cudaErrorUnknown)
 *   CUDA_HOST_FAIL_LAUNCH the same of the kernels that run: found, as on a device, by who waits
 *   CUDA_HOST_DEVICES     how many devices there are: 1, or 0
 *   CUDA_HOST_CAPABILITY  their compute capability: 90
 *   CUDA_HOST_MEMORY      bytes of device memory: 4294967296 */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the host calls ---------------------------------------------------------------------------------------- */

/* Errors with their text: one list for the enum, cudaGetErrorName and cudaGetErrorString. */
#define CUDA_HOST_ERRORS(row)                                                                                  \
    row(cudaSuccess, 0, "no error") row(cudaErrorInvalidValue, 1, "invalid argument") row(                     \
        cudaErrorMemoryAllocation, 2, "out of memory") row(cudaErrorInvalidConfiguration, 9,                   \
                                                           "invalid configuration argument")                   \
        row(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") row(                     \
            cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")   \
            row(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") row(                             \
                cudaErrorInvalidDevice, 101,                                                                   \
                "invalid device ordinal") row(cudaErrorNoKernelImageForDevice, 209,                            \
                                              "no kernel image is available for execution on the device")      \
                row(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") row(                       \
                    cudaErrorNotReady, 600,                                                                    \
                    "device not ready") row(cudaErrorIllegalAddress, 700,                                      \
                                            "an illegal memory access was encountered")                        \
                    row(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") row(    \
                        cudaErrorLaunchFailure, 719,                                                           \
                        "unspecified launch failure") row(cudaErrorStreamCaptureUnsupported, 900,              \
                                                          "operation not permitted when stream is capturing")  \
                        row(cudaErrorStreamCaptureInvalidated, 901,                                            \
                            "operation failed due to a previous error during capture")                         \
                            row(cudaErrorStreamCaptureUnmatched, 903,                                          \
                                "the capture was not begun in this stream")                                    \
                                row(cudaErrorStreamCaptureIsolation, 905,                                      \
                                    "dependency created on uncaptured work in another stream")                 \
                                    row(cudaErrorStreamCaptureImplicit, 906,                                   \
                                        "operation would make the legacy stream depend on a capturing stream") \
                                        row(cudaErrorUnknown, 999, "unknown error")

#define CUDA_HOST_ENUM(name, number, text) name = number,
enum cudaError { CUDA_HOST_ERRORS(CUDA_HOST_ENUM) };
#undef CUDA_HOST_ENUM
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
#define cudaStreamDefault 0u
#define cudaStreamNonBlocking 1u
#define cudaEventDefault 0u
#define cudaEventDisableTiming 2u
#define cudaHostAllocDefault 0u

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
typedef struct cuda_host_stream *cudaStream_t;
typedef struct cuda_host_event *cudaEvent_t;
typedef struct cuda_host_graph *cudaGraph_t;
typedef struct cuda_host_graph *cudaGraphExec_t;
typedef void (*cudaHostFn_t)(void *user);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* With this status a process ends whose kernels and copies had faults, but for those that cuda_host_faults() has told of. */
enum { CUDA_HOST_EXIT = 8 };

/* ---- what tests ask ----------------------------------------------------------------------------------------------- */

/* How many faults kernels and copies were found with; cleared by the call, as is the error that they left. */
int cuda_host_faults(void);
/* The text of the first fault since the last cuda_host_faults(); "": none. */
const char *cuda_host_fault(void);
/* Was emitted text compiled with the hooks, so that kernels are checked? */
int cuda_host_checked(void);
/* As CUDA_HOST_SEED. */
void cuda_host_seed(uint64_t seed);
/* From now on the `number`th call that can fail returns the error; 0: none does. */
void cuda_host_fail(int number, cudaError_t error);
/* The same of the kernels that run. */
void cuda_host_fail_launch(int number, cudaError_t error);
/* Calls that can fail, since the start or the last cuda_host_fail(). */
int cuda_host_calls(void);
/* Blocks of device memory and of pinned memory, streams, events and graphs that are not yet released. */
int cuda_host_held(void);
/* The device: as CUDA_HOST_DEVICES, _CAPABILITY and _MEMORY; what is negative stays. */
void cuda_host_device(int devices, int capability, int64_t memory);
/* These bytes of device memory count as unwritten again: a value that lived there is dead. */
void cuda_host_forget(const void *p, size_t bytes);

/* ---- what a kernel sees -------------------------------------------------------------------------------------------- */

struct cuda_host_extent {
    unsigned x, y, z;
};
struct cuda_host_place { /* one object, so that the checker can tell it from the model's memory */
    struct cuda_host_extent thread, block, block_dim, grid_dim;
    unsigned char *dynamic; /* shared memory whose size the launch gives */
};
extern struct cuda_host_place cuda_host;

enum { CUDA_HOST_SLOT = 32 }; /* bytes that a lane can give to the others of its warp */

/* `line`: of the text, where a compiler may have copied the call. */
void cuda_host_barrier(int line);
int cuda_host_barrier_count(int predicate, int line); /* of how many threads it is true */
void cuda_host_warp(unsigned mask);
/* Every lane of mask gives bytes; all get what all gave: 32 slots. */
const unsigned char *cuda_host_exchange(unsigned mask, const void *value, size_t bytes);
int cuda_host_lane(void);
void cuda_host_fence(void);
void cuda_host_read(const void *p, size_t bytes);
void cuda_host_atomic(const void *p, size_t bytes);
/* Another block of this launch wrote it: behind a fence of its own, and this block knows. */
void cuda_host_fresh(const void *p, size_t bytes);
/* cp.async: the first `given` bytes are read, the others of `bytes` are 0; they arrive when they are waited for. */
void cuda_host_copy_later(void *to, const void *from, size_t bytes, size_t given);
void cuda_host_copies_commit(void);
void cuda_host_copies_wait(int pending);

struct cuda_host_launch {
    const void *kernel; /* its address */
    const char *name, *file;
    int line;
    struct cuda_host_extent grid, block;
    size_t shared;
    void (*run)(void *arguments);
    const void *arguments;
    size_t bytes; /* of the arguments, which are copied */
    bool flushes; /* denormals: CUDA_HOST_FTZ */
};
cudaError_t cuda_host_enqueue(const struct cuda_host_launch *launch, cudaStream_t stream);
cudaError_t cuda_host_attribute(const void *kernel, enum cudaFuncAttribute attribute, int value);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus

/* As nvcc's -ftz: 1 where the file's kernels have 0 for numbers that are denormal. The processor's mode is that of double, too, which a
 * GPU computes with as it is. */
#ifndef CUDA_HOST_FTZ
#define CUDA_HOST_FTZ 0
#endif

#include <math.h>
#include <string.h>

#include <tuple>

#define __global__
#define __device__
#define __host__
#define __constant__ static __attribute__((section("cuda_device")))
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline, unused))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("cuda_shared"), aligned(16)))

struct dim3 : cuda_host_extent {
    dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : cuda_host_extent{nx, ny, nz}
    {
    }
};
/* Copied member by member: what a compiler turns into a memcpy of its own, clang does not instrument. */
#define CUDA_HOST_VECTOR2(name, type, bytes)                                                                 \
    struct __align__(bytes) name                                                                             \
    {                                                                                                        \
        type x, y;                                                                                           \
        name() = default;                                                                                    \
        name(type x0, type y0) : x(x0), y(y0)                                                                \
        {                                                                                                    \
        }                                                                                                    \
        name(const name &v) : x(v.x), y(v.y)                                                                 \
        {                                                                                                    \
        }                                                                                                    \
        name &operator=(const name &v)                                                                       \
        {                                                                                                    \
            x = v.x, y = v.y;                                                                                \
            return *this;                                                                                    \
        }                                                                                                    \
    };                                                                                                       \
    static inline name make_##name(type x, type y)                                                           \
    {                                                                                                        \
        return name(x, y);                                                                                   \
    }
#define CUDA_HOST_VECTOR4(name, type, bytes)                                                                 \
    struct __align__(bytes) name                                                                             \
    {                                                                                                        \
        type x, y, z, w;                                                                                     \
        name() = default;                                                                                    \
        name(type x0, type y0, type z0, type w0) : x(x0), y(y0), z(z0), w(w0)                                \
        {                                                                                                    \
        }                                                                                                    \
        name(const name &v) : x(v.x), y(v.y), z(v.z), w(v.w)                                                 \
        {                                                                                                    \
        }                                                                                                    \
        name &operator=(const name &v)                                                                       \
        {                                                                                                    \
            x = v.x, y = v.y, z = v.z, w = v.w;                                                              \
            return *this;                                                                                    \
        }                                                                                                    \
    };                                                                                                       \
    static inline name make_##name(type x, type y, type z, type w)                                           \
    {                                                                                                        \
        return name(x, y, z, w);                                                                             \
    }
CUDA_HOST_VECTOR2(float2, float, 8)
CUDA_HOST_VECTOR4(float4, float, 16)
CUDA_HOST_VECTOR2(double2, double, 16)
CUDA_HOST_VECTOR2(int2, int, 8)
CUDA_HOST_VECTOR4(int4, int, 16)
CUDA_HOST_VECTOR2(uint2, unsigned, 8)
CUDA_HOST_VECTOR4(uint4, unsigned, 16)

#define threadIdx (cuda_host.thread)
#define blockIdx (cuda_host.block)
#define blockDim (cuda_host.block_dim)
#define gridDim (cuda_host.grid_dim)
#define warpSize 32

static inline void __syncthreads(int line = __builtin_LINE())
{
    cuda_host_barrier(line);
}
static inline int __syncthreads_count(int predicate, int line = __builtin_LINE())
{
    return cuda_host_barrier_count(predicate, line);
}
static inline int __syncthreads_or(int predicate, int line = __builtin_LINE())
{
    return cuda_host_barrier_count(predicate, line) > 0;
}
static inline int __syncthreads_and(int predicate, int line = __builtin_LINE())
{
    return cuda_host_barrier_count(!predicate, line) == 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    cuda_host_warp(mask);
}
static inline void __threadfence(void)
{
    cuda_host_fence();
}

/* What lane `from` of each group of `width` lanes gave; -1: the own. */
template <class T> static inline T cuda_host_shuffle(unsigned mask, T value, int from, int width)
{
    const unsigned char *all = cuda_host_exchange(mask, &value, sizeof value);
    const int lane = cuda_host_lane(),
              source = from < 0 ? lane : (lane & ~(width - 1)) + (from & (width - 1));

    memcpy(&value, all + CUDA_HOST_SLOT * source, sizeof value);
    return value;
}
template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    return cuda_host_shuffle(mask, value, lane & (width - 1), width);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    return cuda_host_shuffle(mask, value, (cuda_host_lane() & (width - 1)) ^ bits, width);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int at = (cuda_host_lane() & (width - 1)) + (int)by;

    return cuda_host_shuffle(mask, value, at < width ? at : -1, width);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int at = (cuda_host_lane() & (width - 1)) - (int)by;

    return cuda_host_shuffle(mask, value, at >= 0 ? at : -1, width);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    const unsigned char *all = cuda_host_exchange(mask, &predicate, sizeof predicate);
    unsigned bits = 0;

    for (int i = 0; i < 32; i++) {
        int value;

        memcpy(&value, all + CUDA_HOST_SLOT * i, sizeof value);
        bits |= (mask >> i & 1) && value ? 1u << i : 0;
    }
    return bits;
}
static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) == mask;
}

/* Atomics: checked as what they are, so the accesses inside are not instrumented. */
#define CUDA_HOST_ATOMIC(name, expression)                                                                   \
    template <class T>                                                                                       \
    __attribute__((noinline, no_sanitize("thread"))) static T name(T *p,                                     \
                                                                   typename cuda_host_same<T>::type value)   \
    {                                                                                                        \
        cuda_host_atomic(p, sizeof *p);                                                                      \
        const T old = *p;                                                                                    \
        *p = (T)(expression);                                                                                \
        return old;                                                                                          \
    }
template <class T> struct cuda_host_same { /* so that p alone says what T is */
    typedef T type;
};
CUDA_HOST_ATOMIC(atomicAdd, old + value)
CUDA_HOST_ATOMIC(atomicMax, old > value ? old : value)
CUDA_HOST_ATOMIC(atomicMin, old < value ? old : value)
CUDA_HOST_ATOMIC(atomicOr, old | value)
CUDA_HOST_ATOMIC(atomicAnd, old &value)
CUDA_HOST_ATOMIC(atomicExch, value)
template <class T>
__attribute__((noinline, no_sanitize("thread"))) static T atomicCAS(T *p,
                                                                    typename cuda_host_same<T>::type expected,
                                                                    typename cuda_host_same<T>::type value)
{
    cuda_host_atomic(p, sizeof *p);
    const T old = *p;
    if (old == expected)
        *p = value;
    return old;
}

template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
/* Past the first cache, so that it is what other blocks wrote. */
template <class T> __attribute__((noinline, no_sanitize("thread"))) static T __ldcg(const T *p)
{
    cuda_host_fresh(p, sizeof *p);
    return *p;
}
/* Four of the bytes of x and y, 0 to 7, which the halves of selector's bytes name. */
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const uint64_t both = (uint64_t)y << 32 | x;
    unsigned bytes = 0;

    for (int i = 0; i < 4; i++)
        bytes |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return bytes;
}
/* c + the products of the signed bytes of a and b. */
static inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 32; i += 8)
        c += (int)(signed char)((unsigned)a >> i) * (int)(signed char)((unsigned)b >> i);
    return c;
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
static inline float __int_as_float(int bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline int __float_as_int(float value)
{
    int bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}
static inline int __clz(int bits)
{
    return bits ? __builtin_clz((unsigned)bits) : 32;
}

template <class T> static inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return cudaMalloc((void **)p, bytes);
}
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes)
{
    return cudaMallocHost((void **)p, bytes);
}
template <class F>
static inline cudaError_t cudaFuncSetAttribute(F *kernel, enum cudaFuncAttribute attribute, int value)
{
    return cuda_host_attribute((const void *)kernel, attribute, value);
}

/* Arguments are converted and copied when the launch is made, as a GPU's are. */
template <class... P, class... A>
static inline cudaError_t cuda_host_call(void (*kernel)(P...), const char *name, const char *file, int line,
                                         dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                                         A... arguments)
{
    struct call {
        void (*kernel)(P...);
        std::tuple<typename std::decay<P>::type...> arguments;
    } call = {kernel, std::tuple<typename std::decay<P>::type...>(arguments...)};
    struct cuda_host_launch launch = {
        (const void *)kernel,
        name,
        file,
        line,
        grid,
        block,
        shared,
        [](void *p) { std::apply(((struct call *)p)->kernel, ((struct call *)p)->arguments); },
        &call,
        sizeof call,
        CUDA_HOST_FTZ};

    return cuda_host_enqueue(&launch, stream);
}

#endif
#endif
