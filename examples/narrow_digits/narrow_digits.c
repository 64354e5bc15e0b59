/* narrow_digits.c - goes on training a classifier of digits with its weights and rows rounded as integers, and counts what the model
 * reads that has them so: before and behind it.
 *
 *     narrow_digits FOLDER [SEED]     of specs/digits; SEED: of the order of images
 *
 * What it learned is written to narrow.safetensors: weights as PyTorch has them, and the ranges that were seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner.h"
#include "reader.h"

enum { BATCH = LEARNER_MAX_BATCH, EPOCHS = 20, PIXELS = 64, CLASSES = 10, MOST = 1437 };

static struct learner_params params;
static struct learner net;
static struct learner_training training;
static struct reader_params reader_params;
static struct reader reader;
static struct modc_report report;
static MODC_ALIGNED char param_block[LEARNER_PARAM_BYTES], packed_block[LEARNER_PACKED_BYTES];
static MODC_ALIGNED char training_block[LEARNER_TRAINING_BYTES];
static MODC_ALIGNED char workspace[LEARNER_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES];
static MODC_ALIGNED char reader_block[READER_PARAM_BYTES], reader_packed[READER_PACKED_BYTES];
static MODC_ALIGNED char reader_workspace[READER_WORKSPACE_BYTES];
static MODC_ALIGNED float images[BATCH * PIXELS], logits[BATCH * CLASSES];
static MODC_ALIGNED int64_t labels[BATCH];

struct data {
    const void *bytes;
    size_t length;
    const float *images;   /* (count, 1, 8, 8) */
    const int64_t *labels; /* (count) */
    int count;
};

static void must(const char *what, enum modc_status status)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "narrow_digits: %s: %s\n", what, modc_status_text(status));
    exit(1);
}

static void open_data(struct data *data, const char *folder, const char *name)
{
    struct modc_reader file;
    struct modc_item image, label;
    char path[400];

    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    must(path, modc_map(path, &data->bytes, &data->length));
    must(path, modc_reader_open(&file, data->bytes, data->length, NULL));
    if (!modc_reader_find(&file, "images", &image) || !modc_reader_find(&file, "labels", &label) ||
        image.dtype != MODC_FLOAT32 || label.dtype != MODC_INT64 || label.ndim != 1 || label.dims[0] > MOST ||
        image.bytes != label.dims[0] * PIXELS * sizeof(float))
        must(path, MODC_FORMAT);
    data->images = image.data;
    data->labels = label.data;
    data->count = (int)label.dims[0];
}

/* The images `order` names from `first` on, as a batch; how many there are. */
static int take_batch(const struct data *data, const int *order, int first)
{
    int count = data->count - first < BATCH ? data->count - first : BATCH;

    for (int i = 0; i < count; i++) {
        memcpy(images + i * PIXELS, data->images + order[first + i] * PIXELS, PIXELS * sizeof(float));
        memcpy(labels + i, data->labels + order[first + i], sizeof *labels);
    }
    return count;
}

static void shuffle(int *order, int count, uint64_t *random)
{
    for (int i = count - 1; i > 0; i--) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;

        int other = (int)((*random >> 33) % (uint64_t)(i + 1)), held = order[i];

        order[i] = order[other];
        order[other] = held;
    }
}

/* How many of the images the model with integers reads right, of the weights of that file. */
static int count_right(const struct data *data, const char *path)
{
    int order[MOST], right = 0;

    must(path, reader_load(&reader_params, path, MODC_NON_STRICT, &report));
    must("reader", reader_pack(&reader_params, reader_packed, sizeof reader_packed));
    for (int i = 0; i < data->count; i++)
        order[i] = i;
    for (int first = 0; first < data->count; first += BATCH) {
        int count = take_batch(data, order, first);

        must("reader", reader_forward(&reader, count, images, logits));
        for (int i = 0; i < count; i++) {
            int best = 0;

            for (int c = 1; c < CLASSES; c++)
                if (logits[i * CLASSES + c] > logits[i * CLASSES + best])
                    best = c;
            right += best == labels[i];
        }
    }
    return right;
}

int main(int count, char **arguments)
{
    struct data train, test;
    uint64_t random = count == 3 ? strtoull(arguments[2], NULL, 10) : 7;
    int order[MOST], before, behind;
    char path[400];
    float loss;

    if (count != 2 && count != 3) {
        fprintf(stderr, "usage: narrow_digits FOLDER [SEED]\n");
        return 2;
    }
    open_data(&train, arguments[1], "train");
    open_data(&test, arguments[1], "test");
    snprintf(path, sizeof path, "%s/weights_mlp.safetensors", arguments[1]);

    must("reader", reader_bind(&reader_params, reader_block, sizeof reader_block));
    must("reader", reader_init(&reader, &reader_params, reader_workspace, sizeof reader_workspace));
    before = count_right(&test, path);

    must("learner", learner_bind(&params, param_block, sizeof param_block));
    must("learner", learner_reset(&params, 0)); /* ranges that nothing was seen of: the file has none */
    must(path, learner_load(&params, path, MODC_NON_STRICT, &report));
    must("learner", learner_pack(&params, packed_block, sizeof packed_block));
    must("learner", learner_init(&net, &params, workspace, sizeof workspace));
    must("training", learner_training_init(&training, &net, training_block, sizeof training_block));
    for (int i = 0; i < train.count; i++)
        order[i] = i;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        shuffle(order, train.count, &random);
        for (int first = 0; first < train.count; first += BATCH) {
            int size = take_batch(&train, order, first);

            must("a step", learner_train_step(&training, size, images, labels, &loss));
            must("a step", learner_schedule_step(&training, 0));
        }
    }
    must("narrow.safetensors", learner_save(&params, "narrow.safetensors"));
    behind = count_right(&test, "narrow.safetensors");
    printf("of %d test images %d right with weights that were rounded, %d with those that learned so\n",
           test.count, before, behind);
    printf("%d bytes of parameters in float32, %d as integers\n", READER_PARAM_BYTES, READER_PACKED_BYTES);
    modc_unmap(train.bytes, train.length);
    modc_unmap(test.bytes, test.length);
    return behind >= before ? 0 : 1;
}
