/* cuda.c - what a model on a GPU does beside computing: pointers of the host are refused, streams, devices that are not fit, and steps
 * of training that leave parameters out or are not taken, or are on float32 copies under a scaler, against the processor's and PyTorch's.
 * On the stand-in for a GPU. */
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
#include "small.h"
#include "small_cuda.h"
#include "unscaled.h"
#include "unscaled_cuda.h"

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

/* ---- float32 copies, scalers ---- */

enum { SCALED_STEPS = 12, SCALED_MIDDLE = 6 };

static struct modc_reader of_torch;

/* A file of an optimiser. */
struct file {
    char bytes[1 << 14];
    size_t length;
};

static const void *item_of(const struct modc_reader *reader, const char *prefix, const char *name,
                           size_t bytes)
{
    struct modc_item item;

    CHECK(modc_reader_find_joined(reader, prefix, name, &item) && item.bytes == bytes);
    return item.data;
}

static void set_parameter(const struct side *side, int key, const void *value)
{
    void *at;

    CHECK_OK(modc_settle(side->params));
    memcpy(&at, (char *)side->params + modc_key_pointer(key), sizeof at);
    memcpy(at, value, modc_key_bytes(&side->model->keys[key]));
    modc_changed(side->params);
}

static void save(const struct side *side, struct file *file)
{
    CHECK_OK(modc_optimizer_save_bytes(side->optimizer, file->bytes, sizeof file->bytes, &file->length));
}

static void check_same(const struct file *a, const struct file *b)
{
    CHECK(a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0);
}

static void check_same_parameters(const struct side *a, const struct side *b)
{
    for (int k = 0; k < a->model->key_count; k++) {
        uint16_t x[64], y[64];

        CHECK(modc_key_bytes(&a->model->keys[k]) <= sizeof x);
        CHECK_OK(modc_get(a->params, k, x));
        CHECK_OK(modc_get(b->params, k, y));
        CHECK(memcmp(x, y, modc_key_bytes(&a->model->keys[k])) == 0);
    }
}

/* As PyTorch begins. */
static void begin_scaled(struct side *side, bool on_device)
{
    if (on_device)
        START(side, small_cuda);
    else
        START(side, small);
    for (int k = 0; k < side->model->key_count; k++) {
        const struct modc_key *key = &side->model->keys[k];

        set_parameter(side, k, item_of(&of_torch, "before.", key->name, modc_key_bytes(key)));
    }
    CHECK(modc_loss_scale(side->optimizer) == 262144.0f && !modc_step_skipped(side->optimizer));
}

/* Of each step the scale, and whether it is left out, are PyTorch's. */
static void take_scaled(struct side *side, int from, int to)
{
    const float *scales = item_of(&of_torch, "", "scales", sizeof(float) * SCALED_STEPS);
    const unsigned char *skipped = item_of(&of_torch, "", "skipped", SCALED_STEPS);

    for (int i = from; i < to; i++) {
        uint16_t x[20], weight[10];
        const void *inputs[4] = {x, weight};
        float loss, scale;

        memcpy(x, item_of(&of_torch, "", "x", sizeof x), sizeof x);
        memcpy(weight, item_of(&of_torch, "", "weight", sizeof weight), sizeof weight);
        if (i == 4 || i == 8 || i == 9)
            modc_store(&x[6], MODC_BFLOAT16, (double)INFINITY);
        CHECK_OK(modc_pack(side->params, side->params->packed, side->model->packed_block));
        CHECK_OK(side->model->device == NULL
                     ? side->model->train_step(side->training, NULL, inputs, &loss)
                     : side->model->device->train_host(side->training, NULL, inputs, &loss));
        memcpy(&scale, scales + i, sizeof scale);
        CHECK(modc_loss_scale(side->optimizer) == scale);
        CHECK(modc_step_skipped(side->optimizer) == skipped[i]);
    }
}

