/* policy_kernels.h - written by modc: what policy.c starts of policy.cu. Each gives 0, or CUDA's
 * error. */
#ifndef MODC_KERNELS_POLICY_H
#define MODC_KERNELS_POLICY_H

#include "modc_device.h"

#ifdef __cplusplus
extern "C" {
#endif

int policy_trunk_0_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                          int batch);
int policy_trunk_0_linear_act(void *stream, float *y, const float *x, const float *w,
                              const float *bias, int batch);
int policy_trunk_0_linear_fused(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch);
int policy_trunk_0_linear_fused_act(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch);
int policy_trunk_1_forward(void *stream, float *y, const float *x0, int batch);
int policy_trunk_2_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                          int batch);
int policy_trunk_2_linear_act(void *stream, float *y, const float *x, const float *w,
                              const float *bias, int batch);
int policy_trunk_2_linear_fused(void *stream, float *y, const float *x, const float *w,
                                const float *bias, int batch);
int policy_trunk_2_linear_fused_act(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch);
int policy_actor_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                        int batch);
int policy_actor_linear_weight_bias(void *stream, float *y, const float *x, const float *w,
                                    const float *bias, int batch);
int policy_critic_linear(void *stream, float *y, const float *x, const float *w, const float *bias,
                         int batch);

#ifdef __cplusplus
}
#endif
#endif
