/* resume.c - six steps of an optimiser in one go, and again with its state in a file behind the third: the same bytes. For
 * unit_training, which emits tests/optim/model.yaml with several optimisers. */
#include "../api/check.h"
#include "net.h"

#include <string.h>

static MODC_ALIGNED char params_block[NET_PARAM_BYTES], first[NET_PARAM_BYTES], packed[4096],
    workspace[1 << 16], gradients[NET_GRADIENT_BYTES], states[NET_OPTIMIZER_BYTES + 1];
static struct net_params params;
static struct net net;
static struct net_training training;
static struct net_optimizer optimizer;

static void run(int from, int to)
{
    float x[20], weight[10], output[10];

    for (int i = 0; i < 20; i++)
        x[i] = 0.1f * (float)(i % 7) - 0.3f;
    for (int i = 0; i < 10; i++)
        weight[i] = 0.2f * (float)(i % 4) - 0.3f;
    for (int step = from; step < to; step++) {
        modc_zero_grad(&training.base, true);
        net_requires_grad_(&training, "head.bias", step > 3); /* it has no state yet in the middle */
        CHECK(net_forward(&net, x, output) == MODC_OK);
        CHECK(net_backward(&net, weight, NULL) == MODC_OK);
        CHECK(modc_optimizer_clip(&optimizer.base, NULL) == MODC_OK);
        CHECK(modc_optimizer_step(&optimizer.base) == MODC_OK);
        CHECK(modc_schedule_step(&optimizer.base.scheduling, 1.0 / (step % 3 + 1)) == MODC_OK);
    }
}

static void start(const char *weights)
{
    memcpy(params_block, weights, sizeof params_block);
    params.base.version++;
    CHECK(modc_pack(&params.base, packed, sizeof packed) == MODC_OK);
    CHECK(modc_optimizer_init(&optimizer.base, &net_optimizer_table, &training.base, states, sizeof states,
                              NULL, NULL) == MODC_OK);
}

static char *save(size_t *length)
{
    char *file;

    CHECK(modc_optimizer_save_bytes(&optimizer.base, NULL, 0, length) == MODC_OK);
    file = malloc(*length);
    CHECK(file != NULL && modc_optimizer_save_bytes(&optimizer.base, file, *length, length) == MODC_OK);
    return file;
}

/* The file with other bits of a number, where it has that tensor, is refused, and what it would overwrite stays. */
static void refuse(char *file, size_t length, const char *name, uint32_t bits)
{
    static char before[sizeof states];
    struct net_optimizer kept = optimizer;
    struct modc_reader reader;
    struct modc_item item;
    const char *fault;

    CHECK(modc_reader_open(&reader, file, length, NULL) == MODC_OK);
    if (!modc_reader_find(&reader, name, &item))
        return;
    memcpy(before, states, sizeof states);
    memset(file + ((const char *)item.data - file), 0, item.bytes);
    memcpy(file + ((const char *)item.data - file), &bits, sizeof bits);
    CHECK(modc_optimizer_load_bytes(&optimizer.base, file, length, &fault) == MODC_KEYS &&
          strcmp(fault, name) == 0);
    CHECK(memcmp(states, before, sizeof states) == 0 && memcmp(&optimizer, &kept, sizeof optimizer) == 0);
}

int main(void)
{
    static char middle_weights[NET_PARAM_BYTES], end_weights[NET_PARAM_BYTES];
    size_t middle_length, end_length, length;
    char *middle, *end, *again;

    CHECK(net_bind(&params, params_block, sizeof params_block) == MODC_OK);
    CHECK(net_reset(&params, 1) == MODC_OK);
    memcpy(first, params_block, sizeof first);
    CHECK(modc_pack(&params.base, packed, sizeof packed) == MODC_OK);
    CHECK(net_init(&net, &params, workspace, sizeof workspace) == MODC_OK);
    CHECK(modc_training_init(&training.base, &net.base, gradients, sizeof gradients) == MODC_OK);
    start(first);
    run(0, 3);
    middle = save(&middle_length);
    memcpy(middle_weights, params_block, sizeof middle_weights);
    run(3, 6);
    end = save(&end_length);
    memcpy(end_weights, params_block, sizeof end_weights);
    CHECK(memcmp(first, end_weights, sizeof first) != 0);
    CHECK(modc_optimizer_load_bytes(&optimizer.base, middle, middle_length, NULL) ==
          MODC_OK); /* over another state */
    again = save(&length);
    CHECK(length == middle_length && memcmp(again, middle, length) == 0);
    refuse(again, length, "scheduler.2.T_i", 0); /* a period of no epochs */
    refuse(again, length, "state.head.weight.step", 0x7f800000u);
    free(again);
    start(middle_weights);
    CHECK(modc_optimizer_load_bytes(&optimizer.base, middle, middle_length, NULL) == MODC_OK);
    run(3, 6);
    again = save(&length);
    CHECK(length == end_length && memcmp(again, end, length) == 0);
    CHECK(memcmp(params_block, end_weights, sizeof end_weights) == 0);
    free(middle);
    free(end);
    free(again);
    return 0;
}
