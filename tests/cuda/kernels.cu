/* kernels.cu - kernels as modc would emit them: constant shapes, constant launch sizes, one macro for launches. With
 * -DFAULT=kernels_fault what `if (FAULT == n)` plants can be switched on; else it is gone when this is compiled. */
#include "kernels.h"

#ifndef FAULT
#define FAULT 0
#else
__attribute__((section("cuda_device"))) int kernels_fault;
#endif

/* ---- maps ---- */

/* y (batch, 2) = x0 + x1 */
static __global__ void __launch_bounds__(256)
    add_batchx2(float *y, const float *x0, const float *x1, int batch)
{
    const int at = (int)(blockIdx.x * 256 + threadIdx.x), i = at / 2, j = at % 2;

    if (at < batch * 2 + (FAULT == 1)) /* 1: one thread too many */
        y[i * 2 + j] = x0[i * 3 + j] + x1[i];
}

/* y (batch, 512) = gelu(x0 + x1); x1 (512) */
static __global__ void __launch_bounds__(256)
    add_gelu_batchx512(float *__restrict__ y, const float *__restrict__ x0, const float *__restrict__ x1,
                       int batch)
{
    const int at = (int)(blockIdx.x * 256 + threadIdx.x) * 4;

    if (at < batch * 512) {
        const float4 a = *(const float4 *)(x0 + at), b = *(const float4 *)(x1 + at % 512);
        float v[4] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};

        for (int l = 0; l < 4; l++)
            v[l] = 0.5f * v[l] * (1.0f + erff(v[l] * 0.707106781f));
        *(float4 *)(y + at) = make_float4(v[0], v[1], v[2], v[3]);
    }
}

/* ---- y (rows, 1000) = softmax(x): a block of 128 threads a row, which stays in registers ---- */

MODC_DEVICE float softmax_cells(float x, float *cells, bool again)
{
    if (threadIdx.x % 32 == 0)
        cells[threadIdx.x / 32] = x;
    __syncthreads();
    return again ? cells[0] + cells[1] + cells[2] + cells[3]
                 : modc_nan_max(modc_nan_max(cells[0], cells[1]), modc_nan_max(cells[2], cells[3]));
}

static __global__ void __launch_bounds__(128)
    softmax_rowsx1000(float *__restrict__ y, const float *__restrict__ x)
{
    __shared__ float cells[4];
    const float *const row = x + (size_t)blockIdx.x * 1000;
    float v[8], most = -INFINITY, sum = 0;

    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int k = i * 128 + (int)threadIdx.x;

        v[i] = k < 1000 ? row[k] : -INFINITY;
        most = modc_nan_max(v[i], most);
    }
    if (FAULT == 2) /* 2: no barrier before the cells are used again */
        most = softmax_cells(modc_warp_max(most), cells, false);
    else
        most = modc_block_max(most, cells, 4);
    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        v[i] = expf(v[i] - most);
        sum += v[i];
    }
    if (FAULT == 2) {
        sum = softmax_cells(modc_warp_sum(sum), cells, true);
    } else if (FAULT == 3) { /* 3: a shuffle that half of a warp does not reach */
        if (threadIdx.x % 32 < 16)
            sum += __shfl_xor_sync(MODC_WARP, sum, 1);
    } else if (FAULT == 4) { /* 4: a barrier under a condition that differs between threads */
        if (threadIdx.x < 64)
            sum = modc_block_sum(sum, cells, 4);
    } else {
        sum = modc_block_sum(sum, cells, 4);
    }
    sum = 1 / sum;
    MODC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int k = i * 128 + (int)threadIdx.x;

        if (k < 1000)
            y[(size_t)blockIdx.x * 1000 + k] = v[i] * sum;
    }
}

/* ---- y (m, 256) = relu(x . w + bias): 64 x 64 tiles, 4 x 4 a thread, float32 ---- */

