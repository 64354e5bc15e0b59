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

/* Bytes of an element, whose first eight are in `low` from its lowest on. */
static __global__ void __launch_bounds__(THREADS)
    fill(unsigned char *to, uint64_t low, uint64_t high, int each, int64_t bytes)
{
    for (int64_t i = MODC_THREAD(THREADS); i < bytes; i += MODC_THREADS(THREADS)) {
        const int at = (int)(i % each);

        to[i] = (unsigned char)((at < 8 ? low : high) >> 8 * (at % 8));
    }
}

extern "C" int modc_cuda_fill(void *stream, void *to, const void *element, size_t each, size_t bytes)
{
    uint64_t words[MODC_WIDEST / 8] = {0};

    for (size_t i = 0; i < each; i++)
        words[i / 8] |= (uint64_t)((const unsigned char *)element)[i] << 8 * (i % 8);
    return (int)MODC_LAUNCH_OVER(fill, (int64_t)bytes, THREADS, stream, (unsigned char *)to, words[0],
                                 words[1], (int)each, (int64_t)bytes);
}

/* ---- weights as integers ---- */

static __device__ void put_scale(void *scales, int at, int type, float scale)
{
    if (type == MODC_FLOAT32)
        ((float *)scales)[at] = scale;
    else
        ((uint16_t *)scales)[at] = type == MODC_FLOAT16 ? modc_f32_to_half(scale)
                                                        : modc_f32_to_bfloat16(scale);
}

/* Eight integers of a row, from step j on. */
static __device__ void put_eight(modc_int8 *y, int j, const int *whole, int bits)
{
    if (bits == 8) {
        for (int s = 0; s < 8; s++)
            y[j + s] = (modc_int8)whole[s];
    } else {
        for (int s = 0; s < 4; s++)
            y[j / 2 + s] = (modc_int8)(uint8_t)((whole[s + 4] + 8) << 4 | (whole[s] + 8));
    }
}

/* The integers of steps `from` to `to` - 1, multiples of 8, of a row at w, and 0 from step k on. */
static __device__ void put_integers(modc_int8 *y, const float *w, int from, int to, int k, int column,
                                    float times, int bits, enum modc_scaling scaling)
{
    for (int j = from; j < to; j += 8) {
        int whole[8];

        for (int s = 0; s < 8; s++)
            whole[s] = j + s < k ? modc_scaled_int(w[(ptrdiff_t)(j + s) * column], times, bits, scaling) : 0;
        put_eight(y, j, whole, bits);
    }
}

/* The same of what is multiples of its scale. */
static __device__ void put_multiples(modc_int8 *y, const float *w, int from, int to, int k, int column,
                                     float scale, int bits)
{
    for (int j = from; j < to; j += 8) {
        int whole[8];

        for (int s = 0; s < 8; s++) {
            whole[s] = 0;
            if (j + s < k)
                modc_multiple(w[(ptrdiff_t)(j + s) * column], scale, bits, &whole[s]);
        }
        put_eight(y, j, whole, bits);
    }
}

/* A thread a group of a row. */
static __global__ void __launch_bounds__(THREADS)
    pack_rows(modc_int8 *y, const float *w, int n, int k, int row, int column, int bits, int group, int scale,
              enum modc_scaling scaling, const struct modc_scales came)
{
    const enum modc_scale type = scale == MODC_FLOAT32   ? MODC_SCALE_F32
                                 : scale == MODC_FLOAT16 ? MODC_SCALE_F16
                                                         : MODC_SCALE_BF16;
    const int groups = (k + group - 1) / group, bytes = MODC_ROW_BYTES(k, bits);

    for (int at = MODC_THREAD(THREADS); at < n * groups; at += MODC_THREADS(THREADS)) {
        const int i = at / groups, first = at % groups * group, last = first + group >= k;
        const float *const from = w + (ptrdiff_t)i * row;
        const float *const start = from + (ptrdiff_t)first * column;
        const int count = modc_min(group, k - first), end = last ? bytes * 8 / bits : first + group;
        modc_int8 *const to = y + (ptrdiff_t)i * bytes;
        float own = 0.0f;

        if (modc_came_scaled(start, &came, start - w, count, column, bits, type, &own)) {
            put_multiples(to, from, first, end, k, column, own, bits);
        } else {
            own = modc_scale_of(start, count, column, bits, scaling);
            put_integers(to, from, first, end, k, column, own != 0.0f ? 1.0f / own : 0.0f, bits, scaling);
        }
        put_scale(y + (ptrdiff_t)n * bytes, at, scale, own);
    }
}

