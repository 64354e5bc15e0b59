/* storage_coded.c - bfloat16 in 12 bits: every weight of a panel is read as the bfloat16 that it rounds to, whatever the weights are;
 * what modc embeds is what policy_pack makes. */
#include "check.h"
#include "storage_coded.h"

#include "modc_simd.h"

#include <stdlib.h>
#include <string.h>

enum { N = 37, K = 133, ROOM = MODC_CODED_BYTES(N, K) };

static uint32_t state = 1;

static uint32_t drawn(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* From -1 to 1. */
static float number(void)
{
    return (float)drawn() / 8388608.0f - 1.0f;
}

/* Element k of a row, of the head too. */
static float read_back(const int8_t *w, int row, int k)
{
    const int8_t *const panel = modc_coded_panel(w, row / MODC_PANEL32);

    for (int e = 0; e < modc_coded_count(panel); e++)
        if (modc_coded_rest_of(panel, e).at == k * MODC_PANEL32 + row % MODC_PANEL32)
            return modc_coded_rest_of(panel, e).value;
    return modc_coded_get(panel, MODC_CODED_HEAD(K), k, row % MODC_PANEL32);
}

static bool is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The same in vectors. */
static void check_vectors(const int8_t *w, const float *weights)
{
    for (int row = 0; row < N / MODC_LANES * MODC_LANES; row += MODC_LANES) {
        const int8_t *const panel = modc_coded_panel(w, row / MODC_PANEL32);
        const modc_coded coded = modc_coded_of(panel);

        for (int k = 0; k < K; k += 8) {
            modc_f32 value[8];

            modc_coded_load(coded, MODC_CODED_HEAD(K), k, row % MODC_PANEL32, value);
            for (int s = 0; s < 8 && k + s < K; s++) {
                float lanes[MODC_LANES];

                modc_f32_store(lanes, value[s]);
                for (int l = 0; l < MODC_LANES; l++)
                    CHECK(is_same(lanes[l], modc_coded_get(panel, MODC_CODED_HEAD(K), k + s,
                                                           (row + l) % MODC_PANEL32)));
            }
        }
    }
    for (int i = 0; i < N * K; i++)
        CHECK(is_same(read_back(w, i / K, i % K), modc_bfloat16_to_f32(modc_f32_to_bfloat16(weights[i]))));
}

/* The counts of the first panel, of weights of which one in `seldom` is far smaller than the others; 0: none. */
static int count_of(int seldom, float other)
{
    static MODC_ALIGNED int8_t w[ROOM + 64];
    static float weights[N * K], turned[N * K];

    for (int i = 0; i < N * K; i++)
        weights[i] = seldom > 0 && drawn() % (unsigned)seldom == 0 ? number() * other * (float)(1 << drawn() % 30)
                                                                   : number();
    memset(w + ROOM, 77, 64);
    modc_f32_pack_coded(w, weights, N, K, K, 1);
    check_vectors(w, weights);
    for (int i = 0; i < N * K; i++)
        turned[i % K * N + i / K] = weights[i];
    modc_f32_pack_coded(w, turned, N, K, 1, N);
    check_vectors(w, weights);
    for (int i = 0; i < 64; i++)
        CHECK(w[ROOM + i] == 77);
    return modc_coded_count(modc_coded_panel(w, 0));
}

static void check_special(void)
{
    static const float special[] = {0.0f, -0.0f, 1e-45f, -1e-41f, 3e38f, -3.4e38f, 1.0f + 0x1p-9f, 65519.0f};
    static MODC_ALIGNED int8_t w[ROOM];
    static float weights[N * K];

    for (int i = 0; i < N * K; i++)
        weights[i] = special[i % 8];
    weights[5] = strtof("inf", NULL);
    weights[6] = -strtof("inf", NULL);
    modc_f32_pack_coded(w, weights, N, K, K, 1);
    check_vectors(w, weights);
}

static void check_embedded(void)
{
    static struct storage_coded_params embedded;
    static float x[50 * 19], image[3 * 3 * 5 * 5], found[2][50 * 400];
    const float one[19] = {0.5f, -1.0f};
    const int64_t token[2] = {3, 20};
    struct storage_coded_params *loaded;
    struct modc_params *made;
    struct storage_coded *net;

    for (int i = 0; i < 50 * 19; i++)
        x[i] = number();
    for (int i = 0; i < 225; i++)
        image[i] = number();
    CHECK_OK(modc_params_create(&storage_coded_model, &made));
    loaded = (struct storage_coded_params *)made;
    CHECK_OK(storage_coded_load(loaded, "build/vectors/storage_coded_few_50/weights.safetensors", MODC_STRICT, NULL));
    CHECK_OK(storage_coded_pack(loaded, NULL, 0));
    CHECK_OK(storage_coded_bind_embedded(&embedded));
    for (int rows = 1; rows <= 50; rows += 49) {
        for (int i = 0; i < 2; i++) {
            float *const y = found[i];

            CHECK_OK(storage_coded_create(i == 0 ? loaded : &embedded, &net));
            CHECK_OK(storage_coded_forward(net, rows, x, one, image, token, y, y + 50 * 3, y + 50 * 52, y + 50 * 89,
                                           y + 50 * 94, y + 50 * 95, y + 50 * 96, y + 50 * 98, y + 50 * 100, y + 50 * 110));
            storage_coded_destroy(net);
        }
        /* what no BatchNorm is in front of, whose factor modc computes in float64 */
        CHECK(memcmp(found[0] + 50 * 94, found[1] + 50 * 94, sizeof found[0] - 50 * 94 * sizeof(float)) == 0);
    }
    modc_params_destroy(made);
}

int main(void)
{
    CHECK(count_of(0, 0.0f) >= 0);
    CHECK(count_of(1000, 1e-20f) > 0);
    CHECK(count_of(200, 1e10f) > 0);
    CHECK(count_of(3, 1e-20f) == -1);
    check_special();
    check_embedded();
    return 0;
}