static __global__ void __launch_bounds__(256)
    linear_mx192_to_256_relu(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ w,
                             const float *__restrict__ bias, int m)
{
    __shared__ float a[2][16][64 + 4], b[2][16][64];
    const int thread = (int)threadIdx.x, row = (int)blockIdx.y * 64, column = (int)blockIdx.x * 64;
    const int tr = thread / 16 * 4, tc = thread % 16 * 4;
    const int xr = thread / 4, xk = thread % 4 * 4, wk = thread / 16, wc = thread % 16 * 4;
    float sum[4][4] = {};

    for (int k = 0; k < 192; k += 16) {
        const int page = k / 16 % 2;
        const float4 v = row + xr < m ? *(const float4 *)(x + (row + xr) * 192 + k + xk)
                                      : make_float4(0, 0, 0, 0);

        a[page][xk][xr] = v.x;
        a[page][xk + 1][xr] = v.y;
        a[page][xk + 2][xr] = v.z;
        a[page][xk + 3][xr] = v.w;
        *(float4 *)&b[page][wk][wc] = *(const float4 *)(w + (k + wk) * 256 + column + wc);
        if (FAULT != 5) /* 5: pages are read before all have filled them */
            __syncthreads();
        MODC_UNROLL
        for (int i = 0; i < 16; i++) {
            const float4 p = *(const float4 *)&a[page][i][tr], q = *(const float4 *)&b[page][i][tc];
            const float left[4] = {p.x, p.y, p.z, p.w}, right[4] = {q.x, q.y, q.z, q.w};

            MODC_UNROLL
            for (int r = 0; r < 4; r++)
                MODC_UNROLL
            for (int c = 0; c < 4; c++)
                sum[r][c] += left[r] * right[c];
        }
    }
    MODC_UNROLL
    for (int r = 0; r < 4; r++) {
        if (row + tr + r < m) {
            const float4 q = *(const float4 *)(bias + column + tc);

            *(float4 *)(y + (row + tr + r) * 256 + column +
                        tc) = make_float4(fmaxf(sum[r][0] + q.x, 0), fmaxf(sum[r][1] + q.y, 0),
                                          fmaxf(sum[r][2] + q.z, 0), fmaxf(sum[r][3] + q.w, 0));
        }
    }
}

/* ---- the same in bfloat16, sums in float32: 64 x 64 tiles of 4 warps, each 32 x 32; two pages, one filled while the other
 * is read. Rows of a page are 80 bytes, so that ldmatrix has no conflicts. ---- */

typedef modc_bfloat16 linear_page[64][40];

MODC_DEVICE void linear_fill(linear_page a, linear_page b, const modc_bfloat16 *x, const modc_bfloat16 *w,
                             const int row, const int column, const int k, const int m)
{
    MODC_UNROLL
    for (int i = 0; i < 2; i++) {
        const int r = i * 32 + (int)threadIdx.x / 4, c = (int)threadIdx.x % 4 * 8;

        modc_copy16(&a[r][c], x + (row + r < m ? row + r : 0) * 192 + k + c, row + r < m ? 16 : 0);
        modc_copy16(&b[r][c], w + (column + r) * 192 + k + c, 16);
    }
}

static __global__ void __launch_bounds__(128)
    linear_mx192_to_256_relu_bfloat16(float *__restrict__ y, const modc_bfloat16 *__restrict__ x,
                                      const modc_bfloat16 *__restrict__ w, const float *__restrict__ bias,
                                      int m)
{
    __shared__ __align__(16) modc_bfloat16 a[2][64][40], b[2][64][40];
    const int row = (int)blockIdx.y * 64, column = (int)blockIdx.x * 64;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int wr = warp / 2 * 32, wc = warp % 2 * 32;
    float sum[2][4][4] = {};

    linear_fill(a[0], b[0], x, w, row, column, 0, m);
    modc_copies_commit();
    for (int k = 0; k < 192; k += 32) {
        const int page = k / 32 % 2;

        if (k + 32 < 192)
            linear_fill(a[page ^ 1], b[page ^ 1], x, w, row, column, k + 32, m);
        modc_copies_commit();
        MODC_COPIES_WAIT(FAULT == 6 ? 2 : 1); /* 6: waits for too few copies */
        __syncthreads();
        MODC_UNROLL
        for (int s = 0; s < 32; s += 16) {
            unsigned left[2][4], right[2][4];

            MODC_UNROLL
            for (int i = 0; i < 2; i++) {
                modc_ldmatrix(left[i], &a[page][wr + i * 16 + lane % 16][s + lane / 16 * 8]);
                modc_ldmatrix(right[i],
                              &b[page][wc + i * 16 + lane / 16 * 8 + lane % 8][s + lane / 8 % 2 * 8]);
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                modc_mma_bfloat16(sum[i / 4][i % 4], left[i / 4], &right[i % 4 / 2][i % 2 * 2]);
        }
        if (FAULT != 7) /* 7: a page is filled while others read it */
            __syncthreads();
    }
    MODC_COPIES_WAIT(0);
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = row + wr + i / 8 * 16 + i % 2 * 8 + lane / 4,
                  c = column + wc + i / 2 % 4 * 8 + lane % 4 * 2;
        const float *const v = sum[i / 8][i / 2 % 4] + i % 2 * 2;

        if (r < m) {
            const float2 q = *(const float2 *)(bias + c);

            *(float2 *)(y + r * 256 + c) = make_float2(fmaxf(v[0] + q.x, 0), fmaxf(v[1] + q.y, 0));
        }
    }
}

