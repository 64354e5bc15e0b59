/* modc_cuda.c - see modc_device.h: the host's side of models on a GPU, over the CUDA runtime. */
#include "modc_device.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what went wrong --------------------------------------------------------------------------------------------- */

static enum modc_status failed(struct modc_context *net, cudaError_t code, const char *what)
{
    struct modc_cuda *cuda = modc_cuda_of(net);

    if (code == cudaSuccess)
        return MODC_OK;
    (void)cudaGetLastError(); /* it is told; nothing else is to find it */
    cuda->error = (int)code;
    cuda->failed = what;
    cuda->text = cudaGetErrorString(code);
    return MODC_GPU;
}

static enum modc_status params_failed(const struct modc_params *params, cudaError_t code, const char *what)
{
    struct modc_mirror *mirror = modc_mirror_of(params);

    if (code == cudaSuccess)
        return MODC_OK;
    (void)cudaGetLastError();
    mirror->error = (int)code;
    mirror->failed = what;
    mirror->text = cudaGetErrorString(code);
    return MODC_GPU;
}

enum modc_status modc_launched(struct modc_context *net, int code, const char *kernel)
{
    return code == 0 ? MODC_OK : failed(net, (cudaError_t)code, kernel);
}

enum modc_status modc_pack_launched(struct modc_params *params, int code, const char *kernel)
{
    return code == 0 ? MODC_OK : params_failed(params, (cudaError_t)code, kernel);
}

const char *modc_device_failed(const struct modc_context *net, const char **text)
{
    const struct modc_cuda *cuda = net != NULL ? (const struct modc_cuda *)(const void *)(net + 1) : NULL;

    *text = cuda != NULL && cuda->text != NULL ? cuda->text : "";
    return cuda != NULL && cuda->failed != NULL ? cuda->failed : "";
}

const char *modc_params_failed(const struct modc_params *params, const char **text)
{
    const struct modc_mirror *mirror = params != NULL ? modc_mirror_of(params) : NULL;

    *text = mirror != NULL && mirror->text != NULL ? mirror->text : "";
    return mirror != NULL && mirror->failed != NULL ? mirror->failed : "";
}

/* ---- pointers -------------------------------------------------------------------------------------------------- */

static const char host_memory[] = "a pointer to the host's memory, where the device's is meant";

/* Whether kernels can work there: memory of a device, managed, pinned; where the system has one memory, any. A tensor of no elements may
 * lie where a block ends. */
static bool is_reached(const void *pointer, cudaError_t *code)
{
    int device = 0, all = 0;

    for (int back = 0; back < 2; back++) {
        struct cudaPointerAttributes attributes;

        *code = cudaPointerGetAttributes(&attributes, (const char *)pointer - back);
        if (*code != cudaSuccess || attributes.type != cudaMemoryTypeUnregistered)
            return true;
    }
    *code = cudaGetDevice(&device);
    if (*code == cudaSuccess)
        *code = cudaDeviceGetAttribute(&all, cudaDevAttrPageableMemoryAccess, device);
    return *code != cudaSuccess || all;
}

/* Asked once about each pointer that calls use by turns. */
enum modc_status modc_on_device(struct modc_context *net, const void *pointer, const char *name)
{
    struct modc_cuda *cuda = modc_cuda_of(net);
    const void **known = &cuda->known[((uintptr_t)pointer >> 8) % (sizeof cuda->known / sizeof *cuda->known)];
    cudaError_t code;

    if (pointer == NULL || *known == pointer)
        return MODC_OK;
    if (!is_reached(pointer, &code)) {
        cuda->failed = name;
        cuda->text = host_memory;
        return MODC_POINTER;
    }
    MODC_TRY(failed(net, code, name));
    *known = pointer;
    return MODC_OK;
}

/* A block that the caller places. */
static enum modc_status reach(struct modc_context *net, const void *block, const char *name)
{
    if ((uintptr_t)block % MODC_DEVICE_ALIGN != 0)
        return MODC_ALIGNMENT;
    return modc_on_device(net, block, name);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static cudaStream_t stream_of(struct modc_context *net)
{
    return (cudaStream_t)modc_cuda_of(net)->stream;
}

/* The state's initial values: copies of the host's, or elements that are all one. */
static enum modc_status reset_state(struct modc_context *net)
{
    const struct modc_model *model = net->model;

