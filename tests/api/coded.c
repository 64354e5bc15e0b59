/* coded.c - bfloat16 in 12 bits: every weight of a panel is read as the bfloat16 that it rounds to, whatever the weights are, and
 * products are of these. */
#include "coded.h"
#include "check.h"

#include "modc_simd.h"

#include <stdlib.h>
#include <string.h>

enum { N = 37, K = 133, FC = 53, ROWS = 50, ROOM = MODC_CODED_BYTES(N, K) };

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

/* Of which one in `seldom` is far from the others; 0: none. */
static float weight(int seldom, float other)
{
    const float common = number() / (float)(1 << drawn() % 8);

    return seldom > 0 && drawn() % (unsigned)seldom == 0 ? common * other * (float)(1 << drawn() % 30)
                                                         : common;
}

/* The counts of the first panel, of such weights. */
static int count_of(int seldom, float other)
{
    static MODC_ALIGNED int8_t w[ROOM + 64];
    static float weights[N * K], turned[N * K];

    for (int i = 0; i < N * K; i++)
        weights[i] = weight(seldom, other);
    memset(w + ROOM, 77, 64);
    modc_f32_pack_coded(w, weights, N, K, K, 1, true);
    check_vectors(w, weights);
    for (int i = 0; i < N * K; i++)
        turned[i % K * N + i / K] = weights[i];
    modc_f32_pack_coded(w, turned, N, K, 1, N, true);
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
    modc_f32_pack_coded(w, weights, N, K, K, 1, true);
    check_vectors(w, weights);
}

/* y (rows, n) against the product in float64. */
static void check_product(const float *y, const float *x, const float *w, const float *bias, int rows, int n)
{
    for (int i = 0; i < rows * n; i++) {
        double sum = bias ? bias[i % n] : 0.0, size = sum < 0.0 ? -sum : sum, off;

        for (int k = 0; k < K; k++) {
            const double product = (double)x[i / n * K + k] *
                                   modc_bfloat16_to_f32(modc_f32_to_bfloat16(w[i % n * K + k]));

            sum += product;
            size += product < 0.0 ? -product : product;
        }
        off = sum - y[i];
        CHECK((off < 0.0 ? -off : off) <= 1e-5 * size);
    }
}

/* The count of the last panel. */
static int check_products(int seldom, float other)
{
    static MODC_ALIGNED int8_t packed[MODC_CODED_BYTES(FC, K)];
    static float x[ROWS * K], y[ROWS * FC], one[N], fc_weight[FC * K], one_weight[N * K], one_bias[N];
    struct coded_params *params;
    struct modc_params *made;
    struct coded *net;

    CHECK_OK(modc_params_create(&coded_model, &made));
    params = (struct coded_params *)made;
    for (int i = 0; i < FC * K; i++)
        fc_weight[i] = weight(seldom, other);
    for (int i = 0; i < N * K; i++)
        one_weight[i] = weight(seldom, other);
    for (int i = 0; i < N; i++)
        one_bias[i] = number();
    for (int i = 0; i < ROWS * K; i++)
        x[i] = number();
    params->fc.weight = fc_weight;
    params->one.weight = one_weight;
    params->one.bias = one_bias;
    CHECK_OK(coded_pack(params, NULL, 0));
    CHECK_OK(coded_create(params, &net));
    for (int rows = 1; rows <= ROWS; rows += rows < 16 ? 1 : 17) {
        CHECK_OK(coded_forward(net, rows, x, y, one));
        check_product(y, x, fc_weight, NULL, rows, FC);
        check_product(one, x, one_weight, one_bias, 1, N);
    }
    memset(x, 0, sizeof x);
    for (int k = 0; k < K; k++) { /* of one weight a row alone: that, in all bits */
        x[k] = x[49 * K + k] = 1.0f;
        CHECK_OK(coded_forward(net, k % 2 == 0 ? 1 : ROWS, x, y, one));
        for (int i = 0; i < FC; i++) {
            const float w = modc_bfloat16_to_f32(modc_f32_to_bfloat16(fc_weight[i * K + k]));

            CHECK(y[i] == w && (k % 2 == 0 || y[49 * FC + i] == w));
        }
        x[k] = x[49 * K + k] = 0.0f;
    }
    coded_destroy(net);
    modc_params_destroy(made);
    modc_f32_pack_coded(packed, fc_weight, FC, K, K, 1, true);
    return modc_coded_count(modc_coded_panel(packed, FC / MODC_PANEL32));
}

int main(void)
{
    CHECK(check_products(0, 0.0f) >= 0);
    CHECK(check_products(150, 1e-20f) > 0);
    CHECK(check_products(150, 1e10f) > 0);
    CHECK(check_products(3, 1e10f) == -1);
    CHECK(count_of(0, 0.0f) >= 0);
    CHECK(count_of(1000, 1e-20f) > 0);
    CHECK(count_of(1000, 1e10f) > 0);
    CHECK(count_of(3, 1e-20f) == -1);
    check_special();
    return 0;
}
