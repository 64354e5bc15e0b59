/* scaled.c - twelve steps of a model of 16 bits with float32 copies and a scaler, of which some have an infinite input, against
 * PyTorch's (tests/oracle/optim.py), once in one go and once with files in the middle. For unit_training, which emits the model
 * with HALF as its type. */
#include "../api/check.h"
#include "net.h"

#include <math.h>
#include <string.h>

#ifdef IS_BFLOAT16
#define DTYPE MODC_BFLOAT16
#define FILE_OF_TORCH "tests/optim/scaled_bfloat16.safetensors"
#define ONE_MORE 0x1p-7
#else
#define DTYPE MODC_FLOAT16
#define FILE_OF_TORCH "tests/optim/scaled_float16.safetensors"
#define ONE_MORE 0x1p-10
#endif
enum { STEPS = 12, MIDDLE = 6 };

static MODC_ALIGNED char params_block[NET_PARAM_BYTES], packed[4096], workspace[1 << 16],
    block[NET_TRAINING_BYTES];
static struct net_params params;
static struct net net;
static struct net_training training;
static struct modc_reader torch;
static uint16_t x[20], weight[10];

static const void *item_of(const char *prefix, const char *name, size_t bytes)
{
    char key[100];
    struct modc_item item;

    snprintf(key, sizeof key, "%s%s", prefix, name);
    CHECK(modc_reader_find(&torch, key, &item) && item.bytes == bytes);
    return item.data;
}

static size_t elements(const struct modc_key *key)
{
    size_t count = 1;

    for (int i = 0; i < key->ndim; i++)
        count *= (size_t)key->dims[i];
    return count;
}

static void *param_of(int key)
{
    void *data;

    memcpy(&data, (const char *)&params + modc_key_pointer(key), sizeof data);
    return data;
}

static void start(void)
{
    for (int k = 0; k < net_model.key_count; k++) {
        const size_t bytes = 2 * elements(&net_model.keys[k]);

        memcpy(param_of(k), item_of("before.", net_model.keys[k].name, bytes), bytes);
    }
    net_changed(&params);
    CHECK_OK(modc_pack(&params.base, packed, sizeof packed));
    memset(block, 0x7f, sizeof block); /* whatever the memory held */
    CHECK_OK(net_training_init(&training, &net, block, sizeof block));
    CHECK(net_loss_scale(&training) == 262144.0f && !net_step_skipped(&training));
}

/* Three steps have an infinite input. */
static void give(uint16_t *given, int step)
{
    memcpy(given, x, 20 * sizeof *given);
    if (step == 4 || step == 8 || step == 9)
        modc_store(&given[6], DTYPE, (double)INFINITY);
}

static void run(int from, int to)
{
    float loss;

    for (int step = from; step < to; step++) {
        const float *scales = item_of("", "scales", 4 * STEPS);
        const unsigned char *skipped = item_of("", "skipped", STEPS);
        uint16_t given[20];
        float scale;

        give(given, step);
        CHECK_OK(net_train_step(&training, given, weight, &loss));
        memcpy(&scale, scales + step, sizeof scale);
        CHECK(net_loss_scale(&training) == scale);
        CHECK(net_step_skipped(&training) == skipped[step]);
    }
}

/* The largest difference from PyTorch's, in parts of what is there. */
static double worst(const char *prefix, bool halves)
{
    double most = 0;

    for (int i = 0; i < NET_GRADIENTS; i++) {
        const int k = modc_gradient_key(&net_model, i);
        const struct modc_key *key = &net_model.keys[k];
        const struct modc_optimizer *optimizer = &training.optimizer.base;
        const char *wanted = item_of(prefix, key->name, (halves ? 2 : 4) * elements(key));
        const char *have = halves             ? param_of(k)
                           : prefix[0] == 'm' ? optimizer->block + optimizer->table->copies[i]
                                              : optimizer->block + optimizer->table->params[i].average;

        for (size_t e = 0; e < elements(key); e++) {
            const enum modc_dtype dtype = halves ? DTYPE : MODC_FLOAT32;
            const size_t at = e * modc_dtype_bytes(dtype);
            const double number = modc_number(wanted + at, dtype);

            most = fmax(most, fabs(modc_number(have + at, dtype) - number) / fmax(fabs(number), 0.125));
        }
    }
    return most;
}

static void check_end(void)
{
    CHECK(worst("behind.", true) <= 2 * ONE_MORE);
    CHECK(worst("master.", false) <= ONE_MORE);
    CHECK(worst("average.", false) <= ONE_MORE);
}

/* A parameter is what its copy rounds to. */
static void check_rounded(void)
{
    for (int i = 0; i < NET_GRADIENTS; i++) {
        const int k = modc_gradient_key(&net_model, i);
        const struct modc_optimizer *optimizer = &training.optimizer.base;

        for (size_t e = 0; e < elements(&net_model.keys[k]); e++) {
            const char *copy = optimizer->block + optimizer->table->copies[i] + 4 * e;
            uint16_t rounded;

            modc_store(&rounded, DTYPE, modc_number(copy, MODC_FLOAT32));
            CHECK(memcmp(&rounded, (const char *)param_of(k) + 2 * e, 2) == 0);
        }
    }
}

/* With averages in their place parameters are these, rounded, and go back to what they were. */
static void check_averages(void)
{
    static char before[NET_PARAM_BYTES], states[NET_OPTIMIZER_BYTES];
    const struct modc_optimizer *optimizer = &training.optimizer.base;

    memcpy(before, params_block, sizeof before);
    memcpy(states, optimizer->block, sizeof states);
    CHECK_OK(modc_average_swap(&training.optimizer.base));
    CHECK(memcmp(before, params_block, sizeof before) != 0);
    check_rounded();
    CHECK_OK(modc_average_swap(&training.optimizer.base));
    CHECK(memcmp(before, params_block, sizeof before) == 0);
    CHECK(memcmp(states, optimizer->block, sizeof states) == 0);
}

