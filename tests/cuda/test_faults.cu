/* test_faults.cu - faults that the checker must find, each in the smallest kernel or call, or in a kernel of kernels.cu: under every
 * order of threads, by what it says; and nothing where the fault is not planted. */
#include "faults.h"
#include "kernels.h"

/* ---- memory ---- */

static __global__ void add_one(float *to, const float *from, int n)
{
    const int i = (int)(blockIdx.x * 64 + threadIdx.x);

    if (i < n)
        to[i] = from[i] + 1;
}

static void one_too_many(bool planted)
{
    MODC_LAUNCH(add_one, 3, 64, 0, stream, y, x, N + planted);
}

static void host_pointer(bool planted)
{
    static float host[N] = {0};

    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, planted ? host : x, N);
}

/* An address of nothing: the grid ends there, and the process goes on. */
static void no_pointer(bool planted)
{
    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, planted ? NULL : x, N);
}

static void never_written(bool planted)
{
    float *z;

    cudaMalloc(&z, N * sizeof *z);
    if (!planted)
        cudaMemsetAsync(z, 0, N * sizeof *z, stream);
    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, z, N);
    cudaStreamSynchronize(stream);
    cudaFree(z);
}

static void released(bool planted)
{
    float *z;

    cudaMalloc(&z, N * sizeof *z);
    cudaMemsetAsync(z, 0, N * sizeof *z, stream);
    if (planted)
        cudaFree(z);
    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, z, N);
    cudaStreamSynchronize(stream);
    if (!planted)
        cudaFree(z);
}

static void forgotten(bool planted)
{
    if (planted)
        cuda_host_forget(x, sizeof *x);
    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, x, N);
}

static __global__ void shift(float *to, const float *from, int by)
{
    to[threadIdx.x] = from[(int)threadIdx.x - by];
}

static void before_the_first(bool planted)
{
    MODC_LAUNCH(shift, 1, 64, 0, stream, y, x, planted);
}

static __global__ void fours(float *to, const float *from, int off, int n)
{
    if ((int)threadIdx.x * 4 < n)
        *(float4 *)(to + threadIdx.x * 4) = *(const float4 *)(from + threadIdx.x * 4 + off);
}

static void not_aligned(bool planted)
{
    MODC_LAUNCH(fours, 1, 16, 0, stream, y, x, planted ? 1 : 0, 64);
}

static void vector_over_the_end(bool planted)
{
    MODC_LAUNCH(fours, 1, 64, 0, stream, y, x, 0, planted ? N + 4 : N);
}

__constant__ int table[4] = {1, 2, 3, 4};

static __global__ void look_up(float *to, int writes)
{
    to[threadIdx.x] = (float)table[threadIdx.x % 4];
    if (writes)
        *(int *)&table[threadIdx.x % 4] = 5;
}

static void constant_written(bool planted)
{
    MODC_LAUNCH(look_up, 1, 32, 0, stream, y, planted);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < 4; i++)
        table[i] = i + 1;
}

/* ---- shared memory, barriers ---- */

static __global__ void turn(float *to, const float *from, int barrier)
{
    __shared__ float t[64];

    t[threadIdx.x] = from[threadIdx.x];
    if (barrier)
        __syncthreads();
    to[threadIdx.x] = t[63 - threadIdx.x];
}

static void no_barrier(bool planted)
{
    MODC_LAUNCH(turn, 1, 64, 0, stream, y, x, !planted);
}

static __global__ void turn_twice(float *to, const float *from, int barrier)
{
    __shared__ float t[64];

    for (int i = 0; i < 2; i++) {
        t[threadIdx.x] = from[i * 64 + (int)threadIdx.x];
        __syncthreads();
        to[i * 64 + (int)threadIdx.x] = t[63 - threadIdx.x];
        if (barrier)
            __syncthreads();
    }
}

static void no_barrier_before_reuse(bool planted)
{
    MODC_LAUNCH(turn_twice, 1, 64, 0, stream, y, x, !planted);
}

static __global__ void first_says(float *to, const float *from, int barrier)
{
    __shared__ float said;

    if (threadIdx.x == 0)
        said = from[5];
    if (barrier)
        __syncthreads();
    to[threadIdx.x] = said;
}

