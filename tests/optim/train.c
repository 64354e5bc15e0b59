/* train.c - trains tests/optim/model.yaml for unit_training, which emits it: see there. */
#include "../api/check.h"
#include "net.h"

#include <math.h>
#include <string.h>

static MODC_ALIGNED char params_block[NET_PARAM_BYTES], packed[4096], workspace[1 << 16],
    gradients[NET_GRADIENT_BYTES], states[NET_OPTIMIZER_BYTES + 64];
static struct net_params params;
static struct net net;
static struct net_training training;
static struct net_optimizer optimizer;
static float x[20], weight[10], output[10];

static const void *map(const char *name, size_t *length)
{
    char path[200];
    const void *bytes;

    snprintf(path, sizeof path, "tests/optim/net_%s.safetensors", name);
    CHECK(modc_map(path, &bytes, length) == MODC_OK);
    return bytes;
}

static void load(const char *name)
{
    size_t length;
    const void *bytes = map(name, &length);

    CHECK(modc_load_bytes(&params.base, bytes, length, MODC_STRICT, NULL) == MODC_OK);
    modc_unmap(bytes, length);
    CHECK(modc_pack(&params.base, packed, sizeof packed) == MODC_OK);
}

static double worst(const char *name, bool all)
{
    size_t length;
    struct modc_reader reader;
    struct modc_item item;
    const void *bytes = map(name, &length);
    double most = 0;

    CHECK(modc_reader_open(&reader, bytes, length, NULL) == MODC_OK);
    for (int k = 0; k < net_model.key_count; k++) {
        const float *data;

        memcpy(&data, (const char *)&params + modc_key_pointer(k), sizeof data);
        if (!modc_reader_find(&reader, net_model.keys[k].name, &item)) {
            CHECK(!all);
            continue;
        }
        for (size_t i = 0; i < item.bytes / 4; i++)
            most = fmax(most,
                        fabs((double)data[i] - modc_number((const char *)item.data + 4 * i, MODC_FLOAT32)));
    }
    modc_unmap(bytes, length);
    return most;
}

static void run(int from, int to)
{
    double total;

    for (int step = from; step < to; step++) {
        modc_zero_grad(&training.base, true);
        net_requires_grad_(&training, "head.bias", step != 4);
        CHECK(net_forward(&net, x, output) == MODC_OK);
        CHECK(net_backward(&net, weight, NULL) == MODC_OK);
        CHECK(modc_optimizer_clip(&optimizer.base, &total) == MODC_OK && total > 0);
        CHECK(modc_optimizer_step(&optimizer.base) == MODC_OK);
        CHECK(modc_average_update(&optimizer.base) == MODC_OK);
        CHECK(modc_schedule_step(&optimizer.base.scheduling, 0) == MODC_OK);
    }
}

static void start(void)
{
    CHECK(modc_optimizer_init(&optimizer.base, &net_optimizer_table, &training.base, states, sizeof states,
                              NULL, NULL) == MODC_OK);
}

static char *save(size_t *length)
{
    char *file;

    CHECK(modc_optimizer_save_bytes(&optimizer.base, NULL, 0, length) == MODC_OK);
    file = malloc(*length);
    CHECK(file != NULL && modc_optimizer_save_bytes(&optimizer.base, file, *length - 1, length) == MODC_SIZE);
    CHECK(modc_optimizer_save_bytes(&optimizer.base, file, *length, length) == MODC_OK);
    return file;
}