    for (int i = 0; i < model->state_count; i++) {
        const struct modc_key *key = &model->states[i];
        const size_t bytes = modc_key_bytes(key), each = modc_dtype_bytes(key->dtype);
        unsigned char element[MODC_WIDEST] = {0};
        int code = 0;

        if (bytes == 0)
            continue;
        if (key->init == MODC_INIT_VALUE)
            code = (int)cudaMemcpyAsync(modc_state(net, i), key->value, bytes, cudaMemcpyHostToDevice,
                                        stream_of(net));
        if (key->init == MODC_INIT_CONSTANT) {
            modc_store(element, key->dtype, key->a);
            code = modc_cuda_fill(stream_of(net), modc_state(net, i), element, each, bytes);
        }
        if (code != 0)
            return failed(net, (cudaError_t)code, "reset_state");
    }
    net->saved = 0;
    return MODC_OK;
}

static enum modc_status init(struct modc_context *net)
{
    struct modc_cuda *cuda = modc_cuda_of(net);

    memset(cuda, 0, sizeof *cuda);
    MODC_TRY(reach(net, net->workspace, "workspace"));
    cuda->head = (struct modc_device_head *)(void *)(net->workspace + net->model->state_block -
                                                     MODC_DEVICE_HEAD);
    MODC_TRY(failed(net, cudaMemsetAsync(cuda->head, 0, MODC_DEVICE_HEAD, stream_of(net)), "init"));
    MODC_TRY(reset_state(net));
    return failed(net, cudaStreamSynchronize(stream_of(net)), "init"); /* it may get another stream now */
}

/* The few bytes are taken at once, so that the context may change behind it. */
static enum modc_status begin(struct modc_context *net)
{
    struct modc_cuda *cuda = modc_cuda_of(net);
    const struct modc_random now = {net->seed, net->counter};

    if (memcmp(&now, &cuda->sent, sizeof now) == 0)
        return MODC_OK;
    MODC_TRY(failed(net, (cudaError_t)modc_cuda_set_random(cuda->stream, cuda->head, now.seed, now.counter),
                    "begin"));
    cuda->sent = now;
    return MODC_OK;
}

enum modc_status modc_cuda_drawn(struct modc_context *net)
{
    struct modc_cuda *cuda = modc_cuda_of(net);

    MODC_TRY(failed(net, (cudaError_t)modc_cuda_count(cuda->stream, cuda->head), "random numbers"));
    net->counter++;
    cuda->sent.counter++;
    return MODC_OK;
}

void modc_cuda_wrote(struct modc_context *net)
{
    struct modc_mirror *mirror = modc_mirror_of(net->params);

    mirror->ahead = true;
    mirror->stream = modc_cuda_of(net)->stream;
}

void *modc_stream(struct modc_context *net)
{
    return modc_cuda_of(net)->stream;
}

/* The context's stream is at its end, and may be destroyed: the parameters need none to wait for. */
static void leave_stream(struct modc_context *net)
{
    struct modc_mirror *mirror = net->params != NULL ? modc_mirror_of(net->params) : NULL;

    if (mirror != NULL && mirror->stream == modc_cuda_of(net)->stream)
        mirror->stream = NULL;
}

enum modc_status modc_set_stream(struct modc_context *net, void *stream)
{
    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    if (net->busy)
        return MODC_BUSY;
    if (stream == modc_cuda_of(net)->stream)
        return MODC_OK;

    const cudaError_t code = cudaStreamQuery(stream_of(net));

    (void)cudaGetLastError(); /* some versions keep cudaErrorNotReady there */
    if (code == cudaErrorNotReady)
        return MODC_BUSY;
    MODC_TRY(failed(net, code, "set_stream"));
    leave_stream(net);
    modc_cuda_of(net)->stream = stream;
    return MODC_OK;
}

/* Calls at fault, and those behind them, have not counted: the device is at this number. */
static void uncount(struct modc_context *net, uint64_t counter)
{
    struct modc_cuda *cuda = modc_cuda_of(net);

    if (net->seed == cuda->sent.seed && net->counter == cuda->sent.counter)
        net->counter = counter;
    cuda->sent.counter = counter;
}

enum modc_status modc_sync(struct modc_context *net)
{
    struct modc_device_head head;
    struct modc_cuda *cuda;

