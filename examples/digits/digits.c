/* digits.c - reads handwritten digits with the network of specs/digits/cnn.yaml, and shows those that it gets wrong.
 *
 *     digits FILE     safetensors: images float32 (N, 1, 8, 8), labels int64 (N)
 *
 * The weights are part of the program, the memory is static. */
#include <stdio.h>

#include "cnn.h"

enum { PIXELS = 64, DIGITS = 10 };

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

static void show(const float *image)
{
    for (int y = 0; y < 8; y++) {
        printf("    ");
        for (int x = 0; x < 8; x++)
            printf("%c%c", " .+%@"[(int)(image[y * 8 + x] * 4 + 0.5f)], x == 7 ? '\n' : ' ');
    }
}

int main(int argc, char **argv)
{
    struct modc_reader file;
    struct modc_item images, labels;
    const void *bytes;
    size_t length;
    int count, right = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: digits FILE\n");
        return 2;
    }
    if (modc_map(argv[1], &bytes, &length) != MODC_OK) {
        perror(argv[1]);
        return 1;
    }
    if (modc_reader_open(&file, bytes, length, NULL) != MODC_OK ||
        !modc_reader_find(&file, "images", &images) || !modc_reader_find(&file, "labels", &labels) ||
        images.dtype != MODC_FLOAT32 || labels.dtype != MODC_INT64 ||
        images.bytes != labels.bytes / sizeof(int64_t) * PIXELS * sizeof(float)) {
        fprintf(stderr, "%s: no file of images and labels\n", argv[1]);
        return 1;
    }
    if (cnn_bind_embedded(&params) != MODC_OK ||
        cnn_init(&net, &params, workspace, sizeof workspace) != MODC_OK)
        return 1;

    count = (int)(labels.bytes / sizeof(int64_t));
    for (int at = 0; at < count; at += CNN_MAX_BATCH) {
        const int batch = count - at < CNN_MAX_BATCH ? count - at : CNN_MAX_BATCH;
        const float *image = (const float *)images.data + at * PIXELS;
        const int64_t *label = (const int64_t *)labels.data + at;
        float scores[CNN_MAX_BATCH * DIGITS];

        if (cnn_forward(&net, batch, image, scores) != MODC_OK)
            return 1;
        for (int i = 0; i < batch; i++) {
            const int digit = largest(scores + i * DIGITS);

            right += digit == label[i];
            if (digit != label[i]) {
                printf("image %d is labelled %d, read as %d\n\n", at + i, (int)label[i], digit);
                show(image + i * PIXELS);
            }
        }
    }
    printf("\n%d of %d right\n", right, count);
    modc_unmap(bytes, length);
    return 0;
}