extern "C" int modc_cuda_pack_rows(void *stream, void *y, const float *w, int n, int k, int row, int column,
                                   int bits, int group, enum modc_dtype scale, int gguf,
                                   struct modc_scales came)
{
    return (int)MODC_LAUNCH_OVER(pack_rows, (int64_t)n * ((k + group - 1) / group), THREADS, stream,
                                 (modc_int8 *)y, w, n, k, row, column, bits, group, (int)scale,
                                 gguf ? MODC_GGUF : MODC_SYMMETRIC, came);
}

/* The nearest integer, of two the even one: 1.5 * 2^23 leaves a sum no bits for fractions. Within -128 and 127; 0 for what is no number. */
static __device__ unsigned rounded_byte(float value)
{
    const float within = value > -128.0f ? value < 127.0f ? value : 127.0f : -128.0f;

    return value == value ? modc_f32_to_bits(within + 12582912.0f) & 255u : 0u;
}

/* A block a row: its largest size, then its integers. */
static __global__ void __launch_bounds__(THREADS)
    round_rows(modc_int8 *y, const float *x, int m, int k, int row, int column)
{
    __shared__ float cells[THREADS / 32];

    for (int i = (int)blockIdx.x; i < m; i += (int)gridDim.x) {
        const float *const from = x + (ptrdiff_t)i * row;
        modc_int8 *const to = y + (ptrdiff_t)i * MODC_ROUNDED_BYTES(k);
        float most = 0.0f;

        for (int j = (int)threadIdx.x; j < k; j += THREADS)
            most = modc_nan_max(most, modc_f32s_abs(from[(ptrdiff_t)j * column]));

        const float largest = modc_block_max(most, cells, THREADS / 32) / 127.5f;
        const float scale = largest <= 1.1920929e-7f ? 1.1920929e-7f : largest, times = 1.0f / scale;

        if (threadIdx.x == 0)
            *(float *)(void *)to = scale;
        for (int j = (int)threadIdx.x * 4; j < MODC_ROUNDED_BYTES(k) - 16; j += THREADS * 4) {
            unsigned word = 0;

            for (int s = 0; s < 4 && j + s < k; s++)
                word |= rounded_byte(from[(ptrdiff_t)(j + s) * column] * times) << 8 * s;
            *(unsigned *)(void *)(to + 16 + j) = word;
        }
    }
}

extern "C" int modc_cuda_round_rows(void *stream, void *y, const float *x, int m, int k, int row, int column)
{
    return (int)MODC_LAUNCH_EACH(round_rows, m, 8192, THREADS, stream, (modc_int8 *)y, x, m, k, row, column);
}

/* As arguments, which a launch takes with it: a copy from memory that is pinned would be made later. */
struct words {
    uint64_t at[400];
};

static __global__ void __launch_bounds__(THREADS) put(uint64_t *to, const struct words words, int count)
{
    for (int i = (int)threadIdx.x; i < count; i += THREADS)
        to[i] = words.at[i];
}

extern "C" int modc_cuda_put(void *stream, void *to, const uint64_t *from, size_t count)
{
    const size_t most = sizeof(struct words) / sizeof(uint64_t);
    int code = 0;

    for (size_t first = 0; first < count && code == 0; first += most) {
        const size_t some = count - first < most ? count - first : most;
        struct words words;

        for (size_t i = 0; i < some; i++)
            words.at[i] = from[first + i];
        code = (int)MODC_LAUNCH(put, 1, THREADS, 0, stream, (uint64_t *)to + first, words, (int)some);
    }
    return code;
}

/* A row of blocks for each, in one launch: what is copied for a sequence is little, of every layer. */
struct copies {
    struct modc_copy at[48];
};

static __global__ void __launch_bounds__(THREADS) copy_all(const struct copies copies)
{
    const struct modc_copy copy = copies.at[blockIdx.y];
    const bool whole = (((uintptr_t)copy.to | (uintptr_t)copy.from | copy.bytes) & 15) == 0;
    const int64_t count = (int64_t)(whole ? copy.bytes / 16 : copy.bytes);

    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS)) {
        if (whole)
            ((uint4 *)copy.to)[i] = ((const uint4 *)copy.from)[i];
        else
            ((unsigned char *)copy.to)[i] = ((const unsigned char *)copy.from)[i];
    }
}