    if (net == NULL || net->model == NULL)
        return MODC_POINTER;
    cuda = modc_cuda_of(net);
    MODC_TRY(failed(net,
                    cudaMemcpyAsync(&head, cuda->head, sizeof head, cudaMemcpyDeviceToHost, stream_of(net)),
                    "sync"));
    MODC_TRY(failed(net, cudaStreamSynchronize(stream_of(net)), "sync"));
    if (head.fault.status == MODC_OK)
        return MODC_OK;
    MODC_TRY(failed(net, cudaMemsetAsync(&cuda->head->fault, 0, sizeof cuda->head->fault, stream_of(net)),
                    "sync"));
    MODC_TRY(failed(net, cudaStreamSynchronize(stream_of(net)), "sync"));
    uncount(net, head.random.counter);
    net->saved = 0;
    net->fault_module = head.fault.module;
    net->fault_index = head.fault.index;
    net->fault_value = head.fault.value;
    return (enum modc_status)head.fault.status;
}

/* ---- the mirror: note [mirror] ------------------------------------------------------------------------------------ */

static void *host_pointer(const struct modc_params *params, int key)
{
    void *pointer;

    memcpy(&pointer, (const char *)params + modc_key_pointer(key), sizeof pointer);
    return pointer;
}

void *modc_device_pointer(const struct modc_params *params, int key)
{
    return params == NULL || params->model == NULL || key < 0 || key >= params->model->key_count
               ? NULL
               : host_pointer(params, params->model->key_count + key);
}

static size_t elements_of(const struct modc_key *key)
{
    return modc_key_bytes(key) / modc_dtype_bytes(key->dtype);
}

/* Bytes from the start of a tensor in its block to that of the next one. */
static size_t room_of(const struct modc_model *model, int key)
{
    const size_t align = model->tensor_align;

    return model->keys[key].tied > 0 ? 0 : (modc_key_bytes(&model->keys[key]) + align - 1) / align * align;
}

/* Whether the host's tensors lie as they do in a block of their own, so that one copy takes all. */
static bool is_whole(const struct modc_params *params)
{
    const struct modc_model *model = params->model;
    const char *next = model->key_count > 0 ? host_pointer(params, 0) : NULL;

    for (int i = 0; i < model->key_count; next += room_of(model, i), i++)
        if (model->keys[i].tied == 0 && host_pointer(params, i) != next)
            return false;
    return true;
}

/* All of them, in one direction, behind what the stream has to do. */
static cudaError_t copy_tensors(const struct modc_params *params, bool up)
{
    const enum cudaMemcpyKind kind = up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    const cudaStream_t stream = (cudaStream_t)modc_mirror_of(params)->stream;
    const struct modc_model *model = params->model;
    cudaError_t code = cudaSuccess;
    size_t bytes = 0;

    for (int i = 0; i < model->key_count; i++)
        bytes += room_of(model, i);
    if (bytes > 0 && is_whole(params)) {
        void *host = host_pointer(params, 0), *device = modc_device_pointer(params, 0);

        return cudaMemcpyAsync(up ? device : host, up ? host : device, bytes, kind, stream);
    }
    for (int i = 0; i < model->key_count && code == cudaSuccess; i++) {
        void *host = host_pointer(params, i), *device = modc_device_pointer(params, i);

        bytes = model->keys[i].tied > 0 ? 0 : modc_key_bytes(&model->keys[i]);
        if (bytes > 0)
            code = cudaMemcpyAsync(up ? device : host, up ? host : device, bytes, kind, stream);
    }
    return code;
}

/* The scales that weights came with, which lie behind all tensors: note [integers] in modc.h. */
static cudaError_t copy_scales(const struct modc_params *params)
{
    const struct modc_model *model = params->model;
    const size_t first = model->integer_count > 0 ? model->integers[0].scales : model->param_block;

    if (params->block == NULL || first == model->param_block)
        return cudaSuccess;
    return cudaMemcpyAsync((char *)modc_device_pointer(params, 0) + first, params->block + first,
                           model->param_block - first, cudaMemcpyHostToDevice,
                           (cudaStream_t)modc_mirror_of(params)->stream);
}

static enum modc_status settle(struct modc_params *params)
{
    struct modc_mirror *mirror = modc_mirror_of(params);

    if (!mirror->ahead)
        return MODC_OK;
    MODC_TRY(params_failed(params, copy_tensors(params, false), "download"));
    MODC_TRY(params_failed(params, cudaStreamSynchronize((cudaStream_t)mirror->stream), "download"));
    mirror->ahead = false;
    mirror->uploaded = params->version;
    return MODC_OK;
}

enum modc_status modc_upload(struct modc_params *params)
{
    const struct modc_model *model = params->model;
    struct modc_mirror *mirror = modc_mirror_of(params);
    char *tensor = params->packed;
    cudaError_t code = cudaSuccess;

