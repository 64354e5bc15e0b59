/* cnn.cu - written by modc from cnn.yaml; change the spec, not this file. It is yours, under any
 * terms. */
#include "cnn_kernels.h"

#include "modc_cuda.h"

MODC_KERNELS_BEGIN

/* x1 * where(x0 < 0.25, 0.0, 1.3333334) */
MODC_INLINE float random_dropped_mul_s(float x0, float x1)
{
    return x1 * (x0 < 0.25f ? 0.0f : 1.33333337f);
}

/* y in [9][16] = x0 */
static __global__ void __launch_bounds__(256, 1) pack_y_0_weight(float *y, const float *x0)
{
    for (int at = MODC_THREAD(256); at < 144; at += MODC_THREADS(256)) {
        const int i = at / 16, j = at % 16;

        y[i * 16 + j] = x0[i + j * 9];
    }
}

int cnn_pack_y_0_weight(void *stream, float *y, const float *x0)
{
    return MODC_LAUNCH_OVER(pack_y_0_weight, 144, 256, stream, y, x0);
}

/* y (batch, 8, 8, 16) = conv2d(x (batch, 8, 8, 1), weight (16, 3, 3, 1)) + bias, channels last.
 * In tiles of pixels and channels, 4 x 4 a thread: 16 taps at a time go through shared memory, on
 * two pages */
static __global__ void __launch_bounds__(64, 1) y_0_conv2d(float *restrict y,
                                                           const float *restrict x,
                                                           const float *restrict w,
                                                           const float *restrict bias, int batch)
{
    __shared__ __align__(16) float a[2][16][32 + 4], b[2][16][32 + 4];
    const int taps = 3 * 3, steps = (taps + 15) / 16, pixels = batch * 8 * 8;
    const int thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = thread / 32, wc = thread % 32;
    const int row = thread / 8 * 4, column = thread % 8 * 4;
    const int first = (int)blockIdx.x * 32, band = 0;
    const int from = 0, to = steps;
    int top[8], west[8], image[8]; /* of the windows of which this thread fetches */
    float left[8], right[8], sum[4][4] = {};

    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int r = first + xr + i * 4, line = r / 8;

        top[i] = line % 8 - 1;
        west[i] = r % 8 - 1;
        if (r >= pixels)
            top[i] = -3; /* all of it lies outside */
        image[i] = line / 8 * (8 * 8);
    }
    for (int step = from; step <= to; step++) {
        if (step < to) {
            const int k = step * 16 + xk, kh = k / 3, kw = k % 3, c = 0;

            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int h = top[i] + kh, q = west[i] + kw;
                const bool seen = k < taps && h >= 0 && h < 8 && q >= 0 && q < 8;

                left[i] = seen ? x[image[i] + h * 8 + q + c] : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int p = step * 16 + wk + i * 2;
                const int o = band + wc;
                const int tap = p * 16;

                right[i] = o < 16 && p < taps ? w[o + tap] : 0;
            }
        }
        if (step > from) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                float p[4], q[4];

                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    p[i] = a[(step - 1) % 2][k][row + i];
                    q[i] = b[(step - 1) % 2][k][column + i];
                }
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += p[i / 4] * q[i % 4];
            }
        }
        if (step < to) {
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                a[step % 2][xk][xr + i * 4] = left[i];
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                b[step % 2][wk + i * 2][wc] = right[i];
        }
        __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = band + column + i % 4;

        if (r < pixels && c < 16) {
            const int o = c;
            const float value = sum[i / 4][i % 4] + bias[o];

            y[r * 16 + o] = value;
        }
    }
}

int cnn_y_0_conv2d(void *stream, float *y, const float *x, const float *w, const float *bias,
                   int batch)
{
    const int pixels = batch * 8 * 8;
    const dim3 blocks((pixels + 32 - 1) / 32, 1, 1);

    return pixels == 0 ? cudaSuccess
                       : MODC_LAUNCH(y_0_conv2d, blocks, 64, 0, stream, y, x, w, bias, batch);
}

MODC_INLINE float y_0_conv2d_fused_tail(float x)
{
    return x <= 0.0f ? 0.0f : x;
}

/* y (batch, 8, 8, 16) = conv2d(x (batch, 8, 8, 1), weight (16, 3, 3, 1)) + bias, channels last;
 * then where(x0 <= 0.0, 0.0, x0).
 * In tiles of pixels and channels, 4 x 4 a thread: 16 taps at a time go through shared memory, on
 * two pages */
static __global__ void __launch_bounds__(64, 1) y_0_conv2d_fused(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    __shared__ __align__(16) float a[2][16][32 + 4], b[2][16][32 + 4];
    const int taps = 3 * 3, steps = (taps + 15) / 16, pixels = batch * 8 * 8;
    const int thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = thread / 32, wc = thread % 32;
    const int row = thread / 8 * 4, column = thread % 8 * 4;
    const int first = (int)blockIdx.x * 32, band = 0;
    const int from = 0, to = steps;
    int top[8], west[8], image[8]; /* of the windows of which this thread fetches */
    float left[8], right[8], sum[4][4] = {};

    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int r = first + xr + i * 4, line = r / 8;

        top[i] = line % 8 - 1;
        west[i] = r % 8 - 1;
        if (r >= pixels)
            top[i] = -3; /* all of it lies outside */
        image[i] = line / 8 * (8 * 8);
    }
    for (int step = from; step <= to; step++) {
        if (step < to) {
            const int k = step * 16 + xk, kh = k / 3, kw = k % 3, c = 0;

            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int h = top[i] + kh, q = west[i] + kw;
                const bool seen = k < taps && h >= 0 && h < 8 && q >= 0 && q < 8;

                left[i] = seen ? x[image[i] + h * 8 + q + c] : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int p = step * 16 + wk + i * 2;
                const int o = band + wc;
                const int tap = p * 16;

                right[i] = o < 16 && p < taps ? w[o + tap] : 0;
            }
        }
        if (step > from) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                float p[4], q[4];

                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    p[i] = a[(step - 1) % 2][k][row + i];
                    q[i] = b[(step - 1) % 2][k][column + i];
                }
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += p[i / 4] * q[i % 4];
            }
        }
        if (step < to) {
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                a[step % 2][xk][xr + i * 4] = left[i];
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                b[step % 2][wk + i * 2][wc] = right[i];
        }
        __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = band + column + i % 4;

        if (r < pixels && c < 16) {
            const int o = c;
            const float value = sum[i / 4][i % 4] + bias[o];

            y[r * 16 + o] = y_0_conv2d_fused_tail(value);
        }
    }
}

