/* modc_gradient.c - the gradients of a model's parameters: where they are, which are there, which are wanted. Apart from what
 * updates parameters, since backward serves without that. */
#include "modc.h"

#include <string.h>

static char *block_of(const struct modc_training *training, const struct modc_gradient *gradient)
{
    const struct modc_key *key = &training->model->keys[gradient->key];
    void *pointer;

    memcpy(&pointer, (const char *)training->gradients + key->pointer, sizeof pointer);
    return pointer;
}

static size_t bytes_of(const struct modc_key *key)
{
    size_t bytes = modc_dtype_bytes(key->dtype);

    for (int i = 0; i < key->ndim; i++)
        bytes *= (size_t)key->dims[i];
    return bytes;
}

static void set_present(const struct modc_training *training, int index, bool present)
{
    modc_store(&training->present[index], training->model->keys[training->model->gradients[index].key].dtype,
               present ? 1.0 : 0.0);
}

static bool is_present(const struct modc_training *training, int index)
{
    return training->present != NULL &&
           modc_number(&training->present[index],
                       training->model->keys[training->model->gradients[index].key].dtype) != 0.0;
}

static size_t aligned(const struct modc_model *model, size_t bytes)
{
    size_t align = model->align > 8 ? model->align : 8;

    return (bytes + align - 1) / align * align;
}

/* Gradients and whether they are there, at the head of the block; where they end. */
static char *place_gradients(struct modc_training *training, char *block)
{
    const struct modc_model *model = training->model;
    size_t cells = 0;

    training->gradients = (struct modc_params *)(void *)((char *)training + model->gradients_offset);
    training->gradients->model = model;
    for (int i = 0; i < model->gradient_count; i++) {
        const struct modc_gradient *gradient = &model->gradients[i];
        char *tensor = block + gradient->block;

        for (int k = 0; k < model->key_count; k++) /* tied keys have one */
            if (model->keys[k].same_as == gradient->key)
                memcpy((char *)training->gradients + model->keys[k].pointer, &tensor, sizeof tensor);
        if (gradient->block + aligned(model, bytes_of(&model->keys[gradient->key])) > cells)
            cells = gradient->block + aligned(model, bytes_of(&model->keys[gradient->key]));
    }
    training->present = (uint64_t *)(void *)(block + cells);
    return block + cells + aligned(model, 8 * (size_t)model->gradient_count);
}

enum modc_status modc_training_init(struct modc_training *training, struct modc_context *net, void *block,
                                    size_t bytes)
{
    const struct modc_model *model;

    if (training == NULL || net == NULL || net->model == NULL || block == NULL)
        return MODC_POINTER;
    model = net->model;
    if (model->training_bytes == 0)
        return MODC_UNSUPPORTED;
    if ((uintptr_t)block % model->align != 0)
        return MODC_ALIGNMENT;
    if (bytes < model->gradient_block)
        return MODC_SIZE;
    memset(training, 0, model->training_bytes);
    memset(block, 0, model->gradient_block);
    training->model = model;
    training->net = net;
    training->wants = model->gradients_offset > 0 ? (bool *)(void *)place_gradients(training, block) : block;
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
    for (int i = 0; i < training->model->gradient_count && training->present != NULL; i++) {
        const struct modc_gradient *gradient = &training->model->gradients[i];

        if (set_to_none)
            set_present(training, i, false);
        else if (is_present(training, i))
            memset(block_of(training, gradient), 0, bytes_of(&training->model->keys[gradient->key]));
    }
}

void *modc_gradient_at(const struct modc_training *training, int index)
{
    return is_present(training, index) ? block_of(training, &training->model->gradients[index]) : NULL;
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
        if (model->gradients[i].key != model->keys[index].same_as)
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

    for (int k = 0; k < model->key_count; k++) {
        if (!is_of(model->keys[k].name, name))
            continue;
        for (int i = 0; i < model->gradient_count; i++) {
            if (model->gradients[i].key != model->keys[k].same_as)
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
    if ((net->saved - 1) / 2 != entry || net->saved == 0)
        return MODC_CONSUMED;
    if (net->params->version != net->saved_version)
        return MODC_STALE;
    return MODC_OK;
}

void modc_backward_end(struct modc_context *net, const int *given, int count)
{
    for (int i = 0; i < count; i++) {
        const int index = given != NULL ? given[i] : i;

        if (net->trainer->wants[index])
            set_present(net->trainer, index, true);
    }
    net->saved = 0;
}