/* PyTorch's file has the tensors of ours, of the same types, shapes and, but for rounding, values. */
static void same_file(const char *file, size_t length)
{
    struct modc_reader ours, theirs;
    struct modc_item a, b;
    size_t at = 0, other_length;
    const void *other = map("middle_state", &other_length);
    char name[100];

    CHECK(modc_reader_open(&ours, file, length, NULL) == MODC_OK);
    CHECK(modc_reader_open(&theirs, other, other_length, NULL) == MODC_OK && ours.count == theirs.count);
    while (modc_reader_next(&ours, &at, &a)) {
        modc_item_name(&a, name, sizeof name);
        CHECK(modc_reader_find(&theirs, name, &b) && a.dtype == b.dtype && a.ndim == b.ndim &&
              a.bytes == b.bytes);
        for (int i = 0; i < a.ndim; i++)
            CHECK(a.dims[i] == b.dims[i]);
        for (size_t i = 0; i < a.bytes; i += modc_dtype_bytes((enum modc_dtype)a.dtype)) {
            double ours_i = modc_number((const char *)a.data + i, (enum modc_dtype)a.dtype);

            CHECK(fabs(ours_i - modc_number((const char *)b.data + i, (enum modc_dtype)b.dtype)) < 1e-6);
        }
    }
    modc_unmap(other, other_length);
}

/* Changes a byte of the file's text, which then is refused. */
static void refused(char *file, size_t length, const char *text, char instead, const char *name)
{
    static char before[sizeof states + sizeof optimizer];
    const char *fault;
    char *at = NULL;

    for (size_t i = 0; i + strlen(text) < length && at == NULL; i++)
        if (memcmp(file + i, text, strlen(text)) == 0)
            at = file + i;
    CHECK(at != NULL);
    at += strlen(text) - 1;
    char kept = *at;

    *at = instead;
    memcpy(before, states, sizeof states);
    memcpy(before + sizeof states, &optimizer, sizeof optimizer);
    CHECK(modc_optimizer_load_bytes(&optimizer.base, file, length, &fault) == MODC_KEYS);
    CHECK(strcmp(fault, name) == 0);
    CHECK(memcmp(before, states, sizeof states) == 0 &&
          memcmp(before + sizeof states, &optimizer, sizeof optimizer) == 0);
    *at = kept;
}

