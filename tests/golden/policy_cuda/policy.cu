/* policy.cu - written by modc from policy.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "policy_kernels.h"

#include "modc_cuda.h"

MODC_KERNELS_BEGIN

/* y (batch, 64) = x (batch, 4) . w (4, 64) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_0_linear(float *restrict y,
                                                                const float *restrict x,
                                                                const float *restrict w,
                                                                const float *restrict bias,
                                                                int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64 * 8;
        const float *const from = x + row * 4;
        const float *const by = w + j * 4;
        float *const to = y + row * 64;
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

                to[i * 64 + j] = value;
            }
        }
    }
}

int policy_trunk_0_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                          int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(trunk_0_linear, (int64_t)32 * strips * 64, 256, stream, y, x, w, bias,
                            batch);
}

/* y (batch, 64) = x (batch, 4) . w (4, 64) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_0_linear_act(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 1);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64;
        const float *const from = x + row * 4;
        const float *const by = w + j * 4;
        float *const to = y + row * 64;
        float sum[1] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 4; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 1; i++)
                sum[i] += row + i < batch ? from[i * 4 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = value;
            }
        }
    }
}

int policy_trunk_0_linear_act(void *stream, float *y, const float *x, const float *w,
                              const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 1);

    return MODC_LAUNCH_OVER(trunk_0_linear_act, (int64_t)32 * strips * 64, 256, stream, y, x, w,
                            bias, batch);
}

/* y (batch, 64) = x (batch, 4) . w (4, 64) + bias;
 * then tanh(x0).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_0_linear_fused(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64 * 8;
        const float *const from = x + row * 4;
        const float *const by = w + j * 4;
        float *const to = y + row * 64;
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

                to[i * 64 + j] = modc_f32s_tanh(value);
            }
        }
    }
}

int policy_trunk_0_linear_fused(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(trunk_0_linear_fused, (int64_t)32 * strips * 64, 256, stream, y, x, w,
                            bias, batch);
}

/* y (batch, 64) = x (batch, 4) . w (4, 64) + bias;
 * then tanh(x0).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_0_linear_fused_act(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 1);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64;
        const float *const from = x + row * 4;
        const float *const by = w + j * 4;
        float *const to = y + row * 64;
        float sum[1] = {};
        int k = lane;

        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 4; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 1; i++)
                sum[i] += row + i < batch ? from[i * 4 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = modc_f32s_tanh(value);
            }
        }
    }
}

int policy_trunk_0_linear_fused_act(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 1);

    return MODC_LAUNCH_OVER(trunk_0_linear_fused_act, (int64_t)32 * strips * 64, 256, stream, y, x,
                            w, bias, batch);
}

/* y (batch, 64) = tanh(x0) */
static __global__ void __launch_bounds__(256, 1) trunk_1_forward(float *y, const float *x0,
        int batch)
{
    for (int i = MODC_THREAD(256); i < 64 * batch; i += MODC_THREADS(256))
        y[i] = modc_f32s_tanh(x0[i]);
}

int policy_trunk_1_forward(void *stream, float *y, const float *x0, int batch)
{
    return MODC_LAUNCH_OVER(trunk_1_forward, 64 * batch, 256, stream, y, x0, batch);
}