    if ((uintptr_t)tensor % MODC_DEVICE_ALIGN != 0)
        return MODC_ALIGNMENT;
    if (tensor != NULL && !is_reached(tensor, &code)) {
        mirror->failed = "packed";
        mirror->text = host_memory;
        return MODC_POINTER;
    }
    MODC_TRY(params_failed(params, code, "upload"));
    if (mirror->block != tensor) {
        MODC_TRY(settle(params)); /* from where they were */
        mirror->uploaded = 0;
        mirror->block = tensor;
    }
    for (int i = 0; i < model->key_count; tensor += room_of(model, i), i++) {
        void *pointer = model->keys[i].tied > 0 ? modc_device_pointer(params, i - model->keys[i].tied)
                                                : (void *)tensor;

        memcpy((char *)params + modc_key_pointer(model->key_count + i), &pointer, sizeof pointer);
    }
    if (mirror->ahead || mirror->uploaded == params->version)
        return MODC_OK;
    MODC_TRY(params_failed(params, copy_tensors(params, true), "upload"));
    MODC_TRY(params_failed(params, copy_scales(params), "upload"));
    mirror->uploaded = params->version;
    return MODC_OK;
}

enum modc_status modc_upload_constant(struct modc_params *params, void *to, const void *from, size_t bytes)
{
    return params_failed(params,
                         cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                                         (cudaStream_t)modc_mirror_of(params)->stream),
                         "upload");
}

enum modc_status modc_uploaded(struct modc_params *params)
{
    return params_failed(params, cudaStreamSynchronize((cudaStream_t)modc_mirror_of(params)->stream), "pack");
}

enum modc_status modc_download(struct modc_params *params)
{
    return params == NULL || params->model == NULL ? MODC_POINTER : settle(params);
}

/* ---- gradients ----------------------------------------------------------------------------------------------------- */

/* The few bytes are taken at once. */
static enum modc_status publish(struct modc_training *training)
{
    struct modc_context *net = training->net;

    if (training->present == NULL)
        return MODC_OK;
    modc_cuda_of(net)->unsent = true;
    MODC_TRY(failed(net,
                    (cudaError_t)modc_cuda_put(modc_cuda_of(net)->stream, training->present,
                                               modc_present_on_host(training),
                                               (size_t)training->model->gradient_count),
                    "gradients"));
    modc_cuda_of(net)->unsent = false;
    return MODC_OK;
}

static enum modc_status zero(struct modc_context *net, void *block, size_t bytes)
{
    return failed(net, (cudaError_t)modc_cuda_zero(modc_cuda_of(net)->stream, block, 0, bytes), "zero_grad");
}

/* ---- training: note [training on a device] -------------------------------------------------------------------------- */

static enum modc_status receive(struct modc_context *net, void *to, const void *from, size_t bytes)
{
    MODC_TRY(failed(net, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(net)),
                    "numbers of a step"));
    return modc_sync(net);
}

static enum modc_status numbers(struct modc_training *training, double type, double *numbers)
{
    const struct modc_model *model = training->model;
    struct modc_context *net = training->net;
    double *cells = modc_numbers_of(training);

    for (int i = 0; i < model->gradient_count; i++) {
        const struct modc_key *key = &model->keys[modc_gradient_key(model, i)];
        const void *gradient = modc_gradient_at(training, i);

        if (gradient != NULL)
            MODC_TRY(
                failed(net,
                       (cudaError_t)modc_cuda_number(modc_cuda_of(net)->stream, NULL, &cells[i], gradient,
                                                     key->dtype, elements_of(key), type, numbers[i]),
                       "norms of gradients"));
    }
    return receive(net, numbers, cells, sizeof *numbers * (size_t)model->gradient_count);
}

static enum modc_status judge(struct modc_context *net, double *to, const void *gradient,
                              enum modc_dtype dtype, size_t count)
{
    return failed(net,
                  (cudaError_t)modc_cuda_number(modc_cuda_of(net)->stream, modc_cuda_of(net)->head, to,
                                                gradient, dtype, count, (double)NAN, 1),
                  "step");
}

static enum modc_status scale(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                              double by)
{
    return failed(net, (cudaError_t)modc_cuda_scale(modc_cuda_of(net)->stream, data, dtype, count, by),
                  "clip_grad_norm");
}

static enum modc_status clamp(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                              double value)
{
    return failed(net, (cudaError_t)modc_cuda_clamp(modc_cuda_of(net)->stream, data, dtype, count, value),
                  "clip_grad_value");
}

static enum modc_status average(struct modc_context *net, void *to, const void *data, enum modc_dtype dtype,
                                size_t count, double decay)
{
    return failed(net,
                  (cudaError_t)modc_cuda_average(modc_cuda_of(net)->stream, to, data, dtype, count, decay),
                  "averages");
}

