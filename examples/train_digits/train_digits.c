/* train_digits.c - trains the classifier of learner.yaml on real images, from PyTorch's initial weights, and counts what it
 * reads of images that it has not seen. Nothing is allocated.
 *
 *     train_digits FOLDER [--losses]     of specs/digits; --losses: prints the loss of each step instead of the picture */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "learner.h"

enum { BATCH = LEARNER_MAX_BATCH, EPOCHS = 12, PIXELS = 64, CLASSES = 10, MOST = 1437, WIDTH = 64 };

static struct learner_params params;
static struct learner net;
static struct learner_training training;
static MODC_ALIGNED char param_block[LEARNER_PARAM_BYTES], packed_block[LEARNER_PACKED_BYTES];
static MODC_ALIGNED char training_block[LEARNER_TRAINING_BYTES];
static MODC_ALIGNED char workspace[LEARNER_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES];
static MODC_ALIGNED float images[BATCH * PIXELS], logits[BATCH * CLASSES];
static MODC_ALIGNED int64_t labels[BATCH];

struct data {
    const void *bytes;
    size_t length;
    const float *images;   /* (count, 1, 8, 8) */
    const int64_t *labels; /* (count) */
    int count;
};

static int failed(const char *what, enum modc_status status)
{
    fprintf(stderr, "train_digits: %s: %s\n", what, modc_status_text(status));
    return 1;
}

static enum modc_status open_data(struct data *data, const char *folder, const char *name)
{
    struct modc_reader reader;
    struct modc_item image, label;
    char path[400];
    enum modc_status status;

    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    status = modc_map(path, &data->bytes, &data->length);
    if (status == MODC_OK)
        status = modc_reader_open(&reader, data->bytes, data->length, NULL);
    if (status != MODC_OK)
        return status;
    if (!modc_reader_find(&reader, "images", &image) || !modc_reader_find(&reader, "labels", &label) ||
        image.dtype != MODC_FLOAT32 || label.dtype != MODC_INT64 || label.ndim != 1 || label.dims[0] > MOST ||
        image.bytes != label.dims[0] * PIXELS * sizeof(float))
        return MODC_FORMAT;
    data->images = image.data;
    data->labels = label.data;
    data->count = (int)label.dims[0];
    return MODC_OK;
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

/* How many of the images it reads right. */
static enum modc_status count_right(const struct data *data, int *right)
{
    int order[MOST];
    enum modc_status status = MODC_OK;

    *right = 0;
    for (int i = 0; i < data->count; i++)
        order[i] = i;
    learner_eval(&net);
    learner_set_grad_enabled(&net, false);
    for (int first = 0; first < data->count && status == MODC_OK; first += BATCH) {
        int count = take_batch(data, order, first);

        status = learner_forward(&net, count, images, logits);
        for (int i = 0; i < count; i++) {
            int best = 0;

            for (int c = 1; c < CLASSES; c++)
                if (logits[i * CLASSES + c] > logits[i * CLASSES + best])
                    best = c;
            *right += best == labels[i];
        }
    }
    learner_train(&net, true);
    learner_set_grad_enabled(&net, true);
    return status;
}

/* The losses as bars of eighths, the means of as many steps as a column has. */
static void print_curve(const float *losses, int count)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { ROWS = 6 };
    float means[WIDTH], most = 0;

    for (int c = 0; c < WIDTH; c++) {
        int from = count * c / WIDTH, to = count * (c + 1) / WIDTH;

        means[c] = 0;
        for (int i = from; i < to; i++)
            means[c] += losses[i] / (float)(to - from);
        most = means[c] > most ? means[c] : most;
    }
    for (int row = ROWS - 1; row >= 0; row--) {
        printf("%7.3f ", (double)most * (row + 1) / ROWS);
        for (int c = 0; c < WIDTH; c++) {
            int filled = (int)(means[c] / most * ROWS * 8) - row * 8;

            fputs(eighths[filled < 0 ? 0 : filled > 8 ? 8 : filled], stdout);
        }
        putchar('\n');
    }
}

static void print_progress(int step, int steps, float loss)
{
    char bar[41];

    for (int i = 0; i < 40; i++)
        bar[i] = i < 40 * step / steps ? '#' : '.';
    bar[40] = '\0';
    fprintf(stderr, "\r[%s] %3d of %d  loss %.4f%s", bar, step, steps, (double)loss,
            step == steps ? "\n" : "");
}

int main(int count, char **arguments)
{
    static float losses[EPOCHS * (MOST / BATCH + 1)];
    bool plain = count == 3 && strcmp(arguments[2], "--losses") == 0, shows = !plain && isatty(2);
    struct data train, test;
    enum modc_status status;
    uint64_t random = 7;
    int order[MOST], right, steps, step = 0;

    if (count != 2 && !plain) {
        fprintf(stderr, "usage: train_digits FOLDER [--losses]\n");
        return 2;
    }
    status = open_data(&train, arguments[1], "train");
    if (status == MODC_OK)
        status = open_data(&test, arguments[1], "test");
    if (status != MODC_OK)
        return failed(arguments[1], status);
    learner_bind(&params, param_block, sizeof param_block);
    learner_reset(&params, 0); /* as PyTorch's modules after torch.manual_seed(0) */
    learner_pack(&params, packed_block, sizeof packed_block);
    learner_init(&net, &params, workspace, sizeof workspace);
    status = learner_training_init(&training, &net, training_block, sizeof training_block);
    if (status != MODC_OK)
        return failed("training", status);

    steps = EPOCHS * ((train.count + BATCH - 1) / BATCH);
    for (int i = 0; i < train.count; i++)
        order[i] = i;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        shuffle(order, train.count, &random);
        for (int first = 0; first < train.count; first += BATCH, step++) {
            int size = take_batch(&train, order, first);

            status = learner_train_step(&training, size, images, labels, &losses[step]);
            if (status == MODC_OK && step + 1 < steps)
                status = learner_schedule_step(&training, 0);
            if (status != MODC_OK)
                return failed("a step", status);
            if (plain)
                printf("%.6f\n", (double)losses[step]);
            if (shows)
                print_progress(step + 1, steps, losses[step]);
        }
    }
    status = count_right(&test, &right);
    if (status != MODC_OK)
        return failed("the test", status);
    if (!plain) {
        print_curve(losses, step);
        printf("%d steps of %d images; %d of %d test images right, %.1f %%\n", step, BATCH, right, test.count,
               100.0 * right / test.count);
        printf("%d bytes of parameters, %d of gradients and momentum, %d of workspace\n",
               (int)sizeof param_block, (int)sizeof training_block, (int)sizeof workspace);
    }
    modc_unmap(train.bytes, train.length);
    modc_unmap(test.bytes, test.length);
    return 100 * right >= 97 * test.count ? 0 : 1;
}