static void said_too_late(bool planted)
{
    MODC_LAUNCH(first_says, 1, 64, 0, stream, y, x, !planted);
}

static __global__ void half_filled(float *to, const float *from, int all)
{
    __shared__ float t[64];

    if (all || threadIdx.x < 32)
        t[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = t[63 - threadIdx.x];
}

static void shared_never_written(bool planted)
{
    MODC_LAUNCH(half_filled, 1, 64, 0, stream, y, x, !planted);
}

static __global__ void turn_given(float *to, const float *from)
{
    MODC_DYNAMIC_SHARED(float, t);

    t[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = t[63 - threadIdx.x];
}

static void too_little_shared(bool planted)
{
    MODC_LAUNCH(turn_given, 1, 64, (planted ? 63 : 64) * sizeof(float), stream, y, x);
}

static __global__ void two_places(float *to, int same)
{
    __shared__ float t[64];

    t[threadIdx.x] = 1;
    if (same || threadIdx.x < 32) {
        __syncthreads();
        to[threadIdx.x] = t[threadIdx.x ^ 1];
    } else {
        to[threadIdx.x] = t[threadIdx.x];
        __syncthreads();
    }
}

static void other_barriers(bool planted)
{
    MODC_LAUNCH(two_places, 1, 64, 0, stream, y, !planted);
}

static __global__ void early_end(float *to, int n)
{
    if ((int)threadIdx.x >= n)
        return;
    __syncthreads();
    to[threadIdx.x] = 1;
}

static void ended_before_barrier(bool planted)
{
    MODC_LAUNCH(early_end, 1, 64, 0, stream, y, planted ? 40 : 64);
}

static __global__ void bytes_of_a_word(unsigned char *to, int same)
{
    to[same ? threadIdx.x / 2 : threadIdx.x] = 1;
}

static void one_byte_of_two(bool planted)
{
    MODC_LAUNCH(bytes_of_a_word, 1, 64, 0, stream, (unsigned char *)y, planted);
}

/* Five bytes a thread, of words that two threads share. */
static __global__ void five_bytes(unsigned char *bytes, int more)
{
    unsigned char *const own = bytes + 5 * threadIdx.x;
    unsigned char sum = 0;

    for (int i = 0; i < 5 + more; i++)
        sum = (unsigned char)(sum + own[i]);
    for (int i = 0; i < 5; i++)
        own[i] = (unsigned char)(sum + i); /* no memset, which no checker would see */
}

static void byte_of_another(bool planted)
{
    MODC_LAUNCH(five_bytes, 1, 64, 0, stream, (unsigned char *)y, planted);
}

/* ---- warps ---- */

static __global__ void neighbours(float *to, const float *from, unsigned low, unsigned high)
{
    if (threadIdx.x < 48)
        to[threadIdx.x] = __shfl_xor_sync(threadIdx.x < 32 ? low : high, from[threadIdx.x], 1);
}

static void lane_not_in_mask(bool planted)
{
    MODC_LAUNCH(neighbours, 1, 64, 0, stream, y, x, planted ? 0xfffffffeu : MODC_WARP, 0xffffu);
}

static void ended_lanes_in_mask(bool planted)
{
    MODC_LAUNCH(neighbours, 1, 64, 0, stream, y, x, MODC_WARP, planted ? MODC_WARP : 0xffffu);
}

static __global__ void half_warp(float *to, const float *from, int all)
{
    float v = from[threadIdx.x];

    if (all || threadIdx.x < 16)
        v += __shfl_xor_sync(MODC_WARP, v, 1);
    if (threadIdx.x < 16 || all)
        to[threadIdx.x] = v;
    __syncthreads();
}

static void half_of_a_warp(bool planted)
{
    MODC_LAUNCH(half_warp, 1, 32, 0, stream, y, x, !planted);
}

static __global__ void two_shuffles(float *to, const float *from, int same)
{
    float v = from[threadIdx.x];

    if (same || threadIdx.x % 32 < 16)
        v = __shfl_xor_sync(MODC_WARP, v, 1);
    else
        v = __shfl_xor_sync(MODC_WARP, v, 2);
    to[threadIdx.x] = v;
}

static void other_shuffles(bool planted)
{
    MODC_LAUNCH(two_shuffles, 1, 32, 0, stream, y, x, !planted);
}

static __global__ void warp_turn(float *to, const float *from, int sync)
{
    __shared__ float t[32];

    t[threadIdx.x] = from[threadIdx.x];
    if (sync)
        __syncwarp();
    to[threadIdx.x] = t[31 - threadIdx.x];
}

static void lockstep(bool planted)
{
    MODC_LAUNCH(warp_turn, 1, 32, 0, stream, y, x, !planted);
}

static void warp_for_block(bool planted) /* __syncwarp where threads of two warps meet */
{
    if (planted)
        MODC_LAUNCH(turn, 1, 64, 0, stream, y, x, 0);
    else
        MODC_LAUNCH(warp_turn, 1, 32, 0, stream, y, x, 1);
}

/* ---- blocks of one launch ---- */

static __global__ void add_up(float *to, const float *from, int atomic)
{
    if (threadIdx.x == 0) {
        if (atomic)
            atomicAdd(to, from[blockIdx.x]);
        else
            *to += from[blockIdx.x];
    }
}

static void no_atomic(bool planted)
{
    MODC_LAUNCH(add_up, 8, 32, 0, stream, y, x, !planted);
}

static __global__ void add_and_set(float *to, const float *from, int sets)
{
    if (threadIdx.x != 0)
        return;
    if (sets && blockIdx.x == 3)
        *to = 0;
    else
        atomicAdd(to, from[blockIdx.x]);
}

static void atomic_and_plain(bool planted)
{
    MODC_LAUNCH(add_and_set, 8, 32, 0, stream, y, x, planted);
}

static __global__ void smooth(float *to, const float *from)
{
    const int i = (int)(blockIdx.x * 32 + threadIdx.x);

    to[i] = from[i] + (i + 1 < N ? from[i + 1] : 0);
}

static void in_place_over_blocks(bool planted)
{
    MODC_LAUNCH(smooth, N / 32, 32, 0, stream, planted ? x : y, x);
}

static __global__ void partial_sums(float *to, float *partial, unsigned *count, int fence, int fresh)
{
    __shared__ unsigned last;

    partial[blockIdx.x * 32 + threadIdx.x] = 1;
    if (fence)
        __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        float sum = 0;

        for (unsigned b = 0; b < gridDim.x; b++)
            sum += fresh ? modc_read_fresh(partial + b * 32 + threadIdx.x) : partial[b * 32 + threadIdx.x];
        to[threadIdx.x] = sum;
        if (threadIdx.x == 0)
            atomicExch(count, 0u);
    }
}

static void no_fence(bool planted)
{
    MODC_LAUNCH(partial_sums, 3, 32, 0, stream, y, x, counter, !planted, 1);
}

static void old_from_cache(bool planted)
{
    MODC_LAUNCH(partial_sums, 3, 32, 0, stream, y, x, counter, 1, !planted);
}

static __global__ void read_as_fresh(float *to, const float *from, int fresh)
{
    to[threadIdx.x] = fresh ? modc_read_fresh(from + threadIdx.x) : from[threadIdx.x];
}

static void fresh_of_nobody(bool planted)
{
    MODC_LAUNCH(read_as_fresh, 1, 32, 0, stream, y, x, planted);
}

/* ---- asynchronous copies ---- */

static __global__ void copied(float *to, const float *from, int wait)
{
    __shared__ __align__(16) float t[128];

    modc_copy16(&t[threadIdx.x * 4], from + threadIdx.x * 4, 16);
    modc_copies_commit();
    if (wait)
        MODC_COPIES_WAIT(0);
    to[threadIdx.x] = t[threadIdx.x * 4];
    MODC_COPIES_WAIT(0);
}

static void copy_not_there(bool planted)
{
    MODC_LAUNCH(copied, 1, 32, 0, stream, y, x, !planted);
}

static __global__ void copied_in_two(float *to, const float *from, int pending)
{
    __shared__ __align__(16) float t[2][64];

    for (int i = 0; i < 2; i++) {
        modc_copy16(&t[i][threadIdx.x * 4], from + i * 64 + (int)threadIdx.x * 4, 16);
        modc_copies_commit();
    }
    if (pending == 1)
        MODC_COPIES_WAIT(1);
    else
        MODC_COPIES_WAIT(0);
    to[threadIdx.x] = t[1][threadIdx.x * 4];
    MODC_COPIES_WAIT(0);
}

static void one_group_too_few(bool planted)
{
    MODC_LAUNCH(copied_in_two, 1, 16, 0, stream, y, x, planted ? 1 : 0);
}

static __global__ void copied_over(float *to, const float *from, int barrier)
{
    __shared__ __align__(16) float t[64];

    for (int i = 0; i < 2; i++) {
        modc_copy16(&t[threadIdx.x * 4], from + i * 64 + (int)threadIdx.x * 4, 16);
        modc_copies_commit();
        MODC_COPIES_WAIT(0);
        __syncthreads();
        to[i * 16 + (int)threadIdx.x] = t[60 - threadIdx.x * 4];
        if (barrier)
            __syncthreads();
    }
}

static void copied_over_what_is_read(bool planted)
{
    MODC_LAUNCH(copied_over, 1, 16, 0, stream, y, x, !planted);
}

static __global__ void never_waited(const float *from, int wait)
{
    __shared__ __align__(16) float t[128];

    modc_copy16(&t[threadIdx.x * 4], from + threadIdx.x * 4, 16);
    modc_copies_commit();
    if (wait)
        MODC_COPIES_WAIT(0);
}

static void ended_with_copies(bool planted)
{
    MODC_LAUNCH(never_waited, 1, 32, 0, stream, x, !planted);
}

/* ---- streams, and the host ---- */

static void streams_without_event(bool planted)
{
    cudaEvent_t event;

    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, x, N);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (!planted) {
        cudaEventRecord(event, stream);
        cudaStreamWaitEvent(other, event, 0);
    }
    MODC_LAUNCH(add_one, 2, 64, 0, other, x, y, N);
    cudaDeviceSynchronize();
    cudaEventDestroy(event);
}