static enum modc_status swap(struct modc_context *net, void *a, void *b, size_t bytes)
{
    return failed(net, (cudaError_t)modc_cuda_swap(modc_cuda_of(net)->stream, a, b, bytes), "averages");
}

static enum modc_status renew(struct modc_context *net, float *copies, const void *param,
                              enum modc_dtype dtype, size_t count)
{
    return failed(net, (cudaError_t)modc_cuda_renew(modc_cuda_of(net)->stream, copies, param, dtype, count),
                  "float32 copies");
}

static enum modc_status round_copies(struct modc_context *net, void *param, enum modc_dtype dtype,
                                     const float *copies, size_t count)
{
    return failed(net, (cudaError_t)modc_cuda_round(modc_cuda_of(net)->stream, param, dtype, copies, count),
                  "float32 copies");
}

static enum modc_status fill(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                             double value)
{
    const size_t each = modc_dtype_bytes(dtype);
    unsigned char element[MODC_WIDEST] = {0};

    modc_store(element, dtype, value);
    return failed(net,
                  (cudaError_t)modc_cuda_fill(modc_cuda_of(net)->stream, data, element, each, each * count),
                  "states of the optimiser");
}

static enum modc_status send(struct modc_context *net, void *to, const void *from, size_t words)
{
    return failed(net,
                  (cudaError_t)modc_cuda_put(modc_cuda_of(net)->stream, to, (const uint64_t *)from, words),
                  "scalars of a step");
}

static enum modc_status move(struct modc_context *net, void *to, const void *from, size_t bytes)
{
    return failed(net, (cudaError_t)modc_cuda_copy(modc_cuda_of(net)->stream, to, from, bytes), "averages");
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static enum modc_status allocated(cudaError_t code)
{
    (void)cudaGetLastError(); /* it is told; nothing else is to find it */
    return code == cudaSuccess ? MODC_OK : code == cudaErrorMemoryAllocation ? MODC_MEMORY : MODC_GPU;
}

static enum modc_status allocate(void **block, size_t bytes)
{
    return allocated(cudaMalloc(block, bytes > 0 ? bytes : 1));
}

static void release(void *block)
{
    if (block != NULL)
        (void)cudaFree(block);
}

static enum modc_status allocate_host(void **block, size_t bytes)
{
    return allocated(cudaMallocHost(block, bytes > 0 ? bytes : 1));
}

static void release_host(void *block)
{
    if (block != NULL)
        (void)cudaFreeHost(block);
}

/* Parameters that were created, and the blocks that belong to them. */
struct made_params {
    void *block, *packed;
};
enum { MADE_PARAMS = 64 }; /* bytes from it to struct MODEL_params */

static struct made_params *made_params_of(struct modc_params *params)
{
    return (struct made_params *)(void *)((char *)params - MADE_PARAMS);
}

static void params_destroy(struct modc_params *params)
{
    struct made_params *made = made_params_of(params);

    release_host(made->block);
    release(made->packed);
    free(made);
}

static enum modc_status params_create(const struct modc_model *model, void *block, size_t bytes,
                                      struct modc_params **params)
{
    struct made_params *made = calloc(1, MADE_PARAMS + model->params_bytes);
    enum modc_status status = MODC_OK;

    if (made == NULL)
        return MODC_MEMORY;
    *params = (struct modc_params *)(void *)((char *)made + MADE_PARAMS);
    if (block == NULL) {
        bytes = model->param_block;
        status = allocate_host(&made->block, bytes);
        block = made->block;
        if (status == MODC_OK)
            memset(block, 0, bytes);
    }
    if (status == MODC_OK && model->packed_block > 0)
        status = allocate(&made->packed, model->packed_block);
    if (status == MODC_OK)
        status = modc_bind(*params, model, block, bytes);
    if (status == MODC_OK)
        (*params)->packed = made->packed;
    else
        params_destroy(*params);
    if (status != MODC_OK)
        *params = NULL;
    return status;
}

/* For calls of any entry on the host's memory. */
static size_t most_staged(const struct modc_model *model)
{
    size_t most = 0;

    for (int i = 0; i < model->entry_count; i++) {
        const size_t bytes = modc_host_bytes(&model->entries[i]);

        most = bytes > most ? bytes : most;
    }
    return most + MODC_DEVICE_ALIGN;
}

static enum modc_status create(const struct modc_model *model, struct modc_params *params, size_t workspace,
                               struct modc_context **net)
{
    struct modc_context *made = calloc(1, model->context_bytes);
    size_t bytes = workspace > 0 ? workspace : modc_workspace(model) + most_staged(model);
    enum modc_status status;
    void *block = NULL;

