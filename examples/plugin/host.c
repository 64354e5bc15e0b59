/* host.c - loads a model that it does not know, and calls it: all about it stands in the tables of NAME_model.
 *
 *     host LIBRARY NAME                   which entries the model has, what they take and give
 *     host LIBRARY NAME INPUTS [ENTRY]    calls one (else forward) on a safetensors file with a tensor for each input
 *
 * The weights are those in the library; without any, modc_load would read a file into the params. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modc.h"

enum { MOST = 16, SHOWN = 6 }; /* inputs or outputs of an entry; values of an output that are printed */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "host: %s: %s\n", what, why);
    exit(1);
}

static void must(enum modc_status status, const char *what)
{
    if (status != MODC_OK)
        fail(what, modc_status_text(status));
}

static const struct modc_model *open_model(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct modc_model *model;
    char symbol[256];

    if (!library)
        fail(path, dlerror());
    snprintf(symbol, sizeof symbol, "%s_model", name);
    model = dlsym(library, symbol);
    if (!model)
        fail(path, dlerror());
    if (model->abi != MODC_ABI)
        fail(path, "was made for another modc runtime");
    return model;
}

static void print_dims(int ndim, const int *dims)
{
    printf("(");
    for (int i = 0; i < ndim; i++)
        printf(i ? ", %d" : "%d", dims[i]);
    printf(")");
}

static void describe(const struct modc_model *model)
{
    printf("%s: %d parameters and buffers, %zu bytes\n", model->name, model->key_count, model->param_block);
    for (int i = 0; i < model->entry_count; i++) {
        const struct modc_entry *entry = &model->entries[i];

        printf("%s, %.0f multiply-adds, %zu bytes of workspace\n", entry->name, entry->macs,
               entry->workspace[MODC_EVAL]);
        for (int j = 0; j < entry->input_count + entry->output_count; j++) {
            const struct modc_io *io = j < entry->input_count ? &entry->inputs[j]
                                                              : &entry->outputs[j - entry->input_count];

            printf("  %s %s, at most ", j < entry->input_count ? "takes" : "gives", io->name);
            print_dims(io->ndim, io->max_dims);
            printf("\n");
        }
    }
}

/* Finds the inputs of an entry in a file. The sizes of the model follow from their shapes. */
static void find_inputs(const struct modc_entry *entry, const struct modc_reader *file, const void **inputs,
                        int *sizes)
{
    for (int i = 0; i < entry->input_count; i++) {
        const struct modc_io *io = &entry->inputs[i];
        struct modc_item item;

        if (!modc_reader_find(file, io->name, &item) || item.dtype != (int)io->dtype || item.ndim != io->ndim)
            fail(io->name, "is missing, or of another dtype or number of dimensions");
        for (int d = 0; d < io->ndim; d++)
            if (io->size_of[d] >= 0)
                sizes[io->size_of[d]] = (int)item.dims[d];
        inputs[i] = item.data;
    }
    for (int i = 0; i < entry->input_count; i++) { /* now that all sizes are known */
        int dims[MODC_MAX_DIMS];
        struct modc_item item;

        modc_shape(entry, sizes, -1 - i, dims);
        modc_reader_find(file, entry->inputs[i].name, &item);
        for (int d = 0; d < item.ndim; d++)
            if (item.dims[d] != (uint64_t)dims[d])
                fail(entry->inputs[i].name, "has another shape");
    }
}

static void call(const struct modc_model *model, const char *path, const char *name)
{
    const void *inputs[MOST], *bytes;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_reader file;
    void *outputs[MOST];
    int index, sizes[MOST] = {0};
    size_t length;

    must(modc_get_entry(model, name, &index), name);

    const struct modc_entry *entry = &model->entries[index];

    if (entry->input_count > MOST || entry->output_count > MOST || model->size_count > MOST)
        fail(name, "has too many inputs, outputs or sizes for this program");
    if (!model->bind_embedded)
        fail(model->name, "has no weights in it");
    must(modc_params_create(model, &params), model->name);
    must(model->bind_embedded(params), model->name);
    must(modc_create(model, params, 0, &net), model->name);
    must(modc_map(path, &bytes, &length), path);
    must(modc_reader_open(&file, bytes, length, NULL), path);
    find_inputs(entry, &file, inputs, sizes);
    for (int i = 0; i < entry->output_count; i++) {
        struct modc_tensor most = {.dtype = entry->outputs[i].dtype, .ndim = entry->outputs[i].ndim};

        memcpy(most.dims, entry->outputs[i].max_dims, sizeof most.dims);
        outputs[i] = malloc(modc_tensor_bytes(&most));
    }
    must(entry->call(net, sizes, inputs, outputs), name);
    if (modc_get_isa(net)) /* modc_set_isa takes another one */
        printf("on %s\n", modc_get_isa(net)->name);
    for (int i = 0; i < entry->output_count; i++) {
        const struct modc_io *io = &entry->outputs[i];
        int dims[MODC_MAX_DIMS], count = 1;

        modc_shape(entry, sizes, i, dims);
        printf("%s ", io->name);
        print_dims(io->ndim, dims);
        for (int d = 0; d < io->ndim; d++)
            count *= dims[d];
        for (int j = 0; j < count && j < SHOWN; j++)
            printf(" %.3f", modc_number((const char *)outputs[i] + (size_t)j * modc_dtype_bytes(io->dtype),
                                        io->dtype));
        printf(count > SHOWN ? " ...\n" : "\n");
        free(outputs[i]);
    }
    modc_destroy(net);
    modc_params_destroy(params);
    modc_unmap(bytes, length);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: host LIBRARY NAME [INPUTS [ENTRY]]\n");
        return 2;
    }

    const struct modc_model *model = open_model(argv[1], argv[2]);

    if (argc == 3)
        describe(model);
    else
        call(model, argv[3], argc == 5 ? argv[4] : "forward");
    return 0;
}
