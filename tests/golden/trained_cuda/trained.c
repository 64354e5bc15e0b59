/* trained.c - written by modc from trained.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "trained.h"

#include <string.h>

#include "trained_kernels.h"
#include "modc_simd.h"

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 896.0
#define MACS_OF_LOSS 912.0
#define RTOL_OF_TRAINED 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \

#define TENSORS_OF_FORWARD_EVAL_BACKWARD \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const dy_0 = (void *)(ws + 512); /* (batch, 16) */ \

#define TENSORS_OF_LOSS_EVAL \
    bool *const counts = (void *)(ws + 512); /* (batch) */ \
    int64_t *const at = (void *)(ws + 768); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const y_2 = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const log_softmax_of_x = (void *)(ws + 0); /* (batch, 3) */ \
    float *const gather = (void *)(ws + 256); /* (batch, 1) */ \
    float *const kept_ = (void *)(ws + 256); /* (batch, 1) */ \
    int64_t *const sum = (void *)(ws + 0); /* () */ \

#define TENSORS_OF_LOSS_EVAL_SAVING \
    bool *const counts = (void *)(ws + 512); /* (batch) */ \
    int64_t *const at = (void *)(ws + 768); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const y_2 = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const log_softmax_of_x = (void *)(ws + 1280); /* (batch, 3) */ \
    float *const gather = (void *)(ws + 1024); /* (batch, 1) */ \
    float *const kept_ = (void *)(ws + 1024); /* (batch, 1) */ \
    int64_t *const sum_of_model = (void *)(ws + 1536); /* () */ \

#define TENSORS_OF_LOSS_EVAL_BACKWARD \
    bool *const counts = (void *)(ws + 512); /* (batch) */ \
    int64_t *const at = (void *)(ws + 768); /* (batch) */ \
    float *const y_0 = (void *)(ws + 0); /* (batch, 16) */ \
    float *const log_softmax_of_x = (void *)(ws + 1280); /* (batch, 3) */ \
    int64_t *const sum_of_model = (void *)(ws + 1536); /* () */ \
    float *const ddiv = (void *)(ws + 1024); /* () */ \
    float *const dwhere_fused = (void *)(ws + 1536); /* (batch) */ \
    float *const dx = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const sum_of_model_2 = (void *)(ws + 512); /* (batch, 1) */ \
    float *const dy_2 = (void *)(ws + 1024); /* (batch, 3) */ \
    float *const dy_0 = (void *)(ws + 512); /* (batch, 16) */ \

/* What a context works with. */
#define CONTEXT_OF_TRAINED \
    const struct trained_tensors *const p MODC_UNUSED = \
        &((const struct trained_params *)(const void *)net->base.params)->device; \
    const struct trained_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace + TRAINED_STATE_BYTES

/* What the kernels read */
struct trained_packed {
    MODC_ALIGNED char parameters[1024]; /* as they lie in their own block */
};

#define PACKED_OF(params) ((struct trained_packed *)(params)->packed)

typedef char trained_packed_fits[sizeof(struct trained_packed) <= TRAINED_PACKED_BYTES ? 1 : -1];

static enum modc_status trained_pack_all(struct modc_params *params)
{
    struct trained_packed *k MODC_UNUSED = params->packed;

    MODC_TRY(modc_upload(params));
    return modc_uploaded(params);
}

static enum modc_status trained_forward_eval(struct trained *net, int batch, const float *x,
                                             float *output)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_FORWARD_EVAL;

    /* 0: Linear(4, 16)
     * 1: ReLU() */
    MODC_RUN(trained_y_0_linear_fused, y_0, x, p->_0.weight, p->_0.bias, batch);

    /* 2: Linear(16, 3) */
    MODC_RUN(trained_y_2_linear, output, y_0, p->_2.weight, p->_2.bias, batch);
    return MODC_OK;
}

#define trained_forward_eval_saving trained_forward_eval /* backward reads what it leaves */