    if (made == NULL)
        return MODC_MEMORY;
    status = allocate(&block, bytes);
    if (status == MODC_OK)
        status = modc_init(made, model, params, block, bytes);
    if (status != MODC_OK) {
        release(block);
        free(made);
        return status;
    }
    *net = made;
    return MODC_OK;
}

static void destroy(struct modc_context *net)
{
    (void)cudaStreamSynchronize(stream_of(net));
    leave_stream(net);
    release(net->workspace);
    free(net);
}

/* A training that was created, and its block. */
struct made_training {
    void *block;
};
enum { MADE_TRAINING = 64 }; /* bytes from it to struct MODEL_training */

static void training_destroy(struct modc_training *training)
{
    struct made_training *made = (struct made_training *)(void *)((char *)training - MADE_TRAINING);

    release(made->block);
    free(made);
}

static enum modc_status training_create(struct modc_context *net, struct modc_training **training)
{
    const struct modc_model *model = net->model;
    const bool trains = model->training_init != NULL;
    const size_t bytes = trains ? model->training_block : model->gradient_block;
    struct made_training *made = calloc(1, MADE_TRAINING + model->training_bytes);
    enum modc_status status;

    if (made == NULL)
        return MODC_MEMORY;

    struct modc_training *own = (struct modc_training *)(void *)((char *)made + MADE_TRAINING);

    status = allocate(&made->block, bytes);
    if (status == MODC_OK)
        status = (trains ? model->training_init : modc_training_init)(own, net, made->block, bytes);
    if (status == MODC_OK)
        *training = own;
    else
        training_destroy(own);
    return status;
}

/* Between places of the device, of the host, or of both. */
static enum modc_status start_copy(struct modc_context *net, void *to, const void *from, size_t bytes)
{
    return bytes == 0
               ? MODC_OK
               : failed(net, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(net)), "copy");
}

static enum modc_status copy(struct modc_context *net, void *to, const void *from, size_t bytes)
{
    MODC_TRY(start_copy(net, to, from, bytes));
    return bytes == 0 ? MODC_OK : failed(net, cudaStreamSynchronize(stream_of(net)), "copy");
}

