/* cuda_service.c - a service that reads digits on a GPU: requests wait in a queue, and workers take them in turn. Each has a stream
 * and a context of its own, all have the same parameters. One host thread keeps all of them busy: nothing waits until an answer is
 * wanted.
 *
 *     cuda_service FOLDER     with test.safetensors and weights_mlp.safetensors; status 3: no GPU
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { PIXELS = 64, CLASSES = 10, HIDDEN = 32, BATCH = READER_MAX_BATCH, WORKERS = 3, REQUESTS = 64 };

/* What a client wants to know: what the images show, and how far that is from his labels. */
struct request {
    int count;
    const float *images;
    const int64_t *labels;
};

/* What a request takes with it to the GPU and back; once in memory of the host that the GPU copies from by itself (pinned), once in
 * that of the GPU, which the host only computes addresses of. */
struct exchange {
    float images[BATCH * PIXELS];
    int64_t labels[BATCH];
    float scores[BATCH * CLASSES], loss[BATCH];
    float hidden[BATCH * HIDDEN]; /* what the hook of one worker looks at */
};

struct worker {
    struct reader *net;
    cudaStream_t stream;
    struct exchange *host, *device;
    const struct request *request; /* that it works on; NULL: none */
};

struct totals {
    int right, images, refused, watched, silent;
    double loss;
};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "cuda_service: %s: %s\n", what, why);
    exit(1);
}

static void must_cuda(cudaError_t code, const char *what)
{
    if (code != cudaSuccess)
        stop(what, cudaGetErrorString(code));
}

/* net: where MODC_GPU says more; NULL: there is none yet. */
static void must(enum modc_status status, const struct reader *net, const char *what)
{
    const char *text = "", *failed = net && status == MODC_GPU ? modc_device_failed(&net->base, &text) : "";

    if (status == MODC_OK)
        return;
    fprintf(stderr, "cuda_service: %s: %s%s%s%s%s\n", what, modc_status_text(status), *failed ? ": " : "",
            failed, *text ? ": " : "", text);
    exit(1);
}

static void write_text(void *user, const char *text, size_t length)
{
    fwrite(text, 1, length, user);
}

/* ---- parameters ---- */

/* They lie in pinned memory, from where reader_pack copies them to the GPU. */
static struct reader_params *load(const char *folder)
{
    static struct modc_report report;
    struct modc_params *made;
    struct reader_params *params;
    enum modc_status status;
    char path[4096];

    must(modc_params_create(&reader_model, &made), NULL, "parameters");
    params = (struct reader_params *)made;
    snprintf(path, sizeof path, "%s/weights_mlp.safetensors", folder);
    status = reader_load(params, path, MODC_STRICT, &report);
    if (status != MODC_OK) {
        fprintf(stderr, "cuda_service: %s: ", path);
        modc_report_print(&report, write_text, stderr);
        fprintf(stderr, "\n");
        exit(1);
    }
    status = reader_pack(params, NULL, 0);
    if (status == MODC_GPU) {
        const char *text, *failed = modc_params_failed(made, &text);

        stop(failed, text);
    }
    must(status, NULL, "parameters");
    return params;
}

/* ---- workers ---- */

/* A hook gets pointers of the GPU, and runs while the GPU has not computed yet what they point to: so what it wants goes onto the
 * stream of the call, in its place among the kernels. */
static enum modc_status watch(struct modc_hook_call *call)
{
    const struct modc_tensor *hidden = &call->outputs[0];
    struct worker *worker = call->user;

    must_cuda(cudaMemcpyAsync(worker->host->hidden, hidden->data, modc_tensor_bytes(hidden),
                              cudaMemcpyDeviceToHost, modc_stream(call->context)),
              "hook");
    return MODC_OK;
}

static void hire(struct worker *worker, struct reader_params *params)
{
    void *host, *device;

    memset(worker, 0, sizeof *worker);
    must_cuda(cudaMallocHost(&host, sizeof *worker->host), "pinned memory");
    must_cuda(cudaMalloc(&device, sizeof *worker->device), "memory");
    must_cuda(cudaStreamCreateWithFlags(&worker->stream, cudaStreamNonBlocking), "stream");
    worker->host = host;
    worker->device = device;
    must(reader_create(params, &worker->net), NULL, "context");
    must(reader_set_stream(worker->net, worker->stream), worker->net, "stream");
}

static void dismiss(struct worker *worker)
{
    reader_destroy(worker->net);
    must_cuda(cudaStreamDestroy(worker->stream), "stream");
    must_cuda(cudaFree(worker->device), "memory");
    must_cuda(cudaFreeHost(worker->host), "pinned memory");
}

