/* trained.cu - written by modc from trained.yaml; change the spec, not this file. It is yours,
 * under any terms. */
#include "trained_kernels.h"

#include "modc_cuda.h"

MODC_KERNELS_BEGIN

MODC_INLINE float y_0_linear_fused_tail(float x)
{
    return x <= 0.0f ? 0.0f : x;
}

/* y (batch, 16) = x (batch, 4) . w (4, 16) + bias;
 * then where(x0 <= 0.0, 0.0, x0).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) y_0_linear_fused(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 16; at += MODC_THREADS(256) / 32) {
        const int j = at % 16;
        const int row = at / 16 * 8;
        const float *const from = x + row * 4;
        const float *const by = w + j * 4;
        float *const to = y + row * 16;
        float sum[8] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 4; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 4 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 16 + j] = y_0_linear_fused_tail(value);
            }
        }
    }
}

int trained_y_0_linear_fused(void *stream, float *y, const float *x, const float *w,
                             const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(y_0_linear_fused, (int64_t)32 * strips * 16, 256, stream, y, x, w, bias,
                            batch);
}

/* y (batch, 4) = x (batch, 16) . w (16, 4).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) y_0_dinput(float *restrict y,
                                                            const float *restrict x,
                                                            const float *restrict w,
                                                            const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 4; at += MODC_THREADS(256) / 32) {
        const int j = at % 4;
        const int row = at / 4 * 8;
        const float *const from = x + row * 16;
        const float *const by = w + j;
        float *const to = y + row * 4;
        float sum[8] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 16; k += 32) {
            const float b = by[k * 4];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 16 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total;

                to[i * 4 + j] = value;
            }
        }
    }
}

int trained_y_0_dinput(void *stream, float *y, const float *x, const float *w, const float *bias,
                       int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(y_0_dinput, (int64_t)32 * strips * 4, 256, stream, y, x, w, bias,
                            batch);
}

MODC_INLINE float y_0_dweight_tail(float x, float e0, float e1)
{
    return e1 != 0.0f ? e0 + x : x;
}

/* y (16, 4) = x (16, batch) . w (batch, 4);
 * then where(x2 != 0.0, x1 + x0, x0).
 * A thread an output */
static __global__ void __launch_bounds__(256, 1) y_0_dweight(float *y, const float *restrict x,
                                                             const float *restrict w,
                                                             const float *restrict bias,
                                                             const float *e0, const float *e1,
                                                             int batch)
{
    const unsigned places = 16 * 4;

    for (unsigned at = MODC_THREAD(256); at < places; at += MODC_THREADS(256)) {
        const int row = at / 4, j = at % 4;
        const float *const from = x + row;
        const float *const by = w + j;
        float *const to = y + row * 4;
        float sum = 0;

        for (int k = 0; k < batch; k++)
            sum += from[k * 16] * by[k * 4];
        to[j] = y_0_dweight_tail(sum, e0[row * 4 + j], e1[0]);
    }
}

int trained_y_0_dweight(void *stream, float *y, const float *x, const float *w, const float *bias,
                        const float *e0, const float *e1, int batch)
{
    return MODC_LAUNCH_OVER(y_0_dweight, 16 * 4, 256, stream, y, x, w, bias, e0, e1, batch);
}

/* y (batch, 16) = x (batch, 3) . w (3, 16);
 * then where(x1 <= 0.0, 0.0, x0).
 * A thread an output */
static __global__ void __launch_bounds__(256, 1) y_2_dinput(float *restrict y,
                                                            const float *restrict x,
                                                            const float *restrict w,
                                                            const float *restrict bias,
                                                            const float *restrict e0, int batch)
{
    const unsigned places = batch * 16;

    for (unsigned at = MODC_THREAD(256); at < places; at += MODC_THREADS(256)) {
        const int row = at / 16, j = at % 16;
        const float *const from = x + row * 3;
        const float *const by = w + j;
        float *const to = y + row * 16;
        float sum = 0;

        for (int k = 0; k < 3; k++)
            sum += from[k] * by[k * 16];
        to[j] = e0[row * 16 + j] <= 0.0f ? 0.0f : sum;
    }
}

int trained_y_2_dinput(void *stream, float *y, const float *x, const float *w, const float *bias,
                       const float *e0, int batch)
{
    return MODC_LAUNCH_OVER(y_2_dinput, batch * 16, 256, stream, y, x, w, bias, e0, batch);
}

