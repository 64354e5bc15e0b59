/* go_on.c - trains net.h for some steps from where files say that its training is, and writes them again.
 *
 *     go_on WEIGHTS STATE DATA STEPS     DATA: a safetensors file of x and target; their loss is also the schedule's metric */
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

static struct net_params params;
static struct net net;
static struct net_training training;
static MODC_ALIGNED char param_block[NET_PARAM_BYTES], packed_block[NET_PACKED_BYTES],
    training_block[NET_TRAINING_BYTES];
static MODC_ALIGNED char workspace[NET_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES];

static void require(const char *what, enum modc_status status, const char *fault)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "%s: %s%s%s\n", what, modc_status_text(status), fault != NULL ? ": " : "",
            fault != NULL ? fault : "");
    exit(1);
}

int main(int argc, char **argv)
{
    const void *bytes;
    size_t length;
    struct modc_reader reader;
    struct modc_item x, target;
    const char *fault = NULL;

    if (argc != 5)
        return 2;
    require("data", modc_map(argv[3], &bytes, &length), NULL);
    require("data", modc_reader_open(&reader, bytes, length, NULL), NULL);
    if (!modc_reader_find(&reader, "x", &x) || !modc_reader_find(&reader, "target", &target))
        return 2;
    net_bind(&params, param_block, sizeof param_block);
    require("weights", net_load(&params, argv[1], MODC_STRICT, NULL), NULL);
    net_pack(&params, packed_block, sizeof packed_block);
    net_init(&net, &params, workspace, sizeof workspace);
    require("training", net_training_init(&training, &net, training_block, sizeof training_block), NULL);
    require("state", net_training_load(&training, argv[2], &fault), fault);
    for (int i = 0; i < atoi(argv[4]); i++) {
        REAL loss;

        require("step", net_train_step(&training, x.data, target.data, &loss), NULL);
#ifdef SCHEDULED
        require("schedule", net_schedule_step(&training, (double)loss), NULL);
#endif
    }
    require("weights", net_save(&params, argv[1]), NULL);
    require("state", net_training_save(&training, argv[2]), NULL);
    return 0;
}