/* Copies and averages of a file are PyTorch's, up to roundings of gradients to 16 bits. */
static void check_of_torch(const struct side *side, const struct file *file)
{
    static const char *const prefixes[2][2] = {{"master.", "master."}, {"ema.module.", "average."}};
    struct modc_reader reader;

    CHECK_OK(modc_reader_open(&reader, file->bytes, file->length, NULL));
    for (int i = 0; i < side->model->gradient_count; i++) {
        const struct modc_key *key = &side->model->keys[modc_gradient_key(side->model, i)];
        const size_t bytes = 2 * modc_key_bytes(key);

        for (int p = 0; p < 2; p++) {
            const char *found = item_of(&reader, prefixes[p][0], key->name, bytes),
                       *expected = item_of(&of_torch, prefixes[p][1], key->name, bytes);

            for (size_t at = 0; at < bytes; at += sizeof(float)) {
                float x, y;

                memcpy(&x, found + at, sizeof x);
                memcpy(&y, expected + at, sizeof y);
                CHECK(fabsf(x - y) <= 0x1p-7f * fmaxf(fabsf(y), 0.125f));
            }
        }
    }
}

static void end_training(struct side *side, bool on_device)
{
    modc_training_destroy(side->training);
    CHECK_OK(modc_training_create(side->net, &side->training));
    side->optimizer = on_device ? &((struct small_cuda_training *)side->training)->optimizer.base
                                : &((struct small_training *)side->training)->optimizer.base;
}

/* With averages in their places parameters are these, rounded, and go back to what they were. */
static void swap_scaled(const struct side *one, const struct side *other, const struct file *before)
{
    struct file behind;

    for (int i = 0; i < 2; i++) {
        CHECK_OK(modc_average_swap(one->optimizer));
        CHECK_OK(modc_average_swap(other->optimizer));
        check_same_parameters(one, other);
        save(one, &behind);
        CHECK(i == 1 || memcmp(behind.bytes, before->bytes, before->length) != 0);
    }
    check_same(before, &behind);
}

/* What a program writes into a parameter is what the next step begins with, and averages. */
static void write_scaled(struct side *side)
{
    struct modc_reader reader;
    struct file file;
    uint16_t values[2];
    float copies[2];
    int key;

    CHECK_OK(modc_get_parameter(side->model, "head.bias", &key));
    CHECK_OK(modc_get(side->params, key, values));
    modc_store(&values[0], MODC_BFLOAT16, 64.0);
    set_parameter(side, key, values);
    take_scaled(side, 4, 5); /* which is left out */
    CHECK_OK(modc_get(side->params, key, values));
    CHECK(modc_number(&values[0], MODC_BFLOAT16) == 64.0);
    CHECK_OK(modc_average_update(side->optimizer));
    save(side, &file);
    CHECK_OK(modc_reader_open(&reader, file.bytes, file.length, NULL));
    memcpy(copies, item_of(&reader, "master.", "head.bias", sizeof copies), sizeof copies);
    CHECK(copies[0] == 64.0f);
    take_scaled(side, 5, 6);
    save(side, &file);
    memcpy(copies, item_of(&reader, "master.", "head.bias", sizeof copies), sizeof copies);
    CHECK(copies[0] > 62.0f && copies[0] < 66.0f && copies[0] != 64.0f);
    CHECK_OK(modc_get(side->params, key, values));
    CHECK(fabs(modc_number(&values[0], MODC_BFLOAT16) - (double)copies[0]) <= 0.25);
}

