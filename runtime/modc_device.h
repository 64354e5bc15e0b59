/* modc_device.h - models on a GPU: what their emitted C calls, and what users have beside modc.h. Needs no toolkit to be read; it is
 * implemented by modc_cuda.c.
 *
 * note [mirror]
 * Parameters lie twice: in the host's block, where load, save, reset and hooks of the state_dict work as on a processor, and at the
 * head of the packed block, in the device's memory, where kernels read them. MODEL_pack copies what the host has changed and then
 * packs; what the device has changed (training, statistics of layers) comes back before the host reads it. The runtime knows by two
 * numbers which side is ahead: a caller who writes to params.host himself calls MODEL_download first and MODEL_changed behind it.
 *
 * note [training on a device]
 * Gradients, states of the optimiser and averages lie in the device's memory alone; what schedules change, how many steps each parameter
 * has had and states that are scalars (NAdam's mu_product) on the host, which makes the scalars of a step there, in double, and sends them
 * with one copy: kernels read them from memory. Whether gradients are finite, and their norms, come back to the host, which decides as on a
 * processor: a step waits for the backward in front of it. Whether a check has failed comes with them: the step is not taken then. With a
 * scaler the host leaves the step out by the same numbers, and sends the scale in front of backward. With `update: fused` the scalars are
 * sent in front of backward, in which a parameter's update stands behind the kernel that looks at its gradient; that of one which is left
 * out, or of a call at fault, changes nothing. What happened comes back at the end, and what the host counts (steps, scalar states) goes on
 * for those that were updated.
 *
 * note [streams]
 * A call of an entry starts work on the context's stream and returns. Pointers that it gets are the device's, and what they point to
 * must stay until the stream has passed. So do those that hooks get, which run on the host between the launches: what a hook does with
 * values goes onto modc_stream(call->context). What only the device finds out (an index out of range) is told by MODEL_sync; until then
 * what calls would write to state and buffers stays undone. Contexts may run on streams of their own at the same time. */
#ifndef MODC_DEVICE_H
#define MODC_DEVICE_H

#include "modc.h"

#ifdef MODC_NO_DEVICE /* the build knows of no .cu of the model */
#error "the spec says that this model is on cuda: modc_add_model(... DEVICE cuda)"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { MODC_DEVICE_ALIGN = 256 }; /* of every block in the device's memory */

/* What stands in the device's memory for each context, behind its state. */
struct modc_random {
    uint64_t seed, counter; /* of the next call that draws */
};
struct modc_device_fault {
    int32_t status, module; /* MODC_OK: none */
    int64_t index, value;
};

/* Which of the scalars of an update says, where it is not 0, that there is none: `update: fused`. */
enum { MODC_LEFT_OUT = 15 };

/* For kernels: whether a check has failed, of this call or of one before it on the stream. */
#define modc_faulty(fault) ((fault) != NULL && (fault)->status != MODC_OK)

struct modc_device_head {
    struct modc_device_fault fault;
    struct modc_random random;
};
enum { MODC_DEVICE_HEAD = 256 }; /* bytes for it in every workspace */

/* In every struct MODEL, behind its context. */
struct modc_cuda {
    void *stream;                  /* cudaStream_t; NULL: the default one */
    struct modc_device_head *head; /* in the device's memory */
    struct modc_random sent;       /* what the device has of the context's seed and counter */
    bool unsent;                   /* which gradients there are: the next backward sends it again */
    int error;                     /* after MODC_GPU: CUDA's number for what failed */
    const char *failed;    /* and the call or kernel that did; after MODC_POINTER a pointer of the host */
    const char *text;      /* and CUDA's words for it */
    const void *known[16]; /* pointers that were found to be the device's */
};

/* At the end of every struct MODEL_params. */
struct modc_mirror {
    const void *block; /* the packed block that they lie in */
    uint64_t uploaded; /* the version that the device has of the parameters; 0: none */
    bool ahead;        /* it has written to them since */
    void *stream;      /* on which it did */
    int error;         /* as in struct modc_cuda */
    const char *failed, *text;
};

static inline struct modc_cuda *modc_cuda_of(struct modc_context *net)
{
    return (struct modc_cuda *)(void *)(net + 1);
}