static enum modc_status trained_forward_eval_backward(struct trained *net, int batch,
                                                      const float *x, const float *doutput,
                                                      float *dx)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_FORWARD_EVAL_BACKWARD;
    const struct trained_training *training = (const void *)net->base.trainer;
    const struct trained_tensors *gradients = &training->gradients.device;

    /* 2, backward */
    if (training->base.wants[TRAINED_GRADIENT_2_BIAS])
        MODC_RUN(
            trained_y_2_dbias, gradients->_2.bias, doutput, gradients->_2.bias,
            modc_present(&training->base, TRAINED_GRADIENT_2_BIAS), batch);
    if (training->base.wants[TRAINED_GRADIENT_2_WEIGHT])
        MODC_RUN(
            trained_y_2_dweight, gradients->_2.weight, doutput, y_0, NULL, gradients->_2.weight,
            modc_present(&training->base, TRAINED_GRADIENT_2_WEIGHT), batch);
    MODC_RUN(trained_y_2_dinput, dy_0, doutput, p->_2.weight, NULL, y_0, batch);

    /* 0, backward */
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        MODC_RUN(
            trained_y_0_dweight, gradients->_0.weight, dy_0, x, NULL, gradients->_0.weight,
            modc_present(&training->base, TRAINED_GRADIENT_0_WEIGHT), batch);
    if (dx)
        MODC_RUN(trained_y_0_dinput, dx, dy_0, p->_0.weight, NULL, batch);

    modc_backward_end(&net->base, NULL, TRAINED_GRADIENTS);
    return MODC_OK;
}

static enum modc_status trained_loss_eval(struct trained *net, int batch, const float *x,
                                          const int64_t *target, float *loss)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL;

    MODC_RUN(trained_root_ne, counts, target, batch);
    MODC_RUN(trained_root_where, at, counts, target, batch);
    MODC_RUN(modc_cuda_check_index, net->cuda.head, TRAINED_ROOT, at, MODC_INT64, batch, 0, 3);

    /* 0, 1 */
    MODC_RUN(trained_y_0_linear_fused, y_0, x, p->_0.weight, p->_0.bias, batch);

    /* 2 */
    MODC_RUN(trained_y_2_linear, y_2, y_0, p->_2.weight, p->_2.bias, batch);
    MODC_RUN(trained_root_log_softmax, log_softmax_of_x, y_2, batch);
    MODC_RUN(trained_root_gather, gather, log_softmax_of_x, at, batch, &net->cuda.head->fault);
    MODC_RUN(trained_root_kept, kept_, counts, gather, batch);
    MODC_RUN(trained_root_sum, sum, counts, batch);
    MODC_RUN(trained_root_loss, loss, kept_, sum, batch);
    return MODC_OK;
}

static enum modc_status trained_loss_eval_saving(struct trained *net, int batch, const float *x,
                                                 const int64_t *target, float *loss)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL_SAVING;

    MODC_RUN(trained_root_ne, counts, target, batch);
    MODC_RUN(trained_root_where, at, counts, target, batch);
    MODC_RUN(modc_cuda_check_index, net->cuda.head, TRAINED_ROOT, at, MODC_INT64, batch, 0, 3);

    /* 0, 1 */
    MODC_RUN(trained_y_0_linear_fused, y_0, x, p->_0.weight, p->_0.bias, batch);

    /* 2 */
    MODC_RUN(trained_y_2_linear, y_2, y_0, p->_2.weight, p->_2.bias, batch);
    MODC_RUN(trained_root_log_softmax, log_softmax_of_x, y_2, batch);
    MODC_RUN(trained_root_gather, gather, log_softmax_of_x, at, batch, &net->cuda.head->fault);
    MODC_RUN(trained_root_kept, kept_, counts, gather, batch);
    MODC_RUN(trained_root_sum, sum_of_model, counts, batch);
    MODC_RUN(trained_root_loss, loss, kept_, sum_of_model, batch);
    return MODC_OK;
}

static enum modc_status trained_loss_eval_backward(struct trained *net, int batch, const float *x)
{
    CONTEXT_OF_TRAINED;
    TENSORS_OF_LOSS_EVAL_BACKWARD;
    const struct trained_training *training = (const void *)net->base.trainer;
    const struct trained_tensors *gradients = &training->gradients.device;