static void copy_beside_kernel(bool planted)
{
    MODC_LAUNCH(add_one, 2, 64, 0, stream, y, x, N);
    if (!planted)
        cudaStreamSynchronize(stream);
    cudaMemcpyAsync(pinned, y, N * sizeof *y, cudaMemcpyDeviceToHost, other);
    cudaDeviceSynchronize();
}

static void read_before_wait(bool planted)
{
    cudaMemcpyAsync(pinned, x, N * sizeof *x, cudaMemcpyDeviceToHost, stream);
    if (!planted)
        cudaStreamSynchronize(stream);
    assert_true(pinned[1] <= 1);
    cudaStreamSynchronize(stream);
}

static void written_before_wait(bool planted)
{
    cudaMemcpyAsync(y, pinned, N * sizeof *y, cudaMemcpyHostToDevice, stream);
    if (!planted)
        cudaStreamSynchronize(stream);
    pinned[1] = 0;
    cudaStreamSynchronize(stream);
}

static void copy_over_the_end(bool planted)
{
    static float host[N + 1];

    cudaMemcpyAsync(y, host, (N + planted) * sizeof *y, cudaMemcpyHostToDevice, stream);
}

static void fill_over_the_end(bool planted)
{
    cudaMemsetAsync(y, 0, (N + planted) * sizeof *y, stream);
}

