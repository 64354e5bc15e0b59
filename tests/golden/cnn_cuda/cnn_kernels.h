/* cnn_kernels.h - written by modc: what cnn.c starts of cnn.cu. Each gives 0, or CUDA's error. */
#ifndef MODC_KERNELS_CNN_H
#define MODC_KERNELS_CNN_H

#include "modc_device.h"

#ifdef __cplusplus
extern "C" {
#endif

int cnn_pack_y_0_weight(void *stream, float *y, const float *x0);
int cnn_y_0_conv2d(void *stream, float *y, const float *x, const float *w, const float *bias,
                   int batch);
int cnn_y_0_conv2d_fused(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch);
int cnn_y_0_copy(void *stream, float *y, const float *x0, int batch);
int cnn_y_1_add(void *stream, float *y, const float *x0, const float *x1);
int cnn_y_1_mul(void *stream, float *y, const float *x0);
int cnn_y_1_mul_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch);
int cnn_y_1_mul_fused_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                    const float *x2, int batch);
int cnn_y_1_mul_fused_mul_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                        const float *x2, int batch);
int cnn_y_1_num_batches_tracked(void *stream, int64_t *y, const int64_t *x0);
int cnn_y_1_off(void *stream, float *y, const float *x0, const float *x1, const float *x2);
int cnn_y_1_rest(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_1_rest_fenced(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_1_scale(void *stream, float *y, const float *x0, const float *x1);
int cnn_y_1_shift(void *stream, float *y, const float *x0, const float *x1, const float *x2);
int cnn_y_1_sub_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      const float *x3, int batch);
int cnn_y_1_sum(void *stream, float *y, const float *x0, int batch);
int cnn_y_1_sum_fenced(void *stream, float *y, const float *x0, int batch);
int cnn_y_1_sum_mean(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_1_sum_mean_fenced(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_1_var(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_2_forward(void *stream, float *y, const float *x0, int batch);
int cnn_y_2_forward_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                          const float *x3, int batch);
int cnn_y_3_max_pool2d(void *stream, float *y, const float *x, int batch);
int cnn_y_3_max_pool2d_fenced(void *stream, float *y, const float *x, int batch);
int cnn_pack_y_4_weight(void *stream, float *y, const float *x0);
int cnn_y_4_conv2d(void *stream, float *y, const float *x, const float *w, const float *bias,
                   int batch);
int cnn_y_4_conv2d_fused(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch);
int cnn_y_4_copy(void *stream, float *y, const float *x0, int batch);
int cnn_y_4_copy_batchx32x4x4(void *stream, float *y, const float *x0, int batch);
int cnn_y_5_add(void *stream, float *y, const float *x0, const float *x1);
int cnn_y_5_mul(void *stream, float *y, const float *x0);
int cnn_y_5_mul_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch);
int cnn_y_5_mul_fused_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                    const float *x2, int batch);
int cnn_y_5_mul_fused_mul_mul_add_where(void *stream, float *y, const float *x0, const float *x1,
                                        const float *x2, int batch);
int cnn_y_5_off(void *stream, float *y, const float *x0, const float *x1, const float *x2);
int cnn_y_5_rest(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_5_rest_fenced(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_5_scale(void *stream, float *y, const float *x0, const float *x1);
int cnn_y_5_shift(void *stream, float *y, const float *x0, const float *x1, const float *x2);
int cnn_y_5_sub_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      const float *x3, int batch);
int cnn_y_5_sum(void *stream, float *y, const float *x0, int batch);
int cnn_y_5_sum_fenced(void *stream, float *y, const float *x0, int batch);
int cnn_y_5_sum_mean(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_5_sum_mean_fenced(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_5_var(void *stream, float *y, const float *x0, const float *x1, int batch);
int cnn_y_6_forward(void *stream, float *y, const float *x0, int batch);
int cnn_y_6_forward_fused(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                          const float *x3, int batch);
int cnn_y_7_copy(void *stream, float *y, const float *x0, int batch);
int cnn_y_7_max_pool2d(void *stream, float *y, const float *x, int batch);
int cnn_y_7_max_pool2d_fenced(void *stream, float *y, const float *x, int batch);
int cnn_y_9_forward(void *stream2, float *y, const float *x0, const struct modc_random *random,
                    uint32_t behind, uint32_t stream, int batch);
int cnn_y_10_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                    int batch);
int cnn_y_10_linear_weight_bias(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch);
int cnn_pack_0_weight_folded(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2);
int cnn_pack_0_bias_folded(void *stream, float *y, const float *x0, const float *x1,
                           const float *x2, const float *x3, const float *x4);
int cnn_pack_1_bias_prepared(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2, const float *x3);
int cnn_pack_4_weight_folded(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2);
int cnn_pack_4_bias_folded(void *stream, float *y, const float *x0, const float *x1,
                           const float *x2, const float *x3, const float *x4);
int cnn_pack_5_bias_prepared(void *stream, float *y, const float *x0, const float *x1,
                             const float *x2, const float *x3);
int cnn_pack_10_weight(void *stream, float *y, const float *x0);

#ifdef __cplusplus
}
#endif
#endif
