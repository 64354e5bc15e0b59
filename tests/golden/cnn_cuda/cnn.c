/* cnn.c - written by modc from cnn.yaml; change the spec, not this file. It is yours, under any
 * terms. */
#include "cnn.h"

#include <string.h>

#include "cnn_kernels.h"
#include "modc_simd.h"

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 5488640.0
#define RTOL_OF_CNN 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_0 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const y_3 = (void *)(ws + 262144); /* (batch, 4, 4, 16) */ \
    float *const y_4 = (void *)(ws + 0); /* (batch, 4, 4, 32) */ \
    float *const y_7 = (void *)(ws + 131072); /* (batch, 2, 2, 32) */ \

#define TENSORS_OF_FORWARD_EVAL_FENCED \
    const struct modc_tensor copy_of_image = {ws + 0, MODC_FLOAT32, 4, {batch, 1, 8, 8}}; \
    float *const conv2d_of_y_0 = (void *)(ws + 16384); /* (batch, 8, 8, 16) */ \
    const struct modc_tensor y_0 = {ws + 278528, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    const struct modc_tensor y_1 = {ws + 16384, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    const struct modc_tensor y_2 = {ws + 278528, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    const struct modc_tensor y_3 = {ws + 16384, MODC_FLOAT32, 4, {batch, 16, 4, 4}}; \
    float *const copy_of_y_4 = (void *)(ws + 81920); /* (batch, 4, 4, 16) */ \
    float *const conv2d_of_y_4 = (void *)(ws + 147456); /* (batch, 4, 4, 32) */ \
    const struct modc_tensor y_4 = {ws + 278528, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    const struct modc_tensor y_5 = {ws + 16384, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    const struct modc_tensor y_6 = {ws + 147456, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    const struct modc_tensor y_7 = {ws + 16384, MODC_FLOAT32, 4, {batch, 32, 2, 2}}; \
    const struct modc_tensor y_10 = {ws + 49152, MODC_FLOAT32, 2, {batch, 10}}; \

#define TENSORS_OF_FORWARD_TRAIN \
    float *const y_0 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const first_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const rest_of_y_1 = (void *)(ws + 262400); /* (16) */ \
    float *const mean_of_y_1 = (void *)(ws + 262656); /* (1, 1, 1, 16) */ \
    float *const off_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const sum_of_y_1 = (void *)(ws + 262400); /* (16) */ \
    float *const var_of_y_1 = (void *)(ws + 262912); /* (1, 1, 1, 16) */ \
    float *const mul_of_y_1 = (void *)(ws + 262400); /* (16) */ \
    float *const mul_fused_of_y_1 = (void *)(ws + 263168); /* (1, 1, 1, 16) */ \
    float *const mul_of_y_1_2 = (void *)(ws + 262400); /* (16) */ \
    float *const mul_fused_of_y_1_2 = (void *)(ws + 263168); /* (1, 1, 1, 16) */ \
    float *const scale_of_y_1 = (void *)(ws + 262912); /* (1, 1, 1, 16) */ \
    float *const shift_of_y_1 = (void *)(ws + 262144); /* (1, 1, 1, 16) */ \
    float *const y_2 = (void *)(ws + 0); /* (batch, 8, 8, 16) */ \
    float *const y_3 = (void *)(ws + 262144); /* (batch, 4, 4, 16) */ \
    float *const y_4 = (void *)(ws + 0); /* (batch, 4, 4, 32) */ \
    float *const first_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const rest_of_y_5 = (void *)(ws + 131328); /* (32) */ \
    float *const mean_of_y_5 = (void *)(ws + 131584); /* (1, 1, 1, 32) */ \
    float *const off_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const sum_of_y_5 = (void *)(ws + 131328); /* (32) */ \
    float *const var_of_y_5 = (void *)(ws + 131840); /* (1, 1, 1, 32) */ \
    float *const mul_of_y_5 = (void *)(ws + 131328); /* (32) */ \
    float *const mul_fused_of_y_5 = (void *)(ws + 132096); /* (1, 1, 1, 32) */ \
    float *const mul_of_y_5_2 = (void *)(ws + 131328); /* (32) */ \
    float *const mul_fused_of_y_5_2 = (void *)(ws + 132096); /* (1, 1, 1, 32) */ \
    float *const scale_of_y_5 = (void *)(ws + 131840); /* (1, 1, 1, 32) */ \
    float *const shift_of_y_5 = (void *)(ws + 131072); /* (1, 1, 1, 32) */ \
    float *const y_6 = (void *)(ws + 0); /* (batch, 4, 4, 32) */ \
    float *const max_pool2d_of_y_7 = (void *)(ws + 131072); /* (batch, 2, 2, 32) */ \
    float *const copy_of_y_7 = (void *)(ws + 0); /* (batch, 32, 2, 2) */ \
    float *const y_9 = (void *)(ws + 32768); /* (batch, 128) */ \

#define TENSORS_OF_FORWARD_TRAIN_FENCED \
    int64_t (*const _1_num_batches_tracked_shadow)[1] = (void *)(ws + 540672); \
    float (*const _1_running_mean_shadow)[16] = (void *)(ws + 540928); \
    float (*const _1_running_var_shadow)[16] = (void *)(ws + 541184); \
    int64_t (*const _5_num_batches_tracked_shadow)[1] = (void *)(ws + 541440); \
    float (*const _5_running_mean_shadow)[32] = (void *)(ws + 541696); \
    float (*const _5_running_var_shadow)[32] = (void *)(ws + 541952); \
    const struct modc_tensor copy_of_image = {ws + 524288, MODC_FLOAT32, 4, {batch, 1, 8, 8}}; \
    float *const conv2d_of_y_0 = (void *)(ws + 262144); /* (batch, 8, 8, 16) */ \
    const struct modc_tensor y_0 = {ws + 0, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    float *const first_of_y_1 = (void *)(ws + 262400); /* (1, 16, 1, 1) */ \
    float *const rest_of_y_1 = (void *)(ws + 262656); /* (16) */ \
    float *const mean_of_y_1 = (void *)(ws + 542208); /* (1, 16, 1, 1) */ \
    float *const off_of_y_1 = (void *)(ws + 262144); /* (1, 16, 1, 1) */ \
    float *const sum_of_y_1 = (void *)(ws + 262656); /* (16) */ \
    float *const var_of_y_1 = (void *)(ws + 262400); /* (1, 16, 1, 1) */ \
    float *const mul_of_y_1 = (void *)(ws + 262656); /* (16) */ \
    float *const mul_fused_of_y_1 = (void *)(ws + 262912); /* (1, 16, 1, 1) */ \
    float *const mul_of_y_1_2 = (void *)(ws + 262656); /* (16) */ \
    float *const mul_fused_of_y_1_2 = (void *)(ws + 262912); /* (1, 16, 1, 1) */ \
    float *const scale_of_y_1 = (void *)(ws + 542464); /* (1, 16, 1, 1) */ \
    float *const shift_of_y_1 = (void *)(ws + 542720); /* (1, 16, 1, 1) */ \
    const struct modc_tensor y_1 = {ws + 262144, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    const struct modc_tensor y_2 = {ws + 0, MODC_FLOAT32, 4, {batch, 16, 8, 8}}; \
    const struct modc_tensor y_3 = {ws + 262144, MODC_FLOAT32, 4, {batch, 16, 4, 4}}; \
    float *const copy_of_y_4 = (void *)(ws + 0); /* (batch, 4, 4, 16) */ \
    float *const conv2d_of_y_4 = (void *)(ws + 131072); /* (batch, 4, 4, 32) */ \
    const struct modc_tensor y_4 = {ws + 0, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    float *const first_of_y_5 = (void *)(ws + 131328); /* (1, 32, 1, 1) */ \
    float *const rest_of_y_5 = (void *)(ws + 131584); /* (32) */ \
    float *const mean_of_y_5 = (void *)(ws + 262144); /* (1, 32, 1, 1) */ \
    float *const off_of_y_5 = (void *)(ws + 131072); /* (1, 32, 1, 1) */ \
    float *const sum_of_y_5 = (void *)(ws + 131584); /* (32) */ \
    float *const var_of_y_5 = (void *)(ws + 131328); /* (1, 32, 1, 1) */ \
    float *const mul_of_y_5 = (void *)(ws + 131584); /* (32) */ \
    float *const mul_fused_of_y_5 = (void *)(ws + 131840); /* (1, 32, 1, 1) */ \
    float *const mul_of_y_5_2 = (void *)(ws + 131584); /* (32) */ \
    float *const mul_fused_of_y_5_2 = (void *)(ws + 131840); /* (1, 32, 1, 1) */ \
    float *const scale_of_y_5 = (void *)(ws + 262400); /* (1, 32, 1, 1) */ \
    float *const shift_of_y_5 = (void *)(ws + 262656); /* (1, 32, 1, 1) */ \
    const struct modc_tensor y_5 = {ws + 131072, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    const struct modc_tensor y_6 = {ws + 0, MODC_FLOAT32, 4, {batch, 32, 4, 4}}; \
    const struct modc_tensor y_7 = {ws + 131072, MODC_FLOAT32, 4, {batch, 32, 2, 2}}; \
    const struct modc_tensor y_9 = {ws + 0, MODC_FLOAT32, 2, {batch, 128}}; \
    const struct modc_tensor y_10 = {ws + 32768, MODC_FLOAT32, 2, {batch, 10}}; \

/* What a context works with. */
#define CONTEXT_OF_CNN \
    const struct cnn_tensors *const p MODC_UNUSED = \
        &((const struct cnn_params *)(const void *)net->base.params)->device; \
    const struct cnn_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace + CNN_STATE_BYTES

/* What the kernels read */
struct cnn_packed {
    MODC_ALIGNED char parameters[27648]; /* as they lie in their own block */
    MODC_ALIGNED float _0_weight_folded[192]; /* [9][16] */
    MODC_ALIGNED float _0_bias_folded[64]; /* [16] */
    MODC_ALIGNED float _1_bias_prepared[64]; /* (16, 1, 1) */
    MODC_ALIGNED float _1_weight_prepared[64]; /* (16, 1, 1) */
    MODC_ALIGNED float _4_weight_folded[4608]; /* [144][32] */
    MODC_ALIGNED float _4_bias_folded[64]; /* [32] */
    MODC_ALIGNED float _5_bias_prepared[64]; /* (32, 1, 1) */
    MODC_ALIGNED float _5_weight_prepared[64]; /* (32, 1, 1) */
    MODC_ALIGNED float _10_weight[1280]; /* (2, 2, 32, 10) */
};

#define PACKED_OF(params) ((struct cnn_packed *)(params)->packed)

typedef char cnn_packed_fits[sizeof(struct cnn_packed) <= CNN_PACKED_BYTES ? 1 : -1];

static enum modc_status cnn_pack_all(struct modc_params *params)
{
    const struct cnn_tensors *p = &((const struct cnn_params *)(const void *)params)->device;
    struct cnn_packed *k MODC_UNUSED = params->packed;

    MODC_TRY(modc_upload(params));
    MODC_RUN_PACK(
        cnn_pack_0_weight_folded, k->_0_weight_folded, p->_0.weight, p->_1.weight,
        p->_1.running_var);
    MODC_RUN_PACK(
        cnn_pack_0_bias_folded, k->_0_bias_folded, p->_0.bias, p->_1.weight, p->_1.running_var,
        p->_1.bias, p->_1.running_mean);
    MODC_RUN_PACK(
        cnn_pack_1_bias_prepared, k->_1_bias_prepared, p->_1.bias, p->_1.running_mean, p->_1.weight,
        p->_1.running_var);
    MODC_RUN_PACK(cnn_y_1_scale, k->_1_weight_prepared, p->_1.weight, p->_1.running_var);
    MODC_RUN_PACK(
        cnn_pack_4_weight_folded, k->_4_weight_folded, p->_4.weight, p->_5.weight,
        p->_5.running_var);
    MODC_RUN_PACK(
        cnn_pack_4_bias_folded, k->_4_bias_folded, p->_4.bias, p->_5.weight, p->_5.running_var,
        p->_5.bias, p->_5.running_mean);
    MODC_RUN_PACK(
        cnn_pack_5_bias_prepared, k->_5_bias_prepared, p->_5.bias, p->_5.running_mean, p->_5.weight,
        p->_5.running_var);
    MODC_RUN_PACK(cnn_y_5_scale, k->_5_weight_prepared, p->_5.weight, p->_5.running_var);
    MODC_RUN_PACK(cnn_pack_10_weight, k->_10_weight, p->_10.weight);
    return modc_uploaded(params);
}

static enum modc_status cnn_forward_eval(struct cnn *net, int batch, const float *image,
                                         float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Conv2d(1, 16, 3, padding=1)
     * 1: BatchNorm2d(16)
     * 2: ReLU() */
    MODC_RUN(cnn_y_0_conv2d_fused, y_0, image, k->_0_weight_folded, k->_0_bias_folded, batch);

    /* 3: MaxPool2d(2) */
    MODC_RUN(cnn_y_3_max_pool2d, y_3, y_0, batch);

    /* 4: Conv2d(16, 32, 3, padding=1)
     * 5: BatchNorm2d(32)
     * 6: ReLU() */
    MODC_RUN(cnn_y_4_conv2d_fused, y_4, y_3, k->_4_weight_folded, k->_4_bias_folded, batch);

    /* 7: MaxPool2d(2)
     * 8: Flatten()
     * 9: Dropout(0.25) */
    MODC_RUN(cnn_y_7_max_pool2d, y_7, y_4, batch);

    /* 10: Linear(128, 10) */
    MODC_RUN(cnn_y_10_linear, output, y_7, k->_10_weight, p->_10.bias, batch);
    return MODC_OK;
}

static enum modc_status cnn_forward_eval_fenced(struct cnn *net, int batch, const float *image,
                                                float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_EVAL_FENCED;

    MODC_RUN_HOOKED(modc_cuda_copy, copy_of_image.data, image, modc_tensor_bytes(&copy_of_image));

    MODC_ENTER(net, self_call, CNN_ROOT, copy_of_image);
    MODC_ENTER(net, m_0_call, CNN_0, self_call_in[0]);
    MODC_RUN_HOOKED(cnn_pack_y_0_weight, (void *)(ws + 278528), p->_0.weight);
    MODC_RUN_HOOKED(
        cnn_y_0_conv2d, conv2d_of_y_0, m_0_call_in[0].data, (void *)(ws + 278528), p->_0.bias,
        batch);
    MODC_RUN_HOOKED(cnn_y_0_copy, y_0.data, conv2d_of_y_0, batch);
    MODC_LEAVE(net, m_0_call, y_0);

    MODC_ENTER(net, m_1_call, CNN_1, m_0_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_1_mul_fused, y_1.data, k->_1_bias_prepared, m_1_call_in[0].data,
        k->_1_weight_prepared, batch);
    MODC_LEAVE(net, m_1_call, y_1);

    MODC_ENTER(net, m_2_call, CNN_2, m_1_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_2_forward, y_2.data, m_2_call_in[0].data, batch);
    MODC_LEAVE(net, m_2_call, y_2);

    MODC_ENTER(net, m_3_call, CNN_3, m_2_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_3_max_pool2d_fenced, y_3.data, m_3_call_in[0].data, batch);
    MODC_LEAVE(net, m_3_call, y_3);

    MODC_ENTER(net, m_4_call, CNN_4, m_3_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_4_copy, copy_of_y_4, m_4_call_in[0].data, batch);
    MODC_RUN_HOOKED(cnn_pack_y_4_weight, (void *)(ws + 278528), p->_4.weight);
    MODC_RUN_HOOKED(
        cnn_y_4_conv2d, conv2d_of_y_4, copy_of_y_4, (void *)(ws + 278528), p->_4.bias, batch);
    MODC_RUN_HOOKED(cnn_y_4_copy_batchx32x4x4, y_4.data, conv2d_of_y_4, batch);
    MODC_LEAVE(net, m_4_call, y_4);

    MODC_ENTER(net, m_5_call, CNN_5, m_4_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_5_mul_fused, y_5.data, k->_5_bias_prepared, m_5_call_in[0].data,
        k->_5_weight_prepared, batch);
    MODC_LEAVE(net, m_5_call, y_5);

    MODC_ENTER(net, m_6_call, CNN_6, m_5_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_6_forward, y_6.data, m_6_call_in[0].data, batch);
    MODC_LEAVE(net, m_6_call, y_6);

    MODC_ENTER(net, m_7_call, CNN_7, m_6_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_7_max_pool2d_fenced, y_7.data, m_7_call_in[0].data, batch);
    MODC_LEAVE(net, m_7_call, y_7);

    MODC_ENTER(net, m_8_call, CNN_8, m_7_call_out[0]);
    MODC_LEAVE(net, m_8_call, {m_8_call_in[0].data, MODC_FLOAT32, 2, {batch, 128}});

    MODC_ENTER(net, m_9_call, CNN_9, m_8_call_out[0]);
    MODC_LEAVE(net, m_9_call, m_9_call_in[0]);

    MODC_ENTER(net, m_10_call, CNN_10, m_9_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_10_linear_weight_bias, y_10.data, m_10_call_in[0].data, p->_10.weight, p->_10.bias,
        batch);
    MODC_LEAVE(net, m_10_call, y_10);
    MODC_LEAVE(net, self_call, m_10_call_out[0]);
    MODC_RUN_HOOKED(
        modc_cuda_copy, output, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));
    return MODC_OK;
}

static enum modc_status cnn_forward_train(struct cnn *net, int batch, const float *image,
                                          float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_TRAIN;

    /* 0 */
    MODC_RUN(cnn_pack_y_0_weight, (void *)(ws + 262144), p->_0.weight);
    MODC_RUN(cnn_y_0_conv2d, y_0, image, (void *)(ws + 262144), p->_0.bias, batch);

    /* 1 */
    MODC_RUN(cnn_y_1_num_batches_tracked, p->_1.num_batches_tracked, p->_1.num_batches_tracked);
    MODC_RUN(cnn_y_1_sum, first_of_y_1, y_0, batch);
    MODC_RUN(cnn_y_1_rest, rest_of_y_1, y_0, first_of_y_1, batch);
    MODC_RUN(cnn_y_1_add, mean_of_y_1, first_of_y_1, rest_of_y_1);
    MODC_RUN(cnn_y_1_off, off_of_y_1, rest_of_y_1, first_of_y_1, mean_of_y_1);
    MODC_RUN(cnn_y_1_sum_mean, sum_of_y_1, y_0, mean_of_y_1, batch);
    MODC_RUN(cnn_y_1_var, var_of_y_1, sum_of_y_1, off_of_y_1, batch);
    MODC_RUN(cnn_y_1_mul, mul_of_y_1, p->_1.running_mean);
    MODC_RUN(
        cnn_y_1_mul_fused_mul_add_where, mul_fused_of_y_1, p->_1.running_mean, mul_of_y_1,
        mean_of_y_1, batch);
    MODC_RUN(modc_cuda_copy, p->_1.running_mean, mul_fused_of_y_1, sizeof(float) * 16);
    MODC_RUN(cnn_y_1_mul, mul_of_y_1_2, p->_1.running_var);
    MODC_RUN(
        cnn_y_1_mul_fused_mul_mul_add_where, mul_fused_of_y_1_2, p->_1.running_var, mul_of_y_1_2,
        var_of_y_1, batch);
    MODC_RUN(modc_cuda_copy, p->_1.running_var, mul_fused_of_y_1_2, sizeof(float) * 16);
    MODC_RUN(cnn_y_1_scale, scale_of_y_1, p->_1.weight, var_of_y_1);
    MODC_RUN(cnn_y_1_shift, shift_of_y_1, p->_1.bias, off_of_y_1, scale_of_y_1);

    /* 2 */
    MODC_RUN(cnn_y_2_forward_fused, y_2, shift_of_y_1, scale_of_y_1, y_0, mean_of_y_1, batch);

    /* 3 */
    MODC_RUN(cnn_y_3_max_pool2d, y_3, y_2, batch);

    /* 4 */
    MODC_RUN(cnn_pack_y_4_weight, (void *)(ws + 131072), p->_4.weight);
    MODC_RUN(cnn_y_4_conv2d, y_4, y_3, (void *)(ws + 131072), p->_4.bias, batch);

    /* 5 */
    MODC_RUN(cnn_y_1_num_batches_tracked, p->_5.num_batches_tracked, p->_5.num_batches_tracked);
    MODC_RUN(cnn_y_5_sum, first_of_y_5, y_4, batch);
    MODC_RUN(cnn_y_5_rest, rest_of_y_5, y_4, first_of_y_5, batch);
    MODC_RUN(cnn_y_5_add, mean_of_y_5, first_of_y_5, rest_of_y_5);
    MODC_RUN(cnn_y_5_off, off_of_y_5, rest_of_y_5, first_of_y_5, mean_of_y_5);
    MODC_RUN(cnn_y_5_sum_mean, sum_of_y_5, y_4, mean_of_y_5, batch);
    MODC_RUN(cnn_y_5_var, var_of_y_5, sum_of_y_5, off_of_y_5, batch);
    MODC_RUN(cnn_y_5_mul, mul_of_y_5, p->_5.running_mean);
    MODC_RUN(
        cnn_y_5_mul_fused_mul_add_where, mul_fused_of_y_5, p->_5.running_mean, mul_of_y_5,
        mean_of_y_5, batch);
    MODC_RUN(modc_cuda_copy, p->_5.running_mean, mul_fused_of_y_5, sizeof(float) * 32);
    MODC_RUN(cnn_y_5_mul, mul_of_y_5_2, p->_5.running_var);
    MODC_RUN(
        cnn_y_5_mul_fused_mul_mul_add_where, mul_fused_of_y_5_2, p->_5.running_var, mul_of_y_5_2,
        var_of_y_5, batch);
    MODC_RUN(modc_cuda_copy, p->_5.running_var, mul_fused_of_y_5_2, sizeof(float) * 32);
    MODC_RUN(cnn_y_5_scale, scale_of_y_5, p->_5.weight, var_of_y_5);
    MODC_RUN(cnn_y_5_shift, shift_of_y_5, p->_5.bias, off_of_y_5, scale_of_y_5);

    /* 6 */
    MODC_RUN(cnn_y_6_forward_fused, y_6, shift_of_y_5, scale_of_y_5, y_4, mean_of_y_5, batch);

    /* 7 */
    MODC_RUN(cnn_y_7_max_pool2d, max_pool2d_of_y_7, y_6, batch);

    /* 8 */
    MODC_RUN(cnn_y_7_copy, copy_of_y_7, max_pool2d_of_y_7, batch);

    /* 9 */
    MODC_RUN(cnn_y_9_forward, y_9, copy_of_y_7, &net->cuda.head->random, 0, 10u, batch);

    /* 10 */
    MODC_RUN(cnn_y_10_linear_weight_bias, output, y_9, p->_10.weight, p->_10.bias, batch);
    return MODC_OK;
}

static enum modc_status cnn_forward_train_fenced(struct cnn *net, int batch, const float *image,
                                                 float *output)
{
    CONTEXT_OF_CNN;
    TENSORS_OF_FORWARD_TRAIN_FENCED;

    MODC_RUN_HOOKED(
        modc_cuda_copy, _1_num_batches_tracked_shadow, p->_1.num_batches_tracked,
        sizeof *(_1_num_batches_tracked_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_copy, _1_running_mean_shadow, p->_1.running_mean,
        sizeof *(_1_running_mean_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_copy, _1_running_var_shadow, p->_1.running_var, sizeof *(_1_running_var_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_copy, _5_num_batches_tracked_shadow, p->_5.num_batches_tracked,
        sizeof *(_5_num_batches_tracked_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_copy, _5_running_mean_shadow, p->_5.running_mean,
        sizeof *(_5_running_mean_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_copy, _5_running_var_shadow, p->_5.running_var, sizeof *(_5_running_var_shadow));
    MODC_RUN_HOOKED(modc_cuda_copy, copy_of_image.data, image, modc_tensor_bytes(&copy_of_image));

    MODC_ENTER(net, self_call, CNN_ROOT, copy_of_image);
    MODC_ENTER(net, m_0_call, CNN_0, self_call_in[0]);
    MODC_RUN_HOOKED(cnn_pack_y_0_weight, (void *)(ws + 0), p->_0.weight);
    MODC_RUN_HOOKED(
        cnn_y_0_conv2d, conv2d_of_y_0, m_0_call_in[0].data, (void *)(ws + 0), p->_0.bias, batch);
    MODC_RUN_HOOKED(cnn_y_0_copy, y_0.data, conv2d_of_y_0, batch);
    MODC_LEAVE(net, m_0_call, y_0);

    MODC_ENTER(net, m_1_call, CNN_1, m_0_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_1_num_batches_tracked, *_1_num_batches_tracked_shadow,
        *_1_num_batches_tracked_shadow);
    MODC_RUN_HOOKED(cnn_y_1_sum_fenced, first_of_y_1, m_1_call_in[0].data, batch);
    MODC_RUN_HOOKED(cnn_y_1_rest_fenced, rest_of_y_1, m_1_call_in[0].data, first_of_y_1, batch);
    MODC_RUN_HOOKED(cnn_y_1_add, mean_of_y_1, first_of_y_1, rest_of_y_1);
    MODC_RUN_HOOKED(cnn_y_1_off, off_of_y_1, rest_of_y_1, first_of_y_1, mean_of_y_1);
    MODC_RUN_HOOKED(cnn_y_1_sum_mean_fenced, sum_of_y_1, m_1_call_in[0].data, mean_of_y_1, batch);
    MODC_RUN_HOOKED(cnn_y_1_var, var_of_y_1, sum_of_y_1, off_of_y_1, batch);
    MODC_RUN_HOOKED(cnn_y_1_mul, mul_of_y_1, *_1_running_mean_shadow);
    MODC_RUN_HOOKED(
        cnn_y_1_mul_fused_mul_add_where, mul_fused_of_y_1, *_1_running_mean_shadow, mul_of_y_1,
        mean_of_y_1, batch);
    MODC_RUN_HOOKED(modc_cuda_copy, *_1_running_mean_shadow, mul_fused_of_y_1, sizeof(float) * 16);
    MODC_RUN_HOOKED(cnn_y_1_mul, mul_of_y_1_2, *_1_running_var_shadow);
    MODC_RUN_HOOKED(
        cnn_y_1_mul_fused_mul_mul_add_where, mul_fused_of_y_1_2, *_1_running_var_shadow,
        mul_of_y_1_2, var_of_y_1, batch);
    MODC_RUN_HOOKED(modc_cuda_copy, *_1_running_var_shadow, mul_fused_of_y_1_2, sizeof(float) * 16);
    MODC_RUN_HOOKED(cnn_y_1_scale, scale_of_y_1, p->_1.weight, var_of_y_1);
    MODC_RUN_HOOKED(cnn_y_1_shift, shift_of_y_1, p->_1.bias, off_of_y_1, scale_of_y_1);
    MODC_RUN_HOOKED(
        cnn_y_1_sub_fused, y_1.data, shift_of_y_1, scale_of_y_1, m_1_call_in[0].data, mean_of_y_1,
        batch);
    MODC_LEAVE(net, m_1_call, y_1);

    MODC_ENTER(net, m_2_call, CNN_2, m_1_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_2_forward, y_2.data, m_2_call_in[0].data, batch);
    MODC_LEAVE(net, m_2_call, y_2);

    MODC_ENTER(net, m_3_call, CNN_3, m_2_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_3_max_pool2d_fenced, y_3.data, m_3_call_in[0].data, batch);
    MODC_LEAVE(net, m_3_call, y_3);

    MODC_ENTER(net, m_4_call, CNN_4, m_3_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_4_copy, copy_of_y_4, m_4_call_in[0].data, batch);
    MODC_RUN_HOOKED(cnn_pack_y_4_weight, (void *)(ws + 65536), p->_4.weight);
    MODC_RUN_HOOKED(
        cnn_y_4_conv2d, conv2d_of_y_4, copy_of_y_4, (void *)(ws + 65536), p->_4.bias, batch);
    MODC_RUN_HOOKED(cnn_y_4_copy_batchx32x4x4, y_4.data, conv2d_of_y_4, batch);
    MODC_LEAVE(net, m_4_call, y_4);

    MODC_ENTER(net, m_5_call, CNN_5, m_4_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_1_num_batches_tracked, *_5_num_batches_tracked_shadow,
        *_5_num_batches_tracked_shadow);
    MODC_RUN_HOOKED(cnn_y_5_sum_fenced, first_of_y_5, m_5_call_in[0].data, batch);
    MODC_RUN_HOOKED(cnn_y_5_rest_fenced, rest_of_y_5, m_5_call_in[0].data, first_of_y_5, batch);
    MODC_RUN_HOOKED(cnn_y_5_add, mean_of_y_5, first_of_y_5, rest_of_y_5);
    MODC_RUN_HOOKED(cnn_y_5_off, off_of_y_5, rest_of_y_5, first_of_y_5, mean_of_y_5);
    MODC_RUN_HOOKED(cnn_y_5_sum_mean_fenced, sum_of_y_5, m_5_call_in[0].data, mean_of_y_5, batch);
    MODC_RUN_HOOKED(cnn_y_5_var, var_of_y_5, sum_of_y_5, off_of_y_5, batch);
    MODC_RUN_HOOKED(cnn_y_5_mul, mul_of_y_5, *_5_running_mean_shadow);
    MODC_RUN_HOOKED(
        cnn_y_5_mul_fused_mul_add_where, mul_fused_of_y_5, *_5_running_mean_shadow, mul_of_y_5,
        mean_of_y_5, batch);
    MODC_RUN_HOOKED(modc_cuda_copy, *_5_running_mean_shadow, mul_fused_of_y_5, sizeof(float) * 32);
    MODC_RUN_HOOKED(cnn_y_5_mul, mul_of_y_5_2, *_5_running_var_shadow);
    MODC_RUN_HOOKED(
        cnn_y_5_mul_fused_mul_mul_add_where, mul_fused_of_y_5_2, *_5_running_var_shadow,
        mul_of_y_5_2, var_of_y_5, batch);
    MODC_RUN_HOOKED(modc_cuda_copy, *_5_running_var_shadow, mul_fused_of_y_5_2, sizeof(float) * 32);
    MODC_RUN_HOOKED(cnn_y_5_scale, scale_of_y_5, p->_5.weight, var_of_y_5);
    MODC_RUN_HOOKED(cnn_y_5_shift, shift_of_y_5, p->_5.bias, off_of_y_5, scale_of_y_5);
    MODC_RUN_HOOKED(
        cnn_y_5_sub_fused, y_5.data, shift_of_y_5, scale_of_y_5, m_5_call_in[0].data, mean_of_y_5,
        batch);
    MODC_LEAVE(net, m_5_call, y_5);

    MODC_ENTER(net, m_6_call, CNN_6, m_5_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_6_forward, y_6.data, m_6_call_in[0].data, batch);
    MODC_LEAVE(net, m_6_call, y_6);

    MODC_ENTER(net, m_7_call, CNN_7, m_6_call_out[0]);
    MODC_RUN_HOOKED(cnn_y_7_max_pool2d_fenced, y_7.data, m_7_call_in[0].data, batch);
    MODC_LEAVE(net, m_7_call, y_7);

    MODC_ENTER(net, m_8_call, CNN_8, m_7_call_out[0]);
    MODC_LEAVE(net, m_8_call, {m_8_call_in[0].data, MODC_FLOAT32, 2, {batch, 128}});

    MODC_ENTER(net, m_9_call, CNN_9, m_8_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_9_forward, y_9.data, m_9_call_in[0].data, &net->cuda.head->random, 0, 10u, batch);
    MODC_LEAVE(net, m_9_call, y_9);

    MODC_ENTER(net, m_10_call, CNN_10, m_9_call_out[0]);
    MODC_RUN_HOOKED(
        cnn_y_10_linear_weight_bias, y_10.data, m_10_call_in[0].data, p->_10.weight, p->_10.bias,
        batch);
    MODC_LEAVE(net, m_10_call, y_10);
    MODC_LEAVE(net, self_call, m_10_call_out[0]);
    MODC_RUN_HOOKED(
        modc_cuda_copy, output, self_call_out[0].data, modc_tensor_bytes(&self_call_out[0]));

    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_1.num_batches_tracked, _1_num_batches_tracked_shadow,
        sizeof *(_1_num_batches_tracked_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_1.running_mean, _1_running_mean_shadow,
        sizeof *(_1_running_mean_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_1.running_var, _1_running_var_shadow,
        sizeof *(_1_running_var_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_5.num_batches_tracked, _5_num_batches_tracked_shadow,
        sizeof *(_5_num_batches_tracked_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_5.running_mean, _5_running_mean_shadow,
        sizeof *(_5_running_mean_shadow));
    MODC_RUN_HOOKED(
        modc_cuda_commit, net->cuda.head, p->_5.running_var, _5_running_var_shadow,
        sizeof *(_5_running_var_shadow));
    return MODC_OK;
}

enum modc_status cnn_forward(struct cnn *net, int batch, const float *image, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && image && output, POINTER);
    MODC_NEED(((uintptr_t)image | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= CNN_MAX_BATCH, SIZE);
    MODC_ON_DEVICE(image);
    MODC_ON_DEVICE(output);
    if (net->base.training) {
        if (net->base.params && net->base.params->read_only)
            return MODC_READ_ONLY;
        if (modc_hooked(&net->base)) {
            MODC_TRY(modc_check(&net->base, CNN_TRAIN_FENCED_WORKSPACE_BYTES, true, false));
            status = cnn_forward_train_fenced(net, batch, image, output);
        } else {
            MODC_TRY(modc_check(&net->base, CNN_TRAIN_WORKSPACE_BYTES, true, false));
            status = cnn_forward_train(net, batch, image, output);
        }
        if (status == MODC_OK) {
            net->base.params->buffer_version++;
            modc_cuda_wrote(&net->base);
            status = modc_cuda_drawn(&net->base);
        }
    } else {
        if (modc_hooked(&net->base)) {
            MODC_TRY(modc_check(&net->base, CNN_FENCED_WORKSPACE_BYTES, true, true));
            status = cnn_forward_eval_fenced(net, batch, image, output);
        } else {
            MODC_TRY(modc_check(&net->base, CNN_WORKSPACE_BYTES, true, true));
            status = cnn_forward_eval(net, batch, image, output);
        }
    }
    return status;
}

enum modc_status cnn_forward_host(struct cnn *net, int batch, const float *image, float *output)
{
    const void *given[2] = {image};
    void *made[2] = {output};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_call_host(&net->base, &cnn_model.entries[0], all_sizes, given, made);
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", CNN_MAX_BATCH}};

MODC_CALL(cnn, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"image", MODC_FLOAT32, 4, {CNN_MAX_BATCH, 1, 8, 8}, {0, -1, -1, -1}, false},
    {"output", MODC_FLOAT32, 2, {CNN_MAX_BATCH, 10}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_HOOKED(CNN), CNN_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 11, false},
    {"0", "0", "Conv2d", "1, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", 0, 0, false},
    {"1", "1", "BatchNorm2d",
     "16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True", 0, 0, false},
    {"2", "2", "ReLU", "", 0, 0, false},
    {"3", "3", "MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", 0, 0,
     false},
    {"4", "4", "Conv2d", "16, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", 0, 0, false},
    {"5", "5", "BatchNorm2d",
     "32, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True", 0, 0, false},
    {"6", "6", "ReLU", "", 0, 0, false},
    {"7", "7", "MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", 0, 0,
     false},
    {"8", "8", "Flatten", "start_dim=1, end_dim=-1", 0, 0, false},
    {"9", "9", "Dropout", "p=0.25, inplace=False", 0, 0, false},
    {"10", "10", "Linear", "in_features=128, out_features=10, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("0.weight", CNN_0, FLOAT32, UNIFORM(0.33333333), 4, {16, 1, 3, 3}),
    MODC_PARAMETER("0.bias", CNN_0, FLOAT32, UNIFORM(0.33333333), 1, {16}),
    MODC_PARAMETER("1.weight", CNN_1, FLOAT32, CONSTANT(1.0), 1, {16}),
    MODC_PARAMETER("1.bias", CNN_1, FLOAT32, CONSTANT(0.0), 1, {16}),
    MODC_BUFFER("1.running_mean", CNN_1, FLOAT32, CONSTANT(0.0), 1, {16}),
    MODC_BUFFER("1.running_var", CNN_1, FLOAT32, CONSTANT(1.0), 1, {16}),
    MODC_OPTIONAL("1.num_batches_tracked", CNN_1, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("4.weight", CNN_4, FLOAT32, UNIFORM(0.083333333), 4, {32, 16, 3, 3}),
    MODC_PARAMETER("4.bias", CNN_4, FLOAT32, UNIFORM(0.083333333), 1, {32}),
    MODC_PARAMETER("5.weight", CNN_5, FLOAT32, CONSTANT(1.0), 1, {32}),
    MODC_PARAMETER("5.bias", CNN_5, FLOAT32, CONSTANT(0.0), 1, {32}),
    MODC_BUFFER("5.running_mean", CNN_5, FLOAT32, CONSTANT(0.0), 1, {32}),
    MODC_BUFFER("5.running_var", CNN_5, FLOAT32, CONSTANT(1.0), 1, {32}),
    MODC_OPTIONAL("5.num_batches_tracked", CNN_5, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("10.weight", CNN_10, FLOAT32, UNIFORM(0.088388348), 2, {10, 128}),
    MODC_PARAMETER("10.bias", CNN_10, FLOAT32, UNIFORM(0.088388348), 1, {10}),
};

const struct modc_model cnn_model = {
    .abi = MODC_ABI, .name = "cnn", .schema = CNN_SCHEMA,
    .rtol = RTOL_OF_CNN,
    .align = MODC_ALIGN, .tensor_align = 256,
    .params_bytes = sizeof(struct cnn_params),
    .context_bytes = sizeof(struct cnn),
    .param_block = CNN_PARAM_BYTES,
    .packed_block = CNN_PACKED_BYTES, .pack = cnn_pack_all,
    .state_block = CNN_STATE_BYTES,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = CNN_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .device = &modc_cuda_device,
};
