/* dlopen.c - a model that is found at run time: everything about it comes from its tables. */
#include "check.h"
#include "modc.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

int main(int argc, char **argv)
{
    static float observation[3 * 4], logits[3 * 2], value[3], row[2];
    const void *inputs[] = {observation};
    void *outputs[] = {logits, value}, *of_act[] = {row};
    int sizes[] = {3}, one[] = {1}, dims[MODC_MAX_DIMS], forward, act;
    const struct modc_model *model;
    const struct modc_entry *entry;
    struct modc_params *params;
    struct modc_context *net;
    void *library;

    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    model = dlsym(library, "policy_model");
    CHECK(model && model->abi == MODC_ABI && strcmp(model->name, "policy") == 0 && model->entry_count == 2);
    CHECK_OK(modc_get_entry(model, "forward", &forward));
    CHECK_OK(modc_get_entry(model, "act", &act));

    entry = &model->entries[forward];
    CHECK(entry->input_count == 1 && strcmp(entry->inputs[0].name, "observation") == 0);
    CHECK(entry->output_count == 2 && strcmp(entry->outputs[1].name, "value") == 0);
    CHECK(entry->inputs[0].size_of[0] == 0 && entry->inputs[0].size_of[1] == -1);
    modc_shape(entry, sizes, 0, dims);
    CHECK(dims[0] == 3 && dims[1] == 2);
    modc_shape(entry, sizes, 1, dims);
    CHECK(dims[0] == 3 && dims[1] == 1);
    modc_shape(entry, sizes, -1, dims);
    CHECK(dims[0] == 3 && dims[1] == 4);
    CHECK(entry->max_sizes[0] == 256 && model->entries[act].max_sizes[0] == 1);

    CHECK_OK(modc_params_create(model, &params));
    CHECK_OK(modc_load(params, "specs/cartpole/weights.safetensors", MODC_STRICT, NULL));
    CHECK_OK(modc_pack(params, NULL, 0));
    CHECK_OK(modc_create(model, params, 0, &net));
    for (int i = 0; i < 12; i++)
        observation[i] = (float)(i - 6) / 8.0f;
    CHECK_OK(entry->call(net, sizes, inputs, outputs));
    CHECK_OK(model->entries[act].call(net, one, inputs, of_act));
    for (int i = 0; i < 2; i++)
        CHECK(isfinite(logits[i]) && logits[i] != 0 &&
              fabsf(row[i] - logits[i]) <= 1e-5f * fabsf(logits[i]) + 1e-6f);
    CHECK(model->entries[act].call(net, sizes, inputs, of_act) == MODC_SIZE);
    modc_destroy(net);
    modc_params_destroy(params);
    CHECK(dlclose(library) == 0);
    return 0;
}