int cnn_y_0_conv2d_fused(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch)
{
    const int pixels = batch * 8 * 8;
    const dim3 blocks((pixels + 32 - 1) / 32, 1, 1);

    return pixels == 0 ? cudaSuccess
                       : MODC_LAUNCH(y_0_conv2d_fused, blocks, 64, 0, stream, y, x, w, bias, batch);
}

/* y (batch, 16, 8, 8) = x0 */
static __global__ void __launch_bounds__(256, 1) y_0_copy(float *y, const float *x0, int batch)
{
    for (int at = MODC_THREAD(256); at < 1024 * batch; at += MODC_THREADS(256)) {
        const int i = at / 1024, j = at / 64 % 16, k = at % 64;

        y[i * 1024 + j * 64 + k] = x0[i * 1024 + j + k * 16];
    }
}

int cnn_y_0_copy(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_0_copy, 1024 * batch, 256, stream, y, x0, batch);
}

/* y (16) = x0 + x1 */
static __global__ void __launch_bounds__(256, 1) y_1_add(float *y, const float *x0, const float *x1)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = x0[i] + x1[i];
}

int cnn_y_1_add(void *stream, float *y, const float *x0, const float *x1)
{
    return MODC_LAUNCH_OVER(y_1_add, 16, 256, stream, y, x0, x1);
}

/* y (16) = 0.9 * x0 */
static __global__ void __launch_bounds__(256, 1) y_1_mul(float *y, const float *x0)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = 0.899999976f * x0[i];
}

int cnn_y_1_mul(void *stream, float *y, const float *x0)
{
    return MODC_LAUNCH_OVER(y_1_mul, 16, 256, stream, y, x0);
}

/* y (batch, 16, 8, 8) = x1 * x2 + x0 */
static __global__ void __launch_bounds__(256, 1) y_1_mul_fused(float *y, const float *x0,
                                                               const float *x1, const float *x2,
                                                               int batch)
{
    for (int at = MODC_THREAD(256); at < 1024 * batch; at += MODC_THREADS(256)) {
        const int i = at / 1024, j = at / 64 % 16, k = at % 64;

        y[i * 1024 + j * 64 + k] = x1[i * 1024 + j * 64 + k] * x2[j] + x0[j];
    }
}

int cnn_y_1_mul_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch)
{
    return MODC_LAUNCH_OVER(y_1_mul_fused, 1024 * batch, 256, stream, y, x0, x1, x2, batch);
}

/* y (16) = where(dim(batch) == 0, x0, x1 + 0.1 * x2) */
static __global__ void __launch_bounds__(256, 1) y_1_mul_fused_mul_add_where(float *y,
        const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = (int64_t)batch == 0 ? x0[i] : x1[i] + 0.100000001f * x2[i];
}

int cnn_y_1_mul_fused_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                    const float *x2, int batch)
{
    return MODC_LAUNCH_OVER(y_1_mul_fused_mul_add_where, 16, 256, stream, y, x0, x1, x2, batch);
}

/* y (16) = where(dim(batch) == 0, x0, x1 + 0.1 * (x2 * float32(float64(dim(64 * batch)) /
 * float64(dim(64 * batch - 1))))) */
static __global__ void __launch_bounds__(256, 1) y_1_mul_fused_mul_mul_add_where(float *y,
        const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256)) {
        const float product = x2[i] * (float)((double)(64 * batch) / (double)(64 * batch - 1));

        y[i] = (int64_t)batch == 0 ? x0[i] : x1[i] + 0.100000001f * product;
    }
}

int cnn_y_1_mul_fused_mul_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                        const float *x2, int batch)
{
    return MODC_LAUNCH_OVER(y_1_mul_fused_mul_mul_add_where, 16, 256, stream, y, x0, x1, x2, batch);
}

/* y () = x0 + 1 */
static __global__ void __launch_bounds__(256, 1) y_1_num_batches_tracked(int64_t *y,
        const int64_t *x0)
{
    if (MODC_THREAD(256) == 0)
        y[0] = (int64_t)((uint64_t)x0[0] + 1u);
}

int cnn_y_1_num_batches_tracked(void *stream, int64_t *y, const int64_t *x0)
{
    return MODC_LAUNCH_OVER(y_1_num_batches_tracked, 1, 256, stream, y, x0);
}

/* y (16) = x1 - x2 + x0 */
static __global__ void __launch_bounds__(256, 1) y_1_off(float *y, const float *x0, const float *x1,
                                                         const float *x2)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = x1[i] - x2[i] + x0[i];
}

int cnn_y_1_off(void *stream, float *y, const float *x0, const float *x1, const float *x2)
{
    return MODC_LAUNCH_OVER(y_1_off, 16, 256, stream, y, x0, x1, x2);
}

/* y (16) = sum of x0 - x1, then x0 / float32(dim(64 * batch)) */
static __global__ void __launch_bounds__(256, 1) y_1_rest(float *y, const float *x0,
                                                          const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int first = (int)blockIdx.x * 8; first < 16; first += (int)gridDim.x * 8) {
        const int at = first + thread % 8;
        float sum = 0.0f;

        for (int j = thread / 8; j < 64 * batch; j += 32)
            sum += x0[j * 16 + at] - x1[at];
        cells[thread] = sum;
        for (int d = 128; d >= 8; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread < 8)
            y[at] = cells[thread] / (float)(64 * batch);
        __syncthreads();
    }
}

int cnn_y_1_rest(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_1_rest, 32 * 16, 256, stream, y, x0, x1, batch);
}

/* y (16) = sum of x0 - x1, then x0 / float32(dim(64 * batch)) */
static __global__ void __launch_bounds__(1024, 1) y_1_rest_fenced(float *y, const float *x0,
        const float *x1, int batch)
{
    __shared__ float cells[1024];
    const int thread = (int)threadIdx.x;

    for (int at = (int)blockIdx.x; at < 16; at += (int)gridDim.x) {
        float sum = 0.0f;

        for (int place = thread; place < 64 * batch; place += 1024) {
            const int j = place / 64, k = place % 64;

            sum += x0[at * 64 + j * 1024 + k] - x1[at];
        }
        cells[thread] = sum;
        for (int d = 512; d > 0; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread == 0)
            y[at] = cells[thread] / (float)(64 * batch);
        __syncthreads();
    }
}

