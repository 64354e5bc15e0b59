/* digits_epoch.c - an epoch of the training of to_c_and_back.py, from where its files say that it is; and writes them again.
 *
 *     digits_epoch WEIGHTS STATE IMAGES */
#include <stdio.h>
#include <stdlib.h>

#include "learner.h"

enum { BATCH = LEARNER_MAX_BATCH, PIXELS = 64, CLASSES = 10, LAST = 5 };

static struct learner_params params;
static struct learner net;
static struct learner_training training;
static MODC_ALIGNED char param_block[LEARNER_PARAM_BYTES], packed_block[LEARNER_PACKED_BYTES];
static MODC_ALIGNED char training_block[LEARNER_TRAINING_BYTES];
static MODC_ALIGNED char workspace[LEARNER_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES];

static void require(const char *what, enum modc_status status, const char *fault)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "digits_epoch: %s: %s %s\n", what, modc_status_text(status), fault != NULL ? fault : "");
    exit(1);
}

int main(int count, char **arguments)
{
    const void *bytes;
    const char *fault = NULL;
    size_t length;
    struct modc_reader reader;
    struct modc_item images, labels;
    float losses[LAST] = {0}, sum = 0;

    if (count != 4) {
        fprintf(stderr, "usage: digits_epoch WEIGHTS STATE IMAGES\n");
        return 2;
    }
    require(arguments[3], modc_map(arguments[3], &bytes, &length), NULL);
    require(arguments[3], modc_reader_open(&reader, bytes, length, NULL), NULL);
    if (!modc_reader_find(&reader, "images", &images) || !modc_reader_find(&reader, "labels", &labels) ||
        images.dtype != MODC_FLOAT32 || labels.dtype != MODC_INT64 || labels.ndim != 1 ||
        images.bytes != labels.dims[0] * PIXELS * sizeof(float))
        require(arguments[3], MODC_FORMAT, NULL);

    learner_bind(&params, param_block, sizeof param_block);
    require(arguments[1], learner_load(&params, arguments[1], MODC_STRICT, NULL), NULL);
    learner_pack(&params, packed_block, sizeof packed_block);
    learner_init(&net, &params, workspace, sizeof workspace);
    require("training", learner_training_init(&training, &net, training_block, sizeof training_block), NULL);
    require(arguments[2], learner_training_load(&training, arguments[2], &fault), fault);

    int total = (int)labels.dims[0], step = 0;

    for (int first = 0; first < total; first += BATCH, step++) {
        int size = total - first < BATCH ? total - first : BATCH;

        require("a step",
                learner_train_step(&training, size, (const float *)images.data + first * PIXELS,
                                   (const int64_t *)labels.data + first, &losses[step % LAST]),
                NULL);
        require("the schedule", learner_schedule_step(&training, 0), NULL);
    }
    for (int i = 0; i < LAST; i++)
        sum += losses[i];
    printf("in C: loss %.4f\n", (double)(sum / LAST));
    require(arguments[1], learner_save(&params, arguments[1]), NULL);
    require(arguments[2], learner_training_save(&training, arguments[2]), NULL);
    modc_unmap(bytes, length);
    return 0;
}