/* y (batch, 3) = x (batch, 16) . w (16, 3) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) y_2_linear(float *restrict y,
                                                            const float *restrict x,
                                                            const float *restrict w,
                                                            const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 3; at += MODC_THREADS(256) / 32) {
        const int j = at % 3;
        const int row = at / 3 * 8;
        const float *const from = x + row * 16;
        const float *const by = w + j * 16;
        float *const to = y + row * 3;
        float sum[8] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 16; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 16 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 3 + j] = value;
            }
        }
    }
}

int trained_y_2_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                       int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(y_2_linear, (int64_t)32 * strips * 3, 256, stream, y, x, w, bias,
                            batch);
}

/* y (3) = sum of x0, then where(x2 != 0.0, x1 + x0, x0) */
static __global__ void __launch_bounds__(256, 1) y_2_dbias(float *y, const float *x0,
                                                           const float *x1, const float *x2,
                                                           int batch)
{
    for (int i = MODC_THREAD(256); i < 3; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        for (int j = 0; j < batch; j++)
            sum += x0[j * 3 + i];
        y[i] = x2[0] != 0.0f ? x1[i] + sum : sum;
    }
}

int trained_y_2_dbias(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch)
{
    return MODC_LAUNCH_OVER(y_2_dbias, 3, 256, stream, y, x0, x1, x2, batch);
}

MODC_INLINE float y_2_dweight_tail(float x, float e0, float e1)
{
    return e1 != 0.0f ? e0 + x : x;
}

/* y (3, 16) = x (3, batch) . w (batch, 16);
 * then where(x2 != 0.0, x1 + x0, x0).
 * A thread an output */
static __global__ void __launch_bounds__(256, 1) y_2_dweight(float *y, const float *restrict x,
                                                             const float *restrict w,
                                                             const float *restrict bias,
                                                             const float *e0, const float *e1,
                                                             int batch)
{
    const unsigned places = 3 * 16;

    for (unsigned at = MODC_THREAD(256); at < places; at += MODC_THREADS(256)) {
        const int row = at / 16, j = at % 16;
        const float *const from = x + row;
        const float *const by = w + j;
        float *const to = y + row * 16;
        float sum = 0;

        for (int k = 0; k < batch; k++)
            sum += from[k * 3] * by[k * 16];
        to[j] = y_2_dweight_tail(sum, e0[row * 16 + j], e1[0]);
    }
}

int trained_y_2_dweight(void *stream, float *y, const float *x, const float *w, const float *bias,
                        const float *e0, const float *e1, int batch)
{
    return MODC_LAUNCH_OVER(y_2_dweight, 3 * 16, 256, stream, y, x, w, bias, e0, e1, batch);
}

/* y (batch, 1) = x0 (batch, 3) at x1 (batch, 1) along dimension 1 */
static __global__ void __launch_bounds__(256, 1) root_gather(float *y, const float *x0,
                                                             const int64_t *x1, int batch,
                                                             const struct modc_device_fault *fault)
{
    if (modc_faulty(fault))
        return;
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256)) {
        const float *from = x0 + i * 3 + (ptrdiff_t)x1[i];

        y[i] = *from;
    }
}

int trained_root_gather(void *stream, float *y, const float *x0, const int64_t *x1, int batch,
                        const struct modc_device_fault *fault)
{
    return MODC_LAUNCH_OVER(root_gather, batch, 256, stream, y, x0, x1, batch, fault);
}

/* y (batch, 1) = where(x0, -x1, 0.0) */
static __global__ void __launch_bounds__(256, 1) root_kept(float *y, const bool *x0,
                                                           const float *x1, int batch)
{
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256))
        y[i] = MODC_TRUE(x0[i]) ? -x1[i] : 0.0f;
}

int trained_root_kept(void *stream, float *y, const bool *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(root_kept, batch, 256, stream, y, x0, x1, batch);
}

/* y (batch, 3) = log softmax(x) along the last dimension.
 * A warp a row, which its lanes keep in registers */
