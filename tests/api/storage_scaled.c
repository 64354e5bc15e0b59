/* storage_scaled.c - a trained network with weights in 8 and in 4 bits, of floats and of rows in 8 bits: what modc embeds is what MODEL_pack makes; nothing else is in
 * a program that saves nothing; and how many digits it still reads right. */
#include <string.h>

#include "check.h"
#include "dynamic4.h"
#include "dynamic8.h"
#include "mlp.h"
#include "modc_safetensors.h"
#include "storage_int8.h"
#include "storage_scaled.h"

enum { BATCH = 60, IMAGES = 360, PIXELS = 64, CLASSES = 10, FILE_BYTES = 1 << 17 };

static const char *const weights = "specs/digits/weights_mlp.safetensors";
static MODC_ALIGNED char file[FILE_BYTES];
static const float *images;
static const int64_t *labels;

static void read_digits(void)
{
    FILE *opened = fopen("specs/digits/test.safetensors", "rb");
    size_t length;
    struct modc_reader reader;
    struct modc_item image, label;

    CHECK(opened != NULL);
    length = fread(file, 1, sizeof file, opened);
    CHECK(length < sizeof file && fclose(opened) == 0);
    CHECK_OK(modc_reader_open(&reader, file, length, NULL));
    CHECK(modc_reader_find(&reader, "images", &image) && modc_reader_find(&reader, "labels", &label));
    images = image.data;
    labels = label.data;
}

static int count_right(const float *scores, const int64_t *expected)
{
    int right = 0;

    for (int i = 0; i < BATCH; i++) {
        int best = 0;

        for (int c = 1; c < CLASSES; c++)
            if (scores[i * CLASSES + c] > scores[i * CLASSES + best])
                best = c;
        right += best == (int)expected[i];
    }
    return right;
}

#define RIGHT(name, params, right)                                                                           \
    do {                                                                                                     \
        struct name *net;                                                                                    \
        float scores[BATCH * CLASSES];                                                                       \
                                                                                                             \
        CHECK_OK(name##_create(params, &net));                                                               \
        for (int first = 0; first < IMAGES; first += BATCH) {                                                \
            CHECK_OK(name##_forward(net, BATCH, images + first * PIXELS, scores));                           \
            right += count_right(scores, labels + first);                                                    \
        }                                                                                                    \
        name##_destroy(net);                                                                                 \
    } while (0)

/* The same block from the file, by the program itself. */
#define SAME(name, NAME, embedded)                                                                           \
    do {                                                                                                     \
        struct modc_params *made;                                                                            \
        struct name##_params *loaded;                                                                        \
                                                                                                             \
        CHECK_OK(modc_params_create(&name##_model, &made));                                                  \
        loaded = (struct name##_params *)made;                                                               \
        CHECK_OK(name##_load(loaded, weights, MODC_STRICT, NULL));                                           \
        CHECK_OK(name##_pack(loaded, NULL, 0));                                                              \
        CHECK(memcmp((embedded)->base.packed, made->packed, NAME##_PACKED_BYTES - MODC_ALIGN) == 0);         \
        modc_params_destroy(made);                                                                           \
    } while (0)

int main(void)
{
    static struct mlp_params plain;
    static struct storage_int8_params in_8;
    static struct storage_scaled_params in_4;
    static struct dynamic8_params both_8;
    static struct dynamic4_params both_4;
    int right = 0, right_in_8 = 0, right_in_4 = 0, right_both_8 = 0, right_both_4 = 0;
    float weight[32 * 64], trained[32 * 64];

    read_digits();
    CHECK_OK(mlp_bind_embedded(&plain));
    CHECK_OK(storage_int8_bind_embedded(&in_8));
    CHECK_OK(storage_scaled_bind_embedded(&in_4));
    SAME(storage_int8, STORAGE_INT8, &in_8);
    SAME(storage_scaled, STORAGE_SCALED, &in_4);
    CHECK_OK(dynamic8_bind_embedded(&both_8));
    CHECK_OK(dynamic4_bind_embedded(&both_4));
    SAME(dynamic8, DYNAMIC8, &both_8);
    SAME(dynamic4, DYNAMIC4, &both_4);

    CHECK_OK(mlp_get(&plain, "1.weight", trained));
    CHECK_OK(storage_int8_get(&in_8, "1.weight", weight)); /* as it was */
    CHECK(memcmp(weight, trained, sizeof weight) == 0);
    CHECK(in_4._1.weight == NULL && in_4._3.weight == NULL);
    CHECK(STORAGE_SCALED_EMBEDDED_BYTES <=
          STORAGE_SCALED_PACKED_BYTES + 32 * sizeof(float)); /* a bias as it is */
    CHECK(STORAGE_SCALED_EMBEDDED_BYTES < MLP_EMBEDDED_BYTES / 5);

    RIGHT(mlp, &plain, right);
    RIGHT(storage_int8, &in_8, right_in_8);
    RIGHT(storage_scaled, &in_4, right_in_4);
    RIGHT(dynamic8, &both_8, right_both_8);
    RIGHT(dynamic4, &both_4, right_both_4);
    CHECK(right == 353);
    CHECK(right_in_8 >= right - 1);   /* 0.3 % */
    CHECK(right_in_4 >= right - 3);   /* 1 % */
    CHECK(right_both_8 >= right - 1); /* 0.5 % */
    CHECK(right_both_4 >= right_in_4 - 1);
    return 0;
}
