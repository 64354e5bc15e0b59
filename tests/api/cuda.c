/* cuda.c - what a model on a GPU does beside computing: pointers of the host are refused, streams, devices that are not fit, and steps
 * of training that leave parameters out or are not taken, against the processor's. On the stand-in for a GPU. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "fused.h"
#include "fused_cuda.h"
#include "kept.h"
#include "kept_cuda.h"
#include "modc_host.h"

enum { BATCH = 8, OUTPUTS = 3 * BATCH };

static const int64_t indices[BATCH] = {0, 1, 2, 3, 4, 0, 1, 2}, wrong[BATCH] = {0, 1, 2, 7, 4, 0, 1, 2},
                     targets[BATCH] = {1, 1, 1, 1, 1, 1, 1, 1};
static const float small[3] = {1, -2, 0.5f}, huge[3] = {3e38f, 3e38f, 3e38f};

/* A model of either machine and update, by the runtime's own names. */
struct side {
    const struct modc_model *model;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_training *training;
    struct modc_optimizer *optimizer;
};

#define START(side, name)                                                                                    \
    do {                                                                                                     \
        (side)->model = &name##_model;                                                                       \
        CHECK_OK(modc_params_create(&name##_model, &(side)->params));                                        \
        CHECK_OK(name##_reset((struct name##_params *)(side)->params, 5));                                   \
        CHECK_OK(modc_create(&name##_model, (side)->params, 0, &(side)->net));                               \
        CHECK_OK(modc_training_create((side)->net, &(side)->training));                                      \
        (side)->optimizer = &((struct name##_training *)(side)->training)->optimizer.base;                   \
    } while (0)

static void end(struct side *side)
{
    modc_training_destroy(side->training);
    modc_destroy(side->net);
    modc_params_destroy(side->params);
}

/* A step on the host's memory. */
static enum modc_status step(struct side *side, const int64_t *index, const float *s, float *loss)
{
    const int sizes[1] = {BATCH};
    const void *inputs[6] = {index, s, targets};

    CHECK_OK(modc_pack(side->params, side->params->packed, side->model->packed_block));
    if (side->model->device == NULL)
        return side->model->train_step(side->training, sizes, inputs, loss);
    return side->model->device->train_host(side->training, sizes, inputs, loss);
}

static void set_gain(const struct side *side, float value)
{
    int key;
    float *gain;

    CHECK_OK(modc_get_parameter(side->model, "gain", &key));
    CHECK_OK(modc_settle(side->params));
    memcpy(&gain, (char *)side->params + modc_key_pointer(key), sizeof gain);
    for (int i = 0; i < 3; i++)
        gain[i] = value;
    modc_changed(side->params);
}

/* All parameters, and how many steps each has had. */
static void check_equal(const struct side *a, const struct side *b, double tolerance)
{
    for (int k = 0; k < a->model->key_count; k++) {
        float x[32], y[32];

        CHECK(modc_key_bytes(&a->model->keys[k]) <= sizeof x);
        CHECK_OK(modc_get(a->params, k, x));
        CHECK_OK(modc_get(b->params, k, y));
        for (size_t i = 0; i < modc_key_bytes(&a->model->keys[k]) / sizeof *x; i++)
            CHECK(fabs((double)x[i] - (double)y[i]) <= tolerance);
    }
    for (int i = 0; i < a->model->gradient_count; i++)
        CHECK(a->optimizer->steps[i] == b->optimizer->steps[i]);
    CHECK(a->optimizer->averaged == b->optimizer->averaged);
}

static void check_steps(struct side *host, struct side *device, bool fused)
{
    float loss[2];

    for (int i = 0; i < 2; i++) {
        CHECK_OK(step(host, indices, small, &loss[0]));
        CHECK_OK(step(device, indices, small, &loss[1]));
        CHECK(fabsf(loss[0] - loss[1]) < 1e-4f);
    }
    check_equal(host, device, 1e-5);
    set_gain(host, 0); /* so that the loss is finite */
    set_gain(device, 0);
    for (int i = 0; i < 2; i++) {
        struct side *side = i == 0 ? host : device;

        CHECK(step(side, indices, huge, &loss[i]) == MODC_NONFINITE);
        CHECK(isfinite(loss[i]));
        CHECK(side->optimizer->steps[KEPT_GRADIENT_GAIN] == 2); /* its gradient is infinite */
        CHECK(side->optimizer->steps[KEPT_GRADIENT_FC_BIAS] == (fused ? 3 : 2));
    }
    check_equal(host, device, 1e-5);
    for (int i = 0; i < 2; i++) {
        CHECK(step(i == 0 ? host : device, wrong, small, &loss[0]) == MODC_INDEX);
        CHECK((i == 0 ? host : device)->net->fault_value == 7);
    }
    check_equal(host, device, 1e-5);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(step(host, indices, small, &loss[0]));
        CHECK_OK(step(device, indices, small, &loss[1]));
        CHECK(fabsf(loss[0] - loss[1]) < 1e-4f);
    }
    check_equal(host, device, 1e-5);
}

static void test_steps(void)
{
    struct side host, device;

    START(&host, kept);
    START(&device, kept_cuda);
    check_steps(&host, &device, false);
    end(&host);
    end(&device);
    START(&host, fused);
    START(&device, fused_cuda);
    check_steps(&host, &device, true);
    end(&host);
    end(&device);
}

/* The argument, and that there are words for it. */
static void check_told(const struct modc_context *net, const char *name)
{
    const char *text;

    CHECK(strcmp(modc_device_failed(net, &text), name) == 0);
    CHECK(strstr(text, "host") != NULL);
}

static void test_pointers(void)
{
    struct modc_params *base;
    struct kept_cuda_params *params;
    struct kept_cuda *net, other;
    struct kept_cuda_training training;
    float host[OUTPUTS], *pinned, *s;
    int64_t *index;
    const char *text;
    void *block;

    CHECK_OK(modc_params_create(&kept_cuda_model, &base));
    params = (struct kept_cuda_params *)base;
    CHECK_OK(kept_cuda_reset(params, 5));
    CHECK_OK(kept_cuda_pack(params, NULL, 0));
    CHECK_OK(kept_cuda_create(params, &net));
    CHECK(cudaMalloc((void **)&index, sizeof indices) == cudaSuccess);
    CHECK(cudaMalloc((void **)&s, sizeof small) == cudaSuccess);
    CHECK(cudaMallocHost((void **)&pinned, sizeof host) == cudaSuccess);
    CHECK(cudaMemcpy(index, indices, sizeof indices, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(s, small, sizeof small, cudaMemcpyHostToDevice) == cudaSuccess);

    CHECK(kept_cuda_forward(net, BATCH, indices, s, pinned) == MODC_POINTER);
    check_told(&net->base, "index");
    CHECK(kept_cuda_forward(net, BATCH, index, s, host) == MODC_POINTER);
    check_told(&net->base, "output");
    CHECK_OK(kept_cuda_forward(net, BATCH, index, s, pinned)); /* which kernels reach */
    CHECK_OK(kept_cuda_sync(net));
    CHECK_OK(kept_cuda_forward_host(net, BATCH, indices, small, host));
    CHECK(memcmp(host, pinned, sizeof host) == 0);

    block = malloc(KEPT_CUDA_WORKSPACE_BYTES + KEPT_CUDA_PACKED_BYTES + KEPT_CUDA_TRAINING_BYTES + 256);
    CHECK(block != NULL);
    void *aligned = (char *)block + 256 - (uintptr_t)block % 256;

    CHECK(kept_cuda_init(&other, params, aligned, KEPT_CUDA_WORKSPACE_BYTES) == MODC_POINTER);
    check_told(&other.base, "workspace");
    CHECK(kept_cuda_training_init(&training, net, aligned, KEPT_CUDA_TRAINING_BYTES) == MODC_POINTER);
    check_told(&net->base, "block");
    CHECK(kept_cuda_pack(params, aligned, KEPT_CUDA_PACKED_BYTES) == MODC_POINTER);
    CHECK(strcmp(modc_params_failed(&params->base, &text), "packed") == 0 && strstr(text, "host") != NULL);

    free(block);
    kept_cuda_destroy(net);
    modc_params_destroy(base);
    cudaFree(index);
    cudaFree(s);
    cudaFreeHost(pinned);
}

/* A context changes its stream as soon as it is made, and later only when nothing of it runs. */
static void test_streams(void)
{
    struct modc_params *base;
    struct kept_cuda_params *params;
    struct kept_cuda *net;
    cudaStream_t streams[2];
    int64_t *index;
    float *s, *output;

    CHECK_OK(modc_params_create(&kept_cuda_model, &base));
    params = (struct kept_cuda_params *)base;
    CHECK_OK(kept_cuda_reset(params, 5));
    CHECK_OK(kept_cuda_pack(params, NULL, 0));
    CHECK_OK(kept_cuda_create(params, &net));
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaMalloc((void **)&index, sizeof indices) == cudaSuccess);
    CHECK(cudaMalloc((void **)&s, sizeof small) == cudaSuccess);
    CHECK(cudaMalloc((void **)&output, OUTPUTS * sizeof *output) == cudaSuccess);
    CHECK(cudaMemcpy(index, wrong, sizeof wrong, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(s, small, sizeof small, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK_OK(kept_cuda_set_stream(net, streams[0]));
    CHECK_OK(kept_cuda_forward(net, BATCH, index, s, output));
    CHECK(kept_cuda_set_stream(net, streams[1]) == MODC_BUSY);
    CHECK_OK(kept_cuda_set_stream(net, streams[0]));
    CHECK(kept_cuda_sync(net) == MODC_INDEX);
    CHECK_OK(kept_cuda_set_stream(net, streams[1]));
    CHECK_OK(kept_cuda_sync(net));
    kept_cuda_destroy(net);
    modc_params_destroy(base);
    for (int i = 0; i < 2; i++)
        cudaStreamDestroy(streams[i]);
    cudaFree(index);
    cudaFree(s);
    cudaFree(output);
}

/* No device, an old one, one that is full. */
static void test_devices(void)
{
    struct modc_params *base;
    struct kept_cuda_params *params;
    struct kept_cuda *net = NULL;
    const char *text;

    cuda_host_device(0, -1, -1);
    CHECK(kept_cuda_model.device->find(&text) == MODC_GPU && strstr(text, "no CUDA") != NULL);
    CHECK(modc_params_create(&kept_cuda_model, &base) == MODC_GPU);
    cuda_host_device(1, 75, -1);
    CHECK(kept_cuda_model.device->find(&text) == MODC_GPU && strstr(text, "8.0") != NULL);
    cuda_host_device(1, 90, -1);
    CHECK(kept_cuda_model.device->find(&text) == MODC_OK && text[0] == '\0');
    CHECK_OK(modc_params_create(&kept_cuda_model, &base));
    params = (struct kept_cuda_params *)base;
    CHECK_OK(kept_cuda_reset(params, 5));
    CHECK_OK(kept_cuda_pack(params, NULL, 0));
    cuda_host_device(-1, -1, 1);
    CHECK(kept_cuda_create(params, &net) == MODC_MEMORY && net == NULL);
    cuda_host_device(-1, -1, 1 << 30);
    CHECK_OK(kept_cuda_create(params, &net));
    kept_cuda_destroy(net);
    modc_params_destroy(base);
    CHECK(cuda_host_held() == 0);
}

int main(void)
{
    test_steps();
    test_pointers();
    test_streams();
    test_devices();
    return 0;
}