static inline struct modc_mirror *modc_mirror_of(const struct modc_params *params)
{
    return (struct modc_mirror *)(void *)((char *)(uintptr_t)params +
                                          modc_key_pointer(2 * params->model->key_count));
}

/* In the block of gradients, in the device's memory: a number of each, behind which of them there are. While backward runs nobody asks for
 * them, and the first is the gradient of a loss with a scaler. */
static inline double *modc_numbers_of(const struct modc_training *training)
{
    const size_t align = training->model->tensor_align, bytes = 8 * (size_t)training->model->gradient_count;

    return (double *)(void *)((char *)training->present + (bytes + align - 1) / align * align);
}

/* In struct MODEL_training, behind its gradients: by gradient whether it is there, as the cell is in the device's memory, and behind
 * that whether it is wanted. Of `update: fused`, which keeps none, the second alone, behind the head. */
static inline uint64_t *modc_present_on_host(const struct modc_training *training)
{
    const struct modc_model *model = training->model;

    return (uint64_t *)(void *)((char *)(uintptr_t)training + model->gradients_offset + model->params_bytes);
}

static inline double *modc_numbers_on_host(const struct modc_training *training)
{
    return (double *)(void *)(modc_present_on_host(training) + training->model->gradient_count);
}

static inline bool *modc_wants_on_host(const struct modc_training *training)
{
    return training->model->gradients_offset > 0
               ? (bool *)(void *)(modc_numbers_on_host(training) + training->model->gradient_count)
               : (bool *)(void *)((char *)(uintptr_t)training + sizeof *training);
}

struct modc_copy {
    void *to;
    const void *from;
    size_t bytes;
};

/* What a generator (modc_generation.h) asks of the machine that its model is on: a processor, or a device. The generator's own memory
 * is the host's; what the model keeps of tokens and sequences is where its state is. */
struct modc_generation_machine {
    /* Bytes at the end of the workspace that calls of the entry take, beside its own. */
    size_t (*room)(const struct modc_entry *entry);
    /* One call, by pointers of the host: when it returns, whatever the status, inputs are read, and outputs there if they ever will be. The
     * arrays have room for twice as many pointers. bytes: of a block that the inputs lie in, aligned to 64 each and one behind the other;
     * 0: they are apart. */
    enum modc_status (*call)(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                             const void **inputs, void **outputs, const void *block, size_t bytes);
    /* Of what the model keeps, behind all calls and copies so far. No place is in two of them. */
    enum modc_status (*copy)(struct modc_context *net, const struct modc_copy *copies, int count);
    /* Bytes of it from the host, or to it: what is the host's is left alone until `wait` has returned, whatever the status. */
    enum modc_status (*transfer)(struct modc_context *net, void *to, const void *from, size_t bytes);
    enum modc_status (*wait)(struct modc_context *net);
};