int cnn_y_1_rest_fenced(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_1_rest_fenced, 1024 * 16, 1024, stream, y, x0, x1, batch);
}

/* y (16) = rsqrt(x1 + 1e-05) * x0 */
static __global__ void __launch_bounds__(256, 1) y_1_scale(float *y, const float *x0,
                                                           const float *x1)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = modc_f32s_rsqrt(x1[i] + 9.99999975e-06f) * x0[i];
}

int cnn_y_1_scale(void *stream, float *y, const float *x0, const float *x1)
{
    return MODC_LAUNCH_OVER(y_1_scale, 16, 256, stream, y, x0, x1);
}

/* y (16) = x0 - x1 * x2 */
static __global__ void __launch_bounds__(256, 1) y_1_shift(float *y, const float *x0,
                                                           const float *x1, const float *x2)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = x0[i] - x1[i] * x2[i];
}

int cnn_y_1_shift(void *stream, float *y, const float *x0, const float *x1, const float *x2)
{
    return MODC_LAUNCH_OVER(y_1_shift, 16, 256, stream, y, x0, x1, x2);
}

/* y (batch, 16, 8, 8) = (x2 - x3) * x1 + x0 */
static __global__ void __launch_bounds__(256, 1) y_1_sub_fused(float *y, const float *x0,
                                                               const float *x1, const float *x2,
                                                               const float *x3, int batch)
{
    for (int at = MODC_THREAD(256); at < 1024 * batch; at += MODC_THREADS(256)) {
        const int i = at / 1024, j = at / 64 % 16, k = at % 64;

        y[i * 1024 + j * 64 + k] = (x2[i * 1024 + j * 64 + k] - x3[j]) * x1[j] + x0[j];
    }
}

int cnn_y_1_sub_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      const float *x3, int batch)
{
    return MODC_LAUNCH_OVER(y_1_sub_fused, 1024 * batch, 256, stream, y, x0, x1, x2, x3, batch);
}

/* y (1, 1, 1, 16) = sum of x0 */
static __global__ void __launch_bounds__(256, 1) y_1_sum(float *y, const float *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        if (batch > 0)
            sum += x0[i];
        y[i] = sum;
    }
}

int cnn_y_1_sum(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_1_sum, 16, 256, stream, y, x0, batch);
}

/* y (1, 16, 1, 1) = sum of x0 */
static __global__ void __launch_bounds__(256, 1) y_1_sum_fenced(float *y, const float *x0,
                                                                int batch)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        if (batch > 0)
            sum += x0[i * 64];
        y[i] = sum;
    }
}

int cnn_y_1_sum_fenced(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_1_sum_fenced, 16, 256, stream, y, x0, batch);
}

/* y (16) = sum of t2 = x0 - x1; t2 * t2 */
static __global__ void __launch_bounds__(256, 1) y_1_sum_mean(float *y, const float *x0,
                                                              const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int first = (int)blockIdx.x * 8; first < 16; first += (int)gridDim.x * 8) {
        const int at = first + thread % 8;
        float sum = 0.0f;

        for (int j = thread / 8; j < 64 * batch; j += 32) {
            const float difference = x0[j * 16 + at] - x1[at];

            sum += difference * difference;
        }
        cells[thread] = sum;
        for (int d = 128; d >= 8; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread < 8)
            y[at] = cells[thread];
        __syncthreads();
    }
}

int cnn_y_1_sum_mean(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_1_sum_mean, 32 * 16, 256, stream, y, x0, x1, batch);
}

/* y (16) = sum of t2 = x0 - x1; t2 * t2 */
static __global__ void __launch_bounds__(1024, 1) y_1_sum_mean_fenced(float *y, const float *x0,
        const float *x1, int batch)
{
    __shared__ float cells[1024];
    const int thread = (int)threadIdx.x;

    for (int at = (int)blockIdx.x; at < 16; at += (int)gridDim.x) {
        float sum = 0.0f;

        for (int place = thread; place < 64 * batch; place += 1024) {
            const int j = place / 64, k = place % 64;
            const float difference = x0[at * 64 + j * 1024 + k] - x1[at];

            sum += difference * difference;
        }
        cells[thread] = sum;
        for (int d = 512; d > 0; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread == 0)
            y[at] = cells[thread];
        __syncthreads();
    }
}

int cnn_y_1_sum_mean_fenced(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_1_sum_mean_fenced, 1024 * 16, 1024, stream, y, x0, x1, batch);
}

/* y (16) = t3 = float32(dim(64 * batch)); (x0 - t3 * x1 * x1) / t3 */
static __global__ void __launch_bounds__(256, 1) y_1_var(float *y, const float *x0, const float *x1,
                                                         int batch)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256)) {
        const float converted = (float)(64 * batch);
        const float v1 = x1[i];

        y[i] = (x0[i] - converted * v1 * v1) / converted;
    }
}

int cnn_y_1_var(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_1_var, 16, 256, stream, y, x0, x1, batch);
}

/* y (batch, 16, 8, 8) = where(x0 <= 0.0, 0.0, x0) */
static __global__ void __launch_bounds__(256, 1) y_2_forward(float *y, const float *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < 1024 * batch; i += MODC_THREADS(256)) {
        const float v0 = x0[i];

        y[i] = v0 <= 0.0f ? 0.0f : v0;
    }
}

int cnn_y_2_forward(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_2_forward, 1024 * batch, 256, stream, y, x0, batch);
}

/* y (batch, 8, 8, 16) = t6 = (x2 - x3) * x1 + x0; where(t6 <= 0.0, 0.0, t6) */
static __global__ void __launch_bounds__(256, 1) y_2_forward_fused(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3, int batch)
{
    for (int at = MODC_THREAD(256); at < 1024 * batch; at += MODC_THREADS(256)) {
        const int i = at / 16, j = at % 16;
        const float sum = (x2[i * 16 + j] - x3[j]) * x1[j] + x0[j];

        y[i * 16 + j] = sum <= 0.0f ? 0.0f : sum;
    }
}