/* ---- the kernels of kernels.cu ---- */

extern int kernels_fault;

static void in_add(bool planted)
{
    float *to;

    kernels_fault = planted ? 1 : 0;
    cudaMalloc(&to, 200 * 2 * sizeof *to);
    run_add(to, large, large, 200, stream);
    cudaStreamSynchronize(stream);
    cudaFree(to);
}

static void in_softmax(int fault)
{
    kernels_fault = fault;
    run_softmax(large + LARGE / 2, large, 4, stream);
    cudaStreamSynchronize(stream);
}

static void in_softmax_cells(bool planted)
{
    in_softmax(planted ? 2 : 0);
}

static void in_softmax_half_warp(bool planted)
{
    in_softmax(planted ? 3 : 0);
}

static void in_softmax_barrier(bool planted)
{
    in_softmax(planted ? 4 : 0);
}

static void in_linear(bool planted)
{
    kernels_fault = planted ? 5 : 0;
    run_linear(large + LARGE / 2, large, large, large, 64, stream);
    cudaStreamSynchronize(stream);
}

static void in_bfloat16(int fault)
{
    const modc_bfloat16 *const halves = (const modc_bfloat16 *)large;

    kernels_fault = fault;
    run_linear_bfloat16(large + LARGE / 2, halves, halves, large, 64, stream);
    cudaStreamSynchronize(stream);
}