/* What the runtime does otherwise for such a model: struct modc_model points to one. Memory that is not freed by hand is the caller's. */
struct modc_device {
    const char *name;
    /* Whether a device is there that models run on; MODC_GPU: *text says why not, and else nothing. */
    enum modc_status (*find)(const char **text);
    /* A new context: its head and its state, when it returns. MODC_POINTER: its workspace is the host's. MODC_GPU. */
    enum modc_status (*init)(struct modc_context *net);
    enum modc_status (*reset_state)(struct modc_context *net);
    /* In front of a call: what the device has to know. */
    enum modc_status (*begin)(struct modc_context *net);
    /* Before the host reads or writes parameters: what the device has written comes back. */
    enum modc_status (*settle)(struct modc_params *params);
    /* modc_params_create_over, modc_create and their like: what kernels work on in the device's memory, the parameters' own block where
     * copies from the host are fast. MODC_MEMORY, MODC_GPU. */
    enum modc_status (*params_create)(const struct modc_model *model, void *block, size_t bytes,
                                      struct modc_params **params);
    void (*params_destroy)(struct modc_params *params);
    enum modc_status (*create)(const struct modc_model *model, struct modc_params *params, size_t workspace,
                               struct modc_context **net);
    void (*destroy)(struct modc_context *net);
    /* MODC_POINTER: it is the host's memory, which kernels do not reach. MODC_ALIGNMENT. */
    enum modc_status (*reach)(struct modc_context *net, const void *block, const char *name);
    enum modc_status (*training_create)(struct modc_context *net, struct modc_training **training);
    void (*training_destroy)(struct modc_training *training);
    /* Which gradients there are, as the host has it, for the kernels of the context's stream; memory of the device becomes 0 there.
     * MODC_GPU. */
    enum modc_status (*publish)(struct modc_training *training);
    enum modc_status (*zero)(struct modc_context *net, void *block, size_t bytes);
    /* Training: note [training on a device]. numbers: by gradient, of those that are there: what magnitudes of 16 bits are multiplied by, in
     * float32; then the norm of that type, or, of NaN, whether some are not finite. Waits. */
    enum modc_status (*numbers)(struct modc_training *training, double type, double *numbers);
    /* *to, on the device: 0 where the elements are finite and no check has failed. */
    enum modc_status (*judge)(struct modc_context *net, double *to, const void *gradient,
                              enum modc_dtype dtype, size_t count);
    enum modc_status (*scale)(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                              double by);
    enum modc_status (*clamp)(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                              double value);
    enum modc_status (*average)(struct modc_context *net, void *average, const void *data,
                                enum modc_dtype dtype, size_t count, double decay);
    enum modc_status (*swap)(struct modc_context *net, void *a, void *b, size_t bytes);
    /* float32 copies of a parameter of 16 bits: those that it is not the rounding of become what it is; it becomes their rounding. */
    enum modc_status (*renew)(struct modc_context *net, float *copies, const void *param,
                              enum modc_dtype dtype, size_t count);
    enum modc_status (*round)(struct modc_context *net, void *param, enum modc_dtype dtype,
                              const float *copies, size_t count);
    enum modc_status (*fill)(struct modc_context *net, void *data, enum modc_dtype dtype, size_t count,
                             double value);
    /* Behind all that the stream has to do: words of 8 bytes of the host, which are taken at once; bytes of the device for the host,
     * which waits as MODEL_sync and tells what that does; bytes of the device. */
    enum modc_status (*send)(struct modc_context *net, void *to, const void *from, size_t words);
    enum modc_status (*receive)(struct modc_context *net, void *to, const void *from, size_t bytes);
    enum modc_status (*move)(struct modc_context *net, void *to, const void *from, size_t bytes);
    enum modc_status (*started)(struct modc_context *net, int code, const char *kernel);
    void (*wrote)(struct modc_context *net); /* the parameters: the device is ahead */
    void *(*stream)(struct modc_context *net);
    enum modc_status (*train_host)(struct modc_training *training, const int *sizes, const void **inputs,
                                   void *loss);
    /* modc_call_host, modc_backward_host, modc_device_failed. */
    enum modc_status (*call_host)(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                                  const void **inputs, void **outputs);
    enum modc_status (*backward_host)(struct modc_context *net, const struct modc_entry *entry,
                                      const int *sizes, const void **output_gradients,
                                      void **input_gradients);
    const char *(*failed)(const struct modc_context *net, const char **text);
    enum modc_status (*copy)(struct modc_context *net, void *to, const void *from, size_t bytes); /* waits */
    /* Memory of the device; and of the host, from which the device copies by itself. */
    enum modc_status (*allocate)(void **block, size_t bytes);
    void (*release)(void *block);
    enum modc_status (*allocate_host)(void **block, size_t bytes);
    void (*release_host)(void *block);
    const struct modc_generation_machine *generation;
};

extern const struct modc_device modc_cuda_device;

/* Before the host looks at parameters, or writes them. MODC_GPU. */
static inline enum modc_status modc_settle(const struct modc_params *params)
{
    const struct modc_device *device = params->model->device;

    return device != NULL ? device->settle((struct modc_params *)(uintptr_t)params) : MODC_OK;
}

/* ---- for users ------------------------------------------------------------------------------------------------ */

/* From now on calls of the context run on this stream, a cudaStream_t (NULL: the default one). MODC_POINTER. MODC_BUSY: a hook of one
 * of its calls runs, or the stream so far is not at its end: MODEL_sync. */
enum modc_status modc_set_stream(struct modc_context *net, void *stream);
void *modc_stream(struct modc_context *net);