int modc_cuda_copy(void *stream, void *to, const void *from, size_t bytes)
{
    return bytes == 0 || to == from
               ? 0
               : (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

int modc_cuda_zero(void *stream, void *to, int zero, size_t bytes)
{
    return bytes == 0 ? 0 : (int)cudaMemsetAsync(to, zero, bytes, (cudaStream_t)stream);
}

/* ---- calls on the host's memory ------------------------------------------------------------------------------------ */

static size_t rounded(size_t bytes)
{
    return (bytes + MODC_DEVICE_ALIGN - 1) / MODC_DEVICE_ALIGN * MODC_DEVICE_ALIGN;
}

/* Of output `index`, or of input -1 - index, at these sizes; NULL: at their maxima. */
static size_t io_bytes(const struct modc_entry *entry, int index, const int *sizes)
{
    const struct modc_io *io = index < 0 ? &entry->inputs[-1 - index] : &entry->outputs[index];
    size_t bytes = modc_dtype_bytes(io->dtype);
    int dims[MODC_MAX_DIMS];

    if (sizes != NULL)
        modc_shape(entry, sizes, index, dims);
    else
        memcpy(dims, io->max_dims, sizeof dims);
    for (int d = 0; d < io->ndim; d++)
        bytes *= (size_t)dims[d];
    return bytes;
}

/* Of all inputs and outputs; once more for their gradients. */
static size_t staged_bytes(const struct modc_entry *entry)
{
    size_t bytes = 0;

    for (int i = -entry->input_count; i < entry->output_count; i++)
        bytes += rounded(io_bytes(entry, i, NULL));
    return bytes;
}

size_t modc_host_bytes(const struct modc_entry *entry)
{
    return staged_bytes(entry) * (entry->backward != NULL ? 2 : 1);
}

/* A tensor's place in the device's memory, for a pointer of the host; *at goes past it. */
static void *stage(char **at, const struct modc_entry *entry, int index, const void *host)
{
    char *place = *at;

    *at += rounded(io_bytes(entry, index, NULL));
    return host != NULL ? place : NULL;
}

static enum modc_status copy_tensor(struct modc_context *net, void *to, const void *from, size_t bytes,
                                    bool up, const char *name)
{
    if (bytes == 0 || to == NULL || from == NULL)
        return MODC_OK;
    return failed(net,
                  cudaMemcpyAsync(to, from, bytes, up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                                  stream_of(net)),
                  name);
}

/* What lies in the workspace for backward. */
static size_t saved_bytes(const struct modc_context *net, const struct modc_entry *entry)
{
    return net->saved == 0
               ? 0
               : entry->backward_workspace[(net->saved - 1) % 2 + (net->saved_hooked ? MODC_MODES : 0)];
}

/* The end of the workspace, for what a call is given, and behind that for what it makes. `backward`: these are gradients. */
static enum modc_status find_places(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, bool backward, char **at)
{
    const size_t room = modc_host_bytes(entry);

    if (net->workspace_bytes < room + (backward ? saved_bytes(net, entry) : 0))
        return MODC_WORKSPACE;
    for (int s = 0; s < net->model->size_count; s++)
        if (sizes[s] < 0 || sizes[s] > entry->max_sizes[s])
            return MODC_SIZE;
    *at = net->workspace + (net->workspace_bytes - room) / MODC_DEVICE_ALIGN * MODC_DEVICE_ALIGN;
    *at += backward ? staged_bytes(entry) : 0;
    if (!backward)
        net->saved = 0; /* it may have lain there */
    return MODC_OK;
}

/* Copies what a call is given there; *at is where there is room for what it makes. The array has the host's pointers, and gets as many of the
 * device behind them. `backward`: they are gradients of outputs. */
static enum modc_status stage_given(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, const void **given, bool backward, char **at)
{
    const int givens = backward ? entry->output_count : entry->input_count;

    MODC_TRY(find_places(net, entry, sizes, backward, at));
    for (int i = 0; i < givens; i++) {
        const int index = backward ? i : -1 - i;
        void *place = stage(at, entry, index, given[i]);

        MODC_TRY(copy_tensor(net, place, given[i], io_bytes(entry, index, sizes), true, "copy of an input"));
        given[givens + i] = place;
    }
    return MODC_OK;
}

/* The same of a block in which all inputs lie, in one copy. They take less room than apart, where they are aligned more. */
static enum modc_status stage_block(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, const void **inputs, const char *block, size_t bytes,
                                    char **at)
{
    char *place;

    MODC_TRY(find_places(net, entry, sizes, false, at));
    place = *at;
    for (int i = 0; i < entry->input_count; i++) {
        inputs[entry->input_count + i] = place + ((const char *)inputs[i] - block);
        (void)stage(at, entry, -1 - i, inputs[i]);
    }
    return copy_tensor(net, place, block, bytes, true, "copy of inputs");
}

/* What was given is there: the call, and copies of what it makes from behind *at. */
static enum modc_status start_staged(struct modc_context *net, const struct modc_entry *entry,
                                     const int *sizes, const void **given, void **made, bool backward,
                                     char *at)
{
    const int inputs = entry->input_count, outputs = entry->output_count;
    const int givens = backward ? outputs : inputs, mades = backward ? inputs : outputs;
    const size_t room = modc_host_bytes(entry);
    enum modc_status status;

    for (int i = 0; i < mades; i++)
        made[mades + i] = stage(&at, entry, backward ? -1 - i : i, made[i]);
    net->workspace_bytes -= room;
    status = (backward ? entry->backward : entry->call)(net, sizes, given + givens, made + mades);
    net->workspace_bytes += room;
    MODC_TRY(status);
    for (int i = 0; i < mades; i++)
        MODC_TRY(copy_tensor(net, made[i], made[mades + i], io_bytes(entry, backward ? -1 - i : i, sizes),
                             false, "copy of an output"));
    return MODC_OK;
}

/* Of work that failed: what was started passes, so that the host's memory is the caller's again. */
static enum modc_status give_up(struct modc_context *net, enum modc_status status)
{
    (void)cudaStreamSynchronize(stream_of(net)); /* the first fault is told */
    (void)cudaGetLastError();
    return status;
}

/* The arrays have the host's pointers, and behind them room for as many of the device. `backward`: they are gradients, first of
 * outputs. bytes: of the block that inputs lie in, or 0. */
static enum modc_status call_staged(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, const void **given, void **made, bool backward,
                                    const void *block, size_t bytes)
{
    enum modc_status status;
    char *at = NULL;

    if (net->busy)
        return MODC_BUSY;
    status = bytes > 0 ? stage_block(net, entry, sizes, given, block, bytes, &at)
                       : stage_given(net, entry, sizes, given, backward, &at);
    if (status == MODC_OK)
        status = start_staged(net, entry, sizes, given, made, backward, at);
    if (status == MODC_OK)
        status = modc_sync(net);
    return status == MODC_OK ? MODC_OK : give_up(net, status);
}

enum modc_status modc_call_host(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                                const void **inputs, void **outputs)
{
    return net == NULL || net->model == NULL
               ? MODC_POINTER
               : call_staged(net, entry, sizes, inputs, outputs, false, NULL, 0);
}

enum modc_status modc_backward_host(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, const void **output_gradients, void **input_gradients)
{
    return net == NULL || net->model == NULL
               ? MODC_POINTER
               : call_staged(net, entry, sizes, output_gradients, input_gradients, true, NULL, 0);
}

static enum modc_status find(const char **text)
{
    int devices = 0, number = 0, major = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);

    if (code == cudaSuccess)
        code = cudaGetDevice(&number);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number);
    (void)cudaGetLastError();
    *text = code != cudaSuccess ? cudaGetErrorString(code)
            : major < 8         ? "its compute capability is below 8.0, which kernels need"
                                : "";
    return code == cudaSuccess && major >= 8 ? MODC_OK : MODC_GPU;
}

