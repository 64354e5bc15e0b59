/* modc_cuda.h - what emitted kernels share: launches, sums and maxima of warps and blocks, copies into shared memory, tensor cores.
 *
 * The only file that knows whether nvcc reads it, or a host compiler with the stand-in of cuda_host/: emitted text is the same for
 * both. For .cu files alone; headers of models need no toolkit. */
#ifndef MODC_CUDA_H
#define MODC_CUDA_H

#if defined MODC_FLUSHES && !defined __CUDACC__
#define CUDA_HOST_FTZ 1
#endif

#include <cuda_runtime.h>

#include "modc_simd.h"

#define restrict __restrict__
#define MODC_DEVICE static __device__ __forceinline__
#define MODC_WARP 0xffffffffu /* all lanes of one */

#if defined(__CUDACC__)

#ifdef MODC_FLUSHES
/* denormals: flush is a flag of nvcc for the whole file, of which no macro tells. Without it this function, which nothing calls, needs
 * another that is nowhere. */
extern "C" __device__ int __nvvm_reflect(const char *);
extern "C" __device__ void modc_compile_this_with_ftz_true(void);
static __global__ __attribute__((used)) void modc_flushes(void)
{
    if (__nvvm_reflect("__CUDA_FTZ") == 0)
        modc_compile_this_with_ftz_true();
}
#endif

#define MODC_PRAGMA(text) _Pragma(#text)
#define MODC_UNROLL_BY(n) MODC_PRAGMA(unroll n)

/* Starts a kernel, and says whether it started: not what went wrong before, as cudaGetLastError would behind <<<>>>. */
#define MODC_LAUNCH(kernel, grid, block, shared, stream, ...)                                                \
    modc_launch(kernel, grid, block, shared, (cudaStream_t)(stream), __VA_ARGS__)

template <class Kernel, class... Arguments>
static inline cudaError_t modc_launch(Kernel kernel, dim3 grid, dim3 block, size_t shared,
                                      cudaStream_t stream, Arguments... arguments)
{
#if CUDART_VERSION >= 11080
    cudaLaunchConfig_t config = {};

    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
#else
    (void)cudaGetLastError();
    kernel<<<grid, block, shared, stream>>>(arguments...);
    return cudaGetLastError();
#endif
}

/* Shared memory whose size the launch gives. */
#define MODC_DYNAMIC_SHARED(type, name)                                                                      \
    extern __shared__ __align__(16) unsigned char modc_dynamic[];                                            \
    type *const name = (type *)modc_dynamic

/* d += a . b of (16, 16) x (16, 8), sums in float32. Fragments as PTX has them for mma.m16n8k16: lane l holds of a the rows l / 4 and
 * l / 4 + 8 and columns 2 (l % 4) + {0, 1, 8, 9}; of b those as rows, and column l / 4; of d rows as of a, columns
 * 2 (l % 4) + {0, 1}. */
