/* ensemble.c - two models in one program: how well do the networks of specs/digits/ read digits, alone and together?
 *
 *     ensemble FOLDER     with test.safetensors, weights_cnn.safetensors, weights_mlp.safetensors
 *
 * The weights come from files, as PyTorch writes them. The models share a workspace, since they are called in turn. */
#include <stdio.h>
#include <stdlib.h>

#include "cnn.h"
#include "mlp.h"

enum { PIXELS = 64, DIGITS = 10, BATCH = CNN_MAX_BATCH < MLP_MAX_BATCH ? CNN_MAX_BATCH : MLP_MAX_BATCH };

static struct cnn_params cnn_params;
static struct mlp_params mlp_params;
static struct cnn cnn;
static struct mlp mlp;

static MODC_ALIGNED char cnn_block[CNN_PARAM_BYTES], cnn_packed[CNN_PACKED_BYTES];
static MODC_ALIGNED char mlp_block[MLP_PARAM_BYTES], mlp_packed[MLP_PACKED_BYTES];
static MODC_ALIGNED union {
    char cnn[CNN_WORKSPACE_BYTES], mlp[MLP_WORKSPACE_BYTES];
} workspace;

static void must(enum modc_status status)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "ensemble: %s\n", modc_status_text(status));
    exit(1);
}

static void write_text(void *user, const char *text, size_t length)
{
    fwrite(text, 1, length, user);
}

/* Says what is wrong with a file in PyTorch's words. */
static void must_load(enum modc_status status, const struct modc_report *report, const char *path)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "ensemble: %s: ", path);
    modc_report_print(report, write_text, stderr);
    fprintf(stderr, "\n");
    exit(1);
}

static void start(const char *folder)
{
    static struct modc_report report;
    char path[4096];

    must(cnn_bind(&cnn_params, cnn_block, sizeof cnn_block));
    snprintf(path, sizeof path, "%s/weights_cnn.safetensors", folder);
    must_load(cnn_load(&cnn_params, path, MODC_STRICT, &report), &report, path);
    must(cnn_pack(&cnn_params, cnn_packed, sizeof cnn_packed));
    must(cnn_init(&cnn, &cnn_params, &workspace, sizeof workspace));

    must(mlp_bind(&mlp_params, mlp_block, sizeof mlp_block));
    snprintf(path, sizeof path, "%s/weights_mlp.safetensors", folder);
    must_load(mlp_load(&mlp_params, path, MODC_STRICT, &report), &report, path);
    must(mlp_pack(&mlp_params, mlp_packed, sizeof mlp_packed));
    must(mlp_init(&mlp, &mlp_params, &workspace, sizeof workspace));
}

static int largest(const float *scores)
{
    int best = 0;

    for (int i = 1; i < DIGITS; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int main(int argc, char **argv)
{
    int count, alike = 0, right[3] = {0};
    struct modc_item images, labels;
    struct modc_reader file;
    const void *bytes;
    char path[4096];
    size_t length;

    if (argc != 2) {
        fprintf(stderr, "usage: ensemble FOLDER\n");
        return 2;
    }
    start(argv[1]);
    snprintf(path, sizeof path, "%s/test.safetensors", argv[1]);
    if (modc_map(path, &bytes, &length) != MODC_OK) {
        perror(path);
        return 1;
    }
    must(modc_reader_open(&file, bytes, length, NULL));
    if (!modc_reader_find(&file, "images", &images) || !modc_reader_find(&file, "labels", &labels) ||
        images.dtype != MODC_FLOAT32 || labels.dtype != MODC_INT64 ||
        images.bytes != labels.bytes / sizeof(int64_t) * PIXELS * sizeof(float))
        must(MODC_FORMAT);

    count = (int)(labels.bytes / sizeof(int64_t));
    for (int at = 0; at < count; at += BATCH) {
        const int batch = count - at < BATCH ? count - at : BATCH;
        const float *image = (const float *)images.data + at * PIXELS;
        const int64_t *label = (const int64_t *)labels.data + at;
        float scores[3][BATCH * DIGITS];

        must(cnn_forward(&cnn, batch, image, scores[0]));
        must(mlp_forward(&mlp, batch, image, scores[1]));
        for (int i = 0; i < batch * DIGITS; i++)
            scores[2][i] = scores[0][i] + scores[1][i];
        for (int i = 0; i < batch; i++) {
            for (int by = 0; by < 3; by++)
                right[by] += largest(scores[by] + i * DIGITS) == label[i];
            alike += largest(scores[0] + i * DIGITS) == largest(scores[1] + i * DIGITS);
        }
    }
    printf("of %d images cnn reads %d right, mlp %d, both together %d; they agree on %d\n", count, right[0],
           right[1], right[2], alike);
    modc_unmap(bytes, length);
    return 0;
}