/* A step in its parts, as programs take it that look at gradients. */
static void step_by_parts(struct side *side)
{
    struct small_cuda *net = (struct small_cuda *)side->net;
    uint16_t *x;
    float *loss;

    CHECK(cudaMalloc((void **)&x, 2 * (20 + 10 + 2)) == cudaSuccess);
    loss = (float *)(void *)(x + 30);
    CHECK(cudaMemcpy(x, item_of(&of_torch, "", "x", 40), 40, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(x + 20, item_of(&of_torch, "", "weight", 20), 20, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    CHECK_OK(modc_pack(side->params, side->params->packed, side->model->packed_block));
    for (int i = 0; i < 4; i++) {
        modc_zero_grad(side->training, true);
        CHECK_OK(small_cuda_loss(net, x, x + 20, loss));
        CHECK_OK(small_cuda_loss_backward(net));
        CHECK_OK(modc_optimizer_unscale(side->optimizer));
        CHECK_OK(modc_optimizer_unscale(side->optimizer)); /* once is enough */
        if (!side->optimizer->found)
            CHECK_OK(modc_optimizer_clip(side->optimizer, NULL));
        CHECK_OK(modc_optimizer_step(side->optimizer));
        CHECK_OK(modc_scaler_update(side->optimizer));
        if (!modc_step_skipped(side->optimizer))
            CHECK_OK(modc_average_update(side->optimizer));
    }
    cudaFree(x);
}

static void test_scaled(void)
{
    struct side host, device, parts;
    struct file middle, files[2], again;
    const void *bytes;
    size_t length;

    CHECK_OK(modc_map("tests/optim/scaled_bfloat16.safetensors", &bytes, &length));
    CHECK_OK(modc_reader_open(&of_torch, bytes, length, NULL));
    begin_scaled(&host, false);
    begin_scaled(&device, true);
    begin_scaled(&parts, true);
    take_scaled(&device, 0, 4);
    step_by_parts(&parts);
    save(&device, &files[0]);
    save(&parts, &files[1]);
    check_same(&files[0], &files[1]);
    write_scaled(&parts);
    end(&parts);

    take_scaled(&host, 0, SCALED_STEPS);
    take_scaled(&device, 4, SCALED_STEPS);
    save(&host, &files[0]);
    save(&device, &files[1]);
    check_of_torch(&host, &files[0]);
    check_of_torch(&device, &files[1]);
    check_same(&files[0], &files[1]); /* so few elements that sums are in one order */
    check_same_parameters(&host, &device);
    swap_scaled(&device, &host, &files[1]);
    end(&host);

    begin_scaled(&host, true);
    take_scaled(&host, 0, SCALED_MIDDLE);
    save(&host, &middle);
    end_training(&host, true);
    CHECK_OK(modc_optimizer_load_bytes(host.optimizer, middle.bytes, middle.length, NULL));
    save(&host, &again);
    check_same(&middle, &again);
    take_scaled(&host, SCALED_MIDDLE, SCALED_STEPS);
    save(&host, &again);
    check_same(&files[1], &again);
    check_same_parameters(&host, &device);
    end(&host);
    end(&device);
    modc_unmap(bytes, length);
}

/* Gradients of 32 bits are divided where they lie; a wrong index is told, and is no step that was left out. */
static void test_unscaled(void)
{
    struct side sides[2];
    float loss, scale = 8;

    START(&sides[0], unscaled);
    START(&sides[1], unscaled_cuda);
    for (int i = 0; i < 6; i++) {
        const float *s = i == 3 ? huge : small;

        scale = i == 3 ? scale / 2 : i == 1 || i == 5 ? scale * 2 : scale;
        for (int d = 0; d < 2; d++) {
            if (i == 3)
                set_gain(&sides[d], 0); /* so that the loss is finite */
            if (i == 4) {
                CHECK(step(&sides[d], wrong, small, &loss) == MODC_INDEX);
                CHECK(sides[d].net->fault_value == 7 && modc_loss_scale(sides[d].optimizer) == scale);
            }
            CHECK_OK(step(&sides[d], indices, s, &loss));
            CHECK(isfinite(loss) && modc_step_skipped(sides[d].optimizer) == (i == 3));
            CHECK(modc_loss_scale(sides[d].optimizer) == scale);
        }
        check_equal(&sides[0], &sides[1], 1e-5);
    }
    CHECK(sides[0].optimizer->steps[0] == 5 && sides[0].optimizer->averaged == 5);
    end(&sides[0]);
    end(&sides[1]);
}

/* ---- pointers, streams, memory ---- */

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
    CHECK(kept_cuda_forward_host(&other, BATCH, indices, small, host) ==
          MODC_POINTER); /* there is no context */
    CHECK(kept_cuda_init(&other, params, net->base.workspace + 64, KEPT_CUDA_WORKSPACE_BYTES) ==
          MODC_ALIGNMENT);
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

/* On the device's memory. */
struct tensors {
    int64_t *index, *target;
    float *s, *output, *loss;
};

static void make_tensors(struct tensors *t)
{
    CHECK(cudaMalloc((void **)&t->index, sizeof indices) == cudaSuccess);
    CHECK(cudaMalloc((void **)&t->target, sizeof targets) == cudaSuccess);
    CHECK(cudaMalloc((void **)&t->s, sizeof small) == cudaSuccess);
    CHECK(cudaMalloc((void **)&t->output, OUTPUTS * sizeof *t->output) == cudaSuccess);
    CHECK(cudaMalloc((void **)&t->loss, sizeof *t->loss) == cudaSuccess);
    CHECK(cudaMemcpy(t->index, indices, sizeof indices, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(t->target, targets, sizeof targets, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy(t->s, small, sizeof small, cudaMemcpyHostToDevice) == cudaSuccess);
}

static void free_tensors(const struct tensors *t)
{
    cudaFree(t->index);
    cudaFree(t->target);
    cudaFree(t->s);
    cudaFree(t->output);
    cudaFree(t->loss);
}

/* What was trained goes along when the weights are packed somewhere else; what was loaded, too. */
static void test_blocks(void)
{
    struct side one, other;
    float output[2][OUTPUTS], loss;
    void *blocks[2];

    START(&one, kept_cuda);
    START(&other, kept_cuda);
    for (int i = 0; i < 2; i++)
        CHECK(cudaMalloc(&blocks[i], KEPT_CUDA_PACKED_BYTES) == cudaSuccess);
    CHECK_OK(modc_pack(one.params, one.params->packed, KEPT_CUDA_PACKED_BYTES));
    CHECK_OK(modc_pack(one.params, blocks[0], KEPT_CUDA_PACKED_BYTES));
    CHECK_OK(modc_pack(other.params, other.params->packed, KEPT_CUDA_PACKED_BYTES));
    CHECK_OK(kept_cuda_forward_host((struct kept_cuda *)one.net, BATCH, indices, small, output[0]));
    CHECK_OK(kept_cuda_forward_host((struct kept_cuda *)other.net, BATCH, indices, small, output[1]));
    CHECK(memcmp(output[0], output[1], sizeof output[0]) == 0);
    CHECK_OK(step(&one, indices, small, &loss));
    CHECK_OK(step(&other, indices, small, &loss));
    CHECK_OK(modc_pack(one.params, blocks[1], KEPT_CUDA_PACKED_BYTES));
    check_equal(&one, &other, 0);
    CHECK(modc_pack(one.params, (char *)blocks[0] + 64, KEPT_CUDA_PACKED_BYTES) == MODC_ALIGNMENT);
    end(&one);
    end(&other);
    for (int i = 0; i < 2; i++)
        cudaFree(blocks[i]);
}

/* On a stream of its own: files of the optimiser have what the steps before them made; parameters outlive it. */
static void test_stream_ends(void)
{
    static char files[2][1 << 16];
    struct side side;
    struct tensors t;
    cudaStream_t stream;
    size_t lengths[2];
    float loss;

    START(&side, kept_cuda);
    make_tensors(&t);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_OK(modc_sync(side.net));
    CHECK_OK(modc_set_stream(side.net, stream));
    CHECK_OK(modc_pack(side.params, side.params->packed, KEPT_CUDA_PACKED_BYTES));
    for (int i = 0; i < 3; i++)
        CHECK_OK(kept_cuda_train_step((struct kept_cuda_training *)side.training, BATCH, t.index, t.s,
                                      t.target, t.loss));
    CHECK_OK(modc_optimizer_save_bytes(side.optimizer, files[0], sizeof files[0], &lengths[0]));
    CHECK_OK(modc_sync(side.net));
    CHECK_OK(modc_optimizer_save_bytes(side.optimizer, files[1], sizeof files[1], &lengths[1]));
    CHECK(lengths[0] == lengths[1] && memcmp(files[0], files[1], lengths[0]) == 0);
    CHECK(cudaMemcpy(&loss, t.loss, sizeof loss, cudaMemcpyDeviceToHost) == cudaSuccess);

    modc_training_destroy(side.training); /* what begins anew does not overtake what is loaded */
    CHECK_OK(modc_training_create(side.net, &side.training));
    side.optimizer = &((struct kept_cuda_training *)side.training)->optimizer.base;
    CHECK_OK(modc_optimizer_load_bytes(side.optimizer, files[0], lengths[0], NULL));
    CHECK_OK(modc_sync(side.net));
    CHECK_OK(modc_optimizer_save_bytes(side.optimizer, files[1], sizeof files[1], &lengths[1]));
    CHECK(lengths[0] == lengths[1] && memcmp(files[0], files[1], lengths[0]) == 0);

    modc_training_destroy(side.training);
    modc_destroy(side.net);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK_OK(modc_download(side.params));
    modc_changed(side.params);
    CHECK_OK(modc_pack(side.params, side.params->packed, KEPT_CUDA_PACKED_BYTES));
    modc_params_destroy(side.params);
    free_tensors(&t);
}

/* Structs may lie in pinned memory, of which copies are made later. */
static void test_pinned(void)
{
    struct side one, other;
    struct kept_cuda_training *pinned;
    void *block;
    float loss;

    START(&one, kept_cuda);
    START(&other, kept_cuda);
    CHECK(cudaMallocHost((void **)&pinned, sizeof *pinned) == cudaSuccess);
    CHECK(cudaMalloc(&block, KEPT_CUDA_TRAINING_BYTES) == cudaSuccess);
    CHECK_OK(kept_cuda_training_init(pinned, (struct kept_cuda *)one.net, block, KEPT_CUDA_TRAINING_BYTES));
    CHECK(kept_cuda_training_init(pinned, (struct kept_cuda *)one.net, (char *)block + 64,
                                  KEPT_CUDA_TRAINING_BYTES) == MODC_ALIGNMENT);
    CHECK_OK(kept_cuda_training_init(pinned, (struct kept_cuda *)one.net, block, KEPT_CUDA_TRAINING_BYTES));
    modc_training_destroy(one.training);
    one.training = &pinned->base;
    one.optimizer = &pinned->optimizer.base;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(step(&one, indices, small, &loss));
        CHECK_OK(step(&other, indices, small, &loss));
    }
    check_equal(&one, &other, 0);
    modc_destroy(one.net);
    modc_params_destroy(one.params);
    cudaFreeHost(pinned);
    cudaFree(block);
    end(&other);
}

static enum modc_status call_again(struct modc_hook_call *call)
{
    float output[OUTPUTS];

    CHECK(kept_cuda_forward_host((struct kept_cuda *)call->context, BATCH, wrong, huge, output) == MODC_BUSY);
    return MODC_OK;
}

/* A call on the host's memory from a hook of another one leaves that alone. */
static void test_hook(void)
{
    struct modc_hook hook = {.call = call_again};
    struct side side;
    float output[2][OUTPUTS];

    START(&side, kept_cuda);
    CHECK_OK(modc_pack(side.params, side.params->packed, KEPT_CUDA_PACKED_BYTES));
    CHECK_OK(kept_cuda_forward_host((struct kept_cuda *)side.net, BATCH, indices, small, output[0]));
    CHECK_OK(modc_register_forward_hook(side.net, KEPT_CUDA_FC, &hook, 0));
    CHECK_OK(kept_cuda_forward_host((struct kept_cuda *)side.net, BATCH, indices, small, output[1]));
    CHECK(memcmp(output[0], output[1], sizeof output[0]) == 0);
    modc_hook_remove(&hook);
    end(&side);
}

/* Behind a fault that is told there is nothing for backward. */
static void test_fault(void)
{
    struct side side;
    struct tensors t;

    START(&side, kept_cuda);
    make_tensors(&t);
    CHECK_OK(modc_pack(side.params, side.params->packed, KEPT_CUDA_PACKED_BYTES));
    CHECK(cudaMemcpy(t.index, wrong, sizeof wrong, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK_OK(kept_cuda_loss((struct kept_cuda *)side.net, BATCH, t.index, t.s, t.target, t.loss));
    CHECK(modc_sync(side.net) == MODC_INDEX);
    CHECK(kept_cuda_loss_backward((struct kept_cuda *)side.net, BATCH) == MODC_CONSUMED);
    end(&side);
    free_tensors(&t);
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
    test_scaled();
    test_unscaled();
    test_pointers();
    test_streams();
    test_blocks();
    test_stream_ends();
    test_pinned();
    test_hook();
    test_fault();
    test_devices();
    return 0;
}
