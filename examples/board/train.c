/* train.c - trains the classifier of learner.yaml on a chip, from PyTorch's initial weights, and counts what it reads right
 * of images that it has not seen. The images lie in flash; nothing is allocated. */
#include "learner.h"
#include "mps2.h"

enum { BATCH = LEARNER_MAX_BATCH, EPOCHS = 6, PIXELS = 64, CLASSES = 10 };

extern const char digits_train[], digits_train_end[], digits_test[], digits_test_end[]; /* data.S */

static struct learner_params params;
static struct learner net;
static struct learner_training training;
static MODC_ALIGNED char param_block[LEARNER_PARAM_BYTES], packed_block[LEARNER_PACKED_BYTES];
static MODC_ALIGNED char training_block[LEARNER_TRAINING_BYTES];
static MODC_ALIGNED char workspace[LEARNER_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES];

struct data {
    const float *images;   /* (count, 1, 8, 8) */
    const int64_t *labels; /* (count) */
    int count;
};

static bool open_data(struct data *data, const char *begin, const char *end)
{
    struct modc_reader file;
    struct modc_item images, labels;

    if (modc_reader_open(&file, begin, (size_t)(end - begin), NULL) != MODC_OK ||
        !modc_reader_find(&file, "images", &images) || !modc_reader_find(&file, "labels", &labels) ||
        images.dtype != MODC_FLOAT32 || labels.dtype != MODC_INT64 || images.dims[0] != labels.dims[0])
        return false;
    data->images = images.data;
    data->labels = labels.data;
    data->count = (int)images.dims[0];
    return true;
}

static bool print_right(const struct data *data)
{
    static float logits[BATCH * CLASSES];
    uint32_t right = 0;

    learner_eval(&net);
    learner_set_grad_enabled(&net, false);
    for (int first = 0; first < data->count; first += BATCH) {
        const int size = data->count - first < BATCH ? data->count - first : BATCH;

        if (learner_forward(&net, size, data->images + first * PIXELS, logits) != MODC_OK)
            return false;
        for (int i = 0; i < size; i++) {
            int best = 0;

            for (int c = 1; c < CLASSES; c++)
                if (logits[i * CLASSES + c] > logits[i * CLASSES + best])
                    best = c;
            right += best == data->labels[first + i];
        }
    }
    learner_train(&net, true);
    learner_set_grad_enabled(&net, true);
    board_print_number("", right, "");
    board_print_number(" of ", (uint32_t)data->count, " right\n");
    return true;
}

int main(void)
{
    struct data train, test;
    uint32_t instructions = 0;
    float loss;

    board_open();
    if (!open_data(&train, digits_train, digits_train_end) || !open_data(&test, digits_test, digits_test_end))
        return 1;
    learner_bind(&params, param_block, sizeof param_block);
    learner_reset(&params, 0); /* as PyTorch's modules after torch.manual_seed(0) */
    learner_pack(&params, packed_block, sizeof packed_block);
    learner_init(&net, &params, workspace, sizeof workspace);
    if (learner_training_init(&training, &net, training_block, sizeof training_block) != MODC_OK ||
        !print_right(&test))
        return 1;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        float sum = 0;
        int steps = 0;

        for (int first = 0; first + BATCH <= train.count; first += BATCH, steps++) {
            const uint32_t begin = board_ticks();

            if (learner_train_step(&training, BATCH, train.images + first * PIXELS, train.labels + first,
                                   &loss) != MODC_OK)
                return 1;
            instructions = board_instructions(begin);
            sum += loss;
        }
        board_print_number("epoch ", (uint32_t)epoch + 1, "");
        board_print_fraction(": loss ", sum / (float)steps, 3, "\n");
    }
    board_print_number("", instructions, " instructions a step\n");
    return print_right(&test) ? 0 : 1;
}