    MODC_RUN(trained_root_ddiv, ddiv, sum_of_model);
    MODC_RUN(trained_root_dwhere_fused, dwhere_fused, counts, ddiv, batch);
    MODC_RUN(modc_cuda_zero, dx, 0, sizeof(float) * (size_t)(3 * batch));
    MODC_RUN(trained_root_dgather, dx, dwhere_fused, at, batch, &net->cuda.head->fault);
    MODC_RUN(trained_root_sum_dx, sum_of_model_2, dx, batch);
    MODC_RUN(trained_root_dy_2, dy_2, dx, sum_of_model_2, log_softmax_of_x, batch);

    /* 2, backward */
    if (training->base.wants[TRAINED_GRADIENT_2_BIAS])
        MODC_RUN(
            trained_y_2_dbias, gradients->_2.bias, dy_2, gradients->_2.bias,
            modc_present(&training->base, TRAINED_GRADIENT_2_BIAS), batch);
    if (training->base.wants[TRAINED_GRADIENT_2_WEIGHT])
        MODC_RUN(
            trained_y_2_dweight, gradients->_2.weight, dy_2, y_0, NULL, gradients->_2.weight,
            modc_present(&training->base, TRAINED_GRADIENT_2_WEIGHT), batch);
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        MODC_RUN(trained_y_2_dinput, dy_0, dy_2, p->_2.weight, NULL, y_0, batch);

    /* 0, backward */
    if (training->base.wants[TRAINED_GRADIENT_0_WEIGHT])
        MODC_RUN(
            trained_y_0_dweight, gradients->_0.weight, dy_0, x, NULL, gradients->_0.weight,
            modc_present(&training->base, TRAINED_GRADIENT_0_WEIGHT), batch);

    modc_backward_end(&net->base, NULL, TRAINED_GRADIENTS);
    return MODC_OK;
}

/* What a step of AdamW of one parameter reads. hyper: lr, beta1, beta2, eps, weight_decay. */
static void adamw_decay_float32_scalars(const double *hyper, double step, void *const *state,
                                        double *scalars)
{
    const double lr = hyper[0];
    const double beta1 = hyper[1];
    const double beta2 = hyper[2];
    const double eps = hyper[3];
    const double weight_decay = hyper[4];
    const double kept = 1.0 - lr * weight_decay;
    const double part1 = 1.0 - beta1;
    const double part2 = 1.0 - beta2;
    const double step_size = lr / (1.0 - modc_f64s_pow(beta1, step));
    const double rescale = 1.0 / modc_f64s_sqrt(1.0 - modc_f64s_pow(beta2, step));

    (void)state;
    scalars[0] = beta2;
    scalars[1] = eps;
    scalars[2] = kept;
    scalars[3] = part1;
    scalars[4] = part2;
    scalars[5] = step_size;
    scalars[6] = rescale;
}

static int adamw_decay_float32_launch(void *stream, void *param, const void *grad,
                                      void *const *state, size_t count, const double *scalars)
{
    return trained_adamw_decay_float32(stream, param, grad, state[0], state[1], (int64_t)count,
                                       scalars);
}

/* What a step of AdamW of one parameter reads. hyper: lr, beta1, beta2, eps, weight_decay. */
static void adamw_float32_scalars(const double *hyper, double step, void *const *state,
                                  double *scalars)
{
    const double lr = hyper[0];
    const double beta1 = hyper[1];
    const double beta2 = hyper[2];
    const double eps = hyper[3];
    const double part1 = 1.0 - beta1;
    const double part2 = 1.0 - beta2;
    const double step_size = lr / (1.0 - modc_f64s_pow(beta1, step));
    const double rescale = 1.0 / modc_f64s_sqrt(1.0 - modc_f64s_pow(beta2, step));

    (void)state;
    scalars[0] = beta2;
    scalars[1] = eps;
    scalars[2] = part1;
    scalars[3] = part2;
    scalars[4] = step_size;
    scalars[5] = rescale;
}

static int adamw_float32_launch(void *stream, void *param, const void *grad, void *const *state,
                                size_t count, const double *scalars)
{
    return trained_adamw_float32(stream, param, grad, state[0], state[1], (int64_t)count, scalars);
}

