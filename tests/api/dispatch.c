/* dispatch.c - models that are compiled for several instruction sets: every one that this machine has gives PyTorch's
 * numbers from the same packed bytes, fused and with hooks; what it does not have is refused. Prints what ran, the best one
 * first. `plain` is the policy compiled once, for the machine that runs the test; `bytes` has the sets that multiply bytes. */
#include "bytes.h"
#include "check.h"
#include "cnn.h"
#include "plain.h"
#include "policy.h"

#include <math.h>
#include <string.h>

enum { ROOM = 1 << 16, OUTPUTS = 2 };

static float found[OUTPUTS][ROOM];

struct file {
    struct modc_reader reader;
};

static void open_file(struct file *file, const char *path)
{
    const void *bytes;
    size_t length;

    CHECK_OK(modc_map(path, &bytes, &length));
    CHECK_OK(modc_reader_open(&file->reader, bytes, length, NULL));
}

static void close_file(struct file *file)
{
    modc_unmap(file->reader.bytes, file->reader.length);
}

/* Parameters from a file, packed. */
static struct modc_params *load(const struct modc_model *model, const char *weights)
{
    struct modc_params *params;

    CHECK_OK(modc_params_create(model, &params));
    CHECK_OK(modc_load(params, weights, MODC_STRICT, NULL));
    CHECK_OK(modc_pack(params, NULL, 0));
    return params;
}

/* Calls the entry forward, with one input, on what the file has. */
static void call(struct modc_context *net, const struct file *inputs, const char *name)
{
    static float in[ROOM];
    const void *pointers[] = {in};
    void *outputs[OUTPUTS] = {found[0], found[1]};
    struct modc_item item;
    int rows;

    CHECK(modc_reader_find(&inputs->reader, name, &item) && item.bytes <= sizeof in);
    memcpy(in, item.data, item.bytes);
    rows = (int)item.dims[0];
    memset(found, 0, sizeof found);
    CHECK_OK(net->model->entries[0].call(net, &rows, pointers, outputs));
}

static void compare(const struct modc_model *model, const struct file *expected)
{
    const double tolerance = model->rtol > 0 ? model->rtol : 1e-5;

    for (int i = 0; i < model->entries[0].output_count; i++) {
        static float want[ROOM];
        struct modc_item item;
        double largest = 0, error = 0;

        CHECK(modc_reader_find(&expected->reader, model->entries[0].outputs[i].name, &item) &&
              item.bytes <= sizeof want);
        memcpy(want, item.data, item.bytes);
        for (size_t k = 0; k < item.bytes / sizeof *want; k++) {
            double distance = fabs((double)want[k] - (double)found[i][k]);

            CHECK(distance >= 0); /* no NaN */
            error = distance > error ? distance : error;
            largest = fabs((double)want[k]) > largest ? fabs((double)want[k]) : largest;
        }
        CHECK(error <= tolerance * largest && largest > 0);
    }
}

static enum modc_status look(struct modc_hook_call *hook)
{
    (*(int *)hook->user)++;
    return MODC_OK;
}

/* Lets the context run on the set with this number, if this machine has it; *ran: how many it had before. */
static bool choose(struct modc_context *net, int index, int *ran)
{
    const struct modc_isa *isas = net->model->dispatch->isas, *isa = &isas[index],
                          *before = modc_get_isa(net);

    for (int k = 0; k < index; k++)
        CHECK(isa->code != isas[k].code);
    if (isa->here != NULL && !isa->here()) {
        CHECK(modc_set_isa(net, isa->name) == MODC_UNSUPPORTED && modc_get_isa(net) == before);
        return false;
    }
    if ((*ran)++ == 0)
        CHECK(isa == before);
    CHECK_OK(modc_set_isa(net, isa->name));
    CHECK(modc_get_isa(net) == isa);
    printf(" %s", isa->name);
    return true;
}

/* The context takes the first again that there is. */
static void check_best(struct modc_context *net, int ran)
{
    const struct modc_isa *best = net->model->dispatch->isas;

    printf("\n");
    CHECK(ran > 0);
    while (best->here != NULL && !best->here())
        best++;
    CHECK_OK(modc_set_isa(net, NULL));
    CHECK(modc_get_isa(net) == best);
}

static void check(const struct modc_model *model, const char *weights, const char *data, const char *input,
                  const char *expect)
{
    struct modc_params *params = load(model, weights);
    struct modc_context *net;
    struct file inputs, expected;
    int hooked = 0, ran = 0;
    struct modc_hook hook = {.call = look, .user = &hooked};

    open_file(&inputs, data);
    open_file(&expected, expect);
    CHECK_OK(modc_create(model, params, 0, &net));
    printf("%s:", model->name);
    for (int i = 0; i < model->dispatch->count; i++) {
        if (!choose(net, i, &ran))
            continue;
        call(net, &inputs, input);
        compare(model, &expected);
        CHECK_OK(modc_register_forward_hook(net, 0, &hook, 0));
        call(net, &inputs, input);
        compare(model, &expected);
        CHECK(hooked == ran);
        modc_hook_remove(&hook);
    }
    check_best(net, ran);
    modc_destroy(net);
    modc_params_destroy(params);
    close_file(&inputs);
    close_file(&expected);
}

