/* peer_gpu.c - a model of modc on CUDA as a peer: compiled into one shared library with the model and the runtime. Inputs and outputs
 * lie in the GPU's memory; calls are timed here, so that no Python is between them. */
#include "modc_device.h"
#include "modc_host.h"
#include "modc_time.h"

#include <cuda_runtime.h>
#include <stdlib.h>

extern const struct modc_model MODC_MODEL;

struct peer {
    const struct modc_entry *entry;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_training *training; /* a call is a step; NULL: a call of the entry */
    cudaStream_t stream;
    cudaGraphExec_t recorded;
    const void **inputs;
    void **outputs;
};

/* Arrays of the host, by address and bytes. */
struct peer_array {
    void *data;
    size_t bytes;
};

static const char *failed_text = "";

const char *peer_failed(void)
{
    return failed_text;
}

/* Whether it is; else peer_failed has the text. */
static bool is_done(cudaError_t code)
{
    if (code != cudaSuccess)
        failed_text = cudaGetErrorString(code);
    return code == cudaSuccess;
}

static bool is_ok(const struct peer *peer, enum modc_status status)
{
    if (status == MODC_OK)
        return true;
    failed_text = modc_status_text(status);
    if (status == MODC_GPU || status == MODC_POINTER) {
        const char *text;

        modc_device_failed(peer->net, &text);
        if (text[0] == 0)
            modc_params_failed(peer->params, &text);
        if (text[0] != 0)
            failed_text = text;
    }
    return false;
}

/* Memory of the GPU for each array, with what the array has. */
static bool upload(void **on_device, const struct peer_array *arrays, int count)
{
    for (int i = 0; i < count; i++)
        if (!is_done(cudaMalloc(&on_device[i], arrays[i].bytes)) ||
            !is_done(cudaMemcpy(on_device[i], arrays[i].data, arrays[i].bytes, cudaMemcpyHostToDevice)))
            return false;
    return true;
}

static bool open_model(struct peer *peer, const char *weights)
{
    const bool trains = MODC_MODEL.train_step != NULL;
    const char *text;

    if (MODC_MODEL.device->find(&text) != MODC_OK) {
        failed_text = text;
        return false;
    }
    if (!is_ok(peer, modc_params_create(&MODC_MODEL, &peer->params)) ||
        !is_ok(peer, modc_load(peer->params, weights, MODC_STRICT, NULL)) ||
        !is_ok(peer, modc_pack(peer->params, NULL, 0)) ||
        !is_ok(peer, modc_create(&MODC_MODEL, peer->params, 0, &peer->net)) ||
        !is_ok(peer, modc_set_stream(peer->net, peer->stream)))
        return false;
    modc_train(peer->net, trains);
    return !trains || is_ok(peer, modc_training_create(peer->net, &peer->training));
}

/* Arrays are in the order of the entry, at the maxima of its sizes; of a model with `training:` a call is a step. NULL:
 * peer_failed says why. What it makes stays until the process ends. */
struct peer *peer_open(const char *weights, const char *name, const struct peer_array *inputs,
                       int input_count, const struct peer_array *outputs, int output_count)
{
    struct peer *peer = calloc(1, sizeof *peer);
    int index = 0;

    if (peer == NULL || (peer->inputs = calloc((size_t)input_count + 1, sizeof *peer->inputs)) == NULL ||
        (peer->outputs = calloc((size_t)output_count + 1, sizeof *peer->outputs)) == NULL) {
        failed_text = modc_status_text(MODC_MEMORY);
        return NULL;
    }
    if (!is_ok(peer, modc_get_entry(&MODC_MODEL, name, &index)))
        return NULL;
    peer->entry = &MODC_MODEL.entries[index];
    return is_done(cudaStreamCreateWithFlags(&peer->stream, cudaStreamNonBlocking)) &&
                   open_model(peer, weights) && upload((void **)peer->inputs, inputs, input_count) &&
                   upload(peer->outputs, outputs, output_count) && is_done(cudaDeviceSynchronize())
               ? peer
               : NULL;
}

static enum modc_status call(struct peer *peer)
{
    return peer->training != NULL
               ? MODC_MODEL.train_step(peer->training, peer->entry->max_sizes, peer->inputs, peer->outputs[0])
               : peer->entry->call(peer->net, peer->entry->max_sizes, peer->inputs, peer->outputs);
}

/* Records a call, which has been called before, as a CUDA graph. */
int peer_record(struct peer *peer)
{
    cudaGraph_t graph = NULL;

    if (!is_done(cudaStreamBeginCapture(peer->stream, cudaStreamCaptureModeThreadLocal)))
        return 1;

    const bool called = is_ok(peer, call(peer)), ended = is_done(cudaStreamEndCapture(peer->stream, &graph));

    return called && ended && is_done(cudaGraphInstantiate(&peer->recorded, graph, 0)) ? 0 : 1;
}

/* Seconds of so many calls, replayed from the graph or not, and one wait behind them; `apart`: one behind each. Negative: peer_failed. */
double peer_time(struct peer *peer, int replayed, long calls, int apart)
{
    const double before = modc_now();

    for (long i = 0; i < calls; i++)
        if (!(replayed ? is_done(cudaGraphLaunch(peer->recorded, peer->stream)) : is_ok(peer, call(peer))) ||
            ((apart || i == calls - 1) && !is_ok(peer, modc_sync(peer->net))))
            return -1.0;
    return modc_now() - before;
}

/* What the last call has written. The memory has NaN then, so that the next call must write it anew. */
int peer_read(struct peer *peer, const struct peer_array *outputs, int count)
{
    for (int i = 0; i < count; i++)
        if (!is_done(
                cudaMemcpy(outputs[i].data, peer->outputs[i], outputs[i].bytes, cudaMemcpyDeviceToHost)) ||
            !is_done(cudaMemset(peer->outputs[i], 0xFF, outputs[i].bytes)))
            return 1;
    return is_done(cudaDeviceSynchronize()) ? 0 : 1;
}
