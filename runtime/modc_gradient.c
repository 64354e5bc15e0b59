/* modc_gradient.c - the gradients of a model's parameters: where they are, which are there, which are wanted. Apart from what
 * updates parameters, since backward serves without that. */
#include "modc_device.h"

#include <string.h>

static const struct modc_key *key_of(const struct modc_training *training, int index)
{
    return &training->model->keys[modc_gradient_key(training->model, index)];
}

/* Where struct MODEL_params of gradients has the pointer to that of a key: a device's, where there is one. */
static void *pointer_to(const struct modc_training *training, int key)
{
    const struct modc_model *model = training->model;

    return (char *)training->gradients +
           modc_key_pointer(key + (model->device != NULL ? model->key_count : 0));
}

static char *block_of(const struct modc_training *training, int index)
{
    void *pointer;

    memcpy(&pointer, pointer_to(training, modc_gradient_key(training->model, index)), sizeof pointer);
    return pointer;
}

/* Where the host reads and writes which of them there are. */
static uint64_t *cells_of(const struct modc_training *training)
{
    return training->model->device != NULL ? modc_present_on_host(training) : training->present;
}

static void set_present(const struct modc_training *training, int index, bool present)
{
    modc_store(&cells_of(training)[index], key_of(training, index)->dtype, present ? 1.0 : 0.0);
}

/* Behind such changes. Where it fails the next backward tries again, and tells it. */
static void publish(struct modc_training *training)
{
    if (training->model->device != NULL)
        (void)training->model->device->publish(training);
}

static bool is_present(const struct modc_training *training, int index)
{
    return training->present != NULL &&
           modc_number(&cells_of(training)[index], key_of(training, index)->dtype) != 0.0;
}

static size_t aligned(const struct modc_model *model, size_t bytes)
{
    return (bytes + model->tensor_align - 1) / model->tensor_align * model->tensor_align;
}

/* Gradients and whether they are there, at the head of the block; where they end. */
static char *place_gradients(struct modc_training *training, char *block)
{
    const struct modc_model *model = training->model;
    char *tensor = block;

    training->gradients = (struct modc_params *)(void *)((char *)training + model->gradients_offset);
    training->gradients->model = model;
    for (int i = 0; i < model->gradient_count; i++) {
        for (int k = modc_gradient_key(model, i); k < model->key_count; k++) /* tied keys have one */
            if (k - model->keys[k].tied == modc_gradient_key(model, i))
                memcpy(pointer_to(training, k), &tensor, sizeof tensor);
        tensor += aligned(model, modc_key_bytes(key_of(training, i)));
    }
    training->present = (uint64_t *)(void *)tensor;
    return tensor + aligned(model, 8 * (size_t)model->gradient_count);
}

enum modc_status modc_training_init(struct modc_training *training, struct modc_context *net, void *block,
                                    size_t bytes)
{
    const struct modc_model *model;

    if (training == NULL || net == NULL || net->model == NULL || block == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;
    model = net->model;
    if (model->training_bytes == 0)
        return MODC_UNSUPPORTED;
    if ((uintptr_t)block % model->align != 0)
        return MODC_ALIGNMENT;
    if (bytes < model->gradient_block)
        return MODC_SIZE;
    if (model->device != NULL)
        MODC_TRY(model->device->reach(net, block, "block"));
    memset(training, 0, model->training_bytes);
    if (model->device != NULL)
        MODC_TRY(model->device->zero(net, block, model->gradient_block));
    else
        memset(block, 0, model->gradient_block);
    training->model = model;
    training->net = net;
    training->wants = model->gradients_offset > 0 ? (bool *)(void *)place_gradients(training, block) : block;
    if (model->device != NULL)
        training->wants = modc_wants_on_host(training);
    for (int i = 0; i < model->gradient_count; i++)
        training->wants[i] = true;
    net->trainer = training;
    net->saved = 0;
    return MODC_OK;
}

void modc_set_grad_enabled(struct modc_context *net, bool enabled)
{
    net->no_grad = !enabled;
}

void modc_zero_grad(struct modc_training *training, bool set_to_none)
{
    const struct modc_device *device = training->model->device;
    bool changed = false;

    for (int i = 0; i < training->model->gradient_count && training->present != NULL; i++) {
        const size_t bytes = modc_key_bytes(key_of(training, i));
        bool keeps = !set_to_none;

        if (keeps && is_present(training, i) && device != NULL)
            keeps = device->zero(training->net, block_of(training, i), bytes) == MODC_OK;
        else if (keeps && is_present(training, i))
            memset(block_of(training, i), 0, bytes);
        if (!keeps)
            set_present(training, i, false);
        changed |= !keeps;
    }
    if (changed)
        publish(training);
}

void *modc_gradient_at(const struct modc_training *training, int index)
{
    return is_present(training, index) ? block_of(training, index) : NULL;
}

enum modc_status modc_get_gradient(const struct modc_training *training, const char *key,
                                   const void **gradient)
{
    const struct modc_model *model = training->model;
    int index;

    *gradient = NULL;
    if (training->present == NULL)
        return MODC_UNSUPPORTED;
    if (modc_get_parameter(model, key, &index) != MODC_OK)
        return MODC_NAME;
    for (int i = 0; i < model->gradient_count; i++) {
        if (modc_gradient_key(model, i) != index - model->keys[index].tied)
            continue;
        *gradient = modc_gradient_at(training, i);
        return MODC_OK;
    }
    return MODC_NAME;
}

/* Whether the key is `name`, or of that module. */
static bool is_of(const char *key, const char *name)
{
    size_t length = strlen(name);

    return length == 0 || (strncmp(key, name, length) == 0 && (key[length] == '.' || key[length] == '\0'));
}

enum modc_status modc_requires_grad(struct modc_training *training, const char *name, bool requires_grad)
{
    const struct modc_model *model = training->model;
    bool found = name[0] == '\0';

    if (training->net->busy)
        return MODC_BUSY;
    for (int k = 0; k < model->key_count; k++) {
        if (!is_of(model->keys[k].name, name))
            continue;
        for (int i = 0; i < model->gradient_count; i++) {
            if (modc_gradient_key(model, i) != k - model->keys[k].tied)
                continue;
            training->wants[i] = requires_grad;
            found = true;
        }
    }
    return found ? MODC_OK : MODC_NAME;
}

enum modc_status modc_backward_begin(struct modc_context *net, int entry)
{
    if (net == NULL || net->trainer == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;
    if ((net->saved - 1) / 2 != entry || net->saved == 0)
        return MODC_CONSUMED;
    if (net->params->version != net->saved_version)
        return MODC_STALE;
    if (net->model->device != NULL && modc_cuda_of(net)->unsent)
        return net->model->device->publish(net->trainer);
    return MODC_OK;
}

void modc_backward_end(struct modc_context *net, const int *given, int count)
{
    for (int i = 0; i < count; i++) {
        const int index = given != NULL ? given[i] : i;

        if (net->trainer->wants[index])
            set_present(net->trainer, index, true);
    }
    publish(net->trainer);
    net->saved = 0;
}