/* ---- policy: 4-64-64-(2, 1) with tanh, all in one kernel: 64 threads and up to 4 rows a block ---- */

static __global__ void __launch_bounds__(64)
    policy_forward_kernel(float *__restrict__ logits, float *__restrict__ value,
                          const float *__restrict__ observation, const struct policy_packed k, int batch)
{
    __shared__ float x[4][4], h[2][4][64];
    const int row = (int)blockIdx.x * 4, o = (int)threadIdx.x;
    float sum[4];

    if (o < 16)
        x[o / 4][o % 4] = row + o / 4 < batch ? observation[row * 4 + o] : 0;
    __syncthreads();
    /* trunk.0: Linear(4, 64), trunk.1: Tanh() */
    MODC_UNROLL
    for (int r = 0; r < 4; r++)
        sum[r] = k.trunk_0_bias[o];
    MODC_UNROLL
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 4; r++)
            sum[r] += x[r][i] * k.trunk_0_weight[i * 64 + o];
    MODC_UNROLL
    for (int r = 0; r < 4; r++)
        h[0][r][o] = tanhf(sum[r]);
    __syncthreads();
    /* trunk.2: Linear(64, 64), trunk.3: Tanh() */
    MODC_UNROLL
    for (int r = 0; r < 4; r++)
        sum[r] = k.trunk_2_bias[o];
    MODC_UNROLL_BY(16)
    for (int i = 0; i < 64; i++) {
        const float w = k.trunk_2_weight[i * 64 + o];

        MODC_UNROLL
        for (int r = 0; r < 4; r++)
            sum[r] += h[0][r][i] * w;
    }
    MODC_UNROLL
    for (int r = 0; r < 4; r++)
        h[1][r][o] = tanhf(sum[r]);
    if (FAULT != 8) /* 8: what other threads wrote is read at once */
        __syncthreads();
    /* actor: Linear(64, 2), critic: Linear(64, 1): a warp for two rows, four partial sums for each output */
    for (int out = o / 4; out < 16; out += 16) {
        const int r = out / 4, c = out % 4, part = o % 4;
        float s = 0;

        if (c < 3)
            for (int i = part; i < 64; i += 4)
                s += h[1][r][i] * k.heads_weight[c * 64 + i];
        s += __shfl_xor_sync(MODC_WARP, s, 1);
        s += __shfl_xor_sync(MODC_WARP, s, 2);
        if (part == 0 && c < 3 && row + r < batch) {
            if (c < 2)
                logits[(row + r) * 2 + c] = s + k.heads_bias[c];
            else
                value[row + r] = s + k.heads_bias[2];
        }
    }
}

/* ---- y = relu(conv(x, w, padding 1) + bias), channels last: a block makes two lines, a thread 7 pixels of 4 channels ---- */