int main(void)
{
    size_t length, other_length;
    struct modc_reader reader;
    struct modc_item item;
    const void *data = map("data", &length);
    char *middle, *end, *again;
    double value;

    CHECK(modc_reader_open(&reader, data, length, NULL) == MODC_OK);
    CHECK(modc_reader_find(&reader, "x", &item));
    memcpy(x, item.data, sizeof x);
    CHECK(modc_reader_find(&reader, "weight", &item));
    memcpy(weight, item.data, sizeof weight);
    CHECK(net_bind(&params, params_block, sizeof params_block) == MODC_OK);
    load("before");
    CHECK(net_init(&net, &params, workspace, sizeof workspace) == MODC_OK);
    CHECK(modc_training_init(&training.base, &net.base, gradients, sizeof gradients) == MODC_OK);
    CHECK(modc_optimizer_init(&optimizer.base, &net_optimizer_table, &training.base, states + 1,
                              sizeof states, NULL, NULL) == MODC_ALIGNMENT);
    CHECK(modc_optimizer_init(&optimizer.base, &net_optimizer_table, &training.base, states, 64, NULL,
                              NULL) == MODC_SIZE);
    start();

    /* as PyTorch, in one go */
    run(0, 6);
    CHECK(worst("middle", true) < 1e-6);
    middle = save(&length);
    same_file(middle, length);
    run(6, 12);
    CHECK(worst("behind", true) < 2e-6);
    end = save(&other_length);
    CHECK(modc_average_swap(&optimizer.base) == MODC_OK);
    CHECK(worst("behind_average", false) < 2e-6);
    CHECK(modc_average_swap(&optimizer.base) == MODC_OK);
    CHECK(worst("behind", true) < 2e-6);

    /* from the middle on, with PyTorch's file and with ours, which is the same but for rounding */
    load("middle");
    start();
    data = map("middle_state", &length);
    CHECK(modc_optimizer_load_bytes(&optimizer.base, data, length, NULL) == MODC_OK);
    run(6, 12);
    CHECK(worst("behind", true) < 2e-6);
    load("before");
    start();
    run(0, 6);
    start();
    CHECK(modc_optimizer_save_bytes(&optimizer.base, NULL, 0, &length) == MODC_OK && length < other_length);
    length = other_length;
    CHECK(modc_optimizer_load_bytes(&optimizer.base, middle, length, NULL) == MODC_OK);
    run(6, 12);
    again = save(&length);
    CHECK(length == other_length && memcmp(again, end, length) == 0);

    /* what is refused, and changes nothing */
    refused(middle, length, "NAdam", 'n', "optimizer");
    refused(middle, length, "trunk.2.bias\n", ' ', "param_groups.0.params");
    refused(middle, length, "state.head.weight.exp_avg", 'h', "state.head.weight.exp_avg");
    refused(middle, length, "ema.n_averaged", 'x', "ema.n_averaged");
    CHECK(modc_optimizer_load_bytes(&optimizer.base, middle, length - 1, NULL) == MODC_FORMAT);
    CHECK(modc_optimizer_get(&optimizer.base, 1, "lr", &value) == MODC_OK && value > 0);
    CHECK(modc_optimizer_get(&optimizer.base, 3, "lr", &value) == MODC_NAME);
    CHECK(modc_optimizer_set(&optimizer.base, 1, "lr", 0.25) == MODC_OK &&
          optimizer.groups[1].hyper[0] == 0.25);
    CHECK(modc_optimizer_set(&optimizer.base, 1, "rl", 0.25) == MODC_NAME);
    CHECK(modc_optimizer_set(&optimizer.base, 0, "weight_decay", 0.25) == MODC_UNSUPPORTED);
    CHECK(modc_optimizer_set(&optimizer.base, 2, "weight_decay", 0.25) == MODC_OK);
    params.base.read_only = true;
    CHECK(modc_optimizer_step(&optimizer.base) == MODC_READ_ONLY &&
          modc_average_swap(&optimizer.base) == MODC_READ_ONLY);
    params.base.read_only = false;

    /* clipping */
    run(12, 13);
    modc_requires_grad(&training.base, "", true);
    float *g = modc_gradient_at(&training.base, 4), kept[2];

    CHECK(net_model.gradient_count == 5 && g != NULL);
    modc_zero_grad(&training.base, false);
    g[0] = 3;
    g[1] = -4;
    CHECK(modc_clip_grad_norm(&training.base, 10, 2, false, &value) == MODC_OK && value == 5 && g[0] == 3);
    CHECK(modc_clip_grad_norm(&training.base, 10, (double)INFINITY, false, &value) == MODC_OK && value == 4);
    CHECK(modc_clip_grad_norm(&training.base, 10, 1, false, &value) == MODC_OK && value == 7);
    CHECK(modc_clip_grad_norm(&training.base, 10, 0, false, &value) == MODC_OK && value == 1);
    CHECK(modc_clip_grad_norm(&training.base, 10, 3, false, &value) == MODC_OK &&
          fabs(value - pow(91, 1.0 / 3)) < 1e-12);
    CHECK(modc_clip_grad_norm(&training.base, 1, 2, false, NULL) == MODC_OK &&
          fabs((double)g[0] - 0.6) < 1e-6);
    CHECK(modc_clip_grad_value(&training.base, 0.7) == MODC_OK && g[1] == -0.7f &&
          fabs((double)g[0] - 0.6) < 1e-6);
    g[0] = (float)NAN;
    kept[1] = g[1];
    CHECK(modc_clip_grad_norm(&training.base, 1, 2, true, &value) == MODC_NONFINITE && isnan(value) &&
          g[1] == kept[1]);
    CHECK(modc_clip_grad_norm(&training.base, 1, (double)INFINITY, true, &value) == MODC_NONFINITE &&
          isnan(value));
    CHECK(modc_clip_grad_value(&training.base, 0.5) == MODC_OK && isnan(g[0]) && g[1] == -0.5f);
    CHECK(modc_clip_grad_norm(&training.base, 1, 2, false, NULL) == MODC_OK && isnan(g[1]));
    modc_zero_grad(&training.base, true);
    CHECK(modc_clip_grad_norm(&training.base, 1, 2, true, &value) == MODC_OK && value == 0);
    value = optimizer.steps[4];
    CHECK(modc_optimizer_step(&optimizer.base) == MODC_OK && optimizer.steps[4] == value);
    free(middle);
    free(end);
    free(again);
    return 0;
}
