/* trained_kernels.h - written by modc: what trained.c starts of trained.cu. Each gives 0, or CUDA's
 * error. */
#ifndef MODC_KERNELS_TRAINED_H
#define MODC_KERNELS_TRAINED_H

#include "modc_device.h"

#ifdef __cplusplus
extern "C" {
#endif

int trained_adamw_decay_float32(void *stream, float *params, const float *grads, float *exp_avgs,
                                float *exp_avg_sqs, int64_t count, const double *scalars);
int trained_adamw_float32(void *stream, float *params, const float *grads, float *exp_avgs,
                          float *exp_avg_sqs, int64_t count, const double *scalars);
int trained_y_0_linear_fused(void *stream, float *y, const float *x, const float *w,
                             const float *bias, int batch);
int trained_y_0_dinput(void *stream, float *y, const float *x, const float *w, const float *bias,
                       int batch);
int trained_y_0_dweight(void *stream, float *y, const float *x, const float *w, const float *bias,
                        const float *e0, const float *e1, int batch);
int trained_y_2_dinput(void *stream, float *y, const float *x, const float *w, const float *bias,
                       const float *e0, int batch);
int trained_y_2_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                       int batch);
int trained_y_2_dbias(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch);
int trained_y_2_dweight(void *stream, float *y, const float *x, const float *w, const float *bias,
                        const float *e0, const float *e1, int batch);
int trained_root_gather(void *stream, float *y, const float *x0, const int64_t *x1, int batch,
                        const struct modc_device_fault *fault);
int trained_root_kept(void *stream, float *y, const bool *x0, const float *x1, int batch);
int trained_root_log_softmax(void *stream, float *y, const float *x, int batch);
int trained_root_loss(void *stream, float *y, const float *x0, const int64_t *x1, int batch);
int trained_root_ne(void *stream, bool *y, const int64_t *x0, int batch);
int trained_root_sum(void *stream, int64_t *y, const bool *x0, int batch);
int trained_root_where(void *stream, int64_t *y, const bool *x0, const int64_t *x1, int batch);
int trained_root_ddiv(void *stream, float *y, const int64_t *x0);
int trained_root_dgather(void *stream, float *y, const float *x0, const int64_t *x1, int batch,
                         const struct modc_device_fault *fault);
int trained_root_dwhere_fused(void *stream, float *y, const bool *x0, const float *x1, int batch);
int trained_root_dy_2(void *stream, float *y, const float *x0, const float *x1, const float *x2,
                      int batch);
int trained_root_sum_dx(void *stream, float *y, const float *x0, int batch);

#ifdef __cplusplus
}
#endif
#endif