static __global__ void __launch_bounds__(64)
    conv2d_28x28x16_to_28x28x32_k3_relu(float *__restrict__ y, const float *__restrict__ x,
                                        const float *__restrict__ w, const float *__restrict__ bias)
{
    __shared__ float lines[4][30][16];
    const float *const image = x + (size_t)blockIdx.y * (28 * 28 * 16);
    const int thread = (int)threadIdx.x, top = (int)blockIdx.x * 2;
    const int line = thread / 32, from = thread / 8 % 4 * 7, c = thread % 8 * 4;
    float sum[7][4] = {};

    for (int i = thread; i < 4 * 30 * 4; i += 64) {
        const int l = i / 120, p = i / 4 % 30, k = i % 4 * 4, h = top + l - 1, v = p - 1;
        const bool inside = h >= 0 && h < 28 && v >= 0 && v < 28;

        *(float4 *)&lines[l][p][k] = inside ? *(const float4 *)(image + (h * 28 + v) * 16 + k)
                                            : make_float4(0, 0, 0, 0);
    }
    __syncthreads();
    for (int kh = 0; kh < 3; kh++)
        for (int kw = 0; kw < 3; kw++)
            MODC_UNROLL_BY(4)
    for (int i = 0; i < 16; i++) {
        const float4 q = *(const float4 *)(w + ((kh * 3 + kw) * 16 + i) * 32 + c);

        MODC_UNROLL
        for (int p = 0; p < 7; p++) {
            const float a = lines[line + kh][from + p + kw][i];

            sum[p][0] += a * q.x;
            sum[p][1] += a * q.y;
            sum[p][2] += a * q.z;
            sum[p][3] += a * q.w;
        }
    }
    const float4 q = *(const float4 *)(bias + c);
    MODC_UNROLL
    for (int p = 0; p < 7; p++)
        *(float4 *)(y + (((size_t)blockIdx.y * 28 + (size_t)(top + line)) * 28 + (size_t)(from + p)) * 32 +
                    c) = make_float4(fmaxf(sum[p][0] + q.x, 0), fmaxf(sum[p][1] + q.y, 0),
                                     fmaxf(sum[p][2] + q.z, 0), fmaxf(sum[p][3] + q.w, 0));
}

/* ---- y (512) = sums of the columns of x (m, 512), the gradient of a bias: 16 blocks leave partial sums, the last one adds
 * them in their order, so bits do not depend on who was last ---- */

static __global__ void __launch_bounds__(128)
    sum_mx512_columns(float *__restrict__ y, const float *__restrict__ x, float *__restrict__ partial,
                      unsigned *__restrict__ counter, int m)
{
    __shared__ unsigned last;
    const int column = (int)(blockIdx.x * 128 + threadIdx.x), part = (int)blockIdx.y;
    const int from = (int)((int64_t)m * part / 16), to = (int)((int64_t)m * (part + 1) / 16);
    float sum = 0;

    for (int i = from; i < to; i++)
        sum += x[(size_t)i * 512 + (size_t)column];
    partial[part * 512 + column] = sum;
    if (modc_last_block(counter + blockIdx.x, 16, &last)) {
        sum = 0;
        for (int p = 0; p < 16; p++)
            sum += modc_read_fresh(partial + p * 512 + column);
        y[column] = sum;
    }
}

/* ---- launches ---- */

cudaError_t run_add(float *y, const float *x0, const float *x1, int batch, void *stream)
{
    return MODC_LAUNCH(add_batchx2, (batch * 2 + 255) / 256, 256, 0, stream, y, x0, x1, batch);
}

cudaError_t run_gelu(float *y, const float *x0, const float *x1, int batch, void *stream)
{
    return MODC_LAUNCH(add_gelu_batchx512, (batch + 1) / 2, 256, 0, stream, y, x0, x1, batch);
}

cudaError_t run_softmax(float *y, const float *x, int rows, void *stream)
{
    return MODC_LAUNCH(softmax_rowsx1000, rows, 128, 0, stream, y, x);
}

cudaError_t run_linear(float *y, const float *x, const float *w, const float *bias, int m, void *stream)
{
    return MODC_LAUNCH(linear_mx192_to_256_relu, dim3(4, (unsigned)(m + 63) / 64), 256, 0, stream, y, x, w,
                       bias, m);
}

cudaError_t run_linear_bfloat16(float *y, const modc_bfloat16 *x, const modc_bfloat16 *w, const float *bias,
                                int m, void *stream)
{
    return MODC_LAUNCH(linear_mx192_to_256_relu_bfloat16, dim3(4, (unsigned)(m + 63) / 64), 128, 0, stream, y,
                       x, w, bias, m);
}

cudaError_t run_policy(float *logits, float *value, const float *observation, const struct policy_packed *k,
                       int batch, void *stream)
{
    return MODC_LAUNCH(policy_forward_kernel, (batch + 3) / 4, 64, 0, stream, logits, value, observation, *k,
                       batch);
}

cudaError_t run_conv(float *y, const float *x, const float *w, const float *bias, int batch, void *stream)
{
    return MODC_LAUNCH(conv2d_28x28x16_to_28x28x32_k3_relu, dim3(14, (unsigned)batch), 64, 0, stream, y, x, w,
                       bias);
}

cudaError_t run_columns(float *y, const float *x, float *partial, unsigned *counter, int m, void *stream)
{
    return MODC_LAUNCH(sum_mx512_columns, dim3(4, 16), 128, 0, stream, y, x, partial, counter, m);
}