int cnn_y_2_forward_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                          const float *x3, int batch)
{
    return MODC_LAUNCH_OVER(y_2_forward_fused, 1024 * batch, 256, stream, y, x0, x1, x2, x3, batch);
}

/* y (batch, 4, 4, 16) = maximum of windows of 2 x 2 of x (batch, 8, 8, 16), channels last.
 * A thread an output, tap by tap */
static __global__ void __launch_bounds__(256, 1) y_3_max_pool2d(float *restrict y,
                                                                const float *restrict x, int batch)
{
    const unsigned outputs = batch * 16 * 4 * 4;

    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
        const int r = at / 16, c = at % 16, line = r / 4, ow = r % 4;
        const int image = line / 4 * (8 * 8 * 16);
        const int top = line % 4 * 2, west = ow * 2;
        float value = -modc_f32_inf();

        for (int kh = 0; kh < 2; kh++) {
            const int h = top + kh;

            for (int kw = 0; kw < 2; kw++) {
                const int q = west + kw;
                const int from = image + (h * 8 + q) * 16 + c;

                value = modc_f32s_max(value, x[from]);
            }
        }
        y[r * 16 + c] = value;
    }
}

int cnn_y_3_max_pool2d(void *stream, float *y, const float *x, int batch)
{
    return MODC_LAUNCH_OVER(y_3_max_pool2d, batch * 16 * 4 * 4, 256, stream, y, x, batch);
}

/* y (batch, 16, 4, 4) = maximum of windows of 2 x 2 of x (batch, 16, 8, 8).
 * A thread an output, tap by tap */
static __global__ void __launch_bounds__(256, 1) y_3_max_pool2d_fenced(float *restrict y,
        const float *restrict x, int batch)
{
    const unsigned outputs = batch * 16 * 4 * 4;

    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
        const int line = at / 4, ow = at % 4, image = line / 4 * (8 * 8);
        const int top = line % 4 * 2, west = ow * 2;
        float value = -modc_f32_inf();

        for (int kh = 0; kh < 2; kh++) {
            const int h = top + kh;

            for (int kw = 0; kw < 2; kw++) {
                const int q = west + kw;
                const int from = image + h * 8 + q;

                value = modc_f32s_max(value, x[from]);
            }
        }
        y[at] = value;
    }
}

int cnn_y_3_max_pool2d_fenced(void *stream, float *y, const float *x, int batch)
{
    return MODC_LAUNCH_OVER(y_3_max_pool2d_fenced, batch * 16 * 4 * 4, 256, stream, y, x, batch);
}

/* y in [144][32] = x0 */
static __global__ void __launch_bounds__(256, 1) pack_y_4_weight(float *y, const float *x0)
{
    for (int at = MODC_THREAD(256); at < 4608; at += MODC_THREADS(256)) {
        const int i = at / 512, j = at / 32 % 16, k = at % 32;

        y[i * 512 + j * 32 + k] = x0[i + j * 9 + k * 144];
    }
}

int cnn_pack_y_4_weight(void *stream, float *y, const float *x0)
{
    return MODC_LAUNCH_OVER(pack_y_4_weight, 4608, 256, stream, y, x0);
}

/* y (batch, 4, 4, 32) = conv2d(x (batch, 4, 4, 16), weight (32, 3, 3, 16)) + bias, channels last.
 * In tiles of pixels and channels, 4 x 4 a thread: 16 taps at a time go through shared memory, on
 * two pages */
static __global__ void __launch_bounds__(64, 1) y_4_conv2d(float *restrict y,
                                                           const float *restrict x,
                                                           const float *restrict w,
                                                           const float *restrict bias, int batch)
{
    __shared__ __align__(16) float a[2][16][32 + 4], b[2][16][32 + 4];
    const int taps = 3 * 3 * 16, steps = (taps + 15) / 16, pixels = batch * 4 * 4;
    const int thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = thread / 32, wc = thread % 32;
    const int row = thread / 8 * 4, column = thread % 8 * 4;
    const int first = (int)blockIdx.x * 32, band = 0;
    const int from = 0, to = steps;
    int top[8], west[8], image[8]; /* of the windows of which this thread fetches */
    float left[8], right[8], sum[4][4] = {};

    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int r = first + xr + i * 4, line = r / 4;

        top[i] = line % 4 - 1;
        west[i] = r % 4 - 1;
        if (r >= pixels)
            top[i] = -3; /* all of it lies outside */
        image[i] = line / 4 * (4 * 4 * 16);
    }
    for (int step = from; step <= to; step++) {
        if (step < to) {
            const int k = step * 16 + xk, kh = k / (3 * 16), kw = k / 16 % 3, c = k % 16;

            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int h = top[i] + kh, q = west[i] + kw;
                const bool seen = k < taps && h >= 0 && h < 4 && q >= 0 && q < 4;

                left[i] = seen ? x[image[i] + (h * 4 + q) * 16 + c] : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int p = step * 16 + wk + i * 2;
                const int o = band + wc;
                const int tap = p * 32;

                right[i] = o < 32 && p < taps ? w[o + tap] : 0;
            }
        }
        if (step > from) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                float p[4], q[4];

                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    p[i] = a[(step - 1) % 2][k][row + i];
                    q[i] = b[(step - 1) % 2][k][column + i];
                }
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += p[i / 4] * q[i % 4];
            }
        }
        if (step < to) {
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                a[step % 2][xk][xr + i * 4] = left[i];
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                b[step % 2][wk + i * 2][wc] = right[i];
        }
        __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = band + column + i % 4;

        if (r < pixels && c < 32) {
            const int o = c;
            const float value = sum[i / 4][i % 4] + bias[o];

            y[r * 32 + o] = value;
        }
    }
}

int cnn_y_4_conv2d(void *stream, float *y, const float *x, const float *w, const float *bias,
                   int batch)
{
    const int pixels = batch * 4 * 4;
    const dim3 blocks((pixels + 32 - 1) / 32, 1, 1);

    return pixels == 0 ? cudaSuccess
                       : MODC_LAUNCH(y_4_conv2d, blocks, 64, 0, stream, y, x, w, bias, batch);
}

MODC_INLINE float y_4_conv2d_fused_tail(float x)
{
    return x <= 0.0f ? 0.0f : x;
}

/* y (batch, 4, 4, 32) = conv2d(x (batch, 4, 4, 16), weight (32, 3, 3, 16)) + bias, channels last;
 * then where(x0 <= 0.0, 0.0, x0).
 * In tiles of pixels and channels, 4 x 4 a thread: 16 taps at a time go through shared memory, on
 * two pages */