extern "C" int modc_cuda_copy_all(void *stream, const struct modc_copy *from, int count)
{
    const int most = (int)(sizeof(struct copies) / sizeof(struct modc_copy));
    int code = 0;

    for (int first = 0; first < count && code == 0; first += most) {
        const int some = modc_min(count - first, most);
        struct copies copies = {};
        size_t longest = 1;

        for (int i = 0; i < some; i++) {
            copies.at[i] = from[first + i];
            longest = from[first + i].bytes > longest ? from[first + i].bytes : longest;
        }
        code = (int)MODC_LAUNCH(copy_all,
                                dim3(modc_blocks((int64_t)(longest + 15) / 16, THREADS), (unsigned)some),
                                THREADS, 0, stream, copies);
    }
    return code;
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

static __global__ void __launch_bounds__(1) count(struct modc_device_head *head)
{
    if (!modc_faulty(&head->fault))
        head->random.counter++;
}

extern "C" int modc_cuda_count(void *stream, struct modc_device_head *head)
{
    return (int)MODC_LAUNCH(count, 1, 1, 0, stream, head);
}

/* ---- training: note [training on a device] ---- */

/* Halves by their bits. */
static __device__ double real_at(const void *data, int dtype, int64_t at)
{
    switch (dtype) {
    case MODC_FLOAT64:
        return ((const double *)data)[at];
    case MODC_FLOAT16:
        return modc_half_to_f32(((const uint16_t *)data)[at]);
    case MODC_BFLOAT16:
        return modc_bfloat16_to_f32(((const uint16_t *)data)[at]);
    default:
        return ((const float *)data)[at];
    }
}

static __device__ void set_real(void *data, int dtype, int64_t at, double value)
{
    switch (dtype) {
    case MODC_FLOAT64:
        ((double *)data)[at] = value;
        break;
    case MODC_FLOAT16:
        ((uint16_t *)data)[at] = modc_f32_to_half((float)value);
        break;
    case MODC_BFLOAT16:
        ((uint16_t *)data)[at] = modc_f32_to_bfloat16((float)value);
        break;
    default:
        ((float *)data)[at] = (float)value;
    }
}

/* As torch's vector_norm over parts of a vector: what two parts gave, of magnitudes x: 2 is sums of squares. NaN: the larger. */
static __device__ double join_numbers(double a, double b, double type)
{
    if (type != type)
        return a > b ? a : b;
    if (type == (double)INFINITY)
        return b > a || b != b ? b : a;
    if (type == -(double)INFINITY)
        return b < a || b != b ? b : a;
    return a + b;
}

static __device__ double number_of(double x, double type)
{
    if (type != type)
        return isfinite(x) ? 0 : 1;
    if (type == 0)
        return x != 0;
    return type == 2 ? x * x : type == 1 || isinf(type) ? x : pow(x, type);
}

/* number = that of all elements: one block, of which each thread has its own; then the threads in their order. */
static __global__ void __launch_bounds__(THREADS)
    number(const struct modc_device_fault *fault, double *number, const void *data, int dtype, bool complex,
           int64_t count, double type, float by)
{
    __shared__ double parts[THREADS];
    const bool narrow = dtype == MODC_FLOAT16 || dtype == MODC_BFLOAT16;
    double part = type == -(double)INFINITY ? (double)INFINITY : modc_faulty(fault) ? 1 : 0;

    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        const double x = complex ? hypot(real_at(data, dtype, 2 * i), real_at(data, dtype, 2 * i + 1))
                                 : fabs(real_at(data, dtype, i));

        part = join_numbers(part, number_of(narrow ? (double)((float)x * by) : x, type), type);
    }
    parts[threadIdx.x] = part;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int t = 1; t < THREADS; t++)
        part = join_numbers(part, parts[t], type);
    *number = type == 2                                               ? sqrt(part)
              : type != type || type == 0 || type == 1 || isinf(type) ? part
                                                                      : pow(part, 1 / type);
}

extern "C" int modc_cuda_number(void *stream, const struct modc_device_head *head, double *to,
                                const void *data, enum modc_dtype dtype, size_t count, double type, double by)
{
    return (int)MODC_LAUNCH(number, 1, THREADS, 0, stream, head != NULL ? &head->fault : NULL, to, data,
                            (int)modc_dtype_part(dtype), modc_dtype_part(dtype) != dtype, (int64_t)count,
                            type, (float)by);
}

