/* heights.c - a product of weights that do not stay in cache, for any number of rows: each of some is what it is alone, one is the
 * sum in doubles. Nothing is read or written behind the last row. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "heights.h"
#include "heights_both4.h"
#include "heights_both8.h"
#include "heights_int4.h"
#include "heights_int8.h"
#include "heights_narrow.h"
#include "heights_rows.h"
#include "heights_split.h"

enum { ROWS = HEIGHTS_MAX_ROWS, DEPTH = 731, COLUMNS = 730, UNTOUCHED = 0x5a };

static float x[ROWS * DEPTH], z[ROWS * COLUMNS], y[(ROWS + 1) * COLUMNS];
static double expected[ROWS * COLUMNS];

enum kind { FLOAT32, BFLOAT16, INT8, INT4, BOTH8, BOTH4 };

/* To the nearest bfloat16, of two the even one. */
static float halved(float weight)
{
    uint32_t bits;

    memcpy(&bits, &weight, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&weight, &bits, sizeof bits);
    return weight;
}

/* To the nearest multiples of the largest one's 127.5th or 7.5th part. */
static void scale(const float *weight, int count, int bits, double *out)
{
    const float parts = bits == 8 ? 127.5f : 7.5f, least = bits == 8 ? -128 : -8, most = -1 - least;
    float largest = 0, step;

    for (int k = 0; k < count; k++)
        largest = fmaxf(largest, fabsf(weight[k]));
    step = largest / parts;
    for (int k = 0; k < count; k++)
        out[k] = fmaxf(least, fminf(most, rintf(weight[k] * (1 / step)))) * (double)step;
}

/* A row as it is packed. */
static void stored(const float *weight, enum kind kind, double *out)
{
    enum { GROUP = 48 };

    for (int k = 0; k < DEPTH; k++)
        out[k] = kind == BFLOAT16 ? halved(weight[k]) : weight[k];
    if (kind == INT8 || kind == BOTH8)
        scale(weight, DEPTH, 8, out);
    for (int k = 0; k < DEPTH && (kind == INT4 || kind == BOTH4); k += GROUP)
        scale(weight + k, DEPTH - k < GROUP ? DEPTH - k : GROUP, 4, out + k);
}

/* All rows of x as they are multiplied. */
static const double *multiplied(enum kind kind)
{
    static double rows[ROWS * DEPTH];

    for (int i = 0; i < ROWS * DEPTH; i++)
        rows[i] = x[i];
    for (int r = 0; r < ROWS && kind >= BOTH8; r++)
        scale(x + r * DEPTH, DEPTH, 8, rows + r * DEPTH);
    return rows;
}

static void expect(const float *weight, const float *bias, enum kind kind)
{
    static double row[DEPTH];
    const double *rows = multiplied(kind);

    for (int c = 0; c < COLUMNS; c++) {
        stored(weight + c * DEPTH, kind, row);
        for (int r = 0; r < ROWS; r++) {
            double sum = bias[c];

            for (int k = 0; k < DEPTH; k++)
                sum += rows[r * DEPTH + k] * row[k];
            sum += z[r * COLUMNS + c];
            expected[r * COLUMNS + c] = sum > 0 ? sum : 0;
        }
    }
}

/* Scales of a group are rounded to 11 bits, each by itself. */
static void compare(int rows, enum kind kind)
{
    for (int i = 0; i < rows * COLUMNS; i++)
        CHECK(fabs(y[i] - expected[i]) < (kind == INT4 || kind == BOTH4 ? 5e-4 : 2e-5));
    for (int i = rows * COLUMNS; i < (rows + 1) * COLUMNS; i++) {
        float untouched;

        memset(&untouched, UNTOUCHED, sizeof untouched);
        CHECK(memcmp(y + i, &untouched, sizeof untouched) == 0);
    }
}

#define TRY(name, NAME, kind)                                                                                \
    do {                                                                                                     \
        static MODC_ALIGNED char block[NAME##_PARAM_BYTES], packed[NAME##_PACKED_BYTES];                     \
        static MODC_ALIGNED char workspace[NAME##_WORKSPACE_BYTES];                                          \
        struct name##_params params;                                                                         \
        struct name net;                                                                                     \
                                                                                                             \
        CHECK_OK(name##_bind(&params, block, sizeof block));                                                 \
        CHECK_OK(name##_reset(&params, 7));                                                                  \
        CHECK_OK(name##_pack(&params, packed, sizeof packed));                                               \
        CHECK_OK(name##_init(&net, &params, workspace, sizeof workspace));                                   \
        expect(params.wide.weight, params.wide.bias, kind);                                                  \
        for (int rows = 0; rows <= ROWS; rows++) {                                                           \
            memset(y, UNTOUCHED, sizeof y);                                                                  \
            CHECK_OK(name##_forward(&net, rows, x, z, y));                                                   \
            compare(rows, kind);                                                                             \
        }                                                                                                    \
    } while (0)

int main(void)
{
    for (int i = 0; i < ROWS * DEPTH; i++)
        x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        z[i] = (float)(i * 53 % 97) / 97 - 0.5f;
    TRY(heights, HEIGHTS, FLOAT32);
    TRY(heights_narrow, HEIGHTS_NARROW, BFLOAT16);
    TRY(heights_int8, HEIGHTS_INT8, INT8);
    TRY(heights_int4, HEIGHTS_INT4, INT4);
    TRY(heights_both8, HEIGHTS_BOTH8, BOTH8);
    TRY(heights_both4, HEIGHTS_BOTH4, BOTH4);
    TRY(heights_split, HEIGHTS_SPLIT, FLOAT32); /* by columns */
    TRY(heights_rows, HEIGHTS_ROWS, FLOAT32);
    return 0;
}