/* Waits until all calls of the context are done, and tells what happened in them: MODC_INDEX, MODC_DIVISION, MODC_ARGUMENT, whose
 * place and value stand in the context, as on a processor: the first since the last time. What they would have written to state
 * and buffers is undone, their outputs mean nothing; calls from now on are as ever. MODC_GPU. */
enum modc_status modc_sync(struct modc_context *net);

/* Behind MODC_GPU: the kernel or the call that failed, and CUDA's words for it; behind MODC_POINTER: the argument that is a pointer of
 * the host, where the device's was meant; "" where none did. Before there is a context or
 * parameters, model->device->find says what is wrong with the device. */
const char *modc_device_failed(const struct modc_context *net, const char **text);
const char *modc_params_failed(const struct modc_params *params, const char **text);

/* Where a tensor lies in the device's memory, by its number in model->keys; NULL: it has not been there yet, or there is none. */
void *modc_device_pointer(const struct modc_params *params, int key);

/* The device's values are copied over the host's, if they are newer. MODC_POINTER, MODC_GPU. */
enum modc_status modc_download(struct modc_params *params);

/* Bytes at the end of a workspace that calls on the host's memory take, beside those of the entry. */
size_t modc_host_bytes(const struct modc_entry *entry);

/* As the entry's call, and its backward, with pointers of the host: copies in, calls, copies out and waits. The arrays have room for twice as
 * many pointers. MODC_WORKSPACE: there is no room for modc_host_bytes behind what the call needs. */
enum modc_status modc_call_host(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                                const void **inputs, void **outputs);
enum modc_status modc_backward_host(struct modc_context *net, const struct modc_entry *entry,
                                    const int *sizes, const void **output_gradients, void **input_gradients);

/* ---- for emitted code ----------------------------------------------------------------------------------------- */

#if defined __GNUC__ || defined __clang__   /* as modc_simd.h */
#define MODC_UNUSED __attribute__((unused)) /* a local that some functions do not read */
#else
#define MODC_UNUSED
#endif

/* An argument of a call, which may be NULL. MODC_POINTER: it is a pointer of the host. */
enum modc_status modc_on_device(struct modc_context *net, const void *pointer, const char *name);
#define MODC_ON_DEVICE(pointer) MODC_TRY(modc_on_device(&net->base, pointer, #pointer))

/* What CUDA said to a launch. MODC_GPU. */
enum modc_status modc_launched(struct modc_context *net, int code, const char *kernel);
enum modc_status modc_pack_launched(struct modc_params *params, int code, const char *kernel);