static __global__ void __launch_bounds__(64, 1) y_4_conv2d_fused(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    __shared__ __align__(16) float a[2][16][32 + 4], b[2][16][32 + 4];
    const int taps = 3 * 3 * 16, steps = (taps + 15) / 16, pixels = batch * 4 * 4;
    const int thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = thread / 32, wc = thread % 32;
    const int row = thread / 8 * 4, column = thread % 8 * 4;
    const int first = (int)blockIdx.x * 32, band = 0;
    const int from = 0, to = steps;
    int top[8], west[8], image[8]; /* of the windows of which this thread fetches */
    float left[8], right[8], sum[4][4] = {};

    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int r = first + xr + i * 4, line = r / 4;

        top[i] = line % 4 - 1;
        west[i] = r % 4 - 1;
        if (r >= pixels)
            top[i] = -3; /* all of it lies outside */
        image[i] = line / 4 * (4 * 4 * 16);
    }
    for (int step = from; step <= to; step++) {
        if (step < to) {
            const int k = step * 16 + xk, kh = k / (3 * 16), kw = k / 16 % 3, c = k % 16;

            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int h = top[i] + kh, q = west[i] + kw;
                const bool seen = k < taps && h >= 0 && h < 4 && q >= 0 && q < 4;

                left[i] = seen ? x[image[i] + (h * 4 + q) * 16 + c] : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int p = step * 16 + wk + i * 2;
                const int o = band + wc;
                const int tap = p * 32;

                right[i] = o < 32 && p < taps ? w[o + tap] : 0;
            }
        }
        if (step > from) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                float p[4], q[4];

                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    p[i] = a[(step - 1) % 2][k][row + i];
                    q[i] = b[(step - 1) % 2][k][column + i];
                }
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += p[i / 4] * q[i % 4];
            }
        }
        if (step < to) {
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                a[step % 2][xk][xr + i * 4] = left[i];
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                b[step % 2][wk + i * 2][wc] = right[i];
        }
        __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = band + column + i % 4;

        if (r < pixels && c < 32) {
            const int o = c;
            const float value = sum[i / 4][i % 4] + bias[o];

            y[r * 32 + o] = y_4_conv2d_fused_tail(value);
        }
    }
}

int cnn_y_4_conv2d_fused(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch)
{
    const int pixels = batch * 4 * 4;
    const dim3 blocks((pixels + 32 - 1) / 32, 1, 1);

    return pixels == 0 ? cudaSuccess
                       : MODC_LAUNCH(y_4_conv2d_fused, blocks, 64, 0, stream, y, x, w, bias, batch);
}

/* y (batch, 4, 4, 16) = x0 */
static __global__ void __launch_bounds__(256, 1) y_4_copy(float *y, const float *x0, int batch)
{
    for (int at = MODC_THREAD(256); at < 256 * batch; at += MODC_THREADS(256)) {
        const int i = at / 256, j = at / 16 % 16, k = at % 16;

        y[i * 256 + j * 16 + k] = x0[i * 256 + j + k * 16];
    }
}

int cnn_y_4_copy(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_4_copy, 256 * batch, 256, stream, y, x0, batch);
}

/* y (batch, 32, 4, 4) = x0 */
static __global__ void __launch_bounds__(256, 1) y_4_copy_batchx32x4x4(float *y, const float *x0,
        int batch)
{
    for (int at = MODC_THREAD(256); at < 512 * batch; at += MODC_THREADS(256)) {
        const int i = at / 512, j = at / 16 % 32, k = at % 16;

        y[i * 512 + j * 16 + k] = x0[i * 512 + j + k * 32];
    }
}

int cnn_y_4_copy_batchx32x4x4(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_4_copy_batchx32x4x4, 512 * batch, 256, stream, y, x0, batch);
}

/* y (32) = x0 + x1 */
static __global__ void __launch_bounds__(256, 1) y_5_add(float *y, const float *x0, const float *x1)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = x0[i] + x1[i];
}

int cnn_y_5_add(void *stream, float *y, const float *x0, const float *x1)
{
    return MODC_LAUNCH_OVER(y_5_add, 32, 256, stream, y, x0, x1);
}

/* y (32) = 0.9 * x0 */
static __global__ void __launch_bounds__(256, 1) y_5_mul(float *y, const float *x0)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = 0.899999976f * x0[i];
}

int cnn_y_5_mul(void *stream, float *y, const float *x0)
{
    return MODC_LAUNCH_OVER(y_5_mul, 32, 256, stream, y, x0);
}

/* y (batch, 32, 4, 4) = x1 * x2 + x0 */
static __global__ void __launch_bounds__(256, 1) y_5_mul_fused(float *y, const float *x0,
                                                               const float *x1, const float *x2,
                                                               int batch)
{
    for (int at = MODC_THREAD(256); at < 512 * batch; at += MODC_THREADS(256)) {
        const int i = at / 512, j = at / 16 % 32, k = at % 16;

        y[i * 512 + j * 16 + k] = x1[i * 512 + j * 16 + k] * x2[j] + x0[j];
    }
}

int cnn_y_5_mul_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch)
{
    return MODC_LAUNCH_OVER(y_5_mul_fused, 512 * batch, 256, stream, y, x0, x1, x2, batch);
}

/* y (32) = where(dim(batch) == 0, x0, x1 + 0.1 * x2) */
static __global__ void __launch_bounds__(256, 1) y_5_mul_fused_mul_add_where(float *y,
        const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = (int64_t)batch == 0 ? x0[i] : x1[i] + 0.100000001f * x2[i];
}

int cnn_y_5_mul_fused_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                    const float *x2, int batch)
{
    return MODC_LAUNCH_OVER(y_5_mul_fused_mul_add_where, 32, 256, stream, y, x0, x1, x2, batch);
}

/* y (32) = where(dim(batch) == 0, x0, x1 + 0.1 * (x2 * float32(float64(dim(16 * batch)) /
 * float64(dim(16 * batch - 1))))) */
static __global__ void __launch_bounds__(256, 1) y_5_mul_fused_mul_mul_add_where(float *y,
        const float *x0, const float *x1, const float *x2, int batch)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256)) {
        const float product = x2[i] * (float)((double)(16 * batch) / (double)(16 * batch - 1));

        y[i] = (int64_t)batch == 0 ? x0[i] : x1[i] + 0.100000001f * product;
    }
}