static __global__ void __launch_bounds__(256, 1) root_log_softmax(float *restrict y,
        const float *restrict x, int batch)
{
    const int lane = (int)threadIdx.x % 32;

    for (int r = MODC_THREAD(256) / 32; r < batch; r += MODC_THREADS(256) / 32) {
        const float *const row = x + r * 3;
        float v[1], most = -modc_f32_inf(), sum = 0, last;

        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const int k = i * 32 + lane;

            v[i] = k < 3 ? row[k] : -modc_f32_inf();
            most = modc_f32s_max(most, v[i]);
        }
        most = modc_warp_max(most);
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            v[i] -= most;
            sum += modc_f32s_exp(v[i]);
        }
        sum = modc_warp_sum(sum);
        last = modc_f32s_log(sum);
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const int k = i * 32 + lane;

            if (k < 3) {
                const float value = v[i] - last;

                y[r * 3 + k] = value;
            }
        }
    }
}

int trained_root_log_softmax(void *stream, float *y, const float *x, int batch)
{
    return MODC_LAUNCH_OVER(root_log_softmax, (int64_t)32 * batch, 256, stream, y, x, batch);
}

/* y () = sum of x0, then x0 / float32(x1) */
static __global__ void __launch_bounds__(256, 1) root_loss(float *y, const float *x0,
                                                           const int64_t *x1, int batch)
{
    if (MODC_THREAD(256) == 0) {
        float sum = 0.0f;

        for (int i = 0; i < batch; i++)
            sum += x0[i];
        y[0] = sum / (float)x1[0];
    }
}

int trained_root_loss(void *stream, float *y, const float *x0, const int64_t *x1, int batch)
{
    return MODC_LAUNCH_OVER(root_loss, 1, 256, stream, y, x0, x1, batch);
}

/* y (batch) = x0 != -100 */
static __global__ void __launch_bounds__(256, 1) root_ne(bool *y, const int64_t *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256))
        y[i] = x0[i] != -100;
}

int trained_root_ne(void *stream, bool *y, const int64_t *x0, int batch)
{
    return MODC_LAUNCH_OVER(root_ne, batch, 256, stream, y, x0, batch);
}

/* y () = sum of int64(x0) */
static __global__ void __launch_bounds__(256, 1) root_sum(int64_t *y, const bool *x0, int batch)
{
    if (MODC_THREAD(256) == 0) {
        uint64_t sum = 0;

        for (int i = 0; i < batch; i++)
            sum += (uint64_t)(int64_t)MODC_TRUE(x0[i]);
        y[0] = (int64_t)sum;
    }
}

int trained_root_sum(void *stream, int64_t *y, const bool *x0, int batch)
{
    return MODC_LAUNCH_OVER(root_sum, 1, 256, stream, y, x0, batch);
}

/* y (batch) = where(x0, x1, 0) */
static __global__ void __launch_bounds__(256, 1) root_where(int64_t *y, const bool *x0,
                                                            const int64_t *x1, int batch)
{
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256))
        y[i] = MODC_TRUE(x0[i]) ? x1[i] : 0;
}

int trained_root_where(void *stream, int64_t *y, const bool *x0, const int64_t *x1, int batch)
{
    return MODC_LAUNCH_OVER(root_where, batch, 256, stream, y, x0, x1, batch);
}

/* y () = 1.0 / float32(x0) */
static __global__ void __launch_bounds__(256, 1) root_ddiv(float *y, const int64_t *x0)
{
    if (MODC_THREAD(256) == 0)
        y[0] = 1.0f / (float)x0[0];
}

int trained_root_ddiv(void *stream, float *y, const int64_t *x0)
{
    return MODC_LAUNCH_OVER(root_ddiv, 1, 256, stream, y, x0);
}

/* y (batch, 3): x0 (batch, 1) goes to x1 (batch, 1) along dimension 1, and is added */
static __global__ void __launch_bounds__(256, 1) root_dgather(float *y, const float *x0,
                                                              const int64_t *x1, int batch,
                                                              const struct modc_device_fault *fault)
{
    if (modc_faulty(fault))
        return;
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256)) {
        float *to = y + i * 3 + (ptrdiff_t)x1[i];

        to[0] += x0[i];
    }
}

int trained_root_dgather(void *stream, float *y, const float *x0, const int64_t *x1, int batch,
                         const struct modc_device_fault *fault)
{
    return MODC_LAUNCH_OVER(root_dgather, batch, 256, stream, y, x0, x1, batch, fault);
}

/* y (batch) = -where(x0, x1, 0.0) */
static __global__ void __launch_bounds__(256, 1) root_dwhere_fused(float *y, const bool *x0,
        const float *x1, int batch)
{
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256))
        y[i] = -(MODC_TRUE(x0[i]) ? x1[0] : 0.0f);
}