/* Complex numbers are pairs of reals. */
static int64_t reals(enum modc_dtype dtype, size_t count)
{
    return (int64_t)count * (modc_dtype_part(dtype) != dtype ? 2 : 1);
}

static __global__ void __launch_bounds__(THREADS) scale(void *data, int dtype, int64_t count, double by)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS)) {
        const double x = real_at(data, dtype, i);

        set_real(data, dtype, i, dtype == MODC_FLOAT32 ? (float)x * (float)by : x * by);
    }
}

extern "C" int modc_cuda_scale(void *stream, void *data, enum modc_dtype dtype, size_t count, double by)
{
    return (int)MODC_LAUNCH_OVER(scale, reals(dtype, count), THREADS, stream, data,
                                 (int)modc_dtype_part(dtype), reals(dtype, count), by);
}

/* NaN stays. */
static __global__ void __launch_bounds__(THREADS) clamp(void *data, int dtype, int64_t count, double value)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS)) {
        const double x = real_at(data, dtype, i);

        if (x > value)
            set_real(data, dtype, i, value);
        if (x < -value)
            set_real(data, dtype, i, -value);
    }
}

extern "C" int modc_cuda_clamp(void *stream, void *data, enum modc_dtype dtype, size_t count, double value)
{
    return (int)MODC_LAUNCH_OVER(clamp, (int64_t)count, THREADS, stream, data, (int)dtype, (int64_t)count,
                                 value);
}

static __global__ void __launch_bounds__(THREADS)
    average(void *averages, const void *data, int dtype, int64_t count, double decay)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS)) {
        const double to = real_at(averages, dtype, i), from = real_at(data, dtype, i);

        set_real(averages, dtype, i,
                 dtype == MODC_FLOAT32 ? (float)decay * (float)to + (float)(1 - decay) * (float)from
                                       : decay * to + (1 - decay) * from);
    }
}

extern "C" int modc_cuda_average(void *stream, void *to, const void *data, enum modc_dtype dtype,
                                 size_t count, double decay)
{
    return (int)MODC_LAUNCH_OVER(average, reals(dtype, count), THREADS, stream, to, data,
                                 (int)modc_dtype_part(dtype), reals(dtype, count), decay);
}

static __global__ void __launch_bounds__(THREADS) swap(unsigned char *a, unsigned char *b, int64_t bytes)
{
    for (int64_t i = MODC_THREAD(THREADS); i < bytes; i += MODC_THREADS(THREADS)) {
        const unsigned char byte = a[i];

        a[i] = b[i];
        b[i] = byte;
    }
}

extern "C" int modc_cuda_swap(void *stream, void *a, void *b, size_t bytes)
{
    return (int)MODC_LAUNCH_OVER(swap, (int64_t)bytes, THREADS, stream, (unsigned char *)a,
                                 (unsigned char *)b, (int64_t)bytes);
}

/* float32 copies of a parameter: note [float32 copies] in generator/module/training.h. */
static __global__ void __launch_bounds__(THREADS)
    renew(float *copies, const uint16_t *param, int dtype, int64_t count)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS))
        copies[i] = dtype == MODC_FLOAT16 ? modc_half_kept(copies[i], param[i])
                                          : modc_bfloat16_kept(copies[i], param[i]);
}

extern "C" int modc_cuda_renew(void *stream, float *copies, const void *param, enum modc_dtype dtype,
                               size_t count)
{
    return (int)MODC_LAUNCH_OVER(renew, (int64_t)count, THREADS, stream, copies, (const uint16_t *)param,
                                 (int)dtype, (int64_t)count);
}

static __global__ void __launch_bounds__(THREADS)
    round_copies(uint16_t *param, const float *copies, int dtype, int64_t count)
{
    for (int64_t i = MODC_THREAD(THREADS); i < count; i += MODC_THREADS(THREADS))
        set_real(param, dtype, i, copies[i]);
}

extern "C" int modc_cuda_round(void *stream, void *param, enum modc_dtype dtype, const float *copies,
                               size_t count)
{
    return (int)MODC_LAUNCH_OVER(round_copies, (int64_t)count, THREADS, stream, (uint16_t *)param, copies,
                                 (int)dtype, (int64_t)count);
}