int cnn_y_5_mul_fused_mul_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                        const float *x2, int batch)
{
    return MODC_LAUNCH_OVER(y_5_mul_fused_mul_mul_add_where, 32, 256, stream, y, x0, x1, x2, batch);
}

/* y (32) = x1 - x2 + x0 */
static __global__ void __launch_bounds__(256, 1) y_5_off(float *y, const float *x0, const float *x1,
                                                         const float *x2)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = x1[i] - x2[i] + x0[i];
}

int cnn_y_5_off(void *stream, float *y, const float *x0, const float *x1, const float *x2)
{
    return MODC_LAUNCH_OVER(y_5_off, 32, 256, stream, y, x0, x1, x2);
}

/* y (32) = sum of x0 - x1, then x0 / float32(dim(16 * batch)) */
static __global__ void __launch_bounds__(256, 1) y_5_rest(float *y, const float *x0,
                                                          const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int first = (int)blockIdx.x * 8; first < 32; first += (int)gridDim.x * 8) {
        const int at = first + thread % 8;
        float sum = 0.0f;

        for (int j = thread / 8; j < 16 * batch; j += 32)
            sum += x0[j * 32 + at] - x1[at];
        cells[thread] = sum;
        for (int d = 128; d >= 8; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread < 8)
            y[at] = cells[thread] / (float)(16 * batch);
        __syncthreads();
    }
}

int cnn_y_5_rest(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_5_rest, 32 * 32, 256, stream, y, x0, x1, batch);
}

/* y (32) = sum of x0 - x1, then x0 / float32(dim(16 * batch)) */
static __global__ void __launch_bounds__(256, 1) y_5_rest_fenced(float *y, const float *x0,
        const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int at = (int)blockIdx.x; at < 32; at += (int)gridDim.x) {
        float sum = 0.0f;

        for (int place = thread; place < 16 * batch; place += 256) {
            const int j = place / 16, k = place % 16;

            sum += x0[at * 16 + j * 512 + k] - x1[at];
        }
        cells[thread] = sum;
        for (int d = 128; d > 0; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread == 0)
            y[at] = cells[thread] / (float)(16 * batch);
        __syncthreads();
    }
}

int cnn_y_5_rest_fenced(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_5_rest_fenced, 256 * 32, 256, stream, y, x0, x1, batch);
}

/* y (32) = rsqrt(x1 + 1e-05) * x0 */
static __global__ void __launch_bounds__(256, 1) y_5_scale(float *y, const float *x0,
                                                           const float *x1)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = modc_f32s_rsqrt(x1[i] + 9.99999975e-06f) * x0[i];
}

int cnn_y_5_scale(void *stream, float *y, const float *x0, const float *x1)
{
    return MODC_LAUNCH_OVER(y_5_scale, 32, 256, stream, y, x0, x1);
}

/* y (32) = x0 - x1 * x2 */
static __global__ void __launch_bounds__(256, 1) y_5_shift(float *y, const float *x0,
                                                           const float *x1, const float *x2)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = x0[i] - x1[i] * x2[i];
}

int cnn_y_5_shift(void *stream, float *y, const float *x0, const float *x1, const float *x2)
{
    return MODC_LAUNCH_OVER(y_5_shift, 32, 256, stream, y, x0, x1, x2);
}

/* y (batch, 32, 4, 4) = (x2 - x3) * x1 + x0 */
static __global__ void __launch_bounds__(256, 1) y_5_sub_fused(float *y, const float *x0,
                                                               const float *x1, const float *x2,
                                                               const float *x3, int batch)
{
    for (int at = MODC_THREAD(256); at < 512 * batch; at += MODC_THREADS(256)) {
        const int i = at / 512, j = at / 16 % 32, k = at % 16;

        y[i * 512 + j * 16 + k] = (x2[i * 512 + j * 16 + k] - x3[j]) * x1[j] + x0[j];
    }
}

int cnn_y_5_sub_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      const float *x3, int batch)
{
    return MODC_LAUNCH_OVER(y_5_sub_fused, 512 * batch, 256, stream, y, x0, x1, x2, x3, batch);
}

/* y (1, 1, 1, 32) = sum of x0 */
static __global__ void __launch_bounds__(256, 1) y_5_sum(float *y, const float *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        if (batch > 0)
            sum += x0[i];
        y[i] = sum;
    }
}

int cnn_y_5_sum(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_5_sum, 32, 256, stream, y, x0, batch);
}

/* y (1, 32, 1, 1) = sum of x0 */
static __global__ void __launch_bounds__(256, 1) y_5_sum_fenced(float *y, const float *x0,
                                                                int batch)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        if (batch > 0)
            sum += x0[i * 16];
        y[i] = sum;
    }
}

int cnn_y_5_sum_fenced(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_5_sum_fenced, 32, 256, stream, y, x0, batch);
}

/* y (32) = sum of t2 = x0 - x1; t2 * t2 */
static __global__ void __launch_bounds__(256, 1) y_5_sum_mean(float *y, const float *x0,
                                                              const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int first = (int)blockIdx.x * 8; first < 32; first += (int)gridDim.x * 8) {
        const int at = first + thread % 8;
        float sum = 0.0f;

        for (int j = thread / 8; j < 16 * batch; j += 32) {
            const float difference = x0[j * 32 + at] - x1[at];

            sum += difference * difference;
        }
        cells[thread] = sum;
        for (int d = 128; d >= 8; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread < 8)
            y[at] = cells[thread];
        __syncthreads();
    }
}

int cnn_y_5_sum_mean(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_5_sum_mean, 32 * 32, 256, stream, y, x0, x1, batch);
}

/* y (32) = sum of t2 = x0 - x1; t2 * t2 */
static __global__ void __launch_bounds__(256, 1) y_5_sum_mean_fenced(float *y, const float *x0,
        const float *x1, int batch)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int at = (int)blockIdx.x; at < 32; at += (int)gridDim.x) {
        float sum = 0.0f;

        for (int place = thread; place < 16 * batch; place += 256) {
            const int j = place / 16, k = place % 16;
            const float difference = x0[at * 16 + j * 512 + k] - x1[at];

            sum += difference * difference;
        }
        cells[thread] = sum;
        for (int d = 128; d > 0; d /= 2) {
            __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread == 0)
            y[at] = cells[thread];
        __syncthreads();
    }
}

