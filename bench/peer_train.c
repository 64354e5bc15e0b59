/* peer_train.c - the training step of a model of modc as a peer: compiled into one shared library with the model and the
 * runtime. */
#include "modc.h"

#include <stdlib.h>

extern const struct modc_model MODC_MODEL;

struct peer {
    struct modc_training *training;
    const int *sizes;
    const void *const *inputs;
    float *loss;
};

/* `inputs`: pointers to the inputs of the step, at the maxima of its sizes. NULL: what is wrong is in *status. */
struct peer *peer_open(const char *weights, const void *const *inputs, float *loss, int *status)
{
    struct peer *peer = calloc(1, sizeof *peer);
    struct modc_params *params = NULL;
    struct modc_context *net = NULL;
    void *block = NULL;
    int index = 0;

    if (peer == NULL || (peer->training = calloc(1, MODC_MODEL.training_bytes)) == NULL ||
        (block = aligned_alloc(MODC_ALIGN, MODC_MODEL.training_block)) == NULL) {
        *status = MODC_MEMORY;
        return NULL;
    }
    *status = (int)modc_params_create(&MODC_MODEL, &params);
    if (*status == MODC_OK)
        *status = (int)modc_load(params, weights, MODC_STRICT, NULL);
    if (*status == MODC_OK)
        *status = (int)modc_pack(params, NULL, 0);
    if (*status == MODC_OK)
        *status = (int)modc_get_entry(&MODC_MODEL, "loss", &index);
    if (*status == MODC_OK)
        *status = (int)modc_create(&MODC_MODEL, params, 0, &net);
    if (*status == MODC_OK)
        *status = (int)MODC_MODEL.training_init(peer->training, net, block, MODC_MODEL.training_block);
    if (*status != MODC_OK)
        return NULL;
    modc_train(net, true);
    peer->sizes = MODC_MODEL.entries[index].max_sizes;
    peer->inputs = inputs;
    peer->loss = loss;
    return peer;
}

int peer_call(void *user)
{
    struct peer *peer = user;

    return (int)MODC_MODEL.train_step(peer->training, peer->sizes, peer->inputs, peer->loss);
}

const char *peer_status(int status)
{
    return modc_status_text((enum modc_status)status);
}