/* Starts a step on the host's memory; *status: what the step itself says. */
static enum modc_status start_step(struct modc_training *training, const struct modc_entry *entry,
                                   const int *sizes, const void **inputs, void *loss,
                                   enum modc_status *status)
{
    struct modc_context *net = training->net;
    const size_t room = modc_host_bytes(entry);
    void *place;
    char *at;

    MODC_TRY(stage_given(net, entry, sizes, inputs, false, &at));
    place = stage(&at, entry, 0, loss);
    net->workspace_bytes -= room;
    *status = net->model->train_step(training, sizes, inputs + entry->input_count, place);
    net->workspace_bytes += room;
    if (*status != MODC_OK && *status != MODC_NONFINITE)
        return *status;
    return copy_tensor(net, loss, place, io_bytes(entry, 0, sizes), false, "copy of an output");
}

/* A step of training on the inputs of the entry loss, which is the last. */
static enum modc_status train_host(struct modc_training *training, const int *sizes, const void **inputs,
                                   void *loss)
{
    struct modc_context *net = training->net;
    const struct modc_entry *entry = &net->model->entries[net->model->entry_count - 1];
    enum modc_status status = MODC_OK, started;

    if (net->busy)
        return MODC_BUSY;
    started = start_step(training, entry, sizes, inputs, loss, &status);
    if (started == MODC_OK)
        started = modc_sync(net);
    return started == MODC_OK ? status : give_up(net, started);
}

/* ---- generators ---------------------------------------------------------------------------------------------------- */

static enum modc_status call_rows(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                                  const void **inputs, void **outputs, const void *block, size_t bytes)
{
    return call_staged(net, entry, sizes, inputs, outputs, false, block, bytes);
}

static enum modc_status copy_all(struct modc_context *net, const struct modc_copy *copies, int count)
{
    return failed(net, (cudaError_t)modc_cuda_copy_all(modc_cuda_of(net)->stream, copies, count), "copy");
}

static enum modc_status wait_for(struct modc_context *net)
{
    const enum modc_status status = modc_sync(net);

    return status == MODC_OK ? MODC_OK : give_up(net, status);
}

static const struct modc_generation_machine generation = {
    .room = modc_host_bytes,
    .call = call_rows,
    .copy = copy_all,
    .transfer = start_copy,
    .wait = wait_for,
};

const struct modc_device modc_cuda_device = {
    .name = "cuda",
    .find = find,
    .init = init,
    .reset_state = reset_state,
    .begin = begin,
    .settle = settle,
    .params_create = params_create,
    .params_destroy = params_destroy,
    .create = create,
    .destroy = destroy,
    .reach = reach,
    .training_create = training_create,
    .training_destroy = training_destroy,
    .publish = publish,
    .numbers = numbers,
    .judge = judge,
    .scale = scale,
    .clamp = clamp,
    .average = average,
    .swap = swap,
    .renew = renew,
    .round = round_copies,
    .fill = fill,
    .send = send,
    .receive = receive,
    .move = move,
    .started = modc_launched,
    .wrote = modc_cuda_wrote,
    .stream = modc_stream,
    .train_host = train_host,
    .zero = zero,
    .call_host = modc_call_host,
    .backward_host = modc_backward_host,
    .failed = modc_device_failed,
    .allocate = allocate,
    .release = release,
    .allocate_host = allocate_host,
    .release_host = release_host,
    .generation = &generation,
    .copy = copy,
};