static void in_bfloat16_groups(bool planted)
{
    in_bfloat16(planted ? 6 : 0);
}

static void in_bfloat16_page(bool planted)
{
    in_bfloat16(planted ? 7 : 0);
}

static void in_policy(bool planted)
{
    const struct policy_packed k = {large, large, large, large, large, large};

    kernels_fault = planted ? 8 : 0;
    run_policy(large + LARGE / 2, large + LARGE / 2 + 64, large, &k, 8, stream);
    cudaStreamSynchronize(stream);
}

/* ---- attention and recurrent layers: what the templates of templates/cuda do, with less between ---- */

/* As attention_online: a block of 16 queries of 40 numbers, keys in tiles of 32. 1: a tile is filled while others read the last one,
 * 2: one key too many is read, 3: rows behind the last query are not filled, 4: lanes go on to other keys. */
static __global__ void __launch_bounds__(128)
    attend(float *to, const float *q, const float *k, int rows, int count, int fault)
{
    __shared__ float keys[32][33], queries[16][32];
    const int thread = (int)threadIdx.x, lane = thread % 32, first = thread / 32 * 4;
    float sum[4] = {};

    for (int from = 0; from < count; from += 32) {
        float weight[4] = {};

        for (int inner = 0; inner < 40; inner += 32) {
            const int depth = modc_min(40 - inner, 32);

            if (fault != 1)
                __syncthreads();
            for (int i = thread; i < 32 * 32; i += 128)
                if (i % 32 < depth)
                    keys[i / 32][i % 32] = from + i / 32 < count + (fault == 2)
                                               ? k[(from + i / 32) * 40 + inner + i % 32]
                                               : 0;
            for (int i = thread; i < 16 * 32; i += 128)
                if (i % 32 < depth && (fault != 3 || i / 32 < rows))
                    queries[i / 32][i % 32] = i / 32 < rows ? q[i / 32 * 40 + inner + i % 32] : 0;
            __syncthreads();
            for (int e = 0; e < depth; e++)
                for (int r = 0; r < 4; r++)
                    weight[r] += queries[first + r][e] * keys[lane][e];
        }
        for (int j = 0; j < modc_min(count - from, fault == 4 ? lane + 1 : 32); j++)
            for (int r = 0; r < 4; r++)
                sum[r] += __shfl_sync(MODC_WARP, weight[r], j);
    }
    for (int r = 0; r < 4; r++)
        if (first + r < rows)
            to[(first + r) * 32 + lane] = sum[r];
}

static void in_attention(int fault)
{
    float *q, *k, *to;

    cudaMalloc(&q, 13 * 40 * sizeof *q);
    cudaMalloc(&k, 50 * 40 * sizeof *k);
    cudaMalloc(&to, 13 * 32 * sizeof *to);
    cudaMemsetAsync(q, 0, 13 * 40 * sizeof *q, stream);
    cudaMemsetAsync(k, 0, 50 * 40 * sizeof *k, stream);
    MODC_LAUNCH(attend, 1, 128, 0, stream, to, q, k, 13, 50, fault);
    cudaStreamSynchronize(stream);
    cudaFree(q);
    cudaFree(k);
    cudaFree(to);
}

static void in_attention_tile(bool planted)
{
    in_attention(planted ? 1 : 0);
}

static void in_attention_key(bool planted)
{
    in_attention(planted ? 2 : 0);
}

static void in_attention_query(bool planted)
{
    in_attention(planted ? 3 : 0);
}

static void in_attention_lanes(bool planted)
{
    in_attention(planted ? 4 : 0);
}

/* As recurrent_rows: four rows of 20 units a block, eight threads a unit. 1: a step reads what others write of the last one, 2: rows
 * behind the last one are written. */