/* A kernel of a call, or of packing, by the function that starts it. */
#define MODC_RUN(launch, ...)                                                                                \
    MODC_TRY(modc_launched(&net->base, launch(net->cuda.stream, __VA_ARGS__), #launch))
#define MODC_RUN_HOOKED(launch, ...)                                                                         \
    MODC_TRY_HOOKED(modc_launched(&net->base, launch(net->cuda.stream, __VA_ARGS__), #launch))
#define MODC_RUN_BACKWARD(launch, ...)                                                                       \
    MODC_TRY_BACKWARD(modc_launched(&net->base, launch(net->cuda.stream, __VA_ARGS__), #launch))
#define MODC_RUN_PACK(launch, ...)                                                                           \
    MODC_TRY(modc_pack_launched(params, launch(modc_mirror_of(params)->stream, __VA_ARGS__), #launch))

/* Copies of dense elements, zeros. */
int modc_cuda_copy(void *stream, void *to, const void *from, size_t bytes);
int modc_cuda_copy_bool(void *stream, void *to, const void *from, size_t bytes); /* every one is 0 or 1 */
int modc_cuda_zero(void *stream, void *to, int zero, size_t bytes);
/* Weights w (n, k) as integers with scales: note [scaled rows] in modc_simd_scalar.h. Rows of w are `row` apart, steps in K `column`;
 * scale: float32, float16 or bfloat16; gguf: as GGUF's Q8_0 and Q4_0 are rounded; came: the scales that w came with. */
int modc_cuda_pack_rows(void *stream, void *y, const float *w, int n, int k, int row, int column, int bits,
                        int group, enum modc_dtype scale, int gguf, struct modc_scales came);
/* Rows x (m, k), which are `row` apart, steps `column`, to what such weights are multiplied with, MODC_ROUNDED_BYTES(k) each. */
int modc_cuda_round_rows(void *stream, void *y, const float *x, int m, int k, int row, int column);
/* Several at once. */
int modc_cuda_copy_all(void *stream, const struct modc_copy *copies, int count);

/* Of what a call writes to state and buffers: nothing, where a call on the stream was at fault. */
int modc_cuda_commit(void *stream, const struct modc_device_head *head, void *to, const void *from,
                     size_t bytes);

/* As modc_check_index and its like, on the device: a kernel that notes the first fault, for MODEL_sync. */
int modc_cuda_check_index(void *stream, struct modc_device_head *head, int module, const void *index,
                          enum modc_dtype dtype, int64_t count, int64_t lowest, int64_t end);
int modc_cuda_check_divisor(void *stream, struct modc_device_head *head, int module, const void *divisor,
                            enum modc_dtype dtype, int64_t count);
int modc_cuda_check_true(void *stream, struct modc_device_head *head, int module, const void *mask,
                         enum modc_dtype dtype, int64_t count);

/* Words of the host, wherever they lie there: taken at once. */
int modc_cuda_put(void *stream, void *to, const uint64_t *words, size_t count);

/* Fills memory of the device with an element; sets what random numbers are drawn by, and counts a call that drew. */
int modc_cuda_fill(void *stream, void *to, const void *element, size_t each, size_t bytes);
int modc_cuda_set_random(void *stream, struct modc_device_head *head, uint64_t seed, uint64_t counter);
int modc_cuda_count(void *stream, struct modc_device_head *head);

/* Of `count` elements: a norm of the type, or for NaN 1 where one of them is not finite, or where a check has failed before (head may
 * be NULL), those of 16 bits times `by`; and changes of each. */
int modc_cuda_number(void *stream, const struct modc_device_head *head, double *number, const void *data,
                     enum modc_dtype dtype, size_t count, double type, double by);
int modc_cuda_scale(void *stream, void *data, enum modc_dtype dtype, size_t count, double by);
int modc_cuda_clamp(void *stream, void *data, enum modc_dtype dtype, size_t count, double value);
int modc_cuda_average(void *stream, void *average, const void *data, enum modc_dtype dtype, size_t count,
                      double decay);
int modc_cuda_swap(void *stream, void *a, void *b, size_t bytes);
int modc_cuda_renew(void *stream, float *copies, const void *param, enum modc_dtype dtype, size_t count);
int modc_cuda_round(void *stream, void *param, enum modc_dtype dtype, const float *copies, size_t count);

/* Behind a call that drew random numbers: those of the next one are others. */
enum modc_status modc_cuda_drawn(struct modc_context *net);

/* Behind a call that wrote to buffers of the parameters: the device is ahead. */
void modc_cuda_wrote(struct modc_context *net);

/* At the beginning of packing: what the host has changed is copied to the head of the packed block. */
enum modc_status modc_upload(struct modc_params *params);
/* A constant of the model. */
enum modc_status modc_upload_constant(struct modc_params *params, void *to, const void *from, size_t bytes);
/* At its end: waits. */
enum modc_status modc_uploaded(struct modc_params *params);

/* The functions of a model on a GPU beside those of modc.h. */
#define MODC_DEVICE_FUNCTIONS(model)                                                                         \
    static inline enum modc_status model##_set_stream(struct model *net, void *stream)                       \
    {                                                                                                        \
        return modc_set_stream(&net->base, stream);                                                          \
    }                                                                                                        \
    static inline enum modc_status model##_sync(struct model *net)                                           \
    {                                                                                                        \
        return modc_sync(&net->base);                                                                        \
    }                                                                                                        \
    static inline void *model##_device(const struct model##_params *params, int key)                         \
    {                                                                                                        \
        return modc_device_pointer(&params->base, key);                                                      \
    }                                                                                                        \
    static inline enum modc_status model##_download(struct model##_params *params)                           \
    {                                                                                                        \
        return modc_download(&params->base);                                                                 \
    }

#ifdef __cplusplus
}
#endif
#endif