static char *save(size_t *length)
{
    char *file;

    CHECK_OK(net_training_save_bytes(&training, NULL, 0, length));
    file = malloc(*length);
    CHECK(file != NULL);
    CHECK_OK(net_training_save_bytes(&training, file, *length, length));
    return file;
}

/* The file with another scale is refused, and nothing has changed. */
static void refuse(const char *file, size_t length, const char *name, uint64_t bits)
{
    static char states[NET_OPTIMIZER_BYTES];
    const float scale = net_loss_scale(&training);
    char *other = malloc(length);
    struct modc_reader reader;
    struct modc_item item;
    const char *fault;

    CHECK(other != NULL);
    memcpy(other, file, length);
    memcpy(states, training.optimizer.base.block, sizeof states);
    CHECK_OK(modc_reader_open(&reader, other, length, NULL));
    CHECK(modc_reader_find(&reader, name, &item));
    memcpy(other + ((const char *)item.data - other), &bits, item.bytes);
    CHECK(net_training_load_bytes(&training, other, length, &fault) == MODC_KEYS);
    CHECK(fault != NULL && strcmp(fault, name) == 0);
    CHECK(memcmp(states, training.optimizer.base.block, sizeof states) == 0);
    CHECK(net_loss_scale(&training) == scale);
    free(other);
}

/* The parts of a step one by one, as a program that looks at gradients calls them, are the step. */
static void step_by_parts(void)
{
    static char end[NET_PARAM_BYTES];
    float loss, *const outputs = &loss;

    start();
    run(0, 8); /* of float16 the first five are skipped */
    memcpy(end, params_block, sizeof end);
    start();
    for (int step = 0; step < 8; step++) {
        struct modc_optimizer *const optimizer = &training.optimizer.base;
        uint16_t given[20];

        give(given, step);
        net_zero_grad(&training, true);
        CHECK_OK(net_loss(&net, given, weight, outputs));
        CHECK_OK(net_loss_backward(&net));
        CHECK_OK(modc_optimizer_unscale(optimizer));
        CHECK_OK(modc_optimizer_unscale(optimizer)); /* once is enough */
        if (!optimizer->found)
            CHECK_OK(modc_optimizer_clip(optimizer, NULL));
        CHECK_OK(modc_optimizer_step(optimizer));
        CHECK_OK(modc_scaler_update(optimizer));
        if (!modc_step_skipped(optimizer))
            CHECK_OK(modc_average_update(optimizer));
    }
    CHECK(memcmp(end, params_block, sizeof end) == 0);
}

/* What a program writes into a parameter is what the next step begins with. */
static void write_parameter(void)
{
    struct modc_optimizer *const optimizer = &training.optimizer.base;
    const float *copy;

    start();
    run(0, 4);
    for (int i = 0; i < NET_GRADIENTS; i++)
        if (strcmp(net_model.keys[modc_gradient_key(&net_model, i)].name, "head.bias") == 0) {
            modc_store(param_of(modc_gradient_key(&net_model, i)), DTYPE, 64.0);
            net_changed(&params);
            CHECK_OK(modc_pack(&params.base, packed, sizeof packed));
            copy = (const float *)(const void *)(optimizer->block + optimizer->table->copies[i]);
            CHECK(copy[0] < 32.0f);
            modc_zero_grad(&training.base, true);
            run(4, 5); /* which is left out */
            CHECK(modc_number(param_of(modc_gradient_key(&net_model, i)), DTYPE) == 64.0);
            run(5, 6);
            CHECK(copy[0] > 62.0f && copy[0] != 64.0f && copy[0] < 66.0f);
        }
    check_rounded();
}

int main(void)
{
    static char end[NET_PARAM_BYTES], middle[NET_PARAM_BYTES];
    size_t length, middle_length, file_length;
    const void *bytes;
    char *file, *middle_file, *again;

    CHECK_OK(modc_map(FILE_OF_TORCH, &bytes, &file_length));
    CHECK_OK(modc_reader_open(&torch, bytes, file_length, NULL));
    memcpy(x, item_of("", "x", sizeof x), sizeof x);
    memcpy(weight, item_of("", "weight", sizeof weight), sizeof weight);
    CHECK_OK(net_bind(&params, params_block, sizeof params_block));
    CHECK_OK(modc_pack(&params.base, packed, sizeof packed));
    CHECK_OK(net_init(&net, &params, workspace, sizeof workspace));
    start();
    run(0, MIDDLE);
    middle_file = save(&middle_length);
    memcpy(middle, params_block, sizeof middle);
    run(MIDDLE, STEPS);
    check_end();
    check_rounded();
    check_averages();
    memcpy(end, params_block, sizeof end);
    file = save(&length);

    start();
    CHECK_OK(net_training_load_bytes(&training, middle_file, middle_length, NULL));
    memcpy(params_block, middle, sizeof middle);
    net_changed(&params);
    CHECK_OK(modc_pack(&params.base, packed, sizeof packed));
    run(MIDDLE, STEPS);
    again = save(&middle_length);
    CHECK(middle_length == length && memcmp(again, file, length) == 0);
    CHECK(memcmp(end, params_block, sizeof end) == 0);
    refuse(file, length, "scaler.scale", 0);
    refuse(file, length, "scaler._growth_tracker", UINT64_MAX);
    step_by_parts();
    write_parameter();
    free(file);
    free(middle_file);
    free(again);
    modc_unmap(bytes, file_length);
    return 0;
}
