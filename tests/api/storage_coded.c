/* storage_coded.c - bfloat16 in 12 bits: what modc embeds is what policy_pack makes. */
#include "storage_coded.h"
#include "check.h"

/* From -1 to 1. */
static float number(int i)
{
    return (float)(((uint32_t)i * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1.0f;
}

int main(void)
{
    static struct storage_coded_params embedded;
    static float x[50 * 19], image[3 * 3 * 5 * 5], found[2][50 * 400];
    const float one[19] = {0.5f, -1.0f};
    const int64_t token[2] = {3, 20};
    struct storage_coded_params *loaded;
    struct modc_params *made;
    struct storage_coded *net;

    for (int i = 0; i < 50 * 19; i++)
        x[i] = number(i);
    for (int i = 0; i < 225; i++)
        image[i] = number(i);
    CHECK_OK(modc_params_create(&storage_coded_model, &made));
    loaded = (struct storage_coded_params *)made;
    CHECK_OK(storage_coded_load(loaded, "build/vectors/storage_coded_few_50/weights.safetensors", MODC_STRICT,
                                NULL));
    CHECK_OK(storage_coded_pack(loaded, NULL, 0));
    CHECK_OK(storage_coded_bind_embedded(&embedded));
    for (int rows = 1; rows <= 50; rows += 49) {
        for (int i = 0; i < 2; i++) {
            float *const y = found[i];

            CHECK_OK(storage_coded_create(i == 0 ? loaded : &embedded, &net));
            CHECK_OK(storage_coded_forward(net, rows, x, one, image, token, y, y + 50 * 3, y + 50 * 52,
                                           y + 50 * 89, y + 50 * 94, y + 50 * 95, y + 50 * 96, y + 50 * 98,
                                           y + 50 * 100, y + 50 * 110));
            storage_coded_destroy(net);
        }
        for (int i = 0; i < 50 * 400; i++) { /* in another order, where nothing looks up */
            const double off = (double)found[0][i] - found[1][i],
                         size = found[0][i] < 0.0f ? -found[0][i] : found[0][i];

            CHECK((off < 0.0 ? -off : off) <= 2e-5 * (size + 1.0));
        }
    }
    modc_params_destroy(made);
    return 0;
}
