/* digits.c - reads handwritten digits with the network of specs/digits/cnn.yaml on a chip: weights and images lie in flash,
 * the memory is static. Compares what it computes with PyTorch's numbers. */
#include <math.h>

#include "cnn.h"
#include "mps2.h"

enum { PIXELS = 64, DIGITS = 10 };

extern const char digits_test[], digits_test_end[], digits_expect[], digits_expect_end[]; /* data.S */

static struct cnn_params params;
static struct cnn net;
static MODC_ALIGNED char workspace[CNN_WORKSPACE_BYTES];

static int largest(const float *scores)
{
    int best = 0;

    for (int i = 1; i < DIGITS; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* The tensor of that name of a file in flash; NULL: there is none of that type. */
static const void *tensor(const char *begin, const char *end, const char *name, enum modc_dtype dtype,
                          int *count)
{
    struct modc_reader file;
    struct modc_item item;

    if (modc_reader_open(&file, begin, (size_t)(end - begin), NULL) != MODC_OK ||
        !modc_reader_find(&file, name, &item) || item.dtype != dtype)
        return NULL;
    *count = (int)item.dims[0];
    return item.data;
}

int main(void)
{
    int count, labelled, expected;
    const float *images = tensor(digits_test, digits_test_end, "images", MODC_FLOAT32, &count);
    const int64_t *labels = tensor(digits_test, digits_test_end, "labels", MODC_INT64, &labelled);
    const float *expect = tensor(digits_expect, digits_expect_end, "cnn", MODC_FLOAT32, &expected);
    uint32_t right = 0, agreed = 0, instructions = 0;
    float apart = 0;

    board_open();
    if (!images || !labels || !expect || labelled != count || expected != count ||
        cnn_bind_embedded(&params) != MODC_OK ||
        cnn_init(&net, &params, workspace, sizeof workspace) != MODC_OK)
        return 1;
    for (int i = 0; i < count; i++) {
        const float *wanted = expect + i * DIGITS;
        const uint32_t begin = board_ticks();
        float scores[DIGITS];
        int digit;

        if (cnn_forward(&net, 1, images + i * PIXELS, scores) != MODC_OK)
            return 1;
        instructions = board_instructions(begin);
        digit = largest(scores);
        right += digit == labels[i];
        agreed += digit == largest(wanted);
        for (int k = 0; k < DIGITS; k++)
            apart = fmaxf(apart, fabsf(scores[k] - wanted[k]));
        if (digit != labels[i]) {
            board_print_number("image ", (uint32_t)i, "");
            board_print_number(" is labelled ", (uint32_t)labels[i], "");
            board_print_number(", read as ", (uint32_t)digit, "\n");
        }
    }
    board_print_number("", right, "");
    board_print_number(" of ", (uint32_t)count, " right, ");
    board_print_number("", agreed, " as PyTorch reads them\n");
    board_print_fraction("scores are at most ", apart, 6, " from PyTorch's\n");
    board_print_number("", instructions, " instructions an image\n");
    return agreed == (uint32_t)count && apart < 1e-4f ? 0 : 1;
}