/* Sums of integers are exact: what products of bytes give is what the last set gives, which every machine has, but for the rounding
 * of the result. */
static void check_bytes(void)
{
    enum { ROWS = 17, INNER = 53, OUT = ROWS * 70 };
    const int count = bytes_model.dispatch->count, rows = ROWS;
    static float x[ROWS * INNER], last[OUTPUTS][ROOM];
    const void *pointers[] = {x};
    void *outputs[OUTPUTS] = {found[0], found[1]};
    struct modc_params *params;
    struct modc_context *net;
    int ran = 0;

    for (int i = 0; i < ROWS * INNER; i++)
        x[i] = (float)(i * 37 % 101 - 50) / 16;
    CHECK_OK(modc_params_create(&bytes_model, &params));
    CHECK_OK(modc_reset(params, 7));
    CHECK_OK(modc_pack(params, NULL, 0));
    CHECK_OK(modc_create(&bytes_model, params, 0, &net));
    CHECK_OK(modc_set_isa(net, bytes_model.dispatch->isas[count - 1].name));
    CHECK_OK(bytes_model.entries[0].call(net, &rows, pointers, outputs));
    memcpy(last, found, sizeof last);
    CHECK_OK(modc_set_isa(net, NULL));
    printf("bytes:");
    for (int i = 0; i < count; i++) {
        if (!choose(net, i, &ran))
            continue;
        memset(found, 0, sizeof found);
        CHECK_OK(bytes_model.entries[0].call(net, &rows, pointers, outputs));
        for (int o = 0; o < OUTPUTS; o++)
            for (int k = 0; k < (o == 0 ? OUT : 3 * 19); k++)
                CHECK(fabsf(found[o][k] - last[o][k]) <= 1e-6f * (1 + fabsf(last[o][k])));
        CHECK(fabsf(found[0][OUT - 1]) > 0 && fabsf(found[1][3 * 19 - 1]) > 0);
    }
    check_best(net, ran);
    modc_destroy(net);
    modc_params_destroy(params);
}

static bool nowhere(void)
{
    return false;
}

static bool everywhere(void)
{
    return true;
}

/* A machine without the best instruction set: a table of our own, over the same functions. */
static void check_choice(void)
{
    const void *code = policy_model.dispatch->isas[0].code;
    const struct modc_isa rows[] = {
        {"best", nowhere, code}, {"good", everywhere, code}, {"plain", NULL, code}};
    const struct modc_dispatch dispatch = {3, rows, policy_model.dispatch->chosen};
    struct modc_model model = policy_model;
    struct modc_params *params;
    struct modc_context *net;
    struct policy *policy;

    model.dispatch = &dispatch;
    CHECK_OK(modc_params_create(&model, &params));
    CHECK_OK(modc_create(&model, params, 0, &net));
    policy = (struct policy *)(void *)net;
    CHECK(strcmp(policy_isa(policy), "good") == 0);
    CHECK(policy_set_isa(policy, "best") == MODC_UNSUPPORTED && strcmp(policy_isa(policy), "good") == 0);
    CHECK_OK(policy_set_isa(policy, "plain"));
    CHECK(strcmp(policy_isa(policy), "plain") == 0);
    CHECK(policy_set_isa(policy, "") == MODC_NAME && policy_set_isa(policy, "x86-64-v") == MODC_NAME);
    CHECK(policy_set_isa(policy, "plain ") == MODC_NAME && strcmp(policy_isa(policy), "plain") == 0);
    CHECK_OK(policy_set_isa(policy, NULL));
    CHECK(strcmp(policy_isa(policy), "good") == 0);
    CHECK(modc_set_isa(NULL, "plain") == MODC_POINTER);
    modc_destroy(net);
    modc_params_destroy(params);
}

/* Packed weights are the same bytes for all, and a model that is compiled once has nothing to choose. */
static void check_packed(const char *weights)
{
    struct modc_params *params = load(&policy_model, weights), *plain = load(&plain_model, weights);
    struct modc_context *net;

    CHECK(POLICY_PACKED_BYTES == PLAIN_PACKED_BYTES &&
          memcmp(params->packed, plain->packed, POLICY_PACKED_BYTES - MODC_ALIGN) == 0);
    CHECK_OK(modc_create(&plain_model, plain, 0, &net));
    CHECK(modc_get_isa(net) == NULL && plain_model.dispatch == NULL);
    CHECK(modc_set_isa(net, MODC_ISA) == MODC_NAME && modc_get_isa(net) == NULL);
    CHECK_OK(modc_set_isa(net, NULL));
    CHECK(modc_get_isa(net) == NULL);
    modc_destroy(net);
    modc_params_destroy(params);
    modc_params_destroy(plain);
}

int main(void)
{
    check(&policy_model, "specs/cartpole/weights.safetensors", "specs/cartpole/observations.safetensors",
          "observation", "specs/cartpole/expect.safetensors");
    check(&cnn_model, "specs/digits/weights_cnn.safetensors", "build/vectors/cnn_64/inputs.safetensors",
          "image", "build/vectors/cnn_64/expect.safetensors");
    check_bytes();
    check_choice();
    check_packed("specs/cartpole/weights.safetensors");
    return 0;
}