static __global__ void __launch_bounds__(160)
    recur(float *to, const float *added, const float *w, int steps, int rows, int fault)
{
    const int lane = (int)threadIdx.x % 8, unit = (int)threadIdx.x / 8, top = (int)blockIdx.x * 4;
    const int own = top + lane;

    for (int s = 0; s < steps; s++) {
        float sum[4] = {}, gate = 0;

        for (int k = lane; k < 20 && s > 0; k += 8)
            for (int r = 0; r < 4; r++)
                sum[r] += top + r < rows ? to[((s - 1) * rows + top + r) * 20 + k] * w[unit * 20 + k] : 0;
        for (int r = 0; r < 4; r++) {
            for (int d = 4; d > 0; d /= 2)
                sum[r] += __shfl_xor_sync(MODC_WARP, sum[r], d);
            gate = lane == r ? sum[r] : gate;
        }
        if (lane < 4 && (own < rows || fault == 2))
            to[(s * rows + own) * 20 + unit] = gate + added[(s * rows + modc_min(own, rows - 1)) * 20 + unit];
        if (fault != 1)
            __syncthreads();
    }
}

static void in_recurrent(int fault)
{
    float *to;

    cudaMalloc(&to, 5 * 6 * 20 * sizeof *to);
    MODC_LAUNCH(recur, 2, 160, 0, stream, to, large, large, 5, 6, fault);
    cudaStreamSynchronize(stream);
    cudaFree(to);
}

static void in_recurrent_step(bool planted)
{
    in_recurrent(planted ? 1 : 0);
}

static void in_recurrent_rows(bool planted)
{
    in_recurrent(planted ? 2 : 0);
}

/* As recurrent_rows_gradient: what the gates of a step give the state before, by 32 of its elements; each warp adds up some of
 * the gates. 1: the gates are read while they are made, 2: sums are added before all warps have left theirs, 3: or while others read
 * them. */
static __global__ void __launch_bounds__(256)
    carry(float *gates, float *state, const float *w, int steps, int fault)
{
    __shared__ float cells[8][4][32];
    const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;

    for (int s = 0; s < steps; s++) {
        for (int i = thread; i < 4 * 64; i += 256)
            gates[s * 256 + i] = state[i];
        if (fault != 1)
            __syncthreads();
        for (int from = 0; from < 64; from += 32) {
            float sum[4] = {}, all = 0;

            for (int g = warp; g < 64; g += 8)
                for (int r = 0; r < 4; r++)
                    sum[r] += gates[s * 256 + r * 64 + g] * w[g * 64 + from + lane];
            for (int r = 0; r < 4; r++)
                cells[warp][r][lane] = sum[r];
            if (fault != 2)
                __syncthreads();
            for (int i = 0; i < 8 && warp < 4; i++)
                all += cells[i][warp][lane];
            if (warp < 4)
                state[warp * 64 + from + lane] += all;
            if (fault != 3)
                __syncthreads();
        }
    }
}

static void in_gradient(int fault)
{
    MODC_LAUNCH(carry, 1, 256, 0, stream, large + LARGE / 2, large + LARGE / 4, large, 3, fault);
    cudaStreamSynchronize(stream);
}

static void in_gradient_gates(bool planted)
{
    in_gradient(planted ? 1 : 0);
}

static void in_gradient_sums(bool planted)
{
    in_gradient(planted ? 2 : 0);
}

static void in_gradient_cells(bool planted)
{
    in_gradient(planted ? 3 : 0);
}

/* ---- the test ---- */

#include "faults_rare.h"