int cnn_y_5_sum_mean_fenced(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_5_sum_mean_fenced, 256 * 32, 256, stream, y, x0, x1, batch);
}

/* y (32) = t3 = float32(dim(16 * batch)); (x0 - t3 * x1 * x1) / t3 */
static __global__ void __launch_bounds__(256, 1) y_5_var(float *y, const float *x0, const float *x1,
                                                         int batch)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256)) {
        const float converted = (float)(16 * batch);
        const float v1 = x1[i];

        y[i] = (x0[i] - converted * v1 * v1) / converted;
    }
}

int cnn_y_5_var(void *stream, float *y, const float *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(y_5_var, 32, 256, stream, y, x0, x1, batch);
}

/* y (batch, 32, 4, 4) = where(x0 <= 0.0, 0.0, x0) */
static __global__ void __launch_bounds__(256, 1) y_6_forward(float *y, const float *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < 512 * batch; i += MODC_THREADS(256)) {
        const float v0 = x0[i];

        y[i] = v0 <= 0.0f ? 0.0f : v0;
    }
}

int cnn_y_6_forward(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_6_forward, 512 * batch, 256, stream, y, x0, batch);
}

/* y (batch, 4, 4, 32) = t6 = (x2 - x3) * x1 + x0; where(t6 <= 0.0, 0.0, t6) */
static __global__ void __launch_bounds__(256, 1) y_6_forward_fused(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3, int batch)
{
    for (int at = MODC_THREAD(256); at < 512 * batch; at += MODC_THREADS(256)) {
        const int i = at / 32, j = at % 32;
        const float sum = (x2[i * 32 + j] - x3[j]) * x1[j] + x0[j];

        y[i * 32 + j] = sum <= 0.0f ? 0.0f : sum;
    }
}

int cnn_y_6_forward_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                          const float *x3, int batch)
{
    return MODC_LAUNCH_OVER(y_6_forward_fused, 512 * batch, 256, stream, y, x0, x1, x2, x3, batch);
}

/* y (batch, 32, 2, 2) = x0 */
static __global__ void __launch_bounds__(256, 1) y_7_copy(float *y, const float *x0, int batch)
{
    for (int at = MODC_THREAD(256); at < 128 * batch; at += MODC_THREADS(256)) {
        const int i = at / 128, j = at / 4 % 32, k = at % 4;

        y[i * 128 + j * 4 + k] = x0[i * 128 + j + k * 32];
    }
}

int cnn_y_7_copy(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(y_7_copy, 128 * batch, 256, stream, y, x0, batch);
}

/* y (batch, 2, 2, 32) = maximum of windows of 2 x 2 of x (batch, 4, 4, 32), channels last.
 * A thread an output, tap by tap */
static __global__ void __launch_bounds__(256, 1) y_7_max_pool2d(float *restrict y,
                                                                const float *restrict x, int batch)
{
    const unsigned outputs = batch * 32 * 2 * 2;

    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
        const int r = at / 32, c = at % 32, line = r / 2, ow = r % 2;
        const int image = line / 2 * (4 * 4 * 32);
        const int top = line % 2 * 2, west = ow * 2;
        float value = -modc_f32_inf();

        for (int kh = 0; kh < 2; kh++) {
            const int h = top + kh;

            for (int kw = 0; kw < 2; kw++) {
                const int q = west + kw;
                const int from = image + (h * 4 + q) * 32 + c;

                value = modc_f32s_max(value, x[from]);
            }
        }
        y[r * 32 + c] = value;
    }
}

int cnn_y_7_max_pool2d(void *stream, float *y, const float *x, int batch)
{
    return MODC_LAUNCH_OVER(y_7_max_pool2d, batch * 32 * 2 * 2, 256, stream, y, x, batch);
}

/* y (batch, 32, 2, 2) = maximum of windows of 2 x 2 of x (batch, 32, 4, 4).
 * A thread an output, tap by tap */
static __global__ void __launch_bounds__(256, 1) y_7_max_pool2d_fenced(float *restrict y,
        const float *restrict x, int batch)
{
    const unsigned outputs = batch * 32 * 2 * 2;

    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
        const int line = at / 2, ow = at % 2, image = line / 2 * (4 * 4);
        const int top = line % 2 * 2, west = ow * 2;
        float value = -modc_f32_inf();

        for (int kh = 0; kh < 2; kh++) {
            const int h = top + kh;

            for (int kw = 0; kw < 2; kw++) {
                const int q = west + kw;
                const int from = image + h * 4 + q;

                value = modc_f32s_max(value, x[from]);
            }
        }
        y[at] = value;
    }
}

int cnn_y_7_max_pool2d_fenced(void *stream, float *y, const float *x, int batch)
{
    return MODC_LAUNCH_OVER(y_7_max_pool2d_fenced, batch * 32 * 2 * 2, 256, stream, y, x, batch);
}

/* y (batch, 128) = random_dropped_mul(x0, x1) */
static __global__ void __launch_bounds__(256, 1) y_9_forward(float *y, const float *x0,
                                                             const struct modc_random *random,
                                                             uint32_t behind, uint32_t stream,
                                                             int batch)
{
    for (int i = MODC_THREAD(256); i < 128 * batch; i += MODC_THREADS(256)) {
        const int position = i;
        uint32_t words[4];

        modc_philox(
            random->seed, (uint64_t)position / 4,
            (random->counter - behind) ^ ((uint64_t)stream << 32), words);

        const float uniform = (float)(modc_word(words, position) >> 8) * 5.96046448e-08f;

        y[i] = random_dropped_mul_s(uniform, x0[i]);
    }
}

int cnn_y_9_forward(void *stream2, float *y, const float *x0, const struct modc_random *random,
                    uint32_t behind, uint32_t stream, int batch)
{
    return MODC_LAUNCH_OVER(y_9_forward, 128 * batch, 256, stream2, y, x0, random, behind, stream,
                            batch);
}