int trained_root_dwhere_fused(void *stream, float *y, const bool *x0, const float *x1, int batch)
{
    return MODC_LAUNCH_OVER(root_dwhere_fused, batch, 256, stream, y, x0, x1, batch);
}

/* y (batch, 3) = x0 - exp(x2) * x1 */
static __global__ void __launch_bounds__(256, 1) root_dy_2(float *y, const float *x0,
                                                           const float *x1, const float *x2,
                                                           int batch)
{
    for (int at = MODC_THREAD(256); at < 3 * batch; at += MODC_THREADS(256)) {
        const int i = at / 3, j = at % 3;

        y[i * 3 + j] = x0[i * 3 + j] - modc_f32s_exp(x2[i * 3 + j]) * x1[i];
    }
}

int trained_root_dy_2(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch)
{
    return MODC_LAUNCH_OVER(root_dy_2, 3 * batch, 256, stream, y, x0, x1, x2, batch);
}

/* y (batch, 1) = sum of x0 */
static __global__ void __launch_bounds__(256, 1) root_sum_dx(float *y, const float *x0, int batch)
{
    for (int i = MODC_THREAD(256); i < batch; i += MODC_THREADS(256)) {
        float sum = 0.0f;

        for (int j = 0; j < 3; j++)
            sum += x0[i * 3 + j];
        y[i] = sum;
    }
}

int trained_root_sum_dx(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(root_sum_dx, batch, 256, stream, y, x0, batch);
}

/* A step of AdamW of each element. */
static __global__ void __launch_bounds__(256, 1) adamw_decay_float32(float *params,
        const float *grads, float *exp_avgs, float *exp_avg_sqs, int64_t count,
        const double *scalars)
{
    const float beta2 = (float)scalars[0];
    const float eps = (float)scalars[1];
    const float kept = (float)scalars[2];
    const float part1 = (float)scalars[3];
    const float part2 = (float)scalars[4];
    const float step_size = (float)scalars[5];
    const float rescale = (float)scalars[6];

    for (int64_t i = MODC_THREAD(256); i < count; i += MODC_THREADS(256)) {
        float param = params[i];
        const float grad = grads[i];
        float exp_avg = exp_avgs[i];
        float exp_avg_sq = exp_avg_sqs[i];

        param = param * kept;
        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32s_sqrt(exp_avg_sq) + eps);

        params[i] = param;
        exp_avgs[i] = exp_avg;
        exp_avg_sqs[i] = exp_avg_sq;
    }
}

int trained_adamw_decay_float32(void *stream, float *params, const float *grads, float *exp_avgs,
                                float *exp_avg_sqs, int64_t count, const double *scalars)
{
    return MODC_LAUNCH_OVER(adamw_decay_float32, count, 256, stream, params, grads, exp_avgs,
                            exp_avg_sqs, count, scalars);
}

/* A step of AdamW of each element. */
static __global__ void __launch_bounds__(256, 1) adamw_float32(float *params, const float *grads,
                                                               float *exp_avgs, float *exp_avg_sqs,
                                                               int64_t count, const double *scalars)
{
    const float beta2 = (float)scalars[0];
    const float eps = (float)scalars[1];
    const float part1 = (float)scalars[2];
    const float part2 = (float)scalars[3];
    const float step_size = (float)scalars[4];
    const float rescale = (float)scalars[5];

    for (int64_t i = MODC_THREAD(256); i < count; i += MODC_THREADS(256)) {
        float param = params[i];
        const float grad = grads[i];
        float exp_avg = exp_avgs[i];
        float exp_avg_sq = exp_avg_sqs[i];

        exp_avg = exp_avg + part1 * (grad - exp_avg);
        exp_avg_sq = beta2 * exp_avg_sq + part2 * grad * grad;
        param = param - step_size * exp_avg / (rescale * modc_f32s_sqrt(exp_avg_sq) + eps);

        params[i] = param;
        exp_avgs[i] = exp_avg;
        exp_avg_sqs[i] = exp_avg_sq;
    }
}

int trained_adamw_float32(void *stream, float *params, const float *grads, float *exp_avgs,
                          float *exp_avg_sqs, int64_t count, const double *scalars)
{
    return MODC_LAUNCH_OVER(adamw_float32, count, 256, stream, params, grads, exp_avgs, exp_avg_sqs,
                            count, scalars);
}

MODC_KERNELS_END