/* y (batch, 64) = x (batch, 64) . w (64, 64) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_2_linear(float *restrict y,
                                                                const float *restrict x,
                                                                const float *restrict w,
                                                                const float *restrict bias,
                                                                int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64 * 8;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 64;
        float sum[8] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(1)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 8; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = value;
            }
        }
    }
}

int policy_trunk_2_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                          int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(trunk_2_linear, (int64_t)32 * strips * 64, 256, stream, y, x, w, bias,
                            batch);
}

/* y (batch, 64) = x (batch, 64) . w (64, 64) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_2_linear_act(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 1);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 64;
        float sum[1] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(4)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 1; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 1; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = value;
            }
        }
    }
}

int policy_trunk_2_linear_act(void *stream, float *y, const float *x, const float *w,
                              const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 1);

    return MODC_LAUNCH_OVER(trunk_2_linear_act, (int64_t)32 * strips * 64, 256, stream, y, x, w,
                            bias, batch);
}

/* y (batch, 64) = x (batch, 64) . w (64, 64) + bias;
 * then tanh(x0).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_2_linear_fused(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64 * 8;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 64;
        float sum[8] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(1)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 8; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = modc_f32s_tanh(value);
            }
        }
    }
}

int policy_trunk_2_linear_fused(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(trunk_2_linear_fused, (int64_t)32 * strips * 64, 256, stream, y, x, w,
                            bias, batch);
}

/* y (batch, 64) = x (batch, 64) . w (64, 64) + bias;
 * then tanh(x0).
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) trunk_2_linear_fused_act(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 1);

    for (int at = MODC_THREAD(256) / 32; at < strips * 64; at += MODC_THREADS(256) / 32) {
        const int j = at % 64;
        const int row = at / 64;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 64;
        float sum[1] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(4)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 1; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 1; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 64 + j] = modc_f32s_tanh(value);
            }
        }
    }
}

int policy_trunk_2_linear_fused_act(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 1);

    return MODC_LAUNCH_OVER(trunk_2_linear_fused_act, (int64_t)32 * strips * 64, 256, stream, y, x,
                            w, bias, batch);
}

/* y (batch, 2) = x (batch, 64) . w (64, 2) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) actor_linear(float *restrict y,
                                                              const float *restrict x,
                                                              const float *restrict w,
                                                              const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * 2; at += MODC_THREADS(256) / 32) {
        const int j = at % 2;
        const int row = at / 2 * 8;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 2;
        float sum[8] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(1)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 8; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 2 + j] = value;
            }
        }
    }
}

int policy_actor_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                        int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(actor_linear, (int64_t)32 * strips * 2, 256, stream, y, x, w, bias,
                            batch);
}

/* y (batch, 2) = x (batch, 64) . w (64, 2) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) actor_linear_weight_bias(float *restrict y,
        const float *restrict x, const float *restrict w, const float *restrict bias, int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 1);

    for (int at = MODC_THREAD(256) / 32; at < strips * 2; at += MODC_THREADS(256) / 32) {
        const int j = at % 2;
        const int row = at / 2;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row * 2;
        float sum[1] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(4)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 1; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 1; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 1; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i * 2 + j] = value;
            }
        }
    }
}

int policy_actor_linear_weight_bias(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch)
{
    const int strips = MODC_PARTS(batch, 1);

    return MODC_LAUNCH_OVER(actor_linear_weight_bias, (int64_t)32 * strips * 2, 256, stream, y, x,
                            w, bias, batch);
}

/* y (batch, 1) = x (batch, 64) . w (64, 1) + bias.
 * A warp a column of w and some rows of x, its lanes along the inner length */
static __global__ void __launch_bounds__(256, 1) critic_linear(float *restrict y,
                                                               const float *restrict x,
                                                               const float *restrict w,
                                                               const float *restrict bias,
                                                               int batch)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(batch, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips; at += MODC_THREADS(256) / 32) {
        const int j = 0;
        const int row = at * 8;
        const float *const from = x + row * 64;
        const float *const by = w + j * 64;
        float *const to = y + row;
        float sum[8] = {};
        int k = lane;

        if (modc_starts_four(x) && modc_starts_four(w)) {
            const float *row_fours = from + 4 * lane;
            const float *fours = by + 4 * lane;

            MODC_UNROLL_BY(1)
            for (int round = 0; round < 64; round += 4 * 32, row_fours += 4 * 32, fours += 4 * 32) {
                float b[4];

                if (64 % (4 * 32) != 0 && round + 4 * lane >= 64)
                    break;
                modc_read_four(b, fours);
                MODC_UNROLL
                for (int i = 0; i < 8; i++) {
                    float a[4];

                    modc_read_four(a, row_fours + modc_min(i, batch - 1 - row) * 64);
                    MODC_UNROLL
                    for (int c = 0; c < 4; c++)
                        sum[i] += a[c] * b[c];
                }
            }
            k = 64;
        }
        MODC_UNROLL_BY(1) /* more of them cost registers that the sums are in */
        for (; k < 64; k += 32) {
            const float b = by[k];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < batch ? from[i * 64 + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            const float total = modc_warp_sum(sum[i]);

            if (lane == i && row + i < batch) {
                const float value = total + bias[j];

                to[i + j] = value;
            }
        }
    }
}

int policy_critic_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch)
{
    const int strips = MODC_PARTS(batch, 8);

    return MODC_LAUNCH_OVER(critic_linear, (int64_t)32 * strips, 256, stream, y, x, w, bias, batch);
}

MODC_KERNELS_END
