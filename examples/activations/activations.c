/* activations.c - what do the layers of the network of specs/digits/mlp.yaml give? A hook on all modules looks on.
 *
 *     activations FILE     safetensors: images float32 (N, 1, 8, 8) */
#include <math.h>
#include <stdio.h>

#include "mlp.h"

enum { PIXELS = 64, DIGITS = 10 };

struct range {
    double least, most, sum;
    long count, zeros;
};

static struct mlp_params params;
static struct mlp net;
static MODC_ALIGNED char
    workspace[MLP_FENCED_WORKSPACE_BYTES]; /* hooks need the variant that fuses nothing */

/* Runs behind every module of every call: call->user has a range for each module. */
static enum modc_status look(struct modc_hook_call *call)
{
    struct range *range = (struct range *)call->user + call->module;
    const struct modc_tensor *output = &call->outputs[0];
    const float *values = output->data;
    const long count = (long)(modc_tensor_bytes(output) / sizeof *values);

    for (long i = 0; i < count; i++) {
        range->least = fmin(range->least, values[i]);
        range->most = fmax(range->most, values[i]);
        range->sum += values[i];
        range->zeros += values[i] == 0;
    }
    range->count += count;
    return MODC_OK;
}

int main(int argc, char **argv)
{
    static struct range ranges[MLP_MODULES];
    struct modc_hook hook = {.call = look, .user = ranges};
    struct modc_hook_set hooks = {NULL};
    struct modc_reader file;
    struct modc_item images;
    const void *bytes;
    size_t length;
    int count;

    if (argc != 2) {
        fprintf(stderr, "usage: activations FILE\n");
        return 2;
    }
    if (modc_map(argv[1], &bytes, &length) != MODC_OK) {
        perror(argv[1]);
        return 1;
    }
    if (modc_reader_open(&file, bytes, length, NULL) != MODC_OK ||
        !modc_reader_find(&file, "images", &images) || images.dtype != MODC_FLOAT32) {
        fprintf(stderr, "%s: no file of images\n", argv[1]);
        return 1;
    }
    if (mlp_bind_embedded(&params) != MODC_OK ||
        mlp_init(&net, &params, workspace, sizeof workspace) != MODC_OK ||
        modc_register_module_forward_hook(&hooks, &hook, 0) != MODC_OK ||
        modc_attach(&net.base, &hooks) != MODC_OK)
        return 1;
    for (int i = 0; i < MLP_MODULES; i++)
        ranges[i] = (struct range){.least = INFINITY, .most = -INFINITY};
    count = (int)(images.bytes / sizeof(float) / PIXELS);
    for (int at = 0; at < count; at += MLP_MAX_BATCH) {
        const int batch = count - at < MLP_MAX_BATCH ? count - at : MLP_MAX_BATCH;
        float scores[MLP_MAX_BATCH * DIGITS];

        if (mlp_forward(&net, batch, (const float *)images.data + at * PIXELS, scores) != MODC_OK)
            return 1;
    }
    printf("module               least      mean      most  zeros\n");
    for (int i = 1; i < MLP_MODULES; i++) { /* 0 is the model itself */
        const struct modc_module *module = &mlp_model.modules[i];
        const struct range *range = &ranges[i];

        printf("%-4s %-10s %10.3f%10.3f%10.3f%6.1f%%\n", module->path, module->class_name, range->least,
               range->sum / (double)range->count, range->most,
               100.0 * (double)range->zeros / (double)range->count);
    }
    modc_hook_remove(&hook);
    modc_unmap(bytes, length);
    return 0;
}