enum modc_status trained_forward(struct trained *net, int batch, const float *x, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TRAINED_MAX_BATCH, SIZE);
    MODC_ON_DEVICE(x);
    MODC_ON_DEVICE(output);
    if (modc_saves(&net->base)) {
        MODC_TRY(modc_check(&net->base, TRAINED_BACKWARD_WORKSPACE_BYTES, true, false));
        status = trained_forward_eval_saving(net, batch, x, output);
        net->saved_inputs[0] = x;
        net->saved_sizes[0] = batch;
        net->base.saved_version = net->base.params->version;
        net->base.saved = status != MODC_OK ? 0 : 1;
    } else {
        MODC_TRY(modc_check(&net->base, TRAINED_WORKSPACE_BYTES, true, false));
        status = trained_forward_eval(net, batch, x, output);
    }
    return status;
}

enum modc_status trained_forward_host(struct trained *net, int batch, const float *x, float *output)
{
    const void *given[2] = {x};
    void *made[2] = {output};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_call_host(
                           &net->base, &trained_model.entries[0], all_sizes, given, made);
}

enum modc_status trained_backward(struct trained *net, int batch, const float *doutput, float *dx)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && doutput, POINTER);
    MODC_NEED(((uintptr_t)dx | (uintptr_t)doutput) % 4 == 0, ALIGNMENT);
    MODC_TRY(modc_backward_begin(&net->base, 0));
    MODC_NEED(batch == net->saved_sizes[0], SIZE);
    MODC_ON_DEVICE(doutput);
    MODC_ON_DEVICE(dx);
    status = trained_forward_eval_backward(net, batch, net->saved_inputs[0], doutput, dx);
    return status;
}

enum modc_status trained_backward_host(struct trained *net, int batch, const float *doutput,
                                       float *dx)
{
    const void *given[2] = {doutput};
    void *made[2] = {dx};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_backward_host(
                           &net->base, &trained_model.entries[0], all_sizes, given, made);
}

enum modc_status trained_loss(struct trained *net, int batch, const float *x, const int64_t *target,
                              float *loss)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && target && loss, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)loss) % 4 == 0, ALIGNMENT);
    MODC_NEED((uintptr_t)target % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TRAINED_MAX_BATCH, SIZE);
    MODC_ON_DEVICE(x);
    MODC_ON_DEVICE(target);
    MODC_ON_DEVICE(loss);
    if (modc_saves(&net->base)) {
        MODC_TRY(modc_check(&net->base, TRAINED_LOSS_BACKWARD_WORKSPACE_BYTES, true, false));
        status = trained_loss_eval_saving(net, batch, x, target, loss);
        net->saved_inputs[0] = x;
        net->saved_inputs[1] = target;
        net->saved_sizes[0] = batch;
        net->base.saved_version = net->base.params->version;
        net->base.saved = status != MODC_OK ? 0 : 3;
    } else {
        MODC_TRY(modc_check(&net->base, TRAINED_LOSS_WORKSPACE_BYTES, true, false));
        status = trained_loss_eval(net, batch, x, target, loss);
    }
    return status;
}

enum modc_status trained_loss_host(struct trained *net, int batch, const float *x,
                                   const int64_t *target, float *loss)
{
    const void *given[4] = {x, target};
    void *made[2] = {loss};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_call_host(
                           &net->base, &trained_model.entries[1], all_sizes, given, made);
}

enum modc_status trained_loss_backward(struct trained *net, int batch)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net, POINTER);
    MODC_TRY(modc_backward_begin(&net->base, 1));
    MODC_NEED(batch == net->saved_sizes[0], SIZE);
    status = trained_loss_eval_backward(net, batch, net->saved_inputs[0]);
    return status;
}

enum modc_status trained_loss_backward_host(struct trained *net, int batch)
{
    const void *given[2] = {NULL};
    void *made[4] = {NULL, NULL};
    const int all_sizes[] = {batch};

    return net == NULL ? MODC_POINTER
                       : modc_backward_host(
                           &net->base, &trained_model.entries[1], all_sizes, given, made);
}