static const struct fault faults[] = {
    FAULT(one_too_many, "behind what is allocated"),
    FAULT(host_pointer, "reads 4 bytes of host memory"),
    FAULT(no_pointer, "reads 4 bytes of host memory"),
    FAULT(never_written, "reads 4 bytes that nobody has written"),
    FAULT(released, "reads 4 bytes that were released"),
    FAULT(forgotten, "reads 4 bytes that nobody has written"),
    FAULT(before_the_first, "reads 4 bytes behind what is allocated"),
    FAULT(not_aligned, "at an address that is no multiple"),
    FAULT(vector_over_the_end, "behind what is allocated"),
    FAULT(constant_written, "writes 4 bytes of constant memory"),
    FAULT(no_barrier, "reads 4 bytes that nobody has written", "what another thread"),
    FAULT(no_barrier_before_reuse, "with no barrier between (shared memory)"),
    FAULT(said_too_late, "reads 4 bytes that nobody has written", "with no barrier between (shared memory)"),
    FAULT(shared_never_written, "reads 4 bytes that nobody has written"),
    FAULT(too_little_shared, "writes 4 bytes behind what is allocated"),
    FAULT(other_barriers, "threads of a block wait at other barriers"),
    FAULT(ended_before_barrier, "a barrier that 40 of 64 threads reach: the others have ended"),
    FAULT(one_byte_of_two, "writes what another thread wrote, with no barrier between (global memory)"),
    FAULT(byte_of_another, "with no barrier between (global memory)"),
    FAULT(lane_not_in_mask, "is not in the mask 0xfffffffe", "meet with other masks"),
    FAULT(ended_lanes_in_mask, "lanes that have ended or do not exist", "never come"),
    FAULT(half_of_a_warp, "wait at a barrier for others that wait for lanes of their warps"),
    FAULT(other_shuffles, "meet with other masks or in other places"),
    FAULT(lockstep, "reads 4 bytes that nobody has written", "with no barrier between (shared memory)"),
    FAULT(warp_for_block, "reads 4 bytes that nobody has written", "with no barrier between (shared memory)"),
    FAULT(no_atomic, "another block"),
    FAULT(atomic_and_plain, "what another block wrote"),
    FAULT(in_place_over_blocks, "with no barrier between (global memory)"),
    FAULT(no_fence, "with no fence behind"),
    FAULT(old_from_cache, "reads what another block wrote"),
    FAULT(fresh_of_nobody, "no block of this launch wrote"),
    FAULT(copy_not_there, "reads 4 bytes that nobody has written"),
    FAULT(one_group_too_few, "reads 4 bytes that nobody has written"),
    FAULT(copied_over_what_is_read, "with no barrier between (shared memory)", "that nobody has written"),
    FAULT(ended_with_copies, "ends before its asynchronous copies are waited for"),
    FAULT(streams_without_event, "what another launch or copy"),
    FAULT(copy_beside_kernel, "what another launch or copy"),
    FAULT(read_before_wait, "the host reads 4 bytes that a copy on its way is to write"),
    FAULT(written_before_wait, "the host writes 4 bytes that a copy on its way is to read"),
    FAULT(copy_over_the_end, "a copy of 516 bytes goes over what is allocated"),
    FAULT(fill_over_the_end, "516 bytes that are filled go over what is allocated"),
    FAULT(in_add, "behind what is allocated"),
    FAULT(in_softmax_cells, "with no barrier between (shared memory)"),
    FAULT(in_softmax_half_warp, "wait for others of the mask", "have ended or do not exist"),
    FAULT(in_softmax_barrier, "wait at other barriers", "the others have ended"),
    FAULT(in_linear, "that nobody has written", "with no barrier between (shared memory)"),
    FAULT(in_bfloat16_groups, "that nobody has written"),
    FAULT(in_bfloat16_page, "with no barrier between (shared memory)", "that nobody has written"),
    FAULT(in_policy, "that nobody has written", "with no barrier between (shared memory)"),
    FAULT(in_attention_tile, "with no barrier between (shared memory)"),
    FAULT(in_attention_key, "reads 4 bytes behind what is allocated"),
    FAULT(in_attention_query, "reads 4 bytes that nobody has written"),
    FAULT(in_attention_lanes, "wait for others of the mask", "lanes of their warps"),
    FAULT(in_recurrent_step, "reads 4 bytes that nobody has written",
          "with no barrier between (global memory)"),
    FAULT(in_recurrent_rows, "behind what is allocated", "another block"),
    FAULT(in_gradient_gates, "with no barrier between (global memory)"),
    FAULT(in_gradient_sums, "reads 4 bytes that nobody has written",
          "with no barrier between (shared memory)"),
    FAULT(in_gradient_cells, "with no barrier between"),
    RARE_FAULTS,
};

int main(void)
{
    return run_faults(faults, (int)(sizeof faults / sizeof *faults));
}
