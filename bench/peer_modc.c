/* peer_modc.c - a model of modc as a peer: compiled into one shared library with the model and the runtime. */
#include "modc.h"

#include <stdlib.h>

extern const struct modc_model MODC_MODEL;

struct peer {
    const struct modc_entry *entry;
    struct modc_context *net;
    const void *const *inputs;
    void *const *outputs;
};

/* Inputs and outputs are arrays of pointers in the order of the entry, at the maxima of its sizes. NULL: what is wrong is
 * in *status. */
struct peer *peer_open(const char *weights, const char *name, const void *const *inputs, void *const *outputs,
                       int *status)
{
    struct peer *peer = calloc(1, sizeof *peer);
    struct modc_params *params = NULL;
    int index = 0;

    *status = (int)(peer != NULL ? modc_params_create(&MODC_MODEL, &params) : MODC_MEMORY);
    if (*status == MODC_OK)
        *status = (int)modc_load(params, weights, MODC_STRICT, NULL);
    if (*status == MODC_OK)
        *status = (int)modc_pack(params, NULL, 0);
    if (*status == MODC_OK)
        *status = (int)modc_get_entry(&MODC_MODEL, name, &index);
    if (*status == MODC_OK)
        *status = (int)modc_create(&MODC_MODEL, params, 0, &peer->net);
    if (*status != MODC_OK) {
        free(peer);
        return NULL;
    }
    modc_train(peer->net, false);
    peer->entry = &MODC_MODEL.entries[index];
    peer->inputs = inputs;
    peer->outputs = outputs;
    return peer;
}

int peer_call(void *user)
{
    struct peer *peer = user;

    return (int)peer->entry->call(peer->net, peer->entry->max_sizes, peer->inputs, peer->outputs);
}

double peer_macs(const struct peer *peer)
{
    return peer->entry->macs;
}

const char *peer_status(int status)
{
    return modc_status_text((enum modc_status)status);
}