enum modc_status trained_train_step(struct trained_training *training, int batch, const float *x,
                                    const int64_t *target, float *loss)
{
    struct trained *net;
    enum modc_status status;

    if (!training || !training->base.net)
        return MODC_POINTER;
    if (batch == 0)
        return MODC_SIZE;
    net = (struct trained *)(void *)training->base.net;
    status = trained_loss(net, batch, x, target, loss);
    if (status != MODC_OK)
        return status;
    modc_zero_grad(&training->base, true);
    status = trained_loss_backward(net, batch);
    return status == MODC_OK ? trained_step(training) : status;
}

MODC_TRAIN_CALLS(trained, (training, sizes[0], inputs[0], inputs[1], loss))

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", TRAINED_MAX_BATCH}};

MODC_CALL(trained, forward, (net, sizes[0], inputs[0], outputs[0]))
MODC_BACKWARD_CALL(
    trained, forward, backward, (net, sizes[0], output_gradients[0], input_gradients[0]))
MODC_CALL(trained, loss, (net, sizes[0], inputs[0], inputs[1], outputs[0]))
MODC_BACKWARD_CALL(trained, loss, loss_backward, (net, sizes[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 4}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 3}, {0, -1}, false},
};

static const struct modc_io loss_io[] = {
    {"x", MODC_FLOAT32, 2, {TRAINED_MAX_BATCH, 4}, {0, -1}, false},
    {"target", MODC_INT64, 1, {TRAINED_MAX_BATCH}, {0}, false},
    {"loss", MODC_FLOAT32, 0, {0}, {0}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, forward_backward_call, MODC_SAVING(TRAINED),
               TRAINED_MAX_BATCH),
    MODC_ENTRY(loss, 2, 1, MACS_OF_LOSS, NULL, loss_backward_call, MODC_SAVING(TRAINED_LOSS),
               TRAINED_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "Sequential", "", -1, 3, false},
    {"0", "0", "Linear", "in_features=4, out_features=16, bias=True", 0, 0, false},
    {"1", "1", "ReLU", "", 0, 0, false},
    {"2", "2", "Linear", "in_features=16, out_features=3, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("0.weight", TRAINED_0, FLOAT32, UNIFORM(0.5), 2, {16, 4}),
    MODC_FROZEN("0.bias", TRAINED_0, FLOAT32, UNIFORM(0.5), 1, {16}),
    MODC_PARAMETER("2.weight", TRAINED_2, FLOAT32, UNIFORM(0.25), 2, {3, 16}),
    MODC_PARAMETER("2.bias", TRAINED_2, FLOAT32, UNIFORM(0.25), 1, {3}),
};

static const int gradients_table[] = { /* keys */
    0, 2, 3,
};

const struct modc_model trained_model = {
    .abi = MODC_ABI, .name = "trained", .schema = TRAINED_SCHEMA,
    .rtol = RTOL_OF_TRAINED,
    .align = MODC_ALIGN, .tensor_align = 256,
    .params_bytes = sizeof(struct trained_params),
    .context_bytes = sizeof(struct trained),
    .param_block = TRAINED_PARAM_BYTES,
    .packed_block = TRAINED_PACKED_BYTES, .pack = trained_pack_all,
    .state_block = TRAINED_STATE_BYTES,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = TRAINED_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .gradient_count = TRAINED_GRADIENTS, .gradients = gradients_table,
    .gradient_block = TRAINED_GRADIENT_BYTES,
    .training_bytes = sizeof(struct trained_training),
    .gradients_offset = offsetof(struct trained_training, gradients),
    .training_block = TRAINED_TRAINING_BYTES,
    .training_init = training_init_call,
    .train_step = train_step_call,
    .device = &modc_cuda_device,
};

static const char *const optimizer_hypers[] = {"lr", "beta1", "beta2", "eps", "weight_decay"};
static const double optimizer_hyper_0[] = {0.001, 0.9, 0.999, 1e-08, 0.0};
static const struct modc_optimizer_state optimizer_states_0[] = {
    {"exp_avg", false, 0.0},
    {"exp_avg_sq", false, 0.0},
};
static const double optimizer_hyper_1[] = {0.001, 0.9, 0.999, 1e-08, 0.01};
static const struct modc_optimizer_state optimizer_states_1[] = {
    {"exp_avg", false, 0.0},
    {"exp_avg_sq", false, 0.0},
};
static const struct modc_optimizer_group optimizer_groups[] = {
    {optimizer_hyper_0, 16, 2, optimizer_states_0},
    {optimizer_hyper_1, 0, 2, optimizer_states_1},
};
/* step, group, elements, where in the block its states begin */
static const struct modc_optimizer_param optimizer_params[] = {
    {NULL, 1, 64, {0, 256, 0}, 0}, /* 0.weight */
    {NULL, 1, 48, {512, 768, 0}, 0}, /* 2.weight */
    {NULL, 0, 3, {1024, 1280, 0}, 0}, /* 2.bias */
};
static const struct modc_device_update optimizer_updates[] = {
    {adamw_decay_float32_scalars, adamw_decay_float32_launch},
    {adamw_decay_float32_scalars, adamw_decay_float32_launch},
    {adamw_float32_scalars, adamw_float32_launch},
};
static const struct modc_saved optimizer_saved[] = {
    {"optimizer", MODC_SAVED_CONSTANT, 0, 0, 5, MODC_UINT8, "AdamW"},
    {"param_groups.0.params", MODC_SAVED_CONSTANT, 0, 0, 7, MODC_UINT8, "2.bias\n"},
    {"param_groups.0.lr", MODC_SAVED_HYPER, 0, 0, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.betas", MODC_SAVED_HYPER, 0, 1, 2, MODC_FLOAT64, NULL},
    {"param_groups.0.eps", MODC_SAVED_HYPER, 0, 3, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.weight_decay", MODC_SAVED_HYPER, 0, 4, 0, MODC_FLOAT64, NULL},
    {"param_groups.0.amsgrad", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.0.maximize", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.1.params", MODC_SAVED_CONSTANT, 0, 0, 18, MODC_UINT8, "0.weight\n2.weight\n"},
    {"param_groups.1.lr", MODC_SAVED_HYPER, 1, 0, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.betas", MODC_SAVED_HYPER, 1, 1, 2, MODC_FLOAT64, NULL},
    {"param_groups.1.eps", MODC_SAVED_HYPER, 1, 3, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.weight_decay", MODC_SAVED_HYPER, 1, 4, 0, MODC_FLOAT64, NULL},
    {"param_groups.1.amsgrad", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"param_groups.1.maximize", MODC_SAVED_CONSTANT, 0, 0, 0, MODC_BOOL, "\0"},
    {"state.0.weight.step", MODC_SAVED_STEP, 0, 0, 0, MODC_FLOAT32, NULL},
    {"state.0.weight.exp_avg", MODC_SAVED_STATE, 0, 0, 0, MODC_FLOAT32, NULL},
    {"state.0.weight.exp_avg_sq", MODC_SAVED_STATE, 0, 1, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.step", MODC_SAVED_STEP, 1, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.exp_avg", MODC_SAVED_STATE, 1, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.weight.exp_avg_sq", MODC_SAVED_STATE, 1, 1, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.step", MODC_SAVED_STEP, 2, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.exp_avg", MODC_SAVED_STATE, 2, 0, 0, MODC_FLOAT32, NULL},
    {"state.2.bias.exp_avg_sq", MODC_SAVED_STATE, 2, 1, 0, MODC_FLOAT32, NULL},
};

const struct modc_optimizer_table trained_optimizer_table = {
    .name = "AdamW",
    .hyper_count = 5,
    .momentum = 1,
    .hypers = optimizer_hypers,
    .counted = true,
    .eager = false,
    .group_count = 2,
    .groups = optimizer_groups,
    .param_count = 3,
    .params = optimizer_params,
    .saved_count = 24,
    .saved = optimizer_saved,
    .clip = MODC_CLIP_NORM,
    .max_norm = 1.0,
    .norm_type = 2.0,
    .error_if_nonfinite = false,
    .updates = optimizer_updates,
    .scalars_at = offsetof(struct trained_optimizer, scalars),
    .scalar_states_at = offsetof(struct trained_optimizer, scalar_states),
    .next_states_at = offsetof(struct trained_optimizer, next_states),
    .device_scalars = 1536,
    .block = TRAINED_OPTIMIZER_BYTES,
    .groups_at = offsetof(struct trained_optimizer, groups),
    .steps_at = offsetof(struct trained_optimizer, steps),
};
