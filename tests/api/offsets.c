/* offsets.c - inputs and outputs that start at any multiple of their element: the same bits as at the start of a line, and
 * nothing read or written around them, which AddressSanitizer and guards watch. */
#include "check.h"
#include "modc.h"

#include <string.h>

#define MODELS(X) X(cnn) X(cnn64) X(gather) X(norms) X(slices) X(storage) X(tensors) X(winograd)
#define DECLARE(name) extern const struct modc_model name##_model;
#define ADDRESS(name) &name##_model,
MODELS(DECLARE)

static const struct modc_model *const models[] = {MODELS(ADDRESS)};

enum { MOST = 16, LINE = 64, GUARD = 0x5a };

/* Of one tensor at the sizes of the call; in `block`, its data ends where the block ends. */
struct tensor {
    size_t element, bytes;
    char *block, *data;
    char *expected; /* outputs */
};

static void *room(size_t bytes)
{
    void *block;

    CHECK(posix_memalign(&block, LINE, bytes > 0 ? bytes : 1) == 0);
    return block;
}

static size_t bytes_of(const struct modc_entry *entry, int index, const struct modc_io *io)
{
    int dims[MODC_MAX_DIMS];
    size_t bytes = modc_dtype_bytes(io->dtype);

    modc_shape(entry, entry->max_sizes, index, dims);
    for (int d = 0; d < io->ndim; d++)
        bytes *= (size_t)dims[d];
    return bytes;
}

/* Floats around 0; integers are 0, which every index may be. */
static void fill(char *data, const struct modc_io *io, size_t bytes)
{
    const size_t element = modc_dtype_bytes(io->dtype);

    memset(data, 0, bytes);
    if (io->dtype == MODC_FLOAT32 || io->dtype == MODC_FLOAT64)
        for (size_t i = 0; i < bytes / element; i++)
            modc_store(data + i * element, io->dtype, (double)((int)(i * 37 % 101) - 50) / 40.0);
}

static void place(struct tensor *tensor, size_t offset)
{
    const size_t shift = offset * tensor->element % LINE;

    free(tensor->block);
    tensor->block = room(shift + tensor->bytes);
    tensor->data = tensor->block + shift;
    memset(tensor->block, GUARD, shift + tensor->bytes);
}

static enum modc_status no_change(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

enum { EVAL, TRAIN, FENCED, MODES };

/* Calls with inputs `in` and outputs `out` elements behind the start of a line. */
static void call(struct modc_context *net, const struct modc_entry *entry, int mode, struct tensor *tensors,
                 size_t in, size_t out)
{
    const int inputs = entry->input_count, outputs = entry->output_count;
    const void *from[MOST] = {0};
    void *to[MOST] = {0};
    struct modc_hook hook = {.call = no_change};

    for (int i = 0; i < inputs + outputs; i++) {
        place(&tensors[i], i < inputs ? in : out);
        if (i < inputs)
            fill(tensors[i].data, &entry->inputs[i], tensors[i].bytes);
    }
    for (int i = 0; i < inputs; i++)
        from[i] = tensors[i].data;
    for (int i = 0; i < outputs; i++)
        to[i] = tensors[inputs + i].data;
    CHECK_OK(modc_reset(net->params, 3));
    CHECK_OK(modc_pack(net->params, NULL, 0));
    modc_reset_state(net);
    modc_seed(net, 5);
    modc_train(net, mode == TRAIN);
    if (mode == FENCED)
        CHECK_OK(modc_register_forward_hook(net, 0, &hook, 0));
    CHECK_OK(entry->call(net, entry->max_sizes, from, to));
    modc_hook_remove(&hook);
}

static void check(const struct modc_model *model, const struct modc_executor *pool,
                  const struct modc_entry *entry, int mode)
{
    const int inputs = entry->input_count, outputs = entry->output_count;
    struct tensor tensors[2 * MOST] = {0};
    struct modc_params *params;
    struct modc_context *net;

    CHECK(inputs <= MOST && outputs <= MOST);
    CHECK_OK(modc_params_create(model, &params));
    CHECK_OK(modc_create(model, params, 0, &net));
    if (model->threads > 0)
        CHECK_OK(modc_set_executor(net, pool));
    for (int i = 0; i < inputs + outputs; i++) {
        const struct modc_io *io = i < inputs ? &entry->inputs[i] : &entry->outputs[i - inputs];

        tensors[i].element = modc_dtype_bytes(io->dtype);
        tensors[i].bytes = bytes_of(entry, i < inputs ? -1 - i : i - inputs, io);
    }
    call(net, entry, mode, tensors, 0, 0);
    for (int i = inputs; i < inputs + outputs; i++) {
        tensors[i].expected = room(tensors[i].bytes);
        memcpy(tensors[i].expected, tensors[i].data, tensors[i].bytes);
    }
    for (size_t offset = 1; offset < LINE / 4; offset++) {
        call(net, entry, mode, tensors, offset, offset * 5);
        for (int i = 0; i < inputs + outputs; i++)
            for (char *before = tensors[i].block; before < tensors[i].data; before++)
                CHECK(*before == GUARD);
        for (int i = inputs; i < inputs + outputs; i++)
            CHECK(memcmp(tensors[i].data, tensors[i].expected, tensors[i].bytes) == 0);
    }
    for (int i = 0; i < inputs + outputs; i++) {
        free(tensors[i].block);
        free(tensors[i].expected);
    }
    modc_destroy(net);
    modc_params_destroy(params);
}

int main(void)
{
    struct modc_executor *pool;

    CHECK_OK(modc_pool_create(2, &pool));
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int e = 0; e < models[m]->entry_count; e++)
            for (int mode = 0; mode < (models[m]->entries[e].fenced_workspace[0] > 0 ? MODES : FENCED);
                 mode++)
                check(models[m], pool, &models[m]->entries[e], mode);
    modc_pool_destroy(pool);
    return 0;
}
