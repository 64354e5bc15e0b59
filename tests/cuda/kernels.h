/* kernels.h - eight kernels as modc emits them, with functions that launch each. Pointers are of device memory; what a function
 * returns is of its launch. */
#ifndef KERNELS_H
#define KERNELS_H

#include "modc_cuda.h"

struct policy_packed {
    const float *trunk_0_weight, *trunk_0_bias, *trunk_2_weight, *trunk_2_bias, *heads_weight, *heads_bias;
};

/* y (batch, 2) = x0 (batch, 3)[:, :2] + x1 (batch, 1) */
cudaError_t run_add(float *y, const float *x0, const float *x1, int batch, void *stream);
/* y (batch, 512) = gelu(x0 + x1 (512)) */
cudaError_t run_gelu(float *y, const float *x0, const float *x1, int batch, void *stream);
/* y (rows, 1000) = softmax(x) */
cudaError_t run_softmax(float *y, const float *x, int rows, void *stream);
/* y (m, 256) = relu(x (m, 192) . w (192, 256) + bias) */
cudaError_t run_linear(float *y, const float *x, const float *w, const float *bias, int m, void *stream);
/* y (m, 256) = relu(x (m, 192) . w (256, 192)^T + bias) */
cudaError_t run_linear_bfloat16(float *y, const modc_bfloat16 *x, const modc_bfloat16 *w, const float *bias,
                                int m, void *stream);
/* logits (batch, 2), value (batch) of observation (batch, 4) */
cudaError_t run_policy(float *logits, float *value, const float *observation, const struct policy_packed *k,
                       int batch, void *stream);
/* y (batch, 28, 28, 32) = relu(conv(x (batch, 28, 28, 16), w (3, 3, 16, 32)) + bias) */
cudaError_t run_conv(float *y, const float *x, const float *w, const float *bias, int batch, void *stream);
/* y (512) = the sums of the columns of x (m, 512); partial: 16 x 512, counter: 4 zeros */
cudaError_t run_columns(float *y, const float *x, float *partial, unsigned *counter, int m, void *stream);

#endif