MODC_DEVICE void modc_mma_bfloat16(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same of (16, 8) x (8, 8) in TF32: of a columns l % 4 + {0, 4}. */
MODC_DEVICE void modc_mma_tf32(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

MODC_DEVICE unsigned modc_to_tf32(float x)
{
    unsigned bits;

    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

/* Four matrices of 8 x 8 16-bit elements; each lane gives the address of one row. */
MODC_DEVICE void modc_ldmatrix(unsigned r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

/* 16 bytes into shared memory, of which the first `given` are read and others are 0; they are there when they were waited for. */
MODC_DEVICE void modc_copy16(void *shared, const void *global, int given)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
        "l"(global), "r"(given)
        : "memory");
}

/* What was copied since the last commit is a group. */
MODC_DEVICE void modc_copies_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all groups but the last `pending`, a constant, are there. */
#define MODC_COPIES_WAIT(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

#else /* a host compiler */

#define MODC_UNROLL_BY(n)

#define MODC_LAUNCH(kernel, grid, block, shared, stream, ...)                                                \
    cuda_host_call(kernel, #kernel, __FILE__, __LINE__, grid, block, shared, (cudaStream_t)(stream),         \
                   __VA_ARGS__)
#define MODC_DYNAMIC_SHARED(type, name) type *const name = (type *)(void *)cuda_host.dynamic

#define modc_copy16(shared, global, given) cuda_host_copy_later(shared, global, 16, (size_t)(given))
#define modc_copies_commit() cuda_host_copies_commit()
#define MODC_COPIES_WAIT(pending) cuda_host_copies_wait(pending)

MODC_DEVICE unsigned modc_to_tf32(float x)
{
    const unsigned bits = (unsigned)__float_as_int(x);

    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

/* What a lane gives to the others of its warp for a product. */
struct modc_fragments {
    unsigned a[4], b[2];
};

static inline const unsigned char *modc_give_fragments(const unsigned a[4], const unsigned b[2])
{
    struct modc_fragments mine;

    memcpy(mine.a, a, sizeof mine.a);
    memcpy(mine.b, b, sizeof mine.b);
    return cuda_host_exchange(MODC_WARP, &mine, sizeof mine);
}

static inline struct modc_fragments modc_fragments_of(const unsigned char *all, int lane)
{
    struct modc_fragments fragments;

    memcpy(&fragments, all + CUDA_HOST_SLOT * lane, sizeof fragments);
    return fragments;
}

static inline float modc_half_of(const unsigned *pairs, int i)
{
    return __int_as_float((int)(pairs[i / 2] >> 16 * (i % 2) << 16));
}

/* d[i / 2 rows of 8][i % 2] += left . right */
static inline void modc_add_product(float d[4], const float (*left)[16], const float (*right)[16], int n)
{
    for (int i = 0; i < 4; i++) {
        float sum = 0;

        for (int k = 0; k < n; k++)
            sum += left[i / 2][k] * right[i % 2][k];
        d[i] += sum;
    }
}

static inline void modc_mma_bfloat16(float d[4], const unsigned a[4], const unsigned b[2])
{
    const unsigned char *all = modc_give_fragments(a, b);
    const int lane = cuda_host_lane();
    float left[2][16], right[2][16];

    for (int q = 0; q < 4; q++) {
        const struct modc_fragments rows = modc_fragments_of(all, lane / 4 * 4 + q);

        for (int e = 0; e < 8; e++) /* registers: (row, k), (row + 8, k), (row, k + 8), (row + 8, k + 8) */
            left[e / 2 % 2][2 * q + e % 2 + e / 4 * 8] = modc_half_of(rows.a, e);
        for (int c = 0; c < 2; c++) {
            const struct modc_fragments columns = modc_fragments_of(all, (2 * (lane % 4) + c) * 4 + q);

            for (int e = 0; e < 4; e++)
                right[c][2 * q + e % 2 + e / 2 * 8] = modc_half_of(columns.b, e);
        }
    }
    modc_add_product(d, left, right, 16);
}

static inline void modc_mma_tf32(float d[4], const unsigned a[4], const unsigned b[2])
{
    const unsigned char *all = modc_give_fragments(a, b);
    const int lane = cuda_host_lane();
    float left[2][16], right[2][16];

    for (int q = 0; q < 4; q++) {
        const struct modc_fragments rows = modc_fragments_of(all, lane / 4 * 4 + q);

        for (int e = 0; e < 4; e++)
            left[e % 2][q + e / 2 * 4] = __int_as_float((int)rows.a[e]);
        for (int c = 0; c < 2; c++) {
            const struct modc_fragments columns = modc_fragments_of(all, (2 * (lane % 4) + c) * 4 + q);

            for (int e = 0; e < 2; e++)
                right[c][q + e * 4] = __int_as_float((int)columns.b[e]);
        }
    }
    modc_add_product(d, left, right, 8);
}

static inline void modc_ldmatrix(unsigned r[4], const void *row)
{
    const int lane = cuda_host_lane();
    unsigned char bytes[16];

    cuda_host_read(row, sizeof bytes);
    memcpy(bytes, row, sizeof bytes);
    const unsigned char *all = cuda_host_exchange(MODC_WARP, bytes, sizeof bytes);

    for (int m = 0; m < 4; m++)
        memcpy(&r[m], all + CUDA_HOST_SLOT * (8 * m + lane / 4) + lane % 4 * 4, sizeof r[m]);
}

#endif

/* ---- the same for both ------------------------------------------------------------------------------------------- */

/* The number of this thread among all of a launch whose blocks have so many, and how many there are. */
#define MODC_THREAD(block) ((int)(blockIdx.x * (block) + threadIdx.x))
#define MODC_THREADS(block) ((int)(gridDim.x * (block)))

/* The first place of this thread, of blocks of 256, where each takes four places and four more behind those of the whole block. */
#define MODC_FIRST_FOUR ((int)(blockIdx.x * 2048 + threadIdx.x * 4))

/* How many parts of that size cover so many. */
#define MODC_PARTS(count, part) (((count) + (part)-1) / (part))

/* Four neighbours at once, from or to where modc_starts_four says that they start: one access where they have 16 bytes or fewer. */
MODC_DEVICE void modc_read_four(float to[4], const float *from)
{
    const float4 four = *(const float4 *)from;

    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

MODC_DEVICE void modc_write_four(float *to, const float from[4])
{
    *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

MODC_DEVICE void modc_read_four(double to[4], const double *from)
{
    const double2 low = *(const double2 *)from, high = *(const double2 *)(from + 2);

    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

MODC_DEVICE void modc_write_four(double *to, const double from[4])
{
    *(double2 *)to = make_double2(from[0], from[1]);
    *(double2 *)(to + 2) = make_double2(from[2], from[3]);
}

MODC_DEVICE void modc_read_four(uint16_t to[4], const uint16_t *from)
{
    const uint2 four = *(const uint2 *)from;

    to[0] = (uint16_t)four.x, to[1] = (uint16_t)(four.x >> 16);
    to[2] = (uint16_t)four.y, to[3] = (uint16_t)(four.y >> 16);
}

MODC_DEVICE void modc_write_four(uint16_t *to, const uint16_t from[4])
{
    *(uint2 *)to = make_uint2(from[0] | (unsigned)from[1] << 16, from[2] | (unsigned)from[3] << 16);
}

/* Twice four neighbours, from or to anywhere, a multiple of four apart. */
#define MODC_FOURS_OF(type, vector)                                                                          \
    MODC_DEVICE bool modc_starts_four(const type *p)                                                         \
    {                                                                                                        \
        return (size_t)p % sizeof(vector) == 0;                                                              \
    }                                                                                                        \
    MODC_DEVICE void modc_get_fours(type to[8], const type *low, const type *high)                           \
    {                                                                                                        \
        if (modc_starts_four(low)) {                                                                         \
            modc_read_four(to, low);                                                                         \
            modc_read_four(to + 4, high);                                                                    \
            return;                                                                                          \
        }                                                                                                    \
        for (int i = 0; i < 4; i++)                                                                          \
            to[i] = low[i], to[4 + i] = high[i];                                                             \
    }                                                                                                        \
    MODC_DEVICE void modc_put_fours(type *low, type *high, const type from[8])                               \
    {                                                                                                        \
        if (modc_starts_four(low)) {                                                                         \
            modc_write_four(low, from);                                                                      \
            modc_write_four(high, from + 4);                                                                 \
            return;                                                                                          \
        }                                                                                                    \
        for (int i = 0; i < 4; i++)                                                                          \
            low[i] = from[i], high[i] = from[4 + i];                                                         \
    }

MODC_FOURS_OF(float, float4)
MODC_FOURS_OF(double, double2)
MODC_FOURS_OF(uint16_t, uint2)

/* Starts a kernel whose threads deal out so many places: a thread each, up to as many blocks as keep any device busy. */
#define MODC_LAUNCH_OVER(kernel, places, block, stream, ...)                                                 \
    ((places) == 0 ? cudaSuccess                                                                             \
                   : MODC_LAUNCH(kernel, modc_blocks(places, block), block, 0, stream, __VA_ARGS__))

/* Starts a kernel that gives each of so many things a block, and several where they are more than `most`. */
#define MODC_LAUNCH_EACH(kernel, count, most, block, stream, ...)                                            \
    ((count) == 0 ? cudaSuccess                                                                              \
                  : MODC_LAUNCH(kernel, (unsigned)modc_min(count, most), block, 0, stream, __VA_ARGS__))

static inline unsigned modc_blocks(int64_t places, int block)
{
    const int64_t blocks = (places + block - 1) / block;

    return blocks < 8192 ? (unsigned)blocks : 8192u;
}

/* What another block of this launch wrote: not from a cache of this one. Behind the fence and the atomic that say it is there. */
#define modc_read_fresh(p) __ldcg(p)

/* One of four by its number modulo 4. An index that nobody knows would bring all of them into memory. */
MODC_DEVICE uint32_t modc_word(const uint32_t words[4], int number)
{
    const uint32_t even = number & 2 ? words[2] : words[0], odd = number & 2 ? words[3] : words[1];

    return number & 1 ? odd : even;
}

/* Integers of scaled rows: note [scaled rows] in modc_simd_scalar.h. That of step k; and four of steps k on, a multiple of 4, in the bytes
 * of a word, each so much more that it is not below 0: 128, or of four bits 8. */
MODC_DEVICE int modc_row_get(const modc_int8 *row, const int k, const int bits)
{
    if (bits == 8)
        return row[k];
    return (int)((uint8_t)row[k / 8 * 4 + k % 4] >> k % 8 / 4 * 4 & 15) - 8;
}

MODC_DEVICE unsigned modc_row_four(const unsigned *words, const int k, const int bits)
{
    return bits == 8 ? words[k / 4] ^ 0x80808080u : words[k / 8] >> k % 8 & 0x0f0f0f0fu;
}

/* The same as they are. */
MODC_DEVICE int modc_row_signed(const unsigned *words, const int k, const int bits)
{
    const unsigned four = bits == 8 ? words[k / 4]
                                    : (modc_row_four(words, k, bits) | 0x80808080u) - 0x08080808u;

    return (int)(bits == 8 ? four : four ^ 0x80808080u);
}

/* Two words at a multiple of 8 bytes, or whole fours of them at a multiple of 16. */
MODC_DEVICE void modc_words(unsigned *words, const void *from, const int count)
{
    if (count == 2) {
        const uint2 two = *(const uint2 *)from;

        words[0] = two.x;
        words[1] = two.y;
    }
    MODC_UNROLL
    for (int i = 0; i < count / 4; i++) {
        const uint4 four = ((const uint4 *)from)[i];

        words[4 * i] = four.x;
        words[4 * i + 1] = four.y;
        words[4 * i + 2] = four.z;
        words[4 * i + 3] = four.w;
    }
}

/* What byte j of such a word stands for: put below 2^23, a sum of which and a byte is exact. */
MODC_DEVICE float modc_row_value(const unsigned word, const int j, const int bits)
{
    return __int_as_float((int)__byte_perm(word, 0x4b000000u, 0x7650u + (unsigned)j)) -
           (bits == 8 ? 8388736.0f : 8388616.0f);
}

/* NaN wins, as in PyTorch. */
MODC_DEVICE float modc_nan_max(float a, float b)
{
    return a > b || a != a ? a : b;
}

MODC_DEVICE double modc_nan_max(double a, double b)
{
    return a > b || a != a ? a : b;
}

/* For values of the type: modc_warp_sum and modc_warp_max of the lanes of a warp, which all get them; modc_block_sum and
 * modc_block_max of a block of `warps` whole warps, in an order that never changes, which all threads get. cells: one for each warp,
 * into which modc_fill_cells puts its number, behind which all threads may read them; used again only behind a barrier. */
#define MODC_WARP_SUM_OF(type)                                                                               \
    MODC_DEVICE type modc_warp_sum(type x)                                                                   \
    {                                                                                                        \
        for (int d = 16; d > 0; d /= 2)                                                                      \
            x += __shfl_xor_sync(MODC_WARP, x, d);                                                           \
        return x;                                                                                            \
    }
#define MODC_SUMS_OF(type)                                                                                   \
    MODC_WARP_SUM_OF(type)                                                                                   \
    MODC_DEVICE type modc_warp_max(type x)                                                                   \
    {                                                                                                        \
        for (int d = 16; d > 0; d /= 2)                                                                      \
            x = modc_nan_max(x, __shfl_xor_sync(MODC_WARP, x, d));                                           \
        return x;                                                                                            \
    }                                                                                                        \
    MODC_DEVICE void modc_fill_cells(type *cells, type x)                                                    \
    {                                                                                                        \
        __syncthreads();                                                                                     \
        if (threadIdx.x % 32 == 0)                                                                           \
            cells[threadIdx.x / 32] = x;                                                                     \
        __syncthreads();                                                                                     \
    }                                                                                                        \
    MODC_DEVICE type modc_block_sum(type x, type *cells, const int warps)                                    \
    {                                                                                                        \
        modc_fill_cells(cells, modc_warp_sum(x));                                                            \
        x = 0;                                                                                               \
        for (int w = 0; w < warps; w++)                                                                      \
            x += cells[w];                                                                                   \
        return x;                                                                                            \
    }                                                                                                        \
    MODC_DEVICE type modc_block_max(type x, type *cells, const int warps)                                    \
    {                                                                                                        \
        modc_fill_cells(cells, modc_warp_max(x));                                                            \
        x = cells[0];                                                                                        \
        for (int w = 1; w < warps; w++)                                                                      \
            x = modc_nan_max(x, cells[w]);                                                                   \
        return x;                                                                                            \
    }

MODC_WARP_SUM_OF(int)
MODC_SUMS_OF(float)
MODC_SUMS_OF(double)

/* The last of `blocks` blocks to come here (all threads of each do) gets true: behind it, everything that the others wrote before
 * is there for modc_read_fresh. counter: 0 before the launch, and again behind it; last: a cell in shared memory. */
MODC_DEVICE bool modc_last_block(unsigned *counter, unsigned blocks, unsigned *last)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        *last = atomicAdd(counter, 1u) == blocks - 1;
        if (*last)
            atomicExch(counter, 0u);
    }
    __syncthreads();
    return *last != 0;
}

/* Kernels copy, move and clear elements one by one: a compiler for the device would go byte by byte, and the stand-in does not see what a
 * library reads and writes. */
#define MODC_ELEMENTS(type)                                                                                  \
    MODC_INLINE void modc_copy_elements(type *to, const type *from, size_t bytes)                            \
    {                                                                                                        \
        for (size_t i = 0; i < bytes / sizeof *to; i++)                                                      \
            to[i] = from[i];                                                                                 \
    }                                                                                                        \
    MODC_INLINE void modc_move_elements(type *to, const type *from, size_t bytes)                            \
    {                                                                                                        \
        const size_t count = bytes / sizeof *to;                                                             \
                                                                                                             \
        for (size_t i = 0; i < count; i++)                                                                   \
            to[to < from ? i : count - 1 - i] = from[to < from ? i : count - 1 - i];                         \
    }                                                                                                        \
    MODC_INLINE void modc_clear_elements(type *to, int zero, size_t bytes)                                   \
    {                                                                                                        \
        for (size_t i = 0; i < bytes / sizeof *to; i++)                                                      \
            to[i] = (type)zero;                                                                              \
    }

MODC_ELEMENTS(float)
MODC_ELEMENTS(double)
MODC_ELEMENTS(uint16_t)
#define memcpy(to, from, bytes) modc_copy_elements(to, from, bytes)
#define memmove(to, from, bytes) modc_move_elements(to, from, bytes)
#define memset(to, zero, bytes) modc_clear_elements(to, zero, bytes)

#endif