/* Copies in, kernels, copies out: all of it waits on the worker's stream when this returns. */
static void begin(struct worker *worker, const struct request *request)
{
    struct exchange *const host = worker->host, *const device = worker->device;
    const int count = request->count;
    const size_t images = (size_t)count * PIXELS * sizeof *host->images,
                 labels = (size_t)count * sizeof *host->labels;
    const size_t scores = (size_t)count * CLASSES * sizeof *host->scores,
                 loss = (size_t)count * sizeof *host->loss;

    memcpy(host->images, request->images, images);
    memcpy(host->labels, request->labels, labels);
    must_cuda(cudaMemcpyAsync(device->images, host->images, images, cudaMemcpyHostToDevice, worker->stream),
              "copy");
    must_cuda(cudaMemcpyAsync(device->labels, host->labels, labels, cudaMemcpyHostToDevice, worker->stream),
              "copy");
    must(reader_forward(worker->net, count, device->images, device->labels, device->scores, device->loss),
         worker->net, "forward");
    must_cuda(cudaMemcpyAsync(host->scores, device->scores, scores, cudaMemcpyDeviceToHost, worker->stream),
              "copy");
    must_cuda(cudaMemcpyAsync(host->loss, device->loss, loss, cudaMemcpyDeviceToHost, worker->stream),
              "copy");
    worker->request = request;
}

static int largest(const float *scores)
{
    int best = 0;

    for (int i = 1; i < CLASSES; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* Waits for the answer. What is wrong with a request is found by the GPU, and told here; the context goes on. */
static void finish(struct worker *worker, struct totals *totals)
{
    const struct request *request = worker->request;
    const struct modc_context *base = &worker->net->base;
    enum modc_status status;

    if (!request)
        return;
    worker->request = NULL;
    status = reader_sync(worker->net);
    if (status == MODC_INDEX) {
        printf("a request is refused: the label of image %d is %d\n", (int)base->fault_index,
               (int)base->fault_value);
        totals->refused++;
        return;
    }
    must(status, worker->net, "answer");
    totals->images += request->count;
    for (int i = 0; i < request->count; i++) {
        totals->right += largest(worker->host->scores + i * CLASSES) == request->labels[i];
        totals->loss += (double)worker->host->loss[i];
    }
    if (base->hooks) {
        totals->watched += request->count * HIDDEN;
        for (int i = 0; i < request->count * HIDDEN; i++)
            totals->silent += worker->host->hidden[i] <= 0;
    }
}

/* ---- requests ---- */

/* All images of a file, in requests of several sizes; behind the third comes one with a label that no digit has. */
static int fill(struct request *queue, const struct modc_item *images, const struct modc_item *labels)
{
    static const int sizes[] = {BATCH, 1, 17, 40, 5};
    static const int64_t wrong[] = {3, 1, 4, 11, 5};
    const int all = (int)(labels->bytes / sizeof *wrong);
    int count = 0;

    for (int at = 0; at < all; count++) {
        const int size = sizes[count % 5];

        if (count == REQUESTS - 1)
            stop("test.safetensors", "it has too many images");
        if (count == 3) {
            queue[count++] = (struct request){5, (const float *)images->data, wrong};
            continue;
        }
        queue[count].count = all - at < size ? all - at : size;
        queue[count].images = (const float *)images->data + at * PIXELS;
        queue[count].labels = (const int64_t *)labels->data + at;
        at += queue[count].count;
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct request queue[REQUESTS];
    struct worker workers[WORKERS];
    struct modc_hook watching = {.call = watch, .user = &workers[0]};
    struct modc_item images, labels;
    struct reader_params *params;
    struct totals totals = {0};
    struct modc_reader file;
    const void *bytes;
    const char *text;
    char path[4096];
    size_t length;
    int requests;

    if (argc != 2) {
        fprintf(stderr, "usage: cuda_service FOLDER\n");
        return 2;
    }
    if (reader_model.device->find(&text) != MODC_OK) {
        fprintf(stderr, "cuda_service: there is no GPU: %s\n", text);
        return 3;
    }
    snprintf(path, sizeof path, "%s/test.safetensors", argv[1]);
    if (modc_map(path, &bytes, &length) != MODC_OK) {
        perror(path);
        return 1;
    }
    must(modc_reader_open(&file, bytes, length, NULL), NULL, path);
    if (!modc_reader_find(&file, "images", &images) || !modc_reader_find(&file, "labels", &labels) ||
        images.dtype != MODC_FLOAT32 || labels.dtype != MODC_INT64 ||
        images.bytes != labels.bytes / sizeof(int64_t) * PIXELS * sizeof(float))
        stop(path, "it has not the tensors images and labels of digits");
    requests = fill(queue, &images, &labels);

    params = load(argv[1]);
    for (int i = 0; i < WORKERS; i++)
        hire(&workers[i], params);
    must(reader_register_forward_hook(workers[0].net, READER_2, &watching, 0), workers[0].net, "hook");

    for (int i = 0; i < requests + WORKERS; i++) {
        struct worker *worker = &workers[i % WORKERS];

        finish(worker, &totals); /* the oldest request that is under way */
        if (i < requests)
            begin(worker, &queue[i]);
    }
    printf("%d requests, %d refused; of %d images %d are read right, mean loss %.3f\n", requests,
           totals.refused, totals.images, totals.right, totals.loss / totals.images);
    printf("where the hook looked, %d %% of the hidden units are 0\n", 100 * totals.silent / totals.watched);

    modc_hook_remove(&watching);
    for (int i = 0; i < WORKERS; i++)
        dismiss(&workers[i]);
    modc_params_destroy(&params->base);
    modc_unmap(bytes, length);
    return 0;
}