/* y (batch, 10) = x (batch, 128) . w (128, 10) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) y_10_linear(float *restrict y,
                                                             const float *restrict x,
                                                             const float *restrict w,
                                                             const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 10; at += MODC_THREADS(256) / 32) {
        const int j = at % 10;
        const int row = at / 10 * 8;
        const float *const from = x + row * 128;
        const float *const by = w + j;
        float *const to = y + row * 10;
        float sum[8] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 128; k += 32) {
            const float b = by[k * 10];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 128 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 10 + j] = value;
            }
        }
    }
}

int cnn_y_10_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                    int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(y_10_linear, (int64_t)32 * strips * 10, 256, stream, y, x, w, bias,
                            batch);
}

/* y (batch, 10) = x (batch, 128) . w (128, 10) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) y_10_linear_weight_bias(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 10; at += MODC_THREADS(256) / 32) {
        const int j = at % 10;
        const int row = at / 10 * 8;
        const float *const from = x + row * 128;
        const float *const by = w + j * 128;
        float *const to = y + row * 10;
        float sum[8] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(1)
            for (int round = 0; round < 128; round += 4 * 32, row_fours += 4 * 32,
                 fours += 4 * 32) {
                float b[4];

                if (128 % (4 * 32) != 0 && round + 4 * lane >= 128)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 8; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 128);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 128;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 128; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 128 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 10 + j] = value;
            }
        }
    }
}

int cnn_y_10_linear_weight_bias(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(y_10_linear_weight_bias, (int64_t)32 * strips * 10, 256, stream, y, x,
                            w, bias, batch);
}

/* y in [9][16] = x0 * (rsqrt(x2 + 1e-05) * x1) */
static __global__ void __launch_bounds__(256, 1) pack_0_weight_folded(float *y, const float *x0,
        const float *x1, const float *x2)
{
    for (int at = MODC_THREAD(256); at < 144; at += MODC_THREADS(256)) {
        const int i = at / 16, j = at % 16;

        y[i * 16 + j] = x0[i + j * 9] * (modc_f32s_rsqrt(x2[j] + 9.99999975e-06f) * x1[j]);
    }
}

int cnn_pack_0_weight_folded(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2)
{
    return MODC_LAUNCH_OVER(pack_0_weight_folded, 144, 256, stream, y, x0, x1, x2);
}

/* y in [16] = t7 = rsqrt(x2 + 1e-05) * x1; x0 * t7 + (x3 - x4 * t7) */
static __global__ void __launch_bounds__(256, 1) pack_0_bias_folded(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3, const float *x4)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256)) {
        const float product = modc_f32s_rsqrt(x2[i] + 9.99999975e-06f) * x1[i];

        y[i] = x0[i] * product + (x3[i] - x4[i] * product);
    }
}

int cnn_pack_0_bias_folded(void *stream, float *y, const float *x0, const float *x1,
                           const float *x2, const float *x3, const float *x4)
{
    return MODC_LAUNCH_OVER(pack_0_bias_folded, 16, 256, stream, y, x0, x1, x2, x3, x4);
}

/* y in (16, 1, 1) = x0 - x1 * (rsqrt(x3 + 1e-05) * x2) */
static __global__ void __launch_bounds__(256, 1) pack_1_bias_prepared(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3)
{
    for (int i = MODC_THREAD(256); i < 16; i += MODC_THREADS(256))
        y[i] = x0[i] - x1[i] * (modc_f32s_rsqrt(x3[i] + 9.99999975e-06f) * x2[i]);
}

int cnn_pack_1_bias_prepared(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2, const float *x3)
{
    return MODC_LAUNCH_OVER(pack_1_bias_prepared, 16, 256, stream, y, x0, x1, x2, x3);
}

/* y in [144][32] = x0 * (rsqrt(x2 + 1e-05) * x1) */
static __global__ void __launch_bounds__(256, 1) pack_4_weight_folded(float *y, const float *x0,
        const float *x1, const float *x2)
{
    for (int at = MODC_THREAD(256); at < 4608; at += MODC_THREADS(256)) {
        const int i = at / 512, j = at / 32 % 16, k = at % 32;

        y[i * 512 + j * 32 + k] = x0[i + j * 9 + k * 144] *
                                  (modc_f32s_rsqrt(x2[k] + 9.99999975e-06f) * x1[k]);
    }
}

int cnn_pack_4_weight_folded(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2)
{
    return MODC_LAUNCH_OVER(pack_4_weight_folded, 4608, 256, stream, y, x0, x1, x2);
}

/* y in [32] = t7 = rsqrt(x2 + 1e-05) * x1; x0 * t7 + (x3 - x4 * t7) */
static __global__ void __launch_bounds__(256, 1) pack_4_bias_folded(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3, const float *x4)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256)) {
        const float product = modc_f32s_rsqrt(x2[i] + 9.99999975e-06f) * x1[i];

        y[i] = x0[i] * product + (x3[i] - x4[i] * product);
    }
}

int cnn_pack_4_bias_folded(void *stream, float *y, const float *x0, const float *x1,
                           const float *x2, const float *x3, const float *x4)
{
    return MODC_LAUNCH_OVER(pack_4_bias_folded, 32, 256, stream, y, x0, x1, x2, x3, x4);
}

/* y in (32, 1, 1) = x0 - x1 * (rsqrt(x3 + 1e-05) * x2) */
static __global__ void __launch_bounds__(256, 1) pack_5_bias_prepared(float *y, const float *x0,
        const float *x1, const float *x2, const float *x3)
{
    for (int i = MODC_THREAD(256); i < 32; i += MODC_THREADS(256))
        y[i] = x0[i] - x1[i] * (modc_f32s_rsqrt(x3[i] + 9.99999975e-06f) * x2[i]);
}

int cnn_pack_5_bias_prepared(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2, const float *x3)
{
    return MODC_LAUNCH_OVER(pack_5_bias_prepared, 32, 256, stream, y, x0, x1, x2, x3);
}

/* y in (2, 2, 32, 10) = x0 */
static __global__ void __launch_bounds__(256, 1) pack_10_weight(float *y, const float *x0)
{
    for (int at = MODC_THREAD(256); at < 1280; at += MODC_THREADS(256)) {
        const int i = at / 320, j = at / 10 % 32, k = at % 10;

        y[i * 320 + j * 10 + k] = x0[i + j * 4 + k * 128];
    }
}

int cnn_pack_10_weight(void *stream, float *y, const float *x0)
{
    return MODC_LAUNCH_OVER(pack_10_weight, 1280, 256, stream, y, x0);
}

MODC_KERNELS_END
